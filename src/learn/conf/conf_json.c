/* learn/conf/conf_json.c: Angel's JSON algorithm file and graph.json: the sections with plain values, the defaults of
 * layers, the layers. Whatever Angel does not know is refused, except for a section of Furrow's own, which Angel
 * ignores. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "learn/conf/conf_data.h"

/* ---- Texts ---- */

static furrow_json_text trimmed(furrow_json_text text) {
  while (text.size > 0 && isspace((unsigned char)text.bytes[0])) text.bytes++, text.size--;
  while (text.size > 0 && isspace((unsigned char)text.bytes[text.size - 1])) text.size--;
  return text;
}

static furrow_status read_trimmed(furrow_json *json, furrow_json_text *text, furrow_error *err) {
  FW_TRY(furrow_json_string(json, text, err));
  *text = trimmed(*text);
  return FURROW_OK;
}

/* Copies the beginning of a member's name and appends a 0. Returns whether the whole name was copied. */
static bool copy_name(char name[FW_SUGGESTION_LENGTH + 1], furrow_json_text member) {
  const size_t n = member.size < FW_SUGGESTION_LENGTH ? member.size : FW_SUGGESTION_LENGTH;
  memcpy(name, member.bytes, n);
  name[n] = 0;
  return member.size == n && !memchr(name, 0, n);
}

static furrow_status refuse_member(furrow_json *json, furrow_json_text member, const char *whose,
                                   const char *const *known, size_t count, furrow_error *err) {
  char written[FW_SUGGESTION_LENGTH + 1];
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  copy_name(written, member);
  for (size_t i = 0; i < count; i++) fw_suggestion_offer(&suggestion, written, known[i]);
  furrow_status status =
      furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "is not one of %s keys", whose);
  if (fw_suggestion_is_near(&suggestion, written)) fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return status;
}

static furrow_status fail_twice(furrow_json *json, furrow_error *err) {
  return furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "occurs twice");
}

/* ---- Plain values ---- */

/* Reads the text of the next value, which must have the JSON type of the key's kind, or (any) be a string. */
static furrow_status value_text(furrow_json *json, fw_value_kind kind, bool any, furrow_json_text *text,
                                furrow_error *err) {
  const furrow_json_kind next = furrow_json_peek(json);
  const bool plain = next == FURROW_JSON_NUMBER || next == FURROW_JSON_BOOL;
  const bool number = kind == FW_VALUE_INT || kind == FW_VALUE_REAL;
  double wanted;
  bool yes;
  if (any && next != FURROW_JSON_STRING && !plain)
    return furrow_json_fail(json, furrow_json_next_offset(json), NULL, err, "must be a text, a number, true or false");
  if (!any && number && next != FURROW_JSON_NUMBER) return furrow_json_f64(json, &wanted, err);
  if (!any && kind == FW_VALUE_YES_NO && next != FURROW_JSON_BOOL) return furrow_json_bool(json, &yes, err);
  const bool base = kind == FW_VALUE_INDEX_BASE && next == FURROW_JSON_NUMBER;
  const bool as_it_stands = any ? plain : number || kind == FW_VALUE_YES_NO || base;
  return as_it_stands ? furrow_json_skip(json, text, err) : read_trimmed(json, text, err);
}

static furrow_status read_value(furrow_json *json, fw_key key, bool any, fw_value *value, furrow_error *err) {
  furrow_error spec = {0};
  furrow_json_text text = {NULL, 0};
  fw_value parsed;
  if (value->text) return fail_twice(json, err);
  FW_TRY(value_text(json, fw_key_kind(key), any, &text, err));
  if (fw_key_parse(key, text.bytes, text.size, &parsed, &spec) == FURROW_OK)
    return fw_value_keep(value, parsed, text.bytes, text.size, err);
  const furrow_status status = furrow_json_fail(json, furrow_json_offset(json), NULL, err, "%s", spec.message);
  if (spec.hint[0]) fw_error_set_hint(err, "%s", spec.hint);
  return status;
}

/* The key of a member of Angel's section, or (NULL) of Furrow's, whose members have the names of keys. */
static fw_key find_key(const char *section, furrow_json_text member) {
  char name[FW_SUGGESTION_LENGTH + 1];
  if (section) return fw_key_at_path(section, member);
  return copy_name(name, member) ? fw_key_find(name) : FW_KEYS;
}

static furrow_status refuse_key(furrow_json *json, const char *section, furrow_json_text member, furrow_error *err) {
  const char *known[FW_KEYS + 1];
  const size_t n = section ? strlen(section) : 0;
  size_t count = 0;
  const furrow_learn_key *key;
  for (size_t i = 0; (key = furrow_learn_key_at(i)); i++)
    if (!section)
      known[count++] = key->name;
    else if (key->json_path && strncmp(key->json_path, section, n) == 0 && key->json_path[n] == '/')
      known[count++] = key->json_path + n + 1;
  if (section && strcmp(section, "train") == 0) known[count++] = "decay";
  return refuse_member(json, member, section ? "Angel's" : "Furrow's", known, count, err);
}

