/* array/zip_in.c: reads the directory at the end of the file; nothing outside of the directory is trusted. */
#include "array/zip.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"

#define MAX_COMMENT 65535
#define MAX_DIRECTORY ((uint64_t)64 << 20)
#define MOST_INFLATED 1032 /* most bytes that one deflated byte can inflate to */

typedef struct member {
  const char *name; /* in the memory of the directory, terminated by 0 */
  uint16_t flags, method;
  uint64_t header; /* offset of the local header */
  uint64_t data, packed, size;
  uint32_t crc;
} member;

struct fw_zip {
  fw_bytes_in *in;
  unsigned char *directory;
  char *names;
  member *members;
  size_t count;
  uint64_t directory_at, directory_size;
};

/* The contents of the end record. */
typedef struct ending {
  uint64_t count, size, offset;
  uint64_t at; /* offset of the first record at the end of the file */
} ending;

static furrow_status fail_at(const fw_zip *zip, uint64_t offset, furrow_error *err, const char *what) {
  return fw_bytes_in_fail(zip->in, offset, err, FURROW_E_FORMAT, "%s", what);
}

furrow_status fw_zip_fail(const fw_zip *zip, furrow_error *err, const char *format, ...) {
  char message[200];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  fw_fail(err, FURROW_E_FORMAT, "%s", message);
  fw_error_set_file(err, fw_bytes_in_path(zip->in));
  return FURROW_E_FORMAT;
}

static furrow_status read_at(const fw_zip *zip, uint64_t offset, void *buffer, size_t size, furrow_error *err) {
  furrow_status status = fw_bytes_in_seek(zip->in, offset, err);
  return status == FURROW_OK ? fw_bytes_in_read_all(zip->in, buffer, size, "the directory", err) : status;
}

/* ---- The end record ------------------------------------------------------------------------------------- */

/* Finds the last end record in the tail whose comment ends exactly at the end of the file. */
static const unsigned char *find_end(const unsigned char *tail, size_t size) {
  for (size_t i = size - FW_ZIP_END_SIZE + 1; i-- > 0;) {
    if (fw_get_le32(tail + i) == FW_ZIP_END && fw_get_le16(tail + i + 20) == size - i - FW_ZIP_END_SIZE)
      return tail + i;
  }
  return NULL;
}

static furrow_status read_ending64(const fw_zip *zip, ending *e, furrow_error *err) {
  unsigned char locator[FW_ZIP_LOCATOR_SIZE], record[FW_ZIP_END64_SIZE];
  if (e->at < FW_ZIP_LOCATOR_SIZE) return FURROW_OK;
  const uint64_t place = e->at - FW_ZIP_LOCATOR_SIZE;
  furrow_status status = read_at(zip, place, locator, sizeof locator, err);
  if (status != FURROW_OK || fw_get_le32(locator) != FW_ZIP_LOCATOR) return status;
  const uint64_t at = fw_get_le64(locator + 8);
  if (at > place || place - at < sizeof record)
    return fail_at(zip, place, err, "the zip64 locator points outside of the file");
  status = read_at(zip, at, record, sizeof record, err);
  if (status != FURROW_OK) return status;
  if (fw_get_le32(record) != FW_ZIP_END64)
    return fail_at(zip, place, err, "the zip64 locator points outside of the file");
  if (fw_get_le32(record + 16) || fw_get_le32(record + 20) || fw_get_le64(record + 24) != fw_get_le64(record + 32))
    return fail_at(zip, at, err, "an archive in several files");
  *e = (ending){fw_get_le64(record + 32), fw_get_le64(record + 40), fw_get_le64(record + 48), at};
  return FURROW_OK;
}

static furrow_status read_ending(const fw_zip *zip, ending *e, furrow_error *err) {
  const uint64_t file = fw_bytes_in_size(zip->in);
  const size_t most = FW_ZIP_END_SIZE + MAX_COMMENT, size = file < most ? (size_t)file : most;
  if (size < FW_ZIP_END_SIZE) return fail_at(zip, 0, err, "not a zip archive");
  void *tail;
  furrow_status status = fw_alloc(&tail, size, 1, err);
  if (status != FURROW_OK) return status;
  status = read_at(zip, file - size, tail, size, err);
  const unsigned char *end = status == FURROW_OK ? find_end(tail, size) : NULL;
  if (status == FURROW_OK && !end) status = fail_at(zip, 0, err, "not a zip archive, or cut short");
  if (status == FURROW_OK) {
    const uint64_t at = file - size + (uint64_t)(end - (const unsigned char *)tail);
    *e = (ending){fw_get_le16(end + 10), fw_get_le32(end + 12), fw_get_le32(end + 16), at};
    if (fw_get_le16(end + 4) || fw_get_le16(end + 6) || fw_get_le16(end + 8) != e->count)
      status = fail_at(zip, at, err, "an archive in several files");
  }
  fw_free(tail);
  return status == FURROW_OK ? read_ending64(zip, e, err) : status;
}

