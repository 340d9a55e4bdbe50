/* learn/metrics/quantiles.c: quantiles of groups of numbers that are divided over ranks.
 *
 * A key has four bytes. For each of them, from the highest, the weights of the keys that begin with what is known are
 * counted by their next byte; the sums over all ranks show in which count the quantile is. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/metrics/metrics.h"

enum { DIGITS = 256, AT_ONCE = 1024 }; /* AT_ONCE: groups whose counts are in memory, and are sent, at a time */

/* What is known of one group's quantile. */
typedef struct search {
  uint32_t key; /* its first bytes */
  double share; /* weight up to the quantile, in units */
  int64_t below, total;
} search;

typedef struct finder {
  const fw_quantile_groups *groups;
  size_t first;  /* groups first, first + 1 … are searched now */
  unsigned byte; /* 0: the highest */
  double scale;  /* units of a weight of 1 */
  search *found;
  int64_t *weight; /* DIGITS for each group */
  uint64_t *next;  /* complement of the next key after the quantile; 0: none */
} finder;

static int64_t units_of(const finder *f, size_t i) {
  return f->groups->weight ? (int64_t)((double)f->groups->weight[i] * f->scale + 0.5) : 1;
}

static void count_group(void *context, size_t i) {
  const finder *f = context;
  const fw_quantile_groups *groups = f->groups;
  const unsigned shift = 24 - 8 * f->byte;
  const uint32_t known = f->byte ? UINT32_MAX << (shift + 8) : 0, prefix = f->found[i].key;
  int64_t *weight = f->weight + i * DIGITS;
  memset(weight, 0, DIGITS * sizeof *weight);
  for (size_t at = groups->begin[f->first + i]; at < groups->end[f->first + i]; at++)
    if ((groups->key[at] & known) == prefix) weight[groups->key[at] >> shift & (DIGITS - 1)] += units_of(f, at);
}

/* Chooses the next byte of a group's key. */
static void narrow(finder *f, size_t i, double level) {
  search *s = &f->found[i];
  const int64_t *weight = f->weight + i * DIGITS;
  uint32_t digit = 0;
  if (f->byte == 0) {
    for (size_t d = 0; d < DIGITS; d++) s->total += weight[d];
    s->share = level * (double)s->total;
  }
  while (digit + 1 < DIGITS && (weight[digit] == 0 || (double)(s->below + weight[digit]) < s->share))
    s->below += weight[digit++];
  s->key |= digit << (24 - 8 * f->byte);
  if (f->byte == 3) s->below += weight[digit];
}

/* Finds the next key after the quantile, if the share ends exactly at it. */
static void find_next(void *context, size_t i) {
  const finder *f = context;
  const fw_quantile_groups *groups = f->groups;
  const search *s = &f->found[i];
  uint32_t next = UINT32_MAX;
  if ((double)s->below == s->share && s->below < s->total)
    for (size_t at = groups->begin[f->first + i]; at < groups->end[f->first + i]; at++)
      if (groups->key[at] > s->key && groups->key[at] < next && units_of(f, at) > 0) next = groups->key[at];
  f->next[i] = UINT32_MAX - next;
}

static double number_of(uint32_t key) {
  const uint32_t bits = key >> 31 ? key & ~((uint32_t)1 << 31) : ~key;
  float number;
  memcpy(&number, &bits, sizeof number);
  return (double)number;
}

static double quantile_of(const finder *f, size_t i) {
  const double low = number_of(f->found[i].key);
  if (f->found[i].total == 0) return 0;
  return f->next[i] == 0 ? low : low + 0.5 * (number_of(UINT32_MAX - (uint32_t)f->next[i]) - low);
}

static furrow_status find_some(finder *f, size_t count, double level, const furrow_comm *comm, fw_spin_pool *pool,
                               double *quantile, furrow_error *err) {
  memset(f->found, 0, count * sizeof *f->found);
  for (f->byte = 0; f->byte < 4; f->byte++) {
    fw_spin_pool_run(pool, count, count_group, f);
    if (comm->ranks > 1) FW_TRY(fw_comm_sum_i64(comm, f->weight, count * DIGITS, err));
    for (size_t i = 0; i < count; i++) narrow(f, i, level);
  }
  fw_spin_pool_run(pool, count, find_next, f);
  if (comm->ranks > 1) FW_TRY(fw_comm_max_u64(comm, f->next, count, err));
  for (size_t i = 0; i < count; i++) quantile[f->first + i] = quantile_of(f, i);
  return FURROW_OK;
}

/* The power of two by which weights up to `most` stay below 2^30. */
static double scale_for(double most) {
  int exponent = 0;
  if (!(most > 0)) return 1;
  (void)frexp(most, &exponent);
  return ldexp(1, 30 - exponent);
}

furrow_status fw_quantiles_find(const fw_quantile_groups *groups, double level, const furrow_comm *comm,
                                fw_spin_pool *pool, double *quantile, furrow_error *err) {
  const size_t most = groups->count < AT_ONCE ? groups->count : AT_ONCE;
  finder f = {.groups = groups, .scale = scale_for(groups->most_weight)};
  furrow_status status = FW_ALLOC(&f.found, most, err);
  if (status == FURROW_OK) status = FW_ALLOC(&f.weight, most * DIGITS, err);
  if (status == FURROW_OK) status = FW_ALLOC(&f.next, most, err);
  status = fw_comm_share_status(comm, status, err);
  for (; status == FURROW_OK && f.first < groups->count; f.first += AT_ONCE) {
    const size_t left = groups->count - f.first;
    status = find_some(&f, left < AT_ONCE ? left : AT_ONCE, level, comm, pool, quantile, err);
  }
  fw_free(f.found);
  fw_free(f.weight);
  fw_free(f.next);
  return status;
}

/* ---- A constant ---- */

static furrow_status find_constant(const fw_graph *graph, const float *label, const float *weight, size_t count,
                                   uint32_t *key, double *constant) {
  const size_t begin = 0;
  double level;
  fw_quantile_groups groups = {.key = key, .weight = weight, .most_weight = 1, .begin = &begin, .end = &count};
  fw_spin_pool *pool = NULL;
  groups.count = 1;
  (void)fw_loss_is_of_quantile(graph, &level);
  for (size_t i = 0; i < count; i++) key[i] = fw_quantile_key((double)label[i]);
  for (size_t i = 0; weight && i < count; i++) groups.most_weight = fmax(groups.most_weight, (double)weight[i]);
  FW_TRY(fw_spin_pool_create(&pool, 1, NULL));
  const furrow_status status = fw_quantiles_find(&groups, level, fw_comm_self(), pool, constant, NULL);
  fw_spin_pool_free(pool);
  return status;
}

double fw_constant_loss(const fw_graph *graph, const float *label, const float *weight, size_t count) {
  uint32_t *key = NULL;
  double constant = 0, sum = 0, weights = 0;
  furrow_status status = FW_ALLOC(&key, count, NULL);
  if (status == FURROW_OK) status = find_constant(graph, label, weight, count, key, &constant);
  fw_free(key);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    sum += (weight ? (double)weight[i] : 1) * fw_loss_of(graph, constant, (double)label[i]);
    weights += weight ? (double)weight[i] : 1;
  }
  return weights > 0 ? sum / weights : NAN;
}
