/* vector/quantizer/transform_apply.h: vectors through the transforms before an index. */
#ifndef FW_VECTOR_QUANTIZER_TRANSFORM_APPLY_H
#define FW_VECTOR_QUANTIZER_TRANSFORM_APPLY_H

#include "vector/index/index.h"

/* E_STATE: one is not trained; E_UNSUPPORTED: one that is not applied here, the token is its fourcc. */
furrow_status fw_transforms_check(const fw_transforms *transforms, furrow_error *err) FURROW_MUST_USE;
/* The largest dimension on the way, in and out included; 0 without transforms. */
size_t fw_transforms_width(const fw_transforms *transforms);
/* y = the transform of x, for n vectors; x and y apart. `room` has space for d_in floats. */
void fw_transform_apply(const fw_transform *transform, const float *x, size_t n, float *y, float *scratch);
/* All of them in order. room: 2 * n * width + width floats; the result is inside of it, or x if there are none. */
const float *fw_transforms_apply(const fw_transforms *transforms, const float *x, size_t n, float *scratch);

#endif
