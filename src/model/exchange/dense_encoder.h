/* model/exchange/dense_encoder.h: vectors with holes become vectors without, one after the other. */
#ifndef FW_MODEL_EXCHANGE_DENSE_ENCODER_H
#define FW_MODEL_EXCHANGE_DENSE_ENCODER_H

#include "model/exchange/exchange_job.h"

typedef furrow_status (*fw_put_elements)(void *user, const void *elements, size_t count, furrow_error *err);

typedef struct fw_dense_encoder {
  const fw_vectors_plan *plan;
  furrow_element_type from, to;
  fw_put_elements put_values; /* elements of type `to` */
  fw_put_elements put_ids;    /* int64_t; NULL: not wanted */
  void *user;
  size_t dim;
  bool open; /* a vector has begun: its id, and how many of its elements were put */
  int64_t id;
  size_t filled;
  bool counting; /* ids are 0, 1, 2 … so far */
  uint64_t vectors, absent;
  char *scratch; /* elements that are converted, or zeros */
} fw_dense_encoder;

/* Elements of a vector: E_RANGE if they are too many. */
furrow_status fw_dense_dimension(const fw_vectors_plan *plan, size_t *dim, furrow_error *err) FURROW_MUST_USE;
/* plan … user are set. Clear it afterwards. */
furrow_status fw_dense_encoder_init(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Puts all vectors of the plan. */
furrow_status fw_dense_encoder_run(fw_dense_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
void fw_dense_encoder_clear(fw_dense_encoder *encoder);

#endif
