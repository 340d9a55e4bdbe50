/* io/temporary.c: temporary files that are locked while their process lives, and removed when it is gone. */
#include "io/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "furrow/io.h"
#include "io/file_lock.h"
#include "io/target.h"

#define MAX_DEPTH 100

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the name still leads to the open file. */
static bool is_current(int directory, const char *name, int fd) {
  struct stat named, opened;
  return fstat(fd, &opened) == 0 && fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         is_same(&named, &opened);
}

/* Whether the name of a file that this process has just made was removed, or belongs to another process now. */
static bool is_taken(int directory, const char *name, int fd) {
  struct stat named, opened;
  if (fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT;
  return fstat(fd, &opened) == 0 && !is_same(&named, &opened);
}

bool fw_temporary_claim(int directory, const char *name, int fd) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK; /* otherwise the file system has no locks */
  return !is_taken(directory, name, fd);
}

static furrow_status fail_nameless(const char *folder, furrow_error *err) {
  fw_fail_errno(err, FURROW_E_IO, errno, "cannot create a temporary file");
  fw_error_set_file(err, folder);
  return FURROW_E_IO;
}

/* Not every file system has O_TMPFILE: without it, a file is created and its name removed at once. If the process is
 * killed in between, the next process removes the file. */
furrow_status fw_temporary_nameless(int *fd, const char *folder, furrow_error *err) {
  char name[4096];
  int made = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (made < 0) {
    if (snprintf(name, sizeof name, "%s/.temporary.furrow-XXXXXX", folder) >= (int)sizeof name)
      errno = ENAMETOOLONG;
    else
      made = mkostemp(name, O_CLOEXEC);
    if (made < 0) return fail_nameless(folder, err);
    unlink(name);
  }
  *fd = made;
  return FURROW_OK;
}

/* ---- Trees ---------------------------------------------------------------------------------------------- */

/* The kernel's own record: opendir allocates memory, which a signal handler must not do. */
typedef struct kernel_entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
} kernel_entry;

static int remove_at(int parent, const char *name, int depth);

static int remove_entries(int fd, int depth) {
  _Alignas(8) char buffer[1024];
  long size;
  int errnum = 0;
  while (errnum == 0 && (size = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0)
    for (long at = 0; errnum == 0 && at < size;) {
      const kernel_entry *entry = (const kernel_entry *)(const void *)(buffer + at);
      at += entry->length;
      if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0) errnum = remove_at(fd, entry->name, depth);
    }
  return errnum;
}

static int remove_at(int parent, const char *name, int depth) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR) return errno;
  if (depth > MAX_DEPTH) return ELOOP;
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  int errnum = remove_entries(fd, depth + 1);
  close(fd);
  if (errnum == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) errnum = errno;
  return errnum;
}

int fw_tree_remove(int parent, const char *name) {
  return remove_at(parent, name, 0);
}

/* ---- Notes, for a process that has to end at once -------------------------------------------------------- */

/* A signal handler reads the notes while other threads write them. If all places are taken, the next process removes
 * the temporary file. */
enum { NOTES = 64, FREE = 0, BEING_WRITTEN, ANNOUNCED, NOTED };

static struct {
  atomic_int state;
  pid_t owner; /* not a child that was forked since then */
  pthread_t thread;
  int directory;
  char name[FW_TARGET_MAX_NAME + 1];
} notes[NOTES];

static atomic_int ending; /* the process whose temporaries are being removed */

