/* tests/unit/rows/test_typed_columns.c: tables of Arrow give what csv with the same cells gives. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "columns/frames.h"
#include "rows/table/text_table.h"
#include "support/encoded_rows.h"
#include "support/own_dir.h"

#define TABLE "memory://arrow"
#define CSV "memory://arrow.csv"

/* ---- Tables that tests make: a stream of batches of the same columns ------------------------------------- */

enum { MADE_COLUMNS = 24, MADE_BATCHES = 8 };

/* The schemas and arrays belong to the test; the stream copies the structs, and counts what is released. */
typedef struct made_table {
  struct ArrowSchema columns[MADE_COLUMNS], *column_list[MADE_COLUMNS];
  struct ArrowArray arrays[MADE_BATCHES][MADE_COLUMNS], *array_list[MADE_BATCHES][MADE_COLUMNS];
  int64_t rows[MADE_BATCHES];
  size_t column_count, batch_count, next;
  int fail_at;  /* the call of get_next that fails, from 1; 0: none */
  int released; /* structs and streams that were released */
} made_table;

static void made_release_schema(struct ArrowSchema *schema) {
  ((made_table *)schema->private_data)->released++;
  schema->release = NULL;
}

static void made_release_array(struct ArrowArray *array) {
  ((made_table *)array->private_data)->released++;
  array->release = NULL;
}

static int made_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  made_table *t = stream->private_data;
  for (size_t i = 0; i < t->column_count; i++) t->column_list[i] = &t->columns[i];
  *out = (struct ArrowSchema){.format = "+s",
                              .n_children = (int64_t)t->column_count,
                              .children = t->column_list,
                              .release = made_release_schema,
                              .private_data = t};
  return 0;
}

static int made_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  static const void *none[1] = {NULL};
  made_table *t = stream->private_data;
  *out = (struct ArrowArray){0};
  if (t->fail_at && t->next + 1 == (size_t)t->fail_at) return 5;
  if (t->next == t->batch_count) return 0;
  const size_t b = t->next++;
  for (size_t i = 0; i < t->column_count; i++) t->array_list[b][i] = &t->arrays[b][i];
  *out = (struct ArrowArray){.length = t->rows[b],
                             .n_buffers = 1,
                             .buffers = none,
                             .n_children = (int64_t)t->column_count,
                             .children = t->array_list[b],
                             .release = made_release_array,
                             .private_data = t};
  return 0;
}

static const char *made_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "the disk is gone";
}

static void made_release_stream(struct ArrowArrayStream *stream) {
  ((made_table *)stream->private_data)->released++;
  stream->release = NULL;
}

static struct ArrowArrayStream made_stream(made_table *table) {
  table->next = 0;
  return (struct ArrowArrayStream){made_schema, made_next, made_error, made_release_stream, table};
}

/* Adds a column, without arrays. */
static struct ArrowSchema *made_column(made_table *table, const char *name, const char *format) {
  struct ArrowSchema *column = &table->columns[table->column_count++];
  assert_true(table->column_count <= MADE_COLUMNS);
  *column = (struct ArrowSchema){.format = format, .name = name};
  return column;
}

static void put_table(made_table *table) {
  struct ArrowArrayStream stream = made_stream(table);
  furrow_error err = {0};
  if (furrow_memory_table_add(TABLE, &stream, &err) != FURROW_OK) fail_msg("%s", err.message);
  assert_null(stream.release);
}

static void remove_table(void) {
  assert_int_equal(furrow_memory_table_remove(TABLE, NULL), FURROW_OK);
}

/* ---- A log with columns of every type, and its csv ------------------------------------------------------- */

enum { ROWS = 8000, FIRST = 3001, OFFSET = 5, WIDE = ROWS + OFFSET };

typedef struct made_log {
  made_table table;
  uint8_t valid[MADE_COLUMNS][WIDE / 8 + 1];
  const void *buffers[2][MADE_COLUMNS][4];
  int8_t label[WIDE];
  int64_t user[WIDE];
  double price[WIDE];
  float share[WIDE];
  uint16_t half[WIDE];
  __int128 amount[WIDE];
  int32_t cents[WIDE], day[WIDE], genre[WIDE];
  int64_t time[WIDE], zoned[WIDE];
  uint8_t flag[WIDE / 8 + 1];
  uint32_t count[WIDE];
  int32_t text_ends[WIDE + 1], list_ends[WIDE + 1];
  int64_t large_ends[WIDE + 1];
  char text[WIDE * 16], large[WIDE * 16];
  char views[WIDE * 16], far[WIDE * 16];
  int64_t far_size;
  uint16_t tags[WIDE * 3];
  struct ArrowSchema genres_type, tag_type, *tag_types[1];
  struct ArrowArray genres, tag_array, *tag_list[1];
  const void *genre_buffers[3], *tag_buffers[2];
  int32_t genre_ends[5];
  fw_buffer csv;
} made_log;

