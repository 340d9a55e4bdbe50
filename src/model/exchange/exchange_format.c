/* model/exchange/exchange_format.c: the formats of other programs, by name and by the endings of files. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/exchange/exchange_job.h"

static const struct {
  const char *name, *ending;
} formats[] = {
#define FURROW_X(name, text, ending, about) {text, ending},
    FURROW_EXCHANGE_FORMATS(FURROW_X)
#undef FURROW_X
};
#define FORMATS (sizeof formats / sizeof formats[0])

#define FURROW_X(name, text, ending, about) " " text
#define FORMATS_HINT "the formats are" FURROW_EXCHANGE_FORMATS(FURROW_X)

furrow_status furrow_exchange_format_find(const char *name, furrow_exchange_format *format, furrow_error *err) {
  for (size_t i = 0; i < FORMATS; i++) {
    if (strcmp(formats[i].name, name) != 0) continue;
    *format = (furrow_exchange_format)(i + 1);
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "no such format");
  fw_error_set_hint(err, FORMATS_HINT);
  fw_error_set_token(err, name, strlen(name));
  return FURROW_E_ARGUMENT;
}

const char *furrow_exchange_format_name(furrow_exchange_format format) {
  const size_t i = (size_t)format - 1;
  return i < FORMATS ? formats[i].name : "?";
}

furrow_status fw_exchange_format_of(furrow_exchange_format *format, const char *path, furrow_error *err) {
  const size_t length = strlen(path);
  if (*format != FURROW_EXCHANGE_AUTO) {
    if ((size_t)*format <= FORMATS) return FURROW_OK;
    return fw_fail(err, FURROW_E_ARGUMENT, "params.format is not a format");
  }
  for (size_t i = 0; i < FORMATS; i++) {
    const size_t n = strlen(formats[i].ending);
    if (length <= n || strcmp(path + length - n, formats[i].ending) != 0) continue;
    *format = (furrow_exchange_format)(i + 1);
    return FURROW_OK;
  }
  fw_fail(err, FURROW_E_ARGUMENT, "the ending of the name is not that of a format");
  fw_error_set_hint(err, FORMATS_HINT);
  fw_error_set_file(err, path);
  return FURROW_E_ARGUMENT;
}

furrow_status fw_exchange_ids_path(char **copy, const char *path, const char *ids, furrow_error *err) {
  static const char ending[] = ".ids.npy";
  void *memory;
  *copy = NULL;
  if (ids) return ids[0] ? fw_strndup(copy, ids, strlen(ids), err) : FURROW_OK;
  if (strcmp(path, "-") == 0) return FURROW_OK;
  const size_t length = strlen(path);
  furrow_status status = fw_alloc(&memory, length + sizeof ending, 1, err);
  if (status != FURROW_OK) return status;
  memcpy(memory, path, length);
  memcpy((char *)memory + length, ending, sizeof ending);
  *copy = memory;
  return FURROW_OK;
}