/* In Furrow's section a number, true or false stand for their text. */
static furrow_status read_section(furrow_json *json, const char *section, fw_value values[FW_KEYS], furrow_error *err) {
  furrow_json_text member;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &member, err)) == FURROW_OK) {
    const fw_key key = find_key(section, member);
    status =
        key == FW_KEYS ? refuse_key(json, section, member, err) : read_value(json, key, !section, &values[key], err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- Optimizers, activations and losses: a name, or an object with the name as `type` --------------------------- */

/* ---- Numbers of an object ---- */

enum { MOST_NUMBERS = 8 };

/* An object with a type and numbers, all of them optional. */
typedef struct typed_object {
  const fw_names *types;
  const char *members[MOST_NUMBERS]; /* names of the numbers, NULL after the last */
  const char *text;                  /* name of a member that is a text; NULL: none */
  uint64_t text_offset;              /* offset of the text; 0: not there */
  bool published;                    /* whether it is FW_ADAGRAD_VARIANT */
  int64_t type;                      /* -1: not there */
  double numbers[MOST_NUMBERS];      /* NaN: not there */
  uint64_t offsets[MOST_NUMBERS];
} typed_object;

static furrow_status read_object_name(furrow_json *json, const fw_names *names, int64_t *which, furrow_error *err) {
  furrow_error spec = {0};
  furrow_json_text text;
  FW_TRY(read_trimmed(json, &text, err));
  if (fw_name_find(names, text.bytes, text.size, which, &spec) == FURROW_OK) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "%s", spec.message);
}

static furrow_status read_object_type(furrow_json *json, typed_object *object, furrow_error *err) {
  if (object->type >= 0) return fail_twice(json, err);
  return read_object_name(json, object->types, &object->type, err);
}

static furrow_status read_number(furrow_json *json, double *number, uint64_t *place, furrow_error *err) {
  if (!isnan(*number)) return fail_twice(json, err);
  furrow_status status = furrow_json_f64(json, number, err);
  *place = furrow_json_offset(json);
  return status;
}

static furrow_status read_text(furrow_json *json, typed_object *object, furrow_error *err) {
  furrow_json_text text;
  if (object->text_offset > 0) return fail_twice(json, err);
  furrow_status status = furrow_json_string(json, &text, err);
  object->text_offset = furrow_json_offset(json);
  object->published = status == FURROW_OK && furrow_json_is(text, FW_ADAGRAD_VARIANT);
  return status;
}

/* mlcore writes some keys with a blank before them. */
static bool is_member(furrow_json_text member, const char *name) {
  if (member.size > 0 && member.bytes[0] == ' ') member.bytes++, member.size--;
  return furrow_json_is(member, name);
}

static furrow_status read_object_member(furrow_json *json, typed_object *object, furrow_json_text member,
                                        furrow_error *err) {
  const char *known[MOST_NUMBERS + 2] = {"type"};
  size_t n = 1;
  if (furrow_json_is(member, "type")) return read_object_type(json, object, err);
  for (size_t i = 0; object->members[i]; i++) {
    if (is_member(member, object->members[i])) return read_number(json, &object->numbers[i], &object->offsets[i], err);
    known[n++] = object->members[i];
  }
  if (object->text && furrow_json_is(member, object->text)) return read_text(json, object, err);
  if (object->text) known[n++] = object->text;
  return refuse_member(json, member, "Angel's", known, n, err);
}

static furrow_status read_object(furrow_json *json, typed_object *object, furrow_error *err) {
  furrow_json_text member;
  object->type = -1;
  for (size_t i = 0; i < MOST_NUMBERS; i++) object->numbers[i] = NAN;
  if (furrow_json_peek(json) == FURROW_JSON_STRING) return read_object_type(json, object, err);
  const uint64_t begin = furrow_json_next_offset(json);
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &member, err)) == FURROW_OK)
    status = read_object_member(json, object, member, err);
  if (status != FURROW_END) return status;
  return object->type >= 0 ? FURROW_OK : furrow_json_fail(json, begin, "type", err, "is missing");
}

/* A number must be as the key of the same meaning takes it. */
static furrow_status check_number(const furrow_json *json, const typed_object *object, size_t i, fw_key key,
                                  furrow_error *err) {
  furrow_error spec = {0};
  if (isnan(object->numbers[i]) || fw_key_check(key, object->numbers[i], &spec) == FURROW_OK) return FURROW_OK;
  return furrow_json_fail(json, object->offsets[i], object->members[i], err, "%s", spec.message);
}

/* ---- Optimizers ---- */

