/* cli/core/text_file.c: small text files, which appear complete or not at all. */
#include "core/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "rows/rows_sink.h"

enum { PATH_BYTES = 4096 };

bool path_ends(const char *path, const char *ending) {
  const size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcmp(path + n - m, ending) == 0;
}

void markup_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '"')
      fputs("&quot;", out);
    else if ((unsigned char)*text >= 0x20)
      fputc(*text, out);
  }
}

static bool fill(FILE *file, const char *text, size_t size) {
  const bool written = fwrite(text, 1, size, file) == size && fflush(file) == 0 && fsync(fileno(file)) == 0;
  return fclose(file) == 0 && written;
}

/* Opens a temporary file, whose name is then in `beside`. */
static furrow_status open_beside(FILE **file, char beside[PATH_BYTES], const char *path, bool force,
                                 furrow_error *err) {
  furrow_status status = sink_check_path(path, force, err);
  if (status != FURROW_OK) return status;
  if (snprintf(beside, PATH_BYTES, "%s.%ld.tmp", path, (long)getpid()) >= PATH_BYTES)
    return fail_file(err, FURROW_E_ARGUMENT, path, "the path is too long", 0);
  *file = fopen(beside, "wbxe");
  return *file ? FURROW_OK : fail_file(err, FURROW_E_IO, path, "cannot be written", errno);
}

furrow_status text_file_check(const char *path, bool force, furrow_error *err) {
  char beside[PATH_BYTES];
  FILE *file = NULL;
  furrow_status status = open_beside(&file, beside, path, force, err);
  if (status != FURROW_OK) return status;
  fclose(file);
  remove(beside);
  return FURROW_OK;
}

furrow_status text_file_write(const char *path, const char *text, size_t size, bool force, furrow_error *err) {
  char beside[PATH_BYTES];
  FILE *file = NULL;
  furrow_status status = open_beside(&file, beside, path, force, err);
  if (status != FURROW_OK) return status;
  if (fill(file, text, size) && rename(beside, path) == 0) return FURROW_OK;
  const int errnum = errno;
  remove(beside);
  return fail_file(err, FURROW_E_IO, path, "cannot be written", errnum);
}

furrow_status text_file_begin(text_file *file, furrow_error *err) {
  *file = (text_file){0};
  file->out = open_memstream(&file->text, &file->size);
  return file->out ? FURROW_OK : fail_memory(err);
}

furrow_status text_file_end(text_file *file, const char *path, bool force, furrow_error *err) {
  const bool failed = ferror(file->out) != 0;
  furrow_status status = FURROW_OK;
  if (fclose(file->out) != 0 || failed) status = fail_memory(err);
  if (status == FURROW_OK && path) status = text_file_write(path, file->text, file->size, force, err);
  free(file->text);
  return status;
}
