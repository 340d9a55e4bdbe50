/* python/src/py_index_names.c: names of the ids of an index. */
#include "py_index.h"

#include <stdlib.h>
#include <string.h>

/* ---- Names that several threads use ----------------------------------------------------------------------- */

furrow_status fwpy_names_wrap(index_names **wrapped, furrow_id_names *names, furrow_error *err) {
  index_names *made = malloc(sizeof *made);
  if (!made) {
    furrow_id_names_free(names);
    *err = (furrow_error){.status = FURROW_E_MEMORY, .offset = FURROW_NO_OFFSET, .message = "out of memory"};
    return FURROW_E_MEMORY;
  }
  atomic_init(&made->uses, 1);
  made->names = names;
  *wrapped = made;
  return FURROW_OK;
}

furrow_status fwpy_names_copy(index_names **copy, const index_names *names, furrow_error *err) {
  furrow_id_names *made = NULL;
  furrow_status status = furrow_id_names_create(&made, err);
  if (status == FURROW_OK && names) status = furrow_id_names_merge(made, names->names, 0, err);
  if (status == FURROW_OK) return fwpy_names_wrap(copy, made, err);
  furrow_id_names_free(made);
  return status;
}

void fwpy_names_release(index_names *names) {
  if (!names || atomic_fetch_sub(&names->uses, 1) > 1) return;
  furrow_id_names_free(names->names);
  free(names);
}

/* The names of an index for the calling thread, NULL if it has none. Returns false with an exception. */
static bool use_names(index_object *self, index_names **names) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  *names = NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = fwpy_index_begin_read(self, &err);
  if (status == FURROW_OK) {
    *names = self->names;
    if (*names) atomic_fetch_add(&(*names)->uses, 1);
    fwpy_index_end_read(self);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* ---- Setting ---------------------------------------------------------------------------------------------- */

bool fwpy_index_texts(PyObject *tuple, const char ***texts, size_t *count) {
  const Py_ssize_t n = PyTuple_Size(tuple);
  if (n < 0) return false;
  const char **list = PyMem_Malloc(((size_t)n + 1) * sizeof *list);
  if (!list) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *text = PyTuple_GetItem(tuple, i);
    Py_ssize_t length = 0;
    list[i] = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    if (list[i] && strlen(list[i]) == (size_t)length) continue;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "name %zd is %R, but a str without NUL is needed", i, text);
    PyMem_Free((void *)list);
    return false;
  }
  *texts = list;
  *count = (size_t)n;
  return true;
}

/* texts NULL: removes the names. ids NULL: the ids of the index, ascending. */
static furrow_status set_names(index_object *self, const char **texts, size_t count, const int64_t *ids,
                               furrow_error *err) {
  index_names *names = NULL;
  furrow_status status = fwpy_index_begin_change(self, err);
  if (status != FURROW_OK) return status;
  if (texts) status = fwpy_names_copy(&names, NULL, err);
  if (status == FURROW_OK && texts)
    status = ids ? furrow_id_names_add(names->names, ids, texts, count, err)
                 : furrow_id_names_set(names->names, self->index, texts, count, err);
  if (status == FURROW_OK) {
    index_names *before = self->names;
    self->names = names;
    names = before;
  }
  fwpy_index_end_change(self);
  fwpy_names_release(names);
  return status;
}

