/* rows/schema/schema_json.c: reads and writes schema.json (docs/formats/schema.md). */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_in.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "io/input.h"
#include "rows/schema/schema.h"

#define KIND(name) (1u << FW_AS_##name)
#define ANY_KIND (~0u)
#define NAMED_KINDS (KIND(CATEGORY) | KIND(SET) | KIND(TEXT))
#define READ_AS_NUMBERS (KIND(NUMBER) | KIND(LABEL) | KIND(WEIGHT))

/* X(name, text, kinds that have it): members of a column */
#define COLUMN_MEMBERS(X)                             \
  X(AS, "as", ANY_KIND)                               \
  X(ROLE, "role", ANY_KIND)                           \
  X(WHY, "why", ANY_KIND)                             \
  X(UNSURE, "unsure", ANY_KIND)                       \
  X(MIN_COUNT, "min_count", NAMED_KINDS)              \
  X(HASH, "hash", NAMED_KINDS)                        \
  X(SEPARATOR, "separator", KIND(SET))                \
  X(VALUES, "values", KIND(SET))                      \
  X(SCALE, "scale", KIND(NUMBER))                     \
  X(BINS, "bins", KIND(NUMBER))                       \
  X(PARTS, "parts", KIND(TIME))                       \
  X(UNIT, "unit", KIND(TIME) | READ_AS_NUMBERS)       \
  X(DECIMAL, "decimal", READ_AS_NUMBERS)              \
  X(MISSING, "missing", KIND(TIME) | READ_AS_NUMBERS) \
  X(CLASSES, "classes", KIND(LABEL))

typedef enum column_member {
#define FW_X(name, text, kinds) MEMBER_##name,
  COLUMN_MEMBERS(FW_X)
#undef FW_X
      MEMBER_COUNT
} column_member;

static const char *const member_names[] = {
#define FW_X(name, text, kinds) text,
    COLUMN_MEMBERS(FW_X)
#undef FW_X
};
static const unsigned member_kinds[] = {
#define FW_X(name, text, kinds) kinds,
    COLUMN_MEMBERS(FW_X)
#undef FW_X
};

static const char *const kind_names[] = {
#define FW_X(name, text) text,
    FW_COLUMN_KINDS(FW_X)
#undef FW_X
};
static const char *const role_names[] = {
#define FW_X(name, text) text,
    FW_ROLES(FW_X)
#undef FW_X
};
static const char *const scale_names[] = {
#define FW_X(name, text) text,
    FW_SCALES(FW_X)
#undef FW_X
};
static const char *const part_names[] = {
#define FW_X(name, text, values) text,
    FW_TIME_PARTS(FW_X)
#undef FW_X
};
static const char *const decimal_marks[] = {".", ","};
static const char *const unit_names[] = {
#define FW_X(name, text, per_second) text,
    FW_TIME_UNITS(FW_X)
#undef FW_X
};

const char *fw_column_kind_name(fw_column_kind kind) {
  return kind_names[kind];
}
const char *fw_role_name(fw_role role) {
  return role_names[role];
}
const char *fw_time_part_name(fw_time_part part) {
  return part_names[part];
}
const char *fw_time_unit_name(fw_time_unit unit) {
  return unit_names[unit];
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct schema_reader {
  furrow_json json;
  furrow_schema *schema;
  furrow_error *err;
  char unit[FW_NUMBER_UNIT + 2]; /* unit of the column, cut short; a word for times, any text for numbers */
  uint64_t at[MEMBER_COUNT];     /* offsets of the members of the column; 0: absent */
} schema_reader;

/* ---- Values ---- */

static furrow_status refuse_member(schema_reader *r, const char *message) {
  return furrow_json_fail(&r->json, furrow_json_offset(&r->json), NULL, r->err, "%s", message);
}

static void list_words(const char *const *words, size_t count, char *list, size_t size) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (!words[i][0]) continue; /* the empty name means no role */
    const int added = snprintf(list + n, size - n, "%s%s", n > 0 ? ", " : "", words[i]);
    if (added < 0 || (size_t)added >= size - n) return;
    n += (size_t)added;
  }
}

/* Fails because the word is not one of the allowed words. `member`: the member with the word, which has been read;
 * NULL: the word is the reader's current value. */
