/* vector/search/row_products.h: compares blocks of rows with many queries by matrix products. */
#ifndef FW_VECTOR_SEARCH_ROW_PRODUCTS_H
#define FW_VECTOR_SEARCH_ROW_PRODUCTS_H

#include "base/arena.h"
#include "kern/products/products.h"
#include "vector/data/id_filter.h"
#include "vector/search/sink.h"

/* From this number of queries on, products are faster than comparing each query with each row. */
#define FW_ROW_PRODUCTS_QUERIES 12

typedef struct fw_row_products {
  const float *queries; /* n * d */
  size_t n, d;
  bool similarity;  /* inner products; else L2 */
  size_t most_rows; /* of a block; a multiple of FW_PACK_WIDTH */
  fw_packed packed; /* the rows of the block, in memory of the arena */
  float longest;    /* the largest squared norm of a row */
  float *norms;     /* squared norms of the queries */
  float *scores;    /* of some queries: most_rows for each */
  uint32_t *above;  /* positions of scores */
} fw_row_products;

/* Prepares for n queries of d numbers, which have to outlive it. */
furrow_status fw_row_products_take(fw_row_products *products, const float *queries, size_t n, size_t d, bool similarity,
                                   fw_arena *arena, furrow_error *err) FURROW_MUST_USE;
/* Offers the rows, at most most_rows, whose ids count from first_id, to the sinks of the queries: exactly those that
 * comparing each pair of vectors by the kernels l2_rows and ip_rows would offer, with the same keys. Returns false, and
 * does nothing, if a row is too large for products. */
bool fw_row_products_scan(fw_row_products *products, const float *rows, size_t count, size_t first_id,
                          const fw_id_filter *id_filter, fw_sink *sinks);

#endif
