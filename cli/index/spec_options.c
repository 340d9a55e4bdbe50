/* cli/index/spec_options.c: the options that describe an index to build. */
#include "index/spec_options.h"

#include <stddef.h>

#include "core/fail.h"

const option spec_options[] = {
    {.name = "nlist",
     .kind = OPTION_U64,
     .argument = "N",
     .help = "number of inverted lists",
     .offset = offsetof(spec_values, nlist)},
    {.name = "m",
     .kind = OPTION_U64,
     .argument = "M",
     .help = "number of sub-quantizers, a divisor of the dimension; 0: store the vectors themselves",
     .offset = offsetof(spec_values, m)},
    {.name = "nbits",
     .kind = OPTION_COUNT32,
     .argument = "B",
     .help = "bits per sub-quantizer (8)",
     .offset = offsetof(spec_values, nbits)},
    {.name = "metric",
     .kind = OPTION_ENUM,
     .choices = "l2|ip",
     .help = "metric: L2 distance or inner product",
     .offset = offsetof(spec_values, metric)},
    {.name = "hnsw",
     .kind = OPTION_U64,
     .argument = "M",
     .help = "find lists with an HNSW graph of M links per node; worthwhile for many lists",
     .offset = offsetof(spec_values, hnsw)},
    {.name = "opq",
     .kind = OPTION_FLAG,
     .help = "rotate vectors with a trained matrix first, which makes codes more accurate",
     .offset = offsetof(spec_values, opq)},
    {.name = "opq-dim",
     .kind = OPTION_COUNT32,
     .argument = "D",
     .help = "with --opq: reduce the dimension to D",
     .offset = offsetof(spec_values, opq_dim)},
    {.name = "normalize",
     .kind = OPTION_FLAG,
     .help = "scale vectors to unit length first; with --metric ip this is cosine similarity",
     .offset = offsetof(spec_values, normalize)},
    {.name = "no-residual",
     .kind = OPTION_FLAG,
     .help = "encode the vectors themselves instead of their residuals to the list's centroid",
     .offset = offsetof(spec_values, no_residual)},
    {.name = "refine-flat",
     .kind = OPTION_FLAG,
     .help = "also store the vectors and rerank the best candidates with them",
     .offset = offsetof(spec_values, refine_flat)},
    {.name = "refine-m",
     .kind = OPTION_U64,
     .argument = "M",
     .help = "add a second code of M sub-quantizers that refines the first (L2 only)",
     .offset = offsetof(spec_values, refine_m)},
    {.name = "refine-nbits",
     .kind = OPTION_COUNT32,
     .argument = "B",
     .help = "with --refine-m: bits per sub-quantizer of the second code (8)",
     .offset = offsetof(spec_values, refine_nbits)},
    {.name = "k-factor",
     .kind = OPTION_REAL,
     .argument = "F",
     .help = "rerank F * k candidates",
     .offset = offsetof(spec_values, k_factor)},
    {0}};

void spec_values_init(spec_values *values) {
  values->m = SPEC_NO_M;
}

furrow_status spec_check(const spec_values *values, furrow_error *err) {
  if (values->factory) return FURROW_OK; /* furrow_index_create refuses options that cannot be used with it */
  if (values->ef_construction) return fail(err, FURROW_E_ARGUMENT, "--ef-construction needs --factory");
  if (values->nlist == 0) return fail(err, FURROW_E_ARGUMENT, "--nlist is missing");
  if (values->m == SPEC_NO_M) return fail(err, FURROW_E_ARGUMENT, "--m is missing");
  if (values->m == 0 && values->nbits)
    return fail(err, FURROW_E_ARGUMENT, "--nbits cannot be used with --m 0, which has no sub-quantizers");
  if (values->m == 0 && values->no_residual)
    return fail(err, FURROW_E_ARGUMENT, "--no-residual cannot be used with --m 0, which has no codes");
  if (values->refine_nbits && values->refine_m == 0)
    return fail(err, FURROW_E_ARGUMENT, "--refine-nbits needs --refine-m");
  if (values->refine_m && values->no_residual)
    return fail(err, FURROW_E_ARGUMENT, "--refine-m and --no-residual cannot be used together");
  if (values->opq_dim && !values->opq) return fail(err, FURROW_E_ARGUMENT, "--opq-dim needs --opq");
  return FURROW_OK;
}

void spec_from_values(const spec_values *values, int32_t d, furrow_index_spec *spec) {
  furrow_index_spec_init(spec);
  spec->d = d;
  spec->metric = values->metric ? FURROW_METRIC_IP : FURROW_METRIC_L2;
  spec->nlist = values->nlist;
  spec->m = values->m == SPEC_NO_M ? 0 : values->m;
  spec->factory = values->factory;
  spec->nbits = values->nbits ? (unsigned)values->nbits : 8;
  spec->by_residual = !values->no_residual;
  spec->hnsw_m = values->hnsw;
  spec->ef_construction = values->ef_construction;
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
