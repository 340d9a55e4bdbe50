/* cli/core/ranks_join.c: what the ranks of a command tell each other. */
#include "core/ranks_join.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

/* A rank that has no memory for an answer cannot take part in the next question: the job ends. */
static void *rank_memory(size_t count, size_t size) {
  void *memory = calloc(count, size);
  const furrow_comm *comm = ranks_comm();
  if (!memory && comm && comm->abort) comm->abort(comm, furrow_status_exit_code(FURROW_E_MEMORY));
  return memory;
}

static furrow_status gather(const void *mine, size_t size, char *all, furrow_error *err) {
  const furrow_comm *comm = ranks_comm();
  if (!comm) return memcpy(all, mine, size), FURROW_OK;
  size_t *sizes = rank_memory(comm->ranks, sizeof *sizes);
  if (!sizes) return fail_memory(err);
  for (unsigned r = 0; r < comm->ranks; r++) sizes[r] = size;
  const furrow_status status = comm->gather(comm, mine, size, all, sizes, err);
  free(sizes);
  return status;
}

furrow_status ranks_gather(const void *mine, size_t size, void **all, furrow_error *err) {
  char *memory = rank_memory(ranks_count(), size);
  if (!memory) return fail_memory(err);
  const furrow_status status = gather(mine, size, memory, err);
  if (status == FURROW_OK)
    *all = memory;
  else
    free(memory);
  return status;
}

furrow_status ranks_all_ok(furrow_status mine, furrow_error *err) {
  const unsigned ranks = ranks_count();
  const unsigned char failed = mine != FURROW_OK;
  furrow_error lost;
  void *all = NULL;
  if (ranks == 1) return mine;
  const furrow_status status = ranks_gather(&failed, 1, &all, failed ? &lost : err);
  if (status != FURROW_OK) return failed ? mine : status;
  const bool other = memchr(all, 1, ranks) != NULL;
  free(all);
  return other && !failed ? fail(err, FURROW_E_STATE, "another process failed") : mine;
}

furrow_status ranks_offset(uint64_t mine, uint64_t *before, uint64_t *all, furrow_error *err) {
  void *gathered = NULL;
  const furrow_status status = ranks_gather(&mine, sizeof mine, &gathered, err);
  if (status != FURROW_OK) return status;
  const uint64_t *numbers = gathered;
  *before = *all = 0;
  for (unsigned r = 0; r < ranks_count(); r++) {
    if (r < ranks_number()) *before += numbers[r];
    *all += numbers[r];
  }
  free(gathered);
  return FURROW_OK;
}
