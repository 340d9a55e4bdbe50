/* tests/unit/vector/test_index_refusals.c: indexes that cannot be searched, trained, merged or written by several
 * ranks, and what they are refused with. An index is read, one thing of it is changed, and put back before it is freed.
 */
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/made_kinds.h"
#include "support/own_dir.h"
#include "support/thread_ranks.h"
#include "vector/index/index.h"

static const kind_case *case_of(const char *name) {
  for (size_t c = 0; c < KIND_CASES; c++)
    if (strcmp(kind_cases[c].name, name) == 0) return &kind_cases[c];
  fail_msg("no kind %s", name);
  return NULL;
}

static furrow_index *read_kind(const char *name) {
  static made_kind kind;
  furrow_index *index = NULL;
  make_kind(&kind, case_of(name));
  assert_int_equal(furrow_index_read(&index, kind.file.bytes, kind.file.size, NULL, NULL, NULL), FURROW_OK);
  index_file_clear(&kind.file);
  return index;
}

static void expect_error(furrow_status status, const furrow_error *err, furrow_status wanted, const char *message) {
  if (status != wanted || err->status != wanted || !strstr(err->message, message))
    fail_msg("%s: %s, not %s: %s", furrow_status_name(status), err->message, furrow_status_name(wanted), message);
}

/* ---- Searching ------------------------------------------------------------------------------------------ */

static void expect_no_searcher(const furrow_index *index, furrow_status wanted, const char *message) {
  furrow_searcher *searcher = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_searcher_create(&searcher, index, NULL, &err);
  expect_error(status, &err, wanted, message);
  assert_null(searcher);
}

static void quantizers_that_are_not_searched(void **state) {
  (void)state;
  furrow_index *multi = read_kind("multi-index"), *quantizer = multi->child[0];
  quantizer->pq.pq.m = 4;
  expect_no_searcher(multi, FURROW_E_UNSUPPORTED, "a multi-index quantizer of 4 parts cannot be searched");
  quantizer->pq.pq.m = 2;
  quantizer->ntotal--;
  expect_no_searcher(multi, FURROW_E_FORMAT, "centroids, but its halves have 2^");
  quantizer->ntotal++;
  quantizer->metric = FURROW_METRIC_IP;
  expect_no_searcher(multi, FURROW_E_UNSUPPORTED, "a quantizer of multi-index quantizer (Imiq) cannot be searched");
  quantizer->metric = FURROW_METRIC_L1;
  expect_no_searcher(multi, FURROW_E_UNSUPPORTED, "a quantizer of multi-index quantizer (Imiq) cannot be searched");
  quantizer->metric = FURROW_METRIC_L2;
  quantizer->kind = FURROW_INDEX_ID_MAP;
  expect_no_searcher(multi, FURROW_E_UNSUPPORTED, "a quantizer of custom ids for another index");
  quantizer->kind = FURROW_INDEX_MULTI;
  multi->child[0] = NULL;
  expect_no_searcher(multi, FURROW_E_STATE, "the index has no quantizer");
  multi->child[0] = quantizer;
  expect_no_searcher(quantizer, FURROW_E_UNSUPPORTED, "multi-index quantizer (Imiq) cannot be searched");
  furrow_index_free(multi);
}

static void indexes_that_are_not_searched(void **state) {
  (void)state;
  furrow_index *graph = read_kind("graph"), *pqr = read_kind("PQR"), *pq = read_kind("PQ");
  furrow_index *refined = read_kind("refined lists"), *flat = read_kind("flat");
  graph->metric = FURROW_METRIC_IP;
  expect_no_searcher(graph, FURROW_E_UNSUPPORTED, "has another metric than its vectors");
  graph->metric = FURROW_METRIC_L1;
  expect_no_searcher(graph, FURROW_E_UNSUPPORTED, "HNSW graph cannot be searched by L1");
  pqr->metric = FURROW_METRIC_IP;
  expect_no_searcher(pqr, FURROW_E_UNSUPPORTED, "can only be searched by L2");
  pq->pq.search_type = 1;
  expect_no_searcher(pq, FURROW_E_UNSUPPORTED, "can only be searched by distances");
  flat->metric = (furrow_distance_metric)99;
  expect_no_searcher(flat, FURROW_E_UNSUPPORTED, "flat vectors cannot be searched by ?");
  refined->child[1]->metric = (furrow_distance_metric)99;
  expect_no_searcher(refined, FURROW_E_UNSUPPORTED, "flat vectors cannot be searched by ?");
  refined->child[1]->metric = FURROW_METRIC_L2;
  furrow_index *better = refined->child[1];
  refined->child[1] = refined->child[0];
  expect_no_searcher(refined, FURROW_E_UNSUPPORTED, "cannot be searched as a refinement");
  refined->child[1] = better;
  furrow_index *const all[] = {graph, pqr, pq, refined, flat};
  for (size_t i = 0; i < 5; i++) furrow_index_free(all[i]);
}