static const char *const genres[] = {"Drama", "Comedy, dark", "a \"quoted\" one", ""};
static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  return (uint32_t)(fw_rng_hash(7, random_state++) % below);
}

/* Whether the cell has a value; one in nine has none. */
static bool draw_valid(made_log *log, size_t column, size_t row) {
  const bool valid = draw(9) > 0;
  if (valid) log->valid[column][row / 8] |= (uint8_t)(1 << row % 8);
  return valid;
}

static void put_cell(fw_buffer *csv, const char *text) {
  fw_buffer_byte(csv, ',');
  if (strpbrk(text, ",\"")) {
    fw_buffer_byte(csv, '"');
    for (; *text; text++) fw_buffer_format(csv, *text == '"' ? "\"\"" : "%c", *text);
    fw_buffer_byte(csv, '"');
  } else {
    fw_buffer_text(csv, text);
  }
}

/* The shortest text that reads back, with a point, as programs write it: plain from 1e-5 to 1e16. */
static const char *real_text(double value, bool single) {
  static char text[64];
  const bool plain = value == 0 || (fabs(value) >= 1e-5 && fabs(value) < 1e16);
  for (int digits = plain ? 0 : 1; digits < 30; digits++) {
    snprintf(text, sizeof text, plain ? "%.*f" : "%.*g", digits, value);
    if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value) break;
  }
  if (!strpbrk(text, ".en")) strcat(text, ".0");
  return text;
}

static double half_of(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const double fraction = half & 1023;
  const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
  return half >> 15 ? -size : size;
}

static const char *time_text(int64_t seconds, int64_t micros, bool zoned) {
  static char text[64];
  struct tm parts;
  const time_t time = seconds;
  assert_non_null(gmtime_r(&time, &parts));
  size_t n = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  if (micros) n += (size_t)snprintf(text + n, sizeof text - n, ".%06d", (int)micros);
  while (micros && text[n - 1] == '0') text[--n] = 0;
  if (zoned) strcpy(text + n, "+00");
  return text;
}

