/* io/dir_names.c: lists the names in a directory. */
#include "io/dir_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"
#include "io/input.h"

static furrow_status fail_folder(furrow_error *err, const char *folder, int errnum) {
  furrow_status status = FURROW_E_IO;
  if (errnum == ENOENT || errnum == ENOTDIR) status = FURROW_E_NOT_FOUND;
  if (errnum == ENOMEM) status = FURROW_E_MEMORY;
  if (status == FURROW_E_NOT_FOUND)
    fw_fail(err, status, "%s", errnum == ENOENT ? "no such directory" : "not a directory");
  else
    fw_fail_errno(err, status, errnum, "cannot list the directory");
  fw_error_set_file(err, folder);
  return status;
}

static furrow_status add_name(fw_dir_names *list, const char *name, furrow_error *err) {
  furrow_status status = FW_GROW(&list->names, &list->capacity, list->count + 1, err);
  if (status == FURROW_OK) status = fw_strndup(&list->names[list->count], name, strlen(name), err);
  if (status == FURROW_OK) list->count++;
  return status;
}

/* Compares bytes, whatever the locale: results must not depend on the machine. */
static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static furrow_status read_local(fw_dir_names *list, const char *folder, bool (*wanted)(void *user, const char *name),
                                void *user, furrow_error *err) {
  DIR *handle = opendir(folder);
  if (!handle) return fail_folder(err, folder, errno);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    errno = 0;
    const struct dirent *entry = readdir(handle);
    if (!entry && errno) status = fail_folder(err, folder, errno);
    if (!entry) break;
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (wanted && !wanted(user, name))) continue;
    status = add_name(list, name, err);
  }
  closedir(handle);
  return status;
}

/* ---- Folders of other file systems ---- */

typedef struct listing {
  fw_dir_names *list;
  bool (*wanted)(void *user, const char *name);
  void *user;
} listing;

static furrow_status take_name(void *context, const char *name, furrow_error *err) {
  const listing *l = context;
  if (!name[0] || strchr(name, '/')) return fw_fail(err, FURROW_E_FORMAT, "the file system lists a name with a slash");
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (l->wanted && !l->wanted(l->user, name))) return FURROW_OK;
  return add_name(l->list, name, err);
}

static furrow_status read_elsewhere(const fw_file_system *system, const char *rest, const char *folder, listing *names,
                                    furrow_error *err) {
  const furrow_file_system *calls = fw_file_system_calls(system);
  char *path = NULL;
  size_t length = strlen(rest);
  while (length > 0 && rest[length - 1] == '/') length--;
  FW_TRY(fw_strndup(&path, rest, length, err));
  furrow_error error;
  furrow_status status = FURROW_E_UNSUPPORTED;
  if (calls->list) {
    fw_callback_begin(&error, "list the directory");
    status = calls->list(calls->user, path, take_name, names, &error);
  } else {
    (void)fw_fail(&error, status, "the file system has no directories");
  }
  fw_free(path);
  return status == FURROW_OK ? status : fw_callback_failed(status, &error, folder, err);
}

/* Removes duplicates from sorted names. */
static void drop_repeated(fw_dir_names *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    if (kept > 0 && strcmp(list->names[kept - 1], list->names[i]) == 0)
      fw_free(list->names[i]);
    else
      list->names[kept++] = list->names[i];
  }
  list->count = kept;
}

furrow_status fw_dir_names_read(fw_dir_names *list, const char *folder, bool (*wanted)(void *user, const char *name),
                                void *user, furrow_error *err) {
  fw_file_system *system;
  const char *rest;
  FW_TRY(fw_file_system_hold(folder, &system, &rest, err));
  listing names = {list, wanted, user};
  furrow_status status =
      system ? read_elsewhere(system, rest, folder, &names, err) : read_local(list, rest, wanted, user, err);
  if (list->count > 1) qsort(list->names, list->count, sizeof *list->names, compare_names);
  if (system) drop_repeated(list);
  fw_file_system_let_go(system);
  return status;
}

void fw_dir_names_clear(fw_dir_names *list) {
  for (size_t i = 0; i < list->count; i++) fw_free(list->names[i]);
  fw_free(list->names);
  *list = (fw_dir_names){0};
}

furrow_status fw_path_join(char **path, const char *folder, const char *name, furrow_error *err) {
  size_t a = strlen(folder), b = strlen(name);
  const char *scheme = strstr(folder, "://");
  const size_t root = scheme ? (size_t)(scheme + 3 - folder) : 1; /* "memory://" keeps its slashes, as "/" does */
  while (a > root && folder[a - 1] == '/') a--;
  const bool slash = a > 0 && b > 0 && folder[a - 1] != '/';
  char *text;
  FW_TRY(FW_ALLOC(&text, a + slash + b + 1, err));
  memcpy(text, folder, a);
  if (slash) text[a] = '/';
  memcpy(text + a + slash, name, b + 1);
  *path = text;
  return FURROW_OK;
}

static size_t folder_length(const char *path) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  while (length > 0 && path[length - 1] != '/') length--;
  return length;
}

furrow_status fw_path_sync_names(const char *path, furrow_error *err) {
  if (!fw_path_is_local(path)) return FURROW_OK;
  const size_t length = folder_length(path);
  char folder[PATH_MAX]; /* the change is done: it must not fail for lack of memory */
  snprintf(folder, sizeof folder, "%.*s", length < sizeof folder ? (int)length : 0, path);
  const int fd = open(length ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int errnum = fd < 0 || fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) close(fd);
  if (errnum == EINVAL || (fd < 0 && errnum == EACCES))
    errnum = 0; /* EINVAL: the file system does not sync directories */
  if (errnum != 0) {
    fw_fail_errno(err, FURROW_E_IO, errnum, "changed, but its directory cannot be synced to disk");
    fw_error_set_file(err, path);
  }
  return errnum == 0 ? FURROW_OK : FURROW_E_IO;
}
