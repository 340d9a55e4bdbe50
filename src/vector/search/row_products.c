/* vector/search/row_products.c: compares blocks of rows with many queries by matrix products.
 *
 * Products rule out most rows: |x - y|^2 = |x|^2 - 2 (<x, y> - |y|^2 / 2) up to rounding, which is bounded. The rows
 * that remain are compared as a single query compares them, in the same order, so that the results have the same bits.
 */
#include "vector/search/row_products.h"

#include <float.h>
#include <math.h>
#include <stdalign.h>

#include "base/error.h"
#include "kern/scan/scan.h"

enum {
  FLOATS = 48 << 10, /* of a block: it stays in the cache of the second level */
  MOST_ROWS = 512,   /* of a block */
  GROUP = 48,        /* queries whose scores are kept */
  ALIGNMENT_BYTES = 64
};

/* ---- Memory --------------------------------------------------------------------------------------------- */

static size_t most_rows_of(size_t d) {
  const size_t fit = FLOATS / d / FW_PACK_WIDTH * FW_PACK_WIDTH;
  return fit < FW_PACK_WIDTH ? FW_PACK_WIDTH : fit < MOST_ROWS ? fit : MOST_ROWS;
}

static furrow_status take_aligned(float **floats, fw_arena *arena, size_t count, furrow_error *err) {
  unsigned char *memory = NULL;
  FW_TRY(FW_ARENA_TAKE(arena, &memory, count * sizeof(float) + ALIGNMENT_BYTES, err));
  *floats = (float *)(memory + (-(uintptr_t)memory & (ALIGNMENT_BYTES - 1)));
  return FURROW_OK;
}

furrow_status fw_row_products_take(fw_row_products *products, const float *queries, size_t n, size_t d, bool similarity,
                                   fw_arena *arena, furrow_error *err) {
  fw_row_products p = {.queries = queries, .n = n, .d = d, .similarity = similarity, .most_rows = most_rows_of(d)};
  p.packed.d = d;
  FW_TRY(take_aligned(&p.packed.values, arena, p.most_rows * d, err));
  FW_TRY(take_aligned(&p.packed.bias, arena, p.most_rows, err));
  FW_TRY(take_aligned(&p.scores, arena, p.most_rows * GROUP, err));
  FW_TRY(FW_ARENA_TAKE(arena, &p.norms, n, err));
  FW_TRY(FW_ARENA_TAKE(arena, &p.above, p.most_rows, err));
  for (size_t i = 0; i < n; i++) fw_scan_table()->ip_rows(queries + i * d, queries + i * d, 1, d, &p.norms[i]);
  *products = p;
  return FURROW_OK;
}

/* ---- A block -------------------------------------------------------------------------------------------- */

static void pack_rows(fw_row_products *p, const float *rows, size_t count) {
  fw_packed *packed = &p->packed;
  packed->n = count;
  packed->blocks = (count + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH;
  fw_packed_transpose(packed, rows, p->d);
  p->longest = 0;
  for (size_t i = 0; i < count; i++) {
    float norm;
    fw_scan_table()->ip_rows(rows + i * p->d, rows + i * p->d, 1, p->d, &norm);
    if (!(norm <= p->longest)) p->longest = norm;
    if (!p->similarity) packed->bias[i] = norm / 2;
  }
}

/* Rows whose score is not above this are not among the results. The error of a chain of d products is at most d / 2
 * steps of the sum of their sizes, which is at most half of both squared norms; the norms and the key of a row have an
 * error of the same kind. */
static float score_limit(const fw_row_products *p, size_t query, float worst) {
  const double both = (double)p->norms[query] + (double)p->longest;
  const double slack = FLT_EPSILON * (4 * (double)p->d + 16) * both;
  const double limit = p->similarity ? -((double)worst + slack) : ((double)p->norms[query] - slack - (double)worst) / 2;
  return limit < -(double)FLT_MAX ? -INFINITY : nextafterf((float)limit, -INFINITY);
}

static void take_scores(const fw_row_products *p, size_t query, const float *scores, const float *rows, size_t first_id,
                        const fw_id_filter *id_filter, fw_sink *sink) {
  const float *x = p->queries + query * p->d;
  float limit = score_limit(p, query, sink->worst);
  const size_t found = fw_products_table()->find_above(scores, p->packed.blocks * FW_PACK_WIDTH, limit, p->above);
  for (size_t i = 0; i < found; i++) {
    const size_t row = p->above[i];
    float key;
    if (!(scores[row] > limit) || !fw_id_filter_keeps(id_filter, (int64_t)(first_id + row))) continue;
    if (p->similarity)
      fw_scan_table()->ip_rows(x, rows + row * p->d, 1, p->d, &key);
    else
      fw_scan_table()->l2_rows(x, rows + row * p->d, 1, p->d, &key);
    if (p->similarity) key = -key;
    if (!(key < sink->worst)) continue;
    fw_sink_take(sink, key, fw_tie_break_id((int64_t)(first_id + row), p->similarity));
    limit = score_limit(p, query, sink->worst);
  }
}

bool fw_row_products_scan(fw_row_products *products, const float *rows, size_t count, size_t first_id,
                          const fw_id_filter *id_filter, fw_sink *sinks) {
  fw_row_products *p = products;
  const size_t width = (count + FW_PACK_WIDTH - 1) / FW_PACK_WIDTH * FW_PACK_WIDTH;
  pack_rows(p, rows, count);
  if (!isfinite(p->longest)) return false;
  for (size_t first = 0; first < p->n; first += GROUP) {
    const size_t n = p->n - first < GROUP ? p->n - first : GROUP;
    fw_products_table()->scores(&p->packed, p->queries + first * p->d, n, p->d, p->scores, width);
    for (size_t i = 0; i < n; i++)
      take_scores(p, first + i, p->scores + i * width, rows, first_id, id_filter, &sinks[first + i]);
  }
  return true;
}
