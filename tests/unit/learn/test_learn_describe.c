/* tests/unit/learn/test_learn_describe.c: descriptions of configurations: counts, graph.json to the byte, drawings in
 * which nothing lies on something else; learning rates. */
#include <math.h>

#include "learn/checkpoint/checkpoint.h"
#include "learn/describe/describe.h"
#include "support/learn_conf.h"

/* ---- graph.json ---- */

static void graph_json(void **state) {
  (void)state;
  furrow_learn_conf *conf =
      conf_builtin("deepfm", "format=dummy range=148 fields=13 valid-ratio=0.1 sample-ratio=0.2 "
                             "epochs=5 lr=0.5 decay=WarmRestarts decay-alpha=0.05 model-size=148 label=NoTrans");
  char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  assert_string_equal(text, "{\n"
                            "  \"data\" : {\n"
                            "    \"format\" : \"dummy\",\n"
                            "    \"indexrange\" : 148,\n"
                            "    \"numfield\" : 13,\n"
                            "    \"validateratio\" : 0.1,\n"
                            "    \"sampleratio\" : 0.2,\n"
                            "    \"useshuffle\" : false,\n"
                            "    \"posnegratio\" : -1.0,\n"
                            "    \"translabel\" : \"NoTrans\"\n"
                            "  },\n"
                            "  \"model\" : {\n"
                            "    \"modeltype\" : \"T_FLOAT_DENSE\",\n"
                            "    \"modelsize\" : 148,\n"
                            "    \"blockSize\" : 1000000\n"
                            "  },\n"
                            "  \"train\" : {\n"
                            "    \"epoch\" : 5,\n"
                            "    \"numupdateperepoch\" : 10,\n"
                            "    \"batchsize\" : 128,\n"
                            "    \"lr\" : 0.5,\n"
                            "    \"decayclass\" : \"WarmRestarts\",\n"
                            "    \"decayalpha\" : 0.05,\n"
                            "    \"decaybeta\" : 0.001\n"
                            "  },\n"
                            "  \"layers\" : [ {\n"
                            "    \"name\" : \"input\",\n"
                            "    \"type\" : \"SimpleInputLayer\",\n"
                            "    \"outputdim\" : 1,\n"
                            "    \"transfunc\" : {\n"
                            "      \"type\" : \"Identity\"\n"
                            "    },\n"
                            "    \"optimizer\" : {\n"
                            "      \"type\" : \"Momentum\",\n"
                            "      \"momentum\" : 0.9\n"
                            "    }\n"
                            "  }, {\n"
                            "    \"name\" : \"embedding\",\n"
                            "    \"type\" : \"Embedding\",\n"
                            "    \"outputdim\" : 104,\n"
                            "    \"numfactors\" : 8,\n"
                            "    \"optimizer\" : {\n"
                            "      \"type\" : \"Momentum\",\n"
                            "      \"momentum\" : 0.9\n"
                            "    }\n"
                            "  }, {\n"
                            "    \"name\" : \"innerSumPooling\",\n"
                            "    \"type\" : \"BiInnerSumCross\",\n"
                            "    \"outputdim\" : 1,\n"
                            "    \"inputlayer\" : \"embedding\"\n"
                            "  }, {\n"
                            "    \"name\" : \"fclayer\",\n"
                            "    \"type\" : \"FCLayer\",\n"
                            "    \"outputdims\" : [ 100, 100, 1 ],\n"
                            "    \"inputlayer\" : \"embedding\",\n"
                            "    \"transfuncs\" : [ {\n"
                            "      \"type\" : \"Relu\"\n"
                            "    }, {\n"
                            "      \"type\" : \"Relu\"\n"
                            "    }, {\n"
                            "      \"type\" : \"Identity\"\n"
                            "    } ],\n"
                            "    \"optimizer\" : {\n"
                            "      \"type\" : \"Momentum\",\n"
                            "      \"momentum\" : 0.9\n"
                            "    }\n"
                            "  }, {\n"
                            "    \"name\" : \"sumPooling\",\n"
                            "    \"type\" : \"SumPooling\",\n"
                            "    \"outputdim\" : 1,\n"
                            "    \"inputlayers\" : [ \"input\", \"innerSumPooling\", \"fclayer\" ]\n"
                            "  }, {\n"
                            "    \"name\" : \"simpleLossLayer\",\n"
                            "    \"type\" : \"SimpleLossLayer\",\n"
                            "    \"outputdim\" : -1,\n"
                            "    \"inputlayer\" : \"sumPooling\",\n"
                            "    \"lossfunc\" : {\n"
                            "      \"type\" : \"LogLoss\"\n"
                            "    }\n"
                            "  } ]\n"
                            "}");
  furrow_free(text);
  furrow_learn_conf_free(conf);
}

