/* python/src/py_scorer.c: furrow._core.Scorer: a loaded model.
 *
 * A scorer never changes, so that any number of threads may use one object; each call takes its own scratch. */
#include "py_scorer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MAX 64          /* scratches that are kept */
#define FEW_MAX (1ULL << 32) /* rows, or features: sizes of memory do not overflow */

static PyTypeObject *scorer_type;

furrow_status fwpy_fail(furrow_error *err, furrow_status status, const char *format, ...) {
  va_list arguments;
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = FURROW_NO_OFFSET;
  va_start(arguments, format);
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  return status;
}

/* ---- Scratches -------------------------------------------------------------------------------------------- */

furrow_status fwpy_scratch_take(fwpy_scorer *self, furrow_scorer_scratch **scratch, furrow_error *err) {
  *scratch = NULL;
  pthread_mutex_lock(&self->mutex);
  if (self->idle_count > 0) *scratch = self->idle[--self->idle_count];
  pthread_mutex_unlock(&self->mutex);
  return *scratch ? FURROW_OK : furrow_scorer_scratch_create(scratch, self->scorer, err);
}

static bool keep_idle(fwpy_scorer *self, furrow_scorer_scratch *scratch) {
  if (self->idle_count == self->idle_capacity) {
    const size_t capacity = self->idle_capacity ? 2 * self->idle_capacity : 4;
    furrow_scorer_scratch **idle = capacity <= IDLE_MAX ? realloc(self->idle, capacity * sizeof(void *)) : NULL;
    if (!idle) return false;
    self->idle = idle;
    self->idle_capacity = capacity;
  }
  self->idle[self->idle_count++] = scratch;
  return true;
}

void fwpy_scratch_give(fwpy_scorer *self, furrow_scorer_scratch *scratch) {
  if (!scratch) return;
  pthread_mutex_lock(&self->mutex);
  const bool kept = keep_idle(self, scratch);
  pthread_mutex_unlock(&self->mutex);
  if (!kept) furrow_scorer_scratch_free(scratch);
}

/* ---- Making and loading ----------------------------------------------------------------------------------- */

PyObject *fwpy_scorer_new(furrow_scorer *scorer) {
  fwpy_scorer *self = fwpy_new(scorer_type);
  if (!self) {
    furrow_scorer_free(scorer);
    return NULL;
  }
  self->scorer = scorer;
  pthread_mutex_init(&self->mutex, NULL);
  return (PyObject *)self;
}

static void scorer_dealloc(PyObject *object) {
  fwpy_scorer *self = (fwpy_scorer *)object;
  for (size_t i = 0; i < self->idle_count; i++) furrow_scorer_scratch_free(self->idle[i]);
  free(self->idle);
  furrow_scorer_free(self->scorer);
  pthread_mutex_destroy(&self->mutex);
  fwpy_delete(object);
}

/* What a caller may say about a model in addition to its folder. */
typedef struct load_options {
  const char *conf, *algorithm; /* NULL: the model describes itself */
  uint32_t fc_order, threads;
  bool absent_is_zero;
} load_options;

static const fwpy_field load_fields[] = {
    FWPY_FIELD(load_options, conf, FWPY_TEXT),           FWPY_FIELD(load_options, algorithm, FWPY_TEXT),
    FWPY_FIELD(load_options, fc_order, FWPY_UINT32),     FWPY_FIELD(load_options, threads, FWPY_UINT32),
    FWPY_FIELD(load_options, absent_is_zero, FWPY_BOOL), {0}};

/* Sets the keys of a dict of texts. */
static bool set_keys(furrow_learn_conf *conf, PyObject *settings) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  furrow_error err;
  while (PyDict_Next(settings, &at, &key, &value)) {
    const char *name = PyUnicode_AsUTF8AndSize(key, NULL), *text = name ? PyUnicode_AsUTF8AndSize(value, NULL) : NULL;
    if (!text) return false;
    if (furrow_learn_conf_set(conf, name, text, &err) != FURROW_OK) return fwpy_raise(&err) != NULL;
  }
  return true;
}

static furrow_status read_conf(furrow_learn_conf *conf, const char *folder, const load_options *options,
                               furrow_error *err) {
  if (options->conf) return furrow_learn_conf_load(conf, options->conf, err);
  if (!options->algorithm) return furrow_learn_conf_load_model(conf, folder, err);
  furrow_status status = furrow_learn_conf_set_algorithm(conf, options->algorithm, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "defaults", "angel", err);
  return status;
}

