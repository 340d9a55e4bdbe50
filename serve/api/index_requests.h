/* serve/api/index_requests.h: what a request asks of an index: JSON or raw float32 vectors, checked, in the memory of
 * the thread. Nothing here knows of HTTP. */
#ifndef SERVE_API_INDEX_REQUESTS_H
#define SERVE_API_INDEX_REQUESTS_H

#include "api/service.h"

/* A request as it came. */
typedef struct request_text {
  const char *body;
  size_t size;
  bool raw;        /* little-endian float32 instead of JSON; then the query string has what JSON has beside vectors */
  http_text query; /* "k=10&nprobe=16" */
} request_text;

/* What is wrong with a request. */
typedef struct request_fault {
  furrow_error error;
  char pointer[192]; /* JSON pointer of the place; "": none */
  int status;        /* of the answer; 0: that of the error */
} request_fault;

/* Decoded requests point into the memory of the thread: valid until the next one. */
typedef struct search_request {
  size_t n;
  const float *vectors;
  index_query query; /* its filter is &filter, or NULL */
  furrow_id_filter filter;
  bool is_long; /* it should not be worked on by a loop; where that is known early, the rest is not filled in */
} search_request;

typedef struct remove_request {
  size_t n;
  const int64_t *ids; /* ascending, each once */
  size_t missing_count;
  http_text missing; /* ids or names that are not there, the first ones, as JSON with commas between them */
} remove_request;

typedef struct curve_request {
  size_t queries, k;
} curve_request;

/* on_loop: stop where it is clear that the request is long. Ids and names are looked up in the view. */
furrow_status search_request_read(search_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, bool on_loop,
                                  request_fault *fault);
/* *new_ids: space for the ids that the vectors get. */
furrow_status add_request_read(index_addition *addition, int64_t **new_ids, const request_text *text,
                               const index_view *view, const service_limits *limits, thread_memory *memory,
                               request_fault *fault);
/* A name that is not there is not an error, as an id is not. The index is a writable one. */
furrow_status remove_request_read(remove_request *request, const request_text *text, const index_view *view,
                                  const service_limits *limits, thread_memory *memory, request_fault *fault);
furrow_status curve_request_read(curve_request *request, const request_text *text, const service_limits *limits,
                                 thread_memory *memory, request_fault *fault);
/* A request that has nothing to say: an empty body or {}. */
furrow_status empty_request_read(const request_text *text, thread_memory *memory, request_fault *fault);

#endif
