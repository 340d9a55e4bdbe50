/* recommend/evaluate.c: compares recommendations with the items that users really chose: NDCG, recall, MAP, MRR. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "recommend/events.h"
#include "recommend/log_model.h"
#include "recommend/recommender.h"

enum { USERS_AT_ONCE = 8192 };

/* ---- Metrics of one user, and their means --------------------------------------------------------------- */

fw_user_figures fw_user_ranking(const bool *hits, size_t k, size_t relevant) {
  const size_t most = relevant < k ? relevant : k;
  double gain = 0, ideal = 0, precision = 0;
  size_t found = 0, first = 0;
  for (size_t i = 0; i < most; i++) ideal += 1 / log2((double)i + 2);
  for (size_t i = 0; i < k; i++) {
    if (!hits[i]) continue;
    if (found++ == 0) first = i + 1;
    gain += 1 / log2((double)i + 2);
    precision += (double)found / (double)(i + 1);
  }
  return (fw_user_figures){.ndcg = gain / ideal,
                           .recall = (double)found / (double)most,
                           .map = precision / (double)most,
                           .mrr = first ? 1 / (double)first : 0,
                           .hit = first ? 1 : 0};
}

void fw_user_ranking_add(fw_user_ranking_sum *sum, const fw_user_figures *user) {
  sum->users++;
#define ADD(figure) sum->sum.figure += user->figure, sum->squares.figure += user->figure * user->figure
  ADD(ndcg);
  ADD(recall);
  ADD(map);
  ADD(mrr);
  ADD(hit);
#undef ADD
}

/* The interval is 1.96 standard errors of the mean. */
static furrow_rank_figure figure_of(double sum, double squares, size_t users) {
  const double n = (double)users, mean = sum / n, rest = squares - sum * mean;
  return (furrow_rank_figure){.mean = users ? mean : NAN,
                              .interval = users > 1 ? 1.96 * sqrt((rest > 0 ? rest : 0) / (n - 1) / n) : NAN};
}

void fw_user_ranking_means(const fw_user_ranking_sum *sum, furrow_rank_figures *figures) {
#define MEAN(figure) figures->figure = figure_of(sum->sum.figure, sum->squares.figure, sum->users)
  MEAN(ndcg);
  MEAN(recall);
  MEAN(map);
  MEAN(mrr);
  MEAN(hit);
#undef MEAN
  figures->users = sum->users;
}

/* Sums over users of the NDCG of simpler recommendations, and of how much more the model's is. */
typedef struct baseline {
  double sum, squares, gain, gain_squares;
} baseline;

static void add_to_baseline(baseline *to, double ndcg, double model) {
  to->sum += ndcg;
  to->squares += ndcg * ndcg;
  to->gain += model - ndcg;
  to->gain_squares += (model - ndcg) * (model - ndcg);
}

/* The standard error of a mean. */
static double error_of(double sum, double squares, double n) {
  const double mean = sum / n, variance = squares / n - mean * mean;
  return n > 1 ? sqrt((variance > 0 ? variance : 0) / (n - 1)) : NAN;
}

static void baseline_means(const baseline *of, size_t users, furrow_rank_figure *ndcg, double *gain,
                           double *gain_error) {
  const double n = (double)users;
  *ndcg = (furrow_rank_figure){.mean = of->sum / n, .interval = 1.96 * error_of(of->sum, of->squares, n)};
  *gain = of->gain / n;
  *gain_error = error_of(of->gain, of->gain_squares, n);
}

typedef struct evaluation {
  const furrow_recommender *r;
  const furrow_events *truth;
  const furrow_recommend_params *params;
  furrow_recommendation *results; /* k for each of USERS_AT_ONCE users */
  bool *hits;                     /* k, for one user: whether the result is relevant */
  uint8_t *shown;                 /* for each item: 1 if it was recommended to a user */
  fw_user_ranking_sum sum;
  baseline popular, own;
  uint32_t *own_items; /* own items of one user */
  size_t own_capacity;
  fw_taste_scratch scratch; /* for own history */
  fw_scored *heap;
  uint64_t relevant, unknown;
  furrow_progress progress; /* the caller's callback */
  void *progress_user;
  uint64_t done, total;
} evaluation;

/* Items that are neither recommended to the user nor relevant. */
typedef struct left_out {
  fw_item_set seen, own;
} left_out;

