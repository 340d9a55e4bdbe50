/* python/src/py_encoder.c: furrow._core.Schema and furrow._core.Encoder: raw logs. */
#include "py_core.h"

int fwpy_add_encoder(PyObject *module) {
  (void)module;
  return 0;
}
