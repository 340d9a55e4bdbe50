/* cli/rows/cmd_rows_compare.c: furrow rows compare: what has changed between two logs, column by column. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/report.h"
#include "furrow/table.h"
#include "rows/rows_source.h"
#include "rows/table_encoder.h"

typedef struct compare_values {
  const char *first, *second, *model, *schema, *label;
  double threshold;
  uint32_t threads;
  bool json, quiet;
} compare_values;

#define AT(field) offsetof(compare_values, field)
static const option compare_operands[] = {
    {.name = "A", .kind = OPTION_TEXT, .help = "a raw log", .offset = AT(first), .required = true},
    {.name = "B", .kind = OPTION_TEXT, .help = "a later one", .offset = AT(second), .required = true},
    {0}};

static const option compare_options[] = {
    {.name = "model",
     .kind = OPTION_TEXT,
     .argument = "DIR",
     .help = "compare what this model reads: values that it does not know are unknown",
     .offset = AT(model)},
    {.name = "schema",
     .kind = OPTION_TEXT,
     .argument = "FILE|auto",
     .help = "without --model: what the columns are (auto); values that A does not have are unknown",
     .offset = AT(schema)},
    {.name = "label",
     .kind = OPTION_TEXT,
     .argument = "COLUMN",
     .help = "with --schema auto: the column of the label",
     .offset = AT(label)},
    {.name = "threshold",
     .kind = OPTION_REAL,
     .argument = "P",
     .help = "exit with 1 if the psi of a column, or its share of unknown values in B less that in A, is above P (0: "
             "never)",
     .offset = AT(threshold)},
    THREADS_OPTION(AT(threads), ""),
    JSON_OPTION(AT(json)),
    QUIET_OPTION(AT(quiet)),
    {0}};
#undef AT

static const option_group compare_groups[] = {{.title = "Options", .options = compare_options}, {0}};

enum { BINS = 10, TOP = 20, MOST_VALUES = 1 << 20, MOST_LABELS = 64 };

/* A field of one log. */
typedef struct field_side {
  uint64_t known; /* rows with a value that is known */
  uint64_t last;  /* the number of the last of them */
  float *values;  /* of a number: the first MOST_VALUES */
  size_t count, capacity;
} field_side;

typedef struct log_side {
  uint64_t *features; /* how often each feature occurs */
  field_side *fields;
  uint64_t rows;
  double label_sum;
  float labels[MOST_LABELS]; /* different ones */
  size_t label_count;
  bool more_labels;
} log_side;

typedef struct comparison {
  const compare_values *values;
  furrow_encoder *encoder;
  size_t field_count;
  log_side side[2];
} comparison;

/* How a column has changed. */
typedef struct column_change {
  const char *name;
  double psi, unknown[2];
  double outside; /* share of B's numbers below or above all of A's; NAN: not numbers */
} column_change;

/* ---- Counting ------------------------------------------------------------------------------------------- */

/* Numbers have one feature for the value, and one for missing or for present values. */
static bool is_number(const furrow_encoder_field *field) {
  return field->entries == 0 && field->count == 2;
}

static furrow_status add_value(field_side *side, float value, furrow_error *err) {
  if (side->count == MOST_VALUES) return FURROW_OK;
  if (side->count == side->capacity) {
    const size_t capacity = side->capacity ? 2 * side->capacity : 256;
    float *values = realloc(side->values, capacity * sizeof *values);
    if (!values) return fail_memory(err);
    side->values = values;
    side->capacity = capacity;
  }
  side->values[side->count++] = value;
  return FURROW_OK;
}

static void add_label(log_side *side, float label) {
  size_t i = 0;
  side->label_sum += (double)label;
  while (i < side->label_count && side->labels[i] != label) i++;
  if (i < side->label_count) return;
  if (side->label_count == MOST_LABELS)
    side->more_labels = true;
  else
    side->labels[side->label_count++] = label;
}

/* The first feature of a field with names stands for unknown values, the second for missing ones. */
static bool is_known(const furrow_encoder *encoder, size_t number, const furrow_encoder_field *field,
                     uint64_t feature) {
  if (field->entries > 0) return furrow_encoder_entry_of(encoder, number, feature) != UINT64_MAX;
  return !is_number(field) || feature == field->first;
}

