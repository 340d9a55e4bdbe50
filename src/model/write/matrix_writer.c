/* model/write/matrix_writer.c: writes a matrix folder: its files, partitions and metadata. */
#include "model/write/matrix_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/dir_names.h"
#include "io/file_system.h"
#include "model/format/matrix_format.h"

/* ---- errors ---- */

static furrow_status fail_plan(const furrow_matrix_writer *writer, furrow_status status, const char *what,
                               furrow_error *err) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, writer->path);
  return status;
}

furrow_status fw_writer_fail_element(const furrow_matrix_writer *writer, int32_t row, int64_t col,
                                     furrow_elements values, furrow_element_type type, size_t i, furrow_error *err) {
  char text[FURROW_ELEMENT_TEXT];
  const size_t length = furrow_element_to_text(values, type, i, text);
  fw_fail(err, FURROW_E_RANGE, "row %d, column %lld: %.*s does not fit %s", (int)row, (long long)col, (int)length, text,
          furrow_element_type_name(writer->context.type));
  fw_error_set_file(err, writer->path);
  fw_error_set_token(err, text, length);
  return FURROW_E_RANGE;
}

furrow_status fw_writer_fail_col(const furrow_matrix_writer *writer, int32_t row, int64_t col, const char *what,
                                 furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "row %d, column %lld: %s", (int)row, (long long)col, what);
  fw_error_set_file(err, writer->path);
  return FURROW_E_RANGE;
}

static furrow_status fail_count(const furrow_matrix_writer *writer, const furrow_partition_meta *part, const char *what,
                                furrow_error *err) {
  fw_fail(err, FURROW_E_RANGE, "partition %d has more %s than Angel's metadata can count", (int)part->part_id, what);
  fw_error_set_file(err, writer->path);
  return FURROW_E_RANGE;
}

/* ---- open: the plan ---- */

static furrow_status check_plan(const furrow_matrix_writer *writer, furrow_error *err) {
  const furrow_matrix_meta *meta = writer->meta;
  if (!meta->matrix_name) return fail_plan(writer, FURROW_E_ARGUMENT, "the plan has no matrix name", err);
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    if (!fw_is_file_name(part->file_name) || strcmp(part->file_name, writer->meta_name) == 0)
      return fail_plan(writer, FURROW_E_ARGUMENT, "the plan gives a partition no name of a data file", err);
    if (i > 0 && part->part_id <= part[-1].part_id)
      return fail_plan(writer, FURROW_E_ARGUMENT, "the plan's partitions do not ascend", err);
    if (writer->row_type->dense && fw_part_is_hash(part))
      return fail_plan(writer, FURROW_E_ARGUMENT, "a dense row type cannot have hash partitions", err);
    if (part->end_col < part->start_col)
      return fail_plan(writer, FURROW_E_ARGUMENT, "the plan has a partition that ends before it starts", err);
    if (writer->row_type->dense && fw_part_width(part) > INT32_MAX) return fail_count(writer, part, "columns", err);
  }
  return FURROW_OK;
}

/* A separator that may be part of a number or of a line end produces text that cannot be read back. */
static furrow_status check_separator(const furrow_matrix_writer *writer, furrow_error *err) {
  const unsigned fields = FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS | FURROW_MATRIX_FORMAT_BY_COLUMN;
  const char *text = writer->separator;
  if (!(writer->format->flags & FURROW_MATRIX_FORMAT_TEXT) || !(writer->format->flags & fields)) return FURROW_OK;
  for (const char *s = text; *s; s++)
    if (!fw_may_separate(*s)) {
      fw_fail(err, FURROW_E_ARGUMENT, "the separator has a character that %s, so the text could not be read back",
              *s == '\n' || *s == '\r' ? "ends a line" : "numbers are made of");
      fw_error_set_token(err, text, strlen(text));
      return FURROW_E_ARGUMENT;
    }
  return FURROW_OK;
}

static furrow_status find_format(furrow_matrix_writer *writer, furrow_error *err) {
  const furrow_matrix_meta *meta = writer->meta;
  if (!meta->format_class_name) return fail_plan(writer, FURROW_E_ARGUMENT, "the plan has no format", err);
  FW_TRY(furrow_matrix_format_find(meta->format_class_name, &writer->format, err));
  if (!writer->format->encode) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "%s is only read, not written", writer->format->name);
    fw_error_set_file(err, writer->path);
    return FURROW_E_UNSUPPORTED;
  }
  writer->row_type = furrow_matrix_row_type_get(meta->row_type);
  if (!writer->row_type) return fail_plan(writer, FURROW_E_ARGUMENT, "the plan has no row type", err);
  if (writer->row_type->objects)
    return fail_plan(writer, FURROW_E_UNSUPPORTED, "rows of Java objects are not written", err);
  return FURROW_OK;
}

