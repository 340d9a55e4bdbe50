/* tests/unit/recommend/test_user_tables.c: recommenders of logs with a table of users: users who have done nothing get
 * what is popular among users with the same features; features that say nothing change nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "furrow/recommend.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { USERS = 400, NEW = 80, ITEMS = 120, GROUPS = 6, K = 10 };

static furrow_error err;

#define ok(call)                                                                    \
  do {                                                                              \
    furrow_status ok_ = (call);                                                     \
    if (ok_ != FURROW_OK) fail_msg("%s: %s", furrow_status_text(ok_), err.message); \
  } while (0)

/* ---- Logs ----------------------------------------------------------------------------------------------- */

typedef struct log_kind {
  double taste;  /* share of the events in the user's group of items; items of group g have the number g modulo 6 */
  bool by_age;   /* the column of ages tells the group, not the country */
  bool repeats;  /* most events repeat one of the user's first items */
  unsigned miss; /* that many of the log's users have no row in the table */
} log_kind;

static unsigned group_of(unsigned user) {
  return user * 7 % GROUPS;
}

static unsigned draw_item(fw_rng *rng, double taste, unsigned group) {
  const double x = fw_rng_double(rng);
  if (fw_rng_double(rng) < taste) return group + GROUPS * (unsigned)(x * x * ITEMS / GROUPS);
  return (unsigned)(x * x * ITEMS); /* low numbers are popular */
}

static void write_user_events(FILE *file, fw_rng *rng, const log_kind *kind, unsigned user) {
  unsigned own[16];
  const unsigned count = 2 + (unsigned)fw_rng_below(rng, 12);
  for (unsigned e = 0; e < count; e++) {
    own[e] = draw_item(rng, kind->taste, group_of(user));
    if (kind->repeats && e > 2) own[e] = own[fw_rng_below(rng, 3)];
    fprintf(file, "u%u,i%u,%u\n", user, own[e], 1600000000 + e * 86400 + user);
  }
}

/* Users from USERS on are only in the table. */
static void write_files(const log_kind *kind) {
  FILE *log = fopen("log.csv", "w"), *table = fopen("users.csv", "w");
  fw_rng rng;
  fw_rng_init(&rng, 11);
  assert_true(log && table);
  fprintf(log, "user,item,time\n");
  fprintf(table, "user,country,age,zip\n");
  for (unsigned u = 0; u < USERS + NEW; u++) {
    const unsigned any = (unsigned)fw_rng_below(&rng, GROUPS), group = group_of(u);
    if (u < USERS) write_user_events(log, &rng, kind, u);
    if (u < kind->miss) continue;
    fprintf(table, "u%u,country %u,%u,z%u\n", u, kind->by_age ? any : group,
            20 + 10 * (kind->by_age ? group : any) + (unsigned)fw_rng_below(&rng, 10), u % 80);
  }
  fclose(log);
  fclose(table);
}

static furrow_status build_encoder(furrow_encoder **encoder, const char *const *tables, size_t count,
                                   uint64_t *without) {
  furrow_schema *schema = NULL;
  furrow_schema_propose_params propose;
  furrow_encoder_params params;
  furrow_schema_propose_params_init(&propose);
  furrow_encoder_params_init(&params);
  propose.user = "user";
  propose.item = "item";
  propose.tables = tables;
  propose.table_count = count;
  params.table_items = true;
  params.users_without_row = without;
  ok(furrow_schema_propose(&schema, "log.csv", &propose, &err));
  const furrow_status status = furrow_encoder_build(encoder, "log.csv", schema, &params, &err);
  furrow_schema_free(schema);
  return status;
}

static furrow_recommender *fit_with(unsigned threads, bool table) {
  static const char *const tables[] = {"users.csv=user"};
  furrow_recommender_fit_params params;
  furrow_encoder *encoder = NULL;
  furrow_recommender *r = NULL;
  uint64_t without = 0;
  furrow_recommender_fit_params_init(&params);
  params.threads = threads;
  ok(build_encoder(&encoder, tables, table, &without));
  ok(furrow_recommender_fit(&r, "log.csv", encoder, &params, &err));
  return r;
}

static furrow_recommender *fit(const log_kind *kind) {
  write_files(kind);
  return fit_with(2, true);
}

