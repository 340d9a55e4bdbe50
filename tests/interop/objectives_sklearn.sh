#!/bin/bash
# tests/interop/objectives_sklearn.sh FURROW: trees of medians, quantiles and counts, and trees that rise or fall along a column,
# are as good as the trees of scikit-learn's HistGradientBoostingRegressor.
# Exit code 77: scikit-learn (python3-sklearn) is not installed.
module=sklearn
. "$(dirname "$0")/setup/python_setup.sh"
OMP_NUM_THREADS=1 "$python" "$here/objectives_sklearn.py" "$furrow"
