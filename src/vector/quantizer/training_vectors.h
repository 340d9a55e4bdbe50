/* vector/quantizer/training_vectors.h: the vectors of training: random samples, drawn in the order of Faiss, and
 * vectors that are distributed over ranks. */
#ifndef FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H
#define FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"

/* The first `count` numbers of a shuffled 0 … n-1 (MT19937, Fisher–Yates from the front); count <= n. */
furrow_status fw_random_subset(size_t *numbers, size_t count, size_t n, uint64_t seed,
                               furrow_error *err) FURROW_MUST_USE;

/* The vectors that one rank holds. Each has a position among those of all ranks; positions of a rank are ascending. */
typedef struct fw_rank_vectors {
  const furrow_comm *comm;
  const float *vectors;
  size_t n, total;        /* of this rank, of all */
  size_t base;            /* the position of vector i is base + i, */
  const size_t *position; /* unless it is position[i] */
  float *own;             /* memory that belongs to it; NULL: vectors are the caller's */
  size_t *own_position;
} fw_rank_vectors;

/* n vectors of a lone process. */
static inline fw_rank_vectors fw_rank_vectors_single(const float *vectors, size_t n) {
  return (fw_rank_vectors){.comm = fw_comm_self(), .vectors = vectors, .n = n, .total = n};
}
/* The vectors of rank 0, then those of rank 1 …; n may differ by rank. All ranks must call it. */
furrow_status fw_rank_vectors_init(fw_rank_vectors *local, const furrow_comm *comm, const float *vectors, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;
/* Gives the vectors of this rank other positions among all, ascending, which are borrowed; NULL: they stay. E_ARGUMENT:
 * they are not ascending, or not below the number of all. */
furrow_status fw_rank_vectors_place(fw_rank_vectors *local, const uint64_t *positions,
                                    furrow_error *err) FURROW_MUST_USE;
/* At most `most` vectors (of d floats) of all ranks: all of them, borrowed from `from`, or a copy of a random sample,
 * whose positions are the order of drawing. */
furrow_status fw_rank_vectors_sample(fw_rank_vectors *sample, const fw_rank_vectors *from, size_t d, size_t most,
                                     uint64_t seed, furrow_error *err) FURROW_MUST_USE;
/* The same positions with other vectors, which are borrowed. */
fw_rank_vectors fw_rank_vectors_replace(const fw_rank_vectors *local, const float *vectors);
void fw_rank_vectors_clear(fw_rank_vectors *local);

/* Gives all ranks the vectors at `count` positions. A rank without the vector adds zeros, so -0 becomes 0 where there
 * are several ranks. */
furrow_status fw_rank_vectors_fetch(const fw_rank_vectors *local, size_t d, const size_t *positions, size_t count,
                                    float *out, furrow_error *err) FURROW_MUST_USE;

#endif
