/* cli/recommend/eval_rank.h: furrow eval --rank: how good the recommendations of a model are. */
#ifndef CLI_RECOMMEND_EVAL_RANK_H
#define CLI_RECOMMEND_EVAL_RANK_H

#include "core/output.h"
#include "recommend/recommend_job.h"

typedef struct rank_values {
  bool on;
  const char *from; /* NULL: not given */
  finding_values finding;
} rank_values;

extern const option rank_options[];

/* What eval's own options say. */
typedef struct rank_source {
  const char *model, *data;
  uint32_t threads;
  furrow_on_bad on_bad;
  bool quiet;
} rank_source;

/* Whether an option was given that means nothing without --rank. */
bool rank_values_given(const rank_values *values);
furrow_status eval_rank_run(const rank_values *values, const rank_source *source, bool json, output *out,
                            furrow_error *err);

#endif