static void set_context(furrow_matrix_writer *writer, const furrow_matrix_write_params *params) {
  writer->context = (furrow_matrix_format_context){.type = writer->row_type->element,
                                                   .key_bits = writer->row_type->key_bits,
                                                   .separator = writer->separator,
                                                   .separator_length = strlen(writer->separator),
                                                   .angel_bytes = params->angel_bytes,
                                                   .dense = writer->row_type->dense};
}

furrow_matrix_format_context fw_writer_context(const furrow_matrix_writer *writer, size_t part, uint64_t *state) {
  const furrow_partition_meta *meta = &writer->meta->parts[part];
  furrow_matrix_format_context context = writer->context;
  context.record_values = fw_writer_by_column(writer) ? meta->row_count : 1;
  context.first_col = meta->start_col;
  context.end_col = meta->end_col;
  context.state = state;
  return context;
}

static int compare_rows(const void *a, const void *b) {
  const furrow_matrix_row_meta *x = a, *y = b;
  return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

/* Resets the counts of the plan. Column formats store rows in ascending order, regardless of the requested list. */
static void clear_counts(furrow_matrix_writer *writer) {
  for (size_t i = 0; i < writer->meta->part_count; i++) {
    furrow_partition_meta *part = &writer->meta->parts[i];
    part->offset = part->length = 0;
    part->save_row_num = part->save_col_num = part->save_col_elem_num = 0;
    for (size_t r = 0; r < part->row_count; r++) {
      part->rows[r].element_num = 0;
      part->rows[r].save_type = 0;
    }
    if (fw_writer_by_column(writer) && part->row_count > 1)
      qsort(part->rows, part->row_count, sizeof *part->rows, compare_rows);
    if (fw_part_is_hash(part)) writer->hash_parts = part->part_id + 1;
  }
}

/* ---- open: the files ---- */

typedef struct named_part {
  const char *name;
  size_t part;
} named_part;

static int compare_named(const void *a, const void *b) {
  const named_part *x = a, *y = b;
  const int order = strcmp(x->name, y->name);
  return order ? order : (x->part > y->part) - (x->part < y->part);
}

static furrow_status alloc_files(furrow_matrix_writer *writer, named_part **names, furrow_error *err) {
  const size_t count = writer->meta->part_count;
  FW_TRY(FW_ALLOC_ZERO(&writer->files, count, err));
  FW_TRY(FW_ALLOC_ZERO(&writer->by_file, count, err));
  FW_TRY(FW_ALLOC_ZERO(&writer->file_of, count, err));
  FW_TRY(FW_ALLOC_ZERO(&writer->written, count, err));
  return FW_ALLOC_ZERO(names, count, err);
}

static furrow_status list_files(furrow_matrix_writer *writer, furrow_error *err) {
  const size_t count = writer->meta->part_count;
  named_part *names = NULL;
  furrow_status status = alloc_files(writer, &names, err);
  if (status == FURROW_OK) {
    for (size_t i = 0; i < count; i++) names[i] = (named_part){writer->meta->parts[i].file_name, i};
    if (count > 1) qsort(names, count, sizeof *names, compare_named);
    for (size_t i = 0; i < count; i++) {
      if (i == 0 || strcmp(names[i - 1].name, names[i].name) != 0)
        writer->files[writer->file_count++] = (fw_data_file){.name = names[i].name, .first = i};
      writer->by_file[i] = names[i].part;
      writer->file_of[names[i].part] = writer->file_count - 1;
    }
  }
  fw_free(names);
  return status;
}

/* ---- open ---- */

static furrow_status copy_params(furrow_matrix_writer *writer, const furrow_matrix_write_params *params,
                                 furrow_error *err) {
  const char *separator = params->separator ? params->separator : ",";
  const char *meta_name = params->meta_name ? params->meta_name : "_meta";
  if (!separator[0]) return fw_fail(err, FURROW_E_ARGUMENT, "separator is empty");
  writer->threads = params->threads ? params->threads : fw_processor_count();
  FW_TRY(fw_check_meta_name(meta_name, err));
  FW_TRY(fw_strndup(&writer->separator, separator, strlen(separator), err));
  return fw_strndup(&writer->meta_name, meta_name, strlen(meta_name), err);
}

/* A format without column ids moves the elements of a sparse row to other columns. Angel writes such files. */
static furrow_status check_columns(const furrow_matrix_writer *writer, const furrow_matrix_write_params *params,
                                   furrow_error *err) {
  const bool kept = writer->format->flags & FURROW_MATRIX_FORMAT_COL_IDS;
  if (kept || writer->row_type->dense || params->angel_bytes) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "%s keeps values without their columns, so it cannot hold rows of type %s",
          writer->format->name, writer->row_type->name);
  fw_error_set_file(err, writer->path);
  fw_error_set_hint(err, "choose a dense row type, or a format with columns, such as ColIdValueBinary");
  return FURROW_E_ARGUMENT;
}

