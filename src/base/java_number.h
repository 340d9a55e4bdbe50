/* base/java_number.h: numbers as Java prints and reads them. Files that Java programs wrote are read and reproduced
 * with these. */
#ifndef FW_BASE_JAVA_NUMBER_H
#define FW_BASE_JAVA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/endian.h"
#include "base/shortest.h"

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

/* ---- Runs of numbers to text: the same bytes as fw_java_float and fw_java_double (java_run.c) ---- */

#define FW_JAVA_RUN 32
#define FW_JAVA_ODD (-128) /* for `first`: fw_java_float and fw_java_double write this one */

typedef struct fw_java_run {
  const void *values;
  uint64_t words[2][FW_JAVA_RUN]; /* the first 16 digits (a float has 9) as text, the first one lowest */
  uint8_t last[FW_JAVA_RUN];      /* the 9th or 17th digit */
  uint8_t count[FW_JAVA_RUN];     /* digits without zeros at the end */
  int8_t first[FW_JAVA_RUN];      /* power of ten of the first digit */
} fw_java_run;

/* At most FW_JAVA_RUN numbers, which stay where they are. */
void fw_java_floats(fw_java_run *run, const float *values, size_t count);
void fw_java_doubles(fw_java_run *run, const double *values, size_t count);

/* How digits are laid out that begin at some power of ten: the first word is (word & kept) | (word << shift & moved) |
 * fill, the whole of it stands `at` places on, and `least` digits are shown. */
typedef struct fw_java_layout {
  uint64_t kept, moved, fill;
  uint8_t shift, at, least;
  char power[8]; /* "E-7" */
  uint8_t power_length;
} fw_java_layout;

extern const fw_java_layout fw_java_layouts[24]; /* from 10^-8 on */

/* Number i of the run; it touches FW_JAVA_TEXT + 8 bytes. Returns the end of the text. */
static FW_ALWAYS_INLINE char *fw_java_put(char *out, const fw_java_run *run, size_t i, bool wide) {
  const double *doubles = run->values;
  const float *floats = run->values;
  if (__builtin_expect(run->first[i] == FW_JAVA_ODD, 0))
    return out + (wide ? fw_java_double(out, doubles[i]) : fw_java_float(out, floats[i]));
  const fw_java_layout *layout = &fw_java_layouts[run->first[i] + 8];
  const uint64_t word = run->words[0][i];
  *out = '-';
  out += wide ? __builtin_signbit(doubles[i]) != 0 : __builtin_signbit(floats[i]) != 0;
  fw_put_le64(out + layout->at, word);
  fw_put_le64(out + layout->at + 8, run->words[1][i]);
  if (wide) fw_put_le64(out + layout->at + 16, FW_ZEROS + run->last[i]);
  fw_put_le64(out, (word & layout->kept) | (word << layout->shift & layout->moved) | layout->fill);
  out += layout->at + (run->count[i] > layout->least ? run->count[i] : layout->least);
  memcpy(out, layout->power, sizeof layout->power);
  return out + layout->power_length;
}

/* ---- From text: as Float.parseFloat and Double.parseDouble read (java_number_in.c) ---- */

/* Reads a number that is the whole text s … end-1: optional blanks and control characters around it (bytes up to ' '),
 * a sign, then NaN, Infinity, a decimal number (5, 5., .5, 5e-3) or a hexadecimal one (0x1.8p3, the exponent is
 * required), each of these two with an optional f, F, d or D behind it. The result is the nearest float or double, ties
 * to even; a number that is too large gives infinity. False, *value untouched: the text is none of these. */
bool fw_java_read_float(const char *s, const char *end, float *value);
bool fw_java_read_double(const char *s, const char *end, double *value);

#endif
