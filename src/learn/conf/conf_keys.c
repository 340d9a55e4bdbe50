/* learn/conf/conf_keys.c: the keys of a configuration, and reading their values. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/number_in.h"
#include "furrow/rows.h"
#include "learn/conf/conf_data.h"

typedef struct key_rule {
  furrow_learn_key facts;
  fw_value_kind kind;
  double least, most;
} key_rule;

static const key_rule rules[FW_KEYS] = {
#define FURROW_X(id, name, angel, json, kind, least, most, fallback, value, help) \
  {{name, angel, json, value, fallback, help}, FW_VALUE_##kind, least, most},
    FW_LEARN_KEYS(FURROW_X)
#undef FURROW_X
};

const furrow_learn_key *furrow_learn_key_at(size_t i) {
  return i < FW_KEYS ? &rules[i].facts : NULL;
}

const furrow_learn_key *fw_key_facts(fw_key key) {
  return &rules[key].facts;
}

fw_value_kind fw_key_kind(fw_key key) {
  return rules[key].kind;
}

/* ---- Finding ---- */

/* Other names of keys: `factors`, names of Angel's trees, of older versions of Angel, and of its documents. */
static const struct alias {
  const char *name;
  fw_key key;
} aliases[] = {{"factors", FW_KEY_RANK},
               {"ml.gbdt.class.num", FW_KEY_CLASSES},
               {"ml.gbdt.feature.sample.ratio", FW_KEY_FEATURE_RATIO},
               {"ml.decay.intervals", FW_KEY_DECAY_INTERVALS},
               {"ml.validate.ratio", FW_KEY_VALID_RATIO},
               {"ml.sparseinputlayer.optimizer", FW_KEY_INPUT_OPTIMIZER},
               {"ml.lr.model.type", FW_KEY_MODEL_TYPE},
               {"ml.lr.reg.l1", FW_KEY_L1},
               {"ml.lr.reg.l2", FW_KEY_L2},
               {"ml.svm.reg.l2", FW_KEY_L2},
               {"ml.mlr.reg.l2", FW_KEY_L2}};

static struct alias find_name(const char *name) {
  for (size_t i = 0; i < FW_KEYS; i++) {
    const furrow_learn_key *facts = &rules[i].facts;
    if (strcmp(facts->name, name) == 0) return (struct alias){facts->name, (fw_key)i};
    if (facts->angel_key && strcmp(facts->angel_key, name) == 0) return (struct alias){facts->angel_key, (fw_key)i};
  }
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (strcmp(aliases[i].name, name) == 0) return aliases[i];
  return (struct alias){NULL, FW_KEYS};
}

fw_key fw_key_find(const char *name) {
  return find_name(name).key;
}

const char *fw_key_static_name(const char *name) {
  return find_name(name).name;
}

/* In any case: Angel's documents print loadPath, and its code reads loadpath. */
static bool is_member(const char *name, furrow_json_text member) {
  return strlen(name) == member.size && strncasecmp(name, member.bytes, member.size) == 0;
}

fw_key fw_key_at_path(const char *section, furrow_json_text member) {
  const size_t n = strlen(section);
  for (size_t i = 0; i < FW_KEYS; i++) {
    const char *path = rules[i].facts.json_path;
    if (path && strncmp(path, section, n) == 0 && path[n] == '/' && is_member(path + n + 1, member)) return (fw_key)i;
  }
  /* of Angel 2.0, and still in its documents */
  return strcmp(section, "train") == 0 && is_member("decay", member) ? FW_KEY_LEARN_DECAY : FW_KEYS;
}

/* ---- Values ---- */

static furrow_status bad_number(const key_rule *rule, const char *what, furrow_error *err) {
  if (rule->most == FW_BELOW_1)
    return fw_fail(err, FURROW_E_ARGUMENT, "must be %s from %g to 1, 1 itself excluded", what, rule->least);
  if (rule->most >= FW_RANGE_MAX) return fw_fail(err, FURROW_E_ARGUMENT, "must be %s, %g or more", what, rule->least);
  return fw_fail(err, FURROW_E_ARGUMENT, "must be %s from %g to %.10g", what, rule->least, rule->most);
}

furrow_status fw_key_check(fw_key key, double number, furrow_error *err) {
  const key_rule *rule = &rules[key];
  return number >= rule->least && number <= rule->most ? FURROW_OK : bad_number(rule, "a number", err);
}

static furrow_status parse_integer(const key_rule *rule, const char *text, size_t size, fw_value *value,
                                   furrow_error *err) {
  const char *end = text + size;
  int64_t number = 0;
  bool overflow = false;
  if (fw_read_i64(text, end, &number, &overflow) != end || overflow || (double)number < rule->least ||
      (double)number > rule->most)
    return bad_number(rule, "a whole number", err);
  value->integer = number;
  return FURROW_OK;
}

