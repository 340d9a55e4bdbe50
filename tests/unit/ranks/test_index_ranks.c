/* tests/unit/ranks/test_index_ranks.c: ranks (threads here) that fill one index: samples, adding, writing. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "furrow/vector_data.h"
#include "support/index_check.h"
#include "support/own_dir.h"
#include "support/thread_ranks.h"

enum { D = 16, N = 700, MOST_RANKS = 5 };

static float *vectors;

static int make_vectors(void **state) {
  fw_rng rng;
  fw_rng_init(&rng, 11);
  vectors = malloc(N * D * sizeof *vectors);
  for (size_t i = 0; i < N * D; i++) vectors[i] = (float)fw_rng_normal(&rng);
  return enter_dir(state);
}

static int free_vectors(void **state) {
  free(vectors);
  return leave_dir(state);
}

/* The part of n that a rank has: uneven, and nothing for rank 1 of many. */
static size_t first_of(size_t n, unsigned rank, unsigned ranks) {
  if (rank == ranks) return n;
  if (ranks > 3 && rank == 2) rank = 1;
  return n * rank * rank / (ranks * ranks);
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

#define SIZED .size = sizeof(furrow_index_spec), .d = D, .nlist = 9, .refine_nbits = 4
#define CODES SIZED, .m = 4, .by_residual = true

typedef struct one_kind {
  const char *name;
  furrow_index_spec spec;
  furrow_direct_map map;
  bool ids;           /* ids of the caller's */
  const char *compat; /* NULL: the newest */
} one_kind;

static const one_kind kinds[] = {
    {.name = "flat", .spec = {SIZED, .metric = FURROW_METRIC_L2, .nbits = 8}},
    {.name = "8 bits", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 8}},
    {.name = "4 bits, inner product", .spec = {CODES, .metric = FURROW_METRIC_IP, .nbits = 4}},
    {.name = "5 bits", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 5}},
    {.name = "no residuals", .spec = {SIZED, .m = 4, .metric = FURROW_METRIC_L2, .nbits = 6}},
    {.name = "ids", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4}, .ids = true},
    {.name = "normalized", .spec = {CODES, .metric = FURROW_METRIC_IP, .nbits = 4, .normalize = true}},
    {.name = "rotated", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .opq = true}},
    {.name = "rotated, narrow", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .opq = true, .opq_d = 8}},
    {.name = "graph", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .hnsw_m = 4}},
    {.name = "second codes", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .refine_m = 8}},
    {.name = "second codes, ids",
     .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .refine_m = 8, .id_map = true},
     .ids = true},
    {.name = "refined", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4, .refine_flat = true, .k_factor = 3}},
    {.name = "refined, ids",
     .spec = {CODES, .metric = FURROW_METRIC_IP, .nbits = 4, .refine_flat = true, .opq = true, .normalize = true,
              .id_map = true},
     .ids = true},
    {.name = "array", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4}, .map = FURROW_DIRECT_MAP_ARRAY},
    {.name = "hash table", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4}, .map = FURROW_DIRECT_MAP_HASHTABLE},
    {.name = "hash table, ids",
     .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 4},
     .map = FURROW_DIRECT_MAP_HASHTABLE,
     .ids = true},
    {.name = "many lists",
     .spec = {.size = sizeof(furrow_index_spec),
              .d = D,
              .nlist = 250,
              .refine_nbits = 4,
              .m = 4,
              .by_residual = true,
              .metric = FURROW_METRIC_L2,
              .nbits = 4}},
    {.name = "for an old Faiss", .spec = {CODES, .metric = FURROW_METRIC_L2, .nbits = 8}, .compat = "1.0"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void train_once(const one_kind *kind) {
  furrow_index *index = NULL;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  params.threads = 1;
  assert_int_equal(furrow_index_create(&index, &kind->spec, NULL), FURROW_OK);
  assert_int_equal(furrow_index_train(index, vectors, N, &params, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, "trained", &overwriting, NULL), FURROW_OK);
  furrow_index_free(index);
}

/* ---- Adding and writing ---------------------------------------------------------------------------------- */

typedef struct filling_rank {
  furrow_comm comm;
  const one_kind *kind;
  size_t n;
  const char *path;
  furrow_index_save_params save;
  bool fails; /* its index is of another kind */
  furrow_index *index;
  furrow_status status;
  furrow_error err;
} filling_rank;

/* Ids that are not in order; some come twice. */
static int64_t id_of(size_t i) {
  return (int64_t)(i * 7 % 500 + 3);
}

static furrow_status add_rows(furrow_index *index, const one_kind *kind, size_t from, size_t to) {
  int64_t ids[N];
  furrow_index_add_params params;
  furrow_index_add_params_init(&params);
  params.threads = 1;
  for (size_t i = from; i < to; i++) ids[i - from] = id_of(i);
  params.ids = kind->ids ? ids : NULL;
  return furrow_index_add(index, vectors + from * D, to - from, &params, NULL, NULL);
}

static void *fill_and_save(void *item) {
  filling_rank *r = item;
  const size_t from = first_of(r->n, r->comm.rank, r->comm.ranks), to = first_of(r->n, r->comm.rank + 1, r->comm.ranks);
  assert_int_equal(furrow_index_load(&r->index, r->fails ? "other" : "trained", NULL, NULL), FURROW_OK);
  if (r->kind->map == FURROW_DIRECT_MAP_ARRAY)
    assert_int_equal(furrow_index_set_direct_map(r->index, r->kind->map, NULL), FURROW_OK);
  assert_int_equal(add_rows(r->index, r->kind, from, to), FURROW_OK);
  if (r->kind->map == FURROW_DIRECT_MAP_HASHTABLE)
    assert_int_equal(furrow_index_set_direct_map(r->index, r->kind->map, NULL), FURROW_OK);
  r->save.comm = r->comm.ranks > 1 ? &r->comm : NULL;
  r->save.shift_ids = !r->kind->ids;
  r->status = furrow_index_save(r->index, r->path, &r->save, &r->err);
  furrow_index_free(r->index);
  return NULL;
}

static void save_by(filling_rank *items, unsigned ranks, const one_kind *kind, size_t n, const char *path,
                    bool overwrite) {
  for (unsigned r = 0; r < ranks; r++) {
    items[r] = (filling_rank){.comm = thread_comm(r, ranks), .kind = kind, .n = n, .path = path};
    furrow_index_save_params_init(&items[r].save);
    items[r].save.overwrite = overwrite;
    items[r].save.compat = kind->compat;
  }
}

static void run_ranks(filling_rank *items, unsigned ranks, furrow_status expected) {
  run_threads(ranks, fill_and_save, items, sizeof *items);
  for (unsigned r = 0; r < ranks; r++)
    if (items[r].status != expected)
      fail_msg("%s: rank %u of %u: %d, %s", items[r].kind->name, r, ranks, items[r].status, items[r].err.message);
}

static void assert_same_file(const char *a, const char *b, const char *what) {
  index_file x = {0}, y = {0};
  read_whole(a, &x);
  read_whole(b, &y);
  if (x.size != y.size) fail_msg("%s: %zu bytes, not %zu", what, x.size, y.size);
  for (size_t i = 0; i < x.size; i++)
    if (x.bytes[i] != y.bytes[i]) fail_msg("%s: byte %zu differs", what, i);
  free(x.bytes);
  free(y.bytes);
}

/* What ranks write together are the bytes that one process writes, also with fewer vectors than ranks, or none. */
static void test_one_file(void **state) {
  static const size_t counts[] = {N, 3, 0};
  (void)state;
  for (size_t k = 0; k < KINDS; k++) {
    train_once(&kinds[k]);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      filling_rank items[MOST_RANKS];
      save_by(items, 1, &kinds[k], counts[c], "alone", true);
      run_ranks(items, 1, FURROW_OK);
      for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        save_by(items, ranks, &kinds[k], counts[c], "together", true);
        run_ranks(items, ranks, FURROW_OK);
        assert_same_file("together", "alone", kinds[k].name);
      }
    }
  }
}

