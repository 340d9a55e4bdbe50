/* tests/unit/vector/test_search.c: searching gives what a plain scan gives: same ids, same bits of distances; whatever
 * the instructions, threads, batches and filters. */
#include <float.h>
#include <limits.h>
#include <math.h>

#include "furrow/vector.h"
#include "support/each_isa.h"
#include "support/made_lists.h"
#include "vector/index/pack_codes.h"
#include "vector/quantizer/pq.h"
#include "vector/search/searcher.h"

enum { QUERIES = 20 };

/* ---- The plain scan ---- */

/* Every vector is looked at, in order; the worst goes when a better one comes. */
typedef struct plain {
  size_t k, count;
  float keys[512];
  int64_t ids[512];
} plain;

static void plain_take(plain *p, float key, int64_t id) {
  size_t worst = 0;
  if (p->count < p->k) {
    if (!(key < FLT_MAX)) return;
    worst = p->count++;
  } else {
    for (size_t i = 1; i < p->count; i++)
      if (p->keys[i] > p->keys[worst] || (p->keys[i] == p->keys[worst] && p->ids[i] > p->ids[worst])) worst = i;
    if (!(key < p->keys[worst])) return;
  }
  p->keys[worst] = key;
  p->ids[worst] = id;
}

static void plain_sort(plain *p) {
  for (size_t i = 1; i < p->count; i++)
    for (size_t j = i;
         j > 0 && (p->keys[j] < p->keys[j - 1] || (p->keys[j] == p->keys[j - 1] && p->ids[j] < p->ids[j - 1])); j--) {
      const float key = p->keys[j];
      const int64_t id = p->ids[j];
      p->keys[j] = p->keys[j - 1];
      p->ids[j] = p->ids[j - 1];
      p->keys[j - 1] = key;
      p->ids[j - 1] = id;
    }
}

typedef struct scan_job {
  const fw_node *node;
  const float *query;
  size_t nprobe, max_codes;
  const furrow_id_filter *filter;
} scan_job;

static float plain_base(const fw_node *node, const float *query, size_t list) {
  const furrow_index *index = node->index;
  const size_t d = (size_t)index->d;
  const bool similarity = index->metric == FURROW_METRIC_IP;
  float base = 0;
  if (!node->pq.residual && !similarity) fw_scan_table()->l2_rows(query, node->pq.shift, 1, d, &base);
  if (!node->pq.residual) return base;
  const float *centroid = index->child[0]->flat.vectors + list * d;
  if (similarity)
    fw_scan_table()->ip_rows(query, centroid, 1, d, &base);
  else
    fw_scan_table()->l2_rows(query, centroid, 1, d, &base);
  return similarity ? -base : base;
}

static float plain_key(const scan_job *job, const fw_lut *table, size_t list, size_t i) {
  const fw_ivf *ivf = &job->node->index->ivf;
  const fw_pq_lists *lists = &job->node->pq;
  const uint8_t *code = ivf->lists.list[list].codes + i * ivf->code_size;
  float sum = 0;
  if (!ivf->pq.m) {
    if (job->node->index->metric == FURROW_METRIC_IP)
      fw_scan_table()->ip_rows(job->query, code, 1, (size_t)job->node->index->d, &sum);
    else
      fw_scan_table()->l2_rows(job->query, code, 1, (size_t)job->node->index->d, &sum);
    return job->node->index->metric == FURROW_METRIC_IP ? -sum : sum;
  }
  for (size_t m = 0; m < ivf->pq.m; m++) {
    const uint32_t own = fw_pq_number(code, ivf->pq.nbits, m);
    const uint32_t number = lists->order ? lists->order->number[m * FW_LUT_BYTES + own] : own;
    const float value = table->values[m * table->width + number];
    sum = m == 0 ? value : sum + value;
  }
  const float extra = lists->extra ? lists->extra[lists->list[list].extra_at + i] : 0;
  return sum + (plain_base(job->node, job->query, list) + extra);
}