static furrow_status parse_real(const key_rule *rule, const char *text, size_t size, fw_value *value,
                                furrow_error *err) {
  const char *end = text + size;
  if (fw_read_f64(text, end, &value->real) != end) return bad_number(rule, "a number", err);
  return fw_key_check((fw_key)(rule - rules), value->real, err);
}

/* The index of the text among words that are separated by |; -1: it is not one of them. */
static int word_of(const char *words, const char *text, size_t size) {
  for (int i = 0;; i++) {
    const size_t n = strcspn(words, "|");
    if (n == size && strncmp(words, text, n) == 0) return i;
    if (!words[n]) return -1;
    words += n + 1;
  }
}

/* One of some words, whose number is the value. */
static furrow_status parse_words(const char *words, const char *wanted, const char *text, size_t size, fw_value *value,
                                 furrow_error *err) {
  value->integer = word_of(words, text, size);
  return value->integer >= 0 ? FURROW_OK : fw_fail(err, FURROW_E_ARGUMENT, "must be %s", wanted);
}

static furrow_status parse_yes_no(const char *text, size_t size, fw_value *value, furrow_error *err) {
  FW_TRY(parse_words("no|yes|false|true|0|1", "yes or no", text, size, value, err));
  value->integer %= 2;
  return FURROW_OK;
}

static furrow_status parse_index_base(const char *text, size_t size, fw_value *value, furrow_error *err) {
  FW_TRY(parse_words("0|1|auto", "0, 1 or auto", text, size, value, err));
  if (value->integer == 2) value->integer = -1;
  return FURROW_OK;
}

/* Blanks and tabs, however many, stand between the fields of text formats; Angel splits by any regular expression. */
static furrow_status parse_separator(const char *text, size_t size, furrow_error *err) {
  static const char *const blanks[] = {"\\s+", "\\s", "\\s*", " ", " +", "\t", "\\t", "\\t+", "[ \\t]+", "[\\s]+"};
  for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
    if (strlen(blanks[i]) == size && memcmp(blanks[i], text, size) == 0) return FURROW_OK;
  fw_fail(err, FURROW_E_ARGUMENT, "must stand for blanks, as \\s+ does");
  fw_error_set_hint(err, "values with commas between them are the format csv, with the argument label_column=0");
  return FURROW_E_ARGUMENT;
}

/* ---- Lists ---- */

/* Reads one element: a number, for a category optionally followed by its number of values. NULL: malformed. */
static const char *read_element(fw_value_kind kind, const char *at, const char *end, fw_element *element) {
  bool overflow = false;
  uint64_t values;
  if (kind == FW_VALUE_NUMBERS) return fw_read_f64(at, end, &element->real);
  at = fw_read_u64(at, end, &element->whole, &overflow);
  if (kind == FW_VALUE_CATEGORIES && at && !overflow && at < end && *at == ':')
    at = fw_read_u64(at + 1, end, &values, &overflow);
  return overflow ? NULL : at;
}

static bool takes_element(fw_value_kind kind, fw_element element, double last) {
  if (kind == FW_VALUE_NUMBERS) return element.real > last && !isinf(element.real);
  return kind != FW_VALUE_WIDTHS || (element.whole >= 1 && element.whole <= FW_WIDTH_MAX);
}

static furrow_status bad_list(fw_value_kind kind, furrow_error *err) {
  if (kind == FW_VALUE_WIDTHS)
    return fw_fail(err, FURROW_E_ARGUMENT, "must be widths of layers from 1 to %d, with commas between them",
                   FW_WIDTH_MAX);
  return fw_fail(err, FURROW_E_ARGUMENT, "must be %s",
                 kind == FW_VALUE_NUMBERS  ? "numbers in ascending order, with commas between them"
                 : kind == FW_VALUE_FIELDS ? "numbers of fields, with commas between them: 1,4,5"
                                           : "none, all, or features with their numbers of values: 0:2,7:5");
}

/* Whether a number is in a list, which was checked before and ends in a comma. */
static bool occurs(const char *list, const char *end, uint64_t number) {
  for (fw_element other; list < end; list++) {
    list = read_element(FW_VALUE_FIELDS, list, end, &other);
    if (other.whole == number) return true;
  }
  return false;
}

