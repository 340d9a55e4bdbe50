/* learn/forest/node_rows.c: rows of nodes, divided by one split each.
 *
 * Ranges are cut into chunks. A chunk first finds out which of its rows go left, a bit each; when all chunks know their
 * counts, they write their rows to where they belong in the other of two arrays. Scores of rows are added to by range
 * of rows, not by node: what a thread writes then stays in its cache, and no other thread writes to the same cache
 * lines.
 *
 * For a split by a sparse feature the rows that have it, and do not go where rows without it go, get a bit in a set.
 * Small nodes look for their rows in the feature's list in place of that. */
#include "learn/forest/tree_grow.h"

#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "kern/math/trees.h"
#include "kern/text/tokenizer.h"

enum { CHUNK = 1 << 12, CHUNK_WORDS = CHUNK / 64, SETS = 8, MOST_SPLITS = 256 };

/* Rows, by their numbers, whose scores one task adds to. */
enum { SCORED = 1 << 14 };

/* If a node has this many times fewer rows than the feature, each of its rows is looked up in the feature's list. */
enum { FEW = 16 };

typedef struct fw_row_chunk {
  fw_row_split *split;
  const uint64_t *bits; /* bits of the split, if it has a set */
  size_t begin, end;
  size_t lefts; /* rows that go left */
  size_t left_to, right_to;
} row_chunk;

