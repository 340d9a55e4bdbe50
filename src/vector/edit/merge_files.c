/* vector/edit/merge_files.c: merges index files list after list.
 *
 * Inputs are mapped: memory holds the quantizers of the first input, and the sizes and offsets of the lists of each.
 * Indexes that have more than lists (refinements, flat vectors) are merged in memory. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "vector/edit/merge.h"
#include "vector/file/index_write.h"
#include "vector/index/direct_map.h"
#include "vector/index/index.h"
#include "vector/index/inverted_lists.h"
#include "vector/index/stored_ids.h"

typedef struct joining {
  const char *const *paths;
  const int64_t *id_shifts; /* NULL: 0 */
  size_t count;
  furrow_index_load_params load;
  furrow_index **inputs;
  fw_joined_lists *joined;
} joining;

static int64_t shift_of(const joining *j, size_t i) {
  return j->id_shifts ? j->id_shifts[i] : 0;
}

static furrow_status add_file_name(const char *path, furrow_status status, furrow_error *err) {
  if (status != FURROW_OK && err && !err->file[0]) fw_error_set_file(err, path);
  return status;
}

/* ---- Lists only ----------------------------------------------------------------------------------------- */

/* Transforms and id maps around inverted lists of codes. */
static bool has_only_lists(const furrow_index *index) {
  while (index->kind == FURROW_INDEX_TRANSFORM || index->kind == FURROW_INDEX_ID_MAP) index = index->child[0];
  return fw_index_is_ivf(index) && index->kind != FURROW_INDEX_IVF_PQR && index->kind != FURROW_INDEX_IVF_PQ_FAST;
}

static furrow_index *inner_ivf(const furrow_index *index) {
  return (furrow_index *)(uintptr_t)furrow_index_ivf(index);
}

/* Frees what an input does not need after it was compared with the first. */
static void forget_quantizers(furrow_index *index) {
  furrow_index *ivf = inner_ivf(index);
  furrow_index_free(ivf->child[0]);
  ivf->child[0] = NULL;
  fw_free(ivf->ivf.pq.centroids);
  ivf->ivf.pq.centroids = NULL;
}

static void forget_direct_map(furrow_index *index) {
  fw_direct_map *map = &inner_ivf(index)->ivf.direct_map;
  fw_free(map->locations);
  fw_free(map->pairs);
  *map = (fw_direct_map){0};
}

/* Appends the id maps of an input, increased, to those of the first; dense ids inside continue. */
static furrow_status join_id_maps(furrow_index *first, const furrow_index *other, int64_t id_shift, bool *mapped,
                                  furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (; status == FURROW_OK && !fw_index_is_ivf(other); first = first->child[0], other = other->child[0]) {
    if (other->kind != FURROW_INDEX_ID_MAP) continue;
    size_t count = (size_t)first->ntotal, more = (size_t)other->ntotal;
    int64_t shift = *mapped ? first->ntotal : id_shift;
    status = fw_ids_check_shift(other->id_map.ids, more, shift, err);
    void *ids = first->id_map.ids;
    if (status == FURROW_OK && first != other) status = fw_realloc(&ids, count + more, sizeof(int64_t), err);
    if (status != FURROW_OK) return status;
    first->id_map.ids = ids;
    for (size_t i = 0; first != other && i < more; i++) first->id_map.ids[count + i] = other->id_map.ids[i] + shift;
    for (size_t i = 0; first == other && i < more; i++) first->id_map.ids[i] += shift;
    *mapped = true;
  }
  return status;
}

static void add_counts(furrow_index *first, const furrow_index *other) {
  first->ntotal += other->ntotal;
  if (!fw_index_is_ivf(first)) add_counts(first->child[0], other->child[0]);
}

/* After all inputs were joined: an id map of the first one has the ids of all. */
static furrow_status check_unique(const joining *j, furrow_error *err) {
  const bool mapped = fw_skip_transforms(j->inputs[0])->kind == FURROW_INDEX_ID_MAP;
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, j->count, sizeof(fw_shifted_ids), err));
  fw_shifted_ids *parts = memory;
  for (size_t i = 0; i < j->count; i++) parts[i] = (fw_shifted_ids){j->inputs[i], mapped ? 0 : j->joined[i].id_shift};
  furrow_status status = fw_ids_check_unique(parts, mapped ? 1 : j->count, err);
  fw_free(memory);
  return status;
}

/* Appends input i to those before it; the first input holds the counts of all. */
static furrow_status join_input(joining *j, size_t i, furrow_error *err) {
  furrow_index *first = j->inputs[0], *input = j->inputs[i];
  const fw_lists *lists = &inner_ivf(input)->ivf.lists;
  bool mapped = false;
  int64_t total = i > 0 ? inner_ivf(first)->ntotal : 0;
  furrow_status status = i > 0 ? fw_check_same_quantizers(first, input, err) : FURROW_OK;
  if (status == FURROW_OK) status = fw_lists_check_contents(lists, err);
  if (status == FURROW_OK && i > 0 && first->ntotal > INT64_MAX - input->ntotal)
    status = fw_fail(err, FURROW_E_RANGE, "there are too many vectors");
  if (status == FURROW_OK) status = join_id_maps(first, input, shift_of(j, i), &mapped, err);
  if (status == FURROW_OK && mapped) status = fw_lists_check_ids(lists, (size_t)inner_ivf(input)->ntotal, err);
  int64_t shift = mapped ? total : shift_of(j, i);
  if (status == FURROW_OK) status = fw_lists_check_shift(lists, shift, err);
  if (status != FURROW_OK) return status;
  j->joined[i] = (fw_joined_lists){.lists = lists, .id_shift = shift};
  if (i == 0) return FURROW_OK;
  add_counts(first, input);
  forget_quantizers(input);
  return FURROW_OK;
}

