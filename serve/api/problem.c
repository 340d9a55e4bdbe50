/* serve/api/problem.c: errors as problem documents (RFC 9457). */
#include "api/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "http/json_put.h"

static void begin_problem(http_answer *answer, int status, const char *detail) {
  fw_buffer *body = &answer->body;
  answer->status = status;
  answer->type = "application/problem+json";
  answer->fixed = NULL;
  answer->retry_after = status == 429 || status == 503 ? 1 : 0;
  buffer_recycle(body, SIZE_MAX);
  fw_buffer_format(body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":", http_reason(status),
                   status);
  json_put_text(body, detail, strlen(detail));
}

void problem_set(http_answer *answer, int status, const char *format, ...) {
  char detail[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  begin_problem(answer, status, detail);
  fw_buffer_text(&answer->body, "}\n");
}

static int status_of(furrow_status status) {
  switch (status) {
  case FURROW_E_ARGUMENT:
  case FURROW_E_PARSE:
  case FURROW_E_FORMAT:
  case FURROW_E_RANGE: return 400;
  case FURROW_E_NOT_FOUND: return 404;
  case FURROW_E_EXISTS:
  case FURROW_E_STATE: return 409;
  case FURROW_E_UNSUPPORTED: return 422;
  case FURROW_E_MEMORY: return 503;
  default: return 500;
  }
}

static void add_member(fw_buffer *body, const char *name, const char *text) {
  if (!text || !*text) return;
  fw_buffer_format(body, ",\"%s\":", name);
  json_put_text(body, text, strlen(text));
}

/* Adds the text at fault: a string without its quotes. Leaves out the punctuation at which invalid JSON was noticed,
 * and bytes that are not text. */
static void add_token(fw_buffer *body, furrow_status status, const char *token) {
  char text[sizeof((furrow_error){0}.token)];
  size_t length = strlen(token);
  const bool is_string = token[0] == '"';
  if (status == FURROW_E_FORMAT && (strstr(token, "\\x") || (length == 1 && strchr("{}[],:\"", token[0])))) return;
  if (is_string && length > 1 && token[length - 1] == '"') length--;
  snprintf(text, sizeof text, "%.*s", (int)(length - is_string), token + is_string);
  add_member(body, "token", text);
}

void problem_set_error(http_answer *answer, furrow_status status, const furrow_error *err, const char *pointer) {
  problem_set_fault(answer, 0, status, err, pointer);
}

void problem_set_fault(http_answer *answer, int http_status, furrow_status status, const furrow_error *err,
                       const char *pointer) {
  begin_problem(answer, http_status ? http_status : status_of(status),
                err && err->message[0] ? err->message : furrow_status_text(status));
  add_member(&answer->body, "code", furrow_status_name(status));
  add_member(&answer->body, "pointer", pointer);
  if (err) {
    add_token(&answer->body, status, err->token);
    add_member(&answer->body, "hint", err->hint);
  }
  fw_buffer_text(&answer->body, "}\n");
}

/* ---- JSON pointers ---- */

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

/* The library already escapes the steps of its paths as JSON pointers require. */
void json_pointer_read(char *pointer, size_t size, const furrow_json *json) {
  pointer[0] = '/';
  if (furrow_json_path(json, pointer + 1, size - 1) == 0) pointer[0] = 0;
}
