/* serve/indexes/index_editor.c: changes a writable index: a thread that writes the log, and one that makes checkpoints.
 */
#include "indexes/index_editor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "core/fail.h"
#include "core/shown_text.h"
#include "indexes/attribute_texts.h"
#include "indexes/index_base.h"
#include "indexes/index_checkpoint.h"

enum {
  RETRY_SECONDS = 10, /* after a checkpoint that failed */
  REPAIR_SECONDS = 1  /* between attempts to write the log again */
};

/* A request that waits for the writer. It lives on the stack of its caller. */
typedef struct edit_job {
  const index_addition *addition; /* NULL: a removal of `ids` */
  const int64_t *ids;
  size_t n;
  int64_t *new_ids;
  uint64_t removed;
  furrow_status status;
  furrow_error *err;
  bool done;
  struct edit_job *next;
} edit_job;

struct index_editor {
  char *name, *path;
  size_t d;
  uint64_t max_fresh, checkpoint_after;
  unsigned checkpoint_seconds;
  bool search_only;
  bool normalizes; /* the index scales vectors to unit length */
  slot *views;     /* where views are published */

  pthread_mutex_t
      state; /* protects the members below: held for a batch of changes, and when a checkpoint begins or ends */
  index_base *base;
  fresh_vectors *fresh;
  fresh_view *working; /* view of all applied changes, including unpublished ones */
  change_log *log;
  furrow_file_lock *file_lock; /* lock of the index file: no other process changes it while it is served */
  file_print print;            /* identity of the index file */
  uint64_t next_id;            /* LOG_IDS_END: there are no larger ones */
  bool is_dirty;               /* `fresh` has changes that are not in the log */
  time_t repair_at;            /* when to try the log again */

  pthread_mutex_t lock; /* protects the members below */
  pthread_cond_t has_work, is_done;
  edit_job *first, **last;
  bool stops, writer_stopped;
  uint64_t pending;      /* changes that are not in the file */
  time_t pending_since;  /* when the first of them came */
  time_t not_before;     /* earliest time of the next automatic checkpoint after a failed one */
  pthread_cond_t checks; /* wakes the thread of checkpoints */
  uint64_t wanted, finished;
  furrow_status last_status; /* status of the last checkpoint */
  furrow_error last_error;
  furrow_error log_error; /* while is_broken */

  _Atomic bool is_broken; /* nothing is accepted until the log can be written again; set with `state` and `lock` */
  pthread_t writer, checkpointer;
  bool has_writer, has_checkpointer;
  _Atomic uint64_t fresh_count, hidden_count, log_bytes, additions, removals, checkpoints, failures, syncs,
      log_failures;
};

static time_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

static bool is_in_base(void *base, int64_t id) {
  return index_base_has(base, id);
}

/* Makes a view of the writer's state on the stack. */
static index_view working_view(const index_editor *e) {
  return (index_view){.base = e->base, .fresh = e->working};
}

static bool exists(const index_editor *e, int64_t id) {
  return fresh_view_vector(e->working, id) || (index_base_has(e->base, id) && !fresh_view_hides(e->working, id));
}

/* ---- Checking additions; with `state` held ---- */

/* Vectors that were replaced or removed keep their memory until the next checkpoint, so they count. */
static furrow_status check_capacity(const index_editor *e, size_t n, furrow_error *err) {
  const uint64_t waiting = e->working->stored + e->working->hidden_count;
  if (n > e->max_fresh)
    return fail(err, FURROW_E_RANGE, "more vectors than an index takes between two checkpoints, which is %llu",
                (unsigned long long)e->max_fresh);
  if (waiting + n <= e->max_fresh) return FURROW_OK;
  return fail(err, FURROW_E_MEMORY, "%llu changes wait already: no more are accepted until the next checkpoint",
              (unsigned long long)waiting);
}

/* Checks names with a set, which refuses texts that are not names, and duplicates. */
static furrow_status check_names(const index_editor *e, const index_addition *a, furrow_error *err) {
  furrow_id_names *set = NULL;
  if (!e->base->names && a->names) return fail(err, FURROW_E_ARGUMENT, "the ids of this index have no names");
  if (e->base->names && !a->names)
    return fail(err, FURROW_E_ARGUMENT, "the ids of this index have names: each vector needs one");
  if (!a->names) return FURROW_OK;
  FW_TRY(furrow_id_names_create(&set, err));
  furrow_status status = furrow_id_names_add(set, NULL, a->names, a->n, err);
  furrow_id_names_free(set);
  if (status == FURROW_E_EXISTS) status = err->status = FURROW_E_ARGUMENT;
  return status;
}

