/* kern/math/traverse_avx512.c: tree traversal with AVX-512. Near the root, every node tests all rows of a group that
 * have reached it, which is less work there than looking up the node of each row. */
#include <immintrin.h>

#include "kern/math/traverse_tmpl.h"

enum { TOP = 4 }; /* levels whose nodes test all rows */

/* Evaluates nodes n … 2n-1, which form a level; returns the rows that go to the right. come[n]: the rows that have
 * reached node n. */
INLINE __mmask16 ask_level(const fw_traverse_node *nodes, const uint32_t *x, __mmask16 *come, unsigned n) {
  __mmask16 all = 0;
  UNROLL
  for (const unsigned end = 2 * n; n < end; n++) {
    const __m512i value = _mm512_set1_epi32((int)nodes[n].value);
    const __mmask16 right = _mm512_mask_cmplt_epu32_mask(come[n], value, _mm512_loadu_si512(x + nodes[n].slot));
    come[2 * n] = _kandn_mask16(right, come[n]);
    come[2 * n + 1] = right;
    all = _kor_mask16(all, right);
  }
  return all;
}

/* Returns the node of each row after TOP steps. */
INLINE __m512i traverse_top(const fw_traverse_node *nodes, const uint32_t *x) {
  __mmask16 come[2 << TOP];
  __m512i at = _mm512_set1_epi32(1 << TOP);
  come[1] = 0xffff;
  at = _mm512_mask_add_epi32(at, ask_level(nodes, x, come, 1), at, _mm512_set1_epi32(8));
  at = _mm512_mask_add_epi32(at, ask_level(nodes, x, come, 2), at, _mm512_set1_epi32(4));
  at = _mm512_mask_add_epi32(at, ask_level(nodes, x, come, 4), at, _mm512_set1_epi32(2));
  return _mm512_mask_add_epi32(at, ask_level(nodes, x, come, 8), at, _mm512_set1_epi32(1));
}

/* Stores in halves: a sanitizer's copies of arrays have no larger alignment. */
INLINE void store(uint32_t start[FW_TRAVERSE_ROWS], __m512i at) {
  _mm256_storeu_si256((__m256i *)start, _mm512_castsi512_si256(at));
  _mm256_storeu_si256((__m256i *)(start + HALF), _mm512_extracti64x4_epi64(at, 1));
}

static void traverse_groups(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups, double *out,
                            size_t step) {
  uint32_t start[FW_TRAVERSE_ROWS];
  const unsigned steps = tree->depth < TOP ? 0 : TOP;
  store(start, _mm512_set1_epi32(1));
  for (size_t g = 0; g < groups; g++, x += stride, out += FW_TRAVERSE_ROWS * step) {
    if (steps) store(start, traverse_top(tree->nodes, x));
    finish_half(tree, steps, start, x, out, step);
    finish_half(tree, steps, start + HALF, x + HALF, out + HALF * step, step);
  }
}

static void traverse_groups_f32(const fw_traverse_tree *tree, const uint32_t *x, size_t stride, size_t groups,
                                float *out, size_t step) {
  uint32_t start[FW_TRAVERSE_ROWS];
  const unsigned steps = tree->depth < TOP ? 0 : TOP;
  store(start, _mm512_set1_epi32(1));
  for (size_t g = 0; g < groups; g++, x += stride, out += FW_TRAVERSE_ROWS * step) {
    if (steps) store(start, traverse_top(tree->nodes, x));
    finish_half_f32(tree, steps, start, x, out, step);
    finish_half_f32(tree, steps, start + HALF, x + HALF, out + HALF * step, step);
  }
}

void fw_traverse_fill_avx512(fw_traverse *table) {
  table->groups = traverse_groups;
  table->groups_f32 = traverse_groups_f32;
}
