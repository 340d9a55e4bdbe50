#!/bin/bash
# tests/interop/faiss_kmeans.sh FURROW: the objective of `index kmeans` is as good as that of Faiss's Kmeans, or better. Exit code 77:
# Faiss for Python (python3-faiss) is not installed.
module=faiss
. "$(dirname "$0")/setup/python_setup.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
$python "$here/faiss_kmeans.py" "$furrow"
