/* tests/unit/vector/test_index_card.c: the card of an index: counted the same way by every number of threads and calls,
 * kept by changes, saved and loaded with its index, refused where it does not fit, and right about staleness. */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "furrow/card.h"
#include "furrow/init.h"
#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "support/thread_ranks.h"
#include "vector/index/index_card.h"

enum { D = 16, N = 2400, MORE = 600, CLUSTERS = 24, QUERIES = 60, K = 10 };

/* ---- Help ----------------------------------------------------------------------------------------------- */

/* Vectors around centres, which `world` alone decides. */
static float *draw(uint64_t world, uint64_t seed, size_t n) {
  float centres[CLUSTERS * D], *x = malloc(n * D * sizeof *x);
  fw_rng rng;
  assert_non_null(x);
  fw_rng_init(&rng, world);
  for (size_t i = 0; i < CLUSTERS * D; i++) centres[i] = (float)(2 * fw_rng_normal(&rng));
  fw_rng_init(&rng, seed);
  for (size_t i = 0; i < n; i++) {
    const float *centre = centres + fw_rng_below(&rng, CLUSTERS) * D;
    for (size_t k = 0; k < D; k++) x[i * D + k] = centre[k] + (float)(0.7 * fw_rng_normal(&rng));
  }
  return x;
}

static furrow_index *made(const char *factory, const float *x, size_t n) {
  const furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = D, .factory = factory);
  const furrow_index_train_params train = FURROW_INIT(furrow_index_train_params, .threads = 1);
  furrow_index *index = NULL;
  furrow_index_info info;
  furrow_error err;
  furrow_index_info_init(&info);
  assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
  furrow_index_get_info(index, &info);
  if (!info.trained && furrow_index_train(index, x, n, &train, &err) != FURROW_OK)
    fail_msg("%s: %s", factory, err.message);
  assert_int_equal(furrow_index_add(index, x, n, NULL, NULL, NULL), FURROW_OK);
  furrow_index_end_build(index);
  return index;
}

static furrow_index_card card_of(const furrow_index *index) {
  furrow_index_card card;
  furrow_error err;
  furrow_index_card_init(&card);
  if (furrow_index_get_card(index, &card, &err) != FURROW_OK) fail_msg("%s", err.message);
  return card;
}

static void assert_status(const furrow_index *index, furrow_status status, const char *message) {
  furrow_index_card card;
  furrow_error err;
  furrow_index_card_init(&card);
  assert_int_equal(furrow_index_get_card(index, &card, &err), status);
  if (!strstr(err.message, message)) fail_msg("%s", err.message);
}

static void assert_same_vectors(const furrow_card_vectors *a, const furrow_card_vectors *b) {
  assert_true(a->vectors == b->vectors && a->digest == b->digest && a->measured == b->measured);
  assert_true(a->mean == b->mean || (isnan(a->mean) && isnan(b->mean)));
  assert_true(a->far == b->far || (isnan(a->far) && isnan(b->far)));
}

static furrow_status save(const furrow_index *index, const char *path) {
  const furrow_index_save_params params = FURROW_INIT(furrow_index_save_params, .overwrite = true, .card = true);
  return furrow_index_save(index, path, &params, NULL);
}

static furrow_index *load(const char *path) {
  const furrow_index_load_params params = FURROW_INIT(furrow_index_load_params, .card = true);
  furrow_index *index = NULL;
  furrow_error err;
  if (furrow_index_load(&index, path, &params, &err) != FURROW_OK) fail_msg("%s", err.message);
  return index;
}

static char *text_of(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *text = malloc(1 << 16);
  assert_non_null(file);
  assert_non_null(text);
  *size = fread(text, 1, 1 << 16, file);
  fclose(file);
  return text;
}

static void put_text(const char *path, const char *text, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, size, file), size);
  fclose(file);
}

/* ---- Counting ------------------------------------------------------------------------------------------- */

static void bins_are_ordered(void **state) {
  (void)state;
  for (size_t i = 1; i + 1 < FW_CARD_BINS; i++) {
    const float start = fw_card_bin_start(i);
    assert_int_equal(fw_card_bin(start), i);
    assert_int_equal(fw_card_bin(nextafterf(start, 0)), i - 1);
  }
  assert_int_equal(fw_card_bin(0), 0);
  assert_int_equal(fw_card_bin(1e30F), FW_CARD_BINS - 1);
  assert_int_equal(fw_card_bin(INFINITY), FW_CARD_BINS - 1);
}

