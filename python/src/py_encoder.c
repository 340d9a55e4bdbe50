/* python/src/py_encoder.c: furrow._core.Schema, furrow._core.Encoder and split_table: raw logs.
 *
 * Both handles are only read after they are made, so any number of threads may use them at once. */
#include <string.h>

#include "py_core.h"

#define PAIRS_MAX 4096 /* columns of an event */

/* ---- What was read ---------------------------------------------------------------------------------------- */

PyObject *fwpy_get_stats(const furrow_parser_stats *stats) {
  char text[1024] = "";
  if (stats->bad_rows > 0) furrow_error_to_text(&stats->first_bad, text, sizeof text);
  return Py_BuildValue("{sKsKsN}", "rows", (unsigned long long)stats->rows, "bad_rows",
                       (unsigned long long)stats->bad_rows, "first_bad", fwpy_text(text));
}

PyObject *fwpy_name(const char *text, size_t length) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
}

PyObject *fwpy_name_bytes(PyObject *name, const char *what) {
  if (PyBytes_Check(name)) return Py_NewRef(name);
  if (PyUnicode_Check(name)) return PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
  return PyErr_Format(PyExc_TypeError, "%s: a str is needed, not %R", what, name);
}

/* ---- Schema ----------------------------------------------------------------------------------------------- */

typedef struct schema_object {
  PyObject_HEAD const furrow_schema *schema;
  PyObject *owner; /* the encoder that has the schema; NULL: the object itself */
} schema_object;

static PyTypeObject *schema_type;

static PyObject *make_schema(const furrow_schema *schema, PyObject *owner) {
  schema_object *self = fwpy_new(schema_type);
  if (!self) {
    if (!owner) furrow_schema_free((furrow_schema *)schema);
    return NULL;
  }
  self->schema = schema;
  self->owner = Py_XNewRef(owner);
  return (PyObject *)self;
}

static void schema_dealloc(PyObject *object) {
  schema_object *self = (schema_object *)object;
  if (!self->owner) furrow_schema_free((furrow_schema *)self->schema);
  Py_XDECREF(self->owner);
  fwpy_delete(object);
}

static const fwpy_field propose_fields[] = {FWPY_FIELD(furrow_schema_propose_params, label, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, weight, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, group, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, user, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, item, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, time, FWPY_TEXT),
                                            FWPY_FIELD(furrow_schema_propose_params, history, FWPY_UINT32),
                                            FWPY_FIELD(furrow_schema_propose_params, threads, FWPY_UINT32),
                                            FWPY_FIELD(furrow_schema_propose_params, on_bad, FWPY_UINT32),
                                            FWPY_FIELD(furrow_schema_propose_params, strict, FWPY_BOOL),
                                            FWPY_FIELD(furrow_schema_propose_params, amounts, FWPY_BOOL),
                                            FWPY_FIELD(furrow_schema_propose_params, bin_numbers, FWPY_BOOL),
                                            {0}};

typedef struct propose_job {
  const char *uri;
  furrow_schema_propose_params params;
  furrow_parser_stats stats;
  bool only_bins; /* a schema is needed for bins alone */
  furrow_schema *schema;
} propose_job;

static furrow_status run_propose(void *user, fwpy_job *job, furrow_error *err) {
  propose_job *p = user;
  p->params.progress = fwpy_job_progress;
  p->params.progress_user = job;
  if (p->only_bins) return furrow_schema_propose_bins(&p->schema, p->uri, &p->params, err);
  return furrow_schema_propose(&p->schema, p->uri, &p->params, err);
}

/* The texts of a tuple of bytes, which live as long as it; to be freed with PyMem_Free. */
static const char **get_texts(PyObject *tuple, const char *name, size_t *count) {
  *count = (size_t)PyTuple_Size(tuple);
  const char **texts = PyMem_Malloc((*count + 1) * sizeof *texts);
  if (!texts) {
    PyErr_NoMemory();
    return NULL;
  }
  for (size_t i = 0; i < *count; i++) {
    PyObject *text = PyTuple_GetItem(tuple, (Py_ssize_t)i);
    texts[i] = PyBytes_Check(text) ? PyBytes_AsString(text) : NULL;
    if (texts[i] && strlen(texts[i]) == (size_t)PyBytes_Size(text)) continue;
    PyErr_Format(PyExc_TypeError, "%s: bytes without NUL are needed, not %R", name, text);
    PyMem_Free(texts);
    return NULL;
  }
  return texts;
}

