/* vector/index/stored_ids.h: the ids of an index's vectors, as its users see them, and their names. */
#ifndef FW_VECTOR_INDEX_STORED_IDS_H
#define FW_VECTOR_INDEX_STORED_IDS_H

#include "vector/data/id_names.h"
#include "vector/index/index.h"

/* One of several indexes that will be joined, and the number that is added to its ids. */
typedef struct fw_shifted_ids {
  const furrow_index *index;
  int64_t shift;
} fw_shifted_ids;

/* Fails with E_EXISTS if an id is repeated, within one index or in two of them. */
furrow_status fw_ids_check_unique(const fw_shifted_ids *parts, size_t count, furrow_error *err) FURROW_MUST_USE;

/* Checks that every id of an index has a name; fails with `wrong` otherwise. *unused (may be NULL) counts names without
 * a vector. */
furrow_status fw_id_names_fit(const furrow_id_names *names, const furrow_index *index, furrow_status wrong,
                              uint64_t *unused, furrow_error *err) FURROW_MUST_USE;

#endif
