/* cli/learn/raw_log.h: raw logs: training with --schema, and the event of furrow predict --event */
#ifndef CLI_LEARN_RAW_LOG_H
#define CLI_LEARN_RAW_LOG_H

#include "core/options.h"
#include "furrow/table.h"
#include "learn/learn_options.h"
#include "rows/table_encoder.h"

typedef struct raw_log_values {
  const char *schema; /* NULL: the samples are rows */
  schema_values columns;
  uint64_t max_features;   /* 0: no limit */
  furrow_schema *proposed; /* what raw_log_find_bins made; columns borrow it */
} raw_log_values;

extern const option raw_log_options[];

/* Takes --label as the name of a column rather than as a transform of labels: moves it, and the other options that name
 * columns, from the keys to the values. The texts of moved keys become NULL. */
void raw_log_take_columns(raw_log_values *values, learn_values *keys);
/* Whether the samples are a log although no option says so: the format is open and the data needs a schema. Sets the
 * schema to auto then, and says it on stderr unless `quiet`. samples NULL: there are none. */
bool raw_log_find(raw_log_values *values, const char *samples, const furrow_learn_conf *conf, bool quiet);
/* Whether the samples are a csv of numbers that a linear model, which `conf` asks for, reads better in bins. Proposes a
 * schema then, to be freed with raw_log_clear, sets the schema to auto, and says so on stderr unless the reading is
 * quiet. Mistakes in the data are left for the training to report. */
bool raw_log_find_bins(raw_log_values *values, const char *samples, const furrow_learn_conf *conf,
                       const encoder_reading *reading);
void raw_log_clear(raw_log_values *values);
/* Makes the encoder and sets the keys for it, unless the samples are rows; `load` (may be NULL) is a model from which
 * training continues: its encoder gets the names of the log. The limit of features is the encoder's then, and 0 in the
 * values. */
furrow_status raw_log_prepare(raw_log_values *values, const char *log, const char *load, uint32_t threads,
                              furrow_on_bad on_bad, bool quiet, furrow_learn_conf *conf, furrow_error *err);

/* Sets the keys for the encoder that raw_log_prepare made. */
furrow_status raw_log_use_encoder(furrow_learn_conf *conf, furrow_error *err);
/* Whether the path of a URI has the ending of a csv file. */
bool raw_log_is_csv_name(const char *uri);
/* Adds a hint to a parse error in a table: its row can be left out; in csv, rows contain only numbers, so the file may
 * be a raw log. */
void raw_log_hint_bad_row(const raw_log_values *values, const char *samples, furrow_on_bad on_bad, furrow_error *err);
/* Measures whether a model of a log with users and items can recommend, stores that in the model, and warns unless
 * `quiet`. Fails only if a signal came. */
furrow_status raw_log_judge_ranking(const raw_log_values *values, const furrow_trainer *trainer, const char *log,
                                    const char *model, uint32_t threads, bool quiet, furrow_error *err);

/* Makes a log of the event, a file in memory, and returns its URI. */
furrow_status one_event_write(const text_list *pairs, const char **uri, furrow_error *err);
/* Checks the columns and values against the encoder of a model; encoder NULL is an error: the model has none. */
furrow_status one_event_check(const text_list *pairs, const furrow_encoder *encoder, furrow_error *err);
/* Names the values of categories that the model does not know. */
void one_event_print_notes(const text_list *pairs, const furrow_encoder *encoder);

#endif
