/* kern/text/tokenizer_avx2.c: kernels for AVX2 and BMI. */
#include <immintrin.h>

#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

static inline uint64_t join_masks(__m256i low, __m256i high) {
  return (uint64_t)(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

/* Bits of the last, partial group of 64 that lie inside the text. */
static inline uint64_t inside(size_t i, size_t n) {
  return n - i >= 64 ? ~0ull : ~0ull >> (64 - (n - i));
}

static inline __m256i is_mark(__m256i bytes, __m256i limit, __m256i wanted) {
  const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, limit), bytes);
  return _mm256_or_si256(low, _mm256_cmpeq_epi8(bytes, wanted));
}

static inline uint64_t equal_mask(const char *p, char c) {
  const __m256i wanted = _mm256_set1_epi8(c);
  return join_masks(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), wanted),
                    _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), wanted));
}

/* Appends the lower n bits of `bits` to a list of words, of which the last one holds `fill` bits. */
static inline void append_bits(uint64_t *word, uint64_t bits, unsigned fill, unsigned n) {
  word[0] |= bits << fill;
  word[1] = fill + n > 64 ? bits >> (64 - fill) : 0;
}

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  const __m256i limit = _mm256_set1_epi8((char)upto);
  const __m256i wanted = _mm256_set1_epi8(extra);
  size_t count = 0;
  uint64_t odd = 0;
  marks->offsets[-1] = UINT32_MAX;
  marks->extras[0] = marks->ends[0] = 0;
  for (size_t i = 0; i < n; i += 64) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)(text + i));
    const __m256i b = _mm256_loadu_si256((const __m256i *)(text + i + 32));
    uint64_t found = join_masks(is_mark(a, limit, wanted), is_mark(b, limit, wanted)) & inside(i, n);
    const unsigned k = (unsigned)_mm_popcnt_u64(found);
    const uint64_t extras = equal_mask(text + i, extra);
    const uint64_t ends = equal_mask(text + i, '\n');
    odd |= found & ~(extras | ends | equal_mask(text + i, ' '));
    append_bits(marks->extras + count / 64, _pext_u64(extras, found), count % 64, k);
    append_bits(marks->ends + count / 64, _pext_u64(ends, found), count % 64, k);
    uint32_t *out = marks->offsets + count;
    /* eight at a time without looking whether there are eight: what is too much is overwritten by the next group */
    for (unsigned j = 0; j < k; j += 8) {
      for (unsigned m = 0; m < 8; m++) {
        out[j + m] = (uint32_t)(i + _tzcnt_u64(found));
        found = _blsr_u64(found);
      }
    }
    count += k;
  }
  marks->count = count;
  marks->odd = odd != 0;
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  return (cell_bits){equal_mask(p, delimiter), equal_mask(p, '"'), equal_mask(p, '\n'), equal_mask(p, '\r')};
}

/* As in find_marks. */
static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found) {
  const unsigned k = (unsigned)_mm_popcnt_u64(found);
  for (unsigned j = 0; j < k; j += 8) {
    for (unsigned m = 0; m < 8; m++) {
      out[j + m] = (uint32_t)(base + _tzcnt_u64(found));
      found = _blsr_u64(found);
    }
  }
}

#include "kern/text/cells_tmpl.h"

/* ---- Tokens --------------------------------------------------------------------------------------------- */

/* The numbers of the set bits of a byte, pushed together, one in each byte. */
static inline uint64_t numbers_of_bits(uint32_t bits) {
  return _pext_u64(0x0706050403020100u, _pdep_u64(bits, 0x0101010101010101u) * 0xff);
}

static void pick_tokens(const uint32_t *offsets, size_t n, size_t lists, const uint64_t *const *bits,
                        fw_token *const *tokens) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i longest = _mm256_set1_epi32(FW_TOKEN_LENGTH);
  for (size_t k = 0; k < lists; k++) {
    fw_token *out = tokens[k];
    for (size_t i = 0; i < n; i += 8) {
      const uint32_t inside_list = n - i >= 8 ? 0xff : (1u << (n - i)) - 1;
      const uint32_t chosen = (uint32_t)(bits[k][i / 64] >> i % 64) & inside_list;
      const __m256i ends = _mm256_loadu_si256((const __m256i *)(offsets + i));
      const __m256i before = _mm256_loadu_si256((const __m256i *)(offsets + i - 1));
      const __m256i lengths = _mm256_min_epu32(_mm256_sub_epi32(_mm256_sub_epi32(ends, before), one), longest);
      const __m256i all = _mm256_or_si256(_mm256_slli_epi32(ends, 6), lengths);
      const __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)numbers_of_bits(chosen)));
      _mm256_storeu_si256((__m256i *)out, _mm256_permutevar8x32_epi32(all, order));
      out += _mm_popcnt_u32(chosen);
    }
  }
}

