/* tests/unit/io/test_split.c: every line in exactly one piece of exactly one part, whatever the files are like. */
#include "io/split.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/own_dir.h"
#include "support/packed_file.h"

enum { MOST_FILES = 6, MOST_PIECES = 20000 };

/* ---- What is to be found -------------------------------------------------------------------------------- */

typedef struct source {
  char path[64];
  char *text;
  size_t length, size; /* of the text, of the file */
  fw_file_kind kind;
} source;

/* Lines of one file that go together. */
typedef struct piece {
  uint64_t part, file, number; /* of the piece in its file */
  uint64_t offset, length;
} piece;

typedef struct pieces {
  size_t count;
  piece *list;
} pieces;

/* Where the line after the one at `from` starts. */
static size_t next_line(const char *text, size_t length, size_t from) {
  while (from < length && text[from] != '\n' && text[from] != '\r') from++;
  if (from < length && text[from] == '\r' && from + 1 < length && text[from + 1] == '\n') from++;
  return from < length ? from + 1 : length;
}

/* The rule, line by line: a line is where the byte before it is, the first line of a file where its first byte is. */
static void expect_pieces(const source *files, size_t nfiles, uint64_t nparts, uint64_t size_of_piece, pieces *out) {
  uint64_t total = 0;
  uint64_t begin = 0;
  out->count = 0;
  for (size_t i = 0; i < nfiles; i++) total += files[i].size;
  const uint64_t step = (total + nparts - 1) / nparts;
  for (size_t i = 0; i < nfiles; begin += files[i].size, i++) {
    const source *f = &files[i];
    for (size_t line = 0; line < f->length; line = next_line(f->text, f->length, line)) {
      const uint64_t before = line ? line - 1 : 0;
      const uint64_t part = (begin + (f->kind == FW_FILE_PLAIN ? before : 0)) / step;
      const uint64_t number = before / size_of_piece;
      piece *last = out->count ? &out->list[out->count - 1] : NULL;
      if (!last || last->part != part || last->file != i || last->number != number) {
        assert_true(out->count < MOST_PIECES);
        last = &out->list[out->count++];
        *last = (piece){part, i, number, line, 0};
      }
      last->length = next_line(f->text, f->length, line) - last->offset;
    }
  }
}

/* ---- What is found -------------------------------------------------------------------------------------- */

static void open_files(fw_fileset *set, const source *files, size_t nfiles) {
  char *paths[MOST_FILES];
  for (size_t i = 0; i < nfiles; i++) paths[i] = (char *)(uintptr_t)files[i].path;
  assert_int_equal(fw_fileset_open(set, paths, nfiles, NULL), FURROW_OK);
  assert_int_equal(set->nfiles, nfiles);
}

/* One piece: the text of the file, whole lines, a line end added only at the end of a file that has none. */
static void check_text(const fw_text *text, const piece *wanted, const source *files) {
  const source *f = &files[wanted->file];
  const bool at_end = wanted->offset + wanted->length == f->length;
  const char last = f->text[wanted->offset + wanted->length - 1];
  const bool added = at_end && last != '\n' && last != '\r';
  assert_int_equal(text->file, wanted->file);
  assert_int_equal(text->offset, wanted->offset);
  assert_int_equal(text->line_end_added, added);
  assert_int_equal(text->length, wanted->length + added);
  assert_memory_equal(text->lines, f->text + wanted->offset, wanted->length);
  if (added) assert_int_equal(text->lines[wanted->length], '\n');
  for (size_t i = 0; i < FW_TEXT_PAD; i++) assert_int_equal(text->lines[text->length + i], 0);
  assert_int_equal(text->in_order, f->kind != FW_FILE_PLAIN);
}

/* Reads a part; pieces are read some time after they are claimed, in another order, as threads do. Returns how many
 * of `wanted` it was. */
static size_t read_part(fw_split *split, const piece *wanted, const source *files, fw_rng *rng) {
  enum { AHEAD = 4 };
  fw_text texts[AHEAD] = {{0}};
  size_t found = 0;
  furrow_status status = FURROW_OK;
  furrow_error err;
  while (status == FURROW_OK) {
    const size_t ahead = 1 + fw_rng_below(rng, AHEAD);
    size_t n = 0;
    while (n < ahead && (status = fw_split_claim(split, &texts[n], &err)) == FURROW_OK) n++;
    for (size_t i = 0; i < n; i++) {
      const size_t k = ahead % 2 ? i : n - 1 - i;
      assert_int_equal(fw_split_read(split, &texts[k], &err), FURROW_OK);
    }
    for (size_t i = 0; i < n; i++)
      if (texts[i].length > 0) check_text(&texts[i], &wanted[found++], files);
  }
  assert_int_equal(status, FURROW_END);
  for (size_t i = 0; i < AHEAD; i++) fw_text_clear(&texts[i]);
  return found;
}

