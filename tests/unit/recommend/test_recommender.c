/* tests/unit/recommend/test_recommender.c: items for users of models that were trained from a log: the same scores as
 * the model gives to rows of the log, for every kind of model, any number of threads, with items left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "furrow/recommend.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { USERS = 40, ITEMS = 60, K = 10 };

static furrow_error err;

#define ok(call)                                                                    \
  do {                                                                              \
    furrow_status ok_ = (call);                                                     \
    if (ok_ != FURROW_OK) fail_msg("%s: %s", furrow_status_text(ok_), err.message); \
  } while (0)

/* ---- Logs and models ------------------------------------------------------------------------------------ */

static unsigned item_of(unsigned user, unsigned j) {
  return (user * 7 + j * 13) % ITEMS;
}

/* Users like items whose number has the same remainder by 5. */
static void write_log(const char *path, unsigned from, unsigned to) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "user,item,hour,label\n");
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned j = from; j < to; j++) {
      const unsigned i = item_of(u, j);
      fprintf(file, "u%u,item %u,h%u,%d\n", u, i, (u + j) % 6, i % 5 == u % 5 || (u + i) % 11 == 0);
    }
  fclose(file);
}

static const char plain_schema[] =
    "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": "
    "\"item\"}, \"hour\": {\"as\": \"ignore\"}, \"label\": {\"as\": \"label\"}}}";
static const char hour_schema[] =
    "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": "
    "\"item\"}, \"hour\": {\"as\": \"category\"}, \"label\": {\"as\": \"label\"}}}";

static furrow_encoder *build_encoder(const char *text) {
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  ok(furrow_schema_parse(&schema, text, strlen(text), &err));
  ok(furrow_encoder_build(&encoder, "log.csv", schema, NULL, &err));
  furrow_schema_free(schema);
  return encoder;
}

/* Trains on log.csv; settings: "key=value key=value". */
static void train(const char *folder, const char *algorithm, const char *schema, const char *settings) {
  furrow_encoder *encoder = build_encoder(schema);
  furrow_learn_conf *conf = NULL;
  furrow_trainer *trainer = NULL;
  char copy[256], *rest = copy, *word;
  snprintf(copy, sizeof copy, "%s", settings);
  ok(furrow_encoder_save(encoder, "encoder", true, &err));
  ok(furrow_learn_conf_create(&conf, &err));
  ok(furrow_learn_conf_set_algorithm(conf, algorithm, &err));
  while ((word = strsep(&rest, " "))) {
    char *value = strchr(word, '=');
    *value++ = 0;
    ok(furrow_learn_conf_set(conf, word, value, &err));
  }
  ok(furrow_learn_conf_set(conf, "encoder", "encoder", &err));
  ok(furrow_trainer_create(&trainer, conf, NULL, &err));
  ok(furrow_trainer_fit(trainer, "log.csv", NULL, NULL, &err));
  ok(furrow_trainer_save(trainer, folder, NULL, &err));
  furrow_trainer_free(trainer);
  furrow_learn_conf_free(conf);
  furrow_encoder_free(encoder);
}

static int setup(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_log("log.csv", 0, 20);
  write_log("later.csv", 20, 26);
  return 0;
}

static furrow_recommender *open_model(const char *folder) {
  furrow_recommender *r = NULL;
  ok(furrow_recommender_open(&r, folder, NULL, &err));
  assert_int_equal(furrow_recommender_user_count(r), USERS);
  return r;
}

static void prepare(furrow_recommender *r, furrow_recommend_method method) {
  furrow_prepare_params params;
  furrow_prepare_params_init(&params);
  params.method = method;
  ok(furrow_recommender_prepare(r, &params, &err));
}

/* ---- What the model says of events ---------------------------------------------------------------------- */

