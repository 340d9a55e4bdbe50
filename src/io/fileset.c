/* io/fileset.c: a list of paths becomes a list of files with their places in one run of bytes. */
#include "io/fileset.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"
#include "io/path_files.h"

furrow_status fw_file_list_add(fw_file_list *list, const char *path, fw_file_kind kind, uint64_t size, int64_t mtime_ns,
                               furrow_error *err) {
  void *files = list->files;
  furrow_status status = fw_grow(&files, &list->capacity, list->nfiles + 1, sizeof *list->files, err);
  list->files = files;
  fw_file file = {.kind = kind, .size = size, .mtime_ns = mtime_ns};
  if (status == FURROW_OK) status = fw_strndup(&file.path, path, strlen(path), err);
  if (status == FURROW_OK) list->files[list->nfiles++] = file;
  return status;
}

void fw_file_list_clear(fw_file_list *list) {
  for (size_t i = 0; i < list->nfiles; i++) fw_free(list->files[i].path);
  fw_free(list->files);
  *list = (fw_file_list){0};
}

static furrow_status add_stdin(fw_file_list *list, furrow_error *err) {
  for (size_t i = 0; i < list->nfiles; i++)
    if (strcmp(list->files[i].path, "-") == 0)
      return fw_fail(err, FURROW_E_ARGUMENT, "standard input is named twice and can be read once");
  return fw_file_list_add(list, "-", FW_FILE_PIPE, 0, 0, err);
}

static furrow_status add_path(fw_file_list *list, const char *path, furrow_error *err) {
  if (strcmp(path, "-") == 0 || strcmp(path, "stdin") == 0) return add_stdin(list, err);
  FW_TRY(fw_path_to_read(&path, err));
  return fw_path_find_files(list, path, err);
}

/* Lays the files end to end. Sizes are what the file system says, so their sum may overflow (sparse files). */
static furrow_status place_files(fw_file_list *list, uint64_t *total, furrow_error *err) {
  uint64_t sum = 0;
  for (size_t i = 0; i < list->nfiles; i++) {
    list->files[i].begin = sum;
    if (__builtin_add_overflow(sum, list->files[i].size, &sum))
      return fw_fail(err, FURROW_E_RANGE, "the sizes of the files add up to more than 2^64 bytes");
  }
  *total = sum;
  return FURROW_OK;
}

furrow_status fw_fileset_open(fw_fileset *set, char *const *paths, size_t npaths, furrow_error *err) {
  fw_file_list list = {0};
  uint64_t total = 0;
  furrow_status status = FURROW_OK;
  if (npaths == 0) return fw_fail(err, FURROW_E_ARGUMENT, "no path is given");
  for (size_t i = 0; i < npaths && status == FURROW_OK; i++) status = add_path(&list, paths[i], err);
  if (status == FURROW_OK) status = place_files(&list, &total, err);
  if (status != FURROW_OK) {
    fw_file_list_clear(&list);
    return status;
  }
  *set = (fw_fileset){.files = list.files, .nfiles = list.nfiles, .size = total};
  return FURROW_OK;
}

void fw_fileset_clear(fw_fileset *set) {
  fw_file_list list = {.files = set->files, .nfiles = set->nfiles};
  fw_file_list_clear(&list);
  *set = (fw_fileset){0};
}
