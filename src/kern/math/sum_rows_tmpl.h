/* kern/math/sum_rows_tmpl.h: sums of rows of floats, in doubles that stay in registers.
 *
 * Before including it, define vd, a register of SUM_WIDTH doubles, and vd_widen(p) of so many floats, vd_zero(),
 * vd_add(a, b), vd_store(p, v). */

#define SUM_PARTS 8 /* registers of a strip */

#include "kern/math/unroll.h"

/* A strip of the columns; at: its first one. */
static inline __attribute__((always_inline)) void sum_strip(const int parts, const float *at, size_t d,
                                                            const uint32_t *rows, size_t count, double *sum) {
  vd total[SUM_PARTS];
  UNROLL for (int v = 0; v < parts; v++) total[v] = vd_zero();
  for (size_t i = 0; i < count; i++) {
    const float *row = at + rows[i] * d;
    UNROLL for (int v = 0; v < parts; v++) total[v] = vd_add(total[v], vd_widen(row + v * SUM_WIDTH));
  }
  UNROLL for (int v = 0; v < parts; v++) vd_store(sum + v * SUM_WIDTH, total[v]);
}

static void sum_rows(const float *x, size_t d, const uint32_t *rows, size_t count, double *sum) {
  size_t k = 0;
  for (; k + SUM_PARTS * SUM_WIDTH <= d; k += SUM_PARTS * SUM_WIDTH)
    sum_strip(SUM_PARTS, x + k, d, rows, count, sum + k);
  for (; k + SUM_WIDTH <= d; k += SUM_WIDTH) sum_strip(1, x + k, d, rows, count, sum + k);
  for (; k < d; k++) {
    double total = 0;
    for (size_t i = 0; i < count; i++) total += x[rows[i] * d + k];
    sum[k] = total;
  }
}

#undef SUM_PARTS
