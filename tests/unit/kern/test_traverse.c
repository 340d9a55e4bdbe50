/* tests/unit/kern/test_traverse.c: rows through packed trees against a plain walk, the same bits at every level of
 * instructions. */
#include "kern/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/cmocka_all.h"

enum { DEEPEST = 9, SLOTS = 13, GROUPS = 5, ROWS = GROUPS * FW_TRAVERSE_ROWS };

/* A tree, and rows of which each slot is one of few numbers, so that many equal those of nodes. */
typedef struct sample {
  fw_traverse_node nodes[1 << DEEPEST];
  double leaves[1 << DEEPEST];
  uint32_t x[GROUPS * (SLOTS * FW_TRAVERSE_ROWS + 16)];
  size_t stride;
  fw_traverse_tree tree;
} sample;

static uint32_t some_number(fw_rng *rng) {
  static const uint32_t edges[] = {0, 1, 0x7fffffff, 0x80000000u, 0x80000001u, UINT32_MAX};
  return fw_rng_below(rng, 3) ? (uint32_t)fw_rng_below(rng, 8) + 0x7ffffffcu : edges[fw_rng_below(rng, 6)];
}

static void make_sample(sample *s, unsigned depth, size_t gap, fw_rng *rng) {
  const size_t nodes = (size_t)1 << depth;
  for (size_t i = 0; i < nodes; i++) {
    s->nodes[i] = (fw_traverse_node){(uint32_t)fw_rng_below(rng, SLOTS) * FW_TRAVERSE_ROWS, some_number(rng)};
    s->leaves[i] = fw_rng_normal(rng);
  }
  s->stride = SLOTS * FW_TRAVERSE_ROWS + gap;
  for (size_t i = 0; i < GROUPS * s->stride; i++) s->x[i] = some_number(rng);
  s->tree = (fw_traverse_tree){.depth = depth, .nodes = s->nodes, .leaves = s->leaves};
}

static double leaf_of(const sample *s, size_t row) {
  const uint32_t *x = s->x + row / FW_TRAVERSE_ROWS * s->stride + row % FW_TRAVERSE_ROWS;
  size_t node = 1;
  for (unsigned i = 0; i < s->tree.depth; i++) node = 2 * node + (s->nodes[node].value < x[s->nodes[node].slot]);
  return s->leaves[node - ((size_t)1 << s->tree.depth)];
}

static void check_sample(const sample *s, const fw_traverse *kernel, size_t step) {
  double out[ROWS * 3], wanted[ROWS * 3];
  for (size_t i = 0; i < ROWS * 3; i++) out[i] = wanted[i] = (double)i / 7;
  for (size_t row = 0; row < ROWS; row++) wanted[row * step] += leaf_of(s, row);
  kernel->groups(&s->tree, s->x, s->stride, GROUPS, out, step);
  assert_memory_equal(out, wanted, sizeof out);
}

static void test_groups(void **state) {
  (void)state;
  static sample s;
  for (fw_isa isa = FW_ISA_GENERIC; isa < FW_ISA_COUNT; isa++) {
    fw_rng rng;
    if (!fw_isa_available(isa)) continue;
    const fw_traverse kernel = fw_kernels_at(isa).traverse;
    fw_rng_init(&rng, 3);
    for (unsigned depth = 0; depth <= DEEPEST; depth++)
      for (size_t step = 1; step <= 3; step++)
        for (size_t gap = 0; gap <= 16; gap += 8) {
          make_sample(&s, depth, gap, &rng);
          check_sample(&s, &kernel, step);
        }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
