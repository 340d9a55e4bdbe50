/* io/target.h: the destination of a new file or directory: its directory, its name there, and a temporary name in
 * the same directory. */
#ifndef FW_IO_TARGET_H
#define FW_IO_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"
#include "io/file_system.h"

#define FW_TARGET_MAX_NAME 255

typedef struct fw_target {
  char *path;     /* as the caller wrote it, for messages */
  char *resolved; /* the path, with links of its last component followed */
  char *name;     /* points to the last component of `resolved` */
  int directory;  /* held open, so that the working directory may change; -1: none */
  char temporary[FW_TARGET_MAX_NAME + 1];
  /* a path of a server (io/remote_target.h): `resolved` and `name` are then of a file in TMPDIR that is never made */
  const fw_remote_store *store; /* NULL: on this machine */
  fw_file_system *system;
  const char *rest; /* points to the part of the path after name:// */
} fw_target;

/* Follows links (the last one may lead to a path that does not exist yet) and opens the directory. The caller passes
 * a cleared struct and clears it again, even after a failure. */
furrow_status fw_target_find(fw_target *target, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_target_clear(fw_target *target);

/* Picks a temporary name: .<name>.furrow-XXXXXX */
void fw_target_pick_name(fw_target *target, unsigned attempt);

/* Whether it looks like a temporary name: of a file that a process is writing, or that a killed process left. */
bool fw_target_is_temporary(const char *name);

/* Whether fw_target_pick_name could have picked this name. */
bool fw_target_is_drawn(const char *name);
/* Finds the name that a temporary name was picked for. Returns false if it was truncated. */
bool fw_target_of_temporary(char name[FW_TARGET_MAX_NAME + 1], const char *temporary);

/* Fails with the path; ENOENT and ENOTDIR are E_NOT_FOUND, everything else is E_IO. */
furrow_status fw_target_fail_errno(const fw_target *target, furrow_error *err, int errnum, const char *what);
furrow_status fw_target_fail(const fw_target *target, furrow_error *err, furrow_status status, const char *what);

/* Writes all bytes at an offset of a file. Returns 0 or an errno. */
int fw_write_at(int fd, const void *data, size_t size, uint64_t offset) FURROW_MUST_USE;

#endif
