/* cli/core/written.c: checks of the files that a command writes, before anything is read or written. */
#include "core/written.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/ranks.h"
#include "core/text_file.h"
#include "furrow/io.h"

/* ---- One file ------------------------------------------------------------------------------------------- */

furrow_status written_check_path(const char *path, bool force, furrow_error *err) {
  struct stat found;
  if (path_is_named(path)) { /* the server is asked now, not only after all the work */
    const furrow_status status = furrow_file_check(path, force, err);
    return status == FURROW_E_EXISTS ? add_hint(err, "--force replaces it") : status;
  }
  if (stat(path, &found) != 0) return FURROW_OK;
  if (!S_ISREG(found.st_mode))
    return fail_file(err, FURROW_E_ARGUMENT, path, "not a regular file, so it cannot be replaced", 0);
  if (force) return FURROW_OK;
  fail_file(err, FURROW_E_EXISTS, path, "exists already", 0);
  return add_hint(err, "--force replaces it");
}

static furrow_status fail_is_read(const char *path, furrow_error *err) {
  return fail_file(err, FURROW_E_ARGUMENT, path, "cannot be written: this command reads it", 0);
}

furrow_status written_check_apart(const char *path, const char *input, furrow_error *err) {
  struct stat target, other;
  if (!path || !input || stat(path, &target) != 0) return FURROW_OK;
  if ((strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &other) : stat(input, &other)) != 0) return FURROW_OK;
  if (target.st_dev != other.st_dev || target.st_ino != other.st_ino) return FURROW_OK;
  return fail_is_read(path, err);
}

/* ---- Two paths ------------------------------------------------------------------------------------------ */

/* The placeholder of a value in the help; for operands it is their name. */
static const char *value_name(const option *o) {
  return o->argument ? o->argument : o->name;
}

/* Rows are read from all files of a folder. */
static bool names_rows(const option *o) {
  return strstr(value_name(o), "URI") || strstr(value_name(o), "LOG");
}

static bool names_files(const option *o) {
  const char *name = o->argument;
  if (o->kind != OPTION_TEXT && o->kind != OPTION_LIST) return false;
  return !name || names_rows(o) || strstr(name, "FILE") || strstr(name, "DIR") || strstr(name, "IDS") ||
         strstr(name, "USERS");
}

/* The same name in the same folder; the files need not be there. */
static bool is_same_name(const char *a, const char *b) {
  char of_a[PATH_MAX], of_b[PATH_MAX];
  struct stat x, y;
  const char *name = path_folder(a, of_a, sizeof of_a);
  return strcmp(name, path_folder(b, of_b, sizeof of_b)) == 0 && stat(of_a, &x) == 0 && stat(of_b, &y) == 0 &&
         x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Whether a name can be a file of a model; a model directory may also contain other files. */
static bool is_model_file(const char *name) {
  return strchr(name, '/') || !strchr(name, '.') || strcmp(name, "graph.json") == 0 ||
         strcmp(name, "furrow.json") == 0 || strcmp(name, "schema.json") == 0 || strcmp(name, "dictionary.furrow") == 0;
}

static bool is_inside(const char *path, const char *folder, bool model) {
  char file[PATH_MAX], top[PATH_MAX];
  if (!realpath(path, file) || !realpath(folder, top)) return false;
  const size_t n = strlen(top);
  return strncmp(file, top, n) == 0 && file[n] == '/' && (!model || is_model_file(file + n + 1));
}

static furrow_status check_path(const char *path, const option *o, const char *other, furrow_error *err) {
  if (strncmp(other, "file://", 7) == 0) other += 7;
  furrow_status status = written_check_apart(path, other, err);
  if (status == FURROW_OK && is_inside(path, other, o && !names_rows(o))) status = fail_is_read(path, err);
  if (o && o->written && (status != FURROW_OK || is_same_name(path, other)))
    status = fail_token(err, path, "two kinds of results cannot be written to the same file");
  return status;
}

/* ---- All of them ---------------------------------------------------------------------------------------- */

static furrow_status check_pattern(const char *path, const option *o, const char *pattern, furrow_error *err) {
  glob_t found = {0};
  furrow_status status = FURROW_OK;
  if (glob(pattern, GLOB_NOCHECK, NULL, &found) != 0) return check_path(path, o, pattern, err);
  for (size_t i = 0; status == FURROW_OK && i < found.gl_pathc; i++)
    status = check_path(path, o, found.gl_pathv[i], err);
  globfree(&found);
  return status;
}

/* The text as a whole, and its parts: path;path?key=value#cache, FILE=COLUMN. */
static furrow_status check_text(const char *path, const option *o, const char *text, furrow_error *err) {
  char part[PATH_MAX];
  furrow_status status = check_pattern(path, o, text, err);
  while (status == FURROW_OK && *text) {
    const size_t n = strcspn(text, "&=;?#");
    snprintf(part, sizeof part, "%.*s", (int)n, text);
    status = check_pattern(path, o, part, err);
    text += n + (text[n] != 0);
  }
  return status;
}

furrow_status written_check_uri(const char *path, const char *uri, furrow_error *err) {
  return path && uri ? check_text(path, NULL, uri, err) : FURROW_OK;
}

/* The file that an option writes. */
typedef struct written {
  const command *cmd;
  const char *values;
  const option *option;
  const char *path;
} written;

typedef furrow_status check_option(written *w, const option *o, const void *value, furrow_error *err);

static furrow_status check_table(written *w, const option *table, const char *values, check_option *call,
                                 furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (const option *o = table; status == FURROW_OK && o && o->name; o++)
    if (names_files(o)) status = call(w, o, values + o->offset, err);
  return status;
}

static furrow_status check_all(written *w, check_option *call, furrow_error *err) {
  furrow_status status = check_table(w, w->cmd->operands, w->values, call, err);
  for (const option_group *group = w->cmd->groups; status == FURROW_OK && group && group->title; group++)
    if (group->options != query_options) /* they fill no field of the command's struct */
      status = check_table(w, group->options, w->values + group->offset, call, err);
  return status;
}

static furrow_status compare_path(written *w, const option *o, const void *value, furrow_error *err) {
  const text_list *list = value;
  const char *const *texts = o->kind == OPTION_LIST ? list->texts : value;
  const size_t count = o->kind == OPTION_LIST ? list->count : *texts != NULL;
  furrow_status status = FURROW_OK;
  for (size_t i = 0; status == FURROW_OK && o != w->option && i < count; i++)
    status = check_text(w->path, o, texts[i], err);
  return status;
}

static furrow_status compare_with_all(written *w, const option *o, const void *value, furrow_error *err) {
  w->option = o;
  w->path = *(const char *const *)value;
  if (!o->written || !w->path || strcmp(w->path, "-") == 0 || strcmp(value_name(o), "DIR") == 0) return FURROW_OK;
  return check_all(w, compare_path, err);
}

/* Rank 0 sees the files; the others may not. */
furrow_status written_check(const command *cmd, const void *values, furrow_error *err) {
  written w = {.cmd = cmd, .values = values};
  const furrow_status status = ranks_number() == 0 ? check_all(&w, compare_with_all, err) : FURROW_OK;
  return cmd->on_all_ranks ? ranks_all_ok(status, err) : status;
}
