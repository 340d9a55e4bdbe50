/* tests/fuzz/fuzz_uri.c: any text as a URI: refused, or taken apart into pieces that give the text again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
  if (!condition) abort();
}

/* Walks along `text`: what comes next must be the piece. */
static const char *match(const char *text, const char *piece, size_t length) {
  require(strncmp(text, piece, length) == 0);
  return text + length;
}

static const char *match_pieces(const char *text, const fw_uri *uri) {
  require(uri->npaths > 0);
  for (size_t i = 0; i < uri->npaths; i++) {
    if (i) text = match(text, ";", 1);
    require(uri->paths[i][0] != 0 && !strpbrk(uri->paths[i], ";?#"));
    text = match(text, uri->paths[i], strlen(uri->paths[i]));
  }
  for (size_t i = 0; i < uri->nargs; i++) {
    const fw_uri_arg *arg = &uri->args[i];
    text = match(text, i ? "&" : "?", 1);
    require(arg->key[0] != 0 && arg->value[0] != 0 && !strpbrk(arg->key, "=&?#") && !strpbrk(arg->value, "&?#"));
    text = match(text, arg->key, strlen(arg->key));
    text = match(text, "=", 1);
    text = match(text, arg->value, strlen(arg->value));
  }
  if (!uri->cachefile) return text;
  require(uri->cachefile[0] != 0 && !strchr(uri->cachefile, '#'));
  text = match(text, "#", 1);
  return match(text, uri->cachefile, strlen(uri->cachefile));
}

static void check_values(const fw_uri *uri) {
  for (size_t i = 0; i < uri->nargs; i++) {
    size_t first = 0;
    while (strcmp(uri->args[first].key, uri->args[i].key) != 0) first++;
    require(fw_uri_arg_value(uri, uri->args[i].key) == uri->args[first].value);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  if (!text) return 0;
  if (size) memcpy(text, data, size);
  text[size] = 0;
  fw_uri uri;
  furrow_error err;
  furrow_status status = fw_uri_parse(&uri, text, &err);
  require(status == FURROW_OK || (status == FURROW_E_ARGUMENT && err.status == status && err.message[0] != 0));
  if (status == FURROW_OK) {
    require(*match_pieces(text, &uri) == 0);
    check_values(&uri);
    fw_uri_clear(&uri);
  }
  free(text);
  return 0;
}
