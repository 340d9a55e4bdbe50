/* tests/unit/vector/test_train.c: indexes made by spec, trained and filled. */
#include <math.h>

#include "base/rng.h"
#include "support/cmocka_all.h"
#include "support/failing_alloc.h"
#include "support/index_check.h"
#include "vector/index/index.h"
#include "vector/quantizer/opq.h"
#include "vector/quantizer/pq.h"
#include "vector/quantizer/principal.h"

enum { D = 16, N = 900, LISTS = 12 };

/* Vectors around some centres, whose dimensions depend on each other. */
static float *vectors_of(size_t n, uint64_t seed) {
  float *x = malloc(n * D * sizeof *x);
  fw_rng rng;
  assert_non_null(x);
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    const double centre = (double)fw_rng_below(&rng, 8), common = fw_rng_normal(&rng);
    for (size_t k = 0; k < D; k++)
      x[i * D + k] =
          (float)(sin(centre * (double)(k + 1)) + 0.4 * common * (double)(k % 3) + 0.3 * fw_rng_normal(&rng));
  }
  return x;
}

static furrow_index_spec plain_spec(void) {
  furrow_index_spec spec;
  furrow_index_spec_init(&spec);
  spec.d = D;
  spec.nlist = LISTS;
  spec.m = 4;
  spec.nbits = 5;
  return spec;
}

static furrow_index *make(const furrow_index_spec *spec) {
  furrow_index *index = NULL;
  furrow_error err = {0};
  if (furrow_index_create(&index, spec, &err) != FURROW_OK) print_error("%s\n", err.message);
  assert_non_null(index);
  assert_false(index->trained);
  return index;
}

static void train(furrow_index *index, const float *x, size_t n, unsigned threads) {
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = threads;
  furrow_error err = {0};
  if (furrow_index_train(index, x, n, &params, &err) != FURROW_OK) print_error("%s\n", err.message);
  assert_true(index->trained);
}

static void add(furrow_index *index, const float *x, size_t n, const int64_t *ids, unsigned threads) {
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.threads = threads;
  params.ids = ids;
  furrow_error err = {0};
  if (furrow_index_add(index, x, n, &params, NULL, &err) != FURROW_OK) print_error("%s\n", err.message);
  assert_int_equal(err.status, FURROW_OK);
}

/* ---- Every kind ---- */

#define SIZED .size = sizeof(furrow_index_spec)
static const struct {
  const char *name;
  furrow_index_spec spec;
} kinds[] = {
    {"flat lists", {SIZED, .metric = FURROW_METRIC_L2}},
    {"flat lists, inner product", {SIZED, .metric = FURROW_METRIC_IP}},
    {"residuals", {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true}},
    {"no residuals", {SIZED, .metric = FURROW_METRIC_L2, .m = 8, .nbits = 4}},
    {"inner product", {SIZED, .metric = FURROW_METRIC_IP, .m = 4, .nbits = 6, .by_residual = true}},
    {"one bit", {SIZED, .metric = FURROW_METRIC_L2, .m = 16, .nbits = 1, .by_residual = true}},
    {"nine bits", {SIZED, .metric = FURROW_METRIC_L2, .m = 2, .nbits = 9, .by_residual = true}},
    {"graph", {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .hnsw_m = 8}},
    {"rotation", {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .opq = true}},
    {"narrow rotation",
     {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .opq = true, .opq_d = 8}},
    {"unit length", {SIZED, .metric = FURROW_METRIC_IP, .m = 4, .nbits = 5, .by_residual = true, .normalize = true}},
    {"refined codes",
     {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .refine_m = 8, .refine_nbits = 6}},
    {"refined", {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .refine_flat = true}},
    {"all of it",
     {SIZED, .metric = FURROW_METRIC_L2, .m = 4, .nbits = 5, .by_residual = true, .opq = true, .normalize = true,
      .refine_flat = true, .id_map = true}},
};

static furrow_index *filled(const furrow_index_spec *spec, const float *x, size_t n, unsigned threads, size_t step) {
  furrow_index *index = make(spec);
  train(index, x, n, threads);
  for (size_t at = 0; at < n; at += step) add(index, x + at * D, n - at < step ? n - at : step, NULL, threads);
  return index;
}

