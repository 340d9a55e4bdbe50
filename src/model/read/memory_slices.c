/* model/read/memory_slices.c: divides a stored matrix into slices that fit in memory.
 *
 * The metadata gives the number of elements of a row in a partition. If that is too coarse (hash partitions, parts of a
 * sparse partition), a sample of the columns shows how they are distributed. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "model/read/load.h"

enum { SAMPLES = 1 << 16, MOST_CUTS = 1 << 20 };

typedef struct slice_store {
  fw_memory_slices slices;
  fw_arena arena;
  size_t capacity;
} slice_store;

/* A range of columns, and the bytes of its elements in memory. */
typedef struct piece {
  int64_t first, last;
  double bytes;
} piece;

typedef struct piece_list {
  piece *pieces;
  size_t count, capacity;
} piece_list;

static furrow_status add_piece(piece_list *list, int64_t first, int64_t last, double bytes, furrow_error *err) {
  furrow_status status = FW_GROW(&list->pieces, &list->capacity, list->count + 1, err);
  if (status == FURROW_OK) list->pieces[list->count++] = (piece){first, last, bytes};
  return status;
}

/* ---- The result ----------------------------------------------------------------------------------------- */

static furrow_status store_create(slice_store **store, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(store, 1, err));
  (*store)->slices.memory = *store;
  return FURROW_OK;
}

void fw_memory_slices_free(fw_memory_slices *slices) {
  if (!slices) return;
  slice_store *store = slices->memory;
  fw_free(store->slices.selections);
  fw_arena_clear(&store->arena);
  fw_free(store);
}

static furrow_status copy_ids(slice_store *store, const int32_t **copy, const int32_t *ids, size_t count,
                              furrow_error *err) {
  void *memory;
  if (!ids) return FURROW_OK;
  FW_TRY(fw_arena_take(&store->arena, &memory, count, sizeof *ids, err));
  if (count > 0) memcpy(memory, ids, count * sizeof *ids);
  *copy = memory;
  return FURROW_OK;
}

static furrow_status add_slice(slice_store *store, const furrow_matrix_selection *selection, furrow_error *err) {
  furrow_status status = FW_GROW(&store->slices.selections, &store->capacity, store->slices.count + 1, err);
  if (status != FURROW_OK) return status;
  furrow_matrix_selection *slice = &store->slices.selections[store->slices.count];
  *slice = *selection;
  status = copy_ids(store, &slice->rows, selection->rows, selection->row_count, err);
  if (status == FURROW_OK) status = copy_ids(store, &slice->part_ids, selection->part_ids, selection->part_count, err);
  if (status == FURROW_OK) store->slices.count++;
  return status;
}

/* ---- Pieces from the metadata --------------------------------------------------------------------------- */

/* The memory for a slot's elements, doubled if they must be sorted. */
static double slot_bytes(const fw_load_plan *plan, const fw_slot *slot) {
  const double col_id = plan->source->type->dense ? 0 : sizeof(int64_t);
  const double values = (double)plan->build.groups[slot->group].rows * (double)plan->build.element_size;
  return (double)slot->capacity * (col_id + values) * (plan->sort_cols > 0 ? 2 : 1);
}

typedef struct edge {
  int64_t col;
  double density; /* bytes per column that start (positive) or end (negative) at col */
} edge;

static int compare_edges(const void *a, const void *b) {
  const edge *x = a, *y = b;
  return (x->col > y->col) - (x->col < y->col);
}

/* The first and last selected column of a range partition; false if there is none. */
static bool chosen_range(const fw_load_plan *plan, const fw_source_part *part, int64_t *first, int64_t *last) {
  const fw_selection *sel = &plan->sel;
  if (!fw_selection_has_any_col(sel, part)) return false;
  *first = part->first_col > sel->first_col ? part->first_col : sel->first_col;
  *last = fw_selection_has_col(sel, part->last_col) ? part->last_col : sel->end_col - 1;
  return true;
}

static double part_bytes(const fw_load_plan *plan, size_t part) {
  double bytes = 0;
  for (size_t k = 0; k < plan->slot_count[part]; k++)
    bytes += slot_bytes(plan, &plan->build.slots[plan->first_slot[part] + k]);
  return bytes;
}

/* Makes pieces between the starts and ends of partitions, assuming that elements are evenly spread within a
 * partition. */
