/* cli/index/build_tune.h: search settings for an index that was just filled. */
#ifndef CLI_INDEX_BUILD_TUNE_H
#define CLI_INDEX_BUILD_TUNE_H

#include "index/index_edit.h"
#include "index/index_fill.h"

/* Finds the 10 nearest vectors of some queries by comparing all, and stores the settings that find the share `recall`
 * of them in the index. queries: a file of vectors that are not in the index; NULL: some of the vectors of `fill` are
 * the queries, and not their own neighbours. Reads the vectors of `fill` once or twice. */
furrow_status build_tune(furrow_index *index, filling *fill, const char *queries, double recall, index_job *job,
                         furrow_index_tuning *tuning, furrow_error *err);

#endif
