/* vector/sq_decode.h: vectors from codes of a scalar quantizer. */
#ifndef FW_VECTOR_SQ_DECODE_H
#define FW_VECTOR_SQ_DECODE_H

#include "vector/index.h"

/* The vector (sq->d floats) that a code stands for. E_STATE: the quantizer lacks its ranges. */
furrow_status fw_sq_decode(const fw_sq *sq, const uint8_t *code, float *vector, furrow_error *err)
    __attribute__((warn_unused_result));

#endif
