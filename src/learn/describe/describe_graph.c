/* learn/describe/describe_graph.c: the graph of layers for graphviz, and as a picture. */
#include <math.h>

#include "learn/describe/describe.h"

/* ---- Graphviz --------------------------------------------------------------------------------------------------- */

void fw_buffer_dot(fw_buffer *out, char byte) {
  if (byte == '"' || byte == '\\') fw_buffer_byte(out, '\\');
  fw_buffer_byte(out, byte);
}

static void put_layer(fw_buffer *out, const fw_description *about, size_t i) {
  const fw_layer *layer = &about->plan->graph.layers[i];
  fw_buffer_format(out, "  n%zu [label=\"", i);
  for (const char *at = layer->name; *at; at++)
    if ((unsigned char)*at >= ' ') fw_buffer_dot(out, *at);
  fw_buffer_format(out, "\\n%s", fw_layer_type_name(layer->type));
  if (layer->type == FW_LAYER_LOSS) fw_buffer_format(out, "\\n%s", fw_loss_name(layer->loss));
  if (layer->width && layer->type != FW_LAYER_LOSS) fw_buffer_format(out, "\\n%zu", layer->width);
  if (layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_FC) fw_buffer_byte(out, ' ');
  fw_buffer_activation(out, layer);
  if (about->sizes[i].weights) {
    fw_buffer_text(out, "\\n");
    fw_buffer_optimizer(out, &layer->optimizer);
  }
  fw_buffer_text(out, "\"];\n");
  if (fw_layer_takes_data(layer)) fw_buffer_format(out, "  data -> n%zu;\n", i);
  for (size_t k = 0; k < layer->input_count; k++) {
    const size_t width = about->plan->graph.layers[layer->inputs[k]].width;
    fw_buffer_format(out, "  n%zu -> n%zu", layer->inputs[k], i);
    if (width) fw_buffer_format(out, " [label=\"%zu\"]", width);
    fw_buffer_text(out, ";\n");
  }
}

void fw_describe_dot(fw_buffer *out, const fw_description *about) {
  fw_buffer_text(out, "digraph model {\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                      "  edge [fontname=\"sans-serif\", fontsize=10];\n  data [shape=oval, label=\"data\"];\n");
  for (size_t i = 0; i < about->plan->graph.count; i++) put_layer(out, about, i);
  fw_buffer_text(out, "}\n");
}

/* ---- Layout: a row for each level of layers --------------------------------------------------------------------- */

static void set_levels(fw_layer_place *positions, const fw_graph *graph) {
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    positions[i].level = 1;
    for (size_t k = 0; k < layer->input_count; k++) {
      const size_t level = positions[layer->inputs[k]].level;
      if (level >= positions[i].level) positions[i].level = level + 1;
    }
    positions[i].last = positions[i].level;
    for (size_t k = 0; k < layer->input_count; k++) {
      fw_layer_place *input = &positions[layer->inputs[k]];
      if (positions[i].level > input->last) input->last = positions[i].level;
    }
  }
}

/* Whether the place has neither a layer nor a connection through it, and the layer's own connections cross no layer. */
static bool is_free(const fw_layer_place *positions, size_t i, size_t column) {
  for (size_t j = 0; j < i; j++) {
    if (positions[j].column != column) continue;
    if (positions[j].level == positions[i].level) return false;
    if (positions[j].level < positions[i].level && positions[i].level < positions[j].last) return false;
    if (positions[j].level > positions[i].level && positions[j].level < positions[i].last) return false;
  }
  return true;
}

/* The column in the middle of a layer's inputs. */
static size_t wanted_column(const fw_layer_place *positions, const fw_layer *layer) {
  size_t sum = 0;
  if (layer->input_count == 0) return 0;
  for (size_t k = 0; k < layer->input_count; k++) sum += positions[layer->inputs[k]].column;
  return sum / layer->input_count;
}