/* Any number of threads, and any division into calls, gives the same file. */
static void same_build_same_bytes(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  char *first = NULL;
  size_t size = 0, again;
  for (unsigned threads = 1; threads <= 3; threads++) {
    const furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = D, .factory = "IVF16,PQ4x4");
    const furrow_index_train_params train = FURROW_INIT(furrow_index_train_params, .threads = threads);
    const furrow_index_add_params add = FURROW_INIT(furrow_index_add_params, .threads = threads);
    furrow_index *index = NULL;
    assert_int_equal(furrow_index_create(&index, &spec, NULL), FURROW_OK);
    assert_int_equal(furrow_index_train(index, x, N, &train, NULL), FURROW_OK);
    const size_t part = threads == 2 ? 7 : N;
    for (size_t i = 0; i < N; i += part)
      assert_int_equal(furrow_index_add(index, x + i * D, N - i < part ? N - i : part, &add, NULL, NULL), FURROW_OK);
    assert_int_equal(save(index, "i"), FURROW_OK);
    char *text = text_of("i.card", threads == 1 ? &size : &again);
    if (!first) {
      first = text;
    } else {
      assert_int_equal(again, size);
      assert_memory_equal(text, first, size);
      free(text);
    }
    furrow_index_free(index);
  }
  free(first);
  free(x);
}

typedef struct rank_part {
  furrow_comm comm;
  furrow_index *index;
  furrow_status status;
} rank_part;

static void *save_together(void *item) {
  rank_part *part = item;
  const furrow_index_save_params params =
      FURROW_INIT(furrow_index_save_params, .card = true, .comm = &part->comm, .shift_ids = true);
  part->status = furrow_index_save(part->index, "ranks", &params, NULL);
  return NULL;
}