/* An id of the base beyond the vectors that refine it. */
static void ids_without_a_refinement(void **state) {
  static const char *const names[] = {"refined lists", "refined codes, IP", "PQR"};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    furrow_index *index = read_kind(names[i]);
    furrow_searcher *searcher = NULL;
    furrow_search_params params;
    furrow_error err = {0};
    float query[KIND_D] = {1}, distances[5];
    int64_t ids[5];
    furrow_search_params_init(&params);
    params.nprobe = 1000;
    params.k_factor = 1000;
    const size_t codes = index->ivf.refine_size;
    const int64_t vectors = i < 2 ? index->child[1]->ntotal : 0;
    if (i < 2) index->child[1]->ntotal = 3;
    if (i == 2) index->ivf.refine_size = 3 * fw_pq_code_size(&index->ivf.refine_pq);
    assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
    const furrow_status status = furrow_searcher_search(searcher, query, 1, 5, &params, distances, ids, &err);
    expect_error(status, &err, FURROW_E_FORMAT, i < 2 ? "but vectors to refine by end before 3" : "");
    furrow_searcher_free(searcher);
    if (i < 2) index->child[1]->ntotal = vectors;
    if (i == 2) index->ivf.refine_size = codes;
    furrow_index_free(index);
  }
}

/* ---- Training ------------------------------------------------------------------------------------------- */

static void expect_not_trained(furrow_index *index, uint64_t sample_per_list, furrow_status wanted,
                               const char *message) {
  static float vectors[1000 * KIND_D];
  furrow_index_train_params params;
  furrow_error err = {0};
  const bool before = index->trained;
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) vectors[i] = (float)(i * 7919 % 1009);
  furrow_index_train_params_init(&params);
  params.threads = 1;
  params.sample_per_list = sample_per_list;
  const furrow_status status = furrow_index_train(index, vectors, 1000, &params, &err);
  expect_error(status, &err, wanted, message);
  assert_int_equal(index->trained, before);
}

static void indexes_that_are_not_trained(void **state) {
  (void)state;
  furrow_index *flat = read_kind("flat");
  furrow_index *multi = read_kind("multi-index"), *lists = read_kind("IVF PQ"), *linear = read_kind("linear");
  expect_not_trained(lists, 256, FURROW_E_ARGUMENT, "the index is trained already");
  flat->trained = multi->trained = lists->trained = linear->trained = false;
  expect_not_trained(flat, 256, FURROW_E_UNSUPPORTED, "flat vectors cannot be trained");
  expect_not_trained(multi, 256, FURROW_E_UNSUPPORTED, "a coarse quantizer that is multi-index quantizer cannot");
  furrow_index *quantizer = lists->child[0];
  lists->child[0] = NULL;
  expect_not_trained(lists, 256, FURROW_E_UNSUPPORTED, "a coarse quantizer that is missing cannot be trained");
  lists->child[0] = quantizer;
  expect_not_trained(lists, 0, FURROW_E_ARGUMENT, "sample_per_list is 0");
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.sample_per_list = 0;
  assert_int_equal(furrow_index_train_sample_size(lists, &params), 256); /* one for each centroid */
  params.sample_per_list = UINT64_MAX;
  assert_true(furrow_index_train_sample_size(lists, &params) == UINT64_MAX);
  assert_int_equal(furrow_index_train_sample_size(flat, &params), 0);
  params.size = 1;
  assert_int_equal(furrow_index_train_sample_size(lists, &params), 0);
  furrow_index *const all[] = {flat, multi, lists, linear};
  for (size_t i = 0; i < 4; i++) furrow_index_free(all[i]);
}

