/* recommend/recommender.c: opens a model with its dictionary; finds users and items by name; makes the items'
 * vectors. */
#include "recommend/recommender.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/suggestion.h"
#include "furrow/io.h"
#include "furrow/vector.h"
#include "learn/conf/conf.h"
#include "learn/score/scorer.h"
#include "recommend/log_model.h"
#include "rows/encode/encoder.h"

enum { SUGGESTIONS_AMONG = 50000 };

/* ---- Names ---------------------------------------------------------------------------------------------- */

static furrow_status copy_names(fw_entries *names, const furrow_encoder *encoder, furrow_error *err) {
  furrow_encoder_feature feature;
  size_t bytes = 0, at = 0;
  for (uint64_t i = 0; i < names->count; i++) {
    FW_TRY(furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, names->field, i), &feature, err));
    bytes += feature.length + 1;
  }
  FW_TRY(FW_ALLOC(&names->text, bytes, err));
  FW_TRY(FW_ALLOC(&names->offsets, names->count, err));
  for (uint64_t i = 0; i < names->count; i++) {
    FW_TRY(furrow_encoder_get_feature(encoder, furrow_encoder_entry(encoder, names->field, i), &feature, err));
    names->offsets[i] = at;
    memcpy(names->text + at, feature.name, feature.length);
    names->text[at + feature.length] = 0;
    at += feature.length + 1;
  }
  return FURROW_OK;
}

static furrow_status open_names(fw_entries *names, const furrow_encoder *encoder, furrow_side side, const char *what,
                                furrow_error *err) {
  furrow_encoder_field field;
  names->field = furrow_encoder_side_field(encoder, side);
  if (names->field == SIZE_MAX) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "the schema of the model has no column with the role %s", what);
    fw_error_set_hint(err, "train with a schema that says \"role\": \"%s\" of that column", what);
    return FURROW_E_UNSUPPORTED;
  }
  furrow_encoder_get_field(encoder, names->field, &field);
  if (field.entries == 0) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "the column %s of the %ss has no dictionary, so %ss have no names", field.name,
            what, what);
    fw_error_set_hint(err, "leave \"hash\" out of the schema of that column and train again");
    return FURROW_E_UNSUPPORTED;
  }
  names->count = field.entries;
  FW_TRY(fw_strndup(&names->column, field.name, strlen(field.name), err));
  return copy_names(names, encoder, err);
}

static void clear_names(fw_entries *names) {
  fw_free(names->column);
  fw_free(names->text);
  fw_free(names->offsets);
}

static const char *name_of(const fw_entries *names, uint64_t i) {
  return i < names->count ? names->text + names->offsets[i] : NULL;
}

static void suggest_name(const fw_entries *names, const char *name, furrow_error *err) {
  fw_suggestion nearest = {NULL, SIZE_MAX};
  for (uint64_t i = 0; i < names->count && i < SUGGESTIONS_AMONG; i++)
    fw_suggestion_offer(&nearest, name, name_of(names, i));
  if (nearest.word && fw_suggestion_is_near(&nearest, name)) fw_error_set_hint(err, "did you mean %s?", nearest.word);
}

static furrow_status find_name(const furrow_recommender *r, const fw_entries *names, const char *what, const char *name,
                               size_t length, uint64_t *number, furrow_error *err) {
  uint64_t index = 0;
  char *copy = NULL;
  furrow_status status = furrow_encoder_find(r->encoder, names->field, name, length, &index, err);
  if (status == FURROW_OK) *number = furrow_encoder_entry_of(r->encoder, names->field, index);
  if (status == FURROW_OK) return FURROW_OK;
  if (status != FURROW_OK && status != FURROW_E_NOT_FOUND) return status;
  fw_fail(err, FURROW_E_NOT_FOUND, "the model does not know the %s", what);
  fw_error_set_token(err, name, length);
  if (err && length <= 2 * FW_SUGGESTION_LENGTH && fw_strndup(&copy, name, length, NULL) == FURROW_OK)
    suggest_name(names, copy, err);
  fw_free(copy);
  return FURROW_E_NOT_FOUND;
}

