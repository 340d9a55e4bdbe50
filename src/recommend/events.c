/* recommend/events.c: the items of a log by user. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "recommend/recommender.h"
#include "rows/encode/encoder.h"

struct furrow_events {
  uint64_t user_count; /* of the model */
  uint64_t *offsets;   /* items of user u: items[offsets[u]] … items[offsets[u + 1] - 1], ascending */
  uint32_t *items;
  uint32_t *unknown; /* items of each user that the model does not know */
  furrow_events_info info;
};

/* An item of a user: 32 bits each, of an item that is not known a hash. */
static uint64_t pair_of(uint64_t user, uint32_t item) {
  return user << 32 | item;
}

/* What one thread gathers. */
typedef struct gathered {
  uint64_t *known, *unknown;
  size_t known_count, known_capacity, unknown_count, unknown_capacity;
  furrow_events_info info;
} gathered;

enum { SLOT_USER, SLOT_ITEM, SLOT_LABEL, SLOTS };

typedef struct reading {
  const furrow_recommender *r;
  const fw_table *table;
  const fw_column *label; /* NULL: labels do not matter */
  double from;
} reading;

typedef struct reader {
  const reading *of;
  gathered got;
} reader;

/* ---- Cells ---------------------------------------------------------------------------------------------- */

static furrow_status add(uint64_t **list, size_t *count, size_t *capacity, uint64_t pair, furrow_error *err) {
  FW_TRY(fw_grow((void **)list, capacity, *count + 1, sizeof **list, err));
  (*list)[(*count)++] = pair;
  return FURROW_OK;
}

static bool find(const furrow_recommender *r, const fw_entries *names, const fw_table_cell *cell, uint64_t *number) {
  uint64_t index = 0;
  if (cell->kind != FW_TABLE_TEXT) return false;
  if (furrow_encoder_find(r->encoder, names->field, cell->text, cell->length, &index, NULL) != FURROW_OK) return false;
  if (index < names->first || index - names->first >= names->count) return false;
  *number = index - names->first;
  return true;
}

