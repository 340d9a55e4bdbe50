/* serve/indexes/served_index.c: an index that is served: its base, reloads, and the editor of a writable one. */
#include "indexes/served_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "core/fail.h"
#include "indexes/change_log.h"
#include "indexes/fresh_vectors.h"
#include "indexes/index_base.h"
#include "indexes/index_editor.h"

struct served_index {
  index_source source; /* with copies of its texts */
  slot view;
  pthread_mutex_t reloading; /* one reload at a time */
  pthread_mutex_t lock;      /* protects the members below */
  file_print served, refused;
  bool refused_by_log;  /* it was not the file that was refused */
  uint64_t version;     /* the last one that was served */
  char *last_error;     /* NULL: the last reload went well */
  index_editor *editor; /* NULL: not writable, or not loaded yet; it is set once */
};

furrow_status served_index_create(served_index **index, const index_source *source, furrow_error *err) {
  served_index *made = calloc(1, sizeof *made);
  char *name = strdup(source->name), *path = strdup(source->path);
  if (!made || !name || !path) {
    free(made);
    free(name);
    free(path);
    return fail_memory(err);
  }
  made->source = *source;
  made->source.name = name;
  made->source.path = path;
  slot_init(&made->view);
  pthread_mutex_init(&made->reloading, NULL);
  pthread_mutex_init(&made->lock, NULL);
  *index = made;
  return FURROW_OK;
}

bool served_index_free(served_index *index) {
  if (!index) return true;
  const bool is_folded = index_editor_stop(index->editor);
  slot_clear(&index->view);
  pthread_mutex_destroy(&index->reloading);
  pthread_mutex_destroy(&index->lock);
  free(index->last_error);
  free((char *)index->source.name);
  free((char *)index->source.path);
  free(index);
  return is_folded;
}

const char *served_index_name(const served_index *index) {
  return index->source.name;
}

bool served_index_is_writable(const served_index *index) {
  return index->source.writable;
}

index_view *served_index_get(served_index *index) {
  return (index_view *)slot_get(&index->view); /* its first member */
}

/* ---- The log of an index that is not writable ---- */

static furrow_status fail_log(const served_index *index, const char *path, furrow_error *err) {
  fail_in(err, FURROW_E_STATE, path, "the log has changes that are not in the index file, so they would not be found");
  return add_hint(err, "serve it with --writable %s, which folds them into the file, or remove the log",
                  index->source.name);
}

/* Fails if a log has changes that a writable server has acknowledged but not written to the file, whether it still runs
 * or not. */
static furrow_status check_log(const served_index *index, const char *file, const char *ending, furrow_error *err) {
  struct stat found;
  char *path = NULL;
  if (asprintf(&path, "%s%s", file, ending) < 0) return fail_memory(err);
  furrow_status status = FURROW_OK;
  if (stat(path, &found) == 0) {
    if (found.st_size > LOG_HEADER) status = fail_log(index, path, err);
  } else if (errno != ENOENT && errno != ENOTDIR) {
    status = fail_file(err, FURROW_E_IO, path, "cannot look for a log of changes", errno);
  }
  free(path);
  return status;
}

/* Logs are in the folder of the file itself, not in the folder of a link to it. */
static furrow_status check_logs(const served_index *index, furrow_error *err) {
  if (index->source.writable) return FURROW_OK;
  char *file = realpath(index->source.path, NULL);
  if (!file) return fail_file(err, FURROW_E_IO, index->source.path, "cannot be resolved", errno);
  furrow_status status = check_log(index, file, ".log", err);
  if (status == FURROW_OK) status = check_log(index, file, ".log.next", err);
  free(file);
  return status;
}

/* ---- Reloading ---- */

static bool is_served(served_index *index, const file_print *print) {
  pthread_mutex_lock(&index->lock);
  const bool is = index->version > 0 && file_print_equals(&index->served, print);
  pthread_mutex_unlock(&index->lock);
  return is;
}

