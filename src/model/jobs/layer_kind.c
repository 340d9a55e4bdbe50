/* model/jobs/layer_kind.c: determines the kind of layer that a matrix belongs to. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/json_in.h"
#include "furrow/model.h"

enum { LAYER_NAME = 128, NO_KIND = -1 };

const char *furrow_layer_kind_name(furrow_layer_kind kind) {
  static const char *const names[] = {"input", "embedding", "fc", "other"};
  return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

/* ---- Names ---- */

static bool ends_with(const char *text, size_t size, const char *ending) {
  size_t n = strlen(ending);
  return size > n && memcmp(text + size - n, ending, n) == 0;
}

static bool begins_with(const char *text, const char *beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The name of the layer is the matrix's name without _weight, _bias or _embedding. Returns false if it has none of
 * these suffixes. */
static bool layer_name(const char *matrix, char name[LAYER_NAME]) {
  static const char *const endings[] = {"_weight", "_bias", "_embedding"};
  size_t size = strlen(matrix);
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (!ends_with(matrix, size, endings[i])) continue;
    size -= strlen(endings[i]);
    if (size >= LAYER_NAME) return false;
    memcpy(name, matrix, size);
    name[size] = 0;
    return true;
  }
  return false;
}

/* A stack of fc layers is one layer in graph.json; its matrices are called NAME_0, NAME_1 … NAME. */
static bool cut_number(char name[LAYER_NAME]) {
  size_t size = strlen(name);
  while (size > 0 && isdigit((unsigned char)name[size - 1])) size--;
  if (!name[size] || size < 2 || name[size - 1] != '_') return false;
  name[size - 1] = 0;
  return true;
}

/* ---- graph.json ---- */

/* Finds the kind by a type's name in any case: Angel's classes and the words of its JSON. */
static int kind_of_type(const char *type) {
  static const struct {
    const char *type;
    furrow_layer_kind kind;
  } types[] = {{"SimpleInputLayer", FURROW_LAYER_INPUT},
               {"SparseInputLayer", FURROW_LAYER_INPUT},
               {"DenseInputLayer", FURROW_LAYER_INPUT},
               {"Embedding", FURROW_LAYER_EMBEDDING},
               {"FCLayer", FURROW_LAYER_FC}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcasecmp(type, types[i].type) == 0) return (int)types[i].kind;
  return NO_KIND;
}

static void copy_text(char copy[LAYER_NAME], furrow_json_text text) {
  size_t size = text.size < LAYER_NAME ? text.size : LAYER_NAME - 1;
  memcpy(copy, text.bytes, size);
  copy[size] = 0;
}

static furrow_status read_text(furrow_json *json, char copy[LAYER_NAME]) {
  furrow_json_text text;
  if (furrow_json_peek(json) != FURROW_JSON_STRING) return furrow_json_skip(json, NULL, NULL);
  furrow_status status = furrow_json_string(json, &text, NULL);
  if (status == FURROW_OK) copy_text(copy, text);
  return status;
}

/* Reads a layer; `name` is its key, "" in an array. */
static furrow_status read_layer(furrow_json *json, char name[LAYER_NAME], const char *wanted, int *kind) {
  char type[LAYER_NAME] = "";
  furrow_json_text key;
  if (furrow_json_peek(json) != FURROW_JSON_OBJECT) return furrow_json_skip(json, NULL, NULL);
  furrow_status status = furrow_json_object(json, NULL);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, NULL)) == FURROW_OK) {
    if (furrow_json_is(key, "name"))
      status = read_text(json, name);
    else if (furrow_json_is(key, "type"))
      status = read_text(json, type);
    else
      status = furrow_json_skip(json, NULL, NULL);
  }
  if (status == FURROW_END && strcmp(name, wanted) == 0) *kind = kind_of_type(type);
  return status == FURROW_END ? FURROW_OK : status;
}

/* Angel writes an array of layers; its serving component writes an object with the layers by name. */
static furrow_status read_layers(furrow_json *json, const char *wanted, int *kind) {
  bool array = furrow_json_peek(json) == FURROW_JSON_ARRAY;
  furrow_json_text key = {"", 0};
  furrow_status status = array ? furrow_json_array(json, NULL) : furrow_json_object(json, NULL);
  while (status == FURROW_OK) {
    char name[LAYER_NAME];
    status = array ? furrow_json_element(json, NULL) : furrow_json_member(json, &key, NULL);
    copy_text(name, key);
    if (status == FURROW_OK) status = read_layer(json, name, wanted, kind);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* A graph that cannot be read is ignored. */
static int kind_in_graph(const char *graph, size_t size, const char *layer) {
  int kind = NO_KIND;
  furrow_json json;
  furrow_json_text key;
  fw_json_open(&json, graph, size, NULL);
  furrow_status status = furrow_json_object(&json, NULL);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, NULL)) == FURROW_OK)
    status = furrow_json_is(key, "layers") ? read_layers(&json, layer, &kind) : furrow_json_skip(&json, NULL, NULL);
  fw_json_close(&json);
  return status == FURROW_END ? kind : NO_KIND;
}

/* ---- Without graph.json ---- */

static furrow_layer_kind kind_by_name(const char *matrix, const char *layer, const furrow_matrix_format *format) {
  if (ends_with(matrix, strlen(matrix), "_embedding")) return FURROW_LAYER_EMBEDDING;
  if (begins_with(layer, "fc")) return FURROW_LAYER_FC;
  if (begins_with(layer, "input") || begins_with(layer, "wide")) return FURROW_LAYER_INPUT;
  unsigned ids = format ? format->flags & (FURROW_MATRIX_FORMAT_ROW_IDS | FURROW_MATRIX_FORMAT_COL_IDS) : 0;
  return ids == FURROW_MATRIX_FORMAT_COL_IDS ? FURROW_LAYER_INPUT : FURROW_LAYER_FC;
}

furrow_layer_kind furrow_layer_kind_of(const char *matrix_name, const furrow_matrix_format *format, const char *graph,
                                       size_t size) {
  char layer[LAYER_NAME];
  if (!matrix_name || !layer_name(matrix_name, layer)) return FURROW_LAYER_OTHER;
  int kind = graph ? kind_in_graph(graph, size, layer) : NO_KIND;
  if (kind != NO_KIND) return (furrow_layer_kind)kind;
  char stack[LAYER_NAME];
  memcpy(stack, layer, sizeof stack);
  if (graph && cut_number(stack)) kind = kind_in_graph(graph, size, stack);
  return kind != NO_KIND ? (furrow_layer_kind)kind : kind_by_name(matrix_name, layer, format);
}
