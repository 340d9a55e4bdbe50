/* learn/conf/conf_json.c: Angel's JSON algorithm file and graph.json: the sections with plain values, the defaults of
 * layers. Layers themselves: conf_json_layers.c. Whatever Angel does not know is refused. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/suggestion.h"
#include "learn/conf/conf_json.h"

/* ---- Texts ---- */

static fw_json_text trimmed(fw_json_text text) {
  while (text.size > 0 && isspace((unsigned char)text.bytes[0])) text.bytes++, text.size--;
  while (text.size > 0 && isspace((unsigned char)text.bytes[text.size - 1])) text.size--;
  return text;
}

furrow_status fw_json_trimmed(fw_json *json, fw_json_text *text, furrow_error *err) {
  furrow_status status = fw_json_string(json, text, err);
  if (status == FURROW_OK) *text = trimmed(*text);
  return status;
}

furrow_status fw_json_unknown(fw_json *json, fw_json_text member, const char *const *known, size_t count,
                              furrow_error *err) {
  char written[FW_SUGGESTION_LENGTH + 1];
  fw_suggestion suggestion = {NULL, SIZE_MAX};
  const size_t n = member.size < FW_SUGGESTION_LENGTH ? member.size : FW_SUGGESTION_LENGTH;
  memcpy(written, member.bytes, n);
  written[n] = 0;
  for (size_t i = 0; i < count; i++) fw_suggestion_offer(&suggestion, written, known[i]);
  furrow_status status = fw_json_fail(json, fw_json_next_offset(json), NULL, err, "is not one of Angel's keys");
  fw_error_set_hint(err, "did you mean %s?", suggestion.word);
  return status;
}

/* ---- Plain values ---- */

/* The text of the value that comes next, which must be of the JSON type that the key's kind has. */
static furrow_status value_text(fw_json *json, fw_value_kind kind, fw_json_text *text, furrow_error *err) {
  const fw_json_kind next = fw_json_peek(json);
  double number;
  bool yes;
  switch (kind) {
  case FW_VALUE_INT:
  case FW_VALUE_REAL:
    if (next != FW_JSON_NUMBER) return fw_json_f64(json, &number, err);
    return fw_json_skip(json, text, err);
  case FW_VALUE_YES_NO:
    if (next != FW_JSON_BOOL) return fw_json_bool(json, &yes, err);
    return fw_json_skip(json, text, err);
  case FW_VALUE_INDEX_BASE:
    if (next == FW_JSON_NUMBER) return fw_json_skip(json, text, err);
    break;
  default: break;
  }
  return fw_json_trimmed(json, text, err);
}

static furrow_status read_value(fw_json *json, fw_key key, fw_value *value, furrow_error *err) {
  furrow_error spec = {0};
  fw_json_text text = {NULL, 0};
  fw_value parsed;
  char *copy = NULL;
  if (value->text) return fw_json_fail(json, fw_json_next_offset(json), NULL, err, "is there twice");
  furrow_status status = value_text(json, fw_key_kind(key), &text, err);
  if (status != FURROW_OK) return status;
  if (fw_key_parse(key, text.bytes, text.size, &parsed, &spec) != FURROW_OK)
    return fw_json_fail(json, fw_json_offset(json), NULL, err, "%s", spec.message);
  status = parsed.text ? fw_strndup(&copy, parsed.text, strlen(parsed.text), err)
                       : fw_strndup(&copy, text.bytes, text.size, err);
  if (status != FURROW_OK) return status;
  *value = parsed;
  value->text = copy;
  return FURROW_OK;
}

static furrow_status unknown_value(fw_json *json, const char *section, fw_json_text member, furrow_error *err) {
  const char *known[FW_KEYS];
  const size_t n = strlen(section);
  size_t count = 0;
  const furrow_learn_key *key;
  for (size_t i = 0; (key = furrow_learn_key_at(i)); i++)
    if (key->json_path && strncmp(key->json_path, section, n) == 0 && key->json_path[n] == '/')
      known[count++] = key->json_path + n + 1;
  return fw_json_unknown(json, member, known, count, err);
}

static furrow_status read_section(fw_json *json, const char *section, fw_value values[FW_KEYS], furrow_error *err) {
  fw_json_text member;
  furrow_status status = fw_json_object(json, err);
  while (status == FURROW_OK && (status = fw_json_member(json, &member, err)) == FURROW_OK) {
    const fw_key key = fw_key_at_path(section, member);
    status = key == FW_KEYS ? unknown_value(json, section, member, err) : read_value(json, key, &values[key], err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* ---- The file ---- */

enum { DATA, MODEL, TRAIN, GBDT, OPTIMIZER, ACTIVATION, LOSS, LAYERS, SECTIONS };
static const char *const section_names[SECTIONS] = {
    "data", "model", "train", "gbdt", "default_optimizer", "default_transfunc", "default_lossfunc", "layers"};

static furrow_status read_part(fw_json *json, size_t section, fw_conf_json *spec, furrow_error *err) {
  switch (section) {
  case OPTIMIZER: return fw_json_optimizer(json, &spec->defaults.optimizer, err);
  case ACTIVATION: return fw_json_activation(json, &spec->defaults.activation, err);
  case LOSS: return fw_json_loss(json, &spec->defaults.loss, err);
  case LAYERS: return fw_json_layers(json, &spec->graph, err);
  default: return read_section(json, section_names[section], spec->values, err);
  }
}

static furrow_status read_member(fw_json *json, fw_json_text member, fw_conf_json *spec, unsigned *seen,
                                 furrow_error *err) {
  for (size_t i = 0; i < SECTIONS; i++) {
    if (!fw_json_is(member, section_names[i])) continue;
    if (*seen & 1u << i) return fw_json_fail(json, fw_json_next_offset(json), NULL, err, "is there twice");
    *seen |= 1u << i;
    return read_part(json, i, spec, err);
  }
  return fw_json_unknown(json, member, section_names, SECTIONS, err);
}

furrow_status fw_conf_json_read(fw_conf_json *spec, const char *text, size_t size, const char *file,
                                furrow_error *err) {
  fw_json json;
  fw_json_text member;
  unsigned seen = 0;
  fw_json_open(&json, text, size, file);
  furrow_status status = fw_json_object(&json, err);
  while (status == FURROW_OK && (status = fw_json_member(&json, &member, err)) == FURROW_OK)
    status = read_member(&json, member, spec, &seen, err);
  if (status == FURROW_END) status = fw_json_end(&json, err);
  fw_json_close(&json);
  spec->trees = (seen & 1u << GBDT) && !(seen & 1u << LAYERS);
  return status;
}
