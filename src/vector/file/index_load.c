/* vector/file/index_load.c: an index from a file or from bytes, and the walk through its fields. */
#include <inttypes.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"
#include "vector/file/index_read.h"
#include "vector/file/regular_file.h"

void furrow_index_load_params_init(furrow_index_load_params *params) {
  *params = (furrow_index_load_params){0};
}

static void reader_init(fw_index_reader *r, const furrow_index_load_params *params) {
  *r = (fw_index_reader){0};
  if (!params) return;
  r->lists = params->lists;
  r->lists_optional = params->lists_optional;
  r->pack = params->search_only;
}

/* The index and the end of the file. */
static furrow_status read_all(fw_index_reader *r, const furrow_index_load_params *params, furrow_index **index) {
  fw_cursor *c = &r->c;
  furrow_index *read = NULL;
  fw_read_index(r, "", &read);
  if (fw_cursor_good(c) && !read) fw_cursor_reject(c, "is null: the file has no index");
  uint64_t left = fw_cursor_left(c);
  if (fw_cursor_good(c) && left > 0) {
    fw_cursor_skip(c, "trailing", FW_FIELD_BYTES, left, "bytes behind the index, which Faiss passes over");
    if (!params || !params->allow_trailing)
      fw_cursor_reject(c, "%s %" PRIu64 " %s behind the end of the index", fw_plural(left, "is", "are"), left,
                       fw_plural(left, "byte", "bytes"));
  }
  if (fw_cursor_good(c))
    *index = read;
  else
    furrow_index_free(read);
  return c->status;
}

static furrow_status map_file(void **map, const fw_input *input, uint64_t size, const char *path, furrow_error *err) {
  const int fd = fw_input_descriptor(input);
  void *at = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
  if (at == MAP_FAILED) {
    fw_fail(err, FURROW_E_IO, "cannot be mapped");
    if (err) fw_error_set_file(err, path);
    return FURROW_E_IO;
  }
  *map = at;
  return FURROW_OK;
}

static furrow_status read_bytes(fw_index_reader *r, const void *bytes, uint64_t size, const char *path,
                                const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  fw_field_visitor visit = r->c.visit;
  void *user = r->c.user;
  fw_cursor_over_bytes(&r->c, bytes, size, path, err);
  r->c.visit = visit;
  r->c.user = user;
  r->borrow = true;
  return read_all(r, params, index);
}

static furrow_status load_copied(fw_index_reader *r, const fw_input *input, uint64_t size, const char *path,
                                 const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  fw_field_visitor visit = r->c.visit;
  void *user = r->c.user;
  furrow_status status = fw_cursor_over_file(&r->c, input, size, path, err);
  r->c.visit = visit;
  r->c.user = user;
  if (status == FURROW_OK) status = read_all(r, params, index);
  fw_cursor_clear(&r->c);
  return status;
}

/* Reads a file through a map of it, which the index keeps if its lists are views of it. */
static furrow_status load_mapped(fw_index_reader *r, const fw_input *input, uint64_t size, const char *path,
                                 const furrow_index_load_params *params, furrow_index **index, furrow_error *err) {
  void *map = NULL;
  furrow_status status = map_file(&map, input, size, path, err);
  if (status != FURROW_OK) return status;
  furrow_index *read = NULL;
  status = read_bytes(r, map, size, path, params, &read, err);
  if (status == FURROW_OK) {
    read->map = map;
    read->map_size = (size_t)size;
    *index = read;
  } else if (map) {
    munmap(map, (size_t)size);
  }
  return status;
}

/* Lists that are views of the file, where its bytes can be had without reading; *input is taken if they are those of a
 * file in memory. */
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

furrow_status furrow_index_load(furrow_index **index, const char *path, const furrow_index_load_params *params,
                                furrow_error *err) {
  fw_index_reader r;
  fw_input *input = NULL;
  uint64_t size;
  reader_init(&r, params);
  furrow_status status = fw_open_regular(&input, &size, path, err);
  if (status != FURROW_OK) return status;
  if (params && params->map)
    status = load_views(&r, &input, size, path, params, index, err);
  else
    status = load_copied(&r, input, size, path, params, index, err);
  fw_input_close(input);
  return status;
}

furrow_status furrow_index_read(furrow_index **index, const void *bytes, size_t size, const char *name,
                                const furrow_index_load_params *params, furrow_error *err) {
  fw_index_reader r;
  reader_init(&r, params);
  fw_cursor_over_bytes(&r.c, bytes, size, name, err);
  r.borrow = params && params->map;
  return read_all(&r, params, index);
}

furrow_status furrow_index_for_each_field(const char *path, const furrow_index_load_params *params,
                                          furrow_status (*visit)(void *user, const furrow_index_field *field),
                                          void *user, furrow_error *err) {
  fw_index_reader r;
  fw_input *input = NULL;
  uint64_t size;
  furrow_index *index = NULL;
  reader_init(&r, params);
  r.no_disk_lists = true;
  r.c.visit = visit;
  r.c.user = user;
  furrow_status status = fw_open_regular(&input, &size, path, err);
  if (status != FURROW_OK) return status;
  status = load_views(&r, &input, size, path, params, &index, err);
  furrow_index_free(index);
  fw_input_close(input);
  return status;
}
