/* serve/shared/loaded_files.h: the files that are loaded: whether they are still the same, and reading them without
 * mapping them. */
#ifndef SERVE_SHARED_LOADED_FILES_H
#define SERVE_SHARED_LOADED_FILES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "furrow/status.h"

/* A fingerprint of names, sizes, times and inodes of any number of files. Start with {0}: no files. */
typedef struct file_print {
  uint64_t hash;  /* a sum over the files: their order does not count */
  uint64_t bytes; /* bytes of all of them */
} file_print;

void file_print_add(file_print *print, const char *name, const struct stat *info);
/* Adds the file at a path, if there is one. Returns whether there is; errno says why not. */
bool file_print_add_path(file_print *print, const char *path);
bool file_print_equals(const file_print *a, const file_print *b);
/* Makes the fingerprint of an index: its file and its files of names and attributes.
 * Errors: E_NOT_FOUND; E_IO. */
furrow_status index_print_get(file_print *print, const char *path, furrow_error *err);

/* Files and folders that the library reads, but cannot map: "unmapped://PATH" is PATH. What is loaded from there stays
 * whole when a file is cut, overwritten or removed; a server that had it mapped would die with SIGBUS. */

/* Makes the files readable; from any thread, any number of times. */
furrow_status unmapped_files_register(furrow_error *err);
/* Makes "unmapped://PATH"; a path in another file system (memory://…) stays as it is. Owner: the caller frees it; NULL:
 * out of memory. */
char *unmapped_path(const char *path);
/* Removes "unmapped://" from the file's name in an error. */
void unmapped_error(furrow_error *err);

#endif
