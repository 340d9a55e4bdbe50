/* rows/block/memory_rows.c: rows in the caller's own arrays, named memory://… */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "io/file_system.h"
#include "io/uri.h"
#include "rows/block/block_reader.h"
#include "rows/block/elements.h"

static const char kind[] = "rows";

/* The rows under one name. */
typedef struct memory_rows {
  size_t rows;
  furrow_rowblock block; /* sparse: all rows */
  bool dense;
  furrow_dense_rows table; /* dense: with row_stride set */
  bool borrowed;           /* its values can be used in a block without a copy */
  void (*release)(void *user);
  void *user;
} memory_rows;

/* ---- Names ---------------------------------------------------------------------------------------------- */

static void release_rows(void *context) {
  memory_rows *rows = context;
  if (rows->release) rows->release(rows->user);
  fw_free(rows);
}

static furrow_status add_rows(const char *path, const memory_rows *made, furrow_error *err) {
  memory_rows *rows;
  FW_TRY(FW_ALLOC(&rows, 1, err));
  *rows = *made;
  const furrow_status status = fw_memory_add(path, kind, rows, 0, release_rows, rows, err);
  if (status != FURROW_OK) fw_free(rows);
  return status;
}

furrow_status furrow_memory_rows_add(const char *path, const furrow_rowblock *block, void (*release)(void *user),
                                     void *user, furrow_error *err) {
  if (!block) return fw_fail(err, FURROW_E_ARGUMENT, "the block is NULL");
  FW_TRY(fw_block_check(block, err));
  const memory_rows made = {.rows = block->size, .block = *block, .release = release, .user = user};
  return add_rows(path, &made, err);
}

static bool has_nan(const furrow_dense_rows *table) {
  bool found = false;
  for (size_t i = 0; i < table->rows && !found; i++) {
    const size_t at = i * table->row_stride;
    const float *f32 = (const float *)table->values + at;
    for (size_t k = 0; k < table->columns; k++) found |= isnan(f32[k]);
  }
  return found;
}

static furrow_status check_table(furrow_dense_rows *table, furrow_error *err) {
  size_t last, bytes;
  if (table->type != FURROW_DENSE_F32 && table->type != FURROW_DENSE_F64)
    return fw_fail(err, FURROW_E_ARGUMENT, "the type of the table is neither f32 nor f64");
  if (table->row_stride == 0) table->row_stride = table->columns;
  if (table->row_stride < table->columns)
    return fw_fail(err, FURROW_E_ARGUMENT, "row_stride %zu is less than the %zu columns", table->row_stride,
                   table->columns);
  if (!fw_size_mul(table->rows, table->row_stride, &last) || !fw_size_mul(last, sizeof(double), &bytes))
    return fw_fail(err, FURROW_E_ARGUMENT, "the table is larger than memory can be");
  if (table->rows > 0 && table->columns > 0 && !table->values)
    return fw_fail(err, FURROW_E_ARGUMENT, "the table has rows and no values");
  return FURROW_OK;
}

furrow_status furrow_memory_rows_add_dense(const char *path, const furrow_dense_rows *dense,
                                           void (*release)(void *user), void *user, furrow_error *err) {
  if (!dense) return fw_fail(err, FURROW_E_ARGUMENT, "the table is NULL");
  memory_rows made = {.dense = true, .release = release, .user = user};
  furrow_dense_rows *table = &made.table;
  furrow_dense_rows_init(table);
  FW_TRY(FW_PARAMS_READ(table, dense, furrow_dense_rows, err));
  FW_TRY(check_table(table, err));
  made.rows = table->rows;
  made.borrowed =
      table->type == FURROW_DENSE_F32 && table->row_stride == table->columns && !table->drop_zeros && !has_nan(table);
  return add_rows(path, &made, err);
}

furrow_status furrow_memory_rows_remove(const char *path, furrow_error *err) {
  return fw_memory_remove(path, kind, err);
}