/* ---- Counts ---- */

static void expect_lines(const furrow_learn_conf *conf, uint64_t features, const char *parameters, const char *memory) {
  char *text = NULL;
  size_t size = 0;
  char line[128];
  assert_int_equal(furrow_learn_conf_describe(conf, FURROW_DESCRIBE_TEXT, features, &text, &size, &err), FURROW_OK);
  snprintf(line, sizeof line, "\nparameters  %s\n", parameters);
  assert_non_null(strstr(text, line));
  snprintf(line, sizeof line, "\nmemory      %s with what the optimizers keep\n", memory);
  assert_non_null(strstr(text, line));
  furrow_free(text);
}

static void counts(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("fm", "");
  expect_lines(conf, 0, "1 + 9 for each feature", "4 B + 72 B for each feature");
  expect_lines(conf, 1000, "9,001", "72.0 kB");
  conf_set_all(conf, "range=100 optimizer=adam model-type=T_DOUBLE_DENSE");
  expect_lines(conf, 1000, "901", "21.6 kB"); /* the conf's range counts */
  furrow_learn_conf_free(conf);
  conf = conf_builtin("wide_and_deep", "fields=4 rank=2 fc=10 optimizer=sgd");
  expect_lines(conf, 50, "252", "1.0 kB"); /* 50 + 1, 100, 8 * 10 + 10, 10 + 1 */
  furrow_learn_conf_free(conf);
}

static void json(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("nfm", "range=100 fc=3 activation=tanh dropout=0.5");
  char *text = conf_describe(conf, FURROW_DESCRIBE_JSON);
  assert_non_null(strstr(text, "\"parameters\" : 932,")); /* 100 + 1, 800, 8 * 3 + 3, 3 + 1 */
  assert_non_null(strstr(text, "\"slots\" : null"));
  assert_non_null(strstr(text, "\"dropout\" : 0.5"));
  assert_non_null(strstr(text, "\"name\" : \"fclayer_0_weight\",\n      \"rows\" : 1,\n      \"cols\" : 24"));
  furrow_json reader;
  fw_json_open(&reader, text, strlen(text), NULL);
  assert_int_equal(furrow_json_skip(&reader, NULL, &err), FURROW_OK);
  assert_int_equal(furrow_json_end(&reader, &err), FURROW_OK);
  fw_json_close(&reader);
  furrow_free(text);
  furrow_learn_conf_free(conf);
}

/* ---- Drawings ---- */

#define ODD_NAME "a<b>&\\\"c\\\\d\\u0001\\u00e9"

static void odd_names(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, "{\"layers\":[{\"name\":\"" ODD_NAME "\",\"type\":\"simpleinputlayer\",\"outputdim\":1,\"transfunc\":"
                  "\"identity\"},{\"name\":\"loss\",\"type\":\"simplelosslayer\",\"inputlayer\":\"" ODD_NAME "\"}]}");
  char *svg = conf_describe(conf, FURROW_DESCRIBE_SVG), *dot = conf_describe(conf, FURROW_DESCRIBE_DOT);
  assert_non_null(strstr(svg, "a&lt;b&gt;&amp;\"c\\d\xc3\xa9<"));
  assert_non_null(strstr(dot, "a<b>&\\\"c\\\\d\xc3\xa9\\n"));
  char *angel = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  assert_non_null(strstr(angel, "a<b>&\\\"c\\\\d\\u0001\xc3\xa9\""));
  furrow_free(angel);
  furrow_free(svg);
  furrow_free(dot);
  furrow_learn_conf_free(conf);
}

/* Every layer below its inputs, no two in one place, and no connection that goes straight down through a layer. */
static void check_layout(const fw_graph *graph) {
  fw_layer_place positions[64];
  assert_true(graph->count <= 64);
  fw_describe_layout(positions, graph);
  for (size_t i = 0; i < graph->count; i++) {
    for (size_t k = 0; k < graph->layers[i].input_count; k++) {
      const fw_layer_place *from = &positions[graph->layers[i].inputs[k]];
      assert_true(positions[i].level > from->level);
      for (size_t j = 0; j < graph->count; j++)
        assert_false(positions[j].column == from->column && positions[j].level > from->level &&
                     positions[j].level < positions[i].level);
    }
    for (size_t j = 0; j < i; j++)
      assert_false(positions[j].column == positions[i].column && positions[j].level == positions[i].level);
  }
}

