/* model/write/encode_part.h: one partition of a matrix in memory, prepared for encoding in pieces. */
#ifndef FW_MODEL_WRITE_ENCODE_PART_H
#define FW_MODEL_WRITE_ENCODE_PART_H

#include "base/arena.h"
#include "model/write/matrix_writer.h"

/* The elements of one row in the partition. */
typedef struct fw_encode_row {
  int32_t row_id;
  furrow_matrix_row_view view; /* hash partitions: the whole row */
  const size_t *picks;         /* hash partitions: positions of the view's elements that belong here; NULL: all */
  size_t count;                /* number of elements */
} fw_encode_row;

typedef struct fw_encode_part {
  const furrow_matrix_writer *writer;
  const furrow_matrix *matrix;
  size_t part;
  fw_arena arena;
  fw_encode_row *rows;
  int32_t *row_ids; /* ids of the rows */
  uint64_t *counts; /* elementNum of each row */
  uint64_t records; /* records of the partition */
  /* column formats: the columns that are written */
  const int64_t *cols; /* NULL: first_col, first_col + 1, … */
  int64_t first_col;
  const furrow_panel *whole; /* a panel of the matrix with these rows, and these columns from whole_first on */
  size_t whole_first;
  uint64_t state[4]; /* state of the format if pieces are encoded in sequence */
  uint64_t taken;    /* elements of the matrix that belong to the partition */
  furrow_status status;
  furrow_error error;
} fw_encode_part;

/* A range of records, and scratch memory for encoding; used by one thread at a time. */
typedef struct fw_encode_chunk {
  fw_encode_part *part;
  bool sequential; /* the format may keep state */
  size_t row;      /* row formats: the row where it starts */
  uint64_t first, records;
  char *bytes;          /* capacity: records * most */
  void *scratch;        /* FW_ENCODE_SCRATCH elements, or the values of one column if that is more */
  int64_t *col_scratch; /* FW_ENCODE_SCRATCH columns */
  size_t length;        /* out */
  uint64_t lost;        /* out: elements whose column is lost in a format without column ids */
  uint64_t found;       /* out: column formats: elements of the matrix that were written */
  furrow_status status;
  furrow_error error;
} fw_encode_chunk;

#define FW_ENCODE_SCRATCH 4096

/* Fills in the other members of a part whose first three are set; the result is in part->status. */
void fw_encode_part_prepare(fw_encode_part *part);
void fw_encode_part_clear(fw_encode_part *part);
/* Encodes the piece; the result is in piece->status. */
void fw_encode_chunk_run(fw_encode_chunk *piece);

static inline int64_t fw_encode_part_col(const fw_encode_part *part, uint64_t c) {
  return part->cols ? part->cols[c] : part->first_col + (int64_t)c;
}

#endif
