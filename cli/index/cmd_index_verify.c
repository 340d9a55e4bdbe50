/* cli/index/cmd_index_verify.c: furrow index verify: checks everything in an index file. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "core/commands.h"
#include "core/fail.h"
#include "core/report.h"
#include "furrow/card.h"
#include "index/index_source.h"

typedef struct verify_values {
  index_source_values source;
  const char *path;
  bool json, quiet;
} verify_values;

static const option verify_operands[] = {{.name = "FILE",
                                          .kind = OPTION_TEXT,
                                          .help = "the index file",
                                          .offset = offsetof(verify_values, path),
                                          .required = true},
                                         {0}};

static const option verify_options[] = {JSON_OPTION(offsetof(verify_values, json)),
                                        {.name = "quiet",
                                         .letter = 'q',
                                         .kind = OPTION_FLAG,
                                         .help = "print only errors, no remarks and no summary",
                                         .offset = offsetof(verify_values, quiet)},
                                        {0}};

static const option_group verify_groups[] = {
    {.title = "Options", .options = verify_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(verify_values, source)},
    {0}};

typedef struct findings {
  report r;
  bool quiet;
  uint64_t errors, remarks;
  bool stale; /* the index should be rebuilt */
} findings;

static void report_finding(report *r, const furrow_index_finding *finding) {
  report_section(r, NULL);
  report_text(r, "severity", finding->fatal ? "error" : "remark");
  report_text(r, "name", finding->path);
  if (finding->offset == FURROW_NO_OFFSET)
    report_none(r, "offset");
  else
    report_u64(r, "offset", finding->offset);
  report_text(r, "message", finding->message);
  report_end(r);
}

static void print_finding(output *out, const furrow_index_finding *finding) {
  output_format(out, "%s: ", finding->fatal ? "error" : "remark");
  if (finding->offset != FURROW_NO_OFFSET) output_format(out, "byte %" PRIu64 ": ", finding->offset);
  if (finding->path[0]) output_format(out, "%s: ", finding->path);
  output_format(out, "%s\n", finding->message);
}

static void add_finding(void *user, const furrow_index_finding *finding) {
  findings *f = user;
  if (finding->fatal)
    f->errors++;
  else
    f->remarks++;
  if (f->r.json)
    report_finding(&f->r, finding);
  else if (finding->fatal || !f->quiet)
    print_finding(f->r.out, finding);
}

static void add_fault(findings *f, const char *path, furrow_status status, const char *message) {
  add_finding(f, &(furrow_index_finding){.fatal = status != FURROW_OK,
                                         .path = path,
                                         .offset = FURROW_NO_OFFSET,
                                         .status = status,
                                         .message = message});
}

/* Findings about names: `unused` of them have no vector. */
static void find_names(findings *f, furrow_status status, uint64_t unused, const furrow_error *err) {
  char message[64];
  snprintf(message, sizeof message, "%" PRIu64 " name%s no vector", unused, unused == 1 ? " has" : "s have");
  if (status != FURROW_OK || unused > 0) add_fault(f, "names", status, status != FURROW_OK ? err->message : message);
}

/* Findings about attributes: `unused` rows have no vector. */
static void find_attributes(findings *f, furrow_status status, uint64_t unused, const furrow_error *err) {
  char message[64];
  snprintf(message, sizeof message, "%" PRIu64 " row%s no vector", unused, unused == 1 ? " has" : "s have");
  if (status != FURROW_OK || unused > 0)
    add_fault(f, "attributes", status, status != FURROW_OK ? err->message : message);
}

/* Findings about the attributes of ids, after index and names have turned out to be good. */
static furrow_status verify_attributes(const verify_values *verify, const furrow_index *index, findings *f,
                                       furrow_error *err) {
  furrow_attributes *attributes = NULL;
  uint64_t unused = 0;
  furrow_status status = furrow_attributes_load(&attributes, verify->path, err);
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status == FURROW_OK) status = furrow_attributes_check(attributes, index, &unused, err);
  find_attributes(f, status, unused, err);
  furrow_attributes_free(attributes);
  return status;
}

