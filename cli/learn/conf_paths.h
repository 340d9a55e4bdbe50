/* cli/learn/conf_paths.h: paths that a configuration file names, which are followed only below the current folder.
 *
 * A configuration comes from other people, as data does. The paths in it mean what they mean on the command line: they
 * start in the current folder, as in Angel. But where those of the user may lead anywhere, those of a file may not
 * leave that folder, for reading or for writing: no absolute path, no "..", no scheme://, no link that leads out,
 * neither in a path nor in the encoder or the cache file of a URI. A path that does is forgotten, and an error if it is
 * needed: Angel's own files have paths of Hadoop, which --train and --out replace. */
#ifndef CLI_LEARN_CONF_PATHS_H
#define CLI_LEARN_CONF_PATHS_H

#include "furrow/learn.h"

enum { CONF_PATHS = 5 };

typedef struct conf_paths {
  const char *file;
  char *refused[CONF_PATHS]; /* NULL: that path stays inside */
} conf_paths;

/* Takes the paths that lead out from a configuration that was just loaded from a file. Clear it, even after a failure.
 */
furrow_status conf_paths_take(conf_paths *paths, furrow_learn_conf *conf, const char *file, furrow_error *err);
/* E_ARGUMENT: the file has a path of that key (data, valid, save, load, encoder), and it was refused. */
furrow_status conf_paths_check(const conf_paths *paths, const char *key, const char *hint, furrow_error *err);
void conf_paths_clear(conf_paths *paths);

/* Whether all paths of a URI stay below the current folder. */
bool conf_path_stays_inside(const char *uri);

#endif
