/* recommend/selection.c: compares rules by the events that were held out. */
#include "recommend/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/data/parallel.h"

enum { MOST_USERS = 5000, PART = 32, FEW_NEIGHBOURS = 50, ROUNDS = 2 };

#define REPEATING 0.1 /* share of repeated events from which items are recommended again */

static const double strengths[] = {5, 20, 60, 200, 600};
enum { STRENGTHS = sizeof strengths / sizeof *strengths };

const char *fw_candidate_name(fw_candidate_kind kind) {
  static const char *const names[FW_CANDIDATES] = {"popular", "own-history", "item-item", "item-item-recent",
                                                   "item-item-features"};
  return names[kind];
}

/* ---- Held-out events ------------------------------------------------------------------------------------ */

/* The users that are compared. */
typedef struct contest {
  const fw_selection_params *params;
  fw_interactions earlier, later;
  bool repeats;
  uint32_t *users;
  size_t count;
  uint32_t **relevant; /* of each of these users: sorted, each item once */
  size_t *relevant_count;
  uint32_t *relevant_items;
  double *ndcg, *popular_ndcg; /* of each of these users */
  uint64_t done;               /* comparisons */
} contest;

static void clear_contest(contest *c) {
  fw_interactions_clear(&c->earlier);
  fw_interactions_clear(&c->later);
  fw_free(c->users);
  fw_free((void *)c->relevant);
  fw_free(c->relevant_count);
  fw_free(c->relevant_items);
  fw_free(c->ndcg);
  fw_free(c->popular_ndcg);
}

static int compare_items(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

/* Copies the items of the user's earlier events and sorts them. */
static fw_item_set sort_earlier(const contest *c, size_t user, uint32_t *scratch) {
  const fw_user_events before = fw_interactions_of(&c->earlier, user);
  for (size_t i = 0; i < before.count; i++) scratch[i] = before.item[i];
  if (before.count > 1) qsort(scratch, before.count, sizeof *scratch, compare_items);
  return (fw_item_set){.items = scratch, .count = before.count};
}

static double find_repeats(const contest *c, uint32_t *scratch) {
  uint64_t repeated = 0, count = 0;
  for (size_t u = 0; u < c->later.users; u++) {
    const fw_user_events after = fw_interactions_of(&c->later, u);
    if (after.count == 0) continue;
    const fw_item_set before = sort_earlier(c, u, scratch);
    for (size_t i = 0; i < after.count; i++) repeated += fw_item_set_has(&before, after.item[i]);
    count += after.count;
  }
  return count ? (double)repeated / (double)count : 0;
}

/* Copies the user's relevant items; returns their number. */
static size_t list_relevant(const contest *c, size_t user, uint32_t *scratch, uint32_t *items) {
  const fw_user_events after = fw_interactions_of(&c->later, user);
  const fw_item_set before = sort_earlier(c, user, scratch);
  size_t count = 0, kept = 0;
  for (size_t i = 0; i < after.count; i++)
    if (c->repeats || !fw_item_set_has(&before, after.item[i])) items[count++] = after.item[i];
  if (count > 1) qsort(items, count, sizeof *items, compare_items);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || items[i] != items[kept - 1]) items[kept++] = items[i];
  return kept;
}

/* Lists the users with relevant items: all, or MOST_USERS that are spread evenly. */
static furrow_status list_users(contest *c, uint32_t *scratch, furrow_error *err) {
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
  return FW_ALLOC_ZERO(&c->popular_ndcg, c->count, err);
}

/* ---- Comparing ------------------------------------------------------------------------------------------ */

typedef struct comparison {
  const contest *c;
  const fw_taste *taste;
} comparison;

static bool is_relevant(const contest *c, size_t i, uint32_t item) {
  return fw_item_set_has(&(fw_item_set){.items = c->relevant[i], .count = c->relevant_count[i]}, item);
}

static void rank_user(const comparison *of, size_t i, fw_taste_scratch *scratch, fw_scored *heap, bool *hits) {
  const contest *c = of->c;
  const size_t k = c->params->k;
  const fw_user_events events = fw_interactions_of(&c->earlier, c->users[i]);
  const fw_taste_filter filter = {.own = !c->repeats};
  fw_best best = {.heap = heap, .k = k};
  fw_taste_find(of->taste, &events, &filter, scratch, &best);
  fw_scored_sort(heap, best.count);
  for (size_t r = 0; r < k; r++) hits[r] = r < best.count && is_relevant(c, i, heap[r].item);
  c->ndcg[i] = fw_user_ranking(hits, k, c->relevant_count[i]).ndcg;
}

