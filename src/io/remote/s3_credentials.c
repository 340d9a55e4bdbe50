/* io/remote/s3_credentials.c: the environment, and the profiles of ~/.aws. */
#include "io/remote/s3_credentials.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/remote/s3_roles.h"

static const char *variable(const char *name) {
  const char *text = getenv(name);
  return text && text[0] ? text : NULL;
}

/* ---- One file ------------------------------------------------------------------------------------------- */

typedef struct line {
  const char *key, *value;
  size_t key_size, value_size;
} line;

static void trim(const char **text, size_t *size) {
  while (*size > 0 && strchr(" \t\r", (*text)[0])) ++*text, --*size;
  while (*size > 0 && strchr(" \t\r", (*text)[*size - 1])) --*size;
}

static bool is_text(const char *text, size_t size, const char *expected) {
  return strlen(expected) == size && memcmp(text, expected, size) == 0;
}

/* Sets a text that is still empty. Messages never have a value, which may be secret. */
static furrow_status set(char *to, size_t capacity, const line *l, furrow_error *err) {
  if (to[0]) return FURROW_OK;
  if (l->value_size >= capacity || memchr(l->value, 0, l->value_size))
    return fw_fail(err, FURROW_E_FORMAT, "the value of %.*s is not valid", (int)l->key_size, l->key);
  memcpy(to, l->value, l->value_size);
  to[l->value_size] = 0;
  return FURROW_OK;
}

