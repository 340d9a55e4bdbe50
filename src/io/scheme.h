/* io/scheme.h: where a path leads: files of this machine, or a service whose paths begin with x://.
 * The seam for remote bytes: a service that gets built in fills its row of the table in scheme.c. */
#ifndef FW_IO_SCHEME_H
#define FW_IO_SCHEME_H

#include "io/fileset.h"

/* A growing list of files; all zeros is empty. */
typedef struct fw_file_list {
  fw_file *files;
  size_t nfiles, capacity;
} fw_file_list;

/* Appends a file with a copy of the path. */
furrow_status fw_file_list_add(fw_file_list *list, const char *path, fw_file_kind kind, uint64_t size, int64_t mtime_ns,
                               furrow_error *err) FURROW_MUST_USE;
void fw_file_list_clear(fw_file_list *list);

typedef struct fw_scheme {
  const char *name;
  /* Appends the files that `rest` (what follows "x://") means; E_NOT_FOUND if there are none. Errors name the path.
   * NULL: known, not built in. */
  furrow_status (*find)(fw_file_list *list, const char *rest, furrow_error *err);
} fw_scheme;

/* The scheme of a path, in any case of letters, and the place after its "://"; "file" and the whole path when it has
 * none. E_UNSUPPORTED when it is unknown or not built in. */
furrow_status fw_scheme_find(const fw_scheme **scheme, const char **rest, const char *path,
                             furrow_error *err) FURROW_MUST_USE;

/* A file, a directory or a glob of this machine. */
furrow_status fw_local_find(fw_file_list *list, const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
