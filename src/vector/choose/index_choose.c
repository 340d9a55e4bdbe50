/* vector/choose/index_choose.c: chooses the kind and the sizes of an index for a number of vectors. The result depends
 * on counts alone, never on a clock, a machine or a number of threads. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/build/build.h"
#include "vector/index/index.h"
#include "vector/quantizer/sq.h"

#define EXACT_FLOATS ((uint64_t)1 << 24) /* up to this many numbers, a query is compared with all vectors: a few ms */
#define FEW_VECTORS 10000                /* with fewer vectors, a product quantizer takes more space than it saves */
#define VECTORS_PER_LIST 39              /* that k-means needs for each list */
#define MANY_LISTS 65536                 /* from here on, a graph finds lists faster than comparing all centroids */
enum { MOST_M = 64, SHORT_VECTOR = 24, LEAST_PROBES = 8, MOST_PROBES = 128, TEXT = 128 };

/* ---- Sizes ---------------------------------------------------------------------------------------------- */

uint64_t furrow_default_nprobe(uint64_t nlist) {
  const uint64_t quarter = nlist / 4 < LEAST_PROBES ? LEAST_PROBES : nlist / 4 > MOST_PROBES ? MOST_PROBES : nlist / 4;
  return quarter < nlist ? quarter : nlist;
}

/* The power of two nearest to 4 * sqrt(n), limited so that each list has enough vectors. */
static uint64_t lists_for(uint64_t n) {
  uint64_t lists = 1;
  /* 2 * lists is nearer than lists if their product is at most the square, 16 n */
  while (2 * lists * lists <= 16 * n && 2 * lists * VECTORS_PER_LIST <= n) lists *= 2;
  return lists;
}

/* The numbers of a sub-quantizer. */
static uint64_t part_size(uint64_t d) {
  return d <= SHORT_VECTOR ? 2 : 4;
}

/* The largest divisor of d that is at most d / part_size and MOST_M. */
static uint64_t parts_for(uint64_t d) {
  uint64_t m = d / part_size(d) < MOST_M ? d / part_size(d) : MOST_M;
  while (m > 1 && d % m != 0) m--;
  return m > 0 ? m : 1;
}

/* The dimension of the vectors that become codes. If d has no divisor of that size, the codes would be too coarse;
 * then vectors are rotated into a few dimensions more. */
static uint64_t code_dimension(uint64_t d) {
  const uint64_t size = part_size(d), rounded = (d + size - 1) / size * size;
  return 2 * parts_for(d) < parts_for(rounded) ? rounded : d;
}

/* Bytes for each vector in the file of an index. */
static uint64_t vector_bytes(const furrow_index *index) {
  uint64_t bytes = fw_index_row_size(index);
  if (fw_index_is_ivf(index)) return index->ivf.code_size + sizeof(int64_t);
  if (index->kind == FURROW_INDEX_ID_MAP) bytes += sizeof(int64_t);
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) bytes += vector_bytes(index->child[i]);
  return bytes;
}

/* Bytes of quantizers. */
static uint64_t quantizer_bytes(const furrow_index *index) {
  enum { LINKS = 80, SOME = 256 }; /* slots of a vector in a graph of 32 links, on all levels; headers */
  const fw_pq *pq = fw_index_pq(index);
  const uint64_t d = (uint64_t)index->d;
  uint64_t bytes = SOME;
  for (size_t i = 0; index->kind == FURROW_INDEX_TRANSFORM && i < index->transforms.count; i++) {
    const fw_transform *t = &index->transforms.list[i];
    if (t->norm == 0) bytes += (uint64_t)t->d_in * (uint64_t)t->d_out * sizeof(float);
  }
  if (pq) bytes += (d << pq->nbits) * sizeof(float);
  if (fw_index_sq(index)) bytes += 2 * d * sizeof(float);
  if (fw_index_is_ivf(index)) {
    bytes += index->ivf.nlist * (d * sizeof(float) + sizeof(uint64_t));
    if (index->child[0]->kind == FURROW_INDEX_HNSW) bytes += index->ivf.nlist * LINKS * sizeof(int32_t);
    return bytes;
  }
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) bytes += quantizer_bytes(index->child[i]);
  return bytes;
}

/* ---- Candidates ----------------------------------------------------------------------------------------- */

/* Candidates from the most accurate to the smallest. # stands for lists and codes of m bytes each, after a rotation
 * where d needs one. */
static const char *const exact_forms[] = {"Flat", "SQfp16", "SQ8", "SQ6", "SQ4"};
static const char *const list_forms[] = {"#,RFlat",       "#,Refine(SQfp16)", "#,Refine(SQ8)",
                                         "#,Refine(SQ6)", "#,Refine(SQ4)",    "#"};

