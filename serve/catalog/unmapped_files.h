/* serve/catalog/unmapped_files.h: files that the library reads, but cannot map: "unmapped://PATH" is PATH. What is
 * loaded from there stays whole when the file is cut, overwritten or removed. */
#ifndef SERVE_CATALOG_UNMAPPED_FILES_H
#define SERVE_CATALOG_UNMAPPED_FILES_H

#include <stdbool.h>

#include "furrow/status.h"

/* Which file it is, and in what state. Start with {0}: no file. */
typedef struct file_print {
  uint64_t device, number; /* of the file */
  uint64_t size;
  int64_t changed_s, changed_ns;
} file_print;

/* Makes the files readable; from any thread, any number of times. */
furrow_status unmapped_files_register(furrow_error *err);
/* Makes "unmapped://PATH". Owner: the caller frees it; NULL: there is not the memory. */
char *unmapped_path(const char *path);
/* Takes "unmapped://" off the file's name in an error. */
void unmapped_error(furrow_error *err);
/* Errors: E_NOT_FOUND; E_IO. */
furrow_status file_print_get(file_print *print, const char *path, furrow_error *err);
bool file_print_equals(const file_print *a, const file_print *b);

#endif