static furrow_status refuse_word(schema_reader *r, uint64_t offset, const char *member, furrow_json_text word,
                                 const char *what, const char *const *words, size_t count) {
  char written[FW_SUGGESTION_LENGTH + 1], list[160] = "";
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  const size_t n = word.size < FW_SUGGESTION_LENGTH ? word.size : FW_SUGGESTION_LENGTH;
  memcpy(written, word.bytes, n);
  written[n] = 0;
  for (size_t i = 0; i < count; i++) fw_suggestion_offer(&suggestion, written, words[i]);
  list_words(words, count, list, sizeof list);
  furrow_json_fail(&r->json, offset, member, r->err, "is not %s: %s", what, list);
  if (fw_suggestion_is_near(&suggestion, written)) fw_error_set_hint(r->err, "did you mean %s?", suggestion.word);
  return FURROW_E_FORMAT;
}

static size_t find_word(furrow_json_text word, const char *const *words, size_t count) {
  size_t i = 0;
  while (i < count && (!words[i][0] || !furrow_json_is(word, words[i]))) i++;
  return i;
}

/* Reads a string that must be one of the words. */
static furrow_status read_word(schema_reader *r, const char *what, const char *const *words, size_t count,
                               unsigned *which) {
  furrow_json_text word;
  FW_TRY(furrow_json_string(&r->json, &word, r->err));
  const size_t i = find_word(word, words, count);
  if (i == count) return refuse_word(r, furrow_json_offset(&r->json), NULL, word, what, words, count);
  *which = (unsigned)i;
  return FURROW_OK;
}

static furrow_status read_integer(schema_reader *r, int64_t least, int64_t most, int64_t *value) {
  FW_TRY(furrow_json_i64(&r->json, value, r->err));
  if (*value >= least && *value <= most) return FURROW_OK;
  return furrow_json_fail(&r->json, furrow_json_offset(&r->json), NULL, r->err, "is not an integer from %lld to %lld",
                          (long long)least, (long long)most);
}

/* Reads a string without a 0 in it. */
static furrow_status read_string(schema_reader *r, bool may_be_empty, furrow_json_text *text) {
  FW_TRY(furrow_json_string(&r->json, text, r->err));
  if (memchr(text->bytes, 0, text->size)) return refuse_member(r, "has a character 0");
  return text->size > 0 || may_be_empty ? FURROW_OK : refuse_member(r, "is empty");
}

static furrow_status read_text(schema_reader *r, bool may_be_empty, char **member) {
  furrow_json_text text;
  char *copy = NULL;
  FW_TRY(read_string(r, may_be_empty, &text));
  FW_TRY(fw_strndup(&copy, text.bytes, text.size, r->err));
  fw_free(*member);
  *member = copy;
  return FURROW_OK;
}

