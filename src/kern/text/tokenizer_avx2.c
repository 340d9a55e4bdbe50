/* kern/text/tokenizer_avx2.c: kernels for AVX2 and BMI. */
#include <immintrin.h>

#include "kern/simd/unroll.h"
#include "kern/text/read_numbers.h"
#include "kern/text/tokenizer.h"

static inline uint64_t join_masks(__m256i low, __m256i high) {
  return (uint64_t)(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

/* The bits of the last, partial group of 64 that are inside of the text. */
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

/* The numbers of the set bits of a byte, one in each byte. */
static inline __m128i numbers_of_bits(uint64_t bits) {
  return _mm_loadl_epi64((const __m128i *)&fw_set_bits[bits & 0xff]);
}

/* Stores the positions of the bits of `found`, plus base, and the bytes there unless `chars` is NULL. For many bits:
 * takes eight at a time from each byte of the mask. */
INLINE void store_many(uint32_t *out, char *chars, const char *text, size_t base, uint64_t found) {
  __m256i first = _mm256_set1_epi32((int)(uint32_t)base);
  UNROLL for (unsigned j = 0; j < 64; j += 8) {
    const __m128i numbers = numbers_of_bits(found >> j);
    const unsigned k = (unsigned)_mm_popcnt_u32((uint32_t)(found >> j) & 0xff);
    _mm256_storeu_si256((__m256i *)out, _mm256_add_epi32(first, _mm256_cvtepu8_epi32(numbers)));
    first = _mm256_add_epi32(first, _mm256_set1_epi32(8));
    out += k;
    if (!chars) continue;
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(text + base + j));
    _mm_storel_epi64((__m128i *)chars, _mm_shuffle_epi8(bytes, numbers));
    chars += k;
  }
}

/* The same for few bits, k in all, one by one. Always stores a multiple of four: the next group overwrites the
 * excess. */
INLINE void store_few(uint32_t *out, char *chars, const char *text, size_t base, uint64_t found, unsigned k) {
  for (unsigned j = 0; j < k; j += 4) {
    UNROLL for (unsigned m = 0; m < 4; m++) {
      const size_t at = base + _tzcnt_u64(found);
      out[j + m] = (uint32_t)at;
      if (chars) chars[j + m] = text[at];
      found = _blsr_u64(found);
    }
  }
}

#include "kern/text/marks_tmpl.h"

/* How marks are stored depends on how many there were so far, so that the branch is mostly predicted. */
static void find_marks(const char *text, size_t n, unsigned char upto, char extra, fw_marks *marks) {
  const __m256i limit = _mm256_set1_epi8((char)upto);
  const __m256i wanted = _mm256_set1_epi8(extra);
  size_t count = 0;
  marks->offsets[-1] = UINT32_MAX;
  for (size_t i = 0; i < n; i += 64) {
    const __m256i a = _mm256_loadu_si256((const __m256i *)(text + i));
    const __m256i b = _mm256_loadu_si256((const __m256i *)(text + i + 32));
    const uint64_t found = join_masks(is_mark(a, limit, wanted), is_mark(b, limit, wanted)) & inside(i, n);
    const unsigned k = (unsigned)_mm_popcnt_u64(found);
    if (count > i / 8)
      store_many(marks->offsets + count, marks->chars + count, text, i, found);
    else
      store_few(marks->offsets + count, marks->chars + count, text, i, found, k);
    count += k;
  }
  marks->count = count;
  classify(marks, extra);
}

/* ---- Cells ---------------------------------------------------------------------------------------------- */

typedef struct cell_bits {
  uint64_t delimiters, quotes, lf, cr;
} cell_bits;

static inline cell_bits read_cell_bits(const char *p, char delimiter) {
  return (cell_bits){equal_mask(p, delimiter), equal_mask(p, '"'), equal_mask(p, '\n'), equal_mask(p, '\r')};
}

static inline void store_cell_marks(uint32_t *out, size_t base, uint64_t found) {
  store_few(out, NULL, NULL, base, found, (unsigned)_mm_popcnt_u64(found));
}

#include "kern/text/cells_tmpl.h"

/* ---- Tokens --------------------------------------------------------------------------------------------- */

/* The tokens of eight marks. */
INLINE __m256i tokens_at(const uint32_t *offsets) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i longest = _mm256_set1_epi32(FW_TOKEN_LENGTH);
  const __m256i ends = _mm256_loadu_si256((const __m256i *)offsets);
  const __m256i before = _mm256_loadu_si256((const __m256i *)(offsets - 1));
  const __m256i lengths = _mm256_min_epu32(_mm256_sub_epi32(_mm256_sub_epi32(ends, before), one), longest);
  return _mm256_or_si256(_mm256_slli_epi32(ends, 6), lengths);
}

static inline __m256i even_words(__m256i a, __m256i b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

static inline __m256i odd_words(__m256i a, __m256i b) {
  return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd));
}