furrow_status fw_memory_rows_named(char *const *paths, size_t npaths, bool *named, furrow_error *err) {
  size_t count = 0;
  for (size_t i = 0; i < npaths; i++) {
    fw_memory_entry *entry = NULL;
    FW_TRY(fw_memory_hold(paths[i], kind, &entry, err));
    count += entry != NULL;
    fw_memory_let_go(entry);
  }
  *named = count > 0;
  if (count == 0 || count == npaths) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "rows in memory and files are not read together");
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct reader {
  fw_memory_entry **entries;
  size_t nentries;
  size_t begin, end;     /* the rows of the part, counted over all entries */
  size_t next;           /* the next row to return, counted over all entries */
  size_t block_features; /* approximate number of features per block */
  furrow_key_type key_type;
  furrow_rowblock block;
  /* dense */
  uint64_t *offset;
  void *index;
  float *value;
  size_t row_capacity, feature_capacity, value_capacity;
  size_t pattern; /* index[] repeats 0 … pattern-1 over its whole capacity; 0: it does not */
} reader;

static const memory_rows *rows_of(const reader *r, size_t i) {
  return fw_memory_thing(r->entries[i]);
}

static void close_reader(void *context) {
  reader *r = context;
  for (size_t i = 0; i < r->nentries; i++) fw_memory_let_go(r->entries[i]);
  fw_free((void *)r->entries);
  fw_free(r->offset);
  fw_free(r->index);
  fw_free(r->value);
  fw_free(r);
}

static furrow_status hold_entries(reader *r, const furrow_rows_request *request, furrow_error *err) {
  size_t total = 0;
  FW_TRY(FW_ALLOC_ZERO(&r->entries, request->npaths, err));
  for (; r->nentries < request->npaths; r->nentries++) {
    FW_TRY(fw_memory_hold(request->paths[r->nentries], kind, &r->entries[r->nentries], err));
    if (!r->entries[r->nentries]) {
      fw_fail(err, FURROW_E_NOT_FOUND, "no rows of that name are in memory");
      fw_error_set_file(err, request->paths[r->nentries]);
      return FURROW_E_NOT_FOUND;
    }
    total += rows_of(r, r->nentries)->rows;
  }
  const size_t step = total / request->nparts, more = total % request->nparts, part = request->part;
  r->begin = part * step + (part < more ? part : more);
  r->end = r->begin + step + (part < more);
  r->next = r->begin;
  return FURROW_OK;
}

static furrow_status open_reader(const void *state, const furrow_rows_request *request, void **rows,
                                 furrow_error *err) {
  (void)state;
  reader *r;
  FW_TRY(FW_ALLOC_ZERO(&r, 1, err));
  r->key_type = request->key_type;
  r->block_features = request->chunk_bytes / 8 > 0 ? request->chunk_bytes / 8 : 1;
  const furrow_status status = hold_entries(r, request, err);
  return FW_HAND_OVER(status, rows, r, close_reader);
}

static furrow_status rewind_reader(void *rows, furrow_error *err) {
  reader *r = rows;
  (void)err;
  r->next = r->begin;
  return FURROW_OK;
}

/* ---- Sparse: slices ---- */

/* Returns the end of the block that begins with row `first`: the row after the one that fills it. */
static size_t slice_end(const furrow_rowblock *all, size_t first, size_t limit, size_t features) {
  const uint64_t full = all->offset[first] + features;
  const size_t most = limit - first < features ? limit : first + features; /* rows without features count as well */
  const size_t next = first + 1;
  return next + fw_lower_bound_u64(all->offset + next, most - next, sizeof *all->offset, full);
}

/* ---- Dense: the same indices for every row ---- */

static furrow_status reserve_dense(reader *r, size_t rows, size_t columns, furrow_error *err) {
  size_t features;
  if (!fw_size_mul(rows, columns, &features)) return fw_fail_memory(err, SIZE_MAX);
  furrow_status status = FW_GROW(&r->offset, &r->row_capacity, rows + 1, err);
  if (status != FURROW_OK) return status;
  const size_t before = r->feature_capacity;
  status = fw_grow(&r->index, &r->feature_capacity, features, furrow_key_size(r->key_type), err);
  if (r->feature_capacity != before) r->pattern = 0;
  return status;
}

/* Fills index[] with 0 … columns-1, repeated. */
static void set_pattern(reader *r, size_t columns) {
  if (r->pattern == columns) return;
  for (size_t i = 0, column = 0; i < r->feature_capacity; i++, column = column + 1 < columns ? column + 1 : 0)
    fw_store_index(r->key_type, r->index, i, column);
  r->pattern = columns;
}

static furrow_status borrow_dense(reader *r, const furrow_dense_rows *table, size_t first, size_t rows,
                                  furrow_error *err) {
  FW_TRY(reserve_dense(r, rows, table->columns, err));
  set_pattern(r, table->columns);
  for (size_t i = 0; i <= rows; i++) r->offset[i] = i * table->columns;
  r->block.value.f32 = (const float *)table->values + first * table->columns;
  return FURROW_OK;
}

