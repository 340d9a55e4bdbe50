/* columns/owned_columns.c: types of columns, and columns that own their memory. */
#include "columns/owned_columns.h"

#include "base/mem.h"

const char *furrow_column_type_name(furrow_column_type type) {
  switch (type) {
#define FURROW_X(name, number, text) \
  case FURROW_COLUMN_##name: return text;
    FURROW_COLUMN_TYPES(FURROW_X)
#undef FURROW_X
  }
  return NULL;
}

bool furrow_column_type_find(const char *name, furrow_column_type *type) {
#define FURROW_X(symbol, number, text) \
  if (strcmp(name, text) == 0) return *type = FURROW_COLUMN_##symbol, true;
  FURROW_COLUMN_TYPES(FURROW_X)
#undef FURROW_X
  return false;
}

void furrow_columns_free(furrow_columns *columns) {
  fw_owned_columns *owner = (fw_owned_columns *)columns;
  if (!owner) return;
  fw_arena_clear(&owner->arena);
  fw_free(owner);
}
