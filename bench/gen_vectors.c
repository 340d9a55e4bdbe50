/* bench/gen_vectors.c: makes vectors to build indexes of, and finds the nearest of them the slow way.
 *
 *   gen_vectors points N D [SEED [MODEL]] > file.fbin         N vectors of D floats
 *   gen_vectors truth BASE.fbin QUERIES.fbin K > file.i64     the K nearest (L2) of each query, nearest first
 *
 * Vectors are drawn from a mixture of bells whose sizes follow a power law. Bells and their middles are wide in a few
 * directions and narrow in most, as embeddings are, and a rotation hides the directions from the axes. MODEL chooses
 * the mixture, SEED the draws from it: queries are drawn from the mixture of the base with another seed. No function of
 * libm is used, so that the same arguments give the same bytes.
 *
 * fbin: count and dimension as 32-bit integers, then the floats.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/splitmix.h"
#include "vector_bench.h"

enum { BELLS = 4096, STAGES = 10, LANES = 16 };

/* bell, in floats all the way. */
static float bell_f32(uint64_t *rng) {
  uint64_t bits = fw_splitmix64(rng);
  int32_t sum = 0;
  for (int i = 0; i < 4; i++) sum += (int32_t)(bits >> (16 * i) & 0xffff);
  return (float)(sum - 131070) * (1.0f / 37837.2f);
}

/* ---- The mixture ---------------------------------------------------------------------------------------- */

typedef struct mixture {
  size_t d;
  float *middles;  /* [BELLS][d] */
  float *width;    /* [d]: deviation inside of a bell */
  uint32_t *order; /* [STAGES][d]: a stage of the rotation shuffles the axes and turns them in pairs */
  float *rotation; /* [STAGES][d / 2][2]: cosine and sine */
} mixture;

static void *take(size_t size) {
  void *memory = calloc(size, 1);
  if (!memory) {
    fprintf(stderr, "gen_vectors: out of memory\n");
    exit(1);
  }
  return memory;
}

static void make_rotation(mixture *m, uint64_t *rng) {
  m->order = (uint32_t *)take(STAGES * m->d * sizeof *m->order);
  m->rotation = (float *)take((STAGES * m->d + 1) * sizeof *m->rotation);
  for (size_t s = 0; s < STAGES; s++) {
    uint32_t *order = m->order + s * m->d;
    for (uint32_t i = 0; i < m->d; i++) {
      uint32_t j = below(rng, i + 1);
      order[i] = order[j];
      order[j] = i;
    }
    for (size_t i = 0; i + 1 < m->d; i += 2) {
      float t = (float)(fw_splitmix64(rng) >> 40) * (1.0f / (1 << 24));
      m->rotation[s * m->d + i] = (1 - t * t) / (1 + t * t);
      m->rotation[s * m->d + i + 1] = 2 * t / (1 + t * t);
    }
  }
}

static void make_mixture(mixture *m, size_t d, uint64_t model) {
  uint64_t rng = model;
  m->d = d;
  m->width = (float *)take(d * sizeof *m->width);
  m->middles = (float *)take(BELLS * d * sizeof *m->middles);
  for (size_t j = 0; j < d; j++) m->width[j] = 0.7f / (1 + 12 * (float)j / (float)d);
  for (size_t i = 0; i < BELLS * d; i++) m->middles[i] = bell_f32(&rng) / (1 + 12 * (float)(i % d) / (float)d);
  make_rotation(m, &rng);
}

/* Every power of two of bells is as likely as the next. */
static uint32_t choose_bell(uint64_t *rng) {
  uint32_t low = 1U << below(rng, 12);
  return low - 1 + ((uint32_t)fw_splitmix64(rng) & (low - 1));
}

static void draw_point(const mixture *m, uint64_t *rng, float *x, float *scratch) {
  const float *middle = m->middles + choose_bell(rng) * m->d;
  for (size_t j = 0; j < m->d; j++) x[j] = middle[j] + m->width[j] * bell_f32(rng);
  for (size_t s = 0; s < STAGES; s++) {
    const uint32_t *order = m->order + s * m->d;
    const float *rotation = m->rotation + s * m->d;
    for (size_t j = 0; j < m->d; j++) scratch[j] = x[order[j]];
    for (size_t j = 0; j + 1 < m->d; j += 2) {
      x[j] = rotation[j] * scratch[j] - rotation[j + 1] * scratch[j + 1];
      x[j + 1] = rotation[j + 1] * scratch[j] + rotation[j] * scratch[j + 1];
    }
    if (m->d % 2) x[m->d - 1] = scratch[m->d - 1];
  }
}