/* The number of threads and of calls does not show; what comes out is a good file. */
static void test_every_kind(void **state) {
  (void)state;
  float *x = vectors_of(N, 1);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    furrow_index_spec spec = kinds[i].spec;
    spec.d = D;
    spec.nlist = LISTS;
    furrow_index *one = filled(&spec, x, N, 1, N), *three = filled(&spec, x, N, 3, 77), *again = NULL;
    index_file a = {0}, b = {0}, c = {0};
    furrow_error err = {0};
    print_message("%s\n", kinds[i].name);
    write_bytes(one, &a);
    write_bytes(three, &b);
    assert_same_bytes(&a, &b);
    if (read_bytes(&a, false, &again, &err) != FURROW_OK) print_error("%s\n", err.message);
    assert_non_null(again);
    write_bytes(again, &c);
    assert_same_bytes(&a, &c);
    const furrow_index *ivf = furrow_index_ivf(again);
    assert_int_equal(again->ntotal, N);
    assert_int_equal(fw_lists_stored(&ivf->ivf.lists), N);
    index_file_clear(&a);
    index_file_clear(&b);
    index_file_clear(&c);
    furrow_index_free(one);
    furrow_index_free(three);
    furrow_index_free(again);
  }
  free(x);
}

/* ---- How good ---- */

/* Mean square of what codes leave over, behind transforms. */
static double error_of(const furrow_index *index, const float *x, size_t n) {
  const furrow_index *ivf = furrow_index_ivf(index);
  const fw_lists *lists = &ivf->ivf.lists;
  const size_t d = (size_t)ivf->d;
  float *decoded = malloc(d * sizeof *decoded);
  double sum = 0;
  for (size_t l = 0; l < lists->nlist; l++) {
    const float *centroid = ivf->child[0]->flat.vectors + l * d;
    for (size_t i = 0; i < lists->list[l].size; i++) {
      fw_pq_decode(&ivf->ivf.pq, lists->list[l].codes + i * lists->code_size, decoded);
      const float *from = x + (size_t)fw_list_id(&lists->list[l], i) * d;
      for (size_t k = 0; k < d; k++) {
        const double rest = from[k] - (ivf->ivf.by_residual ? centroid[k] : 0) - decoded[k];
        sum += rest * rest;
      }
    }
  }
  free(decoded);
  return sum / (double)n;
}

static double error_with(furrow_index_spec spec, const float *x) {
  furrow_index *index = filled(&spec, x, N, 1, N);
  const double error = error_of(index, x, N);
  furrow_index_free(index);
  return error;
}

static void test_error_falls(void **state) {
  (void)state;
  float *x = vectors_of(N, 2);
  furrow_index_spec spec = plain_spec();
  const double plain = error_with(spec, x);
  spec.nbits = 7;
  assert_true(error_with(spec, x) < 0.8 * plain);
  spec.nbits = 5;
  spec.m = 8;
  assert_true(error_with(spec, x) < 0.7 * plain);
  spec.m = 4;
  spec.nlist = 60;
  assert_true(error_with(spec, x) < plain);
  free(x);
}

/* Distance between vectors and what is found of them, with the rotation undone: it is orthogonal. */
static double rotated_error(const furrow_index *index, const float *x) {
  const fw_transform *t = &index->transforms.list[index->transforms.count - 1];
  float *moved = malloc(N * D * sizeof *moved);
  assert_int_equal(t->a_count, D * D);
  for (size_t i = 0; i < N; i++) {
    for (size_t r = 0; r < D; r++) {
      double sum = 0;
      for (size_t k = 0; k < D; k++) sum += (double)t->a[r * D + k] * x[i * D + k];
      moved[i * D + r] = (float)sum;
    }
  }
  const double error = error_of(index, moved, N);
  free(moved);
  return error;
}