/* propose(uri, options, tables: tuple of b"FILE=KEY", progress) -> (schema, stats) */
static PyObject *schema_propose(PyObject *type, PyObject *args) {
  propose_job job = {0};
  PyObject *uri = NULL, *options, *tables, *progress, *result = NULL;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&OO!O", PyUnicode_FSConverter, &uri, &options, &PyTuple_Type, &tables, &progress))
    return NULL;
  furrow_schema_propose_params_init(&job.params);
  furrow_parser_stats_init(&job.stats);
  job.params.stats = &job.stats;
  job.uri = PyBytes_AsString(uri);
  const char **texts = get_texts(tables, "tables", &job.params.table_count);
  job.params.tables = texts;
  if (texts && fwpy_set_fields(&job.params, options, propose_fields) && fwpy_job_run(run_propose, &job, progress)) {
    PyObject *schema = make_schema(job.schema, NULL);
    if (schema) result = Py_BuildValue("NN", schema, fwpy_get_stats(&job.stats));
  }
  PyMem_Free(texts);
  Py_DECREF(uri);
  return result;
}

/* propose_bins(uri, options, progress) -> schema, or None if the data is not csv of numbers that need bins */
static PyObject *schema_propose_bins(PyObject *type, PyObject *args) {
  propose_job job = {.only_bins = true};
  PyObject *uri = NULL, *options, *progress, *result = NULL;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&OO", PyUnicode_FSConverter, &uri, &options, &progress)) return NULL;
  furrow_schema_propose_params_init(&job.params);
  job.uri = PyBytes_AsString(uri);
  if (fwpy_set_fields(&job.params, options, propose_fields) && fwpy_job_run(run_propose, &job, progress))
    result = job.schema ? make_schema(job.schema, NULL) : Py_NewRef(Py_None);
  Py_DECREF(uri);
  return result;
}

static PyObject *schema_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL;
  furrow_schema *schema = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_schema_load(&schema, text, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  return status == FURROW_OK ? make_schema(schema, NULL) : fwpy_raise(&err);
}

static PyObject *schema_parse(PyObject *type, PyObject *args) {
  const char *text;
  Py_ssize_t size;
  furrow_schema *schema = NULL;
  furrow_error err;
  (void)type;
  if (!PyArg_ParseTuple(args, "s#", &text, &size)) return NULL;
  const furrow_status status = furrow_schema_parse(&schema, text, (size_t)size, &err);
  return status == FURROW_OK ? make_schema(schema, NULL) : fwpy_raise(&err);
}

static PyObject *schema_text(PyObject *object, PyObject *args) {
  const schema_object *self = (schema_object *)object;
  int comments;
  char *text = NULL;
  size_t size = 0;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "p", &comments)) return NULL;
  if (furrow_schema_text(self->schema, comments != 0, &text, &size, &err) != FURROW_OK) return fwpy_raise(&err);
  PyObject *result = fwpy_name(text, size);
  furrow_free(text);
  return result;
}

static PyObject *get_name(const char *text) {
  return fwpy_name(text, strlen(text));
}

/* [(name, as, role, why)] */
static PyObject *schema_columns(PyObject *object, PyObject *unused) {
  const schema_object *self = (schema_object *)object;
  PyObject *list = PyList_New(0);
  (void)unused;
  for (size_t i = 0; list && i < furrow_schema_column_count(self->schema); i++) {
    furrow_schema_column c;
    furrow_schema_get_column(self->schema, i, &c);
    PyObject *column = Py_BuildValue("NssN", get_name(c.name), c.as, c.role, get_name(c.why));
    if (!column || PyList_Append(list, column) < 0) Py_CLEAR(list);
    Py_XDECREF(column);
  }
  return list;
}

