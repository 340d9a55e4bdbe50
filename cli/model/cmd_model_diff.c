/* cli/model/cmd_model_diff.c: furrow model diff: compares two matrices or two models element by element. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "core/text_columns.h"
#include "model/model_source.h"

typedef struct diff_values {
  selection_values selected;
  reading_values reading;
  const char *a, *b;
  uint32_t top;
  double tolerance;
  size_t memory;
  bool quiet, json;
} diff_values;

static const option diff_operands[] = {{.name = "A",
                                        .kind = OPTION_TEXT,
                                        .help = "a model directory, or a matrix folder",
                                        .offset = offsetof(diff_values, a),
                                        .required = true,
                                        .watched = true},
                                       {.name = "B",
                                        .kind = OPTION_TEXT,
                                        .help = "the other one",
                                        .offset = offsetof(diff_values, b),
                                        .required = true,
                                        .watched = true},
                                       {0}};

static const option diff_options[] = {{.name = "tolerance",
                                       .kind = OPTION_REAL,
                                       .argument = "X",
                                       .help = "treat elements as equal if they differ by at most X (0)",
                                       .offset = offsetof(diff_values, tolerance)},
                                      {.name = "top",
                                       .kind = OPTION_U32,
                                       .argument = "N",
                                       .help = "show the N largest differences of each matrix (5)",
                                       .offset = offsetof(diff_values, top)},
                                      {0}};

static const option diff_quiet_options[] = {
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print nothing; use the exit code"}, {0}};

static const option_group diff_groups[] = {
    {.title = "Selection", .options = matrix_options, .offset = offsetof(diff_values, selected)},
    {.title = "Selection", .options = diff_options},
    {.title = "Reading", .options = reading_options, .offset = offsetof(diff_values, reading)},
    {.title = "Options", .options = json_options, .offset = offsetof(diff_values, json)},
    {.title = "Options", .options = memory_options, .offset = offsetof(diff_values, memory)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = diff_quiet_options, .offset = offsetof(diff_values, quiet)},
    {0}};

static void diff_init(void *values) {
  diff_values *diff = values;
  reading_values_init(&diff->reading);
  diff->top = 5;
}

/* ---- Report --------------------------------------------------------------------------------------------- */

typedef struct comparing {
  const diff_values *values;
  report *report;
  bool different, begun;
} comparing;

static bool is_equal(const diff_values *values, const furrow_matrix_diff *diff) {
  /* 64-bit integers may differ by less than the precision of a double */
  return diff->largest <= values->tolerance && (values->tolerance > 0 || diff->different == 0);
}

static void report_numbers(report *r, const furrow_matrix_diff *diff, bool equal) {
  report_bool(r, "equal", equal);
  report_u64(r, "elements of A", diff->elements_a);
  report_u64(r, "elements of B", diff->elements_b);
  if (r->json || diff->only_a) report_u64(r, "only in A", diff->only_a);
  if (r->json || diff->only_b) report_u64(r, "only in B", diff->only_b);
  report_u64(r, "different", diff->different);
  report_f64(r, "largest difference", diff->largest);
  report_f64(r, "rms difference", diff->rms);
}

static bool is_integer(furrow_element_type type) {
  return type == FURROW_ELEMENT_I64 || type == FURROW_ELEMENT_I32;
}

static void report_side(report *r, const char *name, bool there, furrow_element_type type, double value,
                        int64_t exact) {
  if (!there)
    report_none(r, name);
  else if (is_integer(type))
    report_i64(r, name, exact);
  else
    report_f64(r, name, value);
}

static void report_top(report *r, const furrow_matrix_difference *top, size_t count) {
  report_list(r, "top");
  for (size_t i = 0; i < count; i++) {
    const furrow_matrix_difference *d = &top[i];
    report_section(r, NULL);
    report_i64(r, "row", d->row);
    report_i64(r, "column", d->col);
    report_bool(r, "in a", d->in_a);
    report_bool(r, "in b", d->in_b);
    report_side(r, "a", d->in_a, d->type_a, d->a, d->exact_a);
    report_side(r, "b", d->in_b, d->type_b, d->b, d->exact_b);
    report_end(r);
  }
  report_end(r);
}

