/* cli/learn/learn_options.h: the options of training: one for each key of the library, and -D for Angel's own names. */
#ifndef CLI_LEARN_LEARN_OPTIONS_H
#define CLI_LEARN_LEARN_OPTIONS_H

#include "core/options.h"
#include "furrow/learn.h"

/* Paths that a configuration file names are followed only below the current folder.
 *
 * A configuration comes from other people, as data does. Paths in it are relative to the current folder, as on the
 * command line and in Angel. But while the user's paths may lead anywhere, a file's paths must not leave that folder,
 * for reading or for writing: no absolute path, no "..", no scheme://, no link that leads out, neither in a path nor in
 * the encoder or the cache file of a URI. A path that leads out is dropped, and an error only if it is needed: Angel's
 * own files have paths of Hadoop, which --train and --out replace. */
enum { CONF_PATHS = 5 };

typedef struct conf_paths {
  const char *file;
  char *refused[CONF_PATHS]; /* NULL: that path stays inside */
} conf_paths;

/* Removes the paths that lead out from a configuration that was just loaded from a file, and keeps them for messages.
 * Clear it, even after a failure.
 */
furrow_status conf_paths_take(conf_paths *paths, furrow_learn_conf *conf, const char *file, furrow_error *err);
/* E_ARGUMENT: the file has a path of that key (data, valid, save, load, encoder), and it was refused. */
furrow_status conf_paths_check(const conf_paths *paths, const char *key, const char *hint, furrow_error *err);
void conf_paths_clear(conf_paths *paths);

/* Whether all paths of a URI stay below the current folder. */
bool conf_path_stays_inside(const char *uri);

/* The built-in algorithms, as choices of an option. */
#define LEARN_ALGORITHMS "lr|svm|linear|robust|softmax|mlr|fm|ffm|dnn|wide_and_deep|deepfm|pnn|nfm|gbdt"

enum { LEARN_KEYS = 128 };

/* The texts of the given keys, in the order of furrow_learn_key_at. */
typedef struct learn_values {
  const char *texts[LEARN_KEYS];
  const char *factors; /* the other name of the key `rank` */
} learn_values;

/* Returns the text that an option gives the i-th key, or NULL. */
const char *learn_value_at(const learn_values *values, size_t i);

/* A table made from the library's keys by learn_options_fill, which main calls first. */
extern option learn_options[LEARN_KEYS + 1];
void learn_options_fill(void);

/* -D KEY=VALUE, for keys of training and keys of output formats. */
typedef struct learn_settings {
  furrow_learn_conf *conf;
  furrow_layer_formats *formats;
  conf_paths paths; /* paths of the JSON file */
} learn_settings;

/* What a configuration starts from; NULL: not given. */
typedef struct learn_origin {
  const char *model;     /* a model directory */
  const char *json;      /* Angel's JSON file */
  const char *algorithm; /* a built-in one */
  bool allow_paths;      /* paths of the JSON file may lead anywhere */
} learn_origin;

/* Makes a configuration from its origin, options and definitions; later ones override earlier ones. Clear it, even
 * after a failure. */
furrow_status learn_settings_make(learn_settings *settings, const learn_origin *from, const learn_values *values,
                                  const text_list *define, furrow_error *err);
/* Prints the keys that are ignored to stderr. */
void learn_settings_print_notes(const learn_settings *settings);
void learn_settings_clear(learn_settings *settings);

#endif
