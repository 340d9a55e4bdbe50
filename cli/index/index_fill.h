/* cli/index/index_fill.h: vectors to add to an index: their source and their ids. */
#ifndef CLI_INDEX_INDEX_FILL_H
#define CLI_INDEX_INDEX_FILL_H

#include "index/build_parts.h"
#include "index/index_job.h"
#include "index/vector_source.h"

typedef enum on_nan { ON_NAN_ERROR, ON_NAN_SKIP } on_nan;

/* What the options of fill_options fill; `vectors` is for vector_options. */
typedef struct fill_values {
  const char *base, *model, *ids, *names;
  vector_values vectors;
  furrow_axis axis; /* axis of a model's matrix */
  on_nan on_nan;
  size_t memory;
  uint32_t threads;
  bool quiet, repeated_ids;
  bool only_vectors; /* names in the file of vectors are not read */
} fill_values;

extern const option fill_options[];
void fill_values_init(fill_values *values);

/* Vectors that are being added to an index. */
typedef struct filling {
  const fill_values *values;
  furrow_vectors_reader *vectors;
  furrow_ids ids;         /* ids of --ids; otherwise the ids of the vectors, or none */
  furrow_name_list names; /* names of --names, of --ids where that has names, or of the vectors; empty: none */
  const char *names_path;
  bool ids_column, names_column; /* --ids and --names name columns of the vectors' table */
  int64_t first_id;              /* id of the first vector, if it is named and has no id of its own */
  int64_t *named_ids;            /* ids of the vectors that were added with a name, and these names */
  const char **id_names;
  uint64_t *named_rows; /* the numbers of these vectors in the file, where several processes have a part each */
  size_t named;
  vector_block block;
  uint64_t first, total; /* jobs of several processes: this process has the vectors from number `first` on, of `total`;
                            otherwise 0 */
  uint64_t added, skipped; /* by this process */
} filling;

/* Opens the vectors (d elements each, 0: any) and their ids. Close it, even after a failure. */
furrow_status fill_open(filling *fill, const fill_values *values, size_t d, furrow_error *err);
void fill_close(filling *fill);

/* With several processes, each gets its own part of the vectors; a single process keeps all. E_ARGUMENT: the vectors
 * are a stream. */
furrow_status fill_take_part(filling *fill, furrow_error *err);
/* Goes back to the first vector. */
furrow_status fill_rewind(filling *fill, furrow_error *err);

/* Prepares for adding vectors to an index with names (NULL: the index has none). E_ARGUMENT: only the index or only the
 * vectors have names; E_EXISTS: a name exists already. */
furrow_status fill_begin_names(filling *fill, const furrow_index *index, const furrow_id_names *names,
                               furrow_error *err);
/* Gives the ids of all vectors that were added their names; *names is made if it is NULL. With several processes, rank
 * 0 gets the names of all, and the other ranks get none. */
furrow_status fill_finish_names(filling *fill, furrow_id_names **names, furrow_error *err);

/* Reads the next block. A vector that the library refuses is an error; with --on-nan skip it stays in the block, and
 * the library skips it. */
furrow_status fill_read(filling *fill, furrow_error *err);

/* Whether the index assigns ids itself: then the ids of several processes are shifted when the file is written. */
bool fill_counts_itself(const furrow_index *index);
/* Adds the current block. */
furrow_status fill_add_block(filling *fill, furrow_index *index, furrow_error *err);
/* Adds all remaining vectors. parts: NULL, or the parts of which *index becomes the last. */
furrow_status fill_add_all(filling *fill, furrow_index **index, build_parts *parts, index_job *job, furrow_error *err);

#endif