/* pred of user and item, as an event of the log with that hour (NULL: without one). */
static double score_of(const furrow_recommender *r, const char *folder, uint64_t user, uint64_t item,
                       const char *hour) {
  static furrow_encoder *encoder = NULL;
  static furrow_scorer *scorer = NULL;
  static char loaded[64] = "";
  furrow_scorer_scratch *scratch = NULL;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_score score;
  if (strcmp(loaded, folder) != 0) {
    furrow_encoder_free(encoder);
    furrow_scorer_free(scorer);
    encoder = NULL;
    scorer = NULL;
    loaded[0] = 0;
    if (!folder[0]) return 0;
    ok(furrow_encoder_load(&encoder, folder, &err));
    ok(furrow_scorer_load(&scorer, folder, NULL, &err));
    snprintf(loaded, sizeof loaded, "%s", folder);
  }
  const furrow_pair pairs[] = {
      {"user", furrow_recommender_user_name(r, user)}, {"item", furrow_recommender_item_name(r, item)}, {"hour", hour}};
  ok(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, &err));
  ok(furrow_encoder_push_event(encoder, pairs, hour ? 3 : 2, rows, &err));
  ok(furrow_container_get_block(rows, &block, &err));
  ok(furrow_scorer_scratch_create(&scratch, scorer, &err));
  const furrow_row row = furrow_rowblock_row(&block, 0);
  ok(furrow_scorer_score_row(scorer, scratch, &row, &score, &err));
  furrow_scorer_scratch_free(scratch);
  furrow_container_free(rows);
  return score.pred;
}

/* Whether `results` are the k best of the items that `keeps` keeps. */
static void assert_best(const furrow_recommender *r, const char *folder, uint64_t user, const char *hour,
                        const furrow_recommendation *results, bool (*keeps)(uint64_t user, uint64_t item)) {
  const uint64_t items = furrow_recommender_item_count(r);
  bool *listed = calloc(items, 1);
  size_t count = 0;
  for (; count < K && results[count].item != FURROW_NO_ITEM; count++) {
    assert_true(results[count].item < items && !listed[results[count].item]);
    listed[results[count].item] = true;
    assert_true(!keeps || keeps(user, results[count].item));
    assert_true(results[count].score == score_of(r, folder, user, results[count].item, hour));
    if (count > 0) assert_true(results[count - 1].score >= results[count].score);
  }
  for (uint64_t i = 0; i < items; i++) {
    if (listed[i] || (keeps && !keeps(user, i))) continue;
    assert_int_equal(count, K);
    const double score = score_of(r, folder, user, i, hour);
    if (score > results[K - 1].score + 1e-6 * fabs(score))
      fail_msg("item %llu scores %.9g, above %.9g", (unsigned long long)i, score, results[K - 1].score);
  }
  free(listed);
}

static void recommend_all(const furrow_recommender *r, furrow_recommend_params *params,
                          furrow_recommendation results[USERS * K]) {
  uint64_t users[USERS];
  for (uint64_t i = 0; i < USERS; i++) users[i] = i;
  ok(furrow_recommender_recommend(r, users, USERS, params, results, &err));
}

/* ---- Tests ---------------------------------------------------------------------------------------------- */

static const struct {
  const char *algorithm, *settings;
  furrow_recommend_method method; /* what prepare chooses when everything must be exact */
} models[] = {
    {"fm", "rank=4 epochs=5 lr=0.05", FURROW_RECOMMEND_VECTORS},
    {"fm", "rank=4 epochs=3 loss=L2Loss model-type=T_DOUBLE_DENSE", FURROW_RECOMMEND_VECTORS},
    {"lr", "epochs=3", FURROW_RECOMMEND_VECTORS},
    {"linear", "epochs=3", FURROW_RECOMMEND_VECTORS},
    {"deepfm", "rank=4 fields=2 fc=8,1 epochs=3 lr=0.02", FURROW_RECOMMEND_EXACT},
    {"ffm", "rank=4 fields=2 epochs=3", FURROW_RECOMMEND_EXACT},
    {"gbdt", "", FURROW_RECOMMEND_EXACT},
};

