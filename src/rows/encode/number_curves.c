/* rows/encode/number_curves.c: proposes bins for numbers whose effect on the label is not a straight line. A linear
 * model learns one weight for a number, or one for each of its bins; both are fitted to half of a sample of the rows,
 * for each number alone, and compared on the other half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "rows/encode/encoder.h"
#include "rows/encode/learn_fields.h"
#include "rows/schema/propose.h"

enum {
  FEWEST_ROWS = 500,
  MOST_ROWS = 50000,    /* that are sampled */
  MOST_CELLS = 1 << 20, /* of these rows */
  MANY_ROWS = 20000,    /* from here on there are twice as many bins */
  PRIOR_ROWS = 2,       /* with the mean label, that each bin has in addition */
  NEWTON_STEPS = 25
};

#define ERRORS_NEEDED 3.0 /* standard errors of the mean difference of the losses */
#define LEAST_CHANCE 1e-6

typedef struct sampled_row {
  uint64_t hash; /* of its place in the data */
  size_t at;     /* its cells in `cells`: the label, then the numbers; NaN: missing */
} sampled_row;

/* The rows with the least hashes of one thread, and then of all. */
typedef struct row_sample {
  const fw_column *const *columns; /* of the slots: the label, then the numbers */
  size_t slots, most;
  sampled_row *heap; /* the largest hash first */
  double *cells, *row;
  size_t count, heap_capacity, cell_capacity;
  uint64_t piece, record; /* the next record of the piece that is read */
} row_sample;

/* One number and the labels, of the rows that have both. */
typedef struct number_label {
  double x, y;
} number_label;

typedef struct straight_line {
  double mean, factor; /* of x */
  double slope, level;
} straight_line;

typedef struct binned_labels {
  double edges[2 * FW_NUMBER_BINS], levels[2 * FW_NUMBER_BINS];
  size_t count; /* number of edges */
} binned_labels;

/* ---- The sample ---- */

static void clear_sample(row_sample *s) {
  fw_free(s->heap);
  fw_free(s->cells);
  fw_free(s->row);
}

