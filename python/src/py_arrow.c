/* python/src/py_arrow.c: tables that come in by Arrow's C data interface.
 *
 * A table is taken over from its capsule (the capsule is left released) and is released once, when the ArrowTable is
 * freed. The producer guarantees the lengths of buffers; everything else is checked before memory is read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "py_arrow.h"

/* ---- Types ------------------------------------------------------------------------------------------------ */

/* X(name, format): types of one number. Types of times and texts follow; their formats have further parts. */
#define NUMBER_TYPES(X) \
  X(BOOL, "b")          \
  X(INT8, "c")          \
  X(UINT8, "C")         \
  X(INT16, "s")         \
  X(UINT16, "S")        \
  X(INT32, "i")         \
  X(UINT32, "I")        \
  X(INT64, "l")         \
  X(UINT64, "L")        \
  X(FLOAT16, "e")       \
  X(FLOAT32, "f")       \
  X(FLOAT64, "g")

typedef enum arrow_kind {
#define X(name, format) ARROW_##name,
  NUMBER_TYPES(X)
#undef X
      ARROW_NULL,
  ARROW_UTF8,
  ARROW_LARGE_UTF8,
  ARROW_UTF8_VIEW,
  ARROW_DICTIONARY, /* of texts */
  ARROW_DATE32,
  ARROW_DATE64,
  ARROW_TIMESTAMP,
  ARROW_OTHER
} arrow_kind;

static const char *const kind_names[] = {
    "bool",    "int8",    "uint8", "int16", "uint16",     "int32",     "uint32",     "int64",  "uint64", "float16",
    "float32", "float64", "null",  "utf8",  "large_utf8", "utf8_view", "dictionary", "date32", "date64", "timestamp"};

static const struct {
  const char *format;
  arrow_kind kind;
} formats[] = {
#define X(name, format) {format, ARROW_##name},
    NUMBER_TYPES(X)
#undef X
        {"n", ARROW_NULL},
    {"u", ARROW_UTF8},
    {"U", ARROW_LARGE_UTF8},
    {"vu", ARROW_UTF8_VIEW},
    {"tdD", ARROW_DATE32},
    {"tdm", ARROW_DATE64}};

static bool is_text(arrow_kind kind) {
  return kind == ARROW_UTF8 || kind == ARROW_LARGE_UTF8 || kind == ARROW_UTF8_VIEW;
}

static bool is_integer(arrow_kind kind) {
  return kind >= ARROW_INT8 && kind <= ARROW_UINT64;
}

static arrow_kind kind_of_format(const char *format) {
  if (strncmp(format, "ts", 2) == 0 && format[2] && strchr("smun", format[2]) && format[3] == ':')
    return ARROW_TIMESTAMP;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (strcmp(format, formats[i].format) == 0) return formats[i].kind;
  return ARROW_OTHER;
}

static arrow_kind kind_of(const struct ArrowSchema *schema) {
  if (!schema->format) return ARROW_OTHER;
  const arrow_kind kind = kind_of_format(schema->format);
  if (!schema->dictionary) return kind;
  const char *values = schema->dictionary->format;
  return is_integer(kind) && values && is_text(kind_of_format(values)) ? ARROW_DICTIONARY : ARROW_OTHER;
}

/* Bytes of a value in the second buffer; 0: bits, or no such buffer. */
static size_t value_size(arrow_kind kind) {
  switch (kind) {
  case ARROW_INT8:
  case ARROW_UINT8: return 1;
  case ARROW_INT16:
  case ARROW_UINT16:
  case ARROW_FLOAT16: return 2;
  case ARROW_INT32:
  case ARROW_UINT32:
  case ARROW_FLOAT32:
  case ARROW_DATE32: return 4;
  case ARROW_BOOL:
  case ARROW_NULL: return 0;
  default: return 8;
  }
}

/* Units of a second of a timestamp. */
static int64_t units_of(const char *format) {
  return format[2] == 's' ? 1 : format[2] == 'm' ? 1000 : format[2] == 'u' ? 1000000 : 1000000000;
}

/* ---- Tables ----------------------------------------------------------------------------------------------- */

