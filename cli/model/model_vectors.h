/* cli/model/model_vectors.h: exports items or queries of a factorization machine as vectors (furrow model export
 * --vectors). */
#ifndef CLI_MODEL_MODEL_VECTORS_H
#define CLI_MODEL_MODEL_VECTORS_H

#include "core/output.h"
#include "model/model_source.h"

typedef enum vectors_of { VECTORS_NONE, VECTORS_ITEM, VECTORS_QUERY } vectors_of;

typedef struct vectors_values {
  vectors_of of;
  const char *data; /* rows; NULL: every feature alone is an item, or every item or user of a raw log */
  const char *format;
} vectors_values;

extern const option vectors_options[];

typedef struct vectors_job {
  const vectors_values *values;
  const char *model, *file, *ids; /* ids NULL: FILE.ids.npy, of names FILE.names.txt */
  bool no_ids, force, json;
  uint32_t threads;
  bool cols;          /* --cols was given: */
  int64_t first, end; /* features */
} vectors_job;

furrow_status export_vectors(const vectors_job *job, output *out, furrow_error *err);

#endif
