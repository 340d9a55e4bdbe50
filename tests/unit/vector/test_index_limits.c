/* tests/unit/vector/test_index_limits.c: the last value of a field that is taken, and the first that is refused. */
#include <inttypes.h>

#include "support/index_check.h"
#include "support/own_dir.h"

/* ---- Files that other tests do not have ---- */

static void widest(index_file *f) {
  put_flat(f, "IxF2", 1 << 20, 0, 1);
}

static void pq_of_one_bit(index_file *f) {
  put_header(f, "IxPq", 2, 0, true, 1);
  put_pq(f, 2, 2, 1);
  put_long(f, 0);
  put_word(f, 0);
  put_byte(f, 0);
  put_word(f, 2);
}

static void multi_without_cells(index_file *f) {
  put_header(f, "Imiq", 4, 0, true, 1);
  put_pq(f, 4, 2, 2);
}

/* 2^64 cells */
static void multi_without_end(index_file *f) {
  put_header(f, "Imiq", 4, 1, true, 1);
  put_pq(f, 4, 4, 16);
}

/* 2^22 lists and a vector in one of them: more lists than the bytes of the file excuse. */
static void lists_from_nothing(index_file *f) {
  put_header(f, "IwPQ", 2, 1, true, 1);
  put_long(f, 1 << 22);
  put_long(f, 1);
  put_header(f, "Imiq", 2, 1 << 22, true, 1);
  put_pq(f, 2, 2, 11);
  put_no_map(f);
  put_byte(f, 1);
  put_long(f, 1);
  put_pq(f, 2, 2, 4);
  put_fourcc(f, "ilar");
  put_long(f, 1 << 22);
  put_long(f, 1);
  put_fourcc(f, "sprs");
  put_long(f, 2);
  put_long(f, 3);
  put_long(f, 1);
  put_codes(f, 1);
  put_long(f, 0);
}

/* Without a quantizer nothing but the bytes that follow limits the lists. */
static void put_lists_alone(index_file *f, const char *fourcc, int64_t lists) {
  put_header(f, fourcc, 4, 0, true, 1);
  put_long(f, lists);
  put_long(f, 1);
  put_fourcc(f, "null");
}

static void put_legacy_alone(index_file *f, int64_t stated) {
  put_lists_alone(f, "IvPQ", stated);
  put_long(f, 0);
  put_long(f, 0);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_long(f, 0);
  put_long(f, 0);
}

static void legacy_two_lists(index_file *f) {
  put_legacy_alone(f, 2);
}

static void legacy_many_lists(index_file *f) {
  put_legacy_alone(f, (int64_t)1 << 39);
}

static void put_fast_alone(index_file *f, int64_t stated, int64_t nbits) {
  put_lists_alone(f, "IwPf", stated);
  put_no_map(f);
  put_byte(f, 0);
  put_long(f, 1);
  put_word(f, 32);
  put_long(f, 2);
  put_word(f, 0);
  put_long(f, 0);
  put_pq(f, 4, 2, nbits);
  put_fourcc(f, "ilbl");
  put_long(f, stated);
  put_long(f, -1);
  put_long(f, 32);
  put_long(f, 32);
  for (int i = 0; i < 4; i++) put_long(f, 0);
}

static void fast_two_lists(index_file *f) {
  put_fast_alone(f, 2, 4);
}

static void fast_many_lists(index_file *f) {
  put_fast_alone(f, (int64_t)1 << 39, 4);
}

static void fast_of_three_bits(index_file *f) {
  put_fast_alone(f, 2, 3);
}

/* A direct map into lists that the file does not have: nobody can say that it is wrong. */
static void map_without_lists(index_file *f) {
  put_ivf(f, "IwPQ", 1);
  put_byte(f, 1);
  put_long(f, 1);
  put_long(f, ((int64_t)3 << 32) + 9);
  put_ivf_pq(f, 4);
  put_fourcc(f, "il00");
}

