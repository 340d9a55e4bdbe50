/* serve/catalog/served_model.h: a model that is served, and one version of it.
 *
 * The source is a model directory, or a folder of numbered ones (1, 2, 17 …), of which the highest is served. A version
 * is read without mapping a file (they may be replaced or cut while it is loaded or served), checked, loaded,
 * warmed by a row, and then takes the place of the one before, which goes when its last request is answered. A version
 * that cannot be used is refused and remembered: the one before stays.
 */
#ifndef SERVE_CATALOG_SERVED_MODEL_H
#define SERVE_CATALOG_SERVED_MODEL_H

#include "catalog/slot.h"
#include "furrow/furrow.h"

/* A loaded model. It never changes. */
typedef struct model_version {
  shared shared;
  uint64_t number;               /* of its folder; 1 for a source without numbered folders, one more for each reload */
  char *folder;                  /* as told to people */
  int64_t loaded_at;             /* seconds since 1970 */
  const furrow_scorer *scorer;   /* of the recommender, where there is one */
  const furrow_encoder *encoder; /* NULL: a model of rows */
  furrow_recommender *recommender;            /* NULL: not a model of users and items */
  furrow_item_table *items;                   /* NULL: no names of items */
  furrow_events *seen;                        /* NULL: none */
  furrow_learn_conf *conf;                    /* as furrow_learn_conf_load_model gives it: how rows are read */
  furrow_scorer *own_scorer;                  /* what `scorer` is, where there is no recommender */
  char algorithm[32];                         /* "fm" … */
  const char *task;                           /* "binary", "multiclass", "regression" or "ranking" */
  char **classes;                             /* of each class its name or label, as JSON; see model_classes.h */
  size_t class_count;                         /* 0: the model predicts numbers */
  uint64_t features;                          /* of the log's encoder; numbers of an array that is a row */
  unsigned index_base;                        /* of lines of rows: their first feature is 0 or 1 */
  _Atomic uint64_t row_ns;                    /* time to score a row, measured when it was loaded, or with the first
                                                 request that is scored; 0: not known yet */
  bool explains;                              /* furrow_scorer_contributions takes it */
  bool compares;                              /* furrow_recommender_similar takes it */
  uint64_t bytes;                             /* of its files */
  unsigned threads;                           /* elements of scratch */
  furrow_scorer_scratch **scratch;            /* of each thread; made by its first use: model_version_scratch */
  _Atomic(struct instance_decoder *) decoder; /* made by its first use (api/instances.h): instance_decoder_free */
} model_version;

/* How a model is opened. */
typedef struct model_source {
  const char *name, *path;
  const char *items; /* a table of items and the column of their names, "movies.csv:title"; NULL: none */
  const char *seen;  /* a log of events whose items are not recommended to their users; NULL: none */
} model_source;

/* What a reload came to. */
typedef struct reload_result {
  bool changed;     /* another version is served now */
  uint64_t version; /* that is served now; 0: none */
} reload_result;

typedef struct served_model served_model;

/* Makes it without a version. `threads`: how many there are that may call model_version_scratch.
 * Owner: the caller frees it with served_model_free. */
furrow_status served_model_create(served_model **model, const model_source *source, unsigned threads,
                                  furrow_error *err);
void served_model_free(served_model *model);
const char *served_model_name(const served_model *model);
/* Loads the newest version if it is not the one that is served or its items or log have changed, or if `force`. The
 * first call falls back to a lower number where the newest cannot be used: then it returns OK, and
 * served_model_last_error says what is wrong with the newest. Slow: never on a thread of a loop. One call at a time
 * goes on, and one waits; further ones are E_STATE. */
furrow_status served_model_reload(served_model *model, bool force, reload_result *result, furrow_error *err);
/* Returns whether the source has a version that is newer than the one served and was not refused before: cheap. */
bool served_model_has_newer(served_model *model);
/* The version that is served, kept for the caller, who releases it with shared_release(&version->shared); NULL: none is
 * ready. */
model_version *served_model_get(served_model *model);
/* Writes an error of a reload as clients may read it, in one line: of the path of a file only what follows that of the
 * source. */
void served_model_error_text(const served_model *model, const furrow_error *err, char *text, size_t size);
/* The error of the last reload, written so; false: it went well. */
bool served_model_last_error(served_model *model, char *text, size_t size);

/* The scratch of a thread; NULL: there is not the memory. */
furrow_scorer_scratch *model_version_scratch(model_version *version, unsigned thread);

#endif
