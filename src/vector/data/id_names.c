/* vector/data/id_names.c: names of ids in memory: checks, searches and changes the bytes of a names file
 * (docs/formats/index_names.md). A change rebuilds the table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "vector/data/id_filter.h"
#include "vector/data/id_names.h"

/* ---- Handles -------------------------------------------------------------------------------------------- */

void fw_id_names_clear(furrow_id_names *names) {
  fw_companion_clear(&names->file);
  *names = (furrow_id_names){0};
}

void furrow_id_names_free(furrow_id_names *names) {
  if (!names) return;
  fw_id_names_clear(names);
  fw_free(names);
}

/* ---- Names ---------------------------------------------------------------------------------------------- */

const char *fw_name_fault(const char *text, size_t size) {
  if (size == 0) return "a name is empty";
  if (fw_utf8_check(text, text + size)) return "a name is not UTF-8";
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return "a name has a control character";
  return NULL;
}

/* ---- Bytes ---------------------------------------------------------------------------------------------- */

static furrow_status check_header(const unsigned char *bytes, size_t size, const char *path, furrow_error *err) {
  FW_TRY(fw_companion_check_header(&fw_names_kind, bytes, size, path, err));
  if (fw_get_le64(bytes + FW_ID_NAMES_AT_ZERO) != 0)
    return fw_companion_refuse(err, path, FW_ID_NAMES_AT_ZERO, "has a byte that is not 0 but must be");
  if (fw_get_le64(bytes + FW_ID_NAMES_AT_COUNT) > (size - FW_ID_NAMES_HEADER) / 8)
    return fw_companion_refuse(err, path, FW_ID_NAMES_AT_COUNT, "has more names than bytes for them");
  return FURROW_OK;
}

static furrow_status check_ids(const unsigned char *ids, size_t count, uint64_t digest, const char *path,
                               furrow_error *err) {
  if (XXH3_64bits(ids, 8 * count) != digest)
    return fw_companion_refuse(err, path, FW_ID_NAMES_AT_IDS_DIGEST,
                               "is damaged: the digest of the ids does not match");
  return fw_companion_check_ids(ids, count, path, err);
}

