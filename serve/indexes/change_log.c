/* serve/indexes/change_log.c: the files of a log: locking, appending, syncing, and checkpoints.
 */
#include "indexes/change_log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/fail.h"
#include "http/json_put.h"

enum { KEPT_BUFFER = 1 << 20, LEAST_SPACE = 1 << 16 };

typedef struct log_file {
  int fd; /* -1: there is none */
  uint64_t sequence;
  uint64_t synced; /* bytes that are on the disk */
} log_file;

struct change_log {
  char *index_path, *first_path, *second_path, *folder;
  uint32_t d;
  pthread_mutex_t sync_lock;   /* taken first: files and `writing` */
  pthread_mutex_t append_lock; /* pending, pending_at, next_id, failed; both: which file is the current one */
  log_file first, second;
  fw_buffer pending, writing;       /* records that are not in the file yet; records that are being written */
  uint64_t pending_at;              /* offset in the file at which pending will be written */
  uint64_t next_id, synced_next_id; /* also of records that are not synced; of synced records alone */
  bool failed;
  size_t needed; /* bytes of the write that failed */
};

static log_file *current(change_log *log) {
  return log->second.fd >= 0 ? &log->second : &log->first;
}

static const char *path_of(const change_log *log, const log_file *file) {
  return file == &log->second ? log->second_path : log->first_path;
}

static void close_file(log_file *file) {
  if (file->fd >= 0) close(file->fd);
  file->fd = -1;
}

/* ---- Writing ---- */

static furrow_status fail_broken_log(const change_log *log, furrow_error *err) {
  fail_file(err, FURROW_E_IO, log->first_path, "the log of changes could not be written and accepts no more changes",
            0);
  return add_hint(err, "check the free space and the health of the disk");
}

static int write_all(int fd, const void *data, size_t size, uint64_t at) {
  for (size_t done = 0; done < size;) {
    const ssize_t part = pwrite(fd, (const char *)data + done, size - done, (off_t)(at + done));
    if (part < 0 && errno != EINTR) return errno;
    if (part > 0) done += (size_t)part;
  }
  return 0;
}

static furrow_status sync_folder(const change_log *log, furrow_error *err) {
  const int fd = open(log->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;
  if (fd >= 0) close(fd);
  /* EINVAL: the file system has no such call for folders */
  return failed && failed != EINVAL ? fail_file(err, FURROW_E_IO, log->folder, "cannot sync the folder to disk", failed)
                                    : FURROW_OK;
}

/* Whether a path still leads to an open file: another process may have replaced it. */
static bool is_same_file(const char *path, int fd) {
  struct stat named, opened;
  return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 && named.st_ino == opened.st_ino &&
         named.st_dev == opened.st_dev;
}

/* Fails about a log file that has lost its name: a later start would not find it. Until this process ends, the file can
 * still be copied. */
static furrow_status fail_gone(const char *path, int fd, furrow_error *err) {
  fail_file(err, FURROW_E_IO, path, "the log of changes was removed or replaced while it was in use", 0);
  return add_hint(err, "before you stop the server, copy /proc/%ld/fd/%d to that path: it has what was acknowledged",
                  (long)getpid(), fd);
}

/* Writes records to the end of a file and waits for the disk. After a failure it is unknown which pages reached the
 * disk, so the records are cut off if possible: a later start must not rely on them. */
static furrow_status write_records(change_log *log, log_file *file, fw_buffer *records, furrow_error *err) {
  if (records->size == 0) return FURROW_OK;
  log_seal(records, file->sequence, file->synced);
  int failed = write_all(file->fd, records->bytes, records->size, file->synced);
  if (!failed && fdatasync(file->fd) != 0) failed = errno;
  const bool is_gone = !failed && !is_same_file(path_of(log, file), file->fd);
  if (failed || is_gone) {
    log->needed = records->size;
    if (ftruncate(file->fd, (off_t)file->synced) == 0) fdatasync(file->fd);
    return is_gone ? fail_gone(path_of(log, file), file->fd, err)
                   : fail_file(err, FURROW_E_IO, path_of(log, file), "cannot write the log of changes", failed);
  }
  file->synced += records->size;
  buffer_recycle(records, KEPT_BUFFER);
  return FURROW_OK;
}

/* Called with both locks, while nothing else is being written. */
static furrow_status write_pending(change_log *log, log_file *file, furrow_error *err) {
  const furrow_status status = write_records(log, file, &log->pending, err);
  log->failed = status != FURROW_OK;
  if (status == FURROW_OK) log->synced_next_id = log->next_id;
  return status;
}

static void set_failed(change_log *log) {
  pthread_mutex_lock(&log->append_lock);
  log->failed = true;
  pthread_mutex_unlock(&log->append_lock);
}

/* Called with sync_lock. */
static furrow_status sync_pending(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->append_lock);
  const bool failed = log->failed;
  const fw_buffer taken = log->pending;
  log->pending = log->writing;
  log->writing = taken;
  log->pending_at += taken.size;
  const uint64_t next_id = log->next_id;
  pthread_mutex_unlock(&log->append_lock);
  if (failed) return fail_broken_log(log, err);
  const furrow_status status = write_records(log, current(log), &log->writing, err);
  if (status == FURROW_OK)
    log->synced_next_id = next_id;
  else
    set_failed(log);
  return status;
}

