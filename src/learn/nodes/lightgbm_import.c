/* learn/nodes/lightgbm_import.c: models of LightGBM, versions 2 to 4 of its text.
 *
 * Lines "key=value" describe the model, then each tree after a line "Tree=N", up to "end of trees". Inner nodes are
 * numbered from 0, and child ~i is leaf i. decision_type is a sum: 1 a set of categories, 2 missing values go to the
 * left, 4 times what is missing (0 nothing, 1 zero and NaN, 2 NaN). Thresholds and sums are doubles. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number_in.h"
#include "learn/nodes/forest_import.h"

/* X(theirs, ours, link) */
#define OBJECTIVES(X)                                      \
  X("regression", "reg:squarederror", NONE)                \
  X("regression_l1", "reg:absoluteerror", NONE)            \
  X("huber", "reg:squarederror", NONE)                     \
  X("fair", "reg:squarederror", NONE)                      \
  X("mape", "reg:absoluteerror", NONE)                     \
  X("quantile", "reg:quantileerror", NONE)                 \
  X("poisson", "count:poisson", NONE)                      \
  X("gamma", "reg:squarederror", EXP)                      \
  X("tweedie", "reg:squarederror", EXP)                    \
  X("binary", "binary:logistic", NONE)                     \
  X("cross_entropy", "reg:squarederror", LOGISTIC)         \
  X("cross_entropy_lambda", "reg:squarederror", LOG1P_EXP) \
  X("multiclass", "multi:softmax", NONE)                   \
  X("lambdarank", "rank:ndcg", NONE)                       \
  X("rank_xendcg", "rank:ndcg", NONE)

typedef struct span {
  const char *at, *end;
} span;

/* Lines of a part of the file, in which the values of keys are looked up. */
typedef struct section {
  span text;
} section;

typedef struct numbers {
  double *at;
  size_t count, capacity;
} numbers;

typedef struct reading {
  const char *start, *end;
  fw_imported *out;
  numbers left, right, feature, threshold, decision, gain, leaf, boundaries, bits, inner_count, leaf_count;
  int64_t *children[2];
  fw_split_node *nodes;
  size_t capacity[3];
  uint32_t *words;
  size_t word_capacity;
} reading;

static furrow_status fail_at(const reading *r, const char *at, furrow_error *err, const char *what) {
  fw_fail(err, FURROW_E_FORMAT, "%s", what);
  if (err && at) err->offset = (uint64_t)(at - r->start);
  return FURROW_E_FORMAT;
}

/* ---- Lines ---- */

/* Takes the next line off the text; false: there is none. */
static bool next_line(span *text, span *line) {
  if (text->at >= text->end) return false;
  const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
  *line = (span){text->at, newline ? newline : text->end};
  text->at = newline ? newline + 1 : text->end;
  if (line->end > line->at && line->end[-1] == '\r') line->end--;
  return true;
}

static bool is_line(span line, const char *text) {
  const size_t length = strlen(text);
  return (size_t)(line.end - line.at) == length && memcmp(line.at, text, length) == 0;
}

static bool starts_with(span line, const char *text) {
  const size_t length = strlen(text);
  return (size_t)(line.end - line.at) >= length && memcmp(line.at, text, length) == 0;
}

/* The value of a key: what follows its '='; a key without one has an empty value. */
static bool find(const section *of, const char *key, span *value) {
  span text = of->text, line;
  const size_t length = strlen(key);
  while (next_line(&text, &line)) {
    if (!starts_with(line, key)) continue;
    if (line.at + length == line.end) {
      *value = (span){line.end, line.end};
      return true;
    }
    if (line.at[length] != '=') continue;
    *value = (span){line.at + length + 1, line.end};
    return true;
  }
  return false;
}

/* Takes the next word of a line off. */
static bool next_word(span *line, span *word) {
  while (line->at < line->end && *line->at == ' ') line->at++;
  if (line->at == line->end) return false;
  const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
  *word = (span){line->at, blank ? blank : line->end};
  line->at = word->end;
  return true;
}