/* ---- The directory -------------------------------------------------------------------------------------- */

static furrow_status check_ending(const fw_zip *zip, const ending *e, furrow_error *err) {
  if (e->offset > e->at || e->size > e->at - e->offset)
    return fail_at(zip, e->at, err, "the directory is not within the file");
  if (e->size > MAX_DIRECTORY) return fail_at(zip, e->at, err, "the directory is too large");
  if (e->count > e->size / FW_ZIP_ENTRY_SIZE)
    return fail_at(zip, e->at, err, "the directory is too small for its entries");
  return FURROW_OK;
}

/* Reads a 64-bit number from the extra field if the 32-bit number is full. */
static bool take64(uint64_t *value, const unsigned char **extra, const unsigned char *end) {
  if (*value != FW_ZIP_FULL32) return true;
  if (end - *extra < 8) return false;
  *value = fw_get_le64(*extra);
  *extra += 8;
  return true;
}

/* Finds the zip64 field among the extra fields. A truncated field ends the search. */
static bool read_extra(member *m, const unsigned char *extra, size_t size) {
  while (size >= 4) {
    const size_t length = fw_get_le16(extra + 2);
    if (length > size - 4) break;
    if (fw_get_le16(extra) == FW_ZIP_EXTRA64) {
      const unsigned char *s = extra + 4, *end = s + length;
      return take64(&m->size, &s, end) && take64(&m->packed, &s, end) && take64(&m->header, &s, end);
    }
    extra += 4 + length;
    size -= 4 + length;
  }
  return m->size != FW_ZIP_FULL32 && m->packed != FW_ZIP_FULL32 && m->header != FW_ZIP_FULL32;
}

/* Reads one entry of the directory and moves *at past it. names: space for the name and a 0. */
static furrow_status read_entry(fw_zip *zip, member *m, uint64_t *at, char **names, furrow_error *err) {
  const unsigned char *s = zip->directory + *at;
  const uint64_t left = zip->directory_size - *at, place = zip->directory_at + *at;
  if (left < FW_ZIP_ENTRY_SIZE || fw_get_le32(s) != FW_ZIP_ENTRY)
    return fail_at(zip, place, err, "the directory is damaged");
  const size_t name = fw_get_le16(s + 28), extra = fw_get_le16(s + 30), comment = fw_get_le16(s + 32);
  if (left - FW_ZIP_ENTRY_SIZE < name + extra + comment) return fail_at(zip, place, err, "the directory is damaged");
  m->flags = fw_get_le16(s + 8);
  m->method = fw_get_le16(s + 10);
  m->crc = fw_get_le32(s + 16);
  m->packed = fw_get_le32(s + 20);
  m->size = fw_get_le32(s + 24);
  m->header = fw_get_le32(s + 42);
  if (!read_extra(m, s + FW_ZIP_ENTRY_SIZE + name, extra))
    return fail_at(zip, place, err, "an entry lacks its 64-bit sizes");
  if (memchr(s + FW_ZIP_ENTRY_SIZE, 0, name)) return fail_at(zip, place, err, "a name has a 0 in it");
  memcpy(*names, s + FW_ZIP_ENTRY_SIZE, name);
  (*names)[name] = 0;
  m->name = *names;
  *names += name + 1;
  *at += FW_ZIP_ENTRY_SIZE + name + extra + comment;
  return FURROW_OK;
}

/* The local header has its own lengths of the name and the extra fields; it must belong to the same member. */
static furrow_status locate_data(fw_zip *zip, member *m, furrow_error *err) {
  unsigned char head[FW_ZIP_LOCAL_SIZE + 256];
  const size_t length = strlen(m->name), known = length < 256 ? length : 256;
  const uint64_t end = zip->directory_at;
  if (m->header > end || end - m->header < FW_ZIP_LOCAL_SIZE + length)
    return fail_at(zip, zip->directory_at, err, "a member is not within the file");
  FW_TRY(read_at(zip, m->header, head, FW_ZIP_LOCAL_SIZE + known, err));
  if (fw_get_le32(head) != FW_ZIP_LOCAL || fw_get_le16(head + 26) != length ||
      memcmp(head + FW_ZIP_LOCAL_SIZE, m->name, known) != 0 || fw_get_le16(head + 8) != m->method)
    return fail_at(zip, m->header, err, "a member is not what the directory says");
  m->data = m->header + FW_ZIP_LOCAL_SIZE + length + fw_get_le16(head + 28);
  if (m->data > end || m->packed > end - m->data)
    return fail_at(zip, m->header, err, "a member is not within the file");
  const bool stored = m->method == FW_ZIP_STORED, deflated = m->method == FW_ZIP_DEFLATED;
  if ((stored && m->size != m->packed) || (deflated && m->size / MOST_INFLATED > m->packed))
    return fail_at(zip, m->header, err, "a member claims more bytes than it can have");
  return FURROW_OK;
}