static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  uint64_t carry = 0; /* the byte before was CR */
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t lf = equal_mask(text + i, '\n') & inside(i, n);
    const uint64_t cr = equal_mask(text + i, '\r') & inside(i, n);
    lines += (size_t)_mm_popcnt_u64(cr) + (size_t)_mm_popcnt_u64(lf & ~(cr << 1 | carry));
    carry = cr >> 63;
  }
  return lines;
}

/* ---- Tokens: one per 16-byte lane, four at a time ------------------------------------------------------- */

/* Sixteen bytes from ones_then_zeros + 15 - k have the first k + 1 bytes set (none from + 16); from zeros_then_ones + n
 * the last n. */
static const uint8_t ones_then_zeros[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                            255, 255, 255, 255, 255, 255, 255, 255};
static const uint8_t zeros_then_ones[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255,
                                            255,        255, 255, 255, 255, 255, 255, 255};

/* A token of up to 16 bytes as the last bytes of a lane. */
typedef struct lane {
  __m128i text, digits; /* digits: their values, 0 in all other bytes */
  uint32_t bytes, is_digit;
} lane;

static inline lane load_lane(const char *text, fw_token token) {
  const uint32_t length = fw_token_length(token) <= 16 ? fw_token_length(token) : 0;
  const __m128i inside_token = _mm_loadu_si128((const __m128i *)(zeros_then_ones + length));
  lane l;
  l.text = _mm_and_si128(_mm_loadu_si128((const __m128i *)(text - 16 + fw_token_end(token))), inside_token);
  const __m128i d = _mm_sub_epi8(l.text, _mm_set1_epi8('0'));
  const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(d, _mm_set1_epi8(9)), d);
  l.digits = _mm_and_si128(d, is_digit);
  l.is_digit = (uint32_t)_mm_movemask_epi8(is_digit);
  l.bytes = 0xffffu << (16 - length) & 0xffff;
  return l;
}

/* The numbers of 16 digits in four lanes as their upper and lower eight digits: high[i], low[i]. */
static inline void join_digits(const __m128i lanes[4], __m128i *high, __m128i *low) {
  const __m256i tens = _mm256_set1_epi16(1 << 8 | 10);
  const __m256i hundreds = _mm256_set1_epi32(1 << 16 | 100);
  const __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(lanes[0]), lanes[2], 1);
  const __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(lanes[1]), lanes[3], 1);
  const __m256i fours_a = _mm256_madd_epi16(_mm256_maddubs_epi16(a, tens), hundreds);
  const __m256i fours_b = _mm256_madd_epi16(_mm256_maddubs_epi16(b, tens), hundreds);
  const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours_a, fours_b), _mm256_set1_epi32(1 << 16 | 10000));
  /* high 0, low 0, high 1, low 1 | high 2, low 2, high 3, low 3 */
  const __m256i sorted = _mm256_permutevar8x32_epi32(eights, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
  *high = _mm256_castsi256_si128(sorted);
  *low = _mm256_extracti128_si256(sorted, 1);
}

static inline __m256i join_halves(__m128i high, __m128i low) {
  const __m256i h = _mm256_mul_epu32(_mm256_cvtepu32_epi64(high), _mm256_set1_epi64x(100000000));
  return _mm256_add_epi64(h, _mm256_cvtepu32_epi64(low));
}

/* ---- Integers ------------------------------------------------------------------------------------------- */

static inline __m256i read_integers(const char *text, const fw_token *tokens, unsigned *bad) {
  __m128i digits[4], high, low;
  *bad = 0;
#pragma GCC unroll 4
  for (unsigned j = 0; j < 4; j++) {
    const lane l = load_lane(text, tokens[j]);
    digits[j] = l.digits;
    *bad |= (unsigned)(l.is_digit != l.bytes || l.bytes == 0) << j;
  }
  join_digits(digits, &high, &low);
  return join_halves(high, low);
}

static inline unsigned read_four_u64(const char *text, const fw_token *tokens, void *out) {
  unsigned bad;
  _mm256_storeu_si256(out, read_integers(text, tokens, &bad));
  return bad;
}

static inline unsigned read_four_u32(const char *text, const fw_token *tokens, void *out) {
  unsigned bad;
  const __m256i numbers = read_integers(text, tokens, &bad);
  const __m256i small = _mm256_cmpeq_epi64(_mm256_srli_epi64(numbers, 32), _mm256_setzero_si256());
  const __m256i packed = _mm256_permutevar8x32_epi32(numbers, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  _mm_storeu_si128(out, _mm256_castsi256_si128(packed));
  return bad | (~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(small)) & 15);
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  return fw_read_by_fours(read_four_u64, text, tokens, n, out, sizeof *out, refused);
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  return fw_read_by_fours(read_four_u32, text, tokens, n, out, sizeof *out, refused);
}

