/* python/src/py_index_edit.c: an index made, trained and changed, its names and attributes with
 * it. */
#include "py_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static furrow_status fail(furrow_error *err, furrow_status status, const char *message, const char *hint) {
  *err = (furrow_error){.status = status, .offset = FURROW_NO_OFFSET};
  strncat(err->message, message, sizeof err->message - 1);
  strncat(err->hint, hint, sizeof err->hint - 1);
  return status;
}

/* Whether rows are as long as the vectors of the index. */
static bool check_width(const index_object *self, const Py_buffer *x) {
  if ((size_t)x->shape[1] == self->d) return true;
  PyErr_Format(PyExc_ValueError, "vectors have %zd dimensions, but the index has %zu", x->shape[1], self->d);
  return false;
}

/* Puts new names in place, if there are any, and returns the old ones. */
static index_names *swap_names(index_object *self, index_names *names) {
  if (!names) return NULL;
  index_names *before = self->names;
  self->names = names;
  return before;
}

/* The same for attributes. */
static index_attributes *swap_attributes(index_object *self, index_attributes *attributes) {
  if (!attributes) return NULL;
  index_attributes *before = self->attributes;
  self->attributes = attributes;
  return before;
}

/* ---- Making ----------------------------------------------------------------------------------------------- */

static const fwpy_field spec_fields[] = {FWPY_FIELD(furrow_index_spec, d, FWPY_INT32),
                                         FWPY_FIELD(furrow_index_spec, metric, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_spec, nlist, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_spec, m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_spec, nbits, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_spec, by_residual, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_spec, hnsw_m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_spec, opq, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_spec, opq_d, FWPY_INT32),
                                         FWPY_FIELD(furrow_index_spec, normalize, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_spec, refine_m, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_spec, refine_nbits, FWPY_UINT32),
                                         FWPY_FIELD(furrow_index_spec, refine_flat, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_spec, k_factor, FWPY_FLOAT),
                                         FWPY_FIELD(furrow_index_spec, id_map, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_spec, factory, FWPY_TEXT),
                                         FWPY_FIELD(furrow_index_spec, ef_construction, FWPY_INT32),
                                         {0}};

