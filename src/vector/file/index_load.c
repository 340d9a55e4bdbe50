/* vector/file/index_load.c: loads an index from a file or from bytes, and lists the fields of a file. */
#include <inttypes.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/file_map.h"
#include "vector/file/index_read.h"

static furrow_status refuse_irregular_file(const char *path, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "is not a regular file, which an index must be");
  if (err) fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_open_regular(fw_input **input, uint64_t *size, const char *path, furrow_error *err) {
  struct stat info;
  /* checked before opening, which may block (a pipe), and again on the open file, which can no longer be replaced */
  FW_TRY(fw_path_stat(path, &info, err));
  if (!S_ISREG(info.st_mode)) return refuse_irregular_file(path, err);
  fw_input *opened = NULL;
  FW_TRY(fw_input_open(&opened, path, err));
  furrow_status status = fw_input_stat(opened, &info, err);
  if (status == FURROW_OK && !S_ISREG(info.st_mode)) status = refuse_irregular_file(path, err);
  if (status != FURROW_OK) {
    fw_input_close(opened);
    return status;
  }
  *input = opened;
  *size = (uint64_t)info.st_size;
  return FURROW_OK;
}

static furrow_status reader_init(fw_index_reader *r, furrow_index_load_params *params,
                                 const furrow_index_load_params *given, furrow_error *err) {
  furrow_index_load_params_init(params);
  FW_TRY(FW_PARAMS_READ(params, given, furrow_index_load_params, err));
  *r = (fw_index_reader){.lists = params->lists, .lists_optional = params->lists_optional, .pack = params->search_only};
  return FURROW_OK;
}

/* Reads the index and checks that the file ends after it. */
static furrow_status read_all(fw_index_reader *r, const furrow_index_load_params *params, furrow_index **index) {
  fw_cursor *c = &r->c;
  furrow_index *read = NULL;
  fw_read_index(r, "", &read);
  if (fw_cursor_good(c) && !read) fw_cursor_reject(c, "is null: the file has no index");
  uint64_t left = fw_cursor_left(c);
  if (fw_cursor_good(c) && left > 0) {
    fw_cursor_skip(c, "trailing", FW_FIELD_BYTES, left, "bytes after the index, which Faiss ignores");
    if (!params->allow_trailing)
      fw_cursor_reject(c, "%s %" PRIu64 " %s after the end of the index", fw_plural(left, "is", "are"), left,
                       fw_plural(left, "byte", "bytes"));
  }
  if (fw_cursor_good(c))
    *index = read;
  else
    furrow_index_free(read);
  return c->status;
}

static furrow_status read_bytes(fw_index_reader *r, const void *bytes, uint64_t size, const char *path,
                                const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  fw_field_fn on_field = r->c.on_field;
  void *user = r->c.user;
  fw_cursor_over_bytes(&r->c, bytes, size, path, err);
  r->c.on_field = on_field;
  r->c.user = user;
  r->borrow = true;
  return read_all(r, params, index);
}

static furrow_status load_copied(fw_index_reader *r, const fw_input *input, uint64_t size, const char *path,
                                 const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  fw_field_fn on_field = r->c.on_field;
  void *user = r->c.user;
  furrow_status status = fw_cursor_over_file(&r->c, input, size, path, err);
  r->c.on_field = on_field;
  r->c.user = user;
  if (status == FURROW_OK) status = read_all(r, params, index);
  fw_cursor_clear(&r->c);
  return status;
}

static void mark_lists(furrow_index *index, fw_file_map *map) {
  if (fw_index_is_ivf(index) && !index->ivf.lists.map) index->ivf.lists.map = map;
  for (size_t i = 0; i < FW_INDEX_CHILDREN; i++)
    if (index->child[i]) mark_lists(index->child[i], map);
}

static void keep_map(furrow_index *index, fw_file_map *map) {
  index->map = map;
  mark_lists(index, map);
}

