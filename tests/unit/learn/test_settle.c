/* tests/unit/learn/test_settle.c: typed values that a configuration takes are those that its keys take as text. */
#include "learn/conf/conf_data.h"

#include "support/failing_alloc.h"
#include "support/learn_conf.h"

static furrow_learn_conf *own_conf(const char *algorithm, const char *settings) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, algorithm, &err), FURROW_OK);
  conf_set_all(conf, settings);
  return conf;
}

static furrow_learn_conf *settled_conf(const furrow_learn_conf *conf, const fw_settled *settled) {
  furrow_learn_conf *made = NULL;
  if (fw_conf_settle(&made, conf, settled, &err) != FURROW_OK) fail_msg("%s", err.message);
  return made;
}

/* Frees both. */
static void expect_same(furrow_learn_conf *conf, furrow_learn_conf *expected) {
  for (unsigned key = 0; key < FW_KEYS; key++) {
    const fw_value *a = &conf->keys[key], *b = &expected->keys[key];
    assert_int_equal(a->text != NULL, b->text != NULL);
    if (a->text) assert_string_equal(a->text, b->text);
    assert_int_equal(a->integer, b->integer);
    assert_memory_equal(&a->real, &b->real, sizeof a->real);
  }
  furrow_learn_conf_free(conf);
  furrow_learn_conf_free(expected);
}

static const double labels[] = {-2, 0.1, 3, 1e6};
static const uint64_t users[] = {4, 0, 7}, items[] = {UINT32_MAX};

static fw_settled all_settled(void) {
  const furrow_matrix_row_type *type = NULL;
  assert_int_equal(furrow_matrix_row_type_find("T_DOUBLE_SPARSE", &type, &err), FURROW_OK);
  return (fw_settled){.format = "libffm",
                      .columns = "a,b%2C,c",
                      .label_column = "y",
                      .weight_column = "0",
                      .delimiter = ";",
                      .model_type = type,
                      .loss = {true, FW_LOSS_SAMPLED_SOFTMAX},
                      .labels = {labels, 4},
                      .user_fields = {users, 3},
                      .item_fields = {items, 1},
                      .index_base = {true, 0},
                      .range = {true, INT32_MAX},
                      .fields = {true, 18},
                      .hour_field = {true, 0},
                      .classes = {true, 4},
                      .epochs = {true, 4000000000},
                      .trees = {true, 7},
                      .huber_delta = {true, 1.35 / 3},
                      .l2 = {true, 1.0 / 3000000},
                      .short_rows = true};
}

static void values_are_texts(void **state) {
  (void)state;
  furrow_learn_conf *conf = own_conf("fm", "epochs=3 lr=0.25"), *expected = own_conf("fm", "lr=0.25");
  conf_set_all(expected, "format=libffm columns=a,b%2C,c label-column=y weight-column=0 delimiter=; "
                         "model-type=T_DOUBLE_SPARSE loss=sampled-softmax labels=-2,0.1,3,1000000 user-fields=4,0,7 "
                         "item-fields=4294967295 index-base=0 range=2147483647 fields=18 hour-field=0 classes=4 "
                         "epochs=4000000000 trees=7 huber-delta=0.45 l2=3.33333333e-07 short-rows=yes");
  const fw_settled settled = all_settled();
  expect_same(settled_conf(conf, &settled), expected);
  assert_string_equal(furrow_learn_conf_get(conf, "epochs"), "3");
  furrow_learn_conf_free(conf);
}

static void nothing_settled(void **state) {
  (void)state;
  furrow_learn_conf *conf = own_conf("softmax", "classes=3 format=csv");
  expect_same(settled_conf(conf, &(fw_settled){0}), conf);
}

