/* vector/quantizer/sq.h: the scalar quantizer: each element of a vector becomes a number of a few bits. */
#ifndef FW_VECTOR_QUANTIZER_SQ_H
#define FW_VECTOR_QUANTIZER_SQ_H

#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

enum { /* qtype */
       FW_SQ_8,
       FW_SQ_4,
       FW_SQ_8_UNIFORM,
       FW_SQ_4_UNIFORM,
       FW_SQ_HALF,
       FW_SQ_BYTES,
       FW_SQ_6,
       FW_SQ_BRAIN,
       FW_SQ_SIGNED_BYTES
};

typedef struct fw_sq {
  int32_t qtype, range_stat;
  float range_arg;
  size_t d, code_size;
  size_t trained_count;
  float *trained;
} fw_sq;

/* Bits of an element; 0 if there is no such qtype. */
unsigned fw_sq_bits(int32_t qtype);
/* Bits of a number that divides a range; 0 if the type has no ranges. */
unsigned fw_sq_range_bits(const fw_sq *sq);
/* The number of ranges: one per dimension, or one for all. */
size_t fw_sq_ranges(const fw_sq *sq);
/* Fails with E_STATE if the quantizer has no ranges. */
furrow_status fw_sq_check(const fw_sq *sq, furrow_error *err) FURROW_MUST_USE;

/* Decode a code to sq->d floats, or encode a vector (sq->d finite floats) to sq->code_size bytes. The ranges must be
 * there, as they are in every index that is trained or has vectors. */
void fw_sq_decode(const fw_sq *sq, const uint8_t *code, float *vector);
void fw_sq_encode(const fw_sq *sq, const float *vector, uint8_t *code);

#endif