static int write_points(uint32_t n, uint32_t d, uint64_t seed, uint64_t model) {
  mixture m;
  uint64_t rng = seed * 0xd1342543de82ef95 + 1;
  uint32_t head[2] = {n, d};
  bool good = fwrite(head, sizeof head, 1, stdout) == 1;
  make_mixture(&m, d, model);
  float *x = (float *)take(2 * d * sizeof *x);
  for (uint32_t i = 0; i < n && good; i++) {
    draw_point(&m, &rng, x, x + d);
    good = fwrite(x, sizeof *x, d, stdout) == d;
  }
  good = fflush(stdout) == 0 && good;
  if (!good) perror("gen_vectors");
  free(x);
  free(m.middles);
  free(m.width);
  free(m.order);
  free(m.rotation);
  return good ? 0 : 1;
}

/* ---- The truth ------------------------------------------------------------------------------------------ */

/* The K nearest so far, nearest first. */
typedef struct nearest {
  float *distances;
  int64_t *ids;
  size_t count, k;
} nearest;

static void note(nearest *best, float distance, int64_t id) {
  if (best->count == best->k && distance >= best->distances[best->k - 1]) return;
  size_t i = best->count < best->k ? best->count++ : best->k - 1;
  for (; i > 0 && distance < best->distances[i - 1]; i--) {
    best->distances[i] = best->distances[i - 1];
    best->ids[i] = best->ids[i - 1];
  }
  best->distances[i] = distance;
  best->ids[i] = id;
}

/* LANES queries at once, which lie side by side: [d][LANES]. */
static void distances_of(const float *x, const float *queries, size_t d, float *out) {
  float sums[LANES] = {0};
  for (size_t j = 0; j < d; j++) {
    for (size_t i = 0; i < LANES; i++) {
      float difference = x[j] - queries[j * LANES + i];
      sums[i] += difference * difference;
    }
  }
  memcpy(out, sums, sizeof sums);
}

static bool write_truth_of(const bench_vectors *base, const bench_vectors *queries, size_t first, size_t k) {
  const size_t d = base->d, count = queries->n - first < LANES ? queries->n - first : LANES;
  float *side_by_side = (float *)take(d * LANES * sizeof *side_by_side), found[LANES];
  nearest best[LANES];
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    best[i] = (nearest){.distances = (float *)take(k * sizeof(float)), .ids = (int64_t *)take(k * 8), .k = k};
    for (size_t j = 0; j < d; j++) side_by_side[j * LANES + i] = queries->at[(first + i) * d + j];
  }
  for (size_t b = 0; b < base->n; b++) {
    distances_of(base->at + b * d, side_by_side, d, found);
    for (size_t i = 0; i < count; i++) note(&best[i], found[i], (int64_t)b);
  }
  for (size_t i = 0; i < count; i++) {
    good = good && fwrite(best[i].ids, sizeof(int64_t), k, stdout) == k;
    free(best[i].distances);
    free(best[i].ids);
  }
  free(side_by_side);
  return good;
}

static int write_truth(const char *base_path, const char *query_path, size_t k) {
  bench_vectors base = {0}, queries = {0};
  bool good = bench_map_vectors(&base, base_path) && bench_map_vectors(&queries, query_path);
  if (good && (base.d != queries.d || base.n < k)) {
    fprintf(stderr, "gen_vectors: other dimensions, or too few vectors\n");
    good = false;
  }
  for (size_t i = 0; i < queries.n && good; i += LANES) good = write_truth_of(&base, &queries, i, k);
  return good && fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  const long long a = argc > 2 ? atoll(argv[2]) : 0, b = argc > 3 ? atoll(argv[3]) : 0;
  if (argc > 3 && argc < 7 && strcmp(argv[1], "points") == 0 && a > 0 && a <= INT32_MAX && b > 0 && b <= 65536) {
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1, model = argc > 5 ? strtoull(argv[5], NULL, 10) : 1;
    return write_points((uint32_t)a, (uint32_t)b, seed, model);
  }
  if (argc == 5 && strcmp(argv[1], "truth") == 0 && atoll(argv[4]) > 0)
    return write_truth(argv[2], argv[3], (size_t)atoll(argv[4]));
  fprintf(stderr, "usage: gen_vectors points N D [SEED [MODEL]] | gen_vectors truth BASE QUERIES K\n");
  return 2;
}
