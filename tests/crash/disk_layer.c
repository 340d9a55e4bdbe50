/* crash/disk_layer.c: stands between a program and the file system (LD_PRELOAD). It records every call that changes
 * files below one folder, and can kill the program at a call or let calls fail.
 *
 *   DISK_ROOT   the folder, an absolute path without links; calls elsewhere pass untouched
 *   DISK_TRACE  file to append the record of the calls to
 *   DISK_PLAN   kill:N:before|middle|after       SIGKILL at the N-th call; middle: half of a write is made
 *               fail:N:ERRNO:KINDS:once|sticky   the N-th call of these kinds fails; sticky: so do all later ones
 *   KINDS       letters: c create, w write, s sync, r rename and link, u unlink
 *
 * A record is a `head`, two paths and data; disk_model.py reads it. One lock is held around each call and its record,
 * so that the trace has the order in which the calls were made, also for several processes that share a trace. Answers
 * of a server (an HTTP status line on a socket) are recorded before they are sent: what a client knows is in the trace.
 *
 * Bytes that the C library writes itself for a FILE are not seen. They are read from the file at fflush, fclose and
 * fsync and recorded as one write then. Whatever is missed altogether shows in the end: the trace must give the tree
 * that is there. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))
#define REAL(name) ((__typeof__(&name))real_function(#name))

typedef struct head {
  uint32_t
      operation;  /* C create, M mkdir, W write, T truncate, S sync, R rename, L link, U unlink, X rmdir, A answer */
  uint32_t flags; /* of a rename */
  uint64_t inode;
  uint64_t offset;
  uint32_t path_bytes, second_bytes;
  uint64_t data_bytes;
} head;

typedef enum moment { PROCEED, HALF, FAIL } moment;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_length;
static int trace = -1;
static struct {
  bool kills, sticky;
  char when;
  long number, seen;
  int errnum;
  const char *kinds;
} plan;

static void *real_function(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

/* ---- The plan ---- */

/* kill:N:when or fail:N:ERRNO:KINDS:how; the text stays, parts are found by their place. */
static void read_plan(char *text) {
  char *parts[5] = {"", "", "", "", ""}, *rest = text;
  for (int i = 0; i < 5 && rest; i++) parts[i] = strsep(&rest, ":");
  plan.number = atol(parts[1]);
  plan.kills = strcmp(parts[0], "kill") == 0;
  plan.when = plan.kills ? parts[2][0] : 0;
  plan.errnum = atoi(parts[2]);
  plan.kinds = plan.kills ? "cwsru" : parts[3];
  plan.sticky = strcmp(parts[4], "sticky") == 0;
}

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("DISK_TRACE"), *text = getenv("DISK_PLAN");
  root = getenv("DISK_ROOT");
  root_length = root ? strlen(root) : 0;
  if (path) trace = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (path && trace < 0) abort();
  if (text) read_plan(strdup(text));
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/* What becomes of the next call of a kind. */
static moment next_call(char kind) {
  if (!plan.number || !strchr(plan.kinds, kind)) return PROCEED;
  plan.seen++;
  if (plan.kills && plan.seen == plan.number && plan.when == 'b') die();
  if (plan.kills) return plan.seen == plan.number && plan.when == 'm' ? HALF : PROCEED;
  if (plan.seen != plan.number && !(plan.sticky && plan.seen > plan.number)) return PROCEED;
  errno = plan.errnum;
  return FAIL;
}

/* After the call and its record. */
static void finish_call(void) {
  if (plan.kills && plan.seen == plan.number) die();
}

/* ---- Paths ---- */

static bool is_inside(const char *path) {
  return root && strncmp(path, root, root_length) == 0 && (path[root_length] == '/' || !path[root_length]);
}

static bool find_fd(int fd, char path[PATH_MAX]) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const ssize_t n = root ? readlink(name, path, PATH_MAX - 1) : -1;
  if (n >= 0) path[n] = 0;
  return n >= 0 && is_inside(path);
}