static void note_next_id(change_log *log, uint64_t next_id) {
  if (next_id > log->next_id && next_id <= LOG_IDS_END) log->next_id = next_id;
}

static void note_ids(change_log *log, const index_change *change) {
  for (size_t i = 0; i < change->n; i++) note_next_id(log, (uint64_t)change->ids[i] + 1);
}

furrow_status change_log_append(change_log *log, const index_change *change, furrow_error *err) {
  pthread_mutex_lock(&log->append_lock);
  furrow_status status = log->failed ? fail_broken_log(log, err) : FURROW_OK;
  if (status == FURROW_OK)
    status = log_append_record(&log->pending, change, log->d, current(log)->sequence,
                               log->pending_at + log->pending.size, err);
  if (status == FURROW_OK) note_ids(log, change);
  pthread_mutex_unlock(&log->append_lock);
  return status;
}

furrow_status change_log_sync(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->sync_lock);
  const furrow_status status = sync_pending(log, err);
  pthread_mutex_unlock(&log->sync_lock);
  return status;
}

bool change_log_has_failed(const change_log *log) {
  change_log *shared_log = (change_log *)log; /* its locks change, the log does not */
  pthread_mutex_lock(&shared_log->append_lock);
  const bool failed = log->failed;
  pthread_mutex_unlock(&shared_log->append_lock);
  return failed;
}

bool change_log_has_begun(const change_log *log) {
  change_log *shared_log = (change_log *)log; /* as above */
  pthread_mutex_lock(&shared_log->append_lock);
  const bool has_begun = log->second.fd >= 0;
  pthread_mutex_unlock(&shared_log->append_lock);
  return has_begun;
}

uint64_t change_log_next_id(const change_log *log) {
  change_log *shared_log = (change_log *)log; /* as above */
  pthread_mutex_lock(&shared_log->append_lock);
  const uint64_t next_id = log->next_id;
  pthread_mutex_unlock(&shared_log->append_lock);
  return next_id;
}

uint64_t change_log_size(const change_log *log) {
  change_log *shared_log = (change_log *)log; /* as above */
  pthread_mutex_lock(&shared_log->sync_lock);
  const uint64_t size = log->first.synced + (log->second.fd >= 0 ? log->second.synced : 0);
  pthread_mutex_unlock(&shared_log->sync_lock);
  return size;
}

/* ---- After a failure ---- */

/* Cuts a file back to its synced records. */
static furrow_status cut_file(const change_log *log, const log_file *file, furrow_error *err) {
  const char *path = path_of(log, file);
  if (file->fd < 0) return FURROW_OK;
  if (!is_same_file(path, file->fd)) return fail_gone(path, file->fd, err);
  if (ftruncate(file->fd, (off_t)file->synced) != 0 || fsync(file->fd) != 0)
    return fail_file(err, FURROW_E_IO, path, "cannot cut the log of changes back", errno);
  return FURROW_OK;
}

