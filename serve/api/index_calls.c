/* serve/api/index_calls.c: the calls of indexes: GET /v1/indexes and /v1/indexes/NAME; POST /v1/indexes/NAME:search,
 * :add, :remove, :checkpoint, :curve (recall and speed for more and more lists probed) and :reload. */
#include "api/index_requests.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/documents.h"
#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"
#include "indexes/attribute_texts.h"
#include "indexes/list_recall.h"

/* ---- Searching ---- */

/* Ignores parameters after the media type. */
static bool is_raw(http_text type) {
  static const char raw[] = "application/octet-stream";
  return type.size >= sizeof raw - 1 && strncasecmp(type.at, raw, sizeof raw - 1) == 0;
}

static request_text call_text(const call *c) {
  const http_head *head = &c->request->head;
  return (request_text){.body = c->request->body,
                        .size = c->request->body_size,
                        .raw = is_raw(http_header_value(head, "Content-Type")),
                        .query = head->query};
}

static void answer_fault(call *c, furrow_status status, const request_fault *fault) {
  problem_set_fault(c->answer, fault->status, status, &fault->error, fault->pointer[0] ? fault->pointer : NULL);
}

static index_view *call_view(call *c) {
  index_view *view = served_index_get(c->index);
  if (!view) problem_set(c->answer, 503, "the index is not loaded");
  return view;
}

static bool wants_raw(const call *c) {
  return is_raw(http_header_value(&c->request->head, "Accept"));
}

/* Writes ids, then distances, little-endian. */
static void answer_raw(call *c, const int64_t *ids, const float *distances, size_t count) {
  fw_buffer *body = &c->answer->body;
  c->answer->type = "application/octet-stream";
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  for (size_t i = 0; i < count; i++) fw_buffer_append(body, &(uint64_t){__builtin_bswap64((uint64_t)ids[i])}, 8);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &distances[i], sizeof bits);
    fw_buffer_append(body, &(uint32_t){__builtin_bswap32(bits)}, 4);
  }
#else
  fw_buffer_append(body, ids, count * sizeof *ids);
  fw_buffer_append(body, distances, count * sizeof *distances);
#endif
}

/* Writes the columns of attributes that the request names. */
static furrow_status add_attributes(fw_buffer *body, const index_view *view, const search_request *request, int64_t id,
                                    furrow_error *err) {
  const furrow_attributes *attributes = NULL;
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  FW_TRY(index_view_attributes(view, id, &attributes, err));
  for (size_t i = 0; i < request->shown_count; i++) {
    FW_TRY(furrow_attributes_get_column(attributes, request->shown[i], &info, err));
    fw_buffer_text(body, i == 0 ? ",\"attributes\":{" : ",");
    json_put_text(body, info.name, info.name_size);
    fw_buffer_text(body, ":");
    attribute_value_put(body, attributes, id, request->shown[i], true);
  }
  fw_buffer_text(body, "}");
  return FURROW_OK;
}

static furrow_status add_neighbor(fw_buffer *body, const index_view *view, const search_request *request, int64_t id,
                                  float distance, furrow_error *err) {
  size_t size;
  const char *name = index_view_name(view, id, &size);
  fw_buffer_append(body, "{\"id\":", 6);
  fw_buffer_i64(body, id);
  fw_buffer_append(body, ",\"distance\":", 12);
  json_put_f32(body, distance);
  if (name) {
    fw_buffer_append(body, ",\"name\":", 8);
    json_put_text(body, name, size);
  }
  if (request->shown_count > 0) FW_TRY(add_attributes(body, view, request, id, err));
  fw_buffer_append(body, "}", 1);
  return FURROW_OK;
}

static furrow_status answer_json(call *c, const index_view *view, const search_request *request, const int64_t *ids,
                                 const float *distances, furrow_error *err) {
  fw_buffer *body = &c->answer->body;
  const size_t k = request->query.k;
  c->answer->type = "application/json";
  fw_buffer_append(body, "{\"neighbors\":[", 14);
  for (size_t i = 0; i < request->n; i++) {
    fw_buffer_text(body, i == 0 ? "[" : ",[");
    for (size_t j = 0; j < k && ids[i * k + j] >= 0; j++) {
      if (j > 0) fw_buffer_append(body, ",", 1);
      FW_TRY(add_neighbor(body, view, request, ids[i * k + j], distances[i * k + j], err));
    }
    fw_buffer_append(body, "]", 1);
  }
  fw_buffer_append(body, "]}\n", 3);
  return FURROW_OK;
}

