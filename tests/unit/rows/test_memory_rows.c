/* tests/unit/rows/test_memory_rows.c: rows of the program's own arrays are those of the same rows as text. */
#include <math.h>
#include <unistd.h>

#include "furrow/rows.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/row_digest.h"
#include "support/test_env.h"

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *seed >> 33;
}

typedef struct outcome {
  furrow_status status;
  furrow_error error;
  uint64_t digest, rows, features, blocks;
} outcome;

/* Reads part after part; keeps whether a block borrowed from `array`. */
static outcome read_parts(const char *uri, const furrow_parser_params *given, uint32_t nparts, const void *array,
                          size_t bytes, bool *borrowed) {
  outcome o = {.digest = 1};
  if (borrowed) *borrowed = true;
  for (uint32_t part = 0; part < nparts; part++) {
    furrow_parser_params params = *given;
    furrow_parser *parser = NULL;
    params.part = part;
    params.nparts = nparts;
    o.status = furrow_parser_open(&parser, uri, &params, &o.error);
    if (o.status != FURROW_OK) return o;
    for (int pass = 0; pass < 2; pass++) { /* the second counts */
      const outcome before = o;
      while ((o.status = furrow_parser_next(parser, &o.error)) == FURROW_OK) {
        const furrow_rowblock *block = furrow_parser_value(parser);
        assert_true(block->size > 0);
        assert_true(block->key_type == params.key_type && block->value_type == params.value_type);
        digest_block(&o.digest, block);
        o.rows += block->size;
        o.features += block->offset[block->size] - block->offset[0];
        o.blocks++;
        const char *at = block->value.any;
        if (borrowed) *borrowed &= at >= (const char *)array && at < (const char *)array + bytes;
      }
      assert_null(furrow_parser_value(parser));
      if (pass == 0) {
        assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_OK);
        o = before;
      }
    }
    furrow_parser_stats stats;
    furrow_parser_stats_init(&stats);
    furrow_parser_get_stats(parser, &stats);
    if (nparts == 1 && o.status == FURROW_END) assert_true(stats.rows == o.rows && stats.features == o.features);
    furrow_parser_close(parser);
  }
  return o;
}

