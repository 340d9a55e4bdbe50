/* tests/unit/rows/test_encode_same.c: one log gives one dictionary and one set of rows: for any number of threads and
 * any size of chunks, as csv, tsv or JSON lines, before and after the encoder is saved, and event by event. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "support/encoded_rows.h"
#include "support/own_dir.h"
#include "support/row_digest.h"

#define COLUMNS                                                                                                  \
  "{\"columns\":{\"y\":{\"as\":\"label\"},\"w\":{\"as\":\"weight\"},\"g\":{\"as\":\"group\"},"                   \
  "\"u\":{\"as\":\"category\",\"role\":\"user\",\"min_count\":3},\"i\":{\"as\":\"category\",\"role\":\"item\"}," \
  "\"h\":{\"as\":\"category\",\"hash\":7},\"t\":{\"as\":\"time\",\"unit\":\"s\",\"role\":\"time\","              \
  "\"parts\":[\"hour\",\"weekday\",\"age\"]},\"n\":{\"as\":\"number\",\"scale\":\"standard\"},"                  \
  "\"l\":{\"as\":\"number\",\"scale\":\"log\"},\"b\":{\"as\":\"number\",\"scale\":\"bins\",\"bins\":7},"         \
  "\"s\":{\"as\":\"set\",\"separator\":\"|\"},\"v\":{\"as\":\"set\",\"separator\":\"; \",\"values\":true},"      \
  "\"note\":{\"as\":\"text\",\"min_count\":2},\"year\":{\"as\":\"number\",\"scale\":\"standard\"},"              \
  "\"genres\":{\"as\":\"set\",\"separator\":\"|\"}},"                                                            \
  "\"tables\":{\"items.csv\":\"i\"},\"cross\":[{\"of\":[\"u\",\"t.hour\"],\"bits\":10},{\"of\":[\"b\",\"i\"],"   \
  "\"bits\":9}]"
#define PLAIN COLUMNS "}"
#define WITH_HISTORY COLUMNS ",\"history\":3}"

enum { CELLS = 13, CELL = 64 };
static const char *const names[CELLS] = {"y", "w", "g", "u", "i", "h", "t", "n", "l", "b", "s", "v", "note"};

/* ---- Logs ----------------------------------------------------------------------------------------------- */

static void make_record(fw_rng *rng, size_t number, char cells[CELLS][CELL]) {
  static const char *const words[] = {"red", "Green", "na\xc3\xafve", "x,y", "say \"it\"", "a\tb", "back\\slash", "7"};
#define PUT(k, ...) snprintf(cells[k], CELL, __VA_ARGS__)
  const unsigned r = (unsigned)fw_rng_below(rng, 1000000);
  memset(cells, 0, CELLS * CELL);
  PUT(0, "%u", r % 5 + 1);
  if (r % 11) PUT(1, "%g", 0.25 * (r % 7));
  PUT(2, "%zu", number / 10);
  PUT(3, "u%llu", (unsigned long long)fw_rng_below(rng, 1 + fw_rng_below(rng, 400)));
  if (r % 50) PUT(4, "item %llu", (unsigned long long)fw_rng_below(rng, 90));
  if (r % 13) PUT(5, "%s", words[r % 8]);
  PUT(6, "%zu", 1700000000 + number * 40);
  if (r % 17) PUT(7, "%.6g", fw_rng_normal(rng) * 1e3);
  if (r % 19) PUT(8, "%.9g", fw_rng_normal(rng) * 1e-3);
  if (r % 23) PUT(9, "%u", r % 29);
  if (r % 3) PUT(10, "%s|%s%s", words[r % 3], words[r % 5], r % 2 ? "|rare" : "");
  if (r % 4) PUT(11, "a:%.3g; b:%u", fw_rng_double(rng), r % 9);
  if (r % 6) PUT(12, "%s and %s, no. %u", words[r % 8], words[r / 8 % 8], r % 700);
#undef PUT
}

static void put_quoted(fw_buffer *out, const char *cell, char delimiter) {
  if (!strchr(cell, delimiter) && !strchr(cell, '"')) {
    fw_buffer_text(out, cell);
    return;
  }
  fw_buffer_byte(out, '"');
  for (; *cell; cell++) fw_buffer_text(out, *cell == '"' ? "\"\"" : (char[]){*cell, 0});
  fw_buffer_byte(out, '"');
}

static void put_delimited(fw_buffer *out, const char (*cells)[CELL], char delimiter) {
  for (size_t k = 0; k < CELLS; k++) {
    if (k) fw_buffer_byte(out, delimiter);
    put_quoted(out, cells ? cells[k] : names[k], delimiter);
  }
  fw_buffer_byte(out, '\n');
}

