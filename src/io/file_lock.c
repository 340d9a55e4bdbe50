/* io/file_lock.c: one process at a time changes a file.
 *
 * A file is replaced by rename, so the lock is on the file that was there before. A process that opened that file as
 * well finds another one at the path once it has the lock, and begins again with it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"

struct furrow_file_lock {
  int fd;
};

/* The process that has a lock on the file, as the kernel lists it; 0: unknown. */
static long find_owner(const struct stat *file) {
  char line[256], place[64];
  long owner = 0, pid;
  snprintf(place, sizeof place, "%02x:%02x:%llu ", major(file->st_dev), minor(file->st_dev),
           (unsigned long long)file->st_ino);
  FILE *locks = fopen("/proc/locks", "re");
  while (locks && owner == 0 && fgets(line, sizeof line, locks))
    if (strstr(line, place) && sscanf(line, "%*d: FLOCK ADVISORY WRITE %ld", &pid) == 1) owner = pid;
  if (locks) fclose(locks);
  return owner;
}

static furrow_status fail_locked(const char *path, const struct stat *file, furrow_error *err) {
  const long owner = find_owner(file);
  if (owner > 0)
    fw_fail(err, FURROW_E_STATE, "process %ld is changing it", owner);
  else
    fw_fail(err, FURROW_E_STATE, "another process is changing it");
  fw_error_set_file(err, path);
  fw_error_set_hint(err, "run the command again when the other one has ended");
  return FURROW_E_STATE;
}

static furrow_status fail_system(const char *path, const char *what, furrow_error *err) {
  const bool missing = errno == ENOENT || errno == ENOTDIR;
  const furrow_status status = missing ? FURROW_E_NOT_FOUND : FURROW_E_IO;
  if (missing)
    fw_fail(err, status, "no such file or directory");
  else
    fw_fail(err, status, "%s: %s", what, strerror(errno));
  fw_error_set_file(err, path);
  return status;
}

/* Whether the path still leads to the open file. */
static bool is_current(const char *path, const struct stat *open_file) {
  struct stat now;
  return stat(path, &now) == 0 && now.st_ino == open_file->st_ino && now.st_dev == open_file->st_dev;
}

/* *current: whether the file that is locked is the one at the path. */
static furrow_status lock_once(int *fd, bool *current, const char *path, furrow_error *err) {
  struct stat file;
  *fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (*fd < 0) return fail_system(path, "cannot be opened", err);
  if (fstat(*fd, &file) != 0) return fail_system(path, "cannot be locked", err);
  if (!S_ISREG(file.st_mode)) {
    fw_fail(err, FURROW_E_ARGUMENT, "not a regular file");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? fail_locked(path, &file, err) : fail_system(path, "cannot be locked", err);
  *current = is_current(path, &file);
  return FURROW_OK;
}

furrow_status furrow_file_lock_open(furrow_file_lock **lock, const char *path, furrow_error *err) {
  void *memory = NULL;
  int fd = -1;
  bool current = false;
  FW_TRY(fw_path_to_write(&path, err));
  FW_TRY(fw_alloc(&memory, 1, sizeof **lock, err));
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && !current) {
    if (fd >= 0) close(fd);
    status = lock_once(&fd, &current, path, err);
  }
  if (status == FURROW_OK) {
    *lock = memory;
    (*lock)->fd = fd;
    return FURROW_OK;
  }
  if (fd >= 0) close(fd);
  fw_free(memory);
  return status;
}

void furrow_file_lock_close(furrow_file_lock *lock) {
  if (!lock) return;
  close(lock->fd);
  fw_free(lock);
}
