/* io/remote/http.c: requests by libcurl. Its interface is declared here, because its headers need not be installed
 * where Furrow is built. Numbers of options and codes are those of curl.h, which never change. */
#include "io/remote/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/version.h"
#include "io/process/library.h"
#include "io/process/process_stop.h"

/* ---- libcurl's binary interface, version 4 ---- */

typedef void curl;
typedef void curl_list;

enum {
  OPT_LOW_SPEED_LIMIT = 19,
  OPT_LOW_SPEED_TIME = 20,
  OPT_TIMEOUT = 13,
  OPT_NOPROGRESS = 43,
  OPT_NOBODY = 44,
  OPT_UPLOAD = 46,
  OPT_POST = 47,
  OPT_NETRC = 51,
  OPT_FOLLOWLOCATION = 52,
  OPT_MAXREDIRS = 68,
  OPT_CONNECTTIMEOUT = 78,
  OPT_HTTPGET = 80,
  OPT_BUFFERSIZE = 98,
  OPT_NOSIGNAL = 99,
  OPT_PROTOCOLS = 181,
  OPT_REDIR_PROTOCOLS = 182,
  OPT_TCP_KEEPALIVE = 213,
  OPT_PATH_AS_IS = 234,
  OPT_SUPPRESS_CONNECT_HEADERS = 265,
  OPT_WRITEDATA = 10001,
  OPT_URL = 10002,
  OPT_RANGE = 10007,
  OPT_READDATA = 10009,
  OPT_ERRORBUFFER = 10010,
  OPT_POSTFIELDS = 10015,
  OPT_USERAGENT = 10018,
  OPT_HTTPHEADER = 10023,
  OPT_HEADERDATA = 10029,
  OPT_CUSTOMREQUEST = 10036,
  OPT_XFERINFODATA = 10057,
  OPT_CAINFO = 10065,
  OPT_CAPATH = 10097,
  OPT_SEEKDATA = 10168,
  OPT_WRITEFUNCTION = 20011,
  OPT_READFUNCTION = 20012,
  OPT_HEADERFUNCTION = 20079,
  OPT_SEEKFUNCTION = 20167,
  OPT_XFERINFOFUNCTION = 20219,
  OPT_NOPROXY = 10177,
  OPT_INFILESIZE_LARGE = 30115,
  OPT_POSTFIELDSIZE_LARGE = 30120
};
enum { INFO_EFFECTIVE_URL = 0x100001, INFO_RESPONSE_CODE = 0x200002 };
enum { PROTOCOL_HTTP = 1, PROTOCOL_HTTPS = 2, GLOBAL_ALL = 3, NETRC_OPTIONAL = 1, ERROR_SIZE = 256 };
enum { CURL_OK = 0, CURL_OUT_OF_MEMORY = 27 };

typedef int global_function(long flags);
typedef curl *init_function(void);
typedef void free_function(curl *handle);
typedef int option_function(curl *handle, int option, ...);
typedef int perform_function(curl *handle);
typedef int info_function(curl *handle, int info, ...);
typedef const char *text_function(int code);
typedef curl_list *append_function(curl_list *list, const char *text);
typedef void free_list_function(curl_list *list);
typedef time_t date_function(const char *text, const time_t *unused);

enum { GLOBAL_INIT, INIT, CLEANUP, RESET, SETOPT, PERFORM, GETINFO, STRERROR, APPEND, FREE_LIST, GETDATE, NFUNCTIONS };
static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4", NULL};
static const char *const names[] = {"curl_global_init",    "curl_easy_init",     "curl_easy_cleanup",
                                    "curl_easy_reset",     "curl_easy_setopt",   "curl_easy_perform",
                                    "curl_easy_getinfo",   "curl_easy_strerror", "curl_slist_append",
                                    "curl_slist_free_all", "curl_getdate",       NULL};
static fw_function *functions[NFUNCTIONS];
static fw_library libcurl = {"a path of a server",
                             files,
                             "install libcurl4 (Debian, Ubuntu) or libcurl (Fedora), or download the file",
                             names,
                             functions,
                             false};

#define SET(handle, option, value) (void)((option_function *)functions[SETOPT])(handle, option, value)

/* ---- Settings ---- */