static void check_split(const source *files, size_t nfiles, uint32_t nparts, size_t size_of_piece, pieces *wanted,
                        fw_rng *rng) {
  fw_fileset set;
  size_t found = 0;
  uint64_t sizes = 0;
  open_files(&set, files, nfiles);
  expect_pieces(files, nfiles, nparts, size_of_piece, wanted);
  for (uint32_t part = 0; part < nparts; part++) {
    fw_split *split = NULL;
    assert_int_equal(fw_split_open(&split, &set, part, nparts, size_of_piece, 1 << 20, NULL), FURROW_OK);
    size_t n = read_part(split, wanted->list + found, files, rng);
    if (fw_rng_below(rng, 3) == 0) { /* once more, and broken off in between */
      fw_text text = {0};
      assert_int_equal(fw_split_rewind(split, NULL), FURROW_OK);
      for (uint64_t k = fw_rng_below(rng, 3); k > 0; k--)
        if (fw_split_claim(split, &text, NULL) == FURROW_OK && k == 1)
          assert_int_equal(fw_split_read(split, &text, NULL), FURROW_OK);
      assert_int_equal(fw_split_rewind(split, NULL), FURROW_OK);
      assert_int_equal(read_part(split, wanted->list + found, files, rng), n);
      fw_text_clear(&text);
    }
    for (size_t i = 0; i < n; i++) assert_int_equal(wanted->list[found + i].part, part);
    found += n;
    sizes += fw_split_size(split);
    fw_split_close(split);
  }
  assert_int_equal(found, wanted->count);
  assert_int_equal(sizes, set.size);
  fw_fileset_clear(&set);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

/* Few and many lines, blank ones, long ones, with any line ends, the last one with or without. */
static void make_text(source *f, fw_rng *rng) {
  static const char *const ends[] = {"\n", "\r\n", "\r", "\n\n", "\r\r\n", "\n\r", "\r\n\r\n"};
  const uint64_t lines = fw_rng_below(rng, 4) ? fw_rng_below(rng, 30) : fw_rng_below(rng, 3);
  const uint64_t kind = fw_rng_below(rng, 5);
  const uint64_t longest = fw_rng_below(rng, 3) ? 20 : 3 + fw_rng_below(rng, 150);
  f->length = 0;
  f->text = malloc(64 * 1024);
  assert_non_null(f->text);
  for (uint64_t i = 0; i < lines; i++) {
    uint64_t n = fw_rng_below(rng, longest);
    if (fw_rng_below(rng, 200) == 0) n = 5000 + fw_rng_below(rng, 12000);
    for (; n > 0 && f->length < 60000; n--) f->text[f->length++] = (char)('a' + fw_rng_below(rng, 26));
    const char *end = ends[kind < 3 ? kind : fw_rng_below(rng, kind == 3 ? 3 : 7)];
    if (i + 1 == lines && fw_rng_below(rng, 3) == 0) end = "";
    memcpy(f->text + f->length, end, strlen(end));
    f->length += strlen(end);
  }
}

static void make_file(source *f, size_t i, fw_file_kind kind, fw_rng *rng) {
  make_text(f, rng);
  f->kind = f->length ? kind : FW_FILE_PLAIN; /* an empty file is a plain one */
  snprintf(f->path, sizeof f->path, "file%zu", i);
  assert_true(packed_write(f->path, f->kind, f->text, f->length, &f->size));
}

static void check_random_sets(uint64_t seed, size_t rounds, bool packed) {
  static const size_t sizes[] = {1, 2, 3, 7, 16, 64, 100, 1000, 4096, 5000, 1 << 20};
  source *files = calloc(MOST_FILES, sizeof *files);
  pieces wanted = {.list = malloc(MOST_PIECES * sizeof(piece))};
  fw_rng rng;
  fw_rng_init(&rng, seed);
  assert_true(files && wanted.list);
  for (size_t round = 0; round < rounds / SLOW; round++) {
    const size_t nfiles = 1 + fw_rng_below(&rng, MOST_FILES);
    for (size_t i = 0; i < nfiles; i++)
      make_file(&files[i], i, packed && fw_rng_below(&rng, 3) ? 1 + (fw_file_kind)fw_rng_below(&rng, 2) : FW_FILE_PLAIN,
                &rng);
    size_t longest = 0;
    for (size_t i = 0; i < nfiles; i++) longest = files[i].length > longest ? files[i].length : longest;
    for (size_t k = 0; k < 6; k++) {
      size_t size = sizes[fw_rng_below(&rng, 11)];
      if (longest / size > 400) size = longest / 400; /* each piece is a call of the system */
      check_split(files, nfiles, 1 + (uint32_t)fw_rng_below(&rng, 9), size, &wanted, &rng);
    }
    for (size_t i = 0; i < nfiles; i++) free(files[i].text);
  }
  free(wanted.list);
  free(files);
}

static void plain_files(void **state) {
  (void)state;
  check_random_sets(1, 160, false);
}

static void packed_files(void **state) {
  (void)state;
  check_random_sets(2, 120, true);
}

/* All texts of up to 6 bytes of a, CR and LF, in one file and cut in two. */
static void all_small_texts(void **state) {
  (void)state;
  source files[2] = {{.kind = FW_FILE_PLAIN}, {.kind = FW_FILE_PLAIN}};
  pieces wanted = {.list = malloc(MOST_PIECES * sizeof(piece))};
  char text[8];
  fw_rng rng;
  fw_rng_init(&rng, 3);
  assert_non_null(wanted.list);
  strcpy(files[0].path, "one");
  strcpy(files[1].path, "two");
  const size_t longest = SLOW > 1 ? 4 : 6;
  for (size_t length = 0, all = 1; length <= longest; length++, all *= 3)
    for (size_t n = 0; n < all; n++) {
      for (size_t i = 0, rest = n; i < length; i++, rest /= 3) text[i] = "a\r\n"[rest % 3];
      const size_t first = n % 5 == 0 ? length / 2 : length;
      files[0].text = text;
      files[0].length = files[0].size = first;
      files[1].text = text + first;
      files[1].length = files[1].size = length - first;
      assert_true(test_write_file(files[0].path, text, first));
      if (first < length) assert_true(test_write_file(files[1].path, text + first, length - first));
      for (uint32_t nparts = 1; nparts <= 4; nparts++)
        check_split(files, 1 + (first < length), nparts, 1 + n % 3, &wanted, &rng);
    }
  free(wanted.list);
}

/* ---- Pipes ---------------------------------------------------------------------------------------------- */

typedef struct pipe_writer {
  int fd;
  const source *file;
} pipe_writer;

static void *write_pieces(void *context) {
  const pipe_writer *f = context;
  for (size_t at = 0; at < f->file->length;) {
    ssize_t n = write(f->fd, f->file->text + at, f->file->length - at < 1000 ? f->file->length - at : 1000);
    if (n <= 0) break;
    at += (size_t)n;
  }
  close(f->fd);
  return NULL;
}

/* A pipe's pieces are those of a file; it is read once. */
static void pipes(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 4);
  pieces wanted = {.list = malloc(MOST_PIECES * sizeof(piece))};
  for (size_t round = 0; round < 100 / SLOW; round++) {
    source file = {.kind = FW_FILE_PLAIN};
    fw_fileset set;
    fw_split *split = NULL;
    pthread_t thread;
    int fds[2];
    size_t piece_size = 1 + fw_rng_below(&rng, round % 2 ? 300 : 20);
    make_text(&file, &rng);
    file.size = file.length;
    expect_pieces(&file, 1, 1, piece_size, &wanted);
    file.kind = FW_FILE_PIPE;
    assert_int_equal(pipe(fds), 0);
    pipe_writer f = {fds[1], &file};
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", fds[0]);
    open_files(&set, &file, 1);
    assert_int_equal(set.files[0].kind, FW_FILE_PIPE);
    assert_int_equal(fw_split_open(&split, &set, 0, 2, piece_size, 1 << 20, NULL), FURROW_E_ARGUMENT);
    assert_int_equal(fw_split_open(&split, &set, 0, 1, piece_size, 1 << 20, NULL), FURROW_OK);
    assert_int_equal(pthread_create(&thread, NULL, write_pieces, &f), 0);
    if (round % 3) { /* a look at the head must not lose it */
      char head[700];
      size_t got = 0;
      size_t number = 9;
      bool whole = false;
      assert_int_equal(fw_split_head(split, head, sizeof head, &got, &number, &whole, NULL), FURROW_OK);
      assert_int_equal(got, file.length < sizeof head ? file.length : sizeof head);
      assert_int_equal(whole, file.length < sizeof head);
      assert_int_equal(number, 0);
      assert_memory_equal(head, file.text, got);
    }
    assert_int_equal(read_part(split, wanted.list, &file, &rng), wanted.count);
    assert_int_equal(fw_split_size(split), 0);
    assert_int_equal(fw_split_rewind(split, NULL), FURROW_E_STATE);
    pthread_join(thread, NULL);
    fw_split_close(split);
    fw_fileset_clear(&set);
    close(fds[0]);
    free(file.text);
  }
  free(wanted.list);
}

