/* kern/scan/scan.h: distances to many stored vectors: of product quantizer codes in blocks, and of plain rows.
 *
 * Codes of a list lie in blocks of FW_BLOCK vectors: [m][FW_BLOCK] bytes, one byte for each sub-quantizer. The last
 * block is narrower: as many vectors as are left, rounded up to FW_BLOCK_UNIT. Where fw_scan.nibbles, codes of 4 bits
 * are two in a byte: [(m + 1) / 2][FW_BLOCK] bytes. */
#ifndef FW_KERN_SCAN_SCAN_H
#define FW_KERN_SCAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_BLOCK 64
#define FW_BLOCK_UNIT 16
#define FW_BLOCK_GROUP 4 /* blocks that are sifted at once */
#define FW_LUT_BYTES 256 /* of a sub-quantizer in fw_lut.bytes */
#define FW_GROUPS 64     /* groups of the 256 codes of a sub-quantizer, at most */
#define FW_GROUP_MOST_M 128
#define FW_GROUP_ROWS 4 /* sub-quantizers whose bytes are averaged by group kernels */

/* Vectors whose codes a list of n has space for. */
static inline size_t fw_block_padded(size_t n) {
  return (n + FW_BLOCK_UNIT - 1) / FW_BLOCK_UNIT * FW_BLOCK_UNIT;
}
/* Vectors whose codes block b of a list of n has space for. */
static inline size_t fw_block_width(size_t n, size_t b) {
  size_t left = n - b * FW_BLOCK;
  return left < FW_BLOCK ? fw_block_padded(left) : FW_BLOCK;
}

typedef struct fw_code_list {
  size_t n;
  const uint8_t *codes; /* FW_BLOCK bytes behind them are readable */
  const float *extra;   /* [n], added to each value; FW_BLOCK floats behind are readable; NULL: 0 */
  const uint8_t *ahead; /* codes and extras that are looked at next: fetched meanwhile; never read by a kernel */
  const float *extra_ahead;
} fw_code_list;

/* One block of a list, and what is looked at soon: the blocks behind it, or the list that comes next. */
typedef struct fw_code_block {
  const uint8_t *codes;
  const float *extra;
  size_t width;
  const uint8_t *ahead;
  const float *extra_ahead;
} fw_code_block;

/* An address to prefetch. It is computed as a number: `from` may be NULL, and nothing need be there. */
static inline const char *fw_ahead(const void *from, size_t bytes) {
  return (const char *)((uintptr_t)from + bytes);
}

/* rows: bytes of a code in blocks. */
static inline fw_code_block fw_code_list_block(const fw_code_list *list, size_t rows, size_t b, size_t blocks) {
  enum { AHEAD = 4 };
  const bool here = b + AHEAD < blocks;
  const size_t at = b * FW_BLOCK, coming = (here ? b + AHEAD : b + AHEAD - blocks) * FW_BLOCK;
  const float *extra = here ? list->extra : list->extra_ahead;
  return (fw_code_block){.codes = list->codes + at * rows,
                         .extra = list->extra ? list->extra + at : NULL,
                         .width = fw_block_width(list->n, b),
                         .ahead = (const uint8_t *)fw_ahead(here ? list->codes : list->ahead, coming * rows),
                         .extra_ahead = extra ? extra + coming : NULL};
}

/* What the parts of a code add to a distance, for one query. Smaller is better.
 *
 * bytes are the numbers of `values`, rounded down: low + step * (sum of bytes of a code) is not above the sum of its
 * values, except for rounding errors, which stay below `slack` of the whole comparison (fw_lut_slack). */
typedef struct fw_lut {
  size_t m, ksub, width; /* width: ksub rounded up to FW_PACK_WIDTH of kern/products/products.h */
  float *values;         /* [m][width], aligned to 64 bytes */
  uint8_t *bytes;        /* [m][FW_LUT_BYTES], aligned to 64 bytes; beyond ksub anything */
  uint8_t *wrapped;      /* [m][FW_LUT_BYTES]: values by fw_scan.wrap; NULL: none */
  bool wraps;            /* wrapped is filled */
  float low, step;
  float magnitude; /* sum over m of the largest |value|; infinite when a value is NaN */
  bool nibbles;    /* ksub is 16; codes are two in a byte, the first in its lower half. bytes are [m][16] and, if m is
                      odd, 16 times 0; the sum of two that share a byte fits a byte */
} fw_lut;

