/* vector/quantizer/encoder.h: the quantizers of an index made ready for vectors that are added. It is kept with the
 * index, so that one vector at a time costs no more than one of many. Quantizers do not change once they are trained.
 */
#ifndef FW_VECTOR_QUANTIZER_ENCODER_H
#define FW_VECTOR_QUANTIZER_ENCODER_H

#include "vector/quantizer/assign.h"

struct fw_encoder {
  fw_assigner assigner;            /* IVF kinds */
  fw_pq_coder coder, refine_coder; /* without parts where there is no such quantizer */
};

/* That of an IVF or PQ index: made by the first call. */
furrow_status fw_encoder_get(furrow_index *index, const fw_encoder **encoder, furrow_error *err) FURROW_MUST_USE;
/* Takes NULL. */
void fw_encoder_free(fw_encoder *encoder);

#endif
