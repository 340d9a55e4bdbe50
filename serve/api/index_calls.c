/* serve/api/index_calls.c: GET /v1/indexes and /v1/indexes/NAME; POST /v1/indexes/NAME:reload. */
#include "api/index_calls.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "api/documents.h"
#include "api/problem.h"

static void add_metric(bytes *body, furrow_distance_metric metric) {
  char text[32];
  size_t length = 0;
  const char *name = furrow_distance_metric_name(metric);
  for (; name && name[length] && length < sizeof text - 1; length++)
    text[length] = (char)tolower((unsigned char)name[length]);
  text[length] = 0;
  put_text(body, "metric", text);
}

static void add_nprobe(bytes *body, const index_base *base) {
  static const char *const origins[] = {
      [NPROBE_FROM_FILE] = "file", [NPROBE_MEASURED] = "measured", [NPROBE_BY_RULE] = "rule"};
  put_count(body, "nprobe", base->nprobe);
  put_text(body, "nprobe_from", origins[base->nprobe_from]);
  put_number(body, "recall", base->nprobe_from == NPROBE_MEASURED ? base->recall : NAN);
}

static void describe_base(bytes *body, const index_view *view) {
  const index_base *base = view->base;
  put_count(body, "version", base->number);
  put_text(body, "kind", furrow_index_kind_name(base->ivf_info.kind));
  put_count(body, "dimension", (uint64_t)base->info.d);
  add_metric(body, base->info.metric);
  put_count(body, "vectors", index_view_count(view));
  put_count(body, "lists", base->ivf_info.nlist);
  add_nprobe(body, base);
  put_count(body, "code_bytes", base->ivf_info.code_size);
  put_count(body, "file_bytes", base->bytes);
  put_flag(body, "named", base->names != NULL);
  put_flag(body, "by_id", base->by_id);
  put_time(body, "loaded_at", base->loaded_at);
}

static void describe_edits(bytes *body, served_index *index) {
  edit_figures figures;
  served_index_get_figures(index, &figures);
  put_flag(body, "writable", served_index_is_writable(index));
  put_count(body, "fresh", figures.fresh);
  put_count(body, "removed", figures.removed);
  put_count(body, "log_bytes", figures.log_bytes);
  put_count(body, "checkpoints", figures.checkpoints);
}

/* Searches and changes; times are those of searches. */
static void describe_traffic(bytes *body, const call *c, size_t target) {
  metrics_summary search = {0}, one = {0};
  metrics_summarize(c->service->metrics, ROUTE_SEARCH, target, &search);
  uint64_t requests = search.requests, errors = search.errors;
  for (route_kind route = ROUTE_ADD; route <= ROUTE_REMOVE; route++) {
    metrics_summarize(c->service->metrics, route, target, &one);
    requests += one.requests;
    errors += one.errors;
  }
  put_count(body, "requests", requests);
  put_count(body, "errors", errors);
  put_number(body, "p50_ms", search.p50_ms);
  put_number(body, "p99_ms", search.p99_ms);
}

static void describe(bytes *body, const call *c, size_t i) {
  served_index *index = c->service->indexes[i];
  index_view *view = served_index_get(index);
  char error[1024];
  bytes_text(body, "{\"name\":");
  bytes_json(body, served_index_name(index), strlen(served_index_name(index)));
  if (view) describe_base(body, view);
  describe_edits(body, index);
  put_text(body, "last_error", served_index_last_error(index, error, sizeof error) ? error : NULL);
  describe_traffic(body, c, c->service->model_count + i);
  bytes_text(body, "}");
  if (view) shared_release(&view->shared);
}

void indexes_handler(call *c) {
  bytes *body = &c->answer->body;
  size_t shown = 0;
  c->answer->type = "application/json";
  if (!c->index) bytes_text(body, "{\"indexes\":[");
  for (size_t i = 0; i < c->service->index_count; i++) {
    if (c->index && c->index != c->service->indexes[i]) continue;
    if (shown++ > 0) bytes_add(body, ",", 1);
    describe(body, c, i);
  }
  bytes_text(body, c->index ? "\n" : "]}\n");
}

void reload_index_handler(call *c) {
  request_fault fault = {0};
  reload_result result = {0};
  const request_text text = call_text(c);
  furrow_status status = empty_request_read(&text, c->memory, &fault);
  if (status != FURROW_OK) {
    answer_fault(c, status, &fault);
    return;
  }
  status = served_index_reload(c->index, false, &result, &fault.error);
  tell_reload("index", served_index_name(c->index), status, &result, &fault.error);
  if (status == FURROW_OK) {
    answer_reload(c->answer, served_index_name(c->index), &result);
    return;
  }
  problem_set_fault(c->answer, 409, status, &fault.error, NULL);
  bytes *body = put_more(c->answer);
  if (!body) return;
  put_count(body, "version", result.version); /* that stays */
  put_end(body);
}
