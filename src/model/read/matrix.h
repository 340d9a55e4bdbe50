/* model/read/matrix.h: a matrix in memory, and its construction.
 *
 * A group becomes a panel: rows that are stored together, with their columns. A group consists of slots, and each slot
 * is filled by one writer (a partition) in parallel with the others. Column ids are stored only if they are not
 * consecutive. */
#ifndef FW_MODEL_READ_MATRIX_H
#define FW_MODEL_READ_MATRIX_H

#include <pthread.h>

#include "base/arena.h"
#include "furrow/model.h"

typedef struct fw_row_entry {
  int32_t row_id;
  size_t row, panel; /* position: row of a panel */
} fw_row_entry;

struct furrow_matrix {
  furrow_element_type type;
  size_t panel_count;
  furrow_panel *panels;
  size_t row_count;
  int32_t *row_ids;
  fw_row_entry *index; /* where each of row_ids is */
  uint64_t count;
  void *values;
  int64_t *col_ids;
  fw_arena arena;              /* memory of everything else */
  void (*release)(void *user); /* for a borrowed matrix: called when it is freed; may be NULL */
  void *release_user;
};

typedef struct fw_row_group {
  size_t rows;
  const int32_t *row_ids; /* ascending; in the matrix's arena */
  size_t begin;           /* offset of its columns among the columns of all groups */
  size_t count;           /* number of columns */
  char *values;
  int64_t first, last; /* over the slots joined so far */
  bool counted, ascending;
} fw_row_group;

typedef struct fw_slot {
  size_t group;
  size_t begin; /* offset of its columns in the group */
  size_t capacity, filled;
  int64_t first, last; /* valid if filled > 0 */
  bool scattered;      /* columns are not consecutive, so their ids are stored */
  bool falling;        /* columns do not ascend */
} fw_slot;

/* The caller sets type, groups (rows, row_ids) and slots (group, capacity). Groups are sorted by first row, and the
 * slots of a group by column. */
typedef struct fw_matrix_build {
  furrow_matrix *matrix;
  size_t element_size;
  fw_row_group *groups;
  size_t group_count;
  fw_slot *slots;
  size_t slot_count;
  unsigned threads;     /* for sorting; 0 and 1: the caller's thread only */
  size_t cols;          /* columns of all groups */
  size_t memory, used;  /* bytes: the limit (0: none), and used so far */
  pthread_mutex_t lock; /* guards the allocation of col_ids */
} fw_matrix_build;

/* Begins a matrix; initializes the build even on failure. fw_matrix_build_clear frees everything that is not
 * finished. */
furrow_status fw_matrix_build_init(fw_matrix_build *build, furrow_element_type type, size_t memory,
                                   furrow_error *err) FURROW_MUST_USE;
/* Allocates groups and slots, zeroed. */
furrow_status fw_matrix_build_groups(fw_matrix_build *build, size_t groups, size_t slots,
                                     furrow_error *err) FURROW_MUST_USE;
/* Allocates the values; all capacities must be set. */
furrow_status fw_matrix_build_allocate(fw_matrix_build *build, furrow_error *err) FURROW_MUST_USE;
/* Appends columns to a slot, with a value for each row of its group. Different slots may be filled in parallel. Fails
 * with E_STALE if the slot is full. */
furrow_status fw_matrix_build_put(fw_matrix_build *build, fw_slot *slot, const int64_t *col_ids, int64_t first_col,
                                  size_t cols, const void *values, furrow_error *err) FURROW_MUST_USE;
/* Sorts unsorted groups and returns the matrix. Every slot must be full. */
furrow_status fw_matrix_build_finish(fw_matrix_build *build, furrow_matrix **matrix, furrow_error *err) FURROW_MUST_USE;
void fw_matrix_build_clear(fw_matrix_build *build);

/* Builds the index of all rows by id. Fails with E_ARGUMENT if two panels have the same row. */
furrow_status fw_matrix_index_rows(furrow_matrix *matrix, furrow_error *err) FURROW_MUST_USE;

/* Like fw_alloc, but asks for large pages for large blocks, because page faults are a good part of the cost of
 * loading. */
furrow_status fw_block_alloc(void **block, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;

/* Sorts n columns, with `size` bytes of values each; of equal columns only the last is kept. *kept is the number of
 * columns left. (model/read/matrix_sort.c) */
furrow_status fw_columns_sort(int64_t *cols, char *values, size_t n, size_t size, unsigned threads, size_t *kept,
                              furrow_error *err) FURROW_MUST_USE;
/* The temporary memory that fw_columns_sort needs. */
size_t fw_columns_sort_bytes(size_t n, size_t size);

#endif
