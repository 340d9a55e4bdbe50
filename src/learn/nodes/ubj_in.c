/* learn/nodes/ubj_in.c: UBJSON (draft 12, as xgboost writes it) as JSON text, and JSON without NaN.
 *
 * A value is a letter for its type, then its bytes, big-endian. Objects and arrays may name the number and the type of
 * their elements, which then follow without letters. The text has at most eight bytes for each byte of the file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/json_in.h"
#include "learn/nodes/forest_import.h"

typedef struct ubj {
  const unsigned char *start, *at, *end;
  fw_buffer *json;
  furrow_error *err;
} ubj;

static furrow_status fail_here(const ubj *u, const char *what) {
  fw_fail(u->err, FURROW_E_FORMAT, "%s", what);
  if (u->err) u->err->offset = (uint64_t)(u->at - u->start);
  return FURROW_E_FORMAT;
}

static bool has(const ubj *u, uint64_t bytes) {
  return (uint64_t)(u->end - u->at) >= bytes;
}

/* Bytes of a whole number or a number with a fraction; 0: another type. */
static unsigned size_of(unsigned char type) {
  switch (type) {
  case 'i':
  case 'U': return 1;
  case 'I': return 2;
  case 'l':
  case 'd': return 4;
  case 'L':
  case 'D': return 8;
  default: return 0;
  }
}

static int64_t whole_at(const unsigned char *at, unsigned char type) {
  switch (type) {
  case 'i': return (int8_t)*at;
  case 'U': return *at;
  case 'I': return (int16_t)fw_get_be16(at);
  case 'l': return (int32_t)fw_get_be32(at);
  default: return (int64_t)fw_get_be64(at);
  }
}

static void put_real(fw_buffer *json, double number, size_t (*write)(char *out, double number)) {
  char text[FURROW_JSON_NUMBER_TEXT];
  if (isinf(number))
    fw_buffer_text(json, number < 0 ? "-1e999" : "1e999");
  else
    fw_buffer_append(json, text, write(text, number)); /* NaN: null */
}

static size_t write_single(char *out, double number) {
  return furrow_json_write_f32(out, (float)number);
}

/* A number whose type is known, and whose bytes are there. */
static void put_number(ubj *u, unsigned char type) {
  if (type == 'd') {
    const uint32_t bits = fw_get_be32(u->at);
    float number;
    memcpy(&number, &bits, sizeof number);
    put_real(u->json, (double)number, write_single);
  } else if (type == 'D') {
    const uint64_t bits = fw_get_be64(u->at);
    double number;
    memcpy(&number, &bits, sizeof number);
    put_real(u->json, number, furrow_json_write_f64);
  } else {
    fw_buffer_i64(u->json, whole_at(u->at, type));
  }
  u->at += size_of(type);
}

/* A length: a whole number with its type. */
static furrow_status read_length(ubj *u, uint64_t *length) {
  const unsigned char type = u->at < u->end ? *u->at : 0;
  if (size_of(type) == 0 || type == 'd' || type == 'D') return fail_here(u, "this is not the type of a length");
  u->at++;
  if (!has(u, size_of(type))) return fail_here(u, "the file ends within a length");
  const int64_t number = whole_at(u->at, type);
  if (number < 0) return fail_here(u, "a length is negative");
  u->at += size_of(type);
  *length = (uint64_t)number;
  return FURROW_OK;
}

static furrow_status put_string(ubj *u) {
  uint64_t length = 0;
  FW_TRY(read_length(u, &length));
  if (!has(u, length)) return fail_here(u, "the file ends within a text");
  fw_buffer_json_string(u->json, (const char *)u->at, (size_t)length, false);
  u->at += length;
  return FURROW_OK;
}

static furrow_status put_value(ubj *u, unsigned depth);

/* An array of numbers of one type. */
static furrow_status put_numbers(ubj *u, unsigned char type, uint64_t count) {
  if (size_of(type) == 0) return fail_here(u, "an array of this type is not read");
  if (count > (uint64_t)(u->end - u->at) / size_of(type)) return fail_here(u, "the file ends within an array");
  for (uint64_t i = 0; i < count && !u->json->missing; i++) {
    if (i > 0) fw_buffer_byte(u->json, ',');
    put_number(u, type);
  }
  return FURROW_OK;
}

