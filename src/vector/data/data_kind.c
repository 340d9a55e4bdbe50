/* vector/data/data_kind.c: what a file of vectors or ids is, by its kind or by the ending of its name. */
#include "vector/data/data_kind.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

bool fw_data_path_ends(const char *path, const char *ending) {
  size_t length = strlen(path);
  const size_t n = strlen(ending);
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
    length -= 3;
  else if (length > 4 && strcmp(path + length - 4, ".zst") == 0)
    length -= 4;
  return length > n + 1 && path[length - n - 1] == '.' && memcmp(path + length - n, ending, n) == 0;
}

static furrow_status fail_kind(const char *path, const char *name, const char *raw_name, furrow_error *err) {
#define FW_X(kind, ending, layout, type) " " ending
  if (name)
    fw_fail(err, FURROW_E_ARGUMENT, "no such kind of file; there are .%s" FW_ARRAY_KINDS(FW_X), raw_name);
  else
    fw_fail(err, FURROW_E_ARGUMENT, "the name does not end in .%s" FW_ARRAY_KINDS(FW_X) ": the kind must be given",
            raw_name);
#undef FW_X
  if (name)
    fw_error_set_token(err, name, strlen(name));
  else
    fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_data_kind_find(fw_data_kind *kind, const char *path, const char *name, const char *raw_name,
                                furrow_error *err) {
  char named[32];
  fw_data_kind found = {0};
  if (name) snprintf(named, sizeof named, "x.%s", name);
  const char *tells = name ? named : path;
  found.raw = fw_data_path_ends(tells, raw_name);
  if (!found.raw && fw_array_kind_of(&found.array, tells, NULL) != FURROW_OK)
    return fail_kind(path, name, raw_name, err);
  *kind = found;
  return FURROW_OK;
}