static unsigned setting(const char *name, unsigned standard, unsigned most) {
  const char *text = getenv(name);
  char *end = NULL;
  const unsigned long value = text ? strtoul(text, &end, 10) : 0;
  return !text || end == text || *end || value == 0 || value > most ? standard : (unsigned)value;
}

fw_http_settings fw_http_get_settings(void) {
  return (fw_http_settings){setting("FURROW_HTTP_RETRIES", 5, 1000), setting("FURROW_HTTP_REQUESTS", 8, 64),
                            setting("FURROW_HTTP_TIMEOUT", 60, 86400),
                            (uint64_t)setting("FURROW_HTTP_PART_KIB", 8192, 4 << 20) << 10};
}

/* ---- Handles, each of which keeps its connections ---- */

enum { IDLE_MOST = 32 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static curl *idle[IDLE_MOST];
static size_t nidle;
static bool started;

static furrow_status take_handle(curl **handle, furrow_error *err) {
  FW_TRY(fw_library_load(&libcurl, err));
  pthread_mutex_lock(&lock);
  if (!started) started = ((global_function *)functions[GLOBAL_INIT])(GLOBAL_ALL) == CURL_OK;
  const bool ready = started;
  curl *taken = nidle > 0 ? idle[--nidle] : NULL;
  pthread_mutex_unlock(&lock);
  if (!ready) return fw_fail(err, FURROW_E_UNSUPPORTED, "libcurl cannot be initialised");
  if (!taken) taken = ((init_function *)functions[INIT])();
  if (!taken) return fw_fail_memory(err, sizeof(void *));
  *handle = taken;
  return FURROW_OK;
}

static void give_handle(curl *handle) {
  ((free_function *)functions[RESET])(handle); /* keeps its connections */
  pthread_mutex_lock(&lock);
  const bool kept = nidle < IDLE_MOST;
  if (kept) idle[nidle++] = handle;
  pthread_mutex_unlock(&lock);
  if (!kept) ((free_function *)functions[CLEANUP])(handle);
}

/* ---- Headers of the response ---- */

typedef struct transfer {
  const fw_http_request *request;
  fw_http_response *response;
  size_t sent; /* bytes of the request's body */
} transfer;

/* Parses digits; false if there are none or too many. */
static bool read_number(const char **at, uint64_t *number) {
  const char *p = *at;
  uint64_t value = 0;
  for (; *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (unsigned)(*p - '0'), &value))
      return false;
  if (p == *at) return false;
  *at = p;
  *number = value;
  return true;
}

/* Content-Range: bytes FROM-LAST/TOTAL, bytes FROM-LAST/ *, bytes * /TOTAL */
static void read_range(fw_http_response *r, const char *value) {
  uint64_t last = 0;
  if (strncasecmp(value, "bytes", 5) != 0) return;
  value += 5 + strspn(value + 5, " =");
  if (*value == '*') {
    value++;
  } else {
    if (!read_number(&value, &r->from) || *value++ != '-' || !read_number(&value, &last) || last < r->from ||
        last == UINT64_MAX)
      return;
    r->to = last + 1;
    r->has_range = true;
  }
  if (*value++ == '/') r->has_total = read_number(&value, &r->total);
}

static void copy_text(char *to, size_t size, const char *value) {
  const size_t n = strlen(value);
  if (n < size)
    memcpy(to, value, n + 1);
  else
    to[0] = 0;
}

static void read_field(fw_http_response *r, const char *name, const char *value) {
  if (strcasecmp(name, "content-length") == 0)
    r->has_length = r->framed = read_number(&value, &r->length);
  else if (strcasecmp(name, "transfer-encoding") == 0)
    r->framed = true;
  else if (strcasecmp(name, "content-range") == 0)
    read_range(r, value);
  else if (strcasecmp(name, "etag") == 0)
    copy_text(r->etag, sizeof r->etag, value);
  else if (strcasecmp(name, "x-amz-meta-furrow-upload") == 0 || strcasecmp(name, "x-goog-meta-furrow-upload") == 0)
    copy_text(r->upload, sizeof r->upload, value);
  else if (strcasecmp(name, "x-amz-bucket-region") == 0)
    copy_text(r->region, sizeof r->region, value);
  else if (strcasecmp(name, "location") == 0)
    copy_text(r->location, sizeof r->location, value);
  else if (strcasecmp(name, "last-modified") == 0) {
    const time_t when = ((date_function *)functions[GETDATE])(value, NULL);
    r->modified = when > 0 ? (int64_t)when : 0;
  } else if (strcasecmp(name, "retry-after") == 0) {
    uint64_t seconds = 0;
    if (read_number(&value, &seconds)) r->retry_after = seconds < 3600 ? (unsigned)seconds : 3600;
  }
}