/* An HNSW graph of n (0 or 1) vectors on one level, which has two links; `above` levels follow that have none. */
static void put_low_graph(index_file *f, int n, int above, int entry, int max_level) {
  put_header(f, "IHNf", 2, n, true, 1);
  put_long(f, 0);
  put_long(f, 2 + above);
  put_word(f, 0);
  for (int i = 0; i <= above; i++) put_word(f, 2);
  put_long(f, n);
  for (int i = 0; i < n; i++) put_word(f, 1);
  put_long(f, n + 1);
  for (int i = 0; i <= n; i++) put_long(f, 2 * i);
  put_long(f, 2 * n);
  for (int i = 0; i < 2 * n; i++) put_word(f, i % 2 - 1);
  put_word(f, entry);
  put_word(f, max_level);
  for (int i = 0; i < 3; i++) put_word(f, 1);
  put_flat(f, "IxF2", 2, n, 1);
}

static void graph_of_one(index_file *f) {
  put_low_graph(f, 1, 0, 0, 0);
}
static void graph_with_empty_level(index_file *f) {
  put_low_graph(f, 1, 1, 0, 0);
}
static void graph_of_none(index_file *f) {
  put_low_graph(f, 0, 0, -1, -1);
}

static void graph_of_codes(index_file *f) {
  put_graph(f, 6, 3, 1);
  sample_pq(f);
}

/* ---- Transforms ---- */

static void no_transforms(index_file *f) {
  put_header(f, "IxPT", 2, 0, true, 1);
  put_word(f, 0);
  put_flat(f, "IxF2", 2, 0, 1);
}

static void put_norm(index_file *f, int d, int own) {
  put_header(f, "IxPT", d, 0, true, 1);
  put_word(f, 1);
  put_fourcc(f, "VNrm");
  put_real(f, 2);
  put_transform_end(f, own, own);
  put_flat(f, "IxF2", own, 0, 1);
}
static void widest_transform(index_file *f) {
  put_norm(f, 1 << 20, 1 << 20);
}
static void transform_of_others(index_file *f) {
  put_norm(f, 3, 2);
}

static void put_linear_alone(index_file *f, size_t numbers, bool trained) {
  put_header(f, "IxPT", 2, 0, true, 1);
  put_word(f, 1);
  put_fourcc(f, "LTra");
  put_byte(f, 0);
  put_real_vector(f, numbers);
  put_real_vector(f, 0);
  put_word(f, 2);
  put_word(f, 2);
  put_byte(f, trained);
  put_flat(f, "IxF2", 2, 0, 1);
}
static void trained_without_numbers(index_file *f) {
  put_linear_alone(f, 0, true);
}
static void untrained_without_numbers(index_file *f) {
  put_linear_alone(f, 0, false);
}
static void untrained_with_some(index_file *f) {
  put_linear_alone(f, 3, false);
}

/* ITQ from 4 dimensions to 2, whose inner transform goes from `in` to `out`. */
static void put_itq(index_file *f, int in, int out, bool trained) {
  put_header(f, "IxPT", 4, 0, true, 1);
  put_word(f, 1);
  put_fourcc(f, "Viqt");
  put_real_vector(f, 4);
  put_byte(f, 1);
  put_fourcc(f, "Viqm");
  put_word(f, 50);
  put_word(f, 123);
  put_linear(f, 2, 2, false);
  put_transform_end(f, 2, 2);
  put_fourcc(f, "LTra");
  put_linear(f, (size_t)in, (size_t)out, false);
  put_transform_end(f, in, out);
  put_word(f, 4);
  put_word(f, 2);
  put_byte(f, trained);
  put_flat(f, "IxF2", 2, 0, 1);
}
static void itq(index_file *f) {
  put_itq(f, 4, 2, true);
}
static void itq_of_other_inputs(index_file *f) {
  put_itq(f, 3, 2, true);
}
static void itq_of_other_outputs(index_file *f) {
  put_itq(f, 4, 3, true);
}
static void itq_untrained(index_file *f) {
  put_itq(f, 3, 3, false);
}

