/* model/read/source.c: opens a matrix folder for reading, and checks metadata, format and files against each other. */
#include "model/read/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "furrow/io.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "model/format/format_text.h"
#include "model/meta/meta.h"

static furrow_status take_text(furrow_matrix_source *source, const char **copy, const char *text, furrow_error *err) {
  char *memory;
  const size_t size = strlen(text) + 1;
  FW_TRY(FW_ARENA_TAKE(&source->arena, &memory, size, err));
  *copy = memcpy(memory, text, size);
  return FURROW_OK;
}

static furrow_status take_path(furrow_matrix_source *source, const char **path, const char *name, furrow_error *err) {
  const size_t folder = strlen(source->folder), length = strlen(name);
  const bool slash = folder > 0 && source->folder[folder - 1] != '/';
  char *text;
  FW_TRY(FW_ARENA_TAKE(&source->arena, &text, folder + slash + length + 1, err));
  memcpy(text, source->folder, folder);
  if (slash) text[folder] = '/';
  memcpy(text + folder + slash, name, length + 1);
  *path = text;
  return FURROW_OK;
}

/* psmeta metadata is spread over one file per server: the error names the file if there is only one, otherwise the
 * folder. */
static void locate_in_servers(const furrow_matrix_source *source, furrow_error *err) {
  fw_dir_names names = {0};
  char *path = NULL;
  furrow_status status = fw_dir_names_read(&names, source->folder, fw_is_server_meta, NULL, NULL);
  if (status == FURROW_OK && names.count == 1) status = fw_path_join(&path, source->folder, names.names[0], NULL);
  fw_error_set_file(err, status == FURROW_OK && path ? path : source->folder);
  fw_free(path);
  fw_dir_names_clear(&names);
}

/* Adds the metadata file to an error whose message is already set. */
static furrow_status locate_in_meta(const furrow_matrix_source *source, furrow_status status, furrow_error *err) {
  if (source->meta->origin == FURROW_META_PSMETA && !fw_path_exists(source->meta_path))
    locate_in_servers(source, err);
  else
    fw_error_set_file(err, source->meta_path);
  return status;
}

/* ---- Metadata, format, row type ------------------------------------------------------------------------- */

static furrow_status find_meta_name(furrow_matrix_source *source, const char *asked, furrow_error *err) {
  static const char *const names[] = {"_meta", "meta"};
  furrow_status status = FURROW_OK;
  if (!asked && source->meta->origin == FURROW_META_PSMETA) asked = "psmeta";
  for (size_t i = 0; !asked && i < 2; i++) {
    const char *path;
    status = take_path(source, &path, names[i], err);
    if (status != FURROW_OK) return status;
    if (fw_path_exists(path)) asked = names[i];
  }
  status = take_text(source, &source->meta_name, asked ? asked : names[0], err);
  if (status == FURROW_OK) status = take_path(source, &source->meta_path, source->meta_name, err);
  return status;
}

furrow_status fw_fail_no_format(furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "the metadata does not name the format");
  fw_error_set_hint(err, "give the format and the row type");
  return FURROW_E_ARGUMENT;
}

static furrow_status choose_format(furrow_matrix_source *source, const char *asked, furrow_error *err) {
  const char *name = asked ? asked : source->meta->format_class_name;
  if (!name) {
    fw_fail_no_format(err);
    return locate_in_meta(source, FURROW_E_ARGUMENT, err);
  }
  furrow_status status = furrow_matrix_format_find(name, &source->format, err);
  if (status == FURROW_OK)
    source->meta->format_class_name = source->format->class_name;
  else if (!asked)
    locate_in_meta(source, status, err);
  return status;
}