static furrow_status pieces_of_parts(piece_list *list, const fw_load_plan *plan, furrow_error *err) {
  size_t count = 0;
  edge *edges;
  furrow_status status = FW_ALLOC(&edges, 2 * plan->source->meta->part_count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < plan->source->meta->part_count; i++) {
    int64_t first, last;
    if (plan->first_slot[i] == FW_NO_SLOT || !chosen_range(plan, &plan->source->parts[i], &first, &last)) continue;
    const double density = part_bytes(plan, i) / ((double)last - (double)first + 1);
    edges[count++] = (edge){first, density};
    edges[count++] = (edge){last + (last < INT64_MAX), -density};
  }
  qsort(edges, count, sizeof *edges, compare_edges);
  double density = 0;
  for (size_t i = 0; i + 1 < count && status == FURROW_OK; i++) {
    density += edges[i].density;
    if (edges[i].col == edges[i + 1].col) continue;
    const double width = (double)edges[i + 1].col - (double)edges[i].col;
    status = add_piece(list, edges[i].col, edges[i + 1].col - 1, density > 0 ? density * width : 0, err);
  }
  fw_free(edges);
  return status;
}

/* ---- Pieces from a sample ------------------------------------------------------------------------------- */

typedef struct sampler {
  int64_t *cols;
  size_t count, capacity;
  uint64_t step, *seen; /* every step-th column of a partition is sampled; columns seen in each partition */
  pthread_mutex_t lock;
} sampler;

static furrow_status sample_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  sampler *s = user;
  furrow_status status = FURROW_OK;
  const uint64_t skip = (s->step - s->seen[part] % s->step) % s->step;
  s->seen[part] += panel->cols;
  if (skip >= panel->cols) return FURROW_OK;
  pthread_mutex_lock(&s->lock);
  for (uint64_t c = skip; c < panel->cols && status == FURROW_OK; c += s->step) {
    status = FW_GROW(&s->cols, &s->capacity, s->count + 1, err);
    if (status == FURROW_OK) s->cols[s->count++] = furrow_panel_col(panel, c);
  }
  pthread_mutex_unlock(&s->lock);
  return status;
}

static int compare_cols(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Makes a piece between consecutive sampled columns; the first and last piece extend to the limits of the selection. */
static furrow_status pieces_between(piece_list *list, const fw_selection *sel, const sampler *s, double bytes,
                                    furrow_error *err) {
  furrow_status status = FURROW_OK;
  const double each = s->count > 0 ? bytes / (double)s->count : 0;
  const int64_t last = sel->end_col == INT64_MAX ? INT64_MAX : sel->end_col - 1;
  int64_t first = sel->first_col;
  double sum = 0;
  for (size_t i = 0; i < s->count && status == FURROW_OK; i++) {
    if (i > 0 && s->cols[i] != s->cols[i - 1] && s->cols[i] > first) {
      status = add_piece(list, first, s->cols[i] - 1, sum, err);
      first = s->cols[i];
      sum = 0;
    }
    sum += each;
  }
  return status == FURROW_OK ? add_piece(list, first, last, sum, err) : status;
}

static furrow_status pieces_of_sample(piece_list *list, const fw_load_plan *plan, double bytes, furrow_error *err) {
  uint64_t elements = 0;
  sampler s = {.step = 1};
  for (size_t i = 0; i < plan->build.slot_count; i++) elements += plan->build.slots[i].capacity;
  if (elements / SAMPLES > 1) s.step = elements / SAMPLES;
  furrow_status status = FW_ALLOC_ZERO(&s.seen, plan->source->meta->part_count, err);
  if (status != FURROW_OK) return status;
  pthread_mutex_init(&s.lock, NULL);
  status = fw_selection_visit(&plan->sel, plan->source, 0, sample_panel, &s, err);
  if (s.count > 0) qsort(s.cols, s.count, sizeof *s.cols, compare_cols);
  if (status == FURROW_OK) status = pieces_between(list, &plan->sel, &s, bytes, err);
  pthread_mutex_destroy(&s.lock);
  fw_free(s.cols);
  fw_free(s.seen);
  return status;
}

/* ---- Ranges of columns ---------------------------------------------------------------------------------- */

static furrow_status add_range(slice_store *store, const furrow_matrix_selection *selection, int64_t first,
                               int64_t last, furrow_error *err) {
  furrow_matrix_selection slice = *selection;
  slice.first_col = first;
  slice.end_col = last == INT64_MAX ? last : last + 1;
  return add_slice(store, &slice, err);
}

/* Divides a piece that is too large into equal ranges. */
static furrow_status cut_piece(slice_store *store, const furrow_matrix_selection *selection, const piece *p,
                               double most, furrow_error *err) {
  const unsigned __int128 width = (unsigned __int128)((uint64_t)p->last - (uint64_t)p->first) + 1;
  const double wanted = p->bytes / most + 1;
  uint64_t parts = wanted < MOST_CUTS ? (uint64_t)wanted : MOST_CUTS;
  if (parts > width) parts = (uint64_t)width;
  furrow_status status = FURROW_OK;
  for (uint64_t k = 0; k < parts && status == FURROW_OK; k++) {
    const uint64_t begin = (uint64_t)(width * k / parts), end = (uint64_t)(width * (k + 1) / parts - 1);
    status =
        add_range(store, selection, (int64_t)((uint64_t)p->first + begin), (int64_t)((uint64_t)p->first + end), err);
  }
  return status;
}

static furrow_status join_pieces(slice_store *store, const furrow_matrix_selection *selection, const piece_list *list,
                                 double most, bool even, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0, next; i < list->count && status == FURROW_OK; i = next) {
    double sum = list->pieces[i].bytes;
    for (next = i + 1; next < list->count && sum + list->pieces[next].bytes <= most; next++)
      sum += list->pieces[next].bytes;
    if (next == i + 1 && sum > most && even)
      status = cut_piece(store, selection, &list->pieces[i], most, err);
    else
      status = add_range(store, selection, list->pieces[i].first, list->pieces[next - 1].last, err);
  }
  return status;
}

