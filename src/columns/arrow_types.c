/* columns/arrow_types.c: the columns of an Arrow table and their types. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "columns/arrow_frames.h"

enum { DEEPEST = 16, MOST_LEAVES = 100000 };

/* ---- Types ---------------------------------------------------------------------------------------------- */

static const struct {
  const char *format;
  fw_arrow_type type;
} plain_types[] = {
    {"n", {FW_ARROW_NULL, 0, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"b", {FW_ARROW_BITS, 0, false, {FW_TYPED_BOOL, 0, 0}, 0}},
    {"c", {FW_ARROW_INTS, 1, true, {FW_TYPED_I64, 0, 0}, 0}},
    {"C", {FW_ARROW_INTS, 1, false, {FW_TYPED_U64, 0, 0}, 0}},
    {"s", {FW_ARROW_INTS, 2, true, {FW_TYPED_I64, 0, 0}, 0}},
    {"S", {FW_ARROW_INTS, 2, false, {FW_TYPED_U64, 0, 0}, 0}},
    {"i", {FW_ARROW_INTS, 4, true, {FW_TYPED_I64, 0, 0}, 0}},
    {"I", {FW_ARROW_INTS, 4, false, {FW_TYPED_U64, 0, 0}, 0}},
    {"l", {FW_ARROW_INTS, 8, true, {FW_TYPED_I64, 0, 0}, 0}},
    {"L", {FW_ARROW_INTS, 8, false, {FW_TYPED_U64, 0, 0}, 0}},
    {"e", {FW_ARROW_FLOATS, 2, true, {FW_TYPED_F32, 0, 0}, 0}},
    {"f", {FW_ARROW_FLOATS, 4, true, {FW_TYPED_F32, 0, 0}, 0}},
    {"g", {FW_ARROW_FLOATS, 8, true, {FW_TYPED_F64, 0, 0}, 0}},
    {"u", {FW_ARROW_OFFSETS, 4, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"z", {FW_ARROW_OFFSETS, 4, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"U", {FW_ARROW_OFFSETS, 8, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"Z", {FW_ARROW_OFFSETS, 8, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"vu", {FW_ARROW_VIEWS, 16, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"vz", {FW_ARROW_VIEWS, 16, false, {FW_TYPED_TEXT, 0, 0}, 0}},
    {"tdD", {FW_ARROW_INTS, 4, true, {FW_TYPED_DATE, 0, 0}, 0}},
    {"tdm", {FW_ARROW_INTS, 8, true, {FW_TYPED_DATE, 0, 0}, 86400000}},
    {"tts", {FW_ARROW_INTS, 4, true, {FW_TYPED_TIME, 0, 0}, 0}},
    {"ttm", {FW_ARROW_INTS, 4, true, {FW_TYPED_TIME, 3, 0}, 0}},
    {"ttu", {FW_ARROW_INTS, 8, true, {FW_TYPED_TIME, 6, 0}, 0}},
    {"ttn", {FW_ARROW_INTS, 8, true, {FW_TYPED_TIME, 9, 0}, 0}},
    {"+l", {FW_ARROW_OFFSETS, 4, false, {FW_TYPED_LIST, 0, 0}, 0}},
    {"+L", {FW_ARROW_OFFSETS, 8, false, {FW_TYPED_LIST, 0, 0}, 0}},
    {"+s", {FW_ARROW_STRUCT, 0, false, {0, 0, 0}, 0}},
};

/* "ts" and a unit, ":" and the time zone: the number counts from 1970 in UTC. Without a zone it is a local time. */
static bool read_timestamp(const char *format, fw_arrow_type *type) {
  static const char named[] = "smun";
  const char *unit = strncmp(format, "ts", 2) == 0 && format[2] ? strchr(named, format[2]) : NULL;
  if (!unit || format[3] != ':') return false;
  *type =
      (fw_arrow_type){FW_ARROW_INTS, 8, true, {FW_TYPED_TIMESTAMP, (int8_t)(3 * (unit - named)), format[4] != 0}, 0};
  return true;
}

/* "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS" */
static bool read_decimal(const char *format, fw_arrow_type *type) {
  int precision, scale, bits = 128, end = 0;
  if (sscanf(format, "d:%d,%d%n", &precision, &scale, &end) != 2) return false;
  if (format[end] && sscanf(format + end, ",%d", &bits) != 1) return false;
  if ((bits != 32 && bits != 64 && bits != 128) || scale < -100 || scale > 100) return false;
  *type = (fw_arrow_type){FW_ARROW_INTS, (size_t)bits / 8, true, {FW_TYPED_DECIMAL, (int8_t)scale, 0}, 0};
  return true;
}

/* "w:BYTES" and "+w:ELEMENTS" */
static bool read_fixed(const char *format, fw_arrow_type *type) {
  const bool list = format[0] == '+';
  int width, end = 0;
  if (sscanf(format + list, "w:%d%n", &width, &end) != 1 || format[(size_t)end + list] || width < 0) return false;
  *type = (fw_arrow_type){FW_ARROW_FIXED, (size_t)width, false, {list ? FW_TYPED_LIST : FW_TYPED_TEXT, 0, 0}, 0};
  return true;
}

static fw_arrow_type type_of(const char *format) {
  fw_arrow_type type = {.storage = FW_ARROW_UNSUPPORTED};
  for (size_t i = 0; i < sizeof plain_types / sizeof *plain_types; i++)
    if (strcmp(plain_types[i].format, format) == 0) return plain_types[i].type;
  if (read_timestamp(format, &type) || read_decimal(format, &type) || read_fixed(format, &type)) return type;
  return type;
}

/* ---- Columns -------------------------------------------------------------------------------------------- */

static bool is_well_formed(const struct ArrowSchema *schema) {
  if (!schema || !schema->format || schema->n_children < 0 || (schema->n_children > 0 && !schema->children))
    return false;
  for (int64_t i = 0; i < schema->n_children; i++)
    if (!schema->children[i] || !schema->children[i]->format) return false;
  return true;
}

/* Where the search is: the structs around a column. */
typedef struct leaf_search {
  fw_arrow_leaves *leaves;
  const char *names[DEEPEST];
  uint32_t place[DEEPEST];
} leaf_search;

static furrow_status name_leaf(const leaf_search *s, size_t depth, fw_arrow_leaf *leaf, furrow_error *err) {
  fw_buffer name = {0};
  for (size_t i = 0; i < depth; i++) fw_buffer_format(&name, "%s%s", i ? "." : "", s->names[i] ? s->names[i] : "");
  FW_TRY(fw_buffer_take(&name, &leaf->name, NULL, err));
  if (leaf->name[0] || depth > 1) return FURROW_OK;
  fw_free(leaf->name);
  leaf->name = NULL;
  fw_buffer_format(&name, "%u", s->place[0]); /* as a column of csv without a name */
  return fw_buffer_take(&name, &leaf->name, NULL, err);
}

static bool is_element(const fw_arrow_type *type) {
  return type->storage != FW_ARROW_UNSUPPORTED && type->storage != FW_ARROW_STRUCT && type->type.kind != FW_TYPED_LIST;
}

static furrow_status add_leaf(leaf_search *s, const struct ArrowSchema *schema, fw_arrow_type type, size_t depth,
                              furrow_error *err) {
  fw_arrow_leaves *to = s->leaves;
  if (to->count == MOST_LEAVES)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the table has more than %d columns", MOST_LEAVES);
  FW_TRY(FW_GROW(&to->leaves, &to->capacity, to->count + 1, err));
  fw_arrow_leaf *leaf = &to->leaves[to->count++];
  *leaf = (fw_arrow_leaf){.type = type, .depth = depth};
  snprintf(leaf->format, sizeof leaf->format, "%s", schema->format);
  FW_TRY(name_leaf(s, depth, leaf, err));
  FW_TRY(FW_ALLOC(&leaf->place, depth, err));
  memcpy(leaf->place, s->place, depth * sizeof *leaf->place);
  if (schema->dictionary) {
    leaf->keys = type;
    leaf->dictionary = true;
    leaf->type = schema->dictionary->format ? type_of(schema->dictionary->format)
                                            : (fw_arrow_type){.storage = FW_ARROW_UNSUPPORTED};
    if (type.storage != FW_ARROW_INTS || schema->dictionary->dictionary || !is_element(&leaf->type))
      leaf->type.storage = FW_ARROW_UNSUPPORTED;
  } else if (type.storage != FW_ARROW_UNSUPPORTED && type.type.kind == FW_TYPED_LIST) {
    if (schema->n_children != 1) return fw_fail(err, FURROW_E_FORMAT, "column %s: a list without elements", leaf->name);
    leaf->element = type_of(schema->children[0]->format);
    if (schema->children[0]->dictionary || !is_element(&leaf->element)) leaf->type.storage = FW_ARROW_UNSUPPORTED;
  }
  return FURROW_OK;
}

static furrow_status find_leaves(leaf_search *s, const struct ArrowSchema *schema, size_t depth, furrow_error *err) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    const struct ArrowSchema *child = schema->children[i];
    s->names[depth] = child->name;
    s->place[depth] = (uint32_t)i;
    if (!is_well_formed(child)) return fw_fail(err, FURROW_E_FORMAT, "the type of a column is malformed");
    fw_arrow_type type = type_of(child->format);
    if (type.storage == FW_ARROW_STRUCT && !child->dictionary && depth + 1 < DEEPEST) {
      FW_TRY(find_leaves(s, child, depth + 1, err));
      continue;
    }
    if (type.storage == FW_ARROW_STRUCT) type.storage = FW_ARROW_UNSUPPORTED;
    FW_TRY(add_leaf(s, child, type, depth + 1, err));
  }
  return FURROW_OK;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static furrow_status check_names(const fw_arrow_leaves *leaves, furrow_error *err) {
  const char **names;
  FW_TRY(FW_ALLOC(&names, leaves->count, err));
  for (size_t i = 0; i < leaves->count; i++) names[i] = leaves->leaves[i].name;
  if (leaves->count > 1) qsort((void *)names, leaves->count, sizeof *names, compare_names);
  furrow_status status = FURROW_OK;
  for (size_t i = 1; i < leaves->count && status == FURROW_OK; i++) {
    if (strcmp(names[i - 1], names[i]) != 0) continue;
    status = fw_fail(err, FURROW_E_FORMAT, "the table has two columns of one name");
    fw_error_set_token(err, names[i], strlen(names[i]));
  }
  fw_free((void *)names);
  return status;
}

furrow_status fw_arrow_leaves_find(fw_arrow_leaves *leaves, const struct ArrowSchema *schema, furrow_error *err) {
  fw_arrow_leaves found = {0};
  leaf_search search = {.leaves = &found};
  if (!is_well_formed(schema) || strcmp(schema->format, "+s") != 0)
    return fw_fail(err, FURROW_E_FORMAT, "this is not a table: the batches of an Arrow table are structs");
  furrow_status status = find_leaves(&search, schema, 0, err);
  if (status == FURROW_OK && found.count == 0) status = fw_fail(err, FURROW_E_FORMAT, "the table has no columns");
  if (status == FURROW_OK) status = check_names(&found, err);
  if (status == FURROW_OK)
    *leaves = found;
  else
    fw_arrow_leaves_clear(&found);
  return status;
}

void fw_arrow_leaves_clear(fw_arrow_leaves *leaves) {
  for (size_t i = 0; i < leaves->count; i++) {
    fw_free(leaves->leaves[i].name);
    fw_free(leaves->leaves[i].place);
  }
  fw_free(leaves->leaves);
  *leaves = (fw_arrow_leaves){0};
}
