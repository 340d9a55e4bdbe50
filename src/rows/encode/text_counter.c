/* rows/encode/text_counter.c: a hash table of texts and their counts: open addressing, at most half full. */
#include "rows/encode/text_counter.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

#define FIRST_SLOTS 64
#define BLOCK ((size_t)256 << 10) /* bytes of texts that are allocated at a time */

void fw_text_counter_clear(fw_text_counter *counter) {
  fw_free(counter->texts);
  fw_free(counter->slots);
  fw_arena_clear(&counter->arena);
  memset(counter, 0, sizeof *counter);
}

static uint64_t slot_of(uint64_t hash, size_t number) {
  return (hash & 0xffffffff00000000) | (number + 1);
}

static furrow_status grow_slots(fw_text_counter *counter, furrow_error *err) {
  const size_t slots = counter->slots ? 2 * (counter->mask + 1) : FIRST_SLOTS;
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, slots, sizeof(uint64_t), err));
  fw_prefer_large_pages(memory, slots * sizeof(uint64_t));
  uint64_t *fresh = memory;
  for (size_t i = 0; i < counter->count; i++) {
    size_t at = counter->texts[i].hash & (slots - 1);
    while (fresh[at]) at = (at + 1) & (slots - 1);
    fresh[at] = slot_of(counter->texts[i].hash, i);
  }
  fw_free(counter->slots);
  counter->slots = fresh;
  counter->mask = slots - 1;
  return FURROW_OK;
}

/* A copy of the bytes of a text. */
static furrow_status keep_bytes(fw_text_counter *counter, const char **text, uint32_t length, furrow_error *err) {
  if (length > counter->block_left) {
    const size_t size = length > BLOCK ? length : BLOCK;
    void *memory = NULL;
    FW_TRY(fw_arena_take(&counter->arena, &memory, size, 1, err));
    counter->block = memory;
    counter->block_left = size;
  }
  memcpy(counter->block, *text, length);
  *text = counter->block;
  counter->block += length;
  counter->block_left -= length;
  return FURROW_OK;
}

static furrow_status append(fw_text_counter *counter, fw_counted_text text, furrow_error *err) {
  void *memory = counter->texts;
  if (counter->count >= UINT32_MAX - 2) return fw_fail(err, FURROW_E_RANGE, "a column has more than 2^32 - 3 values");
  FW_TRY(fw_grow(&memory, &counter->capacity, counter->count + 1, sizeof *counter->texts, err));
  counter->texts = memory;
  FW_TRY(keep_bytes(counter, &text.text, text.length, err));
  counter->texts[counter->count++] = text;
  return FURROW_OK;
}

furrow_status fw_text_counter_add(fw_text_counter *counter, uint64_t hash, const char *text, uint32_t length,
                                  uint64_t n, furrow_error *err) {
  if (2 * (counter->count + 1) > counter->mask) FW_TRY(grow_slots(counter, err));
  size_t at = hash & counter->mask;
  for (uint64_t slot; (slot = counter->slots[at]) != 0; at = (at + 1) & counter->mask) {
    if ((slot ^ hash) >> 32) continue;
    fw_counted_text *known = &counter->texts[(uint32_t)slot - 1];
    if (known->hash != hash || known->length != length || memcmp(known->text, text, length) != 0) continue;
    known->count += n;
    return FURROW_OK;
  }
  FW_TRY(append(counter, (fw_counted_text){text, hash, n, length}, err));
  counter->slots[at] = slot_of(hash, counter->count - 1);
  return FURROW_OK;
}

furrow_status fw_text_counter_merge(fw_text_counter *counter, const fw_text_counter *other, furrow_error *err) {
  enum { AHEAD = 16 };
  for (size_t i = 0; i < other->count; i++) {
    const fw_counted_text *text = &other->texts[i];
    if (i + AHEAD < other->count) fw_text_counter_prefetch(counter, other->texts[i + AHEAD].hash);
    FW_TRY(fw_text_counter_add(counter, text->hash, text->text, text->length, text->count, err));
  }
  return FURROW_OK;
}

static int compare_counted(const void *a, const void *b) {
  const fw_counted_text *x = a, *y = b;
  if (x->count != y->count) return x->count > y->count ? -1 : 1;
  const int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

void fw_text_counter_sort(fw_text_counter *counter) {
  if (counter->count > 1) qsort(counter->texts, counter->count, sizeof *counter->texts, compare_counted);
}