static furrow_status rank_users(void *context, size_t first, size_t count, furrow_error *err) {
  const comparison *of = context;
  fw_taste_scratch scratch;
  fw_scored *heap = NULL;
  bool *hits = NULL;
  furrow_status status = fw_taste_scratch_init(&scratch, of->taste->items, err);
  if (status == FURROW_OK) status = FW_ALLOC(&heap, of->c->params->k, err);
  if (status == FURROW_OK) status = FW_ALLOC(&hits, of->c->params->k, err);
  for (size_t i = first; status == FURROW_OK && i < first + count; i++) rank_user(of, i, &scratch, heap, hits);
  fw_taste_scratch_clear(&scratch);
  fw_free(heap);
  fw_free(hits);
  return status;
}

/* Fills c->ndcg and returns its mean. */
static furrow_status compare(contest *c, const fw_taste *taste, double *mean, furrow_error *err) {
  comparison of = {.c = c, .taste = taste};
  double sum = 0;
  FW_TRY(fw_parallel_run(c->params->means.pool, c->count, PART, rank_users, &of, err));
  for (size_t i = 0; i < c->count; i++) sum += c->ndcg[i];
  *mean = c->count ? sum / (double)c->count : 0;
  c->done++;
  return fw_report_progress(c->params->progress, c->params->progress_user, "choosing", c->done, 0, err);
}

/* The figures of the rule whose NDCG are in c->ndcg. */
static fw_candidate candidate_of(const contest *c) {
  double sum = 0, gain = 0, squares = 0;
  for (size_t i = 0; i < c->count; i++) {
    const double more = c->ndcg[i] - c->popular_ndcg[i];
    sum += c->ndcg[i];
    gain += more;
    squares += more * more;
  }
  const double n = (double)c->count, mean = gain / n, variance = squares / n - mean * mean;
  return (fw_candidate){
      .there = true, .ndcg = sum / n, .gain = mean, .error = n > 1 ? sqrt((variance > 0 ? variance : 0) / (n - 1)) : 0};
}

/* ---- Candidates ----------------------------------------------------------------------------------------- */

/* The best rule so far, and what it is made of. */
typedef struct search {
  contest *c;
  fw_rule_selection *selection;
  fw_made_taste made; /* of the best recipe so far */
  double best;
} search;

/* Tries the rule with what the best recipe is made of; keeps it if it is better. */
static furrow_status try_rule(search *s, const fw_taste_rule *rule, furrow_error *err) {
  fw_taste taste = fw_made_taste_view(&s->made);
  double mean = 0;
  taste.rule = *rule;
  FW_TRY(compare(s->c, &taste, &mean, err));
  if (mean <= s->best) return FURROW_OK;
  s->best = mean;
  s->made.rule = s->selection->recipe.rule = *rule;
  return FURROW_OK;
}

/* One setting of a rule and the values that are tried. */
typedef struct axis {
  size_t offset;
  double values[9];
  size_t count;
} axis;

#define AXIS(field, ...) \
  { offsetof(fw_taste_rule, field), {__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double) }

static const axis recency_axes[] = {AXIS(recency, 0, 1, 2, 3, 5, 8, 15, 30, 60), AXIS(always, 0, .05, .1, .2, .4, .8)};
static const axis rating_axes[] = {AXIS(rating, 0, .15, .3, .5)};
static const axis popular_axes[] = {AXIS(popular, 0, .0003, .001, .003, .01, .03)};
static const axis own_axes[] = {AXIS(own, 0, .1, .3, 1, 3, 10), AXIS(own_recency, 0, 3, 10, 30, 100),
                                AXIS(own_always, 0, .03, .1, .3)};

static furrow_status try_axes(search *s, const axis *axes, size_t count, furrow_error *err) {
  for (size_t a = 0; a < count; a++)
    for (size_t i = 0; i < axes[a].count; i++) {
      fw_taste_rule rule = s->selection->recipe.rule;
      double *setting = (double *)((char *)&rule + axes[a].offset);
      if (*setting == axes[a].values[i]) continue;
      *setting = axes[a].values[i];
      FW_TRY(try_rule(s, &rule, err));
    }
  return FURROW_OK;
}

#define TRY_AXES(s, axes, err) try_axes(s, axes, sizeof(axes) / sizeof *(axes), err)

static furrow_status tune_rule(search *s, furrow_error *err) {
  const fw_interactions *events = &s->c->earlier;
  for (int round = 0; round < ROUNDS; round++) {
    const double before = s->best;
    if (s->c->repeats) FW_TRY(TRY_AXES(s, own_axes, err));
    if (events->timed && s->selection->recipe.weights) FW_TRY(TRY_AXES(s, recency_axes, err));
    if (events->rated && s->selection->recipe.weights) FW_TRY(TRY_AXES(s, rating_axes, err));
    FW_TRY(TRY_AXES(s, popular_axes, err));
    if (s->best == before) break;
  }
  return FURROW_OK;
}

