/* cli/model/cmd_model_export.c: furrow model export: writes a matrix as a file for other programs. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/job.h"
#include "core/report.h"
#include "furrow/exchange.h"
#include "model/model_source.h"
#include "model/model_vectors.h"

typedef struct export_values {
  selection_values selected;
  reading_values reading;
  vectors_values vectors;
  const char *source, *destination;
  furrow_exchange_format to;
  furrow_axis by;
  int type; /* -1: the type of the matrix */
  const char *ids;
  bool no_ids, force;
  uint32_t threads;
  size_t memory;
  bool quiet, json;
} export_values;

static const option export_operands[] = {{.name = "SRC",
                                          .kind = OPTION_TEXT,
                                          .help = "a matrix folder, or a model directory",
                                          .offset = offsetof(export_values, source),
                                          .required = true},
                                         {.name = "FILE",
                                          .kind = OPTION_TEXT,
                                          .help = "the file to write, or - for standard output",
                                          .offset = offsetof(export_values, destination),
                                          .required = true,
                                          .written = true},
                                         {0}};

#define AT(field) offsetof(export_values, field)
static const option export_options[] = {
    {.name = "to",
     .kind = OPTION_ENUM,
     .choices = "auto|npy|npz|fvecs|fbin|safetensors|tsv|libsvm",
     .help = "format of the file (auto, the default: from the ending of its name)",
     .offset = AT(to)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help = "what a vector is: a row, or a column, that is all rows of one feature (auto: a column if the matrix is "
             "stored by columns)",
     .offset = AT(by)},
    {.name = "type",
     .kind = OPTION_ENUM,
     .choices = "f64|f32|i64|i32",
     .help = "type of the elements (that of the matrix)",
     .offset = AT(type)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "file for the ids of the vectors, for formats that cannot hold ids (FILE.ids.npy; names: FILE.names.txt)",
     .offset = AT(ids),
     .written = true},
    {.name = "no-ids", .kind = OPTION_FLAG, .help = "do not write the ids", .offset = AT(no_ids)},
    {.name = "force", .kind = OPTION_FLAG, .help = "replace existing files", .offset = AT(force)},
    {0}};
#undef AT

