/* tests/unit/rows/test_writer.c: rows to text and to row caches, and back. */
#include "base/buffer.h"
#include "furrow/table.h"
#include "rows/cache.h"
#include "support/failing_alloc.h"
#include "support/sample_block.h"
#include "support/test_env.h"

enum { LABEL = FW_COLUMN_LABEL, WEIGHT = FW_COLUMN_WEIGHT, QID = FW_COLUMN_QID };
enum { FIELD = FW_COLUMN_FIELD, VALUE = FW_COLUMN_VALUE };

static char folder_name[TEST_PATH];
static const char *volatile folder; /* volatile: the compiler is not to guess how long it is */
static char path[TEST_PATH];        /* of the file that tests write */

static int make_folder(void **state) {
  (void)state;
  if (!test_make_dir(folder_name)) return -1;
  folder = folder_name;
  test_path(path, folder, "rows");
  return 0;
}

static int remove_folder(void **state) {
  (void)state;
  return test_remove_dir(folder_name) ? 0 : -1;
}

static furrow_rows_writer_params params_of(const char *format) {
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = format;
  params.overwrite = true;
  return params;
}

static void write_block(const furrow_rowblock *block, const furrow_rows_writer_params *params) {
  furrow_rows_writer *writer = NULL;
  furrow_error err = {.message = ""};
  furrow_status status = furrow_rows_writer_open(&writer, path, params, &err);
  if (status == FURROW_OK) status = furrow_rows_writer_write_block(writer, block, &err);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, &err);
  furrow_rows_writer_close(writer);
  if (status != FURROW_OK) fail_msg("%s", err.message);
}

static void assert_file(const char *text) {
  static char found[1 << 16];
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  assert_string_equal(found, text);
}

/* All rows of the file that was written, read as `format` with arguments ("?…"). */
static furrow_container *read_rows(const char *format, const char *args, furrow_key_type key_type,
                                   furrow_value_type value_type) {
  char uri[2 * TEST_PATH];
  furrow_parser_params params;
  furrow_parser *parser = NULL;
  furrow_container *all = NULL;
  furrow_error err;
  snprintf(uri, sizeof uri, "%s%s", path, args);
  furrow_parser_params_init(&params);
  params.format = format;
  params.key_type = key_type;
  params.value_type = value_type;
  params.threads = 1;
  assert_int_equal(furrow_container_create(&all, key_type, value_type, NULL), FURROW_OK);
  furrow_status status = furrow_parser_open(&parser, uri, &params, &err);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, &err)) == FURROW_OK) {
    status = furrow_container_push_block(all, furrow_parser_value(parser), &err);
  }
  if (status != FURROW_END) fail_msg("%s:%zu:%zu: %s", err.file, (size_t)err.line, (size_t)err.column, err.message);
  furrow_parser_close(parser);
  return all;
}

static void assert_reads_back(const char *format, const char *args, const furrow_rowblock *block) {
  furrow_container *all = read_rows(format, args, block->key_type, block->value_type);
  const furrow_rowblock read = fw_container_block(all);
  assert_same_block(&read, block);
  furrow_container_free(all);
}

/* ---- The text itself ------------------------------------------------------------------------------------ */

/* Three rows with all there is: numbers that print in every way. */
static const uint64_t offset3[] = {0, 2, 2, 5};
static const float label3[] = {1, -0.5F, 3e20F}, weight3[] = {0.25F, 1, 7},
                   value3[] = {1, 0.1F, -2.5e-8F, NAN, -INFINITY};
static const uint64_t qid3[] = {7, 0, UINT64_MAX};
static const uint32_t field3[] = {0, 9, 1, 2, 3}, index3[] = {4, 2, 0, 3, 1};

static furrow_rowblock three_rows(unsigned columns) {
  return (furrow_rowblock){
      .size = 3,
      .offset = offset3,
      .label.f32 = columns & LABEL ? label3 : NULL,
      .weight = columns & WEIGHT ? weight3 : NULL,
      .qid = columns & QID ? qid3 : NULL,
      .field.u32 = columns & FIELD ? field3 : NULL,
      .index.u32 = index3,
      .value.f32 = columns & VALUE ? value3 : NULL,
  };
}

static void libsvm_is_label_weight_qid_features(void **state) {
  (void)state;
  furrow_rows_writer_params params = params_of("libsvm");
  params.drop_fields = true;
  furrow_rowblock block = three_rows(LABEL | WEIGHT | QID | FIELD | VALUE);
  write_block(&block, &params);
  assert_file("1:0.25 qid:7 4:1 2:0.1\n"
              "-0.5:1 qid:0\n"
              "3e+20:7 qid:18446744073709551615 0:-2.5e-08 3:nan 1:-inf\n");
  assert_reads_back("libsvm", "",
                    &(furrow_rowblock){.size = 3,
                                       .offset = offset3,
                                       .label.f32 = label3,
                                       .weight = weight3,
                                       .qid = qid3,
                                       .index.u32 = index3,
                                       .value.f32 = value3});
  block = three_rows(LABEL);
  params.index_base = 1;
  write_block(&block, &params);
  assert_file("1 5 3\n-0.5\n3e+20 1 4 2\n");
  assert_reads_back("libsvm", "?indexing_mode=1", &block);
}

