/* tests/unit/learn/test_learn_conf.c: graphs of built-in algorithms and of JSON files, keys and what wins, plans read
 * again.
 */
#include <math.h>
#include <strings.h>

#include "support/failing_alloc.h"
#include "support/golden_case.h"
#include "support/learn_conf.h"
#include "support/own_dir.h"
#include "support/test_env.h"

/* ---- Graphs ---- */

/* The graph as one line: name(inputs)width. */
static void expect_graph(const fw_plan *plan, const char *expected) {
  char text[2048] = "";
  size_t used = 0;
  for (size_t i = 0; i < plan->graph.count; i++) {
    const fw_layer *layer = &plan->graph.layers[i];
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", layer->name);
    for (size_t k = 0; k < layer->input_count; k++) {
      assert_true(layer->inputs[k] < i);
      used += (size_t)snprintf(text + used, sizeof text - used, "%c%zu", k ? ',' : '(', layer->inputs[k]);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu", layer->input_count ? ")" : ":", layer->width);
  }
  assert_string_equal(text, expected);
}

static void expect_builtin(const char *algorithm, const char *settings, const char *expected) {
  furrow_learn_conf *conf = conf_new();
  if (furrow_learn_conf_set_algorithm(conf, algorithm, &err) != FURROW_OK) fail_msg("%s: %s", algorithm, err.message);
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, expected);
  assert_non_null(plan->model.algorithm);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void builtin_graphs(void **state) {
  (void)state;
  const char *linear = "input:1 simpleLossLayer(0)1";
  expect_builtin("lr", "", linear);
  expect_builtin("com.tencent.angel.ml.classification.LogisticRegression", "", linear);
  expect_builtin("svm", "", linear);
  expect_builtin("linear", "", linear);
  expect_builtin("robust", "", linear);
  expect_builtin("softmax", "classes=3", "input:3 softmaxLossLayer(0)3");
  expect_builtin("mlr", "", "sigmoid_layer:5 softmax_layer:5 dotpooling_layer(0,1)1 simpleLossLayer(2)1");
  expect_builtin("fm", "", "input:1 embedding:0 innerSumPooling(1)1 sumPooling(0,2)1 simpleLossLayer(3)1");
  expect_builtin("fm", "loss=softmax classes=4 rank=3",
                 "input:4 embedding:0 BiInteractionCross(1)3 fmlayer(2)4 sumPooling(0,3)4 simpleLossLayer(4)4");
  expect_builtin("dnn", "fc=7 input-width=9", "input:9 fclayer_0(0)7 fclayer(1)1 simpleLossLayer(2)1");
  expect_builtin("dnn", "fc=7 loss=softmax classes=4 input-width=9",
                 "input:9 fclayer_0(0)7 fclayer(1)4 simpleLossLayer(2)4");
  expect_builtin("wide_and_deep", "fields=3 rank=4",
                 "input:1 embedding:12 fclayer_0(1)100 fclayer_1(2)100 fclayer(3)1 sumPooling(0,4)1 "
                 "simpleLossLayer(5)1");
  expect_builtin("DeepFM", "fields=3 fc=10",
                 "input:1 embedding:24 innerSumPooling(1)1 fclayer_0(1)10 fclayer(3)1 sumPooling(0,2,4)1 "
                 "simpleLossLayer(5)1");
  expect_builtin("DeepFM", "fields=3 fc=10 loss=softmax classes=4",
                 "input:4 embedding:24 BiInteractionCross(1)8 fmlayer(2)4 fclayer_0(1)10 fclayer(4)4 "
                 "sumPooling(0,3,5)4 simpleLossLayer(6)4");
  expect_builtin("pnn", "fields=4 rank=2 fc=5",
                 "input:1 embedding:8 innerPooling(1)6 concatMatrix(1,2)14 fclayer_0(3)5 fclayer(4)1 sumPooling(0,5)1 "
                 "simpleLossLayer(6)1");
  expect_builtin("ffm", "fields=3 rank=2 format=libffm",
                 "input:1 embedding:18 fieldAwareCross(1)1 sumPooling(0,2)1 simpleLossLayer(3)1");
  expect_builtin("nfm", "rank=6 fc=5",
                 "input:1 embedding:0 BiInteractionCross(1)6 fclayer_0(2)5 fclayer(3)1 sumPooling(0,4)1 "
                 "simpleLossLayer(5)1");
}

static void expect_loss(const char *algorithm, fw_loss_type loss, fw_optimizer_type optimizer) {
  furrow_learn_conf *conf = conf_builtin(algorithm, "");
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->graph.loss, loss);
  assert_int_equal(plan->graph.layers[0].optimizer.type, optimizer);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void builtin_losses(void **state) {
  (void)state;
  expect_loss("lr", FW_LOSS_LOG, FW_OPTIMIZER_MOMENTUM);
  expect_loss("svm", FW_LOSS_HINGE, FW_OPTIMIZER_MOMENTUM);
  expect_loss("linear", FW_LOSS_L2, FW_OPTIMIZER_SGD);
  expect_loss("robust", FW_LOSS_HUBER, FW_OPTIMIZER_SGD);
  expect_loss("softmax", FW_LOSS_SOFTMAX, FW_OPTIMIZER_MOMENTUM);
  expect_loss("mlr", FW_LOSS_CROSS_ENTROPY, FW_OPTIMIZER_MOMENTUM);
  expect_loss("fm", FW_LOSS_LOG, FW_OPTIMIZER_MOMENTUM);
}

/* The key `loss`; Angel's classes have LogLoss whatever default_lossfunc says. Labels are transformed for two classes
 * alone. graph.json has the loss, as Angel writes it. */
