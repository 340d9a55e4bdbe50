/* cli/path_kind.c: which of the kinds a path is, and commands that have it in them. */
#include "path_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_file.h"

/* Those with marks of their own come first, text that may be rows comes last. */
static const path_kind *const kinds[] = {&model_kind,       &matrix_kind, &checkpoint_kind,
                                         &row_cache_kind,   &index_kind,  &arrays_kind,
                                         &matrix_file_kind, &conf_kind,   &rows_kind};

const path_kind *path_kind_of(const path_look *look) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i]->is(look)) return kinds[i];
  return NULL;
}

/* The path as one word of shell. */
static void put_word(FILE *out, const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:,%@=-";
  if (path[0] == '-') fputs("./", out);
  if (path[strspn(path, plain)] == 0) {
    fputs(path, out);
    return;
  }
  fputc('\'', out);
  for (; *path; path++) {
    if (*path == '\'')
      fputs("'\\''", out);
    else
      fputc(*path, out);
  }
  fputc('\'', out);
}

void path_advise(path_look *look, const char *command) {
  text_file line;
  furrow_error err;
  if (look->command_count == MOST_ADVICE || text_file_begin(&line, &err) != FURROW_OK) return;
  for (; *command; command++) {
    if (*command == '@')
      put_word(line.out, look->path);
    else
      fputc(*command, line.out);
  }
  if (fclose(line.out) == 0)
    look->commands[look->command_count++] = line.text;
  else
    free(line.text);
}

void path_look_clear(path_look *look) {
  for (size_t i = 0; i < look->command_count; i++) free(look->commands[i]);
  look->command_count = 0;
}
