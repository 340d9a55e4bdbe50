/* cli/index/cmd_index_verify.c: furrow index verify: checks everything in an index file. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "core/commands.h"
#include "core/report.h"
#include "index/index_names.h"
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

static const option verify_options[] = {
    {.name = "json", .kind = OPTION_FLAG, .help = "report as JSON", .offset = offsetof(verify_values, json)},
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

/* Findings about the names of ids, after the index itself has turned out to be good. */
static furrow_status verify_names(const verify_values *verify, findings *f, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  uint64_t unused = 0;
  char message[64];
  index_source_params(&verify->source, &params);
  furrow_status status = index_names_load(&names, verify->path, err);
  if (status == FURROW_OK && !names) return FURROW_OK;
  if (status == FURROW_OK) status = furrow_index_load(&index, verify->path, &params, err);
  if (status == FURROW_OK) status = furrow_id_names_check(names, index, &unused, err);
  snprintf(message, sizeof message, "%" PRIu64 " name%s no vector", unused, unused == 1 ? " has" : "s have");
  if (status != FURROW_OK || unused > 0)
    add_finding(f, &(furrow_index_finding){.fatal = status != FURROW_OK,
                                           .path = "names",
                                           .offset = FURROW_NO_OFFSET,
                                           .status = status,
                                           .message = status != FURROW_OK ? err->message : message});
  furrow_id_names_free(names);
  furrow_index_free(index);
  return status;
}

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
  status = furrow_index_verify(verify->path, &params, add_finding, &f, err);
  if (status == FURROW_OK) status = verify_names(verify, &f, err);
  if (verify->json) {
    report_end(&f.r);
    report_u64(&f.r, "errors", f.errors);
    report_u64(&f.r, "remarks", f.remarks);
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
        "very file. The exit code is 0 when there are no errors, otherwise the code of the first error.",
    .operands = verify_operands,
    .groups = verify_groups,
    .size = sizeof(verify_values),
    .run = verify_run,
};