static void losses_by_key(void **state) {
  (void)state;
  static const char *const algorithms[] = {"fm", "wide_and_deep", "deepfm", "pnn", "nfm", "dnn"};
  static const struct {
    const char *settings;
    fw_loss_type loss;
    fw_label_transform label;
    const char *json;
  } cases[] = {{"loss=l2", FW_LOSS_L2, FW_LABEL_NONE, "\"type\" : \"L2Loss\"\n"},
               {"loss=Huber huber-delta=2", FW_LOSS_HUBER, FW_LABEL_NONE, "\"HuberLoss\",\n      \"delta\" : 2.0\n"},
               {"loss=poisson", FW_LOSS_POISSON, FW_LABEL_NONE, "\"type\" : \"PoissonLoss\"\n"},
               {"loss=HingeLoss", FW_LOSS_HINGE, FW_LABEL_POS_NEG, "\"type\" : \"HingeLoss\"\n"},
               {"loss=logistic", FW_LOSS_LOG, FW_LABEL_POS_NEG, "\"type\" : \"LogLoss\"\n"}};
  for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++)
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
      furrow_learn_conf *conf = conf_builtin(algorithms[i], "fields=3 range=9"), *again = conf_new();
      conf_set_all(conf, cases[k].settings);
      char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
      assert_non_null(strstr(text, cases[k].json));
      conf_read(again, text);
      furrow_learn_conf *const both[] = {conf, again};
      for (size_t c = 0; c < 2; c++) {
        fw_plan *plan = conf_plan(both[c]);
        assert_int_equal(plan->graph.loss, cases[k].loss);
        assert_int_equal(plan->data.label, cases[k].label);
        fw_plan_free(plan);
        furrow_learn_conf_free(both[c]);
      }
      furrow_free(text);
    }
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, "{\"default_lossfunc\":\"L2Loss\"}");
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "fm", &err), FURROW_OK);
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->graph.loss, FW_LOSS_LOG);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void slots(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("deepfm", "fields=5 rank=3");
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->graph.layers[1].slots, 5);
  assert_int_equal(plan->graph.layers[1].factors, 3);
  assert_int_equal(plan->graph.layers[2].factors, 3);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
  conf = conf_builtin("ffm", "fields=5 rank=3 format=libffm");
  plan = conf_plan(conf);
  assert_int_equal(plan->graph.layers[1].slots, 5);
  assert_int_equal(plan->graph.layers[1].factors, 15); /* a vector of 3 for each field */
  assert_int_equal(plan->graph.layers[1].outputdim, 75);
  assert_int_equal(plan->graph.layers[2].factors, 3);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
  conf = conf_builtin("fm", "fields=5 rank=3");
  plan = conf_plan(conf);
  assert_int_equal(plan->graph.layers[1].slots, 0); /* a sum over all vectors: any number will do */
  assert_int_equal(plan->graph.layers[1].outputdim, 15);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void expect_hidden(const char *settings, fw_activation activation, double dropout) {
  furrow_learn_conf *conf = conf_builtin("wide_and_deep", "fields=2 fc=5");
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->graph.layers[2].activation, activation);
  assert_true(plan->graph.layers[2].dropout == dropout);
  assert_int_equal(plan->graph.layers[3].activation, FW_ACTIVATION_IDENTITY);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void hidden_layers(void **state) {
  (void)state;
  expect_hidden("", FW_ACTIVATION_RELU, 0);
  expect_hidden("activation=tanh", FW_ACTIVATION_TANH, 0);
  expect_hidden("activation=tanh dropout=0.25", FW_ACTIVATION_TANH_DROPOUT, 0.25);
  expect_hidden("activation=SIGMOID dropout=0.25", FW_ACTIVATION_SIGMOID_DROPOUT, 0.25);
  expect_hidden("activation=identity dropout=0.25", FW_ACTIVATION_DROPOUT, 0.25);
  expect_hidden("activation=TanhWithDropout", FW_ACTIVATION_TANH_DROPOUT, 0.5);
  conf_expect_misfit("wide_and_deep", "fields=2 dropout=0.25",
                     "dropout needs the activation sigmoid, tanh or identity, not Relu: Angel's graphs have "
                     "no such layer");
}

static void misfits(void **state) {
  (void)state;
  conf_expect_misfit("lr", "rank=8", "rank is not for lr");
  conf_expect_misfit("fm", "fc=8", "fc is not for fm");
  conf_expect_misfit("mlr", "classes=8", "classes is not for mlr");
  conf_expect_misfit("ffm", "format=libffm", "ffm needs the number of fields: set fields (data/numfield)");
  conf_expect_misfit("ffm", "format=libffm fields=2000",
                     "2000 fields with 2000 vectors of 8 numbers each are more than 16777216");
  conf_expect_misfit("ffm", "fields=2",
                     "fieldAwareCross crosses fields, which data in the format libsvm does not have");
  conf_expect_misfit("lr", "embedding-optimizer=adam", "embedding-optimizer is for embeddings, but the graph has none");
  conf_expect_misfit("fm", "fc-optimizer=adam", "fc-optimizer is for fc layers, but the graph has none");
  conf_expect_misfit("fm", "fc-l2=0.1", "fc-l2 is for fc layers, but the graph has none");
  conf_expect_misfit("lr", "optimizer=sgd adam-beta=0.5", "adam-beta is for Adam, which no layer has");
  conf_expect_misfit("fm", "optimizer=adam embedding-optimizer=ftrl momentum=0.5",
                     "momentum is for Momentum, which no layer has");
  conf_expect_misfit("deepfm", "",
                     "embedding needs the number of fields: set fields (data/numfield), which every row must have");
  conf_expect_misfit("svm", "solver=lbfgs",
                     "the solver lbfgs is for lr, linear, robust, softmax, and fm of two classes or numbers");
  conf_expect_misfit("dnn", "solver=lbfgs",
                     "the solver lbfgs is for lr, linear, robust, softmax, and fm of two classes or numbers");
  conf_expect_misfit("mlr", "solver=lbfgs",
                     "the solver lbfgs is for lr, linear, robust, softmax, and fm of two classes or numbers");
  conf_expect_misfit("fm", "loss=bpr format=libffm item-fields=1 negative-sampling=hour hour-field=2 optimizer=adam",
                     "negative-sampling=hour is for rows that `negatives` draws, not for BPRLoss");
  conf_expect_misfit("dnn", "loss=bpr format=libffm item-fields=1", "BPRLoss is for fm alone");
  conf_expect_misfit("fm", "loss=warp format=libffm item-fields=1 optimizer=sgd",
                     "WARPLoss is trained with Adam or published-adagrad, not with SGD");
  conf_expect_misfit("pnn", "fields=1", "innerPooling multiplies fields in pairs, but there is one field");
  conf_expect_misfit("deepfm", "fields=4000000000", "embedding has 32000000000 outputs; the limit is 16777216");
  conf_expect_misfit("deepfm", "fields=1000000 fc=10000",
                     "fclayer/outputdims/0 makes 8000000 x 10000 weights; the limit is 2147483647");
  conf_expect_misfit("fm", "format=dense range=10", "embedding: an embedding takes sparse data, not the format dense");
}

/* ---- Keys ---- */

static void expect_hint(const char *key, const char *value, const char *message, const char *hint) {
  furrow_learn_conf *conf = conf_new();
  furrow_error error = {0};
  assert_int_equal(furrow_learn_conf_set(conf, key, value, &error), FURROW_E_ARGUMENT);
  assert_string_equal(error.message, message);
  assert_string_equal(error.hint, hint);
  furrow_learn_conf_free(conf);
}

static void expect_refused(const char *key, const char *value, const char *message) {
  expect_hint(key, value, message, "");
}

