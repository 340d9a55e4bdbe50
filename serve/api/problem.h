/* serve/api/problem.h: errors as problem documents (RFC 9457).
 *
 *   {"type":"about:blank","title":"Bad Request","status":400,"detail":"instances/0/age is not a number",
 *    "code":"E_PARSE","pointer":"/instances/0/age","hint":"…"}
 */
#ifndef SERVE_API_PROBLEM_H
#define SERVE_API_PROBLEM_H

#include "furrow/json.h"
#include "http/http_server.h"

/* Replaces the answer. */
void problem_set(http_answer *answer, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for an error of the library: E_ARGUMENT, E_PARSE, E_FORMAT, E_RANGE 400; E_NOT_FOUND 404; E_EXISTS, E_STATE
 * 409; E_UNSUPPORTED 422; E_MEMORY 503 with Retry-After; others 500. pointer (may be NULL): JSON pointer of the place
 * in the request. Clients do not get paths of files. */
void problem_set_error(http_answer *answer, furrow_status status, const furrow_error *err, const char *pointer);
/* The same with the given HTTP status; 0: the error decides. */
void problem_set_fault(http_answer *answer, int http_status, furrow_status status, const furrow_error *err,
                       const char *pointer);

/* JSON pointers (RFC 6901) to places in requests: "/instances/3/price". */

/* Appends a step, in which ~ and / become ~0 and ~1. A pointer that would not fit into `size` bytes is cut. */
void json_pointer_add(char *pointer, size_t size, const char *step, size_t step_size);
/* Writes the pointer to the value that a reader is at; "": the whole text. */
void json_pointer_read(char *pointer, size_t size, const furrow_json *json);

#endif
