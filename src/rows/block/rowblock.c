/* rows/block/rowblock.c: rows and slices of a block. */
#include <assert.h>

#include "base/error.h"
#include "furrow/rows.h"

/* Element i onwards of an array that may be absent. */
static furrow_keys indices_from(furrow_keys a, furrow_key_type type, uint64_t i) {
  if (a.any) a.any = (const char *)a.any + i * furrow_key_size(type);
  return a;
}

static furrow_values values_from(furrow_values a, furrow_value_type type, uint64_t i) {
  if (a.any) a.any = (const char *)a.any + i * furrow_value_size(type);
  return a;
}

furrow_row furrow_rowblock_row(const furrow_rowblock *block, size_t i) {
  assert(i < block->size);
  uint64_t begin = block->offset[i];
  return (furrow_row){
      .label = values_from(block->label, block->value_type, i),
      .weight = block->weight ? block->weight + i : NULL,
      .qid = block->qid ? block->qid + i : NULL,
      .length = block->offset[i + 1] - begin,
      .field = indices_from(block->field, block->key_type, begin),
      .index = indices_from(block->index, block->key_type, begin),
      .value = values_from(block->value, block->value_type, begin),
      .key_type = block->key_type,
      .value_type = block->value_type,
  };
}

furrow_status furrow_rowblock_slice(const furrow_rowblock *block, size_t begin, size_t end, furrow_rowblock *slice,
                                    furrow_error *err) {
  if (begin > end || end > block->size) {
    return fw_fail(err, FURROW_E_ARGUMENT, "rows %zu to %zu are not a slice of a block of %zu rows", begin, end,
                   block->size);
  }
  furrow_rowblock part = *block;
  part.size = end - begin;
  if (part.offset) part.offset += begin;
  part.label = values_from(block->label, block->value_type, begin);
  if (part.weight) part.weight += begin;
  if (part.qid) part.qid += begin;
  *slice = part;
  return FURROW_OK;
}

size_t furrow_rowblock_memory_cost(const furrow_rowblock *block) {
  if (block->size == 0) return 0;
  size_t per_row = sizeof *block->offset, per_feature = furrow_key_size(block->key_type);
  if (block->label.any) per_row += furrow_value_size(block->value_type);
  if (block->weight) per_row += sizeof *block->weight;
  if (block->qid) per_row += sizeof *block->qid;
  if (block->field.any) per_feature += furrow_key_size(block->key_type);
  if (block->value.any) per_feature += furrow_value_size(block->value_type);
  return block->size * per_row + (block->offset[block->size] - block->offset[0]) * per_feature;
}