void fw_describe_layout(fw_layer_place *positions, const fw_graph *graph) {
  set_levels(positions, graph);
  for (size_t i = 0; i < graph->count; i++) {
    const size_t wanted = wanted_column(positions, &graph->layers[i]);
    for (size_t away = 0;; away++) {
      positions[i].column = wanted + away;
      if (is_free(positions, i, wanted + away)) break;
      positions[i].column = wanted - away;
      if (away <= wanted && is_free(positions, i, wanted - away)) break;
    }
  }
}

/* ---- SVG -------------------------------------------------------------------------------------------------------- */

enum {
  BOX_WIDTH = 276,
  BOX_HEIGHT = 66,
  DATA_HEIGHT = 34,
  GAP_X = 28,
  GAP_Y = 40,
  MARGIN = 28,
  LEAST_WIDTH = 540, /* for the title */
  HEAD = 58,         /* title */
  NAME_CAPACITY = 30 /* characters that fit a box */
};

typedef struct drawing {
  fw_buffer *out;
  const fw_description *about;
  size_t columns, rows;
  double left; /* left edge of the first column */
} drawing;

/* ---- Text ---- */

void fw_buffer_xml(fw_buffer *out, char byte) {
  switch (byte) {
  case '<': fw_buffer_text(out, "&lt;"); break;
  case '>': fw_buffer_text(out, "&gt;"); break;
  case '&': fw_buffer_text(out, "&amp;"); break;
  default: fw_buffer_byte(out, byte);
  }
}

/* At most `most` characters. */
static void put_escaped(fw_buffer *out, const char *text, size_t most) {
  size_t characters = 0;
  for (; *text; text++) {
    const bool begins = (*text & 0xc0) != 0x80;
    if (begins && characters++ == most) {
      fw_buffer_text(out, "…");
      return;
    }
    if ((unsigned char)*text >= ' ') fw_buffer_xml(out, *text);
  }
}

/* Colours by what a layer does. Each kind has a fill, a line and a word's colour, for light and dark pages. */
static void put_style(fw_buffer *out) {
  fw_buffer_text(
      out,
      "<style>\n"
      "text{font-family:system-ui,'DejaVu Sans',sans-serif;fill:#1f2933}\n"
      ".page{fill:#ffffff}.title{font-size:16px;font-weight:600}.note{font-size:12px;fill:#5b6770}\n"
      ".name{font-size:13px;font-weight:600}.kind{font-size:11px}.more{font-size:11px;fill:#5b6770}\n"
      ".edge{fill:none;stroke:#8894a0;stroke-width:1.5}.tip{fill:#8894a0}\n"
      "rect{stroke-width:1.5}\n"
      ".data{fill:#f1f4f6;stroke:#9aa5b1}.input{fill:#e6f1fb;stroke:#3b82c4}.embedding{fill:#efe9fb;stroke:#7c5cc4}\n"
      ".cross{fill:#e2f5f1;stroke:#2a9d8a}.fc{fill:#fdf0e1;stroke:#d08a2e}.join{fill:#eef1f4;stroke:#6b7a88}\n"
      ".loss{fill:#fbe7e9;stroke:#c2505f}\n"
      "@media (prefers-color-scheme:dark){\n"
      "text{fill:#e4e9ee}.page{fill:#14191f}.note{fill:#9aa7b3}.more{fill:#a9b5c0}\n"
      ".edge{stroke:#6f7d8a}.tip{fill:#6f7d8a}\n"
      ".data{fill:#20272e;stroke:#7b8894}.input{fill:#16293b;stroke:#5b9fdc}.embedding{fill:#261f3d;stroke:#a48be6}\n"
      ".cross{fill:#112e2a;stroke:#4fc3b0}.fc{fill:#35260f;stroke:#e2a552}.join{fill:#232b33;stroke:#8b99a6}\n"
      ".loss{fill:#3a1a1f;stroke:#e07c89}\n"
      "}\n</style>\n");
}

static const char *class_of(const fw_layer *layer) {
  static const char *const classes[] = {"input", "embedding", "fc", "cross", "join", "loss"};
  return classes[fw_layer_type_family(layer->type)];
}

/* ---- Places ---- */

static double left_of(const drawing *d, size_t column) {
  return d->left + (double)column * (BOX_WIDTH + GAP_X);
}

