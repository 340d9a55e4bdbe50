/* model/read/source.h: an opened matrix folder, as the files that read see it. */
#ifndef FW_MODEL_READ_SOURCE_H
#define FW_MODEL_READ_SOURCE_H

#include "base/arena.h"
#include "furrow/model.h"
#include "io/input.h"

/* A data file; it is opened for each partition anew, and must then still be the same. */
typedef struct fw_source_file {
  const char *path;
  uint64_t size, inode;
  int64_t mtime_ns;
  uint64_t claimed; /* bytes of all partitions in it; more than there are when they overlap */
} fw_source_file;

typedef struct fw_source_part {
  const furrow_partition_meta *meta;
  const fw_source_file *file;
  const int32_t *row_ids; /* meta->row_count of them, ascending */
  const uint32_t *by_id;  /* meta->rows[by_id[k]] is row_ids[k] */
  const uint32_t *listed; /* meta->rows[listed[k]] is the k-th row of the file; NULL: the row order is not a list */
  uint64_t records;       /* of the partition; FW_RECORDS_UNKNOWN when the metadata does not say */
  int64_t first_col;      /* the columns that a record may have: first_col … last_col */
  int64_t last_col;
  bool hash;
} fw_source_part;

#define FW_RECORDS_UNKNOWN UINT64_MAX

/* E_ARGUMENT: metadata of servers, and neither format nor row type were given. */
furrow_status fw_fail_no_format(furrow_error *err);

struct furrow_matrix_source {
  furrow_matrix_meta *meta;
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *type;
  furrow_matrix_row_order row_order;
  const char *folder, *meta_name, *meta_path, *separator;
  size_t file_count;
  fw_source_file *files;
  fw_source_part *parts; /* meta->part_count of them */
  fw_arena arena;
};

/* furrow_matrix_source_open with metadata that was read before, or a part of it (copied; NULL: it is read). */
furrow_status fw_matrix_source_open_with(furrow_matrix_source **source, const char *folder,
                                         const furrow_matrix_meta *meta, const furrow_matrix_source_params *params,
                                         furrow_error *err) FURROW_MUST_USE;
/* What a format is told at the start of a partition; `state` has four words, which become 0. */
furrow_matrix_format_context fw_source_context(const furrow_matrix_source *source, const fw_source_part *part,
                                               uint64_t state[4]);
/* Opens the file of a partition; E_STALE when it is another one than before. */
furrow_status fw_source_open_file(const furrow_matrix_source *source, const fw_source_part *part, fw_input **input,
                                  furrow_error *err) FURROW_MUST_USE;
/* Finds the separator of a text format by looking at its first record (model/read/separator.c). */
furrow_status fw_source_find_separator(furrow_matrix_source *source, furrow_error *err) FURROW_MUST_USE;

/* Place of a row in part->row_ids; meta->row_count when it is not there. */
size_t fw_source_part_row(const fw_source_part *part, int32_t row_id);

/* One reader for many partitions, one after the other: its buffers stay. */
furrow_status fw_partition_reader_create(furrow_partition_reader **reader, const furrow_matrix_source *source,
                                         furrow_error *err) FURROW_MUST_USE;
furrow_status fw_partition_reader_start(furrow_partition_reader *reader, size_t part,
                                        furrow_error *err) FURROW_MUST_USE;

#endif
