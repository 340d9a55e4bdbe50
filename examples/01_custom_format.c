/* examples/01_custom_format.c: two custom formats, one registered before main, one while the program runs.
 *
 * "named" has names instead of indices. The index of a name is its hash; the argument `bits` says how many bits it has:
 *
 *   label [weight] (|letter name[:value] ...)...       1 2.5 |u age:0.5 city=Bern |i item=77
 *
 * "fingerprint" is a label and a string of bits: 1 00101 has the features 2 and 4. The program parses a small text in
 * each format, checks the rows and the errors, and returns 0 if all checks pass.
 */
#define _POSIX_C_SOURCE 200809L
#include <furrow/furrow.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Helpers of both ---------------------------------------------------------------------------------- */

/* A line is not a C string: it is not terminated. */
typedef struct span {
  const char *begin, *end;
} span;

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Removes the next word from the line; returns false if there is none. */
static bool next_word(span *line, span *word) {
  const char *p = line->begin;
  while (p < line->end && is_blank(*p)) p++;
  word->begin = p;
  while (p < line->end && !is_blank(*p)) p++;
  word->end = line->begin = p;
  return word->begin < word->end;
}

/* strtod needs a terminated string; otherwise it would read into the next line. */
static bool read_number(span text, double *number) {
  char copy[64];
  const size_t n = (size_t)(text.end - text.begin);
  if (n == 0 || n >= sizeof copy || is_blank(*text.begin)) return false;
  memcpy(copy, text.begin, n);
  copy[n] = 0;
  char *after;
  *number = strtod(copy, &after);
  return after == copy + n;
}

/* Reports an error of a line: message, column and token. Furrow adds the file and the number of the line. */
static furrow_status refuse(furrow_error *err, const char *line, span text, const char *message) {
  if (err) {
    *err = (furrow_error){.status = FURROW_E_PARSE, .offset = FURROW_NO_OFFSET};
    err->column = (uint64_t)(text.begin - line) + 1;
    snprintf(err->message, sizeof err->message, "%s", message);
    snprintf(err->token, sizeof err->token, "%.*s", (int)(text.end - text.begin), text.begin);
  }
  return FURROW_E_PARSE;
}

/* ---- named: registered before main -------------------------------------------------------------------- */

/* Furrow creates it once per parser from the arguments of the URI; the parsing threads only read it. */
typedef struct named_state {
  uint64_t mask;
} named_state;

static const furrow_arg named_args[] = {
    {"bits", FURROW_ARG_INT, "18", NULL, "an index is a hash of the name of so many bits: 1 to 32"},
};

static furrow_status named_open(const furrow_args *args, void **state, furrow_error *err) {
  const int64_t bits = furrow_args_int(args, "bits"); /* Furrow has checked that it is an integer */
  if (bits < 1 || bits > 32) {
    if (err) {
      *err = (furrow_error){.status = FURROW_E_ARGUMENT, .offset = FURROW_NO_OFFSET};
      snprintf(err->message, sizeof err->message, "bits must be 1 to 32");
    }
    return FURROW_E_ARGUMENT;
  }
  named_state *s = malloc(sizeof *s);
  if (!s) return FURROW_E_MEMORY;
  s->mask = ((uint64_t)1 << bits) - 1;
  *state = s;
  return FURROW_OK;
}

/* FNV-1a, 64 bits */
static uint64_t hash_name(span name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char *p = name.begin; p < name.end; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
  return hash;
}

/* name[:value]; the letter of its group is the field. */
static furrow_status named_feature(const named_state *state, const char *line, span word, char letter,
                                   furrow_rowbuilder *row, furrow_error *err) {
  double value = 1;
  span name = word;
  const char *colon = memchr(word.begin, ':', (size_t)(word.end - word.begin));
  if (colon) {
    name.end = colon;
    if (!read_number((span){colon + 1, word.end}, &value)) return refuse(err, line, word, "the value is not a number");
  }
  if (name.begin == name.end) return refuse(err, line, word, "a feature without a name");
  return furrow_rowbuilder_feature_of_field(row, (uint64_t)(letter - 'a'), hash_name(name) & state->mask, value, err);
}

static furrow_status named_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                furrow_error *err) {
  span rest = {line, line + length};
  span word;
  double number;
  char letter = 0;
  if (!next_word(&rest, &word) || *word.begin == '#') return FURROW_OK; /* no call on row: not a row */
  if (!read_number(word, &number)) return refuse(err, line, word, "the label is not a number");
  furrow_status status = furrow_rowbuilder_label(row, number, err);
  for (bool first = true; status == FURROW_OK && next_word(&rest, &word); first = false) {
    if (*word.begin == '|') {
      if (word.end - word.begin != 2 || word.begin[1] < 'a' || word.begin[1] > 'z')
        return refuse(err, line, word, "a group is named by one letter, a to z");
      letter = word.begin[1];
    } else if (letter) {
      status = named_feature(state, line, word, letter, row, err);
    } else {
      if (!first || !read_number(word, &number)) return refuse(err, line, word, "a feature outside of any group");
      status = furrow_rowbuilder_weight(row, (float)number, err);
    }
  }
  return status;
}

static const furrow_rows_format named = {
    .size = sizeof(furrow_rows_format),
    .name = "named",
    .description = "label [weight] (|letter name[:value] ...)...",
    .args = named_args,
    .nargs = sizeof named_args / sizeof named_args[0],
    .open = named_open,
    .parse_line = named_line,
    .close = free,
};
FURROW_REGISTER_ROWS_FORMAT(named);

/* ---- fingerprint: registered while the program runs; no arguments, no state --------------------------- */

