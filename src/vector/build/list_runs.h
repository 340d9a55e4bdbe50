/* vector/build/list_runs.h: new vectors by the list they go to. Few vectors for many lists cost no look at every list.
 */
#ifndef FW_VECTOR_BUILD_LIST_RUNS_H
#define FW_VECTOR_BUILD_LIST_RUNS_H

#include "vector/index/groups.h"

/* Rows member[first … first + count - 1] go to a list, in this order. */
typedef struct fw_run {
  size_t list, first, count;
} fw_run;

typedef struct fw_runs {
  uint32_t *member; /* rows by list, then as they came; those of FW_NO_GROUP are not there */
  size_t members;
  fw_run *run; /* by list */
  size_t count;
} fw_runs;

/* Of n rows, row i goes to list[i] < nlist, or is FW_NO_GROUP. */
furrow_status fw_runs_create(fw_runs *runs, const uint32_t *list, size_t n, size_t nlist,
                             furrow_error *err) FURROW_MUST_USE;
void fw_runs_clear(fw_runs *runs);

#endif