static void every_model_gives_its_best_items(void **state) {
  (void)state;
  for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
    char folder[32];
    furrow_recommendation one[USERS * K], more[USERS * K];
    furrow_recommend_params params;
    furrow_recommender_info info;
    furrow_recommend_params_init(&params);
    furrow_recommender_info_init(&info);
    snprintf(folder, sizeof folder, "model%zu", m);
    train(folder, models[m].algorithm, plain_schema, models[m].settings[0] ? models[m].settings : "trees=5");
    furrow_recommender *r = open_model(folder);
    prepare(r, FURROW_RECOMMEND_EXACT);
    furrow_recommender_get_info(r, &info);
    assert_int_equal(info.method, models[m].method);
    params.threads = 1;
    recommend_all(r, &params, one);
    for (uint64_t u = 0; u < USERS; u++) assert_best(r, folder, u, NULL, one + u * K, NULL);
    params.threads = 3;
    recommend_all(r, &params, more);
    assert_memory_equal(one, more, sizeof one);
    for (uint64_t u = 0; u < USERS; u++) { /* alone */
      ok(furrow_recommender_recommend(r, &u, 1, &params, more, &err));
      assert_memory_equal(one + u * K, more, K * sizeof *more);
    }
    furrow_recommender_free(r);
  }
  score_of(NULL, "", 0, 0, NULL);
}

static void deepfm_scores_candidates(void **state) {
  (void)state;
  train("deep", "deepfm", plain_schema, "rank=4 fields=2 fc=8,1 epochs=3 lr=0.02");
  furrow_recommendation some[USERS * K], all[USERS * K];
  furrow_recommend_params params;
  furrow_recommender_info info;
  furrow_recommend_params_init(&params);
  furrow_recommender_info_init(&info);
  furrow_recommender *r = open_model("deep");
  prepare(r, FURROW_RECOMMEND_AUTO);
  furrow_recommender_get_info(r, &info);
  assert_true(info.method == FURROW_RECOMMEND_VECTORS && info.rescored);
  params.candidates = ITEMS; /* all of them: the same as exact */
  recommend_all(r, &params, some);
  prepare(r, FURROW_RECOMMEND_EXACT);
  recommend_all(r, &params, all);
  assert_memory_equal(some, all, sizeof all);
  prepare(r, FURROW_RECOMMEND_VECTORS);
  params.candidates = 12; /* scores are the model's, whatever was found */
  recommend_all(r, &params, some);
  for (size_t i = 0; i < USERS * K; i++) assert_true(some[i].score == score_of(r, "deep", i / K, some[i].item, NULL));
  furrow_recommender_free(r);
  score_of(NULL, "", 0, 0, NULL);
}

static const furrow_recommender *current;

static bool is_new_and_even(uint64_t user, uint64_t item) {
  unsigned u = 0, i = 0;
  sscanf(furrow_recommender_user_name(current, user), "u%u", &u);
  sscanf(furrow_recommender_item_name(current, item), "item %u", &i);
  for (unsigned j = 0; j < 20; j++)
    if (i == item_of(u, j)) return false;
  return i % 2 == 0;
}

static void items_are_left_out(void **state) {
  (void)state;
  train("fm", "fm", plain_schema, "rank=4 epochs=3");
  furrow_recommender *r = open_model("fm");
  furrow_events *seen = NULL;
  uint8_t allowed[ITEMS] = {0};
  furrow_recommendation results[USERS * K];
  furrow_recommend_params params;
  current = r;
  ok(furrow_events_load(&seen, r, "log.csv", NULL, &err));
  assert_true(furrow_recommender_item_count(r) <= ITEMS);
  for (uint64_t i = 0; i < furrow_recommender_item_count(r); i++)
    allowed[i] = (furrow_recommender_item_name(r, i)[strlen(furrow_recommender_item_name(r, i)) - 1] - '0') % 2 == 0;
  furrow_recommend_params_init(&params);
  params.seen = seen;
  params.allowed = allowed;
  recommend_all(r, &params, results);
  for (uint64_t u = 0; u < USERS; u++) assert_best(r, "fm", u, NULL, results + u * K, is_new_and_even);
  furrow_events_free(seen);
  furrow_recommender_free(r);
  score_of(NULL, "", 0, 0, NULL);
}

