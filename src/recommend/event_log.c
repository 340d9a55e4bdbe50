/* recommend/event_log.c: the events of a log: cells of user and item, and the label. */
#include "recommend/event_log.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { SLOT_USER, SLOT_ITEM, SLOT_LABEL, SLOTS };

typedef struct reading {
  const fw_event_log *log;
  const fw_column *label; /* NULL: labels do not matter */
  fw_table *table;
} reading;

/* One thread. */
typedef struct reader {
  const reading *of;
  void *user;
  uint64_t below;
} reader;

bool fw_entries_find(const furrow_recommender *r, const fw_entries *entries, const fw_table_cell *cell,
                     uint64_t *number) {
  uint64_t index = 0;
  if (cell->kind != FW_TABLE_TEXT) return false;
  if (furrow_encoder_find(r->encoder, entries->field, cell->text, cell->length, &index, NULL) != FURROW_OK)
    return false;
  if (index < entries->first || index - entries->first >= entries->count) return false;
  *number = index - entries->first;
  return true;
}

static const char *read_label(const fw_column *column, const fw_table_cell *cell, double *label) {
  bool missing = false;
  for (size_t i = 0; i < column->class_count; i++)
    if (strlen(column->classes[i]) == cell->length && memcmp(column->classes[i], cell->text, cell->length) == 0) {
      *label = (double)i;
      return NULL;
    }
  if (column->class_count > 0) return "not a label of the schema";
  const char *wrong = fw_cell_number(cell, column, label, &missing);
  return !wrong && missing ? "the label is missing" : wrong;
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  reader *to = user;
  const reading *of = to->of;
  (void)piece;
  for (size_t i = 0; i < batch->records; i++) {
    const fw_table_cell *cells = batch->cells + i, *item = &cells[SLOT_ITEM * FW_TABLE_RECORDS];
    double label = 0;
    const char *wrong = of->label ? read_label(of->label, &cells[SLOT_LABEL * FW_TABLE_RECORDS], &label) : NULL;
    if (wrong)
      FW_TRY(fw_table_refuse(of->table, cursor, batch, SLOT_LABEL, i, wrong, err));
    else if (of->label && !(label >= of->log->params->from))
      to->below++;
    else
      FW_TRY(of->log->take(to->user, &cells[SLOT_USER * FW_TABLE_RECORDS], item, label, err));
  }
  return FURROW_OK;
}

static furrow_status open_table(reading *of, const fw_table_source *source, furrow_error *err) {
  bool absent[SLOTS] = {false};
  const furrow_recommender *r = of->log->r;
  const char *names[SLOTS] = {r->users.column, r->items.column, of->label ? of->label->name : NULL};
  const size_t slots = of->label ? SLOTS : SLOT_LABEL;
  FW_TRY(fw_table_create(&of->table, fw_table_source_layout(source), names, slots, absent, err));
  for (size_t i = 0; i < slots; i++) {
    if (!absent[i]) continue;
    fw_fail(err, FURROW_E_FORMAT, "there is no column %s, which the schema of the model names", names[i]);
    fw_error_set_file(err, of->log->uri);
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

static furrow_status scan(const reading *of, fw_table_source *source, void *const *users, uint64_t *below,
                          uint64_t *bad, furrow_error *err) {
  const furrow_events_params *given = of->log->params;
  const uint32_t threads = given->threads;
  const fw_table_scan_params params = {
      .threads = threads, .on_bad = given->on_bad, .progress = given->progress, .progress_user = given->progress_user};
  reader *readers = NULL;
  void **pointers = NULL;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_status status = fw_alloc_zero((void **)&readers, threads, sizeof *readers, err);
  if (status == FURROW_OK) status = fw_alloc((void **)&pointers, threads, sizeof *pointers, err);
  for (uint32_t i = 0; status == FURROW_OK && i < threads; i++) {
    readers[i] = (reader){.of = of, .user = users[i]};
    pointers[i] = &readers[i];
  }
  if (status == FURROW_OK) status = fw_table_scan(source, of->table, &params, pointers, take_batch, &stats, err);
  for (uint32_t i = 0; status == FURROW_OK && i < threads; i++) *below += readers[i].below;
  *bad = stats.bad_rows;
  fw_free(readers);
  fw_free((void *)pointers);
  return status;
}

static furrow_status find_label(reading *of, furrow_error *err) {
  const bool chosen = of->log->params->from != -HUGE_VAL;
  if (isnan(of->log->params->from)) return fw_fail(err, FURROW_E_ARGUMENT, "from is not a number");
  if (!chosen && !of->log->labels) return FURROW_OK;
  of->label = fw_schema_of_kind(of->log->r->encoder->schema, FW_AS_LABEL);
  if (of->label || !chosen) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the schema of the model has no label that events could be chosen by");
}

uint32_t fw_event_log_threads(unsigned threads) {
  return fw_table_scan_threads(&(fw_table_scan_params){.threads = threads});
}

furrow_status fw_event_log_read(const fw_event_log *log, void *const *users, uint64_t *below, uint64_t *bad,
                                furrow_error *err) {
  reading of = {.log = log};
  fw_table_source *source = NULL;
  FW_TRY(find_label(&of, err));
  furrow_status status = fw_table_source_open(&source, log->uri, err);
  if (status == FURROW_OK) status = open_table(&of, source, err);
  if (status == FURROW_OK) status = scan(&of, source, users, below, bad, err);
  fw_table_free(of.table);
  fw_table_source_close(source);
  return status;
}
