/* tests/unit/rows/test_parser.c: a data set gives the same rows, errors and counts however it is read: in how many
 * threads, chunks and parts, compressed or not, from files or a pipe, the first time or again. */
#include <pthread.h>

#include "rows/parser.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/own_dir.h"
#include "support/packed_file.h"
#include "support/row_digest.h"
#include "support/sample_text.h"

static void put(const char *path, const char *text) {
  assert_true(test_write_text(path, text));
}

static void put_gzip(const char *path, const char *text) {
  assert_true(packed_write(path, FW_FILE_GZIP, text, strlen(text), NULL));
}

/* ---- Readings ------------------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 4096 };

typedef struct reading {
  furrow_status status;
  furrow_error error;
  uint64_t rows, digest;
  size_t blocks;
  uint64_t block_digests[MOST_BLOCKS]; /* with what arrays are there */
  furrow_parser_stats stats;
  uint32_t base;
} reading;

static void note_block(reading *r, const furrow_rowblock *block) {
  uint64_t digest = block->size;
  assert_true(block->size > 0 && r->blocks < MOST_BLOCKS);
  digest_block(&r->digest, block);
  digest_block(&digest, block);
  digest_add(&digest, (block->label.any != NULL) | (block->weight != NULL) << 1 | (block->qid != NULL) << 2 |
                          (block->field.any != NULL) << 3 | (block->value.any != NULL) << 4);
  r->block_digests[r->blocks++] = digest;
  r->rows += block->size;
}

static void read_on(furrow_parser *parser, reading *r) {
  memset(r, 0, sizeof *r);
  furrow_parser_stats_init(&r->stats);
  while ((r->status = furrow_parser_next(parser, &r->error)) == FURROW_OK) note_block(r, furrow_parser_value(parser));
  assert_null(furrow_parser_value(parser));
  assert_int_equal(furrow_parser_next(parser, NULL), r->status);
  furrow_parser_get_stats(parser, &r->stats);
  r->base = furrow_parser_index_base(parser);
  assert_int_equal(r->stats.rows, r->rows);
  assert_int_equal(r->stats.bytes, furrow_parser_bytes_read(parser));
}

static void must_open(furrow_parser **parser, const char *uri, const furrow_parser_params *params) {
  furrow_error err;
  if (furrow_parser_open(parser, uri, params, &err) != FURROW_OK) fail_msg("%s: %s (%s)", uri, err.message, err.token);
}

static void read_all(const char *uri, const furrow_parser_params *params, reading *r) {
  furrow_parser *parser = NULL;
  must_open(&parser, uri, params);
  read_on(parser, r);
  furrow_parser_close(parser);
}

static void assert_same_place(const furrow_error *a, const furrow_error *b) {
  assert_string_equal(a->file, b->file);
  assert_int_equal(a->line, b->line);
  assert_int_equal(a->column, b->column);
  assert_int_equal(a->offset, b->offset);
  assert_string_equal(a->token, b->token);
  assert_string_equal(a->message, b->message);
}

/* The same rows, end and counts. */
static void assert_same_rows(const reading *a, const reading *b) {
  assert_int_equal(a->status, b->status);
  assert_int_equal(a->rows, b->rows);
  assert_true(a->digest == b->digest);
  if (a->status != FURROW_END) assert_same_place(&a->error, &b->error);
  assert_int_equal(a->stats.features, b->stats.features);
  assert_int_equal(a->stats.bad_rows, b->stats.bad_rows);
  assert_int_equal(a->stats.ignored, b->stats.ignored);
  if (a->stats.bad_rows) assert_same_place(&a->stats.first_bad, &b->stats.first_bad);
  if (a->stats.ignored) assert_same_place(&a->stats.first_ignored, &b->stats.first_ignored);
  assert_int_equal(a->base, b->base);
}

/* And the same blocks. */
static void assert_same_blocks(const reading *a, const reading *b) {
  assert_same_rows(a, b);
  assert_int_equal(a->blocks, b->blocks);
  assert_memory_equal(a->block_digests, b->block_digests, a->blocks * sizeof a->block_digests[0]);
  assert_int_equal(a->stats.bytes, b->stats.bytes);
}

static furrow_parser_params params_of(const char *format, uint32_t threads, size_t chunk_bytes) {
  furrow_parser_params p;
  furrow_parser_params_init(&p);
  p.format = format;
  p.threads = threads;
  p.chunk_bytes = chunk_bytes;
  return p;
}

/* ---- Random data sets ----------------------------------------------------------------------------------- */

typedef struct data_set {
  char uri[256];
  uint64_t bytes; /* of text */
} data_set;

/* 1 to 6 files, some empty, some compressed. */
static void make_set(data_set *set, text_maker *m, text_kind kind, bool packed) {
  const size_t files = 1 + text_below(m, 6);
  set->bytes = 0;
  set->uri[0] = 0;
  for (size_t i = 0; i < files; i++) {
    char path[32];
    snprintf(path, sizeof path, "part%zu", i);
    text_make(m, kind, text_below(m, 4) ? text_below(m, 900) : 0);
    if (set->bytes == 0 && i + 1 == files && m->length == 0) text_puts(m, "1"); /* an empty csv is refused */
    const fw_file_kind packing = packed && m->length ? (fw_file_kind)text_below(m, 3) : FW_FILE_PLAIN;
    assert_true(packed_write(path, packing, m->text, m->length, NULL));
    set->bytes += m->length;
    snprintf(set->uri + strlen(set->uri), sizeof set->uri - strlen(set->uri), "%s%s", i ? ";" : "", path);
  }
}

static const char *draw_args(text_maker *m, text_kind kind) {
  static const char *const sparse[] = {"?has_label=yes", "?has_label=yes&indexing_mode=1",
                                       "?has_label=yes&indexing_mode=-1"};
  static const char *const table[] = {"?header=no", "?weight_column=1", "?label_column=2"};
  if (kind == TEXT_DENSE) return "";
  return kind == TEXT_CSV ? table[text_below(m, 3)] : sparse[text_below(m, 3)];
}