static furrow_status read_numbers(const reading *r, span line, const char *key, numbers *list, furrow_error *err) {
  span word;
  list->count = 0;
  while (next_word(&line, &word)) {
    FW_TRY(FW_GROW(&list->at, &list->capacity, list->count + 1, err));
    if (fw_read_f64(word.at, word.end, &list->at[list->count]) != word.end) {
      fw_fail(err, FURROW_E_FORMAT, "%s: not a number", key);
      if (err) err->offset = (uint64_t)(word.at - r->start);
      fw_error_set_token(err, word.at, (size_t)(word.end - word.at));
      return FURROW_E_FORMAT;
    }
    list->count++;
  }
  return FURROW_OK;
}

/* The numbers of a key, as many as `count`. Missing ones: all 0, unless they are required. */
static furrow_status take(const reading *r, const section *of, const char *key, bool required, size_t count,
                          numbers *list, furrow_error *err) {
  span value;
  if (find(of, key, &value)) {
    FW_TRY(read_numbers(r, value, key, list, err));
    if (list->count == count) return FURROW_OK;
    if (required || list->count > 0) {
      fw_fail(err, FURROW_E_FORMAT, "tree %zu: %s has %zu numbers, not %zu", r->out->forest->trees, key, list->count,
              count);
      if (err) err->offset = (uint64_t)(value.at - r->start);
      return FURROW_E_FORMAT;
    }
  } else if (required) {
    fw_fail(err, FURROW_E_FORMAT, "tree %zu: %s is missing", r->out->forest->trees, key);
    if (err) err->offset = (uint64_t)(of->text.at - r->start);
    return FURROW_E_FORMAT;
  }
  list->count = 0;
  return FURROW_OK;
}

/* One whole number from 0 to `most`. */
static furrow_status take_count(const reading *r, const section *of, const char *key, double most, size_t *count,
                                furrow_error *err) {
  span value = {of->text.at, of->text.at};
  double number = 0;
  if (!find(of, key, &value) || fw_read_f64(value.at, value.end, &number) != value.end || !(number >= 0) ||
      number > most || number != floor(number)) {
    fw_fail(err, FURROW_E_FORMAT, "%s is missing, or not a whole number from 0 to %.0f", key, most);
    if (err) err->offset = (uint64_t)(value.at - r->start);
    return FURROW_E_FORMAT;
  }
  *count = (size_t)number;
  return FURROW_OK;
}

/* ---- Trees ---- */

enum { DECISION_SET = 1, DECISION_LEFT = 2, MISSING_SHIFT = 2, MISSING_ZERO = 1, MISSING_NAN = 2 };

static furrow_status add_set(reading *r, double number, furrow_error *err) {
  const size_t sets = r->boundaries.count > 0 ? r->boundaries.count - 1 : 0;
  if (!(number >= 0 && number < (double)sets && number == floor(number)))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu: there is no set %g of %zu", r->out->forest->trees, number, sets);
  const double begin = r->boundaries.at[(size_t)number], end = r->boundaries.at[(size_t)number + 1];
  if (!(begin >= 0 && begin <= end && end <= (double)r->bits.count))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu: cat_boundaries do not fit cat_threshold", r->out->forest->trees);
  const size_t first = (size_t)begin, count = (size_t)end - first;
  FW_TRY(FW_GROW(&r->words, &r->word_capacity, count + 1, err));
  for (size_t i = 0; i < count; i++) {
    const double word = r->bits.at[first + i];
    if (!(word >= 0 && word <= UINT32_MAX))
      return fw_fail(err, FURROW_E_FORMAT, "tree %zu: cat_threshold has the number %g", r->out->forest->trees, word);
    r->words[i] = (uint32_t)word;
  }
  return fw_node_forest_add_set(r->out->forest, r->words, count, err);
}

