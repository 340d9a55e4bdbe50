/* io/file_lock.h: locks for replacing: a file or directory is replaced only when no other process is changing it. */
#ifndef FW_IO_FILE_LOCK_H
#define FW_IO_FILE_LOCK_H

#include <sys/stat.h>

#include "io/target.h"

/* The old file or directory, locked for the moment of the rename. */
typedef struct fw_replacing {
  int fd;          /* -1: there is none, or it cannot be locked, or this process holds its lock already */
  bool is_own;     /* this process holds its lock already */
  uint64_t device; /* device and inode of the old one, if is_own */
  uint64_t inode;
} fw_replacing;

/* Waits a little for processes that are about to release the lock. E_STATE: another process holds the lock. */
furrow_status fw_replacing_begin(fw_replacing *old, const fw_target *target, furrow_error *err) FURROW_MUST_USE;
/* `fd`: the new file, in place; -1: nothing was replaced. A furrow_file_lock of this process on the old file moves
 * to the new one, so the path stays locked. */
void fw_replacing_end(fw_replacing *old, int fd);

/* Whether this process holds a furrow_file_lock on the file. */
bool fw_file_lock_is_own(const struct stat *file);

/* Takes the lock and releases it without a change: E_STATE if the target could not be replaced now. */
furrow_status fw_target_check_free(const fw_target *target, furrow_error *err) FURROW_MUST_USE;

/* Locks the directory of the target while several files that belong together are replaced in it, so that the files
 * of two processes do not mix. Waits for other processes. fw_target_unlock or fw_target_clear releases the lock. */
furrow_status fw_target_lock(const fw_target *target, furrow_error *err) FURROW_MUST_USE;
void fw_target_unlock(const fw_target *target);

#endif
