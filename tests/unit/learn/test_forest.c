/* tests/unit/learn/test_forest.c: trees in arrays: made, added, cut, copied, checked, as bytes. */
#include "base/buffer.h"
#include "base/endian.h"
#include "support/failing_alloc.h"
#include "support/made_forest.h"

static furrow_error err;

static const made_params few = {
    .classes = 3, .rounds = 4, .levels = 4, .features = 9, .split = 0.8, .stats = true, .missing_flipped = true};

static void trees_are_added_and_cut(void **state) {
  (void)state;
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 2, 3, true, &err), FURROW_OK);
  assert_int_equal(f->nodes, 7);
  assert_int_equal(f->trees, 0);
  for (size_t i = 1; i <= 50; i++) {
    assert_int_equal(fw_forest_add(f, 2, &err), FURROW_OK);
    assert_int_equal(f->trees, 2 * i);
    for (size_t at = (f->trees - 2) * 7; at < f->trees * 7; at++) {
      assert_int_equal(f->feature[at], -1);
      assert_true(f->value[at] == 0 && f->predict[at] == 0 && f->missing_flipped[at] == 0);
      assert_true(f->gain[at] == 0 && f->gradient[at] == 0 && f->hessian[at] == 0);
      f->feature[at] = (int32_t)at, f->predict[at] = (double)at, f->hessian[at] = 1; /* a cut tree comes back empty */
    }
  }
  for (size_t at = 0; at < 700; at++) assert_int_equal(f->feature[at], (int)at);
  fw_forest_truncate(f, 60);
  assert_int_equal(f->trees, 60);
  fw_forest_truncate(f, 70);
  assert_int_equal(f->trees, 60);
  assert_int_equal(fw_forest_add(f, 1, &err), FURROW_OK);
  assert_int_equal(f->feature[60 * 7], -1);
  assert_true(f->predict[60 * 7] == 0 && f->hessian[60 * 7] == 0);
  fw_forest_free(f);
  fw_forest_free(NULL);
}

static void limits_are_kept(void **state) {
  (void)state;
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 0, 3, false, &err), FURROW_E_RANGE);
  assert_int_equal(fw_forest_create(&f, 1, 0, false, &err), FURROW_E_RANGE);
  assert_int_equal(fw_forest_create(&f, 1, FW_FOREST_LEVELS + 1, false, &err), FURROW_E_RANGE);
  assert_null(f);
  assert_int_equal(fw_forest_create(&f, 1, FW_FOREST_LEVELS, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 1, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 2048, &err), FURROW_E_RANGE); /* of 2^20 - 1 nodes, 2048 in all */
  assert_int_equal(fw_forest_add(f, SIZE_MAX, &err), FURROW_E_RANGE);
  assert_int_equal(f->trees, 1);
  fw_forest_free(f);
}

static void a_copy_is_the_same(void **state) {
  (void)state;
  for (int stats = 0; stats < 2; stats++) {
    made_params params = few;
    params.stats = stats;
    fw_forest *f = made_forest(&params, 5), *copy = NULL;
    assert_int_equal(fw_forest_copy(&copy, f, &err), FURROW_OK);
    assert_same_forest(f, copy);
    assert_int_equal(fw_forest_add(copy, 3, &err), FURROW_OK);
    assert_int_equal(f->trees, 12);
    fw_forest_free(f);
    fw_forest_free(copy);
  }
}

static void nodes_are_where_rows_come(void **state) {
  (void)state;
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 3, false, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 2, &err), FURROW_OK);
  f->feature[7] = 4;
  f->feature[7 + 2] = 4;
  const bool there[7] = {true, true, true, false, false, true, true};
  for (size_t node = 0; node < 7; node++) {
    assert_int_equal(fw_forest_has_node(f, 0, node), node == 0);
    assert_int_equal(fw_forest_has_node(f, 1, node), there[node]);
  }
  f->value[7] = 0;
  f->value[7 + 2] = -1;
  assert_true(fw_forest_absent_left(f, 7));
  assert_false(fw_forest_absent_left(f, 7 + 2));
  f->missing_flipped[7] = f->missing_flipped[7 + 2] = 1;
  assert_false(fw_forest_absent_left(f, 7));
  assert_true(fw_forest_absent_left(f, 7 + 2));
  fw_forest_free(f);
}

