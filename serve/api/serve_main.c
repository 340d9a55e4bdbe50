/* serve/api/serve_main.c: the program furrow-serve: opens models and indexes, answers requests, looks for newer
 * versions, stops. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "api/documents.h"
#include "api/serve_settings.h"
#include "api/service.h"
#include "base/error.h"
#include "core/fail.h"
#include "core/shown_text.h"

/* ---- What is served ---- */

/* Splits NAME=REST at the first '='. */
static furrow_status find_named(const text_list *list, const char *name, const char **rest, furrow_error *err) {
  const size_t length = strlen(name);
  *rest = NULL;
  for (size_t i = 0; i < list->count; i++)
    if (strncmp(list->texts[i], name, length) == 0 && list->texts[i][length] == '=') {
      if (*rest) return fail_token(err, list->texts[i], "is given twice for one model");
      *rest = list->texts[i] + length + 1;
    }
  return FURROW_OK;
}

static furrow_status open_model(service *s, const serve_values *v, const char *text, furrow_error *err) {
  char name[SERVED_NAME];
  model_source source = {.name = name};
  reload_result result;
  FW_TRY(settings_split(text, name, &source.path, err));
  FW_TRY(find_named(&v->items, name, &source.items, err));
  FW_TRY(find_named(&v->seen, name, &source.seen, err));
  served_model *model = NULL;
  FW_TRY(served_model_create(&model, &source, s->threads, err));
  s->models[s->model_count++] = model;
  FW_TRY(served_model_reload(model, true, &result, err));
  if (result.is_older) tell_reload("model", name, FURROW_OK, &result, err);
  return FURROW_OK;
}

static furrow_status open_index(service *s, const serve_values *v, const char *text, furrow_error *err) {
  char name[SERVED_NAME];
  index_source source = {.name = name,
                         .search_only = v->search_only,
                         .max_fresh = v->max_fresh,
                         .checkpoint_after = v->checkpoint_after,
                         .checkpoint_seconds = (unsigned)ceil(v->checkpoint_seconds)};
  reload_result result;
  FW_TRY(settings_split(text, name, &source.path, err));
  for (size_t i = 0; i < v->writable.count; i++)
    if (strcmp(v->writable.texts[i], name) == 0) source.writable = true;
  served_index *index = NULL;
  FW_TRY(served_index_create(&index, &source, err));
  s->indexes[s->index_count++] = index;
  return served_index_reload(index, true, &result, err);
}

static furrow_status open_all(service *s, const serve_values *v, furrow_error *err) {
  furrow_status status = FURROW_OK;
  s->models = calloc(v->models.count + 1, sizeof *s->models);
  s->indexes = calloc(v->indexes.count + 1, sizeof *s->indexes);
  if (!s->models || !s->indexes) return fail_memory(err);
  for (size_t i = 0; i < v->models.count && status == FURROW_OK; i++)
    status = open_model(s, v, v->models.texts[i], err);
  for (size_t i = 0; i < v->indexes.count && status == FURROW_OK; i++)
    status = open_index(s, v, v->indexes.texts[i], err);
  return status;
}

/* Returns: whether the files of writable indexes have all changes. */
static bool close_all(service *s) {
  bool is_folded = true;
  for (size_t i = 0; i < s->model_count; i++) served_model_free(s->models[i]);
  for (size_t i = 0; i < s->index_count; i++) is_folded &= served_index_free(s->indexes[i]);
  free(s->models);
  free(s->indexes);
  access_log_end(s->access_log);
  access_clear(&s->access);
  return is_folded;
}

/* ---- Running ---- */

static void watched_signals(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGHUP);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGTERM);
}

/* Waits for a signal to stop. SIGHUP: new versions, and log files that were renamed. */
static void run_until_stopped(const service *s, watcher *w) {
  sigset_t set;
  int signal = 0;
  watched_signals(&set);
  while (signal != SIGINT && signal != SIGTERM) {
    if (sigwait(&set, &signal) != 0 || signal != SIGHUP) continue;
    access_log_reopen(s->access_log);
    watcher_ask(w);
  }
}

