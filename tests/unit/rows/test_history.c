/* tests/unit/rows/test_history.c: the last items of users: ties of time, rings, training data again and what follows
 * it. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "rows/encode/dictionary.h"
#include "rows/encode/history.h"
#include "support/cmocka_all.h"

enum { USERS = 6, ITEMS = 9, FIRST_ITEM = 20, FIRST_PAST = 40 };

/* A dictionary of a user field, an item field and a history; nothing is known of the past. */
static fw_field fields[3];
static fw_dictionary made;

static int make_dictionary(void **state) {
  (void)state;
  fields[0] = (fw_field){.kind = FW_FIELD_CATEGORY, .first = 0, .size = USERS};
  fields[1] = (fw_field){.kind = FW_FIELD_CATEGORY, .first = FIRST_ITEM, .size = ITEMS};
  fields[2] = (fw_field){.kind = FW_FIELD_HISTORY, .first = FIRST_PAST, .size = ITEMS};
  made = (fw_dictionary){.fields = fields, .count = 3, .user_field = 0, .item_field = 1, .history_field = 2};
  return 0;
}

static fw_history *create(uint32_t last) {
  fw_history *history = NULL;
  assert_int_equal(fw_history_create(&history, &made, last, NULL), FURROW_OK);
  return history;
}

/* Takes an event; the items before it must be those of the text, such as "3 4". */
static void take(fw_history *history, uint64_t user, uint64_t item, double time, const char *before) {
  const fw_event event = {user, item == FW_FEATURE_NONE ? item : FIRST_ITEM + item, time};
  const uint32_t *items = NULL;
  size_t count = 0, used = 0;
  char text[256] = "";
  furrow_error err = {0};
  if (fw_history_take(history, &event, &items, &count, &err) != FURROW_OK) fail_msg("%s", err.message);
  for (size_t i = 0; i < count; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i ? " " : "", items[i]);
  assert_string_equal(text, before);
}

static void last_items(void **state) {
  (void)state;
  fw_history *h = create(3);
  take(h, 2, 2, 10, "");
  take(h, 2, 3, 11, "2");
  take(h, 3, 4, 5, ""); /* another user's time is another one */
  take(h, 2, 3, 12, "2 3");
  take(h, 2, 5, 13, "2 3 3");
  take(h, 2, 6, 14, "3 3 5"); /* the oldest is gone */
  take(h, 3, 4, 5.5, "4");
  take(h, 2, 7, 15, "3 5 6");
  fw_history_free(h);
}

static void ties(void **state) {
  (void)state;
  fw_history *h = create(3);
  take(h, 2, 2, 10, "");
  take(h, 2, 3, 10, ""); /* events of one moment do not see each other */
  take(h, 2, 4, 10, "");
  take(h, 2, 5, 11, "2 3 4");
  take(h, 2, 6, 11, "2 3 4");
  take(h, 2, 7, 12, "4 5 6");
  for (unsigned i = 0; i < 5; i++) take(h, 3, 2 + i, -3, "");
  take(h, 3, 2, -2.5, "4 5 6"); /* more at one moment than are kept */
  fw_history_free(h);
}

/* Users and items that are unknown or missing have no history and are none. */
static void nameless(void **state) {
  (void)state;
  fw_history *h = create(3);
  const uint64_t nobody[] = {FW_LOCAL_UNKNOWN, FW_LOCAL_MISSING, FW_FEATURE_NONE};
  for (size_t i = 0; i < 3; i++) {
    take(h, nobody[i], 5, 2, "");
    take(h, nobody[i], 5, 1, ""); /* nor an order */
  }
  for (size_t i = 0; i < 3; i++) take(h, 2, nobody[i], (double)i, "");
  take(h, 2, 4, 9, "");
  take(h, 2, 4, 10, "4");
  fw_history_free(h);
}

/* Features by hash: all are users and items. */
static void hashed(void **state) {
  (void)state;
  fields[0].hash_bits = fields[1].hash_bits = 2;
  fields[0].size = fields[1].size = 4;
  fw_history *h = create(2);
  take(h, 0, 0, 1, "");
  take(h, 0, 1, 2, "0");
  take(h, 3, 3, 1, "");
  take(h, 0, 3, 3, "0 1");
  take(h, 3, 3, 2, "3");
  fw_history_free(h);
  make_dictionary(NULL);
}

static void refused(fw_history *history, uint64_t user, double time) {
  const fw_event event = {user, FIRST_ITEM + 2, time};
  const uint32_t *items = NULL;
  size_t count;
  furrow_error err = {0};
  assert_int_equal(fw_history_take(history, &event, &items, &count, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "in the order of its times"));
  assert_string_equal(err.hint, "sort the log by the column with the role time");
}

static void out_of_order(void **state) {
  (void)state;
  fw_history *h = create(3);
  take(h, 2, 2, 10, "");
  refused(h, 2, 9.999);
  take(h, 3, 2, 1, "");
  refused(h, 3, -1);
  fw_history_rewind(h);
  take(h, 2, 3, 9, ""); /* nothing is left */
  take(h, 2, 2, 10, "3");
  fw_history_free(h);
}

/* ---- What the training data ended with ---- */

static fw_buffer offsets, items_left, times;

