#!/bin/bash
# tests/interop/filter_python.sh FURROW: filters by attributes, as plain Python evaluates them. Exit code 77: there is no Python.
module=csv
. "$(dirname "$0")/setup/python_setup.sh"
$python "$here/filter_python.py" "$furrow" "$FURROW_BUILD/tests/select_ids" || exit 1
