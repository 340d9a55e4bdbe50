/* columns/owned_columns.h: columns that own their memory (furrow/columns.h). */
#ifndef FW_COLUMNS_OWNED_COLUMNS_H
#define FW_COLUMNS_OWNED_COLUMNS_H

#include "base/arena.h"
#include "furrow/columns.h"

/* The view comes first, so that a caller's furrow_columns leads to the owner. */
typedef struct fw_owned_columns {
  furrow_columns view;
  fw_arena arena; /* all memory that the view points into */
} fw_owned_columns;

#endif