static void deal_to_two(const uint32_t *offsets, size_t n, fw_token *even, fw_token *odd) {
  for (size_t i = 0; i < n; i += 16) {
    const __m256i a = tokens_at(offsets + i), b = tokens_at(offsets + i + 8);
    const __m256i evens = _mm256_permute4x64_epi64(even_words(a, b), 0xd8);
    const __m256i odds = _mm256_permute4x64_epi64(odd_words(a, b), 0xd8);
    _mm256_storeu_si256((__m256i *)(even + i / 2), evens);
    _mm256_storeu_si256((__m256i *)(odd + i / 2), odds);
  }
}

/* Every third of 24 tokens is another element of each of three registers: combined, they have to be sorted. */
static void deal_to_three(const uint32_t *offsets, size_t n, fw_token *const *tokens) {
  const __m256i first = _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5);
  const __m256i second = _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6);
  const __m256i third = _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7);
  for (size_t i = 0; i < n; i += 24) {
    const __m256i a = tokens_at(offsets + i), b = tokens_at(offsets + i + 8), c = tokens_at(offsets + i + 16);
    const __m256i firsts = _mm256_blend_epi32(_mm256_blend_epi32(a, b, 0x92), c, 0x24);
    const __m256i seconds = _mm256_blend_epi32(_mm256_blend_epi32(a, b, 0x24), c, 0x49);
    const __m256i thirds = _mm256_blend_epi32(_mm256_blend_epi32(a, b, 0x49), c, 0x92);
    _mm256_storeu_si256((__m256i *)(tokens[0] + i / 3), _mm256_permutevar8x32_epi32(firsts, first));
    _mm256_storeu_si256((__m256i *)(tokens[1] + i / 3), _mm256_permutevar8x32_epi32(seconds, second));
    _mm256_storeu_si256((__m256i *)(tokens[2] + i / 3), _mm256_permutevar8x32_epi32(thirds, third));
  }
}

static void deal_tokens(const uint32_t *offsets, size_t n, size_t lists, fw_token *const *tokens) {
  if (lists == 2) deal_to_two(offsets, n, tokens[0], tokens[1]);
  if (lists == 3) deal_to_three(offsets, n, tokens);
  for (size_t i = 0; lists == 1 && i < n; i += 8)
    _mm256_storeu_si256((__m256i *)(tokens[0] + i), tokens_at(offsets + i));
}

/* `lists` is a constant at every call, so the loop over them is unrolled. */
INLINE void pick_lists(const uint32_t *offsets, size_t n, const size_t lists, const uint64_t *const *bits,
                       fw_token *const *tokens) {
  fw_token *out[3];
  for (size_t k = 0; k < lists; k++) out[k] = tokens[k];
  for (size_t i = 0; i < n; i += 8) {
    const __m256i all = tokens_at(offsets + i);
    const uint32_t inside_list = n - i >= 8 ? 0xff : (1u << (n - i)) - 1;
    for (size_t k = 0; k < lists; k++) {
      const uint32_t chosen = (uint32_t)(bits[k][i / 64] >> i % 64) & inside_list;
      const __m256i order = _mm256_cvtepu8_epi32(numbers_of_bits(chosen));
      _mm256_storeu_si256((__m256i *)out[k], _mm256_permutevar8x32_epi32(all, order));
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

static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  uint64_t carry = 0; /* the previous byte was CR */
  for (size_t i = 0; i < n; i += 64) {
    const uint64_t lf = equal_mask(text + i, '\n') & inside(i, n);
    const uint64_t cr = equal_mask(text + i, '\r') & inside(i, n);
    lines += (size_t)_mm_popcnt_u64(cr) + (size_t)_mm_popcnt_u64(lf & ~(cr << 1 | carry));
    carry = cr >> 63;
  }
  return lines;
}

/* ---- Eight tokens at a time ------------------------------------------------------------------------------
 *
 * Lane j of a pair of 16-byte lanes has token j, and the other lane has token j + 4: the results of four such pairs
 * are in the order of the tokens. */

static inline __m256i join_lanes(const char *first, const char *second) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)first)),
                                 _mm_loadu_si128((const __m128i *)second), 1);
}

/* Loads the last 16 bytes of tokens j and j + 4; other text precedes a shorter token. */
static inline __m256i load_backs(const char *text, const fw_token *tokens, unsigned j) {
  return join_lanes(text - 16 + fw_token_end(tokens[j]), text - 16 + fw_token_end(tokens[j + 4]));
}

/* Loads the first 16 bytes; other text follows a shorter token. */
static inline __m256i load_fronts(const char *text, const fw_token *tokens, unsigned j) {
  return join_lanes(text + fw_token_end(tokens[j]) - fw_token_length(tokens[j]),
                    text + fw_token_end(tokens[j + 4]) - fw_token_length(tokens[j + 4]));
}

static inline __m256i lengths_of(const fw_token *tokens) {
  return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)tokens), _mm256_set1_epi32(FW_TOKEN_LENGTH));
}

static inline bool any_above(__m256i lengths, int most) {
  const __m256i above = _mm256_cmpgt_epi32(lengths, _mm256_set1_epi32(most));
  return !_mm256_testz_si256(above, above);
}

/* Copies element j of each half to all bytes of that half. */
static inline __m256i spread(__m256i lengths, unsigned j) {
  return _mm256_shuffle_epi8(lengths, _mm256_set1_epi8((char)(4 * j)));
}

