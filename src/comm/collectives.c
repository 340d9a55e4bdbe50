/* comm/collectives.c: sums, maxima and exchanges of variable length, built on the calls that every communicator has.
 *
 * A sum divides the numbers into one slice per rank. Every rank receives its slice from all ranks, adds it up in
 * rank order, and sends the result to all. Twice the numbers are transferred, whatever the number of ranks, and the
 * sum has the same bits on every rank and in every run. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "comm/collectives.h"

/* ---- a single process ---- */

static furrow_status self_exchange(const furrow_comm *comm, const void *send, const size_t *send_size, void *receive,
                                   const size_t *receive_size, furrow_error *err) {
  (void)comm, (void)receive_size, (void)err;
  if (send_size[0]) memmove(receive, send, send_size[0]);
  return FURROW_OK;
}

static furrow_status self_gather(const furrow_comm *comm, const void *bytes, size_t size, void *all,
                                 const size_t *sizes, furrow_error *err) {
  (void)comm, (void)sizes, (void)err;
  if (size) memmove(all, bytes, size);
  return FURROW_OK;
}

static furrow_status self_broadcast(const furrow_comm *comm, void *bytes, size_t size, unsigned root,
                                    furrow_error *err) {
  (void)comm, (void)bytes, (void)size, (void)root, (void)err;
  return FURROW_OK;
}

static furrow_status self_barrier(const furrow_comm *comm, furrow_error *err) {
  (void)comm, (void)err;
  return FURROW_OK;
}

const furrow_comm *fw_comm_self(void) {
  static const furrow_comm self = {.size = sizeof self,
                                   .ranks = 1,
                                   .exchange = self_exchange,
                                   .gather = self_gather,
                                   .broadcast = self_broadcast,
                                   .barrier = self_barrier};
  return &self;
}

furrow_status fw_comm_of(const furrow_comm **comm, const furrow_comm *given, furrow_error *err) {
  if (!given) {
    *comm = fw_comm_self();
    return FURROW_OK;
  }
  furrow_comm known;
  furrow_comm_init(&known);
  FW_TRY(FW_PARAMS_READ(&known, given, furrow_comm, err));
  if (known.ranks == 0 || known.rank >= known.ranks)
    return fw_fail(err, FURROW_E_ARGUMENT, "comm: rank %u of %u", known.rank, known.ranks);
  if (!known.exchange || !known.gather || !known.broadcast || !known.barrier)
    return fw_fail(err, FURROW_E_ARGUMENT, "comm: exchange, gather, broadcast and barrier are required");
  *comm = given;
  return FURROW_OK;
}

/* ---- sums and maxima ---- */

typedef enum combination { SUM_F32, SUM_F64, SUM_I64, MAX_F64, MAX_U64 } combination;

static size_t width_of(combination operation) {
  return operation == SUM_F32 ? sizeof(float) : sizeof(double);
}

/* Combines into[i] with from[i], in this order. */
static void combine(combination operation, void *into, const void *from, size_t count) {
  switch (operation) {
  case SUM_F32:
    for (size_t i = 0; i < count; i++) ((float *)into)[i] += ((const float *)from)[i];
    break;
  case SUM_F64:
    for (size_t i = 0; i < count; i++) ((double *)into)[i] += ((const double *)from)[i];
    break;
  case SUM_I64:
    for (size_t i = 0; i < count; i++) ((uint64_t *)into)[i] += ((const uint64_t *)from)[i];
    break;
  case MAX_F64:
    for (size_t i = 0; i < count; i++) {
      double *a = (double *)into + i;
      const double b = ((const double *)from)[i];
      if (b > *a || *a != *a) *a = b;
    }
    break;
  case MAX_U64:
    for (size_t i = 0; i < count; i++)
      if (((const uint64_t *)from)[i] > ((uint64_t *)into)[i]) ((uint64_t *)into)[i] = ((const uint64_t *)from)[i];
  }
}

/* The index of the first number of rank r's slice. */
static size_t slice_begin(size_t count, unsigned r, unsigned ranks) {
  const size_t each = count / ranks, more = count % ranks;
  return r * each + (r < more ? r : more);
}

/* Scratch memory of a call. Small sizes use `own`, so that allocation cannot fail: a rank that ran out of memory would
 * leave the call, and its next collective call would be mixed up with this call, in which the other ranks still
 * wait. */
typedef struct call_memory {
  uint64_t own[1024];
  void *memory;
} call_memory;

static furrow_status take_memory(call_memory *m, size_t count, size_t size, furrow_error *err) {
  m->memory = m->own;
  return size <= sizeof m->own / count ? FURROW_OK : fw_alloc(&m->memory, count, size, err);
}