/* A file that was moved away counts as new once: its fingerprint is all 0. So does one that came back. */
bool served_index_has_newer(served_index *index) {
  file_print print = {0};
  furrow_error err;
  if (index->source.writable) return false;
  if (index_print_get(&print, index->source.path, &err) != FURROW_OK) print = (file_print){0};
  pthread_mutex_lock(&index->lock);
  const bool is_refused = index->last_error && file_print_equals(&print, &index->refused);
  const bool is_served = !index->last_error && file_print_equals(&print, &index->served);
  const bool by_log = index->refused_by_log;
  pthread_mutex_unlock(&index->lock);
  /* A log may disappear without a change of the file, for example at the end of a checkpoint. */
  return !is_served && (!is_refused || (by_log && check_logs(index, &err) == FURROW_OK));
}

/* Keeps the result of a load, for has_newer and last_error. */
static void remember(served_index *index, furrow_status status, const file_print *print, bool by_log,
                     const furrow_error *err) {
  char text[1024] = "";
  if (status != FURROW_OK) index_error_text(err, text, sizeof text);
  pthread_mutex_lock(&index->lock);
  free(index->last_error);
  index->refused_by_log = by_log;
  index->last_error = status == FURROW_OK ? NULL : strdup(text);
  if (status == FURROW_OK)
    index->served = *print;
  else
    index->refused = *print;
  pthread_mutex_unlock(&index->lock);
}

static furrow_status publish(served_index *index, index_base *base, furrow_error *err) {
  index_view *view = index_view_create(base, NULL);
  if (!view) return fail_memory(err);
  slot_set(&index->view, &view->shared);
  return FURROW_OK;
}

/* Refuses an index that has lost its file of names or attributes: searches with them would fail. */
static furrow_status check_names(served_index *index, const index_base *base, furrow_error *err) {
  index_view *view = served_index_get(index);
  const bool loses = view && view->base->names && !base->names;
  const bool loses_attributes = view && view->base->attributes && !base->attributes;
  if (view) shared_release(&view->shared);
  if (loses_attributes) {
    fail_in(err, FURROW_E_STATE, index->source.path, "the served ids have attributes, the ids in the file do not");
    return add_hint(err, "put its file of attributes back, or start the server again to serve the index without them");
  }
  if (!loses) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, index->source.path, "the served ids have names, the ids in the file do not");
  return add_hint(err, "put its file of names back, or start the server again to serve the index without names");
}

/* Whether two paths lead to the same file, or both to none. */
static bool are_same(const char *a, const char *b) {
  struct stat x, y;
  const bool has_x = stat(a, &x) == 0, has_y = stat(b, &y) == 0;
  return has_x == has_y && (!has_x || (x.st_ino == y.st_ino && x.st_dev == y.st_dev));
}

/* Fails if a link and the file that it leads to have different files of names or attributes next to them. */
static furrow_status check_same_companion(const char *path, const char *file, const char *what, furrow_error *err) {
  char *other = NULL, *linked = NULL;
  furrow_status status = FURROW_OK;
  if (asprintf(&other, "%s.%s", file, what) < 0) other = NULL;
  if (asprintf(&linked, "%s.%s", path, what) < 0) linked = NULL;
  if (!other || !linked) {
    status = fail_memory(err);
  } else if (!are_same(other, linked)) {
    fail_in(err, FURROW_E_STATE, path, "it leads to %s, which does not have the same file of %s", file, what);
    status = add_hint(err, "serve a writable index by the path of the file itself");
  }
  free(other);
  free(linked);
  return status;
}

/* Resolves symbolic links: the log and its lock belong to the file, so that two servers that use different paths
 * exclude each other. The names and attributes next to a link must be those next to the file, because a checkpoint
 * writes the latter. */
static furrow_status resolve(const char *path, char **file, furrow_error *err) {
  *file = realpath(path, NULL);
  if (!*file) return fail_file(err, FURROW_E_IO, path, "cannot be resolved", errno);
  FW_TRY(check_same_companion(path, *file, "names", err));
  return check_same_companion(path, *file, "attributes", err);
}

