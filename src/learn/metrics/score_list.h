/* learn/metrics/score_list.h: scores of rows of two classes, one by one, and their order. */
#ifndef FW_LEARN_METRICS_SCORE_LIST_H
#define FW_LEARN_METRICS_SCORE_LIST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "furrow/status.h"

/* All zeros, then to be cleared. */
typedef struct fw_score_list {
  uint64_t *key; /* ascends with the score */
  float *weight; /* its sign is the class: -w is a negative row */
  size_t count, key_capacity, weight_capacity;
} fw_score_list;

/* The bits of a double, so turned that they ascend as unsigned numbers; -0 is 0. */
static inline uint64_t fw_score_key(double score) {
  const double positive_zero = score + 0.0;
  uint64_t bits;
  memcpy(&bits, &positive_zero, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline double fw_key_score(uint64_t key) {
  const uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
  double score;
  memcpy(&score, &bits, sizeof score);
  return score;
}

void fw_score_list_clear(fw_score_list *list);
/* Reserves memory for `count` rows. */
furrow_status fw_score_list_reserve(fw_score_list *list, size_t count, furrow_error *err) FURROW_MUST_USE;
/* Ascending by score, then by class and weight, so that equal sets of rows become equal lists. After a failure
 * (E_MEMORY) the list is as before. */
furrow_status fw_score_list_sort(fw_score_list *list, furrow_error *err) FURROW_MUST_USE;
/* The same with all threads. */
furrow_status fw_score_list_sort_in(fw_score_list *list, fw_spin_pool *pool, furrow_error *err) FURROW_MUST_USE;

#endif
