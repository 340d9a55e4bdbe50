/* rows/table_split.c: copies the records of a log to several files: by user and time, or at random, alone or
 * in groups.
 *
 * By time, a first pass notes user and time of each record (32 bytes), a sort (as much again) finds the last ones (a
 * byte each), and a second pass copies. Records of one time are in the order of the log; if the first records show that
 * the log is sorted by item or label, they are in random order instead. At random, the file of a group depends only on
 * the group's hash: one pass.
 *
 * With several ranks, each reads a part. By time, all events of a user go to one rank, which tells the other ranks
 * which of their records are the last. At random, the numbers of records continue from part to part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "base/params.h"
#include "base/rng.h"
#include "base/suggestion.h"
#include "furrow/table.h"
#include "io/atomic_file.h"
#include "io/file_system.h"
#include "io/input.h"
#include "kern/text/time_cell.h"
#include "rows/schema/column_names.h"
#include "rows/table/table_reader.h"
#include "rows/table/tie_order.h"

enum { MOST_FILES = 64 };

typedef struct event {
  uint64_t user; /* hash of the user: among a billion users two may share one, and are then split as one */
  double time;
  uint64_t tie; /* order of records with the same time; 0: the order of the log */
  uint64_t record;
} event;

typedef struct table_split {
  furrow_table_split_params params;
  const furrow_comm *comm;
  fw_table_source *source;
  fw_table *table;

  /* first pass */
  event *events;
  size_t count, capacity;
  fw_time_unit unit; /* unit of the times; FW_UNIT_SECONDS: any number */
  bool unit_known;
  bool order_needed;            /* a date has numbers for the day and the month, and the order is not known */
  int64_t by_day, by_month;     /* dates with the day first, and with the month first */
  int64_t dotted;               /* of them, those such as 31.5.2024 */
  size_t item_slot, label_slot; /* slots of columns by which the log may be sorted, judged by their names; 0: none */
  uint64_t before;              /* records of the ranks before this one */
  uint8_t *to;                  /* for each record of this rank its file */

  /* copying */
  fw_atomic_file *files[MOST_FILES];
  uint64_t rows[MOST_FILES];
  double bounds[MOST_FILES]; /* cumulative shares */
  size_t nfiles;
  uint64_t copied;
  bool headed;
  fw_buffer line;      /* typed columns: the text of a record */
  size_t first_copied; /* slot of the first of all columns, of typed columns */
} table_split;

/* ---- First pass: users and times ---- */

/* Slots of the cells. */
enum { SLOT_TIME = 0, SLOT_GROUP = 0, SLOT_USER = 1, MOST_SLOTS = 4 };

static const fw_table_cell *cell_of(const fw_table_batch *batch, size_t slot, size_t record) {
  return &fw_table_cells(batch, slot)[record];
}

static furrow_status refuse_cell(const table_split *s, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                 size_t slot, size_t record, const char *message, furrow_error *err) {
  /* a skipped record would have to be skipped in the second pass, too: so bad cells are always errors */
  fw_table_cursor strict = *cursor;
  strict.on_bad = FURROW_ON_BAD_ERROR;
  return fw_table_refuse(s->table, &strict, batch, slot, record, message, err);
}

static bool is_ordered(const fw_table_cell *cell, fw_time_unit order) {
  double time;
  return fw_time_parse(cell->text, cell->length, order, &time);
}

static bool is_ordered_either(const fw_table_cell *cell) {
  return is_ordered(cell, FW_UNIT_DAY_FIRST) || is_ordered(cell, FW_UNIT_MONTH_FIRST);
}

/* The first time decides whether times are numbers or dates. */
static bool read_time(table_split *s, const fw_table_cell *cell, double *time) {
  if (!s->unit_known) s->unit = is_ordered_either(cell) ? FW_UNIT_TEXT : FW_UNIT_SECONDS;
  s->unit_known = true;
  if (cell->kind != FW_TABLE_TEXT) return false;
  if (fw_time_unit_is_text(s->unit)) {
    if (fw_time_parse(cell->text, cell->length, s->unit, time)) return true;
    s->order_needed |= s->unit == FW_UNIT_TEXT && is_ordered_either(cell);
    return s->order_needed;
  }
  /* nanoseconds are too large to be a time in seconds */
  return fw_time_parse(cell->text, cell->length, FW_UNIT_NANOS, time);
}