static PyObject *schema_class_names(PyObject *object, PyObject *unused) {
  const schema_object *self = (schema_object *)object;
  PyObject *list = PyList_New(0);
  const char *name;
  (void)unused;
  for (size_t i = 0; list && (name = furrow_schema_class_name(self->schema, i)); i++) {
    PyObject *text = get_name(name);
    if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

static PyMethodDef schema_methods[] = {{"propose", schema_propose, METH_VARARGS | METH_STATIC, NULL},
                                       {"propose_bins", schema_propose_bins, METH_VARARGS | METH_STATIC, NULL},
                                       {"load", schema_load, METH_VARARGS | METH_STATIC, NULL},
                                       {"parse", schema_parse, METH_VARARGS | METH_STATIC, NULL},
                                       {"text", schema_text, METH_VARARGS, NULL},
                                       {"columns", schema_columns, METH_NOARGS, NULL},
                                       {"class_names", schema_class_names, METH_NOARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static PyType_Slot schema_slots[] = {{Py_tp_dealloc, schema_dealloc}, {Py_tp_methods, schema_methods}, {0, NULL}};
static PyType_Spec schema_spec = {"furrow._core.Schema", sizeof(schema_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, schema_slots};

/* ---- Encoder ---------------------------------------------------------------------------------------------- */

typedef struct encoder_object {
  PyObject_HEAD furrow_encoder *encoder;
} encoder_object;

static PyTypeObject *encoder_type;

static PyObject *make_encoder(furrow_encoder *encoder) {
  encoder_object *self = fwpy_new(encoder_type);
  if (!self) {
    furrow_encoder_free(encoder);
    return NULL;
  }
  self->encoder = encoder;
  return (PyObject *)self;
}

static void encoder_dealloc(PyObject *object) {
  furrow_encoder_free(((encoder_object *)object)->encoder);
  fwpy_delete(object);
}

static const fwpy_field build_fields[] = {FWPY_FIELD(furrow_encoder_params, folder, FWPY_TEXT),
                                          FWPY_FIELD(furrow_encoder_params, threads, FWPY_UINT32),
                                          FWPY_FIELD(furrow_encoder_params, on_bad, FWPY_UINT32),
                                          FWPY_FIELD(furrow_encoder_params, table_items, FWPY_BOOL),
                                          FWPY_FIELD(furrow_encoder_params, max_features, FWPY_UINT64),
                                          {0}};

typedef struct build_job {
  const char *uri;
  const furrow_encoder *before; /* the encoder that grows; NULL: there is none */
  const furrow_schema *schema;
  furrow_encoder_params params;
  furrow_parser_stats stats;
  uint64_t items_without_row, users_without_row, names_left_out;
  furrow_encoder_growth growth;
  furrow_encoder *encoder;
} build_job;

static furrow_status run_build(void *user, fwpy_job *job, furrow_error *err) {
  build_job *b = user;
  b->params.progress = fwpy_job_progress;
  b->params.progress_user = job;
  if (b->before) return furrow_encoder_grow(&b->encoder, b->before, b->uri, &b->params, &b->growth, err);
  return furrow_encoder_build(&b->encoder, b->uri, b->schema, &b->params, err);
}

/* build(uri, schema, options, progress) -> (encoder, stats of the tables, items and users that no table has) */
static PyObject *encoder_build(PyObject *type, PyObject *args) {
  build_job job = {0};
  PyObject *uri = NULL, *schema, *options, *progress, *result = NULL;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&O!OO", PyUnicode_FSConverter, &uri, schema_type, &schema, &options, &progress))
    return NULL;
  furrow_encoder_params_init(&job.params);
  furrow_parser_stats_init(&job.stats);
  job.params.stats = &job.stats;
  job.params.items_without_row = &job.items_without_row;
  job.params.users_without_row = &job.users_without_row;
  job.uri = PyBytes_AsString(uri);
  job.schema = ((schema_object *)schema)->schema;
  if (fwpy_set_fields(&job.params, options, build_fields) && fwpy_job_run(run_build, &job, progress)) {
    PyObject *encoder = make_encoder(job.encoder);
    if (encoder)
      result = Py_BuildValue("NNKK", encoder, fwpy_get_stats(&job.stats), (unsigned long long)job.items_without_row,
                             (unsigned long long)job.users_without_row);
  }
  Py_DECREF(uri);
  return result;
}

/* grow(uri, options, progress) -> (encoder, names left out, tables kept, columns that the schema does not have) */
static PyObject *encoder_grow(PyObject *object, PyObject *args) {
  build_job job = {.before = ((encoder_object *)object)->encoder};
  PyObject *uri = NULL, *options, *progress, *result = NULL;
  if (!PyArg_ParseTuple(args, "O&OO", PyUnicode_FSConverter, &uri, &options, &progress)) return NULL;
  furrow_encoder_params_init(&job.params);
  furrow_encoder_growth_init(&job.growth);
  job.params.names_left_out = &job.names_left_out;
  job.uri = PyBytes_AsString(uri);
  if (fwpy_set_fields(&job.params, options, build_fields) && fwpy_job_run(run_build, &job, progress)) {
    PyObject *encoder = make_encoder(job.encoder);
    if (encoder)
      result = Py_BuildValue("NKKN", encoder, (unsigned long long)job.names_left_out,
                             (unsigned long long)job.growth.tables_kept, get_name(job.growth.columns));
  }
  Py_DECREF(uri);
  return result;
}

static PyObject *encoder_load(PyObject *type, PyObject *args) {
  PyObject *path = NULL;
  furrow_encoder *encoder = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)type;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_encoder_load(&encoder, text, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  return status == FURROW_OK ? make_encoder(encoder) : fwpy_raise(&err);
}

/* save(directory, overwrite) */
static PyObject *encoder_save(PyObject *object, PyObject *args) {
  const encoder_object *self = (encoder_object *)object;
  PyObject *path = NULL;
  int overwrite;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "O&p", PyUnicode_FSConverter, &path, &overwrite)) return NULL;
  const char *text = PyBytes_AsString(path);
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_encoder_save(self->encoder, text, overwrite != 0, &err);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

static PyObject *encoder_schema(PyObject *object, PyObject *unused) {
  (void)unused;
  return make_schema(furrow_encoder_schema(((encoder_object *)object)->encoder), object);
}

/* [(name, side: 0 context, 1 user, 2 item, first, count, entries, unknown, missing)] */
static PyObject *encoder_fields(PyObject *object, PyObject *unused) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  PyObject *list = PyList_New(0);
  (void)unused;
  for (size_t i = 0; list && i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field f;
    furrow_encoder_get_field(encoder, i, &f);
    PyObject *field = Py_BuildValue("NiKKKKK", get_name(f.name), (int)f.side, (unsigned long long)f.first,
                                    (unsigned long long)f.count, (unsigned long long)f.entries,
                                    (unsigned long long)f.unknown, (unsigned long long)f.missing);
    if (!field || PyList_Append(list, field) < 0) Py_CLEAR(list);
    Py_XDECREF(field);
  }
  return list;
}

static PyObject *encoder_feature_count(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyLong_FromUnsignedLongLong(furrow_encoder_feature_count(((encoder_object *)object)->encoder));
}

/* features(first, count) -> [(field, name, count in the training data)] */
static PyObject *encoder_features(PyObject *object, PyObject *args) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  PyObject *list = NULL;
  unsigned long long first, count;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "KK", &first, &count)) return NULL;
  list = PyList_New(0);
  for (unsigned long long i = 0; list && i < count; i++) {
    furrow_encoder_feature f;
    PyObject *feature = NULL;
    if (furrow_encoder_get_feature(encoder, first + i, &f, &err) == FURROW_OK)
      feature = Py_BuildValue("nNK", (Py_ssize_t)f.field, fwpy_name(f.name, f.length), (unsigned long long)f.count);
    else
      fwpy_raise(&err);
    if (!feature || PyList_Append(list, feature) < 0) Py_CLEAR(list);
    Py_XDECREF(feature);
  }
  return list;
}