uint64_t furrow_recommender_user_count(const furrow_recommender *recommender) {
  return recommender->users.count;
}

uint64_t furrow_recommender_item_count(const furrow_recommender *recommender) {
  return recommender->items.count;
}

const char *furrow_recommender_user_name(const furrow_recommender *recommender, uint64_t user) {
  return name_of(&recommender->users, user);
}

const char *furrow_recommender_item_name(const furrow_recommender *recommender, uint64_t item) {
  return name_of(&recommender->items, item);
}

furrow_status furrow_recommender_find_user(const furrow_recommender *recommender, const char *name, size_t length,
                                           uint64_t *user, furrow_error *err) {
  return find_name(recommender, &recommender->users, "user", name, length, user, err);
}

furrow_status furrow_recommender_find_item(const furrow_recommender *recommender, const char *name, size_t length,
                                           uint64_t *item, furrow_error *err) {
  return find_name(recommender, &recommender->items, "item", name, length, item, err);
}

const furrow_encoder *furrow_recommender_encoder(const furrow_recommender *recommender) {
  return recommender->encoder;
}

const furrow_scorer *furrow_recommender_scorer(const furrow_recommender *recommender) {
  return recommender->scorer;
}

const char *furrow_recommender_item_column(const furrow_recommender *recommender) {
  return recommender->items.column;
}

const char *furrow_recommender_user_column(const furrow_recommender *recommender) {
  return recommender->users.column;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

furrow_status fw_recommender_make_rows(const furrow_recommender *r, furrow_container **rows, furrow_error *err) {
  const bool narrow = furrow_encoder_feature_count(r->encoder) <= UINT32_MAX;
  return furrow_container_create(rows, narrow ? FURROW_KEY_U32 : FURROW_KEY_U64, FURROW_VALUE_F32, err);
}

furrow_status fw_recommender_push_user(const furrow_recommender *r, uint64_t user, furrow_container *rows,
                                       furrow_error *err) {
  return furrow_encoder_push_side(r->encoder, FURROW_SIDE_USER, fw_entry_feature(r, &r->users, user), rows, err);
}

static furrow_status make_item_rows(furrow_recommender *r, furrow_error *err) {
  FW_TRY(fw_recommender_make_rows(r, &r->rows, err));
  for (uint64_t i = 0; i < r->items.count; i++)
    FW_TRY(furrow_encoder_push_side(r->encoder, FURROW_SIDE_ITEM, fw_entry_feature(r, &r->items, i), r->rows, err));
  return furrow_container_get_block(r->rows, &r->block, err);
}

static size_t count_context(const furrow_encoder *encoder) {
  size_t count = 0;
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    count += field.side == FURROW_SIDE_CONTEXT;
  }
  return count;
}

/* ---- Vectors -------------------------------------------------------------------------------------------- */

enum { SCALE_USERS = 256 };

/* Whether the score of the whole graph is the inner product of the vectors. */
static bool is_sum(const furrow_scorer *scorer) {
  const fw_graph *graph = &scorer->plan->graph;
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    const bool input = layer->type == FW_LAYER_INPUT && layer->activation == FW_ACTIVATION_IDENTITY;
    if (!input && layer->type != FW_LAYER_EMBEDDING && layer->type != FW_LAYER_BI_INNER_SUM &&
        layer->type != FW_LAYER_SUM_POOLING && layer->type != FW_LAYER_LOSS)
      return false;
  }
  return true;
}

static bool has_cross(const furrow_scorer *scorer) {
  const fw_graph *graph = &scorer->plan->graph;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_EMBEDDING) return true;
  return false;
}

