/* cli/index/attribute_source.c: attributes of vectors, from a table. */
#include "index/attribute_source.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "index/index_source.h"

const option attribute_options[] = {
    {.name = "attributes",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "table with attributes of the vectors, for searches with --where: csv, tsv or JSON lines, a row for each "
             "vector; written to INDEX.attributes",
     .offset = offsetof(attribute_values, path)},
    {.name = "attribute-key",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help = "column of --attributes with the id of each row's vector or, if the ids have names, its name (id; with "
             "names also name)",
     .offset = offsetof(attribute_values, key)},
    {.name = "attribute-type",
     .kind = OPTION_LIST,
     .argument = "COL=TYPE",
     .help = "read a column of --attributes as number, text, set (elements between |) or time, whatever its cells look "
             "like; may be given several times",
     .offset = offsetof(attribute_values, types)},
    {0}};

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* Types that are known before the table is read. */
typedef struct known_types {
  char **names;
  furrow_column_type *types;
  size_t count;
  bool short_options;
} known_types;

static void forget_types(known_types *known) {
  for (size_t i = 0; known->names && i < known->count; i++) free(known->names[i]);
  free(known->names);
  free(known->types);
}

static furrow_status add_type(known_types *known, const char *name, size_t size, furrow_column_type type,
                              furrow_error *err) {
  known->names[known->count] = strndup(name, size);
  known->types[known->count] = type;
  return known->names[known->count++] ? FURROW_OK : fail_memory(err);
}

static furrow_status add_given_type(known_types *known, const char *text, furrow_error *err) {
  const char *equals = strrchr(text, '=');
  furrow_column_type type;
  if (!equals || equals == text || !furrow_column_type_find(equals + 1, &type))
    return fail_token(err, text, "%s must be COL=number, COL=text, COL=set or COL=time",
                      known->short_options ? "--type" : "--attribute-type");
  return add_type(known, text, (size_t)(equals - text), type, err);
}

/* Columns that may be the key are texts, so that 007 stays what it is. The first type of a column counts. */
static furrow_status list_types(known_types *known, const attribute_values *values, const furrow_attributes *before,
                                furrow_error *err) {
  const size_t columns = before ? furrow_attributes_column_count(before) : 0;
  const char *const keys[] = {"id", "name"};
  known->names = calloc(columns + values->types.count + 2, sizeof *known->names);
  known->types = calloc(columns + values->types.count + 2, sizeof *known->types);
  if (!known->names || !known->types) return fail_memory(err);
  furrow_status status = FURROW_OK;
  if (values->key) status = add_type(known, values->key, strlen(values->key), FURROW_COLUMN_TEXT, err);
  for (size_t i = 0; status == FURROW_OK && i < values->types.count; i++)
    status = add_given_type(known, values->types.texts[i], err);
  for (size_t i = 0; status == FURROW_OK && i < columns; i++) {
    furrow_attribute_info info;
    furrow_attribute_info_init(&info);
    status = furrow_attributes_get_column(before, i, &info, err);
    if (status == FURROW_OK) status = add_type(known, info.name, info.name_size, info.type, err);
  }
  for (size_t i = 0; status == FURROW_OK && !values->key && i < 2; i++)
    status = add_type(known, keys[i], strlen(keys[i]), FURROW_COLUMN_TEXT, err);
  return status;
}

static bool has_column(const furrow_columns *table, const char *name) {
  for (size_t i = 0; i < table->count; i++)
    if (strcmp(table->columns[i].name, name) == 0) return true;
  return false;
}

static furrow_status find_key(attribute_source *source, const attribute_values *values, bool named, furrow_error *err) {
  source->key = values->key;
  if (!source->key && named && has_column(source->table, "name")) source->key = "name";
  if (!source->key) source->key = "id";
  if (has_column(source->table, source->key)) return FURROW_OK;
  fail_in(err, FURROW_E_FORMAT, values->path, "has no column %s, which tells which vector a row belongs to",
          source->key);
  return add_hint(err, "%s COL names the column with the %s of the vectors",
                  source->short_options ? "--key" : "--attribute-key", named ? "names" : "ids");
}

static furrow_status check_types(const attribute_source *source, const known_types *known, size_t given,
                                 const char *path, furrow_error *err) {
  for (size_t i = 0; i < given; i++)
    if (!has_column(source->table, known->names[i]))
      return fail_in(err, FURROW_E_ARGUMENT, path, "has no column %s", known->names[i]);
  return FURROW_OK;
}

