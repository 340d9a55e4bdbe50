/* io/remote/remote_http.c: http:// and https://. An address is sent as it is written; only bytes that no address can
 * have are escaped. */
#include <string.h>

#include "base/error.h"
#include "io/remote/remote.h"

static furrow_status refuse_password(const char *path, furrow_error *err) {
  const size_t host = strcspn(path, "/?#");
  if (!memchr(path, '@', host)) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "the address has a user name or password, which messages and files would show");
  fw_error_set_hint(err, "write it to the file ~/.netrc instead: machine HOST login USER password PASSWORD");
  return FURROW_E_ARGUMENT;
}

static furrow_status prepare_http(const fw_remote_service *service, const fw_remote_ask *ask, fw_remote_call *call,
                                  furrow_error *err) {
  FW_TRY(refuse_password(ask->path, err));
  fw_buffer_format(&call->url, "%s://", service->name);
  for (const char *p = ask->path; *p; p++) {
    const unsigned char c = (unsigned char)*p;
    if (c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c))
      fw_buffer_format(&call->url, "%%%02X", c);
    else
      fw_buffer_byte(&call->url, *p);
  }
  return FURROW_OK;
}

static const fw_remote_service http = {"http", true, false, prepare_http, NULL, fw_http_fail, NULL};
static const fw_remote_service https = {"https", true, false, prepare_http, NULL, fw_http_fail, NULL};

#define SYSTEM(service)                                                                                        \
  {                                                                                                            \
    .size = sizeof(furrow_file_system), .user = (void *)(uintptr_t) & (service), .stat = fw_remote_stat,       \
    .open = fw_remote_open, .read_at = fw_remote_read_at, .close = fw_remote_close, .expect = fw_remote_expect \
  }

const furrow_file_system fw_remote_http = SYSTEM(http);
const furrow_file_system fw_remote_https = SYSTEM(https);
