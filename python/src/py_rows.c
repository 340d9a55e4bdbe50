/* python/src/py_rows.c: furrow._core.RowReader and RowBlock: samples of files as arrays; and samples written to files.
 *
 * A block is copied once, from the parser's memory into its own container, so that its arrays stay valid when the next
 * block is read. Arrays of a block keep it alive. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

/* ---- Parameters ------------------------------------------------------------------------------------------- */

typedef struct read_options {
  furrow_parser_params params;
  const char *key_type, *value_type;
  bool skip_bad;
} read_options;

static const fwpy_field read_fields[] = {{"format", FWPY_TEXT, offsetof(read_options, params.format)},
                                         {"part", FWPY_UINT32, offsetof(read_options, params.part)},
                                         {"nparts", FWPY_UINT32, offsetof(read_options, params.nparts)},
                                         {"threads", FWPY_UINT32, offsetof(read_options, params.threads)},
                                         {"chunk_bytes", FWPY_SIZE, offsetof(read_options, params.chunk_bytes)},
                                         {"max_line_bytes", FWPY_SIZE, offsetof(read_options, params.max_line_bytes)},
                                         FWPY_FIELD(read_options, key_type, FWPY_TEXT),
                                         FWPY_FIELD(read_options, value_type, FWPY_TEXT),
                                         FWPY_FIELD(read_options, skip_bad, FWPY_BOOL),
                                         {0}};

/* The texts borrow the dict, which the caller keeps. */
static bool get_read_options(PyObject *dict, read_options *options) {
  furrow_error err;
  memset(options, 0, sizeof *options);
  furrow_parser_params_init(&options->params);
  if (!fwpy_set_fields(options, dict, read_fields)) return false;
  if (options->key_type && furrow_key_type_find(options->key_type, &options->params.key_type, &err) != FURROW_OK)
    return fwpy_raise(&err);
  if (options->value_type &&
      furrow_value_type_find(options->value_type, &options->params.value_type, &err) != FURROW_OK)
    return fwpy_raise(&err);
  options->params.on_bad = options->skip_bad ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
  return true;
}

/* ---- Blocks ----------------------------------------------------------------------------------------------- */

typedef struct block_object {
  PyObject_HEAD furrow_container *container;
  furrow_rowblock block; /* block of the container */
  size_t features;       /* features of all rows; not read from the offsets again, which the caller may write to */
} block_object;

static PyTypeObject *block_type;

/* Takes the container, also on failure. */
static PyObject *make_block(furrow_container *container) {
  furrow_error err;
  furrow_rowblock block;
  if (furrow_container_get_block(container, &block, &err) != FURROW_OK) {
    furrow_container_free(container);
    return fwpy_raise(&err);
  }
  block_object *self = fwpy_new(block_type);
  if (!self) {
    furrow_container_free(container);
    return NULL;
  }
  self->container = container;
  self->block = block;
  self->features = block.offset ? (size_t)block.offset[block.size] : 0;
  return (PyObject *)self;
}

static void block_dealloc(PyObject *object) {
  furrow_container_free(((block_object *)object)->container);
  fwpy_delete(object);
}

/* None for an array that is absent. */
static PyObject *array_of(PyObject *self, const void *data, fwpy_dtype dtype, size_t count) {
  if (!data) Py_RETURN_NONE;
  return fwpy_view_writable(self, (void *)data, dtype, count);
}

static PyObject *offsets_of(PyObject *self, const furrow_rowblock *block) {
  static uint64_t none[1];
  return fwpy_view_writable(self, block->offset ? (void *)block->offset : none, FWPY_U64,
                            block->offset ? block->size + 1 : 1);
}

static fwpy_dtype key_dtype(furrow_key_type type) {
  return type == FURROW_KEY_U32 ? FWPY_U32 : FWPY_U64;
}

static fwpy_dtype value_dtype(furrow_value_type type) {
  return type == FURROW_VALUE_F32 ? FWPY_F32 : type == FURROW_VALUE_I32 ? FWPY_I32 : FWPY_I64;
}

