/* cli/demo/demo_quality.c: baselines that the demo compares models with: the true probabilities, the most popular
 * items. */
#include "demo/demo_quality.h"

#include <math.h>
#include <stdlib.h>

#include "base/sort.h"
#include "core/fail.h"

/* ---- The truth ---- */

typedef struct outcome {
  double chance;
  bool click;
} outcome;

static int by_chance(const void *a, const void *b) {
  const double x = ((const outcome *)a)->chance, y = ((const outcome *)b)->chance;
  return x < y ? -1 : x > y;
}

/* AUC: the share of pairs of a clicked and an unclicked row that are in order; ties count half. The rows are sorted. */
static double auc_of(const outcome *rows, size_t count) {
  double pairs = 0, clicks = 0, others = 0;
  for (size_t i = 0, end; i < count; i = end) {
    double tied_clicks = 0, tied_others = 0;
    for (end = i; end < count && rows[end].chance == rows[i].chance; end++)
      *(rows[end].click ? &tied_clicks : &tied_others) += 1;
    pairs += tied_clicks * (others + tied_others / 2);
    clicks += tied_clicks;
    others += tied_others;
  }
  return pairs / (clicks * others);
}

furrow_status demo_score_truth(const demo_world *world, const demo_log *read, demo_truth *truth, furrow_error *err) {
  double loss = 0, clicks = 0;
  outcome *rows = calloc(read->count + 1, sizeof *rows);
  if (!rows) return fail_memory(err);
  for (size_t i = 0; i < read->count; i++) {
    rows[i] = (outcome){demo_chance(world, &read->events[i]), read->events[i].click};
    loss -= log(rows[i].click ? rows[i].chance : 1 - rows[i].chance);
    clicks += rows[i].click;
  }
  const double n = (double)read->count, rate = clicks / n;
  qsort(rows, read->count, sizeof *rows, by_chance);
  *truth = (demo_truth){.rows = read->count,
                        .logloss = loss / n,
                        .auc = auc_of(rows, read->count),
                        .click_rate = rate,
                        .rate_logloss = -(rate * log(rate) + (1 - rate) * log(1 - rate))};
  free(rows);
  return FURROW_OK;
}

/* ---- The most popular items ---- */

/* Pairs of a user and an item, sorted, each once. */
typedef struct pair_list {
  uint64_t *pairs;
  size_t count;
} pair_list;

static furrow_status take_pairs(pair_list *list, const demo_log *log, bool clicks, furrow_error *err) {
  size_t count = 0;
  list->pairs = calloc(log->count + 1, sizeof *list->pairs);
  if (!list->pairs) return fail_memory(err);
  for (size_t i = 0; i < log->count; i++)
    if (!clicks || log->events[i].click)
      list->pairs[count++] = (uint64_t)log->events[i].user << 32 | log->events[i].item;
  qsort(list->pairs, count, sizeof *list->pairs, fw_compare_u64);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || list->pairs[i] != list->pairs[i - 1]) list->pairs[list->count++] = list->pairs[i];
  return FURROW_OK;
}

static bool has_pair(const pair_list *list, uint64_t user, uint32_t item) {
  const uint64_t pair = user << 32 | item;
  return bsearch(&pair, list->pairs, list->count, sizeof pair, fw_compare_u64) != NULL;
}

/* The items by their clicks, most first. */
static furrow_status order_items(const demo_world *world, const demo_log *train, uint64_t **order, furrow_error *err) {
  const uint32_t items = world->size.items;
  uint64_t *keys = calloc(items, sizeof *keys);
  if (!keys) return fail_memory(err);
  for (uint32_t i = 0; i < items; i++) keys[i] = (uint64_t)UINT32_MAX << 32 | i;
  for (size_t i = 0; i < train->count; i++)
    if (train->events[i].click) keys[train->events[i].item] -= (uint64_t)1 << 32;
  qsort(keys, items, sizeof *keys, fw_compare_u64);
  *order = keys;
  return FURROW_OK;
}

