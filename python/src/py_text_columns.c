/* python/src/py_text_columns.c: columns as csv text, which the library's reader of tables reads.
 *
 * Texts become cells, with quotes where they are needed, while the interpreter's lock is held (Cells). The rows are
 * then put together without it. A cell that is missing is empty, and so is an empty text: the reader does not
 * distinguish them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

/* ---- Growing text ----------------------------------------------------------------------------------------- */

typedef struct text_buffer {
  char *bytes;
  size_t length, capacity;
} text_buffer;

static bool reserve_text(text_buffer *text, size_t more) {
  if (text->capacity - text->length >= more) return true;
  size_t capacity = text->capacity + text->capacity / 2 + 4096;
  if (capacity - text->length < more) capacity = text->length + more;
  char *bytes = realloc(text->bytes, capacity);
  if (!bytes) return false;
  text->bytes = bytes;
  text->capacity = capacity;
  return true;
}

static bool append_text(text_buffer *text, const char *bytes, size_t length) {
  if (!reserve_text(text, length)) return false;
  if (length > 0) memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
  return true;
}

/* ---- Cells of text ---------------------------------------------------------------------------------------- */

/* Cells one after the other, as they are written in a csv: cell i is bytes[ends[i-1]] … bytes[ends[i] - 1]. */
typedef struct cells_object {
  PyObject_HEAD text_buffer text;
  size_t *ends;
  size_t count, capacity;
  bool line_ends; /* a cell has one */
} cells_object;

static PyTypeObject *cells_type;

static void cells_dealloc(PyObject *object) {
  cells_object *self = (cells_object *)object;
  free(self->text.bytes);
  free(self->ends);
  fwpy_delete(object);
}

PyObject *fwpy_cells_new(void) {
  return fwpy_new(cells_type);
}

/* Whether a cell is to be in quotes. The reader strips blanks at the ends, and a byte order mark at the start. */
static bool needs_quotes(const char *text, size_t length, bool *line_end) {
  bool quotes = length > 0 && (text[0] == ' ' || text[0] == '\t' || text[length - 1] == ' ' ||
                               text[length - 1] == '\t' || (unsigned char)text[0] == 0xef);
  for (size_t i = 0; i < length; i++) {
    const char c = text[i];
    if (c > ',') continue; /* all special characters are ',' or below */
    if (c == '\n' || c == '\r') *line_end = true;
    quotes |= c == ',' || c == '"' || c == '\n' || c == '\r';
  }
  return quotes;
}

static bool append_quoted(text_buffer *out, const char *text, size_t length) {
  if (length > SIZE_MAX / 2 - 2 || !reserve_text(out, 2 * length + 2)) return false;
  char *to = out->bytes + out->length;
  *to++ = '"';
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"') *to++ = '"';
    *to++ = text[i];
  }
  *to++ = '"';
  out->length = (size_t)(to - out->bytes);
  return true;
}

static bool end_cell(cells_object *cells) {
  if (cells->count == cells->capacity) {
    const size_t capacity = cells->capacity + cells->capacity / 2 + 64;
    size_t *ends = realloc(cells->ends, capacity * sizeof *ends);
    if (!ends) return false;
    cells->ends = ends;
    cells->capacity = capacity;
  }
  cells->ends[cells->count++] = cells->text.length;
  return true;
}

bool fwpy_cells_add(PyObject *object, const char *text, size_t length) {
  cells_object *cells = (cells_object *)object;
  const bool quotes = needs_quotes(text, length, &cells->line_ends);
  const bool ok = quotes ? append_quoted(&cells->text, text, length) : append_text(&cells->text, text, length);
  if (ok && end_cell(cells)) return true;
  PyErr_NoMemory();
  return false;
}

/* ---- Objects of Python as cells ---- */

static bool add_unicode(PyObject *cells, PyObject *object) {
  Py_ssize_t length = 0;
  const char *text = PyUnicode_AsUTF8AndSize(object, &length);
  return text && fwpy_cells_add(cells, text, (size_t)length);
}

/* Drops the object. */
static bool add_text_of(PyObject *cells, PyObject *text) {
  const bool ok = text && PyUnicode_Check(text) && add_unicode(cells, text);
  Py_XDECREF(text);
  return ok;
}

static size_t write_double(double value, char *out);

static bool add_double(PyObject *cells, double value) {
  char text[FURROW_ELEMENT_TEXT];
  if (!isinf(value)) return fwpy_cells_add(cells, text, write_double(value, text));
  PyErr_SetString(PyExc_ValueError, "an infinity");
  return false;
}