/* arrays(): (offsets, indices, values, fields, labels, weights, qids) */
static PyObject *block_arrays(PyObject *object, PyObject *unused) {
  const furrow_rowblock *block = &((block_object *)object)->block;
  const fwpy_dtype key = key_dtype(block->key_type), value = value_dtype(block->value_type);
  const size_t features = ((block_object *)object)->features;
  (void)unused;
  PyObject *const arrays[] = {offsets_of(object, block),
                              fwpy_view_writable(object, (void *)block->index.any, key, features),
                              array_of(object, block->value.any, value, features),
                              array_of(object, block->field.any, key, features),
                              array_of(object, block->label.any, value, block->size),
                              array_of(object, block->weight, FWPY_F32, block->size),
                              array_of(object, block->qid, FWPY_U64, block->size)};
  const size_t count = sizeof arrays / sizeof *arrays;
  PyObject *tuple = PyTuple_New((Py_ssize_t)count);
  bool ok = tuple != NULL;
  for (size_t i = 0; i < count; i++) {
    ok = ok && arrays[i];
    if (ok)
      PyTuple_SetItem(tuple, (Py_ssize_t)i, arrays[i]);
    else
      Py_XDECREF(arrays[i]);
  }
  if (!ok) Py_CLEAR(tuple);
  return tuple;
}

/* columns(): the largest index + 1; 0 without features */
static PyObject *block_columns(PyObject *object, PyObject *unused) {
  block_object *self = (block_object *)object;
  (void)unused;
  if (self->features == 0) return PyLong_FromLong(0);
  PyObject *largest = PyLong_FromUnsignedLongLong(furrow_container_max_index(self->container));
  PyObject *one = PyLong_FromLong(1);
  PyObject *columns = largest && one ? PyNumber_Add(largest, one) : NULL;
  Py_XDECREF(largest);
  Py_XDECREF(one);
  return columns;
}

