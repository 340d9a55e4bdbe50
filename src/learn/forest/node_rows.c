/* learn/forest/node_rows.c: rows of nodes, split by one question each.
 *
 * Ranges are cut into chunks. A chunk first finds out which of its rows go left, a bit each; when all chunks know their
 * counts, they write their rows to where they belong in the other of two arrays. Scores of rows are added to by range
 * of rows, not by node: what a thread writes then stays in its cache, and no other thread writes beside it.
 *
 * For a split by a sparse feature the rows that have it, and do not go where rows without it go, get a bit in a set.
 * Small nodes look for their rows in the feature's list in place of that. */
#include "learn/forest/node_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/trees.h"
#include "kern/text/tokenizer.h"

enum { CHUNK = 1 << 12, CHUNK_WORDS = CHUNK / 64, SETS = 8, MOST_SPLITS = 256 };

/* Rows, by their numbers, whose scores one task adds to. */
enum { SCORED = 1 << 14 };

/* Where a node has so many times fewer rows than the feature, rows are looked for one by one. */
enum { FEW = 16 };

typedef struct fw_row_chunk {
  fw_row_split *split;
  const uint64_t *bits; /* of the split, if it has a set */
  size_t begin, end;
  size_t lefts; /* that go left */
  size_t left_to, right_to;
} row_chunk;

furrow_status fw_node_rows_init(fw_node_rows *rows, const fw_binned *binned, furrow_error *err) {
  memset(rows, 0, sizeof *rows);
  rows->binned = binned;
  furrow_status status = fw_alloc((void **)&rows->all, binned->rows, sizeof *rows->all, err);
  for (size_t i = 0; status == FURROW_OK && i < 2; i++)
    status = fw_alloc((void **)&rows->order[i], binned->rows, sizeof *rows->order[i], err);
  if (status == FURROW_OK && binned->column_row)
    status = fw_alloc_zero((void **)&rows->bits, SETS * fw_bit_words(binned->rows), sizeof *rows->bits, err);
  for (size_t i = 0; status == FURROW_OK && i < binned->rows; i++) rows->all[i] = (uint32_t)i;
  rows->row = rows->all;
  return status;
}

void fw_node_rows_clear(fw_node_rows *rows) {
  void *const arrays[] = {rows->all, rows->order[0], rows->order[1], rows->bits, rows->chunks, rows->sides};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) fw_free(arrays[i]);
  memset(rows, 0, sizeof *rows);
}

void fw_node_rows_take_all(fw_node_rows *rows) {
  rows->row = rows->all;
}

void fw_node_rows_take_chosen(fw_node_rows *rows, size_t count) {
  memcpy(rows->order[1] + count, rows->order[0] + count, (rows->binned->rows - count) * sizeof *rows->order[0]);
  rows->row = rows->order[0];
}

/* ---- Which rows go left --------------------------------------------------------------------------------- */

/* FW_NO_BIN + 1 is 0 as a byte: with 1 added to all, rows without the feature are the least. */
static size_t sides_by_bytes(const fw_binned *b, const fw_row_split *split, const uint32_t *row, size_t n,
                             uint64_t *left) {
  const uint8_t add = split->absent_left, limit = (uint8_t)(split->last_left + add);
  if (split->last_left + add < 0) {
    memset(left, 0, fw_bit_words(n) * sizeof *left);
    return 0;
  }
  return fw_trees_table()->sides(b->column + split->feature * b->rows, row, n, add, limit, left);
}

static size_t sides_by_bits(const uint64_t *bits, bool absent_left, const uint32_t *row, size_t n, uint64_t *left) {
  const uint64_t flip = absent_left;
  size_t lefts = 0;
  for (size_t i = 0; i < n; i += 64) {
    uint64_t word = 0;
    for (size_t k = i; k < n && k < i + 64; k++) word |= ((bits[row[k] / 64] >> row[k] % 64 & 1) ^ flip) << k % 64;
    left[i / 64] = word;
    lefts += (size_t)__builtin_popcountll(word);
  }
  return lefts;
}

