/* learn/ranking/ranking_trainer.c: a factorization machine that learns to rank items: batches, losses, gradients,
 * steps. */
#include "learn/ranking/ranking_machine.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/math/gemm.h"

enum {
  GROUPS_AT_ONCE = 8,       /* of a task */
  FEATURES_AT_ONCE = 128,   /* of a task */
  EXACT_SCORES = 100000000, /* softmax over all items up to this number of scores in an epoch */
  SOFTMAX_NEGATIVES = 1000,
  GROUPS_MIN = 32, /* of a batch */
  BPR_NEGATIVES = 4,
  WARP_TRIES = 32
};

/* ---- Create and free ---- */

void fw_ranking_trainer_free(fw_ranking_trainer *t) {
  if (!t) return;
  fw_arena_clear(&t->memory);
  fw_item_sampler_clear(&t->sampler);
  fw_free(t);
}

static void choose_negatives(fw_ranking_trainer *t) {
  const size_t items = t->data->items.count, wanted = t->params.negatives;
  if (t->params.loss != FW_LOSS_SAMPLED_SOFTMAX) {
    const bool warp = t->params.loss == FW_LOSS_WARP;
    t->per_row = warp ? 1 : wanted ? wanted : BPR_NEGATIVES;
    t->tries = !warp ? 0 : wanted ? wanted : WARP_TRIES;
    return;
  }
  t->exact = wanted ? wanted >= items : items <= EXACT_SCORES / t->groups;
  t->wanted = t->exact ? items : wanted ? wanted : fw_ranking_least(items, SOFTMAX_NEGATIVES);
}

furrow_status fw_ranking_zeros(fw_arena *memory, float **numbers, size_t count, size_t each, furrow_error *err) {
  FW_TRY(fw_arena_take(memory, (void **)numbers, count, each * sizeof **numbers, err));
  memset(*numbers, 0, count * each * sizeof **numbers);
  return FURROW_OK;
}

static furrow_status make_features(fw_ranking_trainer *t, furrow_error *err) {
  const size_t n = t->data->features.count, d = t->factors;
  FW_TRY(fw_ranking_zeros(&t->memory, &t->vector, n, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->weight, n, 1, err));
  for (int i = 0; i < 2; i++) {
    FW_TRY(fw_ranking_zeros(&t->memory, &t->vector_state[i], n, d, err));
    FW_TRY(fw_ranking_zeros(&t->memory, &t->weight_state[i], n, 1, err));
  }
  FW_TRY(fw_ranking_zeros(&t->memory, &t->vector_sum, n, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->weight_sum, n, 1, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->uses, n, 1, err));
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->is_touched, n, err));
  memset(t->is_touched, 0, n);
  return FW_ARENA_TAKE(&t->memory, &t->touched, n, err);
}

static furrow_status make_items(fw_ranking_trainer *t, furrow_error *err) {
  const size_t items = t->data->items.count, d = t->factors;
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->place_of, items, err));
  for (size_t i = 0; i < items; i++) t->place_of[i] = FW_NO_NUMBER;
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->item_at, items, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->q, items, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->q_sum, items, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->own, items, 1, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->own_sum, items, 1, err));
  return fw_ranking_zeros(&t->memory, &t->offset, items, 1, err);
}

/* ---- Groups ---- */

typedef struct row_hash {
  uint64_t hash;
  uint32_t row;
} row_hash;