static void test_rotation_helps(void **state) {
  (void)state;
  float *x = vectors_of(N, 3);
  furrow_index_spec spec = plain_spec();
  spec.nlist = 1;
  spec.by_residual = false;
  const double plain = error_with(spec, x);
  spec.opq = true;
  furrow_index *index = filled(&spec, x, N, 1, N);
  assert_true(rotated_error(index, x) < 0.9 * plain);
  const float *a = index->transforms.list[0].a;
  for (size_t i = 0; i < D; i++) {
    for (size_t j = 0; j < D; j++) {
      double product = 0;
      for (size_t k = 0; k < D; k++) product += (double)a[i * D + k] * a[j * D + k];
      assert_true(fabs(product - (i == j)) < 1e-5);
    }
  }
  furrow_index_free(index);
  free(x);
}

/* The nearest orthogonal matrix of one that is not even regular. */
static void test_polar(void **state) {
  (void)state;
  enum { S = 7 };
  for (int rank = 0; rank <= S; rank++) {
    double a[S * S], kept[S * S], q[S * S], trace = 0;
    fw_rng rng;
    fw_rng_init(&rng, (uint64_t)rank);
    for (int j = 0; j < S; j++)
      for (int i = 0; i < S; i++) a[j * S + i] = j < rank ? fw_rng_normal(&rng) : 0;
    memcpy(kept, a, sizeof a);
    assert_int_equal(fw_polar(a, q, S, NULL), FURROW_OK);
    for (int i = 0; i < S; i++) {
      for (int j = 0; j < S; j++) {
        double product = 0;
        for (int k = 0; k < S; k++) product += q[i * S + k] * q[j * S + k];
        assert_true(fabs(product - (i == j)) < 1e-10);
        trace += q[i * S + j] * kept[i * S + j];
      }
    }
    /* The largest trace of q^T a there is: the sum of the singular values. */
    double v[S * S], values = 0;
    fw_svd(kept, v, S);
    for (int j = 0; j < S; j++) {
      double square = 0;
      for (int i = 0; i < S; i++) square += kept[j * S + i] * kept[j * S + i];
      values += sqrt(square);
    }
    assert_true(fabs(trace - values) < 1e-9);
  }
}

/* ---- Refusals ---- */

static void expect_refused(const furrow_index_spec *spec, const char *field) {
  furrow_index *index = NULL;
  furrow_error err = {0};
  assert_int_equal(furrow_index_create(&index, spec, &err), FURROW_E_ARGUMENT);
  assert_null(index);
  if (!strstr(err.message, field)) print_error("%s: %s\n", field, err.message);
  assert_non_null(strstr(err.message, field));
}

