/* tests/unit/recommend/test_log_recommender.c: recommenders of logs that differ: what is chosen, that it is better than
 * the obvious, new users, reasons, items of tables, saving and loading. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/sort.h"
#include "furrow/recommend.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { USERS = 400, ITEMS = 200, GROUPS = 8, EVENTS = 20, K = 10 };

static furrow_error err;

#define ok(call)                                                                    \
  do {                                                                              \
    furrow_status ok_ = (call);                                                     \
    if (ok_ != FURROW_OK) fail_msg("%s: %s", furrow_status_text(ok_), err.message); \
  } while (0)

/* ---- Logs ----------------------------------------------------------------------------------------------- */

typedef struct log_kind {
  double taste;   /* share of the events in the user's group of items; items of group g have the number g modulo 8 */
  double repeats; /* share of the events that repeat one of the user's items */
  bool moves;     /* the user's group changes in the middle of his events */
  bool rated;     /* items of the group get 4 or 5, others 1 or 2 */
  bool labelled;  /* an event of another group has the label 0, else 1 */
  bool without;   /* no times */
  unsigned later; /* the last events of each user that go to later.csv */
} log_kind;

static unsigned draw_item(fw_rng *rng, const log_kind *kind, unsigned group) {
  if (fw_rng_double(rng) < kind->taste) return group + GROUPS * (unsigned)fw_rng_below(rng, ITEMS / GROUPS);
  const double x = fw_rng_double(rng);
  return (unsigned)(x * x * ITEMS); /* low numbers are popular */
}

static bool has_item(const unsigned *own, unsigned count, unsigned item) {
  for (unsigned i = 0; i < count; i++)
    if (own[i] == item) return true;
  return false;
}

static unsigned group_of(unsigned user) {
  return user % GROUPS;
}

static FILE *begin_log(const char *path, const log_kind *kind) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "user,item%s%s\n", kind->without ? "" : ",time", kind->rated || kind->labelled ? ",rating" : "");
  return file;
}

static void write_log(const char *path, const log_kind *kind) {
  FILE *files[2] = {begin_log(path, kind), begin_log("later.csv", kind)};
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (unsigned u = 0; u < USERS; u++) {
    unsigned own[EVENTS];
    for (unsigned e = 0; e < EVENTS; e++) {
      const unsigned group = kind->moves && e >= EVENTS / 2 ? (group_of(u) + 3) % GROUPS : group_of(u);
      own[e] = draw_item(&rng, kind, group);
      for (unsigned tries = 0; tries < 20 && has_item(own, e, own[e]); tries++) own[e] = draw_item(&rng, kind, group);
      if (e > 2 && fw_rng_double(&rng) < kind->repeats) own[e] = own[fw_rng_below(&rng, 3)];
      const bool liked = own[e] % GROUPS == group;
      FILE *file = files[e + kind->later >= EVENTS];
      fprintf(file, "u%u,i%u", u, own[e]);
      if (!kind->without) fprintf(file, ",%u", 1600000000 + e * 86400 + u);
      if (kind->rated) fprintf(file, ",%u", (liked ? 4 : 1) + (unsigned)fw_rng_below(&rng, 2));
      if (kind->labelled) fprintf(file, ",%d", liked);
      fprintf(file, "\n");
    }
  }
  fclose(files[0]);
  fclose(files[1]);
}

static furrow_encoder *build_encoder(const char *const *tables, size_t count) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_schema_propose_params propose;
  furrow_encoder_params params;
  furrow_schema_propose_params_init(&propose);
  furrow_encoder_params_init(&params);
  propose.user = "user";
  propose.item = "item";
  propose.tables = tables;
  propose.table_count = count;
  params.table_items = true;
  ok(furrow_schema_propose(&schema, "log.csv", &propose, &err));
  ok(furrow_encoder_build(&encoder, "log.csv", schema, &params, &err));
  furrow_schema_free(schema);
  return encoder;
}

static furrow_recommender *fit_with(unsigned threads, const char *const *tables, size_t count) {
  furrow_recommender_fit_params params;
  furrow_recommender *r = NULL;
  furrow_recommender_fit_params_init(&params);
  params.threads = threads;
  ok(furrow_recommender_fit(&r, "log.csv", build_encoder(tables, count), &params, &err));
  return r;
}

static furrow_recommender *fit(const log_kind *kind) {
  write_log("log.csv", kind);
  return fit_with(2, NULL, 0);
}

/* The recommender of a log with tastes, which several tests share. */
static furrow_recommender *shared;

static furrow_recommender *usual(void) {
  if (!shared) shared = fit(&(log_kind){.taste = 0.7});
  return shared;
}

