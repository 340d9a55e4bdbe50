/* learn/nodes/forest_import.c: which program wrote a model file, and the file as a forest. */
#include "learn/nodes/forest_import.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"

void fw_imported_clear(fw_imported *imported) {
  const size_t names = imported->names && imported->forest ? imported->forest->features : 0;
  for (size_t i = 0; i < names; i++) fw_free(imported->names[i]);
  fw_free((void *)imported->names);
  fw_node_forest_free(imported->forest);
  *imported = (fw_imported){0};
}

furrow_status fw_import_name_features(fw_imported *imported, furrow_error *err) {
  const size_t count = imported->forest->features;
  char name[24];
  if (count > FW_IMPORT_NAMED) return FURROW_OK;
  FW_TRY(FW_ALLOC_ZERO(&imported->names, count, err));
  for (size_t i = 0; i < count; i++)
    FW_TRY(fw_strndup(&imported->names[i], name, (size_t)snprintf(name, sizeof name, "f%zu", i), err));
  return FURROW_OK;
}

/* ---- Which file it is ---- */

static bool is_blank(char byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* The first key of an object is learner or version; UBJSON has its length before it. */
fw_import_kind fw_import_probe(const void *bytes, size_t size) {
  const char *at = bytes, *const end = at + size;
  if (size >= 5 && memcmp(at, "tree", 4) == 0 && (at[4] == '\n' || at[4] == '\r')) return FW_IMPORT_LIGHTGBM;
  if (size >= 2 && at[0] == '{' && strchr("LlIiU#$", at[1]) && at[1]) return FW_IMPORT_UBJ;
  while (at < end && is_blank(*at)) at++;
  if (at == end || *at++ != '{') return FW_IMPORT_NONE;
  while (at < end && is_blank(*at)) at++;
  if (end - at < 9) return FW_IMPORT_NONE;
  if (memcmp(at, "\"learner\"", 9) == 0) return FW_IMPORT_JSON;
  if (memcmp(at, "\"version\"", 9) != 0) return FW_IMPORT_NONE;
  at += 9; /* a list of numbers in xgboost's models */
  while (at < end && (is_blank(*at) || *at == ':')) at++;
  return at < end && *at == '[' ? FW_IMPORT_JSON : FW_IMPORT_NONE;
}

/* ---- Reading ---- */

static bool has_nan(const char *text, size_t size) {
  return memmem(text, size, "NaN", 3) || memmem(text, size, "Infinity", 8) || memmem(text, size, "-nan", 4);
}

static furrow_status read_json(fw_imported *imported, const char *text, size_t size, const fw_import_rules *rules,
                               furrow_error *err) {
  fw_buffer plain = {0};
  if (!has_nan(text, size)) return fw_xgboost_read(imported, text, size, rules, err);
  fw_json_replace_nan(&plain, text, size);
  furrow_status status = fw_buffer_status(&plain, err);
  if (status == FURROW_OK) status = fw_xgboost_read(imported, plain.bytes, plain.size, rules, err);
  if (status != FURROW_OK && err) err->offset = FURROW_NO_OFFSET; /* it is one in the copy */
  fw_buffer_clear(&plain);
  return status;
}

static furrow_status read_ubj(fw_imported *imported, const void *bytes, size_t size, const fw_import_rules *rules,
                              furrow_error *err) {
  fw_buffer json = {0};
  furrow_status status = fw_ubj_to_json(&json, bytes, size, err);
  if (status == FURROW_OK) {
    status = fw_xgboost_read(imported, json.bytes, json.size, rules, err);
    if (status != FURROW_OK && err) err->offset = FURROW_NO_OFFSET; /* it is one in the JSON */
  }
  fw_buffer_clear(&json);
  return status;
}

static furrow_status refuse_kind(const char *file, furrow_error *err) {
  fw_fail(err, FURROW_E_ARGUMENT, "not a model of xgboost (JSON, UBJSON) or LightGBM (text)");
  if (file) fw_error_set_file(err, file);
  fw_error_set_hint(err, "save_model(\"model.json\") of xgboost and save_model(\"model.txt\") of LightGBM write one");
  return FURROW_E_ARGUMENT;
}

furrow_status fw_import_bytes(fw_imported *imported, const void *bytes, size_t size, const fw_import_rules *rules,
                              furrow_error *err) {
  furrow_status status;
  switch (fw_import_probe(bytes, size)) {
  case FW_IMPORT_JSON: status = read_json(imported, bytes, size, rules, err); break;
  case FW_IMPORT_UBJ: status = read_ubj(imported, bytes, size, rules, err); break;
  case FW_IMPORT_LIGHTGBM: return fw_lightgbm_read(imported, bytes, size, rules, err);
  default: return refuse_kind(rules->file, err);
  }
  if (status != FURROW_OK && rules->file) fw_error_set_file(err, rules->file);
  return status;
}

furrow_status fw_import_file(fw_imported *imported, const char *path, const fw_import_rules *rules, furrow_error *err) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  furrow_status status = fw_node_bytes_load(&bytes, &size, path, err);
  if (status == FURROW_OK) status = fw_import_bytes(imported, bytes, size, rules, err);
  fw_free(bytes);
  return status;
}

/* ---- Models ---- */

static bool is_a_file(const char *path) {
  struct stat info;
  return fw_path_stat(path, &info, NULL) == FURROW_OK && S_ISREG(info.st_mode);
}

bool fw_node_forest_is_at(const char *model) {
  char *path = NULL;
  if (is_a_file(model)) return true;
  if (fw_path_join(&path, model, FW_NODES_FILE, NULL) != FURROW_OK) return false;
  const bool there = fw_path_exists(path);
  fw_free(path);
  return there;
}

furrow_status fw_node_forest_load_model(fw_node_forest **forest, const char *model, furrow_error *err) {
  fw_imported imported = {0};
  char *path = NULL;
  if (!is_a_file(model)) {
    FW_TRY(fw_path_join(&path, model, FW_NODES_FILE, err));
    const furrow_status status = fw_node_forest_load(forest, path, err);
    fw_free(path);
    return status;
  }
  const furrow_status status = fw_import_file(&imported, model, &(fw_import_rules){.file = model}, err);
  if (status == FURROW_OK) {
    *forest = imported.forest;
    for (size_t i = 0; imported.names && i < imported.forest->features; i++) fw_free(imported.names[i]);
    fw_free((void *)imported.names);
    return FURROW_OK;
  }
  fw_imported_clear(&imported);
  return status;
}
