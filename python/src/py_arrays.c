/* python/src/py_arrays.c: arrays in by the buffer protocol, memory of the library out by it. */
#include <stdlib.h>
#include <string.h>

#include "py_core.h"

typedef struct dtype_traits {
  const char *text;
  const char *formats;
  size_t size;
} dtype_traits;

static const dtype_traits dtypes[] = {
#define FWPY_X(name, type, formats) {#type, formats, sizeof(type)},
    FWPY_DTYPES(FWPY_X)
#undef FWPY_X
};

/* ---- In --------------------------------------------------------------------------------------------------- */

static bool has_format(const Py_buffer *view, const dtype_traits *dtype) {
  const char *format = view->format ? view->format : "B";
  const char native = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : '<';
  if (*format == '@' || *format == '=' || *format == native) format++;
  return format[0] && !format[1] && strchr(dtype->formats, format[0]) && (size_t)view->itemsize == dtype->size;
}

static bool get_buffer(PyObject *object, const char *name, fwpy_dtype dtype, int ndim, int flags, Py_buffer *view) {
  const dtype_traits *traits = &dtypes[dtype];
  if (PyObject_GetBuffer(object, view, flags) < 0) return false;
  if (!has_format(view, traits)) {
    PyErr_Format(PyExc_TypeError, "%s: an array of %s is needed, not of format '%s'", name, traits->text,
                 view->format ? view->format : "B");
  } else if (ndim >= 0 && view->ndim != ndim) {
    PyErr_Format(PyExc_ValueError, "%s: an array of %d dimensions is needed, not of %d", name, ndim, view->ndim);
  } else if (view->len > 0 && (uintptr_t)view->buf % traits->size != 0) {
    PyErr_Format(PyExc_ValueError, "%s: the elements of the array are not aligned", name);
  } else {
    return true;
  }
  PyBuffer_Release(view);
  return false;
}

bool fwpy_get_array(PyObject *object, const char *name, fwpy_dtype dtype, int ndim, Py_buffer *view) {
  return get_buffer(object, name, dtype, ndim, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT, view);
}

bool fwpy_get_output(PyObject *object, const char *name, fwpy_dtype dtype, int ndim, Py_buffer *view) {
  return get_buffer(object, name, dtype, ndim, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE, view);
}

/* ---- Out -------------------------------------------------------------------------------------------------- */

typedef struct view_object {
  PyObject_HEAD PyObject *owner;
  const void *data;
  fwpy_dtype dtype;
  bool writable;
  int ndim;
  Py_ssize_t shape[2], strides[2];
} view_object;

static PyTypeObject *view_type;

static void view_dealloc(PyObject *self) {
  Py_XDECREF(((view_object *)self)->owner);
  fwpy_delete(self);
}

static int view_getbuffer(PyObject *object, Py_buffer *view, int flags) {
  view_object *self = (view_object *)object;
  const dtype_traits *traits = &dtypes[self->dtype];
  static char formats[sizeof dtypes / sizeof *dtypes][2];
  view->obj = NULL;
  if ((flags & PyBUF_WRITABLE) && !self->writable) {
    PyErr_SetString(PyExc_BufferError, "memory of Furrow is read-only");
    return -1;
  }
  formats[self->dtype][0] = traits->formats[0];
  view->buf = (void *)self->data;
  view->obj = Py_NewRef(object);
  view->itemsize = (Py_ssize_t)traits->size;
  view->len = self->shape[0] * (self->ndim == 2 ? self->shape[1] : 1) * view->itemsize;
  view->readonly = !self->writable;
  view->ndim = self->ndim;
  view->format = flags & PyBUF_FORMAT ? formats[self->dtype] : NULL;
  view->shape = flags & PyBUF_ND ? self->shape : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->strides : NULL;
  view->suboffsets = NULL;
  view->internal = NULL;
  return 0;
}

static Py_ssize_t view_length(PyObject *self) {
  return ((view_object *)self)->shape[0];
}

static PyType_Slot view_slots[] = {{Py_tp_doc, "Memory of the library: numpy.asarray(view) borrows it."},
                                   {Py_tp_dealloc, view_dealloc},
                                   {Py_bf_getbuffer, view_getbuffer},
                                   {Py_sq_length, view_length},
                                   {0, NULL}};
static PyType_Spec view_spec = {"furrow._core.View", sizeof(view_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, view_slots};

int fwpy_add_view(PyObject *module) {
  return fwpy_add_type(module, &view_spec, &view_type);
}

static PyObject *make_view(PyObject *owner, const void *data, fwpy_dtype dtype, int ndim, size_t rows, size_t columns) {
  static const uint64_t nothing; /* numpy wants an address for an empty array, too */
  view_object *view = fwpy_new(view_type);
  if (!view) return NULL;
  view->owner = Py_NewRef(owner);
  view->data = data ? data : &nothing;
  view->dtype = dtype;
  view->ndim = ndim;
  view->shape[0] = (Py_ssize_t)rows;
  view->shape[1] = (Py_ssize_t)columns;
  view->strides[ndim - 1] = (Py_ssize_t)dtypes[dtype].size;
  if (ndim == 2) view->strides[0] = view->shape[1] * view->strides[1];
  return (PyObject *)view;
}

PyObject *fwpy_view(PyObject *owner, const void *data, fwpy_dtype dtype, size_t count) {
  return make_view(owner, data, dtype, 1, count, 1);
}

PyObject *fwpy_view_writable(PyObject *owner, void *data, fwpy_dtype dtype, size_t count) {
  PyObject *view = fwpy_view(owner, data, dtype, count);
  if (view) ((view_object *)view)->writable = true;
  return view;
}

PyObject *fwpy_view_2d(PyObject *owner, const void *data, fwpy_dtype dtype, size_t rows, size_t columns) {
  return make_view(owner, data, dtype, 2, rows, columns);
}

/* The capsule's context is the function that frees its memory. */
static void free_owned(PyObject *capsule) {
  void (*release)(void *memory) = (void (*)(void *))PyCapsule_GetContext(capsule);
  release(PyCapsule_GetPointer(capsule, NULL));
}

static PyObject *view_owned(void *data, void (*release)(void *memory), fwpy_dtype dtype, size_t count) {
  if (!data) return fwpy_view(Py_None, NULL, dtype, 0);
  PyObject *owner = PyCapsule_New(data, NULL, NULL);
  if (!owner) {
    release(data);
    return NULL;
  }
  PyCapsule_SetContext(owner, (void *)release);
  PyCapsule_SetDestructor(owner, free_owned);
  PyObject *view = fwpy_view(owner, data, dtype, count);
  Py_DECREF(owner);
  return view;
}

PyObject *fwpy_view_take(void *data, fwpy_dtype dtype, size_t count) {
  return view_owned(data, furrow_free, dtype, count);
}

PyObject *fwpy_view_allocated(void *data, fwpy_dtype dtype, size_t count) {
  return view_owned(data, free, dtype, count);
}