/* Makes what another recipe needs and compares it; keeps both if it is better. */
static furrow_status try_recipe(search *s, const fw_recipe *recipe, furrow_error *err) {
  fw_made_taste made = {0};
  double mean = 0;
  furrow_status status = fw_recipe_make(recipe, &s->c->earlier, &s->c->params->means, &made, err);
  const fw_taste taste = fw_made_taste_view(&made);
  if (status == FURROW_OK) status = compare(s->c, &taste, &mean, err);
  if (status == FURROW_OK && mean > s->best) {
    const fw_made_taste worse = s->made;
    s->best = mean;
    s->selection->recipe = *recipe;
    s->made = made;
    made = worse;
  }
  fw_made_taste_clear(&made);
  return status;
}

/* The most popular items, of all time or of late. */
static furrow_status try_popular(search *s, furrow_error *err) {
  static const double trends[] = {0, .5, .2, .07, .02};
  for (size_t i = 0; i < (s->c->earlier.timed ? sizeof trends / sizeof *trends : 1); i++) {
    const fw_recipe recipe = {
        .trend = trends[i], .rule = {.popular = 1, .repeats = s->c->repeats}, .neighbours = FEW_NEIGHBOURS};
    FW_TRY(try_recipe(s, &recipe, err));
    /* the candidate that others are compared with is the most popular items of all time */
    if (i == 0) memcpy(s->c->popular_ndcg, s->c->ndcg, s->c->count * sizeof *s->c->ndcg);
    if (i == 0) s->selection->candidates[FW_CANDIDATE_POPULAR] = candidate_of(s->c);
  }
  return FURROW_OK;
}

static furrow_status finish_candidate(search *s, fw_candidate_kind kind, furrow_error *err) {
  const fw_taste taste = fw_made_taste_view(&s->made);
  double mean = 0;
  FW_TRY(compare(s->c, &taste, &mean, err));
  s->selection->candidates[kind] = candidate_of(s->c);
  s->selection->chosen = kind;
  return FURROW_OK;
}

static furrow_status try_own(search *s, furrow_error *err) {
  if (!s->c->repeats) return FURROW_OK;
  fw_taste taste = fw_made_taste_view(&s->made);
  double mean = 0;
  taste.rule = (fw_taste_rule){.own = 1, .repeats = true};
  FW_TRY(compare(s->c, &taste, &mean, err));
  s->selection->candidates[FW_CANDIDATE_OWN] = candidate_of(s->c);
  if (mean > s->best) {
    s->best = mean;
    s->made.rule = s->selection->recipe.rule = taste.rule;
    s->selection->chosen = FW_CANDIDATE_OWN;
  }
  return FURROW_OK;
}

/* Compares the weights of all strengths under two rules; the best recipe with weights goes to *best. */
static furrow_status try_strengths(search *s, fw_recipe *best, double *best_mean, furrow_error *err) {
  fw_sparse_rows weights[STRENGTHS] = {{0}};
  fw_taste_rule rules[2] = {{.repeats = s->c->repeats, .own = s->c->repeats ? 1 : 0},
                            {.recency = 5, .always = .1, .repeats = s->c->repeats, .own = s->c->repeats ? 1 : 0}};
  double plain = 0, mean = 0;
  *best_mean = -1;
  furrow_status status =
      fw_recipe_solve(best, &s->c->earlier, &s->c->params->means, strengths, STRENGTHS, weights, err);
  for (size_t i = 0; status == FURROW_OK && i < STRENGTHS; i++)
    for (size_t r = 0; status == FURROW_OK && r < (s->c->earlier.timed ? 2 : 1); r++) {
      fw_taste taste = fw_made_taste_view(&s->made);
      taste.weights = &weights[i];
      taste.rule = rules[r];
      status = compare(s->c, &taste, &mean, err);
      if (status == FURROW_OK && r == 0 && mean > plain) {
        plain = mean;
        s->selection->candidates[FW_CANDIDATE_ITEMS] = candidate_of(s->c);
      }
      if (status != FURROW_OK || mean <= *best_mean) continue;
      *best_mean = mean;
      best->l2 = strengths[i];
      best->rule = rules[r];
    }
  for (size_t i = 0; i < STRENGTHS; i++) fw_sparse_rows_clear(&weights[i]);
  return status;
}