static furrow_status note_event(table_split *s, const fw_table_cursor *cursor, const fw_table_batch *batch, size_t r,
                                furrow_error *err) {
  event e = {.record = s->count};
  if (!read_time(s, cell_of(batch, SLOT_TIME, r), &e.time))
    return refuse_cell(s, cursor, batch, SLOT_TIME, r,
                       !fw_time_unit_is_text(s->unit) || (s->count == 0 && s->comm->rank == 0)
                           ? "not a time: a number, or a date"
                       : s->unit == FW_UNIT_TEXT      ? "not a date, as the first one is"
                       : s->unit == FW_UNIT_DAY_FIRST ? "not a date with the day first, as most of them are"
                                                      : "not a date with the month first, as most of them are",
                       err);
  if (s->params.user) {
    const fw_table_cell *user = cell_of(batch, SLOT_USER, r);
    if (user->kind == FW_TABLE_MISSING) return refuse_cell(s, cursor, batch, SLOT_USER, r, "no user", err);
    e.user = XXH3_64bits(user->text, user->length);
  }
  if (s->item_slot) {
    const fw_table_cell *item = cell_of(batch, s->item_slot, r);
    e.tie = XXH3_64bits_withSeed(item->text, item->length, e.user);
  }
  const furrow_status status = FW_GROW(&s->events, &s->capacity, s->count + 1, err);
  if (status == FURROW_OK) s->events[s->count++] = e;
  return status;
}

/* Stops the scan at the first record. */
static furrow_status note_unit(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                               furrow_error *err) {
  double time;
  (void)piece, (void)cursor;
  (void)read_time(user, cell_of(batch, SLOT_TIME, 0), &time);
  return fw_fail(err, FURROW_E_CANCELLED, "the first record is enough");
}

static furrow_status count_records(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                   const fw_table_batch *batch, furrow_error *err) {
  (void)piece, (void)cursor, (void)err;
  ((table_split *)user)->count += batch->records;
  return FURROW_OK;
}

static furrow_status note_events(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                 furrow_error *err) {
  (void)piece;
  for (size_t r = 0; r < batch->records; r++) FW_TRY(note_event(user, cursor, batch, r, err));
  return FURROW_OK;
}

/* Counts the dates that show the order of day and month. */
static furrow_status count_orders(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                  const fw_table_batch *batch, furrow_error *err) {
  table_split *s = user;
  (void)piece, (void)cursor, (void)err;
  for (size_t r = 0; r < batch->records; r++) {
    const fw_table_cell *cell = cell_of(batch, SLOT_TIME, r);
    if (is_ordered(cell, FW_UNIT_TEXT)) continue;
    const bool day = is_ordered(cell, FW_UNIT_DAY_FIRST), month = is_ordered(cell, FW_UNIT_MONTH_FIRST);
    s->by_day += day;
    s->by_month += month;
    s->dotted += day && (cell->text[1] == '.' || cell->text[2] == '.');
  }
  return FURROW_OK;
}

/* Compares by user, then by time, then by the order of ties, then by the order of the log. */
static int compare_events(const void *a, const void *b) {
  const event *x = a, *y = b;
  if (x->user != y->user) return x->user < y->user ? -1 : 1;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->tie != y->tie) return x->tie < y->tie ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

/* ---- What the log is sorted by ---- */

enum {
  SAMPLED = 100000, /* number of first records that each rank examines: all ranks get the same result */
  FEWEST_TIES = 20  /* neighbours of one time that show an order */
};

typedef struct sampled_event {
  event event;
  size_t item; /* where the text is */
  double label;
} sampled_event;

typedef struct tie_sample {
  table_split *split;
  sampled_event *events;
  size_t count, capacity;
  fw_buffer texts; /* each ends with a 0 */
} tie_sample;

static furrow_status sample_event(tie_sample *sample, const fw_table_batch *batch, size_t r, furrow_error *err) {
  table_split *s = sample->split;
  const fw_table_cell *item = cell_of(batch, s->item_slot, r);
  sampled_event e = {.event = {.record = sample->count}, .item = sample->texts.size};
  if (!read_time(s, cell_of(batch, SLOT_TIME, r), &e.event.time)) return FURROW_OK;
  if (s->params.user) {
    const fw_table_cell *user = cell_of(batch, SLOT_USER, r);
    e.event.user = XXH3_64bits(user->text, user->length);
  }
  if (s->label_slot) {
    const fw_table_cell *label = cell_of(batch, s->label_slot, r);
    if (fw_read_f64(label->text, label->text + label->length, &e.label) != label->text + label->length) e.label = 0;
  }
  fw_buffer_append(&sample->texts, item->text, item->length);
  fw_buffer_byte(&sample->texts, 0);
  FW_TRY(fw_buffer_status(&sample->texts, err));
  FW_TRY(FW_GROW(&sample->events, &sample->capacity, sample->count + 1, err));
  sample->events[sample->count++] = e;
  return FURROW_OK;
}

