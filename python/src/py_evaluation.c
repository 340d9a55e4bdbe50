/* python/src/py_evaluation.c: figures of labelled rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "py_scorer.h"

#define SHARDS 8 /* a fixed number, so that sums of losses have the same digits for any number of threads */
#define CONFUSION_MAX 1024

typedef struct evaluating {
  fwpy_pieces pieces;
  furrow_evaluation *shards[SHARDS]; /* the first one, and those that have got rows: each takes some megabytes */
} evaluating;

static furrow_status count_piece(fwpy_pieces *pieces, size_t i, furrow_scorer_scratch *scratch,
                                 const furrow_rowblock *block, furrow_error *err) {
  furrow_evaluation **shard = &((evaluating *)pieces)->shards[i % SHARDS];
  furrow_status status = *shard ? FURROW_OK : furrow_evaluation_create(shard, pieces->reader->owner->scorer, err);
  return status == FURROW_OK ? furrow_evaluation_add_block(*shard, scratch, block, err) : status;
}

static furrow_status run_evaluation(void *user, fwpy_job *job, furrow_error *err) {
  evaluating *e = user;
  furrow_status status = furrow_evaluation_create(&e->shards[0], e->pieces.reader->owner->scorer, err);
  if (status == FURROW_OK) status = fwpy_reader_run(&e->pieces, SIZE_MAX, job, err);
  for (size_t i = 1; i < SHARDS && status == FURROW_OK; i++)
    if (e->shards[i]) furrow_evaluation_merge(e->shards[0], e->shards[i]);
  return status;
}

/* ---- As dicts --------------------------------------------------------------------------------------------- */

#define FIGURE(member) FWPY_FIELD(furrow_learn_metrics, member, FWPY_DOUBLE)
static const fwpy_field metric_fields[] = {FWPY_FIELD(furrow_learn_metrics, rows, FWPY_UINT64),
                                           FIGURE(weight),
                                           FIGURE(loss),
                                           FIGURE(auc),
                                           FIGURE(accuracy),
                                           FIGURE(logloss),
                                           FIGURE(rmse),
                                           FIGURE(mae),
                                           FIGURE(mean_label),
                                           FIGURE(mean_prediction),
                                           FIGURE(pr_auc),
                                           FIGURE(precision),
                                           FIGURE(recall),
                                           FIGURE(f1),
                                           FIGURE(r2),
                                           FIGURE(constant_logloss),
                                           FIGURE(constant_accuracy),
                                           FIGURE(constant_rmse),
                                           FIGURE(pinball),
                                           FIGURE(deviance),
                                           FIGURE(constant_loss),
                                           FWPY_FIELD(furrow_learn_metrics, binned, FWPY_UINT64),
                                           {0}};
#undef FIGURE

#define FIGURE(member) FWPY_FIELD(furrow_class_figures, member, FWPY_DOUBLE)
static const fwpy_field class_fields[] = {FIGURE(label),     FIGURE(rows),   FIGURE(predicted), FIGURE(right),
                                          FIGURE(precision), FIGURE(recall), FIGURE(f1),        {0}};
#undef FIGURE

#define FIGURE(member) FWPY_FIELD(furrow_calibration_bin, member, FWPY_DOUBLE)
static const fwpy_field bin_fields[] = {FIGURE(low),        FIGURE(high), FIGURE(rows), FIGURE(mean_prediction),
                                        FIGURE(mean_label), {0}};
#undef FIGURE

/* Sets an item and drops the reference to its value. */
static bool set_item(PyObject *dict, const char *name, PyObject *value) {
  const bool ok = value && PyDict_SetItemString(dict, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static bool append_item(PyObject *list, PyObject *value) {
  const bool ok = value && PyList_Append(list, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *list_classes(const furrow_evaluation *evaluation) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < furrow_evaluation_class_count(evaluation); i++) {
    furrow_class_figures figures;
    furrow_class_figures_init(&figures);
    furrow_evaluation_get_class(evaluation, i, &figures);
    if (!append_item(list, fwpy_get_fields(&figures, class_fields))) Py_CLEAR(list);
  }
  return list;
}

static PyObject *list_bins(const furrow_evaluation *evaluation, size_t bins) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < bins; i++) {
    furrow_calibration_bin bin;
    furrow_calibration_bin_init(&bin);
    furrow_evaluation_get_calibration_bin(evaluation, bins, i, &bin);
    if (!append_item(list, fwpy_get_fields(&bin, bin_fields))) Py_CLEAR(list);
  }
  return list;
}

/* classes x classes, row after row; empty for very many classes */
static PyObject *confusion(const furrow_evaluation *evaluation) {
  size_t classes = furrow_evaluation_class_count(evaluation);
  if (classes > CONFUSION_MAX) classes = 0;
  double *table = malloc((classes * classes + 1) * sizeof *table);
  if (!table) return PyErr_NoMemory();
  for (size_t i = 0; i < classes * classes; i++)
    table[i] = furrow_evaluation_confusion(evaluation, i / classes, i % classes);
  return fwpy_view_allocated(table, FWPY_F64, classes * classes);
}

/* x, y, threshold of one point after the other */
static PyObject *curve(const furrow_evaluation *evaluation, size_t capacity,
                       size_t (*get)(const furrow_evaluation *, furrow_curve_point *, size_t)) {
  furrow_curve_point *points = calloc(capacity + 1, sizeof *points);
  if (!points) return PyErr_NoMemory();
  const size_t count = capacity ? get(evaluation, points, capacity) : 0;
  return fwpy_view_allocated(points, FWPY_F64, 3 * count);
}

static PyObject *figures(const furrow_evaluation *evaluation, size_t bins, size_t points) {
  furrow_learn_metrics metrics;
  furrow_learn_metrics_init(&metrics);
  furrow_evaluation_get_metrics(evaluation, &metrics);
  PyObject *dict = fwpy_get_fields(&metrics, metric_fields);
  if (dict && set_item(dict, "classes", list_classes(evaluation)) &&
      set_item(dict, "confusion", confusion(evaluation)) &&
      set_item(dict, "calibration", list_bins(evaluation, bins)) &&
      set_item(dict, "roc", curve(evaluation, points, furrow_evaluation_roc_curve)) &&
      set_item(dict, "pr", curve(evaluation, points, furrow_evaluation_pr_curve)))
    return dict;
  Py_XDECREF(dict);
  return NULL;
}

/* evaluate(bins of the calibration table, points of curves, progress) -> dict */
PyObject *fwpy_reader_evaluate(PyObject *object, PyObject *args) {
  evaluating e = {.pieces = {.reader = (fwpy_score_reader *)object, .work = count_piece, .shards = SHARDS}};
  unsigned bins, points;
  PyObject *progress, *dict = NULL;
  if (!PyArg_ParseTuple(args, "IIO", &bins, &points, &progress)) return NULL;
  if (fwpy_job_run(run_evaluation, &e, progress)) dict = figures(e.shards[0], bins, points);
  for (size_t i = 0; i < SHARDS; i++) furrow_evaluation_free(e.shards[i]);
  return dict;
}
