/* model/read/row_order.h: does the data of a partition contradict the order that its rows are read in? */
#ifndef FW_MODEL_READ_ROW_ORDER_H
#define FW_MODEL_READ_ROW_ORDER_H

#include "model/read/source.h"

/* Angel writes the rows of a partition by ascending id, or in the order of a list that it does not keep, and each with
 * ascending columns. Where records have no row ids, a column that is not above the one before it (a fall) therefore
 * marks the begin of a row. Falls inside of rows mean either that the rows stand in another order, or that columns are
 * not sorted. All zeros is a watch that watches nothing. */
typedef struct fw_row_order_watch {
  const fw_source_part *part; /* NULL: nothing to watch, or more falls than any order explains */
  uint64_t *falls;            /* records before each fall */
  size_t count, capacity, most;
  int64_t last;
  uint64_t seen;
} fw_row_order_watch;

/* Begins with a partition; its memory stays for the next one. */
furrow_status fw_row_order_begin(fw_row_order_watch *watch, const furrow_matrix_source *source,
                                 const fw_source_part *part, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_see(fw_row_order_watch *watch, const int64_t *col_ids, size_t count);
/* All records were seen: E_FORMAT when rows in another order, with ascending columns, explain them and ascending rows
 * do not. *record: the first that contradicts. */
furrow_status fw_row_order_end(fw_row_order_watch *watch, uint64_t *record, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_clear(fw_row_order_watch *watch);

/* Whether the rows of a partition are read as the metadata lists them. */
bool fw_row_order_is_meta(const furrow_matrix_source *source);

#endif
