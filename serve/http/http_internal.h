/* serve/http/http_internal.h: what the files of the HTTP server share.
 *
 *   http_listen.c      addresses, listening sockets, new connections
 *   http_connection.c  one connection: reads a request, has it answered, goes on with the next
 *   http_answer.c      writes an answer
 *   http_gzip.c        compresses its body
 *   http_unpack.c      decompresses the body of a request
 *   http_loop.c        the thread of a loop: ready sockets, time limits, answers that other threads hand in
 *   http_server.c      all loops: start, stop
 */
#ifndef SERVE_HTTP_HTTP_INTERNAL_H
#define SERVE_HTTP_HTTP_INTERNAL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include <zlib.h>

#include "http/http_server.h"

enum {
  /* After a head that begins in the first INPUT_EARLY bytes there is always space to read more. */
  INPUT_EARLY = 8192,
  INPUT_BYTES = INPUT_EARLY + HTTP_HEAD_BYTES + 8192,
  KEPT_BYTES = 16384,    /* memory that bodies and answers keep between requests; does not count */
  KEPT_EXCHANGES = 64,   /* of a loop, that no connection uses */
  SCRATCH_BYTES = 65536, /* buffer for bytes that are read and dropped */
  LISTEN_BACKLOG = 4096,
  MOST_REFUSED = 128,      /* connections beyond max_connections that get an answer at a time */
  LINGER_MS = 3000,        /* how long a connection is read after its last answer, so that the answer arrives … */
  LINGER_BYTES = 64 << 20, /* … and how much */
  MOST_WRITES = 4,         /* of an answer before the loop looks at other connections */
  MOST_FIXED = 8           /* fixed answers whose compressed form is kept */
};

/* What a connection waits for. Each but WORKING has a time limit. */
typedef enum connection_state {
  IDLE,      /* the first byte of a request */
  HEADING,   /* the rest of a head */
  IN_BODY,   /* the rest of a body */
  WORKING,   /* another thread has the request */
  ANSWERING, /* the peer does not read as fast as it is written */
  LINGERING, /* the peer should close; what it sends is dropped */
  STATES,
  CLOSED = STATES /* nothing: it is freed before the loop goes on */
} connection_state;

typedef struct connection connection;
typedef struct loop loop;

/* A request with its bytes and its answer. A connection that is idle does not have one. */
typedef struct exchange {
  http_request request; /* first: http_request_finish gets its address */
  connection *connection;
  struct exchange *next;       /* in a list of the loop */
  char *input;                 /* INPUT_BYTES */
  size_t begin, end;           /* input[begin … end) is not used yet */
  size_t seen;                 /* bytes of an incomplete head that were parsed */
  size_t body_begin;           /* where chunks are read to, in input */
  size_t body_limit, bytes_in; /* the most bytes of body; bytes of the request so far */
  bool is_in_input, is_unread; /* the body is in input; not all of it was read */
  bool is_open;                /* hooks.done must be called */
  bool waits;                  /* for more of the request */
  http_chunks chunks;
  fw_buffer body;     /* body that is not in input */
  fw_buffer unpacked; /* body that was compressed */
  fw_buffer packed;   /* the compressed answer */
  bool is_packed, is_pack_tried;
  fw_buffer head;            /* head of the answer */
  const char *content;       /* content of the answer */
  size_t content_size, sent; /* sent: of head and content */
  size_t counted;            /* bytes that are counted in the server's memory */
} exchange;

struct connection {
  connection *before, *after; /* of the same state, in the order of `since` */
  loop *loop;
  exchange *exchange;
  uint64_t since; /* when the state began: clock_ns() */
  size_t forgotten;
  unsigned char client[16]; /* address, as of IPv6; zeros: it is not known */
  int socket;
  connection_state state, listed; /* listed: whose list it is in */
  bool is_moved;                  /* the state began just now */
  bool is_reading, is_writing;    /* which events are there */
  bool has_ended;                 /* the peer sends nothing more */
  bool is_gone;                   /* the peer is not there any more */
  bool closes;                    /* after this answer */
  struct event readable, writable;
};

