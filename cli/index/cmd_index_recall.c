/* cli/index/cmd_index_recall.c: furrow index recall: measures recall and speed of searches. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/text_columns.h"
#include "core/written.h"
#include "draw/chart.h"
#include "furrow/init.h"
#include "index/index_job.h"
#include "index/index_searcher.h"
#include "index/recall_truth.h"

enum { MOST_POINTS = 64, DEFAULT_K = 100, MOST_K = 1 << 20 };

static const double batch_seconds = 0.5, single_seconds = 1; /* for each number of lists */

typedef struct number_list {
  uint64_t numbers[MOST_POINTS];
  size_t count;
} number_list;

typedef struct recall_values {
  const char *path, *queries, *plot;
  truth_values truth;
  number_list nprobe;
  int64_t k; /* 0: not given */
  search_filter_values filter_ids;
  vector_values vectors;
  index_source_values source;
  bool force, json, quiet;
} recall_values;

static furrow_status parse_numbers(const char *text, void *field, furrow_error *err) {
  number_list *list = field;
  list->count = 0;
  for (const char *s = text;; s++) {
    char word[24];
    const size_t length = strcspn(s, ",");
    if (list->count == MOST_POINTS) return fail_token(err, text, "--nprobe takes at most %d numbers", MOST_POINTS);
    snprintf(word, sizeof word, "%.*s", (int)length, s);
    if (length >= sizeof word || !read_u64(word, &list->numbers[list->count]) || list->numbers[list->count] == 0)
      return fail_token(err, text, "--nprobe takes numbers separated by commas");
    list->count++;
    s += length;
    if (!*s) return FURROW_OK;
  }
}

static const option recall_operands[] = {{.name = "INDEX",
                                          .kind = OPTION_TEXT,
                                          .help = "the index file",
                                          .offset = offsetof(recall_values, path),
                                          .required = true},
                                         {.name = "QUERIES",
                                          .kind = OPTION_TEXT,
                                          .help = "a file of vectors",
                                          .offset = offsetof(recall_values, queries),
                                          .required = true,
                                          .from_query = true},
                                         {0}};

static const option recall_options[] = {
    {.name = "nprobe",
     .kind = OPTION_PARSED,
     .argument = "P,P,...",
     .help = "numbers of lists to probe, one measurement for each (1,2,4,8 ... 128)",
     .offset = offsetof(recall_values, nprobe),
     .parse = parse_numbers},
    {.name = "k",
     .letter = 'k',
     .kind = OPTION_COUNT64,
     .argument = "K",
     .help = "results per query (100; at most 1048576)",
     .offset = offsetof(recall_values, k)},
    {.name = "plot",
     .kind = OPTION_TEXT,
     .argument = "FILE.svg",
     .help = "draw recall and queries per second",
     .offset = offsetof(recall_values, plot),
     .written = true},
    {.name = "threads",
     .kind = OPTION_THREADS,
     .argument = "T",
     .help = "threads for batches and for the exact comparison (0: one for each processor); single queries use one",
     .offset = offsetof(recall_values, filter_ids.threads)},
    {.name = "k-factor",
     .kind = OPTION_REAL,
     .argument = "F",
     .help = "rerank F * k candidates (0: the index's setting)",
     .offset = offsetof(recall_values, filter_ids.k_factor)},
    {.name = "ef-search",
     .kind = OPTION_U32,
     .argument = "N",
     .help = "candidates that a graph search keeps (0: the index's setting); at least k",
     .offset = offsetof(recall_values, filter_ids.ef_search)},
    FORCE_OPTION(offsetof(recall_values, force)),
    JSON_OPTION(offsetof(recall_values, json)),
    QUIET_OPTION(offsetof(recall_values, quiet)),
    {0}};

static const option_group recall_groups[] = {
    {.title = "Options", .options = recall_options},
    {.title = "True neighbours", .options = truth_options, .offset = offsetof(recall_values, truth)},
    {.title = "Vectors", .options = vector_options, .offset = offsetof(recall_values, vectors)},
    {.title = "Vectors", .options = query_options},
    {.title = "Vectors", .options = plugin_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(recall_values, source)},
    {0}};

/* ---- Everything that is measured with ------------------------------------------------------------------- */

typedef struct measuring {
  const recall_values *values;
  index_job job;
  furrow_searcher *searcher;
  bool shards;
  furrow_vectors_reader *source;
  vector_block queries;
  truth truth;
  size_t k;
  float *distances;
  int64_t *ids;
  double *times; /* times of single queries */
  recall_point points[MOST_POINTS];
  size_t count;
} measuring;

