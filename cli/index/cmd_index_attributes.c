/* cli/index/cmd_index_attributes.c: furrow index attributes: lists, sets or drops the attributes of the vectors of an
 * index. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "index/attribute_source.h"
#include "index/index_edit.h"

typedef struct attributes_values {
  index_source_values source;
  attribute_values table; /* path: of --set */
  const char *path, *where;
  bool drop, json;
} attributes_values;

static const option attributes_operands[] = {{.name = "INDEX",
                                              .kind = OPTION_TEXT,
                                              .help = "the index file, or a manifest of shards",
                                              .offset = offsetof(attributes_values, path),
                                              .required = true},
                                             {0}};

static const option attributes_options[] = {
    {.name = "where",
     .kind = OPTION_TEXT,
     .argument = "FILTER",
     .help = "list only vectors whose attributes match: 'price < 10 and lang in (\"de\", \"fr\")'",
     .offset = offsetof(attributes_values, where)},
    {.name = "set",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "give the vectors the attributes of this table: csv, tsv or JSON lines; values in other columns and of "
             "other vectors stay",
     .offset = offsetof(attributes_values, table.path)},
    {.name = "key",
     .kind = OPTION_TEXT,
     .argument = "COL",
     .help =
         "column of --set with the id of each row's vector or, if the ids have names, its name (id; with names also "
         "name)",
     .offset = offsetof(attributes_values, table.key)},
    {.name = "type",
     .kind = OPTION_LIST,
     .argument = "COL=TYPE",
     .help = "read a column of --set as number, text, set (elements between |) or time, whatever its cells look like; "
             "may be given several times",
     .offset = offsetof(attributes_values, table.types)},
    {.name = "drop", .kind = OPTION_FLAG, .help = "remove the attributes", .offset = offsetof(attributes_values, drop)},
    JSON_OPTION(offsetof(attributes_values, json)),
    {0}};

static const option_group attributes_groups[] = {
    {.title = "Options", .options = attributes_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(attributes_values, source)},
    {0}};

/* ---- Listing -------------------------------------------------------------------------------------------- */

static void put_text(output *out, const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) /* a tab or a line end would end the cell */
    output_bytes(out, text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? " " : text + i, 1);
}

static void put_cell(output *out, const furrow_attributes *attributes, int64_t id, size_t column, bool time) {
  const size_t values = furrow_attributes_values(attributes, id, column);
  const double number = furrow_attributes_number(attributes, id, column);
  char digits[FURROW_TIME_TEXT];
  if (!isnan(number) && time) {
    furrow_time_write(digits, number);
    output_text(out, digits);
  } else if (!isnan(number)) {
    snprintf(digits, sizeof digits, "%.15g", number);
    if (strtod(digits, NULL) != number) snprintf(digits, sizeof digits, "%.17g", number);
    output_text(out, digits);
  }
  for (size_t v = 0; isnan(number) && v < values; v++) {
    size_t size = 0;
    const char *text = furrow_attributes_text(attributes, id, column, v, &size);
    if (v > 0) output_text(out, "|");
    put_text(out, text, size);
  }
}

/* Begins with the id or, if the ids have names, the name: as --set takes it. */
static void put_row(output *out, const furrow_attributes *attributes, const furrow_id_names *names, int64_t id) {
  size_t size = 0;
  const char *name = names ? furrow_id_names_text(names, id, &size) : NULL;
  furrow_attribute_info info;
  furrow_attribute_info_init(&info);
  if (name)
    put_text(out, name, size);
  else if (!names)
    output_format(out, "%" PRId64, id);
  for (size_t i = 0; i < furrow_attributes_column_count(attributes); i++) {
    output_text(out, "\t");
    const bool known = furrow_attributes_get_column(attributes, i, &info, NULL) == FURROW_OK;
    put_cell(out, attributes, id, i, known && info.type == FURROW_COLUMN_TIME);
  }
  output_text(out, "\n");
}

static furrow_status put_head(output *out, const furrow_attributes *attributes, bool named, furrow_error *err) {
  output_text(out, named ? "name" : "id");
  for (size_t i = 0; i < furrow_attributes_column_count(attributes); i++) {
    furrow_attribute_info info;
    furrow_attribute_info_init(&info);
    const furrow_status status = furrow_attributes_get_column(attributes, i, &info, err);
    if (status != FURROW_OK) return status;
    output_text(out, "\t");
    output_bytes(out, info.name, info.name_size);
  }
  output_text(out, "\n");
  return FURROW_OK;
}

static furrow_status list_attributes(const attributes_values *values, const named_index *loaded, output *out,
                                     furrow_error *err) {
  const furrow_attributes *attributes = loaded->attributes;
  furrow_selection *selection = NULL;
  if (!attributes) return fail_file(err, FURROW_E_NOT_FOUND, values->path, "the index has no attributes", 0);
  furrow_status status = furrow_attributes_select(attributes, values->where ? values->where : "true", &selection, err);
  if (status == FURROW_E_ARGUMENT) snprintf(err->file, sizeof err->file, "--where");
  if (status == FURROW_OK && values->json) {
    report r;
    report_start(&r, out, true);
    report_u64(&r, "rows", furrow_attributes_count(attributes));
    report_u64(&r, "matching", furrow_selection_count(selection));
    attributes_report(&r, attributes, NULL);
    report_finish(&r);
  } else if (status == FURROW_OK) {
    status = put_head(out, attributes, loaded->names != NULL, err);
    for (size_t i = 0; status == FURROW_OK && i < furrow_selection_count(selection); i++)
      put_row(out, attributes, loaded->names, furrow_selection_id(selection, i));
  }
  furrow_selection_free(selection);
  return status;
}