/* Whether a filter keeps so few ids that most lists have to be probed anyway. */
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

/* Ids that the filter keeps may be in any list, so more lists are probed unless the client sets the number. Each query
 * is widened by itself: its results do not depend on the other queries of the request. */
static furrow_status search_all(const index_view *view, const search_request *request, float *distances, int64_t *ids,
                                furrow_error *err) {
  const index_base *base = view->base;
  index_query query = request->query;
  const bool is_open = query.filter && !query.where && query.nprobe == 0 && base->ivf_info.nlist > 0;
  if (is_open) query.nprobe = keeps_few(query.filter, query.k) ? base->ivf_info.nlist : base->nprobe;
  furrow_status status = index_view_search(view, request->vectors, request->n, &query, distances, ids, err);
  for (size_t i = 0; is_open && status == FURROW_OK && i < request->n; i++)
    status = widen(view, request, query.nprobe, i, distances, ids, err);
  return status;
}

static furrow_status search(call *c, const index_view *view, const search_request *request, furrow_error *err) {
  const size_t count = request->n * request->query.k;
  fw_buffer *results = &c->memory->results;
  char *space = fw_buffer_reserve(results, count * (sizeof(int64_t) + sizeof(float)));
  if (!space) return fail_memory(err);
  if (request->shown_count > 0 && wants_raw(c))
    return fail(err, FURROW_E_ARGUMENT, "an answer of bytes has no attributes: accept application/json");
  int64_t *ids = (int64_t *)(void *)space;
  float *distances = (float *)(void *)(space + count * sizeof *ids);
  const furrow_status status = search_all(view, request, distances, ids, err);
  if (status != FURROW_OK) return status;
  if (!wants_raw(c)) return answer_json(c, view, request, ids, distances, err);
  answer_raw(c, ids, distances, count);
  return FURROW_OK;
}

/* A filter that is wrong: the place in its text. */
static void answer_where(call *c, furrow_status status, request_fault *fault) {
  snprintf(fault->pointer, sizeof fault->pointer, "/where");
  answer_fault(c, status, fault);
  fw_buffer *body = put_more(c->answer);
  if (!body) return;
  put_count(body, "column", fault->error.column);
  put_end(body);
}

void search_handler(call *c) {
  request_fault fault = {0};
  search_request request;
  const request_text text = call_text(c);
  index_view *view = call_view(c);
  bool by_where = false;
  if (!view) return;
  furrow_status status = search_request_read(&request, &text, view, &c->service->limits, c->memory, c->on_loop, &fault);
  if (status == FURROW_OK && request.is_long) {
    c->move = true;
  } else if (status == FURROW_OK) {
    c->rows = request.n;
    fault.pointer[0] = 0;
    status = search(c, view, &request, &fault.error);
    by_where = status == FURROW_E_ARGUMENT && request.query.where && fault.error.column > 0;
  }
  if (status != FURROW_OK && by_where)
    answer_where(c, status, &fault);
  else if (status != FURROW_OK)
    answer_fault(c, status, &fault);
  shared_release(&view->shared);
}

/* ---- Changes ---- */

/* Refuses a change of an index that is not writable before the body is decoded. */
static bool can_write(call *c, request_fault *fault) {
  if (served_index_is_writable(c->index)) return true;
  fail(&fault->error, FURROW_E_STATE, "index %s is not writable", served_index_name(c->index));
  add_hint(&fault->error, "start the server with --writable %s", served_index_name(c->index));
  answer_fault(c, FURROW_E_STATE, fault);
  return false;
}

/* Answers that a change was not made. If the log could not be written, the client may try again soon. */
static void refuse_change(call *c, furrow_status status, request_fault *fault) {
  if (status == FURROW_E_IO) fault->status = 503;
  answer_fault(c, status, fault);
}

