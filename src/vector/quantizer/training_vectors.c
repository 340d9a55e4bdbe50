/* vector/quantizer/training_vectors.c: training vectors: random samples, vectors distributed over ranks, checks. */
#include "vector/quantizer/training_vectors.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "furrow/vector.h"

furrow_status fw_random_subset(size_t *numbers, size_t count, size_t n, uint64_t seed, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, n, sizeof *numbers, err));
  size_t *all = memory;
  fw_mt19937 rng;
  fw_mt19937_init(&rng, (uint32_t)seed);
  for (size_t i = 0; i < n; i++) all[i] = i;
  for (size_t i = 0; i < count; i++) { /* later swaps do not change the first numbers */
    size_t other = i + fw_mt19937_next(&rng) % (n - i);
    size_t kept = all[i];
    all[i] = all[other];
    all[other] = kept;
  }
  memcpy(numbers, all, count * sizeof *numbers);
  fw_free(all);
  return FURROW_OK;
}

/* ---- Vectors of ranks ----------------------------------------------------------------------------------- */

furrow_status fw_rank_vectors_init(fw_rank_vectors *local, const furrow_comm *comm, const float *vectors, size_t n,
                                   furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, comm->ranks, sizeof(double), err);
  if (status != FURROW_OK) return status;
  double *counts = memory;
  counts[comm->rank] = (double)n;
  status = fw_comm_sum_f64(comm, counts, comm->ranks, err);
  fw_rank_vectors made = {.comm = comm, .vectors = vectors, .n = n};
  for (unsigned r = 0; r < comm->ranks; r++) {
    if (r < comm->rank) made.base += (size_t)counts[r];
    made.total += (size_t)counts[r];
  }
  fw_free(counts);
  if (status == FURROW_OK) *local = made;
  return status;
}

furrow_status fw_rank_vectors_place(fw_rank_vectors *local, const uint64_t *positions, furrow_error *err) {
  _Static_assert(sizeof(size_t) == sizeof(uint64_t), "positions are numbers of 64 bits");
  for (size_t i = 0; positions && i < local->n; i++)
    if (positions[i] >= local->total || (i > 0 && positions[i] <= positions[i - 1]))
      return fw_fail(err, FURROW_E_ARGUMENT, "positions[%zu] is %llu: they must ascend, and be below %zu", i,
                     (unsigned long long)positions[i], local->total);
  /* in a lone process positions have no effect, as vectors are found by their number */
  if (positions && local->comm->ranks > 1) local->position = (const size_t *)positions;
  return FURROW_OK;
}

/* The index of the vector at a position; n if another rank has it. */
static size_t find_position(const fw_rank_vectors *local, size_t position) {
  if (!local->position)
    return position >= local->base && position - local->base < local->n ? position - local->base : local->n;
  const size_t i = fw_lower_bound_u64(local->position, local->n, sizeof *local->position, position);
  return i < local->n && local->position[i] == position ? i : local->n;
}

/* Finds the indices of this rank's vectors at the positions; n if another rank has the vector. For many positions, a
 * table of all positions replaces the searches. */
static furrow_status find_positions(const fw_rank_vectors *local, const size_t *positions, size_t count, size_t *at,
                                    furrow_error *err) {
  void *memory = NULL;
  if (!local->position) {
    for (size_t i = 0; i < count; i++) at[i] = find_position(local, positions[i]);
    return FURROW_OK;
  }
  FW_TRY(fw_alloc(&memory, local->total, sizeof *at, err));
  size_t *place = memory;
  for (size_t i = 0; i < local->total; i++) place[i] = local->n;
  for (size_t i = 0; i < local->n; i++) place[local->position[i]] = i;
  for (size_t i = 0; i < count; i++) at[i] = place[positions[i]];
  fw_free(place);
  return FURROW_OK;
}

static size_t count_own(const fw_rank_vectors *from, const size_t *at, size_t count) {
  size_t own = 0;
  for (size_t i = 0; i < count; i++) own += at[i] < from->n;
  return own;
}

static void take_own(fw_rank_vectors *sample, const fw_rank_vectors *from, size_t d, const size_t *at) {
  size_t n = 0;
  for (size_t i = 0; i < sample->total; i++) {
    if (at[i] == from->n) continue;
    memcpy(sample->own + n * d, from->vectors + at[i] * d, d * sizeof(float));
    if (sample->own_position) sample->own_position[n] = i;
    n++;
  }
}

furrow_status fw_rank_vectors_sample(fw_rank_vectors *sample, const fw_rank_vectors *from, size_t d, size_t most,
                                     uint64_t seed, furrow_error *err) {
  if (from->total <= most) {
    *sample = *from;
    sample->own = NULL;
    sample->own_position = NULL;
    return FURROW_OK;
  }
  const bool alone = from->comm->ranks == 1; /* vector i is then at position i */
  fw_rank_vectors made = {.comm = from->comm, .total = most};
  void *numbers = NULL, *own = NULL, *position = NULL;
  furrow_status status = fw_alloc(&numbers, most, sizeof(size_t), err);
  if (status == FURROW_OK) status = fw_random_subset(numbers, most, from->total, seed, err);
  if (status == FURROW_OK) status = find_positions(from, numbers, most, numbers, err);
  if (status == FURROW_OK) {
    made.n = count_own(from, numbers, most);
    status = fw_alloc(&own, made.n, d * sizeof(float), err);
  }
  if (status == FURROW_OK && !alone) status = fw_alloc(&position, made.n, sizeof(size_t), err);
  made.vectors = made.own = own;
  made.position = made.own_position = position;
  if (status == FURROW_OK) {
    take_own(&made, from, d, numbers);
    *sample = made;
  } else {
    fw_rank_vectors_clear(&made);
  }
  fw_free(numbers);
  return status;
}

fw_rank_vectors fw_rank_vectors_replace(const fw_rank_vectors *local, const float *vectors) {
  fw_rank_vectors other = *local;
  other.vectors = vectors;
  other.own = NULL;
  other.own_position = NULL;
  return other;
}

void fw_rank_vectors_clear(fw_rank_vectors *local) {
  fw_free(local->own);
  fw_free(local->own_position);
  *local = (fw_rank_vectors){0};
}

furrow_status fw_rank_vectors_fetch(const fw_rank_vectors *local, size_t d, const size_t *positions, size_t count,
                                    float *out, furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    const size_t at = find_position(local, positions[i]);
    if (at < local->n)
      memcpy(out + i * d, local->vectors + at * d, d * sizeof *out);
    else
      memset(out + i * d, 0, d * sizeof *out);
  }
  return fw_comm_sum_f32(local->comm, out, count * d, err);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static float square_norm(const float *x, size_t d) {
  float sum[16] = {0};
  size_t k = 0;
  for (; k + 16 <= d; k += 16)
    for (size_t j = 0; j < 16; j++) sum[j] += x[k + j] * x[k + j];
  for (; k < d; k++) sum[0] += x[k] * x[k];
  for (size_t j = 1; j < 16; j++) sum[0] += sum[j];
  return sum[0];
}

size_t furrow_first_invalid_vector(const float *vectors, size_t n, size_t d) {
  size_t i = 0;
  while (i < n && square_norm(vectors + i * d, d) <= FLT_MAX) i++;
  return i;
}
