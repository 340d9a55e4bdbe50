/* cli/info/cmd_info.c: furrow info: describes a path, and shows commands for it. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/text_file.h"
#include "furrow/io.h"
#include "info/path_kind.h"
#include "model/model_source.h"
#include "rows/rows_source.h"

/* The most bytes of a line: a small compressed file may unpack to one line of gigabytes, which the reader would keep in
 * memory. */
enum { MAX_LINE = 16 << 20 };

typedef struct info_values {
  const char *path;
  size_t max_line;
  bool json;
} info_values;

static const option info_operands[] = {{.name = "PATH",
                                        .kind = OPTION_TEXT,
                                        .help = "a file or a folder; rows may also be named by a URI",
                                        .offset = offsetof(info_values, path),
                                        .required = true},
                                       {0}};

static const option line_options[] = {{.name = "max-line",
                                       .kind = OPTION_BYTES,
                                       .argument = "BYTES",
                                       .help = "how far a line may reach past the end of its block (16MiB)",
                                       .offset = offsetof(info_values, max_line)},
                                      {0}};

static const option_group info_groups[] = {
    {.title = "Options", .options = line_options},
    {.title = "Options", .options = json_options, .offset = offsetof(info_values, json)},
    {.title = "Options", .options = plugin_options},
    {0}};

/* ---- Nothing that is read ------------------------------------------------------------------------------- */

static bool is_empty(const char *path) {
  furrow_file_info found;
  return furrow_path_look(path, &found, NULL) == FURROW_OK && found.kind == FURROW_FILE_REGULAR && found.length == 0;
}

/* Reports why the path is not rows: the reader of rows comes last, and recognises many foreign files by their first
 * bytes. */
static furrow_status fail_unknown(const path_inspection *look, furrow_error *err) {
  const furrow_rowblock *block = NULL;
  source_values values;
  source rows;
  if (is_empty(look->path)) return fail_file(err, FURROW_E_FORMAT, look->path, "is empty", 0);
  source_values_init(&values);
  values.quiet = true;
  values.max_line = look->max_line;
  furrow_status status = source_open(&rows, look->path, &values, err);
  if (status == FURROW_OK) {
    report_text(look->r, "looks like", source_format(&rows));
    report_text(look->r, "chosen by", source_format_reason(&rows));
    status = source_next(&rows, &block, err);
  }
  source_close(&rows);
  if (status == FURROW_OK || status == FURROW_END)
    return fail_file(err, FURROW_E_FORMAT, look->path, "is text without rows", 0);
  return status;
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

static void report_failure(report *r, const furrow_error *err) {
  char text[1024];
  furrow_error_to_text(err, text, sizeof text);
  report_text(r, "status", furrow_status_name(err->status));
  report_text(r, r->json ? "error" : "what is wrong", text);
  if (err->hint[0]) report_text(r, "hint", err->hint);
}

static void report_commands(const path_inspection *look) {
  report *r = look->r;
  if (r->json) {
    report_list(r, "commands");
    for (size_t i = 0; i < look->command_count; i++) report_text(r, NULL, look->commands[i]);
    report_end(r);
    return;
  }
  if (look->command_count) output_text(r->out, "\nCommands to try:\n");
  for (size_t i = 0; i < look->command_count; i++) output_format(r->out, "  %s\n", look->commands[i]);
}

static furrow_status describe(path_inspection *look, furrow_error *err) {
  const path_kind *kind = path_kind_of(look);
  report *r = look->r;
  report_text(r, "path", look->path);
  report_text(r, "kind", kind ? kind->name : "unknown");
  if (kind) report_text(r, "about", kind->about);
  furrow_status status = kind ? kind->describe(look, err) : fail_unknown(look, err);
  if (status != FURROW_OK) report_failure(r, err);
  report_commands(look);
  return status;
}

/* ---- Command -------------------------------------------------------------------------------------------- */

/* A name that is not a file may still be a URI of rows: a glob, or a file with arguments. */
static furrow_status find_path(path_inspection *look, furrow_error *err) {
  furrow_file_info there;
  struct stat found;
  if (source_is_stdin(look->path))
    return fail(err, FURROW_E_ARGUMENT, "'furrow info' does not read standard input"),
           add_hint(err, "'furrow rows info -' reads rows from it");
  if (path_is_named(look->path) && furrow_path_look(look->path, &there, NULL) == FURROW_OK) {
    look->folder = there.kind == FURROW_FILE_FOLDER;
    return FURROW_OK;
  }
  if (stat(look->path, &found) == 0) {
    look->folder = S_ISDIR(found.st_mode);
    if (look->folder || S_ISREG(found.st_mode)) return FURROW_OK;
    return fail_file(err, FURROW_E_ARGUMENT, look->path, "is neither a file nor a folder", 0);
  }
  if (errno == ENOENT && (strpbrk(look->path, "?;#*[") || strstr(look->path, "://"))) return FURROW_OK;
  if (errno == ENOENT) return fail_file(err, FURROW_E_NOT_FOUND, look->path, "no such file or directory", 0);
  return fail_file(err, FURROW_E_IO, look->path, "cannot be read", errno);
}

static void info_init(void *values) {
  ((info_values *)values)->max_line = MAX_LINE;
}

static furrow_status info_run(const void *values, output *out, furrow_error *err) {
  const info_values *info = values;
  char path[PATH_MAX];
  size_t length = strlen(info->path);
  if (info->max_line > INT32_MAX) return fail(err, FURROW_E_ARGUMENT, "%s must be less than 2 GiB", "--max-line");
  while (length > 1 && info->path[length - 1] == '/') length--;
  if (snprintf(path, sizeof path, "%.*s", (int)length, info->path) >= (int)sizeof path)
    return fail_file(err, FURROW_E_ARGUMENT, info->path, "the path is too long", 0);
  report r;
  bool lacks_memory = false;
  table_head head = {0};
  path_inspection look = {
      .path = path, .max_line = info->max_line, .r = &r, .head = &head, .lacks_memory = &lacks_memory};
  furrow_status status = find_path(&look, err);
  if (status != FURROW_OK) return status;
  report_start(&r, out, info->json);
  status = describe(&look, err);
  if (lacks_memory) status = fail_memory(err);
  report_finish(&r);
  path_look_clear(&look);
  table_head_clear(&head);
  return status;
}

const command info_command = {
    .name = "info",
    .summary = "say what a file or folder is and which commands read it",
    .example = "furrow info train.libsvm\nfurrow info deepfm.model\nfurrow info --json items.index",
    .about = "Recognises rows in all text formats, folders of such files and row caches; Angel's models, matrices and "
             "JSON files; Faiss's indexes; npy, npz, safetensors, fvecs, bvecs, ivecs and fbin files; checkpoints. It "
             "reads only what it needs: the first rows, or the metadata of matrices. For a damaged or unknown file it "
             "prints the check that failed and exits with the code of that error.",
    .operands = info_operands,
    .groups = info_groups,
    .size = sizeof(info_values),
    .init = info_init,
    .run = info_run,
};