#define FW_LUT_NIBBLES 16 /* bytes of a sub-quantizer in fw_lut.bytes, if fw_lut.nibbles */

/* Bytes of a code in blocks. */
static inline size_t fw_lut_rows(const fw_lut *lut) {
  return lut->nibbles ? (lut->m + 1) / 2 : lut->m;
}

/* More than all rounding errors together in: the sum of the values of a code, plus extra, plus base; and the same by
 * way of bytes; and a limit that was made by taking base from a distance. Each of these is less than 2 m + 30 roundings
 * of numbers that are at most magnitude + |extra| + |base|; a rounding is off by 2^-24 of its number, here 2^-23. */
static inline float fw_lut_slack(const fw_lut *lut, float base, float extra) {
  float most = lut->magnitude + (base < 0 ? -base : base) + (extra < 0 ? -extra : extra);
  return most * (float)(2 * lut->m + 32) * 0x1p-23F;
}

/* Rows of a table of groups of m sub-quantizers: a multiple of FW_GROUP_ROWS. */
static inline size_t fw_group_rows(size_t m) {
  return (m + FW_GROUP_ROWS - 1) / FW_GROUP_ROWS * FW_GROUP_ROWS;
}

typedef struct fw_scan {
  bool nibbles; /* quantise, sift and bounds know fw_lut.nibbles */
  /* fw_lut_sum of all vectors of a block, if fw_lut.nibbles; NULL: it would not be faster. */
  void (*sum_block)(const fw_lut *lut, const uint8_t *block, size_t width, float out[FW_BLOCK]);

  /* A block of `width` vectors from `count` codes of m bytes each, one behind the other; 0 beyond them. */
  void (*pack)(const uint8_t *rows, size_t m, size_t count, uint8_t *block, size_t width);

  /* Codes of a block of m rows become numbers[256 * row + code]. */
  void (*renumber)(const uint8_t *numbers, size_t m, uint8_t *block, size_t width);

  /* Fills bytes, low, step and magnitude from values. */
  void (*quantise)(fw_lut *lut);

  /* Looks through a list, from block *next on, for vectors whose value is not surely above `limit`. Stops at the first
   * blocks that have any: they are from the one that is returned up to *next, which is behind them, and masks has their
   * bits, a word for each block. When there are none left, both are the number of blocks. */
  size_t (*sift)(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                 uint64_t masks[FW_BLOCK_GROUP]);

  /* The same, faster; vectors up to 2 m steps above the limit may pass, not just m. NULL: there is none. */
  size_t (*sift_quickly)(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                         uint64_t masks[FW_BLOCK_GROUP]);

  /* Minus the bounds of the first `blocks` blocks of a list, all of FW_BLOCK vectors: values are not below -out[i],
   * except for rounding, and not above it by more than m * step. */
  void (*bounds)(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out);

  /* Groups of codes, for sub-quantizers of 256: a first pass over a list, cheaper than sift and less precise. A level
   * that does without has NULL for group_code. The sum of the group bytes of a vector is at least
   * FW_GROUP_ROWS * (sum - fw_group_rows(m) / FW_GROUP_ROWS), where `sum` is what sift_groups compares.
   *
   * The code of a centroid, by its rank in an order in which similar centroids are near each other. */
  uint8_t (*group_code)(uint8_t rank);
  uint32_t group_most; /* vectors of a block, on average: if more pass, sift is faster than a sum for each */
  /* out[i] = the lowest byte of floor(values[i] * scale), an integer of 31 bits; n is a multiple of 64. */
  void (*wrap)(const float *values, size_t n, float scale, uint8_t *out);
  /* out[i] = |x_i - y_i|^2 of m parts of dsub floats each. */
  void (*part_squares)(const float *x, const float *y, size_t m, size_t dsub, float *out);
  /* The smallest byte of each group: least[fw_group_rows(m)][FW_GROUPS], aligned to 64 bytes. A byte is query[k][j], of
   * [m][FW_LUT_BYTES]; with list, it is the lowest byte of query[k][j] + list[k][j] + offset[k]. */
  void (*group_table)(const uint8_t *query, const uint8_t *list, const uint8_t *offset, size_t m, uint8_t *least);
  /* As sift: passes vectors whose sum is not above `limit`. extra of the list is fetched, not read. */
  size_t (*sift_groups)(const uint8_t *least, size_t m, const fw_code_list *list, size_t *next, uint32_t limit,
                        uint64_t masks[FW_BLOCK_GROUP]);

  /* out[i] = the sum of the values of each vector, in doubles, for fw_block_padded(n) vectors. values alone of lut. */
  void (*add_up)(const fw_lut *lut, const uint8_t *codes, size_t n, float *out);

  /* out[g] = the largest of values[g], values[g + groups], …; n and groups are multiples of 16, groups <= n. A NaN may
   * be skipped. */
  void (*maxima)(const float *values, size_t n, size_t groups, float *out);
  /* A number that at least k of n values are not below, and not many more than k: at most the k-th largest of them, and
   * near it. n is a multiple of 16. */
  float (*rank_bound)(const float *values, size_t n, size_t k);
  /* The positions of values that are not below `limit`, ascending; returns how many. n is a multiple of 16; positions
   * holds n + 16. */
  size_t (*find_not_below)(const float *values, size_t n, float limit, uint32_t *positions);

  /* out[i] = |x - y_i|^2, <x, y_i> for n rows of d floats, at any address. */
  void (*l2_rows)(const float *x, const void *rows, size_t n, size_t d, float *out);
  void (*ip_rows)(const float *x, const void *rows, size_t n, size_t d, float *out);
} fw_scan;

