/* tests/unit/model/test_model_listing.c: which folders of a directory are matrices, which files belong to the model. */
#include "support/cmocka_all.h"

#include "furrow/model.h"
#include "support/golden_case.h"
#include "support/own_dir.h"

static void make_folder(const char *path) {
  assert_int_equal(mkdir(path, 0777), 0);
}

static void make_file(const char *path) {
  assert_true(test_write_text(path, "x"));
}

static furrow_model_listing *list(const char *path) {
  furrow_model_listing *listing = NULL;
  furrow_error err = {.status = FURROW_OK};
  if (furrow_model_listing_load(&listing, path, &err) != FURROW_OK) fail_msg("%s: %s", err.file, err.message);
  return listing;
}

static furrow_error refused(const char *path, furrow_status status) {
  furrow_model_listing *listing = NULL;
  furrow_error err = {.status = FURROW_OK};
  assert_int_equal(furrow_model_listing_load(&listing, path, &err), status);
  assert_null(listing);
  assert_int_equal(err.status, status);
  assert_true(err.message[0] != 0);
  return err;
}

/* A model with each kind of metadata file, and things that are none of its own. */
static void make_model(void) {
  static const char *const folders[] = {"m",      "m/weight",  "m/bias", "m/ckpt",
                                        "m/many", "m/nothing", "m/.hid", "m/_tmp.a"};
  static const char *const files[] = {"m/weight/_meta",  "m/weight/0",  "m/bias/meta",   "m/ckpt/psmeta",
                                      "m/many/psmeta.1", "m/nothing/0", "m/.hid/_meta",  "m/_tmp.a/_meta",
                                      "m/graph.json",    "m/_SUCCESS",  "m/.graph.json", "m/_tmp.graph.json"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) make_folder(folders[i]);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) make_file(files[i]);
}

static void a_model(void **state) {
  (void)state;
  make_model();
  static const char *const names[] = {"bias", "ckpt", "many", "weight"};
  static const char *const paths[] = {"m", "m/", "m//", "./m"};
  for (size_t p = 0; p < 4; p++) {
    furrow_model_listing *l = list(paths[p]);
    assert_false(l->single);
    assert_string_equal(l->path, p == 3 ? "./m" : "m");
    assert_int_equal(l->matrix_count, 4);
    for (size_t i = 0; i < 4; i++) {
      char folder[64];
      snprintf(folder, sizeof folder, "%s/%s", l->path, names[i]);
      assert_string_equal(l->matrices[i].name, names[i]);
      assert_string_equal(l->matrices[i].folder, folder);
    }
    assert_int_equal(l->file_count, 2);
    assert_string_equal(l->files[0].name, "_SUCCESS");
    assert_string_equal(l->files[1].name, "graph.json");
    assert_null(l->files[0].folder);
    furrow_model_listing_free(l);
  }
}

static void a_single_matrix(void **state) {
  (void)state;
  make_model();
  static const char *const paths[] = {"m/weight", "m/weight/", "."};
  static const char *const folders[] = {"m/weight", "m/weight", "."};
  for (size_t p = 0; p < 3; p++) {
    if (p == 2) assert_int_equal(chdir("m/weight"), 0);
    furrow_model_listing *l = list(paths[p]);
    assert_true(l->single);
    assert_int_equal(l->matrix_count, 1);
    assert_int_equal(l->file_count, 0);
    assert_string_equal(l->matrices[0].name, "weight");
    assert_string_equal(l->matrices[0].folder, folders[p]);
    furrow_model_listing_free(l);
  }
  furrow_model_listing_free(NULL);
}

static void a_file_uri(void **state) {
  (void)state;
  make_model();
  char uri[TEST_PATH + 32];
  snprintf(uri, sizeof uri, "file://%s/m", dir);
  furrow_model_listing *l = list(uri);
  assert_int_equal(l->matrix_count, 4);
  assert_string_equal(l->path, uri + 7);
  furrow_model_listing_free(l);
  refused("hdfs://cluster/model", FURROW_E_UNSUPPORTED);
}

