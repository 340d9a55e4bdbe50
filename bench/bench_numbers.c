/* bench/bench_numbers.c: are numbers read and written exactly, and how fast?
 *
 *   bench_numbers [--numbers N] [--rounds R] [--json]     speed; N numbers a data set, libc measured in turns with us
 *   bench_numbers --exact N [--threads T] [--seed S]      reads N random and hard texts as strtof and strtod do
 *   bench_numbers --all-floats [--threads T]              writes all 2^32 floats and reads them back
 *   bench_numbers --java N [--threads T] [--seed S]       writes N doubles as Java does, and as many floats (2^31 or
 *                                                         more: all positive ones), by the quick way and step by step
 *   bench_numbers --java-runs [--threads T]               writes all 2^32 floats, and as many doubles, as runs, at
 * every level of instructions, and one by one
 *
 * MB are 10^6 bytes of text; times are the thread's own (CPU), medians of the rounds, and the ratio is the median of
 * theirs. Exits with 1 if anything differs. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/java_number.h"
#include "base/number_in.h"
#include "base/number_out.h"
#include "base/rng.h"
#include "kern/dispatch.h"

enum { MOST_THREADS = 256, MOST_ROUNDS = 101, TEXT = 128 };

typedef struct options {
  uint64_t numbers, rounds, exact, java, threads, seed;
  bool json, all_floats, java_runs;
} options;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- exactness ---- */

/* Texts to read, each from the given random bits; they need not be terminated. */
typedef int text_maker(fw_rng *rng, char *text);

static int random_double(fw_rng *rng, char *text) {
  double x = double_of(fw_rng_below(rng, UINT64_C(0x7ff) << 52));
  return snprintf(text, TEXT, "%.*g", 1 + (int)fw_rng_below(rng, 25), x);
}

static int random_float(fw_rng *rng, char *text) {
  float x = float_of((uint32_t)fw_rng_below(rng, 0x7f800000));
  return snprintf(text, TEXT, "%.*g", 1 + (int)fw_rng_below(rng, 25), (double)x);
}

/* The middle between two floats, exact or cut: as hard as a text can be for fw_read_f32. */
static int middle_of_floats(fw_rng *rng, char *text) {
  uint32_t bits = (uint32_t)fw_rng_below(rng, 0x7f7fffff);
  double middle = ((double)float_of(bits) + (double)float_of(bits + 1)) / 2;
  return snprintf(text, TEXT, "%.*e", 6 + (int)fw_rng_below(rng, 110), middle);
}

/* The same for doubles where long double has the bits for it. */
static int middle_of_doubles(fw_rng *rng, char *text) {
  uint64_t bits = fw_rng_below(rng, (UINT64_C(0x7ff) << 52) - 1);
  long double middle = ((long double)double_of(bits) + (long double)double_of(bits + 1)) / 2;
  return snprintf(text, TEXT, "%.*Le", 15 + (int)fw_rng_below(rng, 100), middle);
}

static int plain_fraction(fw_rng *rng, char *text) {
  uint64_t digits = fw_rng_next(rng) >> fw_rng_below(rng, 64);
  char all[FW_NUMBER_TEXT];
  int n = (int)fw_write_u64(all, digits), whole = (int)fw_rng_below(rng, (uint64_t)n + 1);
  memcpy(text, all, (size_t)whole);
  text[whole] = '.';
  memcpy(text + whole + 1, all + whole, (size_t)(n - whole));
  return n + 1;
}

static int scaled_integer(fw_rng *rng, char *text) {
  int n = (int)fw_write_u64(text, fw_rng_next(rng) >> fw_rng_below(rng, 64));
  text[n++] = 'e';
  return n + (int)fw_write_i64(text + n, (int64_t)fw_rng_below(rng, 120) - 65);
}

/* Up to 60 digits, most of them 0 or most of them 9. */
static int long_runs(fw_rng *rng, char *text) {
  int n = 20 + (int)fw_rng_below(rng, 40), point = (int)fw_rng_below(rng, 30);
  char run = fw_rng_below(rng, 2) ? '0' : '9';
  for (int i = 0; i < n; i++)
    text[i] = i == point ? '.' : fw_rng_below(rng, 8) ? run : (char)('0' + fw_rng_below(rng, 10));
  text[n++] = 'e';
  return n + (int)fw_write_i64(text + n, (int64_t)fw_rng_below(rng, 90) - 60);
}