static void plain_scan(const scan_job *job, plain *p, void (*take)(plain *p, float key, int64_t id)) {
  const furrow_index *index = job->node->index;
  fw_scratch *scratch = NULL;
  fw_lut *table = NULL;
  float *shifted = NULL;
  int64_t *probed = calloc(job->nprobe, sizeof *probed);
  float *coarse = calloc(job->nprobe, sizeof *coarse);
  size_t left = job->max_codes ? job->max_codes : SIZE_MAX;
  assert_int_equal(fw_scratch_create(&scratch, NULL), FURROW_OK);
  const fw_coarse_batch probes = {
      .queries = job->query, .n = 1, .nprobe = job->nprobe, .lists = probed, .distances = coarse};
  assert_int_equal(fw_coarse_search(&job->node->coarse, scratch, &probes, NULL), FURROW_OK);
  if (index->ivf.pq.m) {
    assert_int_equal(fw_pq_tables_take(&job->node->pq, &scratch->arena, 1, &table, &shifted, NULL), FURROW_OK);
    fw_pq_tables_fill(&job->node->pq, job->query, 1, table, shifted);
  }
  for (size_t j = 0; j < job->nprobe && left > 0; j++) {
    if (probed[j] < 0) continue; /* too far for a number */
    const fw_list *list = &index->ivf.lists.list[probed[j]];
    const size_t upto = list->size < left ? list->size : left;
    for (size_t i = 0; i < upto; i++) {
      const int64_t id = fw_list_id(list, i);
      if (job->filter && !furrow_id_filter_keeps(job->filter, id)) continue;
      take(p, plain_key(job, table, (size_t)probed[j], i), fw_tie_break_id(id, index->metric == FURROW_METRIC_IP));
      left--;
    }
  }
  fw_scratch_free(scratch);
  free(probed);
  free(coarse);
}

static void expect_plain(const scan_job *job, size_t k, const float *distances, const int64_t *ids) {
  const bool similarity = job->node->index->metric == FURROW_METRIC_IP;
  plain p = {.k = k};
  assert_true(k <= sizeof p.keys / sizeof *p.keys);
  plain_scan(job, &p, plain_take);
  plain_sort(&p);
  for (size_t i = 0; i < k; i++) {
    const bool there = i < p.count;
    const float want = there ? (similarity ? -p.keys[i] : p.keys[i]) : (similarity ? -FLT_MAX : FLT_MAX);
    const int64_t id = there ? fw_tie_break_id(p.ids[i], similarity) : -1;
    if (memcmp(&want, &distances[i], sizeof want) != 0 || id != ids[i])
      fail_msg("place %zu of %zu, nprobe %zu: %a (%lld) for %a (%lld)", i, k, job->nprobe, distances[i],
               (long long)ids[i], want, (long long)id);
  }
}

/* ---- Indexes ---- */

typedef struct fixture {
  furrow_index *index;
  furrow_searcher *searcher;
  float *queries;
  size_t d;
} fixture;

static fixture set_up(const made_spec *spec, size_t queries) {
  fixture f = {.index = made_lists(spec), .d = spec->d};
  furrow_error err = {0};
  fw_rng rng;
  fw_rng_init(&rng, spec->seed + 1);
  f.queries = made_floats(&rng, queries * spec->d, spec->scale, spec->offset);
  if (furrow_searcher_create(&f.searcher, f.index, NULL, &err) != FURROW_OK) fail_msg("%s", err.message);
  return f;
}

static void tear_down(fixture *f) {
  furrow_searcher_free(f->searcher);
  furrow_index_free(f->index);
  fw_free(f->queries);
}

static void search(const fixture *f, size_t first, size_t n, size_t k, const furrow_search_params *params,
                   float *distances, int64_t *ids) {
  furrow_error err = {0};
  if (furrow_searcher_search(f->searcher, f->queries + first * f->d, n, k, params, distances, ids, &err) != FURROW_OK)
    fail_msg("%s", err.message);
}

