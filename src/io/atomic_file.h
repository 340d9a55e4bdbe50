/* io/atomic_file.h: a file that appears either complete or not at all. */
#ifndef FW_IO_ATOMIC_FILE_H
#define FW_IO_ATOMIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"
#include "furrow/io.h"

typedef struct fw_atomic_file fw_atomic_file;

/* Starts a file that will become `path`. It is written in the same directory under a temporary name
 * (.<name>.furrow-XXXXXX) and locked until it has its final name (io/temporary.h). "-" is standard output: bytes go
 * there as they come. An existing path must be a regular file; its owner and permissions are kept. E_STATE, here and
 * from commit: another process has locked that file. */
furrow_status fw_atomic_file_open(fw_atomic_file **file, const char *path, furrow_error *err) FURROW_MUST_USE;
/* The same for a file that belongs to another file, `first`: if the path is new, it gets the owner and permissions that
 * `first` has now, if there is such a file. */
furrow_status fw_atomic_file_open_beside(fw_atomic_file **file, const char *path, const char *first,
                                         furrow_error *err) FURROW_MUST_USE;
/* The same for a caller's output, which gets the bytes in order and in large pieces; commit writes the last of them. */
furrow_status fw_atomic_file_open_output(fw_atomic_file **file, const furrow_output *output,
                                         furrow_error *err) FURROW_MUST_USE;
/* One file written by several ranks: the bytes of each rank follow the bytes of the ranks before it. Every rank but
 * the first writes to a nameless file in the same directory until fw_atomic_file_join, which is collective.
 * E_UNSUPPORTED: standard output. */
furrow_status fw_atomic_file_open_ranks(fw_atomic_file **file, const char *path, const furrow_comm *comm,
                                        furrow_error *err) FURROW_MUST_USE;
/* Makes commit fail with E_EXISTS if a file of that name exists, even one that appeared after the open. */
void fw_atomic_file_keep_existing(fw_atomic_file *file);
/* Appends (buffered). */
furrow_status fw_atomic_file_write(fw_atomic_file *file, const void *data, size_t size,
                                   furrow_error *err) FURROW_MUST_USE;
/* Overwrites bytes that were written earlier, such as a header whose counts are known only at the end. E_STATE if
 * bytes go out in order. */
furrow_status fw_atomic_file_write_at(fw_atomic_file *file, uint64_t offset, const void *data, size_t size,
                                      furrow_error *err) FURROW_MUST_USE;
/* The name of the temporary file in the directory of the path, for processes that write parts of it themselves; NULL
 * if there is none. The file owns the text. */
const char *fw_atomic_file_temporary(const fw_atomic_file *file);
/* Bytes appended so far. */
uint64_t fw_atomic_file_size(const fw_atomic_file *file);
/* Locks the directory of the path until the file is closed: for a file that is committed together with other files
 * in the same directory, so that the files of two processes do not mix. Waits for other processes that hold this
 * lock. */
furrow_status fw_atomic_file_lock_folder(const fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Flushes and syncs the file, which is the first half of a commit. For several files: errors show before the first
 * of them gets its name. */
furrow_status fw_atomic_file_prepare(fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Flushes, syncs, renames and syncs the directory. Nothing can be written afterwards. */
furrow_status fw_atomic_file_commit(fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Whether the new file has its final name. It has if only the sync of the directory failed. */
bool fw_atomic_file_is_in_place(const fw_atomic_file *file);
/* Brings what all ranks wrote into the first rank's file; all ranks call it, and then the first rank commits the file.
 * `mine` is this rank's status so far: if any rank failed, all fail. The first `skip` bytes that this rank wrote are
 * left out; for the first rank, `skip` must be 0. A file of one process only returns `mine`. */
furrow_status fw_atomic_file_join(fw_atomic_file *file, furrow_status mine, uint64_t skip,
                                  furrow_error *err) FURROW_MUST_USE;

/* ---- Files that belong together -------------------------------------------------------------------------- */

/* Commits files that belong together: the first one, and companions, which are in the same folder. None of them gets
 * its name before all are on the disk.
 * After a failure: all files are the old ones. If only the last sync of the folder failed, all are the new ones. If the
 *   old files cannot be put back either, or the file system has no hard links, companions may be missing.
 * If the process or the machine stops: the first file is the old or the new one, and companions may be missing.
 * In each case files that do not belong together are never side by side, from one process or from two. A companion that
 * is new gets the permissions of the file that the first one replaces. */
furrow_status fw_atomic_files_commit(fw_atomic_file *const *files, size_t count, furrow_error *err) FURROW_MUST_USE;
/* The same for companions of something else, which `first` puts in place. If `first` fails and leaves *changed false,
 * all stays as it was. A later failure does not undo what `first` did; the companions are missing then. */
typedef furrow_status (*fw_commit_first)(void *user, bool *changed, furrow_error *err);
furrow_status fw_atomic_files_commit_after(fw_atomic_file *const *files, size_t count, fw_commit_first first,
                                           void *user, furrow_error *err) FURROW_MUST_USE;
/* Frees, and removes the temporary file if it was not committed. Accepts NULL. */
void fw_atomic_file_close(fw_atomic_file *file);

#endif
