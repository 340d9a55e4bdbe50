/* kern/kern_neon.c: kernels for AArch64. */
#include <arm_neon.h>

#include "kern/kern.h"

/* Line ends are where CR is, and where LF is without a CR before it. */
static size_t count_lines(const char *text, size_t n) {
  size_t lines = 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const uint8x16_t bytes = vld1q_u8((const uint8_t *)text + i);
    const uint8x16_t cr = vceqq_u8(bytes, vdupq_n_u8('\r'));
    const uint8x16_t lf = vceqq_u8(bytes, vdupq_n_u8('\n'));
    const uint8x16_t after_cr = vextq_u8(vdupq_n_u8(i > 0 && text[i - 1] == '\r' ? 255 : 0), cr, 15);
    lines += vaddvq_u8(vshrq_n_u8(vorrq_u8(cr, vbicq_u8(lf, after_cr)), 7));
  }
  for (; i < n; i++) lines += text[i] == '\r' || (text[i] == '\n' && (i == 0 || text[i - 1] != '\r'));
  return lines;
}

void fw_kern_fill_neon(fw_kern *kern) {
  kern->count_lines = count_lines;
}