static int compare_hashes(const void *a, const void *b) {
  const row_hash *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static uint64_t hash_side(const fw_ranking_data *data, size_t row) {
  const fw_ranking_uses *side = &data->train.side;
  uint64_t hash = data->train.user[row];
  for (size_t i = side->offset[row]; i < side->offset[row + 1]; i++) {
    uint32_t bits;
    memcpy(&bits, &side->value[i], sizeof bits);
    hash = fw_rng_hash(hash, (uint64_t)bits << 32 | side->feature[i]);
  }
  return hash;
}

static bool same_side(const fw_ranking_data *data, size_t a, size_t b) {
  const fw_ranking_uses *side = &data->train.side;
  const size_t x = side->offset[a], y = side->offset[b], n = side->offset[a + 1] - x;
  return data->train.user[a] == data->train.user[b] && side->offset[b + 1] - y == n &&
         memcmp(side->feature + x, side->feature + y, n * sizeof *side->feature) == 0 &&
         memcmp(side->value + x, side->value + y, n * sizeof *side->value) == 0;
}

static furrow_status group_rows(fw_ranking_trainer *t, furrow_error *err) {
  const size_t rows = t->data->train.count;
  const bool softmax = t->params.loss == FW_LOSS_SAMPLED_SOFTMAX;
  row_hash *hashes = NULL;
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->group_offset, rows + 1, err));
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->group_row, rows, err));
  FW_TRY(FW_ALLOC(&hashes, rows, err));
  for (size_t i = 0; i < rows; i++) hashes[i] = (row_hash){softmax ? hash_side(t->data, i) : i, (uint32_t)i};
  qsort(hashes, rows, sizeof *hashes, compare_hashes);
  for (size_t i = 0; i < rows; i++) {
    t->group_row[i] = hashes[i].row;
    if (i == 0 || !softmax || !same_side(t->data, hashes[i - 1].row, hashes[i].row))
      t->group_offset[t->groups++] = (uint32_t)i;
  }
  t->group_offset[t->groups] = (uint32_t)rows;
  fw_free(hashes);
  return FURROW_OK;
}

static furrow_status make_rows(fw_ranking_trainer *t, furrow_error *err) {
  const size_t d = t->factors, rows = t->data->train.count;
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->order, t->groups, err));
  for (size_t i = 0; i < t->groups; i++) t->order[i] = (uint32_t)i;
  const size_t batch = fw_ranking_least(t->params.batch > GROUPS_MIN ? t->params.batch : GROUPS_MIN, t->groups);
  t->most_groups = batch;
  FW_TRY(fw_ranking_zeros(&t->memory, &t->p, batch, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->p_sum, batch, d, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->scores, batch, t->wanted, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->slope, batch, t->per_row, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->positive_slope, rows, 1, err));
  FW_TRY(fw_ranking_zeros(&t->memory, &t->tried, batch, 1, err));
  FW_TRY(FW_ARENA_TAKE(&t->memory, &t->negative, batch * t->per_row, err));
  return FW_ARENA_TAKE(&t->memory, &t->losses, batch, err);
}

static furrow_status make_all(fw_ranking_trainer *t, furrow_error *err) {
  FW_TRY(group_rows(t, err));
  choose_negatives(t);
  FW_TRY(fw_item_sampler_init(&t->sampler, t->data->popularity, t->data->items.count, t->params.popular, err));
  FW_TRY(make_features(t, err));
  FW_TRY(make_items(t, err));
  return make_rows(t, err);
}

furrow_status fw_ranking_trainer_create(fw_ranking_trainer **trainer, const fw_ranking_data *data,
                                        const fw_ranking_params *params, furrow_error *err) {
  fw_ranking_trainer *made = NULL;
  if (data->train.count > UINT32_MAX - 1) return fw_fail(err, FURROW_E_RANGE, "more than 4294967294 positives");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->data = data;
  made->params = *params;
  made->params.batch = fw_ranking_least(params->batch ? params->batch : 1, data->train.count);
  made->factors = params->factors;
  furrow_status status = make_all(made, err);
  return FW_HAND_OVER(status, trainer, made, fw_ranking_trainer_free);
}

float *fw_ranking_trainer_vector(const fw_ranking_trainer *t, size_t feature) {
  return t->vector + feature * t->factors;
}

float *fw_ranking_trainer_weight(const fw_ranking_trainer *t, size_t feature) {
  return t->weight + feature;
}

/* Rows of group b of the batch: begin … end - 1 of group_row. */
static size_t group_begin(const fw_ranking_trainer *t, size_t b) {
  return t->group_offset[t->order[t->first + b]];
}

static size_t group_end(const fw_ranking_trainer *t, size_t b) {
  return t->group_offset[t->order[t->first + b] + 1];
}

static uint32_t first_row(const fw_ranking_trainer *t, size_t b) {
  return t->group_row[group_begin(t, b)];
}