/* The columns are in the order of make_log. */
static void make_row(made_log *log, size_t row) {
  const size_t at = row + OFFSET;
  fw_buffer *csv = &log->csv;
  char text[64];
  size_t column = 0;
  log->label[at] = (int8_t)(draw(3) == 0);
  log->valid[0][at / 8] |= (uint8_t)(1 << at % 8);
  fw_buffer_format(csv, "%d", log->label[at]);
#define CELL(expression)                                    \
  do {                                                      \
    column++;                                               \
    const char *cell = (expression);                        \
    put_cell(csv, draw_valid(log, column, at) ? cell : ""); \
  } while (0)
  log->user[at] = (int64_t)draw(400) * 10007 - 100;
  snprintf(text, sizeof text, "%lld", (long long)log->user[at]);
  CELL(text);
  log->price[at] = draw(4) ? (double)draw(100000) / 100 : ldexp((double)draw(1000), -40);
  CELL(real_text(log->price[at], false));
  log->share[at] = (float)draw(1000) / 7;
  CELL(real_text(log->share[at], true));
  log->half[at] = (uint16_t)(draw(2) << 15 | draw(31) << 10 | draw(1024));
  CELL(real_text(half_of(log->half[at]), true));
  log->amount[at] = (__int128)draw(1000000) * 1000000000 - 5;
  const long long amount = (long long)log->amount[at], size = amount < 0 ? -amount : amount;
  snprintf(text, sizeof text, "%s%lld.%010lld", amount < 0 ? "-" : "", size / 10000000000, size % 10000000000);
  CELL(text);
  log->cents[at] = (int32_t)draw(20000) - 10000;
  const int cents = log->cents[at] < 0 ? -log->cents[at] : log->cents[at];
  snprintf(text, sizeof text, "%s%d.%02d", log->cents[at] < 0 ? "-" : "", cents / 100, cents % 100);
  CELL(text);
  log->day[at] = (int32_t)draw(40000) - 20000;
  snprintf(text, sizeof text, "%.10s", time_text((int64_t)log->day[at] * 86400, 0, false));
  CELL(text);
  const int64_t seconds = (int64_t)draw(1000000000) + (draw(3) ? 1000000000 : -1000000000);
  const int64_t micros = draw(3) ? 0 : draw(1000) * 1000;
  log->time[at] = seconds * 1000000 + micros;
  CELL(time_text(seconds, micros, false));
  log->zoned[at] = 1600000000 + (int64_t)row * 61;
  CELL(time_text(log->zoned[at], 0, true));
  if (draw(2)) log->flag[at / 8] |= (uint8_t)(1 << at % 8);
  CELL(log->flag[at / 8] >> at % 8 & 1 ? "true" : "false");
  log->count[at] = draw(2) ? draw(50) : 3000000000u + draw(50);
  snprintf(text, sizeof text, "%u", log->count[at]);
  CELL(text);
  log->genre[at] = (int32_t)draw(4);
  CELL(genres[log->genre[at]]);
  snprintf(text, sizeof text, "item%u", draw(700));
  if (draw(20) == 0) text[0] = 0;
  CELL(text);
  memcpy(log->text + log->text_ends[at], text, strlen(text));
  log->text_ends[at + 1] = log->text_ends[at] + (int32_t)strlen(text);
  snprintf(text, sizeof text, "\xc3\xa9 %u, \"%u\"", draw(30), draw(3));
  CELL(text);
  memcpy(log->large + log->large_ends[at], text, strlen(text));
  log->large_ends[at + 1] = log->large_ends[at] + (int64_t)strlen(text);
  snprintf(text, sizeof text, draw(2) ? "v%u" : "a long value %u", draw(90));
  CELL(text);
  const int32_t length = (int32_t)strlen(text), place[2] = {0, (int32_t)log->far_size};
  char *view = log->views + 16 * at;
  memcpy(view, &length, 4);
  memcpy(view + 4, text, length > 12 ? 4 : (size_t)length);
  if (length > 12) {
    memcpy(view + 8, place, 8);
    memcpy(log->far + log->far_size, text, (size_t)length);
    log->far_size += length;
  }
  text[0] = 0;
  log->list_ends[at + 1] = log->list_ends[at];
  for (uint32_t i = draw(4); i > 0; i--) {
    const uint16_t tag = (uint16_t)draw(40);
    log->tags[log->list_ends[at + 1]++] = tag;
    snprintf(text + strlen(text), sizeof text - strlen(text), "%st%u", text[0] ? "|" : "", tag);
  }
  for (char *t = text; (t = strchr(t, 't')) != NULL;) memmove(t, t + 1, strlen(t));
  CELL(text);
#undef CELL
  fw_buffer_byte(csv, '\n');
}

static void set_array(made_log *log, size_t column, const void *values, const void *bytes, int64_t buffers) {
  for (size_t b = 0; b < 2; b++) {
    const void **list = log->buffers[b][column];
    list[0] = log->valid[column];
    list[1] = values;
    list[2] = bytes;
    list[3] = &log->far_size;
    log->table.arrays[b][column] = (struct ArrowArray){.length = b ? ROWS - FIRST : FIRST,
                                                       .null_count = -1,
                                                       .offset = b ? FIRST + OFFSET : OFFSET,
                                                       .n_buffers = buffers,
                                                       .buffers = list};
  }
}

