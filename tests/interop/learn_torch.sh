#!/bin/bash
# tests/interop/learn_torch.sh FURROW: the same graphs, first weights and batches in PyTorch give the same losses. Exit code
# 77: PyTorch (python3-torch) is not installed.
module=torch
. "$(dirname "$0")/setup/python_setup.sh"
${CC:-cc} -O1 -I"$here/../../cli" -I"$here/../../src" -o gen_clicks "$here/../../bench/gen_clicks.c" || exit 1
./gen_clicks 4000 --fields 8 >clicks.libsvm || exit 1
"$python" "$here/learn_torch.py" "$furrow" clicks.libsvm
