/* cli/core/options.c: reads a command line by its option tables. */
#include "core/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "furrow/io.h"
#include "furrow/table.h"

enum { LONGEST_WORD = 64, MOST_OPTIONS = 192 };

const option common_options[] = {QUIET_OPTION(offsetof(common_values, quiet)),
                                 {.name = "verbose",
                                  .letter = 'v',
                                  .kind = OPTION_FLAG,
                                  .help = "print time and memory on stderr at the end",
                                  .offset = offsetof(common_values, verbose)},
                                 {.name = "help",
                                  .letter = 'h',
                                  .kind = OPTION_FLAG,
                                  .help = "print this help",
                                  .offset = offsetof(common_values, help)},
                                 {0}};

const option json_options[] = {JSON_OPTION(0), {0}};
const option quiet_options[] = {QUIET_OPTION(0), {0}};
const option threads_options[] = {THREADS_OPTION(0, ""), {0}};
const option memory_options[] = {
    {.name = "memory", .kind = OPTION_BYTES, .argument = "BYTES", .help = "memory for elements, such as 256MiB (1GiB)"},
    {0}};

static furrow_status load_plugin(const char *path, void *field, furrow_error *err) {
  (void)field;
  return furrow_plugin_load(path, err);
}

const option plugin_options[] = {{.name = "plugin",
                                  .kind = OPTION_PARSED,
                                  .argument = "FILE.so",
                                  .help = "add the formats of a shared object; may be given several times",
                                  .parse = load_plugin},
                                 {0}};

const option query_options[] = {
    {.name = "sql",
     .kind = OPTION_TEXT,
     .argument = "QUERY",
     .help = "read the result of a query that DuckDB runs, such as \"SELECT * FROM 'log/*.parquet' ORDER BY time\"",
     .offset = offsetof(common_values, sql)},
    {.name = "database",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "with --sql: the database of DuckDB that has its tables, which is opened for reading",
     .offset = offsetof(common_values, database)},
    {0}};

static furrow_status read_timeout(const char *text, void *field, furrow_error *err) {
  double seconds;
  if (!read_real(text, &seconds) || !(seconds > 0))
    return fail_token(err, text, "--rank-timeout takes a number of seconds above 0");
  *(double *)field = seconds;
  return FURROW_OK;
}

const option process_options[] = {
    {.name = "mpi",
     .kind = OPTION_FLAG,
     .help = "use MPI although mpirun has started only one process",
     .offset = offsetof(common_values, mpi)},
    {.name = "rank-timeout",
     .kind = OPTION_PARSED,
     .argument = "S",
     .help = "under mpirun: end the job when a process has not answered for S seconds (60)",
     .offset = offsetof(common_values, rank_timeout),
     .parse = read_timeout},
    {0}};

typedef struct found {
  const option *option;
  void *field;
} found;

typedef struct parse_state {
  const char *path; /* command as typed: "furrow rows dump" */
  const option_group *groups;
  const option *operands;
  char *values;
  common_values *common;
  int argc;
  char **argv;
  int at;           /* index of the current word */
  size_t noperands; /* operands filled so far */
  bool given[MOST_OPTIONS];
} parse_state;

/* ---- Numbers -------------------------------------------------------------------------------------------- */

bool read_u64(const char *text, uint64_t *value) {
  if (!isdigit((unsigned char)text[0])) return false;
  char *end = NULL;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (errno || *end) return false;
  *value = number;
  return true;
}

bool read_real(const char *text, double *value) {
  if (!text[0] || isspace((unsigned char)text[0])) return false;
  char *end = NULL;
  double number = strtod(text, &end);
  if (*end || !isfinite(number)) return false;
  *value = number;
  return true;
}

static bool read_bytes(const char *text, size_t *value) {
  static const char *const suffixes[] = {"", "K", "M", "G", "B", "KiB", "MiB", "GiB"};
  size_t digits = strspn(text, "0123456789");
  char number[24];
  uint64_t count;
  if (digits >= sizeof number) return false;
  memcpy(number, text, digits);
  number[digits] = 0;
  if (!read_u64(number, &count)) return false;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    if (strcmp(text + digits, suffixes[i]) != 0) continue;
    unsigned shift = 10 * (unsigned)(i % 4);
    if (count > SIZE_MAX >> shift) return false;
    *value = (size_t)count << shift;
    return true;
  }
  return false;
}

/* ---- Suggestions ---------------------------------------------------------------------------------------- */

