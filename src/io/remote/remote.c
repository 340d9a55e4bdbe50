/* io/remote/remote.c: requests of the services, and those that are repeated. */
#include "io/remote/remote.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/process/process_stop.h"

/* ---- Requests ------------------------------------------------------------------------------------------- */

furrow_status fw_remote_header(fw_remote_call *call, furrow_error *err, const char *format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  const int length = vsnprintf(NULL, 0, format, list);
  char *text = NULL;
  const furrow_status status = FW_ALLOC(&text, (size_t)length + 1, err);
  if (status == FURROW_OK) {
    vsnprintf(text, (size_t)length + 1, format, again);
    call->headers[call->nheaders++] = text;
  }
  va_end(again);
  va_end(list);
  return status;
}

static void clear_call(fw_remote_call *call) {
  fw_buffer_clear(&call->url);
  for (size_t i = 0; i < call->nheaders; i++) fw_free(call->headers[i]);
  *call = (fw_remote_call){0};
}

static furrow_status perform(const fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                             fw_http_response *response, furrow_error *err) {
  /* A weak tag never matches. */
  if (ask->etag && ask->etag[0] == '"') FW_TRY(fw_remote_header(call, err, "If-Match: %s", ask->etag));
  if (ask->only_new) FW_TRY(fw_remote_header(call, err, "If-None-Match: *"));
  if (strcmp(ask->method, "PUT") == 0 || strcmp(ask->method, "POST") == 0)
    FW_TRY(fw_remote_header(call, err, "Content-Type: application/octet-stream"));
  fw_buffer_byte(&call->url, 0);
  FW_TRY(fw_buffer_status(&call->url, err));
  const fw_http_request request = {.method = ask->method,
                                   .url = call->url.bytes,
                                   .headers = call->headers,
                                   .nheaders = call->nheaders,
                                   .from = ask->from,
                                   .to = ask->to,
                                   .body = ask->body,
                                   .body_size = ask->body_size,
                                   .redirects = service->redirects,
                                   .connect_seconds = ask->connect_seconds,
                                   .most_seconds = ask->most_seconds,
                                   .at_the_end = ask->at_the_end,
                                   .take = ask->take,
                                   .stopped = ask->stopped,
                                   .user = ask->user};
  return fw_http_perform(&request, response, err);
}

furrow_status fw_remote_send(const fw_remote_service *service, const fw_remote_ask *ask, fw_http_response *response,
                             furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (int tries = 0, again = 1; again && tries < 3 && status == FURROW_OK; tries++) {
    fw_remote_call call = {0};
    status = service->prepare(service, ask, &call, err);
    if (status == FURROW_OK) status = perform(service, ask, &call, response, err);
    clear_call(&call);
    again = status == FURROW_OK && service->learned && service->learned(service, ask, response);
  }
  return status;
}

/* ---- Small answers -------------------------------------------------------------------------------------- */

enum { BODY_MOST = 64 << 20 }; /* a list of 1000 names is far smaller */

static bool take_all(void *user, const fw_http_response *response, const void *bytes, size_t size) {
  fw_buffer *body = user;
  (void)response;
  if (size > BODY_MOST - body->size) return false;
  fw_buffer_append(body, bytes, size);
  return !body->missing;
}

/* libcurl takes headers that end with the connection for all of them. */
static void note_cut(const fw_remote_ask *ask, fw_http_response *r) {
  const bool success = !r->failure[0] && r->status >= 200 && r->status < 300;
  const bool has_body = strcmp(ask->method, "HEAD") != 0 && r->status != 204;
  if (!success || ((r->framed || !has_body) && (r->etag[0] || !ask->tagged))) return;
  snprintf(r->failure, sizeof r->failure, "the server's answer is cut short");
  r->may_repeat = true;
}

furrow_status fw_remote_fetch(const fw_remote_service *service, const fw_remote_ask *ask, fw_http_response *response,
                              fw_buffer *body, furrow_error *err) {
  const unsigned most = fw_http_get_settings().retries;
  fw_remote_ask mine = *ask;
  mine.take = take_all;
  mine.stopped = NULL;
  mine.user = body;
  for (unsigned n = 0;; n++) {
    fw_buffer_reset(body);
    FW_TRY(fw_remote_send(service, &mine, response, err));
    FW_TRY(fw_buffer_status(body, err));
    note_cut(&mine, response);
    if (!fw_http_may_repeat(response)) return FURROW_OK;
    if (n == most || (mine.at_the_end && fw_is_stopped())) return FURROW_OK;
    FW_TRY(fw_http_wait(n, response, NULL, NULL, err));
  }
}
