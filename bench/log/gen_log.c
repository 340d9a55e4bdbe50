/* bench/log/gen_log.c: makes a raw click log, as a web shop would write it.
 *
 *   gen_log KIND BYTES [SEED] > file
 *
 *   plain    csv: click, user, item, site, category, device, city, price, quantity, seconds
 *   quoted   the same events, texts in quotes, some of which hold commas and doubled quotes
 *   json     the same events as JSON lines
 *   many     csv of a label, three ids with about a million values in 100 MB, drawn uniformly, and a number
 *
 * The log ends with the event that reaches BYTES. Users and items follow a power law. The same arguments give the same
 * bytes everywhere.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/splitmix.h"

typedef struct event {
  unsigned click, user, item, site, category, device, city, cents, quantity;
  uint64_t seconds;
} event;

static const char *const devices[] = {"phone", "desktop", "tablet", "tv"};

static unsigned power_law(uint64_t *rng, unsigned bound) {
  const double u = uniform(rng);
  return (unsigned)(u * u * u * u * bound);
}

static event next_event(uint64_t *rng, uint64_t *seconds) {
  event e = {.click = below(rng, 5) == 0,
             .user = power_law(rng, 200000),
             .item = power_law(rng, 100000),
             .site = below(rng, 5000),
             .category = below(rng, 30),
             .device = below(rng, 4),
             .city = below(rng, 2000),
             .quantity = 1 + below(rng, 8)};
  const double price = 40 + 20 * bell(fw_splitmix64(rng));
  e.cents = (unsigned)(100 * (price < 1 ? 1 : price));
  *seconds += below(rng, 4) == 0;
  e.seconds = *seconds;
  return e;
}

static int print_plain(const event *e) {
  return printf("%u,user_%u,item-%06u,www.site%u.example.com,cat%u,%s,city%04u,%u.%02u,%u,%" PRIu64 "\n", e->click,
                e->user, e->item, e->site, e->category, devices[e->device], e->city, e->cents / 100, e->cents % 100,
                e->quantity, e->seconds);
}

static int print_quoted(const event *e) {
  const char *more = e->item % 16 == 0 ? " \"\"new\"\"" : e->item % 4 == 0 ? ", red" : "";
  return printf(
      "%u,\"user_%u\",\"item-%06u%s\",\"www.site%u.example.com\",\"cat%u\",\"%s\",\"city%04u\",%u.%02u,%u,%" PRIu64
      "\n",
      e->click, e->user, e->item, more, e->site, e->category, devices[e->device], e->city, e->cents / 100,
      e->cents % 100, e->quantity, e->seconds);
}

static int print_json(const event *e) {
  return printf("{\"click\": %u, \"user_id\": \"user_%u\", \"item_id\": \"item-%06u\", \"site\": "
                "\"www.site%u.example.com\", \"category\": \"cat%u\", \"device\": \"%s\", \"city\": \"city%04u\", "
                "\"price\": %u.%02u, \"qty\": %u, \"timestamp\": %" PRIu64 "}\n",
                e->click, e->user, e->item, e->site, e->category, devices[e->device], e->city, e->cents / 100,
                e->cents % 100, e->quantity, e->seconds);
}

static int print_many(uint64_t *rng) {
  const unsigned session = below(rng, 1500000), user = below(rng, 1000000), item = below(rng, 1000000);
  return printf("%u,%08x-%04x,user_%u,item-%07u,%u\n", below(rng, 2), session * 2654435761U, session & 0xffff, user,
                item, below(rng, 1000));
}

static int make_log(const char *kind, uint64_t bytes, uint64_t seed) {
  uint64_t rng = seed, seconds = 1700000000, written = 0;
  const bool many = strcmp(kind, "many") == 0, json = strcmp(kind, "json") == 0, quoted = strcmp(kind, "quoted") == 0;
  if (many)
    puts("click,session,user_id,item_id,position");
  else if (!json)
    puts("click,user_id,item_id,site,category,device,city,price,qty,timestamp");
  while (written < bytes) {
    int length;
    if (many) {
      length = print_many(&rng);
    } else {
      const event e = next_event(&rng, &seconds);
      length = json ? print_json(&e) : quoted ? print_quoted(&e) : print_plain(&e);
    }
    if (length < 0) break;
    written += (uint64_t)length;
  }
  return fflush(stdout) != 0 || ferror(stdout);
}

int main(int argc, char **argv) {
  static const char *const kinds[] = {"plain", "quoted", "json", "many"};
  bool known = false;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && argc >= 3; i++) known |= strcmp(argv[1], kinds[i]) == 0;
  if (!known || argc > 4) {
    fprintf(stderr, "usage: gen_log plain|quoted|json|many BYTES [SEED]\n");
    return 2;
  }
  return make_log(argv[1], strtoull(argv[2], NULL, 10), argc == 4 ? strtoull(argv[3], NULL, 10) : 1);
}