static void assert_refused(const fw_forest *f, const char *message) {
  assert_int_equal(fw_forest_check(f, 9, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, message);
}

static void a_wrong_node_is_named(void **state) {
  (void)state;
  fw_forest *f = NULL;
  assert_int_equal(fw_forest_create(&f, 1, 3, true, &err), FURROW_OK);
  assert_int_equal(fw_forest_add(f, 4, &err), FURROW_OK);
  const size_t at = 3 * 7 + 1;
  f->feature[at] = -2;
  assert_refused(f, "tree 3, node 1: feature -2 is neither a feature nor -1");
  f->feature[at] = 9;
  assert_refused(f, "tree 3, node 1: feature 9, but the model has 9");
  assert_int_equal(fw_forest_check(f, 0, &err), FURROW_OK);
  f->feature[at] = 8;
  assert_int_equal(fw_forest_check(f, 9, &err), FURROW_OK);
  f->feature[at + 2] = 0;
  assert_refused(f, "tree 3, node 3: a split at the last of 3 levels");
  f->feature[at + 2] = -1;
  f->value[at] = NAN;
  assert_int_equal(fw_forest_check(f, 9, &err), FURROW_E_FORMAT);
  f->value[at] = 1;
  f->predict[at] = INFINITY;
  assert_refused(f, "tree 3, node 1: the prediction is inf");
  f->predict[at] = 0;
  f->missing_flipped[at] = 2;
  assert_refused(f, "tree 3, node 1: where rows without the feature go is neither 0 nor 1");
  f->missing_flipped[at] = 1;
  f->hessian[at] = INFINITY;
  assert_refused(f, "tree 3, node 1: gain and sums 0, 0, inf are not numbers");
  f->hessian[at] = 0;
  assert_int_equal(fw_forest_check(f, 9, &err), FURROW_OK);
  fw_forest_free(f);
}

/* ---- Bytes ---- */

static furrow_status to_buffer(void *to, const void *bytes, size_t size, furrow_error *e) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, e);
}

static fw_buffer snapshot_of(const fw_forest *f) {
  fw_buffer snapshot = {0};
  assert_int_equal(fw_forest_snapshot_write(f, to_buffer, &snapshot, &err), FURROW_OK);
  return snapshot;
}

static furrow_status read_snapshot(const fw_buffer *snapshot, size_t size, fw_forest **f) {
  return fw_forest_snapshot_read(f, (const unsigned char *)snapshot->bytes, size, &err);
}

static void an_image_brings_it_back(void **state) {
  (void)state;
  const made_params kinds[] = {few,
                               {.classes = 1, .rounds = 0, .levels = 1, .features = 1},
                               {.classes = 1, .rounds = 3, .levels = 1, .features = 1},
                               {.classes = 1, .rounds = 2, .levels = 13, .features = 100, .split = 0.95},
                               {.classes = 2, .rounds = 5, .levels = 6, .features = 50, .split = 1, .stats = true}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    fw_forest *f = made_forest(&kinds[i], i), *back = NULL;
    fw_buffer snapshot = snapshot_of(f);
    assert_int_equal(snapshot.size, 32 + f->trees * f->nodes * (f->gain ? 45 : 21));
    assert_int_equal(read_snapshot(&snapshot, snapshot.size, &back), FURROW_OK);
    assert_same_forest(f, back);
    fw_buffer_clear(&snapshot);
    fw_forest_free(f);
    fw_forest_free(back);
  }
}

