/* io/memory_files.c: files in the caller's memory, at memory://path. Common prefixes of paths are their directories. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"

struct fw_memory_entry {
  char *path; /* without "memory://", without slashes at the ends, with single slashes between components */
  const char *kind;
  const void *thing;
  size_t length;
  int64_t added_ns;
  void (*release)(void *user);
  void *user;
  size_t holders; /* references, the table's included; under the lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fw_memory_entry **entries;
static size_t nentries, capacity;

/* ---- Paths ---------------------------------------------------------------------------------------------- */

/* Copies the path with single slashes and none at its ends. */
static furrow_status tidy_path(char **tidy, const char *path, furrow_error *err) {
  FW_TRY(fw_strndup(tidy, path, strlen(path), err));
  char *to = *tidy;
  for (const char *from = path; *from;) {
    from += strspn(from, "/");
    const size_t n = strcspn(from, "/");
    if (n && to > *tidy) *to++ = '/';
    memmove(to, from, n);
    to += n;
    from += n;
  }
  *to = 0;
  return FURROW_OK;
}

/* If `path` is in the folder, returns the part after the folder and a slash, else NULL. */
static const char *within(const char *path, const char *folder) {
  const size_t n = strlen(folder);
  if (n == 0) return path;
  return strncmp(path, folder, n) == 0 && path[n] == '/' ? path + n + 1 : NULL;
}

/* Call both under the lock. */
static fw_memory_entry *find_entry(const char *path) {
  for (size_t i = 0; i < nentries; i++)
    if (strcmp(entries[i]->path, path) == 0) return entries[i];
  return NULL;
}

static bool is_folder(const char *path) {
  if (!path[0]) return true;
  for (size_t i = 0; i < nentries; i++)
    if (within(entries[i]->path, path)) return true;
  return false;
}

/* ---- Objects in memory ---------------------------------------------------------------------------------- */

static furrow_status fail_path(furrow_error *err, furrow_status status, const char *path, const char *message) {
  fw_fail(err, status, "%s", message);
  fw_error_set_file(err, path);
  return status;
}

static furrow_status memory_path(const char *path, char **tidy, furrow_error *err) {
  static const char scheme[] = "memory://";
  if (strncmp(path, scheme, sizeof scheme - 1) != 0 || !path[sizeof scheme - 1 + strspn(path + sizeof scheme - 1, "/")])
    return fail_path(err, FURROW_E_ARGUMENT, path, "a path in memory is memory:// and a name");
  return tidy_path(tidy, path + sizeof scheme - 1, err);
}

/* Call it under the lock. A path is taken if it is an object, a directory of other objects, or inside another
 * object. */
static bool is_taken(const char *path) {
  if (find_entry(path) || is_folder(path)) return true;
  for (size_t i = 0; i < nentries; i++)
    if (within(path, entries[i]->path)) return true;
  return false;
}

static void free_entry(fw_memory_entry *entry) {
  fw_free(entry->path);
  fw_free(entry);
}

static furrow_status add_entry(fw_memory_entry *entry, const char *path, furrow_error *err) {
  pthread_mutex_lock(&lock);
  furrow_status status = FURROW_OK;
  if (is_taken(entry->path))
    status = fail_path(err, FURROW_E_EXISTS, path, "a file or folder is at that path in memory already");
  if (status == FURROW_OK) status = FW_GROW(&entries, &capacity, nentries + 1, err);
  if (status == FURROW_OK) entries[nentries++] = entry;
  pthread_mutex_unlock(&lock);
  return status;
}

furrow_status fw_memory_add(const char *path, const char *kind, const void *thing, size_t length,
                            void (*release)(void *user), void *user, furrow_error *err) {
  char *tidy = NULL;
  FW_TRY(memory_path(path, &tidy, err));
  fw_memory_entry *entry;
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  furrow_status status = FW_ALLOC(&entry, 1, err);
  if (status != FURROW_OK) {
    fw_free(tidy);
    return status;
  }
  *entry = (fw_memory_entry){.path = tidy,
                             .kind = kind,
                             .thing = thing,
                             .length = length,
                             .added_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
                             .release = release,
                             .user = user,
                             .holders = 1};
  status = add_entry(entry, path, err);
  if (status != FURROW_OK) free_entry(entry);
  return status;
}

static bool same_kind(const char *a, const char *b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

furrow_status fw_memory_remove(const char *path, const char *kind, furrow_error *err) {
  char *tidy = NULL;
  FW_TRY(memory_path(path, &tidy, err));
  fw_memory_entry *found = NULL;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < nentries && !found; i++) {
    if (strcmp(entries[i]->path, tidy) != 0 || !same_kind(entries[i]->kind, kind)) continue;
    found = entries[i];
    entries[i] = entries[--nentries];
  }
  pthread_mutex_unlock(&lock);
  fw_free(tidy);
  if (!found) return fail_path(err, FURROW_E_NOT_FOUND, path, "nothing of this kind is at that path in memory");
  fw_memory_let_go(found);
  return FURROW_OK;
}

