/* python/src/py_vectors.c: users, items and events of a model that was trained on a log, and vectors for search. */
#include <stdlib.h>
#include <string.h>

#include "py_scorer.h"

/* ---- What the log has ------------------------------------------------------------------------------------- */

static PyObject *no_encoder(void) {
  return PyErr_Format(PyExc_TypeError, "the model was trained on rows, not on a log");
}

/* columns() -> [(name, as, role), …] of the schema */
PyObject *fwpy_scorer_columns(PyObject *object, PyObject *unused) {
  const furrow_encoder *encoder = furrow_scorer_encoder(((fwpy_scorer *)object)->scorer);
  (void)unused;
  if (!encoder) return no_encoder();
  const furrow_schema *schema = furrow_encoder_schema(encoder);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    PyObject *item = Py_BuildValue("(NNN)", fwpy_text(column.name), fwpy_text(column.as), fwpy_text(column.role));
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

/* describe_feature(index) -> (field, value), texts */
PyObject *fwpy_scorer_describe_feature(PyObject *object, PyObject *number) {
  const furrow_encoder *encoder = furrow_scorer_encoder(((fwpy_scorer *)object)->scorer);
  const uint64_t index = PyLong_AsUnsignedLongLong(number);
  furrow_encoder_feature feature;
  furrow_encoder_field field;
  furrow_error err;
  if (PyErr_Occurred()) return NULL;
  if (!encoder) return no_encoder();
  if (furrow_encoder_get_feature(encoder, index, &feature, &err) != FURROW_OK) return fwpy_raise(&err);
  furrow_encoder_get_field(encoder, feature.field, &field);
  return Py_BuildValue("(NN)", fwpy_text(field.name), fwpy_text_n(feature.name, feature.length));
}

/* data_columns() -> names of the columns that the features come from; empty: they do not come from named columns */
PyObject *fwpy_scorer_data_columns(PyObject *object, PyObject *unused) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < furrow_scorer_column_count(scorer); i++) {
    PyObject *name = fwpy_text(furrow_scorer_column_name(scorer, i));
    if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

/* feature_columns(features u64, out u64): the column of each feature; the largest number: none */
PyObject *fwpy_scorer_feature_columns(PyObject *object, PyObject *args) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  PyObject *ids, *array;
  Py_buffer features, out;
  if (!PyArg_ParseTuple(args, "OO", &ids, &array) || !fwpy_get_array(ids, "features", FWPY_U64, 1, &features))
    return NULL;
  if (!fwpy_get_output(array, "out", FWPY_U64, 1, &out)) {
    PyBuffer_Release(&features);
    return NULL;
  }
  const bool fits = out.shape[0] == features.shape[0];
  for (Py_ssize_t i = 0; fits && i < features.shape[0]; i++)
    ((uint64_t *)out.buf)[i] = furrow_scorer_feature_column(scorer, ((const uint64_t *)features.buf)[i]);
  PyBuffer_Release(&features);
  PyBuffer_Release(&out);
  if (!fits) return PyErr_Format(PyExc_ValueError, "out does not have a number for each feature");
  Py_RETURN_NONE;
}

static bool parse_side(int number, furrow_side *side) {
  *side = number == 2 ? FURROW_SIDE_ITEM : FURROW_SIDE_USER;
  if (number == 1 || number == 2) return true;
  PyErr_SetString(PyExc_ValueError, "the side is 1, users, or 2, items");
  return false;
}

/* side(1: users, 2: items) -> names */
PyObject *fwpy_scorer_side(PyObject *object, PyObject *args) {
  const furrow_encoder *encoder = furrow_scorer_encoder(((fwpy_scorer *)object)->scorer);
  int number;
  furrow_side side;
  furrow_encoder_field field;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "i", &number) || !parse_side(number, &side)) return NULL;
  if (!encoder) return no_encoder();
  const size_t at = furrow_encoder_side_field(encoder, side);
  if (at == SIZE_MAX)
    return PyErr_Format(PyExc_TypeError, "the schema does not say which column has the %s",
                        side == FURROW_SIDE_ITEM ? "items" : "users");
  furrow_encoder_get_field(encoder, at, &field);
  PyObject *names = PyList_New(0);
  for (uint64_t i = 0; names && i < field.entries; i++) {
    furrow_encoder_feature feature;
    if (furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, at, i), &feature, &err) != FURROW_OK) {
      Py_DECREF(names);
      return fwpy_raise(&err);
    }
    PyObject *name = fwpy_text_n(feature.name, feature.length);
    if (!name || PyList_Append(names, name) < 0) Py_CLEAR(names);
    Py_XDECREF(name);
  }
  return names;
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