/* entries(field, first, count) -> [(name, count in the training data)], of the names of a field from number first on */
static PyObject *encoder_entries(PyObject *object, PyObject *args) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  PyObject *list = NULL;
  unsigned long long first, count;
  Py_ssize_t field;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "nKK", &field, &first, &count)) return NULL;
  list = PyList_New(0);
  for (unsigned long long i = 0; list && i < count; i++) {
    furrow_encoder_feature f;
    PyObject *entry = NULL;
    if (furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, (size_t)field, first + i), &f, &err) ==
        FURROW_OK)
      entry = Py_BuildValue("NK", fwpy_name(f.name, f.length), (unsigned long long)f.count);
    else
      fwpy_raise(&err);
    if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
    Py_XDECREF(entry);
  }
  return list;
}

/* fields_of(features) -> the number of the field of each; -1: there is no such feature */
static PyObject *encoder_fields_of(PyObject *object, PyObject *features) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  const Py_ssize_t count = PyList_Size(features);
  PyObject *list = count < 0 ? NULL : PyList_New(0);
  for (Py_ssize_t i = 0; list && i < count; i++) {
    const uint64_t feature = PyLong_AsUnsignedLongLong(PyList_GetItem(features, i));
    const size_t field = PyErr_Occurred() ? SIZE_MAX : furrow_encoder_field_of(encoder, feature);
    PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(field == SIZE_MAX ? -1 : (Py_ssize_t)field);
    if (!number || PyList_Append(list, number) < 0) Py_CLEAR(list);
    Py_XDECREF(number);
  }
  return list;
}