furrow_status fw_memory_hold(const char *path, const char *kind, fw_memory_entry **entry, furrow_error *err) {
  char *tidy = NULL;
  const furrow_status status = memory_path(path, &tidy, err);
  *entry = NULL;
  if (status != FURROW_OK) return status == FURROW_E_ARGUMENT ? FURROW_OK : status; /* not a path in memory */
  pthread_mutex_lock(&lock);
  fw_memory_entry *found = find_entry(tidy);
  if (found && !same_kind(found->kind, kind)) found = NULL;
  if (found) found->holders++;
  pthread_mutex_unlock(&lock);
  fw_free(tidy);
  *entry = found;
  return FURROW_OK;
}

const void *fw_memory_thing(const fw_memory_entry *entry) {
  return entry->thing;
}

void fw_memory_let_go(fw_memory_entry *entry) {
  if (!entry) return;
  pthread_mutex_lock(&lock);
  const bool last = --entry->holders == 0;
  pthread_mutex_unlock(&lock);
  if (!last) return;
  if (entry->release) entry->release(entry->user);
  free_entry(entry);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

furrow_status furrow_memory_file_add(const char *path, const void *bytes, size_t length, void (*release)(void *user),
                                     void *user, furrow_error *err) {
  return fw_memory_add(path, NULL, bytes ? bytes : "", bytes ? length : 0, release, user, err);
}

furrow_status furrow_memory_file_remove(const char *path, furrow_error *err) {
  return fw_memory_remove(path, NULL, err);
}

static furrow_status fail_absent(furrow_error *err) {
  return fw_fail(err, FURROW_E_NOT_FOUND, "no such file or directory in memory");
}

static furrow_status fail_kind(const fw_memory_entry *entry, furrow_error *err) {
  return fw_fail(err, FURROW_E_ARGUMENT, "%s in memory, not a file", entry->kind);
}

static furrow_status stat_memory(void *user, const char *path, furrow_file_info *info, furrow_error *err) {
  (void)user;
  char *tidy = NULL;
  FW_TRY(tidy_path(&tidy, path, err));
  furrow_status status = FURROW_OK;
  pthread_mutex_lock(&lock);
  const fw_memory_entry *entry = find_entry(tidy);
  if (entry && entry->kind) {
    status = fail_kind(entry, err);
  } else if (entry) {
    *info = (furrow_file_info){.kind = FURROW_FILE_REGULAR, .length = entry->length, .changed_ns = entry->added_ns};
  } else if (is_folder(tidy)) {
    info->kind = FURROW_FILE_FOLDER;
  } else {
    status = fail_absent(err);
  }
  pthread_mutex_unlock(&lock);
  fw_free(tidy);
  return status;
}

/* Reports a directory once for each file in it; fw_dir_names_read drops the duplicates. */
static furrow_status list_memory(void *user, const char *path, furrow_file_name found, void *listing,
                                 furrow_error *err) {
  (void)user;
  char *tidy = NULL, *name = NULL;
  FW_TRY(tidy_path(&tidy, path, err));
  pthread_mutex_lock(&lock);
  furrow_status status = is_folder(tidy) ? FURROW_OK : fail_absent(err);
  for (size_t i = 0; i < nentries && status == FURROW_OK; i++) {
    const char *rest = within(entries[i]->path, tidy);
    if (!rest) continue;
    status = fw_strndup(&name, rest, strcspn(rest, "/"), err);
    if (status == FURROW_OK) status = found(listing, name, err);
    fw_free(name);
    name = NULL;
  }
  pthread_mutex_unlock(&lock);
  fw_free(tidy);
  return status;
}

static furrow_status open_memory(void *user, const char *path, void **file, furrow_error *err) {
  (void)user;
  char *tidy = NULL;
  FW_TRY(tidy_path(&tidy, path, err));
  pthread_mutex_lock(&lock);
  fw_memory_entry *entry = find_entry(tidy);
  furrow_status status = !entry ? fail_absent(err) : entry->kind ? fail_kind(entry, err) : FURROW_OK;
  if (status == FURROW_OK) entry->holders++;
  pthread_mutex_unlock(&lock);
  fw_free(tidy);
  if (status == FURROW_OK) *file = entry;
  return status;
}

static furrow_status memory_of(void *user, void *file, const void **bytes, size_t *length, furrow_error *err) {
  (void)user, (void)err;
  const fw_memory_entry *entry = file;
  *bytes = entry->thing;
  *length = entry->length;
  return FURROW_OK;
}

static void close_memory(void *user, void *file) {
  (void)user;
  fw_memory_let_go(file);
}

const furrow_file_system fw_memory_system = {.size = sizeof(furrow_file_system),
                                             .stat = stat_memory,
                                             .list = list_memory,
                                             .open = open_memory,
                                             .memory = memory_of,
                                             .close = close_memory};
