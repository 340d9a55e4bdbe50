/* cli/rows/table_encoder.h: an encoder for a log: made from a schema, or loaded, and kept in memory while it is used.
 */
#ifndef CLI_ROWS_TABLE_ENCODER_H
#define CLI_ROWS_TABLE_ENCODER_H

#include "core/options.h"
#include "furrow/table.h"

/* The roles of columns, for a schema that is proposed. */
typedef struct schema_values {
  const char *label, *weight, *group, *user, *item, *time;
  text_list tables; /* FILE=KEY */
  uint32_t history;
  bool amounts;                  /* integers with few values are numbers: the model is one of trees */
  bool bin_numbers;              /* numbers whose effect is not a straight line are in bins: the model is linear */
  const furrow_schema *proposed; /* what "auto" is; NULL: it is proposed when the encoder is made */
} schema_values;

/* Sets the parameters from the options about columns. */
void schema_params_set(furrow_schema_propose_params *params, const schema_values *columns);
/* How a log is read to make its encoder. */
typedef struct encoder_reading {
  uint32_t threads;
  furrow_on_bad on_bad;
  bool quiet;              /* false: stderr reports the rows of the tables that were left out */
  const furrow_comm *comm; /* ranks that make it together; NULL: each process for itself */
  bool table_items;        /* items and users that only a table has are known, too */
  uint64_t max_features;   /* the rarest names that are too many count as unknown; 0: no limit */
} encoder_reading;

/* Proposes a schema for csv of numbers that a linear model reads better in bins (furrow_schema_propose_bins). */
furrow_status propose_bins(furrow_schema **schema, const char *log, const schema_values *columns,
                           const encoder_reading *reading, furrow_error *err);
/* Makes the encoder of a log from a schema file, or ("auto") from a proposed one. */
furrow_status make_encoder(furrow_encoder **encoder, const char *log, const char *schema, const schema_values *columns,
                           const encoder_reading *reading, furrow_error *err);
/* Replaces an encoder by one that also knows the names of the log, and says on stderr what was added. */
furrow_status grow_encoder(furrow_encoder **encoder, const char *log, const encoder_reading *reading,
                           furrow_error *err);
/* Prints on stderr what a proposal is unsure of: all of it, or the first columns and a count. */
void say_unsure(const furrow_schema *schema, bool all);
/* Joins several logs into one URI, which the caller frees. */
furrow_status join_logs(char **uri, const text_list *logs, furrow_error *err);

/* The path of an encoder in memory, for URIs. */
#define ENCODER_IN_MEMORY "memory://furrow/encoder"

#endif
