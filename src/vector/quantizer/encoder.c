/* vector/quantizer/encoder.c: the quantizers of an index made ready for vectors that are added. */
#include "vector/quantizer/encoder.h"

#include "base/mem.h"

static furrow_status fill(fw_encoder *e, const furrow_index *index, furrow_error *err) {
  if (index->kind == FURROW_INDEX_PQ) return fw_pq_coder_create(&e->coder, &index->pq.pq, err);
  const fw_ivf *ivf = &index->ivf;
  furrow_status status = fw_assigner_create(&e->assigner, index->child[0], err);
  if (status == FURROW_OK && ivf->pq.m > 0) status = fw_pq_coder_create(&e->coder, &ivf->pq, err);
  if (status == FURROW_OK && ivf->refine_pq.m > 0) status = fw_pq_coder_create(&e->refine_coder, &ivf->refine_pq, err);
  return status;
}

furrow_status fw_encoder_get(furrow_index *index, const fw_encoder **encoder, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = FURROW_OK;
  if (!index->encoder) {
    status = fw_alloc_zero(&memory, 1, sizeof *index->encoder, err);
    if (status == FURROW_OK) status = fill(memory, index, err);
    if (status != FURROW_OK) {
      fw_encoder_free(memory);
      return status;
    }
    index->encoder = memory;
  }
  *encoder = index->encoder;
  return FURROW_OK;
}

void fw_encoder_free(fw_encoder *encoder) {
  if (!encoder) return;
  fw_assigner_clear(&encoder->assigner);
  fw_pq_coder_clear(&encoder->coder);
  fw_pq_coder_clear(&encoder->refine_coder);
  fw_free(encoder);
}
