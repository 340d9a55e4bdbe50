/* serve/http/http_connection.c: one connection: reads a request, has it answered, goes on with the next.
 *
 * Events only move bytes; advance() goes from state to state until one has to wait. Only settle_connection() frees a
 * connection, so that no step that it calls uses a freed one.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_internal.h"
#include "http/json_put.h"

static void on_readable(evutil_socket_t socket, short what, void *of_connection);
static void on_writable(evutil_socket_t socket, short what, void *of_connection);

/* ---- Exchanges ---- */

/* Maps the input pages, so that the system gets them back after a burst of requests; malloc would keep them. */
static exchange *exchange_create(void) {
  exchange *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  void *input = mmap(NULL, INPUT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (input != MAP_FAILED) {
    e->input = input;
    return e;
  }
  free(e);
  return NULL;
}

void exchange_free(exchange *e) {
  fw_buffer_clear(&e->request.answer.body);
  fw_buffer_clear(&e->body);
  fw_buffer_clear(&e->unpacked);
  fw_buffer_clear(&e->packed);
  fw_buffer_clear(&e->head);
  munmap(e->input, INPUT_BYTES);
  free(e);
}

/* Gives the connection an exchange, if it does not have one. */
static bool take_exchange(connection *c) {
  loop *l = c->loop;
  if (c->exchange) return true;
  exchange *e = l->spare;
  if (e) {
    l->spare = e->next;
    l->spare_count--;
  } else if (!(e = exchange_create())) {
    return false;
  }
  e->connection = c;
  e->begin = e->end = 0;
  c->exchange = e;
  return true;
}

/* Prepares an exchange for the next request; unused bytes of input stay. */
static void reset_exchange(exchange *e) {
  fw_buffer *answer = &e->request.answer.body;
  buffer_recycle(answer, KEPT_BYTES);
  buffer_recycle(&e->body, KEPT_BYTES);
  buffer_recycle(&e->unpacked, KEPT_BYTES);
  buffer_recycle(&e->packed, KEPT_BYTES);
  e->request.answer = (http_answer){.body = *answer};
  memset(e->request.notes, 0, sizeof e->request.notes);
  e->request.body = NULL;
  e->request.body_size = 0;
  e->request.headers = NULL;
  e->request.id = (http_text){0};
  e->is_packed = e->is_pack_tried = e->is_unread = e->is_in_input = e->waits = false;
  e->seen = e->bytes_in = e->sent = 0;
  e->chunks = (http_chunks){0};
  exchange_count(e);
}

static void release_exchange(connection *c) {
  loop *l = c->loop;
  exchange *e = c->exchange;
  if (!e) return;
  c->exchange = NULL;
  reset_exchange(e);
  if (l->spare_count == KEPT_EXCHANGES) {
    exchange_free(e);
    return;
  }
  e->next = l->spare;
  l->spare = e;
  l->spare_count++;
}

/* Tells the program that a request is over. */
static void close_request(exchange *e, int status) {
  const http_hooks *hooks = &e->connection->loop->server->hooks;
  if (e->is_open && hooks->done) hooks->done(hooks->user, &e->request, status, e->bytes_in, e->sent);
  e->is_open = false;
}

/* Gives a request the id that its client has sent, or a new one: a number that is mixed so that ids of one process
 * differ from each other, and hardly occur in another one (splitmix64). */
static void identify_request(exchange *e) {
  http_request *request = &e->request;
  loop *l = e->connection->loop;
  if (request->head.id.size > 0) {
    request->id = request->head.id;
    return;
  }
  uint64_t x = l->server->id_seed + (l->request_count++ * l->server->loop_count + l->number) * 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27) * 0x94d049bb133111ebU;
  x ^= x >> 31;
  for (size_t i = 0; i < sizeof request->own_id; i++) request->own_id[i] = "0123456789abcdef"[x >> (60 - 4 * i) & 15];
  request->id = (http_text){request->own_id, sizeof request->own_id};
}

/* ---- Events and states ---- */

static void set_state(connection *c, connection_state state) {
  c->state = state;
  c->is_moved = true;
}

/* Adds or removes an event. Only adding can fail, when the system is out of memory. */
static void want_event(connection *c, struct event *event, bool *is_there, bool wanted) {
  if (wanted == *is_there) return;
  *is_there = wanted;
  if (!wanted) {
    event_del(event);
  } else if (event_add(event, NULL) != 0) {
    *is_there = false;
    set_state(c, CLOSED);
  }
}

static void want_reading(connection *c, bool wanted) {
  want_event(c, &c->readable, &c->is_reading, wanted && !c->has_ended);
}

static void want_writing(connection *c, bool wanted) {
  want_event(c, &c->writable, &c->is_writing, wanted);
}