static bool needs_sample(const fw_load_plan *plan, const piece_list *list, double most) {
  for (size_t i = 0; i < plan->source->meta->part_count; i++)
    if (plan->first_slot[i] != FW_NO_SLOT && plan->source->parts[i].hash) return true;
  for (size_t i = 0; i < list->count; i++)
    if (list->pieces[i].bytes > most) return !plan->source->type->dense;
  return false;
}

/* Extends the outer slices to the limits of the selection, so that no column is left out. */
static void widen_outer_slices(slice_store *store, size_t from, const furrow_matrix_selection *selection) {
  furrow_matrix_selection *slices = store->slices.selections + from;
  const size_t count = store->slices.count - from;
  if (count == 0) return;
  slices[0].first_col = selection->first_col;
  slices[count - 1].end_col = selection->end_col;
  for (size_t i = 1; i < count; i++) slices[i].first_col = slices[i - 1].end_col;
}

/* The bytes available for elements in a slice, after subtracting the constant overhead; at least a quarter of `bytes`,
 * so slices become too large if the overhead dominates. */
static double most_elements(const fw_load_plan *plan, size_t bytes, double elements) {
  const double other = (double)fw_load_plan_bytes(plan) - elements;
  const double most = (double)bytes - (other > 0 ? other : 0);
  const double least = bytes >= 4 ? (double)bytes / 4 : 1;
  return most > least ? most : least;
}

static furrow_status cut_columns(slice_store *store, const fw_load_plan *plan, const furrow_matrix_selection *selection,
                                 size_t bytes, furrow_error *err) {
  const size_t before = store->slices.count;
  piece_list list = {0};
  double elements = 0;
  for (size_t i = 0; i < plan->build.slot_count; i++) elements += slot_bytes(plan, &plan->build.slots[i]);
  double most = most_elements(plan, bytes, elements);
  furrow_status status = pieces_of_parts(&list, plan, err);
  const bool sampled = status == FURROW_OK && needs_sample(plan, &list, most);
  if (sampled) {
    list.count = 0;
    status = pieces_of_sample(&list, plan, elements, err);
    most *= 0.9; /* a sample is not exact */
  }
  if (status == FURROW_OK) status = join_pieces(store, selection, &list, most, !sampled, err);
  if (status == FURROW_OK && store->slices.count == before) status = add_slice(store, selection, err);
  if (status == FURROW_OK) widen_outer_slices(store, before, selection);
  fw_free(list.pieces);
  return status;
}

static furrow_status add_columns(slice_store *store, const furrow_matrix_source *source,
                                 const furrow_matrix_selection *selection, size_t bytes, furrow_error *err) {
  fw_load_plan plan;
  furrow_status status = fw_load_plan_make(&plan, source, selection, true, err);
  if (status == FURROW_OK) {
    if (fw_load_plan_bytes(&plan) <= bytes)
      status = add_slice(store, selection, err);
    else
      status = cut_columns(store, &plan, selection, bytes, err);
  }
  fw_load_plan_clear(&plan);
  return status;
}

/* ---- Groups of rows ------------------------------------------------------------------------------------- */

