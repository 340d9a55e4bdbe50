/* recommend/fit_recommender.c: from a log to a recommender. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "recommend/log_model.h"
#include "rows/encode/encoder.h"
#include "vector/data/parallel.h"

enum { FEATURE_MOST = 2000 }; /* most items that share a feature; features of more items are ignored */

/* ---- Features of items ---------------------------------------------------------------------------------- */

/* Adds the features of an item that are not its own name. */
static furrow_status add_features(const furrow_recommender *r, uint64_t item, furrow_container *rows,
                                  fw_sparse_rows *of_items, size_t *capacity, furrow_error *err) {
  furrow_rowblock block;
  furrow_container_clear(rows);
  FW_TRY(furrow_encoder_push_side(r->encoder, FURROW_SIDE_ITEM, fw_entry_feature(r, &r->items, item), rows, err));
  FW_TRY(furrow_container_get_block(rows, &block, err));
  const furrow_row row = furrow_rowblock_row(&block, 0);
  size_t end = of_items->offset[item];
  FW_TRY(FW_GROW(&of_items->column, capacity, end + row.length, err));
  for (size_t i = 0; i < row.length; i++) {
    if (furrow_row_get_field(&row, i) == r->items.field || furrow_row_get_value(&row, i) != 1) continue;
    of_items->column[end++] = (uint32_t)furrow_row_get_index(&row, i);
  }
  of_items->offset[item + 1] = end;
  return FURROW_OK;
}

/* Keeps the features that 2 to FEATURE_MOST items share. */
static void drop_features(fw_sparse_rows *features) {
  size_t kept = 0, end = 0;
  for (size_t f = 0; f < features->rows; f++) {
    const size_t first = features->offset[f], count = features->offset[f + 1] - first;
    if (count < 2 || count > FEATURE_MOST) continue;
    memmove(features->column + end, features->column + first, count * sizeof *features->column);
    features->offset[kept++] = end;
    end += count;
  }
  features->offset[kept] = end;
  features->rows = kept;
}

/* Makes a row for each feature that some items share; none if the log has no table of items. */
static furrow_status find_features(const furrow_recommender *r, fw_sparse_rows *features, furrow_error *err) {
  fw_sparse_rows of_items = {.rows = r->items.count, .columns = furrow_encoder_feature_count(r->encoder)};
  furrow_container *rows = NULL;
  size_t capacity = 0;
  if (of_items.columns > UINT32_MAX) return FURROW_OK;
  furrow_status status = FW_ALLOC_ZERO(&of_items.offset, r->items.count + 1, err);
  if (status == FURROW_OK) status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (uint64_t i = 0; status == FURROW_OK && i < r->items.count; i++)
    status = add_features(r, i, rows, &of_items, &capacity, err);
  const size_t count = status == FURROW_OK ? of_items.offset[r->items.count] : 0;
  if (status == FURROW_OK && count > 0) status = FW_ALLOC_ZERO(&of_items.value, count, err);
  if (status == FURROW_OK && count > 0) status = fw_sparse_rows_transpose(&of_items, features, err);
  if (status == FURROW_OK && count > 0) drop_features(features);
  fw_sparse_rows_clear(&of_items);
  furrow_container_free(rows);
  return status;
}

/* ---- The fit -------------------------------------------------------------------------------------------- */

