/* base/json_in.h: a JSON reader (furrow/json.h) on the stack:
 *
 *   furrow_json json;
 *   fw_json_open(&json, text, size, file);
 *   status = furrow_json_object(&json, err);
 *   …
 *   fw_json_close(&json);
 */
#ifndef FW_BASE_JSON_IN_H
#define FW_BASE_JSON_IN_H

#include "base/buffer.h"
#include "furrow/json.h"

#define FW_JSON_DEPTH 64 /* maximal nesting of objects and arrays */

/* A step of the path: a member's key as it is written in the text (NULL: none yet), or an index. */
typedef struct fw_json_step {
  const char *key;
  size_t size;
  int64_t index; /* index in an array; -1 before its first element; -2: an object */
} fw_json_step;

/* `base` may be set after open; it is added to the offsets in errors. */
struct furrow_json {
  const char *text, *end, *at;
  const char *value; /* where the value that was read last begins */
  const char *file;
  uint64_t base;
  unsigned depth;
  bool fresh; /* the innermost object or array has just begun */
  fw_json_step steps[FW_JSON_DEPTH];
  fw_buffer key, string; /* decoded keys and strings that had escapes */
};

/* The text and the file name (for errors; may be NULL) must stay valid until close. */
void fw_json_open(furrow_json *json, const char *text, size_t size, const char *file);
void fw_json_close(furrow_json *json);

#endif
