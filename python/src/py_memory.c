/* python/src/py_memory.c: arrays of Python as rows and files in memory, which the library reads by their URI.
 *
 * The library borrows the arrays: their buffers are released when the name has been removed and no reader uses them. */
#include <stdlib.h>

#include "py_core.h"

#define HELD_MAX 8

/* Buffers that the library uses. */
typedef struct held_buffers {
  Py_buffer views[HELD_MAX];
  size_t count;
} held_buffers;

/* With the interpreter's lock. */
static void drop_buffers(held_buffers *held) {
  for (size_t i = 0; i < held->count; i++) PyBuffer_Release(&held->views[i]);
  free(held);
}

/* Called by the library, from any thread. */
static void release_buffers(void *user) {
  const PyGILState_STATE state = PyGILState_Ensure();
  drop_buffers(user);
  PyGILState_Release(state);
}

/* Borrows an array of `count` elements (SIZE_MAX: any number); None is NULL. */
static bool hold(held_buffers *held, PyObject *object, const char *name, fwpy_dtype dtype, size_t count,
                 const void **data) {
  Py_buffer *view = &held->views[held->count];
  *data = NULL;
  if (object == Py_None) return true;
  if (!fwpy_get_array(object, name, dtype, 1, view)) return false;
  held->count++;
  *data = view->buf;
  if (count == SIZE_MAX || (size_t)view->shape[0] == count) return true;
  PyErr_Format(PyExc_ValueError, "%s has %zd elements, not %zu", name, view->shape[0], count);
  return false;
}

/* Elements of the array that was held last. */
static size_t held_length(const held_buffers *held) {
  return (size_t)held->views[held->count - 1].shape[0];
}

typedef struct row_arrays {
  PyObject *offset, *index, *value, *field, *label, *weight, *qid;
} row_arrays;

static bool hold_rows(held_buffers *held, const row_arrays *in, bool wide, furrow_rowblock *block) {
  const fwpy_dtype key = wide ? FWPY_U64 : FWPY_U32;
  const void *offset, *weight, *qid;
  if (!hold(held, in->offset, "indptr", FWPY_U64, SIZE_MAX, &offset)) return false;
  if (!offset || held_length(held) == 0) {
    PyErr_SetString(PyExc_ValueError, "indptr is empty");
    return false;
  }
  block->size = held_length(held) - 1;
  block->offset = offset;
  if (!hold(held, in->index, "indices", key, SIZE_MAX, &block->index.any)) return false;
  const size_t features = block->index.any ? held_length(held) : 0;
  if (block->offset[block->size] > features) {
    PyErr_Format(PyExc_ValueError, "indptr ends at %llu, but there are %zu indices",
                 (unsigned long long)block->offset[block->size], features);
    return false;
  }
  block->key_type = wide ? FURROW_KEY_U64 : FURROW_KEY_U32;
  block->value_type = FURROW_VALUE_F32;
  const bool ok = hold(held, in->value, "data", FWPY_F32, features, &block->value.any) &&
                  hold(held, in->field, "fields", key, features, &block->field.any) &&
                  hold(held, in->label, "labels", FWPY_F32, block->size, &block->label.any) &&
                  hold(held, in->weight, "weights", FWPY_F32, block->size, &weight) &&
                  hold(held, in->qid, "qids", FWPY_U64, block->size, &qid);
  if (!ok) return false;
  block->weight = weight;
  block->qid = qid;
  return true;
}

/* add_rows(path, indptr u64, indices u32|u64, data f32|None, fields|None, labels f32|None, weights f32|None,
 * qids u64|None, wide): rows in the layout of CSR */
static PyObject *add_rows(PyObject *module, PyObject *args) {
  const char *path;
  row_arrays in;
  int wide;
  furrow_rowblock block = {0};
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)module;
  if (!PyArg_ParseTuple(args, "sOOOOOOOp", &path, &in.offset, &in.index, &in.value, &in.field, &in.label, &in.weight,
                        &in.qid, &wide))
    return NULL;
  held_buffers *held = calloc(1, sizeof *held);
  if (!held) return PyErr_NoMemory();
  if (!hold_rows(held, &in, wide != 0, &block)) {
    drop_buffers(held);
    return NULL;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_memory_rows_add(path, &block, release_buffers, held, &err);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) Py_RETURN_NONE;
  drop_buffers(held);
  return fwpy_raise(&err);
}

/* Rows that overlap, or are all the same (a stride of 0, which the library takes for rows without gaps), are refused.
 */