static furrow_status fail_exists(furrow_error *err, int64_t id) {
  fail(err, FURROW_E_EXISTS, "there is a vector with id %lld already", (long long)id);
  return add_hint(err, "\"replace\": true replaces the vector of such an id");
}

/* Chooses the id of the i-th vector: the given one, the id of its name, or the next free one. */
static furrow_status choose_id(const index_editor *e, const index_addition *a, size_t i, uint64_t *next, int64_t *id,
                               furrow_error *err) {
  const index_view view = working_view(e);
  int64_t named = -1;
  const bool is_known = a->names && index_view_find(&view, a->names[i], strlen(a->names[i]), &named);
  if (is_known && (!a->replace || (a->ids && a->ids[i] != named))) {
    fail_token(err, a->names[i], "the name already belongs to id %lld", (long long)named);
    return err->status = FURROW_E_EXISTS;
  }
  if (a->ids && !a->replace && exists(e, a->ids[i])) return fail_exists(err, a->ids[i]);
  if (!a->ids && !is_known && *next >= LOG_IDS_END)
    return fail(err, FURROW_E_RANGE, "the ids below 2^62 are used up: give ids");
  *id = a->ids ? a->ids[i] : is_known ? named : (int64_t)*next;
  if ((uint64_t)*id >= *next && (uint64_t)*id < LOG_IDS_END) *next = (uint64_t)*id + 1;
  return FURROW_OK;
}

/* ---- A log that cannot be written; with `state` held ---- */

/* Nothing is accepted until mend_log succeeds. */
static void break_log(index_editor *e, const furrow_error *err) {
  char text[1024];
  const bool is_new = !e->is_broken;
  pthread_mutex_lock(&e->lock);
  e->log_error = *err;
  e->is_broken = true;
  pthread_cond_signal(&e->has_work); /* the writer begins to try */
  pthread_mutex_unlock(&e->lock);
  e->repair_at = now() + REPAIR_SECONDS;
  if (!is_new) return;
  e->log_failures++;
  furrow_error_to_text(err, text, sizeof text);
  say("furrow: index %s: changes are refused until the log can be written: %s\n", e->name, text);
  if (err->hint[0]) say("hint: %s\n", err->hint);
}

/* Breaks the log after a step of a checkpoint, if that step has left it so. */
static void check_log(index_editor *e, const furrow_error *err) {
  if (!e->is_broken && change_log_has_failed(e->log)) break_log(e, err);
}

/* Forgets changes that were applied and could not be logged: goes back to what searches see. */
static furrow_status restore_fresh(index_editor *e, furrow_error *err) {
  index_view *published = (index_view *)slot_get(e->views);
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  furrow_status status = fresh_vectors_restore(published->fresh, is_in_base, e->base, &fresh, err);
  if (status == FURROW_OK) status = fresh_vectors_view(fresh, &view, err);
  shared_release(&published->shared);
  if (status != FURROW_OK) {
    fresh_vectors_free(fresh);
    return status;
  }
  shared_release(&e->working->shared);
  fresh_vectors_free(e->fresh);
  e->fresh = fresh;
  e->working = view;
  e->is_dirty = false;
  return FURROW_OK;
}

/* Tries to write the log again. */
static furrow_status mend_log(index_editor *e, furrow_error *err) {
  furrow_status status = change_log_repair(e->log, err);
  if (status == FURROW_OK && e->is_dirty) status = restore_fresh(e, err);
  if (status != FURROW_OK) {
    break_log(e, err);
    return status;
  }
  pthread_mutex_lock(&e->lock);
  e->is_broken = false;
  if (strcmp(e->last_error.message, e->log_error.message) == 0) e->last_status = FURROW_OK; /* its reason is gone */
  pthread_mutex_unlock(&e->lock);
  say("furrow: index %s: the log can be written again, changes are accepted\n", e->name);
  return FURROW_OK;
}