/* Reads an array of different strings. */
static furrow_status read_texts(schema_reader *r, char ***texts, size_t *count) {
  furrow_json_text text;
  furrow_status status;
  FW_TRY(furrow_json_array(&r->json, r->err));
  while ((status = furrow_json_element(&r->json, r->err)) == FURROW_OK) {
    FW_TRY(read_string(r, false, &text));
    for (size_t i = 0; i < *count; i++)
      if (furrow_json_is(text, (*texts)[i])) return refuse_member(r, "occurs twice");
    FW_TRY(fw_text_list_add(texts, count, text.bytes, text.size, r->err));
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Columns ---- */

static furrow_status read_parts(schema_reader *r, unsigned *parts) {
  furrow_status status;
  unsigned part = 0;
  *parts = 0;
  FW_TRY(furrow_json_array(&r->json, r->err));
  while ((status = furrow_json_element(&r->json, r->err)) == FURROW_OK) {
    FW_TRY(read_word(r, "a part of a time", part_names, COUNT(part_names), &part));
    if (*parts >> part & 1) return refuse_member(r, "occurs twice");
    *parts |= 1u << part;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_classes(schema_reader *r, fw_column *c) {
  const uint64_t offset = furrow_json_next_offset(&r->json);
  FW_TRY(read_texts(r, &c->classes, &c->class_count));
  if (c->class_count >= 2) return FURROW_OK;
  return furrow_json_fail(&r->json, offset, NULL, r->err, "has fewer than two names");
}

static furrow_status read_number(schema_reader *r, int64_t least, int64_t most, unsigned *value) {
  int64_t number = 0;
  FW_TRY(read_integer(r, least, most, &number));
  *value = (unsigned)number;
  return FURROW_OK;
}

/* Keeps the text until the kind of the column is known. */
static furrow_status keep_unit(schema_reader *r) {
  furrow_json_text text;
  FW_TRY(read_string(r, false, &text));
  const size_t n = text.size < sizeof r->unit ? text.size : sizeof r->unit - 1;
  memcpy(r->unit, text.bytes, n);
  r->unit[n] = 0;
  return FURROW_OK;
}

/* Sets the unit of a column of times, or of numbers that people wrote. */
static furrow_status set_unit(schema_reader *r, fw_column *c) {
  const uint64_t offset = r->at[MEMBER_UNIT];
  const furrow_json_text word = {r->unit, strlen(r->unit)};
  if (!offset) return FURROW_OK;
  if (c->kind == FW_AS_TIME) {
    const size_t i = find_word(word, unit_names, COUNT(unit_names));
    if (i == COUNT(unit_names))
      return refuse_word(r, offset, "unit", word, "a unit of time", unit_names, COUNT(unit_names));
    c->unit = (fw_time_unit)i;
    return FURROW_OK;
  }
  if (word.size > FW_NUMBER_UNIT)
    return furrow_json_fail(&r->json, offset, "unit", r->err, "has more than %d bytes", FW_NUMBER_UNIT);
  memcpy(c->format.unit, r->unit, word.size + 1);
  if (!c->format.decimal) c->format.decimal = '.';
  return FURROW_OK;
}

static furrow_status read_member(schema_reader *r, column_member member, fw_column *c) {
  unsigned word = 0;
  int64_t number = 0;
  switch (member) {
  case MEMBER_AS: /* the defaults of the kind are set after the whole object has been read: */
    FW_TRY(read_word(r, "what a column can be", kind_names, COUNT(kind_names), &word));
    c->kind = word;
    return FURROW_OK;
  case MEMBER_ROLE:
    FW_TRY(read_word(r, "a role", role_names, COUNT(role_names), &word));
    c->role = word;
    return FURROW_OK;
  case MEMBER_SCALE:
    FW_TRY(read_word(r, "a scale", scale_names, COUNT(scale_names), &word));
    c->scale = word;
    return FURROW_OK;
  case MEMBER_UNIT: return keep_unit(r);
  case MEMBER_MIN_COUNT:
    FW_TRY(read_integer(r, 1, UINT32_MAX, &number));
    c->min_count = (uint64_t)number;
    return FURROW_OK;
  case MEMBER_DECIMAL:
    FW_TRY(read_word(r, "a decimal mark", decimal_marks, COUNT(decimal_marks), &word));
    c->format.decimal = decimal_marks[word][0];
    return FURROW_OK;
  case MEMBER_WHY: return read_text(r, true, &c->why);
  case MEMBER_UNSURE: return read_text(r, true, &c->unsure);
  case MEMBER_HASH: return read_number(r, 1, FW_HASH_BITS_MOST, &c->hash_bits);
  case MEMBER_SEPARATOR: return read_text(r, false, &c->separator);
  case MEMBER_VALUES: return furrow_json_bool(&r->json, &c->values, r->err);
  case MEMBER_BINS: return read_number(r, 2, FW_BINS_MOST, &c->bins);
  case MEMBER_PARTS: return read_parts(r, &c->parts);
  case MEMBER_MISSING: return read_texts(r, &c->missing, &c->missing_count);
  case MEMBER_CLASSES: return read_classes(r, c);
  case MEMBER_COUNT: break;
  }
  return FURROW_OK;
}

/* Rejects members that do not apply to this kind of column, or that exclude each other. */
static furrow_status check_members(schema_reader *r, const fw_column *c, uint64_t start) {
  if (!r->at[MEMBER_AS]) return furrow_json_fail(&r->json, start, "as", r->err, "is missing");
  for (unsigned m = 0; m < MEMBER_COUNT; m++)
    if (r->at[m] && !(member_kinds[m] >> c->kind & 1))
      return furrow_json_fail(&r->json, r->at[m], member_names[m], r->err, "is not for a %s",
                              fw_column_kind_name(c->kind));
  if (r->at[MEMBER_HASH] && r->at[MEMBER_MIN_COUNT])
    return furrow_json_fail(&r->json, r->at[MEMBER_MIN_COUNT], "min_count", r->err,
                            "is for a dictionary, which a column with a hash does not have");
  if (c->classes && (r->at[MEMBER_DECIMAL] || r->at[MEMBER_UNIT] || r->at[MEMBER_MISSING]))
    return furrow_json_fail(&r->json, r->at[MEMBER_CLASSES], "classes", r->err, "is not for a label that is a number");
  if (r->at[MEMBER_BINS] && c->scale != FW_SCALE_BINS)
    return furrow_json_fail(&r->json, r->at[MEMBER_BINS], "bins", r->err, "needs \"scale\": \"bins\"");
  return FURROW_OK;
}

/* Sets the defaults of absent members. */
static furrow_status set_defaults(schema_reader *r, fw_column *c) {
  if (c->kind == FW_AS_SET && !c->separator) FW_TRY(fw_column_set_text(&c->separator, "|", r->err));
  if (c->kind == FW_AS_TIME && !r->at[MEMBER_PARTS]) c->parts = 1u << FW_PART_HOUR | 1u << FW_PART_WEEKDAY;
  return FURROW_OK;
}

static furrow_status read_column(schema_reader *r, furrow_json_text name) {
  fw_column *c = NULL;
  furrow_json_text key;
  const uint64_t start = furrow_json_next_offset(&r->json);
  if (name.size == 0) return furrow_json_fail(&r->json, start, NULL, r->err, "has an empty name");
  if (memchr(name.bytes, 0, name.size)) return furrow_json_fail(&r->json, start, NULL, r->err, "has a character 0");
  FW_TRY(fw_schema_add(r->schema, name.bytes, name.size, FW_AS_IGNORE, &c, r->err));
  memset(r->at, 0, sizeof r->at);
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &key, r->err)) == FURROW_OK) {
    const size_t member = find_word(key, member_names, MEMBER_COUNT);
    const uint64_t here = furrow_json_next_offset(&r->json);
    if (member == MEMBER_COUNT)
      return refuse_word(r, here, NULL, key, "a member of a column", member_names, MEMBER_COUNT);
    if (r->at[member]) return furrow_json_fail(&r->json, here, NULL, r->err, "occurs twice");
    r->at[member] = here;
    status = read_member(r, (column_member)member, c);
  }
  if (status != FURROW_END) return status;
  FW_TRY(check_members(r, c, start));
  FW_TRY(set_unit(r, c));
  return set_defaults(r, c);
}

static furrow_status read_columns(schema_reader *r) {
  furrow_json_text name;
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &name, r->err)) == FURROW_OK)
    status = read_column(r, name);
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Tables ---- */

