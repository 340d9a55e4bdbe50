/* python/src/py_index_choose.c: which index suits some vectors, its factory string, and its search settings. */
#include "py_index.h"

/* ---- Choosing --------------------------------------------------------------------------------------------- */

static const fwpy_field wish_fields[] = {
    FWPY_FIELD(furrow_index_wish, n, FWPY_UINT64),         FWPY_FIELD(furrow_index_wish, d, FWPY_INT32),
    FWPY_FIELD(furrow_index_wish, metric, FWPY_UINT32),    FWPY_FIELD(furrow_index_wish, normalize, FWPY_BOOL),
    FWPY_FIELD(furrow_index_wish, ids, FWPY_BOOL),         FWPY_FIELD(furrow_index_wish, recall, FWPY_DOUBLE),
    FWPY_FIELD(furrow_index_wish, max_bytes, FWPY_UINT64), {0}};

static const fwpy_field selection_fields[] = {
    FWPY_FIELD(furrow_index_selection, factory, FWPY_CHARS), FWPY_FIELD(furrow_index_selection, bytes, FWPY_UINT64),
    FWPY_FIELD(furrow_index_selection, nlist, FWPY_UINT64),  FWPY_FIELD(furrow_index_selection, nprobe, FWPY_UINT64),
    FWPY_FIELD(furrow_index_selection, m, FWPY_UINT64),      {0}};

/* choose(wish) */
static PyObject *choose(PyObject *module, PyObject *args) {
  PyObject *dict;
  furrow_index_wish wish;
  furrow_index_selection selection;
  furrow_error err;
  (void)module;
  furrow_index_wish_init(&wish);
  furrow_index_selection_init(&selection);
  if (!PyArg_ParseTuple(args, "O", &dict) || !fwpy_set_fields(&wish, dict, wish_fields)) return NULL;
  if (furrow_index_choose(&wish, &selection, &err) != FURROW_OK) return fwpy_raise(&err);
  return fwpy_get_fields(&selection, selection_fields);
}

