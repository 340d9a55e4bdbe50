/* cli/index/cmd_index_merge.c: furrow index merge: merges several indexes into one. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/commands.h"
#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/report.h"
#include "core/written.h"
#include "furrow/vector.h"
#include "index/attribute_source.h"
#include "index/index_edit.h"
#include "index/index_source.h"

typedef struct merge_values {
  text_list paths;
  const char *destination;
  form_values form;
  index_source_values source;
  bool shift, repeated_ids, force, json, quiet;
} merge_values;

static const option merge_operands[] = {{.name = "INDEX...",
                                         .kind = OPTION_LIST,
                                         .help = "the index files, from the same training; or a manifest of shards",
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
     .help = "increase the ids of each index by the number of vectors in the indexes before it",
     .offset = offsetof(merge_values, shift)},
    {.name = "repeated-ids",
     .kind = OPTION_FLAG,
     .help = "allow an id to occur more than once (otherwise an error)",
     .offset = offsetof(merge_values, repeated_ids)},
    FORCE_OPTION(offsetof(merge_values, force)),
    JSON_OPTION(offsetof(merge_values, json)),
    QUIET_OPTION(offsetof(merge_values, quiet)),
    {0}};

static const option_group merge_groups[] = {
    {.title = "Options", .options = merge_options},
    {.title = "Options", .options = form_options, .offset = offsetof(merge_values, form)},
    {.title = "Reading", .options = index_source_options, .offset = offsetof(merge_values, source)},
    {0}};

typedef struct merging {
  const merge_values *values;
  furrow_index_load_params load;
  const char **paths; /* `count` index files: shards for each manifest */
  const char **named; /* for each: the file whose names and attributes it has; NULL: an earlier shard of the same
                         manifest has them */
  int64_t *shifts, vectors;
  size_t count;
  furrow_shards **manifests;     /* one for each operand, or NULL */
  size_t on_disk;                /* indexes whose lists are in a data file */
  size_t direct_maps;            /* indexes that have one */
  furrow_id_names *names;        /* names of all of them; NULL: none has names */
  furrow_attributes *attributes; /* attributes of all of them; NULL: none has attributes */
  furrow_file_lock *lock;        /* lock of an index that is read and replaced; NULL: none is */
} merging;

/* Loads index i, and its names and attributes: the first shard of a manifest gets what the manifest has. */
static furrow_status load_input(const merging *m, size_t i, furrow_index **index, furrow_id_names **names,
                                furrow_attributes **attributes, furrow_error *err) {
  const char *path = m->paths[i];
  furrow_index_load_params load = m->load;
  load.lists_optional = true;
  load.card = false;
  if (m->named[i] == path) return index_source_load_all(index, names, attributes, path, &load, err);
  furrow_status status = index_source_load(index, path, &load, err);
  if (status == FURROW_OK && m->named[i]) status = index_names_load(names, m->named[i], err);
  return status == FURROW_OK && m->named[i] ? index_attributes_load(attributes, m->named[i], err) : status;
}

/* Adds the names of index i; NULL: it has none. */
static furrow_status merge_names(merging *m, size_t i, const furrow_id_names *names, int64_t before,
                                 const furrow_index_info *info, furrow_error *err) {
  const char *path = m->named[i];
  furrow_status status = FURROW_OK;
  if (!path) return FURROW_OK;
  if ((names && !m->names && before > 0) || (!names && m->names && info->ntotal > 0))
    return fail_file(err, FURROW_E_ARGUMENT, path,
                     names ? "has names, but the indexes before it have none"
                           : "has no names, but the indexes before it have some",
                     0);
  if (names && !m->names) status = furrow_id_names_create(&m->names, err);
  if (status == FURROW_OK && names) {
    status = furrow_id_names_merge(m->names, names, m->shifts[i], err);
    if (status != FURROW_OK) snprintf(err->file, sizeof err->file, "%s", path);
    if (status == FURROW_E_EXISTS && !m->values->shift) add_hint(err, "--shift renumbers parts that each count from 0");
  }
  return status;
}

