/* tests/unit/vector/test_shards.c: an index in several files: written by ranks (threads here), searched by one process
 * and by several, against the same vectors in one file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "furrow/attributes.h"
#include "furrow/init.h"
#include "furrow/vector_data.h"
#include "support/failing_alloc.h"
#include "support/index_check.h"
#include "support/own_dir.h"
#include "support/reject_list.h"
#include "support/thread_ranks.h"
#include "vector/file/shards_file.h"

enum { D = 16, N = 900, QUERIES = 23, MOST_K = 1000, MOST_RANKS = 5 };

static float *vectors, *queries;

/* Small whole numbers, so that many vectors are equally near, and some are equal. */
static int make_vectors(void **state) {
  fw_rng rng;
  fw_rng_init(&rng, 12);
  vectors = malloc(N * D * sizeof *vectors);
  queries = malloc(QUERIES * D * sizeof *queries);
  for (size_t i = 0; i < N * D; i++) vectors[i] = (float)fw_rng_below(&rng, 3) - 1;
  for (size_t i = 0; i < N / 3; i++) memcpy(vectors + (N - 1 - i) * D, vectors + (i / 4) * D, D * sizeof *vectors);
  for (size_t i = 0; i < N; i++) vectors[i * D] += 0.25F; /* no vector is 0 */
  for (size_t i = 0; i < QUERIES * D; i++) queries[i] = (float)fw_rng_below(&rng, 3) - 1;
  return enter_dir(state);
}

static int free_vectors(void **state) {
  free(vectors);
  free(queries);
  return leave_dir(state);
}

