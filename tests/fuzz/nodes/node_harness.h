/* tests/fuzz/nodes/node_harness.h: what a forest of nodes that was taken from hostile bytes must do: its file is read
 * as the same forest, it scores rows alike at all levels of instructions, together and one by one, and it is described
 * and explained. */
#ifndef NODE_HARNESS_H
#define NODE_HARNESS_H

#include <math.h>

#include "fuzz/harness/fuzz_check.h"
#include "fuzz/harness/isa_harness.h"
#include "learn/forest/forest.h"
#include "learn/nodes/forest_import.h"

enum { NODE_ROWS = 37, NODE_CELLS = 4 };

/* Rows with some of the features, among them values at and beside the forest's thresholds. */
typedef struct node_rows {
  uint64_t offset[NODE_ROWS + 1];
  uint32_t index[NODE_CELLS * NODE_ROWS];
  float value[NODE_CELLS * NODE_ROWS];
  furrow_rowblock block;
} node_rows;

static inline void make_node_rows(node_rows *rows, const fw_node_forest *forest) {
  static const float some[] = {0, -1, 3, 0.5F, 1e30F, 1, NAN, -0.0F, 5};
  for (size_t r = 0; r <= NODE_ROWS; r++) rows->offset[r] = NODE_CELLS * r;
  for (size_t i = 0; i < rows->offset[NODE_ROWS]; i++) {
    const fw_split_node *node = forest->nodes > 0 ? &forest->node[i * 5 % forest->nodes] : NULL;
    rows->index[i] = node && node->feature >= 0 ? (uint32_t)node->feature : (uint32_t)(i % 6);
    rows->value[i] = node && i % 3 ? (float)node->value : some[i % 9];
    if (node && i % 3 == 2) rows->value[i] = nextafterf(rows->value[i], -INFINITY);
  }
  rows->block = (furrow_rowblock){.size = NODE_ROWS,
                                  .offset = rows->offset,
                                  .index.u32 = rows->index,
                                  .value.f32 = rows->value,
                                  .key_type = FURROW_KEY_U32,
                                  .value_type = FURROW_VALUE_F32};
}

/* The score of a row by the definition: from node to node. */
static inline void score_plainly(const fw_node_forest *forest, const furrow_row *row, double *out) {
  for (size_t c = 0; c < forest->classes; c++) out[c] = forest->base[c];
  for (size_t tree = 0; tree < forest->trees; tree++) {
    const fw_split_node *nodes = forest->node + forest->begin[tree];
    size_t at = 0;
    while (nodes[at].feature >= 0) {
      float x = forest->absent_zero ? 0 : NAN;
      for (size_t i = row->length; i-- > 0;)
        if (furrow_row_get_index(row, i) == (uint64_t)nodes[at].feature) x = (float)furrow_row_get_value(row, i);
      at = fw_node_goes_left(forest, &nodes[at], x) ? at + 1 : nodes[at].right;
    }
    double *sum = &out[forest->class_of[tree]];
    *sum = forest->single ? (double)((float)*sum + (float)nodes[at].value) : *sum + nodes[at].value;
  }
  for (size_t c = 0; c < forest->classes; c++) {
    if (forest->divisor != 1) out[c] /= forest->divisor;
    if (forest->scale != 1) out[c] *= forest->scale;
  }
}

static inline bool same_scores(const double *a, const double *b, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

static inline void walk_nodes(const fw_node_forest *forest) {
  node_rows rows;
  const size_t classes = forest->classes;
  double *wanted = calloc(classes * NODE_ROWS, sizeof *wanted), *out = calloc(classes * NODE_ROWS, sizeof *out);
  check(wanted && out);
  make_node_rows(&rows, forest);
  for (size_t r = 0; r < NODE_ROWS; r++) {
    const furrow_row row = furrow_rowblock_row(&rows.block, r);
    score_plainly(forest, &row, wanted + r * classes);
  }
  for (EACH_ISA(isa)) {
    fw_node_predictor *predictor = NULL;
    fw_node_scratch *scratch = NULL;
    use_isa(isa);
    check(fw_node_predictor_create(&predictor, forest, NULL) == FURROW_OK);
    check(fw_node_scratch_create(&scratch, predictor, NULL) == FURROW_OK);
    fw_node_predict_rows(predictor, scratch, &rows.block, 0, NODE_ROWS, out);
    check(same_scores(wanted, out, classes * NODE_ROWS));
    for (size_t r = 0; r < NODE_ROWS; r++) {
      const furrow_row row = furrow_rowblock_row(&rows.block, r);
      fw_node_predict_row(predictor, scratch, &row, out);
      check(same_scores(wanted + r * classes, out, classes));
    }
    fw_node_scratch_free(scratch);
    fw_node_predictor_free(predictor);
  }
  free(wanted);
  free(out);
}

static inline void explain_nodes(const fw_node_forest *forest) {
  fw_tree_explainer *explainer = NULL;
  node_rows rows;
  size_t count = 0;
  if (fw_node_explainer_create(&explainer, forest, NULL) != FURROW_OK) return;
  make_node_rows(&rows, forest);
  (void)fw_tree_explainer_features(explainer, &count);
  double *values = calloc(count * forest->classes + 1, sizeof *values);
  check(values);
  const furrow_row row = furrow_rowblock_row(&rows.block, 1);
  fw_tree_explainer_run(explainer, &row, values);
  free(values);
  fw_tree_explainer_free(explainer);
}

static inline void use_nodes(const fw_node_forest *forest) {
  fw_buffer bytes = {0}, text = {0};
  fw_node_forest *again = NULL;
  furrow_feature_importance *list = NULL;
  size_t count = 0;
  check(fw_node_forest_check(forest, NULL) == FURROW_OK);
  fw_node_forest_write(forest, &bytes);
  check(fw_buffer_status(&bytes, NULL) == FURROW_OK);
  check(fw_node_forest_read(&again, bytes.bytes, bytes.size, NULL, NULL) == FURROW_OK);
  fw_node_forest_write(again, &text);
  check(text.size == bytes.size && memcmp(text.bytes, bytes.bytes, bytes.size) == 0);
  fw_buffer_reset(&text);
  fw_node_trees_text(&text, forest, NULL, 0, 0, forest->trees);
  fw_node_trees_json(&text, forest, NULL, 0, 0, forest->trees);
  check(fw_buffer_status(&text, NULL) == FURROW_OK);
  check(fw_node_forest_importance(forest, &list, &count, NULL) == FURROW_OK);
  furrow_free(list);
  if (forest->classes < 1000 && forest->nodes < 10000) {
    walk_nodes(forest);
    explain_nodes(forest);
  }
  fw_node_forest_free(again);
  fw_buffer_clear(&bytes);
  fw_buffer_clear(&text);
}

/* Bytes of a model file of another program. */
static inline void import_nodes(const uint8_t *data, size_t size) {
  fw_imported imported = {0};
  furrow_error err = {0};
  const furrow_status status = fw_import_bytes(&imported, data, size, &(fw_import_rules){.file = "model"}, &err);
  if (status == FURROW_OK)
    use_nodes(imported.forest);
  else
    check(err.status == status && err.message[0] && (err.offset <= size || err.offset == FURROW_NO_OFFSET));
  fw_imported_clear(&imported);
}

#endif