/* The configuration where the caller gives one, or changes the model's own; NULL, without an exception: neither. */
static furrow_learn_conf *make_conf(const char *folder, const load_options *options, PyObject *settings) {
  furrow_learn_conf *conf = NULL;
  furrow_error err;
  if (!options->conf && !options->algorithm && PyDict_Size(settings) == 0) return NULL;
  furrow_status status = furrow_learn_conf_create(&conf, &err);
  if (status == FURROW_OK) status = read_conf(conf, folder, options, &err);
  if (status != FURROW_OK) fwpy_raise(&err);
  if (status == FURROW_OK && set_keys(conf, settings)) return conf;
  furrow_learn_conf_free(conf);
  return NULL;
}

static PyObject *load_folder(const char *folder, const load_options *options, PyObject *settings) {
  furrow_scorer_params params;
  furrow_scorer *scorer = NULL;
  furrow_path_watch *watch = NULL; /* a configuration that is changed here is read before the model */
  furrow_error err;
  furrow_status status = furrow_path_watch_begin(&watch, folder, &err);
  if (status != FURROW_OK) return fwpy_raise(&err);
  furrow_learn_conf *conf = make_conf(folder, options, settings);
  if (PyErr_Occurred()) {
    (void)!furrow_path_watch_end(watch, FURROW_OK, NULL);
    return NULL;
  }
  furrow_scorer_params_init(&params);
  params.conf = conf;
  params.fc_order = (furrow_fc_order)options->fc_order;
  params.absent_is_zero = options->absent_is_zero;
  params.threads = options->threads;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_path_watch_end(watch, furrow_scorer_load(&scorer, folder, &params, &err), &err);
  furrow_learn_conf_free(conf);
  if (status != FURROW_OK) furrow_scorer_free(scorer);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_scorer_new(scorer) : fwpy_raise(&err);
}

/* load(path, options dict, settings dict of texts) */
static PyObject *scorer_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL, *dict, *settings, *scorer = NULL;
  load_options options = {0};
  (void)type;
  if (!PyArg_ParseTuple(args, "O&O!O!", PyUnicode_FSConverter, &path, &PyDict_Type, &dict, &PyDict_Type, &settings))
    return NULL;
  if (fwpy_set_fields(&options, dict, load_fields)) scorer = load_folder(PyBytes_AsString(path), &options, settings);
  Py_DECREF(path);
  return scorer;
}

/* ---- What it is ------------------------------------------------------------------------------------------- */

static PyObject *scorer_classes(PyObject *object, PyObject *unused) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  const size_t outputs = furrow_scorer_class_count(scorer), count = outputs > 1 ? outputs : 2;
  (void)unused;
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count && !isnan(furrow_scorer_class_label(scorer, i)); i++) {
    PyObject *label = PyFloat_FromDouble(furrow_scorer_class_label(scorer, i));
    if (!label || PyList_Append(list, label) < 0) Py_CLEAR(list);
    Py_XDECREF(label);
  }
  return list;
}

static PyObject *scorer_class_name(PyObject *object, PyObject *number) {
  const furrow_encoder *encoder = furrow_scorer_encoder(((fwpy_scorer *)object)->scorer);
  const size_t i = PyLong_AsSize_t(number);
  if (PyErr_Occurred()) return NULL;
  return fwpy_text(encoder ? furrow_schema_class_name(furrow_encoder_schema(encoder), i) : NULL);
}

static PyObject *scorer_output_count(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyLong_FromSize_t(furrow_scorer_class_count(((fwpy_scorer *)object)->scorer));
}

static PyObject *scorer_has_encoder(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyBool_FromLong(furrow_scorer_encoder(((fwpy_scorer *)object)->scorer) != NULL);
}

static PyObject *scorer_feature_name(PyObject *object, PyObject *number) {
  const uint64_t feature = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  return fwpy_text(furrow_scorer_feature_name(((fwpy_scorer *)object)->scorer, feature));
}

/* setting(key): the value of a key of the configuration; None: there is no such key */
static PyObject *scorer_setting(PyObject *object, PyObject *key) {
  const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
  return name ? fwpy_text(furrow_learn_conf_get(furrow_scorer_conf(((fwpy_scorer *)object)->scorer), name)) : NULL;
}

