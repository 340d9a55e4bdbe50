/* kern/products/projection.c: finds the nearest of packed vectors by their heads in principal directions. */
#include "kern/products/projection.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/products/products.h"

#define ROUND_UP (1 + 64 * FLT_EPSILON) /* keeps bounds valid when they are rounded to floats */
#define MOST_D 2048
#define MOST_ROWS 512 /* vectors whose covariance gives the directions */
#define SWEEPS 4      /* iterations of orthogonal iteration: the directions need not be exact */
#define SAMPLE 32     /* queries that choose the length of heads */
#define ROUNDING \
  0.03F /* approximate error of rounding to bytes, relative to the lengths of a query and of the longest vector */
#define LEAST_N 128
#define LEAST_WORK 0x1p16 /* least number of queries times vectors per dimension for which finding directions pays */

#define BATCH 24      /* queries whose bounds are computed at once */
#define HEAD_BATCH 12 /* queries whose heads are computed at once */
#define CHUNK 32      /* blocks of heads whose bounds are kept */
#define LANES (CHUNK * FW_HEAD_WIDTH)
#define BOUND_STRIDE (LANES + FW_HEAD_WIDTH) /* stride of rows, not a multiple of 4096 bytes */
#define AHEAD 2
#define MIDDLE 64        /* offset of the bytes of queries, which go up to 127 */
#define MOST_BOUND 32000 /* fits 16 bits, with a margin for rounding */

/* A sample of vectors and queries, used to choose the length of heads and their scales. */
typedef struct sample {
  float heads[MOST_ROWS * FW_HEAD_MOST], squares[MOST_ROWS]; /* heads, and sums of the squares, of the vectors */
  const float *x[SAMPLE];                                    /* the queries */
  size_t questions;
} sample;

/* ---- Directions ----------------------------------------------------------------------------------------- */

static void add_scaled(double *sum, const double *x, double factor, size_t n) {
  for (size_t i = 0; i < n; i++) sum[i] += factor * x[i];
}

static void find_mean(const fw_projection *v, size_t n, double *sum) {
  memset(sum, 0, v->d * sizeof *sum);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < v->d; k++) sum[k] += v->rows[i * v->stride + k];
  for (size_t k = 0; k < v->d; k++) v->mean[k] = (float)(sum[k] / (double)n);
}

/* Sums y y^T over vectors that are evenly spaced among all. */
static void find_covariance(const fw_projection *v, size_t n, double *y, double *cov) {
  const size_t d = v->d, count = n < MOST_ROWS ? n : MOST_ROWS;
  memset(cov, 0, d * d * sizeof *cov);
  for (size_t i = 0; i < count; i++) {
    const float *row = v->rows + i * n / count * v->stride;
    for (size_t k = 0; k < d; k++) y[k] = (double)row[k] - v->mean[k];
    for (size_t k = 0; k < d; k++) add_scaled(cov + k * d, y, y[k], k + 1);
  }
  for (size_t k = 0; k < d; k++)
    for (size_t j = k + 1; j < d; j++) cov[k * d + j] = cov[j * d + k];
}

/* Makes axis i orthogonal to the earlier ones and of length 1; does so twice, because of rounding. False: nothing is
 * left. */
static bool orthonormalize(double *axes, size_t i, size_t d) {
  double *axis = axes + i * d;
  for (int again = 0; again < 2; again++) {
    for (size_t j = 0; j < i; j++) add_scaled(axis, axes + j * d, -fw_dot_f64(axis, axes + j * d, d), d);
    const double length = sqrt(fw_dot_f64(axis, axis, d));
    if (!(length > DBL_MIN) || !(length < DBL_MAX)) return false;
    for (size_t k = 0; k < d; k++) axis[k] /= length;
  }
  return true;
}

/* Finds the leading eigenvectors of cov by orthogonal iteration from its first columns; returns their number. */
static size_t find_axes(const double *cov, size_t d, double *axes, double *next) {
  size_t count = d < FW_HEAD_MOST ? d : FW_HEAD_MOST;
  memcpy(axes, cov, count * d * sizeof *axes);
  for (int sweep = 0;; sweep++) {
    for (size_t i = 0; i < count; i++)
      if (!orthonormalize(axes, i, d)) count = i;
    if (sweep == SWEEPS) return count;
    for (size_t i = 0; i < count; i++)
      for (size_t k = 0; k < d; k++) next[i * d + k] = fw_dot_f64(cov + k * d, axes + i * d, d);
    memcpy(axes, next, count * d * sizeof *axes);
  }
}