static furrow_status take_line(fw_s3_settings *s, const line *l, bool *needs_program, furrow_error *err) {
  static const char *const programs[] = {"credential_process", "role_arn", "sso_session", "sso_start_url",
                                         "web_identity_token_file"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
    *needs_program |= is_text(l->key, l->key_size, programs[i]);
  if (is_text(l->key, l->key_size, "aws_access_key_id")) return set(s->access_key, sizeof s->access_key, l, err);
  if (is_text(l->key, l->key_size, "aws_secret_access_key")) return set(s->secret_key, sizeof s->secret_key, l, err);
  if (is_text(l->key, l->key_size, "aws_session_token")) return set(s->token, sizeof s->token, l, err);
  if (is_text(l->key, l->key_size, "region")) return set(s->region, sizeof s->region, l, err);
  if (is_text(l->key, l->key_size, "endpoint_url")) return set(s->endpoint, sizeof s->endpoint, l, err);
  return FURROW_OK;
}

furrow_status fw_s3_settings_parse(fw_s3_settings *settings, const char *text, size_t size, const char *section,
                                   bool *found, bool *needs_program, furrow_error *err) {
  const char *const end = text + size;
  bool inside = false;
  while (text < end) {
    const char *next = memchr(text, '\n', (size_t)(end - text));
    const bool nested = *text == ' ' || *text == '\t'; /* settings of another service */
    line l = {.key = text, .key_size = (size_t)((next ? next : end) - text)};
    text = next ? next + 1 : end;
    trim(&l.key, &l.key_size);
    if (l.key_size == 0 || nested || l.key[0] == '#' || l.key[0] == ';') continue;
    if (l.key[0] == '[') {
      const char *close = memchr(l.key, ']', l.key_size), *name = l.key + 1;
      size_t length = close ? (size_t)(close - name) : 0;
      trim(&name, &length);
      inside = close && is_text(name, length, section);
      *found |= inside;
      continue;
    }
    const char *equals = inside ? memchr(l.key, '=', l.key_size) : NULL;
    if (!equals) continue;
    l.value = equals + 1;
    l.value_size = l.key_size - (size_t)(l.value - l.key);
    l.key_size = (size_t)(equals - l.key);
    trim(&l.key, &l.key_size);
    trim(&l.value, &l.value_size);
    FW_TRY(take_line(settings, &l, needs_program, err));
  }
  return FURROW_OK;
}

/* ---- The files ------------------------------------------------------------------------------------------ */

/* Reads one of the files of ~/.aws, if it is there. */
static furrow_status read_file(fw_s3_settings *settings, const char *name, const char *file, const char *section,
                               bool *found, bool *needs_program, furrow_error *err) {
  enum { MOST = 1 << 20 };
  char path[PATH_MAX];
  const char *given = variable(name), *home = variable("HOME");
  if (!given && !home) return FURROW_OK;
  snprintf(path, sizeof path, "%s%s%s", given ? given : home, given ? "" : "/.aws/", given ? "" : file);
  FILE *in = fopen(path, "re");
  if (!in) return FURROW_OK;
  char *text = malloc(MOST);
  const size_t size = text ? fread(text, 1, MOST, in) : 0;
  fclose(in);
  furrow_status status = text ? FURROW_OK : fw_fail_memory(err, MOST);
  if (status == FURROW_OK) status = fw_s3_settings_parse(settings, text, size, section, found, needs_program, err);
  if (text) memset(text, 0, size);
  free(text);
  if (status != FURROW_OK) fw_error_set_file(err, path);
  return status;
}

static furrow_status read_profile(fw_s3_settings *settings, furrow_error *err) {
  const char *asked = variable("AWS_PROFILE"), *profile = asked ? asked : "default";
  char section[256];
  bool found = false, needs_program = false;
  FW_TRY(read_file(settings, "AWS_SHARED_CREDENTIALS_FILE", "credentials", profile, &found, &needs_program, err));
  snprintf(section, sizeof section, "%s%s", strcmp(profile, "default") == 0 ? "" : "profile ", profile);
  FW_TRY(read_file(settings, "AWS_CONFIG_FILE", "config", section, &found, &needs_program, err));
  if (asked && !found) return fw_fail(err, FURROW_E_ARGUMENT, "~/.aws has no profile %s (AWS_PROFILE)", profile);
  if (settings->access_key[0] || !needs_program) return FURROW_OK;
  fw_fail(err, FURROW_E_UNSUPPORTED, "the profile %s has its credentials from a program or a role", profile);
  fw_error_set_hint(err, "export them first: eval \"$(aws configure export-credentials --format env)\"");
  return FURROW_E_UNSUPPORTED;
}

/* ---- All of it ------------------------------------------------------------------------------------------ */

static furrow_status copy_variable(char *to, size_t capacity, const char *name, furrow_error *err) {
  const char *text = to[0] ? NULL : variable(name);
  if (text && strlen(text) >= capacity) return fw_fail(err, FURROW_E_ARGUMENT, "the value of %s is too long", name);
  if (text) snprintf(to, capacity, "%s", text);
  return FURROW_OK;
}

/* Keys of the environment belong together, and are not mixed with those of a profile. */
static furrow_status read_environment(fw_s3_settings *s, furrow_error *err) {
  if (variable("AWS_ACCESS_KEY_ID")) {
    FW_TRY(copy_variable(s->access_key, sizeof s->access_key, "AWS_ACCESS_KEY_ID", err));
    FW_TRY(copy_variable(s->secret_key, sizeof s->secret_key, "AWS_SECRET_ACCESS_KEY", err));
    FW_TRY(copy_variable(s->token, sizeof s->token, "AWS_SESSION_TOKEN", err));
  }
  FW_TRY(copy_variable(s->region, sizeof s->region, "AWS_REGION", err));
  FW_TRY(copy_variable(s->region, sizeof s->region, "AWS_DEFAULT_REGION", err));
  FW_TRY(copy_variable(s->endpoint, sizeof s->endpoint, "AWS_ENDPOINT_URL_S3", err));
  return copy_variable(s->endpoint, sizeof s->endpoint, "AWS_ENDPOINT_URL", err);
}

static furrow_status check_settings(fw_s3_settings *s, furrow_error *err) {
  size_t n = strlen(s->endpoint);
  while (n > 0 && s->endpoint[n - 1] == '/') s->endpoint[--n] = 0;
  if (n > 0 && strncmp(s->endpoint, "http://", 7) != 0 && strncmp(s->endpoint, "https://", 8) != 0)
    return fw_fail(err, FURROW_E_ARGUMENT, "the endpoint (AWS_ENDPOINT_URL) must begin with http:// or https://");
  if (n > 0 && strchr(s->endpoint, '@'))
    return fw_fail(err, FURROW_E_ARGUMENT, "the endpoint (AWS_ENDPOINT_URL) must not have a password");
  if (s->access_key[0] && !s->secret_key[0])
    return fw_fail(err, FURROW_E_ARGUMENT, "there is an access key, but no secret key (AWS_SECRET_ACCESS_KEY)");
  const char *const values[] = {s->access_key, s->secret_key, s->token, s->region, s->endpoint};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) /* would end a header */
    if (strpbrk(values[i], "\r\n")) return fw_fail(err, FURROW_E_ARGUMENT, "a setting of AWS has a line end in it");
  return FURROW_OK;
}

furrow_status fw_s3_settings_find(fw_s3_settings *settings, furrow_error *err) {
  fw_s3_settings found = {0};
  FW_TRY(read_environment(&found, err));
  if (!found.access_key[0] && variable("AWS_WEB_IDENTITY_TOKEN_FILE"))
    FW_TRY(fw_s3_role_find(FW_S3_ROLE_WEB, &found, err));
  if (found.access_key[0]) { /* the profile has only the region and the endpoint to add */
    fw_s3_settings more = {0};
    furrow_error unused;
    if (read_profile(&more, &unused) == FURROW_OK) {
      if (!found.region[0]) memcpy(found.region, more.region, sizeof found.region);
      if (!found.endpoint[0]) memcpy(found.endpoint, more.endpoint, sizeof found.endpoint);
    }
    memset(&more, 0, sizeof more);
  } else {
    FW_TRY(read_profile(&found, err));
    if (!found.access_key[0]) FW_TRY(fw_s3_role_find(FW_S3_ROLE_CONTAINER, &found, err));
    if (!found.access_key[0]) FW_TRY(fw_s3_role_find(FW_S3_ROLE_INSTANCE, &found, err));
  }
  FW_TRY(check_settings(&found, err));
  *settings = found;
  return FURROW_OK;
}