/* Collects the first elements of the halves of four pairs, in the order of the tokens. */
static inline __m256i collect_firsts(const __m256i pairs[4]) {
  return _mm256_unpacklo_epi64(_mm256_unpacklo_epi32(pairs[0], pairs[1]), _mm256_unpacklo_epi32(pairs[2], pairs[3]));
}

static inline __m256i collect_lasts(const __m256i pairs[4]) {
  return _mm256_unpackhi_epi64(_mm256_unpackhi_epi32(pairs[0], pairs[1]), _mm256_unpackhi_epi32(pairs[2], pairs[3]));
}

static inline __m256i join_fours(__m256i digits) {
  const __m256i pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(1 << 8 | 10));
  return _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 << 16 | 100));
}

/* Joins two numbers of four digits to one of eight; in each half, the numbers of a come before the numbers of b. */
static inline __m256i join_eights(__m256i fours_a, __m256i fours_b) {
  return _mm256_madd_epi16(_mm256_packus_epi32(fours_a, fours_b), _mm256_set1_epi32(1 << 16 | 10000));
}

/* Joins the 16 digits in each lane of four pairs to numbers: their upper and lower eight digits. */
static inline void join_digits(const __m256i pairs[4], __m256i *high, __m256i *low) {
  const __m256i a = join_eights(join_fours(pairs[0]), join_fours(pairs[1]));
  const __m256i b = join_eights(join_fours(pairs[2]), join_fours(pairs[3]));
  *high = even_words(a, b);
  *low = odd_words(a, b);
}

static inline bool any_bit(__m256i bits) {
  return !_mm256_testz_si256(bits, bits);
}

/* Which of eight 32-bit elements have all bits set: a bit each. */
static inline unsigned to_bits(__m256i elements) {
  return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(elements));
}

/* Which tokens have a byte other than 0 in their lanes. */
static inline unsigned tokens_with_bytes(const __m256i pairs[4]) {
  unsigned found = 0;
  for (unsigned j = 0; j < 4; j++) {
    const uint32_t bytes = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(pairs[j], _mm256_setzero_si256()));
    found |= (unsigned)((bytes & 0xffff) != 0) << j | (unsigned)(bytes >> 16 != 0) << (j + 4);
  }
  return found;
}

#define BYTES_DOWN(first)                                                                                       \
  _mm256_broadcastsi128_si256(_mm_setr_epi8((first)-0, (first)-1, (first)-2, (first)-3, (first)-4, (first)-5,   \
                                            (first)-6, (first)-7, (first)-8, (first)-9, (first)-10, (first)-11, \
                                            (first)-12, (first)-13, (first)-14, (first)-15))

/* ---- Integers ------------------------------------------------------------------------------------------- */

/* Two tokens of up to 8 bytes, each as the last bytes of 8. */
static inline __m128i load_two(const char *text, const fw_token *tokens) {
  const char *back = text - 8;
  const __m128i first = _mm_loadl_epi64((const __m128i *)(back + fw_token_end(tokens[0])));
  return _mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(first), (const __m64 *)(back + fw_token_end(tokens[1]))));
}

static inline __m256i load_two_and_two(const char *text, const fw_token *tokens) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_two(text, tokens)), load_two(text, tokens + 4), 1);
}

/* Extracts the digits of tokens of up to 8 bytes; the bytes before them are cleared by `outside` bits. */
static inline __m256i digits_of_four(__m256i bytes, __m256i outside) {
  const __m256i inside_token = _mm256_sllv_epi64(_mm256_set1_epi64x(-1), outside);
  return _mm256_and_si256(_mm256_sub_epi8(bytes, _mm256_set1_epi8('0')), inside_token);
}

static inline __m256i beyond_nine(__m256i digits) {
  return _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
}

/* Reads eight tokens of up to 8 digits; *bad has a bit for each that is not. */
static inline __m256i read_integers8(const char *text, const fw_token *tokens, __m256i lengths, unsigned *bad) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i outside = _mm256_sub_epi32(_mm256_set1_epi32(64), _mm256_slli_epi32(lengths, 3));
  const __m256i a = digits_of_four(load_two_and_two(text, tokens), _mm256_unpacklo_epi32(outside, zero));
  const __m256i b = digits_of_four(load_two_and_two(text, tokens + 2), _mm256_unpackhi_epi32(outside, zero));
  const __m256i wrong_a = beyond_nine(a), wrong_b = beyond_nine(b);
  const __m256i empty = _mm256_cmpeq_epi32(lengths, zero);
  *bad = 0;
  if (__builtin_expect(any_bit(_mm256_or_si256(_mm256_or_si256(wrong_a, wrong_b), empty)), 0)) {
    const __m256i good_a = _mm256_cmpeq_epi64(wrong_a, zero), good_b = _mm256_cmpeq_epi64(wrong_b, zero);
    *bad = to_bits(empty) | (~to_bits(even_words(good_a, good_b)) & 0xff);
  }
  return join_eights(join_fours(a), join_fours(b));
}

