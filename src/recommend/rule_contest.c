/* recommend/rule_contest.c: measures how well rules recommend the events that were held out. */
#include "recommend/rule_contest.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"
#include "vector/data/parallel.h"

enum { MOST_USERS = 5000, PART = 32 };

#define REPEATING 0.1 /* share of repeated events from which items are recommended again */

/* ---- Held-out events ------------------------------------------------------------------------------------ */

void fw_contest_clear(fw_contest *c) {
  fw_interactions_clear(&c->earlier);
  fw_interactions_clear(&c->later);
  fw_free(c->users);
  fw_free((void *)c->relevant);
  fw_free(c->relevant_count);
  fw_free(c->relevant_items);
  fw_free(c->ndcg);
  fw_free(c->popular_ndcg);
  fw_free(c->common);
}

static fw_item_set earlier_items(const fw_contest *c, size_t user, uint32_t *scratch) {
  const fw_user_events before = fw_interactions_of(&c->earlier, user);
  return fw_taste_own_items(&before, scratch);
}

static double find_repeats(const fw_contest *c, uint32_t *scratch) {
  uint64_t repeated = 0, count = 0;
  for (size_t u = 0; u < c->later.users; u++) {
    const fw_user_events after = fw_interactions_of(&c->later, u);
    if (after.count == 0) continue;
    const fw_item_set before = earlier_items(c, u, scratch);
    for (size_t i = 0; i < after.count; i++) repeated += fw_item_set_has(&before, after.item[i]);
    count += after.count;
  }
  return count ? (double)repeated / (double)count : 0;
}

/* Copies the user's relevant items; returns their number. */
static size_t list_relevant(const fw_contest *c, size_t user, uint32_t *scratch, uint32_t *items) {
  const fw_user_events after = fw_interactions_of(&c->later, user);
  const fw_item_set before = earlier_items(c, user, scratch);
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < after.count; i++)
    if (c->repeats || !fw_item_set_has(&before, after.item[i])) items[count++] = after.item[i];
  fw_sort_u32(items, count);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || items[i] != items[kept - 1]) items[kept++] = items[i];
  return kept;
}

/* Lists the users with relevant items: all, or MOST_USERS that are spread evenly. */
static furrow_status list_users(fw_contest *c, uint32_t *scratch, furrow_error *err) {
  const size_t users = c->later.users, events = c->later.offset[users];
  size_t candidates = 0, at = 0, seen = 0;
  FW_TRY(FW_ALLOC(&c->users, users, err));
  FW_TRY(FW_ALLOC_ZERO(&c->relevant, users, err));
  FW_TRY(FW_ALLOC_ZERO(&c->relevant_count, users, err));
  FW_TRY(FW_ALLOC(&c->relevant_items, events, err));
  for (size_t u = 0; u < users; u++) candidates += c->later.offset[u + 1] > c->later.offset[u];
  const size_t wanted = candidates < MOST_USERS ? candidates : MOST_USERS;
  for (size_t u = 0; u < users; u++) {
    if (c->later.offset[u + 1] == c->later.offset[u]) continue;
    const bool is_wanted = (seen + 1) * wanted / candidates > seen * wanted / candidates;
    seen++;
    if (!is_wanted) continue;
    const size_t count = list_relevant(c, u, scratch, c->relevant_items + at);
    if (count == 0) continue;
    c->users[c->count] = (uint32_t)u;
    c->relevant[c->count] = c->relevant_items + at;
    c->relevant_count[c->count++] = count;
    at += count;
  }
  FW_TRY(FW_ALLOC_ZERO(&c->ndcg, c->count, err));
  FW_TRY(FW_ALLOC_ZERO(&c->common, c->count, err));
  return FW_ALLOC_ZERO(&c->popular_ndcg, c->count, err);
}

furrow_status fw_contest_hold(fw_contest *c, const fw_interactions *all, furrow_error *err) {
  uint32_t *scratch = NULL;
  furrow_status status = fw_interactions_split(all, &c->earlier, &c->later, err);
  if (status == FURROW_OK) status = FW_ALLOC(&scratch, all->offset[all->users], err);
  if (status == FURROW_OK) {
    c->repeated = find_repeats(c, scratch);
    c->repeats = c->repeated >= REPEATING;
    status = list_users(c, scratch, err);
  }
  fw_free(scratch);
  return status;
}