static bool add_object(PyObject *cells, PyObject *object, PyObject *to_text) {
  if (PyUnicode_Check(object)) return add_unicode(cells, object);
  if (object == Py_None) return fwpy_cells_add(cells, "", 0);
  if (PyFloat_Check(object)) return add_double(cells, PyFloat_AsDouble(object));
  if (PyLong_Check(object)) return add_text_of(cells, PyObject_Str(object)); /* also True and False */
  return add_text_of(cells, PyObject_CallFunctionObjArgs(to_text, object, NULL));
}

/* cells(list, to_text): to_text makes a str of objects that are not str, None, float or int, or raises. */
static PyObject *module_cells(PyObject *module, PyObject *args) {
  PyObject *list, *to_text;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &list, &to_text)) return NULL;
  PyObject *cells = fwpy_cells_new();
  if (!cells) return NULL;
  for (Py_ssize_t i = 0; i < PyList_Size(list); i++) {
    PyObject *object = Py_NewRef(PyList_GetItem(list, i));
    const bool ok = add_object(cells, object, to_text);
    Py_DECREF(object);
    if (ok) continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "to_text did not return a str");
    Py_DECREF(cells);
    return NULL;
  }
  return cells;
}

static Py_ssize_t cells_length(PyObject *self) {
  return (Py_ssize_t)((cells_object *)self)->count;
}

static PyType_Slot cells_slots[] = {{Py_tp_dealloc, cells_dealloc}, {Py_sq_length, cells_length}, {0, NULL}};
static PyType_Spec cells_spec = {"furrow._core.Cells", sizeof(cells_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, cells_slots};

/* ---- Numbers ---------------------------------------------------------------------------------------------- */

/* Writes value = number / 10^digits, number >= 0. */
static size_t write_decimal(bool minus, int64_t number, int digits, char *out) {
  static const int64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
  char *to = out;
  if (minus) *to++ = '-';
  const int64_t whole = number / powers[digits];
  int64_t rest = number % powers[digits];
  to += furrow_element_to_text((furrow_elements){.i64 = &whole}, FURROW_ELEMENT_I64, 0, to);
  if (digits > 0) *to++ = '.';
  for (int i = digits - 1; i >= 0; i--, rest %= powers[i + 1]) *to++ = (char)('0' + rest / powers[i]);
  return (size_t)(to - out);
}

/* Decimals as people write them, with at most 6 digits after the point, are tried first, so that 4.1 is the text that a
 * csv file would have: number / 10^digits is rounded once, as the reader's number of that text is. All others have 17
 * digits, which read back to the same bits, too. NaN is a missing cell. */
static size_t write_double(double value, char *out) {
  static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
  const double size = fabs(value);
  if (isnan(value)) return 0;
  for (int digits = 0; digits <= 6 && size < 1e9; digits++) {
    const int64_t number = (int64_t)(size * powers[digits] + 0.5);
    if ((double)number / powers[digits] == size && (number > 0 || !signbit(value)))
      return write_decimal(value < 0, number, digits, out);
  }
  return furrow_element_to_text((furrow_elements){.f64 = &value}, FURROW_ELEMENT_F64, 0, out);
}

static size_t write_float(float value, char *out) {
  static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
  const double size = fabs((double)value);
  if (isnan(value)) return 0;
  for (int digits = 0; digits <= 6 && size * powers[digits] < 1e7; digits++) {
    const int64_t number = (int64_t)(size * powers[digits] + 0.5);
    if ((float)((double)number / powers[digits]) == (float)size && (number > 0 || (size == 0 && !signbit(value))))
      return write_decimal(value < 0, number, digits, out);
  }
  return furrow_element_to_text((furrow_elements){.f32 = &value}, FURROW_ELEMENT_F32, 0, out);
}

static size_t write_unsigned(uint64_t value, char *out) {
  if (value > INT64_MAX) { /* 20 digits: the last one by itself */
    const size_t length = write_unsigned(value / 10, out);
    out[length] = (char)('0' + value % 10);
    return length + 1;
  }
  const int64_t number = (int64_t)value;
  return furrow_element_to_text((furrow_elements){.i64 = &number}, FURROW_ELEMENT_I64, 0, out);
}

/* ---- Times ---- */

static char *write_digits(char *out, uint64_t number, int digits) {
  for (int i = digits - 1; i >= 0; i--, number /= 10) out[i] = (char)('0' + number % 10);
  return out + digits;
}

/* Days since 1970 as year, month, day: the year begins in March, so that the leap day is its last. */
static char *write_date(char *out, int64_t days) {
  const int64_t shifted = days + 719468; /* since 0000-03-01 */
  const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  const int64_t of_era = shifted - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * of_year + 2) / 153;
  const int64_t day = of_year - (153 * month + 2) / 5 + 1;
  out = write_digits(out, (uint64_t)(year + era * 400 + (month >= 10)), 4);
  *out++ = '-';
  out = write_digits(out, (uint64_t)(month < 10 ? month + 3 : month - 9), 2);
  *out++ = '-';
  return write_digits(out, (uint64_t)day, 2);
}

