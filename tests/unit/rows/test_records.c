/* tests/unit/rows/test_records.c: record formats and custom readers: every record once, in any number of parts and
 * threads. */
#include <unistd.h>

#include "furrow/rows.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"
#include "support/packed_file.h"
#include "support/row_digest.h"

/* ---- Three formats of the same rows: label, index, value ----------------------------------------------------- */

enum { RECORD = 12, ROWS = 3000 };

static furrow_status push(furrow_container *rows, float label, uint32_t index, float value, furrow_error *err) {
  const furrow_row row = {
      .label.f32 = &label, .length = 1, .index.u32 = &index, .value.f32 = &value, .value_type = FURROW_VALUE_F32};
  return furrow_container_push_row(rows, &row, err);
}

static furrow_status push_record(furrow_container *rows, const char *bytes, furrow_error *err) {
  float label, value;
  uint32_t index;
  memcpy(&label, bytes, 4);
  memcpy(&index, bytes + 4, 4);
  memcpy(&value, bytes + 8, 4);
  return push(rows, label, index, value, err);
}

/* Fixed: records of 12 bytes behind a head of 8. An index of 666 is a bad record. */
static size_t fixed_size(const void *state) {
  (void)state;
  return RECORD;
}

static furrow_status fixed_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                 furrow_error *err) {
  (void)state;
  assert_int_equal(chunk->length % RECORD, 0);
  assert_int_equal((chunk->offset - 8) % RECORD, 0);
  furrow_status status = FURROW_OK;
  for (size_t at = 0; at < chunk->length && status == FURROW_OK; at += RECORD) {
    uint32_t index;
    memcpy(&index, chunk->bytes + at + 4, 4);
    if (index == 666)
      status = furrow_rows_chunk_refuse(chunk, at, "the number of the beast", err);
    else
      status = push_record(rows, chunk->bytes + at, err);
  }
  return status;
}

/* Prefixed: a byte with the length of what follows: a record and 0 … 40 bytes of padding. */
static size_t prefixed_length(const void *state, const char *bytes, size_t length) {
  (void)state;
  return length == 0 ? 0 : 1 + (size_t)(unsigned char)bytes[0];
}

static furrow_status prefixed_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                    furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; at < chunk->length && status == FURROW_OK;) {
    const size_t n = prefixed_length(state, chunk->bytes + at, chunk->length - at);
    if (n > chunk->length - at) {
      assert_true(chunk->last);
      return furrow_rows_chunk_refuse(chunk, at, "cut short", err);
    }
    status = push_record(rows, chunk->bytes + at + 1, err);
    at += n;
  }
  return status;
}

/* Marked: "\xffREC", a record, any bytes that are not 0xff. */
static size_t find_mark(const void *state, const char *bytes, size_t length, size_t from) {
  (void)state;
  for (size_t i = from; i + 4 <= length; i++)
    if (memcmp(bytes + i, "\xffREC", 4) == 0) return i;
  return length;
}

static furrow_status marked_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                  furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; at < chunk->length && status == FURROW_OK;) {
    assert_memory_equal(chunk->bytes + at, "\xffREC", 4);
    status = push_record(rows, chunk->bytes + at + 4, err);
    at = find_mark(state, chunk->bytes, chunk->length, at + 1);
  }
  return status;
}

/* Triples: chunks of whole lines, each of them a row. */
static furrow_status lines_chunk(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                 furrow_error *err) {
  (void)state;
  furrow_status status = FURROW_OK;
  const char *p = chunk->bytes, *end = p + chunk->length;
  while (p < end && status == FURROW_OK) {
    float label, value;
    uint32_t index;
    assert_int_equal(sscanf(p, "%f %u %f", &label, &index, &value), 3);
    status = push(rows, label, index, value, err);
    p = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
  }
  return status;
}

static const furrow_rows_format fixed = {
    .size = sizeof fixed, .name = "fixed", .parse_chunk = fixed_chunk, .record_size = fixed_size, .head_bytes = 8};
