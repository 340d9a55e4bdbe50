/* serve/api/curve_call.c: POST /v1/indexes/NAME:curve: recall and speed for more and more lists probed.
 *
 * Queries are stored vectors; what they should find is what probing all lists finds. */
#include <stdlib.h>

#include "api/index_calls.h"
#include "api/problem.h"
#include "api/serve_settings.h"
#include "core/fail.h"

enum { TRUTH_SECONDS = 5, POINT_SECONDS = 1 }; /* a large index is measured with fewer queries */

typedef struct curve {
  const index_view *view;
  size_t d, k, n; /* n: queries */
  float *queries, *distances;
  int64_t *truth, *found;
} curve;

static bool has_passed(uint64_t begin, unsigned seconds) {
  return clock_ns() - begin > (uint64_t)seconds * 1000000000;
}

static bool take_memory(curve *v, size_t queries) {
  v->queries = calloc(queries * v->d, sizeof *v->queries);
  v->distances = calloc(v->k, sizeof *v->distances);
  v->truth = calloc(queries * v->k, sizeof *v->truth);
  v->found = calloc(v->k, sizeof *v->found);
  return v->queries && v->distances && v->truth && v->found;
}

static void clear_curve(curve *v) {
  free(v->queries);
  free(v->distances);
  free(v->truth);
  free(v->found);
}

static furrow_status find(const curve *v, size_t i, uint64_t nprobe, int64_t *ids, furrow_error *err) {
  const index_query query = {.k = v->k, .nprobe = nprobe, .threads = 1};
  return index_view_search(v->view, v->queries + i * v->d, 1, &query, v->distances, ids, err);
}

/* Takes every so many-th vector as a query, and finds what it should find. */
static furrow_status draw_queries(curve *v, size_t queries, furrow_error *err) {
  const index_base *base = v->view->base;
  const uint64_t begin = clock_ns();
  furrow_ids ids;
  furrow_ids_init(&ids);
  furrow_status status = furrow_index_get_ids(base->index, &ids, err);
  const size_t step = ids.count > queries ? ids.count / queries : 1;
  for (size_t i = 0; status == FURROW_OK && i < ids.count && v->n < queries && !has_passed(begin, TRUTH_SECONDS);
       i += step) {
    status = furrow_index_reconstruct(base->index, ids.ids[i], v->queries + v->n * v->d, err);
    if (status == FURROW_OK) status = find(v, v->n, base->ivf_info.nlist, v->truth + v->n * v->k, err);
    if (status == FURROW_OK) v->n++;
  }
  furrow_ids_clear(&ids);
  return status;
}

static size_t count_hits(const int64_t *found, const int64_t *truth, size_t k, size_t *wanted) {
  size_t hits = 0;
  for (size_t i = 0; i < k && truth[i] >= 0; i++, ++*wanted)
    for (size_t j = 0; j < k; j++)
      if (found[j] == truth[i]) {
        hits++;
        break;
      }
  return hits;
}

static furrow_status measure(const curve *v, uint64_t nprobe, bytes *body, furrow_error *err) {
  uint64_t begin = clock_ns(), spent = 0;
  size_t hits = 0, wanted = 0, done = 0;
  for (; done < v->n && !has_passed(begin, POINT_SECONDS); done++) {
    const uint64_t before = clock_ns();
    FAIL_TRY(find(v, done, nprobe, v->found, err));
    spent += clock_ns() - before;
    hits += count_hits(v->found, v->truth + done * v->k, v->k, &wanted);
  }
  bytes_format(body, "{\"nprobe\":%llu,\"recall\":", (unsigned long long)nprobe);
  bytes_f64(body, wanted > 0 ? (double)hits / (double)wanted : 0);
  bytes_text(body, ",\"queries_per_second\":");
  bytes_f64(body, spent > 0 ? (double)(uint64_t)((double)done * 1e9 / (double)spent) : 0);
  bytes_text(body, "}");
  return FURROW_OK;
}

static furrow_status measure_all(curve *v, size_t queries, bytes *body, furrow_error *err) {
  const uint64_t lists = v->view->base->ivf_info.nlist;
  if (lists == 0) return fail(err, FURROW_E_UNSUPPORTED, "the index has no lists to probe");
  if (!v->view->base->by_id)
    return fail(err, FURROW_E_UNSUPPORTED, "vectors of this index cannot be decoded, so there are no queries");
  if (!take_memory(v, queries)) return fail_memory(err);
  FAIL_TRY(draw_queries(v, queries, err));
  bytes_format(body, "{\"k\":%zu,\"queries\":%zu,\"points\":[", v->k, v->n);
  for (uint64_t nprobe = 1;; nprobe *= 2) {
    if (nprobe > lists) nprobe = lists;
    if (nprobe > 1) bytes_add(body, ",", 1);
    FAIL_TRY(measure(v, nprobe, body, err));
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
    curve v = {.view = view, .d = (size_t)view->base->info.d, .k = request.k};
    status = measure_all(&v, request.queries, &c->answer->body, &fault.error);
    c->answer->type = "application/json";
    if (status != FURROW_OK) answer_fault(c, status, &fault);
    clear_curve(&v);
    atomic_flag_clear(&is_measuring);
  }
  shared_release(&view->shared);
}
