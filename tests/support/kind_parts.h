/* tests/support/kind_parts.h: index files of kinds that are searched, full of random numbers, and beside each what a
 * plain reader knows: the list and the vector of every id. Laid down byte by byte (sample_index.h). */
#ifndef KIND_PARTS_H
#define KIND_PARTS_H

#include <math.h>

#include "base/rng.h"
#include "furrow/vector.h"
#include "support/sample_index.h"

enum { KIND_D = 12, KIND_N = 150, KIND_LISTS = 16, KIND_CODE = 24, KIND_WIDTH = 16, KIND_STEPS = 7 };

typedef struct known {
  int64_t id;
  size_t list;
  uint8_t code[KIND_CODE];
  float vector[KIND_D]; /* what its code stands for */
  float better[KIND_D]; /* what it is refined to */
} known;

/* A transform: y = A x + b, or another order (map), or x - mean, or a length of 1. */
typedef struct kind_step {
  char fourcc[5];
  int in, out, map[KIND_WIDTH];
  float a[KIND_WIDTH * KIND_WIDTH], b[KIND_WIDTH], mean[KIND_WIDTH];
} kind_step;

typedef struct made_kind {
  index_file file;
  fw_rng rng;
  int metric;
  size_t nlist; /* 0: there are no lists */
  float centroids[KIND_LISTS][KIND_D];
  known known[KIND_N];
  float k_factor; /* 0: nothing is refined */
  size_t step_count;
  kind_step steps[KIND_STEPS];
} made_kind;

typedef struct kind_case {
  const char *name;
  void (*make)(made_kind *k, const struct kind_case *c);
  int metric;
  bool residual;
  size_t m;
  unsigned nbits;
  int option;       /* of the kind: a type, a size, a transform */
  const char *like; /* of the kind: a fourcc */
} kind_case;

/* ---- Numbers ---- */

/* Numbers that suit the metric: some metrics take positive numbers alone, one skips missing values. */
static inline float kind_number(made_kind *k) {
  const float x = (float)fw_rng_normal(&k->rng);
  if (k->metric == FURROW_METRIC_NAN_EUCLIDEAN && fw_rng_below(&k->rng, 5) == 0) return NAN;
  return k->metric == FURROW_METRIC_JENSEN_SHANNON || k->metric == FURROW_METRIC_JACCARD ? fabsf(x) + 0.1F : x;
}

static inline void draw_numbers(made_kind *k, float *numbers, size_t count, float scale) {
  for (size_t i = 0; i < count; i++) numbers[i] = scale * kind_number(k);
}

static inline void put_numbers(index_file *f, const float *numbers, size_t count) {
  put_long(f, (int64_t)count);
  for (size_t i = 0; i < count; i++) put_real(f, numbers[i]);
}

/* Ids 0 … KIND_N-1 in another order than that of the codes, or any. */
static inline void draw_ids(made_kind *k, bool dense_ids) {
  for (int64_t i = 0; i < KIND_N; i++) k->known[i].id = dense_ids ? i * 37 % KIND_N : i * 7919 % 1000003;
}

static inline const known *known_id(const made_kind *k, int64_t id) {
  for (size_t i = 0; i < KIND_N; i++)
    if (k->known[i].id == id) return &k->known[i];
  abort();
}

/* ---- Flat vectors and graphs ---- */

static inline void put_flat_header(made_kind *k, int64_t n) {
  put_header(&k->file, k->metric == 0 ? "IxFI" : k->metric == 1 ? "IxF2" : "IxFl", KIND_D, n, true, k->metric);
}

/* By id: what is known of vectors 0, 1, … or what they are refined to. */
static inline void put_known(made_kind *k, bool better) {
  put_flat_header(k, KIND_N);
  put_long(&k->file, KIND_N * KIND_D);
  for (int64_t id = 0; id < KIND_N; id++)
    for (size_t i = 0; i < KIND_D; i++)
      put_real(&k->file, better ? known_id(k, id)->better[i] : known_id(k, id)->vector[i]);
}

static inline void make_flat(made_kind *k, const kind_case *c) {
  (void)c;
  draw_ids(k, true);
  for (size_t i = 0; i < KIND_N; i++) draw_numbers(k, k->known[i].vector, KIND_D, 1);
  put_known(k, false);
}

static inline void make_hnsw(made_kind *k, const kind_case *c) {
  put_graph(&k->file, KIND_D, KIND_N, k->metric);
  make_flat(k, c);
}