/* A new status line begins the headers of another response: of a proxy, a redirect, or 100 Continue. */
static size_t take_header(char *bytes, size_t size, size_t count, void *user) {
  fw_http_response *r = ((transfer *)user)->response;
  char line[2304], *value;
  size_t n = size * count;
  if (n >= sizeof line) return size * count;
  memcpy(line, bytes, n);
  while (n > 0 && (line[n - 1] == '\r' || line[n - 1] == '\n' || line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
  line[n] = 0;
  if (strncasecmp(line, "HTTP/", 5) == 0) {
    *r = (fw_http_response){.framed = line[5] >= '2'};
    value = strchr(line, ' ');
    r->status = value ? atoi(value) : 0;
  } else if ((value = strchr(line, ':'))) {
    *value++ = 0;
    value += strspn(value, " \t");
    read_field(r, line, value);
  }
  return size * count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
  const transfer *t = user;
  const size_t n = size * count;
  if (!t->request->take || t->request->take(t->request->user, t->response, bytes, n)) return n;
  return n ? 0 : 1; /* another number ends the transfer */
}

static size_t give_body(char *bytes, size_t size, size_t count, void *user) {
  transfer *t = user;
  const size_t left = t->request->body_size - t->sent, space = size * count, n = left < space ? left : space;
  if (n) memcpy(bytes, (const char *)t->request->body + t->sent, n);
  t->sent += n;
  return n;
}

/* Called when a connection that was kept turns out to be closed. */
static int seek_body(void *user, int64_t offset, int origin) {
  enum { DONE = 0, CANNOT = 2 };
  transfer *t = user;
  if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > t->request->body_size) return CANNOT;
  t->sent = (size_t)offset;
  return DONE;
}

static int look_around(void *user, int64_t all_down, int64_t down, int64_t all_up, int64_t up) {
  (void)all_down, (void)down, (void)all_up, (void)up;
  const fw_http_request *request = ((const transfer *)user)->request;
  return (fw_is_stopped() && !request->at_the_end) || (request->stopped && request->stopped(request->user));
}

/* ---- The request ---- */

static void set_method(curl *handle, transfer *t) {
  const fw_http_request *request = t->request;
  if (strcmp(request->method, "HEAD") == 0) {
    SET(handle, OPT_NOBODY, 1L);
  } else if (strcmp(request->method, "PUT") == 0) {
    SET(handle, OPT_UPLOAD, 1L);
    SET(handle, OPT_READFUNCTION, give_body);
    SET(handle, OPT_READDATA, t);
    SET(handle, OPT_SEEKFUNCTION, seek_body);
    SET(handle, OPT_SEEKDATA, t);
    SET(handle, OPT_INFILESIZE_LARGE, (int64_t)request->body_size);
  } else if (strcmp(request->method, "POST") == 0) {
    SET(handle, OPT_POST, 1L);
    SET(handle, OPT_POSTFIELDS, request->body_size ? (const char *)request->body : "");
    SET(handle, OPT_POSTFIELDSIZE_LARGE, (int64_t)request->body_size);
  } else {
    SET(handle, OPT_HTTPGET, 1L);
    if (strcmp(request->method, "GET") != 0) SET(handle, OPT_CUSTOMREQUEST, request->method);
  }
}

/* The curl command takes these from the environment; libcurl by itself does not. */
static void set_certificates(curl *handle) {
  static const char *const variables[] = {"CURL_CA_BUNDLE", "AWS_CA_BUNDLE", "SSL_CERT_FILE"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    const char *file = getenv(variables[i]);
    if (!file || !file[0]) continue;
    SET(handle, OPT_CAINFO, file);
    break;
  }
  const char *folder = getenv("SSL_CERT_DIR");
  if (folder && folder[0]) SET(handle, OPT_CAPATH, folder);
}

static void set_options(curl *handle, transfer *t, const char *range, char error[ERROR_SIZE]) {
  const fw_http_request *request = t->request;
  const fw_http_settings settings = fw_http_get_settings();
  const bool secure = strncasecmp(request->url, "https:", 6) == 0;
  SET(handle, OPT_URL, request->url);
  SET(handle, OPT_PATH_AS_IS, 1L);
  SET(handle, OPT_NOSIGNAL, 1L);
  SET(handle, OPT_USERAGENT, "furrow/" FURROW_VERSION);
  SET(handle, OPT_PROTOCOLS, (long)(PROTOCOL_HTTP | PROTOCOL_HTTPS));
  SET(handle, OPT_REDIR_PROTOCOLS, (long)(secure ? PROTOCOL_HTTPS : PROTOCOL_HTTP | PROTOCOL_HTTPS));
  SET(handle, OPT_FOLLOWLOCATION, (long)request->redirects);
  SET(handle, OPT_MAXREDIRS, 10L);
  SET(handle, OPT_NETRC, (long)(request->redirects ? NETRC_OPTIONAL : 0));
  SET(handle, OPT_CONNECTTIMEOUT, (long)(request->connect_seconds ? request->connect_seconds : 15));
  SET(handle, OPT_TIMEOUT, (long)request->most_seconds);
  SET(handle, OPT_LOW_SPEED_LIMIT, 1L);
  SET(handle, OPT_LOW_SPEED_TIME, (long)settings.timeout);
  SET(handle, OPT_TCP_KEEPALIVE, 1L);
  SET(handle, OPT_BUFFERSIZE, 512L << 10);
  SET(handle, OPT_SUPPRESS_CONNECT_HEADERS, 1L);
  SET(handle, OPT_ERRORBUFFER, error);
  SET(handle, OPT_HEADERFUNCTION, take_header);
  SET(handle, OPT_HEADERDATA, t);
  SET(handle, OPT_WRITEFUNCTION, take_body);
  SET(handle, OPT_WRITEDATA, t);
  SET(handle, OPT_NOPROGRESS, 0L);
  SET(handle, OPT_XFERINFOFUNCTION, look_around);
  SET(handle, OPT_XFERINFODATA, t);
  if (request->no_proxy) SET(handle, OPT_NOPROXY, "*");
  if (range[0]) SET(handle, OPT_RANGE, range);
  set_certificates(handle);
  set_method(handle, t);
}

/* Codes of failures that are lasting: of the address, of certificates, too many redirects, and the like. */
static bool is_lasting(int code) {
  static const int lasting[] = {1, 3, 4, 5, 6, 42, 47, 51, 53, 54, 58, 59, 60, 66, 77, 80, 83, 90, 91, 98};
  for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
    if (lasting[i] == code) return true;
  return false;
}

static void note_failure(fw_http_response *r, int code, const char *error) {
  r->may_repeat = !is_lasting(code);
  snprintf(r->failure, sizeof r->failure, "%s", error[0] ? error : ((text_function *)functions[STRERROR])(code));
}

/* A server redirects from a folder to its name with a slash. */
static void note_address(curl *handle, const fw_http_request *request, fw_http_response *response) {
  const char *address = NULL;
  if (((info_function *)functions[GETINFO])(handle, INFO_EFFECTIVE_URL, &address) != CURL_OK || !address) return;
  const size_t n = strcspn(address, "?#"), asked = strcspn(request->url, "?#");
  response->is_folder = n > 0 && address[n - 1] == '/' && asked > 0 && request->url[asked - 1] != '/';
}

static furrow_status add_headers(curl_list **list, const fw_http_request *request, furrow_error *err) {
  /* libcurl would wait for an answer before it sends a body */
  curl_list *more = ((append_function *)functions[APPEND])(NULL, "Expect:");
  *list = more;
  for (size_t i = 0; i < request->nheaders && more; i++) {
    more = ((append_function *)functions[APPEND])(*list, request->headers[i]);
    if (more) *list = more;
  }
  return more ? FURROW_OK : fw_fail_memory(err, sizeof(void *));
}

furrow_status fw_http_perform(const fw_http_request *request, fw_http_response *response, furrow_error *err) {
  curl *handle = NULL;
  curl_list *headers = NULL;
  char range[48] = "", error[ERROR_SIZE] = "";
  *response = (fw_http_response){0};
  transfer t = {.request = request, .response = response};
  if (!request->at_the_end) FW_TRY(fw_check_stopped(err));
  FW_TRY(take_handle(&handle, err));
  furrow_status status = add_headers(&headers, request, err);
  if (status == FURROW_OK) {
    if (request->to > request->from)
      snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)request->from,
               (unsigned long long)request->to - 1);
    set_options(handle, &t, range, error);
    SET(handle, OPT_HTTPHEADER, headers);
    const int code = ((perform_function *)functions[PERFORM])(handle);
    if (code == CURL_OUT_OF_MEMORY) status = fw_fail_memory(err, sizeof(void *));
    if (code != CURL_OK) note_failure(response, code, error);
    note_address(handle, request, response);
    if (status == FURROW_OK && !request->at_the_end) status = fw_check_stopped(err);
  }
  if (headers) ((free_list_function *)functions[FREE_LIST])(headers);
  give_handle(handle);
  return status;
}