/* ---- Indexes in indexes, lists in files ---- */

static void put_nested(index_file *f, int depth) {
  for (int i = 1; i < depth; i++) put_header(f, "IxMp", 3, 2, true, 1);
  put_flat(f, "IxF2", 3, 2, 1);
  for (int i = 1; i < depth; i++) {
    put_long(f, 2);
    put_long(f, 0);
    put_long(f, 1);
  }
}
static void nested_32(index_file *f) {
  put_nested(f, 32);
}
static void nested_33(index_file *f) {
  put_nested(f, 33);
}

/* Lists in a data file: one of two vectors, with codes of one byte; `slot`: offset and bytes of a free slot, or NULL.
 */
static void put_on_disk(index_file *f, const int64_t *slot) {
  put_lists_alone(f, "IwPQ", 1);
  put_no_map(f);
  put_ivf_pq(f, 4);
  put_fourcc(f, "ilod");
  put_long(f, 1);
  put_long(f, 1);
  put_long(f, 1);
  put_long(f, 0); /* size, capacity, offset */
  put_long(f, 2);
  put_long(f, 7);
  put_long(f, slot != NULL);
  if (slot) put_long(f, slot[0]);
  if (slot) put_long(f, slot[1]);
  put_long(f, 4);
  put(f, "data", 4);
  put_long(f, 25);
}
static void on_disk(index_file *f) {
  put_on_disk(f, NULL);
}

/* ---- What they must be ---- */

typedef struct limit {
  void (*make)(index_file *f);
  const char *field; /* gets `value`, `skip` bytes behind its beginning; NULL: the file stays as it is */
  size_t skip;
  int width;
  int64_t value;
  furrow_status status;
  const char *message;
} limit;

#define TAKEN FURROW_OK, NULL
#define REFUSED(message) FURROW_E_FORMAT, message
#define AS_IT_IS NULL, 0, 0, 0
#define FOURCC(a, b, c, d) ((int64_t)(a) | (int64_t)(b) << 8 | (int64_t)(c) << 16 | (int64_t)(d) << 24)
#define NO_INDEX FOURCC('n', 'u', 'l', 'l')