static void side_cell(table *t, bool there, furrow_element_type type, double value, int64_t exact) {
  if (!there)
    table_cell(t, "-");
  else if (is_integer(type))
    table_cell(t, "%" PRId64, exact);
  else
    table_cell(t, "%.9g", value);
}

/* The difference of two integers may need 65 bits. */
static void difference_cell(table *t, const furrow_matrix_difference *d) {
  if (!is_integer(d->type_a) || !is_integer(d->type_b))
    table_cell(t, "%.9g", d->b - d->a);
  else if (d->exact_b < d->exact_a)
    table_cell(t, "-%" PRIu64, (uint64_t)d->exact_a - (uint64_t)d->exact_b);
  else
    table_cell(t, "%" PRIu64, (uint64_t)d->exact_b - (uint64_t)d->exact_a);
}

static furrow_status print_top(output *out, const furrow_matrix_difference *top, size_t count, furrow_error *err) {
  table t;
  table_start(&t, "row|column|A|B|difference");
  for (size_t i = 0; i < count; i++) {
    const furrow_matrix_difference *d = &top[i];
    table_cell(&t, "%" PRId32, d->row);
    table_cell(&t, "%" PRId64, d->col);
    side_cell(&t, d->in_a, d->type_a, d->a, d->exact_a);
    side_cell(&t, d->in_b, d->type_b, d->b, d->exact_b);
    difference_cell(&t, d);
  }
  return table_finish(&t, 0, out, err);
}

static void report_kinds(report *r, const furrow_matrix_source *a, const furrow_matrix_source *b) {
  const char *types[2] = {furrow_matrix_source_row_type(a)->name, furrow_matrix_source_row_type(b)->name};
  const char *formats[2] = {furrow_matrix_source_format(a)->name, furrow_matrix_source_format(b)->name};
  if (strcmp(types[0], types[1]) != 0) report_line(r, "row types", "%s, %s", types[0], types[1]);
  if (strcmp(formats[0], formats[1]) != 0) report_line(r, "formats", "%s, %s", formats[0], formats[1]);
}

static void begin_matrix(comparing *c) {
  if (c->report->json)
    report_section(c->report, NULL);
  else if (c->begun)
    output_text(c->report->out, "\n");
  c->begun = true;
}

static furrow_status report_diff(comparing *c, const char *name, const furrow_matrix_source *a,
                                 const furrow_matrix_source *b, const furrow_matrix_diff *diff,
                                 const furrow_matrix_difference *top, furrow_error *err) {
  report *r = c->report;
  bool equal = is_equal(c->values, diff);
  if (!equal) c->different = true;
  if (c->values->quiet) return FURROW_OK;
  begin_matrix(c);
  report_text(r, r->json ? "name" : "matrix", name);
  report_kinds(r, a, b);
  report_numbers(r, diff, equal);
  if (r->json) {
    report_top(r, top, diff->top_count);
    report_end(r);
    return FURROW_OK;
  }
  return diff->top_count ? print_top(r->out, top, diff->top_count, err) : FURROW_OK;
}

