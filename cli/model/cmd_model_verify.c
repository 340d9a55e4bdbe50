/* cli/model/cmd_model_verify.c: furrow model verify: checks everything in a model. */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "furrow/json.h"
#include "furrow/learn.h"
#include "furrow/recommend.h"
#include "furrow/table.h"
#include "learn/model_names.h"
#include "model/model_source.h"

typedef struct verify_values {
  selection_values selected;
  reading_values reading;
  const char *path;
  uint32_t threads;
  bool quiet, json;
} verify_values;

static const option verify_operands[] = {{.name = "PATH",
                                          .kind = OPTION_TEXT,
                                          .help = "a model directory, or a matrix folder",
                                          .offset = offsetof(verify_values, path),
                                          .required = true,
                                          .watched = true},
                                         {0}};

static const option verify_quiet_options[] = {
    {.name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print only errors, no remarks and no summary"}, {0}};

static const option_group verify_groups[] = {
    {.title = "Selection", .options = matrix_options, .offset = offsetof(verify_values, selected)},
    {.title = "Reading", .options = reading_options, .offset = offsetof(verify_values, reading)},
    {.title = "Options", .options = json_options, .offset = offsetof(verify_values, json)},
    {.title = "Options", .options = threads_options, .offset = offsetof(verify_values, threads)},
    {.title = "Options", .options = plugin_options},
    {.title = "Options", .options = verify_quiet_options, .offset = offsetof(verify_values, quiet)},
    {0}};

static void verify_init(void *values) {
  reading_values_init(&((verify_values *)values)->reading);
}

/* ---- Findings ------------------------------------------------------------------------------------------- */

typedef struct checking {
  const verify_values *values;
  report *report;
  uint64_t errors, remarks; /* errors and remarks of the current matrix */
  int exit_code;            /* exit code of the first error of all */
} checking;

static void report_finding(report *r, const furrow_matrix_finding *finding) {
  report_section(r, NULL);
  report_bool(r, "fatal", finding->fatal);
  if (finding->part_id >= 0)
    report_i64(r, "partition", finding->part_id);
  else
    report_none(r, "partition");
  report_text(r, "file", finding->file);
  if (finding->offset != FURROW_NO_OFFSET)
    report_u64(r, "offset", finding->offset);
  else
    report_none(r, "offset");
  report_text(r, "status", furrow_status_name(finding->status));
  report_text(r, "message", finding->message);
  if (finding->hint[0]) report_text(r, "hint", finding->hint);
  report_end(r);
}

/* Prints FILE: byte OFFSET: remark: message, with the parts that are known. */
static void print_finding(output *out, const furrow_matrix_finding *finding) {
  if (finding->file[0]) output_text(out, finding->file);
  if (finding->file[0]) output_text(out, ": ");
  if (finding->file[0] && finding->offset != FURROW_NO_OFFSET)
    output_format(out, "byte %" PRIu64 ": ", finding->offset);
  if (!finding->fatal) output_text(out, "remark: ");
  output_format(out, "%s%s%s\n", finding->message, finding->hint[0] ? "; " : "", finding->hint);
}

static void take_finding(void *user, const furrow_matrix_finding *finding) {
  checking *c = user;
  ++*(finding->fatal ? &c->errors : &c->remarks);
  if (finding->fatal && !c->exit_code) c->exit_code = furrow_status_exit_code(finding->status);
  if (c->values->json)
    report_finding(c->report, finding);
  else if (finding->fatal || !c->values->quiet)
    print_finding(c->report->out, finding);
}

static void print_summary(const checking *c, const char *folder) {
  if (c->values->quiet) return;
  output *out = c->report->out;
  output_format(out, "%s: ", folder);
  if (c->errors + c->remarks == 0)
    output_text(out, "ok\n");
  else
    output_format(out, "%" PRIu64 " error%s, %" PRIu64 " remark%s\n", c->errors, c->errors == 1 ? "" : "s", c->remarks,
                  c->remarks == 1 ? "" : "s");
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status check_matrix(checking *c, const furrow_model_entry *matrix, furrow_error *err) {
  const verify_values *verify = c->values;
  const furrow_matrix_source_params source = reading_params(&verify->reading);
  furrow_matrix_verify_params params;
  report *r = c->report;
  c->errors = c->remarks = 0;
  if (verify->json) {
    report_section(r, NULL);
    report_text(r, "name", matrix->name);
    report_text(r, "folder", matrix->folder);
    report_list(r, "findings");
  }
  furrow_matrix_verify_params_init(&params);
  params.source = &source;
  params.threads = verify->threads;
  params.found = take_finding;
  params.user = c;
  furrow_status status = furrow_matrix_verify(matrix->folder, &params, err);
  const bool done = status == FURROW_OK || c->errors > 0; /* otherwise out of memory, not a finding */
  if (verify->json) {
    report_end(r);
    report_u64(r, "errors", c->errors);
    report_u64(r, "remarks", c->remarks);
    report_end(r);
  } else if (done) {
    print_summary(c, matrix->folder);
  }
  return done ? FURROW_OK : status;
}

static bool lists(const furrow_model_entry *entries, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(entries[i].name, name) == 0) return true;
  return false;
}

/* An error in the model is a finding; a failure to examine it ends the command. */
static furrow_status take_failure(checking *c, furrow_status status, const furrow_error *own, furrow_error *err) {
  if (status == FURROW_OK) return FURROW_OK;
  if (status == FURROW_E_MEMORY || status == FURROW_E_IO) {
    *err = *own;
    return status;
  }
  const furrow_matrix_finding finding = {true, -1, own->file, own->offset, status, own->message, own->hint};
  take_finding(c, &finding);
  return FURROW_OK;
}

static bool is_forest(const furrow_model_listing *listing) {
  return imported_forest_is_listed(listing) || lists(listing->matrices, listing->matrix_count, "gbdt.node.predict") ||
         lists(listing->matrices, listing->matrix_count, "gbdt.split.feature");
}

/* Loads a model as predict does: everything in it must fit together. A model without graph.json is not scored by
 * itself: its settings, such as the number of classes, are elsewhere. */
static furrow_status check_loading(checking *c, const furrow_model_listing *listing, furrow_error *err) {
  furrow_scorer *scorer = NULL;
  furrow_error own;
  if (!lists(listing->files, listing->file_count, "graph.json") || c->exit_code) return FURROW_OK;
  const furrow_status status = furrow_scorer_load(&scorer, listing->path, NULL, &own);
  furrow_scorer_free(scorer);
  return take_failure(c, status, &own, err);
}

/* An error about a file or a folder of the model that is not there. */
static void add_missing(checking *c, const char *folder, const char *name, const char *message) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const furrow_matrix_finding finding = {true, -1, path, FURROW_NO_OFFSET, FURROW_E_NOT_FOUND, message, ""};
  take_finding(c, &finding);
}

static furrow_status check_name(checking *c, const furrow_model_listing *listing, furrow_json *json,
                                furrow_error *err) {
  furrow_json_text text;
  char name[256];
  const furrow_status status = furrow_json_string(json, &text, err);
  if (status != FURROW_OK) return status;
  snprintf(name, sizeof name, "%.*s", (int)text.size, text.bytes);
  if (!lists(listing->matrices, listing->matrix_count, name))
    add_missing(c, listing->path, name, "the matrix is missing, but the graph has it");
  return FURROW_OK;
}

/* Checks the names of all matrices in the description of a graph. */
static furrow_status check_names(checking *c, const furrow_model_listing *listing, furrow_json *json, bool of_matrix,
                                 furrow_error *err) {
  furrow_json_text key = {"", 0};
  const bool array = furrow_json_peek(json) == FURROW_JSON_ARRAY;
  if (!array && furrow_json_peek(json) != FURROW_JSON_OBJECT) return furrow_json_skip(json, NULL, err);
  furrow_status status = array ? furrow_json_array(json, err) : furrow_json_object(json, err);
  while (status == FURROW_OK) {
    status = array ? furrow_json_element(json, err) : furrow_json_member(json, &key, err);
    if (status != FURROW_OK) break;
    status = of_matrix && furrow_json_is(key, "name")
                 ? check_name(c, listing, json, err)
                 : check_names(c, listing, json, of_matrix || furrow_json_is(key, "matrices"), err);
  }
  return status == FURROW_END ? FURROW_OK : status;
}

/* Checks that the matrices of the graph are there; that they fit is found when they are loaded. */
static furrow_status check_graph(checking *c, const furrow_model_listing *listing, const furrow_learn_conf *conf,
                                 furrow_error *err) {
  furrow_json *json = NULL;
  char *text = NULL;
  size_t size = 0;
  furrow_status status = furrow_learn_conf_describe(conf, FURROW_DESCRIBE_JSON, 0, &text, &size, err);
  if (status == FURROW_OK) status = furrow_json_create(&json, err);
  if (status == FURROW_OK) {
    furrow_json_start(json, text, size, NULL);
    status = check_names(c, listing, json, false, err);
  }
  furrow_json_free(json);
  furrow_free(text);
  return status;
}

/* Checks that a model of a raw log has both files that read such logs. */
static furrow_status check_encoder(const furrow_model_listing *listing, furrow_error *err) {
  furrow_encoder *encoder = NULL;
  if (!lists(listing->files, listing->file_count, "dictionary.furrow") &&
      !lists(listing->files, listing->file_count, "schema.json"))
    return FURROW_OK;
  const furrow_status status = furrow_encoder_load(&encoder, listing->path, err);
  furrow_encoder_free(encoder);
  return status;
}

/* Whether a folder has the first data file of a matrix but no metadata, and is not a temporary one. */
static bool is_headless(const furrow_model_listing *listing, const char *name) {
  char path[PATH_MAX + 256];
  struct stat info;
  if (name[0] == '.' || strncmp(name, "_tmp.", 5) == 0) return false;
  snprintf(path, sizeof path, "%s/%s/0", listing->path, name);
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && !lists(listing->matrices, listing->matrix_count, name);
}

static void check_folders(checking *c, const furrow_model_listing *listing) {
  struct dirent **entries = NULL;
  const int count = listing->single ? 0 : scandir(listing->path, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    if (is_headless(listing, name))
      add_missing(c, listing->path, name, "the folder has no metadata: neither _meta nor meta nor psmeta");
    free(entries[i]);
  }
  free(entries);
}

/* Checks that a recommender's matrices fit its names and each other. */
static furrow_status check_recommender(checking *c, const furrow_model_listing *listing, furrow_error *err) {
  furrow_recommender *recommender = NULL;
  model_facts facts;
  furrow_error own;
  if (listing->single) return FURROW_OK;
  furrow_status status = model_facts_read(&facts, listing->path, &own);
  if (status == FURROW_OK && facts.recommends)
    status = furrow_recommender_open(&recommender, listing->path, NULL, &own);
  furrow_recommender_free(recommender);
  return take_failure(c, status, &own, err);
}

/* Checks that graph.json and furrow.json can be read, and that everything that they name exists. */
static furrow_status check_configuration(checking *c, const furrow_model_listing *listing, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_error own;
  if (!lists(listing->files, listing->file_count, "graph.json")) {
    check_folders(c, listing);
    return c->exit_code ? FURROW_OK : check_recommender(c, listing, err);
  }
  furrow_status status = furrow_learn_conf_create(&conf, err);
  if (status != FURROW_OK) return status;
  status = furrow_learn_conf_load_model(conf, listing->path, &own);
  if (status == FURROW_OK) status = check_graph(c, listing, conf, &own);
  if (status == FURROW_OK) status = check_encoder(listing, &own);
  furrow_learn_conf_free(conf);
  return take_failure(c, status, &own, err);
}

static furrow_status verify_run(const void *values, output *out, furrow_error *err) {
  const verify_values *verify = values;
  furrow_model_listing *listing = NULL;
  const furrow_model_entry *only = NULL;
  report r;
  checking c = {.values = verify, .report = &r};
  furrow_status status = furrow_model_listing_load(&listing, verify->path, err);
  if (status == FURROW_OK && verify->selected.matrix)
    status = choose_matrix(listing, verify->selected.matrix, &only, err);
  if (status == FURROW_OK) {
    const furrow_model_entry *matrices = only ? only : listing->matrices;
    size_t count = only ? 1 : listing->matrix_count;
    report_start(&r, out, verify->json);
    if (verify->json) report_list(&r, "matrices");
    for (size_t i = 0; i < count && status == FURROW_OK; i++) status = check_matrix(&c, &matrices[i], err);
    if (verify->json) {
      report_end(&r);
      report_list(&r, "configuration");
    }
    if (status == FURROW_OK && !only) status = check_configuration(&c, listing, err);
    if (status == FURROW_OK && !only && !is_forest(listing)) status = check_loading(&c, listing, err);
    if (verify->json) {
      report_end(&r);
      report_list(&r, "trees");
    }
    if (status == FURROW_OK && !only && is_forest(listing)) status = check_loading(&c, listing, err);
    if (verify->json) {
      report_end(&r);
      report_bool(&r, "ok", c.exit_code == 0);
    }
    report_finish(&r);
  }
  out->exit_code = c.exit_code;
  furrow_model_listing_free(listing);
  return status;
}

const command model_verify_command = {
    .name = "verify",
    .summary = "check metadata, files and every record",
    .example = "furrow model verify lr\nfurrow model verify deepfm/embedding_embedding --json",
    .about =
        "Prints a line for each finding: FILE: byte OFFSET: partition N: what is wrong. A remark is about "
        "something unusual that can still be read. A model with graph.json is loaded as predict loads it: all that "
        "graph.json and furrow.json name must be there, and fit together. The exit code is 0 when there are no "
        "errors, otherwise the code of the first error.",
    .operands = verify_operands,
    .groups = verify_groups,
    .size = sizeof(verify_values),
    .init = verify_init,
    .run = verify_run,
};
