/* tests/unit/vector/test_index_hostile.c: index files that lie, end early or were changed at random: refused with the
 * place, or harmless, in bounded memory. */
#include <inttypes.h>

#include "base/rng.h"
#include "support/failing_alloc.h"
#include "support/golden_set.h"
#include "support/index_check.h"
#include "support/own_dir.h"

/* ---- Fields that contradict others ---------------------------------------------------------------------- */

typedef struct lie {
  void (*make)(index_file *f);
  const char *field; /* gets `value` in its first `width` bytes */
  int width;
  int64_t value;
  furrow_status status;
  const char *wrong_field; /* the field that the error is about */
  const char *message;
} lie;

enum { HUGE_COUNT = 40 };
#define FOURCC(a, b, c, d) ((int64_t)(a) | (int64_t)(b) << 8 | (int64_t)(c) << 16 | (int64_t)(d) << 24)

static const lie lies[] = {
    /* headers */
    {put_ivfpq, "fourcc", 4, FOURCC('X', 'w', 'P', 'Q'), FURROW_E_FORMAT, "fourcc", "fourcc is not that of an index"},
    {put_ivfpq, "fourcc", 4, FOURCC('I', 'w', 'I', 'Q'), FURROW_E_UNSUPPORTED, "fourcc", "Furrow does not read"},
    {put_ivfpq, "fourcc", 4, FOURCC('n', 'u', 'l', 'l'), FURROW_E_FORMAT, "fourcc", "has no index"},
    {put_ivfpq, "d", 4, 0, FURROW_E_FORMAT, "d", "d is 0"},
    {put_ivfpq, "d", 4, -4, FURROW_E_FORMAT, "d", "d is -4"},
    {put_ivfpq, "d", 4, (1 << 20) + 1, FURROW_E_FORMAT, "d", "d is 1048577"},
    {put_ivfpq, "d", 4, 8, FURROW_E_FORMAT, "quantizer/d", "quantizer/d is 4, but vectors of 8"},
    {put_ivfpq, "ntotal", 8, -1, FURROW_E_FORMAT, "ntotal", "ntotal is -1"},
    {put_ivfpq, "ntotal", 8, 5, FURROW_E_FORMAT, "ntotal", "ntotal is 5, but the lists have 6"},
    {put_ivfpq, "ntotal", 8, 1000000000000, FURROW_E_FORMAT, "ntotal", "but the lists have 6"},
    {put_ivfpq, "is_trained", 1, 2, FURROW_E_FORMAT, "is_trained", "neither 0 nor 1"},
    {put_ivfpq, "is_trained", 1, 0, FURROW_E_FORMAT, "is_trained", "is 0, but the lists have 6"},
    {put_ivfpq, "metric_type", 4, 5, FURROW_E_FORMAT, "metric_type", "not a metric"},
    {put_ivfpq, "metric_type", 4, -1, FURROW_E_FORMAT, "metric_type", "not a metric"},
    /* flat */
    {sample_flat, "ntotal", 8, 3, FURROW_E_FORMAT, "vectors/count", "vectors/count is 6, but must be 9"},
    {sample_flat, "ntotal", 8, INT64_MAX, FURROW_E_FORMAT, "metric_type", "which no file has"},
    {sample_flat, "vectors/count", 8, 7, FURROW_E_FORMAT, "vectors/count", "is 7, but must be 6"},
    {sample_flat, "vectors/count", 8, 2, FURROW_E_FORMAT, "vectors/count", "is 2, but must be 6"},
    /* IVF */
    {put_ivfpq, "nlist", 8, 0, FURROW_E_FORMAT, "nlist", "nlist is 0"},
    {put_ivfpq, "nlist", 8, 5, FURROW_E_FORMAT, "quantizer/ntotal", "quantizer/ntotal is 4, but must be 5"},
    {put_ivfpq, "nlist", 8, (int64_t)1 << 40, FURROW_E_FORMAT, "quantizer/ntotal", "must be 1099511627776"},
    {put_ivfpq, "nlist", 8, (int64_t)1 << 41, FURROW_E_FORMAT, "nlist", "1 to 2^40"},
    {put_ivfpq, "nprobe", 8, 0, FURROW_E_FORMAT, "nprobe", "nprobe is 0"},
    {put_ivfpq, "quantizer/fourcc", 4, FOURCC('i', 'l', 'a', 'r'), FURROW_E_FORMAT, "quantizer/fourcc",
     "not that of an index"},
    {put_ivfpq, "quantizer/d", 4, 2, FURROW_E_FORMAT, "quantizer/vectors/count", "is 16, but must be 8"},
    {put_ivfpq, "direct_map/type", 1, 7, FURROW_E_FORMAT, "direct_map/type", "is 7"},
    {put_ivfpq, "direct_map/type", 1, 1, FURROW_E_FORMAT, "direct_map/array/count", "is 0, but must be 6"},
    {put_ivfpq, "direct_map/array/count", 8, 1, FURROW_E_FORMAT, "direct_map/array/count", "is 1, but must be 0"},
    {sample_map_array, "direct_map/array", 8, (int64_t)4 << 32, FURROW_E_FORMAT, "direct_map/array",
     "leads to list 4, offset 0"},
    {sample_map_array, "direct_map/array", 8, 2, FURROW_E_FORMAT, NULL, "leads to list 0, offset 2"},
    {sample_map_hash, "direct_map/hashtable/count", 8, HUGE_COUNT, FURROW_E_FORMAT, NULL, NULL},
    {sample_map_hash, "direct_map/hashtable/count", 8, INT64_MAX, FURROW_E_FORMAT, "direct_map/hashtable/count",
     "bytes are left"},
    {put_ivfpq, "by_residual", 1, 7, FURROW_E_FORMAT, "by_residual", "neither 0 nor 1"},
    {put_ivfpq, "code_size", 8, 2, FURROW_E_FORMAT, "code_size", "is 2, but the quantizer makes codes of 1"},
    {put_ivfpq, "pq/d", 8, 8, FURROW_E_FORMAT, "pq/d", "is 8, but the vectors have 4"},
    {put_ivfpq, "pq/M", 8, 0, FURROW_E_FORMAT, "pq/M", "is 0"},
    {put_ivfpq, "pq/M", 8, 3, FURROW_E_FORMAT, "pq/M", "does not divide"},
    {put_ivfpq, "pq/M", 8, 4, FURROW_E_FORMAT, "code_size", "codes of 2 bytes"},
    {put_ivfpq, "pq/M", 8, INT64_MAX, FURROW_E_FORMAT, "pq/M", "does not divide"},
    {put_ivfpq, "pq/nbits", 8, 0, FURROW_E_FORMAT, "pq/nbits", "1 to 16"},
    {put_ivfpq, "pq/nbits", 8, 17, FURROW_E_FORMAT, "pq/nbits", "1 to 16"},
    {put_ivfpq, "pq/nbits", 8, 64, FURROW_E_FORMAT, "pq/nbits", "1 to 16"},
    {put_ivfpq, "pq/nbits", 8, 16, FURROW_E_FORMAT, "pq/centroids/count", "must be 262144"},
    {put_ivfpq, "pq/centroids/count", 8, 65, FURROW_E_FORMAT, "pq/centroids/count", "must be 64"},
    /* lists */
    {put_ivfpq, "lists/fourcc", 4, FOURCC('i', 'l', 'b', 'l'), FURROW_E_FORMAT, "lists/fourcc", "not a kind of lists"},
    {put_ivfpq, "lists/fourcc", 4, FOURCC('i', 'l', 'p', 'n'), FURROW_E_UNSUPPORTED, "lists/fourcc",
     "Furrow does not read"},
    {put_ivfpq, "lists/nlist", 8, (int64_t)1 << 40, FURROW_E_FORMAT, "lists/nlist", "but the index has 4 lists"},
    {put_ivfpq, "lists/code_size", 8, 8, FURROW_E_FORMAT, "lists/code_size", "makes codes of 1"},
    {put_ivfpq, "lists/sizes_form", 4, FOURCC('f', 'u', 'l', 'k'), FURROW_E_FORMAT, "lists/sizes_form", "neither full"},
    {put_ivfpq, "lists/sizes_form", 4, FOURCC('s', 'p', 'r', 's'), FURROW_E_FORMAT, NULL, "lists/sizes name list"},
    {put_ivfpq, "lists/sizes/count", 8, 3, FURROW_E_FORMAT, "lists/sizes/count", "must be 4"},
    {put_ivfpq, "lists/sizes", 8, (int64_t)1 << 61, FURROW_E_FORMAT, "lists/sizes", "bytes are left"},
    {put_ivfpq, "lists/sizes", 8, 3, FURROW_E_FORMAT, NULL, "bytes are left"},
    {sample_sparse_lists, "lists/sizes", 8, 4, FURROW_E_FORMAT, "lists/sizes", "list 4, which does not exist"},
    {sample_sparse_lists, "lists/sizes", 8, 3, FURROW_E_FORMAT, NULL,
     "list 3, which does not exist, or is not in order"},
    {sample_sparse_lists, "lists/sizes/count", 8, 3, FURROW_E_FORMAT, NULL, "come in pairs"},
    {sample_sparse_lists, "lists/sizes/count", 8, -2, FURROW_E_FORMAT, "lists/sizes/count", "bytes are left"},
    {sample_untrained, "nlist", 8, (int64_t)1 << 33, FURROW_E_FORMAT, "lists/nlist", "8589934592 lists"},
    {sample_multi, "quantizer/ntotal", 8, 17, FURROW_E_FORMAT, "quantizer/ntotal", "2^4 cells"},
    {sample_fast, "bbs", 4, 33, FURROW_E_FORMAT, "bbs", "multiple of 32"},
    {sample_fast, "bbs", 4, 64, FURROW_E_FORMAT, "lists/n_per_block", "bbs is 64"},
    {sample_fast, "M2", 8, 4, FURROW_E_FORMAT, "M2", "must be 2"},
    {sample_fast, "lists/block_size", 8, 33, FURROW_E_FORMAT, "lists/block_size", "must be 32"},
    {sample_fast, "lists/2/ids/count", 8, 0, FURROW_E_FORMAT, NULL, NULL},
    {sample_ivfsq, "sq/qtype", 4, 77, FURROW_E_UNSUPPORTED, "sq/qtype", "does not know"},
    {sample_ivfsq, "sq/qtype", 4, 4, FURROW_E_FORMAT, "sq/code_size", "of 16 bits need 8"},
    {sample_ivfsq, "code_size", 8, 5, FURROW_E_FORMAT, "code_size", "codes of 4 bytes"},
    {legacy_IvPQ, "lists/2/ids/count", 8, 2, FURROW_E_FORMAT, NULL, NULL},
    {legacy_IvPQ, "lists/2/codes/count", 8, 2, FURROW_E_FORMAT, "lists/2/codes/count", "is 2, but must be 3"},
    /* refinement */
    {sample_ivfpqr, "refine_pq/d", 8, 2, FURROW_E_FORMAT, "refine_pq/d", "is 2"},
    {sample_ivfpqr, "refine_codes/count", 8, 5, FURROW_E_FORMAT, "refine_codes/count", "must be 6"},
    {sample_ivfpqr, "k_factor", 4, 0x7fc00000, FURROW_E_FORMAT, "k_factor", "finite"},
    {sample_refine, "k_factor", 4, 0, FURROW_E_FORMAT, "k_factor", "at least 1"},
    {sample_refine, "ntotal", 8, 7, FURROW_E_FORMAT, "base/ntotal", "base/ntotal is 6, but must be 7"},
    {sample_refine, "refine/fourcc", 4, FOURCC('n', 'u', 'l', 'l'), FURROW_E_FORMAT, "refine/fourcc", "is null"},
    /* id maps */
    {sample_id_map2, "ntotal", 8, 3, FURROW_E_FORMAT, "index/ntotal", "is 2, but must be 3"},
    {sample_id_map2, "id_map/count", 8, 1, FURROW_E_FORMAT, "id_map/count", "must be 2"},
    {sample_id_map2, "d", 4, 4, FURROW_E_FORMAT, "index/d", "is 3"},
    /* graphs */
    {sample_hnsw, "ntotal", 8, 4, FURROW_E_FORMAT, "levels/count", "must be 4"},
    {sample_hnsw, "ntotal", 8, (int64_t)1 << 31, FURROW_E_FORMAT, "ntotal", "32 bits"},
    {sample_hnsw, "cum_nneighbor_per_level", 4, 1, FURROW_E_FORMAT, "cum_nneighbor_per_level", "begin with 0"},
    {sample_hnsw, "cum_nneighbor_per_level/count", 8, 1, FURROW_E_FORMAT, NULL, "begin with 0"},
    {sample_hnsw, "levels", 4, 3, FURROW_E_FORMAT, "levels", "has 3 for vector 0"},
    {sample_hnsw, "levels", 4, 0, FURROW_E_FORMAT, "levels", "has 0 for vector 0"},
    {sample_hnsw, "levels", 4, 1, FURROW_E_FORMAT, NULL, "has 6 for vector 1"},
    {sample_hnsw, "offsets", 8, 1, FURROW_E_FORMAT, "offsets", "has 1 for vector 0"},
    {sample_hnsw, "neighbors/count", 8, 23, FURROW_E_FORMAT, "neighbors/count", "must be 24"},
    {sample_hnsw, "neighbors", 4, 5, FURROW_E_FORMAT, "neighbors", "to 5, which does not exist"},
    {sample_hnsw, "neighbors", 4, -2, FURROW_E_FORMAT, "neighbors", "to -2, which does not exist"},
    {sample_hnsw, "entry_point", 4, 2, FURROW_E_FORMAT, "max_level", "not on that level"},
    {sample_hnsw, "entry_point", 4, 5, FURROW_E_FORMAT, "max_level", "entry point 5"},
    {sample_hnsw, "max_level", 4, 2, FURROW_E_FORMAT, "max_level", "is 2"},
    {sample_hnsw, "max_level", 4, -1, FURROW_E_FORMAT, "max_level", "is -1"},
    {sample_hnsw, "storage/fourcc", 4, FOURCC('n', 'u', 'l', 'l'), FURROW_E_FORMAT, "storage/fourcc",
     "storage of IHNf"},
    {sample_hnsw, "storage/d", 4, 2, FURROW_E_FORMAT, "storage/vectors/count", "must be 10"},
    /* transforms */
    {sample_transforms, "nt", 4, -1, FURROW_E_FORMAT, "nt", "is -1"},
    {sample_transforms, "nt", 4, 1001, FURROW_E_FORMAT, "nt", "is 1001"},
    {sample_transforms, "transforms/0/fourcc", 4, FOURCC('V', 'x', 'y', 'z'), FURROW_E_UNSUPPORTED,
     "transforms/0/fourcc", "transform that Furrow does not read"},
    {sample_transforms, "transforms/0/d_in", 4, 3, FURROW_E_FORMAT, NULL, "3 inputs"},
    {sample_transforms, "transforms/0/d_in", 4, 0, FURROW_E_FORMAT, "transforms/0/d_in", "is 0"},
    {sample_transforms, "transforms/2/map", 4, 4, FURROW_E_FORMAT, NULL, "from 4 of 4 inputs"},
    {sample_transforms, "transforms/2/d_out", 4, 6, FURROW_E_FORMAT, NULL, "map need 6 numbers"},
    {sample_transforms, "transforms/4/d_out", 4, 3, FURROW_E_FORMAT, NULL, "A need 12 numbers, but it has 8"},
    {sample_transforms, "transforms/6/d_out", 4, 3, FURROW_E_FORMAT, NULL, "pca_then_itq"},
    {sample_transforms, "index/d", 4, 6, FURROW_E_FORMAT, "index/vectors/count", "must be 18"},
    {sample_pq, "ntotal", 8, 4, FURROW_E_FORMAT, "codes/count", "must be 4"},
};