/* Reserves space at the end of the file that is written, and returns it. */
static furrow_status try_space(const change_log *log, const log_file *file, furrow_error *err) {
  const size_t needed = log->needed > LEAST_SPACE ? log->needed : LEAST_SPACE;
  const int failed = posix_fallocate(file->fd, (off_t)file->synced, (off_t)needed);
  const furrow_status status = cut_file(log, file, err);
  return status == FURROW_OK && failed && failed != EOPNOTSUPP /* of the file system */
             ? fail_file(err, FURROW_E_IO, path_of(log, file), "cannot write the log of changes", failed)
             : status;
}

static furrow_status repair(change_log *log, furrow_error *err) {
  FW_TRY(cut_file(log, &log->first, err));
  FW_TRY(cut_file(log, &log->second, err));
  FW_TRY(sync_folder(log, err));
  FW_TRY(try_space(log, current(log), err));
  buffer_recycle(&log->pending, KEPT_BUFFER);
  buffer_recycle(&log->writing, KEPT_BUFFER);
  log->pending_at = current(log)->synced;
  log->next_id = log->synced_next_id;
  log->failed = false;
  log->needed = 0;
  return FURROW_OK;
}

furrow_status change_log_repair(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->sync_lock);
  pthread_mutex_lock(&log->append_lock);
  const furrow_status status = log->failed ? repair(log, err) : FURROW_OK;
  pthread_mutex_unlock(&log->append_lock);
  pthread_mutex_unlock(&log->sync_lock);
  return status;
}

/* ---- Files ---- */

/* Fails with the number of the process that has locked the log, if it is known. */
static furrow_status fail_locked(const change_log *log, int fd, furrow_error *err) {
  struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_GETLK, &owner) == 0 && owner.l_type != F_UNLCK && owner.l_pid > 0)
    fail_in(err, FURROW_E_STATE, log->first_path, "process %ld has the log of changes open", (long)owner.l_pid);
  else
    fail_in(err, FURROW_E_STATE, log->first_path, "the log of changes is open elsewhere");
  return add_hint(err, "stop the other server, or serve this index without --writable");
}

/* flock excludes others, also within this process; the record lock tells other processes the number of this one. */
static furrow_status lock_file(const change_log *log, int fd, furrow_error *err) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? fail_locked(log, fd, err)
                                : fail_file(err, FURROW_E_IO, log->first_path, "cannot lock the log of changes", errno);
  struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  (void)fcntl(fd, F_SETLK, &owner);
  return FURROW_OK;
}

/* Creates a log that no more users may read than the index; its owner may write it, even if the index is read-only. */
static int create_file(const change_log *log, const char *path) {
  struct stat index, made;
  const mode_t mode = stat(log->index_path, &index) == 0 ? (index.st_mode & 0666) | 0600 : 0600;
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd >= 0 && mode != 0600 && fstat(fd, &made) == 0 && made.st_gid != index.st_gid &&
      fchown(fd, (uid_t)-1, index.st_gid) != 0)
    (void)!fchmod(fd, 0600); /* the index is open to another group */
  return fd;
}

static furrow_status fail_open(const char *path, int failed, furrow_error *err) {
  if (failed == ELOOP)
    return fail_file(err, FURROW_E_FORMAT, path, "the log of changes is a symbolic link, which is not followed", 0);
  return fail_file(err, FURROW_E_IO, path, "cannot open the log of changes", failed);
}

/* Opens a file that is there: *fd is -1 if it is not. */
static furrow_status open_file(const char *path, int *fd, furrow_error *err) {
  *fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (*fd < 0) return errno == ENOENT ? FURROW_OK : fail_open(path, errno, err);
  struct stat found;
  if (fstat(*fd, &found) == 0 && S_ISREG(found.st_mode)) return FURROW_OK;
  close(*fd);
  *fd = -1;
  return fail_file(err, FURROW_E_FORMAT, path, "the log of changes is not a regular file", 0);
}

static furrow_status open_first(change_log *log, furrow_error *err) {
  for (int tries = 0; tries < 100; tries++) {
    int fd;
    FW_TRY(open_file(log->first_path, &fd, err));
    if (fd < 0) fd = create_file(log, log->first_path);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) return fail_open(log->first_path, errno, err);
    log->first.fd = fd; /* closed by change_log_close */
    FW_TRY(lock_file(log, fd, err));
    if (is_same_file(log->first_path, fd)) return FURROW_OK;
    close_file(&log->first);
  }
  return fail_file(err, FURROW_E_STATE, log->first_path, "the log of changes is replaced again and again", 0);
}

