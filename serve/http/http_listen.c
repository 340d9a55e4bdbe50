/* serve/http/http_listen.c: addresses, listening sockets, new connections. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/fail.h"
#include "http/http_internal.h"

enum { ACCEPTS = 64 /* in one round of the loop */, PAUSE_MS = 100 };

typedef struct listen_address {
  struct sockaddr_storage address;
  socklen_t size;
} listen_address;

/* ---- Addresses ---- */

static bool split_host(const char *text, char *host, size_t host_size, const char **port) {
  const char *colon = strrchr(text, ':');
  if (!colon) return false;
  size_t length = (size_t)(colon - text);
  *port = colon + 1;
  if (length > 1 && text[0] == '[' && text[length - 1] == ']') {
    text++;
    length -= 2;
  } else if (memchr(text, ':', length)) {
    return false;
  }
  if (length >= host_size || strspn(*port, "0123456789") != strlen(*port) || !**port) return false;
  memcpy(host, text, length);
  host[length] = 0;
  return strlen(*port) <= 5 && strtoul(*port, NULL, 10) <= 65535;
}

static furrow_status find_address(const char *text, listen_address *to, furrow_error *err) {
  char host[256];
  const char *port;
  struct addrinfo *found = NULL;
  struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  if (!split_host(text, host, sizeof host, &port))
    return fail_token(err, text, "the address to listen on is not HOST:PORT");
  if (!host[0]) {
    struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)strtoul(port, NULL, 10))};
    memcpy(&to->address, &all, sizeof all);
    to->size = sizeof all;
    return FURROW_OK;
  }
  const int code = getaddrinfo(host, port, &wanted, &found);
  if (code != 0) return fail_token(err, text, "the address to listen on cannot be used: %s", gai_strerror(code));
  memcpy(&to->address, found->ai_addr, found->ai_addrlen);
  to->size = found->ai_addrlen;
  freeaddrinfo(found);
  return FURROW_OK;
}

/* Falls back to all IPv4 addresses if there is no IPv6. */
static void use_ipv4(listen_address *a) {
  const struct sockaddr_in6 *all = (const struct sockaddr_in6 *)&a->address;
  struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = all->sin6_port};
  memset(&a->address, 0, sizeof a->address);
  memcpy(&a->address, &other, sizeof other);
  a->size = sizeof other;
}

static void format_address(const listen_address *a, char *text, size_t size) {
  char host[INET6_ADDRSTRLEN] = "";
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&a->address;
  const struct sockaddr_in *four = (const struct sockaddr_in *)&a->address;
  const bool is_six = a->address.ss_family == AF_INET6;
  inet_ntop(a->address.ss_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, host, sizeof host);
  snprintf(text, size, is_six ? "http://[%s]:%u" : "http://%s:%u", host,
           ntohs(is_six ? six->sin6_port : four->sin_port));
}

static unsigned port_of(const listen_address *a) {
  const bool is_six = a->address.ss_family == AF_INET6;
  return ntohs(is_six ? ((const struct sockaddr_in6 *)&a->address)->sin6_port
                      : ((const struct sockaddr_in *)&a->address)->sin_port);
}

/* ---- Listening ---- */

/* Returns a socket that is bound, or -1 with errno. */
static int bind_socket(const listen_address *a, bool is_shared) {
  const int on = 1, off = 0;
  const int fd = socket(a->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_shared) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (a->address.ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, (const struct sockaddr *)&a->address, a->size) == 0) return fd;
  const int errnum = errno;
  close(fd);
  errno = errnum;
  return -1;
}

/* Loops share the port (SO_REUSEPORT), and another process could share it as well: so first checks that the port is
 * free. */
static int bind_first(listen_address *a) {
  if (port_of(a) != 0) {
    int probe = bind_socket(a, false);
    if (probe >= 0 && listen(probe, 1) != 0) {
      const int errnum = errno;
      close(probe);
      errno = errnum;
      probe = -1;
    }
    if (probe < 0) return -1;
    close(probe);
  }
  const int fd = bind_socket(a, true);
  if (fd >= 0) getsockname(fd, (struct sockaddr *)&a->address, &a->size);
  return fd;
}

