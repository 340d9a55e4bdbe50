/* base/arena.c: scratch memory that is released all at once. */
#include "base/arena.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Every piece starts on a cache line, so that aligned vector loads are allowed on it and no two pieces share one. */
#define ALIGNMENT 64
#define SMALLEST_BLOCK ((size_t)64 << 10)
#define LARGEST_STEP ((size_t)64 << 20)

struct fw_arena_block {
  struct fw_arena_block *next;
  unsigned char *start; /* the first aligned byte after this header */
  size_t capacity;      /* bytes from start on, a multiple of ALIGNMENT */
};

static bool round_up(size_t bytes, size_t *rounded) {
  if (!fw_size_add(bytes, ALIGNMENT - 1, &bytes)) return false;
  *rounded = bytes / ALIGNMENT * ALIGNMENT;
  return true;
}

/* Each block is twice as large as the one before, so a batch that repeats soon fits into the single block that reset
 * keeps. The size stops growing at a limit, which bounds how much memory is reserved in advance. */
static size_t capacity_of_next(const fw_arena *arena, size_t bytes) {
  size_t capacity = SMALLEST_BLOCK;
  if (arena->blocks) capacity = arena->blocks->capacity < LARGEST_STEP / 2 ? arena->blocks->capacity * 2 : LARGEST_STEP;
  return capacity < bytes ? bytes : capacity;
}

static furrow_status add_block(fw_arena *arena, size_t bytes, furrow_error *err) {
  size_t capacity = capacity_of_next(arena, bytes);
  size_t whole;
  if (!fw_size_add(capacity, sizeof(struct fw_arena_block) + ALIGNMENT - 1, &whole)) return fw_fail_memory(err, bytes);
  void *memory;
  FW_TRY(fw_alloc(&memory, whole, 1, err));
  struct fw_arena_block *block = memory;
  uintptr_t header_end = (uintptr_t)(block + 1);
  block->start = (unsigned char *)(block + 1) + (ALIGNMENT - header_end % ALIGNMENT) % ALIGNMENT;
  block->capacity = capacity;
  block->next = arena->blocks;
  arena->blocks = block;
  arena->used = 0;
  return FURROW_OK;
}

furrow_status fw_arena_take(fw_arena *arena, void **memory, size_t count, size_t size, furrow_error *err) {
  size_t bytes;
  if (!fw_size_mul(count, size, &bytes) || !round_up(bytes, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  if (!arena->blocks || bytes > arena->blocks->capacity - arena->used) {
    FW_TRY(add_block(arena, bytes, err));
  }
  assert(arena->used <= arena->blocks->capacity && bytes <= arena->blocks->capacity - arena->used);
  void *taken = arena->blocks->start + arena->used;
  memcpy(memory, &taken, sizeof taken); /* as bytes: the caller's pointer may have any type */
  arena->used += bytes;
  return FURROW_OK;
}

void fw_arena_reset(fw_arena *arena) {
  struct fw_arena_block *largest = NULL;
  struct fw_arena_block *block = arena->blocks;
  while (block) {
    struct fw_arena_block *next = block->next;
    if (!largest || block->capacity > largest->capacity) {
      fw_free(largest);
      largest = block;
    } else {
      fw_free(block);
    }
    block = next;
  }
  if (largest) largest->next = NULL;
  arena->blocks = largest;
  arena->used = 0;
}

void fw_arena_clear(fw_arena *arena) {
  fw_arena_reset(arena);
  fw_free(arena->blocks);
  arena->blocks = NULL;
}
