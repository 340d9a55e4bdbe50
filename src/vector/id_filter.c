/* vector/id_filter.c: which ids a filter chooses. */
#include "furrow/vector.h"

static bool is_among(const int64_t *sorted, size_t count, int64_t id) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sorted[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && sorted[low] == id;
}

static bool chooses(const furrow_id_filter *filter, int64_t id) {
  switch (filter->kind) {
  case FURROW_FILTER_RANGE: return id >= filter->first && id < filter->end;
  case FURROW_FILTER_SORTED: return is_among(filter->sorted, filter->sorted_count, id);
  case FURROW_FILTER_BITMAP:
    return id >= 0 && (uint64_t)id / 8 < filter->bitmap_bytes && (filter->bitmap[id / 8] >> (id % 8) & 1) != 0;
  case FURROW_FILTER_CALLBACK: return filter->keep(filter->user, id);
  }
  return false;
}

bool furrow_id_filter_keeps(const furrow_id_filter *filter, int64_t id) {
  return chooses(filter, id) != filter->invert;
}
