#!/bin/bash
# tests/interop/ranking_xgboost.sh FURROW: forests that rank the rows of groups are as good as xgboost's; with FURROW_FULL=1
# of large groups, too.
# Exit code 77: xgboost (python3-xgboost) is not installed.
module=xgboost
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/ranking_xgboost.py" "$furrow"
