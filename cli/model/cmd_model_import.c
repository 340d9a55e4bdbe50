/* cli/model/cmd_model_import.c: furrow model import: makes a matrix, or a model of trees, from a file of another
 * program.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/job.h"
#include "core/report.h"
#include "furrow/exchange.h"
#include "furrow/learn.h"
#include "model/model_target.h"

typedef struct import_values {
  target_values target;
  const char *path, *destination;
  int from; /* a furrow_exchange_format, or FROM_XGBOOST, FROM_LIGHTGBM */
  furrow_axis by;
  const char *ids, *name, *saved_rows;
  int32_t rows;
  int64_t cols;
  uint32_t matrix_id;
  text_list attributes;
  uint32_t threads;
  size_t memory;
  bool quiet, json;
  int rounds;
} import_values;

/* After the formats of matrices. */
enum { FROM_XGBOOST = FURROW_EXCHANGE_TEXT + 1, FROM_LIGHTGBM };
enum { ROUNDS_BEST, ROUNDS_ALL };

static const option import_operands[] = {{.name = "FILE",
                                          .kind = OPTION_TEXT,
                                          .help = "the file to read",
                                          .offset = offsetof(import_values, path),
                                          .required = true},
                                         {.name = "DST",
                                          .kind = OPTION_TEXT,
                                          .help = "the matrix folder, or the model directory, to write",
                                          .offset = offsetof(import_values, destination),
                                          .required = true},
                                         {0}};

#define AT(field) offsetof(import_values, field)
static const option import_options[] = {
    {.name = "from",
     .kind = OPTION_ENUM,
     .choices = "auto|npy|npz|fvecs|fbin|safetensors|tsv|libsvm|text|xgboost|lightgbm",
     .help = "format of the file (auto, the default: from its first bytes or the ending of its name)",
     .offset = AT(from)},
    {.name = "rounds",
     .kind = OPTION_ENUM,
     .choices = "best|all",
     .help = "rounds of a model of trees that counted those with early stopping: up to the best one, as "
             "xgboost's estimators predict, or all (best)",
     .offset = AT(rounds)},
    {.name = "by",
     .kind = OPTION_ENUM,
     .choices = "auto|row|column",
     .help = "what a vector of the file becomes: a row or a column (auto: a column if --format stores columns)",
     .offset = AT(by)},
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "npy file with the ids of the vectors (FILE.ids.npy if it exists, else 0, 1, ...)",
     .offset = AT(ids)},
    {0}};

static const option matrix_shape_options[] = {
    {.name = "name",
     .kind = OPTION_TEXT,
     .argument = "NAME",
     .help = "name of the matrix (the name of the folder)",
     .offset = AT(name)},
    {.name = "rows",
     .kind = OPTION_COUNT32,
     .argument = "N",
     .help = "rows of the matrix; all are saved, even without elements (as many as the data needs)",
     .offset = AT(rows)},
    {.name = "saved-rows",
     .kind = OPTION_TEXT,
     .argument = "LIST",
     .help = "save only these rows, such as 0:8 or 0:8,16, in this order; the others are only counted (all)",
     .offset = AT(saved_rows)},
    {.name = "cols",
     .kind = OPTION_COUNT64,
     .argument = "N",
     .help = "columns of the matrix (as many as the data needs)",
     .offset = AT(cols)},
    {.name = "matrix-id", .kind = OPTION_U32, .argument = "N", .help = "id of the matrix (0)", .offset = AT(matrix_id)},
    {.name = "attribute",
     .kind = OPTION_LIST,
     .argument = "KEY=VALUE",
     .help = "attribute to add to the metadata; may be given several times",
     .offset = AT(attributes)},
    {0}};
#undef AT

