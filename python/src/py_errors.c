/* python/src/py_errors.c: exceptions, made from the list of statuses. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "py_core.h"

/* The bases of each class: the built-in exceptions that it derives from. A status that is missing here does not
 * compile. */
#define BASES_E_ARGUMENT PyTuple_Pack(2, error_class, PyExc_ValueError)
#define BASES_E_NOT_FOUND PyTuple_Pack(3, error_class, PyExc_FileNotFoundError, PyExc_LookupError)
#define BASES_E_IO PyTuple_Pack(2, error_class, PyExc_OSError)
#define BASES_E_PARSE PyTuple_Pack(2, error_class, PyExc_ValueError)
#define BASES_E_RANGE PyTuple_Pack(2, error_class, PyExc_ValueError)
#define BASES_E_FORMAT PyTuple_Pack(2, error_class, PyExc_ValueError)
#define BASES_E_STALE PyTuple_Pack(2, error_class, PyExc_RuntimeError)
#define BASES_E_MEMORY PyTuple_Pack(2, error_class, PyExc_MemoryError)
#define BASES_E_UNSUPPORTED PyTuple_Pack(2, error_class, PyExc_NotImplementedError)
#define BASES_E_EXISTS PyTuple_Pack(2, error_class, PyExc_FileExistsError)
#define BASES_E_STATE PyTuple_Pack(2, error_class, PyExc_RuntimeError)
#define BASES_E_CANCELLED PyTuple_Pack(2, error_class, PyExc_RuntimeError)
#define BASES_OK NULL
#define BASES_END NULL

#define STATUS_MAX 64
static PyObject *error_class;
static PyObject *classes[STATUS_MAX]; /* by number; NULL: not a failure */

/* "E_NOT_FOUND" -> "furrow.NotFoundError" */
static void class_name(const char *status, char *name, size_t size) {
  size_t n = (size_t)snprintf(name, size, "furrow.");
  bool upper = true;
  for (const char *c = status + 2; *c && n + 8 < size; c++) {
    if (*c == '_') {
      upper = true;
      continue;
    }
    name[n++] = (char)(upper ? *c : *c + ('a' - 'A'));
    upper = false;
  }
  memcpy(name + n, "Error", 6);
}

static int add_class(PyObject *module, const char *status, int number, const char *text, PyObject *bases) {
  char name[64], doc[256];
  class_name(status, name, sizeof name);
  snprintf(doc, sizeof doc, "%s (FURROW_%s).", text, status);
  doc[0] = (char)(doc[0] >= 'a' && doc[0] <= 'z' ? doc[0] - ('a' - 'A') : doc[0]);
  if (!bases) return -1;
  classes[number] = PyErr_NewExceptionWithDoc(name, doc, bases, NULL);
  Py_DECREF(bases);
  return classes[number] ? PyModule_AddObjectRef(module, name + strlen("furrow."), classes[number]) : -1;
}

int fwpy_add_errors(PyObject *module) {
  error_class = PyErr_NewExceptionWithDoc(
      "furrow.Error",
      "What Furrow's library refuses or fails at. Each kind has a class of its own.\n\n"
      "status, message, hint: what is wrong and what to do about it, as in the text of the exception.\n"
      "file, line, column, offset, token: where, and the text that is at fault; None where that is unknown.",
      NULL, NULL);
  if (!error_class || PyModule_AddObjectRef(module, "Error", error_class) < 0) return -1;
#define FURROW_X(name, number, code, text) \
  if (number > FURROW_END && add_class(module, #name, number, text, BASES_##name) < 0) return -1;
  FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  return 0;
}

PyObject *fwpy_text_n(const char *text, size_t length) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "backslashreplace");
}

PyObject *fwpy_text(const char *text) {
  if (!text) Py_RETURN_NONE;
  return fwpy_text_n(text, strlen(text));
}

/* Sets an attribute and drops the reference to its value. */
static bool set_attribute(PyObject *object, const char *name, PyObject *value) {
  const bool ok = value && PyObject_SetAttrString(object, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *text_or_none(const char *text) {
  return fwpy_text(text[0] ? text : NULL);
}

static PyObject *number_or_none(uint64_t number, uint64_t none) {
  if (number == none) Py_RETURN_NONE;
  return PyLong_FromUnsignedLongLong(number);
}

/* A table in memory is a frame of the caller: the message names its row, not a line or byte of the text that the
 * package made from it. Line 1 has the names of columns. Texts whose cells contain line ends have other file names,
 * because their lines are not rows. */
static size_t write_error(const furrow_error *err, char *text, size_t size) {
  static const char scheme[] = "memory://frame-", ending[] = ".csv";
  const size_t length = strlen(err->file);
  const bool frame = strncmp(err->file, scheme, sizeof scheme - 1) == 0;
  const bool rows = frame && err->line >= 2 && strcmp(err->file + length - (sizeof ending - 1), ending) == 0;
  if (!rows && (!frame || err->line > 0)) return furrow_error_to_text(err, text, size);
  furrow_error cell = *err;
  cell.file[0] = 0;
  cell.line = cell.column = 0;
  cell.offset = FURROW_NO_OFFSET;
  const int n = rows ? snprintf(text, size, "row %" PRIu64 " of the frame (from 0): ", err->line - 2)
                     : snprintf(text, size, "the frame: ");
  return (size_t)n + furrow_error_to_text(&cell, text + n, size - (size_t)n);
}

static PyObject *whole_text(const furrow_error *err) {
  char text[1536];
  size_t n = write_error(err, text, sizeof text - sizeof err->hint - 2);
  if (n >= sizeof text - sizeof err->hint - 2) n = strlen(text);
  if (err->hint[0]) n += (size_t)snprintf(text + n, sizeof text - n, "; %s", err->hint);
  return fwpy_text_n(text, n);
}

void *fwpy_raise(const furrow_error *err) {
  if (PyErr_Occurred()) return NULL;
  PyObject *text = whole_text(err);
  PyObject *kind =
      err->status > 0 && err->status < STATUS_MAX && classes[err->status] ? classes[err->status] : error_class;
  PyObject *exception = text ? PyObject_CallFunctionObjArgs(kind, text, NULL) : NULL;
  if (exception && set_attribute(exception, "status", fwpy_text(furrow_status_name(err->status))) &&
      set_attribute(exception, "message", fwpy_text(err->message)) &&
      set_attribute(exception, "hint", text_or_none(err->hint)) &&
      set_attribute(exception, "file", text_or_none(err->file)) &&
      set_attribute(exception, "token", text_or_none(err->token)) &&
      set_attribute(exception, "line", number_or_none(err->line, 0)) &&
      set_attribute(exception, "column", number_or_none(err->column, 0)) &&
      set_attribute(exception, "offset", number_or_none(err->offset, FURROW_NO_OFFSET)))
    PyErr_SetObject(kind, exception);
  Py_XDECREF(exception);
  Py_XDECREF(text);
  return NULL;
}
