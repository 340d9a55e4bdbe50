/* python/src/py_index.c: furrow._core.Index: an index, and the searcher of it that searches share.
 *
 * Searches may run at once from any number of threads; whatever changes the index waits for them, and they for it. */
#include <pthread.h>

#include "py_core.h"

typedef struct index_object {
  PyObject_HEAD furrow_index *index;
  furrow_searcher *searcher; /* NULL: not made since the last change */
  pthread_rwlock_t lock;     /* held without the interpreter's lock only */
} index_object;

static PyTypeObject *index_type;

static PyObject *make_index(furrow_index *index) {
  index_object *self = fwpy_new(index_type);
  if (!self) {
    furrow_index_free(index);
    return NULL;
  }
  self->index = index;
  pthread_rwlock_init(&self->lock, NULL);
  return (PyObject *)self;
}

static void index_dealloc(PyObject *object) {
  index_object *self = (index_object *)object;
  furrow_searcher_free(self->searcher);
  furrow_index_free(self->index);
  pthread_rwlock_destroy(&self->lock);
  fwpy_delete(object);
}

/* ---- Loading ---------------------------------------------------------------------------------------------- */

static const fwpy_field load_fields[] = {FWPY_FIELD(furrow_index_load_params, memory_map, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, allow_trailing, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, lists, FWPY_TEXT),
                                         FWPY_FIELD(furrow_index_load_params, lists_optional, FWPY_BOOL),
                                         {0}};

static PyObject *index_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL, *options = NULL;
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)type;
  furrow_index_load_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&|O", PyUnicode_FSConverter, &path, &options)) return NULL;
  if (!fwpy_set_fields(&params, options, load_fields)) {
    Py_DECREF(path);
    return NULL;
  }
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_index_load(&index, text, &params, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  return status == FURROW_OK ? make_index(index) : fwpy_raise(&err);
}

/* ---- What it is ------------------------------------------------------------------------------------------- */

static const fwpy_field info_fields[] = {FWPY_FIELD(furrow_index_info, fourcc, FWPY_CHARS),
                                         FWPY_FIELD(furrow_index_info, d, FWPY_INT32),
                                         FWPY_FIELD(furrow_index_info, ntotal, FWPY_INT64),
                                         FWPY_FIELD(furrow_index_info, trained, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_info, nlist, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, nprobe, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, nbits, FWPY_UINT32),
                                         {0}};

static PyObject *index_info(PyObject *object, PyObject *unused) {
  index_object *self = (index_object *)object;
  furrow_index_info info;
  (void)unused;
  furrow_index_info_init(&info);
  Py_BEGIN_ALLOW_THREADS;
  pthread_rwlock_rdlock(&self->lock);
  furrow_index_get_info(self->index, &info);
  pthread_rwlock_unlock(&self->lock);
  Py_END_ALLOW_THREADS;
  return fwpy_get_fields(&info, info_fields);
}

/* ---- Searching -------------------------------------------------------------------------------------------- */

/* Takes the lock for reading, with a searcher made. On failure the lock is free. */
static furrow_status lock_for_search(index_object *self, furrow_error *err) {
  for (;;) {
    pthread_rwlock_rdlock(&self->lock);
    if (self->searcher) return FURROW_OK;
    pthread_rwlock_unlock(&self->lock);
    pthread_rwlock_wrlock(&self->lock);
    furrow_status status = FURROW_OK;
    if (!self->searcher) status = furrow_searcher_create(&self->searcher, self->index, NULL, err);
    pthread_rwlock_unlock(&self->lock);
    if (status != FURROW_OK) return status;
  }
}

/* search(queries, distances, ids, nprobe, threads): arrays n x d, n x k, n x k */
static PyObject *index_search(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  index_object *self = (index_object *)object;
  Py_buffer queries, distances, ids;
  furrow_search_params params;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (nargs != 5) return PyErr_Format(PyExc_TypeError, "search takes 5 arguments");
  furrow_search_params_init(&params);
  params.nprobe = PyLong_AsUnsignedLongLong(args[3]);
  params.threads = (unsigned)PyLong_AsUnsignedLong(args[4]);
  if (PyErr_Occurred() || !fwpy_get_array(args[0], "queries", FWPY_F32, 2, &queries)) return NULL;
  if (!fwpy_get_output(args[1], "distances", FWPY_F32, 2, &distances)) goto release_queries;
  if (!fwpy_get_output(args[2], "ids", FWPY_I64, 2, &ids)) goto release_distances;
  Py_BEGIN_ALLOW_THREADS;
  status = lock_for_search(self, &err);
  if (status == FURROW_OK) {
    status = furrow_searcher_search(self->searcher, queries.buf, (size_t)queries.shape[0], (size_t)ids.shape[1],
                                    &params, distances.buf, ids.buf, &err);
    pthread_rwlock_unlock(&self->lock);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  PyBuffer_Release(&ids);
release_distances:
  PyBuffer_Release(&distances);
release_queries:
  PyBuffer_Release(&queries);
  if (status != FURROW_OK) return NULL;
  Py_RETURN_NONE;
}

/* ---- The type --------------------------------------------------------------------------------------------- */

static PyMethodDef index_methods[] = {{"load", index_load, METH_VARARGS | METH_STATIC, NULL},
                                      {"info", index_info, METH_NOARGS, NULL},
                                      {"search", (PyCFunction)(void (*)(void))index_search, METH_FASTCALL, NULL},
                                      {NULL, NULL, 0, NULL}};

static PyType_Slot index_slots[] = {{Py_tp_dealloc, index_dealloc}, {Py_tp_methods, index_methods}, {0, NULL}};
static PyType_Spec index_spec = {"furrow._core.Index", sizeof(index_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, index_slots};

int fwpy_add_index(PyObject *module) {
  return fwpy_add_type(module, &index_spec, &index_type);
}