static void keep_end(fw_history *history) {
  uint64_t total = 0;
  fw_put_u64(&offsets, 0);
  for (uint64_t user = 0; user < USERS; user++) {
    const uint32_t *items;
    size_t count;
    double time;
    fw_history_end(history, user, &items, &count, &time);
    for (size_t i = 0; i < count; i++) fw_put_u64(&items_left, items[i]);
    fw_put_u64(&offsets, total += count);
    fw_put_f64(&times, count > 0 ? time : -1e300);
  }
  assert_int_equal(fw_buffer_status(&offsets, NULL), FURROW_OK);
  made.history_users = USERS;
  made.history_offsets = (unsigned char *)offsets.bytes;
  made.history_items = (unsigned char *)items_left.bytes;
  made.history_times = (unsigned char *)times.bytes;
}

static void forget_end(void) {
  fw_buffer_clear(&offsets);
  fw_buffer_clear(&items_left);
  fw_buffer_clear(&times);
  make_dictionary(NULL);
}

typedef struct log_event {
  uint64_t user, item;
  double time;
  char before[256];
} log_event;

/* Events of one thread of times, with ties; what is before each, by its definition. */
static void make_log(log_event *events, size_t n, size_t last) {
  fw_rng rng;
  fw_rng_init(&rng, 3);
  double now = 0;
  for (size_t i = 0; i < n; i++) {
    now += fw_rng_below(&rng, 3) == 0 ? 1 : 0;
    log_event *e = &events[i];
    *e = (log_event){2 + fw_rng_below(&rng, USERS - 2), 2 + fw_rng_below(&rng, ITEMS - 2), now, ""};
    size_t before = 0, used = 0;
    for (size_t k = 0; k < i; k++) before += events[k].user == e->user && events[k].time < e->time;
    size_t skip = before > last ? before - last : 0;
    for (size_t k = 0; k < i; k++) {
      if (events[k].user != e->user || !(events[k].time < e->time) || (skip > 0 && skip--)) continue;
      used += (size_t)snprintf(e->before + used, sizeof e->before - used, "%s%u", used ? " " : "",
                               (unsigned)events[k].item);
    }
  }
}

static void take_log(fw_history *h, const log_event *events, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) take(h, events[i].user, events[i].item, events[i].time, events[i].before);
}

static void training_data_again(void **state) {
  (void)state;
  enum { EVENTS = 400, LAST = 4 };
  static log_event events[EVENTS];
  make_log(events, EVENTS, LAST);
  size_t cut = EVENTS / 2; /* between two moments */
  while (events[cut].time == events[cut - 1].time) cut++;
  fw_history *h = create(LAST);
  take_log(h, events, 0, cut);
  keep_end(h);
  fw_history_free(h);
  h = create(LAST);
  take_log(h, events, cut, EVENTS); /* goes on */
  fw_history_rewind(h);
  take_log(h, events, 0, cut); /* as it was in training */
  fw_history_rewind(h);
  take_log(h, events, 0, EVENTS); /* both */
  fw_history_free(h);
  forget_end();
}

static void goes_on_in_order(void **state) {
  (void)state;
  fw_history *h = create(2);
  take(h, 2, 3, 10, "");
  take(h, 2, 4, 11, "3");
  keep_end(h);
  fw_history_free(h);
  h = create(2);
  take(h, 2, 5, 11.5, "3 4");
  refused(h, 2, 11);     /* later events have begun */
  take(h, 3, 5, -5, ""); /* a user without a past */
  take(h, 3, 6, -4, "5");
  fw_history_free(h);
  forget_end();
}

/* ---- Rows ---- */

static void added_to_rows(void **state) {
  (void)state;
  furrow_container *rows = NULL, *out = NULL;
  fw_history *h = create(2);
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  assert_int_equal(furrow_container_create(&out, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  const uint64_t starts[] = {0, 1, 2, 3};
  const uint32_t index[] = {2, 2, 2}, field[] = {0, 0, 0};
  const float label[] = {1, 0, 1}, value[] = {1, 1, 1}, weight[] = {1, 2, 3};
  furrow_rowblock block = {.size = 3, .key_type = FURROW_KEY_U32, .value_type = FURROW_VALUE_F32};
  block.offset = starts;
  block.label.f32 = label;
  block.weight = weight;
  block.index.u32 = index;
  block.field.u32 = field;
  block.value.f32 = value;
  assert_int_equal(furrow_container_push_block(rows, &block, NULL), FURROW_OK);
  const fw_event events[] = {{2, FIRST_ITEM + 3, 1}, {2, FIRST_ITEM + 4, 2}, {2, FIRST_ITEM + 5, 3}};
  assert_int_equal(fw_history_add(h, events, rows, out, NULL), FURROW_OK);
  furrow_rowblock got;
  assert_int_equal(furrow_container_get_block(out, &got, NULL), FURROW_OK);
  assert_int_equal(got.size, 3);
  assert_int_equal(got.offset[1], 1);
  assert_int_equal(got.offset[2], 3);
  assert_int_equal(got.offset[3], 6);
  assert_int_equal(got.index.u32[2], FIRST_PAST + 3);
  assert_int_equal(got.field.u32[2], 2);
  assert_true(got.value.f32[2] == 1);
  assert_int_equal(got.index.u32[4], FIRST_PAST + 3);
  assert_int_equal(got.index.u32[5], FIRST_PAST + 4);
  assert_true(got.value.f32[4] == (float)0.7071067811865475 && got.weight[2] == 3 && got.label.f32[1] == 0);
  furrow_container_free(rows);
  furrow_container_free(out);
  fw_history_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(last_items),       cmocka_unit_test(ties),          cmocka_unit_test(nameless),
      cmocka_unit_test(hashed),           cmocka_unit_test(out_of_order),  cmocka_unit_test(training_data_again),
      cmocka_unit_test(goes_on_in_order), cmocka_unit_test(added_to_rows),
  };
  return cmocka_run_group_tests(tests, make_dictionary, NULL);
}