static void check_against_plain(const fixture *f, const furrow_search_params *params, size_t n, size_t k) {
  float *distances = calloc(n * k, sizeof *distances);
  int64_t *ids = calloc(n * k, sizeof *ids);
  const size_t nlist = f->index->ivf.nlist;
  search(f, 0, n, k, params, distances, ids);
  for (size_t i = 0; i < n; i++) {
    const scan_job job = {.node = f->searcher->root,
                          .query = f->queries + i * f->d,
                          .nprobe = params->nprobe < nlist ? (size_t)params->nprobe : nlist,
                          .max_codes = (size_t)params->max_codes,
                          .filter = params->filter};
    expect_plain(&job, k, distances + i * k, ids + i * k);
  }
  free(distances);
  free(ids);
}

static const made_spec specs[] = {
    {.d = 32, .nlist = 40, .m = 16, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 700},
    {.d = 32, .nlist = 40, .m = 16, .nbits = 8, .metric = FURROW_METRIC_IP, .residual = true, .scale = 1, .most = 700},
    {.d = 24, .nlist = 20, .m = 3, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = false, .scale = 1, .most = 500},
    {.d = 24, .nlist = 20, .m = 3, .nbits = 8, .metric = FURROW_METRIC_IP, .residual = false, .scale = 1, .most = 500},
    {.d = 5, .nlist = 17, .m = 1, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 400},
    {.d = 66, .nlist = 15, .m = 33, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 400},
    {.d = 80, .nlist = 15, .m = 80, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 300},
    {.d = 300,
     .nlist = 14,
     .m = 300,
     .nbits = 4,
     .metric = FURROW_METRIC_L2,
     .residual = true,
     .scale = 1,
     .most = 300},
    /* one list: no term of its vectors */
    {.d = 32, .nlist = 1, .m = 16, .nbits = 8, .metric = FURROW_METRIC_L2, .residual = true, .scale = 1, .most = 3000},
    {.d = 32, .nlist = 1, .m = 16, .nbits = 8, .metric = FURROW_METRIC_IP, .residual = true, .scale = 1, .most = 3000},
    /* few codes: ties everywhere */
    {.d = 16, .nlist = 30, .m = 8, .nbits = 8, .metric = FURROW_METRIC_L2, .scale = 1, .most = 500, .distinct = 3},
    {.d = 16, .nlist = 30, .m = 8, .nbits = 8, .metric = FURROW_METRIC_IP, .scale = 1, .most = 500, .distinct = 7},
    {.d = 16,
     .nlist = 30,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 1,
     .metric = FURROW_METRIC_L2,
     .most = 500,
     .distinct = 1},
    /* numbers that are large, small, far from 0, and all the same */
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 1e17F,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 2.5e18F,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 1e-18F,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 1e-22F,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 1,
     .offset = 1e4F,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    {.d = 16,
     .nlist = 20,
     .m = 8,
     .nbits = 8,
     .residual = true,
     .scale = 0,
     .offset = 1,
     .metric = FURROW_METRIC_L2,
     .most = 400},
    /* other bits */
    {.d = 16, .nlist = 20, .m = 8, .nbits = 4, .residual = true, .scale = 1, .metric = FURROW_METRIC_L2, .most = 400},
    {.d = 15, .nlist = 20, .m = 5, .nbits = 1, .residual = true, .scale = 1, .metric = FURROW_METRIC_L2, .most = 400},
    {.d = 15, .nlist = 20, .m = 5, .nbits = 7, .residual = false, .scale = 1, .metric = FURROW_METRIC_IP, .most = 400},
    {.d = 12, .nlist = 20, .m = 4, .nbits = 10, .residual = true, .scale = 1, .metric = FURROW_METRIC_L2, .most = 300},
    {.d = 8, .nlist = 14, .m = 2, .nbits = 16, .residual = false, .scale = 1, .metric = FURROW_METRIC_L2, .most = 100},
    /* plain vectors */
    {.d = 19, .nlist = 20, .metric = FURROW_METRIC_L2, .scale = 1, .most = 300},
    {.d = 130, .nlist = 20, .metric = FURROW_METRIC_IP, .scale = 1, .most = 300},
};
enum { SPECS = sizeof specs / sizeof *specs };

