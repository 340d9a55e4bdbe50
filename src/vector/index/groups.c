/* vector/index/groups.c: numbers by their group: counted, then laid down in order. */
#include "vector/index/groups.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

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
  memmove(start + 1, start, groups->count * sizeof *start); /* each start had become the next one */
  start[0] = 0;
}

void fw_groups_clear(fw_groups *groups) {
  fw_free(groups->start);
  fw_free(groups->member);
  *groups = (fw_groups){0};
}