static furrow_status read_file(const char *path, int fd, fw_buffer *data, furrow_error *err) {
  struct stat found;
  if (fstat(fd, &found) != 0) return fail_file(err, FURROW_E_IO, path, "cannot read the log of changes", errno);
  const size_t size = (size_t)found.st_size;
  char *to = fw_buffer_reserve(data, size + 1);
  if (!to) return fail_memory(err);
  for (;;) {
    const ssize_t part = pread(fd, to + data->size, size - data->size, (off_t)data->size);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return fail_file(err, FURROW_E_IO, path, "cannot read the log of changes", errno);
    if (part == 0) return FURROW_OK;
    data->size += (size_t)part;
  }
}

/* Writes the header of a log that has none, and syncs the file and its name. Called with append_lock, or while the log
 * is opened. */
static furrow_status start_file(change_log *log, log_file *file, uint64_t sequence, uint64_t previous,
                                furrow_error *err) {
  const char *path = path_of(log, file);
  unsigned char header[LOG_HEADER];
  log_write_header(header, log->d, sequence, previous, log->next_id);
  int failed = write_all(file->fd, header, sizeof header, 0);
  if (!failed && fsync(file->fd) != 0) failed = errno;
  if (failed) return fail_file(err, FURROW_E_IO, path, "cannot begin a log of changes", failed);
  file->sequence = sequence;
  file->synced = sizeof header;
  return sync_folder(log, err);
}

/* ---- Checkpoints ---- */

/* The records of the second log, for the end of the first. */
typedef struct record_copy {
  change_log *log;
  fw_buffer records;
} record_copy;

static furrow_status copy_record(void *user, const index_change *change, furrow_error *err) {
  record_copy *copy = user;
  const log_file *first = &copy->log->first;
  return log_append_record(&copy->records, change, copy->log->d, first->sequence, first->synced + copy->records.size,
                           err);
}

static furrow_status remove_second(change_log *log, bool *is_removed, furrow_error *err) {
  *is_removed = unlink(log->second_path) == 0 || errno == ENOENT;
  if (!*is_removed)
    return fail_file(err, FURROW_E_IO, log->second_path, "cannot remove the second log of changes", errno);
  return sync_folder(log, err);
}

/* Appends the records of the second log, whose bytes are given, to the first and removes it. Until then both are
 * replayed, its records twice, which gives the same state. *is_removed: the second log is not needed any more, also
 * where its removal has not reached the disk. */
static furrow_status fold_second(change_log *log, const fw_buffer *data, bool *is_removed, furrow_error *err) {
  record_copy copy = {.log = log};
  log_extent extent;
  furrow_status status =
      change_log_read(data->bytes, data->size, log->d, log->second_path, copy_record, &copy, &extent, err);
  if (status == FURROW_OK) {
    status = write_records(log, &log->first, &copy.records, err);
    if (status == FURROW_OK) status = remove_second(log, is_removed, err);
    log->failed = status != FURROW_OK;
  }
  fw_buffer_clear(&copy.records);
  return status;
}

static furrow_status make_second(change_log *log, log_file *second, furrow_error *err) {
  /* No second log is in use: a file of that name is left over from a failure. */
  unlink(log->second_path);
  second->fd = create_file(log, log->second_path);
  if (second->fd < 0) return fail_open(log->second_path, errno, err);
  return lock_file(log, second->fd, err);
}

static furrow_status begin_checkpoint(change_log *log, furrow_error *err) {
  if (log->second.fd >= 0) return fail(err, FURROW_E_STATE, "a checkpoint has begun already");
  FW_TRY(sync_pending(log, err)); /* most of it, so that appends wait less below */
  log_file second = {-1, 0, 0};
  furrow_status status = make_second(log, &second, err);
  pthread_mutex_lock(&log->append_lock);
  if (status == FURROW_OK) status = write_pending(log, &log->first, err);
  /* The header has the size of the first log: all of that is on the disk. */
  if (status == FURROW_OK) {
    log->second = second;
    status = start_file(log, &log->second, log->first.sequence + 1, log->first.synced, err);
    if (status != FURROW_OK) log->second.fd = -1;
  }
  log->pending_at = current(log)->synced;
  pthread_mutex_unlock(&log->append_lock);
  if (status != FURROW_OK && second.fd >= 0) {
    unlink(log->second_path);
    close_file(&second);
  }
  return status;
}

