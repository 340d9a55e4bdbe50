/* io/remote_target.h: files and directories that are written to a server: first here, in the folder TMPDIR (/tmp), and
 * at the end there. Paths that are removed and renamed, wherever they are. */
#ifndef FW_IO_REMOTE_TARGET_H
#define FW_IO_REMOTE_TARGET_H

#include "io/target.h"

/* Looks at the path of the target. E_EXISTS and E_ARGUMENT are left to the caller: *is_folder, *there. */
furrow_status fw_target_look(const fw_target *target, bool *there, bool *is_folder, furrow_error *err) FURROW_MUST_USE;
/* Checks that the server lets this process write, as far as it tells without a trace. `inside`: a path in the target's
 * directory; "": the target itself. */
furrow_status fw_target_check(const fw_target *target, const char *inside, furrow_error *err) FURROW_MUST_USE;
/* Sends a file; it appears with fw_target_finish (E_EXISTS if there is a file and `only_new`). fw_target_drop frees the
 * upload, and removes what was sent if it was not finished; it accepts NULL. */
furrow_status fw_target_begin(const fw_target *target, const char *inside, int fd, uint64_t size, void **upload,
                              furrow_error *err) FURROW_MUST_USE;
furrow_status fw_target_finish(const fw_target *target, void *upload, bool only_new, furrow_error *err) FURROW_MUST_USE;
void fw_target_drop(const fw_target *target, void *upload);
furrow_status fw_target_remove(const fw_target *target, const char *inside, furrow_error *err) FURROW_MUST_USE;

/* Sends all files of an open directory. A server has no directories that could be exchanged, so the files that make a
 * reader find the others (metadata, JSON, at last furrow.json) are removed first and sent last: what is there between
 * is not a model, rather than a mixture of two. Files that the new directory does not have are removed. */
furrow_status fw_target_send_tree(const fw_target *target, int fd, bool replaces, furrow_error *err) FURROW_MUST_USE;

/* Like unlink and rename, for files anywhere. A file that is not there is no error of fw_path_remove. */
furrow_status fw_path_remove(const char *path, furrow_error *err) FURROW_MUST_USE;
furrow_status fw_path_rename(const char *from, const char *to, furrow_error *err) FURROW_MUST_USE;

#endif
