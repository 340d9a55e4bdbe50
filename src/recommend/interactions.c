/* recommend/interactions.c: reads a log as events by user, in the order of time. */
#include "recommend/interactions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "recommend/events.h"
#include "rows/table/tie_order.h"

#define LARGEST_STRENGTH 1.5

typedef struct read_event {
  uint64_t order;
  double time;
  float label;
  uint32_t user, item;
} read_event;

/* The events that one thread has read. */
typedef struct part {
  const furrow_recommender *r;
  read_event *events;
  size_t count, capacity;
  furrow_events_info info;
} part;

void fw_interactions_clear(fw_interactions *all) {
  fw_free(all->offset);
  fw_free(all->item);
  fw_free(all->time);
  fw_free(all->strength);
  *all = (fw_interactions){0};
}

fw_user_events fw_interactions_of(const fw_interactions *all, size_t user) {
  const size_t at = all->offset[user];
  const fw_sparse_rows *groups = all->groups;
  return (fw_user_events){.count = all->offset[user + 1] - at,
                          .item = all->item + at,
                          .time = all->time + at,
                          .in_order = all->in_order,
                          .strength = all->strength + at,
                          .group = groups ? groups->column + groups->offset[user] : NULL,
                          .group_count = groups ? groups->offset[user + 1] - groups->offset[user] : 0};
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static furrow_status take_event(void *user, const fw_log_event *event, furrow_error *err) {
  part *to = user;
  uint64_t u = 0, i = 0;
  to->info.rows++;
  if (!fw_entries_find(to->r, &to->r->users, event->user, &u)) {
    to->info.unknown_users++;
    return FURROW_OK;
  }
  if (!fw_entries_find(to->r, &to->r->items, event->item, &i)) {
    to->info.unknown_items += event->item->kind != FW_TABLE_MISSING;
    return FURROW_OK;
  }
  FW_TRY(FW_GROW(&to->events, &to->capacity, to->count + 1, err));
  to->events[to->count++] = (read_event){.order = event->order,
                                         .time = event->time,
                                         .label = (float)event->label,
                                         .user = (uint32_t)u,
                                         .item = (uint32_t)i};
  return FURROW_OK;
}

/* ---- Labels --------------------------------------------------------------------------------------------- */

/* The labels of a log: a rating, two values, or always the same. */
typedef struct label_facts {
  float low, high; /* the two lowest values */
  bool two, many;
  double mean, deviation;
} label_facts;

static void see_label(label_facts *facts, size_t seen, float label) {
  if (seen == 0) {
    facts->low = facts->high = label;
    return;
  }
  if (label == facts->low || label == facts->high) return;
  facts->many = facts->two;
  if (facts->two) return;
  facts->two = true;
  if (label < facts->low) facts->low = label;
  if (label > facts->high) facts->high = label;
}

static label_facts find_label_facts(const part *parts, uint32_t threads) {
  label_facts facts = {0};
  double sum = 0, squares = 0;
  size_t count = 0;
  for (uint32_t t = 0; t < threads; t++)
    for (size_t i = 0; i < parts[t].count; i++) {
      const float label = parts[t].events[i].label;
      if (!facts.many) see_label(&facts, count, label);
      sum += label;
      squares += (double)label * label;
      count++;
    }
  facts.mean = count ? sum / (double)count : 0;
  const double variance = count ? squares / (double)count - facts.mean * facts.mean : 0;
  facts.deviation = sqrt(variance > 0 ? variance : 0);
  return facts;
}

void fw_interactions_rate(float *ratings, size_t count, double deviation) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < count; i++) {
    sum += ratings[i];
    squares += (double)ratings[i] * ratings[i];
  }
  const double mean = count ? sum / (double)count : 0, variance = count ? squares / (double)count - mean * mean : 0;
  const double scale = sqrt(variance > 0 ? variance : 0) + deviation / 2;
  for (size_t i = 0; i < count; i++) {
    const double strength = scale > 0 ? (ratings[i] - mean) / scale : 0;
    ratings[i] = (float)fmax(-LARGEST_STRENGTH, fmin(LARGEST_STRENGTH, strength));
  }
}

/* ---- Grouping ------------------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b) {
  const read_event *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

static furrow_status alloc_events(fw_interactions *all, size_t count, furrow_error *err) {
  FW_TRY(FW_ALLOC_ZERO(&all->offset, all->users + 1, err));
  FW_TRY(FW_ALLOC(&all->item, count, err));
  FW_TRY(FW_ALLOC(&all->time, count, err));
  return FW_ALLOC(&all->strength, count, err);
}

/* Groups the events of all threads by user; offset[u] becomes the end of user u. */
static void group_events(const part *parts, uint32_t threads, const label_facts *facts, size_t *offset,
                         read_event *to) {
  for (uint32_t t = 0; t < threads; t++)
    for (size_t i = 0; i < parts[t].count; i++) {
      const read_event *e = &parts[t].events[i];
      if (facts->two && !facts->many && e->label == facts->low) continue;
      to[offset[e->user]++] = *e;
    }
}

