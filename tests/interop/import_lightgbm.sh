#!/bin/bash
# tests/interop/import_lightgbm.sh FURROW: imported models of LightGBM score as its documentation says.
module=json
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/import_lightgbm.py" "$furrow"
