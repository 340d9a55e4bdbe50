/* kern/scan/scan.h: distances to many stored vectors: product quantizer codes in blocks, and plain rows.
 *
 * The codes of a list are stored in blocks of FW_BLOCK vectors: [m][FW_BLOCK] bytes, one byte for each
 * sub-quantizer. The last block is narrower: it has the remaining vectors, rounded up to FW_BLOCK_UNIT. If
 * fw_scan.nibbles, a byte holds two codes of 4 bits: [(m + 1) / 2][FW_BLOCK] bytes. */
#ifndef FW_KERN_SCAN_SCAN_H
#define FW_KERN_SCAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FW_BLOCK 64
#define FW_BLOCK_UNIT 16
#define FW_BLOCK_GROUP 4 /* blocks that are sifted at once */
#define FW_LUT_BYTES 256 /* bytes of a sub-quantizer in fw_lut.bytes */
#define FW_GROUPS 64     /* most groups of the 256 codes of a sub-quantizer */
#define FW_GROUP_MOST_M 128
#define FW_GROUP_ROWS 4 /* sub-quantizers whose bytes are averaged by group kernels */

/* The number of vectors for which a list of n has space. */
static inline size_t fw_block_padded(size_t n) {
  return (n + FW_BLOCK_UNIT - 1) / FW_BLOCK_UNIT * FW_BLOCK_UNIT;
}
/* The number of vectors for which block b of a list of n has space. */
static inline size_t fw_block_width(size_t n, size_t b) {
  size_t left = n - b * FW_BLOCK;
  return left < FW_BLOCK ? fw_block_padded(left) : FW_BLOCK;
}

typedef struct fw_code_list {
  size_t n;
  const uint8_t *codes; /* FW_BLOCK bytes after them are readable */
  const float *extra;   /* [n], added to each value; FW_BLOCK floats after them are readable; NULL: 0 */
  const uint8_t *ahead; /* codes and extras that are scanned next: prefetched, never read by a kernel */
  const float *extra_ahead;
} fw_code_list;

/* One block of a list, and what is scanned soon: the following blocks, or the next list. */
typedef struct fw_code_block {
  const uint8_t *codes;
  const float *extra;
  size_t width;
  const uint8_t *ahead;
  const float *extra_ahead;
} fw_code_block;

/* Returns an address to prefetch. It is computed as a number: `from` may be NULL, and the address need not be valid. */
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

/* Look-up tables of one query: what the parts of a code add to a distance. Smaller is better.
 *
 * bytes are the numbers of `values`, rounded down: low + step * (sum of the bytes of a code) is not above the sum of
 * its values, except for rounding errors, which stay below `slack` in the whole comparison (fw_lut_slack). */
typedef struct fw_lut {
  size_t m, ksub, width; /* width: ksub rounded up to FW_PACK_WIDTH of kern/products/products.h */
  float *values;         /* [m][width], aligned to 64 bytes */
  uint8_t *bytes;        /* [m][FW_LUT_BYTES], aligned to 64 bytes; undefined beyond ksub */
  uint8_t *wrapped;      /* [m][FW_LUT_BYTES]: values by fw_scan.wrap; NULL: none */
  bool wraps;            /* wrapped is filled */
  float low, step;
  float magnitude; /* sum over m of the largest |value|; infinite if a value is NaN */
  bool nibbles; /* ksub is 16; a byte holds two codes, the first in its lower half. bytes are [m][16] and, if m is odd,
                   16 zeros; the sum of two that share a byte fits a byte */
} fw_lut;

#define FW_LUT_NIBBLES 16 /* bytes of a sub-quantizer in fw_lut.bytes, if fw_lut.nibbles */

/* The bytes of a code in blocks. */
static inline size_t fw_lut_rows(const fw_lut *lut) {
  return lut->nibbles ? (lut->m + 1) / 2 : lut->m;
}

/* An upper bound of all rounding errors together in: the sum of the values of a code, plus extra, plus base; the
 * same computed from bytes; and a limit that was made by subtracting base from a distance. Each of these has fewer
 * than 2 m + 30 roundings of numbers that are at most magnitude + |extra| + |base|; a rounding has an error of 2^-24
 * of its number, here 2^-23. */
static inline float fw_lut_slack(const fw_lut *lut, float base, float extra) {
  float most = lut->magnitude + (base < 0 ? -base : base) + (extra < 0 ? -extra : extra);
  return most * (float)(2 * lut->m + 32) * 0x1p-23F;
}

/* The rows of a table of groups of m sub-quantizers: a multiple of FW_GROUP_ROWS. */
static inline size_t fw_group_rows(size_t m) {
  return (m + FW_GROUP_ROWS - 1) / FW_GROUP_ROWS * FW_GROUP_ROWS;
}