/* ---- The rest ------------------------------------------------------------------------------------------- */

static void heads(void **state) {
  (void)state;
  source files[3] = {{.kind = FW_FILE_PLAIN}, {.kind = FW_FILE_PLAIN}, {.kind = FW_FILE_GZIP}};
  static const char *const texts[] = {"", "abc\ndef\n", "packed\n"};
  fw_fileset set;
  fw_split *split = NULL;
  char head[8];
  size_t got = 99;
  size_t number = 99;
  bool whole = false;
  for (size_t i = 0; i < 3; i++) {
    snprintf(files[i].path, sizeof files[i].path, "head%zu", i);
    assert_true(packed_write(files[i].path, files[i].kind, texts[i], strlen(texts[i]), NULL));
  }
  open_files(&set, files, 3); /* the first file that is not empty; for any part */
  assert_int_equal(fw_split_open(&split, &set, 2, 3, 10, 100, NULL), FURROW_OK);
  assert_int_equal(fw_split_head(split, head, 5, &got, &number, &whole, NULL), FURROW_OK);
  assert_true(got == 5 && number == 1 && !whole && memcmp(head, "abc\nd", 5) == 0);
  fw_split_close(split);
  fw_fileset_clear(&set);
  open_files(&set, files + 2, 1);
  assert_int_equal(fw_split_open(&split, &set, 0, 1, 10, 100, NULL), FURROW_OK);
  assert_int_equal(fw_split_head(split, head, 8, &got, &number, &whole, NULL), FURROW_OK);
  assert_true(got == 7 && number == 0 && whole && memcmp(head, "packed\n", 7) == 0);
  fw_split_close(split);
  fw_fileset_clear(&set);
  open_files(&set, files, 1); /* nothing at all */
  assert_int_equal(fw_split_open(&split, &set, 0, 1, 10, 100, NULL), FURROW_OK);
  assert_int_equal(fw_split_head(split, head, 8, &got, &number, &whole, NULL), FURROW_OK);
  assert_true(got == 0 && number == 0 && whole);
  fw_split_close(split);
  fw_fileset_clear(&set);
}

