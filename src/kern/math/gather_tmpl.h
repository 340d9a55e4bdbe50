/* kern/math/gather_tmpl.h: sums over scattered numbers, held in registers.
 *
 * Before including it, define
 *   REAL           float or double
 *   NAME(name)     makes the names of this type
 *   VECTOR_BYTES   bytes of a register
 * The n numbers of a sum are processed in pieces: a constant number of registers at once, then the rest one by one. */

typedef REAL NAME(lanes) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define LANES (VECTOR_BYTES / sizeof(REAL))

#include "kern/simd/unroll.h"

/* The most registers of a piece. With the sums of squares, twice as many are in use. */
#define MOST 4

/* How many uses ahead memory is prefetched. */
#define AHEAD 24

#define CACHE_LINE 64

/* Uses of a feature that are added without a branch. */
#define FEW 4

INLINE NAME(lanes) NAME(load)(const REAL *p) {
  return *(const NAME(lanes) *)p;
}

INLINE void NAME(store)(REAL *p, NAME(lanes) v) {
  *(NAME(lanes) *)p = v;
}

INLINE REAL NAME(value)(const float *value, uint32_t use) {
  return value ? (REAL)value[use] : 1;
}

/* Prefetches the numbers that a later use needs. */
INLINE void NAME(ask)(const fw_gather_rows *job, uint32_t use, size_t at, size_t n) {
  if (use + AHEAD >= job->uses) return;
  const REAL *w = (const REAL *)job->record[job->feature[use + AHEAD]] + job->at + at;
  __builtin_prefetch(w);
  if (n > 1) __builtin_prefetch(w + n - 1);
}

/* The size of the next piece when n numbers are left. */
INLINE size_t NAME(piece)(size_t n) {
  return n >= MOST * LANES ? MOST * LANES : n >= 2 * LANES ? 2 * LANES : n >= LANES ? LANES : 1;
}

/* ---- Rows ---- */

INLINE void NAME(row_lanes)(const int count, const fw_gather_rows *job, size_t row, size_t at) {
  NAME(lanes) sum[MOST], squares[MOST];
  UNROLL for (int k = 0; k < count; k++) {
    sum[k] = job->start ? NAME(load)((const REAL *)job->start + at + k * LANES) : (NAME(lanes)){0};
    squares[k] = (NAME(lanes)){0};
  }
  for (uint32_t use = job->offset[row]; use < job->offset[row + 1]; use++) {
    const REAL *w = (const REAL *)job->record[job->feature[use]] + job->at + at;
    NAME(ask)(job, use, at, count * LANES);
    const REAL x = NAME(value)(job->value, use);
    UNROLL for (int k = 0; k < count; k++) {
      const NAME(lanes) u = NAME(load)(w + k * LANES) * x;
      sum[k] += u;
      if (job->squares) squares[k] += u * u;
    }
  }
  UNROLL for (int k = 0; k < count; k++) {
    NAME(store)((REAL *)job->out + row * job->stride + at + k * LANES, sum[k]);
    if (job->squares) NAME(store)((REAL *)job->squares + row * job->stride + at + k * LANES, squares[k]);
  }
}

INLINE void NAME(row_number)(const fw_gather_rows *job, size_t row, size_t at) {
  REAL sum = job->start ? ((const REAL *)job->start)[at] : 0, squares = 0;
  for (uint32_t use = job->offset[row]; use < job->offset[row + 1]; use++) {
    NAME(ask)(job, use, at, 1);
    const REAL u = ((const REAL *)job->record[job->feature[use]])[job->at + at] * NAME(value)(job->value, use);
    sum += u;
    if (job->squares) squares += u * u;
  }
  ((REAL *)job->out)[row * job->stride + at] = sum;
  if (job->squares) ((REAL *)job->squares)[row * job->stride + at] = squares;
}

INLINE void NAME(row_any)(const fw_gather_rows *job, size_t row) {
  for (size_t at = 0, n = 0; at < job->n; at += n) {
    n = NAME(piece)(job->n - at);
    switch (n / LANES) {
    case MOST: NAME(row_lanes)(MOST, job, row, at); break;
    case 2: NAME(row_lanes)(2, job, row, at); break;
    case 1: NAME(row_lanes)(1, job, row, at); break;
    default: NAME(row_number)(job, row, at);
    }
  }
}

/* The arguments that decide the shape of a loop are constants here. */
INLINE void NAME(rows_of)(const fw_gather_rows *job, size_t begin, size_t end) {
  for (size_t row = begin; row < end; row++) NAME(row_any)(job, row);
}

/* Weights of linear models and embeddings of 8, with all values 1, are the most frequent cases. */
static void NAME(rows)(const fw_gather_rows *job, size_t begin, size_t end) {
  fw_gather_rows kind = *job;
  if (job->n == 1 && !job->value && !job->squares) {
    kind.n = 1;
    kind.value = NULL;
    kind.squares = NULL;
    NAME(rows_of)(&kind, begin, end);
  } else if (job->n == 8 && !job->value && job->squares) {
    kind.n = 8;
    kind.value = NULL;
    NAME(rows_of)(&kind, begin, end);
  } else {
    NAME(rows_of)(job, begin, end);
  }
}