typedef struct arrow_object {
  PyObject_HEAD struct ArrowSchema schema; /* release NULL: none yet */
  struct ArrowArray *batches;
  size_t nbatches, capacity;
  int64_t rows;
} arrow_object;

static PyTypeObject *arrow_type;

/* Producers may run Python in their release functions, which must not see an exception that is set. */
typedef struct saved_exception {
  PyObject *type, *value, *trace;
} saved_exception;

static saved_exception save_exception(void) {
  saved_exception saved;
  PyErr_Fetch(&saved.type, &saved.value, &saved.trace);
  return saved;
}

static void restore_exception(saved_exception saved) {
  PyErr_Restore(saved.type, saved.value, saved.trace);
}

static void arrow_dealloc(PyObject *object) {
  arrow_object *self = (arrow_object *)object;
  const saved_exception saved = save_exception();
  for (size_t i = 0; i < self->nbatches; i++)
    if (self->batches[i].release) self->batches[i].release(&self->batches[i]);
  if (self->schema.release) self->schema.release(&self->schema);
  restore_exception(saved);
  free(self->batches);
  fwpy_delete(object);
}

static bool raise_value_error(const char *format, const char *name) {
  PyErr_Format(PyExc_ValueError, format, name ? name : "");
  return false;
}

/* The struct of a capsule, if it has not been released. */
static void *of_capsule(PyObject *capsule, const char *name) {
  if (PyCapsule_CheckExact(capsule) && PyCapsule_IsValid(capsule, name)) return PyCapsule_GetPointer(capsule, name);
  PyErr_Format(PyExc_TypeError, "a capsule of the name %s is needed", name);
  return NULL;
}

/* ---- What a schema says ---- */

static bool check_schema(const struct ArrowSchema *schema) {
  if (!schema->format || strcmp(schema->format, "+s") != 0) {
    PyErr_Format(PyExc_TypeError, "an Arrow table or batch (a struct of columns) is needed, not the type '%s'",
                 schema->format ? schema->format : "");
    return false;
  }
  if (schema->n_children < 0 || schema->n_children > INT32_MAX || (schema->n_children > 0 && !schema->children))
    return raise_value_error("the Arrow schema has a wrong number of columns%s", NULL);
  for (int64_t i = 0; i < schema->n_children; i++)
    if (!schema->children[i] || !schema->children[i]->format)
      return raise_value_error("the Arrow schema has a column without a type%s", NULL);
  return true;
}

/* Returns the name of the type, or its format if the type is not supported. */
static PyObject *kind_text(const struct ArrowSchema *column) {
  const arrow_kind kind = kind_of(column);
  return fwpy_text(kind == ARROW_OTHER ? column->format : kind_names[kind]);
}

static PyObject *name_text(const struct ArrowSchema *column) {
  return fwpy_text(column->name ? column->name : "");
}

static PyObject *list_columns(const struct ArrowSchema *schema, PyObject *(*text)(const struct ArrowSchema *column)) {
  PyObject *list = PyList_New((Py_ssize_t)schema->n_children);
  for (int64_t i = 0; list && i < schema->n_children; i++) {
    PyObject *item = text(schema->children[i]);
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
  }
  return list;
}

/* ---- Checks of arrays ---- */

static bool has_bit(const void *bits, int64_t i) {
  return ((const unsigned char *)bits)[i >> 3] >> (i & 7) & 1;
}

/* The validity bitmap of an array, or NULL where none of its values is null. */
static const void *validity(const struct ArrowArray *array) {
  return array->n_buffers > 0 && array->null_count != 0 ? array->buffers[0] : NULL;
}

static bool check_offsets(const struct ArrowArray *array, arrow_kind kind) {
  int64_t before = 0;
  for (int64_t i = array->offset; i <= array->offset + array->length; i++) {
    const int64_t at =
        kind == ARROW_UTF8 ? ((const int32_t *)array->buffers[1])[i] : ((const int64_t *)array->buffers[1])[i];
    if (at < before) return false;
    before = at;
  }
  return before == 0 || array->buffers[2];
}

/* A view is 16 bytes: the length; up to 12 bytes of the text itself, or its first 4 bytes, the number of the buffer and
 * the offset in it. The last buffer has the lengths of the buffers before it. */