static const furrow_rows_format prefixed = {
    .size = sizeof prefixed, .name = "prefixed", .parse_chunk = prefixed_chunk, .record_length = prefixed_length};
static const furrow_rows_format marked = {
    .size = sizeof marked, .name = "marked", .parse_chunk = marked_chunk, .find_record = find_mark, .head_bytes = 3};
static const furrow_rows_format lines = {.size = sizeof lines, .name = "triples", .parse_chunk = lines_chunk};

static int register_formats(void **state) {
  (void)state;
  const furrow_rows_format *const all[] = {&fixed, &prefixed, &marked, &lines};
  for (size_t i = 0; i < 4; i++)
    if (furrow_rows_format_register(all[i], NULL) != FURROW_OK) return -1;
  return 0;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

typedef struct file {
  char bytes[ROWS * 64];
  size_t size;
} file;

static void append(file *f, const void *bytes, size_t n) {
  assert_true(f->size + n <= sizeof f->bytes);
  memcpy(f->bytes + f->size, bytes, n);
  f->size += n;
}

static void append_record(file *f, uint32_t i) {
  const float label = (float)(i % 2), value = (float)i / 4;
  const uint32_t index = i * 7;
  append(f, &label, 4);
  append(f, &index, 4);
  append(f, &value, 4);
}

static void make_file(file *f, const char *format, uint32_t rows) {
  static const char padding[64];
  char text[64];
  f->size = 0;
  if (strcmp(format, "fixed") == 0) append(f, "\0\1\2\3head", 8);
  if (strcmp(format, "marked") == 0) append(f, "abc", 3);
  for (uint32_t i = 0; i < rows; i++) {
    const size_t more = i * i % 41;
    if (strcmp(format, "triples") == 0) {
      append(f, text, (size_t)snprintf(text, sizeof text, "%u %u %.9g\n", i % 2, i * 7, (float)i / 4));
    } else {
      if (strcmp(format, "prefixed") == 0) append(f, &(unsigned char){(unsigned char)(RECORD + more)}, 1);
      if (strcmp(format, "marked") == 0) append(f, "\xffREC", 4);
      append_record(f, i);
      if (strcmp(format, "fixed") != 0) append(f, padding, more);
    }
  }
}

typedef struct outcome {
  furrow_status status;
  furrow_error error;
  uint64_t rows, digest;
  furrow_parser_stats stats;
} outcome;

static outcome read_all(const char *uri, const char *format, uint32_t nparts, uint32_t threads, size_t chunk,
                        furrow_on_bad on_bad) {
  outcome o = {.digest = 1};
  for (uint32_t part = 0; part < nparts; part++) {
    furrow_parser_params params;
    furrow_parser_params_init(&params);
    params.format = format;
    params.part = part;
    params.nparts = nparts;
    params.threads = threads;
    params.chunk_bytes = chunk;
    params.on_bad = on_bad;
    furrow_parser *parser = NULL;
    o.status = furrow_parser_open(&parser, uri, &params, &o.error);
    if (o.status != FURROW_OK) return o;
    while ((o.status = furrow_parser_next(parser, &o.error)) == FURROW_OK) {
      o.rows += furrow_parser_value(parser)->size;
      digest_block(&o.digest, furrow_parser_value(parser));
    }
    furrow_parser_stats_init(&o.stats);
    furrow_parser_get_stats(parser, &o.stats);
    furrow_parser_close(parser);
    if (o.status != FURROW_END) return o;
  }
  return o;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* The digest of the rows, from text that the library reads itself. */
static uint64_t wanted_digest(uint32_t rows) {
  FILE *out = fopen("wanted", "w");
  assert_non_null(out);
  for (uint32_t i = 0; i < rows; i++) fprintf(out, "%u %u:%.9g\n", i % 2, i * 7, (float)i / 4);
  fclose(out);
  const outcome o = read_all("wanted", "libsvm", 1, 1, 0, FURROW_ON_BAD_ERROR);
  assert_true(o.status == FURROW_END && o.rows == rows);
  return o.digest;
}

static void every_record_is_read_once(void **state) {
  (void)state;
  static file f;
  static const char *const names[] = {"fixed", "prefixed", "marked", "triples"};
  static const uint32_t sizes[] = {0, 1, 2, 50, ROWS};
  static const size_t chunks[] = {1, 13, 100, 5000, 0};
  for (size_t i = 0; i < 4; i++)
    for (size_t s = 0; s < 5; s++) {
      const uint64_t wanted = wanted_digest(sizes[s]);
      make_file(&f, names[i], sizes[s]);
      assert_true(packed_write("plain", FW_FILE_PLAIN, f.bytes, f.size, NULL));
      assert_true(packed_write("gz", FW_FILE_GZIP, f.bytes, f.size, NULL));
      for (size_t c = s == 4 ? 2 : 0; c < 5; c++)
        for (uint32_t nparts = 1; nparts <= 7; nparts += 3)
          for (uint32_t threads = 1; threads <= 3; threads += 2)
            for (int packed = 0; packed < 2; packed++) {
              const outcome o =
                  read_all(packed ? "gz" : "plain", names[i], nparts, threads, chunks[c], FURROW_ON_BAD_ERROR);
              if (o.status != FURROW_END)
                fail_msg("%s, %u rows, %u parts: %s", names[i], sizes[s], nparts, o.error.message);
              assert_int_equal(o.rows, sizes[s]);
              assert_true(o.digest == wanted);
            }
    }
}

static void bad_records_have_a_place(void **state) {
  (void)state;
  static file f;
  make_file(&f, "fixed", 20);
  const uint32_t beast = 666;
  memcpy(f.bytes + 8 + 5 * RECORD + 4, &beast, 4);
  memcpy(f.bytes + 8 + 9 * RECORD + 4, &beast, 4);
  assert_true(packed_write("bad", FW_FILE_PLAIN, f.bytes, f.size, NULL));
  for (size_t chunk = 10; chunk < 300; chunk += 70) {
    outcome o = read_all("bad", "fixed", 1, 2, chunk, FURROW_ON_BAD_ERROR);
    assert_int_equal(o.status, FURROW_E_PARSE);
    assert_int_equal(o.rows, 5);
    assert_int_equal(o.error.offset, 8 + 5 * RECORD);
    assert_string_equal(o.error.file, "bad");
    assert_string_equal(o.error.message, "the number of the beast");
    o = read_all("bad", "fixed", 1, 2, chunk, FURROW_ON_BAD_SKIP);
    assert_int_equal(o.status, FURROW_END);
    assert_int_equal(o.rows, 18);
    assert_int_equal(o.stats.bad_rows, 2);
    assert_int_equal(o.stats.first_bad.offset, 8 + 5 * RECORD);
  }
  assert_true(packed_write("cut", FW_FILE_PLAIN, f.bytes, 8 + 4 * RECORD + 5, NULL));
  outcome o = read_all("cut", "fixed", 1, 1, 0, FURROW_ON_BAD_ERROR);
  assert_int_equal(o.status, FURROW_E_FORMAT);
  assert_int_equal(o.rows, 4);
  assert_int_equal(o.error.offset, 8 + 4 * RECORD);
  make_file(&f, "prefixed", 9);
  assert_true(packed_write("cut", FW_FILE_PLAIN, f.bytes, f.size - 1, NULL));
  o = read_all("cut", "prefixed", 1, 1, 20, FURROW_ON_BAD_ERROR);
  assert_int_equal(o.status, FURROW_E_PARSE);
  assert_int_equal(o.rows, 8);
  assert_string_equal(o.error.message, "cut short");
}

/* ---- A custom reader: rows begin … end-1 of a counter, in blocks of two types ------------------------------ */

typedef struct counter {
  uint64_t begin, end, next;
  uint64_t offset[4];
  uint64_t wide[3];
  uint32_t narrow[3];
  float label[3];
  furrow_rowblock block;
} counter;

static int readers;

static furrow_status open_counter(const void *state, const furrow_rows_request *request, void **reader,
                                  furrow_error *err) {
  const uint64_t total = (uint64_t)furrow_args_int(request->args, "rows");
  assert_ptr_equal(state, &readers);
  assert_int_equal(request->npaths, 1);
  if (strcmp(request->paths[0], "nowhere") != 0) {
    snprintf(err->message, sizeof err->message, "rows come from nowhere");
    return FURROW_E_NOT_FOUND;
  }
  counter *c = calloc(1, sizeof *c);
  assert_non_null(c);
  c->begin = c->next = total * request->part / request->nparts;
  c->end = total * (request->part + 1) / request->nparts;
  *reader = c;
  readers++;
  return FURROW_OK;
}

static furrow_status next_count(void *reader, const furrow_rowblock **block, furrow_error *err) {
  counter *c = reader;
  if (c->next == 1000) {
    snprintf(err->message, sizeof err->message, "a thousand is enough");
    return FURROW_E_UNSUPPORTED;
  }
  if (c->next >= c->end) return FURROW_END;
  const bool wide = c->next % 2;
  size_t n = 0;
  for (; n < 3 && c->next < c->end && c->next != 1000; n++, c->next++) {
    c->offset[n + 1] = n + 1;
    c->wide[n] = c->narrow[n] = (uint32_t)c->next;
    c->label[n] = (float)(c->next % 2);
  }
  c->block = (furrow_rowblock){.size = n, .offset = c->offset, .label.f32 = c->label};
  c->block.key_type = wide ? FURROW_KEY_U64 : FURROW_KEY_U32;
  c->block.index.any = wide ? (const void *)c->wide : (const void *)c->narrow;
  *block = &c->block;
  return FURROW_OK;
}

static furrow_status rewind_counter(void *reader, furrow_error *err) {
  (void)err;
  ((counter *)reader)->next = ((counter *)reader)->begin;
  return FURROW_OK;
}

static void close_counter(void *reader) {
  free(reader);
  readers--;
}

static furrow_status open_state(const furrow_args *args, void **state, furrow_error *err) {
  (void)args, (void)err;
  *state = &readers;
  return FURROW_OK;
}

static void custom_readers(void **state) {
  (void)state;
  static const furrow_arg args[] = {{"rows", FURROW_ARG_INT, "10", NULL, "how many"}};
  static const furrow_rows_format count = {.size = sizeof count,
                                           .name = "count",
                                           .args = args,
                                           .nargs = 1,
                                           .open = open_state,
                                           .open_rows = open_counter,
                                           .next_rows = next_count,
                                           .rewind_rows = rewind_counter,
                                           .close_rows = close_counter};
  assert_int_equal(furrow_rows_format_register(&count, NULL), FURROW_OK);
  FILE *out = fopen("wanted", "w");
  assert_non_null(out);
  for (int i = 0; i < 100; i++) fprintf(out, "%d %d\n", i % 2, i);
  fclose(out);
  const outcome wanted = read_all("wanted", "libsvm", 1, 1, 0, FURROW_ON_BAD_ERROR);
  for (uint32_t nparts = 1; nparts < 9; nparts++) {
    const outcome o = read_all("nowhere?rows=100", "count", nparts, 2, 0, FURROW_ON_BAD_ERROR);
    assert_int_equal(o.status, FURROW_END);
    assert_true(o.rows == 100 && o.digest == wanted.digest);
  }
  outcome o = read_all("nowhere?rows=2000&format=count", "auto", 1, 1, 0, FURROW_ON_BAD_ERROR);
  assert_int_equal(o.status, FURROW_E_UNSUPPORTED);
  assert_int_equal(o.rows, 1000);
  assert_string_equal(o.error.message, "a thousand is enough");
  o = read_all("somewhere", "count", 1, 1, 0, FURROW_ON_BAD_ERROR);
  assert_int_equal(o.status, FURROW_E_NOT_FOUND);
  assert_string_equal(o.error.message, "rows come from nowhere");
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open_part(&parser, "nowhere?rows=7", 0, 1, "count", NULL), FURROW_OK);
  for (int pass = 0; pass < 3; pass++) {
    uint64_t rows = 0;
    while (furrow_parser_next(parser, NULL) == FURROW_OK) rows += furrow_parser_value(parser)->size;
    assert_int_equal(rows, 7);
    assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_OK);
  }
  assert_string_equal(furrow_parser_format(parser), "count");
  assert_int_equal(furrow_parser_bytes_total(parser), 0);
  furrow_parser_close(parser);
  assert_int_equal(readers, 0);
}

