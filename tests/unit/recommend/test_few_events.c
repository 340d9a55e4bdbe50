/* tests/unit/recommend/test_few_events.c: users that the training did not have, by four events and by most of their
 * events, compared with EASE (Steck 2019), which is computed here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "furrow/recommend.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { KNOWN = 500, NEW = 120, ITEMS = 320, GROUPS = 16, EVENTS = 20, HELD = 4, FEW = 4, K = 10, DISTINCT = 150 };

static furrow_error err;

#define ok(call)                                                                    \
  do {                                                                              \
    furrow_status ok_ = (call);                                                     \
    if (ok_ != FURROW_OK) fail_msg("%s: %s", furrow_status_text(ok_), err.message); \
  } while (0)

/* ---- The log -------------------------------------------------------------------------------------------- */

static unsigned taken[KNOWN + NEW][EVENTS]; /* items in the order of time; the last HELD of them are the test */

static bool has_item(const unsigned *items, unsigned count, unsigned item) {
  for (unsigned i = 0; i < count; i++)
    if (items[i] == item) return true;
  return false;
}

/* Three quarters of a user's items are from two groups, where low numbers are popular; the others are from all. */
static unsigned draw_item(fw_rng *rng, const unsigned *groups) {
  const double x = fw_rng_double(rng);
  if (fw_rng_double(rng) < 0.25) return (unsigned)(x * x * ITEMS);
  return groups[fw_rng_below(rng, 2)] + GROUPS * (unsigned)(x * sqrt(x) * (ITEMS / GROUPS));
}

static void write_events(const char *path, unsigned first, unsigned end, unsigned events) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "user,item,time\n");
  for (unsigned u = first; u < end; u++)
    for (unsigned e = 0; e < events; e++) fprintf(file, "u%u,i%u,%u\n", u, taken[u][e], 1600000000 + e * 86400 + u);
  fclose(file);
}

static int make_log(void **state) {
  fw_rng rng;
  fw_rng_init(&rng, 17);
  if (enter_dir(state) != 0) return -1;
  for (unsigned u = 0; u < KNOWN + NEW; u++) {
    const unsigned groups[2] = {(unsigned)fw_rng_below(&rng, GROUPS), (unsigned)fw_rng_below(&rng, GROUPS)};
    for (unsigned e = 0; e < EVENTS; e++) do
        taken[u][e] = draw_item(&rng, groups);
      while (has_item(taken[u], e, taken[u][e]));
  }
  write_events("log.csv", 0, KNOWN, EVENTS);
  return 0;
}

/* ---- EASE ----------------------------------------------------------------------------------------------- */

typedef double square[ITEMS][ITEMS];

/* Inverts a positive definite matrix by Gauss-Jordan elimination, which needs no pivoting there. */
static void invert(square a) {
  for (size_t p = 0; p < ITEMS; p++) {
    const double pivot = 1 / a[p][p];
    a[p][p] = 1;
    for (size_t j = 0; j < ITEMS; j++) a[p][j] *= pivot;
    for (size_t i = 0; i < ITEMS; i++) {
      const double factor = a[i][p];
      if (i == p) continue;
      a[i][p] = 0;
      for (size_t j = 0; j < ITEMS; j++) a[i][j] -= factor * a[p][j];
    }
  }
}

/* B = -P / diag(P), P = (X'X + l2)^-1; the diagonal does not matter, because own items are left out. */
static void fit_ease(square b, double l2) {
  memset(b, 0, sizeof(square));
  for (size_t u = 0; u < KNOWN; u++)
    for (size_t i = 0; i < EVENTS; i++)
      for (size_t j = 0; j < EVENTS; j++) b[taken[u][i]][taken[u][j]]++;
  for (size_t i = 0; i < ITEMS; i++) b[i][i] += l2;
  invert(b);
  double diagonal[ITEMS];
  for (size_t i = 0; i < ITEMS; i++) diagonal[i] = b[i][i];
  for (size_t i = 0; i < ITEMS; i++)
    for (size_t j = 0; j < ITEMS; j++) b[i][j] /= -diagonal[j];
}