/* A rotation that is to be found needs codes, and is a linear transform. */
static void transforms_that_are_not_trained(void **state) {
  (void)state;
  furrow_index_spec spec = plain_spec(KIND_D, 3, 2);
  furrow_index *index = NULL;
  spec.opq = true;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  fw_transform *rotation = &index->transforms.list[0];
  furrow_index *ivf = (furrow_index *)(uintptr_t)furrow_index_ivf(index);
  memcpy(rotation->fourcc, "VCnt", 4);
  expect_not_trained(index, 256, FURROW_E_UNSUPPORTED, "a transform VCnt cannot be trained");
  memcpy(rotation->fourcc, "LTra", 4);
  rotation->opq_m = 0;
  ivf->ivf.pq.m = 0;
  expect_not_trained(index, 256, FURROW_E_UNSUPPORTED, "a transform LTra cannot be trained");
  ivf->ivf.pq.m = 2;
  furrow_index_free(index);
}

static void specs_that_are_refused(void **state) {
  (void)state;
  furrow_index_spec good = plain_spec(8, 3, 2);
  good.metric = FURROW_METRIC_L2;
  good.by_residual = true;
  furrow_index_spec bad[16];
  const char *message[16];
  size_t n = 0;
#define BAD(change, text)           \
  do {                              \
    bad[n] = good;                  \
    furrow_index_spec *s = &bad[n]; \
    change;                         \
    message[n++] = text;            \
  } while (0)
  BAD(s->d = 0, "d is 0, but must be 1 to");
  BAD(s->d = FW_INDEX_MAX_D + 1, "but must be 1 to");
  BAD(s->nlist = 0, "nlist is 0");
  BAD(s->nlist = UINT32_MAX, "nlist is 4294967295");
  BAD(s->opq_d = 4, "opq_d is 4, but must be 0 without opq");
  BAD((s->opq = true, s->opq_d = -1), "opq_d is -1, but must be 0 to d");
  BAD((s->opq = true, s->opq_d = 9), "opq_d is 9, but must be 0 to d");
  BAD(s->hnsw_m = 1, "hnsw_m is 1");
  BAD(s->hnsw_m = 100000, "hnsw_m is 100000");
  BAD(s->refine_m = 9, "refine_m is 9, but must divide the 8 dimensions");
  BAD((s->refine_m = 2, s->refine_nbits = 0), "refine_nbits is 0");
  BAD((s->refine_m = 2, s->refine_nbits = 99), "refine_nbits is 99");
  BAD((s->refine_m = 2, s->k_factor = 0.5F), "k_factor is 0.5, but must be 1 to 1000");
  BAD((s->refine_m = 2, s->k_factor = 1001), "k_factor is 1001, but must be 1 to 1000");
  BAD(s->k_factor = 2, "k_factor is 2, but must be 0 without a refinement");
#undef BAD
  for (size_t i = 0; i < n; i++) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    const furrow_status status = furrow_index_create(&index, &bad[i], &err);
    expect_error(status, &err, FURROW_E_ARGUMENT, message[i]);
    assert_null(index);
  }
  furrow_index *index = NULL;
  good.refine_m = 2;
  good.k_factor = 5;
  assert_int_equal(furrow_index_create(&index, &good, NULL), FURROW_OK);
  assert_true(index->ivf.k_factor == 5);
  furrow_index_free(index);
}

/* ---- Merging -------------------------------------------------------------------------------------------- */

static void expect_not_merged(furrow_index *a, const furrow_index *b, furrow_status wanted, const char *message) {
  furrow_error err = {0};
  const int64_t before = a->ntotal;
  const furrow_status status = furrow_index_merge(a, b, 0, &err);
  expect_error(status, &err, wanted, message);
  assert_int_equal(a->ntotal, before);
}

