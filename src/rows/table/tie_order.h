/* rows/table/tie_order.h: whether events of one time are in the order in which they happened, which is the order of the
 * log unless the log is sorted by something else. */
#ifndef FW_ROWS_TABLE_TIE_ORDER_H
#define FW_ROWS_TABLE_TIE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The keys by which neighbours of the same user and time may be sorted: the item's name as text or as numbers, the
 * label. */
enum { FW_TIES_BY_TEXT, FW_TIES_BY_NUMBER, FW_TIES_BY_LABEL, FW_TIE_SORTS };

/* Starts as zeros. */
typedef struct fw_tie_order {
  uint64_t up[FW_TIE_SORTS], down[FW_TIE_SORTS];
} fw_tie_order;

/* Adds two neighbours with different items. */
void fw_tie_order_add(fw_tie_order *order, const char *item, double label, const char *next_item, double next_label);
/* The number of neighbours whose items have different texts. */
uint64_t fw_tie_order_pairs(const fw_tie_order *order);
/* Whether they are sorted by one of these. */
bool fw_tie_order_is_sorted(const fw_tie_order *order);

/* The first and the last row of an item; first is UINT64_MAX if the item has no rows. */
typedef struct fw_item_rows {
  uint64_t first, last;
} fw_item_rows;

/* Whether the rows of each item are adjacent in the log; sorts the array. */
bool fw_items_follow(fw_item_rows *rows, size_t items);

#endif
