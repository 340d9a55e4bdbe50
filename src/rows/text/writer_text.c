/* rows/text/writer_text.c: writes rows as libsvm, libfm and csv. */
#include "rows/text/writer_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "io/recordio.h"

/* A piece is what one call of a put function adds: at most three numbers and the characters between them. */
enum { BUFFER_BYTES = 64 << 10, PIECE_BYTES = 4 * FW_NUMBER_TEXT };

/* A feature of a csv row. */
typedef struct cell {
  uint64_t column;
  size_t at; /* position in the row */
} cell;

typedef struct text_format text_format;

struct fw_text_writer {
  const text_format *format;
  furrow_rows_writer_params params;
  fw_atomic_file *file;
  char *buffer;
  size_t used;
  uint64_t rows;
  uint64_t header_bytes;
  bool records;             /* RecordIO: a record for every line */
  fw_buffer record, framed; /* the line that has not ended, and records to write */
  bool has_label;           /* csv: whether rows have a label; decided by the first row */
  cell *cells;              /* csv: the features of one row, by column */
  size_t cell_capacity;
};

struct text_format {
  const char *name;
  /* Rejects blocks that the format cannot express. Row i of the block is row `rows + i` of the file. */
  furrow_status (*check_block)(const fw_text_writer *w, const furrow_rowblock *block, furrow_error *err);
  furrow_status (*check_row)(fw_text_writer *w, const furrow_row *row, uint64_t number, furrow_error *err);
  furrow_status (*write_row)(fw_text_writer *w, const furrow_row *row, furrow_error *err);
};

/* ---- Pieces of text ------------------------------------------------------------------------------------- */

static furrow_status write_records(fw_text_writer *w, furrow_error *err) {
  fw_buffer_reset(&w->framed);
  fw_recordio_from_lines(&w->framed, &w->record, w->buffer, w->used);
  FW_TRY(fw_buffer_status(&w->framed, err));
  return fw_atomic_file_write(w->file, w->framed.bytes, w->framed.size, err);
}

static furrow_status flush_rows(fw_text_writer *w, furrow_error *err) {
  furrow_status status = w->records ? write_records(w, err) : fw_atomic_file_write(w->file, w->buffer, w->used, err);
  if (status == FURROW_OK) w->used = 0;
  return status;
}

/* Reserves space for one piece. */
static inline furrow_status reserve_piece(fw_text_writer *w, furrow_error *err) {
  return BUFFER_BYTES - w->used >= PIECE_BYTES ? FURROW_OK : flush_rows(w, err);
}

static inline void put_char(fw_text_writer *w, char c) {
  w->buffer[w->used++] = c;
}

static inline void put_u64(fw_text_writer *w, uint64_t v) {
  w->used += fw_write_u64(w->buffer + w->used, v);
}

static inline void put_f32(fw_text_writer *w, float v) {
  w->used += fw_write_f32(w->buffer + w->used, v);
}

static inline void put_value(fw_text_writer *w, furrow_values values, furrow_value_type type, size_t i) {
  if (type == FURROW_VALUE_F32) {
    put_f32(w, values.f32[i]);
  } else {
    w->used += fw_write_i64(w->buffer + w->used, type == FURROW_VALUE_I32 ? values.i32[i] : values.i64[i]);
  }
}

/* ---- libsvm, libfm -------------------------------------------------------------------------------------- */

static furrow_status check_label(const fw_text_writer *w, const furrow_rowblock *block, furrow_error *err) {
  if (block->label.any) return FURROW_OK;
  const furrow_status status =
      fw_fail(err, FURROW_E_UNSUPPORTED, "a row without a label cannot be written as %s", w->params.format);
  fw_error_set_hint(err, "the argument label_column says where a csv has its labels");
  return status;
}

static furrow_status check_libsvm_block(const fw_text_writer *w, const furrow_rowblock *block, furrow_error *err) {
  if (block->field.any && !w->params.drop_fields) {
    const furrow_status status = fw_fail(err, FURROW_E_UNSUPPORTED, "fields cannot be written as libsvm");
    fw_error_set_hint(err, "write libfm, or drop the fields");
    return status;
  }
  return check_label(w, block, err);
}

static furrow_status check_libfm_block(const fw_text_writer *w, const furrow_rowblock *block, furrow_error *err) {
  if (block->qid) return fw_fail(err, FURROW_E_UNSUPPORTED, "a qid cannot be written as %s", w->params.format);
  return check_label(w, block, err);
}

