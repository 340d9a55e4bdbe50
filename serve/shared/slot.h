/* serve/shared/slot.h: something that many threads use and one thread replaces: users keep an object until they release
 * it, and the last one frees it. */
#ifndef SERVE_SHARED_SLOT_H
#define SERVE_SHARED_SLOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of whatever a slot holds. */
typedef struct shared {
  atomic_long users;
  void (*free)(struct shared *self);
} shared;

typedef struct slot {
  pthread_mutex_t lock; /* held for the moment of reading or changing the pointer */
  shared *current;
} slot;

void shared_init(shared *s, void (*free_self)(shared *self)); /* one user: the caller */
shared *shared_keep(shared *s);                               /* one more user; takes and returns NULL */
void shared_release(shared *s);                               /* takes NULL */

void slot_init(slot *s);
/* Releases what it holds. */
void slot_clear(slot *s);
/* What it holds now, kept for the caller, who releases it; NULL: nothing. */
shared *slot_get(slot *s);
/* Takes `next` (with the caller's use of it) and releases what it held. */
void slot_set(slot *s, shared *next);

/* The result of a reload. */
typedef struct reload_result {
  bool changed;     /* another version is served now */
  bool is_older;    /* it is not the newest, which was refused */
  uint64_t version; /* version that is served now; 0: none */
} reload_result;

#endif