/* A second signal while requests are drained ends the program at once. */
static void stop_at_next_signal(void) {
  sigset_t set;
  watched_signals(&set);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void raise_file_limit(uint64_t connections) {
  struct rlimit limit;
  const rlim_t wanted = (rlim_t)connections + 256;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static unsigned processors(unsigned wanted) {
  cpu_set_t set;
  if (wanted > 0) return wanted;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static unsigned milliseconds(double seconds) {
  return seconds >= 4000000 ? 4000000000u : (unsigned)ceil(seconds * 1000);
}

static void set_up(service *s, const serve_values *v, http_settings *http) {
  s->limits = (service_limits){.max_body = v->max_body,
                               .max_rows = v->max_rows,
                               .max_results = v->max_results,
                               .max_queue = v->max_queue,
                               .request_ms = milliseconds(v->timeout)};
  s->loops = processors(v->threads);
  s->workers = processors(v->workers);
  s->waiters = 32;
  s->threads = s->loops + s->workers + s->waiters;
  s->started_at = (int64_t)time(NULL);
  s->ready_needs_writing = v->ready == READY_WRITABLE;
  *http = (http_settings){.listen = v->listen,
                          .loops = s->loops,
                          .max_connections = v->max_connections,
                          .max_memory = v->max_memory,
                          .idle_ms = milliseconds(v->idle_timeout),
                          .head_ms = milliseconds(v->timeout),
                          .body_ms = milliseconds(v->timeout),
                          .answer_ms = milliseconds(v->timeout),
                          .gzip_from = 1024};
}

/* Does not wait for a version that is still loading, but saves the changes of writable indexes. */
static void end_while_loading(service *s) {
  bool is_folded = true;
  for (size_t i = 0; i < s->index_count; i++)
    if (served_index_is_writable(s->indexes[i])) is_folded &= served_index_free(s->indexes[i]);
  say("furrow: stopped while a new version was being loaded\n");
  _exit(is_folded ? 0 : furrow_status_exit_code(FURROW_E_IO));
}

static furrow_status run_serve(const void *values, output *out, furrow_error *err) {
  serve_values *v = NULL;
  service s = {0};
  watcher *w = NULL;
  http_settings http;
  char address[128], *token = NULL;
  if (((const serve_values *)values)->version) {
    output_format(out, "furrow %s\n", furrow_version());
    return FURROW_OK;
  }
  furrow_status status = settings_load(&v, (const serve_values *)values, &token, err);
  if (status == FURROW_OK) status = access_init(&s.access, v, token, err);
  if (status == FURROW_OK) status = access_log_create(&s.access_log, v, err);
  if (status == FURROW_OK) {
    set_up(&s, v, &http);
    raise_file_limit(v->max_connections);
    status = open_all(&s, v, err);
  }
  if (status == FURROW_OK) status = service_start(&s, &http, err);
  if (status == FURROW_OK) status = watcher_start(&w, &s, v->watch_seconds, err);
  if (status == FURROW_OK) {
    http_server_address(s.server, address, sizeof address);
    output_format(out, "listening on %s\n", address);
    status = output_flush(out, err);
    access_log_begin(s.access_log); /* standard output begins with that line */
    run_until_stopped(&s, w);
    stop_at_next_signal();
  }
  if (s.server && !service_stop(&s, milliseconds(v->drain)))
    say("furrow: requests that did not end in time were cut off\n");
  if (!watcher_stop(w, 1000)) end_while_loading(&s);
  if (!close_all(&s) && status == FURROW_OK) {
    status = fail(err, FURROW_E_IO, "changes of a writable index are in its log, but not in its file");
    add_hint(err, "start the service again: it reads the log");
  }
  settings_free(v);
  return status;
}

static const command serve_command = {SERVE_COMMAND, .run = run_serve};
static const command *const verbs[] = {&serve_command, NULL};
static const command root = {.name = "furrow", .verbs = verbs};

/* glibc gives threads arenas of their own, eight for each processor, and keeps freed blocks of up to 32 MiB in them:
 * after reloads on different threads, all arenas kept parts of old models (45 MiB after 800 reloads of a small model,
 * 12 MiB with this). Now large blocks go back to the system at once, and there are as many arenas as running threads.
 */
static void limit_kept_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, (int)processors(0) + 1);
#endif
}

/* furrow-serve WORDS is furrow serve WORDS. Signals are blocked before the first thread starts, so that only
 * run_until_stopped sees them. */
int main(int argc, char **argv) {
  sigset_t set;
  char **words = calloc((size_t)argc + 2, sizeof *words);
  if (!words) return furrow_status_exit_code(FURROW_E_MEMORY);
  words[0] = "furrow";
  words[1] = "serve";
  for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
  limit_kept_memory();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  watched_signals(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  const int code = command_main(&root, argc + 1, words);
  free(words);
  return code;
}
