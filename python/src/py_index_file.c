/* python/src/py_index_file.c: index files: loaded, saved, as bytes, field by field; files of vectors; exact search. */
#include "py_index.h"

#include <stdio.h>
#include <string.h>

/* ---- Loading ---------------------------------------------------------------------------------------------- */

static const fwpy_field load_fields[] = {FWPY_FIELD(furrow_index_load_params, memory_map, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, allow_trailing, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, lists, FWPY_TEXT),
                                         FWPY_FIELD(furrow_index_load_params, lists_optional, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, search_only, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_load_params, card, FWPY_BOOL),
                                         {0}};

/* What an index file is loaded with; NULL where it has none, or none was wanted. */
typedef struct loaded_index {
  furrow_index *index;
  index_names *names;
  index_attributes *attributes;
} loaded_index;

static furrow_status load_with(loaded_index *loaded, const char *path, const furrow_index_load_params *params,
                               bool with_names, bool with_attributes, furrow_error *err) {
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  furrow_status status;
  if (with_attributes)
    status = furrow_index_load_with_attributes(&loaded->index, &names, &attributes, path, params, err);
  else if (with_names)
    status = furrow_index_load_with_names(&loaded->index, &names, path, params, err);
  else
    return furrow_index_load(&loaded->index, path, params, err);
  if (status != FURROW_OK) return status;
  if (names && with_names) status = fwpy_names_wrap(&loaded->names, names, err);
  if (names && !with_names) furrow_id_names_free(names);
  if (attributes && status == FURROW_OK)
    status = fwpy_attributes_wrap(&loaded->attributes, attributes, err);
  else
    furrow_attributes_free(attributes);
  if (status == FURROW_OK) return FURROW_OK;
  fwpy_names_release(loaded->names);
  furrow_index_free(loaded->index);
  return status;
}

/* Path and options of a call; *path is to be released. */
static bool get_load_arguments(PyObject *args, PyObject **path, furrow_index_load_params *params, int *with_names,
                               int *with_attributes) {
  PyObject *options = NULL;
  furrow_index_load_params_init(params);
  *with_names = *with_attributes = 1;
  if (!PyArg_ParseTuple(args, "O&|Opp", PyUnicode_FSConverter, path, &options, with_names, with_attributes))
    return false;
  if (fwpy_set_fields(params, options, load_fields)) return true;
  Py_DECREF(*path);
  return false;
}

/* load(path, options=None, names=True, attributes=True) */
PyObject *fwpy_index_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL;
  furrow_index_load_params params;
  loaded_index loaded = {0};
  furrow_error err;
  furrow_status status = FURROW_OK;
  int with_names, with_attributes;
  (void)type;
  if (!get_load_arguments(args, &path, &params, &with_names, &with_attributes)) return NULL;
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = load_with(&loaded, text, &params, with_names != 0, with_attributes != 0, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != FURROW_OK) return fwpy_raise(&err);
  return fwpy_index_make(loaded.index, loaded.names, loaded.attributes);
}

/* read(bytes): an index that does not need the bytes afterwards */
PyObject *fwpy_index_read(PyObject *type, PyObject *args) {
  Py_buffer bytes;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)type;
  if (!PyArg_ParseTuple(args, "y*", &bytes)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_index_read(&index, bytes.buf, (size_t)bytes.len, NULL, NULL, &err);
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&bytes);
  return status == FURROW_OK ? fwpy_index_make(index, NULL, NULL) : fwpy_raise(&err);
}

/* ---- Saving ----------------------------------------------------------------------------------------------- */

static const fwpy_field save_fields[] = {FWPY_FIELD(furrow_index_save_params, inline_lists, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_save_params, overwrite, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_save_params, compat, FWPY_TEXT),
                                         FWPY_FIELD(furrow_index_save_params, lists_file, FWPY_TEXT),
                                         FWPY_FIELD(furrow_index_save_params, card, FWPY_BOOL),
                                         {0}};

static furrow_status save_with_names(index_object *self, const char *path, furrow_index_save_params *params,
                                     furrow_error *err) {
  furrow_status status = fwpy_index_begin_read(self, err);
  if (status != FURROW_OK) return status;
  params->names = self->names ? self->names->names : NULL;
  params->attributes = self->attributes ? self->attributes->attributes : NULL;
  status = furrow_index_save(self->index, path, params, err);
  fwpy_index_end_read(self);
  return status;
}