static const option_group export_groups[] = {
    {.title = "Writing", .options = export_options},
    {.title = "Selection", .options = selection_options, .offset = offsetof(export_values, selected)},
    {.title = "Vectors for search", .options = vectors_options, .offset = offsetof(export_values, vectors)},
    {.title = "Reading", .options = reading_options, .offset = offsetof(export_values, reading)},
    {.title = "Options", .options = json_options, .offset = offsetof(export_values, json)},
    {.title = "Options", .options = memory_options, .offset = offsetof(export_values, memory)},
    {.title = "Options", .options = threads_options, .offset = offsetof(export_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = quiet_options, .offset = offsetof(export_values, quiet)},
    {0}};

static void export_init(void *values) {
  export_values *export = values;
  reading_values_init(&export->reading);
  export->type = -1;
}

static bool to_stdout(const export_values *export) {
  return strcmp(export->destination, "-") == 0;
}

static furrow_status check_values(const export_values *export, furrow_error *err) {
  if (export->ids && export->no_ids) return fail(err, FURROW_E_ARGUMENT, "--ids and --no-ids cannot be used together");
  if (to_stdout(export) && export->json)
    return fail(err, FURROW_E_ARGUMENT, "--json cannot be used when the file is written to standard output");
  if (to_stdout(export) && export->to == FURROW_EXCHANGE_AUTO)
    return fail(err, FURROW_E_ARGUMENT, "the format for standard output is unknown"),
           add_hint(err, "name it with --to");
  return FURROW_OK;
}

static void set_params(furrow_model_export_params *params, const export_values *export, job *j) {
  params->format = export->to;
  params->vectors = export->by;
  params->ids = export->no_ids ? "" : export->ids;
  params->convert = export->type >= 0;
  if (params->convert) params->type = (furrow_element_type) export->type;
  params->overwrite = export->force;
  params->threads = export->threads;
  if (export->memory) params->memory = export->memory;
  params->progress = job_progress;
  params->progress_user = j;
}

/* Name of the file of ids. */
static void report_ids(report *r, const export_values *export) {
  char path[4096 + 16];
  snprintf(path, sizeof path, "%s%s", export->ids ? export->ids : export->destination, export->ids ? "" : ".ids.npy");
  report_text(r, "ids", path);
}

static void export_report(const export_values *export, const furrow_model_export_result *result, output *out) {
  report r;
  report_start(&r, out, export->json);
  report_text(&r, "written", export->destination);
  report_u64(&r, "matrices", result->matrices);
  if (export->json || result->matrices == 1) {
    report_u64(&r, "vectors", result->vectors);
    if (result->dimension)
      report_u64(&r, "dimension", result->dimension);
    else
      report_none(&r, "dimension"); /* vectors of the stored elements */
  }
  report_u64(&r, "elements", result->elements);
  if (export->json || result->absent) report_u64(&r, "zeros for none", result->absent);
  report_u64(&r, "bytes", result->bytes);
  if (result->ids_bytes) {
    report_ids(&r, export);
    report_u64(&r, "bytes of ids", result->ids_bytes);
  }
  report_finish(&r);
}

static furrow_status export_chosen(const export_values *export, const char *path, const selected *chosen, output *out,
                                   furrow_error *err) {
  job j;
  furrow_model_export_params params;
  furrow_model_export_result result;
  const furrow_matrix_source_params source = reading_params(&export->reading);
  furrow_model_export_params_init(&params);
  furrow_model_export_result_init(&result);
  params.source = &source;
  params.selection = &chosen->selection;
  set_params(&params, export, &j);
  job_start(&j, "exporting", export->quiet || to_stdout(export));
  furrow_status status = furrow_model_export(path, export->destination, &params, &result, err);
  job_stop(&j);
  file_job_hint(status, export->force, "see --memory", err);
  /* a closed pipe is not a failure here, which the library cannot know */
  if (status == FURROW_E_IO && to_stdout(export) && output_reader_is_gone()) status = FURROW_END;
  if (status == FURROW_OK && !to_stdout(export)) export_report(export, &result, out);
  return status;
}

/* Search vectors need the whole model, not one matrix. */
static furrow_status run_vectors(const export_values *export, output *out, furrow_error *err) {
  selected chosen = {0};
  if (export->selected.matrix || export->selected.rows || export->selected.parts)
    return fail(err, FURROW_E_ARGUMENT,
                "--vectors exports a whole model: --matrix, --rows and --parts cannot be used with it");
  furrow_status status = selection_make(&chosen, &export->selected, NULL, 0, export->reading.meta_name, err);
  const vectors_job wanted = {.values = &export->vectors,
                              .model = export->source,
                              .file = export->destination,
                              .ids = export->ids,
                              .no_ids = export->no_ids,
                              .force = export->force,
                              .json = export->json,
                              .threads = export->threads,
                              .cols = export->selected.cols != NULL,
                              .first = chosen.selection.first_col,
                              .end = chosen.selection.end_col};
  if (status == FURROW_OK) status = export_vectors(&wanted, out, err);
  selection_clear(&chosen);
  file_job_hint(status, export->force, NULL, err);
  return status;
}

static furrow_status export_run(const void *values, output *out, furrow_error *err) {
  const export_values *export = values;
  furrow_model_listing *listing = NULL;
  const furrow_model_entry *only = NULL;
  selected chosen = {0};
  furrow_status status = check_values(export, err);
  if (status == FURROW_OK && export->vectors.of != VECTORS_NONE) return run_vectors(export, out, err);
  if (status == FURROW_OK) status = furrow_model_listing_load(&listing, export->source, err);
  if (status == FURROW_OK && export->selected.matrix)
    status = choose_matrix(listing, export->selected.matrix, &only, err);
  if (status == FURROW_OK)
    status = selection_make(&chosen, &export->selected, only ? only : listing->matrices,
                            only ? 1 : listing->matrix_count, export->reading.meta_name, err);
  if (status == FURROW_OK) status = export_chosen(export, only ? only->folder : export->source, &chosen, out, err);
  selection_clear(&chosen);
  furrow_model_listing_free(listing);
  return status;
}

static void print_exchange_formats(output *out) {
  static const struct {
    const char *name, *about;
  } formats[] = {
#define FURROW_X(name, text, ending, about) {text, about},
      FURROW_EXCHANGE_FORMATS(FURROW_X)
#undef FURROW_X
  };
  output_text(out, "\nFormats:\n");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    output_format(out, "  %-12s ", formats[i].name);
    print_wrapped(out, formats[i].about, 15, 15);
  }
}

const command model_export_command = {
    .name = "export",
    .summary = "write a matrix as npy, npz, fvecs, fbin, safetensors, tsv, libsvm",
    .example = "furrow model export deepfm/embedding_embedding items.npy\n"
               "furrow model export deepfm deepfm.safetensors\n"
               "furrow model export lr --matrix input_weight - --to tsv | sort -k3g\n"
               "furrow model export fm items.fbin --vectors item --cols 200000:250000\n"
               "furrow model export shop.model users.fbin --vectors query",
    .about =
        "FILE appears only when it is complete and must not lie in SRC. Dense formats (npy, fvecs, fbin, safetensors) "
        "have 0 where the matrix has no element. Only safetensors can hold a model of several matrices.",
    .more = print_exchange_formats,
    .operands = export_operands,
    .groups = export_groups,
    .size = sizeof(export_values),
    .init = export_init,
    .run = export_run,
};
