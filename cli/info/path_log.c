/* cli/info/path_log.c: raw logs for 'furrow info': tables with text in them, and the encoders that read them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "core/text_file.h"
#include "furrow/io.h"
#include "furrow/table.h"
#include "info/path_kind.h"
#include "rows/table_encoder.h"

/* Bytes of text that are looked at; the rest of a large log is ignored. */
enum { HEAD_BYTES = 1 << 20 };
#define HEAD_FILE "memory://furrow/head"
/* Rows of a Parquet file that are looked at. */
enum { QUERY_ROWS = 10000 };

/* Bytes that a compressed head may unpack to: some kilobytes may be gigabytes. */
enum { UNPACKED_BYTES = 256 << 20 };

/* Whether a call succeeded; remembers that memory is lacking. */
static bool worked(const path_inspection *look, furrow_status status) {
  if (status == FURROW_E_MEMORY && look->lacks_memory) *look->lacks_memory = true;
  return status == FURROW_OK;
}

/* The first rows of a Parquet file as a table in memory, if DuckDB's library is there. */
static bool keep_query(const path_inspection *look) {
  const size_t size = 3 * strlen(look->path) + 64;
  char *sql = malloc(size);
  if (!sql) return worked(look, FURROW_E_MEMORY);
  size_t n = (size_t)snprintf(sql, size, "FROM read_parquet('%s", look->path[0] == '/' ? "" : "./");
  for (const char *p = look->path; *p; p++) {
    const bool special = strchr("*?[", *p) != NULL; /* stands for itself */
    n += (size_t)snprintf(sql + n, size - n, special ? "[%c]" : *p == '\'' ? "''" : "%c", *p);
  }
  snprintf(sql + n, size - n, "') LIMIT %d", QUERY_ROWS);
  const bool kept = worked(look, furrow_memory_query_add(HEAD_FILE, sql, NULL, NULL));
  free(sql);
  return kept;
}

/* The first lines of a file as one in memory. A compressed file is looked into if all of it fits. */
static bool keep_head(const path_inspection *look) {
  char *head = malloc(HEAD_BYTES);
  size_t size = 0;
  if (!head || !worked(look, furrow_path_read(look->path, 0, head, HEAD_BYTES, &size, NULL))) {
    if (!head) (void)worked(look, FURROW_E_MEMORY);
    free(head);
    return false;
  }
  if (size >= 4 && memcmp(head, "PAR1", 4) == 0 && keep_query(look)) {
    free(head);
    return true;
  }
  if (size == HEAD_BYTES) { /* whole lines */
    const char *end = memrchr(head, '\n', size);
    size = end ? (size_t)(end - head) + 1 : size;
  }
  if (size > 0 && worked(look, furrow_memory_file_add(HEAD_FILE, head, size, free, head, NULL))) return true;
  free(head);
  return false;
}

static bool is_small(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)user, (void)phase, (void)total;
  return done <= UNPACKED_BYTES;
}

/* The schema of the head; NULL: it is not a table, or the label column is uncertain. label: NULL: found by itself, "":
 * none. strict: fails on doubts, as training does. */
static furrow_schema *propose(const path_inspection *look, const char *label, bool strict) {
  furrow_schema *schema = NULL;
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.label = label;
  params.strict = strict;
  params.threads = 1;
  params.max_line_bytes = look->max_line;
  params.progress = is_small;
  return worked(look, furrow_schema_propose(&schema, HEAD_FILE, &params, NULL)) ? schema : NULL;
}

static size_t count_sides(const furrow_schema *schema) {
  size_t sides = 0;
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    sides += strcmp(column.role, "user") == 0 || strcmp(column.role, "item") == 0;
  }
  return sides;
}

static bool needs_schema(const path_inspection *look) {
  bool needed = false;
  return worked(look, furrow_table_needs_schema(HEAD_FILE, &needed, NULL)) && needed;
}

/* The schema of the first rows; NULL: they are not a table with several columns. If several columns may be the label,
 * the schema is one without. */
static const furrow_schema *head_schema(const path_inspection *look) {
  table_head *head = look->head;
  if (look->folder || !head) return NULL;
  if (!head->looked) {
    head->looked = true;
    head->kept = keep_head(look);
    if (head->kept) head->schema = propose(look, NULL, false);
    if (head->kept && !head->schema) head->schema = propose(look, "", false);
  }
  return head->schema && furrow_schema_column_count(head->schema) > 1 ? head->schema : NULL;
}

void table_head_clear(table_head *head) {
  if (head->kept) {
    furrow_status removed = furrow_memory_file_remove(HEAD_FILE, NULL);
    if (removed != FURROW_OK) removed = furrow_memory_table_remove(HEAD_FILE, NULL);
    (void)removed;
  }
  furrow_schema_free(head->schema);
  *head = (table_head){0};
}