static void what_is_refused(void **state) {
  (void)state;
  make_model();
  furrow_error err = refused("nowhere", FURROW_E_NOT_FOUND);
  assert_string_equal(err.file, "nowhere");
  refused("m/graph.json", FURROW_E_NOT_FOUND);
  refused("m/graph.json/x", FURROW_E_NOT_FOUND);
  refused("", FURROW_E_ARGUMENT);
  refused(NULL, FURROW_E_ARGUMENT);
  err = refused("m/nothing", FURROW_E_FORMAT);
  assert_non_null(strstr(err.message, "_meta"));
  assert_string_equal(err.file, "m/nothing");
}

/* An entry that cannot be looked at may be a matrix: it is listed, and the others with it. */
static void expect_matrix(const char *name, size_t count) {
  furrow_model_listing *l = list("m");
  furrow_matrix_source *source = NULL;
  furrow_error err = {.status = FURROW_OK};
  size_t at = 0;
  assert_int_equal(l->matrix_count, count);
  while (at < count && strcmp(l->matrices[at].name, name) != 0) at++;
  assert_true(at < count);
  assert_true(furrow_matrix_source_open(&source, l->matrices[at].folder, NULL, &err) != FURROW_OK);
  assert_non_null(strstr(err.file, l->matrices[at].folder));
  furrow_model_listing_free(l);
}

static void links_that_lead_nowhere(void **state) {
  (void)state;
  make_model();
  assert_int_equal(symlink("gone", "m/link"), 0);
  expect_matrix("link", 5);
  assert_int_equal(symlink("loop", "m/loop"), 0);
  expect_matrix("loop", 6);
  make_folder("m/odd");
  assert_int_equal(symlink("gone", "m/odd/_meta"), 0);
  expect_matrix("odd", 7);
  furrow_matrix_meta *meta = NULL;
  furrow_error err = {.status = FURROW_OK};
  assert_int_equal(furrow_matrix_meta_load(&meta, "m/odd", NULL, &err), FURROW_E_IO);
  assert_string_equal(err.file, "m/odd/_meta");
  furrow_model_listing *l = list("m/odd");
  assert_true(l->single);
  furrow_model_listing_free(l);
}

static void folders_that_cannot_be_read(void **state) {
  (void)state;
  if (geteuid() == 0) skip(); /* root reads everything */
  make_model();
  for (int mode = 0; mode <= 0444; mode += 0111) { /* nothing, entered but not read, …, read but not entered */
    if (mode == 0222 || mode == 0333) continue;
    assert_int_equal(chmod("m/nothing", (mode_t)mode), 0);
    expect_matrix("nothing", 5);
    refused("m/nothing", FURROW_E_IO);
    assert_int_equal(chmod("m/nothing", 0777), 0);
  }
}

static void links_are_followed(void **state) {
  (void)state;
  make_model();
  make_folder("n");
  assert_int_equal(symlink("../m/weight", "n/w"), 0);
  assert_int_equal(symlink("../m/graph.json", "n/g"), 0);
  furrow_model_listing *l = list("n");
  assert_int_equal(l->matrix_count, 1);
  assert_string_equal(l->matrices[0].name, "w");
  assert_int_equal(l->file_count, 1);
  furrow_model_listing_free(l);
}

static void the_golden_model(void **state) {
  (void)state;
  char path[TEST_PATH];
  furrow_model_listing *l = list(golden_lr(path));
  assert_int_equal(l->matrix_count, 2);
  assert_int_equal(l->file_count, 1);
  furrow_model_listing_free(l);
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, enter_dir, leave_dir)
  const struct CMUnitTest tests[] = {IN_DIR(a_model),
                                     IN_DIR(a_single_matrix),
                                     IN_DIR(a_file_uri),
                                     IN_DIR(what_is_refused),
                                     IN_DIR(links_that_lead_nowhere),
                                     IN_DIR(folders_that_cannot_be_read),
                                     IN_DIR(links_are_followed),
                                     GOLDEN_TEST_IN_DIR(the_golden_model)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
