#!/bin/bash
# tests/interop/faiss_lists_file.sh FURROW: lists in data files, between Furrow and Faiss: Furrow writes both files, Faiss
# searches them, adds and removes, and Furrow reads what is left. Exit code 77: Faiss for Python (python3-faiss) is not
# installed.
module=faiss
. "$(dirname "$0")/setup/python_setup.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
$python "$here/faiss_lists_file.py" "$furrow"