/* ---- Sums of vectors ---- */

void fw_ranking_sum_vectors(const fw_ranking_trainer *t, const fw_ranking_uses *uses, size_t row, float *sum) {
  const size_t d = t->factors;
  memset(sum, 0, d * sizeof *sum);
  for (size_t i = uses->offset[row]; i < uses->offset[row + 1]; i++)
    fw_add_scaled(sum, t->vector + uses->feature[i] * d, uses->value[i], d);
}

/* w.x and the products of pairs of the item's own features: half of (sum^2 - sum of squares). */
float fw_ranking_score_item(const fw_ranking_trainer *t, uint32_t item, float *q) {
  const fw_ranking_uses *uses = &t->data->item_uses;
  const size_t d = t->factors, begin = uses->offset[item], end = uses->offset[item + 1];
  float own = 0;
  fw_ranking_sum_vectors(t, uses, item, q);
  for (size_t i = begin; i < end; i++) own += uses->value[i] * t->weight[uses->feature[i]];
  if (end - begin < 2) return own;
  float squares = 0;
  for (size_t i = begin; i < end; i++) {
    const float *v = t->vector + uses->feature[i] * d;
    squares += uses->value[i] * uses->value[i] * fw_inner(v, v, d);
  }
  return own + 0.5F * (fw_inner(q, q, d) - squares);
}

/* ---- Which items a batch has ---- */

static uint32_t place(fw_ranking_trainer *t, uint32_t item) {
  if (t->place_of[item] == FW_NO_NUMBER) {
    t->item_at[t->batch_items] = item;
    t->place_of[item] = (uint32_t)t->batch_items++;
  }
  return t->place_of[item];
}

/* Draws different items. If nearly all items are wanted, drawing new ones takes long, so it stops after some draws. */
static void draw_candidates(fw_ranking_trainer *t) {
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(t->params.seed, 0x63616e64), t->steps));
  for (size_t tries = 0; t->batch_items < t->wanted && tries < 8 * t->wanted; tries++) {
    const size_t before = t->batch_items;
    const uint32_t item = fw_item_sampler_draw(&t->sampler, &rng);
    place(t, item);
    if (t->batch_items > before) t->offset[before] = fw_item_sampler_chance(&t->sampler, item, t->wanted);
  }
}

/* The score of a row's p and an item, with capacity for q. */
static float try_item(const fw_ranking_trainer *t, const float *p, uint32_t item, float *q) {
  return fw_ranking_score_item(t, item, q) + fw_inner(p, q, t->factors);
}

/* Finds the first negative whose score is less than 1 below the positive's; `tried` gets the number of tries. */
static uint32_t find_violation(fw_ranking_trainer *t, size_t b, fw_rng *rng) {
  const uint32_t row = first_row(t, b), user = t->data->train.user[row];
  float *p = t->p + b * t->factors, *q = t->p_sum + b * t->factors;
  fw_ranking_sum_vectors(t, &t->data->train.side, row, p);
  const float z = try_item(t, p, t->data->train.item[row], q);
  for (size_t i = 1; i <= t->tries; i++) {
    const uint32_t item = fw_item_sampler_draw_other(&t->sampler, rng, t->data, user);
    if (item == FW_NO_NUMBER || try_item(t, p, item, q) + 1 <= z) continue;
    t->tried[b] = (float)i;
    return item;
  }
  return FW_NO_NUMBER;
}

/* Draws the negatives of a row by its number and the epoch. After some tries, an item that the user has counts as
 * none. */
static void draw_negatives(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const fw_ranking_events *rows = &t->data->train;
  const size_t end = fw_ranking_least(t->count, (task + 1) * GROUPS_AT_ONCE);
  for (size_t b = task * GROUPS_AT_ONCE; b < end; b++) {
    const uint32_t row = first_row(t, b);
    fw_rng rng;
    fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(t->params.seed, 0x6e656761 + (uint64_t)t->epoch), row));
    for (size_t k = 0; k < t->per_row; k++)
      t->negative[b * t->per_row + k] = t->tries
                                            ? find_violation(t, b, &rng)
                                            : fw_item_sampler_draw_other(&t->sampler, &rng, t->data, rows->user[row]);
  }
}

