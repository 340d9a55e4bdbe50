/* cli/info/path_model.c: models and matrices for 'furrow info'. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "info/path_kind.h"
#include "learn/model_names.h"
#include "model/matrix_summary.h"
#include "model/model_source.h"

/* Whether a folder is a matrix (single) or a model directory. A model that has an unreadable file is still one. */
static bool is_listed(const path_inspection *look, bool single) {
  furrow_model_listing *listing = NULL;
  furrow_error err;
  if (!look->folder) return false;
  const furrow_status status = furrow_model_listing_load(&listing, look->path, &err);
  if (status != FURROW_OK) return status == FURROW_E_FORMAT && !single && strcmp(err.file, look->path) != 0;
  const bool is = listing->single == single;
  furrow_model_listing_free(listing);
  return is;
}

static bool is_model(const path_inspection *look) {
  return is_listed(look, false);
}

static bool is_matrix(const path_inspection *look) {
  return is_listed(look, true);
}

/* ---- Matrices ------------------------------------------------------------------------------------------- */

static void report_summary(report *r, const matrix_summary *f) {
  if (f->format) report_text(r, "format", f->format->name);
  if (f->type) report_text(r, "row type", f->type->name);
  report_i64(r, "rows", f->meta->row);
  if (f->meta->col < 0)
    report_none(r, "columns");
  else
    report_i64(r, "columns", f->meta->col);
  report_u64(r, "partitions", f->meta->part_count);
  report_u64(r, "bytes", f->bytes);
}

static furrow_status report_folder(report *r, const char *folder, furrow_error *err) {
  furrow_matrix_source_params params = {.row_type = -1};
  const graph_text graph = {0};
  matrix_summary f;
  matrix_summary_start(&f, folder, &params, &graph);
  furrow_status status = matrix_summary_from_meta(&f, err);
  if (status == FURROW_OK) report_summary(r, &f);
  matrix_summary_close(&f);
  return status;
}

static furrow_status describe_matrix(path_inspection *look, furrow_error *err) {
  const furrow_status status = report_folder(look->r, look->path, err);
  path_advise(look, "furrow model verify @");
  if (status != FURROW_OK) return status;
  path_advise(look, "furrow model info @ --partitions");
  path_advise(look, "furrow model dump @ | head");
  path_advise(look, "furrow model export @ ^.npy"); /* next to the matrix, the file would be inside of the model */
  return status;
}

/* ---- Models --------------------------------------------------------------------------------------------- */

static bool has_graph(const furrow_model_listing *listing) {
  for (size_t i = 0; i < listing->file_count; i++)
    if (strcmp(listing->files[i].name, "graph.json") == 0) return true;
  return false;
}

/* Whether the model is of a raw log and has names of users and items. One whose encoder is missing or refused has not;
 * one whose encoder cannot be read is an error. */
static furrow_status names_items(const path_inspection *look, bool *both, furrow_error *err) {
  furrow_encoder *encoder = NULL;
  const furrow_status status = furrow_encoder_load(&encoder, look->path, err);
  *both = status == FURROW_OK;
  for (int side = FURROW_SIDE_USER; *both && side <= FURROW_SIDE_ITEM; side++) {
    const size_t at = furrow_encoder_side_field(encoder, (furrow_side)side);
    furrow_encoder_field field = {0};
    if (at != SIZE_MAX) furrow_encoder_get_field(encoder, at, &field);
    *both = field.entries > 0;
  }
  furrow_encoder_free(encoder);
  return status == FURROW_E_MEMORY || status == FURROW_E_IO ? status : FURROW_OK;
}

static void advise_model(path_inspection *look, bool trees, bool graph, bool named) {
  path_advise(look, "furrow model info @");
  path_advise(look, "furrow model verify @");
  if (trees) path_advise(look, "furrow model trees @ | head");
  path_advise(look, trees ? "furrow model importance @" : "furrow model export @ @.safetensors");
  if (graph || trees) advise_scoring(look, graph ? "" : " --algorithm gbdt");
  if (named) path_advise(look, "furrow recommend --model @ --users all");
  if (graph && !trees) path_advise(look, "furrow train --conf @/graph.json --dry-run");
}

/* What trees were trained for; nothing if the settings cannot be read, which training and scoring will report. */
static void report_training(report *r, const char *path) {
  furrow_learn_conf *conf = NULL;
  if (furrow_learn_conf_create(&conf, NULL) == FURROW_OK && furrow_learn_conf_load_model(conf, path, NULL) == FURROW_OK)
    report_objective(r, conf);
  furrow_learn_conf_free(conf);
}

/* Reports all matrices and returns the first error. */
static furrow_status report_matrices(report *r, const furrow_model_listing *listing, furrow_error *err) {
  furrow_status first = FURROW_OK;
  if (r->json) report_list(r, "matrices");
  for (size_t i = 0; i < listing->matrix_count; i++) {
    furrow_error found = {0};
    report_section(r, r->json ? NULL : listing->matrices[i].name);
    if (r->json) report_text(r, "name", listing->matrices[i].name);
    const furrow_status status = report_folder(r, listing->matrices[i].folder, &found);
    report_end(r);
    if (status == FURROW_OK || first != FURROW_OK) continue;
    first = status;
    *err = found;
  }
  if (r->json) report_end(r);
  return first;
}

