/* cli/rows/cmd_rows.c: the noun rows: its verbs and the formats that they read. */

#include <stdio.h>
#include <string.h>

#include "core/commands.h"
#include "furrow/rows.h"

static void print_argument(output *out, const furrow_arg *arg) {
  char head[96], help[512];
  int n = snprintf(head, sizeof head, "    ?%s=%s", arg->name,
                   arg->type == FURROW_ARG_ONE_OF ? arg->one_of
                   : arg->type == FURROW_ARG_INT  ? "N"
                                                  : "TEXT");
  output_text(out, head);
  bool fallback = arg->fallback && arg->fallback[0];
  snprintf(help, sizeof help, "  %s%s%s%s", arg->help, fallback ? " (" : "", fallback ? arg->fallback : "",
           fallback ? ")" : "");
  print_wrapped(out, help, 32, (size_t)n);
}

static void print_formats(output *out) {
  const furrow_rows_format *format;
  output_text(out, "\nFormats and their arguments in a URI:\n");
  for (size_t i = 0; (format = furrow_rows_format_at(i)) != NULL; i++) {
    output_format(out, "  %-10s ", format->name);
    print_wrapped(out, format->description, 13, 13);
    for (size_t k = 0; k < format->nargs; k++) print_argument(out, &format->args[k]);
  }
}

static const command *const verbs[] = {
    &rows_dump_command,   &rows_info_command,   &rows_convert_command, &rows_split_command,
    &rows_schema_command, &rows_encode_command, &rows_compare_command, NULL};

const command rows_command = {
    .name = "rows",
    .summary = "inspect, convert and split sparse samples",
    .example = "furrow rows info train.libsvm\nfurrow rows dump --head 3 'clicks.csv?label_column=0'",
    .about = "A URI is path[;path]...[?key=value[&key=value]...][#cachefile]. A path is a file, a directory (its files "
             "are read in the order of their names), a glob, or - for standard input; compressed files (gzip, zstd, "
             "xz, bzip2, lz4) are recognised. "
             "Quote a URI, because ? ; & and # have a meaning in the shell.",
    .more = print_formats,
    .verbs = verbs,
};