static void libfm_is_label_weight_fields(void **state) {
  (void)state;
  furrow_rows_writer_params params = params_of("libfm");
  furrow_rowblock block = three_rows(LABEL | WEIGHT | FIELD | VALUE);
  write_block(&block, &params);
  assert_file("1:0.25 0:4:1 9:2:0.1\n-0.5:1\n3e+20:7 1:0:-2.5e-08 2:3:nan 3:1:-inf\n");
  assert_reads_back("libfm", "", &block);
  params = params_of("libffm");
  params.index_base = 1;
  block = three_rows(LABEL | FIELD);
  write_block(&block, &params);
  assert_file("1 1:5 10:3\n-0.5\n3e+20 2:1 3:4 4:2\n");
  assert_reads_back("libffm", "?indexing_mode=1&has_label=yes", &block);
  block = three_rows(LABEL); /* no fields: all are 0 */
  params.index_base = 0;
  write_block(&block, &params);
  assert_file("1 0:4 0:2\n-0.5\n3e+20 0:0 0:3 0:1\n");
}

static void csv_is_a_table(void **state) {
  (void)state;
  furrow_rows_writer_params params = params_of("csv");
  params.columns = 6;
  furrow_rowblock block = three_rows(LABEL | VALUE);
  write_block(&block, &params);
  assert_file("1,,,0.1,,1,\n-0.5,,,,,,\n3e+20,-2.5e-08,-inf,,nan,,\n");
  params.columns = 5;
  write_block(&block, &params);
  assert_file("1,,,0.1,,1\n-0.5,,,,,\n3e+20,-2.5e-08,-inf,,nan,\n");
  params.zeros_missing = false;
  params.header = params.with_weight = true;
  params.delimiter = ';';
  block = three_rows(LABEL | WEIGHT);
  write_block(&block, &params);
  assert_file("label;weight;f0;f1;f2;f3;f4\n1;0.25;0;0;1;0;1\n-0.5;1;0;0;0;0;0\n3e+20;7;1;1;0;1;0\n");
  block = three_rows(0);
  write_block(&block, &params);
  assert_file("weight;f0;f1;f2;f3;f4\n1;0;0;1;0;1\n1;0;0;0;0;0\n1;1;1;0;1;0\n");
}

/* What csv reads back has the columns in order and no others. */
static void csv_reads_back(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 2, 2, 5, 5};
  static const uint32_t index[] = {2, 4, 0, 1, 3};
  static const float label[] = {1, -0.5F, 3e20F, NAN}, weight[] = {0.25F, 1, 7, 0}, value[] = {0.1F, 1, -2, 0, NAN};
  furrow_rowblock block = {
      .size = 4, .offset = offset, .label.f32 = label, .weight = weight, .index.u32 = index, .value.f32 = value};
  furrow_rows_writer_params params = params_of("csv");
  params.columns = 5;
  params.with_weight = true;
  for (int header = 0; header < 2; header++) {
    params.header = header;
    params.delimiter = ',';
    write_block(&block, &params);
    assert_reads_back("csv", header ? "?label_column=label&weight_column=weight" : "?label_column=0&weight_column=1",
                      &block);
    params.delimiter = '\t';
    write_block(&block, &params);
    assert_reads_back("csv", "?label_column=0&weight_column=1&delimiter=tab", &block);
  }
}

/* Rows without label, weight or features: a line that seems to say nothing is a row all the same. */
static void csv_rows_of_nothing_read_back(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 0, 1, 1};
  static const uint32_t index[] = {0};
  static const float value[] = {0.5F};
  static const struct {
    char delimiter;
    const char *args;
  } delimiters[] = {
      {',', "?header=no"}, {'\t', "?header=no&delimiter=tab"}, {' ', "?header=no&delimiter= "}, {';', "?delimiter=;"}};
  furrow_rowblock block = {.size = 3, .offset = offset, .index.u32 = index, .value.f32 = value};
  furrow_rows_writer_params params = params_of("csv");
  for (params.columns = 1; params.columns < 4; params.columns++) {
    for (size_t i = 0; i < sizeof delimiters / sizeof delimiters[0]; i++) {
      params.delimiter = delimiters[i].delimiter;
      write_block(&block, &params);
      if (params.columns == 1 && i == 0) assert_file(",\n0.5\n,\n");
      if (params.columns == 3 && i == 0) assert_file(",,\n0.5,,\n,,\n");
      if (i < 3) assert_reads_back("csv", delimiters[i].args, &block);
    }
  }
}