static void set_field(index_file *f, const char *field, int width, int64_t value) {
  uint8_t bytes[8];
  fw_put_le64(bytes, (uint64_t)value);
  memcpy(f->bytes + place_of(f, "scratch", field), bytes, (size_t)width);
}

static void check_lie(const lie *l) {
  index_file f = {0};
  l->make(&f);
  uint64_t wrong_field = l->wrong_field ? place_of(&f, "scratch", l->wrong_field) : 0;
  set_field(&f, l->field, l->width, l->value);
  for (int map = 0; map < 2; map++) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    furrow_status status = read_bytes(&f, map, &index, &err);
    bool good = status == l->status && (!l->wrong_field || err.offset == wrong_field) &&
                (!l->message || strstr(err.message, l->message));
    if (!good)
      print_error("%s = %" PRId64 ": %s, byte %" PRIu64 " (not %" PRIu64 "): %s\n", l->field, l->value,
                  furrow_status_name(status), err.offset, wrong_field, err.message);
    assert_true(good);
    assert_null(index);
    assert_true(err.offset <= f.size);
  }
  index_file_clear(&f);
}

static void fields_that_contradict_are_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) check_lie(&lies[i]);
}

/* What Faiss leaves open stays open: nobody can tell that it is wrong. */
static void what_may_differ_is_taken(void **state) {
  (void)state;
  static const struct {
    const char *field;
    int width;
    int64_t value;
  } free_fields[] = {{"ntotal", 8, 60}, {"nprobe", 8, 256}, {"by_residual", 1, 0}, {"dummy/0", 8, 5}};
  for (size_t i = 0; i < sizeof free_fields / sizeof *free_fields; i++) {
    index_file f = {0}, written = {0};
    furrow_index *index = NULL;
    put_ivfpq(&f);
    set_field(&f, free_fields[i].field, free_fields[i].width, free_fields[i].value);
    assert_int_equal(read_bytes(&f, false, &index, NULL), FURROW_OK);
    write_bytes(index, &written);
    assert_same_bytes(&written, &f);
    furrow_index_free(index);
    index_file_clear(&f);
    index_file_clear(&written);
  }
}

