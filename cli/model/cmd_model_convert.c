/* cli/model/cmd_model_convert.c: furrow model convert: writes the same elements in other formats, partitions and files.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/job.h"
#include "core/report.h"
#include "model/model_conf.h"
#include "model/model_source.h"
#include "model/model_target.h"

typedef struct convert_values {
  target_values target;
  selection_values selected;
  reading_values reading;
  text_list define;
  const char *source, *destination;
  uint32_t threads;
  size_t memory;
  bool quiet, json;
} convert_values;

static const option convert_operands[] = {{.name = "SRC",
                                           .kind = OPTION_TEXT,
                                           .help = "a model directory, or a matrix folder",
                                           .offset = offsetof(convert_values, source),
                                           .required = true},
                                          {.name = "DST",
                                           .kind = OPTION_TEXT,
                                           .help = "the directory to write: a model or a matrix folder, as SRC",
                                           .offset = offsetof(convert_values, destination),
                                           .required = true},
                                          {0}};

static const option define_options[] = {
    {.name = "define",
     .letter = 'D',
     .kind = OPTION_LIST,
     .argument = "KEY=VALUE",
     .help = "one of Angel's settings: text.format.filed.sep, or the output format for a kind of layer, such as "
             "ml.embedding.matrix.output.format; may be given several times"},
    {0}};

static const option_group convert_groups[] = {
    {.title = "Writing", .options = target_options, .offset = offsetof(convert_values, target)},
    {.title = "Writing", .options = define_options, .offset = offsetof(convert_values, define)},
    {.title = "Selection", .options = selection_options, .offset = offsetof(convert_values, selected)},
    {.title = "Reading", .options = in_reading_options, .offset = offsetof(convert_values, reading)},
    {.title = "Options", .options = json_options, .offset = offsetof(convert_values, json)},
    {.title = "Options", .options = memory_options, .offset = offsetof(convert_values, memory)},
    {.title = "Options", .options = threads_options, .offset = offsetof(convert_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = quiet_options, .offset = offsetof(convert_values, quiet)},
    {0}};

static void convert_init(void *values) {
  convert_values *convert = values;
  target_values_init(&convert->target);
  reading_values_init(&convert->reading);
}

/* ---- Parameters ----------------------------------------------------------------------------------------- */

static furrow_status choose_format(void *user, const furrow_matrix_source *source, const char **format,
                                   furrow_error *err) {
  (void)err;
  const char *chosen = layer_format(user, source);
  if (chosen) *format = chosen;
  return FURROW_OK;
}

