/* python/src/py_score_reader.c: furrow._core.ScoreReader: the rows of a URI and their scores, as many as fit into the
 * caller's arrays, and then the next ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "py_scorer.h"

static PyTypeObject *reader_type;

/* ---- Opening ---------------------------------------------------------------------------------------------- */

typedef struct read_options {
  const char *format;
  uint32_t threads;
  bool skip_bad;
} read_options;

static const fwpy_field read_fields[] = {FWPY_FIELD(read_options, format, FWPY_TEXT),
                                         FWPY_FIELD(read_options, threads, FWPY_UINT32),
                                         FWPY_FIELD(read_options, skip_bad, FWPY_BOOL),
                                         {0}};

static PyObject *make_reader(PyObject *scorer, furrow_sample_reader *samples, unsigned threads) {
  fwpy_score_reader *self = fwpy_new(reader_type);
  if (!self) {
    furrow_sample_reader_close(samples);
    return NULL;
  }
  self->owner = (fwpy_scorer *)Py_NewRef(scorer);
  self->samples = samples;
  self->threads = threads;
  pthread_mutex_init(&self->mutex, NULL);
  return (PyObject *)self;
}

PyObject *fwpy_scorer_read(PyObject *object, PyObject *args) {
  const furrow_learn_conf *conf = furrow_scorer_conf(((fwpy_scorer *)object)->scorer);
  const char *uri;
  PyObject *dict;
  read_options options = {.format = "auto"};
  furrow_parser_params params;
  furrow_sample_reader *samples = NULL;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "sO!", &uri, &PyDict_Type, &dict) || !fwpy_set_fields(&options, dict, read_fields))
    return NULL;
  furrow_parser_params_init(&params);
  if (options.format) params.format = options.format;
  params.threads = options.threads;
  params.on_bad = options.skip_bad ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_sample_reader_open(&samples, conf, uri, &params, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? make_reader(object, samples, options.threads) : fwpy_raise(&err);
}

static void reader_dealloc(PyObject *object) {
  fwpy_score_reader *self = (fwpy_score_reader *)object;
  furrow_sample_reader *samples = self->samples;
  Py_BEGIN_ALLOW_THREADS; /* its end may release arrays, which takes the interpreter's lock in a thread of its own */
  furrow_sample_reader_close(samples);
  Py_END_ALLOW_THREADS;
  pthread_mutex_destroy(&self->mutex);
  Py_DECREF(self->owner);
  fwpy_delete(object);
}

/* ---- Blocks ----------------------------------------------------------------------------------------------- */

furrow_status fwpy_reader_next(fwpy_score_reader *self, size_t most, furrow_rowblock *rows, furrow_error *err) {
  while (!self->block || self->at == self->block->size) {
    if (self->ended) return FURROW_END;
    self->at = 0;
    self->block = NULL;
    const furrow_status status = furrow_sample_reader_next(self->samples, &self->block, err);
    if (status != FURROW_OK) self->ended = true;
    if (status != FURROW_OK) return status;
  }
  const size_t left = self->block->size - self->at, count = left < most ? left : most;
  const furrow_status status = furrow_rowblock_slice(self->block, self->at, self->at + count, rows, err);
  self->at += count;
  self->rows += count;
  return status;
}

static void fail_piece(fwpy_pieces *pieces, size_t i, const furrow_error *err) {
  pthread_mutex_lock(&pieces->reader->owner->mutex);
  if (pieces->status == FURROW_OK || i < pieces->failed) {
    pieces->failed = i;
    pieces->status = err->status;
    *pieces->err = *err;
  }
  pthread_mutex_unlock(&pieces->reader->owner->mutex);
}

static void do_piece(fwpy_pieces *pieces, size_t i) {
  fwpy_scorer *owner = pieces->reader->owner;
  furrow_scorer_scratch *scratch = NULL;
  furrow_rowblock block;
  furrow_error err;
  const size_t begin = i * FWPY_PIECE, left = pieces->block.size - begin;
  const size_t end = left < FWPY_PIECE ? pieces->block.size : begin + FWPY_PIECE;
  furrow_status status = furrow_rowblock_slice(&pieces->block, begin, end, &block, &err);
  if (!fwpy_job_progress(pieces->job, "scoring", pieces->first, 0)) /* a piece of trees may take long to explain */
    status = fwpy_fail(&err, FURROW_E_CANCELLED, "stopped by the caller");
  if (status == FURROW_OK) status = fwpy_scratch_take(owner, &scratch, &err);
  if (status == FURROW_OK) {
    status = pieces->work(pieces, i, scratch, &block, &err);
    if (status == FURROW_E_RANGE) fwpy_locate_error(owner->scorer, scratch, &block, pieces->first + begin, &err);
  }
  fwpy_scratch_give(owner, scratch);
  if (status != FURROW_OK) fail_piece(pieces, i, &err);
}

static void do_shard(void *user, size_t shard) {
  fwpy_pieces *pieces = user;
  const size_t shards = pieces->shards ? pieces->shards : pieces->count;
  for (size_t i = shard; i < pieces->count; i += shards) do_piece(pieces, i);
}

static furrow_status do_block(fwpy_pieces *pieces, fwpy_team *team, furrow_error *err) {
  pieces->count = (pieces->block.size + FWPY_PIECE - 1) / FWPY_PIECE;
  const size_t shards = pieces->shards && pieces->shards < pieces->count ? pieces->shards : pieces->count;
  furrow_status status = pieces->before ? pieces->before(pieces, pieces->count, err) : FURROW_OK;
  if (status != FURROW_OK) return status;
  fwpy_team_run(team, do_shard, pieces, shards);
  if (pieces->status != FURROW_OK) return pieces->status;
  return pieces->after ? pieces->after(pieces, err) : FURROW_OK;
}

