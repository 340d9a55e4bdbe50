/* rows/encode/number_stats.c: moments from exact sums, quantiles from a sample. */
#include "rows/encode/learn_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void fw_number_stats_clear(fw_number_stats *stats) {
  fw_free(stats->sums);
  fw_free(stats->sample);
  memset(stats, 0, sizeof *stats);
}

/* ---- The sample ---- */

/* The finalizer of splitmix64. */
uint64_t fw_hash_place(uint64_t piece, uint64_t record) {
  uint64_t x = (piece << 32) + record + 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/* Moves element `at` of the heap down to where it belongs. */
static void sift_down(fw_sampled_number *heap, size_t count, size_t at) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && heap[child + 1].hash > heap[child].hash) child++;
    if (heap[at].hash >= heap[child].hash) return;
    const fw_sampled_number larger = heap[child];
    heap[child] = heap[at];
    heap[at] = larger;
  }
}

static void sift_up(fw_sampled_number *heap, size_t at) {
  for (size_t parent; at > 0 && heap[parent = (at - 1) / 2].hash < heap[at].hash; at = parent) {
    const fw_sampled_number larger = heap[at];
    heap[at] = heap[parent];
    heap[parent] = larger;
  }
}

static furrow_status add_sample(fw_number_stats *stats, fw_sampled_number number, furrow_error *err) {
  if (stats->sampled == FW_SAMPLE_NUMBERS) {
    if (number.hash >= stats->sample[0].hash) return FURROW_OK;
    stats->sample[0] = number;
    sift_down(stats->sample, stats->sampled, 0);
    return FURROW_OK;
  }
  if (stats->sampled == stats->sample_capacity) {
    const size_t capacity = stats->sample_capacity ? 2 * stats->sample_capacity : 4;
    FW_TRY(FW_REALLOC(&stats->sample, capacity, err));
    stats->sample_capacity = capacity;
  }
  stats->sample[stats->sampled] = number;
  sift_up(stats->sample, stats->sampled++);
  return FURROW_OK;
}

/* ---- Exact sums ----------------------------------------------------------------------------------------- */

enum { LOWEST_BIT = -1088, DIGIT = 32, MOST_ADDED = 1 << 30 };

/* Moves what a digit has above its 32 bits to the next one; the last one keeps the sign. */
static void carry_over(fw_exact_sum *sum) {
  for (size_t i = 0; i + 1 < FW_SUM_DIGITS; i++) {
    const int64_t digit = sum->digits[i] & 0xffffffff;
    sum->digits[i + 1] += (sum->digits[i] - digit) / ((int64_t)1 << DIGIT);
    sum->digits[i] = digit;
  }
  sum->added = 0;
}

static void add_exactly(fw_exact_sum *sum, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  const unsigned exponent = bits >> 52 & 0x7ff; /* the number is its mantissa times 2^(exponent - 1075) */
  const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  const uint64_t mantissa = exponent ? fraction | (uint64_t)1 << 52 : fraction;
  const unsigned position = (exponent ? exponent : 1) - 1075 - LOWEST_BIT;
  unsigned __int128 shifted = (unsigned __int128)mantissa << position % DIGIT;
  for (size_t i = position / DIGIT; shifted > 0; i++, shifted >>= DIGIT) {
    const int64_t digit = (int64_t)(shifted & 0xffffffff);
    sum->digits[i] += bits >> 63 ? -digit : digit;
  }
  if (++sum->added == MOST_ADDED) carry_over(sum);
}

static void merge_sums(fw_exact_sum *into, const fw_exact_sum *other) {
  fw_exact_sum more = *other;
  carry_over(&more);
  carry_over(into);
  for (size_t i = 0; i < FW_SUM_DIGITS; i++) into->digits[i] += more.digits[i];
  carry_over(into);
}

/* A number as the sum of two doubles, the second one below the precision of the first: 106 bits. */
typedef struct two_doubles {
  double high, low;
} two_doubles;

static two_doubles join_doubles(double a, double b) {
  const double sum = a + b, of_b = sum - a;
  return (two_doubles){sum, (a - (sum - of_b)) + (b - of_b)};
}

static two_doubles add_doubles(two_doubles a, two_doubles b) {
  const two_doubles high = join_doubles(a.high, b.high);
  return join_doubles(high.high, high.low + a.low + b.low);
}