/* A connection that another loop has accepted. */
typedef struct handed_socket {
  int socket;
  bool is_refused;
  struct handed_socket *next;
} handed_socket;

struct loop {
  http_server *server;
  struct event_base *base;
  pthread_t thread;
  bool has_thread, is_draining, is_ending, is_paused;
  unsigned number;
  int listener, wake;
  struct event acceptable, woken, sweep;
  connection lists[STATES]; /* heads of rings */
  exchange *spare;
  unsigned spare_count;
  _Atomic(exchange *) finished;    /* by other threads, the last one first */
  _Atomic(handed_socket *) handed; /* by other loops, likewise */
  atomic_size_t load;              /* connections that it has or gets */
  uint64_t request_count;          /* ids of requests so far */
  uint64_t drained_at;             /* until then idle connections may send one more request */
  uint64_t now, resume_at;         /* of this event; when to accept again */
  time_t date_second;
  char date[48];
  z_stream deflate;
  bool has_deflate;
  char *scratch;
};

typedef struct fixed_gzip {
  const void *of;
  size_t of_size;
  fw_buffer packed;
} fixed_gzip;

struct http_server {
  http_settings settings;
  http_hooks hooks;
  uint64_t limits[STATES]; /* nanoseconds; 0: none */
  loop *loops;
  unsigned loop_count;
  char address[80];
  uint64_t id_seed;
  atomic_size_t connections, memory;
  atomic_uint_fast64_t accepted, refused, timeouts;
  atomic_bool stops, ends;
  uint64_t grace_ns;    /* set before stops */
  pthread_mutex_t lock; /* protects the members below */
  pthread_cond_t changed;
  unsigned draining_loops;
  fixed_gzip fixed[MOST_FIXED];
  size_t fixed_count;
};

/* http_listen.c */

/* Binds one socket for each loop. */
furrow_status listen_all(http_server *server, furrow_error *err);
/* Accepts waiting connections, a limited number at a time. Returns whether there may be more. */
bool accept_waiting(loop *l);
/* Opens the connections that other loops have accepted for this one. */
void accept_handed(loop *l);
/* A listener's event. */
void on_acceptable(evutil_socket_t socket, short what, void *of_loop);

/* http_connection.c */

/* Starts with a socket that was accepted. is_refused: there are too many. */
void connection_open(loop *l, int socket, bool is_refused);
/* Ends a state that has reached its time limit. */
void connection_expire(connection *c);
/* Sends the answer that another thread has finished. */
void connection_answer(exchange *e);
/* Stops a connection: reads once more, then closes it if it is idle. */
void connection_stop(connection *c);
/* Closes and frees, whatever the state. */
void connection_end(connection *c);
void exchange_free(exchange *e);

/* http_answer.c */

/* Makes head and content of request.answer. Returns whether the connection closes after it. */
bool answer_prepare(exchange *e, bool closes);
/* Replaces the answer by an error of the server itself. */
void answer_refuse(exchange *e, int status, const char *problem);
/* Writes as much as the socket takes. Returns 1: all is written; 0: the peer must read first; -1: the peer is gone. */
int answer_write(exchange *e);
/* Counts the memory of bodies. Returns false: there is too much of it. */
bool exchange_count(exchange *e);

/* http_gzip.c */

/* Whether the answer has another form for clients that take gzip. */
bool gzip_is_worth(const http_server *server, const http_answer *answer);
/* Compresses into e->packed; the stream may be NULL: then one is made. */
void gzip_pack(exchange *e, z_stream *stream);
/* Finds the compressed form of fixed bytes, or makes it. NULL: there is none. */
const fw_buffer *gzip_find_fixed(http_server *server, const http_answer *answer);
z_stream *gzip_stream(loop *l);

/* http_loop.c */

furrow_status loop_init(loop *l, furrow_error *err);
furrow_status loop_start(loop *l, furrow_error *err);
/* Makes the loop look for finished requests and for the end of the server. From any thread. */
void loop_wake(loop *l);
void loop_clear(loop *l);
/* Appends a connection whose state has just begun to the list of that state. */
void loop_list(connection *c);
void loop_unlist(connection *c);

#endif
