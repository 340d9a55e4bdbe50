/* cli/index/spec_options.h: the options that describe an index to build. */
#ifndef CLI_INDEX_SPEC_OPTIONS_H
#define CLI_INDEX_SPEC_OPTIONS_H

#include "core/options.h"
#include "furrow/vector.h"

#define SPEC_NO_M UINT64_MAX /* --m was not given; 0 stands for the vectors themselves */

typedef struct spec_values {
  const char *factory;                                   /* NULL: the other options describe the index */
  uint64_t nlist, m;                                     /* nlist 0: not given */
  int32_t nbits, refine_nbits, opq_dim, ef_construction; /* 0: not given */
  int metric;                                            /* index in "l2|ip" */
  bool opq, normalize, refine_flat, no_residual;
  uint64_t hnsw, refine_m;
  double k_factor;
} spec_values;

extern const option spec_options[];
void spec_values_init(spec_values *values);
/* E_ARGUMENT: an option has no effect with the others. */
furrow_status spec_check(const spec_values *values, furrow_error *err);
void spec_from_values(const spec_values *values, int32_t d, furrow_index_spec *spec);
/* furrow_index_create, with a hint that names the options. */
furrow_status spec_create(furrow_index **index, const furrow_index_spec *spec, furrow_error *err);

#endif