static furrow_status read_table_object(schema_reader *r, char **key, char **column) {
  static const char *const names[] = {"key", "column"};
  furrow_json_text name;
  const uint64_t start = furrow_json_next_offset(&r->json);
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &name, r->err)) == FURROW_OK) {
    const size_t which = find_word(name, names, COUNT(names));
    const uint64_t here = furrow_json_next_offset(&r->json);
    if (which == COUNT(names)) return refuse_word(r, here, NULL, name, "a member of a table", names, COUNT(names));
    char **member = which == 0 ? key : column;
    if (*member) return furrow_json_fail(&r->json, here, NULL, r->err, "occurs twice");
    status = read_text(r, false, member);
  }
  if (status != FURROW_END) return status;
  return *key ? FURROW_OK : furrow_json_fail(&r->json, start, "key", r->err, "is missing");
}

static furrow_status read_table(schema_reader *r, furrow_json_text name) {
  char *uri = NULL, *key = NULL, *column = NULL;
  const uint64_t start = furrow_json_next_offset(&r->json);
  if (name.size == 0 || memchr(name.bytes, 0, name.size))
    return furrow_json_fail(&r->json, start, NULL, r->err, "is not the name of a file");
  furrow_status status = fw_strndup(&uri, name.bytes, name.size, r->err);
  if (status == FURROW_OK && furrow_json_peek(&r->json) == FURROW_JSON_OBJECT)
    status = read_table_object(r, &key, &column);
  else if (status == FURROW_OK)
    status = read_text(r, false, &key);
  if (status == FURROW_OK) status = fw_schema_add_table(r->schema, uri, key, column ? column : key, r->err);
  fw_free(uri);
  fw_free(key);
  fw_free(column);
  return status;
}

