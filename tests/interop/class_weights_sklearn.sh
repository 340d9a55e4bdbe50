#!/bin/bash
# tests/interop/class_weights_sklearn.sh FURROW: balanced classes against LogisticRegression(class_weight="balanced"). Exit
# code 77: scikit-learn (python3-sklearn) is not installed.
module=sklearn
. "$(dirname "$0")/setup/python_setup.sh"
"$python" "$here/class_weights_sklearn.py" "$furrow"