typedef struct choosing {
  const furrow_index_wish *wish;
  uint64_t nlist;
  uint64_t code_d, m; /* dimension and sub-quantizers of codes; m 0: there are too few vectors for codes */
} choosing;

static void write_candidate(const choosing *c, const char *form, uint64_t m, char *text) {
  char rotation[24] = "", lists[64] = "";
  if (*form == '#') {
    if (c->code_d != (uint64_t)c->wish->d) snprintf(rotation, sizeof rotation, "RR%" PRIu64 ",", c->code_d);
    snprintf(lists, sizeof lists, "IVF%" PRIu64 "%s,PQ%" PRIu64, c->nlist, c->nlist >= MANY_LISTS ? "_HNSW32" : "", m);
    form++;
  }
  const char *open = c->wish->normalize ? "L2norm,(" : "", *close = c->wish->normalize ? ")" : "";
  snprintf(text, TEXT, "%s%s%s%s%s", open, rotation, lists, form, close);
}

/* Whether an index of this string is small enough; *bytes is its size. */
static furrow_status try_candidate(const choosing *c, const char *text, uint64_t *bytes, bool *fits,
                                   furrow_error *err) {
  const furrow_index_wish *w = c->wish;
  furrow_index *index = NULL;
  FW_TRY(fw_index_from_factory(&index, text, w->d, w->metric, err));
  const uint64_t id_bytes = w->ids && fw_index_has_dense_ids(index) ? sizeof(int64_t) : 0; /* of an id map */
  if (__builtin_mul_overflow(vector_bytes(index) + id_bytes, w->n, bytes)) *bytes = UINT64_MAX / 2;
  *bytes += quantizer_bytes(index);
  *fits = w->max_bytes == 0 || *bytes <= w->max_bytes;
  furrow_index_free(index);
  return FURROW_OK;
}

static furrow_status find_candidate(const choosing *c, bool exact, furrow_index_selection *selection,
                                    furrow_error *err) {
  const char *const *forms = exact ? exact_forms : list_forms;
  const size_t count = exact ? sizeof exact_forms / sizeof *exact_forms : sizeof list_forms / sizeof *list_forms;
  bool fits = false;
  uint64_t m = c->m;
  for (size_t i = 0; !fits;) {
    write_candidate(c, forms[i], m, selection->factory);
    FW_TRY(try_candidate(c, selection->factory, &selection->bytes, &fits, err));
    if (i + 1 < count) {
      i++;
    } else { /* the same with shorter codes */
      if (fits || exact || m == 1) break;
      do m--;
      while (m > 1 && c->code_d % m != 0);
    }
  }
  if (fits) return FURROW_OK;
  if (exact && c->m > 0) return find_candidate(c, false, selection, err);
  return fw_fail(err, FURROW_E_ARGUMENT,
                 "max_bytes is %" PRIu64 ", but the smallest index for these vectors takes %" PRIu64 " bytes",
                 c->wish->max_bytes, selection->bytes);
}

furrow_status furrow_index_choose(const furrow_index_wish *wish, furrow_index_selection *selection, furrow_error *err) {
  furrow_index_wish w;
  furrow_index_selection full = {0};
  furrow_index_wish_init(&w);
  FW_TRY(FW_PARAMS_READ(&w, wish, furrow_index_wish, err));
  if (w.d < 1 || w.d > FW_INDEX_MAX_D)
    return fw_fail(err, FURROW_E_ARGUMENT, "d is %d, but must be 1 to %d", (int)w.d, FW_INDEX_MAX_D);
  if (w.metric != FURROW_METRIC_L2 && w.metric != FURROW_METRIC_IP)
    return fw_fail(err, FURROW_E_ARGUMENT, "metric is %d, but must be L2 or inner product", (int)w.metric);
  if (!(w.recall > 0 && w.recall <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "recall is %g, but must be above 0 and at most 1", w.recall);
  if (w.n > (uint64_t)1 << 48) return fw_fail(err, FURROW_E_ARGUMENT, "n is larger than 2^48");
  const bool few = w.n < FEW_VECTORS;
  choosing c = {.wish = &w, .nlist = lists_for(w.n), .code_d = code_dimension((uint64_t)w.d)};
  c.m = few ? 0 : parts_for(c.code_d);
  const bool exact = c.m == 0 || w.recall == 1 || w.n * (uint64_t)w.d <= EXACT_FLOATS;
  FW_TRY(find_candidate(&c, exact, &full, err));
  full.nlist = c.nlist;
  full.m = few ? 0 : parts_for((uint64_t)w.d);
  full.nprobe = furrow_default_nprobe(c.nlist);
  fw_info_write(selection, &full, sizeof full);
  return FURROW_OK;
}
