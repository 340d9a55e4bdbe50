/* io/fileset.c: turns a list of paths (files, directories, globs) into a list of files, with their offsets in one
 * run of bytes. */
#include "io/fileset.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "columns/typed_columns.h"
#include "io/dir_names.h"
#include "io/file_system.h"
#include "io/stream.h"

/* ---- lists of files ---- */

/* A growing list of files; all zeros is empty. */
typedef struct file_list {
  fw_file *files;
  size_t nfiles, capacity;
} file_list;

/* Appends a file; copies the path. */
static furrow_status file_list_add(file_list *list, const char *path, fw_file_kind kind, uint64_t size,
                                   int64_t mtime_ns, furrow_error *err) {
  furrow_status status = FW_GROW(&list->files, &list->capacity, list->nfiles + 1, err);
  fw_file file = {.kind = kind, .size = size, .mtime_ns = mtime_ns};
  if (status == FURROW_OK) status = fw_strndup(&file.path, path, strlen(path), err);
  if (status == FURROW_OK) list->files[list->nfiles++] = file;
  return status;
}

static void file_list_clear(file_list *list) {
  for (size_t i = 0; i < list->nfiles; i++) fw_free(list->files[i].path);
  fw_free(list->files);
  *list = (file_list){0};
}

static furrow_status fail_path(furrow_error *err, furrow_status status, const char *path, const char *what) {
  fw_fail(err, status, "%s", what);
  fw_error_set_file(err, path);
  return status;
}