static void refused_keys(void **state) {
  (void)state;
  expect_hint("epoch", "3", "no such key", "did you mean epochs?");
  expect_hint("ml.epochs.num", "3", "no such key", "did you mean ml.epoch.num?");
  expect_hint("ml.gbdt.threads.num", "3", "no such key", "did you mean ml.gbdt.thread.num?");
  expect_hint("angel.ps.numbr", "3", "no such key", "did you mean angel.ps.number?");
  expect_hint("ML.epoch.num", "3", "no such key", "did you mean ml.epoch.num?");
  expect_refused("zzz", "3", "no such key");
  expect_hint("angel.kubernetes", "3", "no such key", "did you mean angel.kubernetes.?");
  expect_refused("action.type", "serve", "action.type must be train, inctrain or predict");
  expect_refused("ml.gbdt.task.type", "ranking", "ml.gbdt.task.type must be classification or regression");
  expect_hint("ml.data.splitor", ",", "ml.data.splitor must stand for blanks, as \\s+ does",
              "values with commas between them are the format csv, with the argument label_column=0");
  expect_refused("epochs", "many", "epochs must be a whole number from 1 to 4294967295");
  expect_refused("ml.epoch.num", "3 ", "ml.epoch.num must be a whole number from 1 to 4294967295");
  expect_refused("range", "-2", "range must be a whole number, -1 or more");
  expect_refused("lr", "nan", "lr must be a number, 0 or more");
  expect_refused("lr", "", "lr must be a number, 0 or more");
  expect_refused("momentum", "1.5", "momentum must be a number from 0 to 1");
  expect_refused("shuffle", "maybe", "shuffle must be yes or no");
  expect_refused("index-base", "2", "index-base must be 0, 1 or auto");
  expect_refused("fc", "100,", "fc must be widths of layers from 1 to 16777216, with commas between them");
  expect_refused("fc", "0", "fc must be widths of layers from 1 to 16777216, with commas between them");
  expect_refused("fc", "1099511627776", "fc must be widths of layers from 1 to 16777216, with commas between them");
  expect_refused("fc", "9223372036854775808",
                 "fc must be widths of layers from 1 to 16777216, with commas between them");
  expect_refused("fc", "100;50", "fc must be widths of layers from 1 to 16777216, with commas between them");
  expect_refused("labels", "", "labels must be numbers in ascending order, with commas between them");
  expect_refused("labels", "1,x", "labels must be numbers in ascending order, with commas between them");
  expect_refused("labels", "2,1", "labels must be numbers in ascending order, with commas between them");
  expect_refused("labels", "1,inf", "labels must be numbers in ascending order, with commas between them");
  expect_refused("labels", "1;2", "labels must be numbers in ascending order, with commas between them");
  expect_refused("item-fields", "1,", "item-fields must be numbers of fields, with commas between them: 1,4,5");
  expect_refused("item-fields", "1;2", "item-fields must be numbers of fields, with commas between them: 1,4,5");
  expect_refused("item-fields", "18446744073709551616",
                 "item-fields must be numbers of fields, with commas between them: 1,4,5");
  expect_refused("item-fields", "3,10,3", "item-fields has a field twice");
  expect_refused("keep", "worst", "keep must be one of last|best");
  static const char *const categories[] = {"some", "3:", "3;4", "18446744073709551616", "3:18446744073709551616"};
  for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
    expect_refused("categories", categories[i],
                   "categories must be none, all, or features with their numbers of values: 0:2,7:5");
  expect_hint("format", "tsv!", "format must be a format of rows: libsvm, libfm, libffm, csv, dummy, dense, table",
              "register other formats first, or load the plugin that has them");
  char name[300];
  memset(name, 'x', sizeof name);
  name[sizeof name - 1] = 0;
  expect_refused("model-type", name,
                 "model-type must be T_FLOAT_ or T_DOUBLE_ with DENSE, SPARSE or SPARSE_LONGKEY behind it");
  expect_refused(
      "loss", "logistix",
      "loss must be one of LogLoss, HingeLoss, L2Loss, HuberLoss, CrossEntropyLoss, SoftmaxLoss, PoissonLoss, BPRLoss, "
      "WARPLoss, SampledSoftmaxLoss");
  expect_refused("optimizer", "angel-adagraf",
                 "optimizer must be one of SGD, Momentum, AdaGrad, AdaDelta, Adam, FTRL, published-adagrad");
  expect_refused("optimizer", "",
                 "optimizer must be one of SGD, Momentum, AdaGrad, AdaDelta, Adam, FTRL, published-adagrad");
  expect_refused("model-type", "T_LONG_DENSE",
                 "model-type must be T_FLOAT_ or T_DOUBLE_ with DENSE, SPARSE or SPARSE_LONGKEY behind it");
  expect_refused(
      "algorithm", "lda",
      "algorithm must be one of lr, svm, linear, robust, softmax, mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, "
      "nfm, gbdt");
}

/* Nothing of the text is kept. */
static void expect_unread(const char *json, size_t size, const char *message, uint64_t offset, const char *hint) {
  furrow_learn_conf *conf = conf_new();
  furrow_error error = {0};
  assert_int_equal(furrow_learn_conf_read(conf, json, size, "made.json", &error), FURROW_E_FORMAT);
  if (strcmp(error.message, message) != 0 || strcmp(error.hint, hint) != 0 || error.offset != offset)
    fail_msg("%.*s: %s, at byte %llu, hint: %s", (int)size, json, error.message, (unsigned long long)error.offset,
             error.hint);
  assert_string_equal(furrow_learn_conf_get(conf, "epochs"), "30");
  assert_int_equal(furrow_learn_conf_read(conf, json, size, "made.json", NULL), FURROW_E_FORMAT);
  furrow_learn_conf_free(conf);
}

/* Beside those of tests/reject/conf. */
static void refused_files(void **state) {
  (void)state;
  static const struct {
    const char *json, *message;
    uint64_t offset;
    const char *hint;
  } files[] = {
      {"{'train':{'epoch':7,'deca':1}}", "train/deca is not one of Angel's keys", 27, "did you mean decay?"},
      {"{'train':{'epoch':7,'xyzxyzxyz':1}}", "train/xyzxyzxyz is not one of Angel's keys", 32, ""},
      {"{'furrow':{'epochs':7,'xyzxyzxyz':1}}", "furrow/xyzxyzxyz is not one of Furrow's keys", 34, ""},
      {"{'furrow':{'epochs':7,'epochs~0':1}}", "furrow/epochs\\u0000 is not one of Furrow's keys", 37,
       "did you mean epochs?"},
      {"{'furrow':{'save':'a~0b'}}", "furrow/save has a byte 0 in it", 18, ""},
      {"{'furrow':{'model-type':'T_FLOAT_DENSE~0'}}",
       "furrow/model-type must be T_FLOAT_ or T_DOUBLE_ with DENSE, SPARSE or SPARSE_LONGKEY behind it", 24, ""},
      {"{'default_optimizer':{'type':'Adam','beta':0.5,'beta':0.5}}", "default_optimizer/beta occurs twice", 54, ""},
      {"{'default_optimizer':{'type':7}}", "default_optimizer/type is not a string", 29, ""},
      {"{'default_optimizer':{'type':'AdaGrad','variant':7}}", "default_optimizer/variant is not a string", 49, ""},
      {"{'default_optimizer':{'type':'Adam','':7}}", "default_optimizer/ is not one of Angel's keys", 39, ""},
      {"{'layers':[{'name':'a','type':7}]}", "layers/0/type is not a string", 30, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','inputlayer':'b~0'}]}", "layers/0/inputlayer has a byte 0 in it", 53,
       ""},
      {"{'layers':[{'name':'a','type':'FCLayer','inputlayer':7}]}", "layers/0/inputlayer is not a string", 53, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','transfuncs':['relu','rely']}]}",
       "layers/0/transfuncs/1 must be one of Identity, Relu, Sigmoid, Tanh, Softmax, Dropout, SigmoidWithDropout, "
       "TanhWithDropout",
       61, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','transfuncs':7}]}", "layers/0/transfuncs is not an array", 53, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','inputlayer':'b','outputdim':2,'transfunc':'relu','transfuncs':[]}]}",
       "layers/0/transfunc does not apply to a stack: use transfuncs", 83, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','inputlayer':'b','outputdim':0}]}",
       "layers/0/outputdim is not positive", 69, ""},
      {"{'layers':[{'name':'a','type':'FCLayer','inputlayer':'b','outputdim':2,'transfuncs':['relu','relu']}]}",
       "layers/0/transfuncs has 2 elements, but outputdims 1", 84, ""},
      {"{'layers':{'a':{'type':'FCLayer'},'b':7}}", "layers/a/inputlayer is missing", 15, ""},
      {"{'layers':{7:7}}", "a key is missing in layers", 11, ""},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char json[256];
    size_t size = 0;
    for (const char *c = files[i].json; *c; c++) /* ' for ", and ~0 for the escape of the byte 0 */
      size += (size_t)sprintf(json + size, *c == '\'' ? "\"" : *c == '~' ? "\\u000" : "%c", *c);
    expect_unread(json, size, files[i].message, files[i].offset, files[i].hint);
  }
}