static void values_refused(void **state) {
  (void)state;
  furrow_learn_conf *conf = own_conf("lr", ""), *made = NULL;
  assert_int_equal(fw_conf_settle(&made, conf, &(fw_settled){.epochs = {true, 0}}, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "epochs must be a whole number from 1 to 4294967295");
  assert_int_equal(fw_conf_settle(&made, conf, &(fw_settled){.format = "none"}, &err), FURROW_E_ARGUMENT);
  assert_null(made);
  furrow_learn_conf_free(conf);
}

static void open_keys(void **state) {
  (void)state;
  furrow_learn_conf *conf = own_conf("deepfm", "epochs=3");
  assert_true(fw_conf_is_open(conf, FW_KEY_FORMAT));
  assert_true(fw_conf_is_open(conf, FW_KEY_FIELDS));
  assert_true(fw_conf_is_open(conf, FW_KEY_COLUMNS));
  assert_false(fw_conf_is_open(conf, FW_KEY_EPOCHS));
  assert_false(fw_conf_is_open(conf, FW_KEY_BATCH));
  furrow_learn_conf_free(conf);
}

static void expect_inherited(const char *algorithm, const char *settings, const char *model, const char *expected) {
  furrow_learn_conf *conf = own_conf(algorithm, settings), *from = own_conf(algorithm, model), *made = NULL;
  if (fw_conf_inherit(&made, conf, from, &err) != FURROW_OK) fail_msg("%s", err.message);
  furrow_learn_conf_free(conf);
  furrow_learn_conf_free(from);
  expect_same(made, own_conf(algorithm, expected));
}

/* What is set stays, what is open comes from the model. */
static void models_inherited(void **state) {
  (void)state;
  expect_inherited("lr", "epochs=2", "labels=1.0,2 columns=a,b label-column=y index-base=1 model-type=T_DOUBLE_DENSE",
                   "epochs=2 labels=1.0,2 columns=a,b label-column=y index-base=1 model-type=T_DOUBLE_DENSE");
  expect_inherited("lr", "columns=c index-base=0 model-type=T_FLOAT_SPARSE",
                   "columns=a,b index-base=1 weight-column=w model-type=T_DOUBLE_DENSE",
                   "columns=c index-base=0 weight-column=w model-type=T_FLOAT_SPARSE");
  expect_inherited("deepfm", "", "fields=5 short-rows=yes class-names=[]", "fields=5 short-rows=yes class-names=[]");
  expect_inherited("deepfm", "fields=4 short-rows=no", "fields=5 short-rows=yes", "fields=4 short-rows=no");
  expect_inherited("fm", "", "fields=05 user-fields=0 item-fields=1,2", "fields=05 user-fields=0 item-fields=1,2");
  expect_inherited("softmax", "", "classes=3 labels=1,2,3", "classes=3 labels=1,2,3");
}

static void trees_inherited(void **state) {
  (void)state;
  expect_inherited("gbdt", "trees=3", "objective=multi:softmax classes=3 lr=0.30 levels=4 trees=9",
                   "trees=3 objective=multi:softmax classes=3 lr=0.30 levels=4");
  expect_inherited("gbdt", "lr=0.1 depth=2", "objective=reg:squarederror lr=0.3 levels=4",
                   "lr=0.1 depth=2 objective=reg:squarederror");
  expect_inherited("gbdt", "", "depth=3", "");
}

static void no_memory(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  const fw_settled settled = all_settled();
  furrow_learn_conf *conf = own_conf("fm", "epochs=3 format=csv");
  for (long n = 1;; n++) {
    furrow_learn_conf *made = NULL;
    const long live = atomic_load(&alloc_live);
    alloc_fail_at(n);
    const furrow_status status = fw_conf_settle(&made, conf, &settled, &err);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_int_equal(status, failed ? FURROW_E_MEMORY : FURROW_OK);
    furrow_learn_conf_free(made);
    assert_int_equal(atomic_load(&alloc_live), live);
    if (!failed) break;
  }
  furrow_learn_conf_free(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_texts), cmocka_unit_test(nothing_settled),  cmocka_unit_test(values_refused),
      cmocka_unit_test(open_keys),        cmocka_unit_test(models_inherited), cmocka_unit_test(trees_inherited),
      cmocka_unit_test(no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
