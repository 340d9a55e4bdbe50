/* cli/model/cmd_model_info.c: furrow model info: summarises a model or a matrix. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/text_columns.h"
#include "learn/model_names.h"
#include "model/matrix_summary.h"
#include "model/model_conf.h"
#include "model/model_source.h"

typedef struct info_values {
  selection_values selected;
  reading_values reading;
  const char *path;
  bool no_stats, partitions, json, quiet;
  uint32_t threads;
} info_values;

static const option info_operands[] = {{.name = "PATH",
                                        .kind = OPTION_TEXT,
                                        .help = "a model directory, or a matrix folder",
                                        .offset = offsetof(info_values, path),
                                        .required = true,
                                        .watched = true},
                                       {0}};

static const option info_options[] = {{.name = "no-stats",
                                       .kind = OPTION_FLAG,
                                       .help = "read only the metadata, no data file",
                                       .offset = offsetof(info_values, no_stats)},
                                      {.name = "partitions",
                                       .kind = OPTION_FLAG,
                                       .help = "also list the partitions of a matrix",
                                       .offset = offsetof(info_values, partitions)},
                                      {0}};

static const option_group info_groups[] = {
    {.title = "Selection", .options = matrix_options, .offset = offsetof(info_values, selected)},
    {.title = "Selection", .options = info_options},
    {.title = "Reading", .options = reading_options, .offset = offsetof(info_values, reading)},
    {.title = "Options", .options = json_options, .offset = offsetof(info_values, json)},
    {.title = "Options", .options = threads_options, .offset = offsetof(info_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = quiet_options, .offset = offsetof(info_values, quiet)},
    {0}};

static void info_init(void *values) {
  reading_values_init(&((info_values *)values)->reading);
}

/* ---- One matrix ----------------------------------------------------------------------------------------- */

static void report_optional(report *r, const char *name, const char *text) {
  if (text)
    report_text(r, name, text);
  else
    report_none(r, name);
}

static void report_kind(report *r, const matrix_summary *f) {
  const furrow_matrix_meta *meta = f->meta;
  static const char *const origins[] = {"JSON", "psmeta, written by one server", "binary, as Angel 1.x wrote it"};
  report_optional(r, "name", meta->matrix_name);
  report_text(r, "folder", f->folder);
  report_i64(r, "matrix id", meta->matrix_id);
  if (f->meta_name) report_text(r, "metadata file", f->meta_name);
  report_text(r, "metadata form", origins[meta->origin]);
  report_optional(r, "format", f->format ? f->format->name : meta->format_class_name);
  if (r->json) report_optional(r, "format class", meta->format_class_name);
  if (f->separator && r->json) report_text(r, "separator", f->separator);
  if (f->separator) report_line(r, "separator", "\"%s\"", f->separator);
  report_optional(r, "row type", f->type ? f->type->name : NULL);
  if (f->type && !f->type->objects) {
    report_text(r, "element type", furrow_element_type_name(f->type->element));
    report_i64(r, "key bits", f->type->key_bits);
    report_bool(r, "dense", f->type->dense);
  }
  report_text(r, "layer kind", furrow_layer_kind_name(f->layer));
}

static void report_saved_rows(report *r, const matrix_summary *f) {
  if (r->json) {
    report_u64(r, "saved rows", f->saved_rows);
    report_list(r, "saved row range");
    if (f->saved_rows) report_i64(r, NULL, f->first_row);
    if (f->saved_rows) report_i64(r, NULL, f->last_row);
    report_end(r);
  } else if (f->saved_rows) {
    bool all = (int64_t)f->saved_rows == (int64_t)f->last_row - f->first_row + 1;
    report_line(r, "saved rows", "%zu of %" PRId32 ": %" PRId32 " to %" PRId32 "%s", f->saved_rows, f->meta->row,
                f->first_row, f->last_row, all ? "" : ", with gaps");
  } else {
    report_none(r, "saved rows");
  }
}

static void report_partitions(report *r, const matrix_summary *f) {
  const furrow_matrix_meta *meta = f->meta;
  if (r->json) {
    report_u64(r, "partitions", meta->part_count);
    report_bool(r, "hash partitions", f->hash);
    report_i64(r, "block rows", meta->block_row);
    report_i64(r, "block columns", meta->block_col);
    report_u64(r, "row blocks", f->row_blocks);
    report_u64(r, "column blocks", f->col_blocks);
  } else if (f->hash) {
    report_line(r, "partitions", "%zu by a hash of the column", meta->part_count);
  } else if (meta->block_row < 0) {
    report_line(r, "partitions", "%zu: %zu x %zu blocks", meta->part_count, f->row_blocks, f->col_blocks);
  } else {
    report_line(r, "partitions", "%zu: %zu x %zu blocks of %" PRId32 " rows x %" PRId64 " columns", meta->part_count,
                f->row_blocks, f->col_blocks, meta->block_row, meta->block_col);
  }
  report_u64(r, "files", f->files);
  report_u64(r, "bytes", f->bytes);
}

