/* base/number_out.h: numbers to text. Each function writes at most FW_NUMBER_TEXT bytes to `out`, without a
 * terminating 0, and returns their count. No locale. */
#ifndef FW_BASE_NUMBER_OUT_H
#define FW_BASE_NUMBER_OUT_H

#include <stddef.h>
#include <stdint.h>

#define FW_NUMBER_TEXT 32

size_t fw_write_u64(char *out, uint64_t value);
size_t fw_write_i64(char *out, int64_t value);

/* Writes the shortest digits that read back to the same bits; among several, the nearest to the value. Plain for
 * 1e-5 <= |x| < 1e16, else d.ddde-07, 1e+20 … as C's %g writes exponents; 0, -0, nan, inf, -inf. An integer has no
 * point. */
size_t fw_write_f32(char *out, float value);
size_t fw_write_f64(char *out, double value);

/* Writes exactly what printf writes for %.9g and %.17g, except that any NaN is "nan". */
size_t fw_write_f32_g9(char *out, float value);
size_t fw_write_f64_g17(char *out, double value);

#endif
