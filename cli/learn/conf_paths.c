/* cli/learn/conf_paths.c: paths that a configuration file names, which are followed only below the current folder. */
#include "learn/conf_paths.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"

static const char *const keys[CONF_PATHS] = {"data", "valid", "save", "load", "encoder"};

/* ---- One path -------------------------------------------------------------------------------------------- */

static bool is_plain(const char *path) {
  if (path[0] == '/' || strstr(path, "://")) return false;
  for (const char *part = path; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0)) return false;
  }
  return true;
}

static bool is_below(const char *path, const char *folder) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0 || folder[length - 1] == '/');
}

/* Where links lead to: of a path that is not there yet, those of the folders above it. A link to nothing would be
 * followed by whatever creates the file, so it is not taken for a name that is free. */
static bool links_stay_inside(char *path) {
  char folder[PATH_MAX], real[PATH_MAX];
  struct stat info;
  if (!realpath(".", folder)) return false;
  for (;;) {
    if (realpath(path, real)) return is_below(real, folder);
    if (errno != ENOENT || lstat(path, &info) == 0) return false;
    char *slash = strrchr(path, '/');
    if (!slash) return true;
    *slash = 0;
  }
}

/* Data may be a folder: then its files are read. */
static bool entries_stay_inside(const char *folder) {
  DIR *handle = opendir(folder);
  bool inside = true;
  for (const struct dirent *entry; inside && handle && (entry = readdir(handle));) {
    char path[PATH_MAX];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    inside = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path && links_stay_inside(path);
  }
  if (handle) closedir(handle);
  return inside;
}

static bool name_stays_inside(const char *path) {
  char copy[PATH_MAX];
  snprintf(copy, sizeof copy, "%s", path);
  return links_stay_inside(copy) && entries_stay_inside(path);
}

/* Data may be a pattern: then whatever it fits is read. */
static bool matches_stay_inside(const char *pattern) {
  glob_t found = {0};
  bool inside = true;
  const int result = glob(pattern, GLOB_NOSORT, NULL, &found);
  for (size_t i = 0; inside && result == 0 && i < found.gl_pathc; i++) inside = name_stays_inside(found.gl_pathv[i]);
  globfree(&found);
  return inside && (result == 0 || result == GLOB_NOMATCH);
}

static bool part_stays_inside(const char *text, size_t size) {
  char path[PATH_MAX];
  if (size == 0) return true;
  if (size >= sizeof path) return false;
  memcpy(path, text, size);
  path[size] = 0;
  return is_plain(path) && name_stays_inside(path) && matches_stay_inside(path);
}

/* ---- path[;path]…[?key=value[&key=value]…][#cachefile] ---------------------------------------------------- */

/* An escape may stand for any byte: then nobody can tell. */
static bool argument_stays_inside(const char *text, size_t size) {
  static const char name[] = "encoder=";
  const size_t n = sizeof name - 1;
  if (size < n || memcmp(text, name, n) != 0) return true;
  return !memchr(text, '%', size) && part_stays_inside(text + n, size - n);
}

static bool list_stays_inside(const char *text, size_t size, const char *separator,
                              bool (*stays)(const char *, size_t)) {
  for (const char *end = text + size; text < end;) {
    const size_t left = (size_t)(end - text), n = strcspn(text, separator) < left ? strcspn(text, separator) : left;
    if (!stays(text, n)) return false;
    text += n < left ? n + 1 : n;
  }
  return true;
}

bool conf_path_stays_inside(const char *uri) {
  const size_t paths = strcspn(uri, "?#"), arguments = strcspn(uri, "#");
  if (!list_stays_inside(uri, paths, ";", part_stays_inside)) return false;
  if (!list_stays_inside(uri + paths, arguments - paths, "?&", argument_stays_inside)) return false;
  return !uri[arguments] || part_stays_inside(uri + arguments + 1, strlen(uri + arguments + 1));
}

/* ---- Those of a configuration ----------------------------------------------------------------------------- */

furrow_status conf_paths_take(conf_paths *paths, furrow_learn_conf *conf, const char *file, furrow_error *err) {
  paths->file = file;
  for (size_t i = 0; i < CONF_PATHS; i++) {
    const char *said = furrow_learn_conf_get(conf, keys[i]);
    if (!said || !said[0] || conf_path_stays_inside(said)) continue;
    free(paths->refused[i]); /* of another file */
    paths->refused[i] = strdup(said);
    if (!paths->refused[i]) return fail_memory(err);
    const furrow_status status = furrow_learn_conf_set(conf, keys[i], "", err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

furrow_status conf_paths_check(const conf_paths *paths, const char *key, const char *hint, furrow_error *err) {
  for (size_t i = 0; i < CONF_PATHS; i++) {
    if (strcmp(keys[i], key) != 0 || !paths->refused[i]) continue;
    fail_token(err, paths->refused[i], "the path of '%s' in this file leads out of the current folder", key);
    snprintf(err->file, sizeof err->file, "%s", paths->file);
    add_hint(err, "%s", hint);
    return FURROW_E_ARGUMENT;
  }
  return FURROW_OK;
}

void conf_paths_clear(conf_paths *paths) {
  for (size_t i = 0; i < CONF_PATHS; i++) free(paths->refused[i]);
  *paths = (conf_paths){0};
}
