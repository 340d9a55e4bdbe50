/* rows/schema/propose.c: proposes a schema for a log. The log is read once, and so is each table that is joined. If
 * records have columns that the head did not show (JSON, Vowpal Wabbit's text), the pass is repeated with these
 * columns. */
#include "rows/schema/propose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/suggestion.h"
#include "rows/table/text_table.h"

enum {
  MOST_COLUMNS = 10000,
  VALUES_EACH = 1000,  /* values that are counted one by one */
  VALUES_OF_MANY = 64, /* values that are counted per column if there are more than MANY_COLUMNS columns */
  MANY_COLUMNS = 1000,
  MOST_SKETCHES = 20000 /* over all threads, if there is more than one */
};

typedef struct name_list {
  char **names;
  size_t count;
  fw_name_map numbers;
} name_list;

/* What one thread observes. */
typedef struct observer {
  fw_column_sketch *sketches; /* made for the first batch; they describe cells that are not missing */
  size_t count;
  uint64_t records;
  name_list others; /* columns that are not known yet */
} observer;

typedef struct observation {
  const furrow_schema_propose_params *params;
  const furrow_comm *comm; /* the ranks that read the parts */
  fw_table_source *source;
  fw_evidence *columns;
  size_t count, capacity;
  fw_name_map numbers; /* numbers of the columns */
  furrow_parser_stats stats;
} observation;

static void clear_names(name_list *list) {
  for (size_t i = 0; i < list->count; i++) fw_free(list->names[i]);
  fw_free(list->names);
  fw_name_map_clear(&list->numbers);
  *list = (name_list){0};
}

static void clear_observation(observation *o) {
  for (size_t i = 0; i < o->count; i++) {
    fw_column_sketch_clear(&o->columns[i].sketch);
    fw_free(o->columns[i].name);
  }
  fw_free(o->columns);
  fw_name_map_clear(&o->numbers);
  fw_table_source_close(o->source);
  *o = (observation){0};
}

/* ---- New columns ---- */

