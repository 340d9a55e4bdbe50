/* tests/support/edit_index.h: what tests of changing an index share: indexes with vectors, and a model of what is in
 * them. */
#ifndef EDIT_INDEX_H
#define EDIT_INDEX_H

#include <math.h>

#include "base/rng.h"
#include "support/index_check.h"

/* ---- Indexes ---- */

static inline void fill_random(fw_rng *rng, float *vectors, size_t count) {
  for (size_t i = 0; i < count; i++) vectors[i] = (float)fw_rng_normal(rng);
}

static inline furrow_index_spec plain_spec(int32_t d, uint64_t nlist, uint64_t m) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = d;
  spec.nlist = nlist;
  spec.m = m;
  spec.nbits = 4;
  spec.refine_nbits = 4;
  return spec;
}

/* Trained on vectors of its own, with nothing in it. */
static inline furrow_index *trained_index(const furrow_index_spec *spec, uint64_t seed) {
  enum { TRAIN = 700 };
  fw_rng rng;
  furrow_index *index = NULL;
  furrow_error err = {0};
  furrow_index_train_params params;
  fw_rng_init(&rng, seed);
  furrow_index_train_params_init(&params);
  params.coarse_rounds = params.pq_rounds = 3;
  params.threads = 1;
  float *vectors = malloc(TRAIN * (size_t)spec->d * sizeof *vectors);
  fill_random(&rng, vectors, TRAIN * (size_t)spec->d);
  furrow_status status = furrow_index_create(&index, spec, &err);
  if (status == FURROW_OK) status = furrow_index_train(index, vectors, TRAIN, &params, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(status, FURROW_OK);
  free(vectors);
  return index;
}

static inline furrow_index *copy_of(const furrow_index *index) {
  index_file bytes = {0};
  furrow_index *copy = NULL;
  write_bytes(index, &bytes);
  assert_int_equal(read_bytes(&bytes, false, &copy, NULL), FURROW_OK);
  index_file_clear(&bytes);
  return copy;
}

static inline furrow_status add_vectors(furrow_index *index, const float *vectors, size_t n, const int64_t *ids) {
  furrow_index_add_params params;
  furrow_error err = {0};
  furrow_index_add_params_init(&params);
  params.ids = ids;
  params.threads = 1;
  furrow_status status = furrow_index_add(index, vectors, n, &params, NULL, &err);
  if (status != FURROW_OK) print_error("%s\n", err.message);
  return status;
}

static inline void assert_same_index(const furrow_index *a, const furrow_index *b) {
  index_file x = {0}, y = {0};
  write_bytes(a, &x);
  write_bytes(b, &y);
  assert_same_bytes(&x, &y);
  index_file_clear(&x);
  index_file_clear(&y);
}

static inline furrow_id_filter range_filter(int64_t first, int64_t end) {
  return (furrow_id_filter){
      .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .first = first, .end = end};
}

static inline furrow_id_filter sorted_filter(const int64_t *ids, size_t count) {
  return (furrow_id_filter){
      .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED, .sorted = ids, .sorted_count = count};
}

/* ---- What is found in a file ---- */

static inline void no_fatal_finding(void *user, const furrow_index_finding *finding) {
  (void)user;
  const bool wrong = finding->fatal && finding->status != FURROW_E_UNSUPPORTED;
  if (wrong) print_error("%s: %s\n", finding->path, finding->message);
  assert_false(wrong);
}

/* The index can be saved, and what is in the file is sound, even if it is of a kind that is not searched. */
static inline void check_sound(const furrow_index *index, const char *scratch) {
  furrow_error err = {0};
  assert_int_equal(furrow_index_save(index, scratch, &overwriting, &err), FURROW_OK);
  furrow_status status = furrow_index_verify(scratch, NULL, no_fatal_finding, NULL, &err);
  if (status != FURROW_OK && status != FURROW_E_UNSUPPORTED) fail_msg("%s", err.message);
}

#endif
