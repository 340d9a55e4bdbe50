/* model/jobs/verify_layout.c: checks that the metadata of a matrix is consistent. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/jobs/verify.h"

#define IN_META v->meta_path, FURROW_NO_OFFSET

/* ---- Options and the shape ---- */

/* Reads an integer option; false if it is missing or not a number. */
static bool option_number(const furrow_matrix_meta *meta, const char *key, int64_t *number) {
  const char *text = furrow_matrix_meta_option(meta, key);
  if (!text || !text[0]) return false;
  char *end;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (errno || *end) return false;
  *number = value;
  return true;
}

bool fw_verify_columns(const furrow_matrix_meta *meta, int64_t *first, int64_t *end) {
  const bool from_options =
      option_number(meta, "feature.index.range.start", first) && option_number(meta, "feature.index.range.end", end);
  if (from_options && *first < *end) return true;
  *first = 0;
  *end = meta->col;
  return meta->col > 0;
}

static furrow_status check_options(fw_verification *v, furrow_error *err) {
  static const char *const keys[] = {"feature.index.range.start", "feature.index.range.end"};
  int64_t range[2] = {0, 0};
  bool known[2];
  furrow_status status = FURROW_OK;
  for (size_t k = 0; k < 2; k++) {
    const char *text = furrow_matrix_meta_option(v->meta, keys[k]);
    known[k] = option_number(v->meta, keys[k], &range[k]);
    if (status == FURROW_OK && text && !known[k])
      status = fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, IN_META, err,
                               "option %s is \"%.60s\", which is not a whole number", keys[k], text);
  }
  if (status != FURROW_OK || !known[0] || !known[1] || v->meta->col < 0) return status;
  if (range[1] >= range[0] && (uint64_t)range[1] - (uint64_t)range[0] == (uint64_t)v->meta->col) return FURROW_OK;
  return fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, IN_META, err,
                         "the options give columns %" PRId64 " to %" PRId64 " (end), but col is %" PRId64, range[0],
                         range[1], v->meta->col);
}

/* ---- The grid: bands of rows, each divided into ranges of columns ---- */

/* Partitions with a range of columns, sorted by first row, last row, first column. */
typedef struct grid {
  const furrow_partition_meta **parts;
  size_t count;
} grid;

static bool same_band(const furrow_partition_meta *p, const furrow_partition_meta *q) {
  return p->start_row == q->start_row && p->end_row == q->end_row;
}

/* Returns the end of the band that starts with partition `first`. */
static size_t band_end(const grid *g, size_t first) {
  size_t end = first + 1;
  while (end < g->count && same_band(g->parts[first], g->parts[end])) end++;
  return end;
}

/* Whether the partition cannot hold an element. */
static bool is_empty_part(const furrow_partition_meta *p) {
  return p->start_row == p->end_row || p->start_col == p->end_col;
}

static bool is_hash(const furrow_partition_meta *p) {
  return p->start_col == 0 && p->end_col == 0;
}

static int by_corner(const void *a, const void *b) {
  const furrow_partition_meta *p = *(const furrow_partition_meta *const *)a;
  const furrow_partition_meta *q = *(const furrow_partition_meta *const *)b;
  if (p->start_row != q->start_row) return p->start_row < q->start_row ? -1 : 1;
  if (p->end_row != q->end_row) return p->end_row < q->end_row ? -1 : 1;
  if (p->start_col != q->start_col) return p->start_col < q->start_col ? -1 : 1;
  return p->part_id < q->part_id ? -1 : 1;
}

static furrow_status find_grid(const furrow_matrix_meta *meta, grid *g, furrow_error *err) {
  *g = (grid){0};
  FW_TRY(FW_ALLOC(&g->parts, meta->part_count, err));
  for (size_t i = 0; i < meta->part_count; i++)
    if (!is_hash(&meta->parts[i])) g->parts[g->count++] = &meta->parts[i];
  if (g->count > 1) qsort(g->parts, g->count, sizeof *g->parts, by_corner);
  return FURROW_OK;
}

static fw_findings *list_of(const fw_verification *v, const furrow_partition_meta *p) {
  return &v->parts[p - v->meta->parts];
}

