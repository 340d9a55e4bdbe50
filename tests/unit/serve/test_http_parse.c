/* tests/unit/serve/test_http_parse.c: heads and chunks: what is read, what is refused, in one piece and in any two. */
#include "http/http_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka_all.h"

#define HOST "Host: a\r\n"

/* Parses from memory of exactly this size, so that a byte too far is seen by the address sanitizer. */
static http_parsed parse(http_head *head, const char *text, size_t size) {
  char *copy = malloc(size > 0 ? size : 1);
  assert_non_null(copy);
  memcpy(copy, text, size);
  const http_parsed parsed = http_parse_head(head, copy, size);
  free(copy);
  return parsed;
}

/* Every piece of a head is the begin of one; what is refused is refused at some byte, and then with all bytes behind
 * it. */
static void check_pieces(const char *text, size_t size, http_parsed whole) {
  http_head head;
  for (size_t i = 0; i < size; i++) {
    const http_parsed parsed = parse(&head, text, i);
    if (parsed.state == HTTP_PARSE_MORE) continue;
    if (parsed.state != whole.state || parsed.status != whole.status || parsed.used != whole.used)
      fail_msg("%s: of %zu bytes: state %d, status %d", text, i, parsed.state, parsed.status);
  }
}

static void accepted(const char *text) {
  http_head head;
  const size_t size = strlen(text);
  const http_parsed parsed = parse(&head, text, size);
  if (parsed.state != HTTP_PARSE_DONE || parsed.used != size)
    fail_msg("%s: state %d, used %zu: %s", text, parsed.state, parsed.used, parsed.problem ? parsed.problem : "");
  check_pieces(text, size, parsed);
}

static void refused_bytes(int status, const char *text, size_t size) {
  http_head head;
  const http_parsed parsed = parse(&head, text, size);
  if (parsed.state != HTTP_PARSE_BAD || parsed.status != status)
    fail_msg("%s: state %d, status %d instead of %d", text, parsed.state, parsed.status, status);
  assert_non_null(parsed.problem);
  check_pieces(text, size, parsed);
}

static void refused(int status, const char *text) {
  refused_bytes(status, text, strlen(text));
}

