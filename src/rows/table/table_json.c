/* rows/table/table_json.c: records of JSON lines.
 *
 * Each line is an object: scalars are cells, members of nested objects are columns "outer.inner", arrays of scalars
 * are lists; anything nested deeper is a cell with its JSON text. So is an object with a long key, which would be
 * repeated in the names of all its members. The keys of a record are mostly the keys of the previous record, in the
 * same order, so each key is compared with the expected one before it is looked up. */
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/utf8.h"
#include "rows/table/table_reader.h"
#include "rows/text/rowbuilder.h"

#define DEEPEST 64        /* nesting of arrays and objects */
#define LONGEST_OUTER 100 /* bytes of a key whose object has columns of its own */

/* A record that is being read. A function that finds it malformed sets `wrong` and returns false; `status` is set
 * for any other error. */
typedef struct json_record {
  const fw_table *table;
  const fw_table_cursor *cursor;
  fw_table_batch *batch;
  struct fw_table_scratch *scratch;
  const char *line, *end, *at;
  uint32_t before; /* 1 + the number of the previous name, 0 at the start */
  const char *wrong;
  furrow_status status;
  furrow_error *err;
} json_record;

typedef struct json_text {
  const char *begin, *end;
  bool escapes;
} json_text;

static bool malformed(json_record *r, const char *message) {
  r->wrong = message;
  return false;
}

static inline void skip_blanks(json_record *r) {
  while (r->at < r->end && fw_is_blank(*r->at)) r->at++;
}

/* ---- Scalars -------------------------------------------------------------------------------------------- */

/* Returns the first byte from p on that is a quote, a backslash or a control character; may return a position past
 * `end`. */
static inline const char *special_byte(const char *p, const char *end) {
  const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
  for (; p < end; p += 8) {
    const uint64_t v = fw_get_le64(p);
    const uint64_t quote = v ^ ones * '"', slash = v ^ ones * '\\';
    const uint64_t found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((v - ones * 0x20) & ~v);
    if (found & tops) return p + __builtin_ctzll(found & tops) / 8;
  }
  return end;
}

static bool is_hex(const char *p) {
  for (int i = 0; i < 4; i++)
    if (!fw_is_digit(p[i]) && ((p[i] | 0x20) < 'a' || (p[i] | 0x20) > 'f')) return false;
  return true;
}

/* Returns the end of the escape at p, a backslash; NULL if it is not an escape. */
static const char *skip_escape(const char *p, const char *end) {
  if (end - p < 2 || !strchr("\"\\/bfnrtu", p[1]) || !p[1]) return NULL;
  if (p[1] != 'u') return p + 2;
  return end - p >= 6 && is_hex(p + 2) ? p + 6 : NULL;
}

/* Reads the string whose opening quote is at r->at. */
static bool read_string(json_record *r, json_text *text) {
  const char *p = r->at + 1;
  *text = (json_text){.begin = p};
  for (;;) {
    p = special_byte(p, r->end);
    if (p >= r->end) return malformed(r, "a string is not closed");
    if (*p == '"') break;
    if (*p != '\\') {
      r->at = p;
      return malformed(r, "a control character in a string");
    }
    r->at = p;
    p = skip_escape(p, r->end);
    if (!p) return malformed(r, "not an escape sequence");
    text->escapes = true;
  }
  text->end = p;
  r->at = p + 1;
  return true;
}

static uint32_t hex_value(const char *p) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++)
    value = value << 4 | (uint32_t)(fw_is_digit(p[i]) ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
  return value;
}

