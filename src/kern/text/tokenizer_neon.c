/* kern/text/tokenizer_neon.c: kernels for AArch64. */
#include <arm_neon.h>

#include "kern/simd/unroll.h"
#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

#include "kern/simd/neon_bits_tmpl.h"

static inline uint8x16_t load(const char *p) {
  return vld1q_u8((const uint8_t *)p);
}

/* ---- Marks ---------------------------------------------------------------------------------------------- */

/* The bits of a group of 64 that are among the first n. */
static inline uint64_t inside(size_t n) {
  return n >= 64 ? ~0ull : ~0ull >> (64 - n);
}

static inline uint8x16_t is_mark(uint8x16_t bytes, uint8x16_t limit, uint8x16_t wanted) {
  return vorrq_u8(vcleq_u8(bytes, limit), vceqq_u8(bytes, wanted));
}

static inline uint64_t equal_bits(const char *p, char c) {
  const uint8x16_t wanted = vdupq_n_u8((uint8_t)c);
  return to_bits(vceqq_u8(load(p), wanted), vceqq_u8(load(p + 16), wanted), vceqq_u8(load(p + 32), wanted),
                 vceqq_u8(load(p + 48), wanted));
}

/* Classifies the marks by their bytes. */
static void classify(fw_marks *marks, char extra) {
  uint64_t odd = 0;
  for (size_t i = 0; i < marks->count; i += 64) {
    const char *chars = marks->chars + i;
    const uint64_t in = inside(marks->count - i);
    const uint64_t extras = equal_bits(chars, extra) & in, ends = equal_bits(chars, '\n') & in;
    odd |= in & ~(extras | ends | equal_bits(chars, ' '));
    marks->extras[i / 64] = extras;
    marks->ends[i / 64] = ends;
  }
  marks->odd = odd != 0;
}

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  const uint8x16_t limit = vdupq_n_u8(upto), wanted = vdupq_n_u8((uint8_t)extra);
  size_t count = 0;
  marks->offsets[-1] = UINT32_MAX;
  for (size_t i = 0; i < n; i += 64) {
    const char *p = text + i;
    uint64_t found = to_bits(is_mark(load(p), limit, wanted), is_mark(load(p + 16), limit, wanted),
                             is_mark(load(p + 32), limit, wanted), is_mark(load(p + 48), limit, wanted));
    for (found &= inside(n - i); found; found &= found - 1, count++) {
      const size_t at = (size_t)__builtin_ctzll(found);
      marks->offsets[count] = (uint32_t)(i + at);
      marks->chars[count] = p[at];
    }
  }
  marks->count = count;
  classify(marks, extra);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  return (cell_bits){equal_bits(p, delimiter), equal_bits(p, '"'), equal_bits(p, '\n'), equal_bits(p, '\r')};
}

static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found) {
  for (; found; found &= found - 1) *out++ = (uint32_t)(base + (size_t)__builtin_ctzll(found));
}

#include "kern/text/cells_tmpl.h"

/* ---- Tokens --------------------------------------------------------------------------------------------- */

/* A row has the bytes of the lanes whose bits are set in the row's number, compressed. */
#define LANE(n) 4 * (n), 4 * (n) + 1, 4 * (n) + 2, 4 * (n) + 3
static const uint8_t lanes_of_bits[16][16] = {
    {0},
    {LANE(0)},
    {LANE(1)},
    {LANE(0), LANE(1)},
    {LANE(2)},
    {LANE(0), LANE(2)},
    {LANE(1), LANE(2)},
    {LANE(0), LANE(1), LANE(2)},
    {LANE(3)},
    {LANE(0), LANE(3)},
    {LANE(1), LANE(3)},
    {LANE(0), LANE(1), LANE(3)},
    {LANE(2), LANE(3)},
    {LANE(0), LANE(2), LANE(3)},
    {LANE(1), LANE(2), LANE(3)},
    {LANE(0), LANE(1), LANE(2), LANE(3)},
};
#undef LANE

