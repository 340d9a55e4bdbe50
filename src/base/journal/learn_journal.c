/* base/journal/learn_journal.c: the lines of the journal, and its file. */
#include "base/journal/learn_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/json.h"

enum { LONGEST_JOURNAL = 1 << 30 };

uint64_t fw_journal_digest(const void *bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
  return hash;
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

enum { VERSION = 1, FROM = 2, TO = 4, EVENTS = 8, COPY_OF = 16, DIGEST = 32, FILE_PATH = 64 };
enum { REQUIRED = VERSION | FROM | TO | EVENTS | DIGEST | FILE_PATH };

static furrow_status read_number(furrow_json *json, uint64_t *number, furrow_error *err) {
  int64_t value = 0;
  FW_TRY(furrow_json_i64(json, &value, err));
  if (value < 0) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is negative");
  *number = (uint64_t)value;
  return FURROW_OK;
}

/* 16 hexadecimal digits: JSON's numbers have fewer bits in some readers. */
static furrow_status read_digest(furrow_json *json, uint64_t *digest, furrow_error *err) {
  furrow_json_text text;
  char digits[17] = "";
  FW_TRY(furrow_json_string(json, &text, err));
  if (text.size == 16) memcpy(digits, text.bytes, 16);
  if (strspn(digits, "0123456789abcdef") != 16)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a digest");
  *digest = strtoull(digits, NULL, 16);
  return FURROW_OK;
}

static furrow_status read_file(furrow_json *json, char **file, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(furrow_json_string(json, &text, err));
  if (text.size == 0 || memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not a path");
  return fw_strndup(file, text.bytes, text.size, err);
}

static furrow_status read_member(furrow_json *json, unsigned member, fw_journal_record *record, furrow_error *err) {
  switch (member) {
  case VERSION: return read_number(json, &record->version, err);
  case FROM: return read_number(json, &record->from, err);
  case TO: return read_number(json, &record->to, err);
  case EVENTS: return read_number(json, &record->events, err);
  case COPY_OF: return read_number(json, &record->copy_of, err);
  case DIGEST: return read_digest(json, &record->digest, err);
  case FILE_PATH: return read_file(json, &record->file, err);
  default: return furrow_json_skip(json, NULL, err);
  }
}

/* Returns 0 for a member that has no meaning here. */
static unsigned member_of(furrow_json_text key) {
  static const struct {
    const char *name;
    unsigned member;
  } members[] = {{"version", VERSION}, {"from", FROM},     {"to", TO},         {"events", EVENTS},
                 {"copy_of", COPY_OF}, {"digest", DIGEST}, {"file", FILE_PATH}};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (furrow_json_is(key, members[i].name)) return members[i].member;
  return 0;
}

static furrow_status read_record(furrow_json *json, fw_journal_record *record, furrow_error *err) {
  furrow_json_text key;
  unsigned seen = 0;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    const unsigned member = member_of(key);
    if (seen & member) return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is there twice");
    seen |= member;
    status = read_member(json, member, record, err);
  }
  if (status != FURROW_END) return status;
  FW_TRY(furrow_json_end(json, err));
  if ((seen & REQUIRED) != REQUIRED)
    return fw_fail(err, FURROW_E_FORMAT, "a member is missing: version, file, from, to, events or digest");
  return FURROW_OK;
}

static furrow_status check_record(const fw_journal *journal, const fw_journal_record *record, furrow_error *err) {
  const fw_journal_record *before = journal->count > 0 ? &journal->records[journal->count - 1] : NULL;
  const bool goes_on = before && strcmp(before->file, record->file) == 0 && strcmp(record->file, "-") != 0;
  if (record->version < 2) return fw_fail(err, FURROW_E_FORMAT, "the first version cannot have learned events");
  if (before && record->version != before->version + 1)
    return fw_fail(err, FURROW_E_FORMAT, "version %" PRIu64 " follows version %" PRIu64, record->version,
                   before->version);
  if (goes_on && record->from != before->to)
    return fw_fail(err, FURROW_E_FORMAT, "version %" PRIu64 " does not begin where the version before it ends",
                   record->version);
  if (record->copy_of >= record->version) return fw_fail(err, FURROW_E_FORMAT, "a version is a copy of a later one");
  const bool sound = record->copy_of > 0 ? record->events == 0 && record->to == record->from
                                         : record->events > 0 && record->to > record->from &&
                                               record->events <= record->to - record->from;
  if (!sound)
    return fw_fail(err, FURROW_E_FORMAT,
                   "version %" PRIu64 " has %" PRIu64 " events in the bytes %" PRIu64 " to %" PRIu64, record->version,
                   record->events, record->from, record->to);
  return FURROW_OK;
}

static furrow_status add_record(fw_journal *journal, const fw_journal_record *record, furrow_error *err) {
  void *records = journal->records;
  const furrow_status status = fw_grow(&records, &journal->capacity, journal->count + 1, sizeof *record, err);
  journal->records = records;
  if (status == FURROW_OK) journal->records[journal->count++] = *record;
  return status;
}

furrow_status fw_journal_parse(fw_journal *journal, const char *text, size_t size, furrow_error *err) {
  furrow_json *json = NULL;
  uint64_t line = 0;
  furrow_status status = furrow_json_create(&json, err);
  while (status == FURROW_OK && size > 0) {
    const char *end = memchr(text, '\n', size);
    const size_t length = end ? (size_t)(end - text) : size, used = length + (end != NULL);
    fw_journal_record record = {0};
    line++;
    furrow_json_start(json, text, length, NULL);
    status = read_record(json, &record, err);
    if (status == FURROW_OK) status = check_record(journal, &record, err);
    if (status == FURROW_OK) status = add_record(journal, &record, err);
    if (status != FURROW_OK) fw_free(record.file);
    if (status != FURROW_OK && err) err->line = line;
    if (status == FURROW_OK) journal->size += used;
    text += used;
    size -= used;
  }
  furrow_json_free(json);
  return status;
}

void fw_journal_write(fw_buffer *out, const fw_journal_record *record) {
  fw_buffer_format(out, "{\"version\":%" PRIu64 ",\"file\":", record->version);
  fw_buffer_json_string(out, record->file, strlen(record->file), false);
  fw_buffer_format(out, ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"events\":%" PRIu64, record->from, record->to,
                   record->events);
  if (record->copy_of > 0) fw_buffer_format(out, ",\"copy_of\":%" PRIu64, record->copy_of);
  fw_buffer_format(out, ",\"digest\":\"%016" PRIx64 "\"}\n", record->digest);
}

/* ---- The file ------------------------------------------------------------------------------------------- */

static furrow_status fail_journal(const fw_journal *journal, const char *what, furrow_error *err) {
  fw_fail_errno(err, FURROW_E_IO, errno, "%s", what);
  fw_error_set_file(err, journal->path);
  return FURROW_E_IO;
}

/* Makes the name of a new file durable. */
static furrow_status sync_folder(const fw_journal *journal, const char *folder, furrow_error *err) {
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const furrow_status status = synced ? FURROW_OK : fail_journal(journal, "cannot be synchronised", err);
  if (fd >= 0) close(fd);
  return status;
}

static furrow_status read_bytes(const fw_journal *journal, char *text, size_t size, size_t *got, furrow_error *err) {
  *got = 0;
  while (*got < size) {
    const ssize_t n = pread(journal->fd, text + *got, size - *got, (off_t)*got);
    if (n < 0 && errno != EINTR) return fail_journal(journal, "cannot be read", err);
    if (n == 0) break;
    if (n > 0) *got += (size_t)n;
  }
  return FURROW_OK;
}

/* Whether the bytes after the records are the begin of a line, or a line with sectors that were not written, and may
 * have been left so: a line that was finished has its version, unless it was the last thing that was. */
static bool is_unfinished(const fw_journal *journal, const char *rest, size_t size, uint64_t oldest, uint64_t newest) {
  const char *end = memchr(rest, '\n', size);
  if (end && (end + 1 < rest + size || !memchr(rest, 0, size))) return false;
  return journal->count > 0 ? journal->records[journal->count - 1].version == newest : oldest == newest;
}

static furrow_status cut_off(const fw_journal *journal, furrow_error *err) {
  const bool cut = ftruncate(journal->fd, (off_t)journal->size) == 0 && fdatasync(journal->fd) == 0;
  return cut ? FURROW_OK : fail_journal(journal, "its last line cannot be cut off", err);
}

static furrow_status take_text(fw_journal *journal, const char *text, size_t size, uint64_t oldest, uint64_t newest,
                               furrow_error *err) {
  const char *last = memrchr(text, '\n', size);
  const size_t whole = last ? (size_t)(last + 1 - text) : 0;
  furrow_status status = fw_journal_parse(journal, text, whole, err);
  const size_t good = (size_t)journal->size;
  if ((status == FURROW_OK && good == size) || (status != FURROW_OK && status != FURROW_E_FORMAT)) return status;
  if (is_unfinished(journal, text + good, size - good, oldest, newest)) return cut_off(journal, err);
  if (status == FURROW_OK) {
    status = fw_fail(err, FURROW_E_FORMAT, "its last line is not complete, but its version is there");
    if (err) err->line = journal->count + 1;
  }
  fw_error_set_file(err, journal->path);
  return status;
}

static furrow_status read_lines(fw_journal *journal, uint64_t oldest, uint64_t newest, furrow_error *err) {
  struct stat info;
  void *text = NULL;
  size_t size = 0;
  if (fstat(journal->fd, &info) != 0) return fail_journal(journal, "cannot be examined", err);
  if (!S_ISREG(info.st_mode) || info.st_size > LONGEST_JOURNAL) {
    fw_fail(err, FURROW_E_FORMAT, "not a journal");
    fw_error_set_file(err, journal->path);
    return FURROW_E_FORMAT;
  }
  FW_TRY(fw_alloc(&text, (size_t)info.st_size, 1, err));
  furrow_status status = read_bytes(journal, text, (size_t)info.st_size, &size, err);
  if (status == FURROW_OK) status = take_text(journal, text, size, oldest, newest, err);
  fw_free(text);
  return status;
}

furrow_status fw_journal_open(fw_journal *journal, const char *folder, uint64_t oldest, uint64_t newest,
                              furrow_error *err) {
  fw_buffer path = {0};
  *journal = (fw_journal){.fd = -1};
  fw_buffer_format(&path, "%s/%s", folder, FW_JOURNAL_NAME);
  const furrow_status status = fw_buffer_take(&path, &journal->path, NULL, err);
  fw_buffer_clear(&path);
  FW_TRY(status);
  journal->fd = open(journal->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (journal->fd < 0) return fail_journal(journal, "cannot be opened", err);
  FW_TRY(sync_folder(journal, folder, err));
  return read_lines(journal, oldest, newest, err);
}

static furrow_status write_line(fw_journal *journal, const char *bytes, size_t size, furrow_error *err) {
  for (size_t done = 0; done < size;) {
    const ssize_t wrote = pwrite(journal->fd, bytes + done, size - done, (off_t)(journal->size + done));
    if (wrote < 0 && errno != EINTR) return fail_journal(journal, "cannot be written", err);
    if (wrote > 0) done += (size_t)wrote;
  }
  if (fdatasync(journal->fd) != 0) return fail_journal(journal, "cannot be synchronised", err);
  journal->size += size;
  return FURROW_OK;
}

furrow_status fw_journal_append(fw_journal *journal, const fw_journal_record *record, furrow_error *err) {
  fw_buffer line = {0};
  fw_journal_record copy = *record;
  FW_TRY(fw_strndup(&copy.file, record->file, strlen(record->file), err));
  fw_journal_write(&line, record);
  furrow_status status = fw_buffer_status(&line, err);
  if (status == FURROW_OK) status = write_line(journal, line.bytes, line.size, err);
  if (status == FURROW_OK) status = add_record(journal, &copy, err);
  if (status != FURROW_OK) fw_free(copy.file);
  fw_buffer_clear(&line);
  return status;
}

/* Where the last line begins. */
static uint64_t last_line(const fw_journal *journal, const char *text) {
  const char *before = memrchr(text, '\n', (size_t)journal->size - 1);
  return before ? (uint64_t)(before + 1 - text) : 0;
}

furrow_status fw_journal_drop_last(fw_journal *journal, furrow_error *err) {
  void *text = NULL;
  size_t got = 0;
  FW_TRY(fw_alloc(&text, (size_t)journal->size, 1, err));
  furrow_status status = read_bytes(journal, text, (size_t)journal->size, &got, err);
  if (status == FURROW_OK && got < journal->size) {
    status = fw_fail(err, FURROW_E_STATE, "another program has changed it");
    fw_error_set_file(err, journal->path);
  }
  if (status == FURROW_OK) journal->size = last_line(journal, text);
  fw_free(text);
  FW_TRY(status);
  fw_free(journal->records[--journal->count].file);
  return cut_off(journal, err);
}

void fw_journal_close(fw_journal *journal) {
  for (size_t i = 0; i < journal->count; i++) fw_free(journal->records[i].file);
  fw_free(journal->records);
  fw_free(journal->path);
  if (journal->fd >= 0) close(journal->fd);
  *journal = (fw_journal){.fd = -1};
}
