/* learn/conf/conf_json_layers.c: the layers of the JSON file: an array of objects, or an object of objects by name
 * (mlcore). A layer has the members of its type, and no others. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/conf/conf_data.h"

enum { NAME, TYPE, WIDTH, WIDTHS, FACTORS, INPUT, INPUTS, ACTIVATION, ACTIVATIONS, LOSS, OPTIMIZER, MEMBERS };
static const char *const member_names[MEMBERS] = {"name",       "type",       "outputdim",   "outputdims",
                                                  "numfactors", "inputlayer", "inputlayers", "transfunc",
                                                  "transfuncs", "lossfunc",   "optimizer"};

/* What a layer may have, and must have, by its family. Angel wants outputdim of poolings, too; we know it. */
#define BIT(member) (1u << (member))
static const struct {
  unsigned may, must;
} family_members[] = {
    [FW_FAMILY_INPUT] = {BIT(WIDTH) | BIT(ACTIVATION) | BIT(OPTIMIZER), BIT(WIDTH)},
    [FW_FAMILY_EMBEDDING] = {BIT(WIDTH) | BIT(FACTORS) | BIT(OPTIMIZER), BIT(WIDTH) | BIT(FACTORS)},
    [FW_FAMILY_FC] = {BIT(WIDTH) | BIT(WIDTHS) | BIT(INPUT) | BIT(ACTIVATION) | BIT(ACTIVATIONS) | BIT(OPTIMIZER),
                      BIT(INPUT)},
    [FW_FAMILY_CROSS] = {BIT(WIDTH) | BIT(INPUT), BIT(INPUT)},
    [FW_FAMILY_JOIN] = {BIT(WIDTH) | BIT(INPUTS), BIT(INPUTS)},
    [FW_FAMILY_LOSS] = {BIT(WIDTH) | BIT(INPUT) | BIT(LOSS), BIT(INPUT)},
};

/* A layer while it is read. */
typedef struct reading {
  fw_graph_spec *graph;
  size_t capacity; /* of graph->layers */
  fw_layer_spec layer;
  unsigned seen;
  uint64_t offsets[MEMBERS]; /* where the values begin */
  size_t widths, activations, inputs;
  int64_t width_list[FW_INPUTS_MAX];
  fw_activation_spec activation_list[FW_INPUTS_MAX];
  const char *input_list[FW_INPUTS_MAX];
} reading;

/* ---- Members ---- */

/* Matrices are folders that are called by their layer. */
static furrow_status check_name(const furrow_json *json, uint64_t place, furrow_json_text name, furrow_error *err) {
  if (name.size > 0 && name.size <= FW_NAME_MAX && !memchr(name.bytes, 0, name.size) &&
      !memchr(name.bytes, '/', name.size) && name.bytes[0] != '.')
    return FURROW_OK;
  return furrow_json_fail(json, place, NULL, err, "is not a name for a folder: 1 to %d bytes, no /, no . in front",
                          FW_NAME_MAX);
}

static furrow_status read_name(furrow_json *json, reading *r, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(fw_json_trimmed(json, &text, err));
  FW_TRY(check_name(json, furrow_json_offset(json), text, err));
  if (r->layer.name) { /* the key that the layer stands under */
    if (furrow_json_is(text, r->layer.name)) return FURROW_OK;
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not the key of the layer");
  }
  return fw_arena_text(&r->graph->arena, &r->layer.name, text.bytes, text.size, err);
}

/* Input layers of Angel 2.0, one now; documents of Angel's still have them. */
static bool is_older_input(furrow_json_text type) {
  static const char *const older[] = {"sparseinputlayer", "denseinputlayer"};
  for (size_t i = 0; i < 2; i++)
    if (strlen(older[i]) == type.size && strncasecmp(older[i], type.bytes, type.size) == 0) return true;
  return false;
}

static furrow_status read_type(furrow_json *json, reading *r, furrow_error *err) {
  furrow_error spec = {0};
  furrow_json_text text;
  int64_t type = FW_LAYER_INPUT;
  FW_TRY(fw_json_trimmed(json, &text, err));
  if (!is_older_input(text) && fw_name_find(&fw_layer_type_names, text.bytes, text.size, &type, &spec) != FURROW_OK)
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "%s", spec.message);
  r->layer.type = (fw_layer_type)type;
  return FURROW_OK;
}

static furrow_status read_width(furrow_json *json, int64_t *width, furrow_error *err) {
  FW_TRY(furrow_json_i64(json, width, err));
  if (*width <= FW_WIDTH_MAX) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is more than %d", FW_WIDTH_MAX);
}

