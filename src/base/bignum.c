/* base/bignum.c: natural numbers of a few thousand bits. */
#include "base/bignum.h"

#include <assert.h>
#include <string.h>

#include "base/powers.h"

void fw_big_set(fw_big *a, uint64_t value) {
  a->used = value != 0;
  a->limb[0] = value;
}

static void append_limb(fw_big *a, uint64_t limb) {
  if (limb == 0) return;
  assert(a->used < FW_BIG_LIMBS);
  a->limb[a->used++] = limb;
}

void fw_big_multiply_add(fw_big *a, uint64_t factor, uint64_t summand) {
  uint64_t carry = summand;
  for (int i = 0; i < a->used; i++) {
    fw_u128 t = (fw_u128)a->limb[i] * factor + carry;
    a->limb[i] = (uint64_t)t;
    carry = (uint64_t)(t >> 64);
  }
  append_limb(a, carry);
}

void fw_big_multiply_pow5(fw_big *a, int n) {
  const uint64_t five_27 = UINT64_C(7450580596923828125); /* the largest power of five that fits 64 bits */
  for (; n >= 27; n -= 27) fw_big_multiply_add(a, five_27, 0);
  uint64_t rest = 1;
  while (n-- > 0) rest *= 5;
  fw_big_multiply_add(a, rest, 0);
}

void fw_big_shift_left(fw_big *a, int bits) {
  int limbs = bits / 64, part = bits % 64;
  if (a->used == 0) return;
  fw_big_multiply_add(a, UINT64_C(1) << part, 0);
  assert(a->used + limbs <= FW_BIG_LIMBS);
  memmove(a->limb + limbs, a->limb, (size_t)a->used * sizeof *a->limb);
  memset(a->limb, 0, (size_t)limbs * sizeof *a->limb);
  a->used += limbs;
}

void fw_big_add(fw_big *a, const fw_big *b) {
  uint64_t carry = 0;
  while (a->used < b->used) a->limb[a->used++] = 0;
  for (int i = 0; i < a->used; i++) {
    fw_u128 t = (fw_u128)a->limb[i] + (i < b->used ? b->limb[i] : 0) + carry;
    a->limb[i] = (uint64_t)t;
    carry = (uint64_t)(t >> 64);
  }
  append_limb(a, carry);
}

int fw_big_compare(const fw_big *a, const fw_big *b) {
  if (a->used != b->used) return a->used < b->used ? -1 : 1;
  for (int i = a->used; i-- > 0;)
    if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
  return 0;
}

/* a -= b * factor, which must not be greater than a */
static void subtract_multiple(fw_big *a, const fw_big *b, uint64_t factor) {
  uint64_t carry = 0;
  for (int i = 0; i < a->used; i++) {
    fw_u128 t = (fw_u128)(i < b->used ? b->limb[i] : 0) * factor + carry;
    carry = (uint64_t)(t >> 64) + (a->limb[i] < (uint64_t)t);
    a->limb[i] -= (uint64_t)t;
  }
  assert(carry == 0);
  while (a->used > 0 && a->limb[a->used - 1] == 0) a->used--;
}

/* The quotient of the highest limbs is never too large; if it is too small, the next rounds add what is missing. One
 * round is usually enough if the highest limb of b is large. */
uint32_t fw_big_divide(fw_big *a, const fw_big *b) {
  uint64_t quotient = 0;
  while (fw_big_compare(a, b) >= 0) {
    int top = b->used - 1;
    fw_u128 high = a->limb[top];
    if (a->used > b->used) high |= (fw_u128)a->limb[top + 1] << 64;
    uint64_t part = (uint64_t)(high / ((fw_u128)b->limb[top] + 1));
    if (part == 0) part = 1;
    subtract_multiple(a, b, part);
    quotient += part;
  }
  assert(quotient <= UINT32_MAX);
  return (uint32_t)quotient;
}

int fw_big_compare_scaled(fw_big *decimal, int q, fw_big *binary, int e) {
  if (q >= 0)
    fw_big_multiply_pow5(decimal, q);
  else
    fw_big_multiply_pow5(binary, -q);
  if (q >= e)
    fw_big_shift_left(decimal, q - e);
  else
    fw_big_shift_left(binary, e - q);
  return fw_big_compare(decimal, binary);
}
