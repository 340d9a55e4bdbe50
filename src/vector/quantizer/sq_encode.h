/* vector/quantizer/sq_encode.h: codes of a scalar quantizer. */
#ifndef FW_VECTOR_QUANTIZER_SQ_ENCODE_H
#define FW_VECTOR_QUANTIZER_SQ_ENCODE_H

#include "vector/index/index.h"

/* The code (sq->code_size bytes) of a vector (sq->d finite floats). The quantizer has its ranges: fw_sq_check. */
void fw_sq_encode(const fw_sq *sq, const float *vector, uint8_t *code);

#endif