/* No temporary file stays. */
static void assert_nothing_left(void) {
  assert_int_equal(system("test -z \"$(ls -A | grep -e furrow- -e names.new)\""), 0);
}

static void test_existing_file(void **state) {
  (void)state;
  filling_rank items[3];
  index_file before = {0}, after = {0};
  assert_int_equal(system("rm -f together alone"), 0);
  train_once(&kinds[1]);
  save_by(items, 3, &kinds[1], N, "together", false);
  run_ranks(items, 3, FURROW_OK);
  read_whole("together", &before);
  save_by(items, 3, &kinds[1], N / 2, "together", false);
  run_threads(3, fill_and_save, items, sizeof *items);
  assert_int_equal(items[0].status, FURROW_E_EXISTS);
  assert_int_equal(items[1].status, FURROW_E_STATE);
  read_whole("together", &after);
  assert_same_bytes(&before, &after);
  assert_nothing_left();
  free(before.bytes);
  free(after.bytes);
}

/* A rank whose quantizers differ, a folder that is not there: all ranks fail, and the old file stays. */
static void test_failures(void **state) {
  (void)state;
  filling_rank items[3];
  index_file before = {0}, after = {0};
  one_kind other = kinds[1];
  other.spec.nlist = 8;
  train_once(&other);
  assert_int_equal(rename("trained", "other"), 0);
  train_once(&kinds[1]);
  save_by(items, 3, &kinds[1], N, "together", true);
  run_ranks(items, 3, FURROW_OK);
  read_whole("together", &before);
  for (int round = 0; round < 2; round++) {
    save_by(items, 3, &kinds[1], N, "together", true);
    items[2].fails = true;
    run_ranks(items, 3, FURROW_E_ARGUMENT);
    /* the second time the kinds are the same, and only the centroids differ */
    float *kept = vectors;
    float changed[N * D];
    for (size_t i = 0; i < N * D; i++) changed[i] = 2 * vectors[i];
    vectors = changed;
    train_once(&kinds[1]);
    vectors = kept;
    assert_int_equal(rename("trained", "other"), 0);
    train_once(&kinds[1]);
  }
  save_by(items, 3, &kinds[1], N, "missing/together", true);
  run_threads(3, fill_and_save, items, sizeof *items);
  assert_int_equal(items[0].status, FURROW_E_NOT_FOUND);
  assert_int_equal(items[1].status, FURROW_E_STATE);
  save_by(items, 2, &kinds[1], N, "-", true);
  run_ranks(items, 2, FURROW_E_ARGUMENT);
  read_whole("together", &after);
  assert_same_bytes(&before, &after);
  assert_nothing_left();
  free(before.bytes);
  free(after.bytes);
}