/* Numbers as numbers, what is empty as null, absent or "". */
static void put_json(fw_buffer *out, const char (*cells)[CELL], size_t number) {
  fw_buffer_byte(out, '{');
  bool first = true;
  for (size_t k = 0; k < CELLS; k++) {
    const bool plain = k != 3 && k != 4 && k != 5 && k < 10;
    if (!cells[k][0] && (number + k) % 3 == 0) continue;
    fw_buffer_format(out, "%s\"%s\":", first ? "" : ", ", names[k]);
    first = false;
    if (!cells[k][0] && (number + k) % 3 == 1)
      fw_buffer_text(out, "null");
    else if (cells[k][0] && plain)
      fw_buffer_text(out, cells[k]);
    else
      fw_buffer_json_string(out, cells[k], strlen(cells[k]), number % 2 == 0);
  }
  fw_buffer_text(out, "}\n");
}

static void write_file(const char *path, fw_buffer *text) {
  assert_int_equal(fw_buffer_status(text, NULL), FURROW_OK);
  assert_true(test_write_file(path, text->bytes, text->size));
  fw_buffer_clear(text);
}

static void write_logs(const char *stem, size_t records, uint64_t seed) {
  char cells[CELLS][CELL], path[64];
  fw_buffer csv = {0}, tsv = {0}, json = {0};
  fw_rng rng;
  fw_rng_init(&rng, seed);
  put_delimited(&csv, NULL, ',');
  put_delimited(&tsv, NULL, '\t');
  for (size_t i = 0; i < records; i++) {
    make_record(&rng, i, cells);
    put_delimited(&csv, cells, ',');
    put_delimited(&tsv, cells, '\t');
    put_json(&json, cells, i);
  }
  snprintf(path, sizeof path, "%s.csv", stem);
  write_file(path, &csv);
  snprintf(path, sizeof path, "%s.tsv", stem);
  write_file(path, &tsv);
  snprintf(path, sizeof path, "%s.json", stem);
  write_file(path, &json);
}

static void write_items(void) {
  fw_buffer text = {0};
  fw_buffer_text(&text, "i,genres,year\n");
  for (unsigned i = 0; i < 80; i++)
    fw_buffer_format(&text, "item %u,%s%s,%u\n", i, i % 4 ? "Drama" : "", i % 3 ? "|Crime" : "", 1950 + i);
  write_file("items.csv", &text);
}

static int make_files(void **state) {
  if (enter_dir(state) != 0) return -1;
  write_items();
  write_logs("small", 2500, 1);
  write_logs("large", 40000, 2);
  return 0;
}

/* ---- Encoders ------------------------------------------------------------------------------------------- */

static furrow_encoder *build(const char *log, const char *schema, uint32_t threads) {
  furrow_encoder *encoder;
  furrow_encoder_params params;
  furrow_error err = {0};
  furrow_encoder_params_init(&params);
  params.threads = threads;
  if (try_build(&encoder, log, schema, &params, &err) != FURROW_OK) fail_msg("%s: %s", log, err.message);
  return encoder;
}

/* A digest of all rows of a log, by an encoder that was saved. */
static uint64_t read_digest(const char *directory, const char *log, uint32_t threads, size_t chunk, size_t *rows) {
  char *uri = NULL;
  furrow_parser *parser = NULL;
  furrow_parser_params params;
  furrow_error err = {0};
  uint64_t digest = 0;
  *rows = 0;
  furrow_parser_params_init(&params);
  params.threads = threads;
  params.chunk_bytes = chunk;
  assert_int_equal(furrow_encoder_uri(log, directory, &uri, NULL), FURROW_OK);
  furrow_status status = furrow_parser_open(&parser, uri, &params, &err);
  while (status == FURROW_OK && (status = furrow_parser_next(parser, &err)) == FURROW_OK) {
    const furrow_rowblock *block = furrow_parser_value(parser);
    for (size_t i = 0; i < block->size; i++, ++*rows) {
      const furrow_row row = furrow_rowblock_row(block, i);
      digest_row(&digest, &row);
    }
  }
  if (status != FURROW_END) fail_msg("%s: %s", log, err.message);
  furrow_parser_close(parser);
  furrow_free(uri);
  return digest;
}

static void save(const furrow_encoder *encoder, const char *directory) {
  assert_int_equal(furrow_encoder_save(encoder, directory, true, NULL), FURROW_OK);
}

