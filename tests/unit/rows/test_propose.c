/* tests/unit/rows/test_propose.c: schemas proposed from logs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/rng.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "support/cmocka_all.h"

/* ---- Logs in memory ---- */

static void add_file(const char *path, const fw_buffer *text) {
  assert_int_equal(fw_buffer_status(text, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add(path, text->bytes, text->size, NULL, NULL, NULL), FURROW_OK);
}

static void remove_file(const char *path, fw_buffer *text) {
  assert_int_equal(furrow_memory_file_remove(path, NULL), FURROW_OK);
  fw_buffer_clear(text);
}

static furrow_status propose(furrow_schema **schema, const char *uri, const furrow_schema_propose_params *params,
                             furrow_error *err) {
  *schema = NULL;
  return furrow_schema_propose(schema, uri, params, err);
}

static char *text_of(const char *uri, const furrow_schema_propose_params *params, bool comments) {
  furrow_schema *schema;
  furrow_error err = {0};
  char *text = NULL;
  if (propose(&schema, uri, params, &err) != FURROW_OK) fail_msg("%s: %s", uri, err.message);
  assert_int_equal(furrow_schema_text(schema, comments, &text, NULL, NULL), FURROW_OK);
  furrow_schema_free(schema);
  return text;
}

static void expect_schema(const char *uri, const furrow_schema_propose_params *params, const char *columns) {
  char wanted[4096];
  char *text = text_of(uri, params, false);
  snprintf(wanted, sizeof wanted, "{\n  \"columns\": {\n%s}\n", columns);
  assert_string_equal(text, wanted);
  furrow_free(text);
}

static void expect_refused(const char *uri, const furrow_schema_propose_params *params, furrow_status status,
                           const char *message) {
  furrow_schema *schema;
  furrow_error err = {0};
  assert_int_equal(propose(&schema, uri, params, &err), status);
  assert_string_equal(err.message, message);
  assert_null(schema);
  assert_int_equal(propose(&schema, uri, params, NULL), status);
  assert_null(schema);
}

static void expect_text(const char *uri, const furrow_schema_propose_params *params, const char *part) {
  char *text = text_of(uri, params, true);
  if (!strstr(text, part)) fail_msg("%s is not in %s", part, text);
  furrow_free(text);
}

/* ---- One column after the other ---- */

enum { ROWS = 1200 };

/* A column that `cell` writes, and the member that is proposed for it. */
typedef struct example {
  const char *name;
  void (*cell)(fw_buffer *text, uint64_t row, uint64_t chance);
  const char *wanted;
} example;

static void put_user(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "u%d", (int)(c % 50));
}
static void put_id(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", 1000 + (int)(c % 200));
}
static void put_row(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)c;
  fw_buffer_format(t, "%d", (int)row);
}
static void put_hex(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "x%016llx", (unsigned long long)c);
}
static void put_amount(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", (int)(c % 90));
}
static void put_real(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%g", (double)(c % 10000) / 100 - 50);
}
static void put_skewed(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, "%d", row == 7 ? 100000 : (int)(c % 40));
}
static void put_bit(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", (int)(c % 2));
}
static void put_level(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", 1 + (int)(c % 5));
}
static void put_zip(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%05d", (int)(c % 99999));
}
static void put_mostly_number(fw_buffer *t, uint64_t row, uint64_t c) {
  if (row == 9)
    fw_buffer_text(t, "12 kg");
  else
    put_real(t, row, c);
}
static void put_number_or_na(fw_buffer *t, uint64_t row, uint64_t c) {
  if (c % 3 == 0)
    fw_buffer_text(t, "NA");
  else
    put_real(t, row, c);
}
static void put_genres(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "g%d|h%d|i%d", (int)(c % 7), (int)(c / 7 % 6), (int)(c / 100 % 5));
}
static void put_spaced(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "g%d; h%d; i%d", (int)(c % 7), (int)(c / 7 % 6), (int)(c / 100 % 5));
}
static void put_numbers(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d %d", (int)(c % 30), (int)(c / 30 % 30));
}
static void put_city(fw_buffer *t, uint64_t row, uint64_t c) {
  static const char *const cities[] = {"New York", "Los Angeles", "San Jose", "Paris", "Sao Paulo"};
  (void)row;
  fw_buffer_text(t, cities[c % 5]);
}
static void put_title(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, "Part %d of %llx", (int)row, (unsigned long long)c);
}
static void put_prose(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_rng rng;
  (void)row;
  fw_rng_init(&rng, c);
  for (int i = 0; i < 12; i++) fw_buffer_format(t, "%sw%d", i > 0 ? " " : "", (int)fw_rng_below(&rng, 900));
}
static void put_constant(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  (void)c;
  fw_buffer_text(t, "x");
}
static void put_nothing(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)t;
  (void)row;
  (void)c;
}
static void put_flag(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 2 ? "x" : "");
}
static void put_iso(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "2024-05-%02dT%02d:00:00Z", 1 + (int)(c % 30), (int)(c / 30 % 24));
}
static void put_date(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "2024-05-%02d", 1 + (int)(c % 30));
}
static void put_seconds(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%lld", 1700000000LL + (long long)(c % 1000000));
}
static void put_micros(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%lld", (1700000000LL + (long long)(c % 1000000)) * 1000000);
}
static void put_yes(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "yes" : "no");
}
static void put_rare(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "zebra" : "ape");
}
static void put_often_number(fw_buffer *t, uint64_t row, uint64_t c) {
  if (row % 10 == 0)
    fw_buffer_text(t, "bad");
  else
    fw_buffer_format(t, "%d", 1 + (int)(c % 3));
}
/* The positive class is the more frequent one of these. */
static void put_play(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "play" : "skip");
}
static void put_accepted(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "Accepted" : "Rejected");
}
static void put_bought(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "purchase" : "cart");
}
static void put_dislike(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "liked" : "not_liked");
}
static void put_class(fw_buffer *t, uint64_t row, uint64_t c) {
  static const char *const classes[] = {"setosa", "virginica", "versicolor"};
  (void)row;
  fw_buffer_text(t, classes[c % 3]);
}
/* NA and the like are not classes, unless fewer than two would be left; none is a class. */
static void put_class_or_na(fw_buffer *t, uint64_t row, uint64_t c) {
  const char *class = c % 3 ? "minor" : "none";
  fw_buffer_text(t, row % 20 == 9 ? "NA" : row % 20 == 19 ? "N/A" : class);
}
static void put_yes_or_na(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 2 ? "yes" : "NA");
}

static void put_signed(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", (int)(c % 101) - 50);
}
static void put_commoner(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 4 ? "ape" : "apes");
}
static void put_fraction(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%g", 0.5 + (double)(c % 90));
}
static void put_na(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_text(t, c % 2 ? "NA" : "null");
}
static void put_small_codes(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "0%d", 1 + (int)(c % 5));
}
static void put_large(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", 1000 * (int)(c % 3));
}
static void put_low(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d", -1000 * (int)(c % 3));
}
static void put_animal(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "animal%d", (int)(c % 4));
}

/* Numbers as people write them. */
static void put_price(fw_buffer *t, uint64_t row, uint64_t c) {
  const int cents = (int)(c / 16 % 100);
  if (row % 2)
    fw_buffer_format(t, "$%d,%03d.%02d", 1 + (int)(c % 16), (int)(c / 1600 % 1000), cents);
  else
    fw_buffer_format(t, "$%d.%02d", (int)(c % 16), cents);
}
static void put_percent(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d.%d%%", (int)(c % 100), (int)(c / 100 % 10));
}
static void put_comma(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d,%02d", (int)(c % 500), (int)(c / 500 % 100));
}
static void put_euro(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, "%d.%03d,%02d \u20ac", 1 + (int)(row % 9), (int)(c % 1000), (int)(c / 1000 % 100));
}
static void put_grouped(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d,%03d", 1 + (int)(c % 99), (int)(c / 99 % 1000));
}
static void put_balance(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, row % 3 ? "%d.50" : "(%d.50)", (int)(c % 500));
}
static void put_kilos(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d kg", (int)(c % 20));
}
static void put_units(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, row % 2 ? "%d kg" : "%d lb", (int)(c % 20));
}
static void put_inf(fw_buffer *t, uint64_t row, uint64_t c) {
  if (row % 10 == 0)
    fw_buffer_text(t, row % 20 ? "-inf" : "inf");
  else
    fw_buffer_format(t, "%de-1", (int)(c % 500));
}
/* Not one number each. */
static void put_pair(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d,%d", 100 + (int)(c % 30), 100 + (int)(c / 30 % 30));
}
static void put_some(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_buffer_format(t, row % 3 ? "%d,%d" : "%d,%d,1", (int)(c % 30), (int)(c / 30 % 30));
}
static void put_flat(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "Flat %d", (int)(c % 20));
}

