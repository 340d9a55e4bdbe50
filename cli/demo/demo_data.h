/* cli/demo/demo_data.h: generated data with known click probabilities.
 *
 * A user likes one topic, a second one less, and is indifferent to the rest or dislikes it. An item is about one topic,
 * and some items also about a second one. An event is a user who is shown an item at an hour on a device. The
 * probability of a click is p = 1 / (1 + exp(-z)) with
 *   z = bias + user + item + hour + device + s(hour) <taste of user, topics of item>
 *       + <taste of hour, topics of item> + <taste of device, topics of item>
 * s is larger in the evening. This is not a sum over pairs of features, so a factorization machine cannot learn it.
 * The same sizes and seed give the same bytes everywhere.
 */
#ifndef CLI_DEMO_DEMO_DATA_H
#define CLI_DEMO_DEMO_DATA_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/rows.h"

enum { DEMO_TOPICS = 8, DEMO_HOURS = 24, DEMO_DEVICES = 3, DEMO_FIELDS = 4, DEMO_TITLE = 64 };

typedef struct demo_size {
  uint64_t rows, seed;
  uint32_t users, items;
} demo_size;

/* A user, an item, an hour or a device. */
typedef struct demo_entity {
  uint8_t topic, second; /* second == topic: it has none */
  double weight, taste[DEMO_TOPICS];
} demo_entity;

typedef struct demo_world {
  demo_size size;
  demo_entity *users, *items;
  demo_entity hours[DEMO_HOURS], devices[DEMO_DEVICES];
} demo_world;

typedef struct demo_event {
  uint32_t user, item, hour, device;
} demo_event;

furrow_status demo_world_make(demo_world *world, const demo_size *size, furrow_error *err);
void demo_world_clear(demo_world *world);

/* Returns the probability of a click. */
double demo_chance(const demo_world *world, const demo_event *event);
/* Writes the features of an event, ascending, from 0: four, or three without the item. */
size_t demo_features(const demo_world *world, const demo_event *event, bool item, uint32_t ids[DEMO_FIELDS]);
/* Returns the event of a row that was read from a file, where indices count from 1. */
demo_event demo_event_of_row(const demo_world *world, const furrow_row *row);
uint32_t demo_feature_count(const demo_world *world);

const char *demo_topic(unsigned topic);
const char *demo_device(unsigned device);
void demo_title(const demo_world *world, uint32_t item, char title[DEMO_TITLE]);

/* Returns query number q: a user, an hour and a device. */
demo_event demo_query(const demo_world *world, uint32_t q);

/* Write files. clicks: libsvm, a line for each event, indices from 1. queries: users with a context. candidates: the
 * first n queries with every item. items, users: titles and topics for human readers. */
furrow_status demo_write_clicks(const demo_world *world, const char *path, furrow_error *err);
furrow_status demo_write_queries(const demo_world *world, uint32_t n, const char *path, furrow_error *err);
furrow_status demo_write_candidates(const demo_world *world, uint32_t n, const char *path, furrow_error *err);
furrow_status demo_write_items(const demo_world *world, const char *path, furrow_error *err);
furrow_status demo_write_users(const demo_world *world, const char *path, furrow_error *err);

#endif