/* Findings about the card: one that cannot be used is an error, a stale index is a remark. */
static furrow_status verify_card(const furrow_index *index, findings *f, furrow_error *err) {
  furrow_index_card card;
  furrow_index_card_init(&card);
  const furrow_status status = furrow_index_get_card(index, &card, err);
  if (status == FURROW_E_NOT_FOUND) return FURROW_OK;
  if (status != FURROW_OK || card.stale) add_fault(f, "card", status, status != FURROW_OK ? err->message : card.advice);
  f->stale = status == FURROW_OK && card.stale;
  return status;
}

/* Findings about the names of ids, after the index itself has turned out to be good. */
static furrow_status verify_names(const verify_values *verify, findings *f, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  uint64_t unused = 0;
  index_source_params(&verify->source, &params);
  params.card = true;
  furrow_status status = index_source_load_with_names(&index, &names, verify->path, &params, err);
  if (status == FURROW_OK && names) status = furrow_id_names_check(names, index, &unused, err);
  find_names(f, status, unused, err);
  if (status == FURROW_OK) status = verify_attributes(verify, index, f, err);
  if (status == FURROW_OK) status = verify_card(index, f, err);
  furrow_id_names_free(names);
  furrow_index_free(index);
  return status;
}

/* ---- Shards --------------------------------------------------------------------------------------------- */

/* Finds ids that are in two shards. */
static furrow_status verify_ids(const furrow_shards *shards, findings *f, furrow_error *err) {
  furrow_status status = FURROW_OK;
  id_list all = {0};
  size_t twice = 0;
  for (size_t s = 0; status == FURROW_OK && s < furrow_shards_count(shards); s++)
    status = id_list_add(&all, furrow_shards_index(shards, s), err);
  if (status == FURROW_OK && all.count > 1) qsort(all.ids, all.count, sizeof *all.ids, fw_compare_i64);
  for (size_t i = 1; status == FURROW_OK && i < all.count; i++) twice += all.ids[i] == all.ids[i - 1];
  id_list_clear(&all);
  char message[64];
  snprintf(message, sizeof message, "%zu id%s more than once", twice, twice == 1 ? " occurs" : "s occur");
  if (status == FURROW_OK && twice > 0) add_fault(f, "shards", FURROW_OK, message);
  return status;
}

/* Checks that every id of every shard has a name; names that no shard uses are a remark. */
static furrow_status verify_shard_names(const verify_values *verify, const furrow_shards *shards, findings *f,
                                        furrow_error *err) {
  furrow_id_names *names = NULL;
  uint64_t used = 0, unused = 0;
  furrow_status status = index_names_load(&names, verify->path, err);
  if (status == FURROW_OK && !names) return FURROW_OK;
  for (size_t s = 0; status == FURROW_OK && s < furrow_shards_count(shards); s++) {
    status = furrow_id_names_check(names, furrow_shards_index(shards, s), &unused, err);
    used += furrow_id_names_count(names) - unused;
  }
  unused = status == FURROW_OK && used < furrow_id_names_count(names) ? furrow_id_names_count(names) - used : 0;
  find_names(f, status, unused, err);
  furrow_id_names_free(names);
  return status;
}

/* The same of attributes. */
static furrow_status verify_shard_attributes(const verify_values *verify, const furrow_shards *shards, findings *f,
                                             furrow_error *err) {
  furrow_attributes *attributes = NULL;
  uint64_t used = 0, unused = 0;
  furrow_status status = index_attributes_load(&attributes, verify->path, err);
  if (status == FURROW_OK && !attributes) return FURROW_OK;
  for (size_t s = 0; status == FURROW_OK && s < furrow_shards_count(shards); s++) {
    status = furrow_attributes_check(attributes, furrow_shards_index(shards, s), &unused, err);
    used += furrow_attributes_count(attributes) - unused;
  }
  unused = status == FURROW_OK && used < furrow_attributes_count(attributes)
               ? furrow_attributes_count(attributes) - used
               : 0;
  find_attributes(f, status, unused, err);
  furrow_attributes_free(attributes);
  return status;
}

