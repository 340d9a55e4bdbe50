/* rows/encode/text_counter.h: how often each text occurs. */
#ifndef FW_ROWS_ENCODE_TEXT_COUNTER_H
#define FW_ROWS_ENCODE_TEXT_COUNTER_H

#include <stdint.h>

#include "base/arena.h"
#include "furrow/status.h"

typedef struct fw_counted_text {
  const char *text; /* of the counter */
  uint64_t hash, count;
  uint32_t length;
} fw_counted_text;

/* The caller's struct; all zeros is an empty counter. */
typedef struct fw_text_counter {
  fw_counted_text *texts; /* in the order in which they came, until they are sorted */
  size_t count, capacity;
  uint64_t *slots; /* upper half of the hash, number of the text + 1; 0: free */
  size_t mask;
  fw_arena arena;
  char *block; /* for the bytes of the next texts */
  size_t block_left;
} fw_text_counter;

void fw_text_counter_clear(fw_text_counter *counter);

/* Adds n times the text, whose hash is fw_string_table_hash; the text is copied when it is new. */
furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) FURROW_MUST_USE;
/* Brings what fw_text_counter_add will look at into the cache. */
static inline void fw_text_counter_prefetch(const fw_text_counter *counter, uint64_t hash) {
  if (counter->slots) __builtin_prefetch(&counter->slots[hash & counter->mask]);
}
/* Adds all of `other`. */
furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other,
                                    furrow_error *err) FURROW_MUST_USE;
/* Puts the most frequent text first, equally frequent ones in the order of their bytes. Nothing may be added then. */
void fw_text_counter_sort(fw_text_counter *counter);

#endif
