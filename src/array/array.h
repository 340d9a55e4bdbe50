/* array/array.h: files of one dense array: rows of elements of one type, read and written row after row. */
#ifndef FW_ARRAY_ARRAY_H
#define FW_ARRAY_ARRAY_H

#include "array/array_type.h"
#include "array/bytes_in.h"
#include "io/atomic_file.h"

/* How rows lie in a file:
 *   NPY    NumPy's header, then rows
 *   VECS   each row after its count of elements (32 bits)
 *   BIN    counts of rows and of elements of a row (32 bits each), then rows
 * X(name, ending of the file's name, layout, type of the elements; NPY has any) */
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
  FW_ARRAY_AUTO, /* by the ending of the file's name (before .gz, .zst) */
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

/* Of a kind that is not AUTO. */
const fw_array_kind_traits *fw_array_kind_get(fw_array_kind kind);

/* E_ARGUMENT lists the endings there are. */
furrow_status fw_array_kind_of(fw_array_kind *kind, const char *path, furrow_error *err) FURROW_MUST_USE;

#define FW_ARRAY_UNKNOWN UINT64_MAX

typedef struct fw_array_info {
  fw_array_type type;
  uint64_t rows; /* FW_ARRAY_UNKNOWN: a stream of VECS */
  size_t dim;    /* elements of a row; if there are no rows, whatever the header says */
  bool flat;     /* the file has one dimension only: rows of one element */
  bool can_seek;
} fw_array_info;

/* ---- Reading -------------------------------------------------------------------------------------------- */

typedef struct fw_array_reader fw_array_reader;

/* A file, also compressed; "-" is standard input. The counts in its header are checked against its size. A stream
 * cannot be checked: its rows may have FW_ARRAY_STREAM_ROW bytes at most. */
#define FW_ARRAY_STREAM_ROW ((uint64_t)64 << 20)
furrow_status fw_array_open(fw_array_reader **reader, const char *path, fw_array_kind kind,
                            furrow_error *err) FURROW_MUST_USE;
/* The same from bytes, which the reader takes (also when it fails). */
furrow_status fw_array_take(fw_array_reader **reader, fw_bytes_in *in, fw_array_kind kind,
                            furrow_error *err) FURROW_MUST_USE;
/* Elements without any header, little-endian; the bytes are as many as that takes. */
furrow_status fw_array_take_raw(fw_array_reader **reader, fw_bytes_in *in, const fw_array_info *info,
                                furrow_error *err) FURROW_MUST_USE;
void fw_array_close(fw_array_reader *reader);

const fw_array_info *fw_array_get_info(const fw_array_reader *reader);
const char *fw_array_path(const fw_array_reader *reader);

/* Reads up to `rows` rows, elements as they are; *got is less only at the end, where it is seen that the file ends,
 * too.
 */
furrow_status fw_array_read(fw_array_reader *reader, void *out, size_t rows, size_t *got,
                            furrow_error *err) FURROW_MUST_USE;
/* The same, converted to F64, F32, I64 or I32; E_RANGE names an element that does not fit. */
furrow_status fw_array_read_as(fw_array_reader *reader, fw_array_type as, void *out, size_t rows, size_t *got,
                               furrow_error *err) FURROW_MUST_USE;
/* The row that is read next, at most info.rows; E_STATE unless the file can seek. */
furrow_status fw_array_seek(fw_array_reader *reader, uint64_t row, furrow_error *err) FURROW_MUST_USE;
/* Elements first … first+count-1 of a row, converted; the file must be one that can seek. */
furrow_status fw_array_read_part(fw_array_reader *reader, uint64_t row, size_t first, size_t count, fw_array_type as,
                                 void *out, furrow_error *err) FURROW_MUST_USE;
/* All elements of an array that is flat, or has rows of one element, converted; the caller frees them with fw_free. */
furrow_status fw_array_read_flat(fw_array_reader *reader, fw_array_type as, void **elements, size_t *count,
                                 furrow_error *err) FURROW_MUST_USE;

/* ---- Writing -------------------------------------------------------------------------------------------- */

typedef struct fw_array_writer fw_array_writer;

typedef struct fw_array_write_params {
  fw_array_kind kind; /* not AUTO */
  fw_array_type type; /* the kind's, unless it is NPY */
  size_t dim;
  bool flat;     /* NPY with one dimension; dim is 1 */
  uint64_t rows; /* FW_ARRAY_UNKNOWN: counted; not on standard output, unless VECS */
  bool replace;
} fw_array_write_params;

/* The file appears when it is complete. E_RANGE: a count does not fit the file's 32 bits. */
furrow_status fw_array_writer_open(fw_array_writer **writer, const char *path, const fw_array_write_params *params,
                                   furrow_error *err) FURROW_MUST_USE;
/* The next elements, row after row, in pieces of any size. */
furrow_status fw_array_writer_put(fw_array_writer *writer, const void *elements, size_t count,
                                  furrow_error *err) FURROW_MUST_USE;
/* Whole rows so far. */
uint64_t fw_array_writer_rows(const fw_array_writer *writer);
uint64_t fw_array_writer_bytes(const fw_array_writer *writer);
/* All but the name of the file, which still has to be committed: for two files that belong together. E_STATE: not as
 * many rows as announced, or half a row. */
furrow_status fw_array_writer_complete(fw_array_writer *writer, fw_atomic_file **file,
                                       furrow_error *err) FURROW_MUST_USE;
furrow_status fw_array_writer_commit(fw_array_writer *writer, furrow_error *err) FURROW_MUST_USE;
void fw_array_writer_close(fw_array_writer *writer);

#endif
