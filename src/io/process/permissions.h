/* io/process/permissions.h: who may read a file that replaces another, or that belongs to another. */
#ifndef FW_IO_PERMISSIONS_H
#define FW_IO_PERMISSIONS_H

#include <sys/stat.h>

/* Gives an open new file or directory the permissions of an existing one: its owner and group as far as this process
 * is allowed to, its mode and its access control lists. Nobody may read the new one who may not read the existing one,
 * except its new owner: if the group cannot be kept, the new group gets what all others have. A link is followed. A
 * missing file is not a failure: nothing changes. Returns 0 or an errno. */
int fw_permissions_copy(int fd, int directory, const char *name);

/* Gives an open new file the owner, the group and the mode in `like`, as far as this process is allowed to. Returns 0
 * or an errno. */
int fw_permissions_set(int fd, const struct stat *like);

#endif
