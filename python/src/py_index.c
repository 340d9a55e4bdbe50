/* python/src/py_index.c: furrow._core.Index: an index, its description, and the searcher that all its searches
 * share. */
#include "py_index.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static PyTypeObject *index_type;

/* ---- Objects ---------------------------------------------------------------------------------------------- */

static index_object *objects; /* the first; all are linked */

static void link_object(index_object *self) {
  self->next = objects;
  if (objects) objects->previous = self;
  objects = self;
}

static void unlink_object(index_object *self) {
  if (self->next) self->next->previous = self->previous;
  if (self->previous)
    self->previous->next = self->next;
  else
    objects = self->next;
}

/* Prefers writers: searches that follow each other without a gap must not block a change forever. */
static void init_lock(pthread_rwlock_t *lock) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

/* After a fork the child has none of the other threads: locks that they held would stay held, and the threads of a
 * searcher are gone. Its memory is left alone, because it cannot be freed without them. */
static void after_fork(void) {
  for (index_object *self = objects; self; self = self->next) {
    init_lock(&self->lock);
    self->searcher = NULL;
    self->broken = self->broken || self->changing;
  }
}

PyObject *fwpy_index_make(furrow_index *index, index_names *names, index_attributes *attributes) {
  furrow_index_info info;
  index_object *self = fwpy_new(index_type);
  if (!self) {
    fwpy_attributes_release(attributes);
    fwpy_names_release(names);
    furrow_index_free(index);
    return NULL;
  }
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  self->index = index;
  self->names = names;
  self->attributes = attributes;
  self->next_id = -1;
  self->d = (size_t)info.d;
  init_lock(&self->lock);
  link_object(self);
  return (PyObject *)self;
}

static void index_dealloc(PyObject *object) {
  index_object *self = (index_object *)object;
  unlink_object(self);
  furrow_searcher_free(self->searcher);
  fwpy_attributes_release(self->attributes);
  fwpy_names_release(self->names);
  furrow_index_free(self->index);
  pthread_rwlock_destroy(&self->lock);
  fwpy_delete(object);
}

index_object *fwpy_index_check(PyObject *object) {
  if (PyObject_TypeCheck(object, index_type)) return (index_object *)object;
  PyErr_Format(PyExc_TypeError, "an index is needed, not %R", object);
  return NULL;
}

/* ---- The lock --------------------------------------------------------------------------------------------- */

static furrow_status refuse_broken(index_object *self, furrow_error *err) {
  if (!self->broken) return FURROW_OK;
  pthread_rwlock_unlock(&self->lock);
  *err = (furrow_error){.status = FURROW_E_STATE,
                        .offset = FURROW_NO_OFFSET,
                        .message = "the process was forked while another thread changed this index",
                        .hint = "load the index in the new process"};
  return FURROW_E_STATE;
}

/* Waits for the lock in short intervals, so that Ctrl-C works. */
static furrow_status take_lock(index_object *self,
                               int (*take)(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until),
                               furrow_error *err) {
  for (;;) {
    const struct timespec until = fwpy_next_tick();
    if (take(&self->lock, CLOCK_MONOTONIC, &until) == 0) return FURROW_OK;
    if (fwpy_interrupted()) break;
  }
  *err = (furrow_error){
      .status = FURROW_E_CANCELLED, .offset = FURROW_NO_OFFSET, .message = "stopped while another call used the index"};
  return FURROW_E_CANCELLED;
}

static furrow_status take_to_write(index_object *self, furrow_error *err) {
  const furrow_status status = take_lock(self, pthread_rwlock_clockwrlock, err);
  return status == FURROW_OK ? refuse_broken(self, err) : status;
}

furrow_status fwpy_index_begin_read(index_object *self, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (pthread_rwlock_tryrdlock(&self->lock) != 0) status = take_lock(self, pthread_rwlock_clockrdlock, err);
  return status == FURROW_OK ? refuse_broken(self, err) : status;
}

void fwpy_index_end_read(index_object *self) {
  pthread_rwlock_unlock(&self->lock);
}

furrow_status fwpy_index_begin_change(index_object *self, furrow_error *err) {
  const furrow_status status = take_to_write(self, err);
  if (status != FURROW_OK) return status;
  self->changing = true;
  furrow_searcher_free(self->searcher);
  self->searcher = NULL;
  return FURROW_OK;
}

void fwpy_index_end_change(index_object *self) {
  self->changing = false;
  pthread_rwlock_unlock(&self->lock);
}