/* ---- Product quantizers ---- */

typedef struct kind_pq {
  size_t m;
  unsigned nbits;
  float centroids[KIND_D << 8]; /* [m][2^nbits][KIND_D / m] */
} kind_pq;

static inline void put_kind_pq(made_kind *k, kind_pq *pq, size_t m, unsigned nbits) {
  const size_t count = (size_t)KIND_D << nbits;
  *pq = (kind_pq){.m = m, .nbits = nbits};
  draw_numbers(k, pq->centroids, count, 0.5F);
  put_long(&k->file, KIND_D);
  put_long(&k->file, (int64_t)m);
  put_long(&k->file, nbits);
  put_numbers(&k->file, pq->centroids, count);
}

static inline void put_bits(uint8_t *code, size_t bit, unsigned bits, unsigned number) {
  for (unsigned b = 0; b < bits; b++) code[(bit + b) / 8] |= (uint8_t)((number >> b & 1) << (bit + b) % 8);
}

static inline size_t kind_code_size(const kind_pq *pq) {
  return (pq->m * pq->nbits + 7) / 8;
}

/* What a code stands for is added to the vector. */
static inline void add_decoded(const kind_pq *pq, const uint8_t *code, float *vector) {
  const size_t dsub = KIND_D / pq->m, ksub = (size_t)1 << pq->nbits;
  for (size_t i = 0; i < KIND_D; i++) {
    size_t number = 0, bit = i / dsub * pq->nbits;
    for (size_t b = 0; b < pq->nbits; b++, bit++) number |= (size_t)(code[bit / 8] >> bit % 8 & 1) << b;
    vector[i] += pq->centroids[(i / dsub * ksub + number) * dsub + i % dsub];
  }
}

static inline bool has_code(const made_kind *k, const uint8_t *code, size_t upto) {
  for (size_t i = 0; i < upto; i++)
    if (memcmp(k->known[i].code, code, KIND_CODE) == 0) return true;
  return false;
}

/* Random codes, all different: so no two vectors are equally near. */
static inline void draw_codes(made_kind *k, const kind_pq *pq) {
  for (size_t i = 0; i < KIND_N; i++) {
    uint8_t *code = k->known[i].code;
    do {
      memset(code, 0, KIND_CODE);
      for (size_t part = 0; part < pq->m; part++)
        put_bits(code, part * pq->nbits, pq->nbits, (unsigned)fw_rng_below(&k->rng, UINT64_C(1) << pq->nbits));
    } while (has_code(k, code, i));
    add_decoded(pq, code, k->known[i].vector);
  }
}

static inline void make_pq(made_kind *k, const kind_case *c) {
  kind_pq pq;
  put_header(&k->file, "IxPq", KIND_D, KIND_N, true, k->metric);
  put_kind_pq(k, &pq, c->m, c->nbits);
  put_long(&k->file, (int64_t)(KIND_N * kind_code_size(&pq)));
  draw_codes(k, &pq);
  for (int64_t i = 0; i < KIND_N; i++) {
    k->known[i].id = i;
    put(&k->file, k->known[i].code, kind_code_size(&pq));
  }
  put_word(&k->file, 0);
  put_byte(&k->file, 0);
  put_word(&k->file, 0);
}

/* ---- Inverted lists ---- */

/* Two halves of four centroids each; a list is a pair, the first half in the low bits. */
static inline void put_halves(made_kind *k) {
  kind_pq pq;
  k->nlist = 16;
  put_header(&k->file, "Imiq", KIND_D, 16, true, k->metric);
  put_kind_pq(k, &pq, 2, 2);
  for (size_t list = 0; list < 16; list++)
    for (size_t i = 0; i < KIND_D; i++)
      k->centroids[list][i] = i < KIND_D / 2 ? pq.centroids[(list & 3) * (KIND_D / 2) + i]
                                             : pq.centroids[(4 + (list >> 2)) * (KIND_D / 2) + i - KIND_D / 2];
}

/* like: the quantizer's fourcc; NULL: flat. */
static inline void put_quantizer(made_kind *k, const char *like) {
  if (like && strcmp(like, "Imiq") == 0) {
    put_halves(k);
    return;
  }
  draw_numbers(k, k->centroids[0], k->nlist * KIND_D, 2);
  if (like && strcmp(like, "IHNf") == 0) put_graph(&k->file, KIND_D, (int)k->nlist, k->metric);
  put_flat_header(k, (int64_t)k->nlist);
  put_numbers(&k->file, k->centroids[0], k->nlist * KIND_D);
}

