/* kern/text/tokenizer_avx512.c: kernels for AVX-512 with BW, DQ, VL, VBMI and VBMI2. */
#include <immintrin.h>

#include "kern/simd/unroll.h"
#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

/* Stores the offsets of up to 64 marks: the compressed numbers of the marked bytes are widened, sixteen at a time. */
static inline void store_offsets(uint32_t *out, __m512i packed, size_t found, size_t first) {
  const __m512i base = _mm512_set1_epi32((int)(uint32_t)first);
  _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
  if (found > 16) {
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 1))));
    if (found > 32) {
      const __m512i third = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 2));
      const __m512i fourth = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 3));
      _mm512_storeu_si512(out + 32, _mm512_add_epi32(base, third));
      _mm512_storeu_si512(out + 48, _mm512_add_epi32(base, fourth));
    }
  }
}

/* Finds the marks of 64 bytes: their offsets and, for classify, the compressed bytes themselves. */
static inline size_t mark_group(const char *text, size_t i, __mmask64 inside, __m512i limit, __m512i wanted,
                                __m512i numbers, fw_marks *marks, size_t count) {
  const __m512i bytes = _mm512_loadu_si512(text + i);
  const __mmask64 found = (_mm512_cmple_epu8_mask(bytes, limit) | _mm512_cmpeq_epi8_mask(bytes, wanted)) & inside;
  const size_t k = (size_t)_mm_popcnt_u64(found);
  store_offsets(marks->offsets + count, _mm512_maskz_compress_epi8(found, numbers), k, i);
  _mm512_storeu_si512(marks->chars + count, _mm512_maskz_compress_epi8(found, bytes));
  return count + k;
}

static void classify(fw_marks *marks, __m512i wanted) {
  __mmask64 odd = 0;
  for (size_t i = 0; i < marks->count; i += 64) {
    const __m512i chars = _mm512_loadu_si512(marks->chars + i);
    const __mmask64 inside = marks->count - i >= 64 ? ~0ull : ~0ull >> (64 - (marks->count - i));
    const __mmask64 extras = _mm512_mask_cmpeq_epi8_mask(inside, chars, wanted);
    const __mmask64 ends = _mm512_mask_cmpeq_epi8_mask(inside, chars, _mm512_set1_epi8('\n'));
    odd |= inside & ~(extras | ends | _mm512_cmpeq_epi8_mask(chars, _mm512_set1_epi8(' ')));
    marks->extras[i / 64] = extras;
    marks->ends[i / 64] = ends;
  }
  marks->odd = odd != 0;
}

static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  const __m512i limit = _mm512_set1_epi8((char)upto);
  const __m512i wanted = _mm512_set1_epi8(extra);
  uint8_t steps[64];
  for (unsigned i = 0; i < 64; i++) steps[i] = (uint8_t)i;
  const __m512i numbers = _mm512_loadu_si512(steps);
  size_t count = 0;
  size_t i = 0;
  marks->offsets[-1] = UINT32_MAX;
  for (; i + 64 <= n; i += 64) count = mark_group(text, i, ~0ull, limit, wanted, numbers, marks, count);
  if (i < n) count = mark_group(text, i, ~0ull >> (64 - (n - i)), limit, wanted, numbers, marks, count);
  marks->count = count;
  classify(marks, wanted);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  const __m512i bytes = _mm512_loadu_si512(p);
  return (cell_bits){
      _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(delimiter)), _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
      _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')), _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'))};
}

static const uint8_t byte_numbers[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                         16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                         32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                         48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found) {
  const __m512i packed = _mm512_maskz_compress_epi8(found, _mm512_loadu_si512(byte_numbers));
  store_offsets(out, packed, (size_t)_mm_popcnt_u64(found), base);
}

#include "kern/text/cells_tmpl.h"

/* ---- Tokens --------------------------------------------------------------------------------------------- */

/* The tokens of sixteen marks. */
static inline __m512i tokens_at(const uint32_t *offsets) {
  const __m512i ends = _mm512_loadu_si512(offsets);
  const __m512i before = _mm512_loadu_si512(offsets - 1);
  const __m512i lengths = _mm512_min_epu32(_mm512_sub_epi32(_mm512_sub_epi32(ends, before), _mm512_set1_epi32(1)),
                                           _mm512_set1_epi32(FW_TOKEN_LENGTH));
  return _mm512_or_si512(_mm512_slli_epi32(ends, 6), lengths);
}

