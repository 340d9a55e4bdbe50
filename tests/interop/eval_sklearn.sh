#!/bin/bash
# tests/interop/eval_sklearn.sh FURROW: figures of furrow eval against scikit-learn's, for the scores of furrow predict. Exit
# code 77: scikit-learn (python3-sklearn) is not installed.
module=sklearn
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/eval_sklearn.py" "$furrow"
