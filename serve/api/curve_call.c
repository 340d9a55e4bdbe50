/* serve/api/curve_call.c: POST /v1/indexes/NAME:curve: recall and speed for more and more lists probed. */
#include "api/index_calls.h"
#include "api/problem.h"
#include "api/serve_settings.h"
#include "catalog/list_recall.h"

static furrow_status add_point(const list_recall *m, uint64_t nprobe, bytes *body, furrow_error *err) {
  recall_figures figures;
  FAIL_TRY(list_recall_measure(m, nprobe, &figures, err));
  bytes_format(body, "{\"nprobe\":%llu,\"recall\":", (unsigned long long)nprobe);
  bytes_f64(body, figures.recall);
  bytes_text(body, ",\"queries_per_second\":");
  bytes_f64(body, figures.queries_per_second);
  bytes_text(body, "}");
  return FURROW_OK;
}

/* The first point is measured twice: what it waits for the first time is not its own cost. */
static furrow_status measure_all(list_recall *m, const index_view *view, const curve_request *request, bytes *body,
                                 furrow_error *err) {
  const uint64_t lists = view->base->ivf_info.nlist;
  recall_figures cold;
  FAIL_TRY(list_recall_begin(m, view, request->queries, request->k, err));
  FAIL_TRY(list_recall_measure(m, 1, &cold, err));
  bytes_format(body, "{\"k\":%zu,\"queries\":%zu,\"points\":[", m->k, m->n);
  for (uint64_t nprobe = 1;; nprobe *= 2) {
    if (nprobe > lists) nprobe = lists;
    if (nprobe > 1) bytes_add(body, ",", 1);
    FAIL_TRY(add_point(m, nprobe, body, err));
    if (nprobe >= lists) break;
  }
  bytes_text(body, "]}\n");
  return FURROW_OK;
}

void curve_handler(call *c) {
  static atomic_flag is_measuring = ATOMIC_FLAG_INIT;
  request_fault fault = {0};
  curve_request request;
  const request_text text = call_text(c);
  furrow_status status = curve_request_read(&request, &text, &c->service->limits, c->memory, &fault);
  if (status != FURROW_OK) {
    answer_fault(c, status, &fault);
    return;
  }
  index_view *view = call_view(c);
  if (!view) return;
  if (atomic_flag_test_and_set(&is_measuring)) {
    problem_set(c->answer, 429, "another curve is being measured");
  } else {
    list_recall measured = {0};
    status = measure_all(&measured, view, &request, &c->answer->body, &fault.error);
    c->answer->type = "application/json";
    if (status != FURROW_OK) answer_fault(c, status, &fault);
    list_recall_clear(&measured);
    atomic_flag_clear(&is_measuring);
  }
  shared_release(&view->shared);
}
