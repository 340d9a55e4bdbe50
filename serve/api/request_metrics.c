/* serve/api/request_metrics.c: counters and histograms, as Prometheus reads them.
 *
 * Each loop has a cell for each call of each target. Only its own thread writes a cell, so that adding is a load and a
 * store without a lock; readers sum over the loops. The last minute is kept as a ring of finer histograms, one for ten
 * seconds each: a writer that reaches a new period clears the ring's next histogram. A reader may see a half cleared
 * histogram, which only makes a percentile inexact for a moment.
 */
#include "api/request_metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/service.h"

/* Upper ends of the buckets in nanoseconds, and as Prometheus gets them; +Inf follows. */
static const struct {
  uint64_t ns;
  const char *text;
} bounds[] = {{50000, "5e-05"},    {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},  {1000000, "0.001"},
              {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},  {25000000, "0.025"}, {50000000, "0.05"},
              {100000000, "0.1"},  {250000000, "0.25"}, {500000000, "0.5"},  {1000000000, "1"},   {2500000000, "2.5"},
              {5000000000, "5"},   {10000000000, "10"}};
/* The statuses that the service answers with; 0 counts the others. */
static const int codes[] = {200, 204, 400, 404, 304, 401, 403, 405, 408, 409, 411, 413,
                            414, 415, 417, 421, 422, 429, 431, 500, 501, 503, 505, 0};

enum {
  BUCKETS = sizeof bounds / sizeof *bounds + 1,
  CODES = sizeof codes / sizeof *codes,
  FINE_SHIFT = 13, /* fine buckets: 4 for each power of two from 8 µs to 8.6 s */
  FINE = 80,
  PERIODS = 7, /* the one that fills and the six before it */
  CACHE_LINE = 64
};
static const uint64_t period_ns = 10000000000;

typedef atomic_uint_least64_t counter;

typedef struct recent {
  counter period; /* number of its ten seconds; 0: none */
  atomic_uint_least32_t counts[FINE];
} recent;

typedef struct cell {
  _Alignas(CACHE_LINE) counter codes[CODES];
  counter rows, bytes_in, bytes_out, nanoseconds;
  counter buckets[BUCKETS];
  recent ring[PERIODS];
} cell;

struct request_metrics {
  unsigned threads;
  size_t targets; /* including one for requests without a target */
  void *memory;   /* memory of the cells, and a cache line more */
  cell *cells;    /* cells of thread t, target i, route r: (t * targets + i) * ROUTE_COUNT + r */
};

request_metrics *metrics_create(unsigned threads, size_t targets) {
  request_metrics *m = calloc(1, sizeof *m);
  const size_t count = threads * (targets + 1) * ROUTE_COUNT;
  /* calloc, so that cells that are never counted in take no memory */
  char *memory = m ? calloc(count + 1, sizeof(cell)) : NULL;
  if (!memory) {
    free(m);
    return NULL;
  }
  const size_t skip = (CACHE_LINE - (uintptr_t)memory % CACHE_LINE) % CACHE_LINE;
  *m = (request_metrics){
      .threads = threads, .targets = targets + 1, .memory = memory, .cells = (cell *)(void *)(memory + skip)};
  return m;
}

void metrics_free(request_metrics *m) {
  if (!m) return;
  free(m->memory);
  free(m);
}

static cell *find_cell(const request_metrics *m, unsigned thread, size_t target, unsigned route) {
  return &m->cells[(thread * m->targets + target) * ROUTE_COUNT + route];
}

/* ---- Counting ---- */

static uint64_t get(const counter *c) {
  return atomic_load_explicit(c, memory_order_relaxed);
}

/* Only the thread that owns the cell adds. */
static void counter_add(counter *c, uint64_t value) {
  atomic_store_explicit(c, get(c) + value, memory_order_relaxed);
}

static size_t code_place(int status) {
  size_t i = 0;
  while (i < CODES - 1 && codes[i] != status) i++;
  return i;
}

static size_t bucket_place(uint64_t ns) {
  size_t i = 0;
  while (i < BUCKETS - 1 && ns > bounds[i].ns) i++;
  return i;
}

/* The bucket that begins at 2^e + q/4 2^e has the index 4 (e - FINE_SHIFT) + q. */
static size_t fine_bucket(uint64_t ns) {
  if (ns < (uint64_t)1 << FINE_SHIFT) return 0;
  const unsigned power = 63 - (unsigned)__builtin_clzll(ns);
  const size_t place = 4 * (size_t)(power - FINE_SHIFT) + (ns >> (power - 2) & 3);
  return place < FINE ? place : FINE - 1;
}

