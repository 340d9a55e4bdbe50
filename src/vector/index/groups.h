/* vector/index/groups.h: numbers 0 … n-1 by the group that each belongs to. */
#ifndef FW_VECTOR_INDEX_GROUPS_H
#define FW_VECTOR_INDEX_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_NO_GROUP UINT32_MAX

/* Members of group g: member[start[g]] … member[start[g + 1] - 1], ascending. */
typedef struct fw_groups {
  size_t count;
  size_t *start; /* count + 1 */
  uint32_t *member;
} fw_groups;

/* Room for n members of `count` groups. */
furrow_status fw_groups_create(fw_groups *groups, size_t count, size_t n, furrow_error *err) FURROW_MUST_USE;
/* Fills it: number i is in group[i], or in none if that is FW_NO_GROUP. */
void fw_groups_fill(fw_groups *groups, const uint32_t *group, size_t n);
void fw_groups_clear(fw_groups *groups);

static inline size_t fw_groups_size(const fw_groups *groups, size_t g) {
  return groups->start[g + 1] - groups->start[g];
}

#endif
