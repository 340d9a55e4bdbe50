/* cli/spec_options.h: the options that say what an index is to be. */
#ifndef FURROW_CLI_SPEC_OPTIONS_H
#define FURROW_CLI_SPEC_OPTIONS_H

#include "furrow/vector.h"
#include "options.h"

typedef struct spec_values {
  uint64_t nlist, m;
  uint32_t nbits, refine_nbits;
  int metric; /* place in "l2|ip" */
  bool opq, normalize, refine_flat, no_residual;
  uint32_t opq_dim;
  uint64_t hnsw, refine_m;
  double k_factor;
} spec_values;

extern const option spec_options[];
void spec_values_init(spec_values *values);
void spec_from_values(const spec_values *values, int32_t d, furrow_index_spec *spec);

#endif
