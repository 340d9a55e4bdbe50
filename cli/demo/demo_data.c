/* cli/demo/demo_data.c: generated data with known click probabilities: users, items with hidden topics, contexts,
 * clicks. */
#include "demo/demo_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/splitmix.h"

/* ---- Names ---- */

enum { WORDS = 10 };

static const struct {
  const char *name, *words[WORDS];
} topics[DEMO_TOPICS] = {
    {"astronomy", {"Comet", "Nebula", "Orbit", "Saturn", "Eclipse", "Quasar", "Meteor", "Moon", "Pulsar", "Zodiac"}},
    {"baking", {"Sourdough", "Brioche", "Rye", "Pretzel", "Strudel", "Bagel", "Croissant", "Oven", "Biscuit", "Yeast"}},
    {"chess", {"Gambit", "Endgame", "Rook", "Castling", "Pawn", "Knight", "Opening", "Bishop", "Zugzwang", "Check"}},
    {"cycling",
     {"Gravel", "Peloton", "Sprint", "Saddle", "Derailleur", "Climb", "Velodrome", "Spoke", "Tandem", "Pedal"}},
    {"gardening", {"Tulip", "Compost", "Hedge", "Orchard", "Seedling", "Fern", "Trellis", "Mulch", "Rose", "Moss"}},
    {"jazz", {"Bebop", "Swing", "Trumpet", "Ragtime", "Saxophone", "Ballad", "Blue Note", "Quartet", "Scat", "Groove"}},
    {"sailing", {"Spinnaker", "Keel", "Harbour", "Regatta", "Anchor", "Mast", "Tide", "Compass", "Skipper", "Rudder"}},
    {"pottery", {"Kiln", "Glaze", "Porcelain", "Clay", "Raku", "Teapot", "Slip", "Wheel", "Stoneware", "Vase"}}};

static const char *const forms[WORDS] = {"Almanac", "Atlas",  "Diary", "Handbook", "Letters",
                                         "Notes",   "Primer", "Songs", "Stories",  "Workshop"};

static const char *const devices[DEMO_DEVICES] = {"phone", "tablet", "desktop"};

const char *demo_topic(unsigned topic) {
  return topics[topic].name;
}

const char *demo_device(unsigned device) {
  return devices[device];
}

/* A word of the topic, a form, and the item's number, which makes the title unique. */
void demo_title(const demo_world *world, uint32_t item, char title[DEMO_TITLE]) {
  uint64_t rng = world->size.seed * 31 + item;
  const char *word = topics[world->items[item].topic].words[below(&rng, WORDS)];
  snprintf(title, DEMO_TITLE, "%s %s %u", word, forms[below(&rng, WORDS)], item);
}

/* ---- The truth ---- */

typedef enum kind { USER, ITEM, HOUR, DEVICE } kind;

static uint64_t seed_of(const demo_world *world, kind what, uint32_t id) {
  return world->size.seed * 0x9e3779b97f4a7c15 + ((uint64_t)what << 40) + (uint64_t)id * 1000003;
}

/* The seed and the number of an entity determine everything about it. */
static demo_entity make_entity(const demo_world *world, kind what, uint32_t id) {
  static const struct {
    double weight, first, second, rest, noise, chance_of_second;
  } shapes[] = {[USER] = {0.5, 1.9, 1.1, -0.7, 0.25, 0.8},
                [ITEM] = {0.5, 1.1, 0.7, 0, 0.12, 0.25},
                [HOUR] = {0.15, 0.5, 0.3, -0.1, 0.1, 0.5},
                [DEVICE] = {0.15, 0.4, 0.3, -0.1, 0.1, 0.5}};
  uint64_t rng = seed_of(world, what, id);
  demo_entity entity = {.topic = (uint8_t)below(&rng, DEMO_TOPICS)};
  entity.second = (uint8_t)below(&rng, DEMO_TOPICS);
  if (uniform(&rng) >= shapes[what].chance_of_second) entity.second = entity.topic;
  entity.weight = shapes[what].weight * bell(draw(&rng));
  for (unsigned t = 0; t < DEMO_TOPICS; t++) {
    const double mean = t == entity.topic    ? shapes[what].first
                        : t == entity.second ? shapes[what].second
                                             : shapes[what].rest;
    entity.taste[t] = mean + shapes[what].noise * bell(draw(&rng));
  }
  return entity;
}