static furrow_status choose_row_type(furrow_matrix_source *source, int32_t asked, furrow_error *err) {
  const int32_t number = asked != -1 ? asked : source->meta->row_type;
  if (number == -1) {
    fw_fail(err, FURROW_E_ARGUMENT, "the metadata does not name the row type");
    fw_error_set_hint(err, "give the row type");
    return locate_in_meta(source, FURROW_E_ARGUMENT, err);
  }
  source->type = furrow_matrix_row_type_get(number);
  if (!source->type && asked != -1) return fw_fail(err, FURROW_E_ARGUMENT, "%d is not a row type", (int)number);
  if (!source->type) {
    fw_fail(err, FURROW_E_FORMAT, "rowType %d is not a row type", (int)number);
    return locate_in_meta(source, FURROW_E_FORMAT, err);
  }
  if (source->type->objects) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "rowType is %s: rows of objects are not read", source->type->name);
    return locate_in_meta(source, FURROW_E_UNSUPPORTED, err);
  }
  source->meta->row_type = number;
  return FURROW_OK;
}

static furrow_status load_meta(furrow_matrix_source *source, const furrow_matrix_meta *meta,
                               const furrow_matrix_source_params *params, furrow_error *err) {
  furrow_status status = meta ? furrow_matrix_meta_copy(&source->meta, meta, err)
                              : furrow_matrix_meta_load(&source->meta, source->folder, params->meta_name, err);
  if (status == FURROW_OK) status = find_meta_name(source, params->meta_name, err);
  if (status == FURROW_OK) status = choose_format(source, params->format, err);
  if (status == FURROW_OK) status = choose_row_type(source, params->row_type, err);
  return status;
}

/* ---- Data files ----------------------------------------------------------------------------------------- */

static void note_stat(fw_source_file *file, const struct stat *info) {
  file->size = (uint64_t)info->st_size;
  file->inode = (uint64_t)info->st_ino;
  file->mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

static furrow_status look_at_file(furrow_matrix_source *source, const furrow_partition_meta *part, fw_source_file *file,
                                  furrow_error *err) {
  furrow_status status = take_path(source, &file->path, part->file_name, err);
  if (status != FURROW_OK) return status;
  struct stat info;
  furrow_error why;
  status = fw_path_stat(file->path, &info, &why);
  if (status != FURROW_OK) {
    status = fw_fail(err, status, "the file of partition %d cannot be looked at: %s", (int)part->part_id, why.message);
  } else if (!S_ISREG(info.st_mode)) {
    status = fw_fail(err, FURROW_E_FORMAT, "the file of partition %d is not a regular file", (int)part->part_id);
  } else {
    note_stat(file, &info);
  }
  if (status != FURROW_OK) fw_error_set_file(err, file->path);
  return status;
}

static int compare_files(const void *a, const void *b) {
  const fw_source_part *const *x = a, *const *y = b;
  const int order = strcmp((*x)->meta->file_name, (*y)->meta->file_name);
  return order ? order : (*x > *y) - (*x < *y);
}

/* Partitions sorted by file name, so that each file is checked once. */
static furrow_status find_files(furrow_matrix_source *source, fw_source_part **by_file, furrow_error *err) {
  const size_t count = source->meta->part_count;
  furrow_status status = FW_ARENA_TAKE(&source->arena, &source->files, count, err);
  if (status != FURROW_OK) return status;
  memset(source->files, 0, count * sizeof *source->files);
  for (size_t i = 0; i < count; i++) by_file[i] = &source->parts[i];
  qsort(by_file, count, sizeof *by_file, compare_files);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    const furrow_partition_meta *part = by_file[i]->meta;
    const bool known = i > 0 && strcmp(by_file[i - 1]->meta->file_name, part->file_name) == 0;
    if (!known) status = look_at_file(source, part, &source->files[source->file_count++], err);
    by_file[i]->file = &source->files[source->file_count - 1];
  }
  return status;
}

static furrow_status check_place(const furrow_matrix_source *source, const fw_source_part *part, furrow_error *err) {
  const furrow_partition_meta *meta = part->meta;
  const uint64_t size = part->file->size;
  const char *field = NULL;
  int64_t value = 0;
  if (meta->offset < 0 || (uint64_t)meta->offset > size) {
    field = "offset";
    value = meta->offset;
  } else if (meta->length < 0 || (uint64_t)meta->length > size - (uint64_t)meta->offset) {
    field = "length";
    value = meta->length;
  }
  if (!field) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "partMetas/%d/%s is %lld, but file %.100s has only %llu %s", (int)meta->part_id, field,
          (long long)value, meta->file_name, (unsigned long long)size, fw_plural(size, "byte", "bytes"));
  return locate_in_meta(source, FURROW_E_FORMAT, err);
}

