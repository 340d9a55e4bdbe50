/* cli/demo/demo_data.c: the log of a shop, generated with known click probabilities: users, items, times, clicks. */
#include "demo/demo_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/splitmix.h"

/* ---- Names ---- */

enum { WORDS = 10, FIRST_NAMES = 20 };

static const struct {
  const char *name, *words[WORDS];
} categories[DEMO_CATEGORIES] = {
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

static const char *const kinds[WORDS] = {"Little", "Great",     "New",    "Old",    "Secret",
                                         "Short",  "Practical", "Modern", "Golden", "Last"};

static const char *const devices[DEMO_DEVICES] = {"phone", "tablet", "desktop"};

static const char *const first_names[FIRST_NAMES] = {"ada",  "bea",  "carl", "dora", "emil",  "finn", "gita",
                                                     "hugo", "ines", "jan",  "kaya", "leo",   "maya", "nils",
                                                     "olga", "paul", "rosa", "sami", "tilda", "yara"};

const char *demo_category(unsigned category) {
  return categories[category].name;
}

const char *demo_device(unsigned device) {
  return devices[device];
}

void demo_user_name(uint32_t user, char name[DEMO_NAME]) {
  uint64_t rng = user;
  snprintf(name, DEMO_NAME, "%s%u", first_names[below(&rng, FIRST_NAMES)], user);
}

void demo_item_name(uint32_t item, char name[DEMO_NAME]) {
  snprintf(name, DEMO_NAME, "B%04u", item);
}

/* Three words; further items with the same ones are further volumes, so that titles differ. */
void demo_title(const demo_world *world, uint32_t item, char title[DEMO_TITLE]) {
  const unsigned number = item % (WORDS * WORDS * WORDS), volume = item / (WORDS * WORDS * WORDS);
  const char *word = categories[world->items[item].category].words[number / WORDS % WORDS];
  snprintf(title, DEMO_TITLE, volume > 0 ? "%s %s %s, Volume %u" : "%s %s %s", kinds[number % WORDS], word,
           forms[(number + number / (WORDS * WORDS)) % WORDS], volume + 1);
}

/* The number at the end of a name. */
static uint32_t number_of(const char *name, uint32_t count) {
  char *end;
  const char *digits = name + strcspn(name, "0123456789");
  const unsigned long number = strtoul(digits, &end, 10);
  return end == digits || number >= count ? count : (uint32_t)number;
}

uint32_t demo_user_of(const demo_world *world, const char *name) {
  return number_of(name, world->size.users);
}

uint32_t demo_item_of(const demo_world *world, const char *name) {
  return number_of(name, world->size.items);
}

/* ---- The truth ---- */

typedef enum kind { USER, ITEM, HOUR, DEVICE } kind;

static uint64_t seed_of(const demo_world *world, kind what, uint32_t id) {
  return world->size.seed * 0x9e3779b97f4a7c15 + ((uint64_t)what << 40) + (uint64_t)id * 1000003;
}

/* The seed and the number of an entity determine everything about it. */
static demo_entity make_entity(const demo_world *world, kind what, uint32_t id) {
  static const struct {
    double weight, first, second, rest, noise, chance_of_second, price;
  } shapes[] = {[USER] = {0.5, 1.9, 1.1, -0.7, 0.25, 0.8, 0.6},
                [ITEM] = {0.5, 1.1, 0.7, 0, 0.12, 0.35, 1},
                [HOUR] = {0.15, 0.5, 0.3, -0.1, 0.1, 0.5, 0},
                [DEVICE] = {0.15, 0.4, 0.3, -0.1, 0.1, 0.5, 0}};
  uint64_t rng = seed_of(world, what, id);
  demo_entity entity = {.category = (uint8_t)below(&rng, DEMO_CATEGORIES)};
  entity.second = (uint8_t)below(&rng, DEMO_CATEGORIES);
  if (uniform(&rng) >= shapes[what].chance_of_second) entity.second = entity.category;
  entity.weight = shapes[what].weight * bell(fw_splitmix64(&rng));
  for (unsigned t = 0; t < DEMO_CATEGORIES; t++) {
    const double mean = t == entity.category ? shapes[what].first
                        : t == entity.second ? shapes[what].second
                                             : shapes[what].rest;
    entity.taste[t] = mean + shapes[what].noise * bell(fw_splitmix64(&rng));
  }
  entity.price = shapes[what].price * bell(fw_splitmix64(&rng));
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

/* Usually 12.90, and from about 5 to 30. */
uint32_t demo_price(const demo_world *world, uint32_t item) {
  return 100 * (uint32_t)(12 * exponential(0.4 * world->items[item].price)) + 90;
}

static double dot(const demo_entity *a, const demo_entity *b) {
  double sum = 0;
  for (unsigned t = 0; t < DEMO_CATEGORIES; t++) sum += a->taste[t] * b->taste[t];
  return sum;
}

/* z, the logarithm of the odds of a click. */
static double log_odds(const demo_world *world, const demo_event *event) {
  const demo_entity *user = &world->users[event->user], *item = &world->items[event->item];
  const demo_entity *hour = &world->hours[event->hour], *device = &world->devices[event->device];
  const double evening = event->hour >= 18 ? 1.3 : 0.9;
  return -2 + user->weight + item->weight + hour->weight + device->weight + evening * dot(user, item) +
         user->price * item->price + dot(hour, item) + dot(device, item);
}

double demo_chance(const demo_world *world, const demo_event *event) {
  return 1 / (1 + exponential(-log_odds(world, event)));
}

/* ---- Events ---- */

/* Low numbers occur more often: the first tenth of the users or items has a fifth of the draws. */
static uint32_t draw_popular(uint64_t *rng, uint32_t count) {
  const double u = uniform(rng);
  return (uint32_t)(u * (0.4 + 0.6 * u) * count);
}

/* The user usually looks at the item that suits them best, out of a few items on a page. */
static void choose_item(const demo_world *world, uint64_t *rng, demo_event *event) {
  enum { PAGE = 6 };
  double best = -1e9;
  demo_event candidate = *event;
  for (int i = 0; i < PAGE; i++) {
    candidate.item = draw_popular(rng, world->size.items);
    const double liking = log_odds(world, &candidate) + 0.7 * bell(fw_splitmix64(rng));
    if (liking <= best) continue;
    best = liking;
    event->item = candidate.item;
  }
}

demo_event demo_query(const demo_world *world, uint32_t q) {
  uint64_t rng = world->size.seed + 0x71 + (uint64_t)q * 7919;
  demo_event event = {.user = draw_popular(&rng, world->size.users)};
  event.hour = (uint8_t)(8 + 12 * (q % 2)); /* morning and evening, all devices */
  event.device = (uint8_t)(q % DEMO_DEVICES);
  return event;
}

/* Second of the day after a share of the day's events: few at night, half of them after 17:00. */
static uint32_t second_of(double share) {
  const double hour = share < 0.1 ? 70 * share : share < 0.5 ? 7 + 25 * (share - 0.1) : 17 + 14 * (share - 0.5);
  return (uint32_t)(3600 * hour);
}

/* ---- Files ---- */

static void print_event(FILE *out, const demo_event *event, uint32_t day, uint32_t second) {
  char user[DEMO_NAME], item[DEMO_NAME];
  demo_user_name(event->user, user);
  demo_item_name(event->item, item);
  fprintf(out, "2026-03-%02u %02u:%02u:%02u,%s,%s,%s,%d\n", day + 1, second / 3600, second / 60 % 60, second % 60, user,
          item, devices[event->device], event->click);
}

/* The events of four weeks, evenly over the days. */
static furrow_status print_log(FILE *out, const demo_world *world, furrow_error *err) {
  enum { DAYS = 28 };
  uint64_t rng = world->size.seed;
  fputs("time,user,item,device,click\n", out);
  for (uint64_t row = 0; row < world->size.rows; row++) {
    const double when = (double)row * DAYS / (double)world->size.rows;
    const uint32_t day = (uint32_t)when, second = second_of(when - day);
    demo_event event = {.user = draw_popular(&rng, world->size.users), .hour = (uint8_t)(second / 3600)};
    event.device = (uint8_t)below(&rng, DEMO_DEVICES);
    choose_item(world, &rng, &event);
    event.click = uniform(&rng) < demo_chance(world, &event);
    print_event(out, &event, day, second);
    if (row % 4096 == 0 && interrupt_check(err) != FURROW_OK) return FURROW_E_STATE;
  }
  return FURROW_OK;
}

static furrow_status print_items(FILE *out, const demo_world *world, furrow_error *err) {
  fputs("item,title,category,price\n", out);
  for (uint32_t i = 0; i < world->size.items; i++) {
    char name[DEMO_NAME], title[DEMO_TITLE];
    const uint32_t price = demo_price(world, i);
    demo_item_name(i, name);
    demo_title(world, i, title);
    const char *quote = strchr(title, ',') ? "\"" : "";
    fprintf(out, "%s,%s%s%s,%s,%u.%02u\n", name, quote, title, quote, categories[world->items[i].category].name,
            price / 100, price % 100);
  }
  return interrupt_check(err);
}

typedef furrow_status (*print_file)(FILE *out, const demo_world *world, furrow_error *err);

static furrow_status write_with(print_file print, const demo_world *world, const char *path, furrow_error *err) {
  FILE *out = fopen(path, "we");
  if (!out) return fail_file(err, FURROW_E_IO, path, "cannot be written", errno);
  furrow_status status = print(out, world, err);
  const bool failed = fflush(out) != 0 || ferror(out) != 0;
  const int errnum = errno;
  if ((fclose(out) != 0 || failed) && status == FURROW_OK)
    status = fail_file(err, FURROW_E_IO, path, "cannot be written", errnum);
  if (status != FURROW_OK) remove(path);
  return status;
}

furrow_status demo_write_log(const demo_world *world, const char *path, furrow_error *err) {
  return write_with(print_log, world, path, err);
}

furrow_status demo_write_items(const demo_world *world, const char *path, furrow_error *err) {
  return write_with(print_items, world, path, err);
}

/* ---- Reading the log ---- */

static bool read_event(const demo_world *world, const char *line, demo_event *event) {
  char user[DEMO_NAME], item[DEMO_NAME], device[DEMO_NAME];
  unsigned hour, click;
  if (sscanf(line, "%*10s %2u:%*u:%*u,%23[^,],%23[^,],%23[^,],%u", &hour, user, item, device, &click) != 5)
    return false;
  *event = (demo_event){
      .user = demo_user_of(world, user), .item = demo_item_of(world, item), .hour = (uint8_t)hour, .click = click > 0};
  while (event->device < DEMO_DEVICES && strcmp(devices[event->device], device) != 0) event->device++;
  return event->user < world->size.users && event->item < world->size.items && hour < DEMO_HOURS &&
         event->device < DEMO_DEVICES;
}

static furrow_status add_event(demo_log *log, const demo_event *event, furrow_error *err) {
  void *events = log->events;
  if (fw_grow(&events, &log->capacity, log->count + 1, sizeof *log->events, NULL) != FURROW_OK) return fail_memory(err);
  log->events = events;
  log->events[log->count++] = *event;
  return FURROW_OK;
}

furrow_status demo_log_read(demo_log *log, const demo_world *world, const char *path, furrow_error *err) {
  char line[256];
  demo_event event;
  furrow_status status = FURROW_OK;
  FILE *file = fopen(path, "re");
  if (!file) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  bool header = true;
  while (status == FURROW_OK && fgets(line, sizeof line, file)) {
    if (!header)
      status = read_event(world, line, &event) ? add_event(log, &event, err)
                                               : fail_file(err, FURROW_E_FORMAT, path, "is not the demo's log", 0);
    header = false;
  }
  if (status == FURROW_OK && ferror(file)) status = fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  fclose(file);
  return status;
}

void demo_log_clear(demo_log *log) {
  free(log->events);
  *log = (demo_log){0};
}
