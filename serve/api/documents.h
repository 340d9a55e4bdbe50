/* serve/api/documents.h: JSON of requests and answers: the members of an object, and the result of a reload. */
#ifndef SERVE_API_DOCUMENTS_H
#define SERVE_API_DOCUMENTS_H

#include "api/service.h"

/* ---- Requests: an object whose members are all known, each once ---- */

/* A member that a request may have. `read` reads its value from the thread's JSON reader. */
typedef struct request_member {
  const char *name;
  furrow_status (*read)(void *into, furrow_json *json, furrow_error *err);
} request_member;

/* Reads the body into `into`, whose type the `read` functions of the members know; an empty body is an empty object.
 * Members that are not in the list are refused, except `signature_name`, which clients of TensorFlow Serving send.
 * Returns false: call->answer is a problem document. A `read` that has set the answer itself returns E_CANCELLED. */
bool request_members_read(call *c, const request_member *members, size_t count, void *into);

/* ---- Answers ---- */

/* Each writes ,"name":value. */
void put_text(fw_buffer *body, const char *name, const char *text); /* NULL: null */
void put_count(fw_buffer *body, const char *name, uint64_t count);
void put_number(fw_buffer *body, const char *name, double number);
void put_flag(fw_buffer *body, const char *name, bool flag);
void put_time(fw_buffer *body, const char *name, int64_t seconds); /* since 1970, as 2026-11-16T10:00:00Z */
/* Reopens a problem document for more members: returns its body, which put_end closes; NULL: out of memory. */
fw_buffer *put_more(http_answer *answer);
void put_end(fw_buffer *body);

/* Prints the result of a reload for the operator; prints nothing if nothing has changed. what: "model", "index".
 */
void tell_reload(const char *what, const char *name, furrow_status status, const reload_result *result,
                 const furrow_error *err);
/* Answers a reload that succeeded. `refused`: what is wrong with the newest version; NULL: it is served. */
void answer_reload(http_answer *answer, const char *name, const reload_result *result, const char *refused);

#endif