static text_maker *const makers[] = {random_double,  random_float,   middle_of_floats, middle_of_doubles,
                                     plain_fraction, scaled_integer, long_runs,        plain_fraction};

typedef struct worker {
  pthread_t thread;
  uint64_t first, count, seed; /* texts, or floats from `first` on */
  uint64_t differ;
} worker;

static void report_difference(worker *w, const char *text, double ours, double other) {
  if (w->differ++ < 10) fprintf(stderr, "bench_numbers: %s: %a, not %a\n", text, ours, other);
}

static void check_text(worker *w, const char *text, int n) {
  float f = -1;
  double d = -1, wide = strtod(text, NULL);
  float narrow = strtof(text, NULL);
  bool whole = fw_read_f32(text, text + n, &f) == text + n && fw_read_f64(text, text + n, &d) == text + n;
  if (!whole || memcmp(&f, &narrow, sizeof f) != 0) report_difference(w, text, (double)f, (double)narrow);
  if (!whole || memcmp(&d, &wide, sizeof d) != 0) report_difference(w, text, d, wide);
}

static void *check_texts(void *argument) {
  worker *w = argument;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(w->seed, w->first));
  for (uint64_t i = 0; i < w->count; i++) {
    char text[TEXT + 64];
    int n = makers[i % (sizeof makers / sizeof *makers)](&rng, text);
    if (n >= TEXT) n = TEXT - 1;
    text[n] = 0;
    check_text(w, text, n);
  }
  return NULL;
}

static void *check_floats(void *argument) {
  worker *w = argument;
  for (uint64_t i = w->first; i < w->first + w->count; i++) {
    char text[FW_NUMBER_TEXT + 1];
    float x = float_of((uint32_t)i), back = 0;
    if (isnan(x)) continue;
    size_t n = fw_write_f32(text, x);
    text[n] = 0;
    if (fw_read_f32(text, text + n, &back) != text + n || memcmp(&x, &back, sizeof x) != 0)
      report_difference(w, text, (double)back, (double)x);
    n = fw_write_f32_g9(text, x);
    text[n] = 0;
    if (fw_read_f32(text, text + n, &back) != text + n || memcmp(&x, &back, sizeof x) != 0)
      report_difference(w, text, (double)back, (double)x);
  }
  return NULL;
}

static void compare_texts(worker *w, const char *quick, size_t n, const char *stepwise, size_t m) {
  if (n == m && memcmp(quick, stepwise, n) == 0) return;
  if (w->differ++ < 10) fprintf(stderr, "bench_numbers: %.*s, not %.*s\n", (int)n, quick, (int)m, stepwise);
}

/* Half of them have a short fraction, half are near what people write. */
static double java_double_of(fw_rng *rng) {
  uint64_t bits = fw_rng_below(rng, UINT64_C(0x7ff) << 52);
  if (fw_rng_below(rng, 2)) bits &= ~UINT64_C(0) << fw_rng_below(rng, 52);
  if (fw_rng_below(rng, 2)) bits = (bits & (UINT64_MAX >> 12)) | (1023 - 40 + fw_rng_below(rng, 95)) << 52;
  return double_of(bits);
}

static void *check_java(void *argument) {
  worker *w = argument;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(w->seed, w->first));
  for (uint64_t i = w->first; i < w->first + w->count; i++) {
    char quick[FW_JAVA_TEXT], stepwise[FW_JAVA_TEXT];
    /* an odd factor: each float comes once in 2^31 of them */
    const float x = float_of((uint32_t)(i * UINT64_C(0x5bd1e995)) & 0x7fffffff);
    size_t n = fw_java_float(quick, x);
    compare_texts(w, quick, n, stepwise, fw_java_float_stepwise(stepwise, x));
    const double d = java_double_of(&rng);
    n = fw_java_double(quick, d);
    compare_texts(w, quick, n, stepwise, fw_java_double_stepwise(stepwise, d));
  }
  return NULL;
}

static void check_run(worker *w, const fw_java_run *run, size_t count, bool wide) {
  for (size_t i = 0; i < count; i++) {
    char text[FW_JAVA_TEXT + 8], other[FW_JAVA_TEXT];
    const size_t n = (size_t)(fw_java_put(text, run, i, wide) - text);
    const size_t m = wide ? fw_java_double(other, ((const double *)run->values)[i])
                          : fw_java_float(other, ((const float *)run->values)[i]);
    compare_texts(w, text, n, other, m);
  }
}