/* ---- The writer; with `state` held ---- */

/* Applies a change first and logs it then, so that the next one of the same batch sees it. */
static furrow_status apply_change(index_editor *e, const index_change *change, furrow_error *err) {
  fresh_view *view = NULL;
  FW_TRY(fresh_vectors_apply(e->fresh, change, is_in_base, e->base, &view, err));
  const furrow_status status = change_log_append(e->log, change, err);
  if (status != FURROW_OK) {
    e->is_dirty = true;
    break_log(e, err);
    shared_release(&view->shared);
    return status;
  }
  shared_release(&e->working->shared);
  e->working = view;
  return FURROW_OK;
}

/* Appends the attributes that an id has now. */
static void put_existing(const index_editor *e, int64_t id, fw_buffer *rows) {
  fresh_item item;
  const bool is_fresh = fresh_view_get(e->working, id, &item);
  if (is_fresh && item.attributes)
    fw_buffer_text(rows, item.attributes);
  else if (is_fresh || !fresh_view_hides(e->working, id))
    attribute_text_put(rows, e->base->attributes, id);
}

/* Lists the attributes that the ids have from now on: what the addition gives them, or else what they have. Free
 * *texts. */
static furrow_status list_attributes(const index_editor *e, const edit_job *job, fw_buffer *rows, const char ***texts) {
  const index_addition *a = job->addition;
  size_t at = 0;
  *texts = NULL;
  if (a->attributes && !e->base->attributes) {
    fail(job->err, FURROW_E_ARGUMENT, "the index has no attributes");
    return add_hint(job->err, "'furrow index attributes INDEX --set FILE' gives it columns");
  }
  if (!e->base->attributes) return FURROW_OK;
  const char **list = calloc(a->n, sizeof *list);
  if (!list) return fail_memory(job->err);
  for (size_t i = 0; i < a->n; i++) {
    if (a->attributes && a->attributes[i][0])
      fw_buffer_text(rows, a->attributes[i]);
    else
      put_existing(e, job->new_ids[i], rows);
    fw_buffer_append(rows, "", 1);
  }
  for (size_t i = 0; !rows->missing && i < a->n; i++, at += strlen(rows->bytes + at) + 1) list[i] = rows->bytes + at;
  *texts = list;
  return rows->missing ? fail_memory(job->err) : FURROW_OK;
}

static furrow_status add_vectors(index_editor *e, edit_job *job) {
  const index_addition *a = job->addition;
  uint64_t next = e->next_id;
  fw_buffer rows = {0};
  const char **texts = NULL;
  FW_TRY(check_names(e, a, job->err));
  FW_TRY(check_capacity(e, a->n, job->err));
  for (size_t i = 0; i < a->n; i++) FW_TRY(choose_id(e, a, i, &next, &job->new_ids[i], job->err));
  furrow_status status = list_attributes(e, job, &rows, &texts);
  const index_change change = {.kind = CHANGE_SET,
                               .n = a->n,
                               .ids = job->new_ids,
                               .vectors = a->vectors,
                               .names = a->names,
                               .attributes = texts};
  if (status == FURROW_OK) status = apply_change(e, &change, job->err);
  free(texts);
  fw_buffer_clear(&rows);
  if (status != FURROW_OK) return status;
  e->next_id = next;
  job->removed = 0;
  return FURROW_OK;
}

/* Removes ids. Unknown ids and duplicates are not counted. */
static furrow_status remove_ids(index_editor *e, edit_job *job) {
  size_t kept = 0;
  furrow_status status = FURROW_OK;
  int64_t *ids = calloc(job->n + 1, sizeof *ids);
  if (!ids) return fail_memory(job->err);
  if (job->n > 0) memcpy(ids, job->ids, job->n * sizeof *ids);
  const size_t count = sort_ids(ids, job->n);
  for (size_t i = 0; i < count; i++)
    if (exists(e, ids[i])) ids[kept++] = ids[i];
  if (kept > 0) status = apply_change(e, &(index_change){.kind = CHANGE_REMOVE, .n = kept, .ids = ids}, job->err);
  job->removed = kept;
  free(ids);
  return status;
}