furrow_status change_log_begin_checkpoint(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->sync_lock);
  const furrow_status status = begin_checkpoint(log, err);
  pthread_mutex_unlock(&log->sync_lock);
  return status;
}

/* Called with both locks. The folder is synced before as well: the index file's new name first, then the log's. */
static furrow_status end_checkpoint(change_log *log, furrow_error *err) {
  if (log->second.fd < 0) return fail(err, FURROW_E_STATE, "no checkpoint has begun");
  FW_TRY(sync_folder(log, err));
  if (rename(log->second_path, log->first_path) != 0)
    return fail_file(err, FURROW_E_IO, log->second_path, "cannot rename the second log of changes", errno);
  close_file(&log->first);
  log->first = log->second;
  log->second.fd = -1;
  const furrow_status status = sync_folder(log, err);
  log->failed = log->failed || status != FURROW_OK;
  return status;
}

furrow_status change_log_end_checkpoint(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->sync_lock);
  pthread_mutex_lock(&log->append_lock);
  const furrow_status status = end_checkpoint(log, err);
  pthread_mutex_unlock(&log->append_lock);
  pthread_mutex_unlock(&log->sync_lock);
  return status;
}

/* Called with both locks. */
static furrow_status cancel_checkpoint(change_log *log, furrow_error *err) {
  if (log->second.fd < 0) return fail(err, FURROW_E_STATE, "no checkpoint has begun");
  if (log->failed) return fail_broken_log(log, err);
  furrow_status status = write_pending(log, &log->second, err);
  fw_buffer data = {0};
  bool is_removed = false;
  if (status == FURROW_OK) {
    log->pending_at = log->second.synced;
    status = read_file(log->second_path, log->second.fd, &data, err);
  }
  if (status == FURROW_OK) status = fold_second(log, &data, &is_removed, err);
  fw_buffer_clear(&data);
  if (is_removed) {
    close_file(&log->second);
    log->pending_at = log->first.synced;
  }
  return status;
}

furrow_status change_log_cancel_checkpoint(change_log *log, furrow_error *err) {
  pthread_mutex_lock(&log->sync_lock);
  pthread_mutex_lock(&log->append_lock);
  const furrow_status status = cancel_checkpoint(log, err);
  pthread_mutex_unlock(&log->append_lock);
  pthread_mutex_unlock(&log->sync_lock);
  return status;
}

/* ---- Opening ---- */

typedef struct log_replay {
  change_log *log;
  change_replay call;
  void *user;
  uint64_t cut;
} log_replay;

static furrow_status replay_record(void *user, const index_change *change, furrow_error *err) {
  const log_replay *replay = user;
  note_ids(replay->log, change);
  return replay->call(replay->user, change, err);
}

/* Cuts off the bytes after the last complete record. If the program was killed before a sync, the remaining records may
 * be in the page cache alone, so they are synced before the log is used. */
static furrow_status cut_tail(change_log *log, log_file *file, const log_extent *extent, size_t size,
                              furrow_error *err) {
  if (extent->used < size && ftruncate(file->fd, (off_t)extent->used) != 0)
    return fail_file(err, FURROW_E_IO, path_of(log, file), "cannot cut off an incomplete record", errno);
  if (fsync(file->fd) != 0)
    return fail_file(err, FURROW_E_IO, path_of(log, file), "cannot sync the log of changes to disk", errno);
  file->sequence = extent->sequence;
  file->synced = extent->used;
  return sync_folder(log, err);
}

static furrow_status replay_first(change_log *log, log_replay *replay, furrow_error *err) {
  fw_buffer data = {0};
  log_extent extent = {0};
  furrow_status status = read_file(log->first_path, log->first.fd, &data, err);
  if (status == FURROW_OK)
    status = change_log_read(data.bytes, data.size, log->d, log->first_path, replay_record, replay, &extent, err);
  if (status == FURROW_OK) {
    note_next_id(log, extent.next_id);
    status = cut_tail(log, &log->first, &extent, data.size, err);
    replay->cut += data.size - extent.used;
  }
  fw_buffer_clear(&data);
  return status;
}

