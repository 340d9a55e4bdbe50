/* model/exchange/vectors.h: a stored matrix as a sequence of vectors: its rows, or its columns. */
#ifndef FW_MODEL_EXCHANGE_VECTORS_H
#define FW_MODEL_EXCHANGE_VECTORS_H

#include "furrow/exchange.h"

/* Vectors that follow each other and have elements at the same indices, borrowed. A vector may come in several pieces,
 * one after the other, indices ascending (then count is 1). */
typedef struct fw_vectors {
  size_t count;
  const int64_t *ids; /* ascending; NULL: first_id, first_id + 1, … */
  int64_t first_id;
  size_t size;            /* elements of each */
  const int64_t *indices; /* ascending; NULL: first_index, … */
  int64_t first_index;
  furrow_element_type type;
  furrow_elements values; /* vector after vector */
} fw_vectors;

static inline int64_t fw_vectors_id(const fw_vectors *v, size_t i) {
  return v->ids ? v->ids[i] : v->first_id + (int64_t)i;
}
static inline int64_t fw_vectors_index(const fw_vectors *v, size_t j) {
  return v->indices ? v->indices[j] : v->first_index + (int64_t)j;
}

typedef furrow_status (*fw_vectors_visitor)(void *user, const fw_vectors *vectors, furrow_error *err);

/* How to go through a matrix. */
typedef struct fw_vectors_plan {
  const furrow_matrix_source *source;
  const furrow_matrix_selection *selection;
  furrow_axis axis; /* not AUTO */
  unsigned threads;
  size_t memory;
  size_t row_count; /* saved rows of the selection, ascending */
  int32_t *rows;
  int64_t first_col, end_col; /* where columns may be; as far as the metadata tells */
  uint64_t bytes;             /* of the partitions */
  uint64_t most_elements;     /* at most so many there are */
  furrow_progress progress;
  void *user;
} fw_vectors_plan;

/* Fills rows, columns, bytes from the metadata; source, selection and axis are set. Free with clear. */
furrow_status fw_vectors_plan_init(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;
void fw_vectors_plan_clear(fw_vectors_plan *plan);
/* Narrows first_col and end_col to the columns that have elements, where partitions (hash) do not tell. Reads all. */
furrow_status fw_vectors_plan_columns(fw_vectors_plan *plan, furrow_error *err) FURROW_MUST_USE;

/* Calls visit for all vectors, ids ascending. Rows: also for a saved row without elements (size 0). Columns: only those
 * that have an element. */
furrow_status fw_vectors_visit(const fw_vectors_plan *plan, fw_vectors_visitor visit, void *user,
                               furrow_error *err) FURROW_MUST_USE;

#endif
