/* learn/rank/rank_trainer.c: a factorization machine that learns to rank items: batches, losses, gradients, steps. */
#include "learn/rank/rank_trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/math/gemm.h"
#include "kern/math/steps.h"
#include "learn/rank/negatives.h"
#include "learn/rank/rank_math.h"

enum {
  GROUPS_AT_ONCE = 8,     /* of a task */
  ITEMS_AT_ONCE = 256,    /* of a task */
  FEATURES_AT_ONCE = 128, /* of a task */
  EXACT_ITEMS = 50000,    /* softmax over all items up to so many */
  SOFTMAX_NEGATIVES = 2048,
  GROUPS_MIN = 32, /* of a batch */
  BPR_NEGATIVES = 4,
  WARP_TRIES = 32,
  TOP = 10
};

/* Items of a batch are numbered: for softmax the candidates first. Such a number is the place of the item. */
struct fw_rank_trainer {
  const fw_rank_data *data;
  fw_rank_params params;
  size_t factors;
  size_t per_row;    /* negatives of a row; softmax: 0 */
  size_t tries;      /* WARP: to find the one negative of a row; else 0 */
  size_t wanted;     /* softmax: negatives of a batch; else 0 */
  size_t candidates; /* those of this batch */
  bool exact;        /* the candidates are all items */
  fw_item_sampler sampler;
  float *vector, *weight;                                                    /* of features */
  float *vector_state[2], *weight_state[2], *vector_sum, *weight_sum, *uses; /* likewise; sums are gradients */
  unsigned char *is_touched;
  uint32_t *touched; /* features of the batch */
  size_t touched_count;
  uint32_t *place_of;                        /* of items; FW_NO_NUMBER: not in the batch */
  uint32_t *item_at;                         /* of places */
  float *q, *own, *q_sum, *own_sum, *offset; /* of places; offset: the logarithm of the chance to be a candidate */
  size_t batch_items;
  /* Groups of rows that have the same user's side, whose p and scores are the same: softmax. Other losses: of one row.
   */
  size_t groups;
  uint32_t *group_offset, *group_row; /* rows of group g: group_row[group_offset[g]] … */
  uint32_t *order;                    /* of groups */
  size_t most_groups;                 /* of a batch */
  float *p, *p_sum;                   /* of groups of a batch */
  float *scores;                      /* softmax: groups * candidates, then the gradients by them */
  uint32_t *negative;                 /* groups * per_row: items, then places */
  float *slope;                       /* groups * per_row: gradient by the score of the negative */
  float *positive_slope;              /* of all rows */
  float *tried;                       /* WARP: how many tries the negative of each group took */
  double *losses;                     /* of groups of a batch */
  uint64_t steps;
  /* now */
  uint32_t epoch;
  size_t first, count; /* groups of the batch: order[first] … */
  size_t rows;         /* of those groups */
  fw_step_rule rule;
};

/* ---- Create and free ---- */

