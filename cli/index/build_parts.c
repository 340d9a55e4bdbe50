/* cli/index/build_parts.c: an index that is built in parts, so that memory never holds all of its codes. */
#include "index/build_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "furrow/card.h"

static furrow_status append_bytes(void *user, const void *bytes, size_t length, furrow_error *err) {
  fw_buffer *empty = user;
  fw_buffer_append(empty, bytes, length);
  return fw_buffer_status(empty, err);
}

/* Whether the index consists of transforms and id maps around inverted lists of codes. */
static bool has_only_lists(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  for (furrow_index_get_info(index, &info); info.kind == FURROW_INDEX_TRANSFORM || info.kind == FURROW_INDEX_ID_MAP;
       furrow_index_get_info(index, &info))
    index = furrow_index_child(index, 0);
  return info.kind == FURROW_INDEX_IVF_FLAT || info.kind == FURROW_INDEX_IVF_PQ || info.kind == FURROW_INDEX_IVF_SQ;
}

furrow_status build_parts_begin(build_parts *parts, const furrow_index *trained, const char *destination, uint64_t most,
                                furrow_error *err) {
  furrow_output to;
  furrow_output_init(&to);
  to.write = append_bytes;
  to.user = &parts->empty;
  if (!has_only_lists(trained)) return FURROW_OK;
  parts->destination = destination;
  parts->most = most;
  return furrow_index_write(trained, &to, NULL, err);
}

/* The file loses its name as soon as it is mapped. */
static furrow_status set_aside(build_parts *parts, const furrow_index *index, furrow_error *err) {
  furrow_index_save_params save;
  furrow_index_load_params load;
  char *path = NULL;
  furrow_index **grown = realloc(parts->full, (parts->count + 1) * sizeof *grown);
  if (!grown) return fail_memory(err);
  parts->full = grown;
  if (asprintf(&path, "%s.part-%ld", parts->destination, (long)getpid()) < 0) return fail_memory(err);
  furrow_index_save_params_init(&save);
  furrow_index_load_params_init(&load);
  load.memory_map = true;
  furrow_status status = furrow_index_save(index, path, &save, err);
  if (status == FURROW_OK) {
    status = furrow_index_load(&parts->full[parts->count], path, &load, err);
    unlink(path);
  }
  if (status == FURROW_OK) parts->count++;
  free(path);
  return status;
}

furrow_status build_parts_next(build_parts *parts, furrow_index **index, uint64_t next, furrow_error *err) {
  furrow_index_info info;
  furrow_index *empty = NULL;
  if (parts->empty.size == 0) return FURROW_OK;
  furrow_index_info_init(&info);
  furrow_index_get_info(furrow_index_ivf(*index), &info);
  if (info.stored * (info.code_size + 8) < parts->most) return FURROW_OK;
  furrow_status status = set_aside(parts, *index, err);
  if (status == FURROW_OK) status = furrow_index_read(&empty, parts->empty.bytes, parts->empty.size, NULL, NULL, err);
  if (status != FURROW_OK) return status;
  furrow_index_set_next_id(empty, (int64_t)next);
  furrow_index_move_card(empty, *index);
  furrow_index_free(*index);
  *index = empty;
  return FURROW_OK;
}

furrow_status build_parts_save(build_parts *parts, furrow_index *last, const furrow_index_save_params *params,
                               furrow_error *err) {
  furrow_index **all = realloc(parts->full, (parts->count + 1) * sizeof *all);
  if (!all) return fail_memory(err);
  parts->full = all;
  all[parts->count] = last;
  return furrow_index_save_parts(all, parts->count + 1, parts->destination, params, err);
}

furrow_status build_parts_ids(const build_parts *parts, id_list *ids, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < parts->count; i++) status = id_list_add(ids, parts->full[i], err);
  return status;
}

void build_parts_clear(build_parts *parts) {
  for (size_t i = 0; i < parts->count; i++) furrow_index_free(parts->full[i]);
  free(parts->full);
  fw_buffer_clear(&parts->empty);
  *parts = (build_parts){0};
}
