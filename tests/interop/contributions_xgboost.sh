#!/bin/bash
# tests/interop/contributions_xgboost.sh FURROW: contributions of features are those that xgboost finds for the same trees.
# Exit code 77: xgboost (python3-xgboost) is not installed.
module=xgboost
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/contributions_xgboost.py" "$furrow"
