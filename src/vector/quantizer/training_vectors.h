/* vector/quantizer/training_vectors.h: vectors drawn by chance, in the order that Faiss draws them in; dealt to ranks
 * or not. */
#ifndef FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H
#define FW_VECTOR_QUANTIZER_TRAINING_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "comm/comm.h"

/* The first `count` numbers of a shuffled 0 … n-1 (MT19937, Fisher–Yates from the front); count <= n. */
furrow_status fw_random_subset(size_t *numbers, size_t count, size_t n, uint64_t seed,
                               furrow_error *err) FURROW_MUST_USE;

/* What a rank holds of vectors that belong to all of them. Each vector has a position among all; those of a rank are in
 * ascending order. */
typedef struct fw_rank_vectors {
  const fw_comm *comm;
  const float *vectors;
  size_t n, total;        /* of this rank, of all */
  size_t base;            /* the position of vector i is base + i, */
  const size_t *position; /* unless it is position[i] */
  float *own;             /* what was made for it; NULL: the caller's */
  size_t *own_position;
} fw_rank_vectors;

/* n vectors that are this process's alone. */
static inline fw_rank_vectors fw_rank_vectors_single(const float *vectors, size_t n) {
  return (fw_rank_vectors){.comm = fw_comm_self(), .vectors = vectors, .n = n, .total = n};
}
/* The vectors of rank 0, then those of rank 1 …; n may differ by rank. Asked by all ranks. */
furrow_status fw_rank_vectors_init(fw_rank_vectors *local, const fw_comm *comm, const float *vectors, size_t n,
                                   furrow_error *err) FURROW_MUST_USE;
/* At most `most` vectors (of d floats) of all ranks: all as they are, or a copy of those that were drawn; their
 * positions are the order in which they were. Borrows from `from`. */
furrow_status fw_rank_vectors_sample(fw_rank_vectors *sample, const fw_rank_vectors *from, size_t d, size_t most,
                                     uint64_t seed, furrow_error *err) FURROW_MUST_USE;
/* The same positions with other vectors, which are borrowed. */
fw_rank_vectors fw_rank_vectors_replace(const fw_rank_vectors *local, const float *vectors);
void fw_rank_vectors_clear(fw_rank_vectors *local);

/* For each number the vector at that position, for all ranks. A rank that does not have it adds zeros: -0 becomes 0
 * where there are several. */
furrow_status fw_rank_vectors_fetch(const fw_rank_vectors *local, size_t d, const size_t *positions, size_t count,
                                    float *out, furrow_error *err) FURROW_MUST_USE;

#endif
