/* io/uri.c: splits a URI at "#", then "?", then ";", so that an argument's value may contain ";". */
#include "io/uri.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct span {
  const char *text;
  size_t length;
} span;

/* Moves the text before the first `separator` from *rest to *before; without a separator, moves all of it and
 * returns false. */
static bool cut_at(span *rest, char separator, span *before) {
  const char *at = memchr(rest->text, separator, rest->length);
  *before = *rest;
  if (!at) {
    *rest = (span){rest->text + rest->length, 0};
    return false;
  }
  before->length = (size_t)(at - rest->text);
  *rest = (span){at + 1, rest->length - before->length - 1};
  return true;
}

static bool contains(span s, char c) {
  return memchr(s.text, c, s.length) != NULL;
}

static size_t count_pieces(span s, char separator) {
  size_t n = 1;
  for (size_t i = 0; i < s.length; i++) n += s.text[i] == separator;
  return n;
}

static furrow_status fail_uri(furrow_error *err, span bad, const char *what) {
  fw_fail(err, FURROW_E_ARGUMENT, "bad URI: %s", what);
  fw_error_set_token(err, bad.text, bad.length);
  return FURROW_E_ARGUMENT;
}

static furrow_status parse_paths(fw_uri *uri, span list, furrow_error *err) {
  furrow_status status = FW_ALLOC_ZERO(&uri->paths, count_pieces(list, ';'), err);
  if (status != FURROW_OK) return status;
  span rest = list, path;
  bool more = true;
  while (more) {
    more = cut_at(&rest, ';', &path);
    if (path.length == 0) return fail_uri(err, list, list.length ? "an empty path in the list" : "no path");
    status = fw_strndup(&uri->paths[uri->npaths], path.text, path.length, err);
    if (status != FURROW_OK) return status;
    uri->npaths++;
  }
  return FURROW_OK;
}

static furrow_status parse_arg(fw_uri_arg *arg, span text, furrow_error *err) {
  span value = text, key;
  if (text.length == 0) return fail_uri(err, text, "an empty argument");
  if (!cut_at(&value, '=', &key)) return fail_uri(err, text, "an argument without =");
  if (key.length == 0) return fail_uri(err, text, "an argument without a key");
  if (value.length == 0) return fail_uri(err, text, "an argument without a value");
  FW_TRY(fw_strndup(&arg->key, key.text, key.length, err));
  return fw_strndup(&arg->value, value.text, value.length, err);
}

static furrow_status parse_args(fw_uri *uri, span list, furrow_error *err) {
  furrow_status status = FW_ALLOC_ZERO(&uri->args, count_pieces(list, '&'), err);
  if (status != FURROW_OK) return status;
  span rest = list, text;
  bool more = true;
  while (more) {
    more = cut_at(&rest, '&', &text);
    /* counted before it is parsed, so that a partial argument is freed with the others */
    status = parse_arg(&uri->args[uri->nargs++], text, err);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

static furrow_status parse(fw_uri *uri, span text, furrow_error *err) {
  span cachefile = text, arguments, paths;
  bool has_cachefile = cut_at(&cachefile, '#', &arguments);
  bool has_arguments = cut_at(&arguments, '?', &paths);
  if (contains(cachefile, '#')) return fail_uri(err, text, "more than one #");
  if (contains(arguments, '?')) return fail_uri(err, text, "more than one ?");
  furrow_status status = parse_paths(uri, paths, err);
  if (status == FURROW_OK && has_arguments) status = parse_args(uri, arguments, err);
  if (status != FURROW_OK || !has_cachefile) return status;
  if (cachefile.length == 0) return fail_uri(err, text, "no name of a cache file after #");
  return fw_strndup(&uri->cachefile, cachefile.text, cachefile.length, err);
}

furrow_status fw_uri_parse(fw_uri *uri, const char *text, furrow_error *err) {
  fw_uri parsed = {0};
  if (!text) return fw_fail(err, FURROW_E_ARGUMENT, "bad URI: NULL");
  furrow_status status = parse(&parsed, (span){text, strlen(text)}, err);
  if (status == FURROW_OK)
    *uri = parsed;
  else
    fw_uri_clear(&parsed);
  return status;
}

void fw_uri_clear(fw_uri *uri) {
  for (size_t i = 0; i < uri->npaths; i++) fw_free(uri->paths[i]);
  for (size_t i = 0; i < uri->nargs; i++) {
    fw_free(uri->args[i].key);
    fw_free(uri->args[i].value);
  }
  fw_free(uri->paths);
  fw_free(uri->args);
  fw_free(uri->cachefile);
  *uri = (fw_uri){0};
}

const char *fw_uri_arg_value(const fw_uri *uri, const char *key) {
  for (size_t i = 0; i < uri->nargs; i++)
    if (strcmp(uri->args[i].key, key) == 0) return uri->args[i].value;
  return NULL;
}

furrow_status fw_uri_add_arg(fw_uri *uri, const char *key, const char *value, furrow_error *err) {
  if (fw_uri_arg_value(uri, key)) return FURROW_OK;
  FW_TRY(FW_REALLOC(&uri->args, uri->nargs + 1, err));
  fw_uri_arg *arg = &uri->args[uri->nargs];
  *arg = (fw_uri_arg){NULL, NULL};
  FW_TRY(fw_strndup(&arg->key, key, strlen(key), err));
  const furrow_status status = fw_strndup(&arg->value, value, strlen(value), err);
  if (status == FURROW_OK)
    uri->nargs++;
  else
    fw_free(arg->key);
  return status;
}

static furrow_status copy_parts(fw_uri *copy, const fw_uri *uri, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&copy->paths, uri->npaths, err));
  for (; copy->npaths < uri->npaths; copy->npaths++)
    FW_TRY(fw_strndup(&copy->paths[copy->npaths], uri->paths[copy->npaths], strlen(uri->paths[copy->npaths]), err));
  for (size_t i = 0; i < uri->nargs; i++) FW_TRY(fw_uri_add_arg(copy, uri->args[i].key, uri->args[i].value, err));
  return uri->cachefile ? fw_strndup(&copy->cachefile, uri->cachefile, strlen(uri->cachefile), err) : FURROW_OK;
}

furrow_status fw_uri_copy(fw_uri *copy, const fw_uri *uri, furrow_error *err) {
  fw_uri made = {0};
  const furrow_status status = copy_parts(&made, uri, err);
  if (status == FURROW_OK)
    *copy = made;
  else
    fw_uri_clear(&made);
  return status;
}

/* Returns the value of a hexadecimal digit, or -1. */
static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = (char)(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

furrow_status fw_uri_decode(char **copy, const char *text, size_t length, furrow_error *err) {
  FW_TRY(fw_strndup(copy, text, length, err));
  char *out = *copy;
  for (const char *p = *copy; *p; p++) {
    const int high = *p == '%' ? hex_digit(p[1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(p[2]);
    const bool escape = low >= 0 && high + low > 0;
    *out++ = escape ? (char)(16 * high + low) : *p;
    if (escape) p += 2;
  }
  *out = 0;
  return FURROW_OK;
}

void fw_uri_encode(fw_buffer *uri, const char *text) {
  for (; *text; text++) {
    if (strchr("%,&#?;+=", *text) || (unsigned char)*text <= ' ' || *text == 0x7f)
      fw_buffer_format(uri, "%%%02X", (unsigned char)*text);
    else
      fw_buffer_byte(uri, *text);
  }
}
