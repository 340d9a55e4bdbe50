/* base/java_number_in.h: floats from text as Java's Float.parseFloat and Double.parseDouble take them.
 *
 * The whole text is one: blanks and control characters around it (bytes up to ' '), a sign, then NaN, Infinity, a
 * decimal number (5, 5., .5, 5e-3) or a hexadecimal one (0x1.8p3, the exponent must be there), these two with an f, F,
 * d or D behind it if wanted. The result is the nearest float or double, ties to even; too large gives infinity. False,
 * *value untouched: the text is none of these. Bytes outside of it are not read. */
#ifndef FW_BASE_JAVA_NUMBER_IN_H
#define FW_BASE_JAVA_NUMBER_IN_H

#include <stdbool.h>

bool fw_java_read_float(const char *s, const char *end, float *value);
bool fw_java_read_double(const char *s, const char *end, double *value);

#endif
