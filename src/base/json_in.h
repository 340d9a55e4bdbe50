/* base/json_in.h: reads JSON (RFC 8259, strictly), value after value, without a tree.
 *
 *   fw_json json;
 *   fw_json_open(&json, text, size, file);
 *   status = fw_json_object(&json, err);
 *   while (status == FURROW_OK && (status = fw_json_member(&json, &key, err)) == FURROW_OK) {
 *     if (fw_json_is(key, "rows")) status = fw_json_i64(&json, &rows, err);
 *     else status = fw_json_skip(&json, NULL, err);
 *   }
 *   if (status == FURROW_END) status = fw_json_end(&json, err);
 *   fw_json_close(&json);
 *
 * Each value is read by exactly one call: a scalar, an object or array (then its members, to their end), or skip.
 * Errors are E_FORMAT with file, byte, token, and a message that begins or ends with the path of the value: a/b/3.
 * After one, only close makes sense. Members that are there twice are the caller's business. */
#ifndef FW_BASE_JSON_IN_H
#define FW_BASE_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "furrow/status.h"

#define FW_JSON_DEPTH 64 /* objects and arrays within each other */

typedef enum fw_json_kind {
  FW_JSON_NOTHING, /* the end, or a character that cannot begin a value */
  FW_JSON_OBJECT,
  FW_JSON_ARRAY,
  FW_JSON_STRING,
  FW_JSON_NUMBER,
  FW_JSON_BOOL,
  FW_JSON_NULL
} fw_json_kind;

/* Text without a 0 behind it. */
typedef struct fw_json_text {
  const char *bytes;
  size_t size;
} fw_json_text;

/* What a step of the path is: a member's key as it stands in the text (NULL: none yet), or an index. */
typedef struct fw_json_step {
  const char *key;
  size_t size;
  int64_t index; /* of an array; -1 before its first element; -2: an object */
} fw_json_step;

/* The caller's struct. `base` may be set after open: what is added to offsets in errors. */
typedef struct fw_json {
  const char *text, *end, *at;
  const char *value; /* where the value that was read last begins */
  const char *file;
  uint64_t base;
  unsigned depth;
  bool fresh; /* the innermost object or array has just begun */
  fw_json_step steps[FW_JSON_DEPTH];
  fw_buffer key, string; /* what had escapes */
} fw_json;

/* Text and file (for errors; may be NULL) must stay until close. */
void fw_json_open(fw_json *json, const char *text, size_t size, const char *file);
void fw_json_close(fw_json *json);

/* What comes next. */
fw_json_kind fw_json_peek(fw_json *json);
/* Enters an object; then each call of member gives a key, whose value must be read, and at last FURROW_END. The key is
 * good until the next one. */
furrow_status fw_json_object(fw_json *json, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_member(fw_json *json, fw_json_text *key, furrow_error *err) FURROW_MUST_USE;
/* Enters an array; then each call of element announces a value, and at last FURROW_END. */
furrow_status fw_json_array(fw_json *json, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_element(fw_json *json, furrow_error *err) FURROW_MUST_USE;
/* UTF-8, escapes resolved; it may contain 0. Good until the next string. */
furrow_status fw_json_string(fw_json *json, fw_json_text *string, furrow_error *err) FURROW_MUST_USE;
/* A number without point and exponent that fits. */
furrow_status fw_json_i64(fw_json *json, int64_t *value, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_f64(fw_json *json, double *value, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_bool(fw_json *json, bool *value, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_json_null(fw_json *json, furrow_error *err) FURROW_MUST_USE;
/* Any value; its text as it stands to *raw, unless NULL. */
furrow_status fw_json_skip(fw_json *json, fw_json_text *raw, furrow_error *err) FURROW_MUST_USE;
/* Nothing but white space follows. */
furrow_status fw_json_end(fw_json *json, furrow_error *err) FURROW_MUST_USE;

/* Bytes from the start of the file to the value that was read last, and to the one that comes next. */
uint64_t fw_json_offset(const fw_json *json);
uint64_t fw_json_next_offset(fw_json *json);
/* E_FORMAT at a byte of the file: the path of the value that is being read (with /member, unless NULL) and the
 * message, which goes on from there: "is negative". */
furrow_status fw_json_fail(const fw_json *json, uint64_t offset, const char *member, furrow_error *err,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));

bool fw_json_is(fw_json_text text, const char *literal);

#endif