static void halves_of_formats_are_refused(void **state) {
  (void)state;
  const furrow_rows_format bad[] = {
      {.name = "b0", .parse_chunk = fixed_chunk, .open_rows = open_counter, .next_rows = next_count},
      {.name = "b1", .open_rows = open_counter},
      {.name = "b2", .parse_chunk = fixed_chunk, .record_size = fixed_size, .find_record = find_mark},
      {.name = "b3", .open_rows = open_counter, .next_rows = next_count, .record_size = fixed_size},
      {.name = "b4", .parse_chunk = fixed_chunk, .head_bytes = 1},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    furrow_rows_format format = bad[i];
    format.size = sizeof format;
    assert_int_equal(furrow_rows_format_register(&format, NULL), FURROW_E_ARGUMENT);
  }
}

/* ---- Functions that fail in odd ways ---- */

static furrow_status line_ends(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                               furrow_error *err) {
  (void)state, (void)line, (void)length, (void)row, (void)err;
  return FURROW_END;
}

static furrow_status chunk_ends(const void *state, furrow_rows_chunk *chunk, furrow_container *rows,
                                furrow_error *err) {
  (void)state, (void)chunk, (void)rows, (void)err;
  return FURROW_END;
}

static furrow_status open_nothing(const void *state, const furrow_rows_request *request, void **rows,
                                  furrow_error *err) {
  (void)state, (void)request, (void)err;
  *rows = NULL;
  return FURROW_OK;
}

