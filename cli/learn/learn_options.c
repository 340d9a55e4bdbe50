/* cli/learn/learn_options.c: the options of training: one for each key of the library, and -D for Angel's own names. */
#include "learn/learn_options.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"
#include "core/shown_text.h"

static const char *const keys[CONF_PATHS] = {"data", "valid", "save", "load", "encoder"};

/* ---- Paths of a configuration file: one path ---- */

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

/* Whether the links of a path stay inside of the current folder; for a path that does not exist yet, the links of the
 * folders above it. A dangling link counts as leading out: the program that creates the file would follow it. */
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

/* If data is a folder, its files are read, so they must stay inside as well. */
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

/* If data is a glob, all its matches are read, so they must stay inside as well. */
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

/* An escape may stand for any byte, so an argument with one is refused. */
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

/* ---- Paths of a configuration ----------------------------------------------------------------------------- */

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

/* ---- Options ---- */

option learn_options[LEARN_KEYS + 1];

/* Keys for which the command has its own options, and keys that only Angel's configurations set. */
static bool has_own_option(const char *name) {
  static const char *const own[] = {"algorithm", "data",   "valid",     "load",   "save",
                                    "format",    "action", "separator", "encoder"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(own[i], name) == 0) return true;
  return false;
}

/* Furrow's own default of a key for all algorithms; "by the model" if they differ, NULL: it is Angel's. */
static const char *own_default(const furrow_learn_key *key) {
  static const char *const algorithms[] = {"lr",  "svm", "linear",        "robust", "softmax", "mlr", "fm",
                                           "dnn", "ffm", "wide_and_deep", "deepfm", "pnn",     "nfm", "gbdt"};
  const char *own = furrow_learn_recommended("lr", key->name);
  for (size_t i = 1; i < sizeof algorithms / sizeof *algorithms; i++) {
    const char *other = furrow_learn_recommended(algorithms[i], key->name);
    if ((own == NULL) != (other == NULL) || (own && strcmp(own, other) != 0)) return "by the model";
  }
  return own;
}

/* "passes over the data (by the model; in a JSON file 30)" */
static const char *help_of(const furrow_learn_key *key) {
  static char texts[LEARN_KEYS][280];
  static size_t used;
  const char *own = own_default(key);
  if ((!key->fallback[0] && !own) || used == LEARN_KEYS) return key->help;
  if (own)
    snprintf(texts[used], sizeof texts[used], "%s (%s; in a JSON file %s)", key->help, own, key->fallback);
  else
    snprintf(texts[used], sizeof texts[used], "%s (%s)", key->help, key->fallback);
  return texts[used++];
}

static bool is_factors(const furrow_learn_key *key) {
  return strcmp(key->name, "rank") == 0;
}

/* Adds the options of key i. The key `rank` has two: --rank is Angel's word for the factors of an embedding, in a tree
 * where a rank is a process of a job. */
static size_t add_options(const furrow_learn_key *key, size_t i, size_t count) {
  const option named = {.name = key->name,
                        .kind = OPTION_TEXT,
                        .argument = key->value,
                        .help = help_of(key),
                        .offset = i * sizeof(const char *)};
  if (!is_factors(key)) {
    learn_options[count++] = named;
    return count;
  }
  learn_options[count] = named;
  learn_options[count].name = "factors";
  learn_options[count++].offset = offsetof(learn_values, factors);
  learn_options[count] = named;
  learn_options[count++].help = "the same as --factors, by the name that Angel uses";
  return count;
}

void learn_options_fill(void) {
  size_t count = 0;
  const furrow_learn_key *key;
  for (size_t i = 0; count + 1 < LEARN_KEYS && (key = furrow_learn_key_at(i)); i++)
    if (!has_own_option(key->name)) count = add_options(key, i, count);
}

/* ---- The configuration ---- */

const char *learn_value_at(const learn_values *values, size_t i) {
  return !values->texts[i] && is_factors(furrow_learn_key_at(i)) ? values->factors : values->texts[i];
}

