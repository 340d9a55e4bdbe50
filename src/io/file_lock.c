/* io/file_lock.c: locks that let one process at a time change a file or a directory.
 *
 * Files are replaced by rename, so the lock is on the old file. A process that opened the old file as well finds
 * another one at the path once it has the lock, and starts again with that one. If this process holds a lock on the
 * path, the lock moves to the new file, which is locked before it gets its name: there is no moment without a lock. */
#include "io/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_system.h"
#include "io/process/process_stop.h"

/* How many times to wait for PAUSE_MS: few for reading a file, more for a rename, most for a set of files that belong
 * together. */
enum { PAUSE_MS = 10, LOOK_PAUSES = 20, RENAME_PAUSES = 100, SET_PAUSES = 3000 };

struct furrow_file_lock {
  int fd;
  pid_t owner;
  uint64_t device, inode;
  furrow_file_lock *next;
};

/* The locks of this process and of the process that it was forked from. */
static pthread_mutex_t own_mutex = PTHREAD_MUTEX_INITIALIZER;
static furrow_file_lock *own_locks;

/* ---- Who has a lock -------------------------------------------------------------------------------------- */

/* Finds the process that holds a lock on the file, in the kernel's list of locks; 0 if unknown. */
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

/* Finds the name of its command, if it is known and short. */
static void find_command(long pid, char command[64]) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
  FILE *file = fopen(path, "re");
  const size_t size = file ? fread(command, 1, 63, file) : 0;
  command[size] = 0;
  for (size_t i = 0; i + 1 < size; i++)
    if (!command[i]) command[i] = ' ';
  if (file) fclose(file);
}