/* Each difference between transforms is found. */
static void transforms_that_differ(void **state) {
  (void)state;
  furrow_index *a = read_kind("all transforms"), *b = read_kind("all transforms");
  for (size_t i = 0; i < b->transforms.count; i++) {
    fw_transform *t = &b->transforms.list[i], kept = *t;
    char message[64];
    snprintf(message, sizeof message, "the transforms differ (number %zu, %.4s)", i, t->fourcc);
#define DIFFERS(change)                                  \
  do {                                                   \
    change;                                              \
    expect_not_merged(a, b, FURROW_E_ARGUMENT, message); \
    *t = kept;                                           \
  } while (0)
    DIFFERS(t->d_in++);
    DIFFERS(t->d_out++);
    DIFFERS(t->trained = !t->trained);
    DIFFERS(t->have_bias = !t->have_bias);
    DIFFERS(t->norm += 1);
    DIFFERS(t->seed++);
    DIFFERS(t->a_count++);
    DIFFERS(t->b_count++);
    DIFFERS(t->mean_count++);
    DIFFERS(t->map_count++);
    DIFFERS(t->fourcc[0] = 'x');
    if (t->nested) DIFFERS(t->nested = NULL);
    float *const arrays[] = {t->a_count ? t->a : NULL, t->b_count ? t->b : NULL, t->mean_count ? t->mean : NULL};
    for (size_t k = 0; k < 3; k++) {
      if (!arrays[k]) continue;
      const float number = arrays[k][0];
      arrays[k][0] += 1;
      expect_not_merged(a, b, FURROW_E_ARGUMENT, message);
      arrays[k][0] = number;
    }
    if (t->map_count) {
      t->map[0] += 1;
      expect_not_merged(a, b, FURROW_E_ARGUMENT, message);
      t->map[0] -= 1;
    }
    if (t->nested) {
      t->nested[0].seed++;
      expect_not_merged(a, b, FURROW_E_ARGUMENT, "the transforms differ");
      t->nested[0].seed--;
    }
#undef DIFFERS
  }
  furrow_index_free(a);
  furrow_index_free(b);
}

static void quantizers_that_differ(void **state) {
  (void)state;
  furrow_index *a = read_kind("SQ, 8 bits"), *b = read_kind("SQ, 8 bits"), *quantizer = b->child[0];
  b->ivf.sq.qtype++;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the type of the scalar quantizer is 0 in one, 1 in the other");
  b->ivf.sq.qtype--;
  const float range = b->ivf.sq.trained[0];
  b->ivf.sq.trained[0] += 1;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the ranges of the scalar quantizers differ");
  b->ivf.sq.trained[0] = range;
  b->trained = false;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "only one of them is trained");
  b->trained = true;
  b->metric = FURROW_METRIC_IP;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the metric is L2 in one, inner product in the other");
  a->metric = b->metric = FURROW_METRIC_LP;
  b->metric_arg = a->metric_arg + 1;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the metric is Lp in one, Lp in the other");
  a->metric = b->metric = FURROW_METRIC_L2;
  b->child[0] = NULL;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the coarse quantizers, one of which is missing, differ");
  expect_not_merged(b, a, FURROW_E_ARGUMENT, "the coarse quantizers, one of which is missing, differ");
  b->child[0] = quantizer;
  quantizer->ntotal--;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the coarse quantizers differ");
  quantizer->ntotal++;
  const float number = quantizer->flat.vectors[0];
  quantizer->flat.vectors[0] += 1;
  expect_not_merged(a, b, FURROW_E_ARGUMENT, "the coarse centroids of list 0 differ");
  quantizer->flat.vectors[0] = number;
  const int64_t count = b->ntotal;
  b->ntotal = INT64_MAX;
  expect_not_merged(a, b, FURROW_E_RANGE, "there are too many vectors");
  b->ntotal = count;
  furrow_index_free(a);
  furrow_index_free(b);
}

static void kinds_that_are_not_merged(void **state) {
  (void)state;
  furrow_index *multi[2], *refined[2], *better[2];
  for (int i = 0; i < 2; i++) {
    multi[i] = read_kind("multi-index");
    refined[i] = read_kind("refined lists");
    better[i] = refined[i]->child[1];
    refined[i]->child[1] = refined[i]->child[0];
  }
  expect_not_merged(multi[0]->child[0], multi[1]->child[0], FURROW_E_UNSUPPORTED, "a multi-index has no vectors");
  expect_not_merged(refined[0], refined[1], FURROW_E_UNSUPPORTED, "the refinement is an index with inverted lists");
  for (int i = 0; i < 2; i++) {
    refined[i]->child[1] = better[i];
    furrow_index_free(multi[i]);
    furrow_index_free(refined[i]);
  }
}

