/* model/output_conf.c: which format the matrices of a layer get, by Angel's configuration keys; which layers an
 * algorithm has. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/matrix_format.h"

enum { KINDS = FURROW_LAYER_OTHER + 1, SEPARATOR = KINDS };

struct furrow_output_conf {
  const furrow_matrix_format *formats[KINDS]; /* NULL: the default */
  char *separator;                            /* NULL: the default */
};

static const furrow_matrix_format *const defaults[KINDS] = {
    [FURROW_LAYER_INPUT] = &fw_col_id_value_text,
    [FURROW_LAYER_EMBEDDING] = &fw_text_column,
    [FURROW_LAYER_FC] = &fw_row_id_col_id_value_text,
    [FURROW_LAYER_OTHER] = &fw_row_id_col_id_value_text,
};

/* "filed" is Angel's spelling. The last two are of October 2018, when there were two kinds of input layers. */
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

furrow_status furrow_output_conf_create(furrow_output_conf **conf, furrow_error *err) {
  void *memory = NULL;
  furrow_status status = fw_alloc_zero(&memory, 1, sizeof(furrow_output_conf), err);
  if (status == FURROW_OK) *conf = memory;
  return status;
}

void furrow_output_conf_free(furrow_output_conf *conf) {
  if (!conf) return;
  fw_free(conf->separator);
  fw_free(conf);
}

static const struct output_key *find_key(const char *key) {
  for (size_t i = 0; i < KEYS; i++)
    if (strcmp(keys[i].key, key) == 0) return &keys[i];
  return NULL;
}

bool furrow_output_conf_knows(const char *key) {
  return find_key(key) != NULL;
}

/* ---- The nearest key ---- */

enum { LONGEST_KEY = 64 };

static size_t least_of(size_t a, size_t b, size_t c) {
  const size_t ab = a < b ? a : b;
  return ab < c ? ab : c;
}

/* Letters to insert or remove so that a becomes b, which is one of the keys; a change is both. Capital letters are no
 * others. */
static size_t distance(const char *a, const char *b) {
  size_t row[LONGEST_KEY + 1];
  const size_t n = strlen(b);
  for (size_t k = 0; k <= n; k++) row[k] = k;
  for (; *a; a++) {
    size_t diagonal = row[0]++;
    for (size_t k = 1; k <= n; k++) {
      const size_t above = row[k];
      const size_t change = tolower((unsigned char)*a) == tolower((unsigned char)b[k - 1]) ? 0 : 2;
      row[k] = least_of(above + 1, row[k - 1] + 1, diagonal + change);
      diagonal = above;
    }
  }
  return row[n];
}

static const char *nearest_key(const char *key) {
  const char *nearest = keys[0].key;
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < KEYS - OLD_KEYS; i++) {
    const size_t d = distance(key, keys[i].key);
    if (d >= least) continue;
    least = d;
    nearest = keys[i].key;
  }
  return nearest;
}

/* ---- Setting and getting ---- */

static furrow_status set_separator(furrow_output_conf *conf, const char *value, furrow_error *err) {
  char *copy = NULL;
  if (!value[0]) return fw_fail(err, FURROW_E_ARGUMENT, "the separator is empty");
  if (strpbrk(value, "\r\n")) return fw_fail(err, FURROW_E_ARGUMENT, "the separator has a line end in it");
  furrow_status status = fw_strndup(&copy, value, strlen(value), err);
  if (status != FURROW_OK) return status;
  fw_free(conf->separator);
  conf->separator = copy;
  return FURROW_OK;
}

furrow_status furrow_output_conf_set(furrow_output_conf *conf, const char *key, const char *value, furrow_error *err) {
  const struct output_key *known = find_key(key);
  if (!known) {
    fw_fail(err, FURROW_E_ARGUMENT, "no such key of Angel's output; the nearest is %s", nearest_key(key));
    fw_error_set_token(err, key, strlen(key));
    return FURROW_E_ARGUMENT;
  }
  if (known->what == SEPARATOR) return set_separator(conf, value, err);
  return furrow_matrix_format_find(value, &conf->formats[known->what], err);
}

bool furrow_output_conf_is_set(const furrow_output_conf *conf, furrow_layer_kind kind) {
  return conf && (unsigned)kind < KINDS && conf->formats[kind];
}

const furrow_matrix_format *furrow_output_conf_format(const furrow_output_conf *conf, furrow_layer_kind kind) {
  const furrow_layer_kind known = (unsigned)kind < KINDS ? kind : FURROW_LAYER_OTHER;
  return conf && conf->formats[known] ? conf->formats[known] : defaults[known];
}

const char *furrow_output_conf_separator(const furrow_output_conf *conf) {
  return conf && conf->separator ? conf->separator : ",";
}

/* ---- Algorithms ---- */

#define INPUT (1u << FURROW_LAYER_INPUT)
#define EMBEDDING (1u << FURROW_LAYER_EMBEDDING)
#define FC (1u << FURROW_LAYER_FC)
#define OTHER (1u << FURROW_LAYER_OTHER)

/* Names in small letters and digits alone. */
static const struct algorithm {
  const char *names[4]; /* Angel's class, then what people write */
  unsigned layers;
} algorithms[] = {
    {{"logisticregression", "lr", "logistic"}, INPUT},
    {{"supportvectormachine", "svm"}, INPUT},
    {{"linearregression", "linear", "linreg"}, INPUT},
    {{"robustregression", "robust"}, INPUT},
    {{"softmaxregression", "softmax"}, INPUT},
    {{"mixedlogisticregression", "mlr", "mixedlr"}, INPUT},
    {{"factorizationmachines", "fm", "factorizationmachine"}, INPUT | EMBEDDING},
    {{"deepfm"}, INPUT | EMBEDDING | FC},
    {{"wideanddeep", "widedeep", "wd"}, INPUT | EMBEDDING | FC},
    {{"productneuralnetwork", "pnn"}, INPUT | EMBEDDING | FC},
    {{"neuralfactorizationmachines", "nfm", "neuralfm"}, INPUT | EMBEDDING | FC},
    {{"deepneuralnetwork", "dnn", "mlp"}, INPUT | FC},
    {{"gbdtrunner", "gbdt", "gbdtmodel"}, OTHER},
    {{"kmeansrunner", "kmeans"}, OTHER},
    {{"ldarunner", "lda"}, OTHER},
};

/* The same name: case and signs do not count. */
static bool is_named(const char *text, const char *name) {
  for (; *text; text++) {
    if (!isalnum((unsigned char)*text)) continue;
    if (tolower((unsigned char)*text) != *name) return false;
    name++;
  }
  return *name == 0;
}

unsigned furrow_algorithm_layers(const char *algorithm) {
  const char *point = algorithm ? strrchr(algorithm, '.') : NULL;
  const char *name = point ? point + 1 : algorithm;
  for (size_t i = 0; name && i < sizeof algorithms / sizeof algorithms[0]; i++)
    for (size_t k = 0; k < 4 && algorithms[i].names[k]; k++)
      if (is_named(name, algorithms[i].names[k])) return algorithms[i].layers;
  return 0;
}