furrow_status demo_world_make(demo_world *world, const demo_size *size, furrow_error *err) {
  demo_world made = {.size = *size};
  made.users = calloc(size->users, sizeof *made.users);
  made.items = calloc(size->items, sizeof *made.items);
  if (!made.users || !made.items) {
    demo_world_clear(&made);
    return fail_memory(err);
  }
  for (uint32_t i = 0; i < size->users; i++) made.users[i] = make_entity(&made, USER, i);
  for (uint32_t i = 0; i < size->items; i++) made.items[i] = make_entity(&made, ITEM, i);
  /* six consecutive hours have the same effect */
  for (uint32_t i = 0; i < DEMO_HOURS; i++) made.hours[i] = make_entity(&made, HOUR, i / 6);
  for (uint32_t i = 0; i < DEMO_DEVICES; i++) made.devices[i] = make_entity(&made, DEVICE, i);
  *world = made;
  return FURROW_OK;
}

void demo_world_clear(demo_world *world) {
  free(world->users);
  free(world->items);
  *world = (demo_world){0};
}

static double dot(const demo_entity *a, const demo_entity *b) {
  double sum = 0;
  for (unsigned t = 0; t < DEMO_TOPICS; t++) sum += a->taste[t] * b->taste[t];
  return sum;
}

double demo_chance(const demo_world *world, const demo_event *event) {
  const demo_entity *user = &world->users[event->user], *item = &world->items[event->item];
  const demo_entity *hour = &world->hours[event->hour], *device = &world->devices[event->device];
  const double evening = event->hour >= 18 ? 1.3 : 0.9;
  const double z = -1.1 + user->weight + item->weight + hour->weight + device->weight + evening * dot(user, item) +
                   dot(hour, item) + dot(device, item);
  return 1 / (1 + exponential(-z));
}

/* ---- Features ---- */

uint32_t demo_feature_count(const demo_world *world) {
  return world->size.users + world->size.items + DEMO_HOURS + DEMO_DEVICES;
}

size_t demo_features(const demo_world *world, const demo_event *event, bool item, uint32_t ids[DEMO_FIELDS]) {
  const uint32_t contexts = world->size.users + world->size.items;
  size_t n = 0;
  ids[n++] = event->user;
  if (item) ids[n++] = world->size.users + event->item;
  ids[n++] = contexts + event->hour;
  ids[n++] = contexts + DEMO_HOURS + event->device;
  return n;
}

/* An index out of range becomes the last one; the demo reads only its own rows, so this does not happen. */
static uint32_t place_of(uint64_t index, uint64_t first, uint32_t count) {
  return index < first || index - first >= count ? count - 1 : (uint32_t)(index - first);
}

demo_event demo_event_of_row(const demo_world *world, const furrow_row *row) {
  const uint64_t users = world->size.users, contexts = 1 + users + world->size.items;
  uint64_t ids[DEMO_FIELDS] = {0};
  for (size_t i = 0; i < row->length && i < DEMO_FIELDS; i++) ids[i] = furrow_row_get_index(row, i);
  return (demo_event){.user = place_of(ids[0], 1, world->size.users),
                      .item = place_of(ids[1], 1 + users, world->size.items),
                      .hour = place_of(ids[2], contexts, DEMO_HOURS),
                      .device = place_of(ids[3], contexts + DEMO_HOURS, DEMO_DEVICES)};
}

/* ---- Events ---- */

/* Low numbers occur more often: the first share x of them has the share sqrt(x) of the events. */
static uint32_t draw_popular(uint64_t *rng, uint32_t count) {
  const double u = uniform(rng);
  return (uint32_t)(u * u * count);
}

static void draw_context(uint64_t *rng, demo_event *event) {
  event->hour = below(rng, DEMO_HOURS);
  event->device = below(rng, DEMO_DEVICES);
}

demo_event demo_query(const demo_world *world, uint32_t q) {
  uint64_t rng = world->size.seed + 0x71 + (uint64_t)q * 7919;
  demo_event event = {.user = below(&rng, world->size.users)};
  draw_context(&rng, &event);
  event.device = q % DEMO_DEVICES; /* in rotation, so that a few queries cover all of them */
  return event;
}

/* ---- Files ---- */

