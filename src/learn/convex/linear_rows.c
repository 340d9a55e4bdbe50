/* learn/convex/linear_rows.c: the rows of a linear problem, copied, moved to the ranks that have their blocks, and
 * transposed. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "learn/convex/linear_parts.h"
#include "learn/data/data_facts.h"
#include "learn/data/minibatch.h"

enum { MOST_BLOCKS = 64, LEAST_ROWS = 256, MOST_SEGMENTS = 256, LEAST_USES = 1 << 14 };

/* ---- Arrays that are divided among ranks: all ranks make the same calls, and fail together ---- */

/* Replaces this rank's ascending keys by the union of all ranks' keys, ascending. */
static furrow_status share_keys(const furrow_comm *comm, uint64_t **keys, size_t *count, furrow_error *err) {
  void *all = NULL;
  size_t size = 0, kept = 0;
  FW_TRY(fw_comm_gather_all(comm, *keys, *count * sizeof **keys, &all, &size, NULL, err));
  uint64_t *joined = all;
  fw_sort_u64(joined, size / sizeof *joined);
  for (size_t i = 0; i < size / sizeof *joined; i++)
    if (i == 0 || joined[i] != joined[i - 1]) joined[kept++] = joined[i];
  fw_free(*keys);
  *keys = joined;
  *count = kept;
  return FURROW_OK;
}

/* Sends elements begin[r] … begin[r + 1] - 1, of `bytes` bytes each, to rank r. Replaces *array by the elements that
 * this rank received, in the order of the ranks that sent them, and sets *count (may be NULL) to their number. */
static furrow_status share_move(const fw_linear_problem *p, void **array, size_t bytes, const size_t *begin,
                                size_t *count, furrow_error *err) {
  size_t *send = p->sizes, *receive = p->sizes + p->comm->ranks, total = 0;
  void *received = NULL;
  for (unsigned r = 0; r < p->comm->ranks; r++) send[r] = (begin[r + 1] - begin[r]) * bytes;
  FW_TRY(fw_comm_exchange_all(p->comm, *array, send, &received, receive, err));
  for (unsigned r = 0; r < p->comm->ranks; r++) total += receive[r];
  fw_free(*array);
  *array = received;
  if (count) *count = total / bytes;
  return FURROW_OK;
}
#define SHARE_MOVE(p, array, begin, count, err) share_move(p, (void **)(array), sizeof **(array), begin, count, err)

furrow_status fw_linear_gather(const fw_linear_problem *p, const void *own, void *all, size_t bytes,
                               const size_t *begin, furrow_error *err) {
  for (unsigned r = 0; r < p->comm->ranks; r++) p->sizes[r] = (begin[r + 1] - begin[r]) * bytes;
  return p->comm->gather(p->comm, own, p->sizes[p->comm->rank], all, p->sizes, err);
}

/* ---- Copying the rows ---- */

/* Numbers the rows of all ranks; this rank's rows begin at *first. *values: whether some rank has a value other than
 * 1. */
static furrow_status count_rows(fw_linear_problem *p, const fw_linear_params *params, uint64_t *first, uint64_t *all,
                                uint64_t *values, furrow_error *err) {
  p->rows = params->use ? params->count : params->rows->size;
  *values = fw_block_has_values(params->rows);
  FW_TRY(fw_comm_offset(p->comm, p->rows, first, all, err));
  FW_TRY(fw_comm_max_u64(p->comm, values, 1, err));
  if (*all == 0) return fw_fail(err, FURROW_E_ARGUMENT, "there are no rows to learn from");
  if (*all > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "%" PRIu64 " rows are more than 2^32 - 1", *all);
  return FURROW_OK;
}

static bool takes_label(const fw_linear_params *params, double label) {
  if (params->loss == FW_LOSS_LOG) return label == 1 || label == -1;
  if (params->loss == FW_LOSS_SOFTMAX) return label >= 0 && label < (double)params->outputs && label == floor(label);
  return isfinite(label) && (label >= 0 || params->loss != FW_LOSS_POISSON);
}

