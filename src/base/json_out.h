/* base/json_out.h: writes JSON as json4s prints it (pretty, by jackson): "key" : value, two blanks of indentation for
 * each object, arrays in one line except for the objects in them. */
#ifndef FW_BASE_JSON_OUT_H
#define FW_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

/* Start with {.out = buffer}. */
typedef struct fw_json_out {
  fw_buffer *out;
  unsigned depth; /* objects that are open */
  bool more;      /* the innermost object or array has something in it */
} fw_json_out;

/* A key; a value must follow. */
void fw_json_out_key(fw_json_out *json, const char *key);
/* Values: after a key, or as elements of an array. */
void fw_json_out_open(fw_json_out *json);
void fw_json_out_close(fw_json_out *json);
void fw_json_out_open_array(fw_json_out *json);
void fw_json_out_close_array(fw_json_out *json);
/* Before each element. */
void fw_json_out_element(fw_json_out *json);
void fw_json_out_text(fw_json_out *json, const char *text);
void fw_json_out_integer(fw_json_out *json, int64_t value);
void fw_json_out_unsigned(fw_json_out *json, uint64_t value);
/* As Java prints a double: 1.0, 1.0E-4. */
void fw_json_out_real(fw_json_out *json, double value);
void fw_json_out_float(fw_json_out *json, float value);
void fw_json_out_bool(fw_json_out *json, bool value);
void fw_json_out_null(fw_json_out *json);
/* A key with its value; a text that is NULL is null. */
void fw_json_out_member(fw_json_out *json, const char *key, const char *text);

#endif
