/* vector/data/reservoir.c: a sample of a stream of vectors: a reservoir (Algorithm R), without logarithms, which differ
 * between machines. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "furrow/vector_data.h"

struct furrow_reservoir {
  size_t d, size, count;
  uint64_t seen;
  fw_rng rng;
  float *vectors;
  size_t capacity; /* vectors */
};

furrow_status furrow_reservoir_create(furrow_reservoir **sample, size_t d, size_t size, uint64_t seed,
                                      furrow_error *err) {
  void *memory;
  if (d == 0 || size == 0 || d > SIZE_MAX / sizeof(float))
    return fw_fail(err, FURROW_E_ARGUMENT, "%s must be set", d ? "size" : "d");
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(furrow_reservoir), err));
  furrow_reservoir *s = memory;
  s->d = d;
  s->size = size;
  fw_rng_init(&s->rng, seed);
  *sample = s;
  return FURROW_OK;
}

void furrow_reservoir_free(furrow_reservoir *sample) {
  if (!sample) return;
  fw_free(sample->vectors);
  fw_free(sample);
}

/* Takes n vectors, for which there are unused slots. */
static furrow_status fill(furrow_reservoir *s, const float *vectors, size_t n, furrow_error *err) {
  void *memory = s->vectors;
  furrow_status status = fw_grow(&memory, &s->capacity, s->count + n, s->d * sizeof(float), err);
  s->vectors = memory;
  if (status != FURROW_OK) return status;
  memcpy(s->vectors + s->count * s->d, vectors, n * s->d * sizeof(float));
  s->count += n;
  s->seen += n;
  return FURROW_OK;
}

furrow_status furrow_reservoir_add(furrow_reservoir *s, const float *vectors, size_t n, furrow_error *err) {
  const size_t unused = s->size - s->count < n ? s->size - s->count : n;
  FW_TRY(fill(s, vectors, unused, err));
  for (size_t i = unused; i < n; i++) {
    const uint64_t slot = fw_rng_below(&s->rng, ++s->seen);
    if (slot < s->size) memcpy(s->vectors + slot * s->d, vectors + i * s->d, s->d * sizeof(float));
  }
  return FURROW_OK;
}

uint64_t furrow_reservoir_seen(const furrow_reservoir *sample) {
  return sample->seen;
}

size_t furrow_reservoir_count(const furrow_reservoir *sample) {
  return sample->count;
}

const float *furrow_reservoir_vectors(const furrow_reservoir *sample) {
  return sample->vectors;
}