/* Keeps a row that is wanted: one more, or instead of the one with the largest hash. */
static furrow_status keep_row(row_sample *s, uint64_t hash, const double *row, furrow_error *err) {
  size_t at = 0;
  if (s->count < s->most) {
    FW_TRY(FW_GROW(&s->heap, &s->heap_capacity, s->count + 1, err));
    FW_TRY(FW_GROW(&s->cells, &s->cell_capacity, (s->count + 1) * s->slots, err));
  }
  sampled_row *heap = s->heap;
  if (s->count < s->most) {
    for (at = s->count++; at > 0 && heap[(at - 1) / 2].hash < hash; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = (sampled_row){hash, (s->count - 1) * s->slots};
  } else {
    const size_t place = heap[0].at;
    for (size_t child; (child = 2 * at + 1) < s->count; at = child) {
      if (child + 1 < s->count && heap[child + 1].hash > heap[child].hash) child++;
      if (hash >= heap[child].hash) break;
      heap[at] = heap[child];
    }
    heap[at] = (sampled_row){hash, place};
  }
  memcpy(s->cells + heap[at].at, row, s->slots * sizeof *row);
  return FURROW_OK;
}

static bool is_wanted(const row_sample *s, uint64_t hash) {
  return s->count < s->most || hash < s->heap[0].hash;
}

/* Reads the cells of a record; returns false if it has no label. Bad cells are reported when the log is encoded. */
static bool read_row(row_sample *s, const fw_table_batch *batch, size_t record) {
  float label;
  if (fw_cell_label(&fw_table_cells(batch, 0)[record], s->columns[0], &label)) return false;
  s->row[0] = (double)label;
  for (size_t i = 1; i < s->slots; i++) {
    bool missing;
    const char *bad = fw_cell_number(&fw_table_cells(batch, i)[record], s->columns[i], &s->row[i], &missing);
    if (bad || missing) s->row[i] = NAN;
  }
  return true;
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  row_sample *s = user;
  (void)cursor;
  if (s->piece != piece) s->record = 0;
  s->piece = piece;
  for (size_t r = 0; r < batch->records; r++) {
    const uint64_t hash = fw_hash_place(piece, s->record++);
    if (is_wanted(s, hash) && read_row(s, batch, r)) FW_TRY(keep_row(s, hash, s->row, err));
  }
  return FURROW_OK;
}

static furrow_status merge_samples(row_sample *into, const row_sample *from, furrow_error *err) {
  for (size_t i = 0; i < from->count; i++) {
    const sampled_row *row = &from->heap[i];
    if (is_wanted(into, row->hash)) FW_TRY(keep_row(into, row->hash, from->cells + row->at, err));
  }
  return FURROW_OK;
}

/* Replaces the sample by the one of all ranks' rows. */
static furrow_status join_ranks(row_sample *s, const furrow_comm *comm, furrow_error *err) {
  const size_t size = sizeof(uint64_t) + s->slots * sizeof(double);
  fw_buffer mine = {0};
  void *all = NULL;
  size_t total = 0;
  for (size_t i = 0; i < s->count; i++) {
    fw_buffer_append(&mine, &s->heap[i].hash, sizeof s->heap[i].hash);
    fw_buffer_append(&mine, s->cells + s->heap[i].at, s->slots * sizeof *s->cells);
  }
  furrow_status status = fw_comm_all_ok(comm, fw_buffer_status(&mine, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, mine.bytes, mine.size, &all, &total, NULL, err);
  s->count = 0;
  for (const char *at = all, *end = at + total; at < end && status == FURROW_OK; at += size) {
    uint64_t hash;
    memcpy(&hash, at, sizeof hash);
    memcpy(s->row, at + sizeof hash, s->slots * sizeof *s->row);
    if (is_wanted(s, hash)) status = keep_row(s, hash, s->row, err);
  }
  fw_free(all);
  fw_buffer_clear(&mine);
  return status;
}

static int compare_hashes(const void *a, const void *b) {
  const sampled_row *x = a, *y = b;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static furrow_status read_sample(fw_table_source *source, const char *const *names,
                                 const furrow_schema_propose_params *p, row_sample *samples, uint32_t threads,
                                 furrow_error *err) {
  fw_table *table = NULL;
  furrow_parser_stats stats;
  void **users = NULL;
  const fw_table_scan_params params = {.threads = threads,
                                       .max_line = p->max_line_bytes,
                                       .on_bad = p->on_bad,
                                       .part = p->comm->rank,
                                       .nparts = p->comm->ranks,
                                       .whole_pieces = true,
                                       .progress = p->progress,
                                       .progress_user = p->progress_user};
  furrow_parser_stats_init(&stats);
  furrow_status status = FW_ALLOC(&users, threads, err);
  for (uint32_t i = 0; i < threads && status == FURROW_OK; i++) users[i] = &samples[i];
  if (status == FURROW_OK)
    status = fw_table_create(&table, fw_table_source_layout(source), names, samples[0].slots, NULL, err);
  if (status == FURROW_OK) status = fw_table_scan(source, table, &params, users, take_batch, &stats, err);
  for (uint32_t i = 1; i < threads && status == FURROW_OK; i++) status = merge_samples(&samples[0], &samples[i], err);
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK && p->comm->ranks > 1) status = join_ranks(&samples[0], p->comm, err);
  if (status == FURROW_OK && samples[0].count > 0)
    qsort(samples[0].heap, samples[0].count, sizeof *samples[0].heap, compare_hashes);
  fw_table_free(table);
  fw_free((void *)users);
  return status;
}

/* ---- A straight line, and bins ---- */

static double chance_of(double score) {
  return 1 / (1 + exp(-score));
}

/* Newton's method, with a little L2 for the slope. */
static void fit_chances(straight_line *line, const number_label *rows, size_t count) {
  line->slope = line->level = 0;
  for (int step = 0; step < NEWTON_STEPS; step++) {
    double g = 0, gx = line->slope, h = 1e-9, hx = 0, hxx = 1;
    for (size_t i = 0; i < count; i++) {
      const double x = (rows[i].x - line->mean) * line->factor, p = chance_of(line->level + line->slope * x);
      g += p - rows[i].y, gx += (p - rows[i].y) * x;
      h += p * (1 - p), hx += p * (1 - p) * x, hxx += p * (1 - p) * x * x;
    }
    const double determinant = h * hxx - hx * hx;
    if (!(determinant > 0)) return;
    const double level = (g * hxx - gx * hx) / determinant, slope = (gx * h - g * hx) / determinant;
    line->level -= fmax(-2, fmin(2, level)); /* far outliers could make a full step too long */
    line->slope -= fmax(-2, fmin(2, slope));
    if (fabs(level) < 1e-4 && fabs(slope) < 1e-4) return;
  }
}

static straight_line fit_line(const number_label *rows, size_t count, bool classes) {
  straight_line line = {.factor = 1};
  double label = 0, squares = 0, products = 0;
  for (size_t i = 0; i < count; i++) {
    line.mean += rows[i].x / (double)count;
    label += rows[i].y / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    squares += (rows[i].x - line.mean) * (rows[i].x - line.mean);
    products += (rows[i].x - line.mean) * (rows[i].y - label);
  }
  if (squares > 0) line.factor = 1 / sqrt(squares / (double)count);
  line.level = label;
  line.slope = squares > 0 ? products / squares / line.factor : 0;
  if (classes) fit_chances(&line, rows, count);
  return line;
}

static int compare_numbers(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static size_t bin_of(const binned_labels *bins, double x) {
  size_t bin = 0;
  while (bin < bins->count && bins->edges[bin] <= x) bin++;
  return bin;
}

/* Quantiles of the rows are the edges, as an encoder has them. sorted: memory for the numbers. */
static binned_labels fit_bins(const number_label *rows, size_t count, size_t most, double *sorted) {
  binned_labels bins = {0};
  double rows_of[2 * FW_NUMBER_BINS] = {0}, label = 0;
  for (size_t i = 0; i < count; i++) {
    sorted[i] = rows[i].x;
    label += rows[i].y / (double)count;
  }
  qsort(sorted, count, sizeof *sorted, compare_numbers);
  for (size_t i = 1; i < most; i++) {
    const double edge = sorted[i * count / most];
    if (edge > sorted[0] && (bins.count == 0 || edge > bins.edges[bins.count - 1])) bins.edges[bins.count++] = edge;
  }
  for (size_t i = 0; i < count; i++) {
    const size_t bin = bin_of(&bins, rows[i].x);
    rows_of[bin]++;
    bins.levels[bin] += rows[i].y;
  }
  for (size_t i = 0; i <= bins.count; i++)
    bins.levels[i] = (bins.levels[i] + PRIOR_ROWS * label) / (rows_of[i] + PRIOR_ROWS);
  return bins;
}

static double loss_of(double prediction, double label, bool classes) {
  if (!classes) return (prediction - label) * (prediction - label);
  const double p = fmax(LEAST_CHANCE, fmin(1 - LEAST_CHANCE, prediction));
  return label > 0 ? -log(p) : -log(1 - p);
}

/* Whether bins have a lower loss than a line, beyond chance: each half of the rows is predicted from the other. */
static bool is_curve(const number_label *rows, size_t count, size_t bins, bool classes, double *sorted) {
  const number_label *const parts[] = {rows, rows + count / 2};
  const size_t counts[] = {count / 2, count - count / 2};
  double sum = 0, squares = 0;
  for (int half = 0; half < 2; half++) {
    const straight_line line = fit_line(parts[half], counts[half], classes);
    const binned_labels binned = fit_bins(parts[half], counts[half], bins, sorted);
    for (size_t i = 0; i < counts[!half]; i++) {
      const number_label row = parts[!half][i];
      const double score = line.level + line.slope * (row.x - line.mean) * line.factor;
      const double difference = loss_of(classes ? chance_of(score) : score, row.y, classes) -
                                loss_of(binned.levels[bin_of(&binned, row.x)], row.y, classes);
      sum += difference;
      squares += difference * difference;
    }
  }
  const double n = (double)count, mean = sum / n;
  return mean > 0 && mean > ERRORS_NEEDED * sqrt(fmax(squares / n - mean * mean, 0) / n);
}

/* ---- The columns ---- */

static furrow_status use_bins(fw_column *column, size_t bins, furrow_error *err) {
  fw_buffer text = {0};
  fw_buffer_format(&text,
                   "%s%sits effect on the label is not a straight line, so a linear model has a weight for each of %zu "
                   "bins; {\"scale\": \"%s\"} has one weight",
                   column->unsure ? column->unsure : "", column->unsure ? "; " : "", bins,
                   column->scale == FW_SCALE_LOG ? "log" : "standard");
  fw_buffer_byte(&text, 0);
  furrow_status status = fw_buffer_status(&text, err);
  if (status == FURROW_OK) status = fw_column_set_text(&column->unsure, text.bytes, err);
  fw_buffer_clear(&text);
  if (status != FURROW_OK) return status;
  column->scale = FW_SCALE_BINS;
  column->bins = (unsigned)bins;
  return FURROW_OK;
}

/* Two classes, which are 0 and 1 afterwards, or numbers. Several classes are neither. */
static bool settle_labels(const row_sample *s, bool *classes) {
  double least = INFINITY, most = -INFINITY;
  if (s->columns[0]->class_count > 2 || s->count < FEWEST_ROWS) return false;
  for (size_t i = 0; i < s->count; i++) {
    least = fmin(least, s->cells[i * s->slots]);
    most = fmax(most, s->cells[i * s->slots]);
  }
  *classes = true;
  for (size_t i = 0; *classes && i < s->count; i++)
    *classes = s->cells[i * s->slots] == least || s->cells[i * s->slots] == most;
  for (size_t i = 0; *classes && i < s->count; i++) s->cells[i * s->slots] = s->cells[i * s->slots] == most;
  return least < most;
}

static furrow_status judge_columns(const row_sample *s, fw_column *const *columns, furrow_error *err) {
  bool classes;
  number_label *rows = NULL;
  double *sorted = NULL;
  if (!settle_labels(s, &classes)) return FURROW_OK;
  furrow_status status = FW_ALLOC(&rows, s->count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&sorted, s->count, err);
  for (size_t c = 1; c < s->slots && status == FURROW_OK; c++) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
      const double *cells = s->cells + s->heap[i].at;
      if (!isnan(cells[c])) rows[count++] = (number_label){cells[c], cells[0]};
    }
    const size_t bins = count < MANY_ROWS ? FW_NUMBER_BINS : 2 * FW_NUMBER_BINS;
    if (count >= FEWEST_ROWS && is_curve(rows, count, bins, classes, sorted)) status = use_bins(columns[c], bins, err);
  }
  fw_free(rows);
  fw_free(sorted);
  return status;
}

/* ---- The proposal ---- */

static furrow_status find_curves(fw_table_source *source, fw_column *const *columns, size_t slots,
                                 const furrow_schema_propose_params *p, furrow_error *err) {
  const fw_table_scan_params threading = {.threads = p->threads, .max_line = p->max_line_bytes};
  const uint32_t threads = fw_table_scan_threads(&threading);
  const size_t most = MOST_CELLS / slots < MOST_ROWS ? MOST_CELLS / slots : MOST_ROWS;
  row_sample *samples = NULL;
  const char **names = NULL;
  furrow_status status = FW_ALLOC_ZERO(&samples, threads, err);
  if (status == FURROW_OK) status = FW_ALLOC(&names, slots, err);
  for (size_t i = 0; i < slots && status == FURROW_OK; i++) names[i] = columns[i]->name;
  for (uint32_t t = 0; t < threads && status == FURROW_OK; t++) {
    samples[t] = (row_sample){.columns = (const fw_column *const *)columns, .slots = slots, .most = most};
    status = FW_ALLOC(&samples[t].row, slots, err);
  }
  status = fw_comm_all_ok(p->comm, status, err);
  if (status == FURROW_OK) status = read_sample(source, names, p, samples, threads, err);
  if (status == FURROW_OK) status = judge_columns(&samples[0], columns, err);
  for (uint32_t t = 0; samples && t < threads; t++) clear_sample(&samples[t]);
  fw_free(samples);
  fw_free((void *)names);
  return status;
}

/* The label, then the numbers of the log that have one weight; tables that are joined are not read. */
static furrow_status propose_bins(const furrow_schema *schema, const char *uri, const furrow_schema_propose_params *p,
                                  furrow_error *err) {
  fw_table_source *source = NULL;
  fw_column **columns = NULL;
  size_t slots = 1;
  fw_column *label = fw_schema_of_kind(schema, FW_AS_LABEL);
  if (!label) return FURROW_OK;
  furrow_status status = FW_ALLOC(&columns, schema->count, err);
  if (status == FURROW_OK) status = fw_table_source_open(&source, uri, err);
  for (size_t i = 0; i < schema->count && status == FURROW_OK; i++) {
    fw_column *c = &schema->columns[i];
    const bool amount = c->kind == FW_AS_NUMBER && (c->scale == FW_SCALE_STANDARD || c->scale == FW_SCALE_LOG);
    if (amount && fw_table_layout_column(fw_table_source_layout(source), c->name) != SIZE_MAX) columns[slots++] = c;
  }
  status = fw_comm_all_ok(p->comm, status, err);
  const bool few = slots > 1 && slots < MOST_CELLS / FEWEST_ROWS;
  if (status == FURROW_OK && few && fw_table_source_repeats(source)) {
    columns[0] = label;
    status = find_curves(source, columns, slots, p, err);
  }
  fw_table_source_close(source);
  fw_free((void *)columns);
  return status;
}

furrow_status furrow_schema_propose(furrow_schema **schema, const char *uri, const furrow_schema_propose_params *params,
                                    furrow_error *err) {
  furrow_schema_propose_params p;
  furrow_schema *made = NULL;
  furrow_schema_propose_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_schema_propose_params, err));
  FW_TRY(fw_comm_of(&p.comm, p.comm, err));
  furrow_status status = fw_schema_propose(&made, uri, &p, err);
  if (status == FURROW_OK && p.bin_numbers) status = fw_comm_all_ok(p.comm, propose_bins(made, uri, &p, err), err);
  return FW_HAND_OVER(status, schema, made, furrow_schema_free);
}