static furrow_status note_name(name_list *list, const char *name, size_t length, furrow_error *err) {
  if (length == 0 || memchr(name, 0, length)) return FURROW_OK;
  if (fw_name_map_find(&list->numbers, name, length) != FW_NAME_NONE) return FURROW_OK;
  if (list->count == MOST_COLUMNS)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the log has more than %d columns", MOST_COLUMNS);
  FW_TRY(fw_text_list_add(&list->names, &list->count, name, length, err));
  return fw_name_map_add(&list->numbers, list->names[list->count - 1], length, list->count - 1, err);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order does not depend on the threads. No name is looked up afterwards. */
static void sort_names(name_list *list) {
  if (list->count > 1) qsort(list->names, list->count, sizeof *list->names, compare_names);
}

static furrow_status note_other(void *user, const char *name, size_t length, uint64_t offset, furrow_error *err) {
  (void)offset;
  return note_name(&((observer *)user)->others, name, length, err);
}

/* ---- One pass ---- */

static size_t count_values(size_t columns) {
  return columns > MANY_COLUMNS ? VALUES_OF_MANY : VALUES_EACH;
}

static furrow_status start_observer(observer *o, furrow_error *err) {
  FW_TRY(FW_ALLOC(&o->sketches, o->count, err));
  for (size_t i = 0; i < o->count; i++) fw_column_sketch_init(&o->sketches[i], count_values(o->count));
  return FURROW_OK;
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  observer *o = user;
  (void)piece;
  (void)cursor;
  if (!o->sketches) FW_TRY(start_observer(o, err));
  o->records += batch->records;
  for (size_t i = 0; i < batch->filled_count; i++) {
    const fw_table_cell *cells = fw_table_cells(batch, batch->filled[i]);
    fw_column_sketch *sketch = &o->sketches[batch->filled[i]];
    for (size_t r = 0; r < batch->records; r++) {
      const bool list = cells[r].kind == FW_TABLE_LIST; /* a list that has an element */
      if (cells[r].kind != FW_TABLE_MISSING)
        FW_TRY(fw_column_sketch_add(sketch, cells[r].text, cells[r].length, list, err));
    }
  }
  return FURROW_OK;
}

static void clear_observer(observer *o) {
  for (size_t i = 0; o->sketches && i < o->count; i++) fw_column_sketch_clear(&o->sketches[i]);
  fw_free(o->sketches);
  clear_names(&o->others);
}

static furrow_status scan_table(observation *o, const fw_table *table, observer *observers, uint32_t threads,
                                furrow_error *err) {
  void **users;
  FW_TRY(FW_ALLOC(&users, threads, err));
  for (uint32_t i = 0; i < threads; i++) users[i] = &observers[i];
  const fw_table_scan_params params = {.threads = threads,
                                       .max_line = o->params->max_line_bytes,
                                       .on_bad = o->params->on_bad,
                                       .part = o->comm->rank,
                                       .nparts = o->comm->ranks,
                                       .other_column = note_other,
                                       .progress = o->params->progress,
                                       .progress_user = o->params->progress_user};
  furrow_parser_stats_init(&o->stats);
  const furrow_status status = fw_table_scan(o->source, table, &params, users, take_batch, &o->stats, err);
  fw_free(users);
  return status;
}

/* Moves a sketch into one without cells, or merges it and frees its memory. */
static furrow_status take_sketch(fw_column_sketch *into, fw_column_sketch *from, furrow_error *err) {
  if (into->cells > 0) {
    FW_TRY(fw_column_sketch_merge(into, from, err));
    fw_column_sketch_clear(from);
  } else {
    *into = *from;
  }
  fw_column_sketch_init(from, into->values.most);
  return FURROW_OK;
}

/* Merges the observations of the threads; `others` gets the new columns. */
static furrow_status join_observers(observation *o, observer *observers, uint32_t threads, name_list *others,
                                    furrow_error *err) {
  for (uint32_t t = 0; t < threads; t++)
    for (size_t i = 0; i < observers[t].others.count; i++) {
      const char *name = observers[t].others.names[i];
      FW_TRY(note_name(others, name, strlen(name), err));
    }
  sort_names(others);
  uint64_t records = 0;
  for (uint32_t t = 0; t < threads; t++) records += observers[t].records;
  for (size_t c = 0; c < o->count; c++) {
    fw_column_sketch *sketch = &o->columns[c].sketch;
    fw_column_sketch_clear(sketch);
    fw_column_sketch_init(sketch, count_values(o->count));
    for (uint32_t t = 0; t < threads; t++)
      if (observers[t].sketches) FW_TRY(take_sketch(sketch, &observers[t].sketches[c], err));
    sketch->missing = records - sketch->cells;
  }
  return FURROW_OK;
}

/* Adds the new columns of other ranks. */
static furrow_status join_names(const furrow_comm *comm, name_list *others, furrow_error *err) {
  fw_buffer mine = {0};
  void *all = NULL;
  size_t bytes = 0;
  for (size_t i = 0; i < others->count; i++) fw_buffer_append(&mine, others->names[i], strlen(others->names[i]) + 1);
  furrow_status status = fw_comm_all_ok(comm, fw_buffer_status(&mine, err), err);
  if (status == FURROW_OK) status = fw_comm_gather_all(comm, mine.bytes, mine.size, &all, &bytes, NULL, err);
  const char *name = all;
  for (const char *end = name + bytes; name < end && status == FURROW_OK; name += strlen(name) + 1)
    status = note_name(others, name, strlen(name), err);
  sort_names(others);
  fw_free(all);
  fw_buffer_clear(&mine);
  return fw_comm_all_ok(comm, status, err);
}

/* Combines the observations of all ranks. */
static furrow_status join_ranks(observation *o, name_list *others, furrow_error *err) {
  if (o->comm->ranks == 1) return FURROW_OK;
  FW_TRY(join_names(o->comm, others, err));
  FW_TRY(fw_rank_stats_join(o->comm, &o->stats, err));
  for (size_t c = 0; c < o->count && others->count == 0; c++)
    FW_TRY(fw_column_sketch_join(&o->columns[c].sketch, o->comm, err));
  return FURROW_OK;
}

static uint32_t count_threads(const observation *o) {
  const fw_table_scan_params params = {.threads = o->params->threads, .max_line = o->params->max_line_bytes};
  const size_t threads = fw_table_scan_threads(&params), most = MOST_SKETCHES / (o->count ? o->count : 1);
  return (uint32_t)(threads <= most ? threads : most);
}

static furrow_status create_table(const observation *o, fw_table **table, furrow_error *err) {
  const char **names;
  FW_TRY(FW_ALLOC(&names, o->count, err));
  for (size_t i = 0; i < o->count; i++) names[i] = o->columns[i].name;
  const furrow_status status = fw_table_create(table, fw_table_source_layout(o->source), names, o->count, NULL, err);
  fw_free(names);
  return status;
}

static furrow_status observe_once(observation *o, name_list *others, furrow_error *err) {
  fw_table *table = NULL;
  uint32_t threads = count_threads(o);
  observer *observers = NULL;
  furrow_status status = FW_ALLOC_ZERO(&observers, threads, err);
  if (status == FURROW_OK) status = create_table(o, &table, err);
  for (uint32_t t = 0; t < threads && status == FURROW_OK; t++) observers[t].count = o->count;
  if (status == FURROW_OK) status = scan_table(o, table, observers, threads, err);
  if (status == FURROW_OK) status = join_observers(o, observers, threads, others, err);
  status = fw_comm_all_ok(o->comm, status, err);
  if (status == FURROW_OK) status = join_ranks(o, others, err);
  for (uint32_t t = 0; observers && t < threads; t++) clear_observer(&observers[t]);
  fw_free(observers);
  fw_table_free(table);
  return status;
}

static furrow_status add_column(observation *o, const char *name, furrow_error *err) {
  if (o->count == MOST_COLUMNS)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the log has more than %d columns", MOST_COLUMNS);
  const furrow_status status = FW_GROW(&o->columns, &o->capacity, o->count + 1, err);
  if (status != FURROW_OK) return status;
  fw_evidence *added = &o->columns[o->count];
  memset(added, 0, sizeof *added);
  added->amounts = o->params->amounts;
  fw_column_sketch_init(&added->sketch, VALUES_EACH);
  FW_TRY(fw_strndup(&added->name, name, strlen(name), err));
  o->count++;
  return fw_name_map_add(&o->numbers, added->name, strlen(name), o->count - 1, err);
}

/* A column without a name is named by its number. */
static furrow_status add_layout(observation *o, furrow_error *err) {
  const fw_table_layout *layout = fw_table_source_layout(o->source);
  for (size_t i = 0; i < layout->columns; i++) {
    char number[24];
    snprintf(number, sizeof number, "%zu", i);
    FW_TRY(add_column(o, layout->names[i][0] ? layout->names[i] : number, err));
  }
  return FURROW_OK;
}

static furrow_status observe_all(observation *o, furrow_error *err) {
  name_list others = {0};
  furrow_status status;
  do {
    clear_names(&others);
    status = observe_once(o, &others, err);
    if (status == FURROW_OK && others.count > 0 && !fw_table_source_repeats(o->source)) {
      status = fw_fail(err, FURROW_E_UNSUPPORTED,
                       "column %s is not in the first records, and a pipe cannot be read again", others.names[0]);
      fw_error_set_hint(err, "write the log to a file first");
    }
    for (size_t i = 0; i < others.count && status == FURROW_OK; i++) status = add_column(o, others.names[i], err);
    status = fw_comm_all_ok(o->comm, status, err);
  } while (status == FURROW_OK && others.count > 0);
  clear_names(&others);
  return status;
}

static furrow_status observe(observation *o, const char *uri, const furrow_schema_propose_params *params,
                             const furrow_comm *comm, furrow_error *err) {
  o->params = params;
  o->comm = comm;
  furrow_status status = fw_table_source_open(&o->source, uri, err);
  if (status == FURROW_OK) status = add_layout(o, err);
  FW_TRY(fw_comm_all_ok(comm, status, err));
  FW_TRY(observe_all(o, err));
  if (o->stats.rows == 0) {
    fw_fail(err, FURROW_E_FORMAT, "there are no rows to look at");
    fw_error_set_file(err, uri);
    return FURROW_E_FORMAT;
  }
  for (size_t i = 0; i < o->count; i++) fw_evidence_close(&o->columns[i]);
  const fw_table_layout *layout = fw_table_source_layout(o->source);
  return fw_evidence_settle_formats(o->columns, o->count, layout->kind == FW_TABLE_DELIMITED ? layout->delimiter : 0,
                                    err);
}

/* ---- Names that the caller gives ---- */

static furrow_status refuse_name(const observation *o, const char *what, const char *name, furrow_error *err) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  fw_buffer list = {0};
  for (size_t i = 0; i < o->count; i++) {
    if (strlen(name) <= FW_SUGGESTION_LENGTH) fw_suggestion_offer(&suggestion, name, o->columns[i].name);
    if (i < 20) fw_buffer_format(&list, "%s%s", i > 0 ? ", " : "", o->columns[i].name);
  }
  if (o->count > 20) fw_buffer_format(&list, " and %zu more", o->count - 20);
  fw_buffer_byte(&list, 0);
  fw_fail(err, FURROW_E_ARGUMENT, "%s: there is no column %s; there are %s", what, name,
          list.bytes && !list.missing ? list.bytes : "others");
  if (fw_suggestion_is_near(&suggestion, name)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  fw_buffer_clear(&list);
  return FURROW_E_ARGUMENT;
}

static fw_evidence *find_column(const observation *o, const char *name) {
  const size_t number = fw_name_map_find(&o->numbers, name, strlen(name));
  return number == FW_NAME_NONE ? NULL : &o->columns[number];
}

static furrow_status give_meaning(observation *o, const char *what, const char *name, fw_meaning meaning,
                                  furrow_error *err) {
  if (!name) return FURROW_OK;
  fw_evidence *column = find_column(o, name);
  if (!column) return refuse_name(o, what, name, err);
  if (column->meaning != FW_MEANS_NOTHING)
    return fw_fail(err, FURROW_E_ARGUMENT, "%s: column %s is named twice", what, name);
  column->meaning = meaning;
  column->given = true;
  return FURROW_OK;
}

/* unwanted: gets the bits of meanings that no column has, because the name "" is given for them. */
static furrow_status give_meanings(observation *o, unsigned *unwanted, furrow_error *err) {
  const furrow_schema_propose_params *p = o->params;
  const struct {
    const char *what, *name;
    fw_meaning meaning;
  } given[] = {{"label", p->label, FW_MEANS_LABEL}, {"weight", p->weight, FW_MEANS_WEIGHT},
               {"group", p->group, FW_MEANS_GROUP}, {"user", p->user, FW_MEANS_USER},
               {"item", p->item, FW_MEANS_ITEM},    {"time", p->time, FW_MEANS_TIME}};
  *unwanted = 0;
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    if (given[i].name && !given[i].name[0])
      *unwanted |= 1u << given[i].meaning;
    else
      FW_TRY(give_meaning(o, given[i].what, given[i].name, given[i].meaning, err));
  }
  return FURROW_OK;
}