static furrow_status fingerprint_line(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                                      furrow_error *err) {
  (void)state;
  span rest = {line, line + length};
  span word;
  double label;
  if (!next_word(&rest, &word)) return FURROW_OK;
  if (!read_number(word, &label)) return refuse(err, line, word, "the label is not a number");
  furrow_status status = furrow_rowbuilder_label(row, label, err);
  if (!next_word(&rest, &word)) return status;
  for (const char *p = word.begin; status == FURROW_OK && p < word.end; p++) {
    if (*p == '1')
      status = furrow_rowbuilder_feature(row, (uint64_t)(p - word.begin), 1, err);
    else if (*p != '0')
      status = refuse(err, line, (span){p, word.end}, "a bit is 0 or 1");
  }
  return status;
}

static const furrow_rows_format fingerprint = {
    .size = sizeof(furrow_rows_format),
    .name = "fingerprint",
    .description = "label and a string of bits",
    .parse_line = fingerprint_line,
};

/* ---- The checks --------------------------------------------------------------------------------------- */

static int failures;

static void check(bool holds, const char *what) {
  printf("%s: %s\n", holds ? "ok" : "WRONG", what);
  failures += !holds;
}

/* Writes the text to a file. */
static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) == EOF || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
}

/* Reads all rows of `path` + `args` into one container; returns the status of opening or reading. */
static furrow_status read_all(const char *path, const char *args, const char *format, furrow_container *rows,
                              furrow_error *err) {
  char uri[128];
  furrow_parser *parser = NULL;
  const furrow_rowblock *block;
  snprintf(uri, sizeof uri, "%s%s", path, args);
  furrow_container_clear(rows);
  furrow_status status = furrow_parser_open_part(&parser, uri, 0, 1, format, err);
  while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, err)) == FURROW_OK)
    status = furrow_container_push_block(rows, block, err);
  furrow_parser_close(parser);
  return status;
}

static uint64_t index_of(const char *name, unsigned bits) {
  return hash_name((span){name, name + strlen(name)}) & (((uint64_t)1 << bits) - 1);
}

static void try_named(const char *path, furrow_container *rows, furrow_error *err) {
  furrow_rowblock block = {0};
  write_text(path, "# two people\n1 2.5 |u age:0.5 city=Bern |i item=77\n\n-1 |u city=Rome\n");
  check(read_all(path, "?bits=10", "named", rows, err) == FURROW_END, "named text is read");
  check(furrow_container_get_block(rows, &block, err) == FURROW_OK && block.size == 2, "it has two rows");
  if (block.size != 2) return;
  const furrow_row one = furrow_rowblock_row(&block, 0);
  const furrow_row two = furrow_rowblock_row(&block, 1);
  check(furrow_row_get_label(&one) == 1 && furrow_row_get_weight(&one) == 2.5F && one.length == 3,
        "the first row has label 1, weight 2.5 and three features");
  check(furrow_row_get_field(&one, 0) == 'u' - 'a' && furrow_row_get_index(&one, 0) == index_of("age", 10) &&
            furrow_row_get_value(&one, 0) == 0.5,
        "the first is age of group u with 0.5");
  check(furrow_row_get_field(&one, 2) == 'i' - 'a' && furrow_row_get_index(&one, 2) == index_of("item=77", 10) &&
            furrow_row_get_value(&one, 2) == 1,
        "the last is item=77 of group i with 1");
  check(furrow_row_get_label(&two) == -1 && furrow_row_get_weight(&two) == 1, "the second row has the weight 1");

  write_text(path, "1 |u age:0.5\n1 |u age:old\n");
  check(read_all(path, "", "named", rows, err) == FURROW_E_PARSE && err->line == 2 && err->column == 6 &&
            strcmp(err->token, "age:old") == 0,
        "a value that is not a number is reported with its place");
  check(furrow_container_size(rows) == 1, "the row before it was read");
  check(read_all(path, "?bits=99", "named", rows, err) == FURROW_E_ARGUMENT, "99 bits are refused");
  check(read_all(path, "?bit=9", "named", rows, err) == FURROW_E_ARGUMENT && strstr(err->message, "bits"),
        "an argument that was not declared is refused, and the message lists those that were");
}

static void try_fingerprint(const char *path, furrow_container *rows, furrow_error *err) {
  furrow_rowblock block = {0};
  const furrow_rows_format *format = NULL;
  check(furrow_rows_format_find("fingerprint", &format, err) == FURROW_E_ARGUMENT, "fingerprint is not known yet");
  check(furrow_rows_format_register(&fingerprint, err) == FURROW_OK, "it is registered");
  check(furrow_rows_format_register(&fingerprint, err) == FURROW_E_EXISTS, "a name is taken once");
  write_text(path, "1 00101\n0 1\n");
  check(read_all(path, "?format=fingerprint", "auto", rows, err) == FURROW_END, "the URI may name the format");
  check(furrow_container_get_block(rows, &block, err) == FURROW_OK && block.size == 2, "it has two rows");
  if (block.size != 2) return;
  const furrow_row row = furrow_rowblock_row(&block, 0);
  check(row.length == 2 && furrow_row_get_index(&row, 0) == 2 && furrow_row_get_index(&row, 1) == 4,
        "the bits of the first are 2 and 4");
}

int main(void) {
  char path[] = "/tmp/furrow-format-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0 || close(fd) != 0) {
    perror(path);
    return 1;
  }
  furrow_error err = {.status = FURROW_OK};
  furrow_container *rows = NULL;
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U32, FURROW_VALUE_F32, &err);
  check(status == FURROW_OK, "a container for the rows");
  if (status == FURROW_OK) {
    try_named(path, rows, &err);
    try_fingerprint(path, rows, &err);
  }
  furrow_container_free(rows);
  unlink(path);
  return failures == 0 ? 0 : 1;
}