/* Whether entry `at` of a sparse feature goes left. */
static bool entry_left(const fw_binned *b, const fw_row_split *split, size_t at) {
  return (b->column_bin ? b->column_bin[at] : 0) <= split->last_left;
}

/* The first of rows begin … end-1, which ascend, that is not below `least`; end: none. */
static size_t first_row(const uint32_t *row, size_t begin, size_t end, size_t least) {
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (row[middle] < least)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* The first entry from `at` on whose row is not below; in steps that double, then halve. */
static size_t entry_of(const uint32_t *entry, size_t at, size_t end, uint32_t row) {
  size_t step = 1;
  while (at + step < end && entry[at + step] < row) {
    at += step;
    step *= 2;
  }
  return first_row(entry, at, at + step < end ? at + step : end, row);
}

static size_t sides_by_search(const fw_binned *b, const fw_row_split *split, const uint32_t *row, size_t n,
                              uint64_t *left) {
  size_t at = fw_column_begin(b, split->feature), lefts = 0;
  const size_t end = fw_column_end(b, split->feature);
  memset(left, 0, fw_bit_words(n) * sizeof *left);
  for (size_t i = 0; i < n; i++) {
    at = entry_of(b->column_row, at, end, row[i]);
    const bool found = at < end && b->column_row[at] == row[i];
    const uint64_t side = found ? entry_left(b, split, at) : split->absent_left;
    left[i / 64] |= side << i % 64;
    lefts += side;
  }
  return lefts;
}

static size_t sides_by_absence(bool absent_left, size_t n, uint64_t *left) {
  for (size_t i = 0; i < fw_bit_words(n); i++) left[i] = absent_left ? UINT64_MAX : 0;
  return absent_left ? n : 0;
}

/* A bit for each row of the chunk, whether it goes left; returns how many do. */
static size_t find_sides(const fw_node_rows *rows, const row_chunk *chunk, uint64_t *left) {
  const fw_row_split *split = chunk->split;
  const uint32_t *row = rows->row + chunk->begin;
  const size_t n = chunk->end - chunk->begin;
  if (split->feature == FW_NO_FEATURE) return sides_by_absence(split->absent_left, n, left);
  if (split->feature < rows->binned->cuts->dense) return sides_by_bytes(rows->binned, split, row, n, left);
  if (chunk->bits) return sides_by_bits(chunk->bits, split->absent_left, row, n, left);
  return sides_by_search(rows->binned, split, row, n, left);
}

/* ---- Sets of rows --------------------------------------------------------------------------------------- */

static bool wants_set(const fw_binned *b, const fw_row_split *split) {
  if (split->feature == FW_NO_FEATURE || split->feature < b->cuts->dense) return false;
  const size_t entries = fw_column_end(b, split->feature) - fw_column_begin(b, split->feature);
  return (split->end - split->begin) * FEW >= entries;
}

typedef struct set_job {
  fw_node_rows *rows;
  const fw_row_split *split[SETS];
  bool clear;
} set_job;

static void fill_set(void *context, size_t i) {
  const set_job *job = context;
  const fw_binned *b = job->rows->binned;
  const fw_row_split *split = job->split[i];
  uint64_t *bits = job->rows->bits + i * fw_bit_words(b->rows);
  for (size_t at = fw_column_begin(b, split->feature); at < fw_column_end(b, split->feature); at++) {
    const uint32_t row = b->column_row[at];
    if (job->clear)
      bits[row / 64] = 0;
    else if (entry_left(b, split, at) != split->absent_left)
      bits[row / 64] |= UINT64_C(1) << row % 64;
  }
}

/* ---- Chunks --------------------------------------------------------------------------------------------- */

typedef struct mover {
  fw_node_rows *rows;
  uint32_t *to;
  const fw_row_split *splits; /* of rows that are scored, with the sets that they have */
  const uint64_t *const *sets;
  size_t count;
  double *score;
} mover;

static void ask_chunk(void *context, size_t i) {
  const mover *m = context;
  row_chunk *chunk = &m->rows->chunks[i];
  chunk->lefts = find_sides(m->rows, chunk, m->rows->sides + i * CHUNK_WORDS);
}

static void move_chunk(void *context, size_t i) {
  const mover *m = context;
  const row_chunk *chunk = &m->rows->chunks[i];
  const size_t n = chunk->end - chunk->begin;
  uint32_t lefts[CHUNK], rights[CHUNK];
  fw_trees_table()->sort(m->rows->row + chunk->begin, m->rows->sides + i * CHUNK_WORDS, n, lefts, rights);
  memcpy(m->to + chunk->left_to, lefts, chunk->lefts * sizeof *lefts);
  memcpy(m->to + chunk->right_to, rights, (n - chunk->lefts) * sizeof *rights);
}

static furrow_status add_chunks(fw_node_rows *rows, fw_row_split *split, const uint64_t *bits, size_t *count,
                                furrow_error *err) {
  const size_t chunks = *count + (split->end - split->begin + CHUNK - 1) / CHUNK;
  FW_TRY(fw_grow((void **)&rows->chunks, &rows->chunk_capacity, chunks, sizeof *rows->chunks, err));
  FW_TRY(fw_grow((void **)&rows->sides, &rows->side_capacity, chunks * CHUNK_WORDS, sizeof *rows->sides, err));
  for (size_t begin = split->begin; begin < split->end; begin += CHUNK) {
    const size_t end = split->end - begin < CHUNK ? split->end : begin + CHUNK;
    rows->chunks[(*count)++] = (row_chunk){.split = split, .bits = bits, .begin = begin, .end = end};
  }
  return FURROW_OK;
}

/* Where the rows of each chunk go: chunks of a split follow each other. */
static void place_chunks(fw_node_rows *rows, size_t count) {
  for (size_t i = 0; i < count;) {
    fw_row_split *split = rows->chunks[i].split;
    size_t last = i, to = split->begin;
    for (; last < count && rows->chunks[last].split == split; last++) {
      rows->chunks[last].left_to = to;
      to += rows->chunks[last].lefts;
    }
    split->middle = to;
    for (; i < last; i++) {
      rows->chunks[i].right_to = to;
      to += rows->chunks[i].end - rows->chunks[i].begin - rows->chunks[i].lefts;
    }
  }
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void score_chunk(const mover *m, const row_chunk *chunk) {
  const uint32_t *row = m->rows->row + chunk->begin;
  const double add[2] = {chunk->split->right, chunk->split->left};
  uint64_t left[CHUNK_WORDS];
  find_sides(m->rows, chunk, left);
  for (size_t k = 0; k < chunk->end - chunk->begin; k++) m->score[row[k]] += add[left[k / 64] >> k % 64 & 1];
}

/* The rows of all splits whose numbers are in range i. */
static void score_range(void *context, size_t i) {
  const mover *m = context;
  for (size_t s = 0; s < m->count; s++) {
    fw_row_split split = m->splits[s];
    split.begin = first_row(m->rows->row, split.begin, split.end, i * SCORED);
    split.end = first_row(m->rows->row, split.begin, split.end, (i + 1) * SCORED);
    for (size_t begin = split.begin; begin < split.end; begin += CHUNK) {
      const size_t end = split.end - begin < CHUNK ? split.end : begin + CHUNK;
      score_chunk(m, &(row_chunk){.split = &split, .bits = m->sets[s], .begin = begin, .end = end});
    }
  }
}

typedef struct adder {
  const uint32_t *row;
  size_t begin, end;
  double value, *score;
} adder;

static void add_range(void *context, size_t i) {
  const adder *a = context;
  const size_t begin = a->begin + i * SCORED, end = a->end - begin < SCORED ? a->end : begin + SCORED;
  for (size_t k = begin; k < end; k++) a->score[a->row[k]] += a->value;
}

void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score,
                      fw_spin_pool *pool) {
  adder a = {rows->row, begin, end, value, score};
  fw_spin_pool_run(pool, (end - begin + SCORED - 1) / SCORED, add_range, &a);
}

/* ---- Splits --------------------------------------------------------------------------------------------- */

/* Some splits, with a set for each that wants one. */
typedef struct batch {
  set_job sets;
  const uint64_t *bits[MOST_SPLITS]; /* of each split, NULL: it has no set */
  size_t set_count, count;
} batch;

/* As many splits as there are sets for. */
static batch take_splits(fw_node_rows *rows, const fw_row_split *splits, size_t count) {
  batch b = {.sets = {.rows = rows}};
  for (; b.count < count && b.count < MOST_SPLITS; b.count++) {
    const bool set = wants_set(rows->binned, &splits[b.count]);
    if (set && b.set_count == SETS) break;
    b.bits[b.count] = set ? rows->bits + b.set_count * fw_bit_words(rows->binned->rows) : NULL;
    if (set) b.sets.split[b.set_count++] = &splits[b.count];
  }
  return b;
}

static furrow_status split_batch(fw_node_rows *rows, fw_row_split *splits, const batch *b, uint32_t *to,
                                 fw_spin_pool *pool, furrow_error *err) {
  mover m = {.rows = rows, .to = to};
  size_t chunks = 0;
  for (size_t i = 0; i < b->count; i++) {
    splits[i].middle = splits[i].begin;
    FW_TRY(add_chunks(rows, &splits[i], b->bits[i], &chunks, err));
  }
  fw_spin_pool_run(pool, chunks, ask_chunk, &m);
  place_chunks(rows, chunks);
  fw_spin_pool_run(pool, chunks, move_chunk, &m);
  return FURROW_OK;
}

static void score_batch(fw_node_rows *rows, const fw_row_split *splits, const batch *b, double *score,
                        fw_spin_pool *pool) {
  mover m = {.rows = rows, .splits = splits, .sets = b->bits, .count = b->count, .score = score};
  fw_spin_pool_run(pool, (rows->binned->rows + SCORED - 1) / SCORED, score_range, &m);
}

/* to NULL: rows are scored, else they are moved. */
static furrow_status run_splits(fw_node_rows *rows, fw_row_split *splits, size_t count, uint32_t *to, double *score,
                                fw_spin_pool *pool, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; status == FURROW_OK && at < count;) {
    batch b = take_splits(rows, splits + at, count - at);
    fw_spin_pool_run(pool, b.set_count, fill_set, &b.sets);
    if (to)
      status = split_batch(rows, splits + at, &b, to, pool, err);
    else
      score_batch(rows, splits + at, &b, score, pool);
    b.sets.clear = true;
    fw_spin_pool_run(pool, b.set_count, fill_set, &b.sets);
    at += b.count;
  }
  return status;
}

furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, bool keep, fw_spin_pool *pool,
                                 furrow_error *err) {
  uint32_t *from = rows->order[rows->row == rows->order[1]], *to = rows->order[rows->row == rows->order[0]];
  FW_TRY(run_splits(rows, splits, count, to, NULL, pool, err));
  if (!keep || rows->row == rows->all) {
    rows->row = to;
    return FURROW_OK;
  }
  for (size_t i = 0; i < count; i++)
    memcpy(from + splits[i].begin, to + splits[i].begin, (splits[i].end - splits[i].begin) * sizeof *to);
  return FURROW_OK;
}

void fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score, fw_spin_pool *pool) {
  (void)run_splits(rows, splits, count, NULL, score, pool, NULL); /* allocates nothing */
}

typedef struct row_counter {
  const fw_node_rows *rows;
  const fw_row_split *split;
  atomic_size_t lefts;
} row_counter;

static void count_chunk(void *context, size_t i) {
  row_counter *c = context;
  fw_row_split split = *c->split;
  const size_t begin = split.begin + i * CHUNK, end = split.end - begin < CHUNK ? split.end : begin + CHUNK;
  uint64_t left[CHUNK_WORDS];
  atomic_fetch_add(&c->lefts, find_sides(c->rows, &(row_chunk){.split = &split, .begin = begin, .end = end}, left));
}

