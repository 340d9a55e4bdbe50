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
  char **paths; /* as written, "file://" and scheme included; never empty */
  size_t npaths;
  fw_uri_arg *args; /* as written, in order; the first of two equal keys counts */
  size_t nargs;
  char *cachefile; /* NULL: none */
} fw_uri;

/* Takes `text` apart. E_ARGUMENT: no path, an empty path between semicolons, more than one ? or #, a key or value that
 * is empty or missing, an empty cachefile. The value runs to the next & and may contain =. */
furrow_status fw_uri_parse(fw_uri *uri, const char *text, furrow_error *err) FURROW_MUST_USE;
/* The caller's struct. */
furrow_status fw_uri_copy(fw_uri *copy, const fw_uri *uri, furrow_error *err) FURROW_MUST_USE;
/* Frees; all zeros afterwards. */
void fw_uri_clear(fw_uri *uri);
/* Adds an argument, unless the key is there. */
furrow_status fw_uri_add_arg(fw_uri *uri, const char *key, const char *value, furrow_error *err) FURROW_MUST_USE;
/* The value of a key, or NULL. */
const char *fw_uri_arg_value(const fw_uri *uri, const char *key);

/* A copy of `length` bytes of a value in which %XX stands for the byte of these two hexadecimal digits (not 00); a %
 * before anything else stands for itself. To be freed with fw_free. */
furrow_status fw_uri_decode(char **copy, const char *text, size_t length, furrow_error *err) FURROW_MUST_USE;
/* Appends the text so that fw_uri_decode gives it back, also from a list of names between commas. */
void fw_uri_encode(fw_buffer *uri, const char *text);

#endif
