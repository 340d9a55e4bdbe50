/* vector/draw.h: vectors drawn by chance, in the order that Faiss draws them in. */
#ifndef FW_VECTOR_DRAW_H
#define FW_VECTOR_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

/* The first `count` numbers of a shuffled 0 … n-1 (MT19937, Fisher–Yates from the front); count <= n. */
furrow_status fw_draw(size_t *numbers, size_t count, size_t n, uint64_t seed, furrow_error *err)
    __attribute__((warn_unused_result));

/* At most `most` of n vectors of d floats: all of them as they are, or a copy of those that were drawn. */
typedef struct fw_drawn {
  const float *vectors;
  size_t n;
  float *own; /* NULL: the caller's */
} fw_drawn;

furrow_status fw_draw_vectors(fw_drawn *drawn, const float *vectors, size_t n, size_t d, size_t most, uint64_t seed,
                              furrow_error *err) __attribute__((warn_unused_result));
void fw_drawn_clear(fw_drawn *drawn);

#endif
