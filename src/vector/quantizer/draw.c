/* vector/quantizer/draw.c: vectors drawn by chance, dealt to ranks or not, and whether they are numbers. */
#include "vector/quantizer/draw.h"

#include <float.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "furrow/vector.h"

furrow_status fw_draw(size_t *numbers, size_t count, size_t n, uint64_t seed, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, n, sizeof *numbers, err);
  if (status != FURROW_OK) return status;
  size_t *all = memory;
  fw_mt19937 rng;
  fw_mt19937_init(&rng, (uint32_t)seed);
  for (size_t i = 0; i < n; i++) all[i] = i;
  for (size_t i = 0; i < count; i++) { /* later exchanges leave the first numbers alone */
    size_t other = i + fw_mt19937_next(&rng) % (n - i);
    size_t kept = all[i];
    all[i] = all[other];
    all[other] = kept;
  }
  memcpy(numbers, all, count * sizeof *numbers);
  fw_free(all);
  return FURROW_OK;
}

/* ---- Shares --------------------------------------------------------------------------------------------- */

furrow_status fw_share_init(fw_share *share, const fw_comm *comm, const float *vectors, size_t n, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, comm->size, sizeof(double), err);
  if (status != FURROW_OK) return status;
  double *counts = memory;
  counts[comm->rank] = (double)n;
  status = comm->allreduce_f64(comm, counts, comm->size, err);
  fw_share made = {.comm = comm, .vectors = vectors, .n = n};
  for (unsigned r = 0; r < comm->size; r++) {
    if (r < comm->rank) made.base += (size_t)counts[r];
    made.total += (size_t)counts[r];
  }
  fw_free(counts);
  if (status == FURROW_OK) *share = made;
  return status;
}

/* The number of the vector at a position; n: another rank has it. */
static size_t find(const fw_share *share, size_t position) {
  if (!share->position)
    return position >= share->base && position - share->base < share->n ? position - share->base : share->n;
  size_t low = 0, high = share->n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (share->position[middle] < position)
      low = middle + 1;
    else
      high = middle;
  }
  return low < share->n && share->position[low] == position ? low : share->n;
}

static size_t count_own(const fw_share *share, const size_t *positions, size_t count) {
  size_t own = 0;
  for (size_t i = 0; i < count; i++) own += find(share, positions[i]) < share->n;
  return own;
}

static void take_own(fw_share *drawn, const fw_share *from, size_t d, const size_t *positions) {
  size_t n = 0;
  for (size_t i = 0; i < drawn->total; i++) {
    const size_t at = find(from, positions[i]);
    if (at == from->n) continue;
    memcpy(drawn->own + n * d, from->vectors + at * d, d * sizeof(float));
    if (drawn->own_position) drawn->own_position[n] = i;
    n++;
  }
}

furrow_status fw_share_draw(fw_share *drawn, const fw_share *from, size_t d, size_t most, uint64_t seed,
                            furrow_error *err) {
  if (from->total <= most) {
    *drawn = *from;
    drawn->own = NULL;
    drawn->own_position = NULL;
    return FURROW_OK;
  }
  const bool alone = from->comm->size == 1; /* then vector i is at i */
  fw_share made = {.comm = from->comm, .total = most};
  void *numbers = NULL, *own = NULL, *position = NULL;
  furrow_status status = fw_alloc(&numbers, most, sizeof(size_t), err);
  if (status == FURROW_OK) status = fw_draw(numbers, most, from->total, seed, err);
  if (status == FURROW_OK) {
    made.n = count_own(from, numbers, most);
    status = fw_alloc(&own, made.n, d * sizeof(float), err);
  }
  if (status == FURROW_OK && !alone) status = fw_alloc(&position, made.n, sizeof(size_t), err);
  made.vectors = made.own = own;
  made.position = made.own_position = position;
  if (status == FURROW_OK) {
    take_own(&made, from, d, numbers);
    *drawn = made;
  } else {
    fw_share_clear(&made);
  }
  fw_free(numbers);
  return status;
}

fw_share fw_share_with(const fw_share *share, const float *vectors) {
  fw_share other = *share;
  other.vectors = vectors;
  other.own = NULL;
  other.own_position = NULL;
  return other;
}

void fw_share_clear(fw_share *share) {
  fw_free(share->own);
  fw_free(share->own_position);
  *share = (fw_share){0};
}

furrow_status fw_share_copy(const fw_share *share, size_t d, const size_t *positions, size_t count, float *out,
                            furrow_error *err) {
  for (size_t i = 0; i < count; i++) {
    const size_t at = find(share, positions[i]);
    if (at < share->n)
      memcpy(out + i * d, share->vectors + at * d, d * sizeof *out);
    else
      memset(out + i * d, 0, d * sizeof *out);
  }
  return share->comm->allreduce_f32(share->comm, out, count * d, err);
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static float square_norm(const float *x, size_t d) {
  float sum[16] = {0};
  size_t k = 0;
  for (; k + 16 <= d; k += 16)
    for (size_t lane = 0; lane < 16; lane++) sum[lane] += x[k + lane] * x[k + lane];
  for (; k < d; k++) sum[0] += x[k] * x[k];
  for (size_t lane = 1; lane < 16; lane++) sum[0] += sum[lane];
  return sum[0];
}

size_t furrow_first_invalid_vector(const float *vectors, size_t n, size_t d) {
  size_t i = 0;
  while (i < n && square_norm(vectors + i * d, d) <= FLT_MAX) i++;
  return i;
}