/* The same run by the kernels of every level; those that a level shares with the one below it come once. */
static void check_kernels(worker *w, const float *floats, const double *doubles) {
  fw_digits before = {NULL, NULL};
  for (fw_isa isa = 0; isa < FW_ISA_COUNT; isa++) {
    fw_java_run run;
    if (!fw_isa_available(isa)) continue;
    const fw_digits kern = fw_kernels_at(isa).digits;
    if (floats && kern.floats != before.floats) {
      kern.floats(&run, floats, FW_JAVA_RUN);
      check_run(w, &run, FW_JAVA_RUN, false);
    }
    if (doubles && kern.doubles != before.doubles) {
      kern.doubles(&run, doubles, FW_JAVA_RUN);
      check_run(w, &run, FW_JAVA_RUN, true);
    }
    before = kern;
  }
}

static void *check_runs(void *argument) {
  worker *w = argument;
  fw_rng rng;
  fw_rng_init(&rng, fw_rng_hash(w->seed, w->first));
  for (uint64_t i = w->first / FW_JAVA_RUN; i < (w->first + w->count) / FW_JAVA_RUN; i++) {
    float floats[FW_JAVA_RUN];
    double doubles[FW_JAVA_RUN];
    uint64_t signs = fw_rng_next(&rng);
    for (uint32_t k = 0; k < FW_JAVA_RUN; k++, signs >>= 1)
      floats[k] = float_of((uint32_t)(i * FW_JAVA_RUN + k) | (uint32_t)(signs & 1) << 31);
    check_kernels(w, floats, NULL);
    if (i % 16 != 0) continue;
    for (uint32_t k = 0; k < FW_JAVA_RUN; k++, signs >>= 1)
      doubles[k] = signs & 1 ? -java_double_of(&rng) : java_double_of(&rng);
    check_kernels(w, NULL, doubles);
  }
  return NULL;
}

static int check_in_threads(const options *o, const char *what, uint64_t total, void *(*check)(void *)) {
  static worker workers[MOST_THREADS];
  uint64_t differ = 0;
  double start = seconds(CLOCK_MONOTONIC);
  for (uint64_t t = 0; t < o->threads; t++) {
    uint64_t first = total / o->threads * t;
    uint64_t count = t + 1 < o->threads ? total / o->threads : total - first;
    workers[t] = (worker){.first = first, .count = count, .seed = o->seed};
    if (pthread_create(&workers[t].thread, NULL, check, &workers[t]) != 0) abort();
  }
  for (uint64_t t = 0; t < o->threads; t++) {
    pthread_join(workers[t].thread, NULL);
    differ += workers[t].differ;
  }
  const char *form = o->json ? "{\"check\": \"%s\", \"count\": %" PRIu64 ", \"differ\": %" PRIu64
                               ", \"seconds\": %.1f}\n"
                             : "%s: %" PRIu64 " checked, %" PRIu64 " differ, %.1f s\n";
  printf(form, what, total, differ, seconds(CLOCK_MONOTONIC) - start);
  fflush(stdout);
  return differ > 0;
}

/* ---- speed ---- */

/* Numbers and their texts, a line each. */
typedef struct data_set {
  const char *name;
  uint64_t count;
  double *value;
  char *text;
  size_t bytes;
} data_set;

/* Goes over all of a data set; what it returns keeps the work from being optimised away. Writers add up the bytes. */
typedef double pass(const data_set *d);

#define READER(name, type, call)                        \
  static double name(const data_set *d) {               \
    const char *s = d->text, *end = d->text + d->bytes; \
    double sum = 0;                                     \
    while (s < end) {                                   \
      type x = 0;                                       \
      call;                                             \
      sum += (double)x;                                 \
      s++; /* the end of the line */                    \
    }                                                   \
    return sum;                                         \
  }

#define WRITER(name, type, call)                                                       \
  static double name(const data_set *d) {                                              \
    char out[FW_JAVA_DECIMAL6_TEXT];                                                   \
    uint64_t bytes = 0;                                                                \
    for (uint64_t i = 0; i < d->count; i++) {                                          \
      type x = (type)d->value[i];                                                      \
      bytes += (uint64_t)(call);                                                       \
      __asm__ volatile("" : : "r"(out) : "memory"); /* the text is there to be read */ \
    }                                                                                  \
    return (double)bytes;                                                              \
  }

