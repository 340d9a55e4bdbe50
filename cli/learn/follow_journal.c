/* cli/learn/follow_journal.c: the journal of furrow learn. */
#include "learn/follow_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "core/fail.h"
#include "furrow/json.h"

enum { LONGEST_JOURNAL = 1 << 30 };

uint64_t journal_digest(const void *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
  return hash;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status read_number(furrow_json *json, uint64_t *number, furrow_error *err) {
  int64_t value = 0;
  const furrow_status status = furrow_json_i64(json, &value, err);
  if (status != FURROW_OK) return status;
  if (value < 0) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is negative");
  *number = (uint64_t)value;
  return FURROW_OK;
}

/* 16 hexadecimal digits: JSON's numbers have fewer bits in some readers. */
static furrow_status read_digest(furrow_json *json, uint64_t *digest, furrow_error *err) {
  furrow_json_text text;
  char digits[17] = "";
  char *end = digits;
  const furrow_status status = furrow_json_string(json, &text, err);
  if (status != FURROW_OK) return status;
  if (text.size == 16) memcpy(digits, text.bytes, 16);
  if (strspn(digits, "0123456789abcdef") == 16) *digest = strtoull(digits, &end, 16);
  if (end == digits) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a digest");
  return FURROW_OK;
}

static furrow_status read_file(furrow_json *json, char **file, furrow_error *err) {
  furrow_json_text text;
  const furrow_status status = furrow_json_string(json, &text, err);
  if (status != FURROW_OK) return status;
  if (text.size == 0 || memchr(text.bytes, 0, text.size) || *file)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a path");
  *file = strndup(text.bytes, text.size);
  return *file ? FURROW_OK : fail_memory(err);
}

static furrow_status read_record(furrow_json *json, follow_record *record, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (furrow_json_is(key, "version"))
      status = read_number(json, &record->version, err);
    else if (furrow_json_is(key, "file"))
      status = read_file(json, &record->file, err);
    else if (furrow_json_is(key, "from"))
      status = read_number(json, &record->from, err);
    else if (furrow_json_is(key, "to"))
      status = read_number(json, &record->to, err);
    else if (furrow_json_is(key, "events"))
      status = read_number(json, &record->events, err);
    else if (furrow_json_is(key, "copy_of"))
      status = read_number(json, &record->copy_of, err);
    else if (furrow_json_is(key, "digest"))
      status = read_digest(json, &record->digest, err);
    else
      status = furrow_json_skip(json, NULL, err);
  }
  return status == FURROW_END ? furrow_json_end(json, err) : status;
}

static furrow_status check_record(const follow_journal *journal, const follow_record *record, furrow_error *err) {
  const follow_record *before = journal->count > 0 ? &journal->records[journal->count - 1] : NULL;
  const bool goes_on = before && strcmp(before->file, record->file ? record->file : "") == 0;
  if (!record->file || record->version == 0 || record->version > INT64_MAX)
    return fail(err, FURROW_E_FORMAT, "a line has no version or no file");
  if (before && record->version != before->version + 1)
    return fail(err, FURROW_E_FORMAT, "version %" PRIu64 " follows version %" PRIu64, record->version, before->version);
  if (record->to < record->from || (goes_on && record->from != before->to && strcmp(record->file, "-") != 0))
    return fail(err, FURROW_E_FORMAT, "version %" PRIu64 " does not begin where the version before it ends",
                record->version);
  if (record->copy_of >= record->version) return fail(err, FURROW_E_FORMAT, "a version is a copy of a later one");
  return FURROW_OK;
}

static furrow_status add_record(follow_journal *journal, const follow_record *record, furrow_error *err) {
  if (journal->count == journal->capacity) {
    const size_t capacity = journal->capacity ? 2 * journal->capacity : 16;
    follow_record *records = realloc(journal->records, capacity * sizeof *records);
    if (!records) return fail_memory(err);
    journal->records = records;
    journal->capacity = capacity;
  }
  journal->records[journal->count++] = *record;
  return FURROW_OK;
}

furrow_status follow_journal_parse(follow_journal *journal, const char *text, size_t size, furrow_error *err) {
  furrow_json *json = NULL;
  uint64_t line = 0;
  furrow_status status = furrow_json_create(&json, err);
  while (status == FURROW_OK && size > 0) {
    const char *end = memchr(text, '\n', size);
    const size_t length = end ? (size_t)(end - text) : size;
    follow_record record = {0};
    line++;
    furrow_json_start(json, text, length, NULL);
    status = read_record(json, &record, err);
    if (status == FURROW_OK) status = check_record(journal, &record, err);
    if (status == FURROW_OK) status = add_record(journal, &record, err);
    if (status != FURROW_OK) free(record.file);
    if (status != FURROW_OK && err) err->line = line;
    text += length + (end != NULL);
    size -= length + (end != NULL);
  }
  furrow_json_free(json);
  return status;
}

/* ---- The file ------------------------------------------------------------------------------------------- */

static furrow_status fail_journal(const follow_journal *journal, const char *what, furrow_error *err) {
  return fail_file(err, FURROW_E_IO, journal->path, what, errno);
}

