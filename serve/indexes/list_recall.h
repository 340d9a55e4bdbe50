/* serve/indexes/list_recall.h: how much a search finds that probes some of the lists of an index.
 *
 * Queries are stored vectors; what they should find is what probing all lists finds.
 */
#ifndef SERVE_INDEXES_LIST_RECALL_H
#define SERVE_INDEXES_LIST_RECALL_H

#include "indexes/index_view.h"

typedef struct list_recall {
  const index_view *view;
  size_t d, k, n; /* n: queries */
  float *queries, *distances;
  int64_t *truth, *found;
} list_recall;

/* Takes every so many-th vector as a query, at most `queries` of them, and finds its k best; a large index gets fewer
 * queries after some seconds. The view has to stay as long as it.
 * Errors: E_UNSUPPORTED, the index has no lists, or its vectors cannot be decoded; E_MEMORY; those of a search.
 * Owner:  the caller clears it, also after an error. */
furrow_status list_recall_begin(list_recall *m, const index_view *view, size_t queries, size_t k, furrow_error *err);
void list_recall_clear(list_recall *m);

typedef struct recall_figures {
  double recall; /* 0 … 1 */
  double queries_per_second;
} recall_figures;

/* Measures with so many lists, at most for about a second. */
furrow_status list_recall_measure(const list_recall *m, uint64_t nprobe, recall_figures *figures, furrow_error *err);

#endif
