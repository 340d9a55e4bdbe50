/* python/src/py_recommender.c: furrow._core.Recommender: items for users. */
#include "py_core.h"

int fwpy_add_recommender(PyObject *module) {
  (void)module;
  return 0;
}