/* ---- Comparing ------------------------------------------------------------------------------------------ */

typedef struct comparison {
  const fw_contest *c;
  const fw_taste *taste;
  size_t step;
} comparison;

static bool is_relevant(const fw_contest *c, size_t i, uint32_t item) {
  return fw_item_set_has(&(fw_item_set){.items = c->relevant[i], .count = c->relevant_count[i]}, item);
}

/* The share of a list among the k most popular items. */
static double find_common(const fw_taste *taste, const fw_scored *list, size_t count, size_t k) {
  const uint32_t last = taste->by_popularity[(k < taste->items ? k : taste->items) - 1];
  size_t common = 0;
  for (size_t r = 0; r < count; r++) common += !fw_taste_is_more_popular(taste->popularity, last, list[r].item);
  return (double)common / (double)k;
}

static furrow_status rank_user(const comparison *of, size_t i, fw_taste_scratch *scratch, fw_scored *heap, bool *hits,
                               furrow_error *err) {
  const fw_contest *c = of->c;
  const size_t k = c->k;
  const fw_taste_filter filter = {.own = !c->repeats};
  fw_user_events events = fw_interactions_of(&c->earlier, c->users[i]);
  if (c->first > 0 && events.count > c->first) events.count = c->first;
  fw_best best = {.heap = heap, .k = k};
  FW_TRY(fw_taste_find(of->taste, &events, &filter, scratch, &best, err));
  fw_scored_sort(heap, best.count);
  for (size_t r = 0; r < k; r++) hits[r] = r < best.count && is_relevant(c, i, heap[r].item);
  c->ndcg[i] = fw_user_ranking(hits, k, c->relevant_count[i]).ndcg;
  if (c->first > 0) c->common[i] = find_common(of->taste, heap, best.count, k);
  return FURROW_OK;
}

static furrow_status rank_users(void *context, size_t first, size_t count, furrow_error *err) {
  const comparison *of = context;
  fw_taste_scratch scratch;
  fw_scored *heap = NULL;
  bool *hits = NULL;
  furrow_status status = fw_taste_scratch_init(&scratch, of->taste->items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&heap, of->c->k, err);
  if (status == FURROW_OK) status = FW_ALLOC(&hits, of->c->k, err);
  for (size_t i = first; status == FURROW_OK && i < first + count; i++)
    status = rank_user(of, of->c->from + i * of->step, &scratch, heap, hits, err);
  fw_taste_scratch_clear(&scratch);
  fw_free(heap);
  fw_free(hits);
  return status;
}

static size_t count_compared(const fw_contest *c, size_t step) {
  return c->count > c->from ? (c->count - c->from + step - 1) / step : 0;
}

furrow_status fw_contest_compare(fw_contest *c, const fw_taste *taste, size_t step, double *mean, furrow_error *err) {
  const size_t count = count_compared(c, step);
  comparison of = {.c = c, .taste = taste, .step = step};
  double sum = 0;
  FW_TRY(fw_parallel_run(c->pool, count, PART, rank_users, &of, err));
  for (size_t i = c->from; i < c->count; i += step) sum += c->ndcg[i];
  *mean = count ? sum / (double)count : 0;
  c->done++;
  return fw_report_progress(c->progress, c->progress_user, "choosing", c->done, 0, err);
}

double fw_contest_common(const fw_contest *c, size_t step) {
  double sum = 0;
  for (size_t i = c->from; i < c->count; i += step) sum += c->common[i];
  return c->count > c->from ? sum / (double)count_compared(c, step) : 0;
}

fw_candidate fw_contest_against(const fw_contest *c, const double *others) {
  double sum = 0, gain = 0, squares = 0;
  for (size_t i = 0; i < c->count; i++) {
    const double more = c->ndcg[i] - others[i];
    sum += c->ndcg[i];
    gain += more;
    squares += more * more;
  }
  const double n = (double)c->count, mean = gain / n, variance = squares / n - mean * mean;
  return (fw_candidate){
      .there = true, .ndcg = sum / n, .gain = mean, .error = n > 1 ? sqrt((variance > 0 ? variance : 0) / (n - 1)) : 0};
}

fw_candidate fw_contest_candidate(const fw_contest *c) {
  return fw_contest_against(c, c->popular_ndcg);
}
