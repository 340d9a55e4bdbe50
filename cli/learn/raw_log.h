/* cli/learn/raw_log.h: training on raw logs: the options of --schema, and the encoder that they make. */
#ifndef CLI_LEARN_RAW_LOG_H
#define CLI_LEARN_RAW_LOG_H

#include "learn/learn_options.h"
#include "rows/table_encoder.h"

typedef struct raw_log_values {
  const char *schema; /* NULL: the samples are rows */
  schema_values columns;
} raw_log_values;

extern const option raw_log_options[];

/* What --label names: a column rather than how labels are transformed. Moves it, and the other options of columns, to
 * where they count; the texts of keys that are taken become NULL. */
void raw_log_take_columns(raw_log_values *values, learn_values *keys);
/* Makes the encoder and sets the keys for it, unless the samples are rows; `load` (may be NULL) is a model that
 * training goes on from: its encoder counts. */
furrow_status raw_log_prepare(const raw_log_values *values, const char *log, const char *load, uint32_t threads,
                              furrow_on_bad on_bad, bool quiet, furrow_learn_conf *conf, furrow_error *err);

#endif
