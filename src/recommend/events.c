/* recommend/events.c: reads user, item and label of the events of a log, and groups the items by user. */
#include "recommend/events.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"

/* ---- Reading a log -------------------------------------------------------------------------------------- */

enum { SLOT_USER, SLOT_ITEM, SLOTS = 4 };

typedef struct reading {
  const fw_event_log *log;
  const fw_column *label, *time; /* NULL: not read */
  size_t label_slot, time_slot;
  fw_table *table;
} reading;

/* The state of one thread. */
typedef struct log_reader {
  const reading *of;
  void *user;
  uint64_t below;
  uint64_t piece, records; /* the last piece, and its records so far */
  fw_time_cells times;
} log_reader;

bool fw_entries_find(const furrow_recommender *r, const fw_entries *entries, const fw_table_cell *cell,
                     uint64_t *number) {
  uint64_t index = 0;
  if (cell->kind != FW_TABLE_TEXT) return false;
  if (furrow_encoder_find(r->encoder, entries->field, cell->text, cell->length, &index, NULL) != FURROW_OK)
    return false;
  *number = furrow_encoder_entry_of(r->encoder, entries->field, index);
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

/* Returns what is wrong with the label or the time of record i, and the slot of that cell; NULL: nothing. */
static const char *read_numbers(log_reader *to, const fw_table_batch *batch, size_t i, fw_log_event *event,
                                size_t *slot) {
  const reading *of = to->of;
  const char *wrong = NULL;
  *slot = of->label_slot;
  if (of->label) wrong = read_label(of->label, &fw_table_cells(batch, of->label_slot)[i], &event->label);
  if (wrong || !of->time) return wrong;
  *slot = of->time_slot;
  event->time = to->times.seconds[i];
  return to->times.missing[i] ? "the time is missing" : to->times.bad[i];
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  log_reader *to = user;
  const reading *of = to->of;
  if (piece != to->piece) to->records = 0;
  to->piece = piece;
  to->times.read = false;
  if (of->time) fw_time_cells_read(&to->times, batch, of->time_slot, of->time);
  const fw_table_cell *users = fw_table_cells(batch, SLOT_USER), *items = fw_table_cells(batch, SLOT_ITEM);
  for (size_t i = 0; i < batch->records; i++) {
    size_t slot = 0;
    fw_log_event event = {.user = &users[i], .item = &items[i], .order = piece << 32 | to->records++};
    const char *wrong = read_numbers(to, batch, i, &event, &slot);
    if (wrong)
      FW_TRY(fw_table_refuse(of->table, cursor, batch, slot, i, wrong, err));
    else if (of->label && !(event.label >= of->log->params->from))
      to->below++;
    else
      FW_TRY(of->log->take(to->user, &event, err));
  }
  return FURROW_OK;
}

static furrow_status fail_column(const reading *of, const char *name, furrow_error *err) {
  fw_fail(err, FURROW_E_FORMAT, "the column %s, which the schema of the model names, is missing", name);
  fw_error_set_file(err, of->log->uri);
  return FURROW_E_FORMAT;
}

/* Opens the table with the columns that are there; labels and times may be absent if the log says so. */
static furrow_status open_table(reading *of, const fw_table_source *source, furrow_error *err) {
  bool absent[SLOTS] = {false};
  const furrow_recommender *r = of->log->r;
  const char *names[SLOTS] = {r->users.column, r->items.column};
  size_t slots = SLOT_ITEM + 1;
  if (of->label) names[of->label_slot = slots++] = of->label->name;
  if (of->time) names[of->time_slot = slots++] = of->time->name;
  FW_TRY(fw_table_create(&of->table, fw_table_source_layout(source), names, slots, absent, err));
  for (size_t i = 0; i < slots; i++)
    if (absent[i] && !(of->log->optional && i > SLOT_ITEM)) return fail_column(of, names[i], err);
  if (of->label && absent[of->label_slot]) of->label = NULL;
  if (of->time && absent[of->time_slot]) of->time = NULL;
  return FURROW_OK;
}

static furrow_status scan_log(const reading *of, fw_table_source *source, void *const *users, uint64_t *below,
                              uint64_t *bad, furrow_error *err) {
  const furrow_events_params *given = of->log->params;
  const uint32_t threads = given->threads;
  const fw_table_scan_params params = {
      .threads = threads, .on_bad = given->on_bad, .progress = given->progress, .progress_user = given->progress_user};
  log_reader *readers = NULL;
  void **pointers = NULL;
  furrow_parser_stats stats;
  furrow_parser_stats_init(&stats);
  furrow_status status = FW_ALLOC_ZERO(&readers, threads, err);
  if (status == FURROW_OK) status = FW_ALLOC(&pointers, threads, err);
  for (uint32_t i = 0; status == FURROW_OK && i < threads; i++) {
    readers[i].of = of;
    readers[i].user = users[i];
    readers[i].piece = UINT64_MAX;
    pointers[i] = &readers[i];
  }
  if (status == FURROW_OK) status = fw_table_scan(source, of->table, &params, pointers, take_batch, &stats, err);
  for (uint32_t i = 0; status == FURROW_OK && i < threads; i++) *below += readers[i].below;
  *bad = stats.bad_rows;
  fw_free(readers);
  fw_free((void *)pointers);
  return status;
}

static furrow_status find_columns(reading *of, furrow_error *err) {
  const bool chosen = of->log->params->from != -HUGE_VAL;
  if (isnan(of->log->params->from)) return fw_fail(err, FURROW_E_ARGUMENT, "from is not a number");
  if (of->log->times) of->time = fw_schema_of_role(of->log->r->encoder->schema, FW_ROLE_TIME);
  if (!chosen && !of->log->labels) return FURROW_OK;
  of->label = fw_schema_of_kind(of->log->r->encoder->schema, FW_AS_LABEL);
  if (of->label || !chosen) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the schema of the model has no label, so events cannot be selected by it");
}

uint32_t fw_event_log_threads(unsigned threads) {
  return fw_table_scan_threads(&(fw_table_scan_params){.threads = threads});
}

furrow_status fw_event_log_read(const fw_event_log *log, void *const *users, uint64_t *below, uint64_t *bad,
                                furrow_error *err) {
  reading of = {.log = log};
  fw_table_source *source = NULL;
  FW_TRY(find_columns(&of, err));
  furrow_status status = fw_table_source_open(&source, log->uri, err);
  if (status == FURROW_OK) status = open_table(&of, source, err);
  if (status == FURROW_OK) status = scan_log(&of, source, users, below, bad, err);
  fw_table_free(of.table);
  fw_table_source_close(source);
  return status;
}

/* ---- Items by user -------------------------------------------------------------------------------------- */

struct furrow_events {
  uint64_t user_count; /* users of the model */
  uint64_t *offsets;   /* items of user u: items[offsets[u]] … items[offsets[u + 1] - 1], ascending */
  uint32_t *items;
  uint32_t *unknown; /* for each user: items that the model does not know */
  furrow_events_info info;
};

/* The user in the upper 32 bits, the item in the lower ones; an unknown item is represented by a hash of its name. */
static uint64_t pair_of(uint64_t user, uint32_t item) {
  return user << 32 | item;
}

/* The pairs that one thread has read. */
typedef struct gathered {
  uint64_t *known, *unknown;
  size_t known_count, known_capacity, unknown_count, unknown_capacity;
  furrow_events_info info;
} gathered;

typedef struct reader {
  const furrow_recommender *r;
  gathered got;
} reader;

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status append_pair(uint64_t **list, size_t *count, size_t *capacity, uint64_t pair, furrow_error *err) {
  FW_TRY(FW_GROW(list, capacity, *count + 1, err));
  (*list)[(*count)++] = pair;
  return FURROW_OK;
}

static furrow_status take_event(void *user, const fw_log_event *event, furrow_error *err) {
  reader *to = user;
  gathered *got = &to->got;
  const fw_table_cell *item = event->item;
  uint64_t u = 0, i = 0;
  got->info.rows++;
  if (item->kind == FW_TABLE_MISSING) return FURROW_OK; /* the event has no item */
  if (!fw_entries_find(to->r, &to->r->users, event->user, &u)) {
    got->info.unknown_users++;
    return FURROW_OK;
  }
  if (fw_entries_find(to->r, &to->r->items, item, &i))
    return append_pair(&got->known, &got->known_count, &got->known_capacity, pair_of(u, (uint32_t)i), err);
  got->info.unknown_items++;
  return append_pair(&got->unknown, &got->unknown_count, &got->unknown_capacity,
                     pair_of(u, (uint32_t)XXH3_64bits(item->text, item->length)), err);
}

/* ---- Sorting -------------------------------------------------------------------------------------------- */

static size_t drop_repeats(uint64_t *pairs, size_t count) {
  size_t kept = 0;
  fw_sort_u64(pairs, count);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || pairs[i] != pairs[kept - 1]) pairs[kept++] = pairs[i];
  return kept;
}