static void context_is_part_of_the_row(void **state) {
  (void)state;
  train("hours", "fm", hour_schema, "rank=4 epochs=5 lr=0.05");
  furrow_recommender *r = open_model("hours");
  furrow_recommendation with[USERS * K], without[USERS * K];
  furrow_recommend_params params;
  furrow_recommender_info info;
  furrow_recommend_params_init(&params);
  furrow_recommender_info_init(&info);
  furrow_recommender_get_info(r, &info);
  assert_int_equal(info.context_fields, 1);
  recommend_all(r, &params, without);
  params.context = (const furrow_pair[]){{"hour", "h3"}};
  params.context_count = 1;
  recommend_all(r, &params, with);
  for (uint64_t u = 0; u < USERS; u++) assert_best(r, "hours", u, "h3", with + u * K, NULL);
  assert_memory_not_equal(with, without, sizeof with);
  static const char *const wrong[] = {"user", "item", "label", "hou", "nothing"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const furrow_pair pair = {wrong[i], "1"};
    uint64_t user = 0;
    params.context = &pair;
    assert_int_equal(furrow_recommender_recommend(r, &user, 1, &params, with, &err), FURROW_E_ARGUMENT);
  }
  furrow_recommender_free(r);
  score_of(NULL, "", 0, 0, NULL);
}

static bool stop_reading(void *user, const char *phase, uint64_t done, uint64_t total) {
  *(const char **)user = phase;
  return done > total;
}

static void reading_events_can_be_stopped(void **state) {
  (void)state;
  train("fm", "fm", plain_schema, "rank=4 epochs=1");
  furrow_recommender *r = open_model("fm");
  furrow_events *events = NULL;
  furrow_new_users *users = NULL;
  furrow_events_params params;
  const char *phase = "";
  furrow_events_params_init(&params);
  params.progress = stop_reading;
  params.progress_user = &phase;
  assert_int_equal(furrow_events_load(&events, r, "log.csv", &params, &err), FURROW_E_CANCELLED);
  assert_string_equal(phase, "reading");
  assert_int_equal(furrow_new_users_load(&users, r, "log.csv", &params, &err), FURROW_E_CANCELLED);
  assert_null(events);
  assert_null(users);
  furrow_recommender_free(r);
}

/* Figures by their definition, from what furrow_recommender_recommend gives. */
static void rankings_are_measured(void **state) {
  (void)state;
  train("fm", "fm", plain_schema, "rank=4 epochs=3");
  FILE *file = fopen("later.csv", "a"); /* unknown items count once; unknown users do not */
  fprintf(file, "u3,new item,h1,1\nu3,new item,h1,1\nnobody,item 1,h1,1\n");
  fclose(file);
  furrow_recommender *r = open_model("fm");
  furrow_events *truth = NULL, *seen = NULL;
  furrow_events_params from;
  furrow_events_info info;
  furrow_rank_figures figures;
  furrow_recommend_params params;
  furrow_events_params_init(&from);
  furrow_events_info_init(&info);
  furrow_rank_figures_init(&figures);
  furrow_recommend_params_init(&params);
  from.from = 1;
  ok(furrow_events_load(&truth, r, "later.csv", &from, &err));
  ok(furrow_events_load(&seen, r, "log.csv", NULL, &err));
  furrow_events_get_info(truth, &info);
  assert_int_equal(info.rows + info.below, USERS * 6 + 3);
  assert_int_equal(info.unknown_users, 1);
  assert_int_equal(info.unknown_items, 2);
  params.k = K;
  params.seen = seen;
  ok(furrow_recommender_evaluate(r, truth, &params, &figures, &err));
  current = r;
  furrow_recommendation results[USERS * K];
  bool shown[ITEMS] = {false};
  double hit = 0, recall = 0, relevant_items = 0, users = 0, coverage = 0;
  for (uint64_t user = 0; user < USERS; user++) {
    unsigned u = 0, found = 0, relevant = 0;
    bool is_relevant[ITEMS] = {false};
    sscanf(furrow_recommender_user_name(r, user), "u%u", &u);
    for (unsigned j = 20; j < 26; j++) {
      const unsigned i = item_of(u, j);
      bool before = false;
      for (unsigned p = 0; p < 20; p++) before |= i == item_of(u, p);
      if (!before && (i % 5 == u % 5 || (u + i) % 11 == 0)) is_relevant[i] = true;
    }
    for (unsigned i = 0; i < ITEMS; i++) relevant += is_relevant[i];
    relevant += u == 3;
    if (relevant == 0) continue;
    ok(furrow_recommender_recommend(r, &user, 1, &params, results, &err));
    for (size_t k = 0; k < K && results[k].item != FURROW_NO_ITEM; k++) {
      unsigned i = 0;
      sscanf(furrow_recommender_item_name(r, results[k].item), "item %u", &i);
      found += is_relevant[i];
      shown[i] = true;
    }
    users++;
    relevant_items += relevant;
    hit += found > 0;
    recall += (double)found / (relevant < K ? relevant : K);
  }
  for (unsigned i = 0; i < ITEMS; i++) coverage += shown[i];
  assert_true(users > 5);
  assert_int_equal(figures.users, (uint64_t)users);
  assert_int_equal(figures.relevant, (uint64_t)relevant_items);
  assert_int_equal(figures.unknown, 1);
  assert_true(fabs(figures.hit.mean - hit / users) < 1e-12);
  assert_true(fabs(figures.recall.mean - recall / users) < 1e-12);
  assert_true(fabs(figures.coverage - coverage / (double)furrow_recommender_item_count(r)) < 1e-12);
  furrow_events_free(truth);
  from.from = 2; /* no event is left */
  ok(furrow_events_load(&truth, r, "later.csv", &from, &err));
  assert_int_equal(furrow_recommender_evaluate(r, truth, &params, &figures, &err), FURROW_E_ARGUMENT);
  furrow_events_free(truth);
  furrow_events_free(seen);
  furrow_recommender_free(r);
}