static furrow_status no_block(void *rows, const furrow_rowblock **block, furrow_error *err) {
  (void)rows, (void)err;
  *block = NULL;
  return FURROW_OK;
}

static furrow_status falling_offsets(void *rows, const furrow_rowblock **block, furrow_error *err) {
  static const uint64_t offsets[] = {5, 1, 9};
  static const uint32_t indices[9] = {0};
  static const furrow_rowblock wrong = {.size = 2, .offset = offsets, .index = {indices}};
  (void)rows, (void)err;
  *block = &wrong;
  return FURROW_OK;
}

/* Blocks of one row: one without rows first, then as many as `given` says; labels end with the second. */
static unsigned given;

static furrow_status next_given(void *rows, const furrow_rowblock **block, furrow_error *err) {
  static const uint64_t offsets[] = {0, 1};
  static const uint32_t indices[] = {3};
  static const float labels[] = {1};
  static const furrow_rowblock none = {.size = 0};
  static const furrow_rowblock labelled = {.size = 1, .offset = offsets, .label = {labels}, .index = {indices}};
  static furrow_rowblock bare;
  (void)rows, (void)err;
  bare = labelled;
  bare.label.any = NULL;
  if (given > 3) return FURROW_END;
  *block = given == 0 ? &none : given < 3 ? &labelled : &bare;
  given++;
  return FURROW_OK;
}

