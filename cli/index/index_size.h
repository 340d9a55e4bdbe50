/* cli/index/index_size.h: how many bytes an index file will have, part by part. */
#ifndef CLI_INDEX_INDEX_SIZE_H
#define CLI_INDEX_INDEX_SIZE_H

#include "furrow/vector.h"

typedef struct index_size {
  uint64_t codes;      /* of all vectors; IVF flat: the vectors */
  uint64_t ids;        /* in the lists, and those of an id map */
  uint64_t centroids;  /* of the lists */
  uint64_t graph;      /* over the centroids, without them */
  uint64_t quantizers; /* centroids of sub-quantizers */
  uint64_t refinement; /* second codes, or vectors */
  uint64_t direct_map;
  uint64_t rest; /* headers, sizes of lists, transforms */
  uint64_t total;
  bool exact; /* false: levels of a graph are drawn, few vectors leave lists empty */
} index_size;

/* Sizes for n vectors. The spec is one that furrow_index_create takes. */
void index_size_compute(index_size *size, const furrow_index_spec *spec, uint64_t n, furrow_direct_map map);

#endif