static furrow_status work_on(index_editor *e, edit_job *job) {
  if (e->is_broken) {
    *job->err = e->log_error;
    job->err->hint[0] = 0; /* it is not for clients */
    return job->err->status;
  }
  return job->addition ? add_vectors(e, job) : remove_ids(e, job);
}

static void count_state(index_editor *e) {
  e->fresh_count = e->working->count;
  e->hidden_count = e->working->hidden_count;
  e->log_bytes = change_log_size(e->log);
}

/* Applies all waiting jobs with one sync (group commit); then searches see them. Returns the number of changes. */
static uint64_t work_on_all(index_editor *e, edit_job *jobs) {
  index_view *view = index_view_create(e->base, NULL);
  furrow_error err;
  uint64_t changes = 0, added = 0, removed = 0;
  const uint64_t next_id = e->next_id;
  for (edit_job *job = jobs; job; job = job->next) {
    job->status = view ? work_on(e, job) : fail_memory(job->err);
    if (job->status != FURROW_OK) continue;
    added += job->addition ? job->addition->n : 0;
    removed += job->removed;
  }
  changes = added + removed;
  const furrow_status status = changes > 0 ? change_log_sync(e->log, &err) : FURROW_OK;
  if (status == FURROW_OK && changes > 0) {
    shared_keep(&e->working->shared);
    view->fresh = e->working;
    slot_set(e->views, &view->shared);
    view = NULL;
    e->syncs++;
    e->additions += added;
    e->removals += removed;
  } else if (status != FURROW_OK) {
    e->is_dirty = true;
    e->next_id = next_id;
    changes = 0;
    break_log(e, &err);
    err.hint[0] = 0; /* it is not for clients */
  }
  for (edit_job *job = jobs; job && status != FURROW_OK; job = job->next)
    if (job->status == FURROW_OK) {
      job->status = status;
      *job->err = err;
    }
  if (view) shared_release(&view->shared);
  count_state(e);
  return changes;
}

/* Waits for jobs, and takes all of them; while the log is broken, at most until it is tried again. Returns false: the
 * editor stops. */
static bool take_jobs(index_editor *e, edit_job **jobs) {
  const struct timespec until = {.tv_sec = now() + REPAIR_SECONDS};
  int code = 0;
  pthread_mutex_lock(&e->lock);
  while (!e->first && !e->stops && code == 0)
    if (e->is_broken)
      code = pthread_cond_timedwait(&e->has_work, &e->lock, &until);
    else
      pthread_cond_wait(&e->has_work, &e->lock);
  *jobs = e->first;
  e->first = NULL;
  e->last = &e->first;
  const bool goes_on = *jobs || !e->stops;
  pthread_mutex_unlock(&e->lock);
  return goes_on;
}

static void finish_jobs(index_editor *e, edit_job *jobs, uint64_t changes) {
  pthread_mutex_lock(&e->lock);
  for (edit_job *job = jobs, *next; job; job = next) {
    next = job->next; /* its caller may return as soon as it is done */
    job->done = true;
  }
  if (e->pending == 0 && changes > 0) e->pending_since = now();
  e->pending += changes;
  if (e->pending == changes || e->pending >= e->checkpoint_after) pthread_cond_signal(&e->checks);
  pthread_cond_broadcast(&e->is_done);
  pthread_mutex_unlock(&e->lock);
}

static void *run_writer(void *argument) {
  index_editor *e = argument;
  edit_job *jobs;
  furrow_error err;
  while (take_jobs(e, &jobs)) {
    pthread_mutex_lock(&e->state);
    if (e->is_broken && now() >= e->repair_at) (void)!mend_log(e, &err);
    if (jobs) finish_jobs(e, jobs, work_on_all(e, jobs));
    pthread_mutex_unlock(&e->state);
  }
  return NULL;
}

static furrow_status wait_for(index_editor *e, edit_job *job) {
  pthread_mutex_lock(&e->lock);
  if (e->stops) {
    job->status = fail(job->err, FURROW_E_STATE, "the server stops");
  } else {
    *e->last = job;
    e->last = &job->next;
    pthread_cond_signal(&e->has_work);
    while (!job->done) pthread_cond_wait(&e->is_done, &e->lock);
  }
  pthread_mutex_unlock(&e->lock);
  return job->status;
}

