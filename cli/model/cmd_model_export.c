/* cli/model/cmd_model_export.c: furrow model export: writes a matrix as a file for other programs. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/output.h"
#include "core/report.h"
#include "core/text_file.h"
#include "furrow/exchange.h"
#include "furrow/io.h"
#include "furrow/learn.h"
#include "furrow/vector_data.h"
#include "model/model_source.h"

/* ---- Vectors ---- */

typedef enum vectors_of { VECTORS_NONE, VECTORS_ITEM, VECTORS_QUERY } vectors_of;

typedef struct vectors_values {
  vectors_of of;
  const char *data; /* rows; NULL: every feature alone is an item, or every item or user of a raw log */
  const char *format;
} vectors_values;

typedef struct vectors_job {
  const vectors_values *values;
  const char *model, *file, *ids; /* ids NULL: FILE.ids.npy, of names FILE.names.txt */
  bool no_ids, force, json;
  uint32_t threads;
  bool cols;          /* --cols was given: */
  int64_t first, end; /* features */
} vectors_job;

#define AT(field) offsetof(vectors_values, field)
static const option vectors_options[] = {
    {.name = "vectors",
     .kind = OPTION_ENUM,
     .choices = "none|item|query",
     .help = "export search vectors of an fm or deepfm model, for items or for queries; their inner products rank "
             "items as the model does",
     .offset = AT(of)},
    {.name = "data",
     .kind = OPTION_TEXT,
     .argument = "URI",
     .help = "rows, each of which gives a vector; without --data, every feature (of --cols) is an item, or, with a "
             "model that was trained from a raw log, every item or user by name",
     .offset = AT(data)},
    {.name = "format",
     .kind = OPTION_TEXT,
     .argument = "F",
     .help = "format of the rows (the format of the training data)",
     .offset = AT(format)},
    {0}};
#undef AT

typedef struct making {
  const vectors_job *wanted;
  furrow_scorer *scorer;
  furrow_vectors_writer *vectors, *ids;
  const furrow_encoder *names; /* items or users by name; NULL: rows or features with numbers */
  text_file names_file;
  char ids_path[4096];
  float *vector;
  size_t size;
  uint64_t count;
} making;

static furrow_status open_file(furrow_vectors_writer **file, const making *m, const char *path, bool ids,
                               furrow_error *err) {
  furrow_vectors_writer_params params;
  furrow_vectors_writer_params_init(&params);
  params.ids = ids;
  params.dim = ids ? 1 : m->size;
  params.flat = ids;
  params.overwrite = m->wanted->force;
  return furrow_vectors_writer_open(file, path, &params, err);
}

static furrow_status open_files(making *m, furrow_error *err) {
  const vectors_job *wanted = m->wanted;
  const char *ending = wanted->ids ? "" : m->names ? ".names.txt" : ".ids.npy";
  if (snprintf(m->ids_path, sizeof m->ids_path, "%s%s", wanted->ids ? wanted->ids : wanted->file, ending) >=
      (int)sizeof m->ids_path)
    return fail_file(err, FURROW_E_ARGUMENT, wanted->file, "the path is too long", 0);
  furrow_status status = open_file(&m->vectors, m, wanted->file, false, err);
  if (status != FURROW_OK || wanted->no_ids) return status;
  if (!m->names) return open_file(&m->ids, m, m->ids_path, true, err);
  status = text_file_check(m->ids_path, wanted->force, err);
  return status == FURROW_OK ? text_file_begin(&m->names_file, err) : status;
}

static furrow_status put_row(making *m, const furrow_row *row, int64_t id, furrow_error *err) {
  furrow_status status = m->wanted->values->of == VECTORS_ITEM
                             ? furrow_scorer_item_vector(m->scorer, row, m->vector, err)
                             : furrow_scorer_query_vector(m->scorer, row, m->vector, NULL, err);
  if (status == FURROW_OK) status = furrow_vectors_writer_write(m->vectors, m->vector, 1, err);
  if (status == FURROW_OK && m->ids) status = furrow_vectors_writer_write(m->ids, &id, 1, err);
  if (status == FURROW_OK) m->count++;
  return status == FURROW_OK ? interrupt_check(err) : status;
}

