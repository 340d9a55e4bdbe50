/* vector/data/id_filter.h: which ids count: in a search, when vectors are removed, when names are removed. */
#ifndef FW_VECTOR_DATA_ID_FILTER_H
#define FW_VECTOR_DATA_ID_FILTER_H

#include "furrow/vector.h"

/* The ids that an id map has for the dense ids inside. */
typedef struct fw_outer_ids {
  const int64_t *ids;
  size_t count;
  const struct fw_outer_ids *outer; /* the map around this one; NULL: none */
} fw_outer_ids;

/* The filter of a search, which takes the outermost ids. */
typedef struct fw_id_filter {
  const furrow_id_filter *filter; /* NULL: all ids are kept */
  const fw_outer_ids *outer;      /* NULL: no id map, ids are those of the filter */
} fw_id_filter;

bool fw_id_filter_test(const fw_id_filter *id_filter, int64_t id);

static inline bool fw_id_filter_keeps(const fw_id_filter *id_filter, int64_t id) {
  return !id_filter->filter || fw_id_filter_test(id_filter, id);
}

/* The caller's filter as a full struct. E_ARGUMENT: it cannot be used, as a callback without function. */
furrow_status fw_id_filter_read(furrow_id_filter *filter, const furrow_id_filter *given,
                                furrow_error *err) FURROW_MUST_USE;
/* furrow_id_filter_keeps of a full struct. */
bool fw_id_filter_keeps_id(const furrow_id_filter *filter, int64_t id);

#endif