static uint64_t count_events(const part *parts, uint32_t threads, const label_facts *facts, size_t *counts) {
  uint64_t left_out = 0;
  for (uint32_t t = 0; t < threads; t++)
    for (size_t i = 0; i < parts[t].count; i++) {
      const read_event *e = &parts[t].events[i];
      if (facts->two && !facts->many && e->label == facts->low)
        left_out++;
      else
        counts[e->user + 1]++;
    }
  return left_out;
}

static void fill_user(fw_interactions *all, size_t first, size_t end, read_event *events) {
  if (end - first > 1) qsort(events + first, end - first, sizeof *events, compare_times);
  for (size_t i = first; i < end; i++) {
    all->item[i] = events[i].item;
    all->time[i] = events[i].time;
    all->strength[i] = all->rated ? events[i].label : 0;
  }
  if (all->rated) fw_interactions_rate(all->strength + first, end - first, all->deviation);
}

/* Whether there are neighbours of the same user and time, and they are not sorted by something else. */
static bool are_unsorted(const fw_interactions *all, const furrow_recommender *r, const read_event *events) {
  fw_tie_order order = {0};
  for (size_t i = 1; i < all->offset[all->users]; i++) {
    const read_event *a = &events[i - 1], *b = &events[i];
    if (a->user != b->user || a->time != b->time || a->item == b->item) continue;
    fw_tie_order_add(&order, furrow_recommender_item_name(r, a->item), a->label,
                     furrow_recommender_item_name(r, b->item), b->label);
  }
  return fw_tie_order_pairs(&order) > 0 && !fw_tie_order_is_sorted(&order);
}

/* Whether the rows of each item are adjacent in the log. */
static furrow_status is_by_item(const fw_interactions *all, const read_event *events, bool *by_item,
                                furrow_error *err) {
  fw_item_rows *rows = NULL;
  FW_TRY(FW_ALLOC(&rows, all->items, err));
  for (size_t i = 0; i < all->items; i++) rows[i] = (fw_item_rows){.first = UINT64_MAX};
  for (size_t i = 0; i < all->offset[all->users]; i++) {
    fw_item_rows *of = &rows[events[i].item];
    if (events[i].order < of->first) of->first = events[i].order;
    if (events[i].order > of->last) of->last = events[i].order;
  }
  *by_item = fw_items_follow(rows, all->items);
  fw_free(rows);
  return FURROW_OK;
}

/* Counts events whose user, item and time an earlier one has. */
static furrow_status count_copies(const fw_interactions *all, uint64_t *copies, furrow_error *err) {
  size_t *last = NULL; /* the last event of each item so far, from 1 on */
  FW_TRY(FW_ALLOC_ZERO(&last, all->items, err));
  for (size_t u = 0; u < all->users; u++)
    for (size_t i = all->offset[u]; i < all->offset[u + 1]; i++) {
      size_t *before = &last[all->item[i]];
      *copies += *before > all->offset[u] && all->time[*before - 1] == all->time[i];
      *before = i + 1;
    }
  fw_free(last);
  return FURROW_OK;
}

static furrow_status collect(fw_interactions *all, const furrow_recommender *r, const part *parts, uint32_t threads,
                             fw_interactions_info *info, furrow_error *err) {
  const label_facts facts = find_label_facts(parts, threads);
  read_event *events = NULL;
  size_t count = 0;
  for (uint32_t t = 0; t < threads; t++) count += parts[t].count;
  all->rated = facts.many;
  all->deviation = facts.deviation;
  info->one_label = count > 0 && !facts.two;
  info->positive = facts.two && !facts.many ? (double)facts.high : NAN;
  FW_TRY(alloc_events(all, count, err));
  FW_TRY(FW_ALLOC(&events, count, err));
  info->negatives = count_events(parts, threads, &facts, all->offset);
  for (size_t u = 0; u < all->users; u++) {
    info->events.users += all->offset[u + 1] > 0;
    all->offset[u + 1] += all->offset[u];
  }
  group_events(parts, threads, &facts, all->offset, events);
  memmove(all->offset + 1, all->offset, all->users * sizeof *all->offset);
  all->offset[0] = 0;
  for (size_t u = 0; u < all->users; u++) fill_user(all, all->offset[u], all->offset[u + 1], events);
  for (size_t i = 0; i < all->offset[all->users] && !all->timed; i++) all->timed = all->time[i] != all->time[0];
  bool by_item = true;
  furrow_status status = all->timed ? is_by_item(all, events, &by_item, err) : FURROW_OK;
  if (status == FURROW_OK && all->timed) status = count_copies(all, &info->copies, err);
  all->in_order = !by_item && are_unsorted(all, r, events);
  fw_free(events);
  return status;
}

