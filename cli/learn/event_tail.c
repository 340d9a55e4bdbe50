/* cli/learn/event_tail.c: the end of a log that grows. */
#include "learn/event_tail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"

enum { PIECE = 1 << 16, LONGEST_TEXT = 1 << 30 };

static furrow_status fail_read(const event_tail *tail, const char *what, furrow_error *err) {
  return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, tail->file ? tail->file : tail->source,
                   what, errno);
}

static bool is_stdin(const event_tail *tail) {
  return tail->file && strcmp(tail->file, "-") == 0;
}

/* ---- Parts of a folder ---------------------------------------------------------------------------------- */

/* The first name after `name` (NULL: the first of all), to be freed; NULL: there is none. */
static furrow_status find_part(const event_tail *tail, const char *name, char **found, furrow_error *err) {
  DIR *dir = opendir(tail->source);
  const struct dirent *entry;
  if (!dir) return fail_file(err, FURROW_E_IO, tail->source, "cannot be listed", errno);
  while ((errno = 0, entry = readdir(dir))) {
    if (entry->d_name[0] == '.' || (name && strcmp(entry->d_name, name) <= 0)) continue;
    if (*found && strcmp(entry->d_name, *found) >= 0) continue;
    free(*found);
    *found = strdup(entry->d_name);
    if (!*found) break;
  }
  const int failed = entry ? 0 : errno;
  closedir(dir);
  if (failed) return fail_file(err, FURROW_E_IO, tail->source, "cannot be listed", failed);
  return entry ? fail_memory(err) : FURROW_OK;
}

static const char *part_name(const event_tail *tail) {
  const char *slash = strrchr(tail->file, '/');
  return slash ? slash + 1 : tail->file;
}

static furrow_status set_part(event_tail *tail, const char *name, furrow_error *err) {
  const size_t size = strlen(tail->source) + strlen(name) + 2;
  free(tail->file);
  tail->file = malloc(size);
  if (!tail->file) return fail_memory(err);
  snprintf(tail->file, size, "%s/%s", tail->source, name);
  return FURROW_OK;
}

/* ---- A file --------------------------------------------------------------------------------------------- */

static bool has_header(const char *file) {
  static const char *const endings[] = {".csv", ".tsv"};
  const size_t n = strlen(file);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (n > 4 && strcmp(file + n - 4, endings[i]) == 0) return true;
  return false;
}

/* The first line of a table; incomplete: nothing yet. */
static furrow_status read_header(event_tail *tail, furrow_error *err) {
  char piece[PIECE];
  if (is_stdin(tail) || !has_header(tail->file) || tail->header.size > 0) return FURROW_OK;
  const ssize_t got = pread(tail->fd, piece, sizeof piece, 0);
  if (got < 0) return fail_read(tail, "cannot be read", err);
  const char *end = memchr(piece, '\n', (size_t)got);
  if (!end && got == (ssize_t)sizeof piece)
    return fail_file(err, FURROW_E_FORMAT, tail->file, "its first line is too long for a header", 0);
  if (!end) return FURROW_OK;
  fw_buffer_append(&tail->header, piece, (size_t)(end + 1 - piece));
  if (tail->from == 0) tail->from = tail->header.size;
  return fw_buffer_status(&tail->header, err);
}

