/* base/json_out.h: writes JSON as json4s prints it (pretty, by jackson): "key" : value, indented by two blanks for
 * each object; an array is on one line except for the objects in it. */
#ifndef FW_BASE_JSON_OUT_H
#define FW_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Start with {.out = buffer}. */
typedef struct fw_json_out {
  fw_buffer *out;
  unsigned depth; /* objects that are open */
  bool more;      /* the innermost object or array is not empty */
} fw_json_out;

/* Writes a key; a value must follow. */
void fw_json_out_key(fw_json_out *json, const char *key);
/* Values, written after a key or as elements of an array. */
void fw_json_out_open(fw_json_out *json);
void fw_json_out_close(fw_json_out *json);
void fw_json_out_open_array(fw_json_out *json);
void fw_json_out_close_array(fw_json_out *json);
/* Call this before each element. */
void fw_json_out_element(fw_json_out *json);
void fw_json_out_text(fw_json_out *json, const char *text);
void fw_json_out_integer(fw_json_out *json, int64_t value);
void fw_json_out_unsigned(fw_json_out *json, uint64_t value);
/* Writes a double as Java prints it: 1.0, 1.0E-4. */
void fw_json_out_real(fw_json_out *json, double value);
void fw_json_out_float(fw_json_out *json, float value);
void fw_json_out_bool(fw_json_out *json, bool value);
void fw_json_out_null(fw_json_out *json);
/* Writes a key with a string value; NULL is written as null. */
void fw_json_out_member(fw_json_out *json, const char *key, const char *text);
void fw_json_out_member_integer(fw_json_out *json, const char *key, int64_t value);
void fw_json_out_member_unsigned(fw_json_out *json, const char *key, uint64_t value);
/* A number that is not finite is null. */
void fw_json_out_member_real(fw_json_out *json, const char *key, double value);
void fw_json_out_member_bool(fw_json_out *json, const char *key, bool value);

#endif