static furrow_status read_tables(schema_reader *r) {
  furrow_json_text name;
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &name, r->err)) == FURROW_OK)
    status = read_table(r, name);
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Crosses ---- */

static furrow_status read_cross_object(schema_reader *r, fw_cross *cross) {
  static const char *const names[] = {"of", "bits"};
  furrow_json_text name;
  bool seen[COUNT(names)] = {false};
  const uint64_t start = furrow_json_next_offset(&r->json);
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &name, r->err)) == FURROW_OK) {
    const size_t which = find_word(name, names, COUNT(names));
    const uint64_t here = furrow_json_next_offset(&r->json);
    if (which == COUNT(names)) return refuse_word(r, here, NULL, name, "a member of a cross", names, COUNT(names));
    if (seen[which]) return furrow_json_fail(&r->json, here, NULL, r->err, "occurs twice");
    seen[which] = true;
    status =
        which == 0 ? read_texts(r, &cross->names, &cross->count) : read_number(r, 1, FW_HASH_BITS_MOST, &cross->bits);
  }
  if (status != FURROW_END) return status;
  return seen[0] ? FURROW_OK : furrow_json_fail(&r->json, start, "of", r->err, "is missing");
}

static furrow_status read_cross(schema_reader *r) {
  fw_cross *cross = NULL;
  FW_TRY(fw_schema_add_cross(r->schema, &cross, r->err));
  if (furrow_json_peek(&r->json) == FURROW_JSON_OBJECT) return read_cross_object(r, cross);
  return read_texts(r, &cross->names, &cross->count);
}

/* Reads the names of one cross whose array has been entered. */
static furrow_status read_single_cross(schema_reader *r) {
  fw_cross *cross = NULL;
  furrow_status status;
  FW_TRY(fw_schema_add_cross(r->schema, &cross, r->err));
  do {
    furrow_json_text name;
    FW_TRY(read_string(r, false, &name));
    FW_TRY(fw_text_list_add(&cross->names, &cross->count, name.bytes, name.size, r->err));
  } while ((status = furrow_json_element(&r->json, r->err)) == FURROW_OK);
  return status;
}