size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split, fw_spin_pool *pool) {
  row_counter c = {.rows = rows, .split = split};
  fw_spin_pool_run(pool, (split->end - split->begin + CHUNK - 1) / CHUNK, count_chunk, &c);
  return c.lefts;
}

/* ---- Rows through a tree that is grown already, by their bins --------------------------------------------------- */

/* A node of the level at hand. */
typedef struct level_node {
  size_t node, begin, end;
} level_node;

typedef struct traversal {
  fw_node_rows *rows;
  const fw_forest *forest;
  size_t first; /* node 0 of the tree, in the forest's arrays */
  double rate, *score;
  fw_spin_pool *pool;
  level_node *nodes;    /* of a level */
  fw_row_split *splits; /* of those that are not leaves */
  size_t count;
} traversal;

static fw_row_split split_of(const traversal *w, const level_node *node) {
  const fw_cuts *cuts = w->rows->binned->cuts;
  const size_t at = w->first + node->node;
  fw_row_split split = {.begin = node->begin, .end = node->end};
  split.feature = fw_cuts_find(cuts, (uint64_t)w->forest->feature[at]);
  if (split.feature != FW_NO_FEATURE) split.last_left = fw_cuts_last_left(cuts, split.feature, w->forest->value[at]);
  split.absent_left = fw_forest_absent_left(w->forest, at);
  return split;
}

