/* cli/index/index_edit.c: an index that a command reads, changes and writes, in place or elsewhere. */
#include "index/index_edit.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fail.h"
#include "core/interrupt.h"
#include "core/job.h"
#include "core/written.h"

const option edit_options[] = {{.name = "out",
                                .kind = OPTION_TEXT,
                                .argument = "FILE",
                                .help = "write the index to this file and keep the old one",
                                .offset = offsetof(edit_values, destination)},
                               {.name = "force",
                                .kind = OPTION_FLAG,
                                .help = "with --out: replace an existing file",
                                .offset = offsetof(edit_values, force)},
                               {0}};

const option form_options[] = {
    {.name = "compat",
     .kind = OPTION_TEXT,
     .argument = "VERSION",
     .help = "write a file that this release of Faiss reads (1.5.0, 1.6.3, 1.7.3 ...; 1.0: the oldest)",
     .offset = offsetof(form_values, compat)},
    {.name = "lists-file",
     .kind = OPTION_TEXT,
     .argument = "FILE",
     .help = "write the contents of the lists to this new data file, in the folder of the index; searches map it",
     .offset = offsetof(form_values, lists_file)},
    {0}};

/* ---- Checks --------------------------------------------------------------------------------------------- */

enum { LOG_HEADER = 48 }; /* bytes of a log without changes, as furrow-serve writes it */

static furrow_status check_log(const char *file, const char *ending, furrow_error *err) {
  char path[PATH_MAX], magic[8] = "";
  struct stat found;
  snprintf(path, sizeof path, "%s%s", file, ending);
  if (stat(path, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size <= LOG_HEADER) return FURROW_OK;
  FILE *log = fopen(path, "re");
  if (log && fread(magic, sizeof magic, 1, log) == 1 && memcmp(magic, "FURROWLG", sizeof magic) == 0)
    fail_file(err, FURROW_E_STATE, path, "the log has changes that are not in the index file", 0);
  if (log) fclose(log);
  if (err->status != FURROW_E_STATE) return FURROW_OK;
  return add_hint(err, "'furrow serve --writable' folds them into the file; or remove the log");
}

/* Logs are in the folder of the file itself, not in the folder of a link to it. */
static furrow_status check_logs(const char *path, furrow_error *err) {
  char *file = realpath(path, NULL);
  if (!file) return FURROW_OK;
  furrow_status status = check_log(file, ".log", err);
  if (status == FURROW_OK) status = check_log(file, ".log.next", err);
  free(file);
  return status;
}

furrow_status edit_check_target(const char *path, bool force, furrow_error *err) {
  furrow_status status = written_check_path(path, force, err);
  if (status == FURROW_OK) status = check_logs(path, err);
  return status == FURROW_OK ? index_names_check_path(path, force, err) : status;
}

/* Finds the folder of a path. */
static bool stat_folder(const char *path, struct stat *found) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  return stat(folder, found) == 0;
}

static bool same_file(const struct stat *one, const struct stat *two) {
  return one->st_dev == two->st_dev && one->st_ino == two->st_ino;
}

