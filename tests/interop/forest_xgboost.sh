#!/bin/bash
# tests/interop/forest_xgboost.sh FURROW: boosted trees are as good as xgboost's of the same settings, on data that is drawn
# and, with FURROW_FULL=1, on the data of FURROW_SHARED.
# Exit code 77: xgboost (python3-xgboost) is not installed.
module=xgboost
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/forest_xgboost.py" "$furrow" "${FURROW_FULL:+${FURROW_SHARED:-}}"
