/* cli/core/text_file.h: small files that the command writes beside its results: complete, or not at all. */
#ifndef CLI_CORE_TEXT_FILE_H
#define CLI_CORE_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "furrow/status.h"

/* Writes beside it and renames. E_EXISTS when there is one and `force` is not set. */
furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err);

/* Text that is printed first and written then. */
typedef struct text_file {
  FILE *out;
  char *text;
  size_t size;
} text_file;

furrow_status text_file_begin(text_file *file, furrow_error *err);
/* Writes what was printed (path NULL: does not), and frees it in any case. */
furrow_status text_file_end(text_file *file, const char *path, bool force, furrow_error *err);

/* A text in SVG or HTML: what would be read as markup is written otherwise, control characters are left out. */
void markup_text(FILE *out, const char *text);

/* Whether a path ends so. */
bool path_ends(const char *path, const char *ending);

#endif
