/* tests/fuzz/fuzz_forest.c: forests from hostile bytes: images, and model directories.
 *
 * An input is a byte of choices and the rest. Choice 0: the rest is an image. Otherwise the rest is the text of three
 * data files with a zero byte between them (features, values, predictions), whose metadata says two trees of three
 * levels, and with the bits of the choices one that does not fit. What is taken can be walked, described and written,
 * and comes back the same. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "fuzz/harness/fuzz_check.h"
#include "fuzz/harness/isa_harness.h"
#include "learn/forest/forest.h"

enum { TREES = 2, NODES = 7, FEATURES = 9, ROWS = 37 };

/* ---- What is taken ---- */

static furrow_status append(void *to, const void *bytes, size_t size, furrow_error *err) {
  fw_buffer_append(to, bytes, size);
  return fw_buffer_status(to, err);
}

static fw_buffer snapshot_of(const fw_forest *forest) {
  fw_buffer snapshot = {0};
  check(fw_forest_snapshot_write(forest, append, &snapshot, NULL) == FURROW_OK);
  return snapshot;
}

/* Rows with some of the features, among them values of the forest's own nodes. */
typedef struct some_rows {
  uint64_t offset[ROWS + 1];
  uint32_t index[4 * ROWS];
  float value[4 * ROWS];
  furrow_rowblock block;
} some_rows;

static void make_rows(some_rows *rows, const fw_forest *forest) {
  static const uint32_t index[] = {0, 1, 1, 5, 8, 4000000000u};
  static const float value[] = {0, -1, 3, 0.5f, 1e30f, 1, NAN};
  const size_t nodes = forest->trees * forest->nodes;
  for (size_t r = 0; r <= ROWS; r++) rows->offset[r] = 3 * r + r / 2;
  for (size_t i = 0; i < rows->offset[ROWS]; i++) {
    const size_t node = nodes > 0 ? i * 5 % nodes : 0;
    const bool own = i % 3 == 2 && nodes > 0;
    rows->index[i] = own ? (uint32_t)forest->feature[node] : index[i % 6];
    rows->value[i] = own ? (float)forest->value[node] : value[i % 7];
  }
  rows->block = (furrow_rowblock){.size = ROWS,
                                  .offset = rows->offset,
                                  .index.u32 = rows->index,
                                  .value.f32 = rows->value,
                                  .key_type = FURROW_KEY_U32,
                                  .value_type = FURROW_VALUE_F32};
}

/* A leaf of each tree, whatever the trees are: the same at all levels of instructions, together and row by row. */
static void walk(const fw_forest *forest) {
  some_rows rows;
  const size_t outputs = forest->classes * ROWS;
  double *first = calloc(outputs, sizeof *first), *out = calloc(outputs, sizeof *out);
  check(first && out);
  make_rows(&rows, forest);
  for (EACH_ISA(isa)) {
    fw_forest_predictor *predictor = NULL;
    fw_predict_scratch *space = NULL;
    use_isa(isa);
    check(fw_forest_predictor_create(&predictor, forest, 0.1, NULL) == FURROW_OK);
    check(fw_predict_scratch_create(&space, predictor, NULL) == FURROW_OK);
    fw_forest_predict_rows(predictor, space, &rows.block, 0, ROWS, isa == next_isa(FW_ISA_GENERIC) ? first : out);
    if (isa != next_isa(FW_ISA_GENERIC)) check(memcmp(first, out, outputs * sizeof *out) == 0);
    for (size_t r = 0; r < ROWS; r++) {
      const furrow_row row = furrow_rowblock_row(&rows.block, r);
      fw_forest_predict_row(predictor, space, &row, out);
      check(memcmp(first + r * forest->classes, out, forest->classes * sizeof *out) == 0);
    }
    fw_predict_scratch_free(space);
    fw_forest_predictor_free(predictor);
  }
  free(first);
  free(out);
}

static void describe(const fw_forest *forest) {
  fw_buffer text = {0};
  furrow_feature_importance *list = NULL;
  size_t count = 0;
  fw_trees_text(&text, forest, 0, forest->trees);
  fw_trees_json(&text, forest, 0, forest->trees);
  fw_trees_dot(&text, forest, 0, forest->trees);
  for (size_t tree = 0; tree < forest->trees && tree < 2; tree++) fw_tree_svg(&text, forest, tree);
  check(fw_buffer_status(&text, NULL) == FURROW_OK);
  fw_buffer_clear(&text);
  check(fw_forest_importance(forest, &list, &count, NULL) == FURROW_OK);
  furrow_free(list);
}

static void use(const fw_forest *forest) {
  check(fw_forest_check(forest, 0, NULL) == FURROW_OK);
  walk(forest);
  describe(forest);
}

/* ---- Images ---- */