/* Every beginning, and one byte more, is refused where it ends. */
static void a_cut_image_is_refused(void **state) {
  (void)state;
  fw_forest *f = made_forest(&few, 1), *back = NULL;
  fw_buffer snapshot = snapshot_of(f);
  fw_buffer_byte(&snapshot, 0);
  for (size_t size = 0; size < snapshot.size - 1; size++) {
    assert_int_equal(read_snapshot(&snapshot, size, &back), FURROW_E_FORMAT);
    assert_int_equal(err.offset, size);
  }
  assert_int_equal(read_snapshot(&snapshot, snapshot.size, &back), FURROW_E_FORMAT);
  assert_int_equal(err.offset, snapshot.size - 1);
  assert_null(back);
  fw_buffer_clear(&snapshot);
  fw_forest_free(f);
}

static void assert_refused_at(fw_buffer *snapshot, size_t at, size_t bytes, uint64_t value, uint64_t offset) {
  unsigned char old[8];
  fw_forest *back = NULL;
  memcpy(old, snapshot->bytes + at, bytes);
  if (bytes == 4)
    fw_put_le32(snapshot->bytes + at, (uint32_t)value);
  else
    fw_put_le64(snapshot->bytes + at, value);
  assert_int_equal(read_snapshot(snapshot, snapshot->size, &back), FURROW_E_FORMAT);
  assert_int_equal(err.offset, offset);
  memcpy(snapshot->bytes + at, old, bytes);
}

static void a_wrong_header_is_refused(void **state) {
  (void)state;
  fw_forest *f = made_forest(&few, 1), *back = NULL;
  fw_buffer snapshot = snapshot_of(f);
  assert_refused_at(&snapshot, 0, 4, 7, 0);
  assert_refused_at(&snapshot, 8, 4, 0, 8);
  assert_refused_at(&snapshot, 8, 4, 21, 8);
  assert_refused_at(&snapshot, 8, 4, 5, snapshot.size); /* too few bytes for so many nodes */
  assert_refused_at(&snapshot, 12, 4, 2, 12);
  assert_refused_at(&snapshot, 16, 8, 0, 16);
  assert_refused_at(&snapshot, 16, 8, UINT64_MAX, 16);
  assert_refused_at(&snapshot, 16, 8, 5, 24); /* 12 trees are not of 5 classes */
  assert_refused_at(&snapshot, 24, 8, UINT64_MAX / 3 * 3, 24);
  assert_refused_at(&snapshot, 24, 8, 3, 32 + 3 * 15 * 45);
  assert_refused_at(&snapshot, 32, 4, (uint32_t)-2, 32); /* a node that cannot be */
  assert_int_equal(read_snapshot(&snapshot, snapshot.size, &back), FURROW_OK);
  fw_buffer_clear(&snapshot);
  fw_forest_free(f);
  fw_forest_free(back);
}

/* ---- Memory ---- */

static void memory_that_runs_out_is_told(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  fw_forest *f = made_forest(&few, 1);
  fw_buffer snapshot = snapshot_of(f);
  const long live = alloc_live;
  for (long n = 1;; n++) {
    fw_forest *copy = NULL, *back = NULL;
    alloc_fail_at(n);
    furrow_status status = fw_forest_copy(&copy, f, &err);
    if (status == FURROW_OK) status = read_snapshot(&snapshot, snapshot.size, &back);
    if (status == FURROW_OK) status = fw_forest_add(back, 100, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
    if (back && failed) assert_same_forest(f, back);
    fw_forest_free(copy);
    fw_forest_free(back);
    assert_int_equal(alloc_live, live);
    if (!failed) break;
  }
  fw_buffer_clear(&snapshot);
  fw_forest_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_are_added_and_cut),     cmocka_unit_test(limits_are_kept),
      cmocka_unit_test(a_copy_is_the_same),          cmocka_unit_test(nodes_are_where_rows_come),
      cmocka_unit_test(a_wrong_node_is_named),       cmocka_unit_test(an_image_brings_it_back),
      cmocka_unit_test(a_cut_image_is_refused),      cmocka_unit_test(a_wrong_header_is_refused),
      cmocka_unit_test(memory_that_runs_out_is_told)};
  return cmocka_run_group_tests_name("forest", tests, NULL, NULL);
}
