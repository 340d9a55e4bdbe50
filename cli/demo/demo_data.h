/* cli/demo/demo_data.h: the log of a shop, generated with known click probabilities.
 *
 * A user likes one category, a second one less, and is indifferent to the rest or dislikes it; some users prefer cheap
 * items and some dear ones. An item belongs to one category, and some items secretly also to a second one. At a time
 * and on a device a user is shown the item that suits them best among a few drawn by popularity. The probability of a
 * click is p = 1 / (1 + exp(-z)) with
 *   z = bias + user + item + hour + device + s(hour) <taste of user, topics of item> + thrift of user * price of item
 *       + <taste of hour, topics of item> + <taste of device, topics of item>
 * s is larger in the evening. This is not a sum over pairs of features, so a factorization machine cannot learn it.
 * The same sizes and seed give the same bytes everywhere.
 */
#ifndef CLI_DEMO_DEMO_DATA_H
#define CLI_DEMO_DEMO_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/furrow.h"

enum { DEMO_CATEGORIES = 8, DEMO_HOURS = 24, DEMO_DEVICES = 3, DEMO_NAME = 24, DEMO_TITLE = 64 };

typedef struct demo_size {
  uint64_t rows, seed;
  uint32_t users, items;
} demo_size;

/* A user, an item, an hour or a device. */
typedef struct demo_entity {
  uint8_t category, second; /* second == category: it has none */
  double weight, taste[DEMO_CATEGORIES];
  double price; /* items: how far the price is from the usual one; users: how much they like high prices */
} demo_entity;

typedef struct demo_world {
  demo_size size;
  demo_entity *users, *items;
  demo_entity hours[DEMO_HOURS], devices[DEMO_DEVICES];
} demo_world;

/* A line of the log. */
typedef struct demo_event {
  uint32_t user, item;
  uint8_t hour, device;
  bool click;
} demo_event;

furrow_status demo_world_make(demo_world *world, const demo_size *size, furrow_error *err);
void demo_world_clear(demo_world *world);

/* Returns the probability of a click. */
double demo_chance(const demo_world *world, const demo_event *event);

const char *demo_category(unsigned category);
const char *demo_device(unsigned device);
/* Names as the log has them: maya17, B0042; and titles. */
void demo_user_name(uint32_t user, char name[DEMO_NAME]);
void demo_item_name(uint32_t item, char name[DEMO_NAME]);
void demo_title(const demo_world *world, uint32_t item, char title[DEMO_TITLE]);
/* Returns the price in cents. */
uint32_t demo_price(const demo_world *world, uint32_t item);
/* Returns the number of the user or item with this name; if there is none, the number of users or items. */
uint32_t demo_user_of(const demo_world *world, const char *name);
uint32_t demo_item_of(const demo_world *world, const char *name);

/* Returns example number q: a user, an hour and a device. */
demo_event demo_query(const demo_world *world, uint32_t q);

/* Write csv files: a line for each event, sorted by time; and a line for each item. */
furrow_status demo_write_log(const demo_world *world, const char *path, furrow_error *err);
furrow_status demo_write_items(const demo_world *world, const char *path, furrow_error *err);

/* Events that were read from a file. */
typedef struct demo_log {
  demo_event *events;
  size_t count, capacity;
} demo_log;

/* Reads lines of the log, from a file with its header. */
furrow_status demo_log_read(demo_log *log, const demo_world *world, const char *path, furrow_error *err);
void demo_log_clear(demo_log *log);

#endif
