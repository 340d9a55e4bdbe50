/* tests/unit/vector/test_attributes.c: attributes of ids: set, changed, joined with tables, kept next to an index,
 * refused where they do not fit it. */
#include <stdio.h>
#include <unistd.h>

#include "furrow/init.h"
#include "furrow/vector_data.h"
#include "support/edit_index.h"
#include "support/failing_alloc.h"
#include "support/own_dir.h"
#include "vector/attributes/attribute_rows.h"

enum { D = 4, N = 9 };

/* ---- Help ----------------------------------------------------------------------------------------------- */

static const double prices[N] = {1, 2, NAN, 4, 5, 6, 7, 8, 9};
static const char *const langs[N] = {"de", "fr", NULL, "de", "", "en", "fr", "de", "x"};
static const char *const elements[] = {"b", "a", "b", "c", "a"};
static const uint64_t starts[N + 1] = {0, 3, 3, 4, 4, 4, 4, 5, 5, 5};

static const furrow_column columns[] = {
    {.name = "price", .type = FURROW_COLUMN_NUMBER, .numbers = prices},
    {.name = "lang", .type = FURROW_COLUMN_TEXT, .texts = langs},
    {.name = "tags", .type = FURROW_COLUMN_SET, .texts = elements, .starts = starts}};

static furrow_attributes *no_attributes(void) {
  furrow_attributes *attributes = NULL;
  assert_int_equal(furrow_attributes_create(&attributes, NULL), FURROW_OK);
  return attributes;
}

static furrow_attributes *made_attributes(const int64_t *ids, size_t n) {
  furrow_attributes *attributes = no_attributes();
  assert_int_equal(furrow_attributes_set(attributes, ids, n, columns, 3, NULL), FURROW_OK);
  return attributes;
}

static furrow_index *made_index(size_t n, const int64_t *ids) {
  static float vectors[N * D];
  const furrow_index_spec spec = plain_spec(D, 3, 2);
  furrow_index *index = trained_index(&spec, 3);
  fw_rng rng;
  fw_rng_init(&rng, n);
  fill_random(&rng, vectors, n * D);
  const furrow_index_add_params params = FURROW_INIT(furrow_index_add_params, .ids = ids);
  assert_int_equal(furrow_index_add(index, vectors, n, &params, NULL, NULL), FURROW_OK);
  return index;
}

/* Checks the ids that a filter keeps, which are listed with blanks after them. */
static void assert_kept(const furrow_attributes *attributes, const char *expression, const char *wanted) {
  char text[512] = "";
  size_t at = 0;
  furrow_selection *selection = NULL;
  furrow_error err = {0};
  if (furrow_attributes_select(attributes, expression, &selection, &err) != FURROW_OK)
    fail_msg("%s: %s", expression, err.message);
  for (size_t i = 0; i < furrow_selection_count(selection); i++) {
    const int64_t id = furrow_selection_id(selection, i);
    assert_true(furrow_id_filter_keeps(furrow_selection_filter(selection), id));
    at += (size_t)snprintf(text + at, sizeof text - at, "%lld ", (long long)id);
  }
  assert_int_equal(furrow_selection_id(selection, furrow_selection_count(selection)), -1);
  furrow_selection_free(selection);
  if (strcmp(text, wanted) != 0) fail_msg("%s: %s, not %s", expression, text, wanted);
}

static furrow_status save(const furrow_index *index, const furrow_attributes *attributes, bool overwrite) {
  return furrow_index_save(
      index, "i", &FURROW_INIT(furrow_index_save_params, .overwrite = overwrite, .attributes = attributes), NULL);
}

/* ---- Changes -------------------------------------------------------------------------------------------- */