furrow_status index_editor_add(index_editor *e, const index_addition *addition, int64_t *ids, furrow_error *err) {
  if (furrow_first_invalid_vector(addition->vectors, addition->n, e->d) < addition->n)
    return fail(err, FURROW_E_RANGE, "a vector has a number that is not finite or too large");
  if (addition->n == 0) return fail(err, FURROW_E_ARGUMENT, "there are no vectors");
  edit_job job = {.addition = addition, .new_ids = ids, .err = err};
  return wait_for(e, &job);
}

furrow_status index_editor_remove(index_editor *e, const int64_t *ids, size_t n, uint64_t *removed, furrow_error *err) {
  edit_job job = {.ids = ids, .n = n, .err = err};
  const furrow_status status = wait_for(e, &job);
  if (status == FURROW_OK) *removed = job.removed;
  return status;
}

/* ---- Checkpoints ---- */

/* The state that a checkpoint writes. */
typedef struct checkpoint {
  fresh_view *folded; /* NULL: there is nothing to do */
  uint64_t next_id;   /* next id of the index with these changes */
  uint64_t changes;   /* that it has */
} checkpoint;

static furrow_status begin_checkpoint(index_editor *e, checkpoint *c, furrow_error *err) {
  furrow_status status = FURROW_OK;
  *c = (checkpoint){0};
  pthread_mutex_lock(&e->state);
  pthread_mutex_lock(&e->lock);
  c->changes = e->pending;
  pthread_mutex_unlock(&e->lock);
  if (c->changes > 0) {
    if (e->is_broken) status = mend_log(e, err);
    if (status == FURROW_OK && !change_log_has_begun(e->log)) status = change_log_begin_checkpoint(e->log, err);
    if (status != FURROW_OK) check_log(e, err);
    if (status == FURROW_OK) {
      shared_keep(&e->working->shared);
      c->folded = e->working;
      c->next_id = e->next_id;
    }
  }
  pthread_mutex_unlock(&e->state);
  return status;
}

/* Continues with the first log; if that fails, the next checkpoint writes the changes of both. */
static void cancel_checkpoint(index_editor *e) {
  furrow_error err;
  pthread_mutex_lock(&e->state);
  if (change_log_has_begun(e->log) && change_log_cancel_checkpoint(e->log, &err) != FURROW_OK) check_log(e, &err);
  count_state(e);
  pthread_mutex_unlock(&e->state);
}

/* With `state` held: replaces the old base by the new one. Everything that can fail happens before the log drops its
 * records. */
static furrow_status switch_base(index_editor *e, index_base *base, const fresh_view *folded, furrow_error *err) {
  fresh_vectors *fresh = NULL;
  fresh_view *view = NULL;
  index_view *published = NULL;
  furrow_status status = fresh_vectors_rebase(e->fresh, folded, is_in_base, base, &fresh, err);
  if (status == FURROW_OK) status = fresh_vectors_view(fresh, &view, err);
  if (status == FURROW_OK && !(published = index_view_create(base, view))) status = fail_memory(err);
  if (status == FURROW_OK && (status = change_log_end_checkpoint(e->log, err)) != FURROW_OK) check_log(e, err);
  if (status != FURROW_OK) {
    if (published) shared_release(&published->shared);
    if (view) shared_release(&view->shared);
    fresh_vectors_free(fresh);
    return status;
  }
  slot_set(e->views, &published->shared);
  shared_release(&e->working->shared);
  shared_release(&e->base->shared);
  fresh_vectors_free(e->fresh);
  shared_keep(&base->shared);
  e->base = base;
  e->fresh = fresh;
  e->working = view;
  count_state(e);
  return FURROW_OK;
}

/* With `state` held. A store with changes that could not be logged, or one that has replaced it since, does not know
 * what came after `folded`. */
static furrow_status check_fresh(const index_editor *e, const fresh_view *folded, furrow_error *err) {
  if (!e->is_dirty && folded->store == e->working->store) return FURROW_OK;
  return fail(err, FURROW_E_IO, "the log of changes could not be written while the index file was");
}

