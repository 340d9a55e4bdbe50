/* tests/unit/rows/test_many_columns.c: tables with thousands of columns, most of which each record lacks: memory and
 * work stay within a multiple of the text. */
#include <stdio.h>
#include <string.h>

#include "rows/table/text_table.h"
#include "support/encoded_rows.h"
#include "support/failing_alloc.h"

#define LOG "memory://many"
#define MEMORY(text) (64.0 * (1 << 20) + 20.0 * (double)(text))

/* X(name): logs */
#define LOGS(X)                                               \
  X(json_one)    /* each record has one of the columns */     \
  X(json_nested) /* the same, within an object */             \
  X(json_prefix) /* the same, with the longest key */         \
  X(json_list)   /* its cell is a list */                     \
  X(json_text)   /* its cell is a text, always another */     \
  X(json_third)  /* each record has a third of the columns */ \
  X(vw_one)                                                   \
  X(vw_twice) /* namespaces that come back */                 \
  X(csv_wide) /* nearly all cells are empty */

typedef enum log_kind {
#define FW_X(name) LOG_##name,
  LOGS(FW_X)
#undef FW_X
      LOG_COUNT
} log_kind;

static const char *const log_names[] = {
#define FW_X(name) #name,
    LOGS(FW_X)
#undef FW_X
};

static void put_third(fw_buffer *out, size_t columns, size_t i) {
  fw_buffer_format(out, "{\"y\":%zu", i % 2);
  for (size_t c = i % 3; c < columns; c += 3) fw_buffer_format(out, ",\"k%zu\":1", c);
  fw_buffer_text(out, "}\n");
}

static void put_wide(fw_buffer *out, size_t columns, size_t i) {
  for (size_t c = 0; i == 0 && c < columns; c++) fw_buffer_format(out, "k%zu,", c);
  if (i == 0) fw_buffer_text(out, "y\n");
  for (size_t c = 0; c < columns; c++) fw_buffer_text(out, c == i % columns ? "1," : ",");
  fw_buffer_format(out, "%zu\n", i % 2);
}

static void put_record(fw_buffer *out, log_kind kind, size_t columns, size_t i) {
  const size_t k = i < columns ? i : 0, y = i % 2;
  switch (kind) {
  case LOG_json_one: fw_buffer_format(out, "{\"k%zu\":1,\"y\":%zu}\n", k, y); break;
  case LOG_json_nested: fw_buffer_format(out, "{\"a\":{\"k%zu\":1},\"y\":%zu}\n", k, y); break;
  case LOG_json_prefix: fw_buffer_format(out, "{\"%0100d\":{\"k%zu\":1},\"y\":%zu}\n", 0, k, y); break;
  case LOG_json_list: fw_buffer_format(out, "{\"k%zu\":[\"p\",\"q%zu\"],\"y\":%zu}\n", k, i, y); break;
  case LOG_json_text: fw_buffer_format(out, "{\"k%zu\":\"t%zu|u\",\"y\":%zu}\n", k, i, y); break;
  case LOG_json_third: put_third(out, columns, i); break;
  case LOG_vw_one: fw_buffer_format(out, "%zu |n%zu a:1\n", y, k); break;
  case LOG_vw_twice: fw_buffer_format(out, "%zu |n%zu a |m b |n%zu c\n", y, k, k); break;
  default: put_wide(out, columns, i); break;
  }
}

static void put_file(const fw_buffer *text) {
  const furrow_status status = furrow_memory_file_remove(LOG, NULL);
  assert_true(status == FURROW_OK || status == FURROW_E_NOT_FOUND);
  assert_int_equal(fw_buffer_status(text, NULL), FURROW_OK);
  assert_int_equal(furrow_memory_file_add(LOG, text->bytes, text->size, NULL, NULL, NULL), FURROW_OK);
}

static void put_log(fw_buffer *text, log_kind kind, size_t columns, size_t records) {
  for (size_t i = 0; i < records; i++) put_record(text, kind, columns, i);
  put_file(text);
}