static void print_row(FILE *out, const demo_world *world, unsigned label, const demo_event *event, bool item) {
  uint32_t ids[DEMO_FIELDS];
  const size_t n = demo_features(world, event, item, ids);
  fprintf(out, "%u", label);
  for (size_t i = 0; i < n; i++) fprintf(out, " %u:1", ids[i] + 1);
  fputc('\n', out);
}

static furrow_status print_clicks(FILE *out, const demo_world *world, uint32_t n, furrow_error *err) {
  (void)n;
  uint64_t rng = world->size.seed;
  for (uint64_t row = 0; row < world->size.rows; row++) {
    demo_event event = {.user = draw_popular(&rng, world->size.users), .item = draw_popular(&rng, world->size.items)};
    draw_context(&rng, &event);
    print_row(out, world, uniform(&rng) < demo_chance(world, &event), &event, true);
    if (row % 4096 == 0 && interrupt_check(err) != FURROW_OK) return FURROW_E_STATE;
  }
  return FURROW_OK;
}

static furrow_status print_queries(FILE *out, const demo_world *world, uint32_t n, furrow_error *err) {
  for (uint32_t q = 0; q < n; q++) {
    const demo_event event = demo_query(world, q);
    print_row(out, world, event.user, &event, false);
  }
  return interrupt_check(err);
}

static furrow_status print_candidates(FILE *out, const demo_world *world, uint32_t n, furrow_error *err) {
  for (uint32_t q = 0; q < n; q++) {
    demo_event event = demo_query(world, q);
    for (event.item = 0; event.item < world->size.items; event.item++) print_row(out, world, q, &event, true);
    if (interrupt_check(err) != FURROW_OK) return FURROW_E_STATE;
  }
  return FURROW_OK;
}

static void print_topics(FILE *out, const demo_entity *entity) {
  fprintf(out, "\t%s\t%s\n", topics[entity->topic].name,
          entity->second == entity->topic ? "" : topics[entity->second].name);
}

static furrow_status print_items(FILE *out, const demo_world *world, uint32_t n, furrow_error *err) {
  fputs("item\tfeature\ttitle\ttopic\tsecond\n", out);
  for (uint32_t i = 0; i < n; i++) {
    char title[DEMO_TITLE];
    demo_title(world, i, title);
    fprintf(out, "%u\t%u\t%s", i, world->size.users + i + 1, title);
    print_topics(out, &world->items[i]);
  }
  return interrupt_check(err);
}

static furrow_status print_users(FILE *out, const demo_world *world, uint32_t n, furrow_error *err) {
  fputs("user\tfeature\tlikes\tsecond\n", out);
  for (uint32_t i = 0; i < n; i++) {
    fprintf(out, "%u\t%u", i, i + 1);
    print_topics(out, &world->users[i]);
  }
  return interrupt_check(err);
}

typedef furrow_status (*printer)(FILE *out, const demo_world *world, uint32_t n, furrow_error *err);

/* Removes a file that could not be finished. */
static furrow_status write_with(printer print, const demo_world *world, uint32_t n, const char *path,
                                furrow_error *err) {
  FILE *out = fopen(path, "wbe");
  if (!out) return fail_file(err, FURROW_E_IO, path, "cannot be written", errno);
  furrow_status status = print(out, world, n, err);
  errno = 0;
  const bool failed = fflush(out) != 0 || ferror(out) != 0;
  const int errnum = errno;
  if ((fclose(out) != 0 || failed) && status == FURROW_OK)
    status = fail_file(err, FURROW_E_IO, path, "cannot be written", errnum);
  if (status != FURROW_OK) remove(path);
  return status;
}

furrow_status demo_write_clicks(const demo_world *world, const char *path, furrow_error *err) {
  return write_with(print_clicks, world, 0, path, err);
}

furrow_status demo_write_queries(const demo_world *world, uint32_t n, const char *path, furrow_error *err) {
  return write_with(print_queries, world, n, path, err);
}

furrow_status demo_write_candidates(const demo_world *world, uint32_t n, const char *path, furrow_error *err) {
  return write_with(print_candidates, world, n, path, err);
}

furrow_status demo_write_items(const demo_world *world, const char *path, furrow_error *err) {
  return write_with(print_items, world, world->size.items, path, err);
}

furrow_status demo_write_users(const demo_world *world, const char *path, furrow_error *err) {
  return write_with(print_users, world, world->size.users, path, err);
}
