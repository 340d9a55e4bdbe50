/* rows/cache_ranks.h: a row cache that several ranks write. */
#ifndef FW_ROWS_CACHE_RANKS_H
#define FW_ROWS_CACHE_RANKS_H

#include "comm/collectives.h"
#include "rows/cache.h"

/* The part of one rank; the caller's struct, all zeros at first. */
typedef struct fw_cache_part {
  const furrow_comm *comm; /* NULL: there is none */
  char *path;              /* of the whole */
  char *part;              /* of the rank's own cache beside it */
  bool overwrite;
  bool complete; /* the rank's own is there */
} fw_cache_part;

/* Starts the rank's own cache, a hidden file beside `path`. */
furrow_status fw_cache_part_open(fw_cache_part *part, const char *path, const furrow_rows_writer_params *params,
                                 fw_cache_writer **writer, furrow_error *err) FURROW_MUST_USE;
/* Called by all ranks: completes the rank's own cache; then the first rank writes the rows of all into one, whose
 * records end where those of one process would, except where only some rows of more than 64 MiB have weights, queries,
 * fields or values. */
furrow_status fw_cache_part_commit(fw_cache_part *part, fw_cache_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes the rank's own cache. */
void fw_cache_part_clear(fw_cache_part *part);

#endif
