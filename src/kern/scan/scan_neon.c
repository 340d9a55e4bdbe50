/* kern/scan/scan_neon.c: scanning for AArch64, with 16 byte look-ups at once: a table of 256 bytes is 16 registers. */
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "kern/scan/scan.h"
#include "kern/simd/unroll.h"

#include "kern/simd/neon_bits_tmpl.h"

/* ---- The table ------------------------------------------------------------------------------------------ */

#include "kern/scan/scan_quantise_tmpl.h"

static span measure(const float *numbers, size_t ksub) {
  float32x4_t low = vdupq_n_f32(numbers[0]), high = low;
  uint32x4_t whole = vdupq_n_u32(UINT32_MAX);
  for (size_t j = 0; j < ksub; j += ksub - j < 4 ? 1 : 4) {
    const float32x4_t v = ksub - j < 4 ? vdupq_n_f32(numbers[j]) : vld1q_f32(numbers + j);
    whole = vandq_u32(whole, vceqq_f32(v, v));
    low = vminnmq_f32(low, v);
    high = vmaxnmq_f32(high, v);
  }
  return (span){vminnmvq_f32(low), vmaxnmvq_f32(high), vminvq_u32(whole) != 0};
}

static void to_bytes(const float *numbers, size_t ksub, float low, float to_byte, float most, uint8_t *bytes) {
  const float32x4_t from = vdupq_n_f32(low), top = vdupq_n_f32(most);
  for (size_t j = 0; j < ksub; j += 16) {
    uint16x4_t v[4];
    for (size_t i = 0; i < 4; i++) {
      const float32x4_t x = vmulq_n_f32(vsubq_f32(vld1q_f32(numbers + j + 4 * i), from), to_byte);
      v[i] = vmovn_u32(vcvtq_u32_f32(vminnmq_f32(x, top)));
    }
    const uint8x8_t first = vmovn_u16(vcombine_u16(v[0], v[1])), second = vmovn_u16(vcombine_u16(v[2], v[3]));
    vst1q_u8(bytes + j, vcombine_u8(first, second));
  }
}

/* ---- Blocks --------------------------------------------------------------------------------------------- */

typedef uint8x16_t vb;

static inline vb vb_load(const uint8_t *p) {
  return vld1q_u8(p);
}
static inline vb vb_load_half(const uint8_t *p) {
  return vcombine_u8(vld1_u8(p), vdup_n_u8(0));
}
static inline void vb_store(uint8_t *p, vb v) {
  vst1q_u8(p, v);
}
static inline vb vb_zero(void) {
  return vdupq_n_u8(0);
}
static inline vb vb_mix_low(vb a, vb b) {
  return vzip1q_u8(a, b);
}
static inline vb vb_mix_high(vb a, vb b) {
  return vzip2q_u8(a, b);
}

#include "kern/scan/scan_pack_tmpl.h"

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* Sums of the bytes of 64 codes, eight to a register. */
typedef struct sums {
  uint16x8_t part[8];
} sums;

/* Looks up 64 codes in a table, 64 bytes of it at a time: positions outside of these bytes keep the earlier result. */
INLINE void look_up(const uint8_t *bytes, const int quarters, const uint8_t *codes, uint8x16_t found[4]) {
  uint8x16x4_t table = vld1q_u8_x4(bytes);
  uint8x16_t place[4];
  UNROLL for (int i = 0; i < 4; i++) {
    place[i] = vld1q_u8(codes + 16 * i);
    found[i] = vqtbl4q_u8(table, place[i]);
  }
  UNROLL for (int q = 1; q < quarters; q++) {
    table = vld1q_u8_x4(bytes + 64 * q);
    UNROLL for (int i = 0; i < 4; i++) {
      place[i] = vsubq_u8(place[i], vdupq_n_u8(64));
      found[i] = vqtbx4q_u8(found[i], table, place[i]);
    }
  }
}

/* Values that are read beyond a narrower block are ignored. */
INLINE void add_codes(const int quarters, const fw_lut *lut, const uint8_t *codes, size_t width, sums *s) {
  const size_t block = FW_BLOCK * lut->m;
  for (size_t m = 0; m < lut->m; m++, codes += width) {
    uint8x16_t found[4];
    __builtin_prefetch(codes + 2 * block);
    look_up(lut->bytes + m * FW_LUT_BYTES, quarters, codes, found);
    UNROLL for (int i = 0; i < 4; i++) {
      s->part[2 * i] = vaddw_u8(s->part[2 * i], vget_low_u8(found[i]));
      s->part[2 * i + 1] = vaddw_high_u8(s->part[2 * i + 1], found[i]);
    }
  }
}

static sums add_block(const fw_lut *lut, const uint8_t *codes, size_t width) {
  sums s;
  UNROLL for (int i = 0; i < 8; i++) s.part[i] = vdupq_n_u16(0);
  if (lut->ksub <= 64)
    add_codes(1, lut, codes, width, &s);
  else if (lut->ksub <= 128)
    add_codes(2, lut, codes, width, &s);
  else
    add_codes(4, lut, codes, width, &s);
  return s;
}