typedef struct text_view {
  int32_t length;
  int32_t prefix, buffer, offset;
} text_view;

static bool check_views(const struct ArrowArray *array, const void *valid) {
  const text_view *views = array->buffers[1];
  const int64_t *sizes = array->buffers[array->n_buffers - 1];
  const int64_t count = array->n_buffers - 3;
  for (int64_t i = array->offset; i < array->offset + array->length; i++) {
    if (valid && !has_bit(valid, i)) continue;
    if (views[i].length < 0) return false;
    if (views[i].length <= 12) continue;
    if (views[i].buffer < 0 || views[i].buffer >= count || views[i].offset < 0 || !sizes) return false;
    if (!array->buffers[2 + views[i].buffer] || (int64_t)views[i].offset + views[i].length > sizes[views[i].buffer])
      return false;
  }
  return true;
}

static bool check_array(const struct ArrowArray *array, arrow_kind kind, const char *name) {
  if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX - 1 - array->offset)
    return raise_value_error("Arrow column '%.100s' has a negative length or offset", name);
  if (kind == ARROW_NULL) return true;
  const int64_t buffers = kind == ARROW_UTF8 || kind == ARROW_LARGE_UTF8 || kind == ARROW_UTF8_VIEW ? 3 : 2;
  if (array->n_buffers < buffers || (kind != ARROW_UTF8_VIEW && array->n_buffers != buffers) || !array->buffers)
    return raise_value_error("Arrow column '%.100s' does not have the buffers of its type", name);
  if (array->null_count > 0 && !array->buffers[0])
    return raise_value_error("Arrow column '%.100s' has nulls and no validity buffer", name);
  if (array->length == 0) return true;
  if (!array->buffers[1]) return raise_value_error("Arrow column '%.100s' has no values", name);
  if ((kind == ARROW_UTF8 || kind == ARROW_LARGE_UTF8) && !check_offsets(array, kind))
    return raise_value_error("the texts of Arrow column '%.100s' have offsets that do not ascend, or no bytes", name);
  if (kind == ARROW_UTF8_VIEW && !check_views(array, validity(array)))
    return raise_value_error("a text of Arrow column '%.100s' is outside of its buffers", name);
  return true;
}

static bool check_column(const struct ArrowSchema *schema, const struct ArrowArray *column, int64_t rows) {
  const char *name = schema->name;
  const arrow_kind kind = kind_of(schema);
  if (!column || !column->release)
    return raise_value_error("Arrow column '%.100s' is missing in a batch, or was moved", name);
  if (kind == ARROW_OTHER) return true; /* never read: a call that asks for the column raises a TypeError */
  if (!check_array(column, kind, name)) return false;
  if (column->length < rows) return raise_value_error("Arrow column '%.100s' is shorter than its batch", name);
  if (kind != ARROW_DICTIONARY) return true;
  if (!column->dictionary) return raise_value_error("Arrow column '%.100s' lacks its dictionary", name);
  return check_array(column->dictionary, kind_of(schema->dictionary), name);
}

static bool has_null_rows(const struct ArrowArray *batch) {
  const void *valid = batch->buffers ? validity(batch) : NULL;
  for (int64_t i = 0; valid && i < batch->length; i++)
    if (!has_bit(valid, batch->offset + i)) return true;
  return false;
}

static bool check_batch(const arrow_object *self, const struct ArrowArray *batch) {
  if (batch->length < 0 || batch->offset < 0 || batch->length > INT64_MAX / 32 - batch->offset)
    return raise_value_error("an Arrow batch has a negative length or offset%s", NULL);
  if (batch->n_children != self->schema.n_children || (batch->n_children > 0 && !batch->children))
    return raise_value_error("an Arrow batch does not have the columns of its schema%s", NULL);
  if (batch->n_buffers > 0 && batch->buffers == NULL)
    return raise_value_error("an Arrow batch lacks its buffers%s", NULL);
  if (has_null_rows(batch)) return raise_value_error("an Arrow batch has rows that are null as a whole%s", NULL);
  for (int64_t i = 0; i < batch->n_children; i++)
    if (!check_column(self->schema.children[i], batch->children[i], batch->offset + batch->length)) return false;
  return true;
}

