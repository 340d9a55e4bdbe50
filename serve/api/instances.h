/* serve/api/instances.h: the rows of a request: {"instances": […]} or {"rows": […]} for a version of a model. */
#ifndef SERVE_API_INSTANCES_H
#define SERVE_API_INSTANCES_H

#include "api/service.h"
#include "models/instance_decoder.h"

/* Members that a request may have in addition to its rows. */
typedef enum instance_options { TAKES_DETAILS = 1, TAKES_TOP_AND_BY = 2 } instance_options;

/* A request that was read. */
typedef struct instances {
  furrow_rowblock rows; /* lives until the next request of the thread */
  const char *member;   /* "instances" or "rows" */
  bool details;
  size_t top;                /* 0: all */
  bool by_column;            /* contributions are summed by column */
  const fw_buffer *warnings; /* about rows: strings of JSON with commas; lives as long as the rows */
  size_t warning_count;      /* number of warnings; only the first of them are kept */
} instances;

/* The version of the call's model that scores rows, kept for the caller as by served_model_get; NULL: there is none,
 * and the answer is a problem. */
model_version *instances_version(call *c);
/* Reads the body of a request. Returns false: the answer is a problem, or the call is to be moved to a worker.
 * options: a sum of instance_options. */
bool instances_read(call *c, model_version *version, unsigned options, instances *read);
/* Releases the rows: frees memory beyond what requests usually need. */
void instances_release(call *c, model_version *version);
/* Answers with the problem of row i, with its pointer, after scoring or explaining failed. */
void instances_refuse(call *c, const instances *read, size_t row, furrow_status status, const furrow_error *err);
/* The columns of the model's log; NULL: out of memory. */
const event_columns *instances_columns(model_version *version);
/* Writes ,"warnings":[…] about users, items, values and features that the model does not know; nothing where it knows
 * them all. */
void instances_write_warnings(const model_version *version, const instances *read, fw_buffer *body);

#endif
