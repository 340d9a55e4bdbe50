/* cli/core/fail.c: errors that the command itself reports. */
#include "core/fail.h"
#include "core/options.h"
#include "core/shown_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill_error(furrow_error *err, furrow_status status, const char *format, va_list args) {
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = FURROW_NO_OFFSET;
  vsnprintf(err->message, sizeof err->message, format, args);
}

furrow_status fail(furrow_error *err, furrow_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill_error(err, status, format, args);
  va_end(args);
  return status;
}

furrow_status fail_file(furrow_error *err, furrow_status status, const char *path, const char *what, int errnum) {
  fail(err, status, "%s%s%s", what, errnum ? ": " : "", errnum ? strerror(errnum) : "");
  snprintf(err->file, sizeof err->file, "%s", path);
  return status;
}

furrow_status fail_in(furrow_error *err, furrow_status status, const char *path, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill_error(err, status, format, args);
  va_end(args);
  snprintf(err->file, sizeof err->file, "%s", path);
  return status;
}

furrow_status fail_token(furrow_error *err, const char *token, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill_error(err, FURROW_E_ARGUMENT, format, args);
  va_end(args);
  size_t length = strlen(token);
  size_t avail = sizeof err->token - 1;
  snprintf(err->token, sizeof err->token, "%s", token);
  if (length > avail) memcpy(err->token + avail - 3, "...", 3);
  return FURROW_E_ARGUMENT;
}

furrow_status fail_memory(furrow_error *err) {
  return fail(err, FURROW_E_MEMORY, "out of memory");
}

furrow_status add_hint(furrow_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(err->hint, sizeof err->hint, format, args);
  va_end(args);
  return err->status;
}

void print_failure(furrow_status status, const furrow_error *err) {
  print_failure_of("", status, err);
}

void print_failure_of(const char *who, furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK || status == FURROW_END) return;
  char text[1024];
  furrow_error shown = *err;
  if (strcmp(shown.file, QUERY_PATH) == 0) snprintf(shown.file, sizeof shown.file, "--sql");
  furrow_error_to_text(&shown, text, sizeof text);
  for (char *end = text; (end = strchr(end, '\n'));)
    *end = ' '; /* a name may contain a line end; a message is one line */
  say("furrow: %s%s\n", who, text);
  if (err->hint[0]) say("hint: %s\n", err->hint);
}