/* ---- Uses ---- */

INLINE void NAME(ask_place)(const fw_gather_uses *job, uint32_t i, size_t at, size_t n) {
  if (i + AHEAD >= job->uses) return;
  const size_t from = job->place[i + AHEAD] * job->stride + at;
  __builtin_prefetch((const REAL *)job->from + from);
  if (n * sizeof(REAL) > CACHE_LINE) __builtin_prefetch((const REAL *)job->from + from + n - 1);
}

INLINE void NAME(uses_lanes)(const int count, const fw_gather_uses *job, size_t feature, size_t at, REAL *to) {
  NAME(lanes) sum[MOST], squares[MOST];
  UNROLL for (int k = 0; k < count; k++) sum[k] = squares[k] = (NAME(lanes)){0};
  for (uint32_t i = job->offset[feature]; i < job->offset[feature + 1]; i++) {
    const size_t from = job->place[i] * job->stride + at;
    const REAL x = job->value ? NAME(value)(job->value, job->use[i]) : 1;
    NAME(ask_place)(job, i, at, count * LANES);
    UNROLL for (int k = 0; k < count; k++) {
      sum[k] += NAME(load)((const REAL *)job->from + from + k * LANES) * x;
      if (job->squares) squares[k] += NAME(load)((const REAL *)job->squares + from + k * LANES) * (x * x);
    }
  }
  const REAL *w = (const REAL *)job->record[feature] + job->at + at;
  UNROLL for (int k = 0; k < count; k++) {
    if (job->squares) sum[k] += NAME(load)(w + k * LANES) * 2 * squares[k];
    NAME(store)(to + k * LANES, sum[k]);
  }
}

INLINE void NAME(uses_number)(const fw_gather_uses *job, size_t feature, size_t at, REAL *to) {
  REAL sum = 0, squares = 0;
  for (uint32_t i = job->offset[feature]; i < job->offset[feature + 1]; i++) {
    const size_t from = job->place[i] * job->stride + at;
    const REAL x = job->value ? NAME(value)(job->value, job->use[i]) : 1;
    sum += ((const REAL *)job->from)[from] * x;
    if (job->squares) squares += ((const REAL *)job->squares)[from] * (x * x);
  }
  if (job->squares) sum += ((const REAL *)job->record[feature])[job->at + at] * 2 * squares;
  *to = sum;
}

/* Most features have few uses: up to FEW uses of one number each, with all values 1, are added without a branch,
 * which could not be predicted. Missing uses are the first use times 0. */
INLINE REAL NAME(uses_few)(const fw_gather_uses *job, size_t feature) {
  const uint32_t first = job->offset[feature], count = job->offset[feature + 1] - first;
  if (count == 0) return 0;
  REAL sum = ((const REAL *)job->from)[job->place[first] * job->stride];
  UNROLL for (uint32_t k = 1; k < FEW; k++) {
    const uint32_t there = (uint32_t)(k < count);
    sum += ((const REAL *)job->from)[job->place[first + there * k] * job->stride] * (REAL)(int)there;
  }
  for (uint32_t i = first + FEW; i < first + count; i++) sum += ((const REAL *)job->from)[job->place[i] * job->stride];
  return sum;
}

INLINE void NAME(uses_any)(const fw_gather_uses *job, size_t feature, REAL *to) {
  for (size_t at = 0, n = 0; at < job->n; at += n) {
    n = NAME(piece)(job->n - at);
    switch (n / LANES) {
    case MOST: NAME(uses_lanes)(MOST, job, feature, at, to + at); break;
    case 2: NAME(uses_lanes)(2, job, feature, at, to + at); break;
    case 1: NAME(uses_lanes)(1, job, feature, at, to + at); break;
    default: NAME(uses_number)(job, feature, at, to + at);
    }
  }
}

INLINE void NAME(uses_of)(const fw_gather_uses *job, size_t begin, size_t end, REAL *sum) {
  for (size_t feature = begin; feature < end; feature++) NAME(uses_any)(job, feature, sum + (feature - begin) * job->n);
}

static void NAME(uses)(const fw_gather_uses *job, size_t begin, size_t end, void *sum) {
  fw_gather_uses kind = *job;
  if (job->n == 1 && !job->value && !job->squares) {
    for (size_t feature = begin; feature < end; feature++)
      ((REAL *)sum)[feature - begin] = NAME(uses_few)(job, feature);
  } else if (job->n == 8 && !job->value) {
    kind.n = 8;
    kind.value = NULL;
    if (job->squares) {
      NAME(uses_of)(&kind, begin, end, sum);
    } else {
      kind.squares = NULL;
      NAME(uses_of)(&kind, begin, end, sum);
    }
  } else {
    NAME(uses_of)(job, begin, end, sum);
  }
}

#undef LANES
#undef MOST
#undef AHEAD
#undef CACHE_LINE
#undef FEW
#undef REAL
#undef NAME