/* Sets the meanings of columns that Vowpal Wabbit's text always has. */
static void set_vw_meanings(observation *o) {
  fw_evidence *weight = find_column(o, "weight"), *tag = find_column(o, "tag");
  if (fw_table_source_layout(o->source)->kind != FW_TABLE_VW) return;
  if (weight && weight->meaning == FW_MEANS_NOTHING && weight->sketch.cells > 0 && !o->params->weight)
    weight->meaning = FW_MEANS_WEIGHT;
  if (tag && tag->meaning == FW_MEANS_NOTHING) tag->meaning = FW_MEANS_TAG;
}

/* The hour of a click is informative about clicks. The hour of a rating identifies users by their habits: it fits the
 * users of the training data but misleads about later events (docs/formats/schema.md has the figures). */
static furrow_status settle_time_parts(const observation *o, furrow_schema *schema, furrow_error *err) {
  fw_column *time = fw_schema_of_role(schema, FW_ROLE_TIME);
  const fw_column *label = fw_schema_of_kind(schema, FW_AS_LABEL);
  const fw_evidence *labels = label ? find_column(o, label->name) : NULL;
  fw_buffer why = {0};
  if (!fw_schema_of_role(schema, FW_ROLE_USER) || !fw_schema_of_role(schema, FW_ROLE_ITEM)) return FURROW_OK;
  if (!time || time->parts == 0) return FURROW_OK;
  time->parts &= 1u << FW_PART_HOUR | 1u << FW_PART_WEEKDAY; /* later events have other months and ages */
  if (labels && labels->distinct == 2) return FURROW_OK;
  time->parts = 0;
  fw_buffer_format(&why, "%s; hour and weekday are features of clicks, not of ratings", time->why);
  fw_buffer_byte(&why, 0);
  furrow_status status = fw_buffer_status(&why, err);
  if (status == FURROW_OK) status = fw_column_set_text(&time->why, why.bytes, err);
  fw_buffer_clear(&why);
  return status;
}

