/* learn/net/hogwild.c: an epoch in which threads update without waiting for each other. */
#include "learn/net/hogwild.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"

/* What a thread has to itself. */
typedef struct worker {
  fw_batch_slot slot;
  fw_tally *tally;
} worker;

struct fw_hogwild {
  furrow_trainer *trainer;
  pthread_mutex_t feeding, growing;
  unsigned count;
  worker *workers;
  /* the epoch */
  const fw_row_source *from;
  uint32_t epoch;
  atomic_uint_fast64_t steps, rows;
  pthread_t caller;
  fw_rows_progress done;
  void *user;
  atomic_bool stop;
  furrow_status status; /* of the first failure: under `feeding` */
  furrow_error error;
};

furrow_status fw_hogwild_create(fw_hogwild **hogwild, furrow_trainer *trainer, furrow_error *err) {
  void *memory, *workers = NULL;
  const unsigned count = fw_spin_pool_threads(trainer->pool);
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof **hogwild, err);
  if (status != FURROW_OK) return status;
  fw_hogwild *h = memory;
  h->trainer = trainer;
  pthread_mutex_init(&h->feeding, NULL);
  pthread_mutex_init(&h->growing, NULL);
  status = fw_alloc_zero(&workers, count, sizeof *h->workers, err);
  h->workers = workers;
  h->count = status == FURROW_OK ? count : 0;
  for (unsigned i = 0; status == FURROW_OK && i < count; i++) {
    status = fw_batch_slot_init(&h->workers[i].slot, trainer->net, i > 0 ? &h->workers[0].slot : NULL, err);
    if (status == FURROW_OK) status = fw_batch_slot_init_pass(&h->workers[i].slot, err);
    if (status == FURROW_OK) status = fw_tally_create(&h->workers[i].tally, &trainer->plan->graph, err);
  }
  if (status == FURROW_OK) {
    *hogwild = h;
  } else {
    fw_hogwild_free(h);
  }
  return status;
}

void fw_hogwild_free(fw_hogwild *h) {
  if (!h) return;
  for (unsigned i = 0; i < h->count; i++) {
    fw_batch_slot_clear(&h->workers[i].slot);
    fw_tally_free(h->workers[i].tally);
  }
  pthread_mutex_destroy(&h->growing);
  pthread_mutex_destroy(&h->feeding);
  fw_free(h->workers);
  fw_free(h);
}

/* The first failure is kept and ends the work of all. */
static void fail_all(fw_hogwild *h, furrow_status status, const furrow_error *error) {
  pthread_mutex_lock(&h->feeding);
  if (h->status == FURROW_OK) {
    h->status = status;
    h->error = *error;
  }
  pthread_mutex_unlock(&h->feeding);
  atomic_store(&h->stop, true);
}

static furrow_status take_batch(fw_hogwild *h, fw_batch_slot *slot, furrow_error *err) {
  pthread_mutex_lock(&h->feeding);
  furrow_status status = fw_batch_slot_fill(slot, h->from, err);
  pthread_mutex_unlock(&h->feeding);
  if (status != FURROW_OK) return status;
  const bool grows = fw_net_is_open(h->trainer->net);
  if (grows) pthread_mutex_lock(&h->growing);
  status = fw_batch_slot_begin(slot, true, err);
  if (grows) pthread_mutex_unlock(&h->growing);
  return status;
}

static furrow_status update(fw_hogwild *h, worker *at, furrow_error *err) {
  furrow_trainer *t = h->trainer;
  fw_batch_slot *slot = &at->slot;
  const fw_step step = fw_trainer_step_at(t, atomic_fetch_add(&h->steps, 1) + 1, h->epoch);
  double loss;
  const size_t tasks = fw_batch_slot_tasks(slot);
  for (size_t i = 0; i < tasks; i++) fw_batch_slot_rows(slot, &step, i);
  furrow_status status = fw_batch_slot_loss(slot, &loss, err);
  if (status != FURROW_OK) t->diverged = true;
  if (status != FURROW_OK) return status;
  const size_t sums = fw_net_sum_tasks(t->net, slot->pass), updates = fw_net_update_tasks(t->net, slot->pass);
  for (size_t i = 0; i < sums; i++) fw_net_sum(t->net, slot->pass, i);
  for (size_t i = 0; i < updates; i++) fw_net_update(t->net, slot->pass, &step, i);
  fw_batch_slot_tally(slot, at->tally);
  const uint64_t rows = atomic_fetch_add(&h->rows, slot->batch->rows) + slot->batch->rows;
  return pthread_equal(pthread_self(), h->caller) ? h->done(h->user, rows, err) : FURROW_OK;
}

static void work(void *context, size_t i) {
  fw_hogwild *h = context;
  worker *at = &h->workers[i];
  furrow_error error;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && !atomic_load(&h->stop)) {
    status = take_batch(h, &at->slot, &error);
    if (status == FURROW_OK && !at->slot.batch) return;
    if (status == FURROW_OK) status = update(h, at, &error);
  }
  if (status != FURROW_OK) fail_all(h, status, &error);
}

furrow_status fw_hogwild_epoch(fw_hogwild *h, const fw_row_source *from, uint32_t epoch, fw_tally *tally,
                               fw_rows_progress done, void *user, furrow_error *err) {
  h->from = from;
  h->epoch = epoch;
  h->caller = pthread_self();
  h->done = done;
  h->user = user;
  h->status = FURROW_OK;
  atomic_store(&h->stop, false);
  atomic_store(&h->steps, h->trainer->steps);
  atomic_store(&h->rows, 0);
  for (unsigned i = 0; i < h->count; i++) fw_tally_clear(h->workers[i].tally, FW_EXACT_TRAIN_ROWS);
  fw_spin_pool_run(h->trainer->pool, h->count, work, h);
  h->trainer->steps = atomic_load(&h->steps);
  if (h->status != FURROW_OK) {
    if (err) *err = h->error;
    return h->status;
  }
  for (unsigned i = 0; i < h->count; i++) fw_tally_merge(tally, h->workers[i].tally);
  return FURROW_OK;
}
