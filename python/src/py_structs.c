/* python/src/py_structs.c: parameters and infos of the library as dicts. */
#include <string.h>

#include "py_core.h"

static const fwpy_field *find_field(const fwpy_field *fields, const char *name) {
  for (; fields->name; fields++)
    if (strcmp(fields->name, name) == 0) return fields;
  return NULL;
}

static bool out_of_range(const char *name) {
  PyErr_Format(PyExc_OverflowError, "%s: the number does not fit", name);
  return false;
}

/* Returns a new reference to an int, from any object with __index__: ints and bools, not floats. */
static PyObject *get_int(PyObject *value, const char *name) {
  PyObject *number = PyNumber_Index(value);
  if (!number && PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Format(PyExc_TypeError, "%s: an int is needed, not %R", name, value);
  return number;
}

static bool get_unsigned(PyObject *value, const char *name, uint64_t max, uint64_t *out) {
  PyObject *number = get_int(value, name);
  if (!number) return false;
  *out = PyLong_AsUnsignedLongLong(number);
  Py_DECREF(number);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return out_of_range(name);
  }
  return *out <= max ? true : out_of_range(name);
}

static bool get_signed(PyObject *value, const char *name, int64_t min, int64_t max, int64_t *out) {
  PyObject *number = get_int(value, name);
  if (!number) return false;
  *out = PyLong_AsLongLong(number);
  Py_DECREF(number);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return out_of_range(name);
  }
  return *out >= min && *out <= max ? true : out_of_range(name);
}

static bool get_text(PyObject *value, const char *name, const char **text) {
  if (value == Py_None) {
    *text = NULL;
    return true;
  }
  Py_ssize_t length = 0;
  if (PyBytes_Check(value)) {
    *text = PyBytes_AsString(value);
    length = PyBytes_Size(value);
  } else if (PyUnicode_Check(value)) {
    *text = PyUnicode_AsUTF8AndSize(value, &length);
  } else {
    PyErr_Format(PyExc_TypeError, "%s: a str is needed, not %R", name, value);
    return false;
  }
  if (!*text) return false;
  if (strlen(*text) == (size_t)length) return true;
  PyErr_Format(PyExc_ValueError, "%s: has a NUL character", name);
  return false;
}

static bool set_field(char *at, PyObject *value, const fwpy_field *field) {
  uint64_t u = 0;
  int64_t i = 0;
  double d = 0;
  switch (field->kind) {
  case FWPY_BOOL: {
    const int truth = PyObject_IsTrue(value);
    if (truth >= 0) *(bool *)at = truth != 0;
    return truth >= 0;
  }
  case FWPY_INT32:
    if (!get_signed(value, field->name, INT32_MIN, INT32_MAX, &i)) return false;
    *(int32_t *)at = (int32_t)i;
    return true;
  case FWPY_UINT32:
    if (!get_unsigned(value, field->name, UINT32_MAX, &u)) return false;
    *(uint32_t *)at = (uint32_t)u;
    return true;
  case FWPY_INT64: return get_signed(value, field->name, INT64_MIN, INT64_MAX, (int64_t *)at);
  case FWPY_UINT64:
  case FWPY_SIZE: return get_unsigned(value, field->name, UINT64_MAX, (uint64_t *)at);
  case FWPY_FLOAT:
  case FWPY_DOUBLE:
    d = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return false;
    if (field->kind == FWPY_FLOAT)
      *(float *)at = (float)d;
    else
      *(double *)at = d;
    return true;
  case FWPY_TEXT: return get_text(value, field->name, (const char **)(void *)at);
  default: PyErr_Format(PyExc_TypeError, "%s cannot be set", field->name); return false;
  }
}

static bool set_item(void *params, PyObject *key, PyObject *value, const fwpy_field *fields, bool texts) {
  const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
  if (!name) return false;
  const fwpy_field *field = find_field(fields, name);
  if (!field) {
    PyErr_Format(PyExc_TypeError, "there is no parameter %R", key);
    return false;
  }
  return (field->kind == FWPY_TEXT) != texts || set_field((char *)params + field->offset, value, field);
}

/* Converting numbers and booleans may run the caller's code (__index__, __bool__), which may change the dict: so it
 * iterates over a list of its items. */
static bool set_numbers(void *params, PyObject *dict, const fwpy_field *fields) {
  PyObject *items = PyDict_Items(dict);
  const Py_ssize_t count = items ? PyList_Size(items) : 0;
  bool ok = items != NULL;
  for (Py_ssize_t i = 0; ok && i < count; i++) {
    PyObject *item = PyList_GetItem(items, i);
    ok = set_item(params, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), fields, false);
  }
  Py_XDECREF(items);
  return ok;
}

bool fwpy_set_fields(void *params, PyObject *dict, const fwpy_field *fields) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  if (!dict || dict == Py_None) return true;
  if (!PyDict_Check(dict)) {
    PyErr_Format(PyExc_TypeError, "parameters are a dict, not %R", (PyObject *)Py_TYPE(dict));
    return false;
  }
  if (!set_numbers(params, dict, fields)) return false;
  while (PyDict_Next(dict, &at, &key, &value)) /* texts borrow what the dict has now */
    if (!set_item(params, key, value, fields, true)) return false;
  return true;
}

static PyObject *get_field(const char *at, fwpy_kind kind) {
  switch (kind) {
  case FWPY_BOOL: return PyBool_FromLong(*(const bool *)at);
  case FWPY_INT32: return PyLong_FromLong(*(const int32_t *)at);
  case FWPY_UINT32: return PyLong_FromUnsignedLong(*(const uint32_t *)at);
  case FWPY_INT64: return PyLong_FromLongLong(*(const int64_t *)at);
  case FWPY_UINT64:
  case FWPY_SIZE: return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
  case FWPY_FLOAT: return PyFloat_FromDouble(*(const float *)at);
  case FWPY_DOUBLE: return PyFloat_FromDouble(*(const double *)at);
  case FWPY_TEXT: return fwpy_text(*(const char *const *)(const void *)at);
  default: return fwpy_text(at);
  }
}

PyObject *fwpy_get_fields(const void *info, const fwpy_field *fields) {
  PyObject *dict = PyDict_New();
  for (; dict && fields->name; fields++) {
    PyObject *value = get_field((const char *)info + fields->offset, fields->kind);
    if (!value || PyDict_SetItemString(dict, fields->name, value) < 0) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}
