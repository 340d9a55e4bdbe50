/* tests/unit/serve/test_http_limits.c: heads of requests at the edge of what is taken: lines, weights, hosts. */
#include <stdio.h>
#include <string.h>

#include "http/http_parse.h"
#include "support/cmocka_all.h"

#define HOST "Host: a\r\n\r\n"
#define METHOD_32 "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF"

static void heads(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int status; /* 0: taken */
    const char *problem;
  } samples[] = {
      {"GET / HTTP/1.1\r\n" HOST, 0, NULL},
      {METHOD_32 " / HTTP/1.1\r\n" HOST, 0, NULL},
      {METHOD_32 "G / HTTP/1.1\r\n" HOST, 400, "the method is too long"},
      {" / HTTP/1.1\r\n" HOST, 400, "the request line does not begin with a method and a blank"},
      {"GET\t/ HTTP/1.1\r\n" HOST, 400, "the request line does not begin with a method and a blank"},
      {"GET  HTTP/1.1\r\n" HOST, 400, "the target of the request has a byte that must be percent-encoded"},
      {"GET /\x80 HTTP/1.1\r\n" HOST, 400, "the target of the request has a byte that must be percent-encoded"},
      {"GET /\tHTTP/1.1\r\n" HOST, 400, "the target of the request has a byte that must be percent-encoded"},
      {"GET a HTTP/1.1\r\n" HOST, 400, "the target of the request is not a path"},
      {"GET a/b HTTP/1.1\r\n" HOST, 400, "the target of the request is not a path"},
      {"GET ftp://a/b HTTP/1.1\r\n" HOST, 400, "the target of the request is not a path"},
      {"GET http:///b HTTP/1.1\r\n" HOST, 400, "the target of the request is not a path"},
      {"GET http://a HTTP/1.1\r\n" HOST, 0, NULL},
      {"GET http://A?b HTTP/1.1\r\n" HOST, 0, NULL},
      {"GET http://a/ HTTP/1.0\r\n\r\n", 0, NULL},
      {"GET http://a/ HTTP/1.1\r\nHost: ab\r\n\r\n", 400, "Host is not the host of the target"},
      {"GET http://ab/ HTTP/1.1\r\n" HOST, 400, "Host is not the host of the target"},
      {"GET http://b/ HTTP/1.1\r\n" HOST, 400, "Host is not the host of the target"},
      {"GET / HTTP/1.1\r\nContent-Length: 19\r\n" HOST, 0, NULL},
      {"GET / HTTP/1.1\r\nContent-Length: 1:\r\n" HOST, 400, "Content-Length is not a number of bytes"},
      {"GET / HTTP/1.1\r\nContent-Length: 1/\r\n" HOST, 400, "Content-Length is not a number of bytes"},
      {"GET / HTTP/1.1\r\nContent-Length: 123456789012345678\r\n" HOST, 0, NULL},
      {"GET / HTTP/1.1\r\nContent-Length: 1234567890123456789\r\n" HOST, 400,
       "Content-Length is not a number of bytes"},
      {"GET / HTTP/1.1\r\n: x\r\n" HOST, 400, "a line of the head does not begin with a name"},
      {"GET / HTTP/1.1\r\nA : x\r\n" HOST, 400, "the name of a header is not followed by a colon"},
      {"GET / HTTP/2.0\r\n" HOST, 505, "only HTTP/1.1 and HTTP/1.0 are supported"},
      {"GET / HTTP/1.2\r\n" HOST, 505, "only HTTP/1.1 and HTTP/1.0 are supported"},
  };
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    http_head head;
    const http_parsed parsed = http_parse_head(&head, samples[i].text, strlen(samples[i].text));
    const bool good = samples[i].status == 0 ? parsed.state == HTTP_PARSE_DONE && parsed.used == strlen(samples[i].text)
                                             : parsed.state == HTTP_PARSE_BAD && parsed.status == samples[i].status &&
                                                   strcmp(parsed.problem, samples[i].problem) == 0;
    if (!good) fail_msg("%s: %d %d %s", samples[i].text, parsed.state, parsed.status, parsed.problem);
  }
}

static void methods(void **state) {
  (void)state;
  static const struct {
    const char *text;
    http_method method;
  } samples[] = {{"GET / HTTP/1.1\r\n" HOST, HTTP_GET},    {"PUT / HTTP/1.1\r\n" HOST, HTTP_OTHER},
                 {"POST / HTTP/1.1\r\n" HOST, HTTP_POST},  {"HEAD / HTTP/1.1\r\n" HOST, HTTP_HEAD},
                 {"LOCK / HTTP/1.1\r\n" HOST, HTTP_OTHER}, {"get / HTTP/1.1\r\n" HOST, HTTP_OTHER}};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    http_head head;
    assert_int_equal(http_parse_head(&head, samples[i].text, strlen(samples[i].text)).state, HTTP_PARSE_DONE);
    assert_int_equal(head.method, samples[i].method);
  }
}

static void weights(void **state) {
  (void)state;
  static const struct {
    const char *value;
    bool gzip;
  } samples[] = {{"gzip", true},      {"gzip;q=1", true},   {"gzip; Q=0.9", true}, {"gzip;q=0.001", true},
                 {"gzip;q=0", false}, {"gzip;q=0:", false}, {"gzip;q=", false},    {"gzip;q", false},
                 {"gzip;9", false},   {"gzip;x=1", false},  {"gzip;q:1", false},   {"gzip;q=0/", false},
                 {"gzap", false},     {"gzip ;q=1", true},  {"br, gzip", true},    {"br;q=1, gzip;q=0", false}};
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    char text[128];
    http_head head;
    const int size = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nAccept-Encoding: %s\r\n" HOST, samples[i].value);
    assert_int_equal(http_parse_head(&head, text, (size_t)size).state, HTTP_PARSE_DONE);
    if (head.accepts_gzip != samples[i].gzip) fail_msg("%s", samples[i].value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(heads),
      cmocka_unit_test(methods),
      cmocka_unit_test(weights),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