/* Every line of a file with all kinds of ends; CR LF may lie across two reads. */
static void line_numbers(void **state) {
  (void)state;
  enum { LENGTH = 700000 };
  source file = {.kind = FW_FILE_PLAIN, .text = malloc(LENGTH), .length = LENGTH, .size = LENGTH};
  fw_fileset set;
  fw_split *split = NULL;
  fw_rng rng;
  fw_rng_init(&rng, 5);
  assert_non_null(file.text);
  for (size_t i = 0; i < LENGTH; i++) file.text[i] = "\r\nabcdefghijkl"[fw_rng_below(&rng, 14)];
  for (size_t cut = (1 << 18) - 1; cut + 2 < LENGTH; cut += 1 << 18) memcpy(file.text + cut, "\r\n", 2);
  strcpy(file.path, "lines");
  assert_true(test_write_file(file.path, file.text, LENGTH));
  open_files(&set, &file, 1);
  assert_int_equal(fw_split_open(&split, &set, 0, 1, 10, 100, NULL), FURROW_OK);
  size_t number = 1;
  for (size_t at = 0; at < LENGTH; at = next_line(file.text, LENGTH, at), number++) {
    uint64_t line = 0;
    const bool near_cut = at % (1 << 18) < 6 || at % (1 << 18) > (1 << 18) - 6;
    if (number % 2003 && !near_cut) continue;
    assert_int_equal(fw_split_line_number(split, 0, at, &line, NULL), FURROW_OK);
    assert_int_equal(line, number);
  }
  fw_split_close(split);
  fw_fileset_clear(&set);
  free(file.text);
}

static furrow_status read_whole(fw_split *split, furrow_error *err) {
  fw_text text = {0};
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    status = fw_split_claim(split, &text, err);
    if (status == FURROW_OK) status = fw_split_read(split, &text, err);
  }
  fw_text_clear(&text);
  return status;
}

