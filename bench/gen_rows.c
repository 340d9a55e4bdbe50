/* bench/gen_rows.c: makes sample files of one kind and size; the same arguments give the same bytes.
 *
 *   gen_rows KIND BYTES [SEED] > file
 *
 * Whole rows are written until BYTES are reached, so a file is a little longer than asked for. Numbers are put
 * together from random digits, without printf, to make more than 200 MB a second.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/splitmix.h"

enum { NUMERIC = 13, FIELDS = 39, MAX_ROW = 8192, BUFFER = 1 << 20 };

/* The fields of a click log as Criteo's: 13 counts, cut into 63 buckets each, and 26 categories, whose numbers of
 * values are 2^bits - 1. Together they have 3.9 million. */
static const uint8_t field_bits[FIELDS] = {6, 6, 6,  6,  6,  6,  6, 6,  6,  6, 6,  6,  6, 10, 9, 20, 18, 8, 4, 13,
                                           9, 1, 16, 12, 20, 11, 4, 13, 19, 3, 12, 11, 2, 19, 4, 3,  18, 6, 17};

/* In [0, 2^bits - 1), P(x) about 1 / (x + 1): every power of two is as likely as the next. */
static uint32_t power_law(uint64_t *rng, uint32_t bits) {
  uint32_t low = 1U << below(rng, bits);
  return low - 1 + ((uint32_t)fw_splitmix64(rng) & (low - 1));
}

/* ---- Digits --------------------------------------------------------------------------------------------- */

static char *put_text(char *out, const char *text) {
  size_t length = strlen(text);
  memcpy(out, text, length);
  return out + length;
}

/* `digits` digits, with zeros in front */
static char *put_digits(char *out, uint64_t v, uint32_t digits) {
  for (uint32_t i = digits; i > 0; i--, v /= 10) out[i - 1] = (char)('0' + v % 10);
  return out + digits;
}

static char *put_uint(char *out, uint64_t v) {
  uint32_t digits = 1;
  for (uint64_t rest = v; rest >= 10; rest /= 10) digits++;
  return put_digits(out, v, digits);
}

static char *put_fraction(char *out, uint64_t *rng) {
  return put_digits(put_text(out, "0."), below(rng, 1000000), 6);
}

/* As %.6f, in (-100, 100) */
static char *put_f6(char *out, uint64_t *rng) {
  uint64_t bits = fw_splitmix64(rng);
  if (bits & 1) *out++ = '-';
  out = put_uint(out, (bits >> 1) % 100);
  *out++ = '.';
  return put_digits(out, below(rng, 1000000), 6);
}

/* As %.6g prints mantissa * 10^(exponent - 5); mantissa has six digits. */
static char *put_g6(char *out, uint32_t mantissa, int exponent) {
  char digits[6];
  int count = 6;
  put_digits(digits, mantissa, 6);
  while (count > 1 && digits[count - 1] == '0') count--;
  bool scientific = exponent < -4 || exponent >= 6;
  int point = scientific ? 1 : exponent + 1; /* digits in front of it */
  if (point <= 0) out = put_text(out, "0.");
  for (int i = point; i < 0; i++) *out++ = '0';
  for (int i = 0; i < count || i < point; i++) {
    if (i == point && i > 0) *out++ = '.';
    *out++ = i < count ? digits[i] : '0';
  }
  if (!scientific) return out;
  out = put_text(out, exponent < 0 ? "e-" : "e+");
  return put_digits(out, (uint64_t)abs(exponent), 2);
}

/* As %.6g, one in four negative; one in sixteen far from 1, so that it may have an exponent */
static char *put_real(char *out, uint64_t *rng) {
  uint64_t bits = fw_splitmix64(rng);
  bool far = (bits & 15) == 0;
  if ((bits >> 4) % 4 == 0) *out++ = '-';
  int exponent = far ? (int)below(rng, 17) - 8 : (int)below(rng, 6) - 3;
  return put_g6(out, 100000 + below(rng, 900000), exponent);
}

