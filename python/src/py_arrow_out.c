/* python/src/py_arrow_out.c: arrays that go out by Arrow's C stream interface, without a copy.
 *
 * A consumer may move any of the structs and release them in any order, from any thread: each has a reference to the
 * arrays, and the last release frees them. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py_arrow.h"

/* ---- What is shared --------------------------------------------------------------------------------------- */

/* A column of numbers, or of lists of numbers: `width` numbers each, or the numbers between two offsets. */
typedef struct out_column {
  char *name;
  const char *values_format; /* format of the values, as Arrow writes it */
  char format[32];           /* "+L", "+w:10", or the format of the values */
  Py_buffer values, offsets; /* obj of the offsets NULL: there are none */
  int64_t count;             /* count of the values */
} out_column;

typedef struct out_table {
  atomic_int references;
  size_t ncolumns;
  int64_t rows;
  out_column *columns;
} out_table;

/* With the interpreter's lock. */
static void free_table(out_table *table) {
  for (size_t i = 0; table->columns && i < table->ncolumns; i++) {
    PyBuffer_Release(&table->columns[i].values);
    PyBuffer_Release(&table->columns[i].offsets);
    free(table->columns[i].name);
  }
  free(table->columns);
  free(table);
}

static void drop_table(out_table *table) {
  if (atomic_fetch_sub(&table->references, 1) > 1 || !Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  free_table(table);
  PyGILState_Release(state);
}

static out_table *keep_table(out_table *table) {
  atomic_fetch_add(&table->references, 1);
  return table;
}

/* ---- Schemas ---------------------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  free(schema->children);
  drop_table(schema->private_data);
  schema->release = NULL;
}

/* Texts belong to the table. */
static bool init_schema(struct ArrowSchema *schema, out_table *table, const char *format, const char *name,
                        size_t children) {
  memset(schema, 0, sizeof *schema);
  schema->children = calloc(children + 1, sizeof *schema->children);
  if (!schema->children) return false;
  schema->format = format;
  schema->name = name;
  schema->private_data = keep_table(table);
  schema->release = release_schema;
  return true;
}

static struct ArrowSchema *add_schema(struct ArrowSchema *parent, out_table *table, const char *format,
                                      const char *name, size_t children) {
  struct ArrowSchema *schema = malloc(sizeof *schema);
  if (!schema || !init_schema(schema, table, format, name, children)) {
    free(schema);
    return NULL;
  }
  parent->children[parent->n_children++] = schema;
  return schema;
}

static bool is_list(const out_column *column) {
  return column->format[0] == '+';
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  out_table *table = stream->private_data;
  struct ArrowSchema made;
  if (!init_schema(&made, table, "+s", "", table->ncolumns)) return ENOMEM;
  for (size_t i = 0; i < table->ncolumns; i++) {
    const out_column *column = &table->columns[i];
    struct ArrowSchema *schema = add_schema(&made, table, column->format, column->name, is_list(column));
    if (!schema || (is_list(column) && !add_schema(schema, table, column->values_format, "item", 0))) {
      made.release(&made);
      return ENOMEM;
    }
  }
  *out = made;
  return 0;
}

/* ---- Arrays ----------------------------------------------------------------------------------------------- */

static void release_array(struct ArrowArray *array) {
  for (int64_t i = 0; i < array->n_children; i++) {
    if (array->children[i]->release) array->children[i]->release(array->children[i]);
    free(array->children[i]);
  }
  free(array->children);
  free((void *)array->buffers);
  drop_table(array->private_data);
  array->release = NULL;
}

/* `data`: the second buffer; the first is the validity bitmap, which no array has. */
static bool init_array(struct ArrowArray *array, out_table *table, int64_t length, int64_t buffers, const void *data,
                       size_t children) {
  memset(array, 0, sizeof *array);
  array->children = calloc(children + 1, sizeof *array->children);
  array->buffers = calloc(2, sizeof *array->buffers);
  if (!array->children || !array->buffers) {
    free(array->children);
    free((void *)array->buffers);
    return false;
  }
  array->length = length;
  array->n_buffers = buffers;
  array->buffers[1] = data;
  array->private_data = keep_table(table);
  array->release = release_array;
  return true;
}

static struct ArrowArray *add_array(struct ArrowArray *parent, out_table *table, int64_t length, int64_t buffers,
                                    const void *data, size_t children) {
  struct ArrowArray *array = malloc(sizeof *array);
  if (!array || !init_array(array, table, length, buffers, data, children)) {
    free(array);
    return NULL;
  }
  parent->children[parent->n_children++] = array;
  return array;
}

static bool add_column(struct ArrowArray *batch, out_table *table, const out_column *column) {
  if (!is_list(column)) return add_array(batch, table, table->rows, 2, column->values.buf, 0);
  const bool offsets = column->offsets.obj;
  struct ArrowArray *list = add_array(batch, table, table->rows, offsets ? 2 : 1, column->offsets.buf, 1);
  return list && add_array(list, table, column->count, 2, column->values.buf, 0);
}

/* A stream gives one batch, then none: its get_next becomes `get_none`. */
static int get_none(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  (void)stream;
  memset(out, 0, sizeof *out);
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  out_table *table = stream->private_data;
  struct ArrowArray made;
  if (!init_array(&made, table, table->rows, 1, NULL, table->ncolumns)) return ENOMEM;
  for (size_t i = 0; i < table->ncolumns; i++)
    if (!add_column(&made, table, &table->columns[i])) {
      made.release(&made);
      return ENOMEM;
    }
  stream->get_next = get_none;
  *out = made;
  return 0;
}

/* ---- The stream ------------------------------------------------------------------------------------------- */

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "there is not enough memory";
}

