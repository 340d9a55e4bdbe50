/* rows/table/tie_order.c: whether a log is sorted by something else than time. */
#include "rows/table/tie_order.h"

#include <stdlib.h>
#include <string.h>

static const double sorted_share = 0.95; /* least share of neighbours in order for a sorted log */

void fw_tie_order_add(fw_tie_order *order, const char *item, double label, const char *next_item, double next_label) {
  const int found[FW_TIE_SORTS] = {strcmp(item, next_item), strverscmp(item, next_item),
                                   (label > next_label) - (label < next_label)};
  for (size_t k = 0; k < FW_TIE_SORTS; k++) {
    order->up[k] += found[k] < 0;
    order->down[k] += found[k] > 0;
  }
}

uint64_t fw_tie_order_pairs(const fw_tie_order *order) {
  return order->up[FW_TIES_BY_TEXT] + order->down[FW_TIES_BY_TEXT];
}

bool fw_tie_order_is_sorted(const fw_tie_order *order) {
  for (size_t k = 0; k < FW_TIE_SORTS; k++) {
    const uint64_t up = order->up[k], down = order->down[k], most = up > down ? up : down;
    if (most > 0 && (double)most >= sorted_share * (double)(up + down)) return true;
  }
  return false;
}

static int compare_first(const void *a, const void *b) {
  const fw_item_rows *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

bool fw_items_follow(fw_item_rows *rows, size_t items) {
  uint64_t last = 0;
  size_t after = 0, there = 0; /* items that begin after the end of all before, items with rows */
  if (items > 1) qsort(rows, items, sizeof *rows, compare_first);
  for (; there < items && rows[there].first < UINT64_MAX; there++) {
    after += there == 0 || rows[there].first > last;
    if (rows[there].last > last) last = rows[there].last;
  }
  return (double)after >= sorted_share * (double)there;
}
