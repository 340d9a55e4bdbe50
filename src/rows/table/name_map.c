/* rows/table/name_map.c: a hash table of names. */
#include "rows/table/name_map.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"

#define FIRST_SLOTS 16

struct fw_name_slot {
  const char *name; /* NULL: free */
  uint32_t length, number;
};

/* The seed is the factor and the start: it is odd, and the shift keeps the sum from being a polynomial in it, for which
 * texts are known that collide whatever the factor is. */
static uint64_t hash_more(uint64_t hash, uint64_t seed, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    hash = (hash ^ (unsigned char)text[i]) * seed;
    hash ^= hash >> 29;
  }
  return hash;
}

static uint64_t hash_joined(const char *prefix, size_t prefix_length, const char *name, size_t length) {
  const uint64_t seed = fw_mix64(fw_hash_seed()) | 1;
  uint64_t hash = seed;
  if (prefix) hash = hash_more(hash_more(hash, seed, prefix, prefix_length), seed, ".", 1);
  return fw_mix64(hash_more(hash, seed, name, length));
}

static bool is_joined(const struct fw_name_slot *slot, const char *prefix, size_t prefix_length, const char *name,
                      size_t length) {
  if (!prefix) return slot->length == length && fw_same_bytes(slot->name, name, length);
  return slot->length == prefix_length + 1 + length && fw_same_bytes(slot->name, prefix, prefix_length) &&
         slot->name[prefix_length] == '.' && fw_same_bytes(slot->name + prefix_length + 1, name, length);
}

static void insert(struct fw_name_slot *slots, size_t mask, struct fw_name_slot slot) {
  size_t at = hash_joined(NULL, 0, slot.name, slot.length) & mask;
  while (slots[at].name) at = (at + 1) & mask;
  slots[at] = slot;
}

static furrow_status grow_map(fw_name_map *map, furrow_error *err) {
  const size_t count = map->slots ? 2 * (map->mask + 1) : FIRST_SLOTS;
  struct fw_name_slot *slots;
  FW_TRY(FW_ALLOC_ZERO(&slots, count, err));
  for (size_t i = 0; map->slots && i <= map->mask; i++)
    if (map->slots[i].name) insert(slots, count - 1, map->slots[i]);
  fw_free(map->slots);
  map->slots = slots;
  map->mask = count - 1;
  return FURROW_OK;
}

furrow_status fw_name_map_add(fw_name_map *map, const char *name, size_t length, size_t number, furrow_error *err) {
  assert(length < UINT32_MAX && number < UINT32_MAX);
  if (fw_name_map_find(map, name, length) != FW_NAME_NONE) return FURROW_OK;
  if (!map->slots || 2 * (map->count + 1) > map->mask) FW_TRY(grow_map(map, err));
  insert(map->slots, map->mask, (struct fw_name_slot){name, (uint32_t)length, (uint32_t)number});
  map->count++;
  return FURROW_OK;
}

size_t fw_name_map_find_joined(const fw_name_map *map, const char *prefix, size_t prefix_length, const char *name,
                               size_t length) {
  if (!map->slots) return FW_NAME_NONE;
  size_t at = hash_joined(prefix, prefix_length, name, length) & map->mask;
  for (; map->slots[at].name; at = (at + 1) & map->mask)
    if (is_joined(&map->slots[at], prefix, prefix_length, name, length)) return map->slots[at].number;
  return FW_NAME_NONE;
}

void fw_name_map_clear(fw_name_map *map) {
  fw_free(map->slots);
  *map = (fw_name_map){0};
}