/* ---- Repeating ---- */

bool fw_http_may_repeat(const fw_http_response *r) {
  if (r->failure[0]) return r->may_repeat;
  return r->status == 408 || r->status == 429 || r->status == 500 || r->status == 502 || r->status == 503 ||
         r->status == 504;
}

static void sleep_ms(unsigned ms) {
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
  nanosleep(&left, NULL);
}

furrow_status fw_http_wait(unsigned n, const fw_http_response *response, bool (*stopped)(void *user), void *user,
                           furrow_error *err) {
  enum { FIRST_MS = 50, MOST_MS = 10000, LOOK_MS = 50, ASKED_MOST_S = 60 };
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const unsigned most = n < 8 ? FIRST_MS << n : MOST_MS;
  /* Clients that failed together must not come back together. */
  unsigned ms = most / 2 + (unsigned)((uint64_t)now.tv_nsec * 2654435761u >> 16) % (most / 2 + 1);
  const unsigned asked = response->retry_after < ASKED_MOST_S ? response->retry_after : ASKED_MOST_S;
  if (ms < asked * 1000) ms = asked * 1000;
  while (ms > 0 && !(stopped && stopped(user))) {
    FW_TRY(fw_check_stopped(err));
    const unsigned step = ms < LOOK_MS ? ms : LOOK_MS;
    sleep_ms(step);
    ms -= step;
  }
  return FURROW_OK;
}