static void read_snapshot(const uint8_t *data, size_t size) {
  fw_forest *forest = NULL;
  furrow_error err = {0};
  const furrow_status status = fw_forest_snapshot_read(&forest, data, size, &err);
  if (status != FURROW_OK) {
    check(status == FURROW_E_FORMAT && err.offset <= size && err.message[0]);
    return;
  }
  fw_buffer snapshot = snapshot_of(forest);
  check(snapshot.size == size && memcmp(snapshot.bytes, data, size) == 0);
  fw_buffer_clear(&snapshot);
  if (forest->classes < 1000) use(forest);
  fw_forest_free(forest);
}

/* ---- Directories ---- */

static char folder[TEST_PATH];
static const char *const names[] = {"gbdt.split.feature", "gbdt.split.value", "gbdt.node.predict"};

static void make_folder(void) {
  if (folder[0]) return;
  check(mkdir(fuzz_folder(folder, "forest"), 0755) == 0);
  for (size_t i = 0; i < 3; i++) {
    char path[2 * TEST_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    check(mkdir(path, 0755) == 0);
  }
}

/* One partition of all trees and columns, of which `odd` says how the shape does not fit. */
static void write_matrix(size_t i, const uint8_t *text, size_t size, unsigned odd) {
  char path[2 * TEST_PATH];
  furrow_matrix_meta *meta = NULL;
  furrow_matrix_spec spec;
  char *bytes = NULL;
  size_t length = 0;
  furrow_matrix_spec_init(&spec);
  spec.name = names[i];
  spec.row_type = odd == 3 ? 3 : i == 0 ? 21 : 0;
  spec.rows = TREES + (odd == 1);
  spec.cols = NODES + (odd == 2);
  check(furrow_matrix_plan(&meta, &spec, NULL) == FURROW_OK);
  meta->parts[0].length = (int64_t)size;
  for (size_t r = 0; r < meta->parts[0].row_count; r++) meta->parts[0].rows[r].element_num = (int32_t)spec.cols;
  check(furrow_matrix_meta_write(meta, &bytes, &length, NULL) == FURROW_OK);
  snprintf(path, sizeof path, "%s/%s/_meta", folder, names[i]);
  check(test_write_file(path, bytes, length));
  snprintf(path, sizeof path, "%s/%s/0", folder, names[i]);
  check(test_write_file(path, text, size));
  furrow_free(bytes);
  furrow_matrix_meta_free(meta);
}

static void write_files(const uint8_t *data, size_t size, unsigned choices) {
  for (size_t i = 0; i < 3; i++) {
    const uint8_t *end = i < 2 && size > 0 ? memchr(data, 0, size) : NULL;
    const size_t part = end ? (size_t)(end - data) : size;
    write_matrix(i, data, part, choices >> 2 * i & 3);
    data += end ? part + 1 : part;
    size -= end ? part + 1 : part;
  }
}

static furrow_learn_conf *make_conf(void) {
  furrow_learn_conf *conf = NULL;
  check(furrow_learn_conf_create(&conf, NULL) == FURROW_OK);
  check(furrow_learn_conf_set_algorithm(conf, "gbdt", NULL) == FURROW_OK);
  return conf;
}

/* A model directory of the forest is read as the same forest. */
static void save_again(const fw_forest *forest, const fw_buffer *snapshot) {
  static furrow_learn_conf *conf;
  fw_plan *plan = NULL;
  fw_forest *again = NULL;
  char saved[TEST_PATH];
  if (!conf) conf = make_conf();
  check(fw_plan_of_conf(&plan, conf, NULL) == FURROW_OK);
  plan->data.range = FEATURES;
  check(fw_forest_save(forest, plan, conf, NULL, fuzz_folder(saved, "saved"), NULL, NULL) == FURROW_OK);
  check(fw_forest_load(&again, plan, saved, 1, NULL) == FURROW_OK);
  fw_buffer other = snapshot_of(again);
  check(other.size == snapshot->size && memcmp(other.bytes, snapshot->bytes, other.size) == 0);
  fw_buffer_clear(&other);
  check(test_remove_dir(saved));
  fw_forest_free(again);
  fw_plan_free(plan);
}

static void read_folder(void) {
  const fw_plan plan = {.data.range = FEATURES, .graph.outputs = 1};
  fw_forest *forest = NULL;
  furrow_error err = {0};
  const furrow_status status = fw_forest_load(&forest, &plan, folder, 1, &err);
  check((status == FURROW_OK) == (forest != NULL));
  if (status != FURROW_OK) {
    check(err.status == status && err.message[0] && err.file[0]);
    return;
  }
  check(forest->trees == TREES && forest->nodes == NODES);
  check(fw_forest_check(forest, FEATURES, NULL) == FURROW_OK);
  fw_buffer snapshot = snapshot_of(forest);
  read_snapshot((const uint8_t *)snapshot.bytes, snapshot.size);
  save_again(forest, &snapshot);
  fw_buffer_clear(&snapshot);
  fw_forest_free(forest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1) return 0;
  if (data[0] == 0) {
    read_snapshot(data + 1, size - 1);
    return 0;
  }
  make_folder();
  write_files(data + 1, size - 1, data[0] & 0x3f);
  read_folder();
  return 0;
}
