/* tests/fuzz/fuzz_remote_texts.c: any bytes as a list of objects, as a file of profiles, and as the credentials of a
 * role: read or refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/remote/s3_credentials.h"
#include "io/remote/s3_list.h"
#include "io/remote/s3_roles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
  if (!condition) abort();
}

static furrow_status take_name(void *listing, const char *name, furrow_error *err) {
  (void)err;
  require(name[0] != 0 && !strchr(name, '/'));
  ++*(size_t *)listing;
  return FURROW_OK;
}

static void read_list(const char *text, size_t size, const char *prefix) {
  fw_buffer next = {0};
  size_t count = 0, names = 0;
  furrow_error err;
  const furrow_status status = fw_s3_list_parse(text, size, prefix, take_name, &names, &next, &count, &err);
  require(status == FURROW_OK || status == FURROW_E_FORMAT);
  require(names <= count && count <= size && next.size <= size);
  fw_buffer_clear(&next);
}

static void read_role(const char *text, size_t size) {
  fw_s3_settings s = {0};
  int64_t expires = 0;
  furrow_error err;
  const furrow_status status = fw_s3_role_parse(&s, text, size, &expires, &err);
  require(status == FURROW_OK || status == FURROW_E_FORMAT);
  require((status == FURROW_OK) == (s.access_key[0] != 0) && !strpbrk(s.token, "\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  require(text != NULL);
  memcpy(text, data, size);
  read_list(text, size, "");
  read_list(text, size, "a/");
  read_role(text, size);
  fw_s3_settings s = {0};
  bool found = false, needs_program = false;
  furrow_error err;
  const furrow_status status = fw_s3_settings_parse(&s, text, size, "work", &found, &needs_program, &err);
  require(status == FURROW_OK || status == FURROW_E_FORMAT);
  require(strlen(s.secret_key) < sizeof s.secret_key && !strchr(s.region, '\n') && (found || !s.access_key[0]));
  free(text);
  return 0;
}
