/* learn/conf/model_json.c: a model's own configuration: graph.json, and the settings of the data in furrow.json
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
#include "learn/conf/forest_model.h"
#include "rows/encode/encoder.h"

enum { VERSION = 1 };

#define RECOMMENDER "recommender" /* the algorithm of recommenders of logs, which have no graph */

static furrow_status set(furrow_learn_conf *conf, furrow_json *json, fw_key key, fw_buffer *text, furrow_error *err) {
  char *value = NULL;
  furrow_status status = fw_buffer_take(text, &value, NULL, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, fw_key_facts(key)->name, value, err);
  if (status == FURROW_E_ARGUMENT) {
    char message[sizeof err->message] = "";
    if (err) snprintf(message, sizeof message, "%s", err->message);
    status = furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not valid in a model: %.150s", message);
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

/* Reads names of columns, or numbers, in the form that the key takes. */
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

/* Reads the digest of the dictionary, if it has the size of a digest. */
static furrow_status read_dictionary(furrow_json *json, char dictionary[17], furrow_error *err) {
  furrow_json_text digest;
  if (furrow_json_peek(json) != FURROW_JSON_STRING) return furrow_json_skip(json, NULL, err);
  FW_TRY(furrow_json_string(json, &digest, err));
  if (digest.size == 16) snprintf(dictionary, 17, "%.16s", digest.bytes);
  return FURROW_OK;
}

static furrow_status read_features(furrow_learn_conf *conf, furrow_json *json, furrow_error *err) {
  int64_t count = 0;
  FW_TRY(furrow_json_i64(json, &count, err));
  if (count < 0) return fail_kind(json, "a number of features", err);
  conf->features = (uint64_t)count;
  return FURROW_OK;
}

/* Other members are for human readers and are ignored. */
static furrow_status read_data(furrow_learn_conf *conf, furrow_json *json, char dictionary[17], furrow_error *err) {
  static const struct {
    const char *name;
    fw_key key;
  } members[] = {{"format", FW_KEY_FORMAT},
                 {"index_base", FW_KEY_INDEX_BASE},
                 {"columns", FW_KEY_COLUMNS},
                 {"class_names", FW_KEY_CLASS_NAMES},
                 {"label_column", FW_KEY_LABEL_COLUMN},
                 {"weight_column", FW_KEY_WEIGHT_COLUMN},
                 {"delimiter", FW_KEY_DELIMITER},
                 {"user_fields", FW_KEY_USER_FIELDS},
                 {"item_fields", FW_KEY_ITEM_FIELDS}};
  const size_t count = sizeof members / sizeof *members;
  furrow_json_text key;
  furrow_status status = furrow_json_object(json, err);
  while (status == FURROW_OK && (status = furrow_json_member(json, &key, err)) == FURROW_OK) {
    size_t i = 0;
    while (i < count && !furrow_json_is(key, members[i].name)) i++;
    status = i < count                           ? read_value(conf, json, members[i].key, err)
             : furrow_json_is(key, "features")   ? read_features(conf, json, err)
             : furrow_json_is(key, "dictionary") ? read_dictionary(json, dictionary, err)
                                                 : furrow_json_skip(json, NULL, err);
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

/* Checks the algorithm; null: the graph is from a JSON file. */
static furrow_status check_algorithm(furrow_json *json, furrow_error *err) {
  furrow_json_text name;
  char text[32];
  if (furrow_json_peek(json) == FURROW_JSON_NULL) return furrow_json_skip(json, NULL, err);
  FW_TRY(furrow_json_string(json, &name, err));
  snprintf(text, sizeof text, "%.*s", name.size < sizeof text ? (int)name.size : 0, name.bytes);
  if (fw_builtin_find(text) || strcmp(text, RECOMMENDER) == 0) return FURROW_OK;
  return furrow_json_fail(json, furrow_json_offset(json), NULL, err, "is not an algorithm; there are %s, " RECOMMENDER,
                          fw_builtin_names);
}

/* `dictionary` is unchanged if the text does not name one. */
static furrow_status read_model(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                char dictionary[17], furrow_error *err) {
  furrow_json json;
  furrow_json_text key;
  fw_json_open(&json, text, size, file);
  furrow_status status = furrow_json_object(&json, err);
  while (status == FURROW_OK && (status = furrow_json_member(&json, &key, err)) == FURROW_OK)
    status = furrow_json_is(key, "version")     ? read_version(&json, err)
             : furrow_json_is(key, "algorithm") ? check_algorithm(&json, err)
             : furrow_json_is(key, "data")      ? read_data(conf, &json, dictionary, err)
             : furrow_json_is(key, "labels")    ? read_value(conf, &json, FW_KEY_LABELS, err)
                                                : furrow_json_skip(&json, NULL, err);
  if (status == FURROW_END) status = furrow_json_end(&json, err);
  fw_json_close(&json);
  return status;
}

furrow_status fw_model_json_read(furrow_learn_conf *conf, const char *text, size_t size, const char *file,
                                 furrow_error *err) {
  char dictionary[17];
  return read_model(conf, text, size, file, dictionary, err);
}

/* ---- The encoder ---- */

/* Takes the features from the model's own dictionary. */
static furrow_status take_encoder(furrow_learn_conf *conf, const char *folder, const char *wanted, furrow_error *err) {
  char found[17];
  bool there = false;
  FW_TRY(fw_encoder_in_directory(folder, &there, err));
  if (!there) return FURROW_OK;
  FW_TRY(fw_encoder_digest(folder, found, err));
  if (wanted[0] && strcmp(wanted, found) != 0) {
    fw_fail(err, FURROW_E_FORMAT, "dictionary.furrow is not the one that the model was trained with");
    fw_error_set_file(err, folder);
    fw_error_set_hint(err, "its features have other numbers: bring the model's own file back, or train again");
    return FURROW_E_FORMAT;
  }
  return furrow_learn_conf_set(conf, "encoder", folder, err);
}

/* Angel's models have no furrow.json; but a broken link means that the file was lost. */
static furrow_status check_absent(const char *path, furrow_error *err) {
  if (!fw_path_exists(path)) return FURROW_OK;
  fw_fail(err, FURROW_E_FORMAT, "a symbolic link that leads nowhere");
  fw_error_set_file(err, path);
  return FURROW_E_FORMAT;
}

static furrow_status see_algorithm(void *user, const char *member, const char *text) {
  if (strcmp(member, "algorithm") != 0) return FURROW_OK;
  *(bool *)user = text && strcmp(text, RECOMMENDER) == 0;
  return FURROW_END;
}

furrow_status fw_model_is_recommender(const char *folder, bool *is, furrow_error *err) {
  char *path = NULL;
  *is = false;
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = FURROW_OK;
  if (fw_path_exists(path)) status = furrow_model_json_for_each(path, see_algorithm, is, err);
  fw_free(path);
  return status == FURROW_END ? FURROW_OK : status;
}

furrow_status fw_model_check_scores(const char *folder, furrow_error *err) {
  bool recommender = false;
  FW_TRY(fw_model_is_recommender(folder, &recommender, err));
  if (!recommender) return FURROW_OK;
  fw_fail(err, FURROW_E_UNSUPPORTED, "the model is a recommender, which ranks items for users and does not score rows");
  fw_error_set_file(err, folder);
  fw_error_set_hint(err, "recommend with it (furrow recommend), measure its rankings (furrow eval --rank), or train "
                         "another kind of model (fm) to score events");
  return FURROW_E_UNSUPPORTED;
}

/* Reads graph.json; for a recommender, the error explains why there is none. */
static furrow_status load_graph(furrow_learn_conf *conf, const char *folder, furrow_error *err) {
  char *path = NULL;
  FW_TRY(fw_path_join(&path, folder, "graph.json", err));
  furrow_status status = furrow_learn_conf_load(conf, path, err);
  if (status == FURROW_E_NOT_FOUND) {
    const furrow_status found = fw_model_check_scores(folder, err);
    if (found != FURROW_OK) status = found;
  }
  fw_free(path);
  return status;
}

static furrow_status load_model(furrow_learn_conf *conf, const char *folder, furrow_error *err) {
  char *path = NULL, *text = NULL, dictionary[17] = "";
  size_t size = 0;
  if (!folder[0]) return fw_fail(err, FURROW_E_ARGUMENT, "no folder of a model is given");
  if (fw_path_is_import(folder)) return fw_conf_read_import(conf, folder, err);
  FW_TRY(load_graph(conf, folder, err));
  FW_TRY(fw_path_join(&path, folder, "furrow.json", err));
  furrow_status status = fw_path_read_json(&text, &size, path, err);
  if (status == FURROW_OK) status = read_model(conf, text, size, path, dictionary, err);
  if (status == FURROW_E_NOT_FOUND) status = check_absent(path, err);
  if (status == FURROW_OK) status = take_encoder(conf, folder, dictionary, err);
  fw_free(text);
  fw_free(path);
  return status;
}

furrow_status furrow_learn_conf_load_model(furrow_learn_conf *conf, const char *folder, furrow_error *err) {
  furrow_path_watch *watch = NULL;
  FW_TRY(furrow_path_watch_begin(&watch, folder, err));
  return furrow_path_watch_end(watch, load_model(conf, folder, err), err);
}

furrow_status fw_model_read_conf(furrow_learn_conf **conf, const char *folder, furrow_error *err) {
  furrow_learn_conf *made = NULL;
  FW_TRY(furrow_learn_conf_create(&made, err));
  const furrow_status status = furrow_learn_conf_load_model(made, folder, err);
  return FW_HAND_OVER(status, conf, made, furrow_learn_conf_free);
}

/* ---- Every value ---- */

enum { MEMBER_TEXT = 256 }; /* longer paths, which Furrow does not write, are cut */

typedef struct walk {
  furrow_json json;
  char member[MEMBER_TEXT];
  fw_buffer text;
  furrow_status (*visit)(void *user, const char *member, const char *text);
  void *user;
} walk;

static furrow_status walk_value(walk *w, furrow_error *err);

static furrow_status walk_scalar(walk *w, furrow_error *err) {
  furrow_json_text value = {0};
  const furrow_json_kind kind = furrow_json_peek(&w->json);
  FW_TRY(kind == FURROW_JSON_STRING ? furrow_json_string(&w->json, &value, err)
                                    : furrow_json_skip(&w->json, &value, err));
  fw_buffer_reset(&w->text);
  fw_buffer_append(&w->text, value.bytes, value.size);
  fw_buffer_byte(&w->text, 0);
  FW_TRY(fw_buffer_status(&w->text, err));
  return w->visit(w->user, w->member, kind == FURROW_JSON_NULL ? NULL : w->text.bytes);
}

static furrow_status walk_object(walk *w, furrow_error *err) {
  furrow_json_text key;
  const size_t before = strlen(w->member);
  furrow_status status;
  FW_TRY(furrow_json_object(&w->json, err));
  while ((status = furrow_json_member(&w->json, &key, err)) == FURROW_OK) {
    const int size = key.size < MEMBER_TEXT ? (int)key.size : MEMBER_TEXT;
    snprintf(w->member + before, sizeof w->member - before, "%s%.*s", before > 0 ? "/" : "", size, key.bytes);
    FW_TRY(walk_value(w, err)); /* END, too, if visit said so */
    w->member[before] = 0;
  }
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status walk_array(walk *w, furrow_error *err) {
  furrow_status status;
  FW_TRY(furrow_json_array(&w->json, err));
  while ((status = furrow_json_element(&w->json, err)) == FURROW_OK) FW_TRY(walk_value(w, err));
  return status == FURROW_END ? FURROW_OK : status;
}

/* As deep as furrow_json goes. */
static furrow_status walk_value(walk *w, furrow_error *err) {
  const furrow_json_kind kind = furrow_json_peek(&w->json);
  return kind == FURROW_JSON_OBJECT  ? walk_object(w, err)
         : kind == FURROW_JSON_ARRAY ? walk_array(w, err)
                                     : walk_scalar(w, err);
}

/* Makes all checks that a reader of the model makes. */
static furrow_status check(const char *text, size_t size, const char *path, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_status status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = fw_model_json_read(conf, text, size, path, err);
  furrow_learn_conf_free(conf);
  return status;
}

furrow_status furrow_model_json_for_each(const char *path,
                                         furrow_status (*visit)(void *user, const char *member, const char *text),
                                         void *user, furrow_error *err) {
  walk w = {.visit = visit, .user = user};
  char *text = NULL;
  size_t size = 0;
  FW_TRY(fw_path_read_json(&text, &size, path, err));
  furrow_status status = check(text, size, path, err);
  if (status == FURROW_OK) {
    fw_json_open(&w.json, text, size, path);
    status = walk_object(&w, err);
    fw_json_close(&w.json);
  }
  fw_buffer_clear(&w.text);
  fw_free(text);
  return status;
}
