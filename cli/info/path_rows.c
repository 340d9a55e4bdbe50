/* cli/info/path_rows.c: rows for 'furrow info': text in any format, a folder of it, a row cache. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/fail.h"
#include "furrow/learn.h"
#include "info/path_kind.h"
#include "rows/rows_source.h"
#include "rows/rows_summary.h"

/* Bytes of text that are read; the rest of a large file is ignored. */
enum { HEAD_BYTES = 1 << 20 };

/* ---- The first rows ------------------------------------------------------------------------------------- */

typedef struct first_rows {
  source_values values;
  source source;
  rows_summary summary;
  bool all; /* the rows are complete */
  label_task task;
  size_t label_column;   /* the likely column of labels if the csv does not name one; SIZE_MAX: none */
  const char *label_why; /* how it was found */
} first_rows;

/* ---- Labels --------------------------------------------------------------------------------------------- */

enum {
  MOST_CLASSES = 20,
  FEWEST_ROWS_OF_A_CLASS = 2
}; /* the limits by which training also takes whole numbers for
      classes */

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Two values are two classes, a few integers that repeat are classes, anything else is regression. The
 * numbers are sorted. */
static label_task task_of(float *numbers, size_t count) {
  size_t distinct = 0, whole = 0;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(numbers[i])) return (label_task){0};
  qsort(numbers, count, sizeof *numbers, compare_floats);
  for (size_t i = 0; i < count; i++) {
    distinct += i == 0 || numbers[i] != numbers[i - 1];
    whole += numbers[i] == floorf(numbers[i]);
  }
  if (distinct < 2) return (label_task){TASK_NONE, distinct};
  if (distinct == 2) return (label_task){TASK_TWO_CLASSES, 2};
  if (whole == count && distinct <= MOST_CLASSES && count / distinct >= FEWEST_ROWS_OF_A_CLASS)
    return (label_task){TASK_CLASSES, distinct};
  return (label_task){TASK_REGRESSION, distinct};
}

furrow_status label_task_of(const furrow_rowblock *block, label_task *task, furrow_error *err) {
  *task = (label_task){0};
  if (!block->label.any) return FURROW_OK;
  float *numbers = calloc(block->size, sizeof *numbers);
  if (!numbers) return fail(err, FURROW_E_MEMORY, "out of memory for the labels");
  for (size_t i = 0; i < block->size; i++) numbers[i] = (float)furrow_values_get(block->label, block->value_type, i);
  *task = task_of(numbers, block->size);
  free(numbers);
  return FURROW_OK;
}

/* The same for a feature; a value that is missing in some rows is not a label. */
static furrow_status task_of_feature(const furrow_rowblock *block, uint64_t feature, label_task *task,
                                     furrow_error *err) {
  size_t count = 0;
  float *numbers = calloc(block->size, sizeof *numbers);
  if (!numbers) return fail(err, FURROW_E_MEMORY, "out of memory for the labels");
  for (size_t i = 0; i < block->size; i++) {
    const furrow_row row = furrow_rowblock_row(block, i);
    for (size_t k = 0; k < row.length && count <= i; k++)
      if (furrow_row_get_index(&row, k) == feature) numbers[count++] = (float)furrow_row_get_value(&row, k);
  }
  *task = count == block->size ? task_of(numbers, count) : (label_task){0};
  free(numbers);
  return FURROW_OK;
}

bool is_id_name(const char *name) {
  const size_t length = name ? strlen(name) : 0;
  return length >= 2 && strcasecmp(name + length - 2, "id") == 0 &&
         (length == 2 || !isalpha((unsigned char)name[length - 3]) || isupper((unsigned char)name[length - 2]));
}

/* The column of a csv without label_column that is likely to have the labels: one with such a name; else the first or
 * the last one, whichever has classes; else the last. Ids are not labels. */
