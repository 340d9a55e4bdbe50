/* rows/text/format_args.c: the arguments that a format declares, and their values from a URI. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "rows/text/format.h"

struct furrow_args {
  const furrow_rows_format *format;
  char **values;     /* one per declared argument */
  int64_t *integers; /* values of the arguments of type FURROW_ARG_INT */
};

void fw_args_free(furrow_args *args) {
  if (!args) return;
  for (size_t i = 0; args->values && i < args->format->nargs; i++) fw_free(args->values[i]);
  fw_free(args->values);
  fw_free(args->integers);
  fw_free(args);
}

static size_t arg_number(const furrow_rows_format *format, const char *name) {
  size_t i = 0;
  while (i < format->nargs && strcmp(format->args[i].name, name) != 0) i++;
  return i;
}

/* Keys like __this__ are free for the author of the URI. */
static bool is_private(const char *key) {
  size_t n = strlen(key);
  return n > 4 && strncmp(key, "__", 2) == 0 && strcmp(key + n - 2, "__") == 0;
}

static furrow_status check_known(const furrow_rows_format *format, const fw_uri *uri, furrow_error *err) {
  for (size_t i = 0; i < uri->nargs; i++) {
    const char *key = uri->args[i].key;
    if (is_private(key) || strcmp(key, "format") == 0 || arg_number(format, key) < format->nargs) continue;
    char known[160] = "format";
    for (size_t k = 0, used = strlen(known); k < format->nargs && used < sizeof known; k++)
      used += (size_t)snprintf(known + used, sizeof known - used, ", %s", format->args[k].name);
    furrow_status status =
        fw_fail(err, FURROW_E_ARGUMENT, "format %s has no argument of that name; it has: %s", format->name, known);
    fw_error_set_token(err, key, strlen(key));
    return status;
  }
  return FURROW_OK;
}

static bool is_one_of(const char *values, const char *value) {
  const size_t n = strcspn(value, "|");
  if (value[n]) return false; /* several of them in a row are not a choice */
  for (const char *p = values; p; p = strchr(p, '|') ? strchr(p, '|') + 1 : NULL)
    if (strncmp(p, value, n) == 0 && (p[n] == '|' || p[n] == 0)) return n > 0;
  return false;
}

static furrow_status check_value(const furrow_arg *arg, const char *value, int64_t *integer, furrow_error *err) {
  furrow_status status = FURROW_OK;
  const char *end = value + strlen(value);
  bool overflow = false;
  if (arg->type == FURROW_ARG_INT && (fw_read_i64(value, end, integer, &overflow) != end || overflow))
    status = fw_fail(err, FURROW_E_ARGUMENT, "argument %s wants an integer", arg->name);
  if (arg->type == FURROW_ARG_ONE_OF && !is_one_of(arg->one_of, value))
    status = fw_fail(err, FURROW_E_ARGUMENT, "argument %s wants one of %s", arg->name, arg->one_of);
  if (status != FURROW_OK) fw_error_set_token(err, value, strlen(value));
  return status;
}

furrow_status fw_args_create(furrow_args **args, const furrow_rows_format *format, const fw_uri *uri,
                             furrow_error *err) {
  furrow_status status = check_known(format, uri, err);
  if (status != FURROW_OK) return status;
  furrow_args *a;
  status = FW_ALLOC_ZERO(&a, 1, err);
  if (status != FURROW_OK) return status;
  a->format = format;
  status = FW_ALLOC_ZERO(&a->values, format->nargs, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&a->integers, format->nargs, err);
  for (size_t i = 0; status == FURROW_OK && i < format->nargs; i++) {
    const char *given = fw_uri_arg_value(uri, format->args[i].name);
    const char *value = given ? given : format->args[i].fallback;
    status = check_value(&format->args[i], value, &a->integers[i], err);
    if (status == FURROW_OK) status = fw_strndup(&a->values[i], value, strlen(value), err);
  }
  return FW_HAND_OVER(status, args, a, fw_args_free);
}

const char *furrow_args_text(const furrow_args *args, const char *name) {
  size_t i = arg_number(args->format, name);
  assert(i < args->format->nargs);
  return i < args->format->nargs ? args->values[i] : "";
}

int64_t furrow_args_int(const furrow_args *args, const char *name) {
  size_t i = arg_number(args->format, name);
  assert(i < args->format->nargs);
  return i < args->format->nargs ? args->integers[i] : 0;
}