static furrow_status finish_checkpoint(index_editor *e, const checkpoint *c, furrow_error *err) {
  index_base *base = NULL;
  file_print loaded;
  FW_TRY(index_base_load(&base, e->path, e->search_only, true, e->base->number + 1, &loaded, err));
  pthread_mutex_lock(&e->state);
  furrow_status status = check_fresh(e, c->folded, err);
  if (status == FURROW_OK && !file_print_equals(&loaded, &e->print))
    status = fail(err, FURROW_E_STATE, "another program has changed the index file");
  if (status == FURROW_OK) status = switch_base(e, base, c->folded, err);
  pthread_mutex_unlock(&e->state);
  shared_release(&base->shared);
  return status;
}

static furrow_status make_checkpoint(index_editor *e, furrow_error *err) {
  checkpoint c;
  FW_TRY(begin_checkpoint(e, &c, err));
  if (!c.folded) return FURROW_OK;
  furrow_status status = index_fold(e->path, c.folded, c.next_id, &e->print, err);
  if (status == FURROW_OK) status = finish_checkpoint(e, &c, err);
  if (status != FURROW_OK) cancel_checkpoint(e);
  shared_release(&c.folded->shared);
  pthread_mutex_lock(&e->lock);
  if (status == FURROW_OK) {
    e->pending -= c.changes < e->pending ? c.changes : e->pending;
    e->pending_since = now();
    e->checkpoints++;
  }
  pthread_mutex_unlock(&e->lock);
  return status;
}

static void tell_failure(index_editor *e, const furrow_error *err) {
  char text[1024];
  furrow_error_to_text(err, text, sizeof text);
  say("furrow: index %s: the checkpoint failed, changes stay in the log: %s\n", e->name, text);
}

/* With `lock` held. Whether a checkpoint is due; if not, *until is when to look again (0: when something changes). */
static bool is_due(const index_editor *e, time_t *until) {
  const time_t time_now = now();
  *until = 0;
  if (e->wanted > e->finished) return true;
  if (e->pending == 0) return false;
  if (e->writer_stopped) return true;
  if (e->not_before > time_now) {
    *until = e->not_before;
    return false;
  }
  if (e->pending >= e->checkpoint_after) return true;
  *until = e->pending_since + (time_t)e->checkpoint_seconds;
  return e->checkpoint_seconds > 0 && time_now >= *until;
}

/* Waits for a reason to make a checkpoint. false: the editor ends. *is_last: no changes can come after it. */
static bool wait_until_due(index_editor *e, uint64_t *ticket, bool *is_last) {
  time_t until;
  bool due;
  pthread_mutex_lock(&e->lock);
  while (!(due = is_due(e, &until)) && !e->writer_stopped) {
    const struct timespec at = {.tv_sec = until};
    if (until > 0)
      pthread_cond_timedwait(&e->checks, &e->lock, &at);
    else
      pthread_cond_wait(&e->checks, &e->lock);
  }
  *ticket = e->wanted;
  *is_last = e->writer_stopped;
  pthread_mutex_unlock(&e->lock);
  return due;
}

static void *run_checkpoints(void *argument) {
  index_editor *e = argument;
  uint64_t ticket;
  bool is_last = false;
  setpriority(PRIO_PROCESS, (id_t)gettid(), 10); /* of this thread: searches come first */
  while (!is_last && wait_until_due(e, &ticket, &is_last)) {
    furrow_error err = {0};
    const furrow_status status = make_checkpoint(e, &err);
    if (status != FURROW_OK) {
      e->failures++;
      tell_failure(e, &err);
    }
    pthread_mutex_lock(&e->lock);
    e->finished = ticket;
    e->last_status = status;
    e->last_error = err;
    e->not_before = status == FURROW_OK ? 0 : now() + RETRY_SECONDS;
    pthread_cond_broadcast(&e->is_done);
    pthread_mutex_unlock(&e->lock);
  }
  return NULL;
}

furrow_status index_editor_checkpoint(index_editor *e, furrow_error *err) {
  pthread_mutex_lock(&e->lock);
  furrow_status status = e->stops ? fail(err, FURROW_E_STATE, "the server stops") : FURROW_OK;
  if (status == FURROW_OK) {
    const uint64_t ticket = ++e->wanted;
    pthread_cond_signal(&e->checks);
    while (e->finished < ticket) pthread_cond_wait(&e->is_done, &e->lock);
    status = e->last_status;
    if (status != FURROW_OK) *err = e->last_error;
  }
  pthread_mutex_unlock(&e->lock);
  return status;
}

