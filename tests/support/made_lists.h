/* tests/support/made_lists.h: indexes of random codes, made without training, as hard as a test likes. */
#ifndef MADE_LISTS_H
#define MADE_LISTS_H

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/mem.h"
#include "base/rng.h"
#include "support/cmocka_all.h"
#include "vector/index/index.h"

typedef struct made_spec {
  size_t d, nlist, m;
  unsigned nbits;
  furrow_distance_metric metric;
  bool residual;
  float scale;       /* of all numbers */
  float offset;      /* added to centroids and queries */
  size_t most;       /* vectors of the longest list */
  unsigned distinct; /* codes that there are; 0: any */
  uint64_t seed;
} made_spec;

static inline void *made_array_of(size_t count, size_t size) {
  void *memory = NULL;
  assert_int_equal(fw_alloc_zero(&memory, count, size, NULL), FURROW_OK);
  return memory;
}

static inline float *made_floats(fw_rng *rng, size_t n, float scale, float offset) {
  float *numbers = made_array_of(n, sizeof *numbers);
  for (size_t i = 0; i < n; i++) numbers[i] = scale * (float)fw_rng_normal(rng) + offset;
  return numbers;
}

static inline furrow_index *made_index(furrow_index_kind kind, size_t d, furrow_distance_metric metric,
                                       int64_t ntotal) {
  furrow_index *index = NULL;
  assert_int_equal(fw_index_create(&index, kind, (int32_t)d, metric, NULL), FURROW_OK);
  index->trained = true;
  index->ntotal = ntotal;
  return index;
}

static inline furrow_index *made_flat(fw_rng *rng, size_t n, size_t d, furrow_distance_metric metric, float scale,
                                      float offset) {
  furrow_index *index = made_index(FURROW_INDEX_FLAT, d, metric, (int64_t)n);
  index->flat.vectors = made_floats(rng, n * d, scale, offset);
  return index;
}

static inline void made_pq(fw_rng *rng, fw_pq *pq, size_t d, size_t m, unsigned nbits, float scale) {
  *pq = (fw_pq){.d = d, .m = m, .nbits = nbits};
  pq->centroids = made_floats(rng, d << nbits, scale, 0);
}

/* Random codes; bits behind the last part are 0. `distinct` of them come again and again. */
static inline void made_codes(fw_rng *rng, const fw_pq *pq, unsigned distinct, uint8_t *codes, size_t n) {
  const size_t size = fw_pq_code_size(pq), bits = pq->m * pq->nbits;
  for (size_t i = 0; i < n; i++) {
    fw_rng one = *rng;
    if (distinct) fw_rng_init(&one, fw_rng_below(rng, distinct));
    for (size_t k = 0; k < size; k++) codes[i * size + k] = (uint8_t)fw_rng_next(distinct ? &one : rng);
    if (bits % 8) codes[i * size + size - 1] &= (uint8_t)((1U << bits % 8) - 1);
  }
}

/* Lists of 0, 1, 15 … vectors, and of random lengths; ids in no order. */
static inline size_t made_size(fw_rng *rng, size_t list, size_t most) {
  static const size_t sizes[] = {0, 1, 15, 16, 17, 48, 63, 64, 65, 127, 128, 256, 300};
  const size_t count = sizeof sizes / sizeof *sizes;
  if (list < count && sizes[list] <= most) return sizes[list];
  return (size_t)fw_rng_below(rng, most + 1);
}

static inline void made_fill(fw_rng *rng, furrow_index *index, const made_spec *spec) {
  fw_ivf *ivf = &index->ivf;
  int64_t next = 0;
  ivf->lists.kind = FURROW_LISTS_INLINE;
  ivf->lists.nlist = spec->nlist;
  ivf->lists.code_size = ivf->code_size;
  assert_int_equal(fw_lists_allocate(&ivf->lists, NULL), FURROW_OK);
  for (size_t i = 0; i < spec->nlist; i++) {
    fw_list *list = &ivf->lists.list[i];
    list->size = spec->nlist == 1 ? spec->most : made_size(rng, i, spec->most);
    list->capacity = list->size + 1;
    list->codes = made_array_of(list->capacity, ivf->code_size);
    list->ids = made_array_of(list->capacity, 8);
    if (spec->m) {
      made_codes(rng, &ivf->pq, spec->distinct, list->codes, list->size);
    } else {
      float *rows = made_floats(rng, list->size * spec->d, spec->scale, spec->offset);
      memcpy(list->codes, rows, list->size * spec->d * sizeof *rows);
      fw_free(rows);
    }
    for (size_t j = 0; j < list->size; j++, next++) fw_put_le64(list->ids + 8 * j, (uint64_t)(next * 7919 % 1000003));
  }
  index->ntotal = next;
}

/* An IVF_PQ index, or IVF_FLAT if m is 0. */
static inline furrow_index *made_lists(const made_spec *spec) {
  fw_rng rng;
  fw_rng_init(&rng, spec->seed);
  furrow_index *index = made_index(spec->m ? FURROW_INDEX_IVF_PQ : FURROW_INDEX_IVF_FLAT, spec->d, spec->metric, 0);
  index->child[0] = made_flat(&rng, spec->nlist, spec->d, spec->metric, spec->scale, spec->offset);
  index->ivf.nlist = spec->nlist;
  index->ivf.nprobe = 1;
  index->ivf.by_residual = spec->residual;
  index->ivf.code_size = spec->d * sizeof(float);
  if (spec->m) {
    made_pq(&rng, &index->ivf.pq, spec->d, spec->m, spec->nbits, spec->scale / 2);
    index->ivf.code_size = fw_pq_code_size(&index->ivf.pq);
  }
  made_fill(&rng, index, spec);
  return index;
}

#endif