/* Two batches, whose arrays have offsets. */
static made_log *make_log(void) {
  made_log *log = calloc(1, sizeof *log);
  assert_non_null(log);
  random_state = 0;
  fw_buffer_text(&log->csv, "clicked,userId,price,share,half,amount,cents,day,time,seen,flag,count,genre,movieId,"
                            "title,view,tags\n");
  for (size_t row = 0; row < ROWS; row++) make_row(log, row);
  made_table *t = &log->table;
  t->batch_count = 2;
  t->rows[0] = FIRST;
  t->rows[1] = ROWS - FIRST;
  const struct {
    const char *name, *format;
    const void *values, *bytes;
    int64_t buffers;
  } columns[] = {{"clicked", "c", log->label, NULL, 2},
                 {"userId", "l", log->user, NULL, 2},
                 {"price", "g", log->price, NULL, 2},
                 {"share", "f", log->share, NULL, 2},
                 {"half", "e", log->half, NULL, 2},
                 {"amount", "d:30,10", log->amount, NULL, 2},
                 {"cents", "d:9,2,32", log->cents, NULL, 2},
                 {"day", "tdD", log->day, NULL, 2},
                 {"time", "tsu:", log->time, NULL, 2},
                 {"seen", "tss:Europe/Berlin", log->zoned, NULL, 2},
                 {"flag", "b", log->flag, NULL, 2},
                 {"count", "I", log->count, NULL, 2},
                 {"genre", "i", log->genre, NULL, 2},
                 {"movieId", "u", log->text_ends, log->text, 3},
                 {"title", "U", log->large_ends, log->large, 3},
                 {"view", "vu", log->views, log->far, 4},
                 {"tags", "+l", log->list_ends, NULL, 2}};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    made_column(t, columns[i].name, columns[i].format);
    set_array(log, i, columns[i].values, columns[i].bytes, columns[i].buffers);
  }
  log->genres_type = (struct ArrowSchema){.format = "u"};
  t->columns[12].dictionary = &log->genres_type;
  for (size_t i = 0; i < 4; i++) log->genre_ends[i + 1] = log->genre_ends[i] + (int32_t)strlen(genres[i]);
  log->genre_buffers[1] = log->genre_ends;
  log->genre_buffers[2] = "DramaComedy, darka \"quoted\" one";
  log->genres = (struct ArrowArray){.length = 4, .n_buffers = 3, .buffers = log->genre_buffers};
  log->tag_type = (struct ArrowSchema){.format = "S"};
  log->tag_types[0] = &log->tag_type;
  t->columns[16].n_children = 1;
  t->columns[16].children = log->tag_types;
  log->tag_buffers[1] = log->tags;
  log->tag_array = (struct ArrowArray){.length = WIDE * 3, .n_buffers = 2, .buffers = log->tag_buffers};
  log->tag_list[0] = &log->tag_array;
  for (size_t b = 0; b < 2; b++) {
    t->arrays[b][12].dictionary = &log->genres;
    t->arrays[b][16].n_children = 1;
    t->arrays[b][16].children = log->tag_list;
  }
  fw_buffer_byte(&log->csv, 0);
  assert_int_equal(fw_buffer_status(&log->csv, NULL), FURROW_OK);
  put_text(CSV, log->csv.bytes);
  put_table(t);
  return log;
}

static void free_log(made_log *log) {
  remove_table();
  assert_int_equal(log->table.released, 4); /* the stream, the schema, two batches */
  assert_int_equal(furrow_memory_file_remove(CSV, NULL), FURROW_OK);
  fw_buffer_clear(&log->csv);
  free(log);
}

/* ---- The same as csv ------------------------------------------------------------------------------------- */

