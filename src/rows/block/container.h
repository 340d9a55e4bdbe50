/* rows/block/container.h: the columns of a container, for the parsers and the cache, which fill them directly. */
#ifndef FW_ROWS_BLOCK_CONTAINER_H
#define FW_ROWS_BLOCK_CONTAINER_H

#include "furrow/rows.h"

/* A column whose flag is set has `rows` (label, weight, qid) or `features` (field, value) elements. A column whose
 * flag is not set is absent from the block, whatever its memory holds. offset has rows + 1 elements (offset[0] = 0)
 * once anything was reserved; index is always present. */
struct furrow_container {
  furrow_key_type key_type;
  furrow_value_type value_type;
  size_t rows, features;
  size_t row_capacity, feature_capacity;
  uint64_t *offset;
  void *label;
  float *weight;
  uint64_t *qid;
  void *field, *index, *value;
  bool has_label, has_weight, has_qid, has_field, has_value;
  uint64_t max_field, max_index; /* maintained by push and load; parsers leave them 0 */
};

/* Columns that fw_container_reserve can be asked for; it always reserves offset and index. */
enum { FW_COLUMN_LABEL = 1, FW_COLUMN_WEIGHT = 2, FW_COLUMN_QID = 4, FW_COLUMN_FIELD = 8, FW_COLUMN_VALUE = 16 };

/* Reserves capacity for at least that many rows and features (in total) in offset, index and the named columns;
 * columns that are allocated already grow with them. Contents are kept. */
furrow_status fw_container_reserve(furrow_container *container, size_t rows, size_t features, unsigned columns,
                                   furrow_error *err) FURROW_MUST_USE;

/* Returns the block without the checks of furrow_container_get_block. */
furrow_rowblock fw_container_block(const furrow_container *container);

#endif
