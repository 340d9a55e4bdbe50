/* io/codec/json_array.c: an array of JSON objects as JSON lines: a line for each object.
 *
 * Only brackets, strings and blanks are looked at; the readers of the lines check the rest. Line ends within an object
 * and the blanks after them are left out, and so line N is element N of the array. */
#include "base/error.h"
#include "base/mem.h"
#include "io/stream.h"

typedef enum array_place {
  AT_START,   /* before [ */
  AT_FIRST,   /* before the first element or ] */
  AT_ELEMENT, /* after a comma */
  IN_ELEMENT, /* within an object */
  IN_STRING,  /* within a string of it */
  IN_ESCAPE,  /* after a backslash of it */
  AFTER_ELEMENT,
  AT_END /* after ] */
} array_place;

typedef struct json_array {
  array_place place;
  uint64_t depth; /* brackets of the object that are open */
  uint64_t elements;
  bool line_owed; /* the line of an object has not been ended yet */
  bool indented;  /* within an object, after a line end and blanks */
} json_array;

static bool is_blank(unsigned char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool fw_json_array_begins(const unsigned char *head, size_t size) {
  size_t i = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  while (i < size && is_blank(head[i])) i++;
  if (i == size || head[i] != '[') return false;
  for (i++; i < size && is_blank(head[i]);) i++;
  return i < size && head[i] == '{';
}

static furrow_status create_array(void **state, furrow_error *err) {
  json_array *a;
  FW_TRY(FW_ALLOC_ZERO(&a, 1, err));
  *state = a;
  return FURROW_OK;
}

static furrow_status fail_array(const json_array *a, const fw_source *source, const char *what, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "the array of JSON %s (element %llu, byte %llu of the file)", what,
          (unsigned long long)(a->elements + 1), (unsigned long long)fw_source_offset(source));
  return FURROW_E_FORMAT;
}

/* A byte outside of objects. *out is set if it is a part of the text. */
static furrow_status take_between(json_array *a, const fw_source *source, unsigned char c, bool *out,
                                  furrow_error *err) {
  const bool element = a->place == AT_FIRST || a->place == AT_ELEMENT;
  if (is_blank(c)) return FURROW_OK;
  if (element && c == '{') {
    a->place = IN_ELEMENT;
    a->depth = 1;
    *out = true;
  } else if (c == ']' && (a->place == AT_FIRST || a->place == AFTER_ELEMENT)) {
    a->place = AT_END;
  } else if (c == ',' && a->place == AFTER_ELEMENT) {
    a->place = AT_ELEMENT;
  } else if (c == '[' && a->place == AT_START) {
    a->place = AT_FIRST;
  } else if (a->place != AT_START || (c != 0xef && c != 0xbb && c != 0xbf)) { /* a byte order mark */
    return fail_array(a, source,
                      element              ? "has an element that is not an object"
                      : a->place == AT_END ? "is followed by other text"
                                           : "has no comma after an object",
                      err);
  }
  return FURROW_OK;
}

/* A byte of an object; returns the byte of the line. */
static char take_within(json_array *a, unsigned char c) {
  if (a->place == IN_ESCAPE) {
    a->place = IN_STRING;
  } else if (a->place == IN_STRING) {
    if (c == '"') a->place = IN_ELEMENT;
    if (c == '\\') a->place = IN_ESCAPE;
  } else if (c == '"') {
    a->place = IN_STRING;
  } else if (c == '{' || c == '[') {
    a->depth++;
  } else if ((c == '}' || c == ']') && --a->depth == 0) {
    a->place = AFTER_ELEMENT;
  }
  return (char)c;
}

/* Whether a byte of an object is a line end outside of strings, or a blank after one. */
static bool is_indent(json_array *a, unsigned char c) {
  a->indented = a->place == IN_ELEMENT && (c == '\n' || c == '\r' || (a->indented && is_blank(c)));
  return a->indented;
}

static furrow_status read_array(void *state, fw_source *source, void *buffer, size_t size, size_t *got,
                                furrow_error *err) {
  json_array *a = state;
  char *out = buffer;
  while (*got < size) {
    if (a->line_owed) {
      out[(*got)++] = '\n';
      a->line_owed = false;
      a->elements++;
      continue;
    }
    if (fw_source_unused(source) == 0) FW_TRY(fw_source_fill(source, 1, err));
    if (fw_source_unused(source) == 0) {
      if (a->place == AT_END) return FURROW_OK;
      return fail_array(a, source, "is cut short", err);
    }
    const unsigned char c = source->buffer[source->used];
    if (a->place >= IN_ELEMENT && a->place <= IN_ESCAPE) {
      if (c == '\n' && a->place != IN_ELEMENT) return fail_array(a, source, "has a line end within a string", err);
      if (!is_indent(a, c)) out[(*got)++] = take_within(a, c);
      source->used++;
      a->line_owed = a->place == AFTER_ELEMENT;
      continue;
    }
    bool first = false;
    FW_TRY(take_between(a, source, c, &first, err));
    if (first) out[(*got)++] = '{';
    source->used++;
  }
  return FURROW_OK;
}

static void free_array(void *state) {
  fw_free(state);
}

const fw_decoder fw_decoder_json_array = {create_array, read_array, free_array};