static furrow_status check_files(furrow_matrix_source *source, furrow_error *err) {
  fw_source_part **by_file;
  furrow_status status = FW_ALLOC(&by_file, source->meta->part_count, err);
  if (status != FURROW_OK) return status;
  status = find_files(source, by_file, err);
  for (size_t i = 0; i < source->meta->part_count && status == FURROW_OK; i++) {
    status = check_place(source, &source->parts[i], err);
    uint64_t *claimed = &source->files[source->parts[i].file - source->files].claimed;
    if (__builtin_add_overflow(*claimed, (uint64_t)source->parts[i].meta->length, claimed)) *claimed = UINT64_MAX;
  }
  fw_free(by_file);
  return status;
}

/* ---- Rows and counts ------------------------------------------------------------------------------------ */

/* Sorts rows by id. The sort key is the id, made unsigned, in the upper bits and the row's position in the lower
 * bits. */
static furrow_status order_rows(const furrow_matrix_source *source, const furrow_partition_meta *meta, int32_t *ids,
                                uint32_t *by_id, uint64_t *keys, furrow_error *err) {
  bool ascending = true;
  for (size_t k = 0; k < meta->row_count; k++) {
    keys[k] = (uint64_t)((uint32_t)meta->rows[k].row_id ^ 0x80000000u) << 32 | k;
    ascending = ascending && (k == 0 || keys[k] > keys[k - 1]);
  }
  if (!ascending) fw_sort_u64(keys, meta->row_count);
  for (size_t k = 0; k < meta->row_count; k++) {
    by_id[k] = (uint32_t)keys[k];
    ids[k] = meta->rows[by_id[k]].row_id;
    if (k == 0 || ids[k] != ids[k - 1]) continue;
    fw_fail(err, FURROW_E_FORMAT, "partMetas/%d/rowMetas has row %d twice", (int)meta->part_id, (int)ids[k]);
    return locate_in_meta(source, FURROW_E_FORMAT, err);
  }
  return FURROW_OK;
}

/* ---- Rows in the order of a list ---- */

