/* vector/search/search_pq.c: searching product quantizer codes without lists. */
#include "vector/search/searcher.h"

enum { TABLES = 4 };

static void scan_all(const fw_node *node, const float *query, const fw_lut *table, const fw_search_job *job,
                     fw_sink *sink) {
  const fw_pq_lists *lists = &node->pq;
  fw_scan_params scan_params = {.upto = lists->list[0].size, .id_filter = &job->id_filter};
  if (!lists->similarity) fw_scan_table()->l2_rows(query, lists->shift, 1, lists->pq->d, &scan_params.base);
  if (scan_params.upto > 0) fw_pq_list_scan(lists, table, &scan_params, sink);
}

/* Places are ids here. */
static int64_t id_of(const void *context, int64_t place) {
  const fw_pq_lists *lists = context;
  return fw_tie_break_id(fw_pq_lists_id(lists, place), lists->similarity);
}

furrow_status fw_pq_search(const fw_node *node, fw_scratch *scratch, const float *queries, size_t n, size_t k,
                           const fw_search_job *job, float *distances, int64_t *ids, furrow_error *err) {
  const bool similarity = node->pq.similarity;
  const size_t heap_size = fw_heap_size(node->index, k), d = node->pq.pq->d;
  fw_lut *tables = NULL;
  float *shifted = NULL;
  void *heap = NULL;
  furrow_status status = fw_arena_take(&scratch->arena, &heap, fw_sink_hits(heap_size), sizeof(fw_hit), err);
  if (status == FURROW_OK)
    status = fw_pq_tables_take(&node->pq, &scratch->arena, n < TABLES ? n : TABLES, &tables, &shifted, err);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    fw_sink sink;
    if (i % TABLES == 0)
      fw_pq_tables_fill(&node->pq, queries + i * d, n - i < TABLES ? n - i : TABLES, tables, shifted);
    fw_sink_init_many(&sink, heap, heap_size);
    sink.source = (fw_id_source){.id_of = id_of, .context = &node->pq};
    scan_all(node, queries + i * d, &tables[i % TABLES], job, &sink);
    fw_sink_write(&sink, k, similarity, similarity, distances + i * k, ids + i * k);
  }
  return status;
}

furrow_status fw_pq_range(const fw_node *node, fw_scratch *scratch, const float *query, const fw_search_job *job,
                          fw_sink *sink, furrow_error *err) {
  fw_lut *table = NULL;
  float *shifted = NULL;
  const furrow_status status = fw_pq_tables_take(&node->pq, &scratch->arena, 1, &table, &shifted, err);
  if (status != FURROW_OK) return status;
  fw_pq_tables_fill(&node->pq, query, 1, table, shifted);
  scan_all(node, query, table, job, sink);
  return sink->status;
}
