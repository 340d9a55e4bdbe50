/* tests/unit/vector/test_pq.c: codes of a product quantizer: the nearest centroid of each part, in as many bits as it
 * takes.
 */
#include "vector/quantizer/pq.h"

#include <math.h>

#include "base/mem.h"
#include "support/each_isa.h"
#include "support/made_lists.h"

enum { D = 12, M = 3, DSUB = D / M, ROWS = 200, GUARD = 0xa5 };

static size_t nearest_of(const fw_pq *pq, size_t part, const float *x) {
  size_t best = 0;
  double least = INFINITY;
  for (size_t j = 0; j < fw_pq_ksub(pq); j++) {
    double square = 0;
    for (size_t k = 0; k < DSUB; k++) {
      const double gap = (double)x[part * DSUB + k] - (double)pq->centroids[(part * fw_pq_ksub(pq) + j) * DSUB + k];
      square += gap * gap;
    }
    if (!(square < least)) continue;
    least = square;
    best = j;
  }
  return best;
}

/* Row 0 has a NaN in its first part, row 1 an infinity in its second: those parts have no nearest centroid. */
static void check_codes(unsigned nbits) {
  fw_rng rng;
  fw_pq pq;
  fw_pq_coder coder;
  fw_rng_init(&rng, nbits);
  made_pq(&rng, &pq, D, M, nbits, 1);
  float *x = made_floats(&rng, ROWS * D, 1, 0);
  const size_t size = fw_pq_code_size(&pq);
  uint8_t *codes = made_array_of(ROWS * size + 8, 1);
  memset(codes, GUARD, ROWS * size + 8);
  x[1] = NAN;
  x[D + DSUB] = INFINITY;
  assert_int_equal(fw_pq_coder_create(&coder, &pq, NULL), FURROW_OK);
  fw_pq_encode(&coder, x, ROWS, D, codes);
  for (size_t i = 0; i < ROWS; i++)
    for (size_t part = 0; part < M; part++) {
      const bool none = i == part && i < 2;
      if (none) {
        assert_true(fw_pq_number(codes + i * size, nbits, part) < fw_pq_ksub(&pq));
        continue;
      }
      assert_int_equal(fw_pq_number(codes + i * size, nbits, part), nearest_of(&pq, part, x + i * D));
    }
  assert_int_equal(fw_pq_number(codes, nbits, 0), 0);
  for (size_t i = 0; i < 8; i++) assert_int_equal(codes[ROWS * size + i], GUARD);
  fw_pq_coder_clear(&coder);
  fw_free(pq.centroids);
  fw_free(x);
  fw_free(codes);
}

static void codes_of_any_bits(void **state) {
  (void)state;
  for (unsigned nbits = 1; nbits <= 12; nbits++) check_codes(nbits);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(codes_of_any_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
