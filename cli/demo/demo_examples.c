/* cli/demo/demo_examples.c: examples of recommendations with the parts of their scores; a projection of the item
 * vectors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "demo/demo_quality.h"
#include "furrow/learn.h"
#include "furrow/vector_data.h"
#include "index/vector_source.h"

enum { MOST_DIM = 64 };

/* ---- What a user did ---- */

static void count_row(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const furrow_row *row) {
  const demo_event event = demo_event_of_row(world, row);
  for (size_t e = 0; e < DEMO_EXAMPLES; e++) {
    if (examples[e].query.user != event.user) continue;
    examples[e].shown++;
    if (furrow_row_get_label(row) <= 0) continue;
    examples[e].clicked++;
    examples[e].seen[world->items[event.item].topic]++;
  }
}

static furrow_status count_history(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const char *rows,
                                   furrow_error *err) {
  furrow_parser *parser = NULL;
  furrow_status status = furrow_parser_open_part(&parser, rows, 0, 1, "libsvm", err);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, err)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    for (size_t i = 0; i < block->size; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      count_row(examples, world, &row);
    }
  }
  furrow_parser_close(parser);
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- What a score is made of ---- */

/* The query vectors of the user alone and of the context alone. Their last element is 1, for the item's own part. */
typedef struct query_parts {
  size_t d;
  float user[MOST_DIM], context[MOST_DIM];
} query_parts;

static furrow_row row_of(const uint32_t *ids, size_t count) {
  return (furrow_row){.length = count, .index = {.u32 = ids}, .key_type = FURROW_KEY_U32};
}

static furrow_status split_query(query_parts *parts, const furrow_scorer *scorer, const demo_world *world,
                                 demo_example *example, furrow_error *err) {
  uint32_t ids[DEMO_FIELDS];
  float whole[MOST_DIM];
  const size_t n = demo_features(world, &example->query, false, ids);
  const furrow_row all = row_of(ids, n), user = row_of(ids, 1), context = row_of(ids + 1, n - 1);
  furrow_status status = furrow_scorer_query_vector(scorer, &all, whole, &example->query_part, err);
  if (status == FURROW_OK) status = furrow_scorer_query_vector(scorer, &user, parts->user, NULL, err);
  if (status == FURROW_OK) status = furrow_scorer_query_vector(scorer, &context, parts->context, NULL, err);
  return status;
}

static double product(const float *a, const float *b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
  return sum;
}

static furrow_status explain(demo_hit *hit, const furrow_scorer *scorer, const demo_world *world,
                             const query_parts *parts, const demo_event *query, furrow_error *err) {
  float item[MOST_DIM];
  const uint32_t id = world->size.users + hit->item;
  const furrow_row row = row_of(&id, 1);
  const furrow_status status = furrow_scorer_item_vector(scorer, &row, item, err);
  if (status != FURROW_OK) return status;
  hit->user_item = product(parts->user, item, parts->d - 1);
  hit->context_item = product(parts->context, item, parts->d - 1);
  hit->item_own = item[parts->d - 1];
  demo_event event = *query;
  event.item = hit->item;
  hit->chance = demo_chance(world, &event);
  return FURROW_OK;
}

static furrow_status fill_example(demo_example *example, uint32_t q, const furrow_scorer *scorer,
                                  const demo_world *world, const demo_scores *scores, const demo_found *found,
                                  furrow_error *err) {
  query_parts parts;
  *example = (demo_example){.query = demo_query(world, q)};
  furrow_status status = furrow_scorer_vector_size(scorer, &parts.d, err);
  if (status == FURROW_OK && parts.d > MOST_DIM)
    status = fail(err, FURROW_E_RANGE, "the vectors have too many elements");
  if (status == FURROW_OK) status = split_query(&parts, scorer, world, example, err);
  for (size_t i = 0; status == FURROW_OK && i < DEMO_SHOWN; i++) {
    const size_t place = (size_t)q * DEMO_NEAR + i;
    demo_hit *hit = &example->hits[i];
    if (found->ids[place] < 0) return fail(err, FURROW_E_STATE, "the index found fewer than %d items", DEMO_NEAR);
    hit->item = (uint32_t)found->ids[place];
    hit->by_index = example->query_part + found->nearness[place];
    hit->exact = scores->pred[(size_t)q * scores->items + hit->item];
    hit->exact_rank = demo_scores_rank(scores, q, hit->item);
    status = explain(hit, scorer, world, &parts, &example->query, err);
  }
  return status;
}

