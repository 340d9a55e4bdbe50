/* recommend/recommend.c: the best items of known users.
 *
 * The users are split into parts. A thread builds the rows and vectors of a part's users, finds candidates by exact
 * search or with the index, and scores rows of user, context and item with the model: all items if the model has no
 * vectors, otherwise the candidates. The candidates depend on the part only, not on the threads. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "recommend/events.h"
#include "recommend/log_model.h"
#include "recommend/recommender.h"
#include "vector/data/parallel.h"

enum { ROWS_AT_ONCE = 512, PARTS_PER_THREAD = 16, LEAST_CANDIDATES = 500 };

/* ---- Rows of a user, an item and a context -------------------------------------------------------------- */

/* Scratch of one thread; may be zero-initialized. */
typedef struct row_joiner {
  uint64_t *fields, *indices;
  float *values;
  size_t capacity;
} row_joiner;

static furrow_status reserve_features(row_joiner *joiner, size_t count, furrow_error *err) {
  if (count <= joiner->capacity) return FURROW_OK;
  FW_TRY(FW_REALLOC(&joiner->fields, count, err));
  FW_TRY(FW_REALLOC(&joiner->indices, count, err));
  FW_TRY(FW_REALLOC(&joiner->values, count, err));
  joiner->capacity = count;
  return FURROW_OK;
}

/* Inserts a feature after all features whose field is not larger. The parts are sorted, so few features have to
 * move. */
static void insert_feature(row_joiner *joiner, size_t count, uint64_t field, uint64_t index, float value) {
  size_t at = count;
  for (; at > 0 && joiner->fields[at - 1] > field; at--) {
    joiner->fields[at] = joiner->fields[at - 1];
    joiner->indices[at] = joiner->indices[at - 1];
    joiner->values[at] = joiner->values[at - 1];
  }
  joiner->fields[at] = field;
  joiner->indices[at] = index;
  joiner->values[at] = value;
}

static furrow_status push_joined(const row_joiner *joiner, size_t length, furrow_container *rows, furrow_error *err) {
  const furrow_row row = {.length = length,
                          .field.u64 = joiner->fields,
                          .index.u64 = joiner->indices,
                          .value.f32 = joiner->values,
                          .key_type = FURROW_KEY_U64,
                          .value_type = FURROW_VALUE_F32};
  return furrow_container_push_row(rows, &row, err);
}

/* Appends the features of all parts as one row without a label, sorted by field like a row of the log. */
static furrow_status joiner_push(row_joiner *joiner, const furrow_row *parts, size_t count, furrow_container *rows,
                                 furrow_error *err) {
  size_t all = 0, length = 0;
  for (size_t p = 0; p < count; p++) all += parts[p].length;
  FW_TRY(reserve_features(joiner, all, err));
  for (size_t p = 0; p < count; p++)
    for (size_t i = 0; i < parts[p].length; i++)
      insert_feature(joiner, length++, furrow_row_get_field(&parts[p], i), furrow_row_get_index(&parts[p], i),
                     (float)furrow_row_get_value(&parts[p], i));
  return push_joined(joiner, all, rows, err);
}

static void joiner_clear(row_joiner *joiner) {
  fw_free(joiner->fields);
  fw_free(joiner->indices);
  fw_free(joiner->values);
  *joiner = (row_joiner){0};
}

/* ---- Context -------------------------------------------------------------------------------------------- */

/* Whether the field is derived from this column alone: it has the column's name or is a part of it ("time.hour"). */
static bool is_of_column(const char *field, const char *column) {
  const size_t length = strlen(column);
  return strncmp(field, column, length) == 0 && (field[length] == 0 || (field[length] == '.' && !strstr(field, " x ")));
}

static bool is_context(const furrow_encoder *encoder, uint64_t field, const char *column) {
  furrow_encoder_field about;
  if (field >= furrow_encoder_field_count(encoder)) return false;
  furrow_encoder_get_field(encoder, field, &about);
  return about.side == FURROW_SIDE_CONTEXT && is_of_column(about.name, column);
}

static furrow_status check_column(const furrow_encoder *encoder, const char *column, furrow_error *err) {
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++)
    if (is_context(encoder, i, column)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT,
          "not a column of the context: the model has no context feature that is derived from it");
  fw_error_set_token(err, column, strlen(column));
  return FURROW_E_ARGUMENT;
}