static double value_at(const furrow_dense_rows *table, size_t at) {
  return table->type == FURROW_DENSE_F64 ? ((const double *)table->values)[at] : ((const float *)table->values)[at];
}

static furrow_status copy_dense(reader *r, const furrow_dense_rows *table, size_t first, size_t rows,
                                furrow_error *err) {
  FW_TRY(reserve_dense(r, rows, table->columns, err));
  const furrow_status status = FW_GROW(&r->value, &r->value_capacity, rows * table->columns, err);
  if (status != FURROW_OK) return status;
  r->pattern = 0;
  size_t used = 0;
  r->offset[0] = 0;
  for (size_t i = 0; i < rows; i++) {
    for (size_t k = 0; k < table->columns; k++) {
      const double value = value_at(table, (first + i) * table->row_stride + k);
      if (isnan(value) || (value == 0 && table->drop_zeros)) continue;
      r->value[used] = (float)value;
      if (isinf(r->value[used]) && isfinite(value))
        return fw_fail(err, FURROW_E_RANGE, "row %zu, column %zu: %.17g is too large for f32", first + i, k, value);
      fw_store_index(r->key_type, r->index, used++, k);
    }
    r->offset[i + 1] = used;
  }
  r->block.value.f32 = r->value;
  return FURROW_OK;
}

static furrow_status give_dense(reader *r, const memory_rows *from, size_t first, size_t rows, furrow_error *err) {
  const furrow_dense_rows *table = &from->table;
  if (r->key_type == FURROW_KEY_U32 && table->columns > 0 && table->columns - 1 > UINT32_MAX)
    return fw_fail(err, FURROW_E_RANGE, "column %zu does not fit in 32 bits", table->columns - 1);
  r->block = (furrow_rowblock){.size = rows, .key_type = r->key_type, .value_type = FURROW_VALUE_F32};
  FW_TRY(from->borrowed ? borrow_dense(r, table, first, rows, err) : copy_dense(r, table, first, rows, err));
  r->block.offset = r->offset;
  r->block.index.any = r->index;
  if (table->label) r->block.label.f32 = table->label + first;
  if (table->weight) r->block.weight = table->weight + first;
  if (table->qid) r->block.qid = table->qid + first;
  return FURROW_OK;
}

static size_t dense_rows(const reader *r, const furrow_dense_rows *table) {
  const size_t rows = table->columns > 0 ? r->block_features / table->columns : r->block_features;
  return rows > 0 ? rows : 1;
}

static furrow_status next_block(void *rows, const furrow_rowblock **block, furrow_error *err) {
  reader *r = rows;
  size_t before = 0, i = 0;
  if (r->next >= r->end) return FURROW_END;
  while (before + rows_of(r, i)->rows <= r->next) before += rows_of(r, i++)->rows;
  const memory_rows *from = rows_of(r, i);
  const size_t first = r->next - before;
  const size_t limit = r->end - before < from->rows ? r->end - before : from->rows;
  size_t end;
  if (from->dense) {
    const size_t most = dense_rows(r, &from->table);
    end = limit - first < most ? limit : first + most;
    FW_TRY(give_dense(r, from, first, end - first, err));
  } else {
    end = slice_end(&from->block, first, limit, r->block_features);
    FW_TRY(furrow_rowblock_slice(&from->block, first, end, &r->block, err));
  }
  r->next = before + end;
  *block = &r->block;
  return FURROW_OK;
}

bool fw_memory_rows_whole(const fw_block_reader *blocks, furrow_rowblock *block) {
  const reader *r = blocks->rows;
  if (blocks->format->next_rows != next_block) return false;
  if (r->nentries != 1 || rows_of(r, 0)->dense) return false;
  const furrow_rowblock *all = &rows_of(r, 0)->block;
  if (all->key_type != blocks->key_type || all->value_type != blocks->value_type || r->begin == r->end) return false;
  return furrow_rowblock_slice(all, r->begin, r->end, block, NULL) == FURROW_OK;
}

const furrow_rows_format fw_format_memory = {.size = sizeof(furrow_rows_format),
                                             .name = "memory",
                                             .description = "rows of the program's own arrays",
                                             .open_rows = open_reader,
                                             .next_rows = next_block,
                                             .rewind_rows = rewind_reader,
                                             .close_rows = close_reader};