static void choose_items(fw_ranking_trainer *t) {
  const fw_ranking_events *rows = &t->data->train;
  t->batch_items = 0;
  if (t->exact)
    for (size_t i = 0; i < t->wanted; i++) place(t, (uint32_t)i);
  else if (t->wanted)
    draw_candidates(t);
  else
    fw_spin_pool_run(t->params.pool, fw_ranking_tasks(t->count, GROUPS_AT_ONCE), draw_negatives, t);
  t->candidates = t->batch_items; /* so far only the candidates of softmax */
  for (size_t b = 0; b < t->count; b++)
    for (size_t i = group_begin(t, b); i < group_end(t, b); i++) place(t, rows->item[t->group_row[i]]);
  for (size_t i = 0; i < t->count * t->per_row; i++)
    if (t->negative[i] != FW_NO_NUMBER) t->negative[i] = place(t, t->negative[i]);
}

static void sum_items(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const size_t end = fw_ranking_least(t->batch_items, (task + 1) * FW_RANKING_ITEMS_AT_ONCE);
  for (size_t at = task * FW_RANKING_ITEMS_AT_ONCE; at < end; at++) {
    float *q = t->q + at * t->factors;
    t->own[at] = fw_ranking_score_item(t, t->item_at[at], q);
    t->own_sum[at] = 0;
    memset(t->q_sum + at * t->factors, 0, t->factors * sizeof *q);
  }
}

/* ---- Losses of rows: p_sum, slopes and scores become gradients ---- */

static float score_of(const fw_ranking_trainer *t, size_t b, size_t at) {
  return t->own[at] + fw_inner(t->p + b * t->factors, t->q + at * t->factors, t->factors);
}

static size_t place_of_row(const fw_ranking_trainer *t, size_t row) {
  return t->place_of[t->data->train.item[row]];
}

/* Items that the user has are not negatives. */
static void hide_seen(const fw_ranking_trainer *t, uint32_t user, float *scores) {
  const fw_ranking_data *data = t->data;
  for (size_t i = data->seen_offset[user]; i < data->seen_offset[user + 1]; i++) {
    const uint32_t at = t->place_of[data->seen[i]];
    if (at < t->candidates) scores[at] = -INFINITY;
  }
}

/* Each row: -ln of the share that the positive has of the sum of exp over it and the candidates. What the candidates
 * have of it is the same for all rows of a group. */
static void softmax_group(fw_ranking_trainer *t, size_t b) {
  const fw_ranking_events *rows = &t->data->train;
  float *scores = t->scores + b * t->candidates;
  for (size_t k = 0; k < t->candidates; k++) scores[k] += t->own[k];
  if (!t->exact)
    for (size_t k = 0; k < t->candidates; k++) scores[k] -= t->offset[k];
  hide_seen(t, rows->user[first_row(t, b)], scores);
  const float most = fw_largest(scores, t->candidates);
  if (most == -INFINITY) { /* the user has all of them */
    memset(scores, 0, t->candidates * sizeof *scores);
    return;
  }
  const float sum = fw_exp_all(scores, t->candidates, most), others = most + logf(sum);
  float slopes = 0;
  for (size_t i = group_begin(t, b); i < group_end(t, b); i++) {
    const uint32_t row = t->group_row[i];
    const float x = others - score_of(t, b, place_of_row(t, row));
    t->positive_slope[row] = -rows->weight[row] / (1 + expf(-x));
    slopes -= t->positive_slope[row];
    t->losses[b] += (double)rows->weight[row] * (double)(x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)));
  }
  fw_scale_all(scores, t->candidates, slopes / sum);
}

/* The sum over the negatives of ln(1 + exp(z(negative) - z(positive))), over their number. */
static void bpr_row(fw_ranking_trainer *t, size_t b) {
  const uint32_t row = first_row(t, b);
  const float each = t->data->train.weight[row] / (float)t->per_row, z = score_of(t, b, place_of_row(t, row));
  for (size_t k = 0; k < t->per_row; k++) {
    const uint32_t other = t->negative[b * t->per_row + k];
    if (other == FW_NO_NUMBER) continue;
    const float x = score_of(t, b, other) - z, slope = each / (1 + expf(-x));
    t->slope[b * t->per_row + k] = slope;
    t->positive_slope[row] -= slope;
    t->losses[b] += (double)each * (double)(x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)));
  }
}

