/* vector/quantizer/assign.c: assigns vectors to lists, computes residuals, and groups vectors by list. */
#include "vector/quantizer/assign.h"

#include <string.h>

#include "base/endian.h"
#include "base/error.h"
#include "base/mem.h"

furrow_status fw_assigner_over(fw_assigner *assigner, const float *centroids, size_t n, size_t d,
                               furrow_distance_metric metric, furrow_error *err) {
  bool l2 = metric == FURROW_METRIC_L2;
  fw_assigner made = {.d = d, .centroids = centroids, .l2 = l2};
  furrow_status status = fw_packed_create(&made.packed, centroids, n, d, d, l2, err);
  if (status == FURROW_OK) status = fw_packed_add_sketch(&made.packed, centroids, d, l2, err);
  if (status == FURROW_OK)
    *assigner = made;
  else
    fw_packed_clear(&made.packed);
  return status;
}

furrow_status fw_assigner_over_multi(fw_assigner *assigner, const fw_pq *pq, furrow_error *err) {
  fw_assigner made = {.d = pq->d, .multi = pq};
  if (pq->m * pq->nbits > 32)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "a multi-index of more than 2^32 lists cannot be filled");
  furrow_status status = fw_pq_coder_create(&made.coder, pq, err);
  if (status == FURROW_OK) *assigner = made;
  return status;
}

furrow_status fw_assigner_expect(fw_assigner *assigner, const float *vectors, size_t n, furrow_error *err) {
  const size_t d = assigner->d;
  if (!assigner->centroids) return FURROW_OK;
  return fw_packed_add_projection(&assigner->packed, assigner->centroids, d, assigner->l2, vectors, n, d, err);
}

void fw_assigner_clear(fw_assigner *assigner) {
  fw_packed_clear(&assigner->packed);
  fw_pq_coder_clear(&assigner->coder);
  *assigner = (fw_assigner){0};
}

/* The code of a multi-index, as a number, is the list. */
static furrow_status assign_multi(const fw_assigner *assigner, const float *vectors, size_t n, uint32_t *lists,
                                  furrow_error *err) {
  size_t size = assigner->coder.code_size;
  void *memory = NULL;
  FW_TRY(fw_alloc(&memory, n, size, err));
  const uint8_t *codes = memory;
  fw_pq_encode(&assigner->coder, vectors, n, assigner->d, memory);
  for (size_t i = 0; i < n; i++) {
    lists[i] = 0;
    for (size_t byte = 0; byte < size; byte++) lists[i] |= (uint32_t)codes[i * size + byte] << 8 * byte;
  }
  fw_free(memory);
  return FURROW_OK;
}

furrow_status fw_assign(const fw_assigner *assigner, const float *vectors, size_t n, uint32_t *lists,
                        furrow_error *err) {
  if (assigner->multi) return assign_multi(assigner, vectors, n, lists, err);
  memset(lists, 0xff, n * sizeof *lists); /* no initial guesses */
  fw_packed_nearest(&assigner->packed, vectors, n, assigner->d, lists);
  return FURROW_OK;
}

static void multi_centroid(const fw_pq *pq, uint32_t list, float *out) {
  uint8_t code[4];
  fw_put_le32(code, list);
  fw_pq_decode(pq, code, out);
}

void fw_residuals(const fw_assigner *assigner, const float *vectors, const uint32_t *lists, size_t n, float *out) {
  size_t d = assigner->d;
  for (size_t i = 0; i < n; i++) {
    const float *x = vectors + i * d;
    float *to = out + i * d;
    if (assigner->multi) multi_centroid(assigner->multi, lists[i], to);
    const float *centroid = assigner->multi ? to : assigner->centroids + lists[i] * d;
    size_t k = 0;
    for (; k + 8 <= d; k += 8)
      for (size_t j = 0; j < 8; j++) to[k + j] = x[k + j] - centroid[k + j];
    for (; k < d; k++) to[k] = x[k] - centroid[k];
  }
}

/* ---- Vectors by list ------------------------------------------------------------------------------------ */

furrow_status fw_groups_create(fw_groups *groups, size_t count, size_t n, furrow_error *err) {
  void *start = NULL, *member = NULL;
  if (n > UINT32_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "%zu vectors are too many at once", n);
  furrow_status status = fw_alloc_zero(&start, count + 1, sizeof *groups->start, err);
  if (status == FURROW_OK) status = fw_alloc(&member, n, sizeof *groups->member, err);
  if (status != FURROW_OK)
    fw_free(start);
  else
    *groups = (fw_groups){.count = count, .start = start, .member = member};
  return status;
}

void fw_groups_fill(fw_groups *groups, const uint32_t *group, size_t n) {
  size_t *start = groups->start;
  size_t sum = 0;
  memset(start, 0, (groups->count + 1) * sizeof *start);
  for (size_t i = 0; i < n; i++)
    if (group[i] != FW_NO_GROUP) start[group[i]]++;
  for (size_t g = 0; g <= groups->count; g++) {
    size_t size = start[g];
    start[g] = sum;
    sum += size;
  }
  for (size_t i = 0; i < n; i++)
    if (group[i] != FW_NO_GROUP) groups->member[start[group[i]]++] = (uint32_t)i;
  memmove(start + 1, start, groups->count * sizeof *start); /* the loop has advanced each start to the next one */
  start[0] = 0;
}

void fw_groups_clear(fw_groups *groups) {
  fw_free(groups->start);
  fw_free(groups->member);
  *groups = (fw_groups){0};
}