static furrow_status try_items(search *s, furrow_error *err) {
  fw_recipe recipe = {.weights = true, .trend = s->selection->recipe.trend, .neighbours = FEW_NEIGHBOURS};
  double mean = 0;
  FW_TRY(try_strengths(s, &recipe, &mean, err));
  /* the search goes on from the weights, even if popular items are still ahead of the rule that it starts with */
  const fw_rule_selection before = *s->selection;
  const double popular = s->best;
  fw_made_taste simple = s->made;
  s->made = (fw_made_taste){0};
  s->best = -1;
  furrow_status status = try_recipe(s, &recipe, err);
  if (status == FURROW_OK) status = tune_rule(s, err);
  static const double orders[] = {.5, 1};
  for (size_t i = 0; status == FURROW_OK && s->c->earlier.timed && i < sizeof orders / sizeof *orders; i++) {
    fw_recipe ordered = s->selection->recipe;
    ordered.order = orders[i];
    status = try_recipe(s, &ordered, err);
  }
  for (size_t i = 0; status == FURROW_OK && i < STRENGTHS; i++) {
    fw_recipe other = s->selection->recipe;
    if (other.l2 == strengths[i]) continue;
    other.l2 = strengths[i];
    status = try_recipe(s, &other, err);
  }
  if (status == FURROW_OK) status = tune_rule(s, err);
  if (status == FURROW_OK) status = finish_candidate(s, FW_CANDIDATE_RECENT, err);
  if (status == FURROW_OK && s->best < popular) {
    const fw_candidate recent = s->selection->candidates[FW_CANDIDATE_RECENT];
    const fw_made_taste worse = s->made;
    *s->selection = before;
    s->selection->candidates[FW_CANDIDATE_RECENT] = recent;
    s->best = popular;
    s->made = simple;
    simple = worse;
  }
  fw_made_taste_clear(&simple);
  return status;
}

static bool has_items_without_events(const contest *c) {
  const fw_interactions *parts[2] = {&c->earlier, &c->later};
  size_t count = 0;
  for (size_t i = 0; i < 2; i++) count += parts[i]->offset[parts[i]->users];
  if (count < c->earlier.items) return true;
  uint8_t *has = NULL;
  if (FW_ALLOC_ZERO(&has, c->earlier.items, NULL) != FURROW_OK) return false;
  for (size_t p = 0; p < 2; p++)
    for (size_t i = 0; i < parts[p]->offset[parts[p]->users]; i++) has[parts[p]->item[i]] = 1;
  const bool without = memchr(has, 0, c->earlier.items) != NULL;
  fw_free(has);
  return without;
}

/* Features of items. They are used if that is better. Items without events can be recommended by their features alone,
 * which held-out events cannot show: then features may cost a hundredth of the NDCG. */
static furrow_status try_features(search *s, furrow_error *err) {
  static const double contents[] = {.3, 1, 3, 10};
  const double before = s->best;
  if (!s->c->params->means.features || !s->selection->recipe.weights) return FURROW_OK;
  if (has_items_without_events(s->c)) s->best = 0.99 * before;
  for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
    fw_recipe with = s->selection->recipe;
    with.content = contents[i];
    FW_TRY(try_recipe(s, &with, err));
  }
  if (s->selection->recipe.content == 0) {
    s->best = before;
    return FURROW_OK;
  }
  FW_TRY(tune_rule(s, err));
  return finish_candidate(s, FW_CANDIDATE_CONTENT, err);
}

static furrow_status run_search(search *s, furrow_error *err) {
  s->best = -1;
  FW_TRY(try_popular(s, err));
  FW_TRY(try_own(s, err));
  FW_TRY(try_items(s, err));
  return try_features(s, err);
}

furrow_status fw_select(const fw_interactions *all, const fw_selection_params *params, fw_rule_selection *selection,
                        furrow_error *err) {
  contest c = {.params = params};
  search s = {.c = &c, .selection = selection};
  *selection = (fw_rule_selection){.recipe = {.rule = {.popular = 1}}};
  uint32_t *scratch = NULL;
  furrow_status status = fw_interactions_split(all, &c.earlier, &c.later, err);
  if (status == FURROW_OK) status = FW_ALLOC(&scratch, all->offset[all->users], err);
  if (status == FURROW_OK) {
    selection->repeats = find_repeats(&c, scratch);
    c.repeats = selection->repeats >= REPEATING;
    status = list_users(&c, scratch, err);
  }
  fw_free(scratch);
  selection->users = c.count;
  if (status == FURROW_OK && c.count > 0) status = run_search(&s, err);
  selection->recipe.rule.repeats = c.repeats;
  selection->recipe.neighbours = fw_recipe_neighbours(all->items);
  fw_made_taste_clear(&s.made);
  clear_contest(&c);
  return status;
}