static bool is_given(const furrow_encoder *encoder, uint64_t field, const furrow_pair *pairs, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (is_context(encoder, field, pairs[i].column)) return true;
  return false;
}

static furrow_status copy_given(const furrow_encoder *encoder, const furrow_row *event, const furrow_pair *pairs,
                                size_t count, row_joiner *joiner, furrow_container *rows, furrow_error *err) {
  size_t length = 0;
  FW_TRY(reserve_features(joiner, event->length, err));
  for (size_t i = 0; i < event->length; i++)
    if (is_given(encoder, furrow_row_get_field(event, i), pairs, count))
      insert_feature(joiner, length++, furrow_row_get_field(event, i), furrow_row_get_index(event, i),
                     (float)furrow_row_get_value(event, i));
  return push_joined(joiner, length, rows, err);
}

/* Makes a row of the features that an event with these cells has. Fails with E_ARGUMENT if a column does not belong to
 * the context. */
static furrow_status make_context(const furrow_recommender *r, const furrow_pair *pairs, size_t count,
                                  furrow_container **rows, furrow_rowblock *block, furrow_error *err) {
  furrow_container *event = NULL;
  furrow_rowblock events;
  row_joiner joiner = {0};
  for (size_t i = 0; i < count; i++) FW_TRY(check_column(r->encoder, pairs[i].column, err));
  furrow_status status = fw_recommender_make_rows(r, &event, err);
  if (status == FURROW_OK) status = fw_recommender_make_rows(r, rows, err);
  if (status == FURROW_OK) status = furrow_encoder_push_event(r->encoder, pairs, count, event, err);
  if (status == FURROW_OK) status = furrow_container_get_block(event, &events, err);
  if (status == FURROW_OK) {
    const furrow_row row = furrow_rowblock_row(&events, 0);
    status = copy_given(r->encoder, &row, pairs, count, &joiner, *rows, err);
  }
  if (status == FURROW_OK) status = furrow_container_get_block(*rows, block, err);
  joiner_clear(&joiner);
  furrow_container_free(event);
  return status;
}

/* ---- Workers -------------------------------------------------------------------------------------------- */

/* Scratch of one thread. */
typedef struct worker {
  struct worker *next;
  furrow_scorer_scratch *scratch;
  furrow_container *users, *rows;
  row_joiner joiner;
  float *queries;
  fw_item_set *seen;
  fw_scored *found;     /* `wanted` candidates for each user of a part */
  furrow_score *scores; /* scores of ROWS_AT_ONCE rows */
  uint32_t *items;      /* items of the rows that are not scored yet */
} worker;

typedef struct job {
  const furrow_recommender *r;
  const furrow_recommend_params *params;
  const uint64_t *users;
  furrow_recommendation *results;
  furrow_container *context; /* one row, or NULL */
  furrow_rowblock context_block;
  size_t wanted; /* candidates per user that the model scores */
  pthread_mutex_t lock;
  worker *idle;
} job;

static void free_worker(worker *w) {
  if (!w) return;
  furrow_scorer_scratch_free(w->scratch);
  furrow_container_free(w->users);
  furrow_container_free(w->rows);
  joiner_clear(&w->joiner);
  fw_free(w->queries);
  fw_free(w->seen);
  fw_free(w->found);
  fw_free(w->scores);
  fw_free(w->items);
  fw_free(w);
}

static furrow_status fill_worker(worker *w, const job *j, furrow_error *err) {
  FW_TRY(furrow_scorer_scratch_create(&w->scratch, j->r->scorer, err));
  FW_TRY(fw_recommender_make_rows(j->r, &w->users, err));
  FW_TRY(fw_recommender_make_rows(j->r, &w->rows, err));
  FW_TRY(FW_ALLOC_ROWS(&w->queries, FW_SEARCH_USERS, j->r->d + 1, err));
  FW_TRY(FW_ALLOC_ZERO(&w->seen, FW_SEARCH_USERS, err));
  FW_TRY(FW_ALLOC_ROWS(&w->found, FW_SEARCH_USERS, j->wanted, err));
  FW_TRY(FW_ALLOC(&w->scores, ROWS_AT_ONCE, err));
  return FW_ALLOC(&w->items, ROWS_AT_ONCE, err);
}