/* Stops the scan after enough records. */
static furrow_status sample_events(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                   const fw_table_batch *batch, furrow_error *err) {
  tie_sample *sample = user;
  (void)piece, (void)cursor;
  for (size_t r = 0; r < batch->records && sample->count < SAMPLED; r++) FW_TRY(sample_event(sample, batch, r, err));
  return sample->count < SAMPLED ? FURROW_OK : fw_fail(err, FURROW_E_CANCELLED, "these records are enough");
}

static int compare_sampled(const void *a, const void *b) {
  return compare_events(&((const sampled_event *)a)->event, &((const sampled_event *)b)->event);
}

static int compare_items(const void *a, const void *b, void *texts) {
  const sampled_event *x = a, *y = b;
  const int order = strcmp((const char *)texts + x->item, (const char *)texts + y->item);
  return order != 0 ? order : (x->event.record > y->event.record) - (x->event.record < y->event.record);
}

/* Whether records of the same user and time, of which there are enough, are sorted by item or label. */
static bool ties_are_sorted(tie_sample *sample) {
  const char *texts = sample->texts.bytes;
  fw_tie_order order = {0};
  if (sample->count > 1) qsort(sample->events, sample->count, sizeof *sample->events, compare_sampled);
  for (size_t i = 1; i < sample->count; i++) {
    const sampled_event *a = &sample->events[i - 1], *b = &sample->events[i];
    if (a->event.user == b->event.user && a->event.time == b->event.time)
      fw_tie_order_add(&order, texts + a->item, a->label, texts + b->item, b->label);
  }
  return fw_tie_order_pairs(&order) >= FEWEST_TIES && fw_tie_order_is_sorted(&order);
}

/* Whether the records of each item are adjacent in the log, with several records per item. */
static furrow_status items_follow(tie_sample *sample, bool *follow, furrow_error *err) {
  fw_item_rows *rows = NULL;
  size_t items = 0;
  FW_TRY(FW_ALLOC(&rows, sample->count, err));
  if (sample->count > 1)
    qsort_r(sample->events, sample->count, sizeof *sample->events, compare_items, sample->texts.bytes);
  for (size_t i = 0; i < sample->count; i++) {
    const sampled_event *e = &sample->events[i];
    const bool same = i > 0 && strcmp(sample->texts.bytes + e->item, sample->texts.bytes + e[-1].item) == 0;
    if (!same) rows[items++].first = e->event.record;
    rows[items - 1].last = e->event.record;
  }
  *follow = items > 1 && sample->count >= 2 * items && sample->count >= FEWEST_TIES && fw_items_follow(rows, items);
  fw_free(rows);
  return FURROW_OK;
}

/* Whether the log is sorted by something else than time. The unit of the times is known. */
static furrow_status find_sorting(table_split *s, bool *sorted, furrow_error *err) {
  tie_sample sample = {.split = s};
  void *users[] = {&sample};
  const fw_table_scan_params params = {.threads = 1, .on_bad = s->params.on_bad};
  furrow_status status = fw_table_scan(s->source, s->table, &params, users, sample_events, NULL, err);
  if (status == FURROW_E_CANCELLED || status == FURROW_E_PARSE) status = FURROW_OK; /* mistakes will be found again */
  *sorted = status == FURROW_OK && ties_are_sorted(&sample);
  if (status == FURROW_OK && !*sorted) status = items_follow(&sample, sorted, err);
  fw_free(sample.events);
  fw_buffer_clear(&sample.texts);
  return status;
}

/* Puts records of one time into the order of the log, unless the log is sorted by something else. */
static furrow_status order_ties(table_split *s, furrow_error *err) {
  bool sorted = false;
  if (!s->item_slot) return FURROW_OK;
  FW_TRY(fw_comm_all_ok(s->comm, find_sorting(s, &sorted, err), err));
  for (size_t i = 0; i < s->count && !sorted; i++) s->events[i].tie = 0;
  return FURROW_OK;
}

/* ---- The last records ---- */

/* How many of n rows are the last ones; the first file keeps at least one. */
static size_t count_last(double last, size_t n) {
  const double wanted = last < 1 ? floor((double)n * last + 0.5) : last;
  return wanted < (double)(n - 1) ? (size_t)wanted : n - 1;
}

/* Sorts the events of whole users and calls last(user, record) for each of their last records. */
static void choose_last(event *events, size_t count, double share, void (*last)(void *user, uint64_t record),
                        void *user) {
  if (count > 1) qsort(events, count, sizeof *events, compare_events);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && events[end].user == events[i].user;) end++;
    for (size_t k = end - count_last(share, end - i); k < end; k++) last(user, events[k].record);
  }
}

