/* io/input.c: files to read: local files by pread, others by the functions of their file system. */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"
#include "io/process/process_stop.h"

struct fw_input {
  char *path;
  int fd; /* file descriptor of a local file; -1: none */
  bool is_stdin;
  bool may_wait;          /* a pipe, a terminal …: a read may wait until bytes are written */
  fw_file_system *system; /* the file system, unless the file is local */
  const char *rest;       /* points into the path: the name within the file system */
  void *file;
  const unsigned char *bytes; /* the whole content in memory; NULL: it has to be read */
  size_t length;
};

/* ---- Paths ---------------------------------------------------------------------------------------------- */

static furrow_status fail_open(const char *path, int errnum, const char *what, furrow_error *err) {
  const bool absent = errnum == ENOENT || errnum == ENOTDIR;
  if (absent)
    fw_fail(err, FURROW_E_NOT_FOUND, "no such file or directory");
  else
    fw_fail_errno(err, FURROW_E_IO, errnum, "%s", what);
  fw_error_set_file(err, path);
  return absent ? FURROW_E_NOT_FOUND : FURROW_E_IO;
}

/* Converts a furrow_file_info to a struct stat. */
static furrow_status to_stat(const furrow_file_info *said, const char *path, struct stat *info, furrow_error *err) {
  if (said->length > INT64_MAX) {
    fw_fail(err, FURROW_E_RANGE, "the file system says that the file has %llu bytes", (unsigned long long)said->length);
    fw_error_set_file(err, path);
    return FURROW_E_RANGE;
  }
  static const mode_t modes[] = {S_IFREG | 0444, S_IFDIR | 0555, S_IFIFO | 0444};
  memset(info, 0, sizeof *info);
  info->st_mode = (unsigned)said->kind < sizeof modes / sizeof modes[0] ? modes[said->kind] : 0;
  if (said->kind == FURROW_FILE_REGULAR) info->st_size = (off_t)said->length;
  info->st_mtim.tv_sec = (time_t)(said->changed_ns / 1000000000);
  info->st_mtim.tv_nsec = (long)(said->changed_ns % 1000000000);
  return FURROW_OK;
}

static furrow_status stat_elsewhere(const fw_file_system *system, const char *rest, const char *path, struct stat *info,
                                    furrow_error *err) {
  const furrow_file_system *calls = fw_file_system_calls(system);
  furrow_file_info said = {.kind = FURROW_FILE_REGULAR};
  furrow_error error;
  fw_callback_begin(&error, "look at the file");
  const furrow_status status = calls->stat(calls->user, rest, &said, &error);
  if (status != FURROW_OK) return fw_callback_failed(status, &error, path, err);
  return to_stat(&said, path, info, err);
}

furrow_status fw_path_stat(const char *path, struct stat *info, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  furrow_status status = fw_file_system_hold(path, &system, &rest, err);
  if (status != FURROW_OK) return status;
  if (system)
    status = stat_elsewhere(system, rest, path, info, err);
  else if (stat(rest, info) != 0)
    status = fail_open(path, errno, "cannot examine the file", err);
  fw_file_system_let_go(system);
  return status;
}

furrow_status furrow_path_look(const char *path, furrow_file_info *info, furrow_error *err) {
  struct stat found;
  FW_TRY(fw_path_stat(path, &found, err));
  if (!S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode) && !S_ISFIFO(found.st_mode)) {
    fw_fail(err, FURROW_E_ARGUMENT, "neither a file nor a folder");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  *info = (furrow_file_info){.kind = S_ISREG(found.st_mode)   ? FURROW_FILE_REGULAR
                                     : S_ISDIR(found.st_mode) ? FURROW_FILE_FOLDER
                                                              : FURROW_FILE_STREAM,
                             .length = S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0,
                             .changed_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec};
  return FURROW_OK;
}

bool fw_path_is_local(const char *path) {
  fw_file_system *system;
  const char *rest;
  if (fw_file_system_hold(path, &system, &rest, NULL) != FURROW_OK) return false;
  fw_file_system_let_go(system);
  return !system;
}

bool fw_path_exists(const char *path) {
  struct stat info;
  return fw_path_stat(path, &info, NULL) == FURROW_OK || (fw_path_is_local(path) && lstat(path, &info) == 0);
}

