/* cli/index/spec_options.c: the options that say what an index is to be. */
#include "index/spec_options.h"

#include <stddef.h>

#include "core/fail.h"

const option spec_options[] = {{.name = "nlist",
                                .kind = OPTION_U64,
                                .argument = "N",
                                .help = "inverted lists",
                                .offset = offsetof(spec_values, nlist),
                                .required = true},
                               {.name = "m",
                                .kind = OPTION_U64,
                                .argument = "M",
                                .help = "sub-quantizers, a divisor of the dimension; 0: vectors are stored as they are",
                                .offset = offsetof(spec_values, m),
                                .required = true},
                               {.name = "nbits",
                                .kind = OPTION_COUNT32,
                                .argument = "B",
                                .help = "bits of a sub-quantizer (8)",
                                .offset = offsetof(spec_values, nbits)},
                               {.name = "metric",
                                .kind = OPTION_ENUM,
                                .choices = "l2|ip",
                                .help = "what near is: L2 distance, or inner product",
                                .offset = offsetof(spec_values, metric)},
                               {.name = "hnsw",
                                .kind = OPTION_U64,
                                .argument = "M",
                                .help = "lists are found by an HNSW graph with so many links: for many lists",
                                .offset = offsetof(spec_values, hnsw)},
                               {.name = "opq",
                                .kind = OPTION_FLAG,
                                .help = "vectors are rotated first, as trained: codes get better",
                                .offset = offsetof(spec_values, opq)},
                               {.name = "opq-dim",
                                .kind = OPTION_COUNT32,
                                .argument = "D",
                                .help = "with --opq: the rotation reduces the dimension to this one",
                                .offset = offsetof(spec_values, opq_dim)},
                               {.name = "normalize",
                                .kind = OPTION_FLAG,
                                .help = "vectors are made unit length first: with --metric ip, cosine",
                                .offset = offsetof(spec_values, normalize)},
                               {.name = "no-residual",
                                .kind = OPTION_FLAG,
                                .help = "codes are of vectors, not of what they differ from their list's centroid",
                                .offset = offsetof(spec_values, no_residual)},
                               {.name = "refine-flat",
                                .kind = OPTION_FLAG,
                                .help = "the vectors themselves are kept, too, and decide among the best",
                                .offset = offsetof(spec_values, refine_flat)},
                               {.name = "refine-m",
                                .kind = OPTION_U64,
                                .argument = "M",
                                .help = "a second code with so many sub-quantizers refines the first (L2)",
                                .offset = offsetof(spec_values, refine_m)},
                               {.name = "refine-nbits",
                                .kind = OPTION_COUNT32,
                                .argument = "B",
                                .help = "with --refine-m: bits of those sub-quantizers (8)",
                                .offset = offsetof(spec_values, refine_nbits)},
                               {.name = "k-factor",
                                .kind = OPTION_REAL,
                                .argument = "F",
                                .help = "refining looks at F * k of the best",
                                .offset = offsetof(spec_values, k_factor)},
                               {0}};

furrow_status spec_check(const spec_values *values, furrow_error *err) {
  if (values->m == 0 && values->nbits)
    return fail(err, FURROW_E_ARGUMENT, "--nbits is of sub-quantizers: with --m 0 there are none");
  if (values->m == 0 && values->no_residual)
    return fail(err, FURROW_E_ARGUMENT, "--no-residual is about codes: with --m 0 there are none");
  if (values->refine_nbits && values->refine_m == 0)
    return fail(err, FURROW_E_ARGUMENT, "--refine-nbits belongs to --refine-m");
  if (values->refine_m && values->no_residual)
    return fail(err, FURROW_E_ARGUMENT, "--refine-m has no place beside --no-residual");
  if (values->opq_dim && !values->opq) return fail(err, FURROW_E_ARGUMENT, "--opq-dim belongs to --opq");
  return FURROW_OK;
}

void spec_from_values(const spec_values *values, int32_t d, furrow_index_spec *spec) {
  furrow_index_spec_init(spec);
  spec->d = d;
  spec->metric = values->metric ? FURROW_METRIC_IP : FURROW_METRIC_L2;
  spec->nlist = values->nlist;
  spec->m = values->m;
  spec->nbits = values->nbits ? (unsigned)values->nbits : 8;
  spec->by_residual = !values->no_residual;
  spec->hnsw_m = values->hnsw;
  spec->opq = values->opq;
  spec->opq_d = values->opq_dim;
  spec->normalize = values->normalize;
  spec->refine_m = values->refine_m;
  spec->refine_nbits = values->refine_nbits ? (unsigned)values->refine_nbits : 8;
  spec->refine_flat = values->refine_flat;
  spec->k_factor = (float)values->k_factor;
}

furrow_status spec_create(furrow_index **index, const furrow_index_spec *spec, furrow_error *err) {
  const furrow_status status = furrow_index_create(index, spec, err);
  if (status == FURROW_E_ARGUMENT) add_hint(err, "'furrow index build --help' describes the options");
  return status;
}