static int compare_ids(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static furrow_status fail_list(const fw_source_part *part, int32_t row, const char *what, furrow_error *err) {
  return fw_fail(err, FURROW_E_ARGUMENT, "row %d of partition %d %s the row order", (int)row, (int)part->meta->part_id,
                 what);
}

/* Fails with the first row of the partition that is not in the list. */
static furrow_status fail_missing(const fw_source_part *part, const bool *seen, furrow_error *err) {
  size_t k = 0;
  while (seen[k]) k++;
  return fail_list(part, part->row_ids[k], "is missing in", err);
}

static furrow_status list_rows(const fw_source_part *part, const furrow_matrix_source_params *params, uint32_t *listed,
                               bool *seen, furrow_error *err) {
  const size_t count = part->meta->row_count;
  size_t n = 0;
  for (size_t i = 0; i < params->row_count && count > 0; i++) {
    const int32_t *found = bsearch(&params->rows[i], part->row_ids, count, sizeof *found, compare_ids);
    if (!found) continue;
    const size_t k = (size_t)(found - part->row_ids);
    if (seen[k]) return fail_list(part, *found, "is twice in", err);
    seen[k] = true;
    listed[n++] = part->by_id[k];
  }
  return n == count ? FURROW_OK : fail_missing(part, seen, err);
}

static furrow_status take_list(furrow_matrix_source *source, fw_source_part *part,
                               const furrow_matrix_source_params *params, furrow_error *err) {
  const size_t count = part->meta->row_count;
  uint32_t *listed = NULL;
  bool *seen = NULL;
  FW_TRY(FW_ARENA_TAKE(&source->arena, &listed, count, err));
  FW_TRY(FW_ALLOC_ZERO(&seen, count, err));
  furrow_status status = list_rows(part, params, listed, seen, err);
  fw_free(seen);
  part->listed = listed;
  return status;
}

static furrow_status take_rows(furrow_matrix_source *source, fw_source_part *part, furrow_error *err) {
  const size_t count = part->meta->row_count;
  int32_t *ids = NULL;
  uint32_t *by_id = NULL;
  uint64_t *keys = NULL;
  if (count > UINT32_MAX)
    return fw_fail(err, FURROW_E_FORMAT, "partition %d has too many rows", (int)part->meta->part_id);
  furrow_status status = FW_ARENA_TAKE(&source->arena, &ids, count, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&source->arena, &by_id, count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&keys, count, err);
  if (status == FURROW_OK) status = order_rows(source, part->meta, ids, by_id, keys, err);
  fw_free(keys);
  part->row_ids = ids;
  part->by_id = by_id;
  return status;
}

static furrow_status fail_count(const furrow_matrix_source *source, const fw_source_part *part, const char *bound,
                                uint64_t bytes, furrow_error *err) {
  const bool by_column = source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  fw_fail(err, FURROW_E_FORMAT, "partMetas/%d/length is %lld, but its %llu %s take %s%llu bytes",
          (int)part->meta->part_id, (long long)part->meta->length, (unsigned long long)part->records,
          by_column ? "columns (saveColNum)" : "elements (elementNum of its rows)", bound, (unsigned long long)bytes);
  return locate_in_meta(source, FURROW_E_FORMAT, err);
}

/* Sums over up to 2^32 rows with 2^31 elements of up to `most` bytes do not fit in 64 bits, so the sums saturate. */
typedef struct byte_sum {
  uint64_t records, least, most;
} byte_sum;

static void add_records(byte_sum *sum, uint64_t records, size_t least, size_t most) {
  uint64_t low, high;
  if (__builtin_mul_overflow(records, (uint64_t)least, &low)) low = UINT64_MAX;
  if (__builtin_mul_overflow(records, (uint64_t)most, &high)) high = UINT64_MAX;
  sum->records += records;
  if (__builtin_add_overflow(sum->least, low, &sum->least)) sum->least = UINT64_MAX;
  if (__builtin_add_overflow(sum->most, high, &sum->most)) sum->most = UINT64_MAX;
}

/* Text may have longer records than Furrow writes. */
static void bound_record(const furrow_matrix_source *source, const furrow_matrix_format_context *context, size_t *least,
                         size_t *most) {
  source->format->record_size(context, least, most);
  if (source->format->flags & FURROW_MATRIX_FORMAT_TEXT) *most += FW_TEXT_SURPLUS;
}

static bool sum_rows(const furrow_matrix_source *source, const fw_source_part *part, byte_sum *sum) {
  uint64_t state[4];
  furrow_matrix_format_context context = fw_source_context(source, part, state);
  bool known = true;
  for (size_t k = 0; k < part->meta->row_count; k++) {
    const furrow_matrix_row_meta *row = &part->meta->rows[k];
    size_t least, most;
    context.row_id = row->row_id;
    context.save_type = row->save_type;
    bound_record(source, &context, &least, &most);
    if (row->element_num < 0)
      known = false;
    else
      add_records(sum, (uint64_t)row->element_num, least, most);
  }
  return known;
}

static bool sum_columns(const furrow_matrix_source *source, const fw_source_part *part, byte_sum *sum) {
  uint64_t state[4];
  const furrow_matrix_format_context context = fw_source_context(source, part, state);
  size_t least, most;
  bound_record(source, &context, &least, &most);
  if (part->meta->save_col_num < 0) return false;
  add_records(sum, (uint64_t)part->meta->save_col_num, least, most);
  return true;
}

static furrow_status check_columns(const furrow_matrix_source *source, const furrow_partition_meta *meta,
                                   furrow_error *err) {
  if (meta->length == 0 ||
      (meta->row_count > 0 && meta->save_col_elem_num >= 0 && (size_t)meta->save_col_elem_num == meta->row_count))
    return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "partMetas/%d/saveColElemNum is %d, but rowMetas has %zu %s", (int)meta->part_id,
          (int)meta->save_col_elem_num, meta->row_count, fw_plural(meta->row_count, "row", "rows"));
  return locate_in_meta(source, FURROW_E_FORMAT, err);
}

