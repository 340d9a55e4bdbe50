/* io/fetched.h: copies on this machine of files elsewhere, for libraries that open files by their names. A copy is a
 * temporary file without a name in the folder TMPDIR (/tmp): it ends with the process, however that ends. Copies that
 * nobody uses any more stay while all of them take at most 4 GiB, so that a log that is read several times is fetched
 * once, unless it has changed. Threads: any. */
#ifndef FW_IO_FETCHED_H
#define FW_IO_FETCHED_H

#include "furrow/status.h"

typedef struct fw_fetched fw_fetched;

/* Errors: those of reading the path; E_IO, the copy cannot be written. */
furrow_status fw_fetched_open(fw_fetched **copy, const char *path, furrow_error *err) FURROW_MUST_USE;
/* A name under which this process can open the copy. */
const char *fw_fetched_name(const fw_fetched *copy);
/* Accepts NULL. */
void fw_fetched_close(fw_fetched *copy);

#endif