static furrow_status check_sparse_row(fw_text_writer *w, const furrow_row *row, uint64_t number, furrow_error *err) {
  uint64_t limit = UINT64_MAX - w->params.index_base;
  if (row->key_type == FURROW_KEY_U32 || w->params.index_base == 0) return FURROW_OK;
  for (size_t i = 0; i < row->length; i++) {
    if (row->index.u64[i] > limit || furrow_row_get_field(row, i) > limit) {
      return fw_fail(err, FURROW_E_RANGE, "an index or field of row %" PRIu64 " is too large to add %u to", number,
                     w->params.index_base);
    }
  }
  return FURROW_OK;
}

/* label[:weight] [qid:n] */
static void put_row_head(fw_text_writer *w, const furrow_row *row, bool with_qid) {
  put_value(w, row->label, row->value_type, 0);
  if (row->weight) {
    put_char(w, ':');
    put_f32(w, *row->weight);
  }
  if (row->qid && with_qid) {
    memcpy(w->buffer + w->used, " qid:", 5);
    w->used += 5;
    put_u64(w, *row->qid);
  }
}

/* Writes features as [field:]index[:value]. */
static inline furrow_status write_sparse_row(fw_text_writer *w, const furrow_row *row, bool fields, furrow_error *err) {
  uint64_t base = w->params.index_base;
  furrow_status status = reserve_piece(w, err);
  if (status != FURROW_OK) return status;
  put_row_head(w, row, !fields);
  for (size_t i = 0; i < row->length; i++) {
    status = reserve_piece(w, err);
    if (status != FURROW_OK) return status;
    put_char(w, ' ');
    if (fields) {
      put_u64(w, furrow_row_get_field(row, i) + base);
      put_char(w, ':');
    }
    put_u64(w, furrow_row_get_index(row, i) + base);
    if (row->value.any) {
      put_char(w, ':');
      put_value(w, row->value, row->value_type, i);
    }
  }
  status = reserve_piece(w, err);
  if (status == FURROW_OK) put_char(w, '\n');
  return status;
}

static furrow_status write_libsvm_row(fw_text_writer *w, const furrow_row *row, furrow_error *err) {
  return write_sparse_row(w, row, false, err);
}

static furrow_status write_libfm_row(fw_text_writer *w, const furrow_row *row, furrow_error *err) {
  return write_sparse_row(w, row, true, err);
}

/* ---- csv ------------------------------------------------------------------------------------------------ */

static furrow_status check_csv_block(const fw_text_writer *w, const furrow_rowblock *block, furrow_error *err) {
  if (block->qid) return fw_fail(err, FURROW_E_UNSUPPORTED, "a qid cannot be written as csv");
  if (block->field.any) return fw_fail(err, FURROW_E_UNSUPPORTED, "fields cannot be written as csv");
  if (block->weight && !w->params.with_weight) {
    return fw_fail(err, FURROW_E_UNSUPPORTED, "rows with a weight need a csv with a weight column (with_weight)");
  }
  if (w->rows && w->has_label != (block->label.any != NULL)) {
    return fw_fail(err, FURROW_E_STATE, "rows with and without a label cannot be in one csv");
  }
  return FURROW_OK;
}

static int compare_cells(const void *a, const void *b) {
  uint64_t x = ((const cell *)a)->column, y = ((const cell *)b)->column;
  return (x > y) - (x < y);
}

/* Sorts the features of a row into w->cells, by column; check_csv_row has reserved them. */
static void order_cells(fw_text_writer *w, const furrow_row *row) {
  bool ordered = true;
  for (size_t i = 0; i < row->length; i++) {
    w->cells[i] = (cell){.column = furrow_row_get_index(row, i), .at = i};
    if (i) ordered &= w->cells[i - 1].column <= w->cells[i].column;
  }
  if (!ordered) qsort(w->cells, row->length, sizeof *w->cells, compare_cells);
}

static furrow_status check_csv_row(fw_text_writer *w, const furrow_row *row, uint64_t number, furrow_error *err) {
  const furrow_status status = FW_GROW(&w->cells, &w->cell_capacity, row->length, err);
  if (status != FURROW_OK) return status;
  order_cells(w, row);
  for (size_t i = 1; i < row->length; i++) {
    if (w->cells[i].column == w->cells[i - 1].column) {
      return fw_fail(err, FURROW_E_UNSUPPORTED, "index %" PRIu64 " twice in row %" PRIu64 " cannot be written as csv",
                     w->cells[i].column, number);
    }
  }
  if (row->length && w->cells[row->length - 1].column >= w->params.columns) {
    return fw_fail(err, FURROW_E_RANGE, "index %" PRIu64 " of row %" PRIu64 " is beyond the %" PRIu64 " columns",
                   w->cells[row->length - 1].column, number, w->params.columns);
  }
  if (row->weight && *row->weight != *row->weight) { /* csv readers take nan for a missing weight */
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the weight of row %" PRIu64 ", nan, cannot be written as csv", number);
  }
  return FURROW_OK;
}