/* ---- Floats --------------------------------------------------------------------------------------------- */

/* Four tokens [-]digits[.digits] of up to 16 bytes. */
static inline __m128 read_four_decimals(const char *text, const fw_token *tokens, unsigned *bad) {
  __m128i digits[4], high, low;
  double scales[4];
  uint32_t signs[4];
  *bad = 0;
#pragma GCC unroll 4
  for (unsigned j = 0; j < 4; j++) {
    const lane l = load_lane(text, tokens[j]);
    const uint32_t points = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(l.text, _mm_set1_epi8('.')));
    const uint32_t minus = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(l.text, _mm_set1_epi8('-')));
    const uint32_t first = l.bytes & (0 - l.bytes);
    const uint32_t wrong = (l.is_digit | points | minus) ^ l.bytes;
    *bad |= (unsigned)((wrong | (points & (points - 1)) | (minus & ~first)) != 0 || l.is_digit == 0) << j;
    /* the digits up to the point move one byte up, over it; decimals follow it */
    const uint32_t decimals = points ? (uint32_t)__builtin_clz(points) - 16 : 16;
    const __m128i moved = _mm_loadu_si128((const __m128i *)(ones_then_zeros + decimals));
    digits[j] = _mm_blendv_epi8(l.digits, _mm_slli_si128(l.digits, 1), moved);
    scales[j] = fw_decimal_tens[FW_DECIMAL_RANGE - (decimals & 15)];
    signs[j] = (uint32_t)(minus != 0) << 31;
  }
  join_digits(digits, &high, &low);
  /* the upper half times 10^8 is exact in a double, so the sum is rounded once */
  const __m256d significands =
      _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(1e8)), _mm256_cvtepi32_pd(low));
  const __m256d product = _mm256_mul_pd(significands, _mm256_setr_pd(scales[0], scales[1], scales[2], scales[3]));
  const __m256i below = _mm256_and_si256(_mm256_castpd_si256(product), _mm256_set1_epi64x(FW_DECIMAL_BELOW));
  const __m256i off = _mm256_sub_epi64(below, _mm256_set1_epi64x(FW_DECIMAL_MIDDLE));
  const __m256i margin = _mm256_set1_epi64x(FW_DECIMAL_MARGIN);
  const __m256i far = _mm256_or_si256(_mm256_cmpgt_epi64(off, margin),
                                      _mm256_cmpgt_epi64(_mm256_sub_epi64(_mm256_setzero_si256(), margin), off));
  *bad |= ~(unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(far)) & 15;
  return _mm_xor_ps(_mm256_cvtpd_ps(product),
                    _mm_castsi128_ps(_mm_setr_epi32((int)signs[0], (int)signs[1], (int)signs[2], (int)signs[3])));
}

/* Four tokens of one byte. */
static inline __m128 read_four_digits(const char *text, const fw_token *tokens, unsigned *bad) {
  const char *back = text - 1;
  __m128i digits = _mm_setr_epi32(back[fw_token_end(tokens[0])], back[fw_token_end(tokens[1])],
                                  back[fw_token_end(tokens[2])], back[fw_token_end(tokens[3])]);
  digits = _mm_sub_epi32(digits, _mm_set1_epi32('0'));
  const __m128i good = _mm_cmpeq_epi32(_mm_min_epu32(digits, _mm_set1_epi32(9)), digits);
  *bad = ~(unsigned)_mm_movemask_ps(_mm_castsi128_ps(good)) & 15;
  return _mm_cvtepi32_ps(digits);
}

static inline bool all_of_length_one(const fw_token *tokens) {
  const __m128i lengths = _mm_and_si128(_mm_loadu_si128((const __m128i *)tokens), _mm_set1_epi32((int)FW_TOKEN_LENGTH));
  return _mm_movemask_epi8(_mm_cmpeq_epi32(lengths, _mm_set1_epi32(1))) == 0xffff;
}

static inline unsigned read_four_f32(const char *text, const fw_token *tokens, void *out) {
  unsigned bad;
  _mm_storeu_ps(out, all_of_length_one(tokens) ? read_four_digits(text, tokens, &bad)
                                               : read_four_decimals(text, tokens, &bad));
  return bad;
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  return fw_read_by_fours(read_four_f32, text, tokens, n, out, sizeof *out, refused);
}

void fw_tokenizer_fill_avx2(fw_tokenizer *tokenizer) {
  tokenizer->find_marks = find_marks;
  tokenizer->find_cells = find_cells;
  tokenizer->pick_tokens = pick_tokens;
  tokenizer->count_lines = count_lines;
  tokenizer->read_f32 = read_f32;
  tokenizer->read_u32 = read_u32;
  tokenizer->read_u64 = read_u64;
}