/* Ranks that write one index write the card of one process. */
static void ranks_write_one_card(void **state) {
  (void)state;
  enum { RANKS = 3, PART = N / RANKS };
  float *x = draw(1, 2, N);
  rank_part parts[RANKS];
  size_t sizes[2];
  for (unsigned r = 0; r < RANKS; r++) {
    const furrow_index_spec spec = FURROW_INIT(furrow_index_spec, .d = D, .factory = "IVF8,PQ4x4");
    parts[r] = (rank_part){.comm = thread_comm(r, RANKS)};
    assert_int_equal(furrow_index_create(&parts[r].index, &spec, NULL), FURROW_OK);
    assert_int_equal(furrow_index_train(parts[r].index, x, N, NULL, NULL), FURROW_OK);
    assert_int_equal(furrow_index_add(parts[r].index, x + r * PART * D, PART, NULL, NULL, NULL), FURROW_OK);
  }
  run_threads(RANKS, save_together, parts, sizeof *parts);
  for (unsigned r = 0; r < RANKS; r++) assert_int_equal(parts[r].status, FURROW_OK);
  assert_int_equal(furrow_index_add(parts[0].index, x + PART * D, N - PART, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(save(parts[0].index, "one"), FURROW_OK);
  char *ranks = text_of("ranks.card", &sizes[0]), *one = text_of("one.card", &sizes[1]);
  assert_int_equal(sizes[0], sizes[1]);
  assert_memory_equal(ranks, one, sizes[0]);
  for (unsigned r = 0; r < RANKS; r++) furrow_index_free(parts[r].index);
  free(ranks);
  free(one);
  free(x);
}

typedef struct kind {
  const char *factory;
  bool measured, changed; /* distances are measured; vectors can be updated */
} kind;

static const kind kinds[] = {{"Flat", false, true},
                             {"IDMap,Flat", false, true},
                             {"SQ8", true, true},
                             {"SQfp16", true, true},
                             {"PQ4x4", true, true},
                             {"PQ4x4fs", true, true},
                             {"HNSW8", false, false},
                             {"HNSW8,SQ8", true, false},
                             {"IVF8,Flat", true, true},
                             {"IVF8,SQ8", true, true},
                             {"IVF8,PQ4x4", true, true},
                             {"IVF8,PQ4x4fs", true, true},
                             {"IVF8_HNSW8,Flat", true, true},
                             {"IVF8,PQ4x4,RFlat", true, true},
                             {"OPQ4,IVF8,PQ4x4", true, true},
                             {"L2norm,IVF8,Flat", true, true},
                             {"PCA8,Flat", false, true},
                             {"IDMap2,IVF8,PQ4x4,Refine(SQ8)", true, true}};

/* The card counts what is built, added, updated, removed and merged; its file says the same. */
static void every_kind_is_counted(void **state) {
  (void)state;
  float *x = draw(1, 2, N), *y = draw(1, 3, MORE);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    furrow_index *index = made(kinds[i].factory, x, 600);
    furrow_index_card card = card_of(index);
    assert_int_equal(card.built.vectors, 600);
    assert_int_equal(card.added.vectors, 0);
    assert_int_equal(card.built.measured, kinds[i].measured ? 600 : 0);
    assert_true(isnan(card.built.mean) == !kinds[i].measured && isnan(card.recall));
    const uint64_t built = card.built.digest;
    assert_int_equal(furrow_index_add(index, y, 100, NULL, NULL, NULL), FURROW_OK);
    card = card_of(index);
    assert_true(card.added.vectors == 100 && card.built.digest == built);
    if (kinds[i].changed) {
      const int64_t id = 3;
      assert_int_equal(furrow_index_update(index, &id, y + 100 * D, 1, NULL), FURROW_OK);
      card = card_of(index);
      assert_true(card.added.vectors == 101 && card.removed == 1);
    }
    const furrow_id_filter some = range_filter(10, 30);
    const uint64_t updated = kinds[i].changed ? 1 : 0;
    assert_int_equal(furrow_index_remove(index, &some, NULL, NULL), FURROW_OK);
    card = card_of(index);
    assert_int_equal(card.removed, 20 + updated);
    assert_false(card.stale);
    assert_int_equal(save(index, "i"), FURROW_OK);
    furrow_index *loaded = load("i");
    const furrow_index_card again = card_of(loaded);
    assert_string_equal(again.factory, card.factory);
    assert_same_vectors(&again.built, &card.built);
    assert_same_vectors(&again.added, &card.added);
    assert_int_equal(again.removed, card.removed);
    furrow_index_free(loaded);
    furrow_index_free(index);
  }
  free(x);
  free(y);
}

static void merged_cards_add_up(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  furrow_index *index = made("IVF8,Flat", x, 500), *other, *result;
  assert_int_equal(save(index, "a"), FURROW_OK);
  other = load("a");
  const furrow_id_filter all = range_filter(0, 500);
  assert_int_equal(furrow_index_remove(other, &all, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_add(other, x + 500 * D, 100, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(save(other, "b"), FURROW_OK);
  const furrow_index_load_params from = FURROW_INIT(furrow_index_load_params, .card = true);
  const furrow_index_save_params to = FURROW_INIT(furrow_index_save_params, .card = true);
  assert_int_equal(
      furrow_index_merge_files((const char *const[]){"a", "b"}, (const int64_t[]){0, 1000}, 2, &from, "c", &to, NULL),
      FURROW_OK);
  result = load("c");
  furrow_index_card card = card_of(result);
  assert_true(card.built.vectors == 1000 && card.added.vectors == 100 && card.removed == 500);
  assert_int_equal(furrow_index_merge(index, other, 1000, NULL), FURROW_OK);
  const furrow_index_card in_memory = card_of(index);
  assert_same_vectors(&card.built, &in_memory.built);
  assert_same_vectors(&card.added, &in_memory.added);
  furrow_index_free(result);
  /* one index without a card: the counts would not be right for the merged index */
  assert_int_equal(unlink("b.card"), 0);
  assert_int_equal(
      furrow_index_merge_files((const char *const[]){"a", "b"}, (const int64_t[]){0, 1000}, 2, &from, "d", &to, NULL),
      FURROW_OK);
  result = load("d");
  assert_status(result, FURROW_E_NOT_FOUND, "no card");
  furrow_index_free(result);
  furrow_index_free(other);
  furrow_index_free(index);
  free(x);
}

/* A card that is moved goes on counting, and parts have it once. */
static void parts_have_one_card(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  furrow_index *parts[2] = {made("IVF8,Flat", x, 500), NULL}, *result;
  assert_int_equal(furrow_index_save(parts[0], "part", NULL, NULL), FURROW_OK);
  assert_int_equal(access("part.card", F_OK), -1);
  parts[1] = load("part");
  furrow_index_move_card(parts[1], parts[0]);
  assert_status(parts[0], FURROW_E_NOT_FOUND, "no card");
  assert_int_equal(furrow_index_add(parts[1], x + 500 * D, 50, NULL, NULL, NULL), FURROW_OK);
  const furrow_index_save_params to = FURROW_INIT(furrow_index_save_params, .card = true);
  assert_int_equal(furrow_index_save_parts(parts, 2, "whole", &to, NULL), FURROW_OK);
  result = load("whole");
  const furrow_index_card card = card_of(result);
  assert_true(card.built.vectors == 500 && card.added.vectors == 50);
  furrow_index_free(result);
  furrow_index_free(parts[0]);
  furrow_index_free(parts[1]);
  free(x);
}

/* ---- Its file ------------------------------------------------------------------------------------------- */

static void it_belongs_to_its_index(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  size_t size;
  furrow_index *index = made("IVF8,Flat", x, 500), *loaded;
  assert_int_equal(save(index, "i"), FURROW_OK);
  char *text = text_of("i.card", &size);
  /* without .card it is not loaded, and saving removes it: it would be another index's */
  assert_int_equal(furrow_index_load(&loaded, "i", NULL, NULL), FURROW_OK);
  assert_status(loaded, FURROW_E_NOT_FOUND, "no card");
  const furrow_index_save_params plain = FURROW_INIT(furrow_index_save_params, .overwrite = true);
  assert_int_equal(furrow_index_save(loaded, "i", &plain, NULL), FURROW_OK);
  assert_int_equal(access("i.card", F_OK), -1);
  assert_int_equal(access("i.card.new", F_OK), -1);
  furrow_index_free(loaded);
  /* of another index */
  assert_int_equal(furrow_index_add(index, x, 1, NULL, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "j", &plain, NULL), FURROW_OK);
  put_text("j.card", text, size);
  loaded = load("j");
  assert_status(loaded, FURROW_E_FORMAT, "the card belongs to another index");
  assert_int_equal(save(loaded, "j"), FURROW_OK); /* it is dropped, and nothing else suffers */
  furrow_index_free(loaded);
  loaded = load("j");
  assert_status(loaded, FURROW_E_NOT_FOUND, "no card");
  furrow_index_free(loaded);
  /* a file of another kind is never replaced */
  put_text("j.card", "my notes\n", 9);
  assert_int_equal(save(index, "j"), FURROW_E_EXISTS);
  loaded = load("j");
  assert_status(loaded, FURROW_E_FORMAT, "is not the card of an index");
  furrow_index_free(loaded);
  /* a save that was interrupted leaves the card waiting */
  assert_int_equal(save(index, "k"), FURROW_OK);
  assert_int_equal(rename("k.card", "k.card.new"), 0);
  loaded = load("k");
  assert_int_equal(card_of(loaded).built.vectors, 500);
  furrow_index_free(loaded);
  furrow_index_free(index);
  free(text);
  free(x);
}

static void damage_is_found(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  size_t size;
  furrow_index *index = made("IVF8,Flat", x, 300);
  furrow_error err;
  fw_card *card = calloc(1, sizeof *card);
  assert_int_equal(save(index, "i"), FURROW_OK);
  char *text = text_of("i.card", &size);
  for (size_t i = 0; i < size; i++) {
    text[i] ^= 4;
    assert_int_equal(fw_card_read(card, text, size, "f", &err), FURROW_E_FORMAT);
    assert_true(err.offset <= size);
    assert_string_equal(err.file, "f");
    text[i] ^= 4;
    assert_int_equal(fw_card_read(card, text, i, "f", &err), FURROW_E_FORMAT);
  }
  assert_int_equal(fw_card_read(card, text, size, "f", &err), FURROW_OK);
  fw_buffer again = {0};
  assert_int_equal(fw_card_write(card, &card->file.stamp, &again, NULL), FURROW_OK);
  assert_int_equal(again.size, size);
  assert_memory_equal(again.bytes, text, size);
  fw_buffer_clear(&again);
  free(card);
  free(text);
  furrow_index_free(index);
  free(x);
}

/* Memory that runs out at any point leaves index and card as they were, and nothing leaks. */
static void no_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  float *x = draw(1, 2, 300);
  const int64_t id = 7;
  furrow_index *index = made("IVF4,PQ4x4", x, 200);
  assert_int_equal(save(index, "i"), FURROW_OK);
  furrow_index_free(index);
  const long live = atomic_load(&alloc_live);
  long n = 1;
  for (bool done = false; !done; n++) {
    const furrow_index_load_params params = FURROW_INIT(furrow_index_load_params, .card = true);
    const furrow_index_add_params add = FURROW_INIT(furrow_index_add_params, .threads = 1);
    bool added = false, updated = false;
    index = NULL;
    alloc_fail_at(n);
    furrow_status status = furrow_index_load(&index, "i", &params, NULL);
    if (status == FURROW_OK) status = furrow_index_add(index, x + 200 * D, 100, &add, NULL, NULL);
    added = status == FURROW_OK;
    if (added) status = furrow_index_update(index, &id, x, 1, NULL);
    updated = status == FURROW_OK;
    if (updated) status = save(index, "j");
    alloc_fail_at(0);
    done = status == FURROW_OK;
    if (!done && status != FURROW_E_MEMORY) fail_msg("%ld: %s", n, furrow_status_name(status));
    if (index) {
      const furrow_index_card card = card_of(index);
      assert_int_equal(card.added.vectors, (added ? 100 : 0) + (updated ? 1 : 0));
      assert_int_equal(card.removed, updated ? 1 : 0);
    }
    furrow_index_free(index);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  assert_true(n > 60);
  free(x);
}

/* ---- Recall and staleness ------------------------------------------------------------------------------- */

static double square(const float *a, const float *b) {
  double sum = 0;
  for (size_t i = 0; i < D; i++) sum += (double)(a[i] - b[i]) * (double)(a[i] - b[i]);
  return sum;
}

/* The K nearest of n vectors for each query, by insertion. */
static void find_truth(const float *x, size_t n, const float *queries, int64_t *truth) {
  for (size_t q = 0; q < QUERIES; q++) {
    double best[K + 1];
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
      const double distance = square(queries + q * D, x + i * D);
      size_t at = count < K ? count++ : K;
      for (; at > 0 && distance < best[at - 1]; at--) {
        best[at] = best[at - 1];
        if (at < K) truth[q * K + at] = truth[q * K + at - 1];
      }
      best[at] = distance;
      if (at < K) truth[q * K + at] = (int64_t)i;
    }
  }
}

static double recall_of(const furrow_index *index, const float *queries, const int64_t *truth) {
  static float distances[QUERIES * K];
  static int64_t ids[QUERIES * K];
  furrow_searcher *searcher = NULL;
  size_t found = 0;
  assert_int_equal(furrow_searcher_create(&searcher, index, NULL, NULL), FURROW_OK);
  assert_int_equal(furrow_searcher_search(searcher, queries, QUERIES, K, NULL, distances, ids, NULL), FURROW_OK);
  furrow_searcher_free(searcher);
  for (size_t i = 0; i < QUERIES * K; i++)
    for (size_t k = 0; k < K; k++) found += ids[i] == truth[i / K * K + k];
  return (double)found / (QUERIES * K);
}

/* Adds vectors of a world to an index of world `seed`, and measures the recall of queries like them at the settings
 * that were tuned before. Returns whether the index is stale. */
static bool add_from(uint64_t world, uint64_t seed, double *ratio, double *recall) {
  static int64_t truth[QUERIES * K];
  float *x = draw(seed, seed + 100, N), *all = realloc(x, (N + MORE) * D * sizeof *x);
  float *y = draw(world, seed + 200, MORE), *queries = draw(world, seed + 300, QUERIES);
  float *own = draw(seed, seed + 400, QUERIES);
  assert_non_null(all);
  furrow_index *index = made("IVF48,PQ8x4,RFlat", all, N);
  furrow_index_tuning tuning;
  furrow_index_tuning_init(&tuning);
  find_truth(all, N, own, truth);
  assert_int_equal(furrow_index_tune(index, own, QUERIES, truth, K, NULL, &tuning, NULL), FURROW_OK);
  furrow_index_card card = card_of(index);
  assert_true(card.recall == tuning.recall && card.recall >= 0.95 && card.recall_k == K);
  assert_true(card.recall_queries == QUERIES && card.recall_vectors == N);
  assert_int_equal(furrow_index_add(index, y, MORE, NULL, NULL, NULL), FURROW_OK);
  memcpy(all + (size_t)N * D, y, (size_t)MORE * D * sizeof *y);
  find_truth(all, N + MORE, queries, truth);
  *recall = recall_of(index, queries, truth);
  card = card_of(index);
  *ratio = card.distance_ratio;
  assert_true(card.stale == (strncmp(card.advice, "stale: rebuild: ", 16) == 0));
  furrow_index_free(index);
  free(all);
  free(y);
  free(queries);
  free(own);
  return card.stale;
}

/* Vectors of the same distribution never make an index stale; others do, and searches find less. */
static void stale_means_less_recall(void **state) {
  (void)state;
  enum { SEEDS = 20 };
  double kept = 0, lost = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    double ratio, recall;
    if (add_from(seed, seed, &ratio, &recall)) fail_msg("seed %d: ratio %f", (int)seed, ratio);
    if (ratio > 1.15) fail_msg("seed %d: ratio %f", (int)seed, ratio);
    kept += recall / SEEDS;
    if (!add_from(seed + 1000, seed, &ratio, &recall)) fail_msg("seed %d: ratio %f", (int)seed, ratio);
    lost += recall / SEEDS;
  }
  if (kept < 0.94 || lost > 0.85) fail_msg("recall %f and %f", kept, lost);
}

/* After most of the vectors are gone, the nearest of the others are in lists that are not probed. */
static void removing_most_makes_stale(void **state) {
  (void)state;
  float *x = draw(1, 2, N);
  furrow_index *index = made("IVF48,Flat", x, N), *flat = made("Flat", x, N);
  assert_int_equal(furrow_index_set_nprobe(index, 2, NULL), FURROW_OK);
  const furrow_id_filter half = range_filter(0, N / 2), most = range_filter(N / 2, N - N / 20);
  assert_int_equal(furrow_index_remove(index, &half, NULL, NULL), FURROW_OK);
  assert_false(card_of(index).stale);
  assert_int_equal(furrow_index_remove(index, &most, NULL, NULL), FURROW_OK);
  assert_true(card_of(index).stale);
  assert_non_null(strstr(card_of(index).advice, "2280 of 2400 vectors were removed"));
  const furrow_id_filter all = range_filter(0, N - N / 20);
  assert_int_equal(furrow_index_remove(flat, &all, NULL, NULL), FURROW_OK);
  assert_false(card_of(flat).stale);
  furrow_index_free(index);
  furrow_index_free(flat);
  free(x);
}

/* Another nprobe is another recall. */
static void settings_forget_the_recall(void **state) {
  (void)state;
  static int64_t truth[QUERIES * K];
  float *x = draw(1, 2, N), *queries = draw(1, 3, QUERIES);
  furrow_index *index = made("IVF16,Flat", x, N);
  furrow_index_tuning tuning;
  furrow_index_tuning_init(&tuning);
  find_truth(x, N, queries, truth);
  assert_int_equal(furrow_index_tune(index, queries, QUERIES, truth, K, NULL, &tuning, NULL), FURROW_OK);
  assert_int_equal(furrow_index_set_nprobe(index, tuning.nprobe, NULL), FURROW_OK);
  assert_true(card_of(index).recall == tuning.recall);
  assert_int_equal(furrow_index_set_nprobe(index, 16, NULL), FURROW_OK);
  assert_true(isnan(card_of(index).recall));
  furrow_index_free(index);
  free(x);
  free(queries);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bins_are_ordered),
      IN_DIR(same_build_same_bytes),
      IN_DIR(ranks_write_one_card),
      IN_DIR(every_kind_is_counted),
      IN_DIR(merged_cards_add_up),
      IN_DIR(parts_have_one_card),
      IN_DIR(it_belongs_to_its_index),
      IN_DIR(damage_is_found),
      IN_DIR(no_memory),
      cmocka_unit_test(stale_means_less_recall),
      cmocka_unit_test(removing_most_makes_stale),
      cmocka_unit_test(settings_forget_the_recall),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
