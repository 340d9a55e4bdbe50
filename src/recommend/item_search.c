/* recommend/item_search.c: exact search for the items whose vectors have the largest inner products with a user's
 * vector. */
#include "recommend/item_search.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/products/products.h"

enum { BLOCK = 256, STRIP = 16, AT_ONCE = 16 };

typedef struct block {
  fw_packed packed;
  float longest;   /* largest norm of the block's vectors, without their last numbers */
  float low, high; /* range of the last numbers */
  float whole;     /* largest norm of the whole vectors, bounds the kernels' error */
} block;

struct fw_item_search {
  const float *vectors;
  size_t n, d, blocks;
  uint32_t *order; /* items, block by block */
  block *block;
};

/* ---- Results -------------------------------------------------------------------------------------------- */

static int compare_scored(const void *a, const void *b) {
  return fw_scored_before(a, b) ? -1 : fw_scored_before(b, a);
}

void fw_scored_sort(fw_scored *list, size_t count) {
  if (count > 1) qsort(list, count, sizeof *list, compare_scored);
}

static void sift_up(fw_scored *heap, size_t at, fw_scored value) {
  while (at > 0 && fw_scored_before(&heap[(at - 1) / 2], &value)) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = value;
}

static void sift_down(fw_scored *heap, size_t count, fw_scored value) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && fw_scored_before(&heap[child], &heap[child + 1])) child++;
    if (!fw_scored_before(&value, &heap[child])) break;
    heap[at] = heap[child];
  }
  heap[at] = value;
}

void fw_best_offer(fw_best *best, double score, uint32_t item) {
  const fw_scored value = {.score = score, .item = item};
  if (best->count < best->k)
    sift_up(best->heap, best->count++, value);
  else if (fw_scored_before(&value, &best->heap[0]))
    sift_down(best->heap, best->count, value);
}

bool fw_item_set_has(const fw_item_set *set, uint32_t item) {
  size_t low = 0, high = set->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (set->items[middle] < item)
      low = middle + 1;
    else
      high = middle;
  }
  return low < set->count && set->items[low] == item;
}

double fw_item_product(const float *query, const float *item, size_t d) {
  double sum = 0;
  for (size_t i = 0; i < d; i++) sum += (double)query[i] * item[i];
  return sum;
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

static double length_of(const float *x, size_t d) {
  return sqrt(fw_item_product(x, x, d));
}

/* Sorts items by the highest score that they can reach for a user whose vector has the norm `scale`. */
static furrow_status sort_items(fw_item_search *s, double scale, furrow_error *err) {
  fw_scored *most = NULL;
  FW_TRY(FW_ALLOC(&most, s->n, err));
  for (size_t i = 0; i < s->n; i++) {
    const float *x = s->vectors + i * s->d;
    most[i] = (fw_scored){.score = length_of(x, s->d - 1) * scale + x[s->d - 1], .item = (uint32_t)i};
  }
  fw_scored_sort(most, s->n);
  for (size_t i = 0; i < s->n; i++) s->order[i] = most[i].item;
  fw_free(most);
  return FURROW_OK;
}

static furrow_status make_block(fw_item_search *s, size_t b, float *gathered, furrow_error *err) {
  block *to = &s->block[b];
  const size_t first = b * BLOCK, n = s->n - first < BLOCK ? s->n - first : BLOCK;
  to->low = FLT_MAX;
  to->high = -FLT_MAX;
  for (size_t i = 0; i < n; i++) {
    const float *x = s->vectors + (size_t)s->order[first + i] * s->d, last = x[s->d - 1];
    const float length = (float)length_of(x, s->d - 1) * (1 + FLT_EPSILON), whole = (float)length_of(x, s->d);
    memcpy(gathered + i * s->d, x, s->d * sizeof *x);
    if (length > to->longest) to->longest = length;
    if (whole > to->whole) to->whole = whole;
    if (last < to->low) to->low = last;
    if (last > to->high) to->high = last;
  }
  return fw_packed_create(&to->packed, gathered, n, s->d, s->d, false, err);
}

static furrow_status make_blocks(fw_item_search *s, double scale, furrow_error *err) {
  float *gathered = NULL;
  s->blocks = (s->n + BLOCK - 1) / BLOCK;
  furrow_status status = FW_ALLOC(&s->order, s->n, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&s->block, s->blocks, err);
  if (status == FURROW_OK) status = FW_ALLOC_ROWS(&gathered, BLOCK, s->d, err);
  if (status == FURROW_OK) status = sort_items(s, scale, err);
  for (size_t b = 0; status == FURROW_OK && b < s->blocks; b++) status = make_block(s, b, gathered, err);
  fw_free(gathered);
  return status;
}

furrow_status fw_item_search_create(fw_item_search **search, const float *vectors, size_t n, size_t d, double scale,
                                    furrow_error *err) {
  fw_item_search *made = NULL;
  if (n >= FW_NO_ITEM) return fw_fail(err, FURROW_E_RANGE, "%zu items are too many", n);
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->vectors = vectors;
  made->n = n;
  made->d = d;
  const furrow_status status = make_blocks(made, scale, err);
  return FW_HAND_OVER(status, search, made, fw_item_search_free);
}

void fw_item_search_free(fw_item_search *search) {
  if (!search) return;
  for (size_t b = 0; search->block && b < search->blocks; b++) fw_packed_clear(&search->block[b].packed);
  fw_free(search->block);
  fw_free(search->order);
  fw_free(search);
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

typedef struct user_state {
  const float *query;
  float length, whole; /* norm without and with the last number */
  fw_best best;
} user_state;

/* Bounds the error of the kernels' scores for vectors of the block. */
static float slack_of(const fw_item_search *s, const user_state *u, const block *b) {
  return FLT_EPSILON * (float)(s->d + 4) * u->whole * b->whole;
}

static bool may_enter(const fw_item_search *s, const user_state *u, const block *b) {
  if (u->best.count < u->best.k) return true;
  const float last = u->query[s->d - 1], part = last > 0 ? last * b->high : last * b->low;
  return (double)u->length * b->longest + part + slack_of(s, u, b) >= u->best.heap[0].score;
}

static bool any_above(const float *scores, float bar) {
  int any = 0;
  for (size_t i = 0; i < STRIP; i++) any |= scores[i] > bar;
  return any;
}

static void offer_exact_score(const fw_item_search *s, const fw_item_query *query, size_t user, user_state *u,
                              uint32_t item) {
  if (query->allowed && !query->allowed[item]) return;
  if (query->seen && fw_item_set_has(&query->seen[user], item)) return;
  fw_best_offer(&u->best, fw_item_product(u->query, s->vectors + (size_t)item * s->d, s->d), item);
}

static float bar_of(const user_state *u, float slack) {
  return u->best.count < u->best.k ? -FLT_MAX : (float)u->best.heap[0].score - slack;
}

/* Scores past the last vector of a block are -infinity. */
static void offer_scores(const fw_item_search *s, const fw_item_query *query, size_t user, user_state *u, size_t b,
                         const float *scores) {
  const uint32_t *items = s->order + b * BLOCK;
  const float slack = slack_of(s, u, &s->block[b]) * 2;
  float bar = bar_of(u, slack);
  for (size_t first = 0; first < s->block[b].packed.n; first += STRIP) {
    if (!any_above(scores + first, bar)) continue;
    for (size_t i = first; i < first + STRIP; i++)
      if (scores[i] > bar) offer_exact_score(s, query, user, u, items[i]);
    bar = bar_of(u, slack);
  }
}

/* Selects the users for whom the block may have results, and copies their vectors to `gathered`. */
static size_t choose_users(const fw_item_search *s, const user_state *users, size_t count, size_t b, float *gathered,
                           size_t *chosen) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++)
    if (may_enter(s, &users[i], &s->block[b])) chosen[n++] = i;
  for (size_t i = 0; n < count && i < n; i++)
    memcpy(gathered + i * s->d, users[chosen[i]].query, s->d * sizeof *gathered);
  return n;
}