/* `lists` is a constant at every call, so the loop over them is unrolled. */
static inline __attribute__((always_inline)) void pick_lists(const uint32_t *offsets, size_t n, const size_t lists,
                                                             const uint64_t *const *bits, fw_token *const *tokens) {
  fw_token *out[3];
  for (size_t k = 0; k < lists; k++) out[k] = tokens[k];
  for (size_t i = 0; i < n; i += 16) {
    const __m512i all = tokens_at(offsets + i);
    const uint32_t inside = n - i >= 16 ? 0xffff : (1u << (n - i)) - 1;
    for (size_t k = 0; k < lists; k++) {
      const uint32_t chosen = (uint32_t)(bits[k][i / 64] >> i % 64) & inside;
      _mm512_storeu_si512(out[k], _mm512_maskz_compress_epi32((__mmask16)chosen, all));
      out[k] += _mm_popcnt_u32(chosen);
    }
  }
}

static void pick_tokens(const uint32_t *offsets, size_t n, size_t lists, const uint64_t *const *bits,
                        fw_token *const *tokens) {
  if (lists == 1) pick_lists(offsets, n, 1, bits, tokens);
  if (lists == 2) pick_lists(offsets, n, 2, bits, tokens);
  if (lists == 3) pick_lists(offsets, n, 3, bits, tokens);
}

static void deal_to_two(const uint32_t *offsets, size_t n, fw_token *even, fw_token *odd) {
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  for (size_t i = 0; i < n; i += 32) {
    const __m512i a = tokens_at(offsets + i), b = tokens_at(offsets + i + 16);
    _mm512_storeu_si512(even + i / 2, _mm512_permutex2var_epi32(a, evens, b));
    _mm512_storeu_si512(odd + i / 2, _mm512_permutex2var_epi32(a, odds, b));
  }
}

/* Every third of 48 tokens is another element of each of three registers: combined, they have to be sorted. */
static void deal_to_three(const uint32_t *offsets, size_t n, fw_token *const *tokens) {
  const __m512i first = _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13);
  const __m512i second = _mm512_setr_epi32(1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14);
  const __m512i third = _mm512_setr_epi32(2, 5, 8, 11, 14, 1, 4, 7, 10, 13, 0, 3, 6, 9, 12, 15);
  for (size_t i = 0; i < n; i += 48) {
    const __m512i a = tokens_at(offsets + i), b = tokens_at(offsets + i + 16), c = tokens_at(offsets + i + 32);
    const __m512i firsts = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(a, 0x4924, b), 0x2492, c);
    const __m512i seconds = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(a, 0x9249, b), 0x4924, c);
    const __m512i thirds = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(a, 0x2492, b), 0x9249, c);
    _mm512_storeu_si512(tokens[0] + i / 3, _mm512_permutexvar_epi32(first, firsts));
    _mm512_storeu_si512(tokens[1] + i / 3, _mm512_permutexvar_epi32(second, seconds));
    _mm512_storeu_si512(tokens[2] + i / 3, _mm512_permutexvar_epi32(third, thirds));
  }
}

static void deal_tokens(const uint32_t *offsets, size_t n, size_t lists, fw_token *const *tokens) {
  if (lists == 2) deal_to_two(offsets, n, tokens[0], tokens[1]);
  if (lists == 3) deal_to_three(offsets, n, tokens);
  for (size_t i = 0; lists == 1 && i < n; i += 16) _mm512_storeu_si512(tokens[0] + i, tokens_at(offsets + i));
}

/* ---- Eight tokens at a time ----------------------------------------------------------------------------- */