/* As %.18e, for 0 and 0.001 <= |x| < 10: the 19 digits of m * 2^-shift * 10^(18 + down), rounded to even. No float
 * of 24 bits is so close below a power of ten that rounding would add a digit. */
static char *put_e18(char *out, float x) {
  if (x == 0) return put_text(out, "0.000000000000000000e+00");
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (bits >> 31) *out++ = '-';
  bits &= 0x7fffffff;
  memcpy(&x, &bits, sizeof x);
  uint32_t shift = 150 - (bits >> 23);
  uint32_t down = x >= 1 ? 0 : x >= 0.1F ? 1 : x >= 0.01F ? 2 : 3;
  unsigned __int128 scaled = (bits & 0x7fffff) | 0x800000;
  scaled *= 1000000000000000000;
  for (uint32_t i = 0; i < down; i++) scaled *= 10;
  uint64_t digits = (uint64_t)(scaled >> shift);
  uint64_t rest = (uint64_t)scaled & ((1ULL << shift) - 1), half = 1ULL << (shift - 1);
  digits += rest > half || (rest == half && (digits & 1));
  out[0] = (char)('0' + digits / 1000000000000000000);
  out[1] = '.';
  out = put_digits(out + 2, digits % 1000000000000000000, 18);
  out = put_text(out, down ? "e-0" : "e+0");
  return put_digits(out, down, 1);
}

/* ---- Rows ----------------------------------------------------------------------------------------------- */

static char *put_click(char *out, uint64_t *rng) {
  *out++ = below(rng, 4) == 0 ? '1' : '0';
  return out;
}

static char *ctr_row(char *out, uint64_t *rng) {
  out = put_click(out, rng);
  uint32_t first = 1; /* index of the field's first value */
  for (uint32_t f = 0; f < FIELDS; first += 1U << field_bits[f++]) {
    *out++ = ' ';
    out = put_text(put_uint(out, first + power_law(rng, field_bits[f])), ":1");
  }
  return out;
}

static char *implicit_row(char *out, uint64_t *rng) {
  out = put_click(out, rng);
  uint32_t first = 1;
  for (uint32_t f = 0; f < FIELDS; first += 1U << field_bits[f++]) {
    *out++ = ' ';
    out = put_uint(out, first + power_law(rng, field_bits[f]));
  }
  return out;
}

/* Ids are hashes of (field, value), 19 or 20 digits long. */
static char *u64_row(char *out, uint64_t *rng) {
  out = put_click(out, rng);
  for (uint64_t f = 0; f < FIELDS; f++) {
    uint64_t key = f << 32 | power_law(rng, field_bits[f]);
    *out++ = ' ';
    out = put_text(put_uint(out, fw_splitmix64(&key) | 1ULL << 60), ":1");
  }
  return out;
}

/* A numeric field has one index and its value, a category one index per value and 1. */
static char *ffm_row(char *out, uint64_t *rng) {
  out = put_click(out, rng);
  uint32_t first = 0;
  for (uint32_t f = 0; f < FIELDS; f++) {
    bool numeric = f < NUMERIC;
    *out++ = ' ';
    out = put_uint(out, f);
    *out++ = ':';
    out = put_uint(out, numeric ? first : first + power_law(rng, field_bits[f]));
    *out++ = ':';
    out = numeric ? put_fraction(out, rng) : put_text(out, "1");
    first += numeric ? 1 : 1U << field_bits[f];
  }
  return out;
}

static char *real_row(char *out, uint64_t *rng) {
  out = put_text(out, below(rng, 2) ? "1" : "-1");
  uint32_t count = 20 + below(rng, 41), index = 0;
  for (uint32_t i = 0; i < count; i++) {
    index += 1 + power_law(rng, 12);
    *out++ = ' ';
    out = put_uint(out, index);
    *out++ = ':';
    out = below(rng, 2) ? put_fraction(out, rng) : put_real(out, rng);
  }
  return out;
}

