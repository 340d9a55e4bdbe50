/* serve/catalog/unmapped_files.h: files that the library reads, but cannot map: "unmapped://PATH" is PATH. What is
 * loaded from there stays whole when the file is cut, overwritten or removed. */
#ifndef SERVE_CATALOG_UNMAPPED_FILES_H
#define SERVE_CATALOG_UNMAPPED_FILES_H

#include <stdbool.h>

#include "furrow/status.h"

/* Which file it is, and in what state; all 0: there is none. */
typedef struct file_state {
  uint64_t device, number, size;
  int64_t changed_s, changed_ns;
} file_state;

/* The files of an index: its own, and that of its names. Start with {0}. */
typedef struct index_print {
  file_state index, names;
} index_print;

/* Makes the files readable; from any thread, any number of times. */
furrow_status unmapped_files_register(furrow_error *err);
/* Makes "unmapped://PATH". Owner: the caller frees it; NULL: there is not the memory. */
char *unmapped_path(const char *path);
/* Takes "unmapped://" off the file's name in an error. */
void unmapped_error(furrow_error *err);
/* Errors: E_NOT_FOUND; E_IO. */
furrow_status index_print_get(index_print *print, const char *path, furrow_error *err);
/* Finds out whether an index has a file of names, PATH.names.
 * Errors: E_IO, it is there, or may be, but cannot be reached; E_FORMAT, it is not a regular file. */
furrow_status index_names_check(const char *path, bool *has_names, furrow_error *err);
bool index_print_equals(const index_print *a, const index_print *b);

#endif