static void drop_memory(call_memory *m) {
  if (m->memory != m->own) fw_free(m->memory);
}

/* For few numbers: every rank gathers the numbers of all ranks and combines them. */
static furrow_status combine_few(const furrow_comm *comm, combination operation, void *values, size_t count,
                                 furrow_error *err) {
  const size_t bytes = count * width_of(operation);
  call_memory m;
  FW_TRY(take_memory(&m, comm->ranks, bytes + sizeof(size_t), err));
  size_t *sizes = m.memory;
  char *all = (char *)(sizes + comm->ranks);
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = bytes;
  const furrow_status status = comm->gather(comm, values, bytes, all, sizes, err);
  if (status == FURROW_OK) {
    memcpy(values, all, bytes);
    for (unsigned r = 1; r < comm->ranks; r++) combine(operation, values, all + r * bytes, count);
  }
  drop_memory(&m);
  return status;
}

static furrow_status combine_slices(const furrow_comm *comm, combination operation, void *values, size_t count,
                                    furrow_error *err) {
  const size_t width = width_of(operation);
  const size_t own = slice_begin(count, comm->rank + 1, comm->ranks) - slice_begin(count, comm->rank, comm->ranks);
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, comm->ranks, own * width + 2 * sizeof(size_t), err));
  size_t *parts = memory, *mine = parts + comm->ranks;
  char *slices = (char *)(mine + comm->ranks);
  for (unsigned r = 0; r < comm->ranks; r++) {
    parts[r] = (slice_begin(count, r + 1, comm->ranks) - slice_begin(count, r, comm->ranks)) * width;
    mine[r] = own * width;
  }
  furrow_status status = comm->exchange(comm, values, parts, slices, mine, err);
  for (unsigned r = 1; status == FURROW_OK && r < comm->ranks; r++)
    combine(operation, slices, slices + r * own * width, own);
  if (status == FURROW_OK) status = comm->gather(comm, slices, own * width, values, parts, err);
  fw_free(memory);
  return status;
}

static furrow_status combine_all(const furrow_comm *comm, combination operation, void *values, size_t count,
                                 furrow_error *err) {
  enum { FEW = 512 };
  if (comm->ranks == 1 || count == 0) return FURROW_OK;
  return count < FEW ? combine_few(comm, operation, values, count, err)
                     : combine_slices(comm, operation, values, count, err);
}

furrow_status fw_comm_sum_f32(const furrow_comm *comm, float *values, size_t count, furrow_error *err) {
  return combine_all(comm, SUM_F32, values, count, err);
}

furrow_status fw_comm_sum_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) {
  return combine_all(comm, SUM_F64, values, count, err);
}

furrow_status fw_comm_sum_i64(const furrow_comm *comm, int64_t *values, size_t count, furrow_error *err) {
  if (comm->ranks > 1 && count > 0 && comm->sum_i64) return comm->sum_i64(comm, values, count, err);
  return combine_all(comm, SUM_I64, values, count, err);
}

furrow_status fw_comm_max_f64(const furrow_comm *comm, double *values, size_t count, furrow_error *err) {
  return combine_all(comm, MAX_F64, values, count, err);
}

furrow_status fw_comm_max_u64(const furrow_comm *comm, uint64_t *values, size_t count, furrow_error *err) {
  return combine_all(comm, MAX_U64, values, count, err);
}

/* ---- Sizes, then bytes ---- */

/* Gathers one number from every rank on all ranks. */
static furrow_status gather_numbers(const furrow_comm *comm, uint64_t mine, uint64_t *all, furrow_error *err) {
  call_memory m;
  FW_TRY(take_memory(&m, comm->ranks, sizeof(size_t), err));
  size_t *sizes = m.memory;
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = sizeof mine;
  const furrow_status status = comm->gather(comm, &mine, sizeof mine, all, sizes, err);
  drop_memory(&m);
  return status;
}

furrow_status fw_comm_offset(const furrow_comm *comm, uint64_t mine, uint64_t *before, uint64_t *all,
                             furrow_error *err) {
  call_memory m;
  if (comm->ranks == 1) {
    *before = 0;
    *all = mine;
    return FURROW_OK;
  }
  FW_TRY(take_memory(&m, comm->ranks, sizeof(uint64_t), err));
  uint64_t *counts = m.memory, sum = 0;
  const furrow_status status = gather_numbers(comm, mine, counts, err);
  for (unsigned r = 0; status == FURROW_OK && r < comm->ranks; r++) {
    if (r == comm->rank) *before = sum;
    sum += counts[r];
  }
  if (status == FURROW_OK) *all = sum;
  drop_memory(&m);
  return status;
}

static size_t sum_of(const size_t *sizes, unsigned ranks) {
  size_t total = 0;
  for (unsigned r = 0; r < ranks; r++) total += sizes[r];
  return total;
}

