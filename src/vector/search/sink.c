/* vector/search/sink.c: collects the results of one query. */
#include "vector/search/sink.h"

#include <float.h>
#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

void fw_sink_init_best(fw_sink *sink, fw_hit *heap, size_t k) {
  *sink = (fw_sink){.worst = FLT_MAX, .k = k, .heap = heap, .status = FURROW_OK};
}

/* From this k on, collecting hits and reducing them to k from time to time is faster than a heap. */
enum { MANY = 24 };

size_t fw_sink_hits(size_t k) {
  return k < MANY ? k : 3 * k;
}

void fw_sink_init_many(fw_sink *sink, fw_hit *memory, size_t k) {
  fw_sink_init_best(sink, memory, k);
  if (k < MANY) return;
  sink->capacity = 2 * k;
  sink->spare = memory + sink->capacity;
}

void fw_sink_init_range(fw_sink *sink, float radius) {
  *sink = (fw_sink){.worst = radius, .status = FURROW_OK};
}

static bool has_larger_id(const fw_id_source *source, fw_hit a, fw_hit b) {
  if (!source->id_of) return a.id > b.id;
  return source->id_of(source->context, a.id) > source->id_of(source->context, b.id);
}

static inline bool is_worse(const fw_id_source *source, fw_hit a, fw_hit b) {
  return a.key > b.key || (a.key == b.key && has_larger_id(source, a, b));
}

/* Inserts `hit` at the free slot `at` or above it. */
static void sift_up(const fw_id_source *source, fw_hit *heap, size_t at, fw_hit hit) {
  while (at > 0) {
    const size_t parent = (at - 1) / 2;
    if (!is_worse(source, hit, heap[parent])) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = hit;
}

/* Inserts `hit` at the free top or below it. */
static void sift_down(const fw_id_source *source, fw_hit *heap, size_t count, fw_hit hit) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_worse(source, heap[child + 1], heap[child])) child++;
    if (!is_worse(source, heap[child], hit)) break;
    heap[at] = heap[child];
  }
  heap[at] = hit;
}

/* ---- Many hits ------------------------------------------------------------------------------------------ */

/* Keeps the k hits that a heap would contain now. Let t be the k-th smallest key. All hits below t are kept. A hit with
 * key t has entered the heap if fewer than k hits with keys up to t preceded it; of these, the smallest ids are kept.
 * Hits below t stay in the order of arrival for the next reduction. */
static void reduce_to_k(fw_sink *sink) {
  const size_t k = sink->k;
  float *keys = (float *)sink->spare;
  for (size_t i = 0; i < sink->count; i++) keys[i] = sink->heap[i].key;
  const float t = fw_kth_smallest(keys, sink->count, k);
  size_t below = 0, equal = 0, kept = 0;
  for (size_t i = 0; i < sink->count; i++) {
    const fw_hit hit = sink->heap[i];
    if (hit.key < t)
      sink->heap[below++] = hit;
    else if (hit.key == t && below + equal < k)
      sink->spare[equal++] = hit;
  }
  fw_hit *ties = sink->heap + below;
  for (size_t i = 0; i < equal; i++) {
    if (below + kept < k)
      sift_up(&sink->source, ties, kept++, sink->spare[i]);
    else if (is_worse(&sink->source, ties[0], sink->spare[i]))
      sift_down(&sink->source, ties, kept, sink->spare[i]);
  }
  sink->count = k;
  sink->worst = t;
}

/* ---- Sinks ---------------------------------------------------------------------------------------------- */

static void list_hit(fw_sink *sink, fw_hit hit) {
  void *hits = sink->hits;
  const furrow_status status = fw_grow(&hits, &sink->hit_capacity, sink->hit_count + 1, sizeof hit, NULL);
  if (status != FURROW_OK) {
    sink->status = status;
    sink->worst = -INFINITY;
    return;
  }
  sink->hits = hits;
  sink->hits[sink->hit_count++] = hit;
}

