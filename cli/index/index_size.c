/* cli/index/index_size.c: how many bytes an index file will have, part by part: the layouts of
 * docs/formats/faiss-ivfpq.md.
 */
#include "index/index_size.h"

#include <math.h>

enum {
  HEADER = 37,                         /* fourcc, d, ntotal, two dummies, trained, metric */
  COUNT = 8,                           /* before the elements of an array */
  PQ_HEADER = 24 + COUNT,              /* d, m, nbits */
  LISTS_HEADER = 4 + 8 + 8 + 4 + COUNT /* ilar, nlist, code size, full */
};

static uint64_t code_size(uint64_t m, unsigned nbits) {
  return (m * nbits + 7) / 8;
}

static uint64_t pq_floats(uint64_t d, unsigned nbits) {
  return 4 * (d << nbits);
}

/* Levels and links of a graph of n vectors: the chance of level l is m^-l (1 - 1/m), down to 1e-9. */
static uint64_t graph_bytes(uint64_t n, uint64_t m) {
  uint64_t levels = 0;
  while (pow((double)m, -(double)levels) * (1 - 1 / (double)m) >= 1e-9) levels++;
  const double links = (double)n * (2 * (double)m + (double)m / ((double)m - 1));
  return HEADER + (COUNT + 8 * levels) + (COUNT + 4 * (levels + 1)) + (COUNT + 4 * n) + (COUNT + 8 * (n + 1)) + COUNT +
         4 * (uint64_t)links + 5 * 4;
}

/* The transforms and the index around them. */
static uint64_t transform_bytes(const furrow_index_spec *spec, uint64_t inner_d) {
  const uint64_t tail = 4 + 4 + 1;
  uint64_t bytes = 0;
  if (spec->normalize) bytes += 4 + 4 + tail;
  if (spec->opq) bytes += 4 + 1 + COUNT + 4 * inner_d * (uint64_t)spec->d + COUNT + tail;
  return bytes ? bytes + HEADER + 4 : 0;
}

void index_size_compute(index_size *size, const furrow_index_spec *spec, uint64_t n, furrow_direct_map map) {
  const uint64_t d = spec->opq && spec->opq_d ? (uint64_t)spec->opq_d : (uint64_t)spec->d, nlist = spec->nlist;
  *size = (index_size){.exact = spec->hnsw_m == 0 && n >= 16 * nlist};
  size->centroids = 4 * nlist * d;
  size->rest = HEADER + 8 + 8 + HEADER + COUNT + 1 + COUNT + LISTS_HEADER + 8 * nlist;
  if (spec->hnsw_m) size->graph = graph_bytes(nlist, spec->hnsw_m);
  size->codes = n * (spec->m ? code_size(spec->m, spec->nbits) : 4 * d);
  size->ids = 8 * n;
  if (spec->m) {
    size->quantizers = pq_floats(d, spec->nbits);
    size->rest += 1 + 8 + PQ_HEADER;
  }
  if (map == FURROW_DIRECT_MAP_ARRAY) size->direct_map = 8 * n;
  if (map == FURROW_DIRECT_MAP_HASHTABLE) size->direct_map = COUNT + 16 * n;
  if (spec->refine_m) {
    size->quantizers += pq_floats(d, spec->refine_nbits);
    size->refinement = n * code_size(spec->refine_m, spec->refine_nbits);
    size->rest += PQ_HEADER + COUNT + 4;
  }
  if (spec->refine_flat) {
    size->refinement += 4 * n * (uint64_t)spec->d;
    size->rest += HEADER + HEADER + COUNT + 4;
  }
  size->rest += transform_bytes(spec, d);
  if (spec->id_map) {
    size->ids += 8 * n;
    size->rest += HEADER + COUNT;
  }
  size->total = size->codes + size->ids + size->centroids + size->graph + size->quantizers + size->refinement +
                size->direct_map + size->rest;
}
