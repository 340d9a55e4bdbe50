/* bench/bench_net.c: what an update of a net costs: microseconds of processor time of a row in each of its phases.
 *
 *   bench_net [lr|fm|nfm|deepfm|pnn] [sgd|adagrad|adam|ftrl] [array|table] [rows of a batch] [seconds]
 *
 * Rows have 39 features of value 1 out of a million, one of each field, drawn by a power law. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench_clock.h"
#include "core/splitmix.h"
#include "learn/net/net.h"

enum { FIELDS = 39, FEATURES = 1000000, FACTORS = 8, BATCHES = 32, LAYERS = 12, ROWS_OF_A_TASK = 64 };

static void check(furrow_status status, const furrow_error *err) {
  if (status == FURROW_OK) return;
  fprintf(stderr, "bench_net: %s\n", err->message);
  exit(1);
}

/* ---- Graphs ---- */

typedef struct graph {
  fw_plan plan;
  fw_layer layers[LAYERS];
  size_t inputs[LAYERS][3];
} graph;

static size_t add(graph *g, fw_layer_type type, const char *name, size_t width, size_t first) {
  const size_t index = g->plan.graph.count++;
  g->layers[index] = (fw_layer){.name = name, .type = type, .width = width, .inputs = g->inputs[index]};
  g->layers[index].factors = FACTORS;
  if (type == FW_LAYER_INPUT || type == FW_LAYER_EMBEDDING) return index;
  g->layers[index].input_count = 1;
  g->inputs[index][0] = first;
  g->layers[index].in_width = g->layers[first].width;
  return index;
}

static size_t add_deep(graph *g, size_t from) {
  const size_t dims[] = {200, 100, 1};
  for (size_t i = 0; i < 3; i++) {
    from = add(g, FW_LAYER_FC, "fc", dims[i], from);
    g->layers[from].activation = i < 2 ? FW_ACTIVATION_RELU : FW_ACTIVATION_IDENTITY;
  }
  return from;
}

static void join(graph *g, size_t layer, size_t input) {
  g->inputs[layer][g->layers[layer].input_count++] = input;
}

static size_t build_deep(graph *g, const char *algorithm, size_t embedding) {
  if (strcmp(algorithm, "nfm") == 0) return add_deep(g, add(g, FW_LAYER_BI_INTERACTION, "cross", FACTORS, embedding));
  if (strcmp(algorithm, "deepfm") == 0) return add_deep(g, embedding);
  const size_t cross = add(g, FW_LAYER_BI_INNER, "cross", FIELDS * (FIELDS - 1) / 2, embedding);
  const size_t both = add(g, FW_LAYER_CONCAT, "both", FIELDS * FACTORS + FIELDS * (FIELDS - 1) / 2, embedding);
  join(g, both, cross);
  return add_deep(g, both);
}

static void build(graph *g, const char *algorithm, const fw_optimizer *optimizer, bool table) {
  memset(g, 0, sizeof *g);
  g->plan.data.format = "dummy";
  g->plan.data.has_label = true;
  g->plan.data.range = table ? -1 : FEATURES;
  g->plan.model.row_type = 7; /* T_FLOAT_DENSE */
  g->plan.train.lr = 0.05;
  g->plan.train.init_embedding = 0.01;
  g->plan.graph.layers = g->layers;
  g->plan.graph.outputs = 1;
  size_t last = add(g, FW_LAYER_INPUT, "input", 1, 0);
  if (strcmp(algorithm, "lr") != 0) {
    const bool fixed = strcmp(algorithm, "deepfm") == 0 || strcmp(algorithm, "pnn") == 0;
    const size_t embedding = add(g, FW_LAYER_EMBEDDING, "embedding", fixed ? FIELDS * FACTORS : 0, 0);
    g->layers[embedding].slots = fixed ? FIELDS : 0;
    const bool crossed = strcmp(algorithm, "fm") == 0 || strcmp(algorithm, "deepfm") == 0;
    const size_t cross = crossed ? add(g, FW_LAYER_BI_INNER_SUM, "sum", 1, embedding) : 0;
    const size_t deep = strcmp(algorithm, "fm") == 0 ? 0 : build_deep(g, algorithm, embedding);
    const size_t pooling = add(g, FW_LAYER_SUM_POOLING, "pooling", 1, last);
    if (cross) join(g, pooling, cross);
    if (deep) join(g, pooling, deep);
    last = pooling;
  }
  add(g, FW_LAYER_LOSS, "loss", 0, last);
  for (size_t i = 0; i < g->plan.graph.count; i++) g->layers[i].optimizer = *optimizer;
}

/* ---- Rows ---- */

static void draw_row(uint64_t *rng, uint32_t *index) {
  const uint32_t each = FEATURES / FIELDS;
  for (uint32_t field = 0; field < FIELDS; field++) {
    const double u = (double)below(rng, 1U << 30) / (1U << 30);
    index[field] = field * each + (uint32_t)(each * u * u * u * u);
  }
}

typedef struct spent {
  double batch, begin, rows, update;
} spent;

