/* tests/fuzz/fuzz_events.c: any bytes as what a recommender reads beside its model: logs of events, tables of items,
 * logs of new users. Threads change nothing; what is read is recommended with, and evaluated.
 *
 * The first byte chooses what is done with bad rows. */
#include "fuzz/harness/trained_model.h"

#define LOG "memory://fuzz-events"
enum { K = 3, MOST_USERS = 1000 };

static const char log_text[] =
    "y,u,i,p,s\n1,a,x,1,k\n0,b,y,2,k\n1,a,y,3,\n0,c,x,4,l\n1,c,z,,k\n0,b,x,6,l\n1,10,x,2,k\n0,10,12,1,l\n";
static const char schema_text[] =
    "{\"columns\":{\"y\":{\"as\":\"label\"},\"u\":{\"as\":\"category\",\"role\":\"user\"},"
    "\"i\":{\"as\":\"category\",\"role\":\"item\"},\"p\":{\"as\":\"number\"},\"s\":{\"as\":\"category\"}}}";

static furrow_recommender *open_recommender(void) {
  furrow_recommender *recommender = NULL;
  char path[TEST_PATH];
  train_model("fm", log_text, "events.csv", schema_text, fuzz_folder(path, "model"));
  check(furrow_recommender_open(&recommender, path, NULL, NULL) == FURROW_OK);
  return recommender;
}

static void check_error(furrow_status status, const furrow_error *err) {
  check(status == FURROW_OK || (err->status == status && err->message[0]));
}

static void same_info(const furrow_events_info *a, const furrow_events_info *b) {
  check(a->rows == b->rows && a->below == b->below && a->users == b->users && a->bad == b->bad);
  check(a->unknown_users == b->unknown_users && a->unknown_items == b->unknown_items);
}

static void use_events(const furrow_recommender *recommender, const furrow_events *events) {
  static const uint64_t users[] = {0, 1};
  furrow_recommend_params params;
  furrow_recommendation results[2 * K];
  furrow_rank_figures figures;
  furrow_recommend_params_init(&params);
  params.k = K;
  params.threads = 1;
  params.seen = events;
  check(furrow_recommender_recommend(recommender, users, 2, &params, results, NULL) == FURROW_OK);
  furrow_rank_figures_init(&figures);
  params.seen = NULL;
  furrow_error err = {0};
  check_error(furrow_recommender_evaluate(recommender, events, &params, &figures, &err), &err);
}

static void read_events(const furrow_recommender *recommender, furrow_events_params params) {
  furrow_events *events[2] = {NULL, NULL};
  furrow_events_info infos[2];
  furrow_status statuses[2];
  for (unsigned i = 0; i < 2; i++) {
    furrow_error err = {0};
    params.threads = 1 + 2 * i;
    statuses[i] = furrow_events_load(&events[i], recommender, LOG, &params, &err);
    check_error(statuses[i], &err);
    furrow_events_info_init(&infos[i]);
    if (events[i]) furrow_events_get_info(events[i], &infos[i]);
  }
  check(statuses[0] == statuses[1]);
  same_info(&infos[0], &infos[1]);
  if (events[0]) use_events(recommender, events[0]);
  for (size_t i = 0; i < 2; i++) furrow_events_free(events[i]);
}

static void read_items(const furrow_recommender *recommender) {
  static const char *const columns[] = {"s", "p"};
  furrow_item_table *table = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_item_table_load(&table, recommender, LOG, columns, 2, &err);
  check_error(status, &err);
  if (status == FURROW_OK) {
    check(furrow_item_table_count(table) <= 4);
    for (uint64_t item = 0; item < 4; item++)
      for (size_t i = 0; i < 2; i++) check(strlen(furrow_item_table_get(table, item, i)) < SIZE_MAX);
  }
  furrow_item_table_free(table);
}

static void read_new_users(const furrow_recommender *recommender, const furrow_events_params *params) {
  furrow_new_users *users = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_new_users_load(&users, recommender, LOG, params, &err);
  check_error(status, &err);
  const size_t count = status == FURROW_OK ? furrow_new_users_count(users) : 0;
  for (size_t i = 0; i < count; i++) check(furrow_new_users_name(users, i) != NULL);
  if (count > 0 && count < MOST_USERS) {
    furrow_recommendation *results = calloc(count * K, sizeof *results);
    furrow_recommend_params params_of;
    furrow_recommend_params_init(&params_of);
    params_of.k = K;
    params_of.threads = 1;
    check(results && furrow_recommender_recommend_new(recommender, users, &params_of, results, NULL) == FURROW_OK);
    free(results);
  }
  furrow_new_users_free(users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static furrow_recommender *recommender;
  furrow_events_params params;
  if (!recommender) recommender = open_recommender();
  if (size == 0) return 0;
  furrow_events_params_init(&params);
  params.on_bad = data[0] & 1 ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
  params.threads = 1;
  check(furrow_memory_file_add(LOG, data + 1, size - 1, NULL, NULL, NULL) == FURROW_OK);
  read_events(recommender, params);
  read_items(recommender);
  read_new_users(recommender, &params);
  check(furrow_memory_file_remove(LOG, NULL) == FURROW_OK);
  return 0;
}