static void mark_last(void *user, uint64_t record) {
  table_split *s = user;
  s->to[record - s->before] = 1;
}

/* ---- The last records of several ranks ---- */

/* Where the records of each rank begin, and the last records of the users that this rank owns. */
typedef struct last_records {
  const furrow_comm *comm;
  uint64_t *begins; /* ranks + 1 */
  fw_buffer *of;    /* for each rank the numbers of its last records, as u64 */
} last_records;

static void list_last(void *user, uint64_t record) {
  const last_records *l = user;
  unsigned r = 0;
  while (record >= l->begins[r + 1]) r++;
  fw_buffer_append(&l->of[r], &record, sizeof record);
}

/* The rank that owns all events of a user; without users, the first rank. */
static unsigned rank_of(const table_split *s, const event *e) {
  return s->params.user ? (unsigned)(e->user % s->comm->ranks) : 0;
}

/* Sends each part to its rank; the caller frees *received. */
static furrow_status send_parts(const furrow_comm *comm, fw_buffer *parts, void **received, size_t *total,
                                furrow_error *err) {
  fw_buffer all = {0};
  size_t *send = NULL;
  furrow_status status = FW_ALLOC(&send, 2 * (size_t)comm->ranks, err);
  size_t *receive = send + comm->ranks;
  for (unsigned r = 0; r < comm->ranks; r++) {
    if (status == FURROW_OK) status = fw_buffer_status(&parts[r], err);
    if (status == FURROW_OK) send[r] = parts[r].size;
    fw_buffer_append(&all, parts[r].bytes, parts[r].size);
    fw_buffer_clear(&parts[r]);
  }
  if (status == FURROW_OK) status = fw_buffer_status(&all, err);
  status = fw_comm_all_ok(comm, status, err);
  if (status == FURROW_OK) status = fw_comm_exchange_all(comm, all.bytes, send, received, receive, err);
  *total = 0;
  for (unsigned r = 0; r < comm->ranks && status == FURROW_OK; r++) *total += receive[r];
  fw_buffer_clear(&all);
  fw_free(send);
  return status;
}

/* Sends users' events to their ranks, and numbers of records back. */
static furrow_status exchange_last(table_split *s, last_records *l, furrow_error *err) {
  void *received = NULL;
  size_t bytes = 0;
  for (size_t i = 0; i < s->count; i++) {
    s->events[i].record += s->before;
    fw_buffer_append(&l->of[rank_of(s, &s->events[i])], &s->events[i], sizeof *s->events);
  }
  fw_free(s->events);
  s->events = NULL;
  FW_TRY(send_parts(s->comm, l->of, &received, &bytes, err));
  choose_last(received, bytes / sizeof(event), s->params.last, list_last, l);
  fw_free(received);
  FW_TRY(send_parts(s->comm, l->of, &received, &bytes, err));
  const uint64_t *records = received;
  for (size_t i = 0; i < bytes / sizeof *records; i++) mark_last(s, records[i]);
  fw_free(received);
  return FURROW_OK;
}

static furrow_status find_begins(table_split *s, uint64_t *begins, furrow_error *err) {
  void *memory = NULL;
  size_t bytes = 0;
  FW_TRY(fw_comm_gather_all(s->comm, &(uint64_t){s->count}, sizeof(uint64_t), &memory, &bytes, NULL, err));
  const uint64_t *counts = memory;
  begins[0] = 0;
  for (unsigned r = 0; r < s->comm->ranks; r++) begins[r + 1] = begins[r] + counts[r];
  s->before = begins[s->comm->rank];
  fw_free(memory);
  return FURROW_OK;
}

static furrow_status choose_last_of_ranks(table_split *s, furrow_error *err) {
  const size_t ranks = s->comm->ranks;
  uint64_t *begins = NULL;
  fw_buffer *of = NULL;
  furrow_status status = FW_ALLOC(&begins, ranks + 1, err);
  if (status == FURROW_OK) status = FW_ALLOC_ZERO(&of, ranks, err);
  last_records l = {s->comm, begins, of};
  status = fw_comm_all_ok(s->comm, status, err);
  if (status == FURROW_OK) status = find_begins(s, begins, err);
  if (status == FURROW_OK) status = exchange_last(s, &l, err);
  for (size_t r = 0; of && r < ranks; r++) fw_buffer_clear(&l.of[r]);
  fw_free(begins);
  fw_free(of);
  return status;
}

/* ---- Copying ---- */

/* Returns the end of the record that begins at `line`, including its line end. */
static const char *record_end(const fw_table_layout *layout, const char *line, const char *end) {
  const fw_cell_rules rules = {.delimiter = layout->delimiter,
                               .quotes = layout->kind == FW_TABLE_DELIMITED && layout->quotes};
  const char *stop = fw_cell_record_end(&rules, !layout->multiline, line, end);
  return stop ? fw_cell_line_begin(stop, end) : end;
}

