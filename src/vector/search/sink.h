/* vector/search/sink.h: collects the results of one query: the k best, or all that are near enough.
 *
 * A key is a distance, smaller is better: of a similarity its negative. Among equal keys the hit with the larger id is
 * dropped first when a better one comes; a similarity mirrors ids (fw_tie_break_id), so that the smaller one is
 * dropped. */
#ifndef FW_VECTOR_SEARCH_SINK_H
#define FW_VECTOR_SEARCH_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

typedef struct fw_hit {
  float key;
  int64_t id;
} fw_hit;

/* The ids of hits: needed when two keys are equal, and at the end. */
typedef struct fw_id_source {
  int64_t (*id_of)(const void *context, int64_t location);
  const void *context;
} fw_id_source;

typedef struct fw_sink {
  float worst;     /* a key that is not below it does not enter */
  size_t k, count; /* k > 0: a heap of the k best, the worst at its top; `count` are in it */
  size_t capacity; /* > k: no heap; hits are appended, and cut to k when there are so many */
  fw_hit *heap;
  fw_hit *spare;       /* capacity > k: k hits of scratch for a cut */
  fw_id_source source; /* id_of not NULL: the sink holds locations, until fw_sink_sort makes them ids */
  bool lists;          /* every hit that ever entered is kept in `hits`, too, in order; always true if k is 0 */
  fw_hit *hits;        /* grows; the caller frees it */
  size_t hit_count, hit_capacity;
  furrow_status status; /* E_MEMORY: it could not grow, later hits are skipped; else the failure of the scan */
} fw_sink;

/* Keeps the k best in a heap of the caller's, which has k elements. */
void fw_sink_init_best(fw_sink *sink, fw_hit *heap, size_t k);
/* The same results, faster where k is large; memory has fw_sink_hits(k) elements. `worst` may lag behind, and with
 * `lists` more hits are kept. */
void fw_sink_init_many(fw_sink *sink, fw_hit *memory, size_t k);
size_t fw_sink_hits(size_t k);
/* Keeps every hit with a key below `radius`. */
void fw_sink_init_range(fw_sink *sink, float radius);
/* Takes a result whose key is below sink->worst. */
void fw_sink_take(fw_sink *sink, float key, int64_t id);
/* Sorts the k best: best first. The heap is used up. */
void fw_sink_sort(fw_sink *sink);
/* Leaves the k best, in any order, with their ids. */
void fw_sink_finish(fw_sink *sink);
/* Sorts the k best, but locations stay. */
void fw_sink_sort_locations(fw_sink *sink);

/* Sorts the hits of the sink and writes them as k results. flipped: ids are mirrored (fw_tie_break_id). */
void fw_sink_write(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids);
/* The same in any order. */
void fw_sink_write_unsorted(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids);

/* The k-th largest of n numbers, 0 < k <= n; heap has k elements. For a small k. */
float fw_kth_largest(const float *numbers, size_t n, size_t k, float *heap);
/* The k-th smallest of n numbers, 0 < k <= n, none a NaN. Changes their order. */
float fw_kth_smallest(float *numbers, size_t n, size_t k);

static inline void fw_sink_offer(fw_sink *sink, float key, int64_t id) {
  if (key < sink->worst) fw_sink_take(sink, key, id);
}

static inline int64_t fw_tie_break_id(int64_t id, bool similarity) {
  return similarity ? ~id : id;
}

#endif