/* ---- Changing ------------------------------------------------------------------------------------------- */

static furrow_status save_attributes(const attributes_values *values, const furrow_attributes *attributes,
                                     furrow_error *err) {
  const bool fresh = interrupt_catch();
  const furrow_status status = furrow_attributes_save(attributes, values->path, err);
  interrupt_release(fresh, status);
  return status;
}

static furrow_status set_attributes(const attributes_values *values, named_index *loaded, output *out,
                                    furrow_error *err) {
  attribute_source table = {.short_options = true};
  id_list ids = {0};
  furrow_status status = index_names_check_apart(values->path, values->table.path, err);
  if (status == FURROW_OK)
    status = attribute_source_open(&table, &values->table, loaded->attributes, loaded->names != NULL, err);
  if (status == FURROW_OK && furrow_is_shards(values->path))
    status = id_list_add_shards(&ids, values->path, &values->source, err);
  else if (status == FURROW_OK)
    status = id_list_add(&ids, loaded->index, err);
  if (status == FURROW_OK)
    status =
        attribute_source_join_ids(&table, &values->table, &loaded->attributes, ids.ids, ids.count, loaded->names, err);
  if (status == FURROW_OK) status = save_attributes(values, loaded->attributes, err);
  if (status == FURROW_OK) {
    report r;
    out->stored = true;
    report_start(&r, out, values->json);
    report_text(&r, "index", values->path);
    attributes_report(&r, loaded->attributes, &table);
    report_finish(&r);
  }
  id_list_clear(&ids);
  attribute_source_clear(&table);
  return status;
}

static furrow_status check_values(const attributes_values *values, furrow_error *err) {
  const attribute_values *table = &values->table;
  if (table->path && values->drop) return fail(err, FURROW_E_ARGUMENT, "--set and --drop cannot be used together");
  if ((table->key || table->types.count > 0) && !table->path)
    return fail(err, FURROW_E_ARGUMENT, "--key and --type need --set");
  if (values->where && (table->path || values->drop))
    return fail(err, FURROW_E_ARGUMENT, "--where cannot be used with --set or --drop");
  return FURROW_OK;
}

/* Whether attributes could not be loaded because they do not fit: they can be set without the old ones. */
static bool are_replaced(const attributes_values *values, furrow_status status, const furrow_error *err) {
  const size_t length = strlen(err->file), size = sizeof ".attributes" - 1;
  return status == FURROW_E_FORMAT && values->table.path && length >= size && err->offset != 0 &&
         strcmp(err->file + length - size, ".attributes") == 0;
}

/* Shards have names and attributes together, next to their manifest. */
static furrow_status load_shards(const attributes_values *values, named_index *loaded, furrow_error *err) {
  if (values->drop) return FURROW_OK;
  furrow_status status = index_names_load(&loaded->names, values->path, err);
  if (status == FURROW_OK) status = index_attributes_load(&loaded->attributes, values->path, err);
  return are_replaced(values, status, err) ? FURROW_OK : status;
}

/* Attributes that do not fit can be dropped. */
static furrow_status load(const attributes_values *values, named_index *loaded, furrow_error *err) {
  furrow_index_load_params params;
  index_source_params(&values->source, &params);
  params.lists_optional = !values->table.path;
  if (furrow_is_shards(values->path)) return load_shards(values, loaded, err);
  if (values->drop) return index_source_load(&loaded->index, values->path, &params, err);
  furrow_status status =
      index_source_load_all(&loaded->index, &loaded->names, &loaded->attributes, values->path, &params, err);
  if (!are_replaced(values, status, err)) return status;
  return index_source_load_with_names(&loaded->index, &loaded->names, values->path, &params, err);
}

static furrow_status attributes_run(const void *values, output *out, furrow_error *err) {
  const attributes_values *attributes = values;
  named_index loaded = {0};
  furrow_status status = check_values(attributes, err);
  if (status == FURROW_OK && (attributes->table.path || attributes->drop))
    status = edit_lock(&loaded.lock, attributes->path, err);
  if (status == FURROW_OK) status = load(attributes, &loaded, err);
  if (status == FURROW_OK) {
    if (attributes->table.path)
      status = set_attributes(attributes, &loaded, out, err);
    else if (attributes->drop)
      status = furrow_attributes_discard(attributes->path, err);
    else
      status = list_attributes(attributes, &loaded, out, err);
  }
  edit_clear(&loaded);
  return status;
}

const command index_attributes_command = {
    .name = "attributes",
    .summary = "list, set or drop the attributes of the vectors of an index",
    .example = "furrow index attributes items.index --where 'price < 10 and not sold'\n"
               "furrow index attributes items.index --set items.csv",
    .about =
        "Prints the id (if the ids have names, the name) and the attributes of each vector, with tabs between them, by "
        "ascending id; --set reads that again. The attributes are "
        "stored next to the index, in INDEX.attributes, which belongs to that very index file; shards have them next "
        "to "
        "their manifest. --set gives the vectors "
        "of an index attributes, for example of one that Faiss wrote. Times are in UTC.\n\nA filter "
        "compares columns with values by = != < <= > >= and in (...), and connects conditions by and, or, not and "
        "parentheses. Texts are quoted; a set is equal to each of its elements; 'COL is missing' finds vectors without "
        "a value. A missing value is equal to nothing.",
    .operands = attributes_operands,
    .groups = attributes_groups,
    .size = sizeof(attributes_values),
    .run = attributes_run,
};
