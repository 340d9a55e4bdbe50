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
 * there as they come. An existing path must be a regular file; its permissions are kept. E_STATE, here and from
 * commit: another process has locked that file. */
furrow_status fw_atomic_file_open(fw_atomic_file **file, const char *path, furrow_error *err) FURROW_MUST_USE;
/* The same for a caller's output, which gets the bytes in order and in large pieces; commit writes the last of them. */
furrow_status fw_atomic_file_open_output(fw_atomic_file **file, const furrow_output *output,
                                         furrow_error *err) FURROW_MUST_USE;
/* One file written by several ranks: the bytes of each rank follow the bytes of the ranks before it. Every rank but
 * the first writes to a nameless file in the same directory until commit. Commit is collective; opening is not.
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
/* Commits a file together with a second file that describes it. If writing fails, both stay as they were. If a
 * rename fails, or the process or the machine stops between two renames, `file` is the old or the new one and
 * `companion` may be missing: there is never a pair that does not belong together, from one process or from two. */
furrow_status fw_atomic_file_commit_pair(fw_atomic_file *file, fw_atomic_file *companion,
                                         furrow_error *err) FURROW_MUST_USE;
/* Commits a file of several ranks; all ranks call it. `mine` is this rank's status so far: if any rank failed, all
 * fail. The first `skip` bytes that this rank wrote are left out; for the first rank, `skip` must be 0. */
furrow_status fw_atomic_file_commit_ranks(fw_atomic_file *file, furrow_status mine, uint64_t skip,
                                          furrow_error *err) FURROW_MUST_USE;
/* Frees, and removes the temporary file if it was not committed. Accepts NULL. */
void fw_atomic_file_close(fw_atomic_file *file);

#endif