static furrow_status find_left_out(evaluation *e, uint64_t user, left_out *out, furrow_error *err) {
  out->seen = e->params->seen ? fw_events_of(e->params->seen, user) : (fw_item_set){0};
  return fw_own_items(e->r, user, e->params, &e->own_items, &e->own_capacity, &out->own, err);
}

static bool is_left_out(const left_out *out, uint32_t item) {
  return fw_item_set_has(&out->seen, item) || fw_item_set_has(&out->own, item);
}

/* Counts the user's relevant items that the model knows. */
static size_t count_relevant(const evaluation *e, uint64_t user, const left_out *out) {
  const fw_item_set chosen = fw_events_of(e->truth, user);
  size_t count = 0;
  for (size_t i = 0; i < chosen.count; i++) count += !is_left_out(out, chosen.items[i]);
  return count;
}

/* The NDCG of the most popular items. Items are numbered by falling frequency. */
static double popular_ndcg(const evaluation *e, const fw_item_set *chosen, const left_out *out, size_t relevant) {
  size_t at = 0;
  for (uint32_t i = 0; i < e->r->items.count && at < e->params->k; i++) {
    const uint32_t item = e->r->by_popularity ? e->r->by_popularity[i] : i;
    if ((!e->params->allowed || e->params->allowed[item]) && !is_left_out(out, item))
      e->hits[at++] = fw_item_set_has(chosen, item);
  }
  while (at < e->params->k) e->hits[at++] = false;
  return fw_user_ranking(e->hits, e->params->k, relevant).ndcg;
}

/* Whether the user's own history is recommended for comparison. */
static bool has_own(const evaluation *e) {
  return e->r->log_model && e->r->log_model->made.rule.repeats;
}

static furrow_status own_ndcg(evaluation *e, uint64_t user, const fw_item_set *chosen, const left_out *out,
                              size_t relevant, double *ndcg, furrow_error *err) {
  const fw_user_events events = fw_interactions_of(&e->r->log_model->events, user);
  const fw_taste_filter filter = {.allowed = e->params->allowed, .seen = out->seen};
  fw_taste taste = fw_made_taste_view(&e->r->log_model->made);
  fw_best best = {.heap = e->heap, .k = e->params->k};
  taste.rule = (fw_taste_rule){.own = 1, .repeats = true};
  taste.weights = NULL;
  taste.groups = NULL;
  FW_TRY(fw_taste_find(&taste, &events, &filter, &e->scratch, &best, err));
  fw_scored_sort(best.heap, best.count);
  for (size_t i = 0; i < e->params->k; i++) e->hits[i] = i < best.count && fw_item_set_has(chosen, best.heap[i].item);
  *ndcg = fw_user_ranking(e->hits, e->params->k, relevant).ndcg;
  return FURROW_OK;
}

static furrow_status count_user(evaluation *e, uint64_t user, const furrow_recommendation *results, furrow_error *err) {
  const fw_item_set chosen = fw_events_of(e->truth, user);
  left_out out;
  FW_TRY(find_left_out(e, user, &out, err));
  const uint64_t unknown = fw_events_unknown(e->truth, user), relevant = count_relevant(e, user, &out) + unknown;
  for (size_t i = 0; i < e->params->k; i++) {
    const bool there = results[i].item != FURROW_NO_ITEM;
    e->hits[i] = there && fw_item_set_has(&chosen, (uint32_t)results[i].item);
    if (there) e->shown[results[i].item] = 1;
  }
  const fw_user_figures figures = fw_user_ranking(e->hits, e->params->k, relevant);
  fw_user_ranking_add(&e->sum, &figures);
  add_to_baseline(&e->popular, popular_ndcg(e, &chosen, &out, relevant), figures.ndcg);
  if (has_own(e)) {
    double own = 0;
    FW_TRY(own_ndcg(e, user, &chosen, &out, relevant, &own, err));
    add_to_baseline(&e->own, own, figures.ndcg);
  }
  e->relevant += relevant;
  e->unknown += unknown;
  return FURROW_OK;
}

static bool report_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
  const evaluation *e = user;
  (void)total;
  return e->progress(e->progress_user, phase, e->done + done, e->total);
}

