/* io/file_lock.h: locks of what is replaced: a file or a directory is put in the place of another one only when no
 * other process is changing that. */
#ifndef FW_IO_FILE_LOCK_H
#define FW_IO_FILE_LOCK_H

#include <sys/stat.h>

#include "io/target.h"

/* The old one, locked for the moment of the rename. */
typedef struct fw_replacing {
  int fd;          /* -1: there is none, or it cannot be locked, or this process has its lock already */
  bool is_own;     /* the last of these */
  uint64_t device; /* of what is locked by this process */
  uint64_t inode;
} fw_replacing;

/* Waits a little for those who are about to end. E_STATE: another process has the lock. */
furrow_status fw_replacing_begin(fw_replacing *old, const fw_target *target, furrow_error *err) FURROW_MUST_USE;
/* `fd`: the new one, in place; -1: none is. A furrow_file_lock that this process has on the old one becomes one on the
 * new one, so that the path stays locked. */
void fw_replacing_end(fw_replacing *old, int fd);

/* Whether this process has a furrow_file_lock on the file. */
bool fw_file_lock_is_own(const struct stat *file);

/* Begins and ends it without a change: E_STATE if the target could not be replaced now. */
furrow_status fw_target_check_free(const fw_target *target, furrow_error *err) FURROW_MUST_USE;

/* Locks the directory of the target while several of its files are replaced that belong together, so that those of two
 * processes do not mix. Waits for others. Unlocked by fw_target_unlock or with fw_target_clear. */
furrow_status fw_target_lock(const fw_target *target, furrow_error *err) FURROW_MUST_USE;
void fw_target_unlock(const fw_target *target);

#endif
