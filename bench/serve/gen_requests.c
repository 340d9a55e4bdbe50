/* bench/serve/gen_requests.c: sends requests at a fixed rate and measures how long each takes.
 *
 *   gen_requests ADDRESS:PORT PATH BODY-FILE --rate R --seconds S [--connections C] [--type CONTENT-TYPE] [--token T]
 *
 * A request is due at its time whether or not the answers before it have come: its latency counts from then, so that a
 * server that stalls is not excused by a client that waits (closed-loop tools such as wrk do). Prints one line of JSON:
 * requests, answers that were not 200, failures of connections, the rate that was reached, and latencies in
 * microseconds. IPv4 only; one thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct connection {
  int fd;
  bool busy;
  uint64_t due;  /* of its request */
  size_t sent;   /* bytes of the request */
  size_t got;    /* bytes of the answer in `in` */
  size_t length; /* of the answer; 0: its head is not there yet */
  char in[1 << 16];
} connection;

typedef struct load {
  struct sockaddr_in to;
  char *request;
  size_t size;
  connection *connections;
  unsigned count;
  unsigned *idle; /* a stack */
  unsigned idle_count;
  int epoll;
  uint64_t *latencies;
  size_t answered, bad, failures, due_count;
} load;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void give_up(const char *what) {
  fprintf(stderr, "gen_requests: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void open_connection(load *l, unsigned i) {
  connection *c = &l->connections[i];
  const int one = 1;
  c->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)&l->to, sizeof l->to) != 0) give_up("cannot connect");
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(c->fd, F_SETFL, O_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = i};
  if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0) give_up("epoll");
  c->busy = false;
  c->got = c->length = 0;
}

static void reopen(load *l, unsigned i) {
  close(l->connections[i].fd);
  l->failures++;
  open_connection(l, i);
  l->idle[l->idle_count++] = i;
}