static inline __m512i join_lanes(__m128i a, __m128i b, __m128i c, __m128i d) {
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Loads four tokens, each into the last bytes of a 16-byte lane; other text precedes a token in its lane. */
static inline __m512i load_lanes16(const char *text, const fw_token *tokens) {
  const char *back = text - 16;
  return join_lanes(_mm_loadu_si128((const __m128i *)(back + fw_token_end(tokens[0]))),
                    _mm_loadu_si128((const __m128i *)(back + fw_token_end(tokens[1]))),
                    _mm_loadu_si128((const __m128i *)(back + fw_token_end(tokens[2]))),
                    _mm_loadu_si128((const __m128i *)(back + fw_token_end(tokens[3]))));
}

/* Loads the first 16 bytes of four tokens; other text follows the shorter ones. */
static inline __m512i load_fronts16(const char *text, const fw_token *tokens) {
  const char *first = text + fw_token_end(tokens[0]) - fw_token_length(tokens[0]);
  const char *second = text + fw_token_end(tokens[1]) - fw_token_length(tokens[1]);
  const char *third = text + fw_token_end(tokens[2]) - fw_token_length(tokens[2]);
  const char *fourth = text + fw_token_end(tokens[3]) - fw_token_length(tokens[3]);
  return join_lanes(_mm_loadu_si128((const __m128i *)first), _mm_loadu_si128((const __m128i *)second),
                    _mm_loadu_si128((const __m128i *)third), _mm_loadu_si128((const __m128i *)fourth));
}

/* Loads tokens of up to eight bytes, each into the last bytes of an 8-byte lane. (A gather takes longer on the
 * measured processors.) */
static inline __m512i load_lanes8(const char *text, const fw_token *tokens) {
  uint64_t lanes[8];
  for (unsigned j = 0; j < 8; j++) memcpy(&lanes[j], text - 8 + fw_token_end(tokens[j]), 8);
  return _mm512_setr_epi64((long long)lanes[0], (long long)lanes[1], (long long)lanes[2], (long long)lanes[3],
                           (long long)lanes[4], (long long)lanes[5], (long long)lanes[6], (long long)lanes[7]);
}

/* Constants of the loops over tokens. Their values are hidden from the compiler, which would rebuild some of them
 * for each group, which takes as long as using them. */
typedef struct constants {
  __m512i zero, ten, point, hyphen;
  __m512i tens, hundreds, myriads, eights, order; /* for join_digits16 */
  __m512i below, middle, margin;
} constants;

static inline __m512i hide(__m512i constant) {
  __asm__("" : "+v"(constant));
  return constant;
}

static inline constants make_constants(void) {
  return (constants){.zero = hide(_mm512_set1_epi8('0')),
                     .ten = hide(_mm512_set1_epi8(10)),
                     .point = hide(_mm512_set1_epi8('.')),
                     .hyphen = hide(_mm512_set1_epi8('-')),
                     .tens = hide(_mm512_set1_epi16(1 << 8 | 10)),
                     .hundreds = hide(_mm512_set1_epi32(1 << 16 | 100)),
                     .myriads = hide(_mm512_set1_epi32(1 << 16 | 10000)),
                     .eights = hide(_mm512_set1_epi64(100000000)),
                     .order = hide(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7)),
                     .below = hide(_mm512_set1_epi64(FW_DECIMAL_BELOW)),
                     .middle = hide(_mm512_set1_epi64(FW_DECIMAL_MIDDLE - FW_DECIMAL_MARGIN)),
                     .margin = hide(_mm512_set1_epi64(2 * FW_DECIMAL_MARGIN))};
}

/* Joins the 16 digits in each of eight lanes, four in a and four in b, to numbers in the order of the tokens:
 * multiply-and-add joins pairs, fours and eights of digits. */
INLINE __m512i join_digits16(const constants *k, __m512i a, __m512i b) {
  const __m512i fours_a = _mm512_madd_epi16(_mm512_maddubs_epi16(a, k->tens), k->hundreds);
  const __m512i fours_b = _mm512_madd_epi16(_mm512_maddubs_epi16(b, k->tens), k->hundreds);
  const __m512i eights = _mm512_madd_epi16(_mm512_packus_epi32(fours_a, fours_b), k->myriads);
  const __m512i high = _mm512_mul_epu32(eights, k->eights);
  const __m512i all = _mm512_add_epi64(high, _mm512_srli_epi64(eights, 32));
  return _mm512_permutexvar_epi64(k->order, all);
}

/* The lengths of eight tokens as 16-bit numbers. */
static inline __m128i lengths_of(const fw_token *tokens) {
  const __m256i t = _mm256_loadu_si256((const __m256i *)tokens);
  return _mm256_cvtepi32_epi16(_mm256_and_si256(t, _mm256_set1_epi32(FW_TOKEN_LENGTH)));
}

/* The bytes of eight tokens in their 16-byte lanes, a bit each; none for tokens of more than 16 bytes. */
static inline __m128i token_bytes16(__m128i lengths) {
  return _mm_sllv_epi16(_mm_set1_epi16(-1), _mm_sub_epi16(_mm_set1_epi16(16), lengths));
}

static inline __m128i pair_masks(__mmask64 a, __mmask64 b) {
  return _mm_set_epi64x((long long)b, (long long)a);
}

static inline __mmask64 low_mask(__m128i masks) {
  return (__mmask64)_mm_cvtsi128_si64(masks);
}

static inline __mmask64 high_mask(__m128i masks) {
  return (__mmask64)_mm_extract_epi64(masks, 1);
}

/* Appends base + i for each bit i of `bits`. */
static inline size_t refuse(uint32_t *refused, size_t count, size_t base, unsigned bits) {
  for (; bits; bits &= bits - 1) refused[count++] = (uint32_t)(base + (size_t)__builtin_ctz(bits));
  return count;
}

/* Fills the last group of eight tokens up with copies of the last token. */
static inline const fw_token *fill_up(const fw_token *tokens, size_t n, fw_token last[8]) {
  for (size_t i = 0; i < 8; i++) last[i] = tokens[i < n ? i : n - 1];
  return last;
}

/* ---- Integers ------------------------------------------------------------------------------------------- */

