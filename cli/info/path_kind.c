/* cli/info/path_kind.c: which kind a path is, and commands that use it. */
#include "info/path_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text_file.h"

/* Kinds that are recognised by their content come first; text that may be rows comes last. */
static const path_kind *const kinds[] = {
    &recommender_kind, &model_kind,     &matrix_kind, &checkpoint_kind,  &forest_kind, &row_cache_kind,
    &index_kind,       &langchain_kind, &arrays_kind, &matrix_file_kind, &record_kind, &schema_kind,
    &conf_kind,        &encoder_kind,   &log_kind,    &rows_kind,        &table_kind};

const path_kind *path_kind_of(const path_inspection *look) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i]->is(look)) return kinds[i];
  return NULL;
}

static void put_quoted(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\'')
      fputs("'\\''", out);
    else
      fputc(*text, out);
  }
}

/* Writes the path and the first `length` bytes of `query` as one quoted word for the shell. */
static void put_word(FILE *out, const char *path, const char *query, size_t length) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:,%@=-";
  if (path[0] == '-') fputs("./", out);
  const char *quote = length || path[strspn(path, plain)] ? "'" : "";
  fputs(quote, out);
  put_quoted(out, path);
  fprintf(out, "%.*s%s", (int)length, query, quote);
}

/* Writes the text for the placeholder at `at` and returns the end of the placeholder. */
static const char *put_piece(FILE *out, const path_inspection *look, const char *at) {
  const char *slash = strrchr(look->path, '/');
  const size_t query = at[0] == '@' && (at[1] == '?' || at[1] == '&') ? strcspn(at + 1, " ") : 0;
  if (*at == '@')
    put_word(out, look->path, at + 1, query);
  else if (*at == '^')
    put_word(out, slash && slash[1] ? slash + 1 : look->path, "", 0);
  else
    fputc(*at, out);
  return at + 1 + query;
}

void path_advise(path_inspection *look, const char *command) {
  text_file line;
  furrow_error err;
  if (look->command_count == MOST_ADVICE) return;
  const bool begun = text_file_begin(&line, &err) == FURROW_OK;
  while (begun && *command) command = put_piece(line.out, look, command);
  if (begun && text_file_close(&line)) {
    look->commands[look->command_count++] = line.text;
  } else {
    look->r->out->errnum = ENOMEM;
    free(line.text); /* NULL where it was not begun */
  }
}

void advise_scoring(path_inspection *look, const char *options) {
  char command[128];
  snprintf(command, sizeof command, "furrow predict --model @%s --data ROWS", options);
  path_advise(look, command);
  snprintf(command, sizeof command, "furrow eval --model @%s --data ROWS", options);
  path_advise(look, command);
}

void advise_recommending(path_inspection *look) {
  path_advise(look, "furrow recommend --model @ --users all");
  path_advise(look, "furrow recommend --model @ --like ITEM");
  path_advise(look, "furrow eval --model @ --data LATER_LOG --rank");
}

void path_look_clear(path_inspection *look) {
  for (size_t i = 0; i < look->command_count; i++) free(look->commands[i]);
  look->command_count = 0;
}
