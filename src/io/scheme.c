/* io/scheme.c: the table of schemes. */
#include "io/scheme.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

/* file://HOST/PATH: no host, or this one. */
static furrow_status find_file_uri(fw_file_list *list, const char *rest, furrow_error *err) {
  static const char self[] = "localhost";
  if (strncasecmp(rest, self, sizeof self - 1) == 0 && rest[sizeof self - 1] == '/') rest += sizeof self - 1;
  if (rest[0] != '/') {
    fw_fail(err, FURROW_E_ARGUMENT, "file:// needs an absolute path: file:///path");
    fw_error_set_file(err, rest);
    return FURROW_E_ARGUMENT;
  }
  return fw_local_find(list, rest, err);
}

static const fw_scheme local_path = {"file", fw_local_find};

static const fw_scheme schemes[] = {
    {"file", find_file_uri}, {"http", NULL}, {"https", NULL},  {"ftp", NULL},     {"s3", NULL},    {"s3a", NULL},
    {"s3n", NULL},           {"hdfs", NULL}, {"viewfs", NULL}, {"webhdfs", NULL}, {"azure", NULL}, {"wasb", NULL},
    {"wasbs", NULL},         {"abfs", NULL}, {"abfss", NULL},  {"gs", NULL},      {"oss", NULL},   {"cos", NULL},
    {"cosn", NULL},
};

/* Length of x in "x://…" (a letter, then letters, digits, + - .), or 0. */
static size_t scheme_length(const char *path) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  static const char others[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.";
  if (strspn(path, letters) == 0) return 0;
  size_t n = strspn(path, others);
  return strncmp(path + n, "://", 3) == 0 ? n : 0;
}

furrow_status fw_scheme_find(const fw_scheme **scheme, const char **rest, const char *path, furrow_error *err) {
  size_t n = scheme_length(path);
  if (n == 0) {
    *scheme = &local_path;
    *rest = path;
    return FURROW_OK;
  }
  const fw_scheme *known = NULL;
  for (size_t i = 0; i < sizeof schemes / sizeof schemes[0] && !known; i++)
    if (strlen(schemes[i].name) == n && strncasecmp(schemes[i].name, path, n) == 0) known = &schemes[i];
  if (!known || !known->find) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "%.*s:// %s", (int)(n < 64 ? n : 64), path,
            known ? "is not built in" : "is no scheme that is known here");
    fw_error_set_file(err, path);
    return FURROW_E_UNSUPPORTED;
  }
  *scheme = known;
  *rest = path + n + 3;
  return FURROW_OK;
}