/* ---- Tests ---- */

static void as_a_plain_scan(void **state) {
  static const size_t ks[] = {1, 10, 50, 130, 500};
  (void)state;
  for (size_t s = 0; s < SPECS; s++) {
    made_spec spec = specs[s];
    spec.seed = s;
    fixture f = set_up(&spec, QUERIES + 1);
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
      furrow_search_params params;
      furrow_search_params_init(&params);
      for (params.nprobe = 1; params.nprobe <= 64; params.nprobe *= 4)
        check_against_plain(&f, &params, QUERIES / SLOW + 1, ks[i]);
    }
    tear_down(&f);
  }
}

static bool is_odd(void *user, int64_t id) {
  (void)user;
  return id % 2 != 0;
}

static void with_max_codes(void **state) {
  (void)state;
  const furrow_id_filter half = {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK, .keep = is_odd};
  for (size_t s = 0; s < SPECS; s++) {
    made_spec spec = specs[s];
    fixture f = set_up(&spec, 3);
    furrow_search_params params;
    furrow_search_params_init(&params);
    params.nprobe = 8;
    for (params.max_codes = 1; params.max_codes < 3000; params.max_codes = params.max_codes * 3 + 1)
      for (params.filter = NULL;; params.filter = &half) {
        check_against_plain(&f, &params, 3, 10);
        if (params.filter) break;
      }
    tear_down(&f);
  }
}

static void with_filters(void **state) {
  int64_t sorted[2000];
  uint8_t bitmap[90000];
  fw_rng rng;
  (void)state;
  fw_rng_init(&rng, 3);
  for (size_t i = 0; i < 2000; i++) sorted[i] = (int64_t)(i * 400 + fw_rng_below(&rng, 400));
  for (size_t i = 0; i < sizeof bitmap; i++) bitmap[i] = (uint8_t)fw_rng_next(&rng);
  const furrow_id_filter filters[] = {
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .first = 1000, .end = 300000},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_RANGE, .first = 7, .end = 7},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED, .sorted = sorted, .sorted_count = 2000},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED},
      {.size = sizeof(furrow_id_filter),
       .kind = FURROW_ID_FILTER_BITMAP,
       .bitmap = bitmap,
       .bitmap_bytes = sizeof bitmap},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK, .keep = is_odd},
  };
  for (size_t s = 0; s < SPECS; s++) {
    made_spec spec = specs[s];
    fixture f = set_up(&spec, 4);
    for (size_t i = 0; i < 2 * sizeof filters / sizeof *filters; i++) {
      furrow_id_filter filter = filters[i / 2];
      furrow_search_params params;
      furrow_search_params_init(&params);
      filter.invert = i % 2;
      params.filter = &filter;
      params.nprobe = 12;
      check_against_plain(&f, &params, 4, 20);
    }
    tear_down(&f);
  }
}

static void filters_that_cannot_be(void **state) {
  const int64_t unsorted[] = {3, 1};
  const furrow_id_filter filters[] = {
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED, .sorted = unsorted, .sorted_count = 2},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_SORTED, .sorted_count = 2},
      {.size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_BITMAP, .bitmap_bytes = 2},
      {.size = sizeof(furrow_id_filter), .kind = (furrow_id_filter_kind)17},
      {.kind = FURROW_ID_FILTER_RANGE},
  };
  float distance;
  int64_t id;
  (void)state;
  fixture f = set_up(&specs[0], 1);
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    furrow_search_params params;
    furrow_error err = {0};
    furrow_search_params_init(&params);
    params.filter = &filters[i];
    assert_int_equal(furrow_searcher_search(f.searcher, f.queries, 1, 1, &params, &distance, &id, &err),
                     FURROW_E_ARGUMENT);
    assert_non_null(strstr(err.message, "filter"));
  }
  tear_down(&f);
}

