/* serve/api/service.c: the threads that serve, and their memory. */
#include "api/service.h"

#include <stdlib.h>

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

/* The reader and the rows are as large as their largest request. */
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
  if (body_size > KEPT_BYTES) free_readers(memory);
}

static void free_memory(service *s) {
  for (unsigned i = 0; s->memory && i < s->threads; i++) {
    thread_memory *memory = &s->memory[i];
    free_readers(memory);
    fw_buffer_clear(&memory->text);
    fw_buffer_clear(&memory->numbers);
    fw_buffer_clear(&memory->results);
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
