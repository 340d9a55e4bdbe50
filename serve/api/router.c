/* serve/api/router.c: finds the handler of a request, has it checked whether the client may call it, and chooses the
 * thread. */
#include <stdio.h>
#include <string.h>

#include "api/problem.h"
#include "api/service.h"
#include "core/fail.h"
#include "core/options.h"

typedef enum place { ON_LOOP, ON_WORKER, ON_WAITER } place;
typedef enum target_kind { NO_TARGET, A_MODEL, AN_INDEX } target_kind;

typedef struct route {
  target_kind target;
  const char *path; /* the whole path, or the part after the name: ":predict"; "" is the name alone */
  http_method method;
  handler handler;
  place place;
  route_kind kind;
  bool is_open;   /* needs no token */
  bool takes_raw; /* a body of bytes, with parameters in the address */
} route;

static const route routes[] = {
    {A_MODEL, ":predict", HTTP_POST, predict_handler, ON_LOOP, ROUTE_PREDICT, false, false},
    {AN_INDEX, ":search", HTTP_POST, search_handler, ON_LOOP, ROUTE_SEARCH, false, true},
    {A_MODEL, ":explain", HTTP_POST, explain_handler, ON_WORKER, ROUTE_EXPLAIN, false, false},
    {A_MODEL, ":recommend", HTTP_POST, recommend_handler, ON_WORKER, ROUTE_RECOMMEND, false, false},
    {A_MODEL, ":similar", HTTP_POST, similar_handler, ON_WORKER, ROUTE_SIMILAR, false, false},
    {A_MODEL, ":suggest", HTTP_POST, suggest_handler, ON_WORKER, ROUTE_SUGGEST, false, false},
    {A_MODEL, ":reload", HTTP_POST, reload_model_handler, ON_WAITER, ROUTE_RELOAD, false, false},
    {A_MODEL, "", HTTP_GET, models_handler, ON_LOOP, ROUTE_OTHER, false, false},
    {AN_INDEX, ":add", HTTP_POST, add_handler, ON_WAITER, ROUTE_ADD, false, true},
    {AN_INDEX, ":remove", HTTP_POST, remove_handler, ON_WAITER, ROUTE_REMOVE, false, false},
    {AN_INDEX, ":checkpoint", HTTP_POST, checkpoint_handler, ON_WAITER, ROUTE_CHECKPOINT, false, false},
    {AN_INDEX, ":curve", HTTP_POST, curve_handler, ON_WORKER, ROUTE_CURVE, false, false},
    {AN_INDEX, ":reload", HTTP_POST, reload_index_handler, ON_WAITER, ROUTE_RELOAD, false, false},
    {AN_INDEX, "", HTTP_GET, indexes_handler, ON_LOOP, ROUTE_OTHER, false, false},
    {NO_TARGET, "/v1/models", HTTP_GET, models_handler, ON_LOOP, ROUTE_OTHER, false, false},
    {NO_TARGET, "/v1/indexes", HTTP_GET, indexes_handler, ON_LOOP, ROUTE_OTHER, false, false},
    {NO_TARGET, "/healthz", HTTP_GET, health_handler, ON_LOOP, ROUTE_OTHER, true, false},
    {NO_TARGET, "/readyz", HTTP_GET, ready_handler, ON_LOOP, ROUTE_OTHER, true, false},
    {NO_TARGET, "/metrics", HTTP_GET, metrics_handler, ON_LOOP, ROUTE_OTHER, false, false},
    {NO_TARGET, "/openapi.json", HTTP_GET, openapi_handler, ON_LOOP, ROUTE_OTHER, true, false},
    {NO_TARGET, "/", HTTP_GET, page_handler, ON_LOOP, ROUTE_OTHER, true, false},
};
enum { ROUTES = sizeof routes / sizeof *routes, LONG_BODY = 1 << 16, MOST_NAMES = 32, NAME_SIZE = 64 };

/* The router's notes about a request, in request->notes. */
typedef struct routing {
  const route *route; /* NULL: refused before one was found */
  served_model *model;
  served_index *index;
  size_t target; /* number of the target, as in request_metrics.h */
  size_t rows;
  uint64_t queued_at; /* when it began to wait for a worker: clock_ns() */
  uint64_t queued_ns, worked_ns;
  bool has_target;
} routing;
_Static_assert(sizeof(routing) <= sizeof((http_request){0}.notes), "it fits into a request");

static routing *routing_of(http_request *request) {
  return (routing *)request->notes;
}

/* ---- Finding the route ---- */

static bool begins(http_text text, const char *prefix) {
  const size_t length = strlen(prefix);
  return text.size >= length && memcmp(text.at, prefix, length) == 0;
}