static void depth_has_a_limit(void **state) {
  (void)state;
  for (int depth = 30; depth < 2000; depth += 1969) {
    index_file f = {0};
    furrow_index *index = NULL;
    furrow_error err;
    for (int i = 0; i < depth; i++) put_header(&f, "IxMp", 3, 2, true, 1);
    put_flat(&f, "IxF2", 3, 2, 1);
    for (int i = 0; i < depth; i++) {
      put_long(&f, 2);
      put_long(&f, 0);
      put_long(&f, 1);
    }
    furrow_status status = read_bytes(&f, false, &index, &err);
    assert_int_equal(status, depth == 30 ? FURROW_OK : FURROW_E_FORMAT);
    if (status != FURROW_OK) assert_non_null(strstr(err.message, "inside of 32 others"));
    furrow_index_free(index);
    index_file_clear(&f);
  }
}

/* ---- Files that end early ------------------------------------------------------------------------------- */

static void check_cut(const index_file *f) {
  for (size_t n = 0; n < f->size; n++) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    uint8_t *copy = malloc(n ? n : 1); /* so that reading beyond is noticed */
    assert_non_null(copy);
    memcpy(copy, f->bytes, n);
    index_file cut = {.bytes = copy, .size = n};
    assert_int_equal(read_bytes(&cut, n % 2, &index, &err), FURROW_E_FORMAT);
    assert_true(err.offset <= n && err.message[0]);
    free(copy);
  }
}

