/* columns/typed_columns.h: tables of typed columns: batches of Arrow in memory, Parquet files, queries of SQL. They are
 * read as frames (columns/frames.h). */
#ifndef FW_COLUMNS_TYPED_COLUMNS_H
#define FW_COLUMNS_TYPED_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/arrow_frames.h"
#include "furrow/arrow.h"
#include "furrow/status.h"

/* A table. Immutable: any number of readers may use it, also from several threads. */
typedef struct fw_columns fw_columns;

/* Takes all batches of the stream and keeps them, without a copy. The stream is released, also on failure. */
furrow_status fw_columns_of_arrow(fw_columns **columns, struct ArrowArrayStream *stream,
                                  furrow_error *err) FURROW_MUST_USE;
/* The result of a query, which runs again for each reader. database: a file of DuckDB; NULL: none. */
furrow_status fw_columns_of_query(fw_columns **columns, const char *sql, const char *database,
                                  furrow_error *err) FURROW_MUST_USE;
/* A Parquet file of this machine. The path must outlive it. */
furrow_status fw_columns_of_parquet(fw_columns **columns, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_columns_free(fw_columns *columns);
/* Whether it cannot be read in parts. */
bool fw_columns_is_query(const fw_columns *columns);
/* The number of rows; 0 if it is not known. */
uint64_t fw_columns_rows(const fw_columns *columns);

/* Reads a table once. */
typedef struct fw_columns_reader fw_columns_reader;

/* names: the columns that are wanted; NULL: all. E_NOT_FOUND, the library of DuckDB is missing; E_FORMAT, DuckDB
 * cannot read the file, or it lacks a column; E_ARGUMENT, it refuses the query. */
furrow_status fw_columns_reader_open(fw_columns_reader **reader, const fw_columns *columns, const char *const *names,
                                     size_t count, furrow_error *err) FURROW_MUST_USE;
/* Fills buffer with frames: *got < size only at the end. */
furrow_status fw_columns_reader_read(fw_columns_reader *reader, void *buffer, size_t size, size_t *got,
                                     furrow_error *err) FURROW_MUST_USE;
void fw_columns_reader_close(fw_columns_reader *reader);

/* Reads a table once as batches of Arrow; then fw_columns_reader_close. names: the columns that are wanted; NULL: all.
 * The errors of fw_columns_reader_open. */
furrow_status fw_columns_batches_open(fw_columns_reader **reader, const fw_columns *columns, const char *const *names,
                                      size_t count, furrow_error *err) FURROW_MUST_USE;
/* The column of this name of the batches; NULL: there is none. It lives as long as the reader. */
const fw_arrow_leaf *fw_columns_batches_leaf(const fw_columns_reader *reader, const char *name);
/* The next batch, which is valid until the reader's next use. FURROW_END. */
furrow_status fw_columns_batches_next(fw_columns_reader *reader, const struct ArrowArray **batch,
                                      furrow_error *err) FURROW_MUST_USE;
/* Finds all columns; those of a type that is not a cell, too. */
furrow_status fw_columns_find_leaves(const fw_columns *columns, fw_arrow_leaves *leaves,
                                     furrow_error *err) FURROW_MUST_USE;
/* Finds the number of rows: of a file from what it says of itself, of a query by running it. */
furrow_status fw_columns_count(const fw_columns *columns, uint64_t *rows, furrow_error *err) FURROW_MUST_USE;

#endif
