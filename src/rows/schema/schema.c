/* rows/schema/schema.c: columns of a schema: their kinds, their defaults, and the rules that they must satisfy. */
#include "rows/schema/schema.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "base/utf8.h"

/* ---- Columns ---- */

static void free_texts(char **texts, size_t count) {
  for (size_t i = 0; texts && i < count; i++) fw_free(texts[i]);
  fw_free(texts);
}

static void clear_column(fw_column *column) {
  fw_free(column->name);
  fw_free(column->separator);
  fw_free(column->why);
  fw_free(column->unsure);
  free_texts(column->classes, column->class_count);
  free_texts(column->missing, column->missing_count);
}

static void clear_cross(fw_cross *cross) {
  free_texts(cross->names, cross->count);
}

static void clear_table(fw_side_table *table) {
  fw_free(table->uri);
  fw_free(table->key);
  fw_free(table->column);
}

furrow_status fw_schema_create(furrow_schema **schema, furrow_error *err) {
  return FW_ALLOC_ZERO(schema, 1, err);
}

void furrow_schema_free(furrow_schema *schema) {
  if (!schema) return;
  for (size_t i = 0; i < schema->count; i++) clear_column(&schema->columns[i]);
  for (size_t i = 0; i < schema->table_count; i++) clear_table(&schema->tables[i]);
  for (size_t i = 0; i < schema->cross_count; i++) clear_cross(&schema->crosses[i]);
  fw_name_map_clear(&schema->numbers);
  fw_free(schema->columns);
  fw_free(schema->tables);
  fw_free(schema->crosses);
  fw_free(schema);
}

furrow_status fw_column_set_text(char **member, const char *text, furrow_error *err) {
  char *copy = NULL;
  if (text) FW_TRY(fw_strndup(&copy, text, strlen(text), err));
  fw_free(*member);
  *member = copy;
  return FURROW_OK;
}

furrow_status fw_column_set_kind(fw_column *column, fw_column_kind kind, furrow_error *err) {
  FW_TRY(fw_column_set_text(&column->separator, kind == FW_AS_SET ? "|" : NULL, err));
  free_texts(column->classes, column->class_count);
  free_texts(column->missing, column->missing_count);
  *column = (fw_column){.name = column->name,
                        .kind = kind,
                        .min_count = 1,
                        .separator = column->separator,
                        .scale = FW_SCALE_STANDARD,
                        .bins = FW_NUMBER_BINS,
                        .why = column->why,
                        .unsure = column->unsure};
  if (kind == FW_AS_TIME) column->parts = 1u << FW_PART_HOUR | 1u << FW_PART_WEEKDAY;
  return FURROW_OK;
}

/* Appends a zeroed element to an array whose capacity is the next power of two. */
static furrow_status append_zero(void **array, size_t count, size_t size, furrow_error *err) {
  if ((count & (count - 1)) == 0) FW_TRY(fw_realloc(array, count ? 2 * count : 1, size, err));
  memset((char *)*array + count * size, 0, size);
  return FURROW_OK;
}

static furrow_status append_column(furrow_schema *schema, furrow_error *err) {
  void *columns = schema->columns;
  const furrow_status status = append_zero(&columns, schema->count, sizeof *schema->columns, err);
  schema->columns = columns;
  return status;
}

furrow_status fw_schema_add(furrow_schema *schema, const char *name, size_t length, fw_column_kind kind,
                            fw_column **column, furrow_error *err) {
  if (length == 0 || memchr(name, 0, length) || fw_utf8_check(name, name + length)) {
    fw_fail(err, FURROW_E_FORMAT, "the name of column %zu is %s", schema->count + 1,
            length == 0 ? "empty" : "not text in UTF-8");
    fw_error_set_token(err, name, length);
    return FURROW_E_FORMAT;
  }
  FW_TRY(append_column(schema, err));
  fw_column *added = &schema->columns[schema->count];
  FW_TRY(fw_strndup(&added->name, name, length, err));
  schema->count++; /* counted now, so that it is freed with the schema */
  FW_TRY(fw_name_map_add(&schema->numbers, added->name, length, schema->count - 1, err));
  FW_TRY(fw_column_set_kind(added, kind, err));
  if (column) *column = added;
  return FURROW_OK;
}