INLINE float32x4_t to_value(const fw_lut *lut, uint16x4_t sum, const float *extra) {
  const float32x4_t low = vdupq_n_f32(lut->low), with = extra ? vaddq_f32(low, vld1q_f32(extra)) : low;
  return vfmaq_n_f32(with, vcvtq_f32_u32(vmovl_u16(sum)), lut->step);
}

/* Bounds of 16 vectors. */
typedef struct values {
  float32x4_t part[4];
} values;

INLINE values finish(const fw_lut *lut, const uint16x8_t sum[2], const float *extra) {
  values v;
  for (int i = 0; i < 4; i++) {
    const uint16x4_t four = i % 2 ? vget_high_u16(sum[i / 2]) : vget_low_u16(sum[i / 2]);
    v.part[i] = to_value(lut, four, extra ? extra + 4 * i : NULL);
  }
  return v;
}

/* 255 where the value is not above the limit. */
INLINE uint8x16_t compare(const values *v, float limit) {
  const float32x4_t most = vdupq_n_f32(limit);
  uint16x4_t above[4];
  for (int i = 0; i < 4; i++) above[i] = vmovn_u32(vcgtq_f32(v->part[i], most));
  return vmvnq_u8(
      vcombine_u8(vmovn_u16(vcombine_u16(above[0], above[1])), vmovn_u16(vcombine_u16(above[2], above[3]))));
}

static uint64_t sift_block(const fw_lut *lut, const fw_code_block *block, float limit) {
  const sums s = add_block(lut, block->codes, block->width);
  const float *extra = block->extra;
  uint8x16_t found[4];
  for (int i = 0; i < 4; i++) {
    const values v = finish(lut, s.part + 2 * i, extra ? extra + 16 * i : NULL);
    found[i] = compare(&v, limit);
  }
  return to_bits(found[0], found[1], found[2], found[3]);
}

static size_t sift(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  return fw_sift_by_blocks(sift_block, lut, list, next, limit, masks);
}

static void bounds(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out) {
  for (size_t i = 0; i < blocks * FW_BLOCK; i += FW_BLOCK) {
    const sums s = add_block(lut, list->codes + i * lut->m, FW_BLOCK);
    for (size_t part = 0; part < 4; part++) {
      const size_t at = i + 16 * part;
      const values v = finish(lut, s.part + 2 * part, list->extra ? list->extra + at : NULL);
      for (size_t k = 0; k < 4; k++) vst1q_f32(out + at + 4 * k, vnegq_f32(v.part[k]));
    }
  }
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void maxima(const float *numbers, size_t n, size_t groups, float *out) {
  for (size_t g = 0; g < groups; g += 4) {
    float32x4_t most = vld1q_f32(numbers + g);
    for (size_t i = g + groups; i < n; i += groups) most = vmaxnmq_f32(most, vld1q_f32(numbers + i));
    vst1q_f32(out + g, most);
  }
}

static size_t find_not_below(const float *numbers, size_t n, float limit, uint32_t *positions) {
  const float32x4_t least = vdupq_n_f32(limit);
  size_t count = 0;
  for (size_t i = 0; i < n; i += 16) {
    uint16x4_t below[4];
    for (size_t k = 0; k < 4; k++) below[k] = vmovn_u32(vcltq_f32(vld1q_f32(numbers + i + 4 * k), least));
    const uint8x8_t first = vmovn_u16(vcombine_u16(below[0], below[1]));
    const uint8x8_t second = vmovn_u16(vcombine_u16(below[2], below[3]));
    /* four bits for each number; the lowest one is kept */
    const uint8x8_t fours = vshrn_n_u16(vreinterpretq_u16_u8(vcombine_u8(first, second)), 4);
    uint64_t found = ~vget_lane_u64(vreinterpret_u64_u8(fours), 0) & 0x1111111111111111u;
    for (; found; found &= found - 1) positions[count++] = (uint32_t)(i + (size_t)__builtin_ctzll(found) / 4);
  }
  return count;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

typedef float32x4_t vf;
#define ROW_WIDTH 4
INLINE vf vf_zero(void) {
  return vdupq_n_f32(0);
}
INLINE vf vf_load(const float *p) {
  return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p));
}
INLINE vf vf_add(vf a, vf b) {
  return vaddq_f32(a, b);
}
INLINE float vf_total(vf v) {
  return vaddvq_f32(v);
}
INLINE vf vf_fold(vf sum, vf a, vf b, bool l2) {
  const vf t = vsubq_f32(a, b);
  return l2 ? vfmaq_f32(sum, t, t) : vfmaq_f32(sum, a, b);
}

#include "kern/scan/scan_rows_tmpl.h"

void fw_scan_fill_neon(fw_scan *scan) {
  scan->pack = pack;
  scan->quantise = quantise;
  scan->sift = sift;
  scan->bounds = bounds;
  scan->maxima = maxima;
  scan->find_not_below = find_not_below;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
}
