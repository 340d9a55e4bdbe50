/* cli/cmd_index_merge.c: furrow index merge: several indexes become one. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cmd_index.h"
#include "fail.h"
#include "furrow/vector.h"
#include "index_change.h"
#include "interrupt.h"
#include "report.h"
#include "rows_sink.h"

typedef struct merge_values {
  text_list paths;
  const char *destination, *compat;
  bool shift, force, json;
} merge_values;

static const option merge_operands[] = {{.name = "INDEX...",
                                         .kind = OPTION_LIST,
                                         .help = "the index files, trained alike",
                                         .offset = offsetof(merge_values, paths),
                                         .required = true},
                                        {0}};

static const option merge_options[] = {
    {.name = "out",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "the index file to write",
     .offset = offsetof(merge_values, destination),
     .required = true},
    {.name = "shift",
     .kind = OPTION_FLAG,
     .help = "ids of an index are increased by the number of vectors in those before it",
     .offset = offsetof(merge_values, shift)},
    {.name = "force",
     .kind = OPTION_FLAG,
     .help = "replace a file that exists",
     .offset = offsetof(merge_values, force)},
    {.name = "json", .kind = OPTION_FLAG, .help = "report as JSON", .offset = offsetof(merge_values, json)},
    {0}};

static const option_group merge_groups[] = {
    {.title = "Options", .options = merge_options},
    {.title = "Options", .options = compat_options, .offset = offsetof(merge_values, compat)},
    {0}};

/* Also looks whether the target has lists of the index. */
static furrow_status count_vectors(const char *path, const char *target, int64_t *count, furrow_error *err) {
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_index_info info;
  furrow_index_load_params_init(&params);
  params.map = params.lists_optional = true;
  furrow_status status = index_source_load(&index, path, &params, err);
  if (status != FURROW_OK) return status;
  furrow_index_get_info(index, &info);
  *count = info.ntotal;
  status = index_source_apart(index, path, target, err);
  furrow_index_free(index);
  return status;
}

static furrow_status merge_run(const void *values, output *out, furrow_error *err) {
  const merge_values *merge = values;
  const text_list *paths = &merge->paths;
  int64_t shifts[MOST_TEXTS] = {0}, sum = 0;
  if (strcmp(merge->destination, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "the index is written to a file, not to standard output");
  furrow_status status = sink_check_path(merge->destination, merge->force, err);
  for (size_t i = 0; status == FURROW_OK && i < paths->count; i++) {
    int64_t count = 0;
    shifts[i] = merge->shift ? sum : 0;
    status = count_vectors(paths->texts[i], merge->destination, &count, err);
    sum += count;
  }
  if (status != FURROW_OK) return status;
  interrupt_catch();
  const furrow_index_save_params params = {.keep_existing = !merge->force, .compat = merge->compat};
  status = furrow_index_merge_files(paths->texts, shifts, paths->count, merge->destination, &params, err);
  if (status != FURROW_OK) return status;
  report r;
  report_start(&r, out, merge->json);
  report_text(&r, "written", merge->destination);
  report_u64(&r, "indexes", paths->count);
  report_i64(&r, "vectors", sum);
  report_finish(&r);
  return FURROW_OK;
}

const command index_merge_command = {
    .name = "merge",
    .summary = "put the vectors of several indexes into one",
    .example = "furrow index merge part-0.index part-1.index part-2.index --out items.index --shift",
    .about =
        "The indexes have the same centroids and quantizers: they are copies of one that was trained, each filled with "
        "other vectors. Lists are written one after the other, without being in memory. Ids stay as they are, or are "
        "shifted where every part counts from 0.",
    .operands = merge_operands,
    .groups = merge_groups,
    .size = sizeof(merge_values),
    .run = merge_run,
};