/* Years of other than 4 digits are not in ISO 8601 as the library reads it. */
static bool is_writable_date(int64_t days) {
  return days >= -719528 && days <= 2932896;
}

/* A time in units of 1/per_second; INT64_MIN is a missing one. Returns -1 where the year does not have 4 digits. */
static int write_time(int64_t time, int64_t per_second, char *out) {
  if (time == INT64_MIN) return 0;
  const int64_t per_day = per_second * 86400;
  const int64_t days = time / per_day - (time % per_day < 0);
  const int64_t rest = time - days * per_day;
  uint64_t seconds = (uint64_t)(rest / per_second), fraction = (uint64_t)(rest % per_second);
  if (!is_writable_date(days)) return -1;
  char *to = write_date(out, days);
  *to++ = 'T';
  to = write_digits(to, seconds / 3600, 2);
  *to++ = ':';
  to = write_digits(to, seconds / 60 % 60, 2);
  *to++ = ':';
  to = write_digits(to, seconds % 60, 2);
  if (fraction > 0) {
    int digits = 0;
    for (int64_t scale = per_second; scale > 1; scale /= 10) digits++;
    *to++ = '.';
    to = write_digits(to, fraction, digits);
  }
  return (int)(to - out);
}

/* ---- Columns ---------------------------------------------------------------------------------------------- */

typedef enum column_kind { COLUMN_CELLS, COLUMN_CODES, COLUMN_NUMBERS, COLUMN_DATES, COLUMN_TIMES } column_kind;

typedef struct text_column {
  column_kind kind;
  const cells_object *cells; /* of cells and codes; borrowed from the caller's list */
  Py_buffer data, mask;      /* a byte of the mask that is not 0: the value is missing */
  char type;                 /* format of the numbers, of the buffer protocol */
  int64_t per_second;        /* times: units per second */
} text_column;

typedef struct table_call {
  text_column *columns;
  size_t ncolumns, rows;
  const cells_object *names;
  text_buffer out;
  size_t row, column; /* that is written: where it went wrong, if it did */
} table_call;

#define AT(type) (((const type *)column->data.buf)[row])

static int64_t integer_at(const text_column *column, size_t row) {
  switch (column->type) {
  case 'b': return AT(signed char);
  case 'B': return AT(unsigned char);
  case 'h': return AT(int16_t);
  case 'H': return AT(uint16_t);
  case 'i': return AT(int32_t);
  case 'I': return AT(uint32_t);
  default: return AT(int64_t);
  }
}

static bool is_infinite(const text_column *column, size_t row) {
  return (column->type == 'd' && isinf(AT(double))) || (column->type == 'f' && isinf(AT(float)));
}

static size_t write_number(const text_column *column, size_t row, char *out) {
  switch (column->type) {
  case 'd': return write_double(AT(double), out);
  case 'f': return write_float(AT(float), out);
  case 'Q': return write_unsigned(AT(uint64_t), out);
  case '?': memcpy(out, AT(uint8_t) ? "True" : "False", 5); return AT(uint8_t) ? 4 : 5; /* any byte may be there */
  default: {
    const int64_t number = integer_at(column, row);
    return furrow_element_to_text((furrow_elements){.i64 = &number}, FURROW_ELEMENT_I64, 0, out);
  }
  }
}

static bool append_cell(text_buffer *out, const cells_object *cells, size_t i) {
  const size_t begin = i > 0 ? cells->ends[i - 1] : 0;
  return append_text(out, cells->text.bytes + begin, cells->ends[i] - begin);
}

/* The result of writing a cell. */
typedef enum cell_result { CELL_OK, CELL_BAD, CELL_MEMORY } cell_result;

static cell_result append_code(text_buffer *out, const text_column *column, size_t row) {
  const int64_t code = integer_at(column, row);
  if (code < 0) return CELL_OK;
  if ((uint64_t)code >= column->cells->count) return CELL_BAD;
  return append_cell(out, column->cells, (size_t)code) ? CELL_OK : CELL_MEMORY;
}

