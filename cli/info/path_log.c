/* cli/info/path_log.c: raw logs for 'furrow info': tables with text in them, and the encoders that read them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "furrow/table.h"
#include "info/path_kind.h"

/* Bytes of text that are looked at; the rest of a large log is ignored. */
enum { HEAD_BYTES = 1 << 20 };
#define HEAD_FILE "memory://furrow/head"

/* Bytes that a compressed head may unpack to: some kilobytes may be gigabytes. */
enum { UNPACKED_BYTES = 256 << 20 };

/* The first lines of a file as one in memory. A compressed file is looked into if all of it fits. */
static bool keep_head(const char *path) {
  FILE *file = fopen(path, "rb");
  char *head = file ? malloc(HEAD_BYTES) : NULL;
  size_t size = head ? fread(head, 1, HEAD_BYTES, file) : 0;
  if (file) fclose(file);
  if (size == HEAD_BYTES) { /* whole lines */
    const char *end = memrchr(head, '\n', size);
    size = end ? (size_t)(end - head) + 1 : size;
  }
  if (size > 0 && furrow_memory_file_add(HEAD_FILE, head, size, free, head, NULL) == FURROW_OK) return true;
  free(head);
  return false;
}

static bool is_small(void *user, const char *phase, uint64_t done, uint64_t total) {
  (void)user, (void)phase, (void)total;
  return done <= UNPACKED_BYTES;
}

static furrow_schema *propose(const path_inspection *look) {
  furrow_schema *schema = NULL;
  furrow_schema_propose_params params;
  furrow_schema_propose_params_init(&params);
  params.threads = 1;
  params.max_line_bytes = look->max_line;
  params.progress = is_small;
  if (!keep_head(look->path)) return NULL;
  const furrow_status status = furrow_schema_propose(&schema, HEAD_FILE, &params, NULL);
  const furrow_status removed = furrow_memory_file_remove(HEAD_FILE, NULL);
  (void)removed;
  return status == FURROW_OK ? schema : NULL;
}

/* Names of columns are texts of JSON, not its keys. */
static void start_items(report *r, const char *name) {
  if (r->json)
    report_list(r, name);
  else
    report_section(r, name);
}

static bool is_log(const path_inspection *look) {
  furrow_schema *schema = look->folder ? NULL : propose(look);
  const bool table = schema && furrow_schema_column_count(schema) > 1;
  furrow_schema_free(schema);
  return table;
}

static furrow_status describe_log(path_inspection *look, furrow_error *err) {
  furrow_schema *schema = propose(look);
  unsigned sides = 0;
  if (!schema) return fail_in(err, FURROW_E_FORMAT, look->path, "not a table");
  start_items(look->r, "columns");
  for (size_t i = 0; i < furrow_schema_column_count(schema); i++) {
    furrow_schema_column column;
    furrow_schema_get_column(schema, i, &column);
    report_line(look->r, column.name, "%s%s%s%s", column.as, column.role[0] ? " (" : "", column.role,
                column.role[0] ? ")" : "");
    sides += strcmp(column.role, "user") == 0 || strcmp(column.role, "item") == 0;
    if (!look->r->json) continue;
    report_section(look->r, NULL);
    report_text(look->r, "name", column.name);
    report_text(look->r, "as", column.as);
    report_text(look->r, "role", column.role);
    report_end(look->r);
  }
  report_end(look->r);
  furrow_schema_free(schema);
  path_advise(look, "furrow rows schema @");
  if (sides == 2) path_advise(look, "furrow train --model recommender --train @ --out @.recommender");
  path_advise(look, "furrow train --model fm --train @ --schema auto --out @.model");
  return FURROW_OK;
}

const path_kind log_kind = {"raw log", "a table with text in it, for training with --schema", is_log, describe_log};

/* ---- Encoders -------------------------------------------------------------------------------------------- */

static bool has_file(const char *folder, const char *name) {
  char path[4096];
  return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0;
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