/* keys(): the names of all keys of a configuration */
static PyObject *scorer_keys(PyObject *object, PyObject *unused) {
  PyObject *list = PyList_New(0);
  const furrow_learn_key *key;
  (void)object, (void)unused;
  for (size_t i = 0; list && (key = furrow_learn_key_at(i)); i++) {
    PyObject *name = fwpy_text(key->name);
    if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

PyObject *fwpy_take_text(char *text, size_t size) {
  PyObject *result = fwpy_text_n(text, size);
  furrow_free(text);
  return result;
}

/* describe(format, features) */
static PyObject *scorer_describe(PyObject *object, PyObject *args) {
  const furrow_learn_conf *conf = furrow_scorer_conf(((fwpy_scorer *)object)->scorer);
  int format;
  unsigned long long features;
  char *text = NULL;
  size_t size = 0;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "iK", &format, &features)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_learn_conf_describe(conf, (furrow_describe_format)format, features, &text, &size, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_take_text(text, size) : fwpy_raise(&err);
}

/* ---- Scores of a block ------------------------------------------------------------------------------------ */

furrow_status fwpy_score_block(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                               const furrow_rowblock *block, uint64_t first, furrow_score *scores, furrow_error *err) {
  const furrow_status status = furrow_scorer_score_block(scorer, scratch, block, scores, err);
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++)
    if (!isfinite(scores[i].pred) || isnan(scores[i].proba) || isnan(scores[i].label))
      return fwpy_fail(err, FURROW_E_RANGE, "row %llu: the score is infinite or not a number",
                       (unsigned long long)(first + i));
  return status;
}

furrow_status fwpy_class_probabilities(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                       const furrow_rowblock *block, uint64_t first, double *out, furrow_error *err) {
  const size_t classes = furrow_scorer_class_count(scorer);
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < block->size && status == FURROW_OK; i++, out += classes) {
    const furrow_row row = furrow_rowblock_row(block, i);
    status = furrow_scorer_class_probabilities(scorer, scratch, &row, out, err);
    if (status == FURROW_OK && isnan(out[0]))
      status = fwpy_fail(err, FURROW_E_RANGE, "row %llu: the probability of a class is not a number",
                         (unsigned long long)(first + i));
  }
  return status;
}

void fwpy_locate_error(const furrow_scorer *scorer, furrow_scorer_scratch *scratch, const furrow_rowblock *block,
                       uint64_t first, furrow_error *err) {
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    furrow_score score;
    furrow_error own;
    const furrow_status status = furrow_scorer_score_row(scorer, scratch, &row, &score, &own);
    if (status == FURROW_OK) continue;
    fwpy_fail(err, status, "row %llu: %.200s", (unsigned long long)(first + i), own.message);
    memcpy(err->hint, own.hint, sizeof err->hint);
    return;
  }
}

/* ---- Few rows: in the calling thread and without an answer to signals -------------------------------------- */

/* Where scores go: 3 x rows, or rows x classes. */
typedef struct target {
  Py_buffer view;
  bool by_class;
  size_t rows, classes;
} target;

static bool open_target(target *to, PyObject *array, PyObject *by_class, const furrow_scorer *scorer, size_t rows) {
  to->by_class = by_class == Py_True;
  to->rows = rows;
  to->classes = furrow_scorer_class_count(scorer);
  if (!fwpy_get_output(array, "out", FWPY_F64, 2, &to->view)) return false;
  const size_t first = to->by_class ? rows : 3, second = to->by_class ? to->classes : rows;
  if ((size_t)to->view.shape[0] == first && (size_t)to->view.shape[1] == second) return true;
  PyErr_Format(PyExc_ValueError, "out is not %zu x %zu", first, second);
  PyBuffer_Release(&to->view);
  return false;
}

static furrow_status score_piece(const furrow_scorer *scorer, furrow_scorer_scratch *scratch,
                                 const furrow_rowblock *block, size_t first, const target *to, furrow_error *err) {
  double *out = to->view.buf;
  furrow_score scores[FWPY_PIECE];
  if (to->by_class) return fwpy_class_probabilities(scorer, scratch, block, first, out + first * to->classes, err);
  const furrow_status status = fwpy_score_block(scorer, scratch, block, first, scores, err);
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    out[first + i] = scores[i].pred;
    out[to->rows + first + i] = scores[i].proba;
    out[2 * to->rows + first + i] = scores[i].label;
  }
  return status;
}