static http_text text_from(http_text text, size_t count) {
  return (http_text){text.at + count, text.size - count};
}

#define NO_VERSION UINT64_MAX

/* Splits "NAME:verb" and "NAME/versions/3:verb": *rest is ":verb", or whatever follows the name. */
static http_text take_name(http_text text, http_text *rest, uint64_t *version) {
  size_t length = 0;
  while (length < text.size && text.at[length] != ':' && text.at[length] != '/') length++;
  *rest = text_from(text, length);
  if (begins(*rest, "/versions/")) {
    http_text number = text_from(*rest, 10);
    size_t digits = 0;
    uint64_t value = 0;
    for (; digits < number.size && digits < 19 && number.at[digits] >= '0' && number.at[digits] <= '9'; digits++)
      value = value * 10 + (uint64_t)(number.at[digits] - '0');
    if (digits > 0) *rest = text_from(number, digits);
    if (digits > 0) *version = value;
  }
  return (http_text){text.at, length};
}

/* Whether the version that a client asks for by number is the one that is served. */
static bool serves_version(served_model *model, uint64_t version) {
  model_version *v = version != NO_VERSION ? served_model_get(model) : NULL;
  const bool is_served = version == NO_VERSION || (v && v->number == version);
  if (v) shared_release(&v->shared);
  return is_served;
}

/* A path in its parts. */
typedef struct target_path {
  target_kind kind;
  http_text name, rest; /* rest: what follows the name and the version; the whole path where there is no target */
  uint64_t version;     /* NO_VERSION: none is asked for */
} target_path;

static target_path split_path(http_text path) {
  target_path p = {.kind = begins(path, "/v1/models/")    ? A_MODEL
                           : begins(path, "/v1/indexes/") ? AN_INDEX
                                                          : NO_TARGET,
                   .rest = path,
                   .version = NO_VERSION};
  if (p.kind != NO_TARGET) p.name = take_name(text_from(path, p.kind == A_MODEL ? 11 : 12), &p.rest, &p.version);
  return p;
}

static const char *target_name(const service *s, target_kind kind, size_t i) {
  return kind == A_MODEL ? served_model_name(s->models[i]) : served_index_name(s->indexes[i]);
}

static size_t target_count(const service *s, target_kind kind) {
  return kind == A_MODEL ? s->model_count : s->index_count;
}

/* Finds the model or index of a path. Returns whether it exists, in this version. */
static bool find_target(const service *s, const target_path *path, routing *x) {
  for (size_t i = 0; i < target_count(s, path->kind); i++) {
    if (!http_text_is(path->name, target_name(s, path->kind, i))) continue;
    x->has_target = true;
    x->target = path->kind == A_MODEL ? i : s->model_count + i;
    if (path->kind == A_MODEL) x->model = s->models[i];
    if (path->kind == AN_INDEX) x->index = s->indexes[i];
    return path->kind == A_MODEL ? serves_version(x->model, path->version) : path->version == NO_VERSION;
  }
  return false;
}

static bool is_method(const route *r, http_method method) {
  return r->method == method || (r->method == HTTP_GET && method == HTTP_HEAD);
}

/* Sets x->route. Where there is none, *other is the route of the same path that takes another method. */
static void find_route(const service *s, const http_head *head, routing *x, const route **other) {
  const target_path path = split_path(head->path);
  if (path.kind != NO_TARGET && !find_target(s, &path, x)) return;
  for (size_t i = 0; i < ROUTES && !x->route; i++) {
    const route *r = &routes[i];
    if (r->target != path.kind || !http_text_is(path.rest, r->path)) continue;
    if (is_method(r, head->method))
      x->route = r;
    else
      *other = r;
  }
}

/* ---- Saying what is wrong with a path ---- */

static void refuse_path(http_answer *answer, furrow_error *err) {
  problem_set_error(answer, FURROW_E_NOT_FOUND, err, NULL);
}

/* The name that was meant, or NULL. */
static const char *closest(http_text word, const char *const *names, size_t count) {
  char text[NAME_SIZE];
  if (word.size == 0 || word.size >= sizeof text || memchr(word.at, 0, word.size)) return NULL;
  memcpy(text, word.at, word.size);
  text[word.size] = 0;
  return closest_word(text, names, count);
}

