/* serve/api/json_pointer.h: JSON pointers (RFC 6901) to places in requests: "/instances/3/price". */
#ifndef SERVE_API_JSON_POINTER_H
#define SERVE_API_JSON_POINTER_H

#include "furrow/json.h"

/* Appends a step, in which ~ and / become ~0 and ~1. A pointer that would not fit into `size` bytes is cut. */
void json_pointer_add(char *pointer, size_t size, const char *step, size_t step_size);
/* Writes that of the value that a reader is at; "": the whole text. */
void json_pointer_read(char *pointer, size_t size, const furrow_json *json);

#endif
