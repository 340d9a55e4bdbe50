/* vector/search/list_order.c: an order of lists in which neighbours in space are mostly near each other. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/search/searcher.h"

typedef struct placed {
  float number;
  uint32_t list;
} placed;

static int by_number(const void *a, const void *b) {
  const placed *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return x->list < y->list ? -1 : x->list > y->list;
}

/* A direction in which some centroids differ much: from one to the farthest from it. */
static void sort_some(const fw_coarse *coarse, placed *some, size_t n) {
  const size_t d = coarse->d;
  const float *from = coarse->centroids + some[0].list * d, *to = from;
  for (int round = 0; round < 2; round++) {
    float most = -1;
    const float *start = to;
    for (size_t i = 0; i < n; i++) {
      float square;
      fw_scan_table()->l2_rows(start, coarse->centroids + some[i].list * d, 1, d, &square);
      if (square > most) {
        most = square;
        from = start;
        to = coarse->centroids + some[i].list * d;
      }
    }
  }
  for (size_t i = 0; i < n; i++) {
    const float *row = coarse->centroids + some[i].list * d;
    float a, b;
    fw_scan_table()->ip_rows(row, to, 1, d, &a);
    fw_scan_table()->ip_rows(row, from, 1, d, &b);
    some[i].number = a - b;
  }
  qsort(some, n, sizeof *some, by_number);
}

furrow_status fw_list_ranks(const fw_coarse *coarse, uint32_t **ranks, furrow_error *err) {
  enum { FEW = 4 };
  const size_t n = coarse->nlist;
  void *memory = NULL, *rank = NULL;
  if (!coarse->centroids || n == 0) return FURROW_OK;
  furrow_status status = fw_alloc(&memory, n, sizeof(placed), err);
  if (status == FURROW_OK) status = fw_alloc(&rank, n, sizeof(uint32_t), err);
  placed *some = memory;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) some[i].list = (uint32_t)i;
  for (size_t size = n; status == FURROW_OK && size > FEW; size = (size + 1) / 2)
    for (size_t first = 0; first < n; first += size)
      sort_some(coarse, some + first, n - first < size ? n - first : size);
  for (size_t i = 0; status == FURROW_OK && i < n; i++) ((uint32_t *)rank)[some[i].list] = (uint32_t)i;
  fw_free(memory);
  if (status == FURROW_OK) *ranks = rank;
  return status;
}