static void layouts(void **state) {
  (void)state;
  static const char *const algorithms[] = {"lr",     "softmax", "mlr", "fm", "dnn", "wide_and_deep",
                                           "deepfm", "pnn",     "nfm"};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    furrow_learn_conf *conf = conf_builtin(algorithms[i], "fields=4");
    fw_plan *plan = conf_plan(conf);
    check_layout(&plan->graph);
    fw_plan_free(plan);
    char *svg = conf_describe(conf, FURROW_DESCRIBE_SVG);
    assert_int_equal(strncmp(svg, "<svg xmlns=", 11), 0);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    furrow_free(svg);
    furrow_learn_conf_free(conf);
  }
}

/* ---- The table of keys in docs/settings.md ---- */

static void put_column(fw_buffer *out, const char *text, bool code) {
  fw_buffer_byte(out, ' ');
  if (text && text[0]) {
    if (code) fw_buffer_byte(out, '`');
    for (; *text; text++) {
      if (*text == '|') fw_buffer_byte(out, '\\');
      fw_buffer_byte(out, *text);
    }
    fw_buffer_text(out, code ? "` " : " ");
  }
  fw_buffer_byte(out, '|');
}

static void put_key(fw_buffer *out, const furrow_learn_key *key) {
  fw_buffer_reset(out);
  fw_buffer_byte(out, '|');
  put_column(out, key->name, true);
  put_column(out, key->angel_key, true);
  put_column(out, key->json_path, true);
  put_column(out, key->value, true);
  put_column(out, key->fallback, true);
  put_column(out, key->help, false);
  fw_buffer_text(out, "\n");
  fw_buffer_byte(out, 0);
}

static void table_of_keys(void **state) {
  (void)state;
  char path[TEST_PATH], line[1024] = "";
  fw_buffer wanted = {0};
  const furrow_learn_key *key;
  FILE *page = fopen(test_source_path(path, "docs/settings.md"), "r");
  assert_non_null(page);
  while (strncmp(line, "<!-- keys", 9) != 0 && fgets(line, sizeof line, page)) continue;
  assert_non_null(fgets(line, sizeof line, page)); /* titles */
  assert_non_null(fgets(line, sizeof line, page));
  for (size_t i = 0; (key = furrow_learn_key_at(i)); i++) {
    assert_non_null(fgets(line, sizeof line, page));
    put_key(&wanted, key);
    assert_string_equal(line, wanted.bytes);
  }
  assert_non_null(fgets(line, sizeof line, page));
  assert_string_equal(line, "<!-- end of keys -->\n");
  fclose(page);
  fw_buffer_clear(&wanted);
}

/* ---- Learning rates ---- */

static void expect_rate(const fw_train_conf *train, uint64_t n, double rate) {
  const double found = fw_decay_rate(train, n);
  if (!(fabs(found - rate) <= 1e-12 * rate)) fail_msg("step %d: %.17g, not %.17g", (int)n, found, rate);
}

static void rates(void **state) {
  (void)state;
  fw_train_conf train = {
      .lr = 0.8, .decay = FW_DECAY_CONSTANT, .decay_alpha = 0.5, .decay_beta = 0.25, .decay_intervals = 4};
  expect_rate(&train, 1, 0.8);
  expect_rate(&train, 1000, 0.8);
  train.decay = FW_DECAY_STANDARD;
  expect_rate(&train, 1, 0.8 / sqrt(1.5));
  expect_rate(&train, 6, 0.4);
  train.decay = FW_DECAY_CORRECTION;
  expect_rate(&train, 1, 0.8 / sqrt(1.5));
  expect_rate(&train, 2, 0.8 / sqrt(2) * 0.75 / (1 - 0.0625));
  train.decay = FW_DECAY_WARM_RESTARTS;
  expect_rate(&train, 2, 0.08 + 0.36); /* half of the cosine */
  expect_rate(&train, 4, 0.08);        /* its end */
  const double top = 0.8 / sqrt(1.5);  /* after the first restart, over 8 steps */
  expect_rate(&train, 8, 0.08 + 0.5 * (top - 0.08));
  expect_rate(&train, 12, 0.08);
  const double next = top / sqrt(2); /* after the second, over 16 */
  expect_rate(&train, 20, 0.08 + 0.5 * (next - 0.08));
  assert_true(isfinite(fw_decay_rate(&train, UINT64_MAX)));
}