static void values_are_set_and_replaced(void **state) {
  (void)state;
  const int64_t ids[N] = {5, 3, 100, -7, 8, 9, 10, 11, INT64_MAX};
  furrow_attributes *attributes = made_attributes(ids, N);
  size_t size = 0;
  assert_int_equal(furrow_attributes_count(attributes), N);
  assert_int_equal(furrow_attributes_column_count(attributes), 3);
  assert_kept(attributes, "true", "-7 3 5 8 9 10 11 100 9223372036854775807 ");
  assert_kept(attributes, "lang = 'de'", "-7 5 11 ");
  assert_kept(attributes, "lang = ''", "8 ");
  assert_kept(attributes, "tags = 'a'", "5 10 ");
  assert_int_equal(furrow_attributes_values(attributes, 5, 2), 2); /* b and a, each once */
  assert_memory_equal(furrow_attributes_text(attributes, 100, 2, 0, &size), "c", 1);
  assert_null(furrow_attributes_text(attributes, 100, 2, 1, &size));
  assert_null(furrow_attributes_text(attributes, 4, 1, 0, &size));
  assert_true(isnan(furrow_attributes_number(attributes, 100, 0)));

  const double newer[] = {50, NAN};
  const char *const colours[] = {"red", "blue"};
  const furrow_column others[] = {{.name = "price", .type = FURROW_COLUMN_NUMBER, .numbers = newer},
                                  {.name = "colour", .type = FURROW_COLUMN_TEXT, .texts = colours}};
  assert_int_equal(furrow_attributes_set(attributes, (const int64_t[]){4, 5}, 2, others, 2, NULL), FURROW_OK);
  assert_int_equal(furrow_attributes_count(attributes), N + 1);
  assert_kept(attributes, "price = 50", "4 ");
  assert_kept(attributes, "price is missing", "5 100 "); /* a given value that is missing counts */
  assert_kept(attributes, "lang is missing", "4 100 ");
  assert_kept(attributes, "colour in ('red', 'blue')", "4 5 ");
  assert_kept(attributes, "lang = 'de'", "-7 5 11 ");
  furrow_attributes_free(attributes);
}

