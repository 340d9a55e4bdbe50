/* io/path_files.h: the files that a path means. */
#ifndef FW_IO_PATH_FILES_H
#define FW_IO_PATH_FILES_H

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

/* Appends a file, those of a directory or those of a glob, of this machine or of another file system; E_NOT_FOUND if
 * there are none. Errors name the path. */
furrow_status fw_path_find_files(fw_file_list *list, const char *path, furrow_error *err) FURROW_MUST_USE;

#endif