/* save(path, options) */
PyObject *fwpy_index_save(PyObject *self, PyObject *args) {
  PyObject *path = NULL, *options;
  furrow_index_save_params params;
  furrow_error err;
  furrow_status status = FURROW_OK;
  furrow_index_save_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &options)) return NULL;
  if (!fwpy_set_fields(&params, options, save_fields)) {
    Py_DECREF(path);
    return NULL;
  }
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = save_with_names((index_object *)self, text, &params, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

typedef struct byte_sink {
  char *bytes;
  size_t size, used;
} byte_sink;

static furrow_status take_bytes(void *user, const void *bytes, size_t length, furrow_error *err) {
  byte_sink *sink = user;
  (void)err;
  if (length > sink->size - sink->used) return FURROW_E_STALE;
  memcpy(sink->bytes + sink->used, bytes, length);
  sink->used += length;
  return FURROW_OK;
}

/* Counts the bytes; with sink->bytes also writes them. E_STALE: the index has changed since they were counted. */
static furrow_status write_bytes(index_object *self, const furrow_index_save_params *params, byte_sink *sink,
                                 furrow_error *err) {
  uint64_t size = 0;
  furrow_output output;
  furrow_output_init(&output);
  output.write = take_bytes;
  output.user = sink;
  furrow_status status = fwpy_index_begin_read(self, err);
  if (status != FURROW_OK) return status;
  status = furrow_index_file_size(self->index, params, &size, err);
  if (status == FURROW_OK && sink->bytes)
    status = size == sink->size ? furrow_index_write(self->index, &output, params, err) : FURROW_E_STALE;
  fwpy_index_end_read(self);
  sink->size = (size_t)size;
  return status;
}

/* to_bytes(options): the interpreter allocates the bytes, so the index is unlocked between counting and writing
 * them. */
PyObject *fwpy_index_to_bytes(PyObject *self, PyObject *args) {
  PyObject *options, *bytes = NULL;
  furrow_index_save_params params;
  furrow_error err;
  furrow_status status = FURROW_E_STALE;
  byte_sink sink = {0};
  furrow_index_save_params_init(&params);
  if (!PyArg_ParseTuple(args, "O", &options) || !fwpy_set_fields(&params, options, save_fields)) return NULL;
  while (status == FURROW_E_STALE) {
    Py_BEGIN_ALLOW_THREADS;
    status = write_bytes((index_object *)self, &params, &sink, &err);
    Py_END_ALLOW_THREADS;
    if (status == FURROW_OK && sink.bytes) return bytes;
    Py_CLEAR(bytes);
    sink.bytes = NULL;
    if (status != FURROW_OK) continue;
    bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)sink.size);
    if (!bytes) return NULL;
    sink = (byte_sink){PyBytes_AsString(bytes), sink.size, 0};
    status = FURROW_E_STALE;
  }
  return fwpy_raise(&err);
}

/* ---- Looking into a file ---------------------------------------------------------------------------------- */

/* A list that the library fills from its callbacks, which need the interpreter's lock. */
typedef struct collecting {
  PyObject *list;
  bool failed; /* an exception is set */
} collecting;

/* Takes the item, with the lock held. */
static bool collect(collecting *c, PyObject *item) {
  if (!item || PyList_Append(c->list, item) < 0 || PyErr_CheckSignals() < 0) c->failed = true;
  Py_XDECREF(item);
  return !c->failed;
}

static PyObject *end_collecting(collecting *c, furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK && !c->failed) return c->list;
  Py_DECREF(c->list);
  return c->failed ? NULL : fwpy_raise(err);
}

static furrow_status collect_field(void *user, const furrow_index_field *field) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool ok =
      collect(user, Py_BuildValue("KKNNKNN", (unsigned long long)field->offset, (unsigned long long)field->size,
                                  fwpy_text(field->path), fwpy_text(field->type), (unsigned long long)field->count,
                                  fwpy_text(field->value), fwpy_text(field->meaning)));
  PyGILState_Release(state);
  return ok ? FURROW_OK : FURROW_E_CANCELLED;
}

