/* learn/forest/node_rows.c: rows of nodes, split by one question each.
 *
 * Ranges are cut into chunks. A chunk first finds out which of its rows go left, as bytes; then it sorts its rows by
 * that within its own place of the spare array, and when all chunks know their counts they copy to where rows belong.
 *
 * For a split by a sparse feature the rows that have it, and do not go where rows without it go, get a bit in a set.
 * Small nodes look for their rows in the feature's list in place of that. */
#include "learn/forest/node_rows.h"

#include <string.h>

#include "base/mem.h"
#include "kern/text/tokenizer.h"

enum { CHUNK = 1 << 12, SETS = 8 };

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
  furrow_status status = fw_alloc((void **)&rows->row, binned->rows, sizeof *rows->row, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&rows->spare, binned->rows, sizeof *rows->spare, err);
  if (status == FURROW_OK && binned->column_row)
    status = fw_alloc_zero((void **)&rows->bits, SETS * fw_bit_words(binned->rows), sizeof *rows->bits, err);
  for (size_t i = 0; status == FURROW_OK && i < binned->rows; i++) rows->row[i] = (uint32_t)i;
  return status;
}

void fw_node_rows_clear(fw_node_rows *rows) {
  fw_free(rows->row);
  fw_free(rows->spare);
  fw_free(rows->bits);
  fw_free(rows->chunks);
  memset(rows, 0, sizeof *rows);
}

size_t fw_node_rows_memory(const fw_node_rows *rows) {
  return rows->binned->rows * 2 * sizeof *rows->row + rows->chunk_capacity * sizeof *rows->chunks +
         (rows->bits ? SETS * fw_bit_words(rows->binned->rows) * sizeof *rows->bits : 0);
}

/* ---- Which rows go left --------------------------------------------------------------------------------- */

/* FW_NO_BIN + 1 is 0 as a byte: with 1 added to all, rows without the feature are the least. */
static void sides_by_bytes(const fw_binned *b, const fw_row_split *split, const uint32_t *row, size_t n,
                           uint8_t *left) {
  const uint8_t *column = b->column + split->feature * b->rows;
  const uint8_t add = split->absent_left, limit = (uint8_t)(split->last_left + add);
  for (size_t i = 0; i < n; i++) left[i] = (uint8_t)(column[row[i]] + add) <= limit;
}

static void sides_by_bits(const uint64_t *bits, bool absent_left, const uint32_t *row, size_t n, uint8_t *left) {
  const uint8_t flip = absent_left;
  for (size_t i = 0; i < n; i++) left[i] = (uint8_t)(bits[row[i] / 64] >> row[i] % 64 & 1) ^ flip;
}

/* Whether entry `at` of a sparse feature goes left. */
static bool entry_left(const fw_binned *b, const fw_row_split *split, size_t at) {
  return (b->column_bin ? b->column_bin[at] : 0) <= split->last_left;
}

/* The first entry from `at` on whose row is not below; in steps that double, then halve. */
static size_t entry_of(const uint32_t *entry, size_t at, size_t end, uint32_t row) {
  size_t step = 1;
  while (at + step < end && entry[at + step] < row) {
    at += step;
    step *= 2;
  }
  size_t high = at + step < end ? at + step : end;
  while (at < high) {
    const size_t middle = at + (high - at) / 2;
    if (entry[middle] < row)
      at = middle + 1;
    else
      high = middle;
  }
  return at;
}

static void sides_by_search(const fw_binned *b, const fw_row_split *split, const uint32_t *row, size_t n,
                            uint8_t *left) {
  size_t at = fw_column_begin(b, split->feature);
  const size_t end = fw_column_end(b, split->feature);
  for (size_t i = 0; i < n; i++) {
    at = entry_of(b->column_row, at, end, row[i]);
    const bool found = at < end && b->column_row[at] == row[i];
    left[i] = found ? entry_left(b, split, at) : split->absent_left;
  }
}

static void find_sides(const fw_node_rows *rows, const row_chunk *chunk, uint8_t *left) {
  const fw_row_split *split = chunk->split;
  const uint32_t *row = rows->row + chunk->begin;
  const size_t n = chunk->end - chunk->begin;
  if (split->feature == FW_NO_FEATURE) {
    memset(left, split->absent_left, n);
  } else if (split->feature < rows->binned->cuts->dense) {
    sides_by_bytes(rows->binned, split, row, n, left);
  } else if (chunk->bits) {
    sides_by_bits(chunk->bits, split->absent_left, row, n, left);
  } else {
    sides_by_search(rows->binned, split, row, n, left);
  }
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
  double *score;
} mover;