static furrow_status merge_gathered(gathered *all, reader *readers, uint32_t threads, furrow_error *err) {
  for (uint32_t t = 0; t < threads; t++) {
    const gathered *from = &readers[t].got;
    FW_TRY(FW_GROW(&all->known, &all->known_capacity, all->known_count + from->known_count, err));
    FW_TRY(FW_GROW(&all->unknown, &all->unknown_capacity, all->unknown_count + from->unknown_count, err));
    if (from->known_count > 0)
      memcpy(all->known + all->known_count, from->known, from->known_count * sizeof *from->known);
    if (from->unknown_count > 0)
      memcpy(all->unknown + all->unknown_count, from->unknown, from->unknown_count * sizeof *from->unknown);
    all->known_count += from->known_count;
    all->unknown_count += from->unknown_count;
    all->info.rows += from->info.rows;
    all->info.unknown_users += from->info.unknown_users;
    all->info.unknown_items += from->info.unknown_items;
  }
  all->known_count = drop_repeats(all->known, all->known_count);
  all->unknown_count = drop_repeats(all->unknown, all->unknown_count);
  return FURROW_OK;
}

static furrow_status group_by_user(furrow_events *events, const gathered *all, furrow_error *err) {
  const uint64_t users = events->user_count;
  FW_TRY(FW_ALLOC_ZERO(&events->offsets, users + 1, err));
  FW_TRY(FW_ALLOC_ZERO(&events->unknown, users, err));
  FW_TRY(FW_ALLOC(&events->items, all->known_count, err));
  for (size_t i = 0; i < all->known_count; i++) {
    events->offsets[(all->known[i] >> 32) + 1]++;
    events->items[i] = (uint32_t)all->known[i];
  }
  for (size_t i = 0; i < all->unknown_count; i++) events->unknown[all->unknown[i] >> 32]++;
  events->info = all->info;
  for (uint64_t u = 0; u < users; u++) {
    events->info.users += events->offsets[u + 1] > 0 || events->unknown[u] > 0;
    events->offsets[u + 1] += events->offsets[u];
  }
  return FURROW_OK;
}