/* find(field, name) -> index */
static PyObject *encoder_find(PyObject *object, PyObject *args) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  Py_ssize_t field;
  PyObject *name;
  uint64_t index = 0;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "nO", &field, &name)) return NULL;
  PyObject *bytes = fwpy_name_bytes(name, "name");
  if (!bytes) return NULL;
  const furrow_status status =
      furrow_encoder_find(encoder, (size_t)field, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes), &index, &err);
  Py_DECREF(bytes);
  return status == FURROW_OK ? PyLong_FromUnsignedLongLong(index) : fwpy_raise(&err);
}

/* ---- Events ----------------------------------------------------------------------------------------------- */

/* The text of a cell of an event, which lives as long as the dict; None is NULL. */
static bool get_cell(PyObject *object, const char **text) {
  *text = NULL;
  if (object == Py_None) return true;
  if (!PyBytes_Check(object)) {
    PyErr_Format(PyExc_TypeError, "an event has bytes or None, not %R", object);
    return false;
  }
  *text = PyBytes_AsString(object);
  if (strlen(*text) == (size_t)PyBytes_Size(object)) return true;
  PyErr_SetString(PyExc_ValueError, "an event has a NUL character");
  return false;
}

bool fwpy_get_pairs(PyObject *tuple, furrow_pair **pairs, size_t *count) {
  *count = (size_t)PyTuple_Size(tuple);
  *pairs = NULL;
  if (*count > PAIRS_MAX) {
    PyErr_SetString(PyExc_ValueError, "an event has too many columns");
    return false;
  }
  furrow_pair *made = PyMem_Calloc(*count + 1, sizeof *made);
  if (!made) {
    PyErr_NoMemory();
    return false;
  }
  for (size_t i = 0; i < *count; i++) {
    PyObject *pair = PyTuple_GetItem(tuple, (Py_ssize_t)i);
    const bool is_pair = PyTuple_Check(pair) && PyTuple_Size(pair) == 2;
    if (!is_pair) PyErr_SetString(PyExc_TypeError, "an event is a tuple of pairs");
    if (!is_pair || !get_cell(PyTuple_GetItem(pair, 0), &made[i].column) ||
        !get_cell(PyTuple_GetItem(pair, 1), &made[i].value)) {
      PyMem_Free(made);
      return false;
    }
    if (!made[i].column) made[i].column = "";
  }
  *pairs = made;
  return true;
}