static void check_parts(const data_set *set, furrow_parser_params params, uint32_t nparts, const reading *whole) {
  reading *part = malloc(sizeof *part);
  uint64_t rows = 0, bytes = 0, bad = 0, ignored = 0, sizes = 0;
  assert_non_null(part);
  params.nparts = nparts;
  furrow_parser *parser = NULL;
  uint64_t digest = 0;
  for (params.part = 0; params.part < nparts; params.part++) {
    must_open(&parser, set->uri, &params);
    const uint64_t size = furrow_parser_bytes_total(parser);
    memset(part, 0, sizeof *part);
    part->digest = digest; /* goes on where the part before ended */
    while ((part->status = furrow_parser_next(parser, &part->error)) == FURROW_OK)
      note_block(part, furrow_parser_value(parser));
    furrow_parser_stats_init(&part->stats);
    furrow_parser_get_stats(parser, &part->stats);
    digest = part->digest;
    rows += part->rows;
    bytes += part->stats.bytes;
    bad += part->stats.bad_rows;
    ignored += part->stats.ignored;
    sizes += size;
    const uint64_t read = furrow_parser_bytes_read(parser);
    if (size > 0) assert_int_equal(furrow_parser_bytes_total(parser), read > size ? read : size);
    assert_int_equal(furrow_parser_index_base(parser), whole->base);
    furrow_parser_close(parser);
    assert_int_equal(part->status, FURROW_END);
  }
  assert_int_equal(rows, whole->rows);
  assert_true(digest == whole->digest);
  assert_int_equal(bytes, set->bytes);
  assert_int_equal(bad, whole->stats.bad_rows);
  assert_int_equal(ignored, whole->stats.ignored);
  params.part = 0;
  params.nparts = 1;
  must_open(&parser, set->uri, &params);
  assert_int_equal(sizes, furrow_parser_bytes_total(parser));
  furrow_parser_close(parser);
  free(part);
}

/* Any chunk size gives the rows, any number of threads the blocks, any number of parts the whole. */
static void check_set(const data_set *set, furrow_parser_params params, text_maker *m) {
  static const size_t chunks[] = {1, 2, 3, 7, 64, 300, 1000, 5000};
  static const uint32_t threads[] = {2, 3, 8};
  reading *r = malloc(3 * sizeof *r);
  assert_non_null(r);
  reading *whole = &r[0], *single = &r[1], *other = &r[2];
  params.threads = 1;
  params.chunk_bytes = 0;
  read_all(set->uri, &params, whole);
  if (whole->status == FURROW_END) assert_int_equal(whole->stats.bytes, set->bytes);
  for (size_t i = 0; i < 3; i++) {
    params.threads = 1;
    params.chunk_bytes = chunks[text_below(m, sizeof chunks / sizeof chunks[0])];
    read_all(set->uri, &params, single);
    assert_same_rows(whole, single);
    params.threads = threads[i];
    read_all(set->uri, &params, other);
    assert_same_blocks(single, other);
  }
  if (whole->status == FURROW_END) check_parts(set, params, 1 + (uint32_t)text_below(m, 9), whole);
  free(r);
}

static void random_sets(void **state) {
  (void)state;
  text_maker m = {.delimiter = ','};
  fw_rng_init(&m.rng, 1);
  for (size_t round = 0; round < 80 / SLOW; round++) {
    const text_kind kind = (text_kind)(round % TEXT_KINDS);
    furrow_parser_params params = params_of(text_formats[kind], 1, 0);
    data_set set;
    params.on_bad = text_below(&m, 4) ? FURROW_ON_BAD_SKIP : FURROW_ON_BAD_ERROR;
    params.key_type = (furrow_key_type)text_below(&m, 2);
    params.value_type = text_below(&m, 2) ? FURROW_VALUE_F32 : (furrow_value_type)text_below(&m, 3);
    m.integers = params.value_type != FURROW_VALUE_F32;
    make_set(&set, &m, kind, round % 3 == 0);
    strcat(set.uri, draw_args(&m, kind));
    check_set(&set, params, &m);
  }
  free(m.text);
}

/* Compressed files, stdin and another pipe give the blocks of a plain file. */
typedef struct pipe_writer {
  int fd;
  const text_maker *m;
} pipe_writer;

static void *write_pieces(void *context) {
  const pipe_writer *f = context;
  for (size_t at = 0; at < f->m->length;) {
    const size_t left = f->m->length - at;
    ssize_t n = write(f->fd, f->m->text + at, left < 5000 ? left : 5000);
    if (n <= 0) break;
    at += (size_t)n;
  }
  close(f->fd);
  return NULL;
}

static void read_pipe(const text_maker *m, bool as_stdin, const furrow_parser_params *params, reading *r) {
  int fds[2];
  char path[64];
  pthread_t thread;
  assert_int_equal(pipe(fds), 0);
  const int keep = dup(0);
  if (as_stdin) assert_int_equal(dup2(fds[0], 0), 0);
  snprintf(path, sizeof path, as_stdin ? "-" : "/proc/self/fd/%d", fds[0]);
  pipe_writer f = {fds[1], m};
  assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
  read_all(path, params, r);
  pthread_join(thread, NULL);
  if (as_stdin && keep >= 0) assert_int_equal(dup2(keep, 0), 0);
  if (keep >= 0) close(keep);
  close(fds[0]);
}

/* Whether the text of features looks like something else. */
static bool is_misread(const char *uri, const furrow_parser_params *params) {
  furrow_parser *parser = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_parser_open(&parser, uri, params, &err);
  furrow_parser_close(parser);
  return status == FURROW_E_FORMAT && strstr(err.message, "it seems");
}

static void other_sources(void **state) {
  (void)state;
  text_maker m = {.delimiter = ','};
  reading *plain = malloc(2 * sizeof *plain);
  fw_rng_init(&m.rng, 2);
  assert_non_null(plain);
  reading *other = plain + 1;
  for (size_t round = 0; round < 60 / SLOW; round++) {
    const text_kind kind = (text_kind)(round % TEXT_KINDS);
    furrow_parser_params params =
        params_of(text_formats[kind], 1 + (uint32_t)text_below(&m, 3), 1 + text_below(&m, round % 2 ? 50 : 30000));
    params.on_bad = FURROW_ON_BAD_SKIP;
    text_make(&m, kind, round % 10 == 0 ? 200000 : text_below(&m, 2000));
    if (m.length > 100000) params.chunk_bytes += 5000;
    assert_true(test_write_file("plain", m.text, m.length));
    if (is_misread("plain", &params)) continue;
    read_all("plain", &params, plain);
    for (fw_file_kind packing = FW_FILE_GZIP; packing <= FW_FILE_ZSTD; packing++) {
      if (m.length == 0) continue; /* the file of an empty text is not empty */
      assert_true(packed_write("packed", packing, m.text, m.length, NULL));
      read_all("packed", &params, other);
      strcpy(other->stats.first_bad.file, plain->stats.first_bad.file);
      strcpy(other->stats.first_ignored.file, plain->stats.first_ignored.file);
      assert_same_blocks(plain, other);
    }
    if (m.length == 0 && kind == TEXT_CSV) continue;
    for (int as_stdin = 0; as_stdin < 2; as_stdin++) {
      read_pipe(&m, as_stdin, &params, other);
      strcpy(other->stats.first_bad.file, plain->stats.first_bad.file);
      strcpy(other->stats.first_ignored.file, plain->stats.first_ignored.file);
      assert_same_blocks(plain, other);
    }
  }
  free(plain);
  free(m.text);
}

