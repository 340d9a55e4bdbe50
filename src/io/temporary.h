/* io/temporary.h: hidden files and directories that are about to become something else: whose they are, and what
 * becomes of those whose process is gone.
 *
 * Its process holds a lock on it (flock) until it has its final name or is gone. A lock that is free says that the
 * process has ended, so what is left can be removed. On file systems without locks, and on those that several machines
 * share, nothing is removed. */
#ifndef FW_IO_TEMPORARY_H
#define FW_IO_TEMPORARY_H

#include <stdbool.h>

/* Locks what was made just now under a temporary name. false: another process took it for a leftover before that, so
 * it is to be made anew under another name. */
bool fw_temporary_claim(int directory, const char *name, int fd);

/* Remembers a temporary for furrow_process_clean_up, until it is forgotten. Returns its place, -1 if there is none. */
int fw_temporary_note(int directory, const char *name);
/* The same for one that is about to be made: whenever the process is told to end, either it is not made any more or
 * furrow_process_clean_up removes it. fw_temporary_made follows. */
int fw_temporary_announce(int directory, const char *name);
void fw_temporary_made(int place);
/* Takes -1. */
void fw_temporary_forget(int place);

/* Removes what killed processes of this user left in the directory. Does so once for each directory and process. */
void fw_temporary_sweep(int directory);

/* Removes a file, or a directory with all that is in it; 0 or an errno. What is gone already is not a failure. Links
 * are removed, not followed. Async-signal-safe. */
int fw_tree_remove(int parent, const char *name);

#endif
