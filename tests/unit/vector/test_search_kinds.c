/* tests/unit/vector/test_search_kinds.c: every kind of index is searched as a plain loop over the vectors of its file,
 * in double precision, would do it. */
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/made_kinds.h"

enum { QUERIES = 6 };

/* ---- Distances ---- */

static double l2(double x, double y) {
  return (x - y) * (x - y);
}
static double ip(double x, double y) {
  return x * y;
}
static double l1(double x, double y) {
  return fabs(x - y);
}
static double cube(double x, double y) {
  return pow(fabs(x - y), 3);
}
static double canberra(double x, double y) {
  return fabs(x - y) / (fabs(x) + fabs(y));
}
static double jensen_shannon(double x, double y) {
  return 0.5 * (x * log(2 * x / (x + y)) + y * log(2 * y / (x + y)));
}
static double present(double x, double y) {
  return !isnan(x) && !isnan(y);
}
static double present_l2(double x, double y) {
  return present(x, y) != 0 ? l2(x, y) : 0;
}
static double absolute_sum(double x, double y) {
  return fabs(x + y);
}

static double sum_of(double (*term)(double x, double y), const float *x, const float *y) {
  double sum = 0;
  for (size_t i = 0; i < KIND_D; i++) sum += term((double)x[i], (double)y[i]);
  return sum;
}

static double most_of(double (*term)(double x, double y), const float *x, const float *y) {
  double most = 0;
  for (size_t i = 0; i < KIND_D; i++) most = fmax(most, term((double)x[i], (double)y[i]));
  return most;
}

static double distance(int metric, const float *x, const float *y) {
  switch (metric) {
  case FURROW_METRIC_IP: return sum_of(ip, x, y);
  case FURROW_METRIC_L1: return sum_of(l1, x, y);
  case FURROW_METRIC_LINF: return most_of(l1, x, y);
  case FURROW_METRIC_LP: return sum_of(cube, x, y);
  case FURROW_METRIC_CANBERRA: return sum_of(canberra, x, y);
  case FURROW_METRIC_BRAY_CURTIS: return sum_of(l1, x, y) / sum_of(absolute_sum, x, y);
  case FURROW_METRIC_JENSEN_SHANNON: return sum_of(jensen_shannon, x, y);
  case FURROW_METRIC_JACCARD: return sum_of(fmin, x, y) / sum_of(fmax, x, y);
  case FURROW_METRIC_NAN_EUCLIDEAN: return KIND_D / sum_of(present, x, y) * sum_of(present_l2, x, y);
  default: return sum_of(l2, x, y);
  }
}

/* Smaller is better. */
static double key_of(int metric, const float *x, const float *y) {
  const bool similarity = metric == FURROW_METRIC_IP || metric == FURROW_METRIC_JACCARD;
  return similarity ? -distance(metric, x, y) : distance(metric, x, y);
}

/* ---- Transforms ---- */

static void to_length_1(float *x, int n) {
  double square = 0;
  for (int i = 0; i < n; i++) square += (double)x[i] * x[i];
  for (int i = 0; i < n; i++) x[i] = (float)(x[i] / sqrt(square));
}

static void apply(const kind_step *s, float *x) {
  float y[KIND_WIDTH] = {0};
  const bool itq = strcmp(s->fourcc, "Viqt") == 0, centre = itq || strcmp(s->fourcc, "VCnt") == 0;
  for (int i = 0; centre && i < s->in; i++) x[i] -= s->mean[i];
  if (itq || strcmp(s->fourcc, "VNrm") == 0) to_length_1(x, s->in);
  if (strcmp(s->fourcc, "VCnt") == 0 || strcmp(s->fourcc, "VNrm") == 0) return;
  for (int i = 0; i < s->out; i++) {
    double sum = (double)s->b[i];
    for (int j = 0; j < s->in; j++) sum += (double)s->a[i * s->in + j] * x[j];
    y[i] = strcmp(s->fourcc, "RmDT") != 0 ? (float)sum : s->map[i] < 0 ? 0 : x[s->map[i]];
  }
  memcpy(x, y, sizeof y);
}

/* ---- The plain search ---- */

typedef struct hit {
  double key;
  const known *one;
} hit;

typedef struct answer {
  size_t count;
  hit hits[KIND_N];
} answer;

