/* rows/encode/text_counter.h: how often each text occurs. */
#ifndef FW_ROWS_ENCODE_TEXT_COUNTER_H
#define FW_ROWS_ENCODE_TEXT_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

/* Everything that a lookup compares and changes lies together, so that it waits for memory once. */
typedef struct fw_counted_text {
  uint64_t hash, count;
  uint32_t length;
  char text[]; /* then bytes up to a multiple of 8 */
} fw_counted_text;

/* The caller's struct; all zeros is an empty counter. */
typedef struct fw_text_counter {
  char *records; /* counted texts, one behind the other */
  size_t size, capacity;
  size_t count;
  uint64_t *slots; /* upper half of the hash, place of the record / 8 + 1; 0: free */
  size_t mask;
} fw_text_counter;

void fw_text_counter_clear(fw_text_counter *counter);

/* Adds n times the text, whose hash is fw_string_table_hash; the text is copied when it is new. */
furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) FURROW_MUST_USE;
/* To add a batch: hash each text, prefetch the slots, prefetch the records, then add them all. */
static inline void fw_text_counter_prefetch(const fw_text_counter *counter, uint64_t hash) {
  if (counter->slots) __builtin_prefetch(&counter->slots[hash & counter->mask]);
}
static inline void fw_text_counter_prefetch_record(const fw_text_counter *counter, uint64_t hash) {
  if (!counter->slots) return;
  for (size_t at = hash & counter->mask;; at = (at + 1) & counter->mask) {
    const uint64_t slot = counter->slots[at];
    if (slot == 0) return;
    if ((slot ^ hash) >> 32) continue;
    const char *record = counter->records + 8 * (size_t)((uint32_t)slot - 1);
    __builtin_prefetch(record, 1);
    __builtin_prefetch(record + 40); /* often in the next line */
    return;
  }
}
/* Adds all of `other`. */
furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Gives the texts, the most frequent first, equally frequent ones in the order of their bytes. The list is the
 * caller's (fw_free), the texts are the counter's until something is added. */
furrow_status fw_text_counter_sort(const fw_text_counter *counter, const fw_counted_text ***sorted,
                                   furrow_error *err) FURROW_MUST_USE;

#endif