static void test_bad_specs(void **state) {
  (void)state;
  furrow_index_spec s;
#define REFUSED(field, ...)     \
  do {                          \
    s = plain_spec();           \
    __VA_ARGS__;                \
    expect_refused(&s, #field); \
  } while (0)
  REFUSED(d, s.d = 0);
  REFUSED(nlist, s.nlist = 0);
  REFUSED(m, s.m = 5);
  REFUSED(m, s.m = 32);
  REFUSED(nbits, s.nbits = 0);
  REFUSED(nbits, s.nbits = 17);
  REFUSED(metric, s.metric = FURROW_METRIC_L1);
  REFUSED(opq_d, s.opq_d = 8);
  REFUSED(opq_d, s.opq_d = 17, s.opq = true);
  REFUSED(m, s.opq_d = 6, s.opq = true);
  REFUSED(opq, s.m = 0, s.opq = true);
  REFUSED(refine_m, s.refine_m = 3);
  REFUSED(refine_m, s.refine_m = 4, s.metric = FURROW_METRIC_IP);
  REFUSED(refine_m, s.refine_m = 4, s.m = 0);
  REFUSED(by_residual, s.refine_m = 4, s.by_residual = false);
  REFUSED(refine_nbits, s.refine_m = 4, s.refine_nbits = 0);
  REFUSED(k_factor, s.k_factor = 2);
  REFUSED(k_factor, s.k_factor = NAN, s.refine_flat = true);
  REFUSED(hnsw_m, s.hnsw_m = 1);
#undef REFUSED
}

static void test_refused_training(void **state) {
  (void)state;
  float *x = vectors_of(N, 4);
  furrow_index_spec spec = plain_spec();
  furrow_index *index = make(&spec);
  index_file before = {0}, after = {0};
  furrow_error err = {0};
  write_bytes(index, &before);
  assert_int_equal(furrow_index_train(index, x, 31, NULL, &err), FURROW_E_ARGUMENT);
  assert_non_null(strstr(err.message, "32"));
  x[700 * D + 3] = INFINITY;
  assert_int_equal(furrow_index_train(index, x, N, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "700"));
  x[699 * D] = 2e19F; /* its square is infinite */
  assert_int_equal(furrow_index_train(index, x, N, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "699"));
  assert_non_null(strstr(err.message, "too large"));
  x[699 * D] = 1;
  assert_int_equal(furrow_index_add(index, x, 5, NULL, NULL, &err), FURROW_E_STATE);
  write_bytes(index, &after);
  assert_same_bytes(&before, &after);
  train(index, x, 700, 1);
  assert_int_equal(furrow_index_train(index, x, 700, NULL, &err), FURROW_E_ARGUMENT);
  index_file_clear(&before);
  index_file_clear(&after);
  furrow_index_free(index);
  free(x);
}

static void test_train_size(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec();
  spec.nlist = 100;
  furrow_index *index = make(&spec);
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  assert_int_equal(furrow_index_train_sample_size(index, NULL), 25600);
  params.sample_per_list = 50;
  assert_int_equal(furrow_index_train_sample_size(index, &params), 5000);
  furrow_index_free(index);
  spec.nbits = 8;
  index = make(&spec);
  assert_int_equal(furrow_index_train_sample_size(index, NULL), 65536);
  furrow_index_free(index);
}

static bool stop(void *user, const char *phase, uint64_t done, uint64_t total) {
  assert_true(done >= 1 && done <= total);
  return strcmp(phase, user) != 0;
}

static void test_progress_stops(void **state) {
  (void)state;
  char *phases[] = {"coarse", "pq", "refine", "opq"};
  float *x = vectors_of(N, 5);
  furrow_index_spec spec = plain_spec();
  spec.refine_m = 4;
  spec.refine_nbits = 4;
  spec.opq = true;
  for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
    furrow_index *index = make(&spec);
    furrow_index_train_params params;
    furrow_index_train_params_init(&params);
    params.progress = stop;
    params.user = phases[i];
    params.threads = 2;
    assert_int_equal(furrow_index_train(index, x, N, &params, NULL), FURROW_E_CANCELLED);
    assert_false(index->trained);
    furrow_index_free(index);
  }
  free(x);
}

/* ---- Adding ---- */

static void test_not_finite(void **state) {
  (void)state;
  float *x = vectors_of(N, 6);
  furrow_index_spec spec = plain_spec();
  furrow_index *index = make(&spec);
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  furrow_error err = {0};
  uint64_t skipped = 0;
  train(index, x, N, 1);
  x[10 * D] = NAN;
  x[800 * D + 5] = -INFINITY;
  x[801 * D + 5] = 3e38F;
  assert_int_equal(furrow_index_add(index, x, N, &params, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "vector 10 "));
  assert_int_equal(index->ntotal, 0);
  assert_int_equal(furrow_index_add(index, x + 801 * D, 1, &params, NULL, &err), FURROW_E_RANGE);
  assert_non_null(strstr(err.message, "vector 0 "));
  params.skip_nan = true;
  assert_int_equal(furrow_index_add(index, x, N, &params, &skipped, &err), FURROW_OK);
  assert_int_equal(skipped, 3);
  assert_int_equal(index->ntotal, N);
  assert_int_equal(fw_lists_stored(&index->ivf.lists), N - skipped);
  for (size_t l = 0; l < LISTS; l++)
    for (size_t i = 0; i < index->ivf.lists.list[l].size; i++) {
      const int64_t id = fw_list_id(&index->ivf.lists.list[l], i);
      assert_true(id != 10 && id != 800 && id != 801);
    }
  furrow_index_free(index);
  free(x);
}

