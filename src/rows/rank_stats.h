/* rows/rank_stats.h: what several ranks read of one data set. */
#ifndef FW_ROWS_RANK_STATS_H
#define FW_ROWS_RANK_STATS_H

#include "comm/collectives.h"
#include "furrow/rows.h"

/* Makes what this rank read what all ranks read; all of them call it. The first bad row is that of the first rank that
 * has one. */
furrow_status fw_rank_stats_join(const furrow_comm *comm, furrow_parser_stats *stats,
                                 furrow_error *err) FURROW_MUST_USE;

#endif
