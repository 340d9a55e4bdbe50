/* tests/fuzz/fuzz_index_edit.c: index files from hostile bytes are changed.
 *
 * Whatever was read can be asked for vectors, lose some, be merged with itself, get vectors and a direct map: each may
 * be refused, and then nothing changed; after a change, what is written can be read. */
#include <string.h>

#include "fuzz/index_harness.h"

static furrow_status read_index(const uint8_t *data, size_t size, furrow_index **index) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.map = params.lists_optional = true;
  return furrow_index_read(index, data, size, "/nowhere/index", &params, NULL);
}

/* ---- Changes ---- */

static furrow_status change_remove(furrow_index *index) {
  const furrow_id_filter filter = {.kind = FURROW_FILTER_RANGE, .first = 1, .end = 3};
  return furrow_index_remove(index, &filter, NULL, NULL);
}

static furrow_status change_remove_all(furrow_index *index) {
  const furrow_id_filter filter = {.kind = FURROW_FILTER_RANGE, .invert = true};
  return furrow_index_remove(index, &filter, NULL, NULL);
}

static furrow_status merge_copy(furrow_index *index, int64_t shift) {
  fw_buffer bytes = {0};
  furrow_index *copy = NULL;
  write_index(index, &bytes);
  check(read_index((const uint8_t *)bytes.bytes, bytes.size, &copy) == FURROW_OK);
  furrow_status status = furrow_index_merge(index, copy, shift, NULL);
  furrow_index_free(copy);
  fw_buffer_clear(&bytes);
  return status;
}

static furrow_status change_merge(furrow_index *index) {
  return merge_copy(index, 1000);
}

static furrow_status change_merge_on(furrow_index *index) {
  return merge_copy(index, 0);
}

/* An array that leads astray stays so, and may lead to nowhere when lists change. */
static bool array_is_right(const furrow_index *ivf) {
  const fw_direct_map *map = &ivf->ivf.direct_map;
  for (size_t i = 0; map->type == FURROW_DIRECT_MAP_ARRAY && i < map->count; i++) {
    const fw_list *list = ivf->ivf.lists.list;
    if (map->places[i] < 0) continue;
    if (!list || !list[map->places[i] >> 32].ids) return false;
    if (fw_list_id(&list[map->places[i] >> 32], map->places[i] & UINT32_MAX) != (int64_t)i) return false;
  }
  return true;
}

static furrow_status change_update(furrow_index *index) {
  static const int64_t ids[] = {2, 0};
  size_t d = (size_t)index->d;
  const furrow_index *ivf = furrow_index_ivf(index);
  if (ivf && !array_is_right(ivf)) return FURROW_E_STATE;
  float *vectors = calloc(2 * d, sizeof *vectors);
  if (!vectors) return FURROW_E_MEMORY;
  for (size_t i = 0; i < d; i++) vectors[i] = (float)(i % 3);
  furrow_status status = furrow_index_update(index, ids, vectors, 2, NULL);
  free(vectors);
  return status;
}

static furrow_status change_array(furrow_index *index) {
  return furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_ARRAY, NULL);
}

static furrow_status change_table(furrow_index *index) {
  return furrow_index_set_direct_map(index, FURROW_DIRECT_MAP_HASHTABLE, NULL);
}

static void reconstruct_some(const furrow_index *index) {
  float *vector = calloc((size_t)index->d, sizeof *vector);
  if (!vector) return;
  for (int64_t id = -1; id < 8; id++) {
    furrow_status status = furrow_index_reconstruct(index, id, vector, NULL);
    check(status != FURROW_E_FORMAT);
  }
  free(vector);
}

/* Changes made one after the other would hide each other: each begins with the bytes. */
static void try_change(const uint8_t *data, size_t size, furrow_status (*change)(furrow_index *)) {
  furrow_index *index = NULL, *again = NULL;
  fw_buffer before = {0}, after = {0};
  check(read_index(data, size, &index) == FURROW_OK);
  write_index(index, &before);
  furrow_status status = change(index);
  write_index(index, &after);
  if (status != FURROW_OK) {
    check(before.size == after.size && memcmp(before.bytes, after.bytes, before.size) == 0);
  } else {
    check(read_index((const uint8_t *)after.bytes, after.size, &again) == FURROW_OK);
    reconstruct_some(again);
  }
  furrow_index_free(index);
  furrow_index_free(again);
  fw_buffer_clear(&before);
  fw_buffer_clear(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static furrow_status (*const changes[])(furrow_index *) = {
      change_remove, change_remove_all, change_merge, change_merge_on, change_update, change_array, change_table};
  furrow_index *index = NULL;
  if (read_index(data, size, &index) != FURROW_OK) return 0;
  reconstruct_some(index);
  /* A file may count vectors that it does not have: a direct map has room for each, and twice as many are refused. */
  bool many = index->ntotal > 1000000 || (furrow_index_ivf(index) && furrow_index_ivf(index)->ntotal > 1000000);
  furrow_index_free(index);
  for (size_t i = 0; !many && i < sizeof changes / sizeof *changes; i++) try_change(data, size, changes[i]);
  return 0;
}