static furrow_status set_split(reading *r, size_t i, fw_split_node *node, furrow_error *err) {
  const double feature = r->feature.at[i];
  const double decision = r->decision.count > 0 ? r->decision.at[i] : 0;
  if (!(feature >= 0 && feature < (double)r->out->forest->features && feature == floor(feature)))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, split %zu: there is no feature %g", r->out->forest->trees, i,
                   feature);
  if (!(decision >= 0 && decision < 12 && decision == floor(decision)))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu, split %zu: the decision_type %g is not known",
                   r->out->forest->trees, i, decision);
  const unsigned type = (unsigned)decision, missing = type >> MISSING_SHIFT;
  *node = (fw_split_node){.value = r->threshold.at[i],
                          .cover = r->inner_count.count > 0 ? r->inner_count.at[i] : 0,
                          .gain = r->gain.count > 0 ? (float)r->gain.at[i] : 0,
                          .feature = (int32_t)feature};
  if (type & DECISION_SET) { /* NaN goes to the right, whatever is missing */
    FW_TRY(add_set(r, node->value, err));
    node->value = (double)(r->out->forest->sets - 1);
    node->flags = FW_NODE_SET | FW_NODE_SET_LEFT;
    return FURROW_OK;
  }
  node->flags = (type & DECISION_LEFT ? FW_NODE_DEFAULT_LEFT : 0) | (missing != MISSING_NAN ? FW_NODE_NAN_ZERO : 0) |
                (missing == MISSING_ZERO ? FW_NODE_ZERO_MISSING : 0);
  return FURROW_OK;
}

/* Splits are nodes 0 … splits - 1, leaf i is node splits + i. */
static furrow_status place_of(const reading *r, double child, size_t splits, int64_t *place, furrow_error *err) {
  const double leaf = -child - 1;
  if (child != floor(child) || !(child < (double)splits) || !(leaf <= (double)splits))
    return fw_fail(err, FURROW_E_FORMAT, "tree %zu: there is no child %g", r->out->forest->trees, child);
  *place = child >= 0 ? (int64_t)child : (int64_t)splits + (int64_t)leaf;
  return FURROW_OK;
}

static furrow_status add_tree(reading *r, size_t leaves, uint32_t class_of, furrow_error *err) {
  const size_t splits = leaves - 1;
  for (unsigned side = 0; side < 2; side++) FW_TRY(FW_GROW(&r->children[side], &r->capacity[side], 2 * leaves, err));
  FW_TRY(FW_GROW(&r->nodes, &r->capacity[2], 2 * leaves, err));
  for (size_t i = 0; i < splits; i++) {
    FW_TRY(place_of(r, r->left.at[i], splits, &r->children[0][i], err));
    FW_TRY(place_of(r, r->right.at[i], splits, &r->children[1][i], err));
    FW_TRY(set_split(r, i, &r->nodes[i], err));
  }
  for (size_t i = 0; i < leaves; i++) {
    r->children[0][splits + i] = r->children[1][splits + i] = -1;
    r->nodes[splits + i] = (fw_split_node){
        .value = r->leaf.at[i], .cover = r->leaf_count.count > 0 ? r->leaf_count.at[i] : 0, .feature = -1};
  }
  const fw_loose_tree tree = {splits + leaves, r->children[0], r->children[1], r->nodes};
  return fw_node_forest_add(r->out->forest, &tree, class_of, err);
}