/* fw_scan.pack, byte by byte. */
static inline void fw_pack_plain(const uint8_t *rows, size_t m, size_t count, uint8_t *block, size_t width) {
  for (size_t k = 0; k < m; k++)
    for (size_t i = 0; i < width; i++) block[k * width + i] = i < count ? rows[i * m + k] : 0;
}

/* fw_scan.sift, a block at a time. sift_block gives the bits of the vectors of a block that pass; those beyond its
 * width mean nothing. It is called in one place alone, so that it is inlined. */
typedef uint64_t fw_sift_block(const fw_lut *lut, const fw_code_block *block, float limit);
static inline __attribute__((always_inline)) size_t fw_sift_by_blocks(fw_sift_block *sift_block, const fw_lut *lut,
                                                                      const fw_code_list *list, size_t *next,
                                                                      float limit, uint64_t masks[FW_BLOCK_GROUP]) {
  const size_t n = list->n, blocks = (n + FW_BLOCK - 1) / FW_BLOCK;
  for (size_t b = *next; b < blocks; b++) {
    const size_t left = n - b * FW_BLOCK;
    const fw_code_block block = fw_code_list_block(list, fw_lut_rows(lut), b, blocks);
    masks[0] = sift_block(lut, &block, limit);
    if (left < FW_BLOCK) masks[0] &= ((uint64_t)1 << left) - 1;
    *next = b + 1;
    if (masks[0]) return b;
  }
  return *next = blocks;
}

/* fw_lut_sum for the code whose first byte in a block is *code. */
static inline float fw_nibble_sum(const fw_lut *lut, const uint8_t *code, size_t stride) {
  const float *values = lut->values;
  float sum = 0;
  for (size_t m = 0; m < lut->m; m += 2, code += stride, values += 2 * FW_LUT_NIBBLES) {
    sum += values[*code & 15];
    if (m + 1 < lut->m) sum += values[FW_LUT_NIBBLES + (*code >> 4)];
  }
  return sum;
}

/* Number m of the code whose first byte in a block is *code. */
static inline unsigned fw_lut_number(const fw_lut *lut, const uint8_t *code, size_t stride, size_t m) {
  return lut->nibbles ? code[m / 2 * stride] >> 4 * (m % 2) & 15U : code[m * stride];
}

/* The sum of values of vector `i` of a list of n: what a plain scan would add up, in order. */
static inline float fw_lut_sum(const fw_lut *lut, const uint8_t *codes, size_t n, size_t i) {
  size_t b = i / FW_BLOCK, stride = fw_block_width(n, b);
  const uint8_t *code = codes + b * FW_BLOCK * fw_lut_rows(lut) + i % FW_BLOCK;
  const float *values = lut->values;
  if (lut->nibbles) return fw_nibble_sum(lut, code, stride);
  float sum = values[*code];
  for (size_t m = 1; m < lut->m; m++) {
    code += stride;
    values += lut->width;
    sum += values[*code];
  }
  return sum;
}

/* The kernels of this process, and what fills them (kern/dispatch.h). */
const fw_scan *fw_scan_table(void);
void fw_scan_fill_generic(fw_scan *scan);
void fw_scan_fill_avx2(fw_scan *scan);
void fw_scan_fill_avx512(fw_scan *scan);
void fw_groups_fill_avx2(fw_scan *scan);
void fw_scan_fill_neon(fw_scan *scan);

#endif