/* Mixes the directions by a cosine transform, so that all numbers of a head have a similar size, which suits bytes. */
static void mix_axes(const double *axes, size_t p, size_t d, double *mixed) {
  const double pi = 3.14159265358979323846;
  memset(mixed, 0, p * d * sizeof *mixed);
  for (size_t i = 0; i < p; i++)
    for (size_t j = 0; j < p; j++)
      add_scaled(mixed + i * d, axes + j * d,
                 sqrt((i == 0 ? 1 : 2) / (double)p) * cos(pi * ((double)j + 0.5) * (double)i / (double)p), d);
}

/* ---- Heads ---------------------------------------------------------------------------------------------- */

/* The error of the squared length of a rest, relative to the vector's: d roundings in each of p coordinates, and
 * directions that are orthonormal except for rounding. */
static float rest_slack(const fw_projection *v) {
  return FLT_EPSILON * 3 * sqrtf((float)v->p + 1) * (float)(v->d + 16);
}

/* head[i * FW_HEAD_MOST …]: p coordinates, and an upper bound of the length of the rest. n <= HEAD_BATCH. */
static void make_heads(const fw_projection *v, const float *x, size_t n, size_t stride, bool centred, float *head,
                       float *square) {
  float from[HEAD_BATCH * MOST_D];
  for (size_t i = 0; i < n; i++)
    square[i] = v->kern->centre(x + i * stride, centred ? v->mean : v->zero, v->d, from + i * v->d);
  v->kern->scores(&v->axes, from, n, v->d, head, FW_HEAD_MOST);
  for (size_t i = 0; i < n; i++) {
    float left = square[i], *at = head + i * FW_HEAD_MOST;
    for (size_t k = 0; k < v->p; k++) left -= at[k] * at[k];
    at[v->p] = sqrtf((left > 0 ? left : 0) + rest_slack(v) * square[i]);
  }
}

/* Stores a head at its position among the values of a block. */
static void put_head(const fw_projection *v, size_t i, const uint8_t *bytes, int8_t *values) {
  int8_t *to = values + 2 * (i / FW_HEAD_WIDTH * v->heads.pairs * FW_HEAD_WIDTH + i % FW_HEAD_WIDTH);
  for (size_t k = 0; k <= v->p; k++) to[k / 2 * 2 * FW_HEAD_WIDTH + k % 2] = (int8_t)bytes[k];
}

static void pack_head(fw_projection *v, size_t i, const float *head, float square, int8_t *values, int16_t *start) {
  uint8_t bytes[FW_HEAD_MOST];
  float length, lost;
  int sum = 0;
  v->kern->round_head(head, v->p + 1, v->scale, 127, 0, bytes, &length, &lost);
  const float bias = v->l2 ? square / 2 / (v->scale * v->x_scale) : 0;
  for (size_t k = 0; k <= v->p; k++) sum += (int8_t)bytes[k];
  put_head(v, i, bytes, values);
  start[i] = (int16_t)(uint16_t)(-MIDDLE * sum - (int)fminf(bias, MOST_BOUND));
  v->lost = fmaxf(v->lost, sqrtf(lost) * ROUND_UP + v->scale * 0x1p-16F);
  v->most = fmaxf(v->most, sqrtf(length));
  v->most_bias = fmaxf(v->most_bias, bias);
}

/* Chooses the scale of queries from a sample. */
static void choose_x_scale(fw_projection *v, const sample *s) {
  float reach = 0, longest = 0;
  for (size_t i = 0; i < s->questions; i++) {
    float head[FW_HEAD_MOST], square;
    make_heads(v, s->x[i], 1, v->d, v->l2, head, &square);
    longest = fmaxf(longest, sqrtf(square));
    for (size_t k = 0; k <= v->p; k++) reach = fmaxf(reach, fabsf(head[k]));
  }
  v->x_scale = fmaxf(reach / (MIDDLE - 1), FLT_MIN);
  v->x_longest = 1.25F * longest;
}

/* Chooses the scale of vectors so that bounds fit 16 bits. */
static void choose_scale(fw_projection *v, const float *heads) {
  float reach = 0;
  for (size_t i = 0; i < v->n; i++)
    for (size_t k = 0; k <= v->p; k++) reach = fmaxf(reach, fabsf(heads[i * FW_HEAD_MOST + k]));
  v->scale = fmaxf(reach / 127, (v->x_longest + v->longest / 2) * v->longest / (MOST_BOUND * v->x_scale));
  v->scale = fmaxf(v->scale, FLT_MIN);
  v->steps = 1 / (v->scale * v->x_scale);
}