/* How far the negative that was found comes within 1 of the positive. The more tries it took, the better the positive's
 * place, and the less it counts: ln(1 + items / tries). */
static void warp_row(fw_ranking_trainer *t, size_t b) {
  const uint32_t row = first_row(t, b), other = t->negative[b];
  if (other == FW_NO_NUMBER) return;
  const float x = score_of(t, b, other) - score_of(t, b, place_of_row(t, row)) + 1;
  const float slope = t->data->train.weight[row] * logf(1 + floorf((float)(t->data->items.count - 1) / t->tried[b]));
  t->slope[b] = slope;
  t->positive_slope[row] = -slope;
  t->losses[b] = (double)slope * (double)x;
}

static void clear_group(fw_ranking_trainer *t, size_t b) {
  for (size_t k = 0; k < t->per_row; k++) t->slope[b * t->per_row + k] = 0;
  for (size_t i = group_begin(t, b); i < group_end(t, b); i++) t->positive_slope[t->group_row[i]] = 0;
  t->losses[b] = 0;
}

/* The gradient by p. */
static void add_side_gradient(fw_ranking_trainer *t, size_t b) {
  const size_t d = t->factors;
  float *sum = t->p_sum + b * d;
  if (!t->candidates) memset(sum, 0, d * sizeof *sum);
  for (size_t i = group_begin(t, b); i < group_end(t, b); i++) {
    const uint32_t row = t->group_row[i];
    fw_add_scaled(sum, t->q + place_of_row(t, row) * d, t->positive_slope[row], d);
  }
  for (size_t k = 0; k < t->per_row; k++) {
    const float slope = t->slope[b * t->per_row + k];
    if (slope != 0) fw_add_scaled(sum, t->q + t->negative[b * t->per_row + k] * d, slope, d);
  }
}

static void run_groups(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const size_t begin = task * GROUPS_AT_ONCE, end = fw_ranking_least(t->count, begin + GROUPS_AT_ONCE), d = t->factors;
  const size_t n = t->candidates;
  for (size_t b = begin; b < end; b++) {
    clear_group(t, b);
    fw_ranking_sum_vectors(t, &t->data->train.side, first_row(t, b), t->p + b * d);
  }
  if (n) fw_gemm_table()->nt(end - begin, n, d, t->p + begin * d, d, t->q, d, t->scores + begin * n, n, false);
  for (size_t b = begin; b < end; b++) {
    if (n)
      softmax_group(t, b);
    else if (t->params.loss == FW_LOSS_BPR)
      bpr_row(t, b);
    else
      warp_row(t, b);
  }
  if (n) fw_gemm_table()->nn(end - begin, d, n, t->scores + begin * n, n, t->q, d, t->p_sum + begin * d, d, false);
  for (size_t b = begin; b < end; b++) add_side_gradient(t, b);
}

/* ---- Gradients of items ---- */

/* Softmax: scores are gradients now; a task has some of the candidates. */
static void run_candidates(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const size_t begin = task * FW_RANKING_ITEMS_AT_ONCE,
               end = fw_ranking_least(t->candidates, begin + FW_RANKING_ITEMS_AT_ONCE), d = t->factors;
  const float *slopes = t->scores + begin;
  fw_gemm_table()->tn(end - begin, d, t->count, slopes, t->candidates, t->p, d, t->q_sum + begin * d, d, false);
  for (size_t b = 0; b < t->count; b++)
    for (size_t k = begin; k < end; k++) t->own_sum[k] += t->scores[b * t->candidates + k];
}

static void add_to_item(fw_ranking_trainer *t, size_t at, size_t b, float slope) {
  t->own_sum[at] += slope;
  fw_add_scaled(t->q_sum + at * t->factors, t->p + b * t->factors, slope, t->factors);
}

