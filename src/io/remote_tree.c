/* io/remote_tree.c: sends a directory to a server, in an order in which readers never see a mixture of two. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "io/dir_names.h"
#include "io/input.h"
#include "io/remote_target.h"

enum { MAX_DEPTH = 100 };

typedef struct tree_file {
  char *path; /* inside the directory */
  uint64_t size;
  int rank;     /* files of a higher rank make readers look for those of a lower one */
  void *upload; /* begun */
} tree_file;

typedef struct tree {
  tree_file *files;
  size_t count, capacity;
} tree;

static void clear_tree(tree *t) {
  for (size_t i = 0; i < t->count; i++) fw_free(t->files[i].path);
  fw_free(t->files);
}

static int rank_of(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t n = strlen(name);
  if (strcmp(path, "furrow.json") == 0) return 3;
  if (n > 5 && strcmp(name + n - 5, ".json") == 0) return 2;
  return strcmp(name, "_meta") == 0 || strcmp(name, "meta") == 0 || strcmp(name, "psmeta") == 0;
}

static int compare_files(const void *a, const void *b) {
  const tree_file *x = a, *y = b;
  return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : strcmp(x->path, y->path);
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(((const tree_file *)a)->path, ((const tree_file *)b)->path);
}

static furrow_status add_file(tree *t, const char *path, uint64_t size, furrow_error *err) {
  FW_TRY(FW_GROW(&t->files, &t->capacity, t->count + 1, err));
  tree_file *file = &t->files[t->count];
  *file = (tree_file){.size = size, .rank = rank_of(path)};
  FW_TRY(fw_strndup(&file->path, path, strlen(path), err));
  t->count++;
  return FURROW_OK;
}

/* ---- What is here ---------------------------------------------------------------------------------------- */

static furrow_status fail_local(int errnum, furrow_error *err) {
  fw_fail_errno(err, FURROW_E_IO, errnum, "cannot read the temporary directory of what is to be sent");
  fw_error_set_hint(err, "TMPDIR names the folder of such directories");
  return FURROW_E_IO;
}

static furrow_status add_local(tree *t, int parent, const char *name, const char *folder, int depth, furrow_error *err);

static furrow_status add_entry(tree *t, int fd, const char *name, const char *folder, int depth, furrow_error *err) {
  struct stat info;
  fw_buffer path = {0};
  if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return fail_local(errno, err);
  fw_buffer_format(&path, "%s%s%s", folder, folder[0] ? "/" : "", name);
  fw_buffer_byte(&path, 0);
  furrow_status status = fw_buffer_status(&path, err);
  if (status == FURROW_OK && S_ISDIR(info.st_mode)) status = add_local(t, fd, name, path.bytes, depth + 1, err);
  if (status == FURROW_OK && S_ISREG(info.st_mode)) status = add_file(t, path.bytes, (uint64_t)info.st_size, err);
  fw_buffer_clear(&path);
  return status;
}

/* `folder` is the path of parent/name inside the directory. */
static furrow_status add_local(tree *t, int parent, const char *name, const char *folder, int depth,
                               furrow_error *err) {
  if (depth > MAX_DEPTH) return fail_local(ELOOP, err);
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *handle = fd >= 0 ? fdopendir(fd) : NULL;
  if (!handle) {
    const int errnum = errno;
    if (fd >= 0) close(fd);
    return fail_local(errnum, err);
  }
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK) {
    errno = 0;
    const struct dirent *entry = readdir(handle);
    if (!entry && errno) status = fail_local(errno, err);
    if (!entry) break;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    status = add_entry(t, dirfd(handle), entry->d_name, folder, depth, err);
  }
  closedir(handle);
  return status;
}

/* ---- What is there --------------------------------------------------------------------------------------- */

static furrow_status add_remote(tree *t, const char *folder, const char *inside, int depth, furrow_error *err);

static furrow_status add_remote_entry(tree *t, const char *folder, const char *inside, const char *name, int depth,
                                      furrow_error *err) {
  struct stat info;
  char *path = NULL, *deeper = NULL;
  furrow_status status = fw_path_join(&path, folder, name, err);
  if (status == FURROW_OK) status = fw_path_join(&deeper, inside, name, err);
  if (status == FURROW_OK) status = fw_path_stat(path, &info, err);
  if (status == FURROW_OK)
    status = S_ISDIR(info.st_mode) ? add_remote(t, path, deeper, depth + 1, err) : add_file(t, deeper, 0, err);
  fw_free(deeper);
  fw_free(path);
  return status;
}

static furrow_status add_remote(tree *t, const char *folder, const char *inside, int depth, furrow_error *err) {
  fw_dir_names names = {0};
  if (depth > MAX_DEPTH) return fail_local(ELOOP, err);
  furrow_status status = fw_dir_names_read(&names, folder, NULL, NULL, err);
  for (size_t i = 0; i < names.count && status == FURROW_OK; i++)
    status = add_remote_entry(t, folder, inside, names.names[i], depth, err);
  fw_dir_names_clear(&names);
  return status;
}

/* ---- Sending --------------------------------------------------------------------------------------------- */

static furrow_status send_file(const fw_target *target, int fd, const tree_file *file, furrow_error *err) {
  void *upload = NULL;
  const int from = openat(fd, file->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) return fail_local(errno, err);
  furrow_status status = fw_target_begin(target, file->path, from, file->size, &upload, err);
  if (status == FURROW_OK) status = fw_target_finish(target, upload, false, err);
  fw_target_drop(target, upload);
  close(from);
  return status;
}

/* Removes the old files that readers look at first, in the order opposite to that of sending. */
static furrow_status hide_old(const fw_target *target, const tree *old, furrow_error *err) {
  for (size_t i = old->count; i > 0 && old->files[i - 1].rank > 0; i--)
    FW_TRY(fw_target_remove(target, old->files[i - 1].path, err));
  return FURROW_OK;
}

/* `sorted`: the new files by their paths. */
static furrow_status remove_rest(const fw_target *target, const tree *old, const tree *sorted, furrow_error *err) {
  for (size_t i = 0; i < old->count && old->files[i].rank == 0; i++)
    if (!sorted->count || !bsearch(&old->files[i], sorted->files, sorted->count, sizeof *sorted->files, compare_paths))
      FW_TRY(fw_target_remove(target, old->files[i].path, err));
  return FURROW_OK;
}

static void sort_files(tree *t, int (*compare)(const void *a, const void *b)) {
  if (t->count > 1) qsort(t->files, t->count, sizeof *t->files, compare);
}

static furrow_status send_files(const fw_target *target, int fd, tree *new, tree *old, furrow_error *err) {
  sort_files(old, compare_files);
  FW_TRY(hide_old(target, old, err));
  sort_files(new, compare_paths);
  FW_TRY(remove_rest(target, old, new, err));
  sort_files(new, compare_files);
  for (size_t i = 0; i < new->count; i++) FW_TRY(send_file(target, fd, &new->files[i], err));
  return FURROW_OK;
}

furrow_status fw_target_send_tree(const fw_target *target, int fd, bool replaces, furrow_error *err) {
  tree new = {0}, old = {0};
  furrow_status status = add_local(&new, fd, ".", "", 0, err);
  if (status == FURROW_OK && replaces) status = add_remote(&old, target->path, "", 0, err);
  if (status == FURROW_OK) {
    status = send_files(target, fd, &new, &old, err);
    if (status != FURROW_OK && err && !err->hint[0])
      fw_error_set_hint(err, replaces ? "what was there may be incomplete now: write it again"
                                      : "files that were sent may be there: write it again");
  }
  clear_tree(&old);
  clear_tree(&new);
  return status;
}
