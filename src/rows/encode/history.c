/* rows/encode/history.c: the last items of each user. */
#include "rows/encode/history.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "rows/block/elements.h"

/* The state of a user. */
typedef enum user_state { USER_UNSEEN, USER_REPEATS /* the training data */, USER_GOES_ON } user_state;

typedef struct user_past {
  double time;     /* time of the last event */
  uint32_t count;  /* items before `time` */
  uint32_t latest; /* items at `time`; both at most `last` */
  uint32_t state;
} user_past;

struct fw_history {
  const fw_dictionary *dictionary;
  uint32_t last;
  uint64_t users;
  user_past *pasts;
  uint32_t *items; /* for each user: `last` items before, `last` items at the time of the last event */
};

furrow_status fw_history_create(fw_history **history, const fw_dictionary *d, uint32_t last, furrow_error *err) {
  fw_history *h;
  FW_TRY(FW_ALLOC_ZERO(&h, 1, err));
  h->dictionary = d;
  h->last = last;
  h->users = d->fields[d->user_field].size;
  furrow_status status = FW_ALLOC_ZERO(&h->pasts, h->users, err);
  if (status == FURROW_OK) {
    size_t each = 0;
    if (!fw_size_mul(h->users, (size_t)2 * last, &each)) status = fw_fail_memory(err, SIZE_MAX);
    if (status == FURROW_OK) status = FW_ALLOC(&h->items, each, err);
  }
  return FW_HAND_OVER(status, history, h, fw_history_free);
}

void fw_history_free(fw_history *h) {
  if (!h) return;
  fw_free(h->pasts);
  fw_free(h->items);
  fw_free(h);
}

void fw_history_rewind(fw_history *h) {
  memset(h->pasts, 0, h->users * sizeof *h->pasts);
}

/* Appends to a list that keeps only its last items. */
static void append_item(uint32_t *list, uint32_t *count, uint32_t most, uint32_t item) {
  if (*count == most) memmove(list, list + 1, (most - 1) * sizeof *list);
  if (*count < most) ++*count;
  list[*count - 1] = item;
}

/* Moves the items at the time of the last event to the earlier ones. */
static void settle_latest(const fw_history *h, user_past *past, uint32_t *before) {
  const uint32_t *latest = before + h->last;
  for (uint32_t i = 0; i < past->latest; i++) append_item(before, &past->count, h->last, latest[i]);
  past->latest = 0;
}

/* Starts with the items at the end of the training data, if the event is later than that. */
static void begin_user(const fw_history *h, uint64_t user, user_past *past, uint32_t *before, double time) {
  const fw_dictionary *d = h->dictionary;
  if (past->state == USER_GOES_ON) return;
  past->state = USER_REPEATS;
  const bool known = user < d->history_users; /* a dictionary that grows has more users than histories */
  if (known && !(time > fw_get_f64(d->history_times + 8 * user))) return;
  past->state = USER_GOES_ON;
  if (!known) return;
  const uint64_t from = fw_get_le64(d->history_offsets + 8 * user), to = fw_get_le64(d->history_offsets + 8 * user + 8);
  past->count = past->latest = 0;
  past->time = fw_get_f64(d->history_times + 8 * user);
  for (uint64_t i = from; i < to; i++)
    append_item(before, &past->count, h->last, (uint32_t)fw_get_le64(d->history_items + 8 * i));
}

static furrow_status fail_order(const fw_history *h, uint64_t user, furrow_error *err) {
  const fw_field *field = &h->dictionary->fields[h->dictionary->user_field];
  size_t length = 0;
  const char *name = field->texts.count ? fw_string_table_text(&field->texts, user - FW_LOCAL_FIRST, &length) : "";
  fw_fail(err, FURROW_E_FORMAT,
          "the history needs a log in the order of its times: an event of user %.*s is earlier "
          "than the one before",
          (int)(length < 64 ? length : 64), name);
  fw_error_set_hint(err, "sort the log by the column with the role time");
  return FURROW_E_FORMAT;
}

furrow_status fw_history_take(fw_history *h, const fw_event *event, const uint32_t **items, size_t *count,
                              furrow_error *err) {
  const fw_field *users = &h->dictionary->fields[h->dictionary->user_field];
  const fw_field *known = &h->dictionary->fields[h->dictionary->item_field];
  const uint64_t user = fw_field_local(users, event->user), item = fw_field_local(known, event->item);
  *count = 0;
  if (event->user == FW_FEATURE_NONE || (!users->hash_bits && user < FW_LOCAL_FIRST)) return FURROW_OK;
  user_past *past = &h->pasts[user];
  uint32_t *before = h->items + user * 2 * h->last;
  const bool first = past->state == USER_UNSEEN;
  begin_user(h, user, past, before, event->time);
  if (!first && event->time < past->time) return fail_order(h, user, err);
  if (event->time > past->time || first) settle_latest(h, past, before);
  past->time = event->time;
  *items = before;
  *count = past->count;
  if (event->item == FW_FEATURE_NONE || (!known->hash_bits && item < FW_LOCAL_FIRST)) return FURROW_OK;
  append_item(before + h->last, &past->latest, h->last, (uint32_t)item);
  return FURROW_OK;
}

void fw_history_end(fw_history *h, uint64_t user, const uint32_t **items, size_t *count, double *time) {
  user_past *past = &h->pasts[user];
  uint32_t *before = h->items + user * 2 * h->last;
  if (past->state == USER_UNSEEN) begin_user(h, user, past, before, INFINITY);
  settle_latest(h, past, before);
  *items = before;
  *count = past->count;
  *time = past->time;
}

/* ---- Rows ---- */

/* Copies row i and adds the features of the items. */
static furrow_status add_row(const fw_history *h, const furrow_rowblock *block, size_t i, const uint32_t *items,
                             size_t count, furrow_container *out, furrow_error *err) {
  const furrow_row row = furrow_rowblock_row(block, i);
  const size_t field = h->dictionary->history_field;
  const float value = (float)(1 / sqrt((double)count));
  FW_TRY(furrow_container_push_row(out, &row, err));
  FW_TRY(fw_container_reserve(out, out->rows, out->features + count, FW_COLUMN_FIELD | FW_COLUMN_VALUE, err));
  for (size_t k = 0; k < count; k++) {
    fw_store_index(out->key_type, out->field, out->features, field);
    fw_store_index(out->key_type, out->index, out->features, fw_field_feature(&h->dictionary->fields[field], items[k]));
    ((float *)out->value)[out->features++] = value;
  }
  out->offset[out->rows] = out->features;
  return FURROW_OK;
}

furrow_status fw_history_add(fw_history *h, const fw_event *events, furrow_container *rows, furrow_container *out,
                             furrow_error *err) {
  const furrow_rowblock block = fw_container_block(rows);
  furrow_container_clear(out);
  for (size_t i = 0; i < block.size; i++) {
    const uint32_t *items = NULL;
    size_t count = 0;
    FW_TRY(fw_history_take(h, &events[i], &items, &count, err));
    FW_TRY(add_row(h, &block, i, items, count, out, err));
  }
  return FURROW_OK;
}
