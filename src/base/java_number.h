/* base/java_number.h: numbers as Java prints and reads them. Files that Java programs wrote are read and reproduced
 * with these. */
#ifndef FW_BASE_JAVA_NUMBER_H
#define FW_BASE_JAVA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* ---- To text: as JDK 8 … 18 print, to the byte. Same contract as base/number_out.h (java_number_out.c) ---- */

#define FW_JAVA_TEXT 32           /* Float.toString, Double.toString */
#define FW_JAVA_DECIMAL6_TEXT 328 /* DecimalFormat("#.######") prints 1e308 in full */

size_t fw_java_float(char *out, float value);
size_t fw_java_double(char *out, double value);
/* The same without a shortcut, step by step as Java does it: the reference that tests compare the two above with. */
size_t fw_java_float_stepwise(char *out, float value);
size_t fw_java_double_stepwise(char *out, double value);
/* DecimalFormat("#.######"): at most six decimals, never an exponent. Infinity is the byte 0x1e ("-" before it if
 * negative) and NaN "NaN", as JDK 9+ writes them. */
size_t fw_java_decimal6(char *out, double value);

/* ---- From text: as Float.parseFloat and Double.parseDouble read (java_number_in.c) ---- */

/* Reads a number that is the whole text s … end-1: optional blanks and control characters around it (bytes up to ' '),
 * a sign, then NaN, Infinity, a decimal number (5, 5., .5, 5e-3) or a hexadecimal one (0x1.8p3, the exponent is
 * required), each of these two with an optional f, F, d or D behind it. The result is the nearest float or double, ties
 * to even; a number that is too large gives infinity. False, *value untouched: the text is none of these. */
bool fw_java_read_float(const char *s, const char *end, float *value);
bool fw_java_read_double(const char *s, const char *end, double *value);

#endif
