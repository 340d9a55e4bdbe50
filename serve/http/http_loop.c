/* serve/http/http_loop.c: the thread of a loop: ready sockets, time limits, answers that other threads hand in. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/fail.h"
#include "http/http_internal.h"

/* The loop whose thread this is. */
static _Thread_local const loop *current_loop;

uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Lists ---- */

void loop_unlist(connection *c) {
  c->before->after = c->after;
  c->after->before = c->before;
  c->before = c->after = c;
}

void loop_list(connection *c) {
  connection *list = &c->loop->lists[c->state];
  loop_unlist(c);
  c->is_moved = false;
  c->since = c->loop->now;
  c->before = list->before;
  c->after = list;
  list->before->after = c;
  list->before = c;
}

/* ---- Time limits ---- */

static void stop_idle(loop *l) {
  connection *idle = &l->lists[IDLE];
  while (idle->after != idle) connection_stop(idle->after);
}

static void on_sweep(evutil_socket_t socket, short what, void *of_loop) {
  loop *l = of_loop;
  (void)socket, (void)what;
  l->now = clock_ns();
  for (int state = 0; state < STATES; state++) {
    const uint64_t limit = l->server->limits[state];
    connection *list = &l->lists[state];
    while (limit > 0 && list->after != list && l->now - list->after->since >= limit) connection_expire(list->after);
  }
  if (l->is_draining && l->now >= l->drained_at) stop_idle(l);
  if (l->is_paused && l->now >= l->resume_at && l->listener >= 0) {
    l->is_paused = false;
    event_add(&l->acceptable, NULL);
  }
}

/* An eighth of the shortest limit, within reason. */
static struct timeval sweep_period(const http_server *server) {
  uint64_t shortest = UINT64_C(2000000000);
  for (int state = 0; state < STATES; state++)
    if (server->limits[state] > 0 && server->limits[state] < shortest) shortest = server->limits[state];
  const uint64_t us = shortest / 8000;
  return (struct timeval){.tv_usec = us < 5000 ? 5000 : (suseconds_t)us};
}

/* ---- What other threads say ---- */

void loop_wake(loop *l) {
  const uint64_t one = 1;
  while (write(l->wake, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void http_request_finish(http_request *request) {
  exchange *e = (exchange *)request;
  loop *l = e->connection->loop;
  if (current_loop != l && request->head.accepts_gzip && !request->answer.fixed &&
      gzip_is_worth(l->server, &request->answer))
    gzip_pack(e, NULL);
  exchange *first = atomic_load_explicit(&l->finished, memory_order_relaxed);
  do e->next = first;
  while (!atomic_compare_exchange_weak(&l->finished, &first, e));
  if (!first && current_loop != l) loop_wake(l);
}

static void take_finished(loop *l) {
  exchange *last = atomic_exchange(&l->finished, NULL), *first = NULL;
  if (!last) return;
  l->now = clock_ns();
  while (last) {
    exchange *e = last;
    last = e->next;
    e->next = first;
    first = e;
  }
  while (first) {
    exchange *e = first;
    first = e->next;
    connection_answer(e);
  }
}

static void close_listener(loop *l) {
  if (l->listener < 0) return;
  close(l->listener);
  l->listener = -1;
}

/* Accepts the connections that wait already, then no more. A client may just be sending a request on an idle
 * connection: it gets a moment for that, and the answer says that the connection closes. */
static void start_draining(loop *l) {
  http_server *server = l->server;
  for (unsigned i = 0; i < LISTEN_BACKLOG && accept_waiting(l); i++) {
  }
  event_del(&l->acceptable);
  close_listener(l);
  l->is_draining = true;
  l->drained_at = l->now + server->grace_ns;
  pthread_mutex_lock(&server->lock);
  server->draining_loops++;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

static void on_woken(evutil_socket_t socket, short what, void *of_loop) {
  loop *l = of_loop;
  uint64_t count;
  (void)what;
  while (read(socket, &count, sizeof count) < 0 && errno == EINTR) {
  }
  l->now = clock_ns();
  accept_handed(l);
  if (atomic_load(&l->server->stops) && !l->is_draining) start_draining(l);
  l->is_ending = atomic_load(&l->server->ends);
}

/* ---- The thread ---- */

static void end_connections(loop *l) {
  for (int state = 0; state < STATES; state++)
    while (l->lists[state].after != &l->lists[state]) connection_end(l->lists[state].after);
}

static void *run_loop(void *of_loop) {
  loop *l = of_loop;
  current_loop = l;
  while (!l->is_ending && event_base_loop(l->base, EVLOOP_ONCE) >= 0) take_finished(l);
  take_finished(l);
  end_connections(l);
  return NULL;
}

static struct event_base *create_base(void) {
  struct event_config *config = event_config_new();
  if (!config) return NULL;
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  struct event_base *base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

furrow_status loop_init(loop *l, furrow_error *err) {
  for (int state = 0; state < STATES; state++) l->lists[state].before = l->lists[state].after = &l->lists[state];
  l->base = create_base();
  l->scratch = malloc(SCRATCH_BYTES);
  l->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (!l->base || !l->scratch) return fail_memory(err);
  return l->wake >= 0 ? FURROW_OK : fail(err, FURROW_E_IO, "an eventfd cannot be made");
}

furrow_status loop_start(loop *l, furrow_error *err) {
  const struct timeval period = sweep_period(l->server);
  event_assign(&l->acceptable, l->base, l->listener, EV_READ | EV_PERSIST, on_acceptable, l);
  event_assign(&l->woken, l->base, l->wake, EV_READ | EV_PERSIST, on_woken, l);
  event_assign(&l->sweep, l->base, -1, EV_PERSIST, on_sweep, l);
  if (event_add(&l->acceptable, NULL) || event_add(&l->woken, NULL) || event_add(&l->sweep, &period))
    return fail(err, FURROW_E_IO, "an event loop cannot be set up");
  if (pthread_create(&l->thread, NULL, run_loop, l) != 0) return fail(err, FURROW_E_IO, "a thread cannot be started");
  l->has_thread = true;
  return FURROW_OK;
}

void loop_clear(loop *l) {
  for (handed_socket *handed = atomic_load(&l->handed), *next; handed; handed = next) {
    next = handed->next;
    close(handed->socket);
    free(handed);
  }
  while (l->spare) {
    exchange *e = l->spare;
    l->spare = e->next;
    exchange_free(e);
  }
  close_listener(l);
  if (l->base) event_base_free(l->base);
  if (l->wake >= 0) close(l->wake);
  if (l->has_deflate) deflateEnd(&l->deflate);
  free(l->scratch);
}
