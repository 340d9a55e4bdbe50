/* bench/serve/gen_requests.c: sends requests at a fixed rate and measures how long each takes.
 *
 *   gen_requests ADDRESS:PORT PATH BODY-FILE --rate R --seconds S [--connections C] [--threads T] [--type CONTENT-TYPE]
 *
 * A request is due at its time whether or not the answers before it have come: its latency counts from then, so that a
 * server that stalls is not excused by a client that waits (closed-loop tools such as wrk do). Prints one line of JSON:
 * requests, answers that were not 200, failures of connections, the rate that was reached, and latencies in
 * microseconds. IPv4 only. Each thread sends its share of the rate over its share of the connections, and never sleeps.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
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
  double rate, seconds;
  pthread_t thread;
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

static void *run(void *argument) {
  load *l = argument;
  const uint64_t begin = now_ns();
  const size_t total = l->due_count;
  size_t started = 0;
  struct epoll_event events[256];
  const uint64_t last = begin + (uint64_t)((l->seconds + 10) * 1e9);
  while (l->answered + l->failures < total && now_ns() < last) {
    const uint64_t now = now_ns();
    while (started < total && l->idle_count > 0) {
      const uint64_t due = begin + (uint64_t)((double)started / l->rate * 1e9);
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
  return NULL;
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

/* The bytes that every request has. */
static char *make_request(const char *host, const char *path, const char *body_file, const char *type, size_t *size) {
  size_t body_size;
  char *body = read_file(body_file, &body_size);
  char *request = malloc(body_size + 4096);
  if (!request) give_up("no memory");
  *size =
      (size_t)snprintf(request, 4096, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                       path, host, type, body_size);
  memcpy(request + *size, body, body_size);
  *size += body_size;
  free(body);
  return request;
}

static void open_all(load *l) {
  l->due_count = (size_t)(l->rate * l->seconds);
  l->latencies = malloc((l->due_count + 1) * sizeof *l->latencies);
  l->connections = calloc(l->count, sizeof *l->connections);
  l->idle = calloc(l->count, sizeof *l->idle);
  l->epoll = epoll_create1(0);
  if (!l->latencies || !l->connections || !l->idle || l->epoll < 0) give_up("no memory");
  for (unsigned i = 0; i < l->count; i++) {
    open_connection(l, i);
    l->idle[l->idle_count++] = i;
  }
}

/* Adds the answers of one thread to those of another. */
static void add_up(load *all, const load *l) {
  all->latencies = realloc(all->latencies, (all->answered + l->answered + 1) * sizeof *all->latencies);
  if (!all->latencies) give_up("no memory");
  memcpy(all->latencies + all->answered, l->latencies, l->answered * sizeof *l->latencies);
  all->answered += l->answered;
  all->bad += l->bad;
  all->failures += l->failures;
  all->due_count += l->due_count;
}

static int print_result(load *all, double taken) {
  qsort(all->latencies, all->answered, sizeof *all->latencies, by_size);
  printf("{\"requests\":%zu,\"answers\":%zu,\"not_200\":%zu,\"failures\":%zu,\"rate\":%.0f,\"p50_us\":%.1f,\"p90_us\":%"
         ".1f,"
         "\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}\n",
         all->due_count, all->answered, all->bad, all->failures, (double)all->answered / taken, share_us(all, 0.5),
         share_us(all, 0.9), share_us(all, 0.99), share_us(all, 0.999), share_us(all, 1));
  return all->failures > 0 || all->bad > 0 || all->answered < all->due_count;
}

int main(int argc, char **argv) {
  enum { MOST_THREADS = 64 };
  static load loads[MOST_THREADS];
  double rate = 1000, seconds = 5;
  unsigned connections = 64, threads = 1;
  const char *type = "application/json";
  char *colon = argc < 4 ? NULL : strrchr(argv[1], ':');
  if (!colon) {
    fprintf(stderr,
            "usage: gen_requests ADDRESS:PORT PATH BODY-FILE --rate R --seconds S [--connections C] [--threads T]\n");
    return 2;
  }
  for (int i = 4; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--rate") == 0) rate = atof(argv[i + 1]);
    if (strcmp(argv[i], "--seconds") == 0) seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "--connections") == 0) connections = (unsigned)atoi(argv[i + 1]);
    if (strcmp(argv[i], "--threads") == 0) threads = (unsigned)atoi(argv[i + 1]);
    if (strcmp(argv[i], "--type") == 0) type = argv[i + 1];
  }
  if (threads < 1 || threads > MOST_THREADS || connections < threads || !(rate > 0) || !(seconds > 0)) return 2;
  *colon = 0;
  load all = {.to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))}};
  if (inet_pton(AF_INET, argv[1], &all.to.sin_addr) != 1) return 2;
  all.request = make_request(argv[1], argv[2], argv[3], type, &all.size);
  for (unsigned i = 0; i < threads; i++) {
    loads[i] = all;
    loads[i].rate = rate / threads;
    loads[i].seconds = seconds;
    loads[i].count = connections / threads;
    open_all(&loads[i]);
  }
  const uint64_t begin = now_ns();
  for (unsigned i = 0; i < threads; i++)
    if (pthread_create(&loads[i].thread, NULL, run, &loads[i]) != 0) give_up("a thread cannot be started");
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(loads[i].thread, NULL);
    add_up(&all, &loads[i]);
  }
  return print_result(&all, (double)(now_ns() - begin) / 1e9);
}