/* Makes the name of a new file durable. */
static furrow_status sync_folder(const follow_journal *journal, const char *folder, furrow_error *err) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  furrow_status status = synced ? FURROW_OK : fail_journal(journal, "cannot be synchronised", err);
  if (fd >= 0) close(fd);
  return status;
}

static furrow_status read_lines(follow_journal *journal, furrow_error *err) {
  struct stat info;
  if (fstat(journal->fd, &info) != 0) return fail_journal(journal, "cannot be examined", err);
  if (!S_ISREG(info.st_mode) || info.st_size > LONGEST_JOURNAL)
    return fail_file(err, FURROW_E_FORMAT, journal->path, "not a journal", 0);
  char *text = malloc((size_t)info.st_size + 1);
  size_t size = 0;
  ssize_t got = 1;
  if (!text) return fail_memory(err);
  while (size < (size_t)info.st_size && got > 0) {
    got = pread(journal->fd, text + size, (size_t)info.st_size - size, (off_t)size);
    if (got > 0) size += (size_t)got;
  }
  furrow_status status = got < 0 ? fail_journal(journal, "cannot be read", err) : FURROW_OK;
  while (size > 0 && text[size - 1] != '\n') size--;
  if (status == FURROW_OK) status = follow_journal_parse(journal, text, size, err);
  if (status == FURROW_E_FORMAT && err) snprintf(err->file, sizeof err->file, "%s", journal->path);
  free(text);
  journal->size = size;
  if (status == FURROW_OK && (off_t)size < info.st_size && ftruncate(journal->fd, (off_t)size) != 0)
    status = fail_journal(journal, "its last line cannot be cut off", err);
  return status;
}

furrow_status follow_journal_open(follow_journal *journal, const char *folder, furrow_error *err) {
  fw_buffer path = {0};
  *journal = (follow_journal){.fd = -1};
  fw_buffer_format(&path, "%s/%s", folder, FOLLOW_JOURNAL_NAME);
  furrow_status status = fw_buffer_take(&path, &journal->path, NULL, err);
  fw_buffer_clear(&path);
  if (status != FURROW_OK) return status;
  journal->fd = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal->fd < 0) return fail_journal(journal, "cannot be opened", err);
  status = sync_folder(journal, folder, err);
  return status == FURROW_OK ? read_lines(journal, err) : status;
}

static void write_record(fw_buffer *out, const follow_record *record) {
  fw_buffer_format(out, "{\"version\":%" PRIu64 ",\"file\":", record->version);
  fw_buffer_json_string(out, record->file, strlen(record->file), false);
  fw_buffer_format(out, ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"events\":%" PRIu64, record->from, record->to,
                   record->events);
  if (record->copy_of > 0) fw_buffer_format(out, ",\"copy_of\":%" PRIu64, record->copy_of);
  fw_buffer_format(out, ",\"digest\":\"%016" PRIx64 "\"}\n", record->digest);
}

static furrow_status write_line(follow_journal *journal, const char *bytes, size_t size, furrow_error *err) {
  for (size_t done = 0; done < size;) {
    const ssize_t wrote = pwrite(journal->fd, bytes + done, size - done, (off_t)(journal->size + done));
    if (wrote < 0 && errno != EINTR) return fail_journal(journal, "cannot be written", err);
    if (wrote > 0) done += (size_t)wrote;
  }
  if (fdatasync(journal->fd) != 0) return fail_journal(journal, "cannot be synchronised", err);
  journal->size += size;
  return FURROW_OK;
}

furrow_status follow_journal_append(follow_journal *journal, const follow_record *record, furrow_error *err) {
  fw_buffer line = {0};
  follow_record copy = *record;
  copy.file = strdup(record->file);
  if (!copy.file) return fail_memory(err);
  write_record(&line, record);
  furrow_status status = fw_buffer_status(&line, err);
  if (status == FURROW_OK) status = write_line(journal, line.bytes, line.size, err);
  if (status == FURROW_OK) status = add_record(journal, &copy, err);
  if (status != FURROW_OK) free(copy.file);
  fw_buffer_clear(&line);
  return status;
}

furrow_status follow_journal_drop_last(follow_journal *journal, furrow_error *err) {
  fw_buffer line = {0};
  follow_record *last = &journal->records[--journal->count];
  write_record(&line, last);
  free(last->file);
  const furrow_status status = fw_buffer_status(&line, err);
  journal->size -= line.size <= journal->size ? line.size : journal->size;
  fw_buffer_clear(&line);
  if (status != FURROW_OK) return status;
  const bool cut = ftruncate(journal->fd, (off_t)journal->size) == 0 && fdatasync(journal->fd) == 0;
  return cut ? FURROW_OK : fail_journal(journal, "its last line cannot be cut off", err);
}

void follow_journal_close(follow_journal *journal) {
  for (size_t i = 0; i < journal->count; i++) free(journal->records[i].file);
  free(journal->records);
  free(journal->path);
  if (journal->fd >= 0) close(journal->fd);
  *journal = (follow_journal){.fd = -1};
}
