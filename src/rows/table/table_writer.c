/* rows/table/table_writer.c: writes tables of typed cells as Parquet.
 *
 * Cells are gathered column by column. After some rows they become a batch of Arrow, whose buffers DuckDB reads where
 * they are, while the next rows come. The file is written to a nameless one and copied when it is complete. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/utf8.h"
#include "columns/parquet_out.h"
#include "furrow/table.h"
#include "io/atomic_file.h"
#include "io/temporary.h"

enum { BATCH_ROWS = 8192, BATCH_BYTES = 4 << 20, PIECE = 1 << 20 };

typedef struct column_cells {
  furrow_cell_type type;
  fw_buffer valid;  /* a bit for each row */
  fw_buffer ends;   /* of texts and lists: int32_t, first a 0 */
  fw_buffer values; /* numbers, elements or bytes */
  size_t nulls;
} column_cells;

struct furrow_table_writer {
  column_cells *columns;
  size_t count, at; /* the column of the next cell */
  size_t rows;      /* of the batch */
  fw_parquet_out *out;
  int fd; /* what DuckDB writes; -1: none */
  fw_atomic_file *file;
};

static bool has_ends(furrow_cell_type type) {
  return type >= FURROW_CELL_TEXT;
}

static size_t element_width(furrow_cell_type type) {
  return type == FURROW_CELL_TEXT ? 1 : type == FURROW_CELL_F32 || type == FURROW_CELL_F32_LIST ? 4 : 8;
}

/* ---- The types of the columns ---------------------------------------------------------------------------- */

typedef struct made_schema {
  struct ArrowSchema *columns, *elements, **list, **element_list;
  char **names;
  size_t count;
} made_schema;

static void free_schema(made_schema *made) {
  for (size_t i = 0; made->names && i < made->count; i++) fw_free(made->names[i]);
  fw_free(made->names);
  fw_free(made->columns);
  fw_free(made->elements);
  fw_free((void *)made->list);
  fw_free((void *)made->element_list);
  fw_free(made);
}

static void release_schema(struct ArrowSchema *schema) {
  free_schema(schema->private_data);
  schema->release = NULL;
}

static void release_part(struct ArrowSchema *schema) {
  schema->release = NULL;
}

static furrow_status fill_schema(made_schema *made, const furrow_table_column *columns, furrow_error *err) {
  static const char *const formats[] = {"l", "f", "g", "u", "+l", "+l"};
  FW_TRY(FW_ALLOC_ZERO(&made->columns, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->elements, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->list, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->element_list, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->names, made->count, err));
  for (size_t i = 0; i < made->count; i++) {
    const furrow_cell_type type = columns[i].type;
    const bool list = type > FURROW_CELL_TEXT;
    FW_TRY(fw_strndup(&made->names[i], columns[i].name, strlen(columns[i].name), err));
    made->elements[i] = (struct ArrowSchema){.format = type == FURROW_CELL_I64_LIST ? "l" : "f",
                                             .name = "element",
                                             .flags = ARROW_FLAG_NULLABLE,
                                             .release = release_part};
    made->element_list[i] = &made->elements[i];
    made->columns[i] = (struct ArrowSchema){.format = formats[type],
                                            .name = made->names[i],
                                            .flags = ARROW_FLAG_NULLABLE,
                                            .n_children = list,
                                            .children = list ? &made->element_list[i] : NULL,
                                            .release = release_part};
    made->list[i] = &made->columns[i];
  }
  return FURROW_OK;
}

static furrow_status make_schema(struct ArrowSchema *schema, const furrow_table_column *columns, size_t count,
                                 furrow_error *err) {
  made_schema *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->count = count;
  const furrow_status status = fill_schema(made, columns, err);
  if (status != FURROW_OK) {
    free_schema(made);
    return status;
  }
  *schema = (struct ArrowSchema){.format = "+s",
                                 .name = "",
                                 .n_children = (int64_t)count,
                                 .children = made->list,
                                 .release = release_schema,
                                 .private_data = made};
  return FURROW_OK;
}