/* ---- Again from the start ------------------------------------------------------------------------------- */

static void before_first(void **state) {
  (void)state;
  text_maker m = {.delimiter = ','};
  reading *first = malloc(2 * sizeof *first);
  fw_rng_init(&m.rng, 3);
  assert_non_null(first);
  for (size_t round = 0; round < 80 / SLOW; round++) {
    furrow_parser_params params = params_of("libsvm", 1 + (uint32_t)text_below(&m, 5), 1 + text_below(&m, 200));
    furrow_parser *parser = NULL;
    data_set set;
    params.on_bad = (furrow_on_bad)(round % 2);
    make_set(&set, &m, TEXT_LIBSVM, round % 3 == 0);
    strcat(set.uri, "?has_label=yes");
    must_open(&parser, set.uri, &params);
    read_on(parser, first);
    for (size_t k = 0; k < 4; k++) {
      assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_OK);
      assert_null(furrow_parser_value(parser));
      if (k % 2) { /* broken off in the middle */
        for (uint64_t n = text_below(&m, 6); n > 0; n--) (void)!furrow_parser_next(parser, NULL);
        assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_OK);
        furrow_parser_stats stats;
        furrow_parser_stats_init(&stats);
        furrow_parser_get_stats(parser, &stats);
        assert_true(stats.rows == 0 && stats.bytes == 0 && stats.bad_rows == 0);
      }
      read_on(parser, first + 1);
      assert_same_blocks(first, first + 1);
    }
    furrow_parser_close(parser);
  }
  free(first);
  free(m.text);
}

/* A pipe is read once; saying so does not end the reading. */
static void pipes_are_read_once(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    furrow_parser_params params = params_of("libsvm", threads, 4);
    furrow_parser *parser = NULL;
    furrow_error err;
    int fds[2];
    char path[64];
    size_t rows = 0;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "1 1:1\n2 2:2\n3 3:3\n4 4:4\n", 24), 24);
    close(fds[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fds[0]);
    must_open(&parser, path, &params);
    assert_int_equal(furrow_parser_bytes_total(parser), 0);
    assert_int_equal(furrow_parser_next(parser, NULL), FURROW_OK);
    rows += furrow_parser_value(parser)->size;
    assert_int_equal(furrow_parser_rewind(parser, &err), FURROW_E_STATE);
    while (furrow_parser_next(parser, NULL) == FURROW_OK) rows += furrow_parser_value(parser)->size;
    assert_int_equal(rows, 4);
    furrow_parser_close(parser);
    params.nparts = 2;
    assert_int_equal(furrow_parser_open(&parser, path, &params, &err), FURROW_E_ARGUMENT);
    close(fds[0]);
  }
}

/* Closing at any moment, with threads at work. */
static void closing_early(void **state) {
  (void)state;
  text_maker m = {.delimiter = ','};
  fw_rng_init(&m.rng, 4);
  text_make(&m, TEXT_LIBSVM, 60000);
  assert_true(test_write_file("plain", m.text, m.length));
  assert_true(packed_write("packed", FW_FILE_GZIP, m.text, m.length, NULL));
  for (size_t round = 0; round < 200 / SLOW; round++) {
    furrow_parser_params params = params_of("libsvm", 1 + (uint32_t)(round % 5), 50 + text_below(&m, 2000));
    furrow_parser *parser = NULL;
    params.on_bad = FURROW_ON_BAD_SKIP;
    must_open(&parser, round % 2 ? "packed" : "plain", &params);
    for (uint64_t n = text_below(&m, 4); n > 0; n--) (void)!furrow_parser_next(parser, NULL);
    furrow_parser_close(parser);
  }
  furrow_parser_close(NULL);
  free(m.text);
}

/* ---- Places --------------------------------------------------------------------------------------------- */

typedef struct place {
  const char *file;
  uint64_t line, column, offset;
  const char *token;
} place;

static void assert_place(const furrow_error *error, const place *wanted) {
  assert_string_equal(error->file, wanted->file);
  assert_int_equal(error->line, wanted->line);
  assert_int_equal(error->column, wanted->column);
  assert_int_equal(error->offset, wanted->offset);
  assert_string_equal(error->token, wanted->token);
}

/* The error of a data set, and the first bad row when bad rows are left out, for all chunk sizes and threads. */
static void expect_place(const char *uri, const char *format, uint32_t part, uint32_t nparts, const place *wanted) {
  static const size_t chunks[] = {1, 5, 17, 64, 0};
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
      furrow_parser_params params = params_of(format, threads, chunks[i]);
      params.part = part;
      params.nparts = nparts;
      read_all(uri, &params, r);
      assert_int_equal(r->status, FURROW_E_PARSE);
      assert_int_equal(r->error.status, FURROW_E_PARSE);
      assert_place(&r->error, wanted);
      params.on_bad = FURROW_ON_BAD_SKIP;
      read_all(uri, &params, r);
      assert_int_equal(r->status, FURROW_END);
      assert_true(r->stats.bad_rows > 0);
      assert_place(&r->stats.first_bad, wanted);
    }
  free(r);
}