static furrow_status guess_label(first_rows *first, const furrow_rowblock *block, furrow_error *err) {
  const furrow_parser *parser = first->source.parser;
  const uint64_t columns = summary_columns(&first->summary);
  if (!parser || block->label.any || strcmp(furrow_parser_format(parser), "csv") != 0 || columns < 2) return FURROW_OK;
  for (size_t i = 0; i < furrow_parser_column_count(parser); i++) {
    const char *name = furrow_parser_column_name(parser, i);
    if (!name || !furrow_learn_is_label_name(name)) continue;
    first->label_column = i;
    first->label_why = "by its name";
    return task_of_feature(block, i, &first->task, err);
  }
  const uint64_t candidates[] = {0, columns - 1};
  for (size_t i = 0; i < 2; i++) {
    label_task task = {0};
    if (is_id_name(furrow_parser_column_name(parser, candidates[i]))) continue;
    const furrow_status status = task_of_feature(block, candidates[i], &task, err);
    if (status != FURROW_OK) return status;
    const bool classes = task.kind == TASK_TWO_CLASSES || task.kind == TASK_CLASSES;
    if (!classes && i == 0) continue;
    first->label_column = candidates[i];
    first->label_why = i ? "a guess: the last column" : "a guess: the first column has classes";
    first->task = task;
    return FURROW_OK;
  }
  return FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

/* Reads the first rows; stops after the first block that is large enough. */
static furrow_status read_first(first_rows *first, const path_inspection *look, furrow_on_bad on_bad,
                                furrow_error *err) {
  const furrow_rowblock *block = NULL;
  *first = (first_rows){.label_column = SIZE_MAX};
  source_values_init(&first->values);
  first->values.quiet = true;
  first->values.threads = 1;
  first->values.chunk = HEAD_BYTES;
  first->values.max_line = look->max_line;
  first->values.on_bad = on_bad;
  summary_init(&first->summary, first->values.value);
  furrow_status status = source_open(&first->source, look->path, &first->values, err);
  if (status == FURROW_OK) status = source_next(&first->source, &block, err);
  if (status == FURROW_OK) {
    summary_add(&first->summary, block);
    status = label_task_of(block, &first->task, err);
    if (status == FURROW_OK) status = guess_label(first, block, err);
  }
  if (status == FURROW_OK) status = source_next(&first->source, &block, err);
  first->all = status == FURROW_END;
  return first->all ? FURROW_OK : status;
}

/* Whether at least half of the lines of a text are rows. */
static bool is_rows(const path_inspection *look) {
  first_rows first;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_error err;
  const furrow_status status = read_first(&first, look, FURROW_ON_BAD_SKIP, &err);
  if (status == FURROW_OK) source_get_stats(&first.source, &stats);
  source_close(&first.source);
  return status == FURROW_OK && first.summary.rows > 0 && first.summary.rows >= stats.bad_rows;
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

static void report_label_column(report *r, const first_rows *first) {
  const char *name = furrow_parser_column_name(first->source.parser, first->label_column);
  if (name)
    report_line(r, "label column", "%s (%s)", name, first->label_why);
  else
    report_line(r, "label column", "%zu (%s)", first->label_column, first->label_why);
  if (!r->json) return;
  report_u64(r, "label column", first->label_column);
}

void report_task(report *r, const label_task *task) {
  static const char *const names[] = {
      [TASK_TWO_CLASSES] = "two classes", [TASK_CLASSES] = "classes", [TASK_REGRESSION] = "regression"};
  const bool many = task->kind == TASK_CLASSES;
  if (task->kind == TASK_NONE) return;
  if (r->json || !many)
    report_text(r, "task", names[task->kind]);
  else
    report_line(r, "task", "%zu classes", task->classes);
  if (r->json && many) report_u64(r, "classes", task->classes);
}

static void report_first(report *r, const first_rows *first) {
  const rows_summary *s = &first->summary;
  report_u64(r, first->all ? "rows" : "first rows", s->rows);
  report_u64(r, first->all ? "features" : "features of these", s->features);
  report_u64(r, first->all ? "columns" : "columns of these", summary_columns(s));
  report_bool(r, "labels", s->label.count > 0);
  if (first->label_column != SIZE_MAX) report_label_column(r, first);
  report_task(r, &first->task);
  report_bool(r, "weights", s->weight.count > 0);
  report_bool(r, "fields", s->field.min <= s->field.max);
}

static bool can_train(const first_rows *first, const char *format) {
  return first->summary.rows > 1 && first->task.kind != TASK_NONE && strcmp(format, "cache") != 0;
}

/* A name that needs no escape in a URI and is not a number. */
static bool is_plain_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  static const char more[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
  return name && name[0] && strchr(letters, name[0]) && !name[strspn(name, more)];
}

/* The label column that was found, as an argument for the URI; "" if none has to be named. */
static void label_argument(const first_rows *first, const char *path, char *text, size_t size) {
  text[0] = 0;
  if (first->label_column == SIZE_MAX) return;
  const char *name = furrow_parser_column_name(first->source.parser, first->label_column);
  const char *sign = strchr(path, '?') ? "&" : "?";
  if (is_plain_name(name) && strlen(name) < 64)
    snprintf(text, size, "%slabel_column=%s", sign, name);
  else
    snprintf(text, size, "%slabel_column=%zu", sign, first->label_column);
}

/* Adds one command that trains: the algorithm, how the rows are read, and where the model goes. */
static void advise_train(path_inspection *look, const first_rows *first, const char *algorithm, const char *ending) {
  const char *format = source_format(&first->source);
  char reading[96] = "", label[96], command[512];
  label_argument(first, look->path, label, sizeof label);
  if (strcmp(format, "dense") == 0) /* Angel's dense rows do not store the number of columns */
    snprintf(reading, sizeof reading, " --range %" PRIu64, summary_columns(&first->summary));
  else if (strcmp(format, "csv") != 0 && strcmp(format, "dummy") != 0)
    snprintf(reading, sizeof reading, " --index-base auto");
  const bool plain = !strpbrk(look->path, "?#;*[");
  snprintf(command, sizeof command, "furrow train --model %s --format %s%s --train @%s --out %s%s", algorithm, format,
           reading, label, plain ? "@" : "rows", ending);
  path_advise(look, command);
}

/* Only trees take values that are not finite. */
static void advise_training(path_inspection *look, const first_rows *first) {
  const bool finite = first->summary.value.nans + first->summary.value.infinities == 0;
  char softmax[64], forest[96];
  snprintf(softmax, sizeof softmax, "softmax --classes %zu", first->task.classes);
  snprintf(forest, sizeof forest, "gbdt --objective multi:softmax --classes %zu", first->task.classes);
  switch (first->task.kind) {
  case TASK_NONE: break;
  case TASK_TWO_CLASSES:
    if (finite) advise_train(look, first, "lr", ".model");
    advise_train(look, first, "gbdt", ".gbdt");
    break;
  case TASK_CLASSES:
    if (finite) advise_train(look, first, softmax, ".model");
    advise_train(look, first, forest, ".gbdt");
    break;
  case TASK_REGRESSION:
    if (finite) advise_train(look, first, "linear", ".model");
    advise_train(look, first, "gbdt --objective reg:squarederror", ".gbdt");
    break;
  }
}

static void advise_rows(path_inspection *look, const first_rows *first) {
  const char *format = source_format(&first->source);
  path_advise(look, "furrow rows info @");
  path_advise(look, "furrow rows dump --head 3 @");
  if (!can_train(first, format)) {
    path_advise(look, "furrow rows convert @ - --to csv | head");
    return;
  }
  if (strcmp(format, "csv") != 0 && !strpbrk(look->path, "?#;*["))
    path_advise(look, "furrow rows split @ --out @.parts/ --fractions 0.8,0.2");
  advise_training(look, first);
}

static void advise_damaged(path_inspection *look, const first_rows *first) {
  if (first->source.container) return;
  path_advise(look, "furrow rows info --on-bad skip @");
  path_advise(look, "furrow rows dump --on-bad skip @ | head");
}

static furrow_status describe_rows(path_inspection *look, furrow_error *err) {
  first_rows first;
  const furrow_status status = read_first(&first, look, FURROW_ON_BAD_ERROR, err);
  if (first.source.parser || first.source.container) {
    report_text(look->r, "format", source_format(&first.source));
    report_text(look->r, "chosen by", source_format_reason(&first.source));
  }
  if (status == FURROW_OK) {
    report_first(look->r, &first);
    advise_rows(look, &first);
  } else {
    advise_damaged(look, &first);
  }
  source_close(&first.source);
  return status;
}

static bool is_cache(const path_inspection *look) {
  return !look->folder && source_is_cache(look->path);
}

const path_kind row_cache_kind = {"row cache", "parsed rows in Furrow's cache format", is_cache, describe_rows};
const path_kind rows_kind = {"rows", "sparse samples as text", is_rows, describe_rows};