static furrow_status start_writer(furrow_matrix_writer *writer, const furrow_matrix_meta *plan,
                                  const furrow_matrix_write_params *params, furrow_error *err) {
  furrow_status status = copy_params(writer, params, err);
  if (status == FURROW_OK) status = furrow_matrix_meta_copy(&writer->meta, plan, err);
  if (status == FURROW_OK) status = find_format(writer, err);
  if (status == FURROW_OK) status = check_separator(writer, err);
  if (status == FURROW_OK) status = check_columns(writer, params, err);
  if (status == FURROW_OK) status = check_plan(writer, err);
  if (status == FURROW_OK) status = list_files(writer, err);
  if (status != FURROW_OK) return status;
  set_context(writer, params);
  clear_counts(writer);
  return FURROW_OK;
}

static furrow_status create_writer(furrow_matrix_writer **writer, const char *path, furrow_error *err) {
  furrow_matrix_writer *made;
  furrow_status status = FW_ALLOC_ZERO(&made, 1, err);
  if (status != FURROW_OK) return status;
  made->fd = -1;
  status = fw_strndup(&made->path, path, strlen(path), err);
  return FW_HAND_OVER(status, writer, made, fw_free);
}

furrow_status furrow_matrix_writer_open(furrow_matrix_writer **writer, const char *folder,
                                        const furrow_matrix_meta *plan, const furrow_matrix_write_params *given,
                                        furrow_error *err) {
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_write_params, err));
  const char *path = folder;
  furrow_matrix_writer *opened;
  furrow_status status = fw_path_to_write(&path, err);
  if (status == FURROW_OK) status = create_writer(&opened, path, err);
  if (status != FURROW_OK) return status;
  status = start_writer(opened, plan, &params, err);
  const fw_dir_check check = params.overwrite ? fw_model_check_overwrite : NULL;
  if (status == FURROW_OK) status = fw_atomic_dir_open(&opened->own, path, check, err);
  if (status == FURROW_OK) {
    opened->fd = fw_atomic_dir_fd(opened->own);
    *writer = opened;
  } else {
    furrow_matrix_writer_close(opened);
  }
  return status;
}

static furrow_status create_in(furrow_matrix_writer **writer, const char *model, const char *name, furrow_error *err) {
  char *path;
  furrow_status status = fw_path_join(&path, model, name, err);
  if (status != FURROW_OK) return status;
  status = create_writer(writer, path, err);
  if (status == FURROW_OK) (*writer)->folder = (*writer)->path + strlen(path) - strlen(name);
  fw_free(path);
  return status;
}

furrow_status fw_matrix_writer_open_as(furrow_matrix_writer **writer, furrow_model_writer *model, const char *name,
                                       const furrow_matrix_meta *plan, const furrow_matrix_write_params *given,
                                       furrow_error *err) {
  furrow_matrix_write_params params;
  furrow_matrix_write_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_write_params, err));
  furrow_matrix_writer *opened;
  furrow_status status = create_in(&opened, fw_model_writer_path(model), name, err);
  if (status != FURROW_OK) return status;
  status = start_writer(opened, plan, &params, err);
  if (status == FURROW_OK) status = fw_model_writer_enter(model, opened->folder, &opened->fd, err);
  if (status == FURROW_OK) {
    opened->model = model;
    *writer = opened;
  } else {
    furrow_matrix_writer_close(opened);
  }
  return status;
}

furrow_status furrow_matrix_writer_open_in(furrow_matrix_writer **writer, furrow_model_writer *model,
                                           const furrow_matrix_meta *plan, const furrow_matrix_write_params *params,
                                           furrow_error *err) {
  if (!fw_is_file_name(plan->matrix_name))
    return fw_fail(err, FURROW_E_ARGUMENT, "the plan's matrix name cannot be the name of a folder");
  return fw_matrix_writer_open_as(writer, model, plan->matrix_name, plan, params, err);
}