/* create(spec) */
PyObject *fwpy_index_create(PyObject *type, PyObject *args) {
  PyObject *dict;
  furrow_index_spec spec;
  furrow_index *index = NULL;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)type;
  furrow_index_spec_init(&spec);
  if (!PyArg_ParseTuple(args, "O", &dict) || !fwpy_set_fields(&spec, dict, spec_fields)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_index_create(&index, &spec, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_index_make(index, NULL, NULL) : fwpy_raise(&err);
}

/* ---- Training --------------------------------------------------------------------------------------------- */

static const fwpy_field train_fields[] = {FWPY_FIELD(furrow_index_train_params, seed, FWPY_UINT64),
                                          FWPY_FIELD(furrow_index_train_params, coarse_rounds, FWPY_UINT32),
                                          FWPY_FIELD(furrow_index_train_params, pq_rounds, FWPY_UINT32),
                                          FWPY_FIELD(furrow_index_train_params, sample_per_list, FWPY_UINT64),
                                          FWPY_FIELD(furrow_index_train_params, threads, FWPY_UINT32),
                                          {0}};

typedef struct train_call {
  index_object *self;
  Py_buffer x;
  furrow_index_train_params params;
} train_call;

static furrow_status train_job(void *user, fwpy_job *job, furrow_error *err) {
  train_call *c = user;
  furrow_status status = fwpy_index_begin_change(c->self, err);
  if (status != FURROW_OK) return status;
  c->params.progress = fwpy_job_progress;
  c->params.user = job;
  status = furrow_index_train(c->self->index, c->x.buf, (size_t)c->x.shape[0], &c->params, err);
  fwpy_index_end_change(c->self);
  return status;
}

/* train(x, options, progress) */
PyObject *fwpy_index_train(PyObject *self, PyObject *args) {
  PyObject *x, *options, *progress;
  train_call c = {.self = (index_object *)self};
  furrow_index_train_params_init(&c.params);
  if (!PyArg_ParseTuple(args, "OOO", &x, &options, &progress) || !fwpy_set_fields(&c.params, options, train_fields) ||
      !fwpy_get_array(x, "x", FWPY_F32, 2, &c.x))
    return NULL;
  const bool ok = check_width(c.self, &c.x) && fwpy_job_run(train_job, &c, progress);
  PyBuffer_Release(&c.x);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Ids -------------------------------------------------------------------------------------------------- */

#define IDS_END ((int64_t)1 << 62) /* of ids that are given; furrow_index_next_id */

/* Finds the id of the next vector without one: larger than all ids, so that it is free. With the lock held for
 * writing. */
static void find_next_id(index_object *self) {
  if (self->next_id >= 0) return;
  const int64_t next = furrow_index_next_id(self->index);
  self->next_id = next >= 0 ? next : IDS_END;
}

static furrow_status read_next_id(index_object *self, int64_t *next, furrow_error *err) {
  furrow_status status = fwpy_index_begin_read(self, err);
  if (status != FURROW_OK) return status;
  *next = self->next_id;
  fwpy_index_end_read(self);
  if (*next >= 0) return FURROW_OK;
  pthread_rwlock_wrlock(&self->lock); /* not a change: the searcher stays */
  find_next_id(self);
  *next = self->next_id;
  pthread_rwlock_unlock(&self->lock);
  return FURROW_OK;
}

PyObject *fwpy_index_next_id(PyObject *self, PyObject *unused) {
  int64_t next = 0;
  furrow_error err;
  furrow_status status = FURROW_OK;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  status = read_next_id((index_object *)self, &next, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? PyLong_FromLongLong(next) : fwpy_raise(&err);
}

/* ---- Adding ----------------------------------------------------------------------------------------------- */

enum { ADD_PIECE = 8192 }; /* vectors between two checks for cancellation */

typedef struct add_call {
  index_object *self;
  Py_buffer x, id_array, result;
  const int64_t *ids;           /* NULL: ids follow the existing ones */
  int64_t *made_ids;            /* owned: ids that were made */
  int64_t first_id;             /* first of consecutive ids */
  const char **texts;           /* NULL: none */
  const attribute_table *table; /* attributes; NULL: none */
  furrow_attributes_fit fit;
  size_t n, named, done;
  unsigned threads;
} add_call;

static int64_t count_vectors(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  return info.ntotal;
}

static furrow_status check_vectors(const add_call *c, furrow_error *err) {
  const size_t bad = furrow_first_invalid_vector(c->x.buf, c->n, c->self->d);
  if (bad < c->n) {
    fail(err, FURROW_E_RANGE, "", "");
    snprintf(err->message, sizeof err->message, "vector %zu has a number that is not finite, or too large", bad);
    return FURROW_E_RANGE;
  }
  if (!c->texts && c->self->names && c->n > 0)
    return fail(err, FURROW_E_ARGUMENT, "the ids of the index have names, so the new vectors need names, too",
                "give names=");
  if (c->texts && !c->self->names && count_vectors(c->self->index) > 0)
    return fail(err, FURROW_E_ARGUMENT, "the new vectors have names, but the ids of the index have none",
                "set_names names the vectors of an index");
  return FURROW_OK;
}

/* Writes ids out where the library could choose others: it does not know of ids that were removed again. Names and
 * attributes need them as well. */
static furrow_status make_ids(add_call *c, furrow_error *err) {
  if (c->ids) return FURROW_OK;
  find_next_id(c->self);
  c->first_id = c->self->next_id;
  if (c->first_id > IDS_END - (int64_t)c->n)
    return fail(err, FURROW_E_RANGE, "the ids below 2^62 are used up", "give ids=");
  const bool noted = c->texts || c->table || c->self->attributes;
  if (c->first_id == count_vectors(c->self->index) && !noted) return FURROW_OK;
  c->made_ids = malloc((c->n + 1) * sizeof *c->made_ids);
  if (!c->made_ids) return fail(err, FURROW_E_MEMORY, "out of memory", "");
  for (size_t i = 0; i < c->n; i++) c->made_ids[i] = c->first_id + (int64_t)i;
  c->ids = c->made_ids;
  return FURROW_OK;
}

/* Makes the names with the names of the first `count` new vectors added. */
static furrow_status name_added(const add_call *c, size_t count, index_names **names, furrow_error *err) {
  const furrow_status status = fwpy_names_copy(names, c->self->names, err);
  return status == FURROW_OK ? furrow_id_names_add((*names)->names, c->ids, c->texts, count, err) : status;
}

/* The first piece reaches the first id that does not follow: an index that needs ids from 0 on refuses them before
 * anything is added. */
static size_t first_piece(const add_call *c) {
  const int64_t ntotal = count_vectors(c->self->index);
  size_t i = 0;
  while (c->ids && i < c->n && c->ids[i] == ntotal + (int64_t)i) i++;
  if (!c->ids || i == c->n || i < ADD_PIECE) return ADD_PIECE;
  return i + 1;
}

/* Adds piece after piece; c->done counts the vectors. */
static furrow_status add_pieces(add_call *c, fwpy_job *job, furrow_error *err) {
  furrow_index_add_params params;
  furrow_status status = FURROW_OK;
  furrow_index_add_params_init(&params);
  params.threads = c->threads;
  for (size_t piece = first_piece(c); status == FURROW_OK && c->done < c->n; piece = ADD_PIECE) {
    const size_t count = c->n - c->done < piece ? c->n - c->done : piece;
    const float *x = (const float *)c->x.buf + c->done * c->self->d;
    params.ids = c->ids ? c->ids + c->done : NULL;
    status = furrow_index_add(c->self->index, x, count, &params, NULL, err);
    if (status == FURROW_OK) c->done += count;
    if (status == FURROW_OK && job && !fwpy_job_progress(job, "add", c->done, c->n) && c->done < c->n)
      status = fail(err, FURROW_E_CANCELLED, "stopped by the caller", "");
  }
  return status;
}

static void move_next_id(add_call *c) {
  int64_t next = c->self->next_id;
  if (next < 0 || c->done == 0) return;
  const int64_t ntotal = count_vectors(c->self->index);
  if (next < ntotal) next = ntotal;
  for (size_t i = 0; c->ids && i < c->done; i++)
    if (c->ids[i] >= next && c->ids[i] < IDS_END) next = c->ids[i] + 1;
  c->self->next_id = next;
}

/* Makes the attributes with rows for the new vectors; none if there are no attributes. */
static furrow_status describe_added(add_call *c, const index_names *names, index_attributes **attributes,
                                    furrow_error *err) {
  furrow_attributes_fit_init(&c->fit);
  if (!c->table && !c->self->attributes) return FURROW_OK;
  const furrow_status status = fwpy_attributes_copy(attributes, c->self->attributes, err);
  if (status != FURROW_OK) return status;
  return fwpy_attributes_extend((*attributes)->attributes, c->self->index, c->ids, c->n, names ? names->names : NULL,
                                c->table, &c->fit, err);
}

/* A call that was stopped keeps the names and attributes of what was added. If this runs out of memory, those without a
 * vector stay, which is allowed. */
static void forget_rest(const add_call *c, index_names **names, const index_attributes *attributes) {
  index_names *some = NULL;
  furrow_error ignored;
  if (*names && name_added(c, c->done, &some, &ignored) == FURROW_OK) {
    fwpy_names_release(*names);
    *names = some;
    some = NULL;
  }
  fwpy_names_release(some);
  if (attributes)
    (void)!furrow_attributes_join(attributes->attributes, c->self->index, NULL, NULL, NULL, NULL, &ignored);
}

/* Adds vectors, their names and their attributes. */
static furrow_status add_all(add_call *c, fwpy_job *job, furrow_error *err) {
  index_names *names = NULL;
  index_attributes *attributes = NULL;
  furrow_status status = c->texts ? name_added(c, c->n, &names, err) : FURROW_OK;
  if (status == FURROW_OK) status = describe_added(c, names, &attributes, err);
  if (status == FURROW_OK) status = add_pieces(c, job, err);
  if (c->done > 0 && c->done < c->n) forget_rest(c, &names, attributes);
  if (c->done > 0 || (status == FURROW_OK && !c->self->names)) names = swap_names(c->self, names);
  if (c->done > 0 || (status == FURROW_OK && !c->self->attributes)) attributes = swap_attributes(c->self, attributes);
  fwpy_names_release(names);
  fwpy_attributes_release(attributes);
  return status;
}

/* job NULL: few vectors, added in the calling thread. */
static furrow_status add_job(void *user, fwpy_job *job, furrow_error *err) {
  add_call *c = user;
  furrow_status status = fwpy_index_begin_change(c->self, err);
  if (status != FURROW_OK) return status;
  status = check_vectors(c, err);
  if (status == FURROW_OK) status = make_ids(c, err);
  if (status == FURROW_OK) status = add_all(c, job, err);
  move_next_id(c);
  fwpy_index_end_change(c->self);
  return status;
}

static bool run_add(add_call *c, PyObject *progress) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  c->n = (size_t)c->x.shape[0];
  if (!check_width(c->self, &c->x)) return false;
  if ((c->ids && (size_t)c->id_array.shape[0] != c->n) || (c->texts && c->named != c->n) || c->result.shape[0] != 3) {
    PyErr_Format(PyExc_ValueError, "there must be one id and one name for each of the %zu vectors", c->n);
    return false;
  }
  if (c->n > ADD_PIECE / 8) return fwpy_job_run(add_job, c, progress);
  Py_BEGIN_ALLOW_THREADS;
  status = add_job(c, NULL, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* add(x, ids|None, names|None, attributes|None, threads, progress, result int64[3]): result has the number of vectors
 * that were added, also if the call fails, the first id of the vectors that came without ids, and the number of vectors
 * without a row of attributes */
PyObject *fwpy_index_add(PyObject *self, PyObject *args) {
  PyObject *x, *ids, *names, *attributes, *progress, *result;
  add_call c = {.self = (index_object *)self};
  bool ok = false;
  if (!PyArg_ParseTuple(args, "OOOOIOO", &x, &ids, &names, &attributes, &c.threads, &progress, &result)) return NULL;
  if (!fwpy_attribute_table_get(attributes, &c.table)) return NULL;
  if (names != Py_None && !fwpy_index_texts(names, &c.texts, &c.named)) return NULL;
  if (!fwpy_get_array(x, "x", FWPY_F32, 2, &c.x)) goto free_texts;
  if (!fwpy_get_output(result, "result", FWPY_I64, 1, &c.result)) goto release_x;
  if (ids != Py_None && !fwpy_get_array(ids, "ids", FWPY_I64, 1, &c.id_array)) goto release_result;
  c.ids = ids != Py_None ? c.id_array.buf : NULL;
  ok = run_add(&c, progress);
  ((int64_t *)c.result.buf)[0] = (int64_t)c.done;
  ((int64_t *)c.result.buf)[1] = c.first_id;
  ((int64_t *)c.result.buf)[2] = c.table ? (int64_t)c.fit.without : 0;
  free(c.made_ids);
  if (ids != Py_None) PyBuffer_Release(&c.id_array);
release_result:
  PyBuffer_Release(&c.result);
release_x:
  PyBuffer_Release(&c.x);
free_texts:
  PyMem_Free((void *)c.texts);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Removing --------------------------------------------------------------------------------------------- */

static furrow_status remove_ids(index_object *self, const furrow_id_filter *filter, uint64_t *removed,
                                furrow_error *err) {
  index_names *names = NULL;
  index_attributes *attributes = NULL;
  furrow_status status = fwpy_index_begin_change(self, err);
  if (status != FURROW_OK) return status;
  if (self->names) status = fwpy_names_copy(&names, self->names, err);
  if (status == FURROW_OK && names)
    status = furrow_id_names_remove(names->names, filter, fwpy_index_counts_ids(self->index), err);
  if (status == FURROW_OK && self->attributes) status = fwpy_attributes_copy(&attributes, self->attributes, err);
  if (status == FURROW_OK && attributes)
    status = furrow_attributes_remove(attributes->attributes, filter, fwpy_index_counts_ids(self->index), err);
  if (status == FURROW_OK) status = furrow_index_remove(self->index, filter, removed, err);
  if (status == FURROW_OK) {
    names = swap_names(self, names);
    attributes = swap_attributes(self, attributes);
    self->next_id = -1;
  }
  fwpy_index_end_change(self);
  fwpy_attributes_release(attributes);
  fwpy_names_release(names);
  return status;
}

/* remove(filter): how many vectors were removed */
PyObject *fwpy_index_remove(PyObject *self, PyObject *args) {
  PyObject *object;
  index_filter filter;
  const furrow_id_filter *used = NULL;
  uint64_t removed = 0;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "O", &object)) return NULL;
  const bool ok = fwpy_index_filter_get(object, &filter, &used);
  if (ok) {
    Py_BEGIN_ALLOW_THREADS;
    status = remove_ids((index_object *)self, used, &removed, &err);
    Py_END_ALLOW_THREADS;
  }
  fwpy_index_filter_release(&filter);
  if (!ok) return NULL;
  return status == FURROW_OK ? PyLong_FromUnsignedLongLong(removed) : fwpy_raise(&err);
}

/* ---- New vectors for ids ---------------------------------------------------------------------------------- */

static furrow_status update_ids(index_object *self, const Py_buffer *ids, const Py_buffer *x, furrow_error *err) {
  furrow_status status = fwpy_index_begin_change(self, err);
  if (status != FURROW_OK) return status;
  status = furrow_index_update(self->index, ids->buf, x->buf, (size_t)ids->shape[0], err);
  fwpy_index_end_change(self);
  return status;
}

static bool run_update(index_object *self, const Py_buffer *ids, const Py_buffer *x) {
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!check_width(self, x)) return false;
  if (ids->shape[0] != x->shape[0]) {
    PyErr_Format(PyExc_ValueError, "there are %zd ids for %zd vectors", ids->shape[0], x->shape[0]);
    return false;
  }
  Py_BEGIN_ALLOW_THREADS;
  status = update_ids(self, ids, x, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) fwpy_raise(&err);
  return status == FURROW_OK;
}

/* update(ids, x) */
PyObject *fwpy_index_update(PyObject *self, PyObject *args) {
  PyObject *id_object, *x_object;
  Py_buffer ids, x;
  bool ok = false;
  if (!PyArg_ParseTuple(args, "OO", &id_object, &x_object) || !fwpy_get_array(id_object, "ids", FWPY_I64, 1, &ids))
    return NULL;
  if (fwpy_get_array(x_object, "x", FWPY_F32, 2, &x)) {
    ok = run_update((index_object *)self, &ids, &x);
    PyBuffer_Release(&x);
  }
  PyBuffer_Release(&ids);
  if (!ok) return NULL;
  Py_RETURN_NONE;
}

/* ---- Merging ---------------------------------------------------------------------------------------------- */

/* Names of both; *names stays NULL if neither has any. */
static furrow_status merge_names(const index_object *self, const index_object *other, int64_t shift,
                                 index_names **names, furrow_error *err) {
  const bool filled = count_vectors(self->index) > 0, more = count_vectors(other->index) > 0;
  if (!self->names && !other->names) return FURROW_OK;
  if ((!self->names && filled) || (!other->names && more))
    return fail(err, FURROW_E_ARGUMENT, "the ids of one index have names, the ids of the other do not",
                "set_names names the vectors of an index");
  const furrow_status status = fwpy_names_copy(names, self->names, err);
  if (status != FURROW_OK || !other->names) return status;
  return furrow_id_names_merge((*names)->names, other->names->names, shift, err);
}

/* Attributes of both; *attributes stays NULL if neither has any. Vectors of an index without any have no values. */
static furrow_status merge_attributes(const index_object *self, const index_object *other, int64_t shift,
                                      index_attributes **attributes, furrow_error *err) {
  furrow_ids ids;
  if (!self->attributes && !other->attributes) return FURROW_OK;
  furrow_status status = fwpy_attributes_copy(attributes, self->attributes, err);
  if (status == FURROW_OK && other->attributes)
    status = furrow_attributes_merge((*attributes)->attributes, other->attributes->attributes, shift, err);
  if (status == FURROW_OK) status = furrow_index_get_ids(other->index, &ids, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; status == FURROW_OK && i < ids.count; i++)
    if (__builtin_add_overflow(ids.ids[i], shift, &ids.ids[i]))
      status = fail(err, FURROW_E_RANGE, "an id plus id_shift would be too large", "");
  if (status == FURROW_OK)
    status = fwpy_attributes_extend((*attributes)->attributes, self->index, ids.ids, ids.count, NULL, NULL, NULL, err);
  furrow_ids_clear(&ids);
  return status;
}

static furrow_status merge_locked(index_object *self, const index_object *other, int64_t shift, furrow_error *err) {
  index_names *names = NULL;
  index_attributes *attributes = NULL;
  furrow_status status = merge_names(self, other, shift, &names, err);
  if (status == FURROW_OK) status = merge_attributes(self, other, shift, &attributes, err);
  if (status == FURROW_OK) status = furrow_index_merge(self->index, other->index, shift, err);
  if (status == FURROW_OK) {
    names = swap_names(self, names);
    attributes = swap_attributes(self, attributes);
    self->next_id = -1;
  }
  fwpy_attributes_release(attributes);
  fwpy_names_release(names);
  return status;
}

/* Two threads that merge two indexes into each other take both locks in the same order. */
static furrow_status merge_objects(index_object *self, index_object *other, int64_t shift, furrow_error *err) {
  const bool self_first = self < other;
  furrow_status status = self_first ? fwpy_index_begin_change(self, err) : fwpy_index_begin_read(other, err);
  if (status != FURROW_OK) return status;
  status = self_first ? fwpy_index_begin_read(other, err) : fwpy_index_begin_change(self, err);
  if (status == FURROW_OK) {
    status = merge_locked(self, other, shift, err);
    self_first ? fwpy_index_end_read(other) : fwpy_index_end_change(self);
  }
  self_first ? fwpy_index_end_change(self) : fwpy_index_end_read(other);
  return status;
}

/* merge(other, id_shift): other must be another object */
PyObject *fwpy_index_merge(PyObject *self, PyObject *args) {
  PyObject *object;
  long long shift;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "OL", &object, &shift)) return NULL;
  index_object *other = fwpy_index_check(object);
  if (!other) return NULL;
  if (object == self) return PyErr_Format(PyExc_ValueError, "an index cannot be merged into itself: merge a copy");
  Py_BEGIN_ALLOW_THREADS;
  status = merge_objects((index_object *)self, other, shift, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

/* ---- Settings --------------------------------------------------------------------------------------------- */

/* Keeps the searcher, which would take time to rebuild. */
static furrow_status set_nprobe(index_object *self, uint64_t nprobe, furrow_error *err) {
  furrow_status status = fwpy_index_begin_read(self, err); /* refuses an index that a fork broke */
  if (status != FURROW_OK) return status;
  fwpy_index_end_read(self);
  pthread_rwlock_wrlock(&self->lock);
  status = furrow_index_set_nprobe(self->index, nprobe, err);
  pthread_rwlock_unlock(&self->lock);
  return status;
}

/* set_nprobe(nprobe) */
PyObject *fwpy_index_set_nprobe(PyObject *self, PyObject *args) {
  unsigned long long nprobe;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "K", &nprobe)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = set_nprobe((index_object *)self, nprobe, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}

static furrow_status set_direct_map(index_object *self, furrow_direct_map type, furrow_error *err) {
  furrow_status status = fwpy_index_begin_change(self, err);
  if (status != FURROW_OK) return status;
  status = furrow_index_set_direct_map(self->index, type, err);
  fwpy_index_end_change(self);
  return status;
}

/* set_direct_map(0: none, 1: array, 2: hash table) */
PyObject *fwpy_index_set_direct_map(PyObject *self, PyObject *args) {
  int type;
  furrow_error err;
  furrow_status status = FURROW_OK;
  if (!PyArg_ParseTuple(args, "i", &type)) return NULL;
  if (type < 0 || type > 2) return PyErr_Format(PyExc_ValueError, "the direct map must be 0, 1 or 2");
  Py_BEGIN_ALLOW_THREADS;
  status = set_direct_map((index_object *)self, (furrow_direct_map)type, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  Py_RETURN_NONE;
}