static furrow_status take_worker(job *j, worker **taken, furrow_error *err) {
  pthread_mutex_lock(&j->lock);
  worker *w = j->idle;
  if (w) j->idle = w->next;
  pthread_mutex_unlock(&j->lock);
  furrow_status status = FURROW_OK;
  if (!w) {
    status = FW_ALLOC_ZERO(&w, 1, err);
    if (status == FURROW_OK) status = fill_worker(w, j, err);
  }
  return FW_HAND_OVER(status, taken, w, free_worker);
}

static void give_worker(job *j, worker *w) {
  pthread_mutex_lock(&j->lock);
  w->next = j->idle;
  j->idle = w;
  pthread_mutex_unlock(&j->lock);
}

/* ---- A part of the users -------------------------------------------------------------------------------- */

static furrow_status make_users(const job *j, worker *w, size_t first, size_t count, furrow_rowblock *block,
                                furrow_error *err) {
  furrow_container_clear(w->rows);
  furrow_container_clear(w->users);
  for (size_t i = 0; i < count; i++) FW_TRY(fw_recommender_push_user(j->r, j->users[first + i], w->rows, err));
  FW_TRY(furrow_container_get_block(w->rows, block, err));
  for (size_t i = 0; i < count; i++) {
    furrow_row parts[2] = {furrow_rowblock_row(block, i)};
    if (j->context) parts[1] = furrow_rowblock_row(&j->context_block, 0);
    FW_TRY(joiner_push(&w->joiner, parts, j->context ? 2 : 1, w->users, err));
    w->seen[i] = j->params->seen ? fw_events_of(j->params->seen, j->users[first + i]) : (fw_item_set){0};
  }
  furrow_container_clear(w->rows);
  return furrow_container_get_block(w->users, block, err);
}

/* Scores the pending rows and offers their items. */
static furrow_status score_rows(const job *j, worker *w, fw_best *best, furrow_error *err) {
  furrow_rowblock block;
  if (furrow_container_size(w->rows) == 0) return FURROW_OK;
  FW_TRY(furrow_container_get_block(w->rows, &block, err));
  FW_TRY(furrow_scorer_score_block(j->r->scorer, w->scratch, &block, w->scores, err));
  for (size_t i = 0; i < block.size; i++) {
    if (!isfinite(w->scores[i].pred))
      return fw_fail(err, FURROW_E_RANGE, "the score of the item %s is not finite",
                     furrow_recommender_item_name(j->r, w->items[i]));
    fw_best_offer(best, w->scores[i].pred, w->items[i]);
  }
  furrow_container_clear(w->rows);
  return FURROW_OK;
}

static furrow_status score_item(const job *j, worker *w, const furrow_row *user, uint32_t item, fw_best *best,
                                furrow_error *err) {
  const furrow_row parts[2] = {*user, furrow_rowblock_row(&j->r->block, item)};
  const size_t at = furrow_container_size(w->rows);
  w->items[at] = item;
  FW_TRY(joiner_push(&w->joiner, parts, 2, w->rows, err));
  return at + 1 == ROWS_AT_ONCE ? score_rows(j, w, best, err) : FURROW_OK;
}

static bool is_wanted(const job *j, const fw_item_set *seen, uint32_t item) {
  return (!j->params->allowed || j->params->allowed[item]) && !fw_item_set_has(seen, item);
}

/* Scores all items with the model. */
static furrow_status score_all(const job *j, worker *w, const furrow_row *user, const fw_item_set *seen, fw_best *best,
                               furrow_error *err) {
  for (uint32_t item = 0; item < j->r->items.count; item++)
    if (is_wanted(j, seen, item)) FW_TRY(score_item(j, w, user, item, best, err));
  return score_rows(j, w, best, err);
}

/* Scores the candidates with the model. */
static furrow_status score_found(const job *j, worker *w, const furrow_row *user, const fw_scored *found, fw_best *best,
                                 furrow_error *err) {
  for (size_t i = 0; i < j->wanted && found[i].item != FW_NO_ITEM; i++)
    FW_TRY(score_item(j, w, user, found[i].item, best, err));
  return score_rows(j, w, best, err);
}

