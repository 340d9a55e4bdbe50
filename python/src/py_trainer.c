/* python/src/py_trainer.c: furrow._core.Trainer: training. */
#include "py_core.h"

int fwpy_add_trainer(PyObject *module) {
  (void)module;
  return 0;
}
