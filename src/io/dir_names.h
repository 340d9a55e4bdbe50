/* io/dir_names.h: what is in a directory, by name. */
#ifndef FW_IO_DIR_NAMES_H
#define FW_IO_DIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "furrow/status.h"

/* All zeros is empty. */
typedef struct fw_dir_names {
  char **names; /* in the order of their bytes */
  size_t count, capacity;
} fw_dir_names;

/* Reads the names of a directory that `wanted` says yes to (NULL: all), without . and .. The list, empty before, is to
 * be cleared after a failure, too. E_NOT_FOUND: no such directory. */
furrow_status fw_dir_names_read(fw_dir_names *list, const char *folder, bool (*wanted)(void *user, const char *name),
                                void *user, furrow_error *err) FURROW_MUST_USE;
/* Frees; all zeros afterwards. */
void fw_dir_names_clear(fw_dir_names *list);

/* folder/name, or the folder alone for an empty name; slashes at the end of the folder are left out (but that of "/").
 * fw_free it. */
furrow_status fw_path_join(char **path, const char *folder, const char *name, furrow_error *err) FURROW_MUST_USE;

/* Brings the directory that a path is in to the disk: a name that was made or removed there stays so when the power
 * fails. A directory that may not be read cannot be synced, which is not an error. */
furrow_status fw_path_sync_names(const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