/* Keys of Angel's cluster are accepted and listed, each once. */
static void ignored_keys(void **state) {
  (void)state;
  static const char *const keys[] = {"angel.ps.number",  "angel.workergroup.number", "angel.job.name",
                                     "angel.ps.number",  "ml.gbdt.max.leaf.weight",  "angel.kubernetes.master.label.x",
                                     "matrix.staleness", "angel.predict.data.path",  "queue"};
  static const char *const listed[] = {
      "angel.ps.number",   "angel.workergroup.number", "angel.job.name",          "ml.gbdt.max.leaf.weight",
      "angel.kubernetes.", "matrix.staleness",         "angel.predict.data.path", "queue"};
  furrow_learn_conf *conf = conf_new(), *copy = NULL;
  bool changes = true;
  assert_null(furrow_learn_conf_ignored(conf, 0, NULL));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) conf_set(conf, keys[i], "1");
  assert_int_equal(fw_learn_conf_copy(&copy, conf, NULL), FURROW_OK);
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
    assert_string_equal(furrow_learn_conf_ignored(conf, i, &changes), listed[i]);
    assert_string_equal(furrow_learn_conf_ignored(copy, i, NULL), listed[i]);
    assert_int_equal(changes, strcmp(listed[i], "ml.gbdt.max.leaf.weight") == 0);
  }
  assert_null(furrow_learn_conf_ignored(conf, sizeof listed / sizeof *listed, NULL));
  furrow_learn_conf_free(conf);
  furrow_learn_conf_free(copy);
}

static void expect_setting(const furrow_learn_conf *conf, const char *key, const char *value) {
  assert_string_equal(furrow_learn_conf_get(conf, key), value);
}

/* Other names that mean a setting, in Angel's documents and older versions. */
static void translated_keys(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_set(conf, "ml.lr.reg.l2", "0.25");
  conf_set(conf, "ml.validate.ratio", "0.125");
  conf_set(conf, "ml.feature.num", "7");
  expect_setting(conf, "range", "7");
  conf_set(conf, "ml.feature.index.range", "9");
  conf_set(conf, "ml.feature.num", "8"); /* the newer name wins */
  conf_set(conf, "ml.gbdt.task.type", "regression");
  conf_set(conf, "action.type", "inctrain");
  conf_set(conf, "angel.validate.data.path", "v.libsvm");
  conf_set(conf, "angel.app.submit.class", "com.tencent.angel.ml.GBDT.GBDTRunner");
  expect_setting(conf, "l2", "0.25");
  expect_setting(conf, "valid-ratio", "0.125");
  expect_setting(conf, "range", "9");
  expect_setting(conf, "objective", "reg:squarederror");
  expect_setting(conf, "action", "inctrain");
  expect_setting(conf, "valid", "v.libsvm");
  expect_setting(conf, "algorithm", "gbdt");
  assert_string_equal(furrow_learn_conf_ignored(conf, 0, NULL), "ml.feature.num");
  assert_null(furrow_learn_conf_ignored(conf, 1, NULL));
  furrow_learn_conf_free(conf);
}

