/* vector/sink.c: where the results of one query go. */
#include "vector/sink.h"

#include <float.h>
#include <math.h>

#include "base/mem.h"

void fw_sink_init_best(fw_sink *sink, fw_hit *heap, size_t k) {
  *sink = (fw_sink){.worst = FLT_MAX, .k = k, .heap = heap, .status = FURROW_OK};
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

/* Puts `hit` at the free place `at` or above it. */
static void sift_up(const fw_id_source *source, fw_hit *heap, size_t at, fw_hit hit) {
  while (at > 0) {
    const size_t parent = (at - 1) / 2;
    if (!is_worse(source, hit, heap[parent])) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = hit;
}

/* Puts `hit` at the top, which is free, or below it. */
static void sift_down(const fw_id_source *source, fw_hit *heap, size_t count, fw_hit hit) {
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_worse(source, heap[child + 1], heap[child])) child++;
    if (!is_worse(source, heap[child], hit)) break;
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
      sift_up(&sink->source, sink->heap, sink->count++, hit);
    else
      sift_down(&sink->source, sink->heap, sink->count, hit);
    if (sink->count == sink->k) sink->worst = sink->heap[0].key;
  }
  if (sink->lists || sink->k == 0) list_hit(sink, hit);
}

/* The worst goes behind the rest, again and again. */
void fw_sink_sort(fw_sink *sink) {
  const fw_id_source source = sink->source;
  for (size_t i = 0; source.id_of && i < sink->count; i++)
    sink->heap[i].id = source.id_of(source.context, sink->heap[i].id);
  sink->source.id_of = NULL;
  for (size_t count = sink->count; count > 1; count--) {
    const fw_hit worst = sink->heap[0];
    sift_down(&sink->source, sink->heap, count - 1, sink->heap[count - 1]);
    sink->heap[count - 1] = worst;
  }
}

/* A heap of the k largest, the smallest of them at its top. */
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
