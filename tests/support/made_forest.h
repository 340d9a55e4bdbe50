/* tests/support/made_forest.h: forests made by hand or at random, for tests of trees. */
#ifndef MADE_FOREST_H
#define MADE_FOREST_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/forest/forest.h"
#include "support/cmocka_all.h"

typedef struct made_params {
  size_t classes, rounds;
  unsigned levels;
  uint64_t features;
  double split; /* how often a node that can be split is */
  bool stats;
  bool missing_flipped; /* some nodes send rows without their feature the other way */
} made_params;

/* A number that is a float half of the time, so that rows can hit it. */
static inline double made_value(fw_rng *rng) {
  const double number = fw_rng_normal(rng);
  return fw_rng_below(rng, 2) ? (double)(float)number : number;
}

static inline void made_node(fw_forest *f, const made_params *p, fw_rng *rng, size_t tree, size_t node) {
  const size_t at = tree * f->nodes + node;
  f->predict[at] = fw_rng_normal(rng);
  if (node < f->nodes / 2 && fw_rng_double(rng) < p->split) {
    f->feature[at] = (int32_t)fw_rng_below(rng, p->features);
    f->value[at] = made_value(rng);
    f->missing_flipped[at] = p->missing_flipped && fw_rng_below(rng, 3) == 0;
  }
  if (!f->gain) return;
  f->gain[at] = f->feature[at] >= 0 ? fw_rng_double(rng) : 0;
  f->gradient[at] = fw_rng_normal(rng);
  f->hessian[at] = fw_rng_double(rng) * 10;
}

static inline fw_forest *made_forest(const made_params *p, uint64_t seed) {
  fw_rng rng;
  fw_rng_init(&rng, seed);
  fw_forest *f = NULL;
  furrow_error e;
  assert_int_equal(fw_forest_create(&f, p->classes, p->levels, p->stats, &e), FURROW_OK);
  assert_int_equal(fw_forest_add(f, p->rounds * p->classes, &e), FURROW_OK);
  for (size_t tree = 0; tree < f->trees; tree++)
    for (size_t node = 0; node < f->nodes; node++)
      if (fw_forest_has_node(f, tree, node)) made_node(f, p, &rng, tree, node);
  assert_int_equal(fw_forest_check(f, p->features, &e), FURROW_OK);
  return f;
}

static inline void assert_same_forest(const fw_forest *a, const fw_forest *b) {
  assert_int_equal(a->classes, b->classes);
  assert_int_equal(a->levels, b->levels);
  assert_int_equal(a->nodes, b->nodes);
  assert_int_equal(a->trees, b->trees);
  const size_t n = a->trees * a->nodes;
  assert_memory_equal(a->feature, b->feature, n * sizeof *a->feature);
  assert_memory_equal(a->value, b->value, n * sizeof *a->value);
  assert_memory_equal(a->predict, b->predict, n * sizeof *a->predict);
  assert_memory_equal(a->missing_flipped, b->missing_flipped, n);
  assert_int_equal(a->gain != NULL, b->gain != NULL);
  if (!a->gain) return;
  assert_memory_equal(a->gain, b->gain, n * sizeof *a->gain);
  assert_memory_equal(a->gradient, b->gradient, n * sizeof *a->gradient);
  assert_memory_equal(a->hessian, b->hessian, n * sizeof *a->hessian);
}

#endif