/* A text of an event, which it borrows: bytes, or None for a value that is missing. */
static bool read_text(PyObject *object, bool may_miss, const char **text) {
  *text = NULL;
  if (may_miss && object == Py_None) return true;
  *text = PyBytes_AsString(object);
  if (*text && strlen(*text) == (size_t)PyBytes_Size(object)) return true;
  if (*text) PyErr_SetString(PyExc_ValueError, "an event has a text with a NUL character");
  return false;
}

/* An event as pairs that borrow its texts: ((column, value), …). */
static bool read_event(PyObject *event, furrow_pair **pairs, size_t *count) {
  const Py_ssize_t size = PyTuple_Size(event);
  if (size < 0) return false;
  *count = (size_t)size;
  *pairs = calloc(*count + 1, sizeof **pairs);
  if (!*pairs) return PyErr_NoMemory() != NULL;
  for (size_t i = 0; i < *count; i++) {
    PyObject *column, *value;
    if (!PyArg_ParseTuple(PyTuple_GetItem(event, (Py_ssize_t)i), "OO", &column, &value) ||
        !read_text(column, false, &(*pairs)[i].column) || !read_text(value, true, &(*pairs)[i].value))
      return false;
  }
  return true;
}

static bool push_event(const furrow_encoder *encoder, PyObject *tuple, furrow_container *rows) {
  furrow_pair *pairs = NULL;
  size_t count = 0;
  furrow_error err;
  bool ok = read_event(tuple, &pairs, &count);
  if (ok && furrow_encoder_push_event(encoder, pairs, count, rows, &err) != FURROW_OK) ok = fwpy_raise(&err) != NULL;
  free(pairs);
  return ok;
}

static void release_container(void *container) {
  furrow_container_free(container);
}

static PyObject *add_container(const char *path, furrow_container *rows) {
  furrow_rowblock block;
  furrow_error err;
  furrow_status status = FURROW_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_container_get_block(rows, &block, &err);
  if (status == FURROW_OK) status = furrow_memory_rows_add(path, &block, release_container, rows, &err);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) Py_RETURN_NONE;
  furrow_container_free(rows);
  return fwpy_raise(&err);
}

furrow_container *fwpy_encode_events(const furrow_scorer *scorer, PyObject *events) {
  const furrow_encoder *encoder = furrow_scorer_encoder(scorer);
  furrow_container *rows = NULL;
  furrow_error err;
  bool ok = true;
  if (!encoder) return (void *)no_encoder();
  if (!PyList_Check(events)) return (void *)PyErr_Format(PyExc_TypeError, "a list of events is needed");
  if (furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, &err) != FURROW_OK) return fwpy_raise(&err);
  for (Py_ssize_t i = 0; i < PyList_Size(events) && ok; i++) ok = push_event(encoder, PyList_GetItem(events, i), rows);
  if (ok) return rows;
  furrow_container_free(rows);
  return NULL;
}

/* add_events(path, list of events ((column, value), …)): their rows under a path in memory */
PyObject *fwpy_scorer_add_events(PyObject *object, PyObject *args) {
  const char *path;
  PyObject *events;
  if (!PyArg_ParseTuple(args, "sO", &path, &events)) return NULL;
  furrow_container *rows = fwpy_encode_events(((fwpy_scorer *)object)->scorer, events);
  return rows ? add_container(path, rows) : NULL;
}

/* ---- Vectors ---------------------------------------------------------------------------------------------- */

PyObject *fwpy_scorer_vector_size(PyObject *object, PyObject *unused) {
  size_t size = 0;
  furrow_error err;
  (void)unused;
  if (furrow_scorer_vector_size(((fwpy_scorer *)object)->scorer, &size, &err) != FURROW_OK) return fwpy_raise(&err);
  return PyLong_FromSize_t(size);
}

