/* recommend/events.c: the items of a log by user. */
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "base/sort.h"
#include "recommend/event_log.h"

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

typedef struct reader {
  const furrow_recommender *r;
  gathered got;
} reader;

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status add(uint64_t **list, size_t *count, size_t *capacity, uint64_t pair, furrow_error *err) {
  FW_TRY(fw_grow((void **)list, capacity, *count + 1, sizeof **list, err));
  (*list)[(*count)++] = pair;
  return FURROW_OK;
}

static furrow_status take_event(void *user, const fw_table_cell *who, const fw_table_cell *item, double label,
                                furrow_error *err) {
  reader *to = user;
  gathered *got = &to->got;
  uint64_t u = 0, i = 0;
  (void)label;
  got->info.rows++;
  if (item->kind == FW_TABLE_MISSING) return FURROW_OK; /* an event without an item */
  if (!fw_entries_find(to->r, &to->r->users, who, &u)) {
    got->info.unknown_users++;
    return FURROW_OK;
  }
  if (fw_entries_find(to->r, &to->r->items, item, &i))
    return add(&got->known, &got->known_count, &got->known_capacity, pair_of(u, (uint32_t)i), err);
  got->info.unknown_items++;
  return add(&got->unknown, &got->unknown_count, &got->unknown_capacity,
             pair_of(u, (uint32_t)XXH3_64bits(item->text, item->length)), err);
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

static furrow_status read_log(const fw_event_log *log, reader *readers, furrow_events_info *info, furrow_error *err) {
  const uint32_t threads = log->params->threads;
  void **users = NULL;
  FW_TRY(fw_alloc((void **)&users, threads, sizeof *users, err));
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
  furrow_status status = fw_alloc_zero((void **)&readers, threads, sizeof *readers, err);
  if (status == FURROW_OK) status = read_log(log, readers, &all.info, err);
  if (status == FURROW_OK) status = merge(&all, readers, threads, err);
  if (status == FURROW_OK) status = fill(events, &all, err);
  for (uint32_t i = 0; readers && i < threads; i++) clear_gathered(&readers[i].got);
  clear_gathered(&all);
  fw_free(readers);
  return status;
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
  FW_TRY(fw_alloc_zero((void **)&made, 1, sizeof *made, err));
  made->user_count = recommender->users.count;
  const furrow_status status = read_all(made, &log, err);
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