static void every_cut_is_refused(void **state) {
  (void)state;
  for (int i = 0; i < SAMPLES; i++) {
    index_file f = {0};
    samples[i].make(&f);
    check_cut(&f);
    index_file_clear(&f);
  }
  for (int i = 0; i < LEGACIES; i++) {
    index_file f = {0};
    legacies[i].make(&f);
    check_cut(&f);
    index_file_clear(&f);
  }
}

/* ---- Files that were changed ---------------------------------------------------------------------------- */

/* Numbers that break sizes, and bytes. */
static void mutate(index_file *f, fw_rng *rng) {
  static const uint64_t numbers[] = {
      0,          1,          2,         3,          255, 65535, 1u << 20, UINT32_MAX, 1ull << 31, 1ull << 40,
      1ull << 61, UINT64_MAX, INT64_MAX, 1ull << 63, 7,   64,    100000,   INT32_MAX,  1ull << 32, (1ull << 62) + 1};
  for (uint64_t times = 1 + fw_rng_below(rng, 3); times > 0; times--) {
    size_t at = (size_t)fw_rng_below(rng, f->size);
    uint8_t bytes[8];
    size_t n = (size_t)1 << fw_rng_below(rng, 4);
    if (n > f->size - at) n = 1;
    if (fw_rng_below(rng, 3) == 0)
      fw_put_le64(bytes, fw_rng_next(rng));
    else
      fw_put_le64(bytes, numbers[fw_rng_below(rng, sizeof numbers / sizeof *numbers)]);
    memcpy(f->bytes + at, bytes, n);
  }
}