static void clear_gathered(gathered *g) {
  fw_free(g->known);
  fw_free(g->unknown);
}

static furrow_status read_log(const fw_event_log *log, reader *readers, furrow_events_info *info, furrow_error *err) {
  const uint32_t threads = log->params->threads;
  void **users = NULL;
  FW_TRY(FW_ALLOC(&users, threads, err));
  for (uint32_t i = 0; i < threads; i++) {
    readers[i].r = log->r;
    users[i] = &readers[i];
  }
  const furrow_status status = fw_event_log_read(log, users, &info->below, &info->bad, err);
  fw_free((void *)users);
  return status;
}

static furrow_status read_all(furrow_events *events, const fw_event_log *log, furrow_error *err) {
  const uint32_t threads = log->params->threads;
  reader *readers = NULL;
  gathered all = {0};
  furrow_status status = FW_ALLOC_ZERO(&readers, threads, err);
  if (status == FURROW_OK) status = read_log(log, readers, &all.info, err);
  if (status == FURROW_OK) status = merge_gathered(&all, readers, threads, err);
  if (status == FURROW_OK) status = group_by_user(events, &all, err);
  for (uint32_t i = 0; readers && i < threads; i++) clear_gathered(&readers[i].got);
  clear_gathered(&all);
  fw_free(readers);
  return status;
}

