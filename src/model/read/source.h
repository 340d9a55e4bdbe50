/* model/read/source.h: an opened matrix folder, selections, and readers of partitions. */
#ifndef FW_MODEL_READ_SOURCE_H
#define FW_MODEL_READ_SOURCE_H

#include "base/arena.h"
#include "furrow/model.h"
#include "io/input.h"

/* A data file. It is opened again for each partition, and must not have changed. */
typedef struct fw_source_file {
  const char *path;
  uint64_t size, inode;
  int64_t mtime_ns;
  uint64_t claimed; /* total size of its partitions; larger than the file if they overlap */
} fw_source_file;

typedef struct fw_source_part {
  const furrow_partition_meta *meta;
  const fw_source_file *file;
  const int32_t *row_ids; /* ascending; meta->row_count elements */
  const uint32_t *by_id;  /* meta->rows[by_id[k]] is row_ids[k] */
  const uint32_t *listed; /* meta->rows[listed[k]] is the k-th row of the file; NULL: the row order is not a list */
  uint64_t records;       /* number of records; FW_RECORDS_UNKNOWN if the metadata does not tell */
  int64_t first_col;      /* valid columns of a record: first_col … last_col */
  int64_t last_col;
  bool hash;
} fw_source_part;

#define FW_RECORDS_UNKNOWN UINT64_MAX

/* Fails with E_ARGUMENT: psmeta metadata requires an explicit format and row type. */
furrow_status fw_fail_no_format(furrow_error *err);

struct furrow_matrix_source {
  furrow_matrix_meta *meta;
  const furrow_matrix_format *format;
  const furrow_matrix_row_type *type;
  furrow_matrix_row_order row_order;
  const char *folder, *meta_name, *meta_path, *separator;
  size_t file_count;
  fw_source_file *files;
  fw_source_part *parts; /* meta->part_count elements */
  fw_arena arena;
};

/* Like furrow_matrix_source_open, with metadata that was already read, or a part of it (copied; NULL: read it). */
furrow_status fw_matrix_source_open_with(furrow_matrix_source **source, const char *folder,
                                         const furrow_matrix_meta *meta, const furrow_matrix_source_params *params,
                                         furrow_error *err) FURROW_MUST_USE;
/* The context for a format at the start of a partition. `state` has four words, which are cleared. */
furrow_matrix_format_context fw_source_context(const furrow_matrix_source *source, const fw_source_part *part,
                                               uint64_t state[4]);
/* Opens the file of a partition; fails with E_STALE if the file has changed. */
furrow_status fw_source_open_file(const furrow_matrix_source *source, const fw_source_part *part, fw_input **input,
                                  furrow_error *err) FURROW_MUST_USE;
/* Detects the separator of a text format from its first record (model/read/separator.c). */
furrow_status fw_source_find_separator(furrow_matrix_source *source, furrow_error *err) FURROW_MUST_USE;

/* The position of a row in part->row_ids; meta->row_count if it is not there. */
size_t fw_source_part_row(const fw_source_part *part, int32_t row_id);

/* Creates a reader that reads many partitions one after the other and reuses its buffers. */
furrow_status fw_partition_reader_create(furrow_partition_reader **reader, const furrow_matrix_source *source,
                                         furrow_error *err) FURROW_MUST_USE;
furrow_status fw_partition_reader_start(furrow_partition_reader *reader, size_t part,
                                        furrow_error *err) FURROW_MUST_USE;

/* ---- A selection resolved for a source: sorted, checked, with its effect on each partition --------------- */

typedef struct fw_selection {
  const int32_t *rows; /* ascending, without duplicates; NULL: all */
  size_t row_count;
  int64_t first_col, end_col; /* end_col INT64_MAX: no limit */
  bool *parts;                /* for each partition: it is selected and has a selected row */
  void *memory;
} fw_selection;

/* selection NULL: everything. Fails with E_NOT_FOUND if a partition id does not exist. Initializes *sel even on
 * failure; the caller clears it. */
furrow_status fw_selection_make(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) FURROW_MUST_USE;
void fw_selection_clear(fw_selection *sel);

bool fw_selection_has_row(const fw_selection *sel, int32_t row_id);
static inline bool fw_selection_has_col(const fw_selection *sel, int64_t col) {
  return col >= sel->first_col && (col < sel->end_col || sel->end_col == INT64_MAX);
}
/* Whether all (or any) of the columns that a partition can have are selected. */
bool fw_selection_has_all_cols(const fw_selection *sel, const fw_source_part *part);
bool fw_selection_has_any_col(const fw_selection *sel, const fw_source_part *part);
/* The number of selected columns in first … last (first <= last); UINT64_MAX for all 2^64. */
uint64_t fw_selection_col_count(const fw_selection *sel, int64_t first, int64_t last);

/* Lets a reader that was just started skip records of rows that are not selected, and their checks. */
void fw_partition_reader_select(furrow_partition_reader *reader, const fw_selection *sel);
/* Like furrow_matrix_for_each_panel with a resolved selection; the caller may have cleared some of sel->parts. */
furrow_status fw_selection_visit(const fw_selection *sel, const furrow_matrix_source *source, unsigned threads,
                                 furrow_panel_callback visit, void *user, furrow_error *err) FURROW_MUST_USE;

/* ---- Checks whether the data of a partition contradicts the order in which its rows are read ------------- */

/* Angel writes the rows of a partition by ascending id, or in the order of a list that it does not store, each with
 * ascending columns. In formats without row ids, a column that is not larger than the one before it (a fall) therefore
 * marks the start of a row. A fall inside a row means that either the rows have another order or the columns are not
 * sorted. A zero-initialized watch is inactive. */
typedef struct fw_row_order_watch {
  const fw_source_part *part; /* NULL: inactive, or more falls than any order of rows explains */
  uint64_t *falls;            /* number of records before each fall */
  size_t count, capacity, most;
  int64_t last;
  uint64_t seen;
} fw_row_order_watch;

/* Starts with a partition; the memory is reused for the next one. */
furrow_status fw_row_order_begin(fw_row_order_watch *watch, const furrow_matrix_source *source,
                                 const fw_source_part *part, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_see(fw_row_order_watch *watch, const int64_t *col_ids, size_t count);
/* Call after all records. Fails with E_FORMAT if another order of rows, with ascending columns, explains the data and
 * ascending row ids do not; *record is then the first contradiction. */
furrow_status fw_row_order_end(fw_row_order_watch *watch, uint64_t *record, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_clear(fw_row_order_watch *watch);

/* Whether the rows of a partition are read in the order of the metadata. */
bool fw_row_order_is_meta(const furrow_matrix_source *source);

#endif