/* Writes a name of any length, quoted if a reader would misunderstand it otherwise. */
static furrow_status write_name(fw_text_writer *w, const char *name, furrow_error *err) {
  const char special[] = {w->params.delimiter, '"', '#', ' ', '\t', 0};
  const bool quote = name[0] == 0 || strpbrk(name, special) != NULL;
  if (strpbrk(name, "\r\n"))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a column name with a line break cannot be written as csv");
  furrow_status status = reserve_piece(w, err);
  if (status == FURROW_OK && quote) put_char(w, '"');
  for (; status == FURROW_OK && *name; name++) {
    if (*name == '"') put_char(w, '"');
    put_char(w, *name);
    status = reserve_piece(w, err);
  }
  if (status == FURROW_OK && quote) put_char(w, '"');
  return status;
}

static furrow_status write_csv_header(fw_text_writer *w, bool has_label, furrow_error *err) {
  const char *const specials[2] = {has_label ? "label" : NULL, w->params.with_weight ? "weight" : NULL};
  furrow_status status = FURROW_OK;
  bool first = true;
  for (size_t i = 0; status == FURROW_OK && i < 2; i++) {
    if (!specials[i]) continue;
    if (!first) put_char(w, w->params.delimiter);
    first = false;
    status = write_name(w, specials[i], err);
  }
  for (uint64_t column = 0; status == FURROW_OK && column < w->params.columns; column++) {
    char number[32];
    const char *name = w->params.names ? w->params.names[column] : NULL;
    snprintf(number, sizeof number, "f%" PRIu64, column);
    if (!first) put_char(w, w->params.delimiter);
    first = false;
    status = write_name(w, name ? name : number, err);
  }
  if (status == FURROW_OK) put_char(w, '\n');
  return status;
}

static furrow_status write_csv_cells(fw_text_writer *w, const furrow_row *row, furrow_error *err) {
  const char delimiter = w->params.delimiter;
  size_t next = 0;
  order_cells(w, row);
  for (uint64_t column = 0; column < w->params.columns; column++) {
    FW_TRY(reserve_piece(w, err));
    if (column) put_char(w, delimiter);
    if (next < row->length && w->cells[next].column == column) {
      if (row->value.any) {
        put_value(w, row->value, row->value_type, w->cells[next].at);
      } else {
        put_char(w, '1');
      }
      next++;
    } else if (!w->params.zeros_missing) {
      put_char(w, '0');
    }
  }
  return FURROW_OK;
}

static furrow_status write_csv_row(fw_text_writer *w, const furrow_row *row, furrow_error *err) {
  furrow_status status = reserve_piece(w, err);
  if (status != FURROW_OK) return status;
  if (row->label.any) {
    put_value(w, row->label, row->value_type, 0);
    put_char(w, w->params.delimiter);
  }
  if (w->params.with_weight) {
    put_f32(w, furrow_row_get_weight(row));
    put_char(w, w->params.delimiter);
  }
  status = write_csv_cells(w, row, err);
  if (status == FURROW_OK) status = reserve_piece(w, err);
  if (status != FURROW_OK) return status;
  /* One column without a cell: an empty line would not be a row. A delimiter at the end of a line does not add a
   * cell. */
  bool no_byte = !row->label.any && !w->params.with_weight && w->params.columns == 1 && row->length == 0;
  if (no_byte && w->params.zeros_missing) put_char(w, w->params.delimiter);
  put_char(w, '\n');
  return status;
}

/* ---- The writer ----------------------------------------------------------------------------------------- */

static const text_format formats[] = {
    {"libsvm", check_libsvm_block, check_sparse_row, write_libsvm_row},
    {"libfm", check_libfm_block, check_sparse_row, write_libfm_row},
    {"libffm", check_libfm_block, check_sparse_row, write_libfm_row},
    {"csv", check_csv_block, check_csv_row, write_csv_row},
};

const char fw_text_writer_names[] = "libsvm, libfm, libffm, csv";

static const text_format *find_format(const char *name) {
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (strcmp(formats[i].name, name) == 0) return &formats[i];
  }
  return NULL;
}

static bool is_csv(const text_format *format) {
  return format->check_row == check_csv_row;
}

bool fw_text_writer_knows(const char *format) {
  return find_format(format) != NULL;
}

