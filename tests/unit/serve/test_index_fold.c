/* tests/unit/serve/test_index_fold.c: changes that are written into an index file, once or again. */
#include <stdio.h>
#include <string.h>

#include "furrow/attributes.h"
#include "support/edit_index.h"
#include "support/own_dir.h"

#include "indexes/index_checkpoint.h"

enum { D = 4, BASE = 20 };
#define INDEX "items.index"

static furrow_error err;

static bool in_base(void *user, int64_t id) {
  (void)user;
  return id < BASE;
}

/* Lists of the vectors themselves: id i has (i, i, i, i). */
static void make_file(file_print *print) {
  const furrow_index_spec spec = plain_spec(D, 3, 0);
  furrow_index *index = trained_index(&spec, 3);
  float vectors[BASE * D];
  for (size_t i = 0; i < BASE * D; i++) vectors[i] = (float)(i / D);
  assert_int_equal(add_vectors(index, vectors, BASE, NULL), FURROW_OK);
  assert_int_equal(furrow_index_save(index, INDEX, NULL, &err), FURROW_OK);
  furrow_index_free(index);
  assert_int_equal(index_print_get(print, INDEX, &err), FURROW_OK);
}

/* Sets an id to a value, or removes it if that is 0. */
static fresh_view *changed(fresh_vectors *fresh, int64_t id, float value) {
  const float vector[D] = {value, value, value, value};
  const index_change change = {value != 0 ? CHANGE_SET : CHANGE_REMOVE, 1, &id, vector, NULL, NULL};
  fresh_view *view = NULL;
  assert_int_equal(fresh_vectors_apply(fresh, &change, in_base, NULL, &view, &err), FURROW_OK);
  return view;
}

static void fold(fresh_view *view, file_print *print) {
  assert_int_equal(index_fold(INDEX, view, 0, print, &err), FURROW_OK);
  shared_release(&view->shared);
}

/* 0: the file does not have the id. */
static void assert_value(int64_t id, float wanted) {
  furrow_index *index = NULL;
  float vector[D] = {0};
  assert_int_equal(furrow_index_load(&index, INDEX, NULL, &err), FURROW_OK);
  const furrow_status status = furrow_index_reconstruct(index, id, vector, &err);
  assert_int_equal(status, wanted != 0 ? FURROW_OK : FURROW_E_NOT_FOUND);
  assert_true(vector[0] == wanted && vector[D - 1] == wanted);
  furrow_index_free(index);
}

static void test_changes(void **state) {
  (void)state;
  file_print print;
  fresh_vectors *fresh = NULL;
  make_file(&print);
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  shared_release(&changed(fresh, 5, 55)->shared);
  shared_release(&changed(fresh, 6, 0)->shared);
  shared_release(&changed(fresh, 50, 1)->shared);
  fold(changed(fresh, 50, 2), &print);
  assert_value(4, 4);
  assert_value(5, 55);
  assert_value(6, 0);
  assert_value(50, 2);
  fresh_vectors_free(fresh);
}

/* Ids of the file keep their attributes; a new one has none, and a removed one is gone. */
static void test_attributes_are_kept(void **state) {
  (void)state;
  file_print print;
  fresh_vectors *fresh = NULL;
  furrow_attributes *attributes = NULL;
  int64_t ids[BASE];
  double prices[BASE];
  for (int i = 0; i < BASE; i++) ids[i] = i, prices[i] = i + 0.5;
  const furrow_column price = {.name = "price", .type = FURROW_COLUMN_NUMBER, .numbers = prices};
  make_file(&print);
  assert_int_equal(furrow_attributes_create(&attributes, &err), FURROW_OK);
  assert_int_equal(furrow_attributes_set(attributes, ids, BASE, &price, 1, &err), FURROW_OK);
  assert_int_equal(furrow_attributes_save(attributes, INDEX, &err), FURROW_OK);
  assert_int_equal(index_print_get(&print, INDEX, &err), FURROW_OK);
  furrow_attributes_free(attributes);
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  shared_release(&changed(fresh, 5, 55)->shared);
  shared_release(&changed(fresh, 6, 0)->shared);
  const float vector[D] = {7};
  const char *row = "{\"price\":70.5}";
  const index_change stated = {.kind = CHANGE_SET, .n = 1, .ids = &(int64_t){7}, .vectors = vector, .attributes = &row};
  assert_int_equal(fresh_vectors_apply(fresh, &stated, in_base, NULL, NULL, &err), FURROW_OK);
  fold(changed(fresh, 50, 2), &print);
  assert_int_equal(furrow_attributes_load(&attributes, INDEX, &err), FURROW_OK);
  assert_int_equal(furrow_attributes_count(attributes), BASE); /* one is gone, one is new */
  assert_true(furrow_attributes_number(attributes, 5, 0) == 5.5);
  assert_true(isnan(furrow_attributes_number(attributes, 6, 0)));
  assert_true(furrow_attributes_number(attributes, 7, 0) == 70.5);
  assert_int_equal(furrow_attributes_values(attributes, 50, 0), 0);
  furrow_attributes_free(attributes);
  fresh_vectors_free(fresh);
}

/* A checkpoint that writes the file and then fails: the base stays the old one, the file has what was fresh. */
static void test_after_a_failed_checkpoint(void **state) {
  (void)state;
  file_print print;
  fresh_vectors *fresh = NULL;
  make_file(&print);
  assert_int_equal(fresh_vectors_create(&fresh, D, FURROW_METRIC_L2, false, &err), FURROW_OK);
  shared_release(&changed(fresh, 60, 6)->shared);
  fold(changed(fresh, 50, 1), &print);
  assert_value(50, 1);
  fold(changed(fresh, 50, 0), &print); /* is not in the base, but in the file */
  assert_value(50, 0);
  assert_value(60, 6);
  fold(changed(fresh, 60, 7), &print);
  assert_value(60, 7);
  fresh_vectors_free(fresh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_changes, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(test_attributes_are_kept, enter_dir, leave_dir),
      cmocka_unit_test_setup_teardown(test_after_a_failed_checkpoint, enter_dir, leave_dir),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
