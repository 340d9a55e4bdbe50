/* vector/search/scratch.c: the memory of one thread while it searches. */
#include "vector/search/scratch.h"

#include "base/mem.h"

furrow_status fw_scratch_create(fw_scratch **scratch, furrow_error *err) {
  void *memory = NULL;
  const furrow_status status = fw_alloc_zero(&memory, 1, sizeof **scratch, err);
  if (status == FURROW_OK) *scratch = memory;
  return status;
}

void fw_scratch_free(fw_scratch *scratch) {
  if (!scratch) return;
  fw_arena_clear(&scratch->arena);
  fw_free(scratch->visited);
  fw_free(scratch->touched);
  fw_free(scratch);
}

furrow_status fw_scratch_marks(fw_scratch *scratch, size_t n, furrow_error *err) {
  if (n <= scratch->visited_count) return FURROW_OK;
  void *visited = NULL, *touched = NULL;
  furrow_status status = fw_alloc_zero(&visited, n, 1, err);
  if (status == FURROW_OK) status = fw_alloc(&touched, n, sizeof *scratch->touched, err);
  if (status != FURROW_OK) {
    fw_free(visited);
    return status;
  }
  fw_free(scratch->visited);
  fw_free(scratch->touched);
  scratch->visited = visited;
  scratch->touched = touched;
  scratch->visited_count = n;
  return FURROW_OK;
}