/* Reads eight tokens of up to 16 digits: their upper and lower eight. */
static inline void read_integers16(const char *text, const fw_token *tokens, __m256i lengths, __m256i *high,
                                   __m256i *low, unsigned *bad) {
  __m256i digits[4], wrong[4];
  for (unsigned j = 0; j < 4; j++) {
    const __m256i inside_token = _mm256_cmpgt_epi8(spread(lengths, j), BYTES_DOWN(15));
    const __m256i d = _mm256_sub_epi8(load_backs(text, tokens, j), _mm256_set1_epi8('0'));
    digits[j] = _mm256_and_si256(d, inside_token);
    wrong[j] = beyond_nine(digits[j]);
  }
  const __m256i odd = _mm256_or_si256(_mm256_cmpeq_epi32(lengths, _mm256_setzero_si256()),
                                      _mm256_cmpgt_epi32(lengths, _mm256_set1_epi32(16)));
  *bad = to_bits(odd) | tokens_with_bytes(wrong);
  join_digits(digits, high, low);
}

static inline __m256i join_halves(__m128i high, __m128i low) {
  const __m256i h = _mm256_mul_epu32(_mm256_cvtepu32_epi64(high), _mm256_set1_epi64x(100000000));
  return _mm256_add_epi64(h, _mm256_cvtepu32_epi64(low));
}

/* Reads eight tokens of up to 16 digits as 64-bit numbers. */
static inline unsigned read_eight_u64(const char *text, const fw_token *tokens, void *out) {
  __m256i high, low;
  unsigned bad;
  read_integers16(text, tokens, lengths_of(tokens), &high, &low, &bad);
  _mm256_storeu_si256(out, join_halves(_mm256_castsi256_si128(high), _mm256_castsi256_si128(low)));
  _mm256_storeu_si256((__m256i *)out + 1,
                      join_halves(_mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1)));
  return bad;
}

/* Reads up to 20 digits: the digits before the last 16, times 10^16, plus the last 16. */
static __attribute__((noinline)) unsigned read_eight_long_u64(const char *text, const fw_token *tokens, uint64_t *out) {
  fw_token upper[8], lower[8];
  uint64_t high[8];
  for (unsigned j = 0; j < 8; j++) {
    const uint32_t end = fw_token_end(tokens[j]), length = fw_token_length(tokens[j]);
    upper[j] = length > 16 ? fw_token_make(end - 16, length - 16) : tokens[j];
    lower[j] = length > 16 ? fw_token_make(end, 16) : tokens[j];
  }
  unsigned bad = read_eight_u64(text, upper, high) | read_eight_u64(text, lower, out);
  for (unsigned j = 0; j < 8; j++) {
    const uint64_t above = fw_token_length(tokens[j]) > 16 ? high[j] : 0;
    /* 2^64 is 1844 6744073709551616 */
    bad |= (unsigned)((above > 1844) | ((above == 1844) & (out[j] > 6744073709551615))) << j;
    out[j] += above * 10000000000000000;
  }
  return bad;
}

static inline unsigned read_eight_any_u64(const char *text, const fw_token *tokens, void *out) {
  if (any_above(lengths_of(tokens), 16)) return read_eight_long_u64(text, tokens, out);
  return read_eight_u64(text, tokens, out);
}

/* Reads 32-bit numbers with 9 or 10 digits, or with leading zeros. */
static __attribute__((noinline)) unsigned read_eight_long_u32(const char *text, const fw_token *tokens, uint32_t *out) {
  uint64_t wide[8];
  unsigned bad = read_eight_u64(text, tokens, wide);
  for (unsigned j = 0; j < 8; j++) {
    out[j] = (uint32_t)wide[j];
    bad |= (unsigned)(wide[j] > UINT32_MAX) << j;
  }
  return bad;
}

static inline unsigned read_eight_u32(const char *text, const fw_token *tokens, void *out) {
  const __m256i lengths = lengths_of(tokens);
  unsigned bad;
  if (__builtin_expect(any_above(lengths, 8), 0)) return read_eight_long_u32(text, tokens, out);
  _mm256_storeu_si256(out, read_integers8(text, tokens, lengths, &bad));
  return bad;
}

static size_t read_u64(const char *text, const fw_token *tokens, size_t n, uint64_t *out, uint32_t *refused) {
  return fw_read_in_groups(read_eight_any_u64, 8, text, tokens, n, out, sizeof *out, refused);
}

static size_t read_u32(const char *text, const fw_token *tokens, size_t n, uint32_t *out, uint32_t *refused) {
  return fw_read_in_groups(read_eight_u32, 8, text, tokens, n, out, sizeof *out, refused);
}

/* ---- Floats --------------------------------------------------------------------------------------------- */

/* Constants of the loop over floats. They do not all fit in registers, and the compiler would rebuild many of them
 * for each group, which takes as long as using them; so make_constants hides their values from it. */
typedef struct constants {
  __m256i digit_zero, nine, minus, point;           /* bytes; the point minus '0' */
  __m256i spreads[4];                               /* bytes 4 * j: element j of a half */
  __m256i byte_numbers, from_end, from_end_plus_16; /* for byte i of a lane: i, 15 - i, 31 - i */
  __m256i minus_lengths; /* for tokens that begin at a byte: 16 - i; except at the last byte, which must be a digit */
  __m256i first_byte, last_four;       /* masks */
  __m256i positions, positions_behind; /* 32 + 2 * i, and the same of the next byte */
  __m256i over_up, over_down;          /* shuffles that move bytes over the point, some of them less 1 */
  __m256i token_length, one, two, place_mask, range_less_32, twice_range;
  __m256i below, middle, margin, small, large, most_cut, least_digits;
  __m256d upper; /* 10^8 */
} constants;