static void sum_item_gradients(fw_ranking_trainer *t) {
  if (t->candidates)
    fw_spin_pool_run(t->params.pool, fw_ranking_tasks(t->candidates, FW_RANKING_ITEMS_AT_ONCE), run_candidates, t);
  for (size_t b = 0; b < t->count; b++) {
    for (size_t i = group_begin(t, b); i < group_end(t, b); i++)
      add_to_item(t, place_of_row(t, t->group_row[i]), b, t->positive_slope[t->group_row[i]]);
    for (size_t k = 0; k < t->per_row; k++) {
      const float slope = t->slope[b * t->per_row + k];
      if (slope != 0) add_to_item(t, t->negative[b * t->per_row + k], b, slope);
    }
  }
}

/* ---- Gradients of features, steps ---- */

static void touch(fw_ranking_trainer *t, uint32_t feature) {
  if (t->is_touched[feature]) return;
  t->is_touched[feature] = 1;
  t->touched[t->touched_count++] = feature;
}

/* Which features have gradients, and how often rows use them. */
static void touch_features(fw_ranking_trainer *t) {
  const fw_ranking_uses *items = &t->data->item_uses, *side = &t->data->train.side;
  t->touched_count = 0;
  for (size_t at = 0; at < t->batch_items; at++)
    for (size_t i = items->offset[t->item_at[at]]; i < items->offset[t->item_at[at] + 1]; i++)
      touch(t, items->feature[i]);
  for (size_t b = 0; b < t->count; b++) {
    const uint32_t first = first_row(t, b);
    const float times = (float)(group_end(t, b) - group_begin(t, b));
    for (size_t i = side->offset[first]; i < side->offset[first + 1]; i++) {
      touch(t, side->feature[i]);
      t->uses[side->feature[i]] += times * side->value[i] * side->value[i];
    }
    for (size_t k = group_begin(t, b); k < group_end(t, b); k++) {
      const uint32_t item = t->data->train.item[t->group_row[k]];
      for (size_t i = items->offset[item]; i < items->offset[item + 1]; i++)
        t->uses[items->feature[i]] += items->value[i] * items->value[i];
    }
  }
}

/* By v: x (sum of slope * p + sum of slopes * (q - x v)); the pairs within the item are the second part. */
static void run_items(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const fw_ranking_uses *uses = &t->data->item_uses;
  const size_t each = t->data->shared ? t->batch_items : FW_RANKING_ITEMS_AT_ONCE, d = t->factors;
  const size_t end = fw_ranking_least(t->batch_items, (task + 1) * each);
  for (size_t at = task * each; at < end; at++) {
    const size_t first = uses->offset[t->item_at[at]], last = uses->offset[t->item_at[at] + 1];
    for (size_t i = first; i < last; i++) {
      const size_t feature = uses->feature[i];
      const float x = uses->value[i], slope = t->own_sum[at];
      float *sum = t->vector_sum + feature * d;
      fw_add_scaled(sum, t->q_sum + at * d, x, d);
      t->weight_sum[feature] += x * slope;
      if (last - first < 2) continue;
      fw_add_scaled(sum, t->q + at * d, x * slope, d);
      fw_add_scaled(sum, t->vector + feature * d, -x * x * slope, d);
    }
  }
}

static void add_sides(fw_ranking_trainer *t) {
  const fw_ranking_uses *side = &t->data->train.side;
  const size_t d = t->factors;
  for (size_t b = 0; b < t->count; b++) {
    const uint32_t row = first_row(t, b);
    for (size_t i = side->offset[row]; i < side->offset[row + 1]; i++)
      fw_add_scaled(t->vector_sum + side->feature[i] * d, t->p_sum + b * d, side->value[i], d);
  }
}