static furrow_status fail_locked(const char *path, const struct stat *file, furrow_error *err) {
  const long owner = find_owner(file);
  char command[64] = "";
  if (owner > 0) find_command(owner, command);
  if (owner > 0)
    fw_fail(err, FURROW_E_STATE, "process %ld is changing it", owner);
  else
    fw_fail(err, FURROW_E_STATE, "another process is changing it");
  fw_error_set_file(err, path);
  fw_error_set_hint(err, "run the command again when the other one%s%s%s has ended", command[0] ? " (" : "", command,
                    command[0] ? ")" : "");
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

/* ---- Locking --------------------------------------------------------------------------------------------- */

/* Call it under the mutex. NULL: this process has not locked the file. */
static furrow_file_lock *find_own(uint64_t device, uint64_t inode) {
  furrow_file_lock *lock = own_locks;
  while (lock && (lock->owner != getpid() || lock->device != device || lock->inode != inode)) lock = lock->next;
  return lock;
}

bool fw_file_lock_is_own(const struct stat *file) {
  pthread_mutex_lock(&own_mutex);
  const bool own = find_own(file->st_dev, file->st_ino) != NULL;
  pthread_mutex_unlock(&own_mutex);
  return own;
}

typedef enum lock_result { LOCKED, NO_LOCKS, TAKEN } lock_result;

/* Succeeds on file systems without locks: files are then changed without one. */
static lock_result try_lock(int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return LOCKED;
  return errno == EWOULDBLOCK ? TAKEN : NO_LOCKS;
}

static lock_result wait_for_lock(int fd, unsigned pauses) {
  const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
  lock_result result = try_lock(fd);
  for (; result == TAKEN && pauses > 0 && !fw_is_stopped(); pauses--) {
    nanosleep(&pause, NULL);
    result = try_lock(fd);
  }
  return result;
}

/* ---- Locks of callers ------------------------------------------------------------------------------------ */

/* Whether the path still leads to the open file. */
static bool is_current(const char *path, const struct stat *open_file) {
  struct stat now;
  return stat(path, &now) == 0 && now.st_ino == open_file->st_ino && now.st_dev == open_file->st_dev;
}

/* Opens for writing if possible, because some file systems lock only files that are open for writing. */
static int open_to_lock(const char *path) {
  const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return fd >= 0 ? fd : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* *current: whether the locked file is still the one at the path. */
static furrow_status lock_once(int *fd, struct stat *file, bool *current, const char *path, furrow_error *err) {
  *fd = open_to_lock(path);
  if (*fd < 0) return fail_system(path, "cannot be opened", err);
  if (fstat(*fd, file) != 0) return fail_system(path, "cannot be locked", err);
  if (!S_ISREG(file->st_mode) && !S_ISDIR(file->st_mode)) {
    fw_fail(err, FURROW_E_ARGUMENT, "not a regular file");
    fw_error_set_file(err, path);
    return FURROW_E_ARGUMENT;
  }
  const unsigned pauses = S_ISDIR(file->st_mode) ? RENAME_PAUSES : LOOK_PAUSES;
  if (wait_for_lock(*fd, pauses) == TAKEN) return fail_locked(path, file, err);
  *current = is_current(path, file);
  return FURROW_OK;
}

static void keep_lock(furrow_file_lock *lock, int fd, const struct stat *file) {
  pthread_mutex_lock(&own_mutex);
  *lock =
      (furrow_file_lock){.fd = fd, .owner = getpid(), .device = file->st_dev, .inode = file->st_ino, .next = own_locks};
  own_locks = lock;
  pthread_mutex_unlock(&own_mutex);
}

furrow_status furrow_file_lock_open(furrow_file_lock **lock, const char *path, furrow_error *err) {
  furrow_file_lock *made;
  struct stat file;
  int fd = -1;
  bool current = false;
  FW_TRY(fw_path_to_local(&path, "files of servers cannot be locked, so they are not changed in place", err));
  FW_TRY(FW_ALLOC(&made, 1, err));
  furrow_status status = FURROW_OK;
  while (status == FURROW_OK && !current) {
    if (fd >= 0) close(fd);
    status = lock_once(&fd, &file, &current, path, err);
  }
  if (status == FURROW_OK) {
    *lock = made;
    keep_lock(*lock, fd, &file);
    return FURROW_OK;
  }
  if (fd >= 0) close(fd);
  fw_free(made);
  return status;
}

void furrow_file_lock_close(furrow_file_lock *lock) {
  if (!lock) return;
  pthread_mutex_lock(&own_mutex);
  furrow_file_lock **at = &own_locks;
  while (*at != lock) at = &(*at)->next;
  *at = lock->next;
  pthread_mutex_unlock(&own_mutex);
  close(lock->fd);
  fw_free(lock);
}

/* ---- The file that is replaced --------------------------------------------------------------------------- */

static bool is_there(const fw_target *target, const struct stat *open_file) {
  struct stat now;
  return fstatat(target->directory, target->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == open_file->st_ino &&
         now.st_dev == open_file->st_dev;
}

/* A file that cannot be read cannot be locked; it is replaced all the same. */
static furrow_status open_old(int *fd, const fw_target *target, furrow_error *err) {
  *fd = openat(target->directory, target->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (*fd >= 0 || errno == ENOENT || errno == EACCES || errno == EPERM || errno == ELOOP) return FURROW_OK;
  return fw_target_fail_errno(target, err, errno, "cannot examine the existing file or directory");
}

furrow_status fw_replacing_begin(fw_replacing *old, const fw_target *target, furrow_error *err) {
  for (;;) {
    struct stat file;
    int fd = -1;
    *old = (fw_replacing){.fd = -1};
    FW_TRY(open_old(&fd, target, err));
    if (fd < 0) return FURROW_OK;
    old->fd = fd;
    if (fstat(fd, &file) != 0) return FURROW_OK;
    old->is_own = fw_file_lock_is_own(&file);
    old->device = file.st_dev;
    old->inode = file.st_ino;
    if (!old->is_own && wait_for_lock(fd, RENAME_PAUSES) == TAKEN) {
      close(fd);
      return fail_locked(target->path, &file, err);
    }
    if (is_there(target, &file)) return FURROW_OK;
    close(fd);
  }
}

/* Moves a lock to the new file; it keeps its place in the list. */
static void move_lock(const fw_replacing *old, int fd) {
  struct stat file;
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return; /* the lock stays on the old file, as it would if another program replaced the file */
  pthread_mutex_lock(&own_mutex);
  furrow_file_lock *lock = find_own(old->device, old->inode);
  int unused = copy;
  if (lock && fstat(copy, &file) == 0) {
    unused = lock->fd;
    lock->fd = copy;
    lock->device = file.st_dev;
    lock->inode = file.st_ino;
  }
  pthread_mutex_unlock(&own_mutex);
  close(unused);
}

void fw_replacing_end(fw_replacing *old, int fd) {
  if (old->is_own && fd >= 0) move_lock(old, fd);
  if (old->fd >= 0 && !old->is_own)
    flock(old->fd, LOCK_UN); /* a process that was forked in the meantime has the lock, too */
  if (old->fd >= 0) close(old->fd);
  old->fd = -1;
}

furrow_status fw_target_check_free(const fw_target *target, furrow_error *err) {
  fw_replacing old;
  FW_TRY(fw_replacing_begin(&old, target, err));
  fw_replacing_end(&old, -1);
  return FURROW_OK;
}

/* ---- Files that belong together -------------------------------------------------------------------------- */

furrow_status fw_target_lock(const fw_target *target, furrow_error *err) {
  struct stat folder;
  if (target->store) return FURROW_OK; /* a server has no locks */
  if (fstat(target->directory, &folder) != 0 || fw_file_lock_is_own(&folder)) return FURROW_OK;
  if (wait_for_lock(target->directory, SET_PAUSES) != TAKEN) return FURROW_OK;
  return fail_locked(target->path, &folder, err);
}

void fw_target_unlock(const fw_target *target) {
  if (target->directory >= 0) flock(target->directory, LOCK_UN);
}
