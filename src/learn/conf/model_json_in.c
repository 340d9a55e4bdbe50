/* learn/conf/model_json_in.c: a model's own configuration: graph.json, and what furrow.json beside it says of the data
 * (docs/formats/furrow-json.md). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/uri.h"
#include "learn/conf/conf_data.h"
#include "learn/conf/model_json.h"
#include "rows/encode/encoder.h"

enum { VERSION = 1 };

/* A member of furrow.json that a key takes. */
typedef struct member {
  const char *name;
  fw_key key;
} member;

static furrow_status set(furrow_learn_conf *conf, furrow_json *json, fw_key key, fw_buffer *text, furrow_error *err) {
  char *value = NULL;
  furrow_status status = fw_buffer_take(text, &value, NULL, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, fw_key_facts(key)->name, value, err);
  if (status == FURROW_E_ARGUMENT) {
    char message[sizeof err->message] = "";
    if (err) snprintf(message, sizeof message, "%s", err->message);
    status = furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not what a model has: %.150s", message);
  }
  fw_free(value);
  return status;
}

/* Names are escaped as in a URI, so that commas separate them. */
static furrow_status add_name(furrow_json *json, furrow_json_text name, fw_buffer *text, furrow_error *err) {
  char *copy = NULL;
  if (memchr(name.bytes, 0, name.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has a byte 0 in it");
  FW_TRY(fw_strndup(&copy, name.bytes, name.size, err));
  fw_uri_encode(text, copy);
  fw_free(copy);
  return FURROW_OK;
}

static furrow_status fail_kind(furrow_json *json, const char *wanted, furrow_error *err) {
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not %s", wanted);
}

/* Names of columns, or numbers, as the key has them. */
static furrow_status read_item(furrow_json *json, fw_key key, fw_buffer *text, furrow_error *err) {
  furrow_json_text item = {0};
  if (key == FW_KEY_COLUMNS) {
    FW_TRY(furrow_json_string(json, &item, err));
    return add_name(json, item, text, err);
  }
  if (furrow_json_peek(json) != FURROW_JSON_NUMBER) return fail_kind(json, "a number", err);
  FW_TRY(furrow_json_skip(json, &item, err));
  fw_buffer_append(text, item.bytes, item.size);
  return FURROW_OK;
}

static furrow_status read_list(furrow_learn_conf *conf, furrow_json *json, fw_key key, furrow_error *err) {
  fw_buffer text = {0};
  bool first = true;
  furrow_status status = furrow_json_array(json, err);
  while (status == FURROW_OK && (status = furrow_json_element(json, err)) == FURROW_OK) {
    if (!first) fw_buffer_text(&text, ",");
    first = false;
    status = read_item(json, key, &text, err);
  }
  if (status == FURROW_END) status = first ? FURROW_OK : set(conf, json, key, &text, err);
  fw_buffer_clear(&text);
  return status;
}

static furrow_status read_value(furrow_learn_conf *conf, furrow_json *json, fw_key key, furrow_error *err) {
  fw_buffer text = {0};
  furrow_json_text item = {0};
  const bool string = furrow_json_peek(json) == FURROW_JSON_STRING;
  if (furrow_json_peek(json) == FURROW_JSON_NULL) return furrow_json_skip(json, NULL, err);
  if (key == FW_KEY_COLUMNS || key == FW_KEY_LABELS) return read_list(conf, json, key, err);
  if (!string && furrow_json_peek(json) != FURROW_JSON_NUMBER) return fail_kind(json, "a text or a number", err);
  FW_TRY(string ? furrow_json_string(json, &item, err) : furrow_json_skip(json, &item, err));
  if (memchr(item.bytes, 0, item.size))
    return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "has a byte 0 in it");
  fw_buffer_append(&text, item.bytes, item.size);
  furrow_status status = set(conf, json, key, &text, err);
  fw_buffer_clear(&text);
  return status;
}

/* Members that are not in the list are for people. */
static furrow_status read_members(furrow_learn_conf *conf, furrow_json *json, const member *members, size_t count,
                                  furrow_error *err) {
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    size_t i = 0;
    while (i < count && !furrow_json_is(key, members[i].name)) i++;
    status = i < count ? read_value(conf, json, members[i].key, err) : furrow_json_skip(json, NULL, err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status read_version(furrow_json *json, furrow_error *err) {
  int64_t version = 0;
  FW_TRY(furrow_json_i64(json, &version, err));
  if (version >= 1 && version <= VERSION) return FURROW_OK;
  fw_fail(err, FURROW_E_UNSUPPORTED, "version %" PRId64 " of furrow.json is not known here; %d is the latest", version,
          VERSION);
  fw_error_set_file(err, json->file);
  return FURROW_E_UNSUPPORTED;
}

furrow_status fw_model_json_read(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                 furrow_error *err) {
  static const member data[] = {{"format", FW_KEY_FORMAT},
                                {"index_base", FW_KEY_INDEX_BASE},
                                {"columns", FW_KEY_COLUMNS},
                                {"class_names", FW_KEY_CLASS_NAMES},
                                {"label_column", FW_KEY_LABEL_COLUMN},
                                {"weight_column", FW_KEY_WEIGHT_COLUMN},
                                {"delimiter", FW_KEY_DELIMITER},
                                {"user_fields", FW_KEY_USER_FIELDS},
                                {"item_fields", FW_KEY_ITEM_FIELDS}};
  furrow_json json;
  furrow_json_text key;
  fw_json_open(&json, text, size, file);
  furrow_status status = furrow_json_object(&json, err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, err)) == FURROW_OK) {
    if (furrow_json_is(key, "version"))
      status = read_version(&json, err);
    else if (furrow_json_is(key, "data"))
      status = read_members(conf, &json, data, sizeof data / sizeof *data, err);
    else if (furrow_json_is(key, "labels"))
      status = read_value(conf, &json, FW_KEY_LABELS, err);
    else
      status = furrow_json_skip(&json, NULL, err);
  }
  if (status == FURROW_END) status = furrow_json_end(&json, err);
  fw_json_close(&json);
  return status;
}

/* ---- The encoder ---- */

/* data/dictionary of furrow.json; "": it has none. */
static furrow_status find_dictionary(const char *text, size_t size, const char *file, char found[17],
                                     furrow_error *err) {
  furrow_json json;
  furrow_json_text key, value;
  unsigned depth = 1;
  found[0] = 0;
  fw_json_open(&json, text, size, file);
  furrow_status status = furrow_json_object(&json, err);
  while (status == FURROW_OK || (status == FURROW_END && --depth > 0)) {
    status = furrow_json_member(&json, &key, err);
    if (status != FURROW_OK) continue;
    if (depth == 1 && furrow_json_is(key, "data")) {
      status = furrow_json_object(&json, err);
      depth += status == FURROW_OK;
    } else if (depth == 2 && furrow_json_is(key, "dictionary") && furrow_json_peek(&json) == FURROW_JSON_STRING) {
      status = furrow_json_string(&json, &value, err);
      if (status == FURROW_OK && value.size == 16) snprintf(found, 17, "%.16s", value.bytes);
    } else {
      status = furrow_json_skip(&json, NULL, err);
    }
  }
  fw_json_close(&json);
  return status == FURROW_END ? FURROW_OK : status;
}

/* A model's features are those of its own dictionary. */
static furrow_status take_encoder(furrow_learn_conf *conf, const char *folder, const char *text, size_t size,
                                  const char *file, furrow_error *err) {
  char wanted[17] = "", found[17];
  bool there = false;
  FW_TRY(fw_encoder_in_directory(folder, &there, err));
  if (!there) return FURROW_OK;
  if (text) FW_TRY(find_dictionary(text, size, file, wanted, err));
  FW_TRY(fw_encoder_digest(folder, found, err));
  if (wanted[0] && strcmp(wanted, found) != 0) {
    fw_fail(err, FURROW_E_FORMAT, "dictionary.furrow is not the one that the model was trained with");
    fw_error_set_file(err, folder);
    fw_error_set_hint(err, "its features have other numbers: bring the model's own file back, or train again");
    return FURROW_E_FORMAT;
  }
  return furrow_learn_conf_set(conf, "encoder", folder, err);
}

/* Angel's models have no furrow.json; a link that leads nowhere is one that is lost. */
static furrow_status check_absent(const char *path, furrow_error *err) {
  if (!fw_path_exists(path)) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "a symbolic link that leads nowhere");
  fw_error_set_file(err, path);
  return FURROW_E_FORMAT;
}

furrow_status furrow_learn_conf_load_model(furrow_learn_conf *conf, const char *folder, furrow_error *err) {
  char *path = NULL, *text = NULL;
  size_t size = 0;
  FW_TRY(fw_path_join(&path, folder, "graph.json", err));
  furrow_status status = furrow_learn_conf_load(conf, path, err);
  fw_free(path);
  if (status != FURROW_OK) return status;
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  status = fw_path_read_json(&text, &size, path, err);
  if (status == FURROW_OK) status = fw_model_json_read(conf, text, size, path, err);
  if (status == FURROW_E_NOT_FOUND) status = check_absent(path, err);
  if (status == FURROW_OK) status = take_encoder(conf, folder, text, size, path, err);
  fw_free(text);
  fw_free(path);
  return status;
}
