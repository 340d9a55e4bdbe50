/* vector/data/reservoir.c: samples a stream of vectors with a reservoir (Algorithm R). It uses no logarithms, which
 * differ between machines. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "furrow/vector_data.h"

/* A row of the stream that remains in the final sample, and its position in `vectors`. */
typedef struct kept_row {
  uint64_t row;
  size_t at;
} kept_row;

struct furrow_reservoir {
  size_t d, size, count;
  uint64_t seen;
  fw_rng rng;
  float *vectors;
  size_t capacity; /* in vectors */
  /* only for a part of the stream: */
  uint64_t *positions; /* positions of the kept vectors in the whole sample; NULL: this is not a part of a stream */
  kept_row *kept; /* sorted by row, counted from the start of the part; `next` is the first that has not arrived yet */
  size_t next;
  uint64_t part; /* number of vectors */
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
  fw_free(sample->positions);
  fw_free(sample->kept);
  fw_free(sample->vectors);
  fw_free(sample);
}

/* ---- A part of a stream ---- */

/* Simulates furrow_reservoir_add for `total` rows: rows[slot] is the row that ends up in each slot. */
static void draw_rows(furrow_reservoir *s, uint64_t *rows, uint64_t total) {
  for (uint64_t i = 0; i < total; i++) {
    const uint64_t slot = i < s->size ? i : fw_rng_below(&s->rng, i + 1);
    if (slot < s->size) rows[slot] = i;
  }
}

static int by_row(const void *a, const void *b) {
  const uint64_t x = ((const kept_row *)a)->row, y = ((const kept_row *)b)->row;
  return x < y ? -1 : x > y;
}

static furrow_status keep_part(furrow_reservoir *s, const uint64_t *rows, size_t slots, uint64_t first,
                               furrow_error *err) {
  void *positions = NULL, *kept = NULL, *vectors = NULL;
  size_t own = 0;
  for (size_t i = 0; i < slots; i++) own += rows[i] >= first && rows[i] - first < s->part;
  furrow_status status = fw_alloc(&positions, own + 1, sizeof *s->positions, err);
  s->positions = positions;
  if (status == FURROW_OK) status = fw_alloc(&kept, own, sizeof *s->kept, err);
  s->kept = kept;
  if (status == FURROW_OK) status = fw_alloc_zero(&vectors, own, s->d * sizeof(float), err);
  s->vectors = vectors;
  for (size_t i = 0; status == FURROW_OK && i < slots; i++) {
    if (rows[i] < first || rows[i] - first >= s->part) continue;
    s->positions[s->count] = i;
    s->kept[s->count] = (kept_row){.row = rows[i] - first, .at = s->count};
    s->count++;
  }
  if (status == FURROW_OK && s->count > 0) qsort(s->kept, s->count, sizeof *s->kept, by_row);
  return status;
}

furrow_status furrow_reservoir_create_part(furrow_reservoir **sample, size_t d, size_t size, uint64_t seed,
                                           uint64_t first, uint64_t count, uint64_t total, furrow_error *err) {
  void *rows = NULL;
  furrow_reservoir *s = NULL;
  if (first > total || count > total - first)
    return fw_fail(err, FURROW_E_ARGUMENT, "the part is not within a stream of %llu vectors",
                   (unsigned long long)total);
  FW_TRY(furrow_reservoir_create(&s, d, size, seed, err));
  const size_t slots = total < size ? (size_t)total : size;
  s->part = count;
  furrow_status status = fw_alloc(&rows, slots, sizeof(uint64_t), err);
  if (status == FURROW_OK) {
    draw_rows(s, rows, total);
    status = keep_part(s, rows, slots, first, err);
  }
  fw_free(rows);
  return FW_HAND_OVER(status, sample, s, furrow_reservoir_free);
}

static furrow_status add_to_part(furrow_reservoir *s, const float *vectors, size_t n, furrow_error *err) {
  if (n > s->part - s->seen)
    return fw_fail(err, FURROW_E_ARGUMENT, "the part of the stream has %llu vectors, and more come",
                   (unsigned long long)s->part);
  for (; s->next < s->count && s->kept[s->next].row < s->seen + n; s->next++) {
    const kept_row *k = &s->kept[s->next];
    memcpy(s->vectors + k->at * s->d, vectors + (k->row - s->seen) * s->d, s->d * sizeof(float));
  }
  s->seen += n;
  return FURROW_OK;
}

const uint64_t *furrow_reservoir_positions(const furrow_reservoir *sample) {
  return sample->positions;
}

/* ---- The whole stream ---- */

/* Appends n vectors to unused slots. */
static furrow_status append_vectors(furrow_reservoir *s, const float *vectors, size_t n, furrow_error *err) {
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
  if (s->positions) return add_to_part(s, vectors, n, err);
  const size_t unused = s->size - s->count < n ? s->size - s->count : n;
  FW_TRY(append_vectors(s, vectors, unused, err));
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
