/* serve/http/http_server.h: connections and their requests: one event loop for each thread, all on one port.
 *
 * A loop accepts, reads, parses, asks the program (hooks), writes. A connection has one request at a time: the next one
 * of a pipeline is read when the answer of the one before is written. A peer that has closed its side of the connection
 * still gets its answers. Everything has a limit: bytes of a head (HTTP_HEAD_BYTES), of a body, connections, bytes of
 * all bodies that are in memory, and times. Time limits apply to the whole head, body or answer, not to the last byte,
 * so that a peer cannot keep a connection by sending a byte from time to time.
 */
#ifndef SERVE_HTTP_HTTP_SERVER_H
#define SERVE_HTTP_HTTP_SERVER_H

#include "base/buffer.h"
#include "furrow/status.h"
#include "http/http_parse.h"

/* What a handler fills in. */
typedef struct http_answer {
  int status;        /* 200 */
  const char *type;  /* content type; NULL: none, and no body */
  fw_buffer body;    /* the server compresses it where the client asks and it is long enough */
  const void *fixed; /* instead of body: bytes that live as long as the program (a page); `headers` may say how they
                        are cached, all other answers are not stored */
  size_t fixed_size;
  unsigned retry_after; /* seconds; 0: no such header */
  const char *headers;  /* more header lines, each ended by CR LF, that live as long as the program; NULL: none */
  bool close;           /* close the connection after it */
} http_answer;

/* A request and its answer. It belongs to its connection; valid from hooks.request until http_request_finish. */
typedef struct http_request {
  http_head head;
  const char *body; /* whole, chunks joined; not ended by a 0 */
  size_t body_size;
  uint64_t received_ns; /* when its first byte came: clock_ns() */
  unsigned loop;        /* loop of its connection */
  http_text id;         /* that of its head, or a new one; the answer has it */
  char own_id[16];      /* a new one */
  const char *headers;  /* more header lines, whatever the answer is; as http_answer.headers */
  http_answer answer;
  _Alignas(max_align_t) unsigned char notes[96]; /* the hooks' own; zeros at the start */
} http_request;

/* What the program does. All are called on the thread of a loop (0 … loops - 1). */
typedef struct http_hooks {
  void *user;
  /* Called when the head is complete and the body is not. Returns the most bytes of body that it may have; to refuse
   * it, fills in request->answer (with a status above 200) and returns 0: then the server answers at once and closes.
   * May be called for requests without a body as well: those keep their connection. */
  size_t (*head)(void *user, http_request *request);
  /* The request is complete. Returns true: request->answer is filled in. False: another thread will call
   * http_request_finish. */
  bool (*request)(void *user, http_request *request);
  /* Fills in answer->type and body, for answer->status, when the server itself refuses a request (bad head, too large,
   * too slow, out of memory). */
  void (*refuse)(void *user, http_answer *answer, const char *problem);
  /* Called when an answer is written, or its connection is gone (499: before there was an answer); for counting. */
  void (*done)(void *user, http_request *request, int status, size_t bytes_in, size_t bytes_out);
} http_hooks;

typedef struct http_settings {
  const char *listen; /* "127.0.0.1:8080", "[::1]:8080", ":8080" (all addresses); port 0: any that is free */
  unsigned loops;
  size_t max_connections; /* limit of all loops together; further ones are accepted, answered 503 and closed */
  size_t max_memory;  /* bytes of bodies and answers in memory, of all loops; requests that need less than 64 KiB do not
                         count. Beyond: 503 */
  unsigned idle_ms;   /* between requests */
  unsigned head_ms;   /* from the first byte of a head to its end */
  unsigned body_ms;   /* from the head to the end of the body */
  unsigned answer_ms; /* to take an answer */
  size_t gzip_from;   /* bytes from which bodies are compressed where the client asks; 0: never */
} http_settings;

/* Figures of all loops, as they are now. */
typedef struct http_figures {
  uint64_t connections;       /* open */
  uint64_t accepted, refused; /* connections so far */
  uint64_t timeouts;          /* connections that were closed for time, not counting idle ones */
  uint64_t memory;            /* bytes of bodies and answers */
} http_figures;

typedef struct http_server http_server;

/* Binds the port and starts the threads.
 * Errors: E_ARGUMENT, settings.listen is not an address; E_IO, it cannot be bound. */
furrow_status http_server_start(http_server **server, const http_settings *settings, const http_hooks *hooks,
                                furrow_error *err);
/* Writes "http://127.0.0.1:8080": the address that it listens on. */
void http_server_address(const http_server *server, char *text, size_t size);
void http_server_get_figures(const http_server *server, http_figures *figures);
/* Decompresses the body of a request whose head.coding is gzip or zstd; request->body is the result then. On the thread
 * that has the request, and not on one of a loop if the result may be long. Returns 0, or the status of an answer and
 * *problem: 400, the body is not what it should be; 413, the result has more than `limit` bytes; 503, memory. */
int http_request_unpack(http_request *request, size_t limit, const char **problem);
enum { HTTP_CLIENT_TEXT = 48 }; /* bytes of the text below */
/* Writes the address of the client, without its port: "127.0.0.1", "::1"; "-": it is not known. */
void http_request_client(const http_request *request, char *text, size_t size);
/* Completes a request whose request->answer is filled in; from any thread. */
void http_request_finish(http_request *request);
/* Stops accepting, answers what was begun with Connection: close, ends connections that stay idle for a moment (a
 * quarter of drain_ms, at most a second), and waits for all of it, at most drain_ms. Returns whether all ended in time.
 */
bool http_server_stop(http_server *server, unsigned drain_ms);
/* After stop. Takes NULL. */
void http_server_free(http_server *server);

/* The reason phrase of a status: "Bad Request". */
const char *http_reason(int status);
/* Nanoseconds of a clock that never goes back. */
uint64_t clock_ns(void);

#endif