static furrow_status check_texts(const fw_string_table *table, size_t at, const char *path, furrow_error *err) {
  for (size_t i = 0; i < table->count; i++) {
    size_t size;
    const char *text = fw_string_table_text(table, i, &size), *fault = fw_name_fault(text, size);
    if (!fault) continue;
    fw_companion_refuse(err, path, at + (size_t)((const unsigned char *)text - table->offsets) + 32, fault);
    fw_error_set_token(err, text, size);
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

furrow_status fw_id_names_view(furrow_id_names *names, const void *bytes, size_t size, const char *path,
                               furrow_error *err) {
  const unsigned char *at = bytes;
  fw_string_table table;
  FW_TRY(check_header(at, size, path, err));
  const size_t count = (size_t)fw_get_le64(at + FW_ID_NAMES_AT_COUNT);
  const bool stored = fw_get_le32(at + FW_ID_NAMES_AT_IDS) == 1;
  const size_t table_at = FW_ID_NAMES_HEADER + (stored ? 8 * count : 0);
  FW_TRY(
      check_ids(at + FW_ID_NAMES_HEADER, stored ? count : 0, fw_get_le64(at + FW_ID_NAMES_AT_IDS_DIGEST), path, err));
  furrow_status status = fw_string_table_open(&table, at + table_at, size - table_at, err);
  if (status != FURROW_OK) {
    fw_error_set_file(err, path);
    if (err && err->offset != FURROW_NO_OFFSET) err->offset += table_at;
    return status;
  }
  if (table.count != count)
    return fw_companion_refuse(err, path, table_at + 8, "has different numbers of texts and names");
  if (table.size != size - table_at)
    return fw_companion_refuse(err, path, table_at + table.size, "has bytes after its end");
  FW_TRY(check_texts(&table, table_at, path, err));
  names->file.bytes = at;
  names->file.size = size;
  names->ids = stored ? at + FW_ID_NAMES_HEADER : NULL;
  names->table = table;
  names->file.stamp = fw_companion_stamp(at);
  return FURROW_OK;
}

static furrow_status view_object(void *object, const void *bytes, size_t size, const char *path, furrow_error *err) {
  return fw_id_names_view(object, bytes, size, path, err);
}

static void clear_object(void *object) {
  fw_id_names_clear(object);
}

const fw_companion_kind fw_names_kind = {
    .ending = ".names",
    .magic = FW_ID_NAMES_MAGIC,
    .version = FW_ID_NAMES_VERSION,
    .noun = "names",
    .belong = "belong",
    .file = "a file of names",
    .absent = "has no names of ids",
    .hint = "name the ids of the index again, or delete the file to do without names",
    .object_size = sizeof(furrow_id_names),
    .view = view_object,
    .clear = clear_object,
};

/* ---- Search --------------------------------------------------------------------------------------------- */

size_t furrow_id_names_count(const furrow_id_names *names) {
  return names->table.count;
}

size_t fw_id_names_number(const furrow_id_names *names, int64_t id) {
  return fw_companion_find_id(names->ids, names->table.count, id);
}

const char *furrow_id_names_text(const furrow_id_names *names, int64_t id, size_t *size) {
  const size_t i = fw_id_names_number(names, id);
  return i < names->table.count ? fw_string_table_text(&names->table, i, size) : NULL;
}

const char *furrow_id_names_at(const furrow_id_names *names, size_t i, int64_t *id, size_t *size) {
  if (i >= names->table.count) return NULL;
  *id = fw_id_names_id(names, i);
  return fw_string_table_text(&names->table, i, size);
}

bool furrow_id_names_find(const furrow_id_names *names, const char *text, size_t size, int64_t *id) {
  const size_t i = fw_string_table_find(&names->table, text, size);
  if (i == FW_STRING_TABLE_NONE) return false;
  *id = fw_id_names_id(names, i);
  return true;
}

/* ---- Construction --------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
  const int64_t x = ((const fw_named_id *)a)->id, y = ((const fw_named_id *)b)->id;
  return (x > y) - (x < y);
}

static furrow_status fail_name(furrow_error *err, furrow_status status, const fw_named_id *name, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_token(err, name->text, name->size);
  return status;
}

static bool is_sorted(const fw_named_id *list, size_t count) {
  for (size_t i = 1; i < count; i++)
    if (list[i].id < list[i - 1].id) return false;
  return true;
}

static furrow_status sort_ids(fw_named_id *list, size_t count, bool *counted, furrow_error *err) {
  if (!is_sorted(list, count)) qsort(list, count, sizeof *list, by_id);
  *counted = count == 0 || (list[0].id == 0 && list[count - 1].id == (int64_t)count - 1);
  for (size_t i = 1; i < count; i++)
    if (list[i].id == list[i - 1].id) {
      fw_fail(err, FURROW_E_EXISTS, "id %" PRId64 " has a name already, so it cannot have this one", list[i].id);
      fw_error_set_token(err, list[i].text, list[i].size);
      return FURROW_E_EXISTS;
    }
  return FURROW_OK;
}

furrow_status fw_named_ids_build(fw_buffer *image, const fw_named_id *list, size_t count, size_t twins[2],
                                 furrow_error *err) {
  fw_buffer bytes = {0};
  void *offsets = NULL;
  furrow_status status = fw_alloc(&offsets, count + 1, sizeof(uint64_t), err);
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    ((uint64_t *)offsets)[i] = bytes.size;
    fw_buffer_append(&bytes, list[i].text, list[i].size);
  }
  if (status == FURROW_OK) ((uint64_t *)offsets)[count] = bytes.size;
  if (status == FURROW_OK) status = fw_buffer_status(&bytes, err);
  const fw_texts texts = {.bytes = bytes.bytes, .offsets = offsets, .count = count};
  if (status == FURROW_OK) status = fw_string_table_build(image, &texts, twins, err);
  fw_buffer_clear(&bytes);
  fw_free(offsets);
  return status;
}

static furrow_status fail_twins(furrow_error *err, const fw_named_id *one, const fw_named_id *other) {
  fw_fail(err, FURROW_E_EXISTS, "ids %" PRId64 " and %" PRId64 " would have the same name", one->id, other->id);
  fw_error_set_token(err, one->text, one->size);
  return FURROW_E_EXISTS;
}

/* Appends the bytes of a names file, except for the stamp of the index. */
static furrow_status put_image(fw_buffer *image, fw_named_id *list, size_t count, furrow_error *err) {
  unsigned char header[FW_ID_NAMES_HEADER] = FW_ID_NAMES_MAGIC;
  bool counted;
  FW_TRY(sort_ids(list, count, &counted, err));
  fw_put_le32(header + FW_ID_NAMES_AT_VERSION, FW_ID_NAMES_VERSION);
  fw_put_le32(header + FW_ID_NAMES_AT_IDS, !counted);
  fw_put_le64(header + FW_ID_NAMES_AT_COUNT, count);
  fw_buffer_append(image, header, sizeof header);
  for (size_t i = 0; !counted && i < count; i++) {
    unsigned char id[8];
    fw_put_le64(id, (uint64_t)list[i].id);
    fw_buffer_append(image, id, sizeof id);
  }
  FW_TRY(fw_buffer_status(image, err));
  unsigned char *bytes = (unsigned char *)image->bytes;
  fw_put_le64(bytes + FW_ID_NAMES_AT_IDS_DIGEST, XXH3_64bits(bytes + sizeof header, image->size - sizeof header));
  fw_put_le64(bytes + FW_ID_NAMES_AT_DIGEST, XXH3_64bits(bytes, FW_ID_NAMES_AT_DIGEST));
  size_t twins[2];
  furrow_status status = fw_named_ids_build(image, list, count, twins, err);
  return status == FURROW_E_EXISTS ? fail_twins(err, &list[twins[0]], &list[twins[1]]) : status;
}

/* Sets the names to a list, which may point into the current names. */
static furrow_status set_names(furrow_id_names *names, fw_named_id *list, size_t count, furrow_error *err) {
  furrow_id_names made = {0};
  fw_buffer *image = &made.file.image;
  furrow_status status = put_image(image, list, count, err);
  if (status == FURROW_OK) status = fw_id_names_view(&made, image->bytes, image->size, "", err);
  if (status != FURROW_OK) {
    fw_buffer_clear(image);
    return status;
  }
  fw_id_names_clear(names);
  *names = made;
  return FURROW_OK;
}

/* Lists all names, with capacity for `more`. */
static furrow_status list_names(const furrow_id_names *names, size_t more, fw_named_id **list, furrow_error *err) {
  void *memory = NULL;
  size_t count;
  if (!fw_size_add(names->table.count, more, &count)) return fw_fail_memory(err, SIZE_MAX);
  FW_TRY(fw_alloc(&memory, count, sizeof(fw_named_id), err));
  *list = memory;
  for (size_t i = 0; i < names->table.count; i++)
    (*list)[i].text = furrow_id_names_at(names, i, &(*list)[i].id, &(*list)[i].size);
  return FURROW_OK;
}

furrow_status furrow_id_names_create(furrow_id_names **names, furrow_error *err) {
  void *memory = NULL;
  FW_TRY(fw_alloc_zero(&memory, 1, sizeof(furrow_id_names), err));
  furrow_status status = set_names(memory, NULL, 0, err);
  return FW_HAND_OVER(status, names, memory, fw_free);
}

furrow_status furrow_id_names_add(furrow_id_names *names, const int64_t *ids, const char *const *texts, size_t n,
                                  furrow_error *err) {
  fw_named_id *list = NULL;
  const size_t count = names->table.count;
  const int64_t last = count ? fw_id_names_id(names, count - 1) : -1;
  FW_TRY(list_names(names, n, &list, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < n; i++) {
    fw_named_id *added = &list[count + i];
    *added = (fw_named_id){.id = ids ? ids[i] : 0, .text = texts[i], .size = strlen(texts[i])};
    const bool is_last = !ids && __builtin_add_overflow(last, (int64_t)i + 1, &added->id);
    if (is_last)
      status = fail_name(err, FURROW_E_RANGE, added, "there is no id for this name: the last one has a name");
    const char *fault = status == FURROW_OK ? fw_name_fault(added->text, added->size) : NULL;
    if (fault) status = fail_name(err, FURROW_E_ARGUMENT, added, fault);
  }
  if (status == FURROW_OK) status = set_names(names, list, count + n, err);
  fw_free(list);
  return status;
}

furrow_status furrow_id_names_remove(furrow_id_names *names, const furrow_id_filter *filter, bool renumber,
                                     furrow_error *err) {
  fw_named_id *list = NULL;
  furrow_id_filter full;
  size_t kept = 0;
  FW_TRY(fw_id_filter_read(&full, filter, err));
  FW_TRY(list_names(names, 0, &list, err));
  for (size_t i = 0; i < names->table.count; i++) {
    if (fw_id_filter_keeps_id(&full, list[i].id)) continue;
    list[kept] = list[i];
    list[kept].id = renumber ? list[i].id - (int64_t)(i - kept) : list[i].id;
    kept++;
  }
  furrow_status status = set_names(names, list, kept, err);
  fw_free(list);
  return status;
}

furrow_status furrow_id_names_merge(furrow_id_names *names, const furrow_id_names *other, int64_t id_shift,
                                    furrow_error *err) {
  fw_named_id *list = NULL;
  size_t count = names->table.count;
  FW_TRY(list_names(names, other->table.count, &list, err));
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && i < other->table.count; i++) {
    fw_named_id *added = &list[count];
    int64_t id = 0, found;
    added->text = furrow_id_names_at(other, i, &id, &added->size);
    if (__builtin_add_overflow(id, id_shift, &added->id)) {
      status = fail_name(err, FURROW_E_RANGE, added, "the id of this name would be too large");
      break;
    }
    if (!furrow_id_names_find(names, added->text, added->size, &found)) {
      count++;
    } else if (found != added->id) {
      status = fail_twins(err, &(fw_named_id){.id = found, .text = added->text, .size = added->size}, added);
    }
  }
  if (status == FURROW_OK) status = set_names(names, list, count, err);
  fw_free(list);
  return status;
}
