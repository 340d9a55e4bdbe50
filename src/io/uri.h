/* io/uri.h: path[;path]…[?key=value[&key=value]…][#cachefile] */
#ifndef FW_IO_URI_H
#define FW_IO_URI_H

#include <stddef.h>

#include "base/buffer.h"
#include "furrow/status.h"

typedef struct fw_uri_arg {
  char *key, *value;
} fw_uri_arg;

typedef struct fw_uri {
  char **paths; /* as written, including "file://" or another scheme; never empty */
  size_t npaths;
  fw_uri_arg *args; /* as written, in order; of two equal keys the first counts */
  size_t nargs;
  char *cachefile; /* NULL: none */
} fw_uri;

/* Parses `text`. E_ARGUMENT: no path, an empty path between semicolons, more than one ? or #, a key or value that is
 * empty or missing, an empty cachefile. A value extends to the next & and may contain =. */
furrow_status fw_uri_parse(fw_uri *uri, const char *text, furrow_error *err) FURROW_MUST_USE;
/* Copies into the caller's struct. */
furrow_status fw_uri_copy(fw_uri *copy, const fw_uri *uri, furrow_error *err) FURROW_MUST_USE;
/* Frees; the struct is all zeros afterwards. */
void fw_uri_clear(fw_uri *uri);
/* Adds an argument, unless the key exists. */
furrow_status fw_uri_add_arg(fw_uri *uri, const char *key, const char *value, furrow_error *err) FURROW_MUST_USE;
/* Returns the value of a key, or NULL. */
const char *fw_uri_arg_value(const fw_uri *uri, const char *key);

/* Copies `length` bytes of a value and decodes %XX to the byte with these two hexadecimal digits (not 00); any other
 * % stands for itself. Free it with fw_free. */
furrow_status fw_uri_decode(char **copy, const char *text, size_t length, furrow_error *err) FURROW_MUST_USE;
/* Appends the text in a form that fw_uri_decode decodes, also within a comma-separated list of names. */
void fw_uri_encode(fw_buffer *uri, const char *text);

#endif
