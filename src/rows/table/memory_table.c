/* rows/table/memory_table.c: tables of typed columns that have a path in memory. */
#include "base/error.h"
#include "columns/typed_columns.h"
#include "furrow/table.h"
#include "io/file_system.h"

static void release_columns(void *columns) {
  fw_columns_free(columns);
}

/* Takes ownership of the columns. */
static furrow_status add_columns(const char *path, fw_columns *columns, furrow_error *err) {
  const furrow_status status = fw_memory_add(path, FW_MEMORY_TABLE, columns, 0, release_columns, columns, err);
  if (status != FURROW_OK) fw_columns_free(columns);
  return status;
}

furrow_status furrow_memory_table_add(const char *path, struct ArrowArrayStream *stream, furrow_error *err) {
  fw_columns *columns = NULL;
  FW_TRY(fw_columns_of_arrow(&columns, stream, err));
  return add_columns(path, columns, err);
}

furrow_status furrow_memory_query_add(const char *path, const char *sql, const char *database, furrow_error *err) {
  fw_columns *columns = NULL;
  if (!sql || !sql[0]) return fw_fail(err, FURROW_E_ARGUMENT, "the SQL is empty");
  FW_TRY(fw_columns_of_query(&columns, sql, database, err));
  return add_columns(path, columns, err);
}

furrow_status furrow_memory_table_remove(const char *path, furrow_error *err) {
  return fw_memory_remove(path, FW_MEMORY_TABLE, err);
}