/* Dates as people write them. */
static void put_dotted(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d.%d.2023", 1 + (int)(c % 12), 1 + (int)(c / 12 % 12));
}
static void put_month_first(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%d/%d/%d", 1 + (int)(c % 12), 1 + (int)(c / 12 % 28), 1990 + (int)(c / 500 % 30));
}
static void put_named(fw_buffer *t, uint64_t row, uint64_t c) {
  static const char *const names[] = {"Jan", "Jun", "Dec"};
  (void)row;
  fw_buffer_format(t, "%s %d 1998", names[c % 3], 1 + (int)(c / 3 % 28));
}
static void put_slashes(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "2001/03/%02d %d:23", 1 + (int)(c % 30), (int)(c / 30 % 24));
}
static void put_epoch(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "%lld.%03d", 1700000000LL + (long long)(c % 1000000), (int)(c / 1000000 % 1000));
}

/* Names of several words, and identifiers. */
static void put_state(fw_buffer *t, uint64_t row, uint64_t c) {
  static const char *const states[] = {
      "New York",      "New Jersey", "North Carolina", "South Carolina", "North Dakota", "South Dakota",
      "West Virginia", "Virginia",   "Oregon",         "Ohio",           "Texas",        "Utah",
      "Alaska",        "Iowa",       "Maine",          "Nevada",         "Vermont",      "Idaho",
      "Kansas",        "Georgia",    "North Virginia", "South Jersey",   "New Carolina", "West Dakota"};
  (void)row;
  fw_buffer_text(t, states[c % (sizeof states / sizeof *states)]);
}
/* Most have blanks, and there are many of them. */
static void put_town(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  if (c % 3 == 0)
    fw_buffer_format(t, "N%d E%d", (int)(c / 3 % 12), (int)(c / 36 % 12));
  else
    fw_buffer_format(t, "t%d", (int)(c / 3 % 300));
}
static void put_customer(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)c;
  fw_buffer_format(t, "%04d-CUST", (int)row);
}
static void put_long_id(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)row;
  fw_buffer_format(t, "123456789012345678%02d", (int)(c % 70));
}
static void put_long_row(fw_buffer *t, uint64_t row, uint64_t c) {
  (void)c;
  fw_buffer_format(t, "1234567890123456%04d", (int)row);
}
static void put_headline(fw_buffer *t, uint64_t row, uint64_t c) {
  fw_rng rng;
  (void)row;
  fw_rng_init(&rng, c);
  for (int i = 0; i < 6; i++) fw_buffer_format(t, "%sw%d", i > 0 ? " " : "", (int)fw_rng_below(&rng, 900));
}

static const example examples[] = {
    {"Origin State", put_state, "{\"as\": \"category\"}"},
    {"town", put_town, "{\"as\": \"category\"}"},
    {"customerID", put_customer, "{\"as\": \"ignore\"}"},
    {"customer", put_row, "{\"as\": \"ignore\"}"},
    {"Customer Number", put_row, "{\"as\": \"ignore\"}"},
    {"product_id", put_row, "{\"as\": \"ignore\"}"},
    {"device", put_long_id, "{\"as\": \"category\"}"},
    {"user_id", put_long_id, "{\"as\": \"category\", \"role\": \"user\"}"},
    {"token", put_long_row, "{\"as\": \"ignore\"}"},
    {"headline", put_headline, "{\"as\": \"text\", \"min_count\": 2}"},
    {"born", put_dotted,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"day-first\", \"parts\": [\"weekday\", \"month\", \"age\"]}"},
    {"born", put_month_first,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"month-first\", \"parts\": [\"weekday\", \"month\", \"age\"]}"},
    {"born", put_named,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"text\", \"parts\": [\"weekday\", \"month\", \"age\"]}"},
    {"sent", put_slashes,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"text\", \"parts\": [\"hour\", \"weekday\"]}"},
    {"ts", put_epoch, "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", \"parts\": [\"hour\", \"weekday\"]}"},
    {"price", put_price, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\", \"unit\": \"$\"}"},
    {"label", put_price, "{\"as\": \"label\", \"decimal\": \".\", \"unit\": \"$\"}"},
    {"share", put_percent, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\", \"unit\": \"%\"}"},
    {"amount", put_comma, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \",\"}"},
    {"sample_weight", put_comma, "{\"as\": \"weight\", \"decimal\": \",\"}"},
    {"preis", put_euro, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \",\", \"unit\": \"\u20ac\"}"},
    {"people", put_grouped, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\"}"},
    {"balance", put_balance, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\"}"},
    {"load", put_kilos, "{\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\", \"unit\": \"kg\"}"},
    {"load", put_units, "{\"as\": \"category\"}"},
    {"ratio", put_inf, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"pair", put_pair, "{\"as\": \"set\", \"separator\": \",\"}"},
    {"some", put_some, "{\"as\": \"set\", \"separator\": \",\"}"},
    {"flat", put_flat, "{\"as\": \"category\"}"},
    {"balance", put_signed, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"target", put_commoner, "{\"as\": \"label\", \"classes\": [\"ape\", \"apes\"]}"},
    {"sample_weight", put_signed, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"sample_weight", put_city, "{\"as\": \"category\"}"},
    {"sample_weight", put_number_or_na, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"qid", put_fraction, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"nothing", put_na, "{\"as\": \"category\"}"},
    {"code", put_small_codes, "{\"as\": \"category\"}"},
    {"user_id", put_user, "{\"as\": \"category\", \"role\": \"user\"}"},
    {"movieId", put_id, "{\"as\": \"category\", \"role\": \"item\"}"},
    {"shop_id", put_id, "{\"as\": \"category\"}"},
    {"request_id", put_row, "{\"as\": \"ignore\"}"},
    {"index", put_row, "{\"as\": \"ignore\"}"},
    {"mileage", put_row, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"token", put_hex, "{\"as\": \"ignore\"}"},
    {"age", put_amount, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"x", put_real, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"income", put_skewed, "{\"as\": \"number\", \"scale\": \"log\"}"},
    {"premium", put_bit, "{\"as\": \"number\", \"scale\": \"none\"}"},
    {"level", put_level, "{\"as\": \"category\"}"},
    {"zip", put_zip, "{\"as\": \"category\"}"},
    {"x", put_mostly_number, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"x", put_number_or_na, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"genres", put_genres, "{\"as\": \"set\", \"separator\": \"|\"}"},
    {"tags", put_spaced, "{\"as\": \"set\", \"separator\": \"; \"}"},
    {"seen", put_numbers, "{\"as\": \"set\", \"separator\": \" \"}"},
    {"city", put_city, "{\"as\": \"category\"}"},
    {"title", put_title, "{\"as\": \"ignore\"}"},
    {"review", put_prose, "{\"as\": \"text\", \"min_count\": 2}"},
    {"version", put_constant, "{\"as\": \"ignore\"}"},
    {"blank", put_nothing, "{\"as\": \"ignore\"}"},
    {"flag", put_flag, "{\"as\": \"category\"}"},
    {"event_time", put_iso,
     "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"text\", \"parts\": [\"hour\", \"weekday\"]}"},
    {"day", put_date, "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"text\", \"parts\": [\"weekday\"]}"},
    {"ts", put_seconds, "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", \"parts\": [\"hour\", \"weekday\"]}"},
    {"ts", put_micros, "{\"as\": \"time\", \"role\": \"time\", \"unit\": \"us\", \"parts\": [\"hour\", \"weekday\"]}"},
    {"phone", put_seconds, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"rating", put_real, "{\"as\": \"label\"}"},
    {"rating", put_mostly_number, "{\"as\": \"label\"}"},
    {"rating", put_often_number, "{\"as\": \"label\", \"classes\": [\"1\", \"2\", \"3\", \"bad\"]}"},
    {"is_click", put_bit, "{\"as\": \"label\"}"},
    {"Stars", put_level, "{\"as\": \"label\"}"},
    {"outcome", put_play, "{\"as\": \"label\", \"classes\": [\"skip\", \"play\"]}"},
    {"outcome", put_accepted, "{\"as\": \"label\", \"classes\": [\"Rejected\", \"Accepted\"]}"},
    {"outcome", put_bought, "{\"as\": \"label\", \"classes\": [\"cart\", \"purchase\"]}"},
    {"outcome", put_dislike, "{\"as\": \"label\", \"classes\": [\"not_liked\", \"liked\"]}"},
    {"clicked", put_yes, "{\"as\": \"label\", \"classes\": [\"no\", \"yes\"]}"},
    {"target", put_rare, "{\"as\": \"label\", \"classes\": [\"zebra\", \"ape\"]}"},
    {"class", put_class, "{\"as\": \"label\", \"classes\": [\"setosa\", \"versicolor\", \"virginica\"]}"},
    {"class", put_class_or_na, "{\"as\": \"label\", \"classes\": [\"minor\", \"none\"]}"},
    {"class", put_yes_or_na, "{\"as\": \"label\", \"classes\": [\"yes\", \"NA\"]}"},
    {"class", put_hex, "{\"as\": \"ignore\"}"},
    {"response", put_constant, "{\"as\": \"ignore\"}"},
    {"sample_weight", put_amount, "{\"as\": \"weight\"}"},
    {"weight", put_amount, "{\"as\": \"number\", \"scale\": \"standard\"}"},
    {"qid", put_amount, "{\"as\": \"group\"}"},
};

