/* kern/scan/scan_generic.c: scanning in plain C. */
#include <math.h>
#include <string.h>

#include "kern/scan/scan.h"

/* ---- The table ------------------------------------------------------------------------------------------ */

#include "kern/scan/scan_quantise_tmpl.h"

static span measure(const float *numbers, size_t ksub) {
  span s = {numbers[0], numbers[0], true};
  for (size_t j = 0; j < ksub; j++) {
    s.low = numbers[j] < s.low ? numbers[j] : s.low;
    s.high = numbers[j] > s.high ? numbers[j] : s.high;
    s.whole = s.whole && !isnan(numbers[j]);
  }
  return s;
}

static void to_bytes(const float *numbers, size_t ksub, float low, float to_byte, float most, uint8_t *bytes) {
  for (size_t j = 0; j < ksub; j++) {
    const float byte = (numbers[j] - low) * to_byte;
    bytes[j] = (uint8_t)(byte < most ? byte : most);
  }
}

/* ---- Codes ---------------------------------------------------------------------------------------------- */

/* Adds up the values themselves: bytes would not be faster here. */
static void add_block(const fw_lut *lut, const uint8_t *codes, const float *extra, size_t width, float sums[FW_BLOCK]) {
  for (size_t i = 0; i < width; i++) sums[i] = extra ? extra[i] : 0;
  for (size_t m = 0; m < lut->m; m++) {
    const float *values = lut->values + m * lut->width;
    const uint8_t *code = codes + m * width;
    for (size_t i = 0; i < width; i++) sums[i] += values[code[i]];
  }
}

static uint64_t sift_block(const fw_lut *lut, const fw_code_block *block, float limit) {
  const size_t width = block->width;
  float sums[FW_BLOCK];
  uint64_t mask = 0;
  add_block(lut, block->codes, block->extra, width, sums);
  for (size_t i = 0; i < width; i++) mask |= (uint64_t) !(sums[i] > limit) << i;
  return mask;
}

static size_t sift(const fw_lut *lut, const fw_code_list *list, size_t *next, float limit,
                   uint64_t masks[FW_BLOCK_GROUP]) {
  return fw_sift_by_blocks(sift_block, lut, list, next, limit, masks);
}

static void renumber(const uint8_t *numbers, size_t m, uint8_t *block, size_t width) {
  for (size_t k = 0; k < m; k++)
    for (size_t i = 0; i < width; i++) block[k * width + i] = numbers[k * FW_LUT_BYTES + block[k * width + i]];
}

static void add_up(const fw_lut *lut, const uint8_t *codes, size_t n, float *out) {
  for (size_t b = 0; b * FW_BLOCK < n; b++) {
    const size_t width = fw_block_width(n, b);
    double sums[FW_BLOCK] = {0};
    for (size_t m = 0; m < lut->m; m++, codes += width)
      for (size_t i = 0; i < width; i++) sums[i] += lut->values[m * lut->width + codes[i]];
    for (size_t i = 0; i < width; i++) out[b * FW_BLOCK + i] = (float)sums[i];
  }
}

static void bounds(const fw_lut *lut, const fw_code_list *list, size_t blocks, float *out) {
  for (size_t b = 0; b < blocks; b++, out += FW_BLOCK) {
    add_block(lut, list->codes + b * FW_BLOCK * lut->m, list->extra ? list->extra + b * FW_BLOCK : NULL, FW_BLOCK, out);
    for (size_t i = 0; i < FW_BLOCK; i++) out[i] = -out[i];
  }
}

/* ---- Scores --------------------------------------------------------------------------------------------- */

static void maxima(const float *values, size_t n, size_t groups, float *out) {
  memcpy(out, values, groups * sizeof *out);
  for (size_t i = groups, g = 0; i < n; i++) {
    out[g] = values[i] > out[g] ? values[i] : out[g];
    if (++g == groups) g = 0;
  }
}

static size_t count_not_below(const float *values, size_t n, float limit) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += values[i] >= limit;
  return count;
}

static void find_range(const float *values, size_t n, float *low, float *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    *low = values[i] > -INFINITY && values[i] < *low ? values[i] : *low;
    *high = values[i] > *high ? values[i] : *high;
  }
}

#include "kern/scan/scan_kth_tmpl.h"

static size_t find_not_below(const float *values, size_t n, float limit, uint32_t *positions) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    positions[count] = (uint32_t)i;
    count += !(values[i] < limit);
  }
  return count;
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

enum { LANES = 8 };

static void read_lanes(float y[LANES], const uint8_t *row, size_t n) {
  memcpy(y, row, n * sizeof *y);
}

static float add_lanes(const float sums[LANES]) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

static void l2_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const uint8_t *row = rows;
  for (size_t i = 0; i < n; i++, row += d * sizeof *x) {
    float sums[LANES] = {0}, y[LANES];
    for (size_t j = 0; j < d; j += LANES) {
      const size_t count = d - j < LANES ? d - j : LANES;
      read_lanes(y, row + j * sizeof *x, count);
      for (size_t lane = 0; lane < count; lane++) sums[lane] += (x[j + lane] - y[lane]) * (x[j + lane] - y[lane]);
    }
    out[i] = add_lanes(sums);
  }
}

static void ip_rows(const float *x, const void *rows, size_t n, size_t d, float *out) {
  const uint8_t *row = rows;
  for (size_t i = 0; i < n; i++, row += d * sizeof *x) {
    float sums[LANES] = {0}, y[LANES];
    for (size_t j = 0; j < d; j += LANES) {
      const size_t count = d - j < LANES ? d - j : LANES;
      read_lanes(y, row + j * sizeof *x, count);
      for (size_t lane = 0; lane < count; lane++) sums[lane] += x[j + lane] * y[lane];
    }
    out[i] = add_lanes(sums);
  }
}

static void l2_bytes(const uint8_t *x, const uint8_t *rows, size_t stride, const int32_t *ids, size_t n, float *out) {
  for (size_t i = 0; i < n; i++) {
    const uint8_t *y = rows + (size_t)ids[i] * stride;
    int32_t sum = 0;
    for (size_t j = 0; j < stride; j++) sum += (x[j] - y[j]) * (x[j] - y[j]);
    out[i] = (float)sum;
  }
}

static void decode_bytes(const uint8_t *codes, const float *low, const float *width, size_t d, float *out) {
  for (size_t i = 0; i < d; i++) out[i] = low[i] + ((float)codes[i] + 0.5f) / 255 * width[i];
}

void fw_scan_fill_generic(fw_scan *scan) {
  scan->decode_bytes = decode_bytes;
  scan->l2_bytes = l2_bytes;
  scan->pack = fw_pack_plain;
  scan->renumber = renumber;
  scan->quantise = quantise;
  scan->sift = sift;
  scan->bounds = bounds;
  scan->add_up = add_up;
  scan->maxima = maxima;
  scan->kth_bound = kth_bound;
  scan->find_not_below = find_not_below;
  scan->l2_rows = l2_rows;
  scan->ip_rows = ip_rows;
}