void fw_sink_take(fw_sink *sink, float key, int64_t id) {
  const fw_hit hit = {key, id};
  if (sink->capacity > 0) {
    sink->heap[sink->count++] = hit;
    if (sink->count == sink->capacity) reduce_to_k(sink);
  } else if (sink->k > 0) {
    if (sink->count < sink->k)
      sift_up(&sink->source, sink->heap, sink->count++, hit);
    else
      sift_down(&sink->source, sink->heap, sink->count, hit);
    if (sink->count == sink->k) sink->worst = sink->heap[0].key;
  }
  if (sink->lists || sink->k == 0) list_hit(sink, hit);
}

/* Heap sort: repeatedly moves the worst to the end. */
static void sort_heap(fw_sink *sink) {
  if (sink->capacity > 0)
    for (size_t i = 1; i < sink->count; i++) sift_up(&sink->source, sink->heap, i, sink->heap[i]);
  for (size_t count = sink->count; count > 1; count--) {
    const fw_hit worst = sink->heap[0];
    sift_down(&sink->source, sink->heap, count - 1, sink->heap[count - 1]);
    sink->heap[count - 1] = worst;
  }
}

void fw_sink_finish(fw_sink *sink) {
  const fw_id_source source = sink->source;
  if (sink->capacity > 0 && sink->count > sink->k) reduce_to_k(sink);
  for (size_t i = 0; source.id_of && i < sink->count; i++)
    sink->heap[i].id = source.id_of(source.context, sink->heap[i].id);
  sink->source.id_of = NULL;
}

void fw_sink_sort(fw_sink *sink) {
  fw_sink_finish(sink);
  sort_heap(sink);
}

void fw_sink_sort_locations(fw_sink *sink) {
  if (sink->capacity > 0 && sink->count > sink->k) reduce_to_k(sink);
  sort_heap(sink);
}

static void write_hits(const fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids) {
  for (size_t i = 0; i < sink->count; i++) {
    distances[i] = similarity ? -sink->heap[i].key : sink->heap[i].key;
    ids[i] = fw_tie_break_id(sink->heap[i].id, flipped);
  }
  for (size_t i = sink->count; i < k; i++) {
    distances[i] = similarity ? -FLT_MAX : FLT_MAX;
    ids[i] = -1;
  }
}

void fw_sink_write(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids) {
  fw_sink_sort(sink);
  write_hits(sink, k, similarity, flipped, distances, ids);
}

void fw_sink_write_unsorted(fw_sink *sink, size_t k, bool similarity, bool flipped, float *distances, int64_t *ids) {
  fw_sink_finish(sink);
  write_hits(sink, k, similarity, flipped, distances, ids);
}

/* Keeps a heap of the k largest, with the smallest of them on top. */
float fw_kth_largest(const float *numbers, size_t n, size_t k, float *heap) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    const float number = numbers[i];
    size_t at = 0;
    if (count < k) {
      for (at = count++; at > 0 && heap[(at - 1) / 2] > number; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    } else if (number > heap[0]) {
      for (size_t child; (child = 2 * at + 1) < k; at = child) {
        if (child + 1 < k && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= number) break;
        heap[at] = heap[child];
      }
    } else {
      continue;
    }
    heap[at] = number;
  }
  return heap[0];
}

/* Moves numbers below the pivot (or up to it) to the front and returns how many there are. Without data-dependent
 * branches. */
static size_t partition_numbers(float *numbers, size_t n, float pivot, bool equal_too) {
  size_t first = 0;
  for (size_t i = 0; i < n; i++) {
    const float number = numbers[i];
    numbers[i] = numbers[first];
    numbers[first] = number;
    first += equal_too ? number <= pivot : number < pivot;
  }
  return first;
}

static float median_of_three(float a, float b, float c) {
  const float low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* Pivots are random, so that no input order is slow. */
float fw_kth_smallest(float *numbers, size_t n, size_t k) {
  fw_rng rng;
  fw_rng_init(&rng, n);
  while (n > 1) {
    const float pivot =
        median_of_three(numbers[fw_rng_below(&rng, n)], numbers[fw_rng_below(&rng, n)], numbers[fw_rng_below(&rng, n)]);
    const size_t below = partition_numbers(numbers, n, pivot, false);
    if (k <= below) {
      n = below;
      continue;
    }
    const size_t upto = below + partition_numbers(numbers + below, n - below, pivot, true);
    if (k <= upto) return pivot;
    numbers += upto;
    n -= upto;
    k -= upto;
  }
  return numbers[0];
}