/* Reads eight tokens of up to 16 digits; *bad has a bit for each that is not. */
INLINE __m512i read_integers16(const constants *k, const char *text, const fw_token *tokens, __m128i lengths,
                               unsigned *bad) {
  const __m512i zero = k->zero, ten = k->ten;
  const __m128i bytes = token_bytes16(lengths);
  const __m512i a = _mm512_sub_epi8(load_lanes16(text, tokens), zero);
  const __m512i b = _mm512_sub_epi8(load_lanes16(text, tokens + 4), zero);
  const __mmask64 digits_a = _mm512_mask_cmplt_epu8_mask(low_mask(bytes), a, ten);
  const __mmask64 digits_b = _mm512_mask_cmplt_epu8_mask(high_mask(bytes), b, ten);
  const __mmask8 whole = _mm_cmpeq_epi16_mask(pair_masks(digits_a, digits_b), bytes);
  *bad = (unsigned)(__mmask8) ~(whole & _mm_test_epi16_mask(bytes, bytes));
  return join_digits16(k, _mm512_maskz_mov_epi8(digits_a, a), _mm512_maskz_mov_epi8(digits_b, b));
}

/* Reads eight tokens of up to 8 digits. */
static inline __m512i read_integers8(const char *text, const fw_token *tokens, __m128i lengths, unsigned *bad) {
  /* a byte whose top `length` bits are set: the bytes of the token in its lane */
  const __m128i tops = _mm_srlv_epi16(_mm_set1_epi16((short)0xff00), lengths);
  const __mmask64 bytes = low_mask(_mm_packus_epi16(_mm_and_si128(tops, _mm_set1_epi16(0xff)), tops));
  const __m512i v = _mm512_sub_epi8(load_lanes8(text, tokens), _mm512_set1_epi8('0'));
  const __mmask64 digits = _mm512_mask_cmplt_epu8_mask(bytes, v, _mm512_set1_epi8(10));
  const __m512i tens = _mm512_set1_epi16(1 << 8 | 10);
  const __m512i hundreds = _mm512_set1_epi32(1 << 16 | 100);
  const __m512i fours = _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_maskz_mov_epi8(digits, v), tens), hundreds);
  *bad = (unsigned)_mm_cmpeq_epi16_mask(lengths, _mm_setzero_si128());
  if (digits != bytes) {
    const __m512i wrong = _mm512_movm_epi8(digits ^ bytes);
    *bad |= (unsigned)_mm512_test_epi64_mask(wrong, wrong);
  }
  return _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)), _mm512_srli_epi64(fours, 32));
}

INLINE __m512i read_integers(const constants *k, const char *text, const fw_token *tokens, unsigned *bad) {
  const __m128i lengths = lengths_of(tokens);
  if (_mm_cmpgt_epi16_mask(lengths, _mm_set1_epi16(8))) return read_integers16(k, text, tokens, lengths, bad);
  return read_integers8(text, tokens, lengths, bad);
}

/* Reads eight tokens of up to 20 digits: the digits before the last 16, times 10^16, plus the last 16. */
INLINE __m512i read_integers20(const constants *k, const char *text, const fw_token *tokens, unsigned *bad) {
  fw_token upper[8], lower[8];
  __mmask8 has_upper = 0;
  for (unsigned j = 0; j < 8; j++) {
    const uint32_t end = fw_token_end(tokens[j]);
    const uint32_t length = fw_token_length(tokens[j]);
    upper[j] = length > 16 ? fw_token_make(end - 16, length - 16) : tokens[j];
    lower[j] = length > 16 ? fw_token_make(end, 16) : tokens[j];
    has_upper |= (__mmask8)((length > 16) << j);
  }
  unsigned upper_bad;
  const __m512i low = read_integers16(k, text, lower, lengths_of(lower), bad);
  const __m512i high =
      _mm512_maskz_mov_epi64(has_upper, read_integers16(k, text, upper, lengths_of(upper), &upper_bad));
  *bad |= upper_bad;
  /* 2^64 is 1844 6744073709551616 */
  const __m512i most = _mm512_set1_epi64(1844);
  const __mmask8 at_most = _mm512_cmpeq_epu64_mask(high, most);
  *bad |= _mm512_cmpgt_epu64_mask(high, most) |
          (at_most & _mm512_cmpgt_epu64_mask(low, _mm512_set1_epi64(6744073709551615)));
  return _mm512_add_epi64(_mm512_mullo_epi64(high, _mm512_set1_epi64(10000000000000000)), low);
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  const constants k = make_constants();
  size_t count = 0;
  fw_token last[8];
  for (size_t i = 0; i < n; i += 8) {
    const fw_token *eight = n - i >= 8 ? tokens + i : fill_up(tokens + i, n - i, last);
    unsigned bad;
    const bool long_ones = _mm_cmpgt_epi16_mask(lengths_of(eight), _mm_set1_epi16(16)) != 0;
    const __m512i numbers = long_ones ? read_integers20(&k, text, eight, &bad) : read_integers(&k, text, eight, &bad);
    _mm512_storeu_si512(out + i, numbers);
    if (n - i < 8) bad &= (1u << (n - i)) - 1;
    if (__builtin_expect(bad != 0, 0)) count = refuse(refused, count, i, bad);
  }
  return count;
}