READER(ours_read_f32, float, s = fw_read_f32(s, end, &x))
READER(libc_read_f32, float, char *after; x = strtof(s, &after); s = after)
READER(ours_read_f64, double, s = fw_read_f64(s, end, &x))
READER(libc_read_f64, double, char *after; x = strtod(s, &after); s = after)
READER(ours_read_i64, int64_t, bool over; s = fw_read_i64(s, end, &x, &over))
READER(libc_read_i64, int64_t, char *after; x = strtoll(s, &after, 10); s = after)
WRITER(ours_write_f32, float, fw_write_f32(out, x))
WRITER(ours_write_g9, float, fw_write_f32_g9(out, x))
WRITER(libc_write_g9, float, snprintf(out, sizeof out, "%.9g", (double)x))
WRITER(ours_write_f64, double, fw_write_f64(out, x))
WRITER(ours_write_g17, double, fw_write_f64_g17(out, x))
WRITER(libc_write_g17, double, snprintf(out, sizeof out, "%.17g", x))
WRITER(ours_write_i64, int64_t, fw_write_i64(out, x))
WRITER(libc_write_i64, int64_t, snprintf(out, sizeof out, "%" PRId64, x))
WRITER(java_float, float, fw_java_float(out, x))
WRITER(java_double, double, fw_java_double(out, x))
WRITER(java_decimal6, double, fw_java_decimal6(out, x))
WRITER(libc_write_f6, double, snprintf(out, sizeof out, "%.6f", x))

typedef struct contest {
  const char *name, *peer_name;
  pass *ours, *peer;
  bool reads, integers;
} contest;

static const contest contests[] = {
    {"read f32", "strtof", ours_read_f32, libc_read_f32, true, false},
    {"read f64", "strtod", ours_read_f64, libc_read_f64, true, false},
    {"read i64", "strtoll", ours_read_i64, libc_read_i64, true, true},
    {"write f32", "%.9g", ours_write_f32, libc_write_g9, false, false},
    {"write f32 g9", "%.9g", ours_write_g9, libc_write_g9, false, false},
    {"write f64", "%.17g", ours_write_f64, libc_write_g17, false, false},
    {"write f64 g17", "%.17g", ours_write_g17, libc_write_g17, false, false},
    {"write i64", "%lld", ours_write_i64, libc_write_i64, false, true},
    {"java float", "%.9g", java_float, libc_write_g9, false, false},
    {"java double", "%.17g", java_double, libc_write_g17, false, false},
    {"java decimal6", "%.6f", java_decimal6, libc_write_f6, false, false},
};

/* What data looks like: its name, its numbers and the format of their texts. */
typedef struct data_kind {
  const char *name, *format;
  double (*make)(fw_rng *rng);
  bool integers, for_readers; /* only for these */
} data_kind;

static double make_unit(fw_rng *rng) {
  return fw_rng_double(rng) * 2 - 1;
}
static double make_float(fw_rng *rng) {
  return (double)(float)make_unit(rng);
}
static double make_short(fw_rng *rng) {
  return (double)fw_rng_below(rng, 100000) / 1000;
}
static double make_normal(fw_rng *rng) {
  return fw_rng_normal(rng);
}
static double make_small_integer(fw_rng *rng) {
  return (double)fw_rng_below(rng, UINT64_C(1) << fw_rng_below(rng, 20));
}
static double make_large_integer(fw_rng *rng) {
  return (double)(fw_rng_next(rng) >> 11);
}

static const data_kind kinds[] = {
    {"0.dddddd", "%.6f", make_unit, false, true},
    {"%.6g", "%.6g", make_normal, false, true},
    {"%.9g", "%.9g", make_float, false, false},
    {"%.17g", "%.17g", make_unit, false, false},
    {"%.18e", "%.18e", make_normal, false, false},
    {"dd.ddd", "%g", make_short, false, false},
    {"integers", "%.0f", make_small_integer, true, false},
    {"hashes", "%.0f", make_large_integer, true, false},
};

