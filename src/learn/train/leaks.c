/* learn/train/leaks.c: columns of a table that alone give the label away, such as a copy of it under another name. Each
 * column predicts the labels of some rows by what other rows have for its values, or by the order of its numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/table.h"
#include "learn/data/data_facts.h"
#include "learn/metrics/metrics.h"
#include "learn/train/fit.h"

enum {
  FEWEST_ROWS = 100,      /* fewer show by chance what more would not */
  FEWEST_OF_A_CLASS = 20, /* the same of each of two classes */
  MOST_ROWS = 20000,
  MOST_CELLS = 400000, /* of all rows that are inspected */
  MOST_LEAKS = 3       /* that are named */
};

#define LEAK_AUC 0.999
#define LEAK_ACCURACY 0.999
#define LEAK_R2 0.9999
#define MOST_OF_ONE_CLASS 0.9 /* share of the most frequent of several classes */

/* The feature of a row in a column. */
typedef struct cell {
  uint64_t column, feature;
  uint32_t row;
  float value;
} cell;

/* A row as one column sees it. */
typedef struct column_row {
  uint64_t feature; /* UINT64_MAX: the row has none */
  double value;     /* -inf: the same, or NaN */
  double label;     /* two classes: 0 and 1; several: their numbers from 0 */
  double guess;     /* by the other rows with its value; NaN: there are none */
  bool known;       /* it belongs to the rows that guesses are made from */
} column_row;

typedef enum label_kind { KIND_NONE, KIND_TWO, KIND_CLASSES, KIND_NUMBERS } label_kind;

typedef struct leak_search {
  fw_prepared *data;
  const fw_data_facts *facts;
  label_kind kind;
  cell *cells;
  size_t cell_count, cell_capacity;
  double *labels;
  column_row *rows;
  size_t row_count;
  size_t *counts;      /* counts of each class */
  fw_ranking *ranking; /* ranking of rows by their guesses; NULL: there are not two classes */
  double mean;
} leak_search;

/* How well a column does alone. */
typedef struct leak_figure {
  const char *name; /* NULL: not well enough to be a leak */
  double value;
} leak_figure;

/* ---- Rows ---- */

static label_kind kind_of(const fw_prepared *d, const fw_data_facts *facts) {
  const fw_loss_type loss = d->trainer->plan->graph.loss;
  if (facts->rows < FEWEST_ROWS || facts->unlabelled > 0 || facts->label_count < 2) return KIND_NONE;
  if (fw_loss_has_two_classes(loss) && facts->label_count == 2)
    return facts->of_label[0] < FEWEST_OF_A_CLASS || facts->of_label[1] < FEWEST_OF_A_CLASS ? KIND_NONE : KIND_TWO;
  if (loss == FW_LOSS_SOFTMAX && facts->label_count <= FW_CLASSES_MAX) {
    for (size_t i = 0; i < facts->label_count; i++)
      if ((double)facts->of_label[i] > MOST_OF_ONE_CLASS * (double)facts->rows) return KIND_NONE;
    return KIND_CLASSES;
  }
  return fw_loss_is_regression(loss) ? KIND_NUMBERS : KIND_NONE;
}

/* Whether features are columns, with names, or belong to fields that are. */
static bool is_table(const fw_prepared *d) {
  return strcmp(d->samples->format, "csv") == 0 || d->trainer->plan->data.encoder != NULL ||
         d->trainer->plan->data.columns != NULL;
}

static double label_of(const leak_search *s, const furrow_rowblock *block, size_t row) {
  const double label = furrow_values_get(block->label, block->value_type, row);
  if (s->kind == KIND_NUMBERS) return label;
  size_t i = 0;
  while (i + 1 < s->facts->label_count && s->facts->labels[i] < label) i++;
  return (double)i;
}

static furrow_status take_row(leak_search *s, const furrow_rowblock *block, size_t row, furrow_error *err) {
  const bool fields = s->data->trainer->plan->data.encoder != NULL;
  const uint64_t from = block->offset[row], to = block->offset[row + 1];
  FW_TRY(FW_GROW(&s->cells, &s->cell_capacity, s->cell_count + (size_t)(to - from), err));
  s->labels[s->row_count] = label_of(s, block, row);
  for (uint64_t i = from; i < to; i++) {
    const uint64_t feature = furrow_keys_get(block->index, block->key_type, i);
    s->cells[s->cell_count++] =
        (cell){.column = fields ? furrow_keys_get(block->field, block->key_type, i) : feature,
               .feature = feature,
               .row = (uint32_t)s->row_count,
               .value = block->value.any ? (float)furrow_values_get(block->value, block->value_type, i) : 1};
  }
  s->row_count++;
  return FURROW_OK;
}

