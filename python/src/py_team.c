/* python/src/py_team.c: threads that share the pieces of a block. */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "py_scorer.h"

#define TEAM_MAX 256

struct fwpy_team {
  unsigned count; /* threads in addition to the caller's */
  pthread_t threads[TEAM_MAX];
  pthread_mutex_t mutex; /* protects everything below except next */
  pthread_cond_t begin, done;
  uint64_t round; /* counts up when there is work */
  unsigned busy;
  bool stop;
  void (*work)(void *user, size_t i);
  void *user;
  size_t pieces;
  atomic_size_t next;
};

static void take_pieces(fwpy_team *team) {
  size_t i;
  while ((i = atomic_fetch_add(&team->next, 1)) < team->pieces) team->work(team->user, i);
}

static void *team_thread(void *argument) {
  fwpy_team *team = argument;
  uint64_t seen = 0;
  pthread_mutex_lock(&team->mutex);
  for (;;) {
    while (!team->stop && team->round == seen) pthread_cond_wait(&team->begin, &team->mutex);
    if (team->stop) break;
    seen = team->round;
    pthread_mutex_unlock(&team->mutex);
    take_pieces(team);
    pthread_mutex_lock(&team->mutex);
    if (--team->busy == 0) pthread_cond_signal(&team->done);
  }
  pthread_mutex_unlock(&team->mutex);
  return NULL;
}

/* If a thread cannot be started, the team works with fewer. */
fwpy_team *fwpy_team_start(unsigned count) {
  fwpy_team *team = calloc(1, sizeof *team);
  if (!team) return NULL;
  const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (count == 0) count = processors > 1 ? (unsigned)processors : 1;
  if (count > TEAM_MAX) count = TEAM_MAX;
  pthread_mutex_init(&team->mutex, NULL);
  pthread_cond_init(&team->begin, NULL);
  pthread_cond_init(&team->done, NULL);
  while (team->count + 1 < count && pthread_create(&team->threads[team->count], NULL, team_thread, team) == 0)
    team->count++;
  return team;
}

void fwpy_team_run(fwpy_team *team, void (*work)(void *user, size_t i), void *user, size_t count) {
  const bool alone = count < 2 || team->count == 0;
  pthread_mutex_lock(&team->mutex);
  team->work = work;
  team->user = user;
  team->pieces = count;
  atomic_store(&team->next, 0);
  if (!alone) {
    team->busy = team->count;
    team->round++;
    pthread_cond_broadcast(&team->begin);
  }
  pthread_mutex_unlock(&team->mutex);
  take_pieces(team);
  pthread_mutex_lock(&team->mutex);
  while (team->busy > 0) pthread_cond_wait(&team->done, &team->mutex);
  pthread_mutex_unlock(&team->mutex);
}

void fwpy_team_stop(fwpy_team *team) {
  if (!team) return;
  pthread_mutex_lock(&team->mutex);
  team->stop = true;
  pthread_cond_broadcast(&team->begin);
  pthread_mutex_unlock(&team->mutex);
  for (unsigned i = 0; i < team->count; i++) pthread_join(team->threads[i], NULL);
  pthread_cond_destroy(&team->done);
  pthread_cond_destroy(&team->begin);
  pthread_mutex_destroy(&team->mutex);
  free(team);
}
