/* io/dir_names.c: what is in a directory, by name. */
#include "io/dir_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static furrow_status fail(furrow_error *err, const char *folder, int errnum) {
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
  void *memory = list->names;
  furrow_status status = fw_grow(&memory, &list->capacity, list->count + 1, sizeof *list->names, err);
  list->names = memory;
  if (status == FURROW_OK) status = fw_strndup(&list->names[list->count], name, strlen(name), err);
  if (status == FURROW_OK) list->count++;
  return status;
}

/* By bytes, whatever the locale: no result may depend on the machine. */
static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

furrow_status fw_dir_names_read(fw_dir_names *list, const char *folder, bool (*wanted)(void *user, const char *name),
                                void *user, furrow_error *err) {
  DIR *handle = opendir(folder);
  if (!handle) return fail(err, folder, errno);
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    errno = 0;
    const struct dirent *entry = readdir(handle);
    if (!entry && errno) status = fail(err, folder, errno);
    if (!entry) break;
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || (wanted && !wanted(user, name))) continue;
    status = add_name(list, name, err);
  }
  closedir(handle);
  if (list->count > 1) qsort(list->names, list->count, sizeof *list->names, compare_names);
  return status;
}

void fw_dir_names_clear(fw_dir_names *list) {
  for (size_t i = 0; i < list->count; i++) fw_free(list->names[i]);
  fw_free(list->names);
  *list = (fw_dir_names){0};
}

furrow_status fw_path_join(char **path, const char *folder, const char *name, furrow_error *err) {
  size_t a = strlen(folder), b = strlen(name), bytes;
  while (a > 1 && folder[a - 1] == '/') a--;
  const bool slash = a > 0 && b > 0 && folder[a - 1] != '/';
  if (!fw_size_add(a + slash + 1, b, &bytes)) return fw_fail_memory(err, SIZE_MAX);
  void *memory;
  furrow_status status = fw_alloc(&memory, bytes, 1, err);
  if (status != FURROW_OK) return status;
  char *text = memory;
  memcpy(text, folder, a);
  if (slash) text[a] = '/';
  memcpy(text + a + slash, name, b + 1);
  *path = text;
  return FURROW_OK;
}
