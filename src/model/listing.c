/* model/listing.c: what is in a model directory. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "furrow/model.h"
#include "io/scheme.h"

/* A listing and all its texts in one arena. */
typedef struct listing_store {
  furrow_model_listing listing;
  fw_arena arena;
  size_t matrix_capacity, file_capacity;
} listing_store;

static furrow_status fail_at(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status fail_errno_at(furrow_error *err, const char *path, int errnum, const char *message) {
  fw_fail_errno(err, FURROW_E_IO, errnum, "%s", message);
  fw_error_set_file(err, path);
  return FURROW_E_IO;
}

/* ---- Names and paths ---- */

/* Length of a path without the slashes at its end; "/" keeps its own. */
static size_t trimmed_length(const char *path) {
  size_t n = strlen(path);
  while (n > 1 && path[n - 1] == '/') n--;
  return n;
}

/* folder/name, or the folder alone for an empty name; without slashes at the folder's end */
static furrow_status join(listing_store *store, const char *folder, const char *name, char **path, furrow_error *err) {
  size_t a = trimmed_length(folder), b = strlen(name);
  bool slash = a > 0 && b > 0 && folder[a - 1] != '/';
  void *memory;
  furrow_status status = fw_arena_take(&store->arena, &memory, a + slash + b + 1, 1, err);
  if (status != FURROW_OK) return status;
  char *text = memory;
  memcpy(text, folder, a);
  if (slash) text[a] = '/';
  memcpy(text + a + slash, name, b + 1);
  *path = text;
  return FURROW_OK;
}

static bool is_left_out(const char *name) {
  return name[0] == '.' || strncmp(name, "_tmp.", 5) == 0;
}

/* ---- Matrix folders ---- */

/* true for psmeta.<server>: the servers of a checkpoint write one each. */
static bool is_server_meta(const char *name) {
  return strncmp(name, "psmeta.", 7) == 0 && name[7];
}

/* Reads the names of a directory until `take` ends it with FURROW_END; that is no failure. */
static furrow_status for_each_name(const char *folder, furrow_status (*take)(void *, const char *, furrow_error *),
                                   void *user, furrow_error *err) {
  DIR *handle = opendir(folder);
  if (!handle) return fail_errno_at(err, folder, errno, "cannot list the directory");
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    errno = 0;
    struct dirent *entry = readdir(handle);
    if (!entry && errno) status = fail_errno_at(err, folder, errno, "cannot read the directory");
    if (!entry) break;
    status = take(user, entry->d_name, err);
  }
  closedir(handle);
  return status == FURROW_END ? FURROW_OK : status;
}

static furrow_status look_for_server_meta(void *user, const char *name, furrow_error *err) {
  (void)err;
  bool *found = user;
  *found = is_server_meta(name);
  return *found ? FURROW_END : FURROW_OK;
}

static furrow_status has_file(listing_store *store, const char *folder, const char *name, bool *found,
                              furrow_error *err) {
  char *path;
  furrow_status status = join(store, folder, name, &path, err);
  if (status != FURROW_OK) return status;
  struct stat info;
  if (stat(path, &info) == 0)
    *found = S_ISREG(info.st_mode);
  else if (errno != ENOENT && errno != ENOTDIR)
    return fail_errno_at(err, path, errno, "cannot look at the file");
  return FURROW_OK;
}

/* true: the folder has a metadata file. */
static furrow_status is_matrix(listing_store *store, const char *folder, bool *found, furrow_error *err) {
  static const char *const names[] = {"_meta", "meta", "psmeta"};
  *found = false;
  for (size_t i = 0; i < sizeof names / sizeof names[0] && !*found; i++) {
    furrow_status status = has_file(store, folder, names[i], found, err);
    if (status != FURROW_OK) return status;
  }
  return *found ? FURROW_OK : for_each_name(folder, look_for_server_meta, found, err);
}

/* ---- The listing ---- */

static furrow_status add_entry(furrow_model_entry **entries, size_t *count, size_t *capacity, furrow_model_entry entry,
                               furrow_error *err) {
  void *memory = *entries;
  furrow_status status = fw_grow(&memory, capacity, *count + 1, sizeof **entries, err);
  *entries = memory;
  if (status == FURROW_OK) (*entries)[(*count)++] = entry;
  return status;
}

static furrow_status add_matrix(listing_store *store, const char *folder, const char *name, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  return add_entry(&l->matrices, &l->matrix_count, &store->matrix_capacity, (furrow_model_entry){name, folder}, err);
}

static furrow_status add_file(listing_store *store, const char *name, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  return add_entry(&l->files, &l->file_count, &store->file_capacity, (furrow_model_entry){name, NULL}, err);
}