/* Repeats the search exactly for users for whom the index found too few items. */
static furrow_status complete_candidates(const job *j, worker *w, const fw_item_query *query, furrow_error *err) {
  for (size_t i = 0; i < query->count; i++) {
    fw_scored *found = w->found + i * query->k;
    if (query->k == 0 || found[query->k - 1].item != FW_NO_ITEM) continue;
    uint64_t compared = 0;
    fw_item_query one = *query;
    one.queries += i * j->r->d;
    one.seen += i;
    one.count = 1;
    FW_TRY(fw_item_search_run(j->r->search, &one, found, &compared, err));
  }
  return FURROW_OK;
}

static furrow_status find_items(const job *j, worker *w, const furrow_rowblock *users, furrow_error *err) {
  uint64_t compared = 0;
  const fw_item_query query = {
      .queries = w->queries, .count = users->size, .k = j->wanted, .allowed = j->params->allowed, .seen = w->seen};
  for (size_t i = 0; i < users->size; i++) {
    const furrow_row row = furrow_rowblock_row(users, i);
    FW_TRY(fw_recommender_query(j->r, &row, w->queries + i * j->r->d, err));
  }
  /* the recall of the index was measured without a filter of items */
  if (j->r->method != FURROW_RECOMMEND_INDEX || j->params->allowed)
    return fw_item_search_run(j->r->search, &query, w->found, &compared, err);
  FW_TRY(fw_item_index_run(&j->r->index, &query, w->found, err));
  return complete_candidates(j, w, &query, err);
}

void fw_best_write(fw_best *best, furrow_recommendation *results) {
  fw_scored_sort(best->heap, best->count);
  for (size_t i = 0; i < best->k; i++) {
    const bool there = i < best->count;
    results[i].item = there ? best->heap[i].item : FURROW_NO_ITEM;
    results[i].score = there ? best->heap[i].score : -INFINITY;
  }
}

static furrow_status run_users(job *j, worker *w, size_t first, size_t count, fw_scored *heap, furrow_error *err) {
  const bool all = j->r->method == FURROW_RECOMMEND_EXACT;
  const size_t k = j->params->k;
  furrow_rowblock users;
  FW_TRY(make_users(j, w, first, count, &users, err));
  if (!all) FW_TRY(find_items(j, w, &users, err));
  for (size_t i = 0; i < count; i++) {
    fw_best best = {.heap = heap, .k = k};
    const furrow_row user = furrow_rowblock_row(&users, i);
    FW_TRY(all ? score_all(j, w, &user, &w->seen[i], &best, err)
               : score_found(j, w, &user, w->found + i * j->wanted, &best, err));
    fw_best_write(&best, j->results + (first + i) * k);
  }
  return FURROW_OK;
}

static furrow_status run_part(void *context, size_t first, size_t count, furrow_error *err) {
  job *j = context;
  worker *w = NULL;
  fw_scored *heap = NULL;
  furrow_status status = take_worker(j, &w, err);
  if (status != FURROW_OK) return status;
  status = FW_ALLOC(&heap, j->params->k, err);
  if (status == FURROW_OK) status = run_users(j, w, first, count, heap, err);
  fw_free(heap);
  if (status == FURROW_OK)
    give_worker(j, w);
  else
    free_worker(w);
  return status;
}

/* ---- All users ------------------------------------------------------------------------------------------ */

typedef struct step {
  job *job;
  size_t first;
} step;

static furrow_status run_step_part(void *context, size_t first, size_t count, furrow_error *err) {
  const step *s = context;
  return run_part(s->job, s->first + first, count, err);
}

/* Runs in steps and reports the progress after each. */
static furrow_status run_steps(job *j, fw_pool *pool, size_t count, furrow_error *err) {
  const size_t threads = pool ? fw_pool_threads(pool) + 1 : 1;
  /* few users are spread over all threads; for many users large parts are faster */
  const size_t even = (count + threads - 1) / threads, part = even < FW_SEARCH_USERS ? even : FW_SEARCH_USERS;
  const size_t size = part * threads * PARTS_PER_THREAD;
  for (size_t first = 0; first < count; first += size) {
    step s = {.job = j, .first = first};
    const size_t n = count - first < size ? count - first : size;
    FW_TRY(fw_parallel_run(pool, n, part, run_step_part, &s, err));
    FW_TRY(fw_report_progress(j->params->progress, j->params->progress_user, "recommending", first + n, count, err));
  }
  return FURROW_OK;
}

