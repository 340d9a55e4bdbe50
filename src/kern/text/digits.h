/* kern/text/digits.h: runs of numbers to text as Java prints them, the same bytes as fw_java_float and
 * fw_java_double.
 *
 * A number takes a long chain of dependent operations, and a processor looks only a limited distance ahead. So
 * numbers are processed in runs: kernels turn all numbers of a run into digits, in short loops, before fw_java_put
 * writes them. */
#ifndef FW_KERN_TEXT_DIGITS_H
#define FW_KERN_TEXT_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/endian.h"
#include "base/java_number.h"
#include "base/shortest.h"

#define FW_JAVA_RUN 32
#define FW_JAVA_ODD (-128) /* `first` is at most this if the number is too large or too small for a kernel */

/* Digits of numbers, without leading zeros: 9 of a float, 17 of a double. */
typedef struct fw_java_run {
  const void *values;
  uint64_t words[2][FW_JAVA_RUN]; /* eight digits each, the first one lowest; the ninth of a float is in `last` */
  int64_t first[FW_JAVA_RUN];     /* power of ten of the first digit; 0 for 0 */
  uint8_t last[FW_JAVA_RUN];      /* position of the last digit of a double */
} fw_java_run;

typedef struct fw_digits {
  /* Fills the run with at most FW_JAVA_RUN numbers, which must stay in place. */
  void (*floats)(fw_java_run *run, const float *values, size_t count);
  void (*doubles)(fw_java_run *run, const double *values, size_t count);
} fw_digits;

/* The kernels of this process, and the functions that fill them (kern/dispatch.h). */
const fw_digits *fw_digits_table(void);
void fw_digits_fill_generic(fw_digits *digits);
void fw_digits_fill_avx2(fw_digits *digits);

/* The layout of digits that begin at some power of ten: the first word is (word & kept) | (word << shift & moved) |
 * fill, the whole of it is moved by `at` bytes, and at least `least` digits are shown. */
typedef struct fw_java_layout {
  uint64_t kept, moved, fill;
  uint8_t shift, at, least, power_length;
  char power[4]; /* "E-7" */
} fw_java_layout;

extern const fw_java_layout fw_java_layouts[23]; /* from 10^-7 on */

/* For eight digits in the bytes of a word and one more: the position of the last one that is not 0, or 0. Digits
 * take the lower half of a byte, so shifting them down by half a byte makes space for the ninth. */
static FW_ALWAYS_INLINE int fw_last_place(uint64_t word, uint64_t next) {
  return ((63 ^ __builtin_clzll(word >> 4 | next << 60 | 1)) + 4) >> 3;
}

/* The number of digits of number i without trailing zeros. */
static FW_ALWAYS_INLINE int fw_java_count(const fw_java_run *run, size_t i, bool wide) {
  const uint64_t high = run->words[0][i], low = run->words[1][i], last = wide ? run->last[i] : 0;
  if (!wide) return 1 + fw_last_place(high, low);
  const int few = 1 + fw_last_place(high, 0), many = 9 + fw_last_place(low, last);
  return few + ((many - few) & -(int)((low | last) != 0));
}

/* Writes number i and may overwrite FW_JAVA_TEXT + 8 bytes; returns the end of the number. */
static FW_ALWAYS_INLINE char *fw_java_put(char *out, const fw_java_run *run, size_t i, bool wide) {
  const double *doubles = run->values;
  const float *floats = run->values;
  if (__builtin_expect(run->first[i] <= FW_JAVA_ODD, 0))
    return out + (wide ? fw_java_double(out, doubles[i]) : fw_java_float(out, floats[i]));
  const fw_java_layout *layout = &fw_java_layouts[run->first[i] + 7];
  const uint64_t word = run->words[0][i] | FW_ZEROS;
  const int count = fw_java_count(run, i, wide);
  *out = '-';
  out += wide ? __builtin_signbit(doubles[i]) != 0 : __builtin_signbit(floats[i]) != 0;
  fw_put_le64(out + layout->at, word);
  fw_put_le64(out + layout->at + 8, run->words[1][i] | FW_ZEROS);
  if (wide) fw_put_le64(out + layout->at + 16, FW_ZEROS + run->last[i]);
  fw_put_le64(out, (word & layout->kept) | (word << layout->shift & layout->moved) | layout->fill);
  out += layout->at + (count > layout->least ? count : layout->least);
  memcpy(out, layout->power, sizeof layout->power);
  return out + layout->power_length;
}

#endif