furrow_status fw_schema_add_table(furrow_schema *schema, const char *uri, const char *key, const char *column,
                                  furrow_error *err) {
  void *tables = schema->tables;
  const furrow_status status = append_zero(&tables, schema->table_count, sizeof *schema->tables, err);
  schema->tables = tables;
  if (status != FURROW_OK) return status;
  fw_side_table *table = &schema->tables[schema->table_count++];
  FW_TRY(fw_column_set_text(&table->uri, uri, err));
  FW_TRY(fw_column_set_text(&table->key, key, err));
  return fw_column_set_text(&table->column, column, err);
}

furrow_status fw_schema_add_cross(furrow_schema *schema, fw_cross **cross, furrow_error *err) {
  void *crosses = schema->crosses;
  const furrow_status status = append_zero(&crosses, schema->cross_count, sizeof *schema->crosses, err);
  schema->crosses = crosses;
  if (status != FURROW_OK) return status;
  *cross = &schema->crosses[schema->cross_count++];
  (*cross)->bits = FW_CROSS_BITS;
  return FURROW_OK;
}

furrow_status fw_text_list_add(char ***texts, size_t *count, const char *text, size_t length, furrow_error *err) {
  void *grown = *texts;
  const furrow_status status = append_zero(&grown, *count, sizeof **texts, err);
  *texts = grown;
  if (status != FURROW_OK) return status;
  FW_TRY(fw_strndup(&(*texts)[*count], text, length, err));
  ++*count;
  return FURROW_OK;
}

static fw_column *find_column(const furrow_schema *schema, const char *name, size_t length) {
  const size_t number = fw_name_map_find(&schema->numbers, name, length);
  return number == FW_NAME_NONE ? NULL : &schema->columns[number];
}

fw_column *fw_schema_find(const furrow_schema *schema, const char *name) {
  return find_column(schema, name, strlen(name));
}

fw_column *fw_schema_of_role(const furrow_schema *schema, fw_role role) {
  for (size_t i = 0; i < schema->count; i++)
    if (schema->columns[i].role == role) return &schema->columns[i];
  return NULL;
}

fw_column *fw_schema_of_kind(const furrow_schema *schema, fw_column_kind kind) {
  for (size_t i = 0; i < schema->count; i++)
    if (schema->columns[i].kind == kind) return &schema->columns[i];
  return NULL;
}

size_t furrow_schema_column_count(const furrow_schema *schema) {
  return schema->count;
}

void furrow_schema_get_column(const furrow_schema *schema, size_t i, furrow_schema_column *column) {
  assert(i < schema->count);
  const fw_column *c = &schema->columns[i];
  *column = (furrow_schema_column){
      .name = c->name, .as = fw_column_kind_name(c->kind), .role = fw_role_name(c->role), .why = c->why ? c->why : ""};
}

const char *furrow_schema_unsure(const furrow_schema *schema, size_t i) {
  assert(i < schema->count);
  return schema->columns[i].unsure ? schema->columns[i].unsure : "";
}

const char *furrow_schema_class_name(const furrow_schema *schema, size_t i) {
  const fw_column *label = fw_schema_of_kind(schema, FW_AS_LABEL);
  return label && i < label->class_count ? label->classes[i] : NULL;
}

/* ---- Names in crosses ---- */

/* Short names of fields, and what they stand for. */
typedef struct short_names {
  const fw_column *parts[FW_TIME_PART_COUNT]; /* the time column that has the part */
  bool several[FW_TIME_PART_COUNT];           /* more than one has it */
  const fw_column *roles[FW_ROLE_TIME + 1];
} short_names;

static short_names find_short_names(const furrow_schema *schema) {
  short_names names = {0};
  for (fw_role role = FW_ROLE_USER; role <= FW_ROLE_TIME; role++) names.roles[role] = fw_schema_of_role(schema, role);
  for (size_t i = 0; i < schema->count; i++)
    for (unsigned part = 0; part < FW_TIME_PART_COUNT; part++) {
      if (!(schema->columns[i].parts >> part & 1)) continue;
      names.several[part] = names.parts[part] != NULL;
      names.parts[part] = &schema->columns[i];
    }
  return names;
}

