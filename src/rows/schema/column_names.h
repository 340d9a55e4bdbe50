/* rows/schema/column_names.h: what the name of a column says about it, and the name of a class. Case does not count,
 * nor do blanks and punctuation in names of columns. */
#ifndef FW_ROWS_SCHEMA_COLUMN_NAMES_H
#define FW_ROWS_SCHEMA_COLUMN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "rows/schema/schema.h"

/* How strongly the name says it: 0 is the strongest; SIZE_MAX: it does not. */
size_t fw_label_name_rank(const char *name);
/* The same of names that mean a label in logs of events, but may be a feature beside a stronger one: liked, stars. */
size_t fw_likely_label_name_rank(const char *name);
/* Whether it can hardly be anything else than a label, as y, class and stars can. */
bool fw_is_outcome_name(const char *name);
size_t fw_role_name_rank(fw_role role, const char *name);
bool fw_is_weight_name(const char *name);
bool fw_is_group_name(const char *name);
/* Whether it is that of an identifier: movie_id, movieId, ID. */
bool fw_is_id_name(const char *name);
/* Whether it is that of a row's number: index, row, Unnamed: 0. */
bool fw_is_row_number_name(const char *name);

/* ---- Names of classes ------------------------------------------------------------------------------------ */

/* Below 0: a is the negative class and b the positive one; above 0: the other way round; 0: the names do not say. */
int fw_class_order(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
