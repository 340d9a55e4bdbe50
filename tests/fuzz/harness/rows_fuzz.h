/* tests/fuzz/harness/rows_fuzz.h: what the fuzzers of row formats share: a text through every level of instructions and
 * the careful way, and rows that are written and read again. */
#ifndef ROWS_FUZZ_H
#define ROWS_FUZZ_H

#include <math.h>

#include "base/buffer.h"
#include "fuzz/harness/isa_harness.h"
#include "fuzz/harness/rows_harness.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Written and read again ---- */

enum { MOST_COLUMNS = 300, MOST_ROWS = 200 }; /* that are written */

static inline furrow_status rows_append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

/* Writes the block; false: the format cannot hold it, and says so. */
static inline bool rows_write(const furrow_rowblock *block, const furrow_rows_writer_params *params, fw_buffer *text) {
  const furrow_output output = {.size = sizeof output, .write = rows_append, .user = text};
  furrow_rows_writer *writer = NULL;
  furrow_error err = {0};
  rows_require(furrow_rows_writer_open_output(&writer, &output, params, NULL) == FURROW_OK, "the writer does not open");
  const furrow_status status = furrow_rows_writer_write_block(writer, block, &err);
  if (status == FURROW_OK) rows_require(furrow_rows_writer_commit(writer, &err) == FURROW_OK, "no commit");
  rows_require(status == FURROW_OK || ((status == FURROW_E_UNSUPPORTED || status == FURROW_E_RANGE) && err.message[0]),
               "rows cannot be written, and nothing says why");
  furrow_rows_writer_close(writer);
  return status == FURROW_OK;
}

static inline bool rows_same_number(double a, double b) {
  return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

/* i64 does not fit into a double. */
static inline bool rows_same_value(furrow_values a, furrow_values b, furrow_value_type type, size_t i) {
  if (!a.any || !b.any) return a.any == b.any;
  if (type == FURROW_VALUE_F32) return rows_same_number((double)a.f32[i], (double)b.f32[i]);
  return type == FURROW_VALUE_I32 ? a.i32[i] == b.i32[i] : a.i64[i] == b.i64[i];
}

static inline bool rows_same_row(const furrow_row *a, const furrow_row *b) {
  bool same = a->length == b->length && rows_same_value(a->label, b->label, a->value_type, 0);
  same = same && rows_same_number((double)furrow_row_get_weight(a), (double)furrow_row_get_weight(b));
  same = same && furrow_row_get_qid(a) == furrow_row_get_qid(b);
  for (size_t i = 0; same && i < a->length; i++) {
    same = furrow_row_get_index(a, i) == furrow_row_get_index(b, i);
    same = same && furrow_row_get_field(a, i) == furrow_row_get_field(b, i);
    if (a->value.any && b->value.any)
      same = same && rows_same_value(a->value, b->value, a->value_type, i);
    else
      same = same && rows_same_number(furrow_row_get_value(a, i), furrow_row_get_value(b, i));
  }
  return same;
}

static inline void rows_require_same_rows(const furrow_container *a, const furrow_container *b) {
  furrow_rowblock blocks[2];
  rows_require(furrow_container_get_block(a, &blocks[0], NULL) == FURROW_OK, "no block");
  rows_require(furrow_container_get_block(b, &blocks[1], NULL) == FURROW_OK, "no block");
  rows_require(blocks[0].size == blocks[1].size, "the number of rows changed when they were written and read");
  for (size_t i = 0; i < blocks[0].size; i++) {
    const furrow_row row = furrow_rowblock_row(&blocks[0], i), again = furrow_rowblock_row(&blocks[1], i);
    rows_require(rows_same_row(&row, &again), "a row changed when it was written and read");
  }
}

static inline void rows_read_again(const furrow_container *rows, const rows_setup *setup, const fw_buffer *text) {
  rows_reader reader;
  rows_result again = {0};
  furrow_error err;
  rows_require(rows_reader_open(&reader, setup, text->bytes, text->size, &err) == FURROW_OK, "it does not open again");
  rows_parse(&again, &reader, &reader.format, setup, text->bytes, text->size, 0, 0);
  if (again.status != FURROW_OK) fprintf(stderr, "rows_fuzz: %s\n", again.error.message);
  rows_require(again.status == FURROW_OK, "what was written is not read");
  rows_require(again.chunk.stats.bad_rows == 0 && again.chunk.stats.ignored == 0, "what was written is skipped");
  rows_require_same_rows(rows, again.chunk.out);
  rows_result_clear(&again);
  rows_reader_close(&reader);
}

/* The columns of a csv that has all features; 0: it has none, too many, or not in their order, which a csv would
 * change. */
static inline uint64_t rows_columns(const furrow_rowblock *block) {
  uint64_t columns = 0;
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    for (size_t k = 0; k < row.length; k++) {
      const uint64_t index = furrow_row_get_index(&row, k);
      if (index >= MOST_COLUMNS || (k > 0 && index <= furrow_row_get_index(&row, k - 1))) return 0;
      if (index >= columns) columns = index + 1;
    }
  }
  return columns;
}

