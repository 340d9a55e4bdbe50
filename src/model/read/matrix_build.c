/* model/read/matrix_build.c: fills groups, sorts them and makes them a matrix. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/read/matrix.h"

/* Adds to the used bytes before they are allocated; fails if the limit is exceeded. */
static furrow_status account_bytes(fw_matrix_build *build, size_t count, size_t size, furrow_error *err) {
  size_t bytes, sum;
  if (!fw_size_mul(count, size, &bytes) || !fw_size_add(build->used, bytes, &sum)) return fw_fail_memory(err, SIZE_MAX);
  if (build->memory > 0 && sum > build->memory)
    return fw_fail(err, FURROW_E_MEMORY, "the matrix takes at least %zu bytes, and %zu are allowed", sum,
                   build->memory);
  build->used = sum;
  return FURROW_OK;
}

furrow_status fw_block_alloc(void **block, size_t count, size_t size, furrow_error *err) {
  furrow_status status = fw_alloc(block, count, size, err);
  if (status == FURROW_OK) fw_prefer_large_pages(*block, count * size);
  return status;
}

furrow_status fw_matrix_build_init(fw_matrix_build *build, furrow_element_type type, size_t memory, furrow_error *err) {
  *build = (fw_matrix_build){.memory = memory, .element_size = furrow_element_size(type)};
  pthread_mutex_init(&build->lock, NULL);
  furrow_status status = FW_ALLOC_ZERO(&build->matrix, 1, err);
  if (status == FURROW_OK) build->matrix->type = type;
  return status;
}

furrow_status fw_matrix_build_groups(fw_matrix_build *build, size_t groups, size_t slots, furrow_error *err) {
  furrow_status status = FW_ALLOC_ZERO(&build->groups, groups, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&build->slots, slots, err);
  build->group_count = groups;
  build->slot_count = slots;
  return status;
}

void fw_matrix_build_clear(fw_matrix_build *build) {
  furrow_matrix_free(build->matrix);
  fw_free(build->groups);
  fw_free(build->slots);
  pthread_mutex_destroy(&build->lock);
  *build = (fw_matrix_build){0};
}

/* ---- Offsets -------------------------------------------------------------------------------------------- */

furrow_status fw_matrix_build_allocate(fw_matrix_build *build, furrow_error *err) {
  size_t elements = 0;
  for (size_t i = 0; i < build->group_count; i++) build->groups[i].count = 0;
  for (size_t i = 0; i < build->slot_count; i++) {
    fw_row_group *group = &build->groups[build->slots[i].group];
    build->slots[i].begin = group->count;
    if (!fw_size_add(group->count, build->slots[i].capacity, &group->count)) return fw_fail_memory(err, SIZE_MAX);
  }
  for (size_t i = 0; i < build->group_count; i++) {
    fw_row_group *group = &build->groups[i];
    size_t n;
    group->begin = build->cols;
    if (!fw_size_mul(group->count, group->rows, &n) || !fw_size_add(elements, n, &elements) ||
        !fw_size_add(build->cols, group->count, &build->cols))
      return fw_fail_memory(err, SIZE_MAX);
  }
  furrow_status status = account_bytes(build, elements, build->element_size, err);
  if (status == FURROW_OK) status = fw_block_alloc(&build->matrix->values, elements, build->element_size, err);
  if (status != FURROW_OK) return status;
  char *values = build->matrix->values;
  for (size_t i = 0; i < build->group_count; i++) {
    build->groups[i].values = values;
    values += build->groups[i].count * build->groups[i].rows * build->element_size;
  }
  return FURROW_OK;
}

/* Allocates the column ids of all groups when they are first needed. */
static furrow_status need_col_ids(fw_matrix_build *build, furrow_error *err) {
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&build->lock);
  if (!build->matrix->col_ids) {
    void *memory = NULL;
    status = account_bytes(build, build->cols, sizeof(int64_t), err);
    if (status == FURROW_OK) status = fw_block_alloc(&memory, build->cols, sizeof(int64_t), err);
    build->matrix->col_ids = memory;
  }
  pthread_mutex_unlock(&build->lock);
  return status;
}

static int64_t *slot_cols(const fw_matrix_build *build, const fw_slot *slot) {
  return build->matrix->col_ids + build->groups[slot->group].begin + slot->begin;
}