static void release_stream(struct ArrowArrayStream *stream) {
  drop_table(stream->private_data);
  stream->release = NULL;
}

static void free_stream(PyObject *capsule) {
  struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
  if (stream->release) stream->release(stream);
  free(stream);
}

/* Takes the table, also on failure. */
static PyObject *make_stream(out_table *table) {
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  if (!stream) {
    drop_table(table);
    return PyErr_NoMemory();
  }
  *stream = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release_stream, table};
  PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", free_stream);
  if (!capsule) {
    drop_table(table);
    free(stream);
  }
  return capsule;
}

/* ---- Arguments -------------------------------------------------------------------------------------------- */

static const char *arrow_format(const Py_buffer *view) {
  static const char types[][3] = {"ff", "dg", "ii", "II", "ql", "ll", "QL", "LL"};
  for (size_t i = 0; view->format && i < sizeof types / sizeof *types; i++)
    if (view->format[0] == types[i][0] && !view->format[1] && view->itemsize == (strchr("fiI", types[i][0]) ? 4 : 8))
      return types[i] + 1;
  PyErr_SetString(PyExc_TypeError, "a column is an array of float32, float64, or of integers of 32 or 64 bits");
  return NULL;
}

static bool has_offsets_in_order(const out_column *column, int64_t rows) {
  const int64_t *offsets = column->offsets.buf;
  if (column->offsets.shape[0] != rows + 1 || offsets[0] < 0 || offsets[rows] > column->count) return false;
  for (int64_t i = 0; i < rows; i++)
    if (offsets[i] > offsets[i + 1]) return false;
  return true;
}

static bool get_column(PyObject *item, int64_t rows, out_column *column) {
  const char *name;
  PyObject *values, *offsets;
  if (!PyTuple_Check(item)) return PyErr_Format(PyExc_TypeError, "a column is a tuple") != NULL;
  if (!PyArg_ParseTuple(item, "sOO", &name, &values, &offsets)) return false;
  if (PyObject_GetBuffer(values, &column->values, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return false;
  if (!(column->values_format = arrow_format(&column->values))) return false;
  if (!(column->name = strdup(name))) return PyErr_NoMemory() != NULL;
  const int ndim = column->values.ndim;
  if (ndim < 1 || ndim > 2) return PyErr_Format(PyExc_ValueError, "%s has %d dimensions", name, ndim) != NULL;
  column->count = column->values.shape[0] * (ndim == 2 ? column->values.shape[1] : 1);
  snprintf(column->format, sizeof column->format, "%s", column->values_format);
  if (offsets != Py_None) {
    if (!fwpy_get_array(offsets, "offsets", FWPY_I64, 1, &column->offsets)) return false;
    snprintf(column->format, sizeof column->format, "+L");
    if (ndim == 1 && has_offsets_in_order(column, rows)) return true;
  } else if (column->values.shape[0] == rows) {
    if (ndim == 2) snprintf(column->format, sizeof column->format, "+w:%zd", column->values.shape[1]);
    return true;
  }
  return PyErr_Format(PyExc_ValueError, "%s does not have the length of the table", name) != NULL;
}

/* arrow_stream(columns, rows): a capsule of a stream with one batch. A column is (name, array, None), (name, array of 2
 * dimensions, None), which becomes lists of a fixed size, or (name, array, offsets), which becomes lists. */
PyObject *fwpy_arrow_stream(PyObject *module, PyObject *args) {
  PyObject *list;
  Py_ssize_t rows;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!n", &PyList_Type, &list, &rows)) return NULL;
  out_table *table = calloc(1, sizeof *table);
  if (!table) return PyErr_NoMemory();
  atomic_init(&table->references, 1);
  table->rows = rows;
  const Py_ssize_t count = PyList_Size(list);
  table->columns = calloc((size_t)count + 1, sizeof *table->columns);
  bool ok = table->columns && rows >= 0;
  if (!ok) PyErr_SetString(PyExc_ValueError, "the number of rows is negative, or too large");
  for (Py_ssize_t i = 0; ok && i < count && i < PyList_Size(list); i++) {
    table->ncolumns++;
    PyObject *item = Py_NewRef(PyList_GetItem(list, i));
    ok = get_column(item, rows, &table->columns[i]);
    Py_DECREF(item);
  }
  if (ok) return make_stream(table);
  free_table(table);
  return NULL;
}