/* The absolute path of an entry, links in its folder followed, and whether it is below the root. */
static bool find_path(int folder, const char *name, char path[PATH_MAX]) {
  char joined[2 * PATH_MAX], parent[PATH_MAX];
  if (!root) return false;
  if (name[0] == '/') {
    snprintf(joined, sizeof joined, "%s", name);
  } else if (folder == AT_FDCWD) {
    if (!getcwd(parent, sizeof parent)) return false;
    snprintf(joined, sizeof joined, "%s/%s", parent, name);
  } else {
    if (!find_fd(folder, parent)) return false;
    snprintf(joined, sizeof joined, "%s/%s", parent, name);
  }
  size_t length = strlen(joined);
  while (length > 1 && joined[length - 1] == '/') joined[--length] = 0;
  char *slash = strrchr(joined, '/');
  *slash = 0;
  if (!realpath(joined[0] ? joined : "/", parent)) return false;
  return snprintf(path, PATH_MAX, "%s/%s", parent, slash + 1) < PATH_MAX && is_inside(path);
}

static uint64_t inode_of(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/* ---- The record ---- */

static void record(head h, const char *path, const char *second, const void *data) {
  h.path_bytes = path ? (uint32_t)strlen(path) : 0;
  h.second_bytes = second ? (uint32_t)strlen(second) : 0;
  struct iovec parts[] = {
      {&h, sizeof h}, {(void *)path, h.path_bytes}, {(void *)second, h.second_bytes}, {(void *)data, h.data_bytes}};
  if (trace < 0) return;
  const size_t all = sizeof h + h.path_bytes + h.second_bytes + h.data_bytes;
  if (REAL(writev)(trace, parts, 4) != (ssize_t)all) abort();
}

static void enter(void) {
  pthread_mutex_lock(&lock);
  if (trace >= 0) flock(trace, LOCK_EX);
}

/* Ends a call: `made` says whether it changed something inside the root. */
static void leave(bool made) {
  const int errnum = errno;
  if (made) finish_call();
  if (trace >= 0) flock(trace, LOCK_UN);
  pthread_mutex_unlock(&lock);
  errno = errnum;
}

/* ---- Files ---- */

/* Opens by `folder` and records what that changed: a new file, or an old one that is empty now. */
static int open_file(int folder, const char *name, int flags, mode_t mode) {
  char path[PATH_MAX];
  const bool changes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE;
  if (!changes || !find_path(folder, name, path)) return REAL(openat)(folder, name, flags, mode);
  enter();
  const bool there = faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  const bool nameless = (flags & O_TMPFILE) == O_TMPFILE, creates = nameless || !there;
  const moment now = creates ? next_call('c') : PROCEED;
  const int fd = now == FAIL ? -1 : REAL(openat)(folder, name, flags, mode);
  if (fd >= 0 && creates)
    record((head){.operation = 'C', .inode = inode_of(fd)}, nameless ? "" : path, NULL, NULL);
  else if (fd >= 0 && (flags & O_TRUNC))
    record((head){.operation = 'T', .inode = inode_of(fd)}, NULL, NULL, NULL);
  leave(fd >= 0 && creates);
  return fd;
}

static mode_t mode_argument(int flags, va_list arguments) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

VISIBLE int open(const char *name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_file(AT_FDCWD, name, flags, mode);
}

VISIBLE int openat(int folder, const char *name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_argument(flags, arguments);
  va_end(arguments);
  return open_file(folder, name, flags, mode);
}

VISIBLE int mkostemp(char *pattern, int flags) {
  char path[PATH_MAX];
  enter();
  const bool inside = find_path(AT_FDCWD, pattern, path);
  const moment now = inside ? next_call('c') : PROCEED;
  const int fd = now == FAIL ? -1 : REAL(mkostemp)(pattern, flags);
  if (fd >= 0 && find_path(AT_FDCWD, pattern, path))
    record((head){.operation = 'C', .inode = inode_of(fd)}, path, NULL, NULL);
  leave(inside && fd >= 0);
  return fd;
}

static void record_write(int fd, uint64_t offset, const void *data, ssize_t size) {
  record((head){.operation = 'W', .inode = inode_of(fd), .offset = offset, .data_bytes = (uint64_t)size}, NULL, NULL,
         data);
}

static size_t bytes_to_write(moment now, size_t size) {
  return now == HALF && size > 1 ? size / 2 : size;
}

/* Whether a write is an answer of a server. */
static void note_answer(int fd, const void *data, size_t size) {
  struct stat info;
  if (size < 12 || memcmp(data, "HTTP/1.", 7) != 0 || fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  enter();
  record((head){.operation = 'A', .data_bytes = 12}, NULL, NULL, data);
  leave(false);
}

VISIBLE ssize_t write(int fd, const void *data, size_t size) {
  char path[PATH_MAX];
  note_answer(fd, data, size);
  if (!find_fd(fd, path)) return REAL(write)(fd, data, size);
  enter();
  const moment now = next_call('w');
  const ssize_t n = now == FAIL ? -1 : REAL(write)(fd, data, bytes_to_write(now, size));
  if (n > 0) record_write(fd, (uint64_t)(lseek(fd, 0, SEEK_CUR) - n), data, n);
  leave(n >= 0);
  return n;
}

VISIBLE ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  char path[PATH_MAX];
  if (!find_fd(fd, path)) return REAL(pwrite)(fd, data, size, offset);
  enter();
  const moment now = next_call('w');
  const ssize_t n = now == FAIL ? -1 : REAL(pwrite)(fd, data, bytes_to_write(now, size), offset);
  if (n > 0) record_write(fd, (uint64_t)offset, data, n);
  leave(n >= 0);
  return n;
}

VISIBLE ssize_t writev(int fd, const struct iovec *parts, int count) {
  char path[PATH_MAX];
  if (count > 0) note_answer(fd, parts[0].iov_base, parts[0].iov_len);
  if (!find_fd(fd, path)) return REAL(writev)(fd, parts, count);
  return count > 0 ? write(fd, parts[0].iov_base, parts[0].iov_len) : 0; /* a short write, which POSIX allows */
}

VISIBLE ssize_t send(int fd, const void *data, size_t size, int flags) {
  note_answer(fd, data, size);
  return REAL(send)(fd, data, size, flags);
}

VISIBLE ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  if (message->msg_iovlen > 0) note_answer(fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
  return REAL(sendmsg)(fd, message, flags);
}

/* Copies of the kernel are made by hand, so that their bytes are recorded: the program has to know how anyway. */
VISIBLE ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
  char path[PATH_MAX];
  if (!find_fd(out, path)) return REAL(copy_file_range)(in, from, out, to, size, flags);
  errno = ENOSYS;
  return -1;
}