static void report_missing(comparing *c, const char *name, const char *path, const char *where) {
  report *r = c->report;
  c->different = true;
  if (c->values->quiet) return;
  begin_matrix(c);
  if (!r->json) {
    report_line(r, "matrix", "%s: only in %s", name, path);
    return;
  }
  report_text(r, "name", name);
  report_bool(r, "equal", false);
  report_text(r, "only in", where);
  report_end(r);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status compare_pair(comparing *c, const furrow_model_entry *a, const furrow_model_entry *b,
                                  furrow_error *err) {
  const diff_values *values = c->values;
  furrow_matrix_source_params params = reading_params(&values->reading);
  furrow_matrix_source *source_a = NULL, *source_b = NULL;
  furrow_matrix_diff diff;
  furrow_matrix_compare_params compare;
  furrow_status status = FURROW_OK;
  furrow_matrix_diff_init(&diff);
  furrow_matrix_compare_params_init(&compare);
  compare.memory = values->memory;
  compare.top_capacity = values->quiet ? 0 : values->top;
  compare.top = calloc(compare.top_capacity ? compare.top_capacity : 1, sizeof *compare.top);
  if (!compare.top) status = fail_memory(err);
  if (status == FURROW_OK) status = furrow_matrix_source_open(&source_a, a->folder, &params, err);
  if (status == FURROW_OK) status = furrow_matrix_source_open(&source_b, b->folder, &params, err);
  if (status == FURROW_OK) status = furrow_matrix_compare(source_a, source_b, &compare, &diff, err);
  if (status == FURROW_OK) status = report_diff(c, a->name, source_a, source_b, &diff, compare.top, err);
  furrow_matrix_source_close(source_a);
  furrow_matrix_source_close(source_b);
  free(compare.top);
  return status;
}

/* Both listings are sorted by name: compares matrices that both have, reports those that one lacks. */
static furrow_status compare_models(comparing *c, const furrow_model_listing *a, const furrow_model_listing *b,
                                    furrow_error *err) {
  furrow_status status = FURROW_OK;
  size_t i = 0, k = 0;
  while (status == FURROW_OK && (i < a->matrix_count || k < b->matrix_count)) {
    int order = i == a->matrix_count ? 1 : k == b->matrix_count ? -1 : strcmp(a->matrices[i].name, b->matrices[k].name);
    if (order == 0)
      status = compare_pair(c, &a->matrices[i++], &b->matrices[k++], err);
    else if (order < 0)
      report_missing(c, a->matrices[i++].name, a->path, "A");
    else
      report_missing(c, b->matrices[k++].name, b->path, "B");
  }
  return status;
}

/* Compares one matrix with one matrix, whatever their names, or a model with a model. */
static furrow_status compare_listed(comparing *c, const furrow_model_listing *a, const furrow_model_listing *b,
                                    furrow_error *err) {
  const furrow_model_entry *one_a = NULL, *one_b = NULL;
  const char *name = c->values->selected.matrix;
  bool lone_a = a->single || a->matrix_count == 1, lone_b = b->single || b->matrix_count == 1;
  if (!name && !(lone_a && lone_b) && !a->single && !b->single) return compare_models(c, a, b, err);
  furrow_status status = choose_matrix(a, a->single ? NULL : name, &one_a, err);
  if (status == FURROW_OK) status = choose_matrix(b, b->single ? NULL : name, &one_b, err);
  return status == FURROW_OK ? compare_pair(c, one_a, one_b, err) : status;
}

static furrow_status diff_run(const void *values, output *out, furrow_error *err) {
  const diff_values *diff = values;
  furrow_model_listing *a = NULL, *b = NULL;
  report r;
  comparing c = {.values = diff, .report = &r};
  if (diff->tolerance < 0) return fail(err, FURROW_E_ARGUMENT, "--tolerance must not be negative");
  furrow_status status = furrow_model_listing_load(&a, diff->a, err);
  if (status == FURROW_OK) status = furrow_model_listing_load(&b, diff->b, err);
  const furrow_model_listing *bare = status != FURROW_OK    ? NULL
                                     : a->matrix_count == 0 ? a
                                     : b->matrix_count == 0 ? b
                                                            : NULL;
  if (bare)
    status = fail_in(err, FURROW_E_UNSUPPORTED, bare->path, "the model has no matrices: its trees are in forest.nodes");
  if (status == FURROW_OK) {
    bool json = diff->json && !diff->quiet;
    report_start(&r, out, json);
    if (json) report_list(&r, "matrices");
    status = compare_listed(&c, a, b, err);
    if (json) {
      report_end(&r);
      report_bool(&r, "equal", !c.different);
    }
    report_finish(&r);
  }
  if (c.different) out->exit_code = 1;
  furrow_model_listing_free(a);
  furrow_model_listing_free(b);
  return status;
}

const command model_diff_command = {
    .name = "diff",
    .summary = "compare two matrices or two models",
    .example = "furrow model diff lr lr.binary\nfurrow model diff old/input_weight new/input_weight --tolerance 1e-6",
    .about = "Compares elements by row and column, whatever the formats and partitions are; an element that only one "
             "side stores counts as 0 on the other. Matrices of models are matched by name. The exit code is 0 when "
             "all elements are equal, 1 when some differ by more than the tolerance or a matrix is missing, and "
             "another code when the comparison fails.",
    .operands = diff_operands,
    .groups = diff_groups,
    .size = sizeof(diff_values),
    .init = diff_init,
    .run = diff_run,
};
