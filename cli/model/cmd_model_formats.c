/* cli/model/cmd_model_formats.c: furrow model formats: lists formats and row types. */
#include <stddef.h>

#include "core/commands.h"
#include "core/report.h"
#include "core/text_columns.h"
#include "furrow/model.h"
#include "model/model_source.h"

typedef struct formats_values {
  bool json;
} formats_values;

static const option_group formats_groups[] = {
    {.title = "Options", .options = json_options, .offset = offsetof(formats_values, json)},
    {.title = "Options", .options = plugin_options},
    {0}};

static void report_format(report *r, const furrow_matrix_format *format) {
  report_section(r, NULL);
  report_text(r, "name", format->name);
  report_text(r, "class name", format->class_name);
  report_text(r, "about", format->about);
  report_bool(r, "text", format->flags & FURROW_MATRIX_FORMAT_TEXT);
  report_bool(r, "by column", format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN);
  report_bool(r, "row ids", format->flags & FURROW_MATRIX_FORMAT_ROW_IDS);
  report_bool(r, "column ids", format->flags & FURROW_MATRIX_FORMAT_COL_IDS);
  report_bool(r, "writes", format->encode != NULL);
  report_end(r);
}

static void report_row_type(report *r, const furrow_matrix_row_type *type) {
  report_section(r, NULL);
  report_i64(r, "number", type->number);
  report_text(r, "name", type->name);
  if (type->objects)
    report_none(r, "element");
  else
    report_text(r, "element", furrow_element_type_name(type->element));
  report_i64(r, "key bits", type->key_bits);
  report_bool(r, "dense", type->dense);
  report_end(r);
}

static void formats_as_json(output *out) {
  const furrow_matrix_format *format;
  report r;
  report_start(&r, out, true);
  report_list(&r, "formats");
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) report_format(&r, format);
  report_end(&r);
  report_list(&r, "row types");
  for (int32_t i = 0; i < FURROW_MATRIX_ROW_TYPES; i++) report_row_type(&r, furrow_matrix_row_type_get(i));
  report_end(&r);
  report_finish(&r);
}

static furrow_status formats_as_table(output *out, furrow_error *err) {
  const furrow_matrix_format *format;
  table t;
  table_start(&t, "format|stored by|ids|what it is");
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) {
    bool rows = format->flags & FURROW_MATRIX_FORMAT_ROW_IDS, cols = format->flags & FURROW_MATRIX_FORMAT_COL_IDS;
    table_cell(&t, "%s", format->name);
    table_cell(&t, "%s", format->flags & FURROW_MATRIX_FORMAT_BY_COLUMN ? "column" : "row");
    table_cell(&t, "%s", rows && cols ? "row, column" : rows ? "row" : cols ? "column" : "none");
    table_cell(&t, "%s", format->about);
  }
  return table_finish(&t, 1 | 2 | 4 | 8, out, err);
}

static furrow_status formats_run(const void *values, output *out, furrow_error *err) {
  const formats_values *formats = values;
  if (!formats->json) return formats_as_table(out, err);
  formats_as_json(out);
  return FURROW_OK;
}

const command model_formats_command = {
    .name = "formats",
    .summary = "list the formats of matrix files",
    .example = "furrow model formats\nfurrow model formats --plugin ./quantised.so",
    .about = "--json also lists the row types.",
    .groups = formats_groups,
    .size = sizeof(formats_values),
    .run = formats_run,
};
