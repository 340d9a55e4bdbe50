/* cli/index/cmd_index_remove.c: furrow index remove: removes vectors from an index. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/report.h"
#include "index/index_edit.h"
#include "index/vector_source.h"

typedef struct remove_values {
  const char *path;
  id_filter_values ids;
  edit_values change;
  index_source_values source;
  bool others, json, quiet;
} remove_values;

static const option remove_operands[] = {{.name = "INDEX",
                                          .kind = OPTION_TEXT,
                                          .help = "the index file",
                                          .offset = offsetof(remove_values, path),
                                          .required = true},
                                         {0}};

static const option remove_options[] = {
    {.name = "ids",
     .kind = OPTION_TEXT,
     .argument = "IDS",
     .help = "ids to remove: A:B (A to B - 1), 1,2,3, or a file: .npy .i64 .ivecs .ibin .txt, or text with a name on "
             "each line",
     .offset = offsetof(remove_values, ids.ids)},
    {.name = "names",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "names to remove, one on each line, even if they look like numbers; - is standard input",
     .offset = offsetof(remove_values, ids.names)},
    {.name = "others", .kind = OPTION_FLAG, .help = "remove all other ids", .offset = offsetof(remove_values, others)},
    JSON_OPTION(offsetof(remove_values, json)),
    QUIET_OPTION(offsetof(remove_values, quiet)),
    {0}};

static const option_group remove_groups[] = {
    {.title = "Options", .options = remove_options},
    {.title = "Options", .options = edit_options, .offset = offsetof(remove_values, change)},
    {.title = "Options", .options = form_options, .offset = offsetof(remove_values, change.form)},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(remove_values, source)},
    {0}};

/* Prints a note if vectors got new ids, because ids are positions. */
static void note_new_ids(const remove_values *values, const furrow_index *index, uint64_t removed) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(index, &info);
  if (removed == 0 || info.ntotal == 0 || !has_implicit_ids(index)) return;
  print_note(
      values->quiet,
      "this index counts its vectors from 0: the vectors after removed ones have new ids, which are now 0 to %" PRId64
      "; an index that is built with --ids keeps the ids",
      info.ntotal - 1);
}

/* Adds a hint to the error, if another way to build the index would help. */
static void explain_refusal(const furrow_index *index, furrow_status status, furrow_error *err) {
  const furrow_index *ivf = index ? furrow_index_ivf(index) : NULL;
  furrow_index_info info;
  furrow_index_info_init(&info);
  if (status != FURROW_E_UNSUPPORTED || !ivf) return;
  furrow_index_get_info(ivf, &info);
  if (info.kind == FURROW_INDEX_IVF_PQR)
    add_hint(err, "build the index with --ids");
  else if (info.direct_map == FURROW_DIRECT_MAP_ARRAY)
    add_hint(err, "build the index with --direct-map hash or without a direct map");
}

static void report_remove(const remove_values *values, const named_index *changed, uint64_t removed, uint64_t size,
                          output *out) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  report r;
  furrow_index_get_info(changed->index, &info);
  report_start(&r, out, values->json);
  report_written(&r, change_target(values->path, &values->change));
  report_u64(&r, "removed", removed);
  report_i64(&r, "vectors", info.ntotal);
  if (changed->names) report_u64(&r, "names", furrow_id_names_count(changed->names));
  report_u64(&r, "bytes", size);
  index_lists_report(&r, values->change.form.lists_file);
  report_finish(&r);
}

/* With --others, an empty list would remove all vectors. It is an error, because such a list is most likely empty by
 * mistake. */
static furrow_status check_others(const remove_values *remove, const furrow_id_filter *filter, furrow_error *err) {
  if (!remove->others || filter->kind != FURROW_ID_FILTER_SORTED || filter->sorted_count > 0) return FURROW_OK;
  const char *list = remove->ids.ids ? remove->ids.ids : remove->ids.names;
  fail_file(err, FURROW_E_ARGUMENT, list, "has no ids: with --others, all vectors would be removed", 0);
  return add_hint(err, "--ids : removes all vectors");
}

/* Removes the vectors, their names and attributes. */
static furrow_status remove_ids(const remove_values *remove, named_index *changed, uint64_t *removed,
                                furrow_error *err) {
  id_filter_ids filter_ids = {0};
  furrow_status status = id_filter_ids_read(&filter_ids, &remove->ids, changed->names, err);
  if (status == FURROW_OK) status = check_others(remove, &filter_ids.filter, err);
  if (status == FURROW_OK) {
    filter_ids.filter.invert = remove->others;
    status = furrow_index_remove(changed->index, &filter_ids.filter, removed, err);
    explain_refusal(changed->index, status, err);
  }
  if (status == FURROW_OK && changed->names)
    status = furrow_id_names_remove(changed->names, &filter_ids.filter, has_implicit_ids(changed->index), err);
  if (status == FURROW_OK && changed->attributes)
    status = furrow_attributes_remove(changed->attributes, &filter_ids.filter, has_implicit_ids(changed->index), err);
  id_filter_ids_clear(&filter_ids);
  return status;
}

static furrow_status remove_run(const void *values, output *out, furrow_error *err) {
  const remove_values *remove = values;
  named_index changed = {0};
  uint64_t removed = 0, size = 0;
  if (!remove->ids.ids == !remove->ids.names)
    return fail(err, FURROW_E_ARGUMENT, "exactly one of --ids and --names is needed");
  furrow_status status = edit_check(remove->path, &remove->change, &remove->source,
                                    (const char *const[]){remove->ids.ids, remove->ids.names, NULL, NULL}, err);
  if (status == FURROW_OK) {
    interrupt_catch();
    status = edit_load(&changed, remove->path, &remove->change, &remove->source, err);
  }
  if (status == FURROW_OK) status = remove_ids(remove, &changed, &removed, err);
  if (status == FURROW_OK) status = edit_save(&changed, remove->path, &remove->change, &size, err);
  if (status == FURROW_OK) report_remove(remove, &changed, removed, size, out);
  if (status == FURROW_OK && !changed.names) note_new_ids(remove, changed.index, removed);
  edit_clear(&changed);
  return status;
}

const command index_remove_command = {
    .name = "remove",
    .summary = "remove vectors from an index, by their ids or names",
    .example = "furrow index remove items.index --ids 17,4711\n"
               "furrow index remove items.index --ids 1000000: --out first.index\n"
               "furrow index remove films.index --names gone.txt",
    .one_of = "--ids IDS | --names FILE",
    .about =
        "Ids that are not in the index are ignored; a name that is not there is an error. As in Faiss, the last "
        "vector of a list takes the place of a "
        "removed one. The file is replaced at the end. Some indexes do not store ids but count their vectors from "
        "0: those with --refine-flat that were built without --ids, and flat vectors, SQ and PQ codes and HNSW graphs "
        "without lists or an id map. There, as in Faiss, the vectors after a removed one get new ids; a note says so.",
    .operands = remove_operands,
    .groups = remove_groups,
    .size = sizeof(remove_values),
    .run = remove_run,
};