static bool has_rows_in_order(const Py_buffer *view) {
  if ((uintptr_t)view->buf % (size_t)view->itemsize != 0) return false;
  if (view->shape[1] > 1 && view->strides[1] != view->itemsize) return false;
  if (view->shape[0] <= 1) return true;
  return view->strides[0] % view->itemsize == 0 && view->strides[0] / view->itemsize >= view->shape[1];
}

/* Borrows a table whose rows are contiguous and of floats or doubles; rows may be any distance apart. */
static bool hold_table(held_buffers *held, PyObject *object, furrow_dense_rows *dense) {
  Py_buffer *view = &held->views[held->count];
  if (PyObject_GetBuffer(object, view, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) return false;
  held->count++;
  const char type = view->format ? view->format[0] : 0;
  if (view->ndim != 2 || (type != 'f' && type != 'd') || view->format[1]) {
    PyErr_SetString(PyExc_TypeError, "a table of 2 dimensions and of floats or doubles is needed");
    return false;
  }
  if (!has_rows_in_order(view)) {
    PyErr_SetString(PyExc_ValueError, "the rows of the table are not contiguous, not in order, or not aligned");
    return false;
  }
  dense->rows = (size_t)view->shape[0];
  dense->columns = (size_t)view->shape[1];
  dense->values = view->buf;
  dense->type = type == 'f' ? FURROW_DENSE_F32 : FURROW_DENSE_F64;
  dense->row_stride = view->shape[0] > 1 ? (size_t)(view->strides[0] / view->itemsize) : dense->columns;
  return true;
}

/* add_table(path, table f32|f64, labels f32|None, weights f32|None, qids u64|None, drop_zeros) */
static PyObject *add_table(PyObject *module, PyObject *args) {
  const char *path;
  PyObject *table, *label, *weight, *qid;
  const void *labels, *weights, *qids;
  int drop_zeros;
  furrow_dense_rows dense;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)module;
  if (!PyArg_ParseTuple(args, "sOOOOp", &path, &table, &label, &weight, &qid, &drop_zeros)) return NULL;
  furrow_dense_rows_init(&dense);
  held_buffers *held = calloc(1, sizeof *held);
  if (!held) return PyErr_NoMemory();
  if (!hold_table(held, table, &dense) || !hold(held, label, "labels", FWPY_F32, dense.rows, &labels) ||
      !hold(held, weight, "weights", FWPY_F32, dense.rows, &weights) ||
      !hold(held, qid, "qids", FWPY_U64, dense.rows, &qids)) {
    drop_buffers(held);
    return NULL;
  }
  dense.label = labels;
  dense.weight = weights;
  dense.qid = qids;
  dense.drop_zeros = drop_zeros != 0;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_memory_rows_add_dense(path, &dense, release_buffers, held, &err);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) Py_RETURN_NONE;
  drop_buffers(held);
  return fwpy_raise(&err);
}

/* add_file(path, bytes): the bytes of any object with the buffer protocol as a file */
static PyObject *add_file(PyObject *module, PyObject *args) {
  const char *path;
  PyObject *object;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)module;
  if (!PyArg_ParseTuple(args, "sO", &path, &object)) return NULL;
  held_buffers *held = calloc(1, sizeof *held);
  if (!held) return PyErr_NoMemory();
  if (PyObject_GetBuffer(object, &held->views[0], PyBUF_SIMPLE) < 0) {
    drop_buffers(held);
    return NULL;
  }
  held->count = 1;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_memory_file_add(path, held->views[0].buf, (size_t)held->views[0].len, release_buffers, held, &err);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) Py_RETURN_NONE;
  drop_buffers(held);
  return fwpy_raise(&err);
}

static PyObject *remove_from_memory(PyObject *args, furrow_status (*remove)(const char *path, furrow_error *err)) {
  const char *path;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "s", &path)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = remove(path, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

static PyObject *remove_rows(PyObject *module, PyObject *args) {
  (void)module;
  return remove_from_memory(args, furrow_memory_rows_remove);
}

static PyObject *remove_file(PyObject *module, PyObject *args) {
  (void)module;
  return remove_from_memory(args, furrow_memory_file_remove);
}

static PyMethodDef methods[] = {
    {"add_rows", add_rows, METH_VARARGS, NULL},       {"add_table", add_table, METH_VARARGS, NULL},
    {"add_file", add_file, METH_VARARGS, NULL},       {"remove_rows", remove_rows, METH_VARARGS, NULL},
    {"remove_file", remove_file, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

int fwpy_add_memory(PyObject *module) {
  return PyModule_AddFunctions(module, methods);
}
