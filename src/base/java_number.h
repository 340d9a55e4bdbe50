/* base/java_number.h: numbers as Java (JDK 8 … 18) prints them, to the byte: files that Java programs wrote are
 * reproduced with these. Same contract as base/number_out.h. */
#ifndef FW_BASE_JAVA_NUMBER_H
#define FW_BASE_JAVA_NUMBER_H

#include <stddef.h>

#define FW_JAVA_TEXT 32           /* Float.toString, Double.toString */
#define FW_JAVA_DECIMAL6_TEXT 328 /* DecimalFormat("#.######") prints 1e308 in full */

size_t fw_java_float(char *out, float value);
size_t fw_java_double(char *out, double value);
/* The same without a shortcut, step by step as Java does it: what the two above are tested against. */
size_t fw_java_float_stepwise(char *out, float value);
size_t fw_java_double_stepwise(char *out, double value);
/* DecimalFormat("#.######"): at most six decimals, never an exponent. Infinity is the byte 0x1e ("-" before it if
 * negative) and NaN "NaN", as JDK 9+ writes them. */
size_t fw_java_decimal6(char *out, double value);

#endif
