/* cli/text_file.h: small files that the command writes beside its results: complete, or not at all. */
#ifndef FURROW_CLI_TEXT_FILE_H
#define FURROW_CLI_TEXT_FILE_H

#include <stdbool.h>

#include "furrow/status.h"

/* Writes beside it and renames. E_EXISTS when there is one and `force` is not set. */
furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err);
/* Whether a path ends so. */
bool path_ends(const char *path, const char *ending);

#endif