static char *dictionary_bytes(const char *directory, size_t *size) {
  char path[128];
  snprintf(path, sizeof path, "%s/dictionary.furrow", directory);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  char *bytes = malloc(*size);
  assert_non_null(bytes);
  rewind(file);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static const uint32_t thread_counts[] = {1, 2, 3, 7};

/* Several pieces, so that threads take them in an order of their own. */
static void same_dictionary(const char *schema) {
  size_t size = 0, again_size = 0;
  furrow_encoder *encoder = build("large.csv", schema, 1);
  save(encoder, "one");
  furrow_encoder_free(encoder);
  char *wanted = dictionary_bytes("one", &size);
  for (size_t k = 1; k < 4; k++) {
    encoder = build("large.csv", schema, thread_counts[k]);
    save(encoder, "other");
    furrow_encoder_free(encoder);
    char *found = dictionary_bytes("other", &again_size);
    assert_int_equal(again_size, size);
    assert_memory_equal(found, wanted, size);
    free(found);
  }
  free(wanted);
}

static void any_threads_same_dictionary(void **state) {
  (void)state;
  struct stat info;
  assert_int_equal(stat("large.csv", &info), 0);
  assert_true(info.st_size > 3 << 20);
  same_dictionary(PLAIN);
  same_dictionary(WITH_HISTORY);
}

static void same_rows(const char *schema) {
  static const size_t chunks[] = {0, 100, 1500, 40000};
  static const char *const logs[] = {"small.csv", "small.tsv", "small.json"};
  size_t rows;
  furrow_encoder *encoder = build("small.csv", schema, 2);
  save(encoder, "kept");
  const uint64_t wanted = read_digest("kept", "small.csv", 1, 0, &rows);
  assert_int_equal(rows, 2500);
  for (size_t l = 0; l < 3; l++)
    for (size_t t = 0; t < 4; t++)
      for (size_t c = 0; c < 4; c++) {
        const uint64_t found = read_digest("kept", logs[l], thread_counts[t], chunks[c], &rows);
        if (found != wanted || rows != 2500)
          fail_msg("%s with %u threads, chunks of %zu: other rows", logs[l], thread_counts[t], chunks[c]);
      }
  furrow_encoder *loaded = NULL;
  assert_int_equal(furrow_encoder_load(&loaded, "kept", NULL), FURROW_OK);
  save(loaded, "again");
  assert_true(read_digest("again", "small.csv", 3, 999, &rows) == wanted);
  size_t size = 0, again_size = 0;
  char *bytes = dictionary_bytes("kept", &size), *again = dictionary_bytes("again", &again_size);
  assert_int_equal(size, again_size);
  assert_memory_equal(bytes, again, size);
  free(bytes);
  free(again);
  furrow_encoder_free(loaded);
  furrow_encoder_free(encoder);
}

static void any_way_same_rows(void **state) {
  (void)state;
  same_rows(PLAIN);
  same_rows(WITH_HISTORY);
}

/* A text format that keeps other places in the data learns the same of texts: rows of an encoder of JSON lines have the
 * same features. */
static void other_format_same_features(void **state) {
  (void)state;
  furrow_encoder *csv = build("small.csv", PLAIN, 1), *json = build("small.json", PLAIN, 3);
  assert_int_equal(furrow_encoder_feature_count(csv), furrow_encoder_feature_count(json));
  for (uint64_t i = 0; i < furrow_encoder_feature_count(csv); i++) {
    furrow_encoder_feature a, b;
    assert_int_equal(furrow_encoder_get_feature(csv, i, &a, NULL), FURROW_OK);
    assert_int_equal(furrow_encoder_get_feature(json, i, &b, NULL), FURROW_OK);
    assert_true(a.field == b.field && a.length == b.length && a.count == b.count);
    assert_memory_equal(a.name, b.name, a.length);
  }
  furrow_encoder_free(csv);
  furrow_encoder_free(json);
}

static void event_by_event(void **state) {
  (void)state;
  char cells[CELLS][CELL];
  fw_rng rng;
  furrow_container *rows = NULL;
  furrow_rowblock block;
  size_t count;
  uint64_t digest = 0;
  furrow_encoder *encoder = build("small.csv", PLAIN, 1);
  save(encoder, "kept");
  fw_rng_init(&rng, 1);
  assert_int_equal(furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, NULL), FURROW_OK);
  for (size_t i = 0; i < 2500; i++) {
    furrow_pair pairs[CELLS];
    furrow_error err = {0};
    make_record(&rng, i, cells);
    for (size_t k = 0; k < CELLS; k++) { /* in another order; what is empty is given as such, as NULL or not at all */
      const size_t from = (k * 5 + i) % CELLS;
      pairs[k] = (furrow_pair){names[from], cells[from][0] || i % 2 ? cells[from] : NULL};
    }
    if (furrow_encoder_push_event(encoder, pairs, CELLS, rows, &err) != FURROW_OK) fail_msg("%zu: %s", i, err.message);
  }
  assert_int_equal(furrow_container_get_block(rows, &block, NULL), FURROW_OK);
  for (size_t i = 0; i < block.size; i++) {
    const furrow_row row = furrow_rowblock_row(&block, i);
    digest_row(&digest, &row);
  }
  assert_true(digest == read_digest("kept", "small.csv", 1, 0, &count));
  furrow_container_free(rows);
  furrow_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_threads_same_dictionary),
      cmocka_unit_test(any_way_same_rows),
      cmocka_unit_test(other_format_same_features),
      cmocka_unit_test(event_by_event),
  };
  return cmocka_run_group_tests(tests, make_files, leave_dir);
}
