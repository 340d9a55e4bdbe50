/* io/dir_names.h: lists the names in a directory. */
#ifndef FW_IO_DIR_NAMES_H
#define FW_IO_DIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

/* All zeros is an empty list. */
typedef struct fw_dir_names {
  char **names; /* in byte order */
  size_t count, capacity;
} fw_dir_names;

/* Reads the names of a directory that `wanted` accepts (NULL: all), except . and .. The list must be empty; clear it
 * even after a failure. E_NOT_FOUND: no such directory. */
furrow_status fw_dir_names_read(fw_dir_names *list, const char *folder, bool (*wanted)(void *user, const char *name),
                                void *user, furrow_error *err) FURROW_MUST_USE;
/* Frees; the struct is all zeros afterwards. */
void fw_dir_names_clear(fw_dir_names *list);

/* Returns folder/name, or the folder alone for an empty name. Slashes at the end of the folder are dropped, except
 * in "/". Free it with fw_free. */
furrow_status fw_path_join(char **path, const char *folder, const char *name, furrow_error *err) FURROW_MUST_USE;

/* Syncs the directory that contains a path, so that a name that was created or removed there stays so after a power
 * failure. A directory that this process may not read cannot be synced, which is not an error. */
furrow_status fw_path_sync_names(const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
