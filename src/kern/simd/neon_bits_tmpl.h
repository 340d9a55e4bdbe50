/* kern/simd/neon_bits_tmpl.h: converts comparisons of bytes to bits of a word; include it after arm_neon.h. */

#if defined(__AARCH64EB__)
#error "the kernels for ARM take the lowest byte of a word for its first one: little-endian only"
#endif

/* Bit i: the highest bit of byte i of four registers, whose bytes are 0 or 255. */
static inline uint64_t to_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bit = vld1q_u8(bits);
  const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
  const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
  const uint8x16_t all = vpaddq_u8(ab, cd);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}
