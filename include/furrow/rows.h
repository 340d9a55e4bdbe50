/* furrow/rows.h: sparse samples.
 *
 * The shortest use: every row of a data set, whatever its format.
 *
 *   furrow_parser *parser = NULL;
 *   furrow_error err;
 *   furrow_status status = furrow_parser_open_part(&parser, "train.libsvm", 0, 1, "auto", &err);
 *   const furrow_rowblock *block;
 *   while (status == FURROW_OK && (status = furrow_parser_next_block(parser, &block, &err)) == FURROW_OK) {
 *     for (size_t i = 0; i < block->size; i++) {
 *       furrow_row row = furrow_rowblock_row(block, i);
 *       ...
 *     }
 *   }
 *   furrow_parser_close(parser);   (status is FURROW_END when all went well)
 *
 * The names follow dmlc-core's data layer: Row, RowBlock, RowBlockContainer, Parser, RowBlockIter. docs/formats/rows.md
 * says what each text format allows.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of it.
 * Different handles are independent. Functions without a handle may be called from any thread. Views (furrow_row,
 * furrow_rowblock) borrow their arrays.
 */
#ifndef FURROW_ROWS_H
#define FURROW_ROWS_H

#include <stdbool.h>
#include <string.h>

#include "furrow/comm.h"
#include "furrow/io.h"
#include "furrow/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types -------------------------------------------------------------------------------------- */

/* X(name, C type, text): the types of a feature's index and field */
#define FURROW_KEY_TYPES(X) \
  X(U32, uint32_t, "u32")   \
  X(U64, uint64_t, "u64")

/* X(name, C type, text): the types of a feature's value and of a row's label */
#define FURROW_VALUE_TYPES(X) \
  X(F32, float, "f32")        \
  X(I32, int32_t, "i32")      \
  X(I64, int64_t, "i64")

/* The type of indices and fields. */
typedef enum furrow_key_type {
#define FURROW_X(name, type, text) FURROW_KEY_##name,
  FURROW_KEY_TYPES(FURROW_X)
#undef FURROW_X
} furrow_key_type;

/* The type of values and labels. */
typedef enum furrow_value_type {
#define FURROW_X(name, type, text) FURROW_VALUE_##name,
  FURROW_VALUE_TYPES(FURROW_X)
#undef FURROW_X
} furrow_value_type;

/* Returns: bytes of one element; 0 for a number that is not a type. */
FURROW_API size_t furrow_key_size(furrow_key_type type);
FURROW_API size_t furrow_value_size(furrow_value_type type);
/* Returns: "u32", "f32" …; "?" for a number that is not a type.
 * Owner:   the library; valid for ever. */
FURROW_API const char *furrow_key_type_name(furrow_key_type type);
FURROW_API const char *furrow_value_type_name(furrow_value_type type);
/* Finds the type with that name.
 * Errors:  E_ARGUMENT, there is none; the message lists the names. */