/* Names of columns are texts of JSON, not its keys. */
static void start_items(report *r, const char *name) {
  if (r->json)
    report_list(r, name);
  else
    report_section(r, name);
}

void report_schema(report *r, const furrow_schema *schema) {
  start_items(r, "columns");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    report_line(r, column.name, "%s%s%s%s", column.as, column.role[0] ? " (" : "", column.role,
                column.role[0] ? ")" : "");
    if (!r->json) continue;
    report_section(r, NULL);
    report_text(r, "name", column.name);
    report_text(r, "as", column.as);
    report_text(r, "role", column.role);
    report_end(r);
  }
  report_end(r);
}

/* Data that training reads as a log, and numbers of users and items, which rows of numbers would take for quantities.
 */
static bool is_log(const path_inspection *look) {
  const furrow_schema *schema = head_schema(look);
  return schema && (needs_schema(look) || count_sides(schema) == 2);
}

/* Any other table that is not rows, such as one without a header. */
static bool is_table(const path_inspection *look) {
  return head_schema(look) != NULL;
}

/* ---- The label of a log ---- */

typedef struct log_label {
  const char *name; /* name of the schema; NULL: none */
  const char *why;  /* "": the schema names it */
  label_task task;
  bool named; /* whether the label has three or more classes with names */
} log_label;

/* The task that the labels of the first rows suggest; none if the labels cannot be read as in training. */
static label_task task_of_head(const path_inspection *look, const furrow_schema *schema) {
  furrow_encoder *encoder = NULL;
  furrow_parser *parser = NULL;
  const furrow_rowblock *block = NULL;
  char *uri = NULL;
  label_task task = {0};
  furrow_error ignored;
  furrow_status status = furrow_encoder_build(&encoder, HEAD_FILE, schema, NULL, NULL);
  if (status == FURROW_OK) status = furrow_encoder_save(encoder, ENCODER_IN_MEMORY, true, NULL);
  if (status == FURROW_OK) status = furrow_encoder_uri(HEAD_FILE, ENCODER_IN_MEMORY, &uri, NULL);
  if (status == FURROW_OK) status = furrow_parser_open_part(&parser, uri, 0, 1, "auto", NULL);
  if (status == FURROW_OK) status = furrow_parser_next_block(parser, &block, NULL);
  if (status == FURROW_OK) status = label_task_of(block, &task, &ignored);
  furrow_parser_close(parser);
  furrow_free(uri);
  furrow_encoder_free(encoder);
  return worked(look, status) ? task : (label_task){0};
}

/* Takes the label of the schema, if a training can. */
static bool take_label(const path_inspection *look, const furrow_schema *schema, const char *name, const char *why,
                       log_label *label) {
  const label_task task = task_of_head(look, schema);
  if (task.kind != TASK_NONE) *label = (log_label){name, why, task, furrow_schema_class_name(schema, 2) != NULL};
  return task.kind != TASK_NONE;
}

/* The same for a label column that is not the schema's. */
static bool try_label(const path_inspection *look, const char *name, const char *why, log_label *label) {
  furrow_schema *schema = propose(look, name, true);
  const bool taken = schema && take_label(look, schema, name, why, label);
  furrow_schema_free(schema);
  return taken;
}

static bool can_be_label(const furrow_schema_column *column) {
  return !column->role[0] && strcmp(column->as, "ignore") != 0 && strcmp(column->as, "time") != 0 &&
         strcmp(column->as, "text") != 0 && strcmp(column->as, "set") != 0 && !is_id_name(column->name);
}

/* The column that the schema names; otherwise, in a log without users and items, the last column, unless it has numbers
 * and the first column has two classes. Numbers that users give items are ratings. trained: training accepts the
 * schema. */
static log_label find_label(const path_inspection *look, const furrow_schema *schema, bool trained) {
  const size_t count = furrow_schema_column_count(schema);
  const bool sides = count_sides(schema) == 2;
  log_label found = {0};
  furrow_schema_column column;
  for (size_t i = 0; i < count; i++) {
    furrow_schema_get_column(schema, i, &column);
    if (strcmp(column.as, "label") != 0) continue;
    if (trained) take_label(look, schema, column.name, "", &found);
    if (sides && !found.named && found.task.kind == TASK_CLASSES) found.task.kind = TASK_REGRESSION;
    return found;
  }
  if (sides) return found;
  furrow_schema_get_column(schema, count - 1, &column);
  if (can_be_label(&column) && try_label(look, column.name, "a guess: the last column", &found) &&
      found.task.kind != TASK_REGRESSION)
    return found;
  log_label first = {0};
  furrow_schema_get_column(schema, 0, &column);
  if (can_be_label(&column)) try_label(look, column.name, "a guess: the first column has two classes", &first);
  return first.task.kind == TASK_TWO_CLASSES ? first : found;
}