static furrow_status add_folder(listing_store *store, const char *path, const char *name, furrow_error *err) {
  bool matrix;
  furrow_status status = is_matrix(store, path, &matrix, err);
  return status == FURROW_OK && matrix ? add_matrix(store, path, name, err) : status;
}

static furrow_status add_name(void *user, const char *name, furrow_error *err) {
  listing_store *store = user;
  if (is_left_out(name)) return FURROW_OK;
  char *path;
  furrow_status status = join(store, store->listing.path, name, &path, err);
  if (status != FURROW_OK) return status;
  const char *own_name = path + strlen(path) - strlen(name);
  struct stat info;
  if (stat(path, &info) != 0) {
    if (errno != ENOENT) return fail_errno_at(err, path, errno, "cannot look at the file");
    if (lstat(path, &info) != 0) return FURROW_OK; /* it vanished meanwhile */
    return fail_at(err, FURROW_E_NOT_FOUND, path, "a symbolic link that leads nowhere");
  }
  if (S_ISDIR(info.st_mode)) return add_folder(store, path, own_name, err);
  return S_ISREG(info.st_mode) ? add_file(store, own_name, err) : FURROW_OK;
}

/* The name of a matrix folder that was given as a path: its last part, or that of what it resolves to (for "." …). */
static furrow_status add_single(listing_store *store, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  l->single = true;
  const char *slash = strrchr(l->path, '/');
  const char *name = slash && slash[1] ? slash + 1 : l->path;
  if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) return add_matrix(store, l->path, name, err);
  char *resolved = realpath(l->path, NULL);
  if (!resolved) return fail_errno_at(err, l->path, errno, "cannot resolve the path");
  char *copy = NULL;
  slash = strrchr(resolved, '/');
  furrow_status status = join(store, "", slash && slash[1] ? slash + 1 : resolved, &copy, err);
  free(resolved);
  return status == FURROW_OK ? add_matrix(store, l->path, copy, err) : status;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const furrow_model_entry *)a)->name, ((const furrow_model_entry *)b)->name);
}

static void sort_entries(furrow_model_entry *entries, size_t count) {
  if (count > 1) qsort(entries, count, sizeof *entries, by_name);
}

static furrow_status check_directory(const char *path, furrow_error *err) {
  struct stat info;
  if (stat(path, &info) == 0)
    return S_ISDIR(info.st_mode) ? FURROW_OK : fail_at(err, FURROW_E_NOT_FOUND, path, "not a directory");
  if (errno == ENOENT || errno == ENOTDIR) return fail_at(err, FURROW_E_NOT_FOUND, path, "no such directory");
  return fail_errno_at(err, path, errno, "cannot look at the directory");
}

static furrow_status fill(listing_store *store, furrow_error *err) {
  furrow_model_listing *l = &store->listing;
  bool single;
  furrow_status status = check_directory(l->path, err);
  if (status == FURROW_OK) status = is_matrix(store, l->path, &single, err);
  if (status != FURROW_OK) return status;
  if (single) return add_single(store, err);
  status = for_each_name(l->path, add_name, store, err);
  if (status != FURROW_OK) return status;
  if (l->matrix_count == 0)
    return fail_at(err, FURROW_E_FORMAT, l->path,
                   "no matrix is here: neither this directory nor one in it has a file _meta, meta or psmeta");
  sort_entries(l->matrices, l->matrix_count);
  sort_entries(l->files, l->file_count);
  return FURROW_OK;
}

furrow_status furrow_model_list(furrow_model_listing **listing, const char *path, furrow_error *err) {
  const fw_scheme *scheme;
  const char *rest;
  if (!path || !path[0]) return fw_fail(err, FURROW_E_ARGUMENT, "no path of a model is given");
  furrow_status status = fw_scheme_find(&scheme, &rest, path, err);
  if (status != FURROW_OK) return status;
  void *memory;
  status = fw_alloc_zero(&memory, 1, sizeof(listing_store), err);
  if (status != FURROW_OK) return status;
  listing_store *store = memory;
  store->listing.memory = store;
  char *own_path;
  status = join(store, rest, "", &own_path, err);
  if (status == FURROW_OK) {
    store->listing.path = own_path;
    status = fill(store, err);
  }
  if (status == FURROW_OK)
    *listing = &store->listing;
  else
    furrow_model_listing_free(&store->listing);
  return status;
}

void furrow_model_listing_free(furrow_model_listing *listing) {
  if (!listing) return;
  listing_store *store = listing->memory;
  fw_free(store->listing.matrices);
  fw_free(store->listing.files);
  fw_arena_clear(&store->arena);
  fw_free(store);
}