/* ---- Names ----------------------------------------------------------------------------------------------- */

static furrow_id_names *names_of(size_t n) {
  furrow_id_names *names = NULL;
  char texts[N][8];
  const char *list[N];
  for (size_t i = 0; i < n; i++) {
    snprintf(texts[i], sizeof texts[i], "n%zu", i);
    list[i] = texts[i];
  }
  assert_int_equal(furrow_id_names_create(&names, NULL), FURROW_OK);
  assert_int_equal(furrow_id_names_add(names, NULL, list, n, NULL), FURROW_OK);
  return names;
}

static void test_names(void **state) {
  (void)state;
  filling_rank items[3];
  furrow_id_names *names = names_of(N), *few = names_of(N - 1), *found = NULL;
  size_t size = 0;
  train_once(&kinds[1]);
  save_by(items, 3, &kinds[1], N, "together", true);
  items[0].save.names = names;
  run_ranks(items, 3, FURROW_OK);
  assert_int_equal(furrow_id_names_load(&found, "together", NULL), FURROW_OK);
  assert_memory_equal(furrow_id_names_text(found, N - 1, &size), "n699", 4);
  furrow_id_names_free(found);
  save_by(items, 3, &kinds[1], N, "together", true);
  items[0].save.names = few;
  run_threads(3, fill_and_save, items, sizeof *items);
  assert_int_equal(items[0].status, FURROW_E_ARGUMENT);
  assert_int_equal(items[2].status, FURROW_E_STATE);
  assert_int_equal(furrow_id_names_load(&found, "together", NULL), FURROW_OK);
  furrow_id_names_free(found);
  furrow_id_names_free(names);
  furrow_id_names_free(few);
  assert_nothing_left();
}