furrow_status listen_all(http_server *server, furrow_error *err) {
  listen_address a = {.size = 0};
  const char *text = server->settings.listen;
  const furrow_status status = find_address(text, &a, err);
  if (status != FURROW_OK) return status;
  for (unsigned i = 0; i < server->loop_count; i++) {
    int fd = i == 0 ? bind_first(&a) : bind_socket(&a, true);
    if (fd < 0 && i == 0 && text[0] == ':' && errno == EAFNOSUPPORT) {
      use_ipv4(&a);
      fd = bind_first(&a);
    }
    server->loops[i].listener = fd;
    if (fd < 0) return fail_file(err, FURROW_E_IO, text, "cannot listen", errno);
  }
  for (unsigned i = 0; i < server->loop_count; i++)
    if (listen(server->loops[i].listener, LISTEN_BACKLOG) != 0)
      return fail_file(err, FURROW_E_IO, text, "cannot listen", errno);
  format_address(&a, server->address, sizeof server->address);
  return FURROW_OK;
}

/* ---- Accepting ---- */

/* Counts a connection. Returns false: there are too many even for an error answer. */
static bool admit_connection(http_server *server, bool *is_refused) {
  const size_t before = atomic_fetch_add(&server->connections, 1);
  *is_refused = before >= server->settings.max_connections;
  atomic_fetch_add_explicit(*is_refused ? &server->refused : &server->accepted, 1, memory_order_relaxed);
  if (!*is_refused || before < server->settings.max_connections + MOST_REFUSED) return true;
  atomic_fetch_sub(&server->connections, 1);
  return false;
}

/* Pauses after running out of files or memory: trying again at once would not help. */
static void pause_accepting(loop *l) {
  event_del(&l->acceptable);
  l->is_paused = true;
  l->resume_at = clock_ns() + PAUSE_MS * UINT64_C(1000000);
}

/* The system spreads connections over the listening sockets by chance; the loop with the fewest gets each. */
static loop *find_least(loop *l) {
  http_server *server = l->server;
  loop *least = l;
  for (unsigned i = 0; i < server->loop_count; i++)
    if (atomic_load_explicit(&server->loops[i].load, memory_order_relaxed) <
        atomic_load_explicit(&least->load, memory_order_relaxed))
      least = &server->loops[i];
  return least;
}

/* Opens a connection on this loop or hands it to another. */
static void place_connection(loop *l, int socket, bool is_refused) {
  loop *to = l->is_draining ? l : find_least(l);
  handed_socket *handed = to == l ? NULL : malloc(sizeof *handed);
  if (!handed) {
    atomic_fetch_add(&l->load, 1);
    connection_open(l, socket, is_refused);
    return;
  }
  atomic_fetch_add(&to->load, 1);
  *handed = (handed_socket){.socket = socket, .is_refused = is_refused};
  handed_socket *first = atomic_load_explicit(&to->handed, memory_order_relaxed);
  do handed->next = first;
  while (!atomic_compare_exchange_weak(&to->handed, &first, handed));
  if (!first) loop_wake(to);
}

void accept_handed(loop *l) {
  handed_socket *handed = atomic_exchange(&l->handed, NULL);
  while (handed) {
    handed_socket *next = handed->next;
    connection_open(l, handed->socket, handed->is_refused);
    free(handed);
    handed = next;
  }
}

bool accept_waiting(loop *l) {
  const int on = 1;
  for (unsigned i = 0; i < ACCEPTS; i++) {
    bool is_refused;
    const int fd = accept4(l->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) pause_accepting(l);
      return false;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (admit_connection(l->server, &is_refused))
      place_connection(l, fd, is_refused);
    else
      close(fd);
  }
  return true;
}

void on_acceptable(evutil_socket_t listener, short what, void *of_loop) {
  loop *l = of_loop;
  (void)listener, (void)what;
  l->now = clock_ns();
  accept_waiting(l);
}