static void count_up(int64_t *cols, int64_t first, size_t n) {
  for (size_t i = 0; i < n; i++) cols[i] = first + (int64_t)i;
}

static furrow_status scatter(fw_matrix_build *build, fw_slot *slot, furrow_error *err) {
  FW_TRY(need_col_ids(build, err));
  count_up(slot_cols(build, slot), slot->first, slot->filled);
  slot->scattered = true;
  return FURROW_OK;
}

/* ---- Filling -------------------------------------------------------------------------------------------- */

static bool counts_up(const int64_t *cols, int64_t first, size_t n) {
  uint64_t differs = cols[n - 1] < first; /* also true if counting from `first` would overflow INT64_MAX */
  for (size_t i = 0; i < n; i++) differs |= (uint64_t)cols[i] ^ ((uint64_t)first + i);
  return differs == 0;
}

static bool ascends(const int64_t *cols, size_t n) {
  bool good = true;
  for (size_t i = 1; i < n; i++) good &= cols[i] > cols[i - 1];
  return good;
}

static furrow_status put_cols(fw_matrix_build *build, fw_slot *slot, const int64_t *col_ids, int64_t first_col,
                              size_t cols, furrow_error *err) {
  const int64_t first = col_ids ? col_ids[0] : first_col;
  const bool follows = slot->filled == 0 || (slot->last != INT64_MAX && first == slot->last + 1);
  if (!slot->scattered && !(follows && (!col_ids || counts_up(col_ids, first, cols)))) {
    furrow_status status = scatter(build, slot, err);
    if (status != FURROW_OK) return status;
  }
  if (slot->filled == 0) slot->first = first;
  if (slot->scattered) {
    int64_t *place = slot_cols(build, slot) + slot->filled;
    if (slot->filled > 0 && first <= slot->last) slot->falling = true;
    if (col_ids) {
      slot->falling = slot->falling || !ascends(col_ids, cols);
      memcpy(place, col_ids, cols * sizeof *place);
    } else {
      count_up(place, first_col, cols);
    }
  }
  slot->last = col_ids ? col_ids[cols - 1] : first_col + (int64_t)(cols - 1);
  return FURROW_OK;
}

furrow_status fw_matrix_build_put(fw_matrix_build *build, fw_slot *slot, const int64_t *col_ids, int64_t first_col,
                                  size_t cols, const void *values, furrow_error *err) {
  const fw_row_group *group = &build->groups[slot->group];
  const size_t size = group->rows * build->element_size;
  if (cols == 0) return FURROW_OK;
  if (cols > slot->capacity - slot->filled)
    return fw_fail(err, FURROW_E_STALE, "there are more elements than were counted");
  FW_TRY(put_cols(build, slot, col_ids, first_col, cols, err));
  memcpy(group->values + (slot->begin + slot->filled) * size, values, cols * size);
  slot->filled += cols;
  return FURROW_OK;
}

/* ---- Finishing ------------------------------------------------------------------------------------------ */

/* Joins the column ranges and flags of each group's slots. */
static void join_slots(fw_matrix_build *build) {
  for (size_t i = 0; i < build->group_count; i++) {
    build->groups[i].counted = build->groups[i].ascending = true;
    build->groups[i].count = 0;
  }
  for (size_t i = 0; i < build->slot_count; i++) {
    const fw_slot *slot = &build->slots[i];
    fw_row_group *group = &build->groups[slot->group];
    assert(slot->filled == slot->capacity);
    if (slot->filled == 0) continue;
    if (group->count == 0) group->first = slot->first;
    if (group->count > 0 && slot->first <= group->last) group->ascending = false;
    if (group->count > 0 && (group->last == INT64_MAX || slot->first != group->last + 1)) group->counted = false;
    if (slot->scattered) group->counted = false;
    if (slot->falling) group->ascending = false;
    group->last = slot->last;
    group->count += slot->filled;
  }
}

/* Writes the column ids of consecutive slots in groups that are not consecutive as a whole. */
static furrow_status write_col_ids(fw_matrix_build *build, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < build->slot_count && status == FURROW_OK; i++) {
    fw_slot *slot = &build->slots[i];
    if (slot->filled > 0 && !slot->scattered && !build->groups[slot->group].counted) status = scatter(build, slot, err);
  }
  return status;
}

