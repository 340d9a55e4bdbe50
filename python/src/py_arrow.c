/* python/src/py_arrow.c: tables of Arrow's C data interface. */
#include "py_core.h"

int fwpy_add_arrow(PyObject *module) {
  (void)module;
  return 0;
}