static void heads_that_are_read(void **state) {
  (void)state;
  static const char *const texts[] = {
      "GET / HTTP/1.1\r\n" HOST "\r\n",
      "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.1\r\nhOST:\t [::1]:80 \t \r\n\r\n",
      "GET http://a/b?c HTTP/1.1\r\n" HOST "\r\n",
      "GET HTTP://A HTTP/1.1\r\n" HOST "\r\n",
      "OPTIONS /a HTTP/1.1\r\n" HOST "\r\n",
      "M-SEARCH /a HTTP/1.1\r\n" HOST "\r\n",
      "POST /a HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
      "POST /a HTTP/1.1\r\n" HOST "Content-Length: 000000000000000012\r\n\r\n",
      "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n",
      "GET /%00?a=b&c=\"{}|<>\\^` HTTP/1.1\r\n" HOST "\r\n",
      "GET / HTTP/1.1\r\n" HOST "X:\r\nY: \r\nZ: \x80\xff\t \r\n\r\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) accepted(texts[i]);
}

/* Every byte at every place of a value: values are read eight bytes at a time. */
static void bytes_of_values(void **state) {
  (void)state;
  for (size_t at = 0; at < 20; at++)
    for (unsigned c = 0; c < 256; c++) {
      char text[] = "GET / HTTP/1.1\r\nX: abcdefgh\x80\xffijklmnopqr\r\n" HOST "\r\n";
      http_head head;
      text[19 + at] = (char)c;
      const http_parsed parsed = parse(&head, text, sizeof text - 1);
      const bool is_allowed = c == '\t' || (c >= ' ' && c != 0x7f);
      if ((parsed.state == HTTP_PARSE_DONE) != is_allowed) fail_msg("byte %u at %zu: state %d", c, at, parsed.state);
    }
}

static void heads_that_are_refused(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *text;
  } cases[] = {
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: localhost:evil\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: localhost:80:80\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: localhost:65536\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: localhost:18446744073709551696\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: localhost:-1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: ::1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: []\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: [::1].evil\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: [::g]:80\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a[::1]\r\n\r\n"},
      {400, "GET http://a:evil/ HTTP/1.0\r\n\r\n"},
      {400, "GET http://b/ HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET http:///x HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET http://a@b/ HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET * HTTP/1.1\r\n" HOST "\r\n"},
      {400, "CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET /#x HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET /  HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET\t/ HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET /\x80 HTTP/1.1\r\n" HOST "\r\n"},
      {400, "GET /\r\n"},
      {400, "GET / HTTP/1.1 \r\n" HOST "\r\n"},
      {400, "GET / http/1.1\r\n" HOST "\r\n"},
      {400, "GET / HTTP/1.10\r\n" HOST "\r\n"},
      {400, " GET / HTTP/1.1\r\n" HOST "\r\n"},
      {400, "\nGET / HTTP/1.1\r\n" HOST "\r\n"},
      {400, "G@T / HTTP/1.1\r\n" HOST "\r\n"},
      {400, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
      {400, "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n"},
      {400, "\x16\x03\x01\x02"},
      {505, "GET / HTTP/2.0\r\n" HOST "\r\n"},
      {505, "GET / HTTP/1.2\r\n" HOST "\r\n"},
      {505, "GET / HTTP/0.9\r\n" HOST "\r\n"},
      {505, "PRI * HTTP/2.0\r\n\r\n"},
      /* Lines. */
      {400, "GET / HTTP/1.1\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: y\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: y\rZ: y\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "\rX"},
      {400, "GET / HTTP/1.1\r\n" HOST "X : y\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST ": y\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: y\r\n z\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: y\r\n\tz\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X: \x0b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n" HOST "X\x80: y\r\n\r\n"},
      /* Where the body ends. */
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1 1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551617\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \x0b"
            "chunked\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked;a=b\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n"},
      {400, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding : chunked\r\n\r\n"},
      {400, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n"},
      {417, "POST / HTTP/1.1\r\n" HOST "Expect: a miracle\r\n\r\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refused(cases[i].status, cases[i].text);
  static const char zero[] = "GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n", zero_path[] = "GET /\0 HTTP/1.1\r\n";
  refused_bytes(400, zero, sizeof zero - 1);
  refused_bytes(400, zero_path, sizeof zero_path - 1);
}

static void limits_of_heads(void **state) {
  (void)state;
  static char text[HTTP_HEAD_BYTES + 100];
  http_head head;
  size_t size = (size_t)sprintf(text, "GET / HTTP/1.1\r\n" HOST);
  for (int i = 1; i < HTTP_MOST_HEADERS; i++) size += (size_t)sprintf(text + size, "X: %d\r\n", i);
  strcpy(text + size, "\r\n");
  assert_int_equal(http_parse_head(&head, text, size + 2).state, HTTP_PARSE_DONE);
  assert_int_equal(head.header_count, HTTP_MOST_HEADERS);
  strcpy(text + size, "X: y\r\n\r\n");
  assert_int_equal(http_parse_head(&head, text, size + 8).status, 431);

  /* The longest head is read, one byte more is not, wherever the bytes behind it end. */
  static const char begin[] = "GET / HTTP/1.1\r\n" HOST "X: ";
  memset(text, 'x', sizeof text);
  memcpy(text, begin, sizeof begin - 1);
  memcpy(text + HTTP_HEAD_BYTES - 4, "\r\n\r\n", 4);
  http_parsed parsed = http_parse_head(&head, text, sizeof text);
  assert_true(parsed.state == HTTP_PARSE_DONE && parsed.used == HTTP_HEAD_BYTES);
  assert_int_equal(http_parse_head(&head, text, HTTP_HEAD_BYTES - 1).state, HTTP_PARSE_MORE);
  memcpy(text + HTTP_HEAD_BYTES - 4, "x\r\n\r\n", 5);
  for (size_t i = HTTP_HEAD_BYTES; i <= sizeof text; i++) assert_int_equal(http_parse_head(&head, text, i).status, 431);
}

static bool is(http_text text, const char *literal) {
  return http_text_is(text, literal);
}

static void fields_of_a_head(void **state) {
  (void)state;
  static const char text[] =
      "POST /v1/models/a:predict?k=1?2 HTTP/1.1\r\nHost: x:80\r\nX-Name:  some value \r\n"
      "Content-Length: 42\r\nexpect: 100-Continue\r\nACCEPT-ENCODING: br, gzip;q=0.5\r\n\r\nbody";
  http_head head;
  const http_parsed parsed = http_parse_head(&head, text, sizeof text - 1);
  assert_true(parsed.state == HTTP_PARSE_DONE && parsed.used == sizeof text - 5);
  assert_true(head.method == HTTP_POST && is(head.method_name, "POST"));
  assert_true(is(head.path, "/v1/models/a:predict") && is(head.query, "k=1?2"));
  assert_true(head.keep_alive && !head.http_1_0 && !head.chunked && head.expects_continue && head.accepts_gzip);
  assert_int_equal(head.content_length, 42);
  assert_int_equal(head.header_count, 5);
  assert_true(is(http_header_value(&head, "x-name"), "some value") && is(http_header_value(&head, "HOST"), "x:80"));
  assert_null(http_header_value(&head, "x").at);
  assert_false(is(head.path, "/v1/models/a:predic") || is(head.path, "/v1/models/a:predicts"));

  static const char absolute[] = "GET http://a?b HTTP/1.1\r\n" HOST "\r\n";
  assert_int_equal(http_parse_head(&head, absolute, sizeof absolute - 1).state, HTTP_PARSE_DONE);
  assert_true(is(head.path, "/") && is(head.query, "b"));
}

static http_head head_with(const char *version, const char *header) {
  char text[256];
  http_head head;
  const int size = snprintf(text, sizeof text, "GET / HTTP/%s\r\n" HOST "%s\r\n\r\n", version, header);
  assert_int_equal(http_parse_head(&head, text, (size_t)size).state, HTTP_PARSE_DONE);
  return head;
}

static void connections_and_codings(void **state) {
  (void)state;
  assert_false(head_with("1.0", "X: y").keep_alive);
  assert_true(head_with("1.0", "Connection: Keep-Alive").keep_alive);
  assert_true(head_with("1.1", "Connection: upgrade").keep_alive);
  assert_false(head_with("1.1", "Connection: x ,\tClose").keep_alive);
  assert_false(head_with("1.1", "Connection: close, keep-alive").keep_alive);
  assert_false(head_with("1.1", "Connection: close\r\nConnection: keep-alive").keep_alive);
  assert_true(head_with("1.1", "Connection: closed").keep_alive);
  assert_false(head_with("1.0", "Expect: 100-continue").expects_continue);
  static const char *const with[] = {"gzip", "GZIP", "x-gzip", "br,gzip", "gzip;q=1", "gzip; q=0.001", " , gzip ,"};
  static const char *const without[] = {"", "br", "gzip;q=0", "gzip;q=0.000", "gzipped", "*", "identity", "gzip;q="};
  for (size_t i = 0; i < sizeof with / sizeof *with + sizeof without / sizeof *without; i++) {
    char header[64];
    const size_t count = sizeof with / sizeof *with;
    snprintf(header, sizeof header, "Accept-Encoding: %s", i < count ? with[i] : without[i - count]);
    if (head_with("1.1", header).accepts_gzip != (i < count)) fail_msg("%s", header);
  }
}

static void codings_of_bodies(void **state) {
  (void)state;
  static const struct {
    const char *header;
    http_coding coding;
  } samples[] = {
      {"X: y", HTTP_PLAIN},
      {"Content-Encoding: ", HTTP_PLAIN},
      {"Content-Encoding: Identity", HTTP_PLAIN},
      {"Content-Encoding: GZip ", HTTP_GZIP},
      {"content-encoding: x-gzip", HTTP_GZIP},
      {"Content-Encoding: zstd", HTTP_ZSTD},
      {"Content-Encoding: br", HTTP_UNKNOWN_CODING},
      {"Content-Encoding: gzip, gzip", HTTP_UNKNOWN_CODING},
      {"Content-Encoding: gzip\r\nContent-Encoding: gzip", HTTP_UNKNOWN_CODING},
      {"Content-Encoding: identity\r\nContent-Encoding: gzip", HTTP_UNKNOWN_CODING},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
    if (head_with("1.1", samples[i].header).coding != samples[i].coding) fail_msg("%s", samples[i].header);
}

/* ---- Chunks ---- */

/* Parses in two pieces; content goes to `out`. */
static http_parsed chunks_in_pieces(const char *text, size_t size, size_t split, char *out, size_t *out_size) {
  http_chunks chunks = {0};
  size_t content, used = 0;
  char first[512], second[512];
  memcpy(first, text, split);
  memcpy(second, text + split, size - split);
  http_parsed parsed = http_parse_chunks(&chunks, first, split, &content);
  memcpy(out, first, content);
  *out_size = content;
  if (parsed.state != HTTP_PARSE_MORE) return parsed;
  assert_int_equal(parsed.used, split);
  used = split;
  parsed = http_parse_chunks(&chunks, second, size - split, &content);
  memcpy(out + *out_size, second, content);
  *out_size += content;
  parsed.used += used;
  return parsed;
}

static void chunks_that_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text, *content;
    size_t behind; /* bytes of the next request */
  } cases[] = {
      {"0\r\n\r\n", "", 0},
      {"5\r\nhello\r\n0\r\n\r\n", "hello", 0},
      {"5\r\nhello\r\n6\r\n world\r\n000\r\n\r\nGET /", "hello world", 5},
      {"a\r\n0123456789\r\nA;x=\"y z\"\r\n0123456789\r\n0;q\r\n\r\n", "01234567890123456789", 0},
      {"2\r\n\r\n\r\n0\r\nX: y\r\nZ: a\r\n\r\nrest", "\r\n", 4},
      {"0000000000000001\r\nx\r\n0\r\n\r\n", "x", 0},
      {"1;a;b=c;d=\"e\\\"f;\\\\\";g\r\nx\r\n0\r\nEmpty:\r\nX-Y:a:b \"\r\n\r\n", "x", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t split = 0; split <= strlen(cases[i].text); split++) {
      char out[512];
      size_t size, length = strlen(cases[i].text);
      const http_parsed parsed = chunks_in_pieces(cases[i].text, length, split, out, &size);
      if (parsed.state != HTTP_PARSE_DONE || parsed.used != length - cases[i].behind ||
          size != strlen(cases[i].content) || memcmp(out, cases[i].content, size) != 0)
        fail_msg("%s at %zu: state %d, used %zu, %zu bytes", cases[i].text, split, parsed.state, parsed.used, size);
    }
}

static void chunks_that_are_refused(void **state) {
  (void)state;
  static const char *const cases[] = {
      "\r\n",
      "x\r\n",
      " 5\r\nhello\r\n",
      "5 \r\nhello\r\n",
      "-5\r\n",
      "0x5\r\n",
      "5\nhello\r\n",
      "5\r\nhello0\r\n",
      "5\r\nhello\n0\r\n",
      "5\rhello\r\n",
      ";a\r\n",
      "0\r\n\n",
      "0\r\n\rx",
      "0\r\n X: y\r\n\r\n",
      "0\r\nX: y\n\r\n",
      "0\r\n: y\r\n",
      "0\r\nX\r\n\r\n",
      "0\r\nX y\r\n\r\n",
      "0\r\nX : y\r\n\r\n",
      "0\r\nX: y\r\n z\r\n\r\n",
      "0\r\n(X): y\r\n\r\n",
      "0\r\nX: y\x01\r\n\r\n",
      "0\r\nGET / HTTP/1.1\r\n\r\n",
      "5;\r\nhello\r\n",
      "5;;a\r\nhello\r\n",
      "5;a b\r\nhello\r\n",
      "5;a=\r\nhello\r\n",
      "5;a=b=c\r\nhello\r\n",
      "5;a=\"b\r\nhello\r\n",
      "5;a=\"b\"c\r\nhello\r\n",
      "5;=a\r\nhello\r\n",
      "5;a\x01\r\n",
      "5;a\nb\r\nhello\r\n",
      "5\r\nhello\rx",
      "fffffffffffffffff\r\n",
      "10000000000000000\r\n",
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t split = 0; split <= strlen(cases[i]); split++) {
      char out[512];
      size_t size;
      const http_parsed parsed = chunks_in_pieces(cases[i], strlen(cases[i]), split, out, &size);
      if (parsed.state != HTTP_PARSE_BAD || parsed.status != 400) fail_msg("%s: state %d", cases[i], parsed.state);
    }
}

static void chunks_have_limits(void **state) {
  (void)state;
  http_chunks chunks = {0};
  size_t content;
  char text[8192];
  memset(text, 'x', sizeof text);
  memcpy(text, "1;", 2);
  assert_int_equal(http_parse_chunks(&chunks, text, sizeof text, &content).status, 400);
  chunks = (http_chunks){0};
  memcpy(text, "0\r\n", 3);
  assert_int_equal(http_parse_chunks(&chunks, text, sizeof text, &content).status, 400);
  chunks = (http_chunks){0};
  memcpy(text, "1000\r\n", 6); /* 4,096 bytes */
  assert_int_equal(http_parse_chunks(&chunks, text, 4000, &content).state, HTTP_PARSE_MORE);
  assert_int_equal(content, 3994);
  assert_int_equal(chunks.left, 102);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads_that_are_read),     cmocka_unit_test(bytes_of_values),
      cmocka_unit_test(heads_that_are_refused),  cmocka_unit_test(limits_of_heads),
      cmocka_unit_test(fields_of_a_head),        cmocka_unit_test(connections_and_codings),
      cmocka_unit_test(codings_of_bodies),       cmocka_unit_test(chunks_that_are_read),
      cmocka_unit_test(chunks_that_are_refused), cmocka_unit_test(chunks_have_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