/* The beginning of an index with lists, of which list 1 stays empty; residual: vectors begin as their centroids. */
static inline void put_kind_ivf(made_kind *k, const char *fourcc, const kind_case *c) {
  k->nlist = c->like && strcmp(c->like, "Imiq") == 0 ? 16 : 6;
  put_header(&k->file, fourcc, KIND_D, KIND_N, true, k->metric);
  put_long(&k->file, (int64_t)k->nlist);
  put_long(&k->file, 2); /* nprobe */
  put_quantizer(k, c->like);
  put_no_map(&k->file);
  for (size_t i = 0; i < KIND_N; i++) {
    const size_t list = (size_t)fw_rng_below(&k->rng, k->nlist);
    k->known[i].list = list == 1 ? 0 : list;
    if (c->residual) memcpy(k->known[i].vector, k->centroids[k->known[i].list], sizeof k->known[i].vector);
  }
}

static inline size_t kind_list_size(const made_kind *k, size_t list) {
  size_t size = 0;
  for (size_t i = 0; i < KIND_N; i++) size += k->known[i].list == list;
  return size;
}

static inline void put_list_ids(made_kind *k, size_t list) {
  for (size_t i = 0; i < KIND_N; i++)
    if (k->known[i].list == list) put_long(&k->file, k->known[i].id);
}

static inline void put_kind_lists(made_kind *k, size_t code_size) {
  put_fourcc(&k->file, "ilar");
  put_long(&k->file, (int64_t)k->nlist);
  put_long(&k->file, (int64_t)code_size);
  put_fourcc(&k->file, "full");
  put_long(&k->file, (int64_t)k->nlist);
  for (size_t list = 0; list < k->nlist; list++) put_long(&k->file, (int64_t)kind_list_size(k, list));
  for (size_t list = 0; list < k->nlist; list++) {
    for (size_t i = 0; i < KIND_N; i++)
      if (k->known[i].list == list && code_size == sizeof k->known[i].vector)
        for (size_t j = 0; j < KIND_D; j++) put_real(&k->file, k->known[i].vector[j]);
      else if (k->known[i].list == list)
        put(&k->file, k->known[i].code, code_size);
    put_list_ids(k, list);
  }
}

static inline void make_ivfflat(made_kind *k, const kind_case *c) {
  draw_ids(k, false);
  put_kind_ivf(k, "IwFl", c);
  for (size_t i = 0; i < KIND_N; i++) draw_numbers(k, k->known[i].vector, KIND_D, 1);
  put_kind_lists(k, KIND_D * sizeof(float));
}

static inline void put_kind_ivfpq(made_kind *k, const char *fourcc, const kind_case *c) {
  kind_pq pq;
  put_kind_ivf(k, fourcc, c);
  put_byte(&k->file, c->residual);
  put_long(&k->file, (int64_t)(c->m * c->nbits + 7) / 8);
  put_kind_pq(k, &pq, c->m, c->nbits);
  draw_codes(k, &pq);
  put_kind_lists(k, kind_code_size(&pq));
}

static inline void make_ivfpq(made_kind *k, const kind_case *c) {
  draw_ids(k, false);
  put_kind_ivfpq(k, "IwPQ", c);
}

/* Vectors are refined by codes of their own, which stand in the order of ids. */
static inline void make_pqr(made_kind *k, const kind_case *c) {
  kind_pq pq;
  draw_ids(k, true);
  k->k_factor = 4;
  put_kind_ivfpq(k, "IwQR", c);
  put_kind_pq(k, &pq, 4, 4);
  put_long(&k->file, (int64_t)(KIND_N * kind_code_size(&pq)));
  for (int64_t id = 0; id < KIND_N; id++) {
    known *one = &k->known[known_id(k, id) - k->known];
    uint8_t code[KIND_CODE];
    for (size_t i = 0; i < kind_code_size(&pq); i++) code[i] = (uint8_t)fw_rng_next(&k->rng);
    memcpy(one->better, one->vector, sizeof one->better);
    add_decoded(&pq, code, one->better);
    put(&k->file, code, kind_code_size(&pq));
  }
  put_real(&k->file, k->k_factor);
}

#endif