static void similar_items_by_cosine(void **state) {
  (void)state;
  train("fm", "fm", plain_schema, "rank=4 epochs=3");
  train("lr", "lr", plain_schema, "epochs=2");
  furrow_recommender *r = open_model("fm");
  furrow_recommendation results[100];
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.k = 100; /* more than there are */
  ok(furrow_recommender_similar(r, 4, &params, results, &err));
  const uint64_t items = furrow_recommender_item_count(r);
  for (uint64_t i = 0; i < 100; i++) {
    assert_true((results[i].item == FURROW_NO_ITEM) == (i >= items - 1));
    if (i >= items - 1) continue;
    assert_true(results[i].item != 4 && results[i].score <= 1 + 1e-9 && results[i].score >= -1 - 1e-9);
    if (i > 0) assert_true(results[i].score <= results[i - 1].score);
    furrow_recommendation back[100]; /* the cosine is symmetric */
    ok(furrow_recommender_similar(r, results[i].item, &params, back, &err));
    size_t at = 0;
    while (back[at].item != 4) at++;
    assert_true(fabs(back[at].score - results[i].score) < 1e-12);
  }
  assert_int_equal(furrow_recommender_similar(r, items, &params, results, &err), FURROW_E_RANGE);
  furrow_recommender_free(r);
  r = open_model("lr");
  assert_int_equal(furrow_recommender_similar(r, 4, &params, results, &err), FURROW_E_UNSUPPORTED);
  furrow_recommender_free(r);
}

