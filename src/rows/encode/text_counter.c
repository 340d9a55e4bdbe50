/* rows/encode/text_counter.c: a hash table of texts and their counts: open addressing, at most half full. */
#include "rows/encode/learn_fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"

#define FIRST_SLOTS 8
#define MOST_PLACE ((size_t)UINT32_MAX - 1) /* in units of 8 bytes */

void fw_text_counter_clear(fw_text_counter *counter) {
  fw_free(counter->records);
  fw_free(counter->slots);
  memset(counter, 0, sizeof *counter);
}

static fw_counted_text *record_at(const fw_text_counter *counter, size_t place) {
  return (fw_counted_text *)(counter->records + place);
}

static size_t record_size(uint32_t length) {
  return (offsetof(fw_counted_text, text) + (size_t)length + 7) / 8 * 8;
}

static uint64_t slot_of(uint64_t hash, size_t place) {
  return (hash & 0xffffffff00000000) | (place / 8 + 1);
}

static furrow_status grow_slots(fw_text_counter *counter, furrow_error *err) {
  const size_t slots = counter->slots ? 2 * (counter->mask + 1) : FIRST_SLOTS;
  uint64_t *fresh;
  FW_TRY(FW_ALLOC_ZERO(&fresh, slots, err));
  fw_prefer_large_pages(fresh, slots * sizeof(uint64_t));
  for (size_t place = 0; place < counter->size; place += record_size(record_at(counter, place)->length)) {
    const uint64_t hash = record_at(counter, place)->hash;
    size_t at = hash & (slots - 1);
    while (fresh[at]) at = (at + 1) & (slots - 1);
    fresh[at] = slot_of(hash, place);
  }
  fw_free(counter->slots);
  counter->slots = fresh;
  counter->mask = slots - 1;
  return FURROW_OK;
}

static furrow_status append_text(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length, uint64_t n,
                                 furrow_error *err) {
  if (counter->size / 8 >= MOST_PLACE) return fw_fail(err, FURROW_E_RANGE, "the texts of a column take over 32 GiB");
  FW_TRY(FW_GROW(&counter->records, &counter->capacity, counter->size + record_size(length), err));
  fw_counted_text *record = record_at(counter, counter->size);
  record->hash = hash;
  record->count = n;
  record->length = length;
  memcpy(record->text, text, length);
  counter->size += record_size(length);
  counter->count++;
  return FURROW_OK;
}

furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) {
  if (2 * (counter->count + 1) > counter->mask) FW_TRY(grow_slots(counter, err));
  size_t at = hash & counter->mask;
  for (uint64_t slot; (slot = counter->slots[at]) != 0; at = (at + 1) & counter->mask) {
    if ((slot ^ hash) >> 32) continue;
    fw_counted_text *known = record_at(counter, 8 * (size_t)((uint32_t)slot - 1));
    if (known->hash != hash || known->length != length || !fw_same_bytes(known->text, text, length)) continue;
    known->count += n;
    return FURROW_OK;
  }
  const size_t place = counter->size;
  FW_TRY(append_text(counter, hash, text, length, n, err));
  counter->slots[at] = slot_of(hash, place);
  return FURROW_OK;
}

furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other, furrow_error *err) {
  enum { AHEAD = 64 };
  const fw_counted_text *texts[AHEAD];
  for (size_t place = 0; place < other->size;) {
    size_t n = 0;
    for (; n < AHEAD && place < other->size; place += record_size(texts[n++]->length)) {
      texts[n] = record_at(other, place);
      fw_text_counter_prefetch(counter, texts[n]->hash);
    }
    for (size_t i = 0; i < n; i++) fw_text_counter_prefetch_record(counter, texts[i]->hash);
    for (size_t i = 0; i < n; i++)
      FW_TRY(fw_text_counter_add(counter, texts[i]->hash, texts[i]->text, texts[i]->length, texts[i]->count, err));
  }
  return FURROW_OK;
}

/* ---- Sorting -------------------------------------------------------------------------------------------- */

/* A text and its sort key: its count, then eight of its bytes at a time, so that the text itself is rarely read. */
typedef struct sort_entry {
  uint64_t key;
  const fw_counted_text *text;
} sort_entry;

static int compare_keys(const void *a, const void *b) {
  const uint64_t x = ((const sort_entry *)a)->key, y = ((const sort_entry *)b)->key;
  return (x > y) - (x < y);
}

/* Returns eight bytes from `at` on, the first one highest; zeros follow the end of the text. */
static uint64_t bytes_from(const fw_counted_text *text, size_t at) {
  unsigned char bytes[8] = {0};
  if (at >= text->length) return 0;
  memcpy(bytes, text->text + at, text->length - at < 8 ? text->length - at : 8);
  return __builtin_bswap64(fw_get_le64(bytes));
}

/* Sorts texts that have the same count and the same bytes before `at`. Two texts that differ only in trailing zeros
 * are in the order of their lengths. */
static void sort_from(sort_entry *entries, size_t n, size_t at) {
  enum { AHEAD = 16 };
  bool more = false;
  for (size_t i = 0; i < n; i++) {
    if (i + AHEAD < n) __builtin_prefetch(entries[i + AHEAD].text);
    more |= at < entries[i].text->length;
    entries[i].key = bytes_from(entries[i].text, at);
  }
  for (size_t i = 0; i < n && !more; i++) entries[i].key = entries[i].text->length;
  qsort(entries, n, sizeof *entries, compare_keys);
  for (size_t i = 0, end; i < n && more; i = end) {
    for (end = i + 1; end < n && entries[end].key == entries[i].key; end++) continue;
    if (end - i > 1) sort_from(entries + i, end - i, at + 8);
  }
}

furrow_status fw_text_counter_sort(const fw_text_counter *counter, const fw_counted_text ***sorted, furrow_error *err) {
  size_t n = 0;
  sort_entry *entries;
  FW_TRY(FW_ALLOC(&entries, counter->count, err));
  for (size_t place = 0; place < counter->size; place += record_size(record_at(counter, place)->length))
    entries[n++] = (sort_entry){~record_at(counter, place)->count, record_at(counter, place)};
  if (n > 1) qsort(entries, n, sizeof *entries, compare_keys);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && entries[end].key == entries[i].key; end++) continue;
    if (end - i > 1) sort_from(entries + i, end - i, 0);
  }
  const furrow_status status = FW_ALLOC(sorted, n, err);
  for (size_t i = 0; i < n && status == FURROW_OK; i++) (*sorted)[i] = entries[i].text;
  fw_free(entries);
  return status;
}