typedef struct row_bytes {
  int32_t row_id;
  double bytes;
} row_bytes;

static int compare_rows(const void *a, const void *b) {
  const row_bytes *x = a, *y = b;
  return (x->row_id > y->row_id) - (x->row_id < y->row_id);
}

/* Lists all rows in ascending order with the memory that each takes. */
static furrow_status weigh_rows(row_bytes **rows, size_t *count, const fw_load_plan *plan, furrow_error *err) {
  const double col_id = plan->source->type->dense ? 0 : sizeof(int64_t);
  const double size = (col_id + (double)plan->build.element_size) * (plan->sort_cols > 0 ? 2 : 1);
  size_t n = 0;
  for (size_t i = 0; i < plan->build.group_count; i++) n += plan->build.groups[i].rows;
  FW_TRY(FW_ALLOC(rows, n, err));
  *count = n;
  n = 0;
  for (size_t i = 0; i < plan->build.group_count; i++) {
    const fw_row_group *group = &plan->build.groups[i];
    for (size_t r = 0; r < group->rows; r++)
      (*rows)[n++] =
          (row_bytes){group->row_ids[r], (double)group->count * size + sizeof(fw_row_group) + 2 * sizeof(fw_slot)};
  }
  qsort(*rows, n, sizeof **rows, compare_rows);
  return FURROW_OK;
}

static furrow_status add_group(slice_store *store, const furrow_matrix_source *source,
                               const furrow_matrix_selection *selection, const row_bytes *rows, size_t count,
                               size_t bytes, furrow_error *err) {
  int32_t *ids;
  furrow_status status = FW_ALLOC(&ids, count, err);
  if (status != FURROW_OK) return status;
  for (size_t i = 0; i < count; i++) ids[i] = rows[i].row_id;
  furrow_matrix_selection group = *selection;
  group.rows = ids;
  group.row_count = count;
  if (count == 1 && rows[0].bytes > (double)bytes)
    status = add_columns(store, source, &group, bytes, err);
  else
    status = add_slice(store, &group, err);
  fw_free(ids);
  return status;
}

static furrow_status add_rows(slice_store *store, const furrow_matrix_source *source,
                              const furrow_matrix_selection *selection, size_t bytes, furrow_error *err) {
  fw_load_plan plan;
  row_bytes *rows = NULL;
  size_t count = 0;
  furrow_status status = fw_load_plan_make(&plan, source, selection, true, err);
  const bool fits = status == FURROW_OK && fw_load_plan_bytes(&plan) <= bytes;
  if (status == FURROW_OK && !fits) status = weigh_rows(&rows, &count, &plan, err);
  fw_load_plan_clear(&plan);
  if (status == FURROW_OK && (fits || count == 0)) status = add_slice(store, selection, err);
  for (size_t i = 0, next; i < count && status == FURROW_OK; i = next) {
    double sum = rows[i].bytes;
    for (next = i + 1; next < count && sum + rows[next].bytes <= (double)bytes; next++) sum += rows[next].bytes;
    status = add_group(store, source, selection, rows + i, next - i, bytes, err);
  }
  fw_free(rows);
  return status;
}

/* ---- Both ----------------------------------------------------------------------------------------------- */

typedef furrow_status (*slice_maker)(slice_store *, const furrow_matrix_source *, const furrow_matrix_selection *,
                                     size_t, furrow_error *);

static furrow_status make(fw_memory_slices **slices, const furrow_matrix_source *source,
                          const furrow_matrix_selection *selection, size_t bytes, slice_maker add, furrow_error *err) {
  furrow_matrix_selection known;
  slice_store *store = NULL;
  furrow_matrix_selection_init(&known);
  FW_TRY(FW_PARAMS_READ(&known, selection, furrow_matrix_selection, err));
  furrow_status status = store_create(&store, err);
  if (status != FURROW_OK) return status;
  status = add(store, source, &known, bytes, err);
  if (status == FURROW_OK)
    *slices = &store->slices;
  else
    fw_memory_slices_free(&store->slices);
  return status;
}

furrow_status fw_memory_slices_by_columns(fw_memory_slices **slices, const furrow_matrix_source *source,
                                          const furrow_matrix_selection *selection, size_t bytes, furrow_error *err) {
  return make(slices, source, selection, bytes, add_columns, err);
}

furrow_status fw_memory_slices_by_rows(fw_memory_slices **slices, const furrow_matrix_source *source,
                                       const furrow_matrix_selection *selection, size_t bytes, furrow_error *err) {
  return make(slices, source, selection, bytes, add_rows, err);
}