void index_error_text(const furrow_error *err, char *text, size_t size) {
  furrow_error copy = *err;
  const char *slash = strrchr(copy.file, '/');
  if (slash) memmove(copy.file, slash + 1, strlen(slash));
  furrow_error_to_text(&copy, text, size);
}

bool index_editor_last_error(index_editor *e, char *text, size_t size) {
  pthread_mutex_lock(&e->lock);
  const bool has_one = e->is_broken || e->last_status != FURROW_OK;
  if (has_one) index_error_text(e->is_broken ? &e->log_error : &e->last_error, text, size);
  pthread_mutex_unlock(&e->lock);
  return has_one;
}

void index_editor_get_figures(index_editor *e, edit_figures *figures) {
  *figures = (edit_figures){.fresh = e->fresh_count,
                            .removed = e->hidden_count,
                            .log_bytes = e->log_bytes,
                            .additions = e->additions,
                            .removals = e->removals,
                            .checkpoints = e->checkpoints,
                            .failures = e->failures,
                            .syncs = e->syncs,
                            .refuses = e->is_broken,
                            .log_failures = e->log_failures};
}

/* ---- Beginning and end ---- */

/* Checks that the log has names if and only if the index has: otherwise it could not be folded. */
static furrow_status check_log_names(const index_editor *e, const index_change *change, furrow_error *err) {
  if (change->names && !e->base->names) {
    fail_in(err, FURROW_E_STATE, e->path, "its log has names of ids, but the index has no file of names");
    return add_hint(err, "restore %s.names, which belongs to the index", e->path);
  }
  if (change->kind == CHANGE_SET && !change->names && e->base->names) {
    fail_in(err, FURROW_E_STATE, e->path, "its log has ids without names, but the index has a file of names");
    return add_hint(err, "move %s.names away; when the log is folded, 'furrow index names --set' gives all ids names",
                    e->path);
  }
  return FURROW_OK;
}

/* Checks that the file has the columns of the attributes in the log. */
static furrow_status check_log_attributes(const index_editor *e, const index_change *change, furrow_error *err) {
  furrow_attributes *scratch = NULL;
  int64_t *ids = NULL;
  if (!change->attributes) return FURROW_OK;
  furrow_status status = FURROW_E_FORMAT;
  if (e->base->attributes) {
    ids = malloc(change->n * sizeof *ids); /* an id may come twice in a change */
    for (size_t i = 0; ids && i < change->n; i++) ids[i] = (int64_t)i;
    status = ids ? furrow_attributes_create(&scratch, err) : fail_memory(err);
    if (status == FURROW_OK)
      status = attribute_texts_set(scratch, e->base->attributes, ids, change->attributes, change->n, err);
    furrow_attributes_free(scratch);
    free(ids);
  }
  if (status != FURROW_E_FORMAT) return status;
  fail_in(err, FURROW_E_STATE, e->path, "its log has attributes that do not fit the columns of the index's attributes");
  return add_hint(err, "restore %s.attributes, which belongs to the index", e->path);
}

static furrow_status replay(void *user, const index_change *change, furrow_error *err) {
  index_editor *e = user;
  FW_TRY(check_log_names(e, change, err));
  FW_TRY(check_log_attributes(e, change, err));
  e->pending += change->n;
  return fresh_vectors_apply(e->fresh, change, is_in_base, e->base, NULL, err);
}

/* Checks that the file is still the loaded one: the server that held the log before may have written it since. */
static furrow_status check_same_file(const index_editor *e, furrow_error *err) {
  file_print print;
  FW_TRY(index_print_get(&print, e->path, err));
  if (file_print_equals(&print, &e->print)) return FURROW_OK;
  fail_in(err, FURROW_E_STATE, e->path, "the file was changed while it was loaded");
  return add_hint(err, "start the server again");
}

