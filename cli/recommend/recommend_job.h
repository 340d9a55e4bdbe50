/* cli/recommend/recommend_job.h: a recommender with the selected users and items, shared by recommend and eval. */
#ifndef CLI_RECOMMEND_RECOMMEND_JOB_H
#define CLI_RECOMMEND_RECOMMEND_JOB_H

#include "core/options.h"
#include "core/progress.h"
#include "furrow/recommend.h"

/* Which items, and how they are found. */
typedef struct finding_values {
  int64_t k; /* 0: not given */
  const char *exclude, *items, *only, *without;
  text_list where, context;
  bool exact, include_seen;
  int64_t candidates; /* 0: not given */
  double recall;      /* 0: not given */
} finding_values;

extern const option finding_options[];

typedef struct recommend_job {
  const finding_values *values;
  bool quiet;
  furrow_recommender *recommender;
  furrow_events *seen;
  uint8_t *allowed;
  furrow_pair *context; /* context of values->context.count */
  furrow_recommend_params params;
  progress progress;
  bool lacking_told; /* the table of items lacks some of them, and the user knows */
} recommend_job;

/* Opens the model, and reads the files that the options name. Close it, even after a failure. */
furrow_status recommend_job_open(recommend_job *job, const char *model, const finding_values *values, uint32_t threads,
                                 bool quiet, furrow_error *err);
/* Chooses how items are found for that number of users, and prints a note about it. */
furrow_status recommend_job_prepare(recommend_job *job, uint64_t users, furrow_error *err);
void recommend_job_close(recommend_job *job);
/* Warns about a model that orders items worse than their popularity does. */
void recommend_job_warn(const recommend_job *job);
/* Loads a column of the table of items, and says once how many items have no row. */
furrow_status recommend_job_load_items(recommend_job *job, const char *column, furrow_item_table **table,
                                       furrow_error *err);
/* Whether the model is a recommender of a log, which knows what its users took. */
bool recommend_job_is_of_log(const recommend_job *job);

/* Calls take for every line of a file of names (- is standard input), without its line end; blank lines are skipped. */
furrow_status for_each_name(const char *path, furrow_status (*take)(void *user, const char *name, furrow_error *err),
                            void *user, furrow_error *err);

#endif