/* Takes rows from all over the data. */
static furrow_status take_rows(leak_search *s, const furrow_rowblock *block, furrow_error *err) {
  const size_t longest = s->facts->longest ? s->facts->longest : 1;
  size_t most = MOST_CELLS / longest;
  if (most < FEWEST_ROWS) most = FEWEST_ROWS;
  if (most > MOST_ROWS) most = MOST_ROWS;
  const size_t step = block->size / most + 1;
  FW_TRY(FW_ALLOC(&s->labels, block->size / step + 1, err));
  FW_TRY(FW_ALLOC(&s->rows, block->size / step + 1, err));
  FW_TRY(FW_ALLOC(&s->counts, FW_CLASSES_MAX, err));
  for (size_t i = 0; i < block->size; i += step) FW_TRY(take_row(s, block, i, err));
  double sum = 0;
  for (size_t i = 0; i < s->row_count; i++) sum += s->labels[i];
  s->mean = sum / (double)s->row_count;
  return FURROW_OK;
}

static int compare_cells(const void *a, const void *b) {
  const cell *x = a, *y = b;
  if (x->column != y->column) return x->column < y->column ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* Fills in the rows of a column; false: a row has several features in it, as in sets and texts. *ordered: it has one
 * feature, whose values are numbers. */
static bool read_column(leak_search *s, const cell *cells, size_t count, bool *ordered) {
  *ordered = true;
  for (size_t i = 0; i < s->row_count; i++) {
    const uint64_t pair = (uint64_t)i / 2 * 0x9e3779b97f4a7c15U; /* neighbours may be copies of each other */
    s->rows[i] =
        (column_row){.feature = UINT64_MAX, .value = -INFINITY, .label = s->labels[i], .known = (pair >> 63) != 0};
  }
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && cells[i].row == cells[i - 1].row) return false;
    *ordered &= cells[i].feature == cells[0].feature;
    s->rows[cells[i].row].feature = cells[i].feature;
    if (!isnan(cells[i].value)) s->rows[cells[i].row].value = (double)cells[i].value;
  }
  return true;
}

/* ---- What a column says ---- */

static int compare_values(const void *a, const void *b) {
  const column_row *x = a, *y = b;
  if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
  return (x->value > y->value) - (x->value < y->value);
}

/* The most frequent class, or the mean, of the known rows of a group; NaN: none is known. */
static double guess_of(const leak_search *s, const column_row *rows, size_t count) {
  size_t known = 0, best = 0;
  double sum = 0;
  if (s->kind == KIND_CLASSES) memset(s->counts, 0, s->facts->label_count * sizeof *s->counts);
  for (size_t i = 0; i < count; i++) {
    if (!rows[i].known) continue;
    known++;
    sum += rows[i].label;
    if (s->kind == KIND_CLASSES && ++s->counts[(size_t)rows[i].label] > s->counts[best]) best = (size_t)rows[i].label;
  }
  if (known == 0) return NAN;
  return s->kind == KIND_CLASSES ? (double)best : sum / (double)known;
}

/* Guesses the labels of the other rows, which come first afterwards, and returns how many these are; 0: most of them
 * have values of their own, as in a column of ids. */
static size_t guess_by_value(leak_search *s) {
  size_t others = 0, alone = 0;
  qsort(s->rows, s->row_count, sizeof *s->rows, compare_values);
  for (size_t i = 0, end; i < s->row_count; i = end) {
    for (end = i + 1; end < s->row_count && compare_values(&s->rows[i], &s->rows[end]) == 0;) end++;
    const double guess = guess_of(s, s->rows + i, end - i);
    for (size_t k = i; k < end; k++) s->rows[k].guess = guess;
  }
  for (size_t i = 0; i < s->row_count; i++) {
    alone += !s->rows[i].known && isnan(s->rows[i].guess);
    if (s->rows[i].known || isnan(s->rows[i].guess)) continue;
    const column_row row = s->rows[i];
    s->rows[i] = s->rows[others];
    s->rows[others++] = row;
  }
  return others > alone ? others : 0;
}

/* The AUC of the guesses; NaN: one class alone. */
static double auc_of(const leak_search *s, size_t count) {
  fw_ranking_clear(s->ranking, s->row_count);
  for (size_t i = 0; i < count; i++) fw_ranking_add(s->ranking, s->rows[i].guess, s->rows[i].label > 0, 1);
  return fw_ranking_get_figures(s->ranking).auc;
}

static double accuracy_of(const column_row *rows, size_t count) {
  size_t right = 0;
  for (size_t i = 0; i < count; i++) right += rows[i].guess == rows[i].label;
  return count > 0 ? (double)right / (double)count : 0;
}

/* The share of the variance that the guesses explain. */
static double r2_of(const column_row *rows, size_t count, double mean) {
  double squares = 0, all = 0;
  for (size_t i = 0; i < count; i++) {
    squares += (rows[i].label - rows[i].guess) * (rows[i].label - rows[i].guess);
    all += (rows[i].label - mean) * (rows[i].label - mean);
  }
  return all > 0 ? 1 - squares / all : 0;
}