static furrow_status open_file(event_tail *tail, furrow_error *err) {
  struct stat info;
  fw_buffer_clear(&tail->header);
  fw_buffer_reset(&tail->text);
  tail->scanned = tail->whole = 0;
  tail->lines = 0;
  tail->ended = false;
  if (is_stdin(tail)) {
    tail->fd = STDIN_FILENO;
    return FURROW_OK;
  }
  if (tail->fd >= 0) close(tail->fd);
  tail->fd = open(tail->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (tail->fd < 0 || fstat(tail->fd, &info) != 0) return fail_read(tail, "cannot be opened", err);
  if (!S_ISREG(info.st_mode)) return fail_file(err, FURROW_E_ARGUMENT, tail->file, "not a regular file", 0);
  if ((uint64_t)info.st_size + tail->folder < tail->from) /* the end of a last line may have been added */
    return fail_in(err, FURROW_E_STATE, tail->file, "has %lld bytes, but %" PRIu64 " have been learned",
                   (long long)info.st_size, tail->from);
  return read_header(tail, err);
}

furrow_status event_tail_open(event_tail *tail, const char *source, const char *file, uint64_t from,
                              furrow_error *err) {
  struct stat info;
  char *first = NULL;
  *tail = (event_tail){.source = source, .fd = -1};
  if (strcmp(source, "-") != 0 && stat(source, &info) != 0) return fail_read(tail, "cannot be examined", err);
  tail->folder = strcmp(source, "-") != 0 && S_ISDIR(info.st_mode);
  if (strcmp(source, "-") != 0) tail->from = from;
  if (file && strcmp(source, "-") != 0) {
    tail->file = strdup(file);
  } else if (tail->folder) {
    furrow_status status = find_part(tail, NULL, &first, err);
    if (status == FURROW_OK && first) status = set_part(tail, first, err);
    free(first);
    if (status != FURROW_OK || !tail->file) return status;
  } else {
    tail->file = strdup(source);
  }
  return tail->file ? open_file(tail, err) : fail_memory(err);
}

/* Whether a read would wait: a pipe whose writer pauses. */
static bool would_wait(const event_tail *tail) {
  struct pollfd input = {.fd = tail->fd, .events = POLLIN};
  return is_stdin(tail) && poll(&input, 1, 0) <= 0;
}

static void count_lines(event_tail *tail, uint64_t most) {
  while (tail->scanned < tail->text.size && tail->lines < most) {
    const char *at = tail->text.bytes + tail->scanned, *end = memchr(at, '\n', tail->text.size - tail->scanned);
    if (!end) {
      tail->scanned = tail->text.size;
      return;
    }
    tail->scanned = tail->whole = (size_t)(end + 1 - tail->text.bytes);
    tail->lines++;
  }
}

furrow_status event_tail_fill(event_tail *tail, uint64_t most, furrow_error *err) {
  char piece[PIECE];
  ssize_t got = 1;
  if (!tail->file) return FURROW_OK;
  furrow_status status = read_header(tail, err);
  if (status != FURROW_OK || (!is_stdin(tail) && has_header(tail->file) && tail->header.size == 0)) return status;
  for (count_lines(tail, most); tail->lines < most && got > 0; count_lines(tail, most)) {
    if (would_wait(tail)) return FURROW_OK;
    got = is_stdin(tail) ? read(tail->fd, piece, sizeof piece)
                         : pread(tail->fd, piece, sizeof piece, (off_t)(tail->from + tail->text.size));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return FURROW_OK;
    if (got < 0) return fail_read(tail, "cannot be read", err);
    if (got > 0) fw_buffer_append(&tail->text, piece, (size_t)got);
    if (tail->text.size > LONGEST_TEXT)
      return fail_in(err, FURROW_E_RANGE, tail->file, "%" PRIu64 " events are more than 1 GiB: use a lower --every",
                     most);
    status = fw_buffer_status(&tail->text, err);
    if (status != FURROW_OK) return status;
  }
  if (got == 0 && is_stdin(tail)) tail->ended = true;
  if (got > 0 || !tail->ended || tail->whole == tail->text.size || tail->lines >= most) return FURROW_OK;
  fw_buffer_byte(&tail->text, '\n'); /* the last line of a part or of a pipe may lack its end */
  count_lines(tail, most);
  return fw_buffer_status(&tail->text, err);
}

furrow_status event_tail_check(const event_tail *tail, furrow_error *err) {
  struct stat held, named;
  if (!tail->file || is_stdin(tail)) return FURROW_OK;
  if (fstat(tail->fd, &held) != 0) return fail_read(tail, "cannot be examined", err);
  if ((uint64_t)held.st_size + tail->ended < tail->from + tail->text.size)
    return fail_in(err, FURROW_E_STATE, tail->file, "has %lld bytes, but %" PRIu64 " have been read: it was cut",
                   (long long)held.st_size, tail->from + tail->text.size);
  if (stat(tail->file, &named) != 0 || (named.st_ino == held.st_ino && named.st_dev == held.st_dev)) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, tail->file, "another file has taken its place");
  return add_hint(err, "logs that are rotated are followed as a folder of parts, whose names sort by time");
}

