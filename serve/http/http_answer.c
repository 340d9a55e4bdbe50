/* serve/http/http_answer.c: writes answers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "http/http_internal.h"
#include "http/json_put.h"

const char *http_reason(int status) {
  switch (status) {
  case 200: return "OK";
  case 204: return "No Content";
  case 304: return "Not Modified";
  case 400: return "Bad Request";
  case 401: return "Unauthorized";
  case 403: return "Forbidden";
  case 404: return "Not Found";
  case 405: return "Method Not Allowed";
  case 408: return "Request Timeout";
  case 409: return "Conflict";
  case 411: return "Length Required";
  case 413: return "Content Too Large";
  case 414: return "URI Too Long";
  case 415: return "Unsupported Media Type";
  case 417: return "Expectation Failed";
  case 421: return "Misdirected Request";
  case 422: return "Unprocessable Content";
  case 429: return "Too Many Requests";
  case 431: return "Request Header Fields Too Large";
  case 500: return "Internal Server Error";
  case 501: return "Not Implemented";
  case 503: return "Service Unavailable";
  case 505: return "HTTP Version Not Supported";
  default: return "Unknown";
  }
}

/* ---- Memory ---- */

/* Bytes that fit into the memory that is kept between requests do not count, so that short requests do not touch the
 * counter that all loops share. They do count while a request waits for its remaining bytes, because thousands of
 * connections may do so. */
bool exchange_count(exchange *e) {
  http_server *server = e->connection->loop->server;
  const size_t used = e->body.capacity + e->unpacked.capacity + e->request.answer.body.capacity + e->packed.capacity;
  const size_t counts = used > 4 * KEPT_BYTES || e->waits ? used + e->end : 0;
  if (counts == e->counted) return true;
  const size_t before = counts > e->counted ? atomic_fetch_add(&server->memory, counts - e->counted)
                                            : atomic_fetch_sub(&server->memory, e->counted - counts);
  const bool is_too_much = counts > e->counted && before + (counts - e->counted) > server->settings.max_memory;
  e->counted = counts;
  return !is_too_much;
}

void answer_refuse(exchange *e, int status, const char *problem) {
  const http_hooks *hooks = &e->connection->loop->server->hooks;
  http_answer *answer = &e->request.answer;
  buffer_recycle(&answer->body, KEPT_BYTES);
  buffer_recycle(&e->packed, KEPT_BYTES);
  e->is_packed = e->is_pack_tried = false;
  *answer = (http_answer){.status = status, .body = answer->body, .close = true};
  if (hooks->refuse) hooks->refuse(hooks->user, answer, problem);
}

/* ---- The head ---- */

static void add_date(fw_buffer *head, loop *l) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != l->date_second) {
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm t;
    gmtime_r(&now.tv_sec, &t);
    snprintf(l->date, sizeof l->date, "Date: %s, %02d %s %04d %02d:%02d:%02d GMT\r\n", days[t.tm_wday % 7],
             t.tm_mday % 100, months[t.tm_mon % 12], (t.tm_year + 1900) % 10000, t.tm_hour % 100, t.tm_min % 100,
             t.tm_sec % 100);
    l->date_second = now.tv_sec;
  }
  fw_buffer_text(head, l->date);
}

static void add_status_line(fw_buffer *head, int status) {
  static const char ok[] = "HTTP/1.1 200 OK\r\n";
  if (status == 200)
    fw_buffer_append(head, ok, sizeof ok - 1);
  else
    fw_buffer_format(head, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
}

static void add_number(fw_buffer *head, const char *name, uint64_t value) {
  fw_buffer_text(head, name);
  json_put_u64(head, value);
  fw_buffer_append(head, "\r\n", 2);
}

/* Chooses what is sent. Returns whether it is compressed. */
static bool choose_content(exchange *e) {
  loop *l = e->connection->loop;
  const http_answer *answer = &e->request.answer;
  e->content = answer->fixed ? answer->fixed : answer->body.bytes;
  e->content_size = answer->fixed ? answer->fixed_size : answer->body.size;
  if (!answer->type || answer->body.missing) e->content_size = 0;
  if (!e->request.head.accepts_gzip || answer->body.missing || !gzip_is_worth(l->server, answer)) return false;
  const fw_buffer *packed = NULL;
  if (answer->fixed)
    packed = gzip_find_fixed(l->server, answer);
  else if (!e->is_pack_tried)
    gzip_pack(e, gzip_stream(l));
  if (e->is_packed) packed = &e->packed;
  if (!packed) return false;
  e->content = packed->bytes;
  e->content_size = packed->size;
  return true;
}

static void add_headers(exchange *e, bool is_packed, bool closes) {
  const http_answer *answer = &e->request.answer;
  fw_buffer *head = &e->head;
  add_status_line(head, answer->status);
  add_date(head, e->connection->loop);
  if (answer->type) {
    fw_buffer_text(head, "Content-Type: ");
    fw_buffer_text(head, answer->type);
    fw_buffer_text(head, "\r\nX-Content-Type-Options: nosniff\r\n");
  }
  if (answer->status != 304 && answer->status != 204) add_number(head, "Content-Length: ", e->content_size);
  if (is_packed) fw_buffer_text(head, "Content-Encoding: gzip\r\n");
  if (gzip_is_worth(e->connection->loop->server, answer)) fw_buffer_text(head, "Vary: Accept-Encoding\r\n");
  if (!answer->fixed || !answer->headers) fw_buffer_text(head, "Cache-Control: no-store\r\n");
  if (answer->retry_after > 0) add_number(head, "Retry-After: ", answer->retry_after);
  if (answer->headers) fw_buffer_text(head, answer->headers);
  fw_buffer_text(head, "X-Request-Id: ");
  fw_buffer_append(head, e->request.id.at, e->request.id.size);
  fw_buffer_append(head, "\r\n", 2);
  if (e->request.headers) fw_buffer_text(head, e->request.headers);
  if (closes)
    fw_buffer_text(head, "Connection: close\r\n");
  else if (e->request.head.http_1_0)
    fw_buffer_text(head, "Connection: keep-alive\r\n");
  fw_buffer_append(head, "\r\n", 2);
}

bool answer_prepare(exchange *e, bool closes) {
  http_answer *answer = &e->request.answer;
  if (answer->status == 0) answer->status = 200;
  if (answer->body.missing || !exchange_count(e)) {
    answer_refuse(e, 503, "there is not enough memory for the answer");
    exchange_count(e);
  }
  closes |= answer->close;
  buffer_recycle(&e->head, KEPT_BYTES);
  e->sent = 0;
  add_headers(e, choose_content(e), closes);
  if (e->request.head.method == HTTP_HEAD || answer->status == 304 || answer->status == 204) e->content_size = 0;
  return closes;
}

int answer_write(exchange *e) {
  const size_t size = e->head.size + e->content_size;
  if (e->head.missing) return -1;
  for (unsigned writes = 0; e->sent < size; writes++) {
    if (writes == MOST_WRITES) return 0; /* other connections are next */
    struct iovec parts[2];
    struct msghdr message = {.msg_iov = parts};
    if (e->sent < e->head.size)
      parts[message.msg_iovlen++] = (struct iovec){e->head.bytes + e->sent, e->head.size - e->sent};
    const size_t from = e->sent > e->head.size ? e->sent - e->head.size : 0;
    if (from < e->content_size)
      parts[message.msg_iovlen++] = (struct iovec){(char *)(uintptr_t)e->content + from, e->content_size - from};
    const ssize_t sent = sendmsg(e->connection->socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    e->sent += (size_t)sent;
  }
  return 1;
}
