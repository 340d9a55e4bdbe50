/* serve/http/http_server.c: all loops: start, stop, figures. */
#include "http/http_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "core/fail.h"
#include "http/http_internal.h"

static http_server *create(const http_settings *settings, const http_hooks *hooks) {
  pthread_condattr_t monotonic;
  http_server *server = calloc(1, sizeof *server);
  loop *loops = calloc(settings->loops, sizeof *loops);
  if (!server || !loops) {
    free(server);
    free(loops);
    return NULL;
  }
  server->settings = *settings;
  server->hooks = *hooks;
  server->loops = loops;
  server->loop_count = settings->loops;
  if (getrandom(&server->id_seed, sizeof server->id_seed, GRND_NONBLOCK) < 0) server->id_seed = clock_ns();
  for (unsigned i = 0; i < settings->loops; i++) {
    loops[i].server = server;
    loops[i].number = i;
    loops[i].listener = loops[i].wake = -1;
  }
  pthread_mutex_init(&server->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&server->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return server;
}

static void set_limits(http_server *server) {
  const http_settings *s = &server->settings;
  const uint64_t ms = 1000000;
  server->limits[IDLE] = s->idle_ms * ms;
  server->limits[HEADING] = s->head_ms * ms;
  server->limits[IN_BODY] = s->body_ms * ms;
  server->limits[ANSWERING] = s->answer_ms * ms;
  server->limits[LINGERING] = LINGER_MS * ms;
}

furrow_status http_server_start(http_server **server, const http_settings *settings, const http_hooks *hooks,
                                furrow_error *err) {
  if (settings->loops == 0) return fail(err, FURROW_E_ARGUMENT, "a server needs a loop");
  http_server *s = create(settings, hooks);
  if (!s) return fail_memory(err);
  set_limits(s);
  furrow_status status = FURROW_OK;
  for (unsigned i = 0; i < s->loop_count && status == FURROW_OK; i++) status = loop_init(&s->loops[i], err);
  if (status == FURROW_OK) status = listen_all(s, err);
  s->settings.listen = NULL; /* the caller's */
  *server = s;               /* before the loops start: their requests may ask for its figures */
  for (unsigned i = 0; i < s->loop_count && status == FURROW_OK; i++) status = loop_start(&s->loops[i], err);
  if (status != FURROW_OK) {
    *server = NULL;
    http_server_free(s);
  }
  return status;
}

void http_server_address(const http_server *server, char *text, size_t size) {
  snprintf(text, size, "%s", server->address);
}

void http_server_get_figures(const http_server *server, http_figures *figures) {
  *figures = (http_figures){.connections = atomic_load(&server->connections),
                            .accepted = atomic_load(&server->accepted),
                            .refused = atomic_load(&server->refused),
                            .timeouts = atomic_load(&server->timeouts),
                            .memory = atomic_load(&server->memory)};
}

static void wake_all(http_server *server) {
  for (unsigned i = 0; i < server->loop_count; i++) loop_wake(&server->loops[i]);
}

bool http_server_stop(http_server *server, unsigned drain_ms) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += drain_ms / 1000;
  until.tv_nsec += (long)(drain_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  server->grace_ns = (drain_ms < 4000 ? drain_ms / 4 : 1000) * UINT64_C(1000000);
  atomic_store(&server->stops, true);
  wake_all(server);
  bool is_over = false, has_time = true;
  pthread_mutex_lock(&server->lock);
  for (;;) {
    is_over = server->draining_loops == server->loop_count && atomic_load(&server->connections) == 0;
    if (is_over || !has_time) break;
    has_time = pthread_cond_timedwait(&server->changed, &server->lock, &until) != ETIMEDOUT;
  }
  pthread_mutex_unlock(&server->lock);
  return is_over;
}

void http_server_free(http_server *server) {
  if (!server) return;
  atomic_store(&server->ends, true);
  for (unsigned i = 0; i < server->loop_count; i++)
    if (server->loops[i].has_thread) {
      loop_wake(&server->loops[i]);
      pthread_join(server->loops[i].thread, NULL);
    }
  for (unsigned i = 0; i < server->loop_count; i++) loop_clear(&server->loops[i]);
  for (size_t i = 0; i < server->fixed_count; i++) fw_buffer_clear(&server->fixed[i].packed);
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->lock);
  free(server->loops);
  free(server);
}