/* Of this thread: others on the machine do not count. */
static double thread_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double lap(double *from) {
  const double now = thread_seconds(), passed = now - *from;
  *from = now;
  return passed;
}

static void one_batch(fw_net *net, fw_pass *pass, fw_batcher *batcher, const uint32_t *index, size_t rows,
                      uint64_t number, spent *all, double *loss) {
  static const float labels[] = {-1, 1};
  furrow_error err = {0};
  fw_minibatch *batch = NULL;
  const fw_step step = {.number = number, .rate = 0.05, .scale = 1};
  double at = thread_seconds();
  fw_batcher_start(batcher);
  for (size_t i = 0; i < rows; i++) {
    furrow_row row = {.length = FIELDS, .key_type = FURROW_KEY_U32, .value_type = FURROW_VALUE_F32};
    row.label.f32 = &labels[index[i * FIELDS] % 3 == 0];
    row.index.u32 = index + i * FIELDS;
    check(fw_batcher_add(batcher, &row, &err), &err);
  }
  check(fw_batcher_finish(batcher, &batch, &err), &err);
  all->batch += lap(&at);
  check(net->ops->begin(net, pass, batch, true, &err), &err);
  all->begin += lap(&at);
  for (size_t row = 0; row < rows; row += ROWS_OF_A_TASK) {
    double part = 0;
    net->ops->train(net, pass, &step, row, rows - row < ROWS_OF_A_TASK ? rows : row + ROWS_OF_A_TASK, &part);
    *loss += part;
  }
  all->rows += lap(&at);
  const size_t tasks = net->ops->update_tasks(net, pass);
  for (size_t task = 0; task < tasks; task++) net->ops->update(net, pass, &step, task);
  all->update += lap(&at);
}

static fw_optimizer optimizer_named(const char *name) {
  fw_optimizer o = {.type = FW_OPTIMIZER_SGD, .lr = NAN, .a = 0.9, .b = 0.99};
  if (strcmp(name, "adagrad") == 0) o.type = FW_OPTIMIZER_ADAGRAD;
  if (strcmp(name, "adam") == 0) o.type = FW_OPTIMIZER_ADAM;
  if (strcmp(name, "ftrl") == 0) o = (fw_optimizer){.type = FW_OPTIMIZER_FTRL, .lr = NAN, .a = 0.1, .b = 1};
  return o;
}

int main(int argc, char **argv) {
  const char *algorithm = argc > 1 ? argv[1] : "fm";
  const fw_optimizer optimizer = optimizer_named(argc > 2 ? argv[2] : "adagrad");
  const bool table = argc > 3 && strcmp(argv[3], "table") == 0;
  const size_t rows = argc > 4 ? strtoul(argv[4], NULL, 10) : 1024;
  const double seconds = argc > 5 ? strtod(argv[5], NULL) : 3;
  static graph g;
  build(&g, algorithm, &optimizer, table);
  furrow_error err = {0};
  fw_net *net = NULL;
  fw_pass *pass = NULL;
  fw_batcher *batcher = NULL;
  const fw_parameters_params params = {.training = true, .seed = 1};
  const double start = thread_seconds();
  fw_parameters *parameters = NULL;
  check(fw_parameters_create(&parameters, &g.plan, &params, &err), &err);
  check(fw_net_create(&net, parameters, &err), &err);
  const double created = thread_seconds() - start;
  check(net->ops->create_pass(&pass, net, &err), &err);
  const bool fixed = strcmp(algorithm, "deepfm") == 0 || strcmp(algorithm, "pnn") == 0;
  const fw_batcher_params rules = {.range = FEATURES, .slots = fixed ? FIELDS : 0, .data = &g.plan.data};
  check(fw_batcher_create(&batcher, &rules, &err), &err);
  uint32_t *index = NULL;
  check(fw_alloc((void **)&index, BATCHES * rows * FIELDS, sizeof *index, &err), &err);
  uint64_t rng = 42;
  for (size_t i = 0; i < BATCHES * rows; i++) draw_row(&rng, index + i * FIELDS);
  spent all = {0};
  double loss = 0;
  uint64_t number = 0;
  for (; number < BATCHES; number++)
    one_batch(net, pass, batcher, index + number % BATCHES * rows * FIELDS, rows, number + 1, &all, &loss);
  all = (spent){0};
  uint64_t done = 0;
  for (const double end = thread_seconds() + seconds; thread_seconds() < end; number++, done += rows)
    one_batch(net, pass, batcher, index + number % BATCHES * rows * FIELDS, rows, number + 1, &all, &loss);
  const double each = 1e6 / (double)done;
  printf("%s %s %s batch %zu: batch %.3f, begin %.3f, rows %.3f, update %.3f us a row; net %.3f; made in %.2f s\n",
         algorithm, fw_optimizer_name(optimizer.type), table ? "table" : "array", rows, all.batch * each,
         all.begin * each, all.rows * each, all.update * each, (all.begin + all.rows + all.update) * each, created);
  fw_free(index);
  fw_batcher_free(batcher);
  fw_pass_free(pass);
  fw_net_free(net);
  fw_parameters_free(parameters);
  return 0;
}
