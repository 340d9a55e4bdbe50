/* serve/api/search_call.c: POST /v1/indexes/NAME:search. */
#include <string.h>
#include <strings.h>

#include "api/index_calls.h"
#include "api/problem.h"
#include "core/fail.h"

/* Parameters behind the type do not matter. */
static bool is_raw(http_text type) {
  static const char raw[] = "application/octet-stream";
  return type.size >= sizeof raw - 1 && strncasecmp(type.at, raw, sizeof raw - 1) == 0;
}

request_text call_text(const call *c) {
  const http_head *head = &c->request->head;
  return (request_text){.body = c->request->body,
                        .size = c->request->body_size,
                        .raw = is_raw(http_header_value(head, "Content-Type")),
                        .query = head->query};
}

void answer_fault(call *c, furrow_status status, const request_fault *fault) {
  problem_set_fault(c->answer, fault->status, status, &fault->error, fault->pointer[0] ? fault->pointer : NULL);
}

index_view *call_view(call *c) {
  index_view *view = served_index_get(c->index);
  if (!view) problem_set(c->answer, 503, "the index is not loaded");
  return view;
}

static bool wants_raw(const call *c) {
  return is_raw(http_header_value(&c->request->head, "Accept"));
}

/* Ids, then distances, the lowest byte first. */
static void answer_raw(call *c, const int64_t *ids, const float *distances, size_t count) {
  bytes *body = &c->answer->body;
  c->answer->type = "application/octet-stream";
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (size_t i = 0; i < count; i++) bytes_add(body, &(uint64_t){__builtin_bswap64((uint64_t)ids[i])}, 8);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &distances[i], sizeof bits);
    bytes_add(body, &(uint32_t){__builtin_bswap32(bits)}, 4);
  }
#else
  bytes_add(body, ids, count * sizeof *ids);
  bytes_add(body, distances, count * sizeof *distances);
#endif
}

static void add_neighbor(bytes *body, const index_view *view, int64_t id, float distance) {
  size_t size;
  const char *name = index_view_name(view, id, &size);
  bytes_add(body, "{\"id\":", 6);
  bytes_i64(body, id);
  bytes_add(body, ",\"distance\":", 12);
  bytes_f32(body, distance);
  if (name) {
    bytes_add(body, ",\"name\":", 8);
    bytes_json(body, name, size);
  }
  bytes_add(body, "}", 1);
}

static void answer_json(call *c, const index_view *view, const search_request *request, const int64_t *ids,
                        const float *distances) {
  bytes *body = &c->answer->body;
  const size_t k = request->query.k;
  c->answer->type = "application/json";
  bytes_add(body, "{\"neighbors\":[", 14);
  for (size_t i = 0; i < request->n; i++) {
    bytes_text(body, i == 0 ? "[" : ",[");
    for (size_t j = 0; j < k && ids[i * k + j] >= 0; j++) {
      if (j > 0) bytes_add(body, ",", 1);
      add_neighbor(body, view, ids[i * k + j], distances[i * k + j]);
    }
    bytes_add(body, "]", 1);
  }
  bytes_add(body, "]}\n", 3);
}

/* A filter that keeps so little that most lists have to be probed anyway. */
static bool keeps_few(const furrow_id_filter *filter, size_t k) {
  const size_t few = 16 * k;
  if (filter->invert) return false;
  if (filter->kind == FURROW_ID_FILTER_SORTED) return filter->sorted_count <= few;
  return filter->kind == FURROW_ID_FILTER_RANGE && filter->end - filter->first <= (int64_t)few;
}

/* Probes more lists until the i-th query has its k results, or there are no more lists. */
static furrow_status widen(const index_view *view, const search_request *request, uint64_t nprobe, size_t i,
                           float *distances, int64_t *ids, furrow_error *err) {
  const uint64_t lists = view->base->ivf_info.nlist;
  const float *vector = request->vectors + i * (size_t)view->base->info.d;
  index_query query = request->query;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && nprobe < lists && ids[i * query.k + query.k - 1] < 0) {
    nprobe = nprobe < lists / 2 ? 2 * nprobe : lists;
    query.nprobe = nprobe;
    status = index_view_search(view, vector, 1, &query, distances + i * query.k, ids + i * query.k, err);
  }
  return status;
}

/* What the filter keeps may be in any list. A client that says how many are probed gets that. Each query is widened by
 * itself: its results do not depend on the others of the request. */
static furrow_status find_all(const index_view *view, const search_request *request, float *distances, int64_t *ids,
                              furrow_error *err) {
  const index_base *base = view->base;
  index_query query = request->query;
  const bool is_open = query.filter && query.nprobe == 0 && base->ivf_info.nlist > 0;
  if (is_open) query.nprobe = keeps_few(query.filter, query.k) ? base->ivf_info.nlist : base->nprobe;
  furrow_status status = index_view_search(view, request->vectors, request->n, &query, distances, ids, err);
  for (size_t i = 0; is_open && status == FURROW_OK && i < request->n; i++)
    status = widen(view, request, query.nprobe, i, distances, ids, err);
  return status;
}

static furrow_status search(call *c, const index_view *view, const search_request *request, furrow_error *err) {
  const size_t count = request->n * request->query.k;
  bytes *results = &c->memory->results;
  char *space = bytes_reserve(results, count * (sizeof(int64_t) + sizeof(float)));
  if (!space) return fail_memory(err);
  int64_t *ids = (int64_t *)(void *)space;
  float *distances = (float *)(void *)(space + count * sizeof *ids);
  const furrow_status status = find_all(view, request, distances, ids, err);
  if (status != FURROW_OK) return status;
  if (wants_raw(c))
    answer_raw(c, ids, distances, count);
  else
    answer_json(c, view, request, ids, distances);
  return FURROW_OK;
}

void search_handler(call *c) {
  request_fault fault;
  search_request request;
  const request_text text = call_text(c);
  index_view *view = call_view(c);
  if (!view) return;
  furrow_status status = search_request_read(&request, &text, view, &c->service->limits, c->memory, c->on_loop, &fault);
  if (status == FURROW_OK && request.is_long) {
    c->move = true;
  } else if (status == FURROW_OK) {
    c->rows = request.n;
    fault.pointer[0] = 0;
    status = search(c, view, &request, &fault.error);
  }
  if (status != FURROW_OK) answer_fault(c, status, &fault);
  shared_release(&view->shared);
}