static void report_shape(report *r, const matrix_summary *f) {
  const furrow_matrix_meta *meta = f->meta;
  report_i64(r, "rows", meta->row);
  if (meta->col < 0)
    report_none(r, "columns");
  else
    report_i64(r, "columns", meta->col);
  report_saved_rows(r, f);
  report_partitions(r, f);
  if (f->elements < 0)
    report_none(r, "elements");
  else
    report_i64(r, "elements", f->elements);
}

static void report_stats(report *r, const matrix_summary *f) {
  const furrow_matrix_stats *stats = &f->stats;
  if (!f->with_stats) return;
  report_u64(r, "zeros", stats->zeros);
  report_f64(r, "density", matrix_summary_density(f));
  report_f64(r, "sparsity", 1 - matrix_summary_density(f));
  if (stats->elements == 0) {
    report_none(r, "column range");
  } else if (r->json) {
    report_list(r, "column range");
    report_i64(r, NULL, stats->min_col);
    report_i64(r, NULL, stats->max_col);
    report_end(r);
  } else {
    report_line(r, "column range", "%" PRId64 " to %" PRId64, stats->min_col, stats->max_col);
  }
  report_f64(r, "min", stats->min);
  report_f64(r, "max", stats->max);
  report_f64(r, "mean", stats->mean);
  report_f64(r, "deviation", stats->deviation);
  if (r->json || stats->nans) report_u64(r, "nan", stats->nans);
  if (r->json || stats->infinities) report_u64(r, "infinite", stats->infinities);
}

static void report_options(report *r, const furrow_matrix_meta *meta) {
  if (meta->option_count == 0) {
    report_none(r, "options");
    return;
  }
  if (r->json) report_list(r, "options");
  for (size_t i = 0; i < meta->option_count; i++) {
    if (!r->json) {
      report_line(r, i ? "" : "options", "%s = %s", meta->options[i].key, meta->options[i].value);
      continue;
    }
    report_section(r, NULL);
    report_text(r, "key", meta->options[i].key);
    report_text(r, "value", meta->options[i].value);
    report_end(r);
  }
  if (r->json) report_end(r);
}

static void report_partition_list(report *r, const furrow_matrix_meta *meta) {
  report_list(r, "partition list");
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    report_section(r, NULL);
    report_i64(r, "id", part->part_id);
    report_i64(r, "start row", part->start_row);
    report_i64(r, "end row", part->end_row);
    report_i64(r, "start column", part->start_col);
    report_i64(r, "end column", part->end_col);
    report_u64(r, "saved rows", part->row_count);
    report_i64(r, "elements", part_elements(part));
    report_text(r, "file", part->file_name);
    report_i64(r, "offset", part->offset);
    report_i64(r, "length", part->length);
    report_end(r);
  }
  report_end(r);
}

static furrow_status print_partition_table(output *out, const furrow_matrix_meta *meta, furrow_error *err) {
  table t;
  table_start(&t, "partition|rows|columns|saved rows|elements|file|offset|length");
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    table_cell(&t, "%" PRId32, part->part_id);
    table_cell(&t, "%" PRId32 ":%" PRId32, part->start_row, part->end_row);
    table_cell(&t, "%" PRId64 ":%" PRId64, part->start_col, part->end_col);
    table_cell(&t, "%zu", part->row_count);
    table_cell(&t, "%" PRId64, part_elements(part));
    table_cell(&t, "%s", part->file_name);
    table_cell(&t, "%" PRId64, part->offset);
    table_cell(&t, "%" PRId64, part->length);
  }
  return table_finish(&t, 1 << 5, out, err);
}

static void report_matrix(report *r, const matrix_summary *f) {
  report_kind(r, f);
  report_shape(r, f);
  report_stats(r, f);
  report_options(r, f->meta);
}

/* ---- A model -------------------------------------------------------------------------------------------- */

static void shape_cell(table *t, const furrow_matrix_meta *meta) {
  if (meta->col < 0)
    table_cell(t, "%" PRId32 " x any", meta->row);
  else
    table_cell(t, "%" PRId32 " x %" PRId64, meta->row, meta->col);
}

