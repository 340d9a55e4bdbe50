/* tests/unit/vector/test_verify_readers.c: of files with one change in any field, verify passes those that are loaded
 * and searched, and no others. */
#include <sys/mman.h>
#include <unistd.h>

#include "support/edit_index.h"
#include "support/verify_readers.h"

typedef struct field_list {
  struct {
    uint64_t offset, size;
    unsigned width;
  } at[400];
  size_t count;
} field_list;

static furrow_status list_field(void *user, const furrow_index_field *field) {
  static const struct {
    const char *type;
    unsigned width;
  } widths[] = {{"i64", 8}, {"u64", 8}, {"f64", 8}, {"i32", 4}, {"u32", 4}, {"f32", 4}, {"fourcc", 4}};
  field_list *list = user;
  unsigned width = 1;
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (strncmp(field->type, widths[i].type, strlen(widths[i].type)) == 0) width = widths[i].width;
  assert_true(list->count < sizeof list->at / sizeof *list->at);
  list->at[list->count].offset = field->offset;
  list->at[list->count].size = field->size;
  list->at[list->count++].width = width;
  return FURROW_OK;
}

typedef struct tally {
  const char *name;
  size_t passed, failed;
} tally;

/* A file in memory: thousands are written. */
static const char *write_file(const index_file *f) {
  static char path[64];
  static int file = -1;
  if (file < 0) file = memfd_create("index", MFD_CLOEXEC);
  assert_true(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, f->bytes, f->size, 0) == (ssize_t)f->size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  return path;
}

static void check_file(tally *a, const index_file *f, uint64_t offset, uint64_t value) {
  furrow_index_load_params params;
  furrow_error err = {0};
  bool passed;
  furrow_index_load_params_init(&params);
  const char *what = find_difference(write_file(f), &params, &passed, &err);
  if (what)
    fail_msg("%s, %llx at byte %llu: %s: %s", a->name, (unsigned long long)value, (unsigned long long)offset, what,
             err.message);
  ++*(passed ? &a->passed : &a->failed);
}

/* Puts each value into an element of `width` bytes, then restores it. */
static void change_element(tally *a, index_file *f, uint64_t offset, unsigned width) {
  static const uint64_t values[] = {0,
                                    1,
                                    2,
                                    5,
                                    6,
                                    7,
                                    100,
                                    0x7fc00000,
                                    0x7f800000,
                                    0xff800000,
                                    UINT32_MAX,
                                    UINT64_MAX,
                                    INT64_MAX,
                                    (uint64_t)INT64_MIN,
                                    (uint64_t)2 << 32,
                                    ((uint64_t)3 << 32) + 1};
  uint8_t before[8], bytes[8];
  memcpy(before, f->bytes + offset, width);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    fw_put_le64(bytes, values[i]);
    if (width < 8 && values[i] >> 8 * width && ~values[i] >> 8 * width) continue;
    memcpy(f->bytes + offset, bytes, width);
    check_file(a, f, offset, values[i]);
  }
  memcpy(f->bytes + offset, before, width);
  for (int step = -1; step <= 1; step += 2) {
    f->bytes[offset] = (uint8_t)(before[0] + step);
    check_file(a, f, offset, f->bytes[offset]);
  }
  memcpy(f->bytes + offset, before, width);
}

/* The first, the last and a middle element of every field. */
static void change_fields(tally *a, index_file *f) {
  field_list list = {0};
  assert_int_equal(furrow_index_for_each_field(write_file(f), NULL, list_field, &list, NULL), FURROW_OK);
  check_file(a, f, 0, 0);
  for (size_t i = 0; i < list.count; i++) {
    const unsigned width = list.at[i].width;
    const uint64_t first = list.at[i].offset, count = list.at[i].size / width;
    change_element(a, f, first, width);
    if (count > 2) change_element(a, f, first + count / 2 * width, width);
    if (count > 1) change_element(a, f, first + (count - 1) * width, width);
  }
  assert_true(a->failed > 0);
}

static void samples_with_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < SAMPLES; i++) {
    index_file f = {0};
    tally a = {.name = samples[i].name};
    samples[i].make(&f);
    change_fields(&a, &f);
    index_file_clear(&f);
  }
}

static void legacies_with_changes(void **state) {
  (void)state;
  for (size_t i = 0; i < LEGACIES; i++) {
    index_file f = {0};
    tally a = {.name = legacies[i].name};
    legacies[i].make(&f);
    change_fields(&a, &f);
    index_file_clear(&f);
  }
}

/* Kinds that Furrow builds, with a few vectors. */
static void factories_with_changes(void **state) {
  static const char *const strings[] = {"SQ8",
                                        "SQ6",
                                        "SQfp16",
                                        "PQ2x4fs",
                                        "IVF2,SQ8_uniform",
                                        "IVF2,PQ2x4fsr",
                                        "IDMap,SQ8",
                                        "PCAR4,SQ8,RFlat",
                                        "OPQ2,IVF2,PQ2x4",
                                        "SQ4,Refine(SQ8)",
                                        "RR4,IVF2(HNSW4),PQ2x4+4x4",
                                        "L2norm,PQ2x4fs,IDMap2"};
  enum { D = 8, TRAIN = 64, VECTORS = 5 };
  float vectors[TRAIN * D];
  fw_rng rng;
  (void)state;
  fw_rng_init(&rng, 3);
  fill_random(&rng, vectors, TRAIN * D);
  for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
    furrow_index_spec spec;
    furrow_index *index = NULL;
    index_file f = {0};
    tally t = {.name = strings[i]};
    furrow_error err = {0};
    furrow_index_spec_init(&spec);
    spec.d = D;
    spec.factory = strings[i];
    furrow_status status = furrow_index_create(&index, &spec, &err);
    if (status == FURROW_OK && !index->trained) status = furrow_index_train(index, vectors, TRAIN, NULL, &err);
    if (status == FURROW_OK) status = add_vectors(index, vectors, VECTORS, NULL);
    if (status != FURROW_OK) fail_msg("%s: %s", strings[i], err.message);
    write_bytes(index, &f);
    change_fields(&t, &f);
    assert_true(t.passed > 0);
    furrow_index_free(index);
    index_file_clear(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(samples_with_changes), cmocka_unit_test(legacies_with_changes),
                                     cmocka_unit_test(factories_with_changes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