/* ---- All types ------------------------------------------------------------------------------------------ */

static void every_type_reads_back(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    for (unsigned columns = 1; columns < 32; columns += 2) { /* with label */
      furrow_rowblock block = sample_make(&s, columns, SAMPLE_ROWS, key_type, value_type, columns);
      furrow_rows_writer_params params = params_of(columns & FIELD ? "libfm" : "libsvm");
      if ((columns & FIELD) && (columns & QID)) continue;
      params.index_base = columns >> 1 & 1;
      write_block(&block, &params);
      assert_reads_back(params.format, params.index_base ? "?indexing_mode=1" : "", &block);
    }
  }
}

static void integers_are_written_in_full(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 3, 4}, index[] = {0, UINT64_MAX, (uint64_t)1 << 53, 5};
  static const int64_t label[] = {INT64_MIN, INT64_MAX}, value[] = {-1, INT64_MAX - 1, ((int64_t)1 << 53) + 1, 0};
  const furrow_rowblock block = {.size = 2,
                                 .offset = offset,
                                 .label.i64 = label,
                                 .index.u64 = index,
                                 .value.i64 = value,
                                 .key_type = FURROW_KEY_U64,
                                 .value_type = FURROW_VALUE_I64};
  furrow_rows_writer_params params = params_of("libsvm");
  write_block(&block, &params);
  assert_file("-9223372036854775808 0:-1 18446744073709551615:9223372036854775806 9007199254740992:9007199254740993\n"
              "9223372036854775807 5:0\n");
  params.index_base = 1; /* 2^64 does not fit */
  furrow_rows_writer *writer = NULL;
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_E_RANGE);
  furrow_rows_writer_close(writer);
}

/* More text than any buffer, in blocks, slices and rows. */
static void long_files_read_back(void **state) {
  (void)state;
  enum { REPEATS = 300 };
  static const char *const formats[] = {"libsvm", "libfm", "csv"};
  sample_block s;
  for (size_t f = 0; f < 3; f++) {
    furrow_rows_writer *writer = NULL;
    furrow_rows_writer_params params = params_of(formats[f]);
    furrow_rowblock block = sample_make(&s, f, SAMPLE_ROWS, FURROW_KEY_U32, FURROW_VALUE_F32, LABEL | VALUE);
    if (f == 2) {
      for (size_t i = 0; i < SAMPLE_ROWS; i++) { /* every row in order, no index twice */
        for (size_t k = s.offset[i]; k < s.offset[i + 1]; k++) {
          sample_set_index(s.index, FURROW_KEY_U32, k, k - s.offset[i]);
        }
      }
      params.columns = 40;
    }
    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
    for (size_t n = 0; n < REPEATS; n++) {
      furrow_rowblock slice;
      assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
      assert_int_equal(furrow_rowblock_slice(&block, n % 60, n % 60 + 3, &slice, NULL), FURROW_OK);
      assert_int_equal(furrow_rows_writer_write_block(writer, &slice, NULL), FURROW_OK);
      const furrow_row row = furrow_rowblock_row(&block, n % SAMPLE_ROWS);
      assert_int_equal(furrow_rows_writer_write_row(writer, &row, NULL), FURROW_OK);
    }
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
    furrow_rows_writer_close(writer);
    furrow_container *all = read_rows(formats[f], f == 2 ? "?label_column=0" : "", FURROW_KEY_U32, FURROW_VALUE_F32);
    const furrow_rowblock read = fw_container_block(all);
    assert_int_equal(read.size, REPEATS * (SAMPLE_ROWS + 4));
    for (size_t n = 0; n < REPEATS; n++) {
      size_t at = n * (SAMPLE_ROWS + 4);
      assert_same_rows(&read, at, &block, 0, SAMPLE_ROWS);
      assert_same_rows(&read, at + SAMPLE_ROWS, &block, n % 60, 3);
      assert_same_rows(&read, at + SAMPLE_ROWS + 3, &block, n % SAMPLE_ROWS, 1);
    }
    furrow_container_free(all);
  }
}

/* One row that is longer than the buffer. */
static void a_long_row_reads_back(void **state) {
  (void)state;
  enum { LENGTH = 50000 };
  static uint32_t index[LENGTH];
  static float value[LENGTH];
  static const float label = 1;
  const uint64_t offset[] = {0, LENGTH};
  for (uint32_t i = 0; i < LENGTH; i++) {
    index[i] = i;
    value[i] = (float)i / 7;
  }
  const furrow_rowblock block = {
      .size = 1, .offset = offset, .label.f32 = &label, .index.u32 = index, .value.f32 = value};
  furrow_rows_writer_params params = params_of("libsvm");
  write_block(&block, &params);
  assert_reads_back("libsvm", "", &block);
  params = params_of("csv");
  params.columns = LENGTH + 3;
  write_block(&block, &params);
  assert_reads_back("csv", "?label_column=0", &block);
}