static PyObject *run_set_names(index_object *self, const char **texts, size_t count, const Py_buffer *ids) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (ids && (size_t)ids->shape[0] != count)
    return PyErr_Format(PyExc_ValueError, "there are %zu names for %zd ids", count, ids->shape[0]);
  Py_BEGIN_ALLOW_THREADS;
  status = set_names(self, texts, count, ids ? ids->buf : NULL, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

/* set_names(tuple of str | None, ids | None): None for names removes them; None for ids: by ascending id */
PyObject *fwpy_index_set_names(PyObject *self, PyObject *args) {
  PyObject *tuple, *array, *result;
  const char **texts = NULL;
  size_t count = 0;
  Py_buffer ids;
  if (!PyArg_ParseTuple(args, "OO", &tuple, &array)) return NULL;
  const bool with_ids = array != Py_None;
  if (with_ids && !fwpy_get_array(array, "ids", FWPY_I64, 1, &ids)) return NULL;
  if (tuple != Py_None && !fwpy_index_texts(tuple, &texts, &count))
    result = NULL;
  else
    result = run_set_names((index_object *)self, texts, count, with_ids ? &ids : NULL);
  PyMem_Free((void *)texts);
  if (with_ids) PyBuffer_Release(&ids);
  return result;
}

/* ---- Reading ---------------------------------------------------------------------------------------------- */

static bool put_name(PyObject *list, Py_ssize_t i, const index_names *names, int64_t id) {
  size_t size = 0;
  const char *text = names ? furrow_id_names_text(names->names, id, &size) : NULL;
  PyObject *name = text ? fwpy_text_n(text, size) : Py_NewRef(Py_None);
  return name && PyList_SetItem(list, i, name) == 0;
}

/* get_names(ids): a list of str, None where an id has no name */
PyObject *fwpy_index_get_names(PyObject *self, PyObject *args) {
  PyObject *array, *list = NULL;
  index_names *names;
  Py_buffer ids;
  if (!PyArg_ParseTuple(args, "O", &array) || !fwpy_get_array(array, "ids", FWPY_I64, 1, &ids)) return NULL;
  if (use_names((index_object *)self, &names)) {
    list = PyList_New(ids.shape[0]);
    for (Py_ssize_t i = 0; list && i < ids.shape[0]; i++)
      if (!put_name(list, i, names, ((const int64_t *)ids.buf)[i])) Py_CLEAR(list);
    fwpy_names_release(names);
  }
  PyBuffer_Release(&ids);
  return list;
}

/* Returns the number of names before the first that the index does not have. */
static size_t find_known(const index_names *names, const char **texts, size_t count, int64_t *ids) {
  size_t i = 0;
  while (i < count && names && furrow_id_names_find(names->names, texts[i], strlen(texts[i]), &ids[i])) i++;
  return i;
}

/* find_names(tuple of str, ids): writes the ids; returns how many names were found before one that is not there */
PyObject *fwpy_index_find_names(PyObject *self, PyObject *args) {
  PyObject *tuple, *array, *found = NULL;
  const char **texts = NULL;
  size_t count = 0;
  index_names *names;
  Py_buffer ids;
  if (!PyArg_ParseTuple(args, "OO", &tuple, &array) || !fwpy_index_texts(tuple, &texts, &count)) return NULL;
  if (fwpy_get_output(array, "ids", FWPY_I64, 1, &ids)) {
    if ((size_t)ids.shape[0] != count) {
      PyErr_SetString(PyExc_ValueError, "ids must have an element for each name");
    } else if (use_names((index_object *)self, &names)) {
      found = PyLong_FromSize_t(find_known(names, texts, count, ids.buf));
      fwpy_names_release(names);
    }
    PyBuffer_Release(&ids);
  }
  PyMem_Free((void *)texts);
  return found;
}

PyObject *fwpy_index_has_names(PyObject *self, PyObject *unused) {
  index_names *names;
  (void)unused;
  if (!use_names((index_object *)self, &names)) return NULL;
  const bool has = names != NULL;
  fwpy_names_release(names);
  return PyBool_FromLong(has);
}

static bool put_item(PyObject *list, const index_names *names, size_t i) {
  int64_t id = 0;
  size_t size = 0;
  const char *text = furrow_id_names_at(names->names, i, &id, &size);
  PyObject *name = text ? fwpy_text_n(text, size) : NULL;
  PyObject *item = name ? Py_BuildValue("LN", (long long)id, name) : NULL;
  const bool ok = item && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  return ok;
}

/* name_items(): a list of (id, name) by ascending id; None: ids have no names */
PyObject *fwpy_index_name_items(PyObject *self, PyObject *unused) {
  index_names *names;
  (void)unused;
  if (!use_names((index_object *)self, &names)) return NULL;
  PyObject *list = names ? PyList_New(0) : Py_NewRef(Py_None);
  const size_t count = names ? furrow_id_names_count(names->names) : 0;
  for (size_t i = 0; list && i < count; i++)
    if (!put_item(list, names, i)) Py_CLEAR(list);
  fwpy_names_release(names);
  return list;
}
