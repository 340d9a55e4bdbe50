/* tests/unit/serve/test_http_server.c: what the program sees of the server: hooks, answers from other threads,
 * stopping. What clients see is in tests/serve/test_http.py. */
#include "http/http_server.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/cmocka_all.h"

/* What the hooks have seen. */
typedef struct seen {
  atomic_int heads, requests, refused, done, last_status;
  atomic_size_t bytes_in, bytes_out;
  _Atomic(http_request *) kept; /* the answer comes later, from a thread */
} seen;

static size_t on_head(void *user, http_request *request) {
  seen *s = user;
  s->heads++;
  assert_int_equal(request->notes[0], 0);
  request->notes[0] = 1;
  return request->head.method == HTTP_POST ? 1 << 20 : 0;
}

static bool on_request(void *user, http_request *request) {
  seen *s = user;
  const http_text path = request->head.path;
  s->requests++;
  if (http_text_is(path, "/kept"))
    atomic_store(&s->kept, request);
  else if (http_text_is(path, "/failed"))
    request->answer.body.missing = true;
  else
    fw_buffer_append(&request->answer.body, request->body, request->body_size);
  request->answer.type = "text/plain";
  return !http_text_is(path, "/kept");
}

static void on_refuse(void *user, http_answer *answer, const char *problem) {
  seen *s = user;
  s->refused++;
  answer->type = "text/plain";
  fw_buffer_text(&answer->body, problem);
}

static void on_done(void *user, http_request *request, int status, size_t bytes_in, size_t bytes_out) {
  seen *s = user;
  (void)request;
  s->last_status = status;
  s->bytes_in += bytes_in;
  s->bytes_out += bytes_out;
  s->done++;
}

static http_server *start(seen *s) {
  const http_settings settings = {.listen = "127.0.0.1:0",
                                  .loops = 2,
                                  .max_connections = 100,
                                  .max_memory = 1 << 20,
                                  .idle_ms = 5000,
                                  .head_ms = 5000,
                                  .body_ms = 5000,
                                  .answer_ms = 5000};
  const http_hooks hooks = {.user = s, .head = on_head, .request = on_request, .refuse = on_refuse, .done = on_done};
  furrow_error err;
  http_server *server = NULL;
  memset(s, 0, sizeof *s);
  assert_int_equal(http_server_start(&server, &settings, &hooks, &err), FURROW_OK);
  return server;
}

static int connect_to(const http_server *server) {
  char text[128];
  unsigned port = 0;
  http_server_address(server, text, sizeof text);
  assert_int_equal(sscanf(text, "http://127.0.0.1:%u", &port), 1);
  const struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0);
  return fd;
}

