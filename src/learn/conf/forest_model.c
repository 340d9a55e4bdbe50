/* learn/conf/forest_model.c: a forest of another program as a model: its configuration, and its model directory. */
#include "learn/conf/forest_model.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json_out.h"
#include "base/mem.h"
#include "base/params.h"
#include "furrow/version.h"
#include "io/input.h"
#include "io/uri.h"
#include "learn/conf/conf_data.h"

/* ---- The configuration ---- */

static furrow_status set_columns(furrow_learn_conf *conf, const fw_imported *imported, furrow_error *err) {
  fw_buffer list = {0};
  char *text = NULL;
  if (!imported->names || imported->forest->features == 0) return FURROW_OK;
  for (size_t i = 0; i < imported->forest->features; i++) {
    if (i > 0) fw_buffer_byte(&list, ',');
    fw_uri_encode(&list, imported->names[i]);
  }
  furrow_status status = fw_buffer_take(&list, &text, NULL, err);
  if (status == FURROW_OK) status = furrow_learn_conf_set(conf, "columns", text, err);
  fw_buffer_clear(&list);
  fw_free(text);
  return status;
}

static furrow_status set_real(furrow_learn_conf *conf, const char *key, double number, furrow_error *err) {
  char text[FURROW_JSON_NUMBER_TEXT + 1];
  text[furrow_json_write_f64(text, number)] = 0;
  return furrow_learn_conf_set(conf, key, text, err);
}

/* Tables are found by the names of their columns. */
static const char *format_of(const fw_imported *imported) {
  return imported->names ? "csv" : "libsvm";
}

/* The settings that scoring depends on; the keys of training have no meaning. */
furrow_status fw_conf_take_import(furrow_learn_conf *conf, const fw_imported *imported, furrow_error *err) {
  char classes[24];
  FW_TRY(furrow_learn_conf_set_algorithm(conf, "gbdt", err));
  FW_TRY(furrow_learn_conf_set(conf, "defaults", "angel", err));
  FW_TRY(furrow_learn_conf_set(conf, "lr", "1", err));
  FW_TRY(furrow_learn_conf_set(conf, "format", format_of(imported), err));
  FW_TRY(furrow_learn_conf_set(conf, "index-base", "0", err));
  FW_TRY(furrow_learn_conf_set(conf, "objective", imported->objective, err));
  if (imported->forest->classes > 1) {
    snprintf(classes, sizeof classes, "%zu", imported->forest->classes);
    FW_TRY(furrow_learn_conf_set(conf, "classes", classes, err));
  }
  if (strcmp(imported->objective, "reg:quantileerror") == 0)
    FW_TRY(set_real(conf, "quantile", imported->quantile, err));
  if (strcmp(imported->objective, "binary:logistic") == 0) FW_TRY(furrow_learn_conf_set(conf, "labels", "0,1", err));
  conf->features = imported->forest->features;
  return set_columns(conf, imported, err);
}

bool fw_path_is_import(const char *path) {
  struct stat info;
  return fw_path_stat(path, &info, NULL) == FURROW_OK && S_ISREG(info.st_mode);
}

furrow_status fw_conf_read_import(furrow_learn_conf *conf, const char *path, furrow_error *err) {
  fw_imported imported = {0};
  furrow_status status = fw_import_file(&imported, path, &(fw_import_rules){.file = path}, err);
  if (status == FURROW_OK) status = fw_conf_take_import(conf, &imported, err);
  fw_imported_clear(&imported);
  return status;
}

/* ---- The directory ---- */

enum { VERSION = 1 };

static void put_data(fw_json_out *json, const fw_imported *imported) {
  fw_json_out_key(json, "data");
  fw_json_out_open(json);
  fw_json_out_member(json, "format", format_of(imported));
  fw_json_out_member_unsigned(json, "index_base", 0);
  if (imported->names) {
    fw_json_out_key(json, "columns");
    fw_json_out_open_array(json);
    for (size_t i = 0; i < imported->forest->features; i++) {
      fw_json_out_element(json);
      fw_json_out_text(json, imported->names[i]);
    }
    fw_json_out_close_array(json);
  }
  fw_json_out_member_unsigned(json, "features", imported->forest->features);
  fw_json_out_close(json);
}