static bool has_features(const furrow_recommender *r) {
  furrow_recommender_figures figures;
  furrow_recommender_figures_init(&figures);
  furrow_recommender_get_figures(r, &figures);
  return figures.user_features;
}

/* ---- Users who have done nothing ------------------------------------------------------------------------ */

static uint64_t user_of(const furrow_recommender *r, unsigned number) {
  char name[16];
  uint64_t user = 0;
  const int length = snprintf(name, sizeof name, "u%u", number);
  ok(furrow_recommender_find_user(r, name, (size_t)length, &user, &err));
  return user;
}

/* The share of the items for new users that are of their group; a sixth by chance. */
static double share_of_group(const furrow_recommender *r) {
  unsigned hits = 0;
  for (unsigned u = USERS; u < USERS + NEW; u++) {
    furrow_recommendation results[K];
    const uint64_t user = user_of(r, u);
    ok(furrow_recommender_recommend(r, &user, 1, NULL, results, &err));
    for (size_t i = 0; i < K; i++)
      hits += strtoul(furrow_recommender_item_name(r, results[i].item) + 1, NULL, 10) % GROUPS == group_of(u);
  }
  return hits / (double)(NEW * K);
}

/* Ages and zip codes have nothing to do with taste here, so new users of one country get the same items. */
static void assert_only_countries_count(const furrow_recommender *r) {
  furrow_recommendation first[GROUPS][K] = {0}, results[K];
  bool seen[GROUPS] = {false};
  for (unsigned u = USERS; u < USERS + NEW; u++) {
    const unsigned group = group_of(u);
    const uint64_t user = user_of(r, u);
    ok(furrow_recommender_recommend(r, &user, 1, NULL, results, &err));
    if (!seen[group]) memcpy(first[group], results, sizeof results);
    seen[group] = true;
    for (size_t i = 0; i < K; i++) assert_int_equal(results[i].item, first[group][i].item);
  }
}

static void new_users_get_what_their_country_takes(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.7});
  (void)state;
  assert_true(has_features(r));
  assert_true(share_of_group(r) > 0.8);
  assert_only_countries_count(r);
  furrow_recommender_free(r);
}

/* Users without events have no history: what is popular among all stands for it, not what their features say. */
static void own_history_has_no_features(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.9, .repeats = true});
  furrow_rank_figures figures;
  furrow_recommend_params params;
  furrow_events *truth = NULL;
  FILE *file = fopen("later.csv", "w");
  (void)state;
  assert_non_null(file);
  fprintf(file, "user,item,time\n");
  for (unsigned u = USERS; u < USERS + NEW; u++) fprintf(file, "u%u,i%u,1700000000\n", u, group_of(u));
  fclose(file);
  furrow_recommend_params_init(&params);
  furrow_rank_figures_init(&figures);
  params.k = K;
  ok(furrow_events_load(&truth, r, "later.csv", NULL, &err));
  ok(furrow_recommender_evaluate(r, truth, &params, &figures, &err));
  assert_true(figures.own_gain > 0.05);
  furrow_events_free(truth);
  furrow_recommender_free(r);
}

static void numbers_are_features(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.7, .by_age = true});
  (void)state;
  assert_true(has_features(r));
  assert_true(share_of_group(r) > 0.6);
  furrow_recommender_free(r);
}

/* New users of a log have the features of their row; with events of another group, they get its items, too. */
static void events_and_features_count(void **state) {
  furrow_recommender *r = fit(&(log_kind){.taste = 0.7});
  furrow_new_users *users = NULL;
  furrow_recommendation results[2 * K];
  FILE *file = fopen("new.csv", "w");
  unsigned hits[2] = {0};
  (void)state;
  assert_non_null(file);
  /* one event of a popular item; u401 has a row in the table, nobody has not */
  fprintf(file, "user,item,time\nu401,i3,1\nnobody,i3,1\n");
  fclose(file);
  ok(furrow_new_users_load(&users, r, "new.csv", NULL, &err));
  assert_int_equal(furrow_new_users_count(users), 2);
  ok(furrow_recommender_recommend_new(r, users, NULL, results, &err));
  for (size_t i = 0; i < 2 * K; i++)
    hits[i / K] += strtoul(furrow_recommender_item_name(r, results[i].item) + 1, NULL, 10) % GROUPS == group_of(401);
  assert_true(hits[0] > hits[1] && hits[0] >= 3);
  furrow_new_users_free(users);
  furrow_recommender_free(r);
}

