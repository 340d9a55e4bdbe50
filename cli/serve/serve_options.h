/* cli/serve/serve_options.h: the options of furrow serve. The command shows and checks them; the program furrow-serve
 * reads the same table. */
#ifndef CLI_SERVE_SERVE_OPTIONS_H
#define CLI_SERVE_SERVE_OPTIONS_H

#include "core/command.h"

/* What /readyz asks for. */
typedef enum ready_policy { READY_LOADED, READY_WRITABLE } ready_policy;

typedef enum access_format { ACCESS_OFF, ACCESS_COMMON, ACCESS_JSON } access_format;

typedef struct serve_values {
  text_list models, indexes; /* NAME=PATH */
  text_list writable;        /* names of indexes */
  text_list items, seen;     /* NAME=FILE:COLUMN, NAME=LOG: of models */
  const char *listen;
  const char *config;
  const char *token_file;
  bool insecure;
  text_list allowed_hosts, allowed_origins; /* NAME or NAME:PORT; SCHEME://HOST or SCHEME://HOST:PORT */
  bool version;                             /* print it and do nothing else */
  bool search_only;
  uint32_t watch_seconds;
  uint32_t threads, workers;
  size_t max_body, max_memory; /* max_body SIZE_MAX: not given */
  uint64_t max_rows, max_results, max_queue, max_connections;
  double timeout, idle_timeout, drain;
  uint64_t checkpoint_after, max_fresh;
  double checkpoint_seconds;
  ready_policy ready;
  access_format access_log;
  const char *access_log_file; /* NULL or "-": standard output */
  double slow;                 /* seconds; 0: no request is slow */
} serve_values;

extern const option_group serve_groups[];
void serve_values_init(void *values);

extern const char serve_example[], serve_about[];

/* The command of both programs, except for what it runs: {SERVE_COMMAND, .run = …}. */
#define SERVE_COMMAND                                                                               \
  .name = "serve", .summary = "answer over HTTP with models and indexes", .example = serve_example, \
  .about = serve_about, .groups = serve_groups, .size = sizeof(serve_values), .init = serve_values_init

#endif
