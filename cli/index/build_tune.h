/* cli/index/build_tune.h: search settings for an index that was just filled, from vectors of its own. */
#ifndef CLI_INDEX_BUILD_TUNE_H
#define CLI_INDEX_BUILD_TUNE_H

#include "index/index_fill.h"

/* Takes some of the vectors as queries, finds their 10 nearest other vectors by comparing all, and stores the settings
 * that find the share `recall` of them in the index. Reads the vectors twice. */
furrow_status build_tune(furrow_index *index, filling *fill, double recall, index_job *job, furrow_index_tuning *tuning,
                         furrow_error *err);

#endif