static furrow_status score_few(fwpy_scorer *self, const furrow_rowblock *block, const target *to, furrow_error *err) {
  furrow_scorer_scratch *scratch = NULL;
  furrow_rowblock piece;
  furrow_status status = fwpy_scratch_take(self, &scratch, err);
  for (size_t first = 0; first < block->size && status == FURROW_OK; first += FWPY_PIECE) {
    const size_t end = block->size - first < FWPY_PIECE ? block->size : first + FWPY_PIECE;
    status = furrow_rowblock_slice(block, first, end, &piece, err);
    if (status == FURROW_OK) status = score_piece(self->scorer, scratch, &piece, first, to, err);
    if (status == FURROW_E_RANGE) fwpy_locate_error(self->scorer, scratch, &piece, first, err);
  }
  fwpy_scratch_give(self, scratch);
  return status;
}

/* Ends a call that scored few rows. */
static PyObject *close_target(target *to, furrow_status status, const furrow_error *err) {
  PyBuffer_Release(&to->view);
  if (status != FURROW_OK) return fwpy_raise(err);
  Py_RETURN_NONE;
}

/* ---- Few rows of a table ---------------------------------------------------------------------------------- */

/* A block that a call makes of a table: one piece of memory. */
typedef struct few_rows {
  furrow_rowblock block;
  void *memory;
  double inside[256]; /* that memory, where it is enough */
} few_rows;

static bool few_rows_init(few_rows *few, size_t rows, size_t features) {
  if (rows > FEW_MAX || features > FEW_MAX) return false;
  const size_t bytes = (rows + 1) * sizeof(uint64_t) + 2 * features * sizeof(float);
  few->memory = bytes <= sizeof few->inside ? few->inside : malloc(bytes);
  if (!few->memory) return false;
  uint64_t *offset = few->memory;
  uint32_t *index = (uint32_t *)(offset + rows + 1);
  few->block = (furrow_rowblock){.size = rows,
                                 .offset = offset,
                                 .index.u32 = index,
                                 .value.f32 = (float *)(index + features),
                                 .key_type = FURROW_KEY_U32,
                                 .value_type = FURROW_VALUE_F32};
  return true;
}

static void few_rows_clear(few_rows *few) {
  if (few->memory != few->inside) free(few->memory);
}

/* Copies a table; a NaN is a value that a row does not have. */
static furrow_status few_rows_fill(few_rows *few, const Py_buffer *table, furrow_error *err) {
  uint64_t *offset = (uint64_t *)few->block.offset, used = 0;
  uint32_t *index = (uint32_t *)few->block.index.any;
  float *value = (float *)few->block.value.any;
  const bool wide = table->itemsize == sizeof(double);
  for (Py_ssize_t r = 0; r < table->shape[0]; r++) {
    const char *row = (const char *)table->buf + r * table->strides[0];
    offset[r] = used;
    for (Py_ssize_t c = 0; c < table->shape[1]; c++) {
      const char *at = row + c * table->strides[1];
      const double number = wide ? *(const double *)(const void *)at : (double)*(const float *)(const void *)at;
      if (isnan(number)) continue;
      index[used] = (uint32_t)c;
      value[used] = (float)number;
      if (isinf(value[used++]))
        return fwpy_fail(err, FURROW_E_RANGE,
                         "row %zd, column %zd: infinity, or a number that is too large for float32", r, c);
    }
  }
  offset[few->block.size] = used;
  return FURROW_OK;
}

/* Borrows a table of floats or doubles in any order of memory. */
static bool get_table(PyObject *object, Py_buffer *table) {
  if (PyObject_GetBuffer(object, table, PyBUF_STRIDED_RO | PyBUF_FORMAT) < 0) return false;
  const char *format = table->format ? table->format : "B";
  const bool ok = table->ndim == 2 && (strcmp(format, "f") == 0 || strcmp(format, "d") == 0) &&
                  (uintptr_t)table->buf % (size_t)table->itemsize == 0 && table->strides[0] % table->itemsize == 0 &&
                  table->strides[1] % table->itemsize == 0;
  if (!ok) {
    PyErr_SetString(PyExc_TypeError, "a table of 2 dimensions and of floats or doubles is needed");
    PyBuffer_Release(table);
  }
  return ok;
}

