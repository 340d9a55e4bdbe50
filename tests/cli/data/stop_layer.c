/* Stands between the command and the C library (LD_PRELOAD): raises a signal at the first call of STOP_CALL, which is
 * fsync (or fdatasync), unlinkat or renameat2, and then makes the call. STOP_SEEN: a file that appears when the layer
 * is loaded.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((constructor)) static void tell(void) {
  const char *seen = getenv("STOP_SEEN");
  if (seen) close(open(seen, O_CREAT | O_WRONLY, 0600));
}

static void stop_at(const char *call) {
  const char *wanted = getenv("STOP_CALL");
  if (!wanted || strcmp(wanted, call) != 0) return;
  unsetenv("STOP_CALL");
  raise(atoi(getenv("STOP_SIGNAL")));
}

int fsync(int fd) {
  stop_at("fsync");
  return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  stop_at("fsync");
  return (int)syscall(SYS_fdatasync, fd);
}

int unlinkat(int fd, const char *path, int flags) {
  stop_at("unlinkat");
  return (int)syscall(SYS_unlinkat, fd, path, flags);
}

int renameat2(int from, const char *old, int to, const char *name, unsigned flags) {
  stop_at("renameat2");
  return (int)syscall(SYS_renameat2, from, old, to, name, flags);
}