/* Copies numbers to their fields, and refuses numbers that the type does not have. */
static furrow_status take_numbers(const furrow_json *json, const typed_object *object, fw_optimizer_spec *spec,
                                  furrow_error *err) {
  static const fw_key common[] = {FW_KEY_LR, FW_KEY_L1, FW_KEY_L2};
  double *const to[] = {&spec->lr, &spec->l1, &spec->l2, &spec->a, &spec->b};
  const fw_optimizer_param *params = fw_optimizer_params(spec->type);
  for (size_t i = 0; object->members[i]; i++) {
    size_t place = i < 3 ? i : 5;
    for (size_t k = 0; i >= 3 && k < 2; k++)
      if (params[k].member && strcmp(params[k].member, object->members[i]) == 0) place = 3 + k;
    if (place < 5) {
      FW_TRY(check_number(json, object, i, place < 3 ? common[i] : params[place - 3].key, err));
      *to[place] = object->numbers[i];
    } else if (!isnan(object->numbers[i])) {
      return furrow_json_fail(json, object->offsets[i], object->members[i], err, "is not of %s",
                              fw_optimizer_name(spec->type));
    }
  }
  return FURROW_OK;
}

static furrow_status read_optimizer(furrow_json *json, fw_optimizer_spec *spec, furrow_error *err) {
  typed_object object = {.types = &fw_optimizer_names,
                         .members = {"lr", "reg1", "reg2", "momentum", "alpha", "beta", "gamma"},
                         .text = "variant"};
  fw_optimizer_spec made = {.spec = true, .a = NAN, .b = NAN};
  FW_TRY(read_object(json, &object, err));
  made.type = (fw_optimizer_type)object.type;
  if (object.text_offset > 0 && (made.type != FW_OPTIMIZER_ADAGRAD || !object.published))
    return furrow_json_fail(json, object.text_offset, "variant", err, "must be %s, and AdaGrad alone has it",
                            FW_ADAGRAD_VARIANT);
  if (object.published) made.type = FW_OPTIMIZER_PUBLISHED_ADAGRAD;
  FW_TRY(take_numbers(json, &object, &made, err));
  *spec = made;
  return FURROW_OK;
}

/* ---- Activations and losses ---- */

static furrow_status read_activation(furrow_json *json, fw_activation_spec *spec, furrow_error *err) {
  typed_object object = {.types = &fw_activation_names,
                         .members = {"proba"},
                         .text = "actiontype"}; /* train or predict: the caller decides that */
  FW_TRY(read_object(json, &object, err));
  FW_TRY(check_number(json, &object, 0, FW_KEY_DROPOUT, err));
  const fw_activation type = (fw_activation)object.type;
  if (!fw_activation_drops(type) && !isnan(object.numbers[0]))
    return furrow_json_fail(json, object.offsets[0], "proba", err, "is not of %s", fw_activation_name(type));
  const double dropout = isnan(object.numbers[0]) ? 0.5 : object.numbers[0];
  *spec = (fw_activation_spec){true, type, fw_activation_drops(type) ? dropout : 0};
  return FURROW_OK;
}

static furrow_status read_loss(furrow_json *json, fw_loss_spec *spec, furrow_error *err) {
  typed_object object = {.types = &fw_loss_names, .members = {"delta"}};
  FW_TRY(read_object(json, &object, err));
  FW_TRY(check_number(json, &object, 0, FW_KEY_HUBER_DELTA, err));
  const fw_loss_type type = (fw_loss_type)object.type;
  if (type != FW_LOSS_HUBER && !isnan(object.numbers[0]))
    return furrow_json_fail(json, object.offsets[0], "delta", err, "is not of %s", fw_loss_name(type));
  *spec = (fw_loss_spec){true, type, object.numbers[0]};
  return FURROW_OK;
}

/* ---- Layers: an array of objects, or an object of objects by name (mlcore) -------------------------------------- */

/* A layer has the members of its type, and no others. */
enum { NAME, TYPE, WIDTH, WIDTHS, FACTORS, INPUT, INPUTS, ACTIVATION, ACTIVATIONS, LOSS, OPTIMIZER, MEMBERS };
static const char *const member_names[MEMBERS] = {"name",       "type",       "outputdim",   "outputdims",
                                                  "numfactors", "inputlayer", "inputlayers", "transfunc",
                                                  "transfuncs", "lossfunc",   "optimizer"};

/* What a layer may have, and must have, by its family. Angel requires outputdim of poolings, too; here it follows from
 * the inputs. */
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
  size_t capacity; /* capacity of graph->layers */
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
  FW_TRY(read_trimmed(json, &text, err));
  FW_TRY(check_name(json, furrow_json_offset(json), text, err));
  if (r->layer.name) { /* the key that the layer stands under */
    if (furrow_json_is(text, r->layer.name)) return FURROW_OK;
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not the key of the layer");
  }
  return fw_arena_text(&r->graph->arena, &r->layer.name, text.bytes, text.size, err);
}