/* The squared correlation of the values with the labels, of the rows that have a value. */
static double correlation_of(const leak_search *s) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  for (size_t i = 0; i < s->row_count; i++) {
    if (!isfinite(s->rows[i].value)) continue;
    n++;
    const double dx = s->rows[i].value - x, dy = s->rows[i].label - y;
    x += dx / n;
    y += dy / n;
    xx += dx * (s->rows[i].value - x);
    yy += dy * (s->rows[i].label - y);
    xy += dx * (s->rows[i].label - y);
  }
  return n >= FEWEST_ROWS && xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

static leak_figure judge_column(leak_search *s, bool ordered) {
  double best = 0;
  if (ordered && s->kind == KIND_NUMBERS) best = correlation_of(s);
  if (ordered && s->kind == KIND_TWO) {
    for (size_t i = 0; i < s->row_count; i++) s->rows[i].guess = s->rows[i].value;
    const double auc = auc_of(s, s->row_count);
    best = fmax(auc, 1 - auc);
  }
  const size_t others = guess_by_value(s);
  switch (s->kind) {
  case KIND_TWO: best = fmax(best, auc_of(s, others)); return (leak_figure){best >= LEAK_AUC ? "AUC" : NULL, best};
  case KIND_CLASSES:
    best = accuracy_of(s->rows, others);
    return (leak_figure){best >= LEAK_ACCURACY ? "accuracy" : NULL, best};
  case KIND_NUMBERS:
    best = fmax(best, r2_of(s->rows, others, s->mean));
    return (leak_figure){best >= LEAK_R2 ? "R2" : NULL, best};
  case KIND_NONE: break;
  }
  return (leak_figure){NULL, 0};
}

/* ---- Notes ---- */

static furrow_status name_field(const fw_prepared *d, uint64_t column, char name[64], furrow_error *err) {
  furrow_encoder *encoder = NULL;
  furrow_encoder_field field;
  if (!d->trainer->plan->data.encoder) return fw_name_csv_column(d->trainer->conf, column, name, err);
  FW_TRY(furrow_encoder_load(&encoder, d->trainer->plan->data.encoder, err));
  snprintf(name, 64, "field %" PRIu64, column);
  if (column < furrow_encoder_field_count(encoder)) {
    furrow_encoder_get_field(encoder, (size_t)column, &field);
    snprintf(name, 64, "%.63s", field.name);
  }
  furrow_encoder_free(encoder);
  return FURROW_OK;
}

static furrow_status note_leak(const fw_prepared *d, uint64_t column, const leak_figure *figure, furrow_error *err) {
  char name[64];
  FW_TRY(name_field(d, column, name, err));
  return fw_trainer_note(d->trainer, true, err,
                         "%s alone gives the label away (%s %.4f): leave it out if it is not known before the label is",
                         name, figure->name, figure->value);
}

static furrow_status search_columns(leak_search *s, furrow_error *err) {
  size_t found = 0, columns = 0;
  qsort(s->cells, s->cell_count, sizeof *s->cells, compare_cells);
  for (size_t i = 1; i < s->cell_count; i++) columns += s->cells[i].column != s->cells[i - 1].column;
  if (columns == 0) return FURROW_OK; /* a single column is the whole model */
  for (size_t i = 0, end; i < s->cell_count && found < MOST_LEAKS; i = end) {
    bool ordered;
    for (end = i + 1; end < s->cell_count && s->cells[end].column == s->cells[i].column;) end++;
    if (!read_column(s, s->cells + i, end - i, &ordered)) continue;
    const leak_figure figure = judge_column(s, ordered);
    if (!figure.name) continue;
    FW_TRY(note_leak(s->data, s->cells[i].column, &figure, err));
    s->data->leaks = true;
    found++;
  }
  return FURROW_OK;
}

furrow_status fw_prepare_leaks(fw_prepared *d, const fw_data_facts *facts, furrow_error *err) {
  const furrow_rowblock *block = fw_samples_raw_block(d->samples);
  leak_search s = {.data = d, .facts = facts, .kind = kind_of(d, facts)};
  if (s.kind == KIND_NONE || !block || !is_table(d) || !d->from_scratch || d->trainer->comm->ranks > 1)
    return FURROW_OK;
  furrow_status status = take_rows(&s, block, err);
  if (status == FURROW_OK && s.kind == KIND_TWO) status = fw_ranking_create(&s.ranking, FW_LOSS_LOG, err);
  if (status == FURROW_OK) status = search_columns(&s, err);
  fw_free(s.cells);
  fw_free(s.labels);
  fw_free(s.rows);
  fw_free(s.counts);
  fw_ranking_free(s.ranking);
  return status;
}
