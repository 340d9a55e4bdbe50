/* tests/unit/ranks/test_convex_ranks.c: the exact minimum over ranks: the bytes of one process, for rows that are cut
 * anywhere; and what fails on one rank fails on all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "learn/convex/linear_problem.h"
#include "support/cmocka_all.h"
#include "support/thread_ranks.h"

enum { STEPS = 6, MOST_CUTS = 8 };

typedef struct made_case {
  const char *name;
  fw_loss_type loss;
  size_t outputs, factors, rows, most;
  uint64_t range;
  bool values;
} made_case;

static const made_case cases[] = {
    {"by block", FW_LOSS_LOG, 1, 0, 3000, 8, 500, true},
    {"by block, few rows", FW_LOSS_L2, 1, 0, 40, 4, 30, true},
    {"by block, classes", FW_LOSS_SOFTMAX, 4, 0, 1500, 6, 200, false},
    {"by feature", FW_LOSS_LOG, 1, 0, 9000, 12, 40000, false},
    {"by feature, values", FW_LOSS_HUBER, 1, 0, 6000, 12, 40000, true},
    {"by feature, classes", FW_LOSS_SOFTMAX, 3, 0, 4000, 8, 20000, true},
    {"vectors by block", FW_LOSS_LOG, 1, 4, 2000, 6, 900, true},
    {"vectors by feature", FW_LOSS_L2, 1, 8, 4000, 6, 6000, false},
};

typedef struct made_rows {
  uint64_t *offset, *index;
  float *value;
  double *label, *weight;
} made_rows;

static void *get(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  assert_non_null(memory);
  return memory;
}

static double made_label(fw_rng *rng, const made_case *c, double z) {
  if (c->loss == FW_LOSS_LOG) return z + fw_rng_normal(rng) > 0 ? 1 : -1;
  if (c->loss == FW_LOSS_SOFTMAX) return (double)((uint64_t)fabs(2 * z + fw_rng_normal(rng)) % c->outputs);
  return z + fw_rng_normal(rng);
}

/* Feature 7 is in every row: threads and ranks share it. */
static made_rows make_rows(const made_case *c) {
  fw_rng rng;
  fw_rng_init(&rng, 5);
  made_rows r = {get(c->rows + 1, 8), get(c->rows * (c->most + 1), 8), get(c->rows * (c->most + 1), 4), get(c->rows, 8),
                 get(c->rows, 8)};
  size_t at = 0;
  for (size_t i = 0; i < c->rows; i++) {
    double z = 0;
    r.offset[i] = at;
    for (size_t n = 1 + fw_rng_below(&rng, c->most); n > 0; n--, at++) {
      r.index[at] = n == 1 ? 7 : 3 * fw_rng_below(&rng, 1 + fw_rng_below(&rng, c->range));
      r.value[at] = (float)fw_rng_normal(&rng);
      z += sin((double)r.index[at]);
    }
    r.label[i] = made_label(&rng, c, z);
    r.weight[i] = 0.5 + (double)fw_rng_below(&rng, 3);
  }
  r.offset[c->rows] = at;
  return r;
}

static void free_rows(made_rows *r) {
  free(r->offset);
  free(r->index);
  free(r->value);
  free(r->label);
  free(r->weight);
}

/* Rows begin … end - 1. */
static furrow_rowblock part_of(const made_rows *r, const made_case *c, size_t begin, size_t end) {
  return (furrow_rowblock){.size = end - begin,
                           .offset = r->offset + begin,
                           .index.u64 = r->index,
                           .value.f32 = c->values && end > begin ? r->value : NULL,
                           .key_type = FURROW_KEY_U64,
                           .value_type = FURROW_VALUE_F32};
}

typedef struct one_rank {
  furrow_comm comm;
  const made_case *c;
  const made_rows *all;
  size_t begin, end;
  bool own_comm; /* false: alone */
  furrow_status status;
  furrow_error error;
  double *x, value;
  size_t size, rows;
  double *scores;
} one_rank;

static void solve(one_rank *t, fw_linear_problem *p) {
  fw_lbfgs *s = NULL;
  fw_lbfgs_state state = FW_LBFGS_GOING;
  t->size = fw_linear_problem_size(p);
  double *start = get(t->size, sizeof *start);
  fw_rng rng;
  fw_rng_init(&rng, 9);
  for (size_t i = 0; i < t->size; i++) start[i] = 0.1 * fw_rng_normal(&rng);
  const fw_linear_solver_params params = {.w = start};
  t->status = fw_linear_solver_create(&s, p, t->c->factors ? &params : NULL, &t->error);
  for (int i = 0; t->status == FURROW_OK && i < STEPS && state == FW_LBFGS_GOING; i++)
    t->status = fw_lbfgs_step(s, &state, &t->error);
  if (t->status == FURROW_OK) {
    const double *label, *weight;
    t->x = get(t->size, sizeof *t->x);
    memcpy(t->x, s->x, t->size * sizeof *t->x);
    t->value = s->value;
    t->rows = fw_linear_problem_rows(p, &label, &weight);
    t->scores = get(t->rows * t->c->outputs, sizeof *t->scores);
    fw_linear_problem_scores(p, t->x, t->scores);
  }
  fw_lbfgs_free(s);
  free(start);
}