static furrow_status check_row(const fw_linear_params *params, size_t row, furrow_error *err) {
  if (!takes_label(params, params->label[row]))
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": %s cannot take the label %g", params->first_row + row + 1,
                   fw_loss_name(params->loss), params->label[row]);
  if (params->weight && !(params->weight[row] >= 0 && isfinite(params->weight[row])))
    return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 ": the weight %g is not a number from 0 on",
                   params->first_row + row + 1, params->weight[row]);
  return FURROW_OK;
}

static size_t row_number(const fw_linear_params *params, size_t i) {
  return params->use ? params->use[i] : i;
}

/* Allocates the rows, and fills offset, label and weight. */
static furrow_status take_rows(fw_linear_problem *p, const fw_linear_params *params, bool values, double *total,
                               furrow_error *err) {
  const furrow_rowblock *rows = params->rows;
  FW_TRY(FW_ALLOC(&p->offset, p->rows + 1, err));
  FW_TRY(FW_ALLOC(&p->label, p->rows, err));
  if (params->weight) FW_TRY(FW_ALLOC(&p->weight, p->rows, err));
  p->offset[0] = 0;
  for (size_t i = 0; i < p->rows; i++) {
    const size_t row = row_number(params, i);
    assert(row < rows->size);
    FW_TRY(check_row(params, row, err));
    p->offset[i + 1] = p->offset[i] + (rows->offset[row + 1] - rows->offset[row]);
    p->label[i] = params->label[row];
    *total += p->weight ? p->weight[i] = params->weight[row] : 1;
  }
  const size_t uses = (size_t)p->offset[p->rows];
  FW_TRY(FW_ALLOC(&p->feature, uses, err));
  return values ? FW_ALLOC(&p->value, uses, err) : FURROW_OK;
}

static furrow_status copy_values(fw_linear_problem *p, const furrow_row *row, uint64_t number, float *to,
                                 furrow_error *err) {
  if (!p->value) return FURROW_OK;
  float sum = 0;
  for (size_t k = 0; k < row->length; k++) {
    to[k] = (float)furrow_row_get_value(row, k);
    sum += to[k] * 0.0F; /* NaN where one is not finite */
  }
  if (sum == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_RANGE, "row %" PRIu64 " has a value that is not finite", number + 1);
}

/* Converts numbers in order of appearance to numbers by ascending key. */
static furrow_status order_features(fw_linear_problem *p, const fw_local_ids *ids, furrow_error *err) {
  uint32_t *number = NULL;
  p->features = ids->count;
  FW_TRY(FW_ALLOC(&p->key, ids->count, err));
  FW_TRY(FW_ARENA_TAKE(&p->scratch, &number, ids->count, err));
  if (ids->count > 0) memcpy(p->key, ids->key, ids->count * sizeof *p->key);
  fw_sort_u64(p->key, ids->count);
  for (size_t i = 0; i < ids->count; i++)
    number[i] = (uint32_t)fw_lower_bound_u64(p->key, ids->count, sizeof *p->key, ids->key[i]);
  for (uint64_t i = 0; i < p->offset[p->rows]; i++) p->feature[i] = number[p->feature[i]];
  return FURROW_OK;
}

static furrow_status add_rows(fw_linear_problem *p, const fw_linear_params *params, fw_local_ids *ids,
                              furrow_error *err) {
  fw_local_ids_start(ids);
  for (size_t i = 0; i < p->rows; i++) {
    const size_t number = row_number(params, i), at = (size_t)p->offset[i];
    const furrow_row row = furrow_rowblock_row(params->rows, number);
    FW_TRY(fw_local_ids_reserve(ids, row.length, err));
    FW_TRY(fw_local_ids_add(ids, &row, p->feature + at, err));
    FW_TRY(copy_values(p, &row, params->first_row + number, p->value ? p->value + at : NULL, err));
  }
  return fw_local_ids_finish(ids, p->feature, (size_t)p->offset[p->rows], err);
}

static furrow_status number_features(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err) {
  fw_local_ids ids;
  furrow_status status = fw_local_ids_init(&ids, params->range, NULL, err);
  if (status == FURROW_OK) status = add_rows(p, params, &ids, err);
  if (status == FURROW_OK) status = order_features(p, &ids, err);
  fw_local_ids_clear(&ids);
  return status;
}

