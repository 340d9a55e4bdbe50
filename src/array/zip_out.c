/* array/zip_out.c: writes members in order, fills in each local header when its member is complete, then the
 * directory. */
#include "array/zip.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/endian.h"
#include "base/mem.h"
#include "io/atomic_file.h"

#define EXTRA_LOCAL 20     /* two sizes */
#define EXTRA_MOST 28      /* two sizes and the offset */
#define FIRST_DATE 0x0021u /* 1980-01-01: equal data gives equal bytes */

typedef struct member {
  char *name;
  uint64_t offset, size;
  uint32_t crc;
} member;

struct fw_zip_writer {
  fw_atomic_file *file;
  member *members;
  size_t count, capacity;
  size_t header; /* bytes reserved at the start of the open member */
  bool open;
};

furrow_status fw_zip_writer_open(fw_zip_writer **writer, const char *path, bool replace, furrow_error *err) {
  void *memory;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_zip_writer), err);
  if (status != FURROW_OK) return status;
  fw_zip_writer *made = memory;
  status = fw_atomic_file_open(&made->file, path, err);
  if (status != FURROW_OK) {
    fw_free(made);
    return status;
  }
  if (!replace) fw_atomic_file_keep_existing(made->file);
  *writer = made;
  return FURROW_OK;
}

/* Makes the local header. Its sizes are always in the zip64 field, because it is known too late whether they need
 * it. */
static size_t make_local(unsigned char *out, const member *m) {
  const size_t name = strlen(m->name);
  memset(out, 0, FW_ZIP_LOCAL_SIZE);
  fw_put_le32(out, FW_ZIP_LOCAL);
  fw_put_le16(out + 4, FW_ZIP_VERSION64);
  fw_put_le16(out + 12, FIRST_DATE);
  fw_put_le32(out + 14, m->crc);
  fw_put_le32(out + 18, FW_ZIP_FULL32);
  fw_put_le32(out + 22, FW_ZIP_FULL32);
  fw_put_le16(out + 26, (uint16_t)name);
  fw_put_le16(out + 28, EXTRA_LOCAL);
  unsigned char *extra = out + FW_ZIP_LOCAL_SIZE + name;
  memcpy(out + FW_ZIP_LOCAL_SIZE, m->name, name);
  fw_put_le16(extra, FW_ZIP_EXTRA64);
  fw_put_le16(extra + 2, EXTRA_LOCAL - 4);
  fw_put_le64(extra + 4, m->size);
  fw_put_le64(extra + 12, m->size);
  return FW_ZIP_LOCAL_SIZE + name + EXTRA_LOCAL;
}

#define MAX_NAME 256

static furrow_status add_member(fw_zip_writer *w, const char *name, furrow_error *err) {
  void *members = w->members;
  member m = {.offset = fw_atomic_file_size(w->file)};
  assert(strlen(name) < MAX_NAME);
  furrow_status status = fw_grow(&members, &w->capacity, w->count + 1, sizeof m, err);
  if (status != FURROW_OK) return status;
  w->members = members;
  status = fw_strndup(&m.name, name, strlen(name), err);
  if (status == FURROW_OK) w->members[w->count++] = m;
  return status;
}

furrow_status fw_zip_writer_begin(fw_zip_writer *w, const char *name, size_t header, furrow_error *err) {
  unsigned char head[FW_ZIP_LOCAL_SIZE + MAX_NAME + EXTRA_LOCAL], zeros[256] = {0};
  assert(!w->open && header <= sizeof zeros);
  furrow_status status = add_member(w, name, err);
  if (status != FURROW_OK) return status;
  w->open = true;
  w->header = header;
  const size_t size = make_local(head, &w->members[w->count - 1]);
  status = fw_atomic_file_write(w->file, head, size, err);
  return status == FURROW_OK ? fw_atomic_file_write(w->file, zeros, header, err) : status;
}

furrow_status fw_zip_writer_write(fw_zip_writer *w, const void *data, size_t size, furrow_error *err) {
  member *m = &w->members[w->count - 1];
  assert(w->open);
  m->crc = (uint32_t)crc32_z(m->crc, data, size);
  m->size += size;
  return fw_atomic_file_write(w->file, data, size, err);
}

furrow_status fw_zip_writer_end(fw_zip_writer *w, const void *header, furrow_error *err) {
  unsigned char head[FW_ZIP_LOCAL_SIZE + MAX_NAME + EXTRA_LOCAL];
  member *m = &w->members[w->count - 1];
  assert(w->open);
  /* combines the CRCs of the header and of the data */
  if (w->header) m->crc = (uint32_t)crc32_combine(crc32_z(0, header, w->header), m->crc, (z_off_t)m->size);
  m->size += w->header;
  w->open = false;
  const size_t size = make_local(head, m);
  furrow_status status = fw_atomic_file_write_at(w->file, m->offset, head, size, err);
  if (status != FURROW_OK || w->header == 0) return status;
  return fw_atomic_file_write_at(w->file, m->offset + size, header, w->header, err);
}

