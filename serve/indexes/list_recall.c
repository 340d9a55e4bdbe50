/* serve/indexes/list_recall.c: recall of searches that probe some of the lists of an index. */
#include "indexes/list_recall.h"

#include <stdlib.h>

#include "base/error.h"
#include "core/fail.h"
#include "http/http_server.h"

enum { TRUTH_SECONDS = 5, POINT_SECONDS = 1 }; /* a large index is measured with fewer queries */

static bool has_passed(uint64_t begin, unsigned seconds) {
  return clock_ns() - begin > (uint64_t)seconds * 1000000000;
}

static bool take_memory(list_recall *m, size_t queries) {
  m->queries = calloc(queries * m->d, sizeof *m->queries);
  m->distances = calloc(m->k, sizeof *m->distances);
  m->truth = calloc(queries * m->k, sizeof *m->truth);
  m->found = calloc(m->k, sizeof *m->found);
  return m->queries && m->distances && m->truth && m->found;
}

void list_recall_clear(list_recall *m) {
  free(m->queries);
  free(m->distances);
  free(m->truth);
  free(m->found);
}

static furrow_status search_query(const list_recall *m, size_t i, uint64_t nprobe, int64_t *ids, furrow_error *err) {
  const index_query query = {.k = m->k, .nprobe = nprobe, .threads = 1};
  return index_view_search(m->view, m->queries + i * m->d, 1, &query, m->distances, ids, err);
}

static furrow_status draw_queries(list_recall *m, size_t queries, furrow_error *err) {
  const index_base *base = m->view->base;
  const uint64_t begin = clock_ns();
  furrow_ids ids;
  furrow_ids_init(&ids);
  furrow_status status = furrow_index_get_ids(base->index, &ids, err);
  const size_t step = ids.count > queries ? ids.count / queries : 1;
  for (size_t i = 0; status == FURROW_OK && i < ids.count && m->n < queries && !has_passed(begin, TRUTH_SECONDS);
       i += step) {
    status = furrow_index_reconstruct(base->index, ids.ids[i], m->queries + m->n * m->d, err);
    if (status == FURROW_OK) status = search_query(m, m->n, base->ivf_info.nlist, m->truth + m->n * m->k, err);
    if (status == FURROW_OK) m->n++;
  }
  furrow_ids_clear(&ids);
  return status;
}

furrow_status list_recall_begin(list_recall *m, const index_view *view, size_t queries, size_t k, furrow_error *err) {
  *m = (list_recall){.view = view, .d = (size_t)view->base->info.d, .k = k};
  if (view->base->ivf_info.nlist == 0) return fail(err, FURROW_E_UNSUPPORTED, "the index has no lists to probe");
  if (!view->base->by_id)
    return fail(err, FURROW_E_UNSUPPORTED, "vectors of this index cannot be decoded, so there are no queries");
  return take_memory(m, queries) ? draw_queries(m, queries, err) : fail_memory(err);
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

furrow_status list_recall_measure(const list_recall *m, uint64_t nprobe, recall_figures *figures, furrow_error *err) {
  uint64_t begin = clock_ns(), spent = 0;
  size_t hits = 0, wanted = 0, done = 0;
  for (; done < m->n && !has_passed(begin, POINT_SECONDS); done++) {
    const uint64_t before = clock_ns();
    FW_TRY(search_query(m, done, nprobe, m->found, err));
    spent += clock_ns() - before;
    hits += count_hits(m->found, m->truth + done * m->k, m->k, &wanted);
  }
  figures->recall = wanted > 0 ? (double)hits / (double)wanted : 0;
  figures->queries_per_second = spent > 0 ? (double)(uint64_t)((double)done * 1e9 / (double)spent) : 0;
  return FURROW_OK;
}