static furrow_status describe_model(path_inspection *look, furrow_error *err) {
  furrow_model_listing *listing = NULL;
  model_facts facts;
  furrow_status status = furrow_model_listing_load(&listing, look->path, err);
  if (status != FURROW_OK) return status;
  const bool graph = has_graph(listing);
  const bool trees = forest_is_listed(listing);
  bool named = false;
  const furrow_status found = graph ? names_items(look, &named, err) : FURROW_OK;
  advise_model(look, trees, graph, named);
  if (!look->r->json) report_u64(look->r, "matrices", listing->matrix_count);
  report_bool(look->r, "trees", trees);
  report_bool(look->r, "graph", graph);
  if (trees && graph) report_training(look->r, look->path);
  if (model_facts_read(&facts, look->path, NULL) == FURROW_OK && facts.ranks) report_text(look->r, "task", "ranking");
  if (found == FURROW_OK) status = report_matrices(look->r, listing, err);
  furrow_model_listing_free(listing);
  return found == FURROW_OK ? status : found;
}

/* ---- Recommenders --------------------------------------------------------------------------------------- */

static bool is_recommender(const path_inspection *look) {
  model_facts facts;
  return look->folder && model_facts_read(&facts, look->path, NULL) == FURROW_OK && facts.recommends;
}

static void report_names(report *r, const char *name, const furrow_encoder *encoder, furrow_side side) {
  const size_t at = furrow_encoder_side_field(encoder, side);
  furrow_encoder_field field = {0};
  if (at != SIZE_MAX) furrow_encoder_get_field(encoder, at, &field);
  report_u64(r, name, field.entries);
}

static furrow_status describe_recommender(path_inspection *look, furrow_error *err) {
  char path[PATH_MAX];
  furrow_encoder *encoder = NULL;
  advise_recommending(look);
  path_advise(look, "furrow model verify @");
  path_advise(look, "furrow model info @");
  snprintf(path, sizeof path, "%.*s/furrow.json", PATH_MAX - 16, look->path);
  furrow_status status = report_record(look->r, path, err);
  if (status == FURROW_OK) status = furrow_encoder_load(&encoder, look->path, err);
  if (status != FURROW_OK) return status;
  report_names(look->r, "users", encoder, FURROW_SIDE_USER);
  report_names(look->r, "items", encoder, FURROW_SIDE_ITEM);
  furrow_encoder_free(encoder);
  return FURROW_OK;
}

/* ---- A file of a matrix folder -------------------------------------------------------------------------- */

/* The role of a file according to the folder's metadata: "metadata", "data of 3 partitions"; "": none. */
static void role_in_folder(const char *folder, const char *name, char *role, size_t size) {
  furrow_matrix_meta *meta = NULL;
  furrow_error err;
  size_t parts = 0;
  role[0] = 0;
  if (strcmp(name, "_meta") == 0 || strcmp(name, "meta") == 0 || strcmp(name, "psmeta") == 0) {
    snprintf(role, size, "metadata");
    return;
  }
  if (furrow_matrix_meta_load(&meta, folder, NULL, &err) != FURROW_OK) return;
  for (size_t i = 0; i < meta->part_count; i++) parts += strcmp(meta->parts[i].file_name, name) == 0;
  furrow_matrix_meta_free(meta);
  if (parts) snprintf(role, size, "data of %zu partition%s", parts, parts == 1 ? "" : "s");
}

/* Finds the matrix folder that a file belongs to, and the file's role in it. */
static bool find_folder(const char *path, char folder[PATH_MAX], char role[64]) {
  const char *slash = strrchr(path, '/');
  const int length = slash ? (int)(slash - path) : 0;
  if (length >= PATH_MAX) return false;
  snprintf(folder, PATH_MAX, "%.*s", slash ? length : 1, slash ? path : ".");
  if (slash == path) snprintf(folder, PATH_MAX, "/");
  const path_inspection look = {.path = folder, .folder = true};
  if (!is_matrix(&look)) return false;
  role_in_folder(folder, slash ? slash + 1 : path, role, 64);
  return role[0] != 0;
}

static bool is_matrix_file(const path_inspection *look) {
  char folder[PATH_MAX], role[64];
  return !look->folder && find_folder(look->path, folder, role);
}

static furrow_status describe_matrix_file(path_inspection *look, furrow_error *err) {
  char folder[PATH_MAX], role[64];
  find_folder(look->path, folder, role);
  path_inspection around = {.path = folder, .folder = true, .r = look->r};
  report_text(look->r, "holds", role);
  report_text(look->r, "folder", folder);
  furrow_status status = describe_matrix(&around, err);
  for (size_t i = 0; i < around.command_count; i++) look->commands[i] = around.commands[i];
  look->command_count = around.command_count;
  return status;
}

const path_kind recommender_kind = {"recommender", "a model that ranks items for users by what they took",
                                    is_recommender, describe_recommender};
const path_kind model_kind = {"model", "an Angel model: a folder for each matrix", is_model, describe_model};
const path_kind matrix_kind = {"matrix", "an Angel matrix", is_matrix, describe_matrix};
const path_kind matrix_file_kind = {"file of a matrix", "one file of an Angel matrix, which is read as a whole",
                                    is_matrix_file, describe_matrix_file};
