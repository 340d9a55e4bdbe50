/* tests/fuzz/fuzz_index_edit.c: index files from hostile bytes are changed.
 *
 * Whatever was read can be asked for vectors, lose some, be merged with itself, get vectors and a direct map, and be
 * written for older releases: each may be refused, and then nothing changed; after a change, what is written can be
 * read. */
#include <string.h>

#include "fuzz/harness/index_harness.h"

static furrow_status read_index(const uint8_t *data, size_t size, furrow_index **index) {
  furrow_index_load_params params;
  furrow_index_load_params_init(&params);
  params.memory_map = params.lists_optional = true;
  return furrow_index_read(index, data, size, "/nowhere/index", &params, NULL);
}

/* ---- Changes ---- */

static furrow_status change_remove(furrow_index *index) {
  const furrow_id_filter filter = {
      .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .first = 1, .end = 3};
  return furrow_index_remove(index, &filter, NULL, NULL);
}

static furrow_status change_remove_all(furrow_index *index) {
  const furrow_id_filter filter = {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .invert = true};
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
    if (map->locations[i] < 0) continue;
    if (!list || !list[map->locations[i] >> 32].ids) return false;
    if (fw_list_id(&list[map->locations[i] >> 32], map->locations[i] & UINT32_MAX) != (int64_t)i) return false;
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

static furrow_status change_add(furrow_index *index) {
  size_t d = (size_t)index->d;
  float *vectors = calloc(3 * d, sizeof *vectors);
  if (!vectors) return FURROW_E_MEMORY;
  for (size_t i = 0; i < 3 * d; i++) vectors[i] = (float)(i % 5) - 1;
  furrow_status status = furrow_index_add(index, vectors, 3, NULL, NULL, NULL);
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

/* What can be written for an older release is read again. */
static void try_releases(const furrow_index *index) {
  static const char *const releases[] = {"1.0", "1.2.1", "1.5.1", "1.7.1", "1.15.0"};
  for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
    fw_buffer old = {0};
    fw_index_writer w;
    furrow_index *again = NULL;
    furrow_index_save_params params = {.size = sizeof(furrow_index_save_params), .compat = releases[i]};
    if (fw_index_writer_init(&w, index, &params, NULL) != FURROW_OK) continue;
    w.write = append;
    w.to = &old;
    fw_write_index(&w, index);
    check(w.status == FURROW_OK && w.size == old.size);
    check(read_index((const uint8_t *)old.bytes, old.size, &again) == FURROW_OK);
    check(again->ntotal == index->ntotal);
    furrow_index_free(again);
    fw_buffer_clear(&old);
  }
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
  static furrow_status (*const changes[])(furrow_index *) = {change_remove,   change_remove_all, change_merge,
                                                             change_merge_on, change_update,     change_add,
                                                             change_array,    change_table};
  furrow_index *index = NULL;
  if (read_index(data, size, &index) != FURROW_OK) return 0;
  reconstruct_some(index);
  /* A file may count vectors that it does not have: a direct map has room for each, and twice as many are refused. */
  bool many = index->ntotal > 1000000 || (furrow_index_ivf(index) && furrow_index_ivf(index)->ntotal > 1000000);
  const furrow_index *ivf = furrow_index_ivf(index);
  if (!ivf || ivf->ivf.nlist < 100000) try_releases(index);
  furrow_index_free(index);
  for (size_t i = 0; !many && i < sizeof changes / sizeof *changes; i++) try_change(data, size, changes[i]);
  return 0;
}
