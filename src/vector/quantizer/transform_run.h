/* vector/quantizer/transform_run.h: many vectors through transforms, in parts. */
#ifndef FW_VECTOR_QUANTIZER_TRANSFORM_RUN_H
#define FW_VECTOR_QUANTIZER_TRANSFORM_RUN_H

#include "base/pool.h"
#include "vector/index/index.h"

/* *moved (to be freed): what becomes of n vectors. d_out: dimension behind the last transform. */
furrow_status fw_transforms_run(const fw_transforms *transforms, const float *vectors, size_t n, size_t d_in,
                                size_t d_out, fw_pool *pool, float **moved, furrow_error *err) FURROW_MUST_USE;

#endif