static double fine_start_ms(size_t place) {
  return ldexp(1 + (double)(place % 4) / 4, (int)(place / 4) + FINE_SHIFT) * 1e-6;
}

static void count_recent(cell *c, uint64_t now_ns, uint64_t ns) {
  const uint64_t period = now_ns / period_ns + 1;
  recent *r = &c->ring[period % PERIODS];
  if (get(&r->period) != period) {
    for (size_t i = 0; i < FINE; i++) atomic_store_explicit(&r->counts[i], 0, memory_order_relaxed);
    atomic_store_explicit(&r->period, period, memory_order_relaxed);
  }
  atomic_uint_least32_t *count = &r->counts[fine_bucket(ns)];
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

void metrics_count(request_metrics *m, unsigned thread, route_kind route, size_t target, int status, uint64_t now_ns,
                   uint64_t duration_ns, size_t rows, size_t bytes_in, size_t bytes_out) {
  cell *c = find_cell(m, thread, target, route);
  counter_add(&c->codes[code_place(status)], 1);
  counter_add(&c->rows, rows);
  counter_add(&c->bytes_in, bytes_in);
  counter_add(&c->bytes_out, bytes_out);
  counter_add(&c->nanoseconds, duration_ns);
  counter_add(&c->buckets[bucket_place(duration_ns)], 1);
  count_recent(c, now_ns, duration_ns);
}

/* ---- Sums ---- */

typedef struct sums {
  uint64_t codes[CODES];
  uint64_t rows, bytes_in, bytes_out, nanoseconds;
  uint64_t buckets[BUCKETS];
} sums;

static void add_sums(const request_metrics *m, size_t target, unsigned route, sums *to) {
  for (unsigned thread = 0; thread < m->threads; thread++) {
    const cell *c = find_cell(m, thread, target, route);
    for (size_t i = 0; i < CODES; i++) to->codes[i] += get(&c->codes[i]);
    for (size_t i = 0; i < BUCKETS; i++) to->buckets[i] += get(&c->buckets[i]);
    to->rows += get(&c->rows);
    to->bytes_in += get(&c->bytes_in);
    to->bytes_out += get(&c->bytes_out);
    to->nanoseconds += get(&c->nanoseconds);
  }
}

static void add_recent(const request_metrics *m, size_t target, unsigned route, uint64_t fine[FINE]) {
  const uint64_t now = clock_ns() / period_ns + 1;
  for (unsigned thread = 0; thread < m->threads; thread++)
    for (size_t p = 0; p < PERIODS; p++) {
      const recent *r = &find_cell(m, thread, target, route)->ring[p];
      const uint64_t period = get(&r->period);
      if (period == 0 || period + PERIODS <= now) continue;
      for (size_t i = 0; i < FINE; i++) fine[i] += atomic_load_explicit(&r->counts[i], memory_order_relaxed);
    }
}

/* Interpolates within a bucket, as if durations were evenly spread. */
static double percentile_ms(const uint64_t fine[FINE], double part) {
  uint64_t total = 0;
  for (size_t i = 0; i < FINE; i++) total += fine[i];
  double left = part * (double)total;
  for (size_t i = 0; i < FINE; i++) {
    const double start = i > 0 ? fine_start_ms(i) : 0, end = fine_start_ms(i + 1);
    if (fine[i] > 0 && left <= (double)fine[i]) return start + (end - start) * left / (double)fine[i];
    left -= (double)fine[i];
  }
  return NAN;
}

void metrics_summarize(const request_metrics *m, route_kind route, size_t target, metrics_summary *summary) {
  sums all = {0};
  uint64_t fine[FINE] = {0};
  for (unsigned r = route == ROUTE_COUNT ? 0 : route; r < ROUTE_COUNT; r++) {
    add_sums(m, target, r, &all);
    add_recent(m, target, r, fine);
    if (route != ROUTE_COUNT) break;
  }
  *summary =
      (metrics_summary){.rows = all.rows, .p50_ms = percentile_ms(fine, 0.5), .p99_ms = percentile_ms(fine, 0.99)};
  for (size_t i = 0; i < CODES; i++) {
    summary->requests += all.codes[i];
    if (codes[i] == 0 || codes[i] >= 400) summary->errors += all.codes[i];
  }
}

/* ---- The text format: requests ---- */

static void family(fw_buffer *out, const char *name, const char *type, const char *help) {
  fw_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The value of a label, in quotes. */
static void label_value(fw_buffer *out, const char *text) {
  fw_buffer_text(out, "\"");
  for (; *text; text++) {
    if (*text == '\\' || *text == '"') fw_buffer_text(out, "\\");
    if (*text == '\n')
      fw_buffer_text(out, "\\n");
    else
      fw_buffer_append(out, text, 1);
  }
  fw_buffer_text(out, "\"");
}

static void sample(fw_buffer *out, const char *name, const char *label, const char *text, double value) {
  fw_buffer_text(out, name);
  if (label) {
    fw_buffer_format(out, "{%s=", label);
    label_value(out, text);
    fw_buffer_text(out, "}");
  }
  fw_buffer_format(out, " %.17g\n", value);
}

/* Writes a metric family with one sample. */
static void single(fw_buffer *out, const char *name, const char *type, const char *help, double value) {
  family(out, name, type, help);
  sample(out, name, NULL, NULL, value);
}

/* A call of a target and its figures. */
typedef struct line {
  const char *kind, *name, *call;
  sums sums;
} line;

static void line_labels(fw_buffer *out, const char *metric, const line *l) {
  fw_buffer_format(out, "%s{kind=\"%s\",name=", metric, l->kind);
  label_value(out, l->name);
  fw_buffer_format(out, ",call=\"%s\"", l->call);
}

/* Writes all codes that occurred, and always 200, so that rates have a first value. */
static void write_codes(fw_buffer *out, const line *l) {
  for (size_t i = 0; i < CODES; i++) {
    if (l->sums.codes[i] == 0 && codes[i] != 200) continue;
    line_labels(out, "furrow_requests_total", l);
    fw_buffer_format(out, ",code=\"%d\"} %llu\n", codes[i], (unsigned long long)l->sums.codes[i]);
  }
}

static void write_histogram(fw_buffer *out, const line *l) {
  uint64_t count = 0;
  for (size_t i = 0; i < BUCKETS; i++) {
    count += l->sums.buckets[i];
    line_labels(out, "furrow_request_duration_seconds_bucket", l);
    fw_buffer_format(out, ",le=\"%s\"} %llu\n", i < BUCKETS - 1 ? bounds[i].text : "+Inf", (unsigned long long)count);
  }
  line_labels(out, "furrow_request_duration_seconds_sum", l);
  fw_buffer_format(out, "} %.17g\n", (double)l->sums.nanoseconds * 1e-9);
  line_labels(out, "furrow_request_duration_seconds_count", l);
  fw_buffer_format(out, "} %llu\n", (unsigned long long)count);
}

static void write_total(fw_buffer *out, const line *lines, size_t count, const char *name, const char *help,
                        size_t offset) {
  family(out, name, "counter", help);
  for (size_t i = 0; i < count; i++) {
    uint64_t value;
    memcpy(&value, (const char *)&lines[i].sums + offset, sizeof value);
    line_labels(out, name, &lines[i]);
    fw_buffer_format(out, "} %llu\n", (unsigned long long)value);
  }
}

static bool has_call(const char *kind, unsigned route) {
  const bool is_model = strcmp(kind, "model") == 0, is_index = strcmp(kind, "index") == 0;
  switch ((route_kind)route) {
  case ROUTE_PREDICT:
  case ROUTE_EXPLAIN:
  case ROUTE_RECOMMEND:
  case ROUTE_SIMILAR:
  case ROUTE_SUGGEST: return is_model;
  case ROUTE_SEARCH:
  case ROUTE_ADD:
  case ROUTE_REMOVE:
  case ROUTE_CHECKPOINT:
  case ROUTE_CURVE: return is_index;
  case ROUTE_RELOAD: return is_model || is_index;
  default: return true;
  }
}

const char *metrics_call(route_kind route) {
  static const char *const names[] = {
#define ROUTE_X(name, text) text,
      ROUTE_KINDS(ROUTE_X)
#undef ROUTE_X
  };
  return names[route];
}

static size_t collect(const service *s, line *lines) {
  size_t count = 0;
  for (size_t target = 0; target < s->metrics->targets; target++) {
    const bool is_model = target < s->model_count, is_index = !is_model && target < s->model_count + s->index_count;
    const char *kind = is_model ? "model" : is_index ? "index" : "other";
    const char *name = is_model   ? served_model_name(s->models[target])
                       : is_index ? served_index_name(s->indexes[target - s->model_count])
                                  : "";
    for (unsigned route = 0; route < ROUTE_COUNT; route++) {
      if (!has_call(kind, route)) continue;
      lines[count] = (line){.kind = kind, .name = name, .call = metrics_call((route_kind)route)};
      add_sums(s->metrics, target, route, &lines[count++].sums);
    }
  }
  return count;
}

static void write_requests(const service *s, fw_buffer *out) {
  line *lines = malloc(s->metrics->targets * ROUTE_COUNT * sizeof *lines);
  if (!lines) {
    out->missing = 1;
    return;
  }
  const size_t count = collect(s, lines);
  family(out, "furrow_requests_total", "counter", "Requests that were answered, by status code.");
  for (size_t i = 0; i < count; i++) write_codes(out, &lines[i]);
  family(out, "furrow_request_duration_seconds", "histogram",
         "Time from the first byte of a request to the last byte of its answer.");
  for (size_t i = 0; i < count; i++) write_histogram(out, &lines[i]);
  write_total(out, lines, count, "furrow_rows_total", "Instances, users or vectors of requests.", offsetof(sums, rows));
  write_total(out, lines, count, "furrow_request_bytes_total", "Bytes of requests.", offsetof(sums, bytes_in));
  write_total(out, lines, count, "furrow_response_bytes_total", "Bytes of answers.", offsetof(sums, bytes_out));
  free(lines);
}

/* ---- Server and process ---- */

static void write_server(const service *s, fw_buffer *out) {
  http_figures f = {0};
  if (s->server) http_server_get_figures(s->server, &f);
  single(out, "furrow_connections", "gauge", "Open connections.", (double)f.connections);
  single(out, "furrow_connections_accepted_total", "counter", "Connections that were accepted.", (double)f.accepted);
  single(out, "furrow_connections_refused_total", "counter", "Connections beyond --max-connections.",
         (double)f.refused);
  single(out, "furrow_connections_timeouts_total", "counter", "Connections that were closed for time.",
         (double)f.timeouts);
  single(out, "furrow_access_log_dropped_total", "counter",
         "Lines of the access log and of slow requests that were lost.", (double)access_log_dropped(s->access_log));
  single(out, "furrow_body_memory_bytes", "gauge", "Memory of requests and answers.", (double)f.memory);
  family(out, "furrow_queue_length", "gauge", "Requests that wait for a thread.");
  sample(out, "furrow_queue_length", "queue", "workers", (double)work_queue_length(s->work));
  sample(out, "furrow_queue_length", "queue", "waiters", (double)work_queue_length(s->waiting));
}

static double resident_bytes(void) {
  unsigned long long whole = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return NAN;
  if (fscanf(file, "%llu %llu", &whole, &resident) != 2) resident = 0;
  fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

/* Newer kernels report the number of open files as the size of the folder. */
static double open_files(void) {
  struct stat info;
  if (stat("/proc/self/fd", &info) == 0 && info.st_size > 0) return (double)info.st_size;
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return NAN;
  double count = -3; /* ., .. and the folder itself */
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static double cpu_seconds(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return NAN;
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void write_process(const service *s, fw_buffer *out) {
  struct rlimit limit = {0};
  getrlimit(RLIMIT_NOFILE, &limit);
  single(out, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
  single(out, "process_open_fds", "gauge", "Open files and sockets.", open_files());
  single(out, "process_max_fds", "gauge", "Files and sockets that may be open.", (double)limit.rlim_cur);
  single(out, "process_start_time_seconds", "gauge", "Start of the process, in seconds since 1970.",
         (double)s->started_at);
  single(out, "process_cpu_seconds_total", "counter", "Processor time, user and system.", cpu_seconds());
  family(out, "furrow_build_info", "gauge", "Version of the library and the instruction set it computes with.");
  fw_buffer_text(out, "furrow_build_info{version=");
  label_value(out, furrow_version());
  fw_buffer_text(out, ",isa=");
  label_value(out, furrow_isa());
  fw_buffer_text(out, "} 1\n");
}

/* ---- Models and indexes ---- */

typedef struct target_state {
  const char *name;
  double version, loaded_at, failed;
  double vectors;
  edit_figures edits;
} target_state;

static target_state model_state(served_model *model) {
  char text[8];
  model_version *version = served_model_get(model);
  target_state state = {.name = served_model_name(model), .failed = served_model_last_error(model, text, sizeof text)};
  if (!version) return state;
  state.version = (double)version->number;
  state.loaded_at = (double)version->loaded_at;
  shared_release(&version->shared);
  return state;
}

static target_state index_state(served_index *index) {
  char text[8];
  index_view *view = served_index_get(index);
  target_state state = {.name = served_index_name(index), .failed = served_index_last_error(index, text, sizeof text)};
  served_index_get_figures(index, &state.edits);
  if (!view) return state;
  state.version = (double)view->base->number;
  state.loaded_at = (double)view->base->loaded_at;
  state.vectors = (double)index_view_count(view);
  shared_release(&view->shared);
  return state;
}

enum { IS_FIGURE = 1 << 16 }; /* the field is a uint64_t of edit_figures, not a double of target_state */

typedef struct state_family {
  const char *name, *type, *help;
  size_t offset;
} state_family;

static const state_family model_families[] = {
    {"furrow_model_version", "gauge", "Version that is served; 0: none.", offsetof(target_state, version)},
    {"furrow_model_loaded_timestamp_seconds", "gauge", "When it was loaded.", offsetof(target_state, loaded_at)},
    {"furrow_model_reload_failed", "gauge", "1: the last reload was refused, and the version before stays.",
     offsetof(target_state, failed)},
    {0}};

#define FIGURE(field) (IS_FIGURE + offsetof(edit_figures, field))
static const state_family index_families[] = {
    {"furrow_index_version", "gauge", "Version that is served; 0: none.", offsetof(target_state, version)},
    {"furrow_index_loaded_timestamp_seconds", "gauge", "When it was loaded.", offsetof(target_state, loaded_at)},
    {"furrow_index_reload_failed", "gauge", "1: the last reload was refused, and the version before stays.",
     offsetof(target_state, failed)},
    {"furrow_index_vectors", "gauge", "Vectors that searches can find.", offsetof(target_state, vectors)},
    {"furrow_index_fresh", "gauge", "Vectors that were added since the last checkpoint.", FIGURE(fresh)},
    {"furrow_index_removed", "gauge", "Ids that were removed since the last checkpoint.", FIGURE(removed)},
    {"furrow_index_log_bytes", "gauge", "Size of the log of changes.", FIGURE(log_bytes)},
    {"furrow_index_additions_total", "counter", "Vectors that were added.", FIGURE(additions)},
    {"furrow_index_removals_total", "counter", "Vectors that were removed.", FIGURE(removals)},
    {"furrow_index_checkpoints_total", "counter", "Checkpoints that were written.", FIGURE(checkpoints)},
    {"furrow_index_checkpoint_failures_total", "counter", "Checkpoints that failed.", FIGURE(failures)},
    {"furrow_index_refuses_changes", "gauge", "1: changes are refused, because the log cannot be written.",
     FIGURE(refuses)},
    {"furrow_index_log_failures_total", "counter", "Times that the log could not be written.", FIGURE(log_failures)},
    {"furrow_index_log_syncs_total", "counter", "Times that the log was made durable.", FIGURE(syncs)},
    {0}};
#undef FIGURE

static double state_value(const target_state *state, size_t offset) {
  uint64_t figure;
  double value;
  if (offset < IS_FIGURE) {
    memcpy(&value, (const char *)state + offset, sizeof value);
    return value;
  }
  memcpy(&figure, (const char *)&state->edits + (offset - IS_FIGURE), sizeof figure);
  return (double)figure;
}

static void write_states(fw_buffer *out, const target_state *states, size_t count, const state_family *families) {
  for (const state_family *f = families; f->name && count > 0; f++) {
    family(out, f->name, f->type, f->help);
    for (size_t i = 0; i < count; i++) sample(out, f->name, "name", states[i].name, state_value(&states[i], f->offset));
  }
}

static void write_targets(const service *s, fw_buffer *out) {
  target_state *states = calloc(s->model_count + s->index_count + 1, sizeof *states);
  if (!states) {
    out->missing = 1;
    return;
  }
  for (size_t i = 0; i < s->model_count; i++) states[i] = model_state(s->models[i]);
  for (size_t i = 0; i < s->index_count; i++) states[s->model_count + i] = index_state(s->indexes[i]);
  write_states(out, states, s->model_count, model_families);
  write_states(out, states + s->model_count, s->index_count, index_families);
  free(states);
}

void metrics_write(const struct service *of, fw_buffer *out) {
  write_requests(of, out);
  write_targets(of, out);
  write_server(of, out);
  write_process(of, out);
}
