/* model/jobs/output_conf.c: maps Angel's configuration keys to the formats of layers, and algorithms to their
 * layers. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "model/format/matrix_format.h"
#include "model/jobs/algorithm.h"

enum { KINDS = FURROW_LAYER_OTHER + 1, SEPARATOR = KINDS };

struct furrow_layer_formats {
  const furrow_matrix_format *formats[KINDS]; /* NULL: the default */
  char *separator;                            /* NULL: the default */
};

static const furrow_matrix_format *const defaults[KINDS] = {
    [FURROW_LAYER_INPUT] = &fw_col_id_value_text,
    [FURROW_LAYER_EMBEDDING] = &fw_text_column,
    [FURROW_LAYER_FC] = &fw_row_id_col_id_value_text,
    [FURROW_LAYER_OTHER] = &fw_row_id_col_id_value_text,
};

/* "filed" is Angel's spelling. The last two keys date from October 2018, when Angel had two kinds of input layers. */
static const struct output_key {
  const char *key;
  int what; /* a kind of layer, or SEPARATOR */
} keys[] = {
    {"ml.simpleinputlayer.matrix.output.format", FURROW_LAYER_INPUT},
    {"ml.embedding.matrix.output.format", FURROW_LAYER_EMBEDDING},
    {"ml.fclayer.matrix.output.format", FURROW_LAYER_FC},
    {"OUT_FORMAT_CLASS", FURROW_LAYER_OTHER},
    {"text.format.filed.sep", SEPARATOR},
    {"ml.sparseinputlayer.matrix.output.format", FURROW_LAYER_INPUT},
    {"ml.denseinputlayer.matrix.output.format", FURROW_LAYER_INPUT},
};
enum { KEYS = sizeof keys / sizeof keys[0], OLD_KEYS = 2 };

furrow_status furrow_layer_formats_create(furrow_layer_formats **conf, furrow_error *err) {
  return FW_ALLOC_ZERO(conf, 1, err);
}

void furrow_layer_formats_free(furrow_layer_formats *conf) {
  if (!conf) return;
  fw_free(conf->separator);
  fw_free(conf);
}

static const struct output_key *find_key(const char *key) {
  for (size_t i = 0; i < KEYS; i++)
    if (strcmp(keys[i].key, key) == 0) return &keys[i];
  return NULL;
}

bool furrow_layer_formats_has_key(const char *key) {
  return find_key(key) != NULL;
}

static const char *suggested_key(const char *key) {
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  for (size_t i = 0; i < KEYS - OLD_KEYS; i++) fw_suggestion_offer(&suggestion, key, keys[i].key);
  return suggestion.word;
}

/* ---- Setting and getting ---- */

static furrow_status set_separator(furrow_layer_formats *conf, const char *value, furrow_error *err) {
  char *copy = NULL;
  if (!value[0]) return fw_fail(err, FURROW_E_ARGUMENT, "the separator is empty");
  if (strpbrk(value, "\r\n")) return fw_fail(err, FURROW_E_ARGUMENT, "the separator has a line end in it");
  FW_TRY(fw_strndup(&copy, value, strlen(value), err));
  fw_free(conf->separator);
  conf->separator = copy;
  return FURROW_OK;
}

furrow_status furrow_layer_formats_set(furrow_layer_formats *conf, const char *key, const char *value,
                                       furrow_error *err) {
  const struct output_key *known = find_key(key);
  if (!known) {
    fw_fail(err, FURROW_E_ARGUMENT, "not a key of Angel's output");
    fw_error_set_hint(err, "the nearest key is %s", suggested_key(key));
    fw_error_set_token(err, key, strlen(key));
    return FURROW_E_ARGUMENT;
  }
  if (known->what == SEPARATOR) return set_separator(conf, value, err);
  return furrow_matrix_format_find(value, &conf->formats[known->what], err);
}

bool furrow_layer_formats_is_set(const furrow_layer_formats *conf, furrow_layer_kind kind) {
  return conf && (unsigned)kind < KINDS && conf->formats[kind];
}

const furrow_matrix_format *furrow_layer_formats_get(const furrow_layer_formats *conf, furrow_layer_kind kind) {
  const furrow_layer_kind known = (unsigned)kind < KINDS ? kind : FURROW_LAYER_OTHER;
  return conf && conf->formats[known] ? conf->formats[known] : defaults[known];
}

const char *furrow_layer_formats_separator(const furrow_layer_formats *conf) {
  return conf && conf->separator ? conf->separator : ",";
}

/* ---- Algorithms ---- */

#define INPUT (1u << FURROW_LAYER_INPUT)
#define EMBEDDING (1u << FURROW_LAYER_EMBEDDING)
#define FC (1u << FURROW_LAYER_FC)
#define OTHER (1u << FURROW_LAYER_OTHER)

static const struct algorithm {
  const char *name;      /* short name */
  const char *others[3]; /* Angel's class, then common names; lower-case letters and digits only */
  unsigned layers;
} algorithms[] = {
    {"lr", {"logisticregression", "logistic"}, INPUT},
    {"svm", {"supportvectormachine"}, INPUT},
    {"linear", {"linearregression", "linreg"}, INPUT},
    {"robust", {"robustregression"}, INPUT},
    {"softmax", {"softmaxregression"}, INPUT},
    {"mlr", {"mixedlogisticregression", "mixedlr"}, INPUT},
    {"fm", {"factorizationmachines", "factorizationmachine"}, INPUT | EMBEDDING},
    {"ffm", {"fieldawarefactorizationmachines", "fieldawarefm"}, INPUT | EMBEDDING},
    {"deepfm", {NULL}, INPUT | EMBEDDING | FC},
    {"wide_and_deep", {"wideanddeep", "widedeep", "wd"}, INPUT | EMBEDDING | FC},
    {"pnn", {"productneuralnetwork"}, INPUT | EMBEDDING | FC},
    {"nfm", {"neuralfactorizationmachines", "neuralfm"}, INPUT | EMBEDDING | FC},
    {"dnn", {"deepneuralnetwork", "mlp"}, INPUT | FC},
    {"gbdt", {"gbdtrunner", "gbdtmodel"}, OTHER},
    {"kmeans", {"kmeansrunner"}, OTHER},
    {"lda", {"ldarunner"}, OTHER},
};

/* Compares names, ignoring case and punctuation. */
static bool is_named(const char *text, const char *name) {
  for (; *text; text++) {
    if (!isalnum((unsigned char)*text)) continue;
    if (tolower((unsigned char)*text) != *name) return false;
    name++;
  }
  return *name == 0;
}

static bool is_algorithm(const struct algorithm *algorithm, const char *name) {
  bool is = is_named(name, algorithm->name);
  for (size_t k = 0; !is && k < 3 && algorithm->others[k]; k++) is = is_named(name, algorithm->others[k]);
  return is;
}

static const struct algorithm *find_algorithm(const char *algorithm) {
  const char *point = algorithm ? strrchr(algorithm, '.') : NULL;
  const char *name = point ? point + 1 : algorithm;
  for (size_t i = 0; name && i < sizeof algorithms / sizeof algorithms[0]; i++)
    if (is_algorithm(&algorithms[i], name)) return &algorithms[i];
  return NULL;
}

unsigned furrow_algorithm_layer_kinds(const char *algorithm) {
  const struct algorithm *found = find_algorithm(algorithm);
  return found ? found->layers : 0;
}

const char *fw_algorithm_name(const char *algorithm) {
  const struct algorithm *found = find_algorithm(algorithm);
  return found ? found->name : NULL;
}