static furrow_status load_input(const joining *j, size_t i, bool memory_map, furrow_index **index, furrow_error *err) {
  furrow_index_load_params params = j->load;
  params.memory_map = memory_map;
  return furrow_index_load(index, j->paths[i], &params, err);
}

/* The first input is loaded already. */
static furrow_status join_lists(joining *j, const char *target, const furrow_index_save_params *params,
                                furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < j->count; i++) {
    if (i > 0) status = load_input(j, i, true, &j->inputs[i], err);
    if (status == FURROW_OK) status = add_file_name(j->paths[i], join_input(j, i, err), err);
    if (status == FURROW_OK) forget_direct_map(j->inputs[i]);
  }
  if (status == FURROW_OK && params->unique_ids) status = check_unique(j, err);
  fw_index_writer writer;
  if (status == FURROW_OK) status = fw_index_writer_init(&writer, j->inputs[0], params, err);
  if (status != FURROW_OK) return status;
  writer.joint = inner_ivf(j->inputs[0]);
  writer.joined = j->joined;
  writer.joined_count = j->count;
  return fw_index_write_file(j->inputs[0], target, params->overwrite, &writer, err);
}

/* ---- Anything else -------------------------------------------------------------------------------------- */

static furrow_status shift_first(furrow_index *index, int64_t id_shift, furrow_error *err) {
  furrow_index *inner = (furrow_index *)(uintptr_t)fw_skip_transforms(index);
  furrow_status status = fw_merge_check_shift(index, 0, id_shift, err);
  if (status != FURROW_OK || id_shift == 0) return status;
  if (inner->kind == FURROW_INDEX_ID_MAP) {
    status = fw_ids_check_shift(inner->id_map.ids, (size_t)inner->ntotal, id_shift, err);
    for (int64_t i = 0; status == FURROW_OK && i < inner->ntotal; i++) inner->id_map.ids[i] += id_shift;
  } else if (inner->kind == FURROW_INDEX_IVF_PQ_FAST) { /* it was copied, so its ids are its own */
    fw_lists *lists = &inner->ivf.lists;
    status = fw_lists_check_shift(lists, id_shift, err);
    for (size_t i = 0; status == FURROW_OK && lists->list && i < lists->nlist; i++)
      for (size_t k = 0; k < lists->list[i].size; k++)
        fw_list_set_id(&lists->list[i], k, fw_list_id(&lists->list[i], k) + id_shift);
  }
  return status;
}

static furrow_status join_in_memory(joining *j, const char *target, const furrow_index_save_params *params,
                                    furrow_error *err) {
  furrow_index *first = NULL;
  furrow_status status = load_input(j, 0, false, &first, err);
  if (status != FURROW_OK) return status;
  if (inner_ivf(first)) forget_direct_map(first);
  status = add_file_name(j->paths[0], shift_first(first, shift_of(j, 0), err), err);
  for (size_t i = 1; status == FURROW_OK && i < j->count; i++) {
    status = load_input(j, i, true, &j->inputs[i], err);
    if (status == FURROW_OK)
      status = add_file_name(j->paths[i], furrow_index_merge(first, j->inputs[i], shift_of(j, i), err), err);
    furrow_index_free(j->inputs[i]);
    j->inputs[i] = NULL;
  }
  if (status == FURROW_OK) status = furrow_index_save(first, target, params, err);
  furrow_index_free(first);
  return status;
}

/* ---- The whole ------------------------------------------------------------------------------------------ */

furrow_status furrow_index_merge_files(const char *const *paths, const int64_t *id_shifts, size_t count,
                                       const furrow_index_load_params *load, const char *target,
                                       const furrow_index_save_params *save, furrow_error *err) {
  furrow_index_save_params params;
  joining j = {.paths = paths, .id_shifts = id_shifts, .count = count};
  fw_compat release;
  void *inputs = NULL, *joined = NULL;
  if (count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "there are no indexes to merge");
  furrow_index_save_params_init(&params);
  furrow_index_load_params_init(&j.load);
  FW_TRY(FW_PARAMS_READ(&params, save, furrow_index_save_params, err));
  FW_TRY(FW_PARAMS_READ(&j.load, load, furrow_index_load_params, err));
  FW_TRY(fw_compat_parse(&release, params.compat, err)); /* before the work, not after it */
  params.inline_lists = true;
  furrow_status status = fw_alloc_zero(&inputs, count, sizeof *j.inputs, err);
  j.inputs = inputs;
  if (status == FURROW_OK) status = fw_alloc_zero(&joined, count, sizeof *j.joined, err);
  j.joined = joined;
  if (status == FURROW_OK) status = load_input(&j, 0, true, &j.inputs[0], err);
  if (status == FURROW_OK)
    status =
        has_only_lists(j.inputs[0]) ? join_lists(&j, target, &params, err) : join_in_memory(&j, target, &params, err);
  for (size_t i = 0; j.inputs && i < count; i++) furrow_index_free(j.inputs[i]);
  fw_free(inputs);
  fw_free(joined);
  return status;
}