bool event_tail_is_of(const event_tail *tail, const char *file) {
  struct stat source, other;
  const char *slash = strrchr(file, '/');
  if (strcmp(file, "-") == 0 || strcmp(tail->source, "-") == 0) return false;
  if (strcmp(file, tail->source) == 0) return true;
  char *folder = slash ? strndup(file, (size_t)(slash + 1 - file)) : strdup(".");
  const bool same = folder && stat(tail->source, &source) == 0 && stat(tail->folder ? folder : file, &other) == 0 &&
                    source.st_ino == other.st_ino && source.st_dev == other.st_dev;
  free(folder);
  return same;
}

furrow_status event_tail_next_part(event_tail *tail, bool *moved, furrow_error *err) {
  char *next = NULL;
  *moved = false;
  if (!tail->folder) return FURROW_OK;
  furrow_status status = find_part(tail, tail->file ? part_name(tail) : NULL, &next, err);
  if (status == FURROW_OK && next && tail->file && !tail->ended) {
    tail->ended = true; /* what this part still has is read first */
  } else if (status == FURROW_OK && next) {
    status = set_part(tail, next, err);
    tail->from = 0;
    *moved = true;
    if (status == FURROW_OK) status = open_file(tail, err);
  }
  free(next);
  return status;
}

bool event_tail_is_empty(const event_tail *tail) {
  return tail->lines == 0;
}

size_t event_tail_bytes(const event_tail *tail, uint64_t lines) {
  size_t at = 0;
  for (uint64_t i = 0; i < lines && at < tail->text.size; i++) {
    const char *end = memchr(tail->text.bytes + at, '\n', tail->text.size - at);
    at = end ? (size_t)(end + 1 - tail->text.bytes) : tail->text.size;
  }
  return at;
}

void event_tail_drop(event_tail *tail, size_t bytes, uint64_t lines) {
  memmove(tail->text.bytes, tail->text.bytes + bytes, tail->text.size - bytes);
  tail->text.size -= bytes;
  tail->scanned -= bytes;
  tail->whole -= bytes;
  tail->lines -= lines;
  tail->from += bytes;
}

furrow_status event_tail_read_again(event_tail *tail, uint64_t to, furrow_error *err) {
  char piece[PIECE];
  if (to < tail->from || to - tail->from > LONGEST_TEXT)
    return fail_in(err, FURROW_E_RANGE, tail->file, "the bytes %" PRIu64 " to %" PRIu64 " are more than 1 GiB",
                   tail->from, to);
  while (tail->from + tail->text.size < to) {
    const uint64_t left = to - tail->from - tail->text.size;
    const ssize_t got =
        pread(tail->fd, piece, left < PIECE ? (size_t)left : PIECE, (off_t)(tail->from + tail->text.size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_read(tail, "cannot be read", err);
    if (got == 0) break;
    fw_buffer_append(&tail->text, piece, (size_t)got);
  }
  if (tail->from + tail->text.size + 1 == to) fw_buffer_byte(&tail->text, '\n'); /* as event_tail_fill did */
  return fw_buffer_status(&tail->text, err);
}

void event_tail_close(event_tail *tail) {
  if (tail->fd > STDERR_FILENO) close(tail->fd);
  free(tail->file);
  fw_buffer_clear(&tail->header);
  fw_buffer_clear(&tail->text);
  *tail = (event_tail){.fd = -1};
}
