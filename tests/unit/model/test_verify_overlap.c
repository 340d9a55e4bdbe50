/* tests/unit/model/test_verify_overlap.c: verify finds every partition that shares elements with another. */
#include "support/cmocka_all.h"
#include "support/model_params.h"

#include "furrow/model.h"
#include "support/made_matrix.h"
#include "support/own_dir.h"

/* A folder with these partitions, all empty. */
static void save_grid(const char *folder, furrow_partition_meta *parts, size_t count) {
  furrow_matrix_meta meta = {.matrix_name = "m", .row_type = 7, .row = 100, .col = -1, .block_row = 1, .block_col = 1};
  meta.format_class_name = "com.tencent.angel.model.output.format.ValueBinaryRowFormat";
  meta.parts = parts;
  meta.part_count = count;
  char *bytes = NULL;
  size_t size = 0;
  furrow_error err;
  made_check(furrow_matrix_meta_write(&meta, &bytes, &size, &err), &err);
  if (access(folder, F_OK) != 0) assert_int_equal(mkdir(folder, 0777), 0);
  made_write(folder, "_meta", bytes, size);
  made_write(folder, "0", "", 0);
  furrow_free(bytes);
}

static void note_overlap(void *user, const furrow_matrix_finding *finding) {
  bool *told = user;
  if (strstr(finding->message, "overlap partition")) told[finding->part_id] = true;
}

static bool is_before(const furrow_partition_meta *p, const furrow_partition_meta *q) {
  if (p->start_row != q->start_row) return p->start_row < q->start_row;
  if (p->end_row != q->end_row) return p->end_row < q->end_row;
  return p->start_col != q->start_col ? p->start_col < q->start_col : p->part_id < q->part_id;
}

static bool share_elements(const furrow_partition_meta *p, const furrow_partition_meta *q) {
  const int32_t row = p->start_row > q->start_row ? p->start_row : q->start_row;
  const int64_t col = p->start_col > q->start_col ? p->start_col : q->start_col;
  return row < p->end_row && row < q->end_row && col < p->end_col && col < q->end_col;
}

/* Rectangles of any kind: the ones that are told are those that share an element with one before them. */
static void overlaps_of_any_kind(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int round = 0; round < 300; round++) {
    furrow_partition_meta parts[24];
    bool told[24] = {false}, found = false;
    const size_t count = 2 + (size_t)round % 23;
    for (size_t i = 0; i < count; i++) {
      int32_t n[4];
      for (int k = 0; k < 4; k++) n[k] = (int32_t)((seed = seed * 1664525 + 1013904223) >> 16) % (k < 2 ? 12 : 5);
      parts[i] = (furrow_partition_meta){.part_id = (int32_t)i, .start_row = n[0], .end_row = n[0] + n[2]};
      parts[i].start_col = n[1] - 6;
      parts[i].end_col = n[1] - 6 + n[3];
      if (parts[i].end_col == 0 && parts[i].start_col == 0) parts[i].end_col = 1; /* no hash partition */
      parts[i].file_name = "0";
    }
    save_grid("m", parts, count);
    const furrow_status status = furrow_matrix_verify("m", VERIFY(NULL, 1, note_overlap, told), NULL);
    for (size_t i = 0; i < count; i++) {
      bool expected = false;
      for (size_t k = 0; k < count; k++)
        expected = expected || (is_before(&parts[k], &parts[i]) && share_elements(&parts[k], &parts[i]));
      found = found || expected;
      if (told[i] != expected) fail_msg("round %d, partition %zu of %zu: told %d", round, i, count, (int)told[i]);
    }
    assert_true(!found || status == FURROW_E_FORMAT);
  }
}

/* Two bands that share rows, of more partitions than anyone should look at in pairs. */
static void many_partitions(void **state) {
  (void)state;
  enum { MANY = 60000 };
  furrow_partition_meta *parts = calloc(MANY, sizeof *parts);
  bool *told = calloc(MANY, sizeof *told);
  assert_non_null(parts);
  assert_non_null(told);
  for (int32_t i = 0; i < MANY; i++)
    parts[i] = (furrow_partition_meta){
        .part_id = i, .start_row = i % 2, .end_row = 2 + i % 2, .start_col = i + 1, .end_col = i + 2, .file_name = "0"};
  parts[MANY - 1].start_col--;
  save_grid("m", parts, MANY);
  assert_int_equal(furrow_matrix_verify("m", VERIFY(NULL, 1, note_overlap, told), NULL), FURROW_E_FORMAT);
  for (int32_t i = 0; i < MANY; i++) assert_int_equal(told[i], i == MANY - 1);
  free(told);
  free(parts);
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(overlaps_of_any_kind), IN_DIR(many_partitions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