static size_t file_of_hash(const table_split *s, uint64_t hash) {
  const double chance = ldexp((double)(fw_rng_hash(s->params.seed, hash) >> 11), -53);
  size_t i = 0;
  while (i + 1 < s->nfiles && chance >= s->bounds[i]) i++;
  return i;
}

static furrow_status find_file(const table_split *s, const fw_table_cursor *cursor, const fw_table_batch *batch,
                               size_t r, size_t *file, furrow_error *err) {
  if (!s->params.time && !s->params.group) {
    *file = file_of_hash(s, s->before + s->copied);
    return FURROW_OK;
  }
  if (!s->params.group) {
    if (s->copied >= s->count) return fw_fail(err, FURROW_E_FORMAT, "the log changed while it was read");
    *file = s->to[s->copied];
    return FURROW_OK;
  }
  const fw_table_cell *cell = cell_of(batch, SLOT_GROUP, r);
  if (cell->kind == FW_TABLE_MISSING) return refuse_cell(s, cursor, batch, SLOT_GROUP, r, "no group", err);
  *file = file_of_hash(s, XXH3_64bits(cell->text, cell->length));
  return FURROW_OK;
}

/* ---- Typed columns are written as csv ---- */

/* Appends a cell, in quotes where it needs them; lists have | between their elements. */
static void append_cell(fw_buffer *line, const char *text, size_t length, bool list) {
  bool quotes =
      length > 0 && (text[0] == ' ' || text[0] == '\t' || text[length - 1] == ' ' || text[length - 1] == '\t');
  for (size_t i = 0; i < length; i++) quotes |= strchr(",\"\r\n", text[i]) != NULL && text[i] != 0;
  if (quotes) fw_buffer_byte(line, '"');
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '"') fw_buffer_byte(line, '"');
    fw_buffer_byte(line, list && text[i] == FW_TABLE_LIST_SEPARATOR ? '|' : text[i]);
  }
  if (quotes) fw_buffer_byte(line, '"');
}

static furrow_status write_names(table_split *s, furrow_error *err) {
  const fw_table_layout *layout = fw_table_get_layout(s->table);
  for (size_t i = 0; i < layout->columns; i++) {
    if (i > 0) fw_buffer_byte(&s->line, ',');
    append_cell(&s->line, layout->names[i], strlen(layout->names[i]), false);
  }
  fw_buffer_byte(&s->line, '\n');
  return fw_buffer_status(&s->line, err);
}

static furrow_status write_cells(table_split *s, const fw_table_batch *batch, size_t r, furrow_error *err) {
  const size_t columns = fw_table_get_layout(s->table)->columns;
  fw_buffer_reset(&s->line);
  for (size_t i = 0; i < columns; i++) {
    const fw_table_cell *cell = cell_of(batch, s->first_copied + i, r);
    if (i > 0) fw_buffer_byte(&s->line, ',');
    append_cell(&s->line, cell->text, cell->length, cell->kind == FW_TABLE_LIST);
  }
  if (columns == 1 && s->line.size == 0) fw_buffer_text(&s->line, "\"\""); /* a blank line is not a record */
  fw_buffer_byte(&s->line, '\n');
  return fw_buffer_status(&s->line, err);
}

static bool is_typed(const table_split *s) {
  return fw_table_get_layout(s->table)->kind == FW_TABLE_COLUMNS;
}

/* ---- Records ---- */

/* Every file gets the header of the log's first file. */
static furrow_status copy_header(table_split *s, const fw_table_cursor *cursor, furrow_error *err) {
  const fw_table_layout *layout = fw_table_get_layout(s->table);
  size_t head = 0;
  if (s->headed || !layout->header) return FURROW_OK;
  if (layout->kind == FW_TABLE_COLUMNS) {
    fw_buffer_reset(&s->line);
    FW_TRY(write_names(s, err));
    for (size_t i = 0; i < s->nfiles; i++) FW_TRY(fw_atomic_file_write(s->files[i], s->line.bytes, s->line.size, err));
    s->headed = true;
    return FURROW_OK;
  }
  if (cursor->offset != 0) return fw_fail(err, FURROW_E_UNSUPPORTED, "the header is too long to be copied");
  FW_TRY(fw_table_layout_skip_head(layout, cursor->text, cursor->length, &head, err));
  for (size_t i = 0; i < s->nfiles; i++) FW_TRY(fw_atomic_file_write(s->files[i], cursor->text, head, err));
  s->headed = true;
  return FURROW_OK;
}

