/* recommend/method.c: chooses between the exact search and the index.
 *
 * The exact search is used if comparing all vectors takes only a moment. Otherwise a sample of users shows how many
 * vectors the exact search compares and how many lists the index must probe to reach the requested recall. The lower
 * estimated cost wins. Nothing is timed, so the selection and the results are the same every time. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "recommend/log_model.h"

enum { SAMPLE = 256, LEAST_ITEMS = 1000 };

#define A_MOMENT 2e9 /* nanoseconds of one thread */

/* A sample of the model's users, evenly spaced: their vectors and best items. */
typedef struct sample {
  float *queries;
  fw_scored *truth;
  size_t count, k;
  double share; /* share of the vectors that the exact search compares */
} sample;

static furrow_status sample_queries(const furrow_recommender *r, sample *s, furrow_error *err) {
  furrow_container *rows = NULL;
  furrow_rowblock block;
  furrow_status status = fw_recommender_make_rows(r, &rows, err);
  for (uint64_t i = 0; status == FURROW_OK && i < s->count; i++)
    status = fw_recommender_push_user(r, i * (r->users.count / s->count), rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  for (size_t i = 0; status == FURROW_OK && i < s->count; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    status = fw_recommender_query(r, &row, s->queries + i * r->d, err);
  }
  furrow_container_free(rows);
  return status;
}

static furrow_status take_sample(const furrow_recommender *r, sample *s, size_t k, furrow_error *err) {
  uint64_t compared = 0;
  s->count = r->users.count < SAMPLE ? r->users.count : SAMPLE;
  s->k = k < r->items.count ? k : r->items.count;
  FW_TRY(FW_ALLOC_ROWS(&s->queries, s->count, r->d, err));
  FW_TRY(FW_ALLOC_ROWS(&s->truth, s->count, s->k, err));
  FW_TRY(sample_queries(r, s, err));
  for (size_t first = 0; first < s->count; first += FW_SEARCH_USERS) {
    const fw_item_query query = {.queries = s->queries + first * r->d,
                                 .count = s->count - first < FW_SEARCH_USERS ? s->count - first : FW_SEARCH_USERS,
                                 .k = s->k};
    FW_TRY(fw_item_search_run(r->search, &query, s->truth + first * s->k, &compared, err));
  }
  s->share = (double)compared / ((double)s->count * (double)r->items.count);
  return FURROW_OK;
}

static void clear_sample(sample *s) {
  fw_free(s->queries);
  fw_free(s->truth);
}

static furrow_status make_index(furrow_recommender *r, const sample *s, const furrow_prepare_params *params,
                                furrow_error *err) {
  if (!r->index.index)
    FW_TRY(fw_item_index_open(&r->index, r->folder, r->vectors, r->items.count, r->d, params->threads, err));
  return fw_item_index_tune(&r->index, s->queries, s->count, s->truth, s->k, params->recall, params->threads, err);
}

/* Compares the costs, and keeps the index only if it is cheaper. */
static furrow_status choose_method(furrow_recommender *r, const sample *s, const furrow_prepare_params *params,
                                   furrow_error *err) {
  const double exact = s->share * (double)r->items.count * fw_item_pair_cost(r->d);
  const double users = (double)(params->users ? params->users : r->users.count);
  r->method = FURROW_RECOMMEND_VECTORS;
  const bool asked = params->method == FURROW_RECOMMEND_INDEX;
  if (!asked && users * exact < 2 * A_MOMENT) return FURROW_OK;
  FW_TRY(make_index(r, s, params, err));
  if (asked || (r->index.recall >= params->recall && r->index.cost < 0.7 * exact)) {
    r->method = FURROW_RECOMMEND_INDEX;
    r->sample = s->count;
    if (params->keep) fw_item_index_keep(&r->index, r->folder);
  } else {
    fw_item_index_clear(&r->index);
  }
  return FURROW_OK;
}

static furrow_status prepare_vectors(furrow_recommender *r, const furrow_prepare_params *params, size_t k,
                                     furrow_error *err) {
  const double users = (double)(params->users ? params->users : r->users.count);
  const bool little = users * (double)r->items.count * fw_item_pair_cost(r->d) < A_MOMENT;
  r->method = FURROW_RECOMMEND_VECTORS;
  if (params->method == FURROW_RECOMMEND_VECTORS || r->items.count < LEAST_ITEMS || r->d < 2) return FURROW_OK;
  if (params->method == FURROW_RECOMMEND_AUTO && little) return FURROW_OK;
  sample s = {0};
  furrow_status status = take_sample(r, &s, k, err);
  if (status == FURROW_OK) status = choose_method(r, &s, params, err);
  clear_sample(&s);
  return status;
}

static furrow_status check_prepare_params(const furrow_recommender *r, const furrow_prepare_params *params,
                                          furrow_error *err) {
  const bool vectors = params->method == FURROW_RECOMMEND_VECTORS || params->method == FURROW_RECOMMEND_INDEX;
  if (params->k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  if (!(params->recall > 0 && params->recall <= 1))
    return fw_fail(err, FURROW_E_ARGUMENT, "recall is %g, but must be above 0 and at most 1", params->recall);
  if (params->method > FURROW_RECOMMEND_INDEX) return fw_fail(err, FURROW_E_ARGUMENT, "there is no such method");
  if (vectors && r->kind == FW_VECTORS_NONE)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the model has no vectors of items: it scores all items for each user");
  return FURROW_OK;
}

furrow_status furrow_recommender_prepare(furrow_recommender *recommender, const furrow_prepare_params *params,
                                         furrow_error *err) {
  furrow_prepare_params used;
  furrow_prepare_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_prepare_params, err));
  FW_TRY(check_prepare_params(recommender, &used, err));
  const bool all = used.method == FURROW_RECOMMEND_EXACT && recommender->kind == FW_VECTORS_PART;
  if (all || recommender->kind == FW_VECTORS_NONE) {
    recommender->method = FURROW_RECOMMEND_EXACT;
    return FURROW_OK;
  }
  if (used.method == FURROW_RECOMMEND_EXACT) used.method = FURROW_RECOMMEND_VECTORS;
  return prepare_vectors(recommender, &used, fw_recommender_wanted(recommender, used.k, used.candidates), err);
}

/* Returns NaN for several classes, and for models with sampled negatives: these are not a class of the log. */
static double positive_label(const furrow_scorer *scorer) {
  const char *negatives = furrow_learn_conf_get(furrow_scorer_conf(scorer), "negatives");
  if (furrow_scorer_class_count(scorer) > 1 || (negatives && strcmp(negatives, "0") != 0)) return NAN;
  return furrow_scorer_class_label(scorer, 1);
}

void furrow_recommender_get_info(const furrow_recommender *recommender, furrow_recommender_info *info) {
  const fw_item_index *index = &recommender->index;
  furrow_recommender_info full;
  furrow_recommender_info_init(&full);
  full.method = recommender->method;
  full.rescored = recommender->kind == FW_VECTORS_PART && recommender->method != FURROW_RECOMMEND_EXACT;
  full.vector_size = recommender->d;
  full.context_fields = recommender->context_fields;
  full.positive = recommender->log_model ? recommender->log_model->positive : positive_label(recommender->scorer);
  if (recommender->method == FURROW_RECOMMEND_INDEX) {
    full.nlist = index->nlist;
    full.m = index->m;
    full.nprobe = index->nprobe;
    full.fetch = index->fetch;
    full.recall = index->recall;
    full.sample = recommender->sample;
    full.built = index->built;
    full.kept = index->kept;
  }
  fw_info_write(info, &full, sizeof full);
}
