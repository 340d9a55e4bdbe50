/* vector/quantizer/transform_reverse.h: from what transforms made of a vector back to the vector. */
#ifndef FW_VECTOR_QUANTIZER_TRANSFORM_REVERSE_H
#define FW_VECTOR_QUANTIZER_TRANSFORM_REVERSE_H

#include "vector/index/index.h"

/* The vector (as many floats as go in) for what came out of all transforms; x and y may not overlap. What they lost
 * (length, dimensions) stays lost. E_UNSUPPORTED: one cannot be turned round; the token is its fourcc. */
furrow_status fw_transforms_reverse(const fw_transforms *transforms, const float *y, float *x,
                                    furrow_error *err) FURROW_MUST_USE;

#endif