static void expect_not_added(furrow_index *index, furrow_status wanted, const char *message) {
  const float vector[KIND_D] = {1};
  furrow_error err = {0};
  const int64_t before = index->ntotal;
  const furrow_status status = furrow_index_add(index, vector, 1, NULL, NULL, &err);
  expect_error(status, &err, wanted, message);
  assert_int_equal(index->ntotal, before);
}

static void quantizers_that_do_not_assign(void **state) {
  (void)state;
  furrow_index *multi = read_kind("multi-index"), *lists = read_kind("IVF PQ"), *quantizer = lists->child[0];
  fw_pq *halves = &multi->child[0]->pq.pq;
  const unsigned nbits = halves->nbits;
  halves->nbits = 17;
  expect_not_added(multi, FURROW_E_UNSUPPORTED, "a multi-index of more than 2^32 lists cannot be filled");
  halves->nbits = nbits;
  quantizer->kind = FURROW_INDEX_PQ;
  expect_not_added(lists, FURROW_E_UNSUPPORTED, "this coarse quantizer (product quantizer codes)");
  quantizer->kind = FURROW_INDEX_FLAT;
  lists->child[0] = NULL;
  expect_not_added(lists, FURROW_E_UNSUPPORTED, "this coarse quantizer (none)");
  lists->child[0] = quantizer;
  furrow_index_free(multi);
  furrow_index_free(lists);
}

static void expect_not_removed(furrow_index *index, const char *message) {
  furrow_id_filter filter;
  furrow_error err = {0};
  uint64_t removed = 7;
  const int64_t before = index->ntotal;
  furrow_id_filter_init(&filter);
  filter.first = 0;
  filter.end = 3;
  const furrow_status status = furrow_index_remove(index, &filter, &removed, &err);
  expect_error(status, &err, FURROW_E_UNSUPPORTED, message);
  assert_int_equal(removed, 7);
  assert_int_equal(index->ntotal, before);
}

static void kinds_that_nothing_is_removed_from(void **state) {
  (void)state;
  furrow_index *multi = read_kind("multi-index"), *refined = read_kind("refined lists"), *better = refined->child[1];
  expect_not_removed(multi->child[0], "a multi-index has no vectors of its own");
  refined->child[1] = refined->child[0];
  expect_not_removed(refined, "the refinement is an index with inverted lists");
  refined->child[1] = better;
  furrow_index_free(multi);
  furrow_index_free(refined);
}

/* ---- Merging files -------------------------------------------------------------------------------------- */

static furrow_status merge_files(const int64_t *shifts, bool unique, furrow_error *err) {
  static const char *const paths[] = {"a", "a"};
  furrow_index_save_params params = overwriting;
  params.unique_ids = unique;
  return furrow_index_merge_files(paths, shifts, 2, NULL, "merged", &params, err);
}

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Ids of the first and of the second input are increased, whatever holds them. */
static void ids_of_merged_files(void **state) {
  static const char *const names[] = {"FastScan", "ids, flat", "ids, lists", "IVF PQ"};
  static const int64_t shifts[] = {1000000, 2000000}, far[] = {INT64_MAX, 0};
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    furrow_index *one = read_kind(names[i]), *both = NULL;
    furrow_ids before = {0}, after = {0};
    furrow_error err = {0};
    assert_int_equal(furrow_index_save(one, "a", &overwriting, NULL), FURROW_OK);
    assert_int_equal(furrow_index_get_ids(one, &before, NULL), FURROW_OK);
    if (i > 1) expect_error(merge_files(NULL, true, &err), &err, FURROW_E_EXISTS, "");
    if (merge_files(shifts, i > 1, &err) != FURROW_OK) fail_msg("%s: %s", names[i], err.message);
    assert_int_equal(furrow_index_load(&both, "merged", NULL, NULL), FURROW_OK);
    assert_int_equal(furrow_index_get_ids(both, &after, NULL), FURROW_OK);
    assert_int_equal(after.count, 2 * before.count);
    qsort(before.ids, before.count, sizeof *before.ids, by_number);
    qsort(after.ids, after.count, sizeof *after.ids, by_number);
    for (size_t k = 0; k < before.count; k++) {
      assert_int_equal(after.ids[k], before.ids[k] + shifts[0]);
      assert_int_equal(after.ids[before.count + k], before.ids[k] + shifts[1]);
    }
    expect_error(merge_files(far, false, &err), &err, FURROW_E_RANGE, "cannot be increased by 9223372036854775807");
    assert_string_equal(err.file, "a");
    furrow_ids_clear(&before);
    furrow_ids_clear(&after);
    furrow_index_free(one);
    furrow_index_free(both);
  }
}