/* A link that leads nowhere is an error, because it stands for missing data. */
static bool is_dangling(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

static furrow_status fail_dangling(furrow_error *err, const char *path) {
  return fail_path(err, FURROW_E_NOT_FOUND, path, "a symbolic link that leads nowhere");
}

/* ---- lists of paths ---- */

typedef struct path_list {
  char **paths;
  size_t npaths, capacity;
} path_list;

static void paths_clear(path_list *list) {
  for (size_t i = 0; i < list->npaths; i++) fw_free(list->paths[i]);
  fw_free(list->paths);
  *list = (path_list){0};
}

/* Appends a + b. */
static furrow_status paths_add(path_list *list, const char *a, size_t na, const char *b, size_t nb, furrow_error *err) {
  furrow_status status = FW_GROW(&list->paths, &list->capacity, list->npaths + 1, err);
  if (status != FURROW_OK) return status;
  char *path;
  status = FW_ALLOC(&path, na + nb + 1, err);
  if (status != FURROW_OK) return status;
  memcpy(path, a, na);
  memcpy(path + na, b, nb);
  path[na + nb] = 0;
  list->paths[list->npaths++] = path;
  return FURROW_OK;
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Compares bytes, whatever the locale: the order of rows must not depend on the machine. */
static void paths_sort(path_list *list) {
  if (list->npaths > 1) qsort(list->paths, list->npaths, sizeof *list->paths, compare_paths);
}

/* ---- directories ---- */

/* Names .x and _x match only a pattern that begins with the same character: one rule for directories (no pattern)
 * and globs. */
static bool is_wanted(void *user, const char *name) {
  const char *pattern = user;
  if ((name[0] == '.' || name[0] == '_') && (!pattern || pattern[0] != name[0])) return false;
  return !pattern || fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

/* Appends prefix + name for the wanted names of the directory `prefix`, which is "" or ends in a slash. With a
 * pattern, a prefix that is not a directory has no names: a glob may find files where it looks for directories. */
static furrow_status list_names(path_list *list, const char *prefix, const char *pattern, furrow_error *err) {
  fw_dir_names names = {0};
  furrow_status status = fw_dir_names_read(&names, prefix[0] ? prefix : ".", is_wanted, (void *)pattern, err);
  if (status == FURROW_E_NOT_FOUND && pattern) status = FURROW_OK;
  for (size_t i = 0; i < names.count && status == FURROW_OK; i++)
    status = paths_add(list, prefix, strlen(prefix), names.names[i], strlen(names.names[i]), err);
  fw_dir_names_clear(&names);
  return status;
}

/* ---- globs ---- */

static bool is_glob(const char *path) {
  return strpbrk(path, "*?[") != NULL;
}

/* The length of the leading components of a pattern that are plain text, including the slash after them. */
static size_t plain_length(const char *pattern) {
  const char *sign = strpbrk(pattern, "*?[");
  if (!sign) return strlen(pattern);
  while (sign > pattern && sign[-1] != '/') sign--;
  return (size_t)(sign - pattern);
}

/* Replaces each path by its continuations: the plain text, then the names that match `component` ("": no names). */
static furrow_status extend_paths(path_list *list, const char *plain, size_t length, const char *component,
                                  furrow_error *err) {
  path_list longer = {0}, prefixes = {0};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < list->npaths && status == FURROW_OK; i++)
    status = paths_add(&prefixes, list->paths[i], strlen(list->paths[i]), plain, length, err);
  for (size_t i = 0; component[0] && i < prefixes.npaths && status == FURROW_OK; i++)
    status = list_names(&longer, prefixes.paths[i], component, err);
  if (status == FURROW_OK) {
    path_list *result = component[0] ? &longer : &prefixes, old = *list;
    *list = *result;
    *result = old;
  }
  paths_clear(&longer);
  paths_clear(&prefixes);
  return status;
}

/* Returns the paths that a pattern may mean. A path whose last components are plain text need not exist. */
static furrow_status expand_glob(path_list *list, const char *pattern, furrow_error *err) {
  furrow_status status = paths_add(list, "", 0, "", 0, err);
  while (*pattern && status == FURROW_OK) {
    size_t plain = plain_length(pattern), length = strcspn(pattern + plain, "/");
    char *component;
    status = fw_strndup(&component, pattern + plain, length, err);
    if (status != FURROW_OK) return status;
    status = extend_paths(list, pattern, plain, component, err);
    fw_free(component);
    pattern += plain + length;
  }
  paths_sort(list);
  return status;
}

/* ---- files of a path ---- */

/* Whether it is called a Parquet file, which a damaged one is, too, or begins as one: with letters that a text may
 * begin with as well, and then with bytes that no text has. */
static bool is_parquet(const char *path, const unsigned char *head, size_t size) {
  static const char ending[] = ".parquet";
  const size_t length = strlen(path), n = sizeof ending - 1;
  if (length > n && strcmp(path + length - n, ending) == 0) return true;
  if (size < 4 || memcmp(head, "PAR1", 4) != 0) return false;
  for (size_t i = 4; i < size; i++)
    if (head[i] >= 0x80 || (head[i] < 0x20 && (head[i] < '\t' || head[i] > '\r'))) return true;
  return false;
}

static furrow_status add_regular(file_list *list, const char *path, const struct stat *info, furrow_error *err) {
  unsigned char head[FW_CODEC_HEAD];
  size_t got = 0;
  fw_input *input = NULL;
  furrow_status status = fw_input_open(&input, path, err);
  if (status != FURROW_OK) return status;
  status = fw_input_read_at(input, head, sizeof head, 0, &got, err);
  fw_input_close(input);
  fw_file_kind kind = FW_FILE_COLUMNS;
  if (status == FURROW_OK && !is_parquet(path, head, got)) status = fw_codec_detect(&kind, head, got, path, err);
  if (status != FURROW_OK) return status;
  if (info->st_size == 0 && got > 0)
    kind = FW_FILE_PIPE; /* as in /proc: stat does not report its size, so it is read to its end */
  int64_t mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
  return file_list_add(list, path, kind, (uint64_t)info->st_size, mtime_ns, err);
}

/* Appends the regular files among the paths and counts the directories in *directories. A path that vanished is
 * skipped; a link that leads nowhere is an error, because it stands for missing data. */
static furrow_status add_files(file_list *list, const path_list *paths, size_t *directories, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < paths->npaths && status == FURROW_OK; i++) {
    const char *path = paths->paths[i];
    struct stat info;
    status = fw_path_stat(path, &info, err);
    if (status == FURROW_OK) {
      *directories += S_ISDIR(info.st_mode);
      if (S_ISREG(info.st_mode)) status = add_regular(list, path, &info, err);
    } else if (status == FURROW_E_NOT_FOUND && !is_dangling(path)) {
      status = FURROW_OK;
    } else if (status == FURROW_E_NOT_FOUND) {
      status = fail_dangling(err, path);
    }
  }
  return status;
}

static furrow_status fail_empty(furrow_error *err, const char *path, size_t directories) {
  const furrow_status status =
      fail_path(err, FURROW_E_NOT_FOUND, path,
                directories ? "the directory has no files, only directories" : "the directory has no files");
  if (directories) fw_error_set_hint(err, "DIR/*/* names the files in them");
  return status;
}

static furrow_status fail_folders(furrow_error *err, const char *pattern) {
  const furrow_status status = fail_path(err, FURROW_E_NOT_FOUND, pattern, "only directories match");
  fw_error_set_hint(err, "add /* for their files");
  return status;
}

static furrow_status add_directory(file_list *list, const char *path, furrow_error *err) {
  path_list names = {0}, prefix = {0};
  size_t before = list->nfiles, directories = 0, length = strlen(path);
  furrow_status status = paths_add(&prefix, path, length, "/", path[length - 1] == '/' ? 0 : 1, err);
  if (status == FURROW_OK) status = list_names(&names, prefix.paths[0], NULL, err);
  if (status == FURROW_OK) {
    paths_sort(&names);
    status = add_files(list, &names, &directories, err);
  }
  if (status == FURROW_OK && list->nfiles == before) status = fail_empty(err, path, directories);
  paths_clear(&names);
  paths_clear(&prefix);
  return status;
}

static furrow_status fail_absent(furrow_error *err, const char *path) {
  if (strstr(path, ".*") || strstr(path, ".+")) {
    const furrow_status status = fail_path(err, FURROW_E_NOT_FOUND, path, "no file matches");
    fw_error_set_hint(err, "paths are globs, not regular expressions: write * for .*");
    return status;
  }
  return fail_path(err, FURROW_E_NOT_FOUND, path, is_glob(path) ? "no file matches" : "no such file or directory");
}

static furrow_status add_glob(file_list *list, const char *pattern, furrow_error *err) {
  path_list paths = {0};
  size_t before = list->nfiles, directories = 0;
  furrow_status status = expand_glob(&paths, pattern, err);
  if (status == FURROW_OK) status = add_files(list, &paths, &directories, err);
  if (status == FURROW_OK && list->nfiles == before)
    status = directories ? fail_folders(err, pattern) : fail_absent(err, pattern);
  paths_clear(&paths);
  return status;
}

/* A pattern may be longer than any path can be, so an error of stat is not an error here. */
static furrow_status find_absent(file_list *list, const char *path, furrow_error *err) {
  if (is_dangling(path)) return fail_dangling(err, path);
  return is_glob(path) ? add_glob(list, path, err) : fail_absent(err, path);
}

/* Appends a file, the files of a directory or the matches of a glob, from this machine or another file system.
 * E_NOT_FOUND if there are none. Errors name the path. */
static furrow_status find_files(file_list *list, const char *path, furrow_error *err) {
  struct stat info;
  if (!path[0]) return fail_path(err, FURROW_E_ARGUMENT, path, "an empty path");
  furrow_status status = fw_path_stat(path, &info, err);
  if (status == FURROW_E_NOT_FOUND || (status == FURROW_E_IO && is_glob(path) && strlen(path) >= NAME_MAX))
    return find_absent(list, path, err);
  if (status != FURROW_OK) return status;
  switch (info.st_mode & S_IFMT) {
  case S_IFREG: return add_regular(list, path, &info, err);
  case S_IFDIR: return add_directory(list, path, err);
  case S_IFSOCK: return fail_path(err, FURROW_E_UNSUPPORTED, path, "a socket is not a file to read");
  default: return file_list_add(list, path, FW_FILE_PIPE, 0, 0, err);
  }
}

/* ---- files of a list of paths ---- */

static furrow_status add_stdin(file_list *list, furrow_error *err) {
  for (size_t i = 0; i < list->nfiles; i++)
    if (strcmp(list->files[i].path, "-") == 0)
      return fw_fail(err, FURROW_E_ARGUMENT, "standard input is named twice but can be read only once");
  return file_list_add(list, "-", FW_FILE_PIPE, 0, 0, err);
}

/* Adds a table in memory; *found says whether there is one. */
static furrow_status add_table(file_list *list, const char *path, bool *found, furrow_error *err) {
  fw_memory_entry *entry = NULL;
  FW_TRY(fw_memory_hold(path, FW_MEMORY_TABLE, &entry, err));
  *found = entry != NULL;
  if (!entry) return FURROW_OK;
  const fw_columns *columns = fw_memory_thing(entry);
  const furrow_status status = file_list_add(list, path, FW_FILE_COLUMNS, 1 + fw_columns_rows(columns), 0, err);
  if (status == FURROW_OK) list->files[list->nfiles - 1].once = fw_columns_is_query(columns);
  fw_memory_let_go(entry);
  return status;
}

static furrow_status add_path(file_list *list, const char *path, furrow_error *err) {
  if (strcmp(path, "-") == 0 || strcmp(path, "stdin") == 0) return add_stdin(list, err);
  bool table = false;
  FW_TRY(add_table(list, path, &table, err));
  if (table) return FURROW_OK;
  FW_TRY(fw_path_to_read(&path, err));
  return find_files(list, path, err);
}

/* Lays the files end to end. The file system reports their sizes, so the sum may overflow (sparse files). */
static furrow_status place_files(file_list *list, uint64_t *total, furrow_error *err) {
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
  file_list list = {0};
  uint64_t total = 0;
  furrow_status status = FURROW_OK;
  if (npaths == 0) return fw_fail(err, FURROW_E_ARGUMENT, "no path is given");
  for (size_t i = 0; i < npaths && status == FURROW_OK; i++) status = add_path(&list, paths[i], err);
  if (status == FURROW_OK) status = place_files(&list, &total, err);
  if (status != FURROW_OK) {
    file_list_clear(&list);
    return status;
  }
  *set = (fw_fileset){.files = list.files, .nfiles = list.nfiles, .size = total};
  return FURROW_OK;
}

void fw_fileset_clear(fw_fileset *set) {
  file_list list = {.files = set->files, .nfiles = set->nfiles};
  file_list_clear(&list);
  *set = (fw_fileset){0};
}
