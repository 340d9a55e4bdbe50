#!/bin/bash
# tests/interop/learn_sklearn.sh FURROW: logistic regression, SVM and linear regression come as far as scikit-learn's solvers,
# which find the optimum. Exit code 77: scikit-learn (python3-sklearn) is not installed.
furrow=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/probes.sh"
python=$(python_with sklearn) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$python" "$here/learn_sklearn.py" "$furrow" "${FURROW_SHARED:-}"