static furrow_status load_file(served_index *index, const index_source *source, file_print *print, furrow_error *err) {
  index_base *base = NULL;
  furrow_status status =
      index_base_load(&base, source->path, source->search_only, source->writable, index->version + 1, print, err);
  if (status != FURROW_OK) return status;
  if (source->writable) {
    status = index_editor_start(&index->editor, source, base, print, &index->view, err);
  } else {
    status = check_names(index, base, err);
    if (status == FURROW_OK) status = publish(index, base, err);
  }
  if (status == FURROW_OK) index->version++;
  shared_release(&base->shared);
  return status;
}

static furrow_status load_base(served_index *index, file_print *print, furrow_error *err) {
  if (!index->source.writable) return load_file(index, &index->source, print, err);
  index_source source = index->source;
  char *file = NULL;
  furrow_status status = resolve(source.path, &file, err);
  source.path = file;
  if (status == FURROW_OK) status = load_file(index, &source, print, err);
  free(file);
  return status;
}

/* With `reloading` held. */
static furrow_status reload(served_index *index, bool force, bool *changed, furrow_error *err) {
  file_print print = {0};
  if (index->source.writable && index->version > 0)
    return fail(err, FURROW_E_STATE, "a writable index is not reloaded: the server itself writes its file");
  furrow_status status = index_print_get(&print, index->source.path, err);
  bool by_log = false;
  if (status == FURROW_OK) {
    status = check_logs(index, err);
    by_log = status != FURROW_OK;
  }
  *changed = status == FURROW_OK && (force || !is_served(index, &print));
  if (*changed) status = load_base(index, &print, err);
  *changed = *changed && status == FURROW_OK;
  remember(index, status, &print, by_log, err);
  return status;
}

furrow_status served_index_reload(served_index *index, bool force, reload_result *result, furrow_error *err) {
  bool changed = false;
  pthread_mutex_lock(&index->reloading);
  const furrow_status status = reload(index, force, &changed, err);
  index_view *view = served_index_get(index);
  *result = (reload_result){.changed = changed, .version = view ? view->base->number : 0};
  if (view) shared_release(&view->shared);
  pthread_mutex_unlock(&index->reloading);
  return status;
}

bool served_index_last_error(served_index *index, char *text, size_t size) {
  if (index->editor && index_editor_last_error(index->editor, text, size)) return true;
  pthread_mutex_lock(&index->lock);
  const bool has_one = index->last_error != NULL;
  if (has_one && size > 0) {
    strncpy(text, index->last_error, size - 1);
    text[size - 1] = 0;
  }
  pthread_mutex_unlock(&index->lock);
  return has_one;
}

/* ---- Changes ---- */

static furrow_status check_writable(const served_index *index, furrow_error *err) {
  if (index->editor) return FURROW_OK;
  fail(err, FURROW_E_STATE, "index %s is not writable", index->source.name);
  return add_hint(err, "start the server with --writable %s", index->source.name);
}

furrow_status served_index_add(served_index *index, const index_addition *addition, int64_t *ids, furrow_error *err) {
  FW_TRY(check_writable(index, err));
  return index_editor_add(index->editor, addition, ids, err);
}

furrow_status served_index_remove(served_index *index, const int64_t *ids, size_t n, uint64_t *removed,
                                  furrow_error *err) {
  FW_TRY(check_writable(index, err));
  return index_editor_remove(index->editor, ids, n, removed, err);
}

furrow_status served_index_checkpoint(served_index *index, furrow_error *err) {
  FW_TRY(check_writable(index, err));
  return index_editor_checkpoint(index->editor, err);
}

void served_index_get_figures(served_index *index, edit_figures *figures) {
  *figures = (edit_figures){0};
  if (index->editor) index_editor_get_figures(index->editor, figures);
}
