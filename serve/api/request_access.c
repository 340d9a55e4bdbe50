/* serve/api/request_access.c: access control: tokens, the host names of the service, pages of other sites. */
#include "api/request_access.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/problem.h"
#include "base/error.h"
#include "core/fail.h"

static http_text text_of(const char *text) {
  return (http_text){text, strlen(text)};
}

static bool is_same(http_text a, http_text b) {
  return a.size == b.size && (a.size == 0 || strncasecmp(a.at, b.at, a.size) == 0);
}

/* ---- Tokens ---- */

/* Compares in constant time, wherever the texts differ. */
static bool is_same_secret(http_text given, const char *secret) {
  const size_t length = strlen(secret);
  unsigned difference = given.size != length;
  for (size_t i = 0; i < given.size; i++)
    difference |= (unsigned)(unsigned char)given.at[i] ^ (unsigned)(unsigned char)secret[length > 0 ? i % length : 0];
  return difference == 0;
}

/* The problem with the token of a request; NULL: none. */
static const char *token_problem(const char *token, const http_head *head) {
  const http_text given = http_header_value(head, "Authorization");
  if (!given.at) return "this needs a token: send the header Authorization: Bearer TOKEN";
  if (given.size < 7 || strncasecmp(given.at, "Bearer ", 7) != 0)
    return "the header Authorization is not of the form Authorization: Bearer TOKEN";
  return is_same_secret((http_text){given.at + 7, given.size - 7}, token)
             ? NULL
             : "the token is not the one in the first line of the server's token file";
}

/* ---- Names of the service ---- */

/* Reads an address as it stands in Host: IPv6 in brackets. Returns false: it is a name. */
static bool is_address(http_text name, bool *is_loopback) {
  char text[INET6_ADDRSTRLEN];
  struct in_addr v4;
  struct in6_addr v6;
  const size_t skip = name.size > 2 && name.at[0] == '[';
  if (name.size - 2 * skip >= sizeof text) return false;
  memcpy(text, name.at + skip, name.size - 2 * skip);
  text[name.size - 2 * skip] = 0;
  if (skip) {
    *is_loopback = inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
    return inet_pton(AF_INET6, text, &v6) == 1;
  }
  const bool is_v4 = inet_pton(AF_INET, text, &v4) == 1;
  *is_loopback = is_v4 && ntohl(v4.s_addr) >> 24 == 127;
  return is_v4;
}

static bool is_listed_host(const request_access *a, http_text name, http_text port) {
  for (size_t i = 0; i < a->hosts->count; i++) {
    http_text listed, listed_port;
    if (http_split_host(text_of(a->hosts->texts[i]), &listed, &listed_port) && is_same(name, listed) &&
        (listed_port.size == 0 || is_same(port, listed_port)))
      return true;
  }
  return false;
}

/* Addresses are safe, because no web page can redirect them; a name may be made to point to any address. */
static bool is_own_host(const request_access *a, http_text host) {
  http_text name, port;
  bool is_loopback = false;
  if (!http_split_host(host, &name, &port)) return false;
  if (is_listed_host(a, name, port) || is_same(name, text_of("localhost"))) return true;
  if (is_address(name, &is_loopback)) return is_loopback || !a->loopback_only;
  return name.size > 0 && is_same(name, a->own_name);
}

/* Whether Host does not matter: a page of another site does not have the token. HTTP/1.0 requests, which browsers do
 * not send, may lack Host. */
static bool may_use_host(const request_access *a, http_text host) {
  return !host.at || (a->token && a->hosts->count == 0) || is_own_host(a, host);
}

/* ---- Pages of other sites ---- */

static bool is_own_origin(http_text origin, http_text host) {
  const size_t scheme = origin.size >= 7 && memcmp(origin.at, "http://", 7) == 0    ? 7
                        : origin.size >= 8 && memcmp(origin.at, "https://", 8) == 0 ? 8
                                                                                    : 0;
  return is_same((http_text){origin.at + scheme, origin.size - scheme}, host);
}

/* The headers that an allowed origin gets; NULL: it is not allowed. */
static const char *origin_headers(const request_access *a, http_text origin) {
  for (size_t i = 0; i < a->origins->count; i++)
    if (is_same(origin, text_of(a->origins->texts[i]))) return a->headers[i];
  return NULL;
}

/* What a browser sends before a request that a page makes: without a token, so it tells nothing about the path. */
static bool is_preflight(const http_head *head) {
  return http_text_is(head->method_name, "OPTIONS") && http_header_value(head, "Access-Control-Request-Method").at;
}

static void answer_preflight(http_answer *answer) {
  answer->status = 204;
  answer->headers = "Access-Control-Allow-Methods: GET, HEAD, POST\r\n"
                    "Access-Control-Allow-Headers: Authorization, Content-Type, Content-Encoding, X-Request-Id\r\n"
                    "Access-Control-Max-Age: 600\r\n";
}

/* ---- All of it ---- */

bool access_check(const request_access *access, http_request *request, bool is_open) {
  const http_head *head = &request->head;
  http_answer *answer = &request->answer;
  const http_text host = http_header_value(head, "Host"), origin = http_header_value(head, "Origin");
  request->headers = origin.at ? origin_headers(access, origin) : NULL;
  if (request->headers && is_preflight(head) && may_use_host(access, host)) {
    answer_preflight(answer);
    return false;
  }
  const char *problem = access->token && !is_open ? token_problem(access->token, head) : NULL;
  if (problem) {
    problem_set(answer, 401, "%s", problem);
    answer->headers = "WWW-Authenticate: Bearer\r\n";
    return false;
  }
  if (!may_use_host(access, host)) {
    problem_set(answer, 403, "the request was sent to a name that is not the server's: --allowed-host gives it names");
    return false;
  }
  if (origin.at && !access->token && !request->headers && !is_own_origin(origin, host)) {
    problem_set(answer, 403, "the request comes from a page of another site: --allowed-origin allows the pages of one");
    return false;
  }
  return true;
}

/* The host of --listen, where it is a name. */
static http_text listen_name(const char *listen) {
  const char *colon = strrchr(listen, ':');
  const http_text host = {listen, colon ? (size_t)(colon - listen) : strlen(listen)};
  bool is_loopback;
  return is_address(host, &is_loopback) ? (http_text){0} : host;
}

furrow_status access_init(request_access *access, const serve_values *values, char *token, furrow_error *err) {
  *access = (request_access){.token = token,
                             .loopback_only = settings_is_loopback(values->listen),
                             .own_name = listen_name(values->listen),
                             .hosts = &values->allowed_hosts,
                             .origins = &values->allowed_origins,
                             .headers = calloc(values->allowed_origins.count + 1, sizeof *access->headers)};
  if (!access->headers) return fail_memory(err);
  for (size_t i = 0; i < access->origins->count; i++)
    if (asprintf(&access->headers[i],
                 "Access-Control-Allow-Origin: %s\r\nAccess-Control-Expose-Headers: Retry-After, X-Request-Id\r\n"
                 "Vary: Origin\r\n",
                 access->origins->texts[i]) < 0) {
      access->headers[i] = NULL;
      return fail_memory(err);
    }
  return FURROW_OK;
}

void access_clear(request_access *access) {
  for (size_t i = 0; access->headers && i < access->origins->count; i++) free(access->headers[i]);
  free(access->headers);
  free(access->token);
  *access = (request_access){0};
}