furrow_status fw_comm_gather_all(const furrow_comm *comm, const void *bytes, size_t size, void **all, size_t *total,
                                 size_t *sizes, furrow_error *err) {
  void *joined = NULL;
  call_memory m;
  FW_TRY(take_memory(&m, comm->ranks, sizeof(size_t), err));
  size_t *parts = m.memory;
  _Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes are numbers of 64 bits");
  furrow_status status = gather_numbers(comm, size, (uint64_t *)parts, err);
  if (status == FURROW_OK)
    status = fw_comm_all_ok(comm, fw_alloc(&joined, sum_of(parts, comm->ranks) + 1, 1, err), err);
  if (status == FURROW_OK) status = comm->gather(comm, bytes, size, joined, parts, err);
  if (status == FURROW_OK) {
    *all = joined;
    *total = sum_of(parts, comm->ranks);
    if (sizes) memcpy(sizes, parts, comm->ranks * sizeof *sizes);
  } else {
    fw_free(joined);
  }
  drop_memory(&m);
  return status;
}

furrow_status fw_comm_exchange_all(const furrow_comm *comm, const void *send, const size_t *send_size, void **receive,
                                   size_t *receive_size, furrow_error *err) {
  void *received = NULL;
  call_memory m;
  FW_TRY(take_memory(&m, comm->ranks, sizeof(size_t), err));
  size_t *each = m.memory;
  for (unsigned r = 0; r < comm->ranks; r++) each[r] = sizeof(size_t);
  furrow_status status = comm->exchange(comm, send_size, each, receive_size, each, err);
  drop_memory(&m);
  if (status == FURROW_OK)
    status = fw_comm_all_ok(comm, fw_alloc(&received, sum_of(receive_size, comm->ranks) + 1, 1, err), err);
  if (status == FURROW_OK) status = comm->exchange(comm, send, send_size, received, receive_size, err);
  return FW_HAND_OVER(status, receive, received, fw_free);
}

/* The command recognises errors of other ranks by these words. */
#define OTHERS "another process failed"

furrow_status fw_comm_all_ok(const furrow_comm *comm, furrow_status mine, furrow_error *err) {
  if (comm->ranks == 1) return mine;
  double failed = mine != FURROW_OK;
  furrow_error lost;
  const furrow_status status = fw_comm_max_f64(comm, &failed, 1, mine == FURROW_OK ? err : &lost);
  if (mine != FURROW_OK || status != FURROW_OK) return mine != FURROW_OK ? mine : status;
  return failed > 0 ? fw_fail(err, FURROW_E_STATE, OTHERS) : FURROW_OK;
}

/* The error of a rank, in the form that is sent to the other ranks. */
typedef struct rank_error {
  furrow_error error;
  char host[64];
} rank_error;

/* Whether the error came from another rank in an earlier call. */
static bool is_of_others(const furrow_error *error) {
  return strncmp(error->message, OTHERS, strlen(OTHERS)) == 0;
}

static bool same_error(const furrow_error *a, const furrow_error *b) {
  char x[1024], y[1024];
  furrow_error_to_text(a, x, sizeof x);
  furrow_error_to_text(b, y, sizeof y);
  return a->status == b->status && strcmp(x, y) == 0;
}

static void name_rank(furrow_error *error, const furrow_comm *comm, unsigned rank, const char *host) {
  char message[sizeof error->message];
  memcpy(message, error->message, sizeof message);
  snprintf(error->message, sizeof error->message, OTHERS ": rank %u of %u (%s): %.130s", rank, comm->ranks, host,
           message);
}

furrow_status fw_comm_share_status(const furrow_comm *comm, furrow_status mine, furrow_error *err) {
  if (comm->ranks == 1) return mine;
  rank_error told = {0};
  furrow_error own = {0};
  if (mine != FURROW_OK && err) own = *err;
  own.status = mine;
  told.error = own;
  /* the first rank with an error of its own has the largest value */
  uint64_t first = mine == FURROW_OK ? 0 : comm->ranks - comm->rank;
  if (mine != FURROW_OK && !is_of_others(&own)) first += comm->ranks;
  gethostname(told.host, sizeof told.host - 1);
  FW_TRY(fw_comm_max_u64(comm, &first, 1, err));
  if (first == 0) return FURROW_OK;
  const unsigned rank = (2 * comm->ranks - (unsigned)first) % comm->ranks;
  FW_TRY(comm->broadcast(comm, &told, sizeof told, rank, err));
  if (!same_error(&own, &told.error) && !is_of_others(&told.error)) name_rank(&told.error, comm, rank, told.host);
  if (err) *err = told.error;
  return told.error.status;
}
