/* model/write/path_overlap.c: whether a target and its source are apart. */
#include "model/write/path_overlap.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The path without links, or, for what is not there yet, its directory's and its name. False: it leads nowhere. */
static bool resolve(const char *path, char resolved[2 * PATH_MAX]) {
  char parent[PATH_MAX];
  size_t length = strlen(path);
  if (realpath(path, resolved)) return true;
  while (length > 1 && path[length - 1] == '/') length--;
  if (errno != ENOENT || length >= sizeof parent) return false;
  size_t name = length;
  while (name > 0 && path[name - 1] != '/') name--;
  memcpy(parent, path, name);
  strcpy(parent + name, name ? "" : ".");
  if (!realpath(parent, resolved)) return false;
  const size_t used = strlen(resolved);
  snprintf(resolved + used, 2 * PATH_MAX - used, "/%.*s", (int)(length - name), path + name);
  return true;
}

/* Whether a is in b, at any depth. */
static bool lies_in(const char *a, const char *b) {
  const size_t n = strlen(b);
  return strncmp(a, b, n) == 0 && (a[n] == '/' || (n > 0 && b[n - 1] == '/' && a[n]));
}

furrow_status fw_check_path_overlap(const char *source, const char *target, furrow_error *err) {
  char from[2 * PATH_MAX], to[2 * PATH_MAX];
  if (!resolve(source, from) || !resolve(target, to) || (!lies_in(to, from) && !lies_in(from, to))) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "one of source and target lies in the other");
  fw_error_set_file(err, target);
  return FURROW_E_ARGUMENT;
}