/* Angel takes the published AdaGrad for its own and passes over the variant; Furrow reads it back. */
static void published_adagrad(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("lr", "optimizer=published-adagrad range=4"), *back = conf_new();
  char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  assert_non_null(strstr(text, "\"type\" : \"AdaGrad\",\n      \"variant\" : \"published\"\n"));
  conf_read(back, text);
  fw_plan *plan = conf_plan(back);
  assert_int_equal(plan->graph.layers[0].optimizer.type, FW_OPTIMIZER_PUBLISHED_ADAGRAD);
  fw_plan_free(plan);
  furrow_free(text);
  furrow_learn_conf_free(back);
  furrow_learn_conf_free(conf);
}

/* ---- Keys ---- */

static furrow_learn_conf *conf_of_keys(const char *text) {
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  if (furrow_learn_conf_read(conf, text, strlen(text), "keys", &err) != FURROW_OK) fail_msg("%s", err.message);
  return conf;
}

static void check_keys(const char *algorithm, const char *settings) {
  furrow_learn_conf *conf = conf_builtin(algorithm, settings);
  char *text = conf_describe(conf, FURROW_DESCRIBE_KEYS);
  furrow_learn_conf *read = conf_of_keys(text);
  char *again = conf_describe(read, FURROW_DESCRIBE_KEYS);
  assert_string_equal(text, again);
  fw_plan *plan = conf_plan(conf), *other = conf_plan(read);
  uint64_t a = 0, b = 1;
  assert_int_equal(fw_plan_fingerprint(plan, &a, &err), FURROW_OK);
  assert_int_equal(fw_plan_fingerprint(other, &b, &err), FURROW_OK);
  assert_int_equal(a, b);
  assert_string_equal(plan->model.algorithm, other->model.algorithm);
  assert_int_equal(plan->train.recommended, other->train.recommended);
  assert_int_equal(plan->train.lbfgs, other->train.lbfgs);
  assert_int_equal(plan->train.start_linear, other->train.start_linear);
  assert_int_equal(plan->train.keep_best, other->train.keep_best);
  assert_int_equal(plan->train.patience, other->train.patience);
  assert_int_equal(plan->data.scale, other->data.scale);
  fw_plan_free(plan);
  fw_plan_free(other);
  furrow_free(text);
  furrow_free(again);
  furrow_learn_conf_free(read);
  furrow_learn_conf_free(conf);
}

static void keys_are_a_configuration(void **state) {
  (void)state;
  static const char *const algorithms[] = {"lr", "svm", "linear", "robust", "softmax", "mlr", "fm", "dnn", "gbdt"};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
    check_keys(algorithms[i], "");
    check_keys(algorithms[i], "defaults=furrow");
    check_keys(algorithms[i], "defaults=furrow lr=0.25 seed=7");
  }
  check_keys("deepfm", "defaults=furrow fields=5 fc=20,10 rank=4");
  check_keys("lr", "defaults=furrow l2=3 class-weights=1,2.5");
}