bool fw_path_leads_out(const char *path, const char *folder) {
  struct stat info;
  char to[PATH_MAX], below[PATH_MAX];
  if (!fw_path_is_local(path) || lstat(path, &info) != 0 || !S_ISLNK(info.st_mode)) return false;
  if (!realpath(path, to) || !realpath(folder, below)) return true;
  const size_t length = strlen(below);
  return strncmp(to, below, length) != 0 || (to[length] != '/' && length > 1);
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

/* Waits for a writer as open(2) would, but so that a signal to any thread ends the wait. */
static furrow_status wait_for_writer(fw_input *input, furrow_error *err) {
  struct stat info;
  if (fstat(input->fd, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) return FURROW_OK;
  input->may_wait = true;
  const furrow_status status = S_ISFIFO(info.st_mode) ? fw_wait_for_writer(input->fd, err) : FURROW_OK;
  if (status != FURROW_OK) fw_error_set_file(err, input->path);
  (void)fcntl(input->fd, F_SETFL, fcntl(input->fd, F_GETFL) & ~O_NONBLOCK);
  return status;
}

static furrow_status open_local(fw_input *input, furrow_error *err) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
  do input->fd = open(input->rest, flags | O_NONBLOCK);
  while (input->fd < 0 && errno == EINTR);
  if (input->fd < 0 && errno == EWOULDBLOCK) input->fd = open(input->rest, flags); /* another process holds a lease */
  if (input->fd < 0) return fail_open(input->path, errno, "cannot open", err);
  posix_fadvise(input->fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* only advice: a pipe rejects it, which does no harm */
  return wait_for_writer(input, err);
}

static furrow_status open_elsewhere(fw_input *input, furrow_error *err) {
  const furrow_file_system *calls = fw_file_system_calls(input->system);
  furrow_error error;
  fw_callback_begin(&error, "open the file");
  furrow_status status = calls->open(calls->user, input->rest, &input->file, &error);
  if (status != FURROW_OK) {
    fw_file_system_let_go(input->system);
    input->system = NULL; /* nothing is open, so nothing has to be closed */
  } else if (calls->memory) {
    const void *bytes = NULL;
    status = calls->memory(calls->user, input->file, &bytes, &input->length, &error);
    if (status == FURROW_OK) input->bytes = bytes;
  }
  return status == FURROW_OK ? status : fw_callback_failed(status, &error, input->path, err);
}

static furrow_status open_path(fw_input *input, furrow_error *err) {
  FW_TRY(fw_file_system_hold(input->path, &input->system, &input->rest, err));
  return input->system ? open_elsewhere(input, err) : open_local(input, err);
}

static furrow_status open_input(fw_input **input, const char *path, bool is_stdin, furrow_error *err) {
  fw_input *opened;
  FW_TRY(FW_ALLOC_ZERO(&opened, 1, err));
  opened->is_stdin = is_stdin;
  opened->fd = is_stdin ? STDIN_FILENO : -1;
  opened->may_wait = is_stdin;
  furrow_status status = fw_strndup(&opened->path, path, strlen(path), err);
  if (status == FURROW_OK && !is_stdin) status = open_path(opened, err);
  return FW_HAND_OVER(status, input, opened, fw_input_close);
}

furrow_status fw_input_open(fw_input **input, const char *path, furrow_error *err) {
  return open_input(input, path, false, err);
}

furrow_status fw_input_open_regular(fw_input **input, const char *path, furrow_error *err) {
  struct stat info;
  FW_TRY(fw_path_stat(path, &info, err));
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    fw_fail(err, FURROW_E_ARGUMENT, "not a regular file");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  return fw_input_open(input, path, err);
}

furrow_status fw_input_open_stdin(fw_input **input, furrow_error *err) {
  return open_input(input, "-", true, err);
}

void fw_input_close(fw_input *input) {
  if (!input) return;
  if (input->fd >= 0 && !input->is_stdin) close(input->fd);
  if (input->system) {
    const furrow_file_system *calls = fw_file_system_calls(input->system);
    calls->close(calls->user, input->file);
    fw_file_system_let_go(input->system);
  }
  fw_free(input->path);
  fw_free(input);
}

furrow_status fw_input_stat(const fw_input *input, struct stat *info, furrow_error *err) {
  if (input->system) return stat_elsewhere(input->system, input->rest, input->path, info, err);
  if (fstat(input->fd, info) == 0) return FURROW_OK;
  fw_fail_errno(err, FURROW_E_IO, errno, "cannot examine the file");
  fw_error_set_file(err, input->path);
  return FURROW_E_IO;
}

void fw_input_expect(const fw_input *input, uint64_t begin, uint64_t end) {
  const furrow_file_system *calls = input->system ? fw_file_system_calls(input->system) : NULL;
  if (calls && calls->expect) calls->expect(calls->user, input->file, begin, end);
}

const void *fw_input_memory(const fw_input *input, size_t *size) {
  *size = input->length;
  return input->bytes;
}

int fw_input_descriptor(const fw_input *input) {
  return input->fd;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status fail_read(furrow_error *err, const char *path, uint64_t offset, int errnum) {
  fw_fail_errno(err, FURROW_E_IO, errnum, "cannot read");
  fw_error_set_file(err, path);
  if (err) err->offset = offset;
  return FURROW_E_IO;
}

furrow_status fw_descriptor_read_at(int fd, const char *path, void *buffer, size_t size, uint64_t offset, size_t *got,
                                    furrow_error *err) {
  size_t done = 0;
  if (offset > INT64_MAX || size > INT64_MAX - offset) return fail_read(err, path, offset, EOVERFLOW);
  while (done < size) {
    ssize_t n = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));
    if (n == 0) break;
    if (n > 0)
      done += (size_t)n;
    else if (errno != EINTR)
      return fail_read(err, path, offset + done, errno);
  }
  *got = done;
  return FURROW_OK;
}

static size_t copy_memory(const fw_input *input, void *buffer, size_t size, uint64_t offset) {
  if (offset >= input->length) return 0;
  const size_t left = input->length - (size_t)offset, n = size < left ? size : left;
  memcpy(buffer, input->bytes + offset, n);
  return n;
}

static furrow_status call_read(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                               furrow_error *err) {
  const furrow_file_system *calls = fw_file_system_calls(input->system);
  furrow_error error;
  size_t n = 0;
  fw_callback_begin(&error, "read the file");
  error.offset = offset;
  furrow_status status = calls->read_at(calls->user, input->file, buffer, size, offset, &n, &error);
  if (status == FURROW_OK && n > size)
    status = fw_fail(&error, FURROW_E_IO, "the file system reports %zu bytes, but only %zu were requested", n, size);
  if (status != FURROW_OK) return fw_callback_failed(status, &error, input->path, err);
  *got = n;
  return FURROW_OK;
}

furrow_status fw_input_read_at(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                               furrow_error *err) {
  if (!input->system) return fw_descriptor_read_at(input->fd, input->path, buffer, size, offset, got, err);
  size_t done = 0, n = 1;
  if (input->bytes) {
    done = copy_memory(input, buffer, size, offset);
    n = 0;
  }
  while (done < size && n > 0) {
    FW_TRY(call_read(input, (char *)buffer + done, size - done, offset + done, &n, err));
    done += n;
  }
  *got = done;
  return FURROW_OK;
}

/* Reads until there is at least one byte: the program that opened standard input may have left it non-blocking. */
static furrow_status read_some(const fw_input *input, void *buffer, size_t size, ssize_t *n, furrow_error *err) {
  bool waits = input->may_wait;
  do {
    const furrow_status status = waits ? fw_wait_readable(input->fd, err) : FURROW_OK;
    if (status != FURROW_OK) fw_error_set_file(err, input->path);
    if (status != FURROW_OK) return status;
    *n = read(input->fd, buffer, size < SSIZE_MAX ? size : SSIZE_MAX);
    waits = *n < 0;
  } while (waits && (errno == EAGAIN || errno == EINTR));
  return FURROW_OK;
}

furrow_status fw_input_read_some(const fw_input *input, void *buffer, size_t size, uint64_t offset, size_t *got,
                                 furrow_error *err) {
  if (input->bytes) {
    *got = copy_memory(input, buffer, size, offset);
    return FURROW_OK;
  }
  if (input->system) return call_read(input, buffer, size, offset, got, err);
  ssize_t n;
  FW_TRY(read_some(input, buffer, size, &n, err));
  if (n < 0) return fail_read(err, input->path, offset, errno);
  *got = (size_t)n;
  return FURROW_OK;
}

/* ---- JSON files ---- */

enum { FILE_MAX = 16 << 20 }; /* limit of bytes of a JSON file; real ones have a few thousand */

static furrow_status not_a_file(const char *path, const char *why, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "%s", why);
  fw_error_set_file(err, path);
  return FURROW_E_FORMAT;
}

furrow_status fw_path_read_json(char **text, size_t *size, const char *path, furrow_error *err) {
  struct stat info;
  fw_input *input = NULL;
  FW_TRY(fw_path_stat(path, &info, err));
  if (!S_ISREG(info.st_mode)) return not_a_file(path, "that is not a regular file", err);
  if (info.st_size > FILE_MAX) return not_a_file(path, "too large for a file of JSON", err);
  furrow_status status = fw_input_open(&input, path, err);
  if (status == FURROW_OK) status = FW_ALLOC(text, (size_t)info.st_size, err);
  if (status == FURROW_OK) status = fw_input_read_at(input, *text, (size_t)info.st_size, 0, size, err);
  if (status == FURROW_OK && *size >= 3 && memcmp(*text, "\xef\xbb\xbf", 3) == 0) memset(*text, ' ', 3);
  fw_input_close(input);
  return status;
}

furrow_status furrow_path_read(const char *path, uint64_t offset, void *buffer, size_t size, size_t *got,
                               furrow_error *err) {
  fw_input *input = NULL;
  FW_TRY(fw_input_open_regular(&input, path, err));
  const furrow_status status = fw_input_read_at(input, buffer, size, offset, got, err);
  fw_input_close(input);
  return status;
}
