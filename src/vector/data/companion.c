/* vector/data/companion.c: the common parts of files next to an index: their bytes, the check of their header. */
#include "vector/data/companion.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"

void fw_companion_clear(fw_companion *file) {
  fw_input_close(file->held);
  fw_buffer_clear(&file->image);
  *file = (fw_companion){0};
}

furrow_status fw_companion_refuse(furrow_error *err, const char *path, uint64_t offset, const char *message) {
  fw_fail(err, FURROW_E_FORMAT, "%s", message);
  fw_error_set_file(err, path);
  if (err) err->offset = offset;
  return FURROW_E_FORMAT;
}

furrow_status fw_companion_check_header(const fw_companion_kind *kind, const unsigned char *bytes, size_t size,
                                        const char *path, furrow_error *err) {
  if (size < 8 || memcmp(bytes, kind->magic, 8) != 0) {
    fw_companion_refuse(err, path, 0, "");
    if (err) snprintf(err->message, sizeof err->message, "is not %s", kind->file);
    return FURROW_E_FORMAT;
  }
  if (size < FW_COMPANION_HEADER) return fw_companion_refuse(err, path, size, "is cut short");
  if (fw_get_le32(bytes + FW_COMPANION_AT_VERSION) != kind->version)
    return fw_companion_refuse(err, path, FW_COMPANION_AT_VERSION, "has a version that this release does not read");
  if (fw_get_le64(bytes + FW_COMPANION_AT_DIGEST) != XXH3_64bits(bytes, FW_COMPANION_AT_DIGEST))
    return fw_companion_refuse(err, path, FW_COMPANION_AT_DIGEST,
                               "is damaged: the digest of the header does not match");
  if (fw_get_le32(bytes + FW_COMPANION_AT_IDS) > 1)
    return fw_companion_refuse(err, path, FW_COMPANION_AT_IDS,
                               "says neither that ids are stored nor that they are not");
  return FURROW_OK;
}

furrow_status fw_companion_check_ids(const unsigned char *ids, size_t count, const char *path, furrow_error *err) {
  for (size_t i = 1; i < count; i++)
    if ((int64_t)fw_get_le64(ids + 8 * i) <= (int64_t)fw_get_le64(ids + 8 * i - 8))
      return fw_companion_refuse(err, path, FW_COMPANION_HEADER + 8 * i, "has ids that do not ascend");
  return FURROW_OK;
}

size_t fw_companion_find_id(const unsigned char *ids, size_t count, int64_t id) {
  size_t from = 0, end = count;
  if (!ids) return id >= 0 && (uint64_t)id < count ? (size_t)id : count;
  while (from < end) {
    const size_t middle = from + (end - from) / 2;
    if ((int64_t)fw_get_le64(ids + 8 * middle) < id)
      from = middle + 1;
    else
      end = middle;
  }
  return from < count && (int64_t)fw_get_le64(ids + 8 * from) == id ? from : count;
}
