/* vector/index/stored_ids.h: the ids of the vectors of an index, as the outside sees them, and their names. */
#ifndef FW_VECTOR_INDEX_STORED_IDS_H
#define FW_VECTOR_INDEX_STORED_IDS_H

#include "vector/data/id_names.h"
#include "vector/index/index.h"

/* One index of several that become one, with what is added to its ids. */
typedef struct fw_shifted_ids {
  const furrow_index *index;
  int64_t shift;
} fw_shifted_ids;

/* E_EXISTS: an id is there more than once, in one of them or in two. */
furrow_status fw_ids_check_unique(const fw_shifted_ids *parts, size_t count, furrow_error *err) FURROW_MUST_USE;

/* Whether every id of an index has a name: `wrong` where one has none. *unused (may be NULL): names without a vector.
 */
furrow_status fw_id_names_fit(const furrow_id_names *names, const furrow_index *index, furrow_status wrong,
                              uint64_t *unused, furrow_error *err) FURROW_MUST_USE;

#endif
