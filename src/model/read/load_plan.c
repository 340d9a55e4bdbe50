/* model/read/load_plan.c: plans the groups and slots for loading a part of a stored matrix.
 *
 * Partitions are sorted by first column, so that the data of Angel's range partitioners is read directly into its final
 * position. Data in another order (hash partitions) is sorted after loading. */
#include "model/read/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* State that is only needed while the plan is made. */
typedef struct planner {
  fw_load_plan *plan;
  size_t *order; /* selected partitions, sorted by first column */
  size_t part_count;
  int32_t *rows; /* selected saved rows, ascending; in the matrix's arena */
  size_t row_count;
  size_t *block_of; /* column formats: the block of each row */
  size_t *block_rows;
  size_t block_count;
  bool trust_dense;
  fw_arena arena;
} planner;

/* ---- Partitions and rows -------------------------------------------------------------------------------- */

static int compare_parts(const void *a, const void *b, void *context) {
  const fw_source_part *parts = context;
  const size_t x = *(const size_t *)a, y = *(const size_t *)b;
  const int64_t p = parts[x].meta->start_col, q = parts[y].meta->start_col;
  return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

static furrow_status order_parts(planner *p, furrow_error *err) {
  const furrow_matrix_source *source = p->plan->source;
  FW_TRY(FW_ARENA_TAKE(&p->arena, &p->order, source->meta->part_count, err));
  for (size_t i = 0; i < source->meta->part_count; i++)
    if (p->plan->sel.parts[i]) p->order[p->part_count++] = i;
  qsort_r(p->order, p->part_count, sizeof *p->order, compare_parts, source->parts);
  return FURROW_OK;
}

static int compare_ids(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static bool same_rows(const fw_source_part *a, const fw_source_part *b) {
  const size_t count = a->meta->row_count;
  return count == b->meta->row_count && (count == 0 || memcmp(a->row_ids, b->row_ids, count * sizeof(int32_t)) == 0);
}

/* The union of the rows of all selected partitions. Neighbours mostly have the same rows, and are skipped. */
static furrow_status find_rows(planner *p, furrow_error *err) {
  const fw_source_part *parts = p->plan->source->parts, *before = NULL;
  size_t capacity = 0, n = 0;
  for (size_t i = 0; i < p->part_count; before = &parts[p->order[i++]])
    if (!before || !same_rows(before, &parts[p->order[i]])) capacity += parts[p->order[i]].meta->row_count;
  FW_TRY(FW_ARENA_TAKE(&p->plan->build.matrix->arena, &p->rows, capacity, err));
  before = NULL;
  for (size_t i = 0; i < p->part_count; before = &parts[p->order[i++]]) {
    const fw_source_part *part = &parts[p->order[i]];
    if (before && same_rows(before, part)) continue;
    for (size_t k = 0; k < part->meta->row_count; k++)
      if (fw_selection_has_row(&p->plan->sel, part->row_ids[k])) p->rows[n++] = part->row_ids[k];
  }
  qsort(p->rows, n, sizeof *p->rows, compare_ids);
  for (size_t i = 0; i < n; i++)
    if (p->row_count == 0 || p->rows[p->row_count - 1] != p->rows[i]) p->rows[p->row_count++] = p->rows[i];
  return FURROW_OK;
}

/* The position of a row in p->rows, which must contain it. */
static size_t place_of(const planner *p, int32_t row_id) {
  return fw_lower_bound_i32(p->rows, p->row_count, sizeof *p->rows, row_id);
}

/* ---- Blocks of rows ------------------------------------------------------------------------------------- */

/* Assigns the rows of a partition to a new block, or checks that they are exactly the rows of one block. Returns false
 * if neither is possible. */
static bool add_to_block(planner *p, const fw_source_part *part, size_t *block) {
  size_t count = 0;
  *block = SIZE_MAX;
  for (size_t k = 0; k < part->meta->row_count; k++) {
    if (!fw_selection_has_row(&p->plan->sel, part->row_ids[k])) continue;
    const size_t owner = p->block_of[place_of(p, part->row_ids[k])];
    if (count++ == 0) *block = owner;
    if (owner != *block) return false;
  }
  if (*block != SIZE_MAX) return p->block_rows[*block] == count;
  *block = p->block_count++;
  p->block_rows[*block] = count;
  for (size_t k = 0; k < part->meta->row_count; k++)
    if (fw_selection_has_row(&p->plan->sel, part->row_ids[k])) p->block_of[place_of(p, part->row_ids[k])] = *block;
  return true;
}

static furrow_status find_blocks(planner *p, furrow_error *err) {
  const fw_source_part *parts = p->plan->source->parts;
  size_t block;
  p->plan->by_block = p->plan->source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN;
  if (!p->plan->by_block) return FURROW_OK;
  furrow_status status = FW_ARENA_TAKE(&p->arena, &p->block_of, p->row_count, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&p->arena, &p->block_rows, p->row_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < p->row_count; i++) p->block_of[i] = SIZE_MAX;
  for (size_t i = 0; i < p->part_count && p->plan->by_block; i++)
    p->plan->by_block = add_to_block(p, &parts[p->order[i]], &block);
  return status;
}

/* ---- Groups ---------------------------------------------------------------------------------------------- */

/* Renumbers the blocks by their first row. The row ids of a block are contiguous in a separate array. */
static furrow_status set_block_groups(planner *p, furrow_error *err) {
  fw_row_group *groups = p->plan->build.groups;
  int32_t *ids = NULL;
  size_t *number = NULL, next = 0, begin = 0;
  furrow_status status = FW_ARENA_TAKE(&p->plan->build.matrix->arena, &ids, p->row_count, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(&p->arena, &number, p->block_count, err);
  if (status != FURROW_OK) return status;
  for (size_t b = 0; b < p->block_count; b++) number[b] = SIZE_MAX;
  for (size_t i = 0; i < p->row_count; i++) {
    const size_t b = p->block_of[i];
    if (number[b] == SIZE_MAX) {
      number[b] = next++;
      groups[number[b]].row_ids = ids + begin;
      begin += p->block_rows[b];
    }
    fw_row_group *group = &groups[number[b]];
    ids[(size_t)(group->row_ids - ids) + group->rows++] = p->rows[i];
    p->block_of[i] = number[b];
  }
  return FURROW_OK;
}

static void set_row_groups(planner *p) {
  for (size_t i = 0; i < p->row_count; i++) {
    p->plan->build.groups[i].rows = 1;
    p->plan->build.groups[i].row_ids = &p->rows[i];
  }
}

/* ---- Slots ---------------------------------------------------------------------------------------------- */

/* The number of elements of a row (column formats: columns) according to the metadata, or an upper bound derived from
 * the size of the data. */
static uint64_t promised(const furrow_matrix_source *source, const fw_source_part *part,
                         const furrow_matrix_row_meta *row, bool *known) {
  const int32_t count =
      source->format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? part->meta->save_col_num : row->element_num;
  *known = count >= 0;
  if (*known) return (uint64_t)count;
  uint64_t state[4];
  furrow_matrix_format_context context = fw_source_context(source, part, state);
  size_t least, most;
  source->format->record_size(&context, &least, &most);
  return (uint64_t)part->meta->length / (least > 0 ? least : 1);
}

/* The capacity for the selected part of a row of a partition. */
static size_t slot_capacity(planner *p, const fw_source_part *part, const furrow_matrix_row_meta *row, bool *known) {
  const fw_load_plan *plan = p->plan;
  const fw_selection *sel = &plan->sel;
  const int64_t start = part->meta->start_col;
  uint64_t capacity = promised(plan->source, part, row, known);
  if (!fw_selection_has_any_col(sel, part)) {
    *known = true;
    return 0;
  }
  if (fw_selection_has_all_cols(sel, part) || capacity == 0) return capacity;
  const uint64_t width = fw_selection_col_count(sel, part->first_col, part->last_col);
  const bool full =
      !part->hash && plan->source->type->dense && capacity == (uint64_t)(part->last_col - part->first_col) + 1;
  if (*known && !(plan->source->format->flags & FURROW_MATRIX_FORMAT_COL_IDS))
    return fw_selection_col_count(sel, start, start + (int64_t)(capacity - 1));
  p->plan->estimated |= *known && full && p->trust_dense;
  *known = *known && full && p->trust_dense;
  return width < capacity ? width : capacity;
}

static void set_slot(planner *p, fw_slot *slot, size_t group, size_t part, const furrow_matrix_row_meta *row) {
  fw_load_plan *plan = p->plan;
  bool known;
  slot->group = group;
  slot->capacity = slot_capacity(p, &plan->source->parts[part], row, &known);
  plan->uncounted[part] |= !known;
  plan->build.groups[group].count += slot->capacity; /* for fw_load_plan_bytes; set again when memory is allocated */
}

static void set_slots(planner *p, size_t part, size_t *next) {
  fw_load_plan *plan = p->plan;
  const fw_source_part *source = &plan->source->parts[part];
  plan->first_slot[part] = *next;
  for (size_t k = 0; k < source->meta->row_count; k++) {
    if (!fw_selection_has_row(&plan->sel, source->row_ids[k])) continue;
    const size_t place = place_of(p, source->row_ids[k]);
    const size_t group = plan->by_block ? p->block_of[place] : place;
    set_slot(p, &plan->build.slots[(*next)++], group, part, &source->meta->rows[source->by_id[k]]);
    if (plan->by_block) break;
  }
  plan->slot_count[part] = *next - plan->first_slot[part];
}

static size_t count_slots(const planner *p) {
  size_t count = 0;
  if (p->plan->by_block) return p->part_count;
  for (size_t i = 0; i < p->part_count; i++) count += p->plan->source->parts[p->order[i]].meta->row_count;
  return count;
}

/* Groups filled by several hash partitions, and rows of checkpoints, arrive unsorted. */
static void note_sorting(fw_load_plan *plan) {
  bool unsorted = false;
  for (size_t i = 0; i < plan->source->meta->part_count && !unsorted; i++) {
    const fw_source_part *part = &plan->source->parts[i];
    if (plan->first_slot[i] == FW_NO_SLOT) continue;
    unsorted = part->hash;
    for (size_t k = 0; k < part->meta->row_count && !unsorted; k++) unsorted = part->meta->rows[k].save_type != 0;
  }
  for (size_t i = 0; i < plan->build.group_count && unsorted; i++) {
    const fw_row_group *group = &plan->build.groups[i];
    if (group->count * group->rows <= plan->sort_cols * plan->sort_size) continue;
    plan->sort_cols = group->count;
    plan->sort_size = group->rows;
  }
  plan->sort_size *= plan->build.element_size;
}

static furrow_status make_groups(planner *p, furrow_error *err) {
  fw_load_plan *plan = p->plan;
  const size_t groups = plan->by_block ? p->block_count : p->row_count;
  furrow_status status = fw_matrix_build_groups(&plan->build, groups, count_slots(p), err);
  if (status != FURROW_OK) return status;
  if (plan->by_block)
    status = set_block_groups(p, err);
  else
    set_row_groups(p);
  if (status != FURROW_OK) return status;
  size_t next = 0;
  for (size_t i = 0; i < p->part_count; i++) set_slots(p, p->order[i], &next);
  plan->build.slot_count = next;
  note_sorting(plan);
  return FURROW_OK;
}

static furrow_status take_part_lists(fw_load_plan *plan, furrow_error *err) {
  const size_t count = plan->source->meta->part_count;
  fw_arena *arena = &plan->arena;
  furrow_status status = FW_ARENA_TAKE(arena, &plan->first_slot, count, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(arena, &plan->slot_count, count, err);
  if (status == FURROW_OK) status = FW_ARENA_TAKE(arena, &plan->uncounted, count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < count; i++) {
    plan->first_slot[i] = FW_NO_SLOT;
    plan->slot_count[i] = 0;
    plan->uncounted[i] = false;
  }
  return FURROW_OK;
}

furrow_status fw_load_plan_make(fw_load_plan *plan, const furrow_matrix_source *source,
                                const furrow_matrix_selection *selection, bool trust_dense, furrow_error *err) {
  *plan = (fw_load_plan){.source = source};
  planner p = {.plan = plan, .trust_dense = trust_dense};
  furrow_status status = fw_matrix_build_init(&plan->build, source->type->element, 0, err);
  if (status == FURROW_OK) status = fw_selection_make(&plan->sel, source, selection, err);
  if (status == FURROW_OK) status = take_part_lists(plan, err);
  if (status == FURROW_OK) status = order_parts(&p, err);
  if (status == FURROW_OK) status = find_rows(&p, err);
  if (status == FURROW_OK) status = find_blocks(&p, err);
  if (status == FURROW_OK) status = make_groups(&p, err);
  fw_arena_clear(&p.arena);
  return status;
}

void fw_load_plan_clear(fw_load_plan *plan) {
  fw_selection_clear(&plan->sel);
  fw_matrix_build_clear(&plan->build);
  fw_arena_clear(&plan->arena);
}

/* ---- Use ------------------------------------------------------------------------------------------------ */

static bool add_product(size_t *sum, size_t a, size_t b) {
  size_t product;
  return fw_size_mul(a, b, &product) && fw_size_add(*sum, product, sum);
}

size_t fw_load_plan_bytes(const fw_load_plan *plan) {
  const fw_matrix_build *build = &plan->build;
  const size_t col_id = plan->source->type->dense ? 0 : sizeof(int64_t);
  size_t sum = sizeof(furrow_matrix);
  bool good = add_product(&sum, build->slot_count, sizeof(fw_slot));
  for (size_t i = 0; i < build->group_count && good; i++) {
    const fw_row_group *group = &build->groups[i];
    size_t size = col_id;
    good = add_product(&size, group->rows, build->element_size) && add_product(&sum, group->count, size) &&
           add_product(&sum, group->rows, sizeof(fw_row_entry) + 3 * sizeof(int32_t)) &&
           add_product(&sum, 1, sizeof(fw_row_group) + sizeof(furrow_panel));
  }
  if (plan->sort_cols > 0) good = good && add_product(&sum, 1, fw_columns_sort_bytes(plan->sort_cols, plan->sort_size));
  return good ? sum : SIZE_MAX;
}

fw_slot *fw_load_plan_slot(fw_load_plan *plan, size_t part, int32_t row_id, size_t *hint) {
  fw_slot *slots = plan->build.slots + plan->first_slot[part];
  const fw_row_group *groups = plan->build.groups;
  const size_t count = plan->slot_count[part];
  if (plan->by_block) return slots;
  if (*hint < count && groups[slots[*hint].group].row_ids[0] == row_id) return &slots[*hint];
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (groups[slots[middle].group].row_ids[0] < row_id)
      low = middle + 1;
    else
      high = middle;
  }
  *hint = low;
  return &slots[low];
}