static void answer_ids(call *c, const int64_t *ids, size_t n) {
  fw_buffer *body = &c->answer->body;
  c->answer->type = "application/json";
  fw_buffer_text(body, "{\"ids\":[");
  for (size_t i = 0; i < n; i++) {
    if (i > 0) fw_buffer_append(body, ",", 1);
    fw_buffer_i64(body, ids[i]);
  }
  fw_buffer_text(body, "]}\n");
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
  if (status == FURROW_E_EXISTS) add_hint(&fault.error, "\"replace\": true replaces the vector of such an id");
  if (status == FURROW_OK)
    answer_ids(c, ids, addition.n);
  else
    refuse_change(c, status, &fault);
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
    refuse_change(c, status, &fault);
    return;
  }
  c->answer->type = "application/json";
  fw_buffer_format(&c->answer->body, "{\"removed\":%llu,\"missing\":[", (unsigned long long)removed);
  fw_buffer_append(&c->answer->body, request.missing.at, request.missing.size);
  fw_buffer_format(&c->answer->body, "],\"missing_count\":%zu}\n", request.missing_count);
}

void checkpoint_handler(call *c) {
  request_fault fault = {0};
  const request_text text = call_text(c);
  if (!can_write(c, &fault)) return;
  furrow_status status = empty_request_read(&text, c->memory, &fault);
  if (status == FURROW_OK && (status = served_index_checkpoint(c->index, &fault.error)) != FURROW_OK)
    fault.status = status == FURROW_E_STATE ? 409 : 503; /* not the client's fault */
  index_view *view = status == FURROW_OK ? call_view(c) : NULL;
  if (status != FURROW_OK) answer_fault(c, status, &fault);
  if (!view) return;
  c->answer->type = "application/json";
  fw_buffer_format(&c->answer->body, "{\"version\":%llu,\"vectors\":%llu}\n", (unsigned long long)view->base->number,
                   (unsigned long long)index_view_count(view));
  shared_release(&view->shared);
}

/* ---- Recall against speed ---- */

static furrow_status add_point(const list_recall *m, uint64_t nprobe, fw_buffer *body, furrow_error *err) {
  recall_figures figures;
  FW_TRY(list_recall_measure(m, nprobe, &figures, err));
  fw_buffer_format(body, "{\"nprobe\":%llu,\"recall\":", (unsigned long long)nprobe);
  json_put_f64(body, figures.recall);
  fw_buffer_text(body, ",\"queries_per_second\":");
  json_put_f64(body, figures.queries_per_second);
  fw_buffer_text(body, "}");
  return FURROW_OK;
}

/* The first point is measured twice, because the first run also pays for cold caches. */
static furrow_status measure_all(list_recall *m, const index_view *view, const curve_request *request, fw_buffer *body,
                                 furrow_error *err) {
  const uint64_t lists = view->base->ivf_info.nlist;
  recall_figures cold;
  FW_TRY(list_recall_begin(m, view, request->queries, request->k, err));
  FW_TRY(list_recall_measure(m, 1, &cold, err));
  fw_buffer_format(body, "{\"k\":%zu,\"queries\":%zu,\"points\":[", m->k, m->n);
  for (uint64_t nprobe = 1;; nprobe *= 2) {
    if (nprobe > lists) nprobe = lists;
    if (nprobe > 1) fw_buffer_append(body, ",", 1);
    FW_TRY(add_point(m, nprobe, body, err));
    if (nprobe >= lists) break;
  }
  fw_buffer_text(body, "]}\n");
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

/* ---- Descriptions and reloads ---- */

static void add_metric(fw_buffer *body, furrow_distance_metric metric) {
  char text[32];
  size_t length = 0;
  const char *name = furrow_distance_metric_name(metric);
  for (; name && name[length] && length < sizeof text - 1; length++)
    text[length] = (char)tolower((unsigned char)name[length]);
  text[length] = 0;
  put_text(body, "metric", text);
}

static void add_nprobe(fw_buffer *body, const index_base *base) {
  static const char *const origins[] = {
      [NPROBE_FROM_FILE] = "file", [NPROBE_MEASURED] = "measured", [NPROBE_BY_RULE] = "rule"};
  put_count(body, "nprobe", base->nprobe);
  put_text(body, "nprobe_from", origins[base->nprobe_from]);
  put_number(body, "recall", base->nprobe_from == NPROBE_MEASURED ? base->recall : NAN);
}

static void add_card_vectors(fw_buffer *body, const char *key, const furrow_card_vectors *v) {
  char digest[20];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)v->digest);
  fw_buffer_format(body, ",\"%s\":{\"vectors\":%llu", key, (unsigned long long)v->vectors);
  put_text(body, "digest", digest);
  put_number(body, "mean_distance", v->mean);
  put_number(body, "far_distance", v->far);
  fw_buffer_text(body, "}");
}