static furrow_schema *propose(const char *uri, uint32_t threads) {
  furrow_schema *schema = NULL;
  furrow_error err = {0};
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.threads = threads;
  if (furrow_schema_propose(&schema, uri, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  return schema;
}

static void learn(const char *uri, const furrow_schema *schema, uint32_t threads, const char *folder, fw_buffer *rows) {
  furrow_encoder *encoder = NULL;
  furrow_encoder_params params;
  furrow_error err = {0};
  furrow_encoder_params_init(&params);
  params.threads = threads;
  if (furrow_encoder_build(&encoder, uri, schema, &params, &err) != FURROW_OK)
    fail_msg("%s %s", err.message, err.token);
  assert_int_equal(furrow_encoder_save(encoder, folder, true, NULL), FURROW_OK);
  save_encoder(encoder);
  if (read_encoded(encoder, uri, "", threads, 0, rows, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_encoder_free(encoder);
}

static void expect_same_file(const char *a, const char *b) {
  static char bytes[2][1 << 20];
  size_t sizes[2];
  const char *paths[] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    FILE *file = fopen(paths[i], "rb");
    assert_non_null(file);
    sizes[i] = fread(bytes[i], 1, sizeof bytes[i], file);
    fclose(file);
  }
  assert_true(sizes[0] > 1000 && sizes[0] < sizeof bytes[0]);
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(bytes[0], bytes[1], sizes[0]);
}

/* Schema, dictionary and rows are the same, except that csv needs the separator of a set in the schema. */
static void same_as_csv(void **state) {
  (void)state;
  made_log *log = make_log();
  furrow_schema *of_csv = propose(CSV, 2);
  fw_buffer wanted = {0};
  learn(CSV, of_csv, 2, "csv", &wanted);
  assert_true(wanted.size > 100000);
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    furrow_schema *of_table = propose(TABLE, threads);
    assert_int_equal(furrow_schema_column_count(of_table), furrow_schema_column_count(of_csv));
    for (size_t i = 0; i < furrow_schema_column_count(of_csv); i++) {
      furrow_schema_column a, b;
      furrow_schema_get_column(of_csv, i, &a);
      furrow_schema_get_column(of_table, i, &b);
      assert_string_equal(a.name, b.name);
      assert_string_equal(a.as, b.as);
      assert_string_equal(a.role, b.role);
    }
    fw_buffer rows = {0};
    learn(TABLE, of_csv, threads, "table", &rows);
    expect_same_file("csv/dictionary.furrow", "table/dictionary.furrow");
    assert_int_equal(rows.size, wanted.size);
    assert_memory_equal(rows.bytes, wanted.bytes, wanted.size);
    fw_buffer_clear(&rows);
    furrow_schema_free(of_table);
  }
  furrow_schema_free(of_csv);
  fw_buffer_clear(&wanted);
  free_log(log);
}

static void splits_as_csv(void **state) {
  (void)state;
  made_log *log = make_log();
  const char *const of_csv[] = {"a.csv", "b.csv"}, *const of_table[] = {"c.csv", "d.csv"};
  furrow_table_split_params params;
  uint64_t rows[2], more[2];
  furrow_error err = {0};
  furrow_table_split_params_init(&params);
  params.time = "seen"; /* has cells that are missing */
  params.last = 0.25;
  assert_int_equal(furrow_table_split(TABLE, of_table, 2, &params, more, &err), FURROW_E_PARSE);
  assert_true(err.line > 1 && err.line < 50); /* the number of the row */
  assert_string_equal(err.file, TABLE);
  params.time = NULL;
  params.last = 0;
  params.shares = (const double[]){0.5, 0.5};
  assert_int_equal(furrow_table_split(CSV, of_csv, 2, &params, rows, &err), FURROW_OK);
  assert_int_equal(furrow_table_split(TABLE, of_table, 2, &params, more, &err), FURROW_OK);
  assert_int_equal(rows[0], more[0]);
  assert_int_equal(rows[1], more[1]);
  for (size_t i = 0; i < 2; i++) expect_same_file(of_csv[i], of_table[i]);
  free_log(log);
}

/* ---- Structs, parts, errors ------------------------------------------------------------------------------ */

/* One batch of a few rows. */
typedef struct small_log {
  made_table table;
  const void *buffers[3][3];
  struct ArrowSchema inner, *inners[1];
  struct ArrowArray inner_array, *inner_arrays[1];
  const void *inner_buffers[2];
} small_log;

static const int64_t numbers[] = {1, 0, 1, 0, 1};
static const double reals[] = {0.5, 1, NAN, -2, 1e20};
static const uint8_t some[] = {0x17}; /* the fourth one is null */

static void make_small(small_log *log) {
  *log = (small_log){0};
  made_table *t = &log->table;
  t->batch_count = 1;
  t->rows[0] = 5;
  made_column(t, "label", "l");
  log->buffers[0][1] = numbers;
  t->arrays[0][0] = (struct ArrowArray){.length = 5, .n_buffers = 2, .buffers = log->buffers[0]};
  struct ArrowSchema *outer = made_column(t, "outer", "+s");
  log->inner = (struct ArrowSchema){.format = "g", .name = "inner"};
  log->inners[0] = &log->inner;
  outer->n_children = 1;
  outer->children = log->inners;
  log->buffers[1][0] = some;
  log->inner_buffers[1] = reals;
  log->inner_array = (struct ArrowArray){.length = 5, .n_buffers = 2, .buffers = log->inner_buffers};
  log->inner_arrays[0] = &log->inner_array;
  t->arrays[0][1] = (struct ArrowArray){.length = 5,
                                        .null_count = 1,
                                        .n_buffers = 1,
                                        .buffers = log->buffers[1],
                                        .n_children = 1,
                                        .children = log->inner_arrays};
}

#define SMALL_SCHEMA "{\"columns\": {\"label\": {\"as\": \"label\"}, \"outer.inner\": {\"as\": \"category\"}}}"

static void structs(void **state) {
  (void)state;
  small_log log;
  make_small(&log);
  put_table(&log.table);
  furrow_encoder *encoder = build_encoder(TABLE, SMALL_SCHEMA);
  expect_rows(
      encoder, TABLE, "",
      "1 outer.inner=0.5\n0 outer.inner=1.0\n1 outer.inner=nan\n0 outer.inner=(missing)\n1 outer.inner=1e+20\n");
  furrow_encoder_free(encoder);
  remove_table();
}

/* One part has all rows, the others none. */
static void parts(void **state) {
  (void)state;
  small_log log;
  make_small(&log);
  put_table(&log.table);
  furrow_encoder *encoder = build_encoder(TABLE, SMALL_SCHEMA);
  save_encoder(encoder);
  size_t rows = 0;
  for (uint32_t part = 0; part < 3; part++) {
    furrow_parser *parser = NULL;
    furrow_parser_params params;
    furrow_parser_params_init(&params);
    params.part = part;
    params.nparts = 3;
    params.format = "table";
    assert_int_equal(furrow_parser_open(&parser, TABLE "?encoder=" ENCODER_PLACE, &params, NULL), FURROW_OK);
    while (furrow_parser_next(parser, NULL) == FURROW_OK) rows += furrow_parser_value(parser)->size;
    furrow_parser_close(parser);
  }
  assert_int_equal(rows, 5);
  furrow_encoder_free(encoder);
  remove_table();
}

static void expect_failure(const char *schema, furrow_status status, const char *message) {
  furrow_encoder *encoder = NULL;
  furrow_error err = {0};
  assert_int_equal(try_build(&encoder, TABLE, schema, NULL, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
  assert_string_equal(err.file, TABLE);
}

static void wrong_tables(void **state) {
  (void)state;
  small_log log;
  furrow_error err = {0};
  make_small(&log);
  log.inner.format = "tDs"; /* a duration */
  put_table(&log.table);
  expect_failure(SMALL_SCHEMA, FURROW_E_UNSUPPORTED, "outer.inner has a type that is not a cell");
  remove_table();

  make_small(&log); /* a column that is not wanted may have any type */
  made_column(&log.table, "other", "tDs");
  log.table.arrays[0][2] = log.table.arrays[0][0];
  put_table(&log.table);
  furrow_encoder_free(build_encoder(TABLE, SMALL_SCHEMA));
  remove_table();

  make_small(&log);
  log.inner_array.length = 4; /* fewer rows than the batch */
  put_table(&log.table);
  expect_failure(SMALL_SCHEMA, FURROW_E_FORMAT, "does not fit the types");
  remove_table();

  make_small(&log);
  log.table.columns[1].name = "label";
  log.inner.name = "x";
  log.table.columns[1].format = "g";
  log.table.columns[1].n_children = 0;
  struct ArrowArrayStream stream = made_stream(&log.table);
  assert_int_equal(furrow_memory_table_add(TABLE, &stream, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "two columns of one name"));
  assert_int_equal(log.table.released, 3); /* the stream, the schema, the batch */

  make_small(&log);
  log.table.fail_at = 2;
  stream = made_stream(&log.table);
  assert_int_equal(furrow_memory_table_add(TABLE, &stream, &err), FURROW_E_IO);
  assert_non_null(strstr(err.message, "the disk is gone"));
  assert_int_equal(log.table.released, 3);
  assert_int_equal(furrow_memory_table_add(TABLE, &stream, &err), FURROW_E_ARGUMENT);

  make_small(&log); /* rows of features are not typed columns */
  put_table(&log.table);
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open(&parser, TABLE, NULL, &err), FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "read through a schema"));
  stream = made_stream(&log.table);
  assert_int_equal(furrow_memory_table_add(TABLE, &stream, &err), FURROW_E_EXISTS);
  assert_null(stream.release);
  remove_table();
  assert_int_equal(furrow_memory_table_remove(TABLE, &err), FURROW_E_NOT_FOUND);
}

/* ---- Texts of values ------------------------------------------------------------------------------------- */

static void expect_text(fw_typed_type type, const void *value, const char *wanted) {
  char text[FW_TYPED_TEXT_BYTES + 1];
  text[fw_typed_text(type, value, text)] = 0;
  assert_string_equal(text, wanted);
}

static void texts(void **state) {
  (void)state;
  const fw_typed_type nanos = {FW_TYPED_TIMESTAMP, 9, 0}, date = {FW_TYPED_DATE, 0, 0}, time = {FW_TYPED_TIME, 6, 0};
  const fw_typed_type real = {FW_TYPED_F64, 0, 0}, hundreds = {FW_TYPED_DECIMAL, -2, 0},
                      whole = {FW_TYPED_DECIMAL, 0, 0};
  expect_text(nanos, &(int64_t){-1}, "1969-12-31 23:59:59.999999999");
  expect_text(nanos, &(int64_t){1500000000}, "1970-01-01 00:00:01.5");
  expect_text(date, &(int64_t){11016}, "2000-02-29");
  expect_text(date, &(int64_t){-719529}, "-0001-12-31");
  expect_text(time, &(int64_t){3723000001}, "01:02:03.000001");
  expect_text(real, &(double){-3}, "-3.0");
  expect_text(real, &(double){-0.0}, "-0.0");
  expect_text(real, &(double){NAN}, "nan");
  expect_text(real, &(double){1e300}, "1e+300");
  expect_text(hundreds, &(__int128){-7}, "-700");
  expect_text(hundreds, &(__int128){0}, "0");
  expect_text(whole, &(__int128){12}, "12");
  __int128 most = 1;
  for (int i = 0; i < 38; i++) most *= 10;
  most--;
  expect_text((fw_typed_type){FW_TYPED_DECIMAL, 38, 0}, &most, "0.99999999999999999999999999999999999999");
}

/* ---- Single times ----------------------------------------------------------------------------------------- */

/* Against the C library's calendar, and read again. */
static void times_are_written(void **state) {
  (void)state;
  uint64_t random = 7;
  char text[FURROW_TIME_TEXT], expected[64];
  for (int i = 0; i < 20000; i++) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const time_t whole = (time_t)((int64_t)(random >> 11) % 315569433600 - 62167219200); /* the years 0 to 9999 */
    const int micros = i % 3 ? (int)(random % 1000000) : 0;
    struct tm parts;
    double again;
    gmtime_r(&whole, &parts);
    size_t size = (size_t)snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02d", parts.tm_year + 1900,
                                   parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    assert_int_equal(furrow_time_write(text, (double)whole), size + 1);
    assert_memory_equal(text, expected, size);
    const double seconds = (double)whole + micros * 1e-6;
    size = furrow_time_write(text, seconds);
    assert_int_equal(size, strlen(text));
    assert_true(furrow_time_read(text, strlen(text), &again));
    assert_true(fabs(again - seconds) <= 2e-5); /* a double has no more digits in the year 9999 */
  }
}

static void odd_times(void **state) {
  (void)state;
  static const struct {
    double seconds;
    const char *text;
  } times[] = {{0, "1970-01-01T00:00:00Z"},
               {-0.5, "1969-12-31T23:59:59.5Z"},
               {0.9999999, "1970-01-01T00:00:01Z"},
               {951782400.25, "2000-02-29T00:00:00.25Z"},
               {-62167219200, "0000-01-01T00:00:00Z"},
               {253402300800, "253402300800"},
               {-1e14, "-100000000000000"},
               {(double)NAN, ""},
               {(double)INFINITY, ""}};
  char text[FURROW_TIME_TEXT];
  double again;
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    assert_int_equal(furrow_time_write(text, times[i].seconds), strlen(times[i].text));
    assert_string_equal(text, times[i].text);
  }
  assert_true(furrow_time_read("253402300800", 12, &again) && again == 253402300800);
  assert_true(furrow_time_read("2024-05-31", 10, &again) && again == 1717113600);
  assert_false(furrow_time_read("soon", 4, &again));
  assert_false(furrow_time_read("", 0, &again));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(splits_as_csv, enter_dir, leave_dir),
                                     cmocka_unit_test_setup_teardown(same_as_csv, enter_dir, leave_dir),
                                     cmocka_unit_test(structs),
                                     cmocka_unit_test(parts),
                                     cmocka_unit_test(wrong_tables),
                                     cmocka_unit_test(texts),
                                     cmocka_unit_test(times_are_written),
                                     cmocka_unit_test(odd_times)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