/* Whether a name is column.part of a time column that has that part. */
static bool is_part_name(const furrow_schema *schema, const char *name, fw_time_part *part) {
  const char *dot = strrchr(name, '.');
  const fw_column *c = dot ? find_column(schema, name, (size_t)(dot - name)) : NULL;
  for (unsigned p = 0; c && p < FW_TIME_PART_COUNT; p++) {
    if (!(c->parts >> p & 1) || strcmp(fw_time_part_name(p), dot + 1) != 0) continue;
    *part = p;
    return true;
  }
  return false;
}

static furrow_status set_part_name(char **name, const fw_column *column, furrow_error *err) {
  fw_buffer full = {0};
  char *text = NULL;
  fw_buffer_format(&full, "%s.%s", column->name, *name);
  const furrow_status status = fw_buffer_take(&full, &text, NULL, err);
  fw_buffer_clear(&full);
  if (status != FURROW_OK) return status;
  fw_free(*name);
  *name = text;
  return FURROW_OK;
}

static furrow_status resolve_name(const furrow_schema *schema, const short_names *names, char **name,
                                  furrow_error *err) {
  fw_time_part known;
  if (fw_schema_find(schema, *name) || is_part_name(schema, *name, &known)) return FURROW_OK;
  for (unsigned part = 0; part < FW_TIME_PART_COUNT; part++) {
    if (!names->parts[part] || strcmp(fw_time_part_name(part), *name) != 0) continue;
    if (!names->several[part]) return set_part_name(name, names->parts[part], err);
    return fw_fail(err, FURROW_E_ARGUMENT, "cross: %s is a part of several columns: write COLUMN.%s", *name, *name);
  }
  for (fw_role role = FW_ROLE_USER; role <= FW_ROLE_TIME; role++)
    if (names->roles[role] && strcmp(fw_role_name(role), *name) == 0)
      return fw_column_set_text(name, names->roles[role]->name, err);
  return FURROW_OK; /* fw_schema_check reports the error */
}

furrow_status fw_schema_resolve(furrow_schema *schema, furrow_error *err) {
  if (schema->cross_count == 0) return FURROW_OK;
  const short_names names = find_short_names(schema);
  for (size_t i = 0; i < schema->cross_count; i++)
    for (size_t k = 0; k < schema->crosses[i].count; k++)
      FW_TRY(resolve_name(schema, &names, &schema->crosses[i].names[k], err));
  return FURROW_OK;
}

/* ---- Checks ---- */

static furrow_status refuse_unknown(const furrow_schema *schema, const char *where, const char *name,
                                    furrow_error *err) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  fw_fail(err, FURROW_E_ARGUMENT, "%s: %s is not a column of the schema", where, name);
  if (strlen(name) > FW_SUGGESTION_LENGTH) return FURROW_E_ARGUMENT;
  for (size_t i = 0; i < schema->count; i++) fw_suggestion_offer(&suggestion, name, schema->columns[i].name);
  if (fw_suggestion_is_near(&suggestion, name)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return FURROW_E_ARGUMENT;
}

/* The map of names has the first column of each name. */
static furrow_status check_twice(const furrow_schema *schema, furrow_error *err) {
  for (size_t i = 0; i < schema->count; i++)
    if (fw_schema_find(schema, schema->columns[i].name) != &schema->columns[i])
      return fw_fail(err, FURROW_E_ARGUMENT, "columns: %s occurs twice", schema->columns[i].name);
  return FURROW_OK;
}

static furrow_status check_roles(const furrow_schema *schema, furrow_error *err) {
  const fw_column *of[FW_ROLE_TIME + 1] = {NULL};
  for (size_t i = 0; i < schema->count; i++) {
    const fw_column *c = &schema->columns[i];
    if (c->role == FW_ROLE_NONE) continue;
    const fw_column_kind wanted = c->role == FW_ROLE_TIME ? FW_AS_TIME : FW_AS_CATEGORY;
    if (c->kind != wanted)
      return fw_fail(err, FURROW_E_ARGUMENT, "columns/%s: the role %s is for a %s, not for a %s", c->name,
                     fw_role_name(c->role), fw_column_kind_name(wanted), fw_column_kind_name(c->kind));
    if (of[c->role])
      return fw_fail(err, FURROW_E_ARGUMENT, "columns/%s: %s has the role %s already", c->name, of[c->role]->name,
                     fw_role_name(c->role));
    of[c->role] = c;
  }
  if (schema->history > 0 && (!of[FW_ROLE_USER] || !of[FW_ROLE_ITEM]))
    return fw_fail(err, FURROW_E_ARGUMENT, "history: no column has the role %s", of[FW_ROLE_USER] ? "item" : "user");
  return FURROW_OK;
}

