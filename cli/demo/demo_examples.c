/* cli/demo/demo_examples.c: examples of recommendations and of similar items; a projection of the item vectors. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "demo/demo_quality.h"
#include "index/vector_source.h"

enum { MOST_DIM = 64 };

/* ---- What a user did ---- */

static void take_past(demo_example *example, const demo_world *world, const demo_log *train) {
  for (size_t i = train->count; i-- > 0;) {
    const demo_event *event = &train->events[i];
    if (event->user != example->query.user) continue;
    example->shown++;
    if (!event->click) continue;
    example->clicked++;
    example->clicks[world->items[event->item].category]++;
    if (example->past_count < DEMO_PAST) example->past[example->past_count++] = event->item;
  }
}

/* Whether a recommended item was shown or clicked in the time of the test rows. */
static void take_future(demo_example *example, const demo_log *test) {
  for (size_t i = 0; i < test->count; i++) {
    const demo_event *event = &test->events[i];
    if (event->user != example->query.user) continue;
    for (size_t h = 0; h < DEMO_SHOWN; h++) {
      demo_hit *hit = &example->hits[h];
      if (hit->item != event->item) continue;
      hit->shown = true;
      hit->clicked |= event->click;
    }
  }
}

/* ---- What a user gets ---- */

static void take_hit(demo_hit *hit, const demo_world *world, const furrow_recommender *recommender,
                     const furrow_recommendation *result) {
  const char *name = furrow_recommender_item_name(recommender, result->item);
  *hit = (demo_hit){.item = name ? demo_item_of(world, name) : world->size.items, .score = result->score};
}

static furrow_status take_reasons(demo_hit *hit, const demo_world *world, const furrow_recommender *recommender,
                                  uint64_t user, uint64_t item, furrow_error *err) {
  furrow_recommend_reason reasons[DEMO_REASONS];
  const furrow_status status =
      furrow_recommender_explain(recommender, user, item, reasons, DEMO_REASONS, &hit->reason_count, err);
  for (size_t i = 0; status == FURROW_OK && i < hit->reason_count; i++)
    hit->reasons[i] = demo_item_of(world, furrow_recommender_item_name(recommender, reasons[i].item));
  return status;
}

static furrow_status recommend(demo_example *example, const demo_world *world, const furrow_recommender *recommender,
                               const furrow_events *seen, uint64_t user, furrow_error *err) {
  furrow_recommendation results[DEMO_SHOWN];
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.k = DEMO_SHOWN;
  params.seen = seen;
  furrow_status status = furrow_recommender_recommend(recommender, &user, 1, &params, results, err);
  for (size_t i = 0; status == FURROW_OK && i < DEMO_SHOWN; i++) {
    demo_hit *hit = &example->hits[i];
    take_hit(hit, world, recommender, &results[i]);
    demo_event event = example->query;
    event.item = hit->item;
    if (hit->item >= world->size.items) continue;
    hit->chance = demo_chance(world, &event);
    status = take_reasons(hit, world, recommender, user, results[i].item, err);
  }
  return status;
}

static furrow_status make_example(demo_example *example, const demo_world *world, const furrow_recommender *recommender,
                                  const furrow_events *seen, const demo_log *train, const demo_log *test,
                                  furrow_error *err) {
  char name[DEMO_NAME];
  uint64_t user = 0;
  demo_user_name(example->query.user, name);
  furrow_status status = furrow_recommender_find_user(recommender, name, strlen(name), &user, err);
  if (status == FURROW_OK) status = recommend(example, world, recommender, seen, user, err);
  if (status != FURROW_OK) return status;
  take_past(example, world, train);
  take_future(example, test);
  return FURROW_OK;
}

/* ---- Similar items ---- */

static furrow_status make_like(demo_like *like, const demo_world *world, const furrow_recommender *recommender,
                               uint64_t item, furrow_error *err) {
  furrow_recommendation results[DEMO_SHOWN];
  furrow_recommend_params params;
  furrow_recommend_params_init(&params);
  params.k = DEMO_SHOWN;
  like->item = demo_item_of(world, furrow_recommender_item_name(recommender, item));
  const furrow_status status = furrow_recommender_similar(recommender, item, &params, results, err);
  for (size_t i = 0; status == FURROW_OK && i < DEMO_SHOWN; i++)
    take_hit(&like->hits[i], world, recommender, &results[i]);
  return status;
}