static size_t smallest(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Edit distance with insert, delete, replace and swap of neighbours; LONGEST_WORD for words that are too long. */
static size_t edit_distance(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  if (na >= LONGEST_WORD || nb >= LONGEST_WORD) return LONGEST_WORD;
  size_t rows[3][LONGEST_WORD + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++) last[j] = j;
  for (size_t i = 1; i <= na; i++) {
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      row[j] = smallest(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
        row[j] = before[j - 2] + 1;
    }
    size_t *free_row = before;
    before = last;
    last = row;
    row = free_row;
  }
  return last[nb];
}

const char *closest_word(const char *word, const char *const *candidates, size_t count) {
  const char *best = NULL;
  size_t length = strlen(word);
  size_t best_distance = length / 3 + 1; /* one edit per three letters is a typing error; with more edits it is another
                                            word */
  for (size_t i = 0; i < count; i++) {
    bool begins = length >= 2 && strncmp(word, candidates[i], length) == 0;
    size_t distance = begins ? 1 : edit_distance(word, candidates[i]);
    if (distance < length && distance <= best_distance && (!best || distance < best_distance)) {
      best = candidates[i];
      best_distance = distance;
    }
  }
  return best;
}

static furrow_status unknown_option(const parse_state *state, const char *name, size_t length, furrow_error *err) {
  const char *names[MOST_OPTIONS];
  char word[LONGEST_WORD];
  size_t count = 0;
  for (const option_group *group = state->groups; group && group->title; group++)
    for (const option *o = group->options; o->name && count < MOST_OPTIONS - 5; o++) names[count++] = o->name;
  for (const option *o = common_options; o->name; o++) names[count++] = o->name;
  for (const option *o = process_options; o->name; o++) names[count++] = o->name;
  if (length >= sizeof word) length = sizeof word - 1;
  memcpy(word, name, length);
  word[length] = 0;
  const char *closest = closest_word(word, names, count);
  fail(err, FURROW_E_ARGUMENT, "unknown option --%s", word);
  return closest ? add_hint(err, "did you mean --%s?", closest)
                 : add_hint(err, "'%s --help' lists the options", state->path);
}

/* ---- Values --------------------------------------------------------------------------------------------- */

static const char *display_name(const option *o, char text[LONGEST_WORD]) {
  bool operand = isupper((unsigned char)o->name[0]);
  text[0] = 0;
  if (!operand) strcat(text, "--");
  return strncat(text, o->name, LONGEST_WORD - 3);
}

static furrow_status store_enum(const option *o, const char *text, int *field, furrow_error *err) {
  const char *names[32];
  char copy[256], shown[LONGEST_WORD];
  size_t count = 0;
  strncpy(copy, o->choices, sizeof copy - 1);
  copy[sizeof copy - 1] = 0;
  char *rest = NULL;
  for (char *word = strtok_r(copy, "|", &rest); word && count < 32; word = strtok_r(NULL, "|", &rest)) {
    if (strcmp(word, text) == 0) {
      *field = (int)count;
      return FURROW_OK;
    }
    names[count++] = word;
  }
  const char *closest = closest_word(text, names, count);
  fail_token(err, text, "%s takes one of %s", display_name(o, shown), o->choices);
  return closest ? add_hint(err, "did you mean %s?", closest) : FURROW_E_ARGUMENT;
}

static furrow_status bad_value(const option *o, const char *text, const char *what, furrow_error *err) {
  char shown[LONGEST_WORD];
  return fail_token(err, text, "%s takes %s", display_name(o, shown), what);
}

static furrow_status store_number(const option *o, const char *text, void *field, furrow_error *err) {
  uint64_t number;
  if (!read_u64(text, &number)) return bad_value(o, text, "a whole number", err);
  if (o->kind == OPTION_THREADS && number > MOST_THREADS) return bad_value(o, text, "a number up to 1024", err);
  if (o->kind == OPTION_U64) {
    *(uint64_t *)field = number;
  } else {
    if (number > UINT32_MAX) return bad_value(o, text, "a number below 4294967296", err);
    *(uint32_t *)field = (uint32_t)number;
  }
  return FURROW_OK;
}

static furrow_status store_count(const option *o, const char *text, void *field, furrow_error *err) {
  uint64_t number, most = o->kind == OPTION_COUNT32 ? INT32_MAX : INT64_MAX;
  if (!read_u64(text, &number) || number == 0 || number > most)
    return bad_value(o, text,
                     o->kind == OPTION_COUNT32 ? "a whole number from 1 to 2147483647" : "a whole number from 1", err);
  if (o->kind == OPTION_COUNT32)
    *(int32_t *)field = (int32_t)number;
  else
    *(int64_t *)field = (int64_t)number;
  return FURROW_OK;
}

static furrow_status store_item(const option *o, const char *text, text_list *list, furrow_error *err) {
  char shown[LONGEST_WORD];
  if (!*text && !o->may_be_empty) return fail(err, FURROW_E_ARGUMENT, "%s is empty", display_name(o, shown));
  if (list->count == MOST_TEXTS)
    return fail_token(err, text, "%s may be given at most %d times", display_name(o, shown), MOST_TEXTS);
  list->texts[list->count++] = text;
  return FURROW_OK;
}

static furrow_status store_value(const option *o, const char *text, void *field, furrow_error *err) {
  switch (o->kind) {
  case OPTION_FLAG: *(bool *)field = true; return FURROW_OK;
  case OPTION_TEXT: *(const char **)field = text; return FURROW_OK;
  case OPTION_ENUM: return store_enum(o, text, field, err);
  case OPTION_U32:
  case OPTION_THREADS:
  case OPTION_U64: return store_number(o, text, field, err);
  case OPTION_COUNT32:
  case OPTION_COUNT64: return store_count(o, text, field, err);
  case OPTION_LIST: return store_item(o, text, field, err);
  case OPTION_REAL: return read_real(text, field) ? FURROW_OK : bad_value(o, text, "a number", err);
  case OPTION_BYTES:
    return read_bytes(text, field) ? FURROW_OK : bad_value(o, text, "a number of bytes such as 65536 or 8MiB", err);
  case OPTION_PARSED: return o->parse(text, field, err);
  }
  return fail(err, FURROW_E_STATE, "option of unknown kind");
}

/* ---- Words ---------------------------------------------------------------------------------------------- */

static bool is_long(const option *o, const char *name, size_t length) {
  return strlen(o->name) == length && memcmp(o->name, name, length) == 0;
}

bool option_is_named(const option_group *groups, const char *name) {
  for (const option_group *group = groups; group && group->title; group++)
    for (const option *o = group->options; o->name; o++)
      if (strcmp(o->name, name) == 0) return true;
  return false;
}

void options_replace_keys(const option_group *groups, char *text) {
  static const char before[] = "key `";
  char name[64];
  for (char *at = text; (at = strstr(at, before));) {
    const char *word = at + sizeof before - 1;
    const size_t n = strcspn(word, "`");
    char *begin = at - text >= 4 && strncmp(at - 4, "the ", 4) == 0 ? at - 4 : at;
    at += sizeof before - 1;
    if (word[n] != '`' || n >= sizeof name) continue;
    memcpy(name, word, n);
    name[n] = 0;
    if (!option_is_named(groups, name)) continue;
    memcpy(begin, "--", 2);
    memcpy(begin + 2, name, n);
    memmove(begin + 2 + n, word + n + 1, strlen(word + n + 1) + 1);
    at = begin + 2 + n;
  }
}

/* Finds the option named name[0 … length-1]; with name NULL, the option with that letter. */
static found find_option(parse_state *state, const char *name, size_t length, char letter) {
  size_t place = 0;
  for (const option_group *group = state->groups; group && group->title; group++) {
    for (const option *o = group->options; o->name; o++, place++) {
      if (name ? !is_long(o, name, length) : o->letter != letter) continue;
      if (place < MOST_OPTIONS) state->given[place] = true;
      char *values = group->options == query_options ? (char *)state->common : state->values + group->offset;
      return (found){o, values + o->offset};
    }
  }
  const option *const tables[] = {common_options, process_options};
  for (size_t i = 0; i < 2; i++)
    for (const option *o = tables[i]; o->name; o++)
      if (name ? is_long(o, name, length) : o->letter == letter) return (found){o, (char *)state->common + o->offset};
  return (found){NULL, NULL};
}

/* Stores the value of an option: `inlined` (--name=value, -xvalue), or the next word if that is NULL. */
static furrow_status take_value(parse_state *state, found hit, const char *inlined, furrow_error *err) {
  const option *o = hit.option;
  const char *next = state->at + 1 < state->argc ? state->argv[state->at + 1] : NULL;
  if (o->kind == OPTION_FLAG) {
    if (inlined) return fail_token(err, inlined, "--%s takes no value", o->name);
    return store_value(o, NULL, hit.field, err);
  }
  if (inlined) return store_value(o, inlined, hit.field, err);
  if (!next) return fail(err, FURROW_E_ARGUMENT, "--%s needs a value", o->name);
  if (strncmp(next, "--", 2) == 0) {
    fail_token(err, next, "--%s needs a value", o->name);
    return add_hint(err, "write a value that begins with -- as --%s=VALUE", o->name);
  }
  state->at++;
  return store_value(o, next, hit.field, err);
}

static furrow_status take_option(parse_state *state, furrow_error *err) {
  const char *word = state->argv[state->at];
  if (word[1] == '-') {
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    found hit = find_option(state, name, length, 0);
    if (!hit.option) return unknown_option(state, name, length, err);
    return take_value(state, hit, equals ? equals + 1 : NULL, err);
  }
  found hit = find_option(state, NULL, 0, word[1]);
  if (!hit.option) {
    fail(err, FURROW_E_ARGUMENT, "unknown option -%c", word[1]);
    return add_hint(err, "'%s --help' lists the options", state->path);
  }
  return take_value(state, hit, word[2] ? word + 2 : NULL, err);
}

static furrow_status take_operand(parse_state *state, furrow_error *err) {
  const char *word = state->argv[state->at];
  const option *operand = state->operands;
  /* a list takes all remaining words */
  for (size_t i = 0; operand && operand->name && operand->kind != OPTION_LIST && i < state->noperands; i++) operand++;
  if (!operand || !operand->name) return fail_token(err, word, "unexpected argument");
  state->noperands++;
  return store_value(operand, word, state->values + operand->offset, err);
}

static furrow_status fail_missing(const parse_state *state, const char *dashes, const char *name, furrow_error *err) {
  fail(err, FURROW_E_ARGUMENT, "%s%s is missing", dashes, name);
  return add_hint(err, "see '%s --help'", state->path);
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

/* Finds the option or operand that a query gives. */
static found find_data(parse_state *state) {
  size_t place = 0;
  const option *operand = state->operands;
  for (size_t i = 0; operand && operand->name; i++, operand++) {
    if (!operand->from_query) continue;
    state->noperands += state->noperands == i; /* the operands before it were given */
    return (found){operand, state->values + operand->offset};
  }
  for (const option_group *group = state->groups; group && group->title; group++)
    for (const option *o = group->options; o->name; o++, place++) {
      if (!o->from_query) continue;
      if (place < MOST_OPTIONS) state->given[place] = true;
      return (found){o, state->values + group->offset + o->offset};
    }
  return (found){NULL, NULL};
}

static bool is_operand(const parse_state *state, const option *o) {
  for (const option *operand = state->operands; operand && operand->name; operand++)
    if (operand == o) return true;
  return false;
}

static furrow_status take_query(parse_state *state, furrow_error *err) {
  const common_values *common = state->common;
  if (!common->sql && common->database) return fail(err, FURROW_E_ARGUMENT, "--database needs --sql");
  const found data = common->sql ? find_data(state) : (found){NULL, NULL};
  if (!data.option) return FURROW_OK;
  const bool list = data.option->kind == OPTION_LIST;
  if (list ? ((const text_list *)data.field)->count > 0 : *(const char **)data.field != NULL)
    return fail(err, FURROW_E_ARGUMENT, "--sql and %s%s cannot be used together",
                is_operand(state, data.option) ? "" : "--", data.option->name);
  const furrow_status status = furrow_memory_query_add(QUERY_PATH, common->sql, common->database, err);
  return status == FURROW_OK ? store_value(data.option, QUERY_PATH, data.field, err) : status;
}

static furrow_status check_required(const parse_state *state, furrow_error *err) {
  size_t place = 0;
  const option *operand = state->operands;
  for (size_t i = 0; operand && operand->name; i++, operand++)
    if (operand->required && i >= state->noperands) return fail_missing(state, "", operand->name, err);
  for (const option_group *group = state->groups; group && group->title; group++)
    for (const option *o = group->options; o->name; o++, place++)
      if (o->required && !state->given[place]) return fail_missing(state, "--", o->name, err);
  return FURROW_OK;
}

/* - and URIs such as -?format=csv are standard input, not options */
static bool is_option(const char *word) {
  return word[0] == '-' && (word[1] == '-' || isalnum((unsigned char)word[1]));
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

furrow_status options_parse(const char *path, const option_group *groups, const option *operands, int argc, char **argv,
                            void *values, common_values *common, furrow_error *err) {
  parse_state state = {.path = path,
                       .groups = groups,
                       .operands = operands,
                       .values = values,
                       .common = common,
                       .argc = argc,
                       .argv = argv};
  *common = (common_values){.help = asks_for_help(argc, argv)};
  if (common->help) return FURROW_OK;
  bool only_operands = false;
  for (state.at = 0; state.at < argc; state.at++) {
    const char *word = argv[state.at];
    furrow_status status = FURROW_OK;
    if (!only_operands && strcmp(word, "--") == 0)
      only_operands = true;
    else if (!only_operands && is_option(word))
      status = take_option(&state, err);
    else
      status = take_operand(&state, err);
    if (status != FURROW_OK) return status;
  }
  const furrow_status status = take_query(&state, err);
  return status == FURROW_OK ? check_required(&state, err) : status;
}
