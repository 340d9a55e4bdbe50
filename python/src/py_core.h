/* python/src/py_core.h: what the sources of furrow._core share.
 *
 * The module is a thin layer over the public headers: each C function checks its arguments, releases the interpreter's
 * lock, calls the library, and turns a status into an exception. Names, defaults and conversions of arrays are in the
 * Python files of the package.
 *
 * It uses CPython's stable ABI of 3.11 alone, so that one binary serves that version and all later ones. */
#ifndef FURROW_PYTHON_CORE_H
#define FURROW_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <time.h>

#include <furrow/furrow.h>

/* ---- Exceptions (py_errors.c) ----------------------------------------------------------------------------- */

/* furrow.Error and a class for each failure of FURROW_STATUS_LIST: E_NOT_FOUND is furrow.NotFoundError. */
int fwpy_add_errors(PyObject *module);
/* Sets the exception of an error, unless a signal has set one already. Always returns NULL. */
void *fwpy_raise(const furrow_error *err);

/* ---- Types (py_module.c) ---------------------------------------------------------------------------------- */

/* Makes a type of the module from its spec, and keeps a reference in *type. */
int fwpy_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);
/* Makes an object of a type, with all zeros after its head. */
void *fwpy_new(PyTypeObject *type);
/* Frees an object whose own memory has been released: the end of every dealloc. */
void fwpy_delete(PyObject *self);
/* Decodes a text: names and messages of the library may contain bytes that are not UTF-8. */
PyObject *fwpy_text(const char *text);
PyObject *fwpy_text_n(const char *text, size_t length);

/* ---- Arrays (py_arrays.c) --------------------------------------------------------------------------------- */

/* X(name, C type, formats of the buffer protocol for it): views use the first. */
#define FWPY_DTYPES(X)   \
  X(F32, float, "f")     \
  X(F64, double, "d")    \
  X(I32, int32_t, "i")   \
  X(U32, uint32_t, "I")  \
  X(I64, int64_t, "ql")  \
  X(U64, uint64_t, "QL") \
  X(U8, uint8_t, "B")

typedef enum fwpy_dtype {
#define FWPY_X(name, type, formats) FWPY_##name,
  FWPY_DTYPES(FWPY_X)
#undef FWPY_X
} fwpy_dtype;

/* Borrows an array: C-contiguous, of that type and number of dimensions (-1: any). TypeError or ValueError names the
 * argument. The caller releases *view with PyBuffer_Release. */
bool fwpy_get_array(PyObject *object, const char *name, fwpy_dtype dtype, int ndim, Py_buffer *view);
/* The same for memory that is written to. */
bool fwpy_get_output(PyObject *object, const char *name, fwpy_dtype dtype, int ndim, Py_buffer *view);

/* Memory of the library as a read-only array with the buffer protocol, which keeps `owner` alive. */
PyObject *fwpy_view(PyObject *owner, const void *data, fwpy_dtype dtype, size_t count);
PyObject *fwpy_view_2d(PyObject *owner, const void *data, fwpy_dtype dtype, size_t rows, size_t columns);
/* Likewise, of memory that only the views use: the arrays may be written to. */
PyObject *fwpy_view_writable(PyObject *owner, void *data, fwpy_dtype dtype, size_t count);
/* Likewise, of memory that furrow_free takes: it is freed with the view, or at once on failure. */
PyObject *fwpy_view_take(void *data, fwpy_dtype dtype, size_t count);
/* Likewise, of memory of malloc. */
PyObject *fwpy_view_allocated(void *data, fwpy_dtype dtype, size_t count);
int fwpy_add_view(PyObject *module);

/* ---- Cells of tables (py_text_columns.c) ------------------------------------------------------------------ */

/* Texts as the cells of a csv column, in their order: a new object without any, and one text more (of length 0:
 * missing), which sets an exception on failure. */
PyObject *fwpy_cells_new(void);
bool fwpy_cells_add(PyObject *cells, const char *text, size_t length);

/* ---- Structs (py_structs.c) ------------------------------------------------------------------------------- */

