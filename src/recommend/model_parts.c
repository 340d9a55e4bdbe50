/* recommend/model_parts.c: what vectors a model has, and those of its items and users. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/vector.h"
#include "learn/score/scorer.h"
#include "recommend/recommender.h"

enum { SCALE_USERS = 256 };

/* Whether the graph has nothing but layers whose sum the vectors are. */
static bool is_sum(const furrow_scorer *scorer) {
  const fw_graph *graph = &fw_scorer_plan(scorer)->graph;
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
  const fw_graph *graph = &fw_scorer_plan(scorer)->graph;
  for (size_t i = 0; i < graph->count; i++)
    if (graph->layers[i].type == FW_LAYER_EMBEDDING) return true;
  return false;
}

static void find_kind(furrow_recommender *r) {
  double weight = 0;
  r->kind = FW_VECTORS_NONE;
  if (fw_scorer_forest(r->scorer)) return;
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

/* The usual length of the vectors of users, without the last number. */
static furrow_status find_scale(const furrow_recommender *r, double *scale, furrow_error *err) {
  furrow_container *rows = NULL;
  furrow_rowblock block;
  float *vector = NULL;
  const uint64_t count = r->users.count < SCALE_USERS ? r->users.count : SCALE_USERS;
  double sum = 0;
  furrow_status status = fw_recommender_make_rows(r, &rows, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&vector, r->d, sizeof *vector, err);
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

furrow_status fw_recommender_make_vectors(furrow_recommender *r, furrow_error *err) {
  const size_t n = r->items.count;
  double scale = 1;
  find_kind(r);
  r->method = r->kind == FW_VECTORS_NONE ? FURROW_RECOMMEND_EXACT : FURROW_RECOMMEND_VECTORS;
  if (r->kind == FW_VECTORS_NONE) return FURROW_OK;
  FW_TRY(fw_alloc((void **)&r->vectors, n, r->d * sizeof *r->vectors, err));
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
