/* vector/search/scratch.h: the memory of one thread while it searches. Kept by the searcher between calls. */
#ifndef FW_VECTOR_SEARCH_SCRATCH_H
#define FW_VECTOR_SEARCH_SCRATCH_H

#include <stdint.h>

#include "base/arena.h"

typedef struct fw_scratch {
  fw_arena arena;   /* of the queries at hand */
  uint8_t *visited; /* of graphs: a mark for each vector, all 0 between searches */
  int32_t *touched; /* room for as many: vectors with a mark */
  size_t visited_count;
  struct fw_scratch *next; /* while nobody uses it */
} fw_scratch;

furrow_status fw_scratch_create(fw_scratch **scratch, furrow_error *err) FURROW_MUST_USE;
void fw_scratch_free(fw_scratch *scratch);
/* At least n marks, and room in `touched`. */
furrow_status fw_scratch_marks(fw_scratch *scratch, size_t n, furrow_error *err) FURROW_MUST_USE;

#endif
