/* python/src/py_matrix.c: furrow._core.Matrix: matrices of a model as arrays. */
#include "py_core.h"

int fwpy_add_matrix(PyObject *module) {
  (void)module;
  return 0;
}
