/* cli/info/path_kind.h: finds out the kind of a file or folder by trying the library's readers one after the other. */
#ifndef CLI_INFO_PATH_KIND_H
#define CLI_INFO_PATH_KIND_H

#include "core/report.h"
#include "furrow/table.h"

enum { MOST_ADVICE = 7 };

/* The first rows of a text, if they are a table: read once, and judged once, for all kinds of tables. */
typedef struct table_head {
  bool looked;           /* the following members are set */
  bool kept;             /* the rows are a file in memory */
  furrow_schema *schema; /* NULL: it is not a table */
} table_head;

void table_head_clear(table_head *head);

/* A path that is being inspected. */
typedef struct path_inspection {
  const char *path;
  bool folder;
  size_t max_line;             /* bytes of a line of rows */
  report *r;                   /* gets the results */
  table_head *head;            /* starts as zeros; NULL for folders */
  bool *lacks_memory;          /* set if something could not be found out for that reason; may be NULL */
  char *commands[MOST_ADVICE]; /* commands to try: shell lines */
  size_t command_count;
} path_inspection;

typedef struct path_kind {
  const char *name;  /* "index" */
  const char *about; /* "a vector index in Faiss's format" */
  /* Returns whether the path is of this kind, even if it is damaged. */
  bool (*is)(const path_inspection *look);
  /* Reports what the path holds and adds commands to try. A damaged file is an error: the check that failed. */
  furrow_status (*describe)(path_inspection *look, furrow_error *err);
} path_kind;

/* Returns the kind of the path; NULL: Furrow cannot read it. */
const path_kind *path_kind_of(const path_inspection *look);

/* Adds a command. @ stands for the quoted path, together with a query (?… or &…) that follows it, and ^ for the last
 * component of the path. */
void path_advise(path_inspection *look, const char *command);
/* Adds the commands that score rows with a trained model. */
void advise_scoring(path_inspection *look, const char *options);
/* Reports the contents of a model's furrow.json. */
furrow_status report_record(report *r, const char *path, furrow_error *err);
/* Reports the columns of a schema. */
void report_schema(report *r, const furrow_schema *schema);
/* Adds the commands that recommend with a recommender of a log. */
void advise_recommending(path_inspection *look);
void path_look_clear(path_inspection *look);

/* ---- Labels (path_rows.c) ---- */

/* The task that labels suggest. */
typedef struct label_task {
  enum { TASK_NONE, TASK_TWO_CLASSES, TASK_CLASSES, TASK_REGRESSION } kind;
  size_t classes; /* different labels */
} label_task;

/* The task of the rows of a block: none if they have no labels, one label, or a label that is not finite. */
furrow_status label_task_of(const furrow_rowblock *block, label_task *task, furrow_error *err);
/* Whether the name of a column ends in "id": movieId, user_id, ID. NULL: no name. */
bool is_id_name(const char *name);
/* Reports the task, if there is one. */
void report_task(report *r, const label_task *task);

/* ---- The kinds, by what reads them ---- */

extern const path_kind row_cache_kind, rows_kind;                                   /* path_rows.c */
extern const path_kind recommender_kind, model_kind, matrix_kind, matrix_file_kind; /* path_model.c */
extern const path_kind forest_kind;                                                 /* path_forest.c */
extern const path_kind index_kind, langchain_kind, arrays_kind;                     /* path_vectors.c */
extern const path_kind log_kind, table_kind, encoder_kind;                          /* path_log.c */
extern const path_kind checkpoint_kind, conf_kind, record_kind, schema_kind;        /* path_learn.c */

#endif
