/* columns/frames.h: typed columns as a run of bytes, in memory only.
 *
 * Data sets are read as runs of bytes that are cut into pieces of whole records (io/split.h). Tables of typed columns
 * go through the same pipeline as frames: one head with the names of all columns, then batches of at most
 * FW_FRAME_ROWS rows with the values of the columns that are wanted. All numbers are little or big endian as the
 * machine is, each part begins at a multiple of 8 bytes.
 *
 *   head    8 bytes FW_FRAMES_MAGIC; u32 bytes of the head; u32 columns; for each column u32 length and its name;
 *           zeros up to a multiple of 8
 *   batch   u32 FW_FRAME_MAGIC; u32 bytes of the batch; u32 rows; u32 columns; u64 number of the first row (from 0);
 *           for each row u32 its number in the batch: a record begins at its number (zeros up to a multiple of 8);
 *           for each column u32 its number in the head, u32 its type (fw_typed_type), u64 bytes that follow; a byte
 *           for each row, 1: there is a value (zeros up to a multiple of 8); then 8 bytes for each row (16 of a
 *           decimal), or of texts and lists u32 end of each row's bytes, and the bytes (each with zeros up to a
 *           multiple of 8)
 *
 * A reader checks every number against the bytes that there are, as it would for a file. */
#ifndef FW_COLUMNS_FRAMES_H
#define FW_COLUMNS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "furrow/status.h"

#define FW_FRAMES_MAGIC "FWCOLS\x01\n" /* a line end: the first bytes of a file are read up to one */
#define FW_FRAME_MAGIC 0xfc4d5246u     /* larger than any number of a row */
#define FW_FRAME_ROWS 1024
#define FW_LIST_SEPARATOR '\x1f' /* between the elements of a list */

typedef enum fw_typed_kind {
  FW_TYPED_I64,
  FW_TYPED_U64,
  FW_TYPED_F32,
  FW_TYPED_F64,
  FW_TYPED_BOOL,
  FW_TYPED_DECIMAL,   /* 128-bit integer; digits: after the point */
  FW_TYPED_DATE,      /* days since 1970 */
  FW_TYPED_TIME,      /* of the day; digits: of the fraction of a second, 0, 3, 6 or 9 */
  FW_TYPED_TIMESTAMP, /* since 1970; digits as above; zoned: it is a time of UTC */
  FW_TYPED_TEXT,
  FW_TYPED_LIST, /* texts of the elements, FW_LIST_SEPARATOR between them */
  FW_TYPED_KINDS
} fw_typed_kind;

/* A type is one number in a frame. */
typedef struct fw_typed_type {
  uint8_t kind;  /* fw_typed_kind */
  int8_t digits; /* of decimals, times and timestamps */
  uint8_t zoned;
} fw_typed_type;

static inline uint32_t fw_typed_type_pack(fw_typed_type type) {
  return type.kind | (uint32_t)(uint8_t)type.digits << 8 | (uint32_t)type.zoned << 16;
}
/* Returns false if there is no such type. */
bool fw_typed_type_unpack(uint32_t packed, fw_typed_type *type);

/* Whether values are bytes of any number. */
static inline bool fw_typed_is_bytes(fw_typed_type type) {
  return type.kind == FW_TYPED_TEXT || type.kind == FW_TYPED_LIST;
}
static inline size_t fw_typed_width(fw_typed_type type) {
  return type.kind == FW_TYPED_DECIMAL ? 16 : 8;
}
/* Whether values are numbers. */
static inline bool fw_typed_is_number(fw_typed_type type) {
  return type.kind <= FW_TYPED_F64 || type.kind == FW_TYPED_DECIMAL;
}

#define FW_TYPED_TEXT_BYTES 192 /* a decimal of 127 digits after the point and a sign */

/* Writes the text of a value that is not bytes, as a program writes it into csv: 12, 0.1, 1.0, true, 2024-01-31,
 * 2024-01-31 08:30:00.25+00. At most FW_TYPED_TEXT_BYTES bytes; returns their number. */
size_t fw_typed_text(fw_typed_type type, const void *value, char *out);

/* A batch in memory. */
typedef struct fw_frame {
  const char *bytes; /* its first byte */
  size_t size;
  uint32_t rows, columns;
  uint64_t first_row;
  size_t values; /* offset of the first column */
} fw_frame;

/* A column of a batch. */
typedef struct fw_frame_column {
  uint32_t number; /* of its name in the head */
  fw_typed_type type;
  const unsigned char *valid; /* of each row */
  const char *values;         /* of each row; of texts: the ends (u32) */
  const char *text;           /* of texts: their bytes */
  size_t text_size;
} fw_frame_column;

static inline uint32_t fw_frame_u32(const char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}
static inline size_t fw_frame_padded(size_t bytes) {
  return (bytes + 7) & ~(size_t)7;
}

/* Whether the bytes begin with the head of frames. */
bool fw_frames_begin(const char *bytes, size_t size);
/* Reads the head: *size bytes, `columns` names. E_FORMAT. */
furrow_status fw_frames_head(const char *bytes, size_t length, size_t *size, uint32_t *columns, furrow_error *err);
/* Returns the name of the next column of a head, which was checked; *at begins at FW_FRAMES_NAMES. */
#define FW_FRAMES_NAMES 16
const char *fw_frames_name(const char *bytes, size_t *at, size_t *length);

/* Finds the batch with the record that begins at bytes[at], or the batch that begins there; *row is its number.
 * E_FORMAT. */
furrow_status fw_frame_find(fw_frame *frame, uint32_t *row, const char *bytes, size_t length, size_t at,
                            furrow_error *err);
/* Offset of a row's number in its batch. */
static inline size_t fw_frame_row_at(uint32_t row) {
  return 24 + 4 * (size_t)row;
}
/* Reads the column at *at of the batch (frame->values is the first) and moves *at to the next one. E_FORMAT. */
furrow_status fw_frame_next_column(const fw_frame *frame, size_t *at, fw_frame_column *column, furrow_error *err);

/* Returns the length of the whole heads and batches at the front of the bytes. */
size_t fw_frames_cut(const void *state, const char *bytes, size_t length, uint64_t offset);

#endif
