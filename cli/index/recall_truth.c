/* cli/index/recall_truth.c: the true neighbours of queries, and the recall of search results. */
#include "index/recall_truth.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/fail.h"
#include "index/index_edit.h"

#define MATRIX_MEMORY ((size_t)1 << 30)

const option truth_options[] = {
    {.name = "base",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "the vectors of the index: each query is compared with all of them",
     .offset = offsetof(truth_values, base)},
    {.name = "from-model",
     .kind = OPTION_TEXT,
     .argument = "FOLDER",
     .help = "or: the vectors of one of Angel's matrices, MODEL/MATRIX, as in 'furrow index build'",
     .offset = offsetof(truth_values, model)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help =
         "part of the matrix that is a vector: a row or a column (auto: a column if the matrix is stored by columns)",
     .offset = offsetof(truth_values, axis)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "ids of those vectors in the index, if not 0, 1, 2 ...; of a Parquet file its column; with --from-model "
             "A:B, the "
             "range of ids",
     .offset = offsetof(truth_values, ids)},
    {.name = "truth",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "or: a file with the true ids, nearest first, a row for each query: .ivecs .ibin .npy",
     .offset = offsetof(truth_values, truth)},
    {0}};

furrow_status truth_check(const truth_values *values, furrow_error *err) {
  if ((values->base != NULL) + (values->model != NULL) + (values->truth != NULL) != 1)
    return fail(err, FURROW_E_ARGUMENT, "exactly one of --base, --from-model and --truth is needed");
  if (values->ids && values->truth) return fail(err, FURROW_E_ARGUMENT, "--ids needs --base or --from-model");
  if (values->axis != FURROW_AXIS_AUTO && !values->model)
    return fail(err, FURROW_E_ARGUMENT, "--by needs --from-model");
  return FURROW_OK;
}

const char *truth_name(const truth_values *values) {
  return values->base ? values->base : values->model ? values->model : values->truth;
}

void truth_clear(truth *t) {
  furrow_ids_clear(&t->near);
}

/* ---- Reading it ----------------------------------------------------------------------------------------- */

static furrow_status load_truth(truth *t, const char *path, size_t queries, furrow_error *err) {
  furrow_status status = furrow_ids_load(&t->near, path, NULL, err);
  if (status != FURROW_OK) return status;
  const size_t rows = t->near.count / t->near.dim;
  if (rows >= queries) return FURROW_OK;
  return fail_in(err, FURROW_E_FORMAT, path, "has %zu row%s for %zu quer%s", rows, rows == 1 ? "" : "s", queries,
                 queries == 1 ? "y" : "ies");
}

/* ---- Finding it ----------------------------------------------------------------------------------------- */

/* Replaces positions of vectors by their ids. */
static furrow_status give_ids(furrow_ids *near, const char *path, furrow_error *err) {
  furrow_ids names;
  furrow_ids_init(&names);
  furrow_status status = furrow_ids_load(&names, path, NULL, err);
  for (size_t i = 0; status == FURROW_OK && i < near->count; i++) {
    if (near->ids[i] < 0) continue;
    if ((size_t)near->ids[i] >= names.count) {
      status = fail_in(err, FURROW_E_FORMAT, path, "has %zu ids, fewer than there are vectors", names.count);
    } else {
      near->ids[i] = names.ids[near->ids[i]];
    }
  }
  furrow_ids_clear(&names);
  return status;
}

static furrow_status compare_all(truth *t, furrow_vectors_reader *base, const vector_block *queries, size_t k,
                                 const furrow_exact_search_params *params, furrow_error *err) {
  float *distances = malloc(queries->count * k * sizeof *distances);
  t->near.ids = malloc(queries->count * k * sizeof *t->near.ids);
  t->near.count = queries->count * k;
  t->near.dim = k;
  furrow_status status = distances && t->near.ids ? FURROW_OK : fail_memory(err);
  if (status == FURROW_OK)
    status = furrow_exact_search(base, queries->values, queries->count, k, params, distances, t->near.ids, err);
  free(distances);
  return status;
}

static furrow_status open_base(furrow_vectors_reader **base, const truth_values *values, const vector_values *vectors,
                               size_t d, unsigned threads, furrow_error *err) {
  const matrix_values matrix = {.path = values->model, .axis = values->axis, .ids = values->ids};
  vector_values own = *vectors;
  if (values->model) return vector_source_open_matrix(base, &matrix, d, MATRIX_MEMORY, threads, err);
  if (!vector_source_is_table(values->base, vectors)) own.column = NULL; /* it is of the queries */
  own.ids = vector_source_column(values->base, vectors, values->ids);
  return vector_source_open(base, values->base, &own, d, err);
}

furrow_status truth_find(truth *t, const truth_values *values, const vector_values *vectors,
                         const vector_block *queries, size_t k, const furrow_index *index, unsigned threads,
                         index_job *job, furrow_error *err) {
  furrow_vectors_reader *base = NULL;
  furrow_index_info info;
  furrow_exact_search_params params;
  t->base_count = FURROW_COUNT_UNKNOWN;
  if (values->truth) return load_truth(t, values->truth, queries->count, err);
  furrow_exact_search_params_init(&params);
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  params.metric = info.metric;
  params.normalize = scales_vectors(index);
  params.threads = threads;
  params.progress = index_job_progress;
  params.user = job;
  furrow_status status = open_base(&base, values, vectors, queries->d, threads, err);
  if (status == FURROW_OK) t->base_count = furrow_vectors_reader_count(base);
  if (status == FURROW_OK) status = index_job_status(compare_all(t, base, queries, k, &params, err), err);
  const bool listed = values->ids && values->base && !vector_source_column(values->base, vectors, values->ids);
  if (status == FURROW_OK && listed) status = give_ids(&t->near, values->ids, err);
  furrow_vectors_reader_close(base);
  return status;
}

/* ---- Comparing ------------------------------------------------------------------------------------------ */

static bool is_among(int64_t id, const int64_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (ids[i] == id) return true;
  return false;
}

/* Share of queries whose nearest vector is among the first `depth` results; NaN: there are fewer results. */
static double first_among(const truth *t, size_t n, size_t k, const int64_t *ids, size_t depth) {
  size_t found = 0;
  if (depth > k) return NAN;
  for (size_t q = 0; q < n; q++) found += is_among(t->near.ids[q * t->near.dim], ids + q * k, depth);
  return (double)found / (double)n;
}

/* Share of the `depth` nearest vectors among the first `depth` results; NaN: there are fewer results or neighbours. */
static double share_among(const truth *t, size_t n, size_t k, const int64_t *ids, size_t depth) {
  size_t found = 0;
  if (depth > k || depth > t->near.dim) return NAN;
  for (size_t q = 0; q < n; q++) {
    const int64_t *near = t->near.ids + q * t->near.dim;
    if (near[depth - 1] == -1) return NAN;
    for (size_t i = 0; i < depth; i++) found += is_among(near[i], ids + q * k, depth);
  }
  return (double)found / ((double)n * (double)depth);
}

void truth_compare(const truth *t, size_t n, size_t k, const int64_t *ids, recall_point *point) {
  static const size_t depths[] = {1, 10, 100};
  for (size_t i = 0; i < 3; i++) point->first_in[i] = first_among(t, n, k, ids, depths[i]);
  point->shared = share_among(t, n, k, ids, 10);
}