/* ---- Taking a table over ---- */

/* The batch belongs to the table from here on, also on failure. */
static bool take_batch(arrow_object *self, struct ArrowArray *batch) {
  if (self->nbatches == self->capacity) {
    const size_t capacity = 2 * self->capacity + 8;
    struct ArrowArray *batches = realloc(self->batches, capacity * sizeof *batches);
    if (!batches) {
      batch->release(batch);
      PyErr_NoMemory();
      return false;
    }
    self->batches = batches;
    self->capacity = capacity;
  }
  self->batches[self->nbatches++] = *batch;
  batch->release = NULL;
  if (!check_batch(self, &self->batches[self->nbatches - 1])) return false;
  if (self->batches[self->nbatches - 1].length > INT64_MAX / 32 - self->rows)
    return raise_value_error("the Arrow table is too long%s", NULL);
  self->rows += self->batches[self->nbatches - 1].length;
  return true;
}

static bool raise_stream(struct ArrowArrayStream *stream, int code) {
  const char *message = stream->get_last_error ? stream->get_last_error(stream) : NULL;
  PyObject *text = fwpy_text(message ? message : strerror(code));
  if (text) PyErr_Format(PyExc_ValueError, "the Arrow stream failed: %U", text);
  Py_XDECREF(text);
  return false;
}

static bool read_stream(arrow_object *self, struct ArrowArrayStream *stream) {
  int code = stream->get_schema(stream, &self->schema);
  if (code != 0) {
    self->schema.release = NULL;
    return raise_stream(stream, code);
  }
  if (!self->schema.release) return raise_value_error("the Arrow stream has a released schema%s", NULL);
  if (!check_schema(&self->schema)) return false;
  for (;;) {
    struct ArrowArray batch = {0};
    Py_BEGIN_ALLOW_THREADS; /* the producer may compute, or take the lock itself */
    code = stream->get_next(stream, &batch);
    Py_END_ALLOW_THREADS;
    if (code != 0) return raise_stream(stream, code);
    if (!batch.release) return true;
    if (!take_batch(self, &batch) || PyErr_CheckSignals() < 0) return false;
  }
}

/* from_stream(capsule) */
static PyObject *arrow_from_stream(PyObject *type, PyObject *capsule) {
  struct ArrowArrayStream *given = of_capsule(capsule, "arrow_array_stream"), stream;
  (void)type;
  if (!given) return NULL;
  if (!given->release || !given->get_schema || !given->get_next)
    return PyErr_Format(PyExc_ValueError, "the Arrow stream was released: it can be read once");
  arrow_object *self = fwpy_new(arrow_type);
  if (!self) return NULL;
  stream = *given;
  given->release = NULL;
  const bool ok = read_stream(self, &stream);
  const saved_exception saved = save_exception();
  if (stream.release) stream.release(&stream);
  restore_exception(saved);
  if (!ok) {
    Py_DECREF(self);
    return NULL;
  }
  return (PyObject *)self;
}

/* from_array(schema capsule, array capsule) */
static PyObject *arrow_from_array(PyObject *type, PyObject *args) {
  PyObject *schema_capsule, *array_capsule;
  (void)type;
  if (!PyArg_ParseTuple(args, "OO", &schema_capsule, &array_capsule)) return NULL;
  struct ArrowSchema *schema = of_capsule(schema_capsule, "arrow_schema");
  struct ArrowArray *array = schema ? of_capsule(array_capsule, "arrow_array") : NULL;
  if (!array) return NULL;
  if (!schema->release || !array->release)
    return PyErr_Format(PyExc_ValueError, "the Arrow array was released: it can be read once");
  arrow_object *self = fwpy_new(arrow_type);
  if (!self) return NULL;
  self->schema = *schema;
  schema->release = NULL;
  struct ArrowArray batch = *array;
  if (check_schema(&self->schema)) {
    array->release = NULL;
    if (take_batch(self, &batch)) return (PyObject *)self;
  }
  Py_DECREF(self);
  return NULL;
}

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

static float half_to_float(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  float size;
  if (exponent == 31)
    size = mantissa ? NAN : INFINITY;
  else
    size = exponent ? ldexpf((float)(mantissa | 1024), exponent - 25) : ldexpf((float)mantissa, -24);
  return half >> 15 ? -size : size;
}

