/* cli/index/cmd_index_names.c: furrow index names: lists, sets or drops the names of the ids of an index. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/report.h"
#include "index/index_edit.h"
#include "index/index_source.h"

typedef struct names_values {
  index_source_values source;
  const char *path, *set;
  bool drop, json;
} names_values;

static const option names_operands[] = {{.name = "INDEX",
                                         .kind = OPTION_TEXT,
                                         .help = "the index file",
                                         .offset = offsetof(names_values, path),
                                         .required = true},
                                        {0}};

static const option names_options[] = {
    {.name = "set",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "name the ids in ascending order by the lines of this file; existing names are replaced",
     .offset = offsetof(names_values, set)},
    {.name = "drop", .kind = OPTION_FLAG, .help = "remove the names", .offset = offsetof(names_values, drop)},
    JSON_OPTION(offsetof(names_values, json)),
    {0}};

static const option_group names_groups[] = {
    {.title = "Options", .options = names_options},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(names_values, source)},
    {0}};

/* ---- Listing -------------------------------------------------------------------------------------------- */

static void put_json(output *out, const furrow_id_names *names) {
  report r;
  int64_t id = 0;
  size_t size = 0;
  report_start(&r, out, true);
  report_list(&r, "names");
  for (size_t i = 0; furrow_id_names_at(names, i, &id, &size); i++) {
    report_section(&r, NULL);
    report_i64(&r, "id", id);
    index_names_report(&r, "name", names, id);
    report_end(&r);
  }
  report_end(&r);
  report_finish(&r);
}

static furrow_status list_names(const names_values *values, const furrow_id_names *names, output *out,
                                furrow_error *err) {
  int64_t id = 0;
  size_t size = 0;
  const char *name;
  if (!names) return fail_file(err, FURROW_E_NOT_FOUND, values->path, "the ids of the index have no names", 0);
  if (values->json) put_json(out, names);
  for (size_t i = 0; !values->json && (name = furrow_id_names_at(names, i, &id, &size)); i++) {
    output_format(out, "%" PRId64 "\t", id);
    output_bytes(out, name, size);
    output_text(out, "\n");
  }
  return FURROW_OK;
}

/* ---- Changing ------------------------------------------------------------------------------------------- */

static furrow_status set_names(const names_values *values, const furrow_index *index, output *out, furrow_error *err) {
  furrow_name_list list;
  furrow_id_names *names = NULL;
  furrow_name_list_init(&list);
  furrow_status status = index_names_check_apart(values->path, values->set, err);
  if (status == FURROW_OK) status = furrow_name_list_load(&list, values->set, err);
  if (status == FURROW_OK) status = furrow_id_names_create(&names, err);
  if (status == FURROW_OK) {
    status = furrow_id_names_set(names, index, list.names, list.count, err);
    if (status == FURROW_E_ARGUMENT) snprintf(err->file, sizeof err->file, "%s", values->set);
  }
  if (status == FURROW_OK) {
    const bool fresh = interrupt_catch();
    status = furrow_id_names_save(names, values->path, err);
    interrupt_release(fresh, status);
  }
  if (status == FURROW_OK) {
    report r;
    out->stored = true;
    report_start(&r, out, values->json);
    report_text(&r, "index", values->path);
    report_u64(&r, "names", furrow_id_names_count(names));
    report_finish(&r);
  }
  furrow_id_names_free(names);
  furrow_name_list_clear(&list);
  return status;
}

static furrow_status names_run(const void *values, output *out, furrow_error *err) {
  const names_values *names = values;
  furrow_index_load_params params;
  furrow_index *index = NULL;
  furrow_id_names *there = NULL;
  furrow_file_lock *lock = NULL;
  const bool changes = names->set || names->drop;
  if (names->set && names->drop) return fail(err, FURROW_E_ARGUMENT, "--set and --drop cannot be used together");
  index_source_params(&names->source, &params);
  params.lists_optional = !names->set;
  furrow_status status = changes ? edit_lock(&lock, names->path, err) : FURROW_OK;
  if (status == FURROW_OK)
    status = changes ? index_source_load(&index, names->path, &params, err)
                     : index_source_load_with_names(&index, &there, names->path, &params, err);
  if (status == FURROW_OK) {
    if (names->set)
      status = set_names(names, index, out, err);
    else if (names->drop)
      status = furrow_id_names_discard(names->path, err);
    else
      status = list_names(names, there, out, err);
  }
  furrow_id_names_free(there);
  furrow_index_free(index);
  furrow_file_lock_close(lock);
  return status;
}

const command index_names_command = {
    .name = "names",
    .summary = "list, set or drop the names of the ids of an index",
    .example = "furrow index names films.index\nfurrow index names films.index --set titles.txt",
    .about =
        "Prints each id and its name, with a tab between them, by ascending id. The names are stored next to the "
        "index, in INDEX.names, which belongs to that very index file: after another program has changed the index, "
        "set the names again. --set names the vectors of an index that has no names yet, for example one "
        "that Faiss wrote.",
    .operands = names_operands,
    .groups = names_groups,
    .size = sizeof(names_values),
    .run = names_run,
};