/* The part of the work that this rank can do alone. */
static furrow_status read_rows(fw_linear_problem *p, const fw_linear_params *params, bool values, double *total,
                               furrow_error *err) {
  FW_TRY(take_rows(p, params, values, total, err));
  return number_features(p, params, err);
}

/* Converts numbers among this rank's keys to numbers among all ranks' keys. */
static furrow_status join_features(fw_linear_problem *p, furrow_error *err) {
  uint64_t *own = NULL;
  const size_t count = p->features;
  if (p->comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_all_ok(p->comm, FW_ARENA_TAKE(&p->scratch, &own, count, err), err));
  if (count > 0) memcpy(own, p->key, count * sizeof *own);
  FW_TRY(share_keys(p->comm, &p->key, &p->features, err));
  if (p->features > UINT32_MAX) return fw_fail(err, FURROW_E_RANGE, "%zu features are more than 2^32 - 1", p->features);
  for (size_t i = 0; i < count; i++) own[i] = fw_lower_bound_u64(p->key, p->features, sizeof *p->key, own[i]);
  for (uint64_t i = 0; i < p->offset[p->rows]; i++) p->feature[i] = (uint32_t)own[p->feature[i]];
  return FURROW_OK;
}

/* ---- Rows to the ranks that have their blocks ---- */

/* Blocks are cut as if one process had all rows. */
static furrow_status divide_blocks(fw_linear_problem *p, size_t rows, furrow_error *err) {
  const unsigned ranks = p->comm->ranks;
  p->blocks = rows / LEAST_ROWS < 1 ? 1 : rows / LEAST_ROWS;
  if (p->blocks > MOST_BLOCKS) p->blocks = MOST_BLOCKS;
  FW_TRY(FW_ALLOC_ZERO_ROWS(&p->block_begin, ranks + 1, 5, err));
  p->row_begin = p->block_begin + ranks + 1;
  p->feature_begin = p->row_begin + ranks + 1;
  p->sizes = p->feature_begin + ranks + 1;
  for (unsigned r = 0; r <= ranks; r++) {
    p->block_begin[r] = r == ranks ? p->blocks : fw_piece_begin(p->blocks, ranks, r);
    p->row_begin[r] = r == ranks ? rows : fw_piece_begin(rows, p->blocks, p->block_begin[r]);
    p->feature_begin[r] = r == 0 ? 0 : p->features; /* alone; others divide them later */
  }
  return FURROW_OK;
}

/* Turns the lengths of rows into rows + 1 offsets. */
static furrow_status sum_lengths(fw_linear_problem *p, furrow_error *err) {
  uint64_t *offset = NULL;
  FW_TRY(FW_ALLOC(&offset, p->rows + 1, err));
  offset[0] = 0;
  for (size_t i = 0; i < p->rows; i++) offset[i + 1] = offset[i] + p->offset[i];
  fw_free(p->offset);
  p->offset = offset;
  return FURROW_OK;
}

/* rows, uses: the begins of the rows and uses for each rank. */
static furrow_status move_arrays(fw_linear_problem *p, const size_t *rows, const size_t *uses, furrow_error *err) {
  for (size_t i = 0; i < p->rows; i++) p->offset[i] = p->offset[i + 1] - p->offset[i];
  FW_TRY(SHARE_MOVE(p, &p->offset, rows, &p->rows, err));
  FW_TRY(SHARE_MOVE(p, &p->label, rows, NULL, err));
  if (p->weight) FW_TRY(SHARE_MOVE(p, &p->weight, rows, NULL, err));
  FW_TRY(SHARE_MOVE(p, &p->feature, uses, NULL, err));
  if (p->value) FW_TRY(SHARE_MOVE(p, &p->value, uses, NULL, err));
  return fw_comm_all_ok(p->comm, sum_lengths(p, err), err);
}

/* `first`: the number of this rank's first row among the rows of all ranks. */
static furrow_status move_rows(fw_linear_problem *p, uint64_t first, furrow_error *err) {
  const unsigned ranks = p->comm->ranks;
  size_t *begin = NULL;
  if (ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_all_ok(p->comm, FW_ARENA_TAKE(&p->scratch, &begin, 2 * (ranks + 1), err), err));
  for (unsigned r = 0; r <= ranks; r++) {
    const size_t at = p->row_begin[r] > first ? p->row_begin[r] - first : 0;
    begin[r] = at < p->rows ? at : p->rows;
    begin[ranks + 1 + r] = (size_t)p->offset[begin[r]];
  }
  return move_arrays(p, begin, begin + ranks + 1, err);
}