/* Verifies each shard as an index, then all of them together: their bytes, and what they must have in common. */
static furrow_status verify_shards(const verify_values *verify, findings *f, furrow_error *err) {
  furrow_shards *shards = NULL;
  furrow_index_load_params load;
  furrow_shards_params params;
  index_source_params(&verify->source, &load);
  furrow_shards_params_init(&params);
  params.load = &load;
  params.manifest_only = true;
  furrow_status status = furrow_shards_open(&shards, verify->path, &params, err);
  const size_t count = status == FURROW_OK ? furrow_shards_count(shards) : 0;
  if (status != FURROW_OK) add_fault(f, "", status, err->message);
  for (size_t s = 0; status == FURROW_OK && s < count; s++)
    status = furrow_index_verify(furrow_shards_path(shards, s), &load, add_finding, f, err);
  furrow_shards_free(shards);
  shards = NULL;
  if (status != FURROW_OK) return status;
  params.manifest_only = false;
  params.check_digests = true;
  status = furrow_shards_open(&shards, verify->path, &params, err);
  if (status != FURROW_OK) add_fault(f, err->file, status, err->message);
  if (status == FURROW_OK) status = verify_ids(shards, f, err);
  if (status == FURROW_OK) status = verify_shard_names(verify, shards, f, err);
  if (status == FURROW_OK) status = verify_shard_attributes(verify, shards, f, err);
  furrow_shards_free(shards);
  return status;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

static furrow_status verify_run(const void *values, output *out, furrow_error *err) {
  const verify_values *verify = values;
  furrow_index_load_params params;
  findings f = {.quiet = verify->quiet};
  furrow_status status = index_source_check(verify->path, err);
  if (status != FURROW_OK) return status;
  index_source_params(&verify->source, &params);
  report_start(&f.r, out, verify->json);
  if (verify->json) {
    report_text(&f.r, "file", verify->path);
    report_list(&f.r, "findings");
  }
  const bool shards = furrow_is_shards(verify->path);
  if (shards)
    status = verify_shards(verify, &f, err);
  else
    status = furrow_index_verify(verify->path, &params, add_finding, &f, err);
  if (status == FURROW_OK && !shards) status = verify_names(verify, &f, err);
  if (verify->json) {
    report_end(&f.r);
    report_u64(&f.r, "errors", f.errors);
    report_u64(&f.r, "remarks", f.remarks);
    report_bool(&f.r, "stale", f.stale);
  } else if (!verify->quiet) {
    output_format(out, "%s: %" PRIu64 " error%s, %" PRIu64 " remark%s\n", verify->path, f.errors,
                  f.errors == 1 ? "" : "s", f.remarks, f.remarks == 1 ? "" : "s");
  }
  report_finish(&f.r);
  if (status == FURROW_OK || f.errors == 0) return status;
  out->exit_code = furrow_status_exit_code(status); /* the findings were printed */
  return FURROW_OK;
}

const command index_verify_command = {
    .name = "verify",
    .summary = "check everything in an index file",
    .example = "furrow index verify items.index",
    .about =
        "An error makes an index unreadable or its results wrong; a remark is about something unusual that Faiss "
        "and Furrow read. If the ids have names, every id must have one, and the names must have been written for this "
        "very file. An index that should be rebuilt, because vectors that were added do not fit its centroids or most "
        "of "
        "its vectors were removed, gets the remark \"stale: rebuild\" with the figure that says so; it comes from the "
        "card of the index, INDEX.card. The exit code is 0 when there are no errors, otherwise the code of the first "
        "error.",
    .operands = verify_operands,
    .groups = verify_groups,
    .size = sizeof(verify_values),
    .run = verify_run,
};