/* Adds to q's findings that it overlaps p. */
static furrow_status add_overlap(fw_verification *v, const furrow_partition_meta *p, const furrow_partition_meta *q,
                                 furrow_error *err) {
  return fw_findings_add(list_of(v, q), FURROW_E_FORMAT, q->part_id, IN_META, err,
                         "rows %" PRId32 " to %" PRId32 " and columns %" PRId64 " to %" PRId64
                         " (ends) overlap partition %" PRId32,
                         q->start_row, q->end_row, q->start_col, q->end_col, p->part_id);
}

/* ---- Overlapping partitions ---- */

/* Bands are processed by ascending first row. A segment tree over the columns stores the partition with the largest end
 * row for each column. A partition overlaps one of an earlier band exactly if the stored end row exceeds its first row.
 * Sorting takes n log n, and each query log n. */

#define NOBODY SIZE_MAX

/* Columns are divided at the starts and ends of partitions; slot s reaches from cuts[s] to cuts[s + 1]. Node 1 covers
 * all slots, node i the halves 2i and 2i + 1. */
typedef struct tree_node {
  size_t whole;  /* the partition with the largest end row among those that cover the whole node */
  size_t within; /* the same among the partitions that cover any slot of the node */
} tree_node;

typedef struct column_tree {
  const grid *grid;
  int64_t *cuts;
  size_t slots; /* a power of 2; the last slots may be unused */
  size_t cut_count;
  tree_node *nodes;
} column_tree;

static int compare_cuts(const void *x, const void *y) {
  const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
  return (a > b) - (a < b);
}

static furrow_status find_cuts(column_tree *tree, furrow_error *err) {
  const grid *g = tree->grid;
  FW_TRY(FW_ALLOC_ROWS(&tree->cuts, g->count, 2, err));
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
  furrow_status status = find_cuts(tree, err);
  if (status != FURROW_OK) return status;
  for (tree->slots = 1; tree->slots < tree->cut_count;) tree->slots *= 2;
  status = FW_ALLOC_ROWS(&tree->nodes, tree->slots, 2, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < 2 * tree->slots; i++) tree->nodes[i] = (tree_node){NOBODY, NOBODY};
  return FURROW_OK;
}

static size_t slot_of(const column_tree *tree, int64_t col) {
  const int64_t *found = bsearch(&col, tree->cuts, tree->cut_count, sizeof col, compare_cuts);
  return (size_t)(found - tree->cuts);
}

/* The partition with the larger end row; if equal, the first one. */
static size_t lower_end(const column_tree *tree, size_t x, size_t y) {
  if (x == NOBODY || y == NOBODY) return x == NOBODY ? y : x;
  const int32_t a = tree->grid->parts[x]->end_row, b = tree->grid->parts[y]->end_row;
  return a > b || (a == b && x < y) ? x : y;
}

/* The slots of a partition, and the current node with its slots. */
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
  const size_t below = lower_end(tree, find_deepest(tree, half_of(&s, false)), find_deepest(tree, half_of(&s, true)));
  return lower_end(tree, node->whole, below);
}

static void insert_partition(column_tree *tree, step s, size_t part) {
  if (s.end <= s.node_first || s.node_end <= s.first) return;
  tree_node *node = &tree->nodes[s.node];
  node->within = lower_end(tree, node->within, part);
  if (s.first <= s.node_first && s.node_end <= s.end) {
    node->whole = lower_end(tree, node->whole, part);
    return;
  }
  insert_partition(tree, half_of(&s, false), part);
  insert_partition(tree, half_of(&s, true), part);
}

static step at_root(const column_tree *tree, size_t part) {
  const furrow_partition_meta *p = tree->grid->parts[part];
  return (step){slot_of(tree, p->start_col), slot_of(tree, p->end_col), 1, 0, tree->slots};
}

/* Queries all partitions of a band before inserting them: overlaps within a band are reported by check_band. */
static furrow_status sweep_bands(fw_verification *v, column_tree *tree, furrow_error *err) {
  const grid *g = tree->grid;
  furrow_status status = FURROW_OK;
  for (size_t first = 0, end; first < g->count && status == FURROW_OK; first = end) {
    end = band_end(g, first);
    for (size_t i = first; i < end && status == FURROW_OK; i++) {
      if (is_empty_part(g->parts[i])) continue;
      const size_t other = find_deepest(tree, at_root(tree, i));
      if (other != NOBODY && g->parts[other]->end_row > g->parts[i]->start_row)
        status = add_overlap(v, g->parts[other], g->parts[i], err);
    }
    for (size_t i = first; i < end; i++)
      if (!is_empty_part(g->parts[i])) insert_partition(tree, at_root(tree, i), i);
  }
  return status;
}