static void in_ranges(void **state) {
  (void)state;
  for (size_t s = 0; s < SPECS; s++) {
    made_spec spec = specs[s];
    fixture f = set_up(&spec, 4);
    float distances[4 * 40];
    int64_t ids[4 * 40];
    furrow_search_params params;
    furrow_error err = {0};
    furrow_range_result *result = NULL;
    furrow_search_params_init(&params);
    params.nprobe = 5;
    search(&f, 0, 4, 40, &params, distances, ids);
    const float radius = distances[20];
    assert_int_equal(furrow_searcher_search_range(f.searcher, f.queries, 4, radius, &params, &result, &err), FURROW_OK);
    assert_int_equal(result->n, 4);
    for (size_t i = 0; i < 4; i++) {
      const bool similarity = spec.metric == FURROW_METRIC_IP;
      size_t near = 0;
      for (size_t j = 0; j < 40; j++)
        near += ids[i * 40 + j] >= 0 && (similarity ? distances[i * 40 + j] > radius : distances[i * 40 + j] < radius);
      const size_t count = (size_t)(result->starts[i + 1] - result->starts[i]);
      assert_true(near == 40 ? count >= 40 : count == near);
      for (size_t j = 0; j < count; j++) {
        const uint64_t at = result->starts[i] + j;
        assert_true(similarity ? result->distances[at] > radius : result->distances[at] < radius);
        if (j > 0) assert_true(result->ids[at - 1] <= result->ids[at]);
      }
    }
    furrow_range_result_free(result);
    tear_down(&f);
  }
}

/* Batches and threads change nothing. */
static void in_batches_and_threads(void **state) {
  static const size_t batches[] = {1, 19, 20, 64};
  enum { N = 64, K = 10 };
  (void)state;
  for (size_t s = 0; s < SPECS; s += 3) {
    made_spec spec = specs[s];
    fixture f = set_up(&spec, N);
    static float distances[N * K], want[N * K];
    static int64_t ids[N * K], want_ids[N * K];
    furrow_search_params params;
    furrow_search_params_init(&params);
    params.nprobe = 8;
    params.threads = 1;
    search(&f, 0, N, K, &params, want, want_ids);
    for (unsigned threads = 0; threads <= 5; threads++) {
      params.threads = threads;
      for (size_t b = 0; b < 4; b++) {
        for (size_t i = 0; i < N; i += batches[b])
          search(&f, i, N - i < batches[b] ? N - i : batches[b], K, &params, distances + i * K, ids + i * K);
        assert_memory_equal(distances, want, sizeof want);
        assert_memory_equal(ids, want_ids, sizeof want_ids);
      }
    }
    tear_down(&f);
  }
}

/* Enough for one query to be shared out; with ties at the end of the best. */
static void one_query_on_threads(void **state) {
  const made_spec spec = {.d = 64,
                          .nlist = 30,
                          .m = 64,
                          .nbits = 8,
                          .residual = false,
                          .metric = FURROW_METRIC_L2,
                          .scale = 1,
                          .most = 9000,
                          .distinct = 5000};
  float distances[100], want[100];
  int64_t ids[100], want_ids[100];
  furrow_search_params params;
  (void)state;
  fixture f = set_up(&spec, 4);
  furrow_search_params_init(&params);
  params.nprobe = 30;
  for (size_t i = 0; i < 4; i++) {
    params.threads = 1;
    search(&f, i, 1, 100, &params, want, want_ids);
    for (params.threads = 2; params.threads < 7; params.threads++) {
      search(&f, i, 1, 100, &params, distances, ids);
      assert_memory_equal(distances, want, sizeof want);
      assert_memory_equal(ids, want_ids, sizeof want_ids);
    }
  }
  tear_down(&f);
}