INLINE __m256i bytes_from(char first, char step) {
  int8_t bytes[32];
  for (int i = 0; i < 32; i++) bytes[i] = (int8_t)(first + step * (i % 16));
  return _mm256_loadu_si256((const __m256i *)bytes);
}

static inline void make_constants(constants *k) {
  *k = (constants){.digit_zero = _mm256_set1_epi8('0'),
                   .nine = _mm256_set1_epi8(9),
                   .minus = _mm256_set1_epi8('-'),
                   .point = _mm256_set1_epi8('.' - '0'),
                   .spreads = {_mm256_setzero_si256(), _mm256_set1_epi8(4), _mm256_set1_epi8(8), _mm256_set1_epi8(12)},
                   .byte_numbers = bytes_from(0, 1),
                   .from_end = bytes_from(15, -1),
                   .from_end_plus_16 = bytes_from(31, -1),
                   .minus_lengths = _mm256_insert_epi8(_mm256_insert_epi8(bytes_from(16, -1), 127, 15), 127, 31),
                   .first_byte = _mm256_broadcastsi128_si256(_mm_cvtsi32_si128(0xff)),
                   .last_four = _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0, 0, -1)),
                   .positions = bytes_from(32, 2),
                   .positions_behind = bytes_from(34, 2),
                   .over_up = bytes_from(-1, 1),
                   .over_down = bytes_from(0x70, 1), /* 0x80 gives 0 */
                   .token_length = _mm256_set1_epi32(FW_TOKEN_LENGTH),
                   .one = _mm256_set1_epi32(1),
                   .two = _mm256_set1_epi32(2),
                   .place_mask = _mm256_set1_epi32(31),
                   .range_less_32 = _mm256_set1_epi32(FW_DECIMAL_RANGE - 32),
                   .twice_range = _mm256_set1_epi32(2 * FW_DECIMAL_RANGE),
                   .below = _mm256_set1_epi32(FW_DECIMAL_BELOW),
                   .middle = _mm256_set1_epi32(FW_DECIMAL_MIDDLE - FW_DECIMAL_MARGIN),
                   .margin = _mm256_set1_epi32(2 * FW_DECIMAL_MARGIN),
                   .small = _mm256_set1_epi32(0x38105563), /* upper half of the double 1.2e-38 */
                   .large = _mm256_set1_epi32(0x47eff933), /* 3.4e38 */
                   .most_cut = _mm256_set1_epi32(0xffff),
                   .least_digits = _mm256_set1_epi32(FW_DECIMAL_CUT / 100000000),
                   .upper = _mm256_set1_pd(1e8)};
  __asm__("" : "+m"(*k));
}

/* The bytes of two tokens of more than 16 bytes, decoded. */
typedef struct decimal_pair {
  __m256i digits; /* their values, without the point */
  __m256i wrong;  /* nonzero bytes are not digits */
  __m256i sum; /* first element of each half: position of the point (32 + 2 * its byte; 0: none), plus 1 for a minus */
} decimal_pair;

/* Adds up the positions of points and minus, in each half. With several points the sum names at most one byte: if
 * that byte is removed, a point remains. */
INLINE __m256i sum_positions(const constants *k, __m256i values, __m256i is_minus) {
  const __m256i is_point = _mm256_cmpeq_epi8(values, k->point);
  const __m256i positions = _mm256_sub_epi8(_mm256_and_si256(is_point, k->positions), is_minus);
  return _mm256_sad_epu8(positions, _mm256_setzero_si256());
}

INLINE __m256i add_halves(__m256i sums) {
  return _mm256_add_epi32(sums, _mm256_shuffle_epi32(sums, 0x4e));
}

/* The values of the bytes of a token as digits; 0 outside of it and for the minus. */
INLINE __m256i values_of(const constants *k, __m256i bytes, __m256i inside_token, __m256i is_minus) {
  return _mm256_and_si256(_mm256_sub_epi8(bytes, k->digit_zero), _mm256_andnot_si256(is_minus, inside_token));
}

INLINE __m256i spread_of(const constants *k, __m256i elements, unsigned j) {
  return _mm256_shuffle_epi8(elements, k->spreads[j]);
}

INLINE __m256i not_digits(const constants *k, __m256i values) {
  return _mm256_subs_epu8(values, k->nine);
}

/* The upper half times 10^8 is exact in a double, so the sum is rounded once. */
INLINE __m256d join_doubles(const constants *k, __m128i high, __m128i low) {
  return _mm256_add_pd(_mm256_mul_pd(_mm256_cvtepi32_pd(high), k->upper), _mm256_cvtepi32_pd(low));
}

/* Loads four powers of ten. (On most processors a gather takes longer than the loads.) */
INLINE __m256d load_tens(const uint32_t *exponents) {
  return _mm256_setr_pd(fw_decimal_tens[exponents[0]], fw_decimal_tens[exponents[1]], fw_decimal_tens[exponents[2]],
                        fw_decimal_tens[exponents[3]]);
}

