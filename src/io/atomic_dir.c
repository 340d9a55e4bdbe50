/* io/atomic_dir.c: a directory that is filled under a temporary name in the same parent, synced, then renamed or
 * exchanged. */
#include "io/atomic_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "io/file_lock.h"
#include "io/process/permissions.h"
#include "io/remote_target.h"
#include "io/target.h"
#include "io/temporary.h"

#define MAX_DEPTH 100

struct fw_atomic_dir {
  fw_target target;
  int fd;   /* the temporary directory, locked; -1: not open */
  int note; /* from fw_temporary_note; -1: none */
  bool has_temporary, committed;
  fw_dir_check may_replace;
};

/* ---- trees ---- */

/* Calls visit for each entry of the directory. Returns 0, or the errno of the first failure. */
typedef int (*entry_visitor)(int fd, const char *name, const struct stat *info, void *user, int depth);

static int visit_entries(int fd, entry_visitor visit, void *user, int depth) {
  if (depth > MAX_DEPTH) return ELOOP;
  int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), errnum = 0;
  if (copy < 0) return errno;
  DIR *handle = fdopendir(copy);
  if (!handle) {
    errnum = errno;
    close(copy);
    return errnum;
  }
  while (errnum == 0) {
    struct stat info;
    errno = 0;
    struct dirent *entry = readdir(handle);
    if (!entry) {
      errnum = errno;
      break;
    }
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    errnum = fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? visit(fd, entry->d_name, &info, user, depth)
                                                                         : errno;
  }
  closedir(handle);
  return errnum;
}