furrow_status fw_linear_rows_take(fw_linear_problem *p, const fw_linear_params *params, furrow_error *err) {
  size_t size;
  uint64_t first = 0, all = 0, values = 0;
  double total = 0;
  FW_TRY(count_rows(p, params, &first, &all, &values, err));
  FW_TRY(fw_comm_share_status(p->comm, read_rows(p, params, values, &total, err), err));
  FW_TRY(fw_comm_sum_f64(p->comm, &total, 1, err));
  if (total == 0) return fw_fail(err, FURROW_E_ARGUMENT, "all rows have weight 0");
  FW_TRY(join_features(p, err));
  if (!fw_size_mul(p->features + 1, p->width * sizeof(double), &size)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_comm_all_ok(p->comm, divide_blocks(p, (size_t)all, err), err));
  return move_rows(p, first, err);
}

/* ---- The transposed copy ---- */

/* While rows are copied, use_offset[f + 1] is the position of the next use of feature f; at the end it is the end of
 * its uses. */
static void fill_uses(fw_linear_problem *p) {
  const size_t first = p->row_begin[p->comm->rank];
  for (size_t row = 0; row < p->rows; row++)
    for (uint64_t i = p->offset[row]; i < p->offset[row + 1]; i++) {
      const uint64_t at = p->use_offset[p->feature[i] + 1]++;
      p->use_row[at] = (uint32_t)(first + row);
      if (p->value) p->use_value[at] = p->value[i];
    }
}

static void count_uses(fw_linear_problem *p, uint64_t uses) {
  uint64_t before = 0;
  for (uint64_t i = 0; i < uses; i++) p->use_offset[p->feature[i] + 1]++;
  for (size_t f = 0; f < p->features; f++) {
    const uint64_t count = p->use_offset[f + 1];
    p->use_offset[f + 1] = before;
    before += count;
  }
}

/* Divides the features among ranks, with about the same number of uses each. `uses` is the number of all uses. */
static void divide_features(fw_linear_problem *p, size_t uses) {
  const unsigned ranks = p->comm->ranks;
  for (unsigned r = 1; r < ranks; r++)
    p->feature_begin[r] =
        fw_lower_bound_u64(p->use_offset, p->features, sizeof *p->use_offset, fw_piece_begin(uses, ranks, r));
  p->first_feature = p->feature_begin[p->comm->rank];
  p->last_feature = p->feature_begin[p->comm->rank + 1];
}

/* Sorts the uses that ranks sent for this rank's features: by feature, then by rank. counts: by rank and feature. */
static furrow_status join_uses(fw_linear_problem *p, const uint64_t *counts, furrow_error *err) {
  const size_t own = p->last_feature - p->first_feature;
  const uint64_t base = p->use_offset[p->first_feature], uses = p->use_offset[p->last_feature] - base;
  uint64_t *next = NULL, from = 0;
  uint32_t *row = NULL; /* as they were sent */
  float *value = NULL;
  FW_TRY(FW_ARENA_TAKE(&p->scratch, &next, own, err));
  FW_TRY(FW_ARENA_TAKE(&p->scratch, &row, uses, err));
  FW_TRY(FW_ARENA_TAKE(&p->scratch, &value, p->value ? uses : 0, err));
  if (uses > 0) memcpy(row, p->use_row, uses * sizeof *row);
  if (uses > 0 && p->value) memcpy(value, p->use_value, uses * sizeof *value);
  for (size_t f = 0; f < own; f++) next[f] = p->use_offset[p->first_feature + f] - base;
  for (size_t i = 0; i < own * p->comm->ranks; from += counts[i++]) {
    if (counts[i] == 0) continue;
    memcpy(p->use_row + next[i % own], row + from, counts[i] * sizeof *row);
    if (p->value) memcpy(p->use_value + next[i % own], value + from, counts[i] * sizeof *value);
    next[i % own] += counts[i];
  }
  return FURROW_OK;
}

