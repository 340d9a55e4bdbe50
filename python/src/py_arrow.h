/* python/src/py_arrow.h: the structs of Arrow's C data interface, as its published ABI has them. */
#ifndef FURROW_PYTHON_ARROW_H
#define FURROW_PYTHON_ARROW_H

#include "py_core.h"

struct ArrowSchema {
  const char *format, *name, *metadata;
  int64_t flags, n_children;
  struct ArrowSchema **children, *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  const void **buffers;
  struct ArrowArray **children, *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

/* arrow_stream(columns, rows): py_arrow_out.c */
PyObject *fwpy_arrow_stream(PyObject *module, PyObject *args);

#endif