/* What the data decides is left to it; what was set before a file is read stays. */
static void keys_that_are_set(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("fm", "defaults=furrow");
  char *text = conf_describe(conf, FURROW_DESCRIBE_KEYS);
  assert_null(strstr(text, "auto\"\n"));
  assert_null(strstr(text, "\"epochs\""));
  assert_non_null(strstr(text, "\"start\" : \"linear\""));
  furrow_free(text);
  furrow_learn_conf_free(conf);
  static const char keys[] = "{\"furrow\":{\"algorithm\":\"fm\",\"rank\":4,\"shuffle\":true,\"l2\":\"0.5\"}}";
  conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  conf_set(conf, "rank", "9");
  assert_int_equal(furrow_learn_conf_read(conf, keys, strlen(keys), "keys", &err), FURROW_OK);
  assert_string_equal(furrow_learn_conf_get(conf, "rank"), "9");
  assert_string_equal(furrow_learn_conf_get(conf, "l2"), "0.5");
  fw_plan *plan = conf_plan(conf);
  assert_true(plan->data.shuffle && !plan->train.recommended); /* a JSON file without `defaults` has Angel's */
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void keys_do_not_say_layers(void **state) {
  (void)state;
  static const char layers[] =
      "{\"layers\":[{\"name\":\"a\",\"type\":\"SimpleInputLayer\",\"outputdim\":1,\"transfunc\":\"identity\"},"
      "{\"name\":\"b\",\"type\":\"SimpleLossLayer\",\"inputlayer\":\"a\",\"lossfunc\":\"logloss\"}]}";
  furrow_learn_conf *conf = conf_of_keys(layers);
  char *text = NULL;
  size_t size = 0;
  assert_int_equal(furrow_learn_conf_describe(conf, FURROW_DESCRIBE_KEYS, 0, &text, &size, &err), FURROW_E_UNSUPPORTED);
  furrow_learn_conf_free(conf);
}

/* Not even an algorithm by name says what a JSON file has for all layers. */
static void keys_do_not_say_defaults(void **state) {
  (void)state;
  static const char *const files[] = {"{\"default_optimizer\":\"adam\"}", "{\"default_transfunc\":\"tanh\"}",
                                      "{\"default_lossfunc\":\"l2loss\"}"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    furrow_learn_conf *conf = conf_builtin("dnn", "");
    conf_read(conf, files[i]);
    char *text = NULL;
    size_t size = 7;
    assert_int_equal(furrow_learn_conf_describe(conf, FURROW_DESCRIBE_KEYS, 0, &text, &size, &err),
                     FURROW_E_UNSUPPORTED);
    assert_string_equal(err.message, "layers of a JSON file are more than keys can say");
    assert_true(!text && size == 7);
    furrow_learn_conf_free(conf);
  }
}

static void refused_kinds(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("gbdt", "");
  char *text = NULL;
  size_t size = 7;
  static const furrow_describe_format drawn[] = {FURROW_DESCRIBE_DOT, FURROW_DESCRIBE_SVG};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(furrow_learn_conf_describe(conf, drawn[i], 0, &text, &size, &err), FURROW_E_UNSUPPORTED);
    assert_string_equal(err.message, "gbdt has no graph to draw; its trees can be drawn when they are grown");
  }
  assert_int_equal(
      furrow_learn_conf_describe(conf, (furrow_describe_format)(FURROW_DESCRIBE_KEYS + 1), 0, &text, &size, &err),
      FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "no such kind of description");
  assert_true(!text && size == 7);
  furrow_learn_conf_free(conf);
}

/* ---- Text ---- */

static void expect_text(const char *algorithm, const char *settings, const char *lines) {
  furrow_learn_conf *conf = conf_builtin(algorithm, settings);
  char *text = conf_describe(conf, FURROW_DESCRIBE_TEXT);
  if (!strstr(text, lines)) fail_msg("%s %s:\n%s\nhas not\n%s", algorithm, settings, text, lines);
  furrow_free(text);
  furrow_learn_conf_free(conf);
}

static void texts(void **state) {
  (void)state;
  expect_text("lr", "defaults=furrow",
              "data        of a format that is found, labels as they are found\n"
              "training    the exact minimum, by L-BFGS\n");
  expect_text("fm", "defaults=furrow solver=lbfgs",
              "training    from the linear model on, by L-BFGS, for several strengths of L2\n");
  expect_text("wide_and_deep", "defaults=furrow",
              "data        of a format that is found, as many fields as its longest row has features (shown: 2), "
              "labels as they are found\n"
              "training    from the linear model on, epochs by the number of rows until 4 are not better, 128 rows an "
              "update, learning rate 0.01, StandardDecay\n");
  expect_text("softmax", "defaults=furrow",
              ", as many classes as it has labels (shown: 2), labels as they are found\n");
  expect_text("robust", "epochs=1 label=NoTrans updates=7 range=1000 fields=4 l1=0.5 huber-delta=2",
              "data        libsvm, features 0 … 999, 4 fields\n"
              "training    1 epoch, 7 updates an epoch, learning rate 0.5, StandardDecay\n");
  expect_text("dnn", "activation=dropout dropout=0.25 l1=0.5 lr=0.125", "Dropout 0.25  ");
  expect_text("gbdt", "trees=1 objective=multi:softmax classes=3 leaves=31 levels=3",
              "training    1 round of 3 trees, learning rate 0.5, lambda 1, alpha 0\n"
              "a tree      2 splits deep, 7 nodes at most, 10 candidates a feature, best first to 31 leaves\n"
              "matrices    gbdt.split.feature, gbdt.split.value, gbdt.node.predict: 3 x 7 each\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graph_json),
      cmocka_unit_test(published_adagrad),
      cmocka_unit_test(counts),
      cmocka_unit_test(json),
      cmocka_unit_test(odd_names),
      cmocka_unit_test(layouts),
      cmocka_unit_test(rates),
      cmocka_unit_test(table_of_keys),
      cmocka_unit_test(keys_are_a_configuration),
      cmocka_unit_test(keys_that_are_set),
      cmocka_unit_test(keys_do_not_say_layers),
      cmocka_unit_test(keys_do_not_say_defaults),
      cmocka_unit_test(refused_kinds),
      cmocka_unit_test(texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
