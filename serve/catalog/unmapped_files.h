/* serve/catalog/unmapped_files.h: files and folders that the library reads, but cannot map: "unmapped://PATH" is PATH.
 * What is loaded from there stays whole when a file is cut, overwritten or removed; a server that had it mapped would
 * die with SIGBUS. */
#ifndef SERVE_CATALOG_UNMAPPED_FILES_H
#define SERVE_CATALOG_UNMAPPED_FILES_H

#include "furrow/status.h"

/* Makes the files readable; from any thread, any number of times. */
furrow_status unmapped_files_register(furrow_error *err);
/* Makes "unmapped://PATH"; a path in another file system (memory://…) stays as it is. Owner: the caller frees it; NULL:
 * there is not the memory. */
char *unmapped_path(const char *path);
/* Takes "unmapped://" off the file's name in an error. */
void unmapped_error(furrow_error *err);

#endif