static double middle_of(const drawing *d, size_t column) {
  return left_of(d, column) + BOX_WIDTH / 2.0;
}

/* Row 0 is the data. */
static double top_of(size_t row) {
  if (row == 0) return HEAD;
  return HEAD + DATA_HEIGHT + GAP_Y + (double)(row - 1) * (BOX_HEIGHT + GAP_Y);
}

static double bottom_of(size_t row) {
  return top_of(row) + (row ? BOX_HEIGHT : DATA_HEIGHT);
}

/* Between the layers that take it. */
static double middle_of_data(const drawing *d) {
  const fw_graph *graph = &d->about->plan->graph;
  double sum = 0, n = 0;
  for (size_t i = 0; i < graph->count; i++) {
    if (!fw_layer_takes_data(&graph->layers[i])) continue;
    sum += middle_of(d, d->about->positions[i].column);
    n++;
  }
  return sum / n;
}

/* ---- Drawing ---- */

/* Draws an edge: straight down in the column of its input, then sideways in the gap above the layer. */
static void put_edge(const drawing *d, double x, double y, double to, size_t row) {
  const double end = top_of(row), bend = end - GAP_Y;
  double reach = (x - to) * 0.2;
  if (reach > BOX_WIDTH / 3.0) reach = BOX_WIDTH / 3.0;
  if (reach < -BOX_WIDTH / 3.0) reach = -BOX_WIDTH / 3.0;
  const double at = to + reach;
  fw_buffer_format(d->out, "<path class=\"edge\" d=\"M%.1f %.1fV%.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>", x, y, bend, x,
                   bend + 22, at, end - 28, at, end - 6);
  fw_buffer_format(d->out, "<path class=\"tip\" d=\"M%.1f %.1fl-4.5 -8h9z\"/>\n", at, end);
}

static void put_edges(const drawing *d) {
  const fw_graph *graph = &d->about->plan->graph;
  for (size_t i = 0; i < graph->count; i++) {
    const fw_layer *layer = &graph->layers[i];
    const fw_layer_place *place = &d->about->positions[i];
    const double to = middle_of(d, place->column);
    if (fw_layer_takes_data(layer)) put_edge(d, middle_of_data(d), bottom_of(0), to, 1);
    for (size_t k = 0; k < layer->input_count; k++) {
      const fw_layer_place *from = &d->about->positions[layer->inputs[k]];
      put_edge(d, middle_of(d, from->column), bottom_of(from->level), to, place->level);
    }
  }
}

static void put_line(const drawing *d, const char *class_name, double x, double y) {
  fw_buffer_format(d->out, "<text class=\"%s\" text-anchor=\"middle\" x=\"%.1f\" y=\"%.1f\">", class_name, x, y);
}

static void put_second_line(fw_buffer *out, const fw_layer *layer) {
  fw_buffer_text(out, layer->type == FW_LAYER_LOSS ? fw_loss_name(layer->loss) : fw_layer_type_name(layer->type));
  if (layer->type == FW_LAYER_INPUT || layer->type == FW_LAYER_FC) {
    fw_buffer_text(out, " · ");
    fw_buffer_activation(out, layer);
  }
  const bool keeps = layer->type == FW_LAYER_FC || fw_layer_takes_data(layer);
  if (keeps && !fw_activation_drops(layer->activation)) /* else the text does not fit */
    fw_buffer_format(out, " · %s", fw_optimizer_name(layer->optimizer.type));
}

static void put_third_line(fw_buffer *out, const fw_layer *layer, const fw_layer_size *size) {
  if (layer->type == FW_LAYER_LOSS) return;
  if (layer->type == FW_LAYER_EMBEDDING && layer->slots == 0)
    fw_buffer_format(out, "n × %zu", layer->factors);
  else if (layer->type == FW_LAYER_EMBEDDING)
    fw_buffer_format(out, "%zu × %zu", layer->slots, layer->factors);
  else
    fw_buffer_format(out, "%zu output%s", layer->width, layer->width == 1 ? "" : "s");
  if (size->weights == 0) return;
  fw_buffer_text(out, " · ");
  if (size->weights == FW_COUNT_UNKNOWN) {
    fw_buffer_format(out, "%llu parameters for each feature", (unsigned long long)size->rows);
    return;
  }
  fw_buffer_count(out, size->weights + size->biases);
  fw_buffer_text(out, " parameters");
}