/* ---- Decoding and names --------------------------------------------------------------------------------- */

static void vectors_that_are_not_decoded(void **state) {
  (void)state;
  furrow_index *pq = read_kind("PQ"), *pqr = read_kind("PQR"), *lists = read_kind("IVF PQ"), *kept = lists->child[0];
  float vector[KIND_D];
  furrow_error err = {0};
  furrow_ids ids = {0};
  expect_error(furrow_index_reconstruct(pq, KIND_N, vector, &err), &err, FURROW_E_NOT_FOUND, "");
  expect_error(furrow_index_reconstruct(pq, -1, vector, &err), &err, FURROW_E_NOT_FOUND, "");
  pq->pq.encode_signs = true;
  expect_error(furrow_index_reconstruct(pq, 0, vector, &err), &err, FURROW_E_UNSUPPORTED, "codes of signs");
  const size_t size = pqr->ivf.refine_size;
  pqr->ivf.refine_size = 0;
  expect_error(furrow_index_reconstruct(pqr, 3, vector, &err), &err, FURROW_E_STATE, "no refinement for the id 3");
  pqr->ivf.refine_size = size;
  assert_int_equal(furrow_index_get_ids(lists, &ids, NULL), FURROW_OK);
  lists->child[0] = NULL;
  expect_error(furrow_index_reconstruct(lists, ids.ids[0], vector, &err), &err, FURROW_E_STATE,
               "the index has no coarse quantizer");
  lists->child[0] = kept;
  furrow_ids_clear(&ids);
  furrow_index_free(pq);
  furrow_index_free(pqr);
  furrow_index_free(lists);
}

/* Lists whose data file is missing: there are no ids to name, and names cannot be compared with them. */
static void names_without_contents(void **state) {
  (void)state;
  furrow_index *index = read_kind("IVF PQ"), *flat = read_kind("flat");
  fw_disk missing = {.missing = true}, there = {0};
  furrow_id_names *names = NULL;
  furrow_ids ids = {0};
  furrow_error err = {0};
  const char *const text = "one";
  uint64_t unused = 9;
  assert_int_equal(furrow_id_names_create(&names, NULL), FURROW_OK);
  assert_int_equal(furrow_id_names_add(names, NULL, &text, 1, NULL), FURROW_OK);
  index->ivf.lists.disk = &missing;
  expect_error(furrow_index_get_ids(index, &ids, &err), &err, FURROW_E_STATE, "the contents of the lists are missing");
  expect_error(furrow_id_names_set(names, index, &text, 1, &err), &err, FURROW_E_STATE, "are missing");
  assert_int_equal(furrow_id_names_check(names, index, &unused, &err), FURROW_OK);
  assert_int_equal(unused, 0);
  fw_list *list = index->ivf.lists.list;
  index->ivf.lists.list = NULL;
  expect_error(furrow_index_get_ids(index, &ids, &err), &err, FURROW_E_STATE, "the contents of the lists are missing");
  index->ivf.lists.disk = NULL;
  expect_error(furrow_index_get_ids(index, &ids, &err), &err, FURROW_E_STATE, "the contents of the lists are missing");
  assert_int_equal(furrow_id_names_check(names, index, &unused, &err), FURROW_OK);
  assert_int_equal(unused, 1); /* nothing has a name */
  index->ivf.lists.list = list;
  index->ivf.lists.disk = &there;
  assert_int_equal(furrow_index_get_ids(index, &ids, &err), FURROW_OK);
  assert_int_equal(ids.count, index->ntotal);
  furrow_ids_clear(&ids);
  index->ivf.lists.disk = NULL;
  assert_int_equal(furrow_index_get_ids(flat, &ids, &err), FURROW_OK);
  assert_int_equal(ids.count, KIND_N);
  assert_int_equal(ids.ids[KIND_N - 1], KIND_N - 1);
  furrow_ids_clear(&ids);
  furrow_id_names_free(names);
  furrow_index_free(index);
  furrow_index_free(flat);
}

