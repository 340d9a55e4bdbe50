/* furrow/table.h: raw logs: tables with names and strings in, rows of features out.
 *
 * From a log to rows, and back to names:
 *
 *   furrow_schema *schema = NULL;
 *   furrow_encoder *encoder = NULL;
 *   furrow_schema_propose(&schema, "ratings.csv", NULL, &err);
 *   furrow_encoder_build(&encoder, "ratings.csv", schema, NULL, &err);
 *   furrow_encoder_save(encoder, "encoder", false, &err);
 *   furrow_parser_open_part(&parser, "ratings.csv?format=table&encoder=encoder", 0, 1, "auto", &err);
 *
 * A log is csv or tsv (with quotes), JSON lines, Vowpal Wabbit's text, a Parquet file, the result of a query, or a
 * table of Arrow in memory (docs/formats/tables.md). A schema says what
 * each column is (docs/formats/schema.md): label, weight, group, category, set, number, time, text. An encoder is a
 * schema and what was learned from a log: its dictionary (docs/formats/dictionary.md). Every column that is a feature
 * becomes a field of the rows; every value has a feature index, and every index a column and a name.
 *
 * Threads: functions that take a const handle may run at once on one handle; anything else needs exclusive use of it.
 */
#ifndef FURROW_TABLE_H
#define FURROW_TABLE_H

#include "furrow/arrow.h"
#include "furrow/columns.h"
#include "furrow/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Schema --------------------------------------------------------------------------------------------- */

/* What each column of a log is. */
typedef struct furrow_schema furrow_schema;

/* Reads schema.json.
 * Errors:  E_FORMAT, not a schema: the message has the byte and the path of the member; E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_schema_free. */
FURROW_API furrow_status furrow_schema_load(furrow_schema **schema, const char *path,
                                            furrow_error *err) FURROW_MUST_USE;
/* Reads the JSON text of a schema.
 * Errors:  E_FORMAT, not a schema; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_schema_free. */
FURROW_API furrow_status furrow_schema_parse(furrow_schema **schema, const char *text, size_t size,
                                             furrow_error *err) FURROW_MUST_USE;
/* Frees a schema. Takes NULL. */
FURROW_API void furrow_schema_free(furrow_schema *schema);
/* Gives the schema as JSON text, terminated by a 0; with `comments`, it includes a proposal's reasons for each column.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees *text with furrow_free. */
FURROW_API furrow_status furrow_schema_text(const furrow_schema *schema, bool comments, char **text, size_t *size,
                                            furrow_error *err) FURROW_MUST_USE;

/* How to propose a schema. */
typedef struct furrow_schema_propose_params {
  size_t size;        /* set by furrow_schema_propose_params_init */
  const char *label;  /* the column of the label. NULL, here and in the next five fields: found by name and content; "":
                         no  column */
  const char *weight; /* the column of the rows' weights */
  const char *group;  /* the column of queries or sessions */
  const char *user;   /* the column of the users */
  const char *item;   /* the column of the items */
  const char *time;   /* the column of the times */
  /* "FILE=KEY": a table that is joined by the column KEY; "FILE=KEY:COLUMN" if that column is called COLUMN in the
   * table. */
  const char *const *tables;
  size_t table_count;         /* how many there are */
  uint32_t history;           /* number of a user's last items that become features; 0: none */
  uint32_t threads;           /* 0: one for each processor */
  furrow_on_bad on_bad;       /* error */
  furrow_progress progress;   /* "reading", in bytes; NULL: none */
  void *progress_user;        /* given to progress */
  furrow_parser_stats *stats; /* gets the rows of the log that were read and left out; NULL: not wanted */
  /* True if the proposal is used without a person's review: for a log with a user and an item, the call then fails
   * instead of guessing which of two classes is positive, or whether a column that looks like a label is one. */
  bool strict;
  /* Ranks that examine the log together, each a part of it: all of them call furrow_schema_propose, and all get the
   * schema that one process would propose. Every rank reads the tables. NULL: this process is alone. */
  const furrow_comm *comm;
  size_t max_line_bytes; /* bytes of a record; 0: the default, 128 MiB */
  /* True: integers with few values are numbers, which trees split where they like. False: they are categories, so that
   * linear models and nets learn a weight for each value. Ids are categories in both cases. */
  bool amounts;
  /* True: numbers of the log are put into bins if their effect on a label of two classes, or on a label that is a
   * number, is not a straight line: a linear model then has a weight for each bin. The log is read once more. */
  bool bin_numbers;
} furrow_schema_propose_params;

