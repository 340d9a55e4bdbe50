/* serve/api/serve_settings.h: the settings of the program: options, a configuration file, defaults. */
#ifndef SERVE_API_SERVE_SETTINGS_H
#define SERVE_API_SERVE_SETTINGS_H

#include "serve/serve_options.h"

enum { SERVED_NAME = 64 }; /* bytes of a name, with its 0 */

/* Merges the options with the configuration file, if there is one, and checks that something is served, that names
 * consist of letters, digits, '_', '-' and '.' and are unique, and that an address other than loopback has a token or
 * --insecure. *token: the secret of --token-file, NULL: none.
 * Owner: the caller frees *values with settings_free, *token with free. */
furrow_status settings_load(serve_values **values, const serve_values *given, char **token, furrow_error *err);
void settings_free(serve_values *values);
/* Splits NAME=PATH. */
furrow_status settings_split(const char *text, char name[SERVED_NAME], const char **path, furrow_error *err);
/* Returns whether only this machine can reach an address. */
bool settings_is_loopback(const char *listen);

#endif