/* Left rows in front, right rows behind them, in the chunk's own place. */
static void sort_chunk(void *context, size_t i) {
  const mover *m = context;
  row_chunk *chunk = &m->rows->chunks[i];
  const uint32_t *row = m->rows->row + chunk->begin;
  const size_t n = chunk->end - chunk->begin;
  uint8_t left[CHUNK];
  uint32_t rights[CHUNK], *lefts = m->rows->spare + chunk->begin;
  size_t l = 0, r = 0;
  find_sides(m->rows, chunk, left);
  for (size_t k = 0; k < n; k++) {
    lefts[l] = row[k];
    rights[r] = row[k];
    l += left[k];
    r += !left[k];
  }
  memcpy(lefts + l, rights, r * sizeof *rights);
  chunk->lefts = l;
}

static void move_chunk(void *context, size_t i) {
  const mover *m = context;
  const row_chunk *chunk = &m->rows->chunks[i];
  const uint32_t *from = m->rows->spare + chunk->begin;
  const size_t rights = chunk->end - chunk->begin - chunk->lefts;
  memcpy(m->rows->row + chunk->left_to, from, chunk->lefts * sizeof *from);
  memcpy(m->rows->row + chunk->right_to, from + chunk->lefts, rights * sizeof *from);
}

static void score_chunk(void *context, size_t i) {
  const mover *m = context;
  const row_chunk *chunk = &m->rows->chunks[i];
  const uint32_t *row = m->rows->row + chunk->begin;
  const double add[2] = {chunk->split->right, chunk->split->left};
  uint8_t left[CHUNK];
  find_sides(m->rows, chunk, left);
  for (size_t k = 0; k < chunk->end - chunk->begin; k++) m->score[row[k]] += add[left[k]];
}

static furrow_status add_chunks(fw_node_rows *rows, fw_row_split *split, const uint64_t *bits, size_t *count,
                                furrow_error *err) {
  const size_t chunks = (split->end - split->begin + CHUNK - 1) / CHUNK;
  furrow_status status =
      fw_grow((void **)&rows->chunks, &rows->chunk_capacity, *count + chunks, sizeof *rows->chunks, err);
  if (status != FURROW_OK) return status;
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

static void run_chunks(fw_node_rows *rows, size_t count, double *score, fw_spin_pool *pool) {
  mover m = {rows, score};
  if (score) {
    fw_spin_pool_run(pool, count, score_chunk, &m);
    return;
  }
  fw_spin_pool_run(pool, count, sort_chunk, &m);
  place_chunks(rows, count);
  fw_spin_pool_run(pool, count, move_chunk, &m);
}

/* As many splits as there are sets for, from *at on. */
static furrow_status run_some(fw_node_rows *rows, fw_row_split *splits, size_t count, size_t *at, double *score,
                              fw_spin_pool *pool, furrow_error *err) {
  set_job sets = {.rows = rows};
  size_t set_count = 0, chunks = 0, i = *at;
  for (; i < count; i++) {
    const bool set = wants_set(rows->binned, &splits[i]);
    if (set && set_count == SETS) break;
    const uint64_t *bits = set ? rows->bits + set_count * fw_bit_words(rows->binned->rows) : NULL;
    if (set) sets.split[set_count++] = &splits[i];
    furrow_status status = add_chunks(rows, &splits[i], bits, &chunks, err);
    if (status != FURROW_OK) return status;
    splits[i].middle = splits[i].begin;
  }
  fw_spin_pool_run(pool, set_count, fill_set, &sets);
  run_chunks(rows, chunks, score, pool);
  sets.clear = true;
  fw_spin_pool_run(pool, set_count, fill_set, &sets);
  *at = i;
  return FURROW_OK;
}

furrow_status fw_node_rows_split(fw_node_rows *rows, fw_row_split *splits, size_t count, fw_spin_pool *pool,
                                 furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; status == FURROW_OK && at < count;) status = run_some(rows, splits, count, &at, NULL, pool, err);
  return status;
}

furrow_status fw_node_rows_score(fw_node_rows *rows, fw_row_split *splits, size_t count, double *score,
                                 fw_spin_pool *pool, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t at = 0; status == FURROW_OK && at < count;) status = run_some(rows, splits, count, &at, score, pool, err);
  return status;
}

size_t fw_node_rows_count(const fw_node_rows *rows, const fw_row_split *split) {
  fw_row_split copy = *split;
  uint8_t left[CHUNK];
  size_t lefts = 0;
  for (size_t begin = split->begin; begin < split->end; begin += CHUNK) {
    const size_t n = split->end - begin < CHUNK ? split->end - begin : CHUNK;
    find_sides(rows, &(row_chunk){.split = &copy, .begin = begin, .end = begin + n}, left);
    for (size_t i = 0; i < n; i++) lefts += left[i];
  }
  return lefts;
}

void fw_node_rows_add(const fw_node_rows *rows, size_t begin, size_t end, double value, double *score) {
  for (size_t i = begin; i < end; i++) score[rows->row[i]] += value;
}