static void test_own_ids(void **state) {
  (void)state;
  float *x = vectors_of(N, 7);
  int64_t ids[N];
  for (int64_t i = 0; i < N; i++) ids[i] = 1000000007 * i - 5;
  furrow_index_spec spec = plain_spec();
  furrow_index *index = make(&spec);
  train(index, x, N, 1);
  add(index, x, N, ids, 2);
  for (size_t l = 0; l < LISTS; l++)
    for (size_t i = 1; i < index->ivf.lists.list[l].size; i++)
      assert_true(fw_list_id(&index->ivf.lists.list[l], i) > fw_list_id(&index->ivf.lists.list[l], i - 1));
  furrow_index_free(index);
  /* Where vectors are found by number, an id map is needed. */
  spec.refine_flat = true;
  for (int map = 0; map < 2; map++) {
    spec.id_map = map;
    index = make(&spec);
    train(index, x, N, 1);
    furrow_index_add_params params;
    furrow_index_add_params_init(&params);
    params.ids = ids;
    assert_int_equal(furrow_index_add(index, x, N, &params, NULL, NULL), map ? FURROW_OK : FURROW_E_ARGUMENT);
    assert_int_equal(index->ntotal, map ? N : 0);
    if (map) assert_memory_equal(index->id_map.ids, ids, sizeof ids);
    furrow_index_free(index);
  }
  free(x);
}

/* An id that comes again has its new place, and one pair. */
static void test_hashtable(void **state) {
  (void)state;
  float *x = vectors_of(N, 8);
  int64_t ids[N];
  for (int64_t i = 0; i < N; i++) ids[i] = (i * 7) % 600;
  furrow_index_spec spec = plain_spec();
  furrow_index *index = make(&spec);
  train(index, x, N, 1);
  index->ivf.direct_map.type = FURROW_DIRECT_MAP_HASHTABLE;
  add(index, x, 500, ids, 2);
  assert_int_equal(index->ivf.direct_map.count, 500);
  add(index, x + 500 * D, N - 500, ids + 500, 2);
  const fw_direct_map *map = &index->ivf.direct_map;
  assert_int_equal(map->count, 600);
  for (size_t i = 0; i < map->count; i++) {
    const fw_list *list = &index->ivf.lists.list[map->pairs[i].location >> 32];
    assert_true(fw_list_id(list, (size_t)(map->pairs[i].location & UINT32_MAX)) == map->pairs[i].id);
  }
  furrow_index_free(index);
  free(x);
}

/* ---- Failures ---- */

static void test_every_allocation_fails(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float *x = vectors_of(N, 9);
  furrow_index_spec spec = plain_spec();
  spec.opq = spec.refine_flat = spec.id_map = true;
  spec.nbits = 3;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  furrow_index_add_params add_params;
  furrow_index_add_params_init(&add_params);
  params.threads = add_params.threads = 1;
  params.coarse_rounds = params.pq_rounds = 1;
  bool done = false;
  for (long n = 1; !done; n += 1 + n / 16) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    alloc_fail_at(n);
    furrow_status status = furrow_index_create(&index, &spec, &err);
    if (status == FURROW_OK) status = furrow_index_train(index, x, 100, &params, &err);
    if (status != FURROW_OK && index) assert_false(index->trained);
    done = status == FURROW_OK;
    alloc_fail_at(0);
    assert_true(done || status == FURROW_E_MEMORY);
    if (done) {
      add(index, x, 300, NULL, 1);
      for (long k = 1, ended = 0; !ended; k++) {
        alloc_fail_at(k);
        status = furrow_index_add(index, x, 50, &add_params, NULL, &err);
        alloc_fail_at(0);
        ended = status == FURROW_OK;
        assert_int_equal(index->ntotal, ended ? 350 : 300);
        assert_int_equal(fw_lists_stored(&furrow_index_ivf(index)->ivf.lists), ended ? 350 : 300);
        assert_int_equal(index->child[0]->child[1]->ntotal, ended ? 350 : 300);
      }
    }
    furrow_index_free(index);
  }
  free(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kind),     cmocka_unit_test(test_error_falls),
      cmocka_unit_test(test_rotation_helps), cmocka_unit_test(test_polar),
      cmocka_unit_test(test_bad_specs),      cmocka_unit_test(test_refused_training),
      cmocka_unit_test(test_train_size),     cmocka_unit_test(test_progress_stops),
      cmocka_unit_test(test_not_finite),     cmocka_unit_test(test_own_ids),
      cmocka_unit_test(test_hashtable),      cmocka_unit_test(test_every_allocation_fails),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
