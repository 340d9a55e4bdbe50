/* base/bignum.h: natural numbers of a few thousand bits, for the rare decisions that 128 bits cannot make.
 *
 * The capacity is fixed and suffices for reading and writing doubles: the largest number has 770 digits, or is a
 * number of 54 bits times 5^1110, times a few bits. Limbs are little-endian, the highest limb is not zero, and zero
 * has no limbs. */
#ifndef FW_BASE_BIGNUM_H
#define FW_BASE_BIGNUM_H

#include <stdint.h>

#define FW_BIG_LIMBS 48

typedef struct fw_big {
  int used;
  uint64_t limb[FW_BIG_LIMBS];
} fw_big;

void fw_big_set(fw_big *a, uint64_t value);
/* a = a * factor + summand */
void fw_big_multiply_add(fw_big *a, uint64_t factor, uint64_t summand);
void fw_big_multiply_pow5(fw_big *a, int n);
void fw_big_shift_left(fw_big *a, int bits);
void fw_big_add(fw_big *a, const fw_big *b);
/* Returns -1, 0 or 1 if a is less than, equal to or greater than b. */
int fw_big_compare(const fw_big *a, const fw_big *b);
/* a = a mod b; returns a div b, which must be less than 2^32. */
uint32_t fw_big_divide(fw_big *a, const fw_big *b);

/* Compares decimal * 10^q with binary * 2^e. Both numbers are overwritten. */
int fw_big_compare_scaled(fw_big *decimal, int q, fw_big *binary, int e);

#endif