typedef enum fwpy_kind {
  FWPY_BOOL,
  FWPY_INT32,
  FWPY_UINT32, /* also unsigned, and enums without a table of names */
  FWPY_INT64,
  FWPY_UINT64,
  FWPY_SIZE,
  FWPY_FLOAT,
  FWPY_DOUBLE,
  FWPY_TEXT, /* const char *: borrows the str or bytes object in the dict. None: NULL */
  FWPY_CHARS /* char[]: only for fwpy_get_fields */
} fwpy_kind;

/* A field of a struct of the library and its name in Python; a table of them ends with a NULL name. */
typedef struct fwpy_field {
  const char *name;
  fwpy_kind kind;
  size_t offset;
} fwpy_field;

#define FWPY_FIELD(type, member, kind) \
  { #member, kind, offsetof(type, member) }

/* Sets the fields that a dict names (NULL: none), the others stay. A name that the table does not have is a TypeError,
 * a number that does not fit an OverflowError. Texts borrow the values of the dict. */
bool fwpy_set_fields(void *params, PyObject *dict, const fwpy_field *fields);
/* All fields as a new dict. */
PyObject *fwpy_get_fields(const void *info, const fwpy_field *fields);

/* ---- Long calls (py_job.c) -------------------------------------------------------------------------------- */

/* A call that may take long runs in its own thread. The calling thread waits without the interpreter's lock, looks for
 * signals twenty times a second, and calls the caller's progress function: Ctrl-C and a progress function that raises
 * or returns False end the job through the library's own progress callback. */
typedef struct fwpy_job fwpy_job;

/* Runs run(user, job, err) to its end. progress: a callable of (phase, done, total), None or NULL. Returns whether it
 * succeeded; otherwise an exception is set: by the signal, by the callable, or for the status. */
bool fwpy_job_run(furrow_status (*run)(void *user, fwpy_job *job, furrow_error *err), void *user, PyObject *progress);
/* The furrow_progress for calls inside of a job, whose first argument is the job. */
bool fwpy_job_progress(void *job, const char *phase, uint64_t done, uint64_t total);
/* For the job's thread: lets the calling thread do function(user) with the interpreter's lock, and waits for it. An
 * exception that it sets ends the job. Returns whether it was done; not once the job is cancelled. */
bool fwpy_job_ask(fwpy_job *job, void (*function)(void *user), void *user);
int fwpy_add_job(PyObject *module);
/* For code that waits without the interpreter's lock, in a job or in the calling thread: fwpy_next_tick is the time
 * until which to wait (CLOCK_MONOTONIC). After that the second function says whether to give up, because the job is
 * cancelled or a signal has set an exception. */
struct timespec fwpy_next_tick(void);
bool fwpy_interrupted(void);

/* ---- Shared objects -------------------------------------------------------------------------------------- */

/* A scorer, which it owns from now on, as furrow._core.Scorer (py_scorer.c). */
PyObject *fwpy_scorer_new(furrow_scorer *scorer);
/* ---- Raw logs (py_encoder.c) ------------------------------------------------------------------------------ */

/* What was read and left out: {"rows", "bad_rows", "first_bad"}. */
PyObject *fwpy_get_stats(const furrow_parser_stats *stats);
/* A name of a log as a str, and back to its bytes: bytes that are not UTF-8 survive the round trip. */
PyObject *fwpy_name(const char *text, size_t length);
PyObject *fwpy_name_bytes(PyObject *name, const char *what);
/* The pairs of an event from a tuple of (bytes, bytes or None), which must outlive them; freed with PyMem_Free. */
bool fwpy_get_pairs(PyObject *tuple, furrow_pair **pairs, size_t *count);

/* ---- Parts of the module ---------------------------------------------------------------------------------- */

int fwpy_add_memory(PyObject *module);
int fwpy_add_rows(PyObject *module);
int fwpy_add_arrow(PyObject *module);
int fwpy_add_text_columns(PyObject *module);
int fwpy_add_encoder(PyObject *module);
int fwpy_add_trainer(PyObject *module);
int fwpy_add_scorer(PyObject *module);
int fwpy_add_matrix(PyObject *module);
int fwpy_add_recommender(PyObject *module);
int fwpy_add_index(PyObject *module);

#endif