/* Takes the lock for reading, with a searcher made. On failure the lock is free. */
static furrow_status begin_search(index_object *self, furrow_error *err) {
  for (;;) {
    furrow_status status = fwpy_index_begin_read(self, err);
    if (status != FURROW_OK || self->searcher) return status;
    pthread_rwlock_unlock(&self->lock);
    status = take_to_write(self, err);
    if (status != FURROW_OK) return status;
    if (!self->searcher) status = furrow_searcher_create(&self->searcher, self->index, NULL, err);
    pthread_rwlock_unlock(&self->lock);
    if (status != FURROW_OK) return status;
  }
}

/* ---- What it is ------------------------------------------------------------------------------------------- */

static const fwpy_field info_fields[] = {FWPY_FIELD(furrow_index_info, kind, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_info, fourcc, FWPY_CHARS),
                                         FWPY_FIELD(furrow_index_info, d, FWPY_INT32),
                                         FWPY_FIELD(furrow_index_info, ntotal, FWPY_INT64),
                                         FWPY_FIELD(furrow_index_info, trained, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_info, metric, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_info, metric_arg, FWPY_FLOAT),
                                         FWPY_FIELD(furrow_index_info, nlist, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, nprobe, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, stored, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, code_size, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, by_residual, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_info, direct_map, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_info, m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, nbits, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_info, refine_m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_info, refine_nbits, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_info, k_factor, FWPY_FLOAT),
                                         FWPY_FIELD(furrow_index_info, ef_search, FWPY_INT32),
                                         {0}};

/* Whether a transform before the index makes vectors unit length. */
static bool normalizes(const furrow_index *index) {
  furrow_index_info info;
  furrow_transform_info transform;
  furrow_error err;
  furrow_index_info_init(&info);
  for (; index; index = furrow_index_child(index, 0)) {
    furrow_index_get_info(index, &info);
    for (size_t i = 0; i < info.transforms; i++) {
      furrow_transform_info_init(&transform);
      if (furrow_index_get_transform_info(index, i, &transform, &err) == FURROW_OK &&
          strcmp(transform.fourcc, "VNrm") == 0)
        return true;
    }
    if (info.nlist > 0) break;
  }
  return false;
}

/* Returns the index inside of transforms. */
static const furrow_index *skip_transforms(const furrow_index *index, furrow_index_info *info) {
  furrow_index_info_init(info);
  for (furrow_index_get_info(index, info); info->kind == FURROW_INDEX_TRANSFORM; furrow_index_get_info(index, info))
    index = furrow_index_child(index, 0);
  return index;
}

bool fwpy_index_counts_ids(const furrow_index *index) {
  furrow_index_info info;
  const furrow_index *inner = skip_transforms(index, &info);
  return info.kind != FURROW_INDEX_ID_MAP && furrow_index_ivf(inner) != inner;
}

/* Whether ids must be 0 … ntotal-1. */
static bool has_dense_ids(const furrow_index *index) {
  furrow_index_info info;
  skip_transforms(index, &info);
  return info.kind == FURROW_INDEX_IVF_PQR || fwpy_index_counts_ids(index);
}