/* ---- Batches --------------------------------------------------------------------------------------------- */

/* The memory of a batch: for each column its array, its elements and its buffers. */
typedef struct made_batch {
  struct ArrowArray *arrays, *elements, **list, **element_list;
  const void *(*buffers)[3], *(*element_buffers)[2];
  fw_buffer (*cells)[3];
  size_t count;
} made_batch;

static void free_batch(made_batch *made) {
  for (size_t i = 0; made->cells && i < made->count; i++)
    for (size_t k = 0; k < 3; k++) fw_buffer_clear(&made->cells[i][k]);
  fw_free(made->cells);
  fw_free(made->arrays);
  fw_free(made->elements);
  fw_free((void *)made->list);
  fw_free((void *)made->element_list);
  fw_free((void *)made->buffers);
  fw_free((void *)made->element_buffers);
  fw_free(made);
}

static void release_batch(struct ArrowArray *array) {
  free_batch(array->private_data);
  array->release = NULL;
}

static void release_array(struct ArrowArray *array) {
  array->release = NULL;
}

static furrow_status alloc_batch(made_batch *made, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&made->cells, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->arrays, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->elements, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->list, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->element_list, made->count, err));
  FW_TRY(FW_ALLOC_ZERO(&made->buffers, made->count, err));
  return FW_ALLOC_ZERO(&made->element_buffers, made->count, err);
}

/* Moves the cells of a column into the batch. */
static void move_column(made_batch *made, size_t i, column_cells *column, size_t rows) {
  static const int64_t nothing[1] = {0}; /* a buffer of no values has an address, too */
  const furrow_cell_type type = column->type;
  const bool list = type > FURROW_CELL_TEXT;
  const size_t elements = column->values.size / element_width(type);
  fw_buffer *cells = made->cells[i];
  cells[0] = column->valid;
  cells[1] = column->ends;
  cells[2] = column->values;
  const void *values = cells[2].size > 0 ? (const void *)cells[2].bytes : nothing;
  made->element_buffers[i][1] = values;
  made->elements[i] = (struct ArrowArray){
      .length = (int64_t)elements, .n_buffers = 2, .buffers = made->element_buffers[i], .release = release_array};
  made->element_list[i] = &made->elements[i];
  made->buffers[i][0] = column->nulls > 0 ? cells[0].bytes : NULL;
  made->buffers[i][1] = has_ends(type) ? (const void *)cells[1].bytes : values;
  made->buffers[i][2] = values;
  made->arrays[i] = (struct ArrowArray){.length = (int64_t)rows,
                                        .null_count = (int64_t)column->nulls,
                                        .n_buffers = type == FURROW_CELL_TEXT ? 3 : 2,
                                        .n_children = list,
                                        .children = list ? &made->element_list[i] : NULL,
                                        .buffers = made->buffers[i],
                                        .release = release_array};
  made->list[i] = &made->arrays[i];
  *column = (column_cells){.type = type};
}

static furrow_status check_cells(const furrow_table_writer *w, furrow_error *err) {
  for (size_t i = 0; i < w->count; i++) {
    FW_TRY(fw_buffer_status(&w->columns[i].valid, err));
    FW_TRY(fw_buffer_status(&w->columns[i].ends, err));
    FW_TRY(fw_buffer_status(&w->columns[i].values, err));
    if (w->columns[i].values.size > INT32_MAX)
      return fw_fail(err, FURROW_E_UNSUPPORTED, "cells of more than 2 GiB cannot be written");
  }
  return FURROW_OK;
}