/* What is proposed can be learned from, unless a cell is refused. */
static void expect_encoder(const char *uri, bool refused) {
  furrow_schema *schema;
  furrow_encoder *encoder = NULL;
  furrow_error err = {0};
  assert_int_equal(propose(&schema, uri, NULL, NULL), FURROW_OK);
  const furrow_status status = furrow_encoder_build(&encoder, uri, schema, NULL, &err);
  if (status != (refused ? FURROW_E_PARSE : FURROW_OK)) fail_msg("%s: %s", uri, err.message);
  if (refused) assert_int_equal(err.line, 11);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
}

/* Each beside a column of numbers, so that there is a delimiter. */
static void what_columns_are(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const example *e = &examples[i];
    fw_buffer text = {0};
    char wanted[512];
    fw_buffer_format(&text, "%s\tother\n", e->name);
    for (uint64_t row = 0; row < ROWS; row++) {
      e->cell(&text, row, fw_rng_hash(i, row));
      fw_buffer_format(&text, "\t%g\n", (double)(fw_rng_hash(99, row) % 1000) / 8);
    }
    add_file("memory://log.tsv", &text);
    snprintf(wanted, sizeof wanted,
             "    \"%s\": %s,\n    \"other\": {\"as\": \"number\", \"scale\": \"standard\"}\n  }\n", e->name,
             e->wanted);
    expect_schema("memory://log.tsv", NULL, wanted);
    expect_encoder("memory://log.tsv", e->cell == put_mostly_number || e->cell == put_class_or_na);
    remove_file("memory://log.tsv", &text);
  }
}