/* ---- Memory --------------------------------------------------------------------------------------------- */

static void expect_peak(const char *name, const char *step, size_t size) {
  const double peak = (double)atomic_load(&alloc_peak);
  if (FAILING_ALLOC && peak > MEMORY(size)) fail_msg("%s, %s: %.0f bytes for %zu of text", name, step, peak, size);
  alloc_watch();
}

/* Proposes a schema, learns it, and reads all rows; returns their features. */
static uint64_t read_log(log_kind kind, size_t size) {
  furrow_schema_propose_params params;
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  furrow_parser *parser = NULL;
  furrow_error err = {0};
  uint64_t features = 0;
  furrow_schema_propose_params_init(&params);
  params.label = kind == LOG_vw_one || kind == LOG_vw_twice ? "label" : "y";
  alloc_watch();
  if (furrow_schema_propose(&schema, LOG, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  expect_peak(log_names[kind], "schema", size);
  if (furrow_encoder_build(&encoder, LOG, schema, NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  expect_peak(log_names[kind], "dictionary", size);
  save_encoder(encoder);
  assert_int_equal(furrow_parser_open(&parser, LOG "?format=table&encoder=" ENCODER_PLACE, NULL, &err), FURROW_OK);
  while (furrow_parser_next(parser, &err) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    features += block->offset[block->size];
  }
  furrow_parser_close(parser);
  expect_peak(log_names[kind], "rows", size);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  return features;
}

static void memory_is_of_the_text(void **state) {
  (void)state;
  for (log_kind kind = 0; kind < LOG_COUNT; kind++) {
    const bool wide = kind == LOG_json_third || kind == LOG_csv_wide;
    fw_buffer text = {0};
    put_log(&text, kind, wide ? 2000 : 6000, wide ? 300 : 12000);
    const uint64_t features = read_log(kind, text.size);
    if (features > text.size) fail_msg("%s: %llu features", log_names[kind], (unsigned long long)features);
    fw_buffer_clear(&text);
  }
}

/* A line whose two namespaces alternate. */
static void namespaces_that_alternate(void **state) {
  (void)state;
  enum { TIMES = 20000 };
  fw_buffer text = {0};
  fw_buffer_text(&text, "1");
  for (size_t i = 0; i < TIMES; i++) fw_buffer_text(&text, " |a x |b y");
  fw_buffer_text(&text, "\n0 |a z\n");
  put_file(&text);
  assert_true(read_log(LOG_vw_one, text.size) > 2 * TIMES);
  fw_buffer_clear(&text);
}

/* An object with a long key is one column: the key would be in the names of all its members. */
static void long_keys_of_objects(void **state) {
  enum { MEMBERS = 4000, RECORDS = 4 };
  static const int lengths[] = {100, 101, 20000};
  (void)state;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    fw_buffer text = {0};
    furrow_schema *schema = NULL;
    for (size_t r = 0; r < RECORDS; r++) {
      fw_buffer_format(&text, "{\"y\":%zu,\"%0*d\":{\"k\":1", r % 2, lengths[i], 0);
      for (size_t c = 1; c < MEMBERS; c++) fw_buffer_format(&text, ",\"k%zu\":1", c);
      fw_buffer_text(&text, "}}\n");
    }
    put_file(&text);
    alloc_watch();
    assert_int_equal(furrow_schema_propose(&schema, LOG, NULL, NULL), FURROW_OK);
    expect_peak("long keys", "schema", text.size);
    assert_int_equal(furrow_schema_column_count(schema), lengths[i] > 100 ? 2 : MEMBERS + 1);
    furrow_schema_free(schema);
    fw_buffer_clear(&text);
  }
}

/* ---- The most columns ----------------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 100000 };

static void put_header_csv(fw_buffer *out, size_t columns) {
  for (size_t c = 1; c < columns; c++) fw_buffer_format(out, "%zx_,", c);
  fw_buffer_text(out, "k0\n1\n");
}
static void put_numbers_csv(fw_buffer *out, size_t columns) {
  for (size_t c = 1; c < columns; c++) fw_buffer_text(out, "1,");
  fw_buffer_text(out, "1\n");
}
static void put_keys(fw_buffer *out, size_t columns) {
  fw_buffer_text(out, "{\"k0\":1");
  for (size_t c = 1; c < columns; c++) fw_buffer_format(out, ",\"%zx\":1", c);
  fw_buffer_text(out, "}\n");
}
static void put_inner_keys(fw_buffer *out, size_t columns) {
  fw_buffer_format(out, "{\"%0100d\":{\"k0\":1", 0);
  for (size_t c = 1; c < columns; c++) fw_buffer_format(out, ",\"%zx\":1", c);
  fw_buffer_text(out, "}}\n");
}
static void put_namespaces(fw_buffer *out, size_t columns) {
  fw_buffer_text(out, "1 'a");
  for (size_t c = 3; c < columns; c++) fw_buffer_format(out, "|%zx ", c); /* label, weight and tag are columns */
  fw_buffer_text(out, "\n");
}

/* More columns are refused before their names take more memory than there are bytes. */
static void most_columns(void **state) {
  static void (*const makers[])(fw_buffer * out, size_t columns) = {put_header_csv, put_numbers_csv, put_keys,
                                                                    put_inner_keys, put_namespaces};
  static const char *const wanted[] = {"k0"};
  (void)state;
  for (size_t i = 0; i < 2 * (sizeof makers / sizeof *makers); i++) {
    const bool more = i % 2;
    fw_buffer text = {0};
    fw_table_source *source = NULL;
    fw_table *table = NULL;
    furrow_error err = {0};
    makers[i / 2](&text, more ? 5 * MOST_COLUMNS : MOST_COLUMNS);
    put_file(&text);
    alloc_watch();
    assert_int_equal(fw_table_source_open(&source, LOG, &err), more ? FURROW_E_UNSUPPORTED : FURROW_OK);
    if (more)
      assert_non_null(strstr(err.message, "the table has more than 100000 columns"));
    else
      assert_int_equal(fw_table_create(&table, fw_table_source_layout(source), wanted, 1, NULL, NULL), FURROW_OK);
    expect_peak("most columns", more ? "refused" : "table", text.size);
    fw_table_free(table);
    fw_table_source_close(source);
    fw_buffer_clear(&text);
  }
}

/* ---- Records that lack what the training data had ------------------------------------------------------- */

enum { DENSE = 500, EMPTY = 20000 };

/* An encoder whose every column is missing here and there, so that missing cells are features. */
static void save_dense_encoder(void) {
  furrow_schema_propose_params params;
  furrow_schema *schema = NULL;
  furrow_encoder *encoder = NULL;
  fw_buffer text = {0};
  for (size_t i = 0; i < 40; i++) {
    fw_buffer_format(&text, "{\"y\":%zu", i % 2);
    for (size_t c = 0; c < DENSE; c++)
      if ((i + c) % 10 != 0) fw_buffer_format(&text, ",\"k%zu\":%zu", c, i * c % 7);
    fw_buffer_text(&text, "}\n");
  }
  put_file(&text);
  furrow_schema_propose_params_init(&params);
  params.label = "y";
  assert_int_equal(furrow_schema_propose(&schema, LOG, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_encoder_build(&encoder, LOG, schema, NULL, NULL), FURROW_OK);
  save_encoder(encoder);
  furrow_encoder_free(encoder);
  furrow_schema_free(schema);
  fw_buffer_clear(&text);
}

/* They are read in blocks of bounded size; nobody keeps all of them. */
static void short_records(void **state) {
  (void)state;
  static const char uri[] = LOG "?format=table&label=optional&encoder=" ENCODER_PLACE;
  fw_buffer text = {0};
  save_dense_encoder();
  for (size_t i = 0; i < EMPTY; i++) fw_buffer_text(&text, "{}\n");
  fw_buffer_text(&text, "{\n");
  put_file(&text);
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    furrow_parser_params params;
    furrow_parser *parser = NULL;
    furrow_error err = {0};
    furrow_status status;
    uint64_t rows = 0, features = 0;
    furrow_parser_params_init(&params);
    params.threads = threads;
    alloc_watch();
    assert_int_equal(furrow_parser_open(&parser, uri, &params, NULL), FURROW_OK);
    while ((status = furrow_parser_next(parser, &err)) == FURROW_OK) {
      const furrow_rowblock *block = furrow_parser_value(parser);
      for (size_t i = 0; i < block->size; i++) assert_int_equal(block->offset[i + 1] - block->offset[i], DENSE);
      rows += block->size;
      features += block->offset[block->size];
    }
    assert_int_equal(status, FURROW_E_PARSE);
    assert_int_equal(err.line, EMPTY + 1);
    assert_int_equal(rows, EMPTY);
    assert_int_equal(features, (uint64_t)EMPTY * DENSE);
    furrow_parser_close(parser);
    expect_peak("short records", "rows", text.size);
  }
  furrow_blockiter *iter = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_blockiter_open(&iter, uri, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "far more memory than the text"));
  fw_buffer_clear(&text);
}

/* ---- Work ----------------------------------------------------------------------------------------------- */

typedef struct work_count {
  uint64_t records, cells, kept;
} work_count;

static furrow_status count_work(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  work_count *count = user;
  (void)piece, (void)cursor, (void)err;
  count->records += batch->records;
  count->kept += batch->columns * batch->capacity;
  for (size_t i = 0; i < batch->filled_count; i++)
    for (size_t r = 0; r < batch->records; r++)
      count->cells += fw_table_cells(batch, batch->filled[i])[r].kind != FW_TABLE_MISSING;
  return FURROW_OK;
}

/* The reader keeps at most 16 cells, or as many as a narrow table has columns, for each that is there. */
static void cells_that_are_not_there(void **state) {
  (void)state;
  enum { COLUMNS = 5000, RECORDS = 20000 };
  for (log_kind kind = LOG_json_one; kind <= LOG_vw_one; kind++) {
    if (kind == LOG_json_third || kind == LOG_json_prefix) continue;
    fw_buffer text = {0};
    fw_table_source *source = NULL;
    fw_table *table = NULL;
    work_count count = {0};
    void *const users[] = {&count};
    const fw_table_scan_params params = {.threads = 1};
    static char names[COLUMNS][24];
    const char *wanted[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
      snprintf(names[c], sizeof names[c], "%s%zu", kind == LOG_vw_one ? "n" : kind == LOG_json_nested ? "a.k" : "k", c);
      wanted[c] = names[c];
    }
    put_log(&text, kind, COLUMNS, RECORDS);
    assert_int_equal(fw_table_source_open(&source, LOG, NULL), FURROW_OK);
    assert_int_equal(fw_table_create(&table, fw_table_source_layout(source), wanted, COLUMNS, NULL, NULL), FURROW_OK);
    assert_int_equal(fw_table_scan(source, table, &params, users, count_work, NULL, NULL), FURROW_OK);
    assert_int_equal(count.records, RECORDS);
    assert_int_equal(count.cells, RECORDS);
    if (count.kept > 20 * count.cells) fail_msg("%s: %llu cells", log_names[kind], (unsigned long long)count.kept);
    fw_table_free(table);
    fw_table_source_close(source);
    fw_buffer_clear(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_of_the_text), cmocka_unit_test(namespaces_that_alternate),
      cmocka_unit_test(long_keys_of_objects),  cmocka_unit_test(most_columns),
      cmocka_unit_test(short_records),         cmocka_unit_test(cells_that_are_not_there),
  };
  return cmocka_run_group_tests_name("many_columns", tests, NULL, NULL);
}