/* Bands overlap in rows only in matrices that Angel did not write. */
static bool bands_share_rows(const grid *g) {
  int32_t reached = INT32_MIN;
  for (size_t first = 0; first < g->count; first = band_end(g, first)) {
    if (g->parts[first]->start_row < reached) return true;
    reached = g->parts[first]->end_row;
  }
  return false;
}

/* Reports partitions that overlap a partition of another band; each is reported once. */
static furrow_status check_bands(fw_verification *v, const grid *g, furrow_error *err) {
  column_tree tree = {.grid = g};
  if (!bands_share_rows(g)) return FURROW_OK;
  furrow_status status = make_tree(&tree, err);
  if (status == FURROW_OK) status = sweep_bands(v, &tree, err);
  fw_free(tree.nodes);
  fw_free(tree.cuts);
  return status;
}

/* ---- Missing columns and rows ---- */

/* Reports that columns `from` to `to` of a band are missing before or after partition q. */
static furrow_status report_hole(fw_verification *v, const furrow_partition_meta *q, int64_t from, int64_t to,
                                 furrow_error *err) {
  return fw_findings_add(list_of(v, q), FURROW_E_FORMAT, q->part_id, IN_META, err,
                         "no partition has columns %" PRId64 " to %" PRId64 " (end) of rows %" PRId32 " to %" PRId32,
                         from, to, q->start_row, q->end_row);
}

/* The columns of a band's partitions must be contiguous from the first to the last column. */
static furrow_status check_band(fw_verification *v, const furrow_partition_meta **parts, size_t n, furrow_error *err) {
  int64_t first, end, reached;
  const bool known = fw_verify_columns(v->meta, &first, &end);
  const furrow_partition_meta *last = parts[0];
  furrow_status status = FURROW_OK;
  reached = known ? first : parts[0]->start_col;
  for (size_t i = 0; i < n && status == FURROW_OK; i++) {
    if (parts[i]->start_col > reached) status = report_hole(v, parts[i], reached, parts[i]->start_col, err);
    if (i > 0 && parts[i]->start_col < reached && !is_empty_part(parts[i]))
      status = add_overlap(v, last, parts[i], err);
    if (parts[i]->end_col < reached) continue;
    reached = parts[i]->end_col;
    last = parts[i];
  }
  if (status == FURROW_OK && known && reached < end) status = report_hole(v, last, reached, end, err);
  return status;
}

/* Reports columns of a partition that lie outside the matrix. */
static furrow_status check_outside(fw_verification *v, const furrow_partition_meta *p, furrow_error *err) {
  int64_t first, end;
  if (!fw_verify_columns(v->meta, &first, &end)) return FURROW_OK;
  if (p->start_col >= first && p->end_col <= end) return FURROW_OK;
  return fw_findings_add(list_of(v, p), FURROW_E_FORMAT, p->part_id, IN_META, err,
                         "columns %" PRId64 " to %" PRId64 " (end) are not within the columns of the matrix, %" PRId64
                         " to %" PRId64,
                         p->start_col, p->end_col, first, end);
}

/* Reports rows that no band has: they were not saved, or a partition is missing. */
static furrow_status check_rows_covered(fw_verification *v, const grid *g, furrow_error *err) {
  int32_t reached = 0;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i <= g->count && status == FURROW_OK; i++) {
    const int32_t next = i < g->count ? g->parts[i]->start_row : v->meta->row;
    if (next > reached)
      status =
          fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, IN_META, err,
                          "no partition has rows %" PRId32 " to %" PRId32 " (end): not saved, or lost", reached, next);
    if (i < g->count && g->parts[i]->end_row > reached) reached = g->parts[i]->end_row;
  }
  return status;
}

static furrow_status check_grid(fw_verification *v, const grid *g, furrow_error *err) {
  furrow_status status = check_bands(v, g, err);
  for (size_t first = 0, end; first < g->count && status == FURROW_OK; first = end) {
    end = band_end(g, first);
    status = check_band(v, g->parts + first, end - first, err);
  }
  for (size_t i = 0; i < g->count && status == FURROW_OK; i++) status = check_outside(v, g->parts[i], err);
  if (status == FURROW_OK && g->count > 0 && v->meta->row > 0) status = check_rows_covered(v, g, err);
  return status;
}