static int open_folder(int parent, const char *name) {
  return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int visit_folder(int parent, const char *name, entry_visitor visit, void *user, int depth) {
  int fd = open_folder(parent, name);
  if (fd < 0) return errno;
  int errnum = visit_entries(fd, visit, user, depth + 1);
  close(fd);
  return errnum;
}

/* EINVAL means that the file system does not sync directories. */
static int sync_fd(int fd) {
  struct stat info;
  if (fsync(fd) == 0) return 0;
  int errnum = errno;
  return errnum == EINVAL && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? 0 : errnum;
}

/* ---- permissions ---- */

/* The old directory, and the bits that the modes of all files, and of all directories, in it have in common. */
typedef struct old_tree {
  struct stat top;
  mode_t files, directories;
  bool refused; /* the new directory could not get these permissions */
} old_tree;

/* Removes the permissions that an old entry does not have. A link to a file counts as the file. A directory that this
 * process may not read allows nothing. */
static int note_modes(int parent, const char *name, const struct stat *info, void *user, int depth) {
  old_tree *old = user;
  struct stat file = *info;
  if (S_ISLNK(info->st_mode) && (fstatat(parent, name, &file, 0) != 0 || !S_ISREG(file.st_mode))) return 0;
  if (S_ISREG(file.st_mode)) old->files &= file.st_mode;
  if (!S_ISDIR(info->st_mode)) return 0;
  old->directories &= info->st_mode;
  const int errnum = visit_folder(parent, name, note_modes, user, depth);
  if (errnum == EACCES) old->files = old->directories = 0;
  return errnum == EACCES ? 0 : errnum;
}

/* The old directory that has the same path as the new directory that is walked through. */
typedef struct old_dir {
  old_tree *tree;
  int fd; /* -1: there is none */
} old_dir;

/* Opens the old directory `name`, if `parent` (-1: none) has one that this process may read. Returns 0 or an errno. */
static int open_old(old_dir *old, int parent, const char *name) {
  if (parent >= 0) old->fd = open_folder(parent, name);
  if (parent < 0 || old->fd >= 0) return 0;
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EACCES ? 0 : errno;
}

/* Gives a new entry the permissions of the old one, if that is of the same kind. An entry that the old directory does
 * not have is readable by those who may read everything in the old one. */
static int permit_entry(int fd, const char *name, const struct stat *info, const old_dir *old) {
  const bool is_folder = S_ISDIR(info->st_mode);
  struct stat like = old->tree->top;
  int errnum;
  if (old->fd >= 0 && fstatat(old->fd, name, &like, is_folder ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
      (like.st_mode & S_IFMT) == (info->st_mode & S_IFMT)) {
    errnum = fw_permissions_copy(fd, old->fd, name);
  } else {
    like = old->tree->top;
    like.st_mode = info->st_mode & (is_folder ? old->tree->directories | 0700 : old->tree->files | 0600);
    errnum = fw_permissions_set(fd, &like);
  }
  old->tree->refused |= errnum != 0;
  return errnum;
}

/* ---- syncing ---- */

static int sync_tree(int fd, const old_dir *old, int depth);

/* `user`: an old_dir; NULL: nothing is replaced. */
static int sync_entry(int parent, const char *name, const struct stat *info, void *user, int depth) {
  const old_dir *old = user;
  const bool is_folder = S_ISDIR(info->st_mode);
  if (!S_ISREG(info->st_mode) && !is_folder) return 0;
  int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  int errnum = old ? permit_entry(fd, name, info, old) : 0;
  if (errnum == 0 && is_folder) {
    old_dir inner = {.tree = old ? old->tree : NULL, .fd = -1};
    if (old) errnum = open_old(&inner, old->fd, name);
    if (errnum == 0) errnum = sync_tree(fd, old ? &inner : NULL, depth + 1);
    if (inner.fd >= 0) close(inner.fd);
  } else if (errnum == 0) {
    errnum = sync_fd(fd);
  }
  if (close(fd) != 0 && errnum == 0 && errno != EINTR) errnum = errno;
  return errnum;
}

/* Syncs the contents of the directory first, then the directory itself. */
static int sync_tree(int fd, const old_dir *old, int depth) {
  int errnum = visit_entries(fd, sync_entry, (void *)old, depth);
  return errnum ? errnum : sync_fd(fd);
}

static int fail_entry(int fd, const char *name, const struct stat *info, void *user, int depth) {
  (void)fd, (void)name, (void)info, (void)user, (void)depth;
  return ENOTEMPTY;
}

/* ---- the old directory ---- */

static furrow_status fail_exists(const fw_atomic_dir *dir, furrow_error *err, const struct stat *info) {
  const char *what = S_ISDIR(info->st_mode) ? "there is a directory of that name already"
                                            : "a file of that name exists already, and it is not a directory";
  furrow_status status = fw_target_fail(&dir->target, err, FURROW_E_EXISTS, what);
  if (!S_ISDIR(info->st_mode)) fw_error_set_hint(err, "only a directory is replaced: move it away");
  return status;
}

/* Returns <directory of the target>/<name>, for checks that need a path. */
static furrow_status path_of_entry(const fw_atomic_dir *dir, const char *name, char **path, furrow_error *err) {
  size_t kept = (size_t)(dir->target.name - dir->target.resolved), length = strlen(name);
  FW_TRY(FW_ALLOC(path, kept + length + 1, err));
  memcpy(*path, dir->target.resolved, kept);
  memcpy(*path + kept, name, length + 1);
  return FURROW_OK;
}

/* Calls the caller's check for the entry `name`, next to the target. The path must lead to the entry that the directory
 * handle sees, even when the working directory has changed. */
static furrow_status ask_to_replace(const fw_atomic_dir *dir, const char *name, const struct stat *info,
                                    furrow_error *err) {
  struct stat seen;
  char *path;
  if (visit_folder(dir->target.directory, name, fail_entry, NULL, 0) == 0) return FURROW_OK; /* empty */
  furrow_status status = path_of_entry(dir, name, &path, err);
  if (status != FURROW_OK) return status;
  if (lstat(path, &seen) != 0 || seen.st_dev != info->st_dev || seen.st_ino != info->st_ino)
    status = fw_target_fail(&dir->target, err, FURROW_E_STATE, "the directory to replace has moved");
  if (status == FURROW_OK) status = dir->may_replace(path, err);
  fw_free(path);
  return status;
}

static furrow_status note_name(void *user, const char *name, furrow_error *err) {
  (void)name, (void)err;
  *(bool *)user = true;
  return FURROW_OK;
}

/* The same for a directory of a server. */
static furrow_status check_there(const fw_atomic_dir *dir, bool *there, furrow_error *err) {
  const fw_target *t = &dir->target;
  const furrow_file_system *calls = fw_file_system_calls(t->system);
  bool is_folder, has_names = false;
  furrow_error error;
  FW_TRY(fw_target_look(t, there, &is_folder, err));
  if (!*there) return FURROW_OK;
  if (!dir->may_replace || !is_folder) return fail_exists(dir, err, &(struct stat){.st_mode = is_folder ? S_IFDIR : 0});
  fw_callback_begin(&error, "list the directory");
  const furrow_status status = calls->list(calls->user, t->rest, note_name, &has_names, &error);
  if (status != FURROW_OK) return fw_callback_failed(status, &error, t->path, err);
  return has_names ? dir->may_replace(t->path, err) : FURROW_OK;
}

/* Checks that the entry under the target's name, if there is one, may be replaced. */
static furrow_status check_target(const fw_atomic_dir *dir, bool *there, struct stat *info, furrow_error *err) {
  *there = false;
  if (dir->target.store) return check_there(dir, there, err);
  if (fstatat(dir->target.directory, dir->target.name, info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT
               ? FURROW_OK
               : fw_target_fail_errno(&dir->target, err, errno, "cannot examine the existing file or directory");
  if (!dir->may_replace || !S_ISDIR(info->st_mode)) return fail_exists(dir, err, info);
  *there = true;
  return ask_to_replace(dir, dir->target.name, info, err);
}

/* ---- open ---- */

static void forget_temporary(fw_atomic_dir *dir) {
  dir->has_temporary = false;
  fw_temporary_forget(dir->note);
  dir->note = -1;
}

static furrow_status create_temporary(fw_atomic_dir *dir, bool replaces, furrow_error *err) {
  const int parent = dir->target.directory;
  const char *name = dir->target.temporary;
  bool made = false;
  fw_temporary_sweep(parent);
  for (unsigned attempt = 0; attempt < 100 && !dir->has_temporary; attempt++) {
    fw_target_pick_name(&dir->target, attempt);
    if (dir->fd >= 0) close(dir->fd); /* from the previous attempt, which another process removed */
    dir->fd = -1;
    fw_temporary_forget(dir->note);
    dir->note = fw_temporary_announce(parent, name);
    made = mkdirat(parent, name, replaces ? 0700 : 0777) == 0; /* 0700: closed to others until commit */
    if (!made && errno != EEXIST && errno != EINTR) break;
    if (made) dir->fd = open_folder(parent, name);
    dir->has_temporary = dir->fd >= 0 && fw_temporary_claim(parent, name, dir->fd);
    if (made && dir->fd < 0 && errno != ENOENT) break;
  }
  if (dir->has_temporary) {
    fw_temporary_made(dir->note);
    return FURROW_OK;
  }
  const int errnum = errno;
  forget_temporary(dir);
  if (made) unlinkat(parent, name, AT_REMOVEDIR);
  return fw_target_fail_errno(&dir->target, err, errnum,
                              made ? "cannot open a directory next to it" : "cannot make a directory next to it");
}

static furrow_status find_target(fw_atomic_dir *dir, const char *path, furrow_error *err) {
  char *trimmed;
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  furrow_status status = fw_strndup(&trimmed, path, length, err);
  if (status != FURROW_OK) return status;
  status = fw_target_find(&dir->target, trimmed, err);
  fw_free(trimmed);
  if (status != FURROW_OK) return status;
  if (strcmp(dir->target.name, ".") == 0 || strcmp(dir->target.name, "..") == 0)
    return fw_target_fail(&dir->target, err, FURROW_E_ARGUMENT, "not the name of a directory");
  return FURROW_OK;
}

static furrow_status start_dir(fw_atomic_dir *dir, const char *path, furrow_error *err) {
  bool there;
  struct stat old;
  FW_TRY(find_target(dir, path, err));
  furrow_status status = check_target(dir, &there, &old, err);
  const bool here = !dir->target.store;
  if (status == FURROW_OK && there && here) status = fw_target_check_free(&dir->target, err);
  if (status == FURROW_OK && !here) status = fw_target_check(&dir->target, "_", err);
  if (status == FURROW_OK) status = create_temporary(dir, there || !here, err);
  return status;
}

/* Opens a temporary directory that another process has made. */
static furrow_status open_temporary(fw_atomic_dir *dir, const char *path, const char *temporary, furrow_error *err) {
  FW_TRY(find_target(dir, path, err));
  snprintf(dir->target.temporary, sizeof dir->target.temporary, "%s", temporary);
  dir->fd = open_folder(dir->target.directory, temporary);
  if (dir->fd >= 0) return FURROW_OK;
  furrow_status status =
      fw_target_fail_errno(&dir->target, err, errno, "cannot open the directory that another process made next to it");
  if (status == FURROW_E_NOT_FOUND) fw_error_set_hint(err, "all processes must see the same file system");
  return status;
}

static furrow_status open_either(fw_atomic_dir **dir, const char *path, const char *temporary, fw_dir_check may_replace,
                                 furrow_error *err) {
  fw_atomic_dir *opened;
  furrow_status status = FW_ALLOC_ZERO(&opened, 1, err);
  if (status != FURROW_OK) return status;
  opened->target.directory = opened->fd = opened->note = -1;
  opened->may_replace = may_replace;
  status = temporary ? open_temporary(opened, path, temporary, err) : start_dir(opened, path, err);
  return FW_HAND_OVER(status, dir, opened, fw_atomic_dir_close);
}

furrow_status fw_atomic_dir_open(fw_atomic_dir **dir, const char *path, fw_dir_check may_replace, furrow_error *err) {
  return open_either(dir, path, NULL, may_replace, err);
}

furrow_status fw_atomic_dir_join(fw_atomic_dir **dir, const char *path, const char *temporary, furrow_error *err) {
  return open_either(dir, path, temporary, NULL, err);
}

const char *fw_atomic_dir_temporary(const fw_atomic_dir *dir) {
  return dir->target.temporary;
}

int fw_atomic_dir_fd(const fw_atomic_dir *dir) {
  return dir->fd;
}

const char *fw_atomic_dir_path(const fw_atomic_dir *dir) {
  return dir->target.path;
}

static furrow_status open_made(int *fd, int parent, const char *name, const char *path, bool make, furrow_error *err) {
  const int opened = make && mkdirat(parent, name, 0777) != 0 ? -1 : open_folder(parent, name);
  if (opened >= 0) {
    *fd = opened;
    return FURROW_OK;
  }
  furrow_status status = errno == EEXIST ? FURROW_E_EXISTS : FURROW_E_IO;
  fw_fail_errno(err, status, errno, make ? "cannot make a directory" : "cannot open a directory");
  fw_error_set_file(err, path);
  return status;
}

furrow_status fw_dir_make(int *fd, int parent, const char *name, const char *path, furrow_error *err) {
  return open_made(fd, parent, name, path, true, err);
}

furrow_status fw_dir_enter(int *fd, int parent, const char *name, const char *path, furrow_error *err) {
  return open_made(fd, parent, name, path, false, err);
}

int fw_dir_sync_file(int parent, const char *name) {
  struct stat info;
  return fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? sync_entry(parent, name, &info, NULL, 0) : errno;
}

void fw_dir_remove(int parent, const char *name) {
  (void)fw_tree_remove(parent, name);
}

/* ---- commit ---- */

/* Brings the new directory to the disk, with the permissions of the old one, if there is one. */
static furrow_status sync_new(const fw_atomic_dir *dir, furrow_error *err) {
  const fw_target *t = &dir->target;
  old_tree tree = {.files = 0777, .directories = 0777};
  old_dir old = {.tree = &tree, .fd = -1};
  const bool replaces = fstatat(t->directory, t->name, &tree.top, AT_SYMLINK_NOFOLLOW) == 0;
  int errnum = replaces || errno == ENOENT ? 0 : errno;
  if (replaces) errnum = note_modes(t->directory, t->name, &tree.top, &tree, 0);
  if (replaces && errnum == 0) errnum = open_old(&old, t->directory, t->name);
  if (replaces && errnum == 0) errnum = permit_entry(dir->fd, t->name, &tree.top, &(old_dir){&tree, t->directory});
  if (errnum == 0) errnum = sync_tree(dir->fd, replaces ? &old : NULL, 0);
  if (old.fd >= 0) close(old.fd);
  if (errnum == 0) return FURROW_OK;
  return fw_target_fail_errno(t, err, errnum,
                              tree.refused ? "cannot give it the permissions of the old directory"
                                           : "cannot sync the directory to disk");
}

/* Renames the new directory to a free name. Without RENAME_NOREPLACE, a file system still refuses to replace a file
 * or a directory that is not empty. */
static int rename_new(const fw_atomic_dir *dir) {
  const fw_target *t = &dir->target;
  struct stat info;
  if (renameat2(t->directory, t->temporary, t->directory, t->name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (fstatat(t->directory, t->name, &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(t->directory, t->temporary, t->directory, t->name) == 0 ? 0 : errno;
}

static furrow_status place_new(fw_atomic_dir *dir, furrow_error *err) {
  int errnum = rename_new(dir);
  if (errnum == 0) {
    forget_temporary(dir);
    return FURROW_OK;
  }
  if (errnum == EEXIST || errnum == ENOTEMPTY)
    return fw_target_fail(&dir->target, err, FURROW_E_EXISTS, "there is something of that name already");
  return fw_target_fail_errno(&dir->target, err, errnum, "cannot put the new directory in place");
}

static int exchange(const fw_atomic_dir *dir) {
  const fw_target *t = &dir->target;
  return renameat2(t->directory, t->temporary, t->directory, t->name, RENAME_EXCHANGE) == 0 ? 0 : errno;
}

/* Exchanges the two directories, so that the old one has the temporary name. It is checked once more, because
 * another directory may have taken its place since the first check; in that case the exchange is undone. Until then,
 * a signal that ends the process leaves both directories. */
static furrow_status place_exchanged(fw_atomic_dir *dir, const struct stat *old, furrow_error *err) {
  struct stat info;
  fw_temporary_forget(dir->note);
  dir->note = -1;
  int errnum = exchange(dir);
  if (errnum == EINVAL || errnum == ENOSYS || errnum == EOPNOTSUPP)
    return fw_target_fail(&dir->target, err, FURROW_E_UNSUPPORTED,
                          "this file system cannot exchange two directories in one step: save under a new name");
  if (errnum != 0) return fw_target_fail_errno(&dir->target, err, errnum, "cannot put the new directory in place");
  if (fstatat(dir->target.directory, dir->target.temporary, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      info.st_dev == old->st_dev && info.st_ino == old->st_ino) {
    dir->note = fw_temporary_note(dir->target.directory, dir->target.temporary);
    return FURROW_OK;
  }
  errnum = exchange(dir);
  dir->has_temporary = errnum == 0; /* otherwise the directory under the temporary name is not ours to remove */
  return fw_target_fail(&dir->target, err, FURROW_E_STATE,
                        "the directory was replaced by another while this was written");
}

/* Puts the directory in the place of the old one, if there is one. No other process may be changing the old one. */
static furrow_status put_in_place(fw_atomic_dir *dir, furrow_error *err) {
  fw_replacing replacing;
  struct stat old;
  bool there;
  FW_TRY(fw_replacing_begin(&replacing, &dir->target, err));
  furrow_status status = check_target(dir, &there, &old, err);
  if (status == FURROW_OK && there)
    status = place_exchanged(dir, &old, err);
  else if (status == FURROW_OK)
    status = place_new(dir, err);
  fw_replacing_end(&replacing, status == FURROW_OK ? dir->fd : -1);
  return status;
}

static furrow_status sync_directory(const fw_atomic_dir *dir, furrow_error *err) {
  int errnum = sync_fd(dir->target.directory);
  return errnum == 0 ? FURROW_OK
                     : fw_target_fail_errno(&dir->target, err, errnum,
                                            "written, but the directory around it cannot be synced to disk");
}

/* Sends the directory to its server. */
static furrow_status send_new(fw_atomic_dir *dir, furrow_error *err) {
  bool there;
  FW_TRY(check_there(dir, &there, err));
  FW_TRY(fw_target_send_tree(&dir->target, dir->fd, there, err));
  dir->committed = true;
  (void)fw_tree_remove(dir->target.directory, dir->target.temporary);
  forget_temporary(dir);
  return FURROW_OK;
}

furrow_status fw_atomic_dir_commit(fw_atomic_dir *dir, furrow_error *err) {
  if (dir->committed) return fw_target_fail(&dir->target, err, FURROW_E_STATE, "the directory is complete already");
  if (dir->target.store) return send_new(dir, err);
  FW_TRY(sync_new(dir, err));
  FW_TRY(put_in_place(dir, err));
  dir->committed = true;
  furrow_status status = sync_directory(dir, err);
  if (!dir->has_temporary || status != FURROW_OK) return status;
  const int errnum = fw_tree_remove(dir->target.directory, dir->target.temporary);
  forget_temporary(dir);
  return errnum == 0 ? FURROW_OK
                     : fw_target_fail_errno(&dir->target, err, errnum,
                                            "written, but the old directory, now hidden next to it, cannot be removed");
}

void fw_atomic_dir_close(fw_atomic_dir *dir) {
  if (!dir) return;
  if (dir->has_temporary && !dir->committed) (void)fw_tree_remove(dir->target.directory, dir->target.temporary);
  forget_temporary(dir);
  if (dir->fd >= 0) close(dir->fd); /* closed last, because it holds the lock */
  fw_target_clear(&dir->target);
  fw_free(dir);
}
