/* learn/forest/grow_ranks.c: histograms and best splits of a tree whose rows are divided over ranks. */
#include "learn/forest/tree_grow.h"

#include "base/error.h"
#include "base/mem.h"

#define MESSAGE_BYTES ((size_t)16 << 20) /* of the histograms that are sent at once, about */

/* ---- Slices --------------------------------------------------------------------------------------------- */

/* Slices of about as many words each. */
static void divide_features(fw_grow_ranks *r) {
  const size_t features = r->all->binned->cuts->count, total = fw_histogram_words(r->all, 0, features);
  const unsigned ranks = r->comm->ranks;
  size_t f = 0, before = 0;
  for (unsigned rank = 0; rank < ranks; rank++) {
    r->slice[rank] = f;
    r->words[rank] = 0;
    for (; f < features && before + r->words[rank] < total / ranks * (rank + 1) + total % ranks; f++)
      r->words[rank] += fw_histogram_words(r->all, f, f + 1);
    before += r->words[rank];
  }
  r->slice[ranks] = features;
}

furrow_status fw_grow_ranks_init(fw_grow_ranks *r, const furrow_comm *comm, const fw_histograms *all,
                                 fw_spin_pool *pool, furrow_error *err) {
  *r = (fw_grow_ranks){.comm = comm, .all = all, .pool = pool};
  FW_TRY(FW_ALLOC(&r->slice, 4 * (size_t)comm->ranks + 1, err));
  r->words = r->slice + comm->ranks + 1;
  r->sent = r->words + comm->ranks;
  r->received = r->sent + comm->ranks;
  divide_features(r);
  return FURROW_OK;
}

void fw_grow_ranks_clear(fw_grow_ranks *r) {
  fw_free(r->slice);
  fw_free(r->send);
  fw_free(r->receive);
  fw_free(r->best);
  *r = (fw_grow_ranks){0};
}

/* ---- Histograms ----------------------------------------------------------------------------------------- */

typedef struct parcel {
  fw_grow_ranks *ranks;
  fw_histogram *const *histogram;
  size_t count;
} parcel;

/* Words before the words of rank `rank` in a message to all ranks, or from all. */
static size_t sent_before(const parcel *p, unsigned rank) {
  size_t words = 0;
  for (unsigned i = 0; i < rank; i++) words += p->ranks->sent[i] / sizeof(uint64_t);
  return words;
}

/* What goes to one rank: its slice of each histogram. */
static void pack(void *context, size_t to) {
  const parcel *p = context;
  const fw_grow_ranks *r = p->ranks;
  if (to == r->comm->rank) return;
  uint64_t *words = r->send + sent_before(p, (unsigned)to);
  for (size_t i = 0; i < p->count; i++, words += r->words[to])
    fw_histogram_write(r->all, r->slice[to], r->slice[to + 1], p->histogram[i], words);
}

/* Histogram i of the other ranks is added to this one's; all of them send as many words. */
static void unpack(void *context, size_t i) {
  const parcel *p = context;
  const fw_grow_ranks *r = p->ranks;
  const unsigned own = r->comm->rank;
  const size_t each = r->words[own];
  for (unsigned from = 0; from + 1 < r->comm->ranks; from++)
    fw_histogram_add_words(r->all, r->slice[own], r->slice[own + 1], p->histogram[i],
                           r->receive + (from * p->count + i) * each);
}

static void size_messages(const parcel *p) {
  const fw_grow_ranks *r = p->ranks;
  for (unsigned rank = 0; rank < r->comm->ranks; rank++) {
    const bool other = rank != r->comm->rank;
    r->sent[rank] = other ? p->count * r->words[rank] * sizeof(uint64_t) : 0;
    r->received[rank] = other ? p->count * r->words[r->comm->rank] * sizeof(uint64_t) : 0;
  }
}

/* Memory for the messages of `step` histograms, and for the best splits of all `count`. */
static furrow_status reserve_messages(fw_grow_ranks *r, size_t step, size_t count, furrow_error *err) {
  const parcel p = {.ranks = r, .count = step};
  const size_t received = step * r->words[r->comm->rank] * (r->comm->ranks - 1);
  size_messages(&p);
  FW_TRY(FW_GROW(&r->send, &r->send_capacity, sent_before(&p, r->comm->ranks) + 1, err));
  FW_TRY(FW_GROW(&r->receive, &r->receive_capacity, received + 1, err));
  return FW_GROW(&r->best, &r->best_capacity, 2 * count * (r->comm->ranks + 1), err);
}

/* Some histograms at a time. */
furrow_status fw_grow_ranks_add(fw_grow_ranks *r, furrow_status status, fw_histogram *const *histogram, size_t count,
                                furrow_error *err) {
  if (r->comm->ranks == 1) return status;
  size_t words = 1;
  for (unsigned rank = 0; rank < r->comm->ranks; rank++) words += r->words[rank];
  const size_t most = MESSAGE_BYTES / sizeof(uint64_t) / words + 1, step = most < count ? most : count;
  if (status == FURROW_OK) status = reserve_messages(r, step, count, err);
  FW_TRY(fw_comm_share_status(r->comm, status, err));
  for (size_t at = 0; at < count; at += step) {
    parcel p = {r, histogram + at, count - at < step ? count - at : step};
    size_messages(&p);
    fw_spin_pool_run(r->pool, r->comm->ranks, pack, &p);
    FW_TRY(r->comm->exchange(r->comm, r->send, r->sent, r->receive, r->received, err));
    fw_spin_pool_run(r->pool, p.count, unpack, &p);
  }
  return FURROW_OK;
}

/* ---- Splits, counts ------------------------------------------------------------------------------------- */

furrow_status fw_grow_ranks_keep_best(fw_grow_ranks *r, fw_best_split *const *best, size_t count, furrow_error *err) {
  const unsigned ranks = r->comm->ranks;
  if (ranks == 1) return FURROW_OK;
  for (unsigned rank = 0; rank < ranks; rank++) r->received[rank] = count * sizeof *r->best;
  for (size_t i = 0; i < count; i++) r->best[i] = *best[i];
  fw_best_split *all = r->best + count;
  FW_TRY(r->comm->gather(r->comm, r->best, count * sizeof *r->best, all, r->received, err));
  for (size_t i = 0; i < count * ranks; i++) fw_best_split_keep(r->all->binned->cuts, best[i % count], &all[i]);
  return FURROW_OK;
}

/* Failures are counted with the rest; only where there is one, ranks tell each other which. */
furrow_status fw_grow_ranks_count(const fw_grow_ranks *r, furrow_status status, int64_t *number, size_t count,
                                  furrow_error *err) {
  if (r->comm->ranks == 1) return status;
  number[count] = status != FURROW_OK;
  FW_TRY(fw_comm_sum_i64(r->comm, number, count + 1, err));
  return number[count] > 0 ? fw_comm_share_status(r->comm, status, err) : FURROW_OK;
}