/* NDCG@10 of a user with `relevant` relevant items. */
static double popular_ndcg(const uint64_t *order, uint32_t items, const pair_list *seen, const pair_list *clicked,
                           uint64_t user, size_t relevant) {
  double gain = 0, most = 0;
  for (uint32_t i = 0, position = 1; i < items && position <= DEMO_NEAR; i++) {
    const uint32_t item = (uint32_t)order[i];
    if (has_pair(seen, user, item)) continue;
    if (has_pair(clicked, user, item)) gain += 1 / log2(position + 1);
    position++;
  }
  for (size_t position = 1; position <= DEMO_NEAR && position <= relevant; position++)
    most += 1 / log2((double)position + 1);
  return gain / most;
}

static double mean_ndcg(const uint64_t *order, uint32_t items, const pair_list *seen, const pair_list *clicked) {
  double sum = 0, users = 0;
  for (size_t i = 0, end; i < clicked->count; i = end) {
    const uint64_t user = clicked->pairs[i] >> 32;
    size_t relevant = 0;
    for (end = i; end < clicked->count && clicked->pairs[end] >> 32 == user; end++)
      relevant += !has_pair(seen, user, (uint32_t)clicked->pairs[end]);
    if (relevant == 0) continue;
    sum += popular_ndcg(order, items, seen, clicked, user, relevant);
    users++;
  }
  return users > 0 ? sum / users : NAN;
}

furrow_status demo_score_popular(const demo_world *world, const demo_log *train, const demo_log *test, double *ndcg,
                                 furrow_error *err) {
  pair_list seen = {0}, clicked = {0};
  uint64_t *order = NULL;
  furrow_status status = take_pairs(&seen, train, false, err);
  if (status == FURROW_OK) status = take_pairs(&clicked, test, true, err);
  if (status == FURROW_OK) status = order_items(world, train, &order, err);
  if (status == FURROW_OK) *ndcg = mean_ndcg(order, world->size.items, &seen, &clicked);
  free(seen.pairs);
  free(clicked.pairs);
  free(order);
  return status;
}

/* ---- Rankings of models ---- */

static furrow_status load_events(furrow_events **events, const furrow_recommender *recommender, const char *path,
                                 double from, uint32_t threads, furrow_error *err) {
  furrow_events_params params;
  furrow_events_params_init(&params);
  params.from = from;
  params.threads = threads;
  return furrow_events_load(events, recommender, path, &params, err);
}

static furrow_status evaluate(demo_ranking *ranking, furrow_recommender *recommender, const furrow_events *seen,
                              const furrow_events *truth, uint32_t threads, furrow_error *err) {
  furrow_recommend_params params;
  furrow_rank_figures figures;
  furrow_recommend_params_init(&params);
  furrow_rank_figures_init(&figures);
  params.k = DEMO_NEAR;
  params.seen = seen;
  params.threads = threads;
  const furrow_status status = furrow_recommender_evaluate(recommender, truth, &params, &figures, err);
  *ranking = (demo_ranking){.users = figures.users,
                            .ndcg = figures.ndcg.mean,
                            .interval = figures.ndcg.interval,
                            .recall = figures.recall.mean,
                            .hit = figures.hit.mean,
                            .coverage = figures.coverage};
  return status;
}

furrow_status demo_score_ranking(demo_ranking *ranking, const char *model, uint32_t threads, furrow_error *err) {
  furrow_recommender_params params;
  furrow_recommender *recommender = NULL;
  furrow_events *seen = NULL, *truth = NULL;
  furrow_recommender_params_init(&params);
  params.threads = threads;
  furrow_status status = furrow_recommender_open(&recommender, model, &params, err);
  if (status == FURROW_OK) status = load_events(&seen, recommender, "train.csv", -HUGE_VAL, threads, err);
  if (status == FURROW_OK) status = load_events(&truth, recommender, "test.csv", 1, threads, err);
  if (status == FURROW_OK) status = evaluate(ranking, recommender, seen, truth, threads, err);
  furrow_events_free(truth);
  furrow_events_free(seen);
  furrow_recommender_free(recommender);
  return status;
}
