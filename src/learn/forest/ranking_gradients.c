/* learn/forest/ranking_gradients.c: gradients and hessians of rows that are ranked within groups.
 *
 * Rows are put in the order of their scores; a pair of different labels pushes the better row up and the other one down
 * by the slope of ln(1 + exp(-difference of scores)), times what swapping them would change of NDCG. Loops over pairs
 * are plain C that compilers can turn into vectors. */
#include "learn/forest/gradients.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

enum { BLOCK = 64, PARTIAL_SUMS = 8, MOST_TASKS = 256 };
#define NEAR 0.01F /* added to the distance of two scores, which divides their pair: far ones are settled */

/* ---- Memory ---- */

static furrow_status alloc_f32(float **numbers, size_t count, furrow_error *err) {
  return FW_ALLOC_ZERO(numbers, count, err);
}

static furrow_status find_discounts(fw_lambdas *l, furrow_error *err) {
  const fw_row_groups *groups = l->groups;
  size_t longest = 0;
  for (size_t g = 0; g < groups->count; g++) {
    const size_t rows = groups->begin[g + 1] - groups->begin[g];
    longest = rows > longest ? rows : longest;
    l->ideal[g] = fw_row_groups_ideal(groups, g, l->label, l->truncation);
  }
  FW_TRY(alloc_f32(&l->discount, longest, err));
  for (size_t i = 0; i < longest; i++) l->discount[i] = (float)fw_rank_discount(i);
  return FURROW_OK;
}

furrow_status fw_lambdas_init(fw_lambdas *l, const fw_row_groups *groups, const float *label, size_t truncation,
                              furrow_error *err) {
  const size_t rows = groups->begin[groups->count];
  float **const numbers[] = {&l->gradient, &l->hessian, &l->score, &l->gain, &l->g, &l->h};
  l->groups = groups;
  l->label = label;
  l->truncation = truncation;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) FW_TRY(alloc_f32(numbers[i], rows, err));
  FW_TRY(FW_ALLOC(&l->ideal, groups->count, err));
  FW_TRY(FW_ALLOC(&l->key, rows, err));
  for (size_t i = 0; i < rows; i++) l->key[i] = groups->row[i];
  return find_discounts(l, err);
}

void fw_lambdas_clear(fw_lambdas *l) {
  void *const arrays[] = {l->gradient, l->hessian, l->score, l->gain, l->g, l->h, l->ideal, l->discount, l->key};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  *l = (fw_lambdas){0};
}

/* ---- The order of a group ---- */

/* Descending scores, then ascending rows: as one whole number that ascends. */
static inline uint64_t key_of(float score, uint32_t row) {
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  bits ^= bits >> 31 ? 0 : UINT32_C(0x7fffffff);
  return (uint64_t)bits << 32 | row;
}

/* Insertion sort, as long as few keys move: the order is nearly the same as in the round before. */
static void sort_keys(uint64_t *key, size_t n) {
  size_t moves = 16 * n;
  for (size_t i = 1; i < n; i++) {
    const uint64_t moving = key[i];
    size_t at = i;
    for (; at > 0 && key[at - 1] > moving && moves > 0; at--, moves--) key[at] = key[at - 1];
    key[at] = moving;
    if (moves == 0) {
      fw_sort_u64(key, n);
      return;
    }
  }
}

static void put_in_order(const fw_lambdas *l, size_t begin, size_t n, const double *score) {
  uint64_t *key = l->key + begin;
  for (size_t i = 0; i < n; i++) key[i] = key_of((float)score[(uint32_t)key[i]] + 0.0F, (uint32_t)key[i]);
  sort_keys(key, n);
  for (size_t i = 0; i < n; i++) {
    const uint32_t row = (uint32_t)key[i];
    l->score[begin + i] = (float)score[row];
    l->gain[begin + i] = (float)fw_grade_gain((double)l->label[row]);
  }
  memset(l->g + begin, 0, n * sizeof *l->g);
  memset(l->h + begin, 0, n * sizeof *l->h);
}

/* ---- Pairs ---- */

/* One row, and the sums that it gets from its pairs with the rows after it. */
typedef struct pull {
  float score, gain, discount; /* score, gain and discount of the row; gains are shares of the ideal one */
  float g[PARTIAL_SUMS], h[PARTIAL_SUMS];
} pull;

/* No score of the block is above the score of the row, so the argument of exp is at most 0. Rows of the same gain add
 * nothing. The loops are separate because compilers turn a conditional in one long loop into branches. */
