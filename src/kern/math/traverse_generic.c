/* kern/math/traverse_generic.c: tree traversal for any processor. */
#include "kern/math/traverse_tmpl.h"

static const uint32_t roots[HALF] = {1, 1, 1, 1, 1, 1, 1, 1};

static void traverse_groups(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups, double *out,
                            size_t step) {
  for (size_t g = 0; g < groups; g++, x += stride, out += FW_TRAVERSE_ROWS * step) {
    finish_half(tree, 0, roots, x, out, step);
    finish_half(tree, 0, roots, x + HALF, out + HALF * step, step);
  }
}

static void traverse_groups_f32(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups,
                                float *out, size_t step) {
  for (size_t g = 0; g < groups; g++, x += stride, out += FW_TRAVERSE_ROWS * step) {
    finish_half_f32(tree, 0, roots, x, out, step);
    finish_half_f32(tree, 0, roots, x + HALF, out + HALF * step, step);
  }
}

void fw_traverse_fill_generic(fw_traverse *table) {
  table->groups = traverse_groups;
  table->groups_f32 = traverse_groups_f32;
}