/* Checks counts against the size of the data before anything is allocated for them. */
static furrow_status check_counts(const furrow_matrix_source *source, fw_source_part *part, furrow_error *err) {
  byte_sum sum = {0};
  bool known;
  if (source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN) {
    furrow_status status = check_columns(source, part->meta, err);
    if (status != FURROW_OK) return status;
    known = sum_columns(source, part, &sum);
  } else {
    known = sum_rows(source, part, &sum);
  }
  part->records = sum.records;
  const uint64_t length = (uint64_t)part->meta->length;
  const bool exact = known && sum.least == sum.most;
  if (sum.least > length) return fail_count(source, part, exact ? "" : "at least ", sum.least, err);
  if (known && sum.most < length) return fail_count(source, part, exact ? "" : "at most ", sum.most, err);
  if (!known) part->records = FW_RECORDS_UNKNOWN;
  return FURROW_OK;
}

/* A format without row ids needs counts to separate the rows of a partition. */
static furrow_status check_separable(const furrow_matrix_source *source, const fw_source_part *part,
                                     furrow_error *err) {
  const unsigned flags = source->format->flags;
  if (flags & (FURROW_MATRIX_FORMAT_BY_COLUMN | FURROW_MATRIX_FORMAT_ROW_IDS) || part->records != FW_RECORDS_UNKNOWN)
    return FURROW_OK;
  if (part->meta->row_count == 1) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT,
          "partMetas/%d has %zu rows without elementNum, and %s has no row ids to tell them apart",
          (int)part->meta->part_id, part->meta->row_count, source->format->name);
  return locate_in_meta(source, FURROW_E_FORMAT, err);
}

static void set_columns(const furrow_matrix_source *source, fw_source_part *part) {
  const bool narrow = source->type->key_bits == 32;
  part->hash = part->meta->start_col == 0 && part->meta->end_col == 0;
  part->first_col = part->meta->start_col;
  part->last_col = part->meta->end_col - 1;
  if (part->hash) {
    part->first_col = narrow ? INT32_MIN : INT64_MIN;
    part->last_col = narrow ? INT32_MAX : INT64_MAX;
  }
}

static furrow_status take_parts(furrow_matrix_source *source, furrow_error *err) {
  const size_t count = source->meta->part_count;
  furrow_status status = FW_ARENA_TAKE(&source->arena, &source->parts, count, err);
  if (status != FURROW_OK) return status;
  memset(source->parts, 0, count * sizeof *source->parts);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    source->parts[i].meta = &source->meta->parts[i];
    set_columns(source, &source->parts[i]);
    status = take_rows(source, &source->parts[i], err);
  }
  if (status == FURROW_OK) status = check_files(source, err);
  return status;
}

static furrow_status check_parts(furrow_matrix_source *source, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < source->meta->part_count && status == FURROW_OK; i++) {
    status = check_counts(source, &source->parts[i], err);
    if (status == FURROW_OK) status = check_separable(source, &source->parts[i], err);
  }
  return status;
}

/* ---- Open and close ------------------------------------------------------------------------------------- */

static furrow_status open_source(furrow_matrix_source *source, const char *folder, const furrow_matrix_meta *meta,
                                 const furrow_matrix_source_params *params, furrow_error *err) {
  source->row_order = params->row_order;
  furrow_status status = take_text(source, &source->folder, folder, err);
  if (status == FURROW_OK)
    status = take_text(source, &source->separator, params->separator ? params->separator : ",", err);
  if (status == FURROW_OK) status = load_meta(source, meta, params, err);
  if (status == FURROW_OK) status = take_parts(source, err);
  for (size_t i = 0; status == FURROW_OK && params->row_count > 0 && i < source->meta->part_count; i++)
    status = take_list(source, &source->parts[i], params, err);
  if (status == FURROW_OK && !params->separator) status = fw_source_find_separator(source, err);
  if (status == FURROW_OK) status = check_parts(source, err);
  return status;
}

