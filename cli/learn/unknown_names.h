/* cli/learn/unknown_names.h: rows of raw logs whose user or item the model does not know. */
#ifndef CLI_LEARN_UNKNOWN_NAMES_H
#define CLI_LEARN_UNKNOWN_NAMES_H

#include "furrow/learn.h"

/* Users or items, and the rows without one that the model knows. */
typedef struct unknown_side {
  bool used; /* the schema has such a column */
  furrow_encoder_field field;
  uint64_t rows;
} unknown_side;

typedef struct unknown_names {
  unknown_side user, item;
  uint64_t rows; /* all */
} unknown_names;

/* encoder NULL: nothing is counted. It must outlive the names. */
void unknown_names_start(unknown_names *names, const furrow_encoder *encoder);
void unknown_names_count(unknown_names *names, const furrow_rowblock *block);
/* Prints notes to stderr, and warnings where no row has a name that is known. */
void unknown_names_print(const unknown_names *names);

#endif
