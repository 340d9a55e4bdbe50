/* cli/info/path_learn.c: files that training reads and writes, for 'furrow info': JSON files of Angel, checkpoints. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text_file.h"
#include "furrow/io.h"
#include "furrow/learn.h"
#include "furrow/table.h"
#include "info/path_kind.h"
#include "learn/model_names.h"

/* ---- Checkpoints ---------------------------------------------------------------------------------------- */

static bool is_checkpoint(const path_inspection *look) {
  furrow_checkpoint_info *info = NULL;
  furrow_error err = {0};
  const furrow_status status = furrow_checkpoint_info_load(&info, look->path, &err);
  furrow_checkpoint_info_free(info);
  return status == FURROW_OK || (status == FURROW_E_FORMAT && err.offset != 0 && err.offset != FURROW_NO_OFFSET);
}

static furrow_status tell_checkpoint(path_inspection *look, furrow_error *err) {
  furrow_checkpoint_info *info = NULL;
  report *r = look->r;
  if (look->folder) path_advise(look, "furrow train --conf CONF.json --train ROWS --out MODEL --checkpoint @ --resume");
  furrow_status status = furrow_checkpoint_info_load(&info, look->path, err);
  if (status != FURROW_OK) return status;
  report_u64(r, "bytes", info->bytes);
  report_text(r, "parameters", info->number_size == 8 ? "double" : "float");
  report_u64(r, "epochs", info->epochs);
  report_u64(r, "updates", info->steps);
  report_u64(r, "best epoch", info->best);
  const furrow_epoch *last = info->last;
  report_f64(r, "learning rate", last ? last->learning_rate : 0);
  report_f64(r, "loss", last ? last->train->loss : 0);
  if (last && last->valid->rows > 0) report_f64(r, "validation loss", last->valid->loss);
  furrow_checkpoint_info_free(info);
  return FURROW_OK;
}

/* ---- JSON files ----------------------------------------------------------------------------------------- */

enum { HEAD_TEXT = 256 };

/* Reads the beginning of a file that begins with a brace, as text without the white space and the byte order mark
 * before it; "": another. */
static const char *read_head(const path_inspection *look, char head[HEAD_TEXT]) {
  const char *begin = head;
  size_t size = 0;
  if (look->folder || furrow_path_read(look->path, 0, head, HEAD_TEXT - 1, &size, NULL) != FURROW_OK) return "";
  head[size] = 0;
  if (strncmp(begin, "\xEF\xBB\xBF", 3) == 0) begin += 3;
  while (isspace((unsigned char)*begin)) begin++;
  return *begin == '{' ? begin : "";
}

/* Whether a text names a part of a configuration. */
static bool has_section(const char *text) {
  static const char *const sections[] = {"\"data\"",   "\"model\"",  "\"train\"",
                                         "\"layers\"", "\"furrow\"", "\"default_optimizer\""};
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    if (strstr(text, sections[i])) return true;
  return false;
}

/* Whether one of the first lines ends an object and the next one begins another, as in a log of JSON lines. A log may
 * have a single line, but that has no section of a configuration. */
static bool is_json_lines(const char *path, const char *head) {
  enum { FIRST_BYTES = 1 << 20 };
  bool new_line = false, found = false, one_line = true;
  char before = 0, *text = malloc(FIRST_BYTES);
  size_t size = 0;
  if (!text || furrow_path_read(path, 0, text, FIRST_BYTES, &size, NULL) != FURROW_OK) size = 0;
  for (size_t i = 0; i < size && !found; i++) {
    const char c = text[i];
    if (isspace((unsigned char)c)) {
      new_line |= c == '\n' || c == '\r';
      continue;
    }
    found = new_line && before == '}' && c == '{';
    one_line &= !new_line;
    new_line = false;
    before = c;
  }
  free(text);
  return found || (one_line && size < FIRST_BYTES && before == '}' && !has_section(head));
}

static bool is_conf(const path_inspection *look) {
  char space[HEAD_TEXT];
  const char *head = read_head(look, space);
  return *head != 0 && !is_json_lines(look->path, head);
}

static void report_conf(report *r, const furrow_learn_conf *conf) {
  static const char *const keys[][2] = {{"data format", "format"},
                                        {"features", "range"},
                                        {"epochs", "epochs"},
                                        {"batch", "batch"},
                                        {"learning rate", "lr"}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *value = furrow_learn_conf_get(conf, keys[i][1]);
    if (value) report_text(r, keys[i][0], value);
  }
}

static furrow_status describe_conf(path_inspection *look, furrow_error *err) {
  furrow_learn_conf *conf = NULL;
  furrow_status status = furrow_learn_conf_create(&conf, err);
  if (status == FURROW_OK) status = furrow_learn_conf_load(conf, look->path, err);
  if (status == FURROW_OK) status = furrow_learn_conf_check(conf, err);
  if (status == FURROW_OK) {
    report_conf(look->r, conf);
    path_advise(look, "furrow train --conf @ --dry-run");
    path_advise(look, "furrow train --conf @ --dry-run --json");
    path_advise(look, "furrow train --conf @ --train ROWS --out MODEL");
  }
  furrow_learn_conf_free(conf);
  return status;
}

/* ---- Schemas of logs ------------------------------------------------------------------------------------ */

static bool is_schema(const path_inspection *look) {
  char head[HEAD_TEXT];
  furrow_schema *schema = NULL;
  furrow_error err;
  if (*read_head(look, head) == 0) return false;
  const furrow_status status = furrow_schema_load(&schema, look->path, &err);
  furrow_schema_free(schema);
  return status == FURROW_OK;
}

