/* furrow/json.h: reads JSON (RFC 8259, strictly) one value after the other, without a tree; writes JSON numbers.
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
 * Duplicate members are not detected: the caller sees both.
 *
 * Errors: a call that reads fails with E_FORMAT, with file, byte, token, and a message that begins or ends with the
 *         path of the value: a/b/3. After a failure only furrow_json_start and furrow_json_free may be called.
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

/* Text that is not terminated by a 0. Layout fixed. */
typedef struct furrow_json_text {
  const char *bytes; /* its first byte */
  size_t size;       /* its length in bytes */
} furrow_json_text;

/* Makes a reader, for any number of texts.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_json_free. */
FURROW_API furrow_status furrow_json_create(furrow_json **json, furrow_error *err) FURROW_MUST_USE;
/* Frees a reader. Takes NULL. */
FURROW_API void furrow_json_free(furrow_json *json);
/* Starts reading a text (NULL: an empty one). `file` is its name in errors (NULL: none). Both must stay valid while the
 * text is read. */
FURROW_API void furrow_json_start(furrow_json *json, const char *text, size_t size, const char *file);

/* Returns: the kind of the next value. */
FURROW_API furrow_json_kind furrow_json_peek(furrow_json *json);
/* Enters an object. Then each call of furrow_json_member gives a key, whose value must be read, until it returns
 * FURROW_END.
 * Errors:  E_FORMAT, not an object, or nested deeper than 64. */
FURROW_API furrow_status furrow_json_object(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Gives the key of the next member.
 * Errors:  END after the last one; E_FORMAT; E_MEMORY.
 * Owner:   the reader; the key is valid until the next one. */
FURROW_API furrow_status furrow_json_member(furrow_json *json, furrow_json_text *key,
                                            furrow_error *err) FURROW_MUST_USE;
/* Enters an array. Then each call of furrow_json_element announces a value, until it returns FURROW_END.
 * Errors:  E_FORMAT, not an array, or nested deeper than 64. */
FURROW_API furrow_status furrow_json_array(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Announces the next element.
 * Errors:  END after the last one; E_FORMAT. */
FURROW_API furrow_status furrow_json_element(furrow_json *json, furrow_error *err) FURROW_MUST_USE;
/* Reads the elements that follow in the array that was entered, as long as they are numbers: each becomes the nearest
 * float, at most `capacity` of them. It stops at the end of the array and before an element that is too large for a
 * float, is not a number or is not JSON; furrow_json_element announces that element. values[count …] may be
 * overwritten.
 * Returns: the number of elements read; 0 outside of an array. */
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
/* Skips any value; *raw, unless raw is NULL, gets its text unchanged.
 * Errors:  E_FORMAT, not JSON.
 * Owner:   the caller's text. */
FURROW_API furrow_status furrow_json_skip(furrow_json *json, furrow_json_text *raw, furrow_error *err) FURROW_MUST_USE;
/* Checks that nothing but white space follows.
 * Errors:  E_FORMAT. */
FURROW_API furrow_status furrow_json_end(furrow_json *json, furrow_error *err) FURROW_MUST_USE;

/* Returns: the byte offset in the text of the value that was read last, or of the next value. */
FURROW_API uint64_t furrow_json_offset(const furrow_json *json);
FURROW_API uint64_t furrow_json_next_offset(furrow_json *json);
/* Writes the path of the value that is being read, "instances/0/age", ended by a 0 and cut to size as snprintf does; at
 * most 40 bytes of each step. In keys ~ and / are written ~0 and ~1: a slash before it makes it a JSON pointer.
 * Returns: its length. */
FURROW_API size_t furrow_json_path(const furrow_json *json, char *path, size_t size);
/* Fills in an error at a byte of the text, about the value that is being read or about its member (unless NULL). The
 * message is the path of the value, followed by the formatted text, for example "is negative".
 * Errors:  E_FORMAT, always. */
FURROW_API furrow_status furrow_json_fail(const furrow_json *json, uint64_t offset, const char *member,
                                          furrow_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The most bytes that furrow_json_write_f32 and furrow_json_write_f64 write. */
#define FURROW_JSON_NUMBER_TEXT 32
/* Writes a number to `out`, which holds FURROW_JSON_NUMBER_TEXT bytes, without a terminating 0: the fewest digits that
 * read back to the same bits (0.1, 1e-07, 5). NaN and the infinities, which JSON lacks, become "null".
 * Returns: the length of the text. */
FURROW_API size_t furrow_json_write_f32(char *out, float value);
FURROW_API size_t furrow_json_write_f64(char *out, double value);
/* Returns: whether a text equals the literal. */
FURROW_API bool furrow_json_is(furrow_json_text text, const char *literal);

#ifdef __cplusplus
}
#endif

#endif