/* What follows a bracket: its elements' number (UINT64_MAX: not named) and their type (0: each has its own). */
static furrow_status read_shape(ubj *u, unsigned char *type, uint64_t *count) {
  *type = 0;
  *count = UINT64_MAX;
  if (has(u, 2) && *u->at == '$') {
    *type = u->at[1];
    u->at += 2;
    if (!has(u, 1) || *u->at != '#') return fail_here(u, "a type of elements needs their number");
  }
  if (!has(u, 1) || *u->at != '#') return FURROW_OK;
  u->at++;
  return read_length(u, count);
}

static furrow_status put_array(ubj *u, unsigned depth) {
  unsigned char type;
  uint64_t count;
  FW_TRY(read_shape(u, &type, &count));
  fw_buffer_byte(u->json, '[');
  if (type) {
    FW_TRY(put_numbers(u, type, count));
  } else {
    for (uint64_t i = 0; count == UINT64_MAX || i < count; i++) {
      if (!has(u, 1)) return fail_here(u, "the file ends within an array");
      if (count == UINT64_MAX && *u->at == ']') {
        u->at++;
        break;
      }
      if (i > 0) fw_buffer_byte(u->json, ',');
      FW_TRY(put_value(u, depth + 1));
    }
  }
  fw_buffer_byte(u->json, ']');
  return FURROW_OK;
}

static furrow_status put_object(ubj *u, unsigned depth) {
  unsigned char type;
  uint64_t count;
  FW_TRY(read_shape(u, &type, &count));
  if (type) return fail_here(u, "an object whose values have one type is not read");
  fw_buffer_byte(u->json, '{');
  for (uint64_t i = 0; count == UINT64_MAX || i < count; i++) {
    if (!has(u, 1)) return fail_here(u, "the file ends within an object");
    if (count == UINT64_MAX && *u->at == '}') {
      u->at++;
      break;
    }
    if (i > 0) fw_buffer_byte(u->json, ',');
    FW_TRY(put_string(u));
    fw_buffer_byte(u->json, ':');
    FW_TRY(put_value(u, depth + 1));
  }
  fw_buffer_byte(u->json, '}');
  return FURROW_OK;
}

static furrow_status put_value(ubj *u, unsigned depth) {
  if (depth > FW_JSON_DEPTH) return fail_here(u, "nested too deeply");
  if (u->json->missing) return fw_buffer_status(u->json, u->err);
  if (!has(u, 1)) return fail_here(u, "the file ends before a value");
  const unsigned char type = *u->at++;
  if (size_of(type) > 0) {
    if (!has(u, size_of(type))) return fail_here(u, "the file ends within a number");
    put_number(u, type);
    return FURROW_OK;
  }
  switch (type) {
  case '{': return put_object(u, depth);
  case '[': return put_array(u, depth);
  case 'S': return put_string(u);
  case 'T': fw_buffer_text(u->json, "true"); return FURROW_OK;
  case 'F': fw_buffer_text(u->json, "false"); return FURROW_OK;
  case 'Z': fw_buffer_text(u->json, "null"); return FURROW_OK;
  default: u->at--; return fail_here(u, "this is not the type of a value");
  }
}

furrow_status fw_ubj_to_json(fw_buffer *json, const void *bytes, size_t size, furrow_error *err) {
  ubj u = {bytes, bytes, (const unsigned char *)bytes + size, json, err};
  FW_TRY(put_value(&u, 0));
  if (u.at < u.end) return fail_here(&u, "bytes follow the model");
  return fw_buffer_status(json, err);
}

/* ---- JSON with NaN ---- */

void fw_json_replace_nan(fw_buffer *json, const char *text, size_t size) {
  static const struct {
    const char *theirs, *ours;
  } words[] = {{"NaN", "null"}, {"-NaN", "null"}, {"Infinity", "1e999"}, {"-Infinity", "-1e999"}, {"-nan", "null"}};
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i < size; i++) {
    if (quoted) {
      if (text[i] == '\\')
        i++;
      else if (text[i] == '"')
        quoted = false;
      continue;
    }
    if (text[i] == '"') quoted = true;
    if (text[i] != 'N' && text[i] != 'I' && text[i] != '-') continue;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
      const size_t length = strlen(words[w].theirs);
      if (size - i < length || memcmp(text + i, words[w].theirs, length) != 0) continue;
      fw_buffer_append(json, text + from, i - from);
      fw_buffer_text(json, words[w].ours);
      from = i + length;
      i = from - 1;
      break;
    }
  }
  fw_buffer_append(json, text + from, size - from);
}