static void put_box(const drawing *d, size_t i) {
  const fw_layer *layer = &d->about->plan->graph.layers[i];
  const fw_layer_place *place = &d->about->positions[i];
  const double x = middle_of(d, place->column), y = top_of(place->level);
  fw_buffer_format(d->out, "<g><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"8\"/>",
                   class_of(layer), left_of(d, place->column), y, BOX_WIDTH, BOX_HEIGHT);
  put_line(d, "name", x, y + (layer->type == FW_LAYER_LOSS ? 29 : 21));
  put_escaped(d->out, layer->name, NAME_CAPACITY);
  fw_buffer_text(d->out, "</text>");
  put_line(d, "kind", x, y + (layer->type == FW_LAYER_LOSS ? 47 : 38));
  put_second_line(d->out, layer);
  fw_buffer_text(d->out, "</text>");
  put_line(d, "more", x, y + 55);
  put_third_line(d->out, layer, &d->about->sizes[i]);
  fw_buffer_text(d->out, "</text></g>\n");
}

static void put_data(const drawing *d) {
  const fw_data_conf *data = &d->about->plan->data;
  const double x = middle_of_data(d);
  fw_buffer_format(d->out, "<g><rect class=\"data\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"17\"/>",
                   x - BOX_WIDTH / 2.0, top_of(0), BOX_WIDTH, DATA_HEIGHT);
  put_line(d, "kind", x, top_of(0) + 21);
  put_escaped(d->out, data->format, NAME_CAPACITY);
  if (d->about->features != FW_COUNT_UNKNOWN) {
    fw_buffer_text(d->out, ", ");
    fw_buffer_count(d->out, d->about->features);
    fw_buffer_text(d->out, " features");
  }
  if (data->fields > 0) fw_buffer_format(d->out, ", %lld fields", (long long)data->fields);
  fw_buffer_text(d->out, "</text></g>\n");
}

static void put_title(const drawing *d) {
  const fw_plan *plan = d->about->plan;
  fw_buffer_format(d->out, "<text class=\"title\" x=\"%d\" y=\"26\">", MARGIN);
  put_escaped(d->out, plan->model.algorithm ? plan->model.algorithm : "graph", NAME_CAPACITY);
  fw_buffer_format(d->out, "</text>\n<text class=\"note\" x=\"%d\" y=\"44\">", MARGIN);
  fw_buffer_text(d->out, "parameters: ");
  fw_buffer_parameters(d->out, d->about);
  fw_buffer_text(d->out, "; memory in training: ");
  fw_buffer_memory(d->out, d->about);
  fw_buffer_text(d->out, "</text>\n");
}

void fw_describe_svg(fw_buffer *out, const fw_description *about) {
  drawing d = {.out = out, .about = about};
  const size_t count = about->plan->graph.count;
  fw_describe_layout(about->positions, &about->plan->graph);
  for (size_t i = 0; i < count; i++) {
    if (about->positions[i].column >= d.columns) d.columns = about->positions[i].column + 1;
    if (about->positions[i].level > d.rows) d.rows = about->positions[i].level;
  }
  const double used = (double)d.columns * (BOX_WIDTH + GAP_X) - GAP_X, height = bottom_of(d.rows) + MARGIN;
  const double width = (used < LEAST_WIDTH ? LEAST_WIDTH : used) + 2 * MARGIN;
  d.left = (width - used) / 2;
  fw_buffer_format(
      out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n",
      width, height, width, height);
  put_style(out);
  fw_buffer_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
  put_title(&d);
  put_edges(&d);
  put_data(&d);
  for (size_t i = 0; i < count; i++) put_box(&d, i);
  fw_buffer_text(out, "</svg>\n");
}