static furrow_status reserve_results(measuring *m, furrow_error *err) {
  const size_t n = m->queries.count;
  m->distances = calloc(n * m->k, sizeof *m->distances);
  m->ids = calloc(n * m->k, sizeof *m->ids);
  m->times = calloc(n, sizeof *m->times);
  return m->distances && m->ids && m->times ? FURROW_OK : fail_memory(err);
}

static furrow_status open_all(measuring *m, furrow_error *err) {
  const recall_values *values = m->values;
  furrow_index_info info;
  furrow_index_info_init(&info);
  m->shards = furrow_is_shards(values->path);
  const furrow_searcher_open_params params =
      FURROW_INIT(furrow_searcher_open_params, .skip_names = true, .threads = values->filter_ids.threads);
  furrow_status status = index_searcher_open(&m->searcher, values->path, m->shards, &values->source, &params, err);
  if (status != FURROW_OK) return status;
  furrow_index_get_info(furrow_searcher_index(m->searcher), &info);
  const int64_t ntotal = (int64_t)furrow_searcher_vectors(m->searcher);
  status = vector_source_open(&m->source, values->queries, &values->vectors, (size_t)info.d, err);
  if (status == FURROW_OK) status = vector_block_read_all(&m->queries, m->source, err);
  if (status == FURROW_OK) status = reserve_results(m, err);
  if (status == FURROW_OK)
    status = truth_find(&m->truth, &values->truth, &values->vectors, &m->queries, m->k,
                        furrow_searcher_index(m->searcher), values->filter_ids.threads, &m->job, err);
  if (status != FURROW_OK) status = query_explain(m->source, &m->queries, status, err);
  const uint64_t compared = m->truth.base_count;
  index_job_stop(&m->job);
  if (status == FURROW_OK && compared != FURROW_COUNT_UNKNOWN && compared != (uint64_t)ntotal)
    print_note(values->quiet,
               "%s has %" PRIu64 " vector%s, but the index has %" PRId64 ": the recall is for other vectors",
               truth_name(&values->truth), compared, compared == 1 ? "" : "s", ntotal);
  return status;
}

/* ---- Measuring ------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* Searches the whole batch repeatedly for a while and takes the median time. */
static furrow_status measure_batch(measuring *m, const furrow_search_params *params, recall_point *point,
                                   furrow_error *err) {
  double times[32], sum = 0;
  size_t runs = 0;
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && runs < 32 && (runs < 3 || sum < batch_seconds)) {
    const double began = now_seconds();
    status = furrow_searcher_search(m->searcher, m->queries.values, m->queries.count, m->k, params, m->distances,
                                    m->ids, err);
    times[runs] = now_seconds() - began;
    sum += times[runs++];
    if (status == FURROW_OK) status = interrupt_check(err);
    if (sum > 4 * batch_seconds) break;
  }
  if (status != FURROW_OK) return query_explain(m->source, &m->queries, status, err);
  qsort(times, runs, sizeof *times, by_size);
  point->qps = (double)m->queries.count / times[runs / 2];
  return FURROW_OK;
}

/* Measures single queries, one after the other, on one thread. */
static furrow_status measure_single(measuring *m, const furrow_search_params *params, recall_point *point,
                                    furrow_error *err) {
  furrow_search_params one = *params;
  const double start = now_seconds();
  size_t n = 0;
  one.threads = 1;
  while (n < m->queries.count && (n < 16 || now_seconds() - start < single_seconds)) {
    const double began = now_seconds();
    furrow_status status = furrow_searcher_search(m->searcher, m->queries.values + n * m->queries.d, 1, m->k, &one,
                                                  m->distances + n * m->k, m->ids + n * m->k, err);
    if (status != FURROW_OK) return query_explain(m->source, &m->queries, status, err);
    m->times[n++] = now_seconds() - began;
  }
  qsort(m->times, n, sizeof *m->times, by_size);
  point->p50 = m->times[n / 2];
  point->p99 = m->times[n * 99 / 100];
  return FURROW_OK;
}