/* Leaves out users without a relevant item: they saw all items of the truth before. */
static furrow_status choose_users(evaluation *e, uint64_t **users, size_t *count, furrow_error *err) {
  size_t all = 0, kept = 0;
  FW_TRY(fw_events_users(e->truth, users, &all, err));
  for (size_t i = 0; i < all; i++) {
    const uint64_t user = (*users)[i];
    left_out out;
    FW_TRY(find_left_out(e, user, &out, err));
    if (count_relevant(e, user, &out) + fw_events_unknown(e->truth, user) > 0) (*users)[kept++] = user;
  }
  *count = kept;
  return kept > 0 ? FURROW_OK : fw_fail(err, FURROW_E_ARGUMENT, "no user that the model knows has a relevant item");
}

static furrow_status evaluate_users(evaluation *e, const uint64_t *users, size_t count, furrow_error *err) {
  furrow_recommend_params params = *e->params;
  e->total = count;
  if (e->progress) params.progress = report_progress;
  params.progress_user = e;
  for (e->done = 0; e->done < count; e->done += USERS_AT_ONCE) {
    const size_t n = count - e->done < USERS_AT_ONCE ? count - e->done : USERS_AT_ONCE;
    FW_TRY(furrow_recommender_recommend(e->r, users + e->done, n, &params, e->results, err));
    for (size_t i = 0; i < n; i++) FW_TRY(count_user(e, users[e->done + i], e->results + i * params.k, err));
  }
  return FURROW_OK;
}

static double coverage_of(const evaluation *e) {
  uint64_t allowed = 0, shown = 0;
  for (uint64_t i = 0; i < e->r->items.count; i++) {
    allowed += !e->params->allowed || e->params->allowed[i];
    shown += e->shown[i];
  }
  return allowed ? (double)shown / (double)allowed : 0;
}

static furrow_status alloc_buffers(evaluation *e, size_t count, furrow_error *err) {
  const size_t users = count < USERS_AT_ONCE ? count : USERS_AT_ONCE;
  size_t results = 0;
  if (!fw_size_mul(users, e->params->k, &results)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(FW_ALLOC(&e->results, results, err));
  FW_TRY(FW_ALLOC(&e->hits, e->params->k, err));
  FW_TRY(FW_ALLOC(&e->heap, e->params->k, err));
  if (has_own(e)) FW_TRY(fw_taste_scratch_init(&e->scratch, e->r->items.count, err));
  return FW_ALLOC_ZERO(&e->shown, e->r->items.count, err);
}

furrow_status furrow_recommender_evaluate(const furrow_recommender *recommender, const furrow_events *truth,
                                          const furrow_recommend_params *params, furrow_rank_figures *figures,
                                          furrow_error *err) {
  furrow_recommend_params used;
  furrow_recommend_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_recommend_params, err));
  if (used.k == 0) return fw_fail(err, FURROW_E_ARGUMENT, "k is 0, but must be positive");
  evaluation e = {.r = recommender,
                  .truth = truth,
                  .params = &used,
                  .progress = used.progress,
                  .progress_user = used.progress_user};
  uint64_t *users = NULL;
  size_t count = 0;
  furrow_status status = choose_users(&e, &users, &count, err);
  if (status == FURROW_OK) status = alloc_buffers(&e, count, err);
  if (status == FURROW_OK) status = evaluate_users(&e, users, count, err);
  if (status == FURROW_OK) {
    furrow_rank_figures full;
    furrow_rank_figures_init(&full);
    fw_user_ranking_means(&e.sum, &full);
    full.k = used.k;
    full.relevant = e.relevant;
    full.unknown = e.unknown;
    full.coverage = coverage_of(&e);
    full.own_ndcg = (furrow_rank_figure){NAN, NAN};
    full.own_gain = full.own_gain_error = NAN;
    baseline_means(&e.popular, e.sum.users, &full.popular_ndcg, &full.popular_gain, &full.popular_gain_error);
    if (has_own(&e)) baseline_means(&e.own, e.sum.users, &full.own_ndcg, &full.own_gain, &full.own_gain_error);
    fw_info_write(figures, &full, sizeof full);
  }
  fw_free(users);
  fw_free(e.results);
  fw_free(e.hits);
  fw_free(e.heap);
  fw_free(e.own_items);
  fw_taste_scratch_clear(&e.scratch);
  fw_free(e.shown);
  return status;
}