furrow_status fwpy_reader_run(fwpy_pieces *pieces, size_t most, fwpy_job *job, furrow_error *err) {
  fwpy_score_reader *reader = pieces->reader;
  size_t done = 0;
  pieces->err = err;
  pieces->job = job;
  fwpy_team *team = fwpy_team_start(reader->threads);
  if (!team) return fwpy_fail(err, FURROW_E_MEMORY, "out of memory");
  pthread_mutex_lock(&reader->mutex);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && done < most) {
    pieces->first = reader->rows;
    status = fwpy_reader_next(reader, most - done, &pieces->block, err);
    if (status != FURROW_OK) break;
    pieces->done = done;
    done += pieces->block.size;
    status = do_block(pieces, team, err);
    if (status == FURROW_OK && !fwpy_job_progress(job, "scoring", reader->rows, 0))
      status = fwpy_fail(err, FURROW_E_CANCELLED, "stopped by the caller");
  }
  pthread_mutex_unlock(&reader->mutex);
  fwpy_team_stop(team);
  pieces->done = done;
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Scores ----------------------------------------------------------------------------------------------- */

/* Arrays of the caller's. */
typedef struct fill {
  fwpy_pieces pieces;
  double *out;
  size_t capacity; /* rows */
  size_t classes;
} fill;

static furrow_status fill_scores(fwpy_pieces *pieces, size_t i, furrow_scorer_scratch *scratch,
                                 const furrow_rowblock *block, furrow_error *err) {
  const fill *f = (const fill *)pieces;
  furrow_score scores[FWPY_PIECE];
  const size_t begin = i * FWPY_PIECE;
  const furrow_status status =
      fwpy_score_block(pieces->reader->owner->scorer, scratch, block, pieces->first + begin, scores, err);
  double *out = f->out + pieces->done + begin;
  for (size_t row = 0; status == FURROW_OK && row < block->size; row++) {
    out[row] = scores[row].pred;
    out[f->capacity + row] = scores[row].proba;
    out[2 * f->capacity + row] = scores[row].label;
  }
  return status;
}

static furrow_status fill_probabilities(fwpy_pieces *pieces, size_t i, furrow_scorer_scratch *scratch,
                                        const furrow_rowblock *block, furrow_error *err) {
  const fill *f = (const fill *)pieces;
  const size_t begin = i * FWPY_PIECE;
  double *out = f->out + (pieces->done + begin) * f->classes;
  return fwpy_class_probabilities(pieces->reader->owner->scorer, scratch, block, pieces->first + begin, out, err);
}

static furrow_status run_fill(void *user, fwpy_job *job, furrow_error *err) {
  fill *f = user;
  return fwpy_reader_run(&f->pieces, f->capacity, job, err);
}

static PyObject *run_and_count(fill *f, Py_buffer *out, PyObject *progress) {
  f->out = out->buf;
  const bool ok = fwpy_job_run(run_fill, f, progress);
  PyBuffer_Release(out);
  return ok ? PyLong_FromSize_t(f->pieces.done) : NULL;
}

/* scores(out f64 3 x capacity, progress) -> rows that were scored: fewer than fit at the end alone */
static PyObject *reader_scores(PyObject *object, PyObject *args) {
  fill f = {.pieces = {.reader = (fwpy_score_reader *)object, .work = fill_scores}};
  PyObject *array, *progress;
  Py_buffer out;
  if (!PyArg_ParseTuple(args, "OO", &array, &progress) || !fwpy_get_output(array, "out", FWPY_F64, 2, &out))
    return NULL;
  f.capacity = (size_t)out.shape[1];
  if (out.shape[0] == 3) return run_and_count(&f, &out, progress);
  PyBuffer_Release(&out);
  return PyErr_Format(PyExc_ValueError, "out is not 3 x rows");
}

/* probabilities(out f64 capacity x classes, progress): likewise, for models of more than two classes */
static PyObject *reader_probabilities(PyObject *object, PyObject *args) {
  fill f = {.pieces = {.reader = (fwpy_score_reader *)object, .work = fill_probabilities}};
  PyObject *array, *progress;
  Py_buffer out;
  if (!PyArg_ParseTuple(args, "OO", &array, &progress) || !fwpy_get_output(array, "out", FWPY_F64, 2, &out))
    return NULL;
  f.capacity = (size_t)out.shape[0];
  f.classes = furrow_scorer_class_count(f.pieces.reader->owner->scorer);
  if ((size_t)out.shape[1] == f.classes) return run_and_count(&f, &out, progress);
  PyBuffer_Release(&out);
  return PyErr_Format(PyExc_ValueError, "out is not rows x %zu", f.classes);
}

/* ---- The type --------------------------------------------------------------------------------------------- */

static PyMethodDef reader_methods[] = {{"scores", reader_scores, METH_VARARGS, NULL},
                                       {"probabilities", reader_probabilities, METH_VARARGS, NULL},
                                       {"evaluate", fwpy_reader_evaluate, METH_VARARGS, NULL},
                                       {"contributions", fwpy_reader_contributions, METH_VARARGS, NULL},
                                       {NULL, NULL, 0, NULL}};

static PyType_Slot reader_slots[] = {{Py_tp_dealloc, reader_dealloc}, {Py_tp_methods, reader_methods}, {0, NULL}};
static PyType_Spec reader_spec = {"furrow._core.ScoreReader", sizeof(fwpy_score_reader), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, reader_slots};

int fwpy_add_score_reader(PyObject *module) {
  return fwpy_add_type(module, &reader_spec, &reader_type);
}
