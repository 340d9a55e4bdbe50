/* model/read/load.c: loads a stored matrix, or a part of it, into memory.
 *
 * The capacity for every row and partition is taken from the metadata, or counted in a first pass over the data. Then
 * threads read the partitions in parallel, each into its own slots. */
#include "model/read/load.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/pool.h"

enum { CHUNK = 256, SMALL = 64 };

typedef struct loader {
  fw_load_plan plan;
  const fw_column_filter *filter; /* NULL: none */
  const fw_load_poll *poll;       /* NULL: none */
  size_t *hints;                  /* for each partition: the slot used last */
} loader;

static furrow_status tell_panel(const loader *l, const furrow_panel *panel, furrow_error *err) {
  return l->poll ? l->poll->poll(l->poll->user, panel->rows * panel->cols, err) : FURROW_OK;
}

/* ---- Counting ------------------------------------------------------------------------------------------- */

static size_t count_kept(const fw_column_filter *filter, const furrow_panel *panel) {
  size_t count = 0;
  if (!filter) return panel->cols;
  for (size_t c = 0; c < panel->cols; c++) count += filter->keep(filter->context, furrow_panel_col(panel, c));
  return count;
}

static furrow_status count_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  loader *l = user;
  const size_t count = count_kept(l->filter, panel);
  for (size_t r = 0; r < panel->rows; r++) {
    fw_load_plan_slot(&l->plan, part, panel->row_ids[r], &l->hints[part])->capacity += count;
    if (l->plan.by_block) break;
  }
  return tell_panel(l, panel, err);
}

/* Counts exact capacities for partitions whose metadata gives only an upper bound. */
static furrow_status count_capacities(loader *l, unsigned threads, furrow_error *err) {
  fw_load_plan *plan = &l->plan;
  bool any = false;
  fw_selection some = plan->sel;
  for (size_t i = 0; i < plan->source->meta->part_count; i++) {
    if (plan->first_slot[i] == FW_NO_SLOT) continue;
    plan->uncounted[i] |= l->filter != NULL;
    any |= plan->uncounted[i];
    for (size_t k = 0; plan->uncounted[i] && k < plan->slot_count[i]; k++)
      plan->build.slots[plan->first_slot[i] + k].capacity = 0;
  }
  if (!any) return FURROW_OK;
  some.parts = plan->uncounted;
  return fw_selection_visit(&some, plan->source, threads, count_panel, l, err);
}

/* ---- Filling -------------------------------------------------------------------------------------------- */

/* Collects the kept columns and their small values in chunks on the stack. */
static furrow_status put_kept(loader *l, fw_slot *slot, const furrow_panel *panel, const char *values, size_t size,
                              size_t stride, furrow_error *err) {
  int64_t cols[CHUNK], chunk[CHUNK * SMALL / 8];
  const size_t capacity = size <= SMALL ? CHUNK : 1;
  furrow_status status = FURROW_OK;
  size_t n = 0;
  for (size_t c = 0; c < panel->cols && status == FURROW_OK; c++) {
    const int64_t col = furrow_panel_col(panel, c);
    if (l->filter && !l->filter->keep(l->filter->context, col)) continue;
    if (size > SMALL) {
      status = fw_matrix_build_put(&l->plan.build, slot, &col, 0, 1, values + c * stride, err);
      continue;
    }
    cols[n] = col;
    memcpy((char *)chunk + n++ * size, values + c * stride, size);
    if (n < capacity) continue;
    status = fw_matrix_build_put(&l->plan.build, slot, cols, 0, n, chunk, err);
    n = 0;
  }
  if (status == FURROW_OK) status = fw_matrix_build_put(&l->plan.build, slot, cols, 0, n, chunk, err);
  return status;
}

static furrow_status put_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  loader *l = user;
  fw_matrix_build *build = &l->plan.build;
  size_t *hint = &l->hints[part];
  const size_t whole = panel->rows * build->element_size;
  furrow_status status = tell_panel(l, panel, err);
  if (status != FURROW_OK) return status;
  if (l->plan.by_block || panel->rows == 1) {
    fw_slot *slot = fw_load_plan_slot(&l->plan, part, panel->row_ids[0], hint);
    if (l->filter) return put_kept(l, slot, panel, panel->values.any, whole, whole, err);
    return fw_matrix_build_put(build, slot, panel->col_ids, panel->first_col, panel->cols, panel->values.any, err);
  }
  for (size_t r = 0; r < panel->rows && status == FURROW_OK; r++) {
    const char *values = (const char *)panel->values.any + r * build->element_size;
    fw_slot *slot = fw_load_plan_slot(&l->plan, part, panel->row_ids[r], hint);
    status = put_kept(l, slot, panel, values, build->element_size, whole, err);
  }
  return status;
}