void furrow_matrix_writer_close(furrow_matrix_writer *writer) {
  if (!writer) return;
  fw_part_stream_free(writer->stream);
  if (writer->model) {
    if (writer->fd >= 0) close(writer->fd);
    fw_model_writer_leave(writer->model, writer->folder, writer->committed);
  }
  fw_atomic_dir_close(writer->own);
  fw_pool_free(writer->pool);
  fw_free(writer->files);
  fw_free(writer->by_file);
  fw_free(writer->file_of);
  fw_free(writer->written);
  furrow_matrix_meta_free(writer->meta);
  fw_free(writer->separator);
  fw_free(writer->meta_name);
  fw_free(writer->path);
  fw_free(writer);
}

/* ---- partitions ---- */

furrow_status fw_writer_open_part(furrow_matrix_writer *writer, size_t part, int *fd, uint64_t *offset,
                                  furrow_error *err) {
  fw_data_file *file = &writer->files[writer->file_of[part]];
  if (writer->written[part] || part < file->next) {
    fw_fail(err, FURROW_E_STATE, "partition %d comes too late: a later partition of file %s was already written",
            (int)writer->meta->parts[part].part_id, file->name);
    fw_error_set_file(err, writer->path);
    return FURROW_E_STATE;
  }
  const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (file->there ? 0 : O_EXCL);
  const int opened = openat(writer->fd, file->name, flags, 0666);
  if (opened < 0) return fw_fail_file(err, errno, writer->path, file->name, "cannot create");
  file->there = true;
  *fd = opened;
  *offset = file->size;
  return FURROW_OK;
}

furrow_status fw_writer_note_part(furrow_matrix_writer *writer, size_t part, uint64_t length, uint64_t columns,
                                  const uint64_t *counts, furrow_error *err) {
  furrow_partition_meta *meta = &writer->meta->parts[part];
  fw_data_file *file = &writer->files[writer->file_of[part]];
  uint64_t elements = 0;
  if (columns > INT32_MAX) return fail_count(writer, meta, "columns", err);
  if (length > (uint64_t)INT64_MAX - file->size) return fail_count(writer, meta, "bytes", err);
  for (size_t r = 0; r < meta->row_count; r++) {
    if (counts[r] > INT32_MAX) return fail_count(writer, meta, "elements in a row", err);
    meta->rows[r].element_num = (int32_t)counts[r];
    elements += counts[r];
  }
  if (fw_writer_by_column(writer)) meta->save_col_num = (int32_t)columns;
  if (meta->nnz <= 0) meta->nnz = (int64_t)elements;
  meta->length = (int64_t)length;
  file->size += length;
  file->next = part + 1;
  writer->written[part] = true;
  return FURROW_OK;
}

void fw_writer_get_part(const furrow_matrix_writer *writer, size_t part, int64_t *numbers) {
  const furrow_partition_meta *meta = &writer->meta->parts[part];
  numbers[0] = meta->length;
  numbers[1] = meta->save_col_num;
  for (size_t r = 0; r < meta->row_count; r++) numbers[2 + r] = meta->rows[r].element_num;
}

furrow_status fw_writer_take_part(furrow_matrix_writer *writer, size_t part, const int64_t *numbers,
                                  furrow_error *err) {
  writer->files[writer->file_of[part]].there = true;
  return fw_writer_note_part(writer, part, (uint64_t)numbers[0], (uint64_t)numbers[1], (const uint64_t *)numbers + 2,
                             err);
}

furrow_status fw_writer_for(furrow_matrix_writer *writer, size_t count, void (*body)(void *context, size_t i),
                            void *context, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (writer->threads > 1 && count > 1 && !writer->pool)
    status = fw_pool_create(&writer->pool, writer->threads - 1, err);
  if (status != FURROW_OK) return status;
  if (writer->threads > 1 && count > 1) return fw_pool_for(writer->pool, count, body, context, err);
  for (size_t i = 0; i < count; i++) body(context, i);
  return FURROW_OK;
}

/* ---- panel by panel ---- */

static furrow_status check_usable(const furrow_matrix_writer *writer, furrow_error *err) {
  if (writer->committed) return fail_plan(writer, FURROW_E_STATE, "the matrix is complete already", err);
  if (writer->error.status != FURROW_OK && err) *err = writer->error;
  return writer->error.status;
}

furrow_status fw_writer_check_fresh(furrow_matrix_writer *writer, furrow_error *err) {
  furrow_status status = check_usable(writer, err);
  for (size_t i = 0; i < writer->meta->part_count && status == FURROW_OK; i++)
    if (writer->written[i] || writer->streaming)
      status = fail_plan(writer, FURROW_E_STATE, "partitions were written already", err);
  return status;
}