/* The items with the most events, each of another category. */
static furrow_status make_likes(demo_like likes[DEMO_LIKE], const demo_world *world,
                                const furrow_recommender *recommender, furrow_error *err) {
  bool taken[DEMO_CATEGORIES] = {false};
  size_t count = 0;
  furrow_status status = FURROW_OK;
  for (uint64_t i = 0; status == FURROW_OK && count < DEMO_LIKE && i < furrow_recommender_item_count(recommender);
       i++) {
    const uint32_t item = demo_item_of(world, furrow_recommender_item_name(recommender, i));
    if (item >= world->size.items || taken[world->items[item].category]) continue;
    taken[world->items[item].category] = true;
    status = make_like(&likes[count++], world, recommender, i, err);
  }
  return status;
}

furrow_status demo_likes_make(demo_like likes[DEMO_LIKE], const demo_world *world, const char *model,
                              furrow_error *err) {
  furrow_recommender *recommender = NULL;
  furrow_status status = furrow_recommender_open(&recommender, model, NULL, err);
  if (status == FURROW_OK) status = make_likes(likes, world, recommender, err);
  furrow_recommender_free(recommender);
  return status;
}

furrow_status demo_examples_make(demo_example examples[DEMO_EXAMPLES], const demo_world *world, const char *model,
                                 const demo_log *train, const demo_log *test, furrow_error *err) {
  furrow_recommender *recommender = NULL;
  furrow_events *seen = NULL;
  furrow_status status = furrow_recommender_open(&recommender, model, NULL, err);
  if (status == FURROW_OK) status = furrow_events_load(&seen, recommender, "train.csv", NULL, err);
  for (uint32_t q = 0; status == FURROW_OK && q < DEMO_EXAMPLES; q++) {
    examples[q] = (demo_example){.query = demo_query(world, q)};
    status = make_example(&examples[q], world, recommender, seen, train, test, err);
  }
  furrow_events_free(seen);
  furrow_recommender_free(recommender);
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

static void project_items(demo_plane *plane, const vector_block *block, size_t d) {
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

/* The items of the first lines of a file of names. */
static furrow_status read_items(demo_plane *plane, const demo_world *world, const char *path, furrow_error *err) {
  char line[DEMO_NAME + 2];
  size_t i = 0;
  FILE *file = fopen(path, "re");
  if (!file) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  for (; i < plane->count && fgets(line, sizeof line, file); i++) plane->items[i] = demo_item_of(world, line);
  fclose(file);
  return i == plane->count ? FURROW_OK : fail_file(err, FURROW_E_FORMAT, path, "does not have a name for each item", 0);
}

static furrow_status make_plane(demo_plane *plane, const demo_world *world, const vector_block *block,
                                const char *names, furrow_error *err) {
  plane->count = block->count;
  plane->items = calloc(block->count + 1, sizeof *plane->items);
  bool fits = plane->items != NULL;
  for (size_t axis = 0; axis < DEMO_AXES; axis++) {
    plane->axes[axis] = calloc(block->count + 1, sizeof *plane->axes[axis]);
    fits = fits && plane->axes[axis];
  }
  if (!fits) return fail_memory(err);
  project_items(plane, block, block->d - 1); /* the last element is the item's own part, not a factor */
  return read_items(plane, world, names, err);
}

furrow_status demo_plane_make(demo_plane *plane, const demo_world *world, const char *path, const char *names,
                              furrow_error *err) {
  furrow_vectors_reader *vectors = NULL;
  vector_block block = {0};
  furrow_status status = vector_source_open(&vectors, path, &(vector_values){0}, 0, err);
  if (status == FURROW_OK &&
      (furrow_vectors_reader_dimension(vectors) <= DEMO_AXES || furrow_vectors_reader_dimension(vectors) > MOST_DIM))
    status = fail_file(err, FURROW_E_RANGE, path, "has vectors of an unexpected dimension", 0);
  if (status == FURROW_OK)
    status = vector_block_init(&block, furrow_vectors_reader_dimension(vectors), DEMO_PLOTTED, 0, err);
  if (status == FURROW_OK) status = vector_block_read(&block, vectors, err);
  if (status == FURROW_OK) status = make_plane(plane, world, &block, names, err);
  vector_block_clear(&block);
  furrow_vectors_reader_close(vectors);
  return status;
}

void demo_plane_clear(demo_plane *plane) {
  free(plane->items);
  for (size_t axis = 0; axis < DEMO_AXES; axis++) free(plane->axes[axis]);
  *plane = (demo_plane){0};
}