static furrow_status describe_schema(path_inspection *look, furrow_error *err) {
  furrow_schema *schema = NULL;
  const furrow_status status = furrow_schema_load(&schema, look->path, err);
  if (status != FURROW_OK) return status;
  report_schema(look->r, schema);
  path_advise(look, "furrow rows encode LOG --schema @ --dictionary @.names --out rows.libffm");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.as, "label") == 0)
      path_advise(look, "furrow train --model gbdt --train LOG --schema @ --out MODEL");
  }
  furrow_schema_free(schema);
  return FURROW_OK;
}

/* ---- furrow.json ---------------------------------------------------------------------------------------- */

/* Whether it is the file that Furrow adds to a model; a configuration of that name has no version. */
static bool is_record(const path_inspection *look) {
  const char *slash = strrchr(look->path, '/');
  char head[HEAD_TEXT];
  return strcmp(slash ? slash + 1 : look->path, "furrow.json") == 0 &&
         strstr(read_head(look, head), "\"version\"") != NULL;
}

typedef struct record_member {
  const char *member, *name;
  bool number, list;
} record_member;

typedef struct record_report {
  report *r;
  const record_member *open; /* list that is being reported; NULL: none */
} record_report;

static const record_member *find_member(const char *member) {
  static const record_member members[] = {{"furrow", "written by version", false, false},
                                          {"algorithm", "algorithm", false, false},
                                          {"data/format", "data format", false, false},
                                          {"data/columns", "columns", false, true},
                                          {"data/label_column", "label column", false, false},
                                          {"data/weight_column", "weight column", false, false},
                                          {"data/rows", "rows", true, false},
                                          {"labels", "labels", true, true},
                                          {"training/defaults", "defaults", false, false},
                                          {"training/epochs", "epochs", true, false},
                                          {"training/best_epoch", "best epoch", true, false},
                                          {"figures/train/loss", "loss", true, false},
                                          {"figures/valid/loss", "validation loss", true, false},
                                          {"figures/ranking/chosen", "chosen", false, false},
                                          {"figures/ranking/k", "k", true, false},
                                          {"figures/ranking/users", "compared users", true, false},
                                          {"figures/ranking/repeats", "repeats", true, false},
                                          {"notes", "notes", false, true},
                                          {"warnings", "warnings", false, true}};
  for (size_t i = 0; i < sizeof members / sizeof *members; i++)
    if (strcmp(members[i].member, member) == 0) return &members[i];
  return NULL;
}

/* "figures/ranking/popular/ndcg": the NDCG of a candidate for a recommender. */
static void report_candidate(report *r, const char *member, const char *text) {
  static const char above[] = "figures/ranking/";
  char name[128];
  const char *candidate = member + sizeof above - 1, *slash;
  if (!text || strncmp(member, above, sizeof above - 1) != 0 || !(slash = strchr(candidate, '/'))) return;
  if (strcmp(slash, "/ndcg") != 0) return;
  snprintf(name, sizeof name, "ndcg of %.*s", (int)(slash - candidate), candidate);
  report_f64(r, name, strtod(text, NULL));
}

static furrow_status see_member(void *user, const char *member, const char *text) {
  record_report *record = user;
  const record_member *found = find_member(member);
  if (record->open && record->open != found) {
    report_end(record->r);
    record->open = NULL;
  }
  if (!found) {
    report_candidate(record->r, member, text);
    return FURROW_OK;
  }
  if (found->list && !record->open) {
    report_list(record->r, found->name);
    record->open = found;
  }
  const char *name = found->list ? NULL : found->name;
  if (!text)
    report_none(record->r, name);
  else if (found->number)
    report_f64(record->r, name, strtod(text, NULL));
  else
    report_text(record->r, name, text);
  return FURROW_OK;
}

/* The commands are about the model, whose folder has the file. */
static void advise_record(path_inspection *look) {
  char folder[PATH_MAX];
  const char *slash = strrchr(look->path, '/');
  if (snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - look->path) : 1, slash ? look->path : ".") >=
      PATH_MAX)
    return;
  path_inspection around = {.path = folder[0] ? folder : "/", .folder = true};
  model_facts facts;
  path_advise(&around, "furrow info @");
  if (model_facts_read(&facts, around.path, NULL) == FURROW_OK && facts.recommends)
    advise_recommending(&around);
  else
    advise_scoring(&around, "");
  for (size_t i = 0; i < around.command_count; i++) look->commands[i] = around.commands[i];
  look->command_count = around.command_count;
}

furrow_status report_record(report *r, const char *path, furrow_error *err) {
  record_report record = {.r = r};
  const furrow_status status = furrow_model_json_for_each(path, see_member, &record, err);
  if (record.open) report_end(r);
  return status;
}

static furrow_status describe_record(path_inspection *look, furrow_error *err) {
  const furrow_status status = report_record(look->r, look->path, err);
  if (status == FURROW_OK) advise_record(look);
  return status;
}

const path_kind record_kind = {"record of a model", "what Furrow keeps with a model: its data, training and figures",
                               is_record, describe_record};
const path_kind schema_kind = {"schema", "what the columns of a raw log are", is_schema, describe_schema};
const path_kind checkpoint_kind = {"checkpoint", "the state of a training after an epoch", is_checkpoint,
                                   tell_checkpoint};
const path_kind conf_kind = {"algorithm", "Angel's JSON file for an algorithm, or the graph of a model", is_conf,
                             describe_conf};