static void refuse_name(const service *s, const target_path *path, http_answer *answer) {
  const bool is_model = path->kind == A_MODEL;
  const target_kind other = is_model ? AN_INDEX : A_MODEL;
  const char *names[MOST_NAMES], *plural[] = {[A_MODEL] = "models", [AN_INDEX] = "indexes"};
  size_t count = 0;
  furrow_error err = {0};
  fail(&err, FURROW_E_NOT_FOUND, "there is no %s of this name", is_model ? "model" : "index");
  for (; count < MOST_NAMES && count < target_count(s, path->kind); count++)
    names[count] = target_name(s, path->kind, count);
  const char *name = closest(path->name, names, count);
  if (name)
    add_hint(&err, "did you mean %s?", name);
  else
    add_hint(&err, "GET /v1/%s lists the %s", plural[path->kind], plural[path->kind]);
  for (size_t i = 0; i < target_count(s, other); i++)
    if (http_text_is(path->name, target_name(s, other, i)))
      add_hint(&err, "write /v1/%s/%s", plural[other], target_name(s, other, i));
  refuse_path(answer, &err);
}

static void refuse_version(const target_path *path, served_model *model, http_answer *answer) {
  furrow_error err = {0};
  model_version *v = model ? served_model_get(model) : NULL;
  if (v)
    fail(&err, FURROW_E_NOT_FOUND, "version %llu is not served; version %llu is", (unsigned long long)path->version,
         (unsigned long long)v->number);
  else if (model)
    fail(&err, FURROW_E_NOT_FOUND, "version %llu is not served", (unsigned long long)path->version);
  else
    fail(&err, FURROW_E_NOT_FOUND, "an index has no versions: leave /versions/%llu out",
         (unsigned long long)path->version);
  if (v) shared_release(&v->shared);
  refuse_path(answer, &err);
}

/* Whether a client meant this route: "/predict" after a name stands for ":predict", "/" for the name alone. */
static bool is_meant(const route *r, http_text rest) {
  return rest.size > 0 && rest.at[0] == '/' && http_text_is(text_from(rest, 1), r->path + (r->path[0] == ':'));
}

static void refuse_rest(const target_path *path, http_answer *answer) {
  const char *names[ROUTES], *of = path->kind == A_MODEL ? "models" : "indexes";
  const int size = path->name.size < NAME_SIZE ? (int)path->name.size : NAME_SIZE;
  size_t count = 0;
  furrow_error err = {0};
  fail(&err, FURROW_E_NOT_FOUND, "nothing is served at this path");
  for (size_t i = 0; i < ROUTES; i++)
    if (routes[i].target == path->kind && routes[i].path[0]) names[count++] = routes[i].path;
  const char *name = closest(path->rest, names, count);
  if (name)
    add_hint(&err, "did you mean %s?", name);
  else if (path->kind == A_MODEL && http_text_is(path->rest, "/metadata"))
    add_hint(&err, "GET /v1/models/%.*s describes the model", size, path->name.at);
  else
    add_hint(&err, "/openapi.json lists the paths");
  for (size_t i = 0; path->kind != NO_TARGET && i < ROUTES; i++)
    if (routes[i].target == path->kind && is_meant(&routes[i], path->rest))
      add_hint(&err, "write /v1/%s/%.*s%s", of, size, path->name.at, routes[i].path);
  refuse_path(answer, &err);
}

/* 404 or 405; other: as find_route set it. */
static void refuse_route(const service *s, http_request *request, const route *other) {
  static const char *const allowed[] = {[HTTP_GET] = "Allow: GET, HEAD\r\n", [HTTP_POST] = "Allow: POST\r\n"};
  const routing *x = routing_of(request);
  const target_path path = split_path(request->head.path);
  http_answer *answer = &request->answer;
  if (other) {
    problem_set(answer, 405, "this takes %s", other->method == HTTP_POST ? "POST" : "GET");
    answer->headers = allowed[other->method];
  } else if (path.kind != NO_TARGET && !x->has_target)
    refuse_name(s, &path, answer);
  else if (path.version != NO_VERSION && (!x->model || !serves_version(x->model, path.version)))
    refuse_version(&path, x->model, answer);
  else
    refuse_rest(&path, answer);
}

/* ---- Parameters ---- */

/* Whether a request has query parameters that would be ignored: a POST has its members in the body. A GET may have
 * them, because probes add some. */
static bool has_lost_parameters(const route *r, const http_head *head, http_answer *answer) {
  furrow_error err = {0};
  size_t length = 0;
  if (head->query.size == 0 || r->method != HTTP_POST || r->takes_raw) return false;
  while (length < head->query.size && head->query.at[length] != '=' && head->query.at[length] != '&') length++;
  fail(&err, FURROW_E_ARGUMENT, "a request in JSON has no parameters in its address");
  add_hint(&err, "write \"%.*s\" into the JSON", length < 31 ? (int)length : 31, head->query.at);
  problem_set_error(answer, FURROW_E_ARGUMENT, &err, NULL);
  return true;
}

