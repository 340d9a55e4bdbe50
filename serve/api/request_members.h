/* serve/api/request_members.h: the body of a request: a JSON object whose members are all known, each once. */
#ifndef SERVE_API_REQUEST_MEMBERS_H
#define SERVE_API_REQUEST_MEMBERS_H

#include "api/service.h"

/* A member that a request may have. `read` reads its value from the thread's JSON reader. */
typedef struct request_member {
  const char *name;
  furrow_status (*read)(void *into, furrow_json *json, furrow_error *err);
} request_member;

/* Reads the body into `into`, which its members know; an empty body is an empty object. Members that are not in the
 * list are refused, except `signature_name`, which clients of TensorFlow Serving send. Returns false: call->answer is
 * a problem document. A `read` that has answered itself returns E_CANCELLED. */
bool request_members_read(call *c, const request_member *members, size_t count, void *into);

#endif
