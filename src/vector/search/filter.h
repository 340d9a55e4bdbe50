/* vector/search/filter.h: choosing ids while searching. */
#ifndef FW_VECTOR_SEARCH_FILTER_H
#define FW_VECTOR_SEARCH_FILTER_H

#include "furrow/vector.h"

/* Ids of one's own: what an id map makes of the ids inside. */
typedef struct fw_outer_ids {
  const int64_t *ids;
  size_t count;
  const struct fw_outer_ids *outer; /* the map around this one; NULL: none */
} fw_outer_ids;

/* What a search leaves out; the filter speaks of the outermost ids. */
typedef struct fw_choice {
  const furrow_id_filter *filter; /* NULL: nothing is left out */
  const fw_outer_ids *outer;      /* NULL: ids are those of the filter */
} fw_choice;

bool fw_choice_asks(const fw_choice *choice, int64_t id);

static inline bool fw_choice_keeps(const fw_choice *choice, int64_t id) {
  return !choice->filter || fw_choice_asks(choice, id);
}

/* E_ARGUMENT: a filter that cannot be used, as a callback without function. NULL is a good one. */
furrow_status fw_filter_check(const furrow_id_filter *filter, furrow_error *err) __attribute__((warn_unused_result));

#endif