static const option_group import_groups[] = {
    {.title = "Reading", .options = import_options},
    {.title = "The matrix", .options = matrix_shape_options},
    {.title = "Writing", .options = target_options, .offset = offsetof(import_values, target)},
    {.title = "Options", .options = json_options, .offset = offsetof(import_values, json)},
    {.title = "Options", .options = memory_options, .offset = offsetof(import_values, memory)},
    {.title = "Options", .options = threads_options, .offset = offsetof(import_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = quiet_options, .offset = offsetof(import_values, quiet)},
    {0}};

static void import_init(void *values) {
  target_values_init(&((import_values *)values)->target);
}

/* ---- Attributes ----------------------------------------------------------------------------------------- */

enum { ATTRIBUTES_MOST = sizeof((text_list *)0)->texts / sizeof(char *), ATTRIBUTE_KEYS = 8192 };

typedef struct attributes {
  furrow_matrix_option options[ATTRIBUTES_MOST];
  char keys[ATTRIBUTE_KEYS];
} attributes;

static furrow_status split_attributes(attributes *a, const text_list *list, furrow_error *err) {
  size_t used = 0;
  for (size_t i = 0; i < list->count; i++) {
    const char *text = list->texts[i], *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (n == 0 || n + 1 > sizeof a->keys - used) return fail_token(err, text, "--attribute takes KEY=VALUE");
    memcpy(a->keys + used, text, n);
    a->keys[used + n] = 0;
    a->options[i] = (furrow_matrix_option){.key = a->keys + used, .value = equals + 1};
    used += n + 1;
  }
  return FURROW_OK;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

/* Memory that the parameters point to. */
typedef struct lists {
  attributes attributes;
  int32_t *rows;
  size_t row_count;
} lists;

static furrow_status read_lists(lists *l, const import_values *import, furrow_error *err) {
  l->rows = NULL;
  l->row_count = 0;
  furrow_status status = split_attributes(&l->attributes, &import->attributes, err);
  if (status == FURROW_OK && import->saved_rows)
    status = read_row_list("saved-rows", import->saved_rows, import->rows, &l->rows, &l->row_count, err);
  return status;
}

static void set_spec(furrow_matrix_spec *spec, const import_values *import, const lists *l) {
  const target_values *target = &import->target;
  furrow_matrix_spec_init(spec);
  spec->matrix_id = (int32_t)import->matrix_id;
  spec->name = import->name;
  spec->format = target->format;
  spec->row_type = target->row_type;
  spec->rows = import->rows;
  spec->cols = import->cols;
  spec->saved_rows = l->rows;
  spec->saved_row_count = l->row_count;
  spec->options = l->attributes.options;
  spec->option_count = import->attributes.count;
  spec->hash_parts = target->hash_parts;
  spec->block_rows = target->part_rows;
  spec->block_cols = target->part_cols;
  if (target->servers) spec->servers = target->servers;
  if (target->parts_per_file) spec->parts_per_file = target->parts_per_file;
}

static furrow_status import_file(const import_values *import, const lists *l, furrow_model_import_result *result,
                                 furrow_error *err) {
  job j;
  furrow_matrix_spec spec;
  furrow_matrix_write_params write;
  furrow_model_import_params params;
  set_spec(&spec, import, l);
  furrow_matrix_write_params_init(&write);
  target_write_params(&import->target, import->threads, &write);
  furrow_model_import_params_init(&params);
  params.format = (furrow_exchange_format)import->from;
  params.vectors = import->by;
  params.ids = import->ids;
  params.spec = &spec;
  params.write = &write;
  params.memory = import->memory;
  params.progress = job_progress;
  params.progress_user = &j;
  job_start(&j, "importing", import->quiet);
  furrow_status status = furrow_model_import(import->path, import->destination, &params, result, err);
  job_stop(&j);
  return status;
}

static void import_report(const import_values *import, const furrow_model_import_result *result, output *out) {
  report r;
  report_start(&r, out, import->json);
  report_written(&r, import->destination);
  report_u64(&r, "matrices", result->matrices);
  if (import->json || result->matrices == 1) {
    report_i64(&r, "rows", result->rows);
    if (result->cols < 0)
      report_none(&r, "columns"); /* no limit */
    else
      report_i64(&r, "columns", result->cols);
  }
  report_u64(&r, "elements", result->elements);
  if (import->json || result->left_out) report_u64(&r, "elements not saved", result->left_out);
  report_finish(&r);
}

/* ---- Trees ---------------------------------------------------------------------------------------------- */

static void forest_report(const import_values *import, const furrow_forest_import_result *result, output *out) {
  report r;
  report_start(&r, out, import->json);
  report_written(&r, import->destination);
  report_text(&r, "from", result->from);
  report_text(&r, "objective", result->objective);
  report_u64(&r, "trees", result->trees);
  report_u64(&r, "classes", result->classes);
  report_u64(&r, "features", result->features);
  report_u64(&r, "rounds", result->rounds);
  if (import->json || result->rounds != result->rounds_of_file)
    report_u64(&r, "rounds of the file", result->rounds_of_file);
  report_finish(&r);
}

static furrow_status import_forest(const import_values *import, output *out, furrow_error *err) {
  furrow_forest_import_params params;
  furrow_forest_import_result result;
  if (import->ids || import->name || import->rows || import->cols || import->saved_rows || import->attributes.count)
    return fail(err, FURROW_E_ARGUMENT, "the options of a matrix are not for a model of trees");
  furrow_forest_import_params_init(&params);
  furrow_forest_import_result_init(&result);
  params.overwrite = import->target.force;
  params.all_rounds = import->rounds == ROUNDS_ALL;
  const furrow_status status = furrow_forest_import(import->path, import->destination, &params, &result, err);
  job_hint(status, import->target.force, NULL, err);
  if (status == FURROW_OK) forest_report(import, &result, out);
  return status;
}

static furrow_status import_run(const void *values, output *out, furrow_error *err) {
  const import_values *import = values;
  lists l;
  furrow_model_import_result result;
  bool trees = import->from >= FROM_XGBOOST;
  if (import->from == FURROW_EXCHANGE_AUTO && furrow_forest_probe(import->path, &trees, err) != FURROW_OK)
    return err->status;
  if (trees) return import_forest(import, out, err);
  if (import->matrix_id > INT32_MAX) return fail(err, FURROW_E_ARGUMENT, "--matrix-id is at most 2147483647");
  furrow_status status = target_check(&import->target, err);
  if (status == FURROW_OK) status = read_lists(&l, import, err);
  if (status != FURROW_OK) return status;
  furrow_model_import_result_init(&result);
  status = import_file(import, &l, &result, err);
  free(l.rows);
  job_hint(status, import->target.force, "see --memory", err);
  if (status == FURROW_E_ARGUMENT && import->from == FURROW_EXCHANGE_AUTO &&
      strncmp(err->hint, "the formats are", 15) == 0) { /* perhaps an old binary model of xgboost */
    char formats[sizeof err->hint];
    snprintf(formats, sizeof formats, "%s", err->hint);
    add_hint(err, "%s; of xgboost's models, those that save_model(\"model.json\") writes are read", formats);
  }
  if (status == FURROW_OK) import_report(import, &result, out);
  return status;
}

const command model_import_command = {
    .name = "import",
    .summary = "make a matrix from npy, npz, fvecs, fbin, safetensors, tsv, libsvm, text, or a model from xgboost, "
               "LightGBM",
    .example =
        "furrow model import model.json forest.model\n"
        "furrow model import items.npy deepfm/embedding_embedding --format TextColumnFormat\n"
        "furrow model import weights.tsv lr/input_weight --format ColIdValueTextRowFormat --row-type T_FLOAT_DENSE\n"
        "furrow model import weights.txt lr/input_weight --by column --format ColIdValueTextRowFormat",
    .about =
        "Each line of a tsv file is row TAB column TAB value, as 'furrow model dump' prints it. The first column of a "
        "text file is the id of a vector, the others are its values, with blanks or commas between them: 'index "
        "value' lines are weights with --by column. A safetensors "
        "file of several tensors becomes a model directory. DST appears only when it is complete. Defaults are "
        "Angel's: RowIdColIdValueTextRowFormat, partitions by ranges of columns, 5 partitions per file. The "
        "default row type follows the elements (float for text): dense if the file is dense and every row has "
        "every column, otherwise sparse, with 64-bit keys if a column needs them. "
        "A model of trees that xgboost saved as JSON or UBJSON, or LightGBM as text, becomes a model directory whose "
        "scores have the bits of the original; predict and eval also take such a file as it is.",
    .operands = import_operands,
    .groups = import_groups,
    .size = sizeof(import_values),
    .init = import_init,
    .run = import_run,
};