static void number_cell(table *t, double value) {
  if (isfinite(value))
    table_cell(t, "%.6g", value);
  else
    table_cell(t, "-");
}

static void matrix_row(table *t, const char *name, const matrix_summary *f) {
  table_cell(t, "%s", name);
  table_cell(t, "%" PRId32, f->meta->matrix_id);
  table_cell(t, "%s", f->format ? f->format->name : f->meta->format_class_name ? f->meta->format_class_name : "-");
  table_cell(t, "%s", f->type ? f->type->name : "-");
  shape_cell(t, f->meta);
  table_cell(t, "%zu", f->saved_rows);
  table_cell(t, "%zu", f->meta->part_count);
  table_cell(t, "%zu", f->files);
  table_cell(t, "%" PRIu64, f->bytes);
  if (f->elements < 0)
    table_cell(t, "-");
  else
    table_cell(t, "%" PRId64, f->elements);
  if (!f->with_stats) return;
  number_cell(t, matrix_summary_density(f));
  number_cell(t, f->stats.min);
  number_cell(t, f->stats.max);
  number_cell(t, f->stats.mean);
}

static void report_head(report *r, const furrow_model_listing *listing) {
  report_text(r, "model", listing->path);
  if (listing->file_count == 0) {
    report_none(r, "other files");
    return;
  }
  report_list(r, "other files");
  for (size_t i = 0; i < listing->file_count; i++) report_text(r, NULL, listing->files[i].name);
  report_end(r);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

typedef struct description {
  const info_values *values;
  graph_text graph;
  job job;
  report report;
  table table;
  int exit_code; /* exit code of the first matrix that could not be read */
} description;

/* Reports a matrix that cannot be read with its error; the others are still described. */
static void report_failure(description *t, const furrow_model_entry *matrix, bool of_model, furrow_error *err) {
  report *r = &t->report;
  print_failure(err->status, err);
  if (t->exit_code == 0) t->exit_code = furrow_status_exit_code(err->status);
  if (r->json) {
    char text[1024];
    furrow_error_to_text(err, text, sizeof text);
    if (of_model) report_section(r, NULL);
    report_text(r, "name", matrix->name);
    report_text(r, "folder", matrix->folder);
    report_text(r, "status", furrow_status_name(err->status));
    report_text(r, "error", text);
    if (err->hint[0]) report_text(r, "hint", err->hint);
    if (of_model) report_end(r);
  } else if (of_model) {
    table_cell(&t->table, "%s", matrix->name);
    for (size_t i = 1; i < t->table.columns; i++) table_cell(&t->table, "-");
  }
}

static furrow_status describe_summary(description *t, const char *name, const matrix_summary *f, bool of_model,
                                      furrow_error *err) {
  const info_values *info = t->values;
  report *r = &t->report;
  if (of_model && !info->json) {
    matrix_row(&t->table, name, f);
    return FURROW_OK;
  }
  if (of_model) report_section(r, NULL);
  report_matrix(r, f);
  if (info->partitions && info->json) report_partition_list(r, f->meta);
  if (of_model) report_end(r);
  return info->partitions && !info->json ? print_partition_table(r->out, f->meta, err) : FURROW_OK;
}

static furrow_status describe_matrix(description *t, const furrow_model_entry *matrix, bool of_model,
                                     furrow_error *err) {
  const info_values *info = t->values;
  furrow_matrix_source_params params = reading_params(&info->reading);
  furrow_error found = {0};
  matrix_summary f;
  matrix_summary_start(&f, matrix->folder, &params, &t->graph);
  job_watch(&t->job, "reading", info->quiet);
  const furrow_status read = info->no_stats ? matrix_summary_from_meta(&f, &found)
                                            : matrix_summary_from_files(&f, info->threads, &t->job, &found);
  furrow_status status = FURROW_OK;
  job_stop(&t->job);
  if (read == FURROW_OK)
    status = describe_summary(t, matrix->name, &f, of_model, err);
  else
    report_failure(t, matrix, of_model, &found);
  matrix_summary_close(&f);
  return status;
}

/* ---- Trees ---- */

/* conf NULL: the model does not store its settings. */
static void report_forest(report *r, const furrow_forest_info *info, size_t features, const furrow_learn_conf *conf) {
  if (r->json) {
    report_section(r, "forest");
    report_u64(r, "trees", info->trees);
    report_u64(r, "classes", info->classes);
    report_u64(r, "levels", info->levels);
    report_u64(r, "depth", info->depth);
    report_u64(r, "leaves", info->leaves);
    report_u64(r, "features", features);
    report_bool(r, "node sums", info->sums);
    if (conf) report_objective(r, conf);
    report_end(r);
    return;
  }
  report_line(r, "trees", info->classes > 1 ? "%zu of %zu classes" : "%zu", info->trees, info->classes);
  report_line(r, "levels", "%u, the deepest leaf below %u split%s", info->levels, info->depth,
              info->depth == 1 ? "" : "s");
  report_line(r, "leaves", "%" PRIu64, info->leaves);
  report_line(r, "features used", "%zu", features);
  report_line(r, "node sums", info->sums ? "gain and cover of each node" : "none");
  if (conf) report_objective(r, conf);
}

/* Describes the trees of a model. If they cannot be opened, prints the error; the matrices are still described. */
static void describe_forest(description *t, const furrow_model_listing *listing) {
  furrow_scorer *scorer = NULL;
  furrow_feature_importance *list = NULL;
  furrow_forest_info info;
  furrow_error found = {0};
  size_t features = 0;
  furrow_status status = forest_open(&scorer, listing->path, t->values->threads, &found);
  if (status == FURROW_OK) status = furrow_scorer_feature_importance(scorer, &list, &features, &found);
  if (status == FURROW_OK) {
    furrow_forest_info_init(&info);
    furrow_scorer_get_forest_info(scorer, &info);
    const bool knows = t->graph.text || listing->matrix_count == 0; /* a forest of nodes has its settings in it */
    report_forest(&t->report, &info, features, knows ? furrow_scorer_conf(scorer) : NULL);
  } else {
    print_failure(status, &found);
    if (t->exit_code == 0) t->exit_code = furrow_status_exit_code(status);
  }
  furrow_free(list);
  furrow_scorer_free(scorer);
}

static furrow_status describe_model(description *t, const furrow_model_listing *listing, output *out,
                                    furrow_error *err) {
  report *r = &t->report;
  furrow_status status = FURROW_OK;
  report_head(r, listing);
  if (!t->values->no_stats && forest_is_listed(listing)) describe_forest(t, listing);
  if (r->json)
    report_list(r, "matrices");
  else if (listing->matrix_count == 0)
    return status; /* the trees are all that there is */
  else
    table_start(&t->table,
                t->values->no_stats
                    ? "matrix|id|format|row type|rows x columns|saved|parts|files|bytes|elements"
                    : "matrix|id|format|row type|rows x columns|saved|parts|files|bytes|elements|density|min|max|mean");
  for (size_t i = 0; i < listing->matrix_count && status == FURROW_OK; i++)
    status = describe_matrix(t, &listing->matrices[i], true, err);
  if (r->json) return report_end(r), status;
  furrow_status printed = table_finish(&t->table, 1 | 4 | 8, out, err);
  return status == FURROW_OK ? printed : status;
}

static furrow_status info_run(const void *values, output *out, furrow_error *err) {
  const info_values *info = values;
  description t = {.values = info};
  furrow_model_listing *listing = NULL;
  const furrow_model_entry *only = NULL;
  furrow_status status = furrow_model_listing_load(&listing, info->path, err);
  if (status == FURROW_OK && (info->selected.matrix || listing->single))
    status = choose_matrix(listing, info->selected.matrix, &only, err);
  if (status == FURROW_OK) status = graph_read(&t.graph, listing, err);
  if (status == FURROW_OK) {
    report_start(&t.report, out, info->json);
    status = only ? describe_matrix(&t, only, false, err) : describe_model(&t, listing, out, err);
    if (status == FURROW_OK) report_finish(&t.report);
  }
  out->exit_code = t.exit_code;
  graph_clear(&t.graph);
  furrow_model_listing_free(listing);
  return status;
}

const command model_info_command = {
    .name = "info",
    .summary = "summarise a model or a matrix",
    .example = "furrow model info deepfm\nfurrow model info deepfm --matrix input_weight --partitions\n"
               "furrow model info deepfm/embedding_embedding --json",
    .about = "Prints one line per matrix for a model, and all details for a single matrix. Density is the share of "
             "cells (saved rows x columns) whose element is not 0; sparsity is 1 - density. The layer kind is a guess "
             "from graph.json, the matrix name and the format. For a gbdt model the trees are summarised as well. If a "
             "matrix cannot be read, the others are still printed, and the exit code comes from the first error.",
    .operands = info_operands,
    .groups = info_groups,
    .size = sizeof(info_values),
    .init = info_init,
    .run = info_run,
};
