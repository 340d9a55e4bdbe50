/* tests/unit/array/test_array_listing.c: which arrays files of other programs hold, by their headers alone. */
#include "array/npy.h"
#include "furrow/exchange.h"
#include "support/cmocka_all.h"
#include "support/own_dir.h"

/* Arrays as text, one after the other: "npy::f4[2,3];" */
typedef struct seen {
  char text[512];
  unsigned most; /* ends the walk after so many */
  unsigned count;
} seen;

static furrow_status see(void *user, const furrow_array_info *array) {
  seen *s = user;
  size_t n = strlen(s->text);
  n += (size_t)snprintf(s->text + n, sizeof s->text - n, "%s:%s:%s[", array->file, array->name, array->type);
  for (size_t i = 0; i < array->dimensions; i++) {
    const uint64_t extent = array->shape[i];
    if (extent == FURROW_COUNT_UNKNOWN)
      n += (size_t)snprintf(s->text + n, sizeof s->text - n, "?,");
    else
      n += (size_t)snprintf(s->text + n, sizeof s->text - n, "%d,", (int)extent);
  }
  snprintf(s->text + n, sizeof s->text - n, "];");
  return ++s->count == s->most ? FURROW_END : FURROW_OK;
}

static void assert_arrays(const char *path, const char *text) {
  seen s = {.text = ""};
  furrow_error err;
  assert_int_equal(furrow_arrays_for_each(path, see, &s, &err), FURROW_OK);
  assert_string_equal(s.text, text);
}

static void write_npy(const char *path) {
  char bytes[FW_NPY_HEADER + 24] = {0};
  fw_npy_write_header(bytes, "<f4", 2, 2, 3);
  assert_true(test_write_file(path, bytes, sizeof bytes));
}

static void single_arrays(void **state) {
  (void)state;
  write_npy("a.npy");
  assert_arrays("a.npy", "npy::f4[2,3,];");
  assert_true(test_write_file("a.bvecs", "\2\0\0\0ab\2\0\0\0cd", 12));
  assert_arrays("a.bvecs", "bvecs::u1[2,2,];");
  assert_true(test_write_file("a.ibin", "\1\0\0\0\2\0\0\0aaaabbbb", 16));
  assert_arrays("a.ibin", "ibin::i4[1,2,];");
}

/* How many vectors a compressed file has shows at its end alone. */
static void compressed_vectors(void **state) {
  (void)state;
  assert_true(test_write_file("a.bvecs", "\2\0\0\0ab\2\0\0\0cd", 12));
  if (system("gzip -kf a.bvecs") != 0) skip();
  assert_arrays("a.bvecs.gz", "bvecs::u1[?,2,];");
}

static void tensors(void **state) {
  static const char text[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                             "\"y\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[8,10]}}";
  char bytes[256] = {(char)(sizeof text - 1)};
  seen s = {.text = "", .most = 1};
  furrow_error err;
  (void)state;
  memcpy(bytes + 8, text, sizeof text - 1);
  assert_true(test_write_file("a.safetensors", bytes, 8 + sizeof text - 1 + 10));
  assert_arrays("a.safetensors", "safetensors:x:F32[1,2,];safetensors:y:BF16[];");
  assert_int_equal(furrow_arrays_for_each("a.safetensors", see, &s, &err), FURROW_END);
  assert_int_equal(s.count, 1);
}

static void other_names_and_damage(void **state) {
  seen s = {.text = ""};
  furrow_error err;
  (void)state;
  write_npy("b.npy");
  assert_int_equal(truncate("b.npy", FW_NPY_HEADER + 20), 0);
  assert_int_equal(furrow_arrays_for_each("b.npy", see, &s, &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "b.npy");
  assert_true(test_write_text("b.npz", "PK"));
  assert_int_equal(furrow_arrays_for_each("b.npz", see, &s, &err), FURROW_E_FORMAT);
  assert_int_equal(furrow_arrays_for_each("b.tsv", see, &s, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.file, "b.tsv");
  assert_int_equal(furrow_arrays_for_each("b", see, &s, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_arrays_for_each("none.npy", see, &s, &err), FURROW_E_NOT_FOUND);
  assert_string_equal(s.text, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(single_arrays), cmocka_unit_test(compressed_vectors),
                                     cmocka_unit_test(tensors), cmocka_unit_test(other_names_and_damage)};
  return cmocka_run_group_tests(tests, enter_dir, leave_dir);
}