static furrow_status parse_list(fw_value_kind kind, const char *text, size_t size, furrow_error *err) {
  const char *at = text, *end = text + size;
  double last = -HUGE_VAL;
  if (kind == FW_VALUE_CATEGORIES && word_of("none|all", text, size) >= 0) return FURROW_OK;
  do {
    const char *begin = at;
    fw_element element = {0};
    at = read_element(kind, at, end, &element);
    if (!at || (at < end && *at != ',') || !takes_element(kind, element, last)) return bad_list(kind, err);
    if (kind == FW_VALUE_FIELDS && occurs(text, begin, element.whole))
      return fw_fail(err, FURROW_E_ARGUMENT, "has a field twice");
    last = element.real;
  } while (at++ < end);
  return FURROW_OK;
}

furrow_status fw_conf_take_list(const furrow_learn_conf *conf, fw_key key, fw_arena *arena, fw_element **elements,
                                size_t *count, furrow_error *err) {
  const char *at = fw_conf_value(conf, key).text, *end = at + strlen(at);
  size_t n = 1;
  if (at == end) return FURROW_OK;
  for (const char *comma = at; (comma = strchr(comma, ',')); comma++) n++;
  FW_TRY(FW_ARENA_TAKE(arena, elements, n, err));
  *count = n;
  for (size_t i = 0; i < n; i++) at = read_element(fw_key_kind(key), at, end, &(*elements)[i]) + 1;
  return FURROW_OK;
}

/* ---- Features with a direction ---- */

bool fw_monotone_next(const char **at, const char *end, const char **name, size_t *size, int *direction) {
  const char *comma = memchr(*at, ',', (size_t)(end - *at)), *stop = comma ? comma : end;
  if (stop - *at < 3 || stop[-2] != '=' || (stop[-1] != '+' && stop[-1] != '-')) return false;
  *name = *at;
  *size = (size_t)(stop - *at) - 2;
  *direction = stop[-1] == '+' ? 1 : -1;
  *at = comma ? comma + 1 : end;
  return !comma || *at < end;
}

static furrow_status parse_monotone(const char *text, size_t size, furrow_error *err) {
  const char *at = text, *end = text + size, *name;
  size_t length;
  int direction;
  if (memchr(text, 0, size)) return fw_fail(err, FURROW_E_ARGUMENT, "has a byte 0 in it");
  while (at < end)
    if (!fw_monotone_next(&at, end, &name, &length, &direction))
      return fw_fail(err, FURROW_E_ARGUMENT, "must be columns with =+ or =-, and commas between them: price=-,3=+");
  return FURROW_OK;
}

/* ---- Names ---- */

static furrow_status parse_name(const fw_names *names, const char *text, size_t size, fw_value *value,
                                furrow_error *err) {
  FW_TRY(fw_name_find(names, text, size, &value->integer, err));
  value->text = names->names[value->integer];
  return FURROW_OK;
}

/* angel-adagrad keeps its own text: AdaGrad may mean the published one (fw_train_conf). */
static furrow_status parse_optimizer(const char *text, size_t size, fw_value *value, furrow_error *err) {
  const char *angels = "angel-adagrad";
  if (size != strlen(angels) || strncasecmp(text, angels, size) != 0)
    return parse_name(&fw_optimizer_names, text, size, value, err);
  *value = (fw_value){.text = angels, .integer = FW_OPTIMIZER_ADAGRAD};
  return FURROW_OK;
}

/* Accepts common names in addition to the names in the list. */
static furrow_status parse_loss(const char *text, size_t size, fw_value *value, furrow_error *err) {
  static const char *const usual[][2] = {{"logistic", "log"}, {"sampled-softmax", "SampledSoftmax"}};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (size == strlen(usual[i][0]) && strncasecmp(text, usual[i][0], size) == 0)
      return parse_name(&fw_loss_names, usual[i][1], strlen(usual[i][1]), value, err);
  return parse_name(&fw_loss_names, text, size, value, err);
}

/* Accepts the names that LightGBM and scikit-learn have for them, too. */
static furrow_status parse_objective(const char *text, size_t size, fw_value *value, furrow_error *err) {
  static const char *const usual[][2] = {{"absolute", "reg:absoluteerror"},    {"absolute_error", "reg:absoluteerror"},
                                         {"mae", "reg:absoluteerror"},         {"regression_l1", "reg:absoluteerror"},
                                         {"quantile", "reg:quantileerror"},    {"poisson", "count:poisson"},
                                         {"squared_error", "reg:squarederror"}};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (size == strlen(usual[i][0]) && memcmp(text, usual[i][0], size) == 0)
      return parse_name(&fw_objective_names, usual[i][1], strlen(usual[i][1]), value, err);
  return parse_name(&fw_objective_names, text, size, value, err);
}

