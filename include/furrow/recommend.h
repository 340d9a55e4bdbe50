/* furrow/recommend.h: from a model of a raw log to items for users, by name.
 *
 *   furrow_recommender *r = NULL;
 *   furrow_recommendation best[10];
 *   uint64_t user;
 *   furrow_recommender_open(&r, "movies.model", NULL, &err);
 *   furrow_recommender_find_user(r, "user 17", 7, &user, &err);
 *   furrow_recommender_recommend(r, &user, 1, NULL, best, &err);
 *   for (size_t i = 0; i < 10 && best[i].item != FURROW_NO_ITEM; i++)
 *     puts(furrow_recommender_item_name(r, best[i].item));
 *   furrow_recommender_free(r);
 *
 * Users and items are the entries of the model's dictionary (furrow/table.h), numbered from 0 by falling frequency in
 * the training data. docs/recommend.md explains how items are found and how rankings are measured.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of it.
 */
#ifndef FURROW_RECOMMEND_H
#define FURROW_RECOMMEND_H

#include <math.h>

#include "furrow/learn.h"
#include "furrow/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Recommender ---------------------------------------------------------------------------------------- */

/* A model, its dictionary, and the rows and vectors of its items. */
typedef struct furrow_recommender furrow_recommender;

/* Not an item: fills up the results of a user who has fewer than k. */
#define FURROW_NO_ITEM UINT64_MAX

/* How a recommender is opened. */
typedef struct furrow_recommender_params {
  size_t size;      /* set by furrow_recommender_params_init */
  unsigned threads; /* threads that load; 0: one for each processor */
  /* Of furrow_recommender_judge: */
  const furrow_trainer *trainer; /* the training that made the model */
  furrow_progress progress;      /* as that of furrow_trainer_fit; NULL: none */
  void *progress_user;           /* given to progress */
} furrow_recommender_params;