/* index_fields(path, options): (offset, size, path, type, count, value, meaning) for each */
static PyObject *index_fields(PyObject *module, PyObject *args) {
  PyObject *path = NULL;
  furrow_index_load_params params;
  furrow_error err;
  furrow_status status = FURROW_OK;
  int unused, none;
  (void)module;
  if (!get_load_arguments(args, &path, &params, &unused, &none)) return NULL;
  collecting c = {.list = PyList_New(0)};
  if (c.list) {
    const char *text = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    status = furrow_index_for_each_field(text, &params, collect_field, &c, &err);
    Py_END_ALLOW_THREADS;
  }
  Py_DECREF(path);
  return c.list ? end_collecting(&c, status, &err) : NULL;
}

static PyObject *offset_or_none(uint64_t offset) {
  if (offset == FURROW_NO_OFFSET) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(offset);
}

static void collect_finding(void *user, const furrow_index_finding *finding) {
  collecting *c = user;
  const PyGILState_STATE state = PyGILState_Ensure();
  if (!c->failed)
    collect(c, Py_BuildValue("NNNNN", PyBool_FromLong(finding->fatal), fwpy_text(finding->path),
                             offset_or_none(finding->offset), fwpy_text(furrow_status_name(finding->status)),
                             fwpy_text(finding->message)));
  PyGILState_Release(state);
}

/* Verifies the names and the attributes of an index file, if there are any. */
static furrow_status verify_names(const char *path, const furrow_index_load_params *params, furrow_error *err) {
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  furrow_index *index = NULL;
  furrow_status status = furrow_index_load_with_attributes(&index, &names, &attributes, path, params, err);
  if (status == FURROW_OK && names) status = furrow_id_names_check(names, index, NULL, err);
  if (status == FURROW_OK && attributes) status = furrow_attributes_check(attributes, index, NULL, err);
  furrow_attributes_free(attributes);
  furrow_index_free(index);
  furrow_id_names_free(names);
  return status;
}

/* index_verify(path, options, findings, names): appends (fatal, path, offset, status, message) to the list; raises
 * after the last if one is fatal */