/* A row as lists: (indices, values, fields) */
static PyObject *list_row(const furrow_row *row) {
  PyObject *indices = PyList_New(0), *values = PyList_New(0), *fields = PyList_New(0);
  bool ok = indices && values && fields;
  for (size_t i = 0; ok && i < row->length; i++) {
    PyObject *index = PyLong_FromUnsignedLongLong(furrow_keys_get(row->index, row->key_type, i));
    PyObject *value = PyFloat_FromDouble(row->value.any ? furrow_values_get(row->value, row->value_type, i) : 1);
    PyObject *field = PyLong_FromUnsignedLongLong(row->field.any ? furrow_keys_get(row->field, row->key_type, i) : 0);
    ok = index && value && field && PyList_Append(indices, index) == 0 && PyList_Append(values, value) == 0 &&
         PyList_Append(fields, field) == 0;
    Py_XDECREF(index);
    Py_XDECREF(value);
    Py_XDECREF(field);
  }
  if (ok) return Py_BuildValue("NNN", indices, values, fields);
  Py_XDECREF(indices);
  Py_XDECREF(values);
  Py_XDECREF(fields);
  return NULL;
}

/* event(((column, value bytes|None), …)) -> (indices, values, fields) */
static PyObject *encoder_event(PyObject *object, PyObject *args) {
  const furrow_encoder *encoder = ((encoder_object *)object)->encoder;
  PyObject *tuple, *result = NULL;
  furrow_pair *pairs = NULL;
  size_t count = 0;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_error err;
  if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &tuple) || !fwpy_get_pairs(tuple, &pairs, &count)) return NULL;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, &err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(encoder, pairs, count, rows, &err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, &err);
  if (status == FURROW_OK) {
    const furrow_row row = furrow_rowblock_row(&block, 0);
    result = list_row(&row);
  } else {
    fwpy_raise(&err);
  }
  furrow_container_free(rows);
  PyMem_Free(pairs);
  return result;
}

static PyMethodDef encoder_methods[] = {{"build", encoder_build, METH_VARARGS | METH_STATIC, NULL},
                                        {"load", encoder_load, METH_VARARGS | METH_STATIC, NULL},
                                        {"save", encoder_save, METH_VARARGS, NULL},
                                        {"schema", encoder_schema, METH_NOARGS, NULL},
                                        {"fields", encoder_fields, METH_NOARGS, NULL},
                                        {"feature_count", encoder_feature_count, METH_NOARGS, NULL},
                                        {"features", encoder_features, METH_VARARGS, NULL},
                                        {"entries", encoder_entries, METH_VARARGS, NULL},
                                        {"fields_of", encoder_fields_of, METH_O, NULL},
                                        {"grow", encoder_grow, METH_VARARGS, NULL},
                                        {"find", encoder_find, METH_VARARGS, NULL},
                                        {"event", encoder_event, METH_VARARGS, NULL},
                                        {NULL, NULL, 0, NULL}};

static PyType_Slot encoder_slots[] = {{Py_tp_dealloc, encoder_dealloc}, {Py_tp_methods, encoder_methods}, {0, NULL}};
static PyType_Spec encoder_spec = {"furrow._core.Encoder", sizeof(encoder_object), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, encoder_slots};

/* encoder_uri(log, directory): the URI that reads the log through the encoder */
static PyObject *encoder_uri(PyObject *module, PyObject *args) {
  PyObject *log = NULL, *directory = NULL;
  char *uri = NULL;
  furrow_error err;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&O&", PyUnicode_FSConverter, &log, PyUnicode_FSConverter, &directory)) return NULL;
  const furrow_status status = furrow_encoder_uri(PyBytes_AsString(log), PyBytes_AsString(directory), &uri, &err);
  Py_DECREF(log);
  Py_DECREF(directory);
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *text = PyUnicode_DecodeFSDefault(uri);
  furrow_free(uri);
  return text;
}