furrow_status fw_text_writer_check(const furrow_rows_writer_params *params, bool records, furrow_error *err) {
  if (params->index_base > 1) return fw_fail(err, FURROW_E_ARGUMENT, "index_base must be 0 or 1");
  if (!is_csv(find_format(params->format))) return FURROW_OK;
  if (records && params->header)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "RecordIO (.rec) has no place for the header of a csv: write it without one");
  if (params->columns == 0) return fw_fail(err, FURROW_E_ARGUMENT, "csv needs the number of feature columns (columns)");
  if (!strchr(",;|\t :!$%*/=@^_`~", params->delimiter) || params->delimiter == 0) {
    return fw_fail(err, FURROW_E_ARGUMENT, "delimiter must be a sign that no number, quote or line end has in it");
  }
  return FURROW_OK;
}

furrow_status fw_text_writer_open(fw_text_writer **writer, fw_atomic_file *file,
                                  const furrow_rows_writer_params *params, bool records, furrow_error *err) {
  fw_text_writer *w = NULL;
  furrow_status status = FW_ALLOC_ZERO(&w, 1, err);
  if (status == FURROW_OK) status = FW_ALLOC(&w->buffer, BUFFER_BYTES, err);
  if (status != FURROW_OK) {
    fw_free(w);
    fw_atomic_file_close(file);
    return status;
  }
  w->format = find_format(params->format);
  w->params = *params;
  w->params.format = w->format->name;
  w->file = file;
  w->records = records;
  *writer = w;
  return FURROW_OK;
}

/* Checks everything that can be wrong with a block before any of it is written. */
static furrow_status check_block(fw_text_writer *w, const furrow_rowblock *block, furrow_error *err) {
  furrow_status status = w->format->check_block(w, block, err);
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    status = w->format->check_row(w, &row, w->rows + i, err);
  }
  return status;
}

furrow_status fw_text_writer_push(fw_text_writer *writer, const furrow_rowblock *block, furrow_error *err) {
  fw_text_writer *w = writer;
  if (block->size == 0) return FURROW_OK;
  furrow_status status = check_block(w, block, err);
  if (status != FURROW_OK) return status;
  if (w->rows == 0) {
    w->has_label = block->label.any != NULL;
    if (is_csv(w->format) && w->params.header) status = write_csv_header(w, w->has_label, err);
    w->header_bytes = fw_atomic_file_size(w->file) + w->used;
  }
  for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    status = w->format->write_row(w, &row, err);
  }
  w->rows += block->size;
  return status == FURROW_OK ? flush_rows(w, err)
                             : status; /* rows that were accepted must not be lost if no commit follows on stdout */
}

/* What a rank sends to the others before they join their parts. */
typedef struct part_facts {
  uint8_t has_rows, has_label;
} part_facts;

/* Finds the first rank with rows, which keeps its header; `ranks` if no rank has rows. */
static furrow_status find_first(const fw_text_writer *w, unsigned *first, furrow_error *err) {
  const furrow_comm *comm = w->params.comm;
  const part_facts mine = {w->rows > 0, w->has_label};
  void *memory = NULL;
  size_t bytes = 0;
  *first = comm->ranks;
  FW_TRY(fw_comm_gather_all(comm, &mine, sizeof mine, &memory, &bytes, NULL, err));
  const part_facts *all = memory;
  bool mixed = false;
  for (unsigned r = 0; r < comm->ranks; r++) {
    if (!all[r].has_rows) continue;
    if (*first == comm->ranks) *first = r;
    mixed |= all[r].has_label != all[*first].has_label;
  }
  fw_free(memory);
  return mixed && is_csv(w->format) ? fw_fail(err, FURROW_E_STATE, "rows with and without a label cannot be in one csv")
                                    : FURROW_OK;
}

furrow_status fw_text_writer_complete(fw_text_writer *writer, fw_atomic_file **file, furrow_error *err) {
  const furrow_comm *comm = writer->params.comm;
  furrow_status status = FURROW_OK;
  unsigned first = 0;
  if (comm) FW_TRY(find_first(writer, &first, err));
  const bool empty = comm ? fw_comm_is_first(comm) && first == comm->ranks : writer->rows == 0;
  if (empty && is_csv(writer->format) && writer->params.header) status = write_csv_header(writer, true, err);
  if (status == FURROW_OK) status = flush_rows(writer, err); /* writes a header */
  const uint64_t skip = comm && comm->rank != first ? writer->header_bytes : 0;
  *file = writer->file;
  return fw_atomic_file_join(writer->file, status, skip, err);
}

void fw_text_writer_close(fw_text_writer *writer) {
  if (!writer) return;
  fw_atomic_file_close(writer->file);
  fw_free(writer->buffer);
  fw_free(writer->cells);
  fw_buffer_clear(&writer->record);
  fw_buffer_clear(&writer->framed);
  fw_free(writer);
}