/* furrow.json of an imported model; version, algorithm, data and labels are what Furrow reads of it. */
static furrow_status write_about(fw_buffer *text, const fw_imported *imported, furrow_error *err) {
  fw_json_out json = {.out = text};
  fw_json_out_open(&json);
  fw_json_out_member_unsigned(&json, "version", VERSION);
  fw_json_out_member(&json, "furrow", FURROW_VERSION);
  fw_json_out_member(&json, "algorithm", "gbdt");
  put_data(&json, imported);
  if (strcmp(imported->objective, "binary:logistic") == 0) {
    fw_json_out_key(&json, "labels");
    fw_json_out_open_array(&json);
    for (int64_t label = 0; label < 2; label++) {
      fw_json_out_element(&json);
      fw_json_out_integer(&json, label);
    }
    fw_json_out_close_array(&json);
  }
  fw_json_out_key(&json, "imported");
  fw_json_out_open(&json);
  fw_json_out_member(&json, "from", imported->from);
  fw_json_out_member(&json, "objective", imported->their_objective);
  fw_json_out_member_unsigned(&json, "rounds", imported->rounds);
  fw_json_out_member_unsigned(&json, "rounds_of_file", imported->rounds_there);
  fw_json_out_close(&json);
  fw_json_out_close(&json);
  fw_buffer_text(text, "\n");
  return fw_buffer_status(text, err);
}

static furrow_status write_model(const fw_imported *imported, const furrow_learn_conf *conf, const char *folder,
                                 bool overwrite, furrow_error *err) {
  furrow_model_writer *model = NULL;
  furrow_matrix_write_params write;
  fw_buffer nodes = {0}, about = {0};
  furrow_matrix_write_params_init(&write);
  write.overwrite = overwrite;
  fw_node_forest_write(imported->forest, &nodes);
  furrow_status status = fw_buffer_status(&nodes, err);
  if (status == FURROW_OK) status = write_about(&about, imported, err);
  if (status == FURROW_OK) status = furrow_model_writer_open(&model, folder, &write, err);
  if (status == FURROW_OK) status = furrow_model_writer_write_file(model, FW_NODES_FILE, nodes.bytes, nodes.size, err);
  if (status == FURROW_OK) status = fw_model_put_graph(model, conf, &about, err);
  if (status == FURROW_OK) status = furrow_model_writer_commit(model, err);
  furrow_model_writer_close(model);
  fw_buffer_clear(&nodes);
  fw_buffer_clear(&about);
  return status;
}

static void fill_result(furrow_forest_import_result *result, const fw_imported *imported) {
  furrow_forest_import_result full = {.size = sizeof full,
                                      .trees = imported->forest->trees,
                                      .classes = imported->forest->classes,
                                      .features = imported->forest->features,
                                      .rounds = imported->rounds,
                                      .rounds_of_file = imported->rounds_there};
  snprintf(full.from, sizeof full.from, "%s", imported->from);
  snprintf(full.objective, sizeof full.objective, "%s", imported->their_objective);
  fw_info_write(result, &full, sizeof full);
}

furrow_status furrow_forest_import(const char *path, const char *folder, const furrow_forest_import_params *params,
                                   furrow_forest_import_result *result, furrow_error *err) {
  furrow_forest_import_params used;
  furrow_learn_conf *conf = NULL;
  fw_imported imported = {0};
  furrow_forest_import_params_init(&used);
  FW_TRY(FW_PARAMS_READ(&used, params, furrow_forest_import_params, err));
  furrow_status status =
      fw_import_file(&imported, path, &(fw_import_rules){.file = path, .all_rounds = used.all_rounds}, err);
  if (status == FURROW_OK) status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = fw_conf_take_import(conf, &imported, err);
  if (status == FURROW_OK) status = write_model(&imported, conf, folder, used.overwrite, err);
  if (status == FURROW_OK && result) fill_result(result, &imported);
  furrow_learn_conf_free(conf);
  fw_imported_clear(&imported);
  return status;
}

furrow_status furrow_forest_probe(const char *path, bool *is_forest, furrow_error *err) {
  fw_input *input = NULL;
  char head[FW_IMPORT_HEAD];
  size_t size = 0;
  *is_forest = false;
  if (!fw_path_is_import(path)) return FURROW_OK;
  FW_TRY(fw_input_open_regular(&input, path, err));
  const furrow_status status = fw_input_read_at(input, head, sizeof head, 0, &size, err);
  fw_input_close(input);
  if (status == FURROW_OK) *is_forest = fw_import_probe(head, size) != FW_IMPORT_NONE;
  return status;
}