furrow_status demo_examples_make(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const char *model,
                                 const char *rows, const demo_scores *scores, const demo_found *found,
                                 furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_status status = furrow_scorer_load(&scorer, model, NULL, err);
  for (uint32_t q = 0; status == FURROW_OK && q < DEMO_EXAMPLES; q++)
    status = fill_example(&examples[q], q, scorer, world, scores, found, err);
  furrow_scorer_free(scorer);
  if (status == FURROW_OK) status = count_history(examples, world, rows, err);
  return status;
}

/* ---- The plane ---- */

/* d x d sums of products of the centred vectors. */
static void covariance(const vector_block *block, size_t d, const double *mean, double *sums) {
  memset(sums, 0, d * d * sizeof *sums);
  for (size_t v = 0; v < block->count; v++)
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j < d; j++)
        sums[i * d + j] += (block->values[v * block->d + i] - mean[i]) * (block->values[v * block->d + j] - mean[j]);
}

/* Power iteration: finds the eigenvector of the largest eigenvalue and returns that eigenvalue. */
static double largest_direction(const double *matrix, size_t d, double *direction) {
  double stretch = 0;
  for (size_t i = 0; i < d; i++) direction[i] = 1 + 0.1 * (double)i;
  for (int round = 0; round < 300; round++) {
    double next[MOST_DIM] = {0}, square = 0;
    for (size_t i = 0; i < d; i++) {
      for (size_t j = 0; j < d; j++) next[i] += matrix[i * d + j] * direction[j];
      square += next[i] * next[i];
    }
    stretch = sqrt(square);
    if (stretch == 0) return 0;
    for (size_t i = 0; i < d; i++) direction[i] = next[i] / stretch;
  }
  return stretch;
}

static void project(demo_plane *plane, const vector_block *block, size_t d) {
  double mean[MOST_DIM] = {0}, sums[MOST_DIM * MOST_DIM], direction[MOST_DIM], all = 0;
  for (size_t v = 0; v < block->count; v++)
    for (size_t i = 0; i < d; i++) mean[i] += block->values[v * block->d + i] / (double)block->count;
  covariance(block, d, mean, sums);
  for (size_t i = 0; i < d; i++) all += sums[i * d + i];
  for (size_t axis = 0; axis < DEMO_AXES; axis++) {
    const double stretch = largest_direction(sums, d, direction);
    plane->share[axis] = all > 0 ? stretch / all : 0;
    for (size_t v = 0; v < block->count; v++) {
      plane->axes[axis][v] = 0;
      for (size_t i = 0; i < d; i++) plane->axes[axis][v] += (block->values[v * block->d + i] - mean[i]) * direction[i];
    }
    for (size_t i = 0; i < d; i++)
      for (size_t j = 0; j < d; j++) sums[i * d + j] -= stretch * direction[i] * direction[j];
  }
}

furrow_status demo_plane_make(demo_plane *plane, const char *path, furrow_error *err) {
  furrow_vectors_reader *vectors = NULL;
  vector_block block = {0};
  demo_plane made = {0};
  furrow_status status = vector_source_open(&vectors, path, &(vector_values){0}, 0, err);
  if (status == FURROW_OK &&
      (furrow_vectors_reader_dimension(vectors) <= DEMO_AXES || furrow_vectors_reader_dimension(vectors) > MOST_DIM))
    status = fail_file(err, FURROW_E_RANGE, path, "has vectors of an unexpected dimension", 0);
  if (status == FURROW_OK)
    status = vector_block_init(&block, furrow_vectors_reader_dimension(vectors), DEMO_PLOTTED, 0, err);
  if (status == FURROW_OK) status = vector_block_read(&block, vectors, err);
  if (status == FURROW_OK) {
    made.count = block.count;
    for (size_t axis = 0; axis < DEMO_AXES && status == FURROW_OK; axis++) {
      made.axes[axis] = calloc(block.count + 1, sizeof *made.axes[axis]);
      if (!made.axes[axis]) status = fail_memory(err);
    }
  }
  if (status == FURROW_OK) {
    project(&made, &block, block.d - 1); /* the last element is the item's own part, not a factor */
    *plane = made;
  } else {
    demo_plane_clear(&made);
  }
  vector_block_clear(&block);
  furrow_vectors_reader_close(vectors);
  return status;
}

void demo_plane_clear(demo_plane *plane) {
  for (size_t axis = 0; axis < DEMO_AXES; axis++) free(plane->axes[axis]);
  *plane = (demo_plane){0};
}
