/* base/status.c: the status list, error texts, structs that can grow, the version. */
_Static_assert(sizeof(void *) == 8,
               "Furrow is for processors with 64-bit addresses"); /* checked here, before a missing header can fail */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/params.h"
#include "furrow/version.h"

const char *furrow_status_name(furrow_status status) {
  switch (status) {
#define FURROW_X(name, number, code, text) \
  case FURROW_##name: return #name;
    FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  }
  return "E_UNKNOWN";
}

const char *furrow_status_text(furrow_status status) {
  switch (status) {
#define FURROW_X(name, number, code, text) \
  case FURROW_##name: return text;
    FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  }
  return "unknown status";
}

int furrow_status_exit_code(furrow_status status) {
  switch (status) {
#define FURROW_X(name, number, code, text) \
  case FURROW_##name: return code;
    FURROW_STATUS_LIST(FURROW_X)
#undef FURROW_X
  }
  return 1;
}

size_t furrow_error_to_text(const furrow_error *error, char *text, size_t size) {
  char place[64] = "";
  if (error->line > 0 && error->column > 0)
    snprintf(place, sizeof place, "%llu:%llu: ", (unsigned long long)error->line, (unsigned long long)error->column);
  else if (error->line > 0)
    snprintf(place, sizeof place, "%llu: ", (unsigned long long)error->line);
  else if (error->file[0] && error->offset != FURROW_NO_OFFSET)
    snprintf(place, sizeof place, " byte %llu: ", (unsigned long long)error->offset);
  else if (error->file[0])
    snprintf(place, sizeof place, " ");
  int n = snprintf(text, size, "%s%s%s%s%s%s%s", error->file, error->file[0] ? ":" : "", place,
                   error->message[0] ? error->message : furrow_status_text(error->status), error->token[0] ? " (" : "",
                   error->token, error->token[0] ? ")" : "");
  return n < 0 ? 0 : (size_t)n;
}

static void start_error(furrow_error *err, furrow_status status, const char *format, va_list args) {
  memset(err, 0, sizeof *err);
  err->status = status;
  err->offset = FURROW_NO_OFFSET;
  vsnprintf(err->message, sizeof err->message, format, args);
}

furrow_status fw_fail(furrow_error *err, furrow_status status, const char *format, ...) {
  if (err) {
    va_list args;
    va_start(args, format);
    start_error(err, status, format, args);
    va_end(args);
  }
  return status;
}

furrow_status fw_fail_errno(furrow_error *err, furrow_status status, int errnum, const char *format, ...) {
  if (err) {
    va_list args;
    va_start(args, format);
    start_error(err, status, format, args);
    va_end(args);
    size_t used = strlen(err->message);
    char reason[128];
    snprintf(err->message + used, sizeof err->message - used, ": %s", strerror_r(errnum, reason, sizeof reason));
  }
  return status;
}

void fw_error_set_hint(furrow_error *err, const char *format, ...) {
  if (!err) return;
  va_list args;
  va_start(args, format);
  vsnprintf(err->hint, sizeof err->hint, format, args);
  va_end(args);
}

furrow_status fw_report_progress(furrow_progress progress, void *user, const char *phase, uint64_t done, uint64_t total,
                                 furrow_error *err) {
  if (!progress || progress(user, phase, done, total)) return FURROW_OK;
  return fw_fail(err, FURROW_E_CANCELLED, "stopped in the phase %s", phase);
}

furrow_status fw_params_read(void *params, size_t size, const void *given, const char *name, furrow_error *err) {
  size_t given_size;
  if (!given) return FURROW_OK;
  memcpy(&given_size, given, sizeof given_size);
  if (given_size < sizeof given_size)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s was not initialised: its _init sets its size", name);
  if (given_size > size)
    return fw_fail(err, FURROW_E_UNSUPPORTED,
                   "%s was not initialised, or is of a newer version of Furrow than this library, %s", name,
                   FURROW_VERSION);
  memcpy(params, given, given_size);
  memcpy(params, &size, sizeof size);
  return FURROW_OK;
}

void fw_info_write(void *info, const void *full, size_t size) {
  size_t given;
  memcpy(&given, info, sizeof given);
  if (given < sizeof given) return; /* not initialised: it must not be written to */
  if (given > size) memset((char *)info + size, 0, given - size);
  memcpy((char *)info + sizeof given, (const char *)full + sizeof given, (given < size ? given : size) - sizeof given);
}

furrow_status fw_fail_memory(furrow_error *err, size_t bytes) {
  return fw_fail(err, FURROW_E_MEMORY, "out of memory: %zu %s not available", bytes,
                 fw_plural(bytes, "byte is", "bytes are"));
}

/* Writes an address of HTTP without what may be secret: a password before the host, and the query, which may be a
 * signature. Returns false if the path is not such an address. */
static bool hide_secrets(char *shown, size_t size, const char *path) {
  const size_t scheme = strncasecmp(path, "http://", 7) == 0 ? 7 : strncasecmp(path, "https://", 8) == 0 ? 8 : 0;
  if (scheme == 0) return false;
  const size_t length = strcspn(path, "?#"), host = scheme + strcspn(path + scheme, "/?#");
  size_t begin = scheme;
  for (size_t i = scheme; i < host; i++)
    if (path[i] == '@') begin = i;
  snprintf(shown, size, "%.*s%s%.*s%s", (int)scheme, path, begin > scheme ? "..." : "", (int)(length - begin),
           path + begin, path[length] == '?' ? "?..." : "");
  return true;
}

void fw_error_set_file(furrow_error *err, const char *file) {
  if (!err) return;
  char shown[sizeof err->file];
  if (hide_secrets(shown, sizeof shown, file)) file = shown;
  size_t n = strlen(file);
  const char *tail = n < sizeof err->file ? file : file + (n - (sizeof err->file - 1));
  snprintf(err->file, sizeof err->file, "%s", tail);
}

void fw_error_set_token(furrow_error *err, const char *token, size_t length) {
  if (!err) return;
  static const char hex[] = "0123456789abcdef";
  size_t avail = sizeof err->token - 4; /* for "..." and the end */
  size_t n = 0;
  size_t i = 0;
  for (; i < length; i++) {
    unsigned char c = (unsigned char)token[i];
    size_t need = c >= 0x20 && c != 0x7f && c < 0x80 ? 1 : 4;
    if (n + need > avail) break;
    if (need == 1) {
      err->token[n++] = (char)c;
    } else {
      err->token[n++] = '\\';
      err->token[n++] = 'x';
      err->token[n++] = hex[c >> 4];
      err->token[n++] = hex[c & 15];
    }
  }
  if (i < length) {
    memcpy(err->token + n, "...", 3);
    n += 3;
  }
  err->token[n] = 0;
}

const char *furrow_version(void) {
  return FURROW_VERSION;
}

unsigned furrow_version_number(void) {
  return FURROW_VERSION_NUMBER;
}