static furrow_status read_events(const furrow_recommender *r, const char *log,
                                 const furrow_recommender_fit_params *params, furrow_error *err) {
  furrow_events_params reading;
  fw_interactions_info info = {0};
  furrow_events_params_init(&reading);
  reading.threads = params->threads;
  reading.on_bad = params->on_bad;
  reading.progress = params->progress;
  reading.progress_user = params->progress_user;
  FW_TRY(fw_interactions_read(&r->log_model->events, r, log, &reading, &info, err));
  r->log_model->positive = info.positive;
  r->log_model->one_label = info.one_label;
  r->log_model->copies = info.copies;
  r->log_model->nameless = info.events.unknown_users + info.events.unknown_items;
  if (r->log_model->events.offset[r->users.count] > 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the log has no event of a user with an item");
  fw_error_set_file(err, log);
  return FURROW_E_ARGUMENT;
}

static furrow_status choose_and_make(const furrow_recommender *r, const furrow_recommender_fit_params *params,
                                     furrow_error *err) {
  fw_log_model *log_model = r->log_model;
  fw_sparse_rows features = {0};
  fw_pool *pool = NULL;
  furrow_status status = fw_parallel_start(&pool, params->threads, err);
  if (status == FURROW_OK) status = find_features(r, &features, err);
  if (status == FURROW_OK) status = fw_user_groups_find(r, &log_model->groups, err);
  if (log_model->groups.columns > 0) log_model->events.groups = &log_model->groups;
  const fw_selection_params choosing = {.k = params->k,
                                        .means = {.features = features.rows > 0 ? &features : NULL, .pool = pool},
                                        .progress = params->progress,
                                        .progress_user = params->progress_user};
  log_model->k = params->k;
  if (status == FURROW_OK) status = fw_select(&log_model->events, &choosing, &log_model->selection, err);
  if (status == FURROW_OK)
    status = fw_recipe_make(&log_model->selection.recipe, &log_model->events, &choosing.means, &log_model->made, err);
  if (!log_model->made.has_groups) log_model->events.groups = NULL;
  fw_pool_free(pool);
  fw_sparse_rows_clear(&features);
  return status;
}

static furrow_status fit(furrow_recommender *r, const char *log, const furrow_recommender_fit_params *params,
                         furrow_error *err) {
  const furrow_status status = fw_recommender_open_names(r, err);
  if (status == FURROW_E_UNSUPPORTED)
    fw_error_set_hint(err, "name the columns of users and items, as with --user COL --item COL");
  FW_TRY(status);
  if (r->users.count > UINT32_MAX) return fw_fail(err, FURROW_E_UNSUPPORTED, "the log has too many users");
  r->method = FURROW_RECOMMEND_EXACT;
  FW_TRY(FW_ALLOC_ZERO(&r->log_model, 1, err));
  FW_TRY(read_events(r, log, params, err));
  return choose_and_make(r, params, err);
}

furrow_status furrow_recommender_fit(furrow_recommender **recommender, const char *log, furrow_encoder *encoder,
                                     const furrow_recommender_fit_params *params, furrow_error *err) {
  furrow_recommender_fit_params used;
  furrow_recommender *made = NULL;
  furrow_recommender_fit_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommender_fit_params, err));
  if (used.k == 0 || used.k > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "k must be 1 to 4294967295");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->encoder = encoder;
  const furrow_status status = fit(made, log, &used, err);
  if (status != FURROW_OK) made->encoder = NULL; /* it stays the caller's */
  return FW_HAND_OVER(status, recommender, made, furrow_recommender_free);
}

furrow_status furrow_recommender_save(const furrow_recommender *recommender, const char *folder, bool overwrite,
                                      furrow_error *err) {
  furrow_matrix_write_params params;
  if (!recommender->log_model)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "only a recommender of a log is saved; others are model directories");
  furrow_matrix_write_params_init(&params);
  params.overwrite = overwrite;
  return fw_log_model_save(recommender->log_model, recommender->encoder, folder, &params, err);
}

void furrow_recommender_get_figures(const furrow_recommender *recommender, furrow_recommender_figures *figures) {
  furrow_recommender_figures found;
  furrow_recommender_figures_init(&found);
  const fw_log_model *log_model = recommender->log_model;
  found.ndcg = found.popular_ndcg = found.gain = found.gain_error = NAN;
  if (recommender->ranking.there) {
    found.ndcg = recommender->ranking.ndcg;
    found.popular_ndcg = recommender->ranking.popular;
    found.gain = recommender->ranking.gain;
    found.gain_error = recommender->ranking.gain_error;
  }
  if (log_model) {
    const fw_candidate *chosen = &log_model->selection.candidates[log_model->selection.chosen];
    if (chosen->there) {
      found.ndcg = chosen->ndcg;
      found.popular_ndcg = log_model->selection.candidates[FW_CANDIDATE_POPULAR].ndcg;
      found.gain = chosen->gain;
      found.gain_error = chosen->error;
    }
    found.of_log = true;
    found.k = log_model->k;
    found.users = log_model->selection.users;
    found.repeats = log_model->selection.repeats;
    found.one_label = log_model->one_label;
    found.copies = log_model->copies;
    found.nameless = log_model->nameless;
    found.events = log_model->events.offset[log_model->events.users];
    found.user_features = log_model->selection.recipe.group_prior > 0;
    for (fw_candidate_kind i = 0; i < FW_CANDIDATES; i++) {
      const fw_candidate *c = &log_model->selection.candidates[i];
      if (!c->there) continue;
      found.candidates[found.candidate_count++] =
          (furrow_recommender_candidate){.name = fw_candidate_name(i),
                                         .ndcg = c->ndcg,
                                         .gain = c->gain,
                                         .gain_error = c->error,
                                         .chosen = i == log_model->selection.chosen};
    }
  }
  fw_info_write(figures, &found, sizeof found);
}