static furrow_status measure_point(measuring *m, uint64_t nprobe, furrow_error *err) {
  furrow_search_params params;
  recall_point *point = &m->points[m->count];
  *point = (recall_point){.nprobe = nprobe};
  furrow_status status = search_filter_params(&m->values->filter_ids, NULL, &params, NULL, err);
  params.nprobe = nprobe;
  if (status == FURROW_OK) status = measure_single(m, &params, point, err);
  if (status == FURROW_OK) status = measure_batch(m, &params, point, err);
  if (status != FURROW_OK) return status;
  truth_compare(&m->truth, m->queries.count, m->k, m->ids, point);
  m->count++;
  return index_job_update(&m->job, "search", m->count, m->values->nprobe.count, err);
}

static furrow_status measure_all(measuring *m, furrow_error *err) {
  const furrow_index *ivf = furrow_index_ivf(furrow_searcher_index(m->searcher));
  const number_list *wanted = &m->values->nprobe;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_status status = FURROW_OK;
  if (!ivf) return measure_point(m, 0, err); /* no lists: nprobe has no effect */
  furrow_index_get_info(ivf, &info);
  for (size_t i = 0; status == FURROW_OK && i < wanted->count; i++) status = measure_point(m, wanted->numbers[i], err);
  for (uint64_t p = 1; status == FURROW_OK && wanted->count == 0 && p <= 128; p *= 2) {
    if (p >= info.nlist) p = info.nlist;
    status = measure_point(m, p, err);
    if (p == info.nlist) break;
  }
  return status;
}

/* ---- Report --------------------------------------------------------------------------------------------- */

static void recall_cell(table *t, double recall) {
  if (isnan(recall))
    table_cell(t, "-");
  else
    table_cell(t, "%.4f", recall);
}

static furrow_status print_points(const measuring *m, output *out, furrow_error *err) {
  table t;
  output_format(out, "%zu quer%s, k %zu, truth from %s\n", m->queries.count, m->queries.count == 1 ? "y" : "ies", m->k,
                truth_name(&m->values->truth));
  table_start(&t, "nprobe|1-R@1|1-R@10|1-R@100|recall@10|p50 ms|p99 ms|queries/s");
  for (size_t i = 0; i < m->count; i++) {
    const recall_point *p = &m->points[i];
    if (p->nprobe)
      table_cell(&t, "%" PRIu64, p->nprobe);
    else
      table_cell(&t, "-");
    recall_cell(&t, p->first_in[0]);
    recall_cell(&t, p->first_in[1]);
    recall_cell(&t, p->first_in[2]);
    recall_cell(&t, p->shared);
    table_cell(&t, "%.4f", p->p50 * 1e3);
    table_cell(&t, "%.4f", p->p99 * 1e3);
    table_cell(&t, "%.0f", p->qps);
  }
  return table_finish(&t, 0, out, err);
}

static furrow_status report_points(const measuring *m, output *out) {
  report r;
  report_start(&r, out, true);
  report_text(&r, "index", m->values->path);
  report_u64(&r, "queries", m->queries.count);
  report_u64(&r, "k", m->k);
  report_text(&r, "truth", truth_name(&m->values->truth));
  if (!m->shards) report_u64(&r, "searcher bytes", furrow_searcher_memory(m->searcher));
  report_list(&r, "points");
  for (size_t i = 0; i < m->count; i++) {
    const recall_point *p = &m->points[i];
    report_section(&r, NULL);
    if (p->nprobe)
      report_u64(&r, "nprobe", p->nprobe);
    else
      report_none(&r, "nprobe");
    report_f64(&r, "first in 1", p->first_in[0]);
    report_f64(&r, "first in 10", p->first_in[1]);
    report_f64(&r, "first in 100", p->first_in[2]);
    report_f64(&r, "recall at 10", p->shared);
    report_f64(&r, "p50 seconds", p->p50);
    report_f64(&r, "p99 seconds", p->p99);
    report_f64(&r, "queries per second", p->qps);
    report_end(&r);
  }
  report_end(&r);
  report_finish(&r);
  return FURROW_OK;
}

/* ---- Plot ----------------------------------------------------------------------------------------------- */

/* Recall of a point in the plot: recall@10, or 1-R@1 if k is small. */
static double recall_of(const recall_point *p) {
  return isnan(p->shared) ? p->first_in[0] : p->shared;
}

static int by_recall(const void *a, const void *b) {
  const double x = recall_of(a), y = recall_of(b);
  const uint64_t p = ((const recall_point *)a)->nprobe, q = ((const recall_point *)b)->nprobe;
  if (x != y) return x < y ? -1 : 1;
  return p < q ? -1 : p > q;
}

