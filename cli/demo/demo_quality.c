/* cli/demo/demo_quality.c: compares models with the true probabilities, and rankings with each other. */
#include "demo/demo_quality.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"
#include "furrow/rows.h"
#include "furrow/vector_data.h"
#include "index/vector_source.h"

/* ---- The truth ---- */

typedef struct outcome {
  double chance;
  bool click;
} outcome;

typedef struct outcome_list {
  outcome *rows;
  size_t count, capacity;
} outcome_list;

static furrow_status add_outcome(outcome_list *list, outcome row, furrow_error *err) {
  if (list->count == list->capacity) {
    const size_t capacity = list->capacity ? 2 * list->capacity : 4096;
    outcome *rows = realloc(list->rows, capacity * sizeof *rows);
    if (!rows) return fail_memory(err);
    list->rows = rows;
    list->capacity = capacity;
  }
  list->rows[list->count++] = row;
  return FURROW_OK;
}

static furrow_status add_block(outcome_list *list, const demo_world *world, const furrow_rowblock *block,
                               furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < block->size && status == FURROW_OK; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    const demo_event event = demo_event_of_row(world, &row);
    status = add_outcome(list, (outcome){demo_chance(world, &event), furrow_row_get_label(&row) > 0}, err);
  }
  return status;
}

static furrow_status read_outcomes(outcome_list *list, const demo_world *world, const char *path, furrow_error *err) {
  furrow_parser *parser = NULL;
  furrow_status status = furrow_parser_open_part(&parser, path, 0, 1, "libsvm", err);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, err)) == FURROW_OK)
    status = add_block(list, world, furrow_parser_value(parser), err);
  furrow_parser_close(parser);
  return status == FURROW_END ? FURROW_OK : status;
}

static int by_chance(const void *a, const void *b) {
  const double x = ((const outcome *)a)->chance, y = ((const outcome *)b)->chance;
  return x < y ? -1 : x > y;
}

/* AUC: the share of pairs of a clicked and an unclicked row that are in order; ties count half. The rows are sorted. */
static double area(const outcome_list *list) {
  double pairs = 0, clicks = 0, others = 0;
  for (size_t i = 0, end; i < list->count; i = end) {
    double tied_clicks = 0, tied_others = 0;
    for (end = i; end < list->count && list->rows[end].chance == list->rows[i].chance; end++)
      *(list->rows[end].click ? &tied_clicks : &tied_others) += 1;
    pairs += tied_clicks * (others + tied_others / 2);
    clicks += tied_clicks;
    others += tied_others;
  }
  return pairs / (clicks * others);
}

furrow_status demo_score_truth(const demo_world *world, const char *rows, demo_truth *truth, furrow_error *err) {
  outcome_list list = {0};
  furrow_status status = read_outcomes(&list, world, rows, err);
  if (status == FURROW_OK && list.count == 0) status = fail_file(err, FURROW_E_FORMAT, rows, "has no rows", 0);
  if (status == FURROW_OK) {
    double loss = 0, clicks = 0;
    for (size_t i = 0; i < list.count; i++) {
      loss -= log(list.rows[i].click ? list.rows[i].chance : 1 - list.rows[i].chance);
      clicks += list.rows[i].click;
    }
    const double n = (double)list.count, rate = clicks / n;
    qsort(list.rows, list.count, sizeof *list.rows, by_chance);
    *truth = (demo_truth){.rows = list.count,
                          .logloss = loss / n,
                          .auc = area(&list),
                          .click_rate = rate,
                          .rate_logloss = -(rate * log(rate) + (1 - rate) * log(1 - rate))};
  }
  free(list.rows);
  return status;
}

/* ---- Exact scores ---- */

static bool is_before(const float *pred, uint32_t a, uint32_t b) {
  return pred[a] > pred[b] || (pred[a] == pred[b] && a < b);
}

static void find_best(const float *pred, uint32_t items, uint32_t *best) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < items; i++) {
    if (count == DEMO_NEAR && !is_before(pred, i, best[count - 1])) continue;
    uint32_t place = count < DEMO_NEAR ? count++ : count - 1;
    for (; place > 0 && is_before(pred, i, best[place - 1]); place--) best[place] = best[place - 1];
    best[place] = i;
  }
}