/* Appends the pairs of one user. */
static furrow_status gather_user(const fw_interactions *from, size_t user, gathered *all, furrow_error *err) {
  const fw_user_events events = fw_interactions_of(from, user);
  for (size_t i = 0; i < events.count; i++)
    FW_TRY(append_pair(&all->known, &all->known_count, &all->known_capacity, pair_of(user, events.item[i]), err));
  return FURROW_OK;
}

static furrow_status gather_users(const fw_interactions *from, size_t most, gathered *all, furrow_error *err) {
  size_t users = 0, seen = 0;
  for (size_t u = 0; u < from->users; u++) users += from->offset[u + 1] > from->offset[u];
  const size_t wanted = users < most ? users : most;
  for (size_t u = 0; u < from->users; u++) {
    if (from->offset[u + 1] == from->offset[u]) continue;
    const bool is_wanted = (seen + 1) * wanted / users > seen * wanted / users;
    seen++;
    if (is_wanted) FW_TRY(gather_user(from, u, all, err));
  }
  all->known_count = drop_repeats(all->known, all->known_count);
  return FURROW_OK;
}

furrow_status fw_events_from(furrow_events **events, const fw_interactions *from, size_t most_users,
                             furrow_error *err) {
  furrow_events *made = NULL;
  gathered all = {0};
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->user_count = from->users;
  furrow_status status = gather_users(from, most_users, &all, err);
  if (status == FURROW_OK) status = group_by_user(made, &all, err);
  clear_gathered(&all);
  return FW_HAND_OVER(status, events, made, furrow_events_free);
}

furrow_status furrow_events_load(furrow_events **events, const furrow_recommender *recommender, const char *uri,
                                 const furrow_events_params *params, furrow_error *err) {
  furrow_events_params used;
  furrow_events *made = NULL;
  fw_event_log log = {.r = recommender, .uri = uri, .params = &used, .take = take_event};
  furrow_events_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_events_params, err));
  used.threads = fw_event_log_threads(used.threads);
  if (recommender->users.count > UINT32_MAX) return fw_fail(err, FURROW_E_UNSUPPORTED, "the model has too many users");
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->user_count = recommender->users.count;
  const furrow_status status = read_all(made, &log, err);
  return FW_HAND_OVER(status, events, made, furrow_events_free);
}

void furrow_events_free(furrow_events *events) {
  if (!events) return;
  fw_free(events->offsets);
  fw_free(events->items);
  fw_free(events->unknown);
  fw_free(events);
}

void furrow_events_get_info(const furrow_events *events, furrow_events_info *info) {
  fw_info_write(info, &events->info, sizeof events->info);
}

fw_item_set fw_events_of(const furrow_events *events, uint64_t user) {
  if (user >= events->user_count) return (fw_item_set){0};
  return (fw_item_set){.items = events->items + events->offsets[user],
                       .count = (size_t)(events->offsets[user + 1] - events->offsets[user])};
}

uint64_t fw_events_unknown(const furrow_events *events, uint64_t user) {
  return user < events->user_count ? events->unknown[user] : 0;
}

furrow_status fw_events_users(const furrow_events *events, uint64_t **users, size_t *count, furrow_error *err) {
  size_t n = 0;
  FW_TRY(FW_ALLOC(users, events->info.users, err));
  for (uint64_t u = 0; u < events->user_count; u++)
    if (fw_events_of(events, u).count > 0 || events->unknown[u] > 0) (*users)[n++] = u;
  *count = n;
  return FURROW_OK;
}