typedef struct fw_scan {
  bool nibbles; /* quantise, sift and bounds support fw_lut.nibbles */
  /* fw_lut_sum of all vectors of a block, if fw_lut.nibbles; NULL: it would not be faster. */
  void (*sum_block)(const fw_lut *lut, const uint8_t *block, size_t width, float out[FW_BLOCK]);

  /* Packs a block of `width` vectors from `count` consecutive codes of m bytes each; 0 beyond them. */
  void (*pack)(const uint8_t *rows, size_t m, size_t count, uint8_t *block, size_t width);

  /* Replaces the codes of a block of m rows by numbers[256 * row + code]. */
  void (*renumber)(const uint8_t *numbers, size_t m, uint8_t *block, size_t width);

  /* Fills bytes, low, step and magnitude from values. */
  void (*quantise)(fw_lut *lut);

  /* Scans a list from block *next on for vectors whose value is not certainly above `limit`. Stops at the first
   * blocks that have any: these blocks start at the returned one and end before *next, and masks has their bits, a
   * word for each block. When there are none left, both are the number of blocks. */
  size_t (*sift)(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                 uint64_t masks[FW_BLOCK_GROUP]);

  /* The same, but faster and less precise: vectors up to 2 m steps above the limit may pass, where `sift` lets m steps
   * pass. NULL: not available. */
  size_t (*sift_quickly)(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                         uint64_t masks[FW_BLOCK_GROUP]);

  /* The negative bounds of the first `blocks` blocks of a list, all of FW_BLOCK vectors: values are not below
   * -out[i], except for rounding, and not above it by more than m * step. */
  void (*bounds)(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out);

  /* Groups of codes, for sub-quantizers of 256: a first pass over a list, cheaper than sift and less precise. A
   * level without it has NULL for group_code. The sum of the group bytes of a vector is at least FW_GROUP_ROWS *
   * (sum - fw_group_rows(m) / FW_GROUP_ROWS), where `sum` is what sift_groups compares.
   *
   * group_code returns the code of a centroid, given its position in an order in which similar centroids are
   * neighbours. */
  uint8_t (*group_code)(uint8_t position);
  uint32_t group_most; /* average number of vectors per block above which sift is faster than a sum for each */
  /* out[i] = the lowest byte of floor(values[i] * scale), an integer of 31 bits; n is a multiple of 64. */
  void (*wrap)(const float *values, size_t n, float scale, uint8_t *out);
  /* out[i] = |x_i - y_i|^2 of m parts of dsub floats each. */
  void (*part_squares)(const float *x, const float *y, size_t m, size_t dsub, float *out);
  /* The smallest byte of each group: least[fw_group_rows(m)][FW_GROUPS], aligned to 64 bytes. A byte is query[k][j],
   * from [m][FW_LUT_BYTES]; with list, it is the lowest byte of query[k][j] + list[k][j] + offset[k]. */
  void (*group_table)(const uint8_t *query, const uint8_t *list, const uint8_t *offset, size_t m, uint8_t *least);
  /* Like sift: passes vectors whose sum is not above `limit`. The list's `extra` is prefetched, not read. */
  size_t (*sift_groups)(const uint8_t *least, size_t m, const fw_code_list *list, size_t *next, uint32_t limit,
                        uint64_t masks[FW_BLOCK_GROUP]);

  /* out[i] = the sum of the values of each vector, in doubles, for fw_block_padded(n) vectors. Uses only the values
   * of lut. */
  void (*add_up)(const fw_lut *lut, const uint8_t *codes, size_t n, float *out);

  /* out[g] = the largest of values[g], values[g + groups], …; n and groups are multiples of 16, groups <= n. A NaN may
   * be skipped. */
  void (*maxima)(const float *values, size_t n, size_t groups, float *out);
  /* Returns a lower bound of the k-th largest of n values that is close to it: at least k values are not below it,
   * and not many more. n is a multiple of 16. */
  float (*kth_bound)(const float *values, size_t n, size_t k);
  /* Finds the positions of values that are not below `limit`, ascending; returns their number. n is a multiple of
   * 16; positions holds n + 16. */
  size_t (*find_not_below)(const float *values, size_t n, float limit, uint32_t *positions);

  /* out[i] = |x - y_i|^2, <x, y_i> for n rows of d floats, at any address. */
  void (*l2_rows)(const float *x, const void *rows, size_t n, size_t d, float *out);
  void (*ip_rows)(const float *x, const void *rows, size_t n, size_t d, float *out);
  /* out[i] = |x - y|^2, where y is row ids[i], of `stride` bytes of at most 127. stride is a multiple of 64 and at most
   * 2^16; x and the rows are aligned to 64 bytes. The same at every level. */
  void (*l2_bytes)(const uint8_t *x, const uint8_t *rows, size_t stride, const int32_t *ids, size_t n, float *out);
  /* out[i] = low[i] + (codes[i] + 0.5) / 255 * width[i], with each step rounded to a float. The same at every level. */
  void (*decode_bytes)(const uint8_t *codes, const float *low, const float *width, size_t d, float *out);
} fw_scan;

#define FW_BYTES_AHEAD 8 /* rows that l2_bytes prefetches before it reads them */

/* fw_scan.pack, byte by byte. */
static inline void fw_pack_plain(const uint8_t *rows, size_t m, size_t count, uint8_t *block, size_t width) {
  for (size_t k = 0; k < m; k++)
    for (size_t i = 0; i < width; i++) block[k * width + i] = i < count ? rows[i * m + k] : 0;
}

/* fw_scan.sift, a block at a time. sift_block returns the bits of the vectors of a block that pass; bits beyond its
 * width are ignored. It is called in only one place, so that it is inlined. */
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

/* Returns part m of the code whose first byte in a block is *code. */
static inline unsigned fw_lut_number(const fw_lut *lut, const uint8_t *code, size_t stride, size_t m) {
  return lut->nibbles ? code[m / 2 * stride] >> 4 * (m % 2) & 15U : code[m * stride];
}

/* Returns the sum of values of vector `i` of a list of n: what a plain scan would add up, in order. */
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

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_scan *fw_scan_table(void);
void fw_scan_fill_generic(fw_scan *scan);
void fw_scan_fill_avx2(fw_scan *scan);
void fw_scan_fill_avx512(fw_scan *scan);
void fw_groups_fill_avx2(fw_scan *scan);
void fw_scan_fill_neon(fw_scan *scan);

#endif
