/* model/exchange/csr_encoder.h: vectors as the three arrays of compressed sparse rows: indices, data, and where each
 * begins. */
#ifndef FW_MODEL_EXCHANGE_CSR_ENCODER_H
#define FW_MODEL_EXCHANGE_CSR_ENCODER_H

#include "array/temp_store.h"
#include "model/exchange/exchange_job.h"

typedef struct fw_csr_encoder {
  const fw_vectors_plan *plan;
  const char *beside; /* path of a file: temporary files lie in its folder */
  furrow_status (*put_indices)(void *user, const void *bytes, size_t size, furrow_error *err);
  void *user;
  bool negative;                      /* indices may be */
  bool wide;                          /* 64-bit indices and beginnings; otherwise 32-bit ones */
  fw_temp_store *data, *begins, *ids; /* little-endian; ids 64-bit */
  uint64_t vectors, elements;
  int64_t most;  /* largest index; -1: none */
  bool counting; /* ids are 0, 1, 2 … */
  bool open;
  int64_t id;
  char *scratch;
} fw_csr_encoder;

/* plan … user are set. Clear it afterwards. */
furrow_status fw_csr_encoder_init(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* Hands out the indices of all vectors, keeps the rest in temporary files. E_RANGE: an index is negative, unless it may
 * be. */
furrow_status fw_csr_encoder_run(fw_csr_encoder *encoder, furrow_error *err) FURROW_MUST_USE;
/* How many indices there can be: all are less. */
int64_t fw_csr_encoder_dimension(const fw_csr_encoder *encoder);
void fw_csr_encoder_clear(fw_csr_encoder *encoder);

#endif
