/* columns/duckdb.h: DuckDB's library, loaded when it is needed: a query and its result as batches of Arrow. */
#ifndef FW_COLUMNS_DUCKDB_H
#define FW_COLUMNS_DUCKDB_H

#include "base/buffer.h"
#include "furrow/arrow.h"

/* A connection to a database of its own, and at most one query at a time. */
typedef struct fw_duckdb fw_duckdb;

/* database: a file, which is opened for reading; NULL: a database in memory. E_NOT_FOUND: there is no library;
 * E_UNSUPPORTED: it lacks a function; E_FORMAT: it cannot open the database. */
furrow_status fw_duckdb_open(fw_duckdb **duckdb, const char *database, furrow_error *err) FURROW_MUST_USE;
void fw_duckdb_close(fw_duckdb *duckdb);
/* Prepares a SELECT and gives the types of its columns, which the caller releases. Failures have the status `wrong`
 * and DuckDB's message. */
furrow_status fw_duckdb_prepare(fw_duckdb *duckdb, const char *sql, furrow_status wrong, struct ArrowSchema *schema,
                                furrow_error *err) FURROW_MUST_USE;
/* Runs what was prepared. */
furrow_status fw_duckdb_run(fw_duckdb *duckdb, furrow_error *err) FURROW_MUST_USE;
/* Returns the next batch of the result, which the caller releases; FURROW_END. */
furrow_status fw_duckdb_next(fw_duckdb *duckdb, struct ArrowArray *batch, furrow_error *err) FURROW_MUST_USE;
/* Runs a COPY out of a table of this name, whose rows are those of the stream, in one thread. E_IO. */
furrow_status fw_duckdb_copy(fw_duckdb *duckdb, const char *name, struct ArrowArrayStream *stream, const char *sql,
                             furrow_error *err) FURROW_MUST_USE;
/* Appends a text in quotes, for SQL: "name" or 'text'. */
void fw_duckdb_quote(fw_buffer *sql, char quote, const char *text);

#endif