/* A copy that ends in 0 of a text that is short enough to be a name. */
enum { NAME_CAPACITY = 256 };
static const char *short_copy(char buffer[NAME_CAPACITY], const char *text, size_t size) {
  if (size >= NAME_CAPACITY || memchr(text, 0, size)) size = 0;
  memcpy(buffer, text, size);
  buffer[size] = 0;
  return buffer;
}

static furrow_status parse_row_type(const char *text, size_t size, fw_value *value, furrow_error *err) {
  char buffer[NAME_CAPACITY];
  const furrow_matrix_row_type *type = NULL;
  if (furrow_matrix_row_type_find(short_copy(buffer, text, size), &type, NULL) != FURROW_OK || type->objects ||
      (type->element != FURROW_ELEMENT_F32 && type->element != FURROW_ELEMENT_F64) || strstr(type->name, "COMPONENT"))
    return fw_fail(err, FURROW_E_ARGUMENT,
                   "must be T_FLOAT_ or T_DOUBLE_ with DENSE, SPARSE or SPARSE_LONGKEY behind it");
  value->integer = type->number;
  value->text = type->name;
  return FURROW_OK;
}

static furrow_status parse_algorithm(const char *text, size_t size, fw_value *value, furrow_error *err) {
  char buffer[NAME_CAPACITY];
  const char *name = short_copy(buffer, text, size), *point = strrchr(name, '.');
  if (strcmp(point ? point + 1 : name, "GraphModel") == 0) {
    value->text = "";
    return FURROW_OK;
  }
  value->text = fw_builtin_find(name);
  if (value->text) return FURROW_OK;
  return fw_fail(err, FURROW_E_ARGUMENT, "must be one of %s", fw_builtin_names);
}

static furrow_status parse_format(const char *text, size_t size, furrow_error *err) {
  char buffer[NAME_CAPACITY], list[NAME_CAPACITY] = "";
  const furrow_rows_format *format;
  if (size == 4 && memcmp(text, "auto", 4) == 0) return FURROW_OK;
  if (furrow_rows_format_find(short_copy(buffer, text, size), &format, NULL) == FURROW_OK) return FURROW_OK;
  for (size_t i = 0, used = 0; used < sizeof list && (format = furrow_rows_format_at(i)); i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", format->name);
  fw_fail(err, FURROW_E_ARGUMENT, "must be a format of rows: %s", list);
  fw_error_set_hint(err, "register other formats first, or load the plugin that has them");
  return FURROW_E_ARGUMENT;
}

furrow_status fw_key_parse(fw_key key, const char *text, size_t size, fw_value *value, furrow_error *err) {
  const key_rule *rule = &rules[key];
  const char *words = rule->facts.value;
  *value = (fw_value){0};
  switch (rule->kind) {
  case FW_VALUE_TEXT: return memchr(text, 0, size) ? fw_fail(err, FURROW_E_ARGUMENT, "has a byte 0 in it") : FURROW_OK;
  case FW_VALUE_INT: return parse_integer(rule, text, size, value, err);
  case FW_VALUE_REAL: return parse_real(rule, text, size, value, err);
  case FW_VALUE_YES_NO: return parse_yes_no(text, size, value, err);
  case FW_VALUE_ALGORITHM: return parse_algorithm(text, size, value, err);
  case FW_VALUE_FORMAT: return parse_format(text, size, err);
  case FW_VALUE_ROW_TYPE: return parse_row_type(text, size, value, err);
  case FW_VALUE_INDEX_BASE: return parse_index_base(text, size, value, err);
  case FW_VALUE_WORD:
    value->integer = word_of(words, text, size);
    return value->integer >= 0 ? FURROW_OK : fw_fail(err, FURROW_E_ARGUMENT, "must be one of %s", words);
  case FW_VALUE_WIDTHS:
  case FW_VALUE_CATEGORIES:
  case FW_VALUE_NUMBERS:
  case FW_VALUE_FIELDS: return parse_list(rule->kind, text, size, err);
  case FW_VALUE_MONOTONE: return parse_monotone(text, size, err);
  case FW_VALUE_ACTION: return parse_words(words, "train, inctrain or predict", text, size, value, err);
  case FW_VALUE_SEPARATOR: return parse_separator(text, size, err);
  case FW_VALUE_OBJECTIVE: return parse_objective(text, size, value, err);
  case FW_VALUE_LABEL: return parse_name(&fw_label_names, text, size, value, err);
  case FW_VALUE_DECAY: return parse_name(&fw_decay_names, text, size, value, err);
  case FW_VALUE_OPTIMIZER: return parse_optimizer(text, size, value, err);
  case FW_VALUE_ACTIVATION: return parse_name(&fw_activation_names, text, size, value, err);
  case FW_VALUE_LOSS: return parse_loss(text, size, value, err);
  }
  return FURROW_OK;
}