/* ---- Samples --------------------------------------------------------------------------------------------- */

/* The parts of a sample are the sample of all, at the positions that they name. */
static void test_samples(void **state) {
  (void)state;
  for (size_t size = 1; size <= N + 1; size += size < 8 ? 3 : 138) {
    furrow_reservoir *whole = NULL, *part = NULL;
    assert_int_equal(furrow_reservoir_create(&whole, D, size, 9, NULL), FURROW_OK);
    assert_int_equal(furrow_reservoir_add(whole, vectors, N, NULL), FURROW_OK);
    assert_null(furrow_reservoir_positions(whole));
    size_t seen = 0;
    for (unsigned rank = 0; rank < MOST_RANKS; rank++) {
      const size_t from = first_of(N, rank, MOST_RANKS), count = first_of(N, rank + 1, MOST_RANKS) - from;
      assert_int_equal(furrow_reservoir_create_part(&part, D, size, 9, from, count, N, NULL), FURROW_OK);
      for (size_t i = 0; i < count; i += 50)
        assert_int_equal(furrow_reservoir_add(part, vectors + (from + i) * D, count - i < 50 ? count - i : 50, NULL),
                         FURROW_OK);
      assert_int_equal(furrow_reservoir_add(part, vectors, 1, NULL), FURROW_E_ARGUMENT);
      const uint64_t *positions = furrow_reservoir_positions(part);
      for (size_t i = 0; i < furrow_reservoir_count(part); i++, seen++) {
        assert_true(i == 0 || positions[i] > positions[i - 1]);
        assert_memory_equal(furrow_reservoir_vectors(part) + i * D, furrow_reservoir_vectors(whole) + positions[i] * D,
                            D * sizeof(float));
      }
      furrow_reservoir_free(part);
    }
    assert_int_equal(seen, furrow_reservoir_count(whole));
    furrow_reservoir_free(whole);
  }
  furrow_reservoir *none = NULL;
  assert_int_equal(furrow_reservoir_create_part(&none, D, 5, 9, 3, 8, 10, NULL), FURROW_E_ARGUMENT);
}

/* ---- Positions ------------------------------------------------------------------------------------------- */

typedef struct training_rank {
  furrow_comm comm;
  bool wrong;
  furrow_index *index;
  furrow_status status;
} training_rank;

/* Rank r has every vector i with i % ranks == r. */
static void *train_mixed(void *item) {
  training_rank *r = item;
  float own[N * D];
  uint64_t positions[N];
  size_t n = 0;
  furrow_index_train_params params;
  furrow_index_train_params_init(&params);
  for (size_t i = r->comm.rank; i < N; i += r->comm.ranks, n++) {
    memcpy(own + n * D, vectors + i * D, D * sizeof *own);
    positions[n] = i;
  }
  if (r->wrong) positions[1] = positions[0];
  params.threads = 1;
  params.comm = &r->comm;
  params.positions = positions;
  assert_int_equal(furrow_index_create(&r->index, &kinds[1].spec, NULL), FURROW_OK);
  r->status = furrow_index_train(r->index, own, n, &params, NULL);
  return NULL;
}

/* With the positions of one process, its centroids come out, but for rounding. */
static void test_positions(void **state) {
  (void)state;
  furrow_index *alone = NULL;
  train_once(&kinds[1]);
  assert_int_equal(furrow_index_load(&alone, "trained", NULL, NULL), FURROW_OK);
  for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
    training_rank items[MOST_RANKS];
    for (unsigned r = 0; r < ranks; r++) items[r] = (training_rank){.comm = thread_comm(r, ranks)};
    run_threads(ranks, train_mixed, items, sizeof *items);
    for (unsigned r = 0; r < ranks; r++) {
      assert_int_equal(items[r].status, FURROW_OK);
      const float *a = items[r].index->child[0]->flat.vectors, *b = alone->child[0]->flat.vectors;
      for (size_t i = 0; i < 9 * D; i++) assert_float_equal(a[i], b[i], 1e-5F);
      furrow_index_free(items[r].index);
    }
  }
  training_rank items[2] = {{.comm = thread_comm(0, 2)}, {.comm = thread_comm(1, 2), .wrong = true}};
  run_threads(2, train_mixed, items, sizeof *items);
  assert_int_equal(items[0].status, FURROW_E_STATE);
  assert_int_equal(items[1].status, FURROW_E_ARGUMENT);
  furrow_index_free(items[0].index);
  furrow_index_free(items[1].index);
  furrow_index_free(alone);
}

