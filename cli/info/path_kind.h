/* cli/info/path_kind.h: what a file or folder is: the readers of the library are asked, one after the other. */
#ifndef CLI_INFO_PATH_KIND_H
#define CLI_INFO_PATH_KIND_H

#include "core/report.h"

enum { MOST_ADVICE = 4 };

/* A path that is looked at. */
typedef struct path_inspection {
  const char *path;
  bool folder;
  report *r;                   /* gets the facts */
  char *commands[MOST_ADVICE]; /* what can be done with it: lines of shell */
  size_t command_count;
} path_inspection;

typedef struct path_kind {
  const char *name;  /* "index" */
  const char *about; /* "an index as Faiss stores it" */
  /* Whether a reader takes it for this kind, be it damaged or not. */
  bool (*is)(const path_inspection *look);
  /* Reports facts, and notes commands. A damaged file is an error with the check that failed. */
  furrow_status (*describe)(path_inspection *look, furrow_error *err);
} path_kind;

/* What it is; NULL: nothing that Furrow reads. */
const path_kind *path_kind_of(const path_inspection *look);

/* Notes a command. As words of shell @ stands for the path, with what follows it from a ? on, and ^ for the last name
 * in the path. */
void path_advise(path_inspection *look, const char *command);
void path_look_clear(path_inspection *look);

/* ---- The kinds, by what reads them ---- */

extern const path_kind row_cache_kind, rows_kind;                 /* path_rows.c */
extern const path_kind model_kind, matrix_kind, matrix_file_kind; /* path_model.c */
extern const path_kind index_kind, arrays_kind;                   /* path_vectors.c */
extern const path_kind checkpoint_kind, conf_kind;                /* path_learn.c */

#endif
