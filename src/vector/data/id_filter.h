/* vector/data/id_filter.h: selects ids in a search, and when vectors or names are removed. */
#ifndef FW_VECTOR_DATA_ID_FILTER_H
#define FW_VECTOR_DATA_ID_FILTER_H

#include "furrow/vector.h"

/* Maps the dense ids inside an id map to the ids outside. */
typedef struct fw_outer_ids {
  const int64_t *ids;
  size_t count;
  const struct fw_outer_ids *outer; /* the next id map further out; NULL: none */
} fw_outer_ids;

/* The filter of a search, which tests the outermost ids. */
typedef struct fw_id_filter {
  const furrow_id_filter *filter; /* NULL: keep all ids */
  const fw_outer_ids *outer;      /* NULL: there is no id map */
} fw_id_filter;

bool fw_id_filter_test(const fw_id_filter *id_filter, int64_t id);

static inline bool fw_id_filter_keeps(const fw_id_filter *id_filter, int64_t id) {
  return !id_filter->filter || fw_id_filter_test(id_filter, id);
}

/* Copies the caller's filter to a full struct. Fails with E_ARGUMENT if it is invalid, e.g. a callback without a
 * function. */
furrow_status fw_id_filter_read(furrow_id_filter *filter, const furrow_id_filter *given,
                                furrow_error *err) FURROW_MUST_USE;
/* Like furrow_id_filter_keeps, for a full struct. */
bool fw_id_filter_keeps_id(const furrow_id_filter *filter, int64_t id);

#endif
