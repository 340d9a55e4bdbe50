/* cli/core/output.c: standard output, or another file, with a large buffer; numbers as text. */
#include "core/output.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/shown_text.h"

/* ---- Buffer --------------------------------------------------------------------------------------------- */

furrow_status output_open(output *out, furrow_error *err) {
  *out = (output){.data = malloc(OUTPUT_BYTES), .terminal = isatty(STDOUT_FILENO) == 1};
  return out->data ? FURROW_OK : fail_memory(err);
}

void output_close(output *out) {
  free(out->data);
  *out = (output){0};
}

static void write_stdout(void *to, const char *bytes, size_t size) {
  output *out = to;
  for (size_t done = 0; done < size && !out->errnum;) {
    ssize_t n = write(STDOUT_FILENO, bytes + done, size - done);
    if (n >= 0)
      done += (size_t)n;
    else if (errno != EINTR || interrupt_came())
      out->errnum = errno;
  }
}

static void write_all(output *out) {
  if (out->file) {
    if (!out->errnum && fwrite(out->data, 1, out->used, out->file) != out->used) out->errnum = errno;
  } else if (out->terminal) { /* also data, which output_bytes takes as it is */
    shown_pieces(out->data, out->used, write_stdout, out);
  } else {
    write_stdout(out, out->data, out->used);
  }
  out->used = 0;
}

char *output_reserve(output *out, size_t size) {
  if (size > OUTPUT_BYTES - out->used) write_all(out);
  return out->data + out->used;
}

void output_bytes(output *out, const char *bytes, size_t size) {
  while (size > 0) {
    size_t n = size < OUTPUT_BYTES ? size : OUTPUT_BYTES;
    memcpy(output_reserve(out, n), bytes, n);
    out->used += n;
    bytes += n;
    size -= n;
  }
}

static void put_bytes(void *out, const char *bytes, size_t size) {
  output_bytes(out, bytes, size);
}

void output_shown(output *out, const char *text, size_t size) {
  shown_pieces(text, size, put_bytes, out);
}

void output_text(output *out, const char *text) {
  output_shown(out, text, strlen(text));
}

void output_data(output *out, const char *text) {
  output_bytes(out, text, strlen(text));
}

void output_format(output *out, const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) output_shown(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void output_decimals(output *out, double value) {
  const bool tiny = value != 0 && fabs(value) < 1e-4;
  output_format(out, tiny ? "%.6g" : "%.6f", value);
}

furrow_status output_flush(output *out, furrow_error *err) {
  write_all(out);
  if (out->errnum == 0) return FURROW_OK;
  if (out->errnum == EPIPE) return FURROW_END;
  return fail(err, FURROW_E_IO, "cannot write to standard output: %s", strerror(out->errnum));
}

bool output_reader_is_gone(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static const char two_digits[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                 "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

static inline unsigned count_digits(uint64_t value) {
  unsigned count = 1;
  for (; value >= 10000; value /= 10000) count += 4;
  return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* Writes the last `width` digits of value, last digit first. */
static inline void put_digits(char *at, uint64_t value, unsigned width) {
  for (; width >= 2; width -= 2, value /= 100) memcpy(at + width - 2, two_digits + 2 * (value % 100), 2);
  if (width) *at = (char)('0' + value % 10);
}

char *put_u64(char *at, uint64_t value) {
  unsigned count = count_digits(value);
  put_digits(at, value, count);
  return at + count;
}

char *put_i64(char *at, int64_t value) {
  if (value >= 0) return put_u64(at, (uint64_t)value);
  *at = '-';
  return put_u64(at + 1, 0 - (uint64_t)value);
}

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* value * 10^(8 - exponent), one rounding; the exponent of a float within -14 … 30 needs an exact power only */
static double nine_digits(double value, int exponent) {
  return exponent <= 8 ? value * powers_of_ten[8 - exponent] : value / powers_of_ten[exponent - 8];
}

/* value = digits 10^(exponent - 8) to nine digits, rounded as printf rounds the exact value; false where doubles cannot
 * decide. The product has an error below 2^-23 (it is under 2^30), so only fractions that close to 1/2 are undecided.
 */
static bool split_digits(double value, uint32_t *digits, int *exponent) {
  int binary = 0;
  frexp(value, &binary);
  int e = (int)floor((binary - 1) * 0.30103); /* log10(2): right or one too low */
  if (e < -14 || e > 29) return false;
  double scaled = nine_digits(value, e);
  if (scaled >= 999999999.0) scaled = nine_digits(value, ++e);
  if (scaled >= 999999999.0 || scaled < 100000000.0) return false;
  uint32_t whole = (uint32_t)scaled;
  double fraction = scaled - whole;
  if (fabs(fraction - 0.5) < 1e-6) return false;
  *digits = whole + (fraction > 0.5);
  *exponent = e;
  return *digits <= 999999999;
}

static char *put_exponent(char *at, int exponent) {
  *at++ = 'e';
  *at++ = exponent < 0 ? '-' : '+';
  memcpy(at, two_digits + 2 * abs(exponent), 2);
  return at + 2;
}

/* Nine digits without trailing zeros, as %g writes them. Numbers without exponent have a fraction here (put_f32 handles
 * integers), and nine digits distinguish all floats, so the fraction never rounds away: count > before. */
static char *put_significant(char *at, uint32_t digits, int exponent) {
  int count = 9;
  for (; digits % 10 == 0; digits /= 10) count--;
  bool plain = exponent >= -4 && exponent < 9;
  int before = plain ? exponent + 1 : 1; /* digits before the point */
  if (before <= 0) {
    memcpy(at, "0.0000", 6);
    put_digits(at + 2 - before, digits, (unsigned)count);
    at += 2 - before + count;
  } else {
    put_digits(at + (count > before), digits, (unsigned)count);
    if (count > before) {
      memmove(at, at + 1, (size_t)before);
      at[before] = '.';
    }
    at += count + (count > before);
  }
  return plain ? at : put_exponent(at, exponent);
}

char *put_f32(char *at, float value) {
  if (isnan(value)) return memcpy(at, "nan", 3), at + 3;
  if (fabsf(value) < 1e9F && value == (float)(int32_t)value && (value != 0 || !signbit(value)))
    return put_i64(at, (int32_t)value);
  uint32_t digits;
  int exponent;
  double size = fabs((double)value);
  if (isfinite(value) && value != 0 && split_digits(size, &digits, &exponent)) {
    if (value < 0) *at++ = '-';
    return put_significant(at, digits, exponent);
  }
  char text[NUMBER_TEXT + 1];
  int n = snprintf(text, sizeof text, "%.9g", (double)value);
  memcpy(at, text, (size_t)n);
  return at + n;
}