static furrow_status strange_types(void *rows, const furrow_rowblock **block, furrow_error *err) {
  static furrow_rowblock wrong;
  wrong = (furrow_rowblock){.size = 1};
  if (given++ == 0)
    wrong.key_type = (furrow_key_type)99;
  else
    wrong.value_type = (furrow_value_type)99;
  (void)rows, (void)err;
  *block = &wrong;
  return FURROW_OK;
}

static furrow_status cannot_rewind(void *rows, furrow_error *err) {
  (void)rows, (void)err;
  return FURROW_E_UNSUPPORTED;
}

/* A reader that has no function to close or rewind it, or one that fails. */
static void readers_that_give_odd_blocks(void **state) {
  (void)state;
  static const furrow_rows_format once = {
      .size = sizeof once, .name = "odd_once", .open_rows = open_nothing, .next_rows = next_given};
  static const furrow_rows_format types = {.size = sizeof types,
                                           .name = "odd_types",
                                           .open_rows = open_nothing,
                                           .next_rows = strange_types,
                                           .rewind_rows = cannot_rewind};
  furrow_parser *parser = NULL;
  furrow_error err;
  assert_true(test_write_text("odd", "1 2 3\n"));
  assert_int_equal(furrow_rows_format_register(&once, NULL), FURROW_OK);
  assert_int_equal(furrow_rows_format_register(&types, NULL), FURROW_OK);
  given = 0;
  assert_int_equal(furrow_parser_open_part(&parser, "odd", 0, 1, "odd_once", NULL), FURROW_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(furrow_parser_next(parser, &err), FURROW_OK);
    assert_int_equal(furrow_parser_value(parser)->size, 1);
  }
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_E_PARSE);
  assert_string_equal(err.message, "rows from here on have no label, earlier rows have one");
  assert_int_equal(furrow_parser_rewind(parser, &err), FURROW_E_STATE);
  assert_string_equal(err.message, "rows of format odd_once can be read only once");
  furrow_parser_close(parser);
  given = 0;
  assert_int_equal(furrow_parser_open_part(&parser, "odd", 0, 1, "odd_types", NULL), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, &err), FURROW_E_FORMAT);
  assert_string_equal(err.message, "format odd_types: the block has a key_type or value_type that is not a type");
  assert_int_equal(furrow_parser_rewind(parser, &err), FURROW_E_UNSUPPORTED);
  assert_string_equal(err.message, "format odd_types cannot read its rows again");
  furrow_parser_close(parser);
  assert_int_equal(furrow_parser_open_part(&parser, "odd", 0, 1, "odd_types", NULL), FURROW_OK);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_E_FORMAT);
  assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_E_UNSUPPORTED);
  furrow_parser_close(parser);
}