static int clear_shared(void **state) {
  furrow_recommender_free(shared);
  shared = NULL;
  return leave_dir(state);
}

static furrow_recommender_figures figures_of(const furrow_recommender *r) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(r, &figures);
  assert_true(figures.of_log);
  return figures;
}

static const furrow_recommender_candidate *candidate(const furrow_recommender_figures *figures, const char *name) {
  for (size_t i = 0; i < figures->candidate_count; i++)
    if (strcmp(figures->candidates[i].name, name) == 0) return &figures->candidates[i];
  return NULL;
}

static unsigned group_of_item(const furrow_recommender *r, uint64_t item) {
  return (unsigned)strtoul(furrow_recommender_item_name(r, item) + 1, NULL, 10) % GROUPS;
}

static void recommend_to(const furrow_recommender *r, const char *name, const furrow_recommend_params *params,
                         furrow_recommendation *results) {
  uint64_t user = 0;
  ok(furrow_recommender_find_user(r, name, strlen(name), &user, &err));
  ok(furrow_recommender_recommend(r, &user, 1, params, results, &err));
}

/* ---- What is chosen ------------------------------------------------------------------------------------- */

static void tastes_beat_popularity(void **state) {
  furrow_recommender *r = usual();
  const furrow_recommender_figures figures = figures_of(r);
  const furrow_recommender_candidate *popular = candidate(&figures, "popular");
  (void)state;
  assert_non_null(popular);
  assert_true(!popular->chosen && figures.gain > 5 * figures.gain_error && figures.gain_error > 0);
  assert_true(figures.ndcg > 1.5 * figures.popular_ndcg);
  assert_int_equal(figures.users, USERS);
  assert_true(figures.repeats < 0.1);
  /* items are of the user's group, and none is his own */
  furrow_recommendation results[K];
  recommend_to(r, "u5", NULL, results);
  unsigned hits = 0;
  for (size_t i = 0; i < 5; i++) hits += group_of_item(r, results[i].item) == 5;
  assert_true(hits >= 4);
}

/* Without tastes, the popular items stay the best choice. */
static void without_tastes_nothing_is_lost(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0});
  const furrow_recommender_figures figures = figures_of(r);
  (void)state;
  assert_true(figures.gain > -figures.gain_error);
  furrow_recommender_free(r);
}

static void repeats_are_found(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.3, .repeats = 0.8});
  const furrow_recommender_figures figures = figures_of(r);
  const furrow_recommender_candidate *own = candidate(&figures, "own-history");
  (void)state;
  assert_non_null(own);
  assert_true(figures.repeats > 0.5);
  assert_true(figures.ndcg >= own->ndcg);
  /* the user's items come again, unless they are excluded */
  furrow_recommendation results[K];
  furrow_events *seen = NULL;
  furrow_recommend_params params;
  furrow_recommend_reason reason;
  uint64_t user = 0;
  size_t found = 0;
  furrow_recommend_params_init(&params);
  recommend_to(r, "u7", NULL, results);
  ok(furrow_recommender_find_user(r, "u7", 2, &user, &err));
  ok(furrow_recommender_explain(r, user, results[0].item, &reason, 1, &found, &err));
  assert_int_equal(found, 1);
  assert_int_equal(reason.item, results[0].item);
  ok(furrow_events_load(&seen, r, "log.csv", NULL, &err));
  params.seen = seen;
  furrow_recommendation others[K];
  recommend_to(r, "u7", &params, others);
  for (size_t i = 0; i < K; i++) assert_true(others[i].item != results[0].item);
  furrow_events_free(seen);
  furrow_recommender_free(r);
}

/* On later events, the recommender of a log that repeats is not worse than own histories, nor than popular items. */
static void repeats_are_as_good_as_own_histories(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.3, .repeats = 0.8, .later = 4});
  furrow_rank_figures figures;
  furrow_events *truth = NULL;
  (void)state;
  furrow_rank_figures_init(&figures);
  ok(furrow_events_load(&truth, r, "later.csv", NULL, &err));
  ok(furrow_recommender_evaluate(r, truth, NULL, &figures, &err));
  assert_true(figures.own_ndcg.mean > 0.5);
  assert_true(figures.own_gain >= -figures.own_gain_error);
  assert_true(figures.popular_gain > 5 * figures.popular_gain_error);
  furrow_events_free(truth);
  furrow_recommender_free(r);
}