/* So many columns that their names take more than a reader may look at to choose a format. */
static void a_long_header_reads_back(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 1, 2};
  static const uint32_t index[] = {0, 29999};
  static const float label[] = {1, 2};
  const furrow_rowblock block = {.size = 2, .offset = offset, .label.f32 = label, .index.u32 = index};
  furrow_rows_writer_params params = params_of("csv");
  params.columns = 30000;
  params.header = true;
  write_block(&block, &params);
  assert_reads_back("csv", "?label_column=label", &block);
}

static void a_cache_reads_back(void **state) {
  (void)state;
  sample_block s;
  FOR_ALL_TYPES(key_type, value_type) {
    furrow_rows_writer_params params = params_of("cache");
    params.key_type = key_type;
    params.value_type = value_type;
    const furrow_rowblock block = sample_make(&s, 4, SAMPLE_ROWS, FURROW_KEY_U64, FURROW_VALUE_I64, 31);
    write_block(&block, &params);
    furrow_container *c = NULL;
    assert_int_equal(furrow_container_create(&c, key_type, value_type, NULL), FURROW_OK);
    assert_int_equal(furrow_container_load(c, path, NULL), FURROW_OK);
    const furrow_rowblock read = fw_container_block(c);
    assert_same_block(&read, &block);
    furrow_container_free(c);
  }
  fw_cache_reader *reader = NULL;
  assert_int_equal(fw_cache_reader_open(&reader, path, NULL), FURROW_OK);
  assert_true(fw_cache_reader_info(reader)->stamp == FW_CACHE_UNKNOWN_SOURCE);
  fw_cache_reader_close(reader);
}

/* ---- An output of the caller's ---------------------------------------------------------------------------- */

typedef struct taken {
  char text[4096];
  size_t used;
  bool fails;
} taken;

static furrow_status end_text(void *user, const void *bytes, size_t length, furrow_error *err) {
  (void)user, (void)bytes, (void)length, (void)err;
  return FURROW_END;
}

static furrow_status take_text(void *user, const void *bytes, size_t length, furrow_error *err) {
  taken *t = user;
  if (t->fails) {
    snprintf(err->message, sizeof err->message, "nobody listens");
    return FURROW_E_IO;
  }
  assert_true(t->used + length < sizeof t->text);
  memcpy(t->text + t->used, bytes, length);
  t->used += length;
  return FURROW_OK;
}

/* Every format writes the same bytes to a caller as to a file; a row cache, which goes back, does not. */
static void rows_go_to_a_caller(void **state) {
  (void)state;
  static const char *const formats[] = {"libsvm", "libfm", "csv"};
  for (size_t f = 0; f < 3; f++) {
    taken t = {.used = 0};
    furrow_output output;
    furrow_output_init(&output);
    output.write = take_text;
    output.user = &t;
    furrow_rows_writer_params params = params_of(formats[f]);
    params.columns = 40;
    params.overwrite = false;
    const furrow_rowblock block = three_rows(LABEL);
    furrow_rows_writer *writer = NULL;
    furrow_error err;
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
    furrow_rows_writer_close(writer);
    params.overwrite = true;
    write_block(&block, &params);
    t.text[t.used] = 0;
    assert_true(t.used > 10);
    assert_file(t.text);
    t.fails = true;
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, &err), FURROW_E_IO);
    assert_string_equal(err.message, "nobody listens");
    furrow_rows_writer_close(writer);
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_E_IO);
    furrow_rows_writer_close(writer);
    output.write = end_text;
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, &err), FURROW_E_IO); /* END is not a result of writing */
    furrow_rows_writer_close(writer);
    output.write = take_text;
    params.format = "cache";
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_E_UNSUPPORTED);
    params.format = formats[f];
    params.size = 0;
    assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_E_ARGUMENT);
  }
}

/* ---- What is refused ------------------------------------------------------------------------------------ */

