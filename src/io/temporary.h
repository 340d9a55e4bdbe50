/* io/temporary.h: temporary files and directories: who owns them, and the removal of the ones whose process is gone.
 *
 * The process holds a lock (flock) on its temporary file until the file has its final name or the process is gone.
 * If the lock is free, the process has ended, and the leftover can be removed. On file systems without locks, and on
 * file systems that several machines share, nothing is removed. */
#ifndef FW_IO_TEMPORARY_H
#define FW_IO_TEMPORARY_H

#include <stdbool.h>

#include "furrow/status.h"

/* Locks a file or directory that was just made under a temporary name. Returns false if another process took it for
 * a leftover before that; the caller then tries another name. */
bool fw_temporary_claim(int directory, const char *name, int fd);

/* Remembers a temporary file for furrow_process_clean_up until it is forgotten. Returns its place, or -1 if none is
 * free. */
int fw_temporary_note(int directory, const char *name);
/* The same for a file that is about to be made: if the process is asked to end, either the file is not made any more
 * or furrow_process_clean_up removes it. fw_temporary_made must follow. */
int fw_temporary_announce(int directory, const char *name);
void fw_temporary_made(int place);
/* Accepts -1. */
void fw_temporary_forget(int place);

/* Makes a file without a name in the folder, for reading and writing. It is gone when it is closed, or the process
 * ends. */
furrow_status fw_temporary_nameless(int *fd, const char *folder, furrow_error *err) FURROW_MUST_USE;

/* Removes what killed processes of this user left in the directory. Inspects each directory once per process. */
void fw_temporary_sweep(int directory);

/* Removes a file, or a directory with all its contents. Returns 0 or an errno; a missing file is not a failure.
 * Links are removed, not followed. Async-signal-safe. */
int fw_tree_remove(int parent, const char *name);

#endif
