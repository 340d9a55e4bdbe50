/* vector/file/index_read_disk.c: the data file of lists on disk (ilod): finds it, opens it for reading only, maps or
 * reads it.
 *
 * An index names its data file by the path that its writer used. Only the base name is used, in the folder of the
 * index, so that a file cannot make us open something elsewhere. */
#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/file_map.h"
#include "vector/file/index_read.h"
#include "vector/index/pack_codes.h"

typedef struct data_file {
  const char *path;
  fw_input *input;
  uint64_t size;
} data_file;

/* ---- Finding the data file ------------------------------------------------------------------------------ */

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void find_data_file(fw_index_reader *r, const fw_disk *disk, char **path) {
  fw_cursor *c = &r->c;
  const char *name = last_part(disk->file_name), *index = c->file ? c->file : "";
  fw_buffer text = {0};
  if (r->lists) {
    fw_buffer_text(&text, r->lists);
  } else if (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    fw_cursor_reject(c, "follows a data file without a name");
  } else {
    fw_buffer_append(&text, index, (size_t)(last_part(index) - index));
    fw_buffer_text(&text, name);
  }
  if (fw_cursor_good(c)) c->status = fw_buffer_take(&text, path, NULL, c->err);
  fw_buffer_clear(&text);
}

/* Fails with an error about the data file itself. */
static void fail_data(fw_cursor *c, const data_file *data, furrow_status status, const char *message) {
  c->status = fw_fail(c->err, status, "%s", message);
  if (c->err) fw_error_set_file(c->err, data->path);
}

/* index_read_lists.c has checked that every list is within the size stated in the index; here the file is checked
 * against that size. */
static void open_data(fw_cursor *c, const fw_disk *disk, data_file *data) {
  c->status = fw_open_regular(&data->input, &data->size, data->path, c->err);
  if (!fw_cursor_good(c) || data->size >= disk->total_size) return;
  c->status = fw_fail(c->err, FURROW_E_FORMAT, "is the data file of an index and has %" PRIu64 " %s, not %" PRIu64,
                      data->size, fw_plural(data->size, "byte", "bytes"), disk->total_size);
  if (c->err) fw_error_set_file(c->err, data->path);
}

/* ---- Contents ------------------------------------------------------------------------------------------- */

static void set_views(fw_lists *lists, const uint8_t *bytes) {
  for (size_t i = 0; i < lists->nlist; i++) {
    const fw_disk_list *at = &lists->disk->lists[i];
    if (at->size == 0) continue;
    lists->list[i].codes = (uint8_t *)bytes + at->offset;
    lists->list[i].ids = (uint8_t *)bytes + at->offset + at->capacity * lists->code_size;
  }
}

static void map_data(fw_cursor *c, fw_lists *lists, const data_file *data) {
  c->status = fw_file_map_open(&lists->disk->map, data->input, data->size, data->path, c->err);
  if (!fw_cursor_good(c)) return;
  lists->map = lists->disk->map;
  set_views(lists, fw_file_map_bytes(lists->map));
}

/* Makes lists views into the data file; false if its bytes have to be read. */
static bool view_data(fw_cursor *c, fw_lists *lists, data_file *data) {
  size_t length;
  const uint8_t *bytes = fw_input_memory(data->input, &length);
  if (!bytes && fw_input_descriptor(data->input) < 0) return false;
  if (data->size == 0) return true;
  if (!bytes) {
    map_data(c, lists, data);
    return true;
  }
  set_views(lists, bytes);
  lists->disk->held = data->input;
  data->input = NULL;
  return true;
}

static void read_data(fw_cursor *c, const data_file *data, uint8_t *to, size_t size, uint64_t offset) {
  size_t got = 0;
  if (!fw_cursor_good(c)) return;
  c->status = fw_input_read_at(data->input, to, size, offset, &got, c->err);
  if (fw_cursor_good(c) && got < size)
    fail_data(c, data, FURROW_E_IO, "the data file of an index became shorter meanwhile");
}

/* Reads the codes of all lists into one slab, unchanged. */
static void copy_codes(fw_cursor *c, fw_lists *lists, const data_file *data) {
  lists->codes = fw_cursor_alloc(c, (size_t)fw_lists_stored(lists), lists->code_size);
  uint8_t *codes = lists->codes;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    fw_list *list = &lists->list[i];
    if (list->size == 0) continue;
    list->codes = codes;
    read_data(c, data, codes, list->size * lists->code_size, lists->disk->lists[i].offset);
    codes += list->size * lists->code_size;
  }
}

/* The same, packed for searching. */
static void pack_codes(fw_cursor *c, fw_lists *lists, const data_file *data, const fw_pq *pq) {
  const size_t piece = fw_pack_piece(lists->code_size);
  fw_alloc_packed(c, lists, pq);
  uint8_t *buffer = fw_cursor_alloc(c, piece, lists->code_size);
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    const fw_list *list = &lists->list[i];
    for (size_t first = 0; fw_cursor_good(c) && first < list->size; first += piece) {
      const size_t n = list->size - first < piece ? list->size - first : piece;
      read_data(c, data, buffer, n * lists->code_size, lists->disk->lists[i].offset + first * lists->code_size);
      if (fw_cursor_good(c))
        fw_pack_codes(&(fw_code_source){.pq = pq, .codes = buffer, .order = lists->order}, n,
                      list->codes + first * fw_pq_rows(pq));
    }
  }
  fw_free(buffer);
}

/* pq NULL: codes are not packed. */
static void copy_data(fw_cursor *c, fw_lists *lists, const data_file *data, const fw_pq *pq) {
  if (pq)
    pack_codes(c, lists, data, pq);
  else
    copy_codes(c, lists, data);
  lists->ids = fw_cursor_alloc(c, (size_t)fw_lists_stored(lists), 8);
  uint8_t *ids = lists->ids;
  for (size_t i = 0; fw_cursor_good(c) && i < lists->nlist; i++) {
    const fw_disk_list *at = &lists->disk->lists[i];
    fw_list *list = &lists->list[i];
    if (at->size == 0) continue;
    list->ids = ids;
    read_data(c, data, ids, list->size * 8, at->offset + at->capacity * lists->code_size);
    ids += list->size * 8;
  }
}

void fw_read_disk_lists(fw_index_reader *r, fw_ivf *ivf) {
  fw_cursor *c = &r->c;
  fw_lists *lists = &ivf->lists;
  if (r->no_disk_lists) {
    lists->disk->missing = true;
    return;
  }
  data_file data = {0};
  find_data_file(r, lists->disk, &lists->disk->path);
  if (!fw_cursor_good(c)) return;
  data.path = lists->disk->path;
  open_data(c, lists->disk, &data);
  if (c->status == FURROW_E_NOT_FOUND && r->lists_optional) {
    c->status = FURROW_OK;
    lists->disk->missing = true;
  } else {
    const bool viewed = fw_cursor_good(c) && r->borrow && view_data(c, lists, &data);
    if (fw_cursor_good(c) && !viewed) copy_data(c, lists, &data, fw_reader_packs_codes(r, ivf) ? &ivf->pq : NULL);
  }
  fw_input_close(data.input);
}