static two_doubles multiply_doubles(two_doubles a, two_doubles b) {
  const double product = a.high * b.high;
  return join_doubles(product, fma(a.high, b.high, -product) + a.high * b.low + a.low * b.high);
}

static two_doubles divide_doubles(two_doubles a, double n) {
  const double quotient = a.high / n;
  return join_doubles(quotient, (fma(-quotient, n, a.high) + a.low) / n);
}

static two_doubles value_of(const fw_exact_sum *sum) {
  fw_exact_sum canonical = *sum;
  two_doubles value = {0, 0};
  carry_over(&canonical);
  const bool negative = canonical.digits[FW_SUM_DIGITS - 1] < 0;
  for (size_t i = 0; i < FW_SUM_DIGITS && negative; i++) canonical.digits[i] = -canonical.digits[i];
  if (negative) carry_over(&canonical);
  for (size_t i = FW_SUM_DIGITS; i > 0; i--) {
    const double digit = ldexp((double)canonical.digits[i - 1], (int)(i - 1) * DIGIT + LOWEST_BIT);
    value = add_doubles(value, (two_doubles){digit, 0});
  }
  return negative ? (two_doubles){-value.high, -value.low} : value;
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

furrow_status fw_number_stats_add(fw_number_stats *stats, uint64_t piece, uint64_t record, double number,
                                  furrow_error *err) {
  if (!stats->sums) FW_TRY(FW_ALLOC_ZERO(&stats->sums, 1, err));
  if (stats->count == 0 || number < stats->least) stats->least = number;
  if (stats->count == 0 || number > stats->most) stats->most = number;
  const double square = number * number;
  add_exactly(&stats->sums->numbers, number);
  add_exactly(&stats->sums->squares, square);
  add_exactly(&stats->sums->squares, fma(number, number, -square));
  stats->count++;
  return add_sample(stats, (fw_sampled_number){fw_hash_place(piece, record), number}, err);
}

furrow_status fw_number_stats_merge(fw_number_stats *stats, const fw_number_stats *other, furrow_error *err) {
  if (other->count == 0) return FURROW_OK;
  if (!stats->sums) FW_TRY(FW_ALLOC_ZERO(&stats->sums, 1, err));
  if (stats->count == 0 || other->least < stats->least) stats->least = other->least;
  if (stats->count == 0 || other->most > stats->most) stats->most = other->most;
  merge_sums(&stats->sums->numbers, &other->sums->numbers);
  merge_sums(&stats->sums->squares, &other->sums->squares);
  stats->count += other->count;
  for (size_t i = 0; i < other->sampled; i++) FW_TRY(add_sample(stats, other->sample[i], err));
  return FURROW_OK;
}

/* ---- Results ---- */

void fw_number_stats_moments(const fw_number_stats *stats, uint64_t *count, double *mean, double *deviation) {
  *count = stats->count;
  *mean = *deviation = 0;
  if (stats->count == 0) return;
  const double n = (double)stats->count;
  const two_doubles sum = value_of(&stats->sums->numbers), squares = value_of(&stats->sums->squares);
  const two_doubles middle = divide_doubles(sum, n), product = multiply_doubles(middle, sum);
  const double left = add_doubles(squares, (two_doubles){-product.high, -product.low}).high;
  *mean = stats->least == stats->most ? stats->least : middle.high;
  *deviation = stats->least < stats->most && left > 0 ? sqrt(left / n) : 0;
}

static int compare_numbers(const void *a, const void *b) {
  const double x = ((const fw_sampled_number *)a)->number, y = ((const fw_sampled_number *)b)->number;
  return (x > y) - (x < y);
}

size_t fw_number_stats_edges(fw_number_stats *stats, size_t bins, double *edges) {
  size_t count = 0;
  if (stats->sampled == 0) return 0;
  qsort(stats->sample, stats->sampled, sizeof *stats->sample, compare_numbers);
  for (size_t i = 1; i < bins; i++) {
    const double edge = stats->sample[i * stats->sampled / bins].number;
    if (edge > stats->sample[0].number && (count == 0 || edge > edges[count - 1])) edges[count++] = edge;
  }
  return count;
}
