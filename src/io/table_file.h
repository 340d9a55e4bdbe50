/* io/table_file.h: a table of typed columns that a path names: a Parquet file, here or elsewhere, or a table in memory.
 */
#ifndef FW_IO_TABLE_FILE_H
#define FW_IO_TABLE_FILE_H

#include "columns/typed_columns.h"
#include "io/fetched.h"
#include "io/file_system.h"

/* {0} is closed. */
typedef struct fw_table_file {
  const fw_columns *columns;
  fw_columns *own;        /* of a file */
  fw_fetched *fetched;    /* of a file elsewhere */
  fw_memory_entry *entry; /* in memory */
} fw_table_file;

/* The path must outlive the table, which must outlive its readers. Close it also after a failure. Errors: those of
 * reading the path. */
furrow_status fw_table_file_open(fw_table_file *table, const char *path, furrow_error *err) FURROW_MUST_USE;
void fw_table_file_close(fw_table_file *table);
/* Whether a path names a table in memory. */
furrow_status fw_table_is_in_memory(const char *path, bool *found, furrow_error *err) FURROW_MUST_USE;

#endif
