/* python/src/py_arrow.h: columns to and from Arrow, by the structs of its C interfaces (furrow/arrow.h). */
#ifndef FURROW_PYTHON_ARROW_H
#define FURROW_PYTHON_ARROW_H

#include "py_core.h"

/* arrow_stream(columns, rows): py_arrow_out.c */
PyObject *fwpy_arrow_stream(PyObject *module, PyObject *args);

#endif