static char *csv_row(char *out, uint64_t *rng) {
  out = put_click(out, rng);
  for (uint32_t column = 1; column < 30; column++) {
    *out++ = ',';
    out = column % 2 ? put_f6(out, rng) : put_real(out, rng);
  }
  return out;
}

/* As the HIGGS file: floats written as %.18e; every fourth column from the ninth has three levels, the rest is
 * bell-shaped around 0 or skewed and positive. */
static float higgs_value(uint64_t *rng, uint32_t column) {
  static const float level[] = {0, 1.0865380764F, 2.1730761528F};
  if (column >= 9 && column <= 21 && column % 4 == 1) return level[below(rng, 3)];
  uint64_t bits = fw_splitmix64(rng);
  float a = (float)(bits >> 48) / 65536, b = (float)(bits >> 32 & 0xffff) / 65536, c = (float)(bits & 0xffff) / 65536;
  float x = column % 4 == 1 || column > 21 ? 0.3F + a * b * 3 + c / 8 : (a + b + c - 1.5F) * 1.3F;
  return x > -0.001F && x < 0.001F ? 0.001953125F : x;
}

static char *higgs_row(char *out, uint64_t *rng) {
  out = put_e18(out, below(rng, 2) ? 1 : 0);
  for (uint32_t column = 1; column <= 28; column++) {
    *out++ = ',';
    out = put_e18(out, higgs_value(rng, column));
  }
  return out;
}

/* ---- Main ----------------------------------------------------------------------------------------------- */

static const struct kind {
  const char *name, *help;
  char *(*put_row)(char *out, uint64_t *rng);
} kinds[] = {
    {"ctr", "libsvm: 39 one-hot features of a click log, index:1", ctr_row},
    {"real", "libsvm: 20 to 60 features with real values", real_row},
    {"ffm", "libffm: 39 fields, 13 of them numeric", ffm_row},
    {"csv", "csv: label and 29 numbers as %.6f and %.6g", csv_row},
    {"higgs", "csv: label and 28 floats as %.18e", higgs_row},
    {"u64", "libsvm: 39 features with 64-bit hashes as indices", u64_row},
    {"implicit", "libsvm: 39 features without values", implicit_row},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static int usage(void) {
  fputs("usage: gen_rows KIND BYTES [SEED] > file\n", stderr);
  for (size_t i = 0; i < KINDS; i++) fprintf(stderr, "  %-9s %s\n", kinds[i].name, kinds[i].help);
  return 2;
}

static bool read_number(const char *text, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(text, &end, 10);
  return errno == 0 && end != text && *end == '\0';
}

static bool write_rows(const struct kind *kind, uint64_t bytes, uint64_t rng) {
  static char buffer[BUFFER + MAX_ROW];
  char *out = buffer;
  for (uint64_t written = 0; written < bytes;) {
    char *row = out;
    out = kind->put_row(out, &rng);
    *out++ = '\n';
    written += (uint64_t)(out - row);
    if (out - buffer < BUFFER && written < bytes) continue;
    if (fwrite(buffer, 1, (size_t)(out - buffer), stdout) != (size_t)(out - buffer)) return false;
    out = buffer;
  }
  return fflush(stdout) == 0;
}

int main(int argc, char **argv) {
  uint64_t bytes, seed = 1;
  const struct kind *kind = NULL;
  if (argc < 3 || argc > 4 || !read_number(argv[2], &bytes)) return usage();
  if (argc == 4 && !read_number(argv[3], &seed)) return usage();
  for (size_t i = 0; i < KINDS; i++) {
    if (strcmp(kinds[i].name, argv[1]) == 0) kind = &kinds[i];
  }
  if (kind == NULL) return usage();
  if (!write_rows(kind, bytes, seed)) {
    perror("gen_rows: stdout");
    return 4;
  }
  return 0;
}
