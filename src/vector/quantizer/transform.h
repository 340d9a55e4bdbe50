/* vector/quantizer/transform.h: transforms of an index: applied to vectors, and reversed. */
#ifndef FW_VECTOR_QUANTIZER_TRANSFORM_H
#define FW_VECTOR_QUANTIZER_TRANSFORM_H

#include "base/pool.h"

typedef struct fw_transform fw_transform;
struct fw_transform {
  char fourcc[4];
  int32_t d_in, d_out;
  bool trained;
  size_t opq_m; /* LTra that is not trained: parts of the product quantizer that it is to be trained for; 0: unknown */
  /* linear (LTra, rrot, Pcam, Viqm): y = A x + b */
  bool have_bias;
  size_t a_count, b_count; /* d_out * d_in and d_out, or 0 */
  float *a, *b;
  /* Pcam */
  float eigen_power, epsilon;
  bool random_rotation;
  int32_t balanced_bins;
  size_t mean_count, eigen_count, pca_count;
  float *mean; /* also VCnt and Viqt */
  float *eigenvalues, *pca;
  size_t map_count;
  int32_t *map; /* RmDT: d_out input dimensions; -1: the output is 0 */
  float norm;   /* VNrm */
  int32_t max_iter;
  uint32_t seed; /* Viqm, HRot */
  bool do_pca;   /* Viqt: nested are the rotation and the whole transform */
  fw_transform *nested;
};

typedef struct fw_transforms {
  size_t count;
  fw_transform *list; /* applied in order */
} fw_transforms;

void fw_transforms_clear(fw_transforms *transforms);

/* Fails with E_STATE if a transform is not trained, with E_UNSUPPORTED if it cannot be applied; the token is its
 * fourcc. */
furrow_status fw_transforms_check(const fw_transforms *transforms, furrow_error *err) FURROW_MUST_USE;
/* The largest dimension before, between and after the transforms; 0 without transforms. */
size_t fw_transforms_width(const fw_transforms *transforms);
/* y = x, scaled to norm 1; a zero vector stays. x and y may be the same. */
void fw_normalize_vector(const float *x, size_t d, float *y);
/* y = the transform of x, for n vectors; x and y must not overlap. `scratch` has d_in floats. */
void fw_transform_apply(const fw_transform *transform, const float *x, size_t n, float *y, float *scratch);
/* Applies all transforms in order. scratch has 2 * n * width + width floats. The result points into scratch, or is x if
 * there are no transforms. */
const float *fw_transforms_apply(const fw_transforms *transforms, const float *x, size_t n, float *scratch);

/* Applies all transforms to n vectors. The caller frees *moved. d_out is the dimension after the last transform. */
furrow_status fw_transforms_run(const fw_transforms *transforms, const float *vectors, size_t n, size_t d_in,
                                size_t d_out, fw_pool *pool, float **moved, furrow_error *err) FURROW_MUST_USE;

/* Reverses all transforms: y is their output, x gets the input. x and y must not overlap. Information that transforms
 * lose (norms, dimensions) is not restored. Fails with E_UNSUPPORTED if one cannot be reversed; the token is its
 * fourcc. */
furrow_status fw_transforms_reverse(const fw_transforms *transforms, const float *y, float *x,
                                    furrow_error *err) FURROW_MUST_USE;

#endif