/* Rows in leaves get the leaf's score; inner nodes stay queued and get their splits. */
static size_t score_leaves(traversal *w) {
  size_t kept = 0;
  for (size_t i = 0; i < w->count; i++) {
    const level_node node = w->nodes[i];
    if (w->forest->feature[w->first + node.node] < 0) {
      fw_node_rows_add(w->rows, node.begin, node.end, w->rate * w->forest->predict[w->first + node.node], w->score,
                       w->pool);
      continue;
    }
    w->nodes[kept] = node;
    w->splits[kept++] = split_of(w, &node);
  }
  return kept;
}

static void add_child(traversal *w, size_t node, size_t begin, size_t end) {
  if (begin < end) w->nodes[w->count++] = (level_node){node, begin, end};
}

static void go_down(traversal *w, size_t kept, level_node *parents) {
  memcpy(parents, w->nodes, kept * sizeof *parents);
  w->count = 0;
  for (size_t i = 0; i < kept; i++) {
    add_child(w, 2 * parents[i].node + 1, parents[i].begin, w->splits[i].middle);
    add_child(w, 2 * parents[i].node + 2, w->splits[i].middle, parents[i].end);
  }
}

furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, fw_spin_pool *pool, furrow_error *err) {
  traversal w = {rows, forest, tree * forest->nodes, rate, score, pool, NULL, NULL, 0};
  const size_t last = (forest->nodes + 1) / 2; /* nodes of the last level; those that are kept have rows */
  const size_t most = last < end - begin ? last : end - begin;
  level_node *parents = NULL;
  furrow_status status = fw_alloc((void **)&w.nodes, most, sizeof *w.nodes, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&w.splits, most, sizeof *w.splits, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&parents, most, sizeof *parents, err);
  if (status == FURROW_OK) add_child(&w, 0, begin, end);
  while (status == FURROW_OK && w.count > 0) {
    const size_t kept = score_leaves(&w);
    status = fw_node_rows_split(rows, w.splits, kept, false, pool, err);
    if (status == FURROW_OK) go_down(&w, kept, parents);
  }
  fw_free(w.nodes);
  fw_free(w.splits);
  fw_free(parents);
  return status;
}
