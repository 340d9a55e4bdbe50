#!/bin/bash
# tests/interop/forest_xgboost.sh FURROW: boosted trees are as good as xgboost's of the same settings.
# Exit code 77: xgboost (python3-xgboost) is not installed.
module=xgboost
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/forest_xgboost.py" "$furrow" "${FURROW_SHARED:-}"