uint64_t fw_zip_writer_bytes(const fw_zip_writer *writer) {
  return fw_atomic_file_size(writer->file);
}

/* ---- The directory -------------------------------------------------------------------------------------- */

static uint32_t cut32(uint64_t value) {
  return value < FW_ZIP_FULL32 ? (uint32_t)value : FW_ZIP_FULL32;
}

/* Makes the extra field of an entry with the numbers that do not fit; returns its size. */
static size_t make_extra(unsigned char out[EXTRA_MOST], const member *m) {
  size_t size = 4;
  if (m->size >= FW_ZIP_FULL32) {
    fw_put_le64(out + size, m->size);
    fw_put_le64(out + size + 8, m->size);
    size += 16;
  }
  if (m->offset >= FW_ZIP_FULL32) {
    fw_put_le64(out + size, m->offset);
    size += 8;
  }
  fw_put_le16(out, FW_ZIP_EXTRA64);
  fw_put_le16(out + 2, (uint16_t)(size - 4));
  return size > 4 ? size : 0;
}

static furrow_status write_entry(fw_zip_writer *w, const member *m, furrow_error *err) {
  unsigned char out[FW_ZIP_ENTRY_SIZE + MAX_NAME + EXTRA_MOST] = {0}, extra[EXTRA_MOST];
  const size_t name = strlen(m->name), more = make_extra(extra, m);
  fw_put_le32(out, FW_ZIP_ENTRY);
  fw_put_le16(out + 4, FW_ZIP_VERSION64);
  fw_put_le16(out + 6, FW_ZIP_VERSION64);
  fw_put_le16(out + 14, FIRST_DATE);
  fw_put_le32(out + 16, m->crc);
  fw_put_le32(out + 20, cut32(m->size));
  fw_put_le32(out + 24, cut32(m->size));
  fw_put_le16(out + 28, (uint16_t)name);
  fw_put_le16(out + 30, (uint16_t)more);
  fw_put_le32(out + 42, cut32(m->offset));
  memcpy(out + FW_ZIP_ENTRY_SIZE, m->name, name);
  memcpy(out + FW_ZIP_ENTRY_SIZE + name, extra, more);
  return fw_atomic_file_write(w->file, out, FW_ZIP_ENTRY_SIZE + name + more, err);
}

static furrow_status write_end64(fw_zip_writer *w, uint64_t at, uint64_t size, furrow_error *err) {
  unsigned char out[FW_ZIP_END64_SIZE + FW_ZIP_LOCATOR_SIZE] = {0};
  fw_put_le32(out, FW_ZIP_END64);
  fw_put_le64(out + 4, FW_ZIP_END64_SIZE - 12);
  fw_put_le16(out + 12, FW_ZIP_VERSION64);
  fw_put_le16(out + 14, FW_ZIP_VERSION64);
  fw_put_le64(out + 24, w->count);
  fw_put_le64(out + 32, w->count);
  fw_put_le64(out + 40, size);
  fw_put_le64(out + 48, at);
  unsigned char *locator = out + FW_ZIP_END64_SIZE;
  fw_put_le32(locator, FW_ZIP_LOCATOR);
  fw_put_le64(locator + 8, at + size);
  fw_put_le32(locator + 16, 1);
  return fw_atomic_file_write(w->file, out, sizeof out, err);
}

static furrow_status write_end(fw_zip_writer *w, uint64_t at, uint64_t size, furrow_error *err) {
  unsigned char out[FW_ZIP_END_SIZE] = {0};
  const uint16_t count = (uint16_t)(w->count < FW_ZIP_FULL16 ? w->count : FW_ZIP_FULL16);
  if (at >= FW_ZIP_FULL32 || size >= FW_ZIP_FULL32 || w->count >= FW_ZIP_FULL16) {
    furrow_status status = write_end64(w, at, size, err);
    if (status != FURROW_OK) return status;
  }
  fw_put_le32(out, FW_ZIP_END);
  fw_put_le16(out + 8, count);
  fw_put_le16(out + 10, count);
  fw_put_le32(out + 12, cut32(size));
  fw_put_le32(out + 16, cut32(at));
  return fw_atomic_file_write(w->file, out, sizeof out, err);
}

furrow_status fw_zip_writer_commit(fw_zip_writer *w, fw_atomic_file *companion, furrow_error *err) {
  const uint64_t at = fw_atomic_file_size(w->file);
  furrow_status status = FURROW_OK;
  assert(!w->open);
  for (size_t i = 0; i < w->count && status == FURROW_OK; i++) status = write_entry(w, &w->members[i], err);
  if (status == FURROW_OK) status = write_end(w, at, fw_atomic_file_size(w->file) - at, err);
  if (status != FURROW_OK) return status;
  return fw_atomic_files_commit((fw_atomic_file *[]){w->file, companion}, companion ? 2 : 1, err);
}

void fw_zip_writer_close(fw_zip_writer *writer) {
  if (!writer) return;
  fw_atomic_file_close(writer->file);
  for (size_t i = 0; i < writer->count; i++) fw_free(writer->members[i].name);
  fw_free(writer->members);
  fw_free(writer);
}