/* ---- Hooks ---- */

static size_t on_head(void *user, http_request *request) {
  service *s = user;
  routing *x = routing_of(request);
  http_answer *answer = &request->answer;
  const route *other = NULL;
  find_route(s, &request->head, x, &other);
  /* that a route does not exist is not told to clients without a token */
  if (!access_check(&s->access, request, x->route && x->route->is_open)) return 0;
  if (!x->route) {
    refuse_route(s, request, other);
    return 0;
  }
  if (request->head.coding == HTTP_UNKNOWN_CODING) {
    problem_set(answer, 415, "compressed requests must be gzip or zstd");
    answer->headers = "Accept-Encoding: gzip, zstd\r\n";
    return 0;
  }
  if (has_lost_parameters(x->route, &request->head, answer)) return 0;
  return x->route->method == HTTP_POST ? s->limits.max_body : 0;
}

static void handle_request(service *s, http_request *request, unsigned thread, bool on_loop, bool *move) {
  routing *x = routing_of(request);
  call c = {.service = s,
            .memory = &s->memory[thread],
            .request = request,
            .answer = &request->answer,
            .model = x->model,
            .index = x->index,
            .on_loop = on_loop};
  const uint64_t begun_at = clock_ns();
  x->route->handler(&c);
  x->worked_ns += clock_ns() - begun_at;
  if (c.answer->status == 0) c.answer->status = 200;
  if (c.answer->body.missing) problem_set(c.answer, 503, "there is not enough memory for the answer");
  x->rows = c.rows;
  *move = c.move;
  thread_memory_trim(c.memory, request->body_size);
}

void router_work(void *user, unsigned thread, void *item) {
  service *s = user;
  http_request *request = item;
  const char *problem;
  bool move;
  int status;
  routing *x = routing_of(request);
  x->queued_ns = clock_ns() - x->queued_at;
  if (x->queued_ns > (uint64_t)s->limits.request_ms * 1000000)
    problem_set(&request->answer, 503, "the request has waited too long");
  else if ((status = http_request_unpack(request, s->limits.max_body, &problem)) != 0)
    problem_set(&request->answer, status, "%s", problem);
  else
    handle_request(s, request, thread, false, &move);
  http_request_finish(request);
}

static bool on_request(void *user, http_request *request) {
  service *s = user;
  routing *x = routing_of(request);
  /* nobody knows how long a compressed body is */
  const bool is_packed = request->head.coding != HTTP_PLAIN && request->body_size > 0;
  bool move = x->route->place != ON_LOOP || request->body_size > LONG_BODY || is_packed;
  if (!move) handle_request(s, request, request->loop, true, &move);
  if (!move) return true;
  x->queued_at = clock_ns();
  if (work_queue_put(x->route->place == ON_WAITER ? s->waiting : s->work, request)) return false;
  problem_set(&request->answer, 429, "too many requests wait already");
  return true;
}

static void on_refuse(void *user, http_answer *answer, const char *problem) {
  (void)user;
  problem_set(answer, answer->status, "%s", problem);
}

static void log_request(service *s, const http_request *request, const routing *x, access_record *record) {
  record->request = request;
  record->call = metrics_call(x->route ? x->route->kind : ROUTE_OTHER);
  record->kind = x->model ? "model" : x->index ? "index" : NULL;
  record->name = x->model ? served_model_name(x->model) : x->index ? served_index_name(x->index) : NULL;
  record->rows = x->rows;
  record->queued_ns = x->queued_ns;
  record->worked_ns = x->worked_ns;
  access_log_add(s->access_log, record);
}

static void on_done(void *user, http_request *request, int status, size_t bytes_in, size_t bytes_out) {
  service *s = user;
  routing *x = routing_of(request);
  const uint64_t now = clock_ns();
  /* a head that could not be parsed has no target */
  const size_t target = x->has_target ? x->target : s->model_count + s->index_count;
  metrics_count(s->metrics, request->loop, x->route ? x->route->kind : ROUTE_OTHER, target, status, now,
                now - request->received_ns, x->rows, bytes_in, bytes_out);
  if (!s->access_log) return;
  access_record record = {
      .status = status, .bytes_in = bytes_in, .bytes_out = bytes_out, .total_ns = now - request->received_ns};
  log_request(s, request, x, &record);
}

void router_hooks(service *s, http_hooks *hooks) {
  *hooks = (http_hooks){.user = s, .head = on_head, .request = on_request, .refuse = on_refuse, .done = on_done};
}