static int by_key(const void *a, const void *b) {
  const hit *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Whether fewer than nprobe lists are nearer. */
static bool is_probed(const made_kind *k, const float *query, size_t list, size_t nprobe) {
  size_t nearer = 0;
  if (k->nlist == 0) return true;
  for (size_t i = 0; i < k->nlist; i++)
    nearer += key_of(k->metric, query, k->centroids[i]) < key_of(k->metric, query, k->centroids[list]);
  return nearer < nprobe;
}

/* All that can be found, best first, by distances of what the codes stand for. */
static void plain_search(const made_kind *k, const float *query, const furrow_search_params *params, answer *a) {
  float x[KIND_WIDTH] = {0};
  memcpy(x, query, KIND_D * sizeof *query);
  for (size_t i = 0; i < k->step_count; i++) apply(&k->steps[i], x);
  a->count = 0;
  for (size_t i = 0; i < KIND_N; i++) {
    const known *one = &k->known[i];
    if (!is_probed(k, x, one->list, params->nprobe ? (size_t)params->nprobe : 2)) continue;
    if (params->filter && !furrow_id_filter_keeps(params->filter, one->id)) continue;
    a->hits[a->count++] = (hit){key_of(k->metric, x, one->vector), one};
  }
  qsort(a->hits, a->count, sizeof *a->hits, by_key);
}

/* The best are looked at once more, with better vectors. */
static void refine(const made_kind *k, const float *query, const furrow_search_params *params, size_t wanted,
                   answer *a) {
  const float factor = params->k_factor > 0 ? params->k_factor : k->k_factor;
  const size_t wide = (size_t)((float)wanted * factor);
  if (k->k_factor == 0) return;
  if (a->count > wide) a->count = wide;
  for (size_t i = 0; i < a->count; i++) a->hits[i].key = key_of(k->metric, query, a->hits[i].one->better);
  qsort(a->hits, a->count, sizeof *a->hits, by_key);
}

/* ---- Comparing ---- */

typedef struct fixture {
  made_kind kind;
  const char *name;
  float queries[QUERIES * KIND_D];
  furrow_index *index;
  furrow_searcher *searcher;
} fixture;

static void set_up(fixture *f, const kind_case *c) {
  furrow_error err = {0};
  *f = (fixture){.name = c->name};
  make_kind(&f->kind, c);
  draw_numbers(&f->kind, f->queries, QUERIES * KIND_D, 1);
  if (furrow_index_read(&f->index, f->kind.file.bytes, f->kind.file.size, NULL, NULL, &err) != FURROW_OK ||
      furrow_searcher_create(&f->searcher, f->index, NULL, &err) != FURROW_OK)
    fail_msg("%s: %s", f->name, err.message);
}

static void tear_down(fixture *f) {
  furrow_searcher_free(f->searcher);
  furrow_index_free(f->index);
  index_file_clear(&f->kind.file);
}

static void expect_hit(const fixture *f, const hit *want, float got, int64_t id) {
  const bool similarity = f->kind.metric == FURROW_METRIC_IP || f->kind.metric == FURROW_METRIC_JACCARD;
  const double there = similarity ? -want->key : want->key;
  if (id != want->one->id || !(fabs((double)got - there) <= 1e-5 * (1 + fabs(there))))
    fail_msg("%s: %lld at %g for %lld at %g", f->name, (long long)id, (double)got, (long long)want->one->id, there);
}

static void expect_plain(const fixture *f, const furrow_search_params *params, size_t k) {
  float distances[QUERIES * (KIND_N + 5)];
  int64_t ids[QUERIES * (KIND_N + 5)];
  furrow_error err = {0};
  if (furrow_searcher_search(f->searcher, f->queries, QUERIES, k, params, distances, ids, &err) != FURROW_OK)
    fail_msg("%s: %s", f->name, err.message);
  for (size_t i = 0; i < QUERIES; i++) {
    answer a;
    plain_search(&f->kind, f->queries + i * KIND_D, params, &a);
    refine(&f->kind, f->queries + i * KIND_D, params, k, &a);
    for (size_t j = 0; j < k; j++)
      if (j < a.count)
        expect_hit(f, &a.hits[j], distances[i * k + j], ids[i * k + j]);
      else
        assert_int_equal(ids[i * k + j], -1);
  }
}

static int by_id(const void *a, const void *b) {
  const hit *x = a, *y = b;
  return (x->one->id > y->one->id) - (x->one->id < y->one->id);
}

/* One query; the radius is between two vectors, so that `count` are within it. */
static void expect_plain_range(const fixture *f, const furrow_search_params *params, const answer *a, size_t count) {
  const bool similarity = f->kind.metric == FURROW_METRIC_IP || f->kind.metric == FURROW_METRIC_JACCARD;
  const double radius = (a->hits[count - 1].key + a->hits[count].key) / 2;
  furrow_range_result *result = NULL;
  furrow_error err = {0};
  hit want[KIND_N];
  if (furrow_searcher_search_range(f->searcher, f->queries, 1, (float)(similarity ? -radius : radius), params, &result,
                                   &err) != FURROW_OK)
    fail_msg("%s: %s", f->name, err.message);
  memcpy(want, a->hits, count * sizeof *want);
  qsort(want, count, sizeof *want, by_id);
  if (result->starts[1] != count) fail_msg("%s: %zu for %zu", f->name, (size_t)result->starts[1], count);
  for (size_t i = 0; i < count; i++) expect_hit(f, &want[i], result->distances[i], result->ids[i]);
  furrow_range_result_free(result);
}

/* ---- Tests ---- */

static bool is_even(void *user, int64_t id) {
  (void)user;
  return id % 2 == 0;
}

static const furrow_id_filter even = {
    .size = sizeof(furrow_id_filter), .kind = FURROW_ID_FILTER_CALLBACK, .keep = is_even};

/* Graphs look at all their vectors. */
static furrow_search_params all_of_graphs(void) {
  furrow_search_params params;
  furrow_search_params_init(&params);
  params.ef_search = KIND_N;
  return params;
}

static void the_best(void **state) {
  static const size_t ks[] = {1, 7, KIND_N, KIND_N + 5};
  (void)state;
  for (size_t c = 0; c < KIND_CASES; c++) {
    fixture f;
    furrow_search_params params = all_of_graphs();
    set_up(&f, &kind_cases[c]);
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
      for (params.nprobe = 0; params.nprobe <= 16; params.nprobe = params.nprobe * 4 + 1)
        expect_plain(&f, &params, ks[i]);
    tear_down(&f);
  }
}

static void the_best_of_some(void **state) {
  (void)state;
  for (size_t c = 0; c < KIND_CASES; c++) {
    fixture f;
    furrow_search_params params = all_of_graphs();
    set_up(&f, &kind_cases[c]);
    params.filter = &even;
    for (params.nprobe = 1; params.nprobe <= 16; params.nprobe += 5) expect_plain(&f, &params, 7);
    tear_down(&f);
  }
}

/* The factor of the call goes before that of the file; 1: what the codes found is only put in another order. */
static void refined_more_or_less(void **state) {
  static const float factors[] = {1, 2.5F, 1000};
  (void)state;
  for (size_t c = 0; c < KIND_CASES; c++) {
    fixture f;
    furrow_search_params params = all_of_graphs();
    set_up(&f, &kind_cases[c]);
    params.nprobe = 3;
    for (size_t i = 0; f.kind.k_factor > 0 && i < sizeof factors / sizeof *factors; i++) {
      params.k_factor = factors[i];
      expect_plain(&f, &params, 10);
    }
    tear_down(&f);
  }
}

/* By the distances of the codes, also where a search would refine them; but not graphs, nor refinements by vectors. */
static void within_a_radius(void **state) {
  (void)state;
  for (size_t c = 0; c < KIND_CASES; c++) {
    fixture f;
    furrow_search_params params = all_of_graphs();
    set_up(&f, &kind_cases[c]);
    answer a;
    params.nprobe = 3;
    plain_search(&f.kind, f.queries, &params, &a);
    if (kind_cases[c].make == make_hnsw || kind_cases[c].make == make_refine) {
      furrow_range_result *result = NULL;
      assert_int_equal(furrow_searcher_search_range(f.searcher, f.queries, 1, 1, &params, &result, NULL),
                       FURROW_E_UNSUPPORTED);
      assert_null(result);
    } else {
      expect_plain_range(&f, &params, &a, 1);
      expect_plain_range(&f, &params, &a, a.count - 1);
    }
    tear_down(&f);
  }
}

/* A chain whose vectors come nearer, go away, and come nearer still: few candidates stay before the hill. */
static void a_graph_is_walked(void **state) {
  static const float line[] = {5, 4, 3, 9, 8, 0.5F};
  enum { N = sizeof line / sizeof *line };
  index_file file = {0};
  furrow_index *index = NULL;
  furrow_searcher *searcher = NULL;
  furrow_search_params params;
  const float query = 0;
  float found;
  int64_t id;
  (void)state;
  put_header(&file, "IHNf", 1, N, true, 1);
  put_long(&file, 0);
  put_long(&file, 2);
  put_word(&file, 0);
  put_word(&file, 2);
  put_long(&file, N);
  for (int i = 0; i < N; i++) put_word(&file, 1);
  put_long(&file, N + 1);
  for (int i = 0; i <= N; i++) put_long(&file, 2 * i);
  put_long(&file, 2 * N);
  for (int i = 0; i < N; i++) {
    put_word(&file, i > 0 ? i - 1 : i + 1);
    put_word(&file, i > 0 && i + 1 < N ? i + 1 : -1);
  }
  put_word(&file, 0); /* entry_point */
  put_word(&file, 0);
  put_word(&file, 40);
  put_word(&file, 1); /* efSearch */
  put_word(&file, 1);
  put_header(&file, "IxF2", 1, N, true, 1);
  put_numbers(&file, line, N);
  assert_int_equal(furrow_index_read(&index, file.bytes, file.size, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  furrow_search_params_init(&params);
  for (params.ef_search = 0; params.ef_search <= N; params.ef_search += N) {
    assert_int_equal(furrow_searcher_search(searcher, &query, 1, 1, &params, &found, &id, NULL), FURROW_OK);
    assert_int_equal(id, params.ef_search == 0 ? 2 : 5);
    assert_float_equal(found, params.ef_search == 0 ? 9 : 0.25F, 0);
  }
  furrow_searcher_free(searcher);
  furrow_index_free(index);
  index_file_clear(&file);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best),        cmocka_unit_test(the_best_of_some),  cmocka_unit_test(refined_more_or_less),
      cmocka_unit_test(within_a_radius), cmocka_unit_test(a_graph_is_walked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
