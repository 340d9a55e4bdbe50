/* model/jobs/statistics.c: counts, extremes, mean and deviation of all elements of a stored matrix.
 *
 * For each block of values, mean and sum of squared distances are computed in two passes. Blocks are merged by the
 * formula of Chan, Golub and LeVeque,
 *   mean = mean_a + d * n_b / n,   m2 = m2_a + m2_b + d * d * n_a * n_b / n,   d = mean_b - mean_a,
 * first within a partition in the order of its file, then over the partitions in their order, so the result does not
 * depend on the threads. Merged sums are long doubles, whose exponent range (where the machine has it) holds the square
 * of any double. A block whose sums overflow in double precision is summed again in long double. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/model.h"

#define BLOCK 512
#define PROGRESS_STEP ((uint64_t)4 << 20)

typedef struct moments {
  uint64_t expected; /* elements according to the metadata, for progress */
  uint64_t elements, zeros, nans, infinities, finite;
  double min, max;
  long double mean, m2;
  int64_t min_col, max_col;
} moments;

typedef struct statistics_job {
  const furrow_matrix_meta *meta;
  moments *parts; /* one entry per partition */
  pthread_mutex_t lock;
  furrow_progress progress;
  void *user;
  uint64_t total, done, reported; /* bytes: all, read so far, reported so far */
} statistics_job;

/* ---- Blocks of values ---- */

static void to_doubles(furrow_elements a, furrow_element_type type, size_t first, size_t n, double *out) {
  switch (type) {
  case FURROW_ELEMENT_F64: memcpy(out, a.f64 + first, n * sizeof *out); break;
  case FURROW_ELEMENT_F32:
    for (size_t i = 0; i < n; i++) out[i] = (double)a.f32[first + i];
    break;
  case FURROW_ELEMENT_I64:
    for (size_t i = 0; i < n; i++) out[i] = (double)a.i64[first + i];
    break;
  default:
    for (size_t i = 0; i < n; i++) out[i] = (double)a.i32[first + i];
    break;
  }
}

/* Four independent sums run in parallel; the order of additions is fixed. */
typedef struct accumulator {
  double sum, low, high;
  size_t zeros;
} accumulator;

static inline void add_value(accumulator *l, double v) {
  l->sum += v;
  l->low = v < l->low ? v : l->low;
  l->high = v > l->high ? v : l->high;
  l->zeros += v == 0;
}

/* Counts zeros and finds extremes and sum in one pass. The sum is not finite if a value is not, or if finite values
 * overflow. */
static accumulator scan_block(const double *x, size_t n) {
  const accumulator none = {0, x[0], x[0], 0};
  accumulator a = none, b = none, c = none, d = none;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    add_value(&a, x[i]);
    add_value(&b, x[i + 1]);
    add_value(&c, x[i + 2]);
    add_value(&d, x[i + 3]);
  }
  for (; i < n; i++) add_value(&a, x[i]);
  const accumulator others[] = {b, c, d};
  for (size_t k = 0; k < 3; k++) {
    a.sum += others[k].sum;
    a.zeros += others[k].zeros;
    a.low = others[k].low < a.low ? others[k].low : a.low;
    a.high = others[k].high > a.high ? others[k].high : a.high;
  }
  return a;
}

static double squares_of(const double *x, size_t n, double mean) {
  double a = 0, b = 0, c = 0, d = 0;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a += (x[i] - mean) * (x[i] - mean);
    b += (x[i + 1] - mean) * (x[i + 1] - mean);
    c += (x[i + 2] - mean) * (x[i + 2] - mean);
    d += (x[i + 3] - mean) * (x[i + 3] - mean);
  }
  for (; i < n; i++) a += (x[i] - mean) * (x[i] - mean);
  return (a + b) + (c + d);
}

/* Keeps the finite values and counts the others; returns how many are kept. */
static size_t keep_finite(moments *m, double *x, size_t n) {
  size_t kept = 0, nans = 0;
  for (size_t i = 0; i < n; i++) {
    const double v = x[i];
    x[kept] = v;
    kept += fabs(v) <= DBL_MAX;
    nans += v != v;
  }
  m->nans += nans;
  m->infinities += n - kept - nans;
  return kept;
}

