#!/bin/bash
# tests/interop/learn_sklearn.sh FURROW: logistic regression, SVM and linear regression come as far as scikit-learn's solvers,
# which find the optimum; with FURROW_FULL=1 also on the data of FURROW_SHARED. Exit code 77: scikit-learn (python3-sklearn) is not installed.
module=sklearn
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/learn_sklearn.py" "$furrow" "${FURROW_FULL:+${FURROW_SHARED:-}}"