/* score_table(table f32|f64, out f64, by class): pred, proba and label in 3 x rows, or probabilities rows x classes */
static PyObject *scorer_score_table(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  fwpy_scorer *self = (fwpy_scorer *)object;
  Py_buffer table;
  target to;
  few_rows few;
  furrow_error err;
  furrow_status status = FURROW_E_MEMORY;
  if (nargs != 3) return PyErr_Format(PyExc_TypeError, "score_table takes 3 arguments");
  if (!get_table(args[0], &table)) return NULL;
  const size_t rows = (size_t)table.shape[0], columns = (size_t)table.shape[1];
  if (!open_target(&to, args[1], args[2], self->scorer, rows)) {
    PyBuffer_Release(&table);
    return NULL;
  }
  fwpy_fail(&err, FURROW_E_MEMORY, "out of memory");
  Py_BEGIN_ALLOW_THREADS;
  if (columns <= UINT32_MAX && few_rows_init(&few, rows, rows * columns)) {
    status = few_rows_fill(&few, &table, &err);
    if (status == FURROW_OK) status = score_few(self, &few.block, &to, &err);
    few_rows_clear(&few);
  }
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&table);
  return close_target(&to, status, &err);
}

/* ---- Few sparse rows -------------------------------------------------------------------------------------- */

/* Arrays of a CSR matrix. */
typedef struct csr_views {
  Py_buffer views[3];
  int count;
} csr_views;

static void drop_csr(csr_views *csr) {
  while (csr->count > 0) PyBuffer_Release(&csr->views[--csr->count]);
}

static bool hold(csr_views *csr, PyObject *object, const char *name, fwpy_dtype dtype) {
  if (!fwpy_get_array(object, name, dtype, 1, &csr->views[csr->count])) return false;
  csr->count++;
  return true;
}

/* Whether the indices of each row ascend and are below `columns`, and the values are finite. */
static bool is_canonical(const furrow_rowblock *block, size_t features, uint64_t columns) {
  const uint64_t *offset = block->offset;
  for (size_t row = 0; row < block->size; row++) {
    if (offset[row] > offset[row + 1] || offset[row + 1] > features) return false;
    uint64_t least = 0;
    for (uint64_t i = offset[row]; i < offset[row + 1]; i++) {
      const uint64_t index = furrow_keys_get(block->index, block->key_type, i);
      if (index < least || index >= columns || !isfinite(block->value.f32[i])) return false;
      least = index + 1;
    }
  }
  return true;
}

static bool hold_csr(csr_views *csr, PyObject *const *arrays, furrow_rowblock *block) {
  bool ok = hold(csr, arrays[0], "indptr", FWPY_U64) && hold(csr, arrays[2], "data", FWPY_F32);
  const bool wide = ok && !hold(csr, arrays[1], "indices", FWPY_U32);
  if (wide) PyErr_Clear();
  ok = ok && (!wide || hold(csr, arrays[1], "indices", FWPY_U64));
  if (!ok) return false;
  const Py_buffer *views = csr->views;
  *block = (furrow_rowblock){.size = (size_t)views[0].shape[0] - 1,
                             .offset = views[0].buf,
                             .index.any = views[2].buf,
                             .value.any = views[1].buf,
                             .key_type = wide ? FURROW_KEY_U64 : FURROW_KEY_U32,
                             .value_type = FURROW_VALUE_F32};
  if (views[0].shape[0] > 0 && views[1].shape[0] == views[2].shape[0]) return true;
  PyErr_SetString(PyExc_ValueError, "indptr, indices and data do not fit each other");
  return false;
}

/* score_rows(indptr u64, indices u32|u64, data f32, columns, out, by class): likewise, of rows in the layout of CSR.
 * Returns False, with nothing done, for rows that need the slower path. */