/* Value i of an array of numbers, nulls aside. */
static double number_at(const struct ArrowArray *array, arrow_kind kind, int64_t i) {
  const void *values = kind == ARROW_NULL ? NULL : array->buffers[1];
  switch (kind) {
  case ARROW_BOOL: return has_bit(values, i);
  case ARROW_INT8: return ((const int8_t *)values)[i];
  case ARROW_UINT8: return ((const uint8_t *)values)[i];
  case ARROW_INT16: return ((const int16_t *)values)[i];
  case ARROW_UINT16: return ((const uint16_t *)values)[i];
  case ARROW_INT32: return ((const int32_t *)values)[i];
  case ARROW_UINT32: return ((const uint32_t *)values)[i];
  case ARROW_INT64: return (double)((const int64_t *)values)[i];
  case ARROW_UINT64: return (double)((const uint64_t *)values)[i];
  case ARROW_FLOAT16: return (double)half_to_float(((const uint16_t *)values)[i]);
  case ARROW_FLOAT32: return (double)((const float *)values)[i];
  case ARROW_FLOAT64: return ((const double *)values)[i];
  default: return NAN;
  }
}

/* A table of numbers that the columns are written to. */
typedef struct fill_call {
  arrow_object *self;
  Py_buffer out;
  bool is_f64;
} fill_call;

#define ROWS_AT_ONCE 256 /* so that the rows stay in the cache from column to column */

/* Writes rows begin … end - 1 of column k of a batch to the table, from row `at` on. */
static void fill_column(const fill_call *call, const struct ArrowArray *batch, int64_t k, int64_t begin, int64_t end,
                        size_t at) {
  const struct ArrowArray *column = batch->children[k];
  const arrow_kind kind = kind_of(call->self->schema.children[k]);
  const void *valid = kind == ARROW_NULL ? NULL : validity(column);
  const size_t columns = (size_t)batch->n_children;
  size_t to = at * columns + (size_t)k;
  for (int64_t row = begin; row < end; row++, to += columns) {
    const int64_t i = column->offset + batch->offset + row;
    const double value = valid && !has_bit(valid, i) ? NAN : number_at(column, kind, i);
    if (call->is_f64)
      ((double *)call->out.buf)[to] = value;
    else
      ((float *)call->out.buf)[to] = (float)value;
  }
}

static void fill_all(const fill_call *call) {
  size_t at = 0;
  for (size_t b = 0; b < call->self->nbatches; b++) {
    const struct ArrowArray *batch = &call->self->batches[b];
    for (int64_t begin = 0; begin < batch->length; begin += ROWS_AT_ONCE) {
      const int64_t end = batch->length - begin < ROWS_AT_ONCE ? batch->length : begin + ROWS_AT_ONCE;
      for (int64_t k = 0; k < batch->n_children; k++) fill_column(call, batch, k, begin, end, at + (size_t)begin);
    }
    at += (size_t)batch->length;
  }
}

static bool all_numbers(const struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++)
    if (kind_of(schema->children[i]) > ARROW_NULL) return false;
  return true;
}

/* fill(table f32|f64): all columns, nulls as NaN */
static PyObject *arrow_fill(PyObject *object, PyObject *table) {
  fill_call call = {.self = (arrow_object *)object};
  if (!all_numbers(&call.self->schema)) return PyErr_Format(PyExc_TypeError, "not all columns are of numbers");
  if (PyObject_GetBuffer(table, &call.out, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE) < 0) return NULL;
  const char type = call.out.format ? call.out.format[0] : 0;
  const bool ok = call.out.ndim == 2 && (type == 'f' || type == 'd') && !call.out.format[1] &&
                  call.out.shape[0] == call.self->rows && call.out.shape[1] == call.self->schema.n_children;
  call.is_f64 = type == 'd';
  if (ok) {
    Py_BEGIN_ALLOW_THREADS;
    fill_all(&call);
    Py_END_ALLOW_THREADS;
  }
  PyBuffer_Release(&call.out);
  if (!ok) return PyErr_Format(PyExc_ValueError, "the table has the wrong shape or type");
  Py_RETURN_NONE;
}