/* ---- Parts of files -------------------------------------------------------------------------------------- */

static void check_part(furrow_vectors_reader *reader, size_t first, size_t count) {
  float *got = malloc((N + 1) * D * sizeof *got);
  int64_t ids[N];
  assert_int_equal(furrow_vectors_reader_count(reader), count);
  for (int round = 0; round < 2; round++) {
    size_t n = 1, done = 0;
    for (; n > 0; done += n)
      assert_int_equal(furrow_vectors_reader_next(reader, 37, got + done * D, ids + done, &n, NULL), FURROW_OK);
    assert_int_equal(done, count);
    if (count) assert_memory_equal(got, vectors + first * D, count * D * sizeof *got);
    if (count) assert_int_equal(ids[0], first);
    assert_int_equal(furrow_vectors_reader_rewind(reader, NULL), FURROW_OK);
  }
  free(got);
}

static void test_parts_of_files(void **state) {
  static const char *const endings[] = {"fvecs", "fbin", "npy", "f32"};
  (void)state;
  for (size_t e = 0; e < 5; e++) {
    char path[20], pack[60];
    furrow_vectors_writer_params params;
    furrow_vectors_reader_params reading;
    furrow_vectors_writer *out = NULL;
    furrow_vectors_writer_params_init(&params);
    furrow_vectors_reader_params_init(&reading);
    params.dim = reading.d = D;
    params.overwrite = true;
    snprintf(path, sizeof path, "part.%s", endings[e % 4]);
    assert_int_equal(furrow_vectors_writer_open(&out, path, &params, NULL), FURROW_OK);
    assert_int_equal(furrow_vectors_writer_write(out, vectors, N, NULL), FURROW_OK);
    assert_int_equal(furrow_vectors_writer_commit(out, NULL), FURROW_OK);
    furrow_vectors_writer_close(out);
    if (e == 4) { /* compressed: it cannot seek, and its count is not known */
      snprintf(pack, sizeof pack, "gzip -f %s", path);
      assert_int_equal(system(pack), 0);
      strcat(path, ".gz");
    }
    for (unsigned rank = 0; rank < MOST_RANKS; rank++) {
      const size_t first = first_of(N, rank, MOST_RANKS), count = first_of(N, rank + 1, MOST_RANKS) - first;
      furrow_vectors_reader *reader = NULL;
      assert_int_equal(furrow_vectors_reader_open(&reader, path, &reading, NULL), FURROW_OK);
      assert_int_equal(furrow_vectors_reader_restrict(reader, N - 1, 2, NULL), e == 4 ? FURROW_OK : FURROW_E_ARGUMENT);
      if (e == 4) {
        furrow_vectors_reader_close(reader);
        assert_int_equal(furrow_vectors_reader_open(&reader, path, &reading, NULL), FURROW_OK);
      }
      assert_int_equal(furrow_vectors_reader_restrict(reader, first, count, NULL), FURROW_OK);
      check_part(reader, first, count);
      if (count > 2) { /* a part of a part */
        assert_int_equal(furrow_vectors_reader_restrict(reader, 1, count - 2, NULL), FURROW_OK);
        check_part(reader, first + 1, count - 2);
      }
      furrow_vectors_reader_close(reader);
    }
    remove(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_file),       cmocka_unit_test(test_existing_file), cmocka_unit_test(test_failures),
      cmocka_unit_test(test_names),          cmocka_unit_test(test_samples),       cmocka_unit_test(test_positions),
      cmocka_unit_test(test_parts_of_files),
  };
  return cmocka_run_group_tests(tests, make_vectors, free_vectors);
}