/* Users whose taste has changed get items of the new group. */
static void recent_events_count_more(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.8, .moves = true});
  furrow_recommendation results[K];
  unsigned hits = 0, old = 0;
  (void)state;
  for (unsigned u = 0; u < 40; u++) {
    char name[8];
    snprintf(name, sizeof name, "u%u", u);
    recommend_to(r, name, NULL, results);
    for (size_t i = 0; i < 5; i++) {
      hits += group_of_item(r, results[i].item) == (u + 3) % GROUPS;
      old += group_of_item(r, results[i].item) == u % GROUPS;
    }
  }
  assert_true(hits > 150 && hits > 3 * old);
  const furrow_recommender_figures figures = figures_of(r);
  const furrow_recommender_candidate *plain = candidate(&figures, "item-item");
  assert_true(figures.ndcg > plain->ndcg);
  furrow_recommender_free(r);
}

/* The lower one of two labels says what a user did not want. */
static void negative_labels_do_not_count(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.5, .labelled = true});
  furrow_recommender_info info;
  furrow_recommendation results[K];
  (void)state;
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(r, &info);
  assert_true(info.positive == 1);
  recommend_to(r, "u2", NULL, results);
  for (size_t i = 0; i < 5; i++) assert_int_equal(group_of_item(r, results[i].item), 2);
  furrow_recommender_free(r);
}

/* A log without times, and one with ratings. */
static void other_columns(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.7, .without = true});
  furrow_recommender_figures figures = figures_of(r);
  (void)state;
  assert_true(figures.gain > 5 * figures.gain_error);
  furrow_recommender_free(r);
  r = fit(&(log_kind){.taste = 0.5, .rated = true});
  figures = figures_of(r);
  assert_true(figures.gain > 5 * figures.gain_error);
  furrow_recommender_free(r);
}

/* A single event for each user: nothing can be held out, and the popular items are recommended. */
static void one_event_each(void **state) {
  FILE *file = fopen("log.csv", "w");
  (void)state;
  assert_non_null(file);
  fprintf(file, "user,item\n");
  for (unsigned u = 0; u < 50; u++) fprintf(file, "u%u,i%u\n", u, u % 7 == 0 ? 1 : u % 3);
  fclose(file);
  furrow_recommender *r = fit_with(1, NULL, 0);
  furrow_recommender_figures figures = figures_of(r);
  furrow_recommendation results[K];
  assert_int_equal(figures.users, 0);
  assert_true(isnan(figures.gain));
  recommend_to(r, "u2", NULL, results);
  assert_true(results[0].item != FURROW_NO_ITEM && results[1].item != FURROW_NO_ITEM);
  assert_true(results[2].item == FURROW_NO_ITEM); /* three items, of which one is the user's own */
  furrow_recommender_free(r);
}

/* ---- Times that are whole days -------------------------------------------------------------------------- */

enum { CHAIN = 30, CHAIN_USERS = 200, CHAIN_DAYS = 3, CHAIN_EVENTS = 5 };

/* Each user takes the next item of a chain, or often any item; names do not ascend along the chain. Fills the place in
 * the chain of each user's last item. */
static void write_chains(bool sorted, unsigned *last) {
  FILE *file = fopen("log.csv", "w");
  fw_rng rng;
  fw_rng_init(&rng, 5);
  assert_non_null(file);
  fprintf(file, "user,item,time\n");
  for (unsigned u = 0; u < CHAIN_USERS; u++)
    for (unsigned day = 0; day < CHAIN_DAYS; day++) {
      uint32_t names[CHAIN_EVENTS];
      for (unsigned e = 0; e < CHAIN_EVENTS; e++) {
        last[u] = fw_rng_double(&rng) < 0.6 ? (last[u] + 1) % CHAIN : (unsigned)fw_rng_below(&rng, CHAIN);
        names[e] = last[u] * 17 % CHAIN;
      }
      if (sorted) fw_sort_u32(names, CHAIN_EVENTS);
      for (unsigned e = 0; e < CHAIN_EVENTS; e++)
        fprintf(file, "u%u,i%u,2024-03-%02u\n", u, names[e], 1 + u % 20 + day);
    }
  fclose(file);
}

/* The number of users whose next item of the chain is recommended first; the model is saved. */
static unsigned count_next(bool sorted) {
  unsigned last[CHAIN_USERS] = {0}, hits = 0;
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.include_seen = true;
  write_chains(sorted, last);
  furrow_recommender *r = fit_with(2, NULL, 0);
  for (unsigned u = 0; u < CHAIN_USERS; u++) {
    furrow_recommendation results[K];
    char name[16];
    snprintf(name, sizeof name, "u%u", u);
    recommend_to(r, name, &params, results);
    const char *item = furrow_recommender_item_name(r, results[0].item);
    hits += strtoul(item + 1, NULL, 10) == (last[u] + 1) % CHAIN * 17 % CHAIN;
  }
  ok(furrow_recommender_save(r, "chains", true, &err));
  furrow_recommender_free(r);
  return hits;
}