/* ---- Columns of text tables ------------------------------------------------------------------------------- */

/* Text i of an array of texts. */
static const char *text_at(const struct ArrowArray *array, arrow_kind kind, int64_t i, size_t *length) {
  if (kind == ARROW_UTF8_VIEW) {
    const text_view *view = (const text_view *)array->buffers[1] + i;
    *length = (size_t)view->length;
    if (view->length <= 12) return (const char *)&view->prefix;
    return (const char *)array->buffers[2 + view->buffer] + view->offset;
  }
  const bool large = kind == ARROW_LARGE_UTF8;
  const int64_t begin = large ? ((const int64_t *)array->buffers[1])[i] : ((const int32_t *)array->buffers[1])[i];
  const int64_t end = large ? ((const int64_t *)array->buffers[1])[i + 1] : ((const int32_t *)array->buffers[1])[i + 1];
  *length = (size_t)(end - begin);
  return (const char *)array->buffers[2] + begin;
}

/* Adds `count` texts from number `begin` on. */
static bool add_texts(PyObject *cells, const struct ArrowArray *array, arrow_kind kind, int64_t begin, int64_t count) {
  const void *valid = validity(array);
  for (int64_t i = begin; i < begin + count; i++) {
    size_t length = 0;
    const char *text = valid && !has_bit(valid, i) ? "" : text_at(array, kind, i, &length);
    if (!fwpy_cells_add(cells, length ? text : "", length)) return false;
  }
  return true;
}

/* Drops both. */
static PyObject *column_tuple(const char *kind, PyObject *data, PyObject *more, PyObject *mask) {
  PyObject *tuple = data && more && mask ? Py_BuildValue("sOOO", kind, data, more, mask) : NULL;
  Py_XDECREF(data);
  Py_XDECREF(more);
  Py_XDECREF(mask);
  return tuple;
}

static PyObject *text_cells(const arrow_object *self, int64_t k, arrow_kind kind) {
  PyObject *cells = fwpy_cells_new();
  for (size_t b = 0; cells && b < self->nbatches; b++) {
    const struct ArrowArray *batch = &self->batches[b], *column = batch->children[k];
    if (!add_texts(cells, column, kind, column->offset + batch->offset, batch->length)) Py_CLEAR(cells);
  }
  return cells;
}

/* Codes of all batches into one array; a batch has its own dictionary, which is appended to the dictionaries of the
 * batches before, unless it is the same memory as the last one. Null is -1. */
typedef struct code_column {
  PyObject *cells;
  int64_t *codes;
  size_t at;
  int64_t base, dictionary_end;        /* of the last dictionary in the cells */
  const struct ArrowArray *dictionary; /* the last one; NULL: none */
} code_column;

static bool is_same_dictionary(const struct ArrowArray *a, const struct ArrowArray *b) {
  return a && b && a->length == b->length && a->offset == b->offset && a->n_buffers == b->n_buffers &&
         memcmp((const void *)a->buffers, (const void *)b->buffers, (size_t)a->n_buffers * sizeof *a->buffers) == 0;
}

static bool add_dictionary(code_column *out, const struct ArrowArray *dictionary, arrow_kind kind) {
  if (is_same_dictionary(out->dictionary, dictionary)) return true;
  out->base = out->dictionary_end;
  out->dictionary_end += dictionary->length;
  out->dictionary = dictionary;
  return add_texts(out->cells, dictionary, kind, dictionary->offset, dictionary->length);
}

static bool add_codes(code_column *out, const struct ArrowSchema *schema, const struct ArrowArray *batch, int64_t k) {
  const struct ArrowArray *column = batch->children[k], *dictionary = column->dictionary;
  const arrow_kind kind = kind_of_format(schema->format);
  const void *valid = validity(column);
  if (!add_dictionary(out, dictionary, kind_of(schema->dictionary))) return false;
  for (int64_t row = 0; row < batch->length; row++) {
    const int64_t i = column->offset + batch->offset + row;
    const bool null = valid && !has_bit(valid, i);
    const double code = null ? -1 : number_at(column, kind, i);
    if (!null && !(code >= 0 && code < (double)dictionary->length))
      return raise_value_error("Arrow column '%.100s' has a code that is not in its dictionary", schema->name);
    out->codes[out->at++] = null ? -1 : out->base + (int64_t)code;
  }
  return true;
}