static void error_positions(void **state) {
  (void)state;
  static const char lf[] = "1 1:1\n0 2:2\n1 3:x\n0 4:4\n1 y5:5\n";
  static const char crlf[] = "1 1:1\r\n\r\n0 2:2\r\n1 3:3 4:x\r\n0 4:4\r\n";
  static const char cr[] = "1 1:1\r0 2:2\r\r1 3:x\r";
  static const char bom[] = "\xef\xbb\xbf\x31 1:x\n1 2:2\n";
  static const char bom_later[] = "1 1:1\n\xef\xbb\xbf\x31 1:x\n1 2:2\n";
  static const char good[] = "1 1:1\n0 2:2";
  put("lf", lf);
  put("crlf", crlf);
  put("cr", cr);
  put("bom", bom);
  put("bom_later", bom_later);
  put("good", good);
  put("empty", "");
  put_gzip("lf.gz", lf);
  put_gzip("crlf.gz", crlf);
  put_gzip("good.gz", good);
  expect_place("lf", "libsvm", 0, 1, &(place){"lf", 3, 3, 14, "3:x"});
  expect_place("lf.gz", "libsvm", 0, 1, &(place){"lf.gz", 3, 3, 14, "3:x"});
  expect_place("crlf", "libsvm", 0, 1, &(place){"crlf", 4, 7, 22, "4:x"});
  expect_place("crlf.gz", "libsvm", 0, 1, &(place){"crlf.gz", 4, 7, 22, "4:x"});
  expect_place("cr", "libsvm", 0, 1, &(place){"cr", 4, 3, 15, "3:x"});
  expect_place("bom", "libsvm", 0, 1, &(place){"bom", 1, 6, 5, "1:x"});
  expect_place("bom_later", "libsvm", 0, 1, &(place){"bom_later", 2, 6, 11, "1:x"});
  /* another file of several; lines start again with each file */
  expect_place("good;empty;lf", "libsvm", 0, 1, &(place){"lf", 3, 3, 14, "3:x"});
  expect_place("good.gz;lf.gz", "libsvm", 0, 1, &(place){"lf.gz", 3, 3, 14, "3:x"});
  expect_place("good.gz;lf;lf.gz", "libsvm", 0, 1, &(place){"lf", 3, 3, 14, "3:x"});
  expect_place("good;good.gz;crlf.gz", "libsvm", 0, 1, &(place){"crlf.gz", 4, 7, 22, "4:x"});
  /* a later part counts the lines of its file from the start */
  expect_place("lf", "libsvm", 1, 2, &(place){"lf", 5, 3, 26, "y5:5"});
  expect_place("good;lf", "libsvm", 3, 4, &(place){"lf", 5, 3, 26, "y5:5"});
}

static void long_file_positions(void **state) {
  (void)state;
  char *text = malloc(1 << 20);
  size_t used = 0;
  size_t offset = 0;
  assert_non_null(text);
  for (size_t i = 1; i <= 40000; i++) {
    if (i == 31234) offset = used + 4;
    used += (size_t)sprintf(text + used, i == 31234 ? "1\t  zz9:1 # %zu\r\n" : i % 7 ? "1 %zu:2\n" : "# %zu\r\n", i);
  }
  assert_true(test_write_file("long", text, used));
  assert_true(packed_write("long.zst", FW_FILE_ZSTD, text, used, NULL));
  static const size_t chunks[] = {1000, 4096, 65536, 0};
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (size_t i = 0; i < 16; i++) {
    const char *file = i % 2 ? "long.zst" : "long";
    furrow_parser_params params = params_of("libsvm", i & 2 ? 1 : 4, chunks[i / 4]);
    read_all(file, &params, r);
    assert_int_equal(r->status, FURROW_E_PARSE);
    assert_place(&r->error, &(place){file, 31234, 5, offset, "zz9:1"});
    assert_int_equal(r->rows, 31233 - 31233 / 7);
  }
  free(r);
  free(text);
}

static void ignored_text_positions(void **state) {
  (void)state;
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  put("one", "1 1:1\n1 2:2\n");
  put_gzip("two.gz", "1 1:1\r\n1 Safari 2:2\r\n1 Opra\r\n");
  for (uint32_t threads = 1; threads <= 4; threads += 3)
    for (size_t chunk = 1; chunk <= 100; chunk *= 10) {
      furrow_parser_params params = params_of("libsvm", threads, chunk);
      read_all("one;two.gz", &params, r);
      assert_int_equal(r->status, FURROW_END);
      assert_int_equal(r->stats.ignored, 2);
      assert_place(&r->stats.first_ignored, &(place){"two.gz", 2, 3, 9, "Safari"});
      assert_int_equal(r->stats.rows, 5);
      assert_int_equal(r->stats.features, 4);
      assert_int_equal(r->stats.bytes, 12 + 7 + 14 + 8);
    }
  free(r);
}

