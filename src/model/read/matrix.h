/* model/read/matrix.h: a matrix in memory, and how it is built.
 *
 * A group is what becomes a panel: rows that are stored together, with their columns. Slots are its stretches, each
 * filled by one writer (a partition), side by side with the others. Column ids are only stored where they do not
 * simply count up. */
#ifndef FW_MODEL_READ_MATRIX_H
#define FW_MODEL_READ_MATRIX_H

#include <pthread.h>

#include "base/arena.h"
#include "furrow/model.h"

typedef struct fw_row_entry {
  int32_t row_id;
  size_t row, panel; /* place: row of a panel */
} fw_row_entry;

struct furrow_matrix {
  furrow_element_type type;
  size_t panel_count;
  furrow_panel *panels;
  size_t row_count;
  int32_t *row_ids;
  fw_row_entry *index; /* of row_ids */
  uint64_t count;
  void *values;
  int64_t *col_ids;
  fw_arena arena;              /* of the rest */
  void (*release)(void *user); /* a borrowed matrix: called at the end; NULL: nobody */
  void *release_user;
};

typedef struct fw_row_group {
  size_t rows;
  const int32_t *row_ids; /* ascending; in the matrix's arena */
  size_t begin;           /* of its columns among those of all groups */
  size_t count;           /* columns */
  char *values;
  int64_t first, last; /* of the slots that were looked at */
  bool counted, ascending;
} fw_row_group;

typedef struct fw_slot {
  size_t group;
  size_t begin; /* of its columns in the group */
  size_t capacity, filled;
  int64_t first, last; /* valid if filled > 0 */
  bool scattered;      /* columns do not count up: they are stored */
  bool falling;        /* columns do not ascend */
} fw_slot;

/* The caller fills in type, groups (rows, row_ids) and slots (group, capacity); of a group, slots come in the order of
 * their columns. Groups come by their first row. */
typedef struct fw_matrix_build {
  furrow_matrix *matrix;
  size_t element_size;
  fw_row_group *groups;
  size_t group_count;
  fw_slot *slots;
  size_t slot_count;
  unsigned threads;     /* to sort with; 0 and 1: none beside the caller's */
  size_t cols;          /* of all groups */
  size_t memory, used;  /* bytes: most (0: no limit), and so far */
  pthread_mutex_t lock; /* of making col_ids */
} fw_matrix_build;

/* Begins a matrix; sets the build even on failure. fw_matrix_build_clear takes all back that was not finished. */
furrow_status fw_matrix_build_init(fw_matrix_build *build, furrow_element_type type, size_t memory,
                                   furrow_error *err) FURROW_MUST_USE;
/* Groups and slots, all zeros. */
furrow_status fw_matrix_build_groups(fw_matrix_build *build, size_t groups, size_t slots,
                                     furrow_error *err) FURROW_MUST_USE;
/* All capacities are known: memory for the values. */
furrow_status fw_matrix_build_allocate(fw_matrix_build *build, furrow_error *err) FURROW_MUST_USE;
/* Adds columns to a slot, `rows` of its group values each. Different slots may be filled at once. E_STALE: it is full.
 */
furrow_status fw_matrix_build_put(fw_matrix_build *build, fw_slot *slot, const int64_t *col_ids, int64_t first_col,
                                  size_t cols, const void *values, furrow_error *err) FURROW_MUST_USE;
/* Every slot is full: sorts what is not sorted, and hands over the matrix. */
furrow_status fw_matrix_build_finish(fw_matrix_build *build, furrow_matrix **matrix, furrow_error *err) FURROW_MUST_USE;
void fw_matrix_build_clear(fw_matrix_build *build);

/* Lists the rows of all panels by their id. E_ARGUMENT: two panels have the same row. */
furrow_status fw_matrix_index_rows(furrow_matrix *matrix, furrow_error *err) FURROW_MUST_USE;

/* fw_alloc; large blocks ask for large pages, because fresh pages are a good part of the cost of loading. */
furrow_status fw_block_alloc(void **block, size_t count, size_t size, furrow_error *err) FURROW_MUST_USE;

/* Sorts n columns, with `size` bytes of values each, by column; of equal ones the last stays. Returns in *kept how many
 * are left. (model/read/matrix_sort.c) */
furrow_status fw_columns_sort(int64_t *cols, char *values, size_t n, size_t size, unsigned threads, size_t *kept,
                              furrow_error *err) FURROW_MUST_USE;
/* Bytes that it takes for a while. */
size_t fw_columns_sort_bytes(size_t n, size_t size);

#endif
