/* serve/catalog/model_files.c: the folder of a model: its newest version, its fingerprint, its files in memory. */
#include "catalog/model_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/serve_settings.h"
#include "core/fail.h"
#include "furrow/io.h"

enum { MOST_FILES = 1 << 15, MOST_DEPTH = 8, LONGEST_PATH = 4096 };
#define MOST_BYTES (UINT64_C(64) << 30)

/* ---- All files of a folder ---- */

typedef struct folder_walk {
  const char *root;        /* for messages */
  char path[LONGEST_PATH]; /* of the current file, from the root */
  size_t count;            /* of files */
  uint64_t fingerprint;
  model_files *files; /* NULL: they are not read */
} folder_walk;

static furrow_status fail_at(const folder_walk *w, furrow_status status, const char *what, int errnum,
                             furrow_error *err) {
  char path[LONGEST_PATH];
  snprintf(path, sizeof path, "%.2040s/%.2040s", w->root, w->path);
  return fail_file(err, status, path, what, errnum);
}

/* FNV-1a */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* The index that `furrow recommend` keeps beside a model does not make it another one. */
static bool is_derived(const char *path) {
  return strcmp(path, "items.index") == 0 || strcmp(path, "items.json") == 0;
}

static uint64_t fingerprint_of(const char *path, const struct stat *info) {
  const int64_t facts[] = {(int64_t)info->st_size, (int64_t)info->st_mtim.tv_sec, (int64_t)info->st_mtim.tv_nsec,
                           (int64_t)info->st_ino, (int64_t)info->st_dev};
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), path, strlen(path) + 1);
  hash = hash_bytes(hash, facts, sizeof facts);
  return hash ^ (hash >> 29);
}

uint64_t file_fingerprint(const char *path) {
  struct stat info;
  return path && stat(path, &info) == 0 ? fingerprint_of(path, &info) : 0;
}

static furrow_status add_to_memory(folder_walk *w, void *data, size_t size, furrow_error *err) {
  model_files *files = w->files;
  char *path = NULL;
  if (files->count == files->capacity) {
    const size_t capacity = files->capacity ? 2 * files->capacity : 16;
    char **grown = realloc((void *)files->paths, capacity * sizeof *grown);
    if (!grown) return fail_memory(err);
    files->paths = grown;
    files->capacity = capacity;
  }
  if (asprintf(&path, "%s/%s", files->folder, w->path) < 0) return fail_memory(err);
  const furrow_status status = furrow_memory_file_add(path, data, size, free, data, err);
  if (status == FURROW_OK)
    files->paths[files->count++] = path;
  else
    free(path);
  return status;
}

static furrow_status read_all(const folder_walk *w, int fd, char *data, size_t size, furrow_error *err) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = read(fd, data + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_at(w, FURROW_E_IO, "cannot read", errno, err);
    if (got == 0) return fail_at(w, FURROW_E_STATE, "became shorter while it was read", 0, err);
    done += (size_t)got;
  }
  return FURROW_OK;
}

static furrow_status read_file(folder_walk *w, int fd, const struct stat *info, furrow_error *err) {
  const uint64_t size = (uint64_t)info->st_size;
  if (size > MOST_BYTES - w->files->bytes)
    return fail_at(w, FURROW_E_RANGE, "the files of the model have more than 64 GiB", 0, err);
  char *data = size > 0 ? malloc(size) : NULL;
  if (size > 0 && !data) return fail_memory(err);
  furrow_status status = read_all(w, fd, data, size, err);
  if (status == FURROW_OK) status = add_to_memory(w, data, size, err);
  if (status != FURROW_OK) free(data);
  w->files->bytes += size;
  return status;
}

static furrow_status visit_folder(folder_walk *w, int fd, size_t length, unsigned depth, furrow_error *err);

static furrow_status visit_open(folder_walk *w, int fd, size_t length, unsigned depth, furrow_error *err) {
  struct stat info;
  if (fstat(fd, &info) != 0) return fail_at(w, FURROW_E_IO, "cannot be examined", errno, err);
  if (S_ISDIR(info.st_mode)) {
    if (depth == MOST_DEPTH) return fail_at(w, FURROW_E_FORMAT, "folders are nested too deeply for a model", 0, err);
    return visit_folder(w, fd, length, depth + 1, err);
  }
  if (!S_ISREG(info.st_mode)) return fail_at(w, FURROW_E_FORMAT, "not a regular file", 0, err);
  if (++w->count > MOST_FILES) return fail_at(w, FURROW_E_FORMAT, "the folder has too many files for a model", 0, err);
  /* The sum does not depend on the order in which the folder lists its files. */
  if (!is_derived(w->path)) w->fingerprint += fingerprint_of(w->path, &info);
  return w->files ? read_file(w, fd, &info, err) : FURROW_OK;
}