static bool all_full(const fw_matrix_build *build) {
  for (size_t i = 0; i < build->slot_count; i++)
    if (build->slots[i].filled != build->slots[i].capacity) return false;
  return true;
}

static furrow_status fill_slots(loader *l, unsigned threads, furrow_error *err) {
  fw_load_plan *plan = &l->plan;
  FW_TRY(fw_selection_visit(&plan->sel, plan->source, threads, put_panel, l, err));
  if (!all_full(&plan->build)) FW_TRY(fw_fail(err, FURROW_E_STALE, "there are fewer elements than were counted"));
  return FURROW_OK;
}

/* Overlapping partitions could claim any multiple of the files' size. */
static furrow_status check_overlap(const fw_load_plan *plan, furrow_error *err) {
  for (size_t i = 0; i < plan->source->meta->part_count; i++) {
    const fw_source_file *file = plan->source->parts[i].file;
    if (plan->first_slot[i] == FW_NO_SLOT || file->claimed <= file->size) continue;
    fw_fail(err, FURROW_E_FORMAT, "partitions overlap: together they have %llu bytes, but the file has %llu",
            (unsigned long long)file->claimed, (unsigned long long)file->size);
    fw_error_set_file(err, file->path);
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

/* ---- Loading -------------------------------------------------------------------------------------------- */

static furrow_status check_memory(const loader *l, size_t memory, furrow_error *err) {
  const size_t bytes = fw_load_plan_bytes(&l->plan);
  if (memory == 0 || l->filter || bytes <= memory) return FURROW_OK;
  return fw_fail(err, FURROW_E_MEMORY, "the matrix takes up to %zu bytes in memory, and %zu are allowed", bytes,
                 memory);
}

static furrow_status load_source(furrow_matrix **matrix, const furrow_matrix_source *source,
                                 const furrow_matrix_load_params *params, const fw_column_filter *filter,
                                 const fw_load_poll *poll, bool trust_dense, bool *estimated, furrow_error *err) {
  loader l = {.filter = filter, .poll = poll};
  furrow_status status = fw_load_plan_make(&l.plan, source, params->selection, trust_dense, err);
  if (status == FURROW_OK) status = check_overlap(&l.plan, err);
  if (status == FURROW_OK) status = check_memory(&l, params->memory, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&l.hints, source->meta->part_count, err);
  l.plan.build.memory = params->memory;
  l.plan.build.threads = params->threads > 0 ? params->threads : fw_processor_count();
  if (status == FURROW_OK) status = count_capacities(&l, params->threads, err);
  if (status == FURROW_OK) status = fw_matrix_build_allocate(&l.plan.build, err);
  if (status == FURROW_OK) {
    memset(l.hints, 0, source->meta->part_count * sizeof *l.hints);
    status = fill_slots(&l, params->threads, err);
    *estimated = l.plan.estimated;
  }
  if (status == FURROW_OK) status = fw_matrix_build_finish(&l.plan.build, matrix, err);
  fw_free(l.hints);
  fw_load_plan_clear(&l.plan);
  return status;
}

furrow_status fw_matrix_load_filtered(furrow_matrix **matrix, const furrow_matrix_source *source,
                                      const furrow_matrix_load_params *given, const fw_column_filter *filter,
                                      const fw_load_poll *poll, furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_load_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_load_params, err));
  bool estimated = false;
  furrow_error first;
  furrow_status status = load_source(matrix, source, &params, filter, poll, true, &estimated, &first);
  if (status == FURROW_E_STALE && estimated) /* a dense partition lacks columns: count them */
    status = load_source(matrix, source, &params, filter, poll, false, &estimated, &first);
  if (status != FURROW_OK && err) *err = first;
  return status;
}

furrow_status furrow_matrix_load_source(furrow_matrix **matrix, const furrow_matrix_source *source,
                                        const furrow_matrix_load_params *params, furrow_error *err) {
  return fw_matrix_load_filtered(matrix, source, params, NULL, NULL, err);
}

furrow_status furrow_matrix_load(furrow_matrix **matrix, const char *folder, const furrow_matrix_load_params *given,
                                 furrow_error *err) {
  furrow_matrix_load_params params;
  furrow_matrix_source *source = NULL;
  furrow_matrix_load_params_init(&params);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_load_params, err));
  furrow_status status = furrow_matrix_source_open(&source, folder, params.source, err);
  if (status == FURROW_OK) status = furrow_matrix_load_source(matrix, source, &params, err);
  furrow_matrix_source_close(source);
  return status;
}

size_t furrow_matrix_load_size(const furrow_matrix_source *source, const furrow_matrix_selection *selection) {
  fw_load_plan plan;
  size_t bytes = SIZE_MAX;
  if (fw_load_plan_make(&plan, source, selection, true, NULL) == FURROW_OK) bytes = fw_load_plan_bytes(&plan);
  fw_load_plan_clear(&plan);
  return bytes;
}