static int by_place(const void *a, const void *b) {
  const member *x = a, *y = b;
  return x->header < y->header ? -1 : x->header > y->header;
}

static int by_name(const void *a, const void *b) {
  const member *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static furrow_status check_members(fw_zip *zip, furrow_error *err) {
  member *m = zip->members;
  qsort(m, zip->count, sizeof *m, by_place);
  for (size_t i = 1; i < zip->count; i++) {
    if (m[i].header < m[i - 1].data + m[i - 1].packed)
      return fail_at(zip, m[i].header, err, "a member overlaps another");
  }
  qsort(m, zip->count, sizeof *m, by_name);
  for (size_t i = 1; i < zip->count; i++) {
    if (strcmp(m[i].name, m[i - 1].name) == 0) return fail_at(zip, m[i].header, err, "two members have the same name");
  }
  return FURROW_OK;
}

static furrow_status read_directory(fw_zip *zip, const ending *e, furrow_error *err) {
  void *memory;
  zip->directory_at = e->offset;
  zip->directory_size = e->size;
  furrow_status status = fw_alloc(&memory, (size_t)e->size, 1, err);
  if (status != FURROW_OK) return status;
  zip->directory = memory;
  status = fw_alloc(&memory, (size_t)(e->size + e->count), 1, err);
  if (status != FURROW_OK) return status;
  zip->names = memory;
  status = fw_alloc_zero(&memory, (size_t)e->count, sizeof(member), err);
  if (status != FURROW_OK) return status;
  zip->members = memory;
  status = read_at(zip, e->offset, zip->directory, (size_t)e->size, err);
  uint64_t at = 0;
  char *names = zip->names;
  for (; status == FURROW_OK && zip->count < e->count; zip->count++) {
    status = read_entry(zip, &zip->members[zip->count], &at, &names, err);
    if (status == FURROW_OK) status = locate_data(zip, &zip->members[zip->count], err);
  }
  return status == FURROW_OK ? check_members(zip, err) : status;
}

furrow_status fw_zip_open(fw_zip **zip, const char *path, furrow_error *err) {
  void *memory;
  ending e = {0};
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_zip), err);
  if (status != FURROW_OK) return status;
  fw_zip *made = memory;
  status = fw_bytes_in_open_plain(&made->in, path, err);
  if (status == FURROW_OK) status = read_ending(made, &e, err);
  if (status == FURROW_OK) status = check_ending(made, &e, err);
  if (status == FURROW_OK) status = read_directory(made, &e, err);
  return FW_HAND_OVER(status, zip, made, fw_zip_close);
}

void fw_zip_close(fw_zip *zip) {
  if (!zip) return;
  fw_bytes_in_close(zip->in);
  fw_free(zip->directory);
  fw_free(zip->names);
  fw_free(zip->members);
  fw_free(zip);
}

/* ---- Members -------------------------------------------------------------------------------------------- */

size_t fw_zip_count(const fw_zip *zip) {
  return zip->count;
}

const char *fw_zip_name(const fw_zip *zip, size_t i) {
  return zip->members[i].name;
}

bool fw_zip_find(const fw_zip *zip, const char *name, size_t *found) {
  for (size_t i = 0; i < zip->count; i++) {
    if (strcmp(zip->members[i].name, name) != 0) continue;
    *found = i;
    return true;
  }
  return false;
}

furrow_status fw_zip_member_open(const fw_zip *zip, size_t i, fw_bytes_in **in, furrow_error *err) {
  const member *m = &zip->members[i];
  if (m->flags & 1)
    return fw_bytes_in_fail(zip->in, m->header, err, FURROW_E_UNSUPPORTED, "%.100s is encrypted", m->name);
  if (m->method != FW_ZIP_STORED && m->method != FW_ZIP_DEFLATED)
    return fw_bytes_in_fail(zip->in, m->header, err, FURROW_E_UNSUPPORTED,
                            "%.100s has compression %u; stored and deflated members can be read", m->name, m->method);
  const fw_bytes_part part = {m->data, m->packed, m->method == FW_ZIP_DEFLATED, m->size, true, m->crc};
  return fw_bytes_in_open_part(in, zip->in, &part, err);
}
