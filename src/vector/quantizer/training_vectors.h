/* vector/quantizer/training_vectors.h: training vectors: random samples, drawn in the order of Faiss, and vectors
 * distributed over ranks. */
#ifndef FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H
#define FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"

/* The first `count` numbers of a shuffled 0 … n-1 (MT19937, Fisher–Yates from the front); count <= n. */
furrow_status fw_random_subset(size_t *numbers, size_t count, size_t n, uint64_t seed,
                               furrow_error *err) FURROW_MUST_USE;

/* The vectors that one rank holds. Each has a position among the vectors of all ranks; positions of a rank ascend. */
typedef struct fw_rank_vectors {
  const furrow_comm *comm;
  const float *vectors;
  size_t n, total;        /* of this rank; of all ranks */
  size_t base;            /* the position of vector i is base + i, */
  const size_t *position; /* unless it is position[i] */
  float *own;             /* owned memory; NULL: the vectors belong to the caller */
  size_t *own_position;
} fw_rank_vectors;

/* n vectors of a lone process. */
static inline fw_rank_vectors fw_rank_vectors_single(const float *vectors, size_t n) {
  return (fw_rank_vectors){.comm = fw_comm_self(), .vectors = vectors, .n = n, .total = n};
}
/* The vectors of rank 0 come first, then the vectors of rank 1, and so on; n may differ by rank. Collective. */
furrow_status fw_rank_vectors_init(fw_rank_vectors *local, const furrow_comm *comm, const float *vectors, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;
/* Assigns other positions to this rank's vectors, ascending and borrowed; NULL: keeps them. Fails with E_ARGUMENT if
 * they do not ascend or exceed the total. */
furrow_status fw_rank_vectors_place(fw_rank_vectors *local, const uint64_t *positions,
                                    furrow_error *err) FURROW_MUST_USE;
/* Takes at most `most` vectors (of d floats) of all ranks: all of them, borrowed from `from`, or a copy of a random
 * sample, whose positions are the order of drawing. */
furrow_status fw_rank_vectors_sample(fw_rank_vectors *sample, const fw_rank_vectors *from, size_t d, size_t most,
                                     uint64_t seed, furrow_error *err) FURROW_MUST_USE;
/* The same positions with other vectors, which are borrowed. */
fw_rank_vectors fw_rank_vectors_replace(const fw_rank_vectors *local, const float *vectors);
void fw_rank_vectors_clear(fw_rank_vectors *local);

/* Gives all ranks the vectors at `count` positions. Ranks without the vector add zeros, so with several ranks -0
 * becomes 0. */
furrow_status fw_rank_vectors_fetch(const fw_rank_vectors *local, size_t d, const size_t *positions, size_t count,
                                    float *out, furrow_error *err) FURROW_MUST_USE;

#endif
