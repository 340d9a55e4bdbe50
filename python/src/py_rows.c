/* python/src/py_rows.c: furrow._core.Rows and reading: blocks of rows as arrays. */
#include "py_core.h"

int fwpy_add_rows(PyObject *module) {
  (void)module;
  return 0;
}