/* Sets an item and drops the reference to its value. */
static bool set_item(PyObject *dict, const char *name, PyObject *value) {
  const bool ok = value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *describe(const furrow_index_info *info, bool normalized, bool dense) {
  PyObject *dict = fwpy_get_fields(info, info_fields);
  if (dict && set_item(dict, "kind_name", fwpy_text(furrow_index_kind_name(info->kind))) &&
      set_item(dict, "metric_name", fwpy_text(furrow_distance_metric_name(info->metric))) &&
      set_item(dict, "normalizes", PyBool_FromLong(normalized)) && set_item(dict, "dense_ids", PyBool_FromLong(dense)))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

/* info(): of the outer index, and of the one with lists or None */
static PyObject *index_info(PyObject *object, PyObject *unused) {
  index_object *self = (index_object *)object;
  furrow_index_info outer, ivf;
  furrow_error err;
  furrow_status status = FURROW_OK;
  bool has_lists = false, normalized = false, dense = false;
  (void)unused;
  furrow_index_info_init(&outer);
  furrow_index_info_init(&ivf);
  Py_BEGIN_ALLOW_THREADS;
  status = fwpy_index_begin_read(self, &err);
  if (status == FURROW_OK) {
    const furrow_index *lists = furrow_index_ivf(self->index);
    furrow_index_get_info(self->index, &outer);
    normalized = normalizes(self->index);
    dense = has_dense_ids(self->index);
    has_lists = lists != NULL;
    if (lists) furrow_index_get_info(lists, &ivf);
    fwpy_index_end_read(self);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *first = describe(&outer, normalized, dense);
  PyObject *second = has_lists ? describe(&ivf, false, false) : Py_NewRef(Py_None);
  PyObject *both = first && second ? PyTuple_Pack(2, first, second) : NULL;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return both;
}

/* ids(): int64, in the order of storage */
static PyObject *index_ids(PyObject *object, PyObject *unused) {
  index_object *self = (index_object *)object;
  furrow_ids ids;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)unused;
  furrow_ids_init(&ids);
  Py_BEGIN_ALLOW_THREADS;
  status = fwpy_index_begin_read(self, &err);
  if (status == FURROW_OK) {
    status = furrow_index_get_ids(self->index, &ids, &err);
    fwpy_index_end_read(self);
  }
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_view_take(ids.ids, FWPY_I64, ids.count) : fwpy_raise(&err);
}

/* ---- Filters ---------------------------------------------------------------------------------------------- */

static bool get_filter_array(index_filter *filter, PyObject *array) {
  const bool sorted = filter->filter.kind == FURROW_ID_FILTER_SORTED;
  if (!fwpy_get_array(array, "filter", sorted ? FWPY_I64 : FWPY_U8, 1, &filter->array)) return false;
  filter->held = true;
  if (sorted) {
    filter->filter.sorted = filter->array.buf;
    filter->filter.sorted_count = (size_t)filter->array.shape[0];
  } else {
    filter->filter.bitmap = filter->array.buf;
    filter->filter.bitmap_bytes = (size_t)filter->array.shape[0];
  }
  return true;
}

bool fwpy_index_filter_get(PyObject *object, index_filter *filter, const furrow_id_filter **used) {
  const char *kind;
  int invert;
  PyObject *first, *end = NULL;
  furrow_id_filter_init(&filter->filter);
  filter->held = false;
  *used = NULL;
  if (object == Py_None) return true;
  if (!PyTuple_Check(object)) {
    PyErr_Format(PyExc_TypeError, "filter: a tuple is needed, not %R", object);
    return false;
  }
  if (!PyArg_ParseTuple(object, "spO|O", &kind, &invert, &first, &end)) return false;
  *used = &filter->filter;
  filter->filter.invert = invert != 0;
  if (strcmp(kind, "range") != 0) {
    filter->filter.kind = strcmp(kind, "sorted") == 0 ? FURROW_ID_FILTER_SORTED : FURROW_ID_FILTER_BITMAP;
    return get_filter_array(filter, first);
  }
  filter->filter.first = PyLong_AsLongLong(first);
  if (!PyErr_Occurred()) filter->filter.end = end ? PyLong_AsLongLong(end) : INT64_MAX;
  return !PyErr_Occurred();
}

void fwpy_index_filter_release(index_filter *filter) {
  if (filter->held) PyBuffer_Release(&filter->array);
}

/* ---- Searching -------------------------------------------------------------------------------------------- */

static const fwpy_field search_fields[] = {FWPY_FIELD(furrow_search_params, max_codes, FWPY_UINT64),
                                           FWPY_FIELD(furrow_search_params, k_factor, FWPY_FLOAT),
                                           FWPY_FIELD(furrow_search_params, ef_search, FWPY_INT32),
                                           {0}};

/* A few queries are searched at once; more in pieces of about 50 ms, so that Ctrl-C ends the call. */
enum { FEW_QUERIES = 64 };

typedef struct search_call {
  index_object *self;
  Py_buffer queries, distances, ids;
  size_t n, k;
  furrow_search_params params;
  index_filter filter;
  index_where where;
} search_call;

/* Errors name a query by its row in the piece ("query 3 has a NaN"), which starts at row `first` of the call. */
static void shift_row(furrow_error *err, size_t first) {
  size_t row = 0;
  int end = 0;
  char rest[sizeof err->message];
  if (first == 0 || err->status != FURROW_E_RANGE || sscanf(err->message, "query %zu%n", &row, &end) != 1) return;
  memcpy(rest, err->message + end, sizeof rest - (size_t)end);
  snprintf(err->message, sizeof err->message, "query %zu%.200s", first + row, rest);
}

static furrow_status search_piece(search_call *c, size_t first, size_t count, furrow_error *err) {
  const float *queries = (const float *)c->queries.buf + first * c->self->d;
  float *distances = (float *)c->distances.buf + first * c->k;
  int64_t *ids = (int64_t *)c->ids.buf + first * c->k;
  if (c->where.filtered) return furrow_filtered_search(c->where.filtered, queries, count, c->k, distances, ids, err);
  return furrow_searcher_search(c->self->searcher, queries, count, c->k, &c->params, distances, ids, err);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static furrow_status cancelled(furrow_error *err) {
  *err = (furrow_error){.status = FURROW_E_CANCELLED, .offset = FURROW_NO_OFFSET, .message = "stopped by the caller"};
  return FURROW_E_CANCELLED;
}

/* All pieces see the index in the same state. */
static furrow_status search_job(void *user, fwpy_job *job, furrow_error *err) {
  search_call *c = user;
  furrow_status status = begin_search(c->self, err);
  if (status != FURROW_OK) return status;
  status = fwpy_where_open(&c->where, c->self, &c->params, false, err);
  for (size_t first = 0, piece = FEW_QUERIES; status == FURROW_OK && first < c->n;) {
    const size_t count = c->n - first < piece ? c->n - first : piece;
    const double began = seconds();
    status = search_piece(c, first, count, err);
    if (status != FURROW_OK) shift_row(err, first);
    first += count;
    if (seconds() - began < 0.025) piece *= 4;
    if (status == FURROW_OK && !fwpy_job_progress(job, "search", first, c->n)) status = cancelled(err);
  }
  fwpy_where_close(&c->where, &c->params);
  fwpy_index_end_read(c->self);
  return status;
}

static bool search_now(search_call *c) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  Py_BEGIN_ALLOW_THREADS;
  status = begin_search(c->self, &err);
  if (status == FURROW_OK) {
    status = fwpy_where_open(&c->where, c->self, &c->params, false, &err);
    if (status == FURROW_OK) status = search_piece(c, 0, c->n, &err);
    fwpy_where_close(&c->where, &c->params);
    fwpy_index_end_read(c->self);
  }
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

static bool check_queries(const index_object *self, const Py_buffer *queries) {
  if ((size_t)queries->shape[1] == self->d) return true;
  PyErr_Format(PyExc_ValueError, "queries have %zd dimensions, but the index has %zu", queries->shape[1], self->d);
  return false;
}

static bool get_search_params(search_call *c, PyObject *const *args, Py_ssize_t nargs) {
  furrow_search_params_init(&c->params);
  c->params.nprobe = PyLong_AsUnsignedLongLong(args[0]);
  c->params.threads = PyErr_Occurred() ? 0 : (unsigned)PyLong_AsUnsignedLong(args[1]);
  if (PyErr_Occurred()) return false;
  return nargs < 4 || fwpy_set_fields(&c->params, args[3], search_fields);
}

/* The arrays are borrowed. */
static bool run_search(search_call *c) {
  c->n = (size_t)c->queries.shape[0];
  c->k = (size_t)c->ids.shape[1];
  if (!check_queries(c->self, &c->queries)) return false;
  if (c->distances.shape[0] != c->queries.shape[0] || c->ids.shape[0] != c->queries.shape[0] ||
      c->distances.shape[1] != c->ids.shape[1]) {
    PyErr_SetString(PyExc_ValueError, "distances and ids must be n x k");
    return false;
  }
  return c->n <= FEW_QUERIES ? search_now(c) : fwpy_job_run(search_job, c, NULL);
}

/* From None or (expression, recall). */
static bool get_where(PyObject *object, index_where *where) {
  *where = (index_where){0};
  if (object == Py_None) return true;
  if (PyTuple_Check(object)) return PyArg_ParseTuple(object, "sd", &where->text, &where->recall) != 0;
  PyErr_Format(PyExc_TypeError, "where: a tuple is needed, not %R", object);
  return false;
}

/* search(queries, distances, ids, nprobe, threads, filter=None, options=None, where=None): arrays n x d, n x k, n x k
 */
static PyObject *index_search(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  search_call c;
  bool ok = false;
  if (nargs < 5 || nargs > 8) return PyErr_Format(PyExc_TypeError, "search takes 5 to 8 arguments");
  c.self = (index_object *)object;
  if (!get_search_params(&c, args + 3, nargs - 3) || !get_where(nargs > 7 ? args[7] : Py_None, &c.where)) return NULL;
  if (!fwpy_index_filter_get(nargs > 5 ? args[5] : Py_None, &c.filter, &c.params.filter)) goto release_filter;
  if (!fwpy_get_array(args[0], "queries", FWPY_F32, 2, &c.queries)) goto release_filter;
  if (!fwpy_get_output(args[1], "distances", FWPY_F32, 2, &c.distances)) goto release_queries;
  if (!fwpy_get_output(args[2], "ids", FWPY_I64, 2, &c.ids)) goto release_distances;
  ok = run_search(&c);
  PyBuffer_Release(&c.ids);
release_distances:
  PyBuffer_Release(&c.distances);
release_queries:
  PyBuffer_Release(&c.queries);
release_filter:
  fwpy_index_filter_release(&c.filter);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Everything within a radius --------------------------------------------------------------------------- */

static void free_range(PyObject *capsule) {
  furrow_range_result_free(PyCapsule_GetPointer(capsule, NULL));
}

static PyObject *range_views(furrow_range_result *result) {
  PyObject *owner = PyCapsule_New(result, NULL, free_range);
  if (!owner) {
    furrow_range_result_free(result);
    return NULL;
  }
  const size_t total = (size_t)result->starts[result->n];
  PyObject *starts = fwpy_view(owner, result->starts, FWPY_U64, result->n + 1);
  PyObject *distances = fwpy_view(owner, result->distances, FWPY_F32, total);
  PyObject *ids = fwpy_view(owner, result->ids, FWPY_I64, total);
  PyObject *all = starts && distances && ids ? PyTuple_Pack(3, starts, distances, ids) : NULL;
  Py_XDECREF(starts);
  Py_XDECREF(distances);
  Py_XDECREF(ids);
  Py_DECREF(owner);
  return all;
}

static furrow_range_result *search_range(search_call *c, float radius, size_t first) {
  furrow_range_result *result = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!check_queries(c->self, &c->queries)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = begin_search(c->self, &err);
  if (status == FURROW_OK) {
    status = fwpy_where_open(&c->where, c->self, &c->params, true, &err);
    if (status == FURROW_OK)
      status = furrow_searcher_search_range(c->self->searcher, c->queries.buf, (size_t)c->queries.shape[0], radius,
                                            &c->params, &result, &err);
    fwpy_where_close(&c->where, &c->params);
    fwpy_index_end_read(c->self);
  }
  Py_END_ALLOW_THREADS;
  if (status == FURROW_OK) return result;
  shift_row(&err, first);
  return fwpy_raise(&err);
}

/* range_search(queries, radius, nprobe, threads, filter, options, first, where): (starts u64, distances f32, ids i64);
 * first is the row of the caller's array where queries start, for messages */
static PyObject *index_range_search(PyObject *object, PyObject *const *args, Py_ssize_t nargs) {
  search_call c;
  furrow_range_result *result = NULL;
  if (nargs != 8) return PyErr_Format(PyExc_TypeError, "range_search takes 8 arguments");
  c.self = (index_object *)object;
  const double radius = PyFloat_AsDouble(args[1]);
  const size_t first = PyErr_Occurred() ? 0 : PyLong_AsSize_t(args[6]);
  if (PyErr_Occurred() || !get_search_params(&c, args + 2, nargs - 2) || !get_where(args[7], &c.where)) return NULL;
  if (fwpy_index_filter_get(args[4], &c.filter, &c.params.filter) &&
      fwpy_get_array(args[0], "queries", FWPY_F32, 2, &c.queries)) {
    result = search_range(&c, (float)radius, first);
    PyBuffer_Release(&c.queries);
  }
  fwpy_index_filter_release(&c.filter);
  return result ? range_views(result) : NULL;
}

/* ---- Decoding --------------------------------------------------------------------------------------------- */

typedef struct decode_call {
  index_object *self;
  Py_buffer ids, vectors;
  size_t count;
} decode_call;

enum { FEW_IDS = 16 };

/* job NULL: a few ids, decoded in the calling thread. */
static furrow_status decode_ids(void *user, fwpy_job *job, furrow_error *err) {
  decode_call *c = user;
  const int64_t *ids = c->ids.buf;
  furrow_status status = fwpy_index_begin_read(c->self, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; status == FURROW_OK && i < c->count; i++) {
    status = furrow_index_reconstruct(c->self->index, ids[i], (float *)c->vectors.buf + i * c->self->d, err);
    if (status == FURROW_OK && job && i % FEW_IDS == 0 && !fwpy_job_progress(job, "reconstruct", i, c->count))
      status = cancelled(err);
  }
  fwpy_index_end_read(c->self);
  return status;
}

static bool run_decode(decode_call *c) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  c->count = (size_t)c->ids.shape[0];
  if ((size_t)c->vectors.shape[0] != c->count || (size_t)c->vectors.shape[1] != c->self->d) {
    PyErr_SetString(PyExc_ValueError, "vectors must be n x d");
    return false;
  }
  if (c->count > FEW_IDS) return fwpy_job_run(decode_ids, c, NULL);
  Py_BEGIN_ALLOW_THREADS;
  status = decode_ids(c, NULL, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* reconstruct(ids, vectors): int64, and float32 n x d to write to */
static PyObject *index_reconstruct(PyObject *object, PyObject *args) {
  PyObject *ids, *vectors;
  decode_call c = {.self = (index_object *)object};
  bool ok = false;
  if (!PyArg_ParseTuple(args, "OO", &ids, &vectors) || !fwpy_get_array(ids, "ids", FWPY_I64, 1, &c.ids)) return NULL;
  if (fwpy_get_output(vectors, "vectors", FWPY_F32, 2, &c.vectors)) {
    ok = run_decode(&c);
    PyBuffer_Release(&c.vectors);
  }
  PyBuffer_Release(&c.ids);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- The type --------------------------------------------------------------------------------------------- */

static PyMethodDef index_methods[] = {
    {"create", fwpy_index_create, METH_VARARGS | METH_STATIC, NULL},
    {"load", fwpy_index_load, METH_VARARGS | METH_STATIC, NULL},
    {"read", fwpy_index_read, METH_VARARGS | METH_STATIC, NULL},
    {"save", fwpy_index_save, METH_VARARGS, NULL},
    {"to_bytes", fwpy_index_to_bytes, METH_VARARGS, NULL},
    {"info", index_info, METH_NOARGS, NULL},
    {"ids", index_ids, METH_NOARGS, NULL},
    {"next_id", fwpy_index_next_id, METH_NOARGS, NULL},
    {"search", (PyCFunction)(void (*)(void))index_search, METH_FASTCALL, NULL},
    {"range_search", (PyCFunction)(void (*)(void))index_range_search, METH_FASTCALL, NULL},
    {"reconstruct", index_reconstruct, METH_VARARGS, NULL},
    {"factory", fwpy_index_factory, METH_NOARGS, NULL},
    {"tune", fwpy_index_tune, METH_VARARGS, NULL},
    {"card", fwpy_index_card, METH_NOARGS, NULL},
    {"end_build", fwpy_index_end_build, METH_NOARGS, NULL},
    {"train", fwpy_index_train, METH_VARARGS, NULL},
    {"add", fwpy_index_add, METH_VARARGS, NULL},
    {"remove", fwpy_index_remove, METH_VARARGS, NULL},
    {"update", fwpy_index_update, METH_VARARGS, NULL},
    {"merge", fwpy_index_merge, METH_VARARGS, NULL},
    {"set_nprobe", fwpy_index_set_nprobe, METH_VARARGS, NULL},
    {"set_direct_map", fwpy_index_set_direct_map, METH_VARARGS, NULL},
    {"set_names", fwpy_index_set_names, METH_VARARGS, NULL},
    {"get_names", fwpy_index_get_names, METH_VARARGS, NULL},
    {"find_names", fwpy_index_find_names, METH_VARARGS, NULL},
    {"has_names", fwpy_index_has_names, METH_NOARGS, NULL},
    {"name_items", fwpy_index_name_items, METH_NOARGS, NULL},
    {"set_attributes", fwpy_index_set_attributes, METH_VARARGS, NULL},
    {"attribute_types", fwpy_index_attribute_types, METH_NOARGS, NULL},
    {"attribute_columns", fwpy_index_attribute_columns, METH_VARARGS, NULL},
    {"select", fwpy_index_select, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot index_slots[] = {{Py_tp_dealloc, index_dealloc}, {Py_tp_methods, index_methods}, {0, NULL}};
static PyType_Spec index_spec = {"furrow._core.Index", sizeof(index_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, index_slots};

int fwpy_add_index(PyObject *module) {
  if (pthread_atfork(NULL, NULL, after_fork) != 0) {
    PyErr_NoMemory();
    return -1;
  }
  if (PyModule_AddFunctions(module, fwpy_index_file_methods) < 0) return -1;
  if (PyModule_AddFunctions(module, fwpy_index_choose_methods) < 0) return -1;
  if (PyModule_AddFunctions(module, fwpy_index_attribute_methods) < 0) return -1;
  return fwpy_add_type(module, &index_spec, &index_type);
}
