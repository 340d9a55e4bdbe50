/* learn/forest/node_rows.h: which rows are in which node: an array of rows in which every node is a range.
 *
 * Rows of a node are ascending. Splitting keeps their order, so that reading is always forward. */
#ifndef FW_LEARN_FOREST_NODE_ROWS_H
#define FW_LEARN_FOREST_NODE_ROWS_H

#include "learn/forest/binned.h"
#include "learn/forest/forest.h"

typedef struct fw_node_rows {
  const fw_binned *binned;
  uint32_t *row, *spare;
  uint64_t *bits; /* for splits by sparse features; a bit for each row, FW_BIT_SETS times */
  struct fw_row_chunk *chunks;
  size_t chunk_capacity;
} fw_node_rows;

/* A question that splits the rows begin … end-1. */
typedef struct fw_row_split {
  size_t begin, end;
  uint32_t feature;  /* FW_NO_FEATURE: no row has it */
  int32_t last_left; /* bins up to this one go left; -1: none */
  bool absent_left;
  size_t middle;      /* out: behind the last row that went left */
  double left, right; /* of fw_node_rows_score */
} fw_row_split;

/* The caller's struct. The rows are 0 … binned->rows - 1. */
furrow_status fw_node_rows_init(fw_node_rows *rows, const fw_binned *binned, furrow_error *err) FURROW_MUST_USE;
void fw_node_rows_clear(fw_node_rows *rows);
size_t fw_node_rows_memory(const fw_node_rows *rows);

/* Splits disjoint ranges. */
furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, fw_spin_pool *pool,
                                 furrow_error *err) FURROW_MUST_USE;
/* Splits without moving rows: adds `left` or `right` to the rows' scores. */
furrow_status fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score,
                                 fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;
/* How many rows of a split go left; nothing is moved. */
size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split);
/* Adds `value` to the scores of the rows begin … end-1. */
void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score);
/* Rows begin … end-1, ascending before, go through a tree of the forest; rate * predict of their leaves is added to
 * their scores. */
furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, fw_spin_pool *pool,
                                      furrow_error *err) FURROW_MUST_USE;

#endif