static void look_around(const furrow_index *index) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_list_stats stats;
  furrow_list_stats_init(&stats);
  furrow_index_get_info(index, &info);
  const furrow_index *ivf = furrow_index_ivf(index);
  if (!ivf) return;
  assert_int_equal(furrow_index_get_list_stats(ivf, &stats, NULL), FURROW_OK);
  furrow_index_get_info(ivf, &info);
  for (uint64_t i = 0; i < info.nlist && i < 1000; i++) {
    furrow_list_view list;
    assert_int_equal(furrow_index_list(ivf, i, &list, NULL), FURROW_OK);
    volatile int64_t id = 0;
    for (size_t k = 0; k < list.count; k++) id += furrow_list_id(&list, k) + list.codes[0];
  }
}

/* What is accepted is whole: it is written and read again, and its bytes are those that were read (or of a legacy
 * kind's successor). */
static void check_mutation(const index_file *f, bool map) {
  furrow_index *index = NULL;
  furrow_error err = {0};
  index_file written = {0}, again = {0};
  alloc_watch();
  furrow_status status = read_bytes(f, map, &index, &err);
  if (FAILING_ALLOC) assert_true((uint64_t)atomic_load(&alloc_peak) <= 2 * f->size + (64 << 20));
  if (status != FURROW_OK) {
    assert_true(status == FURROW_E_FORMAT || status == FURROW_E_UNSUPPORTED || status == FURROW_E_ARGUMENT ||
                status == FURROW_E_NOT_FOUND);
    assert_true(status != FURROW_E_FORMAT || err.offset <= f->size);
    return;
  }
  look_around(index);
  write_bytes(index, &written);
  furrow_index_free(index);
  assert_int_equal(read_bytes(&written, false, &index, &err), FURROW_OK);
  write_bytes(index, &again);
  assert_same_bytes(&again, &written);
  if (f->size == written.size && f->bytes[1] != 'v') assert_memory_equal(f->bytes, written.bytes, f->size);
  furrow_index_free(index);
  index_file_clear(&written);
  index_file_clear(&again);
}

