/* cli/index/cmd_index_add.c: furrow index add: adds vectors to an index. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/commands.h"
#include "core/fail.h"
#include "index/attribute_source.h"
#include "index/index_edit.h"
#include "index/index_fill.h"

typedef struct add_values {
  const char *path;
  fill_values fill;
  attribute_values attributes;
  edit_values change;
  index_source_values source;
  bool json;
} add_values;

static const option add_operands[] = {{.name = "INDEX",
                                       .kind = OPTION_TEXT,
                                       .help = "the index file",
                                       .offset = offsetof(add_values, path),
                                       .required = true},
                                      {0}};

static const option add_options[] = {JSON_OPTION(offsetof(add_values, json)), {0}};

static const option_group add_groups[] = {
    {.title = "Options", .options = edit_options, .offset = offsetof(add_values, change)},
    {.title = "Options", .options = form_options, .offset = offsetof(add_values, change.form)},
    {.title = "Options", .options = add_options},
    {.title = "Vectors", .options = fill_options, .offset = offsetof(add_values, fill)},
    {.title = "Vectors", .options = attribute_options, .offset = offsetof(add_values, attributes)},
    {.title = "Vectors", .options = vector_options, .offset = offsetof(add_values, fill.vectors)},
    {.title = "Vectors", .options = query_options},
    {.title = "Vectors", .options = plugin_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(add_values, source)},
    {0}};

static void add_init(void *values) {
  fill_values_init(&((add_values *)values)->fill);
}

/* first_id -1: the vectors brought their ids. */
static void report_add(const add_values *add, const named_index *changed, const filling *fill,
                       const attribute_source *table, int64_t first_id, const index_job *job, uint64_t size,
                       output *out) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  report r;
  furrow_index_get_info(changed->index, &info);
  report_start(&r, out, add->json);
  report_written(&r, change_target(add->path, &add->change));
  report_u64(&r, "added", fill->added);
  if (fill->skipped || add->json) report_u64(&r, "left out", fill->skipped);
  report_i64(&r, "vectors", info.ntotal);
  if (changed->names) report_u64(&r, "names", furrow_id_names_count(changed->names));
  attributes_report(&r, changed->attributes, table);
  report_u64(&r, "bytes", size);
  index_lists_report(&r, add->change.form.lists_file);
  if (first_id >= 0 && fill->added > 0) { /* the vector in row i got the id first + i */
    report_i64(&r, "first id", first_id);
    report_i64(&r, "last id", first_id + (int64_t)(fill->added + fill->skipped) - 1);
  }
  index_job_report(job, &r);
  report_finish(&r);
}

static furrow_status open_vectors(const add_values *add, filling *fill, const named_index *changed, furrow_error *err) {
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_index_get_info(changed->index, &info);
  furrow_status status = fill_open(fill, &add->fill, (size_t)info.d, err);
  return status == FURROW_OK ? fill_begin_names(fill, changed->index, changed->names, err) : status;
}

/* Returns the id that the first vector will get, or -1 if the vectors bring their ids. */
static int64_t first_assigned(const filling *fill, const furrow_index *index) {
  return fill->ids.ids || furrow_vectors_reader_has_ids(fill->vectors) ? -1 : furrow_index_next_id(index);
}

static furrow_status add_run(const void *values, output *out, furrow_error *err) {
  const add_values *add = values;
  named_index changed = {0};
  filling fill = {0};
  attribute_source table = {0};
  index_job job;
  uint64_t size = 0;
  int64_t first_id = -1;
  furrow_status status =
      edit_check(add->path, &add->change, &add->source,
                 (const char *const[]){add->fill.base, add->fill.ids, add->fill.names, add->attributes.path}, err);
  if (status != FURROW_OK) return status;
  index_job_start(&job, add->fill.quiet);
  index_job_step(&job, "load", 0);
  status = edit_load(&changed, add->path, &add->change, &add->source, err);
  if (status == FURROW_OK) status = open_vectors(add, &fill, &changed, err);
  if (status == FURROW_OK)
    status = attribute_source_open(&table, &add->attributes, changed.attributes, fill.names.names != NULL, err);
  if (status == FURROW_OK) first_id = first_assigned(&fill, changed.index);
  if (status == FURROW_OK) index_job_step(&job, "add", 0);
  if (status == FURROW_OK) status = fill_add_all(&fill, &changed.index, NULL, &job, err);
  if (status == FURROW_OK) status = fill_finish_names(&fill, &changed.names, err);
  if (status == FURROW_OK)
    status = attribute_source_join(&table, &add->attributes, &changed.attributes, changed.index, changed.names, err);
  if (status == FURROW_OK) index_job_step(&job, "save", 0);
  changed.unique_ids = !add->fill.repeated_ids;
  if (status == FURROW_OK) status = edit_save(&changed, add->path, &add->change, &size, err);
  index_job_stop(&job);
  if (status == FURROW_OK) report_add(add, &changed, &fill, &table, first_id, &job, size, out);
  if (status == FURROW_OK) edit_note_stale(changed.index, add->fill.quiet);
  fill_close(&fill);
  attribute_source_clear(&table);
  edit_clear(&changed);
  return status;
}

const command index_add_command = {
    .name = "add",
    .summary = "add vectors to an index",
    .example = "furrow index add items.index --base new.fvecs\n"
               "furrow index add items.index --base new.npy --ids new.ids.npy --out more.index\n"
               "furrow index add films.index --base new.npy --names new.txt",
    .one_of = "--base FILE | --from-model FOLDER",
    .about =
        "The index must be trained, by 'furrow index build' or by Faiss. Without --ids the new vectors get the ids "
        "that follow the largest one in the index. If the ids of the index have names, the new vectors need names, "
        "too, and a "
        "name that is there already is an error. With --attributes the new vectors get attributes, and the ones that "
        "are there may get other values; without it, new vectors of an index with attributes have none. The file is "
        "replaced at the end; after a failure the old one is still "
        "there.",
    .operands = add_operands,
    .groups = add_groups,
    .size = sizeof(add_values),
    .init = add_init,
    .run = add_run,
};