/* A file that appears between open and commit stays, unless the writer may overwrite it. */
static void an_existing_file_is_kept(void **state) {
  (void)state;
  static const char *const formats[] = {"libsvm", "cache"};
  for (size_t f = 0; f < 2; f++) {
    furrow_rows_writer *writer = NULL;
    furrow_rows_writer_params params = params_of(formats[f]);
    furrow_rowblock block = three_rows(LABEL);
    furrow_error err;
    params.overwrite = false;
    (void)remove(path);
    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("here first\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(furrow_rows_writer_commit(writer, &err), FURROW_E_EXISTS);
    furrow_rows_writer_close(writer);
    assert_file("here first\n");
    assert_int_equal(remove(path), 0);
    write_block(&block, &params);
    params.overwrite = true;
    write_block(&block, &params);
  }
}

static void what_a_format_cannot_hold_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *format;
    unsigned columns;
    furrow_status status;
  } cases[] = {
      {"libsvm", 0, FURROW_E_UNSUPPORTED},
      {"libfm", 0, FURROW_E_UNSUPPORTED},
      {"libsvm", LABEL | FIELD, FURROW_E_UNSUPPORTED},
      {"libfm", LABEL | QID, FURROW_E_UNSUPPORTED},
      {"csv", LABEL | QID, FURROW_E_UNSUPPORTED},
      {"csv", LABEL | FIELD, FURROW_E_UNSUPPORTED},
      {"csv", LABEL | WEIGHT, FURROW_E_UNSUPPORTED},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    furrow_rows_writer *writer = NULL;
    furrow_rows_writer_params params = params_of(cases[i].format);
    params.columns = 10;
    furrow_rowblock block = three_rows(cases[i].columns);
    furrow_error err;
    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), cases[i].status);
    assert_true(err.message[0] != 0);
    const furrow_row row = furrow_rowblock_row(&block, 1);
    assert_int_equal(furrow_rows_writer_write_row(writer, &row, &err), cases[i].status);
    block = three_rows(LABEL); /* the writer goes on, nothing was written */
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
    furrow_rows_writer_close(writer);
    bool csv = cases[i].format[0] == 'c';
    furrow_container *all = read_rows(cases[i].format, csv ? "?label_column=0" : "", FURROW_KEY_U32, FURROW_VALUE_F32);
    assert_int_equal(furrow_container_size(all), 3);
    furrow_container_free(all);
  }
}

static void csv_refuses_rows_that_do_not_fit_the_table(void **state) {
  (void)state;
  static const uint64_t offset[] = {0, 1, 4};
  static const float label[] = {1, 2}, weight[] = {1, NAN};
  static const uint32_t twice[] = {0, 3, 1, 3}, beyond[] = {0, 1, 5, 2}, fine[] = {0, 3, 1, 4};
  furrow_rows_writer_params params = params_of("csv");
  params.columns = 5;
  params.with_weight = true;
  furrow_rows_writer *writer = NULL;
  furrow_error err;
  furrow_rowblock block = {.size = 2, .offset = offset, .label.f32 = label, .index.u32 = twice};
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), FURROW_E_UNSUPPORTED);
  assert_non_null(strstr(err.message, "index 3 twice in row 1"));
  block.index.u32 = beyond;
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "index 5 of row 1"));
  block.index.u32 = fine;
  block.weight = weight;
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), FURROW_E_UNSUPPORTED);
  block.weight = NULL;
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
  block.label.any = NULL;
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), FURROW_E_STATE);
  assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
  furrow_rows_writer_close(writer);
  assert_file("1,1,1,,,,\n2,1,,1,,1,1\n");
}

static void parameters_are_checked(void **state) {
  (void)state;
  furrow_rows_writer *writer = NULL;
  furrow_error err;
  furrow_rows_writer_params params = params_of("svmlight");
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "libsvm, libfm, libffm, csv, cache"));
  params = params_of(NULL);
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
  params = params_of("csv");
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "columns"));
  params.columns = 3;
  static const char bad[] = {0,   '\n', '\r', '"', '#', '&', '?', '+', '-',
                             '.', '0',  '9',  'e', 'E', 'n', 'i', 'A', '\x80'};
  for (size_t i = 0; i < sizeof bad; i++) {
    params.delimiter = bad[i];
    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "delimiter"));
  }
  params = params_of("libsvm");
  params.index_base = 2;
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "index_base"));
  params = params_of("cache");
  assert_int_equal(furrow_rows_writer_open(&writer, "-", &params, &err), FURROW_E_UNSUPPORTED);
  params.key_type = (furrow_key_type)9;
  assert_int_equal(furrow_rows_writer_open(&writer, path, &params, &err), FURROW_E_ARGUMENT);
  assert_null(writer);
}

/* ---- The file ------------------------------------------------------------------------------------------- */

static void the_file_appears_with_commit(void **state) {
  (void)state;
  static const char *const formats[] = {"libsvm", "libfm", "csv", "cache"};
  for (size_t i = 0; i < 4; i++) {
    furrow_rows_writer *writer = NULL;
    furrow_rows_writer_params params = params_of(formats[i]);
    params.columns = 5;
    const furrow_rowblock block = three_rows(LABEL);
    unlink(path);
    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    furrow_rows_writer_close(writer);
    assert_int_not_equal(access(path, F_OK), 0);

    assert_int_equal(furrow_rows_writer_open(&writer, path, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_E_STATE);
    assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_E_STATE);
    furrow_rows_writer_close(writer);
  }
  furrow_rows_writer_close(NULL);
}

static void files_of_no_rows(void **state) {
  (void)state;
  furrow_rows_writer_params params = params_of("libsvm");
  const furrow_rowblock block = {.size = 0};
  write_block(&block, &params);
  assert_file("");
  params = params_of("csv");
  params.columns = 2;
  params.header = true;
  write_block(&block, &params);
  assert_file("label,f0,f1\n");
  assert_reads_back("csv", "?label_column=0&header=yes", &block);
}