static furrow_status finish_stream(furrow_matrix_writer *writer, furrow_error *err) {
  if (!writer->streaming) return FURROW_OK;
  furrow_status status = fw_part_stream_finish(writer->stream, &writer->totals, &writer->error);
  writer->streaming = false;
  if (status != FURROW_OK && err) *err = writer->error;
  return status;
}

furrow_status furrow_matrix_writer_begin_partition(furrow_matrix_writer *writer, size_t part, furrow_error *err) {
  furrow_status status = check_usable(writer, err);
  if (status != FURROW_OK) return status;
  if (part >= writer->meta->part_count) return fail_plan(writer, FURROW_E_ARGUMENT, "no such partition", err);
  status = finish_stream(writer, err);
  if (status == FURROW_OK && !writer->stream) status = fw_part_stream_create(&writer->stream, writer, err);
  if (status == FURROW_OK) status = fw_part_stream_begin(writer->stream, part, err);
  writer->streaming = status == FURROW_OK;
  return status;
}

furrow_status furrow_matrix_writer_write_panel(furrow_matrix_writer *writer, const furrow_panel *panel,
                                               furrow_error *err) {
  furrow_status status = check_usable(writer, err);
  if (status != FURROW_OK) return status;
  if (!writer->streaming) return fail_plan(writer, FURROW_E_STATE, "no partition has begun", err);
  furrow_error reason;
  status = fw_part_stream_put(writer->stream, panel, &reason);
  if (status == FURROW_OK) return status;
  if (err) *err = reason;
  if (fw_part_stream_is_spoilt(writer->stream)) writer->error = reason;
  return status;
}

/* ---- commit ---- */

/* The partitions of a file are contiguous; empty files are created, too. */
static furrow_status finish_files(furrow_matrix_writer *writer, furrow_error *err) {
  const bool by_column = fw_writer_by_column(writer);
  for (size_t f = 0; f < writer->file_count; f++) {
    const size_t end = f + 1 < writer->file_count ? writer->files[f + 1].first : writer->meta->part_count;
    int64_t offset = 0;
    for (size_t i = writer->files[f].first; i < end; i++) {
      furrow_partition_meta *part = &writer->meta->parts[writer->by_file[i]];
      part->offset = offset;
      part->save_row_num = by_column ? 0 : (int32_t)part->row_count;
      part->save_col_elem_num = by_column ? (int32_t)part->row_count : 0;
      for (size_t r = 0; r < part->row_count; r++) part->rows[r].offset = by_column ? -1 : offset;
      offset += part->length;
    }
    if (writer->files[f].there) continue;
    furrow_status status = fw_write_file(writer->fd, writer->files[f].name, "", 0, writer->path, err);
    if (status != FURROW_OK) return status;
    writer->files[f].there = true;
  }
  return FURROW_OK;
}

static furrow_status write_meta(const furrow_matrix_writer *writer, furrow_error *err) {
  char *bytes;
  size_t size;
  furrow_status status = furrow_matrix_meta_write(writer->meta, &bytes, &size, err);
  if (status != FURROW_OK) return status;
  status = fw_write_file(writer->fd, writer->meta_name, bytes, size, writer->path, err);
  furrow_free(bytes);
  return status;
}

furrow_status fw_writer_finish_parts(furrow_matrix_writer *writer, furrow_error *err) {
  FW_TRY(check_usable(writer, err));
  FW_TRY(finish_stream(writer, err));
  for (size_t f = 0; f < writer->file_count; f++) {
    const int errnum = writer->files[f].there ? fw_dir_sync_file(writer->fd, writer->files[f].name) : 0;
    if (errnum) return fw_fail_file(err, errnum, writer->path, writer->files[f].name, "cannot sync the file to disk");
  }
  return FURROW_OK;
}

furrow_status furrow_matrix_writer_commit(furrow_matrix_writer *writer, furrow_error *err) {
  furrow_status status = check_usable(writer, err);
  if (status != FURROW_OK) return status;
  status = finish_stream(writer, err);
  if (status != FURROW_OK) return status;
  status = finish_files(writer, &writer->error);
  if (status == FURROW_OK) status = write_meta(writer, &writer->error);
  if (status == FURROW_OK && writer->own) status = fw_atomic_dir_commit(writer->own, &writer->error);
  writer->committed = status == FURROW_OK;
  if (status != FURROW_OK && err) *err = writer->error;
  return status;
}