static void pair_block(pull *p, const float *score, const float *gain, const float *discount, float *g, float *h,
                       size_t n) {
  float x[BLOCK], apart[BLOCK], right[BLOCK], lambda[BLOCK] = {0}, bend[BLOCK] = {0};
  for (size_t j = 0; j < n; j++) x[j] = score[j] - p->score;
  for (size_t j = 0; j < n; j++) apart[j] = NEAR - x[j];
  for (size_t j = 0; j < n; j++) x[j] = x[j] < -40.0F ? -40.0F : x[j];
  for (size_t j = 0; j < n; j++) {
    const float e = fw_exp_of(x[j]), sum = 1.0F + e;
    const float change = (p->gain - gain[j]) * (p->discount - discount[j]) / (apart[j] * sum * sum);
    right[j] = change * sum * e;
    lambda[j] = change * sum;
    bend[j] = fabsf(change) * e;
  }
  for (size_t j = 0; j < n; j++) lambda[j] = right[j] > 0 ? right[j] : lambda[j];
  for (size_t j = 0; j < n; j++) g[j] += lambda[j];
  for (size_t j = 0; j < n; j++) h[j] += bend[j];
  for (size_t j = 0; j < BLOCK; j += PARTIAL_SUMS) {
    for (size_t k = 0; k < PARTIAL_SUMS; k++) p->g[k] += lambda[j + k];
    for (size_t k = 0; k < PARTIAL_SUMS; k++) p->h[k] += bend[j + k];
  }
}

static float add_up(const float *partial) {
  float sum = 0;
  for (size_t k = 0; k < PARTIAL_SUMS; k++) sum += partial[k];
  return sum;
}

static void pair_row(const fw_lambdas *l, size_t begin, size_t i, size_t n) {
  const float *score = l->score + begin, *gain = l->gain + begin;
  float *g = l->g + begin, *h = l->h + begin;
  pull p = {.score = score[i], .gain = gain[i], .discount = l->discount[i]};
  for (size_t j = i + 1; j < n; j += BLOCK)
    pair_block(&p, score + j, gain + j, l->discount + j, g + j, h + j, n - j < BLOCK ? n - j : BLOCK);
  g[i] -= add_up(p.g);
  h[i] += add_up(p.h);
}

/* ---- All groups ---- */

static void fill_group(const fw_lambdas *l, size_t group, const double *score) {
  const size_t begin = l->groups->begin[group], n = l->groups->begin[group + 1] - begin;
  if (!(l->ideal[group] > 0)) return; /* no pair */
  put_in_order(l, begin, n, score);
  const float share = (float)(1 / l->ideal[group]);
  for (size_t i = 0; i < n; i++) l->gain[begin + i] *= share;
  for (size_t i = 0; i < n && i < l->truncation; i++) pair_row(l, begin, i, n);
  double pulls = 0;
  for (size_t i = 0; i < n; i++) pulls += fabs((double)l->g[begin + i]);
  const float factor = pulls > 0 ? (float)(log2(1 + pulls) / pulls) : 1;
  for (size_t i = 0; i < n; i++) {
    const uint32_t row = (uint32_t)l->key[begin + i];
    l->gradient[row] = l->g[begin + i] * factor;
    l->hessian[row] = l->h[begin + i] * factor;
  }
}

typedef struct filler {
  const fw_lambdas *lambdas;
  const double *score;
  size_t tasks;
} filler;

/* The first group of a task: tasks have about as many rows each. */
static size_t first_group(const filler *f, size_t task) {
  const fw_row_groups *groups = f->lambdas->groups;
  size_t low = 0, high = groups->count;
  const uint64_t rows = groups->begin[groups->count];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (groups->begin[middle] < rows * task / f->tasks)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void fill_groups(void *context, size_t task) {
  const filler *f = context;
  const size_t end = first_group(f, task + 1);
  for (size_t g = first_group(f, task); g < end; g++) fill_group(f->lambdas, g, f->score);
}

void fw_lambdas_fill(fw_lambdas *lambdas, const double *score, fw_spin_pool *pool) {
  const size_t groups = lambdas->groups->count;
  const filler f = {lambdas, score, groups < MOST_TASKS ? groups : MOST_TASKS};
  fw_spin_pool_run(pool, f.tasks, fill_groups, (void *)(uintptr_t)&f);
}
