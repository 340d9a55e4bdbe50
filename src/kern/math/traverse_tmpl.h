/* kern/math/traverse_tmpl.h: half a group of rows from where they are in a tree to their leaves: so many walks at once
 * that none waits for memory, and no more than there are registers for. */
#include "kern/math/traverse.h"
#include "kern/simd/unroll.h"

enum { HALF = FW_TRAVERSE_ROWS / 2 };

/* `start`: the node that each row is at after `steps` steps. */
INLINE void finish_half(const fw_traverse_tree *tree, unsigned steps, const uint32_t *start, const uint32_t *x,
                        double *out, size_t step) {
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
  for (size_t i = 0; i < HALF; i++) out[i * step] += tree->leaves[at[i] - first];
}