static furrow_status decide_log(observation *o, furrow_schema *schema, furrow_error *err) {
  unsigned unwanted;
  FW_TRY(give_meanings(o, &unwanted, err));
  set_vw_meanings(o);
  const bool label = !(unwanted & 1u << FW_MEANS_LABEL);
  FW_TRY(fw_evidence_find_meanings(o->columns, o->count, unwanted, err));
  for (size_t i = 0; i < o->count; i++) FW_TRY(fw_evidence_decide(&o->columns[i], false, schema, err));
  if (o->params->strict) FW_TRY(fw_evidence_check_doubts(o->columns, o->count, label, schema, err));
  return settle_time_parts(o, schema, err);
}

/* ---- Tables that are joined ---- */

/* Columns that the log has as well are taken from the log. */
static furrow_status decide_table(const observation *o, const char *key, furrow_schema *schema, furrow_error *err) {
  for (size_t i = 0; i < o->count; i++) {
    const fw_evidence *e = &o->columns[i];
    if (strcmp(e->name, key) == 0 || fw_schema_find(schema, e->name)) continue;
    FW_TRY(fw_evidence_decide(e, true, schema, err));
  }
  return FURROW_OK;
}

static furrow_status add_table(const observation *log, const char *uri, const char *key, const char *name,
                               furrow_schema *schema, furrow_error *err) {
  observation table = {0};
  const fw_column *column = fw_schema_find(schema, key);
  if (!column) return refuse_name(log, "table", key, err);
  if (column->kind != FW_AS_CATEGORY)
    return fw_fail(err, FURROW_E_ARGUMENT, "table: the key %s is a %s, not a category", key,
                   fw_column_kind_name(column->kind));
  furrow_status status = observe(&table, uri, log->params, fw_comm_self(), err);
  if (status == FURROW_OK && !find_column(&table, name)) {
    status = refuse_name(&table, uri, name, err);
    fw_error_set_hint(err, "FILE=%s:COLUMN says what the table calls it", key);
  }
  if (status == FURROW_OK) status = decide_table(&table, name, schema, err);
  if (status == FURROW_OK) status = fw_schema_add_table(schema, uri, key, name, err);
  clear_observation(&table);
  return status;
}