static furrow_status copy_records(void *user, uint64_t piece, const fw_table_cursor *cursor,
                                  const fw_table_batch *batch, furrow_error *err) {
  table_split *s = user;
  (void)piece;
  FW_TRY(copy_header(s, cursor, err));
  for (size_t r = 0; r < batch->records; r++) {
    const char *line = cursor->text + (batch->begins[r] - cursor->offset);
    const char *end = line;
    size_t file = 0;
    if (is_typed(s)) {
      FW_TRY(write_cells(s, batch, r, err));
      line = s->line.bytes;
      end = line + s->line.size;
    } else {
      end = record_end(fw_table_get_layout(s->table), line, cursor->text + cursor->length);
    }
    FW_TRY(find_file(s, cursor, batch, r, &file, err));
    FW_TRY(fw_atomic_file_write(s->files[file], line, (size_t)(end - line), err));
    s->rows[file]++;
    s->copied++;
  }
  return FURROW_OK;
}

/* ---- The whole split ---- */

/* Scans in the order of the log, with one thread per rank. If one rank fails, all fail. */
static furrow_status scan_log(table_split *s, fw_table_take *take, furrow_error *err) {
  void *users[] = {s};
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  const fw_table_scan_params params = {.threads = 1,
                                       .on_bad = s->params.on_bad,
                                       .part = s->comm->rank,
                                       .nparts = s->comm->ranks,
                                       .progress = s->params.progress,
                                       .progress_user = s->params.progress_user};
  const furrow_status status = fw_table_scan(s->source, s->table, &params, users, take, &stats, err);
  FW_TRY(fw_comm_all_ok(s->comm, status, err));
  FW_TRY(fw_rank_stats_join(s->comm, &stats, err));
  if (s->params.stats) fw_info_write(s->params.stats, &stats, sizeof stats);
  return FURROW_OK;
}

/* The first record of the whole log decides the unit of times. */
static void find_unit(table_split *s) {
  void *users[] = {s};
  const fw_table_scan_params params = {.threads = 1, .on_bad = s->params.on_bad};
  furrow_error ignored; /* errors before the first record will be found again */
  if (s->comm->ranks > 1) (void)!fw_table_scan(s->source, s->table, &params, users, note_unit, NULL, &ignored);
}

/* Decides whether the day or the month comes first, by the rule of a proposed schema: the order that fits more dates;
 * where both fit all of them, the day before points, else the month. */
static furrow_status find_order(table_split *s, furrow_error *err) {
  int64_t needed = s->order_needed;
  FW_TRY(fw_comm_sum_i64(s->comm, &needed, 1, err));
  if (!needed) return FURROW_OK;
  FW_TRY(scan_log(s, count_orders, err));
  int64_t counts[] = {s->by_day, s->by_month, s->dotted};
  FW_TRY(fw_comm_sum_i64(s->comm, counts, 3, err));
  const bool day = counts[0] > counts[1] || (counts[0] == counts[1] && counts[2] == counts[0]);
  s->unit = day ? FW_UNIT_DAY_FIRST : FW_UNIT_MONTH_FIRST;
  s->order_needed = false;
  s->count = 0;
  return scan_log(s, note_events, err);
}

static furrow_status check_time(const furrow_table_split_params *p, size_t count, furrow_error *err) {
  if (p->group || p->shares) return fw_fail(err, FURROW_E_ARGUMENT, "group: either time or group decides, not both");
  if (!(p->last > 0) || isinf(p->last) || (p->last >= 1 && p->last != floor(p->last)))
    return fw_fail(err, FURROW_E_ARGUMENT, "last: %g is neither a share below 1 nor a number of rows", p->last);
  if (count != 2) return fw_fail(err, FURROW_E_ARGUMENT, "paths: a split by time makes two files, not %zu", count);
  return FURROW_OK;
}

static furrow_status check_group(table_split *s, furrow_error *err) {
  const furrow_table_split_params *p = &s->params;
  double sum = 0;
  if (!p->group && !p->shares) return fw_fail(err, FURROW_E_ARGUMENT, "time, group, shares: one of them must be set");
  if (p->user) return fw_fail(err, FURROW_E_ARGUMENT, "user: needs a time");
  if (!p->shares) return fw_fail(err, FURROW_E_ARGUMENT, "shares: there are none");
  if (s->nfiles < 2 || s->nfiles > MOST_FILES)
    return fw_fail(err, FURROW_E_ARGUMENT, "paths: from 2 to %d files, not %zu", MOST_FILES, s->nfiles);
  for (size_t i = 0; i < s->nfiles; i++) {
    if (!(p->shares[i] > 0)) return fw_fail(err, FURROW_E_ARGUMENT, "shares: %g is not positive", p->shares[i]);
    s->bounds[i] = sum += p->shares[i];
  }
  if (fabs(sum - 1) > 1e-6) return fw_fail(err, FURROW_E_ARGUMENT, "shares: they add up to %g, not to 1", sum);
  return FURROW_OK;
}