static cell_result append_value(text_buffer *out, const text_column *column, size_t row) {
  if (column->mask.buf && ((const unsigned char *)column->mask.buf)[row]) return CELL_OK;
  if (column->kind == COLUMN_CELLS) return append_cell(out, column->cells, row) ? CELL_OK : CELL_MEMORY;
  if (column->kind == COLUMN_CODES) return append_code(out, column, row);
  if (!reserve_text(out, 64)) return CELL_MEMORY;
  char *to = out->bytes + out->length;
  int length;
  if (column->kind == COLUMN_NUMBERS) {
    if (is_infinite(column, row)) return CELL_BAD;
    length = (int)write_number(column, row, to);
  } else if (column->kind == COLUMN_TIMES) {
    length = write_time(AT(int64_t), column->per_second, to);
  } else {
    const int64_t days = integer_at(column, row);
    if (days != INT64_MIN && !is_writable_date(days)) return CELL_BAD;
    length = days == INT64_MIN ? 0 : (int)(write_date(to, days) - to);
  }
  if (length < 0) return CELL_BAD;
  out->length += (size_t)length;
  return CELL_OK;
}

static bool append_names(table_call *call) {
  for (size_t i = 0; i < call->ncolumns; i++)
    if ((i > 0 && !append_text(&call->out, ",", 1)) || !append_cell(&call->out, call->names, i)) return false;
  return append_text(&call->out, "\n", 1);
}

static cell_result append_row(table_call *call, size_t row) {
  text_buffer *out = &call->out;
  const size_t begin = out->length;
  for (size_t i = 0; i < call->ncolumns; i++) {
    if (i > 0 && !append_text(out, ",", 1)) return CELL_MEMORY;
    call->column = i;
    const cell_result result = append_value(out, &call->columns[i], row);
    if (result != CELL_OK) return result;
  }
  if (out->length == begin && !append_text(out, "\"\"", 2)) return CELL_MEMORY; /* an empty line would not be a row */
  return append_text(out, "\n", 1) ? CELL_OK : CELL_MEMORY;
}

static furrow_status fail(furrow_error *err, furrow_status status, const char *message) {
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = FURROW_NO_OFFSET;
  strncpy(err->message, message, sizeof err->message - 1);
  return status;
}

static furrow_status run_table(void *user, fwpy_job *job, furrow_error *err) {
  table_call *call = user;
  cell_result result = append_names(call) ? CELL_OK : CELL_MEMORY;
  for (size_t row = 0; row < call->rows && result == CELL_OK; row++) {
    if (row % 4096 == 0 && !fwpy_job_progress(job, "text", row, call->rows))
      return fail(err, FURROW_E_CANCELLED, "the caller stopped it");
    call->row = row;
    result = append_row(call, row);
  }
  if (result == CELL_MEMORY) return fail(err, FURROW_E_MEMORY, "there is not enough memory for the text of the table");
  if (result == CELL_BAD) {
    char message[128];
    snprintf(message, sizeof message,
             "row %zu, column %zu: an infinity, a code without a category, or a year that does not have 4 digits",
             call->row, call->column);
    return fail(err, FURROW_E_ARGUMENT, message);
  }
  return FURROW_OK;
}

/* ---- Arguments ---- */

static bool get_data(PyObject *object, const char *formats, size_t rows, Py_buffer *view, char *type) {
  if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0) return false;
  const char *format = view->format ? view->format : "B";
  *type = *format == 'l' && view->itemsize == 8 ? 'q' : *format == 'L' && view->itemsize == 8 ? 'Q' : *format;
  if (format[0] && !format[1] && view->ndim == 1 && strchr(formats, *type) && (size_t)view->shape[0] == rows)
    return true;
  PyErr_Format(PyExc_ValueError, "a column is an array of %zu values of the types %s, not of %s", rows, formats,
               format);
  return false;
}