static PyObject *dictionary_codes(const arrow_object *self, int64_t k) {
  code_column out = {.cells = fwpy_cells_new(), .codes = calloc((size_t)self->rows + 1, sizeof(int64_t))};
  bool ok = out.cells && out.codes;
  if (!out.codes) PyErr_NoMemory();
  for (size_t b = 0; ok && b < self->nbatches; b++)
    ok = add_codes(&out, self->schema.children[k], &self->batches[b], k);
  if (ok) return column_tuple("codes", fwpy_view_allocated(out.codes, FWPY_I64, out.at), out.cells, Py_NewRef(Py_None));
  free(out.codes);
  Py_XDECREF(out.cells);
  return NULL;
}

/* Booleans become codes of two texts; a column of nulls alone has no texts. */
static PyObject *flag_codes(const arrow_object *self, int64_t k, arrow_kind kind) {
  PyObject *cells = fwpy_cells_new();
  int32_t *codes = malloc(((size_t)self->rows + 1) * sizeof *codes);
  if (!codes) PyErr_NoMemory();
  if (!cells || !codes || !fwpy_cells_add(cells, "False", 5) || !fwpy_cells_add(cells, "True", 4)) {
    free(codes);
    Py_XDECREF(cells);
    return NULL;
  }
  size_t at = 0;
  for (size_t b = 0; b < self->nbatches; b++) {
    const struct ArrowArray *batch = &self->batches[b], *column = batch->children[k];
    const void *valid = kind == ARROW_NULL ? NULL : validity(column);
    for (int64_t row = 0; row < batch->length; row++) {
      const int64_t i = column->offset + batch->offset + row;
      const bool null = kind == ARROW_NULL || (valid && !has_bit(valid, i));
      codes[at++] = null ? -1 : has_bit(column->buffers[1], i);
    }
  }
  return column_tuple("codes", fwpy_view_allocated(codes, FWPY_I32, at), cells, Py_NewRef(Py_None));
}

/* ---- Numbers and times: 8 bytes each, and a mask ---- */

static void copy_value(const struct ArrowArray *array, arrow_kind kind, int64_t i, void *to, size_t at) {
  if (kind == ARROW_FLOAT16 || kind == ARROW_FLOAT32)
    ((float *)to)[at] = (float)number_at(array, kind, i);
  else if (value_size(kind) == 8) /* also uint64 and float64, bit by bit */
    ((int64_t *)to)[at] = ((const int64_t *)array->buffers[1])[i];
  else if (kind == ARROW_DATE32)
    ((int64_t *)to)[at] = ((const int32_t *)array->buffers[1])[i];
  else
    ((int64_t *)to)[at] = (int64_t)number_at(array, kind, i);
}

static size_t copy_batch(const struct ArrowArray *batch, int64_t k, arrow_kind kind, void *values, uint8_t *mask,
                         size_t at) {
  const struct ArrowArray *column = batch->children[k];
  const void *valid = validity(column);
  for (int64_t row = 0; row < batch->length; row++, at++) {
    const int64_t i = column->offset + batch->offset + row;
    mask[at] = valid && !has_bit(valid, i);
    copy_value(column, kind, i, values, at);
  }
  return at;
}

static PyObject *value_column(const arrow_object *self, int64_t k, arrow_kind kind) {
  const char *format = self->schema.children[k]->format;
  const bool single = kind == ARROW_FLOAT16 || kind == ARROW_FLOAT32;
  void *values = malloc(((size_t)self->rows + 1) * 8);
  uint8_t *mask = malloc((size_t)self->rows + 1);
  if (!values || !mask) {
    free(values);
    free(mask);
    return PyErr_NoMemory();
  }
  size_t count = 0;
  for (size_t b = 0; b < self->nbatches; b++) count = copy_batch(&self->batches[b], k, kind, values, mask, count);
  const fwpy_dtype dtype = single                  ? FWPY_F32
                           : kind == ARROW_FLOAT64 ? FWPY_F64
                           : kind == ARROW_UINT64  ? FWPY_U64
                                                   : FWPY_I64;
  PyObject *data = fwpy_view_allocated(values, dtype, count), *masked = fwpy_view_allocated(mask, FWPY_U8, count);
  if (kind == ARROW_DATE32) return column_tuple("dates", data, Py_NewRef(Py_None), masked);
  if (kind == ARROW_DATE64) return column_tuple("times", data, PyLong_FromLong(1000), masked);
  if (kind == ARROW_TIMESTAMP) return column_tuple("times", data, PyLong_FromLongLong(units_of(format)), masked);
  return column_tuple("numbers", data, Py_NewRef(Py_None), masked);
}