static void standard_output_gets_the_text(void **state) {
  (void)state;
  furrow_rows_writer *writer = NULL;
  const furrow_rowblock block = three_rows(LABEL);
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  FILE *file = fopen(path, "wb");
  assert_true(saved >= 0 && file);
  assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
  furrow_status opened = furrow_rows_writer_open(&writer, "-", NULL, NULL);
  furrow_status pushed = opened == FURROW_OK ? furrow_rows_writer_write_block(writer, &block, NULL) : opened;
  furrow_rows_writer_close(writer); /* no commit: what was written is out all the same */
  assert_true(dup2(saved, STDOUT_FILENO) >= 0);
  close(saved);
  fclose(file);
  assert_int_equal(pushed, FURROW_OK);
  assert_file("1 4 2\n-0.5\n3e+20 0 3 1\n");
}

/* ---- A caller that takes no more ---- */

typedef struct taker {
  fw_buffer text;
  long calls; /* that it takes; the next one fails */
} taker;

static furrow_status take_some(void *user, const void *bytes, size_t length, furrow_error *err) {
  taker *t = user;
  if (t->calls-- <= 0) {
    snprintf(err->message, sizeof err->message, "enough");
    return FURROW_E_CANCELLED;
  }
  fw_buffer_append(&t->text, bytes, length);
  return FURROW_OK;
}

/* Files are written in pieces of 1 MiB. */
enum { TAKEN_ROWS = 70000, LONG_ROW = 88000 };

/* A row of nearly 1 MiB, then many of 0 to 2 features, so that the buffers are full within a row, at its end or between
 * two: `shift` says where. */
static furrow_status write_rows_to(taker *t, const furrow_rows_writer_params *params, size_t shift) {
  static uint64_t offset[TAKEN_ROWS + 1];
  static uint32_t index[LONG_ROW + 2 * TAKEN_ROWS];
  static float label[TAKEN_ROWS];
  const bool csv = strcmp(params->format, "csv") == 0;
  size_t used = 0;
  for (size_t i = 0; i < TAKEN_ROWS; i++) {
    const size_t features = i == 0 && !csv ? LONG_ROW - shift : i % 3;
    for (size_t k = 0; k < features; k++) index[used++] = (uint32_t)(i == 0 ? 4000000000u + k : k);
    offset[i + 1] = used;
  }
  const furrow_rowblock block = {
      .size = csv ? 12 : TAKEN_ROWS, .offset = offset, .label = {.f32 = label}, .index = {.u32 = index}};
  furrow_rows_writer *writer = NULL;
  furrow_output output;
  furrow_output_init(&output);
  output.write = take_some;
  output.user = t;
  furrow_error err = {0};
  assert_int_equal(furrow_rows_writer_open_output(&writer, &output, params, NULL), FURROW_OK);
  furrow_status status = furrow_rows_writer_write_block(writer, &block, &err);
  if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, &err);
  if (status != FURROW_OK) assert_string_equal(err.message, "enough");
  furrow_rows_writer_close(writer);
  return status;
}

static void expect_to_stop(const furrow_rows_writer_params *params, size_t shift) {
  taker all = {.calls = 1000};
  assert_int_equal(write_rows_to(&all, params, shift), FURROW_OK);
  const long calls = 1000 - all.calls;
  for (long n = 0; n < calls; n++) {
    taker some = {.calls = n};
    assert_int_equal(write_rows_to(&some, params, shift), FURROW_E_CANCELLED);
    assert_true(some.text.size < all.text.size && (n > 0 || some.text.size == 0));
    if (n > 0) assert_memory_equal(some.text.bytes, all.text.bytes, some.text.size);
    fw_buffer_clear(&some.text);
  }
  assert_true(calls > 1);
  fw_buffer_clear(&all.text);
}

static void a_caller_stops_the_writing(void **state) {
  (void)state;
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  for (size_t shift = 0; shift < 4; shift++) expect_to_stop(&params, shift);
  params.format = "csv";
  params.columns = 100000;
  expect_to_stop(&params, 0);
}

/* A header that fills the buffers: within a name, or before one. */
static void a_caller_stops_the_header(void **state) {
  (void)state;
  static char name[1200000];
  static const char *names[40000];
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = "csv";
  params.columns = 2;
  params.header = true;
  params.names = names;
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 2] = ' ';
  names[0] = "a";
  names[1] = name;
  expect_to_stop(&params, 0);
  params.columns = 40000;
  for (size_t i = 0; i < 40000; i++) names[i] = "a name of thirty-one characters";
  taker none = {0};
  assert_int_equal(write_rows_to(&none, &params, 0), FURROW_E_CANCELLED);
  assert_int_equal(none.text.size, 0);
}

