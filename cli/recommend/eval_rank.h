/* cli/recommend/eval_rank.h: furrow eval --rank: how good the recommendations of a model are. */
#ifndef CLI_RECOMMEND_EVAL_RANK_H
#define CLI_RECOMMEND_EVAL_RANK_H

#include "core/output.h"
#include "recommend/recommend_job.h"

typedef struct ranking_values {
  bool on;
  const char *from; /* NULL: not given */
  finding_values finding;
} ranking_values;

extern const option ranking_options[];

/* The values of eval's own options. */
typedef struct ranking_source {
  const char *model, *data;
  uint32_t threads;
  furrow_on_bad on_bad;
  bool quiet;
} ranking_source;

/* Whether an option was given that has no effect without --rank. */
bool ranking_values_given(const ranking_values *values);
furrow_status eval_ranking_run(const ranking_values *values, const ranking_source *source, bool json, output *out,
                               furrow_error *err);

#endif
