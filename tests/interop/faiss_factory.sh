#!/bin/bash
# tests/interop/faiss_factory.sh FURROW: indexes of every factory string that Furrow builds, between Furrow and Faiss, both
# ways: built, read, searched, added to, removed from. Exit code 77: Faiss for Python (python3-faiss) is not installed.
module=faiss
. "$(dirname "$0")/setup/python_setup.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
$python "$here/faiss_factory.py" "$furrow"
