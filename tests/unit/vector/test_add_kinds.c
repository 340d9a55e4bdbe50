/* tests/unit/vector/test_add_kinds.c: vectors added to indexes of every kind, many at once or one at a time, and what
 * scalar quantizers make of numbers. What Faiss makes of the same vectors: test_add_golden.c. */
#include <stdlib.h>

#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "vector/build/build.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/sq.h"

enum { MORE = 70, MOST_D = 8 };

static furrow_index *index_of(void (*make)(index_file *f)) {
  index_file f = {0};
  furrow_index *index = NULL;
  make(&f);
  assert_int_equal(read_bytes(&f, true, &index, NULL), FURROW_OK);
  furrow_index *own = copy_of(index); /* views of f end here */
  furrow_index_free(index);
  index_file_clear(&f);
  return own;
}

/* Numbers in the range of what the sample files are filled with. */
static void fill_vectors(float *vectors, size_t count, float scale) {
  fw_rng rng;
  fw_rng_init(&rng, 17);
  fill_random(&rng, vectors, count);
  for (size_t i = 0; i < count; i++) vectors[i] *= scale;
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

static void put_pq_index(index_file *f) {
  put_header(f, "IxPq", 4, 6, true, 1);
  put_pq(f, 4, 2, 4);
  put_long(f, 6);
  put_codes(f, 6);
  put_word(f, 0);
  put_byte(f, 0);
  put_word(f, 2);
}
static void refined_by_codes(index_file *f) {
  put_header(f, "IxRF", 4, 6, true, 1);
  put_ivfpq(f);
  put_pq_index(f);
  put_real(f, 4);
}
static void moved_fast(index_file *f) {
  put_header(f, "IxPT", 4, 6, true, 1);
  put_word(f, 1);
  put_fourcc(f, "LTra");
  put_linear(f, 4, 4, true);
  put_transform_end(f, 4, 4);
  sample_fast(f);
}
static void mapped_codes(index_file *f) {
  put_header(f, "IxM2", 4, 6, true, 1);
  put_pq_index(f);
  put_long(f, 6);
  for (int i = 0; i < 6; i++) put_long(f, 1000 - i);
}

static void (*const kinds[])(index_file *f) = {
    sample_flat,     sample_flat_ip,  put_ivfpq,        sample_sparse_lists, sample_map_array,
    sample_map_hash, sample_ivfpqr,   sample_ivfflat,   sample_id_map,       sample_id_map2,
    sample_refine,   sample_ivf_hnsw, put_pq_index,     sample_multi,        sample_ivfsq,
    sq_by_residual,  sample_fast,     refined_by_codes, moved_fast,          mapped_codes,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void one_at_a_time_is_the_same(void **state) {
  (void)state;
  float vectors[MORE * MOST_D];
  fill_vectors(vectors, MORE * MOST_D, 3);
  for (int i = 0; i < KINDS; i++) {
    furrow_index *all = index_of(kinds[i]), *single = copy_of(all);
    size_t d = (size_t)all->d;
    int64_t before = all->ntotal;
    assert_int_equal(add_vectors(all, vectors, MORE, NULL), FURROW_OK);
    for (size_t k = 0; k < MORE; k++) assert_int_equal(add_vectors(single, vectors + k * d, 1, NULL), FURROW_OK);
    assert_same_index(all, single);
    assert_int_equal(all->ntotal, before + MORE);
    check_sound(all, "sound");
    furrow_index_free(all);
    furrow_index_free(single);
  }
}

/* Codes in blocks are those of plain lists with the same quantizers. */
static void plain_twin(index_file *f) {
  put_ivf(f, "IwPQ", 6);
  put_no_map(f);
  put_byte(f, 0);
  put_long(f, 1);
  put_pq(f, 4, 2, 4);
  put_lists(f, 4, 1, sample_sizes, true, 1);
}

static void blocks_have_the_codes_of_lists(void **state) {
  (void)state;
  float vectors[MORE * 4], a[4], b[4];
  fill_vectors(vectors, MORE * 4, 10);
  furrow_index *fast = index_of(sample_fast), *plain = index_of(plain_twin);
  const int64_t first = furrow_index_next_id(fast), first_plain = furrow_index_next_id(plain);
  assert_int_equal(add_vectors(fast, vectors, MORE, NULL), FURROW_OK);
  assert_int_equal(add_vectors(plain, vectors, MORE, NULL), FURROW_OK);
  for (int64_t i = 0; i < MORE; i++) {
    assert_int_equal(furrow_index_reconstruct(fast, first + i, a, NULL), FURROW_OK);
    assert_int_equal(furrow_index_reconstruct(plain, first_plain + i, b, NULL), FURROW_OK);
    assert_memory_equal(a, b, sizeof a);
  }
  furrow_index_free(fast);
  furrow_index_free(plain);
}

/* New vectors for ids of kinds whose codes were not made here before. */
static void ids_get_new_vectors(void **state) {
  (void)state;
  static void (*const updated[])(index_file * f) = {sample_fast, put_pq_index, sample_ivfsq, refined_by_codes};
  float vectors[MORE * 4], want[4], have[4];
  fill_vectors(vectors, MORE * 4, 3);
  for (size_t i = 0; i < sizeof updated / sizeof *updated; i++) {
    const int64_t ids[] = {1, updated[i] == sample_fast ? 20 : 4};
    furrow_index *index = index_of(updated[i]), *fresh = copy_of(index);
    const int64_t next = furrow_index_next_id(fresh), count = fresh->ntotal;
    assert_int_equal(furrow_index_update(index, ids, vectors, 2, NULL), FURROW_OK);
    assert_int_equal(add_vectors(fresh, vectors, 2, NULL), FURROW_OK);
    assert_int_equal(index->ntotal, count);
    for (int k = 0; k < 2; k++) {
      assert_int_equal(furrow_index_reconstruct(index, ids[k], have, NULL), FURROW_OK);
      assert_int_equal(furrow_index_reconstruct(fresh, next + k, want, NULL), FURROW_OK);
      assert_memory_equal(have, want, sizeof have);
    }
    check_sound(index, "sound");
    furrow_index_free(index);
    furrow_index_free(fresh);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

static furrow_status try_add(furrow_index *index, const float *vectors, size_t n, const int64_t *ids, bool skip_nan,
                             uint64_t *skipped, furrow_error *err) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.ids = ids;
  params.skip_nan = skip_nan;
  return furrow_index_add(index, vectors, n, &params, skipped, err);
}

/* An index without ranges. The index around it says that it is trained. */
static void put_without_ranges(index_file *f, int64_t ntotal) {
  put_header(f, "IxSQ", 4, ntotal, false, 1);
  put_word(f, 0);
  put_word(f, 0);
  put_real(f, 0);
  put_long(f, 4);
  put_long(f, 4);
  put_long(f, 0);
  put_long(f, 4 * ntotal);
  put_codes(f, 4 * (size_t)ntotal);
}
static void without_ranges(index_file *f) {
  put_header(f, "IxMp", 4, 0, true, 1);
  put_without_ranges(f, 0);
  put_long(f, 0);
}
static void lists_without_ranges(index_file *f) {
  static const size_t none[4] = {0};
  put_header(f, "IxMp", 4, 0, true, 1);
  put_header(f, "IwSq", 4, 0, false, 1);
  put_long(f, 4);
  put_long(f, 2);
  put_flat(f, "IxF2", 4, 4, 1);
  put_no_map(f);
  put_word(f, 0);
  put_word(f, 0);
  put_real(f, 0);
  put_long(f, 4);
  put_long(f, 4);
  put_long(f, 0);
  put_long(f, 4);
  put_byte(f, 0);
  put_lists(f, 4, 4, none, false, 1);
  put_long(f, 0);
}

/* Codes that cannot be decoded are not read; nothing is encoded without ranges. */
static void ranges_are_needed(void **state) {
  static void (*const makers[])(index_file * f) = {without_ranges, lists_without_ranges};
  float vector[4] = {0};
  furrow_error err = {0};
  furrow_index *index = NULL;
  index_file f = {0};
  (void)state;
  put_without_ranges(&f, 2);
  assert_int_equal(read_bytes(&f, false, &index, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "sq/trained has 0 numbers for ranges, not 8"));
  index_file_clear(&f);
  for (size_t i = 0; i < 2; i++) {
    index = index_of(makers[i]);
    assert_int_equal(try_add(index, vector, 1, NULL, false, NULL, &err), FURROW_E_STATE);
    assert_non_null(strstr(err.message, "ranges"));
    furrow_index_free(index);
  }
}

static void refined_by_a_graph(index_file *f) {
  put_header(f, "IxRF", 3, 5, true, 1);
  put_flat(f, "IxF2", 3, 5, 1);
  put_hnsw(f, 3, 5);
  put_real(f, 4);
}

static void what_cannot_be_added_is_named(void **state) {
  (void)state;
  float vectors[3 * 4] = {0};
  const int64_t ids[] = {9, 8, 7};
  furrow_error err = {0};
  furrow_index *index = index_of(refined_by_a_graph);
  assert_int_equal(try_add(index, vectors, 1, NULL, false, NULL, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "refinement is HNSW"));
  furrow_index_free(index);
  index = index_of(put_pq_index);
  assert_int_equal(try_add(index, vectors, 3, ids, false, NULL, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "id map"));
  furrow_index_free(index);
}

/* Codes have no place for nothing; flat vectors have. */
static void nan_is_passed_over_where_it_can_be(void **state) {
  (void)state;
  float vectors[3 * 4] = {0};
  furrow_error err = {0};
  uint64_t skipped = 9;
  vectors[5] = NAN;
  furrow_index *index = index_of(put_pq_index), *before = copy_of(index);
  assert_int_equal(try_add(index, vectors, 3, NULL, true, &skipped, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "vector 1 "));
  assert_same_index(index, before);
  furrow_index_free(index);
  furrow_index_free(before);
  static void (*const others[])(index_file * f) = {sample_fast, sample_ivfsq, sample_refine};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    index = index_of(others[i]);
    assert_int_equal(try_add(index, vectors, 3, NULL, true, &skipped, &err), FURROW_OK);
    assert_int_equal(skipped, 1);
    assert_int_equal(index->ntotal, 9);
    furrow_index_free(index);
  }
  float flat[3 * 3] = {0, 0, 0, NAN};
  index = index_of(sample_flat);
  assert_int_equal(try_add(index, flat, 3, NULL, true, &skipped, &err), FURROW_OK);
  assert_int_equal(skipped, 1);
  furrow_index_free(index);
}

static void no_memory_changes_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float vectors[5 * MOST_D];
  fill_vectors(vectors, 5 * MOST_D, 3);
  for (int i = 0; i < KINDS; i++) {
    furrow_index *before = index_of(kinds[i]);
    bool failed = true;
    for (long n = 1; failed; n++) {
      furrow_index *index = copy_of(before);
      alloc_fail_at(n);
      furrow_status status = try_add(index, vectors, 5, NULL, false, NULL, NULL);
      failed = atomic_load(&alloc_failed);
      alloc_fail_at(0);
      assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
      if (failed) assert_same_index(index, before);
      if (failed) assert_int_equal(add_vectors(index, vectors, 5, NULL), FURROW_OK);
      furrow_index_free(index);
      assert_true(n < 1000);
    }
    furrow_index_free(before);
  }
}

/* ---- Rows by list --------------------------------------------------------------------------------------- */

static void check_runs(const uint32_t *list, size_t n, size_t nlist) {
  fw_runs runs = {0};
  size_t at = 0, run = 0;
  assert_int_equal(fw_runs_create(&runs, list, n, nlist, NULL), FURROW_OK);
  for (size_t l = 0; l < nlist; l++) {
    size_t first = at;
    for (size_t i = 0; i < n; i++)
      if (list[i] == l) assert_int_equal(runs.member[at++], i);
    if (at == first) continue;
    assert_true(run < runs.count);
    assert_int_equal(runs.run[run].list, l);
    assert_int_equal(runs.run[run].first, first);
    assert_int_equal(runs.run[run].count, at - first);
    run++;
  }
  assert_int_equal(run, runs.count);
  assert_int_equal(at, runs.members);
  fw_runs_clear(&runs);
}

static void few_and_many_rows_are_in_order(void **state) {
  (void)state;
  uint32_t list[50];
  fw_rng rng;
  fw_rng_init(&rng, 3);
  for (size_t n = 0; n <= 50; n++) {
    for (size_t i = 0; i < n; i++) {
      list[i] = (uint32_t)(fw_rng_next(&rng) % 7);
      if (list[i] == 6) list[i] = FW_NO_GROUP;
    }
    check_runs(list, n, 6);
    check_runs(list, n, 10000);
  }
}

/* ---- Scalar quantizers ---------------------------------------------------------------------------------- */

enum { SQ_D = 6 };

static const struct {
  int32_t type;
  size_t code_size;
} sq_types[] = {{FW_SQ_8, 6},     {FW_SQ_4, 3}, {FW_SQ_8_UNIFORM, 6}, {FW_SQ_4_UNIFORM, 3},   {FW_SQ_HALF, 12},
                {FW_SQ_BYTES, 6}, {FW_SQ_6, 5}, {FW_SQ_BRAIN, 12},    {FW_SQ_SIGNED_BYTES, 6}};

static fw_sq make_sq(size_t i, float *trained) {
  fw_sq sq = {.qtype = sq_types[i].type, .d = SQ_D, .code_size = sq_types[i].code_size, .trained = trained};
  if (fw_sq_range_bits(&sq) > 0) sq.trained_count = 2 * fw_sq_ranges(&sq);
  for (size_t k = 0; k < fw_sq_ranges(&sq); k++) {
    trained[k] = (float)k - 3;
    trained[fw_sq_ranges(&sq) + k] = 0.7f + (float)k;
  }
  return sq;
}

/* Whether all numbers of a code are finite. */
static bool is_finite(const float *vector) {
  for (size_t i = 0; i < SQ_D; i++)
    if (!isfinite(vector[i])) return false;
  return true;
}

static void codes_come_back(void **state) {
  (void)state;
  float trained[2 * SQ_D], vector[SQ_D];
  uint8_t code[2 * SQ_D], again[2 * SQ_D];
  fw_rng rng;
  fw_rng_init(&rng, 8);
  for (size_t i = 0; i < sizeof sq_types / sizeof *sq_types; i++) {
    fw_sq sq = make_sq(i, trained);
    for (int round = 0; round < 20000; round++) {
      for (size_t k = 0; k < sizeof code; k++) code[k] = (uint8_t)fw_rng_next(&rng);
      if (sq.qtype == FW_SQ_6) code[4] &= 15; /* 36 bits */
      fw_sq_decode(&sq, code, vector);
      if (!is_finite(vector)) continue;
      fw_sq_encode(&sq, vector, again);
      assert_memory_equal(code, again, sq.code_size);
    }
  }
}

/* Halves are the nearest: none of their neighbours is nearer, and of two the even one is taken. */
static void halves_are_the_nearest(void **state) {
  (void)state;
  float vector[SQ_D] = {0}, decoded[SQ_D];
  uint8_t code[2 * SQ_D], other[2 * SQ_D];
  const fw_sq sq = {.qtype = FW_SQ_HALF, .d = SQ_D, .code_size = 2 * SQ_D};
  fw_rng rng;
  fw_rng_init(&rng, 2);
  for (int round = 0; round < 200000; round++) {
    uint32_t word = (uint32_t)fw_rng_next(&rng);
    word = (word & 0x807fffff) | ((0x33000000 + (word >> 8) % 0x14000000) & 0x7f800000);
    if (round % 3 == 0) word &= ~0xfffu; /* many of these lie in the middle */
    memcpy(&vector[0], &word, sizeof word);
    fw_sq_encode(&sq, vector, code);
    fw_sq_decode(&sq, code, decoded);
    double off = fabs((double)decoded[0] - (double)vector[0]);
    for (int step = -1; step <= 1; step += 2) {
      memcpy(other, code, sizeof code);
      uint16_t half = (uint16_t)(fw_get_le16(code) + step);
      fw_put_le16(other, half);
      fw_sq_decode(&sq, other, decoded);
      double off_other = fabs((double)decoded[0] - (double)vector[0]);
      if (!isfinite(off_other)) continue;
      assert_true(off <= off_other);
      if (off == off_other) assert_int_equal(fw_get_le16(code) & 1, 0);
    }
  }
}

static void numbers_beyond_a_range_are_its_ends(void **state) {
  (void)state;
  float trained[2 * SQ_D];
  const float far[SQ_D] = {-1e6f, 1e6f, -1e6f, 1e6f, 0, 1e6f};
  uint8_t code[2 * SQ_D];
  fw_sq sq = make_sq(0, trained);
  trained[SQ_D + 4] = 0; /* a range without width */
  fw_sq_encode(&sq, far, code);
  assert_memory_equal(code, ((const uint8_t[]){0, 255, 0, 255, 0, 255}), SQ_D);
  trained[1] = trained[SQ_D + 2] = NAN;
  fw_sq_encode(&sq, far, code);
  assert_memory_equal(code, ((const uint8_t[]){0, 0, 0, 255, 0, 255}), SQ_D);
  sq = make_sq(6, trained);
  fw_sq_encode(&sq, far, code);
  for (size_t i = 0; i < SQ_D; i++) assert_int_equal(fw_pq_number(code, 6, i), far[i] > 0 ? 63 : 0);
  sq = make_sq(5, trained);
  fw_sq_encode(&sq, (const float[]){-3, 300, 17.9f, 0, 255, 254.5f}, code);
  assert_memory_equal(code, ((const uint8_t[]){0, 255, 17, 0, 255, 254}), SQ_D);
  sq = make_sq(8, trained);
  fw_sq_encode(&sq, (const float[]){-128, 127, 0, -500, 500, -1}, code);
  assert_memory_equal(code, ((const uint8_t[]){0, 255, 128, 0, 255, 127}), SQ_D);
  sq = make_sq(4, trained);
  fw_sq_encode(&sq, (const float[]){65504, 65519.9f, 65520, -1e6f, 0x1p-24F, 0x1p-26F}, code);
  const uint16_t halves[] = {0x7bff, 0x7bff, 0x7c00, 0xfc00, 1, 0};
  for (size_t i = 0; i < SQ_D; i++) assert_int_equal(fw_get_le16(code + 2 * i), halves[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_at_a_time_is_the_same),
      cmocka_unit_test(blocks_have_the_codes_of_lists),
      cmocka_unit_test(ids_get_new_vectors),
      cmocka_unit_test(what_cannot_be_added_is_named),
      cmocka_unit_test(ranges_are_needed),
      cmocka_unit_test(nan_is_passed_over_where_it_can_be),
      cmocka_unit_test(no_memory_changes_nothing),
      cmocka_unit_test(few_and_many_rows_are_in_order),
      cmocka_unit_test(codes_come_back),
      cmocka_unit_test(halves_are_the_nearest),
      cmocka_unit_test(numbers_beyond_a_range_are_its_ends),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
