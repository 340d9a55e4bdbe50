/* cli/model/model_target.c: how the model commands write matrices, and the options for it. */
#include "model/model_target.h"

#include <stddef.h>
#include <string.h>

#include "core/fail.h"

#define AT(field) offsetof(target_values, field)
const option target_options[] = {
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .choices =
         "ValueBinaryRowFormat|ColIdValueBinaryRowFormat|RowIdColIdValueBinaryRowFormat|BinaryColumnFormat|"
         "ValueTextRowFormat|ColIdValueTextRowFormat|RowIdColIdValueTextRowFormat|TextColumnFormat|SnapshotFormat",
     .help = "format to write; 'furrow model formats' lists the formats",
     .offset = AT(format)},
    {.name = "row-type",
     .kind = OPTION_PARSED,
     .argument = "TYPE",
     .help = "row type to write, such as T_FLOAT_SPARSE; 'furrow model --help' lists the types",
     .offset = AT(row_type),
     .parse = parse_row_type},
    {.name = "part-cols",
     .kind = OPTION_COUNT64,
     .argument = "N",
     .help = "columns per partition",
     .offset = AT(part_cols)},
    {.name = "part-rows",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "rows per partition",
     .offset = AT(part_rows)},
    {.name = "hash",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "partition by a hash of the column into N parts, not by ranges",
     .offset = AT(hash_parts)},
    {.name = "servers",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "write the files of N servers; partition i belongs to server i % N",
     .offset = AT(servers)},
    {.name = "parts-per-file",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "partitions per file, at most",
     .offset = AT(parts_per_file)},
    {.name = "sep",
     .kind = OPTION_PARSED,
     .argument = "S",
     .help = "text formats: separator to write, with \\t, \\n, \\\\, \\xHH as in C",
     .offset = AT(separator),
     .parse = parse_separator},
    {.name = "meta-name",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "name of the metadata file: _meta, or meta for Angel before 3.2 and for its serving",
     .offset = AT(meta_name)},
    {.name = "angel-bytes",
     .kind = OPTION_FLAG,
     .help = "write exactly what Angel would write even if that loses data: doubles in RowIdColIdValueText get six "
             "decimals, column formats leave out columns that the first row does not have, formats of values "
             "alone lose the columns of sparse rows",
     .offset = AT(angel_bytes)},
    {.name = "force",
     .kind = OPTION_FLAG,
     .help = "replace DST if it is a model or a matrix and holds no other files",
     .offset = AT(force)},
    {0}};
#undef AT

void target_values_init(target_values *values) {
  *values = (target_values){.row_type = -1};
}

furrow_status target_check(const target_values *values, furrow_error *err) {
  if (values->hash_parts && (values->part_rows || values->part_cols))
    return fail(err, FURROW_E_ARGUMENT, "--hash cannot be used with --part-rows or --part-cols");
  if (values->meta_name && strcmp(values->meta_name, "_meta") != 0 && strcmp(values->meta_name, "meta") != 0)
    return fail_token(err, values->meta_name, "--meta-name takes _meta or meta");
  return FURROW_OK;
}

void target_write_params(const target_values *values, uint32_t threads, furrow_matrix_write_params *params) {
  if (values->separator.text[0]) params->separator = values->separator.text;
  if (values->meta_name) params->meta_name = values->meta_name;
  params->angel_bytes = values->angel_bytes;
  params->overwrite = values->force;
  params->threads = threads;
}