/* Eight numbers as doubles: the numbers of four pairs of tokens, times 10^(exponents - FW_DECIMAL_RANGE). */
typedef struct products {
  __m256d a, b;
} products;

INLINE products scale_eight(const constants *k, __m256i high, __m256i low, __m256i exponents) {
  uint32_t each[8];
  _mm256_storeu_si256((__m256i *)each, exponents);
  __asm__("" : "+m"(each)); /* forces single loads instead of shifts of the register */
  const __m256d a = join_doubles(k, _mm256_castsi256_si128(high), _mm256_castsi256_si128(low));
  const __m256d b = join_doubles(k, _mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1));
  return (products){_mm256_mul_pd(a, load_tens(each)), _mm256_mul_pd(b, load_tens(each + 4))};
}

/* Stores them as floats; bit 0 of a sum is the sign. */
INLINE void store_floats(products p, __m256i sum, float *out) {
  const __m256 values = _mm256_set_m128(_mm256_cvtpd_ps(p.b), _mm256_cvtpd_ps(p.a));
  _mm256_storeu_ps(out, _mm256_xor_ps(values, _mm256_castsi256_ps(_mm256_slli_epi32(sum, 31))));
}

/* Which of them are close to the midpoint of two floats. */
INLINE __m256i are_close(const constants *k, products p) {
  const __m256i bits = even_words(_mm256_castpd_si256(p.a), _mm256_castpd_si256(p.b)); /* 0 1 4 5 2 3 6 7 */
  const __m256i off = _mm256_sub_epi32(_mm256_and_si256(bits, k->below), k->middle);
  return _mm256_permute4x64_epi64(_mm256_cmpeq_epi32(_mm256_min_epu32(off, k->margin), off), 0xd8);
}

/* Which of them are not 0 and, judged by their upper halves, roughly out of the range of normal floats. */
INLINE __m256i out_of_range(const constants *k, products p) {
  const __m256i upper = odd_words(_mm256_castpd_si256(p.a), _mm256_castpd_si256(p.b));
  const __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi32(k->small, upper), _mm256_cmpgt_epi32(upper, k->large));
  const __m256i zero = _mm256_cmpeq_epi32(upper, _mm256_setzero_si256());
  return _mm256_permute4x64_epi64(_mm256_andnot_si256(zero, outside), 0xd8);
}

/* A bit for each token that is refused or has wrong bytes. */
INLINE unsigned bad_tokens(__m256i refused, const __m256i wrong[4]) {
  const __m256i odd = _mm256_or_si256(_mm256_or_si256(wrong[0], wrong[1]), _mm256_or_si256(wrong[2], wrong[3]));
  if (__builtin_expect(!any_bit(_mm256_or_si256(refused, odd)), 1)) return 0;
  return to_bits(refused) | tokens_with_bytes(wrong);
}

/* Loading sixteen bytes from here + 15 - i sets the bytes after byte i; from here + 16, all bytes. */
static const uint8_t bytes_behind[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255,
                                         255,        255, 255, 255, 255, 255, 255, 255};

/* The leading zeros of 32 bits with a point at byte i are 31 - i; 32 if there is none. Entry (zeros - 16) is
 * 10^-decimals. */
static const double tens_by_zeros[17] = {1e0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7, 1e-8,
                                         1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e0};

typedef struct short_pair {
  __m256i digits, wrong; /* as in decimal_pair */
  __m256i is_minus;
} short_pair;

/* Reads tokens j and j + 4: [-]digits[.digits] of up to 16 bytes, the last of which is a digit. */
INLINE short_pair read_pair(const constants *k, __m256i bytes, __m256i lengths, uint32_t zeros[8], unsigned j) {
  const __m256i inside_token = _mm256_cmpgt_epi8(lengths, k->from_end);
  const __m256i is_minus =
      _mm256_and_si256(_mm256_cmpeq_epi8(bytes, k->minus), _mm256_cmpeq_epi8(lengths, k->minus_lengths));
  const __m256i values = values_of(k, bytes, inside_token, is_minus);
  const uint32_t points = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(values, k->point));
  zeros[j] = _lzcnt_u32(points & 0x7fff); /* a point in the last byte stays, and is wrong */
  zeros[j + 4] = _lzcnt_u32(points >> 16 & 0x7fff);
  /* the digits up to the point move one byte up, over it; of several points, the others remain */
  const __m256i behind =
      join_lanes((const char *)bytes_behind + (zeros[j] - 16), (const char *)bytes_behind + (zeros[j + 4] - 16));
  const __m256i digits = _mm256_shuffle_epi8(values, _mm256_sub_epi8(k->over_up, behind));
  return (short_pair){digits, not_digits(k, digits), is_minus};
}

/* The signs of eight tokens; at most one byte of each is the minus. */
INLINE __m256i signs_of(const __m256i is_minus[4]) {
  const __m256i any =
      _mm256_packs_epi16(_mm256_packs_epi16(is_minus[0], is_minus[1]), _mm256_packs_epi16(is_minus[2], is_minus[3]));
  return _mm256_xor_si256(_mm256_cmpeq_epi32(any, _mm256_setzero_si256()), _mm256_set1_epi32(-1));
}