/* ---- Tables that say nothing ---------------------------------------------------------------------------- */

/* Known users get the same as without the table. */
static void noise_changes_nothing(void **state) {
  static const log_kind kinds[] = {{.taste = 0}, {.taste = 0, .repeats = true}};
  (void)state;
  for (size_t k = 0; k < 2; k++) {
    furrow_recommender *with = fit(&kinds[k]), *without = fit_with(2, false);
    assert_false(has_features(with));
    for (unsigned u = 0; u < USERS; u++) {
      furrow_recommendation a[K], b[K];
      const uint64_t user_a = user_of(with, u), user_b = user_of(without, u);
      ok(furrow_recommender_recommend(with, &user_a, 1, NULL, a, &err));
      ok(furrow_recommender_recommend(without, &user_b, 1, NULL, b, &err));
      for (size_t i = 0; i < K; i++)
        assert_string_equal(furrow_recommender_item_name(with, a[i].item),
                            furrow_recommender_item_name(without, b[i].item));
    }
    furrow_recommender_free(with);
    furrow_recommender_free(without);
  }
}

static void users_without_a_row_are_counted(void **state) {
  static const char *const tables[] = {"users.csv=user"};
  furrow_encoder *encoder = NULL;
  uint64_t without = 0;
  (void)state;
  write_files(&(log_kind){.taste = 0.5, .miss = 30});
  ok(build_encoder(&encoder, tables, 1, &without));
  assert_int_equal(without, 30);
  furrow_encoder_free(encoder);
  assert_int_equal(system("sed -i '2,$s/^u/v/' users.csv"), 0);
  assert_int_equal(build_encoder(&encoder, tables, 1, &without), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "has none of the values that the log has in user"));
}

/* ---- Saving --------------------------------------------------------------------------------------------- */

static void refuse_damaged(const char *const *commands, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char command[256];
    furrow_recommender *opened = NULL;
    snprintf(command, sizeof command, "rm -rf copy && cp -r model copy && %s", commands[i]);
    assert_int_equal(system(command), 0);
    if (furrow_recommender_open(&opened, "copy", NULL, &err) == FURROW_OK) fail_msg("%s: opened", commands[i]);
  }
}

static void saved_and_loaded_is_the_same(void **state) {
  static const char *const damages[] = {
      "rm -r copy/user_groups",
      "rm -r copy/user_groups && cp -r copy/popularity copy/user_groups",
      "rm -r copy/user_groups && cp -r copy/events copy/user_groups",
      "sed -i 's/\"group_prior\" : [0-9.E]*/\"group_prior\" : -1/' copy/furrow.json",
      "sed -i 's/\"group_power\" : [0-9.E]*/\"group_power\" : \"x\"/' copy/furrow.json",
  };
  furrow_recommender *r = fit(&(log_kind){.taste = 0.6}), *again = NULL;
  furrow_recommendation a[(USERS + NEW) * K], b[(USERS + NEW) * K];
  uint64_t users[USERS + NEW];
  (void)state;
  ok(furrow_recommender_save(r, "model", true, &err));
  ok(furrow_recommender_open(&again, "model", NULL, &err));
  for (size_t i = 0; i < USERS + NEW; i++) users[i] = i;
  ok(furrow_recommender_recommend(r, users, USERS + NEW, NULL, a, &err));
  ok(furrow_recommender_recommend(again, users, USERS + NEW, NULL, b, &err));
  assert_memory_equal(a, b, sizeof a);
  assert_true(has_features(again));
  furrow_recommender_free(r);
  furrow_recommender_free(again);
  r = fit_with(1, true);
  ok(furrow_recommender_save(r, "one", true, &err));
  furrow_recommender_free(r);
  assert_int_equal(system("diff -r model one"), 0);
  refuse_damaged(damages, sizeof damages / sizeof *damages);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(new_users_get_what_their_country_takes),
      cmocka_unit_test(own_history_has_no_features),
      cmocka_unit_test(numbers_are_features),
      cmocka_unit_test(events_and_features_count),
      cmocka_unit_test(noise_changes_nothing),
      cmocka_unit_test(users_without_a_row_are_counted),
      cmocka_unit_test(saved_and_loaded_is_the_same),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