static data_set make_data(const data_kind *kind, uint64_t count) {
  data_set d = {.name = kind->name, .count = count};
  fw_rng rng;
  fw_rng_init(&rng, 1);
  d.value = malloc((count + 1) * sizeof *d.value);
  d.text = malloc(count * 32 + 64);
  if (d.value == NULL || d.text == NULL) abort();
  for (uint64_t i = 0; i < count; i++) {
    d.value[i] = kind->make(&rng);
    d.bytes += (size_t)snprintf(d.text + d.bytes, 40, kind->format, d.value[i]);
    d.text[d.bytes++] = '\n';
  }
  d.text[d.bytes] = 0;
  return d;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, uint64_t n) {
  qsort(v, n, sizeof *v, compare_doubles);
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static double timed(pass *p, const data_set *d, double *result) {
  double start = seconds(CLOCK_THREAD_CPUTIME_ID);
  *result = p(d);
  return seconds(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void run_contest(const contest *c, const data_set *d, const options *o) {
  double ours[MOST_ROUNDS], peer[MOST_ROUNDS], ratio[MOST_ROUNDS], our_result = 0, peer_result = 0;
  for (uint64_t r = 0; r < o->rounds; r++) {
    ours[r] = timed(c->ours, d, &our_result);
    peer[r] = timed(c->peer, d, &peer_result);
    ratio[r] = peer[r] / ours[r];
  }
  double n = (double)d->count, a = median(ours, o->rounds), b = median(peer, o->rounds), x = median(ratio, o->rounds);
  double our_bytes = c->reads ? (double)d->bytes : our_result, peer_bytes = c->reads ? (double)d->bytes : peer_result;
  const char *form = o->json
                         ? "{\"what\": \"%s\", \"data\": \"%s\", \"mb_per_s\": %.0f, \"ns\": %.1f, \"peer\": \"%s\", "
                           "\"peer_mb_per_s\": %.0f, \"peer_ns\": %.1f, \"ratio\": %.2f}\n"
                         : "%-14s %-9s %6.0f MB/s %6.1f ns   %-8s %6.0f MB/s %6.1f ns  %6.2f\n";
  printf(form, c->name, d->name, our_bytes / a / 1e6, a / n * 1e9, c->peer_name, peer_bytes / b / 1e6, b / n * 1e9, x);
  fflush(stdout);
}

static void measure_speed(const options *o) {
  if (!o->json)
    printf("%-14s %-9s %11s %9s   %-8s %11s %9s  %6s\n", "", "data", "", "a number", "peer", "", "", "ratio");
  for (size_t i = 0; i < sizeof contests / sizeof *contests; i++)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      if ((contests[i].integers && !kinds[k].integers) || (kinds[k].for_readers && !contests[i].reads)) continue;
      data_set d = make_data(&kinds[k], o->numbers);
      run_contest(&contests[i], &d, o);
      free(d.value);
      free(d.text);
    }
}

/* ---- options ---- */

static bool parse_options(int argc, char **argv, options *o) {
  static const struct option names[] = {
      {"numbers", required_argument, NULL, 'n'}, {"rounds", required_argument, NULL, 'r'},
      {"exact", required_argument, NULL, 'e'},   {"threads", required_argument, NULL, 't'},
      {"seed", required_argument, NULL, 's'},    {"json", no_argument, NULL, 'j'},
      {"all-floats", no_argument, NULL, 'a'},    {"java", required_argument, NULL, 'v'},
      {"java-runs", no_argument, NULL, 'u'},     {NULL, 0, NULL, 0}};
  *o = (options){.numbers = 200000, .rounds = 7, .threads = 1, .seed = 1};
  int c;
  while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
    uint64_t *number = c == 'n'   ? &o->numbers
                       : c == 'r' ? &o->rounds
                       : c == 'e' ? &o->exact
                       : c == 't' ? &o->threads
                       : c == 's' ? &o->seed
                       : c == 'v' ? &o->java
                                  : NULL;
    if (c == '?') return false;
    if (c == 'j') o->json = true;
    if (c == 'a') o->all_floats = true;
    if (c == 'u') o->java_runs = true;
    if (number != NULL) *number = strtoull(optarg, NULL, 10);
  }
  return o->numbers > 0 && o->rounds > 0 && o->rounds <= MOST_ROUNDS && o->threads > 0 && o->threads <= MOST_THREADS;
}

int main(int argc, char **argv) {
  options o;
  if (!parse_options(argc, argv, &o)) {
    fprintf(stderr, "usage: bench_numbers [--numbers N] [--rounds R] [--exact N] [--all-floats] [--java N] "
                    "[--java-runs] [--threads T] [--seed S] [--json]\n");
    return 2;
  }
  if (o.exact > 0) return check_in_threads(&o, "texts read", o.exact, check_texts);
  if (o.java > 0) return check_in_threads(&o, "java texts", o.java, check_java);
  if (o.java_runs) return check_in_threads(&o, "java runs", UINT64_C(1) << 31, check_runs);
  if (o.all_floats) return check_in_threads(&o, "floats written", UINT64_C(1) << 32, check_floats);
  int failed = check_in_threads(&o, "texts read", 1000000, check_texts);
  measure_speed(&o);
  return failed;
}
