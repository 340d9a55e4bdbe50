/* vector/index/list_stats.c: how the vectors of an index are spread over its lists. */
#include <math.h>

#include "base/error.h"
#include "base/params.h"
#include "vector/index/index.h"

/* Lists of 2^(b-1) … 2^b - 1 vectors are in bucket b. */
static unsigned bucket_of(uint64_t size) {
  return size == 0 ? 0 : 64 - (unsigned)__builtin_clzll(size);
}

furrow_status furrow_index_get_list_stats(const furrow_index *index, furrow_list_stats *stats, furrow_error *err) {
  if (!fw_index_is_ivf(index)) return fw_fail(err, FURROW_E_ARGUMENT, "the index has no inverted lists");
  const fw_lists *lists = &index->ivf.lists;
  size_t nlist = index->ivf.nlist;
  furrow_list_stats s = {.nlist = nlist, .min = UINT64_MAX};
  double squares = 0;
  for (size_t i = 0; lists->list && i < nlist; i++) {
    uint64_t size = lists->list[i].size;
    s.histogram[bucket_of(size)]++;
    s.stored += size;
    if (size < s.min) s.min = size;
    if (size > s.max) s.max = size;
    squares += (double)size * (double)size;
  }
  if (!lists->list) {
    s.histogram[0] = nlist;
    s.min = 0;
  }
  s.empty = s.histogram[0];
  s.mean = (double)s.stored / (double)nlist;
  s.imbalance = s.stored ? (double)nlist * squares / ((double)s.stored * (double)s.stored) : (double)NAN;
  fw_info_write(stats, &s, sizeof s);
  return FURROW_OK;
}