static furrow_status read_scores(demo_scores *scores, const char *path, furrow_error *err) {
  FILE *file = fopen(path, "rbe");
  if (!file) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  const size_t count = (size_t)scores->queries * scores->items;
  size_t i = 0;
  for (float row[3]; i < count && fread(row, sizeof row, 1, file) == 1; i++) scores->pred[i] = row[0];
  fclose(file);
  return i == count ? FURROW_OK : fail_file(err, FURROW_E_FORMAT, path, "does not have a score for each candidate", 0);
}

furrow_status demo_scores_load(demo_scores *scores, const demo_world *world, uint32_t queries, const char *path,
                               furrow_error *err) {
  demo_scores made = {.queries = queries, .items = world->size.items};
  made.pred = calloc((size_t)queries * made.items, sizeof *made.pred);
  made.best = calloc((size_t)queries * DEMO_NEAR, sizeof *made.best);
  furrow_status status = made.pred && made.best ? read_scores(&made, path, err) : fail_memory(err);
  for (size_t q = 0; status == FURROW_OK && q < queries; q++)
    find_best(made.pred + q * made.items, made.items, made.best + q * DEMO_NEAR);
  if (status == FURROW_OK)
    *scores = made;
  else
    demo_scores_clear(&made);
  return status;
}

void demo_scores_clear(demo_scores *scores) {
  free(scores->pred);
  free(scores->best);
  *scores = (demo_scores){0};
}

uint32_t demo_scores_rank(const demo_scores *scores, uint32_t query, uint32_t item) {
  const float *pred = scores->pred + (size_t)query * scores->items;
  uint32_t rank = 1;
  for (uint32_t i = 0; i < scores->items; i++) rank += is_before(pred, i, item);
  return rank;
}

/* ---- What was found ---- */

static furrow_status read_nearness(demo_found *found, uint32_t queries, const char *path, furrow_error *err) {
  furrow_vectors_reader *vectors = NULL;
  size_t got = 0;
  furrow_status status = vector_source_open(&vectors, path, &(vector_values){0}, DEMO_NEAR, err);
  if (status == FURROW_OK) status = furrow_vectors_reader_next(vectors, queries, found->nearness, NULL, &got, err);
  furrow_vectors_reader_close(vectors);
  if (status == FURROW_OK && got < queries)
    status = fail_file(err, FURROW_E_FORMAT, path, "does not have a row for each query", 0);
  return status;
}

furrow_status demo_found_load(demo_found *found, uint32_t queries, const char *ids, const char *nearness,
                              furrow_error *err) {
  furrow_ids read;
  demo_found made = {.nearness = calloc((size_t)queries * DEMO_NEAR, sizeof *made.nearness)};
  furrow_ids_init(&read);
  furrow_status status = made.nearness ? furrow_ids_load(&read, ids, NULL, err) : fail_memory(err);
  made.ids = read.ids;
  if (status == FURROW_OK && (read.dim != DEMO_NEAR || read.count < (size_t)queries * DEMO_NEAR))
    status = fail_file(err, FURROW_E_FORMAT, ids, "does not have ten ids for each query", 0);
  if (status == FURROW_OK) status = read_nearness(&made, queries, nearness, err);
  if (status == FURROW_OK)
    *found = made;
  else
    demo_found_clear(&made);
  return status;
}

void demo_found_clear(demo_found *found) {
  furrow_free(found->ids);
  free(found->nearness);
  *found = (demo_found){0};
}

double demo_overlap(const demo_scores *scores, const demo_found *found) {
  size_t shared = 0;
  const size_t count = (size_t)scores->queries * DEMO_NEAR;
  for (size_t i = 0; i < count; i++)
    for (size_t j = i - i % DEMO_NEAR; j < i - i % DEMO_NEAR + DEMO_NEAR; j++)
      shared += found->ids[j] == (int64_t)scores->best[i];
  return (double)shared / (double)count;
}

double demo_agreement(const demo_scores *a, const demo_scores *b) {
  size_t shared = 0;
  const size_t count = (size_t)a->queries * DEMO_NEAR;
  for (size_t i = 0; i < count; i++)
    for (size_t j = i - i % DEMO_NEAR; j < i - i % DEMO_NEAR + DEMO_NEAR; j++) shared += b->best[j] == a->best[i];
  return (double)shared / (double)count;
}