/* Checks that the second log continues the first. */
static furrow_status check_order(const change_log *log, const log_extent *second, furrow_error *err) {
  if (second->sequence == log->first.sequence + 1 && second->previous <= log->first.synced) return FURROW_OK;
  fail_in(err, FURROW_E_FORMAT, log->second_path, "it follows log %llu with %llu bytes, but %s is %s",
          (unsigned long long)second->sequence - 1, (unsigned long long)second->previous, log->first_path,
          log->first.synced == 0                        ? "empty"
          : second->sequence == log->first.sequence + 1 ? "shorter"
                                                        : "another one");
  return add_hint(err, "the index or one of its logs was replaced or damaged: restore all of them from one backup");
}

static furrow_status ignore_record(void *user, const index_change *change, furrow_error *err) {
  (void)user, (void)change, (void)err;
  return FURROW_OK;
}

/* After an interrupted checkpoint: replays the second log and appends it to the first. */
static furrow_status replay_second(change_log *log, log_replay *replay, furrow_error *err) {
  fw_buffer data = {0};
  log_extent extent = {0};
  int fd;
  FW_TRY(open_file(log->second_path, &fd, err));
  if (fd < 0) return FURROW_OK;
  furrow_status status = read_file(log->second_path, fd, &data, err);
  if (status == FURROW_OK)
    status = change_log_read(data.bytes, data.size, log->d, log->second_path, ignore_record, NULL, &extent, err);
  if (status == FURROW_OK && extent.used > 0) status = check_order(log, &extent, err);
  if (status == FURROW_OK)
    status = change_log_read(data.bytes, data.size, log->d, log->second_path, replay_record, replay, &extent, err);
  if (status == FURROW_OK) {
    note_next_id(log, extent.next_id);
    replay->cut += data.size - extent.used;
    bool is_removed = false;
    status = extent.used > 0 ? fold_second(log, &data, &is_removed, err) : remove_second(log, &is_removed, err);
  }
  close(fd);
  fw_buffer_clear(&data);
  return status;
}

static furrow_status set_paths(change_log *log, const char *index_path, furrow_error *err) {
  const char *slash = strrchr(index_path, '/');
  log->index_path = strdup(index_path);
  log->folder = !slash ? strdup(".") : strndup(index_path, slash == index_path ? 1 : (size_t)(slash - index_path));
  if (asprintf(&log->first_path, "%s.log", index_path) < 0) log->first_path = NULL;
  if (asprintf(&log->second_path, "%s.log.next", index_path) < 0) log->second_path = NULL;
  return log->index_path && log->folder && log->first_path && log->second_path ? FURROW_OK : fail_memory(err);
}

static furrow_status open_log(change_log *log, const char *index_path, log_replay *replay, furrow_error *err) {
  FW_TRY(set_paths(log, index_path, err));
  FW_TRY(open_first(log, err));
  FW_TRY(replay_first(log, replay, err));
  FW_TRY(replay_second(log, replay, err));
  if (log->first.synced == 0) FW_TRY(start_file(log, &log->first, 1, 0, err));
  log->pending_at = log->first.synced;
  log->synced_next_id = log->next_id;
  return FURROW_OK;
}

furrow_status change_log_open(change_log **log, const char *index_path, uint32_t d, change_replay replay, void *user,
                              uint64_t *cut, furrow_error *err) {
  change_log *made = calloc(1, sizeof *made);
  if (!made) return fail_memory(err);
  made->d = d;
  made->first.fd = made->second.fd = -1;
  pthread_mutex_init(&made->sync_lock, NULL);
  pthread_mutex_init(&made->append_lock, NULL);
  log_replay replayed = {made, replay, user, 0};
  const furrow_status status = open_log(made, index_path, &replayed, err);
  if (status != FURROW_OK) {
    change_log_close(made);
    return status;
  }
  *cut = replayed.cut;
  *log = made;
  return FURROW_OK;
}

void change_log_close(change_log *log) {
  if (!log) return;
  close_file(&log->first);
  close_file(&log->second);
  fw_buffer_clear(&log->pending);
  fw_buffer_clear(&log->writing);
  pthread_mutex_destroy(&log->sync_lock);
  pthread_mutex_destroy(&log->append_lock);
  free(log->index_path);
  free(log->first_path);
  free(log->second_path);
  free(log->folder);
  free(log);
}
