/* python/src/py_module.c: the module furrow._core. */
#include <string.h>

#include "py_core.h"

int fwpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type) {
  PyObject *made = PyType_FromSpec(spec);
  if (!made) return -1;
  *type = (PyTypeObject *)made; /* for the rest of the process */
  return PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, made);
}

void *fwpy_new(PyTypeObject *type) {
  allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
  return alloc(type, 0);
}

void fwpy_delete(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type);
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "furrow._core",
                                        .m_doc = "Furrow's library for the Python files of the package.", .m_size = -1};

/* What each source adds, in this order. */
static int (*const parts[])(PyObject *module) = {
    fwpy_add_errors, fwpy_add_view,         fwpy_add_job,     fwpy_add_memory, fwpy_add_rows,
    fwpy_add_arrow,  fwpy_add_text_columns, fwpy_add_encoder, fwpy_add_scorer, fwpy_add_trainer,
    fwpy_add_matrix, fwpy_add_recommender,  fwpy_add_index};

static int add_parts(PyObject *module) {
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i](module) < 0) return -1;
  return 0;
}

PyMODINIT_FUNC PyInit__core(void) {
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (PyModule_AddStringConstant(module, "version", FURROW_VERSION) < 0 || add_parts(module) < 0) Py_CLEAR(module);
  return module;
}
