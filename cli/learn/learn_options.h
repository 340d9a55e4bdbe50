/* cli/learn/learn_options.h: the options of training: one for each key of the library, and -D for Angel's own names. */
#ifndef CLI_LEARN_LEARN_OPTIONS_H
#define CLI_LEARN_LEARN_OPTIONS_H

#include "core/options.h"
#include "furrow/learn.h"
#include "learn/conf_paths.h"

enum { LEARN_KEYS = 128 };

/* The texts of the given keys, in the order of furrow_learn_key_at. */
typedef struct learn_values {
  const char *texts[LEARN_KEYS];
} learn_values;

/* A table made from the library's keys by learn_options_fill, which main calls first. */
extern option learn_options[LEARN_KEYS + 1];
void learn_options_fill(void);

/* -D KEY=VALUE, for keys of training and keys of output formats. */
typedef struct learn_settings {
  furrow_learn_conf *conf;
  furrow_layer_formats *formats;
  conf_paths paths; /* of the JSON file */
} learn_settings;

/* Where a configuration starts; NULL: not there. */
typedef struct learn_origin {
  const char *model;     /* a model directory */
  const char *json;      /* Angel's JSON file */
  const char *algorithm; /* a built-in one */
  bool allow_paths;      /* those of the JSON file may lead anywhere */
} learn_origin;

/* Makes a configuration from its origin, options and definitions; later ones override earlier ones. Clear it, even
 * after a failure. */
furrow_status learn_settings_make(learn_settings *settings, const learn_origin *from, const learn_values *values,
                                  const text_list *define, furrow_error *err);
/* Prints the keys that mean nothing here on stderr. */
void learn_settings_print_notes(const learn_settings *settings);
void learn_settings_clear(learn_settings *settings);

#endif