static furrow_status read_tree(reading *r, const section *of, uint32_t class_of, furrow_error *err) {
  size_t leaves = 0, sets = 0;
  span linear;
  if (find(of, "is_linear", &linear) && !is_line(linear, "0"))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "tree %zu: linear leaves (linear_tree) are not read",
                   r->out->forest->trees);
  const double most = (double)(of->text.end - of->text.at);
  FW_TRY(take_count(r, of, "num_leaves", most, &leaves, err));
  FW_TRY(take_count(r, of, "num_cat", most, &sets, err));
  if (leaves == 0) return fw_fail(err, FURROW_E_FORMAT, "tree %zu has no leaves", r->out->forest->trees);
  FW_TRY(take(r, of, "leaf_value", true, leaves, &r->leaf, err));
  FW_TRY(take(r, of, "leaf_count", false, leaves, &r->leaf_count, err));
  r->boundaries.count = r->bits.count = 0;
  if (sets > 0) {
    span value;
    FW_TRY(take(r, of, "cat_boundaries", true, sets + 1, &r->boundaries, err));
    if (!find(of, "cat_threshold", &value)) return fail_at(r, of->text.at, err, "cat_threshold is missing");
    FW_TRY(read_numbers(r, value, "cat_threshold", &r->bits, err));
  }
  const struct {
    const char *key;
    bool required;
    numbers *list;
  } lists[] = {{"left_child", true, &r->left},
               {"right_child", true, &r->right},
               {"split_feature", true, &r->feature},
               {"threshold", true, &r->threshold},
               {"decision_type", false, &r->decision},
               {"split_gain", false, &r->gain},
               {"internal_count", false, &r->inner_count}};
  for (size_t i = 0; leaves > 1 && i < sizeof lists / sizeof *lists; i++)
    FW_TRY(take(r, of, lists[i].key, lists[i].required, leaves - 1, lists[i].list, err));
  if (leaves > 1 && (r->gain.count == 0 || r->inner_count.count == 0 || r->leaf_count.count == 0))
    r->out->forest->stats = false;
  return add_tree(r, leaves, class_of, err);
}

/* ---- The model ---- */

static furrow_status read_option(const reading *r, span words, const char *name, double fallback, double *number,
                                 furrow_error *err) {
  span word;
  *number = fallback;
  while (next_word(&words, &word)) {
    if (!starts_with(word, name)) continue;
    const char *at = word.at + strlen(name);
    if (fw_read_f64(at, word.end, number) != word.end || !(*number > 0) || isinf(*number))
      return fail_at(r, at, err, "an option of the objective is not a number above 0");
  }
  return FURROW_OK;
}

static bool has_word(span words, const char *name) {
  span word;
  while (next_word(&words, &word))
    if (is_line(word, name)) return true;
  return false;
}

static furrow_status read_objective(reading *r, const section *head, size_t classes, furrow_error *err) {
  static const struct {
    const char *theirs, *ours;
    fw_link link;
  } rules[] = {
#define FURROW_X(theirs, ours, link) {theirs, ours, FW_LINK_##link},
      OBJECTIVES(FURROW_X)
#undef FURROW_X
  };
  fw_imported *out = r->out;
  span value, word;
  double number = 0;
  if (!find(head, "objective", &value) || !next_word(&value, &word))
    return fw_fail(err, FURROW_E_UNSUPPORTED, "the model names no objective, so what its scores mean is not known");
  snprintf(out->their_objective, sizeof out->their_objective, "%.*s", (int)((word.end - word.at) & 63), word.at);
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (!is_line(word, rules[i].theirs)) continue;
    out->objective = rules[i].ours;
    out->forest->link = rules[i].link;
  }
  if (!out->objective) return fw_fail(err, FURROW_E_UNSUPPORTED, "the objective %s is not read", out->their_objective);
  if ((strcmp(out->objective, "multi:softmax") == 0) != (classes > 1))
    return fw_fail(err, FURROW_E_FORMAT, "num_class is %zu with the objective %s", classes, out->their_objective);
  if (strcmp(out->their_objective, "regression") == 0 && has_word(value, "sqrt"))
    out->forest->link = FW_LINK_SIGNED_SQUARE;
  if (strcmp(out->their_objective, "binary") == 0)
    FW_TRY(read_option(r, value, "sigmoid:", 1, &out->forest->scale, err));
  if (strcmp(out->their_objective, "quantile") == 0) {
    FW_TRY(read_option(r, value, "alpha:", 0, &number, err));
    out->quantile = number;
  }
  return FURROW_OK;
}