PyMethodDef fwpy_index_choose_methods[] = {{"choose", choose, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

/* ---- The string of an index ------------------------------------------------------------------------------- */

PyObject *fwpy_index_factory(PyObject *self, PyObject *unused) {
  index_object *own = (index_object *)self;
  furrow_error err;
  char *text = NULL;
  (void)unused;
  furrow_status status = fwpy_index_begin_read(own, &err);
  if (status == FURROW_OK) {
    status = furrow_index_factory(own->index, &text, &err);
    fwpy_index_end_read(own);
  }
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *string = PyUnicode_FromString(text);
  furrow_free(text);
  return string;
}

/* ---- Tuning ----------------------------------------------------------------------------------------------- */

typedef struct tune_call {
  index_object *self;
  Py_buffer queries, truth, own;
  furrow_index_tune_params params;
  furrow_index_tuning tuning;
} tune_call;

static const fwpy_field tuning_fields[] = {
    FWPY_FIELD(furrow_index_tuning, reached, FWPY_BOOL),   FWPY_FIELD(furrow_index_tuning, recall, FWPY_DOUBLE),
    FWPY_FIELD(furrow_index_tuning, nprobe, FWPY_UINT64),  FWPY_FIELD(furrow_index_tuning, ef_search, FWPY_INT32),
    FWPY_FIELD(furrow_index_tuning, k_factor, FWPY_FLOAT), {0}};

static furrow_status tune_job(void *user, fwpy_job *job, furrow_error *err) {
  tune_call *c = user;
  (void)job;
  furrow_status status = fwpy_index_begin_change(c->self, err);
  if (status != FURROW_OK) return status;
  c->params.own_ids = c->own.buf;
  status = furrow_index_tune(c->self->index, c->queries.buf, (size_t)c->queries.shape[0], c->truth.buf,
                             (size_t)c->truth.shape[1], &c->params, &c->tuning, err);
  fwpy_index_end_change(c->self);
  return status;
}

static bool run_tune(tune_call *c) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(c->self->index, &info);
  const Py_ssize_t n = c->queries.shape[0];
  if (c->truth.shape[0] != n || (c->own.buf && c->own.shape[0] != n) || c->queries.shape[1] != info.d) {
    PyErr_SetString(PyExc_ValueError, "shapes of queries, truth and own do not fit each other");
    return false;
  }
  return fwpy_job_run(tune_job, c, Py_None);
}

/* tune(queries, truth, own, recall, threads); own: None if the queries are not in the index */
PyObject *fwpy_index_tune(PyObject *self, PyObject *args) {
  PyObject *queries, *truth, *own;
  tune_call c = {.self = (index_object *)self};
  bool ok = false;
  furrow_index_tune_params_init(&c.params);
  furrow_index_tuning_init(&c.tuning);
  if (!PyArg_ParseTuple(args, "OOOdI", &queries, &truth, &own, &c.params.recall, &c.params.threads) ||
      !fwpy_get_array(queries, "queries", FWPY_F32, 2, &c.queries))
    return NULL;
  if (fwpy_get_array(truth, "truth", FWPY_I64, 2, &c.truth)) {
    if (own == Py_None || fwpy_get_array(own, "own", FWPY_I64, 1, &c.own)) {
      ok = run_tune(&c);
      if (c.own.buf) PyBuffer_Release(&c.own);
    }
    PyBuffer_Release(&c.truth);
  }
  PyBuffer_Release(&c.queries);
  return ok ? fwpy_get_fields(&c.tuning, tuning_fields) : NULL;
}

/* ---- The card --------------------------------------------------------------------------------------------- */

static const fwpy_field card_fields[] = {FWPY_FIELD(furrow_index_card, factory, FWPY_CHARS),
                                         FWPY_FIELD(furrow_index_card, removed, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_card, recall, FWPY_DOUBLE),
                                         FWPY_FIELD(furrow_index_card, recall_k, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_card, recall_queries, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_card, recall_vectors, FWPY_UINT64),
                                         FWPY_FIELD(furrow_index_card, distance_ratio, FWPY_DOUBLE),
                                         FWPY_FIELD(furrow_index_card, stale, FWPY_BOOL),
                                         FWPY_FIELD(furrow_index_card, advice, FWPY_CHARS),
                                         {0}};

static const fwpy_field card_vectors_fields[] = {FWPY_FIELD(furrow_card_vectors, vectors, FWPY_UINT64),
                                                 FWPY_FIELD(furrow_card_vectors, digest, FWPY_UINT64),
                                                 FWPY_FIELD(furrow_card_vectors, measured, FWPY_UINT64),
                                                 FWPY_FIELD(furrow_card_vectors, mean, FWPY_DOUBLE),
                                                 FWPY_FIELD(furrow_card_vectors, median, FWPY_DOUBLE),
                                                 FWPY_FIELD(furrow_card_vectors, far, FWPY_DOUBLE),
                                                 {0}};

/* card(): (the card, vectors of the build, vectors added since), or None */
PyObject *fwpy_index_card(PyObject *self, PyObject *unused) {
  index_object *own = (index_object *)self;
  furrow_index_card card;
  furrow_error err;
  (void)unused;
  furrow_index_card_init(&card);
  furrow_status status = fwpy_index_begin_read(own, &err);
  if (status == FURROW_OK) {
    status = furrow_index_get_card(own->index, &card, &err);
    fwpy_index_end_read(own);
  }
  if (status == FURROW_E_NOT_FOUND) Py_RETURN_NONE;
  if (status != FURROW_OK) return fwpy_raise(&err);
  return Py_BuildValue("NNN", fwpy_get_fields(&card, card_fields), fwpy_get_fields(&card.built, card_vectors_fields),
                       fwpy_get_fields(&card.added, card_vectors_fields));
}

/* end_build(): vectors that come later count as added */
PyObject *fwpy_index_end_build(PyObject *self, PyObject *unused) {
  index_object *own = (index_object *)self;
  furrow_error err;
  (void)unused;
  if (fwpy_index_begin_change(own, &err) != FURROW_OK) return fwpy_raise(&err);
  furrow_index_end_build(own->index);
  fwpy_index_end_change(own);
  Py_RETURN_NONE;
}
