/* base/json_out.c: JSON as json4s prints it. */
#include "base/json_out.h"

#include <math.h>
#include <string.h>

#include "base/java_number.h"
#include "base/number_out.h"
#include "furrow/json.h"

static void new_line(fw_json_out *json) {
  fw_buffer_byte(json->out, '\n');
  for (unsigned i = 0; i < json->depth; i++) fw_buffer_text(json->out, "  ");
}

void fw_json_out_key(fw_json_out *json, const char *key) {
  if (json->more) fw_buffer_byte(json->out, ',');
  new_line(json);
  fw_buffer_json_string(json->out, key, strlen(key), false);
  fw_buffer_text(json->out, " : ");
}

void fw_json_out_open(fw_json_out *json) {
  fw_buffer_byte(json->out, '{');
  json->depth++;
  json->more = false;
}

void fw_json_out_close(fw_json_out *json) {
  json->depth--;
  if (json->more)
    new_line(json);
  else
    fw_buffer_byte(json->out, ' ');
  fw_buffer_byte(json->out, '}');
  json->more = true;
}

void fw_json_out_open_array(fw_json_out *json) {
  fw_buffer_byte(json->out, '[');
  json->more = false;
}

void fw_json_out_element(fw_json_out *json) {
  fw_buffer_text(json->out, json->more ? ", " : " ");
}

void fw_json_out_close_array(fw_json_out *json) {
  fw_buffer_text(json->out, " ]");
  json->more = true;
}

void fw_json_out_text(fw_json_out *json, const char *text) {
  fw_buffer_json_string(json->out, text, strlen(text), false);
  json->more = true;
}

void fw_json_out_integer(fw_json_out *json, int64_t value) {
  fw_buffer_i64(json->out, value);
  json->more = true;
}

void fw_json_out_unsigned(fw_json_out *json, uint64_t value) {
  char text[FW_NUMBER_TEXT];
  fw_buffer_append(json->out, text, fw_write_u64(text, value));
  json->more = true;
}

void fw_json_out_real(fw_json_out *json, double value) {
  char text[FW_JAVA_TEXT];
  if (!isfinite(value)) {
    fw_json_out_null(json);
    return;
  }
  fw_buffer_append(json->out, text, fw_java_double(text, value));
  json->more = true;
}

void fw_json_out_float(fw_json_out *json, float value) {
  char text[FW_JAVA_TEXT];
  fw_buffer_append(json->out, text, fw_java_float(text, value));
  json->more = true;
}

void fw_json_out_bool(fw_json_out *json, bool value) {
  fw_buffer_text(json->out, value ? "true" : "false");
  json->more = true;
}

void fw_json_out_null(fw_json_out *json) {
  fw_buffer_text(json->out, "null");
  json->more = true;
}

void fw_json_out_member(fw_json_out *json, const char *key, const char *text) {
  fw_json_out_key(json, key);
  if (text)
    fw_json_out_text(json, text);
  else
    fw_json_out_null(json);
}

/* ---- Numbers in the form that JSON requires ---- */

static size_t write_null(char *out) {
  memcpy(out, "null", 4);
  return 4;
}

size_t furrow_json_write_f32(char *out, float value) {
  return isfinite(value) ? fw_write_f32(out, value) : write_null(out);
}

size_t furrow_json_write_f64(char *out, double value) {
  return isfinite(value) ? fw_write_f64(out, value) : write_null(out);
}

void fw_json_out_member_integer(fw_json_out *json, const char *key, int64_t value) {
  fw_json_out_key(json, key);
  fw_json_out_integer(json, value);
}

void fw_json_out_member_unsigned(fw_json_out *json, const char *key, uint64_t value) {
  fw_json_out_key(json, key);
  fw_json_out_unsigned(json, value);
}

void fw_json_out_member_real(fw_json_out *json, const char *key, double value) {
  fw_json_out_key(json, key);
  if (isfinite(value))
    fw_json_out_real(json, value);
  else
    fw_json_out_null(json);
}

void fw_json_out_member_bool(fw_json_out *json, const char *key, bool value) {
  fw_json_out_key(json, key);
  fw_json_out_bool(json, value);
}