/* What Angel's documents print and its code no longer reads: train/decay, loadPath, two kinds of input layers. */
static void published_members(void **state) {
  (void)state;
  static const char text[] = "{\"data\":{\"format\":\"dummy\",\"indexrange\":5},"
                             "\"model\":{\"loadPath\":\"old\",\"savePath\":\"new\"},"
                             "\"train\":{\"lr\":0.8,\"decay\":0.25},"
                             "\"layers\":[{\"name\":\"wide\",\"type\":\"sparseinputlayer\",\"outputdim\":1,"
                             "\"transfunc\":\"identity\"},{\"name\":\"simplelosslayer\","
                             "\"type\":\"simplelosslayer\",\"lossfunc\":\"logloss\",\"inputlayer\":\"wide\"}]}";
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(furrow_learn_conf_read(conf, text, sizeof text - 1, "old.json", NULL), FURROW_OK);
  expect_setting(conf, "load", "old");
  expect_setting(conf, "save", "new");
  fw_plan *plan = conf_plan(conf);
  assert_true(plan->train.decay_alpha == 0.25);
  assert_int_equal(plan->graph.layers[0].type, FW_LAYER_INPUT);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* angel.ml.conf names the JSON file. */
static void file_by_key(void **state) {
  (void)state;
  char path[TEST_PATH];
  furrow_error error = {0};
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(
      furrow_learn_conf_set(conf, "angel.ml.conf", test_source_path(path, "tests/reject/conf/key_twice.json"), &error),
      FURROW_E_FORMAT);
  assert_string_equal(error.message, "train/epoch occurs twice");
  assert_int_equal(furrow_learn_conf_set(conf, "angel.ml.conf", "nowhere.json", &error), FURROW_E_NOT_FOUND);
  furrow_learn_conf_free(conf);
}

/* Every default is a value of its key, and so is it under Angel's name. */
static void all_keys(void **state) {
  (void)state;
  const furrow_learn_key *key;
  size_t count = 0;
  furrow_learn_conf *conf = NULL;
  assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
  for (; (key = furrow_learn_key_at(count)); count++) {
    assert_true(key->name[0] && key->value[0] && key->help[0]);
    const bool other_default = strcmp(key->name, "defaults") == 0; /* conf_new sets it */
    if (!other_default && strcasecmp(furrow_learn_conf_get(conf, key->name), key->fallback) != 0)
      fail_msg("%s", key->name);
    if (!key->fallback[0]) continue;
    conf_set(conf, key->name, key->fallback);
    if (key->angel_key) conf_set(conf, key->angel_key, key->fallback);
    assert_non_null(furrow_learn_conf_get(conf, key->name));
    for (size_t other = 0; other < count; other++) assert_string_not_equal(key->name, furrow_learn_key_at(other)->name);
  }
  assert_true(count > 50);
  assert_null(furrow_learn_key_at(count + 1));
  assert_null(furrow_learn_conf_get(conf, "epoch"));
  furrow_learn_conf_free(conf);
}

static void defaults(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("lr", "");
  fw_plan *plan = conf_plan(conf);
  assert_string_equal(plan->data.format, "libsvm");
  assert_int_equal(plan->data.range, -1);
  assert_int_equal(plan->data.index_base, 1);
  assert_true(plan->data.valid_ratio == 0.05 && plan->data.sample_ratio == 1 && plan->data.posneg_ratio == -1);
  assert_true(plan->data.has_label && !plan->data.shuffle);
  assert_int_equal(plan->train.epochs, 30);
  assert_int_equal(plan->train.batch, 128);
  assert_true(plan->train.lr == 0.5);
  assert_int_equal(plan->train.decay, FW_DECAY_STANDARD);
  assert_true(plan->train.decay_alpha == 0.5);
  assert_string_equal(furrow_matrix_row_type_get(plan->model.row_type)->name, "T_FLOAT_DENSE");
  assert_null(plan->data.path);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* ---- What wins ---- */

#define LR_LAYERS                                                                                             \
  "\"layers\":[{\"name\":\"wide\",\"type\":\"simpleinputlayer\",\"outputdim\":1,\"transfunc\":\"identity\"}," \
  "{\"name\":\"loss\",\"type\":\"simplelosslayer\",\"inputlayer\":\"wide\"}]"

static void keys_win(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_set(conf, "ml.epoch.num", "7");
  conf_read(conf, "{\"train\":{\"epoch\":3,\"batchsize\":16},\"data\":{\"path\":\" x.libsvm \"}}");
  assert_string_equal(furrow_learn_conf_get(conf, "epochs"), "7");
  assert_string_equal(furrow_learn_conf_get(conf, "ml.minibatch.size"), "16");
  assert_string_equal(furrow_learn_conf_get(conf, "data"), "x.libsvm");
  conf_set(conf, "batch", "32");
  assert_string_equal(furrow_learn_conf_get(conf, "batch"), "32");
  conf_read(conf, "{\"train\":{\"lr\":0.25}}"); /* what is not there stays */
  conf_set(conf, "algorithm", "lr");
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->train.epochs, 7);
  assert_int_equal(plan->train.batch, 32);
  assert_true(plan->train.lr == 0.25);
  assert_string_equal(plan->data.path, "x.libsvm");
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void expect_optimizer(const char *json, const char *settings, fw_optimizer wanted) {
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, json);
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  const fw_optimizer *found = &plan->graph.layers[0].optimizer;
  assert_int_equal(found->type, wanted.type);
  assert_true(found->lr == wanted.lr || (isnan(found->lr) && isnan(wanted.lr)));
  assert_true(found->l1 == wanted.l1 && found->l2 == wanted.l2 && found->a == wanted.a && found->b == wanted.b);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void optimizers(void **state) {
  (void)state;
  const char *adam = "{\"default_optimizer\":{\"type\":\"adam\",\"lr\":0.01,\"reg2\":0.5,\"beta\":0.8}," LR_LAYERS "}";
  const char *plain = "{" LR_LAYERS "}";
  expect_optimizer(plain, "", (fw_optimizer){FW_OPTIMIZER_MOMENTUM, (double)NAN, 0, 0, 0.9, 0});
  expect_optimizer(plain, "l1=2 momentum=0.5", (fw_optimizer){FW_OPTIMIZER_MOMENTUM, (double)NAN, 2, 0, 0.5, 0});
  expect_optimizer(plain, "ml.inputlayer.optimizer=FTRL", (fw_optimizer){FW_OPTIMIZER_FTRL, (double)NAN, 0, 0, 0.1, 1});
  expect_optimizer(adam, "", (fw_optimizer){FW_OPTIMIZER_ADAM, 0.01, 0, 0.5, 0.8, 0.99});
  expect_optimizer(adam, "lr=0.1 l2=0 adam-gamma=0.9", (fw_optimizer){FW_OPTIMIZER_ADAM, (double)NAN, 0, 0, 0.8, 0.9});
  expect_optimizer(adam, "optimizer=adagrad", (fw_optimizer){FW_OPTIMIZER_ADAGRAD, 0.01, 0, 0.5, 0.9, 0});
  expect_optimizer(adam, "optimizer=adagrad input-optimizer=sgd", (fw_optimizer){FW_OPTIMIZER_SGD, 0.01, 0, 0.5, 0, 0});
  expect_optimizer(adam, "optimizer=Angel-AdaGrad", (fw_optimizer){FW_OPTIMIZER_ADAGRAD, 0.01, 0, 0.5, 0.9, 0});
  expect_optimizer(adam, "optimizer=published-adagrad",
                   (fw_optimizer){FW_OPTIMIZER_PUBLISHED_ADAGRAD, 0.01, 0, 0.5, 0, 0});
  expect_optimizer("{\"default_optimizer\":{\"variant\":\"published\",\"type\":\"AdaGrad\"}," LR_LAYERS "}", "",
                   (fw_optimizer){FW_OPTIMIZER_PUBLISHED_ADAGRAD, (double)NAN, 0, 0, 0, 0});
  expect_optimizer("{\"default_optimizer\":\"AdaGrad\"," LR_LAYERS "}", "",
                   (fw_optimizer){FW_OPTIMIZER_ADAGRAD, (double)NAN, 0, 0, 0.9, 0});
  expect_optimizer("{\"default_optimizer\":{\"type\":\"Adam\",\" gamma\":0.5}," LR_LAYERS "}", "",
                   (fw_optimizer){FW_OPTIMIZER_ADAM, (double)NAN, 0, 0, 0.9, 0.5});
}

static void expect_batch(const char *json, const char *settings, uint32_t batch, uint32_t updates) {
  furrow_learn_conf *conf = conf_builtin("lr", "");
  conf_read(conf, json);
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  assert_int_equal(plan->train.batch, batch);
  if (!batch) assert_int_equal(plan->train.updates, updates);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void batches(void **state) {
  (void)state;
  expect_batch("{}", "", 128, 0);
  expect_batch("{}", "updates=5", 0, 5);
  expect_batch("{}", "updates=5 batch=9", 9, 0);
  expect_batch("{\"train\":{\"numupdateperepoch\":20}}", "", 0, 20);
  expect_batch("{\"train\":{\"numupdateperepoch\":20,\"batchsize\":64}}", "", 64, 0);
  expect_batch("{\"train\":{\"numupdateperepoch\":20,\"batchsize\":64}}", "updates=5", 0, 5);
}

static void graph_wins(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("svm", "");
  conf_read(conf, "{" LR_LAYERS "}");
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, "wide:1 loss(0)1"); /* layers replace the graph */
  assert_null(plan->model.algorithm);
  fw_plan_free(plan);
  conf_set(conf, "ml.model.class.name", "com.tencent.angel.ml.classification.SupportVectorMachine");
  plan = conf_plan(conf);
  expect_graph(plan, "input:1 simpleLossLayer(0)1"); /* a key wins over the JSON */
  assert_int_equal(plan->graph.loss, FW_LOSS_HINGE);
  fw_plan_free(plan);
  conf_set(conf, "ml.model.class.name", "com.tencent.angel.ml.core.graphsubmit.GraphModel");
  plan = conf_plan(conf);
  expect_graph(plan, "wide:1 loss(0)1");
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* Angel's classes take shapes from the layers of the JSON, but names of their own. */
static void shapes_from_json(void **state) {
  (void)state;
  char path[TEST_PATH];
  furrow_learn_conf *conf = conf_new();
  conf_load(conf, conf_sample(path, "wide_and_deep"));
  conf_set(conf, "algorithm", "deepfm");
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, "input:1 embedding:312 innerSumPooling(1)1 deep_0(1)100 deep_1(3)50 deep(4)1 sumPooling(0,2,5)1 "
                     "simpleLossLayer(6)1");
  assert_int_equal(plan->graph.layers[0].optimizer.type, FW_OPTIMIZER_FTRL);
  assert_int_equal(plan->graph.layers[1].optimizer.type, FW_OPTIMIZER_ADAM);
  fw_plan_free(plan);
  conf_set_all(conf, "rank=4 fc=9");
  plan = conf_plan(conf);
  expect_graph(plan, "input:1 embedding:156 innerSumPooling(1)1 deep_0(1)9 deep(3)1 sumPooling(0,2,4)1 "
                     "simpleLossLayer(5)1");
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* What a JSON file says of all layers counts for an algorithm by name, unless a key says it. */
static void defaults_from_json(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("dnn", "fc=7 input-width=9");
  conf_read(conf, "{\"default_transfunc\":\"tanh\",\"default_lossfunc\":{\"type\":\"huberloss\",\"delta\":2.5}}");
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, "input:9 fclayer_0(0)7 fclayer(1)1 simpleLossLayer(2)1");
  for (size_t i = 0; i < 2; i++) assert_int_equal(plan->graph.layers[i].activation, FW_ACTIVATION_TANH);
  assert_int_equal(plan->graph.loss, FW_LOSS_HUBER);
  assert_true(plan->graph.layers[3].delta == 2.5);
  fw_plan_free(plan);
  conf_set_all(conf, "activation=sigmoid dropout=0.25 loss=l2loss");
  plan = conf_plan(conf);
  for (size_t i = 0; i < 2; i++) assert_int_equal(plan->graph.layers[i].activation, FW_ACTIVATION_SIGMOID_DROPOUT);
  assert_int_equal(plan->graph.loss, FW_LOSS_L2);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

#define INPUT_OF(width) \
  "{\"layers\":[{\"name\":\"a\",\"type\":\"SimpleInputLayer\",\"outputdim\":" #width ",\"transfunc\":\"identity\"}]}"

static void expect_shape(const char *algorithm, const char *json, const char *settings, const char *expected) {
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, json);
  conf_set(conf, "algorithm", algorithm);
  conf_set_all(conf, settings);
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, expected);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

static void widths_from_json(void **state) {
  (void)state;
  expect_shape("softmax", INPUT_OF(3), "", "input:3 softmaxLossLayer(0)3");
  expect_shape("softmax", INPUT_OF(3), "classes=5", "input:5 softmaxLossLayer(0)5");
  expect_shape("mlr", INPUT_OF(4), "", "sigmoid_layer:4 softmax_layer:4 dotpooling_layer(0,1)1 simpleLossLayer(2)1");
  expect_shape("dnn", INPUT_OF(6), "fc=2", "input:6 fclayer_0(0)2 fclayer(1)1 simpleLossLayer(2)1");
}

/* Furrow's own rates, by the optimizer; FTRL has one of its own. */
static void recommended_rates(void **state) {
  (void)state;
  static const struct {
    const char *optimizer;
    double rate;
  } rates[] = {{"sgd", 0.05},   {"momentum", 0.01}, {"angel-adagrad", 0.01},
               {"adadelta", 1}, {"adam", 0.01},     {"published-adagrad", 0.1}};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    furrow_learn_conf *conf = conf_builtin("dnn", "defaults=furrow");
    conf_set(conf, "optimizer", rates[i].optimizer);
    fw_plan *plan = conf_plan(conf);
    assert_true(plan->graph.layers[0].optimizer.lr == rates[i].rate);
    fw_plan_free(plan);
    furrow_learn_conf_free(conf);
  }
}

static void layers_that_are_too_wide(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, "{\"default_transfunc\":\"identity\",\"layers\":["
                  "{\"name\":\"a\",\"type\":\"SimpleInputLayer\",\"outputdim\":16777216},"
                  "{\"name\":\"b\",\"type\":\"SimpleInputLayer\",\"outputdim\":1},"
                  "{\"name\":\"c\",\"type\":\"ConcatLayer\",\"outputdim\":2,\"inputlayers\":[\"a\",\"b\"]},"
                  "{\"name\":\"d\",\"type\":\"FCLayer\",\"outputdims\":[1],\"inputlayer\":\"c\"},"
                  "{\"name\":\"e\",\"type\":\"SimpleLossLayer\",\"inputlayer\":\"d\",\"lossfunc\":\"logloss\"}]}");
  assert_int_equal(furrow_learn_conf_check(conf, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message, "layers/2 has 16777217 outputs; the limit is 16777216");
  furrow_learn_conf_free(conf);
}

/* The class that starts a job says no more where the algorithm is known. */
static void runners(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_set(conf, "angel.app.submit.class", "LRRunner");
  assert_null(furrow_learn_conf_ignored(conf, 0, NULL));
  expect_setting(conf, "algorithm", "lr");
  conf_set(conf, "ml.gbdt.task.type", "classification");
  furrow_learn_conf_free(conf);
  conf = conf_builtin("svm", "");
  conf_set(conf, "angel.app.submit.class", "com.tencent.angel.ml.LRRunner");
  assert_string_equal(furrow_learn_conf_ignored(conf, 0, NULL), "angel.app.submit.class");
  fw_plan *plan = conf_plan(conf);
  assert_string_equal(plan->model.algorithm, "svm");
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* ---- Files ---- */

static const char *const samples[] = {"lr", "svm", "linear",        "robust", "softmax", "mlr",
                                      "fm", "dnn", "wide_and_deep", "deepfm", "pnn",     "nfm"};

/* graph.json of a conf, read again, is the same graph.json. */
static void expect_same_again(const furrow_learn_conf *conf) {
  char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  furrow_learn_conf *again = conf_new();
  conf_read(again, text);
  char *text_again = conf_describe(again, FURROW_DESCRIBE_ANGEL);
  assert_string_equal(text, text_again);
  furrow_free(text);
  furrow_free(text_again);
  furrow_learn_conf_free(again);
}

static void sample_files(void **state) {
  (void)state;
  char path[TEST_PATH];
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    furrow_learn_conf *conf = conf_new();
    conf_load(conf, conf_sample(path, samples[i]));
    fw_plan *plan = conf_plan(conf);
    assert_null(plan->model.algorithm);
    /* the same kinds of layers as the built-in graph, except the names */
    furrow_learn_conf *builtin = conf_builtin(samples[i], strcmp(samples[i], "dnn") == 0 ? "input-width=200" : "");
    if (plan->data.fields > 0) conf_set(builtin, "fields", "39");
    fw_plan *other = conf_plan(builtin);
    assert_int_equal(plan->graph.count, other->graph.count);
    assert_int_equal(plan->graph.loss, other->graph.loss);
    for (size_t k = 0; k < plan->graph.count; k++)
      assert_int_equal(plan->graph.layers[k].type, other->graph.layers[k].type);
    expect_same_again(conf);
    expect_same_again(builtin);
    fw_plan_free(other);
    fw_plan_free(plan);
    furrow_learn_conf_free(builtin);
    furrow_learn_conf_free(conf);
  }
}

/* Products of many fields in pairs are refused with the default widths of fc layers. */
static void products_of_many_fields(void **state) {
  (void)state;
  static const struct {
    const char *settings;
    bool refused;
  } cases[] = {{"fields=500", false}, {"fields=2000", true}, {"fields=2000 fc=4", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_learn_conf *conf = NULL;
    fw_plan *plan = NULL;
    assert_int_equal(furrow_learn_conf_create(&conf, &err), FURROW_OK);
    assert_int_equal(furrow_learn_conf_set_algorithm(conf, "pnn", &err), FURROW_OK);
    conf_set_all(conf, cases[i].settings);
    assert_int_equal(fw_plan_of_conf(&plan, conf, &err), cases[i].refused ? FURROW_E_ARGUMENT : FURROW_OK);
    if (cases[i].refused)
      assert_string_equal(err.message, "fclayer takes the products of 2000 fields in pairs: 2015000 inputs and 100 "
                                       "outputs make 201500000 weights, but 33554432 are the most");
    fw_plan_free(plan);
    furrow_learn_conf_free(conf);
  }
}

/* L2 of fc layers is that of all layers, unless it is set. */
static void l2_of_fc_layers(void **state) {
  (void)state;
  static const struct {
    const char *settings;
    double input, fc;
  } cases[] = {{"l2=0.5", 0.5, 0.5}, {"l2=0.5 fc-l2=0.25", 0.5, 0.25}, {"fc-l2=0.125", 0, 0.125}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    furrow_learn_conf *conf = conf_new();
    assert_int_equal(furrow_learn_conf_set_algorithm(conf, "dnn", &err), FURROW_OK);
    conf_set_all(conf, cases[i].settings);
    fw_plan *plan = conf_plan(conf);
    for (size_t k = 0; k + 1 < plan->graph.count; k++)
      assert_true(plan->graph.layers[k].optimizer.l2 == (k == 0 ? cases[i].input : cases[i].fc));
    fw_plan_free(plan);
    expect_same_again(conf);
    furrow_learn_conf_free(conf);
  }
}

/* A graph.json beside Angel's matrices; in the full set one that came from a cluster. */
static void graph_of_a_model(void **state) {
  (void)state;
  char model[TEST_PATH], path[TEST_PATH];
  furrow_learn_conf *conf = conf_new();
  conf_load(conf, test_path(path, golden_lr(model), "graph.json"));
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, "input:1 simplelosslayer(0)1");
  assert_int_equal(plan->data.range, 123);
  assert_int_equal(plan->train.epochs, 10);
  assert_int_equal(plan->graph.layers[0].optimizer.type, FW_OPTIMIZER_ADAM);
  assert_true(plan->graph.layers[0].optimizer.l2 == 0.01);
  fw_plan_free(plan);
  expect_same_again(conf);
  furrow_learn_conf_free(conf);
}

static void ffm_again(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_builtin("ffm", "fields=5 rank=3 format=libffm range=9");
  expect_same_again(conf);
  furrow_learn_conf_free(conf);
}

/* Layers as an object by name (mlcore), in any order, and an fc layer with one width. */
static void layers_by_name(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  conf_read(conf, "{\"default_transfunc\":\"tanh\",\"default_lossfunc\":{\"type\":\"huber\",\"delta\":3},"
                  "\"layers\":{\"out\":{\"type\":\"SimpleLossLayer\",\"inputlayer\":\"fc\"},"
                  "\"fc\":{\"type\":\"FCLayer\",\"outputdim\":1,\"transfunc\":\"identity\",\"inputlayer\":\"in\"},"
                  "\"in\":{\"name\":\"in\",\"type\":\"SimpleInputLayer\",\"outputdim\":3}}}");
  fw_plan *plan = conf_plan(conf);
  expect_graph(plan, "in:3 fc(0)1 out(1)1");
  assert_int_equal(plan->graph.layers[0].activation, FW_ACTIVATION_TANH);
  assert_int_equal(plan->graph.loss, FW_LOSS_HUBER);
  assert_true(plan->graph.layers[2].delta == 3);
  fw_plan_free(plan);
  conf_set(conf, "huber-delta", "2");
  plan = conf_plan(conf);
  assert_true(plan->graph.layers[2].delta == 2);
  fw_plan_free(plan);
  furrow_learn_conf_free(conf);
}

/* The loss of dnn has to fit its last layer: that of the key `fc` has no activation, that of a file may be too narrow.
 */
static void losses_that_do_not_fit(void **state) {
  (void)state;
  conf_expect_misfit("ffm", "loss=SoftmaxLoss", "ffm separates two classes or predicts numbers: it has no SoftmaxLoss");
  conf_expect_misfit("nfm", "loss=CrossEntropyLoss",
                     "simpleLossLayer/inputlayer is sumPooling, whose output is not a probability, which "
                     "CrossEntropyLoss takes: sigmoid or softmax makes one; LogLoss takes any number");
  conf_expect_misfit("lr", "loss=l2", "loss is not for lr");
  conf_expect_misfit("dnn", "loss=CrossEntropyLoss range=9",
                     "simpleLossLayer/inputlayer is fclayer, whose output is not a probability, which CrossEntropyLoss "
                     "takes: sigmoid or softmax makes one; LogLoss takes any number");
  furrow_learn_conf *conf = conf_builtin("dnn", "loss=CrossEntropyLoss range=9");
  conf_read(conf, "{\"layers\": [{\"name\": \"in\", \"type\": \"simpleinputlayer\", \"outputdim\": 2, "
                  "\"transfunc\": \"relu\"}, {\"name\": \"fc\", \"type\": \"fclayer\", \"outputdims\": [3, 1], "
                  "\"transfuncs\": [\"relu\", \"sigmoid\"], \"inputlayer\": \"in\"}, {\"name\": \"loss\", "
                  "\"type\": \"simplelosslayer\", \"inputlayer\": \"fc\"}]}");
  assert_int_equal(furrow_learn_conf_set_algorithm(conf, "dnn", &err), FURROW_OK);
  assert_int_equal(furrow_learn_conf_check(conf, &err), FURROW_OK);
  conf_set(conf, "loss", "SoftmaxLoss");
  assert_int_equal(furrow_learn_conf_check(conf, &err), FURROW_E_ARGUMENT);
  assert_string_equal(err.message,
                      "simpleLossLayer/inputlayer has 1 outputs (fc), but SoftmaxLoss takes one for each class, 2 at "
                      "least");
  furrow_learn_conf_free(conf);
}

/* What Angel's JSON cannot say goes with it all the same. */
static void nothing_is_lost(void **state) {
  (void)state;
  furrow_learn_conf *conf =
      conf_builtin("robust", "index-base=auto label=posneg label-threshold=0.5 has-label=no seed=77 "
                             "decay-intervals=5 decay-on-batch=yes init-input=0.1 init-embedding=0.2 "
                             "init-fc=0.3 l1=0.125 l2=0.25 robust-delta=0.75 updates=3 lr=0.0001");
  char *text = conf_describe(conf, FURROW_DESCRIBE_ANGEL);
  furrow_learn_conf *again = conf_new();
  conf_read(again, text);
  furrow_free(text);
  fw_plan *plan = conf_plan(again);
  assert_int_equal(plan->data.index_base, -1);
  assert_int_equal(plan->data.label, FW_LABEL_POS_NEG);
  assert_true(plan->data.threshold == 0.5 && !plan->data.has_label);
  assert_true(plan->train.seed == 77 && plan->train.decay_intervals == 5 && plan->train.decay_on_batch);
  assert_true(plan->train.init_input == 0.1 && plan->train.init_embedding == 0.2 && plan->train.init_fc == 0.3);
  assert_true(plan->train.batch == 0 && plan->train.updates == 3 && plan->train.lr == 0.0001);
  assert_true(plan->graph.layers[0].optimizer.l1 == 0.125 && plan->graph.layers[0].optimizer.l2 == 0.25);
  assert_true(plan->graph.layers[1].delta == 0.75);
  fw_plan_free(plan);
  furrow_learn_conf_free(again);
  furrow_learn_conf_free(conf);
}

static void copies(void **state) {
  (void)state;
  char path[TEST_PATH];
  furrow_learn_conf *conf = conf_new(), *copy = NULL;
  conf_load(conf, conf_sample(path, "nfm"));
  conf_set(conf, "epochs", "77");
  char *text = conf_describe(conf, FURROW_DESCRIBE_JSON);
  assert_int_equal(fw_learn_conf_copy(&copy, conf, &err), FURROW_OK);
  furrow_learn_conf_free(conf);
  char *text_of_copy = conf_describe(copy, FURROW_DESCRIBE_JSON);
  assert_string_equal(text, text_of_copy);
  furrow_free(text);
  furrow_free(text_of_copy);
  furrow_learn_conf_free(copy);
  furrow_learn_conf_free(NULL);
}

static void files_that_are_none(void **state) {
  (void)state;
  furrow_learn_conf *conf = conf_new();
  assert_int_equal(furrow_learn_conf_load(conf, "/nowhere/graph.json", &err), FURROW_E_NOT_FOUND);
  assert_int_equal(furrow_learn_conf_load(conf, "/", &err), FURROW_E_FORMAT);
  furrow_learn_conf_free(conf);
}

/* ---- Memory ---- */

static furrow_status use_all(const char *path) {
  furrow_learn_conf *conf = NULL, *copy = NULL;
  furrow_error error = {0};
  furrow_status status = furrow_learn_conf_create(&conf, &error);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "epochs", "5", &error);
  if (status == FURROW_OK) status = furrow_learn_conf_load(conf, path, &error);
  if (status == FURROW_OK) status = fw_learn_conf_copy(&copy, conf, &error);
  for (int kind = 0; status == FURROW_OK && kind < 2 * (FURROW_DESCRIBE_ANGEL + 1); kind++) {
    char *text = NULL;
    size_t size = 0;
    if (kind == FURROW_DESCRIBE_ANGEL + 1) status = furrow_learn_conf_set(copy, "algorithm", "deepfm", &error);
    if (status == FURROW_OK)
      status = furrow_learn_conf_describe(copy, kind % (FURROW_DESCRIBE_ANGEL + 1), 0, &text, &size, &error);
    furrow_free(text);
  }
  furrow_learn_conf_free(copy);
  furrow_learn_conf_free(conf);
  assert_int_equal(error.status, status);
  return status;
}