static void run_steps(void *context, size_t task) {
  fw_ranking_trainer *t = context;
  const fw_steps *steps = fw_steps_table_f32();
  const fw_step_kernel *kernel =
      t->params.optimizer.type == FW_OPTIMIZER_ADAM ? &steps->adam : &steps->published_adagrad;
  const size_t end = fw_ranking_least(t->touched_count, (task + 1) * FEATURES_AT_ONCE), d = t->factors;
  const float l2 = (float)t->params.optimizer.l2;
  for (size_t i = task * FEATURES_AT_ONCE; i < end; i++) {
    const size_t f = t->touched[i];
    float *v = t->vector + f * d, *sum = t->vector_sum + f * d;
    fw_add_scaled(sum, v, l2 * t->uses[f], d);
    kernel->array(&t->rule, d, v, t->vector_state[0] + f * d, t->vector_state[1] + f * d, sum);
    kernel->array(&t->rule, 1, t->weight + f, t->weight_state[0] + f, t->weight_state[1] + f, t->weight_sum + f);
    memset(sum, 0, d * sizeof *sum);
    t->weight_sum[f] = t->uses[f] = 0;
    t->is_touched[f] = 0;
  }
}

/* Adam's rate includes the bias correction of the mean. */
static void set_rule(fw_ranking_trainer *t, double rate) {
  const fw_optimizer *o = &t->params.optimizer;
  const double steps = (double)++t->steps;
  t->rule = (fw_step_rule){.rate = rate, .a = o->a, .b = o->b, .per_row = 1 / (double)t->rows};
  if (o->type != FW_OPTIMIZER_ADAM) return;
  t->rule.rate = rate / (1 - pow(o->a, steps));
  t->rule.young = 1 / (1 - pow(o->b, steps));
}

/* ---- Batches and epochs ---- */

/* Takes groups until they have the rows of a batch, but not too few groups: each update goes over all items, whatever
 * its rows. */
static void take_batch(fw_ranking_trainer *t) {
  t->count = t->rows = 0;
  while (t->first + t->count < t->groups && t->count < t->most_groups &&
         (t->rows < t->params.batch || (t->wanted && t->count < GROUPS_MIN))) {
    t->rows += group_end(t, t->count) - group_begin(t, t->count);
    t->count++;
  }
}

static furrow_status train_batch(fw_ranking_trainer *t, double rate, double *loss, furrow_error *err) {
  fw_spin_pool *pool = t->params.pool;
  choose_items(t);
  fw_spin_pool_run(pool, fw_ranking_tasks(t->batch_items, FW_RANKING_ITEMS_AT_ONCE), sum_items, t);
  fw_spin_pool_run(pool, fw_ranking_tasks(t->count, GROUPS_AT_ONCE), run_groups, t);
  double sum = 0;
  for (size_t b = 0; b < t->count; b++) sum += t->losses[b];
  if (!isfinite(sum)) {
    fw_fail(err, FURROW_E_RANGE, "training diverged: a loss of epoch %u is not a number", t->epoch);
    fw_error_set_hint(err, "a lower learning rate (key `lr`) may help");
    return FURROW_E_RANGE;
  }
  *loss += sum;
  set_rule(t, rate);
  sum_item_gradients(t);
  touch_features(t);
  fw_spin_pool_run(pool, t->data->shared ? 1 : fw_ranking_tasks(t->batch_items, FW_RANKING_ITEMS_AT_ONCE), run_items,
                   t);
  add_sides(t);
  fw_spin_pool_run(pool, fw_ranking_tasks(t->touched_count, FEATURES_AT_ONCE), run_steps, t);
  for (size_t i = 0; i < t->batch_items; i++) t->place_of[t->item_at[i]] = FW_NO_NUMBER;
  return FURROW_OK;
}

furrow_status fw_ranking_trainer_epoch(fw_ranking_trainer *t, uint32_t epoch, double rate, double *loss,
                                       furrow_error *err) {
  const fw_ranking_events *rows = &t->data->train;
  double sum = 0, weight = 0;
  fw_rng rng;
  t->epoch = epoch;
  fw_rng_init(&rng, fw_rng_hash(fw_rng_hash(t->params.seed, 0x72616e6b), epoch));
  fw_rng_shuffle(&rng, t->order, t->groups, sizeof *t->order);
  for (t->first = 0; t->first < t->groups; t->first += t->count) {
    take_batch(t);
    FW_TRY(train_batch(t, rate, &sum, err));
  }
  for (size_t i = 0; i < rows->count; i++) weight += (double)rows->weight[i];
  *loss = sum / weight;
  return FURROW_OK;
}