static furrow_status read_input(furrow_json *json, reading *r, const char **name, furrow_error *err) {
  furrow_json_text text;
  FW_TRY(fw_json_trimmed(json, &text, err));
  if (memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has a byte 0 in it");
  return fw_arena_text(&r->graph->arena, name, text.bytes, text.size, err);
}

/* outputdims, transfuncs or inputlayers. */
static furrow_status read_list(furrow_json *json, reading *r, size_t member, size_t *count, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    const size_t i = (*count)++;
    status = i == FW_INPUTS_MAX ? furrow_json_fail(json, furrow_json_offset(json), NULL, err,
                                                   "is beyond the %d that there may be", FW_INPUTS_MAX)
             : member == WIDTHS ? read_width(json, &r->width_list[i], err)
             : member == INPUTS ? read_input(json, r, &r->input_list[i], err)
                                : fw_json_activation(json, &r->activation_list[i], err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status keep_inputs(reading *r, furrow_error *err) {
  const char **inputs = NULL;
  FW_TRY(FW_ARENA_TAKE(&r->graph->arena, &inputs, r->inputs, err));
  r->layer.inputs = memcpy(inputs, r->input_list, r->inputs * sizeof *inputs);
  r->layer.input_count = r->inputs;
  return FURROW_OK;
}

static furrow_status read_member(furrow_json *json, reading *r, size_t member, furrow_error *err) {
  switch (member) {
  case NAME: return read_name(json, r, err);
  case TYPE: return read_type(json, r, err);
  case WIDTH: r->layer.has_width = true; return read_width(json, &r->layer.width, err);
  case WIDTHS: return read_list(json, r, member, &r->widths, err);
  case FACTORS: return read_width(json, &r->layer.factors, err);
  case INPUT:
    r->inputs = 1;
    FW_TRY(read_input(json, r, &r->input_list[0], err));
    return keep_inputs(r, err);
  case INPUTS:
    r->inputs = 0;
    FW_TRY(read_list(json, r, member, &r->inputs, err));
    return keep_inputs(r, err);
  case ACTIVATION: return fw_json_activation(json, &r->layer.activation, err);
  case ACTIVATIONS: return read_list(json, r, member, &r->activations, err);
  case LOSS: return fw_json_loss(json, &r->layer.loss, err);
  default: return fw_json_optimizer(json, &r->layer.optimizer, err);
  }
}

static furrow_status read_known_member(furrow_json *json, reading *r, furrow_json_text key, furrow_error *err) {
  for (size_t i = 0; i < MEMBERS; i++) {
    if (!furrow_json_is(key, member_names[i])) continue;
    r->offsets[i] = furrow_json_next_offset(json);
    if (r->seen & BIT(i)) return furrow_json_fail(json, r->offsets[i], NULL, err, "is there twice");
    r->seen |= BIT(i);
    return read_member(json, r, i, err);
  }
  return fw_json_refuse(json, key, "Angel's", member_names, MEMBERS, err);
}

/* ---- What a type must have ---- */

static furrow_status check_members(const furrow_json *json, const reading *r, uint64_t begin, furrow_error *err) {
  const fw_layer_family family = fw_layer_type_family(r->layer.type);
  const unsigned must = family_members[family].must | BIT(TYPE) | (r->layer.name ? 0 : BIT(NAME));
  const unsigned may = family_members[family].may | BIT(TYPE) | BIT(NAME);
  for (size_t i = 0; i < MEMBERS; i++) {
    if (must & ~r->seen & BIT(i)) return furrow_json_fail(json, begin, member_names[i], err, "is missing");
    if (r->seen & BIT(TYPE) && r->seen & ~may & BIT(i))
      return furrow_json_fail(json, r->offsets[i], member_names[i], err, "is not of %s",
                              fw_layer_type_name(r->layer.type));
  }
  if (r->layer.type == FW_LAYER_EMBEDDING && r->layer.factors < 1)
    return furrow_json_fail(json, r->offsets[FACTORS], "numfactors", err, "is not positive");
  if (r->layer.type == FW_LAYER_INPUT && r->layer.width < 1)
    return furrow_json_fail(json, r->offsets[WIDTH], "outputdim", err, "is not positive");
  return FURROW_OK;
}

static furrow_status check_stack(const furrow_json *json, const reading *r, uint64_t begin, furrow_error *err) {
  const bool one = r->seen & BIT(WIDTH), many = r->seen & BIT(WIDTHS);
  if (!one && !many) return furrow_json_fail(json, begin, "outputdims", err, "is missing");
  if (one && many) return furrow_json_fail(json, r->offsets[WIDTH], "outputdim", err, "stands beside outputdims");
  if (r->seen & BIT(ACTIVATION) && (many || r->seen & BIT(ACTIVATIONS)))
    return furrow_json_fail(json, r->offsets[ACTIVATION], "transfunc", err, "is not of a stack; transfuncs is");
  if (many && r->widths == 0) return furrow_json_fail(json, r->offsets[WIDTHS], "outputdims", err, "is empty");
  for (size_t i = 0; i < r->widths; i++)
    if (r->width_list[i] < 1)
      return furrow_json_fail(json, r->offsets[WIDTHS], "outputdims", err, "has a width that is not positive");
  if (one && r->layer.width < 1) return furrow_json_fail(json, r->offsets[WIDTH], "outputdim", err, "is not positive");
  if (r->seen & BIT(ACTIVATIONS) && r->activations != (many ? r->widths : 1))
    return furrow_json_fail(json, r->offsets[ACTIVATIONS], "transfuncs", err, "has %zu elements, but outputdims %zu",
                            r->activations, many ? r->widths : 1);
  return FURROW_OK;
}

/* An fc layer has lists, also where the file has one width and one activation. */
static furrow_status keep_stack(const furrow_json *json, reading *r, uint64_t begin, furrow_error *err) {
  int64_t *widths = NULL;
  fw_activation_spec *activations = NULL;
  FW_TRY(check_stack(json, r, begin, err));
  if (r->seen & BIT(WIDTH)) r->width_list[r->widths++] = r->layer.width;
  if (r->layer.activation.spec) r->activation_list[r->activations++] = r->layer.activation;
  FW_TRY(FW_ARENA_TAKE(&r->graph->arena, &widths, r->widths, err));
  if (r->activations) FW_TRY(FW_ARENA_TAKE(&r->graph->arena, &activations, r->activations, err));
  r->layer.fc_count = r->widths;
  r->layer.fc_widths = memcpy(widths, r->width_list, r->widths * sizeof *widths);
  if (activations)
    r->layer.fc_activations = memcpy(activations, r->activation_list, r->activations * sizeof *activations);
  return FURROW_OK;
}

/* ---- Layers ---- */

static furrow_status add_layer(reading *r, furrow_error *err) {
  fw_graph_spec *graph = r->graph;
  FW_TRY(FW_GROW(&graph->layers, &r->capacity, graph->count + 1, err));
  graph->layers[graph->count++] = r->layer;
  return FURROW_OK;
}

static furrow_status read_layer(furrow_json *json, reading *r, furrow_error *err) {
  furrow_json_text key;
  const uint64_t begin = furrow_json_next_offset(json);
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK)
    status = read_known_member(json, r, key, err);
  if (status == FURROW_END) status = check_members(json, r, begin, err);
  if (status == FURROW_OK && r->layer.type == FW_LAYER_FC) status = keep_stack(json, r, begin, err);
  return status == FURROW_OK ? add_layer(r, err) : status;
}

static void start_layer(reading *r) {
  r->layer = (fw_layer_spec){0};
  r->seen = 0;
  r->widths = r->activations = 0;
}

static furrow_status check_count(const furrow_json *json, const reading *r, furrow_error *err) {
  if (r->graph->count < FW_LAYERS_MAX) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is beyond the %d layers that there may be",
                          FW_LAYERS_MAX);
}

static furrow_status read_array(furrow_json *json, reading *r, furrow_error *err) {
  char path[32];
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    start_layer(r);
    status = check_count(json, r, err);
    const int n = snprintf(path, sizeof path, "layers/%zu", r->graph->count);
    if (status == FURROW_OK) status = fw_arena_text(&r->graph->arena, &r->layer.path, path, (size_t)n, err);
    if (status == FURROW_OK) status = read_layer(json, r, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_by_name(furrow_json *json, reading *r, furrow_error *err) {
  char path[FW_NAME_MAX + 16];
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    start_layer(r);
    status = check_count(json, r, err);
    if (status == FURROW_OK) status = check_name(json, furrow_json_next_offset(json), key, err);
    if (status != FURROW_OK) break;
    const int n = snprintf(path, sizeof path, "layers/%.*s", (int)key.size, key.bytes);
    status = fw_arena_text(&r->graph->arena, &r->layer.path, path, (size_t)n, err);
    r->layer.name = r->layer.path + strlen("layers/");
    if (status == FURROW_OK) status = read_layer(json, r, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status fw_json_layers(furrow_json *json, fw_graph_spec **graph, furrow_error *err) {
  reading *r = NULL;
  FW_TRY(FW_ALLOC_ZERO(&r, 1, err)); /* too large for the stack */
  furrow_status status = fw_graph_spec_create(&r->graph, err);
  if (status == FURROW_OK)
    status = furrow_json_peek(json) == FURROW_JSON_OBJECT ? read_by_name(json, r, err) : read_array(json, r, err);
  if (status == FURROW_OK)
    *graph = r->graph;
  else
    fw_graph_spec_release(r->graph);
  fw_free(r);
  return status;
}
