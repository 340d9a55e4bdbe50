/* tests/unit/vector/test_search_golden.c: answers are those of Faiss, for index files and queries of golden/faiss. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>

#include "base/json_in.h"
#include "furrow/vector.h"
#include "support/cmocka_all.h"
#include "support/each_isa.h"
#include "support/golden_set.h"
#include "vector/index/index.h"

enum { TEXT = 128, PROBES = 8 };

/* Distances of builds differ in the last digits. Those of 4-bit codes in blocks are coarse in Faiss, and exact here. */
static const double NOISE = 1e-5, COARSE_NOISE = 0.04;

typedef struct golden {
  char index[TEXT], query[TEXT], ids[TEXT], dis[TEXT], range_lims[TEXT], range_ids[TEXT], range_dis[TEXT];
  int64_t d, nq, k, nprobe[PROBES], range_nprobe;
  size_t nprobe_count;
  double radius;
  double noise;
} golden;

/* ---- Reading ---- */

static char root[TEST_PATH];

static void *read_file(const char *name, size_t *size) {
  char path[2 * TEST_PATH];
  snprintf(path, sizeof path, "%s/%s", root, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  bytes[*size] = 0;
  fclose(file);
  if (strstr(name, ".f32")) fw_swap_le(bytes, sizeof(float), *size / sizeof(float));
  if (strstr(name, ".i64")) fw_swap_le(bytes, sizeof(int64_t), *size / sizeof(int64_t));
  return bytes;
}

static furrow_status take_text(furrow_json *json, char to[TEXT], furrow_error *err) {
  furrow_json_text text;
  const furrow_status status = furrow_json_string(json, &text, err);
  if (status == FURROW_OK) snprintf(to, TEXT, "%.*s", (int)text.size, text.bytes);
  return status;
}

static furrow_status take_range(furrow_json *json, golden *g, furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    if (furrow_json_is(key, "radius"))
      status = furrow_json_f64(json, &g->radius, err);
    else if (furrow_json_is(key, "nprobe"))
      status = furrow_json_i64(json, &g->range_nprobe, err);
    else if (furrow_json_is(key, "lims"))
      status = take_text(json, g->range_lims, err);
    else if (furrow_json_is(key, "ids"))
      status = take_text(json, g->range_ids, err);
    else if (furrow_json_is(key, "dis"))
      status = take_text(json, g->range_dis, err);
    else
      status = furrow_json_skip(json, NULL, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_probes(furrow_json *json, golden *g, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    assert_true(g->nprobe_count < PROBES);
    status = furrow_json_i64(json, &g->nprobe[g->nprobe_count++], err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status take_member(furrow_json *json, furrow_json_text key, golden *g, furrow_error *err) {
  if (furrow_json_is(key, "index")) return take_text(json, g->index, err);
  if (furrow_json_is(key, "query")) return take_text(json, g->query, err);
  if (furrow_json_is(key, "ids")) return take_text(json, g->ids, err);
  if (furrow_json_is(key, "dis")) return take_text(json, g->dis, err);
  if (furrow_json_is(key, "d")) return furrow_json_i64(json, &g->d, err);
  if (furrow_json_is(key, "nq")) return furrow_json_i64(json, &g->nq, err);
  if (furrow_json_is(key, "k")) return furrow_json_i64(json, &g->k, err);
  if (furrow_json_is(key, "nprobe")) return take_probes(json, g, err);
  if (furrow_json_is(key, "range")) return take_range(json, g, err);
  return furrow_json_skip(json, NULL, err);
}

static void read_golden(const char *name, golden *g) {
  furrow_json json;
  furrow_json_text key;
  furrow_error err = {0};
  size_t size;
  char *text = read_file(name, &size);
  *g = (golden){0};
  fw_json_open(&json, text, size, name);
  furrow_status status = furrow_json_object(&json, &err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, &err)) == FURROW_OK)
    status = take_member(&json, key, g, &err);
  if (status != FURROW_END) fail_msg("%s: %s", name, err.message);
  fw_json_close(&json);
  free(text);
}

/* ---- Comparing ---- */

static bool is_near(float a, float b, double noise) {
  return a == b || fabs((double)a - b) <= noise * (fabs((double)a) + fabs((double)b)) + 1e-6;
}

/* Ids may differ only where distances do not: each of ours is theirs, or its distance is that of their place, and the
 * distances agree place by place. */
static void compare_row(const char *name, double noise, const float *dis, const int64_t *ids, const float *want_dis,
                        const int64_t *want_ids, int64_t k) {
  for (int64_t j = 0; j < k; j++) {
    if (!is_near(dis[j], want_dis[j], noise))
      fail_msg("%s: distance %g (id %lld) for %g (id %lld) at place %lld", name, dis[j], (long long)ids[j], want_dis[j],
               (long long)want_ids[j], (long long)j);
    if (ids[j] == want_ids[j]) continue;
    const bool tied = (j > 0 && is_near(want_dis[j - 1], want_dis[j], noise)) ||
                      (j + 1 < k && is_near(want_dis[j + 1], want_dis[j], noise)) || j + 1 == k;
    if (!tied || (ids[j] < 0) != (want_ids[j] < 0))
      fail_msg("%s: id %lld for %lld at place %lld", name, (long long)ids[j], (long long)want_ids[j], (long long)j);
  }
}

/* Distances are those of the vectors that codes decode to. */
static void check_decoded(const char *name, const golden *g, const furrow_index *index, const float *queries,
                          const float *dis, const int64_t *ids) {
  float *vector = malloc((size_t)g->d * sizeof *vector);
  for (int64_t i = 0; i < g->nq * g->k; i++) {
    const float *query = queries + i / g->k * g->d;
    double square = 0, product = 0;
    if (ids[i] < 0) continue;
    assert_int_equal(furrow_index_reconstruct(index, ids[i], vector, NULL), FURROW_OK);
    for (int64_t j = 0; j < g->d; j++) {
      square += ((double)query[j] - vector[j]) * ((double)query[j] - vector[j]);
      product += (double)query[j] * vector[j];
    }
    const double want = index->metric == FURROW_METRIC_IP ? product : square;
    if (fabs(want - dis[i]) > 1e-5 * square)
      fail_msg("%s: %g for id %lld at %g", name, dis[i], (long long)ids[i], want);
  }
  free(vector);
}

static void compare_search(const char *name, const golden *g, const furrow_index *index,
                           const furrow_searcher *searcher, const float *queries) {
  const size_t count = (size_t)(g->nq * g->k);
  size_t size;
  float *want_dis = read_file(g->dis, &size), *dis = malloc(count * sizeof *dis);
  int64_t *want_ids = read_file(g->ids, &size), *ids = malloc(count * sizeof *ids);
  furrow_search_params params;
  furrow_error err = {0};
  assert_int_equal(size, g->nprobe_count * count * sizeof *ids);
  furrow_search_params_init(&params);
  for (size_t p = 0; p < g->nprobe_count; p++) {
    params.nprobe = (uint64_t)g->nprobe[p];
    if (furrow_searcher_search(searcher, queries, (size_t)g->nq, (size_t)g->k, &params, dis, ids, &err) != FURROW_OK)
      fail_msg("%s: %s", name, err.message);
    for (int64_t i = 0; i < g->nq; i++)
      compare_row(name, g->noise, dis + i * g->k, ids + i * g->k, want_dis + p * count + (size_t)(i * g->k),
                  want_ids + p * count + (size_t)(i * g->k), g->k);
    if (g->noise == COARSE_NOISE) check_decoded(name, g, index, queries, dis, ids);
  }
  free(want_dis);
  free(want_ids);
  free(dis);
  free(ids);
}

/* Both are sorted by id; what only one has is at the radius. */
static void compare_range_row(const char *name, const golden *g, const furrow_range_result *r, size_t i,
                              const int64_t *lims, const int64_t *ids, const float *dis) {
  uint64_t a = r->starts[i], b = (uint64_t)lims[i];
  const uint64_t a_end = r->starts[i + 1], b_end = (uint64_t)lims[i + 1];
  while (a < a_end || b < b_end) {
    const bool ours = a < a_end && (b == b_end || r->ids[a] <= ids[b]);
    const bool theirs = b < b_end && (a == a_end || ids[b] <= r->ids[a]);
    const float distance = ours ? r->distances[a] : dis[b];
    const float other = ours && theirs ? dis[b] : (float)g->radius;
    if (!is_near(distance, other, g->noise))
      fail_msg("%s: range of query %zu: id %lld %s: %g for %g", name, i, (long long)(ours ? r->ids[a] : ids[b]),
               ours && theirs ? "differs"
               : ours         ? "is not theirs"
                              : "is missing",
               distance, other);
    a += ours;
    b += theirs;
  }
}

static void compare_range(const char *name, const golden *g, const furrow_searcher *searcher, const float *queries) {
  furrow_search_params params;
  furrow_range_result *result = NULL;
  furrow_error err = {0};
  size_t size;
  if (!g->range_lims[0]) return;
  int64_t *lims = read_file(g->range_lims, &size), *ids = read_file(g->range_ids, &size);
  float *dis = read_file(g->range_dis, &size);
  furrow_search_params_init(&params);
  params.nprobe = (uint64_t)g->range_nprobe;
  if (furrow_searcher_search_range(searcher, queries, (size_t)g->nq, (float)g->radius, &params, &result, &err) !=
      FURROW_OK)
    fail_msg("%s: %s", name, err.message);
  for (int64_t i = 0; i < g->nq; i++) compare_range_row(name, g, result, (size_t)i, lims, ids, dis);
  furrow_range_result_free(result);
  free(lims);
  free(ids);
  free(dis);
}

/* ---- Cases ---- */

static size_t searched, passed_over;

static void check_case(const char *name, bool search_only) {
  golden g;
  furrow_index_load_params params;
  char path[2 * TEST_PATH];
  furrow_index *index = NULL, *whole = NULL;
  furrow_searcher *searcher = NULL;
  furrow_error err = {0};
  size_t size;
  read_golden(name, &g);
  if (!g.ids[0]) return;
  snprintf(path, sizeof path, "%s/%s", root, g.index);
  furrow_index_load_params_init(&params);
  params.search_only = search_only;
  if (furrow_index_load(&index, path, &params, &err) != FURROW_OK ||
      furrow_index_load(&whole, path, NULL, &err) != FURROW_OK)
    fail_msg("%s: %s", name, err.message);
  g.noise = furrow_index_ivf(index) && furrow_index_ivf(index)->kind == FURROW_INDEX_IVF_PQ_FAST ? COARSE_NOISE : NOISE;
  const furrow_status status = furrow_searcher_create(&searcher, index, NULL, &err);
  if (status == FURROW_E_UNSUPPORTED) {
    print_message("%s: %s\n", name, err.message);
    passed_over++;
  } else {
    if (status != FURROW_OK) fail_msg("%s: %s", name, err.message);
    float *queries = read_file(g.query, &size);
    assert_int_equal(size, (size_t)(g.nq * g.d) * sizeof *queries);
    compare_search(name, &g, whole, searcher, queries);
    compare_range(name, &g, searcher, queries);
    free(queries);
    searched++;
  }
  furrow_searcher_free(searcher);
  furrow_index_free(index);
  furrow_index_free(whole);
}

static void golden_answers(void **state) {
  struct dirent **names;
  (void)state;
  searched = passed_over = 0;
  const int n = scandir(golden_path(root, "faiss"), &names, NULL, alphasort);
  assert_true(n > 0);
  for (int i = 0; i < n; i++) {
    const size_t length = strlen(names[i]->d_name);
    for (int only = 0; length > 5 && strcmp(names[i]->d_name + length - 5, ".json") == 0 && only < 2; only++)
      check_case(names[i]->d_name, only);
    free(names[i]);
  }
  free(names);
  print_message("%zu searched, %zu are of other kinds\n", searched, passed_over);
  assert_true(searched > 0);
}

static int all_tests(void) {
  const struct CMUnitTest tests[] = {GOLDEN_TEST(golden_answers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
  return each_isa(all_tests);
}