static PyMethodDef block_methods[] = {
    {"arrays", block_arrays, METH_NOARGS, NULL}, {"columns", block_columns, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot block_slots[] = {{Py_tp_dealloc, block_dealloc}, {Py_tp_methods, block_methods}, {0, NULL}};
static PyType_Spec block_spec = {"furrow._core.RowBlock", sizeof(block_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, block_slots};

/* ---- Readers ---------------------------------------------------------------------------------------------- */

/* One of the two is NULL: with a cache file in its URI, a data set is read by a block iterator. */
typedef struct reader_object {
  PyObject_HEAD furrow_parser *parser;
  furrow_blockiter *iter;
  furrow_key_type key_type;
  furrow_value_type value_type;
  pthread_mutex_t lock; /* protects both; held without the interpreter's lock only */
} reader_object;

static PyTypeObject *reader_type;

typedef struct open_call {
  const char *uri;
  const furrow_parser_params *params;
  furrow_parser *parser;
  furrow_blockiter *iter;
} open_call;

/* The first pass makes the cache file, which may take long. */
static furrow_status run_open_cache(void *user, fwpy_job *job, furrow_error *err) {
  open_call *call = user;
  (void)job;
  return furrow_blockiter_open(&call->iter, call->uri, call->params, err);
}

static bool open_reader(open_call *call) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (strchr(call->uri, '#')) {
    if (fwpy_job_run(run_open_cache, call, NULL)) return true;
    furrow_blockiter_close(call->iter); /* an interrupt came while it was opened */
    return false;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_parser_open(&call->parser, call->uri, call->params, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* open(uri, options) */
static PyObject *reader_open(PyObject *type, PyObject *args) {
  PyObject *dict;
  read_options options;
  open_call call = {0};
  (void)type;
  if (!PyArg_ParseTuple(args, "sO!", &call.uri, &PyDict_Type, &dict)) return NULL;
  if (!get_read_options(dict, &options)) return NULL;
  call.params = &options.params;
  if (!open_reader(&call)) return NULL;
  reader_object *self = fwpy_new(reader_type);
  if (!self) {
    furrow_parser_close(call.parser);
    furrow_blockiter_close(call.iter);
    return NULL;
  }
  self->parser = call.parser;
  self->iter = call.iter;
  self->key_type = options.params.key_type;
  self->value_type = options.params.value_type;
  pthread_mutex_init(&self->lock, NULL);
  return (PyObject *)self;
}

static void reader_dealloc(PyObject *object) {
  reader_object *self = (reader_object *)object;
  furrow_parser *parser = self->parser;
  furrow_blockiter *iter = self->iter;
  Py_BEGIN_ALLOW_THREADS; /* its threads are waited for, and what it reads may belong to Python */
  furrow_parser_close(parser);
  furrow_blockiter_close(iter);
  Py_END_ALLOW_THREADS;
  pthread_mutex_destroy(&self->lock);
  fwpy_delete(object);
}

static furrow_status next_block(reader_object *self, const furrow_rowblock **block, furrow_error *err) {
  return self->parser ? furrow_parser_next_block(self->parser, block, err)
                      : furrow_blockiter_next_block(self->iter, block, err);
}

static furrow_status copy_next(reader_object *self, furrow_container **container, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  furrow_status status = next_block(self, &block, err);
  if (status == FURROW_OK) status = furrow_container_create(container, block->key_type, block->value_type, err);
  if (status == FURROW_OK) status = furrow_container_push_block(*container, block, err);
  return status;
}

/* next(): a RowBlock, or None at the end */
static PyObject *reader_next(PyObject *object, PyObject *unused) {
  reader_object *self = (reader_object *)object;
  furrow_container *container = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  pthread_mutex_lock(&self->lock);
  status = copy_next(self, &container, &err);
  pthread_mutex_unlock(&self->lock);
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) return make_block(container);
  furrow_container_free(container);
  if (status == FURROW_END) Py_RETURN_NONE;
  return fwpy_raise(&err);
}

typedef struct load_call {
  reader_object *reader;
  furrow_container *container;
} load_call;

static furrow_status fail_cancelled(furrow_error *err) {
  memset(err, 0, sizeof *err);
  err->offset = FURROW_NO_OFFSET;
  err->status = FURROW_E_CANCELLED;
  strcpy(err->message, "the caller stopped it");
  return FURROW_E_CANCELLED;
}

/* Blocks of parsers are small: after each of them the job may be cancelled. */
static furrow_status load_blocks(load_call *call, fwpy_job *job, furrow_error *err) {
  reader_object *reader = call->reader;
  const furrow_rowblock *block = NULL;
  furrow_status status = furrow_container_create(&call->container, reader->key_type, reader->value_type, err);
  while (status == FURROW_OK && (status = next_block(reader, &block, err)) == FURROW_OK) {
    status = furrow_container_push_block(call->container, block, err);
    const uint64_t done = reader->parser ? furrow_parser_bytes_read(reader->parser) : 0;
    const uint64_t total = reader->parser ? furrow_parser_bytes_total(reader->parser) : 0;
    if (status == FURROW_OK && !fwpy_job_progress(job, "reading", done, total)) status = fail_cancelled(err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status run_load(void *user, fwpy_job *job, furrow_error *err) {
  load_call *call = user;
  pthread_mutex_lock(&call->reader->lock);
  const furrow_status status = load_blocks(call, job, err);
  pthread_mutex_unlock(&call->reader->lock);
  return status;
}

/* load(progress): all that is left, as one RowBlock */
static PyObject *reader_load(PyObject *object, PyObject *progress) {
  load_call call = {.reader = (reader_object *)object};
  if (fwpy_job_run(run_load, &call, progress)) return make_block(call.container);
  furrow_container_free(call.container);
  return NULL;
}

/* ---- What a reader says of its data ---- */

static const fwpy_field stats_fields[] = {FWPY_FIELD(furrow_parser_stats, rows, FWPY_UINT64),
                                          FWPY_FIELD(furrow_parser_stats, features, FWPY_UINT64),
                                          FWPY_FIELD(furrow_parser_stats, bytes, FWPY_UINT64),
                                          FWPY_FIELD(furrow_parser_stats, bad_rows, FWPY_UINT64),
                                          FWPY_FIELD(furrow_parser_stats, ignored, FWPY_UINT64),
                                          FWPY_FIELD(furrow_parser_stats, recoded, FWPY_UINT64),
                                          {0}};

/* Drops the value. */
static bool set_item(PyObject *dict, const char *name, PyObject *value) {
  const bool ok = dict && value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *place_text(const furrow_error *err, uint64_t count) {
  char text[1024];
  if (count == 0) Py_RETURN_NONE;
  furrow_error_to_text(err, text, sizeof text);
  return fwpy_text(text);
}

/* stats(): a dict of furrow_parser_stats */
static PyObject *reader_stats(PyObject *object, PyObject *unused) {
  reader_object *self = (reader_object *)object;
  furrow_parser_stats stats;
  (void)unused;
  furrow_parser_stats_init(&stats);
  Py_BEGIN_ALLOW_THREADS;
  pthread_mutex_lock(&self->lock);
  if (self->parser)
    furrow_parser_get_stats(self->parser, &stats);
  else
    furrow_blockiter_get_stats(self->iter, &stats);
  pthread_mutex_unlock(&self->lock);
  Py_END_ALLOW_THREADS;
  PyObject *dict = fwpy_get_fields(&stats, stats_fields);
  if (!set_item(dict, "first_bad", place_text(&stats.first_bad, stats.bad_rows)) ||
      !set_item(dict, "first_ignored", place_text(&stats.first_ignored, stats.ignored)))
    Py_CLEAR(dict);
  return dict;
}

/* Names of columns do not change after open, and so need no lock. */
static PyObject *column_names(const furrow_parser *parser) {
  const size_t count = furrow_parser_column_count(parser);
  PyObject *names = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; names && i < count; i++) {
    PyObject *name = fwpy_text(furrow_parser_column_name(parser, i));
    if (!name || PyList_SetItem(names, (Py_ssize_t)i, name) < 0) Py_CLEAR(names);
  }
  return names;
}

/* info(): a dict: format, reason, names, label_name, weight_name, all None with a cache file; and index_base, which
 * with indexing_mode=-1 is known after the first block */
static PyObject *reader_info(PyObject *object, PyObject *unused) {
  const furrow_parser *parser = ((reader_object *)object)->parser;
  PyObject *dict = PyDict_New();
  (void)unused;
  const bool ok = set_item(dict, "format", fwpy_text(parser ? furrow_parser_format(parser) : NULL)) &&
                  set_item(dict, "reason", fwpy_text(parser ? furrow_parser_format_reason(parser) : NULL)) &&
                  set_item(dict, "names", parser ? column_names(parser) : Py_NewRef(Py_None)) &&
                  set_item(dict, "label_name", fwpy_text(parser ? furrow_parser_label_name(parser) : NULL)) &&
                  set_item(dict, "weight_name", fwpy_text(parser ? furrow_parser_weight_name(parser) : NULL)) &&
                  set_item(dict, "index_base", PyLong_FromLong(parser ? (long)furrow_parser_index_base(parser) : 0));
  if (!ok) Py_CLEAR(dict);
  return dict;
}

static PyMethodDef reader_methods[] = {{"open", reader_open, METH_VARARGS | METH_STATIC, NULL},
                                       {"next", reader_next, METH_NOARGS, NULL},
                                       {"load", reader_load, METH_O, NULL},
                                       {"stats", reader_stats, METH_NOARGS, NULL},
                                       {"info", reader_info, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};
static PyType_Slot reader_slots[] = {{Py_tp_dealloc, reader_dealloc}, {Py_tp_methods, reader_methods}, {0, NULL}};
static PyType_Spec reader_spec = {"furrow._core.RowReader", sizeof(reader_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, reader_slots};

/* ---- Dense tables ----------------------------------------------------------------------------------------- */

/* CSR arrays, and the table that they go to. */
typedef struct fill_call {
  Py_buffer indptr, indices, values, table;
  bool wide, has_values, missing;
} fill_call;

static uint64_t index_at(const fill_call *call, uint64_t i) {
  return call->wide ? ((const uint64_t *)call->indices.buf)[i] : ((const uint32_t *)call->indices.buf)[i];
}

/* Values of an index that a row has twice add up: all columns that the row has are set to -0 first, to which any value
 * can be added without a change of its bits. With `missing`, the others are NaN. Every index is checked where it is
 * used: another thread may change the arrays meanwhile. */
static bool fill_row(const fill_call *call, float *out, size_t columns, uint64_t begin, uint64_t end) {
  const float *values = call->values.buf;
  if (begin > end || end > (uint64_t)call->indices.shape[0]) return false;
  for (size_t k = 0; k < columns; k++) out[k] = call->missing ? __builtin_nanf("") : 0;
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t index = index_at(call, i);
    if (index >= columns) return false;
    out[index] = -0.0F;
  }
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t index = index_at(call, i);
    if (index < columns) out[index] += call->has_values ? values[i] : 1;
  }
  return true;
}

static bool fill_table(const fill_call *call) {
  const uint64_t *indptr = call->indptr.buf;
  const size_t rows = (size_t)call->table.shape[0], columns = (size_t)call->table.shape[1];
  if ((size_t)call->indptr.shape[0] != rows + 1) return false;
  if (call->has_values && call->values.shape[0] != call->indices.shape[0]) return false;
  for (size_t i = 0; i < rows; i++)
    if (!fill_row(call, (float *)call->table.buf + i * columns, columns, indptr[i], indptr[i + 1])) return false;
  return true;
}

/* fill_table(indptr u64, indices u32|u64, values f32|None, wide, missing, table f32) */
static PyObject *module_fill_table(PyObject *module, PyObject *args) {
  PyObject *indptr, *indices, *values, *table;
  int wide, missing;
  fill_call call = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "OOOppO", &indptr, &indices, &values, &wide, &missing, &table)) return NULL;
  call.wide = wide != 0;
  call.missing = missing != 0;
  call.has_values = values != Py_None;
  bool ok = fwpy_get_array(indptr, "indptr", FWPY_U64, 1, &call.indptr) &&
            fwpy_get_array(indices, "indices", wide ? FWPY_U64 : FWPY_U32, 1, &call.indices) &&
            (!call.has_values || fwpy_get_array(values, "values", FWPY_F32, 1, &call.values)) &&
            fwpy_get_output(table, "table", FWPY_F32, 2, &call.table);
  if (ok) {
    Py_BEGIN_ALLOW_THREADS;
    ok = fill_table(&call);
    Py_END_ALLOW_THREADS;
    if (!ok) PyErr_SetString(PyExc_ValueError, "indptr, indices and values do not fit together, or the table");
  }
  PyBuffer_Release(&call.indptr); /* views that were not taken are ignored */
  PyBuffer_Release(&call.indices);
  PyBuffer_Release(&call.values);
  PyBuffer_Release(&call.table);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Writing ---------------------------------------------------------------------------------------------- */

typedef struct write_options {
  furrow_rows_writer_params params;
  const char *delimiter;
} write_options;

static const fwpy_field write_fields[] = {{"format", FWPY_TEXT, offsetof(write_options, params.format)},
                                          {"columns", FWPY_UINT64, offsetof(write_options, params.columns)},
                                          {"header", FWPY_BOOL, offsetof(write_options, params.header)},
                                          {"zeros_missing", FWPY_BOOL, offsetof(write_options, params.zeros_missing)},
                                          {"with_weight", FWPY_BOOL, offsetof(write_options, params.with_weight)},
                                          {"overwrite", FWPY_BOOL, offsetof(write_options, params.overwrite)},
                                          {"drop_fields", FWPY_BOOL, offsetof(write_options, params.drop_fields)},
                                          {"index_base", FWPY_UINT32, offsetof(write_options, params.index_base)},
                                          FWPY_FIELD(write_options, delimiter, FWPY_TEXT),
                                          {0}};

typedef struct write_call {
  const char *uri, *path;
  read_options read;
  write_options write;
  const char **names; /* borrows the str objects of the list */
} write_call;

static furrow_status write_blocks(fwpy_job *job, furrow_parser *parser, furrow_rows_writer *writer, furrow_error *err) {
  const furrow_rowblock *block;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, err)) == FURROW_OK) {
    status = furrow_rows_writer_write_block(writer, block, err);
    if (!fwpy_job_progress(job, "writing", furrow_parser_bytes_read(parser), furrow_parser_bytes_total(parser)))
      return fail_cancelled(err);
  }
  return status == FURROW_END ? furrow_rows_writer_commit(writer, err) : status;
}

static furrow_status run_write(void *user, fwpy_job *job, furrow_error *err) {
  write_call *call = user;
  furrow_parser *parser = NULL;
  furrow_rows_writer *writer = NULL;
  furrow_status status = furrow_parser_open(&parser, call->uri, &call->read.params, err);
  if (status == FURROW_OK) status = furrow_rows_writer_open(&writer, call->path, &call->write.params, err);
  if (status == FURROW_OK) status = write_blocks(job, parser, writer, err);
  furrow_rows_writer_close(writer);
  furrow_parser_close(parser);
  return status;
}

/* The names of csv columns: a list of str, or None. */
static bool get_names(PyObject *list, write_call *call) {
  if (list == Py_None) return true;
  const Py_ssize_t count = PyList_Size(list);
  if (count < 0) return false;
  if ((uint64_t)count != call->write.params.columns) {
    PyErr_Format(PyExc_ValueError, "there are %zd names for %llu columns", count,
                 (unsigned long long)call->write.params.columns);
    return false;
  }
  call->names = calloc((size_t)count + 1, sizeof *call->names);
  if (!call->names) return PyErr_NoMemory() != NULL;
  for (Py_ssize_t i = 0; i < count; i++) {
    call->names[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
    if (!call->names[i]) return false;
  }
  call->write.params.names = call->names;
  return true;
}

static bool get_write_options(PyObject *dict, PyObject *names, write_call *call) {
  furrow_rows_writer_params_init(&call->write.params);
  if (!fwpy_set_fields(&call->write, dict, write_fields)) return false;
  if (call->write.delimiter) call->write.params.delimiter = call->write.delimiter[0];
  call->write.params.key_type = call->read.params.key_type;
  call->write.params.value_type = call->read.params.value_type;
  return get_names(names, call);
}

/* write_rows(uri, read options, path, write options, names of columns|None, progress) */
static PyObject *module_write_rows(PyObject *module, PyObject *args) {
  PyObject *read, *path, *write, *names, *progress;
  write_call call = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "sO!O&O!OO", &call.uri, &PyDict_Type, &read, PyUnicode_FSConverter, &path, &PyDict_Type,
                        &write, &names, &progress))
    return NULL;
  call.path = PyBytes_AsString(path);
  const bool ok = get_read_options(read, &call.read) && get_write_options(write, names, &call) &&
                  fwpy_job_run(run_write, &call, progress);
  free(call.names);
  Py_DECREF(path);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- The module ------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {{"fill_table", module_fill_table, METH_VARARGS, NULL},
                                {"write_rows", module_write_rows, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

int fwpy_add_rows(PyObject *module) {
  if (fwpy_add_type(module, &block_spec, &block_type) < 0 || fwpy_add_type(module, &reader_spec, &reader_type) < 0)
    return -1;
  return PyModule_AddFunctions(module, methods);
}
