/* learn/forest/node_rows.h: which rows are in which node: an array of rows in which every node is a range.
 *
 * Rows of a node are ascending. Splitting keeps their order, so that reading is always forward. */
#ifndef FW_LEARN_FOREST_NODE_ROWS_H
#define FW_LEARN_FOREST_NODE_ROWS_H

#include "learn/forest/bins.h"
#include "learn/forest/forest.h"

typedef struct fw_node_rows {
  const fw_binned *binned;
  fw_spin_pool *pool;
  const uint32_t *row; /* all, or one of the orders: splitting goes from one to the other */
  uint32_t *all;       /* 0, 1 … */
  uint32_t *order[2];
  uint64_t *bits; /* for splits by sparse features; a bit for each row, several times */
  struct fw_row_chunk *chunks;
  uint64_t *sides; /* of the rows of each chunk */
  size_t chunk_capacity, side_capacity;
} fw_node_rows;

/* A split of the rows begin … end-1. */
typedef struct fw_row_split {
  size_t begin, end;
  uint32_t feature;  /* FW_NO_FEATURE: no row has it */
  int32_t last_left; /* bins up to this one go left; -1: none */
  bool absent_left;
  size_t middle;      /* out: where the rows that went right begin */
  double left, right; /* of fw_node_rows_score */
  size_t node;        /* the caller's */
} fw_row_split;

/* The caller's struct. The rows are 0 … binned->rows - 1, in this order. */
furrow_status fw_node_rows_init(fw_node_rows *rows, const fw_binned *binned, fw_spin_pool *pool,
                                furrow_error *err) FURROW_MUST_USE;
void fw_node_rows_clear(fw_node_rows *rows);

/* Takes all rows, in order. */
void fw_node_rows_take_all(fw_node_rows *rows);
/* Takes the rows of order[0]; those from `count` on stay where they are, whatever is split before them. */
void fw_node_rows_take_chosen(fw_node_rows *rows, size_t count);

/* Splits disjoint ranges. Rows outside of them are lost, unless `keep` is set. */
furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, bool keep,
                                 furrow_error *err) FURROW_MUST_USE;
/* Splits without moving rows: adds `left` or `right` to the rows' scores. */
void fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score);
/* How many rows of a split go left; nothing is moved. */
size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split);
/* Adds `value` to the scores of the rows begin … end-1. */
void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score);
/* Rows begin … end-1, ascending before, go through a tree of the forest; rate * predict of their leaves is added to
 * their scores. */
furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, furrow_error *err) FURROW_MUST_USE;

#endif