/* Names of columns that a reader would take for something else. */
static void names_in_quotes(void **state) {
  (void)state;
  static const char *names[] = {"say \"a\"", "", "b,c"};
  static const uint64_t offset[] = {0, 1};
  static const uint32_t index[] = {1};
  const furrow_rowblock block = {.size = 1, .offset = offset, .index = {.u32 = index}};
  furrow_rows_writer_params params;
  furrow_rows_writer_params_init(&params);
  params.format = "csv";
  params.columns = 3;
  params.header = true;
  params.names = names;
  taker t = {.calls = 9};
  furrow_output output;
  furrow_output_init(&output);
  output.write = take_some;
  output.user = &t;
  furrow_rows_writer *writer = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_commit(writer, NULL), FURROW_OK);
  furrow_rows_writer_close(writer);
  fw_buffer_byte(&t.text, 0);
  assert_string_equal(t.text.bytes, "\"say \"\"a\"\"\",\"\",\"b,c\"\n,1,\n");
  fw_buffer_clear(&t.text);
  names[1] = "two\nlines";
  assert_int_equal(furrow_rows_writer_open_output(&writer, &output, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_block(writer, &block, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "a column name with a line break cannot be written as csv");
  furrow_rows_writer_close(writer);
  fw_buffer_clear(&t.text);
}

static void a_full_disk_is_an_error(void **state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) skip();
  furrow_rows_writer *writer = NULL;
  const furrow_rowblock block = three_rows(LABEL);
  furrow_status pushed = FURROW_OK, committed;
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  FILE *file = fopen("/dev/full", "wb");
  assert_true(saved >= 0 && file);
  assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
  furrow_status opened = furrow_rows_writer_open(&writer, "-", NULL, NULL);
  for (int i = 0; i < 100000 && opened == FURROW_OK && pushed == FURROW_OK; i++) {
    pushed = furrow_rows_writer_write_block(writer, &block, NULL);
  }
  committed = opened == FURROW_OK ? furrow_rows_writer_commit(writer, NULL) : opened;
  furrow_rows_writer_close(writer);
  assert_true(dup2(saved, STDOUT_FILENO) >= 0);
  close(saved);
  fclose(file);
  assert_int_equal(opened, FURROW_OK);
  assert_int_equal(pushed, FURROW_E_IO);
  assert_int_equal(committed, FURROW_E_IO);
}

/* ---- Out of memory -------------------------------------------------------------------------------------- */

static void writing_without_memory_leaves_nothing(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  static const char *const formats[] = {"libsvm", "csv", "cache"};
  const furrow_rowblock block = three_rows(LABEL | VALUE);
  for (size_t i = 0; i < 3; i++) {
    furrow_rows_writer_params params = params_of(formats[i]);
    params.columns = 5;
    long live = atomic_load(&alloc_live);
    furrow_status status = FURROW_E_MEMORY;
    for (long n = 1; status != FURROW_OK; n++) {
      furrow_rows_writer *writer = NULL;
      unlink(path);
      alloc_fail_at(n);
      status = furrow_rows_writer_open(&writer, path, &params, NULL);
      if (status == FURROW_OK) status = furrow_rows_writer_write_block(writer, &block, NULL);
      if (status == FURROW_OK) status = furrow_rows_writer_commit(writer, NULL);
      furrow_rows_writer_close(writer);
      alloc_fail_at(0);
      assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
      assert_int_equal(access(path, F_OK) == 0, status == FURROW_OK);
      assert_int_equal(atomic_load(&alloc_live), live);
    }
  }
}

/* ---- Files that belong together ------------------------------------------------------------------------- */

static bool has_text(const char *name, const char *wanted) {
  char file[TEST_PATH], found[64] = "";
  test_path(file, folder, name);
  FILE *in = fopen(file, "r");
  if (!in) return !wanted;
  found[fread(found, 1, sizeof found - 1, in)] = 0;
  fclose(in);
  return wanted && strcmp(found, wanted) == 0;
}

