#!/bin/bash
# tests/interop/import_xgboost.sh FURROW: imported models of xgboost score as xgboost does, to the bit.
# Exit code 77: xgboost (python3-xgboost) is not installed.
module=xgboost
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/import_xgboost.py" "$furrow"