/* Computes the moments in long double, for blocks that overflow. */
static void moments_long_double(moments *m, const double *x, size_t n) {
  long double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) sum += (long double)x[i];
  m->mean = sum / (long double)n;
  for (size_t i = 0; i < n; i++) squares += ((long double)x[i] - m->mean) * ((long double)x[i] - m->mean);
  m->m2 = squares;
}

/* Merges the moments of finite values b into a. */
static void merge_finite(moments *a, const moments *b) {
  if (b->finite == 0) return;
  if (a->finite == 0) {
    a->min = b->min;
    a->max = b->max;
    a->mean = b->mean;
    a->m2 = b->m2;
    a->finite = b->finite;
    return;
  }
  const long double na = (long double)a->finite, nb = (long double)b->finite, n = na + nb, d = b->mean - a->mean;
  a->mean += d * (nb / n);
  a->m2 += b->m2 + d * d * (na * (nb / n));
  a->min = b->min < a->min ? b->min : a->min;
  a->max = b->max > a->max ? b->max : a->max;
  a->finite += b->finite;
}

static void add_block(moments *m, double *x, size_t n) {
  accumulator l = scan_block(x, n);
  m->elements += n;
  m->zeros += l.zeros;
  if (!(fabs(l.sum) <= DBL_MAX)) {
    n = keep_finite(m, x, n);
    if (n == 0) return;
    l = scan_block(x, n);
  }
  moments block = {.finite = n, .min = l.low, .max = l.high};
  const double mean = l.sum / (double)n, m2 = squares_of(x, n, mean);
  block.mean = (long double)mean;
  block.m2 = (long double)m2;
  if (!(fabs(m2) <= DBL_MAX)) moments_long_double(&block, x, n);
  merge_finite(m, &block);
}

/* ---- Partitions ---- */

static void add_columns(moments *m, const furrow_panel *panel) {
  int64_t low = furrow_panel_col(panel, 0), high = low;
  if (!panel->col_ids) {
    high = furrow_panel_col(panel, panel->cols - 1);
  } else {
    for (size_t c = 1; c < panel->cols; c++) {
      low = panel->col_ids[c] < low ? panel->col_ids[c] : low;
      high = panel->col_ids[c] > high ? panel->col_ids[c] : high;
    }
  }
  const bool first = m->elements == 0;
  m->min_col = first || low < m->min_col ? low : m->min_col;
  m->max_col = first || high > m->max_col ? high : m->max_col;
}

static uint64_t elements_of(const furrow_partition_meta *part) {
  uint64_t n = 0;
  for (size_t r = 0; r < part->row_count; r++)
    n += part->rows[r].element_num > 0 ? (uint64_t)part->rows[r].element_num : 0;
  return n;
}

/* Progress of a partition is its share of elements, converted to bytes. */
static furrow_status report_progress(statistics_job *job, size_t part, uint64_t elements, furrow_error *err) {
  if (!job->progress) return FURROW_OK;
  const uint64_t all = job->parts[part].expected;
  const double share = all > 0 ? (double)elements / (double)all : 0;
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&job->lock);
  job->done += (uint64_t)((double)job->meta->parts[part].length * share);
  if (job->done > job->total) job->done = job->total;
  if (job->done - job->reported >= PROGRESS_STEP) {
    job->reported = job->done;
    status = fw_report_progress(job->progress, job->user, "reading", job->done, job->total, err);
  }
  pthread_mutex_unlock(&job->lock);
  return status;
}

static furrow_status add_panel(void *user, size_t part, const furrow_panel *panel, furrow_error *err) {
  statistics_job *job = user;
  moments *m = &job->parts[part];
  const size_t n = panel->rows * panel->cols;
  if (n == 0) return FURROW_OK;
  add_columns(m, panel);
  double x[BLOCK];
  for (size_t i = 0; i < n; i += BLOCK) {
    const size_t count = n - i < BLOCK ? n - i : BLOCK;
    to_doubles(panel->values, panel->type, i, count, x);
    add_block(m, x, count);
  }
  return report_progress(job, part, n, err);
}