void fw_rank_trainer_free(fw_rank_trainer *t) {
  if (!t) return;
  void *const memory[] = {t->vector,
                          t->weight,
                          t->vector_state[0],
                          t->vector_state[1],
                          t->weight_state[0],
                          t->weight_state[1],
                          t->vector_sum,
                          t->weight_sum,
                          t->uses,
                          t->is_touched,
                          t->touched,
                          t->place_of,
                          t->item_at,
                          t->q,
                          t->own,
                          t->q_sum,
                          t->own_sum,
                          t->offset,
                          t->order,
                          t->p,
                          t->p_sum,
                          t->scores,
                          t->negative,
                          t->slope,
                          t->positive_slope,
                          t->losses,
                          t->group_row,
                          t->group_offset,
                          t->tried};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
  fw_item_sampler_clear(&t->sampler);
  fw_free(t);
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

static void choose_negatives(fw_rank_trainer *t) {
  const size_t items = t->data->items.count, wanted = t->params.negatives;
  if (t->params.loss != FW_LOSS_SAMPLED_SOFTMAX) {
    const bool warp = t->params.loss == FW_LOSS_WARP;
    t->per_row = warp ? 1 : wanted ? wanted : BPR_NEGATIVES;
    t->tries = !warp ? 0 : wanted ? wanted : WARP_TRIES;
    return;
  }
  t->exact = wanted ? wanted >= items : items <= EXACT_ITEMS;
  t->wanted = t->exact ? items : wanted ? wanted : SOFTMAX_NEGATIVES;
}

static furrow_status zeros(float **numbers, size_t count, size_t each, furrow_error *err) {
  size_t total = 0;
  if (!fw_size_mul(count, each, &total)) return fw_fail_memory(err, SIZE_MAX);
  return fw_alloc_zero((void **)numbers, total, sizeof **numbers, err);
}

static furrow_status make_features(fw_rank_trainer *t, furrow_error *err) {
  const size_t n = t->data->features.count, d = t->factors;
  FW_TRY(zeros(&t->vector, n, d, err));
  FW_TRY(zeros(&t->weight, n, 1, err));
  for (int i = 0; i < 2; i++) {
    FW_TRY(zeros(&t->vector_state[i], n, d, err));
    FW_TRY(zeros(&t->weight_state[i], n, 1, err));
  }
  FW_TRY(zeros(&t->vector_sum, n, d, err));
  FW_TRY(zeros(&t->weight_sum, n, 1, err));
  FW_TRY(zeros(&t->uses, n, 1, err));
  FW_TRY(fw_alloc_zero((void **)&t->is_touched, n, 1, err));
  return fw_alloc((void **)&t->touched, n, sizeof *t->touched, err);
}

static furrow_status make_items(fw_rank_trainer *t, furrow_error *err) {
  const size_t items = t->data->items.count, d = t->factors;
  FW_TRY(fw_alloc((void **)&t->place_of, items, sizeof *t->place_of, err));
  for (size_t i = 0; i < items; i++) t->place_of[i] = FW_NO_NUMBER;
  FW_TRY(fw_alloc((void **)&t->item_at, items, sizeof *t->item_at, err));
  FW_TRY(zeros(&t->q, items, d, err));
  FW_TRY(zeros(&t->q_sum, items, d, err));
  FW_TRY(zeros(&t->own, items, 1, err));
  FW_TRY(zeros(&t->own_sum, items, 1, err));
  return zeros(&t->offset, items, 1, err);
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

static uint64_t hash_side(const fw_rank_data *data, size_t row) {
  const fw_rank_uses *side = &data->train.side;
  uint64_t hash = data->train.user[row];
  for (size_t i = side->offset[row]; i < side->offset[row + 1]; i++) {
    uint32_t bits;
    memcpy(&bits, &side->value[i], sizeof bits);
    hash = fw_rng_hash(hash, (uint64_t)bits << 32 | side->feature[i]);
  }
  return hash;
}

static bool same_side(const fw_rank_data *data, size_t a, size_t b) {
  const fw_rank_uses *side = &data->train.side;
  const size_t x = side->offset[a], y = side->offset[b], n = side->offset[a + 1] - x;
  return data->train.user[a] == data->train.user[b] && side->offset[b + 1] - y == n &&
         memcmp(side->feature + x, side->feature + y, n * sizeof *side->feature) == 0 &&
         memcmp(side->value + x, side->value + y, n * sizeof *side->value) == 0;
}

static furrow_status group_rows(fw_rank_trainer *t, furrow_error *err) {
  const size_t rows = t->data->train.count;
  row_hash *hashes = NULL;
  FW_TRY(fw_alloc((void **)&hashes, rows, sizeof *hashes, err));
  for (size_t i = 0; i < rows; i++) hashes[i] = (row_hash){t->wanted ? hash_side(t->data, i) : i, (uint32_t)i};
  qsort(hashes, rows, sizeof *hashes, compare_hashes);
  for (size_t i = 0; i < rows; i++) {
    t->group_row[i] = hashes[i].row;
    if (i == 0 || !t->wanted || !same_side(t->data, hashes[i - 1].row, hashes[i].row))
      t->group_offset[t->groups++] = (uint32_t)i;
  }
  t->group_offset[t->groups] = (uint32_t)rows;
  fw_free(hashes);
  return FURROW_OK;
}

static furrow_status make_rows(fw_rank_trainer *t, furrow_error *err) {
  const size_t d = t->factors, rows = t->data->train.count;
  FW_TRY(fw_alloc((void **)&t->group_offset, rows + 1, sizeof *t->group_offset, err));
  FW_TRY(fw_alloc((void **)&t->group_row, rows, sizeof *t->group_row, err));
  FW_TRY(group_rows(t, err));
  FW_TRY(fw_alloc((void **)&t->order, t->groups, sizeof *t->order, err));
  for (size_t i = 0; i < t->groups; i++) t->order[i] = (uint32_t)i;
  const size_t batch = least(t->params.batch > GROUPS_MIN ? t->params.batch : GROUPS_MIN, t->groups);
  t->most_groups = batch;
  FW_TRY(zeros(&t->p, batch, d, err));
  FW_TRY(zeros(&t->p_sum, batch, d, err));
  FW_TRY(zeros(&t->scores, batch, t->wanted, err));
  FW_TRY(zeros(&t->slope, batch, t->per_row, err));
  FW_TRY(zeros(&t->positive_slope, rows, 1, err));
  FW_TRY(zeros(&t->tried, batch, 1, err));
  FW_TRY(fw_alloc((void **)&t->negative, batch * t->per_row, sizeof *t->negative, err));
  return fw_alloc((void **)&t->losses, batch, sizeof *t->losses, err);
}

static furrow_status make_all(fw_rank_trainer *t, furrow_error *err) {
  choose_negatives(t);
  FW_TRY(fw_item_sampler_init(&t->sampler, t->data->popularity, t->data->items.count, t->params.popular, err));
  FW_TRY(make_features(t, err));
  FW_TRY(make_items(t, err));
  return make_rows(t, err);
}

furrow_status fw_rank_trainer_create(fw_rank_trainer **trainer, const fw_rank_data *data, const fw_rank_params *params,
                                     furrow_error *err) {
  fw_rank_trainer *made = NULL;
  if (data->train.count > UINT32_MAX - 1) return fw_fail(err, FURROW_E_RANGE, "more than 4294967294 positives");
  FW_TRY(fw_alloc_zero((void **)&made, 1, sizeof *made, err));
  made->data = data;
  made->params = *params;
  made->params.batch = least(params->batch ? params->batch : 1, data->train.count);
  made->factors = params->factors;
  furrow_status status = make_all(made, err);
  if (status == FURROW_OK)
    *trainer = made;
  else
    fw_rank_trainer_free(made);
  return status;
}

float *fw_rank_trainer_vector(const fw_rank_trainer *t, size_t feature) {
  return t->vector + feature * t->factors;
}

float *fw_rank_trainer_weight(const fw_rank_trainer *t, size_t feature) {
  return t->weight + feature;
}

size_t fw_rank_trainer_negatives(const fw_rank_trainer *t) {
  return t->wanted ? t->wanted : t->tries ? t->tries : t->per_row;
}

/* Rows of group b of the batch: begin … end - 1 of group_row. */
static size_t group_begin(const fw_rank_trainer *t, size_t b) {
  return t->group_offset[t->order[t->first + b]];
}

static size_t group_end(const fw_rank_trainer *t, size_t b) {
  return t->group_offset[t->order[t->first + b] + 1];
}

static uint32_t first_row(const fw_rank_trainer *t, size_t b) {
  return t->group_row[group_begin(t, b)];
}

/* ---- Sums of vectors ---- */

static void sum_vectors(const fw_rank_trainer *t, const fw_rank_uses *uses, size_t row, float *sum) {
  const size_t d = t->factors;
  memset(sum, 0, d * sizeof *sum);
  for (size_t i = uses->offset[row]; i < uses->offset[row + 1]; i++)
    fw_add_scaled(sum, t->vector + uses->feature[i] * d, uses->value[i], d);
}

/* w.x and the products of pairs of the item's own features: half of (sum^2 - sum of squares). */
static float own_score(const fw_rank_trainer *t, uint32_t item, const float *q) {
  const fw_rank_uses *uses = &t->data->item_uses;
  const size_t d = t->factors, begin = uses->offset[item], end = uses->offset[item + 1];
  float own = 0;
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

static uint32_t place(fw_rank_trainer *t, uint32_t item) {
  if (t->place_of[item] == FW_NO_NUMBER) {
    t->item_at[t->batch_items] = item;
    t->place_of[item] = (uint32_t)t->batch_items++;
  }
  return t->place_of[item];
}

/* Different items; where nearly all would be drawn, chance takes its time: it is given up after some draws. */
static void draw_candidates(fw_rank_trainer *t) {
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
static float try_item(const fw_rank_trainer *t, const float *p, uint32_t item, float *q) {
  sum_vectors(t, &t->data->item_uses, item, q);
  return own_score(t, item, q) + fw_inner(p, q, t->factors);
}

/* The first negative that comes within 1 of the positive, and in `tried` how many it took. */
static uint32_t find_violation(fw_rank_trainer *t, size_t b, fw_rng *rng) {
  const uint32_t row = first_row(t, b), user = t->data->train.user[row];
  float *p = t->p + b * t->factors, *q = t->p_sum + b * t->factors;
  sum_vectors(t, &t->data->train.side, row, p);
  const float z = try_item(t, p, t->data->train.item[row], q);
  for (size_t i = 1; i <= t->tries; i++) {
    const uint32_t item = fw_item_sampler_draw_other(&t->sampler, rng, t->data, user);
    if (item == FW_NO_NUMBER || try_item(t, p, item, q) + 1 <= z) continue;
    t->tried[b] = (float)i;
    return item;
  }
  return FW_NO_NUMBER;
}

/* Negatives of a row by its number and the epoch. One that the user has counts as none, after some tries. */
static void draw_negatives(void *context, size_t task) {
  fw_rank_trainer *t = context;
  const fw_rank_events *rows = &t->data->train;
  const size_t end = least(t->count, (task + 1) * GROUPS_AT_ONCE);
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

static size_t tasks_of(size_t count, size_t each) {
  return (count + each - 1) / each;
}

static void choose_items(fw_rank_trainer *t) {
  const fw_rank_events *rows = &t->data->train;
  t->batch_items = 0;
  if (t->exact)
    for (size_t i = 0; i < t->wanted; i++) place(t, (uint32_t)i);
  else if (t->wanted)
    draw_candidates(t);
  else
    fw_spin_pool_run(t->params.pool, tasks_of(t->count, GROUPS_AT_ONCE), draw_negatives, t);
  t->candidates = t->batch_items; /* none but those of softmax so far */
  for (size_t b = 0; b < t->count; b++)
    for (size_t i = group_begin(t, b); i < group_end(t, b); i++) place(t, rows->item[t->group_row[i]]);
  for (size_t i = 0; i < t->count * t->per_row; i++)
    if (t->negative[i] != FW_NO_NUMBER) t->negative[i] = place(t, t->negative[i]);
}

static void sum_items(void *context, size_t task) {
  fw_rank_trainer *t = context;
  const size_t end = least(t->batch_items, (task + 1) * ITEMS_AT_ONCE);
  for (size_t at = task * ITEMS_AT_ONCE; at < end; at++) {
    float *q = t->q + at * t->factors;
    sum_vectors(t, &t->data->item_uses, t->item_at[at], q);
    t->own[at] = own_score(t, t->item_at[at], q);
    t->own_sum[at] = 0;
    memset(t->q_sum + at * t->factors, 0, t->factors * sizeof *q);
  }
}

/* ---- Losses of rows: p_sum, slopes and scores become gradients ---- */

static float score_of(const fw_rank_trainer *t, size_t b, size_t at) {
  return t->own[at] + fw_inner(t->p + b * t->factors, t->q + at * t->factors, t->factors);
}

static size_t place_of_row(const fw_rank_trainer *t, size_t row) {
  return t->place_of[t->data->train.item[row]];
}

/* Items that the user has are not negatives. */
static void hide_seen(const fw_rank_trainer *t, uint32_t user, float *scores) {
  const fw_rank_data *data = t->data;
  for (size_t i = data->seen_offset[user]; i < data->seen_offset[user + 1]; i++) {
    const uint32_t at = t->place_of[data->seen[i]];
    if (at < t->candidates) scores[at] = -INFINITY;
  }
}

/* Each row: -ln of the share that the positive has of the sum of exp over it and the candidates. What the candidates
 * have of it is the same for all rows of a group. */
static void softmax_group(fw_rank_trainer *t, size_t b) {
  const fw_rank_events *rows = &t->data->train;
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
static void bpr_row(fw_rank_trainer *t, size_t b) {
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
static void warp_row(fw_rank_trainer *t, size_t b) {
  const uint32_t row = first_row(t, b), other = t->negative[b];
  if (other == FW_NO_NUMBER) return;
  const float x = score_of(t, b, other) - score_of(t, b, place_of_row(t, row)) + 1;
  const float slope = t->data->train.weight[row] * logf(1 + floorf((float)(t->data->items.count - 1) / t->tried[b]));
  t->slope[b] = slope;
  t->positive_slope[row] = -slope;
  t->losses[b] = (double)slope * (double)x;
}

static void clear_group(fw_rank_trainer *t, size_t b) {
  for (size_t k = 0; k < t->per_row; k++) t->slope[b * t->per_row + k] = 0;
  for (size_t i = group_begin(t, b); i < group_end(t, b); i++) t->positive_slope[t->group_row[i]] = 0;
  t->losses[b] = 0;
}

/* The gradient by p. */
static void add_side_gradient(fw_rank_trainer *t, size_t b) {
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
  fw_rank_trainer *t = context;
  const size_t begin = task * GROUPS_AT_ONCE, end = least(t->count, begin + GROUPS_AT_ONCE), d = t->factors;
  const size_t n = t->candidates;
  for (size_t b = begin; b < end; b++) {
    clear_group(t, b);
    sum_vectors(t, &t->data->train.side, first_row(t, b), t->p + b * d);
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
  fw_rank_trainer *t = context;
  const size_t begin = task * ITEMS_AT_ONCE, end = least(t->candidates, begin + ITEMS_AT_ONCE), d = t->factors;
  const float *slopes = t->scores + begin;
  fw_gemm_table()->tn(end - begin, d, t->count, slopes, t->candidates, t->p, d, t->q_sum + begin * d, d, false);
  for (size_t b = 0; b < t->count; b++)
    for (size_t k = begin; k < end; k++) t->own_sum[k] += t->scores[b * t->candidates + k];
}

static void add_to_item(fw_rank_trainer *t, size_t at, size_t b, float slope) {
  t->own_sum[at] += slope;
  fw_add_scaled(t->q_sum + at * t->factors, t->p + b * t->factors, slope, t->factors);
}

static void sum_item_gradients(fw_rank_trainer *t) {
  if (t->candidates) fw_spin_pool_run(t->params.pool, tasks_of(t->candidates, ITEMS_AT_ONCE), run_candidates, t);
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

static void touch(fw_rank_trainer *t, uint32_t feature) {
  if (t->is_touched[feature]) return;
  t->is_touched[feature] = 1;
  t->touched[t->touched_count++] = feature;
}

/* Which features have gradients, and how often rows use them. */
static void touch_features(fw_rank_trainer *t) {
  const fw_rank_uses *items = &t->data->item_uses, *side = &t->data->train.side;
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
  fw_rank_trainer *t = context;
  const fw_rank_uses *uses = &t->data->item_uses;
  const size_t each = t->data->shared ? t->batch_items : ITEMS_AT_ONCE, d = t->factors;
  const size_t end = least(t->batch_items, (task + 1) * each);
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

static void add_sides(fw_rank_trainer *t) {
  const fw_rank_uses *side = &t->data->train.side;
  const size_t d = t->factors;
  for (size_t b = 0; b < t->count; b++) {
    const uint32_t row = first_row(t, b);
    for (size_t i = side->offset[row]; i < side->offset[row + 1]; i++)
      fw_add_scaled(t->vector_sum + side->feature[i] * d, t->p_sum + b * d, side->value[i], d);
  }
}

static void run_steps(void *context, size_t task) {
  fw_rank_trainer *t = context;
  const fw_steps *steps = fw_steps_table_f32();
  const fw_step_kernel *kernel =
      t->params.optimizer.type == FW_OPTIMIZER_ADAM ? &steps->adam : &steps->published_adagrad;
  const size_t end = least(t->touched_count, (task + 1) * FEATURES_AT_ONCE), d = t->factors;
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

/* Adam's rate has the correction of the mean in it. */
static void set_rule(fw_rank_trainer *t, double rate) {
  const fw_optimizer *o = &t->params.optimizer;
  const double steps = (double)++t->steps;
  t->rule = (fw_step_rule){.rate = rate, .a = o->a, .b = o->b, .per_row = 1 / (double)t->rows};
  if (o->type != FW_OPTIMIZER_ADAM) return;
  t->rule.rate = rate / (1 - pow(o->a, steps));
  t->rule.young = 1 / (1 - pow(o->b, steps));
}

/* ---- Batches and epochs ---- */

/* As many groups as have the rows of a batch, but not too few: each update goes over all items, whatever its rows. */
static void take_batch(fw_rank_trainer *t) {
  t->count = t->rows = 0;
  while (t->first + t->count < t->groups && t->count < t->most_groups &&
         (t->rows < t->params.batch || (t->wanted && t->count < GROUPS_MIN))) {
    t->rows += group_end(t, t->count) - group_begin(t, t->count);
    t->count++;
  }
}

static furrow_status train_batch(fw_rank_trainer *t, double rate, double *loss, furrow_error *err) {
  fw_spin_pool *pool = t->params.pool;
  choose_items(t);
  fw_spin_pool_run(pool, tasks_of(t->batch_items, ITEMS_AT_ONCE), sum_items, t);
  fw_spin_pool_run(pool, tasks_of(t->count, GROUPS_AT_ONCE), run_groups, t);
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
  fw_spin_pool_run(pool, t->data->shared ? 1 : tasks_of(t->batch_items, ITEMS_AT_ONCE), run_items, t);
  add_sides(t);
  fw_spin_pool_run(pool, tasks_of(t->touched_count, FEATURES_AT_ONCE), run_steps, t);
  for (size_t i = 0; i < t->batch_items; i++) t->place_of[t->item_at[i]] = FW_NO_NUMBER;
  return FURROW_OK;
}

furrow_status fw_rank_trainer_epoch(fw_rank_trainer *t, uint32_t epoch, double rate, double *loss, furrow_error *err) {
  const fw_rank_events *rows = &t->data->train;
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

/* ---- Validation ---- */

enum { USERS_AT_ONCE = 8, ROUND = 64, USERS_MAX = 4096 };

/* Users with rows for validation, and all items. */
typedef struct validation {
  fw_rank_trainer *trainer;
  size_t users;
  size_t *offset;      /* users + 1 */
  uint32_t *row;       /* rows of each user, in their order */
  float *q, *own;      /* of items */
  size_t first;        /* user of this round */
  float *p;            /* ROUND users */
  float *scores;       /* ROUND * items */
  double *loss, *ndcg; /* of users */
} validation;

static void clear_validation(validation *v) {
  void *const memory[] = {v->offset, v->row, v->q, v->own, v->p, v->scores, v->loss, v->ndcg};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
}

/* Users without rows are left out; of very many, some are taken, evenly spread. */
static void list_users(validation *v, size_t *end) {
  const fw_rank_data *data = v->trainer->data;
  const fw_rank_events *rows = &data->valid;
  const size_t each = data->users.count / USERS_MAX + 1;
  for (size_t i = 0; i < rows->count; i++) end[rows->user[i] + 1] += rows->user[i] % each == 0;
  for (size_t u = 1; u <= data->users.count; u++) end[u] += end[u - 1];
  for (size_t i = 0; i < rows->count; i++)
    if (rows->user[i] % each == 0) v->row[end[rows->user[i]]++] = (uint32_t)i;
  v->offset[0] = 0;
  for (size_t u = 0; u < data->users.count; u++)
    if (end[u] > v->offset[v->users]) v->offset[++v->users] = end[u];
}

static furrow_status make_validation(validation *v, furrow_error *err) {
  const fw_rank_trainer *t = v->trainer;
  const size_t rows = t->data->valid.count, items = t->data->items.count, users = t->data->users.count;
  size_t *end = NULL;
  FW_TRY(fw_alloc_zero((void **)&end, users + 1, sizeof *end, err));
  furrow_status status = fw_alloc((void **)&v->offset, users + 1, sizeof *v->offset, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&v->row, rows, sizeof *v->row, err);
  if (status == FURROW_OK) list_users(v, end);
  fw_free(end);
  FW_TRY(status);
  FW_TRY(zeros(&v->q, items, t->factors, err));
  FW_TRY(zeros(&v->own, items, 1, err));
  FW_TRY(zeros(&v->p, ROUND, t->factors, err));
  FW_TRY(zeros(&v->scores, ROUND, items, err));
  FW_TRY(fw_alloc((void **)&v->loss, v->users, sizeof *v->loss, err));
  return fw_alloc((void **)&v->ndcg, v->users, sizeof *v->ndcg, err);
}

static void sum_all_items(void *context, size_t task) {
  validation *v = context;
  const fw_rank_trainer *t = v->trainer;
  const size_t end = least(t->data->items.count, (task + 1) * ITEMS_AT_ONCE), d = t->factors;
  for (size_t i = task * ITEMS_AT_ONCE; i < end; i++) {
    sum_vectors(t, &t->data->item_uses, i, v->q + i * d);
    v->own[i] = own_score(t, (uint32_t)i, v->q + i * d);
  }
}

/* The items with the highest scores, best first; of the same score the earlier number first. */
static size_t best_items(const float *scores, size_t items, uint32_t top[TOP]) {
  size_t count = 0;
  for (size_t i = 0; i < items; i++) {
    if (!(scores[i] > -INFINITY) || (count == TOP && !(scores[i] > scores[top[TOP - 1]]))) continue;
    size_t at = count < TOP ? count++ : TOP - 1;
    for (; at > 0 && scores[i] > scores[top[at - 1]]; at--) top[at] = top[at - 1];
    top[at] = (uint32_t)i;
  }
  return count;
}

static double ideal_gain(size_t relevant) {
  double sum = 0;
  for (size_t i = 0; i < relevant && i < TOP; i++) sum += 1 / log2((double)i + 2);
  return sum;
}

/* Whether the user has the item in his rows for validation, before `end`. */
static bool is_held_out(const validation *v, size_t user, size_t end, uint32_t item) {
  for (size_t i = v->offset[user]; i < end; i++)
    if (v->trainer->data->valid.item[v->row[i]] == item) return true;
  return false;
}

/* An item that is held out and in training rows, too, is not ranked. */
static void judge_user(validation *v, size_t user, float *scores) {
  const fw_rank_data *data = v->trainer->data;
  const size_t items = data->items.count;
  const uint32_t number = data->valid.user[v->row[v->offset[user]]];
  uint32_t top[TOP];
  size_t relevant = 0;
  double gain = 0, sum = 0;
  for (size_t i = 0; i < items; i++) scores[i] += v->own[i];
  for (size_t i = data->seen_offset[number]; i < data->seen_offset[number + 1]; i++) scores[data->seen[i]] = -INFINITY;
  for (size_t i = v->offset[user]; i < v->offset[user + 1]; i++) {
    const uint32_t item = data->valid.item[v->row[i]];
    if (!(scores[item] > -INFINITY) || is_held_out(v, user, i, item)) continue;
    sum += (double)scores[item];
    relevant++;
  }
  const size_t count = best_items(scores, items, top);
  for (size_t i = 0; i < count; i++)
    if (is_held_out(v, user, v->offset[user + 1], top[i])) gain += 1 / log2((double)i + 2);
  const float most = fw_largest(scores, items);
  v->ndcg[user] = relevant > 0 ? gain / ideal_gain(relevant) : NAN;
  v->loss[user] = log((double)fw_exp_all(scores, items, most)) + (double)most - sum / (double)relevant;
}

static void run_users(void *context, size_t task) {
  validation *v = context;
  const fw_rank_trainer *t = v->trainer;
  const size_t begin = task * USERS_AT_ONCE, items = t->data->items.count, d = t->factors;
  const size_t end = least(v->users - v->first, begin + USERS_AT_ONCE);
  for (size_t u = begin; u < end; u++)
    sum_vectors(t, &t->data->valid.side, v->row[v->offset[v->first + u]], v->p + u * d);
  fw_gemm_table()->nt(end - begin, items, d, v->p + begin * d, d, v->q, d, v->scores + begin * items, items, false);
  for (size_t u = begin; u < end; u++) judge_user(v, v->first + u, v->scores + u * items);
}

static furrow_status validate(validation *v, fw_rank_figures *figures, furrow_error *err) {
  fw_spin_pool *pool = v->trainer->params.pool;
  FW_TRY(make_validation(v, err));
  fw_spin_pool_run(pool, tasks_of(v->trainer->data->items.count, ITEMS_AT_ONCE), sum_all_items, v);
  for (v->first = 0; v->first < v->users; v->first += ROUND)
    fw_spin_pool_run(pool, tasks_of(least(ROUND, v->users - v->first), USERS_AT_ONCE), run_users, v);
  *figures = (fw_rank_figures){.rows = v->trainer->data->valid.count};
  for (size_t u = 0; u < v->users; u++) {
    if (isnan(v->ndcg[u])) continue;
    figures->users++;
    figures->ndcg += v->ndcg[u];
    figures->loss += v->loss[u];
  }
  figures->ndcg /= (double)figures->users; /* 0 / 0: NaN */
  figures->loss /= (double)figures->users;
  return FURROW_OK;
}

furrow_status fw_rank_trainer_validate(fw_rank_trainer *t, fw_rank_figures *figures, furrow_error *err) {
  validation v = {.trainer = t};
  const furrow_status status = validate(&v, figures, err);
  clear_validation(&v);
  return status;
}