static void changes_are_refused_or_harmless(void **state) {
  (void)state;
  fw_rng rng;
  fw_rng_init(&rng, 20);
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < SAMPLES + LEGACIES; i++) {
      index_file f = {0};
      if (i < SAMPLES)
        samples[i].make(&f);
      else
        legacies[i - SAMPLES].make(&f);
      mutate(&f, &rng);
      check_mutation(&f, round % 2);
      index_file_clear(&f);
    }
  }
}

/* Every byte of a small file that is not an element of an array, set to four values. */
static void every_structural_byte_is_tried(void **state) {
  (void)state;
  static const uint8_t values[] = {0, 1, 0x7f, 0xff};
  for (int i = 0; i < SAMPLES; i++) {
    index_file f = {0};
    samples[i].make(&f);
    for (size_t at = 0; at < f.size; at++) {
      uint8_t before = f.bytes[at];
      f.bytes[at] = values[at % 4] != before ? values[at % 4] : (uint8_t)(before ^ 0x10);
      check_mutation(&f, at / 4 % 2);
      f.bytes[at] = before;
    }
    index_file_clear(&f);
  }
}

static void golden_files_changed(void **state) {
  (void)state;
  static const char *const names[] = {"v173_ivfpq_l2_res_nb4_oddM", "v173_hnsw_flat_l2", "v173_itq_ivfpq",
                                      "v173_ivfpqfs_oddM",          "v173_idmap_ivfpq",  "v173_ivfpq_l2_dmap_hash",
                                      "v173_ivfpq_l2_ondisk",       "v173_ivfpq_l2_sprs"};
  char path[TEST_PATH], name[128];
  fw_rng rng;
  fw_rng_init(&rng, 21);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(name, sizeof name, "faiss/%s.index", names[i]);
    index_file good = {0};
    read_whole(golden_path(path, name), &good);
    for (int round = 0; round < 100; round++) {
      index_file f = {0};
      put(&f, good.bytes, good.size);
      mutate(&f, &rng);
      check_mutation(&f, round % 2);
      index_file_clear(&f);
    }
    index_file_clear(&good);
  }
}