static void pause_ms(long ms) {
  const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

static int write_note(int directory, const char *name, int state) {
  for (int i = 0; i < NOTES; i++) {
    int expected = FREE;
    if (!atomic_compare_exchange_strong(&notes[i].state, &expected, BEING_WRITTEN)) continue;
    notes[i].owner = getpid();
    notes[i].thread = pthread_self();
    notes[i].directory = directory;
    memcpy(notes[i].name, name, strlen(name) + 1);
    atomic_store(&notes[i].state, state);
    return i;
  }
  return -1;
}

int fw_temporary_note(int directory, const char *name) {
  return write_note(directory, name, NOTED);
}

int fw_temporary_announce(int directory, const char *name) {
  const int place = write_note(directory, name, ANNOUNCED);
  if (atomic_load(&ending) == getpid()) pause_ms(1000); /* wait for the process to end */
  return place;
}

void fw_temporary_made(int place) {
  if (place >= 0) atomic_store(&notes[place].state, NOTED);
}

void fw_temporary_forget(int place) {
  if (place >= 0) atomic_store(&notes[place].state, FREE);
}

/* Waits for another thread that is creating the file. */
static void wait_until_made(int place) {
  for (int tries = 0; tries < 100 && atomic_load(&notes[place].state) == ANNOUNCED; tries++) {
    if (pthread_equal(notes[place].thread, pthread_self())) return;
    pause_ms(1);
  }
}

static bool is_to_remove(int place) {
  return atomic_load(&notes[place].state) >= ANNOUNCED && notes[place].owner == getpid();
}

void furrow_process_clean_up(void) {
  const int before = errno;
  atomic_store(&ending, getpid());
  for (int i = 0; i < NOTES; i++) {
    if (is_to_remove(i)) wait_until_made(i);
    for (int tries = 0; tries < 100 && is_to_remove(i); tries++) /* other threads may still write into the directory */
      if (fw_tree_remove(notes[i].directory, notes[i].name) != ENOTEMPTY) break;
  }
  errno = before;
}

/* ---- Leftovers of killed processes ---------------------------------------------------------------------- */

/* File systems of a single machine, where a lock is visible to every process that can write. */
static bool has_local_locks(int directory) {
  static const uint32_t local[] = {
      0xef53 /* ext2-4 */,      0x58465342 /* xfs */,  0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
      0x794c7630 /* overlay */, 0xf2f52010 /* f2fs */, 0x2fc12fc1 /* zfs */,   0x858458f6 /* ramfs */};
  struct statfs info;
  if (fstatfs(directory, &info) != 0) return false;
  for (size_t i = 0; i < sizeof local / sizeof *local; i++)
    if ((uint32_t)info.f_type == local[i]) return true;
  return false;
}

/* Remembers the directories that were inspected last. */
static bool is_first_look(int directory) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct {
    dev_t device;
    ino_t inode;
  } seen[16];
  static unsigned next;
  static pid_t owner;
  struct stat info;
  if (fstat(directory, &info) != 0) return false;
  bool first = true;
  pthread_mutex_lock(&lock);
  if (owner != getpid()) memset(seen, 0, sizeof seen); /* this is a forked child */
  owner = getpid();
  for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
    if (seen[i].device == info.st_dev && seen[i].inode == info.st_ino) first = false;
  if (first) {
    seen[next].device = info.st_dev;
    seen[next].inode = info.st_ino;
    next = (next + 1) % (sizeof seen / sizeof *seen);
  }
  pthread_mutex_unlock(&lock);
  return first;
}

/* Whether no process is exchanging the directory that a temporary name was picked for: during an exchange the old
 * directory has the temporary name. The process that does so holds a lock on the new directory. */
static bool is_settled(int directory, const char *temporary) {
  char name[FW_TARGET_MAX_NAME + 1];
  if (!fw_target_of_temporary(name, temporary)) return false;
  const int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  struct stat info;
  const bool settled = flock(fd, LOCK_EX | LOCK_NB) == 0 || (fstat(fd, &info) == 0 && fw_file_lock_is_own(&info));
  close(fd);
  return settled;
}

static bool may_be_left(int directory, const char *name, bool *is_directory) {
  struct stat info;
  if (!fw_target_is_drawn(name) || fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  *is_directory = S_ISDIR(info.st_mode);
  return (S_ISREG(info.st_mode) || *is_directory) && info.st_uid == geteuid();
}

/* If two processes do this at the same time, one gets the lock, and the other one finds that the file was removed. */
static void remove_left(int directory, const char *name) {
  bool is_directory = false;
  if (!may_be_left(directory, name, &is_directory)) return;
  const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && (!is_directory || is_settled(directory, name)) &&
      is_current(directory, name, fd))
    (void)fw_tree_remove(directory, name);
  close(fd);
}

void fw_temporary_sweep(int directory) {
  if (!has_local_locks(directory) || !is_first_look(directory)) return;
  const int copy = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  DIR *handle = copy >= 0 ? fdopendir(copy) : NULL;
  if (!handle) {
    if (copy >= 0) close(copy);
    return;
  }
  rewinddir(handle);
  for (const struct dirent *entry; (entry = readdir(handle));) remove_left(directory, entry->d_name);
  closedir(handle);
}
