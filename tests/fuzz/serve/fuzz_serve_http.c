/* tests/fuzz/serve/fuzz_serve_http.c: any bytes as a request: a head, and chunks behind it. What is read in pieces is
 * what is read in one. The first byte says where the pieces end. */
#include <string.h>

#include "fuzz/harness/fuzz_check.h"
#include "http/http_parse.h"

static void check_text(http_text text, const char *data, size_t size) {
  check(text.size == 0 || (text.at >= data && text.at + text.size <= data + size) || http_text_is(text, "/"));
}

static void check_done(const http_head *head, const char *data, http_parsed parsed) {
  check_text(head->path, data, parsed.used);
  check_text(head->query, data, parsed.used);
  check_text(head->method_name, data, parsed.used);
  check(head->path.size > 0 && head->path.at[0] == '/' && head->header_count <= HTTP_MOST_HEADERS);
  for (size_t i = 0; i < head->header_count; i++) {
    check(head->headers[i].name.size > 0);
    check_text(head->headers[i].name, data, parsed.used);
    check_text(head->headers[i].value, data, parsed.used);
  }
  check(!(head->chunked && (head->content_length > 0 || head->http_1_0)));
  check(parsed.used >= 4 && memcmp(data + parsed.used - 4, "\r\n\r\n", 4) == 0);
}

/* Returns the bytes of the head; 0: there is not one. */
static size_t check_head(const char *data, size_t size, size_t piece) {
  static http_head head, again;
  const http_parsed whole = http_parse_head(&head, data, size);
  http_parsed parsed = {.state = HTTP_PARSE_MORE};
  for (size_t end = 0; parsed.state == HTTP_PARSE_MORE && end < size;) {
    end = size - end < piece ? size : end + piece;
    parsed = http_parse_head(&again, data, end);
  }
  if (size > 0) check(parsed.state == whole.state && parsed.status == whole.status && parsed.used == whole.used);
  if (whole.state == HTTP_PARSE_BAD) check(whole.status >= 400 && whole.problem);
  if (whole.state != HTTP_PARSE_DONE) return 0;
  check(whole.used <= size && whole.used <= HTTP_HEAD_BYTES);
  check_done(&head, data, whole);
  check(head.header_count == again.header_count && head.chunked == again.chunked &&
        head.content_length == again.content_length && head.keep_alive == again.keep_alive);
  return whole.used;
}

static void check_chunks(const char *data, size_t size, size_t piece) {
  char *one = malloc(size + 1), *many = malloc(size + 1);
  http_chunks chunks = {0};
  size_t content, total = 0, used = 0;
  check(one && many);
  memcpy(one, data, size);
  memcpy(many, data, size);
  const http_parsed whole = http_parse_chunks(&chunks, one, size, &content);
  check(content <= size && whole.used <= size);
  chunks = (http_chunks){0};
  http_parsed parsed = {.state = HTTP_PARSE_MORE};
  while (parsed.state == HTTP_PARSE_MORE && used < size) {
    const size_t count = size - used < piece ? size - used : piece;
    size_t here;
    parsed = http_parse_chunks(&chunks, many + used, count, &here);
    memmove(many + total, many + used, here);
    total += here;
    used += parsed.state == HTTP_PARSE_BAD ? 0 : parsed.used;
  }
  check(parsed.state == whole.state && parsed.status == whole.status);
  if (whole.state != HTTP_PARSE_BAD) check(used == whole.used);
  check(total == content && memcmp(one, many, total) == 0);
  free(one);
  free(many);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0) return 0;
  const size_t piece = (size_t)bytes[0] + 1;
  char *data = malloc(size);
  check(data != NULL);
  memcpy(data, bytes + 1, size - 1);
  const size_t used = check_head(data, size - 1, piece);
  check_chunks(data + used, size - 1 - used, piece);
  free(data);
  return 0;
}
