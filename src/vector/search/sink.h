/* vector/search/sink.h: collects the results of one query: the k best, or all within a radius.
 *
 * A key is a distance, smaller is better; for a similarity it is the negative. Among equal keys the hit with the larger
 * id is dropped first when a better one comes. A similarity mirrors ids (fw_tie_break_id), so that the smaller one is
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

/* Returns the ids of hits, which are needed at the end and when two keys are equal. */
typedef struct fw_id_source {
  int64_t (*id_of)(const void *context, int64_t location);
  const void *context;
} fw_id_source;

typedef struct fw_sink {
  float worst;     /* only keys below it enter */
  size_t k, count; /* k > 0: a heap of the k best with the worst on top; it has `count` elements */
  size_t capacity; /* if > k: not a heap; hits are appended, and reduced to k when the capacity is reached */
  fw_hit *heap;
  fw_hit *spare;       /* capacity > k: scratch of k hits for a reduction */
  fw_id_source source; /* if id_of is not NULL, the sink holds locations until fw_sink_sort replaces them by ids */
  bool lists;          /* also keep every hit that ever entered in `hits`, in order; implied if k is 0 */
  fw_hit *hits;        /* grows; the caller frees it */
  size_t hit_count, hit_capacity;
  furrow_status status; /* E_MEMORY: it could not grow, and later hits are skipped; otherwise the failure of the scan */
} fw_sink;

/* Keeps the k best in the caller's heap, which has k elements. */
void fw_sink_init_best(fw_sink *sink, fw_hit *heap, size_t k);
/* Gives the same results, faster for large k; memory has fw_sink_hits(k) elements. `worst` is updated with a delay, so
 * with `lists` more hits are kept. */
void fw_sink_init_many(fw_sink *sink, fw_hit *memory, size_t k);
size_t fw_sink_hits(size_t k);
/* Keeps every hit with a key below `radius`. */
void fw_sink_init_range(fw_sink *sink, float radius);
/* Adds a result whose key is below sink->worst. */
void fw_sink_take(fw_sink *sink, float key, int64_t id);
/* Sorts the k best, best first. The heap property is lost. */
void fw_sink_sort(fw_sink *sink);
/* Leaves the k best with their ids, in any order. */
void fw_sink_finish(fw_sink *sink);
/* Sorts the k best, but keeps locations. */
void fw_sink_sort_locations(fw_sink *sink);

/* Sorts the hits of the sink and writes them as k results. flipped: ids are mirrored (fw_tie_break_id). */
void fw_sink_write(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids);
/* The same in any order. */
void fw_sink_write_unsorted(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids);

/* The k-th largest of n numbers, 0 < k <= n; heap has k elements. For small k. */
float fw_kth_largest(const float *numbers, size_t n, size_t k, float *heap);
/* The k-th smallest of n numbers, 0 < k <= n, none of them NaN. Changes their order. */
float fw_kth_smallest(float *numbers, size_t n, size_t k);

static inline void fw_sink_offer(fw_sink *sink, float key, int64_t id) {
  if (key < sink->worst) fw_sink_take(sink, key, id);
}

static inline int64_t fw_tie_break_id(int64_t id, bool similarity) {
  return similarity ? ~id : id;
}

#endif
