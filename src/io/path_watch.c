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

static bool look(const furrow_path_watch *watch, struct stat *info) {
  return fw_path_stat(watch->path, info, NULL) == FURROW_OK;
}

/* Holds a local file without opening it for reading: a pipe would wait. */
static void hold_file(furrow_path_watch *watch) {
  const char *path = watch->path;
  watch->fd = fw_path_is_local(path) && fw_path_to_read(&path, NULL) == FURROW_OK ? open(path, O_PATH | O_CLOEXEC) : -1;
  watch->there = watch->fd >= 0 ? fstat(watch->fd, &watch->before) == 0 : look(watch, &watch->before);
}

furrow_status furrow_path_watch_begin(furrow_path_watch **watch, const char *path, furrow_error *err) {
  furrow_path_watch *made;
  FW_TRY(FW_ALLOC_ZERO(&made, 1, err));
  const furrow_status status = fw_strndup(&made->path, path, strlen(path), err);
  if (status != FURROW_OK) {
    fw_free(made);
    return status;
  }
  hold_file(made);
  *watch = made;
  return FURROW_OK;
}

/* The time of a directory changes with every file that is written into it, also with files that belong to nothing. */
static bool is_same(const struct stat *a, const struct stat *b) {
  if (a->st_dev != b->st_dev || a->st_ino != b->st_ino || (a->st_mode & S_IFMT) != (b->st_mode & S_IFMT)) return false;
  return S_ISDIR(a->st_mode) || (a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
                                 a->st_mtim.tv_nsec == b->st_mtim.tv_nsec);
}

furrow_status furrow_path_watch_end(furrow_path_watch *watch, furrow_status status, furrow_error *err) {
  struct stat after;
  const bool there = look(watch, &after);
  if (status != FURROW_E_MEMORY && (there != watch->there || (there && !is_same(&watch->before, &after)))) {
    status = fw_fail(err, FURROW_E_STATE, "was replaced while it was read");
    fw_error_set_file(err, watch->path);
    fw_error_set_hint(err, "run it again: another program has written it meanwhile");
  }
  if (watch->fd >= 0) close(watch->fd);
  fw_free(watch->path);
  fw_free(watch);
  return status;
}
