/* model/jobs/listing.c: lists the contents of a model directory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/model.h"
#include "io/dir_names.h"
#include "io/file_system.h"
#include "io/input.h"
#include "model/jobs/verify.h"
#include "model/meta/meta.h"

typedef struct listing_store {
  furrow_model_listing listing; /* matrix entries own their folder; names point into `names` or single_name */
  char *path, *single_name;
  fw_dir_names names;
  const char *odd; /* name of a file that cannot be listed; NULL: there is none */
  const char *why;
  size_t matrix_capacity, file_capacity;
} listing_store;

static furrow_status fail_at(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status fail_errno_at(furrow_error *err, const char *path, int errnum, const char *message) {
  const furrow_status status = errnum == ENOMEM ? FURROW_E_MEMORY : FURROW_E_IO;
  fw_fail_errno(err, status, errnum, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

/* ---- Matrix folders ---- */

static furrow_status has_server_meta(const char *folder, bool *found, furrow_error *err) {
  fw_dir_names names = {0};
  furrow_status status = fw_dir_names_read(&names, folder, fw_is_server_meta, NULL, err);
  *found = names.count > 0;
  fw_dir_names_clear(&names);
  return status;
}

/* Dangling links, pipes and directories called _meta count as found, so that opening them reports the error. (A matrix
 * may be called meta.) */
static furrow_status has_file(const char *folder, const char *name, bool *found, furrow_error *err) {
  char *path;
  furrow_status status = fw_path_join(&path, folder, name, err);
  if (status != FURROW_OK) return status;
  struct stat info;
  status = fw_path_stat(path, &info, err);
  if (status == FURROW_OK) {
    *found = !S_ISDIR(info.st_mode) || strcmp(name, "_meta") == 0;
  } else if (status == FURROW_E_NOT_FOUND) {
    *found = lstat(path, &info) == 0;
    status = FURROW_OK;
  }
  fw_free(path);
  return status;
}

/* Whether the folder has a metadata file. */
static furrow_status is_matrix(const char *folder, bool *found, furrow_error *err) {
  static const char *const names[] = {"_meta", "meta", "psmeta"};
  *found = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !*found; i++) {
    furrow_status status = has_file(folder, names[i], found, err);
    if (status != FURROW_OK) return status;
  }
  return *found ? FURROW_OK : has_server_meta(folder, found, err);
}

/* ---- The listing ---- */

static furrow_status add_entry(furrow_model_entry **entries, size_t *count, size_t *capacity, furrow_model_entry entry,
                               furrow_error *err) {
  furrow_status status = FW_GROW(entries, capacity, *count + 1, err);
  if (status == FURROW_OK) (*entries)[(*count)++] = entry;
  return status;
}

/* Takes ownership of the folder, even on failure. */
static furrow_status add_matrix(listing_store *store, char *folder, const char *name, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  furrow_status status =
      add_entry(&l->matrices, &l->matrix_count, &store->matrix_capacity, (furrow_model_entry){name, folder}, err);
  if (status != FURROW_OK) fw_free(folder);
  return status;
}

/* Whether the path is a matrix folder, or might be one but cannot be read. Fails only if memory runs out. */
static furrow_status may_be_matrix(const char *path, bool *matrix, furrow_error *err) {
  furrow_error found = {.status = FURROW_OK};
  if (is_matrix(path, matrix, &found) == FURROW_OK) return FURROW_OK;
  if (found.status == FURROW_E_MEMORY) return fw_fail(err, FURROW_E_MEMORY, "%s", found.message);
  *matrix = true;
  return FURROW_OK;
}

static void note_odd(listing_store *store, const char *name, const char *why) {
  store->odd = name;
  store->why = why;
}

/* Names of known files: a folder with such a name is not skipped, and a dangling link is not listed as a matrix. */
static bool is_file_name(const char *name) {
  static const char *const names[] = {"graph.json", "furrow.json", "schema.json", "dictionary.furrow"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

/* Adds a folder or a file of the model. If an entry takes ownership of *path, it becomes NULL. */
static furrow_status add_path(listing_store *store, char **path, const char *name, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  struct stat info;
  bool matrix = false;
  furrow_status status = FURROW_OK;
  const furrow_status looked = fw_path_stat(*path, &info, NULL);
  if (looked != FURROW_OK)
    matrix = looked != FURROW_E_NOT_FOUND || lstat(*path, &info) == 0; /* otherwise it has vanished in the meantime */
  else if (S_ISREG(info.st_mode))
    return add_entry(&l->files, &l->file_count, &store->file_capacity, (furrow_model_entry){name, NULL}, err);
  else if (!S_ISDIR(info.st_mode))
    note_odd(store, name, "neither a file nor a folder; a model consists of files and folders");
  else if (is_file_name(name))
    note_odd(store, name, "not a regular file");
  else
    status = may_be_matrix(*path, &matrix, err);
  if (matrix && is_file_name(name)) {
    note_odd(store, name, "a symbolic link that leads nowhere");
    return FURROW_OK;
  }
  if (status != FURROW_OK || !matrix) return status;
  char *folder = *path;
  *path = NULL;
  return add_matrix(store, folder, name, err);
}

static furrow_status add_name(listing_store *store, const char *name, furrow_error *err) {
  char *path;
  furrow_status status = fw_path_join(&path, store->path, name, err);
  if (status != FURROW_OK) return status;
  status = add_path(store, &path, name, err);
  fw_free(path);
  return status;
}

/* Finds the name of a single matrix folder: the last component of its path, or of the resolved path for "." and the
 * like. */
static furrow_status find_single_name(listing_store *store, furrow_error *err) {
  const char *slash = strrchr(store->path, '/'), *name = slash && slash[1] ? slash + 1 : store->path;
  char *resolved = NULL;
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    resolved = realpath(store->path, NULL);
    if (!resolved) return fail_errno_at(err, store->path, errno, "cannot resolve the path");
    slash = strrchr(resolved, '/');
    name = slash && slash[1] ? slash + 1 : resolved;
  }
  furrow_status status = fw_strndup(&store->single_name, name, strlen(name), err);
  free(resolved);
  return status;
}

static furrow_status add_single(listing_store *store, furrow_error *err) {
  char *folder;
  store->listing.single = true;
  FW_TRY(find_single_name(store, err));
  FW_TRY(fw_strndup(&folder, store->path, strlen(store->path), err));
  return add_matrix(store, folder, store->single_name, err);
}

static bool is_listed(void *user, const char *name) {
  (void)user;
  return name[0] != '.' && strncmp(name, "_tmp.", 5) != 0;
}

/* Such an entry may be any file of the model, so it must not be skipped silently. */
static furrow_status refuse_odd(const listing_store *store, furrow_error *err) {
  char *path;
  FW_TRY(fw_path_join(&path, store->path, store->odd, err));
  const furrow_status status = fail_at(err, FURROW_E_FORMAT, path, store->why);
  fw_free(path);
  return status;
}

/* A forest of another program is a model without matrices. */
static bool has_nodes(const furrow_model_listing *listing) {
  for (size_t i = 0; i < listing->file_count; i++)
    if (strcmp(listing->files[i].name, "forest.nodes") == 0) return true;
  return false;
}

furrow_status fw_listing_check_matrices(const furrow_model_listing *listing, furrow_error *err) {
  if (listing->matrix_count > 0) return FURROW_OK;
  fail_at(err, FURROW_E_UNSUPPORTED, listing->path, "the model has no matrices: its trees are in forest.nodes");
  fw_error_set_hint(err, "furrow model trees prints them");
  return FURROW_E_UNSUPPORTED;
}

static furrow_status fill_listing(listing_store *store, furrow_error *err) {
  bool single;
  struct stat info;
  if (fw_path_stat(store->path, &info, NULL) == FURROW_OK && !S_ISDIR(info.st_mode))
    return fail_at(err, FURROW_E_NOT_FOUND, store->path, "not a directory");
  furrow_status status = is_matrix(store->path, &single, err); /* E_NOT_FOUND: the directory does not exist */
  if (status != FURROW_OK) return status;
  if (single) return add_single(store, err);
  status = fw_dir_names_read(&store->names, store->path, is_listed, NULL, err);
  for (size_t i = 0; i < store->names.count && status == FURROW_OK; i++)
    status = add_name(store, store->names.names[i], err);
  if (status == FURROW_OK && store->listing.matrix_count == 0 && !has_nodes(&store->listing))
    status = fail_at(err, FURROW_E_FORMAT, store->path,
                     "no matrix found: neither this directory nor one in it has a file _meta, meta or psmeta");
  if (status == FURROW_OK && store->odd) status = refuse_odd(store, err);
  return status;
}

furrow_status furrow_model_listing_load(furrow_model_listing **listing, const char *path, furrow_error *err) {
  if (!path || !path[0]) return fw_fail(err, FURROW_E_ARGUMENT, "no path of a model is given");
  furrow_status status = fw_path_to_read(&path, err);
  if (status != FURROW_OK) return status;
  listing_store *store;
  status = FW_ALLOC_ZERO(&store, 1, err);
  if (status != FURROW_OK) return status;
  store->listing.memory = store;
  status = fw_path_join(&store->path, path, "", err);
  store->listing.path = store->path;
  if (status == FURROW_OK) status = fill_listing(store, err);
  if (status == FURROW_OK)
    *listing = &store->listing;
  else
    furrow_model_listing_free(&store->listing);
  return status;
}

void furrow_model_listing_free(furrow_model_listing *listing) {
  if (!listing) return;
  listing_store *store = listing->memory;
  for (size_t i = 0; i < store->listing.matrix_count; i++) fw_free((char *)store->listing.matrices[i].folder);
  fw_free(store->listing.matrices);
  fw_free(store->listing.files);
  fw_dir_names_clear(&store->names);
  fw_free(store->single_name);
  fw_free(store->path);
  fw_free(store);
}
