/* rows/encode/number_curves.c: proposes bins for numbers whose effect on the label is not a straight line. A linear
 * model learns one weight for a number, or one for each of its bins; both are fitted to half of a sample of the rows,
 * for each number alone, and compared on the other half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "rows/encode/curve_test.h"
#include "rows/encode/encoder.h"
#include "rows/encode/learn_fields.h"
#include "rows/schema/column_names.h"
#include "rows/schema/propose.h"

enum {
  MOST_ROWS = 50000,   /* that are sampled */
  MOST_CELLS = 1 << 20 /* of these rows */
};

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
  if (s->columns[0]->class_count > 2 || s->count < FW_CURVE_ROWS) return false;
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
  fw_number_label *rows = NULL;
  double *sorted = NULL;
  if (!settle_labels(s, &classes)) return FURROW_OK;
  furrow_status status = FW_ALLOC(&rows, s->count, err);
  if (status == FURROW_OK) status = FW_ALLOC(&sorted, s->count, err);
  for (size_t c = 1; c < s->slots && status == FURROW_OK; c++) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
      const double *cells = s->cells + s->heap[i].at;
      if (!isnan(cells[c])) rows[count++] = (fw_number_label){cells[c], cells[0]};
    }
    if (fw_number_is_curve(rows, count, classes, sorted)) status = use_bins(columns[c], fw_curve_bins(count), err);
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
  const bool few = slots > 1 && slots < MOST_CELLS / FW_CURVE_ROWS;
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

/* ---- Tables of numbers ---- */

/* Whether the data is csv, which is rows of numbers without a schema. */
static furrow_status is_csv(const char *uri, bool *csv, furrow_error *err) {
  furrow_parser *parser = NULL;
  bool can = false, log = false;
  FW_TRY(fw_table_can_look(uri, &can, err));
  if (can) FW_TRY(furrow_table_needs_schema(uri, &log, err));
  if (!can || log) return FURROW_OK;
  FW_TRY(furrow_parser_open_part(&parser, uri, 0, 1, "auto", err));
  *csv = strcmp(furrow_parser_format(parser), "csv") == 0;
  furrow_parser_close(parser);
  return FURROW_OK;
}

/* The label is a column that is named, or that has the name of one, as in csv; a column of numbers is in bins. */
static bool has_bins(const furrow_schema *schema, bool named) {
  const fw_column *found = fw_schema_of_kind(schema, FW_AS_LABEL);
  bool bins = false;
  for (size_t i = 0; i < schema->count; i++)
    bins |= schema->columns[i].kind == FW_AS_NUMBER && schema->columns[i].scale == FW_SCALE_BINS;
  return bins && found && (named || fw_label_name_priority(found->name) != SIZE_MAX);
}

/* Columns that are named by their numbers, as csv's may be, get their names. */
static void name_columns(const fw_table_layout *layout, furrow_schema_propose_params *p) {
  const char **const columns[] = {&p->label, &p->weight};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
    const size_t found = *columns[i] && **columns[i] ? fw_table_layout_column(layout, *columns[i]) : SIZE_MAX;
    if (found != SIZE_MAX) *columns[i] = layout->names[found];
  }
}

static furrow_status propose_of_csv(furrow_schema **schema, const char *uri, furrow_schema_propose_params *p,
                                    furrow_error *err) {
  fw_table_source *source = NULL;
  furrow_schema *made = NULL;
  const bool named = p->label != NULL;
  FW_TRY(fw_comm_all_ok(p->comm, fw_table_source_open(&source, uri, err), err));
  name_columns(fw_table_source_layout(source), p);
  furrow_status status = furrow_schema_propose(&made, uri, p, err);
  if (status == FURROW_OK && has_bins(made, named))
    *schema = made;
  else
    furrow_schema_free(made);
  fw_table_source_close(source);
  return status;
}

furrow_status furrow_schema_propose_bins(furrow_schema **schema, const char *uri,
                                         const furrow_schema_propose_params *params, furrow_error *err) {
  furrow_schema_propose_params p;
  furrow_schema *made = NULL;
  bool csv = false;
  furrow_schema_propose_params_init(&p);
  FW_TRY(FW_PARAMS_READ(&p, params, furrow_schema_propose_params, err));
  const char **const roles[] = {&p.weight, &p.group, &p.user, &p.item, &p.time};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (!*roles[i]) *roles[i] = "";
  p.amounts = p.bin_numbers = true;
  FW_TRY(fw_comm_of(&p.comm, p.comm, err));
  FW_TRY(fw_comm_all_ok(p.comm, is_csv(uri, &csv, err), err));
  if (csv) FW_TRY(propose_of_csv(&made, uri, &p, err));
  *schema = made;
  return FURROW_OK;
}