/* Adds the attributes of index i; NULL: it has none. Ids that are positions always continue. */
static furrow_status merge_attributes(merging *m, size_t i, const furrow_attributes *attributes,
                                      const furrow_index *index, const furrow_index_info *info, furrow_error *err) {
  const char *path = m->named[i];
  const int64_t before = m->vectors;
  furrow_status status = FURROW_OK;
  if (!path) return FURROW_OK;
  if ((attributes && !m->attributes && before > 0) || (!attributes && m->attributes && info->ntotal > 0)) {
    fail_file(err, FURROW_E_ARGUMENT, path,
              attributes ? "has attributes, but the indexes before it have none"
                         : "has no attributes, but the indexes before it have some",
              0);
    return add_hint(err, "'furrow index attributes INDEX --set FILE' sets attributes, --drop removes them");
  }
  if (!attributes) return FURROW_OK;
  if (!m->attributes) status = furrow_attributes_create(&m->attributes, err);
  const int64_t shift = has_implicit_ids(index) ? before : m->shifts[i];
  if (status == FURROW_OK) status = furrow_attributes_merge(m->attributes, attributes, shift, err);
  if (status != FURROW_OK) snprintf(err->file, sizeof err->file, "%s", path);
  return status;
}

/* Counts the vectors of an index and checks that the target is not the data file of its lists. */
static furrow_status check_input(merging *m, size_t i, furrow_error *err) {
  const char *path = m->paths[i];
  furrow_index *index = NULL;
  furrow_id_names *names = NULL;
  furrow_attributes *attributes = NULL;
  furrow_index_info info;
  furrow_index_info_init(&info);
  furrow_status status = load_input(m, i, &index, &names, &attributes, err);
  if (status != FURROW_OK) {
    furrow_index_free(index);
    return status;
  }
  furrow_index_get_info(index, &info);
  m->shifts[i] = m->values->shift ? m->vectors : 0;
  status = merge_names(m, i, names, m->vectors, &info, err);
  if (status == FURROW_OK) status = merge_attributes(m, i, attributes, index, &info, err);
  m->vectors += info.ntotal;
  if (status == FURROW_OK) status = index_source_apart(index, path, m->values->destination, err);
  if (furrow_index_ivf(index)) furrow_index_get_info(furrow_index_ivf(index), &info);
  m->on_disk += info.lists == FURROW_LISTS_ON_DISK;
  m->direct_maps += info.direct_map != FURROW_DIRECT_MAP_NONE;
  furrow_id_names_free(names);
  furrow_attributes_free(attributes);
  furrow_index_free(index);
  return status;
}

/* Replaces manifests by their shards. */
static furrow_status list_inputs(merging *m, furrow_error *err) {
  const text_list *operands = &m->values->paths;
  furrow_shards_params params;
  size_t most = 0;
  furrow_status status = FURROW_OK;
  furrow_shards_params_init(&params);
  params.manifest_only = true;
  m->manifests = calloc(operands->count, sizeof *m->manifests);
  for (size_t i = 0; status == FURROW_OK && m->manifests && i < operands->count; i++) {
    if (furrow_is_shards(operands->texts[i]))
      status = furrow_shards_open(&m->manifests[i], operands->texts[i], &params, err);
    most += m->manifests[i] ? furrow_shards_count(m->manifests[i]) : 1;
    if (m->manifests[i] && m->values->shift)
      status = fail_file(err, FURROW_E_ARGUMENT, operands->texts[i],
                         "has shards, whose ids differ already, so --shift cannot be used", 0);
  }
  if (status != FURROW_OK) return status;
  m->paths = calloc(most, sizeof *m->paths);
  m->named = calloc(most, sizeof *m->named);
  m->shifts = calloc(most, sizeof *m->shifts);
  if (!m->manifests || !m->paths || !m->named || !m->shifts) return fail_memory(err);
  for (size_t i = 0; i < operands->count; i++) {
    const furrow_shards *shards = m->manifests[i];
    m->named[m->count] = operands->texts[i];
    if (!shards) m->paths[m->count++] = operands->texts[i];
    for (size_t s = 0; shards && s < furrow_shards_count(shards); s++)
      m->paths[m->count++] = furrow_shards_path(shards, s);
  }
  return FURROW_OK;
}

static void free_inputs(merging *m) {
  for (size_t i = 0; m->manifests && i < m->values->paths.count; i++) furrow_shards_free(m->manifests[i]);
  free(m->manifests);
  free((void *)m->paths);
  free((void *)m->named);
  free(m->shifts);
}