static furrow_status count_row(const comparison *c, log_side *side, const furrow_encoder_field *fields,
                               const furrow_row *row, furrow_error *err) {
  furrow_status status = FURROW_OK;
  side->rows++;
  for (size_t k = 0; k < row->length && status == FURROW_OK; k++) {
    const size_t number = (size_t)furrow_row_get_field(row, k);
    const uint64_t feature = furrow_row_get_index(row, k);
    field_side *of = &side->fields[number];
    side->features[feature]++;
    if (!is_known(c->encoder, number, &fields[number], feature)) continue;
    of->known += of->last != side->rows;
    of->last = side->rows;
    if (is_number(&fields[number])) status = add_value(of, (float)furrow_row_get_value(row, k), err);
  }
  return status;
}

static furrow_status count_log(const comparison *c, const char *log, log_side *side, furrow_error *err) {
  char *uri = NULL;
  source s = {0};
  source_values reading;
  const furrow_rowblock *block;
  source_values_init(&reading);
  reading.threads = c->values->threads;
  reading.on_bad = FURROW_ON_BAD_SKIP;
  reading.quiet = c->values->quiet;
  reading.index = FURROW_KEY_U64;
  furrow_encoder_field *fields = calloc(c->field_count, sizeof *fields);
  side->features = calloc(furrow_encoder_feature_count(c->encoder), sizeof *side->features);
  side->fields = calloc(c->field_count, sizeof *side->fields);
  furrow_status status = fields && side->features && side->fields ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; status == FURROW_OK && i < c->field_count; i++)
    furrow_encoder_get_field(c->encoder, i, &fields[i]);
  if (status == FURROW_OK) status = furrow_encoder_uri(log, ENCODER_IN_MEMORY, &uri, err);
  if (status == FURROW_OK) status = source_open(&s, uri, &reading, err);
  while (status == FURROW_OK && (status = source_next(&s, &block, err)) == FURROW_OK)
    for (size_t i = 0; i < block->size && status == FURROW_OK; i++) {
      const furrow_row row = furrow_rowblock_row(block, i);
      if (block->label.any) add_label(side, block->label.f32[i]);
      status = count_row(c, side, fields, &row, err);
    }
  if (status == FURROW_END) status = FURROW_OK;
  if (status == FURROW_OK && side->rows == 0) status = fail_in(err, FURROW_E_FORMAT, log, "there are no rows");
  source_close(&s);
  furrow_free(uri);
  free(fields);
  return status;
}

/* ---- Change --------------------------------------------------------------------------------------------- */

