/* model/meta/meta.c: creates, copies, merges and searches metadata in memory. */
#include "model/meta/meta.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sort.h"

/* ---- Construction ---- */

furrow_status fw_meta_create(fw_meta_owner **owner, size_t text_capacity, furrow_error *err) {
  void *memory = NULL, *text = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(fw_meta_owner), err);
  if (status != FURROW_OK) return status;
  status = fw_alloc(&text, text_capacity, 1, err);
  if (status != FURROW_OK) {
    fw_free(memory);
    return status;
  }
  fw_meta_owner *made = memory;
  made->text = text;
  made->text_capacity = text_capacity;
  made->meta.memory = made;
  made->meta.row_type = -1;
  *owner = made;
  return FURROW_OK;
}

const char *fw_meta_text(fw_meta_owner *owner, const char *text, size_t size) {
  assert(size < owner->text_capacity - owner->text_size);
  char *copy = owner->text + owner->text_size;
  if (size) memcpy(copy, text, size);
  copy[size] = 0;
  owner->text_size += size + 1;
  return copy;
}

furrow_status fw_meta_add_option(fw_meta_owner *owner, furrow_matrix_option option, furrow_error *err) {
  furrow_matrix_meta *meta = &owner->meta;
  void *memory = owner->options;
  furrow_status status = fw_grow(&memory, &owner->option_capacity, meta->option_count + 1, sizeof option, err);
  meta->options = owner->options = memory;
  if (status == FURROW_OK) meta->options[meta->option_count++] = option;
  return status;
}

furrow_status fw_meta_add_row(fw_meta_owner *owner, const furrow_matrix_row_meta *row, furrow_error *err) {
  furrow_status status = FW_GROW(&owner->rows, &owner->row_capacity, owner->row_count + 1, err);
  if (status == FURROW_OK) owner->rows[owner->row_count++] = *row;
  return status;
}

furrow_status fw_meta_add_part(fw_meta_owner *owner, const furrow_partition_meta *part, furrow_error *err) {
  furrow_matrix_meta *meta = &owner->meta;
  void *memory = owner->parts;
  furrow_status status = fw_grow(&memory, &owner->part_capacity, meta->part_count + 1, sizeof *part, err);
  meta->parts = owner->parts = memory;
  if (status == FURROW_OK) meta->parts[meta->part_count++] = *part;
  return status;
}

void fw_meta_finish(fw_meta_owner *owner) {
  size_t first = 0;
  for (size_t i = 0; i < owner->meta.part_count; i++) {
    furrow_partition_meta *part = &owner->meta.parts[i];
    assert(part->row_count <= owner->row_count - first);
    part->rows = part->row_count ? owner->rows + first : NULL;
    first += part->row_count;
  }
}

void furrow_matrix_meta_free(furrow_matrix_meta *meta) {
  if (!meta) return;
  fw_meta_owner *owner = meta->memory;
  fw_free(owner->options);
  fw_free(owner->parts);
  fw_free(owner->rows);
  fw_free(owner->text);
  fw_free(owner->names);
  fw_free(owner);
}

/* ---- Duplicates ---- */

furrow_status fw_meta_positions_add(fw_meta_positions *positions, uint64_t key, uint64_t at, furrow_error *err) {
  FW_TRY(FW_GROW(&positions->items, &positions->capacity, positions->count + 1, err));
  positions->items[positions->count] = (fw_meta_position){key, positions->count, at};
  positions->count++;
  return FURROW_OK;
}

static int compare_positions(const void *a, const void *b) {
  const fw_meta_position *p = a, *q = b;
  if (p->key != q->key) return p->key < q->key ? -1 : 1;
  return p->index < q->index ? -1 : p->index > q->index;
}

void fw_meta_positions_sort(fw_meta_positions *positions) {
  size_t i = 1;
  while (i < positions->count && compare_positions(&positions->items[i - 1], &positions->items[i]) < 0) i++;
  /* files of Angel are mostly sorted already */
  if (i < positions->count) qsort(positions->items, positions->count, sizeof *positions->items, compare_positions);
}