/* The order of the log tells which event of a day is the last one, but not if days are sorted by item. */
static void days_are_in_the_order_of_the_log(void **state) {
  (void)state;
  const unsigned in_order = count_next(false);
  assert_int_equal(system("grep -q '\"in_order\" : true' chains/furrow.json"), 0);
  const unsigned sorted = count_next(true);
  assert_int_not_equal(system("grep -q in_order chains/furrow.json"), 0);
  assert_true(in_order > 2 * sorted);
}

/* ---- New users ------------------------------------------------------------------------------------------ */

static void opposite_tastes_get_other_items(void **state) {
  furrow_recommender *r = usual();
  furrow_new_users *users = NULL;
  furrow_recommendation results[2 * K];
  furrow_recommend_reason reasons[4];
  FILE *file = fopen("new.csv", "w");
  size_t found = 0;
  (void)state;
  assert_non_null(file);
  fprintf(file, "user,item,time\nx,i1,1\ny,i5,1\nx,i9,2\ny,i13,2\nx,i17,3\ny,i21,3\nx,unknown,4\n");
  fclose(file);
  ok(furrow_new_users_load(&users, r, "new.csv", NULL, &err));
  assert_int_equal(furrow_new_users_count(users), 2);
  ok(furrow_recommender_recommend_new(r, users, NULL, results, &err));
  unsigned hits[2] = {0};
  for (size_t i = 0; i < K; i++) {
    hits[0] += group_of_item(r, results[i].item) == 1;
    hits[1] += group_of_item(r, results[K + i].item) == 5;
  }
  assert_true(hits[0] >= 6 && hits[1] >= 6); /* at most four of ten are popular items of all users */
  ok(furrow_recommender_explain_new(r, users, 1, results[K].item, reasons, 4, &found, &err));
  assert_true(found >= 1 && found <= 3);
  double sum = 0;
  for (size_t i = 0; i < found; i++) {
    assert_true(reasons[i].part > 0 && (i == 0 || reasons[i].part <= reasons[i - 1].part));
    sum += reasons[i].part;
  }
  assert_true(sum <= results[K].score + 1e-6);
  furrow_new_users_free(users);
}

/* ---- Items of a table ----------------------------------------------------------------------------------- */

/* Item "new 4" has no events, but the features of group 4. */
static void table_items_are_recommended(void **state) {
  static const char *const tables[] = {"items.csv=item"};
  const log_kind kind = {.taste = 0.9};
  FILE *file = fopen("items.csv", "w");
  uint64_t item = 0, user = 0;
  (void)state;
  assert_non_null(file);
  fprintf(file, "item,kind\n");
  for (unsigned i = 0; i < ITEMS; i++) fprintf(file, "i%u,kind%u\n", i, i % GROUPS);
  for (unsigned g = 0; g < GROUPS; g++) fprintf(file, "new %u,kind%u\n", g, g);
  fclose(file);
  write_log("log.csv", &kind);
  furrow_recommender *r = fit_with(2, tables, 1);
  ok(furrow_recommender_find_item(r, "new 4", 5, &item, &err));
  ok(furrow_recommender_find_user(r, "u4", 2, &user, &err));
  enum { ALL = ITEMS + GROUPS };
  furrow_recommendation results[ALL];
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.k = ALL;
  ok(furrow_recommender_recommend(r, &user, 1, &params, results, &err));
  /* of the new items, the one of the user's group comes first */
  for (size_t i = 0; i < ALL; i++) {
    assert_true(results[i].item != FURROW_NO_ITEM);
    const char *name = furrow_recommender_item_name(r, results[i].item);
    if (strncmp(name, "new ", 4) != 0) continue;
    assert_string_equal(name, "new 4");
    break;
  }
  furrow_recommender_free(r);
}

/* ---- Saving --------------------------------------------------------------------------------------------- */