furrow_status fw_interactions_read(fw_interactions *all, const furrow_recommender *r, const char *uri,
                                   const furrow_events_params *params, fw_interactions_info *info, furrow_error *err) {
  furrow_events_params used = *params;
  used.threads = fw_event_log_threads(params->threads);
  const fw_event_log log = {.r = r,
                            .uri = uri,
                            .params = &used,
                            .labels = !info->every_label,
                            .times = true,
                            .optional = true,
                            .take = take_event};
  part *parts = NULL;
  void **users = NULL;
  *all = (fw_interactions){.users = r->users.count, .items = r->items.count};
  furrow_status status = FW_ALLOC_ZERO(&parts, used.threads, err);
  if (status == FURROW_OK) status = FW_ALLOC(&users, used.threads, err);
  for (uint32_t t = 0; status == FURROW_OK && t < used.threads; t++) {
    parts[t].r = r;
    users[t] = &parts[t];
  }
  if (status == FURROW_OK) status = fw_event_log_read(&log, users, &info->events.below, &info->events.bad, err);
  if (status == FURROW_OK) status = collect(all, r, parts, used.threads, info, err);
  for (uint32_t t = 0; parts && t < used.threads; t++) {
    info->events.rows += parts[t].info.rows;
    info->events.unknown_users += parts[t].info.unknown_users;
    info->events.unknown_items += parts[t].info.unknown_items;
    fw_free(parts[t].events);
  }
  fw_free(parts);
  fw_free((void *)users);
  return status;
}

/* ---- Splitting ------------------------------------------------------------------------------------------ */

typedef struct split_event {
  double time;
  uint64_t hash;
  uint32_t at;
} split_event;

static int compare_split(const void *a, const void *b) {
  const split_event *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static int compare_positions(const void *a, const void *b) {
  const split_event *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

static size_t later_count(size_t count) {
  const size_t fifth = count / 5;
  return count < 2 ? 0 : fifth > 0 ? fifth : 1;
}

static void append_events(fw_interactions *to, const fw_interactions *all, const split_event *events, size_t count,
                          size_t first, size_t *at) {
  for (size_t i = 0; i < count; i++, (*at)++) {
    const size_t from = first + events[i].at;
    to->item[*at] = all->item[from];
    to->time[*at] = all->time[from];
    to->strength[*at] = all->strength[from];
  }
}

static void split_user(const fw_interactions *all, size_t user, split_event *scratch, fw_interactions *earlier,
                       fw_interactions *later) {
  const size_t first = all->offset[user], count = all->offset[user + 1] - first, last = later_count(count);
  size_t at = earlier->offset[user], later_at = later->offset[user];
  for (size_t i = 0; i < count; i++) {
    scratch[i] = (split_event){.time = all->time[first + i],
                               .hash = all->in_order ? 0 : fw_rng_hash(user, all->item[first + i]),
                               .at = (uint32_t)i};
  }
  if (count > 1) qsort(scratch, count, sizeof *scratch, compare_split);
  if (count - last > 1) qsort(scratch, count - last, sizeof *scratch, compare_positions);
  if (last > 1) qsort(scratch + count - last, last, sizeof *scratch, compare_positions);
  append_events(earlier, all, scratch, count - last, first, &at);
  append_events(later, all, scratch + count - last, last, first, &later_at);
  earlier->offset[user + 1] = at;
  later->offset[user + 1] = later_at;
}

furrow_status fw_interactions_split(const fw_interactions *all, fw_interactions *earlier, fw_interactions *later,
                                    furrow_error *err) {
  const size_t count = all->offset[all->users];
  split_event *scratch = NULL;
  size_t most = 0;
  for (size_t u = 0; u < all->users; u++) {
    const size_t n = all->offset[u + 1] - all->offset[u];
    most = n > most ? n : most;
  }
  fw_interactions *parts[2] = {earlier, later};
  for (size_t i = 0; i < 2; i++) {
    *parts[i] = (fw_interactions){.users = all->users,
                                  .items = all->items,
                                  .timed = all->timed,
                                  .rated = all->rated,
                                  .in_order = all->in_order,
                                  .groups = all->groups};
    FW_TRY(alloc_events(parts[i], count, err));
  }
  FW_TRY(FW_ALLOC(&scratch, most, err));
  for (size_t u = 0; u < all->users; u++) split_user(all, u, scratch, earlier, later);
  fw_free(scratch);
  return FURROW_OK;
}