/* Reads a mapped file; the index keeps the map if its lists are views into it. */
static furrow_status load_mapped(fw_index_reader *r, const fw_input *input, uint64_t size, const char *path,
                                 const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  if (size == 0) return read_bytes(r, NULL, 0, path, params, index, err);
  furrow_index *read = NULL;
  fw_file_map *map = NULL;
  FW_TRY(fw_file_map_open(&map, input, size, path, err));
  furrow_status status = read_bytes(r, fw_file_map_bytes(map), size, path, params, &read, err);
  const furrow_status lost = fw_file_map_check(map, err);
  if (lost != FURROW_OK) status = lost;
  if (status == FURROW_OK) {
    keep_map(read, map);
    *index = read;
  } else {
    furrow_index_free(read);
    fw_file_map_close(map);
  }
  return status;
}

/* Loads lists as views into the file if its bytes are accessible without reading. Takes *input if the file is held in
 * memory. */
static furrow_status load_views(fw_index_reader *r, fw_input **input, uint64_t size, const char *path,
                                const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  size_t length;
  const void *bytes = fw_input_memory(*input, &length);
  if (!bytes && fw_input_descriptor(*input) < 0) return load_copied(r, *input, size, path, params, index, err);
  if (!bytes) return load_mapped(r, *input, size, path, params, index, err);
  FW_TRY(read_bytes(r, bytes, length, path, params, index, err));
  (*index)->held = *input;
  *input = NULL;
  return FURROW_OK;
}

static furrow_status load_file(furrow_index **index, const char *path, const furrow_index_load_params *params,
                               furrow_error *err) {
  furrow_index_load_params p;
  fw_index_reader r;
  fw_input *input = NULL;
  uint64_t size;
  furrow_index *loaded = NULL;
  FW_TRY(reader_init(&r, &p, params, err));
  FW_TRY(fw_open_regular(&input, &size, path, err));
  furrow_status status = p.memory_map ? load_views(&r, &input, size, path, &p, &loaded, err)
                                      : load_copied(&r, input, size, path, &p, &loaded, err);
  fw_input_close(input);
  if (status == FURROW_OK) status = fw_next_id_load(loaded, path, err);
  if (status == FURROW_OK && p.card) status = fw_card_load(loaded, path, err);
  return FW_HAND_OVER(status, index, loaded, furrow_index_free);
}

/* The watch shows whether the card is that of the file that was read. */
furrow_status furrow_index_load(furrow_index **index, const char *path, const furrow_index_load_params *params,
                                furrow_error *err) {
  furrow_index_load_params p;
  furrow_path_watch *watch = NULL;
  furrow_index *loaded = NULL;
  furrow_index_load_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_index_load_params, err));
  if (!p.card) return load_file(index, path, params, err);
  FW_TRY(furrow_path_watch_begin(&watch, path, err));
  const furrow_status status = furrow_path_watch_end(watch, load_file(&loaded, path, &p, err), err);
  return FW_HAND_OVER(status, index, loaded, furrow_index_free);
}

furrow_status furrow_index_read(furrow_index **index, const void *bytes, size_t size, const char *name,
                                const furrow_index_load_params *params, furrow_error *err) {
  furrow_index_load_params p;
  fw_index_reader r;
  FW_TRY(reader_init(&r, &p, params, err));
  fw_cursor_over_bytes(&r.c, bytes, size, name, err);
  r.borrow = p.memory_map;
  return read_all(&r, &p, index);
}

furrow_status furrow_index_for_each_field(const char *path, const furrow_index_load_params *params,
                                          furrow_status (*on_field)(void *user, const furrow_index_field *field),
                                          void *user, furrow_error *err) {
  furrow_index_load_params p;
  fw_index_reader r;
  fw_input *input = NULL;
  uint64_t size;
  furrow_index *index = NULL;
  FW_TRY(reader_init(&r, &p, params, err));
  r.no_disk_lists = true;
  r.c.on_field = on_field;
  r.c.user = user;
  FW_TRY(fw_open_regular(&input, &size, path, err));
  furrow_status status = load_views(&r, &input, size, path, &p, &index, err);
  furrow_index_free(index);
  fw_input_close(input);
  return status;
}
