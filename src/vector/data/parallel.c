/* vector/data/parallel.c: runs a job over many vectors in parts, on a thread pool. */
#include "vector/data/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_THREADS = 1024 };

typedef struct parts {
  size_t n, size;
  fw_parallel_body body;
  void *context;
  pthread_mutex_t lock;
  atomic_size_t failed; /* the first part that failed; larger than the last part: none */
  furrow_status status;
  furrow_error err;
} parts;

unsigned fw_thread_count(unsigned asked) {
  if (asked == 0) return fw_processor_count();
  return asked < MOST_THREADS ? asked : MOST_THREADS;
}

furrow_status fw_parallel_start(fw_pool **pool, unsigned threads, furrow_error *err) {
  threads = fw_thread_count(threads);
  *pool = NULL;
  return threads > 1 ? fw_pool_create(pool, threads - 1, err) : FURROW_OK;
}

static void note_failure(parts *p, size_t i, furrow_status status, const furrow_error *err) {
  pthread_mutex_lock(&p->lock);
  if (i < atomic_load(&p->failed)) {
    atomic_store(&p->failed, i);
    p->status = status;
    p->err = *err;
  }
  pthread_mutex_unlock(&p->lock);
}

/* Parts before a failed one still run: if such a part fails, too, its error is reported instead. */
static void run_part(void *context, size_t i) {
  parts *p = context;
  if (i > atomic_load(&p->failed)) return;
  size_t first = i * p->size;
  furrow_error err = {0};
  furrow_status status = p->body(p->context, first, p->n - first < p->size ? p->n - first : p->size, &err);
  if (status != FURROW_OK) note_failure(p, i, status, &err);
}

furrow_status fw_parallel_run(fw_pool *pool, size_t n, size_t size, fw_parallel_body body, void *context,
                              furrow_error *err) {
  size_t count = n / size + (n % size != 0);
  parts p = {.n = n, .size = size, .body = body, .context = context};
  furrow_status status = FURROW_OK;
  atomic_init(&p.failed, SIZE_MAX);
  pthread_mutex_init(&p.lock, NULL);
  if (pool && count > 1)
    status = fw_pool_for(pool, count, run_part, &p, err);
  else
    for (size_t i = 0; i < count; i++) run_part(&p, i);
  pthread_mutex_destroy(&p.lock);
  if (p.status == FURROW_OK) return status;
  if (err) *err = p.err;
  return p.status;
}
