/* serve/api/access_log.h: a line for each request, and one for each slow request. */
#ifndef SERVE_API_ACCESS_LOG_H
#define SERVE_API_ACCESS_LOG_H

#include "http/http_server.h"
#include "serve/serve_options.h"

typedef struct access_log access_log;

/* Facts for a line of the log that are not part of the request. */
typedef struct access_record {
  const http_request *request;
  const char *call;        /* "predict" … */
  const char *kind, *name; /* "model" and its name; NULL: the request is not about one */
  int status;              /* 499: the client was gone before there was an answer */
  size_t rows;             /* instances, users or vectors */
  size_t bytes_in, bytes_out;
  uint64_t total_ns;             /* from the first byte of the request to the last of its answer, */
  uint64_t queued_ns, worked_ns; /* of these, the time of waiting for a thread and the time of processing */
} access_record;

/* Opens what the settings name. *log: NULL if there is nothing to write.
 * Owner: the caller ends it with access_log_end. Errors: E_IO, the file cannot be opened; E_MEMORY. */
furrow_status access_log_create(access_log **log, const serve_values *values, furrow_error *err);
/* Begins to write; until then lines are kept. Takes NULL. */
void access_log_begin(access_log *log);
/* Adds a request. From any thread; does not wait for a file. */
void access_log_add(access_log *log, const access_record *record);
/* Opens the file again, which was renamed. Takes NULL. */
void access_log_reopen(access_log *log);
/* Lines that were dropped because they could not be written in time. Takes NULL. */
uint64_t access_log_dropped(access_log *log);
/* Writes what is left. Takes NULL. */
void access_log_end(access_log *log);

#endif
