/* io/atomic_file.c: a file that is written under a temporary name in the same directory, synced, then renamed. The
 * directory is held open from the start, so the working directory may change in between. */
#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/params.h"
#include "io/file_lock.h"
#include "io/process/permissions.h"
#include "io/process/process_stop.h"
#include "io/remote_target.h"
#include "io/target.h"
#include "io/temporary.h"

#define BUFFER_SIZE ((size_t)1 << 20)

struct fw_atomic_file {
  fw_target target;
  const furrow_comm *comm; /* the communicator of ranks that write it together; NULL: one process */
  int fd;                  /* -1: none */
  int held;                /* a second descriptor of the same file, which keeps its lock when fd is closed; -1: none */
  int note;                /* from fw_temporary_note for the temporary file; -1: none */
  void *upload;            /* begun, of a file of a server; NULL: none */
  bool is_replacing;       /* whether `replacing` holds the old file */
  fw_replacing replacing;
  furrow_output output; /* write NULL: bytes go to fd */
  bool in_order;        /* standard output or a caller's output: written bytes cannot be changed */
  bool committed;
  bool replaces, has_temporary, keep_existing;
  bool is_new;                        /* first of several files: no old file has its name */
  char aside[FW_TARGET_MAX_NAME + 1]; /* temporary name of the old file while other files are replaced; "": only its own
                                         name */
  char *buffer;
  size_t filled;
  uint64_t flushed;   /* bytes that have left the buffer */
  furrow_error error; /* error of the write that failed; later calls report it again */
};

/* Fails before the work if the server would refuse the file after it. */
static furrow_status check_server(const fw_target *target, furrow_error *err) {
  bool there, is_folder;
  FW_TRY(fw_target_check(target, "", err));
  FW_TRY(fw_target_look(target, &there, &is_folder, err));
  return is_folder ? fw_target_fail(target, err, FURROW_E_ARGUMENT, "a directory, not a file to write") : FURROW_OK;
}

/* Replacing a file needs permission only on its directory. A file that is protected against writing is still not
 * replaced. */