/* ---- Writing by several ranks --------------------------------------------------------------------------- */

enum { RANKS = 2 };

typedef struct writing_rank {
  furrow_comm comm;
  const furrow_index *index;
  const char *path;
  furrow_status status;
  furrow_error err;
} writing_rank;

static void *write_part(void *item) {
  writing_rank *r = item;
  furrow_index_save_params params = overwriting;
  params.comm = &r->comm;
  r->status = furrow_index_save(r->index, r->path, &params, &r->err);
  return NULL;
}

static void write_by_ranks(writing_rank *ranks, const furrow_index *first, const furrow_index *second,
                           const char *path) {
  for (unsigned r = 0; r < RANKS; r++)
    ranks[r] = (writing_rank){.comm = thread_comm(r, RANKS), .index = r ? second : first, .path = path};
  run_threads(RANKS, write_part, ranks, sizeof *ranks);
}

static void expect_not_written(const furrow_index *index, furrow_status wanted, const char *message) {
  writing_rank ranks[RANKS];
  write_by_ranks(ranks, index, index, "together");
  for (unsigned r = 0; r < RANKS; r++) expect_error(ranks[r].status, &ranks[r].err, wanted, message);
  assert_int_not_equal(access("together", F_OK), 0);
}

static void indexes_that_ranks_do_not_write(void **state) {
  (void)state;
  furrow_index *fast = read_kind("FastScan"), *lists = read_kind("IVF PQ"), *pqr = read_kind("PQR");
  furrow_index *pq = read_kind("PQ"), *graph = read_kind("graph"), *refined = read_kind("refined lists");
  expect_not_written(fast, FURROW_E_UNSUPPORTED, "an index whose lists have codes in blocks");
  expect_not_written(graph, FURROW_E_UNSUPPORTED, "an index whose HNSW graph");
  assert_int_equal(furrow_index_set_direct_map(lists, FURROW_DIRECT_MAP_NONE, NULL), FURROW_OK);
  lists->ivf.direct_map.type = FURROW_DIRECT_MAP_ARRAY;
  expect_not_written(lists, FURROW_E_UNSUPPORTED, "an index whose direct map does not have one entry per vector");
  lists->ivf.direct_map.type = FURROW_DIRECT_MAP_NONE;
  lists->ivf.lists.kind = FURROW_LISTS_ON_DISK;
  expect_not_written(lists, FURROW_E_UNSUPPORTED, "an index whose lists are not part of it");
  lists->ivf.lists.kind = FURROW_LISTS_INLINE;
  lists->search_only = true;
  expect_not_written(lists, FURROW_E_STATE, "");
  lists->search_only = false;
  pqr->ivf.refine_size--;
  expect_not_written(pqr, FURROW_E_UNSUPPORTED, "an index whose refinement does not have one code per vector");
  pqr->ivf.refine_size++;
  refined->child[1]->ntotal--;
  expect_not_written(refined, FURROW_E_UNSUPPORTED, "an index whose parts have different numbers of vectors");
  refined->child[1]->ntotal++;
  furrow_index *better = refined->child[1];
  refined->child[1] = NULL;
  expect_not_written(refined, FURROW_E_UNSUPPORTED, "an index whose parts are missing");
  refined->child[1] = better;
  writing_rank ranks[RANKS];
  write_by_ranks(ranks, lists, lists, "-");
  for (unsigned r = 0; r < RANKS; r++)
    expect_error(ranks[r].status, &ranks[r].err, FURROW_E_ARGUMENT, "cannot write to standard output together");
  write_by_ranks(ranks, pq, lists, "together");
  for (unsigned r = 0; r < RANKS; r++)
    expect_error(ranks[r].status, &ranks[r].err, FURROW_E_ARGUMENT,
                 "the indexes of rank 0 and rank 1 differ: their kinds, dimensions or numbers of lists");
  furrow_index *const all[] = {fast, lists, pqr, pq, graph, refined};
  for (size_t i = 0; i < 6; i++) furrow_index_free(all[i]);
}

