/* cli/index/cmd_index_convert.c: furrow index convert: reads an index and writes it in another form. */
#include <stddef.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/report.h"
#include "core/written.h"
#include "index/index_edit.h"

typedef struct convert_values {
  index_source_values source;
  const char *path, *destination;
  form_values form;
  int direct_map; /* 0: unchanged; else furrow_direct_map + 1 */
  bool inline_lists, force, json, quiet;
} convert_values;

static const option convert_operands[] = {{.name = "SRC",
                                           .kind = OPTION_TEXT,
                                           .help = "the index file to read",
                                           .offset = offsetof(convert_values, path),
                                           .required = true},
                                          {.name = "DST",
                                           .kind = OPTION_TEXT,
                                           .help = "the index file to write, or - for standard output",
                                           .offset = offsetof(convert_values, destination),
                                           .required = true},
                                          {0}};

static const option convert_options[] = {
    {.name = "inline-lists",
     .kind = OPTION_FLAG,
     .help = "copy lists from a data file into the index file",
     .offset = offsetof(convert_values, inline_lists)},
    {.name = "direct-map",
     .kind = OPTION_ENUM,
     .choices = "keep|none|array|hash",
     .help = "map from ids to positions in the lists: keep it, drop it, or rebuild it",
     .offset = offsetof(convert_values, direct_map)},
    FORCE_OPTION(offsetof(convert_values, force)),
    JSON_OPTION(offsetof(convert_values, json)),
    QUIET_OPTION(offsetof(convert_values, quiet)),
    {0}};

static const option_group convert_groups[] = {
    {.title = "Options", .options = convert_options},
    {.title = "Options", .options = form_options, .offset = offsetof(convert_values, form)},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(convert_values, source)},
    {0}};

static bool to_stdout(const convert_values *convert) {
  return strcmp(convert->destination, "-") == 0;
}

/* Whether lists in a data file stay there. */
static bool keeps_lists(const convert_values *convert) {
  return !convert->inline_lists && !convert->form.lists_file && !to_stdout(convert);
}

static furrow_status save_converted(const named_index *loaded, const convert_values *convert, output *out,
                                    furrow_error *err) {
  const furrow_index *index = loaded->index;
  furrow_index_save_params params;
  uint64_t size = 0;
  furrow_index_save_params_init(&params);
  params.inline_lists = convert->inline_lists;
  params.compat = convert->form.compat;
  params.lists_file = convert->form.lists_file;
  params.overwrite = convert->force || to_stdout(convert);
  params.names = loaded->names;
  params.attributes = loaded->attributes;
  params.card = true;
  furrow_status status = interrupt_check(err);
  if (status == FURROW_OK) status = furrow_index_file_size(index, &params, &size, err);
  if (status == FURROW_OK) status = furrow_index_save(index, convert->destination, &params, err);
  /* a closed pipe is not a failure here, which the library cannot know */
  if (status == FURROW_E_IO && to_stdout(convert) && output_reader_is_gone()) return FURROW_END;
  if (status != FURROW_OK || to_stdout(convert)) return status;
  furrow_index_info info;
  furrow_index_info_init(&info);
  report r;
  furrow_index_get_info(index, &info);
  report_start(&r, out, convert->json);
  report_written(&r, convert->destination);
  report_text(&r, "kind", furrow_index_kind_name(info.kind));
  report_i64(&r, "vectors", info.ntotal);
  if (loaded->names) report_u64(&r, "names", furrow_id_names_count(loaded->names));
  report_u64(&r, "bytes", size);
  index_lists_report(&r, convert->form.lists_file);
  report_finish(&r);
  char shared[PATH_MAX];
  if (keeps_lists(convert) && index_lists_path(index, convert->destination, shared))
    print_note(convert->quiet, "%s and %s share the data file %s", convert->path, convert->destination, shared);
  return FURROW_OK;
}

static furrow_status set_direct_map(furrow_index *index, const convert_values *convert, furrow_error *err) {
  if (convert->direct_map == 0) return FURROW_OK;
  return furrow_index_set_direct_map(index, (furrow_direct_map)(convert->direct_map - 1), err);
}

static furrow_status convert_run(const void *values, output *out, furrow_error *err) {
  const convert_values *convert = values;
  furrow_index_load_params params;
  named_index loaded = {0};
  furrow_status status = FURROW_OK;
  if (to_stdout(convert) && convert->json)
    return fail(err, FURROW_E_ARGUMENT, "--json cannot be used when the index is written to standard output");
  if (convert->inline_lists && convert->form.lists_file)
    return fail(err, FURROW_E_ARGUMENT, "--inline-lists and --lists-file cannot be used together");
  status = edit_check_lists_file(convert->destination, convert->form.lists_file, err);
  if (status != FURROW_OK) return status;
  if (!to_stdout(convert)) {
    status = written_check_apart(convert->destination, convert->path, err);
    if (status == FURROW_OK) status = written_check_apart(convert->destination, convert->source.lists, err);
    if (status == FURROW_OK) status = index_names_check_apart(convert->path, convert->destination, err);
    if (status == FURROW_OK) status = edit_check_target(convert->destination, convert->force, err);
  }
  if (status != FURROW_OK) return status;
  if (!to_stdout(convert)) interrupt_catch();
  index_source_params(&convert->source, &params);
  params.card = !to_stdout(convert);
  /* a map is built from the lists, so they must be readable */
  params.lists_optional = !convert->inline_lists && !convert->form.lists_file && convert->direct_map <= 1;
  status = to_stdout(convert)
               ? index_source_load(&loaded.index, convert->path, &params, err)
               : index_source_load_all(&loaded.index, &loaded.names, &loaded.attributes, convert->path, &params, err);
  if (status == FURROW_OK && !to_stdout(convert))
    status = index_source_apart(loaded.index, convert->path, convert->destination, err);
  if (status == FURROW_OK) status = set_direct_map(loaded.index, convert, err);
  if (status == FURROW_OK) status = save_converted(&loaded, convert, out, err);
  edit_clear(&loaded);
  return status;
}

const command index_convert_command = {
    .name = "convert",
    .summary = "rewrite an index unchanged, for an older Faiss, or with its lists inside or outside",
    .example = "furrow index convert old.index new.index\n"
               "furrow index convert ondisk.index whole.index --inline-lists\n"
               "furrow index convert whole.index ondisk.index --lists-file ondisk.lists\n"
               "furrow index convert new.index old.index --compat 1.5.0",
    .about = "Without options DST equals SRC byte for byte, except that legacy kinds (IvPQ, IvFL ...) become current "
             "ones (IwPQ, IwFl ...) and bytes after the end of the index are dropped. Lists in a data file stay there, "
             "and the index keeps the stored name of that file, so DST must be in the same folder; --lists-file writes "
             "them to a new data file. DST appears only when it is complete. Names and attributes of ids go with it, "
             "except to standard output.\n\n--compat "
             "never drops a part of the index: if the release cannot read a part, the error names the part and the "
             "first release that can. --direct-map drops or rebuilds the direct map.",
    .operands = convert_operands,
    .groups = convert_groups,
    .size = sizeof(convert_values),
    .run = convert_run,
};
