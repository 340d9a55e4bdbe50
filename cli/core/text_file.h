/* cli/core/text_file.h: small text files, which appear complete or not at all. */
#ifndef CLI_CORE_TEXT_FILE_H
#define CLI_CORE_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

/* Writes a temporary file, renames it and syncs the directory. E_EXISTS: the file exists and `force` is not set. */
furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err);

/* Syncs the directory of a path, so that a name that was created or removed there survives a loss of power. */
furrow_status names_sync(const char *path, furrow_error *err);

/* Sets the folder that a path is in, cut off where it does not fit, and returns the name in it. */
const char *path_folder(const char *path, char *folder, size_t size);

/* Checks before a long job that the file can be written. Errors as text_file_write. */
furrow_status text_file_check(const char *path, bool force, furrow_error *err);

/* Text that is collected in memory and then written. */
typedef struct text_file {
  FILE *out;
  char *text;
  size_t size;
} text_file;

furrow_status text_file_begin(text_file *file, furrow_error *err);
/* Ends the text; false: memory ran out, and the text is incomplete. The caller frees it in any case. */
bool text_file_close(text_file *file);
/* Writes the text (path NULL: drops it) and frees it in any case. */
furrow_status text_file_end(text_file *file, const char *path, bool force, furrow_error *err);

/* Look at a path of this machine or of a server. What a server does not show counts as there. */
bool path_is_there(const char *path);
bool path_is_folder(const char *path);
/* Whether the path is not a plain path of this machine: name://… */
bool path_is_named(const char *path);

/* Returns whether a path has that ending. */
bool path_ends(const char *path, const char *ending);

#endif
