/* model/write/overwrite_check.c: checks what may be overwritten: a matrix or a model, but never the source. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/target.h"
#include "model/write/matrix_writer.h"

static furrow_status refuse_overwrite(furrow_error *err, const char *folder, const char *name, const char *what) {
  char *path = NULL;
  FW_TRY(fw_path_join(&path, folder, name, err));
  fw_fail(err, FURROW_E_EXISTS, "%s", what);
  fw_error_set_file(err, path);
  fw_free(path);
  return FURROW_E_EXISTS;
}

static bool ends_with(const char *name, const char *end) {
  const size_t length = strlen(name), n = strlen(end);
  return length > n && strcmp(name + length - n, end) == 0;
}

/* Leftovers of Angel, Hadoop and Furrow. */
static bool is_leftover(const char *name) {
  return strncmp(name, "_tmp.", 5) == 0 || fw_target_is_temporary(name) || strcmp(name, "_SUCCESS") == 0;
}

/* ---- a matrix ---- */

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of data files, sorted. */
typedef struct name_list {
  const char **names;
  size_t count;
} name_list;

static bool is_of_matrix(const name_list *files, const char *name) {
  if (strcmp(name, "_meta") == 0 || strcmp(name, "meta") == 0 || strcmp(name, "psmeta") == 0) return true;
  if (strncmp(name, "psmeta.", 7) == 0 || is_leftover(name)) return true;
  return files->count > 0 && bsearch(&name, files->names, files->count, sizeof *files->names, compare_names);
}

/* Other files of a model: settings, the dictionary of a raw log, the index of its items. */
static bool is_of_model(const name_list *files, const char *name) {
  (void)files;
  if (strcmp(name, "dictionary.furrow") == 0 || strcmp(name, "items.index") == 0) return true;
  if (strcmp(name, "forest.nodes") == 0) return true;
  return is_leftover(name) || (name[0] != '.' && ends_with(name, ".json"));
}

/* ---- folders ---- */

typedef bool (*is_known)(const name_list *files, const char *name);

/* .NAME.crc is the checksum of a known file. */
static bool is_checksum(is_known known, const name_list *files, const char *name) {
  char file[FW_TARGET_MAX_NAME + 1];
  const size_t length = strlen(name);
  if (name[0] != '.' || length > FW_TARGET_MAX_NAME || !ends_with(name, ".crc")) return false;
  memcpy(file, name + 1, length - 5);
  file[length - 5] = 0;
  return known(files, file);
}

static furrow_status check_entry(const char *folder, const char *name, is_known known, const name_list *files,
                                 furrow_error *err) {
  struct stat info;
  char *path;
  FW_TRY(fw_path_join(&path, folder, name, err));
  const bool there = fw_path_is_local(path) ? lstat(path, &info) == 0 : fw_path_stat(path, &info, NULL) == FURROW_OK;
  fw_free(path);
  if (!there) return refuse_overwrite(err, folder, name, "cannot be looked at, so the directory is not replaced");
  if (S_ISDIR(info.st_mode) && !fw_target_is_temporary(name))
    return refuse_overwrite(err, folder, name,
                            "a directory that does not belong to a model, so the directory around it is not replaced");
  if (S_ISDIR(info.st_mode) || known(files, name) || is_checksum(known, files, name)) return FURROW_OK;
  return refuse_overwrite(err, folder, name, "not part of a model, so the directory around it is not replaced");
}

static bool is_listed(const furrow_model_listing *listing, const char *name) {
  for (size_t i = 0; listing && i < listing->matrix_count; i++)
    if (strcmp(listing->matrices[i].name, name) == 0) return true;
  return false;
}

/* Checks everything in the folder except the matrices of the listing (may be NULL). */
static furrow_status check_folder(const char *folder, const furrow_model_listing *listing, is_known known,
                                  const name_list *files, furrow_error *err) {
  fw_dir_names names = {0};
  furrow_status status = fw_dir_names_read(&names, folder, NULL, NULL, err);
  for (size_t i = 0; i < names.count && status == FURROW_OK; i++)
    if (!is_listed(listing, names.names[i])) status = check_entry(folder, names.names[i], known, files, err);
  fw_dir_names_clear(&names);
  return status;
}

static furrow_status check_matrix(const char *folder, furrow_error *err) {
  furrow_matrix_meta *meta = NULL;
  const char **names = NULL;
  furrow_status status = furrow_matrix_meta_load(&meta, folder, NULL, err);
  if (status == FURROW_E_MEMORY) return status;
  if (status != FURROW_OK)
    return refuse_overwrite(err, folder, "",
                            "its metadata cannot be read, so it may not be a matrix and is not replaced");
  status = FW_ALLOC(&names, meta->part_count, err);
  if (status == FURROW_OK) {
    name_list files = {names, meta->part_count};
    for (size_t i = 0; i < files.count; i++) files.names[i] = meta->parts[i].file_name;
    if (files.count > 1) qsort(files.names, files.count, sizeof *files.names, compare_names);
    status = check_folder(folder, NULL, is_of_matrix, &files, err);
  }
  fw_free(names);
  furrow_matrix_meta_free(meta);
  return status;
}

furrow_status fw_model_check_overwrite(const char *path, furrow_error *err) {
  furrow_model_listing *listing;
  furrow_status status = furrow_model_listing_load(&listing, path, NULL);
  if (status == FURROW_E_MEMORY) return fw_fail_memory(err, 0);
  if (status != FURROW_OK)
    return refuse_overwrite(err, path, "", "neither a model nor a matrix nor empty, so it is not replaced");
  if (!listing->single) status = check_folder(path, listing, is_of_model, NULL, err);
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++)
    status = check_matrix(listing->matrices[i].folder, err);
  furrow_model_listing_free(listing);
  return status;
}

/* ---- Source and target --------------------------------------------------------------------------------- */

/* Resolves links. For a path that does not exist, resolves its directory and appends the name. Returns false if that
 * fails. */
static bool resolve_path(const char *path, char resolved[2 * PATH_MAX]) {
  char parent[PATH_MAX];
  size_t length = strlen(path);
  if (realpath(path, resolved)) return true;
  while (length > 1 && path[length - 1] == '/') length--;
  if (errno != ENOENT || length >= sizeof parent) return false;
  size_t name = length;
  while (name > 0 && path[name - 1] != '/') name--;
  memcpy(parent, path, name);
  strcpy(parent + name, name ? "" : ".");
  if (!realpath(parent, resolved)) return false;
  const size_t used = strlen(resolved);
  snprintf(resolved + used, 2 * PATH_MAX - used, "/%.*s", (int)(length - name), path + name);
  return true;
}

/* Whether a lies in b, at any depth. */
static bool lies_in(const char *a, const char *b) {
  const size_t n = strlen(b);
  return strncmp(a, b, n) == 0 && (a[n] == '/' || (n > 0 && b[n - 1] == '/' && a[n]));
}

furrow_status fw_check_path_overlap(const char *source, const char *target, furrow_error *err) {
  char from[2 * PATH_MAX], to[2 * PATH_MAX];
  if (!fw_path_is_local(source) || !fw_path_is_local(target)) {
    if (strcmp(source, target) == 0 || (!lies_in(target, source) && !lies_in(source, target))) return FURROW_OK;
  } else if (!resolve_path(source, from) || !resolve_path(target, to) || (!lies_in(to, from) && !lies_in(from, to)))
    return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "one of source and target lies in the other");
  fw_error_set_file(err, target);
  return FURROW_E_ARGUMENT;
}