static PyObject *index_verify(PyObject *module, PyObject *args) {
  PyObject *path = NULL, *options;
  collecting c = {0};
  furrow_index_load_params params;
  furrow_error err;
  furrow_status status = FURROW_OK;
  int with_names;
  (void)module;
  furrow_index_load_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&OOp", PyUnicode_FSConverter, &path, &options, &c.list, &with_names)) return NULL;
  if (fwpy_set_fields(&params, options, load_fields)) {
    const char *text = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS;
    status = furrow_index_verify(text, &params, collect_finding, &c, &err);
    if (status == FURROW_OK && with_names) status = verify_names(text, &params, &err);
    Py_END_ALLOW_THREADS;
  } else {
    c.failed = true;
  }
  Py_DECREF(path);
  if (c.failed) return NULL;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

/* ---- Files of vectors --------------------------------------------------------------------------------------- */

typedef struct vectors_call {
  furrow_vectors_reader *reader;
  furrow_name_list names;
  float *to; /* the next vectors */
  size_t rows, got;
} vectors_call;

static furrow_status read_vectors_job(void *user, fwpy_job *job, furrow_error *err) {
  vectors_call *c = user;
  (void)job;
  return furrow_vectors_reader_next(c->reader, c->rows, c->to, NULL, &c->got, err);
}

static furrow_status read_names_job(void *user, fwpy_job *job, furrow_error *err) {
  vectors_call *c = user;
  (void)job;
  return furrow_vectors_reader_names(c->reader, &c->names, err);
}

/* Reads all vectors into a bytearray, which grows where their number is unknown. */
static PyObject *read_all_vectors(vectors_call *c) {
  enum { SOME = 4096 };
  const size_t d = furrow_vectors_reader_dimension(c->reader), row = (d ? d : 1) * sizeof(float);
  const uint64_t count = furrow_vectors_reader_count(c->reader);
  size_t done = 0, capacity = count == FURROW_COUNT_UNKNOWN ? SOME : (size_t)count + 1; /* the end is read, too */
  PyObject *bytes = PyByteArray_FromStringAndSize(NULL, 0);
  for (bool more = bytes != NULL; more; done += c->got) {
    if (done == capacity) capacity *= 2;
    if (capacity > (size_t)PY_SSIZE_T_MAX / row) {
      PyErr_NoMemory();
      break;
    }
    if (PyByteArray_Resize(bytes, (Py_ssize_t)(capacity * row)) != 0) break;
    c->to = (float *)PyByteArray_AsString(bytes) + done * (row / sizeof(float));
    c->rows = capacity - done;
    c->got = 0;
    if (d > 0 && !fwpy_job_run(read_vectors_job, c, Py_None)) break;
    more = c->got == c->rows;
  }
  if (bytes && !PyErr_Occurred() && PyByteArray_Resize(bytes, (Py_ssize_t)(done * (d ? row : 0))) == 0) return bytes;
  Py_XDECREF(bytes);
  return NULL;
}

static PyObject *read_all_names(vectors_call *c) {
  if (!furrow_vectors_reader_has_names(c->reader)) Py_RETURN_NONE;
  if (!fwpy_job_run(read_names_job, c, Py_None)) return NULL;
  PyObject *list = PyList_New((Py_ssize_t)c->names.count);
  for (size_t i = 0; list && i < c->names.count; i++) {
    PyObject *name = PyUnicode_FromString(c->names.names[i]);
    if (!name || PyList_SetItem(list, (Py_ssize_t)i, name) != 0) {
      Py_DECREF(list);
      list = NULL;
    }
  }
  furrow_name_list_clear(&c->names);
  return list;
}

/* load_vectors(path, kind, d, array, column, names): floats, elements of a vector, names */
static PyObject *load_vectors(PyObject *module, PyObject *args) {
  PyObject *path = NULL, *result = NULL;
  Py_ssize_t d;
  vectors_call c = {0};
  furrow_vectors_reader_params params;
  furrow_error err;
  furrow_status status;
  (void)module;
  furrow_vectors_reader_params_init(&params);
  if (!PyArg_ParseTuple(args, "O&znzzz", PyUnicode_FSConverter, &path, &params.kind, &d, &params.array, &params.column,
                        &params.names))
    return NULL;
  params.d = (size_t)d;
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_vectors_reader_open(&c.reader, text, &params, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *names = read_all_names(&c), *floats = names ? read_all_vectors(&c) : NULL;
  if (floats) result = Py_BuildValue("(OnO)", floats, (Py_ssize_t)furrow_vectors_reader_dimension(c.reader), names);
  Py_XDECREF(floats);
  Py_XDECREF(names);
  furrow_vectors_reader_close(c.reader);
  return result;
}

/* ---- Exact search ----------------------------------------------------------------------------------------- */

typedef struct exact_call {
  Py_buffer base, base_ids, queries, distances, ids;
  furrow_vectors_memory memory;
  furrow_exact_search_params params;
} exact_call;

static furrow_status exact_job(void *user, fwpy_job *job, furrow_error *err) {
  exact_call *c = user;
  furrow_vectors_reader *base = NULL;
  c->params.progress = fwpy_job_progress;
  c->params.user = job;
  furrow_status status = furrow_vectors_reader_open_memory(&base, &c->memory, err);
  if (status == FURROW_OK)
    status = furrow_exact_search(base, c->queries.buf, (size_t)c->queries.shape[0], (size_t)c->ids.shape[1], &c->params,
                                 c->distances.buf, c->ids.buf, err);
  furrow_vectors_reader_close(base);
  return status;
}

static bool run_exact(exact_call *c, PyObject *progress) {
  const Py_ssize_t n = c->queries.shape[0], d = c->base.shape[1];
  const bool shapes = c->queries.shape[1] == d && c->base_ids.shape[0] == c->base.shape[0] &&
                      c->distances.shape[0] == n && c->ids.shape[0] == n && c->distances.shape[1] == c->ids.shape[1];
  if (!shapes) {
    PyErr_SetString(PyExc_ValueError, "shapes of base, base_ids, queries, distances and ids do not fit each other");
    return false;
  }
  furrow_vectors_memory_init(&c->memory);
  c->memory.vectors = c->base.buf;
  c->memory.count = (size_t)c->base.shape[0];
  c->memory.d = (size_t)d;
  c->memory.ids = c->base_ids.buf;
  return fwpy_job_run(exact_job, c, progress);
}

/* exact_search(base, base_ids, queries, distances, ids, inner_product, normalize, threads, progress) */
static PyObject *exact_search(PyObject *module, PyObject *args) {
  PyObject *in[5], *progress;
  exact_call c;
  Py_buffer *views[5] = {&c.base, &c.base_ids, &c.queries, &c.distances, &c.ids};
  static const char *const names[5] = {"base", "base_ids", "queries", "distances", "ids"};
  size_t held = 0;
  int inner_product, normalize;
  bool ok = false;
  (void)module;
  furrow_exact_search_params_init(&c.params);
  if (!PyArg_ParseTuple(args, "OOOOOppIO", &in[0], &in[1], &in[2], &in[3], &in[4], &inner_product, &normalize,
                        &c.params.threads, &progress))
    return NULL;
  if (inner_product) c.params.metric = FURROW_METRIC_IP;
  c.params.normalize = normalize;
  for (; held < 5; held++) {
    const fwpy_dtype dtype = held == 1 || held == 4 ? FWPY_I64 : FWPY_F32;
    if (held < 3 ? !fwpy_get_array(in[held], names[held], dtype, held == 1 ? 1 : 2, views[held])
                 : !fwpy_get_output(in[held], names[held], dtype, 2, views[held]))
      break;
  }
  if (held == 5) ok = run_exact(&c, progress);
  while (held > 0) PyBuffer_Release(views[--held]);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- k-means ---------------------------------------------------------------------------------------------- */

typedef struct kmeans_call {
  Py_buffer vectors, centroids, nearest;
  furrow_kmeans_params params;
  double objective;
} kmeans_call;

static furrow_status kmeans_job(void *user, fwpy_job *job, furrow_error *err) {
  kmeans_call *c = user;
  const size_t n = (size_t)c->vectors.shape[0], d = (size_t)c->vectors.shape[1], k = (size_t)c->centroids.shape[0];
  c->params.progress = fwpy_job_progress;
  c->params.user = job;
  const furrow_status status = furrow_kmeans(c->vectors.buf, n, d, k, &c->params, c->centroids.buf, err);
  if (status != FURROW_OK) return status;
  return furrow_kmeans_assign(c->vectors.buf, n, d, c->centroids.buf, k, &c->params, c->nearest.buf, &c->objective,
                              err);
}

static bool run_kmeans(kmeans_call *c, PyObject *progress) {
  if (c->centroids.shape[1] == c->vectors.shape[1] && c->nearest.shape[0] == c->vectors.shape[0])
    return fwpy_job_run(kmeans_job, c, progress);
  PyErr_SetString(PyExc_ValueError, "shapes of vectors, centroids and nearest do not fit each other");
  return false;
}

/* kmeans(vectors, centroids, nearest u32, rounds, seed, sample_per_centroid, spherical, threads, progress) -> objective
 */
static PyObject *kmeans(PyObject *module, PyObject *args) {
  PyObject *in[3], *progress;
  kmeans_call c;
  unsigned long long seed, sample;
  int spherical;
  bool ok = false;
  (void)module;
  furrow_kmeans_params_init(&c.params);
  if (!PyArg_ParseTuple(args, "OOOIKKpIO", &in[0], &in[1], &in[2], &c.params.rounds, &seed, &sample, &spherical,
                        &c.params.threads, &progress))
    return NULL;
  c.params.seed = seed;
  c.params.sample_per_centroid = sample;
  c.params.spherical = spherical;
  if (!fwpy_get_array(in[0], "vectors", FWPY_F32, 2, &c.vectors)) return NULL;
  if (fwpy_get_output(in[1], "centroids", FWPY_F32, 2, &c.centroids)) {
    if (fwpy_get_output(in[2], "nearest", FWPY_U32, 1, &c.nearest)) {
      ok = run_kmeans(&c, progress);
      PyBuffer_Release(&c.nearest);
    }
    PyBuffer_Release(&c.centroids);
  }
  PyBuffer_Release(&c.vectors);
  return ok ? PyFloat_FromDouble(c.objective) : NULL;
}

PyMethodDef fwpy_index_file_methods[] = {{"index_fields", index_fields, METH_VARARGS, NULL},
                                         {"index_verify", index_verify, METH_VARARGS, NULL},
                                         {"load_vectors", load_vectors, METH_VARARGS, NULL},
                                         {"exact_search", exact_search, METH_VARARGS, NULL},
                                         {"kmeans", kmeans, METH_VARARGS, NULL},
                                         {NULL, NULL, 0, NULL}};