/* One call gives the block that two calls give, and leaves the pointer alone where there is none. */
static void blocks_in_one_call(void **state) {
  (void)state;
  for (unsigned threads = 0; threads < 2; threads++) {
    const furrow_parser_params params = params_of("libsvm", threads, 16);
    const furrow_rowblock *const none = (const void *)&params, *block = none;
    furrow_parser *parser = NULL;
    furrow_error err, again;
    size_t rows = 0;
    furrow_status status;
    put("blocks", "1 1:2\n0 2:3 4:5\n1 7:1\n");
    assert_int_equal(furrow_parser_open(&parser, "blocks", &params, NULL), FURROW_OK);
    while ((status = furrow_parser_next_block(parser, &block, NULL)) == FURROW_OK) {
      assert_ptr_equal(block, furrow_parser_value(parser));
      rows += block->size;
      block = none;
    }
    assert_int_equal(status, FURROW_END);
    assert_int_equal(rows, 3);
    assert_ptr_equal(block, none);
    assert_int_equal(furrow_parser_rewind(parser, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_next_block(parser, &block, NULL), FURROW_OK);
    assert_int_equal(furrow_keys_get(block->index, block->key_type, 0), 1);
    furrow_parser_close(parser);

    put("blocks", "1 x:2\n");
    block = none;
    assert_int_equal(furrow_parser_open(&parser, "blocks", &params, NULL), FURROW_OK);
    assert_int_equal(furrow_parser_next_block(parser, &block, &err), FURROW_E_PARSE);
    assert_int_equal(err.line, 1);
    assert_int_equal(furrow_parser_next_block(parser, &block, &again), FURROW_E_PARSE);
    assert_string_equal(again.message, err.message);
    assert_ptr_equal(block, none);
    furrow_parser_close(parser);
  }
}

/* The rows before a bad one are handed out, those after it are not; the error stays. */
static void rows_before_an_error(void **state) {
  (void)state;
  put("data", "1 1:1\n2 2:2\n3 x3\n4 4:4\n");
  for (uint32_t threads = 1; threads <= 2; threads++)
    for (size_t chunk = 1; chunk <= 1000; chunk *= 10) {
      furrow_parser_params params = params_of("libsvm", threads, chunk);
      furrow_parser *parser = NULL;
      furrow_error err, again;
      double labels = 0;
      furrow_status status;
      must_open(&parser, "data", &params);
      while ((status = furrow_parser_next(parser, &err)) == FURROW_OK)
        for (size_t i = 0; i < furrow_parser_value(parser)->size; i++) {
          const furrow_row row = furrow_rowblock_row(furrow_parser_value(parser), i);
          labels = 10 * labels + furrow_row_get_label(&row);
        }
      assert_int_equal(status, FURROW_E_PARSE);
      assert_true(labels == 12);
      assert_int_equal(furrow_parser_next(parser, &again), FURROW_E_PARSE);
      assert_same_place(&err, &again);
      furrow_parser_close(parser);
    }
}

/* What failed to be read is not counted with what was in its place before. */
static void counts_after_damage(void **state) {
  (void)state;
  char *text = malloc(100000);
  size_t size = 0;
  uint64_t used = 0;
  uint64_t seed = 1;
  assert_non_null(text);
  while (used < 90000) {
    seed = seed * 6364136223846793005u + 1;
    used +=
        (uint64_t)sprintf(text + used, used % 5 == 0 ? "1 x%llu\n" : "1 %llu w\n", (unsigned long long)(seed >> 40));
  }
  assert_true(packed_write("packed", FW_FILE_GZIP, text, (size_t)used, &size));
  assert_int_equal(truncate("packed", (off_t)(size * 3 / 4)), 0);
  reading *r = malloc(3 * sizeof *r);
  assert_non_null(r);
  for (uint32_t threads = 1; threads <= 3; threads++) {
    furrow_parser_params params = params_of("libsvm", threads, 1000);
    params.on_bad = FURROW_ON_BAD_SKIP;
    read_all("packed", &params, &r[threads - 1]);
    assert_int_equal(r[threads - 1].status, FURROW_E_FORMAT);
    assert_same_blocks(&r[0], &r[threads - 1]);
  }
  /* the text up to there, by itself */
  assert_true(test_write_file("plain", text, (size_t)r[0].stats.bytes));
  furrow_parser_params params = params_of("libsvm", 1, 1000);
  params.on_bad = FURROW_ON_BAD_SKIP;
  read_all("plain", &params, &r[1]);
  assert_int_equal(r[1].stats.rows, r[0].stats.rows);
  assert_int_equal(r[1].stats.bad_rows, r[0].stats.bad_rows);
  assert_int_equal(r[1].stats.ignored, r[0].stats.ignored);
  free(r);
  free(text);
}

/* ---- Indices that count from 1 -------------------------------------------------------------------------- */

static void expect_base(const char *uri, const char *format, uint32_t base) {
  reading *r = malloc(2 * sizeof *r);
  assert_non_null(r);
  bool first = true;
  for (uint32_t threads = 1; threads <= 4; threads += 3)
    for (size_t chunk = 1; chunk <= 1000; chunk *= 10)
      for (uint32_t nparts = 1; nparts <= 4; nparts++) {
        uint64_t digest = 0;
        furrow_parser_params params = params_of(format, threads, chunk);
        params.nparts = nparts;
        for (params.part = 0; params.part < nparts; params.part++) {
          furrow_parser *parser = NULL;
          must_open(&parser, uri, &params);
          while (furrow_parser_next(parser, NULL) == FURROW_OK) digest_block(&digest, furrow_parser_value(parser));
          assert_int_equal(furrow_parser_index_base(parser), base);
          furrow_parser_close(parser);
        }
        if (first) r[0].digest = digest;
        assert_true(digest == r[0].digest);
        first = false;
      }
  free(r);
}

static void auto_indexing(void **state) {
  (void)state;
  put("ones", "1 1:1 3:1\n0 2:1\n1 5:1\n");
  put("zeros", "1 1:1 3:1\n0 2:1\n1 0:1\n");
  put("late", "1 1:1 3:1\n0 2:1\n1 7:1\n0 9:1\n1 3:1 0:5");
  put("none", "1\n0\n");
  put("empty", "");
  put("field0", "1 1:1:1 0:2:1\n0 2:3:1\n");
  put("field1", "1 1:1:1 2:2:1\n0 2:3:1\n");
  put("index0", "1 1:1:1 2:2:1\n0 2:0:1\n");
  put_gzip("ones.gz", "1 1:1 3:1\n0 2:1\n1 5:1\n");
  expect_base("ones?indexing_mode=-1", "libsvm", 1);
  expect_base("ones?indexing_mode=-7&format=auto", "auto", 1);
  expect_base("zeros?indexing_mode=-1", "libsvm", 0);
  expect_base("late?indexing_mode=-1", "libsvm", 0);
  expect_base("none?indexing_mode=-1", "libsvm", 0);
  expect_base("empty?indexing_mode=-1", "libsvm", 0);
  expect_base("ones;late?indexing_mode=-1", "libsvm", 0);
  expect_base("ones;ones.gz;none?indexing_mode=-1", "libsvm", 1);
  expect_base("field0?indexing_mode=-1", "libfm", 0);
  expect_base("field1?indexing_mode=-1", "libffm", 1);
  expect_base("index0?indexing_mode=-1", "libfm", 0);
  expect_base("ones?indexing_mode=1", "libsvm", 1);
  expect_base("ones?indexing_mode=0", "libsvm", 0);
  /* 0 in one part is 0 for all, and a bad row before it is one for all */
  put("bad", "1 1:1\n1 x1\n1 2:1\n1 3:1\n");
  furrow_parser_params params = params_of("libsvm", 1, 0);
  params.nparts = 3;
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (params.part = 0; params.part < 3; params.part++) {
    read_all("bad?indexing_mode=-1", &params, r);
    assert_int_equal(r->status, FURROW_E_PARSE);
    assert_place(&r->error, &(place){"bad", 2, 3, 8, "x1"});
  }
  free(r);
}

static void auto_indexing_of_a_pipe(void **state) {
  (void)state;
  furrow_parser_params params = params_of("libsvm", 1, 0);
  furrow_parser *parser = NULL;
  int fds[2];
  char uri[64];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(write(fds[1], "1 1:1\n", 6), 6);
  close(fds[1]);
  snprintf(uri, sizeof uri, "/proc/self/fd/%d?indexing_mode=-1", fds[0]);
  must_open(&parser, uri, &params);
  assert_int_equal(furrow_parser_next(parser, NULL), FURROW_E_ARGUMENT);
  furrow_parser_close(parser);
  close(fds[0]);
}

/* ---- Tables --------------------------------------------------------------------------------------------- */

static void column_names(void **state) {
  (void)state;
  furrow_parser *parser = NULL;
  put("names.csv", "id,\"a \"\"b\"\"\",y,w\n1,2,3,4\n");
  furrow_parser_params params = params_of("csv", 1, 0);
  must_open(&parser, "names.csv?label_column=y&weight_column=3", &params);
  assert_int_equal(furrow_parser_column_count(parser), 2);
  assert_string_equal(furrow_parser_column_name(parser, 0), "id");
  assert_string_equal(furrow_parser_column_name(parser, 1), "a \"b\"");
  assert_null(furrow_parser_column_name(parser, 2));
  assert_string_equal(furrow_parser_label_name(parser), "y");
  assert_string_equal(furrow_parser_weight_name(parser), "w");
  assert_int_equal(furrow_parser_label_column(parser), 2);
  assert_int_equal(furrow_parser_weight_column(parser), 3);
  furrow_parser_close(parser);
  must_open(&parser, "names.csv?label_column=z&label=optional&columns=y,id&extra=ignore", &params);
  assert_int_equal(furrow_parser_column_count(parser), 2);
  assert_string_equal(furrow_parser_column_name(parser, 0), "y");
  assert_string_equal(furrow_parser_column_name(parser, 1), "id");
  assert_null(furrow_parser_column_name(parser, 2));
  assert_null(furrow_parser_label_name(parser));
  assert_int_equal(furrow_parser_label_column(parser), -1);
  assert_int_equal(furrow_parser_weight_column(parser), -1);
  furrow_parser_close(parser);
  put("bare.csv", "1;2\n3;4\n");
  must_open(&parser, "bare.csv?label_column=1", NULL);
  assert_null(furrow_parser_label_name(parser));
  assert_int_equal(furrow_parser_label_column(parser), 1);
  furrow_parser_close(parser);
  put("plain.svm", "1 1:1\n");
  must_open(&parser, "plain.svm", NULL);
  assert_int_equal(furrow_parser_column_count(parser), 0);
  assert_null(furrow_parser_column_name(parser, 0));
  assert_null(furrow_parser_label_name(parser));
  assert_int_equal(furrow_parser_label_column(parser), -1);
  furrow_parser_close(parser);
}

/* Files of the same table in other orders of columns give the same rows. */
static void columns_by_name(void **state) {
  (void)state;
  furrow_parser_params params = params_of("auto", 2, 64);
  reading *r = malloc(2 * sizeof *r);
  char *texts[2] = {malloc(1 << 16), malloc(1 << 16)};
  size_t used[2] = {0};
  assert_true(r && texts[0] && texts[1]);
  used[0] += (size_t)sprintf(texts[0], "y,a,b,c\n");
  used[1] += (size_t)sprintf(texts[1], "c;text;y;a;b\n");
  for (int i = 0; i < 500; i++) {
    used[0] += (size_t)sprintf(texts[0] + used[0], "%d,%d,%d.5,%d\n", i % 2, i, i + 1, i + 2);
    used[1] += (size_t)sprintf(texts[1] + used[1], "%d;t%d;%d;%d;%d.5\n", i + 2, i, i % 2, i, i + 1);
  }
  put("one.csv", texts[0]);
  put("two.csv", texts[1]);
  read_all("one.csv?label_column=y", &params, &r[0]);
  read_all("two.csv?label_column=y&columns=a,b,c&extra=ignore", &params, &r[1]);
  assert_same_rows(&r[0], &r[1]);
  for (int i = 0; i < 2; i++) free(texts[i]);
  free(r);
}

/* Each file has its header; it is in the part that has the start of the file, and does not count as a row in any. */
static void headers_of_several_files(void **state) {
  (void)state;
  put("a.csv", "x,y\n1,2\n3,4\n5,6\n");
  put("b.csv", "# b\n\nx,y\n7,8\n");
  put("c.csv", "9,10\n");
  put_gzip("d.csv.gz", "x,y\r\n11,12\r\n");
  put("e.csv", "");
  put("bad.csv", "# c\nx,z\n7,8\n");
  put("comments.csv", "# c\n\n#d,5\n\nx,y\n7,8\n");
  for (uint32_t threads = 1; threads <= 2; threads++)
    for (size_t chunk = 1; chunk <= 1000; chunk *= 6)
      for (uint32_t nparts = 1; nparts <= 6; nparts++) {
        uint64_t rows = 0;
        furrow_parser_params params = params_of("csv", threads, chunk);
        params.nparts = nparts;
        for (params.part = 0; params.part < nparts; params.part++) {
          furrow_parser *parser = NULL;
          furrow_status status;
          must_open(&parser, "e.csv;a.csv;b.csv;c.csv;d.csv.gz?label_column=y", &params);
          while ((status = furrow_parser_next(parser, NULL)) == FURROW_OK) rows += furrow_parser_value(parser)->size;
          assert_int_equal(status, FURROW_END);
          furrow_parser_close(parser);
        }
        assert_int_equal(rows, 6);
      }
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  furrow_parser_params params = params_of("csv", 1, 0);
  read_all("a.csv;bad.csv", &params, r);
  assert_int_equal(r->status, FURROW_E_PARSE);
  assert_place(&r->error, &(place){"bad.csv", 2, 3, 6, "z"});
  assert_int_equal(r->rows, 3);
  read_all("a.csv;comments.csv", &params, r);
  assert_true(r->status == FURROW_END && r->rows == 4);
  free(r);
}

/* A header that is longer than what is looked at beforehand. */
static void wide_header(void **state) {
  (void)state;
  enum { COLUMNS = 20000 };
  char *text = malloc(COLUMNS * 16);
  size_t used = 0;
  assert_non_null(text);
  for (int i = 0; i < COLUMNS; i++) used += (size_t)sprintf(text + used, "%scolumn%d", i ? "," : "", i);
  used += (size_t)sprintf(text + used, "\n");
  for (int i = 0; i < COLUMNS; i++) used += (size_t)sprintf(text + used, "%s%d", i ? "," : "", i % 10);
  assert_true(test_write_file("wide.csv", text, used));
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (size_t chunk = 0; chunk <= 100; chunk += 50) {
    furrow_parser_params params = params_of("csv", 1, chunk);
    read_all("wide.csv?label_column=column5", &params, r);
    assert_int_equal(r->status, FURROW_END);
    assert_int_equal(r->rows, 1);
    assert_int_equal(r->stats.features, COLUMNS - 1);
  }
  free(r);
  free(text);
}

/* Labels of some rows only are an error, wherever blocks end. */
static void labels_of_some_rows(void **state) {
  (void)state;
  put("some.csv", "1,2,3\n4,5,6\n7\n8,9,10\n");
  put("none.csv", "1,2\n4\n");
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (uint32_t threads = 1; threads <= 2; threads++)
    for (size_t chunk = 1; chunk <= 1000; chunk *= 10) {
      furrow_parser_params params = params_of("csv", threads, chunk);
      read_all("some.csv?label_column=2", &params, r);
      assert_int_equal(r->status, FURROW_E_PARSE);
      assert_int_equal(r->rows, 2);
      assert_string_equal(r->error.file, "some.csv");
      assert_int_equal(r->error.line, 3);
      read_all("none.csv?label_column=2", &params, r);
      assert_int_equal(r->status, FURROW_END);
      assert_int_equal(r->rows, 2);
    }
  free(r);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static void expect_refused(const char *uri, const furrow_parser_params *params, furrow_status wanted,
                           const char *message) {
  furrow_parser *parser = (furrow_parser *)(uintptr_t)1;
  furrow_error err = {0};
  assert_int_equal(furrow_parser_open(&parser, uri, params, &err), wanted);
  assert_true(parser == (furrow_parser *)(uintptr_t)1); /* untouched */
  assert_int_equal(err.status, wanted);
  if (!strstr(err.message, message)) fail_msg("'%s', not '%s'", err.message, message);
  assert_int_equal(furrow_parser_open(&parser, uri, params, NULL), wanted);
}

static void wrong_parameters(void **state) {
  (void)state;
  put("data", "1 1:1\n");
  furrow_parser_params p = params_of("libsvm", 1, 0);
  p.part = 1;
  expect_refused("data", &p, FURROW_E_ARGUMENT, "part 1 of 1");
  p = params_of("libsvm", 1, 0);
  p.nparts = 0;
  expect_refused("data", &p, FURROW_E_ARGUMENT, "part 0 of 0");
  p = params_of("libsvm", 5000, 0);
  expect_refused("data", &p, FURROW_E_ARGUMENT, "threads");
  p = params_of("libsvm", 1, (size_t)1 << 40);
  expect_refused("data", &p, FURROW_E_ARGUMENT, "chunk_bytes");
  p = params_of("libsvm", 1, 0);
  p.key_type = (furrow_key_type)9;
  expect_refused("data", &p, FURROW_E_ARGUMENT, "key_type");
  p = params_of("libsvm", 1, 0);
  p.value_type = (furrow_value_type)9;
  expect_refused("data", &p, FURROW_E_ARGUMENT, "value_type");
  p = params_of("libsvm", 1, 0);
  p.on_bad = (furrow_on_bad)9;
  expect_refused("data", &p, FURROW_E_ARGUMENT, "on_bad");
  p = params_of("parquet", 1, 0);
  expect_refused("data", &p, FURROW_E_ARGUMENT, "there are: auto, libsvm, libfm, libffm, csv, dummy, dense, table");
  p = params_of("libsvm", 1, 0);
  expect_refused("data?format=csv", &p, FURROW_E_ARGUMENT, "the URI says format=csv");
  expect_refused("data?color=1", &p, FURROW_E_ARGUMENT, "no argument of that name");
  expect_refused("data?indexing_mode=x", &p, FURROW_E_ARGUMENT, "wants an integer");
  expect_refused("nothing", &p, FURROW_E_NOT_FOUND, "");
  expect_refused("", &p, FURROW_E_ARGUMENT, "");
  expect_refused("hdfs://host/x", &p, FURROW_E_UNSUPPORTED, "");
  put("utf16", "\xff\xfe\x31");
  expect_refused("utf16", &p, FURROW_E_FORMAT, "UTF-16");
}

static void expect_format(const char *uri, const char *format, const char *wanted, const char *reason) {
  furrow_parser *parser = NULL;
  furrow_parser_params p = params_of(format, 1, 0);
  must_open(&parser, uri, &p);
  assert_string_equal(furrow_parser_format(parser), wanted);
  assert_string_equal(furrow_parser_format_reason(parser), reason);
  furrow_parser_close(parser);
}

static void formats_chosen(void **state) {
  (void)state;
  put("svm", "1 1:1\n");
  put("csv", "1,2\n");
  put("semicolons", "1;2\n3;4\n");
  expect_format("svm", "libsvm", "libsvm", "given");
  expect_format("svm?format=libsvm", "libsvm", "libsvm", "given");
  expect_format("svm?format=dummy", "auto", "dummy", "argument format=dummy");
  expect_format("svm?format=dummy", NULL, "dummy", "argument format=dummy");
  expect_format("csv", "auto", "csv", "content: commas on every line");
  expect_format("semicolons", NULL, "csv", "content: semicolons on every line");
  expect_format("svm#cache", "auto", "libsvm", "content: index:value");
  expect_format("svm?__mine__=5", "libsvm", "libsvm", "given");
  furrow_parser *parser = NULL;
  assert_int_equal(furrow_parser_open_part(&parser, "csv", 0, 1, "auto", NULL), FURROW_OK);
  assert_string_equal(furrow_parser_format(parser), "csv");
  furrow_parser_close(parser);
  /* the delimiter that was seen is used in every part */
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  furrow_parser_params p = params_of("auto", 1, 0);
  p.nparts = 2;
  for (p.part = 0; p.part < 2; p.part++) {
    read_all("semicolons", &p, r);
    assert_int_equal(r->status, FURROW_END);
    assert_int_equal(r->stats.features, 2 * r->rows);
  }
  free(r);
}

static void nothing_to_read(void **state) {
  (void)state;
  put("empty", "");
  put("blank", "\n\n# c\n");
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (uint32_t threads = 1; threads <= 3; threads++) {
    furrow_parser_params p = params_of("libsvm", threads, 2);
    read_all("empty", &p, r);
    assert_true(r->status == FURROW_END && r->rows == 0 && r->stats.bytes == 0);
    read_all("blank;empty;blank", &p, r);
    assert_true(r->status == FURROW_END && r->rows == 0 && r->stats.bytes == 12);
    p.nparts = 50;
    for (p.part = 0; p.part < p.nparts; p.part += 7) {
      read_all("blank", &p, r);
      assert_int_equal(r->status, FURROW_END);
    }
  }
  free(r);
}

/* How reading ends for a caller who does not ask why. */
static furrow_status last_status(const char *uri, const furrow_parser_params *p) {
  furrow_parser *parser = NULL;
  furrow_status status = furrow_parser_open(&parser, uri, p, NULL);
  while (status == FURROW_OK) status = furrow_parser_next(parser, NULL);
  furrow_parser_close(parser);
  return status;
}

static void line_limit(void **state) {
  (void)state;
  char *text = malloc(300001);
  assert_non_null(text);
  memset(text, ' ', 300000);
  memcpy(text, "1 1:1\n1", 7);
  text[300000] = 0;
  put("long", text);
  put_gzip("long.gz", text);
  reading *r = malloc(sizeof *r);
  assert_non_null(r);
  for (int packed = 0; packed < 2; packed++) {
    const char *file = packed ? "long.gz" : "long";
    furrow_parser_params p = params_of("libsvm", 2, 100);
    read_all(file, &p, r);
    assert_true(r->status == FURROW_END && r->rows == 2);
    p.max_line_bytes = 20000;
    p.on_bad = FURROW_ON_BAD_SKIP; /* such a line cannot be skipped as a bad row */
    read_all(file, &p, r);
    assert_int_equal(r->status, FURROW_E_PARSE);
    assert_string_equal(r->error.file, file);
    assert_int_equal(last_status(file, &p), FURROW_E_PARSE);
  }
  free(r);
  free(text);
}

/* ---- Steps ---------------------------------------------------------------------------------------------- */

static furrow_parser *open_files(fw_uri *uri, const char *text, const char *format) {
  furrow_parser *parser = NULL;
  furrow_parser_params p = params_of(format, 2, 100);
  assert_int_equal(fw_uri_parse(uri, text, NULL), FURROW_OK);
  assert_int_equal(fw_parser_open_files(&parser, uri, &p, NULL), FURROW_OK);
  return parser;
}

/* The columns of a csv are known before the argument that names one of them is. */
static void begun_again_with_other_arguments(void **state) {
  (void)state;
  fw_uri uri = {0};
  reading *r = malloc(sizeof *r), *whole = malloc(sizeof *whole);
  const char *format = NULL;
  bool once = true;
  assert_true(r && whole);
  put("steps.csv", "a;b;c\n1;2;3\n4;5;6\n");
  furrow_parser *parser = open_files(&uri, "steps.csv", "auto");
  assert_int_equal(fw_parser_reads_once(parser, &once, NULL), FURROW_OK);
  assert_false(once);
  assert_int_equal(fw_parser_find_format(parser, &format, NULL), FURROW_OK);
  assert_string_equal(format, "csv");
  assert_int_equal(fw_uri_add_arg(&uri, "delimiter", "auto", NULL), FURROW_OK);
  assert_int_equal(fw_parser_begin(parser, "csv", &uri, NULL), FURROW_OK);
  assert_int_equal(furrow_parser_column_count(parser), 3);
  assert_int_equal(fw_uri_add_arg(&uri, "label_column", furrow_parser_column_name(parser, 1), NULL), FURROW_OK);
  assert_int_equal(fw_parser_begin(parser, "csv", &uri, NULL), FURROW_OK);
  assert_string_equal(furrow_parser_label_name(parser), "b");
  assert_int_equal(furrow_parser_column_count(parser), 2);
  read_on(parser, r);
  furrow_parser_close(parser);
  fw_uri_clear(&uri);
  const furrow_parser_params p = params_of("auto", 2, 100);
  read_all("steps.csv?label_column=b", &p, whole);
  assert_same_rows(r, whole);
  parser = open_files(&uri, "steps.csv?format=csv", "auto");
  assert_int_equal(fw_parser_begin(parser, "dummy", &uri, NULL), FURROW_E_ARGUMENT); /* the URI says something else */
  assert_int_equal(fw_parser_begin(parser, "csv", &uri, NULL), FURROW_OK);           /* after a failure */
  furrow_parser_close(parser);
  fw_uri_clear(&uri);
  free(r);
  free(whole);
}

/* Signs are those of a part; the base that is found is that of all parts, and the rows come from the first on. */
static void signs_of_the_index_base(void **state) {
  (void)state;
  fw_uri uri = {0};
  reading *r = malloc(sizeof *r);
  bool dummy = false;
  assert_non_null(r);
  put("from1", "1 1 2\n0 2 3\n");
  put("from0", "1 1 2\n0 0 3\n");
  for (uint32_t base = 0; base < 2; base++) {
    furrow_parser *parser = open_files(&uri, base ? "from1" : "from0", "libsvm");
    fw_base_signs signs = {0};
    assert_int_equal(fw_parser_looks_like_dummy(parser, &dummy, NULL), FURROW_OK);
    assert_true(dummy);
    assert_int_equal(fw_parser_begin(parser, "libsvm", &uri, NULL), FURROW_OK);
    assert_int_equal(fw_parser_find_signs(parser, &signs, NULL), FURROW_OK);
    assert_true(signs.features && signs.zeros == !base);
    assert_int_equal(fw_index_base(&signs), base);
    assert_int_equal(fw_parser_find_base(parser, NULL), FURROW_OK);
    read_on(parser, r);
    assert_true(r->status == FURROW_END && r->rows == 2 && r->base == base);
    furrow_parser_close(parser);
    fw_uri_clear(&uri);
  }
  assert_int_equal(fw_index_base(&(fw_base_signs){0}), 0); /* rows without features */
  free(r);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_sets),
      cmocka_unit_test(other_sources),
      cmocka_unit_test(before_first),
      cmocka_unit_test(pipes_are_read_once),
      cmocka_unit_test(closing_early),
      cmocka_unit_test(error_positions),
      cmocka_unit_test(long_file_positions),
      cmocka_unit_test(ignored_text_positions),
      cmocka_unit_test(blocks_in_one_call),
      cmocka_unit_test(rows_before_an_error),
      cmocka_unit_test(counts_after_damage),
      cmocka_unit_test(auto_indexing),
      cmocka_unit_test(auto_indexing_of_a_pipe),
      cmocka_unit_test(column_names),
      cmocka_unit_test(columns_by_name),
      cmocka_unit_test(headers_of_several_files),
      cmocka_unit_test(wide_header),
      cmocka_unit_test(labels_of_some_rows),
      cmocka_unit_test(wrong_parameters),
      cmocka_unit_test(formats_chosen),
      cmocka_unit_test(nothing_to_read),
      cmocka_unit_test(line_limit),
      cmocka_unit_test(begun_again_with_other_arguments),
      cmocka_unit_test(signs_of_the_index_base),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}

int main(void) {
  return all_tests();
}