/* text_column(i): a column as csv_text takes it */
static PyObject *arrow_text_column(PyObject *object, PyObject *number) {
  const arrow_object *self = (arrow_object *)object;
  const long long k = PyLong_AsLongLong(number);
  if (k == -1 && PyErr_Occurred()) return NULL;
  if (k < 0 || k >= self->schema.n_children) return PyErr_Format(PyExc_IndexError, "there is no column %lld", k);
  const struct ArrowSchema *schema = self->schema.children[k];
  const arrow_kind kind = kind_of(schema);
  if (kind == ARROW_OTHER) {
    PyObject *name = name_text(schema);
    if (name)
      PyErr_Format(PyExc_TypeError, "column %R has the Arrow type '%.40s', which is not read", name, schema->format);
    Py_XDECREF(name);
    return NULL;
  }
  if (is_text(kind)) return column_tuple("cells", text_cells(self, k, kind), Py_NewRef(Py_None), Py_NewRef(Py_None));
  if (kind == ARROW_DICTIONARY) return dictionary_codes(self, k);
  if (kind == ARROW_BOOL || kind == ARROW_NULL) return flag_codes(self, k, kind);
  return value_column(self, k, kind);
}

/* ---- The module ------------------------------------------------------------------------------------------- */

static PyObject *arrow_names(PyObject *object, PyObject *unused) {
  (void)unused;
  return list_columns(&((arrow_object *)object)->schema, name_text);
}

static PyObject *arrow_kinds(PyObject *object, PyObject *unused) {
  (void)unused;
  return list_columns(&((arrow_object *)object)->schema, kind_text);
}

static PyObject *arrow_rows(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyLong_FromLongLong(((arrow_object *)object)->rows);
}

/* arrow_kinds(schema capsule): the types of the columns, without the data. The schema stays the capsule's. */
static PyObject *module_arrow_kinds(PyObject *module, PyObject *capsule) {
  const struct ArrowSchema *schema = of_capsule(capsule, "arrow_schema");
  (void)module;
  if (!schema) return NULL;
  if (!schema->release) return PyErr_Format(PyExc_ValueError, "the Arrow schema was released");
  return check_schema(schema) ? list_columns(schema, kind_text) : NULL;
}

static PyMethodDef arrow_methods[] = {{"from_stream", arrow_from_stream, METH_O | METH_STATIC, NULL},
                                      {"from_array", arrow_from_array, METH_VARARGS | METH_STATIC, NULL},
                                      {"names", arrow_names, METH_NOARGS, NULL},
                                      {"kinds", arrow_kinds, METH_NOARGS, NULL},
                                      {"rows", arrow_rows, METH_NOARGS, NULL},
                                      {"fill", arrow_fill, METH_O, NULL},
                                      {"text_column", arrow_text_column, METH_O, NULL},
                                      {NULL, NULL, 0, NULL}};
static PyType_Slot arrow_slots[] = {{Py_tp_dealloc, arrow_dealloc}, {Py_tp_methods, arrow_methods}, {0, NULL}};
static PyType_Spec arrow_spec = {"furrow._core.ArrowTable", sizeof(arrow_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, arrow_slots};

static PyMethodDef methods[] = {{"arrow_kinds", module_arrow_kinds, METH_O, NULL},
                                {"arrow_stream", fwpy_arrow_stream, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

int fwpy_add_arrow(PyObject *module) {
  if (fwpy_add_type(module, &arrow_spec, &arrow_type) < 0) return -1;
  return PyModule_AddFunctions(module, methods);
}
