/* cli/core/json_text.c: reads JSON that a command of ours wrote. */
#include "core/json_text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

enum { MOST_DEPTH = 32 };

typedef struct reader {
  json_text *json;
  const char *path;
  char *at;
  unsigned depth;
  furrow_error *err;
} reader;

static furrow_status wrong(reader *r, const char *what) {
  fail_in(r->err, FURROW_E_FORMAT, r->path, "%s", what);
  r->err->offset = (uint64_t)(r->at - r->json->bytes);
  return FURROW_E_FORMAT;
}

static void skip_blanks(reader *r) {
  r->at += strspn(r->at, " \t\r\n");
}

static furrow_status add_value(reader *r, const char *name, size_t *place) {
  json_text *json = r->json;
  if (json->count == json->capacity) {
    const size_t capacity = json->capacity ? 2 * json->capacity : 256;
    json_value *values = realloc(json->values, capacity * sizeof *values);
    if (!values) return fail_memory(r->err);
    json->values = values;
    json->capacity = capacity;
  }
  *place = json->count++;
  json->values[*place] = (json_value){.name = name, .end = json->count};
  return FURROW_OK;
}

/* ---- Text ---- */

/* The character of four hex digits; our commands write such escapes for control characters alone. */
static bool read_hex(const char *at, char *to) {
  char digits[5] = {0}, *end = NULL;
  strncpy(digits, at, 4);
  const unsigned long code = strtoul(digits, &end, 16);
  *to = (char)code;
  return end == digits + 4 && code < 0x80;
}

static bool unescape(char **from, char *to) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  const char *letter = **from ? strchr(letters, **from) : NULL;
  if (letter) {
    *to = meant[letter - letters];
    ++*from;
    return true;
  }
  if (**from != 'u' || !read_hex(*from + 1, to)) return false;
  *from += 5;
  return true;
}

/* Behind the first quote; the text is unescaped where it stands. */
static furrow_status read_text(reader *r, const char **text) {
  char *to = r->at;
  *text = to;
  while (*r->at != '"') {
    if (*r->at == 0) return wrong(r, "a text has no end");
    if (*r->at != '\\') {
      *to++ = *r->at++;
      continue;
    }
    r->at++;
    if (!unescape(&r->at, to)) return wrong(r, "an escape that is none");
    to++;
  }
  r->at++;
  *to = 0;
  return FURROW_OK;
}

/* ---- Values ---- */

static furrow_status read_value(reader *r, const char *name);

static furrow_status read_member_name(reader *r, const char **name) {
  skip_blanks(r);
  if (*r->at++ != '"') return r->at--, wrong(r, "a member needs a name");
  const furrow_status status = read_text(r, name);
  if (status != FURROW_OK) return status;
  skip_blanks(r);
  if (*r->at++ != ':') return r->at--, wrong(r, "a colon is missing");
  return FURROW_OK;
}

static furrow_status read_group(reader *r, size_t place, char closing) {
  r->json->values[place].kind = closing == '}' ? JSON_OBJECT : JSON_LIST;
  if (++r->depth > MOST_DEPTH) return wrong(r, "is nested too deeply");
  skip_blanks(r);
  for (bool first = true; *r->at != closing; first = false) {
    const char *name = NULL;
    furrow_status status = FURROW_OK;
    if (!first && *r->at++ != ',') return r->at--, wrong(r, "a comma is missing");
    if (closing == '}') status = read_member_name(r, &name);
    if (status == FURROW_OK) status = read_value(r, name);
    if (status != FURROW_OK) return status;
    r->json->values[place].count++;
    skip_blanks(r);
  }
  r->at++;
  r->depth--;
  return FURROW_OK;
}

static furrow_status read_plain(reader *r, json_value *value) {
  static const struct {
    const char *word;
    json_kind kind;
  } words[] = {{"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE}};
  for (size_t i = 0; i < 3; i++) {
    const size_t n = strlen(words[i].word);
    if (strncmp(r->at, words[i].word, n) != 0) continue;
    value->kind = words[i].kind;
    r->at += n;
    return FURROW_OK;
  }
  char *end = r->at;
  if (strchr("-0123456789", *r->at) && *r->at) value->number = strtod(r->at, &end);
  if (end == r->at) return wrong(r, "a value is missing");
  value->kind = JSON_NUMBER;
  r->at = end;
  return FURROW_OK;
}

static furrow_status read_value(reader *r, const char *name) {
  size_t place = 0;
  furrow_status status = add_value(r, name, &place);
  if (status != FURROW_OK) return status;
  skip_blanks(r);
  if (*r->at == '"') {
    r->at++;
    r->json->values[place].kind = JSON_TEXT;
    status = read_text(r, &r->json->values[place].text);
  } else if (*r->at == '{' || *r->at == '[') {
    const char closing = *r->at++ == '{' ? '}' : ']';
    status = read_group(r, place, closing);
  } else {
    status = read_plain(r, &r->json->values[place]);
  }
  r->json->values[place].end = r->json->count;
  return status;
}

/* ---- Interface ---- */

static furrow_status read_file(char **bytes, const char *path, furrow_error *err) {
  FILE *file = fopen(path, "rbe");
  size_t size = 0;
  if (!file) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  const ssize_t got = getdelim(bytes, &size, 0, file);
  const bool failed = got < 0 && ferror(file);
  fclose(file);
  if (failed || !*bytes) return fail_file(err, FURROW_E_IO, path, "cannot be read", errno);
  if (got < 0) (*bytes)[0] = 0; /* an empty file */
  return FURROW_OK;
}

furrow_status json_load(json_text *json, const char *path, furrow_error *err) {
  json_text made = {0};
  furrow_status status = read_file(&made.bytes, path, err);
  reader r = {.json = &made, .path = path, .at = made.bytes, .err = err};
  if (status == FURROW_OK) status = read_value(&r, NULL);
  if (status == FURROW_OK) skip_blanks(&r);
  if (status == FURROW_OK && *r.at) status = wrong(&r, "something follows the JSON");
  if (status == FURROW_OK)
    *json = made;
  else
    json_clear(&made);
  return status;
}

void json_clear(json_text *json) {
  free(json->bytes);
  free(json->values);
  *json = (json_text){0};
}

const json_value *json_first(const json_text *json, const json_value *in) {
  return in && in->count > 0 ? &json->values[in - json->values + 1] : NULL;
}

const json_value *json_next(const json_text *json, const json_value *in, const json_value *value) {
  return value->end < in->end ? &json->values[value->end] : NULL;
}

const json_value *json_get(const json_text *json, const json_value *in, const char *name) {
  if (!in || in->kind != JSON_OBJECT) return NULL;
  for (const json_value *v = json_first(json, in); v; v = json_next(json, in, v))
    if (strcmp(v->name, name) == 0) return v;
  return NULL;
}

double json_number(const json_text *json, const json_value *in, const char *name) {
  const json_value *value = json_get(json, in, name);
  return value && value->kind == JSON_NUMBER ? value->number : NAN;
}

const char *json_string(const json_text *json, const json_value *in, const char *name) {
  const json_value *value = json_get(json, in, name);
  return value && value->kind == JSON_TEXT ? value->text : "";
}
