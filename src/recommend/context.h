/* recommend/context.h: rows put together from those of a user, an item and a context. */
#ifndef FW_RECOMMEND_CONTEXT_H
#define FW_RECOMMEND_CONTEXT_H

#include "recommend/recommender.h"

/* Scratch of one thread; all zeros is empty. */
typedef struct fw_joiner {
  uint64_t *fields, *indices;
  float *values;
  size_t capacity;
} fw_joiner;

/* Appends the features of all parts as one row without a label, by field as a row of the log would have them. */
furrow_status fw_joiner_push(fw_joiner *joiner, const furrow_row *parts, size_t count, furrow_container *rows,
                             furrow_error *err) FURROW_MUST_USE;
void fw_joiner_clear(fw_joiner *joiner);

/* Makes a row of the features that these cells have in an event. E_ARGUMENT: a column that is not of the context. */
furrow_status fw_context_make(const furrow_recommender *r, const furrow_pair *pairs, size_t count,
                              furrow_container **rows, furrow_rowblock *block, furrow_error *err) FURROW_MUST_USE;

#endif