static size_t first_of(size_t n, unsigned rank, unsigned ranks) {
  if (rank == ranks) return n;
  if (ranks > 3 && rank == 2) rank = 1;
  return n * rank * rank / (ranks * ranks);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

#define CODES .size = sizeof(furrow_index_spec), .d = D, .nlist = 9, .m = 4, .by_residual = true, .nbits = 4
#define REFINED .refine_nbits = 4, .id_map = true

static const struct {
  const char *name;
  furrow_index_spec spec;
} kinds[] = {
    {"flat", {.size = sizeof(furrow_index_spec), .d = D, .nlist = 9, .nbits = 8, .metric = FURROW_METRIC_L2}},
    {"codes", {CODES, .metric = FURROW_METRIC_L2}},
    {"inner product", {CODES, .metric = FURROW_METRIC_IP}},
    {"normalized, rotated", {CODES, .metric = FURROW_METRIC_IP, .normalize = true, .opq = true}},
    {"graph", {CODES, .metric = FURROW_METRIC_L2, .hnsw_m = 4}},
    {"second codes", {CODES, REFINED, .metric = FURROW_METRIC_L2, .refine_m = 8}},
    {"refined", {CODES, REFINED, .metric = FURROW_METRIC_L2, .refine_flat = true, .k_factor = 2.5F}},
    {"refined, inner product", {CODES, REFINED, .metric = FURROW_METRIC_IP, .refine_flat = true, .k_factor = 3}},
    {"refined, rotated", {CODES, REFINED, .metric = FURROW_METRIC_L2, .refine_flat = true, .opq = true}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void train_once(const furrow_index_spec *spec) {
  furrow_index *index = NULL;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = 1;
  assert_int_equal(furrow_index_create(&index, spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, N, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "trained", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
}

/* ---- Ranks that write ------------------------------------------------------------------------------------ */

typedef struct writing_rank {
  furrow_comm comm;
  const char *trained, *path;
  size_t n;
  furrow_index_save_params save;
  furrow_status status;
  furrow_error err;
} writing_rank;

/* Ids that are not in the order of the vectors. */
static int64_t id_of(size_t i) {
  return (int64_t)((i * 7 + 5) % N) * 3 - 20;
}

static void *write_shard(void *item) {
  writing_rank *r = item;
  const size_t from = first_of(r->n, r->comm.rank, r->comm.ranks), to = first_of(r->n, r->comm.rank + 1, r->comm.ranks);
  int64_t ids[N];
  furrow_index *index = NULL;
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  for (size_t i = from; i < to; i++) ids[i - from] = id_of(i);
  params.ids = ids;
  params.threads = 1;
  assert_int_equal(furrow_index_load(&index, r->trained, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(index, vectors + from * D, to - from, &params, NULL, NULL), FURROW_OK);
  r->save.comm = &r->comm;
  r->status = furrow_index_save_shards(index, r->path, &r->save, &r->err);
  furrow_index_free(index);
  return NULL;
}

static void set_up(writing_rank *items, unsigned ranks, size_t n, bool overwrite) {
  for (unsigned r = 0; r < ranks; r++) {
    items[r] = (writing_rank){.comm = thread_comm(r, ranks), .trained = "trained", .path = "parts", .n = n};
    furrow_index_save_params_init(&items[r].save);
    items[r].save.overwrite = overwrite;
  }
}

static void write_shards(unsigned ranks, size_t n) {
  writing_rank items[MOST_RANKS];
  set_up(items, ranks, n, true);
  run_threads(ranks, write_shard, items, sizeof *items);
  for (unsigned r = 0; r < ranks; r++)
    if (items[r].status != FURROW_OK) fail_msg("rank %u: %s", r, items[r].err.message);
}

static void merge_shards(void) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  const char *paths[MOST_RANKS];
  furrow_shards_params_init(&params);
  params.manifest_only = true;
  assert_int_equal(furrow_shards_open(&shards, "parts", &params, NULL), FURROW_OK);
  for (size_t i = 0; i < furrow_shards_count(shards); i++) paths[i] = furrow_shards_path(shards, i);
  assert_int_equal(
      furrow_index_merge_files(paths, NULL, furrow_shards_count(shards), NULL, "joined", &overwriting, NULL),
      FURROW_OK);
  float out[2];
  int64_t id[2];
  assert_int_equal(furrow_shards_search(shards, queries, 1, 1, NULL, out, id, NULL), FURROW_E_STATE);
  assert_null(furrow_shards_index(shards, 0));
  assert_null(furrow_shards_path(shards, MOST_RANKS));
  furrow_shards_free(shards);
}

/* ---- Ranks that search ----------------------------------------------------------------------------------- */

typedef struct searching_rank {
  furrow_comm comm;
  size_t k;
  furrow_search_params params;
  float radius; /* NaN: the k best */
  float *distances;
  int64_t *ids;
  furrow_range_result *range;
  furrow_status status;
  furrow_error err;
} searching_rank;

static void assert_same_range(const furrow_range_result *a, const furrow_range_result *b) {
  assert_int_equal(a->n, b->n);
  assert_memory_equal(a->starts, b->starts, (a->n + 1) * sizeof *a->starts);
  assert_memory_equal(a->ids, b->ids, a->starts[a->n] * sizeof *a->ids);
  for (size_t i = 0; i < a->starts[a->n]; i++) assert_true(a->distances[i] == b->distances[i]);
}

/* A searcher that one call opens finds the same; all ranks call it. */
static void search_opened(const searching_rank *r) {
  furrow_searcher *searcher = NULL;
  furrow_searcher_open_params params;
  furrow_searcher_open_params_init(&params);
  params.threads = 1;
  params.comm = r->comm.ranks > 1 ? &r->comm : NULL;
  assert_int_equal(furrow_searcher_open(&searcher, "parts", &params, NULL), FURROW_OK);
  assert_true(!furrow_searcher_index(searcher) == (r->comm.rank > 0));
  assert_int_equal(furrow_searcher_dimension(searcher), D);
  if (isnan(r->radius)) {
    const size_t count = QUERIES * r->k;
    float *distances = malloc(count * sizeof *distances);
    int64_t *ids = malloc(count * sizeof *ids);
    assert_int_equal(furrow_searcher_search(searcher, queries, QUERIES, r->k, &r->params, distances, ids, NULL),
                     FURROW_OK);
    assert_memory_equal(ids, r->ids, count * sizeof *ids);
    assert_memory_equal(distances, r->distances, count * sizeof *distances);
    free(distances);
    free(ids);
  } else {
    furrow_range_result *range = NULL;
    assert_int_equal(furrow_searcher_search_range(searcher, queries, QUERIES, r->radius, &r->params, &range, NULL),
                     FURROW_OK);
    assert_same_range(range, r->range);
    furrow_range_result_free(range);
  }
  furrow_searcher_free(searcher);
}

static void *search_shards(void *item) {
  searching_rank *r = item;
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_shards_params_init(&params);
  params.threads = 1;
  params.comm = r->comm.ranks > 1 ? &r->comm : NULL;
  params.check_digests = true;
  r->distances = malloc(QUERIES * MOST_K * sizeof *r->distances);
  r->ids = malloc(QUERIES * MOST_K * sizeof *r->ids);
  r->status = furrow_shards_open(&shards, "parts", &params, &r->err);
  if (r->status == FURROW_OK && isnan(r->radius))
    r->status = furrow_shards_search(shards, queries, QUERIES, r->k, &r->params, r->distances, r->ids, &r->err);
  else if (r->status == FURROW_OK)
    r->status = furrow_shards_search_range(shards, queries, QUERIES, r->radius, &r->params, &r->range, &r->err);
  furrow_shards_free(shards);
  if (r->status == FURROW_OK) search_opened(r);
  return NULL;
}

static void free_results(searching_rank *r) {
  free(r->distances);
  free(r->ids);
  furrow_range_result_free(r->range);
}

static void search_by(searching_rank *items, unsigned ranks, size_t k, float radius,
                      const furrow_search_params *params) {
  for (unsigned r = 0; r < ranks; r++)
    items[r] = (searching_rank){.comm = thread_comm(r, ranks), .k = k, .radius = radius, .params = *params};
  run_threads(ranks, search_shards, items, sizeof *items);
}

static void compare_best(const furrow_searcher *joined, const char *name, size_t k,
                         const furrow_search_params *params) {
  float *distances = malloc(QUERIES * MOST_K * sizeof *distances);
  int64_t *ids = malloc(QUERIES * MOST_K * sizeof *ids);
  assert_int_equal(furrow_searcher_search(joined, queries, QUERIES, k, params, distances, ids, NULL), FURROW_OK);
  for (unsigned ranks = 1; ranks <= 3; ranks++) {
    searching_rank items[3];
    search_by(items, ranks, k, NAN, params);
    for (unsigned r = 0; r < ranks; r++) {
      if (items[r].status != FURROW_OK) fail_msg("%s: %s", name, items[r].err.message);
      for (size_t i = 0; i < QUERIES * k; i++)
        if (items[r].ids[i] != ids[i] || items[r].distances[i] != distances[i])
          fail_msg("%s, k %zu, %u ranks: result %zu of query %zu is %lld (%g), not %lld (%g)", name, k, ranks, i % k,
                   i / k, (long long)items[r].ids[i], (double)items[r].distances[i], (long long)ids[i],
                   (double)distances[i]);
      free_results(&items[r]);
    }
  }
  free(distances);
  free(ids);
}

static void compare_range(const furrow_searcher *joined, float radius, const furrow_search_params *params) {
  furrow_range_result *range = NULL;
  const furrow_status status = furrow_searcher_search_range(joined, queries, QUERIES, radius, params, &range, NULL);
  for (unsigned ranks = 1; ranks <= 3; ranks++) {
    searching_rank items[3];
    search_by(items, ranks, 1, radius, params);
    for (unsigned r = 0; r < ranks; r++) {
      if (r == 0 || status == FURROW_OK) assert_int_equal(items[r].status, status);
      assert_int_equal(items[r].status == FURROW_OK, status == FURROW_OK);
      if (status == FURROW_OK) assert_same_range(items[r].range, range);
      free_results(&items[r]);
    }
  }
  furrow_range_result_free(range);
}

/* ---- Filtered searches ----------------------------------------------------------------------------------- */

typedef struct filtered_result {
  uint64_t matches;
  bool exact;
  float distances[QUERIES * MOST_K];
  int64_t ids[QUERIES * MOST_K];
} filtered_result;

typedef struct filtering_rank {
  furrow_comm comm;
  size_t k;
  furrow_search_params params;
  filtered_result *found;
} filtering_rank;

static void search_filtered(const furrow_searcher *searcher, size_t k, const furrow_search_params *params,
                            filtered_result *found) {
  furrow_filtered *filtered = NULL;
  const furrow_filtered_params wanted = FURROW_INIT(furrow_filtered_params, .search = params);
  assert_int_equal(furrow_filtered_create(&filtered, searcher, &wanted, NULL), FURROW_OK);
  found->matches = furrow_filtered_matches(filtered);
  found->exact = furrow_filtered_is_exact(filtered);
  assert_int_equal(furrow_filtered_search(filtered, queries, QUERIES, k, found->distances, found->ids, NULL),
                   FURROW_OK);
  furrow_filtered_free(filtered);
}

static void *filter_shards(void *item) {
  const filtering_rank *r = item;
  furrow_searcher *searcher = NULL;
  const furrow_searcher_open_params params =
      FURROW_INIT(furrow_searcher_open_params, .threads = 1, .comm = r->comm.ranks > 1 ? &r->comm : NULL);
  assert_int_equal(furrow_searcher_open(&searcher, "parts", &params, NULL), FURROW_OK);
  search_filtered(searcher, r->k, &r->params, r->found);
  furrow_searcher_free(searcher);
  return NULL;
}

/* Several ranks find what a filter keeps, as one index does, by either plan. */
static void compare_filtered(const furrow_searcher *joined, const char *name, size_t k,
                             const furrow_search_params *params) {
  filtered_result *one = calloc(1, sizeof *one), *all = calloc(3, sizeof *all);
  search_filtered(joined, k, params, one);
  for (unsigned ranks = 1; ranks <= 3; ranks++) {
    filtering_rank items[3];
    for (unsigned r = 0; r < ranks; r++)
      items[r] = (filtering_rank){.comm = thread_comm(r, ranks), .k = k, .params = *params, .found = &all[r]};
    run_threads(ranks, filter_shards, items, sizeof *items);
    for (unsigned r = 0; r < ranks; r++) {
      assert_int_equal(all[r].matches, one->matches);
      assert_int_equal(all[r].exact, one->exact);
      for (size_t i = 0; i < QUERIES * k; i++)
        if (all[r].ids[i] != one->ids[i] || all[r].distances[i] != one->distances[i])
          fail_msg("%s, k %zu, %u ranks: filtered result %zu of query %zu is %lld (%g), not %lld (%g)", name, k, ranks,
                   i % k, i / k, (long long)all[r].ids[i], (double)all[r].distances[i], (long long)one->ids[i],
                   (double)one->distances[i]);
    }
  }
  free(one);
  free(all);
}

static void compare_all(const char *name) {
  static const size_t ks[] = {1, 7, 40, MOST_K};
  furrow_index *index = NULL;
  furrow_searcher *joined = NULL;
  furrow_search_params params;
  furrow_id_filter filter;
  furrow_search_params_init(&params);
  furrow_id_filter_init(&filter);
  filter.first = 100;
  filter.end = 1100;
  assert_int_equal(furrow_index_load(&index, "joined", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_create(&joined, index, NULL, NULL), FURROW_OK);
  for (int filtered = 0; filtered < 2; filtered++) {
    params.filter = filtered ? &filter : NULL;
    for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
      params.nprobe = i == 1 ? 9 : 3;
      params.k_factor = i == 2 ? 4 : 0;
      compare_best(joined, name, ks[i], &params);
      if (filtered && i == 2) compare_filtered(joined, name, ks[i], &params);
    }
    compare_range(joined, furrow_index_ivf(index)->metric == FURROW_METRIC_IP ? 1 : 12, &params);
  }
  furrow_searcher_free(joined);
  furrow_index_free(index);
}

static void test_results_are_those_of_one_file(void **state) {
  (void)state;
  for (size_t k = 0; k < KINDS; k++) {
    train_once(&kinds[k].spec);
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks += 2) {
      write_shards(ranks, N);
      merge_shards();
      compare_all(kinds[k].name);
    }
  }
  write_shards(4, 2); /* fewer vectors than shards */
  merge_shards();
  compare_all("few");
}

/* ---- Files ----------------------------------------------------------------------------------------------- */

static size_t count_files(void) {
  FILE *list = popen("ls -A | grep -c '^parts'", "r");
  unsigned count = 0;
  assert_int_equal(fscanf(list, "%u", &count), 1);
  pclose(list);
  return count;
}

/* A new index replaces the manifest and removes the shards of the old one; the same one leaves all as it is. */
static void test_files(void **state) {
  (void)state;
  index_file first = {0}, second = {0};
  writing_rank items[3];
  assert_int_equal(system("rm -f parts*"), 0);
  train_once(&kinds[1].spec);
  write_shards(3, N);
  assert_int_equal(count_files(), 4);
  read_whole("parts", &first);
  write_shards(3, N);
  read_whole("parts", &second);
  assert_same_bytes(&first, &second);
  write_shards(2, N);
  assert_int_equal(count_files(), 3);
  set_up(items, 3, N, false);
  run_threads(3, write_shard, items, sizeof *items);
  assert_int_equal(items[0].status, FURROW_E_EXISTS);
  assert_int_equal(items[1].status, FURROW_E_STATE);
  assert_int_equal(count_files(), 3);
  assert_true(furrow_is_shards("parts"));
  assert_false(furrow_is_shards("trained"));
  assert_false(furrow_is_shards("nothing"));
  free(first.bytes);
  free(second.bytes);
}

/* A rank with other quantizers, an index without ids of its own: nothing is written. */
static void test_refused(void **state) {
  (void)state;
  writing_rank items[3];
  assert_int_equal(system("rm -f parts*"), 0);
  train_once(&kinds[2].spec);
  assert_int_equal(rename("trained", "other"), 0);
  train_once(&kinds[1].spec);
  set_up(items, 3, N, true);
  items[2].trained = "other";
  run_threads(3, write_shard, items, sizeof *items);
  for (unsigned r = 0; r < 3; r++) assert_int_equal(items[r].status, FURROW_E_ARGUMENT);
  assert_int_equal(count_files(), 0);
  furrow_index_spec dense = kinds[6].spec;
  furrow_index *index = NULL;
  dense.id_map = false;
  assert_int_equal(furrow_index_create(&index, &dense, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save_shards(index, "parts", NULL, NULL), FURROW_E_UNSUPPORTED);
  furrow_index_free(index);
  set_up(items, 3, N, true);
  for (unsigned r = 0; r < 3; r++) items[r].path = "missing/parts";
  run_threads(3, write_shard, items, sizeof *items);
  for (unsigned r = 0; r < 3; r++) assert_true(items[r].status != FURROW_OK);
  assert_int_equal(count_files(), 0);
}

static furrow_status open_parts(bool digests) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_shards_params_init(&params);
  params.check_digests = digests;
  const furrow_status status = furrow_shards_open(&shards, "parts", &params, NULL);
  furrow_shards_free(shards);
  return status;
}

/* Shards that are missing, of another index, longer, or with another byte. */
static void test_damaged(void **state) {
  (void)state;
  assert_int_equal(system("rm -f parts*"), 0);
  train_once(&kinds[1].spec);
  write_shards(3, N);
  assert_int_equal(open_parts(true), FURROW_OK);
  assert_int_equal(system("f=$(ls parts.shard1-*) && cp $f kept && cp $f x && printf '\\001' | dd of=x bs=1 "
                          "seek=$(($(stat -c %s x) - 1)) conv=notrunc 2>/dev/null && cp x $f"),
                   0);
  assert_int_equal(open_parts(false), FURROW_OK); /* the last byte of an id */
  assert_int_equal(open_parts(true), FURROW_E_FORMAT);
  assert_int_equal(system("f=$(ls parts.shard1-*) && cp kept $f && printf x >> $f"), 0);
  assert_int_equal(open_parts(false), FURROW_E_FORMAT);
  assert_int_equal(system("f=$(ls parts.shard1-*) && cp kept $f && rm parts.shard0-*"), 0);
  assert_int_equal(open_parts(false), FURROW_E_NOT_FOUND);
}

static furrow_status parse(fw_shards_manifest *manifest, const char *text) {
  return fw_shards_manifest_parse(manifest, text, strlen(text), "m", NULL);
}

/* The largest numbers that a manifest may have, and those above. */
static void test_limits(void **state) {
  (void)state;
  static const struct {
    uint64_t d, first, second;
    bool good;
  } numbers[] = {{FW_INDEX_MAX_D, 1, 1, true},
                 {FW_INDEX_MAX_D + 1, 1, 1, false},
                 {1, INT64_MAX, 0, true},
                 {1, INT64_MAX, 1, false},
                 {1, INT64_MAX, INT64_MAX, false}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    fw_shard_entry entries[2] = {{.file = "a", .vectors = numbers[i].first},
                                 {.file = "b", .vectors = numbers[i].second}};
    fw_shards_manifest made = {.d = numbers[i].d, .shards = entries, .count = 2}, found;
    fw_buffer text = {0};
    made.vectors = (numbers[i].first + numbers[i].second) & INT64_MAX;
    fw_shards_manifest_write(&made, &text);
    fw_buffer_append(&text, "", 1);
    assert_int_equal(parse(&found, text.bytes), numbers[i].good ? FURROW_OK : FURROW_E_FORMAT);
    if (numbers[i].good) assert_int_equal(found.shards[0].vectors, numbers[i].first);
    fw_shards_manifest_clear(&found);
    fw_buffer_clear(&text);
  }
}

/* What begins like a manifest: a brace behind blanks. "-" is not a file. */
static void test_is_shards(void **state) {
  (void)state;
  static const char *const texts[] = {"{}", " \t\r\n{", "", " \n ", "x{", "\n[{"};
  for (size_t i = 0; i < 6; i++) {
    assert_true(test_write_text("m", texts[i]));
    assert_int_equal(furrow_is_shards("m"), i < 2);
  }
  for (int blanks = 63; blanks < 66; blanks++) { /* so much is read */
    char text[80];
    snprintf(text, sizeof text, "%*s{", blanks, "");
    assert_true(test_write_text("m", text));
    assert_int_equal(furrow_is_shards("m"), blanks < 64);
  }
  assert_true(test_write_text("-", "{}"));
  assert_false(furrow_is_shards("-"));
  assert_int_equal(remove("-") | remove("m"), 0);
}

static void expect_not_saved(const furrow_index *index, const char *path, furrow_status wanted, const char *message) {
  furrow_error err = {0};
  assert_int_equal(furrow_index_save_shards(index, path, &overwriting, &err), wanted);
  if (!strstr(err.message, message)) fail_msg("%s, not %s", err.message, message);
}

/* Indexes and names that shards cannot have. */
static void test_not_saved(void **state) {
  (void)state;
  furrow_index *index = NULL, *mapped = NULL;
  char path[250];
  memset(path, 'p', sizeof path - 1);
  path[sizeof path - 1] = 0;
  train_once(&kinds[6].spec); /* an id map around lists */
  assert_int_equal(furrow_index_load(&mapped, "trained", NULL, NULL), FURROW_OK);
  furrow_index *ivf = (furrow_index *)(uintptr_t)furrow_index_ivf(mapped);
  ivf->ivf.direct_map.type = FURROW_DIRECT_MAP_ARRAY;
  assert_int_equal(furrow_index_save_shards(mapped, "mapped", &overwriting, NULL), FURROW_OK);
  train_once(&kinds[1].spec);
  assert_int_equal(furrow_index_load(&index, "trained", NULL, NULL), FURROW_OK);
  expect_not_saved(index, "-", FURROW_E_ARGUMENT, "shards cannot be written to standard output");
  expect_not_saved(index, path, FURROW_E_ARGUMENT, "the name of the index is too long for the names of its shards");
  expect_not_saved(index->child[0], "parts", FURROW_E_UNSUPPORTED, "flat vectors cannot be in shards");
  index->ivf.direct_map.type = FURROW_DIRECT_MAP_ARRAY;
  expect_not_saved(index, "parts", FURROW_E_UNSUPPORTED, "the ids of every shard would begin at 0");
  furrow_index_free(index);
  furrow_index_free(mapped);
}

/* A file that only looks like a manifest is replaced; it has no shards to remove. */
static void test_replaced(void **state) {
  (void)state;
  static const char *const texts[] = {"{}", "{\"format\": \"other\"}", "{"};
  furrow_index *index = NULL;
  train_once(&kinds[1].spec);
  assert_int_equal(furrow_index_load(&index, "trained", NULL, NULL), FURROW_OK);
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(system("rm -f parts*"), 0);
    assert_true(test_write_text("parts", texts[i]));
    assert_int_equal(furrow_index_save_shards(index, "parts", &overwriting, NULL), FURROW_OK);
    assert_int_equal(count_files(), 2);
    assert_int_equal(open_parts(true), FURROW_OK);
  }
  furrow_index_free(index);
}

/* Shards have other names whenever their bytes are others: they are as closed as the manifest that they replace. */
static void test_modes(void **state) {
  (void)state;
  const mode_t before = umask(022);
  assert_int_equal(system("rm -f parts*"), 0);
  train_once(&kinds[1].spec);
  write_shards(2, 400);
  assert_int_equal(system("test \"$(find . -name 'parts*' ! -perm 644)\" = ''"), 0);
  assert_int_equal(system("chmod 600 parts*"), 0);
  write_shards(2, 500);
  assert_int_equal(system("test \"$(find . -name 'parts*' ! -perm 600)\" = ''"), 0);
  umask(before);
}

/* Writes the manifest of `parts` with something changed. */
static void write_manifest(const fw_shards_manifest *m) {
  fw_buffer text = {0};
  fw_shards_manifest_write(m, &text);
  assert_true(test_write_file("parts", text.bytes, text.size));
  fw_buffer_clear(&text);
}

static void expect_not_opened(const fw_shards_manifest *m, bool search_only, furrow_status wanted,
                              const char *message) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_index_load_params load;
  furrow_error err = {0};
  furrow_shards_params_init(&params);
  furrow_index_load_params_init(&load);
  load.search_only = search_only;
  params.load = &load;
  write_manifest(m);
  const furrow_status status = furrow_shards_open(&shards, "parts", &params, &err);
  if (status != wanted || !strstr(err.message, message))
    fail_msg("%s: %s, not %s", furrow_status_name(status), err.message, message);
  assert_null(shards);
}

/* Gives the manifest another file as its first shard. */
static void put_shard(fw_shards_manifest *m, const char *file, uint64_t count) {
  struct stat info;
  assert_int_equal(stat(file, &info), 0);
  snprintf(m->shards[0].file, sizeof m->shards[0].file, "%s", file);
  m->vectors += count - m->shards[0].vectors;
  m->shards[0].vectors = count;
  m->shards[0].bytes = (uint64_t)info.st_size;
}

/* Shards that are sound, but not those of their manifest. */
static void test_other_shards(void **state) {
  (void)state;
  furrow_index_spec spec = kinds[1].spec;
  index_file text = {0};
  fw_shards_manifest m;
  assert_int_equal(system("rm -f parts*"), 0);
  spec.nlist = 8;
  train_once(&spec);
  assert_int_equal(rename("trained", "parts_other"), 0);
  train_once(&kinds[1].spec);
  write_shards(2, N);
  read_whole("parts", &text);
  assert_int_equal(fw_shards_manifest_parse(&m, (const char *)text.bytes, text.size, "parts", NULL), FURROW_OK);
  m.d++;
  expect_not_opened(&m, false, FURROW_E_FORMAT, "the dimension differs from the manifest");
  m.d--;
  m.shards[0].vectors++;
  m.shards[1].vectors--;
  expect_not_opened(&m, false, FURROW_E_FORMAT, "the number of vectors differs from the manifest");
  m.shards[0].vectors--;
  m.shards[1].vectors++;
  m.quantizers++;
  expect_not_opened(&m, false, FURROW_E_FORMAT, "the quantizers differ from the manifest");
  m.quantizers--;
  put_shard(&m, "parts_other", 0);
  expect_not_opened(&m, false, FURROW_E_FORMAT, "the quantizers differ from the manifest");
  expect_not_opened(&m, true, FURROW_E_FORMAT, "the number of lists differs from that of the first shard");
  furrow_index *index = NULL;
  assert_int_equal(furrow_index_load(&index, "trained", NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index->child[0], "parts_flat", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
  put_shard(&m, "parts_flat", 9);
  expect_not_opened(&m, false, FURROW_E_UNSUPPORTED, "flat vectors cannot be in shards");
  fw_shards_manifest_clear(&m);
  index_file_clear(&text);
}

/* Calls that are refused, and questions about shards that are not there. */
static void test_calls(void **state) {
  (void)state;
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_search_params search;
  furrow_range_result *range = NULL;
  furrow_error err;
  float distance;
  int64_t id;
  furrow_shards_params_init(&params);
  furrow_search_params_init(&search);
  assert_int_equal(system("rm -f parts*"), 0);
  train_once(&kinds[1].spec);
  write_shards(2, N);
  for (int loaded = 0; loaded < 2; loaded++) {
    params.manifest_only = !loaded;
    assert_int_equal(furrow_shards_open(&shards, "parts", &params, NULL), FURROW_OK);
    assert_int_equal(furrow_shards_vectors_of(shards, 2), 0);
    assert_int_equal(furrow_shards_bytes_of(shards, 2), 0);
    assert_null(furrow_shards_index(shards, 2));
    assert_int_equal(furrow_shards_search_range(shards, queries, 1, 1, &search, &range, &err),
                     loaded ? FURROW_OK : FURROW_E_STATE);
    if (loaded) {
      assert_int_equal(furrow_shards_search(shards, queries, 1, 0, &search, &distance, &id, &err), FURROW_E_ARGUMENT);
      assert_string_equal(err.message, "k is 0, but must be positive");
    }
    furrow_range_result_free(range);
    furrow_shards_free(shards);
  }
  params.comm = &(const furrow_comm){0};
  assert_int_equal(furrow_shards_open(&shards, "parts", &params, &err), FURROW_E_ARGUMENT);
}

/* ---- Memory ---------------------------------------------------------------------------------------------- */

static furrow_status open_and_search(void) {
  furrow_shards *shards = NULL;
  furrow_shards_params params;
  furrow_search_params search;
  float distances[3 * 5];
  int64_t ids[3 * 5];
  furrow_range_result *range = NULL;
  furrow_shards_params_init(&params);
  furrow_search_params_init(&search);
  params.threads = search.threads = 1;
  furrow_status status = furrow_shards_open(&shards, "parts", &params, NULL);
  if (status == FURROW_OK) status = furrow_shards_search(shards, queries, 3, 5, &search, distances, ids, NULL);
  if (status == FURROW_OK) status = furrow_shards_search_range(shards, queries, 3, 12, &search, &range, NULL);
  if (status == FURROW_E_UNSUPPORTED) status = FURROW_OK; /* a range of a refined index */
  furrow_range_result_free(range);
  furrow_shards_free(shards);
  return status;
}

/* Whichever allocation fails, the call does, and nothing is lost. */
static void test_no_memory(void **state) {
  static const size_t some[] = {1, 5, 6};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    furrow_index *index = NULL;
    train_once(&kinds[some[i]].spec);
    write_shards(3, N);
    for (long n = 1, done = 0; !done; n++) {
      alloc_fail_at(n);
      const furrow_status status = open_and_search();
      alloc_fail_at(0);
      assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
      done = status == FURROW_OK;
    }
    assert_int_equal(furrow_index_load(&index, "trained", NULL, NULL), FURROW_OK);
    for (long n = 1, done = 0; !done; n++) {
      alloc_fail_at(n);
      const furrow_status status = furrow_index_save_shards(index, "parts", &overwriting, NULL);
      alloc_fail_at(0);
      assert_true(status == FURROW_OK || status == FURROW_E_MEMORY);
      done = status == FURROW_OK;
      if (!done) assert_int_equal(open_parts(true), FURROW_OK);
    }
    furrow_index_free(index);
  }
}

/* ---- Manifests that are refused -------------------------------------------------------------------------- */

static void test_reject(void **state) {
  (void)state;
  char line[REJECT_LINE], name[64], status_name[32], message[256];
  FILE *list = reject_list_open("shards");
  while (reject_list_next(list, line)) {
    char path[TEST_PATH];
    furrow_shards *shards = NULL;
    furrow_error err = {0};
    assert_int_equal(sscanf(line, "%63s %31s %255[^\n]", name, status_name, message), 3);
    reject_path(path, "shards", name);
    const furrow_status status = furrow_shards_open(&shards, path, NULL, &err);
    if (strcmp(furrow_status_name(status), status_name) != 0 ||
        (strcmp(message, "-") != 0 && !strstr(err.message, message)))
      fail_msg("%s: %s %s, not %s %s", name, furrow_status_name(status), err.message, status_name, message);
  }
  fclose(list);
  reject_list_is_complete("shards");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_are_those_of_one_file),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_is_shards),
      cmocka_unit_test(test_not_saved),
      cmocka_unit_test(test_replaced),
      cmocka_unit_test(test_modes),
      cmocka_unit_test(test_other_shards),
      cmocka_unit_test(test_calls),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_reject),
  };
  return cmocka_run_group_tests(tests, make_vectors, free_vectors);
}