/* Reads the character of \uXXXX at *p, or of a surrogate pair, and moves *p past it. Returns false for half a pair. */
static bool read_code(const char **p, const char *end, uint32_t *code) {
  *code = hex_value(*p + 2);
  *p += 6;
  if (*code < 0xd800 || *code > 0xdfff) return true;
  if (*code > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u') return false;
  const uint32_t low = hex_value(*p + 2);
  if (low < 0xdc00 || low > 0xdfff) return false;
  *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
  *p += 6;
  return true;
}

/* Appends the string to the scratch text, which has enough space. */
static bool unescape(json_record *r, const json_text *text) {
  static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  char *out = r->scratch->text;
  for (const char *p = text->begin; p < text->end;) {
    if (*p != '\\') {
      *out++ = *p++;
    } else if (p[1] != 'u') {
      *out++ = meant[strchr(plain, p[1]) - plain];
      p += 2;
    } else {
      uint32_t code;
      const char *begin = p;
      if (!read_code(&p, text->end, &code)) {
        r->at = begin;
        return malformed(r, "half of a pair of \\u escapes");
      }
      out += fw_utf8_write(out, code);
    }
  }
  r->scratch->text = out;
  return true;
}

/* Reserves scratch space for a text of at most `size` bytes. */
static bool reserve_text(json_record *r, size_t size) {
  r->status = fw_table_reserve(r->scratch, size, r->err);
  return r->status == FURROW_OK;
}

/* Replaces the text by a copy without escapes. */
static bool resolve_escapes(json_record *r, json_text *text) {
  if (!text->escapes) return true;
  if (!reserve_text(r, (size_t)(text->end - text->begin))) return false;
  const char *begin = r->scratch->text;
  if (!unescape(r, text)) return false;
  *text = (json_text){.begin = begin, .end = r->scratch->text};
  return true;
}

static const char *skip_digits(const char *p, const char *end) {
  while (p < end && fw_is_digit(*p)) p++;
  return p;
}

static bool read_number(json_record *r, json_text *text) {
  const char *p = r->at, *digits;
  const char *const end = r->end;
  *text = (json_text){.begin = p};
  if (p < end && *p == '-') p++;
  digits = p;
  p = skip_digits(p, end);
  bool good = p > digits && (p - digits == 1 || *digits != '0');
  if (good && p < end && *p == '.') {
    digits = ++p;
    p = skip_digits(p, end);
    good = p > digits;
  }
  if (good && p < end && (*p | 0x20) == 'e') {
    p++;
    if (p < end && (*p == '+' || *p == '-')) p++;
    digits = p;
    p = skip_digits(p, end);
    good = p > digits;
  }
  if (!good) return malformed(r, "not a number of JSON");
  text->end = r->at = p;
  return true;
}

static bool read_word(json_record *r, const char *word, json_text *text) {
  const size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return malformed(r, "not a value of JSON");
  *text = (json_text){.begin = r->at, .end = r->at + length};
  r->at += length;
  return true;
}

typedef enum scalar_kind { SCALAR_TEXT, SCALAR_NULL, SCALAR_NONE } scalar_kind;

/* Reads the scalar at r->at; SCALAR_NONE: an array or object begins there. */
static bool read_scalar(json_record *r, json_text *text, scalar_kind *kind) {
  const char c = r->at < r->end ? *r->at : 0;
  *kind = SCALAR_TEXT;
  if (c == '"') return read_string(r, text);
  if (c == '-' || fw_is_digit(c)) return read_number(r, text);
  if (c == 't') return read_word(r, "true", text);
  if (c == 'f') return read_word(r, "false", text);
  if (c == '{' || c == '[') {
    *kind = SCALAR_NONE;
    return true;
  }
  *kind = SCALAR_NULL;
  return c ? read_word(r, "null", text) : malformed(r, "a value is missing");
}

/* ---- Deeper nesting ------------------------------------------------------------------------------------- */

static bool expect(json_record *r, char c, const char *message) {
  skip_blanks(r);
  if (r->at == r->end || *r->at != c) return malformed(r, message);
  r->at++;
  return true;
}

static bool skip_value(json_record *r, unsigned depth);

/* Skips the rest of an array or object whose first byte has been read. */
static bool skip_members(json_record *r, char close, unsigned depth) {
  if (depth == DEEPEST) return malformed(r, "more than 64 arrays or objects within each other");
  skip_blanks(r);
  if (r->at < r->end && *r->at == close) {
    r->at++;
    return true;
  }
  for (;;) {
    json_text key;
    skip_blanks(r);
    if (close == '}') {
      if (r->at == r->end || *r->at != '"') return malformed(r, "a key in quotes is missing");
      if (!read_string(r, &key) || !expect(r, ':', "a colon is missing after the key")) return false;
    }
    if (!skip_value(r, depth + 1)) return false;
    skip_blanks(r);
    if (r->at == r->end || (*r->at != ',' && *r->at != close))
      return malformed(r, close == '}' ? "a comma or } is missing" : "a comma or ] is missing");
    if (*r->at++ == close) return true;
  }
}

static bool skip_value(json_record *r, unsigned depth) {
  json_text text;
  scalar_kind kind;
  skip_blanks(r);
  if (!read_scalar(r, &text, &kind)) return false;
  if (kind != SCALAR_NONE) return true;
  const char close = *r->at == '{' ? '}' : ']';
  r->at++;
  return skip_members(r, close, depth);
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

/* Reports a column that no slot has to the caller. */
static bool report_column(json_record *r, const json_text *outer, const json_text *key) {
  if (!r->cursor->other_column) return true;
  json_text name = *key;
  if (outer) {
    const size_t outer_length = (size_t)(outer->end - outer->begin), key_length = (size_t)(key->end - key->begin);
    if (!reserve_text(r, outer_length + 1 + key_length)) return false;
    char *text = r->scratch->text;
    memcpy(text, outer->begin, outer_length);
    text[outer_length] = '.';
    memcpy(text + outer_length + 1, key->begin, key_length);
    name = (json_text){.begin = text, .end = text + outer_length + 1 + key_length};
  }
  const uint64_t offset = r->cursor->offset + (uint64_t)(r->line - r->cursor->text);
  r->status = r->cursor->other_column(r->cursor->user, name.begin, (size_t)(name.end - name.begin), offset, r->err);
  return r->status == FURROW_OK;
}

/* Finds the cell of a key; *cell is NULL if no slot wants it. */
static bool find_cell(json_record *r, const json_text *outer, const json_text *key, fw_table_cell **cell) {
  const fw_table *t = r->table;
  const char *prefix = outer ? outer->begin : NULL;
  const size_t prefix_length = outer ? (size_t)(outer->end - outer->begin) : 0;
  const size_t length = (size_t)(key->end - key->begin);
  uint32_t number = r->scratch->next[r->before];
  *cell = NULL;
  if (number >= t->nnames || !fw_table_name_is(&t->names[number], prefix, prefix_length, key->begin, length)) {
    const size_t found = fw_name_map_find_joined(&t->numbers, prefix, prefix_length, key->begin, length);
    if (found == FW_NAME_NONE) return report_column(r, outer, key);
    number = (uint32_t)found;
    r->scratch->next[r->before] = number;
  }
  r->before = number + 1;
  if (r->scratch->seen[number] == r->scratch->record) {
    r->at = key->begin;
    return malformed(r, "a key occurs twice");
  }
  r->scratch->seen[number] = r->scratch->record;
  if (t->names[number].slot == SIZE_MAX) return report_column(r, outer, key);
  r->status = fw_table_fill_cell(t, r->batch, t->names[number].slot, cell, r->err);
  return r->status == FURROW_OK;
}

static void set_cell(fw_table_cell *cell, const json_text *text, fw_table_cell_kind kind) {
  if (!cell || text->begin == text->end) return; /* the cell is marked as missing already */
  *cell = (fw_table_cell){.text = text->begin, .length = (uint32_t)(text->end - text->begin), .kind = (uint16_t)kind};
}

/* Appends an element to the list that begins at `list` in the scratch text. */
static bool add_element(json_record *r, const char *list, const json_text *element) {
  struct fw_table_scratch *scratch = r->scratch;
  if (scratch->text > list) *scratch->text++ = FW_TABLE_LIST_SEPARATOR;
  const char *begin = scratch->text;
  if (element->escapes) {
    if (!unescape(r, element)) return false;
  } else {
    memcpy(scratch->text, element->begin, (size_t)(element->end - element->begin));
    scratch->text += element->end - element->begin;
  }
  if (element->escapes && memchr(begin, FW_TABLE_LIST_SEPARATOR, (size_t)(scratch->text - begin))) {
    r->at = element->begin;
    return malformed(r, "an element of a list has the character \\u001f in it");
  }
  return true;
}

/* Reads the array at r->at: a list of scalars without null and "" or, if it contains arrays or objects, text. */
static bool read_array(json_record *r, fw_table_cell *cell) {
  const char *begin = r->at++;
  if (!cell) return skip_members(r, ']', 1);
  if (!reserve_text(r, (size_t)(r->end - begin))) return false;
  char *list = r->scratch->text;
  json_text element = {0};
  scalar_kind kind;
  skip_blanks(r);
  if (r->at < r->end && *r->at == ']') {
    r->at++;
    return true;
  }
  for (;;) {
    skip_blanks(r);
    if (!read_scalar(r, &element, &kind)) return false;
    if (kind == SCALAR_NONE) break;
    if (kind == SCALAR_TEXT && element.begin < element.end && !add_element(r, list, &element)) return false;
    skip_blanks(r);
    if (r->at == r->end || (*r->at != ',' && *r->at != ']')) return malformed(r, "a comma or ] is missing");
    if (*r->at++ == ']') {
      set_cell(cell, &(json_text){.begin = list, .end = r->scratch->text}, FW_TABLE_LIST);
      return true;
    }
  }
  r->scratch->text = list;
  r->at = begin + 1;
  if (!skip_members(r, ']', 1)) return false;
  set_cell(cell, &(json_text){.begin = begin, .end = r->at}, FW_TABLE_TEXT);
  return true;
}

static bool read_object(json_record *r, const json_text *outer);

/* Reads the value of a key. */
static bool read_value(json_record *r, const json_text *outer, const json_text *key) {
  fw_table_cell *cell = NULL;
  json_text text = {0};
  scalar_kind kind;
  const char c = r->at < r->end ? *r->at : 0;
  if (c == '{' && !outer && key->end - key->begin <= LONGEST_OUTER) return read_object(r, key);
  if (!find_cell(r, outer, key, &cell)) return false;
  if (c == '[') return read_array(r, cell);
  if (c == '{') {
    text.begin = r->at++;
    if (!skip_members(r, '}', outer ? 2 : 1)) return false;
    text.end = r->at;
    set_cell(cell, &text, FW_TABLE_TEXT);
    return true;
  }
  if (!read_scalar(r, &text, &kind)) return false;
  if (kind == SCALAR_NULL || !cell) return true;
  if (!resolve_escapes(r, &text)) return false;
  set_cell(cell, &text, FW_TABLE_TEXT);
  cell->plain = c == '-' || fw_is_digit(c);
  return true;
}

/* Reads the object at r->at: the record, or an object within it. */
static bool read_object(json_record *r, const json_text *outer) {
  r->at++;
  skip_blanks(r);
  if (r->at < r->end && *r->at == '}') {
    r->at++;
    return true;
  }
  for (;;) {
    json_text key;
    skip_blanks(r);
    if (r->at == r->end || *r->at != '"') return malformed(r, "a key in quotes is missing");
    if (!read_string(r, &key) || !resolve_escapes(r, &key)) return false;
    if (!expect(r, ':', "a colon is missing after the key")) return false;
    skip_blanks(r);
    if (!read_value(r, outer, &key)) return false;
    skip_blanks(r);
    if (r->at == r->end || (*r->at != ',' && *r->at != '}')) return malformed(r, "a comma or } is missing");
    if (*r->at++ == '}') return true;
  }
}

static bool read_line(json_record *r) {
  if (*r->at != '{') return malformed(r, "a line that is not an object of JSON");
  if (!read_object(r, NULL)) return false;
  skip_blanks(r);
  if (r->at < r->end) return malformed(r, "text follows the object");
  return true;
}

furrow_status fw_table_json_line(const fw_table *table, const fw_table_cursor *cursor, fw_table_batch *batch,
                                 const char *line, const char *end, bool *taken, furrow_error *err) {
  json_record r = {.table = table,
                   .cursor = cursor,
                   .batch = batch,
                   .scratch = batch->scratch,
                   .line = line,
                   .end = end,
                   .at = line,
                   .err = err};
  skip_blanks(&r);
  if (r.at == end) return FURROW_OK;
  r.scratch->record++;
  fw_table_begin_record(cursor, batch, line);
  *taken = read_line(&r);
  if (*taken || r.status != FURROW_OK) return r.status;
  const bool inside = r.at >= line && r.at <= end;
  const char *at = inside ? r.at : line;
  return fw_table_bad_record(cursor, line, at, end - at < 20 ? end : at + 20, r.wrong, NULL, err);
}
