/* serve/api/service.c: the threads that serve, and their memory. */
#include "api/service.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "api/documents.h"
#include "core/fail.h"
#include "http/json_put.h"

enum { KEPT_BYTES = 1 << 18 }; /* of each part of a thread's memory, between requests */

furrow_json *thread_json(thread_memory *memory) {
  if (!memory->json && furrow_json_create(&memory->json, NULL) != FURROW_OK) return NULL;
  return memory->json;
}

furrow_container *thread_rows(thread_memory *memory) {
  if (!memory->rows && furrow_container_create(&memory->rows, FURROW_KEY_U64, FURROW_VALUE_F32, NULL) != FURROW_OK)
    return NULL;
  if (memory->rows) furrow_container_clear(memory->rows);
  return memory->rows;
}

/* Frees the reader and the rows, which are as large as their largest request. */
static void free_readers(thread_memory *memory) {
  furrow_json_free(memory->json);
  furrow_container_free(memory->rows);
  memory->json = NULL;
  memory->rows = NULL;
}

void thread_memory_trim(thread_memory *memory, size_t body_size) {
  buffer_recycle(&memory->text, KEPT_BYTES);
  buffer_recycle(&memory->numbers, KEPT_BYTES);
  buffer_recycle(&memory->results, KEPT_BYTES);
  buffer_recycle(&memory->attributes, KEPT_BYTES);
  if (body_size > KEPT_BYTES) free_readers(memory);
}

static void free_memory(service *s) {
  for (unsigned i = 0; s->memory && i < s->threads; i++) {
    thread_memory *memory = &s->memory[i];
    free_readers(memory);
    fw_buffer_clear(&memory->text);
    fw_buffer_clear(&memory->numbers);
    fw_buffer_clear(&memory->results);
    fw_buffer_clear(&memory->attributes);
  }
  free(s->memory);
  s->memory = NULL;
}

furrow_status service_start(service *s, const http_settings *http, furrow_error *err) {
  http_hooks hooks;
  router_hooks(s, &hooks);
  s->memory = calloc(s->threads, sizeof *s->memory);
  s->metrics = metrics_create(s->loops, s->model_count + s->index_count);
  furrow_status status = s->memory && s->metrics ? FURROW_OK : fail_memory(err);
  for (unsigned i = 0; s->memory && i < s->threads; i++) s->memory[i].thread = i;
  if (status == FURROW_OK)
    status = work_queue_start(&s->work, s->workers, s->loops, s->limits.max_queue, router_work, s, err);
  if (status == FURROW_OK)
    status = work_queue_start(&s->waiting, s->waiters, s->loops + s->workers, s->limits.max_queue, router_work, s, err);
  if (status == FURROW_OK) status = http_server_start(&s->server, http, &hooks, err);
  if (status != FURROW_OK) service_stop(s, 0);
  return status;
}

bool service_stop(service *s, unsigned drain_ms) {
  atomic_store(&s->draining, true);
  const bool in_time = !s->server || http_server_stop(s->server, drain_ms);
  work_queue_stop(s->work);
  work_queue_stop(s->waiting);
  http_server_free(s->server);
  metrics_free(s->metrics);
  free_memory(s);
  s->server = NULL;
  s->work = s->waiting = NULL;
  s->metrics = NULL;
  return in_time;
}

/* ---- Watcher ---- */

struct watcher {
  service *service;
  unsigned seconds;
  pthread_t thread;
  pthread_mutex_t lock; /* protects the members below */
  pthread_cond_t changed;
  bool is_asked, stops;
};

/* ---- Watcher: reloading ---- */

/* asked: a signal asked for it, so models and indexes without a newer version are reloaded, too. */
static void reload_all(service *s, bool asked) {
  for (size_t i = 0; i < s->model_count; i++) {
    furrow_error err = {0};
    reload_result result = {0};
    if (!asked && !served_model_has_newer(s->models[i])) continue;
    furrow_status status = served_model_reload(s->models[i], false, &result, &err);
    tell_reload("model", served_model_name(s->models[i]), status, &result, &err);
  }
  for (size_t i = 0; i < s->index_count; i++) {
    furrow_error err = {0};
    reload_result result = {0};
    if (served_index_is_writable(s->indexes[i]) || (!asked && !served_index_has_newer(s->indexes[i]))) continue;
    furrow_status status = served_index_reload(s->indexes[i], false, &result, &err);
    tell_reload("index", served_index_name(s->indexes[i]), status, &result, &err);
  }
}

/* ---- Watcher: its thread ---- */

static struct timespec after(uint64_t ms) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += (time_t)(ms / 1000);
  t.tv_nsec += (long)(ms % 1000) * 1000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

/* Waits until it is time to look, or until the watcher is asked to. Returns false: it stops. */
static bool wait_for_reason(watcher *w, bool *is_asked) {
  const struct timespec until = after((uint64_t)w->seconds * 1000);
  int code = 0;
  pthread_mutex_lock(&w->lock);
  while (!w->is_asked && !w->stops && code != ETIMEDOUT)
    code = w->seconds > 0 ? pthread_cond_timedwait(&w->changed, &w->lock, &until)
                          : pthread_cond_wait(&w->changed, &w->lock);
  *is_asked = w->is_asked;
  w->is_asked = false;
  const bool goes_on = !w->stops;
  pthread_mutex_unlock(&w->lock);
  return goes_on;
}

static void *run_watcher(void *argument) {
  watcher *w = argument;
  bool is_asked;
  while (wait_for_reason(w, &is_asked)) reload_all(w->service, is_asked);
  return NULL;
}

furrow_status watcher_start(watcher **made, service *s, unsigned seconds, furrow_error *err) {
  watcher *w = calloc(1, sizeof *w);
  if (!w) return fail_memory(err);
  w->service = s;
  w->seconds = seconds;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->changed, NULL);
  if (pthread_create(&w->thread, NULL, run_watcher, w) != 0) {
    free(w);
    return fail(err, FURROW_E_IO, "a thread cannot be started");
  }
  *made = w;
  return FURROW_OK;
}

static void set_flag(watcher *w, bool *flag) {
  pthread_mutex_lock(&w->lock);
  *flag = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
}

void watcher_ask(watcher *w) {
  set_flag(w, &w->is_asked);
}

bool watcher_stop(watcher *w, unsigned wait_ms) {
  if (!w) return true;
  const struct timespec until = after(wait_ms);
  set_flag(w, &w->stops);
  if (pthread_timedjoin_np(w->thread, NULL, &until) != 0) return false;
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  free(w);
  return true;
}