/* Gives the rows to DuckDB. */
static furrow_status end_batch(furrow_table_writer *w, furrow_error *err) {
  static const void *no_nulls[1] = {NULL};
  made_batch *made;
  if (w->rows == 0) return FURROW_OK;
  FW_TRY(check_cells(w, err));
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->count = w->count;
  const furrow_status status = alloc_batch(made, err);
  if (status != FURROW_OK) {
    free_batch(made);
    return status;
  }
  for (size_t i = 0; i < w->count; i++) move_column(made, i, &w->columns[i], w->rows);
  struct ArrowArray batch = {.length = (int64_t)w->rows,
                             .n_buffers = 1,
                             .buffers = no_nulls,
                             .n_children = (int64_t)w->count,
                             .children = made->list,
                             .release = release_batch,
                             .private_data = made};
  w->rows = 0;
  return fw_parquet_out_add(w->out, &batch, err);
}

/* ---- Cells ------------------------------------------------------------------------------------------------ */

/* Begins the next cell. */
static column_cells *next_cell(furrow_table_writer *w, bool valid) {
  assert(w->at < w->count);
  column_cells *c = &w->columns[w->at++];
  const int32_t zero = 0;
  if (has_ends(c->type) && c->ends.size == 0) fw_buffer_append(&c->ends, &zero, sizeof zero);
  if (w->rows % 8 == 0) fw_buffer_byte(&c->valid, 0);
  if (valid && w->rows / 8 < c->valid.size) c->valid.bytes[w->rows / 8] |= (char)(1 << w->rows % 8);
  c->nulls += !valid;
  return c;
}

static void end_list(column_cells *c) {
  const int32_t end = (int32_t)(c->values.size / element_width(c->type)); /* end_batch checks its range */
  fw_buffer_append(&c->ends, &end, sizeof end);
}

void furrow_table_put_integer(furrow_table_writer *writer, int64_t value) {
  column_cells *c = next_cell(writer, true);
  assert(c->type == FURROW_CELL_I64);
  fw_buffer_append(&c->values, &value, sizeof value);
}

void furrow_table_put_real(furrow_table_writer *writer, double value) {
  column_cells *c = next_cell(writer, true);
  const float single = (float)value;
  assert(c->type == FURROW_CELL_F32 || c->type == FURROW_CELL_F64);
  fw_buffer_append(&c->values, c->type == FURROW_CELL_F32 ? (const void *)&single : &value, element_width(c->type));
}

void furrow_table_put_text(furrow_table_writer *writer, const char *text, size_t length) {
  column_cells *c = next_cell(writer, true);
  assert(c->type == FURROW_CELL_TEXT);
  for (const char *at = text, *end = text + length; at < end;) {
    const char *wrong = fw_utf8_check(at, end), *stop = wrong ? wrong : end;
    fw_buffer_append(&c->values, at, (size_t)(stop - at));
    if (wrong) fw_buffer_text(&c->values, "\xef\xbf\xbd");
    at = wrong ? wrong + 1 : end;
  }
  end_list(c);
}

void furrow_table_put_integers(furrow_table_writer *writer, const int64_t *values, size_t count) {
  column_cells *c = next_cell(writer, true);
  assert(c->type == FURROW_CELL_I64_LIST);
  fw_buffer_append(&c->values, values, count * sizeof *values);
  end_list(c);
}

void furrow_table_put_floats(furrow_table_writer *writer, const float *values, size_t count) {
  column_cells *c = next_cell(writer, true);
  assert(c->type == FURROW_CELL_F32_LIST);
  fw_buffer_append(&c->values, values, count * sizeof *values);
  end_list(c);
}

void furrow_table_put_null(furrow_table_writer *writer) {
  static const char zeros[8] = {0};
  column_cells *c = next_cell(writer, false);
  if (has_ends(c->type))
    end_list(c);
  else
    fw_buffer_append(&c->values, zeros, element_width(c->type));
}

furrow_status furrow_table_writer_end_row(furrow_table_writer *writer, furrow_error *err) {
  size_t bytes = 0;
  assert(writer->at == writer->count);
  writer->at = 0;
  writer->rows++;
  for (size_t i = 0; i < writer->count; i++) bytes += writer->columns[i].values.size;
  return writer->rows == BATCH_ROWS || bytes > BATCH_BYTES ? end_batch(writer, err) : FURROW_OK;
}

