/* model/read/source.h: an opened matrix folder, what is selected of it, and how its partitions are read. */
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

/* ---- A selection, made ready for a source: sorted, checked, and what it means for each partition --------- */

typedef struct fw_selection {
  const int32_t *rows; /* ascending, each once; NULL: all */
  size_t row_count;
  int64_t first_col, end_col; /* INT64_MAX as end: no end */
  bool *parts;                /* for each partition: it is among the chosen ones and has a chosen row */
  void *memory;
} fw_selection;

/* selection NULL: everything. E_NOT_FOUND: there is no partition of an id. Sets choice even on failure; clear it. */
furrow_status fw_selection_make(fw_selection *sel, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, furrow_error *err) FURROW_MUST_USE;
void fw_selection_clear(fw_selection *sel);

bool fw_selection_has_row(const fw_selection *sel, int32_t row_id);
/* Whether a column is chosen. */
static inline bool fw_selection_has_col(const fw_selection *sel, int64_t col) {
  return col >= sel->first_col && (col < sel->end_col || sel->end_col == INT64_MAX);
}
/* Whether all columns that a partition can have are chosen; whether one is. */
bool fw_selection_has_all_cols(const fw_selection *sel, const fw_source_part *part);
bool fw_selection_has_any_col(const fw_selection *sel, const fw_source_part *part);
/* How many columns of first … last (first <= last) are chosen; UINT64_MAX for all 2^64. */
uint64_t fw_selection_col_count(const fw_selection *sel, int64_t first, int64_t last);

/* The reader, just started, may leave out records of rows that are not chosen, and what it checks about them. */
void fw_partition_reader_select(furrow_partition_reader *reader, const fw_selection *sel);
/* furrow_matrix_for_each_panel with a choice; its parts may have been made fewer. */
furrow_status fw_selection_visit(const fw_selection *sel, const furrow_matrix_source *source, unsigned threads,
                                 furrow_panel_callback visit, void *user, furrow_error *err) FURROW_MUST_USE;

/* ---- Does the data of a partition contradict the order that its rows are read in? ------------------------ */

/* Angel writes the rows of a partition by ascending id, or in the order of a list that it does not keep, and each with
 * ascending columns. Where records have no row ids, a column that is not above the one before it (a fall) therefore
 * marks the begin of a row. Falls inside of rows mean either that the rows stand in another order, or that columns are
 * not sorted. All zeros is a watch that watches nothing. */
typedef struct fw_row_order_watch {
  const fw_source_part *part; /* NULL: nothing to watch, or more falls than any order explains */
  uint64_t *falls;            /* records before each fall */
  size_t count, capacity, most;
  int64_t last;
  uint64_t seen;
} fw_row_order_watch;

/* Begins with a partition; its memory stays for the next one. */
furrow_status fw_row_order_begin(fw_row_order_watch *watch, const furrow_matrix_source *source,
                                 const fw_source_part *part, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_see(fw_row_order_watch *watch, const int64_t *col_ids, size_t count);
/* All records were seen: E_FORMAT when rows in another order, with ascending columns, explain them and ascending rows
 * do not. *record: the first that contradicts. */
furrow_status fw_row_order_end(fw_row_order_watch *watch, uint64_t *record, furrow_error *err) FURROW_MUST_USE;
void fw_row_order_clear(fw_row_order_watch *watch);

/* Whether the rows of a partition are read as the metadata lists them. */
bool fw_row_order_is_meta(const furrow_matrix_source *source);

#endif
