/* serve/models/served_model.c: a model that is served: which version, when another one, what was refused. */
#include "models/served_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "core/fail.h"
#include "models/model_version.h"

/* A version as it was found. */
typedef struct version_mark {
  bool is_set;
  uint64_t number; /* number of the folder; 0: not numbered */
  file_print print;
} version_mark;

struct served_model {
  char *name, *path, *items, *seen;
  unsigned threads;
  slot current;           /* a model_version */
  atomic_int reloads;     /* calls of served_model_reload that load or wait */
  pthread_mutex_t reload; /* held while a version is loaded, and for what follows up to `tables` */
  version_mark served;
  version_mark *refused; /* one for each number */
  size_t refused_count, refused_capacity;
  file_print tables;          /* the items and the log that the version was loaded with */
  pthread_mutex_t error_lock; /* held for a moment */
  char error[1024];           /* error of the last reload; "": it went well */
};

/* ---- Making ---- */

static bool copy_text(char **copy, const char *text) {
  *copy = text ? strdup(text) : NULL;
  return !text || *copy;
}

furrow_status served_model_create(served_model **model, const model_source *source, unsigned threads,
                                  furrow_error *err) {
  served_model *m = calloc(1, sizeof *m);
  if (!m) return fail_memory(err);
  m->threads = threads;
  slot_init(&m->current);
  pthread_mutex_init(&m->reload, NULL);
  pthread_mutex_init(&m->error_lock, NULL);
  if (copy_text(&m->name, source->name) && copy_text(&m->path, source->path) && copy_text(&m->items, source->items) &&
      copy_text(&m->seen, source->seen)) {
    *model = m;
    return FURROW_OK;
  }
  served_model_free(m);
  return fail_memory(err);
}

void served_model_free(served_model *model) {
  if (!model) return;
  slot_clear(&model->current);
  pthread_mutex_destroy(&model->reload);
  pthread_mutex_destroy(&model->error_lock);
  free(model->name);
  free(model->path);
  free(model->items);
  free(model->seen);
  free(model->refused);
  free(model);
}

const char *served_model_name(const served_model *model) {
  return model->name;
}

model_version *served_model_get(served_model *model) {
  return (model_version *)slot_get(&model->current);
}

/* ---- Reloading ---- */

static bool is_marked(const version_mark *mark, const version_folder *folder) {
  return mark->is_set && mark->number == folder->number && file_print_equals(&mark->print, &folder->print);
}

static version_mark mark_of(const version_folder *folder) {
  return (version_mark){.is_set = true, .number = folder->number, .print = folder->print};
}

/* Loads with half of the processors; the others go on answering requests. */
static unsigned loading_threads(const served_model *m) {
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (!m->served.is_set) return 0;
  return processors > 2 ? (unsigned)processors / 2 : 1;
}

static uint64_t served_number(served_model *m) {
  model_version *v = served_model_get(m);
  const uint64_t number = v ? v->number : 0;
  if (v) shared_release(&v->shared);
  return number;
}

/* Of the table of items, FILE:COLUMN, and of the log. */
static file_print tables_print(const served_model *m) {
  const char *colon = m->items ? strrchr(m->items, ':') : NULL;
  char *file = colon ? strndup(m->items, (size_t)(colon - m->items)) : NULL;
  file_print print = {0};
  if (file) file_print_add_path(&print, file);
  if (m->seen) file_print_add_path(&print, m->seen);
  free(file);
  return print;
}

static furrow_status load_version(served_model *m, const version_folder *folder, furrow_error *err) {
  const model_source source = {.name = m->name, .path = m->path, .items = m->items, .seen = m->seen};
  const file_print tables = tables_print(m);
  model_version *v = NULL;
  FW_TRY(model_version_load(&v, &source, folder, loading_threads(m), m->threads, err));
  if (folder->number == 0) v->number = served_number(m) + 1;
  slot_set(&m->current, &v->shared);
  m->served = mark_of(folder);
  m->tables = tables;
  return FURROW_OK;
}

static version_mark *find_refused(const served_model *m, uint64_t number) {
  for (size_t i = 0; i < m->refused_count; i++)
    if (m->refused[i].number == number) return &m->refused[i];
  return NULL;
}

/* Without memory it is not remembered, and tried again. */
static void remember_refused(served_model *m, const version_folder *folder) {
  version_mark *mark = find_refused(m, folder->number);
  if (!mark && FW_GROW(&m->refused, &m->refused_capacity, m->refused_count + 1, NULL) == FURROW_OK)
    mark = &m->refused[m->refused_count++];
  if (mark) *mark = mark_of(folder);
}

static bool is_current(const served_model *m, const version_folder *folder) {
  const file_print tables = tables_print(m);
  return is_marked(&m->served, folder) && file_print_equals(&m->tables, &tables);
}

/* Tries the highest version `below` a number that is at least `least`. *number: what was found; 0: nothing, or a source
 * that is not numbered. */