static void find_kind(furrow_recommender *r) {
  double weight = 0;
  r->kind = FW_VECTORS_NONE;
  if (r->scorer->forest) return;
  if (furrow_scorer_vector_size(r->scorer, &r->d, NULL) == FURROW_OK) {
    r->kind = is_sum(r->scorer) ? FW_VECTORS_ALL : FW_VECTORS_PART;
  } else if (is_sum(r->scorer) && !has_cross(r->scorer) &&
             furrow_scorer_feature_weights(r->scorer, 0, &weight, NULL, NULL) == FURROW_OK) {
    r->kind = FW_VECTORS_ALL;
    r->linear = true;
    r->d = 1;
  }
}

static furrow_status item_vector(const furrow_recommender *r, const furrow_row *row, float *vector, furrow_error *err) {
  if (!r->linear) return furrow_scorer_item_vector(r->scorer, row, vector, err);
  double sum = 0, weight = 0;
  for (size_t i = 0; i < row->length; i++) {
    FW_TRY(furrow_scorer_feature_weights(r->scorer, furrow_row_get_index(row, i), &weight, NULL, err));
    sum += weight * furrow_row_get_value(row, i);
  }
  *vector = (float)sum;
  return FURROW_OK;
}

furrow_status fw_recommender_query(const furrow_recommender *r, const furrow_row *row, float *vector,
                                   furrow_error *err) {
  if (r->linear)
    *vector = 1;
  else
    FW_TRY(furrow_scorer_query_vector(r->scorer, row, vector, NULL, err));
  if (furrow_first_invalid_vector(vector, 1, r->d) == 0)
    return fw_fail(err, FURROW_E_RANGE, "the vector of a user has numbers that are not finite");
  return FURROW_OK;
}