/* ---- Blocks ---- */

/* A partition is as long as a block, or ends with the matrix. */
static bool fits_block(int64_t start, int64_t end, int64_t first, int64_t last, int64_t block) {
  if (block <= 0) return false;
  const uint64_t from = (uint64_t)start - (uint64_t)first, length = (uint64_t)end - (uint64_t)start;
  return from % (uint64_t)block == 0 && (length == (uint64_t)block || (length < (uint64_t)block && end == last));
}

static furrow_status check_blocks(fw_verification *v, const grid *g, furrow_error *err) {
  const furrow_matrix_meta *m = v->meta;
  int64_t first, end;
  if (m->row <= 0 || !fw_verify_columns(m, &first, &end)) return FURROW_OK;
  for (size_t i = 0; i < g->count; i++) {
    const furrow_partition_meta *p = g->parts[i];
    const bool rows = fits_block(p->start_row, p->end_row, 0, m->row, m->block_row);
    if (rows && fits_block(p->start_col, p->end_col, first, end, m->block_col)) continue;
    return fw_findings_add(list_of(v, p), FW_REMARK_STATUS, p->part_id, IN_META, err,
                           "rows %" PRId32 " to %" PRId32 " and columns %" PRId64 " to %" PRId64
                           " (ends) are not a block of %" PRId32 " by %" PRId64,
                           p->start_row, p->end_row, p->start_col, p->end_col, m->block_row, m->block_col);
  }
  return FURROW_OK;
}

/* Hash partitions are recognized by their columns and by the blocks of the matrix; both must agree. */
static furrow_status check_kinds(fw_verification *v, const grid *g, furrow_error *err) {
  const furrow_matrix_meta *m = v->meta;
  const bool hash_blocks = m->block_row == -1 && m->block_col == -1;
  if (g->count > 0 && g->count < m->part_count)
    return fw_findings_add(fw_verification_common(v), FURROW_E_FORMAT, -1, IN_META, err,
                           "%zu %s a range of columns and %zu %s none", g->count,
                           fw_plural(g->count, "partition has", "partitions have"), m->part_count - g->count,
                           fw_plural(m->part_count - g->count, "has", "have"));
  if (m->part_count == 0 || m->origin == FURROW_META_PSMETA || hash_blocks == (g->count == 0)) return FURROW_OK;
  return fw_findings_add(fw_verification_common(v), FW_REMARK_STATUS, -1, IN_META, err,
                         "the partitions are %s, but blockRow is %" PRId32 " and blockCol %" PRId64,
                         g->count == 0 ? "hash partitions" : "ranges", m->block_row, m->block_col);
}

/* ---- Rows ---- */

static bool has_row(const furrow_partition_meta *p, int32_t row) {
  for (size_t r = 0; r < p->row_count; r++)
    if (p->rows[r].row_id == row) return true;
  return false;
}

/* Lists in the same order, as in nearly all files, are compared without a search. */
static bool same_rows(const furrow_partition_meta *p, const furrow_partition_meta *q) {
  if (p->row_count != q->row_count) return false;
  for (size_t r = 0; r < p->row_count; r++)
    if (p->rows[r].row_id != q->rows[r].row_id) return false;
  return true;
}

/* Partitions of a band must have the same rows. */
static furrow_status check_row_lists(fw_verification *v, const furrow_partition_meta *p, const furrow_partition_meta *q,
                                     furrow_error *err) {
  if (same_rows(p, q)) return FURROW_OK;
  const furrow_status kind = v->meta->origin == FURROW_META_ANGEL1 ? FW_REMARK_STATUS : FURROW_E_FORMAT;
  for (size_t r = 0; r < p->row_count; r++)
    if (!has_row(q, p->rows[r].row_id))
      return fw_findings_add(list_of(v, q), kind, q->part_id, IN_META, err,
                             "row %" PRId32 " is not in it, but in partition %" PRId32 " of the same rows",
                             p->rows[r].row_id, p->part_id);
  for (size_t r = 0; r < q->row_count; r++)
    if (!has_row(p, q->rows[r].row_id))
      return fw_findings_add(list_of(v, q), kind, q->part_id, IN_META, err,
                             "row %" PRId32 " is in it, but not in partition %" PRId32 " of the same rows",
                             q->rows[r].row_id, p->part_id);
  return FURROW_OK;
}

