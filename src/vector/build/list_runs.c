/* vector/build/list_runs.c: new vectors by the list they go to. */
#include "vector/build/list_runs.h"

#include "base/mem.h"
#include "base/sort.h"

enum { FEW = 16 }; /* lists for each vector: then vectors are sorted, not lists counted */

static void add_member(fw_runs *runs, size_t list, uint32_t row) {
  fw_run *last = runs->count > 0 ? &runs->run[runs->count - 1] : NULL;
  if (!last || last->list != list) {
    last = &runs->run[runs->count++];
    *last = (fw_run){.list = list, .first = runs->members};
  }
  last->count++;
  runs->member[runs->members++] = row;
}

static furrow_status sort_rows(fw_runs *runs, const uint32_t *list, size_t n, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc(&memory, n, sizeof(uint64_t), err);
  if (status != FURROW_OK) return status;
  uint64_t *keys = memory;
  for (size_t i = 0; i < n; i++) keys[i] = (uint64_t)list[i] << 32 | i;
  fw_sort_u64(keys, n);
  for (size_t i = 0; i < n; i++)
    if (keys[i] >> 32 != FW_NO_GROUP) add_member(runs, (size_t)(keys[i] >> 32), (uint32_t)keys[i]);
  fw_free(keys);
  return FURROW_OK;
}

static furrow_status count_lists(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist, furrow_error *err) {
  fw_groups groups = {0};
  furrow_status status = fw_groups_create(&groups, nlist, n, err);
  if (status != FURROW_OK) return status;
  fw_groups_fill(&groups, list, n);
  for (size_t g = 0; g < nlist; g++)
    for (size_t i = 0; i < fw_groups_size(&groups, g); i++) add_member(runs, g, groups.member[groups.start[g] + i]);
  fw_groups_clear(&groups);
  return FURROW_OK;
}

furrow_status fw_runs_create(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist, furrow_error *err) {
  void *member = NULL, *run = NULL;
  furrow_status status = fw_alloc(&member, n, sizeof *runs->member, err);
  if (status == FURROW_OK) status = fw_alloc(&run, n < nlist ? n : nlist, sizeof *runs->run, err);
  fw_runs made = {.member = member, .run = run};
  if (status == FURROW_OK)
    status = n < nlist / FEW ? sort_rows(&made, list, n, err) : count_lists(&made, list, n, nlist, err);
  if (status == FURROW_OK)
    *runs = made;
  else
    fw_runs_clear(&made);
  return status;
}

void fw_runs_clear(fw_runs *runs) {
  fw_free(runs->member);
  fw_free(runs->run);
  *runs = (fw_runs){0};
}
