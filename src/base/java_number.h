/* base/java_number.h: numbers as Java prints and parses them, for reading and reproducing files that Java programs
 * wrote. */
#ifndef FW_BASE_JAVA_NUMBER_H
#define FW_BASE_JAVA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* ---- To text: the same bytes as JDK 8 … 18. Same contract as base/number_out.h (java_number_out.c) ---- */

#define FW_JAVA_TEXT 32           /* Float.toString, Double.toString */
#define FW_JAVA_DECIMAL6_TEXT 328 /* DecimalFormat("#.######") prints all digits of 1e308 */

size_t fw_java_float(char *out, float value);
size_t fw_java_double(char *out, double value);
/* The same without shortcuts, step by step as Java does it: the reference for tests of the two functions above. */
size_t fw_java_float_stepwise(char *out, float value);
size_t fw_java_double_stepwise(char *out, double value);
/* DecimalFormat("#.######"): at most six decimals, never an exponent. Infinity is the byte 0x1e ("-" before it if
 * negative) and NaN "NaN", as JDK 9+ writes them. */
size_t fw_java_decimal6(char *out, double value);

/* ---- From text: as Float.parseFloat and Double.parseDouble parse (java_number_in.c) ---- */

/* Parses the whole text s … end-1 as one number: optional blanks and control characters around it (bytes up to ' '),
 * a sign, then NaN, Infinity, a decimal number (5, 5., .5, 5e-3) or a hexadecimal number (0x1.8p3; the exponent is
 * required). A number may end with f, F, d or D. The result is the nearest float or double, ties to even; a number
 * that is too large gives infinity. Returns false and leaves *value untouched if the text has none of these forms. */
bool fw_java_read_float(const char *s, const char *end, float *value);
bool fw_java_read_double(const char *s, const char *end, double *value);

#endif