INLINE __m256d scales_of(const uint32_t *zeros) {
  const double *tens = tens_by_zeros;
  return _mm256_setr_pd(tens[zeros[0] - 16], tens[zeros[1] - 16], tens[zeros[2] - 16], tens[zeros[3] - 16]);
}

/* Reads eight tokens [-]digits[.digits] of up to 16 bytes. */
INLINE unsigned read_eight_decimals(const constants *k, const char *text, const fw_token *tokens, __m256i lengths,
                                    float *out) {
  __m256i digits[4], wrong[4], is_minus[4], high, low;
  uint32_t zeros[8];
  UNROLL for (unsigned j = 0; j < 4; j++) {
    const short_pair p = read_pair(k, load_backs(text, tokens, j), spread_of(k, lengths, j), zeros, j);
    digits[j] = p.digits;
    wrong[j] = p.wrong;
    is_minus[j] = p.is_minus;
  }
  join_digits(digits, &high, &low);
  const __m256d a = join_doubles(k, _mm256_castsi256_si128(high), _mm256_castsi256_si128(low));
  const __m256d b = join_doubles(k, _mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1));
  const products p = {_mm256_mul_pd(a, scales_of(zeros)), _mm256_mul_pd(b, scales_of(zeros + 4))};
  store_floats(p, signs_of(is_minus), out);
  const __m256i empty = _mm256_cmpeq_epi32(lengths, _mm256_setzero_si256());
  return bad_tokens(_mm256_or_si256(are_close(k, p), empty), wrong);
}

/* Reads the front of two tokens [-]digits.digits[e(+|-)dd]; the digits after the point move over it. `cut` is for
 * the upper half of the sum. */
INLINE decimal_pair read_fronts(const constants *k, __m256i bytes, __m256i lengths, __m256i cut) {
  const __m256i is_minus = _mm256_and_si256(_mm256_cmpeq_epi8(bytes, k->minus), k->first_byte);
  const __m256i values = values_of(k, bytes, _mm256_cmpgt_epi8(lengths, k->byte_numbers), is_minus);
  const __m256i halves = sum_positions(k, values, is_minus);
  decimal_pair p = {.sum = add_halves(_mm256_add_epi32(halves, _mm256_slli_epi32(cut, 16)))};
  const __m256i moved = _mm256_cmpgt_epi8(k->positions_behind, spread_of(k, p.sum, 0));
  p.digits = _mm256_shuffle_epi8(values, _mm256_sub_epi8(k->over_down, moved));
  p.wrong = not_digits(k, p.digits);
  return p;
}

/* Extracts the digits in the back of two tokens that are neither in the front nor in the exponent, which exists if
 * `has_e`. */
INLINE __m256i digits_of_backs(const constants *k, __m256i bytes, __m256i lengths, __m256i has_e) {
  const __m256i in_back = _mm256_cmpgt_epi8(lengths, k->from_end_plus_16);
  const __m256i body = _mm256_andnot_si256(_mm256_and_si256(has_e, k->last_four), in_back);
  return _mm256_and_si256(_mm256_sub_epi8(bytes, k->digit_zero), body);
}

/* Which tokens have an e four bytes before their end, after their front. */
INLINE __m256i have_exponents(__m256i tails, __m256i lengths) {
  const __m256i letter = _mm256_and_si256(_mm256_or_si256(tails, _mm256_set1_epi32(0x20)), _mm256_set1_epi32(0xff));
  return _mm256_and_si256(_mm256_cmpeq_epi32(letter, _mm256_set1_epi32('e')),
                          _mm256_cmpgt_epi32(lengths, _mm256_set1_epi32(19)));
}

/* The powers of ten of e(+|-)dd; *refused: the exponent is malformed. */
INLINE __m256i powers_of(const constants *k, __m256i tails, __m256i has_e, __m256i *refused) {
  const __m256i digits = _mm256_sub_epi8(_mm256_srli_epi32(tails, 16), _mm256_set1_epi32('0' << 8 | '0'));
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(tails, 8), _mm256_set1_epi32(0xff));
  const __m256i minus = _mm256_cmpeq_epi32(sign, _mm256_set1_epi32('-'));
  const __m256i is_sign = _mm256_or_si256(minus, _mm256_cmpeq_epi32(sign, _mm256_set1_epi32('+')));
  const __m256i are_digits = _mm256_cmpeq_epi32(not_digits(k, digits), _mm256_setzero_si256());
  *refused = _mm256_andnot_si256(_mm256_and_si256(is_sign, are_digits), has_e);
  const __m256i power = _mm256_maddubs_epi16(digits, _mm256_set1_epi32(1 << 8 | 10));
  return _mm256_and_si256(_mm256_sub_epi32(_mm256_xor_si256(power, minus), minus), has_e);
}

/* Reads eight tokens [-]digits.digits[e(+|-)dd] of up to 32 bytes, as printf's %e writes them.
 *
 * A token is read twice: its first 16 bytes (the front) have the digits that matter; its last 16 bytes (the back)
 * have the exponent, and further digits, which are only checked. The digits of the front are a number N of 16
 * digits, n of which are before the point, so the token is N * 10^(n - 16 + exponent). */
