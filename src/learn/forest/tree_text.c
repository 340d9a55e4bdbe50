/* learn/forest/tree_text.c: trees as text for people, as JSON, for graphviz, and as pictures. */
#include "learn/forest/forest.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "learn/describe/describe.h"

/* The name of a feature, or "feature N". `escape` writes each byte that means something else there. */
typedef void (*escape_byte)(fw_buffer *out, char byte);
static void put_feature(fw_buffer *out, const fw_forest *forest, int32_t feature, escape_byte escape) {
  if ((size_t)feature >= forest->name_count || !forest->names[feature][0]) {
    fw_buffer_format(out, "feature %d", feature);
    return;
  }
  for (const char *at = forest->names[feature]; *at; at++) escape(out, (unsigned char)*at < ' ' ? ' ' : *at);
}

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
  put_feature(out, forest, about.feature, fw_buffer_byte);
  fw_buffer_format(out, " <= %.9g (absent: %s", about.value, about.absent_left ? "yes" : "no");
  put_sums(out, &about, ", ");
  fw_buffer_text(out, ")\n");
  put_below(out, forest, tree, 2 * node + 1, level + 1);
  put_below(out, forest, tree, 2 * node + 2, level + 1);
}

static void put_title(fw_buffer *out, const fw_forest *forest, size_t tree) {
  const size_t leaves = fw_tree_leaves(forest, tree);
  fw_buffer_format(out, "tree %zu", tree);
  if (forest->classes > 1) fw_buffer_format(out, " of class %zu", tree % forest->classes);
  fw_buffer_format(out, ": %zu %s, depth %u", leaves, fw_plural(leaves, "leaf", "leaves"),
                   fw_forest_depth(forest, tree));
}

void fw_trees_text(fw_buffer *out, const fw_forest *forest, size_t first, size_t end) {
  for (size_t tree = first; tree < end; tree++) {
    if (tree > first) fw_buffer_byte(out, '\n');
    put_title(out, forest, tree);
    fw_buffer_byte(out, '\n');
    put_below(out, forest, tree, 0, 1);
  }
}

/* ---- JSON ---- */

static void put_json_node(fw_json_out *json, const fw_forest *forest, size_t node, const furrow_tree_node *about) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_put_count(json, "node", node);
  if (about->is_leaf) {
    fw_json_put_real(json, "predict", about->predict);
  } else {
    fw_json_put_count(json, "feature", (uint64_t)about->feature);
    if ((size_t)about->feature < forest->name_count) fw_json_out_member(json, "name", forest->names[about->feature]);
    fw_json_put_real(json, "value", about->value);
    fw_json_put_count(json, "yes", 2 * node + 1);
    fw_json_put_count(json, "no", 2 * node + 2);
    fw_json_put_count(json, "absent", 2 * node + (about->absent_left ? 1 : 2));
    if (!isnan(about->gain)) fw_json_put_real(json, "gain", about->gain);
  }
  if (!isnan(about->cover)) fw_json_put_real(json, "cover", about->cover);
  fw_json_out_close(json);
}

static void put_json_tree(fw_json_out *json, const fw_forest *forest, size_t tree) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_put_count(json, "tree", tree);
  fw_json_put_count(json, "class", tree % forest->classes);
  fw_json_put_count(json, "leaves", fw_tree_leaves(forest, tree));
  fw_json_put_count(json, "depth", fw_forest_depth(forest, tree));
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