/* Features that are made into vectors, row by row. */
typedef struct vector_job {
  const furrow_scorer *scorer;
  furrow_side side;
  bool encoded;        /* features are users or items of the log */
  const uint64_t *ids; /* NULL: the names of a field */
  size_t field;
  size_t count, dim;
  float *out;
} vector_job;

static furrow_status write_vector(const vector_job *v, const furrow_row *row, float *out, furrow_error *err) {
  return v->side == FURROW_SIDE_ITEM ? furrow_scorer_item_vector(v->scorer, row, out, err)
                                     : furrow_scorer_query_vector(v->scorer, row, out, NULL, err);
}

static furrow_status side_vector(const vector_job *v, uint64_t id, furrow_container *rows, float *out,
                                 furrow_error *err) {
  furrow_rowblock block;
  furrow_container_clear(rows);
  furrow_status status = furrow_encoder_push_side(furrow_scorer_encoder(v->scorer), v->side, id, rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status != FURROW_OK) return status;
  const furrow_row row = furrow_rowblock_row(&block, 0);
  return write_vector(v, &row, out, err);
}

static furrow_status feature_vector(const vector_job *v, uint64_t id, float *out, furrow_error *err) {
  const furrow_row row = {.length = 1, .index.u64 = &id, .key_type = FURROW_KEY_U64, .value_type = FURROW_VALUE_F32};
  return write_vector(v, &row, out, err);
}

static furrow_status run_vectors(void *user, fwpy_job *job, furrow_error *err) {
  const vector_job *v = user;
  furrow_container *rows = NULL;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (size_t i = 0; i < v->count && status == FURROW_OK; i++) {
    const uint64_t id = v->ids ? v->ids[i] : furrow_encoder_entry(furrow_scorer_encoder(v->scorer), v->field, i);
    float *out = v->out + i * v->dim;
    status = v->encoded ? side_vector(v, id, rows, out, err) : feature_vector(v, id, out, err);
    if (status == FURROW_OK && i % 1024 == 0 && !fwpy_job_progress(job, "vectors", i, v->count))
      status = fwpy_fail(err, FURROW_E_CANCELLED, "stopped by the caller");
  }
  furrow_container_free(rows);
  return status;
}

static PyObject *make_vectors(vector_job *v, PyObject *array) {
  Py_buffer out;
  furrow_error err;
  if (furrow_scorer_vector_size(v->scorer, &v->dim, &err) != FURROW_OK) return fwpy_raise(&err);
  if (!fwpy_get_output(array, "out", FWPY_F32, 2, &out)) return NULL;
  v->out = out.buf;
  if ((size_t)out.shape[0] != v->count || (size_t)out.shape[1] != v->dim)
    PyErr_Format(PyExc_ValueError, "out is not %zu x %zu", v->count, v->dim);
  else
    fwpy_job_run(run_vectors, v, NULL);
  PyBuffer_Release(&out);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* side_vectors(side, count, out f32 count x vector_size): of the first names of a side */
PyObject *fwpy_scorer_side_vectors(PyObject *object, PyObject *args) {
  vector_job v = {.scorer = ((fwpy_scorer *)object)->scorer, .encoded = true};
  Py_ssize_t count;
  int side;
  PyObject *out;
  if (!PyArg_ParseTuple(args, "inO", &side, &count, &out) || !parse_side(side, &v.side)) return NULL;
  if (!furrow_scorer_encoder(v.scorer)) return no_encoder();
  v.field = furrow_encoder_side_field(furrow_scorer_encoder(v.scorer), v.side);
  v.count = (size_t)count;
  return make_vectors(&v, out);
}

/* feature_vectors(side, ids u64, out f32 ids x vector_size): rows of one feature each */
PyObject *fwpy_scorer_feature_vectors(PyObject *object, PyObject *args) {
  vector_job v = {.scorer = ((fwpy_scorer *)object)->scorer};
  int side;
  PyObject *array, *out, *result;
  Py_buffer ids;
  if (!PyArg_ParseTuple(args, "iOO", &side, &array, &out) || !parse_side(side, &v.side) ||
      !fwpy_get_array(array, "ids", FWPY_U64, 1, &ids))
    return NULL;
  v.ids = ids.buf;
  v.count = (size_t)ids.shape[0];
  result = make_vectors(&v, out);
  PyBuffer_Release(&ids);
  return result;
}