/* ---- The file --------------------------------------------------------------------------------------------- */

static furrow_status check_columns(const furrow_table_column *columns, size_t count, furrow_error *err) {
  if (count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "a table needs a column");
  for (size_t i = 0; i < count; i++) {
    if (!columns[i].name || !columns[i].name[0]) return fw_fail(err, FURROW_E_ARGUMENT, "a column has no name");
    for (size_t k = 0; k < i; k++)
      if (strcmp(columns[i].name, columns[k].name) == 0)
        return fw_fail(err, FURROW_E_ARGUMENT, "two columns are called %s", columns[i].name);
  }
  return FURROW_OK;
}

static furrow_status open_writer(furrow_table_writer *w, const char *path, const furrow_table_column *columns,
                                 bool overwrite, furrow_error *err) {
  const char *folder = getenv("TMPDIR");
  struct ArrowSchema schema;
  char name[40];
  FW_TRY(check_columns(columns, w->count, err));
  FW_TRY(FW_ALLOC_ZERO(&w->columns, w->count, err));
  for (size_t i = 0; i < w->count; i++) w->columns[i].type = columns[i].type;
  FW_TRY(fw_atomic_file_open(&w->file, path, err));
  if (!overwrite) fw_atomic_file_keep_existing(w->file);
  FW_TRY(fw_temporary_nameless(&w->fd, folder && folder[0] ? folder : "/tmp", err));
  snprintf(name, sizeof name, "/proc/self/fd/%d", w->fd);
  FW_TRY(make_schema(&schema, columns, w->count, err));
  return fw_parquet_out_open(&w->out, name, &schema, err);
}

furrow_status furrow_table_writer_open(furrow_table_writer **writer, const char *path,
                                       const furrow_table_column *columns, size_t count,
                                       const furrow_table_writer_params *params, furrow_error *err) {
  furrow_table_writer_params p;
  furrow_table_writer *w;
  furrow_table_writer_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_table_writer_params, err));
  FW_TRY(FW_ALLOC_ZERO(&w, 1, err));
  w->fd = -1;
  w->count = count;
  const furrow_status status = open_writer(w, path, columns, p.overwrite, err);
  return FW_HAND_OVER(status, writer, w, furrow_table_writer_close);
}

static furrow_status copy_file(furrow_table_writer *w, furrow_error *err) {
  char *piece;
  off_t offset = 0;
  FW_TRY(FW_ALLOC(&piece, PIECE, err));
  furrow_status status = FURROW_OK;
  for (ssize_t n = 1; status == FURROW_OK && n > 0; offset += n > 0 ? n : 0) {
    n = pread(w->fd, piece, PIECE, offset);
    if (n < 0) status = fw_fail_errno(err, FURROW_E_IO, errno, "cannot read the temporary file of a table");
    if (n > 0) status = fw_atomic_file_write(w->file, piece, (size_t)n, err);
  }
  fw_free(piece);
  return status;
}

furrow_status furrow_table_writer_commit(furrow_table_writer *writer, furrow_error *err) {
  FW_TRY(end_batch(writer, err));
  FW_TRY(fw_parquet_out_finish(writer->out, err));
  FW_TRY(copy_file(writer, err));
  return fw_atomic_file_commit(writer->file, err);
}

void furrow_table_writer_close(furrow_table_writer *writer) {
  if (!writer) return;
  fw_parquet_out_close(writer->out);
  for (size_t i = 0; writer->columns && i < writer->count; i++) {
    fw_buffer_clear(&writer->columns[i].valid);
    fw_buffer_clear(&writer->columns[i].ends);
    fw_buffer_clear(&writer->columns[i].values);
  }
  fw_free(writer->columns);
  if (writer->fd >= 0) close(writer->fd);
  fw_atomic_file_close(writer->file);
  fw_free(writer);
}
