/* python/src/py_explain.c: what features contribute, weights, trees. */
#include <stdlib.h>
#include <string.h>

#include "py_scorer.h"

/* ---- Lists that grow -------------------------------------------------------------------------------------- */

/* Elements of 8 bytes. */
typedef struct word_list {
  uint64_t *words;
  size_t count, capacity;
} word_list;

static bool add_words(word_list *list, const void *words, size_t count) {
  if (list->count + count > list->capacity) {
    const size_t capacity = 2 * list->capacity + count + 16;
    uint64_t *grown = realloc(list->words, capacity * sizeof *grown);
    if (!grown) return false;
    list->words = grown;
    list->capacity = capacity;
  }
  if (count > 0) memcpy(list->words + list->count, words, count * sizeof *list->words);
  list->count += count;
  return true;
}

/* Contributions of some rows: CSR of features and values, and two numbers for each class. */
enum { OFFSETS, FEATURES, VALUES, BIAS, OUTPUTS, PARTS };
typedef struct explained {
  word_list lists[PARTS];
} explained;

static void explained_clear(explained *e) {
  for (size_t i = 0; i < PARTS; i++) free(e->lists[i].words);
  memset(e, 0, sizeof *e);
}

static bool explained_add(explained *e, const furrow_contributions *c) {
  const uint64_t end = e->lists[FEATURES].count + c->count;
  return add_words(&e->lists[FEATURES], c->features, c->count) &&
         add_words(&e->lists[VALUES], c->values, c->count * c->classes) &&
         add_words(&e->lists[BIAS], c->bias, c->classes) && add_words(&e->lists[OUTPUTS], c->outputs, c->classes) &&
         add_words(&e->lists[OFFSETS], &end, 1);
}

/* Appends rows; the offsets of `from` count from its own start. */
static bool explained_append(explained *e, explained *from) {
  const uint64_t before = e->lists[FEATURES].count;
  for (size_t i = 0; i < from->lists[OFFSETS].count; i++) from->lists[OFFSETS].words[i] += before;
  for (size_t i = 0; i < PARTS; i++)
    if (!add_words(&e->lists[i], from->lists[i].words, from->lists[i].count)) return false;
  return true;
}

/* ---- Contributions ---------------------------------------------------------------------------------------- */

typedef struct explaining {
  fwpy_pieces pieces;
  explained all;
  explained *parts; /* results of the pieces of a block */
  size_t part_count;
  size_t most; /* rows */
} explaining;

static void drop_parts(explaining *e) {
  for (size_t i = 0; i < e->part_count; i++) explained_clear(&e->parts[i]);
  free(e->parts);
  e->parts = NULL;
  e->part_count = 0;
}

static furrow_status make_parts(fwpy_pieces *pieces, size_t count, furrow_error *err) {
  explaining *e = (explaining *)pieces;
  drop_parts(e);
  e->parts = calloc(count, sizeof *e->parts);
  if (!e->parts) return fwpy_fail(err, FURROW_E_MEMORY, "out of memory");
  e->part_count = count;
  return FURROW_OK;
}

static furrow_status explain_piece(fwpy_pieces *pieces, size_t i, furrow_scorer_scratch *scratch,
                                   const furrow_rowblock *block, furrow_error *err) {
  explained *part = &((explaining *)pieces)->parts[i];
  furrow_status status = FURROW_OK;
  for (size_t r = 0; r < block->size && status == FURROW_OK; r++) {
    const furrow_row row = furrow_rowblock_row(block, r);
    furrow_contributions contributions;
    furrow_contributions_init(&contributions);
    status = furrow_scorer_contributions(pieces->reader->owner->scorer, scratch, &row, &contributions, err);
    if (status == FURROW_OK && !explained_add(part, &contributions))
      status = fwpy_fail(err, FURROW_E_MEMORY, "out of memory");
  }
  return status;
}

static furrow_status join_parts(fwpy_pieces *pieces, furrow_error *err) {
  explaining *e = (explaining *)pieces;
  bool ok = true;
  for (size_t i = 0; i < e->part_count && ok; i++) ok = explained_append(&e->all, &e->parts[i]);
  drop_parts(e);
  return ok ? FURROW_OK : fwpy_fail(err, FURROW_E_MEMORY, "out of memory");
}

static furrow_status run_explaining(void *user, fwpy_job *job, furrow_error *err) {
  explaining *e = user;
  const uint64_t zero = 0;
  if (!add_words(&e->all.lists[OFFSETS], &zero, 1)) return fwpy_fail(err, FURROW_E_MEMORY, "out of memory");
  return fwpy_reader_run(&e->pieces, e->most, job, err);
}

static PyObject *take_list(word_list *list, fwpy_dtype dtype) {
  void *words = list->words;
  list->words = NULL;
  return fwpy_view_allocated(words, dtype, list->count);
}

static PyObject *take_all(explained *all) {
  PyObject *views[PARTS], *tuple = NULL;
  for (size_t i = 0; i < PARTS; i++) views[i] = take_list(&all->lists[i], i <= FEATURES ? FWPY_U64 : FWPY_F64);
  if (!PyErr_Occurred())
    tuple = PyTuple_Pack(PARTS, views[OFFSETS], views[FEATURES], views[VALUES], views[BIAS], views[OUTPUTS]);
  for (size_t i = 0; i < PARTS; i++) Py_XDECREF(views[i]);
  return tuple;
}