/* Sets the size and the defaults. */
static inline void furrow_schema_propose_params_init(furrow_schema_propose_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Reads the whole log, in memory that does not grow with it (50,000 rows for `bin_numbers`), and proposes what each
 * column is and why. params NULL: the defaults.
 * Errors:  E_ARGUMENT, a column that is named does not exist, several columns may be the label, or the proposal would
 *          be a guess and the params are strict; E_FORMAT, not a table; E_PARSE, a record cannot be read; E_NOT_FOUND;
 *          E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_schema_free. */
FURROW_API furrow_status furrow_schema_propose(furrow_schema **schema, const char *uri,
                                               const furrow_schema_propose_params *params,
                                               furrow_error *err) FURROW_MUST_USE;

/* Proposes a schema for a csv of numbers, which is rows without one, if a linear model needs it: as
 * furrow_schema_propose with `amounts` and `bin_numbers`. *schema is NULL if the data is not such a csv, its label is
 * neither named nor has the name of one, or no number of it belongs into bins. Columns have only the roles that params
 * name. Nothing is read from a pipe.
 * Errors:  as furrow_schema_propose.
 * Owner:   the caller, who frees *schema with furrow_schema_free. */
FURROW_API furrow_status furrow_schema_propose_bins(furrow_schema **schema, const char *uri,
                                                    const furrow_schema_propose_params *params,
                                                    furrow_error *err) FURROW_MUST_USE;

/* Finds out from the first bytes of a data set whether it is a log, which is read through a schema, rather than rows:
 * JSON lines, Vowpal Wabbit's text, or delimited text with a header and a column that has mostly texts, numbers as
 * people write them ($5, 1,299.00), or codes (01234, ids of more than 15 digits). It is
 * false for a pipe, from which nothing is read, and for a URI with arguments of a format of rows.
 * Errors:  E_NOT_FOUND; E_ARGUMENT, the URI; E_IO; E_MEMORY. Data that is not a table is not an error. */
FURROW_API furrow_status furrow_table_needs_schema(const char *uri, bool *needed, furrow_error *err) FURROW_MUST_USE;

/* One column of a schema. The library makes it; it may grow at its end. */
typedef struct furrow_schema_column {
  const char *name; /* name of the log or of a table */
  const char *as;   /* "label", "category" … */
  const char *role; /* "user", "item", "time" or "" */
  const char *why;  /* what a proposal found; "" where a person wrote the schema */
} furrow_schema_column;

/* Returns: the number of columns. */
FURROW_API size_t furrow_schema_column_count(const furrow_schema *schema);
/* Gives column i, which must be below the count (asserted).
 * Owner:   the schema. */
FURROW_API void furrow_schema_get_column(const furrow_schema *schema, size_t i, furrow_schema_column *column);
/* Returns: what a proposal is unsure of about column i, which must be below the count (asserted), and what to write in
 *          the schema if it is wrong; "": nothing.
 * Owner:   the schema. */
FURROW_API const char *furrow_schema_unsure(const furrow_schema *schema, size_t i);
/* Returns: the name of class i of the label, which stands for the label i; NULL: the label is a number, or has no such
 *          class.
 * Owner:   the schema. */
FURROW_API const char *furrow_schema_class_name(const furrow_schema *schema, size_t i);

/* ---- Tables of typed columns ---------------------------------------------------------------------------- */

/* Gives a table of Arrow the name memory://…, without a copy: from then on every function of this header that takes a
 * log reads it, any number of times, and so do training and scoring. A cell has the text that programs write into csv
 * (12, 0.1, 1.0, true, 2024-01-31, 2024-01-31 08:30:00+00 of a time with a zone), null is a missing cell, a list has
 * elements, a struct has columns "outer.inner"; dictionaries are their values. The batches are taken from the stream
 * now and kept until the table was removed and no reader uses it any more. The stream is released, also if this fails.
 * Errors:  E_ARGUMENT, not such a path, or a stream that was released; E_EXISTS, the path is taken; E_FORMAT, the
 *          stream has no table; E_IO, the stream failed; E_MEMORY. While reading, E_UNSUPPORTED: a column that is used
 *          has another type. */
FURROW_API furrow_status furrow_memory_table_add(const char *path, struct ArrowArrayStream *stream,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Gives the result of a query the name memory://…, which reads it as furrow_memory_table_add says. DuckDB runs the
 * query, each time that it is read; its library is loaded from the path in the environment variable FURROW_DUCKDB, or
 * from where the system looks for libduckdb.so. database: a file of DuckDB, which is opened for reading; NULL: none,
 * the query names files (SELECT * FROM 'log.parquet'). Extensions are neither installed nor loaded by themselves. The
 * result cannot be read in parts. Without an ORDER BY, a query may return its rows in another order when it runs again,
 * which is then an error.
 * Errors:  E_ARGUMENT, not such a path, or no SQL; E_EXISTS, the path is taken; E_MEMORY. While reading, E_NOT_FOUND:
 *          the library is missing; E_ARGUMENT, DuckDB refuses the query; E_FORMAT, it fails; E_STATE, other rows than
 *          before. */
FURROW_API furrow_status furrow_memory_query_add(const char *path, const char *sql, const char *database,
                                                 furrow_error *err) FURROW_MUST_USE;
/* Removes the name of a table or query. Readers that are open continue.
 * Errors:  E_NOT_FOUND, no table has that name; E_ARGUMENT, not a path in memory. */
FURROW_API furrow_status furrow_memory_table_remove(const char *path, furrow_error *err) FURROW_MUST_USE;
/* ---- Typed columns -------------------------------------------------------------------------------------- */

/* How columns of a table are read. */
typedef struct furrow_columns_params {
  size_t size;                     /* set by furrow_columns_params_init */
  const char *const *names;        /* NULL. Columns whose type is known, also ones that the table does not have; the
                                      types of others are found out */
  const furrow_column_type *types; /* for each of the names its type */
  size_t typed;                    /* number of names */
} furrow_columns_params;

/* Sets the size and the defaults. */
static inline void furrow_columns_params_init(furrow_columns_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Reads all columns of a table into memory: csv or tsv with a header, or JSON lines. The type of a column follows from
 * all of its cells: numbers (and true and false, as 1 and 0), unless one has a leading zero or an integer more than 15
 * digits; times, if all are dates whose order of day and month is clear; sets, if a cell is a JSON array, or if parts
 * between | repeat so that on average each comes twice; texts otherwise. JSON strings are never numbers. params NULL:
 * the defaults.
 * Errors:  E_FORMAT, not a table with names of columns; E_PARSE, a record cannot be read, or a cell is not of the type
 *          that is given; E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:   the caller, who frees *columns with furrow_columns_free. */
FURROW_API furrow_status furrow_columns_load(furrow_columns **columns, const char *uri,
                                             const furrow_columns_params *params, furrow_error *err) FURROW_MUST_USE;

/* ---- Times ---------------------------------------------------------------------------------------------- */

/* Reads a time as cells of tables have it: ISO 8601 ("2024-05-31", "2024-05-31 23:59:00+02:00"; UTC without a zone), a
 * date with the name of its month, or a number of seconds since 1970-01-01 00:00 UTC.
 * Returns: whether it is one; then *seconds are its seconds since 1970. */
FURROW_API bool furrow_time_read(const char *text, size_t size, double *seconds);
/* The most bytes that furrow_time_write writes. */
#define FURROW_TIME_TEXT 40
/* Writes a time as ISO 8601 in UTC, "2024-05-31T12:30:00.5Z", to the microsecond; outside of the years 0000 to 9999 as
 * seconds. Ended by a 0.
 * Returns: its length; 0: NaN or an infinity. */
FURROW_API size_t furrow_time_write(char *out, double seconds);

/* ---- Writing -------------------------------------------------------------------------------------------- */

/* A writer of a Parquet file, cell by cell. DuckDB's library compresses it while rows come, in memory that does not
 * grow with them. The file appears when it is complete.
 *
 *   const furrow_table_column columns[] = {{"user", FURROW_CELL_TEXT}, {"score", FURROW_CELL_F32}};
 *   furrow_status status = furrow_table_writer_open(&writer, "scores.parquet", columns, 2, NULL, &err);
 *   for (size_t i = 0; status == FURROW_OK && i < n; i++) {
 *     furrow_table_put_text(writer, users[i], strlen(users[i]));
 *     furrow_table_put_real(writer, scores[i]);
 *     status = furrow_table_writer_end_row(writer, &err);
 *   }
 *   if (status == FURROW_OK) status = furrow_table_writer_commit(writer, &err);
 *   furrow_table_writer_close(writer); */
typedef struct furrow_table_writer furrow_table_writer;

/* Types of the columns that are written. */
typedef enum furrow_cell_type {
  FURROW_CELL_I64,      /* 64-bit integers */
  FURROW_CELL_F32,      /* floats */
  FURROW_CELL_F64,      /* doubles */
  FURROW_CELL_TEXT,     /* UTF-8 */
  FURROW_CELL_I64_LIST, /* lists of 64-bit integers */
  FURROW_CELL_F32_LIST  /* lists of floats */
} furrow_cell_type;

/* A column of a table that is written. Layout fixed. */
typedef struct furrow_table_column {
  const char *name;      /* not empty; different from the others */
  furrow_cell_type type; /* of its cells */
} furrow_table_column;

/* How a table is written. */
typedef struct furrow_table_writer_params {
  size_t size;    /* set by furrow_table_writer_params_init */
  bool overwrite; /* false: E_EXISTS where there is a file of that name */
} furrow_table_writer_params;

/* Sets the size and the defaults. */
static inline void furrow_table_writer_params_init(furrow_table_writer_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Begins a file. Its bytes are kept in a temporary file in the folder TMPDIR (/tmp) until they are complete. params
 * NULL: the defaults.
 * Errors:  E_ARGUMENT, no column, or names that are empty or equal; E_NOT_FOUND, DuckDB's library, or the directory;
 *          E_EXISTS, here or at the commit; E_IO; E_MEMORY.
 * Owner:   the caller, furrow_table_writer_close. */
FURROW_API furrow_status furrow_table_writer_open(furrow_table_writer **writer, const char *path,
                                                  const furrow_table_column *columns, size_t count,
                                                  const furrow_table_writer_params *params,
                                                  furrow_error *err) FURROW_MUST_USE;
/* Appends the next cell of the row, which must have this type (asserted): an integer. */
FURROW_API void furrow_table_put_integer(furrow_table_writer *writer, int64_t value);
/* A float or a double; NaN is a value. */
FURROW_API void furrow_table_put_real(furrow_table_writer *writer, double value);
/* A text; a byte that is not UTF-8 becomes U+FFFD. */
FURROW_API void furrow_table_put_text(furrow_table_writer *writer, const char *text, size_t length);
/* A list of integers. */
FURROW_API void furrow_table_put_integers(furrow_table_writer *writer, const int64_t *values, size_t count);
/* A list of floats. */
FURROW_API void furrow_table_put_floats(furrow_table_writer *writer, const float *values, size_t count);
/* A null, in a column of any type. */
FURROW_API void furrow_table_put_null(furrow_table_writer *writer);
/* Ends a row, which must have a cell for each column (asserted).
 * Errors:  E_IO, DuckDB cannot write, or the disk is full; E_UNSUPPORTED, cells of more than 2 GiB; E_MEMORY. */
FURROW_API furrow_status furrow_table_writer_end_row(furrow_table_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Completes the file, which then has its name.
 * Errors:  as furrow_table_writer_end_row; E_EXISTS, there is a file of that name and params->overwrite is false. */
FURROW_API furrow_status furrow_table_writer_commit(furrow_table_writer *writer, furrow_error *err) FURROW_MUST_USE;
/* Frees a writer; a file that was not committed does not appear. Takes NULL. */
FURROW_API void furrow_table_writer_close(furrow_table_writer *writer);

/* ---- Splitting ------------------------------------------------------------------------------------------ */

/* How to split a log: by `time`, by `group`, or, with neither, each row by chance. */
typedef struct furrow_table_split_params {
  size_t size;       /* set by furrow_table_split_params_init */
  const char *time;  /* the column of times: numbers, or dates as a proposed schema reads them. The last rows go to the
                        second of two files */
  const char *user;  /* with time: the last rows of each value of this column; NULL: of all rows */
  double last;       /* with time: how many of the last rows go to the second file: a share of the rows if below 1
                        (rounded), else a number. At least one row of each user goes to the first file */
  const char *group; /* the column whose values stay together: each goes to a file by chance */
  const double *shares;       /* without time: the share of each file; they add up to 1 */
  uint64_t seed;              /* without time: the seed of the random choice */
  bool overwrite;             /* files that exist; false: E_EXISTS */
  furrow_on_bad on_bad;       /* error; skip: bad rows go to no file */
  furrow_progress progress;   /* "reading", in bytes; NULL: none */
  void *progress_user;        /* given to progress */
  furrow_parser_stats *stats; /* gets the rows that were read and left out; NULL: not wanted */
  /* Ranks that split the log together, each reading a part of it, in a directory that all of them see: all call
   * furrow_table_split, and the files have the bytes that one process would write. NULL: this process is alone. */
  const furrow_comm *comm;
} furrow_table_split_params;

/* Sets the size and the defaults. */
static inline void furrow_table_split_params_init(furrow_table_split_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Copies the records of a log, byte for byte and with its header (typed columns: as csv), to files: by time, whole
 * groups by chance, or single rows by chance. Rows with the same time stay in the order of the log, as do the rows of
 * each file. The files appear when all are complete. By time, it takes two passes and some 60 bytes of memory for a
 * row. rows (may be NULL) gets the number of rows of each file.
 * Errors:  E_ARGUMENT, a parameter that does not fit, a column that does not exist, a file that would have no rows;
 *          E_EXISTS; E_FORMAT, not a table; E_PARSE, a cell that is not a time, or empty: file, line, column;
 *          E_UNSUPPORTED, a pipe by time; E_NOT_FOUND; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_table_split(const char *uri, const char *const *paths, size_t count,
                                            const furrow_table_split_params *params, uint64_t *rows,
                                            furrow_error *err) FURROW_MUST_USE;

/* ---- Encoder -------------------------------------------------------------------------------------------- */

/* A schema and its dictionary. */
typedef struct furrow_encoder furrow_encoder;

/* How to learn a dictionary. */
typedef struct furrow_encoder_params {
  size_t size;              /* set by furrow_encoder_params_init */
  const char *folder;       /* where the schema's tables are looked for; NULL: the working directory */
  uint32_t threads;         /* 0: one for each processor; the dictionary is the same for any number */
  furrow_on_bad on_bad;     /* error */
  furrow_progress progress; /* "reading", in bytes; NULL: none */
  void *progress_user;      /* given to progress */
  /* Gets the rows of the tables that were read and left out; NULL: not wanted. Rows of the log are counted when it is
   * encoded. */
  furrow_parser_stats *stats;
  /* Ranks that learn together, each from a part of the log: all of them call furrow_encoder_build, and all get the
   * encoder that one process would build. Every rank reads the tables, and all of the log where there is a history.
   * NULL: this process is alone. */
  const furrow_comm *comm;
  /* True: items and users that occur only in a table whose key is the item column, or the user column, become items and
   * users of the dictionary, too. A recommender of the log can recommend them, or to them, by their features. */
  bool table_items;
  uint64_t *items_without_row; /* with table_items: gets the number of the log's items that are in no table; NULL: not
                                  wanted */
  uint64_t *users_without_row; /* the same number for users */
  /* The most features that the encoder may have: the rarest names that are too many count as unknown. 0: no limit. */
  uint64_t max_features;
  uint64_t *names_left_out; /* gets the number of names that max_features left out; NULL: not wanted */
} furrow_encoder_params;

/* Sets the size and the defaults. */
static inline void furrow_encoder_params_init(furrow_encoder_params *params) {
  memset(params, 0, sizeof *params);
  params->size = sizeof *params;
}

/* Learns from a log: counts the values of categories, measures numbers, reads the tables. params NULL: the defaults.
 * Errors:  E_FORMAT, the log does not have the columns of the schema (the message names the columns that are missing),
 *          or is not a table; E_PARSE, a record or cell cannot be read: file, line, column; E_ARGUMENT, the schema
 *          contradicts itself; E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_encoder_free. */
FURROW_API furrow_status furrow_encoder_build(furrow_encoder **encoder, const char *uri, const furrow_schema *schema,
                                              const furrow_encoder_params *params, furrow_error *err) FURROW_MUST_USE;
/* What furrow_encoder_grow added. */
typedef struct furrow_encoder_growth {
  size_t size;       /* set by furrow_encoder_growth_init */
  uint64_t names;    /* that the encoder did not have */
  uint64_t features; /* how many the grown encoder has more; a name of an item is two features if there is a history */
  /* Tables of the schema that were not found: the rows that the encoder has of them are kept, and names that are new
   * have none. */
  uint64_t tables_kept;
  char columns[256]; /* "device, price": columns of the log that the schema does not have, so they are not read; ""
                        if there are none */
} furrow_encoder_growth;

/* Sets the size, and zeros. */
static inline void furrow_encoder_growth_init(furrow_encoder_growth *growth) {
  memset(growth, 0, sizeof *growth);
  growth->size = sizeof *growth;
}

/* Makes an encoder that also knows the names of another log: users, items, words. All features of `encoder` keep their
 * indices, and the scales and bins of numbers stay, so the grown encoder makes the same rows of records whose names
 * `encoder` knew. New names get the indices from furrow_encoder_feature_count(encoder) on. The counts of both logs are
 * added. Tables of the schema are read again; histories go on. params: as for furrow_encoder_build, NULL: the defaults;
 * growth NULL: not wanted.
 * Errors:  as furrow_encoder_build; E_FORMAT, the log lacks a column of the schema: the message names it.
 * Owner:   the caller, who frees it with furrow_encoder_free. */
FURROW_API furrow_status furrow_encoder_grow(furrow_encoder **grown, const furrow_encoder *encoder, const char *uri,
                                             const furrow_encoder_params *params, furrow_encoder_growth *growth,
                                             furrow_error *err) FURROW_MUST_USE;
/* Loads the encoder of a directory, or of a model directory: schema.json and dictionary.furrow, which is read into
 * memory, not mapped.
 * Errors:  E_FORMAT, a file is damaged, or the two do not belong together; E_STATE, another program replaced them
 *          meanwhile; E_NOT_FOUND; E_IO; E_MEMORY.
 * Owner:   the caller, who frees it with furrow_encoder_free. */
FURROW_API furrow_status furrow_encoder_load(furrow_encoder **encoder, const char *directory,
                                             furrow_error *err) FURROW_MUST_USE;
/* Frees an encoder. Takes NULL. */
FURROW_API void furrow_encoder_free(furrow_encoder *encoder);
/* Saves the two files into a directory, which is made if it is not there; each appears complete or not at all.
 * Errors:  E_EXISTS, there is an encoder and `overwrite` is false; E_IO; E_MEMORY. */
FURROW_API furrow_status furrow_encoder_save(const furrow_encoder *encoder, const char *directory, bool overwrite,
                                             furrow_error *err) FURROW_MUST_USE;
/* Completes a file of rows (rows.h) and saves the encoder that made them, as furrow_encoder_save does. The two belong
 * together: there are never rows next to the dictionary of others. If this fails before the dictionary is replaced,
 * both stay as they were; if it fails later, or the process or the machine stops, the rows may be missing. Writers of
 * several ranks: all ranks call it, and the first one saves the encoder.
 * Errors:  as furrow_rows_writer_commit and furrow_encoder_save; E_STATE, another process is writing there. */
FURROW_API furrow_status furrow_rows_writer_commit_with_encoder(furrow_rows_writer *writer,
                                                                const furrow_encoder *encoder, const char *directory,
                                                                bool overwrite, furrow_error *err) FURROW_MUST_USE;
/* Returns: the schema.
 * Owner:   the encoder. */
FURROW_API const furrow_schema *furrow_encoder_schema(const furrow_encoder *encoder);

/* Gives the URI that reads a log through the encoder of a directory: log?format=table&encoder=directory.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees *uri with furrow_free. */
FURROW_API furrow_status furrow_encoder_uri(const char *log, const char *directory, char **uri,
                                            furrow_error *err) FURROW_MUST_USE;

/* Whose feature a field is. */
typedef enum furrow_side {
  FURROW_SIDE_CONTEXT, /* of the event */
  FURROW_SIDE_USER,    /* describes the user: the column with that role, its tables, the history */
  FURROW_SIDE_ITEM     /* describes the item: the column with that role, its tables */
} furrow_side;

/* A field of the rows: a column, a part of a time, a cross. The library makes it; it may grow at its end. */
typedef struct furrow_encoder_field {
  const char *name;          /* "movieId", "timestamp.hour", "userId x timestamp.hour" */
  furrow_side side;          /* what it describes: the event, the user or the item */
  uint64_t first, count;     /* its features are first … first + count - 1; names added later: furrow_encoder_entry */
  uint64_t entries;          /* names in its dictionary; 0: it has none */
  uint64_t unknown, missing; /* cells of the training data whose value was too rare; cells without a value */
} furrow_encoder_field;

/* Returns: the number of fields. */
FURROW_API size_t furrow_encoder_field_count(const furrow_encoder *encoder);
/* Gives field i, which must be below the count (asserted).
 * Owner:   the encoder. */
FURROW_API void furrow_encoder_get_field(const furrow_encoder *encoder, size_t i, furrow_encoder_field *field);
/* Returns: the number of features of all fields: indices are below it. */
FURROW_API uint64_t furrow_encoder_feature_count(const furrow_encoder *encoder);
/* Returns: the field of a feature; SIZE_MAX: there is no such feature. */
FURROW_API size_t furrow_encoder_field_of(const furrow_encoder *encoder, uint64_t feature);
/* Returns: the feature of a name of field i, of which there are `entries`, from 0 on; UINT64_MAX: there is no such
 * name. The names that a field had at first follow one another; names that were added later have features above those
 * of all fields. */
FURROW_API uint64_t furrow_encoder_entry(const furrow_encoder *encoder, size_t field, uint64_t entry);
/* Returns: the number of the name that a feature of field i stands for; UINT64_MAX: it does not stand for one. */
FURROW_API uint64_t furrow_encoder_entry_of(const furrow_encoder *encoder, size_t field, uint64_t feature);
/* Returns: the field of the user or the item; SIZE_MAX: the schema has no column with that role. */
FURROW_API size_t furrow_encoder_side_field(const furrow_encoder *encoder, furrow_side side);

/* What a feature index stands for. The library makes it; it may grow at its end. */
typedef struct furrow_encoder_feature {
  size_t field;     /* its field */
  const char *name; /* its value: not ended by a 0. "" for a number */
  size_t length;    /* bytes of the name */
  uint64_t count;   /* how often it occurs in the training data; 0 if that is not counted */
} furrow_encoder_feature;

/* Finds what an index stands for.
 * Errors:  E_RANGE, there is no such feature.
 * Owner:   the encoder. */
FURROW_API furrow_status furrow_encoder_get_feature(const furrow_encoder *encoder, uint64_t index,
                                                    furrow_encoder_feature *feature, furrow_error *err) FURROW_MUST_USE;
/* Finds the index of a value of a field.
 * Errors:  E_NOT_FOUND, the dictionary does not have it; E_ARGUMENT, there is no such field, or its values are numbers.
 */
FURROW_API furrow_status furrow_encoder_find(const furrow_encoder *encoder, size_t field, const char *name,
                                             size_t length, uint64_t *index, furrow_error *err) FURROW_MUST_USE;

/* One event as pairs of column and value. Layout fixed. */
typedef struct furrow_pair {
  const char *column; /* its name, ended by a 0 */
  const char *value;  /* ended by a 0; NULL: missing */
} furrow_pair;

/* Appends the row of one event, as if a line of a log had these cells. Columns that are not given are missing; a label
 * that is not given is 0.
 * Errors:  E_ARGUMENT, a column that the schema does not have, or twice; E_PARSE, a value that is not what the schema
 *          says (the message names the column); E_MEMORY. */
FURROW_API furrow_status furrow_encoder_push_event(const furrow_encoder *encoder, const furrow_pair *pairs,
                                                   size_t count, furrow_container *rows,
                                                   furrow_error *err) FURROW_MUST_USE;
/* Reads events in memory, any number of times, and owns the rows that it makes. */
typedef struct furrow_event_reader furrow_event_reader;

/* Makes a reader for one thread. The encoder must outlive it.
 * Errors:  E_MEMORY.
 * Owner:   the caller, who frees it with furrow_event_reader_free. */
FURROW_API furrow_status furrow_event_reader_create(furrow_event_reader **reader, const furrow_encoder *encoder,
                                                    furrow_error *err) FURROW_MUST_USE;
/* Frees a reader. Takes NULL. */
FURROW_API void furrow_event_reader_free(furrow_event_reader *reader);
/* Makes a row of each line, a JSON object that is read like a line of a log of JSON lines; blank lines give no row.
 * Columns that an object lacks are missing; a user's history is the one at the end of the training data. Labels are not
 * read: rows have no labels.
 * Errors:  E_ARGUMENT, a column that the log does not have (err->token); E_PARSE, a line that is not such an object,
 *          has a column twice or a value that is not what the schema says (the message begins with "column NAME: ").
 *          err->line counts the lines from 1.
 * Owner:   the reader; *block is valid until its next use. */
FURROW_API furrow_status furrow_event_reader_read(furrow_event_reader *reader, const char *lines, size_t size,
                                                  const furrow_rowblock **block, furrow_error *err) FURROW_MUST_USE;
/* Appends a row of the features of one side: of the user or item with that feature index, its tables included, and for
 * a user the history that the training data ended with. The row has no label.
 * Errors:  E_RANGE, not a feature of that side's field; E_ARGUMENT, the schema has no column with that role; E_STATE,
 * the rows of the container have labels; E_MEMORY. */
FURROW_API furrow_status furrow_encoder_push_side(const furrow_encoder *encoder, furrow_side side, uint64_t index,
                                                  furrow_container *rows, furrow_error *err) FURROW_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
