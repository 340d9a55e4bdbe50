/* vector/data/id_filter.c: filters of ids. */
#include "vector/data/id_filter.h"

#include "base/error.h"
#include "base/params.h"
#include "base/sort.h"

static bool is_in_sorted(const int64_t *sorted, size_t count, int64_t id) {
  const size_t at = fw_lower_bound_i64(sorted, count, sizeof *sorted, id);
  return at < count && sorted[at] == id;
}

static bool is_in_bitmap(const uint8_t *bitmap, size_t bytes, int64_t id) {
  return id >= 0 && (uint64_t)id / 8 < bytes && (bitmap[id / 8] >> (id % 8) & 1);
}

static bool contains(const furrow_id_filter *filter, int64_t id) {
  switch (filter->kind) {
  case FURROW_ID_FILTER_RANGE: return filter->first <= id && (id < filter->end || filter->end == INT64_MAX);
  case FURROW_ID_FILTER_SORTED: return is_in_sorted(filter->sorted, filter->sorted_count, id);
  case FURROW_ID_FILTER_BITMAP: return is_in_bitmap(filter->bitmap, filter->bitmap_bytes, id);
  case FURROW_ID_FILTER_CALLBACK: return filter->keep(filter->user, id);
  }
  return false;
}

bool fw_id_filter_keeps_id(const furrow_id_filter *filter, int64_t id) {
  return contains(filter, id) != filter->invert;
}

bool furrow_id_filter_keeps(const furrow_id_filter *filter, int64_t id) {
  furrow_id_filter full;
  furrow_id_filter_init(&full);
  return FW_PARAMS_READ(&full, filter, furrow_id_filter, NULL) == FURROW_OK && fw_id_filter_keeps_id(&full, id);
}

bool fw_id_filter_test(const fw_id_filter *id_filter, int64_t id) {
  for (const fw_outer_ids *map = id_filter->outer; map; map = map->outer) {
    if (id < 0 || (uint64_t)id >= map->count) return false;
    id = map->ids[id];
  }
  return fw_id_filter_keeps_id(id_filter->filter, id);
}

furrow_status fw_id_filter_read(furrow_id_filter *filter, const furrow_id_filter *given, furrow_error *err) {
  furrow_id_filter_init(filter);
  FW_TRY(FW_PARAMS_READ(filter, given, furrow_id_filter, err));
  if ((unsigned)filter->kind > FURROW_ID_FILTER_CALLBACK)
    return fw_fail(err, FURROW_E_ARGUMENT, "filter.kind is %d, which is not a kind of filter", (int)filter->kind);
  if (filter->kind == FURROW_ID_FILTER_CALLBACK && !filter->keep)
    return fw_fail(err, FURROW_E_ARGUMENT, "filter.keep is missing");
  if (filter->kind == FURROW_ID_FILTER_SORTED && filter->sorted_count > 0 && !filter->sorted)
    return fw_fail(err, FURROW_E_ARGUMENT, "filter.sorted is missing");
  if (filter->kind == FURROW_ID_FILTER_BITMAP && filter->bitmap_bytes > 0 && !filter->bitmap)
    return fw_fail(err, FURROW_E_ARGUMENT, "filter.bitmap is missing");
  for (size_t i = 1; filter->kind == FURROW_ID_FILTER_SORTED && i < filter->sorted_count; i++)
    if (filter->sorted[i] < filter->sorted[i - 1])
      return fw_fail(err, FURROW_E_ARGUMENT, "filter.sorted is not sorted: %zu comes before a smaller id", i - 1);
  return FURROW_OK;
}