furrow_status fw_matrix_source_open_with(furrow_matrix_source **source, const char *folder,
                                         const furrow_matrix_meta *meta, const furrow_matrix_source_params *given,
                                         furrow_error *err) {
  furrow_matrix_source_params params;
  furrow_matrix_source_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_source_params, err));
  if (params.separator && !params.separator[0]) return fw_fail(err, FURROW_E_ARGUMENT, "the separator is empty");
  if (params.row_order > FURROW_MATRIX_ROW_ORDER_LIST)
    return fw_fail(err, FURROW_E_ARGUMENT, "row_order %d is not an order of rows", (int)params.row_order);
  if ((params.row_order == FURROW_MATRIX_ROW_ORDER_LIST) != (params.row_count > 0) ||
      (params.row_count && !params.rows))
    return fw_fail(err, FURROW_E_ARGUMENT, "rows are listed for the row order LIST, and only for it");
  furrow_matrix_source *opened;
  furrow_path_watch *watch = NULL;
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  furrow_status status = furrow_path_watch_begin(&watch, folder, err);
  if (status == FURROW_OK) status = furrow_path_watch_end(watch, open_source(opened, folder, meta, &params, err), err);
  return FW_HAND_OVER(status, source, opened, furrow_matrix_source_close);
}

furrow_status furrow_matrix_source_open(furrow_matrix_source **source, const char *folder,
                                        const furrow_matrix_source_params *params, furrow_error *err) {
  return fw_matrix_source_open_with(source, folder, NULL, params, err);
}

void furrow_matrix_source_close(furrow_matrix_source *source) {
  if (!source) return;
  furrow_matrix_meta_free(source->meta);
  fw_arena_clear(&source->arena);
  fw_free(source);
}

furrow_matrix_format_context fw_source_context(const furrow_matrix_source *source, const fw_source_part *part,
                                               uint64_t state[4]) {
  memset(state, 0, 4 * sizeof *state);
  const bool by_column = source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  return (furrow_matrix_format_context){
      .type = source->type->element,
      .key_bits = source->type->key_bits,
      .separator = source->separator,
      .separator_length = strlen(source->separator),
      .record_values = by_column ? part->meta->row_count : 1,
      .dense = source->type->dense,
      .first_col = part->meta->start_col,
      .end_col = part->meta->end_col,
      .state = state,
  };
}

furrow_status fw_source_open_file(const furrow_matrix_source *source, const fw_source_part *part, fw_input **input,
                                  furrow_error *err) {
  (void)source;
  fw_input *opened = NULL;
  furrow_status status = fw_input_open(&opened, part->file->path, err);
  if (status != FURROW_OK) return status;
  struct stat info;
  fw_source_file now = {0};
  if (fw_input_stat(opened, &info, NULL) == FURROW_OK) note_stat(&now, &info);
  if (now.size != part->file->size || now.inode != part->file->inode || now.mtime_ns != part->file->mtime_ns) {
    fw_input_close(opened);
    status = fw_fail(err, FURROW_E_STALE, "the file has changed since the matrix was opened");
    fw_error_set_file(err, part->file->path);
    fw_error_set_hint(err, "run it again: another program has written it meanwhile");
    return status;
  }
  *input = opened;
  return FURROW_OK;
}

size_t fw_source_part_row(const fw_source_part *part, int32_t row_id) {
  const size_t count = part->meta->row_count;
  const size_t low = fw_lower_bound_i32(part->row_ids, count, sizeof *part->row_ids, row_id);
  return low < count && part->row_ids[low] == row_id ? low : count;
}

/* ---- Properties ----------------------------------------------------------------------------------------- */

const char *furrow_matrix_source_folder(const furrow_matrix_source *source) {
  return source->folder;
}

const char *furrow_matrix_source_meta_name(const furrow_matrix_source *source) {
  return source->meta_name;
}

const furrow_matrix_meta *furrow_matrix_source_meta(const furrow_matrix_source *source) {
  return source->meta;
}

const furrow_matrix_format *furrow_matrix_source_format(const furrow_matrix_source *source) {
  return source->format;
}

const furrow_matrix_row_type *furrow_matrix_source_row_type(const furrow_matrix_source *source) {
  return source->type;
}

const char *furrow_matrix_source_separator(const furrow_matrix_source *source) {
  return source->separator;
}