/* ---- Sparse ------------------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 500, MOST_FEATURES = 5000 };

typedef struct arrays {
  uint64_t offset[MOST_ROWS + 1];
  float label[MOST_ROWS], weight[MOST_ROWS], value[MOST_FEATURES];
  uint64_t qid[MOST_ROWS];
  uint32_t index[MOST_FEATURES], field[MOST_FEATURES];
} arrays;

static furrow_rowblock random_block(arrays *a, uint64_t *seed, bool fields) {
  furrow_rowblock block = {.size = next_random(seed) % MOST_ROWS};
  uint64_t used = 0;
  a->offset[0] = 0;
  for (size_t i = 0; i < block.size; i++) {
    const uint64_t n = next_random(seed) % 10;
    a->label[i] = (float)(next_random(seed) % 2);
    a->weight[i] = (float)(1 + next_random(seed) % 4);
    a->qid[i] = next_random(seed) % 7;
    for (uint64_t k = 0; k < n; k++, used++) {
      a->index[used] = (uint32_t)(next_random(seed) % 1000);
      a->field[used] = (uint32_t)(next_random(seed) % 5);
      a->value[used] = (float)(int64_t)(next_random(seed) % 200 - 100);
    }
    a->offset[i + 1] = used;
  }
  block.offset = a->offset;
  block.label.f32 = a->label;
  if (next_random(seed) % 2) block.weight = a->weight;
  if (!fields && next_random(seed) % 2) block.qid = a->qid;
  if (fields) block.field.u32 = a->field;
  block.index.u32 = a->index;
  if (next_random(seed) % 4) block.value.f32 = a->value;
  return block;
}

static void write_text(const char *path, const furrow_rowblock *block, const char *format) {
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = format;
  params.overwrite = true;
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_block(writer, block, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
  furrow_rows_writer_close(writer);
}

static int released;

static void count_release(void *user) {
  assert_ptr_equal(user, &released);
  released++;
}

static void sparse_rows_are_those_of_text(void **state) {
  (void)state;
  static arrays a, b;
  uint64_t seed = 7;
  for (int round = 0; round < 60; round++) {
    const bool fields = round % 3 == 2;
    const furrow_rowblock block = random_block(&a, &seed, fields), more = random_block(&b, &seed, fields);
    const char *format = fields ? "libfm" : "libsvm";
    released = 0;
    write_text("a", &block, format);
    write_text("b", &more, format);
    assert_int_equal(furrow_memory_rows_add("memory://set/a", &block, count_release, &released, NULL), FURROW_OK);
    assert_int_equal(furrow_memory_rows_add("memory://set/b", &more, count_release, &released, NULL), FURROW_OK);
    for (int types = 0; types < 4; types++) {
      furrow_parser_params params;
      furrow_parser_params_init(&params);
      params.format = format;
      params.key_type = types & 1 ? FURROW_KEY_U64 : FURROW_KEY_U32;
      params.value_type = types & 2 ? FURROW_VALUE_I32 : FURROW_VALUE_F32;
      params.chunk_bytes = 1 + next_random(&seed) % 4000;
      params.threads = 1 + (uint32_t)next_random(&seed) % 3;
      const uint32_t nparts = 1 + (uint32_t)next_random(&seed) % 5;
      const outcome wanted = read_parts("a;b", &params, 1, NULL, 0, NULL);
      assert_int_equal(wanted.status, FURROW_END);
      const outcome got = read_parts("memory://set/a;memory://set/b", &params, nparts, NULL, 0, NULL);
      if (got.status != FURROW_END) fail_msg("%s", got.error.message);
      assert_true(got.rows == wanted.rows && got.rows == block.size + more.size);
      assert_true(got.features == wanted.features && got.digest == wanted.digest);
      bool borrowed = false;
      const outcome one = read_parts("memory://set/a", &params, nparts, a.value, sizeof a.value, &borrowed);
      if (types == 0 && block.value.any && one.features > 0) assert_true(borrowed);
      furrow_blockiter *iter = NULL, *text = NULL;
      assert_int_equal(furrow_blockiter_open(&iter, "memory://set/a", &params, NULL), FURROW_OK);
      assert_int_equal(furrow_blockiter_open(&text, "a", &params, NULL), FURROW_OK);
      assert_int_equal(furrow_blockiter_num_col(iter), furrow_blockiter_num_col(text));
      uint64_t x = 1, y = 1;
      assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
      assert_int_equal(furrow_blockiter_next(text, NULL), FURROW_OK);
      digest_block(&x, furrow_blockiter_value(iter));
      digest_block(&y, furrow_blockiter_value(text));
      assert_true(x == y);
      assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_END);
      if (types == 0 && block.size > 0) assert_ptr_equal(furrow_blockiter_value(iter), NULL);
      furrow_blockiter_close(iter);
      furrow_blockiter_close(text);
    }
    assert_int_equal(furrow_memory_rows_remove("memory://set/a", NULL), FURROW_OK);
    assert_int_equal(furrow_memory_rows_remove("memory://set/b", NULL), FURROW_OK);
    assert_int_equal(released, 2);
  }
}

/* The block iterator gives the arrays themselves. */
static void block_iterators_borrow(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 1, 3};
  static const float label[] = {1, 0}, value[] = {1, 2, 3};
  static const uint32_t index[] = {5, 2, 9};
  const furrow_rowblock block = {
      .size = 2, .offset = offset, .label.f32 = label, .index.u32 = index, .value.f32 = value};
  furrow_blockiter *iter = NULL;
  released = 0;
  assert_int_equal(furrow_memory_rows_add("memory://r", &block, count_release, &released, NULL), FURROW_OK);
  assert_int_equal(furrow_blockiter_open(&iter, "memory://r", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_rows_remove("memory://r", NULL), FURROW_OK);
  assert_int_equal(furrow_memory_rows_remove("memory://r", NULL), FURROW_E_NOT_FOUND);
  assert_int_equal(released, 0); /* it is in use */
  assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
  assert_ptr_equal(furrow_blockiter_value(iter)->value.f32, value);
  assert_int_equal(furrow_blockiter_num_col(iter), 10);
  assert_int_equal(furrow_blockiter_rewind(iter, NULL), FURROW_OK);
  assert_int_equal(furrow_blockiter_next(iter, NULL), FURROW_OK);
  furrow_blockiter_close(iter);
  assert_int_equal(released, 1);
}

/* ---- Dense -------------------------------------------------------------------------------------------------- */

/* The rows that a table means, as libsvm. */
static void write_table(const char *path, const furrow_dense_rows *table) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  const size_t stride = table->row_stride ? table->row_stride : table->columns;
  for (size_t i = 0; i < table->rows; i++) {
    fprintf(file, "%.9g", table->label[i]);
    if (table->weight) fprintf(file, ":%.9g", table->weight[i]);
    if (table->qid) fprintf(file, " qid:%llu", (unsigned long long)table->qid[i]);
    for (size_t k = 0; k < table->columns; k++) {
      const size_t at = i * stride + k;
      const double v =
          table->type == FURROW_DENSE_F64 ? ((const double *)table->values)[at] : ((const float *)table->values)[at];
      if (!isnan(v) && !(table->drop_zeros && v == 0)) fprintf(file, " %zu:%.9g", k, v);
    }
    fputc('\n', file);
  }
  fclose(file);
}