static void saved_and_loaded_is_the_same(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.7, .rated = true}), *again = NULL;
  furrow_recommendation a[USERS * K], b[USERS * K];
  uint64_t users[USERS];
  (void)state;
  ok(furrow_recommender_save(r, "model", false, &err));
  assert_int_equal(furrow_recommender_save(r, "model", false, &err), FURROW_E_EXISTS);
  ok(furrow_recommender_save(r, "model", true, &err));
  ok(furrow_recommender_open(&again, "model", NULL, &err));
  for (size_t i = 0; i < USERS; i++) users[i] = i;
  ok(furrow_recommender_recommend(r, users, USERS, NULL, a, &err));
  ok(furrow_recommender_recommend(again, users, USERS, NULL, b, &err));
  assert_memory_equal(a, b, sizeof a);
  const furrow_recommender_figures before = figures_of(r), after = figures_of(again);
  assert_memory_equal(&before, &after, sizeof before);
  assert_null(furrow_recommender_scorer(again));
  furrow_recommender_free(r);
  furrow_recommender_free(again);
  /* the bytes do not depend on the number of threads */
  r = fit_with(1, NULL, 0);
  ok(furrow_recommender_save(r, "one", false, &err));
  furrow_recommender_free(r);
  assert_int_equal(system("diff -r model one"), 0);
}

/* Saves a model, damages copies of it, and opens them. */
static void refuse_damaged(const furrow_recommender *r, const char *const *commands, size_t count) {
  ok(furrow_recommender_save(r, "model", true, &err));
  for (size_t i = 0; i < count; i++) {
    char command[256];
    furrow_recommender *opened = NULL;
    snprintf(command, sizeof command, "rm -rf copy && cp -r model copy && %s", commands[i]);
    assert_int_equal(system(command), 0);
    if (furrow_recommender_open(&opened, "copy", NULL, &err) == FURROW_OK) fail_msg("%s: opened", commands[i]);
    assert_null(opened);
  }
}

static void damaged_models_are_refused(void **state) {
  static const char *const of_factors[] = {
      "rm -r copy/popularity",
      "rm -r copy/factors",
      "rm -r copy/factors && cp -r copy/popularity copy/factors",
      "rm -r copy/events",
      "rm -r copy/popularity && cp -r copy/events copy/popularity",
      "sed -i 's/\"recency\" : [0-9.]*/\"recency\" : -1/' copy/furrow.json",
      "sed -i 's/\"factor_others\" : [0-9.]*/\"factor_others\" : 0/' copy/furrow.json",
      "sed -i 's/\"l2\" : [0-9.]*/\"l2\" : 1e999/' copy/furrow.json",
      "sed -i 's/\"rating\" : [0-9.]*/\"rating\" : 1e308/' copy/furrow.json",
      "sed -i 's/\"recency\" : [0-9.]*/\"recency\" : \"x\"/' copy/furrow.json",
      "sed -i 's/\"vectors\" : true/\"vectors\" : 3/' copy/furrow.json",
      "rm copy/dictionary.furrow"};
  static const char *const of_weights[] = {"rm -r copy/item_item"};
  (void)state;
  refuse_damaged(usual(), of_factors, sizeof of_factors / sizeof *of_factors);
  furrow_recommender *weights = fit(&(log_kind){.taste = 0.7, .moves = true});
  refuse_damaged(weights, of_weights, 1);
  furrow_recommender_free(weights);
}

static void wrong_calls(void **state) {
  furrow_recommender *r = usual();
  furrow_recommendation results[K];
  furrow_recommend_params params;
  const furrow_pair context = {"user", "u1"};
  uint64_t user = 0;
  (void)state;
  furrow_recommend_params_init(&params);
  params.context = &context;
  params.context_count = 1;
  assert_int_equal(furrow_recommender_recommend(r, &user, 1, &params, results, &err), FURROW_E_ARGUMENT);
  user = USERS;
  assert_int_equal(furrow_recommender_recommend(r, &user, 1, NULL, results, &err), FURROW_E_RANGE);
  furrow_recommend_reason reason;
  size_t found = 0;
  assert_int_equal(furrow_recommender_explain(r, USERS, 0, &reason, 1, &found, &err), FURROW_E_RANGE);
  assert_int_equal(furrow_recommender_explain(r, 0, ITEMS, &reason, 1, &found, &err), FURROW_E_RANGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tastes_beat_popularity),
      cmocka_unit_test(without_tastes_nothing_is_lost),
      cmocka_unit_test(repeats_are_found),
      cmocka_unit_test(repeats_are_as_good_as_own_histories),
      cmocka_unit_test(recent_events_count_more),
      cmocka_unit_test(negative_labels_do_not_count),
      cmocka_unit_test(other_columns),
      cmocka_unit_test(one_event_each),
      cmocka_unit_test(days_are_in_the_order_of_the_log),
      cmocka_unit_test(opposite_tastes_get_other_items),
      cmocka_unit_test(table_items_are_recommended),
      cmocka_unit_test(saved_and_loaded_is_the_same),
      cmocka_unit_test(damaged_models_are_refused),
      cmocka_unit_test(wrong_calls),
  };
  return cmocka_run_group_tests(tests, enter_dir, clear_shared);
}
