/* recommend/recommend_events.c: recommends from the events of users, with a recommender of a log. */
#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "recommend/events.h"
#include "recommend/log_model.h"
#include "vector/data/parallel.h"

enum { PART = 64, STEP = 16384 };

typedef struct job {
  const furrow_recommender *r;
  const furrow_recommend_params *params;
  const fw_interactions *events;
  const uint64_t *users; /* NULL: 0, 1, … */
  furrow_recommendation *results;
  fw_taste taste;
} job;

static furrow_status check_context(const furrow_recommend_params *params, furrow_error *err) {
  if (params->context_count == 0) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "a recommender of a log does not use a context");
}

static bool leaves_out_own(const furrow_recommender *r, const furrow_recommend_params *params) {
  return r->log_model && !r->log_model->made.rule.repeats && !params->include_seen;
}

furrow_status fw_own_items(const furrow_recommender *r, uint64_t user, const furrow_recommend_params *params,
                           uint32_t **items, size_t *capacity, fw_item_set *own, furrow_error *err) {
  *own = (fw_item_set){0};
  if (!leaves_out_own(r, params)) return FURROW_OK;
  const fw_user_events events = fw_interactions_of(&r->log_model->events, user);
  FW_TRY(FW_GROW(items, capacity, events.count, err));
  *own = fw_taste_own_items(&events, *items);
  return FURROW_OK;
}

static furrow_status recommend_part(void *context, size_t first, size_t count, furrow_error *err) {
  const job *j = context;
  fw_taste_scratch scratch;
  fw_scored *heap = NULL;
  furrow_status status = fw_taste_scratch_init(&scratch, j->taste.items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&heap, j->params->k, err);
  for (size_t i = first; status == FURROW_OK && i < first + count; i++) {
    const uint64_t user = j->users ? j->users[i] : i;
    const fw_user_events events = fw_interactions_of(j->events, user);
    const fw_taste_filter filter = {.allowed = j->params->allowed,
                                    .seen = j->params->seen ? fw_events_of(j->params->seen, user) : (fw_item_set){0},
                                    .own = leaves_out_own(j->r, j->params)};
    fw_best best = {.heap = heap, .k = j->params->k};
    status = fw_taste_find(&j->taste, &events, &filter, &scratch, &best, err);
    fw_best_write(&best, j->results + i * j->params->k);
  }
  fw_taste_scratch_clear(&scratch);
  fw_free(heap);
  return status;
}

typedef struct step {
  job *job;
  size_t first;
} step;

static furrow_status recommend_step(void *context, size_t first, size_t count, furrow_error *err) {
  const step *s = context;
  return recommend_part(s->job, s->first + first, count, err);
}

furrow_status fw_events_recommend(const furrow_recommender *r, const fw_interactions *events, const uint64_t *users,
                                  size_t count, const furrow_recommend_params *params, furrow_recommendation *results,
                                  furrow_error *err) {
  job j = {.r = r,
           .params = params,
           .events = events,
           .users = users,
           .results = results,
           .taste = fw_made_taste_view(&r->log_model->made)};
  fw_pool *pool = NULL;
  FW_TRY(check_context(params, err));
  furrow_status status = count > PART ? fw_parallel_start(&pool, params->threads, err) : FURROW_OK;
  for (size_t first = 0; status == FURROW_OK && first < count; first += STEP) {
    step s = {.job = &j, .first = first};
    const size_t n = count - first < STEP ? count - first : STEP;
    status = fw_parallel_run(pool, n, PART, recommend_step, &s, err);
    if (status == FURROW_OK)
      status = fw_report_progress(params->progress, params->progress_user, "recommending", first + n, count, err);
  }
  fw_pool_free(pool);
  return status;
}

/* Offers the items that the weights of `item` lead to. */
static void find_by_weights(const fw_sparse_rows *weights, uint64_t item, const uint8_t *allowed, fw_best *best) {
  for (size_t i = weights->offset[item]; i < weights->offset[item + 1]; i++) {
    const uint32_t other = weights->column[i];
    if (!allowed || allowed[other]) fw_best_offer(best, (double)weights->value[i], other);
  }
}