static furrow_rows_writer *writer_of(const char *name, const char *format, bool overwrite, float label) {
  char file[TEST_PATH];
  furrow_rows_writer *writer = NULL;
  furrow_rows_writer_params params = params_of(format);
  const furrow_row row = {.label = {&label}};
  params.overwrite = overwrite;
  test_path(file, folder, name);
  assert_int_equal(furrow_rows_writer_open(&writer, file, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_writer_write_row(writer, &row, NULL), FURROW_OK);
  return writer;
}

static furrow_status write_two(bool overwrite, float label, furrow_error *err) {
  furrow_rows_writer *writers[] = {writer_of("a", "libsvm", true, label), writer_of("b", "libsvm", overwrite, label)};
  const furrow_status status = furrow_rows_writer_commit_all(writers, 2, err);
  if (status == FURROW_OK) assert_int_equal(furrow_rows_writer_commit(writers[1], NULL), FURROW_E_STATE);
  for (int i = 0; i < 2; i++) furrow_rows_writer_close(writers[i]);
  return status;
}

static void several_files_appear_together(void **state) {
  (void)state;
  furrow_error err;
  const int before = test_entries(folder);
  assert_int_equal(furrow_rows_writer_commit_all(NULL, 0, &err), FURROW_OK);
  assert_int_equal(write_two(false, 1, &err), FURROW_OK);
  assert_true(has_text("a", "1\n") && has_text("b", "1\n"));
  assert_int_equal(write_two(false, 2, &err), FURROW_E_EXISTS);
  assert_true(has_text("a", "1\n") && has_text("b", "1\n"));
  assert_int_equal(write_two(true, 3, &err), FURROW_OK);
  assert_true(has_text("a", "3\n") && has_text("b", "3\n"));
  furrow_rows_writer *mixed[] = {writer_of("a", "libsvm", true, 4), writer_of("b", "cache", true, 4)};
  assert_int_equal(furrow_rows_writer_commit_all(mixed, 2, &err), FURROW_OK);
  for (int i = 0; i < 2; i++) furrow_rows_writer_close(mixed[i]);
  assert_true(has_text("a", "4\n") && !has_text("b", "3\n"));
  assert_int_equal(test_entries(folder), before + 2);
}

static furrow_status write_encoded(const furrow_encoder *encoder, const char *to, bool overwrite, float label) {
  char directory[TEST_PATH];
  furrow_rows_writer *writer = writer_of("a", "libsvm", true, label);
  test_path(directory, folder, to);
  const furrow_status status = furrow_rows_writer_commit_with_encoder(writer, encoder, directory, overwrite, NULL);
  furrow_rows_writer_close(writer);
  return status;
}

/* Rows and the encoder that made them: in a folder of its own, and in the folder of the rows. */
static void rows_appear_with_their_encoder(void **state) {
  (void)state;
  static const char text[] = "{\"columns\": {\"u\": {\"as\": \"category\"}, \"y\": {\"as\": \"label\"}}}";
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  char log[TEST_PATH], own[TEST_PATH];
  test_path(log, folder, "log.csv");
  assert_true(test_write_text(log, "u,y\na,1\nb,0\n"));
  assert_int_equal(furrow_schema_parse(&schema, text, strlen(text), NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, log, schema, NULL, NULL), FURROW_OK);
  for (int in_place = 0; in_place < 2; in_place++) {
    const char *to = in_place ? "" : "own";
    assert_int_equal(write_encoded(encoder, to, true, 1), FURROW_OK);
    assert_true(has_text("a", "1\n"));
    /* the dictionary must stay, so the old rows stay as well */
    assert_int_equal(write_encoded(encoder, to, false, 2), FURROW_E_EXISTS);
    assert_true(has_text("a", "1\n"));
    assert_int_equal(write_encoded(encoder, to, true, 3), FURROW_OK);
    assert_true(has_text("a", "3\n"));
  }
  /* a file in the place of the folder */
  assert_int_equal(write_encoded(encoder, "log.csv", true, 4), FURROW_E_IO);
  assert_true(has_text("a", "3\n"));
  test_path(own, folder, "own");
  assert_int_equal(test_entries(own), 2);
  assert_true(test_remove_dir(own));
  furrow_schema_free(schema);
  furrow_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(libsvm_is_label_weight_qid_features),
      cmocka_unit_test(libfm_is_label_weight_fields),
      cmocka_unit_test(csv_is_a_table),
      cmocka_unit_test(csv_reads_back),
      cmocka_unit_test(csv_rows_of_nothing_read_back),
      cmocka_unit_test(every_type_reads_back),
      cmocka_unit_test(integers_are_written_in_full),
      cmocka_unit_test(long_files_read_back),
      cmocka_unit_test(a_long_row_reads_back),
      cmocka_unit_test(a_long_header_reads_back),
      cmocka_unit_test(a_cache_reads_back),
      cmocka_unit_test(an_existing_file_is_kept),
      cmocka_unit_test(rows_go_to_a_caller),
      cmocka_unit_test(what_a_format_cannot_hold_is_refused),
      cmocka_unit_test(csv_refuses_rows_that_do_not_fit_the_table),
      cmocka_unit_test(parameters_are_checked),
      cmocka_unit_test(the_file_appears_with_commit),
      cmocka_unit_test(files_of_no_rows),
      cmocka_unit_test(standard_output_gets_the_text),
      cmocka_unit_test(a_caller_stops_the_writing),
      cmocka_unit_test(a_caller_stops_the_header),
      cmocka_unit_test(names_in_quotes),
      cmocka_unit_test(a_full_disk_is_an_error),
      cmocka_unit_test(writing_without_memory_leaves_nothing),
      cmocka_unit_test(several_files_appear_together),
      cmocka_unit_test(rows_appear_with_their_encoder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