/* ---- Floats --------------------------------------------------------------------------------------------- */

/* Computes eight floats from sign, significand and power of ten; sets bits of *bad for refused ones. wide: the power
 * may lead out of the range of floats. */
INLINE __m256 scale_eight(const constants *k, __m512i significands, __m512d scales, __mmask8 minus, bool wide,
                          unsigned *bad) {
  const __m512d product = _mm512_mul_pd(_mm512_cvtepi64_pd(significands), scales);
  const __m512i below = _mm512_and_si512(_mm512_castpd_si512(product), k->below);
  const __m512i off = _mm512_sub_epi64(below, k->middle);
  const __mmask8 close = _mm512_cmple_epu64_mask(off, k->margin);
  *bad |= close;
  if (wide) {
    const __mmask8 in_range = _mm512_cmp_pd_mask(product, _mm512_set1_pd(1.2e-38), _CMP_GT_OQ) &
                              _mm512_cmp_pd_mask(product, _mm512_set1_pd(3.4e38), _CMP_LT_OQ);
    *bad |= (unsigned)(__mmask8) ~(in_range | _mm512_testn_epi64_mask(significands, significands));
  }
  const __m256 values = _mm512_cvtpd_ps(product);
  return _mm256_mask_xor_ps(values, minus, values, _mm256_set1_ps(-0.0F));
}

/* Reads tokens of one byte, eight at a time, up to n or to the first eight that are not all digits; returns their
 * number. */
static size_t read_digits_f32(const char *text, const fw_token *tokens, size_t n, float *out) {
  const char *back = text - 1;
  size_t i = 0;
  for (; n - i >= 8 && _mm_cmpneq_epi16_mask(lengths_of(tokens + i), _mm_set1_epi16(1)) == 0; i += 8) {
    __m128i bytes = _mm_setzero_si128();
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i])], 0);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 1])], 1);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 2])], 2);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 3])], 3);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 4])], 4);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 5])], 5);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 6])], 6);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 7])], 7);
    const __m128i digits = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    if (__builtin_expect(((unsigned)_mm_cmpgt_epu8_mask(digits, _mm_set1_epi8(9)) & 0xff) != 0, 0)) break;
    _mm256_storeu_ps(out + i, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(digits)));
  }
  return i;
}

/* A bit at the bottom and at the top of each of the four lanes of a mask. */
#define LANE_BOTTOMS 0x0001000100010001ull
#define LANE_TOPS 0x8000800080008000ull

/* Four tokens [-]digits[.digits] of up to 15 bytes in 16-byte lanes, each with the byte after it; a bit of a mask is
 * a byte.
 *
 * The byte after a token takes the role of the point if there is none; otherwise it is one more digit 0. So each
 * lane has a first point, and the digits before it move one byte up, over it. */
typedef struct short_lanes {
  __m512i
      digits; /* of a number of 16 digits in each lane; the digits in bits above the lane's point follow the point */
  uint64_t points; /* the bits of each lane up to and including its point */
  uint64_t minus;
  uint64_t wrong; /* not 0: some token has another form */
} short_lanes;

INLINE short_lanes read_short_lanes(const constants *k, const char *text, const fw_token *tokens, uint64_t bytes) {
  const __m512i x = load_lanes16(text + 1, tokens);
  const __m512i d = _mm512_sub_epi8(x, k->zero);
  const __mmask64 is_digit = _mm512_mask_cmplt_epu8_mask(bytes, d, k->ten);
  const uint64_t points = _mm512_mask_cmpeq_epi8_mask(bytes, x, k->point);
  const uint64_t minus = _mm512_mask_cmpeq_epi8_mask(bytes, x, k->hyphen);
  const uint64_t digits = is_digit;
  const uint64_t first = bytes & ~(bytes << 1);
  const uint64_t any = points | LANE_TOPS;
  short_lanes s;
  s.points = any ^ (any - LANE_BOTTOMS);
  s.minus = minus;
  /* another byte, a second point, a minus that is not first, or no digit at all */
  s.wrong = ((digits | points | minus) ^ bytes) | (points & ~s.points) | (minus & ~first) |
            (LANE_TOPS & ~((digits & ~LANE_TOPS) + ~LANE_TOPS));
  const __m512i v = _mm512_maskz_mov_epi8(is_digit, d);
  s.digits = _mm512_mask_mov_epi8(v, s.points, _mm512_bslli_epi128(v, 1));
  return s;
}