furrow_status fw_node_rows_init(fw_node_rows *rows, const fw_binned *binned, fw_spin_pool *pool, furrow_error *err) {
  *rows = (fw_node_rows){.binned = binned, .pool = pool};
  FW_TRY(FW_ALLOC(&rows->all, binned->rows, err));
  for (size_t i = 0; i < 2; i++) FW_TRY(FW_ALLOC(&rows->order[i], binned->rows, err));
  if (binned->column_row) FW_TRY(FW_ALLOC_ZERO(&rows->bits, SETS * fw_bit_words(binned->rows), err));
  for (size_t i = 0; i < binned->rows; i++) rows->all[i] = (uint32_t)i;
  rows->row = rows->all;
  return FURROW_OK;
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

/* As a byte, FW_NO_BIN + 1 is 0: after 1 is added to all bins, rows without the feature have the smallest. */
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

/* The first entry from `at` on whose row is not below `row`, by galloping search: steps that double, then halve. */
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

/* Sets a bit for each row of the chunk that goes left; returns their number. */
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

/* Some splits, with a set for each that wants one. Rows are moved to the other order, or scored. */
typedef struct split_job {
  fw_node_rows *rows;
  fw_row_split *splits;
  size_t count, set_count;
  const uint64_t *bits[MOST_SPLITS];  /* bits of each split; NULL: it has no set */
  const fw_row_split *with_set[SETS]; /* those that have one */
  bool clear;                         /* sets are cleared, not filled */
  uint32_t *to;
  double *score;
} split_job;

/* As many splits as there are sets for. */
static void take_splits(split_job *job, size_t count) {
  const fw_node_rows *rows = job->rows;
  job->count = job->set_count = 0;
  for (; job->count < count && job->count < MOST_SPLITS; job->count++) {
    const bool set = wants_set(rows->binned, &job->splits[job->count]);
    if (set && job->set_count == SETS) break;
    job->bits[job->count] = set ? rows->bits + job->set_count * fw_bit_words(rows->binned->rows) : NULL;
    if (set) job->with_set[job->set_count++] = &job->splits[job->count];
  }
}

static void fill_set(void *context, size_t i) {
  const split_job *job = context;
  const fw_binned *b = job->rows->binned;
  const fw_row_split *split = job->with_set[i];
  uint64_t *bits = job->rows->bits + i * fw_bit_words(b->rows);
  for (size_t at = fw_column_begin(b, split->feature); at < fw_column_end(b, split->feature); at++) {
    const uint32_t row = b->column_row[at];
    if (job->clear)
      bits[row / 64] = 0;
    else if (entry_left(b, split, at) != split->absent_left)
      bits[row / 64] |= UINT64_C(1) << row % 64;
  }
}

/* ---- Moving rows ---------------------------------------------------------------------------------------- */

static size_t chunks_of(size_t begin, size_t end) {
  return (end - begin + CHUNK - 1) / CHUNK;
}

static row_chunk chunk_of(fw_row_split *split, const uint64_t *bits, size_t i) {
  const size_t begin = split->begin + i * CHUNK, end = split->end - begin < CHUNK ? split->end : begin + CHUNK;
  return (row_chunk){.split = split, .bits = bits, .begin = begin, .end = end};
}

static void ask_chunk(void *context, size_t i) {
  const fw_node_rows *rows = ((const split_job *)context)->rows;
  rows->chunks[i].lefts = find_sides(rows, &rows->chunks[i], rows->sides + i * CHUNK_WORDS);
}

static void move_chunk(void *context, size_t i) {
  const split_job *job = context;
  const row_chunk *chunk = &job->rows->chunks[i];
  const size_t n = chunk->end - chunk->begin;
  uint32_t lefts[CHUNK], rights[CHUNK];
  fw_trees_table()->sort(job->rows->row + chunk->begin, job->rows->sides + i * CHUNK_WORDS, n, lefts, rights);
  memcpy(job->to + chunk->left_to, lefts, chunk->lefts * sizeof *lefts);
  memcpy(job->to + chunk->right_to, rights, (n - chunk->lefts) * sizeof *rights);
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

static furrow_status move_rows(split_job *job, furrow_error *err) {
  fw_node_rows *rows = job->rows;
  size_t count = 0, chunks = 0;
  for (size_t i = 0; i < job->count; i++) chunks += chunks_of(job->splits[i].begin, job->splits[i].end);
  FW_TRY(FW_GROW(&rows->chunks, &rows->chunk_capacity, chunks, err));
  FW_TRY(FW_GROW(&rows->sides, &rows->side_capacity, chunks * CHUNK_WORDS, err));
  for (size_t i = 0; i < job->count; i++) {
    fw_row_split *split = &job->splits[i];
    split->middle = split->begin;
    for (size_t k = 0; k < chunks_of(split->begin, split->end); k++)
      rows->chunks[count++] = chunk_of(split, job->bits[i], k);
  }
  fw_spin_pool_run(rows->pool, chunks, ask_chunk, job);
  place_chunks(rows, chunks);
  fw_spin_pool_run(rows->pool, chunks, move_chunk, job);
  return FURROW_OK;
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void score_chunk(const split_job *job, const row_chunk *chunk) {
  const uint32_t *row = job->rows->row + chunk->begin;
  const double add[2] = {chunk->split->right, chunk->split->left};
  double *score = job->score;
  uint64_t left[CHUNK_WORDS];
  find_sides(job->rows, chunk, left);
  for (size_t k = 0; k < chunk->end - chunk->begin; k++) score[row[k]] += add[left[k / 64] >> k % 64 & 1];
}

/* The rows of all splits whose numbers are in range i. */
static void score_range(void *context, size_t i) {
  const split_job *job = context;
  const uint32_t *row = job->rows->row;
  for (size_t s = 0; s < job->count; s++) {
    fw_row_split split = job->splits[s];
    split.begin = first_row(row, split.begin, split.end, i * SCORED);
    split.end = first_row(row, split.begin, split.end, (i + 1) * SCORED);
    for (size_t k = 0; k < chunks_of(split.begin, split.end); k++) {
      const row_chunk chunk = chunk_of(&split, job->bits[s], k);
      score_chunk(job, &chunk);
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

void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score) {
  if (!score) return;
  adder a = {rows->row, begin, end, value, score};
  fw_spin_pool_run(rows->pool, (end - begin + SCORED - 1) / SCORED, add_range, &a);
}

/* ---- Splits --------------------------------------------------------------------------------------------- */

/* to NULL: rows are scored, else they are moved. */
static furrow_status run_splits(fw_node_rows *rows, fw_row_split *splits, size_t count, uint32_t *to, double *score,
                                furrow_error *err) {
  furrow_status status = FURROW_OK;
  split_job job = {.rows = rows, .to = to, .score = score};
  for (size_t at = 0; status == FURROW_OK && at < count; at += job.count) {
    job.splits = splits + at;
    job.clear = false;
    take_splits(&job, count - at);
    fw_spin_pool_run(rows->pool, job.set_count, fill_set, &job);
    if (to)
      status = move_rows(&job, err);
    else
      fw_spin_pool_run(rows->pool, (rows->binned->rows + SCORED - 1) / SCORED, score_range, &job);
    job.clear = true;
    fw_spin_pool_run(rows->pool, job.set_count, fill_set, &job);
  }
  return status;
}

furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, bool keep, furrow_error *err) {
  uint32_t *from = rows->order[rows->row == rows->order[1]], *to = rows->order[rows->row == rows->order[0]];
  FW_TRY(run_splits(rows, splits, count, to, NULL, err));
  if (!keep || rows->row == rows->all) {
    rows->row = to;
    return FURROW_OK;
  }
  for (size_t i = 0; i < count; i++)
    memcpy(from + splits[i].begin, to + splits[i].begin, (splits[i].end - splits[i].begin) * sizeof *to);
  return FURROW_OK;
}

void fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score) {
  if (!score) return;
  (void)run_splits(rows, splits, count, NULL, score, NULL); /* allocates nothing */
}

typedef struct row_counter {
  const fw_node_rows *rows;
  fw_row_split split;
  atomic_size_t lefts;
} row_counter;

static void count_chunk(void *context, size_t i) {
  row_counter *c = context;
  const row_chunk chunk = chunk_of(&c->split, NULL, i);
  uint64_t left[CHUNK_WORDS];
  atomic_fetch_add(&c->lefts, find_sides(c->rows, &chunk, left));
}

size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split) {
  row_counter c = {.rows = rows, .split = *split};
  fw_spin_pool_run(rows->pool, chunks_of(split->begin, split->end), count_chunk, &c);
  return c.lefts;
}

/* ---- Rows through a tree that is grown already, by their bins ------------------------------------------- */

/* The split of node `at` of a forest. */
static void fill_split(const fw_node_rows *rows, const fw_forest *forest, size_t at, fw_row_split *split) {
  const fw_cuts *cuts = rows->binned->cuts;
  split->feature = fw_cuts_find(cuts, (uint64_t)forest->feature[at]);
  if (split->feature != FW_NO_FEATURE) split->last_left = fw_cuts_last_left(cuts, split->feature, forest->value[at]);
  split->absent_left = fw_forest_absent_left(forest, at);
}

/* The children that have rows; returns how many. */
static size_t list_children(const fw_row_split *splits, size_t count, fw_row_split *children) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    const fw_row_split *of = &splits[i];
    if (of->begin < of->middle)
      children[n++] = (fw_row_split){.begin = of->begin, .end = of->middle, .node = 2 * of->node + 1};
    if (of->middle < of->end)
      children[n++] = (fw_row_split){.begin = of->middle, .end = of->end, .node = 2 * of->node + 2};
  }
  return n;
}

