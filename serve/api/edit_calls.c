/* serve/api/edit_calls.c: POST /v1/indexes/NAME:add, :remove and :checkpoint. */
#include "api/index_calls.h"
#include "core/fail.h"

/* What is not writable needs no decoding. */
static bool can_write(call *c, request_fault *fault) {
  if (served_index_is_writable(c->index)) return true;
  fail(&fault->error, FURROW_E_STATE, "index %s is not writable", served_index_name(c->index));
  add_hint(&fault->error, "start the server with --writable %s", served_index_name(c->index));
  answer_fault(c, FURROW_E_STATE, fault);
  return false;
}

static void answer_ids(call *c, const int64_t *ids, size_t n) {
  bytes *body = &c->answer->body;
  c->answer->type = "application/json";
  bytes_text(body, "{\"ids\":[");
  for (size_t i = 0; i < n; i++) {
    if (i > 0) bytes_add(body, ",", 1);
    bytes_i64(body, ids[i]);
  }
  bytes_text(body, "]}\n");
}

void add_handler(call *c) {
  request_fault fault = {0};
  index_addition addition;
  int64_t *ids;
  const request_text text = call_text(c);
  index_view *view = can_write(c, &fault) ? call_view(c) : NULL;
  if (!view) return;
  furrow_status status = add_request_read(&addition, &ids, &text, view, &c->service->limits, c->memory, &fault);
  shared_release(&view->shared);
  if (status == FURROW_OK) {
    c->rows = addition.n;
    status = served_index_add(c->index, &addition, ids, &fault.error);
  }
  if (status == FURROW_E_EXISTS) add_hint(&fault.error, "\"replace\": true gives it the new vector");
  if (status == FURROW_OK)
    answer_ids(c, ids, addition.n);
  else
    answer_fault(c, status, &fault);
}

void remove_handler(call *c) {
  request_fault fault = {0};
  remove_request request;
  uint64_t removed = 0;
  const request_text text = call_text(c);
  index_view *view = can_write(c, &fault) ? call_view(c) : NULL;
  if (!view) return;
  furrow_status status = remove_request_read(&request, &text, view, &c->service->limits, c->memory, &fault);
  shared_release(&view->shared);
  if (status == FURROW_OK) {
    c->rows = request.n;
    status = served_index_remove(c->index, request.ids, request.n, &removed, &fault.error);
  }
  if (status != FURROW_OK) {
    answer_fault(c, status, &fault);
    return;
  }
  c->answer->type = "application/json";
  bytes_format(&c->answer->body, "{\"removed\":%llu,\"missing\":[", (unsigned long long)removed);
  bytes_add(&c->answer->body, request.missing.at, request.missing.size);
  bytes_format(&c->answer->body, "],\"missing_count\":%zu}\n", request.missing_count);
}

void checkpoint_handler(call *c) {
  request_fault fault = {0};
  const request_text text = call_text(c);
  if (!can_write(c, &fault)) return;
  furrow_status status = empty_request_read(&text, c->memory, &fault);
  if (status == FURROW_OK && (status = served_index_checkpoint(c->index, &fault.error)) != FURROW_OK)
    fault.status = status == FURROW_E_STATE ? 409 : status == FURROW_E_MEMORY ? 503 : 500; /* not the client's fault */
  index_view *view = status == FURROW_OK ? call_view(c) : NULL;
  if (status != FURROW_OK) answer_fault(c, status, &fault);
  if (!view) return;
  c->answer->type = "application/json";
  bytes_format(&c->answer->body, "{\"version\":%llu,\"vectors\":%llu}\n", (unsigned long long)view->base->number,
               (unsigned long long)index_view_count(view));
  shared_release(&view->shared);
}