static const limit limits[] = {
    {widest, AS_IT_IS, TAKEN},
    {pq_of_one_bit, AS_IT_IS, TAKEN},
    {nested_32, AS_IT_IS, TAKEN},
    {nested_33, AS_IT_IS, REFUSED("inside of 32 others")},
    {sample_id_map2, "index/fourcc", 0, 4, NO_INDEX, REFUSED("index is null, but is required")},
    {sample_refine, "base/fourcc", 0, 4, NO_INDEX, REFUSED("base is null, but is required")},
    {sample_transforms, "index/fourcc", 0, 4, NO_INDEX, REFUSED("index is null, but is required")},
    /* cells */
    {multi_without_cells, AS_IT_IS, TAKEN},
    {multi_without_end, AS_IT_IS, REFUSED("which makes 2^64 cells")},
    {put_ivfpq, "ntotal", 0, 8, ((int64_t)1 << 32) + 6, TAKEN},
    {put_ivfpq, "ntotal", 0, 8, ((int64_t)1 << 32) + 7, REFUSED("but the lists have 6 vectors")},
    {lists_from_nothing, AS_IT_IS, REFUSED("comes with 4194304 lists, too many for a file of")},
    {legacy_two_lists, AS_IT_IS, TAKEN},
    {legacy_many_lists, AS_IT_IS, REFUSED("lists of 549755813888 counts need more bytes")},
    {map_without_lists, AS_IT_IS, TAKEN},
    {map_without_lists, "direct_map/array", 4, 4, 4, REFUSED("leads to list 4, offset 9")},
    {fast_two_lists, AS_IT_IS, TAKEN},
    {fast_many_lists, AS_IT_IS, REFUSED("and the others of 549755813888 lists need more bytes")},
    {sample_fast, "bbs", 0, 4, 0, REFUSED("bbs is 0, but must be a multiple of 32")},
    {sample_fast, "bbs", 0, 4, -32, REFUSED("bbs is -32, but must be a multiple of 32")},
    {fast_of_three_bits, AS_IT_IS, REFUSED("pq/nbits is 3, but must be 4")},
    {sample_fast, "lists/fourcc", 0, 4, FOURCC('i', 'l', 'a', 'r'), REFUSED("is not a kind of lists")},
    {put_ivfpq, "lists/fourcc", 0, 4, FOURCC('i', 'l', 'p', '2'), FURROW_E_UNSUPPORTED, "Panorama"},
    {sample_sparse_lists, "lists/sizes", 8, 8, 0, REFUSED("name list 2, which is empty")},
    /* scalar quantizers */
    {sample_ivfsq, "sq/qtype", 0, 4, -1, FURROW_E_UNSUPPORTED, "sq/qtype is -1, which Furrow does not know"},
    {sample_ivfsq, "sq/qtype", 0, 4, 9, FURROW_E_UNSUPPORTED, "sq/qtype is 9, which Furrow does not know"},
    {sample_ivfsq, "sq/qtype", 0, 4, 8, TAKEN},
    {sample_ivfsq, "sq/d", 0, 8, 3, REFUSED("sq/d is 3, but the vectors have 4 dimensions")},
    {sample_ivfsq, "sq/code_size", 0, 8, 5, REFUSED("4 numbers of 8 bits need 4")},
    /* graphs */
    {sample_hnsw, "ntotal", 0, 8, INT32_MAX, REFUSED("levels/count is 5, but must be 2147483647")},
    {sample_hnsw, "ntotal", 0, 8, (int64_t)INT32_MAX + 1, REFUSED("but links have 32 bits")},
    {sample_hnsw, "cum_nneighbor_per_level", 8, 4, 3, REFUSED("falls from 4 to 3 at level 2")},
    {sample_hnsw, "neighbors", 16, 4, 2, REFUSED("leads from vector 0 on level 1 to 2, which does not exist")},
    {sample_hnsw, "storage/fourcc", 0, 4, NO_INDEX, REFUSED("storage/fourcc is not that of the storage of IHNf")},
    {graph_of_one, AS_IT_IS, TAKEN},
    {graph_of_one, "entry_point", 0, 4, -1, REFUSED("the entry point -1 is not on that level")},
    {graph_of_one, "max_level", 0, 4, -1, REFUSED("max_level is -1")},
    {graph_with_empty_level, AS_IT_IS, TAKEN},
    {graph_of_none, AS_IT_IS, TAKEN},
    {graph_of_none, "entry_point", 0, 4, 0, REFUSED("and entry_point must be -1 without vectors")},
    {graph_of_none, "max_level", 0, 4, 0, REFUSED("and entry_point must be -1 without vectors")},
    {graph_of_codes, AS_IT_IS, REFUSED("storage/fourcc is not that of the storage of IHNf")},
    {sample_refine, "k_factor", 0, 4, 0x7f800000, REFUSED("k_factor is inf, but must be finite")},
    /* transforms */
    {sample_transforms, "nt", 0, 4, 1000, FURROW_E_UNSUPPORTED, "transforms/8/fourcc"},
    {sample_transforms, "transforms/0/d_out", 0, 4, 5, REFUSED("4 inputs and 5 outputs, which must be equal")},
    {sample_transforms, "transforms/1/d_out", 0, 4, 5, REFUSED("4 inputs and 5 outputs, which must be equal")},
    {sample_transforms, "transforms/0/d_in", 0, 4, (1 << 20) + 1, REFUSED("d_in is 1048577, but must be 1 to 1048576")},
    {sample_transforms, "transforms/2/map", 0, 4, -2, REFUSED("output 0 comes from -2 of 4 inputs")},
    {no_transforms, AS_IT_IS, TAKEN},
    {widest_transform, AS_IT_IS, TAKEN},
    {transform_of_others, AS_IT_IS, REFUSED("ends a transform of 2 inputs, but 3 come here")},
    {trained_without_numbers, AS_IT_IS, REFUSED("makes A need 4 numbers, but it has 0")},
    {untrained_without_numbers, AS_IT_IS, TAKEN},
    {untrained_with_some, AS_IT_IS, REFUSED("makes A need 4 numbers, but it has 3")},
    {itq, AS_IT_IS, TAKEN},
    {itq_of_other_inputs, AS_IT_IS, REFUSED("pca_then_itq, which makes 2 of 3")},
    {itq_of_other_outputs, AS_IT_IS, REFUSED("pca_then_itq, which makes 3 of 4")},
    {itq_untrained, AS_IT_IS, TAKEN},
    /* lists in a data file */
    {on_disk, "lists/lists", 0, 8, 3, REFUSED("give list 0 3 vectors with a capacity of 2")},
    /* 9 bytes for each: in 64 bits that comes to 2 */
    {on_disk, "lists/lists", 8, 8, 2049638230412172402,
     REFUSED("put list 0 at byte 7 with a capacity of 204963823041217")},
    {on_disk, "lists/lists", 16, 8, -9, REFUSED("put list 0 at byte 18446744073709551607")},
    {on_disk, "lists/lists", 16, 8, 8, REFUSED("put list 0 at byte 8")},
    {on_disk, "lists/lists", 16, 8, 7, FURROW_E_NOT_FOUND, "data"},
    {on_disk, "lists/filename", 1, 1, 0, REFUSED("filename has a byte 0 in it")},
};