static void tables_of_items(void **state) {
  (void)state;
  static const char text[] = "item,title,kind\nitem 3,\"Three, the\",a\nunknown,x,y\nitem 4,,b\nitem 3,again,c\n";
  static const char *const columns[] = {"kind", "title"}, *const none[] = {"nothing"};
  furrow_item_table *table = NULL;
  uint64_t three = 0, four = 0;
  train("fm", "fm", plain_schema, "rank=2 epochs=1");
  furrow_recommender *r = open_model("fm");
  assert_true(test_write_file("items.csv", text, sizeof text - 1));
  ok(furrow_item_table_load(&table, r, "items.csv", columns, 2, &err));
  ok(furrow_recommender_find_item(r, "item 3", 6, &three, &err));
  ok(furrow_recommender_find_item(r, "item 4", 6, &four, &err));
  assert_int_equal(furrow_item_table_count(table), 2);
  assert_string_equal(furrow_item_table_get(table, three, 0), "a");
  assert_string_equal(furrow_item_table_get(table, three, 1), "Three, the");
  assert_string_equal(furrow_item_table_get(table, four, 1), "");
  assert_string_equal(furrow_item_table_get(table, three == 0 || four == 0 ? 1 : 0, 0), "");
  furrow_item_table_free(table);
  assert_int_equal(furrow_item_table_load(&table, r, "items.csv", none, 1, &err), FURROW_E_FORMAT);
  assert_int_equal(furrow_item_table_load(&table, r, "nowhere.csv", columns, 2, &err), FURROW_E_NOT_FOUND);
  furrow_recommender_free(r);
}

enum { MANY = 2000 };

/* Users have 30 to 111 items, and one has so many that the index is not for them. */
static void write_many(void) {
  FILE *file = fopen("log.csv", "w");
  assert_non_null(file);
  fprintf(file, "user,item,hour,label\n");
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned j = 0; j < (u == 5 ? 1100 : 30 + 9 * (u % 10)); j++) {
      const unsigned i = (u * 50 + j * 41) % MANY;
      fprintf(file, "u%u,item %u,h1,%d\n", u, i, i % 7 < 3 ? u % 2 : (u + i) % 3 == 0);
    }
  fclose(file);
}

/* The share of the items of `right` that are in `found`. */
static double share_of(const furrow_recommendation *found, const furrow_recommendation *right) {
  double same = 0, all = 0;
  for (size_t u = 0; u < USERS; u++)
    for (size_t a = 0; a < K; a++) {
      all += right[u * K + a].item != FURROW_NO_ITEM;
      for (size_t b = 0; b < K; b++)
        same += right[u * K + a].item != FURROW_NO_ITEM && right[u * K + a].item == found[u * K + b].item;
    }
  return same / all;
}

static void an_index_is_made_and_kept(void **state) {
  (void)state;
  furrow_recommendation exact[USERS * K], found[USERS * K], again[USERS * K];
  furrow_prepare_params prepare_params;
  furrow_recommend_params params;
  furrow_recommender_info info;
  furrow_events *seen = NULL;
  static uint8_t allowed[MANY];
  furrow_prepare_params_init(&prepare_params);
  furrow_recommend_params_init(&params);
  furrow_recommender_info_init(&info);
  write_many();
  train("fm", "fm", plain_schema, "rank=8 epochs=10 lr=0.05 start=random");
  furrow_recommender *r = open_model("fm");
  assert_true(furrow_recommender_item_count(r) > 1000);
  ok(furrow_events_load(&seen, r, "log.csv", NULL, &err));
  prepare(r, FURROW_RECOMMEND_AUTO); /* little work: no index */
  furrow_recommender_get_info(r, &info);
  assert_int_equal(info.method, FURROW_RECOMMEND_VECTORS);
  params.seen = seen;
  recommend_all(r, &params, exact);
  prepare_params.method = FURROW_RECOMMEND_INDEX;
  prepare_params.recall = 0.95;
  ok(furrow_recommender_prepare(r, &prepare_params, &err));
  furrow_recommender_get_info(r, &info);
  assert_true(info.method == FURROW_RECOMMEND_INDEX && info.built && info.kept && info.recall >= 0.95);
  recommend_all(r, &params, found);
  assert_true(share_of(found, exact) > 0.9); /* tuned without items left out, so not quite what was asked for */
  for (uint64_t u = 0; u < USERS; u++)
    for (size_t k = 0; k < K; k++) {
      assert_true(found[u * K + k].score == score_of(r, "fm", u, found[u * K + k].item, NULL));
      assert_true(found[u * K + k].item != FURROW_NO_ITEM);
    }
  memset(allowed, 0, sizeof allowed); /* few items: all their vectors are compared */
  for (size_t i = 0; i < MANY; i += 40) allowed[i] = 1;
  params.allowed = allowed;
  recommend_all(r, &params, found);
  prepare(r, FURROW_RECOMMEND_VECTORS);
  recommend_all(r, &params, again);
  assert_memory_equal(found, again, sizeof found);
  furrow_recommender_free(r);
  params.allowed = NULL;
  r = open_model("fm"); /* another process: the same index, and the same results */
  ok(furrow_recommender_prepare(r, &prepare_params, &err));
  furrow_recommender_get_info(r, &info);
  assert_true(info.method == FURROW_RECOMMEND_INDEX && !info.built && info.kept);
  recommend_all(r, &params, found);
  params.threads = 3;
  recommend_all(r, &params, again);
  assert_memory_equal(found, again, sizeof found);
  for (uint64_t u = 0; u < USERS; u++) { /* alone */
    ok(furrow_recommender_recommend(r, &u, 1, &params, again, &err));
    assert_memory_equal(found + u * K, again, K * sizeof *again);
  }
  prepare_params.recall = 1.5;
  assert_int_equal(furrow_recommender_prepare(r, &prepare_params, &err), FURROW_E_ARGUMENT);
  furrow_events_free(seen);
  furrow_recommender_free(r);
  score_of(NULL, "", 0, 0, NULL);
}

