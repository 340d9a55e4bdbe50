/* rows/rank_stats.c: what several ranks read of one data set. */
#include "rows/rank_stats.h"

#include "base/error.h"
#include "base/mem.h"

static void add_stats(furrow_parser_stats *into, const furrow_parser_stats *next) {
  if (into->bad_rows == 0) into->first_bad = next->first_bad;
  if (into->ignored == 0) into->first_ignored = next->first_ignored;
  into->rows += next->rows;
  into->features += next->features;
  into->bytes += next->bytes;
  into->bad_rows += next->bad_rows;
  into->ignored += next->ignored;
}

furrow_status fw_rank_stats_join(const furrow_comm *comm, furrow_parser_stats *stats, furrow_error *err) {
  void *memory = NULL;
  size_t bytes = 0;
  if (comm->ranks == 1) return FURROW_OK;
  FW_TRY(fw_comm_gather_all(comm, stats, sizeof *stats, &memory, &bytes, NULL, err));
  const furrow_parser_stats *all = memory;
  *stats = all[0];
  for (unsigned r = 1; r < comm->ranks; r++) add_stats(stats, &all[r]);
  fw_free(memory);
  return FURROW_OK;
}
