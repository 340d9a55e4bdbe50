/* tests/unit/io/call_rules.h: system calls that fail, do nothing or are overtaken, each as a test says.
 *
 * For one file of a test program: it takes the place of the C library's functions. */
#ifndef CALL_RULES_H
#define CALL_RULES_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka_all.h"
#include "support/own_dir.h"

enum { CALL_RULES = 4, FOR_EVER = 1 << 20 };

/* What happens at a call: the first that apply of errnum, before, elsewhere; else it returns 0 and does nothing. */
typedef struct call_rule {
  const char *call;     /* its name here: see below */
  int nth, times;       /* from the n-th on, so often; 0: the first, once */
  int errnum;           /* it fails */
  void (*before)(void); /* something else happens first */
  bool elsewhere;       /* the file that it finds appears to be on another device or file system */
} call_rule;

static struct {
  call_rule rule;
  atomic_int calls, hits;
} call_rules[CALL_RULES];
static atomic_bool call_rules_rest; /* while `before` is at work */

static inline void add_rule(call_rule rule) {
  int i = 0;
  while (i < CALL_RULES && call_rules[i].rule.call) i++;
  assert_true(i < CALL_RULES);
  if (rule.nth == 0) rule.nth = 1;
  if (rule.times == 0) rule.times = 1;
  call_rules[i].rule = rule;
}

static inline void fail_call(const char *call, int nth, int errnum) {
  add_rule((call_rule){.call = call, .nth = nth, .errnum = errnum});
}

static inline void drop_rules(void) {
  memset(call_rules, 0, sizeof call_rules);
}

/* Every rule was needed. */
static inline void end_rules(void) {
  for (int i = 0; i < CALL_RULES; i++)
    if (call_rules[i].rule.call && atomic_load(&call_rules[i].hits) == 0)
      fail_msg("%s was called %d times", call_rules[i].rule.call, atomic_load(&call_rules[i].calls));
  drop_rules();
}

static inline const call_rule *rule_now(const char *call) {
  const int kept = errno;
  for (int i = 0; i < CALL_RULES && !atomic_load(&call_rules_rest); i++) {
    const call_rule *rule = &call_rules[i].rule;
    if (!rule->call || strcmp(rule->call, call) != 0) continue;
    const int number = atomic_fetch_add(&call_rules[i].calls, 1) + 1;
    if (number < rule->nth || number - rule->nth >= rule->times) continue;
    atomic_fetch_add(&call_rules[i].hits, 1);
    errno = rule->errnum ? rule->errnum : kept;
    if (!rule->before) return rule;
    atomic_store(&call_rules_rest, true);
    rule->before();
    atomic_store(&call_rules_rest, false);
  }
  errno = kept;
  return NULL;
}

#define REAL(name) ((__typeof__(&name))real_call(#name))

static inline void *real_call(const char *name) {
  const int before = errno;
  void *found = dlsym(RTLD_NEXT, name);
  errno = before;
  return found;
}

#define BY_RULE(name, real)               \
  const call_rule *rule = rule_now(name); \
  if (rule) return rule->errnum ? -1 : 0; \
  return real

/* ---- The calls ------------------------------------------------------------------------------------------ */

int open(const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  BY_RULE("open", REAL(open)(path, flags, mode));
}

int openat(int folder, const char *path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const int mode = flags & O_CREAT ? va_arg(args, int) : 0;
  va_end(args);
  BY_RULE(flags & O_CREAT ? "create" : "openat", REAL(openat)(folder, path, flags, mode));
}

ssize_t read(int fd, void *buffer, size_t size) {
  BY_RULE("read", REAL(read)(fd, buffer, size));
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset) {
  BY_RULE("pread", REAL(pread)(fd, buffer, size, offset));
}

ssize_t write(int fd, const void *data, size_t size) {
  BY_RULE("write", REAL(write)(fd, data, size));
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
  BY_RULE("pwrite", REAL(pwrite)(fd, data, size, offset));
}

ssize_t copy_file_range(int from, off_t *in, int to, off_t *out, size_t size, unsigned flags) {
  BY_RULE("copy_file_range", REAL(copy_file_range)(from, in, to, out, size, flags));
}

/* A close that fails has closed all the same. */
int close(int fd) {
  const call_rule *rule = rule_now("close");
  const int errnum = errno, result = REAL(close)(fd);
  if (rule) errno = errnum;
  return rule ? -1 : result;
}

/* Nothing gets to the disk, which takes its time. */
int fsync(int fd) {
  struct stat info;
  const bool folder = REAL(fstat)(fd, &info) == 0 && S_ISDIR(info.st_mode);
  BY_RULE(folder ? "fsync of a directory" : "fsync", 0);
}

