/* model/meta/plan.c: plans the partitions and files of a matrix as Angel lays them out. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "base/params.h"
#include "base/utf8.h"
#include "model/format/matrix_format.h"
#include "model/meta/meta.h"

#define RANGE_START "feature.index.range.start"
#define RANGE_END "feature.index.range.end"

/* ---- Interpretation of the specification ---- */

typedef struct plan {
  const furrow_matrix_spec *spec;
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *row_type;
  bool by_column;
  int64_t first_col, end_col, col; /* the index range, and the value of `col` in the metadata */
  int32_t block_rows, hash_parts;
  int64_t block_cols;
  uint64_t row_blocks, col_blocks;
  /* saved rows unless all rows are saved: block, position in the list, row; sorted by block, then in the order of
   * saving */
  fw_meta_positions saved;
  fw_meta_owner *owner;
  furrow_error *err;
} plan;

static furrow_status refuse_spec(plan *p, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static furrow_status refuse_spec(plan *p, const char *field, const char *format, ...) {
  char message[160];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return fw_fail(p->err, FURROW_E_ARGUMENT, "%s %s", field, message);
}

static furrow_status check_numbers(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  if (!s->name || !s->name[0]) return refuse_spec(p, "name", "must be set");
  if (fw_utf8_check(s->name, s->name + strlen(s->name))) return refuse_spec(p, "name", "is not UTF-8");
  if (strchr(s->name, '/') || strcmp(s->name, ".") == 0 || strcmp(s->name, "..") == 0)
    return refuse_spec(p, "name", "is not a name for a folder");
  if (s->rows <= 0) return refuse_spec(p, "rows", "must be set, to 1 at least");
  if (s->cols == 0 || s->cols < -1) return refuse_spec(p, "cols", "must be set, to 1 at least");
  if (s->hash_parts < -1) return refuse_spec(p, "hash_parts", "is negative");
  if (s->hash_parts == 0 && s->cols < 0) return refuse_spec(p, "cols", "must be set: range partitions need a limit");
  if (s->block_rows < 0) return refuse_spec(p, "block_rows", "is negative");
  if (s->block_cols < 0) return refuse_spec(p, "block_cols", "is negative");
  if (s->part_size <= 0) return refuse_spec(p, "part_size", "must be positive");
  if (s->max_parts <= 0) return refuse_spec(p, "max_parts", "must be positive");
  if (s->servers <= 0) return refuse_spec(p, "servers", "must be positive");
  if (s->parts_per_file <= 0) return refuse_spec(p, "parts_per_file", "must be positive");
  return FURROW_OK;
}

static furrow_status check_types(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  FW_TRY(furrow_matrix_format_find(s->format, &p->format, p->err));
  if (p->format == &fw_angel1) return refuse_spec(p, "format", "%s is only read", p->format->name);
  p->row_type = furrow_matrix_row_type_get(s->row_type);
  if (!p->row_type)
    return refuse_spec(p, "row_type", "%d is not one of 0 … %d", s->row_type, FURROW_MATRIX_ROW_TYPES - 1);
  if (p->row_type->objects) return refuse_spec(p, "row_type", "%s has elements that are objects", p->row_type->name);
  if (s->hash_parts != 0 && p->row_type->dense)
    return refuse_spec(p, "row_type", "%s is dense, which cannot be used with hash partitions", p->row_type->name);
  p->by_column = p->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  return FURROW_OK;
}

/* Without a limit Angel uses every possible key; `col` is then their number, or -1 if that does not fit. */
static furrow_status set_index_range(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  const bool narrow = p->row_type->key_bits == 32;
  if (s->cols < 0) {
    p->first_col = narrow ? INT32_MIN : INT64_MIN;
    p->end_col = narrow ? INT32_MAX : INT64_MAX;
    p->col = narrow ? p->end_col - p->first_col : -1;
    return FURROW_OK;
  }
  p->first_col = s->first_col;
  p->col = s->cols;
  if (__builtin_add_overflow(s->first_col, s->cols, &p->end_col)) return refuse_spec(p, "cols", "leads beyond 64 bits");
  if (narrow && (p->first_col < INT32_MIN || p->end_col > (int64_t)INT32_MAX + 1))
    return refuse_spec(p, "cols", "leads beyond the 32 bits of a key of %s", p->row_type->name);
  return FURROW_OK;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Converts a double to a long like Java: larger values become the largest long. */
static int64_t to_java_long(double value) {
  return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

/* Angel's default, in its arithmetic: doubles that are truncated to integers. */
static int64_t default_block_cols(const plan *p) {
  const furrow_matrix_spec *s = p->spec;
  const double range = (double)s->cols;
  const int64_t per_server = larger(100, to_java_long(range / s->servers));
  const int64_t per_part =
      larger(s->part_size / p->block_rows, to_java_long(s->rows * (range / s->max_parts / p->block_rows)));
  return larger(1, per_server < per_part ? per_server : per_part);
}

static void set_blocks(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  p->row_blocks = 1;
  if (s->hash_parts != 0) {
    p->block_rows = s->rows;
    p->col_blocks = s->hash_parts > 0 ? (uint64_t)s->hash_parts : (uint64_t)s->servers * 5;
    return;
  }
  p->block_rows = s->block_rows ? s->block_rows : s->rows;
  p->block_cols = s->block_cols ? s->block_cols : default_block_cols(p);
  p->row_blocks = ((uint64_t)s->rows + (uint64_t)p->block_rows - 1) / (uint64_t)p->block_rows;
  p->col_blocks = (uint64_t)s->cols / (uint64_t)p->block_cols + (s->cols % p->block_cols != 0);
}

/* Row formats save rows in the order of the list, column formats in ascending order. */
static furrow_status sort_saved_rows(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  furrow_status status = FURROW_OK;
  if (!s->saved_rows) return FURROW_OK;
  for (size_t i = 0; i < s->saved_row_count && status == FURROW_OK; i++) {
    const int32_t row = s->saved_rows[i];
    if (row < 0 || row >= s->rows)
      return refuse_spec(p, "saved_rows", "has row %d, which is not one of %d", row, s->rows);
    status = fw_meta_positions_add(&p->saved, (uint32_t)row, (uint32_t)row, p->err);
  }
  if (status != FURROW_OK) return status;
  if (p->saved.count == 0) return refuse_spec(p, "saved_rows", "is empty");
  const fw_meta_position *twice = fw_meta_positions_duplicate(&p->saved);
  if (twice) return refuse_spec(p, "saved_rows", "has row %d twice", (int)twice->at);
  for (size_t i = 0; i < p->saved.count; i++) {
    fw_meta_position *place = &p->saved.items[i];
    place->key = place->at / (uint64_t)p->block_rows;
    if (p->by_column) place->index = i; /* ascends with the row */
  }
  fw_meta_positions_sort(&p->saved);
  return FURROW_OK;
}

/* Names the parameter that causes the large number of partitions. */
static const char *parameter_of_parts(const furrow_matrix_spec *s) {
  if (s->hash_parts) return "hash_parts";
  return s->block_cols ? "block_cols" : s->block_rows ? "block_rows" : "cols";
}

/* A partition takes at least 160 bytes of JSON, and each of its rows 50; a metadata file holds at most 2^31 bytes. */
static furrow_status check_size(plan *p) {
  const uint64_t saved = p->spec->saved_rows ? p->saved.count : (uint64_t)p->spec->rows;
  uint64_t blocks = p->row_blocks, parts, rows;
  if (p->spec->saved_rows && saved < blocks) blocks = saved;
  if (__builtin_mul_overflow(blocks, p->col_blocks, &parts) || parts > INT32_MAX / 160 ||
      p->row_blocks > INT32_MAX / p->col_blocks)
    return refuse_spec(p, parameter_of_parts(p->spec), "makes more partitions than metadata can have");
  if (__builtin_mul_overflow(saved, p->col_blocks, &rows) || rows * 50 + parts * 160 > INT32_MAX)
    return refuse_spec(p, "rows", "in %llu partitions are more than metadata can have", (unsigned long long)parts);
  return FURROW_OK;
}

/* ---- Metadata ---- */

static size_t text_needed(const furrow_matrix_spec *s, const furrow_matrix_format *format) {
  size_t bytes = strlen(s->name) + strlen(format->class_name) + sizeof RANGE_START + sizeof RANGE_END;
  for (size_t i = 0; i < s->option_count; i++) bytes += strlen(s->options[i].key) + strlen(s->options[i].value) + 2;
  return bytes + 2 + 2 * FW_NUMBER_TEXT + 2;
}

static furrow_status add_option(plan *p, const char *key, const char *value, size_t value_size) {
  furrow_matrix_option option;
  option.key = fw_meta_text(p->owner, key, strlen(key));
  option.value = fw_meta_text(p->owner, value, value_size);
  return fw_meta_add_option(p->owner, option, p->err);
}

static bool is_text(const char *text) {
  return text && !fw_utf8_check(text, text + strlen(text));
}

/* The attributes, then the index range. */
static furrow_status check_options(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  fw_meta_positions keys = {0};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < s->option_count && status == FURROW_OK; i++) {
    if (!is_text(s->options[i].key) || !is_text(s->options[i].value))
      status = refuse_spec(p, "options", "has an entry that is not UTF-8, or NULL");
    else
      status = fw_meta_positions_add(&keys, fw_meta_hash(s->options[i].key, strlen(s->options[i].key)), 0, p->err);
  }
  if (status == FURROW_OK && fw_meta_positions_duplicate(&keys)) status = refuse_spec(p, "options", "has a key twice");
  fw_meta_positions_clear(&keys);
  return status;
}

static furrow_status add_options(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  char number[FW_NUMBER_TEXT];
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < s->option_count && status == FURROW_OK; i++) {
    const furrow_matrix_option *option = &s->options[i];
    if (strcmp(option->key, RANGE_START) == 0 || strcmp(option->key, RANGE_END) == 0) continue;
    status = add_option(p, option->key, option->value, strlen(option->value));
  }
  if (status == FURROW_OK) status = add_option(p, RANGE_START, number, fw_write_i64(number, p->first_col));
  if (status == FURROW_OK) status = add_option(p, RANGE_END, number, fw_write_i64(number, p->end_col));
  return status;
}

/* The rows of a block are saved.items first … end-1, or all rows from first to end-1. */
typedef struct row_block {
  int32_t start, end;
  size_t first, count;
} row_block;

static furrow_status add_rows(plan *p, const row_block *block) {
  furrow_matrix_row_meta row = {.offset = p->by_column ? -1 : 0};
  furrow_status status = FURROW_OK;
  if (p->format == &fw_snapshot) row.save_type = !p->row_type->dense;
  for (size_t i = 0; i < block->count && status == FURROW_OK; i++) {
    row.row_id = p->spec->saved_rows ? (int32_t)p->saved.items[block->first + i].at : block->start + (int32_t)i;
    status = fw_meta_add_row(p->owner, &row, p->err);
  }
  return status;
}

/* Adds the partitions of a block of rows; `number` is the block's number. */
static furrow_status add_parts(plan *p, uint64_t number, const row_block *block) {
  furrow_status status = FURROW_OK;
  for (uint64_t c = 0; c < p->col_blocks && status == FURROW_OK; c++) {
    furrow_partition_meta part = {
        .part_id = (int32_t)(number * p->col_blocks + c), .start_row = block->start, .end_row = block->end};
    if (p->spec->hash_parts == 0) {
      part.start_col = p->first_col + (int64_t)(c * (uint64_t)p->block_cols);
      part.end_col = p->block_cols > p->end_col - part.start_col ? p->end_col : part.start_col + p->block_cols;
    }
    part.row_count = block->count;
    if (p->by_column)
      part.save_col_elem_num = (int32_t)block->count;
    else
      part.save_row_num = (int32_t)block->count;
    status = add_rows(p, block);
    if (status == FURROW_OK) status = fw_meta_add_part(p->owner, &part, p->err);
  }
  return status;
}

/* Only blocks with saved rows have partitions, but the other blocks count in the partition ids. */
static furrow_status add_blocks(plan *p) {
  furrow_status status = FURROW_OK;
  const int32_t rows = p->spec->rows;
  size_t next = 0;
  for (uint64_t b = 0; b < p->row_blocks && status == FURROW_OK; b++) {
    if (p->spec->saved_rows && next == p->saved.count) break;
    if (p->spec->saved_rows) b = p->saved.items[next].key;
    row_block block = {.start = (int32_t)(b * (uint64_t)p->block_rows), .first = next};
    block.end = p->block_rows > rows - block.start ? rows : block.start + p->block_rows;
    if (p->spec->saved_rows)
      while (next < p->saved.count && p->saved.items[next].key == b) next++;
    block.count = p->spec->saved_rows ? next - block.first : (size_t)(block.end - block.start);
    status = add_parts(p, b, &block);
  }
  return status;
}

static furrow_status fill_plan(plan *p) {
  const furrow_matrix_spec *s = p->spec;
  furrow_matrix_meta *meta = &p->owner->meta;
  meta->matrix_id = s->matrix_id;
  meta->matrix_name = fw_meta_text(p->owner, s->name, strlen(s->name));
  meta->format_class_name = fw_meta_text(p->owner, p->format->class_name, strlen(p->format->class_name));
  meta->row_type = s->row_type;
  meta->row = s->rows;
  meta->col = p->col;
  meta->block_row = s->hash_parts ? -1 : p->block_rows;
  meta->block_col = s->hash_parts ? -1 : p->block_cols;
  meta->origin = FURROW_META_JSON;
  furrow_status status = add_options(p);
  if (status == FURROW_OK) status = add_blocks(p);
  if (status != FURROW_OK) return status;
  fw_meta_finish(p->owner);
  return furrow_matrix_plan_files(meta, s->servers, s->parts_per_file, p->err);
}

static furrow_status understand(plan *p) {
  furrow_status status = check_numbers(p);
  if (status == FURROW_OK) status = check_types(p);
  if (status == FURROW_OK) status = set_index_range(p);
  if (status != FURROW_OK) return status;
  set_blocks(p);
  status = sort_saved_rows(p);
  if (status == FURROW_OK) status = check_size(p);
  return status == FURROW_OK ? check_options(p) : status;
}

furrow_status furrow_matrix_plan(furrow_matrix_meta **meta, const furrow_matrix_spec *given, furrow_error *err) {
  furrow_matrix_spec spec;
  furrow_matrix_spec_init(&spec);
  FW_TRY(FW_PARAMS_READ(&spec, given, furrow_matrix_spec, err));
  if (!spec.format) spec.format = FW_DEFAULT_FORMAT;
  if (spec.row_type == -1) spec.row_type = FW_DEFAULT_ROW_TYPE;
  plan p = {.spec = &spec, .err = err};
  furrow_status status = understand(&p);
  if (status == FURROW_OK) status = fw_meta_create(&p.owner, text_needed(&spec, p.format), err);
  if (status == FURROW_OK) status = fill_plan(&p);
  if (status == FURROW_OK)
    *meta = &p.owner->meta;
  else if (p.owner)
    furrow_matrix_meta_free(&p.owner->meta);
  fw_meta_positions_clear(&p.saved);
  return status;
}

/* ---- Files ---- */

#define NAME_CAPACITY 12 /* for a partition id and a 0 */

/* A server's partitions positions[start … end-1] share a file if there are few; otherwise each half is treated the same
 * way. A file is named after its first partition. */
static void name_files(furrow_matrix_meta *meta, const fw_meta_position *positions, size_t start, size_t end,
                       size_t most, char *names) {
  if (end - start > most) {
    const size_t middle = start + (end - start) / 2;
    name_files(meta, positions, start, middle, most, names);
    name_files(meta, positions, middle, end, most, names);
    return;
  }
  char text[FW_NUMBER_TEXT];
  char *name = names + positions[start].index * NAME_CAPACITY;
  const size_t length = fw_write_i64(text, meta->parts[positions[start].index].part_id);
  memcpy(name, text, length);
  name[length] = 0;
  for (size_t i = start; i < end; i++) meta->parts[positions[i].index].file_name = name;
}

static void name_all_files(furrow_matrix_meta *meta, const fw_meta_positions *positions, size_t most, char *names) {
  for (size_t start = 0, end = 0; start < positions->count; start = end) {
    while (end < positions->count && positions->items[end].key == positions->items[start].key) end++;
    name_files(meta, positions->items, start, end, most, names);
  }
}

furrow_status furrow_matrix_plan_files(furrow_matrix_meta *meta, int32_t servers, int32_t parts_per_file,
                                       furrow_error *err) {
  if (servers <= 0) return fw_fail(err, FURROW_E_ARGUMENT, "servers must be positive");
  if (parts_per_file <= 0) return fw_fail(err, FURROW_E_ARGUMENT, "parts_per_file must be positive");
  const bool snapshot = meta->format_class_name && strcmp(meta->format_class_name, fw_snapshot.class_name) == 0;
  fw_meta_owner *owner = meta->memory;
  fw_meta_positions positions = {0}; /* sorted by server */
  void *names = NULL;
  furrow_status status = fw_alloc(&names, meta->part_count, NAME_CAPACITY, err);
  for (size_t i = 0; i < meta->part_count && status == FURROW_OK; i++)
    status = fw_meta_positions_add(&positions, (uint64_t)(meta->parts[i].part_id % servers), 0, err);
  if (status == FURROW_OK) {
    fw_meta_positions_sort(&positions);
    /* Angel writes each partition of a checkpoint to a separate file */
    name_all_files(meta, &positions, snapshot ? 1 : (size_t)parts_per_file, names);
    fw_free(owner->names);
    owner->names = names;
    names = NULL;
  }
  fw_meta_positions_clear(&positions);
  fw_free(names);
  return status;
}

/* As in Angel's router: h = |(int) col|, where the smallest int stays negative; h ^= h >>> 16; the sign bit is dropped;
 * the rest modulo the count. */
int32_t furrow_matrix_hash_partition(int64_t col, int32_t parts) {
  const uint32_t key = (uint32_t)col;
  uint32_t hash = key >> 31 ? 0 - key : key;
  hash ^= hash >> 16;
  return parts > 0 ? (int32_t)((hash & INT32_MAX) % (uint32_t)parts) : 0;
}
