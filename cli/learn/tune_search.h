/* cli/learn/tune_search.h: the search of furrow tune: which settings are tried, on how many rows, and which wins.
 *
 * Successive halving: all settings are tried on a ninth of the rows, the better third of them on a third, the better
 * third of these on all. The defaults take part to the end. A share that would leave fewer than SEARCH_ROWS rows is
 * left out: small data is tried whole. */
#ifndef CLI_LEARN_TUNE_SEARCH_H
#define CLI_LEARN_TUNE_SEARCH_H

#include "furrow/learn.h"

enum { SEARCH_KEYS = 8, SEARCH_ROWS = 2000, MOST_RUNS = 1000 };

/* A key and the values that are tried. */
typedef struct search_key {
  const char *key;
  const char *also; /* another key for the same setting; NULL: none */
  const char *const *values;
  size_t count;
} search_key;

/* The keys that matter most for an algorithm. */
typedef struct search_space {
  search_key keys[SEARCH_KEYS];
  const char *standard[SEARCH_KEYS]; /* the configuration's value if nothing is set */
  size_t count;
} search_space;

/* Values of the keys of a space, NULL: the default. Number 0 has the defaults alone. */
typedef struct search_setting {
  const char *values[SEARCH_KEYS];
} search_setting;

/* A training, or one for each fold. */
typedef struct search_trial {
  size_t setting;
  double share;                 /* share of the rows */
  furrow_learn_metrics figures; /* rows is 0: it failed */
  double seconds;
  uint64_t rows; /* rows that were trained on */
} search_trial;

typedef struct search {
  search_space space;
  search_setting *settings;
  size_t setting_count;
  search_trial *trials;
  size_t trial_count;
  const char *metric;
  /* Trains with a setting and fills in the trial. FURROW_END ends the search with what is known. */
  furrow_status (*try_setting)(void *user, const search_setting *setting, search_trial *trial, furrow_error *err);
  void *user;
} search;

/* The space of the algorithm of a configuration, which must outlive it, without the keys for which is_given(user, key)
 * is true. */
search_space search_space_of(const furrow_learn_conf *conf, bool (*is_given)(const void *user, const char *key),
                             const void *user);
/* Draws `runs` different settings, the first being the defaults: fewer where the space has fewer. Clear it, even after
 * a failure. */
furrow_status search_init(search *s, const search_space *space, const char *metric, size_t runs, uint64_t seed,
                          furrow_error *err);
void search_clear(search *s);
/* Tries the settings. A setting whose training fails with E_RANGE (it diverged) counts as the worst, unless it is the
 * defaults. */
furrow_status search_run(search *s, furrow_error *err);
/* Returns the best of the trials on the most rows; NULL: none is done. */
const search_trial *search_best(const search *s);
/* Returns the trial of the defaults on the same rows. */
const search_trial *search_defaults_beside(const search *s, const search_trial *trial);
/* Writes "lr=0.05 depth=4", or "defaults". */
void search_describe(const search *s, const search_setting *setting, char *text, size_t size);

#endif