/* Exchanges counts and uses. counts has this rank's uses by feature, and is replaced by all ranks' counts for this
 * rank's features. begin: the begins of this rank's uses for each rank. */
static furrow_status move_uses(fw_linear_problem *p, uint64_t **counts, const size_t *begin, furrow_error *err) {
  FW_TRY(SHARE_MOVE(p, counts, p->feature_begin, NULL, err));
  FW_TRY(SHARE_MOVE(p, &p->use_row, begin, NULL, err));
  if (p->value) FW_TRY(SHARE_MOVE(p, &p->use_value, begin, NULL, err));
  return fw_comm_all_ok(p->comm, join_uses(p, *counts, err), err);
}

/* Sets use_offset to the offsets of all ranks' uses. `own` has the offsets of this rank's uses; begin[r] is set to the
 * begin of the uses for rank r. */
static furrow_status join_offsets(fw_linear_problem *p, const uint64_t *own, size_t *begin, furrow_error *err) {
  for (size_t f = 0; f < p->features; f++) p->use_offset[f + 1] = own[f + 1] - own[f];
  FW_TRY(fw_comm_sum_i64(p->comm, (int64_t *)(p->use_offset + 1), p->features, err));
  for (size_t f = 0; f < p->features; f++) p->use_offset[f + 1] += p->use_offset[f];
  divide_features(p, (size_t)p->use_offset[p->features]);
  for (unsigned r = 0; r <= p->comm->ranks; r++) begin[r] = (size_t)own[p->feature_begin[r]];
  return FURROW_OK;
}

/* Exchanges uses: each rank gives the uses of its rows and gets the uses of its features. use_offset then covers the
 * uses of all ranks. */
static furrow_status share_uses(fw_linear_problem *p, furrow_error *err) {
  uint64_t *own = NULL, *counts = NULL;
  size_t *begin = NULL;
  furrow_status status = FW_ARENA_TAKE(&p->scratch, &own, p->features + 1, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&p->scratch, &begin, p->comm->ranks + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&counts, p->features, err);
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK) {
    memcpy(own, p->use_offset, (p->features + 1) * sizeof *own);
    for (size_t f = 0; f < p->features; f++) counts[f] = own[f + 1] - own[f];
    status = join_offsets(p, own, begin, err);
  }
  if (status == FURROW_OK) status = move_uses(p, &counts, begin, err);
  fw_free(counts);
  return status;
}

static void start_segments(fw_linear_problem *p, size_t uses) {
  size_t f = 0;
  for (size_t s = 0; s < p->segments; s++) {
    while (p->use_offset[f + 1] <= fw_piece_begin(uses, p->segments, s)) f++;
    p->segment_feature[s] = (uint32_t)f;
  }
}

static furrow_status transpose_own(fw_linear_problem *p, size_t uses, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&p->use_offset, p->features + 1, err));
  FW_TRY(FW_ALLOC(&p->use_row, uses, err));
  if (p->value) FW_TRY(FW_ALLOC(&p->use_value, uses, err));
  count_uses(p, uses);
  fill_uses(p);
  return FURROW_OK;
}

/* Segments are cut as if one process had all uses. */
static furrow_status make_segments(fw_linear_problem *p, size_t uses, furrow_error *err) {
  const size_t own = p->last_feature - p->first_feature;
  p->segments = uses / LEAST_USES < 1 ? 1 : uses / LEAST_USES;
  if (p->segments > MOST_SEGMENTS) p->segments = MOST_SEGMENTS;
  FW_TRY(FW_ALLOC(&p->segment_feature, p->segments, err));
  FW_TRY(FW_ALLOC_ROWS(&p->cut, p->segments, 2 * p->width, err));
  if (p->comm->ranks > 1) FW_TRY(FW_ALLOC_ROWS(&p->own_gradient, own, p->width, err));
  start_segments(p, uses);
  return FURROW_OK;
}

furrow_status fw_linear_rows_transpose(fw_linear_problem *p, furrow_error *err) {
  FW_TRY(fw_comm_all_ok(p->comm, transpose_own(p, (size_t)p->offset[p->rows], err), err));
  if (p->comm->ranks > 1) FW_TRY(share_uses(p, err));
  return make_segments(p, (size_t)p->use_offset[p->features], err);
}
