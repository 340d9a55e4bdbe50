/* cli/learn/scoring.h: a model and the rows that it scores: what predict and eval share. */
#ifndef CLI_LEARN_SCORING_H
#define CLI_LEARN_SCORING_H

#include "core/options.h"
#include "core/progress.h"
#include "furrow/learn.h"
#include "learn/learn_options.h"

/* Users or items: the number of rows whose user or item the model does not know. */
typedef struct unknown_side {
  bool used;     /* the schema has such a column */
  size_t number; /* of the field */
  furrow_encoder_field field;
  uint64_t rows;
  uint64_t seen; /* the number of the last row with a known value; used where several columns are counted at once */
} unknown_side;

typedef struct unknown_names {
  unknown_side user, item;
  unknown_side *columns; /* the other categories and sets, ascending by their fields */
  size_t column_count;
  const furrow_encoder *encoder;
  uint64_t rows; /* all */
} unknown_names;

/* encoder NULL: nothing is counted. It must outlive the names. To be cleared. */
furrow_status unknown_names_start(unknown_names *names, const furrow_encoder *encoder, furrow_error *err);
void unknown_names_clear(unknown_names *names);
void unknown_names_count(unknown_names *names, const furrow_rowblock *block);
/* Prints notes to stderr, and warnings where no row, or hardly any, has a name that is known. encoder NULL: about users
 * and items alone. */
void unknown_names_print(const unknown_names *names, const furrow_encoder *encoder);

typedef struct scoring_values {
  const char *model, *data, *format, *conf, *algorithm;
  int fc_order;
  uint32_t threads;
  furrow_on_bad on_bad;
  bool quiet;
  bool unlabelled; /* raw logs are read without their labels, which may then be malformed */
  bool event;      /* the data is one event, whose values have notes of their own */
  text_list define;
} scoring_values;

/* scoring_options: the model, the rows and how they are read. graph_options: the graph of a model without graph.json,
 * also for commands that read no rows. */
extern const option scoring_options[], graph_options[];

typedef struct scoring {
  const scoring_values *values;
  furrow_scorer *scorer;
  furrow_scorer_scratch *space;
  furrow_sample_reader *samples;
  progress progress;
  uint64_t rows;           /* rows of the blocks before the current one */
  size_t size;             /* rows of the current block */
  bool compared;           /* the features of the first rows were compared with the model's */
  uint64_t known, unknown; /* features of these rows that the model has, and does not have */
  unknown_names names;     /* names of all rows so far */
} scoring;

/* Loads the model alone. */
furrow_status scoring_load(furrow_scorer **scorer, const scoring_values *values, furrow_error *err);
/* Loads the model and opens the rows. Close it, even after a failure. */
furrow_status scoring_open(scoring *s, const scoring_values *values, furrow_error *err);
void scoring_close(scoring *s);
/* Reads the next block of rows; FURROW_END at the end. */
furrow_status scoring_next(scoring *s, const furrow_rowblock **block, furrow_error *err);
/* Prints notes about skipped rows and skipped text to stderr, and about rows whose features, users or
 * items the model does not know. */
void scoring_print_notes(const scoring *s);
/* After a block could not be scored: adds to `err` the file and, if one of its rows is at fault, that row. */
void scoring_locate_error(const scoring *s, const furrow_rowblock *block, furrow_error *err);

#endif