size_t fw_recommender_wanted(const furrow_recommender *r, size_t k, size_t candidates) {
  size_t wanted = k;
  if (r->kind == FW_VECTORS_PART) {
    const size_t least = 10 * k > LEAST_CANDIDATES ? 10 * k : LEAST_CANDIDATES;
    wanted = candidates ? candidates : least;
    if (wanted < k) wanted = k;
  }
  return wanted < r->items.count ? wanted : r->items.count;
}

static furrow_status check_recommend_params(const furrow_recommender *r, const uint64_t *users, size_t count,
                                            const furrow_recommend_params *params, furrow_error *err) {
  if (params->k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  if (params->k > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "k is too large");
  for (size_t i = 0; i < count; i++)
    if (users[i] >= r->users.count)
      return fw_fail(err, FURROW_E_RANGE, "there is no user %llu, the model has %llu", (unsigned long long)users[i],
                     (unsigned long long)r->users.count);
  return FURROW_OK;
}

furrow_status furrow_recommender_recommend(const furrow_recommender *recommender, const uint64_t *users, size_t count,
                                           const furrow_recommend_params *params, furrow_recommendation *results,
                                           furrow_error *err) {
  furrow_recommend_params used;
  furrow_recommend_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommend_params, err));
  FW_TRY(check_recommend_params(recommender, users, count, &used, err));
  if (recommender->log_model)
    return fw_events_recommend(recommender, &recommender->log_model->events, users, count, &used, results, err);
  job j = {.r = recommender,
           .params = &used,
           .users = users,
           .results = results,
           .wanted = fw_recommender_wanted(recommender, used.k, used.candidates)};
  fw_pool *pool = NULL;
  pthread_mutex_init(&j.lock, NULL);
  furrow_status status = FURROW_OK;
  if (used.context_count > 0)
    status = make_context(recommender, used.context, used.context_count, &j.context, &j.context_block, err);
  if (status == FURROW_OK && count > 1) status = fw_parallel_start(&pool, used.threads, err);
  if (status == FURROW_OK) status = run_steps(&j, pool, count, err);
  fw_pool_free(pool);
  for (worker *next; j.idle; j.idle = next) {
    next = j.idle->next;
    free_worker(j.idle);
  }
  furrow_container_free(j.context);
  pthread_mutex_destroy(&j.lock);
  return status;
}

/* ---- Similar items -------------------------------------------------------------------------------------- */

static double length_of(const furrow_recommender *r, uint64_t item) {
  const float *x = r->vectors + item * r->d;
  return sqrt(fw_item_product(x, x, r->d - 1));
}

static void offer_similar(const furrow_recommender *r, uint64_t item, const uint8_t *allowed, fw_best *best) {
  const double length = length_of(r, item);
  for (uint32_t i = 0; i < r->items.count; i++) {
    const double other = length_of(r, i);
    if (i == item || other == 0 || (allowed && !allowed[i])) continue;
    fw_best_offer(best, fw_item_product(r->vectors + item * r->d, r->vectors + i * r->d, r->d - 1) / (length * other),
                  i);
  }
}

furrow_status furrow_recommender_similar(const furrow_recommender *recommender, uint64_t item,
                                         const furrow_recommend_params *params, furrow_recommendation *results,
                                         furrow_error *err) {
  furrow_recommend_params used;
  fw_best best = {0};
  furrow_recommend_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommend_params, err));
  FW_TRY(check_recommend_params(recommender, NULL, 0, &used, err));
  if (item >= recommender->items.count) return fw_fail(err, FURROW_E_RANGE, "there is no such item");
  if (recommender->log_model) return fw_events_similar(recommender, item, &used, results, err);
  if (recommender->d < 2)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "items are compared by their vectors, which this model does not have");
  if (length_of(recommender, item) == 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the vector of the item %s is 0: nothing is similar to it",
                   furrow_recommender_item_name(recommender, item));
  best.k = used.k;
  FW_TRY(FW_ALLOC(&best.heap, used.k, err));
  offer_similar(recommender, item, used.allowed, &best);
  fw_best_write(&best, results);
  fw_free(best.heap);
  return FURROW_OK;
}