/* What the file was built from, and whether it should be rebuilt. */
static void add_card(fw_buffer *body, const index_base *base) {
  const furrow_index_card *card = &base->card;
  if (card->size == 0) {
    put_text(body, "card_error", base->card_fault[0] ? base->card_fault : NULL);
    fw_buffer_text(body, ",\"card\":null,\"stale\":false,\"advice\":null");
    return;
  }
  put_text(body, "card_error", NULL);
  fw_buffer_text(body, ",\"card\":{\"factory\":");
  json_put_text(body, card->factory, strlen(card->factory));
  add_card_vectors(body, "built_from", &card->built);
  add_card_vectors(body, "added_since", &card->added);
  put_count(body, "removed_since", card->removed);
  put_number(body, "distance_ratio", card->distance_ratio);
  put_number(body, "recall", card->recall);
  put_count(body, "recall_k", card->recall_k);
  put_count(body, "recall_queries", card->recall_queries);
  fw_buffer_text(body, "}");
  put_flag(body, "stale", card->stale);
  put_text(body, "advice", card->stale ? card->advice : NULL);
}

/* Writes the columns of attributes; none where there are none. */
static void describe_attributes(fw_buffer *body, const furrow_attributes *attributes) {
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  fw_buffer_text(body, ",\"attributes\":{");
  for (size_t i = 0; attributes && i < furrow_attributes_column_count(attributes); i++) {
    if (furrow_attributes_get_column(attributes, i, &info, NULL) != FURROW_OK) continue;
    if (i > 0) fw_buffer_text(body, ",");
    json_put_text(body, info.name, info.name_size);
    fw_buffer_format(body, ":\"%s\"", furrow_column_type_name(info.type));
  }
  fw_buffer_text(body, "}");
}

static void describe_base(fw_buffer *body, const index_view *view) {
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
  describe_attributes(body, base->attributes);
  put_flag(body, "by_id", base->by_id);
  put_time(body, "loaded_at", base->loaded_at);
  add_card(body, base);
}

static void describe_edits(fw_buffer *body, served_index *index) {
  edit_figures figures;
  served_index_get_figures(index, &figures);
  put_flag(body, "writable", served_index_is_writable(index));
  put_flag(body, "takes_changes", served_index_is_writable(index) && !figures.refuses);
  put_count(body, "fresh", figures.fresh);
  put_count(body, "removed", figures.removed);
  put_count(body, "log_bytes", figures.log_bytes);
  put_count(body, "checkpoints", figures.checkpoints);
}

/* Writes the numbers of searches and changes, and the times of searches. */
static void describe_traffic(fw_buffer *body, const call *c, size_t target) {
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

static void describe(fw_buffer *body, const call *c, size_t i) {
  served_index *index = c->service->indexes[i];
  index_view *view = served_index_get(index);
  char error[1024];
  fw_buffer_text(body, "{\"name\":");
  json_put_text(body, served_index_name(index), strlen(served_index_name(index)));
  if (view) describe_base(body, view);
  describe_edits(body, index);
  put_text(body, "last_error", served_index_last_error(index, error, sizeof error) ? error : NULL);
  describe_traffic(body, c, c->service->model_count + i);
  fw_buffer_text(body, "}");
  if (view) shared_release(&view->shared);
}

void indexes_handler(call *c) {
  fw_buffer *body = &c->answer->body;
  size_t shown = 0;
  c->answer->type = "application/json";
  if (!c->index) fw_buffer_text(body, "{\"indexes\":[");
  for (size_t i = 0; i < c->service->index_count; i++) {
    if (c->index && c->index != c->service->indexes[i]) continue;
    if (shown++ > 0) fw_buffer_append(body, ",", 1);
    describe(body, c, i);
  }
  fw_buffer_text(body, c->index ? "\n" : "]}\n");
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
    answer_reload(c->answer, served_index_name(c->index), &result, NULL);
    return;
  }
  problem_set_fault(c->answer, 409, status, &fault.error, NULL);
  fw_buffer *body = put_more(c->answer);
  if (!body) return;
  put_count(body, "version", result.version); /* that stays */
  put_end(body);
}
