/* model/meta/plan_files.c: which partitions share a file, and which partition a column belongs to. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_out.h"
#include "model/format/matrix_format.h"
#include "model/meta/meta.h"

#define NAME_CAPACITY 12 /* for a partition id and a 0 */

/* The partitions of a server, positions[start … end-1], share a file if they are few; else each half of them does the
 * same. A file is named after the first of its partitions. */
static void name_files(furrow_matrix_meta *meta, const fw_meta_position *positions, size_t start, size_t end,
                       size_t most, char *names) {
  if (end - start > most) {
    const size_t middle = start + (end - start) / 2;
    name_files(meta, positions, start, middle, most, names);
    name_files(meta, positions, middle, end, most, names);
    return;
  }
  char text[FW_NUMBER_TEXT];
  char *name = names + positions[start].index * NAME_CAPACITY;
  const size_t length = fw_write_i64(text, meta->parts[positions[start].index].part_id);
  memcpy(name, text, length);
  name[length] = 0;
  for (size_t i = start; i < end; i++) meta->parts[positions[i].index].file_name = name;
}

static void name_all_files(furrow_matrix_meta *meta, const fw_meta_positions *positions, size_t most, char *names) {
  for (size_t start = 0, end = 0; start < positions->count; start = end) {
    while (end < positions->count && positions->items[end].key == positions->items[start].key) end++;
    name_files(meta, positions->items, start, end, most, names);
  }
}

furrow_status furrow_matrix_plan_files(furrow_matrix_meta *meta, int32_t servers, int32_t parts_per_file,
                                       furrow_error *err) {
  if (servers <= 0) return fw_fail(err, FURROW_E_ARGUMENT, "servers must be positive");
  if (parts_per_file <= 0) return fw_fail(err, FURROW_E_ARGUMENT, "parts_per_file must be positive");
  const bool snapshot = meta->format_class_name && strcmp(meta->format_class_name, fw_snapshot.class_name) == 0;
  fw_meta_owner *owner = meta->memory;
  fw_meta_positions positions = {0}; /* by server */
  void *names = NULL;
  furrow_status status = fw_alloc(&names, meta->part_count, NAME_CAPACITY, err);
  for (size_t i = 0; i < meta->part_count && status == FURROW_OK; i++)
    status = fw_meta_positions_add(&positions, (uint64_t)(meta->parts[i].part_id % servers), 0, err);
  if (status == FURROW_OK) {
    fw_meta_positions_sort(&positions);
    /* Angel gives each partition of a checkpoint a file of its own */
    name_all_files(meta, &positions, snapshot ? 1 : (size_t)parts_per_file, names);
    fw_free(owner->names);
    owner->names = names;
    names = NULL;
  }
  fw_meta_positions_clear(&positions);
  fw_free(names);
  return status;
}

/* As Angel's router: h = |(int) col|, which for the smallest int is that itself; h ^= h >>> 16; its sign bit is
 * dropped; the rest modulo the count. */
int32_t furrow_matrix_hash_partition(int64_t col, int32_t parts) {
  const uint32_t key = (uint32_t)col;
  uint32_t hash = key >> 31 ? 0 - key : key;
  hash ^= hash >> 16;
  return parts > 0 ? (int32_t)((hash & INT32_MAX) % (uint32_t)parts) : 0;
}
