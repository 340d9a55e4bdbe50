/* serve/api/work_queue.c: threads that take work from a bounded queue. */
#include "api/work_queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/fail.h"

typedef struct worker {
  struct work_queue *queue;
  unsigned number;
  pthread_t thread;
} worker;

struct work_queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void **items; /* a ring */
  size_t capacity, first, count;
  bool stops;
  void (*work)(void *user, unsigned thread, void *item);
  void *user;
  unsigned threads;
  worker *workers;
};

/* Waits for an item; NULL: the queue is empty and stops. */
static void *take_item(work_queue *q) {
  void *item = NULL;
  pthread_mutex_lock(&q->lock);
  while (q->count == 0 && !q->stops) pthread_cond_wait(&q->changed, &q->lock);
  if (q->count > 0) {
    item = q->items[q->first];
    q->first = (q->first + 1) % q->capacity;
    q->count--;
  }
  pthread_mutex_unlock(&q->lock);
  return item;
}

static void *run_worker(void *argument) {
  worker *w = argument;
  void *item;
  while ((item = take_item(w->queue)) != NULL) w->queue->work(w->queue->user, w->number, item);
  return NULL;
}

furrow_status work_queue_start(work_queue **queue, unsigned threads, unsigned first_thread, size_t capacity,
                               void (*work)(void *user, unsigned thread, void *item), void *user, furrow_error *err) {
  work_queue *q = calloc(1, sizeof *q);
  if (!q) return fail_memory(err);
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  q->capacity = capacity > 0 ? capacity : 1;
  q->work = work;
  q->user = user;
  q->items = calloc(q->capacity, sizeof *q->items);
  q->workers = calloc(threads, sizeof *q->workers);
  furrow_status status = q->items && q->workers ? FURROW_OK : fail_memory(err);
  for (unsigned i = 0; i < threads && status == FURROW_OK; i++) {
    q->workers[i] = (worker){.queue = q, .number = first_thread + i};
    if (pthread_create(&q->workers[i].thread, NULL, run_worker, &q->workers[i]) != 0)
      status = fail(err, FURROW_E_IO, "a thread cannot be started");
    else
      q->threads++;
  }
  if (status == FURROW_OK)
    *queue = q;
  else
    work_queue_stop(q);
  return status;
}

bool work_queue_put(work_queue *q, void *item) {
  pthread_mutex_lock(&q->lock);
  const bool has_place = q->count < q->capacity && !q->stops;
  if (has_place) {
    q->items[(q->first + q->count) % q->capacity] = item;
    q->count++;
    pthread_cond_signal(&q->changed);
  }
  pthread_mutex_unlock(&q->lock);
  return has_place;
}

size_t work_queue_length(work_queue *q) {
  pthread_mutex_lock(&q->lock);
  const size_t count = q->count;
  pthread_mutex_unlock(&q->lock);
  return count;
}

void work_queue_stop(work_queue *q) {
  if (!q) return;
  pthread_mutex_lock(&q->lock);
  q->stops = true;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  for (unsigned i = 0; i < q->threads; i++) pthread_join(q->workers[i].thread, NULL);
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
  free(q->items);
  free(q->workers);
  free(q);
}