static void pick_tokens(const uint32_t *offsets, size_t n, size_t lists, const uint64_t *const *bits,
                        fw_token *const *tokens) {
  const uint32x4_t one = vdupq_n_u32(1), longest = vdupq_n_u32(FW_TOKEN_LENGTH);
  for (size_t k = 0; k < lists; k++) {
    fw_token *out = tokens[k];
    for (size_t i = 0; i < n; i += 4) {
      const uint32_t chosen = (uint32_t)((bits[k][i / 64] >> i % 64) & 15 & inside(n - i));
      const uint32x4_t ends = vld1q_u32(offsets + i), before = vld1q_u32(offsets + i - 1);
      const uint32x4_t lengths = vminq_u32(vsubq_u32(vsubq_u32(ends, before), one), longest);
      const uint32x4_t all = vorrq_u32(vshlq_n_u32(ends, 6), lengths);
      const uint8x16_t picked = vqtbl1q_u8(vreinterpretq_u8_u32(all), vld1q_u8(lanes_of_bits[chosen]));
      vst1q_u32(out, vreinterpretq_u32_u8(picked));
      out += __builtin_popcount(chosen);
    }
  }
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

/* A line ends at each CR, and at each LF without a CR before it. */
static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16_t bytes = load(text + i);
    const uint8x16_t cr = vceqq_u8(bytes, vdupq_n_u8('\r'));
    const uint8x16_t lf = vceqq_u8(bytes, vdupq_n_u8('\n'));
    const uint8x16_t after_cr = vextq_u8(vdupq_n_u8(i > 0 && text[i - 1] == '\r' ? 255 : 0), cr, 15);
    lines += vaddvq_u8(vshrq_n_u8(vorrq_u8(cr, vbicq_u8(lf, after_cr)), 7));
  }
  for (; i < n; i++) lines += text[i] == '\r' || (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'));
  return lines;
}

/* ---- Numbers: a token in a register, four at a time ----------------------------------------------------- */

/* Four bits for each byte, which is 0 or 255. */
INLINE uint64_t to_fours(uint8x16_t bytes) {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4)), 0);
}

INLINE uint8x16_t numbers_of_bytes(void) {
  static const uint8_t numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return vld1q_u8(numbers);
}

/* A token of up to 16 bytes in the last bytes of a register. */
typedef struct lane {
  uint8x16_t text, digits;  /* digits: their values, 0 in all other bytes */
  uint64_t bytes, is_digit; /* four bits for each byte */
} lane;

INLINE lane load_lane(const char *text, fw_token token) {
  const uint32_t length = fw_token_length(token) <= 16 ? fw_token_length(token) : 0;
  const uint8x16_t in = vcgeq_u8(numbers_of_bytes(), vdupq_n_u8((uint8_t)(16 - length)));
  lane l;
  l.text = vandq_u8(load(text + fw_token_end(token) - 16), in);
  const uint8x16_t d = vsubq_u8(l.text, vdupq_n_u8('0'));
  const uint8x16_t is_digit = vcleq_u8(d, vdupq_n_u8(9));
  l.digits = vandq_u8(d, is_digit);
  l.is_digit = to_fours(is_digit);
  l.bytes = length ? ~0ull << (64 - 4 * length) : 0;
  return l;
}

/* Joins the 16 digits in each of four registers to numbers: their upper and lower eight digits, high[i] and low[i].
 * Neighbours are joined to pairs, fours and eights. */