static void send_text(int fd, const char *text) {
  assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until the answer has these bytes. */
static void expect(int fd, const char *wanted) {
  static char text[1 << 16];
  size_t size = 0;
  text[0] = 0;
  while (!strstr(text, wanted)) {
    const ssize_t received = recv(fd, text + size, sizeof text - 1 - size, 0);
    if (received <= 0) fail_msg("%s is not in %s", wanted, text);
    size += (size_t)received;
    text[size] = 0;
  }
}

static void wait_for(const atomic_int *count, int wanted) {
  for (int i = 0; i < 60000 && atomic_load(count) < wanted; i++) usleep(1000);
  assert_int_equal(atomic_load(count), wanted);
}

static http_request *wait_for_kept(seen *s) {
  for (int i = 0; i < 60000 && !atomic_load(&s->kept); i++) usleep(1000);
  http_request *request = atomic_exchange(&s->kept, NULL);
  assert_non_null(request);
  return request;
}

static void hooks_see_every_request_once(void **state) {
  (void)state;
  seen s;
  http_server *server = start(&s);
  const int fd = connect_to(server);
  send_text(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  expect(fd, "\r\n\r\nhello");
  wait_for(&s.done, 1);
  assert_true(s.heads == 1 && s.requests == 1 && s.last_status == 200 && s.bytes_in == 52 && s.bytes_out > 100);
  send_text(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n");
  expect(fd, "413 Content Too Large");
  wait_for(&s.done, 2);
  assert_true(s.heads == 2 && s.requests == 1 && s.refused == 1);
  close(fd);
  const int bad = connect_to(server), half = connect_to(server);
  send_text(bad, "nonsense\r\n\r\n");
  expect(bad, "400 Bad Request");
  wait_for(&s.done, 3);
  send_text(half, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell");
  wait_for(&s.heads, 3);
  close(half);
  wait_for(&s.done, 4);
  assert_true(s.last_status == 499 && s.requests == 1);
  close(bad);
  assert_true(http_server_stop(server, 5000));
  http_server_free(server);
  assert_int_equal(s.done, 4);
}

static void a_body_without_memory_is_not_sent(void **state) {
  (void)state;
  seen s;
  http_server *server = start(&s);
  const int fd = connect_to(server);
  send_text(fd, "GET /failed HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(fd, "HTTP/1.1 503 ");
  close(fd);
  assert_true(http_server_stop(server, 5000));
  http_server_free(server);
}

static void answers_come_from_other_threads(void **state) {
  (void)state;
  seen s;
  http_server *server = start(&s);
  const int fd = connect_to(server), gone = connect_to(server);
  send_text(fd, "GET /kept HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  http_request *request = wait_for_kept(&s);
  fw_buffer_text(&request->answer.body, "from a thread");
  http_request_finish(request);
  expect(fd, "from a thread");
  wait_for(&s.done, 2);
  send_text(gone, "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n");
  request = wait_for_kept(&s);
  assert_int_equal(setsockopt(gone, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)), 0);
  close(gone);
  usleep(20000);
  assert_int_equal(s.done, 2);
  http_request_finish(request);
  wait_for(&s.done, 3);
  close(fd);
  assert_true(http_server_stop(server, 5000));
  http_server_free(server);
}

static void answers_may_come_after_stop(void **state) {
  (void)state;
  seen s;
  http_server *server = start(&s);
  const int fd = connect_to(server);
  send_text(fd, "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n");
  http_request *request = wait_for_kept(&s);
  assert_false(http_server_stop(server, 20));
  fw_buffer_text(&request->answer.body, "late");
  http_request_finish(request);
  expect(fd, "Connection: close\r\n\r\nlate");
  close(fd);
  http_server_free(server);
  assert_int_equal(s.done, 1);
}

static void *finish_slowly(void *argument) {
  usleep(50000);
  http_request_finish(argument);
  return NULL;
}

static void stop_waits_for_answers(void **state) {
  (void)state;
  seen s;
  pthread_t thread;
  http_server *server = start(&s);
  const int fd = connect_to(server), idle = connect_to(server), half = connect_to(server);
  char byte;
  send_text(fd, "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n");
  send_text(half, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhell");
  wait_for(&s.heads, 2);
  assert_int_equal(pthread_create(&thread, NULL, finish_slowly, wait_for_kept(&s)), 0);
  assert_false(http_server_stop(server, 200)); /* one has not sent its request */
  assert_int_equal(recv(idle, &byte, 1, 0), 0);
  expect(fd, "Connection: close");
  pthread_join(thread, NULL);
  http_server_free(server);
  assert_true(s.done == 2 && s.last_status == 499);
  close(fd), close(idle), close(half);
}

/* Each of the two loops gets every other connection, whichever socket it came in by. */
static void loops_have_equally_many_connections(void **state) {
  (void)state;
  enum { CONNECTIONS = 20 };
  seen s;
  http_server *server = start(&s);
  int fds[CONNECTIONS], of_loop[2] = {0, 0};
  for (int i = 0; i < CONNECTIONS; i++) {
    fds[i] = connect_to(server);
    send_text(fds[i], "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n");
    http_request *request = wait_for_kept(&s);
    of_loop[request->loop]++;
    http_request_finish(request);
    expect(fds[i], "HTTP/1.1 200 OK");
  }
  assert_int_equal(of_loop[0], CONNECTIONS / 2);
  assert_int_equal(of_loop[1], CONNECTIONS / 2);
  for (int i = 0; i < CONNECTIONS; i++) close(fds[i]);
  assert_true(http_server_stop(server, 5000));
  http_server_free(server);
}

static void memory_is_counted(void **state) {
  (void)state;
  seen s;
  http_figures figures;
  http_server *server = start(&s);
  const int fd = connect_to(server);
  char *body = calloc(1, 200001);
  assert_non_null(body);
  memset(body, 'x', 200000);
  send_text(fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
  for (int half = 0; half < 2; half++) {
    assert_int_equal(send(fd, body, 100000, MSG_NOSIGNAL), 100000);
    for (int i = 0; half == 0 && i < 5000; i++) {
      http_server_get_figures(server, &figures);
      if (figures.memory >= 100000) break;
      usleep(1000);
    }
  }
  assert_true(figures.memory >= 100000 && figures.memory <= 400000 && figures.connections == 1);
  expect(fd, "HTTP/1.1 200 OK");
  wait_for(&s.done, 1);
  close(fd);
  assert_true(http_server_stop(server, 5000));
  http_server_get_figures(server, &figures);
  assert_true(figures.memory == 0 && figures.connections == 0 && figures.accepted == 1 && figures.refused == 0);
  http_server_free(server);
  free(body);
}

static void addresses(void **state) {
  (void)state;
  static const char *const bad[] = {"",      "8080",   "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
                                    "::1:0", "[::1]0", "[::1:0",    "a:-1",       "127.0.0.1:+1"};
  const http_hooks hooks = {.head = on_head, .request = on_request};
  http_settings settings = {.loops = 2, .max_connections = 1};
  furrow_error err;
  http_server *server = NULL;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    settings.listen = bad[i];
    if (http_server_start(&server, &settings, &hooks, &err) != FURROW_E_ARGUMENT) fail_msg("%s", bad[i]);
  }
  char text[128];
  settings.listen = ":0";
  assert_int_equal(http_server_start(&server, &settings, &hooks, &err), FURROW_OK);
  http_server_address(server, text, sizeof text);
  assert_true(strncmp(text, "http://[::]:", 12) == 0 || strncmp(text, "http://0.0.0.0:", 15) == 0);
  settings.listen = strrchr(text, ':'); /* it is taken now */
  http_server *second = NULL;
  assert_int_equal(http_server_start(&second, &settings, &hooks, &err), FURROW_E_IO);
  assert_null(second);
  http_server_free(server);
  http_server_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hooks_see_every_request_once),
      cmocka_unit_test(a_body_without_memory_is_not_sent),
      cmocka_unit_test(answers_come_from_other_threads),
      cmocka_unit_test(answers_may_come_after_stop),
      cmocka_unit_test(stop_waits_for_answers),
      cmocka_unit_test(loops_have_equally_many_connections),
      cmocka_unit_test(memory_is_counted),
      cmocka_unit_test(addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
