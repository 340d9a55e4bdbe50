/* serve/indexes/list_recall.h: recall of searches that probe some of the lists of an index.
 *
 * Queries are stored vectors; the truth is the result of probing all lists.
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

/* Takes evenly spaced vectors as queries, at most `queries` of them, and finds the k best of each; after some seconds
 * it stops, so a large index gets fewer queries. The view must outlive it.
 * Errors: E_UNSUPPORTED, the index has no lists, or its vectors cannot be decoded; E_MEMORY; the errors of a search.
 * Owner:  the caller clears it, also after an error. */
furrow_status list_recall_begin(list_recall *m, const index_view *view, size_t queries, size_t k, furrow_error *err);
void list_recall_clear(list_recall *m);

typedef struct recall_figures {
  double recall; /* 0 … 1 */
  double queries_per_second;
} recall_figures;

/* Measures with nprobe lists, for at most about a second. */
furrow_status list_recall_measure(const list_recall *m, uint64_t nprobe, recall_figures *figures, furrow_error *err);

#endif