INLINE unsigned read_eight_long(const constants *k, const char *text, const fw_token *tokens, __m256i lengths,
                                float *out) {
  __m256i digits[4], wrong[4], sums[4], backs[4], high, low, refused;
  UNROLL for (unsigned j = 0; j < 4; j++) backs[j] = load_backs(text, tokens, j);
  const __m256i tails = collect_lasts(backs);
  const __m256i has_e = have_exponents(tails, lengths);
  UNROLL for (unsigned j = 0; j < 4; j++) {
    const __m256i length = spread_of(k, lengths, j);
    const __m256i rest = digits_of_backs(k, backs[j], length, spread_of(k, has_e, j));
    const __m256i cut = _mm256_sad_epu8(rest, _mm256_setzero_si256());
    const decimal_pair p = read_fronts(k, load_fronts(text, tokens, j), length, cut);
    digits[j] = p.digits;
    wrong[j] = _mm256_or_si256(p.wrong, not_digits(k, rest));
    sums[j] = p.sum;
  }
  join_digits(digits, &high, &low);
  const __m256i sum = collect_firsts(sums);
  const __m256i place = _mm256_and_si256(_mm256_srli_epi32(sum, 1), k->place_mask); /* 16 + n; 0: no point */
  const __m256i power = powers_of(k, tails, has_e, &refused);
  const __m256i exponents = _mm256_add_epi32(_mm256_add_epi32(place, power), k->range_less_32);
  const __m256i clamped = _mm256_min_epu32(exponents, k->twice_range);
  const products p = scale_eight(k, high, low, clamped);
  store_floats(p, sum, out);
  /* the cut part must be less than one part in 10^13, or zero */
  const __m256i cut = _mm256_and_si256(_mm256_cmpgt_epi32(sum, k->most_cut), _mm256_cmpgt_epi32(k->least_digits, high));
  /* besides the point and the minus there is a digit, and the token is not too long */
  const __m256i least = _mm256_add_epi32(k->two, _mm256_and_si256(sum, k->one));
  const __m256i odd_length =
      _mm256_or_si256(_mm256_cmpgt_epi32(least, lengths), _mm256_cmpgt_epi32(lengths, _mm256_set1_epi32(32)));
  const __m256i odd_point =
      _mm256_or_si256(_mm256_cmpeq_epi32(place, _mm256_setzero_si256()), _mm256_cmpgt_epi32(exponents, k->twice_range));
  refused = _mm256_or_si256(_mm256_or_si256(refused, cut), _mm256_or_si256(odd_length, odd_point));
  return bad_tokens(_mm256_or_si256(refused, _mm256_or_si256(are_close(k, p), out_of_range(k, p))), wrong);
}

/* Reads tokens of one byte, eight at a time, up to n or to the first eight that are not all digits; returns their
 * number. */
static size_t read_digits_f32(const char *text, const fw_token *tokens, size_t n, float *out) {
  const char *back = text - 1;
  size_t i = 0;
  for (; n - i >= 8 && !any_bit(_mm256_xor_si256(lengths_of(tokens + i), _mm256_set1_epi32(1))); i += 8) {
    __m128i bytes = _mm_cvtsi32_si128(back[fw_token_end(tokens[i])]);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 1])], 1);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 2])], 2);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 3])], 3);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 4])], 4);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 5])], 5);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 6])], 6);
    bytes = _mm_insert_epi8(bytes, back[fw_token_end(tokens[i + 7])], 7);
    const __m128i digits = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i good = _mm_cmpeq_epi8(_mm_min_epu8(digits, _mm_set1_epi8(9)), digits);
    if (__builtin_expect((_mm_movemask_epi8(good) & 0xff) != 0xff, 0)) break;
    _mm256_storeu_ps(out + i, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(digits)));
  }
  return i;
}

static size_t read_f32(const char *text, const fw_token *tokens, size_t n, float *out, uint32_t *refused) {
  size_t count = 0;
  fw_token last[8];
  constants k;
  make_constants(&k);
  for (size_t i = 0; i < n; i += 8) {
    if (fw_token_length(tokens[i]) == 1) i += read_digits_f32(text, tokens + i, n - i, out + i);
    if (i == n) break;
    const fw_token *eight = n - i >= 8 ? tokens + i : fw_pad_tokens(tokens + i, n - i, last, 8);
    const __m256i lengths = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)eight), k.token_length);
    unsigned bad = any_above(lengths, 16) ? read_eight_long(&k, text, eight, lengths, out + i)
                                          : read_eight_decimals(&k, text, eight, lengths, out + i);
    if (n - i < 8) bad &= (1U << (n - i)) - 1;
    if (__builtin_expect(bad != 0, 0)) count = fw_append_refused(refused, count, i, bad);
  }
  return count;
}

void fw_tokenizer_fill_avx2(fw_tokenizer *tokenizer) {
  tokenizer->find_marks = find_marks;
  tokenizer->find_cells = find_cells;
  tokenizer->pick_tokens = pick_tokens;
  tokenizer->deal_tokens = deal_tokens;
  tokenizer->count_lines = count_lines;
  tokenizer->read_f32 = read_f32;
  tokenizer->read_u32 = read_u32;
  tokenizer->read_u64 = read_u64;
}
