/* array/array_kind.c: kinds of array files, by the endings of their names. */
#include "array/array_kind.h"

#include <string.h>

#include "base/error.h"

static const fw_array_kind_traits kinds[] = {
#define FW_X(name, ending, layout, type) {ending, FW_ARRAY_LAYOUT_##layout, FW_ARRAY_##type},
    FW_ARRAY_KINDS(FW_X)
#undef FW_X
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const fw_array_kind_traits *fw_array_kind_get(fw_array_kind kind) {
  return &kinds[kind - 1];
}

static bool ends_in(const char *path, size_t length, const char *ending) {
  const size_t n = strlen(ending);
  return length > n && memcmp(path + length - n, ending, n) == 0;
}

furrow_status fw_array_kind_of(fw_array_kind *kind, const char *path, furrow_error *err) {
  size_t length = strlen(path);
  if (ends_in(path, length, ".gz")) length -= 3;
  if (ends_in(path, length, ".zst")) length -= 4;
  for (size_t i = 0; i < KINDS; i++) {
    if (!ends_in(path, length, kinds[i].ending)) continue;
    *kind = (fw_array_kind)(i + 1);
    return FURROW_OK;
  }
#define FW_X(name, ending, layout, type) " " ending
  fw_fail(err, FURROW_E_ARGUMENT, "the name has none of the endings" FW_ARRAY_KINDS(FW_X));
#undef FW_X
  fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}