/* A line beyond max_line is refused wherever it can be told; one that is no longer is never refused. */
static void line_limit(void **state) {
  (void)state;
  static const fw_file_kind kinds[] = {FW_FILE_PLAIN, FW_FILE_GZIP};
  for (size_t k = 0; k < 2; k++) {
    source file = {.kind = kinds[k], .length = 400000};
    file.text = malloc(file.length);
    assert_non_null(file.text);
    memset(file.text, 'x', file.length);
    file.text[0] = file.text[200001] = '\n';
    strcpy(file.path, "long");
    assert_true(packed_write(file.path, file.kind, file.text, file.length, &file.size));
    for (size_t piece_size = 1; piece_size < 2000; piece_size *= 40) {
      fw_fileset set;
      fw_split *split = NULL;
      furrow_error err = {0};
      open_files(&set, &file, 1);
      assert_int_equal(fw_split_open(&split, &set, 0, 1, piece_size, 200000, NULL), FURROW_OK);
      assert_int_equal(read_whole(split, &err), FURROW_END);
      fw_split_close(split);
      assert_int_equal(fw_split_open(&split, &set, 0, 1, piece_size, 50000, NULL), FURROW_OK);
      assert_int_equal(read_whole(split, &err), FURROW_E_PARSE);
      assert_string_equal(err.file, file.path);
      assert_non_null(strstr(err.message, "50000"));
      fw_split_close(split);
      fw_fileset_clear(&set);
    }
    free(file.text);
  }
}

static void wrong_parts(void **state) {
  (void)state;
  source file = {.kind = FW_FILE_PLAIN};
  fw_fileset set;
  fw_split *split = NULL;
  strcpy(file.path, "parts");
  assert_true(test_write_text(file.path, "a\n"));
  open_files(&set, &file, 1);
  assert_int_equal(fw_split_open(&split, &set, 3, 3, 10, 10, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(fw_split_open(&split, &set, 0, 0, 10, 10, NULL), FURROW_E_ARGUMENT);
  assert_null(split);
  fw_fileset_clear(&set);
}

static void file_cut_short(void **state) {
  (void)state;
  source file = {.kind = FW_FILE_PLAIN};
  fw_fileset set;
  fw_split *split = NULL;
  furrow_error err = {0};
  strcpy(file.path, "short");
  assert_true(test_write_text(file.path, "abc\ndef\nghi\n"));
  open_files(&set, &file, 1);
  assert_int_equal(fw_split_open(&split, &set, 0, 1, 4, 100, NULL), FURROW_OK);
  assert_true(test_write_text(file.path, "abc\nd"));
  assert_int_equal(read_whole(split, &err), FURROW_E_IO);
  assert_string_equal(err.file, file.path);
  fw_split_close(split);
  fw_fileset_clear(&set);
}

/* Pieces of a file that are read after its last one must not keep it open: there can be more files than descriptors. */
static void few_descriptors(void **state) {
  (void)state;
  enum { FILES = 200 };
  char *paths[FILES];
  fw_fileset set;
  fw_split *split = NULL;
  for (int i = 0; i < FILES; i++) {
    paths[i] = malloc(16);
    assert_non_null(paths[i]);
    snprintf(paths[i], 16, "many%03d", i);
    assert_true(test_write_text(paths[i], "a\nb\nc\n"));
  }
  assert_int_equal(fw_fileset_open(&set, paths, FILES, NULL), FURROW_OK);
  assert_int_equal(fw_split_open(&split, &set, 0, 1, 2, 100, NULL), FURROW_OK);
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  few = before;
  few.rlim_cur = 40;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  size_t lines = 0;
  furrow_status status = FURROW_OK;
  for (int i = 0; i < FILES && status == FURROW_OK; i++) {
    fw_text texts[3] = {{0}};
    for (int k = 0; k < 3 && status == FURROW_OK; k++) status = fw_split_claim(split, &texts[k], NULL);
    for (int k = 3; k-- > 0 && status == FURROW_OK;) status = fw_split_read(split, &texts[k], NULL);
    for (int k = 0; k < 3; k++) {
      lines += texts[k].length / 2;
      fw_text_clear(&texts[k]);
    }
  }
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(status, FURROW_OK);
  assert_int_equal(lines, 3 * FILES);
  fw_split_close(split);
  fw_fileset_clear(&set);
  for (int i = 0; i < FILES; i++) free(paths[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_small_texts), cmocka_unit_test(plain_files), cmocka_unit_test(packed_files),
      cmocka_unit_test(pipes),           cmocka_unit_test(heads),       cmocka_unit_test(line_numbers),
      cmocka_unit_test(line_limit),      cmocka_unit_test(wrong_parts), cmocka_unit_test(file_cut_short),
      cmocka_unit_test(few_descriptors),
  };
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