/* O_NONBLOCK: a pipe must not block; O_NOFOLLOW: a link would lead out of the folder. */
static furrow_status visit_entry(folder_walk *w, int folder, size_t length, const char *name, unsigned depth,
                                 furrow_error *err) {
  const int written = snprintf(w->path + length, sizeof w->path - length, "%s%s", length > 0 ? "/" : "", name);
  if (written < 0 || (size_t)written >= sizeof w->path - length)
    return fail_at(w, FURROW_E_FORMAT, "the path is too long", 0, err);
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == ELOOP) return fail_at(w, FURROW_E_FORMAT, "a model must not have symbolic links", 0, err);
  if (fd < 0) return fail_at(w, errno == ENOENT ? FURROW_E_STATE : FURROW_E_IO, "cannot be opened", errno, err);
  const furrow_status status = visit_open(w, fd, length + (size_t)written, depth, err);
  close(fd);
  w->path[length] = 0;
  return status;
}

static furrow_status visit_folder(folder_walk *w, int fd, size_t length, unsigned depth, furrow_error *err) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
  furrow_status status = FURROW_OK;
  if (!dir) {
    status = fail_at(w, FURROW_E_IO, "cannot be listed", errno, err);
    if (copy >= 0) close(copy);
    return status;
  }
  struct dirent *entry;
  errno = 0;
  while (status == FURROW_OK && (entry = readdir(dir))) {
    if (entry->d_name[0] != '.') status = visit_entry(w, fd, length, entry->d_name, depth, err);
    errno = 0;
  }
  if (status == FURROW_OK && errno != 0) status = fail_at(w, FURROW_E_IO, "cannot be listed", errno, err);
  closedir(dir);
  return status;
}

/* files NULL: only the fingerprint. */
static furrow_status walk_folder(const char *path, model_files *files, uint64_t *fingerprint, furrow_error *err) {
  folder_walk w = {.root = path, .files = files};
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, path, "cannot be opened", errno);
  const furrow_status status = visit_folder(&w, fd, 0, 0, err);
  close(fd);
  *fingerprint = w.fingerprint;
  return status;
}

/* ---- The newest version ---- */

/* The number of a name; 0: it is not one. */
static uint64_t version_number(const char *name) {
  const uint64_t largest = UINT64_C(1) << 63;
  uint64_t number = 0;
  if (*name == '0') return 0;
  for (; *name; name++) {
    const uint64_t digit = (uint64_t)(unsigned char)*name - '0';
    if (digit > 9 || number > (largest - digit) / 10) return 0;
    number = number * 10 + digit;
  }
  return number;
}

static bool is_folder(DIR *in, const char *name) {
  struct stat info;
  return fstatat(dirfd(in), name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

static uint64_t highest_number(DIR *dir, uint64_t below) {
  uint64_t highest = 0;
  const struct dirent *entry;
  while ((entry = readdir(dir))) {
    const uint64_t number = version_number(entry->d_name);
    if (number > highest && number < below && is_folder(dir, entry->d_name)) highest = number;
  }
  return highest;
}

furrow_status version_folder_find(version_folder *folder, const char *source, uint64_t below, furrow_error *err) {
  struct stat info;
  char *path = NULL;
  DIR *dir = opendir(source);
  if (!dir)
    return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, source, "cannot be opened", errno);
  const bool is_model = fstatat(dirfd(dir), "graph.json", &info, 0) == 0;
  const uint64_t number = is_model ? 0 : highest_number(dir, below);
  closedir(dir);
  if (!is_model && number == 0)
    return fail_file(err, FURROW_E_NOT_FOUND, source, "neither a model (no graph.json) nor a folder of numbered models",
                     0);
  if ((is_model ? asprintf(&path, "%s", source) : asprintf(&path, "%s/%" PRIu64, source, number)) < 0)
    return fail_memory(err);
  *folder = (version_folder){.number = number, .path = path};
  const furrow_status status = walk_folder(path, NULL, &folder->fingerprint, err);
  if (status != FURROW_OK) {
    free(path);
    folder->path = NULL;
  }
  return status;
}

/* ---- Files in memory ---- */

furrow_status model_files_read(model_files *files, const version_folder *from, const char *name, furrow_error *err) {
  static atomic_ullong folders; /* two models may have one name in a test, and a version is read again */
  uint64_t before = 0, after = 0;
  snprintf(files->folder, sizeof files->folder, "memory://serve/%.64s/%llu", name, atomic_fetch_add(&folders, 1));
  FAIL_TRY(walk_folder(from->path, files, &before, err));
  FAIL_TRY(walk_folder(from->path, NULL, &after, err));
  if (before != from->fingerprint || after != before)
    return fail_file(err, FURROW_E_STATE, from->path, "files of the model changed while they were read", 0);
  return FURROW_OK;
}

void model_files_clear(model_files *files) {
  for (size_t i = 0; i < files->count; i++) {
    const furrow_status status = furrow_memory_file_remove(files->paths[i], NULL);
    (void)status; /* E_MEMORY: it stays until the program ends */
    free(files->paths[i]);
  }
  free((void *)files->paths);
  *files = (model_files){0};
}

void model_files_rename(const model_files *files, const char *folder, furrow_error *err) {
  const size_t length = strlen(files->folder);
  char rest[sizeof err->file];
  if (length == 0 || strncmp(err->file, files->folder, length) != 0) return;
  snprintf(rest, sizeof rest, "%s", err->file + length);
  snprintf(err->file, sizeof err->file, "%.255s%.255s", folder, rest);
  char *where = strstr(err->message, " in memory");
  if (where && err->status == FURROW_E_NOT_FOUND) *where = 0; /* "no such file or directory in memory" */
}