/* Distances are what the decoded vectors are away, in double precision. */
static void true_distances(void **state) {
  (void)state;
  for (size_t s = 0; s < SPECS; s++) {
    made_spec spec = specs[s];
    if (spec.m == 0 || spec.scale > 1e18F || spec.scale < 1e-18F || spec.distinct) continue;
    fixture f = set_up(&spec, 2);
    float distances[2 * 5], vector[512];
    int64_t ids[2 * 5];
    furrow_search_params params;
    furrow_search_params_init(&params);
    params.nprobe = 20;
    search(&f, 0, 2, 5, &params, distances, ids);
    for (size_t i = 0; i < 10; i++) {
      const float *q = f.queries + i / 5 * f.d;
      double best = INFINITY, size = 0;
      for (size_t list = 0; list < spec.nlist; list++) {
        const fw_list *l = &f.index->ivf.lists.list[list];
        for (size_t j = 0; j < l->size; j++) {
          if (fw_list_id(l, j) != ids[i]) continue;
          double sum = 0;
          fw_pq_decode(&f.index->ivf.pq, l->codes + j * f.index->ivf.code_size, vector);
          for (size_t k = 0; k < f.d; k++) {
            const double c = spec.residual ? f.index->child[0]->flat.vectors[list * f.d + k] : 0, x = c + vector[k];
            sum += spec.metric == FURROW_METRIC_IP ? q[k] * x : (q[k] - x) * (q[k] - x);
            size += fabs(q[k] * x);
          }
          if (fabs(sum - distances[i]) < best) best = fabs(sum - distances[i]);
        }
      }
      if (spec.offset == 0 && best > 1e-5 * (size + fabs((double)distances[i])))
        fail_msg("spec %zu: off by %g of %g", s, best, distances[i]);
      if (spec.offset != 0 && best > 1e-3 * fabs((double)distances[i]) + 1e-3)
        fail_msg("spec %zu: off by %g of %g", s, best, distances[i]);
    }
    tear_down(&f);
  }
}

static void what_is_refused(void **state) {
  float distance, odd[32] = {0};
  int64_t id;
  furrow_error err = {0};
  furrow_search_params params;
  furrow_range_result *result = NULL;
  (void)state;
  fixture f = set_up(&specs[0], 1);
  odd[31] = NAN;
  assert_int_equal(furrow_searcher_search(f.searcher, odd, 1, 1, NULL, &distance, &id, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "query 0"));
  for (size_t i = 0; i < 3; i++) {
    odd[31] = i == 0 ? INFINITY : i == 1 ? -INFINITY : 2e19F;
    assert_int_equal(furrow_searcher_search(f.searcher, odd, 1, 1, NULL, &distance, &id, &err), FURROW_E_RANGE);
    assert_non_null(strstr(err.message, "query 0"));
    assert_int_equal(furrow_searcher_search_range(f.searcher, odd, 1, 1, NULL, &result, &err), FURROW_E_RANGE);
  }
  assert_int_equal(furrow_searcher_search(f.searcher, f.queries, 1, 0, NULL, &distance, &id, &err), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_searcher_search_range(f.searcher, f.queries, 1, NAN, NULL, &result, &err), FURROW_E_ARGUMENT);
  furrow_search_params_init(&params);
  params.k_factor = -1;
  assert_int_equal(furrow_searcher_search(f.searcher, f.queries, 1, 1, &params, &distance, &id, &err),
                   FURROW_E_ARGUMENT);
  params.k_factor = 0;
  params.ef_search = -1;
  assert_int_equal(furrow_searcher_search(f.searcher, f.queries, 1, 1, &params, &distance, &id, &err),
                   FURROW_E_ARGUMENT);
  assert_int_equal(furrow_searcher_search(f.searcher, f.queries, 0, 1, NULL, &distance, &id, &err), FURROW_OK);
  furrow_searcher *searcher = NULL;
  f.index->trained = false;
  assert_int_equal(furrow_searcher_create(&searcher, f.index, NULL, &err), FURROW_E_STATE);
  f.index->trained = true;
  f.index->metric = FURROW_METRIC_L1;
  assert_int_equal(furrow_searcher_create(&searcher, f.index, NULL, &err), FURROW_E_UNSUPPORTED);
  f.index->metric = FURROW_METRIC_L2;
  assert_null(searcher);
  tear_down(&f);
}

