/* serve/api/work_queue.h: threads that take work from a bounded queue. */
#ifndef SERVE_API_WORK_QUEUE_H
#define SERVE_API_WORK_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

typedef struct work_queue work_queue;

/* Starts `threads` threads, which call work(user, first_thread + i, item) for each item, in their order.
 * Errors: E_MEMORY; E_IO, a thread cannot be started. */
furrow_status work_queue_start(work_queue **queue, unsigned threads, unsigned first_thread, size_t capacity,
                               void (*work)(void *user, unsigned thread, void *item), void *user, furrow_error *err);
/* Returns false: the queue is full. */
bool work_queue_put(work_queue *queue, void *item);
/* Items that wait. */
size_t work_queue_length(work_queue *queue);
/* Finishes the queued items, ends the threads and frees the queue. Takes NULL. */
void work_queue_stop(work_queue *queue);

#endif