static void set_params(furrow_model_convert_params *params, const convert_values *convert, layer_formats *formats,
                       job *j) {
  const target_values *target = &convert->target;
  params->format = target->format;
  if (formats->any) params->choose_format = choose_format;
  params->user = formats;
  params->row_type = target->row_type;
  params->part_rows = target->part_rows;
  params->part_cols = target->part_cols;
  params->hash_parts = target->hash_parts;
  params->servers = target->servers;
  params->parts_per_file = target->parts_per_file;
  if (convert->memory) params->memory = convert->memory;
  params->progress = job_progress;
  params->progress_user = j;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static void convert_report(const convert_values *convert, const furrow_model_convert_result *result, output *out) {
  report r;
  report_start(&r, out, convert->json);
  report_written(&r, convert->destination);
  report_u64(&r, "matrices", result->matrices);
  if (convert->json || result->files) report_u64(&r, "other files", result->files);
  report_u64(&r, "elements", result->elements);
  if (convert->json || result->dropped) report_u64(&r, "elements lost", result->dropped);
  report_u64(&r, "bytes", result->bytes);
  report_finish(&r);
}

static furrow_status convert_chosen(const convert_values *convert, const char *path, const selected *chosen,
                                    layer_formats *formats, output *out, furrow_error *err) {
  job j;
  furrow_model_convert_params params;
  furrow_model_convert_result result;
  const furrow_matrix_source_params source = reading_params(&convert->reading);
  furrow_matrix_write_params write;
  furrow_matrix_write_params_init(&write);
  if (formats->separator.text[0]) write.separator = formats->separator.text;
  target_write_params(&convert->target, convert->threads, &write);
  furrow_model_convert_params_init(&params);
  furrow_model_convert_result_init(&result);
  params.source = &source;
  params.selection = &chosen->selection;
  params.write = &write;
  set_params(&params, convert, formats, &j);
  job_start(&j, "converting", convert->quiet);
  furrow_status status = furrow_model_convert(path, convert->destination, &params, &result, err);
  job_stop(&j);
  job_hint(status, convert->target.force, "see --memory and --part-cols", err);
  if (status != FURROW_OK) return status;
  convert_report(convert, &result, out);
  if (result.dropped)
    print_note(convert->quiet, "%" PRIu64 " element%s not be read back as %s: %s", result.dropped,
               result.dropped == 1 ? " will" : "s will", result.dropped == 1 ? "it was" : "they were",
               convert->target.angel_bytes ? "--angel-bytes loses what Angel loses, or the format has no column ids"
                                           : "the format has no column ids");
  return FURROW_OK;
}

/* Trees are read back only with the row types that they have. */
static furrow_status check_row_type(const convert_values *convert, const furrow_model_listing *listing,
                                    const furrow_model_entry *only, furrow_error *err) {
  if (convert->target.row_type < 0) return FURROW_OK;
  const size_t count = only ? 1 : listing->matrix_count;
  for (size_t i = 0; i < count; i++) {
    const char *name = only ? only->name : listing->matrices[i].name;
    if (strncmp(name, "gbdt.", 5) != 0) continue;
    return fail_in(err, FURROW_E_ARGUMENT, convert->source,
                   "--row-type is not for %s: trees cannot be read with other row types", name);
  }
  return FURROW_OK;
}

static furrow_status convert_run(const void *values, output *out, furrow_error *err) {
  const convert_values *convert = values;
  furrow_model_listing *listing = NULL;
  const furrow_model_entry *only = NULL;
  layer_formats formats = {0};
  selected chosen = {0};
  furrow_status status = target_check(&convert->target, err);
  if (status == FURROW_OK) status = furrow_model_listing_load(&listing, convert->source, err);
  if (status == FURROW_OK && convert->selected.matrix)
    status = choose_matrix(listing, convert->selected.matrix, &only, err);
  if (status == FURROW_OK) status = check_row_type(convert, listing, only, err);
  if (status == FURROW_OK)
    status = selection_make(&chosen, &convert->selected, only ? only : listing->matrices,
                            only ? 1 : listing->matrix_count, convert->reading.meta_name, err);
  if (status == FURROW_OK) status = layer_formats_make(&formats, &convert->define, listing, err);
  if (status == FURROW_OK && formats.any && convert->target.format)
    status = fail(err, FURROW_E_ARGUMENT, "--format and -D both name the format to write");
  if (status == FURROW_OK)
    status = convert_chosen(convert, only ? only->folder : convert->source, &chosen, &formats, out, err);
  layer_formats_clear(&formats);
  selection_clear(&chosen);
  furrow_model_listing_free(listing);
  return status;
}

const command model_convert_command = {
    .name = "convert",
    .summary = "write the same elements in another format, type or partitioning",
    .example =
        "furrow model convert lr lr.binary --format ColIdValueBinaryRowFormat\n"
        "furrow model convert deepfm deepfm.small --row-type T_FLOAT_SPARSE --part-cols 100000 --servers 4\n"
        "furrow model convert deepfm served --meta-name meta -D ml.embedding.matrix.output.format=BinaryColumnFormat",
    .about = "Options name what to change; without any, DST equals SRC byte for byte. DST appears only when it is "
             "complete. With -D, a matrix gets the format that is set for the kind of its layer. The kind comes from "
             "the layer's type in graph.json, or else from the matrix name (..._embedding; input... and wide... are "
             "input layers, fc... are fc layers) and the current format. Kinds without a -D keep their format.",
    .operands = convert_operands,
    .groups = convert_groups,
    .size = sizeof(convert_values),
    .init = convert_init,
    .run = convert_run,
};