VISIBLE int ftruncate(int fd, off_t size) {
  char path[PATH_MAX];
  if (!find_fd(fd, path)) return REAL(ftruncate)(fd, size);
  enter();
  const int result = next_call('w') == FAIL ? -1 : REAL(ftruncate)(fd, size);
  if (result == 0) record((head){.operation = 'T', .inode = inode_of(fd), .offset = (uint64_t)size}, NULL, NULL, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int fallocate(int fd, int mode, off_t offset, off_t size) {
  char path[PATH_MAX];
  if (!find_fd(fd, path)) return REAL(fallocate)(fd, mode, offset, size);
  errno = EOPNOTSUPP; /* no program may rely on it */
  return -1;
}

/* ---- Streams of the C library ---- */

/* Everything that is in the file now, as one write. */
static void record_content(int fd) {
  char name[64], *data = NULL;
  struct stat info;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  const int copy = REAL(open)(name, O_RDONLY | O_CLOEXEC);
  if (copy < 0 || fstat(copy, &info) != 0 || !(data = malloc((size_t)info.st_size + 1))) abort();
  const ssize_t n = pread(copy, data, (size_t)info.st_size, 0);
  if (n > 0) record_write(fd, 0, data, n);
  close(copy);
  free(data);
}

static bool is_written(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/* What a FILE is going to write, through the calls above. */
VISIBLE FILE *fopen(const char *name, const char *mode) {
  char path[PATH_MAX];
  if (mode[0] == 'r' || !find_path(AT_FDCWD, name, path)) return REAL(fopen)(name, mode);
  const int flags = (mode[0] == 'a' ? O_APPEND : O_TRUNC) | (strchr(mode, '+') ? O_RDWR : O_WRONLY) |
                    (strchr(mode, 'x') ? O_EXCL : 0) | (strchr(mode, 'e') ? O_CLOEXEC : 0);
  const int fd = open_file(AT_FDCWD, name, flags | O_CREAT, 0666);
  if (fd < 0) return NULL;
  FILE *file = fdopen(fd, mode);
  if (!file) close(fd);
  return file;
}

VISIBLE int fflush(FILE *file) {
  char path[PATH_MAX];
  if (!file || !find_fd(fileno(file), path) || !is_written(fileno(file))) return REAL(fflush)(file);
  enter();
  const moment now = next_call('w');
  const int result = now == FAIL ? EOF : REAL(fflush)(file);
  if (result == 0) record_content(fileno(file));
  leave(result == 0);
  return result;
}

VISIBLE int fclose(FILE *file) {
  const int fd = fileno(file);
  char path[PATH_MAX];
  const bool failed = fd >= 0 && find_fd(fd, path) && is_written(fd) && fflush(file) != 0;
  const int errnum = errno, result = REAL(fclose)(file);
  if (failed) errno = errnum;
  return failed ? EOF : result;
}

/* ---- The disk ---- */

static int sync_file(int fd, int (*call)(int)) {
  char path[PATH_MAX];
  if (!find_fd(fd, path)) return call(fd);
  enter();
  const int result = next_call('s') == FAIL ? -1 : call(fd);
  if (result == 0) record((head){.operation = 'S', .inode = inode_of(fd)}, NULL, NULL, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int fsync(int fd) {
  return sync_file(fd, REAL(fsync));
}

VISIBLE int fdatasync(int fd) {
  return sync_file(fd, REAL(fdatasync));
}

/* ---- Names ---- */

VISIBLE int mkdirat(int folder, const char *name, mode_t mode) {
  char path[PATH_MAX];
  struct stat info = {0};
  if (!find_path(folder, name, path)) return REAL(mkdirat)(folder, name, mode);
  enter();
  const int result = next_call('c') == FAIL ? -1 : REAL(mkdirat)(folder, name, mode);
  if (result == 0 && fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0)
    record((head){.operation = 'M', .inode = info.st_ino}, path, NULL, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int mkdir(const char *name, mode_t mode) {
  return mkdirat(AT_FDCWD, name, mode);
}

VISIBLE int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags) {
  char old_path[PATH_MAX], new_path[PATH_MAX];
  if (!find_path(from, old_name, old_path) || !find_path(to, new_name, new_path))
    return REAL(renameat2)(from, old_name, to, new_name, flags);
  enter();
  const int result = next_call('r') == FAIL ? -1 : REAL(renameat2)(from, old_name, to, new_name, flags);
  if (result == 0) record((head){.operation = 'R', .flags = flags}, old_path, new_path, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int renameat(int from, const char *old_name, int to, const char *new_name) {
  return renameat2(from, old_name, to, new_name, 0);
}

VISIBLE int rename(const char *old_name, const char *new_name) {
  return renameat2(AT_FDCWD, old_name, AT_FDCWD, new_name, 0);
}

VISIBLE int linkat(int from, const char *old_name, int to, const char *new_name, int flags) {
  char old_path[PATH_MAX], new_path[PATH_MAX];
  if (!find_path(from, old_name, old_path) || !find_path(to, new_name, new_path))
    return REAL(linkat)(from, old_name, to, new_name, flags);
  enter();
  const int result = next_call('r') == FAIL ? -1 : REAL(linkat)(from, old_name, to, new_name, flags);
  if (result == 0) record((head){.operation = 'L'}, old_path, new_path, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int link(const char *old_name, const char *new_name) {
  return linkat(AT_FDCWD, old_name, AT_FDCWD, new_name, 0);
}

VISIBLE int unlinkat(int folder, const char *name, int flags) {
  char path[PATH_MAX];
  if (!find_path(folder, name, path)) return REAL(unlinkat)(folder, name, flags);
  enter();
  const int result = next_call('u') == FAIL ? -1 : REAL(unlinkat)(folder, name, flags);
  if (result == 0) record((head){.operation = flags & AT_REMOVEDIR ? 'X' : 'U'}, path, NULL, NULL);
  leave(result == 0);
  return result;
}

VISIBLE int unlink(const char *name) {
  return unlinkat(AT_FDCWD, name, 0);
}

VISIBLE int rmdir(const char *name) {
  return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

VISIBLE int remove(const char *name) {
  if (unlinkat(AT_FDCWD, name, 0) == 0) return 0;
  return errno == EISDIR || errno == EPERM ? rmdir(name) : -1;
}