/* ---- Commands ---- */

/* Writes " --label NAME" for a shell and for path_advise; false: the name has characters with a special meaning for one
 * of them.
 */
static bool put_label(char *text, size_t size, const char *name) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  const char *quote = name[strspn(name, plain)] ? "'" : "";
  text[0] = 0;
  if (!name[0] || name[0] == '-' || strpbrk(name, "'@^\n\r\t\x1b")) return false;
  return (size_t)snprintf(text, size, " --label %s%s%s", quote, name, quote) < size;
}

static void advise_train(path_inspection *look, const char *algorithm, const char *options, const char *ending) {
  char command[512];
  snprintf(command, sizeof command, "furrow train --model %s --train @%s --out @%s", algorithm, options, ending);
  path_advise(look, command);
}

/* Trees and a factorization machine, which is for users and items, find their loss by the labels. */
static void advise_models(path_inspection *look, const log_label *label, bool sides, const char *options) {
  static const char *const linear[] = {
      [TASK_TWO_CLASSES] = "lr", [TASK_CLASSES] = "softmax", [TASK_REGRESSION] = "linear"};
  if (sides) {
    advise_train(look, "fm", options, ".model");
    return;
  }
  advise_train(look, "gbdt", options, ".gbdt");
  advise_train(look, linear[label->task.kind], options, ".model");
}

static void advise_log(path_inspection *look, const furrow_schema *schema, bool trained, const log_label *label) {
  char name[256] = "", options[300], command[320];
  const bool sides = count_sides(schema) == 2, guessed = label->name && label->why[0];
  const bool named = label->name && put_label(name, sizeof name, label->name);
  snprintf(command, sizeof command, "furrow rows schema @%s", guessed && named ? name : "");
  path_advise(look, command);
  if (sides && trained) advise_train(look, "recommender", "", ".recommender");
  snprintf(options, sizeof options, "%s%s", needs_schema(look) ? "" : " --schema auto", name);
  if (named) advise_models(look, label, sides, options);
}

/* Whether training accepts the schema: with users and items, the label must not be in doubt. */
static bool is_trained(const path_inspection *look, const furrow_schema *schema) {
  if (count_sides(schema) < 2) return true;
  furrow_schema *strict = propose(look, NULL, true);
  const bool taken = strict != NULL;
  furrow_schema_free(strict);
  return taken;
}

static furrow_status describe_log(path_inspection *look, furrow_error *err) {
  const furrow_schema *schema = head_schema(look);
  if (!schema) return fail_in(err, FURROW_E_FORMAT, look->path, "not a table");
  const bool trained = is_trained(look, schema);
  const log_label label = find_label(look, schema, trained);
  report_schema(look->r, schema);
  if (label.name && label.why[0]) report_line(look->r, "label column", "%s (%s)", label.name, label.why);
  if (label.name && look->r->json) report_text(look->r, "label column", label.name);
  report_task(look->r, &label.task);
  advise_log(look, schema, trained, &label);
  return FURROW_OK;
}

const path_kind log_kind = {"raw log", "a table with names or texts in it, which training reads through a schema",
                            is_log, describe_log};
const path_kind table_kind = {"raw log", "a table with names or texts in it, which training reads through a schema",
                              is_table, describe_log};

/* ---- Encoders -------------------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name) {
  char path[4096];
  return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && path_is_there(path);
}

static bool is_encoder(const path_inspection *look) {
  return look->folder && has_file(look->path, "dictionary.furrow") && !has_file(look->path, "graph.json") &&
         !has_file(look->path, "furrow.json");
}

static furrow_status describe_encoder(path_inspection *look, furrow_error *err) {
  furrow_encoder *encoder = NULL;
  const furrow_status status = furrow_encoder_load(&encoder, look->path, err);
  if (status != FURROW_OK) return status;
  report_u64(look->r, "features", furrow_encoder_feature_count(encoder));
  start_items(look->r, "fields");
  for (size_t i = 0; i < furrow_encoder_field_count(encoder); i++) {
    furrow_encoder_field field;
    furrow_encoder_get_field(encoder, i, &field);
    report_line(look->r, field.name, "%" PRIu64 " features from %" PRIu64 " on, %" PRIu64 " names", field.count,
                field.first, field.entries);
    if (!look->r->json) continue;
    report_section(look->r, NULL);
    report_text(look->r, "name", field.name);
    report_u64(look->r, "first", field.first);
    report_u64(look->r, "count", field.count);
    report_u64(look->r, "names", field.entries);
    report_end(look->r);
  }
  report_end(look->r);
  furrow_encoder_free(encoder);
  path_advise(look, "furrow rows encode LOG --dictionary @ --out rows.ffm");
  return FURROW_OK;
}

const path_kind encoder_kind = {"encoder", "a schema and a dictionary, for raw logs", is_encoder, describe_encoder};