/* Sets the size and the defaults. */
static inline void furrow_recommender_params_init(furrow_recommender_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Loads a model directory that was trained from a raw log, and makes the rows of all its items. params NULL: the
 * defaults.
 * Errors:  E_UNSUPPORTED, the model was made from rows and has no dictionary, its schema has no user or item, one of
 *          them is hashed and so has no names, or the model has several classes; E_RANGE, a number of the model that is
 *          not finite; otherwise the errors of furrow_scorer_load and furrow_encoder_load.
 * Owner:   the caller, who frees it with furrow_recommender_free. */
FURROW_API furrow_status furrow_recommender_open(furrow_recommender **recommender, const char *model,
                                                 const furrow_recommender_params *params,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Frees a recommender. Takes NULL. */
FURROW_API void furrow_recommender_free(furrow_recommender *recommender);

/* Returns: the number of users or items that the model knows. */
FURROW_API uint64_t furrow_recommender_user_count(const furrow_recommender *recommender);
FURROW_API uint64_t furrow_recommender_item_count(const furrow_recommender *recommender);
/* Returns: the name of a user or item, ended by a 0; NULL: there is none with that number.
 * Owner:   the recommender; valid until it is freed. */
FURROW_API const char *furrow_recommender_user_name(const furrow_recommender *recommender, uint64_t user);
FURROW_API const char *furrow_recommender_item_name(const furrow_recommender *recommender, uint64_t item);
/* Finds a user or item by name.
 * Errors:  E_NOT_FOUND, the model does not know it; the hint has a similar name. */
FURROW_API furrow_status furrow_recommender_find_user(const furrow_recommender *recommender, const char *name,
                                                      size_t length, uint64_t *user, furrow_error *err) FURROW_MUST_USE;
FURROW_API furrow_status furrow_recommender_find_item(const furrow_recommender *recommender, const char *name,
                                                      size_t length, uint64_t *item, furrow_error *err) FURROW_MUST_USE;
/* Returns: the column of the log that holds the items, or the users.
 * Owner:   the recommender; valid until it is freed. */
FURROW_API const char *furrow_recommender_item_column(const furrow_recommender *recommender);
FURROW_API const char *furrow_recommender_user_column(const furrow_recommender *recommender);

/* Returns: the schema and the dictionary of the recommender's log.
 * Owner:   the recommender; valid as long as it is. */
FURROW_API const furrow_encoder *furrow_recommender_encoder(const furrow_recommender *recommender);
/* Returns: the recommender's model, which scores rows and events; NULL: a recommender of a log, which does not score
 *          rows.
 * Owner:   the recommender; valid until it is freed. */
FURROW_API const furrow_scorer *furrow_recommender_scorer(const furrow_recommender *recommender);

/* ---- A recommender of a log ----------------------------------------------------------------------------- */

/* How a recommender is fitted. */
typedef struct furrow_recommender_fit_params {
  size_t size;              /* set by furrow_recommender_fit_params_init */
  size_t k;                 /* 10: candidates are compared by the NDCG of this many items */
  unsigned threads;         /* 0: one for each processor; the recommender is the same for any number */
  furrow_on_bad on_bad;     /* error */
  furrow_progress progress; /* "reading", in bytes; "choosing", in comparisons; NULL: none */
  void *progress_user;      /* given to progress */
} furrow_recommender_fit_params;

/* Sets the size and the defaults. */
static inline void furrow_recommender_fit_params_init(furrow_recommender_fit_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->k = 10;
}

/* Finds the best recommender for a log: compares the most popular items, also among users with the same features, each
 * user's own history, and weights between items, with and without recency, ratings and features of items, on each
 * user's last events; then computes the winner from all events (docs/recommend.md). `encoder` was built from the log.
 * If labels have two values, the positive ones mark the items that a user wanted; other labels are ratings, which say
 * how strong a preference is. params NULL: the defaults.
 * Errors:  E_ARGUMENT, the log has no event of a user with an item; E_UNSUPPORTED, the schema has no user or item;
 *          otherwise as furrow_events_load; E_CANCELLED by the progress callback; E_MEMORY.
 * Owner:   the caller, who frees *recommender with furrow_recommender_free. The recommender owns the encoder from then
 *          on; after a failure it stays the caller's. */
FURROW_API furrow_status furrow_recommender_fit(furrow_recommender **recommender, const char *log,
                                                furrow_encoder *encoder, const furrow_recommender_fit_params *params,
                                                furrow_error *err) FURROW_MUST_USE;
/* Saves a fitted recommender as a model directory, which appears complete or not at all.
 * Errors:  E_EXISTS, there is one and `overwrite` is false; E_UNSUPPORTED, the recommender was opened from a model that
 *          scores rows; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_save(const furrow_recommender *recommender, const char *folder,
                                                 bool overwrite, furrow_error *err) FURROW_MUST_USE;

/* A method of recommending, and its quality on the events that were held out. Layout fixed. */
typedef struct furrow_recommender_candidate {
  const char *name;  /* "popular", "own-history", "item-item" …; valid for ever */
  double ndcg;       /* mean over users */
  double gain;       /* mean over users of its NDCG minus the NDCG of the most popular items */
  double gain_error; /* standard error of the gain */
  bool chosen;       /* whether the recommender uses it */
} furrow_recommender_candidate;

/* What was measured when a recommender of a log was fitted. */
typedef struct furrow_recommender_figures {
  size_t size;    /* set by furrow_recommender_figures_init */
  size_t k;       /* of the NDCG */
  uint64_t users; /* number of users whose last events were compared */
  double repeats; /* share of the held-out events whose item the user had taken before; from 0.1 on items that a user
                     took are recommended again */
  bool of_log;    /* the model is a recommender of a log; false: there are only the next four figures */
  /* NDCG of the model: of a recommender of a log, for events that were held out; of other models, as
   * furrow_recommender_judge stored it. NaN: not known. */
  double ndcg;            /* of the model */
  double popular_ndcg;    /* of the most popular items */
  double gain;            /* mean over users of the model's NDCG minus the NDCG of the most popular items */
  double gain_error;      /* standard error of the gain */
  size_t candidate_count; /* candidates that were compared */
  furrow_recommender_candidate candidates[8]; /* the first candidate_count of them are filled in */
  bool user_features; /* features of a table of users count: what is popular among users who share them is recommended
                         to users with few events or none. The figures of the chosen candidate include it */
  /* Only of a recommender that was fitted, not loaded: */
  bool one_label;    /* the log has no labels, or all have the same value */
  uint64_t events;   /* events that count */
  uint64_t copies;   /* events whose user, item and time an earlier event has; 0 if the log has no times */
  uint64_t nameless; /* rows of the log that do not count because they have no user or no item */
} furrow_recommender_figures;

/* Sets the size, and everything else to 0. */
static inline void furrow_recommender_figures_init(furrow_recommender_figures *figures) {
  memset(figures, 0, sizeof *figures);
  figures->size = sizeof *figures;
}

/* Fills *figures, which furrow_recommender_figures_init has initialised. */
FURROW_API void furrow_recommender_get_figures(const furrow_recommender *recommender,
                                               furrow_recommender_figures *figures);

/* ---- Events --------------------------------------------------------------------------------------------- */

/* The items of a log by user, each once: what users have seen, or what they chose later. */
typedef struct furrow_events furrow_events;

/* How a log is read. */
typedef struct furrow_events_params {
  size_t size;              /* set by furrow_events_params_init */
  double from;              /* -infinity: all events; else events with at least this label */
  unsigned threads;         /* 0: one for each processor */
  furrow_on_bad on_bad;     /* error */
  furrow_progress progress; /* "reading", in bytes; NULL: none */
  void *progress_user;      /* given to progress */
} furrow_events_params;

/* Sets the size and the defaults. */
static inline void furrow_events_params_init(furrow_events_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->from = -HUGE_VAL;
}

/* What was counted while reading. */
typedef struct furrow_events_info {
  size_t size;            /* set by furrow_events_info_init */
  uint64_t rows;          /* events whose label was high enough */
  uint64_t below;         /* events whose label was too low */
  uint64_t unknown_users; /* events of users that the model does not know; they are left out */
  uint64_t unknown_items; /* events of known users with items that the model does not know */
  uint64_t users;         /* known users that have events */
  uint64_t bad;           /* rows that were skipped */
} furrow_events_info;

/* Sets the size, and everything else to 0. */
static inline void furrow_events_info_init(furrow_events_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Reads a log: a table with the columns of the model's schema. params NULL: the defaults.
 * Errors:  as furrow_parser_open and furrow_parser_next; E_ARGUMENT, `from` is a NaN; E_CANCELLED by the progress
 *          callback; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_events_free. */
FURROW_API furrow_status furrow_events_load(furrow_events **events, const furrow_recommender *recommender,
                                            const char *uri, const furrow_events_params *params,
                                            furrow_error *err) FURROW_MUST_USE;
/* Frees events. Takes NULL. */
FURROW_API void furrow_events_free(furrow_events *events);
/* Fills *info, which furrow_events_info_init has initialised. */
FURROW_API void furrow_events_get_info(const furrow_events *events, furrow_events_info *info);

/* ---- A table of items ----------------------------------------------------------------------------------- */

/* Columns of a table that has a row for each item: titles, or which items may be recommended. */
typedef struct furrow_item_table furrow_item_table;

/* Reads columns of a table (csv, tsv, JSON lines) whose column `furrow_recommender_item_column` has the items. Rows of
 * items that the model does not know are skipped; if an item has several rows, the first one is used. At least one
 * column.
 * Errors:  E_ARGUMENT, no column, or no row of an item that the model knows; E_FORMAT, not a table, or it lacks a
 *          column; E_PARSE, a row cannot be read; E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_item_table_free. */
FURROW_API furrow_status furrow_item_table_load(furrow_item_table **table, const furrow_recommender *recommender,
                                                const char *uri, const char *const *columns, size_t count,
                                                furrow_error *err) FURROW_MUST_USE;
/* Frees a table. Takes NULL. */
FURROW_API void furrow_item_table_free(furrow_item_table *table);
/* Returns: the cell of an item in the i-th column of the `columns` that were loaded, ended by a 0; "" where it is empty
 *          or the table does not have the item.
 * Owner:   the table; valid until it is freed. */
FURROW_API const char *furrow_item_table_get(const furrow_item_table *table, uint64_t item, size_t i);
/* Returns: the number of the model's items that have a row. */
FURROW_API uint64_t furrow_item_table_count(const furrow_item_table *table);

/* ---- Recommending --------------------------------------------------------------------------------------- */

/* An item and its score: the graph's output for the user and the item, furrow_score.pred. Layout fixed. */
typedef struct furrow_recommendation {
  uint64_t item; /* FURROW_NO_ITEM: there are no more; the score is -infinity */
  double score;  /* furrow_recommender_similar: the cosine of the two items' vectors */
} furrow_recommendation;

/* How items are found. */
typedef enum furrow_recommend_method {
  FURROW_RECOMMEND_AUTO,    /* furrow_recommender_prepare chooses; without it: vectors */
  FURROW_RECOMMEND_EXACT,   /* the model scores all items for each user */
  FURROW_RECOMMEND_VECTORS, /* all vectors of items are compared with the user's: for fm and linear models exact, too */
  FURROW_RECOMMEND_INDEX    /* an index of the items' vectors, and the best it finds are scored by the model */
} furrow_recommend_method;

/* What to prepare for. */
typedef struct furrow_prepare_params {
  size_t size;                    /* set by furrow_prepare_params_init */
  furrow_recommend_method method; /* AUTO: the method that costs least */
  uint64_t users;                 /* number of users that are expected; 0: all users of the model */
  size_t k;                       /* 10 */
  size_t candidates;              /* as in furrow_recommend_params */
  double recall;                  /* 0.99: the share of the best items that an index must find */
  bool keep;                      /* true: an index is kept in the model directory, if that is writable */
  unsigned threads;               /* 0: one for each processor */
} furrow_prepare_params;

/* Sets the size and the defaults. */
static inline void furrow_prepare_params_init(furrow_prepare_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->k = 10;
  params->recall = 0.99;
  params->keep = true;
}

/* Chooses how items are found for params->users users. If an index is used, it is loaded from the file items.index of
 * the model directory, or built and saved there. The choice depends on the model and on params alone. params NULL: the
 * defaults.
 * Errors:  E_ARGUMENT, a field is wrong; E_UNSUPPORTED, the method needs vectors, which the model does not have;
 *          E_MEMORY. A file that cannot be read or written is not an error: the index is built in memory. */
FURROW_API furrow_status furrow_recommender_prepare(furrow_recommender *recommender,
                                                    const furrow_prepare_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;

/* How a recommender finds items. */
typedef struct furrow_recommender_info {
  size_t size;                    /* set by furrow_recommender_info_init */
  furrow_recommend_method method; /* never AUTO */
  bool rescored;                  /* the vectors do not hold the whole model, so the model scores candidates */
  size_t vector_size;             /* 0: the model has no vectors */
  size_t context_fields;          /* fields that are neither the user's nor the item's: rows do not have them */
  /* INDEX; 0 otherwise */
  uint64_t nlist, m, nprobe; /* its lists, sub-quantizers, and the lists that a search probes */
  size_t fetch;              /* candidates from the index for each result; their vectors decide the final order */
  double recall;             /* measured on `sample` users */
  size_t sample;             /* users */
  bool built;                /* whether the index was built now, not loaded from the model directory */
  bool kept;                 /* the index is stored in the model directory */
  double positive;           /* the label of the positive class; NaN: the model is not one of two classes */
} furrow_recommender_info;

/* Sets the size, and everything else to 0. */
static inline void furrow_recommender_info_init(furrow_recommender_info *info) {
  memset(info, 0, sizeof *info);
  info->size = sizeof *info;
}

/* Fills *info, which furrow_recommender_info_init has initialised. */
FURROW_API void furrow_recommender_get_info(const furrow_recommender *recommender, furrow_recommender_info *info);

/* What to recommend. */
typedef struct furrow_recommend_params {
  size_t size;       /* set by furrow_recommend_params_init */
  size_t k;          /* 10: results for each user */
  size_t candidates; /* 0: 500, and at least 10 k; candidates that the model scores if the vectors do not hold the whole
                        model */
  const uint8_t *allowed;     /* NULL: all items; else a byte for each item: 0 excludes the item */
  const furrow_events *seen;  /* NULL: none; else the items of a user there are not recommended to them */
  const furrow_pair *context; /* cells of the event for which items are wanted: columns that are neither the user's nor
                                 the item's. Columns that are not given are left out of the rows */
  size_t context_count;       /* how many there are */
  unsigned threads;           /* 0: one for each processor; the results are the same for any number */
  furrow_progress progress;   /* NULL. The phase is "recommending", which counts users */
  void *progress_user;        /* given to progress */
  bool include_seen;          /* a recommender of a log also recommends what a user has taken in its log; false: only
                                 if the log repeats */
} furrow_recommend_params;

/* Sets the size and the defaults. */
static inline void furrow_recommend_params_init(furrow_recommend_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
  params->k = 10;
}

/* Finds the k items with the highest scores for each of `count` users: count * k results, best first, equal scores in
 * the order of the items. params NULL: the defaults.
 * Errors:  E_RANGE, there is no such user; E_ARGUMENT, k is 0, or the context has a column that the schema does not
 *          have or that is the user's or the item's; E_PARSE, a value of the context; E_CANCELLED; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_recommend(const furrow_recommender *recommender, const uint64_t *users,
                                                      size_t count, const furrow_recommend_params *params,
                                                      furrow_recommendation *results,
                                                      furrow_error *err) FURROW_MUST_USE;
/* Finds the k items whose vectors are most similar to the vector of an item: by cosine, without the item's own part. Of
 * params, only k and allowed have an effect. params NULL: the defaults.
 * Errors:  E_RANGE, there is no such item; E_UNSUPPORTED, the model has no vectors, or this item's vector is all zeros;
 *          E_ARGUMENT, k is 0; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_similar(const furrow_recommender *recommender, uint64_t item,
                                                    const furrow_recommend_params *params,
                                                    furrow_recommendation *results, furrow_error *err) FURROW_MUST_USE;

/* An item of the user and its part of a score. Layout fixed. */
typedef struct furrow_recommend_reason {
  uint64_t item; /* that the user took */
  double part;   /* of the score, positive */
} furrow_recommend_reason;

/* Finds the user's items that contribute most to the score of an item: up to `count` reasons, the strongest first, and
 * their number *found. The model is a recommender of a log.
 * Errors:  E_RANGE, there is no such user or item; E_UNSUPPORTED, another kind of model; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_explain(const furrow_recommender *recommender, uint64_t user, uint64_t item,
                                                    furrow_recommend_reason *reasons, size_t count, size_t *found,
                                                    furrow_error *err) FURROW_MUST_USE;

/* ---- New users ------------------------------------------------------------------------------------------ */

/* Users of a log, known to the model or not, and the vectors that their events give them. */
typedef struct furrow_new_users furrow_new_users;

/* Reads a log and computes a vector for each of its users: the most likely one, given the labels of the user's events
 * and the distribution of the vectors of known users (docs/recommend.md). Of several events with one item the last
 * counts. params NULL: the defaults.
 * Errors:  E_UNSUPPORTED, the model is not a factorization machine (fm); E_RANGE, events that do not lead to finite
 *          numbers; otherwise the errors of furrow_events_load.
 * Owner:   the caller, who frees it with furrow_new_users_free. */
FURROW_API furrow_status furrow_new_users_load(furrow_new_users **users, const furrow_recommender *recommender,
                                               const char *uri, const furrow_events_params *params,
                                               furrow_error *err) FURROW_MUST_USE;
/* Frees users. Takes NULL. */
FURROW_API void furrow_new_users_free(furrow_new_users *users);
/* Returns: the number of users who have an event with an item that the model knows. */
FURROW_API size_t furrow_new_users_count(const furrow_new_users *users);
/* Returns: the name of user i, in the order of their first events, ended by a 0; NULL: there are fewer users.
 * Owner:   the users; valid until they are freed. */
FURROW_API const char *furrow_new_users_name(const furrow_new_users *users, size_t i);
/* Fills *info, which furrow_events_info_init has initialised; unknown_users are events without a user. */
FURROW_API void furrow_new_users_get_info(const furrow_new_users *users, furrow_events_info *info);
/* Finds the k items with the highest scores for each of these users, without the items of their events: count * k
 * results, as furrow_recommender_recommend. Of params, only k, allowed and threads have an effect. params NULL: the
 * defaults.
 * Errors:  E_ARGUMENT, k is 0; E_UNSUPPORTED, params have a context; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_recommend_new(const furrow_recommender *recommender,
                                                          const furrow_new_users *users,
                                                          const furrow_recommend_params *params,
                                                          furrow_recommendation *results,
                                                          furrow_error *err) FURROW_MUST_USE;

/* Finds the items of new user i that contribute most to the score of an item, as furrow_recommender_explain does.
 * Errors:  E_RANGE, there is no such user or item; E_UNSUPPORTED, not a recommender of a log; E_MEMORY. */
FURROW_API furrow_status furrow_recommender_explain_new(const furrow_recommender *recommender,
                                                        const furrow_new_users *users, size_t i, uint64_t item,
                                                        furrow_recommend_reason *reasons, size_t count, size_t *found,
                                                        furrow_error *err) FURROW_MUST_USE;

/* ---- Measuring rankings --------------------------------------------------------------------------------- */

/* The mean of a figure over users, and half of its 95 % confidence interval: 1.96 standard errors. Layout fixed. */
typedef struct furrow_rank_figure {
  double mean;     /* NaN: there are no users */
  double interval; /* NaN: there are fewer than two users */
} furrow_rank_figure;

/* How good the k recommendations of each user are. Relevant are the items of the user's events. */
typedef struct furrow_rank_figures {
  size_t size;               /* set by furrow_rank_figures_init */
  size_t k;                  /* results of each user */
  uint64_t users;            /* users who have relevant items */
  uint64_t relevant;         /* relevant items of all users */
  uint64_t unknown;          /* relevant items that the model does not know, so that it cannot find them */
  furrow_rank_figure ndcg;   /* sum of 1 / log2(position + 1) over hits, divided by the sum of a perfect ranking */
  furrow_rank_figure recall; /* hits / min(k, relevant items): 1 if as many results as possible are hits */
  furrow_rank_figure map;    /* sum of the precision at each hit / min(k, relevant items) */
  furrow_rank_figure mrr;    /* 1 / position of the first hit, 0 without one */
  furrow_rank_figure hit;    /* 1 if there is a hit */
  double coverage;           /* share of the allowed items that at least one user gets */
  /* Figures of simpler recommendations for the same users; NaN: not known. */
  furrow_rank_figure popular_ndcg; /* NDCG of the items that are most frequent in the training data */
  double popular_gain;             /* mean over users of the model's NDCG minus popular_ndcg */
  double popular_gain_error;       /* standard error of popular_gain */
  furrow_rank_figure own_ndcg;     /* NDCG of what each user took most often; a recommender of a log that repeats */
  double own_gain;                 /* mean over users of the model's NDCG minus own_ndcg */
  double own_gain_error;           /* standard error of own_gain */
} furrow_rank_figures;

/* Sets the size, and everything else to 0. */
static inline void furrow_rank_figures_init(furrow_rank_figures *figures) {
  memset(figures, 0, sizeof *figures);
  figures->size = sizeof *figures;
}

/* Recommends to all users who have events in `truth` and counts how many of these items they get. An item that
 * params->seen has for a user is neither recommended nor relevant. params NULL: the defaults.
 * Errors:  as furrow_recommender_recommend; E_ARGUMENT, no user has a relevant item. */
FURROW_API furrow_status furrow_recommender_evaluate(const furrow_recommender *recommender, const furrow_events *truth,
                                                     const furrow_recommend_params *params,
                                                     furrow_rank_figures *figures, furrow_error *err) FURROW_MUST_USE;

/* Measures how a model that scores rows orders items. Holds out the last fifth of each user's events (without times, a
 * random fifth of all events), repeats the training of params->trainer with the earlier ones, recommends to up to 1000
 * users (up to 100 if the model has to score every item), and compares with the most popular items. Of a log with more
 * than 200,000 events, random users with about that many take part. A model that is worse than the most popular items
 * should not be used for recommendations. Stores the figures in the furrow.json of the model. Meanwhile, a directory
 * next to the model has files of its own. `log`: the training log.
 * Errors:  E_ARGUMENT, params->trainer is NULL; as furrow_recommender_open, furrow_table_split, furrow_trainer_fit,
 *          furrow_trainer_save and furrow_recommender_evaluate; E_UNSUPPORTED, a recommender of a log, too; E_IO. */
FURROW_API furrow_status furrow_recommender_judge(const char *model, const char *log,
                                                  const furrow_recommender_params *params, furrow_rank_figures *figures,
                                                  furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
