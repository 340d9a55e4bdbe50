/* base/arena.h: scratch memory that is released all at once. */
#ifndef FW_BASE_ARENA_H
#define FW_BASE_ARENA_H

#include <stddef.h>

#include "furrow/status.h"

/* The caller's struct; all zeros is an empty arena. One thread at a time. */
typedef struct fw_arena {
  struct fw_arena_block *blocks; /* newest first */
  size_t used;                   /* bytes used in the newest block */
} fw_arena;

/* Takes `count` elements of `size` bytes, aligned to 64 bytes and not cleared. They are valid until reset or clear. */
furrow_status fw_arena_take(fw_arena *arena, void **memory, size_t count, size_t size,
                            furrow_error *err) FURROW_MUST_USE;
/* Drops everything that was taken and keeps the largest block for the next round. */
void fw_arena_reset(fw_arena *arena);
/* Frees everything; the arena is empty again. */
void fw_arena_clear(fw_arena *arena);

/* fw_arena_take for elements of a type: `p` is the address of a T *, and the size is sizeof(T). */
#define FW_ARENA_TAKE(arena, p, count, err) fw_arena_take(arena, (void **)(p), count, sizeof **(p), err)

#endif
