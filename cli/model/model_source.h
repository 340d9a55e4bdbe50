/* cli/model/model_source.h: how the model commands read matrices, and the options for it. */
#ifndef CLI_MODEL_MODEL_SOURCE_H
#define CLI_MODEL_MODEL_SOURCE_H

#include <stdbool.h>

#include "core/options.h"
#include "furrow/learn.h"
#include "furrow/model.h"

/* ---- How files are understood ---- */

/* A text separator; "": not given. */
typedef struct separator {
  char text[32];
} separator;

/* For OPTION_PARSED: reads \t, \n, \\ and \xHH, and every other character as itself. */
furrow_status parse_separator(const char *text, void *field, furrow_error *err);
/* For OPTION_PARSED: the number of a row type. */
furrow_status parse_row_type(const char *text, void *field, furrow_error *err);

/* The order of rows in files: a name, or a list of rows. */
typedef struct row_order {
  furrow_matrix_row_order order;
  size_t count;
  int32_t rows[512];
} row_order;

typedef struct reading_values {
  separator separator;
  const char *meta_name, *format;
  int32_t row_type;
  row_order row_order;
} reading_values;

/* --sep, --meta-name, --format, --row-type, --row-order; commands that also write have them with the prefix --in-. */
extern const option reading_options[], in_reading_options[];
void reading_values_init(reading_values *values);
/* The parameters point into the values. */
furrow_matrix_source_params reading_params(const reading_values *values);

/* ---- Which matrix, and what of it ---- */

typedef struct selection_values {
  const char *matrix;
  const char *rows, *cols, *parts; /* as written */
} selection_values;

/* Only --matrix, and --matrix with --rows, --cols, --parts. */
extern const option matrix_options[], selection_options[];

/* Finds the matrix named `name`, or the only one; the hint of E_ARGUMENT lists the names. */
furrow_status choose_matrix(const furrow_model_listing *listing, const char *name, const furrow_model_entry **matrix,
                            furrow_error *err);

/* A selection and the memory it points to. */
typedef struct selected {
  furrow_matrix_selection selection;
  int32_t *rows, *parts;
} selected;

/* Selects rows, columns and partitions of these matrices. Clear it, even after a failure. */
furrow_status selection_make(selected *c, const selection_values *values, const furrow_model_entry *matrices,
                             size_t count, const char *meta_name, furrow_error *err);
void selection_clear(selected *c);

/* Returns the ids of all saved rows according to the metadata, ascending, without duplicates. Free them. */
furrow_status saved_row_ids(const furrow_matrix_meta *meta, int32_t **ids, size_t *count, furrow_error *err);

/* Returns the rows of a list such as 0:8,16, in its order; an open range ends at `rows` (0: unknown). Free them. */
furrow_status read_row_list(const char *name, const char *text, int32_t rows, int32_t **ids, size_t *count,
                            furrow_error *err);

/* Opens a gbdt model directory; without graph.json, as Angel writes it, gbdt's defaults apply. E_STATE: the model has
 * no trees. */
furrow_status forest_open(furrow_scorer **scorer, const char *folder, uint32_t threads, furrow_error *err);
/* Returns whether a listing is of a gbdt model. */
bool forest_is_listed(const furrow_model_listing *listing);
/* Returns whether its trees are in forest.nodes: they came from another program. */
bool imported_forest_is_listed(const furrow_model_listing *listing);

#endif
