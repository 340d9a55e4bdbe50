/* cli/index/index_ranks.c: processes that build or search one index: their parts, and what they tell each other. */
#include "index/index_ranks.h"

#include <stdlib.h>

#include "core/fail.h"

/* One number of every process; `all` has an element for each. */
static furrow_status gather(uint64_t mine, uint64_t *all, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  size_t *sizes = malloc(comm->ranks * sizeof *sizes);
  if (!sizes) return fail_memory(err);
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = sizeof mine;
  const furrow_status status = comm->gather(comm, &mine, sizeof mine, all, sizes, err);
  free(sizes);
  return status;
}

furrow_status index_ranks_all_ok(furrow_status mine, furrow_error *err) {
  const unsigned ranks = ranks_count();
  furrow_error lost;
  if (ranks == 1) return mine;
  uint64_t *failed = malloc(ranks * sizeof *failed), count = 0;
  if (!failed) return mine == FURROW_OK ? fail_memory(err) : mine;
  const furrow_status status = gather(mine != FURROW_OK, failed, mine == FURROW_OK ? err : &lost);
  for (unsigned r = 0; status == FURROW_OK && r < ranks; r++) count += failed[r];
  free(failed);
  if (mine != FURROW_OK || status != FURROW_OK) return mine != FURROW_OK ? mine : status;
  return count > 0 ? fail(err, FURROW_E_STATE, "another process failed") : FURROW_OK;
}

furrow_status index_ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err) {
  const unsigned ranks = ranks_count();
  *before = 0;
  *all = mine;
  if (ranks == 1) return FURROW_OK;
  uint64_t *numbers = malloc(ranks * sizeof *numbers);
  if (!numbers) return fail_memory(err);
  const furrow_status status = gather(mine, numbers, err);
  *all = 0;
  for (unsigned r = 0; status == FURROW_OK && r < ranks; r++) {
    if (r < ranks_number()) *before += numbers[r];
    *all += numbers[r];
  }
  free(numbers);
  return status;
}

furrow_status index_ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  const unsigned ranks = ranks_count();
  uint64_t *numbers = malloc(ranks * sizeof *numbers);
  size_t *sizes = calloc(2 * (size_t)ranks, sizeof *sizes), sum = 0;
  char *joined = NULL;
  furrow_status status = numbers && sizes ? gather(size, numbers, err) : fail_memory(err);
  if (status == FURROW_OK && comm->rank == 0)
    for (unsigned r = 0; r < ranks; r++) sum += sizes[ranks + r] = (size_t)numbers[r];
  if (status == FURROW_OK) {
    sizes[0] = size;
    joined = malloc(sum + 1);
    status = index_ranks_all_ok(joined ? FURROW_OK : fail_memory(err), err);
  }
  if (status == FURROW_OK) status = comm->exchange(comm, bytes, sizes, joined, sizes + ranks, err);
  free(numbers);
  free(sizes);
  if (status != FURROW_OK || comm->rank > 0) {
    free(joined);
    joined = NULL;
  }
  *all = joined;
  *total = sum;
  return status;
}

uint64_t index_ranks_first(uint64_t total, unsigned rank) {
  const uint64_t ranks = ranks_count();
  return total / ranks * rank + (total % ranks < rank ? total % ranks : rank);
}
