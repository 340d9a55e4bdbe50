/* recommend/judge.c: how a model of a log ranks the events that it was trained on.
 *
 * A model that scores rows was not trained to order items: a model of ratings puts obscure items first. Each user's
 * last events are taken as if they were to be recommended from the earlier ones. The model knows them, so its figures
 * are too good; if they are nevertheless worse than the figures of the most popular items, the model must not
 * recommend. The figures are a member "ranking" of furrow.json. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/atomic_file.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/uri.h"
#include "recommend/events.h"
#include "recommend/log_model.h"

enum { USERS_BY_VECTORS = 1000, USERS_BY_SCORES = 100 };

#define PAIRS_MOST 2e6 /* pairs of user and item that a model without vectors scores */

static size_t users_to_judge(const furrow_recommender *r) {
  if (r->kind == FW_VECTORS_ALL) return USERS_BY_VECTORS;
  const double most = PAIRS_MOST / (double)(r->items.count > 0 ? r->items.count : 1);
  return most < 10 ? 10 : most < USERS_BY_SCORES ? (size_t)most : USERS_BY_SCORES;
}

static furrow_status measure(const furrow_recommender *r, const char *log, const furrow_recommender_params *params,
                             furrow_rank_figures *figures, furrow_error *err) {
  furrow_events_params reading;
  furrow_recommend_params recommending;
  fw_interactions_info info = {0};
  fw_interactions all = {0}, earlier = {0}, later = {0};
  furrow_events *seen = NULL, *truth = NULL;
  furrow_events_params_init(&reading);
  furrow_recommend_params_init(&recommending);
  reading.threads = recommending.threads = params->threads;
  reading.on_bad = FURROW_ON_BAD_SKIP;
  furrow_status status = fw_interactions_read(&all, r, log, &reading, &info, err);
  if (status == FURROW_OK) status = fw_interactions_split(&all, &earlier, &later, err);
  if (status == FURROW_OK) status = fw_events_from(&seen, &earlier, SIZE_MAX, err);
  if (status == FURROW_OK) status = fw_events_from(&truth, &later, users_to_judge(r), err);
  recommending.seen = seen;
  if (status == FURROW_OK) status = furrow_recommender_evaluate(r, truth, &recommending, figures, err);
  furrow_events_free(seen);
  furrow_events_free(truth);
  fw_interactions_clear(&all);
  fw_interactions_clear(&earlier);
  fw_interactions_clear(&later);
  return status;
}

/* ---- The member of furrow.json -------------------------------------------------------------------------- */

static void put_ranking(fw_buffer *text, const furrow_rank_figures *figures) {
  fw_json_out json = {.out = text};
  fw_json_out_open(&json);
  fw_json_out_member_unsigned(&json, "k", figures->k);
  fw_json_out_member_unsigned(&json, "users", figures->users);
  fw_json_out_member_real(&json, "ndcg", figures->ndcg.mean);
  fw_json_out_member_real(&json, "popular", figures->popular_ndcg.mean);
  fw_json_out_member_real(&json, "gain", figures->popular_gain);
  fw_json_out_member_real(&json, "gain_error", figures->popular_gain_error);
  fw_json_out_close(&json);
}

static furrow_status write_file(const char *path, const fw_buffer *text, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_atomic_file_open(&file, path, err));
  furrow_status status = fw_atomic_file_write(file, text->bytes, text->size, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

/* Writes furrow.json again, with the figures as its last member. */
static furrow_status store_ranking(const char *folder, const furrow_rank_figures *figures, furrow_error *err) {
  char *path = NULL, *text = NULL;
  fw_buffer ranking = {0}, all = {0};
  size_t size = 0;
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = fw_path_read_json(&text, &size, path, err);
  while (status == FURROW_OK && size > 0 && text[size - 1] != '}') size--;
  if (status == FURROW_OK && size > 1) {
    size_t end = size - 1;
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == ' ')) end--;
    put_ranking(&ranking, figures);
    fw_buffer_append(&all, text, end);
    fw_buffer_text(&all, ",\n  \"ranking\" : ");
    for (size_t i = 0; i < ranking.size; i++) { /* one level deeper */
      fw_buffer_byte(&all, ranking.bytes[i]);
      if (ranking.bytes[i] == '\n' && i + 1 < ranking.size) fw_buffer_text(&all, "  ");
    }
    fw_buffer_text(&all, "\n}\n");
    status = fw_buffer_status(&all, err);
  }
  if (status == FURROW_OK && all.size > 0) status = write_file(path, &all, err);
  fw_buffer_clear(&ranking);
  fw_buffer_clear(&all);
  fw_free(text);
  fw_free(path);
  return status;
}

static furrow_status see_ranking(void *user, const char *member, const char *text) {
  fw_stored_ranking *to = user;
  if (!text || strncmp(member, "ranking/", 8) != 0) return FURROW_OK;
  const double value = strtod(text, NULL);
  to->there = true;
  if (strcmp(member + 8, "ndcg") == 0) to->ndcg = value;
  if (strcmp(member + 8, "popular") == 0) to->popular = value;
  if (strcmp(member + 8, "gain") == 0) to->gain = value;
  if (strcmp(member + 8, "gain_error") == 0) to->gain_error = value;
  return FURROW_OK;
}

furrow_status fw_stored_ranking_load(fw_stored_ranking *ranking, const char *folder, furrow_error *err) {
  char *path = NULL;
  *ranking = (fw_stored_ranking){0};
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = FURROW_OK;
  if (fw_path_exists(path)) status = furrow_model_json_for_each(path, see_ranking, ranking, err);
  fw_free(path);
  return status;
}

furrow_status furrow_recommender_judge(const char *model, const char *log, const furrow_recommender_params *params,
                                       furrow_rank_figures *figures, furrow_error *err) {
  furrow_recommender *r = NULL;
  furrow_recommender_params used;
  furrow_recommender_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommender_params, err));
  FW_TRY(furrow_recommender_open(&r, model, &used, err));
  furrow_status status = r->log_model ? fw_fail(err, FURROW_E_UNSUPPORTED, "a recommender of a log has figures already")
                                      : measure(r, log, &used, figures, err);
  if (status == FURROW_OK) status = store_ranking(model, figures, err);
  furrow_recommender_free(r);
  return status;
}