/* The library checks the same, but only after the work. */
furrow_status edit_check_lists_file(const char *path, const char *lists_file, furrow_error *err) {
  struct stat own, other;
  if (!lists_file) return FURROW_OK;
  if (strcmp(path, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "--lists-file cannot be used when the index is written to standard output");
  if (stat(lists_file, &own) == 0) {
    fail_file(err, FURROW_E_EXISTS, lists_file,
              "exists already, and a data file of lists is never replaced: an index may use it", 0);
    return add_hint(err, "name a new file, or remove this one if no index uses it");
  }
  if (stat_folder(lists_file, &own) && stat_folder(path, &other) && !same_file(&own, &other))
    return fail_file(err, FURROW_E_ARGUMENT, lists_file,
                     "the data file of the lists must be in the folder of the index, where readers look for it", 0);
  return FURROW_OK;
}

const char *change_target(const char *path, const edit_values *values) {
  return values->destination ? values->destination : path;
}

furrow_status edit_check(const char *path, const edit_values *values, const index_source_values *reading,
                         const char *const inputs[4], furrow_error *err) {
  const char *target = change_target(path, values);
  furrow_status status = index_source_check(path, err);
  if (status == FURROW_OK) status = edit_check_lists_file(target, values->form.lists_file, err);
  if (status == FURROW_OK) status = written_check_apart(target, reading->lists, err);
  if (status == FURROW_OK) status = index_names_check_apart(path, target, err);
  for (size_t i = 0; status == FURROW_OK && i < 4; i++) {
    status = written_check_apart(target, inputs[i], err);
    if (status == FURROW_OK) status = index_names_check_apart(target, inputs[i], err);
  }
  if (status != FURROW_OK || !values->destination) return status;
  if (strcmp(values->destination, "-") == 0)
    return fail(err, FURROW_E_ARGUMENT, "an index cannot be written to standard output");
  return edit_check_target(values->destination, values->force, err);
}

/* ---- Locks ---------------------------------------------------------------------------------------------- */

furrow_status edit_lock(furrow_file_lock **lock, const char *path, furrow_error *err) {
  const furrow_status status = furrow_file_lock_open(lock, path, err);
  return status == FURROW_OK ? check_logs(path, err) : status;
}

/* ---- Reading and writing -------------------------------------------------------------------------------- */

static void save_params(const edit_values *values, furrow_index_save_params *params) {
  furrow_index_save_params_init(params);
  params->inline_lists = !values->form.lists_file;
  params->lists_file = values->form.lists_file;
  params->overwrite = !values->destination || values->force;
  params->compat = values->form.compat;
  params->card = true;
}

static furrow_status file_size(const furrow_index *index, const edit_values *values, uint64_t *size,
                               furrow_error *err) {
  furrow_index_save_params params;
  save_params(values, &params);
  return furrow_index_file_size(index, &params, size, err);
}

/* A card that does not fit is not kept. */
static void note_lost_card(const furrow_index *index) {
  furrow_index_card card;
  furrow_error err;
  furrow_index_card_init(&card);
  if (furrow_index_get_card(index, &card, &err) == FURROW_E_FORMAT)
    print_note(false, "%s: %s; the changed index has no card", err.file, err.message);
}

/* Mapped lists are copied when they change. The file is replaced by rename, not overwritten, so the mapping stays
 * valid. */
furrow_status edit_load(named_index *loaded, const char *path, const edit_values *values,
                        const index_source_values *reading, furrow_error *err) {
  furrow_index_load_params params;
  uint64_t size;
  index_source_params(reading, &params);
  params.card = true;
  furrow_status status = values->destination ? FURROW_OK : edit_lock(&loaded->lock, path, err);
  if (status == FURROW_OK)
    status = index_source_load_all(&loaded->index, &loaded->names, &loaded->attributes, path, &params, err);
  if (status == FURROW_OK) note_lost_card(loaded->index);
  if (status == FURROW_OK) status = index_source_apart(loaded->index, path, change_target(path, values), err);
  /* checks before the work whether the older Faiss can read the index, and whether it has lists for a data file */
  const bool checked = values->form.compat || values->form.lists_file;
  return status == FURROW_OK && checked ? file_size(loaded->index, values, &size, err) : status;
}

void edit_clear(named_index *loaded) {
  furrow_id_names_free(loaded->names);
  furrow_attributes_free(loaded->attributes);
  furrow_index_free(loaded->index);
  furrow_file_lock_close(loaded->lock);
  *loaded = (named_index){0};
}

furrow_status explain_repeated(furrow_status status, furrow_error *err) {
  if (status != FURROW_E_EXISTS || err->file[0]) return status;
  return add_hint(err, "--repeated-ids allows it: a search then finds the id for each of its vectors");
}

furrow_status edit_save(const named_index *changed, const char *path, const edit_values *values, uint64_t *size,
                        furrow_error *err) {
  furrow_index_save_params params;
  save_params(values, &params);
  params.names = changed->names;
  params.attributes = changed->attributes;
  params.unique_ids = changed->unique_ids;
  furrow_status status = interrupt_check(err);
  if (status == FURROW_OK) status = file_size(changed->index, values, size, err);
  if (status == FURROW_OK) status = furrow_index_save(changed->index, change_target(path, values), &params, err);
  return explain_repeated(status, err);
}

static const furrow_index *skip_transforms(const furrow_index *index, furrow_index_info *info) {
  furrow_index_info_init(info);
  furrow_index_get_info(index, info);
  for (; info->kind == FURROW_INDEX_TRANSFORM; furrow_index_get_info(index, info)) index = furrow_index_child(index, 0);
  return index;
}

bool scales_vectors(const furrow_index *index) {
  furrow_transform_info t;
  furrow_transform_info_init(&t);
  for (; index; index = furrow_index_child(index, 0))
    for (size_t i = 0; furrow_index_get_transform_info(index, i, &t, NULL) == FURROW_OK; i++)
      if (strcmp(t.fourcc, "VNrm") == 0) return true;
  return false;
}

bool is_list_index(const furrow_index *index) {
  furrow_index_info info;
  const furrow_index *inner = skip_transforms(index, &info);
  return furrow_index_ivf(inner) == inner;
}

bool has_implicit_ids(const furrow_index *index) {
  furrow_index_info info;
  const furrow_index *inner = skip_transforms(index, &info);
  return info.kind != FURROW_INDEX_ID_MAP && furrow_index_ivf(inner) != inner;
}

void edit_note_stale(const furrow_index *index, bool quiet) {
  furrow_index_card card;
  furrow_index_card_init(&card);
  if (furrow_index_get_card(index, &card, NULL) == FURROW_OK && card.stale) print_note(quiet, "%s", card.advice);
}
