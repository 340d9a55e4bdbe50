/* rows/block/types.c: names and sizes of the element types. */
#include <string.h>

#include "base/error.h"
#include "furrow/rows.h"

typedef struct type_traits {
  const char *name;
  size_t size;
} type_traits;

#define FW_X(name, type, text) {text, sizeof(type)},
static const type_traits index_types[] = {FURROW_KEY_TYPES(FW_X)};
static const type_traits value_types[] = {FURROW_VALUE_TYPES(FW_X)};
#undef FW_X

#define FW_X(name, type, text) " " text
static const char index_type_list[] = FURROW_KEY_TYPES(FW_X);
static const char value_type_list[] = FURROW_VALUE_TYPES(FW_X);
#undef FW_X

enum {
  INDEX_TYPES = sizeof index_types / sizeof index_types[0],
  VALUE_TYPES = sizeof value_types / sizeof value_types[0]
};

size_t furrow_key_size(furrow_key_type type) {
  return (unsigned)type < INDEX_TYPES ? index_types[type].size : 0;
}

size_t furrow_value_size(furrow_value_type type) {
  return (unsigned)type < VALUE_TYPES ? value_types[type].size : 0;
}

const char *furrow_key_type_name(furrow_key_type type) {
  return (unsigned)type < INDEX_TYPES ? index_types[type].name : "?";
}

const char *furrow_value_type_name(furrow_value_type type) {
  return (unsigned)type < VALUE_TYPES ? value_types[type].name : "?";
}

/* The place of `name` in the table, or `count`. */
static unsigned find_type(const type_traits *types, unsigned count, const char *name) {
  unsigned i = 0;
  while (i < count && strcmp(types[i].name, name) != 0) i++;
  return i;
}

static furrow_status fail_no_type(const char *kind, const char *list, const char *name, furrow_error *err) {
  furrow_status status = fw_fail(err, FURROW_E_ARGUMENT, "no such %s type; there are%s", kind, list);
  fw_error_set_token(err, name, strlen(name));
  return status;
}

furrow_status furrow_key_type_find(const char *name, furrow_key_type *type, furrow_error *err) {
  if (!name) name = "";
  unsigned i = find_type(index_types, INDEX_TYPES, name);
  if (i == INDEX_TYPES) return fail_no_type("index", index_type_list, name, err);
  *type = (furrow_key_type)i;
  return FURROW_OK;
}

furrow_status furrow_value_type_find(const char *name, furrow_value_type *type, furrow_error *err) {
  if (!name) name = "";
  unsigned i = find_type(value_types, VALUE_TYPES, name);
  if (i == VALUE_TYPES) return fail_no_type("value", value_type_list, name, err);
  *type = (furrow_value_type)i;
  return FURROW_OK;
}

/* ---- Inline functions, for those who bind to the shared library ------------------------------------------- */

extern inline uint64_t furrow_keys_get(furrow_keys a, furrow_key_type type, size_t i);
extern inline double furrow_values_get(furrow_values a, furrow_value_type type, size_t i);
extern inline uint64_t furrow_row_get_field(const furrow_row *row, size_t i);
extern inline uint64_t furrow_row_get_index(const furrow_row *row, size_t i);
extern inline double furrow_row_get_value(const furrow_row *row, size_t i);
extern inline double furrow_row_get_label(const furrow_row *row);
extern inline float furrow_row_get_weight(const furrow_row *row);
extern inline uint64_t furrow_row_get_qid(const furrow_row *row);
