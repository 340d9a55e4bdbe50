/* rows/schema/column_names.h: the meaning of a column's name, and of a class's name. Case is ignored, and so are blanks
 * and punctuation in names of columns. */
#ifndef FW_ROWS_SCHEMA_COLUMN_NAMES_H
#define FW_ROWS_SCHEMA_COLUMN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "rows/schema/schema.h"

/* How strongly the name suggests a label: 0 is the strongest; SIZE_MAX: it does not. */
size_t fw_label_name_priority(const char *name);
/* The same for names that mean a label in logs of events, but may be a feature if there is a stronger one: liked,
 * stars. */
size_t fw_likely_label_name_priority(const char *name);
/* Whether it can hardly be anything but a label. Names such as y, class and stars can. */
bool fw_is_outcome_name(const char *name);
size_t fw_role_name_priority(fw_role role, const char *name);
bool fw_is_weight_name(const char *name);
bool fw_is_group_name(const char *name);
/* Whether it names an identifier: movie_id, movieId, ID. */
bool fw_is_id_name(const char *name);
/* Whether it names the number of a row: index, row, Unnamed: 0. */
bool fw_is_row_number_name(const char *name);
/* Whether the name ends in "number" or the like: customer number, account_no. */
bool fw_is_number_name(const char *name);

/* Whether a name means an identifier: one of the three above, or of a user or an item. */
bool fw_says_id(const char *name);

/* ---- Names of classes ------------------------------------------------------------------------------------ */

/* Below 0: a is the negative class and b the positive one; above 0: the reverse; 0: the names do not say. */
int fw_class_order(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