static furrow_status set_texts(furrow_learn_conf *conf, const learn_values *values, furrow_error *err) {
  furrow_status status = FURROW_OK;
  const furrow_learn_key *key;
  for (size_t i = 0; status == FURROW_OK && i < LEARN_KEYS && (key = furrow_learn_key_at(i)); i++) {
    const char *text = learn_value_at(values, i), *factors = is_factors(key) ? values->factors : NULL;
    if (factors && strcmp(factors, text) != 0)
      status = fail_token(err, text, "--rank is another name of --factors, which is %s", factors);
    else if (text)
      status = furrow_learn_conf_set(conf, factors ? "factors" : key->name, text, err);
  }
  return status;
}

/* allow_paths: paths in a file that -D angel.ml.conf=FILE names may lead anywhere, too. */
static furrow_status define_one(learn_settings *settings, const char *text, bool allow_paths, furrow_error *err) {
  char key[128];
  const char *equals = strchr(text, '=');
  const size_t n = equals ? (size_t)(equals - text) : sizeof key;
  if (n == 0 || n >= sizeof key) return fail_token(err, text, "-D takes KEY=VALUE");
  memcpy(key, text, n);
  key[n] = 0;
  if (furrow_layer_formats_has_key(key)) return furrow_layer_formats_set(settings->formats, key, equals + 1, err);
  const furrow_status status = furrow_learn_conf_set(settings->conf, key, equals + 1, err);
  if (status != FURROW_OK || allow_paths || strcmp(key, "angel.ml.conf") != 0) return status;
  return conf_paths_take(&settings->paths, settings->conf, equals + 1, err);
}

furrow_status learn_settings_make(learn_settings *settings, const learn_origin *from, const learn_values *values,
                                  const text_list *define, furrow_error *err) {
  *settings = (learn_settings){0};
  furrow_status status = furrow_learn_conf_create(&settings->conf, err);
  if (status == FURROW_OK) status = furrow_layer_formats_create(&settings->formats, err);
  if (status == FURROW_OK && from->model) status = furrow_learn_conf_load_model(settings->conf, from->model, err);
  if (status == FURROW_OK && from->json) status = furrow_learn_conf_load(settings->conf, from->json, err);
  if (status == FURROW_OK && from->json && !from->allow_paths)
    status = conf_paths_take(&settings->paths, settings->conf, from->json, err);
  if (status == FURROW_OK && from->algorithm)
    status = furrow_learn_conf_set_algorithm(settings->conf, from->algorithm, err);
  if (status == FURROW_OK) status = set_texts(settings->conf, values, err);
  for (size_t i = 0; status == FURROW_OK && i < define->count; i++)
    status = define_one(settings, define->texts[i], from->allow_paths, err);
  if (status == FURROW_OK && !furrow_learn_conf_get(settings->conf, "encoder")[0])
    status = conf_paths_check(&settings->paths, "encoder", "-D encoder=DIR names another one", err);
  return status;
}

/* ---- Notes ---- */

static void print_ignored(const furrow_learn_conf *conf, bool changes_model, const char *what) {
  const char *key;
  bool changes = false, any = false;
  for (size_t i = 0; (key = furrow_learn_conf_ignored(conf, i, &changes)); i++) {
    if (changes != changes_model) continue;
    say("%s %s", any ? "," : what, key);
    any = true;
  }
  if (any) say("\n");
}

void learn_settings_print_notes(const learn_settings *settings) {
  print_ignored(settings->conf, false, "furrow: note: ignored:");
  print_ignored(settings->conf, true, "furrow: note: ignored, though they change the model in Angel:");
}

void learn_settings_clear(learn_settings *settings) {
  furrow_learn_conf_free(settings->conf);
  furrow_layer_formats_free(settings->formats);
  conf_paths_clear(&settings->paths);
  *settings = (learn_settings){0};
}
