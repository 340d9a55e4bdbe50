/* io/path_watch.c: notices that a file or directory was replaced while it was read in several steps. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "furrow/io.h"
#include "io/file_system.h"
#include "io/input.h"

struct furrow_path_watch {
  char *path;
  int fd; /* keeps the inode of a local file, so that no file that replaces it gets the same number; -1: none */
  bool there;
  struct stat before;
};

/* Looks at the path; *there is whether anything is there. */
static furrow_status look_at(const char *path, struct stat *info, bool *there, furrow_error *err) {
  const furrow_status status = fw_path_stat(path, info, err);
  *there = status == FURROW_OK;
  return status == FURROW_E_NOT_FOUND ? FURROW_OK : status;
}

/* Holds a local file without opening it for reading: a pipe would wait. */
static furrow_status hold_file(furrow_path_watch *watch, furrow_error *err) {
  const char *path = watch->path;
  const bool local = fw_path_is_local(path);
  FW_TRY(fw_path_to_read(&path, err));
  watch->fd = local ? open(path, O_PATH | O_CLOEXEC) : -1;
  const int errnum = errno;
  FW_TRY(look_at(watch->path, &watch->before, &watch->there, err));
  if (local && watch->there && watch->fd < 0) {
    const furrow_status status = fw_fail_errno(err, FURROW_E_IO, errnum, "cannot be opened");
    fw_error_set_file(err, watch->path);
    return status;
  }
  return FURROW_OK;
}

static void free_watch(furrow_path_watch *watch) {
  if (!watch) return;
  if (watch->fd >= 0) close(watch->fd);
  fw_free(watch->path);
  fw_free(watch);
}

furrow_status furrow_path_watch_begin(furrow_path_watch **watch, const char *path, furrow_error *err) {
  furrow_path_watch *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  made->fd = -1;
  furrow_status status = fw_strndup(&made->path, path, strlen(path), err);
  if (status == FURROW_OK) status = hold_file(made, err);
  return FW_HAND_OVER(status, watch, made, free_watch);
}

/* The time of a directory changes with every file that is written into it, including unrelated files. */
static bool is_same(const struct stat *a, const struct stat *b) {
  if (a->st_dev != b->st_dev || a->st_ino != b->st_ino || (a->st_mode & S_IFMT) != (b->st_mode & S_IFMT)) return false;
  return S_ISDIR(a->st_mode) || (a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
                                 a->st_mtim.tv_nsec == b->st_mtim.tv_nsec);
}

furrow_status furrow_path_watch_end(furrow_path_watch *watch, furrow_status status, furrow_error *err) {
  struct stat after;
  bool there = false;
  furrow_error error;
  const furrow_status looked = look_at(watch->path, &after, &there, &error);
  if (status == FURROW_E_MEMORY) goto done;
  if (looked != FURROW_OK) {
    if (status == FURROW_OK && err) *err = error;
    if (status == FURROW_OK) status = looked;
  } else if (there != watch->there || (there && !is_same(&watch->before, &after))) {
    status = fw_fail(err, FURROW_E_STATE, "was replaced while it was read");
    fw_error_set_file(err, watch->path);
    fw_error_set_hint(err, "run it again: another program has written it meanwhile");
  }
done:
  free_watch(watch);
  return status;
}