static void memory_runs_out(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  char path[TEST_PATH];
  conf_sample(path, "deepfm");
  const long live = alloc_live;
  for (long n = 1; n < 100000; n++) {
    alloc_fail_at(n);
    const furrow_status status = use_all(path);
    const bool failed = alloc_failed;
    alloc_fail_at(0);
    assert_int_equal(alloc_live, live);
    if (!failed) {
      assert_int_equal(status, FURROW_OK);
      assert_true(n > 20);
      return;
    }
    assert_int_equal(status, FURROW_E_MEMORY);
  }
  fail_msg("it never comes to an end");
}

/* Numbers of a file alone do not make the reader allocate. */
static void large_numbers(void **state) {
  (void)state;
  if (!FAILING_ALLOC) skip();
  furrow_learn_conf *conf = conf_builtin("deepfm", "fields=4000000000 rank=65536 range=2147483647 fc=16777216");
  alloc_watch();
  assert_int_equal(furrow_learn_conf_check(conf, &err), FURROW_E_ARGUMENT);
  conf_set_all(conf, "fields=2 rank=2 model-type=T_FLOAT_SPARSE_LONGKEY range=9223372036854774784 fc=5");
  char *text = conf_describe(conf, FURROW_DESCRIBE_TEXT);
  assert_non_null(strstr(text, "parameters  ?"));
  furrow_free(text);
  assert_true(alloc_peak < 1 << 20);
  furrow_learn_conf_free(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builtin_graphs),
      cmocka_unit_test(builtin_losses),
      cmocka_unit_test(losses_by_key),
      cmocka_unit_test(ffm_again),
      cmocka_unit_test(slots),
      cmocka_unit_test(hidden_layers),
      cmocka_unit_test(misfits),
      cmocka_unit_test(refused_keys),
      cmocka_unit_test(refused_files),
      cmocka_unit_test(ignored_keys),
      cmocka_unit_test(translated_keys),
      cmocka_unit_test(published_members),
      cmocka_unit_test(file_by_key),
      cmocka_unit_test(all_keys),
      cmocka_unit_test(defaults),
      cmocka_unit_test(keys_win),
      cmocka_unit_test(optimizers),
      cmocka_unit_test(batches),
      cmocka_unit_test(graph_wins),
      cmocka_unit_test(shapes_from_json),
      cmocka_unit_test(defaults_from_json),
      cmocka_unit_test(widths_from_json),
      cmocka_unit_test(recommended_rates),
      cmocka_unit_test(layers_that_are_too_wide),
      cmocka_unit_test(runners),
      cmocka_unit_test(sample_files),
      cmocka_unit_test(l2_of_fc_layers),
      cmocka_unit_test(products_of_many_fields),
      GOLDEN_TEST_IN_DIR(graph_of_a_model),
      cmocka_unit_test(layers_by_name),
      cmocka_unit_test(losses_that_do_not_fit),
      cmocka_unit_test(nothing_is_lost),
      cmocka_unit_test(copies),
      cmocka_unit_test(files_that_are_none),
      cmocka_unit_test(memory_runs_out),
      cmocka_unit_test(large_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
