/* serve/http/http_parse.h: the head and body of an HTTP/1.1 request, from bytes that arrive in pieces.
 *
 * Strict where a lenient reading would let two programs disagree about where a request ends (RFC 9112): a line ends
 * with CR LF, a name has no blank before its colon, no header or trailer continues on the next line, there is at most
 * one Content-Length and none together with Transfer-Encoding, whose only value is "chunked".
 */
#ifndef SERVE_HTTP_HTTP_PARSE_H
#define SERVE_HTTP_HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the head; not ended by a 0. */
typedef struct http_text {
  const char *at;
  size_t size;
} http_text;

typedef enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_OTHER } http_method;
/* Content-Encoding. */
typedef enum http_coding { HTTP_PLAIN, HTTP_GZIP, HTTP_ZSTD, HTTP_UNKNOWN_CODING } http_coding;

enum {
  HTTP_HEAD_BYTES = 16384, /* a head that is longer is refused */
  HTTP_MOST_HEADERS = 64,
  HTTP_MOST_ID = 128 /* bytes of an X-Request-Id that is used */
};

typedef struct http_header {
  http_text name, value; /* the value without blanks around it */
} http_header;

/* The head of a request: views into its bytes. */
typedef struct http_head {
  http_method method;
  http_text method_name;
  http_text path;  /* "/v1/models/ctr:predict", percent-encoded as it came; never empty, begins with a slash */
  http_text query; /* the part after the '?'; empty: none */
  bool http_1_0;
  bool keep_alive;                       /* by version and Connection */
  bool chunked;                          /* the body comes in chunks */
  bool expects_continue;                 /* Expect: 100-continue */
  bool accepts_gzip;                     /* Accept-Encoding has gzip with a weight above 0 */
  bool has_host, has_length, says_close; /* for the parser */
  bool has_coding, has_id;               /* likewise */
  http_text id;                          /* X-Request-Id; empty: none that can be used */
  http_coding coding;                    /* coding of the body; several of them are unknown */
  uint64_t content_length;               /* 0 without one */
  size_t header_count;
  http_header headers[HTTP_MOST_HEADERS];
} http_head;

typedef enum http_parse_state {
  HTTP_PARSE_DONE, /* the head is complete: `used` bytes */
  HTTP_PARSE_MORE, /* more bytes are needed */
  HTTP_PARSE_BAD   /* `status` and `problem` say what the answer is: 400, 417, 431, 501, 505 */
} http_parse_state;

typedef struct http_parsed {
  http_parse_state state;
  size_t used;         /* bytes of the head, with the empty line */
  int status;          /* status of an answer */
  const char *problem; /* one line for people, no full stop */
} http_parsed;

/* Parses a head from its first byte. Empty lines before it are skipped (they count in `used`). */
http_parsed http_parse_head(http_head *head, const char *data, size_t size);
/* Returns the value of a header, its name in any case; {NULL, 0}: it is not there. */
http_text http_header_value(const http_head *head, const char *name);
bool http_text_is(http_text text, const char *literal);
/* Splits "host:port"; an IPv6 address keeps its brackets. *port is empty if there is none. Returns false: it is not of
 * this form, or the port is not a number up to 65535. */
bool http_split_host(http_text text, http_text *name, http_text *port);

/* The state of decoding chunks in place. Start with {0}. */
typedef struct http_chunks {
  int state;
  uint64_t left;  /* bytes left of the chunk */
  size_t trailer; /* bytes of trailer lines and chunk extensions so far, which are read and forgotten; at most 4096 */
} http_chunks;

/* Decodes as much as possible of data[0 … size): moves content to data[0 … *content), and `used` is the number of bytes
 * taken. DONE: the body ends there. */
http_parsed http_parse_chunks(http_chunks *chunks, char *data, size_t size, size_t *content);

#endif