static furrow_status check_same_rows(fw_verification *v, furrow_error *err) {
  furrow_status status = FURROW_OK;
  const furrow_partition_meta *parts = v->meta->parts;
  for (size_t i = 1; i < v->meta->part_count && status == FURROW_OK; i++)
    if (same_band(&parts[i - 1], &parts[i])) status = check_row_lists(v, &parts[i - 1], &parts[i], err);
  return status;
}

/* Angel's loaders fill rows in the order of the metadata, regardless of the order in the data. */
static furrow_status check_row_order(fw_verification *v, const furrow_partition_meta *p, furrow_error *err) {
  if (!v->format || v->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN || v->meta->origin != FURROW_META_JSON)
    return FURROW_OK;
  for (size_t r = 1; r < p->row_count; r++)
    if (p->rows[r].row_id < p->rows[r - 1].row_id)
      return fw_findings_add(list_of(v, p), FW_REMARK_STATUS, p->part_id, IN_META, err,
                             "row %" PRId32 " is listed before row %" PRId32
                             ": Angel's own loaders take the rows of the data in this order",
                             p->rows[r - 1].row_id, p->rows[r].row_id);
  return FURROW_OK;
}

/* ---- Counts ---- */

static furrow_status check_count(fw_verification *v, const furrow_partition_meta *p, const char *field, int64_t value,
                                 int64_t should, furrow_error *err) {
  if (value == should) return FURROW_OK;
  return fw_findings_add(list_of(v, p), FW_REMARK_STATUS, p->part_id, IN_META, err,
                         "%s is %" PRId64 " where Angel writes %" PRId64, field, value, should);
}

static furrow_status check_counts(fw_verification *v, const furrow_partition_meta *p, furrow_error *err) {
  if (!v->format || v->meta->origin == FURROW_META_ANGEL1) return FURROW_OK;
  const bool by_column = v->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  const int64_t rows = (int64_t)p->row_count, cols = p->row_count > 0 ? p->rows[0].element_num : 0;
  FW_TRY(check_count(v, p, "saveRowNum", p->save_row_num, by_column ? 0 : rows, err));
  if (cols >= 0) FW_TRY(check_count(v, p, "saveColNum", p->save_col_num, by_column ? cols : 0, err));
  return check_count(v, p, "saveColElemNum", p->save_col_elem_num, by_column ? rows : 0, err);
}

static furrow_status check_nnz(fw_verification *v, const furrow_partition_meta *p, furrow_error *err) {
  int64_t elements = 0;
  for (size_t r = 0; r < p->row_count; r++) elements += p->rows[r].element_num > 0 ? p->rows[r].element_num : 0;
  if (p->nnz < 0 || p->nnz >= elements) return FURROW_OK; /* -1: unknown */
  return fw_findings_add(list_of(v, p), FW_REMARK_STATUS, p->part_id, IN_META, err,
                         "nnz is %" PRId64 ", less than the %" PRId64 " %s of its rows", p->nnz, elements,
                         fw_plural((uint64_t)elements, "element", "elements"));
}

furrow_status fw_verify_layout(fw_verification *v, furrow_error *err) {
  grid g;
  furrow_status status = find_grid(v->meta, &g, err);
  if (status != FURROW_OK) return status;
  status = check_options(v, err);
  if (status == FURROW_OK) status = check_kinds(v, &g, err);
  if (status == FURROW_OK) status = check_grid(v, &g, err);
  if (status == FURROW_OK && v->meta->origin != FURROW_META_PSMETA) status = check_blocks(v, &g, err);
  fw_free(g.parts);
  if (status == FURROW_OK) status = check_same_rows(v, err);
  for (size_t i = 0; i < v->meta->part_count && status == FURROW_OK; i++) {
    const furrow_partition_meta *p = &v->meta->parts[i];
    status = check_row_order(v, p, err);
    if (status == FURROW_OK) status = check_counts(v, p, err);
    if (status == FURROW_OK) status = check_nnz(v, p, err);
  }
  return status;
}
