/* model/jobs/verify_overlap.c: which partitions of different bands of rows share elements?
 *
 * Bands are taken in the order of their first rows. A tree over the columns knows, for each of them, the partition so
 * far that reaches down furthest: one of a later band overlaps an earlier one exactly where that reaches below its
 * first row. Sorting and each step in the tree take log n. */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/jobs/verify.h"

#define NOBODY SIZE_MAX

/* Columns are cut where a partition begins or ends; slot s is from cuts[s] to cuts[s + 1]. Node 1 has all slots, node i
 * the halves 2i and 2i + 1. */
typedef struct tree_node {
  size_t whole;  /* the deepest of the partitions that have all slots of the node */
  size_t within; /* … that have any */
} tree_node;

typedef struct column_tree {
  const fw_grid *grid;
  int64_t *cuts;
  size_t slots; /* a power of 2, of which the last may not be columns */
  size_t cut_count;
  tree_node *nodes;
} column_tree;

static int compare_cuts(const void *x, const void *y) {
  const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
  return (a > b) - (a < b);
}

static furrow_status find_cuts(column_tree *tree, furrow_error *err) {
  const fw_grid *g = tree->grid;
  void *memory;
  furrow_status status = fw_alloc(&memory, g->count, 2 * sizeof *tree->cuts, err);
  if (status != FURROW_OK) return status;
  tree->cuts = memory;
  for (size_t i = 0; i < g->count; i++) {
    tree->cuts[2 * i] = g->parts[i]->start_col;
    tree->cuts[2 * i + 1] = g->parts[i]->end_col;
  }
  qsort(tree->cuts, 2 * g->count, sizeof *tree->cuts, compare_cuts);
  size_t kept = 1;
  for (size_t i = 1; i < 2 * g->count; i++)
    if (tree->cuts[i] != tree->cuts[kept - 1]) tree->cuts[kept++] = tree->cuts[i];
  tree->cut_count = kept;
  return FURROW_OK;
}

static furrow_status make_tree(column_tree *tree, furrow_error *err) {
  void *memory;
  furrow_status status = find_cuts(tree, err);
  if (status != FURROW_OK) return status;
  for (tree->slots = 1; tree->slots < tree->cut_count;) tree->slots *= 2;
  status = fw_alloc(&memory, tree->slots, 2 * sizeof *tree->nodes, err);
  if (status != FURROW_OK) return status;
  tree->nodes = memory;
  for (size_t i = 0; i < 2 * tree->slots; i++) tree->nodes[i] = (tree_node){NOBODY, NOBODY};
  return FURROW_OK;
}

static size_t slot_of(const column_tree *tree, int64_t col) {
  const int64_t *found = bsearch(&col, tree->cuts, tree->cut_count, sizeof col, compare_cuts);
  return (size_t)(found - tree->cuts);
}

/* The one that ends later, of two the first. */
static size_t deeper(const column_tree *tree, size_t x, size_t y) {
  if (x == NOBODY || y == NOBODY) return x == NOBODY ? y : x;
  const int32_t a = tree->grid->parts[x]->end_row, b = tree->grid->parts[y]->end_row;
  return a > b || (a == b && x < y) ? x : y;
}

/* A partition's slots, and the node at hand with its own. */
typedef struct step {
  size_t first, end;
  size_t node, node_first, node_end;
} step;

static step half_of(const step *s, bool upper) {
  const size_t middle = s->node_first + (s->node_end - s->node_first) / 2;
  return (step){s->first, s->end, 2 * s->node + upper, upper ? middle : s->node_first, upper ? s->node_end : middle};
}

static size_t find_deepest(const column_tree *tree, step s) {
  if (s.end <= s.node_first || s.node_end <= s.first) return NOBODY;
  const tree_node *node = &tree->nodes[s.node];
  if (s.first <= s.node_first && s.node_end <= s.end) return node->within;
  const size_t below = deeper(tree, find_deepest(tree, half_of(&s, false)), find_deepest(tree, half_of(&s, true)));
  return deeper(tree, node->whole, below);
}

static void insert(column_tree *tree, step s, size_t part) {
  if (s.end <= s.node_first || s.node_end <= s.first) return;
  tree_node *node = &tree->nodes[s.node];
  node->within = deeper(tree, node->within, part);
  if (s.first <= s.node_first && s.node_end <= s.end) {
    node->whole = deeper(tree, node->whole, part);
    return;
  }
  insert(tree, half_of(&s, false), part);
  insert(tree, half_of(&s, true), part);
}

static step at_root(const column_tree *tree, size_t part) {
  const furrow_partition_meta *p = tree->grid->parts[part];
  return (step){slot_of(tree, p->start_col), slot_of(tree, p->end_col), 1, 0, tree->slots};
}

static size_t band_end(const fw_grid *g, size_t first) {
  size_t end = first + 1;
  while (end < g->count && fw_same_band(g->parts[first], g->parts[end])) end++;
  return end;
}

/* First all of a band are looked up, then they are put in: what overlaps within a band is told elsewhere. */
static furrow_status sweep(fw_verification *v, column_tree *tree, furrow_error *err) {
  const fw_grid *g = tree->grid;
  furrow_status status = FURROW_OK;
  for (size_t first = 0, end; first < g->count && status == FURROW_OK; first = end) {
    end = band_end(g, first);
    for (size_t i = first; i < end && status == FURROW_OK; i++) {
      if (fw_is_empty_part(g->parts[i])) continue;
      const size_t other = find_deepest(tree, at_root(tree, i));
      if (other != NOBODY && g->parts[other]->end_row > g->parts[i]->start_row)
        status = fw_verify_add_overlap(v, g->parts[other], g->parts[i], err);
    }
    for (size_t i = first; i < end; i++)
      if (!fw_is_empty_part(g->parts[i])) insert(tree, at_root(tree, i), i);
  }
  return status;
}

/* Angel's grids have no such bands. */
static bool bands_share_rows(const fw_grid *g) {
  int32_t reached = INT32_MIN;
  for (size_t first = 0; first < g->count; first = band_end(g, first)) {
    if (g->parts[first]->start_row < reached) return true;
    reached = g->parts[first]->end_row;
  }
  return false;
}

furrow_status fw_verify_bands(fw_verification *v, const fw_grid *g, furrow_error *err) {
  column_tree tree = {.grid = g};
  if (!bands_share_rows(g)) return FURROW_OK;
  furrow_status status = make_tree(&tree, err);
  if (status == FURROW_OK) status = sweep(v, &tree, err);
  fw_free(tree.nodes);
  fw_free(tree.cuts);
  return status;
}