static furrow_status read_names(reading *r, const section *head, furrow_error *err) {
  fw_imported *out = r->out;
  span value, word;
  size_t count = 0;
  if (!find(head, "feature_names", &value)) return fail_at(r, r->start, err, "feature_names is missing");
  FW_TRY(FW_ALLOC_ZERO(&out->names, out->forest->features, err));
  while (next_word(&value, &word)) {
    if (count == out->forest->features) return fail_at(r, word.at, err, "there are more feature_names than features");
    if (memchr(word.at, 0, (size_t)(word.end - word.at))) return fail_at(r, word.at, err, "a name has a byte 0 in it");
    FW_TRY(fw_strndup(&out->names[count++], word.at, (size_t)(word.end - word.at), err));
  }
  return count == out->forest->features ? FURROW_OK
                                        : fail_at(r, value.at, err, "there are fewer feature_names than features");
}

static furrow_status read_head(reading *r, const section *head, size_t *classes, size_t *each, furrow_error *err) {
  size_t features = 0;
  span value;
  FW_TRY(take_count(r, head, "num_class", FW_NODE_CLASSES_MOST, classes, err));
  FW_TRY(take_count(r, head, "num_tree_per_iteration", FW_NODE_CLASSES_MOST, each, err));
  FW_TRY(take_count(r, head, "max_feature_idx", INT32_MAX - 1, &features, err));
  if (*classes == 0 || *each != *classes)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "%zu trees in a round for %zu classes are not read", *each, *classes);
  /* every feature has a name, so this is bounded by the size of the file */
  if (features >= (size_t)(r->end - r->start)) return fail_at(r, r->start, err, "max_feature_idx is too large");
  FW_TRY(fw_node_forest_create(&r->out->forest, *classes, err));
  r->out->forest->stats = r->out->forest->absent_zero = true;
  r->out->forest->features = features + 1;
  FW_TRY(read_names(r, head, err));
  snprintf(r->out->from, sizeof r->out->from, "lightgbm");
  if (find(head, "version", &value))
    snprintf(r->out->from, sizeof r->out->from, "lightgbm %.*s",
             (int)(value.end - value.at < 16 ? value.end - value.at : 16), value.at);
  return read_objective(r, head, *classes, err);
}

/* Takes lines up to the next tree, or to the end of trees; *tree: a tree follows. */
static section next_section(span *text, bool *tree, bool *end) {
  section found = {{text->at, text->at}};
  span line;
  *tree = *end = false;
  while (!*tree && !*end && next_line(text, &line)) {
    *tree = starts_with(line, "Tree=");
    *end = is_line(line, "end of trees");
    if (!*tree && !*end) found.text.end = text->at;
  }
  return found;
}

static furrow_status read_model(reading *r, furrow_error *err) {
  span text = {r->start, r->end}, average;
  size_t classes = 0, each = 0;
  bool tree = false, end = false;
  const section head = next_section(&text, &tree, &end);
  FW_TRY(read_head(r, &head, &classes, &each, err));
  while (tree) {
    const section of = next_section(&text, &tree, &end);
    FW_TRY(read_tree(r, &of, (uint32_t)(r->out->forest->trees % each), err));
  }
  if (!end) return fail_at(r, r->end, err, "the file ends before \"end of trees\": it is not whole");
  const size_t trees = r->out->forest->trees;
  if (trees == 0 || trees % each != 0)
    return fw_fail(err, FURROW_E_FORMAT, "there are %zu trees for rounds of %zu", trees, each);
  r->out->rounds = r->out->rounds_there = trees / each;
  if (find(&head, "average_output", &average)) r->out->forest->divisor = (double)r->out->rounds;
  return fw_node_forest_check(r->out->forest, err);
}

furrow_status fw_lightgbm_read(fw_imported *imported, const char *text, size_t size, const fw_import_rules *rules,
                               furrow_error *err) {
  reading r = {.start = text, .end = text + size, .out = imported};
  const furrow_status status = read_model(&r, err);
  void *const memory[] = {r.left.at,       r.right.at, r.feature.at, r.threshold.at,  r.decision.at,
                          r.gain.at,       r.leaf.at,  r.bits.at,    r.boundaries.at, r.inner_count.at,
                          r.leaf_count.at, r.nodes,    r.words,      r.children[0],   r.children[1]};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) fw_free(memory[i]);
  if (status != FURROW_OK && rules->file) fw_error_set_file(err, rules->file);
  return status;
}
