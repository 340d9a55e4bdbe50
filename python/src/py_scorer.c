/* python/src/py_scorer.c: furrow._core.Scorer: a loaded model. */
#include "py_core.h"

int fwpy_add_scorer(PyObject *module) {
  (void)module;
  return 0;
}