static void check(const limit *l) {
  index_file f = {0};
  l->make(&f);
  if (l->field) {
    uint8_t bytes[8];
    fw_put_le64(bytes, (uint64_t)l->value);
    memcpy(f.bytes + place_of(&f, "scratch", l->field) + l->skip, bytes, (size_t)l->width);
  }
  for (int map = 0; map < 2; map++) {
    furrow_index *index = NULL;
    furrow_error err = {0};
    furrow_status status = read_bytes(&f, map, &index, &err);
    bool good = status == l->status && (!l->message || strstr(err.message, l->message) || strstr(err.file, l->message));
    if (!good)
      print_error("limit %td, %s = %" PRId64 ": %s, %s\n", l - limits, l->field ? l->field : "-", l->value,
                  furrow_status_name(status), err.message);
    assert_true(good);
    furrow_index_free(index);
  }
  index_file_clear(&f);
}

static void limits_are_kept(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) check(&limits[i]);
}

static void note_slot(void *user, const furrow_index_finding *finding) {
  if (strcmp(finding->path, "lists/slots") == 0) *(size_t *)user += 1;
}

/* The list has bytes 7 to 24 of the data file: which free slots are remarked because they cover some of them? */
static void free_slots_beside_lists(void **state) {
  (void)state;
  static const struct {
    int64_t slot[2];
    size_t remarks;
  } slots[] = {{{0, 7}, 0}, {{25, 5}, 0}, {{0, 8}, 1}, {{24, 1}, 1}, {{10, 1}, 1}, {{10, -1}, 1}};
  uint8_t data[25] = {0};
  assert_true(test_write_file("data", data, sizeof data));
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    index_file f = {0};
    size_t remarks = 0;
    furrow_error err = {0};
    put_on_disk(&f, slots[i].slot);
    assert_true(test_write_file("file", f.bytes, f.size));
    assert_int_equal(furrow_index_verify("file", NULL, note_slot, &remarks, &err), FURROW_OK);
    assert_int_equal(remarks, slots[i].remarks);
    index_file_clear(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(limits_are_kept, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(free_slots_beside_lists, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