FURROW_API furrow_status furrow_key_type_find(const char *name, furrow_key_type *type,
                                              furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_value_type_find(const char *name, furrow_value_type *type,
                                                furrow_error *err) FURROW_MUST_USE;

/* A borrowed array of indices or fields; the key_type of the same struct says which member is valid. Layout fixed. */
typedef union furrow_keys {
  const void *any;     /* NULL: the array is absent */
  const uint32_t *u32; /* FURROW_KEY_U32 */
  const uint64_t *u64; /* FURROW_KEY_U64 */
} furrow_keys;

/* A borrowed array of values or labels; the value_type of the same struct says which member is valid. Layout fixed. */
typedef union furrow_values {
  const void *any;    /* NULL: the array is absent */
  const float *f32;   /* FURROW_VALUE_F32 */
  const int32_t *i32; /* FURROW_VALUE_I32 */
  const int64_t *i64; /* FURROW_VALUE_I64 */
} furrow_values;

/* ---- Row ------------------------------------------------------------------------------------------------ */

/* One sample, borrowed from a block. Layout fixed. */
typedef struct furrow_row {
  furrow_values label;          /* one element; absent only in csv without a label column and in rows in memory */
  const float *weight;          /* one element; NULL: 1 */
  const uint64_t *qid;          /* one element; NULL: 0 */
  size_t length;                /* number of features */
  furrow_keys field;            /* length elements; absent when the format has no fields */
  furrow_keys index;            /* length elements, in the order of the text */
  furrow_values value;          /* length elements; absent: all are 1 */
  furrow_key_type key_type;     /* type of field and index */
  furrow_value_type value_type; /* type of label and value */
} furrow_row;

/* Returns: element i of an array, which must not be absent. */
FURROW_INLINE uint64_t furrow_keys_get(furrow_keys a, furrow_key_type type, size_t i) {
  return type == FURROW_KEY_U32 ? a.u32[i] : a.u64[i];
}
/* Returns: element i of an array, which must not be absent, as a double: integers beyond 2^53 are rounded, so read
 *          a.i64 itself. */
FURROW_INLINE double furrow_values_get(furrow_values a, furrow_value_type type, size_t i) {
  if (type == FURROW_VALUE_F32) return a.f32[i];
  if (type == FURROW_VALUE_I32) return a.i32[i];
  return (double)a.i64[i];
}

/* Returns: the field of feature i, which must be below row->length; 0 in a row without fields. */
FURROW_INLINE uint64_t furrow_row_get_field(const furrow_row *row, size_t i) {
  return row->field.any ? furrow_keys_get(row->field, row->key_type, i) : 0;
}
/* Returns: the index of feature i, which must be below row->length. */
FURROW_INLINE uint64_t furrow_row_get_index(const furrow_row *row, size_t i) {
  return furrow_keys_get(row->index, row->key_type, i);
}
/* Returns: the value of feature i, which must be below row->length; 1 in a row without values. */
FURROW_INLINE double furrow_row_get_value(const furrow_row *row, size_t i) {
  return row->value.any ? furrow_values_get(row->value, row->value_type, i) : 1.0;
}
/* Returns: the label; 0 in a row without one. */
FURROW_INLINE double furrow_row_get_label(const furrow_row *row) {
  return row->label.any ? furrow_values_get(row->label, row->value_type, 0) : 0.0;
}
/* Returns: the weight; 1 in a row without one. */
FURROW_INLINE float furrow_row_get_weight(const furrow_row *row) {
  return row->weight ? *row->weight : 1.0F;
}
/* Returns: the qid; 0 in a row without one. */
FURROW_INLINE uint64_t furrow_row_get_qid(const furrow_row *row) {
  return row->qid ? *row->qid : 0;
}

/* Adds up weights[index] * value over the features, in their order and in the type of the weights; an index that occurs
 * twice counts twice.
 * Errors:  E_RANGE, an index is not below n (the message names it). */
FURROW_API furrow_status furrow_row_dot_f32(const furrow_row *row, const float *weights, size_t n, float *dot,
                                            furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_row_dot_f64(const furrow_row *row, const double *weights, size_t n, double *dot,
                                            furrow_error *err) FURROW_MUST_USE;

/* ---- Row block ------------------------------------------------------------------------------------------ */

/* A batch of rows in columns, borrowed. Features of row i are at offset[i] … offset[i+1]-1 of field, index and value;
 * offset[0] need not be 0 (a slice keeps the arrays of the whole). Absent arrays mean what they mean in furrow_row.
 * Whether an array is absent may differ from block to block: a block in which no row has a weight has no weights,
 * though the next block may have them. Layout fixed. */
typedef struct furrow_rowblock {
  size_t size;                  /* number of rows */
  const uint64_t *offset;       /* size + 1 elements */
  furrow_values label;          /* size elements */
  const float *weight;          /* size elements; NULL: absent */
  const uint64_t *qid;          /* size elements; NULL: absent */
  furrow_keys field;            /* elements up to offset[size] */
  furrow_keys index;            /* elements up to offset[size] */
  furrow_values value;          /* elements up to offset[size] */
  furrow_key_type key_type;     /* type of field and index */
  furrow_value_type value_type; /* type of label and value */
} furrow_rowblock;

/* Returns: row i, which must be below block->size (asserted). It borrows the arrays of the block. */
FURROW_API furrow_row furrow_rowblock_row(const furrow_rowblock *block, size_t i);
/* Gives rows begin … end-1 as a block that borrows the same arrays.
 * Errors:  E_ARGUMENT, unless begin <= end <= size. */
FURROW_API furrow_status furrow_rowblock_slice(const furrow_rowblock *block, size_t begin, size_t end,
                                               furrow_rowblock *slice, furrow_error *err) FURROW_MUST_USE;
/* Returns: bytes that the rows of the block take in its arrays. */
FURROW_API size_t furrow_rowblock_memory_cost(const furrow_rowblock *block);

/* ---- Row block container -------------------------------------------------------------------------------- */

/* Owns the arrays of a growing block. */
typedef struct furrow_container furrow_container;

/* Makes an empty container of these types.
 * Errors:  E_ARGUMENT, a number that is not a type; E_MEMORY.
 * Owner:   the caller, furrow_container_free. */
FURROW_API furrow_status furrow_container_create(furrow_container **container, furrow_key_type key_type,
                                                 furrow_value_type value_type, furrow_error *err) FURROW_MUST_USE;
/* Frees a container. Takes NULL. */
FURROW_API void furrow_container_free(furrow_container *container);
/* Removes the rows and keeps the memory for the next ones. */
FURROW_API void furrow_container_clear(furrow_container *container);

/* Appends a copy of a row or a block. Types may differ if every element fits. Arrays that only some rows have are
 * filled up for the others: weight 1, qid 0, field 0, value 1. On failure the container is unchanged.
 * Errors:  E_RANGE, an element does not fit the type (the message names it); E_STATE, only some rows have a label;
 *          E_MEMORY. */
FURROW_API furrow_status furrow_container_push_row(furrow_container *container, const furrow_row *row,
                                                   furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_container_push_block(furrow_container *container, const furrow_rowblock *block,
                                                     furrow_error *err) FURROW_MUST_USE;

/* Gives the rows as a block, valid until the container changes.
 * Errors:  E_STATE, the columns do not agree. */
FURROW_API furrow_status furrow_container_get_block(const furrow_container *container, furrow_rowblock *block,
                                                    furrow_error *err) FURROW_MUST_USE;

/* Returns: the number of rows. */
FURROW_API size_t furrow_container_size(const furrow_container *container);
/* Returns: the largest field or index; 0 if there are no features. */
FURROW_API uint64_t furrow_container_max_field(const furrow_container *container);
FURROW_API uint64_t furrow_container_max_index(const furrow_container *container);
/* Returns: bytes of memory that the arrays take. */
FURROW_API size_t furrow_container_memory_cost(const furrow_container *container);

/* Writes the container as a row cache file (docs/formats/row_cache.md: a header of Furrow's, then dmlc-core's bytes),
 * which appears complete or not at all.
 * Errors:  E_EXISTS, there is a file and `overwrite` is false; E_NOT_FOUND, there is no such directory; E_IO; E_MEMORY.
 */
FURROW_API furrow_status furrow_container_save(const furrow_container *container, const char *path, bool overwrite,
                                               furrow_error *err) FURROW_MUST_USE;
/* Replaces the rows of the container by the rows of a row cache file. On failure the container is unchanged.
 * Errors:  E_FORMAT, the file is not a row cache, is damaged or cut short; E_ARGUMENT, it holds other types;
 *          E_NOT_FOUND; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_container_load(furrow_container *container, const char *path,
                                               furrow_error *err) FURROW_MUST_USE;

/* ---- Parser --------------------------------------------------------------------------------------------- */

/* Reads a data set block by block. */
typedef struct furrow_parser furrow_parser;

/* What to do with a row that cannot be read. */
typedef enum furrow_on_bad {
  FURROW_ON_BAD_ERROR, /* reading ends with an error that has its place and token */
  FURROW_ON_BAD_SKIP   /* the row is left out and counted (furrow_parser_stats) */
} furrow_on_bad;

/* How to read a data set. */
typedef struct furrow_parser_params {
  size_t size;                  /* set by furrow_parser_params_init */
  const char *format;           /* "libsvm", "libfm", "libffm", "csv", "dummy", "dense", a registered name, or "auto" */
  uint32_t part, nparts;        /* read part `part` of `nparts`: 0 of 1 */
  furrow_key_type key_type;     /* u32 */
  furrow_value_type value_type; /* f32 */
  uint32_t threads; /* threads that parse, including the caller's; 0: one for each processor; 1: only the caller's */
  furrow_on_bad on_bad;  /* error */
  size_t chunk_bytes;    /* bytes of text per block; 0: the default, 512 KiB. Nothing else decides where blocks end */
  size_t max_line_bytes; /* how far a line or record may reach past its chunk; 0: the default, 128 MiB */
  bool whole_chunks; /* parts end at chunk boundaries of the whole data, so that all parts together have the same blocks
                        as the whole; a part may then have no rows. false: parts are as equal as possible */
} furrow_parser_params;

/* Sets the size and the defaults. */
static inline void furrow_parser_params_init(furrow_parser_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->format = "auto";
  params->nparts = 1;
}

/* Opens `uri` = path[;path]…[?key=value[&key=value]…][#cachefile]. A path is a file, a directory (its files by name), a
 * glob, - (stdin), file://…, memory://… (furrow_memory_file_add, furrow_memory_rows_add), http://…, https://…, s3://…,
 * gs://…, or name://… of a file system (furrow_file_system_register); gzip, zstd, xz, bzip2 and lz4 are recognised by
 * content. Keys are the format's arguments (docs/formats/rows.md) and `format`. The cachefile is for furrow_blockiter;
 * a parser ignores it. params NULL: the defaults. When it returns, nothing has been parsed yet, but the format that
 * "auto" chose is known.
 * Errors:  E_ARGUMENT, the URI, a parameter or an argument of the format is wrong; E_NOT_FOUND, a path has no file;
 *          E_FORMAT, the data is not text, would be misread without an error (the hint says how it is read), or lacks
 *          a column that is named; E_PARSE, a csv's header is malformed; E_UNSUPPORTED, a compression or a file system
 *          that is not known; E_IO; E_MEMORY; and the errors of the program's own formats and file systems.
 * Owner:   the caller, furrow_parser_close. */
FURROW_API furrow_status furrow_parser_open(furrow_parser **parser, const char *uri, const furrow_parser_params *params,
                                            furrow_error *err) FURROW_MUST_USE;
/* Opens a part as furrow_parser_open does, with the defaults for everything else.
 * Errors:  as furrow_parser_open.
 * Owner:   the caller, furrow_parser_close. */
FURROW_API furrow_status furrow_parser_open_part(furrow_parser **parser, const char *uri, uint32_t part,
                                                 uint32_t nparts, const char *format,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Stops the threads and frees the parser. Takes NULL. */
FURROW_API void furrow_parser_close(furrow_parser *parser);

/* Reads the next block that has rows. An error stays until furrow_parser_rewind.
 * Errors:  END after the last row; E_PARSE or E_RANGE, a row that cannot be read (err has its line, column and token);
 *          E_FORMAT, compressed data is damaged; E_STATE, a pipe is read twice, or the process was forked while threads
 *          read; E_IO; E_MEMORY.
 * Owner:   the parser; *block is valid until the next call of next_block, next, rewind or close. */
FURROW_API furrow_status furrow_parser_next_block(furrow_parser *parser, const furrow_rowblock **block,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Moves to the next block that has rows, which furrow_parser_value returns. An error stays until furrow_parser_rewind.
 * Errors:  END after the last row; E_PARSE or E_RANGE, a row that cannot be read (err has its line, column and token);
 *          E_FORMAT, compressed data is damaged; E_STATE, a pipe is read twice, or the process
 *          was forked while threads read; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_parser_next(furrow_parser *parser, furrow_error *err) FURROW_MUST_USE;
/* Returns: the block; NULL when there is none.
 * Owner:   the parser; valid until the next call of next, rewind or close. */
FURROW_API const furrow_rowblock *furrow_parser_value(const furrow_parser *parser);
/* Starts again at the first row of the part.
 * Errors:  E_STATE, standard input, a pipe, a stream, or a reader that cannot go back. */
FURROW_API furrow_status furrow_parser_rewind(furrow_parser *parser, furrow_error *err) FURROW_MUST_USE;

/* What has been read since open or rewind. Counts are of the blocks handed out so far. */
typedef struct furrow_parser_stats {
  size_t size;                /* set by furrow_parser_stats_init */
  uint64_t rows;              /* rows handed out */
  uint64_t features;          /* number of their features */
  uint64_t bytes;             /* bytes of text, uncompressed; 0 for rows that are not parsed */
  uint64_t bad_rows;          /* rows left out by FURROW_ON_BAD_SKIP */
  uint64_t ignored;           /* pieces of text without a meaning that were skipped (a word without a number …) */
  furrow_error first_bad;     /* place of the first one, if bad_rows > 0 */
  furrow_error first_ignored; /* place of the first one, if ignored > 0 */
  uint64_t recoded;           /* cells of tables that are not UTF-8 and were read as Windows-1252 */
  uint64_t side_weights;      /* training and scoring: rows whose weights are from the file DATA.weight */
  uint64_t side_groups;       /* training and scoring: groups of rows that are from the file DATA.query */
} furrow_parser_stats;

/* Sets the size, and everything else to 0. */
static inline void furrow_parser_stats_init(furrow_parser_stats *stats) {
  memset(stats, 0, sizeof *stats);
  stats->size = sizeof *stats;
}

/* Fills in the stats, which must be initialised. */
FURROW_API void furrow_parser_get_stats(const furrow_parser *parser, furrow_parser_stats *stats);
/* Compares the names and sizes of the files of a URI between the ranks of a job, before each rank reads its part. All
 * ranks call it and get the same answer. Files that a rank cannot examine are ignored: opening them reports the error.
 * Errors:  E_STALE, ranks see different files (the message names one); the errors of the communicator; E_MEMORY. */
FURROW_API furrow_status furrow_rows_compare_files(const char *uri, const furrow_comm *comm,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Returns: bytes of text parsed into the blocks handed out so far. */
FURROW_API uint64_t furrow_parser_bytes_read(const furrow_parser *parser);
/* Returns: bytes of the part's files on disk, or furrow_parser_bytes_read if that is more (compressed files, a last
 *          line that ends after the part); 0 when unknown (stdin, rows that are not parsed). For progress. */
FURROW_API uint64_t furrow_parser_bytes_total(const furrow_parser *parser);
/* Returns: the name of the format, or the reason for choosing it ("given", "argument format=csv", "content: …").
 * Owner:   the parser; valid until it is closed. */
FURROW_API const char *furrow_parser_format(const furrow_parser *parser);
FURROW_API const char *furrow_parser_format_reason(const furrow_parser *parser);
/* Returns: the result of indexing_mode: 1 if 1 is subtracted from every index, else 0. With indexing_mode=-1 it is
 *          known after the first call of furrow_parser_next. */
FURROW_API uint32_t furrow_parser_index_base(const furrow_parser *parser);
/* Returns: the number of feature columns of a csv with a header; column i is feature index i, whatever its place in the
 *          file (argument `columns`). 0: the file has no header. */
FURROW_API size_t furrow_parser_column_count(const furrow_parser *parser);
/* Returns: the name of a feature column; NULL when it has none.
 * Owner:   the parser; valid until it is closed. */
FURROW_API const char *furrow_parser_column_name(const furrow_parser *parser, size_t column);
/* Returns: the name of the column of a csv that has the labels, or the weights; NULL when it has none.
 * Owner:   the parser; valid until it is closed. */
FURROW_API const char *furrow_parser_label_name(const furrow_parser *parser);
FURROW_API const char *furrow_parser_weight_name(const furrow_parser *parser);
/* Returns: the place of that column among all columns of the file, from 0; -1: there is none, or the format has no
 *          columns. */
FURROW_API int64_t furrow_parser_label_column(const furrow_parser *parser);
FURROW_API int64_t furrow_parser_weight_column(const furrow_parser *parser);

/* ---- Block iterator ------------------------------------------------------------------------------------- */

/* The data set in memory as one block, or, when the URI names a #cachefile, block by block from a binary cache that the
 * first pass makes (atomically; with nparts > 1 the name gets .split<N>.part<k>). Rows in memory are borrowed, not
 * copied, if they have the types of the parameters. */
typedef struct furrow_blockiter furrow_blockiter;

/* Reads the data set, or finds or makes its cache. A cache is never overwritten. params NULL: the defaults.
 * Errors:  as furrow_parser_open and furrow_parser_next; E_STALE, the cache was made from other files, arguments, types
 *          or another part; E_FORMAT, the cache is damaged.
 * Owner:   the caller, furrow_blockiter_close. */
FURROW_API furrow_status furrow_blockiter_open(furrow_blockiter **iter, const char *uri,
                                               const furrow_parser_params *params, furrow_error *err) FURROW_MUST_USE;
/* Frees an iterator. Takes NULL. */
FURROW_API void furrow_blockiter_close(furrow_blockiter *iter);
/* Gives the next block. An error stays until furrow_blockiter_rewind.
 * Errors:  END after the last block; E_FORMAT, the cache is damaged; E_IO; E_MEMORY.
 * Owner:   the iterator; *block is valid until the next call of next_block, next, rewind or close. */
FURROW_API furrow_status furrow_blockiter_next_block(furrow_blockiter *iter, const furrow_rowblock **block,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Moves to the next block, which furrow_blockiter_value returns. An error stays until furrow_blockiter_rewind.
 * Errors:  END after the last block; E_FORMAT, the cache is damaged; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_blockiter_next(furrow_blockiter *iter, furrow_error *err) FURROW_MUST_USE;
/* Returns: the block; NULL when there is none.
 * Owner:   the iterator; valid until the next call of next, rewind or close. */
FURROW_API const furrow_rowblock *furrow_blockiter_value(const furrow_blockiter *iter);
/* Starts again at the first block.
 * Errors:  E_MEMORY. */
FURROW_API furrow_status furrow_blockiter_rewind(furrow_blockiter *iter, furrow_error *err) FURROW_MUST_USE;
/* Returns: the largest index + 1, 0 without features: known from the start. */
FURROW_API uint64_t furrow_blockiter_num_col(const furrow_blockiter *iter);
/* Fills in what the parsing pass counted (from a cache and from rows in memory: rows and features alone). */
FURROW_API void furrow_blockiter_get_stats(const furrow_blockiter *iter, furrow_parser_stats *stats);

/* ---- Rows in memory ------------------------------------------------------------------------------------- */

/* Gives the caller's rows a name, without a copy: from then on every function that takes a URI of rows
 * (furrow_parser_open, furrow_blockiter_open, training, scoring) can read them. Their format is "memory", whatever
 * format is asked for. Parts have equal numbers of rows; blocks are slices that borrow the arrays if the parser has the
 * types of the block, and are converted otherwise. A URI may list several: "memory://a;memory://b". The path has the
 * form of a file in memory (furrow_memory_file_add). The struct is copied; its arrays must stay and not change until
 * release(user), unless it is NULL, is called: once, when the rows have been removed and no reader uses them any more.
 * It is not called when this function fails.
 * Errors:  E_ARGUMENT, not such a path, or arrays that contradict each other; E_EXISTS, the path is taken; E_MEMORY. */
FURROW_API furrow_status furrow_memory_rows_add(const char *path, const furrow_rowblock *block,
                                                void (*release)(void *user), void *user,
                                                furrow_error *err) FURROW_MUST_USE;

/* The type of a dense table's values. */
typedef enum furrow_dense_type {
  FURROW_DENSE_F32, /* float */
  FURROW_DENSE_F64  /* double */
} furrow_dense_type;

/* A table of rows × columns: column i is feature i. A NaN is a missing value: the row does not have that feature. */
typedef struct furrow_dense_rows {
  size_t size;            /* set by furrow_dense_rows_init */
  size_t rows, columns;   /* rows and columns of the table */
  const void *values;     /* row after row */
  furrow_dense_type type; /* type of the values; f32 */
  size_t row_stride;      /* elements from the start of a row to the start of the next; 0: columns */
  const float *label;     /* label of each row; NULL: rows have no labels */
  const float *weight;    /* weight of each row; NULL: 1 */
  const uint64_t *qid;    /* qid of each row; NULL: 0 */
  bool drop_zeros;        /* leave out values that are 0 */
} furrow_dense_rows;

/* Sets the size, and everything else to 0. */
static inline void furrow_dense_rows_init(furrow_dense_rows *dense) {
  memset(dense, 0, sizeof *dense);
  dense->size = sizeof *dense;
}

/* Gives a dense table of the caller a name, like furrow_memory_rows_add. Blocks borrow the values if rows are
 * contiguous floats without a NaN or a dropped zero; otherwise the values are copied, block by block.
 * Errors:  as furrow_memory_rows_add. While reading, E_RANGE: a double is too large for a float. */
FURROW_API furrow_status furrow_memory_rows_add_dense(const char *path, const furrow_dense_rows *dense,
                                                      void (*release)(void *user), void *user,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Removes the name. Readers that are open continue.
 * Errors:  E_NOT_FOUND, no rows have that name; E_ARGUMENT, not a path in memory. */
FURROW_API furrow_status furrow_memory_rows_remove(const char *path, furrow_error *err) FURROW_MUST_USE;

/* ---- Writer --------------------------------------------------------------------------------------------- */

/* Writes blocks as "libsvm", "libfm" (= "libffm"), "csv" or "cache" (the binary row cache). The file appears when
 * commit succeeds, complete and in one step; close without commit leaves no file. Path "-" writes text to stdout at
 * once. Numbers are written so that they read back to the same bits. */
typedef struct furrow_rows_writer furrow_rows_writer;

/* What to write. */
typedef struct furrow_rows_writer_params {
  size_t size;                  /* set by furrow_rows_writer_params_init */
  const char *format;           /* "libsvm" */
  furrow_key_type key_type;     /* type of fields and indices in the cache file; text takes blocks of any type */
  furrow_value_type value_type; /* type of labels and values in the cache file */
  uint64_t columns;             /* csv: number of feature columns, required; a larger index is E_RANGE */
  char delimiter;               /* csv: ',' */
  bool header;                  /* csv: write a line of names (label, weight, f0, f1 …) */
  const char *const *names; /* csv: names of the `columns` features, valid until commit; NULL or a NULL element: f0, f1
                               … */
  bool zeros_missing;       /* csv: an absent feature is an empty cell (true) or 0 (false); true */
  bool with_weight;         /* csv: write a weight column after the label */
  bool overwrite;           /* replace an existing file; else commit fails with E_EXISTS */
  bool drop_fields;         /* libsvm: write rows that have fields, without the fields; false: E_UNSUPPORTED */
  uint32_t index_base;      /* libsvm, libfm: added to every index (and field): 0 or 1 */
  /* Ranks that write one file together, in a directory that all of them see: each rank's rows follow the rows of the
   * ranks before it, and the file has the bytes that one process would write. Commit is then collective: if a rank
   * fails, all fail. A rank that fails before it must end the job. NULL: this process is alone. */
  const furrow_comm *comm;
} furrow_rows_writer_params;

/* Sets the size and the defaults. */
static inline void furrow_rows_writer_params_init(furrow_rows_writer_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->format = "libsvm";
  params->delimiter = ',';
  params->zeros_missing = true;
}

/* Starts a file. params NULL: the defaults.
 * Errors:  E_ARGUMENT, a format or parameter that does not exist or fit; E_NOT_FOUND, there is no such directory;
 *          E_UNSUPPORTED, a row cache to stdout, or stdout for several ranks; E_IO; E_MEMORY.
 * Owner:   the caller, furrow_rows_writer_close. */
FURROW_API furrow_status furrow_rows_writer_open(furrow_rows_writer **writer, const char *path,
                                                 const furrow_rows_writer_params *params,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Writes to the caller's function instead of a file: text in pieces, in order; commit writes the last piece. `output`
 * is copied.
 * Errors:  E_ARGUMENT, as above, or an output without a function; E_UNSUPPORTED, a row cache, whose header is known at
 *          the end; E_MEMORY.
 * Owner:   the caller, furrow_rows_writer_close. */
FURROW_API furrow_status furrow_rows_writer_open_output(furrow_rows_writer **writer, const furrow_output *output,
                                                        const furrow_rows_writer_params *params,
                                                        furrow_error *err) FURROW_MUST_USE;
/* Appends a block or a row. Data that the format cannot hold is an error; it is never dropped. Rows without fields are
 * written with field 0 (libfm).
 * Errors:  E_UNSUPPORTED, a qid in libfm and csv, fields in libsvm (but see drop_fields) and csv, a row without a label
 *          in libsvm and libfm; E_RANGE, an index that is too large; E_STATE, the file was committed; E_IO. */
FURROW_API furrow_status furrow_rows_writer_write_block(furrow_rows_writer *writer, const furrow_rowblock *block,
                                                        furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_rows_writer_write_row(furrow_rows_writer *writer, const furrow_row *row,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Completes the file.
 * Errors:  E_EXISTS, there is a file and overwrite is false; E_STATE, it was committed, or another rank failed; E_IO;
 *          the errors of an output. */
FURROW_API furrow_status furrow_rows_writer_commit(furrow_rows_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Completes several files in one folder that belong together, such as rows to train and to test with. None of them gets
 * its name before all are on the disk. After a failure the old files stay. If the process or the machine stops between
 * two renames, or the disk refuses to put the old files back, some files may be missing; files of two calls are never
 * side by side, not even from two processes. Writers of several ranks: all ranks call it, and have the same comm.
 * Errors:  as furrow_rows_writer_commit; E_STATE, another process is writing there. */
FURROW_API furrow_status furrow_rows_writer_commit_all(furrow_rows_writer *const *writers, size_t count,
                                                       furrow_error *err) FURROW_MUST_USE;
/* Frees the writer; without a commit no file is left. Takes NULL. */
FURROW_API void furrow_rows_writer_close(furrow_rows_writer *writer);

/* ---- Custom formats -------------------------------------------------------------------------------------- */

/* What an argument of a format may be. */
typedef enum furrow_arg_type {
  FURROW_ARG_INT,   /* a decimal integer, nothing after it */
  FURROW_ARG_TEXT,  /* any text */
  FURROW_ARG_ONE_OF /* one of arg.one_of, separated by | */
} furrow_arg_type;

/* An argument that a format takes in the URI. One that is not declared is an error that lists these. Layout fixed. */
typedef struct furrow_arg {
  const char *name;     /* the key in the URI */
  furrow_arg_type type; /* type of its value */
  const char *fallback; /* the value when it is not given */
  const char *one_of;   /* FURROW_ARG_ONE_OF: "auto|yes|no" */
  const char *help;     /* one line */
} furrow_arg;

/* The arguments of one parser, checked. */
typedef struct furrow_args furrow_args;
/* Returns: the value of an argument, which must be declared (asserted).
 * Owner:   the parser; valid until it is closed. */
FURROW_API const char *furrow_args_text(const furrow_args *args, const char *name);
/* Returns: the value of a FURROW_ARG_INT, which must be declared (asserted). */
FURROW_API int64_t furrow_args_int(const furrow_args *args, const char *name);

/* Receives the row of one line. */
typedef struct furrow_rowbuilder furrow_rowbuilder;
/* Sets a part of the row, or appends a feature. Calls may come in any order; if parse_line fails, the row is dropped.
 * Errors:  E_RANGE, the number does not fit the parser's types; E_MEMORY. */
FURROW_API furrow_status furrow_rowbuilder_label(furrow_rowbuilder *row, double label,
                                                 furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_rowbuilder_weight(furrow_rowbuilder *row, float weight,
                                                  furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_rowbuilder_qid(furrow_rowbuilder *row, uint64_t qid, furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_rowbuilder_feature(furrow_rowbuilder *row, uint64_t index, double value,
                                                   furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_rowbuilder_feature_of_field(furrow_rowbuilder *row, uint64_t field, uint64_t index,
                                                            double value, furrow_error *err) FURROW_MUST_USE;

/* Some whole records of a file, for furrow_rows_format.parse_chunk. The library makes it; it may grow at its end. */
typedef struct furrow_rows_chunk {
  const char *bytes; /* beginning with a record */
  size_t length;     /* how many there are */
  uint64_t offset;   /* offset of bytes[0] in the file, uncompressed */
  const char *file;  /* its path */
  bool last;         /* the file ends with this chunk: its last record may be cut short */
  void *internal;    /* the library's */
} furrow_rows_chunk;

/* Reports that the record at bytes[at] cannot be read. If bad rows are skipped (FURROW_ON_BAD_SKIP), it is counted and
 * parse_chunk goes on after it; otherwise reading ends here, after the rows before it.
 * Errors:  E_PARSE, which parse_chunk must return, unless bad rows are skipped. */
FURROW_API furrow_status furrow_rows_chunk_refuse(furrow_rows_chunk *chunk, size_t at, const char *message,
                                                  furrow_error *err) FURROW_MUST_USE;

/* What open_rows has to read. The library makes it; it is valid while open_rows runs; it may grow at its end. */
typedef struct furrow_rows_request {
  const char *const *paths;     /* paths of the URI, as they were written */
  size_t npaths;                /* how many there are */
  const furrow_args *args;      /* arguments of the URI, checked */
  uint32_t part, nparts;        /* give part `part` of `nparts` */
  furrow_key_type key_type;     /* blocks of these types are handed on as they are; others are converted, and copied */
  furrow_value_type value_type; /* the same */
  uint32_t threads;             /* threads that the reader may use */
  furrow_on_bad on_bad;         /* what to do with a row that cannot be read */
  size_t chunk_bytes;           /* about how large a block should be */
} furrow_rows_request;

/* A format reads rows in one of three ways:
 *
 *   parse_line   text, one line, at most one row
 *   parse_chunk  anything else that comes in files: any number of rows from some whole lines or records. record_size,
 *                find_record or record_length say what a record is; without them it is a line
 *   open_rows    a custom reader, which gets the paths and gives blocks
 *
 * In the first two ways the library reads the files (also compressed, in parts, in any number of threads). */
typedef struct furrow_rows_format {
  size_t size;             /* sizeof(furrow_rows_format), or set by furrow_rows_format_init */
  const char *name;        /* what params.format and ?format= say */
  const char *description; /* one line */
  const furrow_arg *args;  /* arguments that it takes */
  size_t nargs;            /* how many there are */
  /* Called once per parser; the other functions get *state. NULL: state is NULL. */
  furrow_status (*open)(const furrow_args *args, void **state, furrow_error *err);
  /* Reads line[0 … length-1] (no line end, never empty). Return OK without any call on `row` for a line that is not a
   * row (a comment). On failure set the message, and err->column and err->token if known; file and line are filled in.
   * Called from several threads at once: `state` must not change. */
  furrow_status (*parse_line)(const void *state, const char *line, size_t length, furrow_rowbuilder *row,
                              furrow_error *err);
  void (*close)(void *state); /* may be NULL */

  /* Adds the rows of a chunk to an empty container, in their order. On failure set the message, and err->offset from
   * bytes[0] if known (furrow_rows_chunk_refuse does); the file is filled in, and the rows that were added count.
   * Called from several threads at once, each with its own chunk: `state` must not change. */
  furrow_status (*parse_chunk)(const void *state, furrow_rows_chunk *chunk, furrow_container *rows, furrow_error *err);
  /* Returns the bytes that every record has; a file that ends within one is E_FORMAT. */
  size_t (*record_size)(const void *state);
  /* Returns the offset of the first record that begins at bytes[from] or later, or `length` if none is recognised: then
   * the library passes more bytes. bytes[0] may be anywhere in a file. A record must be recognisable by its first 4096
   * bytes. */
  size_t (*find_record)(const void *state, const char *bytes, size_t length, size_t from);
  /* Returns the bytes of the record that begins at bytes[0], or 0 if that takes more than `length` bytes to decide. A
   * file of such records cannot be split: it is read in order and belongs to one part as a whole; the threads share the
   * parsing. */
  size_t (*record_length)(const void *state, const char *bytes, size_t length);
  size_t head_bytes; /* bytes at the start of each file that are skipped, before the first record */

  /* Opens a custom reader. The functions below get *reader, from one thread at a time. */
  furrow_status (*open_rows)(const void *state, const furrow_rows_request *request, void **reader, furrow_error *err);
  /* Gives the next block, valid until the next call: FURROW_OK, FURROW_END or an error, in which the reader itself sets
   * file and place. Required with open_rows. */
  furrow_status (*next_rows)(void *reader, const furrow_rowblock **block, furrow_error *err);
  /* Goes back to the first block. NULL: the rows can be read once. */
  furrow_status (*rewind_rows)(void *reader, furrow_error *err);
  void (*close_rows)(void *reader); /* may be NULL */
} furrow_rows_format;

/* Sets the size, and everything else to 0. */
static inline void furrow_rows_format_init(furrow_rows_format *format) {
  memset(format, 0, sizeof *format);
  format->size = sizeof *format;
}

/* Adds a format for the rest of the program. The struct is copied; its texts and arguments must stay.
 * Errors:  E_EXISTS, the name is taken; E_ARGUMENT, the format is not complete; E_UNSUPPORTED, it is of a newer header.
 */
FURROW_API furrow_status furrow_rows_format_register(const furrow_rows_format *format,
                                                     furrow_error *err) FURROW_MUST_USE;
/* Adds a format before main, where a failure cannot be returned. The library keeps the failure, and returns it from
 * furrow_rows_format_find and furrow_parser_open when that name is used. If two formats have the same name, neither is
 * used. */
FURROW_API void furrow_rows_format_register_early(const furrow_rows_format *format);
/* Returns: the i-th format: first the built-in formats, then the others in the order of registration; NULL past the
 *          end.
 * Owner:   the library; valid for ever. */
FURROW_API const furrow_rows_format *furrow_rows_format_at(size_t i);
/* Finds a format by its name.
 * Errors:  E_ARGUMENT, there is none (the message lists all names); or the failure of an early registration of that
 *          name.
 * Owner:   the library; valid for ever. */
FURROW_API furrow_status furrow_rows_format_find(const char *name, const furrow_rows_format **format,
                                                 furrow_error *err) FURROW_MUST_USE;

/* Defined by a plugin (furrow_plugin_load), not by the library: its formats; NULL ends them. */
FURROW_PLUGIN_API extern const furrow_rows_format *const furrow_plugin_rows_formats[];

/* FURROW_REGISTER_ROWS_FORMAT(my_format); at file level registers a furrow_rows_format before main. */
#define FURROW_REGISTER_ROWS_FORMAT(format)                                 \
  __attribute__((constructor)) static void furrow_register_##format(void) { \
    furrow_rows_format_register_early(&(format));                           \
  }                                                                         \
  struct furrow_rows_format

#ifdef __cplusplus
}
#endif

#endif
