/* io/process/permissions.c: copies owners, modes and access control lists to files that replace others. */
#include "io/process/permissions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LIST_BYTES = 8192 }; /* a longer list is not copied, and the group loses its access */

/* The mode without the permissions that the group has but others do not have. */
static mode_t close_group(mode_t mode) {
  return (mode & ~(mode_t)(S_ISGID | 070)) | (mode & (mode << 3) & 070);
}

/* Copies one access control list, or removes the one that the new file got from its directory. Returns false if the new
 * file lacks the list of the old one. The path through /proc leads to the file without opening it. */
static bool copy_list(int fd, const char *path, const char *list) {
  char entries[LIST_BYTES];
  const ssize_t size = getxattr(path, list, entries, sizeof entries);
  if (size < 0 && errno != ENODATA) return errno != ERANGE;
  if (size > 0) return fsetxattr(fd, list, entries, (size_t)size, 0) == 0;
  (void)!fremovexattr(fd, list);
  return true;
}

static bool copy_lists(int fd, int directory, const char *name, bool is_directory) {
  char path[4096];
  const int length = directory == AT_FDCWD || name[0] == '/'
                         ? snprintf(path, sizeof path, "%s", name)
                         : snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, name);
  if (length < 0 || (size_t)length >= sizeof path) return false;
  const bool whole = copy_list(fd, path, "system.posix_acl_access");
  return is_directory ? copy_list(fd, path, "system.posix_acl_default") && whole : whole;
}

/* A user's file must not become root's, so the owner is kept, or at least the group. Returns the mode for the owner and
 * group that the file has then. */
static mode_t copy_owner(int fd, const struct stat *old) {
  struct stat now;
  mode_t mode = old->st_mode & 07777;
  if (fchown(fd, old->st_uid, old->st_gid) != 0) (void)!fchown(fd, (uid_t)-1, old->st_gid);
  if (fstat(fd, &now) != 0) return 0600;
  if (now.st_uid != old->st_uid) mode &= ~(mode_t)S_ISUID;
  return now.st_gid == old->st_gid ? mode : close_group(mode);
}

int fw_permissions_copy(int fd, int directory, const char *name) {
  struct stat old;
  if (fstatat(directory, name, &old, 0) != 0) return errno == ENOENT ? 0 : errno;
  mode_t mode = copy_owner(fd, &old);
  if (!copy_lists(fd, directory, name, S_ISDIR(old.st_mode))) mode = close_group(mode);
  return fchmod(fd, mode) == 0 ? 0 : errno;
}

int fw_permissions_set(int fd, const struct stat *like) {
  const mode_t mode = copy_owner(fd, like);
  return fchmod(fd, mode) == 0 ? 0 : errno;
}
