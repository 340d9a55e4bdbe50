/* furrow/json.h: reads JSON (RFC 8259, strictly), value after value, without a tree; writes its numbers.
 *
 *   furrow_json *json = NULL;
 *   furrow_json_text key;
 *   int64_t rows = 0;
 *   furrow_status status = furrow_json_create(&json, &err);
 *   if (status == FURROW_OK) {
 *     furrow_json_start(json, text, size, "meta.json");
 *     status = furrow_json_object(json, &err);
 *   }
 *   while (status == FURROW_OK && (status = furrow_json_member(json, &key, &err)) == FURROW_OK) {
 *     if (furrow_json_is(key, "rows")) status = furrow_json_i64(json, &rows, &err);
 *     else status = furrow_json_skip(json, NULL, &err);
 *   }
 *   if (status == FURROW_END) status = furrow_json_end(json, &err);
 *   furrow_json_free(json);
 *
 * Each value is read by exactly one call: a scalar, an object or array (then its members, to their end), or skip.
 * Members that are there twice are the caller's business.
 *
 * Errors: a call that reads fails with E_FORMAT, with file, byte, token, and a message that begins or ends with the
 *         path of the value: a/b/3. After a failure only furrow_json_start and furrow_json_free make sense.
 * Threads: a reader is used by one thread at a time.
 */
#ifndef FURROW_JSON_H
#define FURROW_JSON_H

#include <stdbool.h>

#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A reader. */
typedef struct furrow_json furrow_json;

/* What a value is. */
typedef enum furrow_json_kind {
  FURROW_JSON_NOTHING, /* the end, or a character that cannot begin a value */
  FURROW_JSON_OBJECT,  /* {…} */
  FURROW_JSON_ARRAY,   /* […] */
  FURROW_JSON_STRING,  /* "…" */
  FURROW_JSON_NUMBER,  /* -1.5e3 */
  FURROW_JSON_BOOL,    /* true or false */
  FURROW_JSON_NULL     /* null */
} furrow_json_kind;

/* Text without a 0 behind it. Layout fixed. */
typedef struct furrow_json_text {
  const char *bytes; /* the first one */
  size_t size;       /* how many */
} furrow_json_text;

/* Makes a reader, for any number of texts.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_json_free. */
FURROW_API furrow_status furrow_json_create(furrow_json **json, furrow_error *err) FURROW_MUST_USE;
/* Frees a reader. Takes NULL. */
FURROW_API void furrow_json_free(furrow_json *json);
/* Begins a text (NULL: an empty one), which must stay as long as it is read, as must `file`: what errors call it; NULL:
 * nothing. */
FURROW_API void furrow_json_start(furrow_json *json, const char *text, size_t size, const char *file);

/* Returns: what comes next. */
FURROW_API furrow_json_kind furrow_json_peek(furrow_json *json);
/* Enters an object; then each call of furrow_json_member gives a key, whose value must be read, and at last FURROW_END.
 * Errors:  E_FORMAT, not an object, or nested deeper than 64. */
FURROW_API furrow_status furrow_json_object(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Gives the key of the next member.
 * Errors:  END after the last one; E_FORMAT; E_MEMORY.
 * Owner:   the reader; the key is valid until the next one. */
FURROW_API furrow_status furrow_json_member(furrow_json *json, furrow_json_text *key,
                                            furrow_error *err) FURROW_MUST_USE;
/* Enters an array; then each call of furrow_json_element announces a value, and at last FURROW_END.
 * Errors:  E_FORMAT, not an array, or nested deeper than 64. */
FURROW_API furrow_status furrow_json_array(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Announces the next element.
 * Errors:  END after the last one; E_FORMAT. */
FURROW_API furrow_status furrow_json_element(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Reads the elements that follow in the array that was entered, as long as they are numbers: each becomes the nearest
 * float, at most `capacity` of them. It stops before one that is too large for a float, or is something else, or is not
 * JSON, and before the end; what it stops at, furrow_json_element announces. values[count …] may be overwritten.
 * Returns: how many; 0 outside of an array. */
FURROW_API size_t furrow_json_f32_elements(furrow_json *json, float *values, size_t capacity);
/* Reads a string: UTF-8, escapes resolved; it may contain 0.
 * Errors:  E_FORMAT, not a string, or not UTF-8; E_MEMORY.
 * Owner:   the reader, or the text; valid until the next string. */
FURROW_API furrow_status furrow_json_string(furrow_json *json, furrow_json_text *string,
                                            furrow_error *err) FURROW_MUST_USE;
/* Reads a number without point and exponent.
 * Errors:  E_FORMAT, not such a number, or it does not fit. */
FURROW_API furrow_status furrow_json_i64(furrow_json *json, int64_t *value, furrow_error *err) FURROW_MUST_USE;
/* Reads a number, correctly rounded.
 * Errors:  E_FORMAT, not a number. */
FURROW_API furrow_status furrow_json_f64(furrow_json *json, double *value, furrow_error *err) FURROW_MUST_USE;
/* Reads true or false.
 * Errors:  E_FORMAT, something else. */
FURROW_API furrow_status furrow_json_bool(furrow_json *json, bool *value, furrow_error *err) FURROW_MUST_USE;
/* Reads null.
 * Errors:  E_FORMAT, something else. */
FURROW_API furrow_status furrow_json_null(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Reads any value; its text as it stands goes to *raw, unless that is NULL.
 * Errors:  E_FORMAT, not JSON.
 * Owner:   the caller's text. */
FURROW_API furrow_status furrow_json_skip(furrow_json *json, furrow_json_text *raw, furrow_error *err) FURROW_MUST_USE;
/* Checks that nothing but white space follows.
 * Errors:  E_FORMAT. */
FURROW_API furrow_status furrow_json_end(furrow_json *json, furrow_error *err) FURROW_MUST_USE;

/* Returns: bytes from the start of the text to the value that was read last, or to the one that comes next. */
FURROW_API uint64_t furrow_json_offset(const furrow_json *json);
FURROW_API uint64_t furrow_json_next_offset(furrow_json *json);
/* Writes the path of the value that is being read, "instances/0/age", ended by a 0 and cut to size as snprintf does; at
 * most 40 bytes of each step. In keys ~ and / are written ~0 and ~1: a slash before it makes it a JSON pointer.
 * Returns: its length. */
FURROW_API size_t furrow_json_path(const furrow_json *json, char *path, size_t size);
/* Fails at a byte of the text about the value that is being read, or about its member (unless NULL): the message is the
 * path and the format's text, which goes on from there: "is negative".
 * Errors:  E_FORMAT, always. */
FURROW_API furrow_status furrow_json_fail(const furrow_json *json, uint64_t offset, const char *member,
                                          furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Bytes that furrow_json_write_f32 and furrow_json_write_f64 write at most. */
#define FURROW_JSON_NUMBER_TEXT 32
/* Writes a number to `out`, which holds FURROW_JSON_NUMBER_TEXT bytes, without a 0 behind it: the fewest digits that
 * read back to the same bits (0.1, 1e-07, 5); "null" for what JSON does not have: NaN and the infinities.
 * Returns: the length of the text. */
FURROW_API size_t furrow_json_write_f32(char *out, float value);
FURROW_API size_t furrow_json_write_f64(char *out, double value);
/* Returns: whether a text is that literal. */
FURROW_API bool furrow_json_is(furrow_json_text text, const char *literal);

#ifdef __cplusplus
}
#endif

#endif