/* Angel 2.0 had several types of input layers, which are one type now; its documents still use them. */
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
  FW_TRY(read_trimmed(json, &text, err));
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
  FW_TRY(read_trimmed(json, &text, err));
  if (memchr(text.bytes, 0, text.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has a byte 0 in it");
  return fw_arena_text(&r->graph->arena, name, text.bytes, text.size, err);
}

/* outputdims, transfuncs or inputlayers. */
static furrow_status read_list(furrow_json *json, reading *r, size_t member, size_t *count, furrow_error *err) {
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    const size_t i = (*count)++;
    status = i == FW_INPUTS_MAX
                 ? furrow_json_fail(json, furrow_json_offset(json), NULL, err, "exceeds the limit of %d", FW_INPUTS_MAX)
             : member == WIDTHS ? read_width(json, &r->width_list[i], err)
             : member == INPUTS ? read_input(json, r, &r->input_list[i], err)
                                : read_activation(json, &r->activation_list[i], err);
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
  case ACTIVATION: return read_activation(json, &r->layer.activation, err);
  case ACTIVATIONS: return read_list(json, r, member, &r->activations, err);
  case LOSS: return read_loss(json, &r->layer.loss, err);
  default: return read_optimizer(json, &r->layer.optimizer, err);
  }
}

static furrow_status read_known_member(furrow_json *json, reading *r, furrow_json_text key, furrow_error *err) {
  for (size_t i = 0; i < MEMBERS; i++) {
    if (!furrow_json_is(key, member_names[i])) continue;
    r->offsets[i] = furrow_json_next_offset(json);
    if (r->seen & BIT(i)) return furrow_json_fail(json, r->offsets[i], NULL, err, "occurs twice");
    r->seen |= BIT(i);
    return read_member(json, r, i, err);
  }
  return refuse_member(json, key, "Angel's", member_names, MEMBERS, err);
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
  if (one && many)
    return furrow_json_fail(json, r->offsets[WIDTH], "outputdim", err, "cannot be used together with outputdims");
  if (r->seen & BIT(ACTIVATION) && (many || r->seen & BIT(ACTIVATIONS)))
    return furrow_json_fail(json, r->offsets[ACTIVATION], "transfunc", err,
                            "does not apply to a stack: use transfuncs");
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
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "exceeds the limit of %d layers", FW_LAYERS_MAX);
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

static furrow_status read_layers(furrow_json *json, fw_graph_spec **graph, furrow_error *err) {
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

/* ---- The file ---- */

enum { DATA, MODEL, TRAIN, GBDT, DEFAULT_OPTIMIZER, DEFAULT_ACTIVATION, DEFAULT_LOSS, LAYERS, FURROW, SECTIONS };
static const char *const section_names[SECTIONS] = {
    "data", "model", "train", "gbdt", "default_optimizer", "default_transfunc", "default_lossfunc", "layers", "furrow"};

static furrow_status read_part(furrow_json *json, size_t section, fw_conf_json *spec, furrow_error *err) {
  switch (section) {
  case DEFAULT_OPTIMIZER: return read_optimizer(json, &spec->defaults.optimizer, err);
  case DEFAULT_ACTIVATION: return read_activation(json, &spec->defaults.activation, err);
  case DEFAULT_LOSS: return read_loss(json, &spec->defaults.loss, err);
  case LAYERS: return read_layers(json, &spec->graph, err);
  case FURROW: return read_section(json, NULL, spec->keys, err);
  default: return read_section(json, section_names[section], spec->values, err);
  }
}

static furrow_status read_root_member(furrow_json *json, furrow_json_text member, fw_conf_json *spec, unsigned *seen,
                                      furrow_error *err) {
  for (size_t i = 0; i < SECTIONS; i++) {
    if (!furrow_json_is(member, section_names[i])) continue;
    if (*seen & 1u << i) return fail_twice(json, err);
    *seen |= 1u << i;
    return read_part(json, i, spec, err);
  }
  return refuse_member(json, member, "Angel's", section_names, SECTIONS, err);
}

furrow_status fw_conf_json_read(fw_conf_json *spec, const char *text, size_t size, const char *file,
                                furrow_error *err) {
  furrow_json json;
  furrow_json_text member;
  unsigned seen = 0;
  fw_json_open(&json, text, size, file);
  furrow_status status = furrow_json_object(&json, err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &member, err)) == FURROW_OK)
    status = read_root_member(&json, member, spec, &seen, err);
  if (status == FURROW_END) status = furrow_json_end(&json, err);
  fw_json_close(&json);
  spec->trees = (seen & 1u << GBDT) && !(seen & 1u << LAYERS);
  return status;
}
