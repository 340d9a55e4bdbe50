/* serve/models/model_version.h: one version of a model, and how it is loaded. */
#ifndef SERVE_MODELS_MODEL_VERSION_H
#define SERVE_MODELS_MODEL_VERSION_H

#include "furrow/furrow.h"
#include "models/version_folder.h"
#include "shared/slot.h"

/* A loaded model. It never changes. */
typedef struct model_version {
  shared shared;
  uint64_t number;   /* number of its folder; 1 for a source without numbered folders, one more for each reload */
  char *folder;      /* path as messages show it */
  int64_t loaded_at; /* seconds since 1970 */
  const furrow_scorer *scorer;     /* scorer of the recommender, if there is one; NULL: a recommender of a log, which
                                      scores     no rows */
  const furrow_encoder *encoder;   /* NULL: a model of rows */
  furrow_recommender *recommender; /* NULL: not a model of users and items */
  furrow_item_table *items;        /* NULL: no names of items */
  furrow_events *seen;             /* NULL: none */
  furrow_learn_conf *conf;         /* as furrow_learn_conf_load_model gives it: how rows are read; NULL: there
                                      is no scorer */
  furrow_scorer *own_scorer;       /* the owned `scorer`, if there is no recommender */
  char algorithm[32];              /* "fm" … */
  const char *task;                /* "binary", "multiclass", "regression" or "ranking" */
  char **classes;                  /* name or label of each class, as JSON; model_class_of finds one */
  size_t class_count;              /* 0: the model predicts numbers */
  uint64_t features;               /* features of the log's encoder; numbers of an array that is a row */
  unsigned index_base;             /* index base of lines of rows: their first feature is 0 or 1 */
  _Atomic uint64_t row_ns;         /* time to score a row, measured when it was loaded, or with the first
                                      request that is scored; 0: not known yet */
  bool explains;                   /* furrow_scorer_contributions takes it */
  bool compares;                   /* furrow_recommender_similar takes it */
  uint64_t bytes;                  /* bytes of its files */
  unsigned threads;                /* elements of scratch */
  furrow_scorer_scratch **scratch; /* scratch of each thread; made by its first use: model_version_scratch */
  _Atomic(struct instance_decoder *) decoder; /* made by its first use: instance_decoder_get */
} model_version;

/* How a model is opened. */
typedef struct model_source {
  const char *name, *path;
  const char *items; /* a table of items and the column of their names, "movies.csv:title"; NULL: none */
  const char *seen;  /* a log of events whose items are not recommended to their users; NULL: none */
} model_source;

/* Reads a version without mapping a file, checks every record of its matrices, loads it, and scores a row. `threads`
 * load it (0: one for each processor); `users` threads may use it. Owner: the caller, as its first user. Errors: as
 * version_folder_check, furrow_matrix_verify, furrow_scorer_load, furrow_recommender_open, furrow_item_table_load and
 * furrow_events_load; E_RANGE, numbers that are not finite; E_ARGUMENT, items or a log for a model without users and
 * items; E_FORMAT, the setting class-names is not a list with a string, a number or a boolean for each class. */
furrow_status model_version_load(model_version **version, const model_source *source, const version_folder *folder,
                                 unsigned threads, unsigned users, furrow_error *err);
/* The scratch of a thread; NULL: out of memory. */
furrow_scorer_scratch *model_version_scratch(model_version *version, unsigned thread);
/* The class with a label of furrow_score, as JSON; NULL: there is none. */
const char *model_class_of(const model_version *version, double label);

#endif
