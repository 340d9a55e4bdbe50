/* serve/api/index_requests.h: decodes and checks the requests for an index, JSON or raw float32 vectors, into the
 * memory of the thread. It does not depend on HTTP. */
#ifndef SERVE_API_INDEX_REQUESTS_H
#define SERVE_API_INDEX_REQUESTS_H

#include "api/service.h"

/* A request as it was received. */
typedef struct request_text {
  const char *body;
  size_t size;
  bool raw;        /* little-endian float32 instead of JSON; the query string then has the other members */
  http_text query; /* "k=10&nprobe=16" */
} request_text;

/* What is wrong with a request. */
typedef struct request_fault {
  furrow_error error;
  char pointer[192]; /* JSON pointer of the place; "": none */
  int status;        /* HTTP status of the answer; 0: the error decides */
} request_fault;

enum { MOST_SHOWN = 1000 }; /* columns that attributes have */

/* Decoded requests point into the memory of the thread: valid until the next one. */
typedef struct search_request {
  size_t n;
  const float *vectors;
  index_query query; /* its filter is &filter, or NULL */
  furrow_id_filter filter;
  size_t shown_count; /* columns of attributes that results have, and their numbers */
  uint16_t shown[MOST_SHOWN];
  bool is_long; /* it should not run on a loop thread; if that is known early, the other members are not filled in */
} search_request;

typedef struct remove_request {
  size_t n;
  const int64_t *ids; /* ascending, each once */
  size_t missing_count;
  http_text missing; /* the first ids or names that do not exist, as JSON with commas between them */
} remove_request;

typedef struct curve_request {
  size_t queries, k;
} curve_request;

/* on_loop: stops as soon as it is clear that the request is long. Ids and names are looked up in the view. */
furrow_status search_request_read(search_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, bool on_loop,
                                  request_fault *fault);
/* *new_ids: space for the ids that the vectors get. */
furrow_status add_request_read(index_addition *addition, int64_t **new_ids, const request_text *text,
                               const index_view *view, const service_limits *limits, thread_memory *memory,
                               request_fault *fault);
/* A name or an id that does not exist is not an error. The index must be writable. */
furrow_status remove_request_read(remove_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, request_fault *fault);
furrow_status curve_request_read(curve_request *request, const request_text *text, const service_limits *limits,
                                 thread_memory *memory, request_fault *fault);
/* Reads a request without members: an empty body or {}. */
furrow_status empty_request_read(const request_text *text, thread_memory *memory, request_fault *fault);

#endif
