/* serve/models/instance_decoder.h: what a version of a model needs to read the rows of requests: the columns of its
 * log, names of features, and the readers of each thread. */
#ifndef SERVE_MODELS_INSTANCE_DECODER_H
#define SERVE_MODELS_INSTANCE_DECODER_H

#include "base/buffer.h"
#include "models/event_columns.h"
#include "models/model_version.h"

/* The readers of one thread, and its memory. */
typedef struct instance_readers {
  furrow_event_reader *events;
  furrow_line_reader *lines;
  furrow_json *cells; /* reads an event once more */
  fw_buffer warnings; /* warnings about the request: JSON strings with commas between them */
  float *values;      /* values of the named features of an object */
  uint64_t *seen;     /* for each: number of the last object that had it */
  uint64_t objects;
} instance_readers;

/* Made once for a version of a model. */
typedef struct instance_decoder {
  unsigned threads;
  instance_readers *readers;
  event_columns columns; /* columns of a model of a log */
  const char **names;    /* names of features 0 … */
  size_t name_count;
  uint32_t *buckets; /* 1 + the number of a name by hash; 0: none. A power of two of them */
  size_t bucket_count;
  bool has_label;         /* lines begin with a label */
  const char *ignored[2]; /* columns of labels and weights; NULL: none */
} instance_decoder;

/* The version's decoder, which its first use makes; NULL: out of memory. */
instance_decoder *instance_decoder_get(model_version *version);
void instance_decoder_free(instance_decoder *decoder); /* takes NULL */
/* The number of a feature's name; SIZE_MAX: there is none. */
size_t instance_decoder_find(const instance_decoder *d, furrow_json_text name);

#endif
