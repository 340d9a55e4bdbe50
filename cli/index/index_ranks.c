/* cli/index/index_ranks.c: processes that build or search one index: their parts, and what they tell each other. */
#include "index/index_ranks.h"

#include <stdlib.h>

#include "core/fail.h"

furrow_status index_ranks_collect(const void *bytes, size_t size, void **all, size_t *total, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  const unsigned ranks = ranks_count();
  const uint64_t mine = size;
  size_t *sizes = calloc(2 * (size_t)ranks, sizeof *sizes), sum = 0;
  void *gathered = NULL;
  char *joined = NULL;
  furrow_status status = ranks_gather(&mine, sizeof mine, &gathered, err);
  status = ranks_all_ok(status == FURROW_OK && !sizes ? fail_memory(err) : status, err);
  const uint64_t *numbers = gathered;
  if (status == FURROW_OK && comm->rank == 0)
    for (unsigned r = 0; r < ranks; r++) sum += sizes[ranks + r] = (size_t)numbers[r];
  if (status == FURROW_OK) {
    sizes[0] = size;
    joined = malloc(sum + 1);
    status = ranks_all_ok(joined ? FURROW_OK : fail_memory(err), err);
  }
  if (status == FURROW_OK) status = comm->exchange(comm, bytes, sizes, joined, sizes + ranks, err);
  free(gathered);
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