static furrow_status allocate_heads(fw_projection *v, furrow_error *err) {
  fw_heads *h = &v->heads;
  h->blocks = (v->n + FW_HEAD_WIDTH - 1) / FW_HEAD_WIDTH;
  h->pairs = (v->p + 1) / 2;
  FW_TRY(fw_alloc_zero(&v->memory, h->blocks + 1, (h->pairs + 1) * 2 * FW_HEAD_WIDTH, err));
  h->values = (int8_t *)(((uintptr_t)v->memory + 63) & ~(uintptr_t)63);
  h->start = (const int16_t *)(h->values + 2 * h->blocks * h->pairs * FW_HEAD_WIDTH);
  return FURROW_OK;
}

/* Computes the heads of all packed vectors. s: a sample of queries to choose their scale; NULL: the scale stays. */
static furrow_status pack_heads(fw_projection *v, const sample *s, furrow_error *err) {
  float *heads, most = 0;
  const size_t n = v->n;
  FW_TRY(FW_ALLOC_ROWS(&heads, n, FW_HEAD_MOST + 1, err));
  float *square = heads + n * FW_HEAD_MOST;
  for (size_t i = 0; i < n; i += HEAD_BATCH)
    make_heads(v, v->rows + i * v->stride, n - i < HEAD_BATCH ? n - i : HEAD_BATCH, v->stride, true,
               heads + i * FW_HEAD_MOST, square + i);
  for (size_t i = 0; i < n; i++) most = fmaxf(most, square[i]);
  v->longest = sqrtf(most * (1 + rest_slack(v))) * ROUND_UP;
  if (s) choose_x_scale(v, s);
  choose_scale(v, heads);
  v->lost = v->most = v->most_bias = 0;
  int16_t *start = (int16_t *)v->heads.start;
  for (size_t i = 0; i < n; i++) pack_head(v, i, heads + i * FW_HEAD_MOST, square[i], (int8_t *)v->heads.values, start);
  for (size_t i = n; i < v->heads.blocks * FW_HEAD_WIDTH; i++) start[i] = INT16_MIN;
  fw_free(heads);
  return FURROW_OK;
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

/* The state of a query. Keys are squared distances, or negative inner products: smaller is better. */
typedef struct state {
  const float *x;
  float square; /* squared length of x - c, or of x */
  float slack;  /* by how much a bound may be too small */
  float shift;  /* inner products: <x, c> */
  float key;    /* key of the best vector */
  uint32_t best;
} state;

/* Computes a key in double, added in the same order at every level. */
static double exact_key(const fw_projection *v, const float *x, uint32_t j) {
  const float *y = v->rows + j * v->stride;
  double sum[4] = {0};
  for (size_t k = 0; k < v->d; k++) {
    const double difference = (double)x[k] - y[k];
    sum[k % 4] += v->l2 ? difference * difference : -(double)x[k] * y[k];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The sum of the errors of two keys. */
static float key_slack(const fw_projection *v, const state *q, float key) {
  const float size = v->l2 ? key : sqrtf(q->square) * (v->longest + v->size);
  return FLT_EPSILON * (float)(v->d + 16) * size;
}

/* Compares a vector with the best one; returns whether it is better. */
static bool consider(const fw_projection *v, state *q, uint32_t j) {
  if (j == q->best) return false;
  const float key = v->kern->key(q->x, v->rows + j * v->stride, v->d, v->l2), slack = key_slack(v, q, key);
  if (q->best != UINT32_MAX && key > q->key + slack) return false;
  if (q->best != UINT32_MAX && key >= q->key - slack) {
    const double old = exact_key(v, q->x, q->best), fresh = exact_key(v, q->x, j);
    if (!(fresh < old || (fresh == old && j < q->best))) return false;
  }
  q->best = j;
  q->key = key;
  return true;
}

/* The lowest bound that a better vector can have. */
static float needed(const fw_projection *v, const state *q) {
  if (q->best == UINT32_MAX) return -INFINITY;
  return (v->l2 ? (q->square - q->key) / 2 : -q->key - q->shift) - q->slack;
}

/* Whether squares neither overflow nor vanish. */
static bool sound(const fw_projection *v, float square) {
  const float size = sqrtf(square) + v->longest + v->size;
  return size * size < FLT_MAX / 64 && size * size > FLT_MIN * 0x1p40F;
}

/* The error of a bound is less than d roundings in each of p coordinates of both sides, and as many in lengths. */
static void begin(const fw_projection *v, const float *x, float square, state *q) {
  const float size = sqrtf(square) + v->longest + (v->l2 ? 0 : v->size);
  *q = (state){.x = x, .square = square, .key = INFINITY, .best = UINT32_MAX};
  q->slack = FLT_EPSILON * 2 * (sqrtf((float)v->p) + 4) * (float)(v->d + 16) * size * size;
  if (!v->l2) q->shift = -v->kern->key(x, v->mean, v->d, false);
}

/* Adds the error of rounding to bytes. Returns false if there are no bounds. */
static bool begin_rounded(const fw_projection *v, const float *x, const fw_question *ready, state *q) {
  begin(v, x, ready->square, q);
  q->slack += ready->lost * v->longest + (ready->length * v->x_scale * ROUND_UP + ready->lost) * v->lost +
              2 * v->x_scale * v->scale;
  return ready->lost < FLT_MAX && ready->length * v->most + v->most_bias < MOST_BOUND && sound(v, ready->square);
}

void fw_projection_ask(const fw_projection *v, const float *x, size_t nx, size_t stride, fw_question *ready) {
  float head[HEAD_BATCH * FW_HEAD_MOST], square[HEAD_BATCH];
  for (size_t first = 0; first < nx; first += HEAD_BATCH) {
    const size_t n = nx - first < HEAD_BATCH ? nx - first : HEAD_BATCH;
    make_heads(v, x + first * stride, n, stride, v->l2, head, square);
    for (size_t i = 0; i < n; i++) {
      fw_question *q = ready + first + i;
      float length = 0, lost = INFINITY;
      memset(q->bytes, 0, sizeof q->bytes);
      if (sound(v, square[i]))
        v->kern->round_head(head + i * FW_HEAD_MOST, v->p + 1, v->x_scale, MIDDLE - 1, MIDDLE, q->bytes, &length,
                            &lost);
      q->square = square[i];
      q->length = sqrtf(length);
      q->lost = sqrtf(lost) * ROUND_UP + v->x_scale * 0x1p-16F;
    }
  }
}

/* Expands pairs of bytes; each is stored twice. */
static void pair_up(const fw_question *ready, size_t pairs, uint32_t *out) {
  for (size_t k = 0; k < pairs; k++) out[k] = 0x10001U * (ready->bytes[2 * k] | (uint32_t)ready->bytes[2 * k + 1] << 8);
}

/* The lowest bound, in steps, that a better vector can have. */
static int16_t needed_steps(const fw_projection *v, const state *q) {
  const float steps = needed(v, q) * v->steps - 1;
  return (int16_t)(steps < -MOST_BOUND ? -MOST_BOUND : steps > MOST_BOUND ? MOST_BOUND : floorf(steps));
}

static void fetch(const fw_projection *v, uint32_t j) {
  const float *row = v->rows + j * v->stride;
  for (size_t k = 0; k < v->d; k += 16) __builtin_prefetch(row + k);
}

/* Considers the vectors that the bounds of a chunk allow. Without a guess, the vector with the largest bound comes
 * first, which rules out most others. */
static void choose_nearest(const fw_projection *v, const int16_t *bound, size_t lanes, uint32_t first, state *q) {
  const fw_products *kern = v->kern;
  uint32_t at[LANES];
  if (q->best == UINT32_MAX) consider(v, q, first + (uint32_t)kern->top_bound(bound, lanes));
  int16_t limit = needed_steps(v, q);
  const size_t count = kern->find_bounds(bound, lanes, limit, at);
  for (size_t i = 0; i < count; i++) {
    if (i + AHEAD < count) fetch(v, first + at[i + AHEAD]);
    if (bound[at[i]] >= limit && consider(v, q, first + at[i])) limit = needed_steps(v, q);
  }
}

/* Queries without bounds have no x. */
static void answer_batch(const fw_projection *v, state *q, const uint32_t *pairs, size_t n) {
  _Alignas(64) int16_t bound[BATCH * BOUND_STRIDE];
  for (size_t b = 0; b < v->heads.blocks; b += CHUNK) {
    fw_heads part = v->heads;
    part.blocks = part.blocks - b < CHUNK ? part.blocks - b : CHUNK;
    part.values += 2 * b * part.pairs * FW_HEAD_WIDTH;
    part.start += b * FW_HEAD_WIDTH;
    v->kern->bounds(&part, pairs, n, bound, BOUND_STRIDE);
    for (size_t i = 0; i < n; i++)
      if (q[i].x)
        choose_nearest(v, bound + i * BOUND_STRIDE, part.blocks * FW_HEAD_WIDTH, (uint32_t)(b * FW_HEAD_WIDTH), &q[i]);
  }
}

/* Answers at most BATCH queries. */
static void answer(const fw_packed *packed, const float *x, size_t n, size_t stride, const fw_question *ready,
                   uint32_t *best) {
  const fw_projection *v = packed->projection;
  state q[BATCH];
  uint32_t pairs[BATCH * FW_HEAD_MOST / 2];
  float score;
  for (size_t i = 0; i < n; i++) {
    pair_up(&ready[i], v->heads.pairs, pairs + i * v->heads.pairs);
    if (!begin_rounded(v, x + i * stride, &ready[i], &q[i])) q[i].x = NULL;
    if (q[i].x && best[i] < v->n) consider(v, &q[i], best[i]);
  }
  answer_batch(v, q, pairs, n);
  for (size_t i = 0; i < n; i++)
    if (q[i].x)
      best[i] = q[i].best;
    else
      v->kern->nearest(packed, x + i * stride, 1, stride, &best[i], &score);
}

void fw_projection_nearest(const fw_packed *packed, const float *x, size_t nx, size_t stride, const fw_question *ready,
                           uint32_t *best) {
  fw_question now[BATCH];
  for (size_t first = 0; first < nx; first += BATCH) {
    const size_t n = nx - first < BATCH ? nx - first : BATCH;
    if (!ready) fw_projection_ask(packed->projection, x + first * stride, n, stride, now);
    answer(packed, x + first * stride, n, stride, ready ? ready + first : now, best + first);
  }
}

/* ---- The number of directions --------------------------------------------------------------------------- */

/* The approximate cycles per query with heads of `count` numbers, if `left` of n vectors are not ruled out. */
static double cost(const fw_projection *v, size_t count, double left) {
  const double padded = (double)((count - 1 + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH);
  return (double)v->n * ((double)count / 40 + 0.15) + padded * (double)v->d / 14 + 400 + left * 90;
}

/* The same without heads: with a sketch, products of bytes. */
static double plain_cost(const fw_packed *packed) {
  return (double)packed->n * (1 + (double)packed->d / (packed->sketch ? 35 : 15));
}

/* Counts, for each length of heads, the vectors among `count` whose bounds are not below `least`. */
static void count_left(const fw_projection *v, const float *heads, const float *squares, size_t count,
                       const float *head, float square, float least, size_t *left) {
  for (size_t i = 0; i < count; i++) {
    const float *y = heads + i * FW_HEAD_MOST;
    float product = v->l2 ? -squares[i] / 2 : 0, mine = square, its = squares[i];
    for (size_t k = 0; k < v->p; k++) {
      product += head[k] * y[k];
      mine -= head[k] * head[k];
      its -= y[k] * y[k];
      if (k % FW_HEAD_STEP == FW_HEAD_STEP - 2)
        left[k / FW_HEAD_STEP] += product + sqrtf(fmaxf(mine, 0) * fmaxf(its, 0)) >= least;
    }
  }
}

/* Returns the cheapest length of heads for the given queries; 0 if none is cheaper than all products. */
static size_t choose_length(const fw_projection *v, const fw_packed *packed, const float *x, size_t nx, size_t stride,
                            sample *s) {
  const size_t n = v->n, count = n < MOST_ROWS ? n : MOST_ROWS, questions = nx < SAMPLE ? nx : SAMPLE;
  s->questions = questions;
  size_t left[FW_HEAD_MOST / FW_HEAD_STEP] = {0}, chosen = 0;
  for (size_t i = 0; i < count; i++)
    make_heads(v, v->rows + i * n / count * v->stride, 1, v->stride, true, s->heads + i * FW_HEAD_MOST, s->squares + i);
  float longest = 0;
  for (size_t i = 0; i < count; i++) longest = fmaxf(longest, sqrtf(s->squares[i]));
  for (size_t i = 0; i < questions; i++) {
    const float *from = x + i * nx / questions * stride;
    float head[FW_HEAD_MOST], square, score;
    uint32_t best;
    state q;
    s->x[i] = from;
    make_heads(v, from, 1, stride, v->l2, head, &square);
    begin(v, from, square, &q);
    fw_products_table()->nearest(packed, from, 1, stride, &best, &score);
    if (best == UINT32_MAX || !sound(v, square)) return 0;
    consider(v, &q, best);
    const float least = needed(v, &q) - ROUNDING * sqrtf(square) * longest;
    count_left(v, s->heads, s->squares, count, head, square, least, left);
  }
  double cheapest = 0.8 * plain_cost(packed);
  for (size_t length = FW_HEAD_STEP; length <= v->p + 1; length += FW_HEAD_STEP) {
    const double share = (double)left[length / FW_HEAD_STEP - 1] / (double)(count * questions);
    const double now = cost(v, length, share * (double)n);
    if (now < cheapest) chosen = length;
    cheapest = fmin(now, cheapest);
  }
  return chosen;
}

/* ---- The whole projection ------------------------------------------------------------------------------- */

static furrow_status pack_axes(fw_projection *v, const double *axes, size_t p, furrow_error *err) {
  float *rounded;
  FW_TRY(FW_ALLOC_ROWS(&rounded, p, v->d, err));
  for (size_t i = 0; i < p * v->d; i++) rounded[i] = (float)axes[i];
  fw_packed_clear(&v->axes);
  v->p = p;
  const furrow_status status = fw_packed_create(&v->axes, rounded, p, v->d, v->d, false, err);
  fw_free(rounded);
  return status;
}

/* work: d + d * d + 2 * FW_HEAD_MOST * d doubles. */
static furrow_status fill(fw_projection *v, const fw_packed *packed, const float *x, size_t nx, size_t x_stride,
                          double *work, sample *s, furrow_error *err) {
  const size_t d = v->d;
  double *cov = work + d, *axes = cov + d * d, *next = axes + FW_HEAD_MOST * d;
  find_mean(v, v->n, work);
  for (size_t k = 0; k < d; k++) work[k] = v->mean[k];
  v->size = (float)(sqrt(fw_dot_f64(work, work, d)) * ROUND_UP);
  find_covariance(v, v->n, work, cov);
  const size_t found = find_axes(cov, d, axes, next) / FW_HEAD_STEP * FW_HEAD_STEP;
  if (found == 0) return FURROW_OK;
  FW_TRY(pack_axes(v, axes, found - 1, err));
  const size_t length = choose_length(v, packed, x, nx, x_stride, s);
  if (length == 0) return FURROW_OK;
  mix_axes(axes, length - 1, d, next);
  FW_TRY(pack_axes(v, next, length - 1, err));
  FW_TRY(allocate_heads(v, err));
  return pack_heads(v, s, err);
}

furrow_status fw_projection_renew(fw_projection *projection, const float *vectors, furrow_error *err) {
  projection->rows = vectors;
  return pack_heads(projection, NULL, err);
}

furrow_status fw_projection_create(fw_projection **projection, const fw_packed *packed, const float *vectors,
                                   size_t stride, bool l2, const float *x, size_t nx, size_t x_stride,
                                   furrow_error *err) {
  const size_t n = packed->n, d = packed->d;
  double *work = NULL;
  sample *questions = NULL;
  if (n < LEAST_N || d < 2 * FW_HEAD_STEP || d > MOST_D || nx == 0) return FURROW_OK;
  if ((double)nx * (double)n < LEAST_WORK * (double)d) return FURROW_OK;
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(fw_projection) + 2 * d * sizeof(float), err));
  fw_projection *v = memory;
  *v = (fw_projection){.n = n, .d = d, .l2 = l2, .rows = vectors, .stride = stride, .mean = (float *)(v + 1)};
  v->zero = v->mean + d;
  v->kern = fw_products_table();
  furrow_status status = FW_ALLOC(&work, d + d * d + 2 * FW_HEAD_MOST * d, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&questions, 1, err);
  if (status == FURROW_OK) status = fill(v, packed, x, nx, x_stride, work, questions, err);
  fw_free(work);
  fw_free(questions);
  if (status == FURROW_OK && v->memory)
    *projection = v;
  else
    fw_projection_free(v);
  return status;
}

void fw_projection_free(fw_projection *projection) {
  if (!projection) return;
  fw_packed_clear(&projection->axes);
  fw_free(projection->memory);
  fw_free(projection);
}