static const char *label_of(const fw_column *column, const fw_table_cell *cell, double *label) {
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

static furrow_status take_event(reader *to, const fw_table_cell *user, const fw_table_cell *item, furrow_error *err) {
  const furrow_recommender *r = to->of->r;
  gathered *got = &to->got;
  uint64_t u = 0, i = 0;
  got->info.rows++;
  if (item->kind == FW_TABLE_MISSING) return FURROW_OK; /* an event without an item */
  if (!find(r, &r->users, user, &u)) {
    got->info.unknown_users++;
    return FURROW_OK;
  }
  if (find(r, &r->items, item, &i))
    return add(&got->known, &got->known_count, &got->known_capacity, pair_of(u, (uint32_t)i), err);
  got->info.unknown_items++;
  return add(&got->unknown, &got->unknown_count, &got->unknown_capacity,
             pair_of(u, (uint32_t)XXH3_64bits(item->text, item->length)), err);
}

static furrow_status take_batch(void *user, uint64_t piece, const fw_table_cursor *cursor, const fw_table_batch *batch,
                                furrow_error *err) {
  reader *to = user;
  (void)piece;
  for (size_t i = 0; i < batch->records; i++) {
    const fw_table_cell *cells = batch->cells + i;
    double label = 0;
    const char *wrong = to->of->label ? label_of(to->of->label, &cells[SLOT_LABEL * FW_TABLE_RECORDS], &label) : NULL;
    if (wrong)
      FW_TRY(fw_table_refuse(to->of->table, cursor, batch, SLOT_LABEL, i, wrong, err));
    else if (to->of->label && !(label >= to->of->from))
      to->got.info.below++;
    else
      FW_TRY(take_event(to, &cells[SLOT_USER * FW_TABLE_RECORDS], &cells[SLOT_ITEM * FW_TABLE_RECORDS], err));
  }
  return FURROW_OK;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status open_table(fw_table **table, const fw_table_source *source, const reading *of, const char *uri,
                                furrow_error *err) {
  bool absent[SLOTS] = {false};
  const char *names[SLOTS] = {of->r->users.column, of->r->items.column, of->label ? of->label->name : NULL};
  const size_t slots = of->label ? SLOTS : SLOT_LABEL;
  FW_TRY(fw_table_create(table, fw_table_source_layout(source), names, slots, absent, err));
  for (size_t i = 0; i < slots; i++) {
    if (!absent[i]) continue;
    fw_fail(err, FURROW_E_FORMAT, "there is no column %s, which the schema of the model names", names[i]);
    fw_error_set_file(err, uri);
    return FURROW_E_FORMAT;
  }
  return FURROW_OK;
}

static furrow_status scan(reading *of, fw_table_source *source, const furrow_events_params *params, reader *readers,
                          uint32_t threads, furrow_parser_stats *stats, furrow_error *err) {
  const fw_table_scan_params scan_params = {.threads = threads, .on_bad = params->on_bad};
  void **users = NULL;
  FW_TRY(fw_alloc((void **)&users, threads, sizeof *users, err));
  for (uint32_t i = 0; i < threads; i++) {
    readers[i].of = of;
    users[i] = &readers[i];
  }
  const furrow_status status = fw_table_scan(source, of->table, &scan_params, users, take_batch, stats, err);
  fw_free((void *)users);
  return status;
}

/* ---- By user -------------------------------------------------------------------------------------------- */

static size_t drop_repeats(uint64_t *pairs, size_t count) {
  size_t kept = 0;
  fw_sort_u64(pairs, count);
  for (size_t i = 0; i < count; i++)
    if (kept == 0 || pairs[i] != pairs[kept - 1]) pairs[kept++] = pairs[i];
  return kept;
}

static furrow_status merge(gathered *all, reader *readers, uint32_t threads, furrow_error *err) {
  for (uint32_t t = 0; t < threads; t++) {
    const gathered *from = &readers[t].got;
    FW_TRY(fw_grow((void **)&all->known, &all->known_capacity, all->known_count + from->known_count, sizeof *all->known,
                   err));
    FW_TRY(fw_grow((void **)&all->unknown, &all->unknown_capacity, all->unknown_count + from->unknown_count,
                   sizeof *all->unknown, err));
    if (from->known_count > 0)
      memcpy(all->known + all->known_count, from->known, from->known_count * sizeof *from->known);
    if (from->unknown_count > 0)
      memcpy(all->unknown + all->unknown_count, from->unknown, from->unknown_count * sizeof *from->unknown);
    all->known_count += from->known_count;
    all->unknown_count += from->unknown_count;
    all->info.rows += from->info.rows;
    all->info.below += from->info.below;
    all->info.unknown_users += from->info.unknown_users;
    all->info.unknown_items += from->info.unknown_items;
  }
  all->known_count = drop_repeats(all->known, all->known_count);
  all->unknown_count = drop_repeats(all->unknown, all->unknown_count);
  return FURROW_OK;
}

static furrow_status fill(furrow_events *events, const gathered *all, furrow_error *err) {
  const uint64_t users = events->user_count;
  FW_TRY(fw_alloc_zero((void **)&events->offsets, users + 1, sizeof *events->offsets, err));
  FW_TRY(fw_alloc_zero((void **)&events->unknown, users, sizeof *events->unknown, err));
  FW_TRY(fw_alloc((void **)&events->items, all->known_count, sizeof *events->items, err));
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

static furrow_status read_all(furrow_events *events, reading *of, const char *uri, const furrow_events_params *params,
                              furrow_error *err) {
  fw_table_source *source = NULL;
  fw_table *table = NULL;
  reader *readers = NULL;
  gathered all = {0};
  furrow_parser_stats stats;
  const uint32_t threads = fw_table_scan_threads(&(fw_table_scan_params){.threads = params->threads});
  furrow_parser_stats_init(&stats);
  furrow_status status = fw_alloc_zero((void **)&readers, threads, sizeof *readers, err);
  if (status == FURROW_OK) status = fw_table_source_open(&source, uri, err);
  if (status == FURROW_OK) status = open_table(&table, source, of, uri, err);
  of->table = table;
  if (status == FURROW_OK) status = scan(of, source, params, readers, threads, &stats, err);
  if (status == FURROW_OK) status = merge(&all, readers, threads, err);
  if (status == FURROW_OK) status = fill(events, &all, err);
  if (status == FURROW_OK) events->info.bad = stats.bad_rows;
  for (uint32_t i = 0; readers && i < threads; i++) clear_gathered(&readers[i].got);
  clear_gathered(&all);
  fw_free(readers);
  fw_table_free(table);
  fw_table_source_close(source);
  return status;
}

static furrow_status find_label(reading *of, const furrow_events_params *params, furrow_error *err) {
  if (isnan(params->from)) return fw_fail(err, FURROW_E_ARGUMENT, "from is not a number");
  if (params->from == -HUGE_VAL) return FURROW_OK;
  of->from = params->from;
  of->label = fw_schema_of_kind(of->r->encoder->schema, FW_AS_LABEL);
  if (of->label) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "the schema of the model has no label that events could be chosen by");
}

furrow_status furrow_events_load(furrow_events **events, const furrow_recommender *recommender, const char *uri,
                                 const furrow_events_params *params, furrow_error *err) {
  furrow_events_params used;
  furrow_events *made = NULL;
  reading of = {.r = recommender};
  furrow_events_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_events_params, err));
  FW_TRY(find_label(&of, &used, err));
  if (recommender->users.count > UINT32_MAX) return fw_fail(err, FURROW_E_UNSUPPORTED, "the model has too many users");
  FW_TRY(fw_alloc_zero((void **)&made, 1, sizeof *made, err));
  made->user_count = recommender->users.count;
  const furrow_status status = read_all(made, &of, uri, &used, err);
  if (status == FURROW_OK)
    *events = made;
  else
    furrow_events_free(made);
  return status;
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
  FW_TRY(fw_alloc((void **)users, events->info.users, sizeof **users, err));
  for (uint64_t u = 0; u < events->user_count; u++)
    if (fw_events_of(events, u).count > 0 || events->unknown[u] > 0) (*users)[n++] = u;
  *count = n;
  return FURROW_OK;
}