static void *run_rank(void *item) {
  one_rank *t = item;
  fw_linear_problem *p = NULL;
  const furrow_rowblock block = part_of(t->all, t->c, t->begin, t->end);
  const fw_linear_params params = {.rows = &block,
                                   .label = t->all->label + t->begin,
                                   .weight = t->all->weight + t->begin,
                                   .loss = t->c->loss,
                                   .outputs = t->c->outputs,
                                   .delta = 0.7,
                                   .l2 = 1,
                                   .factors = t->c->factors,
                                   .factor_l2 = 0.3,
                                   .comm = t->own_comm ? &t->comm : NULL,
                                   .first_row = t->begin};
  t->status = fw_linear_problem_create(&p, &params, &t->error);
  if (t->status == FURROW_OK) solve(t, p);
  fw_linear_problem_free(p);
  return NULL;
}

static void clear_rank(one_rank *t) {
  free(t->x);
  free(t->scores);
}

/* Shares of the rows of each rank; some have none, one has nearly all. */
static const double cuts[][MOST_CUTS] = {
    {1}, {0.5, 1}, {0, 1}, {0.9, 0.91, 1}, {0.2, 0.2, 1}, {0.1, 0.35, 0.35, 0.99, 1}};
static const unsigned cut_ranks[] = {1, 2, 2, 3, 3, 5};

static void compare(const one_rank *ranks, unsigned count, const one_rank *alone) {
  size_t at = 0;
  for (unsigned r = 0; r < count; r++) {
    if (ranks[r].status != FURROW_OK) print_message("%s\n", ranks[r].error.message);
    assert_int_equal(ranks[r].status, FURROW_OK);
    assert_int_equal(ranks[r].size, alone->size);
    assert_memory_equal(ranks[r].x, alone->x, alone->size * sizeof *alone->x);
    assert_memory_equal(&ranks[r].value, &alone->value, sizeof alone->value);
    if (ranks[r].rows)
      assert_memory_equal(ranks[r].scores, alone->scores + at, ranks[r].rows * alone->c->outputs * sizeof(double));
    at += ranks[r].rows * alone->c->outputs;
  }
  assert_int_equal(at, alone->rows * alone->c->outputs);
}

static void run_ranks(one_rank *ranks, size_t cut, const made_case *c, const made_rows *rows) {
  const unsigned count = cut_ranks[cut];
  for (unsigned r = 0; r < count; r++)
    ranks[r] = (one_rank){.comm = thread_comm(r, count),
                          .own_comm = true,
                          .c = c,
                          .all = rows,
                          .begin = r ? (size_t)(cuts[cut][r - 1] * (double)c->rows) : 0,
                          .end = (size_t)(cuts[cut][r] * (double)c->rows)};
  run_threads(count, run_rank, ranks, sizeof *ranks);
}

static void ranks_change_no_byte(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    made_rows rows = make_rows(&cases[i]);
    one_rank alone = {.c = &cases[i], .all = &rows, .end = cases[i].rows};
    run_rank(&alone);
    assert_int_equal(alone.status, FURROW_OK);
    for (size_t cut = 0; cut < sizeof cut_ranks / sizeof *cut_ranks; cut++) {
      one_rank ranks[MOST_CUTS];
      run_ranks(ranks, cut, &cases[i], &rows);
      compare(ranks, cut_ranks[cut], &alone);
      for (unsigned r = 0; r < cut_ranks[cut]; r++) clear_rank(&ranks[r]);
    }
    clear_rank(&alone);
    free_rows(&rows);
  }
}

/* All ranks have the error of the one that found it, with the number of the row among all. */
static void one_bad_row_fails_everywhere(void **state) {
  (void)state;
  one_rank ranks[MOST_CUTS];
  made_rows rows = make_rows(&cases[0]);
  rows.label[2999] = 0.5;
  run_ranks(ranks, 5, &cases[0], &rows);
  for (unsigned r = 0; r < 5; r++) {
    assert_int_equal(ranks[r].status, FURROW_E_RANGE);
    assert_non_null(strstr(ranks[r].error.message, "row 3000"));
  }
  free_rows(&rows);
}

static void no_rows_at_all_are_refused(void **state) {
  (void)state;
  one_rank ranks[MOST_CUTS];
  made_rows rows = make_rows(&cases[0]);
  made_case none = cases[0];
  none.rows = 0;
  run_ranks(ranks, 3, &none, &rows);
  for (unsigned r = 0; r < 3; r++) assert_int_equal(ranks[r].status, FURROW_E_ARGUMENT);
  free_rows(&rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_change_no_byte),
      cmocka_unit_test(one_bad_row_fails_everywhere),
      cmocka_unit_test(no_rows_at_all_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
