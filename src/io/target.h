/* io/target.h: where something new goes: its directory, its name there, and a temporary name beside it. */
#ifndef FW_IO_TARGET_H
#define FW_IO_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "furrow/status.h"

#define FW_TARGET_MAX_NAME 255

typedef struct fw_target {
  char *path;     /* as the caller gave it: for messages */
  char *resolved; /* path with its last component's links followed */
  char *name;     /* in resolved: its last component */
  int directory;  /* held open, so that a change of the working directory does no harm; -1: none */
  char temporary[FW_TARGET_MAX_NAME + 1];
} fw_target;

/* Follows links (the last may lead to what is not there yet) and opens the directory. The struct, cleared by the
 * caller, is to be cleared again after a failure, too. */
furrow_status fw_target_find(fw_target *target, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_target_clear(fw_target *target);

/* Draws a temporary name: .<name>.furrow-XXXXXX */
void fw_target_pick_name(fw_target *target, unsigned attempt);

/* Whether it is such a name: what a process writes, or what a kill left behind. */
bool fw_target_is_temporary(const char *name);

/* Whether fw_target_pick_name could have drawn it. */
bool fw_target_is_drawn(const char *name);
/* The name that a temporary one was drawn for. false: it was too long to be kept whole. */
bool fw_target_of_temporary(char name[FW_TARGET_MAX_NAME + 1], const char *temporary);

/* An error with the path; ENOENT and ENOTDIR are E_NOT_FOUND, all else is E_IO. */
furrow_status fw_target_fail_errno(const fw_target *target, furrow_error *err, int errnum, const char *what);
furrow_status fw_target_fail(const fw_target *target, furrow_error *err, furrow_status status, const char *what);

/* Writes all of it at its place in a file; 0, or the errno that says why not. */
int fw_write_at(int fd, const void *data, size_t size, uint64_t offset) FURROW_MUST_USE;

#endif
