/* vector/quantizer/assign.h: assigns vectors to lists, computes residuals, and groups vectors by list. */
#ifndef FW_VECTOR_QUANTIZER_ASSIGN_H
#define FW_VECTOR_QUANTIZER_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/vector.h"
#include "vector/quantizer/pq.h"

/* A coarse quantizer prepared for assigning: flat vectors, the vectors of an HNSW graph (all are compared), or a
 * multi-index. */
typedef struct fw_assigner {
  size_t d;
  const float *centroids; /* centroids of the lists; NULL: `multi` is used */
  const fw_pq *multi;
  bool l2;
  fw_packed packed;
  fw_pq_coder coder;
} fw_assigner;

/* Borrows n centroids. */
furrow_status fw_assigner_over(fw_assigner *assigner, const float *centroids, size_t n, size_t d,
                               furrow_distance_metric metric, furrow_error *err) FURROW_MUST_USE;
/* Borrows a multi-index: its code of a vector, as a number, is the list. Fails with E_UNSUPPORTED for more than 2^32
 * lists. */
furrow_status fw_assigner_over_multi(fw_assigner *assigner, const fw_pq *multi, furrow_error *err) FURROW_MUST_USE;
/* Speeds the assigner up if that pays off for n vectors like these. */
furrow_status fw_assigner_expect(fw_assigner *assigner, const float *vectors, size_t n,
                                 furrow_error *err) FURROW_MUST_USE;
void fw_assigner_clear(fw_assigner *assigner);

/* Finds the list of each of n finite vectors; UINT32_MAX if products overflow. Thread-safe. */
furrow_status fw_assign(const fw_assigner *assigner, const float *vectors, size_t n, uint32_t *lists,
                        furrow_error *err) FURROW_MUST_USE;
/* out = vector - centroid of its list, for n vectors. */
void fw_residuals(const fw_assigner *assigner, const float *vectors, const uint32_t *lists, size_t n, float *out);

/* ---- Vectors by list ---- */

#define FW_NO_GROUP UINT32_MAX

/* Members of group g: member[start[g]] … member[start[g + 1] - 1], ascending. */
typedef struct fw_groups {
  size_t count;
  size_t *start; /* count + 1 elements */
  uint32_t *member;
} fw_groups;

/* Allocates `count` groups for n members. */
furrow_status fw_groups_create(fw_groups *groups, size_t count, size_t n, furrow_error *err) FURROW_MUST_USE;
/* Fills the groups: i belongs to group[i], or to none if that is FW_NO_GROUP. */
void fw_groups_fill(fw_groups *groups, const uint32_t *group, size_t n);
void fw_groups_clear(fw_groups *groups);

static inline size_t fw_groups_size(const fw_groups *groups, size_t g) {
  return groups->start[g + 1] - groups->start[g];
}

#endif
