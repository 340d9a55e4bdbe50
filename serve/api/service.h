/* serve/api/service.h: what is served, and the threads and memory that serve it.
 *
 * A request goes: http_server → router (access, handler, thread) → handler → http_server. Handlers that take little
 * time run on the thread of their loop; others (long bodies, explanations, recommendations) on a worker; those that
 * wait for the disk (adding, removing, reloading) on a waiter, one of many threads that mostly wait. Both queues are
 * bounded.
 */
#ifndef SERVE_API_SERVICE_H
#define SERVE_API_SERVICE_H

#include <stdatomic.h>

#include "api/access_log.h"
#include "api/request_access.h"
#include "api/request_metrics.h"
#include "api/work_queue.h"
#include "furrow/furrow.h"
#include "http/http_server.h"
#include "indexes/served_index.h"
#include "models/served_model.h"

typedef struct service_limits {
  size_t max_body;     /* bytes */
  size_t max_rows;     /* instances, users or vectors of a request */
  size_t max_results;  /* k */
  size_t max_queue;    /* requests that wait for a worker */
  unsigned request_ms; /* the longest wait in a queue; a request that waited longer is answered 503 */
} service_limits;

/* The memory of one thread; handlers reuse it from request to request. */
typedef struct thread_memory {
  unsigned thread;        /* number of the thread: below service.threads */
  furrow_json *json;      /* NULL until the first use: thread_json */
  furrow_container *rows; /* likewise: thread_rows */
  fw_buffer text;         /* strings of a request */
  fw_buffer numbers;      /* float or double arrays of a request */
  fw_buffer results;      /* scores, ids … */
  fw_buffer attributes;   /* rows of attributes, or a filter by them */
} thread_memory;

typedef struct service {
  served_model **models;
  size_t model_count;
  served_index **indexes;
  size_t index_count;
  service_limits limits;
  unsigned loops, workers, waiters, threads; /* threads: the sum of the others */
  thread_memory *memory;                     /* memory of each thread: loops, then workers, then waiters */
  request_access access;
  request_metrics *metrics;
  access_log *access_log; /* NULL: none */
  http_server *server;
  work_queue *work, *waiting; /* of workers and of waiters */
  bool ready_needs_writing;   /* the service is not ready while a writable index refuses changes */
  atomic_bool draining;
  int64_t started_at; /* seconds since 1970 */
} service;

/* One request in a handler. */
typedef struct call {
  service *service;
  thread_memory *memory;
  http_request *request;
  http_answer *answer; /* answer of the request */
  served_model *model; /* model of /v1/models/NAME… */
  served_index *index; /* index of /v1/indexes/NAME… */
  bool on_loop; /* the thread is one of a loop: a handler that finds its work to be long sets `move` and returns */
  bool move;    /* then it is called again on a worker */
  size_t rows;  /* instances, users or vectors, for the metrics: the handler sets it */
} call;

/* Fills in call->answer. A status of 0 counts as 200. */
typedef void (*handler)(call *c);

/* Handlers, in NAME_call.c; handlers of indexes are in index_calls.c. */
void predict_handler(call *c);
void explain_handler(call *c);
void recommend_handler(call *c);
void similar_handler(call *c); /* items like an item: POST /v1/models/NAME:similar */
void suggest_handler(call *c); /* names of users or items that begin like a text: POST /v1/models/NAME:suggest */
void search_handler(call *c);
void add_handler(call *c);
void remove_handler(call *c);
void checkpoint_handler(call *c);
void curve_handler(call *c); /* recall against speed: POST /v1/indexes/NAME:curve */
void reload_model_handler(call *c);
void reload_index_handler(call *c);
void models_handler(call *c); /* GET /v1/models and /v1/models/NAME */
void indexes_handler(call *c);
void health_handler(call *c);
void ready_handler(call *c);
void metrics_handler(call *c);
void openapi_handler(call *c);
void page_handler(call *c);

/* Starts the threads that handlers run on. `http` says where to listen. Models and indexes must have been created.
 * Errors: as http_server_start; E_MEMORY. */
furrow_status service_start(service *s, const http_settings *http, furrow_error *err);
/* Answers requests that have begun, for at most drain_ms, and ends the threads. Returns whether all were answered. */
bool service_stop(service *s, unsigned drain_ms);
/* router.c: what http_server calls. */
void router_hooks(service *s, http_hooks *hooks);
/* Calls the handler of a request that was queued. */
void router_work(void *service, unsigned thread, void *item);

/* Frees the memory that a long request has added to its thread. */
void thread_memory_trim(thread_memory *memory, size_t body_size);
/* The JSON reader and the row container of the thread; NULL: out of memory. */
furrow_json *thread_json(thread_memory *memory);
furrow_container *thread_rows(thread_memory *memory);

/* The watcher: a thread that looks for newer versions and loads them, so that a long load does not delay signals. */

typedef struct watcher watcher;

/* Starts it. It looks every `seconds`; 0: only when asked.
 * Errors: E_MEMORY; E_IO, the thread cannot be started. */
furrow_status watcher_start(watcher **w, service *s, unsigned seconds, furrow_error *err);
/* Makes it reload everything at once, also without a newer version. */
void watcher_ask(watcher *w);
/* Ends it. Returns false if it is still loading after wait_ms: it goes on, so the process must not free anything that
 * it uses. Takes NULL. */
bool watcher_stop(watcher *w, unsigned wait_ms);

#endif