/* Numbers that are not numbers never get in the way. */
static void odd_centroids(void **state) {
  float distances[20];
  int64_t ids[20];
  furrow_search_params params;
  (void)state;
  furrow_index *index = made_lists(&specs[0]);
  index->ivf.pq.centroids[40] = NAN;
  index->ivf.pq.centroids[400] = INFINITY;
  index->child[0]->flat.vectors[33] = NAN;
  fixture f = {.index = index, .d = specs[0].d};
  fw_rng rng;
  fw_rng_init(&rng, 5);
  f.queries = made_floats(&rng, f.d, 1, 0);
  assert_int_equal(furrow_searcher_create(&f.searcher, index, NULL, NULL), FURROW_OK);
  furrow_search_params_init(&params);
  params.nprobe = 40;
  search(&f, 0, 1, 20, &params, distances, ids);
  for (size_t i = 0; i < 20; i++) assert_true(ids[i] >= 0 && isfinite(distances[i]));
  check_against_plain(&f, &params, 1, 20);
  tear_down(&f);
}

/* One centroid that is far away from all others leaves results of the other lists as they were. */
static void far_centroid(void **state) {
  const float far[] = {1e8F, -1e8F, 3e38F, -3e38F};
  float want[20], distances[20];
  int64_t want_ids[20], ids[20];
  furrow_search_params params;
  (void)state;
  furrow_search_params_init(&params);
  for (size_t i = 0; i < 4; i++) {
    fixture f = set_up(&specs[0], 1);
    /* where the list of the far centroid is empty, it is nowhere in the results that are wanted either */
    f.index->ivf.lists.list[7].size = 0;
    furrow_searcher_free(f.searcher);
    assert_int_equal(furrow_searcher_create(&f.searcher, f.index, NULL, NULL), FURROW_OK);
    params.nprobe = 40;
    search(&f, 0, 1, 20, &params, want, want_ids);
    furrow_searcher_free(f.searcher);
    for (size_t k = 0; k < f.d; k++) f.index->child[0]->flat.vectors[7 * f.d + k] = far[i];
    f.index->ivf.lists.list[7].size = 1;
    assert_int_equal(furrow_searcher_create(&f.searcher, f.index, NULL, NULL), FURROW_OK);
    search(&f, 0, 1, 20, &params, distances, ids);
    for (size_t j = 0; j < 20; j++) {
      assert_int_equal(ids[j], want_ids[j]);
      assert_true(fabsf(distances[j] - want[j]) <= 1e-5F * want[j]);
    }
    check_against_plain(&f, &params, 1, 20);
    tear_down(&f);
  }
}

/* More threads than there could ever be: as many as there is work for. */
static void too_many_threads(void **state) {
  float want[10 * 5], distances[10 * 5];
  int64_t want_ids[10 * 5], ids[10 * 5];
  furrow_search_params params;
  (void)state;
  fixture f = set_up(&specs[0], 10);
  furrow_search_params_init(&params);
  params.nprobe = 5;
  params.threads = 1;
  search(&f, 0, 10, 5, &params, want, want_ids);
  params.threads = UINT_MAX;
  search(&f, 0, 10, 5, &params, distances, ids);
  assert_memory_equal(distances, want, sizeof want);
  assert_memory_equal(ids, want_ids, sizeof want_ids);
  tear_down(&f);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(as_a_plain_scan),
      cmocka_unit_test(with_max_codes),
      cmocka_unit_test(with_filters),
      cmocka_unit_test(filters_that_cannot_be),
      cmocka_unit_test(in_ranges),
      cmocka_unit_test(in_batches_and_threads),
      cmocka_unit_test(one_query_on_threads),
      cmocka_unit_test(true_distances),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(odd_centroids),
      cmocka_unit_test(far_centroid),
      cmocka_unit_test(too_many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