const fw_meta_position *fw_meta_positions_duplicate(fw_meta_positions *positions) {
  fw_meta_positions_sort(positions);
  for (size_t i = 1; i < positions->count; i++)
    if (positions->items[i - 1].key == positions->items[i].key) return &positions->items[i];
  return NULL;
}

void fw_meta_positions_clear(fw_meta_positions *positions) {
  fw_free(positions->items);
  *positions = (fw_meta_positions){0};
}

/* FNV-1a. Two texts with the same hash are rejected like duplicates; only a deliberate collision would be affected. */
uint64_t fw_meta_hash(const char *text, size_t size) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
  return hash;
}

furrow_status fw_meta_sort_parts(fw_meta_owner *owner, fw_meta_positions *positions, const fw_meta_position **twice,
                                 furrow_error *err) {
  furrow_matrix_meta *meta = &owner->meta;
  assert(positions->count == meta->part_count);
  *twice = fw_meta_positions_duplicate(positions);
  if (*twice) return FURROW_E_FORMAT;
  furrow_partition_meta *sorted;
  FW_TRY(FW_ALLOC(&sorted, meta->part_count, err));
  for (size_t i = 0; i < positions->count; i++) sorted[i] = meta->parts[positions->items[i].index];
  fw_free(owner->parts);
  meta->parts = owner->parts = sorted;
  owner->part_capacity = meta->part_count;
  return FURROW_OK;
}

/* ---- Search ---- */

const char *furrow_matrix_meta_option(const furrow_matrix_meta *meta, const char *key) {
  for (size_t i = 0; i < meta->option_count; i++)
    if (strcmp(meta->options[i].key, key) == 0) return meta->options[i].value;
  return NULL;
}

const furrow_partition_meta *furrow_matrix_meta_partition(const furrow_matrix_meta *meta, int32_t part_id) {
  if (meta->part_count == 0) return NULL;
  const size_t low = fw_lower_bound_i32(&meta->parts->part_id, meta->part_count, sizeof *meta->parts, part_id);
  return low < meta->part_count && meta->parts[low].part_id == part_id ? &meta->parts[low] : NULL;
}

/* ---- Copies ---- */

static size_t text_bytes(const char *text) {
  return text ? strlen(text) + 1 : 0;
}

static size_t all_text_bytes(const furrow_matrix_meta *meta) {
  size_t bytes = text_bytes(meta->matrix_name) + text_bytes(meta->format_class_name) + text_bytes(meta->extra);
  for (size_t i = 0; i < meta->option_count; i++)
    bytes += text_bytes(meta->options[i].key) + text_bytes(meta->options[i].value);
  for (size_t i = 0; i < meta->part_count; i++) {
    const furrow_partition_meta *part = &meta->parts[i];
    bytes += text_bytes(part->file_name) + text_bytes(part->extra);
    for (size_t r = 0; r < part->row_count; r++) bytes += text_bytes(part->rows[r].extra);
  }
  return bytes;
}

static const char *copy_text(fw_meta_owner *owner, const char *text) {
  return text ? fw_meta_text(owner, text, strlen(text)) : NULL;
}

static furrow_status copy_part(fw_meta_owner *owner, const furrow_partition_meta *from, furrow_error *err) {
  furrow_partition_meta part = *from;
  furrow_status status = FURROW_OK;
  part.file_name = copy_text(owner, from->file_name);
  part.extra = copy_text(owner, from->extra);
  for (size_t r = 0; r < from->row_count && status == FURROW_OK; r++) {
    furrow_matrix_row_meta row = from->rows[r];
    row.extra = copy_text(owner, row.extra);
    status = fw_meta_add_row(owner, &row, err);
  }
  return status == FURROW_OK ? fw_meta_add_part(owner, &part, err) : status;
}

