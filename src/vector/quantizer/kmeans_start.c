/* vector/quantizer/kmeans_start.c: the first centroids of k-means++ (Arthur, Vassilvitskii, "k-means++: the advantages
 * of careful seeding", 2007), greedy as in scikit-learn.
 *
 * The first centroid is any vector. Each further one is drawn with a probability proportional to a vector's loss: its
 * squared distance to the nearest centroid so far, or for spherical k-means |x| minus its largest inner product with
 * the centroids, which are unit vectors. Out of a few candidates, the one with the smallest remaining sum of losses is
 * taken.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/scan/scan.h"
#include "vector/data/parallel.h"
#include "vector/quantizer/kmeans.h"

#define PLUS_SEED 3
#define PLUS_FREE 0x1p27     /* this many multiplications are always allowed, ... */
#define PLUS_LEAST 8         /* and this many vectors per centroid */
#define PART_WORK 0x1p17     /* multiplications per task */
#define PROGRESS_WORK 0x1p26 /* multiplications between two calls of `progress` */

typedef struct start {
  const fw_kmeans_params *params;
  const float *vectors;
  size_t n, tries, part; /* vectors; candidates per centroid; vectors per task */
  const float **tried;   /* the candidates */
  float *norms;          /* norms of the vectors, if spherical */
  float *losses;         /* losses of the vectors with the centroids so far */
  float *tried_losses;   /* losses with each candidate as a further centroid: [part][candidate][vector] */
  double *sums;          /* sums of losses, of each part */
  double *tried_sums;    /* [part][candidate] */
} start;

static double norm_of(const float *x, size_t d) {
  double square = 0;
  for (size_t i = 0; i < d; i++) square += (double)x[i] * x[i];
  return sqrt(square);
}

static furrow_status try_part(void *context, size_t first, size_t count, furrow_error *err) {
  start *s = context;
  const size_t d = s->params->d, part = first / s->part;
  const float *x = s->vectors + first * d, *losses = s->losses + first;
  (void)err;
  for (size_t t = 0; t < s->tries; t++) {
    float *now = s->tried_losses + first * s->tries + t * count;
    double sum = 0;
    if (s->params->spherical) {
      const double length = norm_of(s->tried[t], d);
      const float factor = length > 0 ? (float)(1 / length) : 0;
      fw_scan_table()->ip_rows(s->tried[t], x, count, d, now);
      for (size_t i = 0; i < count; i++) now[i] = fmaxf(s->norms[first + i] - now[i] * factor, 0);
    } else {
      fw_scan_table()->l2_rows(s->tried[t], x, count, d, now);
    }
    for (size_t i = 0; i < count; i++) {
      now[i] = now[i] < losses[i] ? now[i] : losses[i];
      sum += now[i];
    }
    s->tried_sums[part * s->tries + t] = sum;
  }
  return FURROW_OK;
}

/* Draws a vector with a probability proportional to its loss, or any vector if all losses are 0. */
static const float *draw_vector(const start *s, size_t parts, double total, fw_rng *rng) {
  const size_t d = s->params->d;
  if (total == 0) return s->vectors + fw_rng_below(rng, s->n) * d;
  size_t part = 0, drawn = 0;
  double left = fw_rng_double(rng) * total;
  while (part + 1 < parts && left >= s->sums[part]) left -= s->sums[part++];
  for (size_t i = part * s->part; i < s->n && left >= 0; i++) {
    if (s->losses[i] > 0) drawn = i; /* the last vector with a loss, if rounding leaves a remainder */
    left -= s->losses[i];
  }
  return s->vectors + drawn * d;
}

/* The candidate that leaves the smallest sum, whose losses become the losses; *total is their sum. */
static size_t take_best(start *s, size_t parts, double *total) {
  size_t best = 0;
  for (size_t t = 0; t < s->tries; t++) {
    double sum = 0;
    for (size_t p = 0; p < parts; p++) sum += s->tried_sums[p * s->tries + t];
    if (t > 0 && sum >= *total) continue;
    *total = sum;
    best = t;
  }
  for (size_t p = 0; p < parts; p++) {
    const size_t first = p * s->part, count = s->n - first < s->part ? s->n - first : s->part;
    s->sums[p] = s->tried_sums[p * s->tries + best];
    memcpy(s->losses + first, s->tried_losses + first * s->tries + best * count, count * sizeof *s->losses);
  }
  return best;
}

static furrow_status choose_centroids(start *s, float *centroids, furrow_error *err) {
  const fw_kmeans_params *p = s->params;
  const size_t parts = (s->n - 1) / s->part + 1, most = s->tries;
  double total = 0, work = 0;
  fw_rng rng;
  fw_rng_init(&rng, p->seed);
  for (size_t i = 0; i < s->n; i++) s->losses[i] = FLT_MAX; /* distances may overflow */
  for (size_t i = 0; p->spherical && i < s->n; i++) s->norms[i] = (float)norm_of(s->vectors + i * p->d, p->d);
  for (size_t c = 0; c < p->k; c++) {
    s->tries = c > 0 ? most : 1;
    for (size_t t = 0; t < s->tries; t++) s->tried[t] = draw_vector(s, parts, total, &rng);
    FW_TRY(fw_parallel_run(p->pool, s->n, s->part, try_part, s, err));
    memcpy(centroids + c * p->d, s->tried[take_best(s, parts, &total)], p->d * sizeof *centroids);
    work += (double)s->n * (double)s->tries * (double)p->d;
    if (work < PROGRESS_WORK) continue;
    FW_TRY(fw_report_progress(p->progress, p->user, p->phase, 0, p->rounds, err));
    work = 0;
  }
  if (p->spherical) fw_normalize_centroids(centroids, p->k, p->d);
  return FURROW_OK;
}

/* A sample of n / tries vectors takes as many multiplications as a round over n vectors. */
static size_t sample_size(const fw_kmeans_params *p, size_t n, size_t tries) {
  const double free = PLUS_FREE / ((double)tries * (double)p->k * (double)p->d);
  const double least = fmax((double)p->k * PLUS_LEAST, (double)n / (double)tries);
  return (size_t)fmin(fmax(free, least), (double)n);
}

furrow_status fw_kmeans_plus_plus(const fw_kmeans_params *params, const fw_rank_vectors *all, float *centroids,
                                  furrow_error *err) {
  start s = {.params = params, .tries = 2 + (size_t)log((double)params->k)};
  fw_rank_vectors sample = {0};
  furrow_status status = fw_rank_vectors_sample(&sample, all, params->d, sample_size(params, all->n, s.tries),
                                                params->seed + PLUS_SEED, err);
  s.vectors = sample.vectors;
  s.n = sample.n;
  s.part = (size_t)fmin(fmax(PART_WORK / ((double)s.tries * (double)params->d), 64), 4096);
  const size_t parts = s.n / s.part + 1;
  if (status == FURROW_OK) status = FW_ALLOC(&s.tried, s.tries, err);
  if (status == FURROW_OK && params->spherical) status = FW_ALLOC(&s.norms, s.n, err);
  if (status == FURROW_OK) status = FW_ALLOC(&s.losses, s.n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&s.tried_losses, s.n, s.tries, err);
  if (status == FURROW_OK) status = FW_ALLOC(&s.sums, parts, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&s.tried_sums, parts, s.tries, err);
  if (status == FURROW_OK) status = choose_centroids(&s, centroids, err);
  fw_free(s.tried_sums);
  fw_free(s.sums);
  fw_free(s.tried_losses);
  fw_free(s.losses);
  fw_free(s.norms);
  fw_free(s.tried);
  fw_rank_vectors_clear(&sample);
  return status;
}