/* As csv: the label first, then the weight. */
static inline void rows_again_as_csv(const furrow_container *rows, const furrow_rowblock *block, rows_setup setup) {
  furrow_rows_writer_params params;
  fw_buffer text = {0};
  char args[80];
  furrow_rows_writer_params_init(&params);
  params.format = setup.format = "csv";
  params.columns = rows_columns(block);
  params.with_weight = block->weight != NULL;
  params.header = block->size % 2;
  if (params.columns == 0) return;
  const int label = block->label.any ? 0 : -1;
  snprintf(args, sizeof args, "label_column=%d&weight_column=%d&delimiter=,&header=%s", label,
           params.with_weight ? label + 1 : -1, params.header ? "yes" : "no");
  setup.args = args;
  if (rows_write(block, &params, &text)) rows_read_again(rows, &setup, &text);
  fw_buffer_clear(&text);
}

static inline void rows_again_as_sparse(const furrow_container *rows, const furrow_rowblock *block, rows_setup setup,
                                        const char *format) {
  furrow_rows_writer_params params;
  fw_buffer text = {0};
  furrow_rows_writer_params_init(&params);
  params.format = setup.format = format;
  params.index_base = setup.base;
  setup.args = "has_label=yes";
  if (rows_write(block, &params, &text)) rows_read_again(rows, &setup, &text);
  fw_buffer_clear(&text);
}

/* Rows that were read are written in every format that holds them, and read again. */
static inline void rows_fuzz_again(const rows_setup *setup, const furrow_container *rows) {
  furrow_rowblock block;
  rows_require(furrow_container_get_block(rows, &block, NULL) == FURROW_OK, "no block");
  if (block.size == 0) return;
  rows_again_as_csv(rows, &block, *setup);
  rows_again_as_sparse(rows, &block, *setup, "libsvm");
  if (block.field.any) rows_again_as_sparse(rows, &block, *setup, "libfm");
}

/* ---- One input ---- */

/* Reads the text the careful way, and the fast way at every level of instructions. */
static inline bool rows_compare_levels(const rows_setup *setup, const char *text, size_t length, uint64_t offset) {
  rows_reader reader;
  if (rows_reader_open(&reader, setup, text, length, NULL) != FURROW_OK) return true;
  fw_format careful_format = reader.format;
  careful_format.parse_chunk = NULL;
  rows_result fast = {0}, careful = {0};
  bool same = true;
  rows_parse(&careful, &reader, &careful_format, setup, text, length, offset, ':');
  rows_check_result(&careful);
  for (EACH_ISA(isa)) { /* with the memory of the level before, and other bytes around the text */
    use_isa(isa);
    rows_parse(&fast, &reader, &reader.format, setup, text, length, offset, "7: \n"[isa % 4]);
    rows_check_result(&fast);
    same = same && rows_same_result(&fast, &careful);
    if (!same) fprintf(stderr, "rows_fuzz: at level %s\n", fw_isa_name(isa));
  }
  if (same && careful.status == FURROW_OK && careful.chunk.out->rows <= MOST_ROWS)
    rows_fuzz_again(setup, careful.chunk.out);
  rows_result_clear(&fast);
  rows_result_clear(&careful);
  rows_reader_close(&reader);
  return same;
}

/* A setup from one byte of a fuzzer's input: bit 0 index type, bits 1-2 value type, bit 3 on_bad, bit 4 base. */
static inline void rows_fuzz_setup(rows_setup *setup, const char *format, uint8_t flags) {
  *setup = (rows_setup){.format = format,
                        .args = "",
                        .key_type = (furrow_key_type)(flags & 1),
                        .value_type = (furrow_value_type)((flags >> 1 & 3) % 3),
                        .on_bad = (furrow_on_bad)(flags >> 3 & 1),
                        .base = flags >> 4 & 1};
}

/* Long texts take a hundred times as long: a fuzzer makes fewer of them than the replay of a corpus. */
#if defined(__has_feature)
#if __has_feature(coverage_sanitizer)
#define REPEATED_EVERY 8
#endif
#endif
#ifndef REPEATED_EVERY
#define REPEATED_EVERY 1
#endif

/* rows_compare_levels of a fuzzer's text. Bit 5 of `flags`: of the text again and again, with some good rows in
 * between, so that it takes several windows. */
static inline void rows_fuzz_compare(const rows_setup *setup, uint8_t flags, const char *text, size_t length,
                                     uint64_t offset) {
  enum { LONG = 20000, GOOD = 50 }; /* a window has 16 KiB */
  const bool again = (flags & 0x20) && length > 0 && length < LONG && length % REPEATED_EVERY == 0;
  const char *good = strcmp(setup->format, "libfm") == 0 ? "\n1 2:3:4\n"
                     : strcmp(setup->format, "csv") == 0 ? "\n1\n"
                                                         : "\n1 2\n";
  char *whole = malloc(again ? LONG + length + 16 * GOOD : 1);
  size_t used = 0;
  rows_require(whole != NULL, "out of memory");
  while (again && used < LONG) {
    memcpy(whole + used, text, length);
    used += length;
    for (int i = 0; i < GOOD && (flags & 0x40); i++) {
      memcpy(whole + used, good, strlen(good));
      used += strlen(good);
    }
  }
  rows_require(again ? rows_compare_levels(setup, whole, used, offset)
                     : rows_compare_levels(setup, text, length, offset),
               setup->format);
  free(whole);
}

#endif