static furrow_status refuse_column(const fw_table_layout *layout, const char *name, furrow_error *err) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  fw_fail(err, FURROW_E_ARGUMENT, "there is no column %s", name);
  for (size_t i = 0; i < layout->columns && strlen(name) <= FW_SUGGESTION_LENGTH; i++)
    fw_suggestion_offer(&suggestion, name, layout->names[i]);
  if (fw_suggestion_is_near(&suggestion, name)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return FURROW_E_ARGUMENT;
}

static size_t priority_of_item(const char *name) {
  return fw_role_name_priority(FW_ROLE_ITEM, name);
}

/* The column with the best name, apart from the time and the user; NULL: there is none. */
static const char *find_named(const table_split *s, const fw_table_layout *layout, size_t (*priority)(const char *)) {
  const char *best = NULL;
  for (size_t i = 0; i < layout->columns; i++) {
    const char *name = layout->names[i];
    if (priority(name) == SIZE_MAX || strcmp(name, s->params.time) == 0) continue;
    if (s->params.user && strcmp(name, s->params.user) == 0) continue;
    if (!best || priority(name) < priority(best)) best = name;
  }
  return best;
}

/* All columns have slots, because their cells are written. */
static furrow_status open_typed(table_split *s, const fw_table_layout *layout, const char *const *names, size_t slots,
                                furrow_error *err) {
  const char **all;
  FW_TRY(FW_ALLOC(&all, slots + layout->columns, err));
  for (size_t i = 0; i < slots; i++) all[i] = names[i];
  for (size_t i = 0; i < layout->columns; i++) all[slots + i] = layout->names[i];
  s->first_copied = slots;
  const furrow_status status = fw_table_create(&s->table, layout, all, slots + layout->columns, NULL, err);
  fw_free((void *)all);
  return status;
}

static furrow_status open_table(table_split *s, const char *uri, furrow_error *err) {
  const char *names[MOST_SLOTS] = {s->params.group ? s->params.group : s->params.time, s->params.user};
  size_t slots = s->params.user ? 2 : names[0] ? 1 : 0;
  FW_TRY(fw_table_source_open(&s->source, uri, err));
  const fw_table_layout *layout = fw_table_source_layout(s->source);
  if (s->params.time) {
    const char *item = find_named(s, layout, priority_of_item), *label = find_named(s, layout, fw_label_name_priority);
    if (item) names[s->item_slot = slots++] = item;
    if (item && label) names[s->label_slot = slots++] = label;
  }
  for (size_t i = 0; i < slots; i++)
    if (fw_table_layout_column(layout, names[i]) == SIZE_MAX) return refuse_column(layout, names[i], err);
  if (layout->kind == FW_TABLE_COLUMNS) return open_typed(s, layout, names, slots, err);
  return fw_table_create(&s->table, layout, names, slots, NULL, err);
}

static furrow_status open_files(table_split *s, const char *const *paths, furrow_error *err) {
  for (size_t i = 0; i < s->nfiles; i++) {
    const char *path = paths[i];
    FW_TRY(fw_path_to_write(&path, err));
    FW_TRY(fw_atomic_file_open_ranks(&s->files[i], path, s->comm, err));
    if (!s->params.overwrite) fw_atomic_file_keep_existing(s->files[i]);
  }
  return FURROW_OK;
}

/* With several ranks, the first one begins all files, even if it has no records. */
static furrow_status write_head(table_split *s, furrow_error *err) {
  fw_buffer head = {0};
  if (s->comm->ranks == 1) return FURROW_OK;
  const bool wanted = fw_comm_is_first(s->comm) && fw_table_get_layout(s->table)->header;
  furrow_status status = FURROW_OK;
  if (wanted && is_typed(s)) {
    status = write_names(s, err);
    fw_buffer_append(&head, s->line.bytes, s->line.size);
    if (status == FURROW_OK) status = fw_buffer_status(&head, err);
  } else if (wanted) {
    status = fw_table_source_head(s->source, &head, err);
  }
  for (size_t i = 0; i < s->nfiles && status == FURROW_OK; i++)
    status = fw_atomic_file_write(s->files[i], head.bytes, head.size, err);
  fw_buffer_clear(&head);
  s->headed = true;
  return status;
}