/* Reads eight tokens of up to 15 bytes. */
INLINE __m256 read_short_f32(const constants *k, const char *text, const fw_token *tokens, __m128i lengths,
                             unsigned *bad) {
  static const double tens[16] = {1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,
                                  1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15};
  /* the last bytes of a lane but one: bits 15 - length … 14 */
  const __m128i bytes = _mm_srli_epi16(token_bytes16(lengths), 1);
  const short_lanes a = read_short_lanes(k, text, tokens, low_mask(bytes));
  const short_lanes b = read_short_lanes(k, text, tokens + 4, high_mask(bytes));
  /* a point at bit k is a mask of k + 1 ones, and 15 - k digits follow it; k + 1 is the exponent of that mask plus 1
   * as a float */
  const __m256i ones = _mm256_cvtepu16_epi32(pair_masks(a.points, b.points));
  const __m256i powers = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_add_epi32(ones, _mm256_set1_epi32(1))));
  const __m256i decimals = _mm256_sub_epi32(_mm256_set1_epi32(127 + 16), _mm256_srli_epi32(powers, 23));
  const __m512d scales =
      _mm512_permutex2var_pd(_mm512_loadu_pd(tens), _mm512_cvtepu32_epi64(decimals), _mm512_loadu_pd(tens + 8));
  const __m128i minus = pair_masks(a.minus, b.minus);
  *bad = 0;
  if (__builtin_expect((a.wrong | b.wrong) != 0, 0)) {
    const __m128i wrong = pair_masks(a.wrong, b.wrong);
    *bad = _mm_test_epi16_mask(wrong, wrong);
  }
  return scale_eight(k, join_digits16(k, a.digits, b.digits), scales, _mm_test_epi16_mask(minus, minus), false, bad);
}

/* The first 16 digits of a token [+-]digits[.digits][e[+-]digits] of up to 32 bytes, compressed: the token is that
 * number of 16 digits times 10^exponent. */
typedef struct long_token {
  __m128i digits;
  int32_t exponent;
  bool minus, cut; /* cut: digits other than 0 were cut off */
} long_token;

