/* io/atomic_dir.h: a directory that appears either complete or not at all. */
#ifndef FW_IO_ATOMIC_DIR_H
#define FW_IO_ATOMIC_DIR_H

#include <stdbool.h>

#include "furrow/status.h"

typedef struct fw_atomic_dir fw_atomic_dir;

/* Decides whether the directory `path` may be replaced, that is removed with all its contents. A failure says why
 * not. It is not called for an empty directory. */
typedef furrow_status (*fw_dir_check)(const char *path, furrow_error *err);

/* Starts a directory that will become `path`. It is made in the same parent under a temporary name
 * (.<name>.furrow-XXXXXX). Links are followed: a link stays, and the directory that it leads to is made or replaced.
 * may_replace NULL: an existing directory is kept (E_EXISTS). Otherwise the old directory is replaced if may_replace
 * agrees. The owner and permissions of the old directory are kept, and so are those of the files and directories in it
 * that have the same path in the new one; the others are readable only by those who may read all of the old ones. Until
 * commit, the new directory is closed to other users. Only directories are ever replaced (otherwise E_EXISTS). E_STATE,
 * here and from commit: another process has locked the old directory. */
furrow_status fw_atomic_dir_open(fw_atomic_dir **dir, const char *path, fw_dir_check may_replace,
                                 furrow_error *err) FURROW_MUST_USE;
/* Opens the directory `temporary` (fw_atomic_dir_temporary), which another process has started for the same path, so
 * that several processes can fill it. Only the process that started it commits or removes it. E_NOT_FOUND: it does
 * not exist. */
furrow_status fw_atomic_dir_join(fw_atomic_dir **dir, const char *path, const char *temporary,
                                 furrow_error *err) FURROW_MUST_USE;
/* The temporary name, at most 255 bytes. */
const char *fw_atomic_dir_temporary(const fw_atomic_dir *dir);
/* The descriptor of the temporary directory, for openat and mkdirat. The caller must not close it. */
int fw_atomic_dir_fd(const fw_atomic_dir *dir);
/* The path that was given, without slashes at its end. */
const char *fw_atomic_dir_path(const fw_atomic_dir *dir);
/* Makes a directory in the one open as `parent` and opens it. `path` is for errors. */
furrow_status fw_dir_make(int *fd, int parent, const char *name, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Opens an existing directory. */
furrow_status fw_dir_enter(int *fd, int parent, const char *name, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Syncs a file in the directory open as `parent`. Returns 0, or an errno. */
int fw_dir_sync_file(int parent, const char *name) FURROW_MUST_USE;
/* Removes the directory `name` with all its contents, as far as possible. Links are removed, not followed. */
void fw_dir_remove(int parent, const char *name);
/* Syncs every file and directory in it, gives it its name in one step, then removes the old directory. After a kill,
 * the old or the new directory has the name, and the other one may remain under a temporary name. E_UNSUPPORTED: the
 * file system cannot exchange two directories, so for a moment there would be neither. */
furrow_status fw_atomic_dir_commit(fw_atomic_dir *dir, furrow_error *err) FURROW_MUST_USE;
/* Frees, and removes the directory if it was not committed. Accepts NULL. */
void fw_atomic_dir_close(fw_atomic_dir *dir);

#endif