/* A term of the population stability index; an empty group counts as half a row. */
static double psi_term(double a, double b, double rows_a, double rows_b) {
  const double p = fmax(a, 0.5) / rows_a, q = fmax(b, 0.5) / rows_b;
  return a <= 0 && b <= 0 ? 0 : (q - p) * log(q / p);
}

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* The first of n ascending numbers that is above x. */
static size_t count_up_to(const float *values, size_t n, float x) {
  size_t low = 0, high = n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (values[middle] <= x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Tenths of A's numbers. */
static double psi_of_numbers(field_side *a, field_side *b, double *outside) {
  double sum = 0;
  if (a->count == 0 || b->count == 0) return 0;
  qsort(a->values, a->count, sizeof *a->values, compare_floats);
  qsort(b->values, b->count, sizeof *b->values, compare_floats);
  const float least = a->values[0], most = a->values[a->count - 1];
  size_t inside = count_up_to(b->values, b->count, most), below = 0;
  while (below < b->count && b->values[below] < least) below++;
  *outside = (double)(b->count - inside + below) / (double)b->count;
  size_t before_a = 0, before_b = 0;
  for (size_t bin = 1; bin <= BINS; bin++) {
    const float edge = bin == BINS ? INFINITY : a->values[(a->count - 1) * bin / BINS];
    const size_t up_a = count_up_to(a->values, a->count, edge), up_b = count_up_to(b->values, b->count, edge);
    sum += psi_term((double)(up_a - before_a), (double)(up_b - before_b), (double)a->count, (double)b->count);
    before_a = up_a;
    before_b = up_b;
  }
  return sum;
}

typedef struct value_count {
  uint64_t a, b;
} value_count;

static int more_frequent(const void *x, const void *y) {
  const value_count *v = x, *w = y;
  return (v->a < w->a) - (v->a > w->a);
}

/* A's most frequent values, and all others together. */
static furrow_status psi_of_values(const comparison *c, const furrow_encoder_field *field, size_t number, double *psi,
                                   furrow_error *err) {
  const bool names = field->entries > 0;
  const size_t count = names ? field->entries : field->count;
  value_count *list = calloc(count + 1, sizeof *list);
  double total[2] = {0}, rest[2] = {0};
  if (!list) return fail_memory(err);
  for (size_t i = 0; i < count; i++) {
    const uint64_t feature = names ? furrow_encoder_entry(c->encoder, number, i) : field->first + i;
    list[i] = (value_count){c->side[0].features[feature], c->side[1].features[feature]};
    total[0] += (double)list[i].a;
    total[1] += (double)list[i].b;
  }
  qsort(list, count, sizeof *list, more_frequent);
  for (size_t i = 0; i < count && total[0] > 0 && total[1] > 0; i++) {
    if (i < TOP) *psi += psi_term((double)list[i].a, (double)list[i].b, total[0], total[1]);
    rest[0] += i < TOP ? 0 : (double)list[i].a;
    rest[1] += i < TOP ? 0 : (double)list[i].b;
  }
  *psi += psi_term(rest[0], rest[1], fmax(total[0], 1), fmax(total[1], 1));
  free(list);
  return FURROW_OK;
}

static furrow_status compare_column(comparison *c, size_t i, column_change *change, furrow_error *err) {
  furrow_encoder_field field;
  furrow_encoder_get_field(c->encoder, i, &field);
  *change = (column_change){.name = field.name, .outside = NAN};
  for (size_t s = 0; s < 2; s++) change->unknown[s] = 1 - (double)c->side[s].fields[i].known / (double)c->side[s].rows;
  /* values that are unknown, or missing, are a group of their own */
  for (size_t k = 0; k < 2; k++) {
    const double of_a = k ? change->unknown[0] : 1 - change->unknown[0];
    const double of_b = k ? change->unknown[1] : 1 - change->unknown[1];
    change->psi += psi_term(of_a * (double)c->side[0].rows, of_b * (double)c->side[1].rows, (double)c->side[0].rows,
                            (double)c->side[1].rows);
  }
  if (!is_number(&field)) return psi_of_values(c, &field, i, &change->psi, err);
  change->psi += psi_of_numbers(&c->side[0].fields[i], &c->side[1].fields[i], &change->outside);
  return FURROW_OK;
}

static int larger_change(const void *a, const void *b) {
  const double x = ((const column_change *)a)->psi, y = ((const column_change *)b)->psi;
  return (x < y) - (x > y);
}

/* ---- The report ----------------------------------------------------------------------------------------- */

static size_t count_new_labels(const comparison *c) {
  size_t count = 0;
  for (size_t i = 0; i < c->side[1].label_count && !c->side[0].more_labels; i++) {
    size_t k = 0;
    while (k < c->side[0].label_count && c->side[0].labels[k] != c->side[1].labels[i]) k++;
    count += k == c->side[0].label_count;
  }
  return count;
}

static bool exceeds(const comparison *c, const column_change *change) {
  const double most = c->values->threshold;
  return most > 0 && (change->psi > most || change->unknown[1] - change->unknown[0] > most);
}

static void print_table(const comparison *c, const column_change *changes, output *out) {
  output_format(out, "%-28s %8s %10s %10s %9s\n", "column", "psi", "unknown A", "unknown B", "outside");
  for (size_t i = 0; i < c->field_count; i++) {
    const column_change *change = &changes[i];
    output_format(out, "%-28s %8.4f %9.2f%% %9.2f%%", change->name, change->psi, 100 * change->unknown[0],
                  100 * change->unknown[1]);
    if (isnan(change->outside))
      output_text(out, "         -");
    else
      output_format(out, " %8.2f%%", 100 * change->outside);
    output_text(out, exceeds(c, change) ? "  above the threshold\n" : "\n");
  }
  output_format(out, "rows: %" PRIu64 " and %" PRIu64 "; mean label: %.6g and %.6g; labels that only B has: %zu\n",
                c->side[0].rows, c->side[1].rows, c->side[0].label_sum / (double)c->side[0].rows,
                c->side[1].label_sum / (double)c->side[1].rows, count_new_labels(c));
}

static void print_json(const comparison *c, const column_change *changes, output *out) {
  report r;
  report_start(&r, out, true);
  for (size_t s = 0; s < 2; s++) {
    report_section(&r, s ? "b" : "a");
    report_u64(&r, "rows", c->side[s].rows);
    report_f64(&r, "mean label", c->side[s].label_sum / (double)c->side[s].rows);
    report_end(&r);
  }
  report_u64(&r, "new labels", count_new_labels(c));
  report_list(&r, "columns");
  for (size_t i = 0; i < c->field_count; i++) {
    report_section(&r, NULL);
    report_text(&r, "column", changes[i].name);
    report_f64(&r, "psi", changes[i].psi);
    report_f64(&r, "unknown a", changes[i].unknown[0]);
    report_f64(&r, "unknown b", changes[i].unknown[1]);
    report_f64(&r, "outside", changes[i].outside);
    report_bool(&r, "above", exceeds(c, &changes[i]));
    report_end(&r);
  }
  report_end(&r);
  report_finish(&r);
}

static furrow_status report_changes(comparison *c, output *out, furrow_error *err) {
  column_change *changes = calloc(c->field_count, sizeof *changes);
  furrow_status status = changes ? FURROW_OK : fail_memory(err);
  for (size_t i = 0; i < c->field_count && status == FURROW_OK; i++) status = compare_column(c, i, &changes[i], err);
  if (status == FURROW_OK) {
    qsort(changes, c->field_count, sizeof *changes, larger_change);
    for (size_t i = 0; i < c->field_count; i++)
      if (exceeds(c, &changes[i])) out->exit_code = 1;
    (c->values->json ? print_json : print_table)(c, changes, out);
  }
  free(changes);
  return status;
}

/* ---- The command ---------------------------------------------------------------------------------------- */

static furrow_status get_encoder(const compare_values *values, furrow_encoder **encoder, furrow_error *err) {
  const schema_values columns = {.label = values->label};
  const encoder_reading reading = {.threads = values->threads, .on_bad = FURROW_ON_BAD_SKIP, .quiet = true};
  if (values->model && (values->schema || values->label))
    return fail(err, FURROW_E_ARGUMENT, "--model has a schema: leave --schema and --label out");
  if (values->model) return furrow_encoder_load(encoder, values->model, err);
  return make_encoder(encoder, values->first, values->schema ? values->schema : "auto", &columns, &reading, err);
}

static void clear_side(const comparison *c, log_side *side) {
  for (size_t i = 0; side->fields && i < c->field_count; i++) free(side->fields[i].values);
  free(side->fields);
  free(side->features);
}

static furrow_status run_compare(const void *values, output *out, furrow_error *err) {
  comparison c = {.values = values};
  furrow_status status = get_encoder(c.values, &c.encoder, err);
  if (status == FURROW_OK) status = furrow_encoder_save(c.encoder, ENCODER_IN_MEMORY, true, err);
  if (status == FURROW_OK) c.field_count = furrow_encoder_field_count(c.encoder);
  if (status == FURROW_OK) status = count_log(&c, c.values->first, &c.side[0], err);
  if (status == FURROW_OK) status = count_log(&c, c.values->second, &c.side[1], err);
  if (status == FURROW_OK) status = report_changes(&c, out, err);
  clear_side(&c, &c.side[0]);
  clear_side(&c, &c.side[1]);
  furrow_encoder_free(c.encoder);
  return status;
}

const command rows_compare_command = {
    .name = "compare",
    .summary = "say what has changed between two raw logs, column by column",
    .example = "furrow rows compare yesterday.csv today.csv\n"
               "furrow rows compare train.csv today.csv --model shop.model --threshold 0.25",
    .about =
        "Columns are in the order of their population stability index (psi): the sum of (q - p) ln(q / p) over groups, "
        "where p and q are the shares of A's and B's rows in them. Groups are tenths of A's numbers, A's 20 most "
        "frequent values and all others, and unknown or missing values. Below 0.1 little has changed, above 0.25 much. "
        "Outside is the share of B's numbers that are below or above all of A's.",
    .operands = compare_operands,
    .groups = compare_groups,
    .size = sizeof(compare_values),
    .run = run_compare,
};