/* Compares one block with all users before the next one, so that the block stays in the cache. */
static uint64_t scan_blocks(const fw_item_search *s, const fw_item_query *query, user_state *users, float *gathered) {
  alignas(64) float scores[AT_ONCE * BLOCK];
  size_t chosen[FW_SEARCH_USERS];
  uint64_t compared = 0;
  for (size_t b = 0; b < s->blocks; b++) {
    const fw_packed *packed = &s->block[b].packed;
    const size_t n = choose_users(s, users, query->count, b, gathered, chosen);
    const float *queries = n < query->count ? gathered : query->queries;
    for (size_t first = 0; first < n; first += AT_ONCE) {
      const size_t some = n - first < AT_ONCE ? n - first : AT_ONCE;
      fw_products_table()->scores(packed, queries + first * s->d, some, s->d, scores, BLOCK);
      for (size_t i = 0; i < some; i++)
        offer_scores(s, query, chosen[first + i], &users[chosen[first + i]], b, scores + i * BLOCK);
    }
    compared += n * packed->n;
  }
  return compared;
}

furrow_status fw_item_search_run(const fw_item_search *search, const fw_item_query *query, fw_scored *results,
                                 uint64_t *compared, furrow_error *err) {
  user_state users[FW_SEARCH_USERS];
  float *gathered = NULL;
  FW_TRY(FW_ALLOC_ROWS(&gathered, FW_SEARCH_USERS, search->d, err));
  for (size_t i = 0; i < query->count; i++) {
    const float *q = query->queries + i * search->d;
    users[i] = (user_state){.query = q,
                            .length = (float)length_of(q, search->d - 1) * (1 + FLT_EPSILON),
                            .whole = (float)length_of(q, search->d),
                            .best = {.heap = results + i * query->k, .k = query->k}};
  }
  *compared += scan_blocks(search, query, users, gathered);
  fw_free(gathered);
  for (size_t i = 0; i < query->count; i++) {
    fw_best *best = &users[i].best;
    fw_scored_sort(best->heap, best->count);
    for (size_t j = best->count; j < best->k; j++) best->heap[j] = (fw_scored){.score = -INFINITY, .item = FW_NO_ITEM};
  }
  return FURROW_OK;
}