void connection_end(connection *c) {
  http_server *server = c->loop->server;
  const int status = c->exchange ? c->exchange->request.answer.status : 0;
  if (c->exchange) close_request(c->exchange, status > 0 ? status : 499);
  release_exchange(c);
  if (c->is_reading) event_del(&c->readable);
  if (c->is_writing) event_del(&c->writable);
  close(c->socket);
  loop_unlist(c);
  atomic_fetch_sub(&c->loop->load, 1);
  free(c);
  const bool is_last = atomic_fetch_sub(&server->connections, 1) == 1;
  if (!is_last || !atomic_load(&server->stops)) return;
  pthread_mutex_lock(&server->lock);
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

/* ---- Answering ---- */

static bool start_answer(connection *c) {
  exchange *e = c->exchange;
  c->closes = answer_prepare(e, !e->request.head.keep_alive || e->is_unread || c->loop->is_draining);
  set_state(c, ANSWERING);
  return true;
}

static bool refuse_request(connection *c, int status, const char *problem) {
  c->exchange->is_unread = true;
  answer_refuse(c->exchange, status, problem);
  return start_answer(c);
}

/* Refuses a request whose head is not valid, so that the answer does not depend on it. */
static bool refuse_head(connection *c, int status, const char *problem) {
  memset(&c->exchange->request.head, 0, sizeof c->exchange->request.head);
  identify_request(c->exchange);
  return refuse_request(c, status, problem);
}

/* Waits for more bytes of a request; if the peer has ended, the request is not answered. */
static bool wait_for_more(connection *c) {
  exchange *e = c->exchange;
  if (e) e->waits = true;
  if (e && !exchange_count(e)) {
    static const char problem[] = "there is not enough memory for the request";
    return c->state == HEADING ? refuse_head(c, 503, problem) : refuse_request(c, 503, problem);
  }
  if (c->has_ended)
    set_state(c, CLOSED);
  else
    want_reading(c, true);
  return false;
}

/* If a socket with unread bytes is closed, the system resets the connection, and the peer may lose the answer. So the
 * connection lingers. */
static void close_after_answer(connection *c) {
  exchange *e = c->exchange;
  char byte;
  const bool is_read = !e->is_unread && e->begin == e->end && recv(c->socket, &byte, 1, MSG_PEEK) <= 0;
  if (c->has_ended || is_read || shutdown(c->socket, SHUT_WR) != 0) {
    set_state(c, CLOSED);
    return;
  }
  release_exchange(c);
  set_state(c, LINGERING);
  want_reading(c, true);
}

static bool write_answer(connection *c) {
  exchange *e = c->exchange;
  const int written = c->is_gone ? -1 : answer_write(e);
  if (written == 0) {
    want_writing(c, true);
    return false;
  }
  want_writing(c, false);
  close_request(e, e->request.answer.status);
  if (written < 0) {
    set_state(c, CLOSED);
  } else if (c->closes) {
    close_after_answer(c);
  } else {
    reset_exchange(e);
    set_state(c, IDLE);
  }
  return true;
}

/* ---- Requests ---- */

static bool complete(connection *c) {
  exchange *e = c->exchange;
  const http_hooks *hooks = &c->loop->server->hooks;
  if (hooks->request(hooks->user, &e->request)) return start_answer(c);
  set_state(c, WORKING);
  return false;
}

static bool has_body(const http_head *head) {
  return head->chunked || head->content_length > 0;
}

/* Tells a client that waits for it to send its body. */
static bool send_continue(connection *c) {
  static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
  const exchange *e = c->exchange;
  if (!e->request.head.expects_continue || e->begin < e->end) return true;
  return send(c->socket, text, sizeof text - 1, MSG_NOSIGNAL) == (ssize_t)sizeof text - 1;
}

static bool accept_head(connection *c) {
  exchange *e = c->exchange;
  const http_head *head = &e->request.head;
  const http_hooks *hooks = &c->loop->server->hooks;
  e->body_limit = hooks->head(hooks->user, &e->request);
  if (e->request.answer.status > 200) {
    e->is_unread = has_body(head);
    return start_answer(c);
  }
  if (head->content_length > e->body_limit) return refuse_request(c, 413, "the body of the request is too large");
  if (!has_body(head)) return complete(c);
  if (!send_continue(c)) {
    set_state(c, CLOSED);
    return true;
  }
  e->is_in_input = !head->chunked && head->content_length <= INPUT_BYTES - e->begin;
  e->body_begin = e->begin;
  set_state(c, IN_BODY);
  return true;
}

static bool start_head(connection *c) {
  exchange *e = c->exchange;
  if (!e || e->begin == e->end) {
    release_exchange(c);
    if (c->loop->is_draining && c->loop->now >= c->loop->drained_at) c->has_ended = true;
    return wait_for_more(c);
  }
  if (e->begin > INPUT_EARLY) {
    memmove(e->input, e->input + e->begin, e->end - e->begin);
    e->end -= e->begin;
    e->begin = 0;
  }
  e->is_open = true;
  e->request.received_ns = c->loop->now;
  e->request.loop = c->loop->number;
  set_state(c, HEADING);
  return true;
}

static bool read_head(connection *c) {
  exchange *e = c->exchange;
  const char *data = e->input + e->begin;
  const size_t size = e->end - e->begin;
  /* Only a complete line can change the result, so a head that arrives byte by byte is not parsed for each byte. */
  if (e->seen > 0 && size < HTTP_HEAD_BYTES && !memchr(data + e->seen, '\n', size - e->seen)) return wait_for_more(c);
  const http_parsed parsed = http_parse_head(&e->request.head, data, size);
  e->seen = size;
  if (parsed.state == HTTP_PARSE_MORE) return wait_for_more(c);
  if (parsed.state == HTTP_PARSE_BAD) {
    e->bytes_in = size;
    return refuse_head(c, parsed.status, parsed.problem);
  }
  e->begin += parsed.used;
  e->bytes_in = parsed.used;
  identify_request(e);
  return accept_head(c);
}

/* ---- Bodies ---- */

static const char no_memory[] = "there is not enough memory for the body of the request";

/* Appends to a body that is not stored in input. */
static bool add_body(exchange *e, const char *data, size_t size) {
  fw_buffer_append(&e->body, data, size);
  return !e->body.missing && exchange_count(e);
}

static bool complete_body(connection *c, const char *body, size_t size) {
  c->exchange->request.body = body;
  c->exchange->request.body_size = size;
  return complete(c);
}

static bool read_chunks(connection *c) {
  exchange *e = c->exchange;
  size_t content;
  const http_parsed parsed = http_parse_chunks(&e->chunks, e->input + e->begin, e->end - e->begin, &content);
  if (parsed.state == HTTP_PARSE_BAD) return refuse_request(c, parsed.status, parsed.problem);
  if (content > e->body_limit - e->body.size) return refuse_request(c, 413, "the body of the request is too large");
  if (!add_body(e, e->input + e->begin, content)) return refuse_request(c, 503, no_memory);
  e->begin += parsed.used;
  e->bytes_in += parsed.used;
  if (e->begin == e->end) e->begin = e->end = e->body_begin;
  return parsed.state == HTTP_PARSE_DONE ? complete_body(c, e->body.bytes, e->body.size) : wait_for_more(c);
}

static bool read_body(connection *c) {
  exchange *e = c->exchange;
  const size_t size = (size_t)e->request.head.content_length, available = e->end - e->begin;
  if (e->request.head.chunked) return read_chunks(c);
  if (!e->is_in_input) {
    const size_t left = size - e->body.size, taken = left < available ? left : available;
    if (!add_body(e, e->input + e->begin, taken)) return refuse_request(c, 503, no_memory);
    e->begin += taken;
    if (e->body.size < size) return wait_for_more(c);
    e->bytes_in += size;
    return complete_body(c, e->body.bytes, size);
  }
  if (available < size) return wait_for_more(c);
  e->begin += size;
  e->bytes_in += size;
  return complete_body(c, e->input + e->begin - size, size);
}

/* ---- Steps ---- */

static void advance(connection *c) {
  bool goes_on = true;
  while (goes_on) switch (c->state) {
    case IDLE: goes_on = start_head(c); break;
    case HEADING: goes_on = read_head(c); break;
    case IN_BODY: goes_on = read_body(c); break;
    case ANSWERING: goes_on = write_answer(c); break;
    default: goes_on = false;
    }
}

static void settle_connection(connection *c) {
  if (c->state == CLOSED)
    connection_end(c);
  else if (c->is_moved)
    loop_list(c);
}

/* Where the next bytes go; 0: there is no space, or (*to is NULL) no memory. */
static size_t find_space(connection *c, char **to) {
  exchange *e = c->exchange;
  if (c->state == IN_BODY && !e->is_in_input && !e->request.head.chunked) {
    const size_t left = (size_t)e->request.head.content_length - e->body.size;
    const size_t more = e->body.size < SCRATCH_BYTES ? SCRATCH_BYTES : e->body.size;
    *to = fw_buffer_reserve(&e->body, left < more ? left : more);
    if (*to && !exchange_count(e)) *to = NULL;
    const size_t space = *to ? e->body.capacity - e->body.size : 0;
    return space < left ? space : left;
  }
  *to = e->input + e->end;
  return INPUT_BYTES - e->end;
}

static void take_received(connection *c, size_t size) {
  exchange *e = c->exchange;
  if (c->state == IN_BODY && !e->is_in_input && !e->request.head.chunked)
    fw_buffer_advance(&e->body, size);
  else
    e->end += size;
}

/* The peer has sent its last byte, or is gone. */
static void take_end(connection *c, bool is_gone) {
  want_reading(c, false);
  c->has_ended = true;
  c->is_gone = is_gone;
  if (is_gone && c->state != WORKING) set_state(c, CLOSED);
}

static void receive(connection *c) {
  char *to;
  if (!take_exchange(c)) {
    set_state(c, CLOSED);
    return;
  }
  const size_t space = find_space(c, &to);
  if (!to) {
    refuse_request(c, 503, no_memory);
    return;
  }
  if (space == 0) {
    want_reading(c, false);
    return;
  }
  const ssize_t size = recv(c->socket, to, space, 0);
  if (size > 0)
    take_received(c, (size_t)size);
  else if (size == 0)
    take_end(c, false);
  else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    take_end(c, true);
}

/* Drops what arrives after the last answer. */
static void forget_received(connection *c) {
  const ssize_t size = recv(c->socket, c->loop->scratch, SCRATCH_BYTES, 0);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (size > 0) c->forgotten += (size_t)size;
  if (size <= 0 || c->forgotten > LINGER_BYTES) set_state(c, CLOSED);
}

static void on_readable(evutil_socket_t socket, short what, void *of_connection) {
  connection *c = of_connection;
  (void)socket, (void)what;
  c->loop->now = clock_ns();
  if (c->state == LINGERING) {
    forget_received(c);
  } else {
    const bool is_busy = c->state == WORKING || c->state == ANSWERING;
    receive(c);
    if (!is_busy) advance(c);
  }
  settle_connection(c);
}

static void on_writable(evutil_socket_t socket, short what, void *of_connection) {
  connection *c = of_connection;
  (void)socket, (void)what;
  c->loop->now = clock_ns();
  advance(c);
  settle_connection(c);
}

/* ---- From outside ---- */

/* Keeps the address of the peer: a log names it also after the peer is gone. */
static void find_client(connection *c) {
  struct sockaddr_storage address = {0};
  socklen_t size = sizeof address;
  if (getpeername(c->socket, (struct sockaddr *)&address, &size) != 0) return;
  if (address.ss_family == AF_INET6)
    memcpy(c->client, &((const struct sockaddr_in6 *)&address)->sin6_addr, sizeof c->client);
  if (address.ss_family != AF_INET) return;
  memset(c->client + 10, 0xff, 2); /* ::ffff:127.0.0.1 */
  memcpy(c->client + 12, &((const struct sockaddr_in *)&address)->sin_addr, 4);
}

void http_request_client(const http_request *request, char *text, size_t size) {
  static const unsigned char unknown[16], v4[12] = {[10] = 0xff, [11] = 0xff};
  const unsigned char *client = ((const exchange *)request)->connection->client;
  const bool is_v4 = memcmp(client, v4, sizeof v4) == 0;
  if (memcmp(client, unknown, sizeof unknown) == 0 ||
      !inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? client + 12 : client, text, (socklen_t)size))
    snprintf(text, size, "-");
}

