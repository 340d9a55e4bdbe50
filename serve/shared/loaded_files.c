/* serve/shared/loaded_files.c: the files that are loaded: fingerprints, and reading them without mapping them. */
#include "shared/loaded_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "furrow/io.h"

/* ---- Fingerprints ---- */

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

void file_print_add(file_print *print, const char *name, const struct stat *info) {
  const int64_t facts[] = {(int64_t)info->st_size, (int64_t)info->st_mtim.tv_sec, (int64_t)info->st_mtim.tv_nsec,
                           (int64_t)info->st_ino, (int64_t)info->st_dev};
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), name, strlen(name) + 1);
  hash = hash_bytes(hash, facts, sizeof facts);
  print->hash += hash ^ (hash >> 29);
  print->bytes += (uint64_t)info->st_size;
}

bool file_print_add_path(file_print *print, const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return false;
  file_print_add(print, path, &info);
  return true;
}

bool file_print_equals(const file_print *a, const file_print *b) {
  return a->hash == b->hash && a->bytes == b->bytes;
}

/* A file next to an index that exists but cannot be reached still counts: loading it then reports the error. */
static void add_companion(file_print *print, const char *path) {
  struct stat info;
  if (file_print_add_path(print, path)) return;
  if (lstat(path, &info) == 0)
    file_print_add(print, path, &info);
  else if (errno != ENOENT)
    print->hash += (uint64_t)errno;
}

furrow_status index_print_get(file_print *print, const char *path, furrow_error *err) {
  static const char *const endings[] = {".names", ".attributes"};
  *print = (file_print){0};
  if (!file_print_add_path(print, path))
    return fail_file(err, errno == ENOENT || errno == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO, path,
                     "cannot be found", errno);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    char *other = NULL;
    if (asprintf(&other, "%s%s", path, endings[i]) < 0) return fail_memory(err);
    add_companion(print, other);
    free(other);
  }
  return FURROW_OK;
}

/* ---- Files that are not mapped ---- */

#define SCHEME "unmapped"
static const char prefix[] = SCHEME "://";

static furrow_status fail_path(furrow_error *err, const char *path, const char *what) {
  return fail_file(err, errno == ENOENT || errno == ENOTDIR ? FURROW_E_NOT_FOUND : FURROW_E_IO, path, what, errno);
}

static furrow_status stat_file(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  struct stat found;
  (void)user;
  if (stat(path, &found) != 0) return fail_path(err, path, "cannot be found");
  info->kind = S_ISREG(found.st_mode)   ? FURROW_FILE_REGULAR
               : S_ISDIR(found.st_mode) ? FURROW_FILE_FOLDER
                                        : FURROW_FILE_STREAM;
  info->length = S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
  info->changed_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
  return FURROW_OK;
}

/* Hidden files are not part of anything that is served. */
static furrow_status list_folder(void *user, const char *path, furrow_file_name found, void *listing,
                                 furrow_error *err) {
  (void)user;
  DIR *dir = opendir(path);
  if (!dir) return fail_path(err, path, "cannot be listed");
  furrow_status status = FURROW_OK;
  const struct dirent *entry;
  errno = 0;
  while (status == FURROW_OK && (entry = readdir(dir))) {
    if (entry->d_name[0] != '.') status = found(listing, entry->d_name, err);
    errno = 0;
  }
  if (status == FURROW_OK && errno != 0) status = fail_path(err, path, "cannot be listed");
  closedir(dir);
  return status;
}

/* Stores a descriptor plus 1 as a pointer, so that it is never NULL. O_NONBLOCK: a pipe must not block. */
static furrow_status open_file(void *user, const char *path, void **file, furrow_error *err) {
  struct stat found;
  (void)user;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return fail_path(err, path, "cannot be opened");
  if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
    close(descriptor);
    return fail_file(err, FURROW_E_FORMAT, path, "not a regular file", 0);
  }
  *file = (void *)((intptr_t)descriptor + 1);
  return FURROW_OK;
}

static int descriptor_of(void *file) {
  return (int)((intptr_t)file - 1);
}

static furrow_status read_file_at(void *user, void *file, void *buffer, size_t length, uint64_t offset, size_t *got,
                                  furrow_error *err) {
  ssize_t count;
  (void)user;
  do count = pread(descriptor_of(file), buffer, length, (off_t)offset);
  while (count < 0 && errno == EINTR);
  if (count < 0) return fail(err, FURROW_E_IO, "cannot be read: %s", strerror(errno));
  *got = (size_t)count;
  return FURROW_OK;
}

static void close_file(void *user, void *file) {
  (void)user;
  close(descriptor_of(file));
}

static furrow_status registered = FURROW_E_STATE;

static void register_once(void) {
  furrow_file_system files;
  furrow_file_system_init(&files);
  files.stat = stat_file;
  files.list = list_folder;
  files.open = open_file;
  files.read_at = read_file_at;
  files.close = close_file;
  registered = furrow_file_system_register(SCHEME, &files, NULL);
}

furrow_status unmapped_files_register(furrow_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_once);
  return registered == FURROW_OK ? FURROW_OK : fail(err, registered, "files cannot be read without mapping them");
}

char *unmapped_path(const char *path) {
  if (strstr(path, "://")) return strdup(path);
  const size_t length = strlen(path);
  char *text = malloc(sizeof prefix + length);
  if (!text) return NULL;
  memcpy(text, prefix, sizeof prefix - 1);
  memcpy(text + sizeof prefix - 1, path, length + 1);
  return text;
}

void unmapped_error(furrow_error *err) {
  const size_t length = sizeof prefix - 1;
  if (err && strncmp(err->file, prefix, length) == 0)
    memmove(err->file, err->file + length, strlen(err->file + length) + 1);
}