static furrow_status check_inputs(merging *m, furrow_error *err) {
  const merge_values *values = m->values;
  furrow_status status = edit_check_target(values->destination, values->force, err);
  if (status == FURROW_OK) status = edit_check_lists_file(values->destination, values->form.lists_file, err);
  if (status == FURROW_OK) status = written_check_apart(values->destination, values->source.lists, err);
  for (size_t i = 0; status == FURROW_OK && i < values->paths.count; i++) {
    status = index_names_check_apart(values->paths.texts[i], values->destination, err);
    if (status == FURROW_OK && m->manifests[i])
      status = written_check_apart(values->destination, values->paths.texts[i], err);
  }
  for (size_t i = 0; status == FURROW_OK && i < m->count; i++) status = check_input(m, i, err);
  if (status == FURROW_OK && values->source.lists && m->on_disk > 1)
    status = fail(err, FURROW_E_ARGUMENT,
                  "--lists names the data file of one index, but %zu indexes have their lists on disk", m->on_disk);
  return status;
}

/* Locks the target if it is one of the indexes that are read. */
static furrow_status lock_destination(merging *m, furrow_error *err) {
  struct stat written, read;
  const char *destination = m->values->destination;
  if (stat(destination, &written) != 0) return FURROW_OK;
  for (size_t i = 0; i < m->count; i++)
    if (stat(m->paths[i], &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino)
      return edit_lock(&m->lock, destination, err);
  return FURROW_OK;
}

static furrow_status merge_files(const merging *m, furrow_error *err) {
  const char *destination = m->values->destination;
  furrow_index_save_params save;
  interrupt_catch();
  furrow_index_save_params_init(&save);
  save.overwrite = m->values->force;
  save.compat = m->values->form.compat;
  save.lists_file = m->values->form.lists_file;
  save.names = m->names;
  save.attributes = m->attributes;
  save.card = m->load.card;
  save.unique_ids = !m->values->repeated_ids;
  furrow_status status = furrow_index_merge_files(m->paths, m->shifts, m->count, &m->load, destination, &save, err);
  if (status == FURROW_E_EXISTS && !err->file[0])
    return add_hint(err, m->values->shift
                             ? "--repeated-ids allows it"
                             : "--shift renumbers parts that each count from 0; --repeated-ids allows such ids");
  return status;
}

static void report_merge(const merging *m, output *out) {
  report r;
  report_start(&r, out, m->values->json);
  report_written(&r, m->values->destination);
  report_u64(&r, "indexes", m->count);
  report_i64(&r, "vectors", m->vectors);
  if (m->names) report_u64(&r, "names", furrow_id_names_count(m->names));
  attributes_report(&r, m->attributes, NULL);
  if (m->direct_maps) report_text(&r, "direct map", "dropped");
  index_lists_report(&r, m->values->form.lists_file);
  report_finish(&r);
  if (m->direct_maps)
    print_note(m->values->quiet, "the merged index has no direct map; 'furrow index convert --direct-map' makes one");
}

static furrow_status merge_run(const void *values, output *out, furrow_error *err) {
  merging m = {.values = values};
  if (strcmp(m.values->destination, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "an index cannot be written to standard output");
  index_source_params(&m.values->source, &m.load);
  m.load.card = true;
  furrow_status status = list_inputs(&m, err);
  if (status == FURROW_OK) status = lock_destination(&m, err);
  if (status == FURROW_OK) status = check_inputs(&m, err);
  if (status == FURROW_OK) status = merge_files(&m, err);
  if (status == FURROW_OK) report_merge(&m, out);
  furrow_id_names_free(m.names);
  furrow_attributes_free(m.attributes);
  furrow_file_lock_close(m.lock);
  free_inputs(&m);
  return status;
}

const command index_merge_command = {
    .name = "merge",
    .summary = "merge several indexes into one",
    .example = "furrow index merge part-0.index part-1.index part-2.index --out items.index --shift\n"
               "furrow index merge items.shards --out items.index",
    .about =
        "The indexes must have the same centroids and quantizers: copies of one trained index, each filled with "
        "other vectors. The lists are copied one by one and need no memory. Ids stay as they are; --shift "
        "renumbers parts that each count from 0. Names are merged, too: all of the indexes have them or none, and a "
        "name that two of them have is an error unless its id is the same. So are attributes. A direct map is dropped, "
        "and a note says "
        "so. "
        "A manifest stands for all of its shards.",
    .operands = merge_operands,
    .groups = merge_groups,
    .size = sizeof(merge_values),
    .run = merge_run,
};
