/* model/meta/java_map.c: the order in which a java.util.HashMap gives its entries.
 *
 * Bucket after bucket, and within a bucket in the order in which they were put there: bucket = (h ^ h >>> 16) mod
 * capacity. The capacity starts with 16 and doubles when there are more than 3/4 of it, or when a ninth entry comes to
 * a bucket and it is less than 64. (From 64 on such a bucket becomes a tree, whose root comes first. That takes eleven
 * saved rows with the same id mod 64, and is not imitated.) */
#include "base/mem.h"
#include "base/utf8.h"
#include "model/meta/meta.h"

#define TREES_FROM 64
#define CROWDED 8

static uint32_t bucket_of(uint32_t hash, size_t capacity) {
  return (uint32_t)((hash ^ hash >> 16) & (capacity - 1));
}

/* The capacity after `count` entries; only the first few of them can be crowded below TREES_FROM. */
static size_t capacity_for(const uint32_t *hashes, size_t count) {
  size_t capacity = 16;
  for (size_t i = 0; i < count && capacity < TREES_FROM; i++) {
    size_t before = 0;
    for (size_t k = 0; k < i; k++) before += bucket_of(hashes[k], capacity) == bucket_of(hashes[i], capacity);
    if (before >= CROWDED) capacity *= 2;
    if (i + 1 > capacity / 4 * 3) capacity *= 2;
  }
  while (count > capacity / 4 * 3) capacity *= 2;
  return capacity;
}

furrow_status fw_java_map_order(const uint32_t *hashes, size_t count, size_t *order, furrow_error *err) {
  const size_t capacity = capacity_for(hashes, count);
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, capacity + 1, sizeof(size_t), err);
  if (status != FURROW_OK) return status;
  size_t *next = memory; /* where the next entry of a bucket goes */
  for (size_t i = 0; i < count; i++) next[bucket_of(hashes[i], capacity) + 1]++;
  for (size_t b = 0; b < capacity; b++) next[b + 1] += next[b];
  for (size_t i = 0; i < count; i++) order[next[bucket_of(hashes[i], capacity)]++] = i;
  fw_free(memory);
  return FURROW_OK;
}

uint32_t fw_java_text_hash(const char *text, size_t size) {
  const char *const end = text + size;
  uint32_t hash = 0, code = 0;
  while (text < end) {
    const char *next = fw_utf8_read(text, end, &code);
    if (!next) return hash;
    if (code >= 0x10000) { /* two units of UTF-16 */
      hash = hash * 31 + (0xd800 + ((code - 0x10000) >> 10));
      code = 0xdc00 + ((code - 0x10000) & 0x3ff);
    }
    hash = hash * 31 + code;
    text = next;
  }
  return hash;
}