/* Points in the form of a chart. */
typedef struct plotted {
  double recall[MOST_POINTS], qps[MOST_POINTS];
  char label_text[MOST_POINTS][24], hint_text[MOST_POINTS][96];
  const char *labels[MOST_POINTS], *hints[MOST_POINTS];
} plotted;

static void take_point(plotted *plot, size_t i, const recall_point *point) {
  plot->recall[i] = recall_of(point);
  plot->qps[i] = point->qps;
  if (point->nprobe > 0) snprintf(plot->label_text[i], sizeof *plot->label_text, "%" PRIu64, point->nprobe);
  snprintf(plot->hint_text[i], sizeof *plot->hint_text, "nprobe %" PRIu64 ", recall %.4f, %.0f queries per second",
           point->nprobe, plot->recall[i], point->qps);
  plot->labels[i] = plot->label_text[i];
  plot->hints[i] = plot->hint_text[i];
}

/* Plots recall to the right and queries per second upwards (logarithmic), with a mark for each point. */
static furrow_status recall_plot(const char *path, const char *title, const recall_point *points, size_t count,
                                 furrow_error *err) {
  recall_point sorted[MOST_POINTS];
  plotted plot = {0};
  memcpy(sorted, points, count * sizeof *points);
  qsort(sorted, count, sizeof *sorted, by_recall);
  for (size_t i = 0; i < count; i++) take_point(&plot, i, &sorted[i]);
  const chart_curve curve = {
      .x = plot.recall, .y = plot.qps, .count = count, .marks = true, .labels = plot.labels, .hints = plot.hints};
  const chart drawn = {.title = title,
                       .note = "numbers at the points: probed lists (nprobe); right and up is better",
                       .x_axis = count && isnan(sorted[0].shared)
                                     ? "queries whose nearest vector is the first result (1-R@1)"
                                     : "recall@10: share of the 10 nearest that is found",
                       .y_axis = "queries per second",
                       .curves = &curve,
                       .count = 1,
                       .log_y = true};
  return charts_write(path, &drawn, 1, true, err);
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status draw_plot(const measuring *m, furrow_error *err) {
  char title[256];
  if (!m->values->plot) return FURROW_OK;
  snprintf(title, sizeof title, "%.120s: %zu queries, k %zu", m->values->path, m->queries.count, m->k);
  return recall_plot(m->values->plot, title, m->points, m->count, err);
}

static furrow_status recall_run(const void *values, output *out, furrow_error *err) {
  measuring m = {.values = values};
  furrow_status status = truth_check(&m.values->truth, err);
  if (status == FURROW_OK && m.values->plot) status = written_check_path(m.values->plot, m.values->force, err);
  if (status != FURROW_OK) return status;
  m.k = m.values->k ? (size_t)m.values->k : DEFAULT_K;
  if (m.k > MOST_K) return fail(err, FURROW_E_ARGUMENT, "-k must be at most %d", MOST_K);
  index_job_start(&m.job, m.values->quiet);
  status = open_all(&m, err);
  if (status == FURROW_OK) index_job_step(&m.job, "search", m.values->nprobe.count);
  if (status == FURROW_OK) status = measure_all(&m, err);
  index_job_stop(&m.job);
  if (status == FURROW_OK) status = draw_plot(&m, err);
  if (status == FURROW_OK) status = m.values->json ? report_points(&m, out) : print_points(&m, out, err);
  truth_clear(&m.truth);
  vector_block_clear(&m.queries);
  free(m.distances);
  free(m.ids);
  free(m.times);
  furrow_vectors_reader_close(m.source);
  furrow_searcher_free(m.searcher);
  return status;
}

const command index_recall_command = {
    .name = "recall",
    .summary = "measure recall and speed of searches",
    .example =
        "furrow index recall items.index queries.fvecs --base base.fvecs\n"
        "furrow index recall items.index queries.fvecs --truth truth.ivecs --nprobe 1,4,16,64 --plot recall.svg\n"
        "furrow index recall items.index queries.fvecs --from-model deepfm/embedding_embedding",
    .about = "1-R@k is the share of queries whose nearest vector is among the first k results; recall@10 is the share "
             "of the 10 nearest vectors among the first 10 results. p50 and p99 are times of single queries on one "
             "thread; queries/s is measured with all queries at once. The true neighbours come from an exact "
             "comparison with all vectors of --base or --from-model, or from a file (--truth).",
    .operands = recall_operands,
    .groups = recall_groups,
    .size = sizeof(recall_values),
    .run = recall_run,
};