INLINE void join_digits(const uint8x16_t lanes[4], uint32x4_t *high, uint32x4_t *low) {
  const uint8x16_t ten = vdupq_n_u8(10), hundred = vdupq_n_u8(100);
  const uint16x8_t ten_thousand = vdupq_n_u16(10000);
  const uint8x16_t a = vmlaq_u8(vuzp2q_u8(lanes[0], lanes[1]), vuzp1q_u8(lanes[0], lanes[1]), ten);
  const uint8x16_t b = vmlaq_u8(vuzp2q_u8(lanes[2], lanes[3]), vuzp1q_u8(lanes[2], lanes[3]), ten);
  const uint8x16_t upper = vuzp1q_u8(a, b), lower = vuzp2q_u8(a, b);
  const uint16x8_t c = vmlal_u8(vmovl_u8(vget_low_u8(lower)), vget_low_u8(upper), vget_low_u8(hundred));
  const uint16x8_t d = vmlal_high_u8(vmovl_high_u8(lower), upper, hundred);
  const uint16x8_t first = vuzp1q_u16(c, d), second = vuzp2q_u16(c, d);
  const uint32x4_t e = vmlal_u16(vmovl_u16(vget_low_u16(second)), vget_low_u16(first), vget_low_u16(ten_thousand));
  const uint32x4_t f = vmlal_high_u16(vmovl_high_u16(second), first, ten_thousand);
  *high = vuzp1q_u32(e, f);
  *low = vuzp2q_u32(e, f);
}

/* ---- Integers ------------------------------------------------------------------------------------------- */

INLINE unsigned read_integers(const char *text, const fw_token *tokens, uint64x2_t numbers[2]) {
  uint8x16_t digits[4];
  uint32x4_t high, low;
  unsigned bad = 0;
#pragma GCC unroll 4
  for (unsigned j = 0; j < 4; j++) {
    const lane l = load_lane(text, tokens[j]);
    digits[j] = l.digits;
    bad |= (unsigned)(l.is_digit != l.bytes || l.bytes == 0) << j;
  }
  join_digits(digits, &high, &low);
  const uint32x4_t scale = vdupq_n_u32(100000000);
  numbers[0] = vmlal_u32(vmovl_u32(vget_low_u32(low)), vget_low_u32(high), vget_low_u32(scale));
  numbers[1] = vmlal_high_u32(vmovl_high_u32(low), high, scale);
  return bad;
}

INLINE unsigned read_four_u64(const char *text, const fw_token *tokens, void *out) {
  uint64x2_t numbers[2];
  const unsigned bad = read_integers(text, tokens, numbers);
  vst1q_u64(out, numbers[0]);
  vst1q_u64((uint64_t *)out + 2, numbers[1]);
  return bad;
}

/* Bits of four lanes, each 0 or all ones. */
INLINE unsigned to_four_bits(uint32x4_t lanes) {
  static const uint32_t bit_of_lane[4] = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(lanes, vld1q_u32(bit_of_lane)));
}

INLINE unsigned read_four_u32(const char *text, const fw_token *tokens, void *out) {
  uint64x2_t numbers[2];
  const unsigned bad = read_integers(text, tokens, numbers);
  const uint32x4_t a = vreinterpretq_u32_u64(numbers[0]), b = vreinterpretq_u32_u64(numbers[1]);
  const uint32x4_t upper = vuzp2q_u32(a, b);
  vst1q_u32(out, vuzp1q_u32(a, b));
  return bad | to_four_bits(vtstq_u32(upper, upper));
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  return fw_read_in_groups(read_four_u64, 4, text, tokens, n, out, sizeof *out, refused);
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  return fw_read_in_groups(read_four_u32, 4, text, tokens, n, out, sizeof *out, refused);
}

/* ---- Floats --------------------------------------------------------------------------------------------- */

/* Extracts the digits of a token [-]digits[.digits]; the digits before the point move over it. Returns the number of
 * decimals and the sign. True: the token has another form. */
INLINE bool take_decimal(const lane *l, uint8x16_t *digits, unsigned *decimals, uint32_t *sign) {
  const uint64_t points = to_fours(vceqq_u8(l->text, vdupq_n_u8('.')));
  const uint64_t minus = to_fours(vceqq_u8(l->text, vdupq_n_u8('-')));
  const uint64_t each = 0x1111111111111111u, point = points & each, first = (l->bytes & (0 - l->bytes)) * 15;
  const uint64_t wrong = (l->is_digit | points | minus) ^ l->bytes;
  const unsigned behind = points ? (unsigned)__builtin_clzll(points) / 4 : 16;
  const uint8x16_t moved = vcltq_u8(numbers_of_bytes(), vdupq_n_u8((uint8_t)(16 - behind)));
  *digits = vbslq_u8(moved, vextq_u8(vdupq_n_u8(0), l->digits, 15), l->digits);
  *decimals = behind & 15;
  *sign = (uint32_t)(minus != 0) << 31;
  return (wrong | (point & (point - 1)) | (minus & ~first)) != 0 || l->is_digit == 0;
}