void connection_open(loop *l, int socket, bool is_refused) {
  connection *c = calloc(1, sizeof *c);
  if (!c) {
    close(socket);
    atomic_fetch_sub(&l->load, 1);
    atomic_fetch_sub(&l->server->connections, 1);
    return;
  }
  c->loop = l;
  c->socket = socket;
  c->before = c->after = c;
  find_client(c);
  event_assign(&c->readable, l->base, socket, EV_READ | EV_PERSIST, on_readable, c);
  event_assign(&c->writable, l->base, socket, EV_WRITE | EV_PERSIST, on_writable, c);
  set_state(c, IDLE);
  want_reading(c, true);
  if (is_refused && take_exchange(c)) {
    c->exchange->is_open = true;
    c->exchange->request.received_ns = l->now;
    c->exchange->request.loop = l->number;
    refuse_head(c, 503, "there are too many connections");
    advance(c);
  }
  settle_connection(c);
}

void connection_expire(connection *c) {
  http_server *server = c->loop->server;
  if (c->state == HEADING || c->state == IN_BODY || c->state == ANSWERING)
    atomic_fetch_add_explicit(&server->timeouts, 1, memory_order_relaxed);
  if (c->state == HEADING)
    refuse_head(c, 408, "the head of the request did not come in time");
  else if (c->state == IN_BODY)
    refuse_request(c, 408, "the body of the request did not come in time");
  else
    set_state(c, CLOSED);
  advance(c);
  settle_connection(c);
}

void connection_answer(exchange *e) {
  connection *c = e->connection;
  start_answer(c);
  advance(c);
  settle_connection(c);
}

void connection_stop(connection *c) {
  receive(c);
  advance(c);
  settle_connection(c);
}
