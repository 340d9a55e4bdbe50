/* cli/index/vector_source.h: how the index commands read vectors and ids, and the options for it. */
#ifndef CLI_INDEX_VECTOR_SOURCE_H
#define CLI_INDEX_VECTOR_SOURCE_H

#include "core/options.h"
#include "furrow/vector_data.h"

/* What the options of vector_options fill. */
typedef struct vector_values {
  const char *kind;
  const char *array;       /* the name of an array in an npz or safetensors file; NULL: its only one with vectors */
  const char *column;      /* of a table; NULL: its only one with vectors */
  const char *ids, *names; /* columns of a table; no option fills them */
  uint64_t dim;
} vector_values;

extern const option vector_options[];

/* Opens a file of vectors with d elements each (0: any). E_FORMAT: it has no vectors. */
furrow_status vector_source_open(furrow_vectors_reader **vectors, const char *path, const vector_values *values,
                                 size_t d, furrow_error *err);
/* Whether a path names a table with columns: Parquet files, --sql. */
bool vector_source_is_table(const char *path, const vector_values *values);
/* Of what --ids or --names says (NULL: nothing), returns the name of a column of the vectors' table. NULL: it names a
 * file, by a slash or the ending of its name. */
const char *vector_source_column(const char *path, const vector_values *values, const char *name);
/* The number of vectors for a report of progress; 0: unknown. */
uint64_t vector_source_total(const furrow_vectors_reader *vectors);

/* Vectors of a matrix of a model. */
typedef struct matrix_values {
  const char *path; /* MODEL/MATRIX */
  furrow_axis axis;
  const char *ids; /* NULL: all; A:B: a range of ids */
} matrix_values;

/* Opens the vectors, with d elements each (0: any). memory: bytes for the part of the matrix that is in memory at a
 * time. */
furrow_status vector_source_open_matrix(furrow_vectors_reader **vectors, const matrix_values *values, size_t d,
                                        size_t memory, unsigned threads, furrow_error *err);

/* A block of vectors in memory. */
typedef struct vector_block {
  size_t d, capacity, count;
  uint64_t first; /* number of the first vector, from 0 */
  float *values;
  int64_t *ids; /* as the source numbers them */
} vector_block;

/* Allocates space for `most` vectors, or as many as `memory` bytes hold (0: no limit). */
furrow_status vector_block_init(vector_block *block, size_t d, size_t most, size_t memory, furrow_error *err);
void vector_block_clear(vector_block *block);
/* Reads the next vectors; count is 0 at the end. */
furrow_status vector_block_read(vector_block *block, furrow_vectors_reader *vectors, furrow_error *err);
/* Reads all vectors into one block, which need not be initialised. */
furrow_status vector_block_read_all(vector_block *block, furrow_vectors_reader *vectors, furrow_error *err);

/* Returns what is wrong with a vector that the library refuses: "has a NaN"; NULL: nothing. */
const char *vector_fault(const float *vector, size_t d);
/* Names the file and the query in the error of a search that refused a query (E_RANGE). The library counts queries from
 * the start of the block, people from the start of the file. */
furrow_status query_explain(const furrow_vectors_reader *queries, const vector_block *block, furrow_status status,
                            furrow_error *err);

/* Reads "A:B", A <= id < B; an empty side means no limit. false: the text is not a range. */
bool read_id_range(const char *text, int64_t *first, int64_t *end);

/* What selects ids; NULL: not given. */
typedef struct id_filter_values {
  const char *ids;   /* A:B, 1,2,3, a file of ids or a file of names */
  const char *names; /* a file of names */
} id_filter_values;

/* The ids that are selected. Clear it. */
typedef struct id_filter_ids {
  furrow_id_filter filter;
  furrow_ids ids;
} id_filter_ids;

/* names: the names of the index; NULL: it has none. E_NOT_FOUND: a name that the index does not have. */
furrow_status id_filter_ids_read(id_filter_ids *filter_ids, const id_filter_values *values,
                                 const furrow_id_names *names, furrow_error *err);
void id_filter_ids_clear(id_filter_ids *filter_ids);

#endif