static void wrong_columns_change_nothing(void **state) {
  (void)state;
  const int64_t ids[] = {1, 2}, twice[] = {1, 1};
  const char *const texts[] = {"a", "\xff"}, *const good[] = {"a", "b"};
  const uint64_t descending[] = {0, 2, 1}, fair[] = {0, 1, 2};
  furrow_attributes *attributes = made_attributes(ids, 2);
  const furrow_column wrong[] = {
      {.name = "lang", .type = FURROW_COLUMN_NUMBER, .numbers = prices},
      {.name = "t", .type = FURROW_COLUMN_TEXT, .texts = texts},
      {.name = "", .type = FURROW_COLUMN_TEXT, .texts = good},
      {.name = "t", .type = (furrow_column_type)9, .texts = good},
      {.name = "t", .type = FURROW_COLUMN_NUMBER, .texts = good},
      {.name = "t", .type = FURROW_COLUMN_SET, .texts = good},
      {.name = "t", .type = FURROW_COLUMN_SET, .texts = good, .starts = descending},
      {.name = "t", .type = FURROW_COLUMN_SET, .texts = langs + 2, .starts = fair},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(furrow_attributes_set(attributes, ids, 2, &wrong[i], 1, NULL), FURROW_E_ARGUMENT);
  assert_int_equal(furrow_attributes_set(attributes, twice, 2, columns, 1, NULL), FURROW_E_ARGUMENT);
  const furrow_column same[] = {columns[0], columns[0]};
  assert_int_equal(furrow_attributes_set(attributes, ids, 2, same, 2, NULL), FURROW_E_ARGUMENT);
  assert_kept(attributes, "price > 0", "1 2 ");
  assert_int_equal(furrow_attributes_column_count(attributes), 3);
  furrow_attributes_free(attributes);
}

static void rows_are_removed_and_merged(void **state) {
  (void)state;
  const int64_t ids[N] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  furrow_attributes *attributes = made_attributes(ids, N), *dense = made_attributes(ids, N);
  const furrow_id_filter filter = FURROW_INIT(furrow_id_filter, .first = 2, .end = 4);
  assert_int_equal(furrow_attributes_remove(attributes, &filter, false, NULL), FURROW_OK);
  assert_kept(attributes, "price > 0", "0 1 4 5 6 7 8 ");
  assert_int_equal(furrow_attributes_remove(dense, &filter, true, NULL), FURROW_OK);
  assert_kept(dense, "price >= 5", "2 3 4 5 6 ");

  assert_int_equal(furrow_attributes_merge(attributes, dense, 100, NULL), FURROW_OK);
  assert_kept(attributes, "lang = 'fr'", "1 6 101 104 ");
  assert_kept(attributes, "tags in ('a', 'c')", "0 6 100 104 ");
  assert_int_equal(furrow_attributes_merge(attributes, dense, INT64_MAX, NULL), FURROW_E_RANGE);
  furrow_attributes_free(dense);

  dense = no_attributes();
  const furrow_column other = {.name = "lang", .type = FURROW_COLUMN_NUMBER, .numbers = prices};
  assert_int_equal(furrow_attributes_set(dense, ids, 2, &other, 1, NULL), FURROW_OK);
  furrow_error err;
  assert_int_equal(furrow_attributes_merge(attributes, dense, 0, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.token, "lang");
  furrow_attributes_free(dense);
  furrow_attributes_free(attributes);
}

/* The same values give the same bytes, however they came. */
static void equal_values_have_equal_bytes(void **state) {
  (void)state;
  const int64_t ids[N] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  furrow_attributes *at_once = made_attributes(ids, N), *in_parts = made_attributes(ids, 5);
  const uint64_t rest[] = {0, 0, 1, 1, 1};
  furrow_column later[] = {columns[0], columns[1], columns[2]};
  later[0].numbers += 5;
  later[1].texts += 5;
  later[2].texts += 4;
  later[2].starts = rest;
  assert_int_equal(furrow_attributes_set(in_parts, ids + 5, 4, later, 3, NULL), FURROW_OK);
  assert_int_equal(at_once->file.size, in_parts->file.size);
  assert_memory_equal(at_once->file.bytes, in_parts->file.bytes, at_once->file.size);
  furrow_attributes_free(at_once);
  furrow_attributes_free(in_parts);
}

/* ---- Joins ---------------------------------------------------------------------------------------------- */

static furrow_status join(furrow_attributes *attributes, const furrow_index *index, const furrow_id_names *names,
                          const char *const *keys, size_t n, furrow_attributes_fit *fit, furrow_error *err) {
  const furrow_column table[] = {columns[0], {.name = "key", .type = FURROW_COLUMN_TEXT, .texts = keys}, columns[1]};
  furrow_attributes_fit_init(fit);
  return furrow_attributes_join(attributes, index, names, &(furrow_columns){.columns = table, .count = 3, .rows = n},
                                "key", fit, err);
}

static void tables_are_joined(void **state) {
  (void)state;
  const int64_t ids[] = {7, 3, 12};
  const char *const keys[] = {"12", "99", "7"}, *const twice[] = {"7", "3", "7"}, *const odd[] = {"7", "seven", "3"},
                    *const none[] = {"1", "2", "4"}, *const missing[] = {"7", NULL, "3"};
  furrow_index *index = made_index(3, ids);
  furrow_attributes *attributes = no_attributes();
  furrow_attributes_fit fit;
  furrow_error err;
  assert_int_equal(join(attributes, index, NULL, keys, 3, &fit, &err), FURROW_OK);
  assert_int_equal(fit.matched, 2);
  assert_int_equal(fit.left_out, 1);
  assert_int_equal(fit.without, 1);
  assert_kept(attributes, "true", "3 7 12 ");
  assert_kept(attributes, "price = 1", "12 ");
  assert_kept(attributes, "price is missing", "3 7 "); /* the third price is missing */
  assert_int_equal(join(attributes, index, NULL, twice, 3, &fit, &err), FURROW_E_EXISTS);
  assert_string_equal(err.token, "7");
  assert_int_equal(join(attributes, index, NULL, odd, 3, &fit, &err), FURROW_E_PARSE);
  assert_string_equal(err.token, "seven");
  assert_int_equal(join(attributes, index, NULL, missing, 3, &fit, &err), FURROW_E_PARSE);
  assert_int_equal(join(attributes, index, NULL, none, 3, &fit, &err), FURROW_E_STATE);
  assert_kept(attributes, "price = 1", "12 "); /* mistakes change nothing */
  const int64_t more[] = {12, 99, 7, 12};      /* 99 is added next; 3 is not listed any more */
  assert_int_equal(furrow_attributes_join_ids(attributes, more, 4, NULL, NULL, NULL, &fit, &err), FURROW_OK);
  assert_kept(attributes, "true", "7 12 99 ");
  assert_int_equal(fit.without, 1);

  furrow_id_names *names = NULL;
  assert_int_equal(furrow_id_names_create(&names, NULL), FURROW_OK);
  assert_int_equal(furrow_id_names_set(names, index, (const char *const[]){"three", "seven", "twelve"}, 3, NULL),
                   FURROW_OK);
  assert_int_equal(join(attributes, index, names, odd, 2, &fit, &err), FURROW_OK); /* "seven" is a name, "7" is not */
  assert_kept(attributes, "price = 2", "7 ");
  assert_kept(attributes, "price = 1", "12 ");
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  furrow_index_free(index);
}

/* ---- Next to an index ----------------------------------------------------------------------------------- */

static void they_are_replaced_with_the_index(void **state) {
  (void)state;
  const int64_t ids[] = {4, 5, 6, 7};
  furrow_index *first = made_index(4, ids), *second = made_index(3, ids), *loaded = NULL;
  furrow_attributes *four = made_attributes(ids, 4), *three = made_attributes(ids, 3), *found = NULL;
  furrow_id_names *names = NULL;
  furrow_error err;
  assert_int_equal(save(first, three, false), FURROW_E_ARGUMENT); /* id 7 has no row */
  assert_int_not_equal(access("i", F_OK), 0);
  assert_int_equal(save(first, four, false), FURROW_OK);
  assert_int_equal(furrow_index_load_with_attributes(&loaded, &names, &found, "i", NULL, NULL), FURROW_OK);
  assert_null(names);
  assert_kept(found, "price > 1", "5 7 ");
  furrow_attributes_free(found);
  furrow_index_free(loaded);

  assert_int_equal(save(second, three, true), FURROW_OK);
  assert_int_equal(furrow_attributes_load(&found, "i", NULL), FURROW_OK);
  assert_int_equal(furrow_attributes_count(found), 3);
  furrow_attributes_free(found);
  assert_int_equal(furrow_index_save(first, "other", NULL, NULL), FURROW_OK);
  assert_int_equal(rename("other", "i"), 0); /* by another program */
  assert_int_equal(furrow_attributes_load(&found, "i", &err), FURROW_E_FORMAT);
  assert_string_equal(err.file, "i.attributes");
  assert_int_equal(furrow_attributes_save(four, "i", NULL), FURROW_OK);
  assert_int_equal(furrow_attributes_load(&found, "i", NULL), FURROW_OK);
  furrow_attributes_free(found);
  assert_int_equal(save(second, NULL, true), FURROW_OK);
  assert_int_not_equal(access("i.attributes", F_OK), 0);
  assert_int_not_equal(access("i.attributes.new", F_OK), 0);
  assert_int_equal(furrow_attributes_load(&found, "i", NULL), FURROW_E_NOT_FOUND);
  furrow_attributes_free(four);
  furrow_attributes_free(three);
  furrow_index_free(first);
  furrow_index_free(second);
}

/* A save that was cut off leaves the file under the other name; the next save keeps what belongs to the index. */
static void a_waiting_file_is_found(void **state) {
  (void)state;
  const int64_t ids[] = {4, 5, 6};
  furrow_index *index = made_index(3, ids);
  furrow_attributes *attributes = made_attributes(ids, 3), *found = NULL;
  assert_int_equal(save(index, attributes, true), FURROW_OK);
  assert_int_equal(rename("i.attributes", "i.attributes.new"), 0);
  assert_int_equal(furrow_attributes_load(&found, "i", NULL), FURROW_OK);
  assert_kept(found, "price > 1", "5 ");
  furrow_attributes_free(found);
  assert_int_equal(furrow_attributes_discard("i", NULL), FURROW_OK);
  assert_int_not_equal(access("i.attributes.new", F_OK), 0);
  FILE *other = fopen("i.attributes", "w");
  assert_non_null(other);
  assert_int_equal(fputs("id,price\n", other) >= 0, 1);
  assert_int_equal(fclose(other), 0);
  assert_int_equal(save(index, attributes, true), FURROW_E_EXISTS); /* a file of another kind is never replaced */
  assert_int_equal(save(index, NULL, true), FURROW_E_EXISTS);
  assert_int_equal(furrow_attributes_discard("i", NULL), FURROW_E_EXISTS);
  assert_int_equal(unlink("i.attributes"), 0);
  furrow_attributes_free(attributes);
  furrow_index_free(index);
}

static void damage_is_found(void **state) {
  (void)state;
  const int64_t ids[] = {4, 5, 6};
  furrow_attributes *attributes = made_attributes(ids, 3), damaged = {0};
  furrow_error err;
  const size_t size = attributes->file.size;
  unsigned char *bytes = malloc(size);
  assert_non_null(bytes);
  memcpy(bytes, attributes->file.bytes, size);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= 4;
    assert_int_equal(fw_attributes_view(&damaged, bytes, size, "f", &err), FURROW_E_FORMAT);
    assert_true(err.offset <= size);
    assert_string_equal(err.file, "f");
    bytes[i] ^= 4;
  }
  for (size_t i = 0; i < size; i++)
    assert_int_equal(fw_attributes_view(&damaged, bytes, i, "f", &err), FURROW_E_FORMAT);
  assert_int_equal(fw_attributes_view(&damaged, bytes, size, "f", &err), FURROW_OK);
  fw_attributes_clear(&damaged);
  free(bytes);
  furrow_attributes_free(attributes);
}

/* Memory that runs out at any point of a change, a save or a filter leaves attributes as they were, and nothing leaks.
 */
static void no_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  const int64_t ids[N] = {4, 5, 6, 7, 8, 9, 10, 11, 12};
  const char *const keys[] = {"5", "6", "900"};
  furrow_index *index = made_index(N, ids);
  const long live = atomic_load(&alloc_live);
  long n = 1;
  for (bool done = false; !done; n++) {
    furrow_attributes *attributes = made_attributes(ids, 3), *loaded = NULL;
    furrow_selection *selection = NULL;
    furrow_attributes_fit fit;
    alloc_fail_at(n);
    furrow_status status = furrow_attributes_set(attributes, ids + 3, 6, columns, 3, NULL);
    const bool added = status == FURROW_OK;
    if (added) status = join(attributes, index, NULL, keys, 3, &fit, NULL);
    if (status == FURROW_OK) status = save(index, attributes, true);
    if (status == FURROW_OK) status = furrow_attributes_load(&loaded, "i", NULL);
    if (status == FURROW_OK)
      status =
          furrow_attributes_select(loaded, "lang in ('de', 'x') or not (tags = 'a' and price < 3)", &selection, NULL);
    alloc_fail_at(0);
    done = status == FURROW_OK;
    if (!done && status != FURROW_E_MEMORY) fail_msg("%ld: %s", n, furrow_status_name(status));
    assert_int_equal(furrow_attributes_count(attributes), added ? N : 3);
    if (!added) assert_kept(attributes, "lang = 'fr'", "5 ");
    if (done) assert_kept(attributes, "lang = 'fr'", "6 8 ");
    furrow_selection_free(selection);
    furrow_attributes_free(loaded);
    furrow_attributes_free(attributes);
    assert_int_equal(atomic_load(&alloc_live), live);
  }
  assert_true(n > 60);
  furrow_index_free(index);
}

#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, enter_dir, leave_dir)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_set_and_replaced),
      cmocka_unit_test(wrong_columns_change_nothing),
      cmocka_unit_test(rows_are_removed_and_merged),
      cmocka_unit_test(equal_values_have_equal_bytes),
      cmocka_unit_test(tables_are_joined),
      IN_DIR(they_are_replaced_with_the_index),
      IN_DIR(a_waiting_file_is_found),
      cmocka_unit_test(damage_is_found),
      IN_DIR(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
