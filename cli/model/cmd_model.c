/* cli/model/cmd_model.c: furrow model: its commands, formats and row types. */

#include <stdio.h>
#include <string.h>

#include "core/commands.h"
#include "furrow/model.h"

static void print_formats(output *out) {
  const furrow_matrix_format *format;
  output_text(out, "\nFormats (--format takes the name, with or without \"Format\", or Angel's class name):\n");
  for (size_t i = 0; (format = furrow_matrix_format_at(i)) != NULL; i++) {
    output_format(out, "  %-32s", format->name);
    print_wrapped(out, format->about, 34, 34);
  }
}

static void print_row_types(output *out) {
  char names[2048] = "";
  output_text(
      out, "\nRow types (--row-type takes the name, with or without \"T_\", in upper or lower case, or the number):\n");
  for (int32_t i = 0; i < FURROW_MATRIX_ROW_TYPES; i++) {
    const furrow_matrix_row_type *type = furrow_matrix_row_type_get(i);
    if (!type || type->objects) continue;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s ", type->name);
  }
  print_wrapped(out, names, 2, 0);
}

static void print_more(output *out) {
  print_formats(out);
  print_row_types(out);
}

static const command *const verbs[] = {&model_info_command,    &model_dump_command,    &model_verify_command,
                                       &model_diff_command,    &model_convert_command, &model_export_command,
                                       &model_import_command,  &model_trees_command,   &model_importance_command,
                                       &model_weights_command, &model_formats_command, NULL};

const command model_command = {
    .name = "model",
    .summary = "inspect, check, compare, convert, export and import models in Angel's formats",
    .example = "furrow model info lr\nfurrow model dump lr/input_weight | head\n"
               "furrow model convert lr lr.binary --format ColIdValueBinaryRowFormat",
    .about = "A model is a directory with a folder for each matrix; a matrix folder has a metadata file (_meta, or "
             "meta before Angel 3.2) and data files. PATH and SRC may name either.",
    .more = print_more,
    .verbs = verbs,
};