/* needs_schema(uri): whether the data is a log rather than rows */
static PyObject *needs_schema(PyObject *module, PyObject *args) {
  PyObject *uri = NULL;
  bool needed = false;
  furrow_error err;
  (void)module;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &uri)) return NULL;
  const furrow_status status = furrow_table_needs_schema(PyBytes_AsString(uri), &needed, &err);
  Py_DECREF(uri);
  return status == FURROW_OK ? PyBool_FromLong(needed) : fwpy_raise(&err);
}

/* ---- Splitting -------------------------------------------------------------------------------------------- */

static const fwpy_field split_fields[] = {FWPY_FIELD(furrow_table_split_params, time, FWPY_TEXT),
                                          FWPY_FIELD(furrow_table_split_params, user, FWPY_TEXT),
                                          FWPY_FIELD(furrow_table_split_params, last, FWPY_DOUBLE),
                                          FWPY_FIELD(furrow_table_split_params, group, FWPY_TEXT),
                                          FWPY_FIELD(furrow_table_split_params, seed, FWPY_UINT64),
                                          FWPY_FIELD(furrow_table_split_params, overwrite, FWPY_BOOL),
                                          FWPY_FIELD(furrow_table_split_params, on_bad, FWPY_UINT32),
                                          {0}};

typedef struct split_job {
  const char *uri;
  const char **paths;
  size_t count;
  uint64_t *rows;
  furrow_table_split_params params;
  furrow_parser_stats stats;
} split_job;

static furrow_status run_split(void *user, fwpy_job *job, furrow_error *err) {
  split_job *s = user;
  s->params.progress = fwpy_job_progress;
  s->params.progress_user = job;
  return furrow_table_split(s->uri, s->paths, s->count, &s->params, s->rows, err);
}

/* split_table(uri, paths: tuple of bytes, options, shares f64|None, rows u64 out, progress) -> stats */
static PyObject *split_table(PyObject *module, PyObject *args) {
  split_job job = {0};
  PyObject *uri = NULL, *paths, *options, *shares, *rows, *progress, *result = NULL;
  Py_buffer share = {0}, row = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "O&O!OOOO", PyUnicode_FSConverter, &uri, &PyTuple_Type, &paths, &options, &shares, &rows,
                        &progress))
    return NULL;
  furrow_table_split_params_init(&job.params);
  furrow_parser_stats_init(&job.stats);
  job.params.stats = &job.stats;
  job.uri = PyBytes_AsString(uri);
  job.paths = get_texts(paths, "paths", &job.count);
  if (!job.paths || !fwpy_set_fields(&job.params, options, split_fields)) goto done;
  if (shares != Py_None && !fwpy_get_array(shares, "shares", FWPY_F64, 1, &share)) goto done;
  if (!fwpy_get_output(rows, "rows", FWPY_U64, 1, &row)) goto done;
  if ((size_t)row.shape[0] != job.count || (share.obj && (size_t)share.shape[0] != job.count)) {
    PyErr_SetString(PyExc_ValueError, "there must be a path for each share");
    goto done;
  }
  job.params.shares = share.obj ? share.buf : NULL;
  job.rows = row.buf;
  if (fwpy_job_run(run_split, &job, progress)) result = fwpy_get_stats(&job.stats);
done:
  if (row.obj) PyBuffer_Release(&row);
  if (share.obj) PyBuffer_Release(&share);
  PyMem_Free(job.paths);
  Py_DECREF(uri);
  return result;
}

static PyMethodDef methods[] = {{"encoder_uri", encoder_uri, METH_VARARGS, NULL},
                                {"needs_schema", needs_schema, METH_VARARGS, NULL},
                                {"split_table", split_table, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

int fwpy_add_encoder(PyObject *module) {
  if (fwpy_add_type(module, &schema_spec, &schema_type) < 0) return -1;
  if (fwpy_add_type(module, &encoder_spec, &encoder_type) < 0) return -1;
  return PyModule_AddFunctions(module, methods);
}
