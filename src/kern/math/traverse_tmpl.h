/* kern/math/traverse_tmpl.h: moves half a group of rows from their current nodes to their leaves: enough walks at
 * once to hide the memory latency, and few enough for the registers. */
#include "kern/math/traverse.h"
#include "kern/simd/unroll.h"

enum { HALF = FW_TRAVERSE_ROWS / 2 };

/* `start`: the node of each row after `steps` steps; leaf[i]: the number of row i's leaf. */
INLINE void walk_half(const fw_traverse_tree *tree, unsigned steps, const uint32_t *start, const uint32_t *x,
                      size_t *leaf) {
  const fw_traverse_node *nodes = tree->nodes;
  size_t at[HALF];
  UNROLL
  for (size_t i = 0; i < HALF; i++) at[i] = start[i];
  for (unsigned d = steps; d < tree->depth; d++) {
    UNROLL
    for (size_t i = 0; i < HALF; i++) {
      const fw_traverse_node node = nodes[at[i]];
      at[i] += at[i] + (node.value < x[node.slot + i]);
    }
  }
  const size_t first = (size_t)1 << tree->depth;
  UNROLL
  for (size_t i = 0; i < HALF; i++) leaf[i] = at[i] - first;
}

INLINE void finish_half(const fw_traverse_tree *tree, unsigned steps, const uint32_t *start, const uint32_t *x,
                        double *out, size_t step) {
  size_t leaf[HALF];
  walk_half(tree, steps, start, x, leaf);
  UNROLL
  for (size_t i = 0; i < HALF; i++) out[i * step] += tree->leaves[leaf[i]];
}

INLINE void finish_half_f32(const fw_traverse_tree *tree, unsigned steps, const uint32_t *start, const uint32_t *x,
                            float *out, size_t step) {
  size_t leaf[HALF];
  walk_half(tree, steps, start, x, leaf);
  UNROLL
  for (size_t i = 0; i < HALF; i++) out[i * step] += tree->leaves_f32[leaf[i]];
}
