/* serve/catalog/file_print.h: whether files are still those that were loaded: a fingerprint of names, sizes, times and
 * inodes of any number of files. */
#ifndef SERVE_CATALOG_FILE_PRINT_H
#define SERVE_CATALOG_FILE_PRINT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "furrow/status.h"

/* Start with {0}: no files. */
typedef struct file_print {
  uint64_t hash;  /* a sum over the files: their order does not count */
  uint64_t bytes; /* of all of them */
} file_print;

void file_print_add(file_print *print, const char *name, const struct stat *info);
/* Adds the file at a path, if there is one. Returns whether there is; errno says why not. */
bool file_print_add_path(file_print *print, const char *path);
bool file_print_equals(const file_print *a, const file_print *b);
/* Of an index: its file, and that of its names.
 * Errors: E_NOT_FOUND; E_IO. */
furrow_status index_print_get(file_print *print, const char *path, furrow_error *err);

#endif
