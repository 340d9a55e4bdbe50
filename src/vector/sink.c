/* vector/sink.c: where the results of one query go. */
#include "vector/sink.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void fw_sink_init_best(fw_sink *sink, fw_hit *heap, size_t k) {
  *sink = (fw_sink){.worst = FLT_MAX, .k = k, .heap = heap, .status = FURROW_OK};
}

void fw_sink_init_range(fw_sink *sink, float radius) {
  *sink = (fw_sink){.worst = radius, .status = FURROW_OK};
}

static inline bool is_worse(fw_hit a, fw_hit b) {
  return a.key > b.key || (a.key == b.key && a.id > b.id);
}

/* Puts `hit` at the free place `at` or above it. */
static void sift_up(fw_hit *heap, size_t at, fw_hit hit) {
  while (at > 0) {
    const size_t parent = (at - 1) / 2;
    if (!is_worse(hit, heap[parent])) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = hit;
}

/* Puts `hit` at the top, which is free, or below it. */
static void sift_down(fw_hit *heap, size_t count, fw_hit hit) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_worse(heap[child + 1], heap[child])) child++;
    if (!is_worse(heap[child], hit)) break;
    heap[at] = heap[child];
  }
  heap[at] = hit;
}

static void list_hit(fw_sink *sink, fw_hit hit) {
  void *hits = sink->hits;
  const furrow_status status = fw_grow(&hits, &sink->hit_room, sink->hit_count + 1, sizeof hit, NULL);
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
  if (sink->k > 0) {
    if (sink->count < sink->k)
      sift_up(sink->heap, sink->count++, hit);
    else
      sift_down(sink->heap, sink->count, hit);
    if (sink->count == sink->k) sink->worst = sink->heap[0].key;
  }
  if (sink->lists || sink->k == 0) list_hit(sink, hit);
}

static int by_key_then_id(const void *a, const void *b) {
  const fw_hit *x = a, *y = b;
  return is_worse(*x, *y) ? 1 : is_worse(*y, *x) ? -1 : 0;
}

void fw_sink_sort(fw_sink *sink) {
  enum { FEW = 32 };
  fw_hit *heap = sink->heap;
  if (sink->count > FEW) {
    qsort(heap, sink->count, sizeof *heap, by_key_then_id);
    return;
  }
  for (size_t i = 1; i < sink->count; i++) {
    const fw_hit hit = heap[i];
    size_t at = i;
    for (; at > 0 && is_worse(heap[at - 1], hit); at--) heap[at] = heap[at - 1];
    heap[at] = hit;
  }
}