/* Two numbers as doubles, and all ones where they are far enough from the midpoint of two floats. */
INLINE float64x2_t scale_two(uint32x2_t high, uint32x2_t low, const double *scales, uint64x2_t *far) {
  /* the upper half times 10^8 is exact in a double, so the sum is rounded once */
  const float64x2_t upper = vmulq_n_f64(vcvtq_f64_u64(vmovl_u32(high)), 1e8);
  const float64x2_t product = vmulq_f64(vaddq_f64(upper, vcvtq_f64_u64(vmovl_u32(low))), vld1q_f64(scales));
  const uint64x2_t below = vandq_u64(vreinterpretq_u64_f64(product), vdupq_n_u64(FW_DECIMAL_BELOW));
  const int64x2_t off = vsubq_s64(vreinterpretq_s64_u64(below), vdupq_n_s64(FW_DECIMAL_MIDDLE));
  *far = vcgtq_s64(vabsq_s64(off), vdupq_n_s64(FW_DECIMAL_MARGIN));
  return product;
}

INLINE unsigned read_four_decimals(const char *text, const fw_token *tokens, float *out) {
  uint8x16_t digits[4];
  uint32x4_t high, low;
  uint64x2_t far[2];
  double scales[4];
  uint32_t signs[4];
  unsigned bad = 0;
#pragma GCC unroll 4
  for (unsigned j = 0; j < 4; j++) {
    const lane l = load_lane(text, tokens[j]);
    unsigned decimals;
    bad |= (unsigned)take_decimal(&l, &digits[j], &decimals, &signs[j]) << j;
    scales[j] = fw_decimal_tens[FW_DECIMAL_RANGE - decimals];
  }
  join_digits(digits, &high, &low);
  const float64x2_t first = scale_two(vget_low_u32(high), vget_low_u32(low), scales, &far[0]);
  const float64x2_t second = scale_two(vget_high_u32(high), vget_high_u32(low), scales + 2, &far[1]);
  const float32x4_t rounded = vcvt_high_f32_f64(vcvt_f32_f64(first), second);
  vst1q_f32(out, vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(rounded), vld1q_u32(signs))));
  return bad | to_four_bits(vmvnq_u32(vcombine_u32(vmovn_u64(far[0]), vmovn_u64(far[1]))));
}

/* Four tokens of one byte. */
INLINE unsigned read_four_digits(const char *text, const fw_token *tokens, float *out) {
  unsigned bad = 0;
  for (unsigned j = 0; j < 4; j++) {
    const unsigned digit = (unsigned)(unsigned char)text[fw_token_end(tokens[j]) - 1] - '0';
    bad |= (unsigned)(digit > 9) << j;
    out[j] = (float)digit;
  }
  return bad;
}

INLINE bool all_of_length_one(const fw_token *tokens) {
  const uint32x4_t lengths = vandq_u32(vld1q_u32(tokens), vdupq_n_u32(FW_TOKEN_LENGTH));
  return vminvq_u32(vceqq_u32(lengths, vdupq_n_u32(1))) != 0;
}

INLINE unsigned read_four_f32(const char *text, const fw_token *tokens, void *out) {
  return all_of_length_one(tokens) ? read_four_digits(text, tokens, out) : read_four_decimals(text, tokens, out);
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  return fw_read_in_groups(read_four_f32, 4, text, tokens, n, out, sizeof *out, refused);
}

void fw_tokenizer_fill_neon(fw_tokenizer *tokenizer) {
  tokenizer->find_marks = find_marks;
  tokenizer->find_cells = find_cells;
  tokenizer->pick_tokens = pick_tokens;
  tokenizer->count_lines = count_lines;
  tokenizer->read_f32 = read_f32;
  tokenizer->read_u32 = read_u32;
  tokenizer->read_u64 = read_u64;
}