/* Called before anything is read. */
static furrow_status check_paths(const table_split *s, const char *const *paths, furrow_error *err) {
  for (size_t i = 0; i < s->nfiles; i++) {
    const char *path = paths[i];
    FW_TRY(fw_path_to_write(&path, err));
    if (s->params.overwrite || !fw_path_exists(path)) continue;
    fw_fail(err, FURROW_E_EXISTS, "exists already");
    fw_error_set_file(err, path);
    return FURROW_E_EXISTS;
  }
  return FURROW_OK;
}

static furrow_status commit_files(table_split *s, const char *const *paths, furrow_error *err) {
  const bool changed = s->params.time && s->copied != s->count;
  FW_TRY(fw_comm_all_ok(s->comm,
                        changed ? fw_fail(err, FURROW_E_FORMAT, "the log changed while it was read") : FURROW_OK, err));
  FW_TRY(fw_comm_sum_i64(s->comm, (int64_t *)s->rows, s->nfiles, err));
  for (size_t i = 0; i < s->nfiles; i++) {
    if (s->rows[i] > 0) continue;
    fw_fail(err, FURROW_E_ARGUMENT, "it would have no rows");
    fw_error_set_file(err, paths[i]);
    return FURROW_E_ARGUMENT;
  }
  for (size_t i = 0; i < s->nfiles; i++) FW_TRY(fw_atomic_file_join(s->files[i], FURROW_OK, 0, err));
  const bool first = fw_comm_is_first(s->comm);
  return fw_comm_all_ok(s->comm, first ? fw_atomic_files_commit(s->files, s->nfiles, err) : FURROW_OK, err);
}

static furrow_status find_last(table_split *s, furrow_error *err) {
  if (!fw_table_source_repeats(s->source)) {
    fw_fail(err, FURROW_E_UNSUPPORTED, "a split by time reads the log twice, which a pipe does not allow");
    fw_error_set_hint(err, "write the log to a file first");
    return FURROW_E_UNSUPPORTED;
  }
  find_unit(s);
  FW_TRY(scan_log(s, note_events, err));
  FW_TRY(find_order(s, err));
  FW_TRY(order_ties(s, err));
  /* checked before the ranks agree, so that it is freed if another rank fails */
  const furrow_status status = FW_ALLOC_ZERO(&s->to, s->count, err);
  FW_TRY(fw_comm_all_ok(s->comm, status, err));
  if (s->comm->ranks > 1) return choose_last_of_ranks(s, err);
  choose_last(s->events, s->count, s->params.last, mark_last, s);
  fw_free(s->events);
  s->events = NULL;
  return FURROW_OK;
}

/* In a random split without groups the number of a record decides, so each rank needs the number of its first
 * record. */
static furrow_status find_numbers(table_split *s, furrow_error *err) {
  uint64_t all;
  if (s->comm->ranks == 1 || s->params.group) return FURROW_OK;
  FW_TRY(scan_log(s, count_records, err));
  return fw_comm_offset(s->comm, s->count, &s->before, &all, err);
}

static furrow_status check_and_open(table_split *s, const char *uri, const char *const *paths, furrow_error *err) {
  FW_TRY(s->params.time ? check_time(&s->params, s->nfiles, err) : check_group(s, err));
  FW_TRY(check_paths(s, paths, err));
  return open_table(s, uri, err);
}

static furrow_status split(table_split *s, const char *uri, const char *const *paths, furrow_error *err) {
  FW_TRY(fw_comm_all_ok(s->comm, check_and_open(s, uri, paths, err), err));
  FW_TRY(s->params.time ? find_last(s, err) : find_numbers(s, err));
  furrow_status status = open_files(s, paths, err);
  if (status == FURROW_OK) status = write_head(s, err);
  FW_TRY(fw_comm_all_ok(s->comm, status, err));
  FW_TRY(scan_log(s, copy_records, err));
  return commit_files(s, paths, err);
}

furrow_status furrow_table_split(const char *uri, const char *const *paths, size_t count,
                                 const furrow_table_split_params *params, uint64_t *rows, furrow_error *err) {
  table_split s = {.nfiles = count};
  furrow_table_split_params_init(&s.params);
  FW_TRY(FW_PARAMS_READ(&s.params, params, furrow_table_split_params, err));
  FW_TRY(fw_comm_of(&s.comm, s.params.comm, err));
  const furrow_status status = split(&s, uri, paths, err);
  if (status == FURROW_OK && rows) memcpy(rows, s.rows, count * sizeof *rows);
  for (size_t i = 0; i < MOST_FILES; i++) fw_atomic_file_close(s.files[i]);
  fw_free(s.events);
  fw_free(s.to);
  fw_buffer_clear(&s.line);
  fw_table_free(s.table);
  fw_table_source_close(s.source);
  return status;
}