static furrow_status check_kinds(const furrow_schema *schema, furrow_error *err) {
  for (fw_column_kind kind = FW_AS_LABEL; kind <= FW_AS_GROUP; kind++) {
    const fw_column *first = fw_schema_of_kind(schema, kind);
    for (size_t i = 0; i < schema->count; i++) {
      const fw_column *c = &schema->columns[i];
      if (c->kind == kind && c != first)
        return fw_fail(err, FURROW_E_ARGUMENT, "columns/%s: %s is the %s already", c->name, first->name,
                       fw_column_kind_name(kind));
    }
  }
  return FURROW_OK;
}

static furrow_status check_table(const furrow_schema *schema, const fw_side_table *table, furrow_error *err) {
  const fw_column *key = fw_schema_find(schema, table->key);
  if (!key) return refuse_unknown(schema, "tables", table->key, err);
  if (key->kind == FW_AS_CATEGORY) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "tables/%s: the key %s is a %s, not a category", table->uri, table->key,
                 fw_column_kind_name(key->kind));
}

static furrow_status check_tables(const furrow_schema *schema, furrow_error *err) {
  fw_name_map uris = {0};
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < schema->table_count && status == FURROW_OK; i++) {
    const char *uri = schema->tables[i].uri;
    status = check_table(schema, &schema->tables[i], err);
    if (status == FURROW_OK && fw_name_map_find(&uris, uri, strlen(uri)) != FW_NAME_NONE)
      status = fw_fail(err, FURROW_E_ARGUMENT, "tables: %s occurs twice", uri);
    if (status == FURROW_OK) status = fw_name_map_add(&uris, uri, strlen(uri), i, err);
  }
  fw_name_map_clear(&uris);
  return status;
}

/* Whether the field has single values that can be combined: not an unbinned number, nor text. */
static furrow_status check_cross_name(const furrow_schema *schema, const char *name, furrow_error *err) {
  fw_time_part part;
  const fw_column *c = fw_schema_find(schema, name);
  if (!c && !is_part_name(schema, name, &part)) return refuse_unknown(schema, "cross", name, err);
  if (!c) return part != FW_PART_AGE ? FURROW_OK : fw_fail(err, FURROW_E_ARGUMENT, "cross: %s is a number", name);
  if (c->kind == FW_AS_TIME)
    return fw_fail(err, FURROW_E_ARGUMENT, "cross: %s is a time: name a part that it has, such as %s.hour", name, name);
  if (c->kind == FW_AS_CATEGORY || c->kind == FW_AS_SET) return FURROW_OK;
  if (c->kind == FW_AS_NUMBER && c->scale == FW_SCALE_BINS) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "cross: %s is a %s", name, fw_column_kind_name(c->kind));
  fw_error_set_hint(err, "categories, parts of times and numbers in bins can be crossed");
  return FURROW_E_ARGUMENT;
}

static furrow_status check_cross(const furrow_schema *schema, const fw_cross *cross, furrow_error *err) {
  if (cross->count < 2) return fw_fail(err, FURROW_E_ARGUMENT, "cross: at least two names are needed");
  if (cross->count > FW_CROSSED_MOST)
    return fw_fail(err, FURROW_E_ARGUMENT, "cross: at most %d names", FW_CROSSED_MOST);
  for (size_t i = 0; i < cross->count; i++) {
    FW_TRY(check_cross_name(schema, cross->names[i], err));
    for (size_t j = 0; j < i; j++)
      if (strcmp(cross->names[i], cross->names[j]) == 0)
        return fw_fail(err, FURROW_E_ARGUMENT, "cross: %s occurs twice", cross->names[i]);
  }
  return FURROW_OK;
}

furrow_status fw_schema_check(const furrow_schema *schema, furrow_error *err) {
  if (schema->count == 0) return fw_fail(err, FURROW_E_ARGUMENT, "columns: there are none");
  FW_TRY(check_twice(schema, err));
  FW_TRY(check_kinds(schema, err));
  FW_TRY(check_roles(schema, err));
  FW_TRY(check_tables(schema, err));
  for (size_t i = 0; i < schema->cross_count; i++) FW_TRY(check_cross(schema, &schema->crosses[i], err));
  return FURROW_OK;
}