/* Proposes a schema for a table of one row again and again; returns the doubt about its first column. */
static char *doubt_of(const char *header, const char *row, const char *wanted) {
  fw_buffer text = {0};
  furrow_schema *schema;
  furrow_error err = {0};
  char *written = NULL;
  fw_buffer_format(&text, "%s\n", header);
  for (int i = 0; i < 30; i++) fw_buffer_format(&text, row, i % 9 + 1);
  add_file("memory://marks.csv", &text);
  if (propose(&schema, "memory://marks.csv", NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_int_equal(furrow_schema_text(schema, false, &written, NULL, NULL), FURROW_OK);
  if (!strstr(written, wanted)) fail_msg("%s does not have %s", written, wanted);
  char *doubt = strdup(furrow_schema_unsure(schema, 0));
  assert_non_null(doubt);
  furrow_free(written);
  furrow_schema_free(schema);
  remove_file("memory://marks.csv", &text);
  return doubt;
}

static void expect_doubt(const char *header, const char *row, const char *wanted, const char *doubt) {
  char *found = doubt_of(header, row, wanted);
  if (doubt ? !strstr(found, doubt) : found[0] != 0) fail_msg("%s: %s", header, found);
  free(found);
}

/* 1,234 and 1.234 are two numbers each; the other columns decide, and what they do not decide is reported. */
static void which_mark_is_the_decimal_one(void **state) {
  (void)state;
  static const char point[] = "\"a\": {\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \".\"}";
  static const char comma[] = "\"a\": {\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \",\"}";
  static const char plain[] = "\"a\": {\"as\": \"number\", \"scale\": \"standard\"}";
  expect_doubt("a;b", "%1$d,234;x\n", comma, "a comma is taken for the decimal mark, because the delimiter is");
  expect_doubt("a;b", "%1$d,234;%1$d.5\n", point, NULL);
  expect_doubt("a;b", "%1$d,234;%1$d,5\n", comma, "a comma is taken for the decimal mark");
  expect_doubt("a;b;c", "%1$d,234;%1$d,5;%1$d.5\n", comma, "a comma is taken for the decimal mark");
  expect_doubt("a;b", "%1$d.234;%1$d,5\n", comma, "because other columns have decimal commas");
  expect_doubt("a;b;c", "%1$d.234;%1$d,5;%1$d.5\n", plain, "other columns have decimal commas");
  expect_doubt("a,b", "\"%1$d,5\",x\n", "\"a\": {\"as\": \"set\"", "may be numbers with a decimal comma");
  expect_doubt("a,b", "\"%1$d,234\",x\n", point, "a comma is taken to separate groups of digits");
  expect_doubt("a,b", "\"101,20%1$d\",x\n", "\"a\": {\"as\": ", NULL);
}

/* 1.173 and 992 are numbers with groups of digits, or with a fraction of three digits. */
static void what_points_separate(void **state) {
  (void)state;
  static const char comma[] = "\"a\": {\"as\": \"number\", \"scale\": \"standard\", \"decimal\": \",\"}";
  static const char plain[] = "\"a\": {\"as\": \"number\", \"scale\": \"standard\"}";
  static const char grouped[] = "points are taken to separate groups of digits";
  static const char decimal[] = "a point is taken for the decimal mark, but three digits follow each point";
  expect_doubt("a;b", "%1$d.173;x\n99%1$d;x\n", comma, grouped);
  expect_doubt("a;b", "%1$d.173;x\n", comma, grouped);
  expect_doubt("a;b", "-%1$d.173;x\n-99%1$d;x\n", comma, grouped);
  expect_doubt("a,b", "%1$d.173,\"%1$d,5 \u20ac\"\n", comma, grouped);
  expect_doubt("a,b", "%1$d.173,x\n1.234.%1$d67,x\n", comma, NULL);
  expect_doubt("a,b", "%1$d.173,%1$d.234.567\n", comma, grouped);
  expect_doubt("a;b", "%1$d.173 \u20ac;x\n99%1$d \u20ac;x\n", "\"decimal\": \",\", \"unit\": \"\u20ac\"", grouped);
  /* nothing but the form speaks for groups */
  expect_doubt("a,b", "%1$d.173,x\n99%1$d,x\n", plain, decimal);
  expect_doubt("a,b", "%1$d.173,%1$d.5\n99%1$d,%1$d.5\n", plain, decimal);
  expect_doubt("a,b", "%1$d.173 \u20ac,x\n", "\"decimal\": \".\", \"unit\": \"\u20ac\"", decimal);
  /* and something speaks against them */
  expect_doubt("a,b", "%1$d.173,%1$d.5\n", plain, NULL);
  expect_doubt("a;b", "%1$d.173;%1$d.5\n", plain, NULL);
  expect_doubt("a;b", "%1$d.173;%1$d.5\n%1$d.173;unknown\n%1$d.173;2.5\n", plain, NULL);
  expect_doubt("a;b", "%1$d.173;x\n200%1$d;x\n", plain, NULL);
  expect_doubt("a;b", "1.173;x\n99%1$d;x\n", plain, NULL);
  expect_doubt("a;b", "%1$d.173;x\n0.173;x\n", plain, NULL);
  expect_doubt("a;b", "%1$d.173;x\n%1$d.5;x\n", plain, NULL);
}

/* Most cells are numbers or dates, but too few for such a column. */
static void columns_of_mixed_cells(void **state) {
  (void)state;
  static const char category[] = "\"a\": {\"as\": \"category\"}";
  expect_doubt("a;b", "%1$d.5;x\n12 or 13;x\n%1$d;x\n", category,
               "cells that are not numbers: 30 of 90, such as 12 or 13; {\"as\": \"number\"} reads the column as "
               "numbers once these cells are empty or in \"missing\"");
  expect_doubt("a;b", "%1$d.5;x\n#DIV/0!;x\n%1$d;x\n", "\"missing\": [\"#DIV/0!\"]",
               "30 texts (#DIV/0!) count as missing; {\"as\": \"category\"} makes every text a value");
  expect_doubt("a;b", "%1$d,5 \u20ac;x\nunknown;x\n%1$d,7 \u20ac;x\n",
               "\"decimal\": \",\", \"unit\": \"\u20ac\", \"missing\": [\"unknown\"]",
               "30 texts (unknown) count as missing");
  expect_doubt("a;b", "$%1$d.5;x\n5 oz;x\n$%1$d.7;x\n", category,
               "cells that are not numbers: 30 of 90, such as 5 oz; {\"as\": \"number\", \"decimal\": \".\", \"unit\": "
               "\"$\"} reads");
  expect_doubt("a;b", "2024-05-0%1$d;x\n2024-99-99;x\n2024-06-0%1$d;x\n", category,
               "cells that are not dates: 30 of 90, such as 2024-99-99; {\"as\": \"time\", \"unit\": \"text\"} reads");
  expect_doubt("a;b", "2024-05-0%1$d;x\n0000-00-00;x\n2024-06-0%1$d;x\n", "\"missing\": [\"0000-00-00\"]",
               "30 texts (0000-00-00) count as missing");
  expect_doubt("a;b", "1%1$d.5.2024;x\n0;x\n1%1$d.6.2024;x\n", category,
               "cells that are not dates: 30 of 90, such as 0; {\"as\": \"time\", \"unit\": \"day-first\"} reads");
  expect_doubt("a;b", "%1$d;x\nunknown;x\n", category, NULL);
  expect_doubt("a;b", "%1$d;x\n#DIV/0!;x\n0%1$d;x\n", category, NULL); /* codes */
  expect_doubt("shop_id;b", "%1$d;x\nunknown;x\n7%1$d;x\n", "\"shop_id\": {\"as\": \"category\"}", NULL);
}

/* The example of cells that are not numbers is one of them. */
static void refused_cells_are_shown(void **state) {
  (void)state;
  static const struct {
    const char *cell, *refused;
  } cases[] = {{"%d kg", "500 g"}, {"%d,5", "2.5"}, {"%d,5 kg", "2.5 kg"}, {"$%d.5", "1,5"}, {"%d.5", "1,5"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_buffer text = {0};
    char wanted[64];
    fw_buffer_text(&text, "a;b\n");
    for (int row = 0; row < 60; row++) {
      if (row == 7)
        fw_buffer_text(&text, cases[i].refused);
      else
        fw_buffer_format(&text, cases[i].cell, row);
      fw_buffer_text(&text, ";x\n");
    }
    add_file("memory://log.csv", &text);
    snprintf(wanted, sizeof wanted, " but for 1 text such as %s", cases[i].refused);
    expect_text("memory://log.csv", NULL, wanted);
    remove_file("memory://log.csv", &text);
  }
}

/* Birth dates may be of the last century. */
static void years_of_two_digits(void **state) {
  (void)state;
  static const char day[] = "\"unit\": \"day-first\"", named[] = "\"unit\": \"text\"";
  static const char range[] = "30 dates have a year of two digits, which is taken to be from 1969 to 2068";
  expect_doubt("a;b", "1%1$d/02/54;x\n", day, range);
  expect_doubt("a;b", "1%1$d.2.54 10:00;x\n", day, range);
  expect_doubt("a;b", "1%1$d-May-54;x\n", named, range);
  expect_doubt("a;b", "Fri, 1%1$d-May-54 10:00 +0200;x\n", named, range);
  expect_doubt("a;b", "%1$d/2/54;x\n", "\"unit\": \"month-first\"", "the month is a guess");
  expect_doubt("a;b", "%1$d/2/54;x\n", "\"unit\": \"month-first\"", range);
  expect_doubt("a;b", "1%1$d/03/2054;x\n2%1$d/03/19;x\n", day, "30 dates have");
  expect_doubt("a;b", "2054-05-1%1$d;x\n", named, NULL);
  expect_doubt("a;b", "Sept. %1$d 2054 10:00:00.12;x\n", named, NULL);
  expect_doubt("a;b", "Fri, 1%1$d-May-2054 10:00 +0200;x\n", named, NULL);
}

/* 1/2/2023 is a day of January or of February. */
static void which_number_is_the_day(void **state) {
  (void)state;
  static const char day[] = "\"unit\": \"day-first\"", month[] = "\"unit\": \"month-first\"";
  expect_doubt("a;b", "%1$d/2/2023;x\n", month, "the month is a guess");
  expect_doubt("a;b", "%1$d/2/2023;1%1$d/2/2023\n", day, "the day is taken to come first, as in other columns");
  expect_doubt("a;b", "%1$d/2/2023;2/1%1$d/2023\n", month, "the month is taken to come first, as in other columns");
  expect_doubt("a;b", "%1$d.2.2023;x\n", day, NULL);
  expect_doubt("a;b", "1%1$d/2/2023;x\n", day, NULL);
  expect_doubt("a;b", "2/1%1$d/2023;x\n", month, NULL);
}

static void guesses_are_reported(void **state) {
  (void)state;
  expect_doubt("a;b", "%1$d;x\n", "\"a\": {\"as\": \"number\"", NULL);
  static const struct {
    const char *name;
    void (*cell)(fw_buffer *text, uint64_t row, uint64_t chance);
    const char *doubt;
  } cases[] = {
      {"level", put_level, "integers with few values are taken for categories"},
      {"mileage", put_row, "each integer occurs once"},
      {"title", put_title, "titles or names are ignored"},
      {"load", put_units, "they have different units"},
      {"x", put_real, ""},
      {"city", put_city, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_buffer text = {0};
    furrow_schema *schema;
    fw_buffer_format(&text, "%s\tother\n", cases[i].name);
    for (uint64_t row = 0; row < ROWS; row++) {
      cases[i].cell(&text, row, fw_rng_hash(i, row));
      fw_buffer_text(&text, "\tx\n");
    }
    add_file("memory://log.tsv", &text);
    assert_int_equal(propose(&schema, "memory://log.tsv", NULL, NULL), FURROW_OK);
    const char *found = furrow_schema_unsure(schema, 0);
    if (cases[i].doubt[0] ? !strstr(found, cases[i].doubt) : found[0] != 0) fail_msg("%s: %s", cases[i].name, found);
    furrow_schema_free(schema);
    remove_file("memory://log.tsv", &text);
  }
}

/* Integers with few values are categories if there are 50 rows for each; trees take them for amounts, but not ids, nor
 * numbers with zeros before them. */
static void integers_for_trees(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  fw_buffer_text(&text, "calls,age,shop_id,code,other\n");
  for (int i = 0; i < 900; i++) fw_buffer_format(&text, "%d,%d,%d,0%d,x%d\n", i % 18, 30 + i % 19, i % 5, i % 9, i % 3);
  add_file("memory://codes.csv", &text);
  for (int amounts = 0; amounts < 2; amounts++) {
    char wanted[512];
    params.amounts = amounts;
    snprintf(
        wanted, sizeof wanted,
        "    \"calls\": {\"as\": %s},\n    \"age\": {\"as\": \"number\", \"scale\": \"standard\"},\n    \"shop_id\": "
        "{\"as\": \"category\"},\n    \"code\": {\"as\": \"category\"},\n    \"other\": {\"as\": \"category\"}\n  }\n",
        amounts ? "\"number\", \"scale\": \"standard\"" : "\"category\"");
    expect_schema("memory://codes.csv", &params, wanted);
  }
  remove_file("memory://codes.csv", &text);
}

/* A customer of each row is a user only in a log of events, which has items that repeat and no label. */
static void customers_of_one_row(void **state) {
  (void)state;
  static const char user[] = "{\"as\": \"category\", \"role\": \"user\"}", item[] = "\"role\": \"item\"";
  for (int label = 0; label < 2; label++) {
    fw_buffer text = {0};
    fw_buffer_format(&text, "customer,product,%s\n", label ? "label" : "x");
    for (int i = 0; i < 60; i++) fw_buffer_format(&text, "c%d,p%d,%d\n", i, i % 4, i % 2);
    add_file("memory://one.csv", &text);
    char *found = text_of("memory://one.csv", NULL, false);
    assert_int_equal(strstr(found, user) != NULL, !label);
    assert_non_null(strstr(found, item));
    furrow_free(found);
    furrow_schema_propose_params params;
    furrow_schema_propose_params_init(&params);
    params.user = "customer";
    found = text_of("memory://one.csv", &params, false);
    assert_non_null(strstr(found, user));
    furrow_free(found);
    remove_file("memory://one.csv", &text);
  }
}

/* ---- Several columns, options ---- */

static void put_events(fw_buffer *text, uint64_t rows) {
  fw_buffer_text(text, "who,what,when,liked,note,click\n");
  for (uint64_t row = 0; row < rows; row++) {
    const uint64_t c = fw_rng_hash(5, row);
    fw_buffer_format(text, "u%d,i%d,%d,%d,n%d,%d\n", (int)(c % 900), (int)(c / 900 % 3000),
                     1600000000 + (int)(c / 1000 % 5000000), (int)(c / 77 % 2), (int)(c / 13 % 40), (int)(c / 3 % 2));
  }
}

static void what_the_caller_names(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  put_events(&text, 5000);
  add_file("memory://events.csv", &text);
  /* whether it was liked must not be a feature of a click */
  expect_schema("memory://events.csv", NULL,
                "    \"who\": {\"as\": \"category\"},\n    \"what\": {\"as\": \"category\"},\n"
                "    \"when\": {\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", \"parts\": [\"hour\", "
                "\"weekday\"]},\n    \"liked\": {\"as\": \"ignore\"},\n"
                "    \"note\": {\"as\": \"category\"},\n    \"click\": {\"as\": \"label\"}\n  }\n");
  furrow_schema_propose_params_init(&params);
  params.user = "who";
  params.item = "what";
  params.label = "liked";
  params.history = 5;
  /* a click must not be a feature of whether it was liked */
  expect_schema("memory://events.csv", &params,
                "    \"who\": {\"as\": \"category\", \"role\": \"user\"},\n    \"what\": {\"as\": \"category\", "
                "\"role\": \"item\"},\n    \"when\": {\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", "
                "\"parts\": [\"hour\", \"weekday\"]},\n    \"liked\": {\"as\": \"label\"},\n    \"note\": {\"as\": "
                "\"category\"},\n    \"click\": {\"as\": \"ignore\"}\n  },\n  \"history\": 5\n");
  params.user = "woh";
  expect_refused("memory://events.csv", &params, FURROW_E_ARGUMENT,
                 "user: there is no column woh; there are who, what, when, liked, note, click");
  params.user = "what";
  expect_refused("memory://events.csv", &params, FURROW_E_ARGUMENT, "item: column what is named twice");
  params.user = NULL;
  expect_refused("memory://events.csv", &params, FURROW_E_ARGUMENT, "history: no column has the role user");
  params.history = 0;
  params.time = "note";
  expect_refused("memory://events.csv", &params, FURROW_E_ARGUMENT,
                 "column note cannot be the time: its cells are neither numbers nor dates");
  params.time = NULL;
  params.weight = "note";
  expect_refused("memory://events.csv", &params, FURROW_E_ARGUMENT,
                 "column note cannot be the weight: not all of its cells are numbers");
  remove_file("memory://events.csv", &text);
}

/* Columns: nothing, lists, one text, a text for each row, numbers below 0, users. */
static void put_odd_columns(fw_buffer *text) {
  fw_buffer_text(text,
                 "{\"empty\":null,\"lists\":[\"a\",\"b\"],\"same\":\"x\",\"each\":\"t0\",\"low\":-1,\"who\":\"u0\"}\n");
  for (int i = 1; i < ROWS; i++)
    fw_buffer_format(text, "{\"lists\":[\"a\",\"b\"],\"same\":\"x\",\"each\":\"t%d\",\"low\":%d.5,\"who\":\"u%d\"}\n",
                     i, i % 7 - 3, i % 50);
}

static void what_columns_cannot_be(void **state) {
  (void)state;
  static const struct {
    furrow_schema_propose_params params;
    const char *message;
  } cases[] = {
      {{.label = "empty"}, "column empty cannot be the label: it is empty"},
      {{.label = "lists"}, "column lists cannot be the label: it has lists"},
      {{.label = "same"}, "column same cannot be the label: all of its cells have the same text"},
      {{.label = "each"}, "column each cannot be the label: it has more than 1000 different texts"},
      {{.weight = "low"}, "column low cannot be the weight: it has negative numbers"},
      {{.user = "empty"}, "column empty cannot be the user: it is empty"},
      {{.item = "empty"}, "column empty cannot be the item: it is empty"},
      {{.group = "whose"}, "group: there is no column whose; there are empty, lists, same, each, low, who"},
      {{.user = "who", .item = "same", .history = 1001}, "history: at most 1000 items"},
  };
  fw_buffer text = {0};
  put_odd_columns(&text);
  add_file("memory://odd.jsonl", &text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_schema_propose_params params = cases[i].params;
    params.size = sizeof params;
    expect_refused("memory://odd.jsonl", &params, FURROW_E_ARGUMENT, cases[i].message);
  }
  remove_file("memory://odd.jsonl", &text);
}

static void tables_that_are_not_named_well(void **state) {
  (void)state;
  static const struct {
    const char *table, *message;
  } cases[] = {
      {"no_key", "table: no_key is not FILE=KEY or FILE=KEY:COLUMN"},
      {"=who", "table: =who is not FILE=KEY or FILE=KEY:COLUMN"},
      {"file=", "table: file= is not FILE=KEY or FILE=KEY:COLUMN"},
      {"file=:who", "table: there is no column :who; there are empty, lists, same, each, low, who"},
      {"file=who:", "table: there is no column who:; there are empty, lists, same, each, low, who"},
      {"file=low", "table: the key low is a number, not a category"},
  };
  fw_buffer text = {0};
  put_odd_columns(&text);
  add_file("memory://odd.jsonl", &text);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_schema_propose_params params;
    furrow_schema_propose_params_init(&params);
    params.tables = &cases[i].table;
    params.table_count = 1;
    expect_refused("memory://odd.jsonl", &params, FURROW_E_ARGUMENT, cases[i].message);
  }
  remove_file("memory://odd.jsonl", &text);
}

/* A name that nobody has, in a log with more columns than a message can list. */
static void many_columns_are_cut_short(void **state) {
  (void)state;
  furrow_schema_propose_params params;
  fw_buffer text = {0}, wanted = {0};
  fw_buffer_text(&wanted, "user: there is no column who; there are ");
  for (int i = 0; i < 25; i++) fw_buffer_format(&text, "%sc%d", i ? "," : "", i);
  for (int i = 0; i < 20; i++) fw_buffer_format(&wanted, "%sc%d", i ? ", " : "", i);
  fw_buffer_text(&wanted, " and 5 more");
  fw_buffer_byte(&wanted, 0);
  for (int row = 0; row < 3; row++)
    for (int i = 0; i < 25; i++) fw_buffer_format(&text, "%s%d", i ? "," : "\n", row + i);
  fw_buffer_text(&text, "\n");
  add_file("memory://wide.csv", &text);
  furrow_schema_propose_params_init(&params);
  params.user = "who";
  expect_refused("memory://wide.csv", &params, FURROW_E_ARGUMENT, wanted.bytes);
  remove_file("memory://wide.csv", &text);
  fw_buffer_clear(&wanted);
}

/* Several pieces of text, which threads take in any order. */
static void threads_do_not_matter(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  furrow_parser_stats stats;
  put_events(&text, 60000);
  fw_buffer_text(&text, "a,b\n");
  add_file("memory://events.csv", &text);
  furrow_schema_propose_params_init(&params);
  furrow_parser_stats_init(&stats);
  params.on_bad = FURROW_ON_BAD_SKIP;
  params.stats = &stats;
  params.threads = 1;
  char *first = text_of("memory://events.csv", &params, true);
  assert_int_equal(stats.rows, 60000);
  assert_int_equal(stats.bad_rows, 1);
  assert_non_null(strstr(first, "in 60000 rows"));
  for (params.threads = 2; params.threads < 9; params.threads += 3) {
    char *again = text_of("memory://events.csv", &params, true);
    assert_string_equal(first, again);
    furrow_free(again);
  }
  furrow_free(first);
  params.on_bad = FURROW_ON_BAD_ERROR;
  furrow_schema *schema;
  assert_int_equal(propose(&schema, "memory://events.csv", &params, NULL), FURROW_E_PARSE);
  remove_file("memory://events.csv", &text);
}

static void columns_found_later(void **state) {
  (void)state;
  fw_buffer text = {0};
  for (int i = 0; i < 40000; i++)
    fw_buffer_format(&text, "{\"user\": \"u%d\", \"item\": %d, \"tags\": [\"a%d\", \"b%d\"]%s}\n", i % 71, i % 83,
                     i % 3, i % 5,
                     i == 35000   ? ", \"b\": {\"late\": 1}, \"a\": 2.5"
                     : i == 36000 ? ", \"a\": 3.5"
                                  : "");
  add_file("memory://events.jsonl", &text);
  expect_schema("memory://events.jsonl", NULL,
                "    \"user\": {\"as\": \"category\", \"role\": \"user\"},\n    \"item\": {\"as\": \"category\", "
                "\"role\": \"item\"},\n    \"tags\": {\"as\": \"set\", \"separator\": \"|\"},\n    \"a\": {\"as\": "
                "\"number\", \"scale\": \"standard\"},\n    \"b.late\": {\"as\": \"number\", \"scale\": \"none\"}\n  "
                "}\n");
  remove_file("memory://events.jsonl", &text);
}

/* Keys that are numbers, and come after the first bytes, are not positions of columns. */
static void numbers_as_keys(void **state) {
  (void)state;
  fw_buffer text = {0};
  for (int i = 0; i < 9000; i++) fw_buffer_format(&text, "{\"a\":%d%s}\n", i, i > 8000 ? ",\"0\":0.5,\"1\":\"x\"" : "");
  add_file("memory://log", &text);
  char *schema = text_of("memory://log", NULL, false);
  assert_non_null(strstr(schema, "\"0\": {\"as\": \"number\""));
  assert_non_null(strstr(schema, "\"1\": {\"as\": \"category\"}"));
  furrow_free(schema);
  remove_file("memory://log", &text);
}

static void vowpal_wabbit(void **state) {
  (void)state;
  fw_buffer text = {0};
  for (int i = 0; i < 100; i++)
    fw_buffer_format(&text, "%d %g |user u%d |f price:%d qty:%d\n", i % 2 ? 1 : -1, 0.5 + i % 3, i % 7, i % 11, i % 5);
  add_file("memory://events.vw", &text);
  expect_schema("memory://events.vw", NULL,
                "    \"label\": {\"as\": \"label\"},\n    \"weight\": {\"as\": \"weight\"},\n    \"tag\": {\"as\": "
                "\"ignore\"},\n    \"user\": {\"as\": \"category\", \"role\": \"user\"},\n    \"f\": {\"as\": \"set\", "
                "\"separator\": \"|\", \"values\": true}\n  }\n");
  remove_file("memory://events.vw", &text);
}

static void tables_are_joined(void **state) {
  (void)state;
  fw_buffer log = {0}, table = {0};
  furrow_schema_propose_params params;
  const char *tables[] = {"memory://movies.csv=movie:id"};
  fw_buffer_text(&log, "user,movie,year\n");
  fw_buffer_text(&table, "id,title,year,genres\n");
  for (int i = 0; i < 900; i++) fw_buffer_format(&log, "u%d,%d,%d\n", i % 29, i % 300, 1990 + i % 7);
  for (int i = 0; i < 300; i++)
    fw_buffer_format(&table, "%d,\"Film, the %dth\",%d,g%d|h%d|i%d\n", i, i, 1900 + i % 100, i % 7, i % 5, i % 3);
  add_file("memory://log.csv", &log);
  add_file("memory://movies.csv", &table);
  furrow_schema_propose_params_init(&params);
  params.tables = tables;
  params.table_count = 1;
  expect_schema("memory://log.csv", &params,
                "    \"user\": {\"as\": \"category\", \"role\": \"user\"},\n    \"movie\": {\"as\": \"category\", "
                "\"role\": \"item\"},\n    \"year\": {\"as\": \"category\"},\n    \"title\": {\"as\": \"ignore\"},\n"
                "    \"genres\": {\"as\": \"set\", \"separator\": \"|\"}\n  },\n  \"tables\": {\n    "
                "\"memory://movies.csv\": {\"key\": \"movie\", \"column\": \"id\"}\n  }\n");
  tables[0] = "memory://movies.csv=movie";
  expect_refused("memory://log.csv", &params, FURROW_E_ARGUMENT,
                 "memory://movies.csv: there is no column movie; there are id, title, year, genres");
  tables[0] = "memory://movies.csv=film";
  expect_refused("memory://log.csv", &params, FURROW_E_ARGUMENT,
                 "table: there is no column film; there are user, movie, year");
  tables[0] = "memory://movies.csv";
  expect_refused("memory://log.csv", &params, FURROW_E_ARGUMENT,
                 "table: memory://movies.csv is not FILE=KEY or FILE=KEY:COLUMN");
  remove_file("memory://log.csv", &log);
  remove_file("memory://movies.csv", &table);
}

static void which_label(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  fw_buffer_text(&text, "class,survived,age\n");
  for (int i = 0; i < 100; i++) fw_buffer_format(&text, "c%d,%d,%g\n", i % 3, i % 2, 20.5 + i % 50);
  add_file("memory://log.csv", &text);
  expect_refused("memory://log.csv", NULL, FURROW_E_ARGUMENT,
                 "label: several columns may be it, by their names: class, survived; name one, or \"\"");
  furrow_schema_propose_params_init(&params);
  params.label = "survived";
  expect_schema("memory://log.csv", &params,
                "    \"class\": {\"as\": \"category\"},\n    \"survived\": {\"as\": \"label\"},\n    \"age\": "
                "{\"as\": \"number\", \"scale\": \"standard\"}\n  }\n");
  params.label = "";
  expect_schema("memory://log.csv", &params,
                "    \"class\": {\"as\": \"category\"},\n    \"survived\": {\"as\": \"ignore\"},\n    \"age\": "
                "{\"as\": \"number\", \"scale\": \"standard\"}\n  }\n");
  remove_file("memory://log.csv", &text);
}

/* ---- Doubts ---- */

/* A log of users and items with one more column. */
static void put_pairs(fw_buffer *text, const char *name, void (*cell)(fw_buffer *, uint64_t, uint64_t)) {
  fw_buffer_format(text, "user,item,when,%s\n", name);
  for (uint64_t row = 0; row < ROWS; row++) {
    const uint64_t c = fw_rng_hash(8, row);
    fw_buffer_format(text, "u%d,i%d,%d,", (int)(c % 90), (int)(c / 90 % 300), 1600000000 + (int)(c / 1000 % 5000000));
    cell(text, row, fw_rng_hash(9, row));
    fw_buffer_byte(text, '\n');
  }
  add_file("memory://pairs.csv", text);
}

static void expect_pairs(const char *parts, const char *last, const furrow_schema_propose_params *params) {
  char wanted[512];
  snprintf(wanted, sizeof wanted,
           "    \"user\": {\"as\": \"category\", \"role\": \"user\"},\n    \"item\": {\"as\": \"category\", "
           "\"role\": \"item\"},\n    \"when\": {\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", "
           "\"parts\": %s},\n    %s\n  }\n",
           parts, last);
  expect_schema("memory://pairs.csv", params, wanted);
}

/* Hours are features of clicks, not of ratings. */
static void parts_of_times(void **state) {
  (void)state;
  fw_buffer text = {0};
  put_pairs(&text, "rating", put_level);
  expect_pairs("[]", "\"rating\": {\"as\": \"label\"}", NULL);
  remove_file("memory://pairs.csv", &text);
  put_pairs(&text, "click", put_bit);
  expect_pairs("[\"hour\", \"weekday\"]", "\"click\": {\"as\": \"label\"}", NULL);
  remove_file("memory://pairs.csv", &text);
}

static void classes_in_doubt(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  furrow_schema_column column;
  furrow_schema *schema;
  furrow_error err = {0};
  furrow_schema_propose_params_init(&params);
  put_pairs(&text, "outcome", put_rare);
  assert_int_equal(propose(&schema, "memory://pairs.csv", &params, NULL), FURROW_OK);
  furrow_schema_get_column(schema, 3, &column);
  assert_string_equal(furrow_schema_class_name(schema, 1), "ape");
  assert_non_null(strstr(column.why, "the names do not say which class is positive: ape, the rarer one, is a guess"));
  furrow_schema_free(schema);
  params.strict = true;
  assert_int_equal(propose(&schema, "memory://pairs.csv", &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "the label outcome has the classes ape and zebra: which is the positive one?");
  assert_non_null(strstr(err.hint, "\"classes\": [\"zebra\", \"ape\"] if ape is"));
  remove_file("memory://pairs.csv", &text);
  put_pairs(&text, "outcome", put_play); /* names that say it */
  expect_pairs("[\"hour\", \"weekday\"]", "\"outcome\": {\"as\": \"label\", \"classes\": [\"skip\", \"play\"]}",
               &params);
  remove_file("memory://pairs.csv", &text);
  fw_buffer_text(&text, "x,target\n"); /* nobody is recommended anything */
  for (int i = 0; i < 100; i++) fw_buffer_format(&text, "%g,%s\n", i / 8.0, i % 4 ? "zebra" : "ape");
  add_file("memory://log.csv", &text);
  expect_schema("memory://log.csv", &params,
                "    \"x\": {\"as\": \"number\", \"scale\": \"standard\"},\n    \"target\": {\"as\": \"label\", "
                "\"classes\": [\"zebra\", \"ape\"]}\n  }\n");
  remove_file("memory://log.csv", &text);
}

static void expect_no_label(const char *name, void (*cell)(fw_buffer *, uint64_t, uint64_t), const char *message) {
  fw_buffer text = {0};
  furrow_schema *schema;
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  put_pairs(&text, name, cell);
  assert_int_equal(propose(&schema, "memory://pairs.csv", &params, NULL), FURROW_OK);
  assert_null(furrow_schema_class_name(schema, 1));
  furrow_schema_free(schema);
  params.strict = true;
  if (message) expect_refused("memory://pairs.csv", &params, FURROW_E_ARGUMENT, message);
  if (message) params.label = "";
  assert_int_equal(propose(&schema, "memory://pairs.csv", &params, NULL), FURROW_OK);
  furrow_schema_free(schema);
  remove_file("memory://pairs.csv", &text);
}

static void labels_in_doubt(void **state) {
  (void)state;
  expect_no_label("opinion", put_level, "no column is known to be the label; opinion may be one");
  expect_no_label("watched", put_bit, "no column is known to be the label; watched may be one");
  expect_no_label("answer", put_yes, "no column is known to be the label; answer may be one");
  expect_no_label("response", put_hex, "no column is known to be the label; response may be one");
  expect_no_label("level_id", put_level, NULL);
  expect_no_label("index", put_level, NULL);
  expect_no_label("code", put_small_codes, NULL);
  expect_no_label("profit", put_large, NULL);
  expect_no_label("loss", put_low, NULL);
  expect_no_label("animals", put_animal, NULL);
  expect_no_label("shares", put_amount, NULL);
  expect_no_label("price", put_real, NULL);
  expect_no_label("animal", put_rare, NULL);
  expect_no_label("page", put_constant, NULL);
}

/* Two columns look like labels; and a log without items, of which nobody asks for one. */
static void several_labels_in_doubt(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema *schema;
  furrow_error err = {0};
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.strict = true;
  fw_buffer_text(&text, "user,item,opinion,watched\n");
  for (int i = 0; i < 200; i++) fw_buffer_format(&text, "u%d,i%d,%d,%s\n", i % 9, i % 31, i % 5, i % 3 ? "no" : "yes");
  add_file("memory://log.csv", &text);
  assert_int_equal(propose(&schema, "memory://log.csv", &params, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "no column is known to be the label; opinion, watched may be one");
  assert_string_equal(err.hint, "--label opinion, or --label '' if the log has none");
  remove_file("memory://log.csv", &text);
  fw_buffer_text(&text, "user,opinion,lists\n");
  for (int i = 0; i < 200; i++) fw_buffer_format(&text, "u%d,%d,%d\n", i % 9, i % 5, i % 2);
  add_file("memory://log.csv", &text);
  assert_int_equal(propose(&schema, "memory://log.csv", &params, &err), FURROW_OK);
  furrow_schema_free(schema);
  remove_file("memory://log.csv", &text);
  for (int i = 0; i < 2500; i++) /* lists, and more values than are counted one by one */
    fw_buffer_format(&text, "{\"user\":\"u%d\",\"item\":\"i%d\",\"tags\":[%d,%d],\"x\":%d}\n", i % 9, i % 31, i % 2,
                     i % 3, i);
  add_file("memory://log.jsonl", &text);
  assert_int_equal(propose(&schema, "memory://log.jsonl", &params, &err), FURROW_OK);
  furrow_schema_free(schema);
  remove_file("memory://log.jsonl", &text);
}

/* Where a user is known, and one identifier alone repeats. */
static void the_only_id(void **state) {
  (void)state;
  static const struct {
    const char *head;
    int other, third; /* distinct values */
    bool found;
  } cases[] = {
      {"user_id,shop_id,x", 40, 0, true},
      {"user_id,shop_id,x", 5, 0, false},    /* too few */
      {"user_id,shop_id,x", 1000, 0, false}, /* different in each row */
      {"user_id,shop_id,town_id", 40, 50, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_buffer text = {0};
    fw_buffer_format(&text, "%s\n", cases[i].head);
    for (int row = 0; row < 400; row++)
      fw_buffer_format(&text, "u%d,%d,%g\n", row % 7, row % cases[i].other,
                       cases[i].third ? row % cases[i].third : row / 8.0);
    add_file("memory://log.csv", &text);
    char *found = text_of("memory://log.csv", NULL, true);
    assert_int_equal(strstr(found, "the only id besides the user") != NULL, cases[i].found);
    assert_int_equal(strstr(found, "\"role\": \"item\"") != NULL, cases[i].found);
    furrow_free(found);
    remove_file("memory://log.csv", &text);
  }
}

/* Examples that a line of text cannot hold, or not whole. */
static void odd_examples(void **state) {
  (void)state;
  static const struct {
    const char *cell, *wanted; /* of a file of JSON lines */
  } cases[] = {
      {"\xff\xfe", "texts such as ÿþ"},
      {"\xff\\u0000", "texts such as 2 bytes"},
      {"\\u0001", "texts such as 1 bytes"},
      {"x\x7f", "texts such as 2 bytes"},
      {"ééééééééééééééééééééééééééééééééééééééé", "é…"},
      {"aéééééééééééééééééééééééééééééééééééééé", "é…"},
      {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
       "\x80\x80"
       "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
       "\x80\x80\\u0000",
       "texts such as …, 1 distinct"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_buffer text = {0};
    for (int row = 0; row < 30; row++) fw_buffer_format(&text, "{\"a\":\"%s\",\"b\":%d.5}\n", cases[i].cell, row);
    add_file("memory://log.jsonl", &text);
    expect_text("memory://log.jsonl", NULL, cases[i].wanted);
    remove_file("memory://log.jsonl", &text);
  }
}

/* Names of classes are text. */
static void classes_that_are_not_text(void **state) {
  (void)state;
  static const char *const cells[] = {"\xff\\u0000", "a\\u0000b"};
  for (size_t i = 0; i < 2; i++) {
    fw_buffer text = {0};
    for (int row = 0; row < 30; row++)
      fw_buffer_format(&text, "{\"target\":\"%s\",\"b\":%d.5}\n", row % 3 ? cells[i] : "x", row);
    add_file("memory://log.jsonl", &text);
    expect_refused("memory://log.jsonl", NULL, FURROW_E_FORMAT,
                   "column target: a name of a class is not text in UTF-8");
    remove_file("memory://log.jsonl", &text);
  }
}

/* Of so many values and elements those that occur once are left out. */
static void many_values(void **state) {
  (void)state;
  fw_buffer text = {0};
  for (int i = 0; i < 26000; i++)
    fw_buffer_format(&text, "{\"c\":\"v%d\",\"l\":[\"e%d\",\"f%d\"],\"n\":%d.5}\n", i % 13000, i % 7000, i % 7001,
                     i % 90);
  add_file("memory://log.jsonl", &text);
  expect_schema(
      "memory://log.jsonl", NULL,
      "    \"c\": {\"as\": \"category\", \"min_count\": 2},\n    \"l\": {\"as\": \"set\", \"separator\": \"|\", "
      "\"min_count\": 2},\n    \"n\": {\"as\": \"number\", \"scale\": \"standard\"}\n  }\n");
  char *why = text_of("memory://log.jsonl", NULL, true);
  assert_non_null(strstr(why, "; values that occur once are left out"));
  assert_non_null(strstr(why, "; elements that occur once are left out"));
  furrow_free(why);
  remove_file("memory://log.jsonl", &text);
}

/* More columns than each get many values, more threads than sketches; and more columns than there may be. */
static void many_columns(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema *schema;
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.threads = 40;
  for (int i = 0; i < 1100; i++) fw_buffer_format(&text, "%sc%d", i ? "," : "", i);
  for (int row = 0; row < 70; row++)
    for (int i = 0; i < 1100; i++) fw_buffer_format(&text, "%s%c%d", i ? "," : "\n", 'a' + i % 20, row % (i % 69 + 2));
  add_file("memory://wide.csv", &text);
  assert_int_equal(propose(&schema, "memory://wide.csv", &params, NULL), FURROW_OK);
  assert_int_equal(furrow_schema_column_count(schema), 1100);
  furrow_schema_free(schema);
  remove_file("memory://wide.csv", &text);
  for (int i = 0; i < 10001; i++) fw_buffer_format(&text, "%sc%d", i ? "," : "", i);
  for (int i = 0; i < 10001; i++) fw_buffer_format(&text, "%s%d", i ? "," : "\n", i % 10);
  add_file("memory://wide.csv", &text);
  expect_refused("memory://wide.csv?header=yes", NULL, FURROW_E_UNSUPPORTED, "the log has more than 10000 columns");
  remove_file("memory://wide.csv", &text);
  fw_buffer_text(&text, "{\"a\":1}\n");
  for (int i = 0; i < 120000; i++) fw_buffer_byte(&text, i % 100 == 99 ? '\n' : ' ');
  for (int i = 0; i < 10001; i++) fw_buffer_format(&text, "%s\"k%05d\":1", i ? "," : "{", i);
  fw_buffer_text(&text, "}\n");
  add_file("memory://wide.jsonl", &text);
  expect_refused("memory://wide.jsonl", NULL, FURROW_E_UNSUPPORTED, "the log has more than 10000 columns");
  remove_file("memory://wide.jsonl", &text);
}

/* A column without a name has its number; one that no schema can name is left out. */
static void names_that_are_none(void **state) {
  (void)state;
  fw_buffer text = {0};
  for (int i = 0; i < 9000; i++)
    fw_buffer_format(&text, "{\"a\":\"x%d\"%s}\n", i % 7, i == 8000 ? ",\"\":1,\"\\u0000b\":2" : "");
  add_file("memory://log.jsonl", &text);
  expect_schema("memory://log.jsonl", NULL, "    \"a\": {\"as\": \"category\"}\n  }\n");
  remove_file("memory://log.jsonl", &text);
  fw_buffer_text(&text, "{}\n{}\n");
  add_file("memory://log.jsonl", &text);
  furrow_schema *schema;
  furrow_error err = {0};
  assert_int_equal(propose(&schema, "memory://log.jsonl", NULL, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "columns: there are none");
  remove_file("memory://log.jsonl", &text);
}

/* Columns of Vowpal Wabbit's text that the caller names, and weights that are not there. */
static void vowpal_wabbit_by_name(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  for (int i = 0; i < 100; i++)
    fw_buffer_format(&text, "%d %d 't%d |user u%d |f price:%d\n", i % 2 ? 1 : -1, 1 + i % 3, i % 5, i % 7, i % 11);
  add_file("memory://events.vw", &text);
  furrow_schema_propose_params_init(&params);
  params.group = "tag";
  params.label = "weight";
  expect_text("memory://events.vw", &params, "named as the group");
  expect_text("memory://events.vw", &params, "named as the label");
  furrow_schema_propose_params_init(&params);
  params.weight = "label";
  expect_refused("memory://events.vw", &params, FURROW_E_ARGUMENT,
                 "column label cannot be the weight: it has negative numbers");
  remove_file("memory://events.vw", &text);
  for (int i = 0; i < 100; i++) fw_buffer_format(&text, "%d |user u%d |f price:%d\n", i % 2 ? 1 : -1, i % 7, i % 11);
  add_file("memory://events.vw", &text);
  expect_text("memory://events.vw", NULL, "\"weight\": {\"as\": \"ignore\"");
  remove_file("memory://events.vw", &text);
}

/* Times that the caller names, whatever their numbers are; a column of times that has no parts; no item. */
static void times_by_name(void **state) {
  (void)state;
  fw_buffer text = {0};
  furrow_schema_propose_params params;
  furrow_comm nobody = {0};
  furrow_schema *schema;
  furrow_schema_propose_params_init(&params);
  params.time = "step";
  fw_buffer_text(&text, "user,item,step,rating,phone\n");
  for (int i = 0; i < 200; i++)
    fw_buffer_format(&text, "u%d,i%d,%d,%d,%d\n", i % 9, i % 31, i, 1 + i % 5, 1700000000 + i * 1000);
  add_file("memory://log.csv", &text);
  expect_schema(
      "memory://log.csv", &params,
      "    \"user\": {\"as\": \"category\", \"role\": \"user\"},\n    \"item\": {\"as\": \"category\", "
      "\"role\": \"item\"},\n    \"step\": {\"as\": \"time\", \"role\": \"time\", \"unit\": \"s\", \"parts\": []},\n"
      "    \"rating\": {\"as\": \"label\"},\n    \"phone\": {\"as\": \"number\", \"scale\": \"standard\"}\n  }\n");
  params.item =
      "a name that is far longer than any that is looked for among those that a log has, so that none is offered";
  assert_int_equal(propose(&schema, "memory://log.csv", &params, NULL), FURROW_E_ARGUMENT);
  params.item = NULL;
  params.comm = &nobody;
  assert_int_equal(propose(&schema, "memory://log.csv", &params, NULL), FURROW_E_ARGUMENT);
  assert_null(schema);
  remove_file("memory://log.csv", &text);
  fw_buffer_text(&text, "user,when,rating\n");
  for (int i = 0; i < 200; i++) fw_buffer_format(&text, "u%d,%d,%d\n", i % 9, 1700000000 + i * 10000, 1 + i % 5);
  add_file("memory://log.csv", &text);
  expect_text("memory://log.csv", NULL, "\"parts\": [\"hour\", \"weekday\"]"); /* nothing is recommended */
  remove_file("memory://log.csv", &text);
}

/* A pipe is read once: a column that turns up late is too late. */
static void *write_pipe(void *item) {
  const fw_buffer *text = item;
  int *fd = (int *)(void *)(text->bytes);
  for (size_t at = sizeof *fd; at < text->size;) {
    const ssize_t n = write(*fd, text->bytes + at, text->size - at);
    if (n <= 0) break;
    at += (size_t)n;
  }
  close(*fd);
  return NULL;
}

static void late_columns_of_a_pipe(void **state) {
  (void)state;
  int fds[2];
  char path[64];
  pthread_t thread;
  fw_buffer text = {0};
  furrow_schema *schema;
  furrow_error err = {0};
  assert_int_equal(pipe(fds), 0);
  fw_buffer_append(&text, &fds[1], sizeof fds[1]);
  for (int i = 0; i < 9000; i++) fw_buffer_format(&text, "{\"a\":\"x%d\"%s}\n", i % 7, i == 8999 ? ",\"late\":1" : "");
  snprintf(path, sizeof path, "/proc/self/fd/%d", fds[0]);
  assert_int_equal(pthread_create(&thread, NULL, write_pipe, &text), 0);
  assert_int_equal(propose(&schema, path, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "column late is not in the first records, and a pipe cannot be read again");
  assert_string_equal(err.hint, "write the log to a file first");
  close(fds[0]);
  assert_int_equal(pthread_join(thread, NULL), 0);
  fw_buffer_clear(&text);
}

/* Lists of one element are categories, unless some cells are not lists, or elements have values. */
static void lists_of_one(void **state) {
  (void)state;
  static const struct {
    const char *even, *odd, *wanted;
  } cases[] = {
      {"[\"x\"]", "[\"y\"]", "each list has one element"},
      {"[\"x\"]", "\"y\"", "\"as\": \"set\""},
      {"[\"x\"]", "[\"x\",\"y\"]", "\"as\": \"set\""},
      {"[\"x:1\"]", "[\"y:2\"]", "\"values\": true"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fw_buffer text = {0};
    for (int row = 0; row < 60; row++)
      fw_buffer_format(&text, "{\"a\":%s,\"b\":%d.5}\n", row % 2 ? cases[i].odd : cases[i].even, row);
    add_file("memory://log.jsonl", &text);
    expect_text("memory://log.jsonl", NULL, cases[i].wanted);
    remove_file("memory://log.jsonl", &text);
  }
}

static void logs_without_rows(void **state) {
  (void)state;
  fw_buffer text = {0};
  fw_buffer_text(&text, "user,item\n");
  add_file("memory://empty.csv", &text);
  expect_refused("memory://empty.csv?header=yes", NULL, FURROW_E_FORMAT, "there are no rows to look at");
  remove_file("memory://empty.csv", &text);
  furrow_schema *schema;
  assert_int_equal(propose(&schema, "memory://nothing", NULL, NULL), FURROW_E_NOT_FOUND);
}

static void logs_and_rows(void **state) {
  (void)state;
  static const struct {
    const char *line, *more, *arguments; /* the line, and then the other one, many times */
    bool needed;
  } cases[] = {
      {"y,sex\n", "1,male\n0,female\n", "", true},
      {"y;at\n", "1;2020-01-01 10:00\n0;2021-05-06 11:30\n", "", true},
      {"y\tname\n", "1\ta:b\n0\tc\n", "", true},
      {"a,2015,y\n", "x,1,0\n", "?header=yes", true},
      {"y,sex\n", "1,male\n0,female\n", "?label_column=y", false},
      {"y,sex\n", "1,male\n0,female\n", "#cache", false},
      {"y,a\n", "1,2\n0,3\n1,x\n", "", false}, /* most cells are numbers */
      {"y,a\n", "1,2\n0,NA\n1,\n", "", false},
      {"y,a\n", "1,2\n0,3\n1,(5.50)\n", "", true}, /* numbers as people write them */
      {"y,a\n", "1,2\n0,3\n1,\"1,299.00\"\n", "", true},
      {"y,a\n", "1,$2\n0,3\n1,x\n0,4\n", "", false},
      {"y,zip\n", "1,01234\n0,20500\n1,00501\n", "", true}, /* codes */
      {"y,id\n", "1,12345678901234567\n0,12345678901234568\n", "", true},
      {"y,id\n", "1,123456789012345\n0,0\n", "", false},
      {"1,male\n", "0,female\n", "", false}, /* no header */
      {"{\"y\":1}\n", "{\"y\":0}\n", "", true},
      {"1 |f a b\n", "0 |f c\n", "", true},
      {"1 1:2 3:4\n", "0 1:1 2:5\n", "", false},
      {"# a, b\n", "1 1:2\n", "", false},
      {"1 2 3\n", "4 5 6\n", "", false},
      {"", "", "", false},
      {"\x93NUMPY", "\x01\x02\x03\x04", "", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char uri[64];
    bool needed = !cases[i].needed;
    fw_buffer text = {0};
    fw_buffer_text(&text, cases[i].line);
    for (int k = 0; k < 20; k++) fw_buffer_text(&text, cases[i].more);
    add_file("memory://data", &text);
    snprintf(uri, sizeof uri, "memory://data%s", cases[i].arguments);
    assert_int_equal(furrow_table_needs_schema(uri, &needed, NULL), FURROW_OK);
    if (needed != cases[i].needed) fail_msg("%s%s", cases[i].line, cases[i].arguments);
    remove_file("memory://data", &text);
  }
  bool untouched = true;
  assert_int_equal(furrow_table_needs_schema("memory://nothing", &untouched, NULL), FURROW_E_NOT_FOUND);
  assert_true(untouched);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_columns_are),
      cmocka_unit_test(which_mark_is_the_decimal_one),
      cmocka_unit_test(what_points_separate),
      cmocka_unit_test(columns_of_mixed_cells),
      cmocka_unit_test(refused_cells_are_shown),
      cmocka_unit_test(years_of_two_digits),
      cmocka_unit_test(which_number_is_the_day),
      cmocka_unit_test(guesses_are_reported),
      cmocka_unit_test(integers_for_trees),
      cmocka_unit_test(customers_of_one_row),
      cmocka_unit_test(what_the_caller_names),
      cmocka_unit_test(threads_do_not_matter),
      cmocka_unit_test(columns_found_later),
      cmocka_unit_test(numbers_as_keys),
      cmocka_unit_test(vowpal_wabbit),
      cmocka_unit_test(tables_are_joined),
      cmocka_unit_test(which_label),
      cmocka_unit_test(logs_without_rows),
      cmocka_unit_test(parts_of_times),
      cmocka_unit_test(classes_in_doubt),
      cmocka_unit_test(labels_in_doubt),
      cmocka_unit_test(what_columns_cannot_be),
      cmocka_unit_test(tables_that_are_not_named_well),
      cmocka_unit_test(many_columns_are_cut_short),
      cmocka_unit_test(several_labels_in_doubt),
      cmocka_unit_test(the_only_id),
      cmocka_unit_test(odd_examples),
      cmocka_unit_test(classes_that_are_not_text),
      cmocka_unit_test(many_values),
      cmocka_unit_test(many_columns),
      cmocka_unit_test(names_that_are_none),
      cmocka_unit_test(vowpal_wabbit_by_name),
      cmocka_unit_test(times_by_name),
      cmocka_unit_test(lists_of_one),
      cmocka_unit_test(late_columns_of_a_pipe),
      cmocka_unit_test(logs_and_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