static inline bool take_apart(const char *text, fw_token token, long_token *t) {
  const uint32_t length = fw_token_length(token);
  const char *end = text + fw_token_end(token);
  const uint32_t bytes = (uint32_t)(0xffffffff00000000ull >> length);
  const __m256i x = _mm256_loadu_si256((const __m256i *)(end - 32));
  const __m256i d = _mm256_sub_epi8(x, _mm256_set1_epi8('0'));
  const uint32_t digits = _mm256_cmplt_epu8_mask(d, _mm256_set1_epi8(10)) & bytes;
  const uint32_t points = _mm256_cmpeq_epi8_mask(x, _mm256_set1_epi8('.')) & bytes;
  const uint32_t es = _mm256_cmpeq_epi8_mask(_mm256_or_si256(x, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('e')) & bytes;
  const uint32_t minus = _mm256_cmpeq_epi8_mask(x, _mm256_set1_epi8('-')) & bytes;
  const uint32_t signs = (_mm256_cmpeq_epi8_mask(x, _mm256_set1_epi8('+')) & bytes) | minus;
  const uint32_t first = bytes & (0 - bytes);
  const uint32_t before_e = es - 1; /* all bits if there is no e */
  const uint32_t body = digits & before_e;
  const uint32_t power = digits & ~before_e;
  const unsigned npower = (unsigned)__builtin_popcount(power);
  /* wrong: a foreign byte, a second e or point, a point in the exponent, a sign that is neither first nor after the
   * e */
  const uint32_t wrong = ((digits | points | es | signs) ^ bytes) | (es & before_e) | (points & (points - 1)) |
                         (points & ~before_e) | (signs & ~(first | es << 1));
  const __m256i packed = _mm256_maskz_compress_epi8(body, d);
  const __m128i cut = _mm256_extracti128_si256(packed, 1);
  /* up to three digits of the exponent, without a branch */
  int32_t value = (int32_t)(end[-1] - '0') & -(int32_t)(npower > 0);
  value += (10 * (end[-2] - '0')) & -(int32_t)(npower > 1);
  value += (100 * (end[-3] - '0')) & -(int32_t)(npower > 2);
  const int32_t negative = -(int32_t)((minus & es << 1) != 0);
  const uint32_t whole = body & (points - 1); /* all of it if there is no point */
  t->digits = _mm256_castsi256_si128(packed);
  t->exponent = __builtin_popcount(whole) - 16 + ((value ^ negative) - negative);
  t->minus = (minus & first) != 0;
  t->cut = !_mm_testz_si128(cut, cut);
  return wrong == 0 && body != 0 && (es == 0 || npower - 1 < 3) && length - 1 < 32 &&
         t->exponent >= -FW_DECIMAL_RANGE && t->exponent <= FW_DECIMAL_RANGE;
}

/* The last four bytes of eight lanes. */
static inline __m256i tails_of(__m512i a, __m512i b) {
  const __m512i last = _mm512_setr_epi32(3, 7, 11, 15, 19, 23, 27, 31, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castsi512_si256(_mm512_permutex2var_epi32(a, last, b));
}

/* Reads eight tokens [-]digits.digits[e(+|-)dd] of up to 32 bytes, as printf's %e writes them.
 *
 * A token is read twice: its first 16 bytes (the front) have the digits that matter; its last 16 bytes (the back)
 * have the exponent, and further digits, which are only checked. Masks of 16 bits are for the bytes of one lane,
 * eight in a register. The digits of the front are a number N of 16 digits, k of which are before the point, so the
 * token is N * 10^(k - 16 + exponent). */
INLINE __m256 read_long_f32(const constants *k, const char *text, const fw_token *tokens, __m128i lengths,
                            unsigned *bad) {
  const __m128i ones = _mm_set1_epi16(-1);
  const __m512i zero = k->zero, ten = k->ten, point = k->point, hyphen = k->hyphen;
  const __m512i back_a = load_lanes16(text, tokens);
  const __m512i back_b = load_lanes16(text, tokens + 4);
  const __m512i front_a = load_fronts16(text, tokens);
  const __m512i front_b = load_fronts16(text, tokens + 4);
  const __m512i da = _mm512_sub_epi8(front_a, zero);
  const __m512i db = _mm512_sub_epi8(front_b, zero);
  /* the bytes of the token in the front, and the bytes of the back that are not in the front as well */
  const __m128i front = _mm_xor_si128(_mm_sllv_epi16(ones, lengths), ones);
  const __m128i back = _mm_sllv_epi16(ones, _mm_sub_epi16(_mm_set1_epi16(32), lengths));
  const __mmask64 digits_a = _mm512_mask_cmplt_epu8_mask(low_mask(front), da, ten);
  const __mmask64 digits_b = _mm512_mask_cmplt_epu8_mask(high_mask(front), db, ten);
  const __m128i digits = pair_masks(digits_a, digits_b);
  const __m128i points = pair_masks(_mm512_mask_cmpeq_epi8_mask(low_mask(front), front_a, point),
                                    _mm512_mask_cmpeq_epi8_mask(high_mask(front), front_b, point));
  const __m128i minus = pair_masks(_mm512_mask_cmpeq_epi8_mask(low_mask(front), front_a, hyphen),
                                   _mm512_mask_cmpeq_epi8_mask(high_mask(front), front_b, hyphen));
  const __m128i back_digits =
      pair_masks(_mm512_mask_cmplt_epu8_mask(low_mask(back), _mm512_sub_epi8(back_a, zero), ten),
                 _mm512_mask_cmplt_epu8_mask(high_mask(back), _mm512_sub_epi8(back_b, zero), ten));
  const __m128i back_zeros = pair_masks(_mm512_cmpeq_epi8_mask(back_a, zero), _mm512_cmpeq_epi8_mask(back_b, zero));
  /* the exponent is the last four bytes, or absent */
  const __m256i tails = tails_of(back_a, back_b);
  const __m256i byte = _mm256_set1_epi32(0xff);
  const __m256i signs = _mm256_and_si256(_mm256_srli_epi32(tails, 8), byte);
  const __mmask8 has_e =
      _mm256_cmpeq_epi32_mask(_mm256_and_si256(_mm256_or_si256(tails, _mm256_set1_epi32(0x20)), byte),
                              _mm256_set1_epi32('e')) &
      _mm_cmpgt_epi16_mask(lengths, _mm_set1_epi16(19));
  const __mmask8 negative = _mm256_cmpeq_epi32_mask(signs, _mm256_set1_epi32('-'));
  const __mmask8 signed_e = negative | _mm256_cmpeq_epi32_mask(signs, _mm256_set1_epi32('+'));
  const __m128i not_digits = _mm_maskz_mov_epi16(has_e, _mm_set1_epi16(0x3000)); /* the e and its sign */
  const __m128i before_point = _mm_add_epi16(points, ones);
  __mmask8 good = _mm_cmpeq_epi16_mask(_mm_or_si128(_mm_or_si128(digits, points), minus), front);
  good &= _mm_cmpeq_epi16_mask(back_digits, _mm_andnot_si128(not_digits, back));
  good &= (__mmask8)~has_e | signed_e;
  good &= _mm_test_epi16_mask(points, points) & _mm_testn_epi16_mask(points, before_point);
  good &= _mm_testn_epi16_mask(minus, _mm_set1_epi16((short)0xfffe)) & _mm_test_epi16_mask(digits, digits);
  good &= _mm_cmple_epi16_mask(lengths, _mm_set1_epi16(32));
  /* the digits after the point move one byte down, over it */
  const __m128i moved = _mm_andnot_si128(before_point, ones);
  const __m512i va = _mm512_maskz_mov_epi8(digits_a, da);
  const __m512i vb = _mm512_maskz_mov_epi8(digits_b, db);
  const __m512i ra = _mm512_mask_mov_epi8(va, low_mask(moved), _mm512_bsrli_epi128(va, 1));
  const __m512i rb = _mm512_mask_mov_epi8(vb, high_mask(moved), _mm512_bsrli_epi128(vb, 1));
  const __m512i significands = join_digits16(k, ra, rb);
  /* k is the exponent of the mask of the point as a float; the digits of the exponent are the upper two bytes of the
   * tail */
  const __m256i floats = _mm256_castps_si256(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(points)));
  const __m256i before = _mm256_sub_epi32(_mm256_srli_epi32(floats, 23), _mm256_set1_epi32(127 + 16));
  const __m256i tens = _mm256_and_si256(_mm256_srli_epi32(tails, 16), _mm256_set1_epi32(15));
  const __m256i units = _mm256_and_si256(_mm256_srli_epi32(tails, 24), _mm256_set1_epi32(15));
  __m256i power = _mm256_maskz_add_epi32(has_e, _mm256_mullo_epi32(tens, _mm256_set1_epi32(10)), units);
  power = _mm256_mask_sub_epi32(power, negative, _mm256_setzero_si256(), power);
  const __m256i exponents = _mm256_add_epi32(_mm256_add_epi32(before, power), _mm256_set1_epi32(FW_DECIMAL_RANGE));
  good &= _mm256_cmple_epu32_mask(exponents, _mm256_set1_epi32(2 * FW_DECIMAL_RANGE));
  const __m512d scales = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), good, exponents, fw_decimal_tens, 8);
  /* the cut part must be less than one part in 10^13, or zero */
  const __m128i body = _mm_mask_mov_epi16(ones, has_e, _mm_set1_epi16(0x0fff)); /* of the back: without the exponent */
  const __mmask8 cut = _mm_test_epi16_mask(_mm_andnot_si128(back_zeros, back_digits), body);
  good &= (__mmask8) ~(cut & _mm512_cmplt_epu64_mask(significands, _mm512_set1_epi64(FW_DECIMAL_CUT)));
  *bad = (unsigned)(__mmask8)~good;
  return scale_eight(k, significands, scales, _mm_test_epi16_mask(minus, minus), true, bad);
}