/* New users with the events of known ones: they get what these like. */
static void new_users_by_their_events(void **state) {
  (void)state;
  static const char *const losses[] = {"rank=4 epochs=40 lr=0.05 loss=L2Loss", "rank=4 epochs=40 lr=0.05"};
  FILE *file = fopen("log.csv", "w"); /* users like even items, or odd ones */
  fprintf(file, "user,item,hour,label\n");
  for (unsigned u = 0; u < USERS; u++)
    for (unsigned j = 0; j < 30; j++)
      fprintf(file, "u%u,item %u,h1,%d\n", u, item_of(u, j), item_of(u, j) % 2 == u % 2);
  fclose(file);
  file = fopen("new.csv", "w");
  fprintf(file, "user,item,label\n");
  for (unsigned u = 30; u-- > 0;)
    for (unsigned j = 0; j < 20; j++) {
      const unsigned i = item_of(u, j);
      if (j == 3) fprintf(file, "new %u,item %u,%d\n", u, i, i % 2 != u % 2); /* said otherwise later */
      fprintf(file, "new %u,item %u,%d\n", u, i, i % 2 == u % 2);
    }
  fprintf(file, "new 3,nothing known,1\n,item 1,1\n");
  fclose(file);
  for (size_t l = 0; l < 2; l++) {
    char folder[16];
    furrow_new_users *users = NULL, *again = NULL;
    furrow_recommendation one[30 * ITEMS], more[30 * ITEMS];
    furrow_events_info info;
    furrow_events_params events;
    furrow_recommend_params params;
    furrow_events_info_init(&info);
    furrow_events_params_init(&events);
    furrow_recommend_params_init(&params);
    snprintf(folder, sizeof folder, "fm%zu", l);
    train(folder, "fm", plain_schema, losses[l]);
    furrow_recommender *r = open_model(folder);
    params.k = ITEMS;
    params.threads = events.threads = 1;
    ok(furrow_new_users_load(&users, r, "new.csv", &events, &err));
    ok(furrow_recommender_recommend_new(r, users, &params, one, &err));
    params.threads = events.threads = 3;
    ok(furrow_new_users_load(&again, r, "new.csv", &events, &err));
    ok(furrow_recommender_recommend_new(r, again, &params, more, &err));
    assert_memory_equal(one, more, sizeof one);
    furrow_new_users_get_info(users, &info);
    assert_int_equal(furrow_new_users_count(users), 30);
    assert_string_equal(furrow_new_users_name(users, 0), "new 29"); /* in the order of the log */
    assert_null(furrow_new_users_name(users, 30));
    assert_int_equal(info.unknown_items, 1);
    assert_int_equal(info.unknown_users, 1);
    unsigned liked_first = 0;
    for (unsigned n = 0; n < 30; n++) {
      const unsigned u = 29 - n;
      for (size_t k = 0; k < ITEMS && one[n * ITEMS + k].item != FURROW_NO_ITEM; k++) {
        unsigned i = 0;
        sscanf(furrow_recommender_item_name(r, one[n * ITEMS + k].item), "item %u", &i);
        for (unsigned j = 0; j < 20; j++) assert_true(i != item_of(u, j)); /* events are left out */
        if (k < 4) liked_first += i % 2 == u % 2;
      }
    }
    assert_true(liked_first >= 30 * 4 * 9 / 10); /* by chance a half */
    furrow_new_users_free(users);
    furrow_new_users_free(again);
    furrow_recommender_free(r);
  }
  train("deep", "deepfm", plain_schema, "rank=4 fields=2 fc=8,1 epochs=1");
  furrow_recommender *r = open_model("deep");
  furrow_new_users *users = NULL;
  assert_int_equal(furrow_new_users_load(&users, r, "new.csv", NULL, &err), FURROW_E_UNSUPPORTED);
  furrow_recommender_free(r);
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

static void names_are_found_or_suggested(void **state) {
  (void)state;
  train("fm", "fm", plain_schema, "rank=2 epochs=1");
  furrow_recommender *r = open_model("fm");
  uint64_t number = 0;
  ok(furrow_recommender_find_user(r, "u17xyz", 3, &number, &err));
  assert_string_equal(furrow_recommender_user_name(r, number), "u17");
  assert_int_equal(furrow_recommender_find_user(r, "uu17", 4, &number, &err), FURROW_E_NOT_FOUND);
  assert_non_null(strstr(err.hint, "u17"));
  assert_int_equal(furrow_recommender_find_item(r, "u17", 3, &number, &err), FURROW_E_NOT_FOUND);
  assert_null(furrow_recommender_item_name(r, furrow_recommender_item_count(r)));
  number = USERS;
  furrow_recommendation results[K];
  assert_int_equal(furrow_recommender_recommend(r, &number, 1, NULL, results, &err), FURROW_E_RANGE);
  furrow_recommender_free(r);
}

static void models_without_names_are_refused(void **state) {
  (void)state;
  static const char *const schemas[] = {
      "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\"}, "
      "\"hour\": "
      "{\"as\": \"ignore\"}, \"label\": {\"as\": \"label\"}}}",
      "{\"columns\": {\"user\": {\"as\": \"category\", \"role\": \"user\"}, \"item\": {\"as\": \"category\", \"role\": "
      "\"item\", \"hash\": 10}, \"hour\": {\"as\": \"ignore\"}, \"label\": {\"as\": \"label\"}}}"};
  furrow_recommender *r = NULL;
  for (size_t i = 0; i < 2; i++) {
    char folder[16];
    snprintf(folder, sizeof folder, "refused%zu", i);
    train(folder, "fm", schemas[i], "rank=2 epochs=1");
    assert_int_equal(furrow_recommender_open(&r, folder, NULL, &err), FURROW_E_UNSUPPORTED);
  }
  train("rows", "fm", plain_schema, "rank=2 epochs=1");
  remove("rows/schema.json");
  remove("rows/dictionary.furrow");
  assert_int_equal(furrow_recommender_open(&r, "rows", NULL, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "made from rows"));
  train("half", "fm", plain_schema, "rank=2 epochs=1");
  remove("half/dictionary.furrow");
  assert_int_equal(furrow_recommender_open(&r, "half", NULL, &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_recommender_open(&r, "nowhere", NULL, &err), FURROW_E_NOT_FOUND);
  assert_null(r);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, leave_dir)
  const struct CMUnitTest tests[] = {
      TEST(every_model_gives_its_best_items),
      TEST(deepfm_scores_candidates),
      TEST(items_are_left_out),
      TEST(context_is_part_of_the_row),
      TEST(reading_events_can_be_stopped),
      TEST(rankings_are_measured),
      TEST(similar_items_by_cosine),
      TEST(an_index_is_made_and_kept),
      TEST(new_users_by_their_events),
      TEST(tables_of_items),
      TEST(names_are_found_or_suggested),
      TEST(models_without_names_are_refused),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