static furrow_status try_version(served_model *m, uint64_t least, uint64_t below, bool force, uint64_t *number,
                                 furrow_error *err) {
  version_folder folder = {0};
  furrow_status status = version_folder_find(&folder, m->path, below, err);
  const bool is_found = (status == FURROW_OK || folder.number > 0) && folder.number >= least;
  *number = is_found ? folder.number : 0;
  if (!is_found && status == FURROW_OK) status = FURROW_E_NOT_FOUND;
  if (status == FURROW_OK && (force || !is_current(m, &folder))) status = load_version(m, &folder, err);
  if (status != FURROW_OK && is_found) remember_refused(m, &folder);
  free(folder.path);
  return status;
}

/* Loads the newest version that can be loaded and is not older than the served one. Returns the status of the newest of
 * all; what is served tells whether another one was loaded. */
static furrow_status reload_newest(served_model *m, bool force, furrow_error *err) {
  uint64_t number = 0;
  const furrow_status newest = try_version(m, 0, UINT64_MAX, force, &number, err);
  furrow_status status = newest;
  while (status != FURROW_OK && number > 1) {
    furrow_error older;
    status = try_version(m, m->served.number, number, force, &number, &older);
  }
  if (newest == FURROW_OK) m->refused_count = 0;
  return newest;
}

/* For files that do not belong to the model (a table of items), the text has only the last part of the path. */
void served_model_error_text(const served_model *model, const furrow_error *err, char *text, size_t size) {
  const size_t length = strlen(model->path);
  const char *slash = strrchr(err->file, '/'), *rest = slash ? slash + 1 : err->file;
  furrow_error shortened = *err;
  if (strncmp(err->file, model->path, length) == 0 && err->file[length] == '/') rest = err->file + length + 1;
  snprintf(shortened.file, sizeof shortened.file, "%s", rest);
  furrow_error_to_text(&shortened, text, size);
}

static void remember_error(served_model *m, furrow_status status, const furrow_error *err) {
  pthread_mutex_lock(&m->error_lock);
  m->error[0] = 0;
  if (status != FURROW_OK) served_model_error_text(m, err, m->error, sizeof m->error);
  pthread_mutex_unlock(&m->error_lock);
}

static furrow_status reload_locked(served_model *m, bool force, reload_result *result, furrow_error *err) {
  model_version *before = served_model_get(m);
  furrow_status status = reload_newest(m, force, err);
  remember_error(m, status, err);
  model_version *after = served_model_get(m);
  *result = (reload_result){.changed = after != before, .version = after ? after->number : 0};
  result->is_older = status != FURROW_OK && result->changed;
  if (before) shared_release(&before->shared);
  if (after) shared_release(&after->shared);
  return status;
}

/* One call loads, and one more waits, because its reason may have come too late for the first. Further calls would only
 * block threads. */
furrow_status served_model_reload(served_model *model, bool force, reload_result *result, furrow_error *err) {
  furrow_error own = {0};
  furrow_status status;
  if (atomic_fetch_add(&model->reloads, 1) >= 2) {
    *result = (reload_result){.version = served_number(model)};
    status = fail(&own, FURROW_E_STATE, "the model is being reloaded already");
  } else {
    pthread_mutex_lock(&model->reload);
    status = reload_locked(model, force, result, &own);
    pthread_mutex_unlock(&model->reload);
  }
  atomic_fetch_sub(&model->reloads, 1);
  if (status != FURROW_OK && err) *err = own;
  return result->is_older ? FURROW_OK : status;
}

/* Whether a version, of which the folder may not be readable, is neither served nor refused. */
static bool is_new(const served_model *m, const version_folder *folder) {
  const version_mark *refused = find_refused(m, folder->number);
  return !is_marked(&m->served, folder) && !(refused && is_marked(refused, folder));
}

/* Does not look while a version is being loaded. A lower number is not newer: after removing the highest folder, an
 * operator goes back with a reload. If versions were refused and removed, a reload clears the error. */
bool served_model_has_newer(served_model *model) {
  bool has_newer = false;
  uint64_t below = UINT64_MAX;
  if (pthread_mutex_trylock(&model->reload) != 0) return false;
  while (!has_newer && below > 1 && below > model->served.number) {
    version_folder folder = {0};
    furrow_error err;
    const bool is_found = version_folder_find(&folder, model->path, below, &err) == FURROW_OK || folder.number > 0;
    has_newer = is_found && folder.number >= model->served.number && is_new(model, &folder);
    if (is_found && below == UINT64_MAX && is_marked(&model->served, &folder)) has_newer = model->refused_count > 0;
    below = is_found ? folder.number : 0;
    free(folder.path);
  }
  pthread_mutex_unlock(&model->reload);
  return has_newer;
}

bool served_model_last_error(served_model *model, char *text, size_t size) {
  pthread_mutex_lock(&model->error_lock);
  const bool failed = model->error[0] != 0;
  if (failed) snprintf(text, size, "%s", model->error);
  pthread_mutex_unlock(&model->error_lock);
  return failed;
}
