/* serve/models/version_folder.c: the folder of a model: its newest version, and whether it has changed. */
#include "models/version_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/fail.h"

enum { MOST_FILES = 1 << 15, MOST_DEPTH = 8, LONGEST_PATH = 4096 };

/* ---- All files of a folder ---- */

typedef struct folder_walk {
  const char *root;        /* for messages */
  char path[LONGEST_PATH]; /* path of the current file, from the root */
  size_t count;            /* count of files */
  file_print print;
} folder_walk;

static furrow_status fail_at(const folder_walk *w, furrow_status status, const char *what, int errnum,
                             furrow_error *err) {
  char path[LONGEST_PATH];
  snprintf(path, sizeof path, "%.2040s/%.2040s", w->root, w->path);
  return fail_file(err, status, path, what, errnum);
}

/* Whether a file is derived from the model: the index that `furrow recommend` keeps in its folder does not make it a
 * new version. */
static bool is_derived(const char *path) {
  return strcmp(path, "items.index") == 0 || strcmp(path, "items.json") == 0;
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
  if (!is_derived(w->path)) file_print_add(&w->print, w->path, &info);
  return FURROW_OK;
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

static furrow_status walk_folder(const char *path, file_print *print, furrow_error *err) {
  folder_walk w = {.root = path};
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return fail_file(err, errno == ENOENT ? FURROW_E_NOT_FOUND : FURROW_E_IO, path, "cannot be opened", errno);
  const furrow_status status = visit_folder(&w, fd, 0, 0, err);
  close(fd);
  *print = w.print;
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
  /* a recommender has no graph */
  const bool is_model =
      fstatat(dirfd(dir), "graph.json", &info, 0) == 0 || fstatat(dirfd(dir), "furrow.json", &info, 0) == 0;
  const uint64_t number = is_model ? 0 : highest_number(dir, below);
  closedir(dir);
  if (!is_model && number == 0)
    return fail_file(err, FURROW_E_NOT_FOUND, source,
                     "neither a model (no graph.json, no furrow.json) nor a folder of numbered models", 0);
  if ((is_model ? asprintf(&path, "%s", source) : asprintf(&path, "%s/%" PRIu64, source, number)) < 0)
    return fail_memory(err);
  *folder = (version_folder){.number = number, .path = path};
  const furrow_status status = walk_folder(path, &folder->print, err);
  if (status != FURROW_OK) {
    free(path);
    *folder = (version_folder){.number = number};
  }
  return status;
}

/* ---- While it is loaded ---- */

furrow_status version_folder_check(const version_folder *folder, furrow_error *err) {
  file_print now = {0};
  FW_TRY(walk_folder(folder->path, &now, err));
  if (file_print_equals(&now, &folder->print)) return FURROW_OK;
  fail_file(err, FURROW_E_STATE, folder->path, "files of the model changed while they were read", 0);
  return add_hint(err, "write a version under another name and rename it, or write to the next number");
}
