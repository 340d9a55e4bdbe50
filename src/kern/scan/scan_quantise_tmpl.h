/* kern/scan/scan_quantise_tmpl.h: quantise of kern/scan/scan.h, built from two functions of the including file. */

typedef struct span {
  float low, high;
  bool whole; /* none of them is NaN */
} span;

static span measure(const float *numbers, size_t ksub);
/* bytes[j] = (numbers[j] - low) * to_byte, at most `most`, truncated to an integer; undefined from ksub to width. */
static void to_bytes(const float *numbers, size_t ksub, float low, float to_byte, float most, uint8_t *bytes);

/* The widest table (or two that share a byte) determines the step; the sum of m bytes must fit 16 bits. */
static float largest_byte(size_t m) {
  return m <= 257 ? 255 : (float)(65535 / m);
}

static void quantise(fw_lut *lut) {
  enum { FEW = 64 };
  float lows[FEW];
  float widest = 0, before = 0;
  const float most = largest_byte(lut->m);
  const size_t stride = lut->nibbles ? FW_LUT_NIBBLES : FW_LUT_BYTES;
  lut->low = 0;
  lut->magnitude = 0;
  for (size_t m = 0; m < lut->m; m++) {
    const span s = measure(lut->values + m * lut->width, lut->ksub);
    if (m < FEW) lows[m] = s.low;
    lut->low += s.low;
    lut->magnitude += s.whole ? fmaxf(fabsf(s.low), fabsf(s.high)) : INFINITY;
    const float width = s.high - s.low;
    widest = fmaxf(widest, lut->nibbles && m % 2 ? before + width : width);
    before = width;
  }
  float to_byte = most / widest;
  lut->step = widest / most;
  if (!isfinite(to_byte) || !isfinite(lut->step) || lut->m > 65535) to_byte = lut->step = 0;
  for (size_t m = 0; m < lut->m; m++) {
    const float *numbers = lut->values + m * lut->width;
    const float low = m < FEW ? lows[m] : measure(numbers, lut->ksub).low;
    to_bytes(numbers, lut->ksub, low, to_byte, most, lut->bytes + m * stride);
  }
  if (lut->nibbles && lut->m % 2) memset(lut->bytes + lut->m * FW_LUT_NIBBLES, 0, FW_LUT_NIBBLES);
}