static bool get_column(PyObject *item, size_t rows, text_column *column) {
  const char *kind;
  PyObject *data, *more, *mask;
  char type;
  if (!PyTuple_Check(item)) {
    PyErr_SetString(PyExc_TypeError, "a column is a tuple");
    return false;
  }
  if (!PyArg_ParseTuple(item, "sOOO", &kind, &data, &more, &mask)) return false;
  if (mask != Py_None && !get_data(mask, "B?", rows, &column->mask, &type)) return false;
  if (strcmp(kind, "cells") == 0 || strcmp(kind, "codes") == 0) {
    PyObject *cells = strcmp(kind, "cells") == 0 ? data : more;
    if (!Py_IS_TYPE(cells, cells_type)) {
      PyErr_SetString(PyExc_TypeError, "Cells are needed");
      return false;
    }
    column->cells = (const cells_object *)cells;
    column->kind = cells == data ? COLUMN_CELLS : COLUMN_CODES;
    if (column->kind == COLUMN_CODES) return get_data(data, "bhiq", rows, &column->data, &column->type);
    if (column->cells->count == rows) return true;
    PyErr_Format(PyExc_ValueError, "a column has %zu cells, not %zu", column->cells->count, rows);
    return false;
  }
  column->kind = strcmp(kind, "numbers") == 0 ? COLUMN_NUMBERS
                 : strcmp(kind, "dates") == 0 ? COLUMN_DATES
                                              : COLUMN_TIMES;
  if (column->kind == COLUMN_NUMBERS) return get_data(data, "?bBhHiIqQfd", rows, &column->data, &column->type);
  if (column->kind == COLUMN_DATES) return get_data(data, "iq", rows, &column->data, &column->type);
  column->per_second = PyLong_AsLongLong(more);
  if (PyErr_Occurred()) return false;
  if (column->per_second >= 1 && column->per_second <= 1000000000)
    return get_data(data, "q", rows, &column->data, &column->type);
  PyErr_SetString(PyExc_ValueError, "a second has 1 to 1e9 units");
  return false;
}

static bool has_line_ends(const table_call *call) {
  bool found = call->names->line_ends;
  for (size_t i = 0; i < call->ncolumns; i++) found |= call->columns[i].cells && call->columns[i].cells->line_ends;
  return found;
}

/* csv_text(names: Cells, columns, rows, progress): a view of the text, and whether a cell has a line end. A column is
 * ("cells", Cells, None, mask), ("codes", array, Cells, mask), ("numbers", array, None, mask), ("dates", days, None,
 * mask) or ("times", array of int64, units of a second, mask); a mask is None or bytes. */
static PyObject *module_csv_text(PyObject *module, PyObject *args) {
  PyObject *names, *list, *progress, *result = NULL;
  Py_ssize_t rows;
  table_call call = {0};
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!nO", cells_type, &names, &PyList_Type, &list, &rows, &progress)) return NULL;
  call.names = (const cells_object *)names;
  call.ncolumns = (size_t)PyList_Size(list);
  call.rows = rows > 0 ? (size_t)rows : 0;
  if (call.names->count != call.ncolumns)
    return PyErr_Format(PyExc_ValueError, "there are not as many names as columns");
  call.columns = calloc(call.ncolumns + 1, sizeof *call.columns);
  if (!call.columns) return PyErr_NoMemory();
  list = PyList_GetSlice(list, 0, (Py_ssize_t)call.ncolumns); /* a list of its own: nobody changes it meanwhile */
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < call.ncolumns; i++)
    ok = get_column(PyList_GetItem(list, (Py_ssize_t)i), call.rows, &call.columns[i]);
  ok = ok && fwpy_job_run(run_table, &call, progress);
  if (ok) {
    const bool line_ends = has_line_ends(&call);
    PyObject *view = fwpy_view_allocated(call.out.bytes, FWPY_U8, call.out.length);
    result = view ? Py_BuildValue("NO", view, line_ends ? Py_True : Py_False) : NULL;
  } else {
    free(call.out.bytes);
  }
  for (size_t i = 0; i < call.ncolumns; i++) {
    PyBuffer_Release(&call.columns[i].data);
    PyBuffer_Release(&call.columns[i].mask);
  }
  free(call.columns);
  Py_XDECREF(list);
  return result;
}

/* number_text(number, single): as a column of doubles, or of floats, has it; "" for a NaN */
static PyObject *module_number_text(PyObject *module, PyObject *args) {
  char text[FURROW_ELEMENT_TEXT];
  double number;
  int single;
  (void)module;
  if (!PyArg_ParseTuple(args, "dp", &number, &single)) return NULL;
  if (isinf(number)) return PyErr_Format(PyExc_ValueError, "an infinity");
  const size_t length = single ? write_float((float)number, text) : write_double(number, text);
  return fwpy_text_n(text, length);
}

static PyMethodDef methods[] = {{"number_text", module_number_text, METH_VARARGS, NULL},
                                {"cells", module_cells, METH_VARARGS, NULL},
                                {"csv_text", module_csv_text, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

int fwpy_add_text_columns(PyObject *module) {
  if (fwpy_add_type(module, &cells_spec, &cells_type) < 0) return -1;
  return PyModule_AddFunctions(module, methods);
}