static void merge_part(moments *a, const moments *b) {
  if (b->elements == 0) return;
  const bool first = a->elements == 0;
  a->min_col = first || b->min_col < a->min_col ? b->min_col : a->min_col;
  a->max_col = first || b->max_col > a->max_col ? b->max_col : a->max_col;
  a->elements += b->elements;
  a->zeros += b->zeros;
  a->nans += b->nans;
  a->infinities += b->infinities;
  merge_finite(a, b);
}

/* ---- The matrix ---- */

static int compare_ids(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Counts the rows that at least one partition has. */
static furrow_status count_rows(const furrow_matrix_meta *meta, uint64_t *rows, furrow_error *err) {
  size_t n = 0, distinct = 0;
  for (size_t p = 0; p < meta->part_count; p++) n += meta->parts[p].row_count;
  int32_t *ids;
  FW_TRY(FW_ALLOC(&ids, n, err));
  n = 0;
  for (size_t p = 0; p < meta->part_count; p++)
    for (size_t r = 0; r < meta->parts[p].row_count; r++) ids[n++] = meta->parts[p].rows[r].row_id;
  if (n > 1) qsort(ids, n, sizeof *ids, compare_ids);
  for (size_t i = 0; i < n; i++) distinct += i == 0 || ids[i] != ids[i - 1];
  fw_free(ids);
  *rows = distinct;
  return FURROW_OK;
}

static void fill_stats(furrow_matrix_stats *stats, const statistics_job *job) {
  moments m = {0};
  for (size_t p = 0; p < job->meta->part_count; p++) merge_part(&m, &job->parts[p]);
  const bool some = m.finite > 0;
  stats->elements = m.elements;
  stats->zeros = m.zeros;
  stats->nans = m.nans;
  stats->infinities = m.infinities;
  stats->min = some ? m.min : NAN;
  stats->max = some ? m.max : NAN;
  stats->mean = some ? (double)m.mean : NAN;
  stats->deviation = some ? (double)sqrtl(m.m2 / (long double)m.finite) : NAN;
  stats->min_col = m.min_col;
  stats->max_col = m.max_col;
  stats->bytes = job->total;
}

furrow_status furrow_matrix_compute_stats(const furrow_matrix_source *source, const furrow_matrix_stats_params *given,
                                          furrow_matrix_stats *stats, furrow_error *err) {
  furrow_matrix_stats_params params;
  furrow_matrix_scan_params scan;
  furrow_matrix_stats_params_init(&params);
  furrow_matrix_scan_params_init(&scan);
  FW_TRY(FW_PARAMS_READ(&params, given, furrow_matrix_stats_params, err));
  scan.threads = params.threads;
  statistics_job job = {
      .meta = furrow_matrix_source_meta(source), .progress = params.progress, .user = params.progress_user};
  furrow_matrix_stats result = {0};
  furrow_status status = count_rows(job.meta, &result.rows, err);
  if (status != FURROW_OK) return status;
  for (size_t p = 0; p < job.meta->part_count; p++) job.total += (uint64_t)job.meta->parts[p].length;
  status = FW_ALLOC_ZERO(&job.parts, job.meta->part_count, err);
  if (status != FURROW_OK) return status;
  for (size_t p = 0; job.progress && p < job.meta->part_count; p++)
    job.parts[p].expected = elements_of(&job.meta->parts[p]);
  pthread_mutex_init(&job.lock, NULL);
  status = furrow_matrix_for_each_panel(source, &scan, add_panel, &job, err);
  if (status == FURROW_OK) {
    fill_stats(&result, &job);
    status = fw_report_progress(job.progress, job.user, "reading", job.total, job.total, err);
    if (status == FURROW_OK) fw_info_write(stats, &result, sizeof result);
  }
  pthread_mutex_destroy(&job.lock);
  fw_free(job.parts);
  return status;
}