/* Codes and vectors without lists: rank 0's come first. */
static void ranks_write_what_has_no_lists(void **state) {
  static const char *const names[] = {"PQ", "flat", "linear"};
  (void)state;
  for (size_t i = 0; i < 3; i++) {
    furrow_index *index = read_kind(names[i]), *twice = read_kind(names[i]), *found = NULL;
    index_file wanted = {0}, got = {0};
    writing_rank ranks[RANKS];
    write_by_ranks(ranks, index, index, "together");
    for (unsigned r = 0; r < RANKS; r++)
      if (ranks[r].status != FURROW_OK) fail_msg("%s: %s", names[i], ranks[r].err.message);
    assert_int_equal(furrow_index_merge(twice, index, i == 2 ? 0 : KIND_N, NULL), FURROW_OK);
    assert_int_equal(furrow_index_load(&found, "together", NULL, NULL), FURROW_OK);
    write_bytes(twice, &wanted);
    write_bytes(found, &got);
    assert_same_bytes(&got, &wanted);
    index_file_clear(&wanted);
    index_file_clear(&got);
    furrow_index_free(index);
    furrow_index_free(twice);
    furrow_index_free(found);
  }
}

/* More than the buffer of a rank takes. */
static void ranks_write_large_lists(void **state) {
  enum { WIDE = 512, MANY = 700 };
  (void)state;
  furrow_index_spec spec = plain_spec(WIDE, 1, 0);
  furrow_index_train_params params;
  furrow_index *index = NULL, *twice = NULL, *found = NULL;
  index_file wanted = {0}, got = {0};
  writing_rank ranks[RANKS];
  float *vectors = malloc(MANY * WIDE * sizeof *vectors);
  for (size_t i = 0; i < MANY * WIDE; i++) vectors[i] = (float)(i % 1009);
  furrow_index_train_params_init(&params);
  params.coarse_rounds = params.threads = 1;
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, 50, &params, NULL), FURROW_OK);
  assert_int_equal(add_vectors(index, vectors, MANY, NULL), FURROW_OK);
  write_by_ranks(ranks, index, index, "together");
  for (unsigned r = 0; r < RANKS; r++) assert_int_equal(ranks[r].status, FURROW_OK);
  twice = copy_of(index);
  assert_int_equal(furrow_index_merge(twice, index, 0, NULL), FURROW_OK);
  assert_int_equal(furrow_index_load(&found, "together", NULL, NULL), FURROW_OK);
  write_bytes(twice, &wanted);
  write_bytes(found, &got);
  assert_same_bytes(&got, &wanted);
  index_file_clear(&wanted);
  index_file_clear(&got);
  free(vectors);
  furrow_index_free(index);
  furrow_index_free(twice);
  furrow_index_free(found);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantizers_that_are_not_searched),
      cmocka_unit_test(indexes_that_are_not_searched),
      cmocka_unit_test(ids_without_a_refinement),
      cmocka_unit_test(indexes_that_are_not_trained),
      cmocka_unit_test(transforms_that_are_not_trained),
      cmocka_unit_test(specs_that_are_refused),
      cmocka_unit_test(transforms_that_differ),
      cmocka_unit_test(quantizers_that_differ),
      cmocka_unit_test(kinds_that_are_not_merged),
      cmocka_unit_test(quantizers_that_do_not_assign),
      cmocka_unit_test(kinds_that_nothing_is_removed_from),
      IN_DIR(ids_of_merged_files),
      cmocka_unit_test(vectors_that_are_not_decoded),
      cmocka_unit_test(names_without_contents),
      IN_DIR(indexes_that_ranks_do_not_write),
      IN_DIR(ranks_write_what_has_no_lists),
      IN_DIR(ranks_write_large_lists),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
