/* vector/draw.c: vectors drawn by chance, and whether they are numbers. */
#include "vector/draw.h"

#include <float.h>
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

furrow_status fw_draw_vectors(fw_drawn *drawn, const float *vectors, size_t n, size_t d, size_t most, uint64_t seed,
                              furrow_error *err) {
  if (n <= most) {
    *drawn = (fw_drawn){.vectors = vectors, .n = n};
    return FURROW_OK;
  }
  void *numbers = NULL, *copy = NULL;
  furrow_status status = fw_alloc(&numbers, most, sizeof(size_t), err);
  if (status == FURROW_OK) status = fw_draw(numbers, most, n, seed, err);
  if (status == FURROW_OK) status = fw_alloc(&copy, most, d * sizeof(float), err);
  if (status == FURROW_OK) {
    const size_t *from = numbers;
    for (size_t i = 0; i < most; i++) memcpy((float *)copy + i * d, vectors + from[i] * d, d * sizeof(float));
    *drawn = (fw_drawn){.vectors = copy, .n = most, .own = copy};
  }
  fw_free(numbers);
  return status;
}

void fw_drawn_clear(fw_drawn *drawn) {
  fw_free(drawn->own);
  *drawn = (fw_drawn){0};
}

static float square_norm(const float *x, size_t d) {
  float sum[16] = {0};
  size_t k = 0;
  for (; k + 16 <= d; k += 16)
    for (size_t lane = 0; lane < 16; lane++) sum[lane] += x[k + lane] * x[k + lane];
  for (; k < d; k++) sum[0] += x[k] * x[k];
  for (size_t lane = 1; lane < 16; lane++) sum[0] += sum[lane];
  return sum[0];
}

size_t furrow_first_unfit(const float *vectors, size_t n, size_t d) {
  size_t i = 0;
  while (i < n && square_norm(vectors + i * d, d) <= FLT_MAX) i++;
  return i;
}