/* Estimates the typical norm of a user's vector, without its last number. */
static furrow_status find_scale(const furrow_recommender *r, double *scale, furrow_error *err) {
  furrow_container *rows = NULL;
  furrow_rowblock block;
  float *vector = NULL;
  const uint64_t count = r->users.count < SCALE_USERS ? r->users.count : SCALE_USERS;
  double sum = 0;
  furrow_status status = fw_recommender_make_rows(r, &rows, err);
  if (status == FURROW_OK) status = FW_ALLOC(&vector, r->d, err);
  for (uint64_t i = 0; status == FURROW_OK && i < count; i++)
    status = fw_recommender_push_user(r, i * (r->users.count / count), rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  for (uint64_t i = 0; status == FURROW_OK && i < count; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    status = fw_recommender_query(r, &row, vector, err);
    if (status == FURROW_OK) sum += fw_item_product(vector, vector, r->d - 1);
  }
  *scale = count ? sqrt(sum / (double)count) : 1;
  furrow_container_free(rows);
  fw_free(vector);
  return status;
}

/* Finds out which vectors the model has, and makes the items' vectors. */
static furrow_status make_vectors(furrow_recommender *r, furrow_error *err) {
  const size_t n = r->items.count;
  double scale = 1;
  find_kind(r);
  r->method = r->kind == FW_VECTORS_NONE ? FURROW_RECOMMEND_EXACT : FURROW_RECOMMEND_VECTORS;
  if (r->kind == FW_VECTORS_NONE) return FURROW_OK;
  FW_TRY(FW_ALLOC_ROWS(&r->vectors, n, r->d, err));
  for (size_t i = 0; i < n; i++) {
    const furrow_row row = furrow_rowblock_row(&r->block, i);
    FW_TRY(item_vector(r, &row, r->vectors + i * r->d, err));
  }
  const size_t bad = furrow_first_invalid_vector(r->vectors, n, r->d);
  if (bad < n)
    return fw_fail(err, FURROW_E_RANGE, "the vector of the item %s has numbers that are not finite",
                   furrow_recommender_item_name(r, bad));
  FW_TRY(find_scale(r, &scale, err));
  return fw_item_search_create(&r->search, r->vectors, n, r->d, scale, err);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static furrow_status has_schema(const furrow_recommender *r, bool *there, furrow_error *err) {
  fw_buffer path = {0};
  fw_buffer_format(&path, "%s/" FW_SCHEMA_NAME, r->folder);
  fw_buffer_byte(&path, 0);
  const furrow_status status = fw_buffer_status(&path, err);
  if (status == FURROW_OK) *there = fw_path_exists(path.bytes);
  fw_buffer_clear(&path);
  return status;
}

/* Distinguishes a model that never had names from one that lost its dictionary. */
static furrow_status load_encoder(furrow_recommender *r, furrow_error *err) {
  bool schema = false, dictionary = false;
  FW_TRY(has_schema(r, &schema, err));
  FW_TRY(fw_encoder_in_directory(r->folder, &dictionary, err));
  if (schema || dictionary) return furrow_encoder_load(&r->encoder, r->folder, err);
  fw_fail(err, FURROW_E_UNSUPPORTED, "the model was made from rows, not from a raw log: it knows no names");
  fw_error_set_file(err, r->folder);
  fw_error_set_hint(err, "train from the log with a schema (--schema auto)");
  return FURROW_E_UNSUPPORTED;
}

furrow_status fw_recommender_open_names(furrow_recommender *r, furrow_error *err) {
  FW_TRY(open_names(&r->users, r->encoder, FURROW_SIDE_USER, "user", err));
  FW_TRY(open_names(&r->items, r->encoder, FURROW_SIDE_ITEM, "item", err));
  if (r->items.count >= FW_NO_ITEM) return fw_fail(err, FURROW_E_UNSUPPORTED, "the model has too many items");
  return FURROW_OK;
}

static furrow_status load_scorer(furrow_recommender *r, const char *model, unsigned threads, furrow_error *err) {
  furrow_scorer_params scorer;
  furrow_scorer_params_init(&scorer);
  scorer.threads = threads;
  FW_TRY(furrow_scorer_load(&r->scorer, model, &scorer, err));
  FW_TRY(load_encoder(r, err));
  if (furrow_scorer_class_count(r->scorer) != 1)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a model of several classes does not rank items");
  FW_TRY(fw_recommender_open_names(r, err));
  r->context_fields = count_context(r->encoder);
  FW_TRY(fw_stored_ranking_load(&r->ranking, model, err));
  FW_TRY(make_item_rows(r, err));
  return make_vectors(r, err);
}

static furrow_status load_model(furrow_recommender *r, const char *model, const furrow_recommender_params *params,
                                furrow_error *err) {
  bool of_log = false;
  FW_TRY(fw_strndup(&r->folder, model, strlen(model), err));
  FW_TRY(fw_model_is_recommender(model, &of_log, err));
  if (!of_log) return load_scorer(r, model, params->threads, err);
  FW_TRY(load_encoder(r, err));
  FW_TRY(fw_recommender_open_names(r, err));
  r->method = FURROW_RECOMMEND_EXACT;
  return fw_log_model_load(&r->log_model, model, r, params->threads, err);
}

furrow_status furrow_recommender_open(furrow_recommender **recommender, const char *model,
                                      const furrow_recommender_params *params, furrow_error *err) {
  furrow_recommender_params used;
  furrow_recommender *made = NULL;
  furrow_recommender_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommender_params, err));
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  furrow_path_watch *watch = NULL;
  furrow_status status = furrow_path_watch_begin(&watch, model, err);
  if (status == FURROW_OK) status = furrow_path_watch_end(watch, load_model(made, model, &used, err), err);
  return FW_HAND_OVER(status, recommender, made, furrow_recommender_free);
}

void furrow_recommender_free(furrow_recommender *recommender) {
  if (!recommender) return;
  fw_item_index_clear(&recommender->index);
  fw_item_search_free(recommender->search);
  fw_free(recommender->vectors);
  furrow_container_free(recommender->rows);
  clear_names(&recommender->users);
  clear_names(&recommender->items);
  furrow_encoder_free(recommender->encoder);
  furrow_scorer_free(recommender->scorer);
  fw_log_model_free(recommender->log_model);
  fw_free(recommender->by_popularity);
  fw_free(recommender->folder);
  fw_free(recommender);
}