static void dense_rows_are_those_of_text(void **state) {
  (void)state;
  enum { ROWS = 60, STRIDE = 12 };
  static float f32[ROWS * STRIDE], label[ROWS], weight[ROWS];
  static double f64[ROWS * STRIDE];
  static uint64_t qid[ROWS];
  uint64_t seed = 3;
  for (int round = 0; round < 200; round++) {
    furrow_dense_rows table;
    furrow_dense_rows_init(&table);
    const bool with_nan = round % 3 == 0;
    for (size_t i = 0; i < ROWS * STRIDE; i++) {
      const uint64_t r = next_random(&seed);
      f64[i] = r % 5 == 0 ? 0 : r % 7 == 0 && with_nan ? NAN : (double)(r % 1000) / 8;
      f32[i] = (float)f64[i];
    }
    for (size_t i = 0; i < ROWS; i++) {
      label[i] = (float)(next_random(&seed) % 2);
      weight[i] = (float)(1 + next_random(&seed) % 3);
      qid[i] = i / 4;
    }
    table.rows = next_random(&seed) % ROWS;
    table.columns = 1 + next_random(&seed) % STRIDE;
    table.type = round % 2 ? FURROW_DENSE_F32 : FURROW_DENSE_F64;
    table.values = round % 2 ? (const void *)f32 : (const void *)f64;
    table.row_stride = round % 5 == 0 ? STRIDE : 0;
    table.label = label;
    if (round % 4 == 1) table.weight = weight;
    if (round % 4 == 2) table.qid = qid;
    table.drop_zeros = round % 7 == 0;
    write_table("t", &table);
    assert_int_equal(furrow_memory_rows_add_dense("memory://t", &table, NULL, NULL, NULL), FURROW_OK);
    furrow_parser_params params;
    furrow_parser_params_init(&params);
    params.format = "libsvm";
    params.chunk_bytes = 1 + next_random(&seed) % 2000;
    params.key_type = round % 11 == 0 ? FURROW_KEY_U64 : FURROW_KEY_U32;
    bool borrowed = false;
    const outcome wanted = read_parts("t", &params, 1, NULL, 0, NULL);
    const outcome got = read_parts("memory://t", &params, 1 + (uint32_t)(round % 4), f32, sizeof f32, &borrowed);
    assert_true(wanted.status == FURROW_END && got.status == FURROW_END);
    assert_true(wanted.rows == got.rows && wanted.features == got.features && wanted.digest == got.digest);
    const bool plain = table.type == FURROW_DENSE_F32 && !table.drop_zeros && !with_nan &&
                       (!table.row_stride || table.row_stride == table.columns);
    if (got.rows > 0 && plain) assert_true(borrowed);
    assert_int_equal(furrow_memory_rows_remove("memory://t", NULL), FURROW_OK);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------------ */

static void what_contradicts_itself_is_refused(void **state) {
  (void)state;
  static const uint64_t good[] = {0, 1}, bad[] = {2, 1};
  static const uint32_t index[] = {1};
  furrow_rowblock block = {.size = 1, .offset = bad, .index.u32 = index};
  furrow_error err;
  assert_int_equal(furrow_memory_rows_add("memory://x", &block, NULL, NULL, &err), FURROW_E_ARGUMENT);
  block.offset = NULL;
  assert_int_equal(furrow_memory_rows_add("memory://x", &block, NULL, NULL, &err), FURROW_E_ARGUMENT);
  block.offset = good;
  block.index.u32 = NULL;
  assert_int_equal(furrow_memory_rows_add("memory://x", &block, NULL, NULL, &err), FURROW_E_ARGUMENT);
  block.index.u32 = index;
  assert_int_equal(furrow_memory_rows_add("x", &block, NULL, NULL, &err), FURROW_E_ARGUMENT);
  furrow_dense_rows table;
  furrow_dense_rows_init(&table);
  table.rows = table.columns = 2;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, &err), FURROW_E_ARGUMENT);
  const double huge[] = {1, 1e300, 2, 3};
  table.values = huge;
  table.type = FURROW_DENSE_F64;
  table.row_stride = 1;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, &err), FURROW_E_ARGUMENT);
  table.row_stride = SIZE_MAX / 4;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "the table is larger than memory can be");
  table.row_stride = SIZE_MAX;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, NULL), FURROW_E_ARGUMENT);
  table.row_stride = 0;
  table.type = FURROW_DENSE_F64 + 1;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "the type of the table is neither f32 nor f64");
  table.type = FURROW_DENSE_F64;
  assert_int_equal(furrow_memory_rows_add_dense("memory://x", &table, NULL, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_memory_rows_add("memory://x", &block, NULL, NULL, &err), FURROW_E_EXISTS);
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  const outcome got = read_parts("memory://x", &params, 1, NULL, 0, NULL);
  assert_int_equal(got.status, FURROW_E_RANGE);
  assert_string_equal(got.error.message, "row 0, column 1: 1.0000000000000001e+300 is too large for f32");
  assert_true(test_write_text("text", "1 1:1\n"));
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open(&parser, "memory://x;text", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_parser_open(&parser, "memory://x?indexing_mode=1", NULL, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_memory_file_remove("memory://x", NULL), FURROW_E_NOT_FOUND); /* rows, not a file */
  assert_int_equal(furrow_memory_rows_remove("memory://x", NULL), FURROW_OK);
}

static void nothing_is_refused(void **state) {
  (void)state;
  assert_int_equal(furrow_memory_rows_add("memory://none", NULL, NULL, NULL, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_memory_rows_add_dense("memory://none", NULL, NULL, NULL, NULL), FURROW_E_ARGUMENT);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(sparse_rows_are_those_of_text),      IN_DIR(block_iterators_borrow), IN_DIR(dense_rows_are_those_of_text),
      IN_DIR(what_contradicts_itself_is_refused), IN_DIR(nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
