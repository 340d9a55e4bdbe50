/* serve/shared/slot.c: something that many threads use and one thread replaces. */
#include "shared/slot.h"

#include <stddef.h>

void shared_init(shared *s, void (*free_self)(shared *self)) {
  atomic_init(&s->users, 1);
  s->free = free_self;
}

shared *shared_keep(shared *s) {
  if (s) atomic_fetch_add_explicit(&s->users, 1, memory_order_relaxed);
  return s;
}

void shared_release(shared *s) {
  if (s && atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) == 1) s->free(s);
}

void slot_init(slot *s) {
  pthread_mutex_init(&s->lock, NULL);
  s->current = NULL;
}

void slot_clear(slot *s) {
  shared_release(s->current);
  s->current = NULL;
  pthread_mutex_destroy(&s->lock);
}

shared *slot_get(slot *s) {
  pthread_mutex_lock(&s->lock);
  shared *current = shared_keep(s->current);
  pthread_mutex_unlock(&s->lock);
  return current;
}

void slot_set(slot *s, shared *next) {
  pthread_mutex_lock(&s->lock);
  shared *before = s->current;
  s->current = next;
  pthread_mutex_unlock(&s->lock);
  shared_release(before);
}