/* ---- Memory that runs out ------------------------------------------------------------------------------- */

static void no_memory_is_survived(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  for (int i = 0; i < SAMPLES + LEGACIES; i++) {
    index_file f = {0};
    if (i < SAMPLES)
      samples[i].make(&f);
    else
      legacies[i - SAMPLES].make(&f);
    assert_true(test_write_file("file", f.bytes, f.size));
    for (long n = 1;; n++) {
      furrow_index *index = NULL;
      furrow_error err = {0};
      long live = atomic_load(&alloc_live);
      alloc_fail_at(n);
      furrow_status status = furrow_index_load(&index, "file", NULL, &err);
      alloc_fail_at(0);
      if (status == FURROW_OK) {
        furrow_index_free(index);
        break;
      }
      assert_int_equal(status, FURROW_E_MEMORY);
      assert_null(index);
      assert_int_equal(atomic_load(&alloc_live), live);
    }
    index_file_clear(&f);
  }
}

int main(void) {
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {
      IN_DIR(fields_that_contradict_are_refused),
      IN_DIR(what_may_differ_is_taken),
      cmocka_unit_test(depth_has_a_limit),
      cmocka_unit_test(every_cut_is_refused),
      cmocka_unit_test(changes_are_refused_or_harmless),
      cmocka_unit_test(every_structural_byte_is_tried),
      cmocka_unit_test(golden_files_changed),
      IN_DIR(no_memory_is_survived),
  };
#undef IN_DIR
  return cmocka_run_group_tests(tests, NULL, NULL);
}