/* Offers other items by the cosine of their vectors. */
static void find_by_vectors(const fw_factors *f, uint64_t item, const uint8_t *allowed, fw_best *best) {
  const float *mine = f->vectors + item * f->size;
  const double length = fw_factors_product(f, mine, mine);
  for (uint32_t i = 0; i < f->items; i++) {
    const float *other = f->vectors + i * f->size;
    const double squared = fw_factors_product(f, other, other);
    if (i == item || squared == 0 || (allowed && !allowed[i])) continue;
    fw_best_offer(best, fw_factors_product(f, mine, other) / sqrt(length * squared), i);
  }
}

static bool is_compared(const fw_taste *taste, uint64_t item) {
  if (taste->weights) return taste->weights->offset[item] < taste->weights->offset[item + 1];
  const float *vector = taste->factors->vectors + item * taste->factors->size;
  return fw_factors_product(taste->factors, vector, vector) > 0;
}

furrow_status fw_events_similar(const furrow_recommender *r, uint64_t item, const furrow_recommend_params *params,
                                furrow_recommendation *results, furrow_error *err) {
  const fw_taste taste = fw_made_taste_view(&r->log_model->made);
  fw_best best = {.k = params->k};
  if (!taste.weights && !taste.factors)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "the recommender does not compare items: recommending without that was better (see the candidates "
                   "in `furrow info`)");
  if (!is_compared(&taste, item))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "no item is similar to %s: too few users took it",
                   furrow_recommender_item_name(r, item));
  FW_TRY(FW_ALLOC(&best.heap, params->k, err));
  if (taste.weights)
    find_by_weights(taste.weights, item, params->allowed, &best);
  else
    find_by_vectors(taste.factors, item, params->allowed, &best);
  fw_best_write(&best, results);
  fw_free(best.heap);
  return FURROW_OK;
}

/* ---- Reasons -------------------------------------------------------------------------------------------- */

/* Adds the parts of events with the same item. */
static void join_parts(const fw_user_events *events, double *parts) {
  for (size_t i = 0; i < events->count; i++)
    for (size_t j = 0; j < i; j++)
      if (events->item[j] == events->item[i]) {
        parts[j] += parts[i];
        parts[i] = 0;
        break;
      }
}

static furrow_status list_reasons(const fw_taste *taste, const fw_user_events *events, uint32_t item,
                                  furrow_recommend_reason *reasons, size_t count, size_t *found, furrow_error *err) {
  fw_best best = {.k = count};
  fw_taste_scratch scratch;
  double *parts = NULL;
  furrow_status status = fw_taste_scratch_init(&scratch, taste->items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&parts, events->count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&best.heap, count, err);
  if (status == FURROW_OK) status = fw_taste_explain(taste, events, item, &scratch, parts, err);
  if (status == FURROW_OK) {
    join_parts(events, parts);
    for (size_t i = 0; count > 0 && i < events->count; i++)
      if (parts[i] > 0) fw_best_offer(&best, parts[i], events->item[i]);
    fw_scored_sort(best.heap, best.count);
    for (size_t i = 0; i < best.count; i++)
      reasons[i] = (furrow_recommend_reason){.item = best.heap[i].item, .part = best.heap[i].score};
    *found = best.count;
  }
  fw_taste_scratch_clear(&scratch);
  fw_free(parts);
  fw_free(best.heap);
  return status;
}

furrow_status fw_events_explain(const furrow_recommender *r, const fw_interactions *events, uint64_t user,
                                uint64_t item, furrow_recommend_reason *reasons, size_t count, size_t *found,
                                furrow_error *err) {
  if (!r->log_model)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "only a recommender of a log says which items speak for another");
  if (user >= events->users || item >= r->items.count)
    return fw_fail(err, FURROW_E_RANGE, "there is no such user or item");
  const fw_taste taste = fw_made_taste_view(&r->log_model->made);
  const fw_user_events of_user = fw_interactions_of(events, user);
  return list_reasons(&taste, &of_user, (uint32_t)item, reasons, count, found, err);
}

furrow_status furrow_recommender_explain(const furrow_recommender *recommender, uint64_t user, uint64_t item,
                                         furrow_recommend_reason *reasons, size_t count, size_t *found,
                                         furrow_error *err) {
  const fw_interactions none = {0};
  const fw_interactions *events = recommender->log_model ? &recommender->log_model->events : &none;
  return fw_events_explain(recommender, events, user, item, reasons, count, found, err);
}
