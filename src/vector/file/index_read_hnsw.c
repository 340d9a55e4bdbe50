/* vector/file/index_read_hnsw.c: reads a graph and checks that no link leads out of it. */
#include <inttypes.h>

#include "base/mem.h"
#include "vector/file/index_read.h"

/* cum[0] = 0, never decreasing; and there is at least one level. */
static void check_cum(fw_cursor *c, const fw_hnsw *graph) {
  if (!fw_cursor_good(c)) return;
  if (graph->cum_count < 2 || graph->cum[0] != 0) fw_cursor_reject(c, "does not begin with 0 and the links of a level");
  for (size_t i = 1; fw_cursor_good(c) && i < graph->cum_count; i++)
    if (graph->cum[i] < graph->cum[i - 1])
      fw_cursor_reject(c, "falls from %" PRId32 " to %" PRId32 " at level %zu", graph->cum[i - 1], graph->cum[i], i);
}

static void check_levels(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  for (size_t i = 0; fw_cursor_good(c) && i < n; i++)
    if (graph->levels[i] < 1 || (size_t)graph->levels[i] >= graph->cum_count)
      fw_cursor_reject_at(c, c->field_at + 4 * i, "levels",
                          "has %" PRId32 " for vector %zu, but levels are from 1 to %zu", graph->levels[i], i,
                          graph->cum_count - 1);
}

static void check_offsets(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  uint64_t at = 0;
  for (size_t i = 0; fw_cursor_good(c) && i <= n; i++) {
    if (graph->offsets[i] != at)
      fw_cursor_reject_at(c, c->field_at + 8 * i, "offsets",
                          "has %" PRIu64 " for vector %zu, but the levels lead to %" PRIu64, graph->offsets[i], i, at);
    if (i < n) at += (uint64_t)graph->cum[graph->levels[i]];
  }
}

/* A link of level l must lead to a vector that is on level l, whose own links of that level are followed. */
static void check_links(fw_cursor *c, const fw_hnsw *graph, size_t i, size_t n) {
  const int32_t *links = graph->neighbors + graph->offsets[i];
  for (int32_t level = 0; level < graph->levels[i]; level++) {
    for (int32_t k = graph->cum[level]; k < graph->cum[level + 1]; k++) {
      if (links[k] == -1) continue;
      if (links[k] < 0 || (size_t)links[k] >= n || graph->levels[links[k]] <= level) {
        fw_cursor_reject_at(c, c->field_at + 4 * (graph->offsets[i] + (uint64_t)k), "neighbors",
                            "leads from vector %zu on level %" PRId32 " to %" PRId32 ", which does not exist", i, level,
                            links[k]);
        return;
      }
    }
  }
}

/* The search begins at the entry point on level max_level. */
static void check_entry(fw_cursor *c, const fw_hnsw *graph, size_t n) {
  int32_t entry = graph->entry_point, level = graph->max_level;
  if (!fw_cursor_good(c)) return;
  if (n == 0) {
    if (entry != -1 || level != -1) fw_cursor_reject(c, "and entry_point must be -1 without vectors");
  } else if (entry < 0 || (size_t)entry >= n || level < 0 || graph->levels[entry] <= level) {
    fw_cursor_reject(c, "is %" PRId32 ", but the entry point %" PRId32 " is not on that level", level, entry);
  }
}

static void read_graph(fw_cursor *c, fw_hnsw *graph, size_t n) {
  graph->probas = fw_cursor_read_vector(c, "assign_probas", FW_FIELD_F64, FW_ANY_COUNT, &graph->proba_count,
                                        "chance of each top level");
  graph->cum = fw_cursor_read_vector(c, "cum_nneighbor_per_level", FW_FIELD_I32, FW_ANY_COUNT, &graph->cum_count,
                                     "links up to each level, summed");
  check_cum(c, graph);
  graph->levels = fw_cursor_read_vector(c, "levels", FW_FIELD_I32, n, NULL, "of each vector; 1: the lowest alone");
  check_levels(c, graph, n);
  graph->offsets = fw_cursor_read_vector(c, "offsets", FW_FIELD_U64, (uint64_t)n + 1, NULL, "where its links begin");
  check_offsets(c, graph, n);
  if (!fw_cursor_good(c)) return;
  graph->neighbors = fw_cursor_read_vector(c, "neighbors", FW_FIELD_I32, graph->offsets[n], NULL, "links; -1: none");
  for (size_t i = 0; fw_cursor_good(c) && i < n; i++) check_links(c, graph, i, n);
}

void fw_read_hnsw(fw_index_reader *r, furrow_index *index) {
  fw_cursor *c = &r->c;
  fw_hnsw *graph = &index->hnsw;
  if (index->ntotal > INT32_MAX) {
    fw_cursor_reject_at(c, index->file_offset + 8, "ntotal", "is %" PRId64 ", but links have 32 bits", index->ntotal);
    return;
  }
  read_graph(c, graph, (size_t)index->ntotal);
  graph->entry_point = fw_cursor_read_i32(c, "entry_point", "vector where a search begins");
  graph->max_level = fw_cursor_read_i32(c, "max_level", "and its level, from 0 on");
  check_entry(c, graph, (size_t)index->ntotal);
  graph->ef_construction = fw_cursor_read_i32(c, "efConstruction", "candidates when building");
  graph->ef_search = fw_cursor_read_i32(c, "efSearch", "candidates when searching");
  graph->upper_beam = fw_cursor_read_i32(c, "upper_beam", "not used, 1");
  fw_read_index(r, "storage", &index->child[0]);
  if (!fw_cursor_good(c)) return;
  const furrow_index *storage = index->child[0];
  if (!storage || storage->kind != FURROW_INDEX_FLAT)
    fw_cursor_reject_at(c, storage ? storage->file_offset : c->field_at, "storage/fourcc",
                        "is not that of flat vectors");
  fw_expect_d(r, storage, "storage", index->d);
  fw_expect_ntotal(r, storage, "storage", index->ntotal);
}