static bool send_more(load *l, connection *c) {
  while (c->sent < l->size) {
    const ssize_t n = send(c->fd, l->request + c->sent, l->size - c->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    c->sent += (size_t)n;
  }
  return true;
}

/* Finds the end of the answer once its head is there. */
static bool read_head(connection *c) {
  const char *end = memmem(c->in, c->got, "\r\n\r\n", 4);
  if (!end) return true;
  const char *length = memmem(c->in, (size_t)(end - c->in), "\r\nContent-Length: ", 18);
  if (!length) return false;
  c->length = (size_t)(end + 4 - c->in) + strtoul(length + 18, NULL, 10);
  return true;
}

static void finish(load *l, unsigned i, uint64_t now) {
  connection *c = &l->connections[i];
  if (memcmp(c->in, "HTTP/1.1 200", 12) != 0) l->bad++;
  l->latencies[l->answered++] = now - c->due;
  c->busy = false;
  c->got = c->length = 0;
  l->idle[l->idle_count++] = i;
}

/* Reads what is there; the answer's bytes beyond the buffer are counted, not kept. */
static void receive(load *l, unsigned i) {
  connection *c = &l->connections[i];
  for (;;) {
    const size_t kept = c->got < sizeof c->in ? c->got : sizeof c->in - 4096;
    const ssize_t n = recv(c->fd, c->in + kept, sizeof c->in - kept, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      reopen(l, i);
      return;
    }
    c->got += (size_t)n;
    if (c->length == 0 && !read_head(c)) {
      reopen(l, i);
      return;
    }
    if (c->length > 0 && c->got >= c->length) {
      finish(l, i, now_ns());
      return;
    }
  }
}

static void start_request(load *l, uint64_t due) {
  const unsigned i = l->idle[--l->idle_count];
  connection *c = &l->connections[i];
  c->busy = true;
  c->due = due;
  c->sent = 0;
  if (!send_more(l, c)) reopen(l, i);
}

static void run(load *l, double rate, double seconds) {
  const uint64_t begin = now_ns();
  const size_t total = l->due_count;
  size_t started = 0;
  struct epoll_event events[256];
  const uint64_t last = begin + (uint64_t)((seconds + 10) * 1e9);
  while (l->answered + l->failures < total && now_ns() < last) {
    const uint64_t now = now_ns();
    while (started < total && l->idle_count > 0) {
      const uint64_t due = begin + (uint64_t)((double)started / rate * 1e9);
      if (due > now) break;
      start_request(l, due);
      started++;
    }
    const int n = epoll_wait(l->epoll, events, 256, 0);
    for (int i = 0; i < n; i++) {
      const unsigned number = events[i].data.u32;
      connection *c = &l->connections[number];
      if (!c->busy) continue;
      if ((events[i].events & EPOLLOUT) && !send_more(l, c))
        reopen(l, number);
      else if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(l, number);
    }
  }
}

static int by_size(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static double share_us(const load *l, double share) {
  if (l->answered == 0) return 0;
  const size_t at = (size_t)((double)l->answered * share);
  return (double)l->latencies[at < l->answered ? at : l->answered - 1] / 1000;
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 24);
  if (!file || !text) give_up(path);
  *size = fread(text, 1, 1 << 24, file);
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  double rate = 1000, seconds = 5;
  const char *type = "application/json", *token = NULL;
  load l = {.count = 64};
  if (argc < 4) {
    fprintf(stderr, "usage: gen_requests ADDRESS:PORT PATH BODY-FILE --rate R --seconds S [--connections C]\n");
    return 2;
  }
  for (int i = 4; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--rate") == 0) rate = atof(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--connections") == 0) l.count = (unsigned)atoi(argv[i + 1]);
    if (strcmp(argv[i], "--type") == 0) type = argv[i + 1];
    if (strcmp(argv[i], "--token") == 0) token = argv[i + 1];
  }
  char *colon = strrchr(argv[1], ':');
  if (!colon) return 2;
  *colon = 0;
  l.to = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
  inet_pton(AF_INET, argv[1], &l.to.sin_addr);
  size_t body_size;
  char *body = read_file(argv[3], &body_size);
  l.request = malloc(body_size + 1024);
  l.due_count = (size_t)(rate * seconds);
  l.latencies = malloc((l.due_count + 1) * sizeof *l.latencies);
  l.connections = calloc(l.count, sizeof *l.connections);
  l.idle = calloc(l.count, sizeof *l.idle);
  l.epoll = epoll_create1(0);
  if (!l.request || !l.latencies || !l.connections || !l.idle || l.epoll < 0) give_up("no memory");
  l.size = (size_t)sprintf(l.request, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n",
                           argv[2], argv[1], type, body_size);
  if (token) l.size += (size_t)sprintf(l.request + l.size, "Authorization: Bearer %.512s\r\n", token);
  l.size += (size_t)sprintf(l.request + l.size, "\r\n");
  memcpy(l.request + l.size, body, body_size);
  l.size += body_size;
  for (unsigned i = 0; i < l.count; i++) {
    open_connection(&l, i);
    l.idle[l.idle_count++] = i;
  }
  const uint64_t begin = now_ns();
  run(&l, rate, seconds);
  const double taken = (double)(now_ns() - begin) / 1e9;
  qsort(l.latencies, l.answered, sizeof *l.latencies, by_size);
  printf("{\"requests\":%zu,\"answers\":%zu,\"not_200\":%zu,\"failures\":%zu,\"rate\":%.0f,\"p50_us\":%.1f,\"p90_us\":%"
         ".1f,"
         "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
         l.due_count, l.answered, l.bad, l.failures, (double)l.answered / taken, share_us(&l, 0.5), share_us(&l, 0.9),
         share_us(&l, 0.99), share_us(&l, 0.999), share_us(&l, 1));
  return l.failures > 0 || l.bad > 0 || l.answered < l.due_count;
}