static void close_nothing(void *rows) {
  (void)rows;
}

/* END of a function that is not asked for it is a failure, not the end of the rows. */
static void odd_functions_are_failures(void **state) {
  (void)state;
  static const furrow_rows_format odd[] = {{.size = sizeof *odd, .name = "odd_line", .parse_line = line_ends},
                                           {.size = sizeof *odd, .name = "odd_chunk", .parse_chunk = chunk_ends},
                                           {.size = sizeof *odd,
                                            .name = "odd_null",
                                            .open_rows = open_nothing,
                                            .next_rows = no_block,
                                            .close_rows = close_nothing},
                                           {.size = sizeof *odd,
                                            .name = "odd_offsets",
                                            .open_rows = open_nothing,
                                            .next_rows = falling_offsets,
                                            .close_rows = close_nothing}};
  static const furrow_status wanted[] = {FURROW_E_IO, FURROW_E_IO, FURROW_E_FORMAT, FURROW_E_FORMAT};
  assert_true(test_write_text("odd", "1 2 3\n"));
  for (size_t i = 0; i < 4; i++) {
    furrow_parser *parser = NULL;
    furrow_error err;
    assert_int_equal(furrow_rows_format_register(&odd[i], NULL), FURROW_OK);
    assert_int_equal(furrow_parser_open_part(&parser, "odd", 0, 1, odd[i].name, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_next(parser, &err), wanted[i]);
    assert_true(err.message[0] != 0);
    furrow_parser_close(parser);
  }
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(every_record_is_read_once),     IN_DIR(bad_records_have_a_place),   IN_DIR(custom_readers),
      IN_DIR(halves_of_formats_are_refused), IN_DIR(odd_functions_are_failures), IN_DIR(readers_that_give_odd_blocks),
  };
  return cmocka_run_group_tests(tests, register_formats, NULL);
}
