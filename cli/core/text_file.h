/* cli/core/text_file.h: small text files, which appear complete or not at all. */
#ifndef CLI_CORE_TEXT_FILE_H
#define CLI_CORE_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

/* Writes a temporary file and renames it. E_EXISTS: the file exists and `force` is not set. */
furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err);

/* Whether it can be written, before a long job. Errors as text_file_write. */
furrow_status text_file_check(const char *path, bool force, furrow_error *err);

/* Text that is collected in memory and then written. */
typedef struct text_file {
  FILE *out;
  char *text;
  size_t size;
} text_file;

furrow_status text_file_begin(text_file *file, furrow_error *err);
/* Writes the text (path NULL: drops it) and frees it in any case. */
furrow_status text_file_end(text_file *file, const char *path, bool force, furrow_error *err);

/* Prints a text for SVG or HTML: escapes markup and drops control characters. */
void markup_text(FILE *out, const char *text);

/* Returns whether a path has that ending. */
bool path_ends(const char *path, const char *ending);

#endif
