/* learn/describe/describe_dot.c: a graph for graphviz. */
#include "learn/describe/describe.h"

/* Within the quotes of a string of dot. */
static void put_quoted(fw_buffer *out, const char *text) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fw_buffer_byte(out, '\\');
    if ((unsigned char)*text >= ' ') fw_buffer_byte(out, *text);
  }
}

static void put_layer(fw_buffer *out, const fw_description *about, size_t i) {
  const fw_layer *layer = &about->plan->graph.layers[i];
  fw_buffer_format(out, "  n%zu [label=\"", i);
  put_quoted(out, layer->name);
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
