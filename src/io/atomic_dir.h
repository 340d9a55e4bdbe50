/* io/atomic_dir.h: a directory that appears complete or not at all. */
#ifndef FW_IO_ATOMIC_DIR_H
#define FW_IO_ATOMIC_DIR_H

#include <stdbool.h>

#include "furrow/status.h"

typedef struct fw_atomic_dir fw_atomic_dir;

/* Whether the directory `path` may be replaced, that is removed with all that is in it; the error says why not. An
 * empty directory is never asked about. */
typedef furrow_status (*fw_dir_check)(const char *path, furrow_error *err);

/* Starts a directory that will be `path`: made beside it under a temporary name (.<name>.furrow-XXXXXX). Links are
 * followed: a link stays, and the directory that it leads to is made or replaced. may_replace NULL: what exists is kept
 * (E_EXISTS). Otherwise a directory that it agrees to is replaced; its owner and permissions are kept. What is not a
 * directory is never replaced (E_EXISTS). E_STATE, here and from commit: another process has locked the old one. */
furrow_status fw_atomic_dir_open(fw_atomic_dir **dir, const char *path, fw_dir_check may_replace,
                                 furrow_error *err) FURROW_MUST_USE;
/* The directory `temporary` (fw_atomic_dir_temporary), which another process has started for the same path: to be
 * filled by several of them. It is the other's to commit or to remove. E_NOT_FOUND: it is not there. */
furrow_status fw_atomic_dir_join(fw_atomic_dir **dir, const char *path, const char *temporary,
                                 furrow_error *err) FURROW_MUST_USE;
/* Its temporary name, at most 255 bytes. */
const char *fw_atomic_dir_temporary(const fw_atomic_dir *dir);
/* The temporary directory, for openat and mkdirat. It stays the dir's own. */
int fw_atomic_dir_fd(const fw_atomic_dir *dir);
/* The path that was given, without slashes at its end. */
const char *fw_atomic_dir_path(const fw_atomic_dir *dir);
/* Makes a directory in the one open as `parent` and opens it. `path` is for errors. */
furrow_status fw_dir_make(int *fd, int parent, const char *name, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Opens one that is there. */
furrow_status fw_dir_enter(int *fd, int parent, const char *name, const char *path, furrow_error *err) FURROW_MUST_USE;
/* Syncs a file of the directory open as `parent`; 0, or an errno. */
int fw_dir_sync_file(int parent, const char *name) FURROW_MUST_USE;
/* Removes the directory `name` with all that is in it, as far as that goes. Links are removed, not followed. */
void fw_dir_remove(int parent, const char *name);
/* Syncs every file and directory in it, gives it its name in one step, then removes the old one. A kill leaves the old
 * or the new one under the name, and perhaps the other under a temporary one. E_UNSUPPORTED: the file system cannot
 * exchange two directories, so there would be a moment without either. */
furrow_status fw_atomic_dir_commit(fw_atomic_dir *dir, furrow_error *err) FURROW_MUST_USE;
/* Frees; removes what was not committed. Takes NULL. */
void fw_atomic_dir_close(fw_atomic_dir *dir);

#endif