furrow_status attribute_source_open(attribute_source *source, const attribute_values *values,
                                    const furrow_attributes *before, bool named, furrow_error *err) {
  known_types known = {.short_options = source->short_options};
  furrow_columns_params params;
  furrow_columns_params_init(&params);
  if (!values->path && (values->key || values->types.count > 0))
    return fail(err, FURROW_E_ARGUMENT, "--attribute-key and --attribute-type need --attributes");
  if (!values->path) return FURROW_OK;
  furrow_status status = list_types(&known, values, before, err);
  params.names = (const char *const *)known.names;
  params.types = known.types;
  params.typed = known.count;
  if (status == FURROW_OK) status = furrow_columns_load(&source->table, values->path, &params, err);
  const size_t given = values->types.count + (values->key != NULL);
  if (status == FURROW_OK) status = check_types(source, &known, given, values->path, err);
  if (status == FURROW_OK && source->table->rows == 0)
    status = fail_in(err, FURROW_E_FORMAT, values->path, "the table has no rows, so no vector would get attributes");
  if (status == FURROW_OK) status = find_key(source, values, named, err);
  forget_types(&known);
  return status;
}

void attribute_source_clear(attribute_source *source) {
  furrow_columns_free(source->table);
  *source = (attribute_source){0};
}

/* ---- Joining -------------------------------------------------------------------------------------------- */

furrow_status attribute_source_join_ids(attribute_source *source, const attribute_values *values,
                                        furrow_attributes **attributes, const int64_t *ids, size_t n,
                                        const furrow_id_names *names, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (!source->table && !*attributes) return FURROW_OK;
  if (!*attributes) status = furrow_attributes_create(attributes, err);
  furrow_attributes_fit_init(&source->fit);
  if (status == FURROW_OK)
    status = furrow_attributes_join_ids(*attributes, ids, n, names, source->table, source->key, &source->fit, err);
  if (status != FURROW_OK && status != FURROW_E_MEMORY && source->table && !err->file[0])
    snprintf(err->file, sizeof err->file, "%s", values->path);
  return status;
}

furrow_status attribute_source_join(attribute_source *source, const attribute_values *values,
                                    furrow_attributes **attributes, const furrow_index *index,
                                    const furrow_id_names *names, furrow_error *err) {
  id_list list = {0};
  if (!source->table && !*attributes) return FURROW_OK;
  furrow_status status = id_list_add(&list, index, err);
  if (status == FURROW_OK)
    status = attribute_source_join_ids(source, values, attributes, list.ids, list.count, names, err);
  id_list_clear(&list);
  return status;
}

/* ---- Report --------------------------------------------------------------------------------------------- */

static void report_column(report *r, const furrow_attributes *attributes, size_t i) {
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  if (furrow_attributes_get_column(attributes, i, &info, NULL) != FURROW_OK) return;
  char *name = strndup(info.name, info.name_size);
  if (!name) { /* what is stored stays; the report cannot be written */
    r->out->errnum = ENOMEM;
    return;
  }
  if (r->json) {
    report_section(r, NULL);
    report_text(r, "name", name);
    report_text(r, "type", furrow_column_type_name(info.type));
    report_u64(r, "missing", info.missing);
    if (info.distinct > 0) report_u64(r, "distinct", info.distinct);
    report_end(r);
  } else if (info.missing > 0) {
    report_line(r, "attribute", "%s (%s, %llu missing)", name, furrow_column_type_name(info.type),
                (unsigned long long)info.missing);
  } else {
    report_line(r, "attribute", "%s (%s)", name, furrow_column_type_name(info.type));
  }
  free(name);
}

void attributes_report(report *r, const furrow_attributes *attributes, const attribute_source *joined) {
  if (!attributes) return;
  if (r->json) report_list(r, "attributes");
  for (size_t i = 0; i < furrow_attributes_column_count(attributes); i++) report_column(r, attributes, i);
  if (r->json) report_end(r);
  if (!joined || !joined->table) return;
  report_u64(r, "rows of attributes", joined->fit.matched);
  if (joined->fit.left_out > 0 || r->json) report_u64(r, "rows without a vector", joined->fit.left_out);
  if (joined->fit.without > 0 || r->json) report_u64(r, "vectors without a row", joined->fit.without);
}
