/* serve/api/index_calls.c: GET /v1/indexes and /v1/indexes/NAME; POST /v1/indexes/NAME:reload. */
#include "api/index_calls.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/problem.h"

static void add_text(bytes *body, const char *name, const char *text) {
  bytes_format(body, ",\"%s\":", name);
  bytes_json(body, text, strlen(text));
}

static void add_count(bytes *body, const char *name, uint64_t count) {
  bytes_format(body, ",\"%s\":", name);
  bytes_u64(body, count);
}

static void add_flag(bytes *body, const char *name, bool flag) {
  bytes_format(body, ",\"%s\":%s", name, flag ? "true" : "false");
}

static void add_number(bytes *body, const char *name, double number) {
  bytes_format(body, ",\"%s\":", name);
  bytes_f64(body, number);
}

static void add_time(bytes *body, int64_t seconds) {
  const time_t at = (time_t)seconds;
  struct tm parts;
  char text[32] = "";
  if (gmtime_r(&at, &parts)) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  add_text(body, "loaded_at", text);
}

static void add_metric(bytes *body, furrow_distance_metric metric) {
  char text[32];
  size_t length = 0;
  const char *name = furrow_distance_metric_name(metric);
  for (; name && name[length] && length < sizeof text - 1; length++)
    text[length] = (char)tolower((unsigned char)name[length]);
  text[length] = 0;
  add_text(body, "metric", text);
}

static void add_nprobe(bytes *body, const index_base *base) {
  static const char *const origins[] = {
      [NPROBE_FROM_FILE] = "file", [NPROBE_MEASURED] = "measured", [NPROBE_BY_RULE] = "rule"};
  add_count(body, "nprobe", base->nprobe);
  add_text(body, "nprobe_from", origins[base->nprobe_from]);
  add_number(body, "recall", base->nprobe_from == NPROBE_MEASURED ? base->recall : NAN);
}

static void describe_base(bytes *body, const index_view *view) {
  const index_base *base = view->base;
  add_count(body, "version", base->number);
  add_text(body, "kind", furrow_index_kind_name(base->ivf_info.kind));
  add_count(body, "dimension", (uint64_t)base->info.d);
  add_metric(body, base->info.metric);
  add_count(body, "vectors", index_view_count(view));
  add_count(body, "lists", base->ivf_info.nlist);
  add_nprobe(body, base);
  add_count(body, "code_bytes", base->ivf_info.code_size);
  add_count(body, "file_bytes", base->bytes);
  add_flag(body, "named", base->names != NULL);
  add_flag(body, "by_id", base->by_id);
  add_time(body, base->loaded_at);
}

static void describe_edits(bytes *body, served_index *index) {
  edit_figures figures;
  served_index_get_figures(index, &figures);
  add_flag(body, "writable", served_index_is_writable(index));
  add_count(body, "fresh", figures.fresh);
  add_count(body, "removed", figures.removed);
  add_count(body, "log_bytes", figures.log_bytes);
  add_count(body, "checkpoints", figures.checkpoints);
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
  add_count(body, "requests", requests);
  add_count(body, "errors", errors);
  add_number(body, "p50_ms", search.p50_ms);
  add_number(body, "p99_ms", search.p99_ms);
}

static void describe(bytes *body, const call *c, size_t i) {
  served_index *index = c->service->indexes[i];
  index_view *view = served_index_get(index);
  char error[1024];
  bytes_text(body, "{\"name\":");
  bytes_json(body, served_index_name(index), strlen(served_index_name(index)));
  if (view) describe_base(body, view);
  describe_edits(body, index);
  if (served_index_last_error(index, error, sizeof error))
    add_text(body, "last_error", error);
  else
    bytes_text(body, ",\"last_error\":null");
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

/* The version that stays is told beside what is wrong with the new one; who runs the server gets the path as well. */
static void answer_refused(call *c, furrow_status status, const furrow_error *err, uint64_t version) {
  bytes *body = &c->answer->body;
  char text[1024];
  furrow_error_to_text(err, text, sizeof text);
  fprintf(stderr, "furrow: index %s: not reloaded, version %llu stays: %s\n", served_index_name(c->index),
          (unsigned long long)version, text);
  problem_set_fault(c->answer, 409, status, err, NULL);
  if (body->failed || body->size < 2) return;
  body->size -= 2; /* "}\n" */
  add_count(body, "version", version);
  bytes_text(body, "}\n");
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
  if (status != FURROW_OK) {
    answer_refused(c, status, &fault.error, result.version);
    return;
  }
  const char *name = served_index_name(c->index);
  if (result.changed)
    fprintf(stderr, "furrow: index %s: version %llu is served\n", name, (unsigned long long)result.version);
  c->answer->type = "application/json";
  bytes_text(&c->answer->body, "{\"name\":");
  bytes_json(&c->answer->body, name, strlen(name));
  add_count(&c->answer->body, "version", result.version);
  add_flag(&c->answer->body, "changed", result.changed);
  bytes_text(&c->answer->body, "}\n");
}