static void put_dot_node(fw_buffer *out, const fw_forest *forest, size_t tree, size_t node,
                         const furrow_tree_node *about) {
  fw_buffer_format(out, "  t%zun%zu [label=\"", tree, node);
  if (about->is_leaf) {
    fw_buffer_format(out, "%.6g", about->predict);
  } else {
    put_feature(out, forest, about->feature, fw_buffer_dot);
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

/* ---- Pictures ---- */

/* Draws a tree from its root at the left to its leaves at the right, for light and dark pages. The edge of a yes goes
 * up, the edge of a no goes down. */
enum {
  MARGIN = 24,
  HEAD = 62, /* title */
  LEAST_WIDTH = 640,
  BOX_WIDTH = 180,
  BOX_TEXT = 24, /* characters that fit a box; longer text is compressed */
  BOX_HEIGHT = 40,
  LEAF_WIDTH = 116,
  LEAF_HEIGHT = 26,
  GAP = 96, /* between boxes of two levels: the edges and their words */
  LEAF_STEP = 34
};

typedef struct drawing {
  fw_buffer *out;
  const fw_forest *forest;
  size_t tree;
  double strongest; /* largest |predict| of its leaves */
  size_t leaves;    /* leaves that have a place so far */
} drawing;

/* Fill and line of each kind of box; leaves are blue below 0 and orange above, the stronger the further from 0. */
static void put_style(fw_buffer *out) {
  fw_buffer_text(out, "<style>\n"
                      "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#1f2933}\n"
                      ".page{fill:#ffffff}.title{font-size:16px;font-weight:600}.note{font-size:12px;fill:#5b6770}\n"
                      ".ask{font-size:12px;font-weight:600}.more{font-size:10.5px;fill:#5b6770}.say{font-size:12px}\n"
                      ".way{font-size:10.5px;fill:#5b6770}.absent{fill:#1f2933;font-weight:600}\n"
                      ".edge{fill:none;stroke:#9aa5b1;stroke-width:1.3}.taken{stroke:#52606d;stroke-width:2.2}\n"
                      "rect{stroke-width:1.3}.split{fill:#f1f4f6;stroke:#8894a0}\n"
                      ".low{fill:#2f7fc1;stroke:#2f7fc1}.high{fill:#e08a1e;stroke:#c97610}\n"
                      "@media (prefers-color-scheme:dark){\n"
                      "text{fill:#e4e9ee}.page{fill:#14191f}.note,.more,.way{fill:#a3afba}.absent{fill:#e4e9ee}\n"
                      ".edge{stroke:#5d6a76}.taken{stroke:#a3afba}.split{fill:#20272e;stroke:#7b8894}\n"
                      ".low{fill:#3f93dc;stroke:#6db3ef}.high{fill:#d9821a;stroke:#eba64f}\n"
                      "}\n</style>\n");
}

static double left_of(unsigned level) {
  return MARGIN + (double)level * (BOX_WIDTH + GAP);
}

static void put_text(const drawing *d, const char *class_name, const char *anchor, double x, double y) {
  fw_buffer_format(d->out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class_name, anchor, x, y);
}

static void draw_leaf(const drawing *d, const furrow_tree_node *node, double x, double y) {
  const double strength = d->strongest > 0 ? fabs(node->predict) / d->strongest : 0;
  fw_buffer_format(d->out,
                   "<g><rect class=\"%s\" fill-opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
                   "rx=\"13\"/>",
                   node->predict < 0 ? "low" : "high", 0.06 + 0.6 * strength, x, y - LEAF_HEIGHT / 2.0, LEAF_WIDTH,
                   LEAF_HEIGHT);
  put_text(d, "say", "middle", x + LEAF_WIDTH / 2.0, y + 4.5);
  fw_buffer_format(d->out, "%.5g</text>", node->predict);
  if (!isnan(node->cover)) {
    put_text(d, "more", "start", x + LEAF_WIDTH + 6, y + 4);
    fw_buffer_format(d->out, "cover %.4g</text>", node->cover);
  }
  fw_buffer_text(d->out, "</g>\n");
}

static void draw_split(const drawing *d, const furrow_tree_node *node, double x, double y) {
  const bool sums = !isnan(node->gain);
  fw_buffer_format(d->out, "<g><rect class=\"split\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"6\"/>", x,
                   y - BOX_HEIGHT / 2.0, BOX_WIDTH, BOX_HEIGHT);
  fw_buffer_format(d->out, "<text class=\"ask\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\"", x + BOX_WIDTH / 2.0,
                   y + (sums ? -2 : 4.5));
  const bool named = (size_t)node->feature < d->forest->name_count;
  const int name =
      named ? (int)strlen(d->forest->names[node->feature]) : snprintf(NULL, 0, "feature %d", node->feature);
  if (name + snprintf(NULL, 0, " < %.5g", node->value) > BOX_TEXT)
    fw_buffer_format(d->out, " textLength=\"%d\" lengthAdjust=\"spacingAndGlyphs\"", BOX_WIDTH - 12);
  fw_buffer_text(d->out, ">");
  put_feature(d->out, d->forest, node->feature, fw_buffer_xml);
  fw_buffer_format(d->out, " ≤ %.5g</text>", node->value);
  if (sums) {
    put_text(d, "more", "middle", x + BOX_WIDTH / 2.0, y + 13);
    fw_buffer_format(d->out, "gain %.4g · cover %.4g</text>", node->gain, node->cover);
  }
  fw_buffer_text(d->out, "</g>\n");
}

/* From the right side of a box to the left side of its child, with the answer at its end. */
static void draw_edge(const drawing *d, unsigned level, double y, double child_y, bool yes, bool absent) {
  const double from = left_of(level) + BOX_WIDTH, to = left_of(level + 1), middle = from + GAP * 0.32;
  fw_buffer_format(d->out, "<path class=\"edge%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fH%.1f\"/>",
                   absent ? " taken" : "", from, y, middle, y, from + 6, child_y, middle + 14, child_y, to);
  put_text(d, absent ? "way absent" : "way", "end", to - 6, child_y + (yes ? -5 : 13));
  fw_buffer_format(d->out, "%s%s</text>\n", yes ? "yes" : "no", absent ? ", absent" : "");
}

/* Draws what is below a node and the node itself; returns its height on the page. A leaf takes the next place. */
static double draw_below(drawing *d, size_t node, unsigned level) {
  furrow_tree_node about;
  fw_forest_node(d->forest, d->tree, node, &about);
  if (about.is_leaf) {
    const double y = HEAD + LEAF_STEP * ((double)d->leaves++ + 0.5);
    draw_leaf(d, &about, left_of(level), y);
    return y;
  }
  const double above = draw_below(d, 2 * node + 1, level + 1), below = draw_below(d, 2 * node + 2, level + 1);
  const double y = (above + below) / 2;
  draw_edge(d, level, y, above, true, about.absent_left);
  draw_edge(d, level, y, below, false, !about.absent_left);
  draw_split(d, &about, left_of(level), y);
  return y;
}

static double strongest_leaf(const fw_forest *forest, size_t tree) {
  double most = 0;
  for (size_t node = 0; node < forest->nodes; node++) {
    furrow_tree_node about;
    fw_forest_node(forest, tree, node, &about);
    if (about.exists && about.is_leaf) most = fmax(most, fabs(about.predict));
  }
  return most;
}

void fw_tree_svg(fw_buffer *out, const fw_forest *forest, size_t tree) {
  drawing d = {.out = out, .forest = forest, .tree = tree, .strongest = strongest_leaf(forest, tree)};
  const size_t leaves = fw_tree_leaves(forest, tree);
  const unsigned depth = fw_forest_depth(forest, tree);
  const double used = left_of(depth) + LEAF_WIDTH + (forest->gain ? 84 : 0) + MARGIN;
  const double width = used < LEAST_WIDTH ? LEAST_WIDTH : used;
  const double height = HEAD + LEAF_STEP * (double)(leaves < 2 ? 2 : leaves) + MARGIN;
  fw_buffer_format(
      out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n",
      width, height, width, height);
  put_style(out);
  fw_buffer_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
  fw_buffer_format(out, "<text class=\"title\" x=\"%d\" y=\"28\">", MARGIN);
  put_title(out, forest, tree);
  fw_buffer_format(
      out,
      "</text>\n<text class=\"note\" x=\"%d\" y=\"48\">leaves: blue below 0, orange above; bold ways: rows "
      "without the feature</text>\n",
      MARGIN);
  draw_below(&d, 0, 0);
  fw_buffer_text(out, "</svg>\n");
}