/* An array of names is one cross; otherwise each element is a cross. */
static furrow_status read_crosses(schema_reader *r) {
  FW_TRY(furrow_json_array(&r->json, r->err));
  furrow_status status = furrow_json_element(&r->json, r->err);
  if (status == FURROW_OK && furrow_json_peek(&r->json) == FURROW_JSON_STRING) {
    status = read_single_cross(r);
  } else {
    while (status == FURROW_OK) {
      FW_TRY(read_cross(r));
      status = furrow_json_element(&r->json, r->err);
    }
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- The whole file ---- */

static furrow_status read_history(schema_reader *r) {
  int64_t history = 0;
  FW_TRY(read_integer(r, 0, FW_HISTORY_MOST, &history));
  r->schema->history = (uint32_t)history;
  return FURROW_OK;
}

static furrow_status read_schema(schema_reader *r) {
  static const char *const names[] = {"columns", "tables", "cross", "history"};
  static furrow_status (*const readers[])(schema_reader *) = {read_columns, read_tables, read_crosses, read_history};
  bool seen[COUNT(names)] = {false};
  furrow_json_text name;
  furrow_status status = furrow_json_object(&r->json, r->err);
  while (status == FURROW_OK && (status = furrow_json_member(&r->json, &name, r->err)) == FURROW_OK) {
    const size_t which = find_word(name, names, COUNT(names));
    const uint64_t here = furrow_json_next_offset(&r->json);
    if (which == COUNT(names)) return refuse_word(r, here, NULL, name, "a member of a schema", names, COUNT(names));
    if (seen[which]) return furrow_json_fail(&r->json, here, NULL, r->err, "occurs twice");
    seen[which] = true;
    status = readers[which](r);
  }
  if (status != FURROW_END) return status;
  FW_TRY(furrow_json_end(&r->json, r->err));
  return seen[0] ? FURROW_OK : furrow_json_fail(&r->json, 0, "columns", r->err, "is missing");
}

/* An inconsistent file is reported as E_FORMAT of the file. */
static furrow_status check_read(furrow_schema *schema, const char *file, furrow_error *err) {
  furrow_status status = fw_schema_resolve(schema, err);
  if (status == FURROW_OK) status = fw_schema_check(schema, err);
  if (status != FURROW_E_ARGUMENT) return status;
  if (err) err->status = FURROW_E_FORMAT;
  if (file) fw_error_set_file(err, file);
  return FURROW_E_FORMAT;
}

furrow_status fw_schema_read(furrow_schema **schema, const char *text, size_t size, const char *file,
                             furrow_error *err) {
  schema_reader r = {.err = err};
  fw_json_open(&r.json, text, size, file);
  furrow_status status = fw_schema_create(&r.schema, err);
  if (status == FURROW_OK) status = read_schema(&r);
  if (status == FURROW_OK) status = check_read(r.schema, file, err);
  fw_json_close(&r.json);
  if (status == FURROW_OK)
    *schema = r.schema;
  else
    furrow_schema_free(r.schema);
  return status;
}

furrow_status furrow_schema_parse(furrow_schema **schema, const char *text, size_t size, furrow_error *err) {
  return fw_schema_read(schema, text, size, NULL, err);
}

furrow_status furrow_schema_load(furrow_schema **schema, const char *path, furrow_error *err) {
  char *text = NULL;
  size_t size = 0;
  furrow_status status = fw_path_read_json(&text, &size, path, err);
  if (status == FURROW_OK) status = fw_schema_read(schema, text, size, path, err);
  fw_free(text);
  return status;
}

/* ---- Writing: one column per line, so that a person can edit the file ---- */

static void put_string(fw_buffer *out, const char *text) {
  fw_buffer_json_string(out, text, strlen(text), false);
}

static void put_member(fw_buffer *out, column_member member) {
  if (out->size > 0 && out->bytes[out->size - 1] != '{') fw_buffer_text(out, ", ");
  fw_buffer_format(out, "\"%s\": ", member_names[member]);
}

static void put_text_member(fw_buffer *out, column_member member, const char *text) {
  put_member(out, member);
  put_string(out, text);
}

static void put_texts(fw_buffer *out, char *const *texts, size_t count) {
  fw_buffer_byte(out, '[');
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fw_buffer_text(out, ", ");
    put_string(out, texts[i]);
  }
  fw_buffer_byte(out, ']');
}

static void put_parts(fw_buffer *out, unsigned parts) {
  const char *before = "";
  put_member(out, MEMBER_PARTS);
  fw_buffer_byte(out, '[');
  for (unsigned p = 0; p < FW_TIME_PART_COUNT; p++) {
    if (!(parts >> p & 1)) continue;
    fw_buffer_format(out, "%s\"%s\"", before, part_names[p]);
    before = ", ";
  }
  fw_buffer_byte(out, ']');
}

static void put_dictionary(fw_buffer *out, const fw_column *c) {
  if (c->hash_bits > 0) {
    put_member(out, MEMBER_HASH);
    fw_buffer_i64(out, c->hash_bits);
  } else if (c->min_count > 1) {
    put_member(out, MEMBER_MIN_COUNT);
    fw_buffer_i64(out, (int64_t)c->min_count);
  }
}

static void put_set(fw_buffer *out, const fw_column *c) {
  put_text_member(out, MEMBER_SEPARATOR, c->separator);
  if (!c->values) return;
  put_member(out, MEMBER_VALUES);
  fw_buffer_text(out, "true");
}

static void put_number(fw_buffer *out, const fw_column *c) {
  put_text_member(out, MEMBER_SCALE, scale_names[c->scale]);
  if (c->scale != FW_SCALE_BINS) return;
  put_member(out, MEMBER_BINS);
  fw_buffer_i64(out, c->bins);
}

static void put_format(fw_buffer *out, const fw_number_format *format) {
  const char mark[] = {format->decimal, 0};
  if (!format->decimal) return;
  put_text_member(out, MEMBER_DECIMAL, mark);
  if (format->unit[0]) put_text_member(out, MEMBER_UNIT, format->unit);
}

static void put_time(fw_buffer *out, const fw_column *c) {
  put_text_member(out, MEMBER_UNIT, unit_names[c->unit]);
  put_parts(out, c->parts);
}

static void put_classes(fw_buffer *out, const fw_column *c) {
  if (!c->classes) return;
  put_member(out, MEMBER_CLASSES);
  put_texts(out, c->classes, c->class_count);
}

static void put_missing(fw_buffer *out, const fw_column *c) {
  if (c->missing_count == 0) return;
  put_member(out, MEMBER_MISSING);
  put_texts(out, c->missing, c->missing_count);
}

static void put_column(fw_buffer *out, const fw_column *c, bool comments) {
  put_string(out, c->name);
  fw_buffer_text(out, ": {");
  put_text_member(out, MEMBER_AS, kind_names[c->kind]);
  if (c->role != FW_ROLE_NONE) put_text_member(out, MEMBER_ROLE, role_names[c->role]);
  if (c->kind == FW_AS_SET) put_set(out, c);
  if (c->kind == FW_AS_NUMBER) put_number(out, c);
  if (READ_AS_NUMBERS >> c->kind & 1) put_format(out, &c->format);
  if (c->kind == FW_AS_TIME) put_time(out, c);
  put_missing(out, c);
  if (c->kind == FW_AS_LABEL) put_classes(out, c);
  if (NAMED_KINDS >> c->kind & 1) put_dictionary(out, c);
  if (comments && c->why) put_text_member(out, MEMBER_WHY, c->why);
  if (comments && c->unsure) put_text_member(out, MEMBER_UNSURE, c->unsure);
  fw_buffer_byte(out, '}');
}

static void put_columns(fw_buffer *out, const furrow_schema *schema, bool comments) {
  fw_buffer_text(out, "{\n  \"columns\": {");
  for (size_t i = 0; i < schema->count; i++) {
    fw_buffer_text(out, i > 0 ? ",\n    " : "\n    ");
    put_column(out, &schema->columns[i], comments);
  }
  fw_buffer_text(out, "\n  }");
}

static void put_tables(fw_buffer *out, const furrow_schema *schema) {
  fw_buffer_text(out, ",\n  \"tables\": {");
  for (size_t i = 0; i < schema->table_count; i++) {
    const fw_side_table *table = &schema->tables[i];
    fw_buffer_text(out, i > 0 ? ",\n    " : "\n    ");
    put_string(out, table->uri);
    const bool same = strcmp(table->key, table->column) == 0;
    fw_buffer_text(out, same ? ": " : ": {\"key\": ");
    put_string(out, table->key);
    if (same) continue;
    fw_buffer_text(out, ", \"column\": ");
    put_string(out, table->column);
    fw_buffer_byte(out, '}');
  }
  fw_buffer_text(out, "\n  }");
}

static void put_crosses(fw_buffer *out, const furrow_schema *schema) {
  fw_buffer_text(out, ",\n  \"cross\": [");
  for (size_t i = 0; i < schema->cross_count; i++) {
    const fw_cross *cross = &schema->crosses[i];
    const bool usual = cross->bits == FW_CROSS_BITS;
    if (i > 0) fw_buffer_text(out, ", ");
    if (!usual) fw_buffer_text(out, "{\"of\": ");
    put_texts(out, cross->names, cross->count);
    if (!usual) fw_buffer_format(out, ", \"bits\": %u}", cross->bits);
  }
  fw_buffer_byte(out, ']');
}

furrow_status fw_schema_write(const furrow_schema *schema, bool comments, fw_buffer *text, furrow_error *err) {
  put_columns(text, schema, comments);
  if (schema->table_count > 0) put_tables(text, schema);
  if (schema->cross_count > 0) put_crosses(text, schema);
  if (schema->history > 0) fw_buffer_format(text, ",\n  \"history\": %u", schema->history);
  fw_buffer_text(text, "\n}\n");
  return fw_buffer_status(text, err);
}

furrow_status furrow_schema_text(const furrow_schema *schema, bool comments, char **text, size_t *size,
                                 furrow_error *err) {
  fw_buffer out = {0};
  furrow_status status = fw_schema_write(schema, comments, &out, err);
  if (status == FURROW_OK) status = fw_buffer_take(&out, text, size, err);
  fw_buffer_clear(&out);
  return status;
}
