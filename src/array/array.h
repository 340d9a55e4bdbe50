/* array/array.h: files of one dense array: rows of elements of one type, read and written in order. */
#ifndef FW_ARRAY_ARRAY_H
#define FW_ARRAY_ARRAY_H

#include "array/array_type.h"
#include "array/bytes_in.h"
#include "io/atomic_file.h"

/* The layout of a file:
 *   NPY    NumPy's header, then rows
 *   VECS   each row after its number of elements (32 bits)
 *   BIN    the number of rows and of elements per row (32 bits each), then rows
 * X(name, ending of the file's name, layout, type of the elements; NPY has any type) */
#define FW_ARRAY_KINDS(X)       \
  X(NPY, ".npy", NPY, F32)      \
  X(FVECS, ".fvecs", VECS, F32) \
  X(IVECS, ".ivecs", VECS, I32) \
  X(BVECS, ".bvecs", VECS, U8)  \
  X(FBIN, ".fbin", BIN, F32)    \
  X(IBIN, ".ibin", BIN, I32)    \
  X(U8BIN, ".u8bin", BIN, U8)   \
  X(I8BIN, ".i8bin", BIN, I8)

typedef enum fw_array_kind {
  FW_ARRAY_AUTO, /* decided by the ending of the file's name (before .gz, .zst) */
#define FW_X(name, ending, layout, type) FW_ARRAY_##name,
  FW_ARRAY_KINDS(FW_X)
#undef FW_X
} fw_array_kind;

typedef enum fw_array_layout { FW_ARRAY_LAYOUT_NPY, FW_ARRAY_LAYOUT_VECS, FW_ARRAY_LAYOUT_BIN } fw_array_layout;

#define FW_ARRAY_VECS_PREFIX 4 /* bytes before each row */
#define FW_ARRAY_BIN_HEADER 8

typedef struct fw_array_kind_traits {
  const char *ending;
  fw_array_layout layout;
  fw_array_type type;
} fw_array_kind_traits;

/* The kind must not be AUTO. */
const fw_array_kind_traits *fw_array_kind_get(fw_array_kind kind);

/* E_ARGUMENT lists the supported endings. */
furrow_status fw_array_kind_of(fw_array_kind *kind, const char *path, furrow_error *err) FURROW_MUST_USE;

#define FW_ARRAY_UNKNOWN UINT64_MAX

typedef struct fw_array_info {
  fw_array_type type;
  uint64_t rows; /* FW_ARRAY_UNKNOWN: a stream of VECS */
  size_t dim;    /* elements per row; if there are no rows, as stated in the header */
  bool flat;     /* the file has only one dimension: rows of one element */
  bool can_seek;
} fw_array_info;

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct fw_array_reader fw_array_reader;

/* Opens a file, which may be compressed; "-" is standard input. The counts in its header are checked against its
 * size. They cannot be checked for a stream: its rows may have at most FW_ARRAY_STREAM_ROW bytes. */
#define FW_ARRAY_STREAM_ROW ((uint64_t)64 << 20)
furrow_status fw_array_open(fw_array_reader **reader, const char *path, fw_array_kind kind,
                            furrow_error *err) FURROW_MUST_USE;
/* The same from a byte source, which the reader takes over, even when it fails. */
furrow_status fw_array_take(fw_array_reader **reader, fw_bytes_in *in, fw_array_kind kind,
                            furrow_error *err) FURROW_MUST_USE;
/* Reads elements without a header, little-endian; the source must have exactly the bytes that `info` requires. */
furrow_status fw_array_take_raw(fw_array_reader **reader, fw_bytes_in *in, const fw_array_info *info,
                                furrow_error *err) FURROW_MUST_USE;
void fw_array_close(fw_array_reader *reader);

const fw_array_info *fw_array_get_info(const fw_array_reader *reader);
const char *fw_array_path(const fw_array_reader *reader);

/* Reads up to `rows` rows without conversion; *got is less only at the end, where it also checks that the file ends. */
furrow_status fw_array_read(fw_array_reader *reader, void *out, size_t rows, size_t *got,
                            furrow_error *err) FURROW_MUST_USE;
/* The same, converted to F64, F32, I64 or I32; E_RANGE names an element that does not fit. */
furrow_status fw_array_read_as(fw_array_reader *reader, fw_array_type as, void *out, size_t rows, size_t *got,
                               furrow_error *err) FURROW_MUST_USE;
/* Sets the row to read next, at most info.rows; E_STATE unless the file can seek. */
furrow_status fw_array_seek(fw_array_reader *reader, uint64_t row, furrow_error *err) FURROW_MUST_USE;
/* Reads elements first … first+count-1 of a row, converted; the file must be able to seek. */
furrow_status fw_array_read_part(fw_array_reader *reader, uint64_t row, size_t first, size_t count, fw_array_type as,
                                 void *out, furrow_error *err) FURROW_MUST_USE;
/* Reads all elements of an array that is flat or has rows of one element, converted. Free them with fw_free. */
furrow_status fw_array_read_flat(fw_array_reader *reader, fw_array_type as, void **elements, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;

/* ---- Writing -------------------------------------------------------------------------------------------- */

typedef struct fw_array_writer fw_array_writer;

typedef struct fw_array_write_params {
  fw_array_kind kind; /* not AUTO */
  fw_array_type type; /* the type of the kind, except for NPY */
  size_t dim;
  bool flat;     /* NPY with one dimension; dim is 1 */
  uint64_t rows; /* FW_ARRAY_UNKNOWN: counted while writing; not on standard output, except for VECS */
  bool replace;
} fw_array_write_params;

/* The file appears under its name when it is complete. E_RANGE: a count does not fit the file's 32 bits. */
furrow_status fw_array_writer_open(fw_array_writer **writer, const char *path, const fw_array_write_params *params,
                                   furrow_error *err) FURROW_MUST_USE;
/* Writes the next elements, row after row, in chunks of any size. */
furrow_status fw_array_writer_put(fw_array_writer *writer, const void *elements, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;
/* The number of whole rows so far. */
uint64_t fw_array_writer_rows(const fw_array_writer *writer);
uint64_t fw_array_writer_bytes(const fw_array_writer *writer);
/* Finishes the file except for its name; the caller commits it. For two files that belong together. E_STATE: fewer
 * or more rows than announced, or an incomplete row. */
furrow_status fw_array_writer_complete(fw_array_writer *writer, fw_atomic_file **file,
                                       furrow_error *err) FURROW_MUST_USE;
furrow_status fw_array_writer_commit(fw_array_writer *writer, furrow_error *err) FURROW_MUST_USE;
void fw_array_writer_close(fw_array_writer *writer);

#endif