/* Splits FILE=KEY or FILE=KEY:COLUMN. The name of the file may contain =, and the key a colon. */
static furrow_status split_table(const observation *log, char *text, char **key, char **name, furrow_error *err) {
  char *equals = strrchr(text, '=');
  if (!equals || equals == text || !equals[1])
    return fw_fail(err, FURROW_E_ARGUMENT, "table: %s is not FILE=KEY or FILE=KEY:COLUMN", text);
  *equals = 0;
  *key = *name = equals + 1;
  char *colon = strrchr(*key, ':');
  if (find_column(log, *key) || !colon || colon == *key || !colon[1]) return FURROW_OK;
  *colon = 0;
  *name = colon + 1;
  return FURROW_OK;
}

static furrow_status add_tables(const observation *log, furrow_schema *schema, furrow_error *err) {
  for (size_t i = 0; i < log->params->table_count; i++) {
    char *text = NULL, *key = NULL, *name = NULL;
    FW_TRY(fw_strndup(&text, log->params->tables[i], strlen(log->params->tables[i]), err));
    furrow_status status = split_table(log, text, &key, &name, err);
    if (status == FURROW_OK) status = add_table(log, text, key, name, schema, err);
    fw_free(text);
    if (status != FURROW_OK) return status;
  }
  return FURROW_OK;
}

/* ---- The whole proposal ---- */

static furrow_status set_history(const observation *log, furrow_schema *schema, furrow_error *err) {
  const uint32_t history = log->params->history;
  if (history > FW_HISTORY_MOST) return fw_fail(err, FURROW_E_ARGUMENT, "history: at most %d items", FW_HISTORY_MOST);
  schema->history = history;
  return FURROW_OK;
}

static furrow_status propose(observation *log, const char *uri, const furrow_schema_propose_params *params,
                             furrow_schema *schema, furrow_error *err) {
  FW_TRY(observe(log, uri, params, params->comm, err));
  FW_TRY(decide_log(log, schema, err));
  FW_TRY(add_tables(log, schema, err));
  FW_TRY(set_history(log, schema, err));
  FW_TRY(fw_schema_check(schema, err));
  if (params->stats) fw_info_write(params->stats, &log->stats, sizeof log->stats);
  return FURROW_OK;
}

furrow_status fw_schema_propose(furrow_schema **schema, const char *uri, const furrow_schema_propose_params *params,
                                furrow_error *err) {
  observation log = {0};
  furrow_schema *made = NULL;
  furrow_status status = fw_comm_all_ok(params->comm, fw_schema_create(&made, err), err);
  if (status == FURROW_OK) status = fw_comm_all_ok(params->comm, propose(&log, uri, params, made, err), err);
  clear_observation(&log);
  return FW_HAND_OVER(status, schema, made, furrow_schema_free);
}
