/* learn/nodes/node_text.c: forests of nodes as text for people, and as JSON. */
#include "learn/nodes/node_forest.h"

#include <math.h>

#include "base/json_out.h"

typedef struct drawing {
  fw_buffer *out;
  const fw_node_forest *forest;
  const char *const *names;
  size_t name_count;
} drawing;

/* ---- Text ---- */

static void put_feature(const drawing *d, int32_t feature) {
  if ((size_t)feature >= d->name_count) {
    fw_buffer_format(d->out, "feature %d", feature);
    return;
  }
  for (const char *at = d->names[feature]; *at; at++) fw_buffer_byte(d->out, (unsigned char)*at < ' ' ? ' ' : *at);
}

/* The categories of a set, with commas between them. */
static void put_set(fw_buffer *out, const fw_node_forest *forest, size_t set) {
  bool first = true;
  for (uint64_t w = forest->set_begin[set]; w < forest->set_begin[set + 1]; w++) {
    for (unsigned bit = 0; bit < 32; bit++) {
      if (!(forest->words[w] >> bit & 1)) continue;
      fw_buffer_format(out, first ? "%llu" : ",%llu", (unsigned long long)((w - forest->set_begin[set]) * 32 + bit));
      first = false;
    }
  }
}

static void put_split(const drawing *d, const fw_split_node *node) {
  const bool left = fw_node_goes_left(d->forest, node, NAN);
  put_feature(d, node->feature);
  if (node->flags & FW_NODE_SET) {
    fw_buffer_text(d->out, node->flags & FW_NODE_SET_LEFT ? " in {" : " not in {");
    put_set(d->out, d->forest, (size_t)node->value);
    fw_buffer_byte(d->out, '}');
  } else {
    fw_buffer_format(d->out, " %s %.9g", d->forest->less ? "<" : "<=", node->value);
  }
  fw_buffer_format(d->out, " (missing: %s", left ? "yes" : "no");
  if (node->flags & FW_NODE_ZERO_MISSING) fw_buffer_text(d->out, ", as 0");
  if (d->forest->stats) fw_buffer_format(d->out, ", gain %.6g, cover %.6g", (double)node->gain, node->cover);
  fw_buffer_text(d->out, ")\n");
}

static void put_leaf(const drawing *d, const fw_split_node *node) {
  fw_buffer_format(d->out, "leaf %.9g", node->value);
  if (d->forest->stats) fw_buffer_format(d->out, " (cover %.6g)", node->cover);
  fw_buffer_byte(d->out, '\n');
}

/* Preorder is the order of the text; a level ends where its right side does. */
static void put_tree(const drawing *d, size_t tree) {
  const fw_split_node *nodes = d->forest->node + d->forest->begin[tree];
  const size_t count = (size_t)(d->forest->begin[tree + 1] - d->forest->begin[tree]);
  uint16_t levels[FW_NODE_DEPTH_MOST], at = 0;
  size_t waits = 0;
  const char *side = "";
  fw_buffer_format(d->out, "tree %zu", tree);
  if (d->forest->classes > 1) fw_buffer_format(d->out, " of class %u", d->forest->class_of[tree]);
  fw_buffer_format(d->out, ": %zu leaves, depth %u\n", (count + 1) / 2, fw_node_tree_depth(d->forest, tree));
  for (size_t i = 0; i < count; i++) {
    for (unsigned k = 0; k <= at; k++) fw_buffer_text(d->out, "  ");
    fw_buffer_text(d->out, side);
    if (nodes[i].feature >= 0) {
      put_split(d, &nodes[i]);
      levels[waits++] = ++at;
      side = "yes: ";
      continue;
    }
    put_leaf(d, &nodes[i]);
    side = "no: ";
    if (waits > 0) at = levels[--waits];
  }
}

void fw_node_trees_text(fw_buffer *out, const fw_node_forest *forest, const char *const *names, size_t name_count,
                        size_t first, size_t end) {
  const drawing d = {out, forest, names, name_count};
  for (size_t tree = first; tree < end; tree++) {
    if (tree > first) fw_buffer_byte(out, '\n');
    put_tree(&d, tree);
  }
}

/* ---- JSON ---- */

static void put_json_node(fw_json_out *json, const drawing *d, size_t number, const fw_split_node *node) {
  fw_json_out_element(json);
  fw_json_out_open(json);
  fw_json_out_member_unsigned(json, "node", number);
  if (node->feature < 0) {
    fw_json_out_member_real(json, "predict", node->value);
  } else {
    const size_t yes = number + 1, no = node->right;
    fw_json_out_member_unsigned(json, "feature", (uint64_t)node->feature);
    if ((size_t)node->feature < d->name_count) fw_json_out_member(json, "name", d->names[node->feature]);
    if (node->flags & FW_NODE_SET) {
      fw_json_out_key(json, node->flags & FW_NODE_SET_LEFT ? "in" : "not_in");
      fw_json_out_open_array(json);
      fw_json_out_element(json);
      put_set(d->out, d->forest, (size_t)node->value);
      fw_json_out_close_array(json);
    } else {
      fw_json_out_member_real(json, d->forest->less ? "below" : "value", node->value);
    }
    fw_json_out_member_unsigned(json, "yes", yes);
    fw_json_out_member_unsigned(json, "no", no);
    fw_json_out_member_unsigned(json, "absent", fw_node_goes_left(d->forest, node, NAN) ? yes : no);
    if (d->forest->stats) fw_json_out_member_real(json, "gain", (double)node->gain);
  }
  if (d->forest->stats) fw_json_out_member_real(json, "cover", node->cover);
  fw_json_out_close(json);
}

void fw_node_trees_json(fw_buffer *out, const fw_node_forest *forest, const char *const *names, size_t name_count,
                        size_t first, size_t end) {
  const drawing d = {out, forest, names, name_count};
  fw_json_out json = {.out = out};
  fw_json_out_open(&json);
  fw_json_out_key(&json, "trees");
  fw_json_out_open_array(&json);
  for (size_t tree = first; tree < end; tree++) {
    fw_json_out_element(&json);
    fw_json_out_open(&json);
    fw_json_out_member_unsigned(&json, "tree", tree);
    fw_json_out_member_unsigned(&json, "class", forest->class_of[tree]);
    fw_json_out_key(&json, "nodes");
    fw_json_out_open_array(&json);
    for (uint64_t i = forest->begin[tree]; i < forest->begin[tree + 1]; i++)
      put_json_node(&json, &d, (size_t)(i - forest->begin[tree]), &forest->node[i]);
    fw_json_out_close_array(&json);
    fw_json_out_close(&json);
  }
  fw_json_out_close_array(&json);
  fw_json_out_close(&json);
  fw_buffer_byte(out, '\n');
}