furrow_status fw_node_rows_visit_leaves(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                        size_t tree, fw_leaf_visitor *visit, void *user, furrow_error *err) {
  const size_t first = tree * forest->nodes, last = (forest->nodes + 1) / 2; /* nodes of the last level */
  const size_t most = last < end - begin ? last : end - begin;               /* all that are kept have rows */
  fw_row_split *level = NULL, *next = NULL;
  furrow_status status = FW_ALLOC(&level, most, err);
  if (status == FURROW_OK) status = FW_ALLOC(&next, most, err);
  size_t count = status == FURROW_OK && begin < end;
  if (count) next[0] = (fw_row_split){.begin = begin, .end = end};
  while (status == FURROW_OK && count > 0) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) { /* rows in leaves are visited, inner nodes get their splits */
      const size_t at = first + next[i].node;
      level[kept] = next[i];
      if (forest->feature[at] < 0)
        visit(user, next[i].node, next[i].begin, next[i].end);
      else
        fill_split(rows, forest, at, &level[kept++]);
    }
    status = fw_node_rows_split(rows, level, kept, false, err);
    count = list_children(level, kept, next);
  }
  fw_free(level);
  fw_free(next);
  return status;
}

/* What rows in leaves are given. */
typedef struct leaf_scores {
  const fw_node_rows *rows;
  const double *predict; /* of the nodes of the tree */
  double rate, *score;
} leaf_scores;

static void score_leaf(void *user, size_t node, size_t begin, size_t end) {
  const leaf_scores *s = user;
  fw_node_rows_add(s->rows, begin, end, s->rate * s->predict[node], s->score);
}

furrow_status fw_node_rows_apply_tree(fw_node_rows *rows, size_t begin, size_t end, const fw_forest *forest,
                                      size_t tree, double rate, double *score, furrow_error *err) {
  leaf_scores scores = {rows, forest->predict + tree * forest->nodes, rate, score};
  return fw_node_rows_visit_leaves(rows, begin, end, forest, tree, score_leaf, &scores, err);
}
