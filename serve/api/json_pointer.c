/* serve/api/json_pointer.c: JSON pointers to places in requests. */
#include "api/json_pointer.h"

#include <string.h>

void json_pointer_add(char *pointer, size_t size, const char *step, size_t step_size) {
  size_t at = strlen(pointer);
  if (at + 2 < size) pointer[at++] = '/';
  for (size_t i = 0; i < step_size && at + 3 < size; i++) {
    const bool escaped = step[i] == '~' || step[i] == '/';
    pointer[at++] = escaped ? '~' : step[i];
    if (escaped) pointer[at++] = step[i] == '~' ? '0' : '1';
  }
  pointer[at] = 0;
}

/* The library escapes the steps of its paths as pointers need it. */
void json_pointer_read(char *pointer, size_t size, const furrow_json *json) {
  pointer[0] = '/';
  if (furrow_json_path(json, pointer + 1, size - 1) == 0) pointer[0] = 0;
}