static furrow_status put_data(making *m, furrow_error *err) {
  furrow_sample_reader *samples = NULL;
  furrow_parser_params params;
  furrow_parser_params_init(&params);
  params.threads = m->wanted->threads;
  if (m->wanted->values->format) params.format = m->wanted->values->format;
  const furrow_rowblock *block = NULL;
  furrow_status status =
      furrow_sample_reader_open(&samples, furrow_scorer_conf(m->scorer), m->wanted->values->data, &params, err);
  while (status == FURROW_OK && (status = furrow_sample_reader_next(samples, &block, err)) == FURROW_OK) {
    for (size_t i = 0; status == FURROW_OK && i < block->size; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      status = put_row(m, &row, (int64_t)m->count, err);
    }
  }
  furrow_sample_reader_close(samples);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status put_features(making *m, furrow_error *err) {
  const vectors_job *wanted = m->wanted;
  uint64_t *features = NULL;
  size_t count = 0;
  const uint64_t first = wanted->first > 0 ? (uint64_t)wanted->first : 0;
  const uint64_t end = wanted->end > 0 ? (uint64_t)wanted->end : 0;
  furrow_status status = furrow_scorer_features(m->scorer, first, end, &features, &count, err);
  if (status == FURROW_OK && count == 0)
    status = fail_in(err, FURROW_E_ARGUMENT, wanted->model, "the model has no feature %s",
                     first > 0 || end > 0 ? "in --cols" : "to export");
  for (size_t i = 0; status == FURROW_OK && i < count; i++) {
    const furrow_row row = {.length = 1, .index = {&features[i]}, .key_type = FURROW_KEY_U64};
    status = put_row(m, &row, (int64_t)features[i], err);
  }
  furrow_free(features);
  return status;
}

/* ---- Items and users by name ---- */

static furrow_status put_name(making *m, uint64_t feature, furrow_error *err) {
  furrow_encoder_feature found;
  if (m->wanted->no_ids) return FURROW_OK;
  furrow_status status = furrow_encoder_get_feature(m->names, feature, &found, err);
  if (status != FURROW_OK) return status;
  if (memchr(found.name, '\n', found.length) || memchr(found.name, '\r', found.length))
    return fail_in(err, FURROW_E_UNSUPPORTED, m->wanted->model,
                   "a name has a line end, so names do not fit into lines"),
           add_hint(err, "use --no-ids");
  fprintf(m->names_file.out, "%.*s\n", (int)found.length, found.name);
  return FURROW_OK;
}

/* Writes the vector of one side of a row: the features of an item or a user, including the features from its tables. */
static furrow_status put_named(making *m, furrow_container *rows, furrow_side side, uint64_t feature,
                               furrow_error *err) {
  furrow_rowblock block;
  furrow_container_clear(rows);
  furrow_status status = furrow_encoder_push_side(m->names, side, feature, rows, err);
  if (status == FURROW_OK) status = furrow_container_get_block(rows, &block, err);
  if (status != FURROW_OK) return status;
  const furrow_row row = furrow_rowblock_row(&block, 0);
  status = put_row(m, &row, 0, err);
  return status == FURROW_OK ? put_name(m, feature, err) : status;
}

static furrow_status put_names(making *m, furrow_error *err) {
  const bool items = m->wanted->values->of == VECTORS_ITEM;
  const furrow_side side = items ? FURROW_SIDE_ITEM : FURROW_SIDE_USER;
  const size_t place = furrow_encoder_side_field(m->names, side);
  furrow_encoder_field field = {0};
  furrow_container *rows = NULL;
  if (place != SIZE_MAX) furrow_encoder_get_field(m->names, place, &field);
  if (field.entries == 0)
    return fail_in(err, FURROW_E_UNSUPPORTED, m->wanted->model, "the model has no names of %s",
                   items ? "items" : "users"),
           add_hint(err, "export rows with --data, or features with --cols");
  furrow_status status = furrow_container_create(&rows, FURROW_KEY_U64, FURROW_VALUE_F32, err);
  for (uint64_t i = 0; status == FURROW_OK && i < field.entries; i++)
    status = put_named(m, rows, side, furrow_encoder_entry(m->names, place, i), err);
  furrow_container_free(rows);
  return status;
}

static void print_report(const making *m, output *out) {
  report r;
  report_start(&r, out, m->wanted->json);
  report_written(&r, m->wanted->file);
  report_u64(&r, "vectors", m->count);
  report_u64(&r, "dimension", m->size);
  if (m->names && !m->wanted->no_ids) report_text(&r, "names", m->ids_path);
  report_finish(&r);
}

static furrow_status load_model(making *m, furrow_error *err) {
  const vectors_job *wanted = m->wanted;
  furrow_scorer_params params;
  furrow_scorer_params_init(&params);
  params.threads = wanted->threads;
  furrow_status status = furrow_scorer_load(&m->scorer, wanted->model, &params, err);
  if (status == FURROW_OK) status = furrow_scorer_vector_size(m->scorer, &m->size, err);
  if (status != FURROW_OK) return status;
  if (!wanted->values->data && !wanted->cols) m->names = furrow_scorer_encoder(m->scorer);
  if (wanted->values->of == VECTORS_QUERY && !wanted->values->data && !m->names)
    return fail(err, FURROW_E_ARGUMENT, "--vectors query needs --data URI: a row for each query");
  m->vector = calloc(m->size, sizeof *m->vector);
  return m->vector ? open_files(m, err) : fail_memory(err);
}

static furrow_status commit(making *m, furrow_error *err) {
  const text_file *names = &m->names_file;
  furrow_status status = interrupt_check(err);
  if (status != FURROW_OK) return status;
  if (m->ids) return furrow_vectors_writer_commit_pair(m->vectors, m->ids, err);
  if (!names->out) return furrow_vectors_writer_commit(m->vectors, err);
  if (fflush(names->out) != 0 || !names->text) return fail_memory(err);
  return furrow_vectors_writer_commit_text(m->vectors, m->ids_path, names->text, names->size, err);
}

static furrow_status export_vectors(const vectors_job *wanted, output *out, furrow_error *err) {
  making m = {.wanted = wanted};
  interrupt_catch();
  furrow_status status = load_model(&m, err);
  if (status == FURROW_OK && m.names)
    status = put_names(&m, err);
  else if (status == FURROW_OK)
    status = wanted->values->data ? put_data(&m, err) : put_features(&m, err);
  if (status == FURROW_OK) status = commit(&m, err);
  if (status == FURROW_OK) print_report(&m, out);
  if (m.names_file.out) (void)text_file_end(&m.names_file, NULL, false, NULL);
  furrow_vectors_writer_close(m.ids);
  furrow_vectors_writer_close(m.vectors);
  furrow_scorer_free(m.scorer);
  free(m.vector);
  return status;
}

/* ---- The command ---- */

enum { TO_XGBOOST = FURROW_EXCHANGE_LIBSVM + 1 }; /* after the formats of matrices */

typedef struct export_values {
  selection_values selected;
  reading_values reading;
  vectors_values vectors;
  const char *source, *destination;
  int to; /* a furrow_exchange_format, or TO_XGBOOST */
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
     .choices = "auto|npy|npz|fvecs|fbin|safetensors|tsv|libsvm|xgboost",
     .help = "format of the file (auto, the default: from the ending of its name)",
     .offset = AT(to)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help = "part of the matrix that is a vector: a row, or a column (all rows of one feature) (auto: a column if the "
             "matrix is "
             "stored by columns)",
     .offset = AT(by)},
    {.name = "type",
     .kind = OPTION_ENUM,
     .choices = "f64|f32|i64|i32",
     .help = "type of the elements (as in the matrix)",
     .offset = AT(type)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "file for the ids of the vectors, for formats that cannot hold ids (FILE.ids.npy; names: FILE.names.txt)",
     .offset = AT(ids),
     .written = true},
    {.name = "no-ids", .kind = OPTION_FLAG, .help = "do not write the ids", .offset = AT(no_ids)},
    FORCE_OPTION(AT(force)),
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
  params->format = (furrow_exchange_format) export->to;
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
  report_written(&r, export->destination);
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

/* The trees of a model, trained here or imported. */
static furrow_status run_trees(const export_values *export, output *out, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_forest_info info;
  report r;
  if (export->selected.matrix || export->selected.rows || export->selected.cols || export->selected.parts)
    return fail(err, FURROW_E_ARGUMENT, "--to xgboost exports a whole model, not parts of a matrix");
  furrow_status status = forest_open(&scorer, export->source, export->threads, err);
  if (status == FURROW_OK) status = furrow_forest_export(scorer, export->destination, export->force, err);
  file_job_hint(status, export->force, NULL, err);
  if (status == FURROW_OK && !to_stdout(export)) {
    furrow_forest_info_init(&info);
    furrow_scorer_get_forest_info(scorer, &info);
    report_start(&r, out, export->json);
    report_written(&r, export->destination);
    report_u64(&r, "trees", info.trees);
    report_finish(&r);
  }
  furrow_scorer_free(scorer);
  return status;
}

static furrow_status export_run(const void *values, output *out, furrow_error *err) {
  const export_values *export = values;
  furrow_model_listing *listing = NULL;
  const furrow_model_entry *only = NULL;
  selected chosen = {0};
  furrow_status status = check_values(export, err);
  if (status == FURROW_OK && export->vectors.of != VECTORS_NONE) return run_vectors(export, out, err);
  if (status == FURROW_OK && export->to == TO_XGBOOST) return run_trees(export, out, err);
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
    .summary = "write a matrix as npy, npz, fvecs, fbin, safetensors, tsv, libsvm, or trees for xgboost",
    .example = "furrow model export deepfm/embedding_embedding items.npy\n"
               "furrow model export deepfm deepfm.safetensors\n"
               "furrow model export lr --matrix input_weight - --to tsv | sort -k3g\n"
               "furrow model export fm items.fbin --vectors item --cols 200000:250000\n"
               "furrow model export shop.model users.fbin --vectors query\n"
               "furrow model export clicks.model clicks.json --to xgboost",
    .about =
        "FILE appears only when it is complete and must not lie in SRC. Dense formats (npy, fvecs, fbin, safetensors) "
        "have 0 where the matrix has no element. Only safetensors can hold a model of several matrices. "
        "With --to xgboost the trees of a gbdt or an imported model become a model of xgboost (JSON), which predicts "
        "the same.",
    .more = print_exchange_formats,
    .operands = export_operands,
    .groups = export_groups,
    .size = sizeof(export_values),
    .init = export_init,
    .run = export_run,
};