/* Reads one token of up to 32 bytes: an irregular one among short ones. */
static __attribute__((noinline)) bool read_one_f32(const char *text, fw_token token, float *out) {
  long_token t;
  if (!take_apart(text, token, &t)) return false;
  const __m128i pairs = _mm_maddubs_epi16(t.digits, _mm_set1_epi16(1 << 8 | 10));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
  const uint64_t significand = (both & UINT32_MAX) * 100000000 + (both >> 32);
  if (t.cut && significand < FW_DECIMAL_CUT) return false;
  if (!fw_decimal_scale(significand, t.exponent, out)) return false;
  if (t.minus) *out = -*out;
  return true;
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  const constants k = make_constants();
  size_t count = 0;
  fw_token last[8];
  for (size_t i = 0; i < n; i += 8) {
    if (fw_token_length(tokens[i]) == 1) i += read_digits_f32(text, tokens + i, n - i, out + i);
    if (i == n) break;
    const fw_token *eight = n - i >= 8 ? tokens + i : fill_up(tokens + i, n - i, last);
    const __m128i lengths = lengths_of(eight);
    unsigned bad;
    if (_mm_cmpgt_epi16_mask(lengths, _mm_set1_epi16(15)) == 0)
      _mm256_storeu_ps(out + i, read_short_f32(&k, text, eight, lengths, &bad));
    else
      _mm256_storeu_ps(out + i, read_long_f32(&k, text, eight, lengths, &bad));
    if (n - i < 8) bad &= (1u << (n - i)) - 1;
    for (; __builtin_expect(bad != 0, 0); bad &= bad - 1) {
      const size_t at = i + (size_t)__builtin_ctz(bad);
      if (!read_one_f32(text, tokens[at], &out[at])) refused[count++] = (uint32_t)at;
    }
  }
  return count;
}

/* read_u32 is AVX2's, which is faster: eight short tokens fit in its registers. */
void fw_tokenizer_fill_avx512(fw_tokenizer *tokenizer) {
  tokenizer->find_marks = find_marks;
  tokenizer->find_cells = find_cells;
  tokenizer->pick_tokens = pick_tokens;
  tokenizer->deal_tokens = deal_tokens;
  tokenizer->read_f32 = read_f32;
  tokenizer->read_u64 = read_u64;
}