static furrow_status open_log(index_editor *e, furrow_error *err) {
  uint64_t cut = 0;
  const furrow_index_info *info = &e->base->info;
  FW_TRY(fresh_vectors_create(&e->fresh, (uint32_t)info->d, info->metric, e->normalizes, err));
  FW_TRY(furrow_file_lock_open(&e->file_lock, e->path, err));
  FW_TRY(change_log_open(&e->log, e->path, (uint32_t)info->d, replay, e, &cut, err));
  const int64_t next = furrow_index_next_id(e->base->index);
  const uint64_t after_base = next >= 0 ? (uint64_t)next : LOG_IDS_END, after_log = change_log_next_id(e->log);
  e->next_id = after_base > after_log ? after_base : after_log;
  if (cut > 0)
    say("furrow: index %s: the last %llu bytes of the log were cut off: they are not a whole record. After a crash "
        "they are of changes that were not acknowledged; if the server did not crash, the end of the log is "
        "damaged, and its last changes are lost.\n",
        e->name, (unsigned long long)cut);
  e->pending_since = now();
  FW_TRY(check_same_file(e, err));
  FW_TRY(fresh_vectors_view(e->fresh, &e->working, err));
  count_state(e);
  return FURROW_OK;
}

static furrow_status publish(index_editor *e, furrow_error *err) {
  index_view *view = index_view_create(e->base, e->working);
  if (!view) return fail_memory(err);
  slot_set(e->views, &view->shared);
  return FURROW_OK;
}

static furrow_status start_threads(index_editor *e, furrow_error *err) {
  e->has_writer = pthread_create(&e->writer, NULL, run_writer, e) == 0;
  e->has_checkpointer = e->has_writer && pthread_create(&e->checkpointer, NULL, run_checkpoints, e) == 0;
  return e->has_checkpointer ? FURROW_OK : fail(err, FURROW_E_IO, "a thread cannot be started");
}

static void init_locks(index_editor *e) {
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&e->state, NULL);
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->has_work, &clock);
  pthread_cond_init(&e->is_done, NULL);
  pthread_cond_init(&e->checks, &clock);
  pthread_condattr_destroy(&clock);
}

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

furrow_status index_editor_start(index_editor **editor, const index_source *source, index_base *base,
                                 const file_print *loaded, slot *views, furrow_error *err) {
  bool normalizes = false;
  FW_TRY(index_check_editable(source->path, base, &normalizes, err));
  index_editor *e = calloc(1, sizeof *e);
  if (!e) return fail_memory(err);
  init_locks(e);
  shared_keep(&base->shared);
  e->base = base;
  e->name = strdup(source->name);
  e->path = strdup(source->path);
  e->d = (size_t)base->info.d;
  e->max_fresh = source->max_fresh;
  e->checkpoint_after =
      smaller(source->checkpoint_after > 0 ? source->checkpoint_after : UINT64_MAX, source->max_fresh / 2 + 1);
  e->search_only = source->search_only;
  e->normalizes = normalizes;
  e->checkpoint_seconds = source->checkpoint_seconds;
  e->views = views;
  e->print = *loaded;
  e->last = &e->first;
  furrow_status status = e->name && e->path ? open_log(e, err) : fail_memory(err);
  if (status == FURROW_OK) status = publish(e, err);
  if (status == FURROW_OK) status = start_threads(e, err);
  if (status == FURROW_OK)
    *editor = e;
  else
    index_editor_stop(e);
  return status;
}

static void signal_stop(index_editor *e, bool *flag) {
  pthread_mutex_lock(&e->lock);
  *flag = true;
  pthread_cond_broadcast(&e->has_work);
  pthread_cond_broadcast(&e->checks);
  pthread_mutex_unlock(&e->lock);
}

bool index_editor_stop(index_editor *e) {
  if (!e) return true;
  signal_stop(e, &e->stops);
  if (e->has_writer) pthread_join(e->writer, NULL);
  signal_stop(e, &e->writer_stopped);
  if (e->has_checkpointer) pthread_join(e->checkpointer, NULL);
  const bool is_folded = e->pending == 0;
  change_log_close(e->log);
  furrow_file_lock_close(e->file_lock);
  if (e->working) shared_release(&e->working->shared);
  fresh_vectors_free(e->fresh);
  shared_release(&e->base->shared);
  pthread_mutex_destroy(&e->state);
  pthread_mutex_destroy(&e->lock);
  pthread_cond_destroy(&e->has_work);
  pthread_cond_destroy(&e->is_done);
  pthread_cond_destroy(&e->checks);
  free(e->name);
  free(e->path);
  free(e);
  return is_folded;
}
