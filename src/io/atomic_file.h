/* io/atomic_file.h: a file that appears complete or not at all. */
#ifndef FW_IO_ATOMIC_FILE_H
#define FW_IO_ATOMIC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/collectives.h"
#include "furrow/io.h"

typedef struct fw_atomic_file fw_atomic_file;

/* Starts a file that will be `path`: written beside it under a temporary name (.<name>.furrow-XXXXXX), and locked until
 * it has its own (io/temporary.h). "-" is standard output: bytes go there as they come. A path that exists must be a
 * regular file; its permissions are kept. E_STATE, here and from commit: another process has locked that file. */
furrow_status fw_atomic_file_open(fw_atomic_file **file, const char *path, furrow_error *err) FURROW_MUST_USE;
/* The same for an output of the caller's, which gets the bytes in order and in large pieces, the last of them from
 * commit. */
furrow_status fw_atomic_file_open_output(fw_atomic_file **file, const furrow_output *output,
                                         furrow_error *err) FURROW_MUST_USE;
/* One file of several ranks: what each of them writes lies behind what the ranks before it write. Every rank but the
 * first writes to a file without a name in the same directory until commit, which is collective, as opening is not.
 * E_UNSUPPORTED: standard output. */
furrow_status fw_atomic_file_open_ranks(fw_atomic_file **file, const char *path, const furrow_comm *comm,
                                        furrow_error *err) FURROW_MUST_USE;
/* From now on commit fails with E_EXISTS where there is a file of that name, even one that appeared meanwhile. */
void fw_atomic_file_keep_existing(fw_atomic_file *file);
/* Appends (buffered). */
furrow_status fw_atomic_file_write(fw_atomic_file *file, const void *data, size_t size,
                                   furrow_error *err) FURROW_MUST_USE;
/* Overwrites bytes that were written before: for a header whose numbers are known at the end. E_STATE where
 * bytes go out in order. */
furrow_status fw_atomic_file_write_at(fw_atomic_file *file, uint64_t offset, const void *data, size_t size,
                                      furrow_error *err) FURROW_MUST_USE;
/* The name of the temporary file in the folder of the path, for processes that write parts of it themselves; NULL:
 * none. It stays the file's own. */
const char *fw_atomic_file_temporary(const fw_atomic_file *file);
/* Bytes appended so far. */
uint64_t fw_atomic_file_size(const fw_atomic_file *file);
/* Locks the folder of the path until the file is closed: for a file that is committed in steps with others beside it,
 * so that the files of two processes do not mix. Waits for other processes that do the same. */
furrow_status fw_atomic_file_lock_folder(const fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Brings what was written to the disk, as a commit begins: for several files, so that what fails does so before the
 * first of them has its name. */
furrow_status fw_atomic_file_prepare(fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Flushes, syncs, renames, syncs the directory. Then nothing more can be written. */
furrow_status fw_atomic_file_commit(fw_atomic_file *file, furrow_error *err) FURROW_MUST_USE;
/* Whether the new file has its name, as it has where only the sync of the directory failed. */
bool fw_atomic_file_is_in_place(const fw_atomic_file *file);
/* The same for a file and one that says what is in it. Where bytes cannot be written, both stay what they were. If a
 * rename fails, or the process or the machine stops between two, `file` is the old or the new one and `beside` may be
 * missing: there are never two that do not belong together, of one process or of two. */
furrow_status fw_atomic_file_commit_pair(fw_atomic_file *file, fw_atomic_file *beside,
                                         furrow_error *err) FURROW_MUST_USE;
/* The same for a file of several ranks, called by all of them. `mine` is what this rank came to before: where any
 * failed, all fail. The first `skip` bytes that this rank wrote are left out; that of the first must be 0. */
furrow_status fw_atomic_file_commit_ranks(fw_atomic_file *file, furrow_status mine, uint64_t skip,
                                          furrow_error *err) FURROW_MUST_USE;
/* Frees; removes the temporary file if it was not committed. Takes NULL. */
void fw_atomic_file_close(fw_atomic_file *file);

#endif