static furrow_status check_target(fw_atomic_file *file, furrow_error *err) {
  struct stat old;
  if (file->target.store) return check_server(&file->target, err);
  if (fstatat(file->target.directory, file->target.name, &old, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? FURROW_OK
                           : fw_target_fail_errno(&file->target, err, errno, "cannot examine the existing file");
  if (!S_ISREG(old.st_mode))
    return fw_target_fail(&file->target, err, FURROW_E_ARGUMENT,
                          S_ISDIR(old.st_mode) ? "a directory, not a file to write" : "not a regular file");
  if (faccessat(file->target.directory, file->target.name, W_OK, AT_EACCESS) != 0)
    return fw_target_fail_errno(&file->target, err, errno, "cannot replace the existing file");
  file->replaces = true;
  return fw_target_check_free(&file->target, err); /* checked now, not only after all the work */
}

/* ---- the temporary file ---- */

/* Gives the temporary file the permissions of a file, if there is one: of the file that it will replace, or of the file
 * that it belongs to. */
static furrow_status copy_permissions(const fw_atomic_file *file, int directory, const char *name, furrow_error *err) {
  const int errnum = fw_permissions_copy(file->fd >= 0 ? file->fd : file->held, directory, name);
  if (errnum == 0) return FURROW_OK;
  return fw_target_fail_errno(&file->target, err, errnum, "cannot give it the permissions of the old file");
}

static furrow_status keep_permissions(const fw_atomic_file *file, furrow_error *err) {
  return copy_permissions(file, file->target.directory, file->target.name, err);
}

static void forget_temporary(fw_atomic_file *file) {
  file->has_temporary = false;
  fw_temporary_forget(file->note);
  file->note = -1;
}

static furrow_status create_temporary(fw_atomic_file *file, mode_t mode, furrow_error *err) {
  const int dir = file->target.directory;
  fw_temporary_sweep(dir);
  for (unsigned attempt = 0; attempt < 100 && !file->has_temporary; attempt++) {
    fw_target_pick_name(&file->target, attempt);
    if (file->fd >= 0) close(file->fd); /* from the previous attempt, which another process removed */
    fw_temporary_forget(file->note);
    file->note = fw_temporary_announce(dir, file->target.temporary);
    file->fd = openat(dir, file->target.temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file->fd < 0 && errno != EEXIST && errno != EINTR) break;
    file->has_temporary = file->fd >= 0 && fw_temporary_claim(dir, file->target.temporary, file->fd);
  }
  if (!file->has_temporary) {
    forget_temporary(file);
    return fw_target_fail_errno(&file->target, err, errno, "cannot create a file next to it");
  }
  fw_temporary_made(file->note);
  return FURROW_OK;
}

/* The umask decides about a new file. One that replaces another, or belongs to another, is closed to others until it
 * has the permissions of that file. */
static furrow_status create_permitted(fw_atomic_file *file, const char *first, furrow_error *err) {
  struct stat info;
  const char *like = file->replaces ? file->target.name : first && stat(first, &info) == 0 ? first : NULL;
  FW_TRY(create_temporary(file, like || file->target.store ? 0600 : 0666, err));
  return like ? copy_permissions(file, file->replaces ? file->target.directory : AT_FDCWD, like, err) : FURROW_OK;
}

static void remove_temporary(fw_atomic_file *file) {
  if (file->has_temporary) unlinkat(file->target.directory, file->target.temporary, 0);
  forget_temporary(file);
}

/* Starts the nameless file of a rank other than the first. It holds the rank's bytes until their offset is known; a
 * kill leaves nothing of it. */
static furrow_status start_part(fw_atomic_file *file, const char *path, furrow_error *err) {
  FW_TRY(fw_target_find(&file->target, path, err));
  FW_TRY(create_temporary(file, 0600, err));
  remove_temporary(file);
  return FURROW_OK;
}

static furrow_status start_file(fw_atomic_file *file, const char *path, const char *first, furrow_error *err) {
  if (file->comm && strcmp(path, "-") == 0)
    return fw_fail(err, FURROW_E_UNSUPPORTED, "several ranks write a file together, but not standard output");
  if (file->comm && !fw_comm_is_first(file->comm)) return start_part(file, path, err);
  if (file->output.write || strcmp(path, "-") == 0) {
    file->in_order = true;
    if (!file->output.write) file->fd = STDOUT_FILENO;
    return fw_strndup(&file->target.path, path, strlen(path), err);
  }
  furrow_status status = fw_target_find(&file->target, path, err);
  if (status == FURROW_OK) status = check_target(file, err);
  if (status == FURROW_OK) status = create_permitted(file, first, err);
  return status;
}

static furrow_status open_any(fw_atomic_file **file, const char *path, const char *first, const furrow_output *output,
                              const furrow_comm *comm, furrow_error *err) {
  fw_atomic_file *opened;
  furrow_status status = FW_ALLOC_ZERO(&opened, 1, err);
  if (status != FURROW_OK) return status;
  opened->target.directory = opened->fd = opened->held = opened->note = -1;
  if (output) opened->output = *output;
  if (comm && comm->ranks > 1) opened->comm = comm;
  status = FW_ALLOC(&opened->buffer, BUFFER_SIZE, err);
  if (status == FURROW_OK) status = start_file(opened, path, first, err);
  return FW_HAND_OVER(status, file, opened, fw_atomic_file_close);
}

furrow_status fw_atomic_file_open(fw_atomic_file **file, const char *path, furrow_error *err) {
  return open_any(file, path, NULL, NULL, NULL, err);
}

furrow_status fw_atomic_file_open_beside(fw_atomic_file **file, const char *path, const char *first,
                                         furrow_error *err) {
  return open_any(file, path, first, NULL, NULL, err);
}

furrow_status fw_atomic_file_open_ranks(fw_atomic_file **file, const char *path, const furrow_comm *comm,
                                        furrow_error *err) {
  return open_any(file, path, NULL, NULL, comm, err);
}

furrow_status fw_atomic_file_open_output(fw_atomic_file **file, const furrow_output *output, furrow_error *err) {
  furrow_output full;
  furrow_output_init(&full);
  FW_TRY(FW_PARAMS_READ(&full, output, furrow_output, err));
  if (!full.write) return fw_fail(err, FURROW_E_ARGUMENT, "the furrow_output has no function to write with");
  return open_any(file, "", NULL, &full, NULL, err);
}

/* ---- bytes ---- */

/* Writes all bytes to standard output, which may be non-blocking. May wait for the reader until the process is asked
 * to stop (ECANCELED). Returns 0 or an errno. */
static int put_out(int fd, const char *data, size_t size) {
  while (size > 0) {
    if (fw_is_stopped()) return ECANCELED;
    ssize_t n = write(fd, data, size < SSIZE_MAX ? size : SSIZE_MAX);
    if (n > 0) {
      data += n;
      size -= (size_t)n;
    } else if (n < 0 && errno == EAGAIN) {
      poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      return n == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

static furrow_status put_to_caller(const furrow_output *output, const char *data, size_t size, furrow_error *err) {
  if (size == 0) return FURROW_OK;
  furrow_error error;
  (void)fw_fail(&error, FURROW_E_IO,
                "the caller's output failed"); /* the default message, if the output does not set its own */
  furrow_status status = output->write(output->user, data, size, &error);
  if (status == FURROW_OK) return FURROW_OK;
  error.status = fw_failed_status(status);
  *err = error;
  return error.status;
}

static furrow_status put_bytes(fw_atomic_file *file, const char *data, size_t size, uint64_t offset,
                               furrow_error *err) {
  if (file->output.write) return put_to_caller(&file->output, data, size, err);
  int errnum = file->in_order ? put_out(file->fd, data, size) : fw_write_at(file->fd, data, size, offset);
  if (errnum == ECANCELED) FW_TRY(fw_check_stopped(err));
  return errnum == 0 ? FURROW_OK : fw_target_fail_errno(&file->target, err, errnum, "cannot write");
}

static furrow_status flush_file(fw_atomic_file *file, furrow_error *err) {
  FW_TRY(put_bytes(file, file->buffer, file->filled, file->flushed, err));
  file->flushed += file->filled;
  file->filled = 0;
  return FURROW_OK;
}

/* Appends; large data bypasses the buffer. */
static furrow_status append_bytes(fw_atomic_file *file, const char *data, size_t size, furrow_error *err) {
  furrow_status status = FURROW_OK;
  if (size > BUFFER_SIZE - file->filled) {
    status = flush_file(file, err);
    if (status != FURROW_OK) return status;
  }
  if (size >= BUFFER_SIZE) {
    status = put_bytes(file, data, size, file->flushed, err);
    if (status == FURROW_OK) file->flushed += size;
    return status;
  }
  memcpy(file->buffer + file->filled, data, size);
  file->filled += size;
  return FURROW_OK;
}

/* Fails if the file is complete, or reports an earlier failure again. */
static furrow_status check_open(const fw_atomic_file *file, furrow_error *err) {
  if (file->committed) return fw_target_fail(&file->target, err, FURROW_E_STATE, "the file is complete already");
  if (file->error.status != FURROW_OK && err) *err = file->error;
  return file->error.status;
}

/* Copies file->error to the caller's error when a call ends. */
static furrow_status copy_error(const fw_atomic_file *file, furrow_status status, furrow_error *err) {
  if (status != FURROW_OK && err) *err = file->error;
  return status;
}

furrow_status fw_atomic_file_write(fw_atomic_file *file, const void *data, size_t size, furrow_error *err) {
  furrow_status status = check_open(file, err);
  if (status != FURROW_OK || size == 0) return status;
  return copy_error(file, append_bytes(file, data, size, &file->error), err);
}

furrow_status fw_atomic_file_write_at(fw_atomic_file *file, uint64_t offset, const void *data, size_t size,
                                      furrow_error *err) {
  furrow_status status = check_open(file, err);
  if (status != FURROW_OK) return status;
  if (file->in_order)
    return fw_target_fail(&file->target, err, FURROW_E_STATE, "bytes that were written to a stream cannot be changed");
  uint64_t total = fw_atomic_file_size(file);
  if (offset > total || size > total - offset)
    return fw_target_fail(&file->target, err, FURROW_E_ARGUMENT,
                          "bytes that were not written yet cannot be overwritten");
  /* first the part that is in the file, then the part that is still in the buffer */
  uint64_t out = offset < file->flushed ? file->flushed - offset : 0;
  size_t below = out < size ? (size_t)out : size;
  status = put_bytes(file, data, below, offset, &file->error);
  if (status == FURROW_OK && below < size)
    memcpy(file->buffer + (offset + below - file->flushed), (const char *)data + below, size - below);
  return copy_error(file, status, err);
}

const char *fw_atomic_file_temporary(const fw_atomic_file *file) {
  return file->has_temporary ? file->target.temporary : NULL;
}

uint64_t fw_atomic_file_size(const fw_atomic_file *file) {
  return file->flushed + file->filled;
}

/* ---- the end ---- */

/* Gives the temporary file its name. If an existing file must be kept and the file system has no RENAME_NOREPLACE, a
 * hard link is used, because a link never replaces a file. */
static int rename_temporary(const fw_atomic_file *file) {
  const int dir = file->target.directory;
  if (!file->keep_existing) return renameat(dir, file->target.temporary, dir, file->target.name);
  if (renameat2(dir, file->target.temporary, dir, file->target.name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  if (linkat(dir, file->target.temporary, dir, file->target.name, 0) != 0) return -1;
  return unlinkat(dir, file->target.temporary, 0);
}

/* Sends the file to its server, where it does not appear yet. */
static furrow_status send_temporary(fw_atomic_file *file, furrow_error *err) {
  struct stat info;
  if (file->upload) return FURROW_OK; /* done already */
  if (fstat(file->fd, &info) != 0) return fw_target_fail_errno(&file->target, err, errno, "cannot send the file");
  return fw_target_begin(&file->target, "", file->fd, (uint64_t)info.st_size, &file->upload, err);
}

/* Flushes and syncs the whole file under its temporary name. */
static furrow_status sync_temporary(fw_atomic_file *file, furrow_error *err) {
  if (file->target.store) return send_temporary(file, err);
  if (file->fd < 0) return FURROW_OK; /* done already */
  if (fsync(file->fd) != 0) return fw_target_fail_errno(&file->target, err, errno, "cannot sync the file to disk");
  int fd = file->fd;
  file->fd = -1;
  file->held = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (file->held < 0) { /* no descriptor is free: keeps the lock and does not check errors of close */
    file->held = fd;
    return FURROW_OK;
  }
  if (close(fd) != 0 && errno != EINTR) return fw_target_fail_errno(&file->target, err, errno, "cannot close the file");
  return FURROW_OK;
}

/* Releases the lock: once the file has its final name, no process takes it for a leftover, unless that name looks
 * temporary, too. */
static void release_lock(fw_atomic_file *file) {
  if (file->held < 0 || fw_target_is_temporary(file->target.name)) return;
  /* close alone would leave the lock to a process that was forked in the meantime */
  if (!file->replacing.is_own) flock(file->held, LOCK_UN);
  close(file->held);
  file->held = -1;
}

/* Returns 0 or an errno. EINVAL: the file system does not sync directories. */
static int sync_names(const fw_atomic_file *file) {
  return file->target.store || fsync(file->target.directory) == 0 || errno == EINVAL ? 0 : errno;
}

static const char written_unsynced[] = "written, but its directory cannot be synced to disk",
                  unsynced[] = "cannot sync its directory to disk";

/* Gives the file its name. `failed`: the message if the directory cannot be synced then. */
static furrow_status put_in_place(fw_atomic_file *file, const char *failed, furrow_error *err) {
  if (file->target.store) {
    FW_TRY(fw_target_finish(&file->target, file->upload, file->keep_existing, err));
    file->committed = true;
    return FURROW_OK;
  }
  if (rename_temporary(file) != 0) {
    if (errno == EEXIST)
      return fw_target_fail(&file->target, err, FURROW_E_EXISTS, "there is a file of that name already");
    return fw_target_fail_errno(&file->target, err, errno, "cannot put the new file in place");
  }
  forget_temporary(file);
  file->committed = true;
  if (fw_target_is_temporary(file->target.name))
    file->note = fw_temporary_note(file->target.directory, file->target.name);
  /* the new file is complete and in place; only a crash of the machine could still bring the old one back */
  const int errnum = sync_names(file);
  return errnum == 0 ? FURROW_OK : fw_target_fail_errno(&file->target, err, errnum, failed);
}

/* Locks the file that will be replaced, if there is one, so that no other process changes it. */
static furrow_status begin_replacing(fw_atomic_file *file, furrow_error *err) {
  if (file->in_order || file->keep_existing || file->is_replacing || file->target.store) return FURROW_OK;
  FW_TRY(fw_replacing_begin(&file->replacing, &file->target, err));
  file->is_replacing = true;
  return FURROW_OK;
}

static void end_replacing(fw_atomic_file *file) {
  if (file->is_replacing) fw_replacing_end(&file->replacing, file->committed ? file->held : -1);
  file->is_replacing = false;
}

/* Gives the file its name. Each step starts only when everything it relies on has been synced. */
static furrow_status publish_file(fw_atomic_file *file, furrow_error *err) {
  if (file->held < 0) FW_TRY(keep_permissions(file, err)); /* the old file's may have changed since the open */
  FW_TRY(sync_temporary(file, err));
  FW_TRY(begin_replacing(file, err));
  const furrow_status status = put_in_place(file, written_unsynced, err);
  end_replacing(file);
  if (file->committed) release_lock(file);
  return status;
}

void fw_atomic_file_keep_existing(fw_atomic_file *file) {
  file->keep_existing = true;
}

furrow_status fw_atomic_file_commit(fw_atomic_file *file, furrow_error *err) {
  furrow_status status = check_open(file, err);
  if (status != FURROW_OK) return status;
  status = flush_file(file, &file->error);
  if (status == FURROW_OK) status = file->in_order ? FURROW_OK : publish_file(file, &file->error);
  if (status == FURROW_OK) file->committed = true;
  return copy_error(file, status, err);
}

bool fw_atomic_file_is_in_place(const fw_atomic_file *file) {
  return file->committed;
}

/* ---- pairs ---- */

furrow_status fw_atomic_file_lock_folder(const fw_atomic_file *file, furrow_error *err) {
  return fw_target_lock(&file->target, err);
}

furrow_status fw_atomic_file_prepare(fw_atomic_file *file, furrow_error *err) {
  FW_TRY(check_open(file, err));
  furrow_status status = flush_file(file, &file->error);
  if (status == FURROW_OK && !file->in_order && file->held < 0) status = keep_permissions(file, &file->error);
  if (status == FURROW_OK && !file->in_order) status = sync_temporary(file, &file->error);
  return copy_error(file, status, err);
}

/* Fails if the name is taken and the existing file must be kept. */
static furrow_status check_name(const fw_atomic_file *file, furrow_error *err) {
  bool there = false, is_folder;
  if (file->target.store && file->keep_existing) FW_TRY(fw_target_look(&file->target, &there, &is_folder, err));
  if (there) return fw_target_fail(&file->target, err, FURROW_E_EXISTS, "there is a file of that name already");
  if (file->in_order || !file->keep_existing ||
      faccessat(file->target.directory, file->target.name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return FURROW_OK;
  return fw_target_fail(&file->target, err, FURROW_E_EXISTS, "there is a file of that name already");
}

/* Gives the old file a temporary name: instead of its own, or as a second one (`keep`). The file is locked
 * (begin_replacing), so no process takes it for a leftover. Returns 0 or an errno, ENOENT if there is no old file. */
static int name_aside(fw_atomic_file *file, bool keep) {
  const int dir = file->target.directory;
  fw_target other = file->target;
  int errnum = EEXIST;
  for (unsigned attempt = 0; errnum == EEXIST && attempt < 100; attempt++) {
    fw_target_pick_name(&other, attempt);
    const int done = keep ? linkat(dir, file->target.name, dir, other.temporary, 0)
                          : renameat2(dir, file->target.name, dir, other.temporary, RENAME_NOREPLACE);
    errnum = done == 0 ? 0 : errno;
    if (!keep && (errnum == EINVAL || errnum == ENOSYS)) /* the name is random enough */
      errnum = renameat(dir, file->target.name, dir, other.temporary) == 0 ? 0 : errno;
  }
  if (errnum == 0) memcpy(file->aside, other.temporary, sizeof file->aside);
  return errnum;
}

/* Renames the old companion, if there is one, until the first file has been replaced. */
static furrow_status set_aside(fw_atomic_file *file, furrow_error *err) {
  if (file->in_order) return FURROW_OK;
  if (file->target.store) return fw_target_remove(&file->target, "", err); /* a server cannot rename it */
  int errnum = name_aside(file, false);
  if (errnum == ENOENT) return FURROW_OK;
  if (errnum != 0) return fw_target_fail_errno(&file->target, err, errnum, "cannot replace the file");
  errnum = sync_names(file);
  return errnum == 0 ? FURROW_OK : fw_target_fail_errno(&file->target, err, errnum, unsynced);
}

/* Gives the name back to the old file. Returns false if that fails. */
static bool put_back(fw_atomic_file *file) {
  const int dir = file->target.directory;
  if (!file->aside[0]) return true;
  if (renameat(dir, file->aside, dir, file->target.name) != 0) return false;
  file->aside[0] = 0;
  return sync_names(file) == 0;
}

/* Takes the name from the new file, if it has it. Returns false if that fails. */
static bool remove_new(fw_atomic_file *file) {
  if (file->in_order || !file->committed) return true;
  if (file->target.store) {
    file->committed = fw_target_remove(&file->target, "", NULL) != FURROW_OK;
    return !file->committed;
  }
  if (unlinkat(file->target.directory, file->target.name, 0) != 0) return false;
  file->committed = false;
  return sync_names(file) == 0;
}

/* Gives a prepared file its name. */
static furrow_status place_file(fw_atomic_file *file, bool is_last, furrow_error *err) {
  if (file->in_order) return fw_atomic_file_commit(file, err);
  return copy_error(file, put_in_place(file, is_last ? written_unsynced : unsynced, &file->error), err);
}

static void finish_file(fw_atomic_file *file) {
  if (file->aside[0]) unlinkat(file->target.directory, file->aside, 0);
  file->aside[0] = 0;
  end_replacing(file);
  if (file->committed && file->held >= 0) release_lock(file);
}

/* The first of several files: the step that gives it its name, and the step that undoes this. */
typedef struct first_step {
  fw_commit_first place;
  bool (*undo)(void *user); /* returns false if that fails; NULL: it cannot be undone */
  void *user;
} first_step;

/* Undoes a commit in an order that never leaves files of two commits side by side. */
static bool undo_commit(fw_atomic_file *const *files, size_t count, const first_step *first, bool changed) {
  bool undone = true;
  for (size_t i = 0; i < count && undone; i++) undone = remove_new(files[i]);
  if (undone && changed) undone = first->undo && first->undo(first->user);
  for (size_t i = 0; i < count && undone; i++) undone = put_back(files[i]);
  return undone;
}

/* Commits files that are prepared, in a locked folder. If only the last sync of the folder fails, all are in place. */
static furrow_status commit_locked(fw_atomic_file *const *files, size_t count, const first_step *first,
                                   furrow_error *err) {
  furrow_status status = FURROW_OK;
  bool changed = false;
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = check_name(files[i], err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = begin_replacing(files[i], err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = set_aside(files[i], err);
  if (status == FURROW_OK) status = first->place(first->user, &changed, err);
  for (size_t i = 0; i < count && status == FURROW_OK; i++) status = place_file(files[i], i + 1 == count, err);
  if (status != FURROW_OK && !files[count - 1]->committed && !undo_commit(files, count, first, changed))
    fw_error_set_hint(err, "files that belong to it may be missing now: write it again");
  for (size_t i = 0; i < count; i++) finish_file(files[i]);
  return status;
}

furrow_status fw_atomic_files_commit_after(fw_atomic_file *const *files, size_t count, fw_commit_first first,
                                           void *user, furrow_error *err) {
  const first_step step = {.place = first, .user = user};
  for (size_t i = 0; i < count; i++) FW_TRY(fw_atomic_file_prepare(files[i], err));
  FW_TRY(fw_atomic_file_lock_folder(files[0], err));
  const furrow_status status = commit_locked(files, count, &step, err);
  fw_target_unlock(&files[0]->target);
  return status;
}

/* Replaces the file in one step, so that it is never missing. The old one keeps a second name until all files are in
 * place, if the file system has links. */
static furrow_status place_first(void *user, bool *changed, furrow_error *err) {
  fw_atomic_file *file = user;
  bool there = false, is_folder;
  if (file->target.store)
    file->is_new = fw_target_look(&file->target, &there, &is_folder, NULL) == FURROW_OK && !there;
  else if (!file->in_order)
    file->is_new = name_aside(file, true) == ENOENT;
  const furrow_status status = place_file(file, false, err);
  *changed = file->committed;
  return status;
}

static bool undo_first(void *user) {
  fw_atomic_file *file = user;
  if (file->is_new) return remove_new(file);
  if (!file->aside[0] || !put_back(file)) return false;
  file->committed = false;
  return true;
}

furrow_status fw_atomic_files_commit(fw_atomic_file *const *files, size_t count, furrow_error *err) {
  fw_atomic_file *file = files[0];
  const first_step step = {.place = place_first, .undo = undo_first, .user = file};
  if (count == 1) return fw_atomic_file_commit(file, err);
  for (size_t i = 0; i < count; i++) FW_TRY(check_open(files[i], err));
  for (size_t i = 1; i < count; i++)
    if (!files[i]->in_order && !file->in_order && !files[i]->replaces)
      FW_TRY(copy_permissions(files[i], file->target.directory, file->target.name, err));
  for (size_t i = 0; i < count; i++) FW_TRY(fw_atomic_file_prepare(files[i], err));
  FW_TRY(fw_atomic_file_lock_folder(files[1], err));
  furrow_status status = check_name(file, err);
  if (status == FURROW_OK) status = begin_replacing(file, err);
  if (status == FURROW_OK) status = commit_locked(files + 1, count - 1, &step, err);
  finish_file(file);
  fw_target_unlock(&files[1]->target);
  return status;
}

furrow_status furrow_file_check(const char *path, bool overwrite, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_atomic_file_open(&file, path, err));
  if (!overwrite) fw_atomic_file_keep_existing(file);
  const furrow_status status = check_name(file, err);
  fw_atomic_file_close(file);
  return status;
}

furrow_status furrow_file_save(const char *path, const void *bytes, size_t length, bool overwrite, furrow_error *err) {
  fw_atomic_file *file = NULL;
  FW_TRY(fw_atomic_file_open(&file, path, err));
  if (!overwrite) fw_atomic_file_keep_existing(file);
  furrow_status status = fw_atomic_file_write(file, bytes, length, err);
  if (status == FURROW_OK) status = fw_atomic_file_commit(file, err);
  fw_atomic_file_close(file);
  return status;
}

/* ---- ranks ---- */

/* Copies bytes from one file to another, in the kernel if possible. Returns 0 or an errno. */
static int copy_bytes(const fw_atomic_file *file, uint64_t from, int to, uint64_t offset) {
  bool in_kernel = true;
  while (from < file->flushed) {
    const size_t most = (size_t)1 << 30, left = file->flushed - from < most ? (size_t)(file->flushed - from) : most;
    off_t in = (off_t)from, out = (off_t)offset;
    ssize_t n = in_kernel ? copy_file_range(file->fd, &in, to, &out, left, 0) : -1;
    if (in_kernel && n <= 0 && (n == 0 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
      in_kernel = false;
    if (!in_kernel) {
      n = pread(file->fd, file->buffer, left < BUFFER_SIZE ? left : BUFFER_SIZE, (off_t)from);
      if (n == 0) return EIO;
      const int errnum = n > 0 ? fw_write_at(to, file->buffer, (size_t)n, offset) : 0;
      if (errnum != 0) return errnum;
    }
    if (n < 0 && errno != EINTR) return errno;
    if (n < 0) continue;
    from += (uint64_t)n;
    offset += (uint64_t)n;
  }
  return 0;
}

/* Copies what this rank wrote into the first rank's file. */
static furrow_status deliver_bytes(const fw_atomic_file *file, const char *name, uint64_t skip, uint64_t offset,
                                   furrow_error *err) {
  const int to = openat(file->target.directory, name, O_WRONLY | O_CLOEXEC);
  if (to < 0) {
    const furrow_status status =
        fw_target_fail_errno(&file->target, err, errno, "cannot open the file that the first rank writes");
    fw_error_set_hint(err, "all ranks must see the same directory");
    return status;
  }
  int errnum = copy_bytes(file, skip, to, offset);
  if (errnum == 0 && fsync(to) != 0) errnum = errno;
  if (close(to) != 0 && errnum == 0 && errno != EINTR) errnum = errno;
  return errnum == 0 ? FURROW_OK : fw_target_fail_errno(&file->target, err, errnum, "cannot write");
}

static furrow_status join_ranks(fw_atomic_file *file, uint64_t skip, furrow_error *err) {
  const furrow_comm *comm = file->comm;
  const bool first = fw_comm_is_first(comm);
  char name[FW_TARGET_MAX_NAME + 1] = "";
  uint64_t offset = 0, all = 0;
  if (first) memcpy(name, file->target.temporary, sizeof name);
  FW_TRY(comm->broadcast(comm, name, sizeof name, 0, err));
  FW_TRY(fw_comm_offset(comm, file->flushed - skip, &offset, &all, err));
  const bool empty = file->flushed == skip;
  furrow_status status = first || empty ? FURROW_OK : deliver_bytes(file, name, skip, offset, err);
  return fw_comm_all_ok(comm, status, err);
}

furrow_status fw_atomic_file_join(fw_atomic_file *file, furrow_status mine, uint64_t skip, furrow_error *err) {
  if (!file->comm) return mine;
  if (mine == FURROW_OK) mine = check_open(file, err);
  if (mine == FURROW_OK) mine = copy_error(file, flush_file(file, &file->error), err);
  FW_TRY(fw_comm_all_ok(file->comm, mine, err));
  return copy_error(file, join_ranks(file, skip, &file->error), err);
}

void fw_atomic_file_close(fw_atomic_file *file) {
  if (!file) return;
  /* output that was printed before a failure elsewhere is still shown */
  if (file->fd == STDOUT_FILENO && file->in_order && !file->committed && file->error.status == FURROW_OK)
    (void)!flush_file(file, &file->error);
  end_replacing(file);
  fw_target_drop(&file->target, file->upload);
  remove_temporary(file);
  if (file->fd >= 0 && !file->in_order) close(file->fd);
  if (file->held >= 0) close(file->held);
  fw_target_clear(&file->target);
  fw_free(file->buffer);
  fw_free(file);
}