/* ---- Errors ---- */

/* Copies the text between <name> and </name> of the body; false if it is not there. */
static bool find_element(char *to, size_t size, const char *body, size_t body_size, const char *name) {
  char open[32];
  const int n = snprintf(open, sizeof open, "<%s>", name);
  const char *at = body ? memmem(body, body_size, open, (size_t)n) : NULL;
  if (!at) return false;
  at += n;
  const char *end = memchr(at, '<', body_size - (size_t)(at - body));
  const size_t length = end ? (size_t)(end - at) : 0;
  if (length == 0 || length >= size) return false;
  for (size_t i = 0; i < length; i++) to[i] = (unsigned char)at[i] < ' ' ? ' ' : at[i];
  to[length] = 0;
  return true;
}

static const char *reason_of(int status) {
  switch (status) {
  case 400: return "the request was refused";
  case 401: return "the server wants to know who asks";
  case 403: return "access is denied";
  case 404: return "no such file";
  case 410: return "the file is gone";
  case 412: return "the file changed while it was read";
  case 416: return "the file is shorter than it was";
  case 429: return "too many requests";
  case 503: return "the server is overloaded";
  default: return status >= 500 ? "the server failed" : status >= 300 && status < 400 ? "a redirect" : "not expected";
  }
}

furrow_status fw_http_fail(const fw_http_response *response, const char *body, size_t body_size, furrow_error *err) {
  if (response->failure[0]) return fw_fail(err, FURROW_E_IO, "the transfer failed: %s", response->failure);
  const int status = response->status;
  const furrow_status result = status == 404 || status == 410 ? FURROW_E_NOT_FOUND
                               : status == 412                ? FURROW_E_STATE
                                                              : FURROW_E_IO;
  char code[64], message[160];
  if (find_element(code, sizeof code, body, body_size, "Code")) {
    const bool more = find_element(message, sizeof message, body, body_size, "Message");
    return fw_fail(err, result, "%s (HTTP status %d, %s%s%s)", reason_of(status), status, code, more ? ": " : "",
                   more ? message : "");
  }
  return fw_fail(err, result, "%s (HTTP status %d)", reason_of(status), status);
}