/* Copies everything except options, partitions and memory. */
static void copy_head(fw_meta_owner *owner, const furrow_matrix_meta *from) {
  furrow_matrix_meta *to = &owner->meta;
  *to = *from;
  to->matrix_name = copy_text(owner, from->matrix_name);
  to->format_class_name = copy_text(owner, from->format_class_name);
  to->extra = copy_text(owner, from->extra);
  to->option_count = to->part_count = 0;
  to->options = NULL;
  to->parts = NULL;
  to->memory = owner;
}

furrow_status furrow_matrix_meta_copy(furrow_matrix_meta **copy, const furrow_matrix_meta *meta, furrow_error *err) {
  fw_meta_owner *owner = NULL;
  furrow_status status = fw_meta_create(&owner, all_text_bytes(meta), err);
  if (status != FURROW_OK) return status;
  copy_head(owner, meta);
  for (size_t i = 0; i < meta->option_count && status == FURROW_OK; i++) {
    furrow_matrix_option option = {copy_text(owner, meta->options[i].key), copy_text(owner, meta->options[i].value)};
    status = fw_meta_add_option(owner, option, err);
  }
  for (size_t i = 0; i < meta->part_count && status == FURROW_OK; i++) status = copy_part(owner, &meta->parts[i], err);
  if (status != FURROW_OK) {
    furrow_matrix_meta_free(&owner->meta);
    return status;
  }
  fw_meta_finish(owner);
  *copy = &owner->meta;
  return FURROW_OK;
}

/* ---- Merging the files of several servers ---- */

static furrow_status merge_parts(fw_meta_owner *owner, const fw_meta_owner *from, size_t number,
                                 fw_meta_positions *positions, furrow_error *err) {
  furrow_status status = FURROW_OK;
  for (size_t i = 0; i < from->meta.part_count && status == FURROW_OK; i++) {
    const furrow_partition_meta *part = &from->meta.parts[i];
    status = fw_meta_positions_add(positions, (uint32_t)part->part_id, number, err);
    if (status == FURROW_OK) status = copy_part(owner, part, err);
  }
  return status;
}

static furrow_status merge_into(fw_meta_owner *owner, fw_meta_owner *const *parts, const char *const *files,
                                size_t count, fw_meta_positions *positions, furrow_error *err) {
  furrow_status status = FURROW_OK;
  owner->meta = parts[0]->meta;
  owner->meta.memory = owner;
  owner->meta.part_count = 0;
  owner->meta.parts = NULL;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) {
    if (parts[i]->meta.matrix_id != owner->meta.matrix_id) {
      fw_fail(err, FURROW_E_FORMAT, "matrixId is %d, but %d in %s", parts[i]->meta.matrix_id, owner->meta.matrix_id,
              files[0]);
      fw_error_set_file(err, files[i]);
      return FURROW_E_FORMAT;
    }
    status = merge_parts(owner, parts[i], i, positions, err);
  }
  if (status != FURROW_OK) return status;
  const fw_meta_position *twice = NULL;
  fw_meta_finish(owner);
  status = fw_meta_sort_parts(owner, positions, &twice, err);
  if (!twice) return status;
  fw_fail(err, FURROW_E_FORMAT, "partMetas has partition %d, which another file has, too", (int32_t)twice->key);
  fw_error_set_file(err, files[twice->at]);
  return FURROW_E_FORMAT;
}

furrow_status fw_meta_merge(fw_meta_owner **owner, fw_meta_owner *const *parts, const char *const *files, size_t count,
                            furrow_error *err) {
  size_t text = 0;
  fw_meta_owner *made = NULL;
  fw_meta_positions positions = {0};
  for (size_t i = 0; i < count; i++) text += all_text_bytes(&parts[i]->meta);
  furrow_status status = fw_meta_create(&made, text, err);
  if (status == FURROW_OK) status = merge_into(made, parts, files, count, &positions, err);
  if (status == FURROW_OK)
    *owner = made;
  else if (made)
    furrow_matrix_meta_free(&made->meta);
  fw_meta_positions_clear(&positions);
  return status;
}