int fcntl(int fd, int command, ...) {
  va_list args;
  va_start(args, command);
  void *argument = va_arg(args, void *);
  va_end(args);
  BY_RULE(command == F_DUPFD_CLOEXEC ? "dup" : "fcntl", REAL(fcntl)(fd, command, argument));
}

int flock(int fd, int operation) {
  BY_RULE("flock", REAL(flock)(fd, operation));
}

#define BY_STAT_RULE(name, info, real)           \
  const call_rule *rule = rule_now(name);        \
  if (rule && rule->errnum) return -1;           \
  const int result = real;                       \
  if (rule && rule->elsewhere) (info)->st_dev++; \
  return result

int stat(const char *path, struct stat *info) {
  BY_STAT_RULE("stat", info, REAL(stat)(path, info));
}

int lstat(const char *path, struct stat *info) {
  BY_STAT_RULE("lstat", info, REAL(lstat)(path, info));
}

int fstat(int fd, struct stat *info) {
  BY_STAT_RULE("fstat", info, REAL(fstat)(fd, info));
}

int fstatat(int folder, const char *path, struct stat *info, int flags) {
  BY_STAT_RULE("fstatat", info, REAL(fstatat)(folder, path, info, flags));
}

int fstatfs(int fd, struct statfs *info) {
  const call_rule *rule = rule_now("fstatfs");
  if (rule && rule->errnum) return -1;
  const int result = REAL(fstatfs)(fd, info);
  if (rule && rule->elsewhere) info->f_type = 0x6969; /* NFS */
  return result;
}

int faccessat(int folder, const char *path, int mode, int flags) {
  BY_RULE("faccessat", REAL(faccessat)(folder, path, mode, flags));
}

int fchmod(int fd, mode_t mode) {
  BY_RULE("fchmod", REAL(fchmod)(fd, mode));
}

int fchown(int fd, uid_t user, gid_t group) {
  BY_RULE("fchown", REAL(fchown)(fd, user, group));
}

int mkdirat(int folder, const char *name, mode_t mode) {
  BY_RULE("mkdirat", REAL(mkdirat)(folder, name, mode));
}

int unlinkat(int folder, const char *name, int flags) {
  BY_RULE(flags & AT_REMOVEDIR ? "rmdir" : "unlinkat", REAL(unlinkat)(folder, name, flags));
}

int linkat(int from, const char *old, int to, const char *new, int flags) {
  BY_RULE("linkat", REAL(linkat)(from, old, to, new, flags));
}

int renameat(int from, const char *old, int to, const char *new) {
  BY_RULE("renameat", REAL(renameat)(from, old, to, new));
}

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  BY_RULE("renameat2", REAL(renameat2)(from, old, to, new, flags));
}

/* Without an errnum, all of the buffer is filled. */
ssize_t readlink(const char *path, char *target, size_t size) {
  const call_rule *rule = rule_now("readlink");
  if (!rule) return REAL(readlink)(path, target, size);
  if (rule->errnum) return -1;
  memset(target, 'x', size);
  return (ssize_t)size;
}

int pipe2(int ends[2], int flags) {
  BY_RULE("pipe2", REAL(pipe2)(ends, flags));
}

int poll(struct pollfd *wanted, nfds_t count, int timeout) {
  BY_RULE("poll", REAL(poll)(wanted, count, timeout));
}

DIR *fdopendir(int fd) {
  return rule_now("fdopendir") ? NULL : REAL(fdopendir)(fd);
}

FILE *fopen(const char *path, const char *mode) {
  return rule_now("fopen") ? NULL : REAL(fopen)(path, mode);
}

ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
  BY_RULE("getrandom", REAL(getrandom)(buffer, size, flags));
}

/* Nobody waits. */
static atomic_long slept_ms;

int nanosleep(const struct timespec *time, struct timespec *left) {
  (void)left;
  atomic_fetch_add(&slept_ms, time->tv_sec * 1000 + time->tv_nsec / 1000000);
  BY_RULE("nanosleep", 0);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static int descriptors_before;

static inline int open_descriptors(void) {
  int n = 0;
  for (int fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static int enter_with_rules(void **state) {
  drop_rules();
  descriptors_before = open_descriptors();
  return enter_dir(state);
}

/* No test leaves a descriptor open. */
static int leave_with_rules(void **state) {
  drop_rules();
  return leave_dir(state) == 0 && open_descriptors() == descriptors_before ? 0 : -1;
}

#define WITH_RULES(test) cmocka_unit_test_setup_teardown(test, enter_with_rules, leave_with_rules)

static inline bool has_text(const char *path, const char *text) {
  char found[64] = "";
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  const size_t size = fread(found, 1, sizeof found - 1, file);
  fclose(file);
  return size == strlen(text) && memcmp(found, text, size) == 0;
}

#endif