/* contributions(most rows, progress) -> indptr, features, values, bias, outputs */
PyObject *fwpy_reader_contributions(PyObject *object, PyObject *args) {
  explaining e = {
      .pieces = {
          .reader = (fwpy_score_reader *)object, .work = explain_piece, .before = make_parts, .after = join_parts}};
  Py_ssize_t most;
  PyObject *progress, *tuple = NULL;
  if (!PyArg_ParseTuple(args, "nO", &most, &progress)) return NULL;
  e.most = most < 0 ? SIZE_MAX : (size_t)most;
  if (fwpy_job_run(run_explaining, &e, progress)) tuple = take_all(&e.all);
  drop_parts(&e);
  explained_clear(&e.all);
  return tuple;
}

/* ---- Weights ---------------------------------------------------------------------------------------------- */

/* features(first, end) -> ids u64 of the features of that range that the model has */
PyObject *fwpy_scorer_features(PyObject *object, PyObject *args) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  unsigned long long first, end;
  uint64_t *ids = NULL;
  size_t count = 0;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "KK", &first, &end)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_scorer_features(scorer, first, end, &ids, &count, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_view_take(ids, FWPY_U64, count) : fwpy_raise(&err);
}

static furrow_status get_weights(const furrow_scorer *scorer, const Py_buffer *features, const Py_buffer *out,
                                 double *bias, furrow_error *err) {
  const size_t classes = furrow_scorer_class_count(scorer);
  furrow_status status = furrow_scorer_bias(scorer, bias, err);
  for (Py_ssize_t i = 0; i < features->shape[0] && status == FURROW_OK; i++)
    status = furrow_scorer_feature_weights(scorer, ((const uint64_t *)features->buf)[i],
                                           (double *)out->buf + (size_t)i * classes, NULL, err);
  return status;
}

/* weights(features u64, out f64 features x classes, bias f64 classes) */
PyObject *fwpy_scorer_weights(PyObject *object, PyObject *args) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  const Py_ssize_t classes = (Py_ssize_t)furrow_scorer_class_count(scorer);
  PyObject *ids, *array, *biases;
  Py_buffer features, out, bias;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "OOO", &ids, &array, &biases) || !fwpy_get_array(ids, "features", FWPY_U64, 1, &features))
    return NULL;
  if (!fwpy_get_output(array, "out", FWPY_F64, 2, &out)) goto release_features;
  if (!fwpy_get_output(biases, "bias", FWPY_F64, 1, &bias)) goto release_out;
  if (out.shape[0] == features.shape[0] && out.shape[1] == classes && bias.shape[0] == classes) {
    Py_BEGIN_ALLOW_THREADS;
    status = get_weights(scorer, &features, &out, bias.buf, &err);
    Py_END_ALLOW_THREADS;
    if (status != FURROW_OK) fwpy_raise(&err);
  } else {
    PyErr_SetString(PyExc_ValueError, "the shapes of weights do not fit");
  }
  PyBuffer_Release(&bias);
release_out:
  PyBuffer_Release(&out);
release_features:
  PyBuffer_Release(&features);
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

/* ---- Trees ------------------------------------------------------------------------------------------------ */

static const fwpy_field forest_fields[] = {FWPY_FIELD(furrow_forest_info, trees, FWPY_SIZE),
                                           FWPY_FIELD(furrow_forest_info, classes, FWPY_SIZE),
                                           FWPY_FIELD(furrow_forest_info, levels, FWPY_UINT32),
                                           FWPY_FIELD(furrow_forest_info, depth, FWPY_UINT32),
                                           FWPY_FIELD(furrow_forest_info, leaves, FWPY_UINT64),
                                           FWPY_FIELD(furrow_forest_info, sums, FWPY_BOOL),
                                           {0}};

PyObject *fwpy_scorer_forest(PyObject *object, PyObject *unused) {
  furrow_forest_info info;
  (void)unused;
  furrow_forest_info_init(&info);
  furrow_scorer_get_forest_info(((fwpy_scorer *)object)->scorer, &info);
  return fwpy_get_fields(&info, forest_fields);
}

/* trees(format, first, end) -> text */
PyObject *fwpy_scorer_trees(PyObject *object, PyObject *args) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  int format;
  Py_ssize_t first, end;
  char *text = NULL;
  size_t size = 0;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  if (!PyArg_ParseTuple(args, "inn", &format, &first, &end)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_scorer_describe_trees(scorer, (furrow_describe_format)format, (size_t)first, (size_t)end, &text,
                                        &size, &err);
  Py_END_ALLOW_THREADS;
  return status == FURROW_OK ? fwpy_take_text(text, size) : fwpy_raise(&err);
}

static PyObject *importance_tuple(const furrow_feature_importance *one) {
  return Py_BuildValue("(iKdd)", (int)one->feature, (unsigned long long)one->count, one->gain, one->cover);
}

/* importance() -> [(feature, splits, gain, cover), …] */
PyObject *fwpy_scorer_importance(PyObject *object, PyObject *unused) {
  const furrow_scorer *scorer = ((fwpy_scorer *)object)->scorer;
  furrow_feature_importance *all = NULL;
  size_t count = 0;
  furrow_error err;
  furrow_status status = FURROW_E_ARGUMENT;
  (void)unused;
  Py_BEGIN_ALLOW_THREADS;
  status = furrow_scorer_feature_importance(scorer, &all, &count, &err);
  Py_END_ALLOW_THREADS;
  if (status != FURROW_OK) return fwpy_raise(&err);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count; i++) {
    PyObject *item = importance_tuple(&all[i]);
    if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  furrow_free(all);
  return list;
}
