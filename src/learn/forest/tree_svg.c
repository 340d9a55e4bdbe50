/* learn/forest/tree_svg.c: a tree as a picture, from its root at the left to its leaves at the right, for light and
 * dark pages. The way of a yes goes up, that of a no goes down. */
#include <math.h>
#include <stdio.h>

#include "learn/forest/forest_trees.h"

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
  size_t leaves;    /* that have their place */
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

/* ---- Boxes ---- */

static void put_text(const drawing *d, const char *class_name, const char *anchor, double x, double y) {
  fw_buffer_format(d->out, "<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", class_name, anchor, x, y);
}

static void put_leaf(const drawing *d, const furrow_tree_node *node, double x, double y) {
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

static void escape_xml(fw_buffer *out, char byte) {
  switch (byte) {
  case '<': fw_buffer_text(out, "&lt;"); break;
  case '>': fw_buffer_text(out, "&gt;"); break;
  case '&': fw_buffer_text(out, "&amp;"); break;
  default: fw_buffer_byte(out, byte);
  }
}

static void put_split(const drawing *d, const furrow_tree_node *node, double x, double y) {
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
  fw_buffer_feature(d->out, d->forest, node->feature, escape_xml);
  fw_buffer_format(d->out, " ≤ %.5g</text>", node->value);
  if (sums) {
    put_text(d, "more", "middle", x + BOX_WIDTH / 2.0, y + 13);
    fw_buffer_format(d->out, "gain %.4g · cover %.4g</text>", node->gain, node->cover);
  }
  fw_buffer_text(d->out, "</g>\n");
}

/* From the right side of a box to the left side of its child, with the answer at its end. */
static void put_edge(const drawing *d, unsigned level, double y, double child_y, bool yes, bool absent) {
  const double from = left_of(level) + BOX_WIDTH, to = left_of(level + 1), middle = from + GAP * 0.32;
  fw_buffer_format(d->out, "<path class=\"edge%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1fH%.1f\"/>",
                   absent ? " taken" : "", from, y, middle, y, from + 6, child_y, middle + 14, child_y, to);
  put_text(d, absent ? "way absent" : "way", "end", to - 6, child_y + (yes ? -5 : 13));
  fw_buffer_format(d->out, "%s%s</text>\n", yes ? "yes" : "no", absent ? ", absent" : "");
}

/* Draws what is below a node and the node itself; returns its height on the page. A leaf takes the next place. */
static double put_below(drawing *d, size_t node, unsigned level) {
  furrow_tree_node about;
  fw_forest_node(d->forest, d->tree, node, &about);
  if (about.is_leaf) {
    const double y = HEAD + LEAF_STEP * ((double)d->leaves++ + 0.5);
    put_leaf(d, &about, left_of(level), y);
    return y;
  }
  const double above = put_below(d, 2 * node + 1, level + 1), below = put_below(d, 2 * node + 2, level + 1);
  const double y = (above + below) / 2;
  put_edge(d, level, y, above, true, about.absent_left);
  put_edge(d, level, y, below, false, !about.absent_left);
  put_split(d, &about, left_of(level), y);
  return y;
}

/* ---- The page ---- */

static double strongest_leaf(const fw_forest *forest, size_t tree) {
  double most = 0;
  for (size_t node = 0; node < forest->nodes; node++) {
    furrow_tree_node about;
    fw_forest_node(forest, tree, node, &about);
    if (about.exists && about.is_leaf) most = fmax(most, fabs(about.predict));
  }
  return most;
}

static void put_title(const drawing *d, size_t leaves, unsigned depth) {
  fw_buffer_format(d->out, "<text class=\"title\" x=\"%d\" y=\"28\">tree %zu", MARGIN, d->tree);
  if (d->forest->classes > 1) fw_buffer_format(d->out, " of class %zu", d->tree % d->forest->classes);
  fw_buffer_format(d->out, ": %zu %s, depth %u</text>\n", leaves, leaves == 1 ? "leaf" : "leaves", depth);
  fw_buffer_format(d->out,
                   "<text class=\"note\" x=\"%d\" y=\"48\">leaves: blue below 0, orange above; bold ways: rows without "
                   "the feature</text>\n",
                   MARGIN);
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
  put_title(&d, leaves, depth);
  put_below(&d, 0, 0);
  fw_buffer_text(out, "</svg>\n");
}
