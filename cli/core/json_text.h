/* cli/core/json_text.h: reads JSON that a command of ours wrote. */
#ifndef CLI_CORE_JSON_TEXT_H
#define CLI_CORE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

typedef enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } json_kind;

typedef struct json_value {
  json_kind kind;
  const char *name; /* of a member; NULL elsewhere */
  const char *text; /* JSON_TEXT */
  double number;    /* JSON_NUMBER */
  size_t count;     /* of a list or an object */
  size_t end;       /* place behind this value and all that is in it */
} json_value;

/* All values of a text in the order they begin; the first is the whole. */
typedef struct json_text {
  char *bytes;
  json_value *values;
  size_t count, capacity;
} json_text;

/* E_FORMAT: no JSON, with the byte. */
furrow_status json_load(json_text *json, const char *path, furrow_error *err);
void json_clear(json_text *json);

/* A member, or NULL; `in` may be NULL. */
const json_value *json_get(const json_text *json, const json_value *in, const char *name);
/* The first value inside, and the one behind a value; NULL: there are no more. */
const json_value *json_first(const json_text *json, const json_value *in);
const json_value *json_next(const json_text *json, const json_value *in, const json_value *value);
/* A number that is a member; NaN: there is none. */
double json_number(const json_text *json, const json_value *in, const char *name);
/* A text that is a member; "": there is none. */
const char *json_string(const json_text *json, const json_value *in, const char *name);

#endif
