/* learn/forest/tree_text.c: trees as text for people, as JSON, and for graphviz. */
#include <math.h>

#include "base/json_out.h"
#include "learn/forest/forest_trees.h"

/* ---- Text ---- */

/* Statistics of a node from training, after a comma; nothing where the model does not have them. */
static void put_sums(fw_buffer *out, const furrow_tree_node *node, const char *before) {
  if (isnan(node->cover)) return;
  fw_buffer_text(out, before);
  if (!node->is_leaf) fw_buffer_format(out, "gain %.6g, ", node->gain);
  fw_buffer_format(out, "cover %.6g", node->cover);
}

/* Nodes in the order in which they are read: a node, what is below its left child, what is below its right one. */
static void put_below(fw_buffer *out, const fw_forest *forest, size_t tree, size_t node, unsigned level) {
  furrow_tree_node about;
  fw_forest_node(forest, tree, node, &about);
  for (unsigned i = 0; i < level; i++) fw_buffer_text(out, "  ");
  if (node > 0) fw_buffer_text(out, node % 2 == 1 ? "yes: " : "no: ");
  if (about.is_leaf) {
    fw_buffer_format(out, "leaf %.6g", about.predict);
    put_sums(out, &about, " (");
    fw_buffer_text(out, isnan(about.cover) ? "\n" : ")\n");
    return;
  }
  fw_buffer_feature(out, forest, about.feature, NULL);
  fw_buffer_format(out, " <= %.9g (absent: %s", about.value, about.absent_left ? "yes" : "no");
  put_sums(out, &about, ", ");
  fw_buffer_text(out, ")\n");
  put_below(out, forest, tree, 2 * node + 1, level + 1);
  put_below(out, forest, tree, 2 * node + 2, level + 1);
}

static void put_count(fw_buffer *out, size_t count, const char *one, const char *many) {
  fw_buffer_format(out, "%zu %s", count, count == 1 ? one : many);
}

static void put_title(fw_buffer *out, const fw_forest *forest, size_t tree) {
  fw_buffer_format(out, "tree %zu", tree);
  if (forest->classes > 1) fw_buffer_format(out, " of class %zu", tree % forest->classes);
  fw_buffer_text(out, ": ");
  put_count(out, fw_tree_leaves(forest, tree), "leaf", "leaves");
  fw_buffer_format(out, ", depth %u\n", fw_forest_depth(forest, tree));
}

void fw_trees_text(fw_buffer *out, const fw_forest *forest, size_t first, size_t end) {
  for (size_t tree = first; tree < end; tree++) {
    if (tree > first) fw_buffer_byte(out, '\n');
    put_title(out, forest, tree);
    put_below(out, forest, tree, 0, 1);
  }
}

/* ---- JSON ---- */

static void put_integer(fw_json_out *json, const char *key, uint64_t number) {
  fw_json_out_key(json, key);
  fw_json_out_unsigned(json, number);
}

static void put_real(fw_json_out *json, const char *key, double number) {
  fw_json_out_key(json, key);
  fw_json_out_real(json, number);
}

static void put_json_node(fw_json_out *json, const fw_forest *forest, size_t node, const furrow_tree_node *about) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  put_integer(json, "node", node);
  if (about->is_leaf) {
    put_real(json, "predict", about->predict);
  } else {
    put_integer(json, "feature", (uint64_t)about->feature);
    if ((size_t)about->feature < forest->name_count) fw_json_out_member(json, "name", forest->names[about->feature]);
    put_real(json, "value", about->value);
    put_integer(json, "yes", 2 * node + 1);
    put_integer(json, "no", 2 * node + 2);
    put_integer(json, "absent", 2 * node + (about->absent_left ? 1 : 2));
    if (!isnan(about->gain)) put_real(json, "gain", about->gain);
  }
  if (!isnan(about->cover)) put_real(json, "cover", about->cover);
  fw_json_out_close(json);
}

static void put_json_tree(fw_json_out *json, const fw_forest *forest, size_t tree) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  put_integer(json, "tree", tree);
  put_integer(json, "class", tree % forest->classes);
  put_integer(json, "leaves", fw_tree_leaves(forest, tree));
  put_integer(json, "depth", fw_forest_depth(forest, tree));
  fw_json_out_key(json, "nodes");
  fw_json_out_open_array(json);
  for (size_t node = 0; node < forest->nodes; node++) {
    furrow_tree_node about;
    fw_forest_node(forest, tree, node, &about);
    if (about.exists) put_json_node(json, forest, node, &about);
  }
  fw_json_out_close_array(json);
  fw_json_out_close(json);
}

void fw_trees_json(fw_buffer *out, const fw_forest *forest, size_t first, size_t end) {
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  fw_json_out_key(&json, "trees");
  fw_json_out_open_array(&json);
  for (size_t tree = first; tree < end; tree++) put_json_tree(&json, forest, tree);
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
  fw_buffer_byte(out, '\n');
}

/* ---- Graphviz ---- */

static void put_dot_edge(fw_buffer *out, size_t tree, size_t node, size_t child, const char *answer, bool absent) {
  fw_buffer_format(out, "  t%zun%zu -> t%zun%zu [label=\"%s%s\"];\n", tree, node, tree, child, answer,
                   absent ? ", absent" : "");
}

static void escape_dot(fw_buffer *out, char byte) {
  if (byte == '"' || byte == '\\') fw_buffer_byte(out, '\\');
  fw_buffer_byte(out, byte);
}

static void put_dot_node(fw_buffer *out, const fw_forest *forest, size_t tree, size_t node,
                         const furrow_tree_node *about) {
  fw_buffer_format(out, "  t%zun%zu [label=\"", tree, node);
  if (about->is_leaf) {
    fw_buffer_format(out, "%.6g", about->predict);
  } else {
    fw_buffer_feature(out, forest, about->feature, escape_dot);
    fw_buffer_format(out, " <= %.6g", about->value);
  }
  put_sums(out, about, "\\n");
  fw_buffer_text(out, about->is_leaf ? "\", shape=oval];\n" : "\"];\n");
  if (about->is_leaf) return;
  put_dot_edge(out, tree, node, 2 * node + 1, "yes", about->absent_left);
  put_dot_edge(out, tree, node, 2 * node + 2, "no", !about->absent_left);
}

void fw_trees_dot(fw_buffer *out, const fw_forest *forest, size_t first, size_t end) {
  fw_buffer_text(out, "digraph trees {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                      "  edge [fontname=\"sans-serif\", fontsize=10];\n");
  for (size_t tree = first; tree < end; tree++) {
    for (size_t node = 0; node < forest->nodes; node++) {
      furrow_tree_node about;
      fw_forest_node(forest, tree, node, &about);
      if (about.exists) put_dot_node(out, forest, tree, node, &about);
    }
  }
  fw_buffer_text(out, "}\n");
}