static void recommend_by_ease(const square b, unsigned user, unsigned events, unsigned found[K]) {
  double scores[ITEMS] = {0};
  for (unsigned e = 0; e < events; e++)
    for (size_t j = 0; j < ITEMS; j++) scores[j] += b[taken[user][e]][j];
  for (unsigned e = 0; e < events; e++) scores[taken[user][e]] = -INFINITY;
  for (size_t k = 0; k < K; k++) {
    unsigned best = 0;
    for (unsigned j = 1; j < ITEMS; j++)
      if (scores[j] > scores[best]) best = j;
    found[k] = best;
    scores[best] = -INFINITY;
  }
}

/* ---- Comparison ----------------------------------------------------------------------------------------- */

static double ndcg_of(unsigned user, const unsigned found[K]) {
  double gain = 0, ideal = 0;
  for (size_t k = 0; k < K; k++) {
    const double worth = 1 / log2((double)k + 2);
    gain += has_item(taken[user] + EVENTS - HELD, HELD, found[k]) ? worth : 0;
    ideal += k < HELD ? worth : 0;
  }
  return gain / ideal;
}

static furrow_recommender *fit(void) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_recommender *r = NULL;
  furrow_schema_propose_params propose;
  furrow_schema_propose_params_init(&propose);
  ok(furrow_schema_propose(&schema, "log.csv", &propose, &err));
  ok(furrow_encoder_build(&encoder, "log.csv", schema, NULL, &err));
  furrow_schema_free(schema);
  ok(furrow_recommender_fit(&r, "log.csv", encoder, NULL, &err));
  return r;
}

/* The NDCG of each new user by the first events; returns how many different items are recommended. */
static unsigned recommend_new(const furrow_recommender *r, unsigned events, double ndcg[NEW]) {
  static furrow_recommendation results[NEW * K];
  furrow_new_users *users = NULL;
  bool seen[ITEMS] = {false};
  unsigned distinct = 0;
  write_events("new.csv", KNOWN, KNOWN + NEW, events);
  ok(furrow_new_users_load(&users, r, "new.csv", NULL, &err));
  assert_int_equal(furrow_new_users_count(users), NEW);
  ok(furrow_recommender_recommend_new(r, users, NULL, results, &err));
  for (unsigned i = 0; i < NEW; i++) {
    unsigned found[K];
    for (size_t k = 0; k < K; k++) {
      found[k] = (unsigned)strtoul(furrow_recommender_item_name(r, results[i * K + k].item) + 1, NULL, 10);
      distinct += !seen[found[k]];
      seen[found[k]] = true;
    }
    const unsigned user = (unsigned)strtoul(furrow_new_users_name(users, i) + 1, NULL, 10);
    ndcg[user - KNOWN] = ndcg_of(user, found);
  }
  furrow_new_users_free(users);
  return distinct;
}

/* Furrow is not below EASE by more than one standard error of the mean difference over users. EASE gets the strength
 * that is best for the test. */
static void compare(const double ndcg[NEW], unsigned events) {
  static const double strengths[] = {5, 20, 80, 320};
  static square b;
  double best = 0, difference = 0, error = 0;
  for (size_t s = 0; s < sizeof strengths / sizeof *strengths; s++) {
    double sum = 0, more = 0, squares = 0;
    fit_ease(b, strengths[s]);
    for (unsigned i = 0; i < NEW; i++) {
      unsigned found[K];
      recommend_by_ease(b, KNOWN + i, events, found);
      const double ease = ndcg_of(KNOWN + i, found);
      sum += ease;
      more += ndcg[i] - ease;
      squares += (ndcg[i] - ease) * (ndcg[i] - ease);
    }
    if (sum / NEW <= best) continue;
    best = sum / NEW;
    difference = more / NEW;
    error = sqrt((squares / NEW - difference * difference) / (NEW - 1));
  }
  print_message("%u events: EASE %.4f, Furrow %+.4f +- %.4f\n", events, best, difference, error);
  assert_true(best > 0.1 && difference >= -error);
}

static void new_users_are_as_good_as_by_ease(void **state) {
  static double ndcg[NEW];
  furrow_recommender *r = fit();
  (void)state;
  const unsigned distinct = recommend_new(r, FEW, ndcg);
  print_message("%u different items\n", distinct);
  assert_true(distinct >= DISTINCT);
  compare(ndcg, FEW);
  (void)recommend_new(r, EVENTS - HELD, ndcg);
  compare(ndcg, EVENTS - HELD);
  furrow_recommender_free(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(new_users_are_as_good_as_by_ease)};
  return cmocka_run_group_tests(tests, make_log, leave_dir);
}