static int64_t *group_cols(const fw_matrix_build *build, const fw_row_group *group) {
  return build->matrix->col_ids + group->begin;
}

static furrow_status sort_group(fw_matrix_build *build, fw_row_group *group, furrow_error *err) {
  const size_t size = group->rows * build->element_size, used = build->used;
  furrow_status status = account_bytes(build, fw_columns_sort_bytes(group->count, size), 1, err);
  if (status == FURROW_OK)
    status = fw_columns_sort(group_cols(build, group), group->values, group->count, size, build->threads, &group->count,
                             err);
  build->used = used;
  if (status != FURROW_OK) return status;
  const int64_t *cols = group_cols(build, group);
  group->first = cols[0];
  group->counted = counts_up(cols, cols[0], group->count);
  return FURROW_OK;
}

static void make_panels(fw_matrix_build *build, furrow_panel *panels) {
  furrow_matrix *matrix = build->matrix;
  matrix->panels = panels;
  matrix->panel_count = build->group_count;
  for (size_t i = 0; i < build->group_count; i++) {
    const fw_row_group *group = &build->groups[i];
    panels[i] = (furrow_panel){.rows = group->rows,
                               .row_ids = group->row_ids,
                               .cols = group->count,
                               .col_ids = group->counted ? NULL : group_cols(build, group),
                               .first_col = group->count > 0 ? group->first : 0,
                               .type = matrix->type,
                               .values = {.any = group->values}};
    matrix->row_count += group->rows;
    matrix->count += (uint64_t)group->rows * group->count;
  }
}

static int compare_rows(const void *a, const void *b) {
  const fw_row_entry *x = a, *y = b;
  return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

/* Lists the rows of all panels by id, with their positions. Panels are sorted by first row, so sorting is rarely
 * needed. */
furrow_status fw_matrix_index_rows(furrow_matrix *matrix, furrow_error *err) {
  furrow_status status = FW_ARENA_TAKE(&matrix->arena, &matrix->index, matrix->row_count, err);
  if (status != FURROW_OK) return status;
  status = FW_ARENA_TAKE(&matrix->arena, &matrix->row_ids, matrix->row_count, err);
  if (status != FURROW_OK) return status;
  size_t n = 0;
  bool ascending = true;
  for (size_t p = 0; p < matrix->panel_count; p++)
    for (size_t r = 0; r < matrix->panels[p].rows; r++, n++) {
      matrix->index[n] = (fw_row_entry){matrix->panels[p].row_ids[r], r, p};
      ascending = ascending && (n == 0 || matrix->index[n].row_id > matrix->index[n - 1].row_id);
    }
  if (!ascending) qsort(matrix->index, n, sizeof *matrix->index, compare_rows);
  for (size_t i = 0; i < n; i++) {
    matrix->row_ids[i] = matrix->index[i].row_id;
    if (i > 0 && matrix->row_ids[i] == matrix->row_ids[i - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "row %d occurs twice", (int)matrix->row_ids[i]);
  }
  return FURROW_OK;
}

static void drop_col_ids(fw_matrix_build *build) {
  bool some = false;
  for (size_t i = 0; i < build->group_count; i++) some = some || !build->groups[i].counted;
  if (some) return;
  fw_free(build->matrix->col_ids);
  build->matrix->col_ids = NULL;
}

furrow_status fw_matrix_build_finish(fw_matrix_build *build, furrow_matrix **matrix, furrow_error *err) {
  furrow_panel *panels;
  join_slots(build);
  furrow_status status = write_col_ids(build, err);
  for (size_t i = 0; i < build->group_count && status == FURROW_OK; i++)
    if (!build->groups[i].ascending) status = sort_group(build, &build->groups[i], err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&build->matrix->arena, &panels, build->group_count, err);
  if (status != FURROW_OK) return status;
  drop_col_ids(build);
  make_panels(build, panels);
  status = fw_matrix_index_rows(build->matrix, err);
  if (status != FURROW_OK) return status;
  *matrix = build->matrix;
  build->matrix = NULL;
  return FURROW_OK;
}