static PyObject *scorer_score_rows(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  fwpy_scorer *self = (fwpy_scorer *)object;
  csr_views csr = {.count = 0};
  furrow_rowblock block;
  target to;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (nargs != 6) return PyErr_Format(PyExc_TypeError, "score_rows takes 6 arguments");
  const uint64_t columns = PyLong_AsUnsignedLongLong(args[3]);
  if (PyErr_Occurred() || !hold_csr(&csr, args, &block) ||
      !open_target(&to, args[4], args[5], self->scorer, block.size)) {
    drop_csr(&csr);
    return NULL;
  }
  const bool ordered = is_canonical(&block, (size_t)csr.views[1].shape[0], columns);
  if (ordered) {
    Py_BEGIN_ALLOW_THREADS;
    status = score_few(self, &block, &to, &err);
    Py_END_ALLOW_THREADS;
  }
  drop_csr(&csr);
  PyBuffer_Release(&to.view);
  if (ordered && status != FURROW_OK) return fwpy_raise(&err);
  return PyBool_FromLong(ordered);
}

/* ---- Few events ------------------------------------------------------------------------------------------- */

/* score_events(list of events, out, by class) */
static PyObject *scorer_score_events(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  fwpy_scorer *self = (fwpy_scorer *)object;
  furrow_rowblock block;
  target to;
  furrow_error err;
  if (nargs != 3) return PyErr_Format(PyExc_TypeError, "score_events takes 3 arguments");
  furrow_container *rows = fwpy_encode_events(self->scorer, args[0]);
  if (!rows) return NULL;
  if (!open_target(&to, args[1], args[2], self->scorer, furrow_container_size(rows))) {
    furrow_container_free(rows);
    return NULL;
  }
  furrow_status status = furrow_container_get_block(rows, &block, &err);
  Py_BEGIN_ALLOW_THREADS;
  if (status == FURROW_OK) status = score_few(self, &block, &to, &err);
  furrow_container_free(rows);
  Py_END_ALLOW_THREADS;
  return close_target(&to, status, &err);
}

/* ---- The type --------------------------------------------------------------------------------------------- */

static PyMethodDef scorer_methods[] = {
    {"load", scorer_load, METH_VARARGS | METH_STATIC, NULL},
    {"classes", scorer_classes, METH_NOARGS, NULL},
    {"class_name", scorer_class_name, METH_O, NULL},
    {"output_count", scorer_output_count, METH_NOARGS, NULL},
    {"has_encoder", scorer_has_encoder, METH_NOARGS, NULL},
    {"feature_name", scorer_feature_name, METH_O, NULL},
    {"setting", scorer_setting, METH_O, NULL},
    {"keys", scorer_keys, METH_NOARGS, NULL},
    {"describe", scorer_describe, METH_VARARGS, NULL},
    {"score_table", (PyCFunction)(void (*)(void))scorer_score_table, METH_FASTCALL, NULL},
    {"score_rows", (PyCFunction)(void (*)(void))scorer_score_rows, METH_FASTCALL, NULL},
    {"score_events", (PyCFunction)(void (*)(void))scorer_score_events, METH_FASTCALL, NULL},
    {"read", fwpy_scorer_read, METH_VARARGS, NULL},
    {"trees", fwpy_scorer_trees, METH_VARARGS, NULL},
    {"forest", fwpy_scorer_forest, METH_NOARGS, NULL},
    {"importance", fwpy_scorer_importance, METH_NOARGS, NULL},
    {"weights", fwpy_scorer_weights, METH_VARARGS, NULL},
    {"features", fwpy_scorer_features, METH_VARARGS, NULL},
    {"vector_size", fwpy_scorer_vector_size, METH_NOARGS, NULL},
    {"side", fwpy_scorer_side, METH_VARARGS, NULL},
    {"side_vectors", fwpy_scorer_side_vectors, METH_VARARGS, NULL},
    {"feature_vectors", fwpy_scorer_feature_vectors, METH_VARARGS, NULL},
    {"columns", fwpy_scorer_columns, METH_NOARGS, NULL},
    {"data_columns", fwpy_scorer_data_columns, METH_NOARGS, NULL},
    {"feature_columns", fwpy_scorer_feature_columns, METH_VARARGS, NULL},
    {"describe_feature", fwpy_scorer_describe_feature, METH_O, NULL},
    {"add_events", fwpy_scorer_add_events, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot scorer_slots[] = {{Py_tp_dealloc, scorer_dealloc}, {Py_tp_methods, scorer_methods}, {0, NULL}};
static PyType_Spec scorer_spec = {"furrow._core.Scorer", sizeof(fwpy_scorer), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, scorer_slots};

int fwpy_add_scorer(PyObject *module) {
  return fwpy_add_type(module, &scorer_spec, &scorer_type) < 0 ? -1 : fwpy_add_score_reader(module);
}
